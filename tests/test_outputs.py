"""`-o`: `-` is standard output in every command that writes one file, and directories are made with --parents only."""

import json
import unittest

from common import CLASSIC, Case, nc3z

NAME = "coads_climatology.cdf"


class Outputs(Case):
    def setUp(self):
        super().setUp()
        self.archive = self.dir / "a.nc.nc3z"
        self.ok(nc3z("archive", "--preset", "fast", CLASSIC / NAME, "-o", self.archive))
        self.ok(nc3z("attr", self.archive, ":title=edited"))
        self.before = self.names()

    def commands(self):
        """Commands that write one file, without the output, and its first bytes; None where it cannot be a stream."""
        a = self.archive
        return {
            "subset": (("subset", a, "-v", "TIME"), b"CDF"),
            "plot": (("plot", a, "SST", "-d", "TIME,0"), b"\x89PNG"),
            "aggregate": (("aggregate", a), b"CDF"),
            "bundle": (("bundle", a), b"\x89NC3Z"),
            "bundle --pack": (("bundle", "--pack", CLASSIC / NAME), b"\x89NC3Z"),
            "index": (("catalog", a), b"\x89NC3"),
            "read": (("read", a, "TIME", "-d", "TIME,0"), b"366"),
            "gc": (("prune", a), b"\x89NC3Z"),
            "refs": (("refs", self.zarr()), b"{"),
            "report": (("list", self.dir, "--html"), b"<!DOCTYPE html>"),
            "repair": (("repair", a), None),
            "cite": (("cite", a, "TIME"), None),
            "unbundle": (("bundle", "--extract", self.bundle()), None),
            "hash --tree": (("hash", a, "--tree"), None),
            "bundle --target-size": (("bundle", a, "--target-size", "1MiB"), None),
        }

    def zarr(self):
        path = self.dir / "z.nc3z"
        if not path.exists():
            self.ok(nc3z("archive", "--profile", "zarr", CLASSIC / NAME, "-o", path))
        return path

    def bundle(self):
        path = self.dir / "all.bundle.nc3z"
        if not path.exists():
            self.ok(nc3z("bundle", self.archive, "-o", path))
        return path

    def run_in(self, command, *more):
        option = () if command[-1] in ("--tree", "--html") else ("-o",)
        return nc3z(*command, *option, *more, cwd=self.dir)

    def test_links_to_devices_and_streams_are_not_replaced(self):
        link = self.dir / "link"
        link.symlink_to("/dev/null")
        for command in (("read", self.archive, "TIME"), ("subset", self.archive, "-v", "TIME"), ("archive", CLASSIC / NAME)):
            for force in ((), ("--force",)):
                done = self.fails(nc3z(*command, *force, "-o", link), 1, "it leads to a stream or a device")
                self.assertNotIn("--force", done.stderr)
                self.assertTrue(link.is_symlink())
            # Not with --force: a defect would replace the system's link.
            done = self.fails(nc3z(*command, "-o", "/dev/stdout"), 1, "it leads to a stream or a device")
            self.assertNotIn("--force", done.stderr)

    def test_a_dash_is_standard_output(self):
        commands = self.commands()
        before = self.names()
        for name, (command, first) in commands.items():
            with self.subTest(command=name):
                done = self.run_in(command, "-")
                self.assertEqual(self.names(), before)
                if first is None:
                    self.fails(done, words="name.* with -o|name of a file")
                    self.assertEqual(done.stdout, b"")
                else:
                    self.assertEqual(self.ok(done).stdout[: len(first)], first)
        (self.dir / "s.bundle.nc3z").write_bytes(self.run_in(commands["bundle"][0], "-").stdout)
        self.ok(nc3z("verify", self.dir / "s.bundle.nc3z"))
        (self.dir / "g.nc3z").write_bytes(self.run_in(commands["gc"][0], "-").stdout)
        self.assertEqual(json.loads(self.ok(nc3z("log", "--json", self.dir / "g.nc3z")).stdout)["versions"].__len__(), 1)
        # A file of that name is named by its directory.
        self.ok(self.run_in(commands["subset"][0], "./-"))
        self.assertEqual((self.dir / "-").read_bytes()[:3], b"CDF")

    def test_a_full_output_is_blamed(self):
        for name in ("subset", "index", "report"):
            with self.subTest(command=name), open("/dev/full", "wb") as full:
                command = self.commands()[name][0]
                done = nc3z(*command, *(() if command[-1] == "--html" else ("-o",)), "-", stdout=full)
                self.fails(done, words="write to standard output: No space left")

    def test_directories_are_made_on_request(self):
        for name, (command, _) in self.commands().items():
            with self.subTest(command=name):
                suffix = {"plot": ".png", "bundle": ".bundle.nc3z", "bundle --pack": ".bundle.nc3z"}.get(name, "")
                new = self.dir / f"new {name}"
                done = self.run_in(command, new / f"x{suffix}")
                self.fails(done, words="--parents")
                self.assertFalse(new.exists())
                self.ok(self.run_in(command, new / f"x{suffix}", "--parents"))
                self.assertTrue(any(new.iterdir()))

    def test_urls_are_refused_by_name(self):
        """An output that looks like a URL would be a directory `./s3:`; nothing is read, made or deleted."""
        source = self.dir / "k.nc"
        source.write_bytes((CLASSIC / "numeric.nc").read_bytes())
        tree = self.dir / "tree"
        tree.mkdir()
        (tree / "t.nc.nc3z").write_bytes(self.archive.read_bytes())
        commands = {name: command for name, (command, _) in self.commands().items()}
        a = self.archive
        commands |= {
            "archive": ("archive", source, "--remove-source"),
            "archive -r": ("archive", "-r", tree),
            "archive --manifest bagit": ("archive", "-r", tree, "--manifest", "bagit"),
            "archive -": ("archive", "-"),
            "restore": ("restore", a),
            "restore -r": ("restore", "-r", tree),
            "recompress": ("recompress", a),
            "manifest": ("hash", "--manifest", tree),
            "repair bundle": ("repair", self.bundle()),
            "spec": ("spec",),
            "man": ("man",),
        }
        logs = {"archive --log": ("archive", source, "--log"), "archive --catalog": ("archive", source, "--catalog"),
                "verify --fixity-log": ("verify", "--manifest", tree, "--fixity-log")}
        before = self.names()
        for url in ("s3://bucket/x.png", "s3:/bucket/x.png", "HTTPS://me:secret@host/d/x.png", "sftp://host/x.png", "file:///tmp/x.png"):
            for name, command in commands.items():
                parents = () if name in ("spec", "man") else ("--parents",)
                with self.subTest(command=name, url=url):
                    done = self.fails(self.run_in(command, url, *parents), 1, "looks like a URL")
                    self.assertNotIn("secret", done.stderr)
                    self.assertEqual(self.names(), before)
            for name, command in logs.items():
                with self.subTest(command=name, url=url):
                    self.fails(nc3z(*command, url, cwd=self.dir), 1, "looks like a URL")
                    self.assertEqual(self.names(), before)
        # A directory that is so called is named by its path.
        self.ok(nc3z("archive", "k.nc", "-o", "./s3:/b/k.nc3z", "--parents", cwd=self.dir))
        self.assertTrue((self.dir / "s3:/b/k.nc3z").exists())

    def test_an_input_is_never_replaced(self):
        other = self.dir / "k.nc"
        other.write_bytes((CLASSIC / "numeric.nc").read_bytes())
        (self.dir / "alias.nc").hardlink_to(other)
        commands = [(("bundle", self.archive, other, "-o"), other), (("bundle", self.archive, other, "-o"), self.dir / "alias.nc"),
                    (("bundle", "--pack", CLASSIC / NAME, other, "-o"), other), (("catalog", self.archive, other, "-o"), other), (("refs", self.zarr(), "-o"), self.zarr()),
                    (("hash", self.archive, "--tree"), self.archive), (("hash", "--manifest", self.dir, "-o"), self.archive)]
        before = {path: path.read_bytes() for path in self.dir.iterdir()}
        for command, output in commands:
            with self.subTest(command=command[:2], output=output.name):
                self.fails(nc3z(*command, output, "--force"), 1, "is an input, too")
                self.assertEqual({path: path.read_bytes() for path in self.dir.iterdir()}, before)
                self.ok(nc3z(*command, self.dir.parent / f"{self.dir.name}.out", "--force"))
                (self.dir.parent / f"{self.dir.name}.out").unlink()
        # Nor a file of a directory that is one.
        for command in (("bundle", self.dir, "-o"), ("catalog", self.dir, "-o"), ("list", self.dir, "--html")):
            with self.subTest(command=command[0]):
                self.fails(nc3z(*command, other, "--force"), 1, "is a classic netCDF file")
                self.assertEqual({path: path.read_bytes() for path in self.dir.iterdir()}, before)

    def test_no_file_is_named_by_a_dash(self):
        for command in (("recompress", self.archive, "-o", "-"), ("commit", "-", self.archive), ("hash", "--manifest", ".", "-o", "-"), ("bundle", "--extract", self.bundle(), "-o", "-")):
            with self.subTest(command=command[0]):
                nc3z(*command, cwd=self.dir)
                self.assertNotIn("-", self.names())


if __name__ == "__main__":
    unittest.main()

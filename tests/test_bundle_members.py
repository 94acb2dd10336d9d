"""Members of bundles: aggregations in them are listed with their fragments, members are verified, and many of them are read in few
requests. NC3Z_MEMBERS tells how many there are (100)."""

import json
import os
import shutil
import tarfile
import unittest
import zipfile

import netCDF4
import numpy as np
from common import nc3z
from servers import serve
from test_aggregate import Aggregation, make, truth

MEMBERS = int(os.environ.get("NC3Z_MEMBERS", "100"))
LAT, LON = tuple(np.linspace(-89, 89, 20)), tuple(np.arange(0.0, 360.0, 18))


class Members(Aggregation):
    def bundled(self, count=3, *, archives=True, name="set.bundle.nc3z"):
        data = self.dir / "data"
        data.mkdir()
        for n in range(count):
            make(data / f"m{n:04}.nc", n, 1)
        if archives:
            self.ok(nc3z("archive", *sorted(data.glob("*.nc"))))
            for path in data.glob("*.nc"):
                path.unlink()
        self.ok(nc3z("aggregate", data, "-o", data / "all.nc"))
        self.ok(nc3z("bundle", data, "-o", self.dir / name))
        return self.dir / name

    def test_an_aggregation_in_a_bundle_is_listed_with_its_fragments(self):
        bundle = self.bundled()
        tar = self.dir / "set.tar"
        with tarfile.open(tar, "w") as t:
            for path in sorted((self.dir / "data").iterdir()):
                t.add(path, path.name)
        with serve({"set.bundle.nc3z": bundle.read_bytes()}) as server:
            for name in (bundle, tar, server.url("set.bundle.nc3z")):
                done = self.ok(nc3z("list", "--json", f"{name}!/all.nc"))
                entries = json.loads(done.stdout)
                self.assertEqual([(e["state"], e["kind"]) for e in entries], [("ok", "aggregation")] + [("ok", "archive")] * 3)
                self.assertEqual([e["time"] for e in entries[1:]], [[f"2001-01-0{n}"] * 2 for n in (1, 2, 3)])
                self.assertEqual(len(json.loads(self.ok(nc3z("list", "--json", name)).stdout)), 4)

    def test_no_digest_is_stale_where_none_was_recorded(self):
        bundle, more = self.bundled(2), self.dir / "more.nc"
        make(more, 7, 1)
        self.ok(nc3z("bundle", more, "-o", bundle, "--append"))
        log = self.ok(nc3z("log", bundle)).stdout.decode()
        self.assertEqual(log.count("SHA-256 not recorded"), 2, log)
        self.assertEqual(json.loads(self.ok(nc3z("info", "--json", "--as-stored", bundle)).stdout)["digest_state"], "none")

    def test_trees_pass_over_a_bundle_of_any_name(self):
        """A bundle stands for other files: no command for trees takes its table for the archive of one file."""
        tree, out = self.dir / "tree", self.dir / "out"
        tree.mkdir()
        self.bundled(1).rename(tree / "set.nc3z")
        make(tree / "other.nc", 7, 1)
        self.ok(nc3z("archive", tree / "other.nc"))
        self.ok(nc3z("bundle", tree, "-o", self.dir / "all.bundle.nc3z"))
        listed = json.loads(self.ok(nc3z("list", "--json", self.dir / "all.bundle.nc3z")).stdout)
        self.assertEqual({os.path.basename(entry["name"]) for entry in listed}, {"other.nc", "other.nc.nc3z"})
        done = self.ok(nc3z("restore", "-r", tree, "-o", out))
        self.assertEqual([path.name for path in out.iterdir()], ["other.nc"])
        self.assertIn("1 nc3z archive", done.stderr)

    def test_a_note_says_that_classic_files_are_stored_as_they_are(self):
        for count, words in ((1, "1 classic file is stored as it is, uncompressed; --pack compresses it\n"),
                             (2, "2 classic files are stored as they are, uncompressed; --pack compresses them\n")):
            files = [make(self.dir / f"{n}.nc", n, 1) for n in range(count)]
            done = self.ok(nc3z("bundle", "-f", *files, "-o", self.dir / "set.bundle.nc3z"))
            self.assertIn(f"nc3z: note: {words}", done.stderr)

    def test_a_bundle_of_tiny_archives_is_hardly_longer_than_they_are(self):
        out = self.dir / "tiny"
        for n in range(30):
            path = self.dir / f"tiny{n:02}.nc"
            with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
                d.title = "A file of little more than its header " * 8
                d.createDimension("x", 400)
                d.createVariable("v", "f4", ("x",))[:] = np.random.default_rng(n).normal(size=400)
            self.ok(nc3z("archive", path, "-o", out / f"{path.name}.nc3z", "--parents"))
        archives = sum(p.stat().st_size for p in out.iterdir())
        bundle = self.dir / "tiny.bundle.nc3z"
        self.ok(nc3z("bundle", out, "-o", bundle))
        # The table of the files.
        self.assertLess(bundle.stat().st_size, 1.1 * archives + 8192)
        self.ok(nc3z("verify", bundle))
        with serve({"tiny.bundle.nc3z": bundle.read_bytes()}) as server:
            for n in (0, 17, 29):
                read = self.ok(nc3z("read", f"{server.url('tiny.bundle.nc3z')}!/tiny{n:02}.nc.nc3z", "v", "-d", "x,7")).stdout
                self.assertEqual(read, self.ok(nc3z("read", self.dir / f"tiny{n:02}.nc", "v", "-d", "x,7")).stdout)

    def test_small_members_of_a_bundle_at_a_url_share_requests(self):
        bundle = self.bundled(MEMBERS, archives=False)
        with serve({"set.bundle.nc3z": bundle.read_bytes()}) as server:
            def asked(*command):
                before = len(server.asked)
                done = self.ok(nc3z(*command))
                return len(server.asked) - before, done.stdout

            url, limit = server.url("set.bundle.nc3z"), 4 + bundle.stat().st_size // (128 << 10)
            for command in (("list", "--json"), ("verify", "--json")):
                count, there = asked(*command, url)
                self.assertLessEqual(count, limit, command)
                here = self.ok(nc3z(*command, bundle)).stdout
                self.assertEqual(there.replace(url.encode(), str(bundle).encode()), here)
            count, listed = asked("list", "--json", f"{url}!/all.nc")
            self.assertLessEqual(count, limit)
            self.assertEqual(len(json.loads(listed)), 1 + MEMBERS)

    def test_an_aggregation_beside_its_fragments_is_counted_once(self):
        bundle, data, catalog = self.bundled(archives=False), self.dir / "data", self.dir / "a.catalog.nc3z"

        def stats(*inputs, variable="tas"):
            self.ok(nc3z("catalog", *inputs, "-f", "-o", catalog))
            row, = json.loads(self.ok(nc3z("stats", "--json", "--variable", variable, catalog)).stdout)
            return row

        expected = stats(*sorted(data.glob("m*.nc")))
        self.ok(nc3z("bundle", data, "-o", self.dir / "packed.bundle.nc3z", "--pack"))
        for inputs in ([data], [bundle], [self.dir / "packed.bundle.nc3z"]):
            found = stats(*inputs)
            for key in ("count", "min", "max", "mean"):
                self.assertEqual(found[key], expected[key], (inputs, key))
        # It is still listed, and has values of its own without its fragments.
        self.assertEqual(len(json.loads(self.ok(nc3z("list", "--json", catalog)).stdout)), 4)
        self.assertEqual(stats(data / "all.nc")["count"], expected["count"])

    def test_a_missing_member_is_named(self):
        self.bundled()
        with zipfile.ZipFile(self.dir / "less.zip", "w") as z:
            for path in sorted((self.dir / "data").iterdir())[::2]:
                z.write(path, path.name)
        done = nc3z("list", f"{self.dir / 'less.zip'}!/all.nc")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout.decode(), "m0000.nc.nc3z.*no such member")
        # Where missing values may stand for it, they do, in a bundle as beside a file, on disk and on a server.
        with serve({"less.zip": (self.dir / "less.zip").read_bytes()}) as server:
            for name in (self.dir / "less.zip", server.url("less.zip")):
                self.fails(nc3z("read", f"{name}!/all.nc", "tas"), words="no such member")
                found = self.values(f"{name}!/all.nc", "tas", "--fill-missing")
                self.assertEqual(np.argwhere((found > 9e36).all((1, 2))).ravel().tolist(), [0, 2])
                self.near(found[1:2], truth([1]))

    def test_the_table_of_a_bundle_is_read_as_stored(self):
        bundle = self.bundled()
        told = json.loads(self.ok(nc3z("info", "--json", bundle)).stdout)
        self.assertEqual(told, {"file": str(bundle), "kind": "bundle", "files": 4, "file_bytes": bundle.stat().st_size})
        for words in (["--as-stored"], ["--versions"]):
            self.assertEqual(json.loads(self.ok(nc3z("info", "--json", *words, bundle)).stdout)["kind"], "archive")
        stored = self.values(bundle, "file_stored_size", "--as-stored")
        self.assertEqual(stored.tolist(), [path.stat().st_size for path in sorted((self.dir / "data").iterdir())])
        self.fails(nc3z("read", bundle, "file_size"), words="is a bundle of 4 files")

    def test_bundles_and_members_are_verified(self):
        bundle = self.bundled()
        done = self.ok(nc3z("verify", bundle))
        self.assertRegex(done.stdout.decode(), "set.bundle.nc3z: bundle of 4 members\n.*set.bundle.nc3z: sound")
        self.assertRegex(done.stdout.decode(), r"set.bundle.nc3z!/m0001.nc.nc3z: sound.*\n.*m0002.nc.nc3z: sound")
        self.assertRegex(done.stdout.decode(), r"set.bundle.nc3z!/all.nc: not an archive, .* as recorded")
        self.assertRegex(done.stdout.decode(), "6 files checked, 0 of them not sound")
        one = self.ok(nc3z("verify", "--deep", f"{bundle}!/m0001.nc.nc3z")).stdout.decode()
        self.assertRegex(one, "m0001.nc.nc3z: sound.*SHA-256 .* as recorded")
        with serve({"set.bundle.nc3z": bundle.read_bytes()}) as server:
            self.ok(nc3z("verify", server.url("set.bundle.nc3z")))
            self.ok(nc3z("verify", server.url("set.bundle.nc3z!/m0000.nc.nc3z")))
        # A byte of each member is wrong.
        whole = bundle.read_bytes()
        for path in sorted((self.dir / "data").iterdir()):
            content = path.read_bytes()
            begin = whole.index(content)
            hurt = bytearray(whole)
            hurt[begin + len(content) // 2] ^= 0x10
            (self.dir / "hurt.bundle.nc3z").write_bytes(hurt)
            done = nc3z("verify", "--json", self.dir / "hurt.bundle.nc3z")
            self.assertEqual(done.returncode, 3, done.stderr)
            found = {os.path.basename(r["archive"]): r["sound"] for r in json.loads(done.stdout) if r.get("kind") != "bundle"}
            self.assertEqual([n for n, sound in found.items() if not sound], ["hurt.bundle.nc3z", path.name])
            self.assertEqual(nc3z("verify", f"{self.dir / 'hurt.bundle.nc3z'}!/{path.name}").returncode, 3)

    def test_bundles_in_a_tree_are_verified(self):
        tree = self.dir / "tree"
        tree.mkdir()
        said = self.ok(nc3z("verify", "-r", tree)).stdout.decode()
        self.assertEqual(said, "0 archives checked, 0 of them not sound\n")
        whole = self.bundled(2).read_bytes()
        (tree / "set.bundle.nc3z").write_bytes(whole)
        self.assertIn("set.bundle.nc3z!/m0001.nc.nc3z: sound", self.ok(nc3z("verify", "-r", tree)).stdout.decode())
        self.assertTrue(json.loads(self.ok(nc3z("verify", "-r", "--json", tree)).stdout))
        # In a member, and where a file says what it is.
        for at in (whole.index((self.dir / "data/m0001.nc.nc3z").read_bytes()) + 100, 0):
            (tree / "set.bundle.nc3z").write_bytes(whole[:at] + bytes(b ^ 0xFF for b in whole[at:at + 8]) + whole[at + 8:])
            for more in ((), ("--deep",), ("--json",), ("-q",)):
                with self.subTest(at=at, more=more):
                    done = nc3z("verify", "-r", *more, tree)
                    self.assertEqual(done.returncode, 3, (done.stdout, done.stderr))
                    self.assertIn("set.bundle.nc3z", done.stdout.decode() + done.stderr)

    def test_a_zip_of_others_and_a_tar_are_verified(self):
        self.bundled()
        other, tar = self.dir / "other.zip", self.dir / "set.tar"
        with zipfile.ZipFile(other, "w") as z, tarfile.open(tar, "w") as t:
            for path in sorted((self.dir / "data").iterdir()):
                z.write(path, path.name)
                t.add(path, path.name)
        self.assertRegex(self.ok(nc3z("verify", other)).stdout.decode(), "all.nc: not an archive, .* as recorded")
        self.assertRegex(self.ok(nc3z("verify", tar)).stdout.decode(), "all.nc: not an archive, .*records no checksum")

    def test_a_series_over_many_members_takes_few_requests(self):
        data = self.dir / "data"
        data.mkdir()
        rng = np.random.default_rng(1)
        first = make(data / "m0000.nc", 0, 1, lat=LAT, lon=LON)
        values = truth(range(MEMBERS), LAT, LON) + rng.random((MEMBERS, len(LAT), len(LON)))
        for n in range(MEMBERS):
            path = data / f"m{n:04}.nc"
            if n:
                shutil.copy(first, path)
            with netCDF4.Dataset(path, "a") as d:
                d["time"][:] = n
                d["tas"][:] = values[n]
        expected = values.astype("f4")
        names = sorted(data.glob("*.nc"))
        for kind in ("plain", "archives"):
            if kind == "archives":
                self.ok(nc3z("archive", *names))
                for path in names:
                    path.unlink()
            self.ok(nc3z("aggregate", data, "-f", "-o", data / "all.nc"))
            self.ok(nc3z("bundle", data, "-f", "-o", self.dir / "set.bundle.nc3z"))
            size = (self.dir / "set.bundle.nc3z").stat().st_size
            with serve({"set.bundle.nc3z": (self.dir / "set.bundle.nc3z").read_bytes()}) as server:
                url = server.url("set.bundle.nc3z!/all.nc")
                member = server.url(f"set.bundle.nc3z!/m{MEMBERS // 2:04}.nc" + (".nc3z" if kind == "archives" else ""))
                # Two to open the bundle, one for the names, with which a hundred small members come.
                is_small = MEMBERS <= 100
                for command in (("dump", "-h"), ("info",), ("info", "--json")):
                    for name in (url, member):
                        server.asked.clear()
                        self.ok(nc3z(*command, name))
                        self.assertLessEqual(len(server.asked), 3 if is_small else 5, (kind, command, name, server.asked))
                for selection, part in (((), expected), (("-d", "lat,4", "-d", "lon,2"), expected[:, 4:5, 2:3]), (("-d", "time,,,3"), expected[::3])):
                    server.asked.clear()
                    sent = server.sent
                    self.assertTrue((self.values(url, "tas", *selection) == part).all())
                    asked = len(server.asked)
                    # Two to open it, one for the names, then as few as the length of the members asks for.
                    self.assertLessEqual(asked, 4 if is_small else 7 + size // (4 << 20), (kind, selection, server.asked[:9]))
                    self.assertLessEqual(server.sent - sent, 2 * size + (512 << 10))


if __name__ == "__main__":
    unittest.main()

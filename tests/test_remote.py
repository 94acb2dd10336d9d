"""Files that are named by a URL: what local files give, in few requests, or an error that names URL and range."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from urllib.parse import quote

from common import CLASSIC, NC3Z, Case, missing, nc3z, sha256
from servers import FAULTS, serve

NAME = "coads_climatology.cdf"


def setUpModule():
    global FOLDER, FILES
    folder = tempfile.TemporaryDirectory(prefix="nc3z-test-")
    unittest.addModuleCleanup(folder.cleanup)
    FOLDER = Path(folder.name)
    subprocess.run([NC3Z, "archive", "--preset", "fast", CLASSIC / NAME, "-o", FOLDER / f"{NAME}.nc3z"], check=True,
                   capture_output=True)
    FILES = {NAME: (CLASSIC / NAME).read_bytes(), f"bucket/{NAME}.nc3z": (FOLDER / f"{NAME}.nc3z").read_bytes()}


class Remote(Case):
    def setUp(self):
        super().setUp()
        if "--storage-option" in self.ok(nc3z("read", "--help")).stdout.decode() and nc3z(
            "info", "https://127.0.0.1:9/none"
        ).stderr.find("reads no URLs") >= 0:
            missing(self, "this build reads no URLs")

    def both(self, name):
        """The same file here."""
        return CLASSIC / NAME if name == NAME else FOLDER / f"{NAME}.nc3z"

    def test_answers_are_those_of_local_files(self):
        commands = [
            ("read", "{}", "SST", "-d", "COADSX,20", "-d", "COADSY,45"),
            ("read", "{}", "SST", "-d", "TIME,3", "--format", "raw"),
            ("dump", "-h", "{}"),
            ("dump", "-v", "TIME,COADSX", "{}"),
            ("read", "--explain", "{}", "SST", "-d", "TIME,0"),
            ("info", "--layout", "--json", "{}"),
            ("info", "--json", "{}"),
        ]
        with serve(FILES) as server:
            for name in FILES:
                for command in commands:
                    there = self.ok(nc3z(*(w.format(server.url(name)) for w in command))).stdout
                    here = self.ok(nc3z(*(w.format(self.both(name)) for w in command))).stdout
                    self.assertEqual(there.replace(server.url(name).encode(), str(self.both(name)).encode()), here, command)
            self.assertTrue(all(asked and asked.startswith("bytes=") for _, asked, _ in server.asked))

    def test_what_is_not_there_is_said_in_a_sentence(self):
        with serve(FILES) as server:
            url = server.url("missing.nc")
            for command in (("info", url), ("read", url, "t"), ("dump", url), ("subset", url, "-o", self.dir / "s.nc"), ("read", "--explain", url, "t"), ("hash", url),
                            ("verify", url), ("log", url), ("diff", url, url), ("refs", url), ("plot", url, "t", "-o", self.dir / "p.png"), ("find", "t", url)):
                with self.subTest(command=command[0]):
                    done = nc3z(*command)
                    self.assertNotEqual(done.returncode, 0)
                    said = done.stderr + done.stdout.decode()
                    self.assertIn("object not found (404)", said)
                    self.assertNotIn("reads no URLs", said)
                    self.assertNotIn("<", said)

    def test_headers_are_sent_and_not_shown(self):
        with serve(FILES) as server:
            url = server.url(NAME)
            environment = dict(os.environ, NC3Z_HTTP_HEADERS="X-Key: hush-hush\n")
            done = subprocess.run([NC3Z, "info", "--json", url, "--storage-option", "bearer_token=whisper"], env=environment, capture_output=True, check=True)
            self.assertTrue(server.headers)
            for headers in server.headers:
                self.assertEqual((headers["X-Key"], headers["Authorization"]), ("hush-hush", "Bearer whisper"))
            refused = subprocess.run([NC3Z, "info", server.url("missing.nc"), "--storage-option", "header.X-Key=hush-hush"], capture_output=True, check=False)
            self.assertEqual(refused.returncode, 1)
            for said in (done.stdout, done.stderr, refused.stdout, refused.stderr):
                self.assertNotIn(b"hush", said)
                self.assertNotIn(b"whisper", said)

    def test_settings_reach_the_server(self):
        name = f"bucket/{NAME}.nc3z"
        with serve(FILES) as server:
            url = server.url(name)
            for command in (("diff", url, self.both(name)), ("diff", self.both(name), url), ("log", url), ("estimate", server.url(NAME))):
                with self.subTest(command=command):
                    server.headers.clear()
                    self.ok(nc3z(*command, "--storage-option", "bearer_token=whisper"))
                    self.assertEqual({headers["Authorization"] for headers in server.headers}, {"Bearer whisper"})

    def test_a_refusal_says_where_credentials_are_given(self):
        with serve(FILES, "forbidden", every=1, after=0) as server:
            done = self.fails(nc3z("info", server.url(NAME)), words=r"refuses access \(403")
            self.assertIn("USER:PASSWORD@HOST", done.stderr)

    def test_a_read_takes_few_requests(self):
        def asked(*command):
            with serve(FILES) as server:
                self.ok(nc3z(*(w.format(server.root) for w in command)))
                return len(server.asked)

        for name in FILES:
            url = "{}/" + name
            # The beginning with the length, and the end.
            self.assertLessEqual(asked("dump", "-h", url), 2, name)
            self.assertLessEqual(asked("dump", "-k", url), 2, name)
            # A map: contiguous. A series of twelve records: twelve requests at once, without the bytes between the records.
            self.assertLessEqual(asked("read", url, "SST", "-d", "TIME,5"), 3, name)
            self.assertLessEqual(asked("read", url, "SST", "-d", "COADSX,20", "-d", "COADSY,45"), 2 + 12, name)

    def test_the_times_of_a_record_file_are_read_by_ranges(self):
        with serve(FILES) as server:
            self.ok(nc3z("read", server.url(NAME), "TIME"))
            self.assertLess(server.sent, 400_000, "the file has 5.4 MB; opening reads both ends")

    def test_verify_and_restore(self):
        name = f"bucket/{NAME}.nc3z"
        with serve(FILES) as server:
            for deep in ((), ("--deep",)):
                del server.asked[:]
                done = self.ok(nc3z("verify", *deep, server.url(name)))
                self.assertIn(server.url(name), done.stdout.decode())
                self.assertLessEqual(len(server.asked), 5)
            del server.asked[:]
            self.ok(nc3z("restore", server.url(name), cwd=self.dir))
            self.assertEqual(sha256(self.dir / NAME), sha256(CLASSIC / NAME))
            self.assertLessEqual(len(server.asked), 12)
            out = self.ok(nc3z("restore", server.url(name), "-o", "-")).stdout
            self.assertEqual(out, FILES[NAME])
            # Nothing is overwritten, and a directory may be named.
            self.fails(nc3z("restore", server.url(name), cwd=self.dir), words="exists")
            self.ok(nc3z("restore", server.url(name), "-o", f"{self.dir}/there/"))
            self.assertEqual(sha256(self.dir / "there" / NAME), sha256(CLASSIC / NAME))
            self.ok(nc3z("subset", server.url(NAME), "-v", "SST", "-d", "TIME,0,1", "-o", self.dir / "part.nc"))
        damaged = bytearray(FILES[name])
        damaged[len(damaged) // 2] ^= 1
        with serve({"bad.nc3z": bytes(damaged)}) as server:
            self.assertEqual(nc3z("verify", server.url("bad.nc3z")).returncode, 3)
            self.fails(nc3z("restore", server.url("bad.nc3z"), cwd=self.dir), 3)

    def test_versions_of_an_archive_are_named_behind_it(self):
        archive = self.dir / "a.nc3z"
        archive.write_bytes(FILES[f"bucket/{NAME}.nc3z"])
        edited = bytearray(FILES[NAME])
        edited[-1] ^= 1
        (self.dir / "b.nc").write_bytes(edited)
        self.ok(nc3z("commit", archive, self.dir / "b.nc"))
        self.ok(nc3z("tag", archive, "first", "--version", "1"))
        with serve({"a.nc3z": archive.read_bytes()}) as server:
            for version, data in (("@1", FILES[NAME]), ("@first", FILES[NAME]), ("@2", edited), ("", edited)):
                out = self.ok(nc3z("restore", server.url("a.nc3z") + version, "-o", "-")).stdout
                self.assertEqual(out, bytes(data), version)
            self.fails(nc3z("info", server.url("a.nc3z@7")), words="no version 7")
            self.assertEqual(len(json.loads(self.ok(nc3z("log", "--json", server.url("a.nc3z"))).stdout)["versions"]), 2)

    def test_a_bundle_and_its_members_have_versions_of_their_own(self):
        archive, bundle = self.dir / "a.nc3z", self.dir / "set.bundle.nc3z"
        archive.write_bytes(FILES[f"bucket/{NAME}.nc3z"])
        edited = bytearray(FILES[NAME])
        edited[-1] ^= 1
        (self.dir / "b.nc").write_bytes(edited)
        self.ok(nc3z("commit", archive, self.dir / "b.nc"))
        self.ok(nc3z("bundle", archive, "-o", bundle))
        self.ok(nc3z("bundle", self.dir / "b.nc", "-o", bundle, "--append"))
        wanted = {"@1!/a.nc3z": edited, **dict.fromkeys(("@1!/a.nc3z@1", "@2!/a.nc3z@1", "!/a.nc3z@1"), FILES[NAME])}
        with serve({"set.bundle.nc3z": bundle.read_bytes()}) as server:
            for place in (str(bundle), server.url("set.bundle.nc3z")):
                for name, data in wanted.items():
                    out = self.ok(nc3z("restore", place + name, "-o", "-")).stdout
                    self.assertEqual(out, bytes(data), place + name)
                for name, count in {"@1": 1, "@2": 2, "@1!/a.nc3z": 1}.items():
                    self.assertEqual(len(json.loads(self.ok(nc3z("list", "--json", place + name)).stdout)), count, place + name)
                self.ok(nc3z("info", f"{place}@2!/b.nc"))
                self.fails(nc3z("info", f"{place}@1!/b.nc"), words="b.nc")

    def test_s3_takes_settings_from_options_and_environment(self):
        name = f"bucket/{NAME}.nc3z"
        here = self.ok(nc3z("read", self.both(name), "SST", "-d", "TIME,3")).stdout
        with serve(FILES) as server:
            options = [f"endpoint={server.root}", "skip_signature=true", "region=here"]
            options = [word for option in options for word in ("--storage-option", option)]
            done = self.ok(nc3z("read", f"s3://{name}", "SST", "-d", "TIME,3", *options))
            self.assertEqual(done.stdout, here)
            env = {**os.environ, "AWS_ENDPOINT_URL": server.root, "AWS_SKIP_SIGNATURE": "true", "AWS_REGION": "here"}
            self.assertEqual(self.ok(nc3z("read", f"s3://{name}", "SST", "-d", "TIME,3", env=env)).stdout, here)
            self.fails(nc3z("info", f"s3://{name}", "--storage-option", "colour=red"), words="no setting `colour`")

    def test_a_prefix_of_a_store_is_read_by_its_lists(self):
        """`s3://bucket/tree/` names all objects below it, in pages."""
        tree = self.dir / "tree"
        files = {}
        for n in range(7):
            path = tree / f"a{n % 2}/m {n}é.nc"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(FILES[NAME])
        self.ok(nc3z("archive", "-q", "-r", tree))
        for path in [*tree.rglob("*.nc3z"), *tree.rglob("*3é.nc")]:
            files[f"bucket/tree/{path.relative_to(tree)}"] = path.read_bytes()
        files["bucket/tree/notes.txt"] = files["bucket/treeless.nc"] = b"other"
        with serve({quote(name): data for name, data in files.items()}) as server:
            server.page = 3
            options = [word for option in (f"endpoint={server.root}", "skip_signature=true", "region=here") for word in ("--storage-option", option)]
            listed = json.loads(self.ok(nc3z("list", "--json", "s3://bucket/tree/", *options)).stdout)
            self.assertEqual(len(listed), 8)
            self.assertEqual({entry["name"].rsplit("/", 1)[0] for entry in listed}, {"s3://bucket/tree/a0", "s3://bucket/tree/a1"})
            self.assertEqual(sum("list-type" in path for path in server.queries), 3)
            # Several objects are read at the same time.
            server.delay, server.most_at_once = 0.05, 0
            self.ok(nc3z("list", "s3://bucket/tree/", *options))
            self.assertIn(server.most_at_once, range(3, 17))
            server.delay = 0
            together = self.dir / "all.nc"
            self.ok(nc3z("aggregate", "s3://bucket/tree/", "--new-dim", "run", "-o", together, *options))
            self.assertIn(b"run=8", self.ok(nc3z("list", together, "--outside", *options)).stdout)
            self.fails(nc3z("read", together, "SST", "-d", "run,3", "-d", "TIME,3", *options), words="--outside")
            self.ok(nc3z("read", together, "SST", "-d", "run,3", "-d", "TIME,3", "--outside", *options))
            self.fails(nc3z("aggregate", "https://me:secret@localhost/a.nc", "-o", self.dir / "b.nc"), words="has secrets")
            self.assertIn(b"7 archives checked, 0 of them not sound", self.ok(nc3z("verify", "s3://bucket/tree/", *options)).stdout)
            self.ok(nc3z("catalog", "s3://bucket/tree/", "-o", self.dir / "c.catalog.nc3z", *options))
            self.assertEqual(len(self.ok(nc3z("find", "SST", "s3://bucket/tree/a0/", "-l", *options)).stdout.splitlines()), 4)
            self.fails(nc3z("list", "s3://bucket/none/", *options), words="no archive and no classic file")
            self.fails(nc3z("list", server.url("bucket/")), words="HTTP servers have no lists")

    def test_bad_servers_give_the_right_bytes_or_an_error(self):
        name = f"bucket/{NAME}.nc3z"
        for fault in FAULTS:
            right = 0
            for file in FILES:
                with serve(FILES, fault, every=2) as server:
                    done = nc3z("read", server.url(file) + "?signature=s3cr3t", "SST", "-d", "TIME,7", "--format", "raw", timeout=60)
                    if done.returncode == 0:
                        right += 1
                        here = self.ok(nc3z("read", self.both(file), "SST", "-d", "TIME,7", "--format", "raw"))
                        self.assertEqual(done.stdout, here.stdout, fault)
                    else:
                        self.fails(done)
                        self.assertIn(server.url(file), done.stderr, fault)
                        self.assertRegex(done.stderr, r"bytes \d+-\d+", fault)
                        self.assertEqual(done.stdout, b"", fault)
                    self.assertNotIn("s3cr3t", done.stderr)
            if fault in ("cut", "busy"):
                self.assertEqual(right, 2, f"{fault} can be borne")
        with serve(FILES, ranges=False) as server:
            done = self.fails(nc3z("info", server.url(name)), words="does not serve byte ranges")
            self.assertIn(server.url(name), done.stderr)
            self.fails(nc3z("info", server.url("nothing.nc3z")), words=r"404|not found|no such")


if __name__ == "__main__":
    unittest.main()

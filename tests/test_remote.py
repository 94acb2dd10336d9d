"""Files that are named by a URL: what local files give, in few requests, or an error that names URL and range."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from urllib.parse import quote

from common import CLASSIC, NC3Z, Case, missing, nc3z, sha256, synthetic
from servers import FAULTS, serve
from test_aggregate import Aggregation, make

NAME = "coads_climatology.cdf"
#: Parts of URLs, and what is requested: the same, but letters that a URL does not have are escaped.
TARGETS = {
    **{name: name for name in ("sub%2Fa", "sub%2fa", "a%2Bb", "a+b", "a%25b", "a%3Fb", "d//a", "a%FFb", "d/a/", "t~x", "t%7Ex", "(x)", "a,b",
                               "sp%20ace", "%C3%BCx", "%c3%bcx", "d//a%2Fb%2Bc//")},
    "\u00fcx": "%C3%BCx",
}


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

    def test_a_url_is_requested_as_it_is_given(self):
        """As curl does: `%2F` and `%2B` may be parts of a name, and a server decides what `//` means."""
        archive, bundle = FILES[f"bucket/{NAME}.nc3z"], self.dir / "set.bundle.nc3z"
        self.ok(nc3z("bundle", FOLDER / f"{NAME}.nc3z", "-o", bundle))
        bundled, digest, back = bundle.read_bytes(), sha256(CLASSIC / NAME), self.dir / "back"
        part = ("SST", "-d", "TIME,3", "--format", "raw")
        values = self.ok(nc3z("read", CLASSIC / NAME, *part)).stdout
        query = "?alt=media&name=a%2Fb+c%20d"
        for given, requested in TARGETS.items():
            with serve({requested: archive, f"{requested}.bundle": bundled}) as server, self.subTest(given):
                url = server.url(given)
                self.ok(nc3z("info", url))
                self.assertIn(digest.encode(), self.ok(nc3z("hash", "--only", "sha256", url + query)).stdout)
                self.ok(nc3z("restore", "-f", url, "-o", back))
                self.assertEqual(sha256(back), digest)
                self.assertTrue(self.ok(nc3z("read", url + query, *part)).stdout == values)
                self.assertEqual(set(server.targets), {f"/{requested}", f"/{requested}{query}"})
                server.targets.clear()
                self.assertTrue(self.ok(nc3z("read", f"{url}.bundle!/{NAME}.nc3z", *part)).stdout == values)
                self.assertEqual(set(server.targets), {f"/{requested}.bundle"})

    def test_fragments_are_requested_beside_their_aggregation(self):
        """In a directory whose name the server alone understands."""
        self.beside([given for given in TARGETS if "//" not in f"{given}/"])

    def test_so_are_fragments_in_a_directory_with_empty_parts(self):
        self.beside(["d//a", "d/a/", "d//a%2Fb%2Bc//"])

    def beside(self, directories):
        for name in ("a", "b"):
            (self.dir / f"{name} 1.nc").write_bytes(FILES[NAME])
        self.ok(nc3z("aggregate", "--new-dim", "run", "a 1.nc", "b 1.nc", "-o", "all.nc", cwd=self.dir))
        part = ("SST", "-d", "TIME,3", "--format", "raw")
        whole = self.ok(nc3z("read", self.dir / "all.nc", *part)).stdout
        for given in directories:
            requested = TARGETS[given]
            served = {f"{requested}/{file}": (self.dir / file.replace("%20", " ")).read_bytes() for file in ("all.nc", "a%201.nc", "b%201.nc")}
            with serve(served) as server, self.subTest(given):
                done = self.ok(nc3z("read", server.url(f"{given}/all.nc"), *part))
                self.assertTrue(done.stdout == whole)
                self.assertEqual(set(server.targets), {f"/{name}" for name in served})

    def test_no_fragment_leads_out_of_the_directory_by_another_slash(self):
        """A URL has `/` in the place of a backslash, and many servers read `%2F` as one."""
        make(self.dir / "b.nc", 0, 3)
        for uri in ("..%2Fb.nc", "..%2fb.nc", "sub%2F..%2F..%2Fb.nc", "..\\b.nc", "..%5Cb.nc"):
            outside = Aggregation.hand_made(self, [uri], [3])
            with serve({"d/all.nc": outside.read_bytes()}) as server, self.subTest(uri):
                self.fails(nc3z("read", server.url("d/all.nc"), "tas"), 1, "--outside")
                self.assertEqual(server.targets, ["/d/all.nc"])

    def test_an_empty_object_is_called_empty(self):
        (self.dir / "empty.nc").touch()
        with serve({"empty.nc": b"", "full.nc": FILES[NAME]}) as server:
            for command in (("info",), ("verify",), ("read", "SST"), ("hash",), ("restore", "-o", self.dir / "x")):
                done = [nc3z(command[0], name, *command[1:]) for name in (server.url("empty.nc"), self.dir / "empty.nc")]
                there, here = (d.stderr.replace(server.url("empty.nc"), "NAME").replace(str(self.dir / "empty.nc"), "NAME") for d in done)
                self.assertEqual((done[0].returncode, there), (done[1].returncode, here), command)
                self.assertNotIn("416", there)
                if command[0] != "hash":
                    self.assertIn("the file is empty", there, command)

    def test_a_server_that_shortens_answers_is_not_asked_without_end(self):
        """Short answers are not lost sectors of a disk, around which the other bytes are read."""
        archive = self.dir / "big.nc.nc3z"
        self.ok(nc3z("archive", "--preset", "fast", synthetic(self.dir / "big.nc", 4), "-o", archive))
        with serve({"big.nc.nc3z": archive.read_bytes()}, "short", every=1, after=1) as server:
            for command in (("restore", "-o", self.dir / "back.nc"), ("hash",), ("read", "smooth", "--format", "raw")):
                server.asked.clear()
                done = nc3z(command[0], server.url("big.nc.nc3z"), *command[1:], timeout=60)
                self.assertNotEqual(done.returncode, 0, command)
                self.assertRegex(done.stderr + done.stdout.decode("utf-8", "replace"), r"the server sent \d+ of \d+ bytes", command)
                self.assertLess(len(server.asked), 40, command)
        self.assertFalse((self.dir / "back.nc").exists())

    def test_the_code_of_a_store_is_in_the_message(self):
        """The status alone does not say what is wrong with a request."""
        pages = {"ExpiredToken": 400, "AuthorizationHeaderMalformed": 400, "InvalidObjectState": 403, "RequestTimeTooSkewed": 403}
        with serve({}) as server:
            options = [word for option in (f"endpoint={server.root}", "access_key_id=a", "secret_access_key=b", "region=here")
                       for word in ("--storage-option", option)]
            for code, status in pages.items():
                server.refusal = status, f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>Long words.</Message><Region>there</Region></Error>'
                for command in (("info", "s3://bucket/a.nc"), ("restore", "s3://bucket/a.nc.nc3z", "-o", self.dir / "x"), ("list", "s3://bucket/a/"),
                                ("catalog", "s3://bucket/a/", "-o", self.dir / "c.catalog.nc3z")):
                    with self.subTest(code=code, command=command[0]):
                        done = self.fails(nc3z(*command, *options), 1, rf"\b{status} \w+[ \w]*, {code}\b")
                        self.assertNotIn("<", done.stderr)
                        self.assertNotIn("Long words", done.stderr)
            # Text that is not the name of an error is left out.
            server.refusal = 400, "<Error><Code>a b&c</Code></Error>"
            done = self.fails(nc3z("info", "s3://bucket/a.nc", *options), 1, "answers 400 Bad Request")
            self.assertNotIn("a b", done.stderr)

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

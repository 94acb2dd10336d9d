"""User, password and query of a URL, and settings of stores: sent, and neither printed nor stored."""

import re
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from common import CLASSIC, NC3Z, Case, missing, nc3z
from servers import serve

NAME = "coads_climatology.cdf"
SECRETS = ("hunter2", "someone", "tokenvalue", "whisper")


def setUpModule():
    global FILES
    with tempfile.TemporaryDirectory(prefix="nc3z-test-") as folder:
        archive, bundle = Path(folder) / f"{NAME}.nc3z", Path(folder) / "all.bundle.nc3z"
        subprocess.run([NC3Z, "archive", "--preset", "fast", CLASSIC / NAME, "-o", archive], check=True, capture_output=True)
        subprocess.run([NC3Z, "bundle", archive, "-o", bundle], check=True, capture_output=True)
        FILES = {NAME: (CLASSIC / NAME).read_bytes(), f"{NAME}.nc3z": archive.read_bytes(), "all.bundle.nc3z": bundle.read_bytes()}


class Secrets(Case):
    def setUp(self):
        super().setUp()
        if nc3z("info", "https://127.0.0.1:9/none").stderr.find("reads no URLs") >= 0:
            missing(self, "this build reads no URLs")

    def run_with(self, command):
        done = subprocess.run([NC3Z, *map(str, command), "--storage-option", "bearer_token=whisper"], cwd=self.dir, capture_output=True, check=False, timeout=180)
        if b"unexpected argument '--storage-option'" in done.stderr:
            self.tells_none(command, done)
            done = subprocess.run([NC3Z, *map(str, command)], cwd=self.dir, capture_output=True, check=False, timeout=180)
        return done

    def tells_none(self, command, done):
        files = {Path(base, name): Path(base, name).read_bytes() for base, _, names in os.walk(self.dir) for name in names}
        for secret in SECRETS:
            word = secret.encode()
            self.assertNotIn(word, done.stdout, command)
            self.assertNotIn(word, done.stderr, command)
            for path, data in files.items():
                self.assertNotIn(word, data, (command, path))
            self.assertFalse([path for path in files if secret in str(path)], command)

    def test_no_command_prints_or_stores_them(self):
        with serve(FILES) as server:
            def url(name, query="?token=tokenvalue"):
                return server.url(name).replace("://", "://someone:hunter2@") + query

            archive, classic, bundle, none = url(f"{NAME}.nc3z"), url(NAME), url("all.bundle.nc3z"), url("none.nc")
            plain = url(f"{NAME}.nc3z", "")
            reading = [
                ("catalog", classic, archive, "-o", "s.catalog.nc3z"),
                ("catalog", bundle, "-o", "b.catalog.nc3z"),
                ("list", "s.catalog.nc3z"),
                ("list", "--json", "s.catalog.nc3z"),
                ("find", "SST", "s.catalog.nc3z"),
                ("find", "--where", "SST > 0", "s.catalog.nc3z"),
                ("stats", "s.catalog.nc3z", "SST"),
                ("list", classic, archive),
                ("list", "--json", classic),
                ("find", "SST", classic),
                ("find", "--json", "SST", classic),
                ("info", archive),
                ("info", "--json", archive),
                ("info", "--layout", "--json", archive),
                ("read", "--explain", archive, "SST", "-d", "TIME,0"),
                ("read", "--explain", "--json", archive, "SST", "-d", "TIME,0"),
                ("read", archive, "SST", "-d", "TIME,0", "-d", "COADSX,0", "--format", "json"),
                ("dump", "-h", archive),
                ("hash", archive),
                ("verify", archive),
                ("verify", "--json", plain),
                ("log", archive),
                ("diff", archive, classic),
                ("subset", archive, "-v", "TIME", "-o", "t.nc"),
                ("plot", archive, "SST", "-d", "TIME,0", "-o", "p.svg"),
                ("refs", archive, "-o", "r.json"),
                ("cite", archive, "-v", "TIME", "-o", "c.nc", "--record", "prov"),
                ("restore", plain, "-o", "back.nc"),
                ("estimate", classic),
                ("list", bundle),
            ]
            for command in reading:
                with self.subTest(command=command[:2]):
                    self.tells_none(command, self.run_with(command))
            self.ok(nc3z("restore", self.dir / "s.catalog.nc3z", "-o", self.dir / "s.nc"))
            self.assertIn(server.url(NAME).encode(), (self.dir / "s.nc").read_bytes())
            self.assertTrue(any(headers["Authorization"] for headers in server.headers))
            commands = re.findall(r"^  ([a-z]\S*)  ", nc3z("--help-all").stdout.decode(), re.M)
            self.assertIn("commit", commands)
            for name in sorted(set(commands) - {"serve", "mount", "nc3z", "help"}):
                for words in ((none,), (none, "-o", "new/x"), (none, none), (none, archive, "-o", "new.nc.nc3z"), ("add", none), (none, ":a=b"), (none, "a,b"), ("-o", none, archive), (f"--colour={none}",)):
                    with self.subTest(command=name, words=len(words)):
                        self.tells_none((name, *words), self.run_with((name, *words)))
            for name in ("serve", "mount"):
                self.tells_none((name,), self.run_with((name, none, "/nowhere/there")))

    def test_no_message_has_the_token_of_a_session(self):
        """S3 repeats it in the page that refuses a list or an object."""
        environment = {**os.environ, "AWS_SESSION_TOKEN": "tokenvalue/+whisper==", "AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "hunter2",
                       "AWS_REGION": "here"}
        commands = [("list", "s3://bucket/x/"), ("list", "--json", "s3://bucket/x/"), ("verify", "s3://bucket/x/"), ("verify", "-r", "--json", "s3://bucket/x/"),
                    ("catalog", "s3://bucket/x/", "-o", "c.catalog.nc3z"), ("find", "SST", "s3://bucket/x/"), ("stats", "s3://bucket/x/"),
                    ("aggregate", "s3://bucket/x/", "-o", "agg.nc"), ("info", "s3://bucket/x.nc"), ("info", "--json", "s3://bucket/x.nc"),
                    ("restore", "s3://bucket/x.nc.nc3z", "-o", "back.nc"), ("read", "s3://bucket/x.nc", "SST"), ("verify", "s3://bucket/x.nc.nc3z")]
        with serve({}) as server:
            environment["AWS_ENDPOINT_URL"] = server.root
            for status, code in ((400, "ExpiredToken"), (400, "InvalidToken"), (403, "AccessDenied")):
                server.refusal = status, f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>No.</Message><Token-0>TOKEN</Token-0></Error>'
                for command in commands:
                    with self.subTest(command=command[:2], code=code):
                        done = nc3z(*command, cwd=self.dir, env=environment)
                        self.assertEqual(done.returncode, 1, done.stderr)
                        said = done.stderr + done.stdout.decode()
                        self.assertRegex(said, rf"{status} \w+[ \w]*, {code}")
                        self.assertNotIn("<", said)
                        done.stderr = done.stderr.encode()
                        self.tells_none(command, done)
            self.assertIn("tokenvalue/+whisper==", {headers["x-amz-security-token"] for headers in server.headers})


if __name__ == "__main__":
    unittest.main()

"""What the tool does before, during and after its work: options that do not go together, dry runs, refusals before long work, codes in JSON."""

import json
import os
import shutil
import subprocess
import sys
import unittest

from common import CLASSIC, NC3Z, Case, nc3z

NAME = "numeric.nc"


class Manners(Case):
    def setUp(self):
        super().setUp()
        for name in (NAME, "smooth.nc"):
            shutil.copy(CLASSIC / name, self.dir / name)
        self.ok(self.run_here("archive", NAME, "-o", "a.nc3z"))

    def run_here(self, *words, **more):
        return nc3z(*words, cwd=self.dir, **more)

    def test_options_that_do_not_go_together_are_usage_errors(self):
        self.ok(self.run_here("bundle", NAME, "-o", "set.bundle.nc3z"))
        for words in (
            "read a.nc3z tenths --format npy --coordinates", "read a.nc3z tenths --format raw --decode", "read a.nc3z tenths --explain --format csv",
            "read a.nc3z tenths --explain -o x", "read a.nc3z tenths --all", "read a.nc3z tenths --json", "info --layout --versions a.nc3z",
            "bundle a.nc3z -o x.bundle.nc3z --preset max", "bundle a.nc3z -o - --json", "bundle --extract set.bundle.nc3z -o out --pack", "bundle --extract set.bundle.nc3z set.bundle.nc3z -o out",
            "bundle a.nc3z -o x.bundle.nc3z --storage-option a=b", "hash --tree t a.nc3z smooth.nc", "hash --manifest . --recursive", "hash --manifest . .", "hash --force a.nc3z",
            "hash --from-log l a.nc3z", "cite a.nc3z", "cite a.nc3z tenths", "cite --check a.nc3z", "cite --check a.nc3z --root nc3z1:00 -o x", "list --html p.html --json .",
            "list --html p.html . .", "list --force .", "find -l --json x .", "catalog a.nc3z -o - --json", "archive - --catalog x", "archive smooth.nc -o - --log l",
            "archive - --dry-run", "archive -r . -o - ", "aggregate --check -f smooth.nc -o x.nc", "retire --trash t --undo --after 3d", "info --older a.nc3z@1",
            "verify --against smooth.nc a.nc3z a.nc3z", "diff -q --json a.nc3z a.nc3z", "log --oneline --json a.nc3z",
            "read a.nc3z tenths --force", "read a.nc3z tenths --parents", "plot a.nc3z tenths --parents", "refs a.nc3z --force", "prune a.nc3z --in-place --force",
            "repair --in-place a.nc3z --force", "repair --in-place a.nc3z --parents", "recompress --force a.nc3z", "recompress --parents a.nc3z", "archive --parents smooth.nc",
            "restore --parents a.nc3z", "restore a.nc3z -o - --skip-existing", "bundle a.nc3z -o - --skip-existing", "diff -q --first 3 a.nc3z a.nc3z", "hash --parents a.nc3z",
            "commit a.nc3z smooth.nc --author me --no-author", "aggregate --append --force smooth.nc -o all.nc", "estimate --most 3 smooth.nc", "spec --force", "tag a.nc3z --move-tag",
            "archive -r . -o out --clean-temps --dry-run", "list --parents .", "verify --fixity-log f a.nc3z", "hash --strict a.nc3z", "set a.nc3z tenths =1 --from-variable x",
        ):
            with self.subTest(words):
                before = self.names()
                done = self.run_here(*words.split(), input=b"")
                self.assertEqual(done.returncode, 2, done.stderr)
                if "--json" in words.split():
                    self.assertEqual(json.loads(done.stdout)["error"]["code"], "option")
                else:
                    self.assertEqual(done.stdout, b"")
                self.assertEqual(self.names(), before)

    def test_sources_are_removed_only_where_each_has_an_archive_of_its_own(self):
        for words in (
            f"archive {NAME} -o - --remove-source", f"archive --remove-source -o - {NAME}", f"archive {NAME} --quantize *=bitround:5 --remove-source",
            f"archive --remove-source {NAME} --quantize *=bitround:5", f"archive {NAME} smooth.nc -o one.nc3z --remove-source",
            f"archive --remove-source -o one.nc3z {NAME} smooth.nc", f"archive {NAME} --no-verify --remove-source", "archive - -o x.nc3z --remove-source",
        ):
            with self.subTest(words):
                before = self.names()
                self.assertIn(self.run_here(*words.split(), input=b"").returncode, (1, 2))
                self.assertEqual(self.names(), before)

    def test_dry_runs_say_would_and_change_nothing(self):
        for words in (
            "archive -r . -o out --dry-run", "recompress a.nc3z --dry-run --preset fast", "attr a.nc3z :x=1 --dry-run", "rename a.nc3z -v tenths,t --dry-run",
            "commit --dry-run --allow-unrelated a.nc3z smooth.nc", "prune a.nc3z --in-place --dry-run",
        ):
            with self.subTest(words):
                before = {name: (self.dir / name).read_bytes() for name in self.names() if (self.dir / name).is_file()}
                self.assertIn("would", self.ok(self.run_here(*words.split())).stderr)
                self.assertEqual({name: (self.dir / name).read_bytes() for name in self.names() if (self.dir / name).is_file()}, before)

    def test_an_output_that_exists_is_refused_before_the_work(self):
        """The input is a pipe without a writer: a command that reads it before it checks the output would wait for ever."""
        (self.dir / "there").write_bytes(b"mine")
        (self.dir / "s.nc.proof").write_bytes(b"mine")
        os.mkfifo(self.dir / "pipe.nc")
        for words in ("hash --tree there pipe.nc", "cite pipe.nc tenths -o there", "cite pipe.nc tenths -o s.nc", "catalog pipe.nc -o there",
                      "aggregate pipe.nc -o there", "refs pipe.nc -o there"):
            with self.subTest(words):
                self.fails(self.run_here(*words.split(), timeout=20), 1, "exists.*--force")

    def test_a_directory_without_permission_is_refused_before_the_work(self):
        locked = self.dir / "locked"
        os.mkdir(locked)
        os.chmod(self.dir, 0o755)
        os.chmod(locked, 0o555)
        # Root may write everywhere.
        user = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
        for words in ("archive -r . -o locked", "archive numeric.nc -o locked/x.nc3z", "bundle numeric.nc -o locked/x.bundle.nc3z", "catalog . -o locked/x.catalog.nc3z",
                      "aggregate smooth.nc -o locked/all.nc", "restore a.nc3z -o locked/x.nc", "subset a.nc3z tenths -o locked/x.nc"):
            with self.subTest(words):
                try:
                    done = subprocess.run([NC3Z, *words.split()], cwd=self.dir, capture_output=True, text=True, timeout=60, **user)
                except PermissionError:
                    self.skipTest("another user may not run the tool here")
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr, "no file can be created in `locked`: Permission denied")

    def test_a_bundle_that_has_no_space_is_refused_before_it_is_written(self):
        with open(self.dir / "vast.nc", "wb") as file:
            file.write((CLASSIC / NAME).read_bytes())
            file.truncate(1 << 43)
        done = self.run_here("bundle", "vast.nc", "-o", "big.bundle.nc3z", timeout=60)
        self.fails(done, 1, "big.bundle.nc3z.*needs .*file system has .* left")
        self.assertFalse((self.dir / "big.bundle.nc3z").exists())

    def test_credentials_are_checked_before_the_work(self):
        """Each input of the command is at a store. The check ends the command, where each input would have an error of its own."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "GOOGLE_", "AZURE_"))}
        cases = (
            ("s3://b/x.nc3z", {"AWS_ACCESS_KEY_ID": "me"}, "AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not"),
            ("s3://b/x.nc3z", {"AWS_SECRET_ACCESS_KEY": "hush-hush"}, "AWS_SECRET_ACCESS_KEY is set, and AWS_ACCESS_KEY_ID is not"),
            ("s3://b/x.nc3z", {"AWS_WEB_IDENTITY_TOKEN_FILE": "none", "AWS_ROLE_ARN": "r"}, "`none` cannot be read, which AWS_WEB_IDENTITY_TOKEN_FILE"),
            ("gs://b/x.nc3z", {"GOOGLE_APPLICATION_CREDENTIALS": "none.json"}, "`none.json` cannot be read, which GOOGLE_APPLICATION_CREDENTIALS"),
            ("az://b/x.nc3z", {}, "AZURE_STORAGE_ACCOUNT_NAME is not set"),
            # A machine that no store knows: nothing answers at this address.
            ("s3://b/x.nc3z", {"AWS_METADATA_ENDPOINT": "http://127.0.0.1:9"}, "the store gives no credentials to this machine; set AWS_ACCESS_KEY_ID"),
        )
        for url, given, words in cases:
            for command in (("verify",), ("hash", "a.nc3z"), ("list", "."), ("catalog", "-o", "c.nc3z", NAME), ("restore",), ("info", "a.nc3z")):
                with self.subTest(words, command=command):
                    done = self.run_here(*command, url, url + ".other", env=env | given, timeout=60)
                    self.fails(done, 1, words)
                    self.assertEqual((done.stdout, done.stderr.count("nc3z: error:")), (b"", 1))
                    self.assertNotIn("hush", done.stderr)
        self.assertFalse((self.dir / "c.nc3z").exists())

    def test_errors_in_json_have_codes(self):
        (self.dir / "cut.nc3z").write_bytes((self.dir / "a.nc3z").read_bytes()[:-40])
        for words, code in (("verify --json none.nc3z", "input.missing"), ("hash --json none.nc", "input.missing"), ("find --json x none.nc", "input.missing"),
                            ("hash --json cut.nc3z", "input.damaged"), ("list --json cut.nc3z", "input.damaged"),
                            ("estimate --json none.nc", "input.missing"), ("info --json none.nc a.nc3z", "input.missing"), ("parity info --json none.nc3z", "input.missing")):
            with self.subTest(words):
                done = self.run_here(*words.split())
                self.assertIn(done.returncode, (1, 3))
                first = next(row for row in json.loads(done.stdout) if "error" in row or row.get("state") == "error")
                self.assertEqual(first["error"]["code"], code, first)
                self.assertEqual(sorted(first["error"]), ["advice", "code", "message", "path"])

    def test_a_command_that_fails_prints_its_error_in_json(self):
        (self.dir / "cut.nc3z").write_bytes((self.dir / "a.nc3z").read_bytes()[:-40])
        (self.dir / "none.bundle.nc3z").write_bytes(b"")
        cases = (
            ("info --json none.nc", "input.missing", "none.nc"), ("info --layout --json none.nc", "input.missing", "none.nc"),
            ("log --json none.nc3z", "input.missing", "none.nc3z"), ("diff --json none.nc a.nc3z", "input.missing", "none.nc"),
            ("read --explain --json a.nc3z nothing", None, "a.nc3z"),
            ("repair --json none.nc3z -o new.nc3z", "input.missing", "none.nc3z"), ("stats --json none.nc3z", "input.missing", "none.nc3z"),
            ("aggregate --json none.nc -o x.nc", None, None), ("hash --root --json none.nc", "input.missing", "none.nc"),
            ("cite --check none.nc --root nc3z1:00 --json", None, None), ("verify --json", "option", None), ("frobnicate --json", "option", None),
            ("bundle --json --skip-existing --append a.nc3z -o x.bundle.nc3z", "option", None),
        )
        for words, code, path in cases:
            with self.subTest(words):
                done = self.run_here(*words.split())
                self.assertNotEqual(done.returncode, 0)
                found = json.loads(done.stdout)
                error = found["error"] if isinstance(found, dict) else found[0]["error"]
                self.assertEqual(sorted(error), ["advice", "code", "message", "path"])
                self.assertTrue(error["message"] and error["code"], error)
                if code:
                    self.assertEqual(error["code"], code)
                if path:
                    self.assertEqual(error["path"], path)
                    self.assertNotIn(f"`{path}`", error["message"])
        done = self.run_here("info", "--json", "cut.nc3z")
        self.assertIn("nc3z repair", json.loads(done.stdout)["error"]["advice"])
        # A report that has no row for each file has the errors of all.
        found = json.loads(self.run_here("catalog", "--json", "none.nc", NAME, "-o", "c.nc3z").stdout)
        self.assertEqual([(e["code"], e["path"]) for e in found["errors"]], [("input.missing", "none.nc")])

    def test_a_list_fits_the_width_also_in_a_pipe(self):
        self.ok(self.run_here("archive", CLASSIC / "coads_climatology.cdf", "-o", "c.nc3z", "--preset", "fast"))
        for columns, most in ((None, 80), ("120", 120)):
            env = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | ({"COLUMNS": columns} if columns else {})
            lines = self.ok(self.run_here("list", ".", env=env)).stdout.decode().splitlines()
            self.assertLessEqual(max(map(len, lines)), most)
        wide = self.ok(self.run_here("list", "--wide", ".")).stdout.decode()
        self.assertIn("COADSX=180", wide)

    def test_versions_have_a_date_and_an_author(self):
        env = {k: v for k, v in os.environ.items() if k not in ("NC3Z_AUTHOR", "NC3Z_DATE")} | {"USER": "somebody", "LOGNAME": "somebody"}
        self.ok(self.run_here("attr", "a.nc3z", ":title=new", env=env))
        for words in (("log", "a.nc3z"), ("log", "--oneline", "a.nc3z")):
            self.assertRegex(self.ok(self.run_here(*words)).stdout.decode(), r"20\d\d-\d\d-\d\d")
        self.assertTrue(json.loads(self.ok(self.run_here("log", "--json", "a.nc3z")).stdout)["versions"][0]["author"])


if __name__ == "__main__":
    sys.exit(unittest.main())

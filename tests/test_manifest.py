"""Manifests of trees: `sha256sum` and the bagit package read what `archive --manifest` writes, `verify --manifest` reads what they
write, and every check leaves its line in the fixity log."""

import json
import os
import re
import shutil
import subprocess
import unittest

from common import CLASSIC, Case, finish, interrupt, missing, nc3z, need_program, sha256, start, synthetic, wait_for

NAMES = {"a.nc": "record_padding.nc", "sub/b.nc": "numeric.nc", "sub/deeper/c d.nc": "streaming.nc"}


class Tree(Case):
    def setUp(self):
        super().setUp()
        self.add(NAMES)
        (self.dir / "in/notes.txt").write_text("left alone")

    def add(self, names):
        for name, origin in names.items():
            path = self.dir / "in" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CLASSIC / origin, path)

    def run_here(self, *args):
        return nc3z(*args, cwd=self.dir)

    def archive(self, *args, code=0):
        done = self.run_here("archive", "--recursive", *args)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def files(self, root):
        return sorted(str(p.relative_to(self.dir / root)) for p in (self.dir / root).rglob("*") if p.is_file())

    def check(self, *args, code=0):
        done = self.run_here("verify", *args)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout.decode())
        return done.stdout.decode()

    def log(self, name):
        return [json.loads(line) for line in (self.dir / name).read_text().splitlines()]

    def damage(self, name):
        path = self.dir / name
        raw = bytearray(path.read_bytes())
        raw[len(raw) // 2] ^= 1
        path.write_bytes(raw)


class Sums(Tree):
    def sha256sum(self, root, code=0):
        need_program(self, "sha256sum")
        run = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
        done = subprocess.run(run, cwd=self.dir / root, capture_output=True, encoding="utf-8",
                              errors="surrogateescape", check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def test_sha256sum_reads_it(self):
        self.add({"back\\slash\nand line.nc": "numeric.nc", "100%.nc": "numeric.nc", "\udcff.nc": "numeric.nc"})
        self.archive("--manifest", "sha256", "in", "-o", "out")
        self.assertEqual(self.sha256sum("out").count(": OK\n"), 6)
        self.assertIn("6 files", self.check("--manifest", "out/SHA256SUMS"))
        self.damage("out/sub/b.nc.nc3z")
        self.assertIn("sub/b.nc.nc3z: FAILED\n", self.sha256sum("out", 1))

    def test_beside_the_files(self):
        """Without -o each directory has its own; the archives are next to their files."""
        shutil.copytree(self.dir / "in", self.dir / "too")
        self.archive("--manifest", "sha256", "in", "too")
        for root in ("in", "too"):
            self.assertEqual(self.sha256sum(root).count(": OK\n"), 3)
        self.fails(self.run_here("archive", "-r", "--manifest", "sha256", "in/a.nc"), 1, "not a directory")

    def test_other_lines_stay(self):
        self.archive("--manifest", "sha256", "in", "-o", "out")
        before = (self.dir / "out/SHA256SUMS").read_text().splitlines()
        self.add({"new.nc": "numeric.nc"})
        # Existing archives are kept, and their lines too.
        self.archive("--manifest", "sha256", "in", "-o", "out")
        after = (self.dir / "out/SHA256SUMS").read_text().splitlines()
        self.assertEqual([line for line in after if "new.nc" not in line], before)
        self.assertEqual(self.sha256sum("out").count(": OK\n"), 4)
        self.archive("--manifest", "sha256", "--force", "--preset", "fast", "in", "-o", "out")
        self.assertEqual(self.sha256sum("out").count(": OK\n"), 4)

    def test_what_is_no_manifest_stays(self):
        (self.dir / "out").mkdir()
        (self.dir / "out/SHA256SUMS").write_text("my notes\n")
        self.fails(self.run_here("archive", "-r", "--manifest", "sha256", "in", "-o", "out"), 1, "line 1")
        self.assertEqual(self.files("out"), ["SHA256SUMS"])
        self.assertEqual((self.dir / "out/SHA256SUMS").read_text(), "my notes\n")

    def test_same_input_same_manifest(self):
        for out in ("one", "two"):
            self.archive("--manifest", "sha256", "--threads", "1" if out == "one" else "3", "in", "-o", out)
        self.assertEqual((self.dir / "one/SHA256SUMS").read_bytes(), (self.dir / "two/SHA256SUMS").read_bytes())

    def test_a_file_that_failed_is_not_listed(self):
        (self.dir / "in/bad.nc").write_bytes((CLASSIC / "numeric.nc").read_bytes()[:50])
        self.archive("--manifest", "sha256", "in", "-o", "out", code=1)
        self.assertEqual(self.sha256sum("out").count(": OK\n"), 3)

    def test_interrupted_leaves_no_manifest(self):
        synthetic(self.dir / "in/big.nc", 20)
        process = start("archive", "-r", "--preset", "max", "--manifest", "sha256", "in", "-o", "out", cwd=self.dir)
        self.assertTrue(wait_for(lambda: (self.dir / "out").exists()))
        interrupt(process)
        self.assertEqual(finish(process)[0], 130)
        self.assertFalse((self.dir / "out/SHA256SUMS").exists())


class Verify(Tree):
    def setUp(self):
        super().setUp()
        self.archive("--manifest", "sha256", "in", "-o", "out")

    def test_log_has_a_line_for_each_run(self):
        self.check("--manifest", "out/SHA256SUMS")
        self.damage("out/a.nc.nc3z")
        os.unlink(self.dir / "out/sub/b.nc.nc3z")
        shutil.copy(self.dir / "out/a.nc.nc3z", self.dir / "out/new.nc3z")
        out = self.check("--manifest", "out", code=3)
        self.assertRegex(out, "a.nc.nc3z: changed")
        self.assertRegex(out, "sub/b.nc.nc3z: missing")
        self.assertRegex(out, "3 files.*3 not as listed; 1 archive not listed")
        report = json.loads(self.check("--json", "--manifest", "out/SHA256SUMS", code=3))
        rows = self.log("out/SHA256SUMS.fixity.jsonl")
        self.assertEqual([r["result"] for r in rows], ["ok", "failed", "failed"])
        self.assertEqual([r["failed"] for r in rows], [0, 3, 3])
        self.assertEqual(rows[2], report)
        for row in rows:
            self.assertRegex(row["date"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertRegex(row["tool"], r"^nc3z \d")
            self.assertEqual((row["files"], row["manifest_sha256"]), (3, sha256(self.dir / "out/SHA256SUMS")))
        self.assertEqual({f["file"] for f in rows[1]["failures"]}, {"a.nc.nc3z", "sub/b.nc.nc3z", "new.nc3z"})

    def test_quiet_reports_failures_only(self):
        done = self.ok(self.run_here("verify", "-q", "--manifest", "out/SHA256SUMS"))
        self.assertEqual((done.stdout, done.stderr), (b"", ""))
        self.assertIn("all as listed", self.check("--manifest", "out/SHA256SUMS"))
        self.damage("out/a.nc.nc3z")
        self.assertRegex(self.check("-q", "--manifest", "out/SHA256SUMS", code=3), "a.nc.nc3z: changed[^\n]*\n.*3 files.*1 not as listed")
        # The log has a line of each run.
        self.assertEqual([row["result"] for row in self.log("out/SHA256SUMS.fixity.jsonl")], ["ok", "ok", "failed"])

    def test_missing_alone_is_1(self):
        os.unlink(self.dir / "out/a.nc.nc3z")
        self.check("--manifest", "out/SHA256SUMS", code=1)

    def test_recompressed_archives_are_listed_anew(self):
        before = (self.dir / "out/SHA256SUMS").read_text()
        (self.dir / "out/SHA256SUMS.asc").write_text("a signature")
        done = self.run_here("recompress", "--recursive", "--preset", "fast", "out")
        self.ok(done)
        self.assertIn("out/SHA256SUMS: 3 archives listed anew", done.stderr)
        self.assertIn("SHA256SUMS.asc is a signature of the old manifest", done.stderr)
        self.check("--manifest", "out")
        self.assertNotEqual((self.dir / "out/SHA256SUMS").read_text(), before)
        # One archive, by a list above it; what another program wrote into the list stays.
        with open(self.dir / "out/SHA256SUMS", "a", encoding="utf-8") as f:
            f.write("0" * 64 + "  gone.nc3z\n")
        self.assertIn("1 archive listed anew", self.run_here("recompress", "out/sub/b.nc.nc3z").stderr)
        self.assertRegex(self.check("--manifest", "out", code=1), "^gone.nc3z: missing\n.*1 not as listed")
        # What the list does not know stays unknown to it: --dry-run, another place, a file that was not the listed one.
        before = (self.dir / "out/SHA256SUMS").read_text()
        self.ok(self.run_here("recompress", "--dry-run", "--preset", "max", "out/a.nc.nc3z"))
        self.ok(self.run_here("recompress", "--recursive", "--preset", "max", "out", "-o", "elsewhere"))
        self.ok(self.run_here("attr", "out/a.nc.nc3z", ":edited=yes"))
        done = self.run_here("recompress", "--drop-history", "out/a.nc.nc3z")
        self.ok(done)
        self.assertIn("it was not the file that the manifest", done.stderr)
        self.assertEqual((self.dir / "out/SHA256SUMS").read_text(), before)

    def test_archives_with_parity_are_listed_anew(self):
        for command in ("add", "remove"):
            done = self.ok(self.run_here("parity", command, "out/sub/b.nc.nc3z"))
            self.assertIn("1 archive listed anew", done.stderr)
            self.check("--manifest", "out")

    def test_changed_but_sound(self):
        """By what the archive says of itself where it was recompressed, by the listed bytes themselves where it has grown. Exit code 1: the list says otherwise."""
        listed = (self.dir / "out/SHA256SUMS").read_text()
        self.ok(self.run_here("recompress", "--preset", "max", "out/a.nc.nc3z", "out/sub/b.nc.nc3z"))
        (self.dir / "out/SHA256SUMS").write_text(listed)
        out = self.check("--manifest", "out", code=1)
        self.assertRegex(out, "^a.nc.nc3z: changed but sound: its metadata say that it was recompressed from the listed archive; SHA-256 is")
        self.assertRegex(out, "\nsub/b.nc.nc3z: changed but sound: .*\n.*3 files.*2 not as listed")
        # Grown since the list was made: by values, by parity.
        self.ok(self.run_here("hash", "--manifest", "out", "--force"))
        for change in (("attr", "out/sub/b.nc.nc3z", ":edited=yes"), ("parity", "add", "out/sub/b.nc.nc3z")):
            self.ok(self.run_here(*change))
            out = self.check("--manifest", "out", code=1)
            self.assertRegex(out, "^sub/b.nc.nc3z: changed but sound: it was appended to, and begins with the listed file; SHA-256 is")
        # Damage is damage, whatever the archive says; and a sound archive need not be the listed one.
        self.damage("out/sub/b.nc.nc3z")
        self.assertRegex(self.check("--manifest", "out", code=3), "^sub/b.nc.nc3z: changed: SHA-256 is")
        shutil.copy(self.dir / "out/sub/deeper/c d.nc.nc3z", self.dir / "out/sub/b.nc.nc3z")
        self.assertRegex(self.check("--manifest", "out", code=3), "^sub/b.nc.nc3z: changed: a sound archive, but not the listed one")

    def test_where_the_log_goes(self):
        self.check("--manifest", "out/SHA256SUMS", "--no-fixity-log")
        self.assertNotIn("SHA256SUMS.fixity.jsonl", self.files("out"))
        self.check("--manifest", "out/SHA256SUMS", "--fixity-log", "log")
        self.assertEqual(len(self.log("log")), 1)
        self.fails(self.run_here("verify", "--manifest", "out/SHA256SUMS", "--fixity-log", "no/such/log"), 1, "log was not written")

    def test_a_log_never_goes_into_another_file(self):
        before = {name: (self.dir / name).read_bytes() for name in ("in/a.nc", "in/notes.txt", "out/a.nc.nc3z", "out/SHA256SUMS")}
        for name, raw in before.items():
            for n, command in enumerate((("archive", "-f", "in/sub/b.nc", "-o", "b.nc3z", "--log"), ("archive", "-f", "in/a.nc", "-o", "a.nc3z", "--log"),
                                         ("verify", "--manifest", "out", "--fixity-log"))):
                with self.subTest(name=name, command=n):
                    self.fails(self.run_here(*command, name), 1, f"{name}.*is not the log")
                    self.assertEqual((self.dir / name).read_bytes(), raw)
        # An empty file, and a log, are appended to.
        (self.dir / "log").touch()
        for _ in range(2):
            self.ok(self.run_here("archive", "-f", "in/a.nc", "-o", "a.nc3z", "--log", "log"))
            self.check("--manifest", "out", "--fixity-log", "fixity")
        self.assertEqual(len(self.log("fixity")), 2)

    def test_directory_elsewhere(self):
        shutil.copytree(self.dir / "out", self.dir / "copy")
        os.unlink(self.dir / "copy/SHA256SUMS")
        self.check("--manifest", "out/SHA256SUMS", "copy")
        self.damage("copy/a.nc.nc3z")
        self.check("--manifest", "out/SHA256SUMS", "copy", code=3)
        self.check("--manifest", "out/SHA256SUMS")
        self.assertEqual(self.run_here("verify", "--manifest", "out/SHA256SUMS", "copy", "out").returncode, 2)
        self.assertEqual(self.run_here("verify").returncode, 2)

    def test_hostile_manifest(self):
        """Names that lead out of the directory, by dots, from the root, by links: not read, not followed."""
        secret = self.dir / "secret"
        secret.write_text("x")
        digest = sha256(secret)
        (self.dir / "out/link").symlink_to("../secret")
        (self.dir / "out/linked").symlink_to("..")
        os.mkfifo(self.dir / "out/pipe")
        names = ["../secret", str(secret), "sub/../../secret", "link", "linked/secret", "pipe", "sub", "\x1b[31mred"]
        (self.dir / "out/SHA256SUMS").write_text("".join(f"{digest}  {n}\n" for n in names))
        out = self.check("--manifest", "out/SHA256SUMS", code=1)
        self.assertEqual(out.count("leads out of the directory"), 5)
        self.assertEqual(out.count("is not a file"), 2)
        self.assertNotIn("\x1b", out + (self.dir / "out/SHA256SUMS.fixity.jsonl").read_text())
        self.assertNotIn("\\u001b", (self.dir / "out/SHA256SUMS.fixity.jsonl").read_text())


class Kept(Tree):
    """An entry stays until its file is archived anew: a rerun never lists the hash of damaged bytes in place of the listed one."""

    RERUNS = (("hash", "--manifest", "out"), ("archive", "-r", "--skip-existing", "--manifest", "sha256", "in", "-o", "out"))

    def setUp(self):
        super().setUp()
        self.archive("--manifest", "sha256", "--log", "log", "in", "-o", "out")
        self.before = (self.dir / "out/SHA256SUMS").read_text()

    def rerun(self, code, words, reruns=RERUNS):
        for command in reruns:
            with self.subTest(command=command):
                done = self.run_here(*command)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertRegex(done.stderr, words)
                self.assertEqual((self.dir / "out/SHA256SUMS").read_text(), self.before)

    def test_damaged(self):
        self.damage("out/sub/b.nc.nc3z")
        words = "sub/b.nc.nc3z: changed: SHA-256 is .*the listed entry stays"
        self.rerun(3, words, (*self.RERUNS, ("hash", "--manifest", "--force", "out"), ("hash", "--manifest", "out", "--from-log", "log")))
        self.check("--manifest", "out", code=3)
        # A file that is not an archive at all.
        (self.dir / "out/sub/b.nc.nc3z").write_bytes(b"")
        self.rerun(3, words, (("hash", "--manifest", "out"), ("hash", "--manifest", "--force", "out")))
        # Archived again, it is listed again.
        self.ok(self.run_here("archive", "-r", "--force", "--manifest", "sha256", "in", "-o", "out"))
        self.check("--manifest", "out")

    def test_changed_but_sound(self):
        self.ok(self.run_here("attr", "out/a.nc.nc3z", ":edited=yes"))
        self.rerun(1, "a.nc.nc3z: changed.* sound.*the listed entry stays .*--force", (("hash", "--manifest", "out"),))
        self.ok(self.run_here("hash", "--manifest", "--force", "out"))
        self.assertNotEqual((self.dir / "out/SHA256SUMS").read_text(), self.before)
        self.check("--manifest", "out")

    def test_bag(self):
        self.archive("--manifest", "bagit", "in", "-o", "bag")
        before = (self.dir / "bag/manifest-sha256.txt").read_text()
        self.damage("bag/data/a.nc.nc3z")
        os.unlink(self.dir / "bag/data/sub/b.nc.nc3z")
        shutil.rmtree(self.dir / "in/sub")
        (self.dir / "in/a.nc").unlink()
        self.add({"new.nc": "numeric.nc"})
        done = self.archive("--manifest", "bagit", "--force", "in", "-o", "bag", code=3)
        self.assertRegex(done.stderr, "bag/data/a.nc.nc3z: changed: .*stays")
        self.assertRegex(done.stderr, "bag/data/sub/b.nc.nc3z: missing; the listed entry stays")
        after = (self.dir / "bag/manifest-sha256.txt").read_text()
        self.assertEqual([line for line in after.splitlines() if "new.nc" not in line], before.splitlines())
        self.check("--manifest", "bag", code=3)


class Bag(Tree):
    def bagit(self):
        try:
            import bagit
        except ImportError:
            missing(self, "the bagit package is not installed")
        return bagit

    def validate(self, path, valid=True):
        bagit = self.bagit()
        bag = bagit.Bag(str(self.dir / path))
        if valid:
            bag.validate(processes=1)
        else:
            with self.assertRaises(bagit.BagValidationError):
                bag.validate(processes=1)

    def make(self, *args, code=0):
        return self.archive("--manifest", "bagit", *args, "in", "-o", "bag", code=code)

    def test_bagit_package_accepts_it(self):
        self.add({"température.nc": "numeric.nc", "new\nline.nc": "numeric.nc"})
        self.make()
        self.validate("bag")
        tags = ["bag-info.txt", "bagit.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt"]
        payload = [f"data/{n}.nc3z" for n in [*NAMES, "température.nc", "new\nline.nc"]]
        self.assertEqual(self.files("bag"), sorted(tags + payload))
        self.assertEqual((self.dir / "bag/bagit.txt").read_text(), "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n")
        size = sum((self.dir / "bag" / p).stat().st_size for p in payload)
        self.assertIn(f"Payload-Oxum: {size}.5\n", (self.dir / "bag/bag-info.txt").read_text())
        self.assertIn("5 files", self.check("--manifest", "bag"))
        self.assertIn("5 files", self.check("--manifest", "bag/manifest-sha256.txt"))
        # The log is a tag file that no manifest lists: the bag stays valid.
        self.assertEqual(len(self.log("bag/manifest-sha256.txt.fixity.jsonl")), 2)
        self.validate("bag")
        self.archive("--manifest", "bagit", "in", "-o", "again")
        for tag in tags:
            self.assertEqual((self.dir / "bag" / tag).read_bytes(), (self.dir / "again" / tag).read_bytes())

    def test_recompressed_archives_are_listed_anew(self):
        self.make()
        bag = self.dir / "bag"
        # Text that a user added to the tag files stays, and the manifest of the tag files covers it.
        with open(bag / "bag-info.txt", "a", encoding="utf-8") as f:
            f.write("Contact-Name: somebody\n")
        lines = [line.split() for line in (bag / "tagmanifest-sha256.txt").read_text().splitlines()]
        (bag / "tagmanifest-sha256.txt").write_text("".join(f"{sha256(bag / name)}  {name}\n" for _, name in lines))
        self.validate("bag")
        self.assertIn("3 archives listed anew", self.run_here("recompress", "--recursive", "--preset", "fast", "bag/data").stderr)
        self.validate("bag")
        self.check("--manifest", "bag")
        self.assertIn("Contact-Name: somebody\n", (bag / "bag-info.txt").read_text())

    def test_percent_signs_as_the_rfc_says(self):
        """bagit-python does not change them, so it is not used here."""
        self.add({"100%0A.nc": "numeric.nc"})
        self.make()
        self.assertIn("data/100%250A.nc.nc3z\n", (self.dir / "bag/manifest-sha256.txt").read_text())
        self.check("--manifest", "bag")

    def test_every_kind_of_damage_is_seen_by_both(self):
        def edit(name, change):
            path = self.dir / "bag" / name
            path.write_bytes(change(path.read_bytes()))

        cases = {
            "changed payload": (lambda: self.damage("bag/data/a.nc.nc3z"), 3),
            "missing payload": (lambda: os.unlink(self.dir / "bag/data/a.nc.nc3z"), 1),
            "file that is not listed": (lambda: (self.dir / "bag/data/extra").write_text("x"), 1),
            "changed tag file": (lambda: edit("bag-info.txt", lambda b: b + b"Contact-Name: me\n"), 3),
            "wrong size on record": (lambda: (edit("bag-info.txt", lambda b: re.sub(rb"Oxum: \d", b"Oxum: 9", b)),
                                              os.unlink(self.dir / "bag/tagmanifest-sha256.txt")), 1),
            "line left out": (lambda: (edit("manifest-sha256.txt", lambda b: b"\n".join(b.splitlines()[1:]) + b"\n"),
                                       os.unlink(self.dir / "bag/tagmanifest-sha256.txt")), 1),
        }
        for name, (act, code) in cases.items():
            with self.subTest(name):
                shutil.rmtree(self.dir / "bag", ignore_errors=True)
                self.make()
                self.validate("bag")
                act()
                self.validate("bag", valid=False)
                self.check("--manifest", "bag", code=code)

    def test_bags_of_others(self):
        bagit = self.bagit()
        self.archive("in", "-o", "theirs")
        bagit.make_bag(str(self.dir / "theirs"), checksums=["sha256", "md5"])
        self.assertIn("3 files", self.check("--manifest", "theirs"))
        self.damage("theirs/data/a.nc.nc3z")
        self.check("--manifest", "theirs", code=3)

    def test_directory_must_be_free(self):
        (self.dir / "bag").mkdir()
        (self.dir / "bag/mine.txt").write_text("x")
        for force in ((), ("--force",)):
            self.fails(self.run_here("archive", "-r", "--manifest", "bagit", *force, "in", "-o", "bag"), 1, "is not a bag")
        self.assertEqual(self.files("bag"), ["mine.txt"])
        self.fails(self.run_here("archive", "-r", "--manifest", "bagit", "in"), 1, "-o")
        os.unlink(self.dir / "bag/mine.txt")
        self.make()
        self.fails(self.run_here("archive", "-r", "--manifest", "bagit", "in", "-o", "bag"), 1, "not empty")
        self.add({"more.nc": "numeric.nc"})
        self.make("--force")
        self.validate("bag")
        self.assertIn("data/more.nc.nc3z", self.files("bag"))

    def test_names_that_are_no_utf8(self):
        self.add({"\udcff.nc": "numeric.nc"})
        done = self.make(code=1)
        self.assertIn("not valid UTF-8", done.stderr)
        self.validate("bag")
        self.assertEqual(len(self.files("bag/data")), 3)

    def test_one_file(self):
        shutil.copy(CLASSIC / "numeric.nc", self.dir / "one.nc")
        self.ok(self.run_here("archive", "-r", "--manifest", "bagit", "one.nc", "-o", "bag"))
        self.assertIn("data/one.nc.nc3z", self.files("bag"))
        self.validate("bag")


if __name__ == "__main__":
    unittest.main()

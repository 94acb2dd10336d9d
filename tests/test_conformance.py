"""The test files for decoders (testdata/conformance): the program and both other decoders give the right answers, each rule has a file."""

import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import unittest

from common import NC3Z, NIGHT, ROOT, TIMEOUT, Case, missing

CORPUS = ROOT / "testdata/conformance"
RUNNER = CORPUS / "nc3z-conformance"
DESCRIBED = json.loads((CORPUS / "corpus.json").read_text())
MUTATIONS = int(os.environ.get("NC3Z_MUTATIONS", 10_000 if NIGHT else 20))
#: SHA-256 of frozen.sha256, which `scripts/corpus.py FREEZE` printed.
FROZEN = "00a83ce174770a2d8243ac8078a6988ff62638a7ed61f8ff9a373363c3a9ec08"
sys.path[:0] = [str(ROOT / "spec/reference"), str(ROOT / "scripts")]
import corpus  # noqa: E402
import nc3z_ref  # noqa: E402


def mutated(data, rng):
    """One to three changes: a bit, a byte, a cut, a piece that is repeated."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data))
        what = rng.randrange(8)
        if what == 0 and len(data) > 1:
            del data[max(at, 1):]
        elif what == 1:
            to = rng.randrange(len(data))
            data[to:to] = data[at:at + 64]
        elif what < 4:
            data[at] = rng.randrange(256)
        else:
            data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


class Files(unittest.TestCase):
    def test_each_rule_of_the_text_has_a_file_or_a_reason(self):
        text = (ROOT / "spec/conformance.md").read_text()
        rules = set(re.findall(r"^(?:\* \*\*|\| )([RCWMFLS]\d+)\b", text, flags=re.M))
        named = {rule for row in DESCRIBED["files"] for rule in row["rules"]}
        self.assertGreater(len(rules), 50)
        self.assertEqual(named - rules, set())
        self.assertEqual(set(DESCRIBED["without"]) - rules, set())
        self.assertEqual(rules - named - set(DESCRIBED["without"]), set())

    def test_the_folder_has_what_is_described_and_files_are_unchanged(self):
        found = {p.relative_to(CORPUS).as_posix() for p in CORPUS.glob("*/*.nc3z")}
        self.assertEqual(found, {row["file"] for row in DESCRIBED["files"]})
        for row in DESCRIBED["files"]:
            self.assertEqual(hashlib.sha256((CORPUS / row["file"]).read_bytes()).hexdigest(), row["sha256"], row["file"])
        self.assertLess(sum(p.stat().st_size for p in CORPUS.rglob("*") if p.is_file()), 3 << 20)


    def test_since_format_1_0_files_are_only_added(self):
        if FROZEN is None:
            self.assertFalse((CORPUS / "frozen.sha256").exists(), "FROZEN is its SHA-256")
            return
        data = (CORPUS / "frozen.sha256").read_bytes()
        self.assertEqual(hashlib.sha256(data).hexdigest(), FROZEN)
        self.assertEqual(set(data.decode().splitlines()) - set(corpus.frozen_lines(DESCRIBED)), set())

    def test_a_change_of_a_frozen_file_is_found(self):
        lines = corpus.frozen_lines(DESCRIBED)
        self.assertEqual((len(lines), len(set(lines))), (len(DESCRIBED["files"]),) * 2)
        for key, value in (("sha256", "0" * 64), ("restore", None), ("verify", "maybe"), ("rules", ["R1", "X1"]), ("about", "another")):
            changed = json.loads(json.dumps(DESCRIBED))
            changed["files"][3][key] = value
            self.assertEqual(set(lines) - set(corpus.frozen_lines(changed)), {lines[3]}, key)
        added = {**DESCRIBED, "files": [*DESCRIBED["files"], {**DESCRIBED["files"][0], "file": "must-read/999-new.nc3z"}]}
        self.assertEqual(set(lines) - set(corpus.frozen_lines(added)), set())


class Decoders(Case):
    def right(self, *decoder, **environment):
        done = subprocess.run([sys.executable, RUNNER, "--json", *map(str, decoder)], capture_output=True, text=True, timeout=10 * TIMEOUT, check=False,
                              env={**os.environ, "NC3Z": NC3Z, **environment})
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_the_program(self):
        self.right(ROOT / "scripts/decoders/nc3z.sh")

    def test_archives_of_development_builds_are_named_with_the_commit_that_reads_them(self):
        for row in DESCRIBED["files"]:
            if "version-0" in row["file"]:
                for command in ((NC3Z, "restore"), (NC3Z, "info"), (NC3Z, "verify"), (NC3Z, "repair"), (sys.executable, ROOT / "spec/reference/nc3z_ref.py", "restore")):
                    out = () if command[-1] in ("info", "verify") else ("-o", self.dir / "out")
                    done = subprocess.run([*command, CORPUS / row["file"], *out], capture_output=True, text=True, timeout=TIMEOUT, check=False)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn("development build", done.stderr)
                    self.assertIn(nc3z_ref.LAST_OF_VERSION_0, done.stderr)

    def test_the_reference_in_python(self):
        self.right(sys.executable, ROOT / "spec/reference/decoder.py")

    def test_the_reader_in_java(self):
        if not NIGHT:
            return
        if not list((ROOT / "faces/java/target").glob("nc3z-java-*.jar")):
            missing(self, "the Java reader is not built")
        self.right(ROOT / "scripts/decoders/java.sh")

    def test_a_wrong_decoder_is_found(self):
        for command in ("exit 1", "echo nothing", "kill -11 $$", "exit 64"):
            decoder = self.dir / "decoder"
            decoder.write_text(f"#!/bin/sh\n{command}\n")
            decoder.chmod(0o755)
            done = subprocess.run([sys.executable, RUNNER, decoder], capture_output=True, text=True, timeout=TIMEOUT, check=False)
            self.assertEqual(done.returncode, 0 if command == "exit 64" else 1, done.stderr)
            for words in {"exit 1": ["must-read/001", "refused"], "echo nothing": ["other bytes", "not refused"], "kill -11 $$": ["crashed"]}.get(command, []):
                self.assertIn(words, done.stdout)

    def test_the_tar_is_reproducible(self):
        digests = set()
        for name in ("a.tar", "b.tar"):
            subprocess.run(["bash", ROOT / "scripts/corpus.sh", self.dir / name], capture_output=True, timeout=TIMEOUT, check=True)
            digests.add(hashlib.sha256((self.dir / name).read_bytes()).hexdigest())
        self.assertEqual(len(digests), 1)
        with tarfile.open(self.dir / "a.tar") as tar:
            names = {name.removeprefix("nc3z-test-files-1.0/") for name in tar.getnames()}
        self.assertLessEqual({"README.md", "corpus.json", "nc3z-conformance"} | {row["file"] for row in DESCRIBED["files"]}, names)

    def test_mutations_of_refused_files_are_refused_by_the_reference(self):
        """The library: nc3z-reader/tests/it/corpus.rs; the Java reader: tests/test_java.py."""
        good = {row.get("undamaged") for row in DESCRIBED["files"]} | {row.get("restore", row.get("dataset")) for row in DESCRIBED["files"]}
        for row in DESCRIBED["files"]:
            if not row["file"].startswith("must-refuse"):
                continue
            data, rng = (CORPUS / row["file"]).read_bytes(), random.Random(row["file"])
            for n in range(MUTATIONS):
                try:
                    archive = nc3z_ref.Archive(mutated(data, rng))
                    out = bytearray(archive.length)
                    archive.restore(out)
                except nc3z_ref.Refused:
                    continue
                # A mutation may undo the damage.
                self.assertIn(hashlib.sha256(out).hexdigest(), good, f"{row['file']}, mutation {n}")


if __name__ == "__main__":
    unittest.main()

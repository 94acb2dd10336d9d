"""Names and words from files, and file names: nothing that a terminal would obey reaches it, from any command, in text or in JSON."""

import json
import os
import pty
import struct
import subprocess
import sys
import unicodedata
import unittest

from common import CLASSIC, NC3Z, ROOT, Case, nc3z

# Escapes of both lengths, what reorders, hides or ends lines, and bytes that are not valid UTF-8.
EVIL = "\x1b[31mE\x1b]0;t\x07\r\n\t\x00\x7f\x9b2J\u202e\u2066\u200b\u2028\u061c\u00ad\U000e0041".encode() + b"\xff\x9b"


def name(raw):
    return struct.pack(">I", len(raw)) + raw + b"\0" * (-len(raw) % 4)


def hostile(tail=b""):
    """A classic file all of whose names and texts are hostile; two variables overlap, the second is cut short."""
    dimension, variable, attribute = b"d" + EVIL, b"v" + EVIL, b"a" + EVIL
    attributes = struct.pack(">II", 12, 1) + name(attribute) + struct.pack(">I", 2) + name(EVIL)

    def build(begin):
        out = b"CDF\x01\0\0\0\0" + struct.pack(">II", 10, 1) + name(dimension) + struct.pack(">I", 9000)
        out += attributes + struct.pack(">II", 11, 3)
        for i, at in enumerate((begin, begin + 100, begin + 9000)):
            out += name(variable + b"%d" % i) + struct.pack(">II", 1, 0) + attributes + struct.pack(">III", 1, 9000, at)
        return out

    return build(len(build(0))) + bytes(i * i % 251 for i in range(15_000)) + tail


class Terminal(Case):
    def setUp(self):
        super().setUp()
        self.evil = EVIL.replace(b"\0", b"").replace(b"/", b"").decode("utf-8", "surrogateescape")
        self.file = f"f{self.evil}.nc"
        (self.dir / self.file).write_bytes(hostile())

    def clean(self, *args, json_too=False):
        """Runs a command, whatever its end, and looks at all it says."""
        for extra in ((), ("--json",)) if json_too else ((),):
            done = nc3z(*args, *extra, cwd=self.dir)
            self.assertNotIn(done.returncode, (2, 101), done.stderr)
            text = done.stdout.decode("utf-8") + done.stderr
            bad = {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs")}
            self.assertFalse(bad, f"{args} {extra}: {sorted(map(ascii, bad))}")
            if extra and done.stdout:
                json.loads(done.stdout)
        return done

    def test_names_in_files(self):
        archive = f"{self.file}.nc3z"
        self.clean("archive", self.file)
        for file in (self.file, archive):
            for command in (("info",), ("info", "--layout")):
                self.clean(*command, file, json_too=True)
            self.clean("hash", "--variables", file, json_too=True)
        self.clean("verify", archive, json_too=True)
        self.clean("recompress", "--preset", "max", archive)
        self.clean("info", archive, json_too=True)
        self.clean("archive", self.file)
        self.clean("restore", "--force", archive)
        self.clean("verify", archive, "--against", self.file)
        self.clean("hash", self.file + "x", json_too=True)

    def on_terminal(self, *args):
        """Runs a command with a terminal of 80 columns as standard output. Returns its lines."""
        ours, theirs = pty.openpty()
        done = subprocess.Popen([NC3Z, *map(str, args)], stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, cwd=self.dir, env={**os.environ, "COLUMNS": "80"})
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 1 << 16):
                said += part
        except OSError:
            pass
        os.close(ours)
        done.communicate(timeout=60)
        return said.decode().splitlines()

    def test_lists_fit(self):
        (self.dir / self.file).unlink()
        good = CLASSIC / "coads_climatology.cdf"
        self.ok(nc3z("archive", "--preset", "fast", good, "-o", self.dir / "good.nc3z"))
        whole = (self.dir / "good.nc3z").read_bytes()
        (self.dir / "cut.nc3z").write_bytes(whole[:-5000])
        lines = self.on_terminal("list", self.dir)
        self.assertTrue(lines and all(len(line) <= 80 for line in lines), lines)
        text = " ".join(lines)
        self.assertRegex(text, "cut.nc3z +error")
        self.assertRegex(text, "good.nc3z .* ok")
        self.assertRegex(text.replace("- ", "-"), "nc3z repair .*cut.nc3z -o NEW")
        (self.dir / ("n" * 120 + ".nc3z")).write_bytes(whole)
        lines = self.on_terminal("list", self.dir)
        self.assertTrue(all(len(line) <= 80 for line in lines), lines)
        self.assertTrue(any("n.nc3z  archive" in line and line.rstrip().endswith("ok") for line in lines), lines)

    def test_damage(self):
        archive = f"{self.file}.nc3z"
        self.clean("archive", "--tile-size", "512", self.file)
        raw = bytearray((self.dir / archive).read_bytes())
        for at in range(900, len(raw) - 200, len(raw) // 15):
            bad = bytearray(raw)
            bad[at] ^= 1
            (self.dir / archive).write_bytes(bad)
            self.clean("verify", archive, json_too=True)
            self.clean("verify", "--deep", archive, json_too=True)
            (self.dir / "good").unlink(missing_ok=True)
            self.clean("repair", archive, "-o", "good", json_too=True)
            for command in (("info",), ("info", "--layout")):
                self.clean(*command, archive, json_too=True)
            self.clean("hash", archive, json_too=True)
            self.clean("restore", archive, "-o", "x")
            self.clean("recompress", archive)
        for cut in (10, 50, 100, 200, 300, 500):
            (self.dir / self.file).write_bytes(hostile()[:cut])
            self.clean("archive", "--force", self.file)
            self.clean("info", self.file)

    def test_metadata_and_chains(self):
        """Metadata and chains that another program may have written into an archive."""
        words = EVIL.decode("utf-8", "replace")
        metadata = {"writer": words, "options": {words: words}, words: words, "lineage": [
            {"writer": words, "archive_sha256": words, "archive_bytes": 7, "options": {words: words}, words: words}, words, 7, None]}
        make = [sys.executable, ROOT / "spec/reference/make_test_archive.py", CLASSIC / "numeric.nc", "-o", self.dir / "m.nc3z"]
        subprocess.run([*make, "--metadata", json.dumps(metadata)], check=True)
        for command in (("info",), ("info", "--layout"), ("verify",), ("hash",)):
            self.clean(*command, "m.nc3z", json_too=True)
        self.clean("recompress", "m.nc3z")
        self.assertEqual(self.clean("info", "m.nc3z", json_too=True).returncode, 0)

    def test_trees_and_manifests(self):
        tree = self.dir / f"t{self.evil}"
        tree.mkdir()
        (tree / self.file).write_bytes(hostile())
        (tree / f"bad{self.evil}.nc").write_bytes(b"CDF\x01 but no more")
        (tree / f"link{self.evil}.nc").symlink_to(self.dir / self.file)
        self.clean("archive", "-r", "--manifest", "sha256", tree.name)
        self.clean("verify", "--manifest", tree.name, json_too=True)
        self.clean("hash", "-r", tree.name, json_too=True)
        for path in tree.glob("*.nc3z"):
            path.unlink()
        self.clean("verify", "--manifest", tree.name, json_too=True)
        self.clean("archive", "-r", "--manifest", "bagit", tree.name, "-o", f"b{self.evil}")
        (self.dir / "list").write_bytes(b"0" * 64 + b"  " + self.file.replace("\n", "").encode("utf-8", "surrogateescape") + b"\n")
        self.clean("hash", "--check", "list", json_too=True)


if __name__ == "__main__":
    unittest.main()

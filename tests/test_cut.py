"""Archives of several versions that lost their end, as by a copy that was cut short: every command says so, and none shows an older version in its place."""

import json
import shutil
import struct
import unittest
import zlib

from common import CLASSIC, NIGHT, ROOT, Case, nc3z, sha256
from servers import serve

READING = [("info",), ("log",), ("dump", "-h"), ("dump",), ("hash",), ("layout",), ("list",), ("verify",), ("explain", None, "small"),
           ("read", None, "small"), ("restore", None, "-o", "-"), ("subset", None, "-v", "small", "-o", "s.nc"), ("diff", None, "whole.nc3z"),
           ("restore", "--fill-lost", None, "-o", "-"), ("restore", "--fill-lost", None, "-o", "s.nc")]
WRITING = [("recompress", None, "-o", "n.nc3z"), ("gc", None, "-o", "n.nc3z"), ("att", None, ":x=1"), ("rename", None, "-v", "small,tiny"), ("tag", None, "t"), ("revert", None, "1"), ("commit", None, "first.nc"),
           ("set", None, "small", "=1"), ("parity", "add", None), ("recompress", "--drop-history", None), ("gc", "--in-place", None)]


class Cut(Case):
    def setUp(self):
        super().setUp()
        self.whole, self.cut = self.dir / "whole.nc3z", self.dir / "cut.nc3z"
        source = CLASSIC / "all_types_cdf5.nc"
        shutil.copy(source, self.dir / "first.nc")
        self.ok(nc3z("archive", source, "-o", self.whole))
        info = json.loads(self.ok(nc3z("info", "--json", self.whole)).stdout)
        self.name = info["variables"][0]["name"]
        self.ends = []
        for number in (2, 3, 4):
            self.ok(nc3z("att", self.whole, f":step={number}", "-m", f"step {number}"))
            self.ends.append(self.whole.stat().st_size)
        self.digests = {}
        for number in (1, 2, 3, 4):
            out = self.dir / "o.nc"
            self.ok(nc3z("restore", "--force", f"{self.whole}@{number}", "-o", out))
            self.digests[number] = sha256(out)
        out.unlink()

    def lengths(self):
        first, second, end = self.ends
        if NIGHT:
            return range(first, end)
        return [first, first + 1, first + 60, second - 1, second, second + 1, (second + end) // 2, end - 128, end - 1]

    def words(self, args, archive):
        return [args[0], *(archive if a is None else self.name if a == "small" else self.dir / a if a.endswith((".nc", ".nc3z")) else a
                           for a in (args[1:] if None in args else (None, *args[1:])))]

    def test_no_command_takes_an_older_version_for_the_newest(self):
        data = self.whole.read_bytes()
        runs = 0
        for length in self.lengths():
            missing = self.ends[-1] - length
            left = 1 + sum(end <= length for end in self.ends)
            self.cut.write_bytes(data[:length])
            # By day every command sees some cuts, and every cut some commands.
            commands = READING + WRITING
            if not NIGHT:
                commands = commands[runs % 3::3]
            for args in commands:
                with self.subTest(args=args, length=length):
                    done = nc3z(*self.words(args, self.cut))
                    text = done.stderr + done.stdout.decode(errors="replace")
                    self.assertIn(done.returncode, (3,) if args in READING else (1, 3), text)
                    self.assertIn(f"the last {missing} bytes of version 4 are missing", text)
                    self.assertEqual(self.cut.stat().st_size, length)
                    self.assertFalse((self.dir / "n.nc3z").exists())
                    runs += 1
            self.assertEqual(self.cut.read_bytes(), data[:length])
            out = self.dir / "o.nc"
            done = self.ok(nc3z("restore", "--force", f"{self.cut}@{left}", "-o", out))
            self.assertEqual(sha256(out), self.digests[left])
            self.fails(nc3z("restore", "--force", f"{self.cut}@4", "-o", out), 3, "version 4 are missing")
            done = nc3z("info", self.cut)
            self.assertRegex(done.stderr, f"read version {left} with `.*cut.nc3z@{left}`, copy the file again")

    def test_repair_saves_the_versions_that_are_whole_and_says_which_is_lost(self):
        data, seen = self.whole.read_bytes(), set()
        for length in [*self.lengths()[::2], self.ends[-1] - 1]:
            left = 1 + sum(end <= length for end in self.ends)
            self.cut.write_bytes(data[:length])
            done = nc3z("repair", "--json", self.cut, "-o", self.dir / "r.nc3z")
            report = json.loads(done.stdout)
            # Where the commit block of the last version is whole, that version is rebuilt, and has the SHA-256 that the block records.
            self.assertEqual(done.returncode, 0 if report["complete"] else 3, done.stderr)
            seen.add(report["complete"])
            if report["complete"]:
                self.assertEqual((report["versions"], report["lost_versions"]), ([1, 2, 3, 4], []))
                left = 4
            elif left > 1:
                self.assertEqual(report["versions"], list(range(1, left + 1)))
                self.assertEqual([lost["version"] for lost in report["lost_versions"]], [4])
            for number in range(1, left + 1):
                out = self.dir / "o.nc"
                self.ok(nc3z("restore", "--force", f"{self.dir}/r.nc3z@{number}", "-o", out))
                self.assertEqual(sha256(out), self.digests[number])
            (self.dir / "r.nc3z").unlink()
        self.assertEqual(seen, {True, False})

    def test_a_damaged_last_trailer_is_told_too(self):
        data = bytearray(self.whole.read_bytes())
        data[-20] ^= 1
        self.cut.write_bytes(data)
        for args in READING[:6]:
            done = nc3z(*self.words(args, self.cut))
            self.assertEqual(done.returncode, 3)
            self.assertIn("the end of version 4 is damaged", done.stderr)
        self.assertEqual(nc3z("restore", f"{self.cut}@3", "-o", self.dir / "o.nc").returncode, 0)

    def test_by_url_and_in_a_bundle(self):
        data = self.whole.read_bytes()
        with serve({"a.nc3z": data[:-1], "w.nc3z": data}) as server:
            for args in (("info", None), ("dump", None), ("restore", None, "-o", "-"), ("hash", None)):
                done = nc3z(*self.words(args, server.url("a.nc3z")))
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn("the last 1 bytes of version 4 are missing", done.stderr)
                self.assertEqual(nc3z(*self.words(args, server.url("w.nc3z"))).returncode, 0)
            self.ok(nc3z("hash", server.url("a.nc3z@3")))
        tree = self.dir / "tree"
        tree.mkdir()
        (tree / "a.nc3z").write_bytes(data[:-1])
        self.ok(nc3z("bundle", tree, "-o", self.dir / "b.zip"))
        done = nc3z("dump", f"{self.dir}/b.zip!/a.nc3z")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("version 4 are missing", done.stderr)

    def test_the_slot_of_the_specification(self):
        """The example of the text, and the slot that the program writes of an archive of its own."""
        def slot(data, generation, version):
            raw = struct.pack("<IIQI", generation, *struct.unpack("<I", data[-8:-4]), len(data), version)
            salt, at = data[16:24], 112 + 24 * (generation % 2)
            return raw + struct.pack("<I", zlib.crc32(raw, zlib.crc32(salt + struct.pack("<Q", at))))

        (example,) = [v for v in json.loads((ROOT / "spec/vectors/archives.json").read_text()) if "long form" in v["what"]]
        expected = slot(bytes.fromhex(example["archive"]), 1, 1).hex(" ").upper()
        self.assertIn(f"`{expected}`", (ROOT / "spec/archive.md").read_text())
        data = self.whole.read_bytes()
        self.assertEqual(data[112:136], slot(data, 4, 4))
        self.assertEqual(data[136:160], slot(data[:self.ends[1]], 3, 3))

    def test_version_numbers_end(self):
        """The last number is used up: refused before a byte is written."""
        raw = json.dumps({"version": {"number": 2 ** 32 - 1}, "writer": "w"}).encode()
        import forge
        for metadata, code, words in ((raw, 1, "number of a version"), (raw.replace(b"4294967295", b"18446744073709551615"), 3, "number of the version")):
            self.cut.write_bytes(forge.scalar_with(metadata))
            before = self.cut.read_bytes()
            for args in (("att", None, ":z=1"), ("commit", None, "first.nc")):
                done = nc3z(*self.words(args, self.cut))
                self.assertIn(done.returncode, (1, code), done.stderr)
                self.assertIn(words, done.stderr)
                self.assertEqual(self.cut.read_bytes(), before)


if __name__ == "__main__":
    unittest.main()

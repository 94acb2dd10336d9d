"""Archives of several versions that lost their end, as by a copy that was cut short: every command says so, and none shows an older version in its place."""

import hashlib
import json
import os
import random
import shutil
import struct
import threading
import unittest
import zlib

from common import CLASSIC, NIGHT, ROOT, Case, nc3z, sha256, without_slots
from servers import serve

# Cuts of archives of random histories, each by one command: by day, and at night.
CUTS = int(os.environ.get("NC3Z_CUTS", 20_000 if NIGHT else 60))
READING = [("info",), ("log",), ("dump", "-h"), ("dump",), ("hash",), ("info", "--layout",), ("list",), ("verify",), ("read", "--explain", None, "small"),
           ("read", None, "small"), ("restore", None, "-o", "-"), ("subset", None, "-v", "small", "-o", "s.nc"), ("diff", None, "whole.nc3z"),
           ("restore", "--fill-lost", None, "-o", "-"), ("restore", "--fill-lost", None, "-o", "s.nc")]
WRITING = [("recompress", None, "-o", "n.nc3z"), ("prune", None, "-o", "n.nc3z"), ("attr", None, ":x=1"), ("rename", None, "-v", "small,tiny"), ("tag", None, "t"), ("revert", None, "1"), ("commit", None, "first.nc"),
           ("set", None, "small", "=1"), ("parity", "add", None), ("recompress", "--drop-history", None), ("prune", "--in-place", None)]


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
            self.ok(nc3z("attr", self.whole, f":step={number}", "-m", f"step {number}"))
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

    def is_rebuilt(self, done, args, newest):
        """True if the blocks and the SHA-256 of the newest version are in the file, and only its end is lost."""
        out = self.dir / "s.nc"
        if done.returncode != 0 or args[:2] != ("restore", "--fill-lost"):
            out.unlink(missing_ok=True)
            return False
        digest = hashlib.sha256(done.stdout).hexdigest() if args[-1] == "-" else sha256(out)
        out.unlink(missing_ok=True)
        self.assertEqual(digest, newest)
        return True

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
                    text = done.stderr + done.stdout[:500].decode(errors="replace")
                    if not self.is_rebuilt(done, args, self.digests[4]):
                        self.assertEqual(done.returncode, 3, text)
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
                self.assertEqual([lost["version"] for lost in report["lost_versions"]], list(range(left + 1, 5)))
                # The whole versions keep their bytes, except for the commit slots.
                self.assertEqual(without_slots((self.dir / "r.nc3z").read_bytes()), without_slots(data[:self.ends[left - 2]]))
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
        self.ok(nc3z("bundle", tree, "-o", self.dir / "b.bundle.nc3z"))
        done = nc3z("dump", f"{self.dir}/b.bundle.nc3z!/a.nc3z")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("version 4 are missing", done.stderr)

    def history(self, rng):
        """Some versions by the tool: attributes, values, names, reverts, tags, parity. Gives the archive's bytes, and where the last generations begin."""
        path, ends = self.dir / "h.nc3z", []
        source = CLASSIC / rng.choice(("all_types_cdf5.nc", "numeric.nc"))
        self.ok(nc3z("archive", "--force", source, "-o", path))
        count = 1
        for step in range(rng.randint(3, 7)):
            if path.stat().st_size not in ends:
                ends.append(path.stat().st_size)
            # The last one adds a version.
            what = rng.randrange(6) if step < 2 else 5 if step == 2 else rng.randrange(6)
            if what == 0 and count > 2:
                done = nc3z("revert", path, rng.randint(1, count - 1))
            elif what == 1:
                done = nc3z("tag", "--move-tag", path, "t")
            elif what == 2:
                done = nc3z("parity", "add", path)
            else:
                done = nc3z("attr", path, f":step={step}.{rng.random()}")
            if done.returncode == 0:
                count = json.loads(self.ok(nc3z("log", "--json", path)).stdout)["versions"][0]["version"]
        return path.read_bytes(), ends

    def test_random_histories_by_every_reading_command(self):
        rng, tried, reads = random.Random(40), 0, [args for args in READING if "small" not in args and "whole.nc3z" not in args]
        while tried < CUTS:
            data, ends = self.history(rng)
            newest = hashlib.sha256(self.ok(nc3z("restore", self.dir / "h.nc3z", "-o", "-")).stdout).hexdigest()
            with serve({}) as server:
                for n in range(min(CUTS - tried, 20 if CUTS < 1000 else 1000)):
                    length = rng.choice([rng.randrange(ends[-2], len(data)), rng.choice(ends[-2:]) + rng.randint(0, 1), len(data) - rng.randint(1, 130)])
                    length = min(length, len(data) - 1)
                    args = reads[n % len(reads)]
                    place = self.cut
                    self.cut.write_bytes(data[:length])
                    if n % 4 == 3 and args[0] in ("info", "log", "dump", "restore", "hash"):
                        server.put("c.nc3z", data[:length])
                        place = server.url("c.nc3z")
                    done = nc3z(*self.words(args, place))
                    with self.subTest(args=args, length=length, of=len(data)):
                        text = done.stderr + done.stdout[:500].decode(errors="replace")
                        if not self.is_rebuilt(done, args, newest):
                            self.assertEqual(done.returncode, 3, text)
                        self.assertIn("missing", text)
                    tried += 1
        print(f"\ncut: {tried} commands on cut archives; 0 showed an older version", flush=True)

    def test_an_archive_that_is_written_forward_only_has_no_slots_until_the_first_commit(self):
        piped = self.dir / "piped.nc3z"
        self.ok(nc3z("archive", CLASSIC / "numeric.nc", "-o", piped))
        made = piped.read_bytes()
        # This program writes proven bytes to a pipe, including the slot.
        self.assertEqual(self.ok(nc3z("archive", CLASSIC / "numeric.nc", "-o", "-")).stdout, made)
        self.assertEqual(struct.unpack_from("<I", made, 136)[0], 1)
        # Others may write forward only.
        made = without_slots(made)
        piped.write_bytes(made)
        self.ok(nc3z("verify", "--deep", piped))
        # Of its only version nothing is shown without its trailer.
        self.cut.write_bytes(made[:-1])
        for args in READING:
            if "small" not in args and "whole.nc3z" not in args:
                done = nc3z(*self.words(args, self.cut))
                if not self.is_rebuilt(done, args, sha256(CLASSIC / "numeric.nc")):
                    self.assertEqual(done.returncode, 3, args)
        for number in (2, 3):
            self.ok(nc3z("attr", piped, f":step={number}"))
            data = piped.read_bytes()
            generations = [struct.unpack_from("<I", data, at)[0] for at in (112, 136)]
            self.assertEqual(sorted(generations), [number - 1, number])
            self.cut.write_bytes(data[:-1])
            self.fails(nc3z("info", self.cut), 3, f"the last 1 bytes of version {number} are missing")

    def test_a_copy_that_is_made_while_commits_run_is_the_version_that_it_began_with_or_a_later_one(self):
        """The copy reads the file forward while other commits write to it."""
        archive, copy, stop = self.dir / "busy.nc3z", self.dir / "copy.nc3z", threading.Event()
        shutil.copy(self.whole, archive)
        failed = []

        def commits():
            number = 4
            while not stop.is_set():
                number += 1
                done = nc3z("attr", archive, f":step={number}", f":more={'x' * (number % 7 * 300)}")
                if done.returncode:
                    failed.append(done.stderr)

        def newest(path):
            return json.loads(self.ok(nc3z("log", "--json", path)).stdout)["versions"][0]["version"]

        thread = threading.Thread(target=commits)
        thread.start()
        rng, seen = random.Random(1), set()
        try:
            for _ in range(200 if NIGHT else 12):
                before = newest(archive)
                with open(archive, "rb", buffering=0) as source, open(copy, "wb") as target:
                    while chunk := source.read(rng.choice((160, 512, 4096, 65536))):
                        target.write(chunk)
                        if rng.random() < 0.3:
                            stop.wait(rng.random() / 50)
                found = newest(copy)
                self.assertGreaterEqual(found, before)
                self.ok(nc3z("restore", "--force", copy, "-o", self.dir / "o.nc"))
                seen.add(found - before)
        finally:
            stop.set()
            thread.join()
        self.assertEqual(failed, [])
        print(f"\ncopies while commits run: later than begun by {sorted(seen)}", flush=True)

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
            for args in (("attr", None, ":z=1"), ("commit", None, "first.nc")):
                done = nc3z(*self.words(args, self.cut))
                self.assertIn(done.returncode, (1, code), done.stderr)
                self.assertIn(words, done.stderr)
                self.assertEqual(self.cut.read_bytes(), before)


if __name__ == "__main__":
    unittest.main()

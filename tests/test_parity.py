"""Parity: the program against the reference mender, real damage, and kills in the middle of the work."""

import hashlib
import json
import math
import os
import random
import signal
import sys
import time
import unittest

from common import CLASSIC, NIGHT, ROOT, Case, Moments, finish, header, kills, nc3z, start, synthetic, tell_kills, without_slots

REFERENCE = ROOT / "spec" / "reference"
GOLDEN = sorted((ROOT / "testdata" / "archives").glob("*/*.parity.nc3z"))
SECTOR = 4096
SEED = 20_261_121

sys.path.insert(0, str(REFERENCE))
import nc3z_parity  # noqa: E402


def spoil(data, share, pick):
    """Half the share of sectors at random and half in one burst that begins anywhere."""
    bad = bytearray(data)
    sectors = -(-len(data) // SECTOR)
    hit = math.ceil(sectors * share / 200)
    for sector in pick.sample(range(sectors), hit):
        end = min(len(data), (sector + 1) * SECTOR)
        bad[sector * SECTOR:end] = pick.randbytes(end - sector * SECTOR)
    begin = pick.randrange(len(data) - hit * SECTOR)
    bad[begin:begin + hit * SECTOR] = bytes(hit * SECTOR)
    return bytes(bad)


def flip(data, *places):
    bad = bytearray(data)
    for at in places:
        bad[at] ^= 0x11
    return bytes(bad)


class Reference(unittest.TestCase):
    """The mender that was written from the text alone."""

    def damages(self, data, pick):
        yield "first bytes", bytes(600) + data[600:]
        yield "last bytes", data[:-300]
        burst = max(1, len(data) // 20)
        begin = pick.randrange(len(data) - burst)
        yield f"{burst} bytes at {begin}", data[:begin] + bytes(burst) + data[begin + burst:]
        yield "flips", flip(data, *pick.sample(range(len(data)), 3))

    def check(self, data, pick):
        self.assertEqual(nc3z_parity.Checked(data).lost_shards, [])
        for what, bad in self.damages(data, pick):
            with self.subTest(what):
                self.assertTrue(without_slots(nc3z_parity.Checked(bad).mend()) == without_slots(data), what)

    def test_golden_archives_are_mended(self):
        self.assertTrue(GOLDEN)
        pick = random.Random(SEED)
        for path in GOLDEN:
            with self.subTest(path.name):
                self.check(path.read_bytes(), pick)

    def test_words_of_the_text(self):
        """The examples of spec/parity.md."""
        one = (b"\x01" + bytes(63))
        word = nc3z_parity.recover({2: one}, [0, 1], 2)
        self.assertEqual((word[0][0], word[1][0]), (3, 2))
        shards = [random.Random(i).randbytes(64) for i in range(3)]
        xor = bytes(a ^ b ^ c for a, b, c in zip(*shards))
        self.assertEqual(nc3z_parity.recover({1 + i: s for i, s in enumerate(shards)}, [0], 1)[0], xor)


def with_groups_of_packets(data, groups=4, run=16, packet_groups=2):
    """The archive with parity put together from spec/parity.md, section 1 to 4, by hand: shards and packets as short as may be, so that
    packets come in groups, which the program's choice has from some 14 GB on. One parity shard a group is the XOR of its shards."""
    import struct

    from nc3z_ref import BLOCK_MARKER, TRAILER_END, TRAILER_MARKER, crc32, salted_crc

    data = without_slots(data)
    shard, packet = 64, 128
    old = len(data) - 128
    salt, (table_at, table_length) = data[old + 8:old + 16], struct.unpack_from("<QI", data, old + 24)
    begin = -(-len(data) // shard) * shard
    tail_length = table_length + 24 + 128
    count = begin // shard + -(-tail_length // shard)
    payloads = -(-(32 + 4 * (count + groups)) // (packet - 64))
    packets = payloads + packet_groups
    end = begin + groups * shard + packets * packet
    table = data[table_at:table_at + table_length] + struct.pack("<HHIQQ", 5, 2, 0, begin, end - begin)
    trailer = bytearray(data[old:old + 120])
    struct.pack_into("<I", trailer, 4, 2)
    struct.pack_into("<IQII", trailer, 20, trailer[20] & ~1 | 1, end, len(table), salted_crc(salt, end, table))
    struct.pack_into("<QQQQ", trailer, 40, len(data), len(data), old, end + tail_length)
    tail = table + bytes(trailer) + struct.pack("<I", salted_crc(salt, end + len(table), bytes(trailer))) + TRAILER_END
    assert trailer[:4] == TRAILER_MARKER and len(tail) == tail_length

    covered = data.ljust(begin, b"\0") + tail.ljust(-(-tail_length // shard) * shard, b"\0")
    shards = [covered[i:i + shard] for i in range(0, len(covered), shard)]
    parity = [0] * groups
    for d, one in enumerate(shards):
        parity[d // run % groups] ^= int.from_bytes(one, "little")
    parity = [p.to_bytes(shard, "little") for p in parity]
    catalogue = hashlib.sha256(data.ljust(begin, b"\0") + tail).digest() + b"".join(struct.pack("<I", crc32(s)) for s in shards + parity)
    bodies = [catalogue[i:i + packet - 64].ljust(packet - 64, b"\0") for i in range(0, len(catalogue), packet - 64)]
    assert (len(shards), len(bodies)) == (count, payloads) and payloads >= 1024 * packet_groups
    rows = [0] * packet_groups
    for d, body in enumerate(bodies):
        rows[d % packet_groups] ^= int.from_bytes(body, "little")
    bodies += [r.to_bytes(packet - 64, "little") for r in rows]
    out, done, places = bytearray(data.ljust(begin, b"\0")), 0, []
    for j, body in enumerate(bodies):
        until = j * groups // (packets - 1)
        out += b"".join(parity[done:until])
        done, at = until, len(out)
        places.append(at)
        rest = salt + struct.pack("<QQQIIIHHIHBB", begin, end, end + tail_length, 2, j, groups, 1, run, packet_groups, 1, shard // 64, packet // 64)
        out += BLOCK_MARKER[:3] + b"p" + struct.pack("<I", salted_crc(salt, at, rest + body)) + rest + body
    assert len(out) == end
    return bytes(out) + tail, places


class GroupsOfPackets(Case):
    def test_program_and_reference_mend_them(self):
        import numpy as np

        size = 2_150_000
        source, path = self.dir / "g.nc", self.dir / "g.nc3z"
        source.write_bytes(header([("v", (0,), 1, size)], [("x", size)]) + np.random.default_rng(SEED).bytes(size))
        self.ok(nc3z("archive", "--preset", "fast", source, "-o", path))
        good, packets = with_groups_of_packets(path.read_bytes())
        path.write_bytes(good)
        self.ok(nc3z("verify", path))
        told = self.ok(nc3z("parity", "info", "--json", path)).stdout
        self.assertTrue(json.loads(told)[0]["parity"], told)
        # A shard of each of four groups, a packet of each of two.
        bad = bytearray(good)
        for at in [64 * 16 * g + 100_032 for g in range(4)] + [packets[700] + 70, packets[1301] + 70]:
            bad[at] ^= 0x20
        self.assertEqual(len({(64 * 16 * g + 100_032) // 64 // 16 % 4 for g in range(4)}), 4)
        path.write_bytes(bad)
        done = nc3z("verify", path)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"repairable by parity (4 of", done.stdout)
        self.assertTrue(without_slots(nc3z_parity.Checked(bytes(bad)).mend()) == without_slots(good))
        self.ok(nc3z("repair", "--in-place", path))
        self.assertTrue(without_slots(path.read_bytes()) == without_slots(good))
        # Two of one group of packets: their checksums cannot be recovered.
        bad[packets[702] + 70] ^= 0x20
        path.write_bytes(bad)
        self.assertNotIn(b"repairable", nc3z("verify", path).stdout)
        self.assertNotEqual(nc3z("repair", "--in-place", path).returncode, 0)
        self.assertTrue(path.read_bytes() == bytes(bad))


class Program(Case):
    def archive(self, source=CLASSIC / "numeric.nc", share="5%"):
        out = self.dir / "a.nc3z"
        self.ok(nc3z("archive", "--force", "--parity", share, source, "-o", out))
        return out

    def test_program_and_reference_make_the_same_of_damage(self):
        pick = random.Random(SEED)
        archive = self.archive()
        data = archive.read_bytes()
        for what, bad in Reference().damages(data, pick):
            with self.subTest(what):
                archive.write_bytes(bad)
                self.assertTrue(without_slots(nc3z_parity.Checked(bad).mend()) == without_slots(data))
                good = self.dir / "good.nc3z"
                self.ok(nc3z("repair", "--force", archive, "-o", good))
                self.assertTrue(good.read_bytes() == data)

    def test_added_later_is_the_same_and_removed_is_as_before(self):
        for name in ("numeric.nc", "etopo120.cdf", "empty_cdf1.nc", "record_padding.nc"):
            with self.subTest(name):
                with_parity = self.archive(CLASSIC / name).read_bytes()
                plain = self.dir / "plain.nc3z"
                self.ok(nc3z("archive", "--force", CLASSIC / name, "-o", plain))
                before = plain.read_bytes()
                short = before[9] != 0                                       # parity makes it long, its containers may be packed otherwise
                self.ok(nc3z("parity", "add", plain))
                added = plain.read_bytes()
                self.assertTrue(short or added == with_parity)
                self.ok(nc3z("verify", plain, "--against", CLASSIC / name))
                self.ok(nc3z("parity", "remove", plain))
                left = plain.read_bytes()
                self.assertTrue(without_slots(added).startswith(without_slots(left)) and len(left) > len(before) if short else left == before)
                self.ok(nc3z("verify", "--deep", plain, "--against", CLASSIC / name))

    def test_same_bytes_for_any_threads_and_memory(self):
        source = synthetic(self.dir / "s.nc", 6)
        digests = set()
        for threads, memory in ((1, "256MiB"), (2, "256MiB"), (2, "1MiB"), (7, "32MiB")):
            out = self.dir / "t.nc3z"
            self.ok(nc3z("archive", "--force", "--parity", "3%", "--threads", threads, "--memory", memory, source, "-o", out))
            digests.add(hashlib.sha256(out.read_bytes()).hexdigest())
        self.assertEqual(len(digests), 1)

    def test_verify_says_repairable_and_repair_mends(self):
        archive = self.archive(synthetic(self.dir / "s.nc", 6))
        data = archive.read_bytes()
        bad = spoil(data, 5, random.Random(SEED))
        archive.write_bytes(bad)
        done = nc3z("verify", archive)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(b"repairable by parity", done.stdout)
        good = self.dir / "good.nc3z"
        self.ok(nc3z("repair", archive, "-o", good))
        self.assertTrue(good.read_bytes() == data)
        self.assertTrue(archive.read_bytes() == bad)
        self.ok(nc3z("repair", "--in-place", archive))
        self.assertTrue(archive.read_bytes() == data)
        self.ok(nc3z("verify", archive))

    def test_beyond_its_parity_nothing_is_changed_in_place(self):
        archive = self.archive(synthetic(self.dir / "s.nc", 2), "1%")
        data = archive.read_bytes()
        bad = data[:50_000] + bytes(len(data) // 4) + data[50_000 + len(data) // 4:]
        archive.write_bytes(bad)
        self.fails(nc3z("repair", "--in-place", archive), 3, "beyond its parity")
        self.assertTrue(archive.read_bytes() == bad)

    def test_usage(self):
        plain = self.dir / "p.nc3z"
        self.ok(nc3z("archive", CLASSIC / "record_padding.nc", "-o", plain))
        before = plain.read_bytes()
        self.fails(nc3z("parity", "remove", plain), 1, "no parity")
        for share in ("0", "99%", "5%%", "x"):
            self.assertEqual(nc3z("parity", "add", "--share", share, plain).returncode, 2)
        self.assertTrue(plain.read_bytes() == before)
        self.assertIn(b"no parity", self.ok(nc3z("parity", "info", plain)).stdout)
        self.ok(nc3z("parity", "add", plain))
        self.fails(nc3z("parity", "add", plain), 1, "already")
        self.assertIn(b"can lose", self.ok(nc3z("parity", "info", plain)).stdout)


class Killed(Case):
    """SIGKILL at random moments: an archive is never worse than it was."""

    KILLS = kills(12)

    def runs(self, *args):
        begin = time.monotonic()
        self.ok(nc3z(*args))
        return time.monotonic() - begin

    def kill_once_it_writes(self, path, pick, *args):
        """Killed within a few milliseconds of the first write to the file, if that can be caught."""
        before = path.stat().st_mtime_ns
        process = start(*args)
        while process.poll() is None and path.stat().st_mtime_ns == before:
            pass
        time.sleep(pick.uniform(0, 0.004))
        process.kill()
        return finish(process)[0] == -signal.SIGKILL

    def test_kills_while_mending_in_place(self):
        pick = random.Random(SEED)
        archive = self.dir / "a.nc3z"
        self.ok(nc3z("archive", "--parity", "5%", synthetic(self.dir / "s.nc", 24), "-o", archive))
        data = archive.read_bytes()
        bad = spoil(data, 5, pick)
        archive.write_bytes(bad)
        moments = Moments(SEED, self.runs("repair", "--in-place", archive))
        killed = partly = 0
        for trial in range(self.KILLS):
            archive.write_bytes(bad)
            os.utime(archive, (1, 1))
            if trial % 2:
                killed += self.kill_once_it_writes(archive, pick, "repair", "--in-place", archive)
            else:
                killed += moments.kill(start("repair", "--in-place", archive)) == -signal.SIGKILL
            now = archive.read_bytes()
            partly += now not in (bad, data)
            with self.subTest(trial=trial):
                self.ok(nc3z("repair", "--in-place", archive))
                self.assertTrue(archive.read_bytes() == data)
        self.assertGreater(killed, self.KILLS // 4, "the test killed too late")
        tell_kills("repair --in-place", killed, self.KILLS, f", {partly} with part of the shards written")

    def test_kills_while_adding(self):
        source = synthetic(self.dir / "s.nc", 24)
        archive, goal = self.dir / "a.nc3z", self.dir / "b.nc3z"
        self.ok(nc3z("archive", source, "-o", archive))
        plain = archive.read_bytes()
        moments = Moments(SEED, self.runs("parity", "add", archive))
        goal = archive.read_bytes()
        killed = 0
        for trial in range(kills(8)):
            archive.write_bytes(plain)
            killed += moments.kill(start("parity", "add", archive)) == -signal.SIGKILL
            now = archive.read_bytes()
            with self.subTest(trial=trial):
                self.assertTrue(without_slots(now)[:len(plain)] == without_slots(plain))
                # A process may be killed when only its commit slot is not written yet.
                if without_slots(now) != without_slots(goal):
                    # The old content is complete, and the rest is a torn tail; the repeated command completes it.
                    self.ok(nc3z("restore", "--force", archive, "-o", self.dir / "r.nc"))
                    self.ok(nc3z("parity", "add", archive))
                    self.assertTrue(archive.read_bytes() == goal)
        self.assertGreater(killed, kills(8) // 4, "the test killed too late")
        tell_kills("parity add", killed, kills(8))


class Trials(Case):
    """100 of 100. NC3Z_PARITY_TRIALS and NC3Z_PARITY_MIB for other numbers; the Rust tests do the same in memory."""

    def test_damage_within_the_share_is_mended(self):
        trials = int(os.environ.get("NC3Z_PARITY_TRIALS", "10"))
        mib = int(os.environ.get("NC3Z_PARITY_MIB", "24"))
        pick = random.Random(SEED)
        source = synthetic(self.dir / "s.nc", mib)
        for share in (1, 5):
            archive = self.dir / f"{share}.nc3z"
            self.ok(nc3z("archive", "--preset", "fast", "--parity", f"{share}%", source, "-o", archive))
            data = archive.read_bytes()
            for trial in range(trials):
                with self.subTest(share=share, trial=trial):
                    archive.write_bytes(spoil(data, share, pick))
                    self.ok(nc3z("repair", "--in-place", archive))
                    self.assertTrue(archive.read_bytes() == data)


class ReadThrough(Case):
    """An archive with parity is read through damage by every command that reads; the file is not changed, and verify still fails."""

    def archived(self, *options, size=3):
        original = synthetic(self.dir / "s.nc", size)
        archive = self.dir / "s.nc3z"
        self.ok(nc3z("archive", "--force", *options, original, "-o", archive))
        return original, archive

    def hurt(self, archive, data):
        archive.write_bytes(data)
        return archive

    def test_sectors_anywhere(self):
        original, archive = self.archived("--parity", "10%")
        data, wanted = archive.read_bytes(), original.read_bytes()
        pick = random.Random(SEED)
        sectors = len(data) // SECTOR
        damages = [(f"sector {n}", data[:n * SECTOR] + bytes(SECTOR) + data[(n + 1) * SECTOR:])
                   for n in (0, 1, sectors // 3, sectors // 2, sectors - 2, sectors - 1)]
        damages += [("random", spoil(data, 8, pick)), ("flips", flip(data, *pick.sample(range(len(data)), 5)))]
        for what, bad in damages:
            with self.subTest(what):
                self.hurt(archive, bad)
                done = self.ok(nc3z("restore", "--force", archive, "-o", self.dir / "back.nc"))
                self.assertTrue((self.dir / "back.nc").read_bytes() == wanted)
                self.assertTrue(archive.read_bytes() == bad, "reading changes nothing")
                if bad != data:
                    self.assertEqual(nc3z("verify", archive).returncode, 3)
                    # Damage of the parity itself hurts no reader.
                    if done.stderr.count("computed from its parity"):
                        self.assertEqual(done.stderr.count("nc3z repair"), 1, done.stderr)
                        found = self.ok(nc3z("hash", archive)).stdout.split()[0]
                        self.assertEqual(found, self.ok(nc3z("hash", original)).stdout.split()[0])
        self.ok(nc3z("repair", "--in-place", archive))

    def test_every_byte_of_a_small_archive(self):
        original, archive = self.dir / "n.nc", self.dir / "n.nc3z"
        original.write_bytes((CLASSIC / "numeric.nc").read_bytes())
        self.ok(nc3z("archive", "--parity", "20%", original, "-o", archive))
        data, wanted = archive.read_bytes(), original.read_bytes()
        for at in range(0, len(data), 1 if NIGHT else 97):
            self.hurt(archive, flip(data, at))
            done = nc3z("restore", archive, "-o", "-")
            self.assertEqual((done.returncode, done.stdout == wanted), (0, True), f"byte {at}: {done.stderr}")

    def test_every_surface(self):
        original, archive = self.archived("--parity", "10%", "--tile-size", "64KiB")
        data = archive.read_bytes()
        layout = json.loads(self.ok(nc3z("info", "--layout", "--json", archive)).stdout)
        first = len(data) // 5
        bad = data[:first] + bytes(2 * SECTOR) + data[first + 2 * SECTOR:]
        self.assertTrue(layout)
        expected = self.ok(nc3z("dump", original)).stdout
        self.hurt(archive, bad)
        for command in (["dump", "-n", "s"], ["dump", "-n", "s", "--mmap"]):
            done = self.ok(nc3z(*command, archive))
            self.assertTrue(done.stdout == expected, command)
            self.assertIn("computed from its parity", done.stderr)
        self.assertEqual(self.ok(nc3z("diff", original, archive)).stdout, b"")
        self.ok(nc3z("subset", archive, "-o", self.dir / "part.nc", "--no-history"))
        self.assertEqual(self.ok(nc3z("diff", original, self.dir / "part.nc")).stdout, b"")
        # Edits keep to what is in the file: damage has to be repaired first or is left alone.
        self.assertEqual(nc3z("verify", archive).returncode, 3)
        self.assertTrue(archive.read_bytes() == bad)

    def test_beyond_its_parity_it_is_an_error_that_names_the_hyperslab(self):
        original, archive = self.archived("--tile-size", "64KiB")
        data = archive.read_bytes()
        for parity in (False, True):
            if parity:
                self.hurt(archive, data)
                self.ok(nc3z("parity", "add", "--share", "1%", archive))
            raw = archive.read_bytes()
            self.hurt(archive, raw[:2000] + bytes(len(data) // 2) + raw[2000 + len(data) // 2:])
            done = self.fails(nc3z("restore", "--force", archive, "-o", self.dir / "back.nc"), 3)
            self.assertRegex(done.stderr, r"tile \d+ \[\w+=\d")
            self.assertFalse((self.dir / "back.nc").exists())

    def test_verify_suggests_parity(self):
        _, archive = self.archived()
        self.assertIn("nc3z parity add", self.ok(nc3z("verify", archive)).stderr)
        [report] = json.loads(self.ok(nc3z("verify", "--json", archive)).stdout)
        self.assertIn("nc3z parity add", report["suggestion"])
        self.ok(nc3z("parity", "add", archive))
        self.assertNotIn("parity add", self.ok(nc3z("verify", archive)).stderr)
        [report] = json.loads(self.ok(nc3z("verify", "--json", archive)).stdout)
        self.assertIsNone(report["suggestion"])

    def test_a_file_that_was_cut_is_refused(self):
        """It may be a copy that is not complete: its bytes are missing, and not damaged."""
        _, archive = self.archived("--parity", "10%")
        data = archive.read_bytes()
        for cut in (1, 300, len(data) // 30):
            self.hurt(archive, data[:-cut])
            self.fails(nc3z("restore", "--force", archive, "-o", self.dir / "back.nc"), 3)
        self.ok(nc3z("repair", archive, "-o", self.dir / "whole.nc3z"))

    def test_a_later_version_is_never_replaced_by_an_older_one(self):
        """Parity that covers the first version alone does not hide that the second one is damaged."""
        original, archive = self.archived("--parity", "10%")
        self.ok(nc3z("attr", "--no-parity", archive, ":title=second"))
        data = archive.read_bytes()
        for what, bad in (("cut", data[:-50]), ("trailer", flip(data, len(data) - 100)), ("later", flip(data, len(data) - 400))):
            with self.subTest(what):
                self.hurt(archive, bad)
                done = nc3z("dump", "-h", archive)
                self.assertTrue(done.returncode == 3 or b"second" in done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()

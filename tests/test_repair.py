"""Damage and its repair, as a user meets them: what is whole is saved, what is lost is named, in numpy's own indices, and nothing
that was lost is ever given for data."""

import datetime
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from common import NC3Z, Case, Moments, ferret_files, finish, kills, missing, nc3z, sha256, start, tell_kills, tmpfs

KILLS = kills(20)
SEED = 20_240_502
LOSS = 64 << 10


def numpy_and_netcdf4(test):
    try:
        import netCDF4
        import numpy
    except ImportError as e:
        missing(test, str(e))
    return numpy, netCDF4


def make(path, megabytes=6):
    """Records and fixed variables, fill values by attribute and by default, a coordinate with units."""
    import netCDF4
    import numpy as np

    rng = np.random.default_rng(SEED)
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as d:
        d.set_auto_mask(False)
        d.createDimension("time", None)
        d.createDimension("lat", 90)
        d.createDimension("lon", 180)
        steps = megabytes * (1 << 20) // (90 * 180 * 6 * 2)
        t = d.createVariable("time", "f8", ("time",))
        t.units = "days since 1850-01-01"
        t[:] = np.arange(steps) + 0.5
        tas = d.createVariable("tas", "f4", ("time", "lat", "lon"), fill_value=-999.0)
        tas[:] = rng.normal(280, 20, (steps, 90, 180)).astype("f4")
        flags = d.createVariable("flags", "i2", ("time", "lat", "lon"))
        flags[:] = rng.integers(0, 30_000, (steps, 90, 180))
        orog = d.createVariable("orog", "f8", ("lat", "lon", "time")[:2])
        orog[:] = rng.normal(0, 500, (90, 180))
        big = d.createVariable("big", "i4", ("lat", "lon"))
        big[:] = rng.integers(-(2**31), 2**31, (90, 180))
        fixed = d.createVariable("levels", "f4", ("lat", "lon"))
        fixed[:] = 7.25
    return path


def setUpModule():
    global SHARED, ORIGINAL, ARCHIVE, GOOD
    SHARED = Path(tempfile.mkdtemp(prefix="nc3z-test-"))
    unittest.addModuleCleanup(shutil.rmtree, SHARED, ignore_errors=True)
    try:
        ORIGINAL = make(SHARED / "a.nc")
    except ImportError:
        ORIGINAL = None
        return
    ARCHIVE = SHARED / "a.nc3z"
    subprocess.run([NC3Z, "archive", str(ORIGINAL), "-o", str(ARCHIVE), "--tile-size", "64KiB"], check=True, capture_output=True)
    GOOD = ARCHIVE.read_bytes()


class Repair(Case):
    def setUp(self):
        super().setUp()
        self.np, self.netcdf4 = numpy_and_netcdf4(self)

    def repair(self, content, *extra):
        """Repairs these bytes; gives the report and where the new archive is."""
        bad, good = self.dir / "bad.nc3z", self.dir / "good.nc3z"
        bad.write_bytes(content)
        good.unlink(missing_ok=True)
        done = nc3z("repair", bad, "-o", good, "--json", *extra)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertEqual(bad.read_bytes(), content)
        report = json.loads(done.stdout)
        self.assertEqual(report["complete"], done.returncode == 0)
        return report, good

    def filled(self, archive, code):
        """Restores with fill values."""
        back = self.dir / "back.nc"
        done = nc3z("restore", archive, "--fill-lost", "-f", "-o", back)
        self.assertEqual(done.returncode, code, done.stderr)
        if code:
            self.assertIn("FILL VALUES", done.stderr)
        return back

    def same_but_lost(self, back, lost, original=None):
        """Compares through libnetcdf: equal everywhere but in the reported hyperslabs, and fill values there."""
        np = self.np
        with self.netcdf4.Dataset(original or ORIGINAL) as a, self.netcdf4.Dataset(back) as b:
            for d in (a, b):
                d.set_auto_maskandscale(False)
            self.assertEqual(list(a.variables), list(b.variables))
            for name, was in a.variables.items():
                values, found = was[...], b.variables[name][...]
                expected = np.array(values, copy=True)
                for run in lost:
                    if run["variable"] != name:
                        continue
                    self.assertEqual(run["dimensions"], list(was.dimensions))
                    fill = getattr(was, "_FillValue", None)
                    fill = self.netcdf4.default_fillvals[was.dtype.str[1:]] if fill is None else fill
                    for slab in run["hyperslabs"]:
                        at = tuple(slice(s, s + n) for s, n in zip(slab["start"], slab["count"]))
                        self.assertGreater(np.prod(slab["count"]), 0)
                        expected[at] = fill
                self.assertEqual(expected.tobytes(), found.tobytes(), name)

    def check(self, content):
        report, good = self.repair(content)
        verified = nc3z("verify", "--deep", "--json", good)
        self.ok(verified)
        verified = json.loads(verified.stdout)[0]
        self.assertTrue(verified["sound"])
        self.assertEqual(sum(p["tiles"] for p in verified["lost"]), report["lost_tiles"])
        info = json.loads(nc3z("info", "--json", good).stdout)
        self.assertEqual(info["lost_tiles"], report["lost_tiles"] > 0)
        if report["lost_tiles"]:
            self.assertEqual(info["sha256"], None)
            self.fails(nc3z("restore", good, "-o", self.dir / "refused.nc"), 3, "fill-lost")
            self.assertFalse((self.dir / "refused.nc").exists())
        back = self.filled(good, 3 if report["lost_tiles"] else 0)
        if not report["lost_tiles"]:
            self.assertEqual(sha256(back), sha256(ORIGINAL))
        self.assertEqual(sha256(back), report["rebuilt_sha256"])
        self.same_but_lost(back, report["lost"])
        # The damaged archive itself, read with fill values, gives the same.
        bad = self.dir / "bad.nc3z"
        self.assertEqual(sha256(self.filled(bad, 3 if report["lost_tiles"] else 0)), report["rebuilt_sha256"])
        return report

    def test_first_and_last_64_kib(self):
        for content in (bytes(LOSS) + GOOD[LOSS:], os.urandom(LOSS) + GOOD[LOSS:], GOOD[LOSS:]):
            report = self.check(content)
            self.assertGreater(report["tiles"], report["lost_tiles"])
        for content in (GOOD[:-LOSS], GOOD[:-LOSS] + bytes(LOSS), GOOD[:-LOSS] + os.urandom(LOSS)):
            report = self.check(content)
            self.assertGreater(report["tiles"], report["lost_tiles"])

    def test_cut_anywhere(self):
        pick = random.Random(SEED)
        lengths = [pick.randrange(2000, len(GOOD)) for _ in range(8)]
        saved = []
        for length in sorted(lengths):
            with self.subTest(length=length):
                saved.append(self.check(GOOD[:length])["tiles"])
        self.assertEqual(saved, sorted(saved), "a longer piece holds no less")

    def test_random_damage(self):
        pick = random.Random(SEED + 1)
        for trial in range(12):
            content = bytearray(GOOD)
            for _ in range(1 + trial % 4):
                n = pick.choice((1, 512, 4096, 100_000))
                at = pick.randrange(len(content) - n)
                content[at:at + n] = bytes(b ^ 0xA5 for b in content[at:at + n])
            with self.subTest(trial=trial):
                self.check(bytes(content))

    def test_damage_of_structures_alone_costs_nothing(self):
        """Superblock, section table, trailer and all sections behind the blocks."""
        layout = json.loads(nc3z("info", "--layout", "--json", ARCHIVE).stdout)
        self.assertTrue(layout)
        # Bytes 8 and 9 are the version and the form: 1 and 2 are the short forms.
        for at, bits in ((8, 0x40), (8, 1), (9, 0x40), (9, 1), (9, 2), (20, 0x40), (60, 0x40), (len(GOOD) - 100, 0x40),
                         (len(GOOD) - 140, 0x40), (len(GOOD) - 600, 0x40)):
            content = bytearray(GOOD)
            content[at] ^= bits
            with self.subTest(at=at, bits=bits):
                report = self.check(bytes(content))
                self.assertTrue(report["complete"])
                self.assertIn(report["digest"], ("confirmed", "recomputed"))

    def test_a_damaged_superblock_of_an_edited_archive_costs_nothing(self):
        """A later header is another than the one that the superblock and the archive's salt know."""
        titled, more, longer = self.dir / "titled.nc", self.dir / "more.nc", self.dir / "longer.nc"
        for path in (titled, more, longer):
            shutil.copy(ORIGINAL, path)
        with self.netcdf4.Dataset(titled, "a") as d:
            d.title = "a new and longer title"
        with self.netcdf4.Dataset(more, "a") as b, self.netcdf4.Dataset(longer, "a") as d:
            steps = len(b.dimensions["time"])
            b["time"][:] += steps
            for name in ("time", "tas", "flags"):
                d[name][steps:] = b[name][:]
        edited = self.dir / "edited.nc3z"
        attr, append = ("attr", edited, ":title=a new and longer title"), ("append", edited, more)
        for commands, expected in (([attr], titled), ([append], longer), ([attr, append], longer)):
            shutil.copy(ARCHIVE, edited)
            for command in commands:
                self.ok(nc3z(*command))
            whole = edited.read_bytes()
            for content in (whole[:20] + bytes([whole[20] ^ 0x40]) + whole[21:], bytes(112) + whole[112:], bytes(4096) + whole[4096:], whole[30:]):
                report, good = self.repair(content)
                with self.subTest(commands=len(commands), begin=content[:24]):
                    # Where no tile is lost, the superblock is made anew, and all versions are saved.
                    by_versions = "versions" in report
                    self.assertEqual(by_versions, content[112:] == whole[112:])
                    if by_versions:
                        self.assertTrue(report["complete"])
                        self.assertEqual((report["versions"], report["lost_versions"]), ([*range(1, len(commands) + 2)], []))
                        first = self.dir / "first.nc"
                        self.ok(nc3z("restore", "--force", f"{good}@1", "-o", first))
                        self.assertEqual(first.read_bytes(), ORIGINAL.read_bytes())
                    else:
                        self.assertFalse(report["complete"])
                        self.assertEqual(report["earlier_versions_left_out"], len(commands))
                        self.assertGreater(report["tiles"], 20 * report["lost_tiles"])
                    back = self.filled(good, 3 if report.get("lost_tiles") else 0)
                    self.same_but_lost(back, report.get("lost", []), expected)
                    with self.netcdf4.Dataset(back) as d:
                        self.assertEqual(getattr(d, "title", None), "a new and longer title" if attr in commands else None)

    def test_sound_archive(self):
        report = self.check(GOOD)
        self.assertEqual((report["lost_tiles"], report["digest"], report["notes"]), (0, "confirmed", []))

    def test_nothing_to_save(self):
        # Files that are not archives, and an archive without its beginning and its end.
        for content, code in ((b"", 1), (b"abc", 1), (os.urandom(5000), 1), (bytes(LOSS) + GOOD[LOSS:-LOSS] + bytes(LOSS), 3)):
            (self.dir / "bad.nc3z").write_bytes(content)
            done = self.fails(nc3z("repair", self.dir / "bad.nc3z", "-o", self.dir / "good.nc3z"), code)
            self.assertNotIn("saves the intact parts", done.stderr)
            self.assertEqual(self.names(), ["bad.nc3z"])

    def test_verify_names_coordinates(self):
        content = bytearray(GOOD)
        content[len(GOOD) // 2] ^= 1
        (self.dir / "bad.nc3z").write_bytes(content)
        done = nc3z("verify", "--json", self.dir / "bad.nc3z")
        self.assertEqual(done.returncode, 3, done.stderr)
        [finding] = json.loads(done.stdout)[0]["findings"]
        self.assertLessEqual(finding["begin"], len(GOOD) // 2)
        self.assertGreater(finding["end"], len(GOOD) // 2)
        [place] = finding["places"]
        with self.netcdf4.Dataset(ORIGINAL) as d:
            self.assertIn(place["variable"], d.variables)
        first = place["hyperslabs"][0]["start"][0]
        noon = str(datetime.datetime(1850, 1, 1, 12) + datetime.timedelta(days=first))
        self.assertIn(["time", noon], place["coordinates"], place)
        text = nc3z("verify", self.dir / "bad.nc3z").stdout.decode()
        self.assertIn(place["variable"] + "[time=", text)
        self.assertIn(noon[:10], text)

    def test_many_archives(self):
        for name in ("x", "y/z"):
            (self.dir / name).mkdir(parents=True)
        for i in range(5):
            shutil.copy(ARCHIVE, self.dir / f"x/{i}.nc3z")
        content = bytearray(GOOD)
        content[-1000] ^= 1
        (self.dir / "y/z/bad.nc3z").write_bytes(content)
        (self.dir / "y/other.txt").write_text("no archive")
        done = nc3z("verify", "--recursive", "--json", self.dir)
        self.assertEqual(done.returncode, 3, done.stderr)
        reports = json.loads(done.stdout)
        self.assertEqual([r["sound"] for r in reports], [True] * 5 + [False])

    def test_ferret_files(self):
        for path in self.need(ferret_files(), "ferret data sets")[:12]:
            archive = self.dir / "f.nc3z"
            self.ok(nc3z("archive", path, "-o", archive, "-f"))
            content = bytearray(archive.read_bytes())
            middle = len(content) // 2
            content[middle:middle + 8] = b"\xFF" * 8
            with self.subTest(path=path.name):
                report, good = self.repair(bytes(content))
                back = self.filled(good, 0 if report["complete"] else 3)
                if report["complete"]:
                    self.assertEqual(sha256(back), sha256(path))
                else:
                    self.same_but_lost(back, report["lost"], path)


class Faults(Case):
    def setUp(self):
        super().setUp()
        if ORIGINAL is None:
            numpy_and_netcdf4(self)
        bad = bytearray(GOOD)
        bad[len(bad) // 2:len(bad) // 2 + 70_000] = bytes(70_000)
        self.bad = self.dir / "bad.nc3z"
        self.bad.write_bytes(bad)

    def test_sigkill(self):
        """At any moment: the damaged archive is untouched, and under the new name is a sound archive or nothing."""
        good = self.dir / "good.nc3z"
        begin = time.monotonic()
        self.assertEqual(nc3z("repair", self.bad, "-o", good).returncode, 3)
        moments = Moments(SEED + 2, time.monotonic() - begin)
        digest, before = sha256(good), sha256(self.bad)
        good.unlink()
        killed = 0
        for trial in range(KILLS):
            process = start("repair", self.bad, "-o", good)
            code = moments.kill(process)
            killed += code == -signal.SIGKILL
            with self.subTest(trial=trial, code=code):
                self.assertIn(code, (3, -signal.SIGKILL))
                if good.exists():
                    self.assertEqual(sha256(good), digest)
                    good.unlink()
                for name in self.names():
                    self.assertTrue(name == "bad.nc3z" or (name.startswith(".") and name.endswith(".nc3z-tmp")), name)
                    if name != "bad.nc3z":
                        (self.dir / name).unlink()
        self.assertEqual(sha256(self.bad), before)
        self.assertGreater(killed, KILLS // 4, "the test killed too late")
        tell_kills("repair", killed, KILLS)

    def test_interrupted(self):
        good = self.dir / "good.nc3z"
        codes = []
        for number in (signal.SIGINT, signal.SIGTERM) * 4:
            process = start("repair", self.bad, "-o", good)
            time.sleep(0.02)
            process.send_signal(number)
            code, err = finish(process)
            self.assertNotIn("panicked", err)
            self.assertIn(code, (3, 130, -number), err)
            self.assertEqual(self.names(), ["bad.nc3z"] + (["good.nc3z"] if code == 3 else []))
            good.unlink(missing_ok=True)
            codes.append(code)

    def test_no_space(self):
        with tmpfs(self, "1m") as full:
            (full / "old").write_bytes(b"precious")
            self.fails(nc3z("repair", self.bad, "-o", full / "good.nc3z"), 1, "no space")
            self.assertEqual(self.names(full), ["old"])
            self.fails(nc3z("repair", self.bad, "-o", full / "old", "--force"), 1, "no space")
            self.assertEqual((full / "old").read_bytes(), b"precious")

    def test_output_is_not_overwritten(self):
        good = self.dir / "good.nc3z"
        good.write_bytes(b"precious")
        self.fails(nc3z("repair", self.bad, "-o", good), 1, "exists")
        self.assertEqual(good.read_bytes(), b"precious")
        self.fails(nc3z("repair", self.bad, "-o", self.bad, "--force"), 1, "same file")
        self.assertEqual(nc3z("repair", self.bad, "-o", good, "--force").returncode, 3)
        self.ok(nc3z("verify", good))

    def test_same_whatever_the_threads(self):
        digests = set()
        for threads in (1, 2, 5):
            good = self.dir / "good.nc3z"
            self.assertEqual(nc3z("repair", self.bad, "-o", good, "--force", "--threads", threads).returncode, 3)
            digests.add(sha256(good))
        self.assertEqual(len(digests), 1)


if __name__ == "__main__":
    unittest.main()

"""Changes of archives with parity: parity is made anew over the whole archive, unless refused. A file that lost its end keeps its small arrays."""

import json
import random
import re
import shutil
import unittest

from common import CLASSIC, Case, Moments, kills, missing, nc3z, sha256, start, tell_kills, tmpfs

try:
    import netCDF4
    import numpy as np
except ImportError as e:
    netCDF4 = None
    ABSENT = e.name

FILE = CLASSIC / "coads_climatology.cdf"


class Renewed(Case):
    def setUp(self):
        super().setUp()
        self.archive = self.dir / "a.nc3z"
        self.ok(nc3z("archive", "--parity", "4%", FILE, "-o", self.archive))

    def info(self, archive=None):
        return json.loads(self.ok(nc3z("parity", "info", "--json", archive or self.archive)).stdout)[0]

    def is_covered(self, archive=None):
        archive = archive or self.archive
        info = self.info(archive)
        self.assertEqual((info["parity"], info["stale_bytes"], info["covers"]), (True, 0, archive.stat().st_size))
        self.ok(nc3z("verify", archive))

    def edits(self):
        edited = self.dir / "edited.nc"
        shutil.copy(FILE, edited)
        data = bytearray(edited.read_bytes())
        data[-1] ^= 1
        edited.write_bytes(data)
        return [("attr", "A", ":a=1"), ("set", "A", "SST", "-d", "TIME,0", "=1"), ("rename", "A", "-v", "SST,tos"), ("commit", "A", edited), ("revert", "A", "1"), ("tag", "A", "good")]

    def test_parity_that_was_not_finished_counts_as_none(self):
        """`parity add` was killed: the archive is whole, and a part of the parity is behind it."""
        covered = self.info()
        torn = self.dir / "torn.nc3z"
        self.ok(nc3z("parity", "remove", self.archive))
        whole = self.archive.read_bytes()
        self.ok(nc3z("parity", "add", "--share", "4%", self.archive))
        added = self.archive.read_bytes()
        self.assertEqual(len(added), covered["covers"])
        # The commit slots, which are written last, are those before.
        torn.write_bytes(whole + added[len(whole) : -3000])
        done = self.ok(nc3z("parity", "info", "--json", torn))
        self.assertFalse(json.loads(done.stdout)[0]["parity"])
        self.assertIn("not finished and repairs nothing; `nc3z parity add` makes it", done.stderr)
        self.ok(nc3z("parity", "add", "--share", "4%", torn))
        self.is_covered(torn)

    def test_a_full_disk_leaves_the_change_and_says_so(self):
        pages = self.archive.stat().st_size // 4096
        with tmpfs(self, f"{4 * (pages + 2) + 200}k") as small:
            archive, rest = small / "a.nc3z", small / "rest"
            shutil.copy(self.archive, archive)
            free = shutil.disk_usage(small).free
            rest.write_bytes(bytes(free))
            # The new version has room where the parity was, and then there is none for new parity.
            numbers = self.dir / "numbers.txt"
            pick = random.Random(1)
            numbers.write_text(" ".join(f"{pick.uniform(0, 30):.4f}" for _ in range(90 * 180)))
            done = nc3z("set", archive, "SST", "-d", "TIME,0", "--text", numbers)
            self.assertEqual(done.returncode, 1, done.stderr)
            listed = json.loads(self.ok(nc3z("log", "--json", archive)).stdout)["versions"]
            self.assertEqual(len(listed), 2)
            self.assertIn("the change is made (do not repeat it) and the archive is whole", done.stderr)
            self.assertIn("No space left on device", done.stderr)
            self.assertIn("`nc3z parity add` makes it", done.stderr)
            rest.unlink()
            self.ok(nc3z("parity", "add", archive))
            self.ok(nc3z("verify", "--deep", archive))

    def run_edit(self, edit, *more):
        return self.ok(nc3z(*(self.archive if word == "A" else word for word in edit), *more))

    def test_every_edit_renews_parity(self):
        sizes = []
        for edit in self.edits():
            with self.subTest(edit[0]):
                done = self.run_edit(edit)
                self.is_covered()
                sizes.append(self.archive.stat().st_size)
                if edit[0] != "tag":
                    self.assertIn("parity of 4% made anew", done.stderr)
        # Old parity gives way to new.
        self.assertLess(sizes[-1] - sizes[0], 600_000, sizes)
        # It repairs bytes that the edits added.
        digest, damaged = sha256(self.archive), bytearray(self.archive.read_bytes())
        covered = self.info()["region_offset"]
        damaged[covered - 3000:covered - 2000] = bytes(1000)
        self.archive.write_bytes(damaged)
        self.assertEqual(nc3z("verify", self.archive).returncode, 3)
        self.ok(nc3z("repair", "--in-place", self.archive))
        self.assertEqual(sha256(self.archive), digest)
        self.ok(nc3z("prune", "--in-place", self.archive))
        self.is_covered()
        self.ok(nc3z("prune", "--in-place", "--no-parity", self.archive))
        self.assertFalse(self.info()["parity"])

    def test_parity_is_left_alone_where_that_is_wanted(self):
        for edit in self.edits():
            with self.subTest(edit[0]):
                self.run_edit(edit, "--no-parity")
                self.assertGreater(self.info()["stale_bytes"], 0)
        self.ok(nc3z("verify", self.archive))
        # The next edit covers all there is.
        self.run_edit(("attr", "A", ":b=1"))
        self.is_covered()

    def test_what_changes_nothing_changes_nothing(self):
        before = self.archive.read_bytes()
        self.run_edit(("attr", "A", "--delete", ":none"))
        self.run_edit(("commit", "A", FILE))
        self.assertIn("parity of 4% would be made anew", self.run_edit(("attr", "A", ":a=1", "--dry-run")).stderr)
        self.fails(nc3z("commit", self.archive, CLASSIC / "lone_record_short.nc"), 1, "another data set")
        self.assertEqual(self.archive.read_bytes(), before)

    def test_damage_is_not_kept_for_good(self):
        damaged = bytearray(self.archive.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        self.archive.write_bytes(damaged)
        for edit in self.edits():
            if edit[0] != "revert":
                with self.subTest(edit[0]):
                    self.fails(nc3z(*(self.archive if word == "A" else word for word in edit)), 3, "sound, before parity is added")
                    self.assertEqual(self.archive.read_bytes(), damaged)
        # Reading the older version finds the damage first.
        self.fails(nc3z("revert", self.archive, "1"), 3)
        self.assertEqual(self.archive.read_bytes(), damaged)
        self.ok(nc3z("repair", "--in-place", self.archive))
        self.ok(nc3z("attr", self.archive, ":a=1"))

    def test_killed_at_any_moment_the_archive_is_whole(self):
        twin, killed, runs = self.dir / "twin.nc3z", 0, kills(4)
        shutil.copy(self.archive, twin)
        self.ok(nc3z("attr", twin, ":a=1"))
        moments = Moments(5, 0.6)
        for _ in range(runs):
            shutil.copy(self.archive, twin)
            killed += moments.kill(start("attr", twin, ":a=1")) < 0
            versions = json.loads(self.ok(nc3z("log", "--json", twin)).stdout)["versions"]
            self.assertIn(len(versions), (1, 2))
            out = self.dir / "out.nc"
            self.ok(nc3z("restore", "--force", twin, "--version", "1", "-o", out))
            self.assertEqual(sha256(out), sha256(FILE))
            self.ok(nc3z("attr", twin, ":b=1"))
        tell_kills("att with parity", killed, runs)

    def test_the_cost_is_reported(self):
        other = self.dir / "b.nc3z"
        self.assertRegex(self.ok(nc3z("archive", "--parity", "4%", FILE, "-o", other)).stderr, r"parity [\d.]+ KiB \([\d.]+ % of the archive\)")
        self.ok(nc3z("parity", "remove", other))
        self.assertRegex(self.ok(nc3z("parity", "add", "--share", "4%", other)).stdout.decode(), r"parity of 4% added, [\d.]+ KiB \([\d.]+ % of the archive\)")
        # `info` reports the same cost.
        cost = re.search(r"added, (.*\(.*\))", self.ok(nc3z("parity", "add", "--share", "7%", self.without_parity(other))).stdout.decode())[1]
        self.assertIn(f"costs        {cost}", self.ok(nc3z("parity", "info", other)).stdout.decode())

    def without_parity(self, archive):
        self.ok(nc3z("parity", "remove", archive))
        return archive

    def test_round_shares_stay(self):
        for share in ("20%", "30%"):
            archive = self.dir / "b.nc3z"
            self.ok(nc3z("archive", "--force", "--preset", "fast", "--parity", share, CLASSIC / "etopo120.cdf", "-o", archive))
            self.assertIn(f"parity of {share} made anew", self.ok(nc3z("attr", archive, ":a=1")).stderr)

    def test_a_fraction_is_no_percentage(self):
        for share in ("0.2", "0.05"):
            done = nc3z("archive", "--parity", share, FILE, "-o", self.dir / "c.nc3z")
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"write `{share}%`", done.stderr)


class Order(Case):
    """Small arrays are stored first: a file that lost its end has its coordinates."""

    def setUp(self):
        super().setUp()
        if netCDF4 is None:
            missing(self, f"{ABSENT} is not installed")

    def coordinates_of_half(self, file, names):
        archive, half, saved = (self.dir / n for n in ("a.nc3z", "half.nc3z", "saved.nc3z"))
        self.ok(nc3z("archive", file, "-o", archive))
        data = archive.read_bytes()
        half.write_bytes(data[:len(data) // 2])
        self.assertEqual(nc3z("repair", half, "-o", saved).returncode, 3)
        for name in names:
            with self.subTest(name):
                self.assertEqual(self.ok(nc3z("read", saved, name)).stdout, self.ok(nc3z("read", file, name)).stdout)
        out = self.dir / "out.nc"
        done = nc3z("restore", saved, "-o", out)
        self.assertEqual(done.returncode, 3)
        self.assertIn("--fill-lost", done.stderr)
        # It was repaired: there is no more to be saved.
        self.assertNotIn("nc3z repair", done.stderr)
        self.assertNotIn("saves the intact parts", done.stderr)

    def test_of_a_source_that_is_held_in_memory(self):
        self.coordinates_of_half(FILE, ["COADSX", "COADSY", "TIME"])

    def test_of_a_long_source(self):
        file = self.dir / "long.nc"
        rng = np.random.default_rng(1)
        with netCDF4.Dataset(file, "w", format="NETCDF3_64BIT_OFFSET") as d:
            d.createDimension("time", None)
            d.createDimension("y", 180)
            d.createDimension("x", 360)
            for name in ("y", "x"):
                d.createVariable(name, "f4", (name,))[:] = rng.normal(size=len(d.dimensions[name]))
            d.createVariable("area", "f4", ("y", "x"))[:] = rng.normal(size=(180, 360))
            time, noise = d.createVariable("time", "f8", ("time",)), d.createVariable("noise", "f4", ("time", "y", "x"))
            noise[:] = rng.integers(0, 2**32, (150, 180, 360), dtype="u4").view("f4")
            time[:] = rng.normal(size=150)
        self.assertGreater(file.stat().st_size, 36 << 20)
        self.coordinates_of_half(file, ["x", "y", "time", "area"])


class Foreign(Case):
    """Bytes behind the end of an archive are not part of it."""

    def test_bytes_behind_the_end(self):
        for name, behind in (("record_padding.nc", 10), ("record_padding.nc", 100_000), ("coads_climatology.cdf", 100_000)):
            with self.subTest(name, behind=behind):
                file, archive, saved, out = CLASSIC / name, self.dir / "a.nc3z", self.dir / "saved.nc3z", self.dir / "out.nc"
                self.ok(nc3z("archive", "--force", file, "-o", archive))
                archive.write_bytes(archive.read_bytes() + random.Random(behind).randbytes(behind))
                found = nc3z("verify", archive)
                self.assertEqual(found.returncode, 3)
                self.assertRegex(found.stdout.decode() + found.stderr, f"{behind} bytes after the end of .*a repair leaves them out")
                self.ok(nc3z("restore", "--force", archive, "-o", out))
                self.assertEqual(sha256(out), sha256(file))
                done = self.ok(nc3z("repair", "--force", archive, "-o", saved))
                self.assertRegex(done.stderr, f"the last {behind} bytes follow the end of the archive, and are left out")
                self.ok(nc3z("verify", "--deep", saved))
                self.ok(nc3z("attr", archive, ":a=1"))
                self.ok(nc3z("verify", "--deep", archive))


if __name__ == "__main__":
    unittest.main()

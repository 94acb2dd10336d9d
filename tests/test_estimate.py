"""Estimates against the truth: archives that are then made, gzip, and netCDF-4 files."""

import gzip
import json
import shutil
import struct
import time
import unittest

import netCDF4
import numpy as np
from common import CLASSIC, NIGHT, Case, bad_files, ferret_files, header, nc3z, synthetic

PRESETS = ("fast", "default", "max")


class Estimate(Case):
    def estimate(self, *args):
        return json.loads(self.ok(nc3z("estimate", "--json", *args)).stdout)

    def archived(self, path, preset):
        target = self.dir / f"{preset}.nc3z"
        self.ok(nc3z("archive", "--force", "--preset", preset, path, "-o", target))
        return target.stat().st_size

    def test_small_files_are_told_exactly(self):
        paths = [p for p in sorted(CLASSIC.glob("*")) if p.suffix in (".nc", ".cdf") and not p.name.startswith("bad_")
                 and p.stat().st_size <= 1 << 20]
        for path, found in zip(paths, self.estimate(*paths)):
            with self.subTest(path.name):
                self.assertEqual(found["original_bytes"], path.stat().st_size)
                for preset in found["presets"]:
                    self.assertEqual(preset["stored_bytes"], self.archived(path, preset["preset"]), preset)
                    self.assertEqual(preset["uncertainty"], 0)

    def test_larger_files_within_a_tenth(self):
        paths = self.need([p for p in [*CLASSIC.glob("*.cdf"), *ferret_files({"coads_climatology.cdf"})]
                           if p.stat().st_size > 1 << 20], "files of more than a MiB")[:4 if NIGHT else 1]
        for path in paths:
            [found] = self.estimate("--sample", "4MiB", path)
            for preset in found["presets"]:
                actual = self.archived(path, preset["preset"])
                with self.subTest(path.name, preset=preset["preset"]):
                    self.assertLess(abs(preset["stored_bytes"] / actual - 1), 0.1 + preset["uncertainty"])

    def interleaved(self, path, records=150000 if NIGHT else 30000):
        """Record variables of short slots, one of them padded; a fixed one; and a scalar."""
        rng = np.random.default_rng(4)
        t = np.arange(records)
        with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as d:
            d.createDimension("t", None)
            d.createDimension("x", 5)
            d.createVariable("a", "f4", ("t", "x"))[:] = np.sin(t[:, None] / 900 + np.arange(5)) + rng.normal(0, 0.01, (records, 5))
            d.createVariable("b", "i1", ("t",))[:] = t // 1000 % 100
            d.createVariable("c", "f8", ("t",))[:] = np.cumsum(rng.normal(0, 1, records)).round(3)
            d.createVariable("s", "i4", ())[...] = 4
        return path

    def test_interleaved_records(self):
        path = self.interleaved(self.dir / "records.nc")
        for sample in ("64MiB", "1MiB"):
            [found] = self.estimate("--sample", sample, path)
            self.assertEqual({v["name"] for v in found["variables"]}, {"a", "b", "c", "s"})
            for preset in found["presets"]:
                actual = self.archived(path, preset["preset"])
                with self.subTest(sample, preset=preset["preset"]):
                    self.assertLess(abs(preset["stored_bytes"] / actual - 1), 0.1 + preset["uncertainty"])

    def test_others_are_what_they_would_be(self):
        path = synthetic(self.dir / "s.nc", 8)
        [found] = self.estimate("--preset", "fast", path)
        peers = {p["name"]: p["stored_bytes"] for p in found["peers"]}
        actual = len(gzip.compress(path.read_bytes(), 6))
        self.assertLess(abs(peers["gzip -6"] / actual - 1), 0.1)             # another deflate than zlib's
        for level in (1, 5):
            target = self.dir / "n4.nc"
            with netCDF4.Dataset(path) as a, netCDF4.Dataset(target, "w") as b:
                for name, dim in a.dimensions.items():
                    b.createDimension(name, len(dim))
                for name, v in a.variables.items():
                    b.createVariable(name, v.dtype, v.dimensions, zlib=True, complevel=level, shuffle=True)[:] = v[:]
            with self.subTest(level=level):
                told = peers[f"netCDF-4, shuffle, deflate {level}"]
                self.assertLess(abs(told / target.stat().st_size - 1), 0.1)

    def test_many_arrays_stand_for_each_other(self):
        n, count = 40000, 150
        rng = np.random.default_rng(6)
        data = [np.round(np.cumsum(rng.normal(0, 1, n)), 2).astype(">f4").tobytes() for _ in range(count)]
        path = self.dir / "many.nc"
        path.write_bytes(header([(f"v{i}", (0,), 5, 4 * n) for i in range(count)], [("x", n)]) + b"".join(data))
        [found] = self.estimate("--preset", "default", "--sample", "4MiB", path)
        sampled = [v["sampled_bytes"] > 0 for v in found["variables"]]
        self.assertEqual(len(sampled), count)
        self.assertLess(sum(sampled), count)
        self.assertLess(abs(found["presets"][0]["stored_bytes"] / self.archived(path, "default") - 1), 0.1)

    def test_huge_file_in_seconds(self):
        side, planes = 25000, 20                                             # 5 * 10^10 bytes, sparse
        path = self.dir / "huge.nc"
        size = 4 * side * side * planes
        dims = [("t", planes), ("y", side), ("x", side)]
        name = b"v\0\0\0"
        out = b"CDF\x05" + struct.pack(">QIQ", 0, 10, 3)
        for n, length in dims:
            out += struct.pack(">Q", 1) + n.encode() + b"\0\0\0" + struct.pack(">Q", length)
        out += struct.pack(">IQ", 0, 0) + struct.pack(">IQ", 11, 1) + struct.pack(">Q", 1) + name
        out += struct.pack(">Q3Q", 3, 0, 1, 2) + struct.pack(">IQ", 0, 0)
        begin = len(out) + 4 + 16
        out += struct.pack(">IQQ", 5, size, begin)
        with open(path, "wb") as f:
            f.write(out)
            f.truncate(begin + size)
        start = time.monotonic()
        [found] = self.estimate(path)
        self.assertLess(time.monotonic() - start, 60)
        self.assertEqual(found["original_bytes"], begin + size)
        self.assertFalse(found["whole"])
        self.assertLess(found["sampled_bytes"], 64 << 20)

    def test_sizes_are_the_same_whatever_the_threads(self):
        path = synthetic(self.dir / "s.nc", 6)
        def sizes(threads):
            [found] = self.estimate("--threads", threads, path)
            return [(p["preset"], p["stored_bytes"], p["uncertainty"]) for p in found["presets"]], found["peers"], found["variables"]
        self.assertEqual(sizes(1), sizes(4))

    def test_table_and_sum(self):
        done = self.ok(nc3z("estimate", CLASSIC / "numeric.nc", CLASSIC / "etopo120.cdf"))
        text = done.stdout.decode()
        for words in ("nc3z fast", "nc3z default", "nc3z max", "gzip -6", "netCDF-4, shuffle, deflate 5", "2 files:", "exact"):
            self.assertIn(words, text)
        [one] = self.estimate("--preset", "max", CLASSIC / "numeric.nc")
        self.assertEqual([p["preset"] for p in one["presets"]], ["max"])

    def test_many_short_arrays(self):
        count = 350                                                          # members of containers, in each variable's row
        rng = np.random.default_rng(7)
        length = 500 if NIGHT else 125
        data = [rng.integers(0, 1000, length).astype(">i4").tobytes() for _ in range(count)]
        path = self.dir / "many.nc"
        path.write_bytes(header([(f"v{i}", (0,), 4, 4 * length) for i in range(count)], [("x", length)]) + b"".join(data))
        [found] = self.estimate(path)
        self.assertEqual(len(found["variables"]), count)
        for preset in found["presets"]:
            self.assertEqual(preset["stored_bytes"], self.archived(path, preset["preset"]))

    def test_trees_have_one_summary(self):
        tree = self.dir / "tree"
        (tree / "sub").mkdir(parents=True)
        for i in range(5):
            shutil.copy(CLASSIC / "numeric.nc", tree / "sub" / f"{i}.nc")
        (tree / "notes.txt").write_text("no netCDF")
        whole = json.loads(self.ok(nc3z("estimate", "-r", "--json", tree)).stdout)
        part = json.loads(self.ok(nc3z("estimate", "-r", "--most", "2", "--json", tree)).stdout)
        self.assertEqual((len(whole["files"]), len(part["files"])), (5, 2))
        sizes = [{k: v for k, v in p.items() if k != "archive_seconds"} for p in whole["summary"]["presets"]]
        self.assertEqual(sizes, [{k: v for k, v in p.items() if k != "archive_seconds"} for p in part["summary"]["presets"]])
        self.assertEqual(whole["summary"]["files"], 5)
        self.assertEqual(whole["summary"]["original_bytes"], 5 * (CLASSIC / "numeric.nc").stat().st_size)
        told = self.ok(nc3z("estimate", "-r", "--most", "2", tree)).stdout.decode()
        self.assertRegex(told, "2 of 5 files were sampled")
        self.assertRegex(told, r"\n1 passed over \(1 other file\)\n$")
        self.assertEqual(whole["summary"]["passed_over"], {"other file": 1})
        # `max` takes several times as long as archiving, so it is tried only if it is named.
        self.assertEqual([p["preset"] for p in whole["summary"]["presets"]], ["fast", "default"])
        self.assertIn("--preset max", told)
        told = self.ok(nc3z("estimate", "-r", "--preset", "max", tree)).stdout.decode()
        self.assertIn("nc3z max", told)
        self.assertNotIn("--preset max", told)
        self.fails(nc3z("estimate", tree), words="directory")

    def test_what_is_no_classic_file(self):
        archive = self.dir / "a.nc3z"
        self.ok(nc3z("archive", CLASSIC / "numeric.nc", "-o", archive))
        self.fails(nc3z("estimate", archive), words="is an archive already: .* ratio ")
        done = self.fails(nc3z("estimate", "--json", archive, CLASSIC / "numeric.nc"))
        self.assertIn("error", json.loads(done.stdout)[0])
        self.assertIn("presets", json.loads(done.stdout)[1])
        for path in bad_files():
            done = nc3z("estimate", path)
            self.assertIn(done.returncode, (0, 1, 3), done.stderr)
            self.assertNotIn("panicked", done.stderr)


if __name__ == "__main__":
    unittest.main()

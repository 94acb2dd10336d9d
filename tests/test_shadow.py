"""Shadows: statistics without the files, equal to those of all values within the stated bound."""

import json
import math
import shutil
import unittest

import netCDF4
import numpy as np
from common import CLASSIC, nc3z
from test_aggregate import Aggregation


class Shadows(Aggregation):
    def year(self):
        data = self.dir / "data"
        data.mkdir()
        rng = np.random.default_rng(11)
        for month in range(12):
            with netCDF4.Dataset(data / f"m{month:02}.nc", "w", format="NETCDF3_64BIT_OFFSET") as d:
                d.institution = "Somewhere"
                for name, n in (("time", None), ("lat", 20), ("lon", 30)):
                    d.createDimension(name, n)
                tas = d.createVariable("tas", "f4", ("time", "lat", "lon"), fill_value=1e20)
                tas.units, tas.standard_name = "K", "air_temperature"
                tas[:] = np.ma.masked_where(rng.random((28, 20, 30)) < 0.1, 250 + 5 * month + rng.normal(0, 9, (28, 20, 30)))
                pr = d.createVariable("pr", "i2", ("time", "lat", "lon"), fill_value=-1)
                pr.scale_factor, pr.add_offset, pr.units = 0.01, 5.0, "mm"
                pr[:] = 5 + rng.integers(0, 3000, (28, 20, 30)) * 0.01
                text = d.createVariable("station", "S1", ("lat",))
                text[:] = np.array([b"x"] * 20)
        return data

    def numbers(self, data, name):
        values = []
        for path in sorted(data.glob("*.nc")):
            with netCDF4.Dataset(path) as d:
                values.append(np.asarray(d[name][:].compressed(), dtype="f8"))
        return np.concatenate(values)

    def stats(self, shadow, *more):
        return json.loads(self.ok(nc3z("stats", shadow, "--json", *more)).stdout)

    def test_yearly_means_need_no_member(self):
        data = self.year()
        archives, shadow = self.dir / "archives", self.dir / "a.nc3x"
        self.ok(nc3z("archive", "-r", data, "-o", archives))
        self.ok(nc3z("bundle", data, "-o", self.dir / "set.zip"))
        self.ok(nc3z("bundle", data, "-o", self.dir / "packed.zip", "--pack"))
        want = {name: self.numbers(data, name) for name in ("tas", "pr")}
        inputs = [data, archives, self.dir / "set.zip", self.dir / "packed.zip"]
        for at in inputs:
            self.ok(nc3z("index", at, "-o", shadow, "-f"))
        self.ok(nc3z("index", archives, "-o", self.dir / "one.nc3x", "--threads", "1"))
        self.ok(nc3z("index", archives, "-o", shadow, "-f"))
        self.assertEqual(shadow.read_bytes(), (self.dir / "one.nc3x").read_bytes())
        shutil.move(data, self.dir / "gone")
        shutil.rmtree(archives)
        rows = {row["variable"]: row for row in self.stats(shadow)}
        self.assertEqual(sorted(rows), ["pr", "tas"])
        for name, values in want.items():
            row = rows[name]
            self.assertEqual((row["files"], row["count"], row["min"], row["max"]), (12, len(values), values.min(), values.max()))
            self.assertLessEqual(abs(row["mean"] - math.fsum(values) / len(values)), row["mean_error_bound"])
            self.assertLess(row["mean_error_bound"], 1e-12)
            np.testing.assert_allclose(row["mean"], values.mean(), rtol=1e-12)
            np.testing.assert_allclose(row["standard_deviation"], values.std(), rtol=1e-9)
        each = self.stats(shadow, "--each", "--variable", "tas")
        self.assertEqual(len(each), 12)
        self.assertEqual(sum(row["count"] for row in each), len(want["tas"]))
        self.assertIn("K", self.ok(nc3z("stats", shadow)).stdout.decode())
        self.assertEqual(nc3z("stats", shadow, "--variable", "nothing").returncode, 1)

    def test_all_kinds_of_inputs_give_the_same_statistics(self):
        data = self.year()
        archives = self.dir / "archives"
        self.ok(nc3z("archive", "-r", data, "-o", archives))
        self.ok(nc3z("bundle", data, "-o", self.dir / "packed.zip", "--pack"))
        found = []
        for at in (data, archives, self.dir / "packed.zip"):
            self.ok(nc3z("index", at, "-o", self.dir / "s.nc3x", "-f"))
            found.append(self.stats(self.dir / "s.nc3x"))
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])

    def test_files_are_found_by_their_values(self):
        data = self.year()
        shadow = self.dir / "s.nc3x"
        self.ok(nc3z("index", data, "-o", shadow))
        limit = 315.0
        wanted = []
        for path in sorted(data.glob("*.nc")):
            with netCDF4.Dataset(path) as d:
                if d["tas"][:].max() > limit:
                    wanted.append(str(path))
        found = self.ok(nc3z("find", "-l", "--where", f"tas > {limit}", shadow)).stdout.decode().split()
        self.assertEqual(found, wanted)
        both = json.loads(self.ok(nc3z("find", "--json", "--where", f"tas > {limit}", "--where", "pr >= 5", shadow)).stdout)
        self.assertEqual([row["file"] for row in both], wanted)
        self.assertEqual(nc3z("find", "--where", "tas > 1000", shadow).returncode, 1)
        self.assertEqual(nc3z("find", "--where", "tas is large", shadow).returncode, 2)
        self.assertEqual(nc3z("find").returncode, 2)

    def test_a_damaged_shadow_is_an_error(self):
        shadow = self.dir / "s.nc3x"
        self.ok(nc3z("index", CLASSIC / "numeric.nc", "-o", shadow))
        data = shadow.read_bytes()
        for hurt in (data[:-1], data[:10], b"", data[:30] + bytes([data[30] ^ 1]) + data[31:], b"CDF\1" + data):
            shadow.write_bytes(hurt)
            self.fails(nc3z("stats", shadow), 1, "shadow")


if __name__ == "__main__":
    unittest.main()

"""diff reports the same differences as numpy, for every pair of classic files, archives and versions; exit codes 0, 1, 2, 3."""

import json
import random
import shutil
import unittest
from pathlib import Path

import netCDF4
import numpy as np

from common import CLASSIC, Case, nc3z

TYPES = {"NETCDF3_CLASSIC": ["i1", "i2", "i4", "f4", "f8"], "NETCDF3_64BIT_DATA": ["u1", "u2", "u4", "i8", "u8", "f8"]}


def made(path, rng, kind, variables, records=3):
    """A classic file of these variables: name, type, values."""
    with netCDF4.Dataset(path, "w", format=kind) as data:
        data.set_fill_off()
        data.createDimension("t", None)
        data.createDimension("x", 7)
        data.title = "made"
        for name, dtype, values in variables:
            v = data.createVariable(name, dtype, ("t", "x") if values.ndim == 2 else ("x",), fill_value=False)
            v[:] = values
    return path


def random_values(rng, dtype, records):
    shape = (records, 7) if rng.random() < 0.6 else (7,)
    gen = np.random.default_rng(rng.randrange(1 << 30))
    if dtype.startswith("f"):
        out = gen.normal(0, 10, shape).astype(dtype)
        out.flat[gen.integers(out.size)] = gen.choice([0.0, -0.0, np.nan, np.inf, 9.96921e36])
        return out
    info = np.iinfo(dtype)
    return gen.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def bits(a):
    return a.view(f"u{a.dtype.itemsize}")


class Diff(Case):
    def diff(self, a, b, *more):
        done = nc3z("diff", "--json", *more, a, b)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["equal"], done.returncode == 0)
        return found

    def archive(self, path):
        self.ok(nc3z("archive", "--force", path, "-o", f"{path}.nc3z"))
        return f"{path}.nc3z"

    def test_values_as_numpy_tells(self):
        rng = random.Random(17)
        for round_ in range(12):
            kind = rng.choice(list(TYPES))
            old = [(f"v{i}", t, random_values(rng, t, 3)) for i, t in enumerate(TYPES[kind])]
            new = [(n, t, v.copy()) for n, t, v in old]
            for _, _, v in new:
                for _ in range(rng.choice([0, 0, 1, 3])):
                    v.flat[rng.randrange(v.size)] = v.flat[rng.randrange(v.size)]
            rng.shuffle(new)
            a, b = (made(self.dir / f"{n}.nc", rng, kind, vs) for n, vs in (("a", old), ("b", new)))
            archive, other = self.archive(a), self.archive(b)
            self.ok(nc3z("commit", archive, b))
            newest = "@2" if a.read_bytes() != b.read_bytes() else "@1"
            pairs = [(a, b), (f"{archive}@1", b), (f"{archive}@1", other), (f"{archive}@1", newest)]
            for x, y in pairs:
                found = {v["name"]: v for v in self.diff(x, y)["variables"]}
                for name, dtype, before in old:
                    after = next(v for n, _, v in new if n == name)
                    differ = bits(before) != bits(after)
                    with self.subTest(round=round_, name=name, dtype=dtype, pair=(str(x), str(y))):
                        if not differ.any():
                            self.assertNotIn(name, found)
                            continue
                        values = found[name]["values"]
                        self.assertEqual(values["differing"], differ.sum())
                        self.assertEqual(values["compared"], before.size)
                        where = np.argwhere(differ)
                        self.assertEqual(values["bounds"], [[int(c.min()), int(c.max())] for c in where.T])
                        if values["largest"]:
                            at = tuple(values["largest"]["index"])
                            self.assertTrue(differ[at])
                            with np.errstate(all="ignore"):
                                size = abs(float(after[at]) - float(before[at]))
                            np.testing.assert_allclose(values["largest"]["difference"], size, rtol=1e-9)

    def test_tolerances(self):
        rng = random.Random(3)
        x = np.array([1, 2, 3, 4, 5, 0, np.nan], "f8")
        y = np.array([1.001, 2, 3.5, 4.000001, 5, -0.0, np.nan], "f8")
        a, b = made(self.dir / "a.nc", rng, "NETCDF3_CLASSIC", [("v", "f8", x)]), made(self.dir / "b.nc", rng, "NETCDF3_CLASSIC", [("v", "f8", y)])
        count = lambda *more: ([v["values"]["differing"] for v in self.diff(a, b, *more)["variables"]] or [0])[0]  # noqa: E731
        self.assertEqual(count(), 4)
        self.assertEqual(count("--abs", "0"), 3)
        self.assertEqual(count("--abs", "1e-5"), 2)
        self.assertEqual(count("--rel", "1e-2"), 1)
        self.assertEqual(count("--abs", "1"), 0)
        self.assertEqual(nc3z("diff", "-q", "--abs", "1", a, b).returncode, 0)
        equal = self.diff(a, b)["variables"][0]["values"]["equal_in_value"]
        self.assertEqual(equal, 1)

    def test_infinite_values_are_near_no_other(self):
        x = np.array([1, np.inf, 3, np.inf, -np.inf, 1e38, np.nan])
        y = np.array([1, 5, 3, -np.inf, -np.inf, np.inf, np.nan])
        for dtype in ("f4", "f8"):
            a, b = (made(self.dir / f"{n}.nc", None, "NETCDF3_CLASSIC", [("v", dtype, values)]) for n, values in (("a", x), ("b", y)))
            for share in (1e-6, 1.0):
                differ = ~np.isclose(x, y, rtol=share, atol=0, equal_nan=True)
                found = self.diff(a, b, "--rel", str(share))["variables"]
                self.assertEqual([v["values"]["differing"] for v in found], [differ.sum()], (dtype, share))

    def test_values_that_one_file_lacks_are_counted(self):
        whole = made(self.dir / "a.nc", None, "NETCDF3_CLASSIC", [("v", "f8", np.arange(7.0))])
        cut = self.dir / "cut.nc"
        cut.write_bytes(whole.read_bytes()[:-24])
        for pair in ((whole, cut), (cut, whole)):
            self.assertIn("variable v: 3 of 7 values differ", nc3z("diff", *pair).stdout.decode())

    def test_header(self):
        a, b = self.dir / "a.nc", self.dir / "b.nc"
        for path in (a, b):
            with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as data:
                second = path == b
                data.createDimension("lon" if second else "x", 4)
                data.createDimension("y", 3 if second else 2)
                data.title = "new" if second else "old"
                v = data.createVariable("renamed" if second else "v", "f4", ("lon" if second else "x",))
                v[:] = [1, 2, 3, 4]
                v.units = "K"
                w = data.createVariable("w", "f8" if second else "i4", ("y",))
                w[:] = range(3 if second else 2)
                data.createVariable("came" if second else "went", "i2", ("y",))[:] = 5 + second
        found = self.diff(a, b)
        self.assertEqual([(d["name"], d["renamed"]) for d in found["dimensions"]], [("y", None), ("x", "lon")])
        self.assertEqual([(x["name"], x["before"]["value"], x["after"]["value"]) for x in found["attributes"]], [("title", "old", "new")])
        names = {v["name"]: v for v in found["variables"]}
        self.assertEqual(set(names), {"v", "w", "went", "came"})
        self.assertEqual(names["v"]["renamed"], "renamed")
        self.assertEqual((names["w"]["before"]["type"], names["w"]["after"]["type"]), ("int", "double"))
        self.assertIsNone(names["went"]["after"])
        self.assertIsNone(names["came"]["before"])
        text = nc3z("diff", a, b).stdout.decode()
        for words in ("dimension y: 2 -> 3", "dimension x renamed lon", 'attribute title: "old" -> "new"', "variable v renamed renamed",
                      "variable went removed", "variable came added"):
            self.assertIn(words, text)

    def test_layout_counts_only_when_asked_for(self):
        data = CLASSIC / "coads_climatology.cdf"
        other = self.dir / "b.nc"
        with netCDF4.Dataset(data) as old, netCDF4.Dataset(other, "w", format="NETCDF3_64BIT_OFFSET") as new:
            old.set_auto_maskandscale(False)
            new.set_auto_maskandscale(False)
            for name, d in old.dimensions.items():
                new.createDimension(name, None if d.isunlimited() else len(d))
            for name in reversed(list(old.variables)):
                v = old[name]
                fill = v.getncattr("_FillValue") if "_FillValue" in v.ncattrs() else None
                w = new.createVariable(name, v.dtype, v.dimensions, fill_value=fill)
                w.setncatts({n: v.getncattr(n) for n in v.ncattrs() if n != "_FillValue"})
                w[:] = v[:]
            new.setncatts({n: old.getncattr(n) for n in old.ncattrs()})
        found = self.diff(data, other)
        self.assertTrue(found["equal"], found)
        self.assertIn("order of variables", found["layout"])
        self.assertEqual(nc3z("diff", "--exact", data, other).returncode, 1)
        # One byte that belongs to no value.
        third = Path(shutil.copy2(data, self.dir / "c.cdf"))
        with open(third, "ab") as f:
            f.write(b"x")
        self.assertEqual(nc3z("diff", data, third).returncode, 0)
        self.assertEqual(nc3z("diff", "--exact", data, third).returncode, 1)
        self.assertEqual(nc3z("diff", "--exact", data, data).returncode, 0)

    def test_failures_are_2_and_corruption_is_3(self):
        data = CLASSIC / "record_padding.nc"
        self.fails(nc3z("diff", data, self.dir / "missing.nc"), 2, "missing.nc")
        self.fails(nc3z("diff", "-v", "nothing", data, data), 2, "nothing")
        self.fails(nc3z("diff", data, f"{data}@2"), 2, "only archives have versions")
        self.assertEqual(nc3z("diff", data).returncode, 2)
        archive = Path(self.archive(shutil.copy2(data, self.dir)))
        raw = bytearray(archive.read_bytes())
        raw[200] ^= 255
        archive.write_bytes(raw)
        self.fails(nc3z("diff", archive, data), 3)

    def test_the_damaged_file_is_named(self):
        data = made(self.dir / "a.nc", None, "NETCDF3_CLASSIC", [("v", "f8", np.random.default_rng(1).normal(size=(3000, 7)))])
        archive = Path(self.archive(data))
        raw = bytearray(archive.read_bytes())
        raw[len(raw) // 2] ^= 255
        archive.write_bytes(raw)
        for options in ((), ("--exact",), ("-d", "x,0,3")):
            self.fails(nc3z("diff", *options, archive, data), 3, 'corrupt first file, variable . "v"')
            self.fails(nc3z("diff", *options, data, archive), 3, 'corrupt second file, variable . "v"')


if __name__ == "__main__":
    unittest.main()

"""Aggregations between nc3z and the programs of others: cfdm, cf-python and cfapyx read what nc3z writes, nc3z reads what they write. They
are large, and count relative names from the working directory: each test runs them once, in the aggregation's own directory.

The older cf-python 3.16.3 (CFA-0.6.2) and 3.13.1 (CFA-0.4) need older interpreters: NC3Z_CF_3_16 and NC3Z_CF_3_13 name those of their own
environments, which scripts/nightly.sh makes where it finds Python 3.11 and 3.10. What they write is in testdata/aggregation, too."""

import importlib.util
import json
import os
import subprocess
import sys
import unittest

import netCDF4
import numpy as np
from common import missing, nc3z
from test_aggregate import LAT, Aggregation, truth
from test_aggregate_tilings import TILINGS, Tiling, value

READ = """
import json, sys, warnings
warnings.simplefilter("ignore")
import {module} as cf
out = {{}}
for path in sys.argv[1:]:
    fields = cf.read(path)
    field = next(f for f in fields if f.get_property("standard_name", None) == "air_temperature")
    out[path] = [field.array.filled(-1e30).tolist() if hasattr(field.array, "filled") else field.array.tolist(),
                 [float(x) for x in field.construct("time").array], field.get_property("units")]
print(json.dumps(out))
"""
READ_TILINGS = """
import json, sys, warnings
warnings.simplefilter("ignore")
import cfdm
out = {}
for path in sys.argv[1:]:
    field = next(f for f in cfdm.read(path) if f.nc_get_variable() == "tas")
    dims = [field.domain_axes()[key].nc_get_dimension() for key in field.get_data_axes()]
    values = {c.nc_get_variable(): [float(x) for x in c.array] for c in field.dimension_coordinates().values()}
    out[path] = [field.array.tolist(), dims, field.get_property("units"), values]
print(json.dumps(out))
"""
WRITE = """
import sys, warnings
warnings.simplefilter("ignore")
import cf
for fmt in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET"):
    f = cf.read(sys.argv[1:], cfa_write="field")
    assert len(f) == 1, f
    cf.write(f[0], f"by_cf_{fmt}.nc", fmt=fmt, cfa={"constructs": "field", "uri": "relative"})
    cf.write(f[0], f"by_cf_absolute_{fmt}.nc", fmt=fmt, cfa={"constructs": "field", "uri": "absolute"})
"""
WRITE_CFA_062 = """
import sys, warnings
warnings.simplefilter("ignore")
import cf
f = cf.read(sys.argv[1:])
assert len(f) == 1, f
for fmt in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET"):
    for name, how in (("relative", {"absolute_paths": False}), ("absolute", True), ("base", {"substitutions": {"base": "file://" + __import__("os").getcwd() + "/"}})):
        cf.write(f[0], f"by_cf_{name}_{fmt}.nc", fmt=fmt, cfa=how)
"""
WRITE_CFA_04 = """
import sys, cf
f = cf.read(sys.argv[1:])
assert len(f) == 1, f
cf.write(f[0], "by_cf.nc", fmt="CFA3")
"""
READ_CFAPYX = """
import json, sys, warnings
warnings.simplefilter("ignore")
import xarray as xr
ds = xr.open_dataset(sys.argv[1], engine="CFA")
print(json.dumps([ds["tas"].values.astype("f8").tolist(), ds["tas"].units]))
"""


class Oracles(Aggregation):
    def run_python(self, module, code, *args, python=sys.executable):
        if python == sys.executable and importlib.util.find_spec(module) is None:
            missing(self, f"the Python package {module} is not installed")
        done = subprocess.run([python, "-c", code, *map(str, args)], cwd=self.dir, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def files(self):
        """Tiles of time and latitude, in different units, types and packings."""
        out = []
        for i in range(3):
            for j in range(2):
                options = [{}, {"units": "degC"}, {"dtype": "f8"}, {"dtype": "i2", "packing": (0.01, 270.0)}][(2 * i + j) % 4]
                out.append(self.make(f"g{i}{j}.nc", 3 * i, 3, lat=LAT[2 * j:2 * j + 2], **options))
        return out

    def test_cfdm_reads_what_nc3z_writes(self):
        files = self.files()
        self.aggregate(*files)
        self.aggregate(*files, out="absolute.nc", options=("--absolute",))
        found = json.loads(self.run_python("cfdm", READ.format(module="cfdm"), "agg.nc", "absolute.nc"))
        ours = self.values(self.dir / "agg.nc")
        for values, times, units in found.values():
            self.near(np.array(values), truth(range(9)), 0.006)
            self.assertEqual((times, units), (list(range(9)), "K"))
            self.assertLess(np.abs(np.array(values) - ours).max(), 1e-4)

    def test_cfdm_reads_random_tilings(self):
        """Those whose files have all dimensions, in one order and sense: of others cfdm is not an oracle."""
        tilings, paths = [], []
        for seed in range(TILINGS):
            tilings.append(Tiling(seed, plain=True))
            work = self.dir / str(seed)
            work.mkdir()
            paths.append(work / "agg.nc")
            self.ok(nc3z("aggregate", *tilings[-1].write(work), "-o", paths[-1], "--absolute", "--convention", "cf"))
        found = json.loads(self.run_python("cfdm", READ_TILINGS, *paths))
        for tiling, path in zip(tilings, paths):
            values, dims, units, coordinates = found[str(path)]
            own = {n: np.array(coordinates[n]).reshape([-1 if m == n else 1 for m in dims]) for n in dims}
            expected = np.broadcast_to(value(own) - (273.15 if units == "degC" else 0), np.shape(values))
            self.assertEqual(sorted(dims), sorted(tiling.names))
            self.assertLess(np.abs(np.array(values) - expected).max(), 0.0011, path)
            self.assertLess(np.abs(np.array(values) - self.values(path)).max(), 1e-4)

    def test_nc3z_reads_what_cf_python_writes(self):
        names = [self.make(f"m{n}.nc", 3 * n, 3).name for n in range(3)]
        self.run_python("cf", WRITE, *names)
        written = sorted(p.name for p in self.dir.glob("by_cf_*"))
        self.assertEqual(len(written), 4)
        for name in written:
            self.near(self.values(self.dir / name), truth(range(9)))
            self.assertIn("aggregation, CF-1.13", nc3z("info", self.dir / name).stdout.decode())

    def older(self, variable):
        """The interpreter of an environment with an older cf-python."""
        python = os.environ.get(variable)
        if not python:
            missing(self, f"{variable} names no interpreter")
        return python

    def test_nc3z_reads_cfa_062_of_cf_python_3_16(self):
        """Fragments in other units and of another type, relative and absolute names, substitutions."""
        options = [{}, {"units": "degC"}, {"dtype": "f8"}]
        names = [self.make(f"m{n}.nc", 3 * n, 3, **options[n]).name for n in range(3)]
        self.run_python("cf", WRITE_CFA_062, *names, python=self.older("NC3Z_CF_3_16"))
        written = sorted(p.name for p in self.dir.glob("by_cf_*"))
        self.assertEqual(len(written), 6)
        for name in written:
            self.near(self.values(self.dir / name), truth(range(9)))

    def test_nc3z_reads_cfa_04_of_cf_python_3_13(self):
        names = [self.make(f"m{n}.nc", 3 * n, 3).name for n in range(3)]
        self.run_python("cf", WRITE_CFA_04, *names, python=self.older("NC3Z_CF_3_13"))
        self.near(self.values(self.dir / "by_cf.nc"), truth(range(9)))

    def test_cfapyx_reads_the_strings_of_what_nc3z_writes(self):
        """It reads no arrays of characters, and no relative names but from where it runs: a copy in netCDF-4 has the same as strings."""
        files = [self.make(f"m{n}.nc", 3 * n, 3, units="degC" if n == 1 else "K") for n in range(3)]
        agg = self.aggregate(*files, options=("--absolute", "--no-fingerprints"))
        copy = self.dir / "strings.nc"
        with netCDF4.Dataset(agg) as a, netCDF4.Dataset(copy, "w") as b:
            for name, d in a.dimensions.items():
                b.createDimension(name, len(d))
            b.setncatts({k: a.getncattr(k) for k in a.ncattrs()})
            for name, v in a.variables.items():
                text = v.dtype.kind == "S"
                new = b.createVariable(name, str if text else v.dtype, v.dimensions[:-1] if text else v.dimensions,
                                       fill_value=None if text else v.__dict__.get("_FillValue"))
                new.setncatts({k: v.getncattr(k) for k in v.ncattrs() if k != "_FillValue"})
                if text:
                    new[...] = np.array(netCDF4.chartostring(v[:]), dtype=object)
                elif name != "tas":
                    new[...] = v[...]
        values, units = json.loads(self.run_python("cfapyx", READ_CFAPYX, copy.name))
        self.near(np.array(values), truth(range(9)))
        self.assertEqual(units, "K")


if __name__ == "__main__":
    unittest.main()

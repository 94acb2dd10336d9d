"""Aggregations between nc3z and the programs of others: cfdm and cf-python read what nc3z writes, nc3z reads what they write. They are
large, and count relative names from the working directory: each test runs them once, in the aggregation's own directory."""

import importlib.util
import json
import subprocess
import sys
import unittest

import numpy as np
from common import missing, nc3z
from test_aggregate import LAT, Aggregation, truth

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


class Oracles(Aggregation):
    def run_python(self, module, code, *args):
        if importlib.util.find_spec(module) is None:
            missing(self, f"the Python package {module} is not installed")
        done = subprocess.run([sys.executable, "-c", code, *map(str, args)], cwd=self.dir, capture_output=True, text=True, check=False)
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

    def test_nc3z_reads_what_cf_python_writes(self):
        names = [self.make(f"m{n}.nc", 3 * n, 3).name for n in range(3)]
        self.run_python("cf", WRITE, *names)
        written = sorted(p.name for p in self.dir.glob("by_cf_*"))
        self.assertEqual(len(written), 4)
        for name in written:
            self.near(self.values(self.dir / name), truth(range(9)))
            self.assertIn("aggregation, CF-1.13", nc3z("info", self.dir / name).stdout.decode())


if __name__ == "__main__":
    unittest.main()

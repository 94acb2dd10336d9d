"""The example of docs/rust.md: `nc3z::open` reads an archive on a server, a packed member and an aggregation with CF times."""

import os
import subprocess
from pathlib import Path

import netCDF4
from common import NC3Z, Case, missing, nc3z
from servers import serve

EXAMPLE = Path(os.environ.get("NC3Z_ANYWHERE") or Path(NC3Z).parent / "examples/anywhere")


class Anywhere(Case):
    def setUp(self):
        super().setUp()
        if not os.access(EXAMPLE, os.X_OK):
            missing(self, f"the example {EXAMPLE} is not built")
        for number, name in enumerate(("a.nc", "b.nc")):
            with netCDF4.Dataset(self.dir / name, "w", format="NETCDF3_CLASSIC") as ds:
                ds.createDimension("time", None)
                time = ds.createVariable("time", "i4", ("time",))
                time.units, time.calendar = "days since 2000-02-28", "standard"
                tas = ds.createVariable("tas", "i2", ("time",), fill_value=-1)
                tas.set_auto_maskandscale(False)
                tas.scale_factor, tas.add_offset = 0.5, 100.0
                time[:] = [2 * number, 2 * number + 1]
                tas[:] = [2 * number, -1 if number else 1]

    def run_here(self, *args):
        self.ok(nc3z(*args, cwd=self.dir))

    def read(self, name, code=0):
        done = subprocess.run([EXAMPLE, name, "tas"], cwd=self.dir, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def test_one_call_reads_every_name(self):
        self.run_here("archive", "-q", "a.nc")
        self.run_here("bundle", "--pack", "a.nc", "b.nc", "-o", "set.bundle.nc3z")
        self.run_here("aggregate", "a.nc", "b.nc", "-o", "all.nc")
        first = 'Some(Some("2000-02-28T00:00:00")) Some(Some("2000-02-29T00:00:00")) [100.0, 100.5]\n'
        second = 'Some(Some("2000-03-01T00:00:00")) Some(Some("2000-03-02T00:00:00")) [101.0, NaN]\n'
        both = 'Some(Some("2000-02-28T00:00:00")) Some(Some("2000-03-02T00:00:00")) [100.0, 100.5, 101.0, NaN]\n'
        files = {name: (self.dir / name).read_bytes() for name in ("a.nc.nc3z", "set.bundle.nc3z", "a.nc", "b.nc", "all.nc")}
        with serve(files) as server:
            for name, expected in {
                "a.nc": first, "a.nc.nc3z@1": first, "set.bundle.nc3z!/b.nc": second, "all.nc": both,
                server.url("a.nc.nc3z"): first, server.url("a.nc.nc3z@1"): first, server.url("set.bundle.nc3z!/b.nc"): second,
                server.url("all.nc"): both,
            }.items():
                with self.subTest(name):
                    self.assertEqual(self.read(name), expected)
            self.assertRegex(self.read(server.url("set.bundle.nc3z"), 1), r"set.bundle.nc3z` is a bundle of 2 files")
        self.assertRegex(self.read("set.bundle.nc3z", 1), r"`set.bundle.nc3z` is a bundle of 2 files")
        self.assertRegex(self.read(".", 1), r"`.` is a directory")

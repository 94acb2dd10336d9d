#!/usr/bin/env python3
"""`--box W,E,S,N` selects what cdo's sellonlatbox and masklonlatbox select, on regular and on curvilinear grids.

NC3Z_BOXES boxes are tried [25; at night 400]. The edges lie between grid points, so that no rounding decides."""

import os
import random
import subprocess
import unittest

from common import NIGHT, Case, need_program, nc3z

BOXES = int(os.environ.get("NC3Z_BOXES", 400 if NIGHT else 25))
FILL = -9.0


def grid(path, lat, lon):
    """A classic file whose variable `t` numbers the cells of a grid: regular where the coordinates are 1-D, curvilinear where they are 2-D."""
    import netCDF4
    import numpy as np

    regular = lat.ndim == 1
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
        dims = ("lat", "lon") if regular else ("y", "x")
        shape = (lat.size, lon.size) if regular else lat.shape
        for name, size in zip(dims, shape):
            d.createDimension(name, size)
        for name, values, units in (("lat", lat, "degrees_north"), ("lon", lon, "degrees_east")):
            v = d.createVariable(name, "f8", (name,) if regular else dims)
            v.units = units
            v.standard_name = {"lat": "latitude", "lon": "longitude"}[name]
            v[:] = values
        t = d.createVariable("t", "f4", dims, fill_value=FILL)
        if not regular:
            t.coordinates = "lon lat"
        t[:] = np.arange(np.prod(shape)).reshape(shape)
    return path


def selected(path):
    """The values of `t`, or None without a file."""
    import netCDF4
    import numpy as np

    if not path.exists():
        return None
    with netCDF4.Dataset(path) as d:
        values = np.ma.filled(d["t"][:], FILL)
    path.unlink()
    return values


class Boxes(Case):
    def grids(self):
        import numpy as np

        y, x = np.mgrid[0:18, 0:30]
        return [
            grid(self.dir / "pacific.nc", np.arange(-85, 90, 10.0), np.arange(0, 360, 10.0)),
            grid(self.dir / "atlantic.nc", np.arange(85, -90, -10.0), np.arange(-175, 180, 10.0)),
            grid(self.dir / "wraps.nc", 20 + 2.0 * y + 0.3 * x, (350 + 2.0 * x - 0.7 * y) % 360),
            grid(self.dir / "tilted.nc", -30 + 1.7 * y - 0.3 * x, -20 + 1.5 * x + 0.5 * y),
        ]

    def cdo(self, box, path):
        """Returns the selection of cdo: a smaller grid, whose cells outside the box are missing."""
        out = self.dir / "cdo.nc"
        box = ",".join(map(str, box))
        subprocess.run(["cdo", "-s", "-O", f"sellonlatbox,{box}", f"-masklonlatbox,{box}", path, out], capture_output=True, check=False)
        return selected(out)

    def test_boxes_are_those_of_cdo(self):
        import numpy as np

        need_program(self, "cdo")
        paths, rng, found = self.grids(), random.Random(46), 0
        for _ in range(BOXES):
            path = rng.choice(paths)
            west, south = round(rng.uniform(-180, 360)), round(rng.uniform(-80, 60))
            box = (west + 0.25, west + rng.randint(5, 200) + 0.25, south + 0.25, min(south + rng.randint(5, 70) + 0.25, 90))
            with self.subTest(path=path.name, box=box):
                want = self.cdo(box, path)
                done = nc3z("subset", path, "--box=" + ",".join(map(str, box)), "-o", self.dir / "nc3z.nc")
                got = selected(self.dir / "nc3z.nc")
                if want is None:
                    self.fails(done, 1, "the region is empty")
                    continue
                self.ok(done)
                np.testing.assert_array_equal(got, want)
                found += 1
        self.assertGreater(found, BOXES // 4)

    def test_bounds_of_cells_outside_are_kept(self):
        import netCDF4
        import numpy as np

        y, x = np.mgrid[0:18, 0:30]
        path, corners = grid(self.dir / "a.nc", -30 + 1.7 * y - 0.3 * x, -20 + 1.5 * x + 0.5 * y), np.array([-0.5, 0.25, 0.5, -0.25])
        with netCDF4.Dataset(path, "a") as d:
            d.createDimension("v", 4)
            for name in ("lat", "lon"):
                d[name].bounds = f"{name}_b"
                d.createVariable(f"{name}_b", "f8", ("y", "x", "v"))[:] = d[name][:][..., None] + corners
        self.ok(nc3z("subset", path, "--box=-10.1,9.9,-29.9,-12.1", "-o", self.dir / "b.nc"))
        with netCDF4.Dataset(self.dir / "b.nc") as d:
            d.set_auto_mask(False)
            self.assertIn(FILL, d["t"][:])
            for name in ("lat", "lon"):
                np.testing.assert_array_equal(d[f"{name}_b"][:], d[name][:][..., None] + corners)
                self.ok(nc3z("read", path, f"{name}_b", "--box=-10.1,9.9,-29.9,-12.1", "--format", "npy", "-f", "-o", self.dir / "b.npy"))
                np.testing.assert_array_equal(np.load(self.dir / "b.npy"), d[f"{name}_b"][:])


if __name__ == "__main__":
    unittest.main()

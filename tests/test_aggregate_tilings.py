"""Random tilings: an array cut into files along any dimensions, each file with its own type, units, packing, order and sense of dimensions,
and without some of the dimensions of length 1. Aggregated as CF-1.13 where that can say it, and as NCA-0.1, all values come back.

NC3Z_TILINGS tells how many; scripts/nightly.sh asks for 2,000."""

import json
import os
import random
import shutil
import unittest

import netCDF4
import numpy as np
from common import nc3z
from test_aggregate import Aggregation

TILINGS = int(os.environ.get("NC3Z_TILINGS", "12"))
WEIGHTS = {"time": 1.0, "height": 0.1, "lat": 0.03, "lon": 0.007}
UNITS = {"time": "days since 2001-01-01", "height": "m", "lat": "degrees_north", "lon": "degrees_east"}


def value(coordinates):
    """Kelvin at coordinates by name, which are numbers or arrays that broadcast."""
    return 273.15 + sum(WEIGHTS[n] * x for n, x in coordinates.items())


class Tiling:
    """One array, and the files that it is cut into."""

    def __init__(self, seed, *, plain=False):
        self.pick = pick = random.Random(seed)
        self.plain = plain
        self.names = pick.sample(list(WEIGHTS), pick.randint(1, 4))
        self.axes = {n: np.cumsum([pick.randint(1, 3) for _ in range(pick.choice((1, 1, 2, 4, 6)))]).astype("f8") for n in self.names}
        cuts = {n: sorted({0, len(x), *(pick.randint(0, len(x)) for _ in range(pick.choice((0, 1, 2))))}) for n, x in self.axes.items()}
        self.tiles = [{}]
        for n in self.names:
            self.tiles = [{**t, n: range(a, b)} for t in self.tiles for a, b in zip(cuts[n], cuts[n][1:])]
        pick.shuffle(self.tiles)
        # True if files differ in a way that CF-1.13 cannot express.
        self.wild = not plain and pick.random() < 0.4
        self.all_missing = set()

    def write(self, directory):
        """The files, in any order."""
        lacking = [set() for _ in self.tiles]
        for n in self.names:
            for gone, tile in zip(lacking, self.tiles):
                if not self.plain and len(tile[n]) == 1 and self.pick.random() < 0.4:
                    gone.add(n)
        return [self.file(directory / f"f{k}.nc", tile, gone) for k, (tile, gone) in enumerate(zip(self.tiles, lacking))]

    def file(self, path, tile, gone):
        pick = self.pick
        dims = [n for n in self.names if n not in gone]
        if self.wild and pick.random() < 0.5:
            pick.shuffle(dims)
        with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
            own = {}
            for n in self.names:
                x = self.axes[n][list(tile[n])]
                if self.wild and pick.random() < 0.3:
                    x = x[::-1]
                if n in dims:
                    d.createDimension(n, len(x))
                v = d.createVariable(n, "f8", (n,) if n in dims else ())
                v.units = UNITS[n]
                v[...] = x if n in dims else x[0]
                own[n] = x.reshape([-1 if m == n else 1 for m in dims]) if n in dims else x[0]
            kind = pick.choice(("f4", "f8", "i2"))
            v = d.createVariable("tas", kind, dims, fill_value=np.array(-32768, kind) if kind == "i2" else None)
            celsius = pick.random() < 0.3
            v.units = "degC" if celsius else "K"
            # A scalar counts where `coordinates` names it, and where it is a coordinate variable in other files.
            if gone:
                v.coordinates = " ".join(sorted(gone))
            values = np.broadcast_to(value(own) - (273.15 if celsius else 0), [d.dimensions[n].size for n in dims])
            v.set_auto_maskandscale(False)
            if kind == "i2":
                v.scale_factor, v.add_offset = 0.001, 0.0 if celsius else 280.0
                values = np.round((values - v.add_offset) / v.scale_factor)
            v[...] = values
        return path


class Tilings(Aggregation):
    def check(self, path, tiling, words):
        found = json.loads(nc3z("info", "--json", path).stdout)
        tas = next(v for v in found["variables"] if v["name"] == "tas")
        own = {}
        for n, x in tiling.axes.items():
            got = self.values(path, n)
            self.assertEqual(sorted(np.atleast_1d(got)), sorted(x), words)
            self.assertTrue(n in tas["dimensions"] or got.shape == (), words)
            own[n] = got.reshape([-1 if m == n else 1 for m in tas["dimensions"]]) if n in tas["dimensions"] else float(got)
        if not tas.get("aggregated"):
            # One number in one file, which the aggregation has itself, as it is stored.
            self.assertEqual((len(tiling.tiles), tas["shape"]), (1, []), words)
            return
        # The units are those of the first file.
        expected = np.broadcast_to(value(own) - (273.15 if tas["units"] == "degC" else 0), tas["shape"])
        values = self.values(path)
        self.assertEqual(values.shape, expected.shape, words)
        self.assertLess(np.abs(values - expected).max(), 0.0011, words)

    def test_all_values_come_back(self):
        begin = int(os.environ.get("NC3Z_SEED", "0"))
        written = {"CF-1.13": 0, "NCA-0.1": 0}
        for seed in range(begin, begin + TILINGS):
            tiling = Tiling(seed)
            work = self.dir / str(seed)
            work.mkdir()
            files = tiling.write(work)
            for options in ((), ("--convention", "nca")):
                done = self.ok(nc3z("aggregate", "--json", *files, "-f", "-o", work / "agg.nc", *options))
                report = json.loads(done.stdout)
                self.assertEqual(report["files"], len(files))
                written[report["convention"]] += 1
                self.check(work / "agg.nc", tiling, f"seed {seed} {options}\n{done.stderr}")
                if report["convention"] != "CF-1.13" and not options:
                    self.assertTrue(tiling.wild, f"seed {seed}")
            shutil.rmtree(work)
        if TILINGS > 10:
            self.assertTrue(all(written.values()), written)


if __name__ == "__main__":
    unittest.main()

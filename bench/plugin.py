#!/usr/bin/env python3
"""Reads archives by netCDF-C's plug-in, and netCDF-4 files with deflate, by the same library in one process: whole variables, and small slices.

    HOME=/tmp/home NC3Z_UDF_LIBRARY=target/release/libnc3z_netcdf_plugin.so target/release/nc3z netcdf-plugin install
    HOME=/tmp/home .venv/bin/python bench/plugin.py --nc3z target/release/nc3z FILE...

The netCDF-4 file has the chunks that the library chooses, shuffle, and deflate at level 4. Opening is part of each whole read. Slices: one
request each, of random place and at most 1,000 values, the file open. Runs take turns; the best of them counts. Files are in the page cache.
"""

import argparse
import json
import math
import random
import subprocess
import tempfile
import time
from pathlib import Path

import netCDF4


def to_netcdf4(source, target):
    with netCDF4.Dataset(source) as a, netCDF4.Dataset(target, "w", format="NETCDF4") as b:
        a.set_auto_maskandscale(False)
        b.set_auto_maskandscale(False)
        for name, dim in a.dimensions.items():
            b.createDimension(name, None if dim.isunlimited() else len(dim))
        for name, v in a.variables.items():
            fill = v.getncattr("_FillValue") if "_FillValue" in v.ncattrs() else None
            new = b.createVariable(name, v.dtype, v.dimensions, zlib=v.ndim > 0, complevel=4, shuffle=True, fill_value=fill)
            new[...] = v[...]


def whole(path):
    begin, total = time.perf_counter(), 0
    with netCDF4.Dataset(path) as d:
        d.set_auto_maskandscale(False)
        for v in d.variables.values():
            total += v[...].nbytes
    return time.perf_counter() - begin, total


def requests(path, count, seed):
    rng, out = random.Random(seed), []
    with netCDF4.Dataset(path) as d:
        shapes = {n: v.shape for n, v in d.variables.items() if v.ndim and 0 not in v.shape and v.dtype != "S1"}
    names = sorted(shapes)
    weights = [math.prod(shapes[name]) for name in names]
    for _ in range(count):
        name, left, slices = rng.choices(names, weights)[0], 1000, []
        for n in shapes[name]:
            k = min(rng.choice([1, 1, 5, 30, 1000]), n, left)
            left //= k
            at = rng.randrange(n - k + 1)
            slices.append(slice(at, at + k))
        out.append((name, tuple(slices)))
    return out


def small(path, asked):
    with netCDF4.Dataset(path) as d:
        d.set_auto_maskandscale(False)
        variables = d.variables
        begin = time.perf_counter()
        for name, slices in asked:
            variables[name][slices]
        return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nc3z", required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--slices", type=int, default=1000)
    parser.add_argument("files", nargs="+", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nc3z-bench-") as work:
        for source in args.files:
            paths = {"original": source, "archive": Path(work, "a.nc.nc3z"), "netCDF-4": Path(work, "a.nc4")}
            subprocess.run([args.nc3z, "archive", "--quiet", "--force", source, "-o", paths["archive"]], check=True)
            to_netcdf4(source, paths["netCDF-4"])
            asked = requests(source, args.slices, 1)
            best = {name: [float("inf"), float("inf")] for name in paths}
            for _ in range(args.runs):
                for name, path in paths.items():
                    seconds, total = whole(path)
                    best[name] = [min(best[name][0], seconds), min(best[name][1], small(path, asked))]
            for name, path in paths.items():
                seconds, slices = best[name]
                row = {"file": source.name, "as": name, "bytes": path.stat().st_size, "whole_s": round(seconds, 4), "MB_s": round(total / seconds / 1e6),
                       "slices_s": round(slices, 4), "us_a_slice": round(slices / args.slices * 1e6)}
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()

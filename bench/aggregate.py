"""Thousands of files as one: how long it takes to put them together, to open them and to read a point and a map, and whether the values
are right. Files are daily maps of packed 16-bit numbers with three pairs of scale_factor and add_offset, as operational series have.

    python3 bench/aggregate.py --files 5000 --nc3z target/release/nc3z            nc3z alone
    python3 bench/aggregate.py --files 500 --peers                                and what is installed of the others

A line for each tool: seconds to aggregate (or open), to open again, for a point's series and for a map; the largest error."""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import netCDF4
import numpy as np

PAIRS = [(0.01, 0.0), (0.02, 10.0), (0.005, -3.0)]
ROW, COLUMN = 45, 90


def make(directory, count):
    """The files, and the right series of one point."""
    rng = np.random.default_rng(1)
    lat, lon = np.arange(-89, 90, 2.0, dtype="f4"), np.arange(1, 360, 2.0, dtype="f4")
    base = 15 + 14 * np.cos(np.deg2rad(lat))[:, None] + np.sin(np.deg2rad(lon))[None]
    truth = np.empty(count)
    for t in range(count):
        scale, offset = (np.float32(x) for x in PAIRS[t % 3])
        packed = np.round((base + 3 * np.sin(t / 58) + rng.normal(0, 0.3, base.shape) - offset) / scale).astype("i2")
        with netCDF4.Dataset(directory / f"sst_{t:05d}.nc", "w", format="NETCDF3_CLASSIC") as d:
            d.Conventions = "CF-1.8"
            for name, size in (("time", None), ("lat", 90), ("lon", 180)):
                d.createDimension(name, size)
            for name, kind, values, units, standard in (("time", "f8", [t], "days since 2000-01-01", "time"),
                                                        ("lat", "f4", lat, "degrees_north", "latitude"), ("lon", "f4", lon, "degrees_east", "longitude")):
                v = d.createVariable(name, kind, (name,))
                v.units, v.standard_name = units, standard
                v[:] = values
            v = d.createVariable("sst", "i2", ("time", "lat", "lon"), fill_value=np.int16(-32768))
            v.units, v.standard_name, v.scale_factor, v.add_offset = "degC", "sea_surface_temperature", scale, offset
            v.set_auto_maskandscale(False)
            v[0] = packed
        truth[t] = float(packed[ROW, COLUMN]) * float(scale) + float(offset)
    return truth


def timed(work):
    begin = time.perf_counter()
    out = work()
    return time.perf_counter() - begin, out


def nc3z(program, directory, truth, archives):
    agg, npy = directory / "agg.nc", directory / "series.npy"
    run = lambda *args: subprocess.run([program, *map(str, args)], check=True, capture_output=True)  # noqa: E731
    made, _ = timed(lambda: run("aggregate", directory, "-o", agg, "-f"))
    opened, _ = timed(lambda: run("info", agg))
    point, _ = timed(lambda: run("read", agg, "sst", "-d", f"lat,{ROW}", "-d", f"lon,{COLUMN}", "--format", "npy", "-f", "-o", npy))
    error = np.abs(np.load(npy).ravel() - truth).max()
    plane, _ = timed(lambda: run("read", agg, "sst", "-d", f"time,{len(truth) // 2}", "--format", "npy", "-f", "-o", npy))
    agg.unlink()
    return f"nc3z, {'archives' if archives else 'classic files'}", made, opened, point, plane, error


def xarray(directory, truth):
    import xarray

    files = sorted(directory.glob("sst_*.nc"))
    made, data = timed(lambda: xarray.open_mfdataset(files, combine="nested", concat_dim="time", engine="netcdf4", decode_times=False))
    point, series = timed(lambda: data.sst[:, ROW, COLUMN].values)
    plane, _ = timed(lambda: data.sst[len(truth) // 2].values)
    return "xarray.open_mfdataset", made, made, point, plane, np.abs(series - truth).max()


def copied(name, command, directory, truth):
    out = directory / "copy.nc"
    files = sorted(str(f) for f in directory.glob("sst_*.nc"))
    made, _ = timed(lambda: subprocess.run([*command, *files, str(out)], check=True, capture_output=True))

    def read(*index):
        with netCDF4.Dataset(out) as d:
            return np.ma.filled(d["sst"][index], np.nan)

    point, series = timed(lambda: read(slice(None), ROW, COLUMN))
    plane, _ = timed(lambda: read(len(truth) // 2))
    out.unlink()
    return f"{name} (copies)", made, 0.0, point, plane, np.abs(series - truth).max()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--nc3z", default="target/release/nc3z")
    parser.add_argument("--peers", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nc3z-bench-") as place:
        directory = Path(place) / "data"
        directory.mkdir()
        truth = make(directory, args.files)
        rows = [nc3z(args.nc3z, directory, truth, False)]
        print_row(("tool", "aggregate", "open", "point", "map", "error"))
        print_row(rows[0])
        if args.peers:
            for name, work in (("xarray", lambda: xarray(directory, truth)),
                               ("ncrcat", lambda: copied("ncrcat", ["ncrcat", "-O", "-h"], directory, truth)),
                               ("cdo", lambda: copied("cdo mergetime", ["cdo", "-s", "-O", "mergetime"], directory, truth))):
                if name != "xarray" and shutil.which(name) is None:
                    print(f"{name}: not installed", file=sys.stderr)
                    continue
                print_row(work())
        subprocess.run([args.nc3z, "archive", "-r", "--remove-source", str(directory)], check=False, capture_output=True)
        if not list(directory.glob("*.nc3z")):
            subprocess.run([args.nc3z, "archive", *map(str, sorted(directory.glob("sst_*.nc")))], check=True, capture_output=True)
        for f in directory.glob("*.nc"):
            f.unlink()
        print_row(nc3z(args.nc3z, directory, truth, True))


def print_row(row):
    cells = [f"{c:.3g}" if isinstance(c, float) else str(c) for c in row]
    print(f"{cells[0]:32}" + "".join(f"{c:>12}" for c in cells[1:]), flush=True)


main()

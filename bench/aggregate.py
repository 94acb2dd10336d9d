"""Thousands of files as one: how long it takes to put them together, to open them, to read the series of a point and a map, and whether
the values are right. Files are daily maps as operational series have them: the real monthly maps of sea surface temperature in
testdata/classic/coads_climatology.cdf, interpolated to days, packed into 16-bit numbers with three pairs of scale_factor and add_offset.

    python3 bench/aggregate.py --files 5000 --nc3z target/release/nc3z            nc3z alone
    python3 bench/aggregate.py --files 5000 --peers                               and what is installed of the others

Slow programs get fewer files, and the table says how many. A line for each: seconds to put together, to open (best of five), for a point's
series and for a map (best of three), and of the values of series and map how many are wrong, and by how much: more than the type `float`
rounds where it is calculated with, which is below 1e-5 here."""

import argparse
import multiprocessing
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import netCDF4
import numpy as np

SOURCE = Path(__file__).resolve().parent.parent / "testdata/classic/coads_climatology.cdf"
PAIRS = [(0.01, 0.0), (0.02, 10.0), (0.005, -3.0)]
FILL = -32768
ROW, COLUMN = 45, 90
#: More than this is wrong, in degrees: the last place of a float of some ten degrees is 2e-6.
ROUNDING = 1e-5
#: Files for programs that would take too long with all.
FEWER = {"xarray.open_mfdataset": 500, "kerchunk": 200, "cf.aggregate": 50}


def maps():
    """The twelve maps, missing where they are in all of them taken together."""
    with netCDF4.Dataset(SOURCE) as d:
        months = d["SST"][:]
    return np.ma.filled(months.astype("f8"), np.nan)


def make(directory, count):
    """The files; gives the right values of one point, and of the map in the middle."""
    months = maps()
    lat, lon = np.arange(-89, 90, 2.0, dtype="f4"), np.arange(1, 360, 2.0, dtype="f4")
    series, middle = np.empty(count), None
    for t in range(count):
        month, part = divmod((t % 365) * 12 / 365, 1)
        values = months[int(month)] * (1 - part) + months[(int(month) + 1) % 12] * part + 0.0001 * t
        scale, offset = (np.float32(x) for x in PAIRS[t % 3])
        packed = np.where(np.isnan(values), FILL, np.round((np.nan_to_num(values) - offset) / scale)).astype("i2")
        with netCDF4.Dataset(directory / f"sst_{t:05d}.nc", "w", format="NETCDF3_CLASSIC") as d:
            d.Conventions = "CF-1.8"
            for name, size in (("time", None), ("lat", 90), ("lon", 180)):
                d.createDimension(name, size)
            for name, kind, own, units, standard in (("time", "f8", [t], "days since 2000-01-01", "time"),
                                                     ("lat", "f4", lat, "degrees_north", "latitude"), ("lon", "f4", lon, "degrees_east", "longitude")):
                v = d.createVariable(name, kind, (name,))
                v.units, v.standard_name = units, standard
                v[:] = own
            v = d.createVariable("sst", "i2", ("time", "lat", "lon"), fill_value=np.int16(FILL))
            v.units, v.standard_name, v.scale_factor, v.add_offset = "degC", "sea_surface_temperature", scale, offset
            v.set_auto_maskandscale(False)
            v[0] = packed
        right = np.where(packed == FILL, np.nan, packed * float(scale) + float(offset))
        series[t] = right[ROW, COLUMN]
        if t == count // 2:
            middle = right
    assert np.isfinite(series).all(), "the point is in the sea"
    return series, middle


def timed(work, times=1):
    """The shortest time of several runs, and the result of the work."""
    best = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        out = work()
        best = min(best, time.perf_counter() - begin)
    return best, out


def judged(series, plane, truth):
    """`right`, or how many values are wrong and by how much."""
    found = np.concatenate([np.ravel(series), np.ravel(plane)])
    expected = np.concatenate([truth[0], np.ravel(truth[1])])
    found = np.where(np.abs(found) > 1e30, np.nan, found)
    lost = np.isnan(found) != np.isnan(expected)
    error = np.where(lost, np.inf, np.abs(np.nan_to_num(found) - np.nan_to_num(expected)))
    wrong = int((error > ROUNDING).sum())
    if wrong == 0:
        return "right"
    points = int((np.abs(np.ravel(series) - truth[0]) > ROUNDING).sum())
    worst = error[np.isfinite(error)].max() if np.isfinite(error).any() else np.inf
    return f"WRONG: {points} of {len(truth[0])} of the series, up to {worst:.3g}"


def nc3z(program, directory, truth):
    agg, npy = directory / "agg.nc", directory / "values.npy"
    run = lambda *args: subprocess.run([program, *map(str, args)], check=True, capture_output=True)  # noqa: E731
    made, _ = timed(lambda: run("aggregate", directory, "-o", agg, "-f"))
    opened, _ = timed(lambda: run("info", agg), 5)

    def read(*selection):
        run("read", agg, "sst", *selection, "--format", "npy", "-f", "-o", npy)
        return np.load(npy).astype("f8")

    point, series = timed(lambda: read("-d", f"lat,{ROW}", "-d", f"lon,{COLUMN}"), 3)
    plane, field = timed(lambda: read("-d", f"time,{len(truth[0]) // 2}"), 3)
    agg.unlink()
    npy.unlink()
    return made, opened, point, plane, judged(series, field, truth)


def in_process(opener):
    """Measures a library: `opener(files)` returns a function that reads by index."""
    def work(directory, truth):
        files = sorted(map(str, directory.glob("sst_*.nc")))[:len(truth[0])]
        made, read = timed(lambda: opener(files))
        point, series = timed(lambda: read((slice(None), ROW, COLUMN)), 3)
        plane, field = timed(lambda: read((len(truth[0]) // 2,)), 3)
        return made, made, point, plane, judged(series, field, truth)

    return work


def xarray_mfdataset(files):
    import xarray

    data = xarray.open_mfdataset(files, combine="nested", concat_dim="time", engine="netcdf4", decode_times=False)
    return lambda index: data.sst[index].values


def kerchunk_multi(files):
    import kerchunk.combine
    import kerchunk.netCDF3
    import xarray

    single = [kerchunk.netCDF3.NetCDF3ToZarr(f).translate() for f in files]
    refs = kerchunk.combine.MultiZarrToZarr(single, concat_dims=["time"], identical_dims=["lat", "lon"]).translate()
    data = xarray.open_dataset(refs, engine="kerchunk", decode_times=False)
    return lambda index: data.sst[index].values


def cf_aggregate(files):
    import cf

    fields = cf.read(files)
    assert len(fields) == 1, fields
    return lambda index: np.ma.filled(fields[0][index if len(index) == 3 else (index[0], slice(None), slice(None))].array, np.nan)


def copied(command):
    """Of a program that writes all into one file."""
    def work(directory, truth):
        out = directory / "copy.nc"
        files = sorted(str(f) for f in directory.glob("sst_*.nc"))[:len(truth[0])]
        made, _ = timed(lambda: subprocess.run([*command, *files, str(out)], check=True, capture_output=True))

        def read(*index):
            with netCDF4.Dataset(out) as d:
                return np.ma.filled(d["sst"][index].astype("f8"), np.nan)

        opened, _ = timed(lambda: netCDF4.Dataset(out).close(), 5)
        point, series = timed(lambda: read(slice(None), ROW, COLUMN), 3)
        plane, field = timed(lambda: read(len(truth[0]) // 2), 3)
        out.unlink()
        return made, opened, point, plane, judged(series, field, truth)

    return work


PEERS = {
    "xarray.open_mfdataset": ("xarray", in_process(xarray_mfdataset)),
    "CDO mergetime (copies)": ("cdo", copied(["cdo", "-s", "-O", "mergetime"])),
    "ncrcat (copies)": ("ncrcat", copied(["ncrcat", "-O", "-h"])),
    "kerchunk": ("kerchunk", in_process(kerchunk_multi)),
    "cf.aggregate": ("cf", in_process(cf_aggregate)),
}


def child(name, directory, truth, send):
    send.send(PEERS[name][1](directory, truth))


def in_child(name, directory, truth, limit):
    """A peer in a process of its own, which may take so long."""
    receive, send = multiprocessing.Pipe(False)
    process = multiprocessing.get_context("fork").Process(target=child, args=(name, directory, truth, send))
    process.start()
    send.close()
    try:
        if not receive.poll(limit):
            return f"ended after {limit} s"
        return receive.recv()
    except EOFError:
        return "failed"
    finally:
        process.kill()
        process.join()


def installed(what):
    import importlib.util

    return shutil.which(what) is not None or importlib.util.find_spec(what) is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--nc3z", default="target/release/nc3z")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--limit", type=int, default=900, help="seconds for a peer")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nc3z-bench-") as place:
        directory = Path(place) / "data"
        directory.mkdir()
        print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores", flush=True)
        truth = make(directory, args.files)
        nbytes = sum(f.stat().st_size for f in directory.iterdir())
        print(f"{args.files} files, {nbytes / 1e6:.0f} MB\n\n| program | files | put together | open | point | map | values |\n|---|--:|--:|--:|--:|--:|---|")
        row("nc3z, classic files", args.files, nc3z(args.nc3z, directory, truth))
        for name, (needs, _) in PEERS.items() if args.peers else ():
            count = min(args.files, FEWER.get(name, args.files))
            if not installed(needs):
                row(name, 0, "not installed")
                continue
            own = truth
            if count < args.files:
                # The right values of fewer files, whose middle is another.
                own = Path(place) / "few"
                own.mkdir(exist_ok=True)
                for f in own.iterdir():
                    f.unlink()
                own = make(own, count)
            row(name, count, in_child(name, directory, own, args.limit))
        subprocess.run([args.nc3z, "archive", "-q", *map(str, sorted(directory.glob("sst_*.nc")))], check=True, capture_output=True)
        for f in directory.glob("*.nc"):
            f.unlink()
        nbytes = sum(f.stat().st_size for f in directory.iterdir())
        row(f"nc3z, archives ({nbytes / 1e6:.0f} MB)", args.files, nc3z(args.nc3z, directory, truth))
        print(f"\nload {os.getloadavg()[0]:.1f}")


def row(name, files, found):
    if isinstance(found, str):
        print(f"| {name} | {files or ''} | {found} | | | | |", flush=True)
        return
    times = " | ".join(f"{x:.3g} s" for x in found[:4])
    print(f"| {name} | {files} | {times} | {found[4]} |", flush=True)


main()

#!/usr/bin/env python3
"""Measures the constants of bench/petabyte.py on this machine, and writes them to bench/petabyte.json.

    .venv/bin/python bench/petabyte_measure.py --nc3z target/release/nc3z FOLDER

FOLDER has classic files that stand for the tree; those of at least 1 MB count. Work is measured as CPU seconds (user and system) of one thread, so
that other programs on the machine matter little. Requests are counted by the server of the tests.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import xarray as xr

import nc3z

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "tests"), str(ROOT / "spec/reference")]
import nc3z_catalog  # noqa: E402
from servers import serve  # noqa: E402

#: The least length of a file that counts.
LEAST = 1_000_000
#: The file whose reads are counted: f4 (steps, 180, 360), 62 MB.
STEPS = 240


def run(program, *words, cwd=None):
    """Runs the program. Returns its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, *map(str, words)], cwd=cwd, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best(times, work):
    return min(work() for _ in range(times))


def tile_count(catalog):
    """The tiles of a catalogue that have statistics."""
    return sum(len(v["tiles"] or []) for file in nc3z_catalog.read(catalog.read_bytes()) for v in file["variables"])


def repeated(program, file, times, here):
    """Writes the catalogue of a file under many names, so that starting the program costs little beside reading it."""
    folder = here / f"{file.name}.copies"
    folder.mkdir()
    for n in range(times):
        os.link(file, folder / f"{n:04}{file.suffix}")
    run(program, "catalog", folder, "-o", "many.catalog.nc3z", cwd=here)
    return here / "many.catalog.nc3z"


def tree(program, folder, times, found):
    """Archives, bundles and indexes copies of the files."""
    with tempfile.TemporaryDirectory() as here:
        here = Path(here)
        (here / "data").mkdir()
        paths = [p for p in sorted(folder.rglob("*")) if p.is_file() and p.stat().st_size >= LEAST and p.read_bytes()[:3] == b"CDF"]
        for n, path in enumerate(paths):
            os.symlink(path.resolve(), here / "data" / f"{n:04}.nc")
        original = sum(p.stat().st_size for p in paths)
        (here / "archives").mkdir()
        names = [here / "data" / f"{n:04}.nc" for n in range(len(paths))]

        def archive():
            return sum(run(program, "archive", "-q", "--force", "--threads", 1, name, "-o", here / "archives" / f"{name.name}.nc3z") for name in names)

        seconds = best(times, archive)
        stored = sum(p.stat().st_size for p in (here / "archives").iterdir())
        bundle = best(times, lambda: run(program, "bundle", "archives", "-o", "set.bundle.nc3z", "--force", "--threads", 1, cwd=here))
        index = best(times, lambda: run(program, "catalog", "set.bundle.nc3z", "-o", "set.catalog.nc3z", "--force", "--threads", 1, cwd=here))
        catalog, times_there = here / "set.catalog.nc3z", 20
        tiles = tile_count(catalog)
        many = repeated(program, here / "set.bundle.nc3z", times_there, here)
        stats = best(times, lambda: run(program, "stats", many)) / times_there
        found["sample_files"], found["sample_bytes"] = len(paths), original
        found["archive_seconds_per_gb"] = seconds / original * 1e9
        found["ratio"] = original / stored
        found["bundle_seconds_per_stored_gb"] = bundle / stored * 1e9
        found["index_seconds_per_gb"] = index / original * 1e9
        found["catalog_bytes_per_file"] = max(0, catalog.stat().st_size - tiles * found["catalog_bytes_per_tile"]) / len(paths)
        found["stats_seconds_per_thousand_files"] = max(0, stats - tiles * found["stats_seconds_per_million_tiles"] / 1e6) / len(paths) * 1e3


def tiles_of_a_catalog(program, times, found):
    """Measures what a tile costs in a catalogue, by one file with 6,000 tiles that is there many times."""
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as here:
        here = Path(here)
        values = (280 + rng.normal(0, 9, (60, 180, 360))).astype("f4")
        xr.Dataset({"tas": (("time", "lat", "lon"), values)}).to_netcdf(here / "a.nc", format="NETCDF3_64BIT", unlimited_dims=["time"])
        run(program, "archive", "-q", "a.nc", "--tile", "time=1,lat=18,lon=36", cwd=here)
        run(program, "catalog", "a.nc.nc3z", "-o", "a.catalog.nc3z", cwd=here)
        catalog, times_there = here / "a.catalog.nc3z", 100
        tiles = tile_count(catalog)
        many = repeated(program, here / "a.nc.nc3z", times_there, here)
        run(program, "archive", "-q", "-f", "a.nc", "--tile", "time=60,lat=180,lon=360", cwd=here)
        run(program, "catalog", "a.nc.nc3z", "-o", "whole.catalog.nc3z", cwd=here)
        found["catalog_bytes_per_tile"] = (catalog.stat().st_size - (here / "whole.catalog.nc3z").stat().st_size) / tiles
        found["stats_seconds_per_million_tiles"] = best(times, lambda: run(program, "stats", many)) / (tiles * times_there) * 1e6


def reads(program, found):
    """Counts requests and bytes of one map of one file: of the classic file, of its archive, and of the archive in a bundle."""
    rng = np.random.default_rng(0)
    lat, lon = np.meshgrid(np.linspace(-90, 90, 180), np.arange(360.0), indexing="ij")
    waves = [np.cos(np.radians(lat)) * np.sin(np.radians(lon + 3 * n)) for n in range(STEPS)]
    noise = rng.normal(0, 0.05, (STEPS, 180, 360))
    values = (280 + 20 * np.array(waves) + noise).astype("f4")
    with tempfile.TemporaryDirectory() as here:
        here = Path(here)
        ds = xr.Dataset({"tas": (("time", "lat", "lon"), values), "time": ("time", np.arange(STEPS) * 1.0)})
        ds.time.attrs["units"] = "days since 2001-01-01"
        ds.to_netcdf(here / "a.nc", format="NETCDF3_64BIT", unlimited_dims=["time"])
        run(program, "archive", "-q", "a.nc", cwd=here)
        (here / "set").mkdir()
        for n in range(20):
            os.link(here / "a.nc.nc3z", here / "set" / f"{n:02}.nc.nc3z")
        run(program, "bundle", "set", "-o", "set.bundle.nc3z", cwd=here)
        with nc3z.open(here / "a.nc.nc3z") as opened:
            found["tile_bytes"] = int(np.prod(opened["tas"].tile_shape)) * 4
        files = {name: (here / name).read_bytes() for name in ("a.nc", "a.nc.nc3z", "set.bundle.nc3z")}
    for kind, name in (("classic", "a.nc"), ("archive", "a.nc.nc3z"), ("bundle", "set.bundle.nc3z!/07.nc.nc3z")):
        with serve(files) as server:
            nc3z.set_cache(0)
            opened = nc3z.open(server.url(name))
            requests, nbytes = len(server.asked), asked(server)
            opened["tas"][100]
            found[f"{kind}_open_requests"], found[f"{kind}_open_bytes"] = requests, nbytes
            found[f"{kind}_map_requests"], found[f"{kind}_map_bytes"] = len(server.asked) - requests, asked(server) - nbytes
    found["map_bytes"] = 180 * 360 * 4


def asked(server):
    total = 0
    for path, span, _ in server.asked:
        first, last = span.removeprefix("bytes=").split("-")
        total += min(int(last), len(server.files[path]) - 1) - int(first) + 1
    return total


def opening(found):
    """Seconds of `open_collection` for each small file on the local disk."""
    with tempfile.TemporaryDirectory() as here:
        for n in range(1000):
            ds = xr.Dataset({"t": (("time", "x"), np.zeros((1, 100), "f4")), "time": ("time", [float(n)])})
            ds.to_netcdf(Path(here) / f"{n}.nc", format="NETCDF3_64BIT", engine="scipy", unlimited_dims=["time"])

        def once():
            start = time.process_time()
            nc3z.open_collection(here, compat="override")
            return time.process_time() - start

        found["open_collection_seconds_per_file"] = best(3, once) / 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nc3z", required=True)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "bench" / "petabyte.json")
    args = parser.parse_args()
    program = os.path.abspath(args.nc3z)
    with open("/proc/cpuinfo", encoding="ascii") as file:
        processor = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())
    found = {"processor": processor, "date": time.strftime("%Y-%m-%d", time.gmtime())}
    reads(program, found)
    opening(found)
    tiles_of_a_catalog(program, args.times, found)
    tree(program, args.folder, args.times, found)
    args.output.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()

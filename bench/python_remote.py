#!/usr/bin/env python3
"""Remote reads from Python with 50 ms between request and answer, compared with other packages: open, a map, a series, all of it.

    pip install ./faces/python h5netcdf netCDF4 scipy 'zarr>=3' kerchunk fsspec aiohttp requests
    NC3Z=target/release/nc3z python bench/python_remote.py [--delay 0.05] [--folder /dev/shm/nc3z-remote]

The same variable as bench/python_access.py, behind an HTTP server on this machine that waits before each answer and counts. Each
task is done by a fresh process' worth of objects: opened anew, nothing kept. Times hang on the number of requests that follow
each other, which is why they tell much on a machine that others use as well; the best of three. What is read is compared.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "tests")]
import python_access as local  # noqa: E402
from servers import serve  # noqa: E402

TASKS = {
    "open": None,
    "map": (60, slice(None), slice(None)),
    "series": (slice(None), 90, 180),
    "whole": (slice(None),) * 3,
}


def nc3z_url(url, folder):
    import nc3z

    nc3z.set_cache(0)
    nc3z.set_cache(256 << 20)
    return nc3z.open(url)["tas"]


def h5netcdf_url(url, folder):
    import fsspec
    import h5netcdf

    f = h5netcdf.File(fsspec.filesystem("http", skip_instance_cache=True).open(url), "r")

    class Slices:
        def __getitem__(self, key, file=f, tas=f["tas"]):
            return tas[key]

    return Slices()


def scipy_url(url, folder):
    import fsspec
    from scipy.io import netcdf_file

    f = netcdf_file(fsspec.filesystem("http", skip_instance_cache=True).open(url), mmap=False)

    class Slices:
        def __getitem__(self, key, file=f):
            return file.variables["tas"][key].astype("f4")

    return Slices()


def references(refs):
    import fsspec
    import zarr

    fs = fsspec.filesystem("reference", fo=refs, remote_protocol="http", asynchronous=True, skip_instance_cache=True,
                           remote_options={"asynchronous": True})
    return zarr.open_group(zarr.storage.FsspecStore(fs, read_only=True), mode="r", zarr_format=2)["tas"]


def refs_url(url, folder):
    tool = os.environ.get("NC3Z", "nc3z")
    path = folder / "zarrprofile.nc3z"
    out = subprocess.run([tool, "refs", path, "--url", url], check=True, capture_output=True).stdout
    refs = json.loads(out)
    return lambda: references(refs)


def kerchunk_url(url, folder):
    from kerchunk.netCDF3 import NetCDF3ToZarr

    refs = NetCDF3ToZarr(str(folder / "tas.nc"), max_chunk_size=1 << 20).translate()
    text = json.dumps(refs).replace(str(folder / "tas.nc"), url)
    return lambda: references(json.loads(text))


READERS = [
    ("nc3z, archive (default)", "default.nc3z", nc3z_url),
    ("nc3z, archive (default, layout auto)", "auto.nc3z", nc3z_url),
    ("nc3z, classic file", "tas.nc", nc3z_url),
    ("zarr 3, references to an archive (profile zarr)", "zarrprofile.nc3z", refs_url),
    ("zarr 3, kerchunk's references to the classic file", "tas.nc", kerchunk_url),
    ("h5netcdf + fsspec, netCDF-4", "tas4-NetCDF4.nc", h5netcdf_url),
    ("scipy + fsspec, classic file", "tas.nc", scipy_url),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm/nc3z-remote"))
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--only", default="", help="readers whose names hold this")
    args = parser.parse_args()
    import nc3z

    args.folder.mkdir(parents=True, exist_ok=True)
    data = local.field()
    for kind in (local.Classic, local.NetCDF4):
        kind().make(args.folder, data)
    tool = os.environ.get("NC3Z", "nc3z")
    for name, *options in (
        ("default.nc3z",), ("auto.nc3z", "--layout", "auto"), ("zarrprofile.nc3z", "--profile", "zarr", "--tile-size", "1MiB"),
    ):  # fmt: skip
        subprocess.run([tool, "archive", "--force", *options, args.folder / "tas.nc", "-o", args.folder / name], check=True,
                       capture_output=True)
    files = {p.name: p.read_bytes() for p in args.folder.iterdir() if p.is_file()}
    print(f"|  | MB stored | {' | '.join(f'{task}: ms | requests | MB' for task in TASKS)} |")
    print("|---|" + "---|" * (1 + 3 * len(TASKS)))
    for name, file, opener in READERS:
        if args.only not in name:
            continue
        cells = []
        for key in TASKS.values():
            best = None
            for _ in range(3):
                with serve(files, delay=args.delay) as server:
                    try:
                        made = opener(server.url(file), args.folder)
                        ready = made if callable(made) else None
                        del server.asked[:]
                        server.sent = 0
                        begin = time.perf_counter()
                        handle = ready() if ready else opener(server.url(file), args.folder)
                        if key is not None:
                            assert np.array_equal(np.asarray(handle[key]), data[key])
                        found = time.perf_counter() - begin, len(server.asked), server.sent
                    except ImportError as e:
                        print(f"{name}: left out: {e}", file=sys.stderr)
                        break
                best = min(best or found, found)
            if best:
                cells.append(f"{best[0] * 1e3:.0f} | {best[1]} | {best[2] / 1e6:.2f}")
        print(f"| {name} | {len(files[file]) / 1e6:.1f} | {' | '.join(cells)} |", flush=True)
    assert nc3z


if __name__ == "__main__":
    main()

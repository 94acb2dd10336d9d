#!/usr/bin/env python3
"""Opening a file that is not in memory and reading one value: nc3z, h5py and Blosc2, interleaved.

    .venv/bin/python bench/python_cold.py [--times 20] [--megabytes 15] [FOLDER]

Each open is a process of its own that has imported its library before. The file's pages are dropped by posix_fadvise; what was read is what /proc/self/io counts. The
last line of a library is a whole read in the order of the file.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

CHILD = """
import json, os, sys, time
name, path, whole = sys.argv[1], sys.argv[2], sys.argv[3] == "whole"
if name == "nc3z":
    import nc3z; import nc3z._core; nc3z.open
elif name == "h5py":
    import h5py
else:
    import blosc2
import numpy as np
fd = os.open(path, os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
os.close(fd)
def read():
    return int(next(l for l in open("/proc/self/io") if l.startswith("read_bytes")).split()[1])
before, begin = read(), time.perf_counter()
if name == "nc3z":
    v = nc3z.open(path)["v"]
elif name == "h5py":
    v = h5py.File(path)["v"]
else:
    v = blosc2.open(path, mode="r")
opened, bytes_opened = time.perf_counter() - begin, read() - before
x = v[:] if whole else v[5, 50, 50]
print(json.dumps([opened, bytes_opened, time.perf_counter() - begin, read() - before]))
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--megabytes", type=float, default=15)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        files = make(Path(folder), args.megabytes)
        for whole in ("value", "whole"):
            taken = {name: [] for name in files}
            for _ in range(args.times):
                for name, path in files.items():
                    done = subprocess.run([sys.executable, "-c", CHILD, name, path, whole], capture_output=True, text=True, check=True)
                    taken[name].append(json.loads(done.stdout))
            for name, all_ in taken.items():
                opened, bytes_opened, done, bytes_done = (statistics.median(column) for column in zip(*all_, strict=True))
                print(f"{whole:6} {name:7} {files[name].stat().st_size / 1e6:6.1f} MB   open {opened * 1e3:7.2f} ms {bytes_opened / 1024:8.0f} KiB   with the read {done * 1e3:8.2f} ms {bytes_done / 1024:8.0f} KiB")


def make(folder, megabytes):
    """The same field in each format: noise and smooth values, so that it is stored in about half of its size."""
    import netCDF4

    steps = max(6, int(megabytes * 2e6 / (4 * 200 * 300)))
    rng = np.random.default_rng(1)
    base = np.add.outer(np.sin(np.arange(200) / 30), np.cos(np.arange(300) / 40)) * 10
    field = np.round(base + np.arange(steps)[:, None, None] * 0.01 + rng.normal(0, 0.05, (steps, 200, 300)), 2).astype("f4")
    with netCDF4.Dataset(folder / "a.nc", "w", format="NETCDF3_64BIT_OFFSET") as ds:
        for name, length in (("t", None), ("y", 200), ("x", 300)):
            ds.createDimension(name, length)
        ds.createVariable("v", "f4", ("t", "y", "x"))[:] = field
    import nc3z

    nc3z.archive(folder / "a.nc", folder / "a.nc3z", preset="fast")
    files = {"nc3z": folder / "a.nc3z"}
    try:
        import h5py

        with h5py.File(folder / "a.h5", "w") as file:
            file.create_dataset("v", data=field, chunks=(1, 200, 300), shuffle=True, compression="gzip", compression_opts=1)
        files["h5py"] = folder / "a.h5"
    except ImportError:
        pass
    try:
        import blosc2

        blosc2.asarray(field, urlpath=str(folder / "a.b2nd"), mode="w", chunks=(1, 200, 300))
        files["blosc2"] = folder / "a.b2nd"
    except ImportError:
        pass
    os.sync()
    return files


if __name__ == "__main__":
    main()

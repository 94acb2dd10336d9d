#!/usr/bin/env python3
"""The time of versions, compared with versioned-hdf5 if that is installed.

    bench/versions_cost.py --nc3z target/release/nc3z [--boxes target/release/examples/boxes] [--large-mb 2048] [--small-mb 20] [--versions 10000] [--peer-versions 1000] [--work /dev/shm]

* one element set in an archive of --small-mb and in one of --large-mb (of their originals): a process each, on a file system in memory, where fsync takes no time;
* --versions one-element versions: bytes of each, the last commits, opening, reading one value of the newest and of the oldest, the end of the log, and how many reads the system is asked for (strace, where it is there);
* boxes of 4 x 4 got from and put into a staged array;
* versioned-hdf5: the same commits on 256 x 256 doubles in 64 x 64, and the same boxes.
Processor time and wall time of whole processes, the median of several.
"""

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def timed(*command):
    """Wall and processor time in ms."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([str(c) for c in command], check=True, capture_output=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall * 1e3, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def median(times, command):
    found = [timed(*command(i)) for i in range(times)]
    return tuple(round(statistics.median(column), 1) for column in zip(*found))


def make_file(path, megabytes):
    """Doubles that look measured, in a CDF-5 file, written in pieces."""
    import netCDF4

    rows = megabytes * (1 << 20) // (8 * 1024)
    rng = np.random.default_rng(7)
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as d:
        d.createDimension("y", rows)
        d.createDimension("x", 1024)
        v = d.createVariable("v", "f8", ("y", "x"))
        for at in range(0, rows, 4096):
            n = min(4096, rows - at)
            v[at:at + n] = np.round(280 + rng.standard_normal((n, 1024)).cumsum(axis=1) / 10, 2)
    return rows


def reads(*command):
    """Reads of files that a command makes, by strace; none if strace is missing."""
    if not shutil.which("strace"):
        return None
    with tempfile.NamedTemporaryFile("r") as log:
        done = subprocess.run(["strace", "-f", "-o", log.name, "-e", "trace=pread64,read,preadv", *map(str, command)], check=False, capture_output=True)
        if done.returncode:
            return None
        return sum(bool(re.search(r"pread64|preadv", line)) for line in log)


def one_element(nc3z, megabytes, work):
    file, archive = work / "a.nc", work / f"{megabytes}.nc3z"
    rows = make_file(file, megabytes)
    subprocess.run([nc3z, "archive", "--force", "--preset", "fast", file, "-o", archive], check=True, capture_output=True)
    file.unlink()
    size = archive.stat().st_size
    wall, cpu = median(15, lambda i: (nc3z, "set", archive, "v", "-d", f"y,{rows * i // 16}", "-d", f"x,{i}", f"={i}.25", "--quick"))
    result = {"original_mb": megabytes, "archive_mb": size >> 20, "commit_ms": wall, "commit_cpu_ms": cpu, "bytes_a_version": (archive.stat().st_size - size) // 15}
    archive.unlink()
    return result


def many(nc3z, count, work):
    file, archive = work / "b.nc", work / "many.nc3z"
    import netCDF4

    with netCDF4.Dataset(file, "w", format="NETCDF3_64BIT_DATA") as d:
        d.createDimension("y", 256)
        d.createDimension("x", 256)
        d.createVariable("v", "f8", ("y", "x"))[:] = np.random.default_rng(3).standard_normal((256, 256))
    subprocess.run([nc3z, "archive", "--force", "--tile", "y=64,x=64", file, "-o", archive], check=True, capture_output=True)
    size, last = archive.stat().st_size, []
    for n in range(count):
        command = [nc3z, "set", archive, "v", "-d", f"y,{n * 7 % 256}", "-d", f"x,{n * 13 % 256}", f"={n}.5", "--quick"]
        if n >= count - 20:
            last.append(timed(*command))
        else:
            subprocess.run([str(c) for c in command], check=True, capture_output=True)
    newest, half = count + 1, count // 2
    value = lambda at: (nc3z, "read", f"{archive}@{at}", "v", "-d", "y,1", "-d", "x,1", "--format", "csv")  # noqa: E731
    log = (nc3z, "log", archive, "-n", "10")
    return {
        "versions": newest,
        "bytes_a_version": (archive.stat().st_size - size) // count,
        "last_commit_ms": round(statistics.median(w for w, _ in last), 1),
        "open_ms": median(15, lambda i: (nc3z, "log", archive, "-n", "1")),
        "nothing_ms": median(15, lambda i: (nc3z, "--version")),
        "log_10_ms": median(15, lambda i: log),
        "log_all_ms": median(3, lambda i: (nc3z, "log", archive)),
        "read_newest_ms": median(15, lambda i: value(newest)),
        "read_half_ms": median(15, lambda i: value(half)),
        "read_first_ms": median(15, lambda i: value(1)),
        "reads": {"newest": reads(*value(newest)), "half": reads(*value(half)), "first": reads(*value(1)), "log -n 10": reads(*log)},
    }


def versioned_hdf5(count, work):
    try:
        import h5py
        from versioned_hdf5 import VersionedHDF5File
        from versioned_hdf5.staged_changes import StagedChangesArray
    except ImportError:
        return None
    path, times = work / "peer.h5", []
    with h5py.File(path, "w") as f:
        vf = VersionedHDF5File(f)
        with vf.stage_version("r0") as sv:
            sv.create_dataset("v", data=np.random.default_rng(3).standard_normal((256, 256)), chunks=(64, 64))
        f.flush()
        size = path.stat().st_size
        for n in range(1, count + 1):
            start = time.perf_counter()
            with vf.stage_version(f"r{n}") as sv:
                sv["v"][n * 7 % 256, n * 13 % 256] = n + 0.5
            times.append((time.perf_counter() - start) * 1e3)
    result = {"versions": count + 1, "bytes_a_version": (path.stat().st_size - size) // count, "first_commits_ms": round(statistics.median(times[:20]), 1), "last_commits_ms": round(statistics.median(times[-20:]), 1)}
    for shape, chunk in (((301, 302), (3, 3)), ((1000, 1000), (50, 50))):
        staged = StagedChangesArray.from_array(np.ones(shape, "i8"), chunk_size=chunk)
        rng = np.random.default_rng(1)
        boxes = [tuple(slice(int(a), int(a) + 4) for a in (rng.integers(0, n - 4) for n in shape)) for _ in range(2000)]
        value = np.arange(16).reshape(4, 4)
        start = time.perf_counter()
        for box in boxes:
            staged[box]
        get = len(boxes) / (time.perf_counter() - start)
        start = time.perf_counter()
        for box in boxes:
            staged[box] = value
        result[f"boxes {shape} in {chunk}"] = [round(get), round(len(boxes) / (time.perf_counter() - start))]
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nc3z", required=True, type=Path)
    parser.add_argument("--boxes", type=Path)
    parser.add_argument("--large-mb", type=int, default=2048)
    parser.add_argument("--small-mb", type=int, default=20)
    parser.add_argument("--versions", type=int, default=10_000)
    parser.add_argument("--peer-versions", type=int, default=1000)
    parser.add_argument("--work", default="/dev/shm")
    args = parser.parse_args()
    nc3z, boxes = args.nc3z.resolve(), args.boxes and args.boxes.resolve()
    with tempfile.TemporaryDirectory(dir=args.work) as temporary:
        work = Path(temporary)
        os.chdir(work)
        print(json.dumps({"versioned-hdf5": versioned_hdf5(args.peer_versions, work)}), flush=True)
        if boxes:
            print(subprocess.run([boxes], check=True, capture_output=True, text=True).stdout, flush=True)
        for megabytes in (args.small_mb, args.large_mb):
            print(json.dumps({"one element": one_element(nc3z, megabytes, work)}), flush=True)
        print(json.dumps({"many": many(nc3z, args.versions, work)}), flush=True)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Reads from Python, compared with other packages: open, whole, map, series, 1,000 boxes, by 1, 2 and 4 threads. Everything in one run.

    pip install ./faces/python netCDF4 h5netcdf scipy 'zarr>=3' zarrs hidefix blosc2
    python bench/python_access.py [--folder /dev/shm/nc3z] [--repeat 5] [--threads 1 2 4] [--only nc3z] [--json FILE] [--in-turns]

One variable, f4 tas(time=120, lat=181, lon=360), 31 MB, made here: a smooth field with noise of which two decimals are kept.
Chunks are of about 1 MB, maps of four times: (4, 181, 360), and nc3z cuts tiles as it does unless told otherwise. Blosc2 cuts its chunks
again, into blocks of half a map, and decodes no more of them than it must. Files are in the page cache. Times are the best
of the repetitions, since others may use the machine too; all that is read is compared with the array once, before it is
timed. `open` reads one attribute; the other columns begin with an open file, and with an empty cache where the reader has one.
With threads, N of them do the same work at once, each a share of the maps or boxes, or of the whole; who has a lock of its own
waits for it. A reader that is not installed is left out, and named. The limit of all of them is a copy of the bytes, which is
measured, too: into memory that is there, and into new memory, which the system has to clear first.

The last table is what a call costs beyond the reader in Rust: `variable[...]` against the same read, again and again, into memory that is
there, without Python (`Variable._seconds`).
"""

import argparse
import importlib.metadata
import json
import os
import platform
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

SHAPE = (120, 181, 360)
CHUNK = (4, 181, 360)
BOXES = 1000
#: Seconds after which a task is not repeated.
PATIENCE = 10


def field():
    rng = np.random.default_rng(1)
    t, y, x = np.ogrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]]
    smooth = 15 + 12 * np.cos(np.radians(y - 90)) * np.sin(np.radians(x + 3 * t)) + 4 * np.sin(t / 19)
    return np.round(smooth + rng.normal(0, 0.3, SHAPE), 2).astype("f4")


class Reader:
    """``make`` writes the file, ``open`` gives something that ``[...]`` reads from; ``lock`` where calls must not meet."""

    lock = None
    threads = 1

    def close(self, handle):
        getattr(handle, "close", lambda: None)()


class Classic(Reader):
    def make(self, folder, data):
        from scipy.io import netcdf_file

        self.path = folder / "tas.nc"
        with netcdf_file(self.path, "w", version=2) as f:
            for name, n in zip(("time", "lat", "lon"), SHAPE):
                f.createDimension(name, n)
            v = f.createVariable("tas", "f4", ("time", "lat", "lon"))
            v[:] = data
            v.units = "degC"


class Nc3zClassic(Classic):
    name = "nc3z, classic file"

    def open(self):
        import nc3z

        ds = nc3z.open(self.path)
        assert ds["tas"].units == "degC"
        return ds["tas"]


class Nc3zArchive(Nc3zClassic):
    name = "nc3z, archive (fast)"
    options = {"preset": "fast"}

    def make(self, folder, data):
        import nc3z

        super().make(folder, data)
        source, self.path = self.path, folder / f"{self.name.replace(' ', '')}.nc3z"
        nc3z.archive(source, self.path, force=True, **self.options)

    def fresh(self):
        import nc3z

        nc3z.set_cache(0)
        nc3z.set_cache(256 << 20)


class Nc3zDefault(Nc3zArchive):
    name = "nc3z, archive (default)"
    options = {"preset": "default"}


class Nc3zAuto(Nc3zArchive):
    name = "nc3z, archive (default, layout auto)"
    options = {"preset": "default", "layout": "auto"}


class Nc3zMaps(Nc3zArchive):
    name = "nc3z, archive (fast, layout map)"
    options = {"preset": "fast", "layout": "map"}


class Scipy(Classic):
    name = "scipy, classic file, mapped"

    def open(self):
        from scipy.io import netcdf_file

        f = netcdf_file(self.path, mmap=True)
        assert f.variables["tas"].units == b"degC"

        class Slices:
            """The file must outlive its variable; a read is a copy in native order."""

            def __getitem__(self, key, file=f):
                return file.variables["tas"][key].astype("f4")

        return Slices()


class NetCDF4Classic(Classic):
    name = "netCDF4-python, classic file"
    lock = threading.Lock()

    def open(self):
        import netCDF4

        ds = netCDF4.Dataset(self.path)
        ds.set_auto_maskandscale(False)
        assert ds["tas"].units == "degC"
        return ds["tas"]

    def close(self, handle):
        # Two of the same file share HDF5's cache.
        handle.group().close()


class NetCDF4(NetCDF4Classic):
    name = "netCDF4-python, netCDF-4 (shuffle, zlib 4)"

    def make(self, folder, data):
        import netCDF4

        self.path = folder / f"tas4-{type(self).__name__}.nc"
        with netCDF4.Dataset(self.path, "w") as ds:
            for name, n in zip(("time", "lat", "lon"), SHAPE):
                ds.createDimension(name, n)
            v = ds.createVariable("tas", "f4", ("time", "lat", "lon"), compression="zlib", complevel=4, shuffle=True,
                                  chunksizes=CHUNK)
            v[:] = data
            v.units = "degC"


class H5netcdf(NetCDF4):
    name = "h5netcdf, netCDF-4 (shuffle, zlib 4)"

    def open(self):
        import h5netcdf

        f = h5netcdf.File(self.path)
        assert f["tas"].attrs["units"] == "degC"

        class Variable:
            """The file must outlive its variable."""

            file = f

            def __getitem__(self, key, tas=f["tas"]):
                return tas[key]

        return Variable()

    def close(self, handle):
        handle.file.close()


class Hidefix(NetCDF4):
    name = "hidefix, netCDF-4 (shuffle, zlib 4)"
    lock = None

    def open(self):
        import hidefix

        # It reads no attributes.
        return hidefix.Index(str(self.path)).dataset("tas")

    def close(self, handle):
        pass


class Zarr(Reader):
    name = "zarr 3 (zstd)"
    options = {}

    def make(self, folder, data):
        import zarr

        self.path = folder / f"{self.name.replace(' ', '')}.zarr"
        z = zarr.create_array(self.path, shape=SHAPE, chunks=CHUNK, dtype="f4", overwrite=True, **self.options)
        z[:] = data
        z.attrs["units"] = "degC"

    def open(self):
        import zarr

        z = zarr.open_array(self.path, mode="r")
        assert z.attrs["units"] == "degC"
        return z


class Zarrs(Zarr):
    name = "zarr 3 (zstd), zarrs"

    def open(self):
        import zarr
        import zarrs

        assert zarrs.__version__
        with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
            z = zarr.open_array(self.path, mode="r")
        assert z.attrs["units"] == "degC"
        return z


class ZarrNum(Zarr):
    name = "zarr 3 (nc3z.num)"

    @property
    def options(self):
        from nc3z.zarr import Num

        return {"serializer": Num("fast"), "compressors": None}


class ZarrStore(Nc3zDefault):
    name = "zarr 3 over nc3z.zarr.Nc3zStore"

    def open(self):
        import zarr

        from nc3z.zarr import Nc3zStore

        return zarr.open_group(Nc3zStore(self.path, chunk_nbytes=1 << 20), mode="r")["tas"]


class Blosc2(Reader):
    name = "blosc2 (bytedelta, zstd 5)"

    def make(self, folder, data):
        import blosc2

        self.path = folder / "tas.b2nd"
        cparams = blosc2.CParams(codec=blosc2.Codec.ZSTD, clevel=5, typesize=4,
                                 filters=[blosc2.Filter.SHUFFLE, blosc2.Filter.BYTEDELTA])
        a = blosc2.asarray(data, chunks=CHUNK, urlpath=str(self.path), mode="w", cparams=cparams)
        a.schunk.vlmeta["units"] = "degC"

    def open(self):
        import blosc2

        # Its threads share a chunk's blocks; ours below share chunks.
        blosc2.set_nthreads(self.threads)
        a = blosc2.open(str(self.path), mode="r")
        assert a.schunk.vlmeta["units"] == "degC"
        return a


READERS = [Nc3zClassic, Scipy, NetCDF4Classic, Nc3zArchive, Nc3zDefault, Nc3zMaps, Nc3zAuto, NetCDF4, H5netcdf, Hidefix, Zarr, Zarrs, ZarrNum,
           ZarrStore, Blosc2]


def stored(path):
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file()) if path.is_dir() else path.stat().st_size


def boxes(n):
    rng = np.random.default_rng(5)
    for t, y, x in zip(rng.integers(0, SHAPE[0] - 3, n), rng.integers(0, SHAPE[1] - 20, n), rng.integers(0, SHAPE[2] - 20, n)):
        yield slice(t, t + 3), slice(y, y + 20), slice(x, x + 20)


def reads(threads):
    """The reads of each task: keys, and the number by which its time is divided."""
    steps = -(-SHAPE[0] // threads)
    return {
        "whole": ([(slice(n, min(n + steps, SHAPE[0])), slice(None), slice(None)) for n in range(0, SHAPE[0], steps)], 1),
        "map": ([(n, slice(None), slice(None)) for n in range(0, SHAPE[0], 5)], len(range(0, SHAPE[0], 5))),
        "series": ([(slice(None), 90, n) for n in range(0, SHAPE[2], 90)], len(range(0, SHAPE[2], 90))),
        "boxes": (list(boxes(BOXES)), 1),
    }


def in_turns(readers, data, threads, repeat):
    """The same reads of a few readers, one repetition of each after another, so that what else the machine does meets all of them alike: by
    task and reader the least wall and processor seconds."""
    out = {}
    with ThreadPoolExecutor(threads) as pool:
        for task, (keys, each) in reads(threads).items():
            times = {reader.name: [] for reader in readers}
            for repetition in range(repeat + 1):
                for reader in readers:
                    handle = reader.open()
                    getattr(reader, "fresh", lambda: None)()

                    def work(mine, handle=handle, check=repetition == 0):
                        for key in mine:
                            found = np.asarray(handle[key])
                            assert not check or np.array_equal(found, data[key])

                    clock = Clock()
                    if threads == 1:
                        work(keys)
                    else:
                        list(pool.map(work, [keys[n::threads] for n in range(threads)]))
                    if repetition:
                        times[reader.name].append([seconds / each for seconds in clock.read()])
                    reader.close(handle)
            out[task] = {name: least(found) for name, found in times.items()}
    return out


def measure(reader, data, threads, repeat):
    """Seconds of each task, the best of the repetitions."""
    lock = reader.lock if threads > 1 else None
    reader.threads = threads
    try:
        import nc3z

        nc3z.set_threads(threads)
    except ImportError:
        pass

    def read(handle, key):
        if lock:
            with lock:
                return np.asarray(handle[key])
        return np.asarray(handle[key])

    def share(handle, keys, check=False):
        def work(mine):
            for key in mine:
                found = read(handle, key)
                assert not check or np.array_equal(found, data[key]), (reader.name, key)

        if threads == 1:
            return work(keys)
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, [keys[n::threads] for n in range(threads)]))
        return None

    tasks = reads(threads)
    out = {}
    times = []
    for _ in range(5 * repeat):
        clock = Clock()
        handle = reader.open()
        times.append(clock.read())
        reader.close(handle)
    out["open"] = least(times)
    for name, (keys, each) in tasks.items():
        handle = reader.open()
        share(handle, keys, check=True)
        reader.close(handle)
        times = []
        begin = time.perf_counter()
        for _ in range(repeat):
            # A slow program is not measured repeatedly.
            if times and time.perf_counter() - begin > PATIENCE:
                break
            handle = reader.open()
            getattr(reader, "fresh", lambda: None)()
            clock = Clock()
            share(handle, keys)
            times.append([seconds / each for seconds in clock.read()])
            reader.close(handle)
        out[name] = least(times)
    return out


class Clock:
    """Wall and processor seconds. Processor time is reliable on a shared machine."""

    def __init__(self):
        self.begin = time.perf_counter(), time.process_time()

    def read(self):
        return [time.perf_counter() - self.begin[0], time.process_time() - self.begin[1]]


def least(times):
    """The least of each clock."""
    return [min(each) for each in zip(*times)]


def best(work, repeat):
    """Processor seconds of work by one thread."""
    times = []
    for _ in range(repeat):
        clock = Clock()
        work()
        times.append(clock.read())
    return least(times)[1]


def call_overhead(folder, data, times=500, repeat=100):
    """Seconds of a call, and of the same in Rust, by what is read: both by the wall, in batches short enough to be left alone."""
    import nc3z

    out = {}
    for kind in (Nc3zClassic, Nc3zDefault):
        reader = kind()
        reader.make(folder, data)
        variable = reader.open()
        nc3z.set_threads(1)
        for what, key in {"one value": (5, 90, 180), "60 values": (5, 90, slice(0, 60)), "a box 3×20×20": (slice(4, 7), slice(90, 110), slice(180, 200))}.items():
            assert np.array_equal(variable[key], data[key])

            def calls(variable=variable, key=key):
                clock = Clock()
                for _ in range(times):
                    variable[key]
                return clock.read()[0]

            rust = min(variable._seconds(key, times) for _ in range(repeat)) / times
            out[f"{reader.name}: {what}"] = {"call": min(calls() for _ in range(repeat)) / times, "rust": rust}
    return out


HEAD = "|  | MB stored | open µs | whole ms | map ms | series ms | 1,000 boxes ms |\n|---|---|---|---|---|---|---|"


def row(name, times, clock):
    """A line of the table, by one of the clocks."""
    cells = [f"{times['open'][clock] * 1e6:.0f}", *(f"{times[k][clock] * 1e3:.3g}" for k in ("whole", "map", "series", "boxes"))]
    return f"| {name} | {times['stored'] / 1e6:.1f} | {' | '.join(cells)} |"


def versions():
    names = "nc3z numpy netCDF4 h5netcdf h5py scipy zarr zarrs hidefix blosc2".split()
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm/nc3z-python"))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--only", default="", help="readers whose names hold this")
    parser.add_argument("--in-turns", action="store_true", help="nc3z and scipy on the classic file only, repetition by repetition")
    parser.add_argument("--json", type=Path, help="where all figures go")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    data = field()
    there = np.empty_like(data)
    found = {
        "versions": versions(), "python": platform.python_version(), "cores": os.cpu_count(), "bytes": data.nbytes,
        "copy": best(lambda: np.copyto(there, data), 9), "copy_to_new": best(data.copy, 9), "threads": {}, "missing": {},
    }
    if args.in_turns:
        readers = [kind() for kind in (Nc3zClassic, Scipy)]
        for reader in readers:
            reader.make(args.folder, data)
        import nc3z

        print("| threads | task | nc3z ms, wall · processor | scipy ms | ratio |\n|---|---|---|---|---|")
        for threads in args.threads:
            nc3z.set_threads(threads)
            for task, times in in_turns(readers, data, threads, 8 * args.repeat).items():
                ours, theirs = (times[reader.name] for reader in readers)
                words = [" · ".join(f"{seconds * 1e3:.3g}" for seconds in both) for both in (ours, theirs)]
                print(f"| {threads} | {task} | {words[0]} | {words[1]} | {' · '.join(f'{a / b:.2f}' for a, b in zip(ours, theirs))} |", flush=True)
        return
    print(f"{data.nbytes / 1e6:.1f} MB; a copy takes {found['copy'] * 1e3:.1f} ms, into new memory {found['copy_to_new'] * 1e3:.1f} ms")
    print(f"Python {found['python']}, {', '.join(f'{name} {version}' for name, version in found['versions'].items())}\n")
    for threads in args.threads:
        print(f"#### {threads} thread{'s' * (threads > 1)}\n")
        print(HEAD)
        rows = found["threads"][str(threads)] = {}
        for kind in READERS:
            reader = kind()
            if args.only not in reader.name:
                continue
            try:
                reader.make(args.folder, data)
                times = measure(reader, data, threads, args.repeat)
            except ImportError as e:
                found["missing"][reader.name] = str(e)
                continue
            rows[reader.name] = {**times, "stored": stored(reader.path)}
            print(row(reader.name, rows[reader.name], 0), flush=True)
        print()
        if threads == 1:
            print(f"#### 1 thread, processor time\n\n{HEAD}")
            print("\n".join(row(name, times, 1) for name, times in rows.items()), "\n", flush=True)
    if "nc3z" in found["versions"]:
        found["calls"] = call_overhead(args.folder, data)
        print("#### A call\n\n|  | call µs | in Rust µs | beyond µs |\n|---|---|---|---|")
        for name, times in found["calls"].items():
            call, rust = times["call"] * 1e6, times["rust"] * 1e6
            print(f"| {name} | {call:.2f} | {rust:.2f} | {call - rust:.2f} |")
        print()
    for name, why in found["missing"].items():
        print(f"left out: {name}: {why}")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

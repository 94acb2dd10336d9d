#!/usr/bin/env python3
"""The cost of tile layouts: size, bytes decoded for one map and one series, seconds of processor time to archive and restore.

    python bench/layouts.py target/release/nc3z FILE... [--options "--layout linear" "--layout auto" ...]

A map is all of the last two dimensions at the middle of the others, a series all of the first at the middle of the others; of
every variable of three dimensions or more, and of two where none has three. Their costs are sums over these variables.
"""

import argparse
import json
import os
import resource
import subprocess
import tempfile
from pathlib import Path

DEFAULT = ["--layout linear", "--layout auto", "--layout chunked", "--layout series", "--layout map"]


def run(*args):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(a) for a in args], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def product(numbers):
    out = 1
    for n in numbers:
        out *= n
    return out


def decoded(shape, layout, start, count):
    """Elements of the tiles that a hyperslab touches."""
    if layout["kind"] == "chunked":
        out = 1
        for n, c, s, k in zip(shape, layout["shape"], start, count):
            first, last = s // c, (s + k - 1) // c
            out *= (last + 1) * c - first * c if layout["edge"] == "pad" else min((last + 1) * c, n) - first * c
        return out
    length, total = layout["elements"], product(shape)
    tiles = set()
    def walk(d, at):
        inner = product(shape[d + 1:])
        if d == len(shape) or (start[d:] == [0] * (len(shape) - d) and count[d:] == shape[d:]):
            end = at + product(shape[d:])
            tiles.update(range(at // length, (end - 1) // length + 1))
            return
        for i in range(start[d], start[d] + count[d]):
            walk(d + 1, at + i * inner)
    walk(0, 0)
    return sum(min(length, total - t * length) for t in tiles)


SIZES = {"byte": 1, "char": 1, "ubyte": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "float": 4}


def reads(info):
    rank = min(3, max(len(v["shape"]) for v in info["variables"]))
    wanted_map = wanted_series = map_bytes = series_bytes = 0
    for v in info["variables"]:
        shape, size = v["shape"], SIZES.get(v["type"], 8)
        if len(shape) < rank or v["type"] == "char" or not v["present"] or v["present"] != product(shape):
            continue
        middle = [n // 2 for n in shape]
        outer = max(len(shape) - 2, 1)
        count = [1] * outer + shape[outer:]
        map_bytes += size * decoded(shape, v["layout"], middle[:outer] + [0] * (len(shape) - outer), count)
        wanted_map += size * product(count)
        count = [shape[0]] + [1] * (len(shape) - 1)
        series_bytes += size * decoded(shape, v["layout"], [0] + middle[1:], count)
        wanted_series += size * shape[0]
    return wanted_map, map_bytes, wanted_series, series_bytes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--options", nargs="+", default=DEFAULT)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    mib = lambda n: f"{n / 2**20:.2f}"
    print("| file | options | ratio | map: decoded / wanted MiB | series: decoded / wanted MiB | archive s | restore s |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as directory:
        archive, back = Path(directory) / "a.nc3z", Path(directory) / "back"
        for path in args.files:
            for options in args.options:
                archive_s = min(run(args.program, "archive", "--force", "--no-verify", "--threads", 1, *options.split(), path, "-o", archive)
                                for _ in range(args.repeat))
                restore_s = min(run(args.program, "restore", "--force", archive, "-o", back) for _ in range(args.repeat))
                info = json.loads(subprocess.run([args.program, "info", "--json", archive], check=True, capture_output=True).stdout)
                wanted_map, a_map, wanted_series, a_series = reads(info)
                size = os.path.getsize(archive)
                print(f"| {path.name} | `{options}` | {path.stat().st_size / size:.3f} | {mib(a_map)} / {mib(wanted_map)} "
                      f"| {mib(a_series)} / {wanted_series / 2**20:.3f} | {archive_s:.2f} | {restore_s:.2f} |", flush=True)


if __name__ == "__main__":
    main()

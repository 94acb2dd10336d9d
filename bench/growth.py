#!/usr/bin/env python3
"""Processor time and memory of commands for many files, by their number: the table "Growth" of docs/scale.md.

    python3 bench/growth.py --nc3z target/release/nc3z [--python .venv/bin/python] [--least 1000] [--most 100000] [--only plan,list,...]

Makes trees of 1,000, 10,000, ... files of 2.1 KB, a time step each, in a temporary directory. With `--python`, an interpreter that has the
package, `open_collection` is measured, too."""

import argparse
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path


def name(text):
    raw = text.encode()
    return struct.pack(">I", len(raw)) + raw + b"\0" * (-len(raw) % 4)


def attributes(pairs):
    return struct.pack(">II", 12, len(pairs)) + b"".join(name(key) + struct.pack(">II", 2, len(value)) + value.encode() + b"\0" * (-len(value) % 4)
                                                       for key, value in pairs)


def head():
    """The header of a file with one time step of a field of 16 by 24."""
    variables = (("lat", (1,), (("units", "degrees_north"),), 5, 64), ("lon", (2,), (("units", "degrees_east"),), 5, 96),
                 ("time", (0,), (("units", "days since 2000-01-01"),), 6, 8),
                 ("tas", (0, 1, 2), (("units", "K"), ("standard_name", "air_temperature")), 5, 1536))

    def build(begins):
        dimensions = (("time", 0), ("lat", 16), ("lon", 24))
        out = b"CDF\1" + struct.pack(">III", 1, 10, 3) + b"".join(name(key) + struct.pack(">I", length) for key, length in dimensions)
        out += attributes((("title", "made files"), ("institution", "nowhere"), ("source", "bench/growth.py")))
        out += struct.pack(">II", 11, len(variables))
        for (key, ids, own, kind, size), begin in zip(variables, begins):
            out += name(key) + struct.pack(f">I{len(ids)}I", len(ids), *ids) + attributes(own) + struct.pack(">III", kind, size, begin)
        return out

    begin, begins = len(build((0, 0, 0, 0))), []
    for variable in variables:
        begins.append(begin)
        begin += variable[4]
    axes = struct.pack(">16f", *range(-75, 85, 10)) + struct.pack(">24f", *range(0, 360, 15))
    return build(begins) + axes


def make(root, count):
    pick, first = random.Random(1), head()
    base = [280 + 20 * math.sin(k / 40) for k in range(384)]
    for n in range(count):
        directory = root / f"{n // 1000:04}"
        if n % 1000 == 0:
            directory.mkdir(parents=True)
        with open(directory / f"{n:07}.nc", "wb") as f:
            f.write(first + struct.pack(">d384f", n / 4, *(round(b + pick.uniform(-1, 1), 1) for b in base)))


def measured(words, cwd):
    """CPU seconds and peak memory in bytes."""
    process = subprocess.Popen(words, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    err = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code
    if code not in (0, 4):
        raise SystemExit(f"{words}: exit code {code}: {err.decode()[-500:]}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss << 10


#: Opens a collection, and no values of it.
OPEN = "import sys, nc3z; collection = nc3z.open_collection(sys.argv[1]); assert sum(len(group.time) for group in collection.values()) == int(sys.argv[2])"


def commands(count, only, python):
    work = (
        ("plan", ("plan", "data", "-o", "camp", "--no-samples", "--unit", "1TB")),
        ("archive", None),
        ("status", ("status", "camp")),
        ("reconcile", ("reconcile", "cat.csv", "out")),
        ("list", ("list", "data")),
        ("list --json", ("list", "--json", "data")),
        ("hash", ("hash", "-r", "data")),
        ("find", ("find", "tas", "data")),
        ("verify", ("verify", "-q", "-r", "out")),
        ("aggregate", ("aggregate", "data", "-o", "all.nc", "-f")),
        ("catalog", ("catalog", "data", "-o", "all.catalog.nc3z", "-f")),
        ("stats", ("stats", "all.catalog.nc3z")),
        ("list the catalogue", ("list", "all.catalog.nc3z")),
        ("open_collection", (python, "-c", OPEN, "data", str(count))),
        ("open_collection of the catalogue", (python, "-c", OPEN, "all.catalog.nc3z", str(count))),
        ("bundle --pack", ("bundle", "--pack", "data", "-o", "all.bundle.nc3z", "-f")),
    )
    units = -(-count // 100_000)
    archive = [("archive", "-q", "--unit", f"camp/units/{n + 1:05}.list", "-o", "out", "--preset", "fast") for n in range(units)]
    for title, words in work:
        if (not only or title.split()[0] in only) and (python or "open_collection" not in title):
            yield title, archive if words is None else [words]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nc3z", default="target/release/nc3z")
    parser.add_argument("--python")
    parser.add_argument("--least", type=int, default=1000)
    parser.add_argument("--most", type=int, default=100_000)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    tool, rows, counts = str(Path(args.nc3z).resolve()), {}, []
    count = args.least
    while count <= args.most:
        counts.append(count)
        work = Path(tempfile.mkdtemp(prefix="nc3z-growth-"))
        try:
            make(work / "data", count)
            with open(work / "cat.csv", "w", encoding="utf-8") as f:
                f.write("path,size,checksum\n" + "".join(f"{n // 1000:04}/{n:07}.nc,,\n" for n in range(count)))
            for title, runs in commands(count, set(filter(None, args.only.split(","))), args.python):
                used = [measured(list(words) if words[0] == args.python else [tool, *words], work) for words in runs]
                rows.setdefault(title, []).append((sum(u[0] for u in used), max(u[1] for u in used)))
                print(f"{count:>9,} {title:15} {rows[title][-1][0]:9.2f} s {rows[title][-1][1] / 1e6:8.1f} MB", file=sys.stderr, flush=True)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        count *= 10
    print("| command | " + " | ".join(f"{count:,} files" for count in counts) + " | bytes of memory for each further file |")
    print("|---|" + "--:|" * (len(counts) + 1))
    for title, cells in rows.items():
        each = (cells[-1][1] - cells[-2][1]) / (counts[-1] - counts[-2]) if len(cells) > 1 else 0
        print(f"| `{title}` | " + " | ".join(f"{seconds:.2f} s, {memory / 1e6:.0f} MB" for seconds, memory in cells) + f" | {each:,.0f} |")


if __name__ == "__main__":
    main()

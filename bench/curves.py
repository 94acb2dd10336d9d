#!/usr/bin/env python3
"""Processor time and memory of commands against the length of a file, and the number of its variables, tiles and versions (growth.py: of files).

    curves.py [--nc3z PATH] [--only REGEX] [--most N] [--reps N] [--write]

Each series makes its files, multiplies one quantity by a factor, and runs the commands with one thread. In brackets is the growth
from the row before: the exponent of a power of the quantity, 1 for linear. Times below 20 ms have no exponent, because most of them is
the start of a process. --most bounds the bytes of made files, and --more makes the other series longer. --write replaces the tables of these series in docs/scale.md. Exit code 1 if the time of
a command grows by a power above 1.3 at the end of a series.
"""
import argparse
import math
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from nc3zbench import child

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/scale.md"
BEGIN, END = "<!-- bench/curves.py -->", "<!-- bench/curves.py: end -->"
STEEP, SOON = 1.3, 0.02


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"] + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def apart(make):
    """Makes files in a process of its own: the peak memory of a command starts from that of its parent."""
    pid = os.fork()
    if pid == 0:
        try:
            make()
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(pid, 0)[1]:
        sys.exit("a file could not be made")


def write(path, variables, records=False):
    """Writes a classic file; `variables` returns them."""
    def make():
        from cliffs import classic
        classic(path, variables(), records)
    apart(make)


def field(n):
    """A field of n floats in rows of up to 512: a smooth surface with noise."""
    import numpy as np
    columns = np.arange(min(n, 512), dtype="f4")[None, :]
    rows = np.arange(n // columns.size, dtype="f4")[:, None]
    noise = np.random.default_rng(1).standard_normal((rows.size, columns.size), dtype="f4")
    return 280 + 20 * np.sin(rows / 97 + columns / 61) + noise / 16


class Series:
    """Rows of one quantity; each has the time and the memory of every command."""

    def __init__(self, name, binary, folder, reps):
        self.name, self.binary, self.folder, self.reps = name, binary, folder, reps
        self.rows, self.steep = [], []

    def run(self, *commands):
        """Runs commands of nc3z in this order, `reps` times, and returns the least cost of each."""
        lines = {label: f"cd {self.folder} && exec {self.binary} {line} >/dev/null" for label, line in commands}
        costs = {}
        for _ in range(self.reps):
            for label, line in lines.items():
                cost = child.run(line)[0]
                known = costs.setdefault(label, cost)
                costs[label] = {"cpu": min(known["cpu"], cost["cpu"]), "rss": max(known["rss"], cost["rss"])}
        return costs

    def add(self, quantity, costs):
        self.rows.append((quantity, costs))

    def tables(self):
        """Markdown: a row for each step, a pair of columns for each command."""
        labels = list(self.rows[0][1])
        out = []
        for at, (quantity, costs) in enumerate(self.rows):
            cells = [f"{quantity:,}"]
            for label in labels:
                cost, power = costs[label], ""
                if at and self.rows[at - 1][1][label]["cpu"] >= SOON:
                    before, less = self.rows[at - 1][1][label]["cpu"], self.rows[at - 1][0]
                    exponent = math.log(cost["cpu"] / before) / math.log(quantity / less)
                    power = f" ({exponent:.2f})"
                    if at == len(self.rows) - 1 and exponent > STEEP:
                        self.steep.append(f"{self.name}: {label} grows by the power {exponent:.2f}")
                cells.append(f"{cost['cpu']:.3f} s{power}, {cost['rss'] / 1e6:.0f} MB")
            out.append(cells)
        return table([self.name, *labels], out)


def whole(series, name="a.nc", options="--threads 1"):
    """The commands that every file takes."""
    return series.run(
        ("archive `fast`", f"archive {options} --preset fast --force -o f.nc3z {name}"),
        ("archive", f"archive {options} --force -o d.nc3z {name}"),
        ("restore", "restore --threads 1 --force -o back.nc d.nc3z"),
        ("verify", "verify --threads 1 d.nc3z"),
        ("info", "info d.nc3z"))


def by_length(series, most, more):
    for n in (1 << 20 << step for step in range(0, 17, 2)):
        if n > most:
            break
        write(f"{series.folder}/a.nc", lambda: [("v", field(n // 4))])  # noqa: B023
        series.add(n, whole(series))


def by_sparse_length(series, most, more):
    """Files that are a record of a field, and zeros that take no space on the disk."""
    for n in (1 << 30 << step for step in range(0, 2 * more + 1, 2)):
        path = f"{series.folder}/a.nc"
        write(path, lambda: [("v", field(1 << 18)[None])], records=True)
        header = os.path.getsize(path) - (1 << 20)
        with open(path, "r+b") as file:
            file.seek(4)
            file.write((n >> 20).to_bytes(4, "big"))
            file.truncate(header + n)
        series.add(n, series.run(
            ("archive `fast`", "archive --threads 1 --preset fast --force -o f.nc3z a.nc"),
            ("archive", "archive --threads 1 --force -o d.nc3z a.nc"),
            ("restore", "restore --threads 1 -o - d.nc3z"),
            ("verify", "verify --threads 1 d.nc3z"),
            ("info", "info d.nc3z")))


def by_variables(series, most, more):
    for n in (10**power for power in range(1, 6 + more)):
        write(f"{series.folder}/a.nc", lambda: [(f"v{i}", field(10) + i % 97) for i in range(n)])  # noqa: B023
        costs = whole(series)
        edit = series.run(("copy", "restore --threads 1 --force -o e.nc d.nc3z"), ("attr", "attr --no-author d.nc3z :title=new"))
        series.add(n, {**costs, "attr": edit["attr"]})


def by_tiles(series, most, more):
    length = min(most, 1 << 28)
    write(f"{series.folder}/a.nc", lambda: [("v", field(length // 4))])
    for n in (10**power for power in range(1, 6 + more)):
        row = 2048 if n <= 100_000 else 4
        size = length // n // row * row
        if size:
            series.add(n, whole(series, options=f"--threads 1 --tile-size {size}"))


def by_versions(series, most, more):
    write(f"{series.folder}/a.nc", lambda: [("v", field(1 << 16))])
    series.run(("archive", "archive --threads 1 --force -o v.nc3z a.nc"))
    done = 1
    for n in (10**power for power in range(1, 4 + more)):
        while done < n:
            child.run(f"cd {series.folder} && {series.binary} attr --no-author v.nc3z :count={done}")
            done += 1
        costs = series.run(("info", "info v.nc3z"), ("log", "log v.nc3z"), ("restore", "restore --force -o back.nc v.nc3z"),
                           ("restore the first", "restore --force -o back.nc v.nc3z@1"), ("verify", "verify v.nc3z"))
        before = series.reps
        series.reps = 1
        costs.update(series.run(("attr", f"attr --no-author v.nc3z :count={done}")))
        series.reps, done = before, done + 1
        series.add(n, costs)


SERIES = {"bytes of a file": by_length, "bytes of a sparse file": by_sparse_length, "variables": by_variables, "tiles": by_tiles, "versions": by_versions}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nc3z", default=str(ROOT / "target/release/nc3z"))
    parser.add_argument("--only", type=re.compile, default=re.compile(""), help="series to run, a regular expression")
    parser.add_argument("--most", type=int, default=1 << 28, help="bytes of the longest made file")
    parser.add_argument("--more", type=int, default=0, help="further rows of the other series, each four (bytes) or ten times as long")
    parser.add_argument("--reps", type=int, default=3, help="runs of each command; the least time counts")
    parser.add_argument("--dir", help="folder for the files [/dev/shm, or the system's folder for temporary files]")
    parser.add_argument("--write", action="store_true", help="write the section of docs/scale.md")
    args = parser.parse_args()
    binary, tables, steep = os.path.abspath(args.nc3z), {}, []
    for name, measure in SERIES.items():
        if not args.only.search(name):
            continue
        folder = tempfile.mkdtemp(dir=args.dir or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
        try:
            series = Series(name, binary, folder, args.reps)
            measure(series, args.most, args.more)
            tables[name] = "\n".join(series.tables())
            steep += series.steep
        finally:
            shutil.rmtree(folder)
        print(tables[name], flush=True)
    if args.write:
        before, rest = PAGE.read_text().split(BEGIN)
        section, after = rest.split(END)
        # Series that were not run keep their tables.
        kept = {text.split("|")[1].strip(): text + "\n" for text in section.strip().split("\n\n") if text}
        section = "\n".join({**kept, **tables}.values())
        PAGE.write_text(f"{before}{BEGIN}\n\n{section}\n{END}{after}")
    print("\n".join(steep))
    return 1 if steep else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The ratchet of sizes: what a change of the encoder does to each public file at hand, compared with bench/sizes.tsv.

    sizes.py [--nc3z PATH] [--write] [--readme] [--seed N] [--jobs N] [--large] [FOLDER...]

Archives every classic file of the folders (default: testdata/classic and the data sets of Debian's package ferret-datasets) and files
that are made here from those by interpolation, at `fast` and `default`. Prints each file that changed, and the sums of two halves of the
files, which the seed draws: choose a rule on the first half, and judge it on the second.

Exit code 1 if a file is more than 0.5 % larger than in bench/sizes.tsv (24 bytes are always allowed), or all files of a preset together
more than 0.05 %. If that is the price of something else, the commit says why and brings the new table (--write). With --readme, the last
column of the README's table of sizes is written from the table. --large makes files of more than 1 GB, at night.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from cliffs import classic

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "bench/sizes.tsv"
FOLDERS = [ROOT / "testdata/classic", Path("/usr/share/ferret-vis/data")]
PRESETS = ("fast", "default")
FILE, SUM, ALWAYS = 1.005, 1.0005, 24


def finer(field, axis, times):
    """Values between neighbours along an axis, by linear interpolation."""
    n = field.shape[axis]
    at = np.linspace(0, n - 1, n * times)
    low = np.floor(at).astype(int).clip(0, n - 2)
    shape = [1] * field.ndim
    shape[axis] = -1
    part = (at - low).reshape(shape)
    return np.take(field, low, axis) * (1 - part) + np.take(field, low + 1, axis) * part


def made(folder, large):
    """Writes the made files. Their values are those of public fields, with more points in time and space."""
    ferret = FOLDERS[1]
    if not ferret.is_dir():
        return
    from scipy.io import netcdf_file

    def field(name, variable):
        with netcdf_file(ferret / name, mmap=False) as file:
            return file.variables[variable][:].astype("f8")

    def write(name, values, dtype):
        classic(folder / name, [("v", values.astype(dtype))])

    times = 12 if large else 2
    sst = field("coads_climatology.cdf", "SST")
    sst = np.where(np.abs(sst) > 1e9, 0, sst)
    write("made_sst.nc", finer(finer(finer(sst, 0, times), 1, 4), 2, 2), "f4")
    write("made_sst_hundredths.nc", (finer(finer(sst, 1, 4), 2, times) * 100).round(), "i2")
    relief = field("etopo20.cdf", "ROSE")
    write("made_relief.nc", finer(finer(relief, 0, times), 1, 2), "f4")
    winds = field("monthly_navy_winds.cdf", "UWND")
    write("made_winds.nc", finer(np.where(np.abs(winds) > 90, 0, winds), 0, times), "f4")
    if large:
        temperature = field("levitus_climatology.cdf", "TEMP")
        temperature = np.where(np.abs(temperature) > 1e9, 0, temperature)
        write("made_temperature.nc", finer(finer(finer(temperature, 0, 6), 1, 4), 2, 4), "f4")


def is_classic(path):
    with open(path, "rb") as file:
        return file.read(4) in (b"CDF\x01", b"CDF\x02", b"CDF\x05")


def stored(nc3z, path, folder):
    """Bytes of the original and of its archive by each preset; None if the file is refused."""
    sizes = [path.stat().st_size]
    for preset in PRESETS:
        target = Path(folder) / f"{path.parent.name}.{path.name}.{preset}"
        command = [nc3z, "archive", "--no-verify", "--threads", "1", "--preset", preset, "--force", "-o", str(target), str(path)]
        if subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode:
            return None
        sizes.append(target.stat().st_size)
        target.unlink()
    return sizes


def read_table(path=TABLE):
    if not path.exists():
        return {}
    lines = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    return {name: list(map(int, sizes)) for name, *sizes in lines}


def write_readme(table):
    """The last column of the README's table is the ratio at `default`."""
    path = ROOT / "README.md"
    by_stem = {Path(name).stem: sizes for name, sizes in table.items()}
    lines = path.read_text().splitlines(keepends=True)
    for at, line in enumerate(lines):
        row = re.match(r"\| (\S+?)(?:\.cdf|\.nc)?(?: \([^|]*\))? \| ([\d,]+) \|.* \| \**([\d.]+)\** \|$", line)
        sizes = by_stem.get(row[1]) if row else None
        if sizes and sizes[0] == int(row[2].replace(",", "")):
            ratio = f"{sizes[0] / sizes[1 + PRESETS.index('default')]:.2f}"
            lines[at] = line[: row.start(3)] + ratio + line[row.end(3):]
    path.write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=FOLDERS)
    parser.add_argument("--nc3z", default=str(ROOT / "target/release/nc3z"))
    parser.add_argument("--table", type=Path, default=TABLE, help="another table, for files that are not public")
    parser.add_argument("--write", action="store_true", help="write the table")
    parser.add_argument("--readme", action="store_true", help="write the README's column, too")
    parser.add_argument("--seed", type=int, default=1, help="draws the halves")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--large", action="store_true", help="make files of more than 1 GB; they are not in the table")
    args = parser.parse_args()
    before = read_table(args.table)
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work, "made")
        folder.mkdir()
        made(folder, args.large)
        folders = [folder for folder in args.folders if folder.is_dir()]
        files = sorted({p for f in [*folders, folder] for p in f.rglob("*") if p.is_file() and is_classic(p)})
        with ThreadPoolExecutor(args.jobs) as pool:
            found = list(pool.map(lambda path: stored(args.nc3z, path, work), files))
    now = {f"{path.parent.name}/{path.name}": sizes for path, sizes in zip(files, found) if sizes}
    if not now:
        sys.exit("no classic file in the folders")
    known = {name: (before[name], sizes) for name, sizes in now.items() if name in before and before[name][0] == sizes[0]}
    failures = []
    for name, (old, new) in sorted(known.items()):
        if old != new:
            print(f"{name}: " + ", ".join(f"{p} {a} -> {b} ({b / a - 1:+.2%})" for p, a, b in zip(PRESETS, old[1:], new[1:]) if a != b))
        failures += [f"{name}: {p} takes {b} bytes, {a} before" for p, a, b in zip(PRESETS, old[1:], new[1:]) if b > a * FILE + ALWAYS]
    names = sorted(known)
    random.Random(args.seed).shuffle(names)
    halves = {"chosen on": names[: len(names) // 2], "judged on": names[len(names) // 2:], "all": names}
    for half, members in halves.items():
        for at, preset in enumerate(PRESETS, 1):
            old, new = (sum(known[name][which][at] for name in members) for which in (0, 1))
            if old:
                print(f"{half}, {len(members)} files, {preset}: {old} -> {new} bytes ({new / old - 1:+.3%})")
            if half == "all" and new > old * SUM:
                failures.append(f"all files at {preset} take {new} bytes, {old} before")
    print(f"{len(now)} files, {len(now) - len(known)} of them new")
    if args.write:
        # Other files of the table stay: here may be no ferret-datasets.
        table = {**before, **now} if not args.large else before
        args.table.write_text("file\tbytes\t" + "\t".join(PRESETS) + "\n" + "".join(f"{n}\t" + "\t".join(map(str, s)) + "\n" for n, s in sorted(table.items())))
    if args.readme:
        write_readme(read_table())
    print("\n".join(failures))
    return 1 if failures and not args.write else 0


if __name__ == "__main__":
    sys.exit(main())

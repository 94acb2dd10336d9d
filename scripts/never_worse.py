#!/usr/bin/env python3
"""No preset makes a larger archive than a quicker one: default <= fast x 1.005, max <= default x 1.005, on every classic file below the
directories given. Blocks begin at multiples of eight bytes, so 16 bytes are always allowed. One line for each failure; exit code 1 if
there was one.

    NC3Z=target/release/nc3z python scripts/never_worse.py DIRECTORY... [--no-max] [--jobs N]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NC3Z = str(Path(os.environ.get("NC3Z") or ROOT / "target/release/nc3z").resolve())
MORE, ALWAYS = 0.005, 16


def is_classic(path):
    try:
        with open(path, "rb") as f:
            return f.read(4) in (b"CDF\x01", b"CDF\x02", b"CDF\x05")
    except OSError:
        return False


def stored(path, preset, folder):
    """Bytes of the archive, proven; None where the file is refused."""
    target = Path(folder) / f"{preset}.nc3z"
    command = [NC3Z, "archive", "--threads", "1", "--preset", preset, "-o", str(target), str(path)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return target.stat().st_size if done.returncode == 0 else None


def compare(path, presets):
    with tempfile.TemporaryDirectory() as folder:
        sizes = [stored(path, preset, folder) for preset in presets]
    if None in sizes:
        # A file that is refused is refused by all.
        return [f"{path}: refused at some presets only: {sizes}"] if any(sizes) else []
    pairs = zip(presets, presets[1:], sizes, sizes[1:], strict=False)
    return [
        f"{path}: {harder} {more} bytes, {quicker} {less}"
        for quicker, harder, less, more in pairs
        if more > less * (1 + MORE) + ALWAYS
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--no-max", action="store_true", help="compare fast and default only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    presets = ["fast", "default"] + ([] if args.no_max else ["max"])
    files = sorted({p for d in args.directories for p in d.rglob("*") if p.is_file() and is_classic(p)})
    if not files:
        sys.exit("no classic file below " + ", ".join(map(str, args.directories)))
    with ThreadPoolExecutor(args.jobs) as pool:
        failures = [line for lines in pool.map(lambda p: compare(p, presets), files) for line in lines]
    for line in failures:
        print(line)
    print(f"{len(files)} files, {' <= '.join(reversed(presets))}: {len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Reads files through mounts of several kinds: forward, and 4 KiB at random places. For comparison the library in one process, and plain files.

    python3 bench/mount.py --nc3z target/release/nc3z --in-process target/release/examples/in_process FILE...

Each mount is made anew for each run, so that neither the kernel nor the server has anything of the files; the archives themselves are in the page cache.
Runs are interleaved; the best of them counts. Needs root, squashfs-tools, zstd, and ratarmount on the path; what is missing is left out.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

PAGE = 4096
REQUEST = 1 << 20


def wait_for(place):
    end = time.monotonic() + 60
    while not os.path.ismount(place):
        if time.monotonic() > end:
            raise RuntimeError(f"{place} is not mounted")
        time.sleep(0.01)


def drop(path):
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def forward(paths):
    begin = time.perf_counter()
    for path in paths:
        with open(path, "rb", buffering=0) as f:
            buffer = bytearray(REQUEST)
            while f.readinto(buffer):
                pass
    return time.perf_counter() - begin


def scattered(paths, reads, seed):
    rng, times = random.Random(seed), []
    files = [(os.open(path, os.O_RDONLY), os.path.getsize(path)) for path in paths]
    for fd, _ in files:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    weights = [size for _, size in files]
    for _ in range(reads):
        fd, size = rng.choices(files, weights)[0]
        at = rng.randrange(size // PAGE) * PAGE
        begin = time.perf_counter()
        os.pread(fd, PAGE, at)
        times.append(time.perf_counter() - begin)
    for fd, _ in files:
        os.close(fd)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nc3z", required=True)
    parser.add_argument("--in-process")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--reads", type=int, default=2000)
    parser.add_argument("files", nargs="+", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nc3z-bench-") as work:
        measure(args, Path(work))


def measure(args, work):
    names = [path.name for path in args.files]
    total = sum(path.stat().st_size for path in args.files)
    plain, archives, packed, place = (work / name for name in ("plain", "archives", "gz", "mnt"))
    for directory in (plain, archives, packed, place):
        directory.mkdir()
    for path in args.files:
        shutil.copy(path, plain)
        subprocess.run([args.nc3z, "archive", "-q", path, "-o", archives / f"{path.name}.nc3z"], check=True)
    kinds = {"nc3z mount": (["mount", "--daemon", archives, place], archives)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if shutil.which("mksquashfs"):
        for block in ("128K", "1M"):
            image = work / f"squashfs-{block}"
            subprocess.run(["mksquashfs", plain, image, "-comp", "zstd", "-b", block, "-no-progress"], check=True, **quiet)
            kinds[f"squashfs, zstd, {block}"] = (["squash", image, place], image)
    if shutil.which("ratarmount"):
        for tool, end in (("gzip", "gz"), ("zstd", "zst")):
            directory = work / end
            directory.mkdir(exist_ok=True)
            for name in names:
                with open(directory / f"{name}.{end}", "wb") as out:
                    subprocess.run([tool, "-c", "-q", plain / name], stdout=out, check=True)
            kinds[f"ratarmount, .{end}"] = (["ratar", directory, place], directory)

    def mounted(words):
        if words[0] == "mount":
            subprocess.run([args.nc3z, *words], check=True)
        elif words[0] == "squash":
            subprocess.run(["mount", "-t", "squashfs", "-o", "ro,loop", *words[1:]], check=True)
        else:
            subprocess.run(["ratarmount", "--recursive", *words[1:]], check=True, **quiet)
        wait_for(place)
        found = [Path(d, name) for d, _, all_names in os.walk(place) for name in all_names]
        paths = [path for path in found if path.name in names]
        if len(paths) != len(names):
            raise RuntimeError(f"{words}: {found}")
        return paths

    def unmount():
        subprocess.run(["umount", "-l", place], check=True)
        time.sleep(0.3)

    rows = {}
    for run in range(args.runs):
        for kind, (words, stored) in list(kinds.items()):
            try:
                for measured in ("forward", "scattered"):
                    paths = mounted(words)
                    if run == 0 and measured == "forward":
                        for path in paths:
                            subprocess.run(["cmp", path, plain / path.name], check=True)
                        unmount()
                        paths = mounted(words)
                    row = rows.setdefault(kind, {"forward": [], "scattered": []})
                    row[measured].append(forward(paths) if measured == "forward" else scattered(paths, args.reads, run))
                    unmount()
                rows[kind]["size"] = sum(p.stat().st_size for p in (stored.iterdir() if stored.is_dir() else [stored]) if p.suffix != ".sqlite")
            except (RuntimeError, subprocess.CalledProcessError) as e:
                print(f"left out: {kind}: {e}")
                subprocess.run(["umount", "-l", place], check=False, **quiet)
                del kinds[kind]
                rows.pop(kind, None)
        for kind, cold in (("plain files, on disk", True), ("plain files, in memory", False)):
            paths = [plain / name for name in names]
            row = rows.setdefault(kind, {"forward": [], "scattered": [], "size": total})
            for measured in ("forward", "scattered"):
                if cold:
                    os.sync()
                    for path in paths:
                        drop(path)
                row[measured].append(forward(paths) if measured == "forward" else scattered(paths, args.reads, run))
        if args.in_process:
            done = subprocess.run([args.in_process, *(archives / f"{name}.nc3z" for name in names)], check=True, capture_output=True)
            seconds = json.loads(done.stdout)
            for kind, key in (("the library, one process", "stream"), ("a view, one process", "view")):
                rows.setdefault(kind, {"forward": [], "size": rows["nc3z mount"]["size"]})["forward"].append(seconds[key])

    print(f"{len(names)} files, {total:,} bytes, {args.runs} runs\n")
    print("| | bytes stored | forward, MB/s | 4 KiB here and there: reads a second | median | 99 of 100 within |\n|---|---|---|---|---|---|")
    for kind, row in rows.items():
        cells = [kind, f"{row['size']:,}", f"{total / min(row['forward']) / 1e6:,.0f}", "", "", ""]
        if row.get("scattered"):
            best = min(row["scattered"], key=sum)
            cells[3:] = [f"{len(best) / sum(best):,.0f}", f"{statistics.median(best) * 1e6:,.0f} µs",
                         f"{sorted(best)[len(best) * 99 // 100] * 1e6:,.0f} µs"]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

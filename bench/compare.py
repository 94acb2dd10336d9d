#!/usr/bin/env python3
"""Whole files, one run: nc3z, cp, sha256sum, gzip, zstd and nccopy. Prints Markdown tables.

    compare.py [--nc3z PATH] [--reps N] [--dir DIR] FILE...

Each command runs as its own process in DIR (default /dev/shm, so that no disk is in the way); the least wall time
and the least CPU time (user + system) of the runs are kept. CPU time is the figure to compare on a busy machine.
"""
import argparse, os, resource, shutil, subprocess, sys, tempfile, time


def run(command, reps):
    """Least wall and CPU seconds, and peak resident bytes, of `reps` runs."""
    wall = cpu = None
    for _ in range(reps):
        begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = time.perf_counter() - begin
        used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        wall, cpu = min(wall or took, took), min(cpu or used, used)
    return wall, cpu


def commands(nc3z):
    yield "cp", "cp --reflink=never {src} {dir}/copy", None, "copy"
    yield "sha256sum", "sha256sum {src}", None, None
    yield "gzip -6", "gzip -6 -c {src} >{dir}/gz", "gzip -dc {dir}/gz >{dir}/back", "gz"
    yield "zstd -3", "zstd -q -f -3 -T1 {src} -o {dir}/zst", "zstd -q -f -d {dir}/zst -o {dir}/back", "zst"
    for level in (1, 5):
        yield (f"nccopy -d{level} -s", f"nccopy -d{level} -s {{src}} {{dir}}/nc4",
               "nccopy -k {kind} {dir}/nc4 {dir}/back", "nc4")
    for preset in ("fast", "default", "max"):
        for threads in (1, 2):
            yield (f"nc3z {preset}, {threads} thread{'s' if threads > 1 else ''}",
                   f"{nc3z} archive --preset {preset} --threads {threads} --force {{src}} -o {{dir}}/nc3z",
                   f"{nc3z} restore --threads {threads} --force {{dir}}/nc3z -o {{dir}}/back", "nc3z")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nc3z", default="target/release/nc3z")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--dir", default="/dev/shm")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    work = tempfile.mkdtemp(dir=args.dir)
    totals, sizes, names = {}, {}, []
    try:
        for path in args.files:
            src = shutil.copy(path, work + "/src.nc")
            kind = {1: "classic", 2: "64-bit-offset", 5: "cdf5"}[open(src, "rb").read(4)[3]]
            for name, store, fetch, out in commands(args.nc3z):
                if name not in names:
                    names.append(name)
                reps = 1 if "max" in name or name.startswith("gzip") else args.reps
                place = dict(src=src, dir=work, kind=kind)
                stored = run(store.format(**place), reps)
                fetched = run(fetch.format(**place), args.reps) if fetch else (0, 0)
                if out:
                    sizes[name, path] = os.path.getsize(f"{work}/{out}")
                total = totals.setdefault(name, [0, 0, 0, 0])
                for i, value in enumerate(stored + fetched):
                    total[i] += value
    finally:
        shutil.rmtree(work)
    raw = sum(os.path.getsize(f) for f in args.files)
    print(f"{len(args.files)} files, {raw / 1e6:.1f} MB\n")
    print("| method | ratio | store, wall s | store, CPU s | MB/s of CPU | fetch, wall s | fetch, CPU s | MB/s of CPU |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        wall, cpu, back, back_cpu = totals[name]
        size = sum(sizes.get((name, f), 0) for f in args.files)
        ratio = f"{raw / size:.3f}" if size else "-"
        fetch = f"{back:.2f} | {back_cpu:.2f} | {raw / 1e6 / back_cpu:.0f}" if back_cpu else "- | - | -"
        print(f"| {name} | {ratio} | {wall:.2f} | {cpu:.2f} | {raw / 1e6 / cpu:.0f} | {fetch} |")
    shown = [n for n in names if n not in ("cp", "sha256sum") and "2 threads" not in n]
    print("\n| file | bytes | " + " | ".join(n.replace(", 1 thread", "") for n in shown) + " |")
    print("|---" * (len(shown) + 2) + "|")
    for f in args.files:
        n = os.path.getsize(f)
        print(f"| {os.path.basename(f)} | {n} | " + " | ".join(f"{n / sizes[m, f]:.2f}" for m in shown) + " |")


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Kinds of arrays on which a preset could be slow or large by accident. Each file is made here; no download is needed.

    cliffs.py [--nc3z PATH]... [--only REGEX] [--reps N] [--dir DIR]

Prints, for each kind, the processor time (user + system) of `nc3z archive` on one thread as MB/s, and the ratio. The archive is
not proven, so that the time is that of storing. A second --nc3z is run interleaved with the first, and only the first is judged.
Exit code 1 if `default` stores less than 20 MB/s, `fast` less than 60, or `default` is larger than `fast`.
"""
import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

TYPES = {"i1": 1, "S1": 2, "i2": 3, "i4": 4, "f4": 5, "f8": 6}
# MB/s of processor time that a preset must reach.
LEAST = {"fast": 60, "default": 20}


def classic(path, variables, records=False):
    """Writes a CDF-2 file. Variables are pairs of a name and an array; of record variables, the first dimension is the record."""
    def named(text):
        raw = text.encode()
        return struct.pack(">I", len(raw)) + raw + b"\0" * (-len(raw) % 4)

    sizes = []
    def dimension(n):
        if n not in sizes:
            sizes.append(n)
        return sizes.index(n) + records

    shapes = [[0, *map(dimension, a.shape[1:])] if records else [dimension(n) for n in a.shape] for _, a in variables]
    count = len(variables[0][1]) if records else 0
    raw = [np.ascontiguousarray(a).astype(a.dtype.newbyteorder(">")) for _, a in variables]
    slots = [a.nbytes // (count or 1) for a in raw]
    padded = [n + (-n % 4 if len(raw) > 1 or not records else 0) for n in slots]

    def header(begin):
        out = bytearray(b"CDF\x02" + struct.pack(">III", count, 10, len(sizes) + records))
        out += (named("t") + struct.pack(">I", 0)) if records else b""
        out += b"".join(named(f"n{n}") + struct.pack(">I", n) for n in sizes)
        out += struct.pack(">IIII", 0, 0, 11, len(variables))
        for (name, a), ids, size in zip(variables, shapes, padded):
            out += named(name) + struct.pack(f">I{len(ids)}I", len(ids), *ids) + struct.pack(">II", 0, 0)
            kind = TYPES["S1" if a.dtype.kind == "S" else a.dtype.kind + str(a.dtype.itemsize)]
            out += struct.pack(">IIq", kind, size, begin)
            begin += size
        return out

    with open(path, "wb") as f:
        f.write(header(len(header(0))))
        if not records:
            for a, size in zip(raw, padded):
                f.write(a.tobytes().ljust(size, b"\0"))
            return
        # All records at once: a matrix of bytes, one row for each.
        rows = np.zeros((count, sum(padded)), "u1")
        at = 0
        for a, slot, size in zip(raw, slots, padded):
            rows[:, at:at + slot] = a.reshape(count, -1).view("u1").reshape(count, slot)
            at += size
        f.write(rows.tobytes())


def letters(rng, shape, of=b"abcdefghijklmnopqrst"):
    return np.frombuffer(of, "S1")[rng.integers(0, len(of), shape)]


def smooth(rng, *shape):
    """A field with a spectrum as of the atmosphere's: sums of waves."""
    grids = np.meshgrid(*(np.linspace(0, 6, n) for n in shape), indexing="ij", sparse=True)
    field = np.zeros(shape)
    for k in range(1, 7):
        waves = [np.sin(k * g * rng.uniform(0.5, 1.5) + rng.uniform(0, 6)) for g in grids]
        product = waves[0]
        for wave in waves[1:]:
            product = product * wave
        field += product / k
    return field


def rows_of_text(lines, width):
    raw = b"".join(line.encode().ljust(width)[:width] for line in lines)
    return np.frombuffer(raw, "S1").reshape(len(lines), width)


def kinds(rng):
    """Yields the name of a kind, its variables, and whether they are records."""
    def records(name, **variables):
        return name, list(variables.items()), True

    def fixed(name, **variables):
        return name, list(variables.items()), False

    def five(make):
        return {f"v{i}": make() for i in range(5)}

    n = 300_000
    yield records("records of five i2 with few values", **five(lambda: rng.integers(0, 50, n).astype("i2")))
    yield records("records of five f8 with few values", **five(lambda: rng.integers(0, 90, n // 2).astype("f8") / 4))
    yield records("records of ten f4, integers 0 to 900", **{f"v{i}": rng.integers(0, 900, n // 2).astype("f4") for i in range(10)})
    yield records("records of char, 20 letters each", text=letters(rng, (n // 2, 20)))
    yield records("records of i1, f8, char, f4 mixed", a=rng.integers(0, 9, n).astype("i1"), b=np.cumsum(rng.integers(0, 9, n)).astype("f8"),
                  c=letters(rng, n, b"ABC"), d=(280 + rng.normal(0, 1, n)).round(1).astype("f4"))
    yield records("records of i1", a=rng.normal(0, 6, 12 * n).astype("i1"))
    yield records("records of one f4 of few values, a count each", a=rng.poisson(3, 4 * n).astype("f4"))
    yield records("1,000 record variables of f4, 500 records", **{f"v{i}": (rng.normal(0, 1, 500).cumsum()).astype("f4") for i in range(1000)})
    yield fixed("random bytes", a=rng.integers(-128, 128, 4_000_000).astype("i1"))
    yield fixed("random letters", a=letters(rng, (80_000, 50)))
    yield fixed("random char of 256 values", a=rng.integers(0, 256, 4_000_000).astype("u1").view("S1"))
    words = ["wind", "from", "the", "north", "clear", "sky", "visibility", "rain", "and", "snow", "above", "station", "pressure"]
    words += ["".join(map(chr, rng.integers(97, 123, rng.integers(3, 11)))) for _ in range(800)]
    yield fixed("text of words", a=rows_of_text([" ".join(rng.choice(words, 12)) for _ in range(40_000)], 80))
    yield fixed("names of stations, sorted", a=rows_of_text([f"ST{i:06d} {words[i % 800]} {i * 7919 % 360:3d}" for i in range(100_000)], 32))
    yield fixed("reports after one template", a=rows_of_text(
        [f"METAR K{words[i % 300][:3].upper():3} {i % 28 + 1:02d}{i % 24:02d}53Z {rng.integers(0, 36):02d}0{rng.integers(3, 20):02d}KT 10SM CLR" for i in range(60_000)], 64))
    yield fixed("2,000 small arrays of floats", **{f"v{i}": (280 + rng.normal(0, 3, 160)).astype("f4") for i in range(2000)})
    yield fixed("2,000 small arrays of doubles, decimals", **{f"v{i}": rng.normal(10, 3, 160).round(2) for i in range(2000)})
    yield fixed("16,000 small arrays of floats", **{f"v{i}": (280 + rng.normal(0, 3, 200)).astype("f4") for i in range(16_000)})
    yield fixed("4,000 small arrays of text", **{f"v{i}": letters(rng, 300) for i in range(4000)})
    yield fixed("400 arrays of 1,500 doubles", **{f"v{i}": rng.normal(0, 1, 1500).cumsum() for i in range(400)})
    yield fixed("a map of 7 categories in blocks", a=np.kron(rng.integers(0, 7, (60, 100)), np.ones((32, 32))).astype("i1"))
    yield fixed("a map of 7 categories, ragged", a=np.digitize(smooth(rng, 1500, 2000), [-1, -.5, -.2, 0, .3, .8]).astype("i1"))
    yield fixed("flags, three values at random", a=rng.choice(np.array([0, 1, 4], "i1"), (1500, 2000), p=[.9, .07, .03]))
    yield fixed("steps, each value 1,000 times", a=np.repeat(rng.normal(0, 1, 2000).astype("f4"), 1000))
    yield fixed("runs of zeros and ones of any length", a=np.repeat(np.arange(20_000) % 2, rng.integers(1, 200, 20_000)).astype("i2"))
    yield fixed("one value in a hundred is not zero", a=np.where(rng.random((1000, 1500)) < .01, rng.random((1000, 1500)), 0).astype("f4"))
    yield fixed("floats, white noise", a=rng.normal(0, 1, (1000, 1500)).astype("f4"))
    yield fixed("doubles, white noise", a=rng.normal(0, 1, (700, 1000)))
    yield fixed("doubles that are floats", a=smooth(rng, 700, 1000).astype("f4").astype("f8"))
    yield fixed("floats, smooth with noise", a=(280 + 20 * smooth(rng, 20, 200, 360) + rng.normal(0, .05, (20, 200, 360))).astype("f4"))
    yield fixed("floats, smooth, half of them missing",
                a=np.where(smooth(rng, 1000, 1500) > 0, (smooth(rng, 1000, 1500) * 9).round(2), 1e20).astype("f4"))
    yield fixed("floats on a grid of hundredths", a=(smooth(rng, 1000, 1500) * 30).round(2).astype("f4"))
    yield fixed("shorts, smooth", a=(smooth(rng, 1500, 2000) * 9000).astype("i2"))
    yield fixed("shorts, white noise", a=rng.integers(-32768, 32767, (1500, 1500)).astype("i2"))
    yield fixed("ints, white noise", a=rng.integers(-2**31, 2**31, (1000, 1500)).astype("i4"))
    yield fixed("ints, sorted", a=np.sort(rng.integers(0, 2**31, 1_500_000)).astype("i4"))
    yield fixed("times in steps of six hours with gaps", a=np.cumsum(np.where(rng.random(800_000) < .001, 30, 6)).astype("f8"))
    yield fixed("noise that repeats every 200 KB", a=np.tile(rng.normal(0, 1, 50_000).astype("f4"), 40))
    yield fixed("one value throughout", a=np.full((1000, 1500), 3.5, "f4"))


def seconds(command, reps):
    """The least processor time of some runs."""
    best = None
    for _ in range(reps):
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        error = child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        child.stderr.close()
        if child.returncode:
            sys.exit(f"{' '.join(command)}: {error.decode(errors='replace')}")
        best = min(best or 1e9, used.ru_utime + used.ru_stime)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nc3z", action="append", help="the command [target/release/nc3z]; a second one is shown beside it")
    parser.add_argument("--only", type=re.compile, default=re.compile(""), help="kinds to run, a regular expression")
    parser.add_argument("--reps", type=int, default=2, help="runs of each command; the least time counts")
    parser.add_argument("--dir", help="folder for the files [/dev/shm, or the system's folder for temporary files]")
    args = parser.parse_args()
    builds = args.nc3z or ["target/release/nc3z"]
    folder = args.dir or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    ways = [(preset, build) for preset in ("fast", "default") for build in builds]
    print("| kind | MB | " + " | ".join(preset if build == builds[0] else f"{preset}, other build" for preset, build in ways) + " | zstd -3 |")
    print("|---|--:|" + "--:|" * (len(ways) + 1))
    failures, count = [], 0
    with tempfile.TemporaryDirectory(dir=folder) as work:
        source = f"{work}/a.nc"
        for name, variables, records in kinds(np.random.default_rng(1)):
            if not args.only.search(name):
                continue
            count += 1
            classic(source, variables, records)
            raw = os.path.getsize(source)
            speed, size, cells = {}, {}, []
            for preset, build in ways:
                target = f"{work}/a.nc3z"
                command = [build, "archive", "--no-verify", "--threads", "1", "--preset", preset, "--force", "-o", target, source]
                speed[preset, build] = raw / 1e6 / max(seconds(command, args.reps), 1e-3)
                size[preset, build] = os.path.getsize(target)
                cells.append(f"{speed[preset, build]:.0f}, {raw / size[preset, build]:.2f}")
            if shutil.which("zstd"):
                took = seconds(["zstd", "-q", "-f", "-3", "-T1", source, "-o", f"{work}/a.zst"], args.reps)
                cells.append(f"{raw / 1e6 / max(took, 1e-3):.0f}, {raw / os.path.getsize(f'{work}/a.zst'):.2f}")
            print(f"| {name} | {raw / 1e6:.1f} | " + " | ".join(cells) + " |", flush=True)
            for preset, least in LEAST.items():
                if speed[preset, builds[0]] < least:
                    failures.append(f"{name}: `{preset}` stores {speed[preset, builds[0]]:.1f} MB/s, expected at least {least}")
            fast, default = size["fast", builds[0]], size["default", builds[0]]
            # The preset's own name is longer, and blocks begin at multiples of 8 bytes.
            if default > fast + 24:
                failures.append(f"{name}: `default` takes {default} bytes, `fast` {fast}")
    print("\n".join(["", *failures]) if failures else f"\n{count} kinds, no cliff")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

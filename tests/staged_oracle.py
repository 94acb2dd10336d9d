#!/usr/bin/env python3
"""Random programs of get, set, resize and load by versioned-hdf5's StagedChangesArray, checked against NumPy, and noted down for ours to repeat.

    python tests/staged_oracle.py --programs 10000 --seed 5000 --trace programs.jsonl
    NC3Z_STAGED_TRACE=$PWD/programs.jsonl cargo test --release -p nc3z-staged --test staged programs_of_versioned_hdf5

A line of the trace is a program: shape, chunk, fill value, and for each operation the index, the CRC of what it gives (of the array after it, where it gives nothing), and `base`: the chunks of the base slab that
versioned-hdf5 read for it, by their row-major numbers in the first grid. Values follow from positions: base element i is i + 1, the array of operation k is 1,000,000 (k + 1) and on.
Integers, slices with positive steps and one list or mask are what StagedChangesArray takes; the property tests have the other kinds beside a plain array.
"""

import argparse
import itertools
import json
import zlib
from pathlib import Path

import numpy as np
from versioned_hdf5.staged_changes import StagedChangesArray

NEVER_SHOWN = -999


class Counting:
    """A base slab that remembers which chunks were read."""

    def __init__(self, data, chunk_rows):
        self.data, self.chunk_rows, self.chunks = data, chunk_rows, set()
        self.dtype, self.shape, self.ndim, self.size = data.dtype, data.shape, data.ndim, data.size

    def __getitem__(self, index):
        first = index[0] if isinstance(index, tuple) else index
        start = first.start if isinstance(first, slice) else first
        self.chunks.add(int(start) // self.chunk_rows)
        return self.data[index]

    def take(self):
        found, self.chunks = sorted(self.chunks), set()
        return found


def build(shape, chunk, fill):
    """Every chunk in one base slab, row-major; the rest of edge chunks is a value that must never show."""
    base = np.arange(1, 1 + int(np.prod(shape)), dtype=np.int64).reshape(shape)
    grid = tuple(-(-s // c) for s, c in zip(shape, chunk))
    count = int(np.prod(grid))
    slab = np.full((count * chunk[0],) + chunk[1:], NEVER_SHOWN, np.int64)
    for n, at in enumerate(itertools.product(*map(range, grid))):
        part = base[tuple(slice(i * c, (i + 1) * c) for i, c in zip(at, chunk))]
        slab[(slice(n * chunk[0], n * chunk[0] + part.shape[0]),) + tuple(slice(k) for k in part.shape[1:])] = part
    counting = Counting(slab, chunk[0])
    offsets = (np.arange(count, dtype=np.uint64) * chunk[0]).reshape(grid)
    return base.copy(), StagedChangesArray(shape, chunk, [counting], np.ones(grid, np.uint64), offsets, fill), counting


def random_index(rng, shape):
    out, has_list = [], False
    for n in shape:
        kind = rng.integers(0, 8)
        if n == 0 or kind < 3:
            a, b = sorted(rng.integers(0, n + 1, 2))
            out.append(slice(int(a), int(b), int(rng.integers(1, 4))))
        elif kind < 5:
            out.append(int(rng.integers(-n, n)))
        elif kind < 7 and not has_list:
            has_list = True
            out.append([int(i) for i in rng.integers(-n, n, rng.integers(0, 5))] if kind == 5 else [bool(b) for b in rng.random(n) < 0.4])
        else:
            out.append(slice(None))
    # NumPy moves the axis of a list to the front where a slice is between it and an integer; StagedChangesArray refuses that.
    places = [i for i, x in enumerate(out) if not isinstance(x, slice)]
    if has_list and places[-1] - places[0] + 1 != len(places):
        out = [x if isinstance(x, (slice, list)) else slice(x, x + 1 or None) for x in out]
    return out


def for_numpy(index):
    return tuple(np.array(x, bool if x and isinstance(x[0], bool) else np.int64) if isinstance(x, list) else x for x in index)


def for_json(index):
    return [[x.start, x.stop, x.step] if isinstance(x, slice) else {"int": x} if isinstance(x, int) else {"list": x} for x in index]


def crc(array):
    return zlib.crc32(np.ascontiguousarray(array, "<i8").tobytes())


def program(seed, steps=20):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    shape = tuple(int(x) for x in rng.integers(1, (41, 16, 9)[rank - 1], rank))
    chunk = tuple(int(x) for x in rng.integers(1, 6, rank))
    fill = -1
    model, staged, counting = build(shape, chunk, fill)
    operations = []
    for k in range(steps):
        what = str(rng.choice(["get", "set", "scalar", "resize", "load"], p=[0.35, 0.3, 0.15, 0.17, 0.03]))
        noted = {"op": what}
        if what in ("get", "set", "scalar"):
            index = random_index(rng, model.shape)
            noted["index"], usable = for_json(index), for_numpy(index)
            expected = model[usable]
            if what == "get":
                assert np.array_equal(staged[usable], expected), (seed, k, index)
                noted["crc"] = crc(expected)
            else:
                first = 1_000_000 * (k + 1)
                model[usable] = staged[usable] = first + np.arange(expected.size).reshape(expected.shape) if what == "set" else first
        elif what == "resize":
            new = tuple(max(0, int(n + rng.integers(-6, 9))) for n in model.shape)
            noted["shape"] = new
            grown = np.full(new, fill, np.int64)
            both = tuple(slice(min(a, b)) for a, b in zip(new, model.shape))
            grown[both] = model[both]
            model = grown
            staged.resize(new)
        else:
            staged.load()
        noted["base"] = counting.take()
        if what != "get":
            assert np.array_equal(staged[...], model), (seed, k, noted)
            noted["crc"] = crc(model)
            counting.take()
        operations.append(noted)
    return {"seed": seed, "shape": shape, "chunk": chunk, "fill": fill, "ops": operations}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trace", type=Path, required=True)
    args = parser.parse_args()
    with args.trace.open("w", encoding="utf-8") as out:
        for seed in range(args.seed, args.seed + args.programs):
            out.write(json.dumps(program(seed)) + "\n")
    print(f"{args.programs} programs, each as by NumPy")


if __name__ == "__main__":
    main()

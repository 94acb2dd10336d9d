#!/usr/bin/env python3
"""Simulates a tree of 10^6 files and 1 PB: hours to archive it, requests, bytes, recalls from tape, cost of requests.

    python3 bench/petabyte.py                        # the tables of docs/scale.md
    python3 bench/petabyte.py --files 100000 --bytes 1e14 --nodes 16 --selected 0.001

Measured constants are read from bench/petabyte.json, which bench/petabyte_measure.py writes. All others are in CITED, with their sources, or are options,
which describe the tree and the machine. Only the standard library is needed.
"""

import argparse
import heapq
import json
import random
from dataclasses import dataclass
from math import ceil, log
from pathlib import Path

MIB = 1 << 20
MEASURED = json.loads((Path(__file__).resolve().parent / "petabyte.json").read_text())

#: Constants that were not measured here: value, unit, source.
CITED = {
    "put_dollars": (0.005 / 1000, "US$ a PUT, POST or LIST", "aws.amazon.com/s3/pricing, Standard, us-east-1, as quoted by c3x.dev/blog/s3-request-fees-explained"),
    "get_dollars": (0.0004 / 1000, "US$ a GET", "the same"),
    "get_rate": (5500, "GET/s of a prefix, at least", "docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html"),
    "get_latency": (0.026, "s a GET of 128 KiB, median", "github.com/sirupsen/napkin-math/pull/39"),
    "node_rate": (10.87e9 / 8, "bytes/s from S3 to a node, 128 requests at once", "github.com/NOFireAI/ravel/issues/845"),
    "object_low": (10e9, "bytes, recommended least size of a file on tape", "docs.dkrz.de/doc/datastorage/hsm"),
    "object_high": (200e9, "bytes, recommended largest size", "the same"),
    "quota_unit": (1e9, "bytes, the unit of the quota of a file", "the same"),
    "tape_bytes": (18e12, "bytes of an LTO-9 cartridge", "itjungle.com/2021/09/08/lto-9-drives-and-cartridges-finally-get-out-the-door"),
    "tape_rate": (300e6, "bytes/s of an LTO-9 drive (half height)", "IBM TS2290 user's guide, manuals.online/ibm/dc-drive/ts2290/user-manual/x5kt"),
    "tape_mount": (16 + 62 + 56, "s to load, rewind and unload", "the same"),
    "tape_locate": (65, "s to space to a record from the load point, on average", "the same"),
}

#: Requests of nc3z and parts of uploads: docs/remote.md, and S3's limits of 10,000 parts of at least 5 MiB
#: (docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html).
READ_BYTES, PART_BYTES, MOST_PARTS = 16 * MIB, 64 * MIB, 10_000


def cited(name):
    return CITED[name][0]


@dataclass
class Tree:
    """Files in the order of their directories: original and stored bytes, and the bundle of each."""

    original: list
    stored: list
    bundle: list

    @property
    def bundles(self):
        found = {}
        for n, stored in zip(self.bundle, self.stored, strict=True):
            found[n] = found.get(n, 0) + stored
        return [found[n] for n in sorted(found)]


def grow(files, total, sigma, target, ratio, seed):
    """Lengths are log-normal, with the mean that the total gives. Bundles are filled in order, as `nc3z bundle --target-size` does."""
    chance = random.Random(seed)
    lengths = [chance.lognormvariate(0, sigma) for _ in range(files)]
    scale = total / sum(lengths)
    original = [length * scale for length in lengths]
    stored = [length / ratio for length in original]
    bundle, last, filled = [], 0, 0.0
    for length in original:
        if filled and filled + length > target:
            last, filled = last + 1, 0.0
        bundle.append(last)
        filled += length
    return Tree(original, stored, bundle)


def makespan(seconds, workers):
    """Seconds until the last task ends, if each worker takes the next task when it is free."""
    free = [0.0] * workers
    for task in seconds:
        heapq.heapreplace(free, free[0] + task)
    return max(free)


def puts(length):
    """Requests to upload an object: one, or the parts and two more."""
    if length <= PART_BYTES:
        return 1
    return ceil(length / max(PART_BYTES, length / MOST_PARTS)) + 2


def tiles(length):
    """Tiles of a file: each at least one."""
    return max(1, ceil(length / MEASURED["tile_bytes"]))


def catalog_bytes(tree):
    """Bytes of the catalogue of each bundle."""
    found = {}
    for n, length in zip(tree.bundle, tree.original, strict=True):
        found[n] = found.get(n, 0) + MEASURED["catalog_bytes_per_file"] + tiles(length) * MEASURED["catalog_bytes_per_tile"]
    return [found[n] for n in sorted(found)]


def work(tree, nodes, cores):
    """Hours of each step on all nodes: of the processors, and of the network."""
    workers, rate = nodes * cores, nodes * cited("node_rate")
    original, stored = sum(tree.original), sum(tree.stored)
    steps = [
        ("archive, with proof", [length * MEASURED["archive_seconds_per_gb"] / 1e9 for length in tree.original], original + stored),
        ("bundle", [length * MEASURED["bundle_seconds_per_stored_gb"] / 1e9 for length in tree.bundles], 2 * stored),
        ("catalog", index_seconds(tree), stored),
    ]
    return [(name, sum(seconds) / 3600, makespan(seconds, workers) / 3600, moved / rate / 3600, moved) for name, seconds, moved in steps]


def index_seconds(tree):
    found = {}
    for n, length in zip(tree.bundle, tree.original, strict=True):
        found[n] = found.get(n, 0) + length * MEASURED["index_seconds_per_gb"] / 1e9
    return [found[n] for n in sorted(found)]


def chosen(tree, share, scattered, seed):
    """Numbers of files with the values that are looked for: at random, or one after another from a random one on."""
    count = max(1, round(share * len(tree.original)))
    chance = random.Random(seed)
    if scattered:
        return sorted(chance.sample(range(len(tree.original)), count))
    first = chance.randrange(len(tree.original) - count + 1)
    return list(range(first, first + count))


def requests(kind, files, bundles=0):
    """Requests and bytes to read one map of each file."""
    opened = bundles if kind == "bundle" else files
    reads = opened * MEASURED[f"{kind}_open_requests"] + files * MEASURED[f"{kind}_map_requests"]
    return reads, opened * MEASURED[f"{kind}_open_bytes"] + files * MEASURED[f"{kind}_map_bytes"]


def tape(lengths, numbers):
    """Recalls, bytes, cartridges and hours of one drive, for objects that are on cartridges in their order."""
    recalled = sorted(set(numbers))
    places, at = [], 0.0
    for length in lengths:
        places.append(at)
        at += length
    cartridges = {int(places[n] // cited("tape_bytes")) for n in recalled}
    moved = sum(lengths[n] for n in recalled)
    seconds = len(cartridges) * cited("tape_mount") + len(recalled) * cited("tape_locate") + moved / cited("tape_rate")
    return len(recalled), moved, len(cartridges), seconds / 3600


def dollars(gets, put=0):
    return gets * cited("get_dollars") + put * cited("put_dollars")


def size(nbytes):
    for unit, name in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if nbytes >= 0.9995 * unit:
            return f"{number(nbytes / unit)} {name}"
    return f"{number(nbytes / 1e3)} KB"


def number(x):
    """Three digits, without an exponent."""
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def table(title, heads, rows):
    print(f"\n{title}\n\n| {' | '.join(heads)} |\n|{'---|' + '--:|' * (len(heads) - 1)}")
    for row in rows:
        print("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else number(cell) if isinstance(cell, float) else cell for cell in row) + " |")


def report(args):
    tree = grow(args.files, args.bytes, log(args.spread), args.target, args.ratio, args.seed)
    bundles, catalogs = tree.bundles, catalog_bytes(tree)
    stored = sum(tree.stored)
    quota = sum(max(1, ceil(s / cited("quota_unit"))) for s in tree.stored), sum(max(1, ceil(s / cited("quota_unit"))) for s in bundles)
    table(
        "Objects", ["", "files", "archives", "bundles", "catalogues"],
        [
            ["objects", len(tree.original), len(tree.stored), len(bundles), len(catalogs)],
            ["bytes", size(args.bytes), size(stored), size(stored), size(sum(catalogs))],
            ["mean size", *(size(sum(x) / len(x)) for x in (tree.original, tree.stored, bundles, catalogs))],
            ["quota in GB, each rounded up", sum(ceil(x / cited("quota_unit")) for x in tree.original), *quota, sum(ceil(x / cited("quota_unit")) for x in catalogs)],
        ],
    )
    rows = [[name, core, busy, moving, size(moved)] for name, core, busy, moving, moved in work(tree, args.nodes, args.cores)]
    total = [sum(row[n] for row in rows) for n in (1, 2, 3)]
    slowest = sum(max(row[2], row[3]) for row in rows)
    rows.append(["all, one step after another", *total, f"{slowest:.2f} h"])
    table(f"Work on {args.nodes} nodes of {args.cores} cores", ["step", "core hours", "hours, processors", "hours, network", "bytes moved"], rows)

    put = [sum(map(puts, lengths)) for lengths in (tree.original, tree.stored, bundles, catalogs)]
    gets = sum(ceil(length / READ_BYTES) for length in tree.original)
    table(
        "Writing to S3", ["", "PUT", "US$"],
        [[name, n, dollars(0, n)] for name, n in zip(("the files", "an object for each archive", "bundles", "catalogues"), put, strict=True)]
        + [["(GET of all files once)", gets, dollars(gets)]],
    )

    listing = ceil(args.files / 1000)
    everything = sum(ceil(length / READ_BYTES) for length in catalogs)
    some = chosen(tree, args.selected, True, args.seed), chosen(tree, args.selected, False, args.seed)
    touched = [sorted({tree.bundle[n] for n in numbers}) for numbers in some]
    n = len(tree.original)
    rows = []
    whole = sum(ceil(length / READ_BYTES) for length in tree.stored)
    for name, (reads, moved) in (
        ("one map of each file: files", requests("classic", n)),
        ("one map of each file: archives", requests("archive", n)),
        ("one map of each file: bundles", requests("bundle", n, len(bundles))),
        ("statistics of all: archives, all values read", (whole + 2 * n, stored)),
        ("statistics of all: catalogues", (everything, sum(catalogs))),
        (f"where, {args.selected:.0%} scattered: archives, all values read", (whole + 2 * n, stored)),
        (f"where, {args.selected:.0%} scattered: catalogues, then a map each", add((everything, sum(catalogs)), requests("bundle", len(some[0]), len(touched[0])))),
        (f"where, {args.selected:.0%} together: catalogues on disk, then a map each", requests("bundle", len(some[1]), len(touched[1]))),
    ):
        waiting = reads * cited("get_latency") / (args.nodes * 128)
        rate = cited("node_rate") * args.nodes
        rows.append([name, int(reads), size(moved), dollars(reads), max(waiting, moved / rate), reads / cited("get_rate")])
    rows.append(["list the files", listing, "", dollars(0, listing), "", ""])
    heads = ["", "GET", "bytes", "US$", f"seconds on {args.nodes} nodes, at least", "seconds at one prefix's rate"]
    table("Reading from S3", heads, rows)
    parse = sum(map(tiles, tree.original)) * MEASURED["stats_seconds_per_million_tiles"] / 1e6
    parse = (parse + len(tree.original) * MEASURED["stats_seconds_per_thousand_files"] / 1e3) / 3600
    print(f"\nReading the statistics in all catalogues takes {parse:.3g} core hours, and {parse / args.nodes / args.cores * 3600:.3g} s on all cores.")

    rows = []
    for name, numbers, own in zip(("scattered", "together"), some, touched, strict=True):
        rows.append([f"{args.selected:.0%} of the files, {name}: files", *shown(tape(tree.original, numbers))])
        rows.append([f"{args.selected:.0%} of the files, {name}: archives", *shown(tape(tree.stored, numbers))])
        rows.append([f"{args.selected:.0%} of the files, {name}: bundles", *shown(tape(bundles, own))])
    rows.append(["all values, without a catalogue: bundles", *shown(tape(bundles, range(len(bundles))))])
    rows.append(["statistics, find, which files: catalogues on disk", 0, "0", 0, 0.0])
    table("Recalls from tape", ["", "recalls", "bytes", "cartridges", "hours of one drive"], rows)


def add(a, b):
    return a[0] + b[0], a[1] + b[1]


def shown(found):
    recalls, moved, cartridges, hours = found
    return recalls, size(moved), cartridges, hours


def constants():
    table("Measured", ["constant", "value"], [[name, str(value)] for name, value in MEASURED.items()])
    print("\n| constant | value | unit | source |\n|---|--:|---|---|")
    for name, (value, unit, source) in CITED.items():
        print(f"| {name} | {value:g} | {unit} | {source} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--bytes", type=float, default=1e15)
    parser.add_argument("--spread", type=float, default=2.7, help="standard deviation of lengths as a factor (1: all are equal)")
    parser.add_argument("--ratio", type=float, default=MEASURED["ratio"], help="original to stored bytes (default: as measured)")
    parser.add_argument("--target", type=float, default=50e9, help="bytes of the files of a bundle")
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--cores", type=int, default=64)
    parser.add_argument("--selected", type=float, default=0.01, help="share of the files that have the values looked for")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--constants", action="store_true", help="print the constants and their sources")
    args = parser.parse_args()
    if args.constants:
        constants()
    else:
        report(args)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Is a peer ahead in size and speed at once? For each file and peer, names the preset of nc3z that is at least as small, stores
at least as fast and fetches at least as fast.

    pareto.py [--nc3z PATH] [--reps N] [--least BYTES] [--write] FOLDER...

One run measures everything, with one thread: all methods of a file take turns, and the least processor time of the turns counts.
Programs and nc3z run as commands, which write files in memory. Array peers run inside a process that has imported everything; they
store arrays only, and their sizes include what `xz -9e` makes of the rest (README.md). Peers that are not installed are left out.
Prints Markdown; --write replaces the section of docs/benchmarks.md.
"""
import argparse
import importlib.util
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from nc3zbench import arraypeers, child, corpus
from nc3zbench.files import COMMANDS, nc3z_command
from nc3zbench.report import geo, table

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/benchmarks.md"
BEGIN, END = "<!-- bench/pareto.py -->", "<!-- bench/pareto.py: end -->"
PRESETS = ("fast", "default", "max")


def zstd(level):
    return f"zstd -q -f -{level} --single-thread {{src}} -o {{out}}", "zstd -q -f -d {out} -o {back}", ".zst"


PROGRAMS = {
    "lz4 -1": ("lz4 -q -f -1 {src} {out}", "lz4 -q -f -d {out} {back}", ".lz4"),
    "zstd -1": zstd(1),
    "zstd -3": zstd(3),
    "zstd -9": zstd(9),
    "xz -6": ("xz -6 -T1 -c {src} >{out}", "xz -dc {out} >{back}", ".xz"),
    # PnetCDF's chunked CDF-5: bench/pnetcdf_chunk.c, if it is on PATH.
    "pnetcdf-chunk zlib": ("pnetcdf-chunk store {src} {out}", "pnetcdf-chunk fetch {out} {back}", ".nc5"),
    **{name: COMMANDS[name] for name in ("gzip -6", "nccopy -d1 -s", "nccopy -d5 -s")},
}
# Each needs the module of that name.
MODULES = {"blosc2 shuffle+zstd 5": "blosc2", "gridpack": "gridpack", "pcodec 8": "pcodec", "openzl": "openzl", "lz4 in 128 KiB": "lz4",
           "lz4 in 1 MiB": "lz4", "zstd -3 in 128 KiB": "zstandard", "zstd -3 in 1 MiB": "zstandard"}
# The slowest programs take one turn.
ONCE = ("max", "xz -6")


def figures(size, store, fetch):
    return dict(size=size, store=store["cpu"], fetch=fetch["cpu"])


class File:
    """The figures of one file, method by method."""

    def __init__(self, path, folder):
        self.path, self.folder, self.raw, self.rows = path, folder, os.path.getsize(path), {}
        self.place = dict(src=shutil.copy(path, f"{folder}/src.nc"), back=f"{folder}/back.nc", kind=corpus.kind(path))

    def note(self, method, row):
        """Keeps the least time of each kind."""
        known = self.rows.setdefault(method, row)
        self.rows[method] = {key: min(value, row[key]) for key, value in known.items()}

    def command(self, method, commands):
        store, fetch, extension = commands
        place = dict(self.place, out=f"{self.folder}/x{extension}")
        try:
            stored, fetched = (child.run(command.format(**place))[0] for command in (store, fetch))
        except child.Failed as error:
            print(f"{self.path}: {method}: {error}", file=sys.stderr)
            return
        self.note(method, figures(os.path.getsize(place["out"]), stored, fetched))

    def arrays(self, method, worker, left_out):
        row = worker.ask(self.path)
        if "error" in row:
            print(f"{self.path}: {method}: {row['error']}", file=sys.stderr)
            return
        self.note(method, figures(row["size"] + left_out, row["store"], row["fetch"]))

    def better(self, method):
        """The preset that is ahead of a peer in everything, or None."""
        peer = self.rows[method]
        ours = (preset for preset in PRESETS if preset in self.rows)
        return next((p for p in ours if all(self.rows[p][key] <= peer[key] for key in peer)), None)


def measure(path, folder, commands, workers, reps):
    file = File(path, folder)
    left_out = corpus.left_out(path) if workers else 0
    for turn in range(reps):
        for method, of in commands.items():
            if turn == 0 or method not in ONCE:
                file.command(method, of)
        for method, worker in workers.items():
            file.arrays(method, worker, left_out)
    return file


def report(files, methods):
    peers = [m for m in methods if m not in PRESETS and any(m in f.rows for f in files)]
    rows = []
    for m in peers:
        have = [f for f in files if m in f.rows]
        ahead = {p: sum(f.better(m) == p for f in have) for p in (*PRESETS, None)}
        rows.append([m, len(have), *(ahead[p] for p in PRESETS), ahead[None]])
    text = table(["peer", "files", *(f"`{p}`" for p in PRESETS), "no preset"], rows)
    rows = []
    for m in methods:
        have = [f for f in files if m in f.rows]
        if have:
            speed = lambda key: geo(f.raw / 1e6 / max(f.rows[m][key], 1e-4) for f in have)  # noqa: B023
            rows.append([f"nc3z `{m}`" if m in PRESETS else m, f"{geo(f.raw / f.rows[m]['size'] for f in have):.2f}", f"{speed('store'):.0f}",
                         f"{speed('fetch'):.0f}"])
    text += table(["geometric means", "ratio", "store MB/s", "fetch MB/s"], rows)
    rows = []
    for f in files:
        lost = [m for m in peers if m in f.rows and f.better(m) is None]
        show = lambda m: f"{f.raw / f.rows[m]['size']:.2f}, {f.raw / 1e6 / f.rows[m]['store']:.0f}, {f.raw / 1e6 / f.rows[m]['fetch']:.0f}"  # noqa: B023
        rows.append([Path(f.path).name, f"{f.raw / 1e6:.1f}", *(show(p) if p in f.rows else "-" for p in PRESETS),
                     "; ".join(f"{m}: {show(m)}" for m in lost) or "-"])
    return text + table(["file", "MB", *(f"`{p}`: ratio, store, fetch" for p in PRESETS), "peers of which no preset is ahead"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", help="classic files or folders of them")
    parser.add_argument("--nc3z", default=str(ROOT / "target/release/nc3z"))
    parser.add_argument("--reps", type=int, default=5, help="turns of each method")
    parser.add_argument("--least", type=int, default=1_000_000, help="bytes of the smallest file")
    parser.add_argument("--only", type=re.compile, default=re.compile(""), help="methods, a regular expression")
    parser.add_argument("--write", action="store_true", help="write the section of docs/benchmarks.md")
    args = parser.parse_args()
    programs = {name: of for name, of in PROGRAMS.items() if shutil.which(name.split()[0])}
    commands = {**programs, **{preset: nc3z_command(args.nc3z, preset) for preset in PRESETS}}
    commands = {name: of for name, of in commands.items() if args.only.search(name)}
    files = []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        arrays = [peer for peer, module in MODULES.items() if importlib.util.find_spec(module)]
        arrays += arraypeers.CRATES  # with the library of bench/peers
        arrays = list(filter(args.only.search, arrays))
        workers = {peer: child.Worker(sys.executable, ["file", peer, f"{folder}/{at}", 1]) for at, peer in enumerate(arrays)}
        for path, _ in corpus.classic_files(args.paths, args.least, 1 << 40):
            files.append(measure(path, folder, commands, workers, args.reps))
            print(Path(path).name, file=sys.stderr, flush=True)
        for worker in workers.values():
            worker.close()
    if not files:
        sys.exit("no classic file in the folders")
    text = "\n".join(report(files, [*commands, *workers]))
    print(text)
    if args.write:
        page = PAGE.read_text()
        if BEGIN not in page or END not in page:
            sys.exit(f"{PAGE}: no section between {BEGIN} and {END}")
        PAGE.write_text(page.split(BEGIN)[0] + BEGIN + "\n\n" + text.rstrip() + "\n\n" + END + page.split(END)[1])


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What reading against a root costs over plain reading: from a local file, and from a server on this machine that waits before each answer.

    cargo build --release -p nc3z-cli -p nc3z-remote --bin nc3z --example verified
    .venv/bin/python bench/verified.py FILE.nc VARIABLE [--bytes 1000000 20000000] [--delay 0 0.02] [--times 31]

The file is archived at the default preset. Medians of runs in turns, each with an empty cache.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))
from servers import Server, serve  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("variable")
    parser.add_argument("--bytes", type=int, nargs="+", default=[1_000_000, 20_000_000])
    parser.add_argument("--delay", type=float, nargs="+", default=[0, 0.02])
    parser.add_argument("--times", type=int, default=31)
    parser.add_argument("--release", type=Path, default=ROOT / "target/release")
    args = parser.parse_args()
    Server.request_queue_size = 256

    def run(*command):
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout

    with tempfile.TemporaryDirectory() as name:
        archive, tree = Path(name) / "a.nc3z", Path(name) / "a.tree"
        run(args.release / "nc3z", "archive", args.file, "-o", archive)
        root = run(args.release / "nc3z", "hash", "--tree", tree, archive).strip()

        def measure(where, file, beside):
            for count in args.bytes:
                times = args.times if count < 5_000_000 else max(args.times // 3, 5)
                line = json.loads(run(args.release / "examples/verified", file, beside, root, args.variable, count, times))
                more = {key: (line[f"{key}_verified"] / line[key] - 1) * 100 for key in ("open", "read")}
                total = (line["open_verified"] + line["read_verified"]) / (line["open"] + line["read"]) * 100 - 100
                print(f"{where:14} {line['bytes'] / 1e6:6.1f} MB  read {line['read'] * 1e3:8.2f} ms  verified {line['read_verified'] * 1e3:8.2f} ms  "
                      f"{more['read']:+6.1f} %   open {line['open'] * 1e3:7.2f} -> {line['open_verified'] * 1e3:7.2f} ms   both {total:+6.1f} %", flush=True)

        measure("local file", archive, tree)
        for delay in args.delay:
            with serve({"a.nc3z": archive.read_bytes(), "a.tree": tree.read_bytes()}, delay=delay) as server:
                measure(f"URL, {delay * 1000:.0f} ms", server.url("a.nc3z"), server.url("a.tree"))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Throughput by the most requests at once, against a server on this machine that waits before each answer.

    cargo build --release -p nc3z-remote --example requests
    .venv/bin/python bench/remote_requests.py [--delay 0.02 0.05] [--megabytes 64] [--most 1 16 64 128] [--times 3]

2,000 values of 8 bytes, each in a request of its own, and one range of 64 MB, which is read in parts. The number of requests begins
at 16 and follows the server up to the most. The best of three.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))
from servers import Server, serve  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, nargs="+", default=[0.02, 0.05])
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--most", nargs="+", default=["1", "16", "64", "128"])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--program", default=str(ROOT / "target/release/examples/requests"))
    args = parser.parse_args()
    # Connections that wait to be accepted; the default of 5 would measure lost packets.
    Server.request_queue_size = 256
    data = os.urandom(args.megabytes * 1_000_000)
    for delay in args.delay:
        best = {}
        with serve({"a.bin": data}, delay=delay) as server:
            for _ in range(args.times):
                done = subprocess.run([args.program, server.url("a.bin"), *args.most], capture_output=True, text=True, check=True)
                for line in map(json.loads, done.stdout.splitlines()):
                    kept = best.setdefault(line["most"], line)
                    for name in ("values_seconds", "whole_seconds"):
                        kept[name] = min(kept[name], line[name])
        for most, line in best.items():
            rate, speed = line["values"] / line["values_seconds"], line["bytes"] / line["whole_seconds"] / 1e6
            print(f"{delay * 1000:4.0f} ms  at most {most:3} at once  {rate:7.0f} values/s  {speed:7.1f} MB/s")


if __name__ == "__main__":
    main()

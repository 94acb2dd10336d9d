#!/usr/bin/env python3
"""Reads one file by DAP2 from several servers, in one run: `nc3z serve` of the archive and of the plain file, pydap's server, xpublish with its
OPeNDAP plug-in. Beside them the file itself, by the same library.

    python3 bench/serve.py --nc3z target/release/nc3z FILE [--variable NAME] [--rounds N] [--json OUT]

Rounds are interleaved; the median counts. Each round opens the address (a new client), reads small parts at random places, and then the whole variable.
After the first round servers have in their caches what they keep. pydap's server has one thread: with
more, the netCDF library, which is not made for them, ended the process. Needs netCDF4; and `pydap[server]`, xpublish, xpublish-opendap and uvicorn for the peers: what is
missing is left out, and named.
"""

import argparse
import http.client
import json
import platform
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import netCDF4
import numpy as np

PARTS = 100
PYDAP = """
import sys
from wsgiref.simple_server import WSGIServer, WSGIRequestHandler, make_server
from pydap.handlers.netcdf_handler import NetCDFHandler
class Quiet(WSGIRequestHandler):
    def log_message(self, *a): pass
make_server("127.0.0.1", int(sys.argv[2]), NetCDFHandler(sys.argv[1]), WSGIServer, Quiet).serve_forever()
"""
XPUBLISH = """
import sys, xarray, xpublish, uvicorn
dataset = xarray.open_dataset(sys.argv[1], decode_times=False, mask_and_scale=False)
rest = xpublish.Rest({"x": dataset})
uvicorn.run(rest.app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, command, url, ready):
        self.url = url
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(ready, timeout=5).read()
                return
            except OSError as e:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.end()
                    raise RuntimeError(f"no server: {e}") from e
                time.sleep(0.2)

    def end(self):
        self.process.kill()
        self.process.wait()


def servers(nc3z, file, work):
    """Name, and what starts it."""
    (work / "archive").mkdir()
    (work / "plain").mkdir()
    (work / "plain" / file.name).write_bytes(file.read_bytes())
    subprocess.run([nc3z, "archive", "-q", file, "-o", work / "archive" / f"{file.name}.nc3z"], check=True)

    def ours(directory):
        port = free_port()
        url = f"http://127.0.0.1:{port}/"
        return Server([nc3z, "serve", work / directory, "--listen", f"127.0.0.1:{port}", "--quiet"], url + file.name, url + "metrics")

    def python(script, end):
        port = free_port()
        url = f"http://127.0.0.1:{port}/{end}"
        return Server([sys.executable, "-c", script, str(work / "plain" / file.name), str(port)], url, url + ".dds")
    return {"nc3z serve, archive": lambda: ours("archive"), "nc3z serve, plain file": lambda: ours("plain"),
            "pydap": lambda: python(PYDAP, "x"), "xpublish": lambda: python(XPUBLISH, "datasets/x/opendap")}


def one(url, name, shape, pick):
    """Times of one round: to open, of each part, of all; and the bytes of all."""
    begin = time.perf_counter()
    dataset = netCDF4.Dataset(url)
    variable = dataset[name]
    variable.set_auto_maskandscale(False)
    opened = time.perf_counter() - begin
    parts = []
    for _ in range(PARTS):
        part = tuple(slice(at, at + 8) for at in (pick.randrange(max(1, n - 8)) for n in shape))
        begin = time.perf_counter()
        variable[part]
        parts.append(time.perf_counter() - begin)
    begin = time.perf_counter()
    values = np.asarray(variable[...])
    whole = time.perf_counter() - begin
    dataset.close()
    return opened, parts, whole, values


def clients(url, name, count=8, each=40):
    """Requests of a small part a second, of several clients at a time."""
    address = f"{url}.dods?{name}" + "%5B0:1%5D" * len(SHAPE)
    failed = []

    def work():
        for _ in range(each):
            try:
                urllib.request.urlopen(address, timeout=60).read()
            except (OSError, http.client.HTTPException) as e:
                failed.append(e)
    threads = [threading.Thread(target=work) for _ in range(count)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return None if failed else count * each / (time.perf_counter() - begin)


SHAPE = ()


def main():
    global SHAPE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nc3z", required=True)
    parser.add_argument("--variable")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    parser.add_argument("file", type=Path)
    args = parser.parse_args()
    with netCDF4.Dataset(args.file) as dataset:
        numbers = [v for v in dataset.variables.values() if v.dtype.kind in "iuf" and v.dtype.itemsize < 8 or v.dtype == np.float64]
        variable = dataset[args.variable] if args.variable else max(numbers, key=lambda v: v.size)
        name, SHAPE = variable.name, variable.shape
        variable.set_auto_maskandscale(False)
        expected = np.asarray(variable[...])
    with tempfile.TemporaryDirectory() as work:
        running = {}
        for server, begin in servers(args.nc3z, args.file, Path(work)).items():
            try:
                running[server] = begin()
            except RuntimeError as e:
                print(f"{server}: left out: {e}", file=sys.stderr)
        results = {server: {"open": [], "part": [], "whole": [], "rate": []} for server in ["the file itself", *running]}
        try:
            for n in range(args.rounds):
                for server, times in list(results.items()):
                    url = running[server].url if server in running else str(args.file)
                    try:
                        opened, parts, whole, values = one(url, name, SHAPE, random.Random(n))
                    except (OSError, RuntimeError) as e:
                        print(f"{server}: left out: {e}", file=sys.stderr)
                        del results[server]
                        continue
                    if not np.array_equal(values, expected, equal_nan=values.dtype.kind == "f"):
                        raise SystemExit(f"{server} gives other values")
                    times["open"].append(opened)
                    times["part"] += parts
                    times["whole"].append(whole)
                    if server in running:
                        times["rate"].append(clients(url, name))
        finally:
            for server in running.values():
                server.end()
    mib = expected.nbytes / 2**20
    print(f"{args.file.name}, {name}{list(SHAPE)}, {mib:.1f} MiB; {platform.machine()}, {args.rounds} rounds, medians\n")
    print("| server | open | a part of 8 along each dimension | all of the variable | requests a second, 8 clients |\n|---|---|---|---|---|")
    table = {}
    for server, times in results.items():
        middle = {key: statistics.median([t for t in times[key] if t]) if any(times[key]) else None for key in times}
        table[server] = middle
        rate = f"{middle['rate']:.0f}" if middle["rate"] else "–"
        print(f"| {server} | {middle['open'] * 1e3:.1f} ms | {middle['part'] * 1e3:.2f} ms | {mib / middle['whole']:.0f} MiB/s | {rate} |")
    if args.json:
        Path(args.json).write_text(json.dumps({"file": args.file.name, "variable": name, "shape": SHAPE, "bytes": expected.nbytes, "seconds": table}, indent=1))


if __name__ == "__main__":
    main()

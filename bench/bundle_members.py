#!/usr/bin/env python3
"""Bundles of very many members: making, opening, slices, appending; on disk and at a URL, where requests are counted.

    cargo build --release -p nc3z-cli
    .venv/bin/python bench/bundle_members.py [--members 1000000] [--nc3z target/release/nc3z] [--dir DIR]

The members are archives of 40 small files, each linked under 25,000 names, so that a million of them take little room. Times are of
whole processes: elapsed and processor seconds, the best of `--times`.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import netCDF4
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))
from servers import serve  # noqa: E402

KINDS = 40


def processor():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(*command):
    begin, before = time.perf_counter(), processor()
    done = subprocess.run([str(c) for c in command], capture_output=True)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr.decode()[:400]}")
    return time.perf_counter() - begin, processor() - before


def make(folder, nc3z, members):
    """Makes the members: KINDS archives with a record of each hour, linked under other names."""
    kinds, out = folder / "kinds", folder / "members"
    kinds.mkdir(parents=True)
    rng = np.random.default_rng(1)
    for n in range(KINDS):
        with netCDF4.Dataset(kinds / f"{n:02}.nc", "w", format="NETCDF3_CLASSIC") as d:
            d.station = f"station {n}"
            d.createDimension("time", None)
            d.createVariable("time", "i4", ("time",))[:] = np.arange(24)
            d["time"].units = "hours since 2001-01-01"
            d.createVariable("t", "f4", ("time",))[:] = np.round(280 + np.cumsum(rng.normal(size=24)), 1)
    run(nc3z, "archive", *sorted(kinds.glob("*.nc")))
    for n in range(members):
        if n % 1000 == 0:
            part = out / f"{n // 1000:04}"
            part.mkdir(parents=True)
        os.link(kinds / f"{n % KINDS:02}.nc.nc3z", part / f"{n:07}.nc.nc3z")
    return kinds, out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--members", type=int, default=1_000_000)
    parser.add_argument("--nc3z", default=str(ROOT / "target/release/nc3z"))
    parser.add_argument("--dir", help="where the members and the bundle are made; a temporary directory by default")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--verify", action="store_true", help="verify the bundle, too, which reads all of it")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.dir) as folder:
        folder, nc3z = Path(folder), args.nc3z
        kinds, members = make(folder, nc3z, args.members)
        lengths = [path.stat().st_size for path in sorted(kinds.glob("*.nc3z"))]
        total = sum(lengths[n % KINDS] for n in range(args.members))
        bundle = folder / "set.bundle.nc3z"
        made = run(nc3z, "bundle", members, "-o", bundle)
        size = bundle.stat().st_size
        report = {"members": args.members, "member_bytes": total, "bundle_bytes": size, "more_than_members": size / total - 1,
                  "make": made}
        middle = args.members // 2
        member = f"{middle // 1000:04}/{middle:07}.nc.nc3z"

        def best(*command):
            return min(run(*command) for _ in range(args.times))

        report["start_of_the_tool"] = best(nc3z, "--version")
        report["slice_of_a_file"] = best(nc3z, "read", members / member, "t", "-d", "time,3")
        report["slice_of_a_member"] = best(nc3z, "read", f"{bundle}!/{member}", "t", "-d", "time,3")
        report["info_of_a_member"] = best(nc3z, "info", f"{bundle}!/{member}")
        with serve({"set.bundle.nc3z": bundle.read_bytes()}) as server:
            url = server.url("set.bundle.nc3z")
            for what, command in (("info_as_stored_by_url", ("info", "--as-stored", url)), ("slice_by_url", ("read", f"{url}!/{member}", "t", "-d", "time,3"))):
                server.asked.clear()
                sent = server.sent
                times = run(nc3z, *command)
                report[what] = {"times": times, "requests": len(server.asked), "bytes": server.sent - sent}
        more = [folder / "one.nc.nc3z", folder / "two.nc.nc3z"]
        for n, path in enumerate(more):
            os.link(kinds / f"{n:02}.nc.nc3z", path)
        report["append_of_two"] = run(nc3z, "bundle", *more, "-o", bundle, "--append")
        report["append_bytes"] = bundle.stat().st_size - size
        if args.verify:
            report["verify"] = run(nc3z, "verify", bundle)
        print(json.dumps(report, indent=2))


main()

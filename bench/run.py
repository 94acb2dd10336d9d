#!/usr/bin/env python3
"""Compares nc3z with lossless peers on any folders of classic netCDF files. See bench/README.md.

    run.py files FOLDER...        whole files of at least 100 KB
    run.py variables FOLDER...    variables of at least 1 MB by themselves
    run.py report                 tables (Markdown) and plots (SVG) of what was measured
    run.py against --only PEER    on which share of the files each preset is not larger than one peer, and where `max` is

Results are kept in --results, a line of JSON each, and a run goes on where it was broken off.
"""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def parse():
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(here)
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["files", "variables", "report", "against"])
    p.add_argument("paths", nargs="*", help="classic files or folders of them")
    p.add_argument("--nc3z", default=f"{root}/target/release/nc3z", help="the command")
    p.add_argument("--num-bench", default=f"{root}/target/release/examples/num_bench",
                   help="cargo build --release -p nc3z-num --example num_bench")
    p.add_argument("--results", default=f"{here}/results", help="folder of the results")
    p.add_argument("--plots", default=f"{root}/docs/benchmarks", help="folder of the plots")
    p.add_argument("--least", type=int, help="bytes of the smallest file (files) or variable (variables)")
    p.add_argument("--most", type=int, default=1 << 40, help="bytes of the largest file")
    p.add_argument("--only", type=re.compile, help="methods to run, a regular expression")
    p.add_argument("--again", type=re.compile, help="methods to run anew")
    p.add_argument("--reps", type=int, default=3, help="runs of each fetch; the least time counts")
    p.add_argument("--jobs", type=int, default=1, help="methods at the same time: for sizes only, times suffer")
    return p.parse_intermixed_args()


def main():
    args = parse()
    os.makedirs(args.results, exist_ok=True)
    from nc3zbench import corpus, files, variables
    from nc3zbench.store import Store
    least = args.least or {"files": 100_000, "variables": 1_000_000}.get(args.what, 0)
    if args.what == "files":
        files.measure(Store(args.results + "/files.jsonl"), corpus.classic_files(args.paths, least, args.most), args.nc3z,
                      args.reps, args.jobs, args.only, args.again)
    elif args.what == "variables":
        variables.measure(Store(args.results + "/variables.jsonl"), corpus.classic_files(args.paths, least, args.most),
                          args.nc3z, args.num_bench, least, args.reps, args.jobs, args.only, args.again)
    elif args.what == "against":
        from nc3zbench import report
        report.against(args.results, args.only.pattern if args.only else "zpaq -m5")
    else:
        from nc3zbench import report
        report.write(args.results, args.plots)


if __name__ == "__main__":
    sys.exit(main())

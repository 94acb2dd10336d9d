#!/usr/bin/env python3
"""Runs the acceptance tests in tests/, several modules at a time, each in a process of its own.

    NC3Z=target/debug/nc3z .venv/bin/python scripts/acceptance.py [--jobs N] [test_reads test_pipes ...]

A line for each module as it ends: tests, time, processor time. What a module printed is shown where it failed or skipped
anything, or with --verbose. The last line is the sum; exit code 1 if anything failed.
"""

import argparse
import faulthandler
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
# Long modules begin first, so that none of them is left to run alone at the end. Others follow by name.
LONGEST = ("test_faults", "test_reads", "test_recompress", "test_inject", "test_parity", "test_repair")
# The longest module takes two minutes. One that takes this many seconds hangs: it ends, and says where it was. NC3Z_NIGHT's take hours.
MODULE_SECONDS = 24 * 3600 if os.environ.get("NC3Z_NIGHT") else 1200
# Messages of modules without failures: the kills and faults that were tried, and the parts that were not tested.
TELLING = re.compile(r"NOT TESTED|: killed \d|\d faults;")


def run_module(name, result):
    """The process of one module: runs its tests and writes the counts."""
    sys.path.insert(0, str(TESTS))
    os.chdir(TESTS.parent)
    faulthandler.dump_traceback_later(MODULE_SECONDS, exit=True)
    program = unittest.main(module=name, argv=[name], exit=False, verbosity=1)
    found = program.result
    bad = len(found.failures) + len(found.errors) + len(found.unexpectedSuccesses)
    counts = {"run": found.testsRun, "bad": bad, "skipped": len(found.skipped)}
    Path(result).write_text(json.dumps(counts), encoding="utf-8")
    return 0


class Run:
    """One module's run: its output, its counts, its times."""

    def __init__(self, name):
        self.name = name
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="nc3z-acceptance-") as work:
            result, log = Path(work, "result"), Path(work, "log")
            with open(log, "wb") as out:
                command = [sys.executable, __file__, "--module", name, str(result)]
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            self.output = log.read_text("utf-8", "replace")
            # A module that broke down, or found no test, has failed.
            self.counts = json.loads(result.read_text("utf-8")) if result.exists() else {"run": 0, "bad": 1, "skipped": 0}
        if process.returncode != 0 or self.counts["run"] == 0:
            self.counts["bad"] = max(1, self.counts["bad"])
        self.seconds = time.monotonic() - begin
        # Of the module and of all programs that it ran.
        self.cpu = usage.ru_utime + usage.ru_stime

    def report(self, verbose):
        c = self.counts
        verdict = "FAILED" if c["bad"] else "ok"
        skipped = f", {c['skipped']} skipped" if c["skipped"] else ""
        print(f"{self.name:<20} {c['run']:>4} tests {self.seconds:7.1f} s {self.cpu:7.1f} s cpu  {verdict}{skipped}")
        if c["bad"] or verbose:
            print(self.output.rstrip())
        else:
            for line in self.output.splitlines():
                if TELLING.search(line):
                    print(f"    {line.strip()}")
        sys.stdout.flush()


def modules(names):
    found = sorted(path.stem for path in TESTS.glob("test_*.py"))
    unknown = sorted(set(names) - set(found))
    if unknown:
        sys.exit(f"no such module: {', '.join(unknown)}")
    order = [name for name in LONGEST if name in found] + [name for name in found if name not in LONGEST]
    return [name for name in order if not names or name in names]


def files_of_tests():
    """The names directly in tests/."""
    return {path.name for path in TESTS.iterdir() if path.name != "__pycache__"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", help="modules to run [default: all]")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("NC3Z_JOBS") or (os.cpu_count() or 1) + 1))
    parser.add_argument("--verbose", action="store_true", help="show what each module prints")
    parser.add_argument("--module", nargs=2, metavar=("NAME", "RESULT"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.module:
        return run_module(*args.module)
    waiting, done, lock = modules(args.modules)[::-1], [], threading.Lock()
    begin = time.monotonic()
    before = files_of_tests()

    def work():
        while True:
            with lock:
                if not waiting:
                    return
                name = waiting.pop()
            run = Run(name)
            with lock:
                done.append(run)
                run.report(args.verbose)

    threads = [threading.Thread(target=work) for _ in range(max(1, args.jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = {key: sum(run.counts[key] for run in done) for key in ("run", "bad", "skipped")}
    failed = [run.name for run in done if run.counts["bad"]]
    print(f"acceptance: {total['run']} tests in {len(done)} modules, {total['bad']} failed, {total['skipped']} skipped; "
          f"{time.monotonic() - begin:.0f} s, {sum(run.cpu for run in done):.0f} s of processor time")
    if failed:
        print(f"failed: {', '.join(failed)}")
    left = sorted(files_of_tests() - before)
    if left:
        print(f"failed: a test left files in tests/: {', '.join(left)}")
    return 1 if failed or left or not done else 0


if __name__ == "__main__":
    sys.exit(main())

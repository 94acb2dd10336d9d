"""Runs one command and prints its cost. Imports nothing large: a child's peak memory starts from its parent's."""
import json
import os
import subprocess
import tempfile
import time


class Failed(Exception):
    """A command that failed, with the last line of its messages."""


def run(command, env=None, timeout=3600):
    """Wall and CPU seconds (user + system) and peak resident bytes of a shell command; and its standard output."""
    begin = time.perf_counter()
    # Messages go into a file: a pipe that nobody reads would stop a command that prints many lines.
    with tempfile.TemporaryFile() as messages:
        child = subprocess.Popen(command, shell=True, stdout=subprocess.PIPE, stderr=messages,
                                 env={**os.environ, **(env or {})})
        out = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        messages.seek(0)
        err = messages.read()
    if child.returncode:
        raise Failed((err.decode(errors="replace").strip().splitlines() or [f"exit {child.returncode}"])[-1][:200])
    return dict(wall=wall, cpu=used.ru_utime + used.ru_stime, rss=used.ru_maxrss * 1024), out


def best(reps, action):
    """The least wall and CPU time of `reps` runs, and the largest memory."""
    runs = [action() for _ in range(reps)]
    return {key: (max if key == "rss" else min)(r[key] for r in runs) for key in runs[0]}


class Worker:
    """A process of the worker module, which measures itself without its imports: a line of JSON for each file it is given."""

    def __init__(self, python, arguments):
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        env = {**os.environ, "PYTHONPATH": here, "BLOSC_NTHREADS": "1", "OMP_NUM_THREADS": "1"}
        command = [python, "-m", "nc3zbench.worker", *map(str, arguments)]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def ask(self, path):
        self.child.stdin.write(path + "\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise Failed(f"the worker ended with {self.child.wait()}")
        return json.loads(line)

    def close(self):
        self.child.stdin.close()
        self.child.wait()

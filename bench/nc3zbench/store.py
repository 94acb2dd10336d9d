"""Results on disk: one JSON object a line, so that a run can be taken up where it was broken off."""
import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor


class Store:
    def __init__(self, path):
        self.path, self.lock, self.rows = path, threading.Lock(), {}
        if os.path.exists(path):
            with open(path) as f:
                for line in f:
                    row = json.loads(line)
                    self.rows[row["digest"], row["method"]] = row

    def add(self, row):
        with self.lock, open(self.path, "a") as f:
            self.rows[row["digest"], row["method"]] = row
            f.write(json.dumps(row) + "\n")


    def missing(self, files, method, again):
        """Those (path, digest) without a row for this method, or with an error in it, or all if it is to be made anew."""
        anew = again and again.search(method)
        return [f for f in files if anew or "error" in self.rows.get((f[1], method), {"error": "none yet"})]

    def note(self, path, digest, method, action):
        """Adds the row that `action` gives; a peer that cannot do a file is a row too, not the end of the run."""
        row = dict(path=path, digest=digest, method=method, raw=os.path.getsize(path))
        try:
            row.update(action())
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {error}"[:300]
        if "error" in row:
            print(f"{method} on {path}: {row['error']}", file=sys.stderr)
        self.add(row)


def run(tasks, jobs):
    """Runs tasks in order, `jobs` at the same time."""
    with ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(t) for t in tasks]:
            done.result()

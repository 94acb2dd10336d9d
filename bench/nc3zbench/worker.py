"""One array peer on one file, in a process of its own, measured without its imports.

    worker file PEER DIR REPS               all arrays of the file together
    worker variables:BYTES PEER DIR REPS    each numeric variable of at least so many bytes by itself

Reads paths from standard input, a line each, and answers each with a line of JSON: stored bytes, wall and CPU seconds to store
(one run) and to fetch (the least of REPS); for a file, peak resident bytes beyond those before it. Every array that comes back
is compared with what went in.
"""
import json
import os
import shutil
import sys
import time

import numpy as np

from nc3zbench import arraypeers, corpus


def memory(field):
    """Bytes of a field of /proc/self/status: VmRSS now, VmHWM the peak."""
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(field))


def warm(write, read, folder):
    """Imports everything, so that it is not measured."""
    write({"a": np.arange(256, dtype="f4").reshape(4, 64)}, folder)
    read(folder)
    shutil.rmtree(folder)


def timed(action, reps, fresh):
    wall = cpu = None
    for _ in range(reps):
        fresh()
        begin, used = time.perf_counter(), time.process_time()
        result = action()
        took, busy = time.perf_counter() - begin, time.process_time() - used
        wall, cpu = min(wall or took, took), min(cpu or busy, busy)
    return result, wall, cpu


def compare(arrays, back, peer):
    for name, a in arrays.items():
        b = back[name]
        raw = b if isinstance(b, bytes) else np.ascontiguousarray(b).tobytes()
        if raw != a.tobytes():
            raise ValueError(f"{peer}: {name} came back changed")


def measure(write, read, arrays, folder, reps, peer, size):
    def fresh():
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
    _, wall, cpu = timed(lambda: write(arrays, folder), 1, fresh)
    back, wall_back, cpu_back = timed(lambda: read(folder), reps, lambda: None)
    compare(arrays, back, peer)
    return dict(size=size(folder), store=dict(wall=wall, cpu=cpu), fetch=dict(wall=wall_back, cpu=cpu_back))


def one_file(mode, peer, write, read, source, folder, reps):
    least = int(mode.removeprefix("variables:")) if mode != "file" else 0
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")  # the peak of resident memory starts anew
    base = memory("VmRSS")
    arrays = {n: a for n, a in corpus.variables(source, least).items() if a.size >= 64}
    if mode == "file":
        arrays = {arraypeers.plain(n): a for n, a in arrays.items()}
        result = measure(write, read, arrays, folder, reps, peer, arraypeers.size_of)
        result["store"]["rss"] = result["fetch"]["rss"] = memory("VmHWM") - base
        return result
    result = {}
    for name, a in arrays.items():
        if a.dtype.itemsize == 1 and a.dtype.kind == "u" and a.dtype.name == "uint8":
            continue  # text: not numeric
        one = {arraypeers.plain(name): a}
        done = measure(write, read, one, folder, reps, peer, arraypeers.payload_of)
        result[name] = dict(done, raw=a.nbytes, type=a.dtype.name, shape=a.shape)
    return dict(variables=result)


def main():
    mode, peer, folder, reps = sys.argv[1:]
    write, read = arraypeers.ALL[peer]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    warm(write, read, folder)
    for line in sys.stdin:
        try:
            result = one_file(mode, peer, write, read, line.rstrip("\n"), folder, int(reps))
        except Exception as error:
            result = dict(error=f"{type(error).__name__}: {error}"[:300])
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()

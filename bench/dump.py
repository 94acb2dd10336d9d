"""ncdump and nc3z dump compared: CPU and wall seconds, least of some runs, of one variable of each type; text compared.

    python3 bench/dump.py [--reps 3] [--values 5000000]
"""

import argparse
import hashlib
import os
import subprocess
import tempfile
import time
from pathlib import Path

import netCDF4
import numpy as np

NC3Z = os.environ.get("NC3Z", str(Path(__file__).resolve().parent.parent / "target/release/nc3z"))


def make(path, values):
    """Temperatures of seven digits, of fifteen, packed, counted, and names."""
    rng = np.random.default_rng(1)
    rows = values // 10_000
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as n:
        for name, length in (("t", rows), ("y", 100), ("x", 100)):
            n.createDimension(name, length)
        field = 280 + 20 * rng.standard_normal((rows, 100, 100))
        for name, ty, data in (("float", "f4", field), ("double", "f8", field), ("short", "i2", field * 100), ("int", "i4", field * 1e6)):
            n.createVariable(name + "_", ty, ("t", "y", "x"))[:] = data.astype(ty)
        n.createVariable("char_", "S1", ("t", "y", "x"))[:] = rng.choice(np.array(list("abcdefgh "), "S1"), field.shape)
    return path


def run(command):
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    digest, length = hashlib.sha256(), 0
    while chunk := process.stdout.read(1 << 20):
        digest.update(chunk)
        length += len(chunk)
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin, digest.hexdigest(), length


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--reps", type=int, default=3)
    args.add_argument("--values", type=int, default=5_000_000)
    args = args.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = make(Path(directory) / "values.nc", args.values)
        archive = f"{path}.nc3z"
        subprocess.run([NC3Z, "archive", str(path), "-o", archive], check=True, stderr=subprocess.DEVNULL)
        print("| type | text, MB | ncdump, CPU s | nc3z dump, CPU s | of the archive, CPU s | ratio | ratio, archive |")
        print("|---|---|---|---|---|---|---|")
        for ty in ("float", "double", "short", "int", "char"):
            best = {}
            for _ in range(args.reps):
                for who, command in (("ncdump", ["ncdump"]), ("file", [NC3Z, "dump"]), ("archive", [NC3Z, "dump"])):
                    got = run([*command, "-v", ty + "_", archive if who == "archive" else str(path)])
                    best[who] = min(got, best.get(who, got))
            assert len({b[2] for b in best.values()}) == 1, f"{ty}: texts differ"
            a, b, c = (best[who][0] for who in ("ncdump", "file", "archive"))
            print(f"| {ty} | {best['file'][3] / 1e6:.1f} | {a:.2f} | {b:.2f} | {c:.2f} | {a / b:.1f} | {a / c:.1f} |")


if __name__ == "__main__":
    main()

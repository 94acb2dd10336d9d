"""Opening an archive that is not in memory: the number of bytes that are read. bench/python_cold.py measures the time."""

import json
import subprocess
import sys

import netCDF4
import numpy as np
import pytest

import nc3z

COLD = """
import json, os, sys
import nc3z
import nc3z._core

path = sys.argv[1]


def drop():
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def read():
    return int(next(line for line in open("/proc/self/io") if line.startswith("read_bytes")).split()[1])


drop()
begin = read()
v = nc3z.open(path)["v"]
opened = read()
v[5, 50, 50]
value = read()
drop()
again = read()
open(path, "rb").read()
print(json.dumps([opened - begin, value - begin, read() - again]))
"""


def test_a_file_that_is_not_in_memory_is_opened_by_few_bytes(tmp_path):
    """A map without advice read all of it, by the system's read-ahead."""
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_64BIT_OFFSET") as ds:
        for name, length in (("t", 40), ("y", 200), ("x", 300)):
            ds.createDimension(name, length)
        ds.createVariable("v", "i4", ("t", "y", "x"))[:] = np.random.default_rng(1).integers(-(2**31), 2**31, (40, 200, 300))
    archive = tmp_path / "a.nc3z"
    nc3z.archive(tmp_path / "a.nc", archive, preset="fast")
    size = archive.stat().st_size
    assert size > 8_000_000
    done = subprocess.run([sys.executable, "-c", COLD, archive], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    opened, value, whole = json.loads(done.stdout)
    if whole < size // 2:
        pytest.skip("the file system keeps the file in memory, or does not count reads")
    print(f"{size / 1e6:.1f} MB: opened by {opened} bytes, one value by {value}")
    assert opened <= 128 << 10
    # A tile of 1 MiB, the pages around it, and what else the process reads from disk meanwhile: the system counts all of it.
    assert value <= 2 << 20

"""Sample files, each as a classic file and as an archive of it."""

import resource
import shutil
from pathlib import Path

import pytest

import nc3z

#: Memory that a process of these tests and its children may ask for, each: a file's header may claim anything, and the C library takes 16 GiB
#: at the word of some.
MEMORY = 8 << 30
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
if soft == resource.RLIM_INFINITY or soft > MEMORY:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))

ROOT = Path(__file__).resolve().parents[2]
CLASSIC = ROOT / "testdata" / "classic"
#: Files whose headers parse; the others are there to be refused.
NAMES = sorted(p.name for p in CLASSIC.iterdir() if not p.name.startswith("bad_"))
#: Files that hold fewer elements than their headers claim, or claim what the C library refuses.
SHORT = {"numrecs_beyond_end.nc", "truncated_fixed.nc", "truncated_in_element.nc"}
#: Files that the C library does not read as they are: its result is not a measure.
ODD = SHORT | {"fixed_reverse_order.nc", "two_unlimited.nc", "streaming.nc", "streaming_partial.nc", "overlapping.nc", "vsize_lies.nc"}


@pytest.fixture(scope="session")
def archives(tmp_path_factory):
    """A folder with `NAME.nc3z` for every sample."""
    folder = tmp_path_factory.mktemp("archives")
    results = nc3z.archive_many([CLASSIC / name for name in NAMES], folder, preset="fast")
    failed = [r for r in results if isinstance(r, Exception)]
    assert not failed, failed
    return folder


@pytest.fixture(scope="session")
def workers():
    """Two processes of Dask, which all tests share: they take seconds to start."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None) as cluster:
        yield cluster


@pytest.fixture
def client(workers):
    """While the test runs, Dask computes in other processes by default."""
    from distributed import Client

    with Client(workers) as client:
        yield client


@pytest.fixture(scope="session")
def big(tmp_path_factory):
    """A file whose whole read is worth several threads: f4 field(time=48, lat=181, lon=360), and its archive."""
    import numpy as np
    from scipy.io import netcdf_file

    folder = tmp_path_factory.mktemp("big")
    path = folder / "big.nc"
    with netcdf_file(path, "w", version=2) as file:
        for name, length in (("time", None), ("lat", 181), ("lon", 360)):
            file.createDimension(name, length)
        field = file.createVariable("field", "f4", ("time", "lat", "lon"))
        lat, lon = np.meshgrid(np.linspace(-90, 90, 181), np.arange(360.0), indexing="ij")
        for step in range(48):
            field[step] = np.cos(np.radians(lat)) * np.sin(np.radians(lon + 3 * step))
        field.units = "1"
    nc3z.archive(path, folder / "big.nc3z", preset="fast")
    return folder / "big.nc3z"


@pytest.fixture
def samples(tmp_path, archives, monkeypatch):
    """The current folder, with the files of the documentation's examples."""
    for name in ("coads_climatology.cdf", "etopo120.cdf"):
        shutil.copy(CLASSIC / name, tmp_path / name)
    shutil.copy(archives / "coads_climatology.cdf.nc3z", tmp_path / "coads_climatology.nc3z")
    monkeypatch.chdir(tmp_path)
    return tmp_path

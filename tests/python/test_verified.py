"""Reading against a root: the same values, or an error that names the tile."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import xarray as xr
from conftest import CLASSIC, ROOT
from test_urls import TOOL

import nc3z
from nc3z.xarray import Nc3zBackendEntrypoint

sys.path.append(str(ROOT / "tests"))
from servers import serve  # noqa: E402

NAME = "coads_climatology.cdf"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The root, the tree file, and an archive of other values."""
    folder = tmp_path_factory.mktemp("published")

    def run(*args):
        return subprocess.run([TOOL, *map(str, args)], check=True, capture_output=True, text=True).stdout.strip()

    root = run("hash", "--tree", folder / "c.tree", CLASSIC / NAME)
    raw = bytearray((CLASSIC / NAME).read_bytes())
    raw[-3] ^= 1
    (folder / "other.nc").write_bytes(raw)
    run("archive", "--preset", "fast", folder / "other.nc", "-o", folder / "other.nc3z")
    return root, folder / "c.tree", folder / "other.nc3z"


def test_values_are_those_of_a_plain_read(archives, published):
    root, tree, _ = published
    for path in (CLASSIC / NAME, archives / f"{NAME}.nc3z"):
        with nc3z.open(path) as plain, nc3z.open(path, root=root, tree=tree) as checked, nc3z.open(path, root=root) as computed:
            assert list(checked) == list(plain)
            for name, variable in plain.items():
                assert np.array_equal(checked[name][...], variable[...])
                assert np.array_equal(computed[name][...], variable[...])
            assert np.array_equal(checked["SST"][::-3, 5:70:4, [3, 9, 4]], plain["SST"][::-3, 5:70:4, [3, 9, 4]])
            again = pickle.loads(pickle.dumps(checked))
            assert np.array_equal(again["SST"][3], plain["SST"][3])


def test_other_values_are_an_error_that_names_the_tile(published, archives):
    root, tree, other = published
    files = {"c.nc3z": (archives / f"{NAME}.nc3z").read_bytes(), "other.nc3z": other.read_bytes(), "c.tree": tree.read_bytes()}
    with serve(files) as server, nc3z.open(server.url("other.nc3z"), root=root, tree=server.url("c.tree")) as ds:
        last = list(ds)[-1]
        with pytest.raises(nc3z.CorruptError, match=rf"{last}.*elements \d+ to \d+ \(tile.*{root}"):
            ds[last][...]
        assert ds["SST"][0].shape == (90, 180)
        with xr.open_dataset(server.url("c.nc3z"), engine=Nc3zBackendEntrypoint, decode_times=False, root=root, tree=server.url("c.tree")) as data:
            assert np.array_equal(data["SST"].values, xr.open_dataset(CLASSIC / NAME, decode_times=False)["SST"].values, equal_nan=True)
        with ThreadPoolExecutor(4) as pool:
            rows = list(pool.map(lambda n: ds["SST"][n], range(12)))
        assert np.array_equal(rows, nc3z.open(CLASSIC / NAME)["SST"][...])


def test_mistakes(published):
    root, tree, other = published
    with pytest.raises(nc3z.Error, match="another file or version"):
        nc3z.open(other, root=root)
    with pytest.raises(ValueError, match="invalid root"):
        nc3z.open(other, root="nc3z1:00")
    with pytest.raises(ValueError, match="no root is given"):
        nc3z.open(other, tree=tree)
    with pytest.raises(FileNotFoundError):
        nc3z.open(other, root=root, tree="nowhere.tree")

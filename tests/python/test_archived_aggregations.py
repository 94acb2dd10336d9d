"""An aggregation that is archived is an archive, too: it is skipped when it is there, has versions, and Dask knows its fragments."""

import os

import dask.array
import numpy as np
import pytest
import xarray as xr
from conftest import ROOT
from test_aggregations import UNITS, aggregation, expected, folder  # noqa: F401

import nc3z
from nc3z.dask import archive_tree

netCDF4 = pytest.importorskip("netCDF4")


@pytest.fixture
def archived(folder):  # noqa: F811
    nc3z.archive(folder / "agg.nc", folder / "agg.nc.nc3z")
    return folder / "agg.nc.nc3z"


def test_an_archive_that_is_there_is_left_as_it_is(folder, archived):  # noqa: F811
    again = nc3z.archive(folder / "agg.nc", archived, skip_existing=True)
    assert again.skipped and again.original_nbytes == os.path.getsize(folder / "agg.nc")
    assert again.sha256 == nc3z.open(archived, as_stored=True).sha256
    assert [done.skipped for done in nc3z.archive_many([folder / "agg.nc"], skip_existing=True)] == [True]
    with pytest.raises(FileExistsError, match="not a complete archive"):
        nc3z.archive(folder / "agg.nc", folder / "m0.nc", skip_existing=True)


def test_a_tree_with_an_aggregation_is_archived_twice(folder, tmp_path_factory):  # noqa: F811
    out = tmp_path_factory.mktemp("out")
    first = archive_tree(folder, out)
    assert not first.failed and len(first.archived) == 3 and not any(done.skipped for done in first.archived)
    second = archive_tree(folder, out)
    assert not second.failed and [done.skipped for done in second.archived] == [True] * 3


def test_its_versions(folder, archived, expected):  # noqa: F811
    with netCDF4.Dataset(folder / "agg.nc", "a") as ds:
        ds.title = "second"
    nc3z.commit(archived, folder / "agg.nc", message="a title")
    nc3z.tag(archived, "first", 1)
    assert [(v.number, v.message) for v in nc3z.versions(archived)] == [(2, "a title"), (1, None)]
    assert [v.number for v in nc3z.versions(archived, 1)] == [1]
    with nc3z.open(archived) as ds:
        assert (ds.kind, ds.version, ds.title, ds.tags) == ("aggregation", 2, "second", {"first": 1})
        np.testing.assert_allclose(ds["tas"][...], expected, rtol=0, atol=1e-9)
    for version in (1, "first"):
        with nc3z.open(archived, version=version) as ds:
            assert (ds.kind, ds.version, "title" in ds.ncattrs()) == ("aggregation", 1, False)
            np.testing.assert_allclose(ds["tas"][3], expected[3], rtol=0, atol=1e-9)
    with xr.open_dataset(archived, engine="nc3z", version=1) as ds:
        np.testing.assert_allclose(ds.tas, expected, rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="no version 3"):
        nc3z.open(archived, version=3)
    # An aggregation that is not an archive has one version, as other classic files.
    with pytest.raises(ValueError, match="one version"):
        nc3z.open(folder / "agg.nc", version=1)


@pytest.mark.parametrize("kind", ["agg.nc", "agg.nc.nc3z"])
def test_tokens_change_with_the_fragments(folder, archived, kind):  # noqa: F811
    """Those of `chunk`; `open_dataset(chunks=...)` makes names from the path and time of the aggregation alone, without the engine."""

    def name():
        with xr.open_dataset(folder / kind, engine="nc3z") as ds:
            return ds.chunk().tas.data.name

    first = name()
    assert name() == first
    # Other values under the same name: header and length are the same, only the time is not.
    with netCDF4.Dataset(folder / "m0.nc", "a") as ds:
        ds["tas"].set_auto_maskandscale(False)
        ds["tas"][:] = 7
    os.utime(folder / "m0.nc", ns=(1, 1))
    assert name() != first
    assert UNITS[0] == "K"
    with xr.open_dataset(folder / kind, engine="nc3z", chunks={}) as ds:
        np.testing.assert_allclose(ds.tas[0], 7 * 0.01 + 270.0)


@pytest.mark.parametrize("kind", ["agg.nc", "agg.nc.nc3z"])
def test_names_of_variables_change_with_the_fragments(folder, archived, kind):  # noqa: F811
    def name():
        with nc3z.open(folder / kind) as ds:
            return dask.array.from_array(ds["tas"]).name

    first = name()
    assert name() == first
    with netCDF4.Dataset(folder / "m0.nc", "a") as ds:
        ds["tas"].set_auto_maskandscale(False)
        ds["tas"][:] = 7
    os.utime(folder / "m0.nc", ns=(1, 1))
    assert name() != first


def test_names_of_variables_change_with_the_file(tmp_path):
    path = tmp_path / "a.nc"

    def name(values):
        with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
            d.createDimension("x", 3)
            d.createVariable("v", "f4", ("x",))[:] = values
        os.utime(path, ns=(values, values))
        with nc3z.open(path) as ds, open(path, "rb") as file, nc3z.open(file) as other:
            assert dask.array.from_array(other["v"]).name
            return dask.array.from_array(ds["v"]).name

    assert name(1) != name(2)
    assert name(1) == name(1)


def test_tokens_change_with_the_bundle(folder, archived):  # noqa: F811
    """Another value in a classic fragment of the same header: the aggregation in the bundle is the same to the byte."""
    import zipfile

    def bundle():
        with zipfile.ZipFile(folder / "set.bundle.nc3z", "w") as z:
            for path in sorted(folder.glob("*.nc*")):
                z.write(path, path.name)
        with xr.open_dataset(f"{folder / 'set.bundle.nc3z'}!/agg.nc.nc3z", engine="nc3z") as ds:
            return ds.chunk().tas.data.name

    first = bundle()
    with netCDF4.Dataset(folder / "m0.nc", "a") as ds:
        ds["tas"].set_auto_maskandscale(False)
        ds["tas"][:] = 7
    assert bundle() != first
    assert archived.exists()


def test_members_of_bundles_are_verified_and_restored(folder):  # noqa: F811
    """By their own bytes."""
    import subprocess
    import sys

    sys.path.append(str(ROOT / "tests"))
    from servers import serve

    program = os.environ.get("NC3Z", str(ROOT / "target/debug/nc3z"))
    bundle = folder / "set.bundle.nc3z"
    subprocess.run([program, "bundle", folder, "-o", bundle], check=True, capture_output=True)
    member = f"{bundle}!/m1.nc.nc3z"
    assert nc3z.verify(member).is_sound
    done = nc3z.restore(member, folder / "back.nc")
    assert done.sha256 == nc3z.open(member).sha256
    whole = bytearray(bundle.read_bytes())
    content = (folder / "m1.nc.nc3z").read_bytes()
    whole[whole.index(content) + len(content) // 2] ^= 1
    bundle.write_bytes(whole)
    with serve({"set.bundle.nc3z": bytes(whole)}) as server:
        for name in (member, server.url("set.bundle.nc3z!/m1.nc.nc3z")):
            assert not nc3z.verify(name).is_sound

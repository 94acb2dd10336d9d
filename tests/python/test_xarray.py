"""The engine compared with netCDF4's, on every sample; laziness, pickling, chunks, tokens; `to_archive`."""

import asyncio
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import dask
import numpy as np
import pytest
import xarray as xr
from conftest import CLASSIC, NAMES, ODD

import nc3z
import nc3z.xarray  # registers the accessor

SMOOTH = CLASSIC / "smooth.nc"


@pytest.mark.parametrize("decode", [True, False])
@pytest.mark.parametrize("name", [n for n in NAMES if n not in ODD])
def test_datasets_are_those_of_netcdf4(name, decode, archives):
    options = {"decode_times": False} if not decodes(name) else {}
    if not decode:
        options = {"decode_cf": False}
    with xr.open_dataset(CLASSIC / name, engine="netcdf4", **options) as theirs:
        for path in (CLASSIC / name, archives / (name + ".nc3z")):
            with xr.open_dataset(path, engine="nc3z", **options) as ours:
                xr.testing.assert_identical(ours, theirs)
                assert ours.encoding["unlimited_dims"] == theirs.encoding["unlimited_dims"]
                for key in theirs.variables:
                    mine, other = dict(ours[key].encoding), dict(theirs[key].encoding)
                    mine.pop("preferred_chunks", None)
                    assert mine.pop("source") == str(path)
                    other.pop("source")
                    assert mine.keys() == other.keys()
                    assert all(mine[k] == other[k] or mine[k] != mine[k] for k in mine), (mine, other)


@pytest.mark.parametrize("decode", [True, False])
def test_all_of_a_folder(decode, tmp_path):
    """Every classic file of a folder that `NC3Z_DATA` names, and the archive of it."""
    folder = os.environ.get("NC3Z_DATA")
    if not folder:
        pytest.skip("NC3Z_DATA names no folder; scripts/nightly.sh says where its data is")
    compared = refused = short = 0
    for path in sorted(Path(folder).rglob("*")):
        if not path.is_file() or path.open("rb").read(3) != b"CDF":
            continue
        options = {} if decode else {"decode_cf": False}
        try:
            theirs = xr.open_dataset(path, engine="netcdf4", **options).load()
        except (OSError, ValueError, RuntimeError, MemoryError):
            # Not for the C library, or not for xarray's decoder. Of some headers the library believes that they list 2,147,483,648
            # variables, and asks for memory for all of them: more than conftest.py lets it have.
            refused += 1
            continue
        archive = tmp_path / "a.nc3z"
        nc3z.archive(path, archive, preset="fast", verify=False, force=True)
        for ours in (path, archive):
            with xr.open_dataset(ours, engine="nc3z", **options) as ds:
                try:
                    ds.load()
                except nc3z.CorruptError as e:
                    # The C library reads zeros where the file has ended.
                    assert "of which the file holds" in str(e)
                    short += 1
                    continue
                xr.testing.assert_identical(ds, theirs)
                compared += 1
    print(f"{compared} classic files and archives compared, {short} shorter than their headers say, {refused} not read by netCDF4 and xarray")
    assert compared > 10 * short


def test_names_end_where_those_of_netcdf4_end(tmp_path):
    """A name may hold NULs, which no name of the C library does."""
    path = tmp_path / "names.nc"
    xr.Dataset({"variable": (("x_dim",), [1, 2], {"units_": "m"})}, attrs={"title__": "t"}).to_netcdf(path, engine="scipy")
    data = path.read_bytes()
    for name in (b"variable", b"x_dim", b"units_", b"title__"):
        assert data.count(name) == 1
        data = data.replace(name, name[:-2] + b"\0\0")
    path.write_bytes(data)
    nc3z.archive(path, tmp_path / "names.nc3z")
    with xr.open_dataset(path, engine="netcdf4") as theirs:
        assert list(theirs.variables) == ["variab"]
        for ours in (path, tmp_path / "names.nc3z"):
            with xr.open_dataset(ours, engine="nc3z", chunks={}) as ds:
                xr.testing.assert_identical(ds.load(), theirs)
                assert ds.variab.encoding["preferred_chunks"] == {"x_d": 2}
    # Where two names would be the same they stay apart.
    path.write_bytes(data.replace(b"title\0\0", b"title\0a"))
    assert nc3z.xarray.c_names(["a\0", "a"]) == {"a\0": "a\0", "a": "a"}


def decodes(name):
    """True if xarray can decode its times."""
    try:
        xr.open_dataset(CLASSIC / name, engine="netcdf4").close()
    except ValueError:
        return False
    return True


def test_archives_are_recognised_and_classic_files_left_to_others(archives):
    path = archives / "smooth.nc.nc3z"
    assert type(xr.open_dataset(path).masked.variable._data).__name__ == "MemoryCachedArray"
    engine = nc3z.xarray.Nc3zBackendEntrypoint()
    data = path.read_bytes()
    assert engine.guess_can_open(path) and engine.guess_can_open(str(path)) and engine.guess_can_open(data)
    assert engine.guess_can_open(memoryview(data)) and engine.guess_can_open("https://x/y.nc3z?a=b")
    with open(path, "rb") as file:
        assert engine.guess_can_open(file) and file.tell() == 0
    for other in (SMOOTH, CLASSIC, CLASSIC / "nothing", b"", b"CDF\x01", "https://x/y.nc", 3):
        assert not engine.guess_can_open(other)
    with open(path, "rb") as file:
        xr.testing.assert_identical(xr.open_dataset(file, engine="nc3z"), xr.open_dataset(path))


def test_the_entry_point_loads_no_reader():
    script = """
        import sys
        import xarray
        xarray.backends.list_engines()["nc3z"].guess_can_open("x.nc")
        assert "nc3z.xarray" in sys.modules and "nc3z._nc3z" not in sys.modules
        print("done")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


def test_lazy_pickled_closed_and_used_again(archives):
    path = archives / "smooth.nc.nc3z"
    expected = xr.open_dataset(SMOOTH, engine="netcdf4").load()
    ds = xr.open_dataset(path)
    assert not ds.masked.variable._in_memory
    pickled = pickle.dumps(ds)
    assert len(pickled) < 20_000
    xr.testing.assert_identical(pickle.loads(pickled), expected)
    ds.close()
    xr.testing.assert_identical(ds.load(), expected)
    with nc3z.open(path) as own, pytest.raises(TypeError):
        pickle.dumps(xr.open_dataset(open(path, "rb"), engine="nc3z"))


def test_load_async(archives):
    path = archives / "smooth.nc.nc3z"
    expected = xr.open_dataset(SMOOTH, engine="netcdf4").load()
    found = asyncio.run(xr.open_dataset(path).load_async())
    xr.testing.assert_identical(found, expected)


@pytest.mark.parametrize("chunks", [{}, "auto", {"time": 7}])
@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_dask_gives_the_same(big, chunks, scheduler):
    whole = np.asarray(nc3z.open(big)["field"])
    with xr.open_dataset(big, chunks=chunks) as ds, dask.config.set(scheduler=scheduler):
        assert ds.field.chunks is not None
        mean = ds.field.mean("time").compute()
        np.testing.assert_allclose(mean, whole.mean(0), atol=1e-6)


def test_preferred_chunks_are_groups_of_tiles(big):
    with xr.open_dataset(big) as ds:
        chunk = nc3z.open(big)["field"].chunk_shape()
        assert ds.field.encoding["preferred_chunks"] == dict(zip(ds.field.dims, chunk))
    with xr.open_dataset(big, chunks={}) as ds:
        assert tuple(max(c) for c in ds.field.chunks) == chunk


def test_tokens_follow_the_content(archives, tmp_path):
    path = tmp_path / "a.nc3z"
    token = lambda: dask.base.tokenize(xr.open_dataset(path).variables["masked"]._data)
    path.write_bytes((archives / "smooth.nc.nc3z").read_bytes())
    first = token()
    assert token() == first
    path.touch()
    assert token() == first
    changed = xr.open_dataset(SMOOTH, engine="netcdf4", decode_times=False).load()
    changed.masked.values[0, 0, 0] = 1
    changed.nc3z.to_archive(path, force=True)
    assert token() != first


@pytest.mark.parametrize("format", ["NETCDF3_CLASSIC", "NETCDF3_64BIT", "NETCDF3_64BIT_DATA"])
def test_to_archive(format, tmp_path, monkeypatch):
    def refused(*_, **__):
        raise AssertionError("the classic file went through a folder")

    monkeypatch.setattr("tempfile.TemporaryDirectory", refused)
    ds = xr.Dataset(
        {"t": (("time", "x"), np.arange(12.0).reshape(4, 3), {"units": "K"}), "name": ("x", ["a", "bc", "d"])},
        {"time": np.arange(4, dtype="i4")},
        {"title": "a dataset"},
    )
    done = ds.nc3z.to_archive(tmp_path / "a.nc3z", format=format, unlimited_dims=["time"], preset="max")
    assert done.verified and [p.name for p in tmp_path.iterdir()] == ["a.nc3z"]
    with xr.open_dataset(tmp_path / "a.nc3z") as back:
        xr.testing.assert_equal(back, ds)
        assert back.encoding["unlimited_dims"] == {"time"} and back.attrs == ds.attrs
    with pytest.raises(FileExistsError):
        ds.nc3z.to_archive(tmp_path / "a.nc3z")


def test_to_archive_where_netcdf4_writes_files_only(tmp_path, monkeypatch):
    monkeypatch.setattr("nc3z.xarray._NETCDF4_WRITES_MEMORY", False)
    ds = xr.Dataset({"t": ("x", np.arange(12, dtype="u8"))})
    assert ds.nc3z.to_archive(tmp_path / "a.nc3z", format="NETCDF3_64BIT_DATA").verified
    assert [p.name for p in tmp_path.iterdir()] == ["a.nc3z"]
    xr.testing.assert_equal(xr.open_dataset(tmp_path / "a.nc3z").load(), ds)


@pytest.mark.parametrize("in_memory", [True, False])
def test_to_archive_stores_the_values_of_dasks_arrays(in_memory, tmp_path, monkeypatch):
    monkeypatch.setattr("nc3z.xarray._NETCDF4_WRITES_MEMORY", in_memory)
    ds = xr.Dataset({"v": ("x", np.arange(5)), "w": ("x", np.arange(5.0))})
    assert ds.chunk({"x": 2}).nc3z.to_archive(tmp_path / "a.nc3z", format="NETCDF3_64BIT_DATA").verified
    nc3z.restore(tmp_path / "a.nc3z", tmp_path / "a.nc")
    xr.testing.assert_equal(xr.open_dataset(tmp_path / "a.nc", engine="netcdf4").load(), ds)


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("format", [None, "NETCDF3_CLASSIC"])
def test_to_archive_keeps_records_beside_a_variable_without_dimensions(format, in_memory, tmp_path, monkeypatch):
    monkeypatch.setattr("nc3z.xarray._NETCDF4_WRITES_MEMORY", in_memory)
    tas, pr = np.arange(12.0).reshape(4, 3), np.arange(12, dtype="i2").reshape(4, 3)
    ds = xr.Dataset({"tas": (("time", "x"), tas), "height": 2.0, "pr": (("time", "x"), pr)}, {"time": np.arange(4.0)})
    by_encoding = ds.chunk()
    by_encoding.encoding["unlimited_dims"] = {"time"}
    for given, options in ((ds, {"unlimited_dims": ["time"]}), (by_encoding, {})):
        done = given.nc3z.to_archive(tmp_path / "a.nc3z", format=format, force=True, **options)
        assert done.verified and not done.warnings
        nc3z.restore(tmp_path / "a.nc3z", tmp_path / "a.nc", force=True)
        with xr.open_dataset(tmp_path / "a.nc", engine="netcdf4") as back:
            xr.testing.assert_equal(back.load(), ds)
            assert back.encoding["unlimited_dims"] == {"time"}


def test_many_archives_as_one(archives, tmp_path):
    for n in range(3):
        ds = xr.Dataset({"t": (("time", "x"), np.full((2, 3), n))}, {"time": [2 * n, 2 * n + 1]})
        ds.nc3z.to_archive(tmp_path / f"{n}.nc3z")
    with xr.open_mfdataset(sorted(tmp_path.glob("*.nc3z"))) as ds:
        assert ds.t.shape == (6, 3) and ds.t.mean().compute() == 1

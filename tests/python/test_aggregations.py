"""Aggregations and bundles are read as any file: by nc3z, by xarray lazily, by Dask, from a pickle, in forked children, from a server."""

import multiprocessing
import os
import pickle
import shutil
import sys
import zipfile

import numpy as np
import pytest
import xarray as xr
from conftest import ROOT

import nc3z

netCDF4 = pytest.importorskip("netCDF4")
sys.path.append(str(ROOT / "tests"))
from servers import serve  # noqa: E402

STEPS, FILES = 4, 3
SHAPE = (STEPS * FILES, 5, 6)
UNITS = ["K", "degC", "K"]
#: Scale and offset of each file's 16-bit numbers.
PAIRS = [(0.01, 270.0), (0.02, 0.0), (0.005, 280.0)]


def values(n):
    """Stored numbers of a file, and their values in kelvin."""
    stored = np.arange(STEPS * 30).reshape(STEPS, 5, 6).astype("i2") * (n + 1)
    scale, offset = PAIRS[n]
    return stored, stored * scale + offset + (273.15 if UNITS[n] == "degC" else 0)


def text(ds, name, words, dimensions):
    width = max(map(len, words))
    ds.createDimension(f"{name}_len", width)
    variable = ds.createVariable(name, "S1", (*dimensions, f"{name}_len"))
    shape = [len(ds.dimensions[d]) for d in dimensions]
    variable[:] = np.frombuffer(b"".join(w.encode().ljust(width, b"\0") for w in words), "S1").reshape(*shape, width)


def aggregation(path, uris, kind="f8", fill=1e20, **attributes):
    """By CF-1.13, along time; by hand, so that nothing but netCDF4 is needed. Without ``fill`` there is no ``_FillValue``."""
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as ds:
        lengths = {"time": SHAPE[0], "lat": 5, "lon": 6, "j": 3, "i": FILES, "f_time": FILES, "f_lat": 1, "f_lon": 1}
        for name, length in lengths.items():
            ds.createDimension(name, length)
        time = ds.createVariable("time", "f8", ("time",))
        time.units = "days since 2001-01-01"
        time[:] = np.arange(SHAPE[0])
        tas = ds.createVariable("tas", kind, (), fill_value=fill)
        tas.setncatts(attributes)
        tas.units, tas.aggregated_dimensions = "K", "time lat lon"
        tas.aggregated_data = "map: map uris: uris identifiers: ids"
        table = np.ma.masked_all((3, FILES), "i4")
        table[0], table[1, 0], table[2, 0] = STEPS, 5, 6
        ds.createVariable("map", "i4", ("j", "i"), fill_value=np.int32(-1))[:] = table
        text(ds, "uris", uris, ("f_time", "f_lat", "f_lon"))
        text(ds, "ids", ["tas"], ())
    return path


@pytest.fixture
def folder(tmp_path):
    """Three files, the second as an archive, and `agg.nc`."""
    for n in range(FILES):
        with netCDF4.Dataset(tmp_path / f"m{n}.nc", "w", format="NETCDF3_CLASSIC") as ds:
            for name, length in zip(("time", "lat", "lon"), (STEPS, 5, 6), strict=True):
                ds.createDimension(name, length)
            tas = ds.createVariable("tas", "i2", ("time", "lat", "lon"), fill_value=np.int16(-1))
            tas.units = UNITS[n]
            tas.scale_factor, tas.add_offset = PAIRS[n]
            tas.set_auto_maskandscale(False)
            tas[:] = values(n)[0]
    nc3z.archive(tmp_path / "m1.nc", tmp_path / "m1.nc.nc3z")
    os.remove(tmp_path / "m1.nc")
    aggregation(tmp_path / "agg.nc", ["m0.nc", "m1.nc.nc3z", "m2.nc"])
    return tmp_path


@pytest.fixture
def expected():
    return np.concatenate([values(n)[1] for n in range(FILES)])


def test_an_aggregation_is_a_file_like_any_other(folder, expected):
    with nc3z.open(folder / "agg.nc") as ds:
        assert ds.kind == "aggregation" and list(ds) == ["time", "tas"]
        tas = ds["tas"]
        assert tas.shape == SHAPE and tas.dtype == np.dtype("f8") and tas.units == "K"
        assert "aggregated_data" not in tas.ncattrs()
        np.testing.assert_allclose(tas[...], expected, rtol=0, atol=1e-9)
        for key in (np.s_[5], np.s_[::-3, 1:4, 0], np.s_[2:10:3, ..., ::2], np.s_[-1, -1, -1]):
            np.testing.assert_allclose(tas[key], expected[key], rtol=0, atol=1e-9)
        np.testing.assert_allclose(tas.oindex[[11, 0, 4], :, [5, 1]], expected[[11, 0, 4]][:, :, [5, 1]], rtol=0, atol=1e-9)
        assert "aggregation" in repr(ds) and "aggregation" in ds._repr_html_()
    with nc3z.open(folder / "agg.nc", as_stored=True) as ds:
        assert ds.kind == "classic" and "uris" in ds and ds["tas"].shape == ()


def test_xarray_reads_it_lazily(folder, expected):
    with xr.open_dataset(folder / "agg.nc", engine="nc3z") as ds:
        # Fragments are read only on request.
        os.rename(folder / "m2.nc", folder / "away.nc")
        np.testing.assert_allclose(ds.tas.isel(time=slice(0, 8)), expected[:8], rtol=0, atol=1e-9)
        with pytest.raises(nc3z.Error, match="m2.nc"):
            ds.tas[-1].load()
        os.rename(folder / "away.nc", folder / "m2.nc")
        np.testing.assert_allclose(ds.tas.sel(time="2001-01-12"), expected[11], rtol=0, atol=1e-9)
        assert ds.tas.encoding["preferred_chunks"]["time"] % STEPS == 0


def test_dask_and_pickles(folder, expected):
    with xr.open_dataset(folder / "agg.nc", engine="nc3z", chunks={"time": STEPS}) as ds:
        assert ds.tas.chunks[0] == (STEPS,) * FILES
        np.testing.assert_allclose(ds.tas.mean("time").compute(scheduler="threads"), expected.mean(0), rtol=0, atol=1e-9)
        np.testing.assert_allclose(ds.tas.max().compute(scheduler="processes", num_workers=2), expected.max(), rtol=0, atol=1e-9)
    with nc3z.open(folder / "agg.nc") as ds:
        again = pickle.loads(pickle.dumps(ds))
        assert again.kind == "aggregation"
        np.testing.assert_allclose(pickle.loads(pickle.dumps(ds["tas"]))[3:9, 2], expected[3:9, 2], rtol=0, atol=1e-9)
    with xr.open_dataset(folder / "agg.nc", engine="nc3z") as ds:
        np.testing.assert_allclose(pickle.loads(pickle.dumps(ds)).tas, expected, rtol=0, atol=1e-9)


def total(variable):
    return float(np.asarray(variable).sum())


def test_forked_children_read_it(folder, expected):
    with nc3z.open(folder / "agg.nc") as ds:
        here = total(ds["tas"])  # starts the threads of this process
        assert here == pytest.approx(expected.sum())
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map_async(total, [ds["tas"]] * 4).get(60) == [here] * 4


def test_threads_read_at_once(folder, expected):
    from concurrent.futures import ThreadPoolExecutor

    with nc3z.open(folder / "agg.nc") as ds, ThreadPoolExecutor(8) as pool:
        for n, found in enumerate(pool.map(lambda n: ds["tas"][n % 12], range(200))):
            np.testing.assert_allclose(found, expected[n % 12], rtol=0, atol=1e-9)


def test_members_of_bundles(folder, expected):
    bundle = folder / "set.zip"
    with zipfile.ZipFile(bundle, "w") as z:
        for path in sorted(folder.glob("*.nc*")):
            z.write(path, path.name)
    inside = {path.name for path in folder.glob("*.nc*")}
    for name in inside:
        os.remove(folder / name)
    with nc3z.open(f"{bundle}!/agg.nc") as ds:
        np.testing.assert_allclose(ds["tas"][...], expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(pickle.loads(pickle.dumps(ds["tas"]))[5], expected[5], rtol=0, atol=1e-9)
    with xr.open_dataset(f"{bundle}!/agg.nc", engine="nc3z", chunks={}) as ds:
        np.testing.assert_allclose(ds.tas, expected, rtol=0, atol=1e-9)
    with nc3z.open(f"{bundle}!/m1.nc.nc3z") as ds:
        assert ds.kind == "archive" and np.array_equal(ds["tas"][...], values(1)[0])
    with pytest.raises(FileNotFoundError):
        nc3z.open(folder / "none.zip!/agg.nc")
    with pytest.raises(OSError, match=r"no member .none.nc.; it has"):
        nc3z.open(f"{bundle}!/none.nc")
    with serve({"set.zip": bundle.read_bytes()}) as server:
        with nc3z.open(server.url("set.zip!/agg.nc")) as ds:
            np.testing.assert_allclose(ds["tas"][...], expected, rtol=0, atol=1e-9)


def test_on_a_server_fragments_lie_beside_it(folder, expected):
    files = {f"data/{path.name}": path.read_bytes() for path in folder.glob("*.nc*")}
    files["agg.nc"] = files["data/agg.nc"].replace(b"m1.nc.nc3z", b"../m1.nc\0\0")
    with serve(files) as server:
        with nc3z.open(server.url("data/agg.nc")) as ds:
            np.testing.assert_allclose(ds["tas"][6], expected[6], rtol=0, atol=1e-9)
            asked = {path for path, _, _ in server.asked}
            assert asked == {"/data/agg.nc", "/data/m1.nc.nc3z"}
            np.testing.assert_allclose(pickle.loads(pickle.dumps(ds["tas"]))[...], expected, rtol=0, atol=1e-9)
        with nc3z.open(server.url("agg.nc")) as ds, pytest.raises(nc3z.Error, match="outside"):
            ds["tas"][6]


def test_what_an_aggregation_may_not_do_unless_it_is_trusted(folder, expected):
    apart = folder / "apart"
    apart.mkdir()
    agg = aggregation(apart / "agg.nc", [f"../{name}" for name in ("m0.nc", "m1.nc.nc3z", "m2.nc")])
    with nc3z.open(agg) as ds, pytest.raises(nc3z.Error, match="outside the directory"):
        ds["tas"][0]
    with nc3z.open(agg, outside=True) as ds:
        np.testing.assert_allclose(pickle.loads(pickle.dumps(ds))["tas"][...], expected, rtol=0, atol=1e-9)
    with xr.open_dataset(agg, engine="nc3z", outside=True) as ds:
        np.testing.assert_allclose(ds.tas, expected, rtol=0, atol=1e-9)
    # In memory it has no place, and so no neighbours.
    absolute = aggregation(folder / "absolute.nc", [str(folder / name) for name in ("m0.nc", "m1.nc.nc3z", "m2.nc")])
    with nc3z.open(absolute.read_bytes()) as ds, pytest.raises(nc3z.Error, match="outside"):
        ds["tas"][0]


def test_missing_fragments_are_an_error_or_missing_values(folder, expected):
    shutil.move(folder / "m0.nc", folder / "gone")
    with nc3z.open(folder / "agg.nc") as ds, pytest.raises(nc3z.Error, match="m0.nc"):
        ds["tas"][...]
    with xr.open_dataset(folder / "agg.nc", engine="nc3z", fill_missing=True) as ds:
        assert np.isnan(ds.tas[:STEPS]).all()
        np.testing.assert_allclose(ds.tas[STEPS:], expected[STEPS:], rtol=0, atol=1e-9)


@pytest.mark.parametrize("attributes", [{}, {"missing_value": 1e20}, {"fill": 1e20}])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_values_that_fragments_lack_are_missing_whatever_the_aggregation_says(folder, expected, kind, attributes):
    """A foreign aggregation may have no `_FillValue`: the type's own, 9.97e36, is not data."""
    if "missing_value" in attributes:
        attributes = {"missing_value": np.array(attributes["missing_value"], kind)}
    with netCDF4.Dataset(folder / "m2.nc", "a") as ds:
        ds["tas"].set_auto_maskandscale(False)
        ds["tas"][1, 2, 3] = -1
    path = aggregation(folder / "foreign.nc", ["m0.nc", "gone.nc", "m2.nc"], kind, **{"fill": None, **attributes})
    wanted = np.where(np.arange(SHAPE[0])[:, None, None] // STEPS == 1, np.nan, expected)
    wanted[2 * STEPS + 1, 2, 3] = np.nan
    tolerance = {"rtol": 1e-6 if kind == "f4" else 1e-12}
    nc3z.archive(path, folder / "foreign.nc.nc3z")
    for place in (path, folder / "foreign.nc.nc3z"):
        with xr.open_dataset(place, engine="nc3z", fill_missing=True) as ds:
            np.testing.assert_allclose(ds.tas, wanted, **tolerance)
        with nc3z.open(place, fill_missing=True, decode=True) as ds:
            assert np.array_equal(np.ma.getmaskarray(ds["tas"][...]), np.isnan(wanted))
            np.testing.assert_allclose(ds["tas"][...].filled(np.nan), wanted, **tolerance)

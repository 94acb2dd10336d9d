"""Collections that are stacked along a new dimension: as by xarray's `open_mfdataset(combine="nested")` on the originals."""

import pickle

import numpy as np
import xarray as xr
from test_collections import FILL, month, run, tool, write

import nc3z


def test_a_new_dimension_stacks_files(tmp_path):
    for n in range(5):
        variables = {**month(0, seed=n), "orbit": ((), np.int32(40 + n)), "station": ((), np.bytes_(f"s{n}"))}
        variables["height"] = ("lat", np.arange(6.0) + (n > 2))
        variables["tas"] = (*variables["tas"][:2], {**variables["tas"][2], "coordinates": "height orbit"})
        packed = {"dtype": "i2", "scale_factor": 0.1 * (1 + n), "_FillValue": np.int16(-9)}
        write(tmp_path / f"{n}.nc", {**variables, "packed": ("lon", np.arange(8.0) * n)}, encoding={**FILL, "packed": packed})
    paths = sorted(map(str, tmp_path.glob("*.nc")))
    wanted = xr.open_mfdataset(paths, engine="netcdf4", combine="nested", concat_dim="run", data_vars="all", coords="different", compat="equals").load()
    collection = nc3z.open_collection(tmp_path, concat_dim="run")
    found = collection.dataset
    assert found.tas.dims == ("run", "time", "lat", "lon") and found.orbit.dims == ("run",) and found.time.dims == ("time",)
    xr.testing.assert_equal(found.compute(), wanted)
    assert found.tas.attrs == wanted.tas.attrs
    rng = np.random.default_rng(3)
    for _ in range(20):
        key = {"run": rng.integers(0, 5, 3), "lat": slice(int(rng.integers(0, 3)), 6, 2), "time": int(rng.integers(0, 5))}
        for name in ("tas", "packed", "station", "orbit"):
            own = {d: k for d, k in key.items() if d in found[name].dims}
            xr.testing.assert_equal(found[name].isel(own).compute(), wanted[name].isel(own))
    chunked = nc3z.open_collection(tmp_path, concat_dim="run", chunks={}).dataset
    xr.testing.assert_equal(chunked.mean("run").compute(), wanted.chunk().mean("run").compute())
    xr.testing.assert_equal(pickle.loads(pickle.dumps(chunked)).compute(), wanted)
    hot = nc3z.open_collection(tmp_path, concat_dim="run", where="tas > 281").dataset
    xr.testing.assert_equal(hot.tas.compute(), wanted.tas.where(wanted.tas > 281))
    alone = nc3z.open_collection(paths[:1], concat_dim="run").dataset
    xr.testing.assert_equal(alone.tas.variable.compute(), wanted.tas.variable[:1])
    # Files on other grids cannot be stacked with them: a group of their own.
    write(tmp_path / "z.nc", month(0, lat=np.linspace(-9, 9, 6)), encoding=FILL)
    assert sorted(len(g.run) for g in nc3z.open_collection(tmp_path, concat_dim="run").values()) == [1, 5]


@tool
def test_a_new_dimension_with_statistics_skips_files(tmp_path):
    for n in range(4):
        write(tmp_path / f"data/{n}.nc", {**month(n), "time": ("time", np.arange(5.0))}, encoding=FILL)
    run("catalog", tmp_path / "data", "-o", tmp_path / "data.catalog.nc3z")
    everything = nc3z.open_collection(tmp_path / "data", concat_dim="run").dataset.tas.load()
    hot = nc3z.open_collection(tmp_path / "data.catalog.nc3z", concat_dim="run", where="tas > 293").dataset
    xr.testing.assert_equal(hot.tas.compute(), everything.where(everything > 293))

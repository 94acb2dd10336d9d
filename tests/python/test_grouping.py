"""The place of a file along an axis, by `nc3z aggregate` and by `open_collection`. They have one rule each, for the reasons in design note
0055. Where both join files, the order and the values are the same. The table of the note is here, with xarray's `combine_by_coords` beside it."""

import subprocess

import numpy as np
import pytest
import xarray as xr
from test_collections import TOOL

import nc3z

JOINED, APART = "joined", "apart"
#: Times of each file; what `aggregate`, `open_collection` and xarray make of them.
CASES = {
    "one after another": ([[0, 1, 2], [3, 4]], JOINED, JOINED, JOINED),
    "given in another order": ([[3, 4], [0, 1, 2]], JOINED, JOINED, JOINED),
    "single times": ([[5], [0], [1]], JOINED, JOINED, JOINED),
    "with a gap": ([[0, 1, 2], [10, 11, 12]], JOINED, JOINED, JOINED),
    "all descending": ([[4, 3], [2, 1, 0]], JOINED, JOINED, JOINED),
    "overlapping": ([[0, 1, 2, 3], [2, 3, 4, 5]], APART, APART, APART),
    # xarray makes an axis that has the time twice.
    "with a time in common": ([[0, 1, 2], [2, 3, 4]], APART, APART, JOINED),
    "interleaved": ([[0, 2, 4], [1, 3, 5]], APART, APART, APART),
    "in two directions": ([[0, 1, 2], [5, 4, 3]], JOINED, APART, APART),
    "neither ascending nor descending": ([[0, 2, 1], [3, 5, 4]], APART, APART, APART),
    "another spacing that follows": ([[0, 1, 2], [10, 20, 30]], JOINED, JOINED, JOINED),
}


def write(path, times, lat=(10.0, 20.0)):
    with xr.Dataset(
        {"v": (("time", "lat"), np.asarray(times, "f8")[:, None] * 100 + np.asarray(lat))},
        {"time": ("time", np.asarray(times, "f8"), {"units": "days since 2001-01-01"}), "lat": ("lat", np.asarray(lat), {"units": "degrees_north"})},
    ) as ds:
        ds.to_netcdf(path, format="NETCDF3_64BIT", encoding={name: {"_FillValue": None} for name in ("time", "lat", "v")})
    return str(path)


def aggregated(folder, paths):
    """The times and values of the aggregation, or None where the files are refused."""
    out = folder / "all.nc"
    done = subprocess.run([TOOL, "aggregate", *paths, "-o", out], capture_output=True, text=True)
    if done.returncode:
        assert done.returncode == 1 and "error" in done.stderr, done.stderr
        return None
    with nc3z.open(out) as ds:
        return ds["time"][:], ds["v"][:]


def collected(paths):
    groups = nc3z.open_collection(paths, decode_times=False)
    if len(groups) > 1:
        return None
    (ds,) = groups.values()
    return ds["time"].values, ds["v"].values


def combined(paths):
    try:
        ds = xr.combine_by_coords([xr.open_dataset(path, decode_times=False) for path in paths], join="exact")
    except ValueError:
        return None
    return ds["time"].values, ds["v"].values


def is_joined(found):
    return APART if found is None else JOINED


@pytest.mark.parametrize("case", CASES)
def test_where_both_join_files_they_join_them_alike(tmp_path, case):
    files, *expected = CASES[case]
    paths = [write(tmp_path / f"{n}.nc", times) for n, times in enumerate(files)]
    found = [aggregated(tmp_path, paths), collected(paths), combined(paths)]
    assert [is_joined(one) for one in found] == expected
    joined = [one for one in found if one is not None]
    for times, values in joined:
        assert np.array_equal(values, times[:, None] * 100 + [10, 20])
        assert np.array_equal(times, joined[0][0])


def test_coordinates_that_are_nearly_equal(tmp_path):
    """One axis for an aggregation, as for a person; two for a collection, as for xarray, which compares exactly."""
    lats = (10.0, 20.0), (10.0, np.nextafter(20.0, 30))
    paths = [write(tmp_path / f"{n}.nc", [2 * n, 2 * n + 1], lat) for n, lat in enumerate(lats)]
    assert aggregated(tmp_path, paths)[1].shape == (4, 2)
    assert collected(paths) is None and combined(paths) is None


def test_random_divisions_of_an_axis(tmp_path):
    """However a rising axis is cut into files, both give it back."""
    rng = np.random.default_rng(55)
    for n in range(20):
        axis = np.cumsum(rng.integers(1, 3, rng.integers(2, 30)))
        pieces = [piece for piece in np.split(axis, np.sort(rng.integers(0, len(axis), rng.integers(1, 4)))) if len(piece)]
        folder = tmp_path / str(n)
        folder.mkdir()
        paths = [write(folder / f"{k}.nc", pieces[k]) for k in rng.permutation(len(pieces))]
        for found in (aggregated(folder, paths), collected(paths)):
            assert found is not None, pieces
            assert np.array_equal(found[0], axis) and np.array_equal(found[1], axis[:, None] * 100.0 + [10, 20]), pieces

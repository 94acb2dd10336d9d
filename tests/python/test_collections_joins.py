"""How files are joined: types, files named twice, files without records, times of any century, many groups. The measure is xarray's
`open_mfdataset` on the same files; a value that cannot be joined without loss is an error that names file and variable."""

import os
import pickle
import sys

import numpy as np
import pytest
import xarray as xr
from conftest import ROOT
from test_collections import FILL, month, oracle, run, tool, write

import nc3z
import nc3z.xarray  # noqa: F401  registers the accessor
from nc3z.dask import archive_tree

sys.path.append(str(ROOT / "tests"))
from servers import serve  # noqa: E402


def put(path, values, attrs=None, dtype=None, times=2, name="v", n=0, **more):
    """A file with one variable and its times; CDF-5 where the type needs it."""
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as ds:
        ds.createDimension("time", None)
        ds.createDimension("x", np.shape(values)[-1])
        time = ds.createVariable("time", more.get("time_type", "f8"), ("time",))
        time.units = more.get("units", "days since 2001-01-01")
        time[:] = np.arange(times) + times * n if more.get("dates") is None else more["dates"]
        v = ds.createVariable(name, dtype or np.asarray(values).dtype, ("time", "x"), fill_value=more.get("fill"))
        v.set_auto_maskandscale(False)
        v.setncatts(attrs or {})
        v[:] = values
    return str(path)


def nested(paths, **options):
    return xr.open_mfdataset(paths, engine="netcdf4", combine="nested", concat_dim="time", **options).load()


TYPES = [("i2", "f4"), ("i2", "i4"), ("f4", "f8"), ("i4", "f4"), ("u1", "i1"), ("u2", "i2"), ("i4", "i8"), ("i1", "f8"), ("u4", "i4"), ("i8", "f8")]


@pytest.mark.parametrize("types", [pair for a, b in TYPES for pair in ((a, b), (b, a))], ids="-".join)
def test_types_are_joined_as_by_numpy(tmp_path, types):
    rng = np.random.default_rng(1)
    paths, same = [], []
    (tmp_path / "same").mkdir()
    (tmp_path / "data").mkdir()
    for n, kind in enumerate(types):
        dtype = np.dtype(kind)
        if dtype.kind == "f":
            values = rng.normal(0, 1e4, (2, 3)).astype(dtype)
            values[0, 0] = np.nan
        else:
            info = np.iinfo(dtype)
            values = np.array([[info.min, info.max, 5], [1, 2, 3]]).astype(dtype) if info.bits < 64 else np.array([[-(2**53), 2**53, 5], [1, 2, 3]])
        paths.append(put(tmp_path / "data" / f"{n}.nc", values, n=n))
        same.append(put(tmp_path / "same" / f"{n}.nc", values))
    wanted = nested(paths)
    for chunks in (None, {}):
        found = nc3z.open_collection(tmp_path / "data", chunks=chunks).dataset
        assert found.v.dtype == wanted.v.dtype
        xr.testing.assert_identical(found.compute(), wanted)
    for options in ({"mask_and_scale": False}, {"decode_times": False}):
        xr.testing.assert_identical(nc3z.open_collection(paths, **options).dataset.compute(), nested(paths, **options))
    np.testing.assert_array_equal(nc3z.open_collection(paths).dataset.v[1:3, ::2], wanted.v[1:3, ::2])
    stacked = nc3z.open_collection(same, concat_dim="run").dataset
    assert stacked.v.dtype == wanted.v.dtype
    np.testing.assert_array_equal(stacked.v.values.reshape(4, 3), wanted.v)
    # The type of the file is not the type that the joined values are written with, if it would cut their fractions.
    again = tmp_path / "again.nc"
    nc3z.open_collection(paths).dataset.to_netcdf(again, engine="netcdf4")
    np.testing.assert_array_equal(xr.open_dataset(again, engine="netcdf4").v, wanted.v)


@tool
def test_types_are_joined_alike_in_every_place(tmp_path):
    (tmp_path / "data").mkdir()
    paths = [put(tmp_path / "data" / f"{n}.nc", values, n=n) for n, values in enumerate([np.ones((2, 2), "i2"), np.array([[1e5, 2.5], [np.nan, 7]], "f8")])]
    run("archive", "-r", "data", "-o", "archives", cwd=tmp_path)
    run("bundle", "data", "-o", "plain.bundle.nc3z", cwd=tmp_path)
    run("bundle", "data", "-o", "packed.bundle.nc3z", "--pack", cwd=tmp_path)
    run("catalog", "data", "-o", "data.catalog.nc3z", cwd=tmp_path)
    run("aggregate", "data", "-o", "data/all.nc", cwd=tmp_path)
    wanted = nested(paths)
    for place in ("data", "archives", "plain.bundle.nc3z", "packed.bundle.nc3z", "data.catalog.nc3z", "data/all.nc"):
        found = nc3z.open_collection(tmp_path / place).dataset
        assert found.v.dtype == "f8"
        np.testing.assert_array_equal(found.v, wanted.v, place)
    hot = nc3z.open_collection(tmp_path / "data.catalog.nc3z", where="v > 2").dataset.v
    np.testing.assert_array_equal(hot, wanted.v.where(wanted.v > 2))


def test_an_integer_that_the_joined_type_does_not_have_is_an_error(tmp_path):
    paths = [put(tmp_path / "a.nc", np.ones((2, 1), "f8")), put(tmp_path / "b.nc", np.array([[2**53 + 1], [5]]), n=1)]
    for order in (paths, paths[::-1]):
        found = nc3z.open_collection(order).dataset.v
        assert found.dtype == "f8" and found[3, 0] == 5 and found[0, 0] == 1
        with pytest.raises(nc3z.RangeError, match=r"b.nc: variable v: 9007199254740993"):
            found.load()


@tool
def test_aggregate_refuses_it_too(tmp_path):
    paths = [put(tmp_path / "a.nc", np.ones((2, 1), "f8")), put(tmp_path / "b.nc", np.array([[2**53 + 1], [5]]), n=1)]
    run("aggregate", *paths, "-o", tmp_path / "all.nc")
    with nc3z.open(tmp_path / "all.nc") as ds:
        assert ds["v"][3, 0] == 5
        with pytest.raises(nc3z.Error, match=r"b.nc.*variable `v`.*9007199254740993"):
            ds["v"][...]
    # Integers of both lengths are joined as the longer ones.
    paths = [put(tmp_path / "c.nc", np.full((2, 1), 2**53 + 1)), put(tmp_path / "d.nc", np.ones((2, 1), "i4"), n=1)]
    run("aggregate", *paths, "-o", tmp_path / "whole.nc")
    assert nc3z.open(tmp_path / "whole.nc")["v"][:, 0].tolist() == [2**53 + 1] * 2 + [1] * 2


def test_other_types_of_coordinates_and_of_variables_that_are_not_joined(tmp_path):
    """Latitudes and a number of the whole file as floats in one file, and as doubles in the other."""
    for n, kind in enumerate(("f4", "f8")):
        variables = {**month(n), "scale": ((), np.dtype(kind).type(7)), "orbit": ((), np.dtype(("i2", "f4")[n]).type(40.5 * n))}
        variables["lat"] = ("lat", np.linspace(-80, 80, 6).astype(kind), {"units": "degrees_north"})
        variables["time"] = ("time", (np.arange(5) + 5 * n).astype(("i4", "f8")[n]))
        write(tmp_path / f"{n}.nc", variables, encoding=FILL)
    found = nc3z.open_collection(tmp_path).dataset
    wanted = oracle(sorted(tmp_path.glob("*.nc")), data_vars="different")
    xr.testing.assert_equal(found.compute(), wanted.compute())
    assert found.orbit.dtype == wanted.orbit.dtype and found.scale.dtype == wanted.scale.dtype


def test_a_file_that_is_named_twice(tmp_path):
    path = put(tmp_path / "a.nc", np.arange(4, dtype="f4").reshape(2, 2))
    other = put(tmp_path / "b.nc", np.zeros((2, 2), "f4"))
    found = nc3z.open_collection([path, other, path], concat_dim="run").dataset
    wanted = xr.open_mfdataset([path, other, path], engine="netcdf4", combine="nested", concat_dim="run", data_vars="all")
    xr.testing.assert_identical(found.compute(), wanted.compute())
    xr.testing.assert_identical(pickle.loads(pickle.dumps(found)).compute(), wanted.compute())
    xr.Dataset({"t": ("profile", np.arange(3.0))}).to_netcdf(tmp_path / "p.nc", format="NETCDF3_64BIT", engine="netcdf4")
    assert nc3z.open_collection([tmp_path / "p.nc"] * 2, concat_dim="profile").dataset.t.values.tolist() == [0, 1, 2] * 2
    once = nc3z.open_collection([path, path])
    assert once.dataset.sizes["time"] == 2 and "named 2 times" in once.notes[0]


@pytest.mark.parametrize("concat_dim", [None, "time", "run"])
def test_files_without_records_have_nothing_to_add(tmp_path, concat_dim):
    full = [put(tmp_path / f"{n}.nc", np.full((2, 2), n, "f4"), n=n) for n in range(2)]
    empty = put(tmp_path / "empty.nc", np.zeros((0, 2), "f4"), times=0)
    collection = nc3z.open_collection(tmp_path, concat_dim=concat_dim)
    assert list(collection.left_out) == [empty] and "no records" in collection.left_out[empty]
    if concat_dim != "run":
        xr.testing.assert_identical(collection.dataset.compute(), nested(full))
    # Alone it is what it is.
    assert nc3z.open_collection(empty).dataset.sizes["time"] == 0


CODERS = {"default": {}, "cftime": {"decode_times": xr.coders.CFDatetimeCoder(use_cftime=True)}, "us": {"decode_times": xr.coders.CFDatetimeCoder(time_unit="us")}}


@pytest.mark.parametrize("coder", CODERS)
@pytest.mark.parametrize("years", [(2200, 2300), (1500, 1700), (1600, 2000), (2300, 2301)])
def test_times_of_any_century_are_joined(tmp_path, years, coder):
    paths = [put(tmp_path / f"{n}.nc", np.full((2, 1), n, "f4"), units=f"days since {year}-01-01", dates=[0, 1]) for n, year in enumerate(years)]
    collection = nc3z.open_collection(tmp_path, **CODERS[coder])
    assert list(collection) == ["v"]
    found = collection.dataset.load()
    assert found.v.values[:, 0].tolist() == [0, 0, 1, 1]
    assert [int(t) for t in found.time.dt.year] == [years[0]] * 2 + [years[1]] * 2
    try:
        wanted = nested(paths, **CODERS[coder])
    except (TypeError, ValueError):
        # xarray does not mix dates of NumPy and of cftime; here all of them are those of cftime.
        assert coder == "default" and found.time.dtype == object
    else:
        xr.testing.assert_identical(found, wanted)


def test_times_that_count_from_the_year_one_and_from_a_later_date(tmp_path):
    paths = [put(tmp_path / "0.nc", np.zeros((2, 1), "f4"), units="days since 0001-01-01", dates=[730850, 730851]),
             put(tmp_path / "1.nc", np.ones((2, 1), "f4"), units="hours since 2002-01-03", dates=[1, 2])]
    found = nc3z.open_collection(tmp_path).dataset
    xr.testing.assert_identical(found.load(), nested(paths))
    assert found.time.encoding["units"] == "days since 0001-01-01"


def test_bounds_of_a_climatology_have_the_unit_of_its_times(tmp_path):
    for n, year in enumerate((2001, 2002)):
        variables = {"v": (("time", "x"), np.full((1, 2), n, "f4")), "time": ("time", [15.0]), "bounds": (("time", "nv"), [[0.0, 31.0]])}
        ds = xr.Dataset(variables)
        ds.time.attrs = {"units": f"days since {year}-01-01", "climatology": "bounds"}
        ds.to_netcdf(tmp_path / f"{n}.nc", format="NETCDF3_64BIT", engine="netcdf4", unlimited_dims=["time"])
    found = nc3z.open_collection(tmp_path).dataset
    assert [str(t)[:10] for t in found.bounds.values.ravel()] == ["2001-01-01", "2001-02-01", "2002-01-01", "2002-02-01"]


def test_consecutive_days_on_both_sides_of_the_last_date_of_numpy(tmp_path):
    for n, day in enumerate(("2262-04-10", "2262-04-12")):
        put(tmp_path / f"{n}.nc", np.zeros((2, 1), "f4"), units=f"days since {day}", dates=[0, 1])
    found = nc3z.open_collection(tmp_path).dataset
    assert [str(t)[:10] for t in found.time.values] == ["2262-04-10", "2262-04-11", "2262-04-12", "2262-04-13"]


@pytest.mark.parametrize("others", [0, 3, 80])
def test_groups_are_merged_however_many_there_are(tmp_path, others):
    for k in range(others):
        put(tmp_path / f"a{k:03}.nc", np.zeros((2, 3), "f4"), name=f"a{k}", n=k + 5)
    for name in ("tides", "ics"):
        put(tmp_path / f"z{name}.nc", np.ones((2, 3), "f4"), name=name)
    collection = nc3z.open_collection(tmp_path)
    assert len(collection) == others + 1
    (both,) = [g for g in collection if len(collection.files(g)) == 2]
    assert set(collection[both].data_vars) == {"tides", "ics"}


def test_groups_are_merged_whatever_their_times_count_from(tmp_path):
    for n in range(2):
        for name, units, factor in (("tas", "days since 2001-01-01", 1), ("pr", "hours since 2000-01-01", 24)):
            times = (np.arange(5.0) + 5 * n + (366 if name == "pr" else 0)) * factor
            bounds = ("time_bnds", (("time", "nv"), times[:, None] + [0, factor]))
            variables = {name: (("time", "x"), np.full((5, 2), n, "f4")), "time": ("time", times), bounds[0]: bounds[1]}
            ds = xr.Dataset(variables)
            ds.time.attrs = {"units": units, "bounds": "time_bnds"}
            ds.to_netcdf(tmp_path / f"{name}{n}.nc", format="NETCDF3_64BIT", engine="netcdf4", unlimited_dims=["time"])
    found = nc3z.open_collection(tmp_path).dataset.load()
    wanted = [oracle(sorted(tmp_path.glob(f"{name}*"))).load() for name in ("tas", "pr")]
    xr.testing.assert_equal(found, xr.merge(wanted, compat="equals", join="exact"))


def test_the_error_says_why_groups_are_apart(tmp_path):
    for n, calendar in enumerate(("standard", "noleap")):
        write(tmp_path / f"{n}.nc", month(n), calendar=calendar, encoding=FILL)
    with pytest.raises(ValueError, match=r"2 groups.*calendar of time is 'standard' in 0.nc and 'noleap' in 1.nc"):
        nc3z.open_collection(tmp_path).dataset  # noqa: B018


def test_a_link_to_a_file_of_the_tree_is_not_a_second_file(tmp_path):
    put(tmp_path / "a.nc", np.ones((2, 2), "f4"))
    os.symlink("a.nc", tmp_path / "latest.nc")
    collection = nc3z.open_collection(tmp_path)
    assert collection.files("v") == (str(tmp_path / "a.nc"),) and "link" in collection.notes[0]


@tool
@pytest.mark.parametrize("kind", [["--pack"], []])
def test_a_bundle_at_a_url_is_opened_once_for_all_of_its_members(tmp_path, kind):
    for n in range(30):
        write(tmp_path / "data" / f"{n:02}.nc", month(n), encoding=FILL)
    run("bundle", "data", "-o", "set.bundle.nc3z", *kind, cwd=tmp_path)
    with serve({"set.bundle.nc3z": (tmp_path / "set.bundle.nc3z").read_bytes()}) as server:
        collection = nc3z.open_collection(server.url("set.bundle.nc3z"))
        assert len(server.asked) <= (3 if kind else 30 + 4)
        opened = len(server.asked)
        xr.testing.assert_identical(collection.dataset.compute(), oracle(sorted((tmp_path / "data").glob("*.nc"))).compute())
        assert len(server.asked) - opened <= 2 * 30 + 4


VOCABULARIES = {
    "object_store": lambda url: {"endpoint": url, "region": "here", "skip_signature": True},
    "fsspec": lambda url: {"anon": True, "client_kwargs": {"endpoint_url": url, "region_name": "here"}},
    "endpoint_url": lambda url: {"key": "k", "secret": "s", "token": None, "endpoint_url": url},
}


@tool
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_settings_have_the_same_names_for_files_and_collections(tmp_path, vocabulary):
    for n in range(2):
        write(tmp_path / "data" / f"{n}.nc", month(n), encoding=FILL)
    run("bundle", "data", "-o", "set.bundle.nc3z", "--pack", cwd=tmp_path)
    run("catalog", "data/0.nc", "data/1.nc", "set.bundle.nc3z", "-o", "data.catalog.nc3z", cwd=tmp_path)
    files = {f"bucket/p/{path.relative_to(tmp_path)}": path.read_bytes() for path in [*tmp_path.glob("data/*"), *tmp_path.glob("*.*")]}
    wanted = oracle(sorted((tmp_path / "data").glob("*.nc")))
    with serve(files) as server:
        options = VOCABULARIES[vocabulary](server.url("").rstrip("/"))
        assert nc3z.open("s3://bucket/p/data/0.nc", storage_options=options)["tas"].shape == (5, 6, 8)
        assert nc3z.open("s3://bucket/p/set.bundle.nc3z!/0.nc", storage_options=options)["tas"].shape == (5, 6, 8)
        found = nc3z.open_collection("s3://bucket/p/set.bundle.nc3z", storage_options=options).dataset
        xr.testing.assert_equal(found.compute(), wanted.compute())
        xr.testing.assert_equal(pickle.loads(pickle.dumps(found)).compute(), wanted.compute())
        # Names in a catalogue at a URL start beside it.
        collection = nc3z.open_collection("s3://bucket/p/data.catalog.nc3z", storage_options=options)
        assert {path for g in collection for path in collection.files(g)} == {
            f"s3://bucket/p/{name}" for name in ("data/0.nc", "data/1.nc", "set.bundle.nc3z!/0.nc", "set.bundle.nc3z!/1.nc")
        }
        few = nc3z.open_collection("s3://bucket/p/data.catalog.nc3z", storage_options=options, where="tas > 1e9", drop=False)
        assert sum(int(ds.tas.count()) for ds in few.values()) == 0
        # Settings are for URLs: a list may have both.
        both = nc3z.open_collection([tmp_path / "data/0.nc", "s3://bucket/p/data/1.nc"], storage_options=options)
        xr.testing.assert_equal(both.dataset.compute(), wanted.compute())
        for unknown in ({"colour": "red"}, {"client_kwargs": {"colour": "red"}}):
            for opened in (nc3z.open, nc3z.open_collection):
                with pytest.raises(OSError, match=r"no setting `(client_kwargs\.)?colour`"):
                    opened("s3://bucket/p/set.bundle.nc3z!/0.nc", storage_options={**options, **unknown})


def test_headers_by_the_name_of_fsspec(tmp_path):
    path = put(tmp_path / "a.nc", np.ones((2, 2), "f4"))
    with serve({"a.nc": (tmp_path / "a.nc").read_bytes()}) as server:
        nc3z.open(server.url("a.nc"), storage_options={"headers": {"X-Key": "k"}, "client_kwargs": {"headers": {"X-Other": "o"}}})
        assert all(h["X-Key"] == "k" and h["X-Other"] == "o" for h in server.headers)
    with pytest.raises(TypeError, match="storage_options are for URLs"):
        nc3z.open(path, storage_options={"headers": {}, "region": "x"})


@tool
def test_names_in_a_catalog_at_a_url_may_have_any_characters(tmp_path):
    (tmp_path / "data").mkdir()
    path = put(tmp_path / "data" / "a b#1%41.nc", np.ones((2, 2), "f4"))
    run("catalog", "data", "-o", "sub.catalog.nc3z", cwd=tmp_path)
    with serve({"x/data/a%20b%231%2541.nc": open(path, "rb").read(), "x/sub.catalog.nc3z": (tmp_path / "sub.catalog.nc3z").read_bytes()}) as server:
        assert nc3z.open_collection(server.url("x/sub.catalog.nc3z")).dataset.v.sum() == 4


@tool
def test_conditions_on_integers_of_64_bits_and_infinite_values_are_those_of_find(tmp_path):
    whole = np.array([[2**53, 2**53 + 1, -(2**53) - 1], [7, 2**62 + 1, -5]])
    put(tmp_path / "w.nc", whole, name="w")
    real = np.array([[np.inf, 1, -np.inf], [2, np.nan, 1e308]])
    put(tmp_path / "f.nc", real, name="f", n=9)
    run("catalog", "w.nc", "f.nc", "-o", "s.catalog.nc3z", cwd=tmp_path)
    texts = [str(n) for n in (2**53, 2**53 + 1, 2**53 + 2, -(2**53) - 1, 2**62, 2**62 + 1, 2**64, -(2**64))] + ["7", "7.5", "-5.5", "1e30", "-inf", "inf"]
    signs = {">": np.greater, ">=": np.greater_equal, "<": np.less, "<=": np.less_equal, "==": np.equal}
    for text in texts:
        number = float(text) if "." in text or "e" in text or "inf" in text else int(text)
        for sign, compare in signs.items():
            for name, values in (("w", whole.astype(object)), ("f", real)):
                wanted = np.array([bool(compare(x, number)) for x in values.flat]).reshape(2, 3)
                for place in ("s.catalog.nc3z", f"{name}.nc"):
                    found = nc3z.open_collection(tmp_path / place, where=f"{name} {sign} {text}")
                    (ds,) = [ds for ds in found.values() if name in ds]
                    np.testing.assert_array_equal(~np.isnan(ds[name].values), wanted, f"{name} {sign} {text}")


def test_conditions_that_differ_in_their_last_digit_have_other_names_in_dask(tmp_path):
    put(tmp_path / "w.nc", np.array([[2**53, 2**53 + 1]] * 2), name="w")
    names = {nc3z.open_collection(tmp_path, where=f"w > {2**53 + n}", chunks={}).dataset.w.data.name for n in range(2)}
    assert len(names) == 2


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    put(root / "sub" / "a.nc", np.ones((2, 2), "f4"))
    put(tmp_path / "elsewhere" / "b.nc", np.ones((2, 2), "f4"))
    os.symlink("sub/a.nc", root / "latest.nc")
    os.symlink(tmp_path / "elsewhere" / "b.nc", root / "out.nc")
    os.symlink(tmp_path / "elsewhere", root / "folder")
    (root / "notes.txt").write_text("text")
    (root / "none.nc").write_bytes(b"")
    (root / "gone.nc").symlink_to("nothing.nc")
    return root


def test_a_tree_by_dask_follows_no_links_and_reports_other_files(tree, tmp_path):
    done = archive_tree(tree, tree / "archives", preset="fast")
    assert [os.path.relpath(r.source, tree) for r in done.archived] == ["sub/a.nc"]
    assert [os.path.relpath(path, tree) for path in done.failed] == ["gone.nc"]
    assert {os.path.relpath(path, tree): kind for path, kind in done.passed_over.items()} == {
        "latest.nc": "link inside the tree",
        "out.nc": "link out of the tree",
        "folder": "link out of the tree",
        "notes.txt": "other file",
        "none.nc": "empty file",
    }
    assert done.count_passed_over()["link out of the tree"] == 2
    assert archive_tree(tree, tree / "archives").passed_over == done.passed_over


@tool
def test_a_tree_by_dask_has_the_archives_of_the_tool(tree, tmp_path):
    import subprocess

    from test_collections import TOOL

    archive_tree(tree, tmp_path / "dask")
    subprocess.run([TOOL, "archive", "-r", tree, "-o", tmp_path / "tool"], capture_output=True, check=False)
    trees = [{str(path.relative_to(tmp_path / name)) for path in (tmp_path / name).rglob("*.nc3z")} for name in ("dask", "tool")]
    assert trees[0] == trees[1] == {"sub/a.nc.nc3z"}


def test_files_on_tape_are_not_opened_unless_asked_for(tree, tmp_path):
    with open(tree / "tape.nc", "wb") as file:
        file.truncate(10 << 20)
    with open(tree / "tape.dat", "wb") as file:
        file.truncate(10 << 20)
    with pytest.raises(OSError, match=r"1 file has no data on disk, such as .*tape.nc; on_tape='skip'"):
        archive_tree(tree, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    done = archive_tree(tree, tmp_path / "out", on_tape="skip")
    assert done.passed_over[str(tree / "tape.nc")] == "file on tape" and len(done.archived) == 1 and len(done.failed) == 1
    last = archive_tree(tree, tmp_path / "out", on_tape="last")
    assert "CorruptError" in last.failed[str(tree / "tape.nc")] or "UnsupportedError" in last.failed[str(tree / "tape.nc")]
    with pytest.raises(ValueError, match="on_tape"):
        archive_tree(tree, tmp_path / "out", on_tape="recall")


def test_the_site_says_which_files_are_on_tape(tree, tmp_path):
    for name in ("b.nc", "c.nc"):
        put(tree / name, np.ones((2, 2), "f4"))
    sources = lambda done: [os.path.relpath(r.source, tree) for r in done.archived]
    site = tmp_path / "site"
    site.write_text('#!/bin/sh\ncase $1 in */b.nc) echo released;; */broken*) exit 3;; *) echo exists;; esac\n')
    site.chmod(0o755)
    done = archive_tree(tree, tmp_path / "one", tape_command=f"{site} {{}}", on_tape="skip", preset="fast")
    assert sources(done) == ["c.nc", "sub/a.nc"] and done.passed_over[str(tree / "b.nc")] == "file on tape"
    # The list of the last call is not that of the next one.
    assert sources(archive_tree(tree, tmp_path / "two", preset="fast")) == ["b.nc", "c.nc", "sub/a.nc"]
    listed = tmp_path / "tape.list"
    listed.write_text(f"{tree / 'sub/a.nc'}\n{tree / 'b.nc'}\n")
    with pytest.raises(OSError, match="2 files have no data on disk"):
        archive_tree(tree, tmp_path / "three", tape_list=listed)
    told = []
    archive_tree(tree, tmp_path / "three", tape_list=listed, on_tape="last", batch_size=1, on_result=told.append, preset="fast")
    assert [os.path.relpath(r.source, tree) for r in told if not isinstance(r, str)] == ["c.nc", "sub/a.nc", "b.nc"]
    with pytest.raises(ValueError, match="no-such-command"):
        archive_tree(tree, tmp_path / "four", tape_command="no-such-command {}")
    put(tree / "broken.nc", np.ones((2, 2), "f4"))
    with pytest.raises(ValueError, match="exit status: 3"):
        archive_tree(tree, tmp_path / "four", tape_command=str(site))
    assert not (tmp_path / "four").exists()


def test_an_attribute_is_one_text(tmp_path):
    path = put(tmp_path / "a.nc", np.ones((2, 2), "f4"))
    nc3z.archive(path)
    with nc3z.open(path + ".nc3z", "r+") as edit:
        for wrong in (["x", "yz"], ("ab", "c"), np.array(["q", "rs"]), np.array([b"a", b"b"]), [b"x", "y"]):
            for attrs in (edit.attrs, edit["v"].attrs):
                with pytest.raises(TypeError, match="one text"):
                    attrs["l"] = wrong
                assert "l" not in attrs
        edit.attrs["l"] = np.array(["one"])
        assert edit.attrs["l"] == "one" and edit.touched
    for ds in (xr.Dataset(attrs={"l": ["x", "yz"]}), xr.Dataset({"v": ("x", np.arange(2), {"l": ("x", "yz")})})):
        with pytest.raises(TypeError, match="attribute l: an attribute is one text"):
            ds.nc3z.to_archive(tmp_path / "ds.nc3z")

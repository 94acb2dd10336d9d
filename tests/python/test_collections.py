"""Collections: the datasets of many files are those of xarray's `open_mfdataset` on the originals, from whatever holds the files."""

import itertools
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import xarray as xr
from conftest import ROOT

import nc3z
import nc3z.xarray  # noqa: F401  registers the accessor

sys.path.append(str(ROOT / "tests"))
from servers import serve  # noqa: E402

TOOL = os.environ.get("NC3Z", str(ROOT / "target" / "debug" / "nc3z"))
tool = pytest.mark.skipif(not os.path.exists(TOOL), reason="the command line tool is not built")


def run(*words, cwd=None):
    done = subprocess.run([TOOL, *map(str, words)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(path, variables, units="days since 2001-01-01", calendar="standard", encoding=None, attrs=None):
    """A classic file; `time` is unlimited, and its values are numbers of the given units."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ds = xr.Dataset(variables, attrs=attrs or {"title": "made for a test"})
    if "time" in ds.coords:
        ds.time.attrs = {"units": units, "calendar": calendar, "standard_name": "time"}
    kinds = {n: {"_FillValue": None} for n in ds.variables}
    kinds.update(encoding or {})
    unlimited = ["time"] if "time" in ds.dims else None
    ds.to_netcdf(path, format="NETCDF3_64BIT", engine="netcdf4", encoding=kinds, unlimited_dims=unlimited)
    return path


def month(n, lat=None, days=5, seed=None):
    lat = np.linspace(-80, 80, 6) if lat is None else lat
    rng = np.random.default_rng(n if seed is None else seed)
    values = (280 + 3 * n + rng.normal(0, 4, (days, len(lat), 8))).astype("f4")
    values[rng.random(values.shape) < 0.1] = np.nan
    return {
        "tas": (("time", "lat", "lon"), values, {"units": "K", "standard_name": "air_temperature", "long_name": f"month {n}"}),
        "time": ("time", np.arange(days) + 5.0 * n),
        "lat": ("lat", lat, {"units": "degrees_north"}),
        "lon": ("lon", np.arange(8) * 45.0),
    }


FILL = {"tas": {"_FillValue": np.float32(1e20)}}


@pytest.fixture
def year(tmp_path):
    """Twelve files of five days each, in an order that is not that of their names."""
    for n in range(12):
        write(tmp_path / "data" / f"{(7 * n) % 12:02}.nc", month(n), encoding=FILL, attrs={"title": f"file {n}"})
    return tmp_path / "data"


def oracle(paths, **options):
    options = {"data_vars": "minimal", "coords": "minimal", "compat": "equals", "join": "exact", "combine_attrs": "override", **options}
    return xr.open_mfdataset([str(p) for p in paths], engine="netcdf4", combine="by_coords", **options)


def check(found, wanted):
    """Values, types, names and attributes are equal, and so is what says how values are stored."""
    xr.testing.assert_identical(found.compute(), wanted.compute())
    for name, variable in wanted.variables.items():
        assert found[name].dtype == variable.dtype, name
        for key in ("_FillValue", "missing_value", "scale_factor", "add_offset", "units", "calendar", "dtype"):
            assert found[name].encoding.get(key) == variable.encoding.get(key), (name, key)
    assert found.encoding["unlimited_dims"] == {"time"}


def in_order(folder):
    """Paths by time: `open_mfdataset` takes attributes of the first path, and the collection those of the first time."""
    with_time = []
    for path in folder.glob("*.nc"):
        with xr.open_dataset(path, engine="netcdf4") as ds:
            with_time.append((ds.time.values[0], path))
    return [path for _, path in sorted(with_time)]


def test_a_directory_is_what_open_mfdataset_makes_of_it(year):
    wanted = oracle(in_order(year))
    collection = nc3z.open_collection(year)
    assert list(collection) == ["tas"] and "12 files" in repr(collection) and collection.left_out == {}
    check(collection.dataset, wanted)
    check(nc3z.open_collection(f"{year}/*.nc").dataset, wanted)
    check(nc3z.open_collection(sorted(year.glob("*.nc")), chunks={}).dataset, wanted)
    assert collection.files("tas") == tuple(str(p) for p in in_order(year))


@tool
def test_every_place_gives_the_same_dataset(year, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wanted = oracle(in_order(year))
    run("archive", "-r", year, "-o", "archives")
    run("bundle", year, "-o", "plain.bundle.nc3z")
    run("bundle", "archives", "-o", "archives.bundle.nc3z")
    run("bundle", year, "-o", "packed.bundle.nc3z", "--pack")
    run("catalog", "archives", "-o", "catalog.catalog.nc3z")
    run("catalog", "packed.bundle.nc3z", "-o", "packed.catalog.nc3z")
    run("aggregate", "archives", "-o", "archives/all.nc", "--no-history")
    for place in ("archives", "plain.bundle.nc3z", "archives.bundle.nc3z", "packed.bundle.nc3z", "catalog.catalog.nc3z", "packed.catalog.nc3z"):
        check(nc3z.open_collection(place).dataset, wanted)
        check(nc3z.open_collection(place, chunks={}).dataset, wanted)
    # An aggregation has one dataset. In a directory with its files it is left out.
    assert list(nc3z.open_collection("archives").left_out) == [str(tmp_path / "archives/all.nc")]
    xr.testing.assert_equal(nc3z.open_collection("archives/all.nc", chunks={}).dataset.tas.drop_attrs(), wanted.tas.drop_attrs())
    run("bundle", "archives", "-o", "whole.bundle.nc3z")
    assert nc3z.open_collection("whole.bundle.nc3z!/all.nc").dataset.tas.shape == wanted.tas.shape
    # A file beside its archive is the same file.
    for path in year.glob("*.nc"):
        os.link(path, tmp_path / "archives" / path.name)
    mixed = nc3z.open_collection("archives")
    check(mixed.dataset, wanted)
    assert len(mixed.notes) == 12


@tool
@pytest.mark.parametrize("kind", ["--pack", None])
def test_a_bundle_on_a_server(year, tmp_path, kind):
    run("bundle", year, "-o", tmp_path / "set.bundle.nc3z", *filter(None, [kind]))
    wanted = oracle(in_order(year))
    with serve({"set.bundle.nc3z": (tmp_path / "set.bundle.nc3z").read_bytes()}) as server:
        collection = nc3z.open_collection(server.url("set.bundle.nc3z"))
        check(collection.dataset, wanted)
        again = pickle.loads(pickle.dumps(collection.dataset))
        xr.testing.assert_identical(again.compute(), wanted.compute())


@pytest.fixture(params=["--pack", None])
def versions(request, year, tmp_path, monkeypatch):
    """Version 1 of a bundle and of a catalogue has the first six files, version 2 all: the files by time."""
    monkeypatch.chdir(tmp_path)
    paths = in_order(year)
    for command, name, words in (("bundle", "set.bundle.nc3z", filter(None, [request.param])), ("catalog", "c.catalog.nc3z", [])):
        run(command, *paths[:6], "-o", name, *words)
        run(command, *paths[6:], "-o", name, "--append")
    return paths


@tool
def test_versions_of_bundles_and_catalogs(versions):
    first, both, member = oracle(versions[:6]), oracle(versions), oracle(versions[:1])
    with serve({name: open(name, "rb").read() for name in ("set.bundle.nc3z", "c.catalog.nc3z")}) as server:
        for name in ("set.bundle.nc3z", "c.catalog.nc3z", server.url("set.bundle.nc3z")):
            check(nc3z.open_collection(f"{name}@1", chunks={}).dataset, first)
            check(nc3z.open_collection(f"{name}@2").dataset, both)
        check(nc3z.open_collection(server.url("c.catalog.nc3z@1"), base=os.getcwd()).dataset, first)
        for name in ("set.bundle.nc3z@1", server.url("set.bundle.nc3z@1")):
            check(nc3z.open_collection(f"{name}!/{versions[0].name}").dataset, member)
            check(pickle.loads(pickle.dumps(nc3z.open_collection(name).dataset)), first)
            with pytest.raises((FileNotFoundError, nc3z.Error), match=versions[9].name):
                nc3z.open_collection(f"{name}!/{versions[9].name}")


@tool
def test_statistics_of_a_version_of_a_catalog(versions):
    found = nc3z.open_collection(versions, catalog="c.catalog.nc3z@1", where="tas > 1e6", drop=True)
    assert set(found.left_out) == set(map(str, versions[:6]))
    with pytest.raises(FileNotFoundError, match="no file is left"):
        nc3z.open_collection(versions, catalog="c.catalog.nc3z@2", where="tas > 1e6", drop=True)


@tool
def test_versions_of_archives_with_and_without_a_digest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [write(tmp_path / f"{n}.nc", month(n), encoding=FILL) for n in range(2)]
    run("aggregate", *paths, "-o", "all.nc", "--no-history")
    for source, words in (("0.nc", ["--quick"]), ("all.nc", [])):
        nc3z.archive(source)
        run("attr", f"{source}.nc3z", ":title=second", *words)
    for name, wanted in (("0.nc.nc3z", oracle(paths[:1])), ("all.nc.nc3z", oracle(paths))):
        for version, title in ((1, "made for a test"), (2, "second")):
            found = nc3z.open_collection(f"{name}@{version}").dataset
            xr.testing.assert_equal(found.compute(), wanted.compute())
            assert found.attrs["title"] == title


@tool
def test_headers_are_sent_to_the_server(year, tmp_path, monkeypatch):
    run("bundle", year, "-o", tmp_path / "set.bundle.nc3z", "--pack")
    with serve({"set.bundle.nc3z": (tmp_path / "set.bundle.nc3z").read_bytes()}) as server:
        nc3z.open_collection(server.url("set.bundle.nc3z"), storage_options={"bearer_token": "abc", "header.X-Key": "k"})
        assert all(h["Authorization"] == "Bearer abc" and h["X-Key"] == "k" for h in server.headers)
        del server.headers[:]
        monkeypatch.setenv("NC3Z_HTTP_HEADERS", "X-Other: 1")
        nc3z.open_collection(server.url("set.bundle.nc3z").replace("://", "://me:secret@"))
        assert all(h["Authorization"].startswith("Basic ") and h["X-Other"] == "1" for h in server.headers)


@tool
def test_a_query_of_a_bundles_url_is_no_part_of_names(tmp_path):
    for n in range(2):
        write(tmp_path / "data" / "day" / f"{n}.nc", month(n), encoding=FILL)
        write(tmp_path / "data" / "mon" / f"{n}.nc", {**month(n), "time": ("time", (np.arange(5) + 5.0 * n) * 30)}, encoding=FILL)
    run("bundle", tmp_path / "data", "-o", tmp_path / "set.bundle.nc3z")
    with serve({"set.bundle.nc3z": (tmp_path / "set.bundle.nc3z").read_bytes()}) as server:
        found = nc3z.open_collection(server.url("set.bundle.nc3z?sig=s3cr3t"))
        assert sorted(found) == ["day", "mon"] and "s3cr3t" not in repr(found)
        check(found["day"], oracle(sorted((tmp_path / "data" / "day").glob("*.nc"))))


def test_urls_in_a_list(year):
    with serve({p.name: p.read_bytes() for p in year.glob("*.nc")}) as server:
        check(nc3z.open_collection([server.url(p.name) for p in year.glob("*.nc")]).dataset, oracle(in_order(year)))


def test_files_that_store_values_in_different_ways(tmp_path):
    """Each file has its own packing, fill value, type, and date that its times count from."""
    paths = []
    for n in range(4):
        variables = month(n)
        variables["time"] = ("time", np.arange(5.0))
        variables["time_bnds"] = (("time", "nv"), np.arange(5.0)[:, None] + [0, 1])
        packed = {"dtype": "i2", "scale_factor": 0.01 * (n + 1), "add_offset": 280.0, "_FillValue": np.int16(-1 - n)}
        plain = {"_FillValue": np.float32(1e20)}
        path = tmp_path / f"{n}.nc"
        ds = xr.Dataset(variables)
        ds.time.attrs = {"units": f"days since 2001-0{n + 1}-01", "calendar": "noleap", "bounds": "time_bnds"}
        kinds = {"tas": packed if n % 2 else plain, **{name: {"_FillValue": None} for name in ("time", "lat", "lon", "time_bnds")}}
        ds.to_netcdf(path, format="NETCDF3_64BIT", engine="netcdf4", encoding=kinds, unlimited_dims=["time"])
        paths.append(path)
    wanted = oracle(paths)
    assert wanted.tas.dtype == "f8" and wanted.time.dtype == object
    for chunks in (None, {}):
        found = nc3z.open_collection(tmp_path, chunks=chunks).dataset
        xr.testing.assert_identical(found.compute(), wanted.compute())
        # They are written as they were read: the packing of the first file would round the values of the others.
        assert found.tas.encoding["dtype"] == "f8" and not {"scale_factor", "_FillValue"} & set(found.tas.encoding)
        for name in ("time", "time_bnds"):
            assert [found[name].encoding[key] for key in ("units", "calendar")] == ["days since 2001-01-01", "noleap"]
    for key in ({"time": [17, 3, 4]}, {"time": slice(None, None, -3), "lat": 2}, {"lon": [7, 0], "time": -1}):
        xr.testing.assert_identical(nc3z.open_collection(tmp_path).dataset.isel(key).compute(), wanted.isel(key).compute())


def test_tiles_along_two_dimensions(tmp_path):
    """Time and latitude, which falls from north to south."""
    lats = np.linspace(80, -80, 12)
    for t, y in itertools.product(range(3), range(4)):
        write(tmp_path / f"{t}_{y}.nc", month(t, lats[3 * y : 3 * y + 3], seed=10 * t + y), encoding=FILL)
    wanted = oracle(sorted(tmp_path.glob("*.nc")))
    found = nc3z.open_collection(tmp_path).dataset
    assert found.tas.shape == (15, 12, 8)
    # xarray sorts latitudes as the files have them, too.
    xr.testing.assert_identical(found.drop_attrs().compute(), wanted.drop_attrs().compute())
    found = nc3z.open_collection(tmp_path, chunks={}).dataset
    xr.testing.assert_identical(found.drop_attrs().compute(), wanted.drop_attrs().compute())


def test_values_that_only_decoding_makes_comparable_are_not_mixed(tmp_path):
    """Without decoding, times that count from two dates count from one, and two packings are refused."""
    for n in range(2):
        more = {**month(n), "time": ("time", np.arange(5.0))}
        packed = {"tas": {"dtype": "i2", "scale_factor": 0.01 * (n + 1), "add_offset": 280.0, "_FillValue": np.int16(-1)}}
        write(tmp_path / f"{n}.nc", more, units=f"days since 200{n + 1}-01-01", encoding=packed)
    with pytest.raises(ValueError, match="store tas in different ways"):
        nc3z.open_collection(tmp_path, mask_and_scale=False).dataset  # noqa: B018
    time = nc3z.open_collection(tmp_path, decode_times=False).dataset.time
    assert time.dtype == "i8" and time.units == "microseconds since 1970-01-01"
    xr.testing.assert_identical(xr.decode_cf(time.to_dataset(name="t")).time, nc3z.open_collection(tmp_path).dataset.time)
    found = nc3z.open_collection(tmp_path, mask_and_scale=False, drop_variables="tas").dataset
    assert "tas" not in found and found.time.size == 10


def test_options_of_xarray(year):
    raw = nc3z.open_collection(year, decode_times=False, drop_variables=["lon"]).dataset
    assert raw.time.dtype == "f8" and raw.time.units == "days since 2001-01-01" and "lon" not in raw.coords
    wanted = oracle(in_order(year))
    for chunks in ("auto", -1, {"time": 9}):
        found = nc3z.open_collection(year, chunks=chunks).dataset
        xr.testing.assert_identical(found.compute(), wanted.compute())
    packed = nc3z.open_collection(year, mask_and_scale=False).dataset.tas
    assert packed.dtype == "f4" and packed.attrs["_FillValue"] == np.float32(1e20)


def test_random_selections(year):
    found, wanted = nc3z.open_collection(year).dataset.tas, oracle(in_order(year)).tas.load()
    rng = np.random.default_rng(5)

    def pick(n):
        kind = rng.integers(4)
        if kind == 0:
            return int(rng.integers(-n, n))
        if kind == 1:
            return rng.integers(-n, n, rng.integers(0, 6))
        start, stop = rng.integers(-n, n + 1, 2)
        return slice(int(start), int(stop), int(rng.choice([-3, -1, 1, 2, 5])))

    for _ in range(300):
        key = tuple(pick(n) for n in found.shape)
        xr.testing.assert_identical(found[key].compute(), wanted[key])


def test_groups_of_what_belongs_together(tmp_path):
    """Daily and monthly means, two models with grids of their own, two members of an ensemble, another calendar and other units."""

    def put(folder, n, **more):
        variables = month(n)
        if "step" in more:
            variables["time"] = ("time", (np.arange(5) + 5.0 * n) * more["step"])
        if "lat" in more:
            variables = month(n, np.linspace(-70, 70, more["lat"]))
        if "units" in more:
            variables["tas"][2]["units"] = more["units"]
        write(tmp_path / folder / f"tas_{2001 + n}.nc", variables, encoding=FILL, calendar=more.get("calendar", "standard"))

    for n in range(3):
        put("day", n)
        put("mon", n, step=30.0)
        put("fine", n, lat=9)
        put("r2", n)
        put("noleap", n, calendar="noleap")
        put("celsius", n, units="degC")
    collection = nc3z.open_collection(tmp_path)
    assert sorted(collection) == ["celsius", "day", "fine", "mon", "noleap", "r2"]
    for name in collection:
        wanted = oracle(sorted((tmp_path / name).glob("*.nc")))
        check(collection[name], wanted)
    tree = xr.DataTree.from_dict(collection)
    assert tree["mon"].dataset.tas.shape == (15, 6, 8)
    with pytest.raises(ValueError, match="6 groups"):
        collection.dataset  # noqa: B018
    with pytest.raises(KeyError, match="day"):
        collection["hour"]
    # In one directory, names tell them apart.
    flat = tmp_path / "flat"
    flat.mkdir()
    for path in [*(tmp_path / "day").glob("*.nc"), *(tmp_path / "mon").glob("*.nc"), *(tmp_path / "r2").glob("*.nc")]:
        os.link(path, flat / f"{path.parent.name}_{path.name}")
    flat = nc3z.open_collection(flat)
    assert sorted(flat[name].time.size for name in flat) == [15, 15, 15]
    assert all(len({os.path.basename(p)[:3] for p in flat.files(name)}) == 1 for name in flat)


def test_variables_in_files_of_their_own(tmp_path):
    for n in range(3):
        tas = month(n)
        write(tmp_path / f"tas_{n}.nc", tas, encoding=FILL)
        pr = {**{k: v for k, v in tas.items() if k != "tas"}, "pr": (("time", "lat", "lon"), np.full((5, 6, 8), n, "f4"), {"units": "mm"})}
        write(tmp_path / f"pr_{n}.nc", pr)
    found = nc3z.open_collection(tmp_path)
    assert list(found) == ["pr+tas"] and set(found.dataset.data_vars) == {"tas", "pr"}
    wanted = oracle(sorted(tmp_path.glob("tas*"))).merge(oracle(sorted(tmp_path.glob("pr*"))))
    xr.testing.assert_identical(found.dataset.compute(), wanted[list(found.dataset.data_vars)].compute())
    assert list(nc3z.open_collection(tmp_path, merge=False)) == ["pr", "tas"]


def test_files_that_share_only_the_time_are_not_one_dataset(tmp_path):
    write(tmp_path / "tas.nc", month(0), encoding=FILL)
    write(tmp_path / "mesh.nc", {"depth": (("time", "node"), np.zeros((5, 40), "f4")), "time": ("time", np.arange(5.0))})
    assert sorted(nc3z.open_collection(tmp_path)) == ["depth", "tas"]


def test_every_sample_file_alone(archives):
    """A collection of one file is what the engine opens, whatever the file has: names with NULs, text, scalars, no records."""
    same = 0
    for path in sorted(archives.glob("*.nc3z")):
        try:
            wanted = xr.open_dataset(path, engine="nc3z").load()
        except (ValueError, OSError):
            continue
        xr.testing.assert_identical(nc3z.open_collection(path).dataset.load(), wanted)
        same += 1
    assert same > 20


def test_a_hole_makes_two_groups(tmp_path):
    lats = np.linspace(-80, 80, 12)
    for t, y in [(0, 0), (1, 0), (0, 1)]:
        write(tmp_path / f"{t}_{y}.nc", month(t, lats[6 * y : 6 * y + 6]), encoding=FILL)
    found = nc3z.open_collection(tmp_path)
    assert sorted(ds.tas.shape for ds in found.values()) == [(5, 6, 8), (10, 6, 8)]


def test_a_variable_that_differs_gets_the_joined_dimension(tmp_path):
    for n in range(3):
        write(tmp_path / f"{n}.nc", {**month(n), "orbit": ((), np.int32(40 + n)), "same": ((), np.int32(7))}, encoding=FILL)
    found = nc3z.open_collection(tmp_path).dataset
    assert found.orbit.dims == ("time",) and found.orbit.values.tolist() == [40] * 5 + [41] * 5 + [42] * 5
    assert found.same.dims == () and found.same == 7
    wanted = oracle(sorted(tmp_path.glob("*.nc")), data_vars="different")
    xr.testing.assert_identical(found.compute(), wanted.compute())
    assert nc3z.open_collection(tmp_path, compat="override").dataset.orbit == 40


def test_files_without_coordinates_are_joined_if_told(tmp_path):
    for n in range(3):
        values = np.arange(4 + n, dtype="f4") + 10 * n
        xr.Dataset({"t": ("profile", values)}).to_netcdf(tmp_path / f"p{n}.nc", format="NETCDF3_64BIT", engine="netcdf4")
    assert len(nc3z.open_collection(tmp_path)) == 3
    found = nc3z.open_collection(tmp_path, concat_dim="profile").dataset
    wanted = xr.open_mfdataset(sorted(map(str, tmp_path.glob("*.nc"))), engine="netcdf4", combine="nested", concat_dim="profile")
    xr.testing.assert_identical(found.compute(), wanted.compute())


def test_text_of_different_lengths(tmp_path):
    for n in range(2):
        names = np.array([b"a" * (3 + 4 * n), b"bc"])
        ds = xr.Dataset({"station": (("time",), names), "time": ("time", np.arange(2.0) + 2 * n)})
        ds.time.attrs["units"] = "days since 2001-01-01"
        ds.to_netcdf(tmp_path / f"{n}.nc", format="NETCDF3_64BIT", engine="netcdf4")
    found = nc3z.open_collection(tmp_path).dataset
    assert found.station.values.tolist() == [b"aaa", b"bc", b"aaaaaaa", b"bc"]
    xr.testing.assert_equal(found.compute(), oracle(sorted(tmp_path.glob("*.nc"))).compute())


def test_other_files(year, tmp_path):
    (year / "notes.txt").write_text("nothing of ours")
    assert nc3z.open_collection(year).left_out == {}
    with pytest.raises(nc3z.UnsupportedError):
        nc3z.open_collection([year / "notes.txt"])
    with pytest.raises(FileNotFoundError, match="no such file"):
        nc3z.open_collection(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no archive"):
        nc3z.open_collection(tmp_path / "empty")
    with pytest.raises(ValueError, match="compat"):
        nc3z.open_collection(year, compat="broadcast_equals")


@tool
def test_a_directory_whose_name_ends_with_an_exclamation_mark(year, tmp_path):
    wanted = oracle(in_order(year))
    data = year.rename(tmp_path / "wow!")
    run("catalog", data, "-o", tmp_path / "c.catalog.nc3z")
    for source in (data, f"{data}/*.nc", sorted(data.glob("*.nc")), tmp_path / "c.catalog.nc3z"):
        check(nc3z.open_collection(source, chunks={}).dataset, wanted)


@pytest.mark.parametrize("name", [b"caf\xe9.nc", b"caf\xe9.nc.nc3z"])
@pytest.mark.parametrize("errors", ["raise", "ignore"])
def test_names_that_are_not_utf_8_are_left_out(year, name, errors):
    wanted = oracle(in_order(year)).load()
    path = os.fsencode(year) + b"/" + name
    with open(path, "wb") as file:
        data = (year / "00.nc").read_bytes()
        file.write(nc3z.archive_bytes(data) if name.endswith(b"z") else data)
    found = nc3z.open_collection(year, errors=errors)
    ((left_out, why),) = found.left_out.items()
    assert os.fsencode(left_out) == path and "not valid UTF-8" in why and repr(found).encode()
    check(found.dataset, wanted)


def test_damage_is_an_error(year):
    path = next(year.glob("*.nc"))
    data = path.read_bytes()
    path.write_bytes(data[:60])
    with pytest.raises(nc3z.Error):
        nc3z.open_collection(year)
    found = nc3z.open_collection(year, errors="ignore")
    assert list(found.left_out) == [str(path)] and found.dataset.time.size == 55
    with pytest.raises(ValueError, match="errors"):
        nc3z.open_collection(year, errors="coerce")


def test_times_that_cannot_be_compared_are_not_joined(tmp_path):
    for n, units in enumerate(["months since 2001-01-01", "months since jan 1899", "days since 2001-01-01"]):
        write(tmp_path / f"{n}.nc", month(n), units=units, encoding=FILL)
    found = nc3z.open_collection(tmp_path, decode_times=False)
    assert sorted(ds.time.units for ds in found.values()) == ["days since 2001-01-01", "months since 2001-01-01", "months since jan 1899"]


def test_a_file_that_was_replaced_is_an_error(year):
    found = nc3z.open_collection(year).dataset
    path = nc3z.open_collection(year).files("tas")[3]
    os.utime(path, ns=(1, 1))
    found.tas[:15].load()
    with pytest.raises(nc3z.ReplacedError, match=os.path.basename(path)):
        found.tas.isel(time=17).load()


@tool
def test_forged_indexes_of_bundles(year, tmp_path):
    run("bundle", year, "-o", tmp_path / "set.bundle.nc3z", "--pack")
    data = (tmp_path / "set.bundle.nc3z").read_bytes()
    at = data.rfind(b"nc3zidx2")
    hurt = tmp_path / "hurt.bundle.nc3z"
    rng = np.random.default_rng(3)
    for _ in range(60):
        forged = bytearray(data)
        place = int(rng.integers(at, len(data)))
        forged[place] ^= int(rng.integers(1, 256))
        hurt.write_bytes(forged)
        try:
            nc3z.open_collection(hurt)
        except (nc3z.Error, OSError):
            pass
    for end in (0, 3, 40, at, at + 30, len(data) - 1):
        hurt.write_bytes(data[:end])
        with pytest.raises((nc3z.Error, OSError)):
            nc3z.open_collection([hurt])


def test_chunks_are_whole_files_or_whole_tiles(tmp_path):
    for n, days in enumerate((31, 28, 31)):
        rng = np.random.default_rng(n)
        ds = xr.Dataset(
            {"t": (("time", "y", "x"), rng.normal(0, 1, (days, 600, 700)).astype("f4")), "time": ("time", np.arange(days) + 40.0 * n)}
        )
        ds.time.attrs["units"] = "days since 2001-01-01"
        ds.to_netcdf(tmp_path / f"{n}.nc", format="NETCDF3_64BIT", engine="netcdf4")
        nc3z.archive(tmp_path / f"{n}.nc", preset="fast", verify=False)
    found = nc3z.open_collection(tmp_path, chunks={}).dataset.t
    lengths = found.chunks[0]
    tile = nc3z.open(tmp_path / "0.nc.nc3z")["t"].tile_shape
    assert sum(lengths) == 90 and max(found.data.chunksize) * 4 <= 64 << 20
    # Every chunk ends with a tile of a file, or with the file.
    edges, starts = np.cumsum(lengths), np.array([0, 31, 59])
    for edge in edges:
        start = starts[starts < edge].max()
        assert (edge - start) % tile[0] == 0 or edge in (31, 59, 90)
    small = nc3z.open_collection(tmp_path, chunks={"time": 30}).dataset.t
    assert small.chunks[0] == (30, 30, 30)
    np.testing.assert_array_equal(small[29:33, 5, 5], found[29:33, 5, 5])


def total(ds):
    return float(ds.tas.mean())


def test_dask(year, workers):
    from distributed import Client

    wanted = oracle(in_order(year)).compute()
    found = nc3z.open_collection(year, chunks={"time": 5}).dataset
    # One array for all files: it is one key of the graph, beside those of its chunks.
    assert len(found.tas.data.dask) == 12 + 1
    for scheduler in ("synchronous", "threads", "processes"):
        xr.testing.assert_identical(found.compute(scheduler=scheduler), wanted)
    with Client(workers) as client:
        xr.testing.assert_identical(found.compute(), wanted)
        np.testing.assert_allclose(found.tas.mean(("time", "lon")).compute(), wanted.tas.mean(("time", "lon")), rtol=1e-6)
        lazy = nc3z.open_collection(year).dataset
        assert client.submit(total, lazy).result() == total(wanted)
        assert client.submit(total, found).result() == pytest.approx(total(wanted), rel=1e-6)


def test_names_of_dasks_tasks_change_with_the_files(year):
    def name():
        return nc3z.open_collection(year, chunks={}).dataset.tas.data.name

    first = name()
    assert name() == first
    os.utime(next(year.glob("*.nc")), ns=(1, 1))
    assert name() != first


def test_threads_read_at_once(year):
    found, wanted = nc3z.open_collection(year).dataset.tas, oracle(in_order(year)).tas.load()
    wrong = []

    def read(seed):
        rng = np.random.default_rng(seed)
        for _ in range(40):
            t = int(rng.integers(60))
            if not np.array_equal(found.isel(time=t).copy().values, wanted.isel(time=t).values, equal_nan=True):
                wrong.append(t)

    threads = [threading.Thread(target=read, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_more_files_than_are_kept_open(tmp_path):
    for n in range(300):
        write(tmp_path / f"{n}.nc", {"t": (("time",), np.array([n], "f4")), "time": ("time", [float(n)])})
    found = nc3z.open_collection(tmp_path).dataset
    np.testing.assert_array_equal(found.t, np.arange(300))
    np.testing.assert_array_equal(found.t[::-7], np.arange(300)[::-7])

"""Conditions on collections: values are those of `Dataset.where`, and what the catalogue excludes is not read."""

import os
import shutil

import numpy as np
import pytest
import xarray as xr
from test_collections import FILL, month, oracle, run, tool, write

import nc3z

pytestmark = tool


@pytest.fixture
def archives(tmp_path):
    """Archives of several tiles each, their originals, and the catalogue of the archives."""
    for n in range(8):
        path = write(tmp_path / "data" / f"{n}.nc", month(n, np.linspace(-80, 80, 10)), encoding=FILL)
        chunks = {"time": 2, "lat": 3, "lon": 5} if n % 2 else {"time": 1}
        (tmp_path / "archives").mkdir(exist_ok=True)
        nc3z.archive(path, tmp_path / "archives" / f"{n}.nc.nc3z", chunks=chunks)
    run("catalog", "archives", "-o", "s.catalog.nc3z", cwd=tmp_path)
    return tmp_path


@pytest.mark.parametrize("condition", ["tas > 300", "tas >= 285.5", "tas < 279", "tas<=270", "tas == 290", "tas > 1e9", "tas > -1e9"])
def test_values_are_those_of_where(archives, condition):
    wanted = oracle(sorted((archives / "data").glob("*.nc"))).load()
    wanted = wanted.where(eval(condition, {"tas": wanted.tas.astype("f8")}))
    for chunks in (None, {}, {"time": 7, "lat": 4}):
        found = nc3z.open_collection(archives / "s.catalog.nc3z", where=condition, chunks=chunks).dataset
        xr.testing.assert_identical(found.compute(), wanted)
        assert found.tas.dtype == wanted.tas.dtype
    # Without a catalogue, all is read.
    plain = nc3z.open_collection(archives / "archives", where=condition).dataset
    xr.testing.assert_identical(plain.compute(), wanted)
    for key in ({"time": 3}, {"time": [30, 2, 2], "lat": slice(None, None, -2)}, {"lon": 7, "time": slice(9, 31, 4)}):
        xr.testing.assert_identical(found.isel(key).compute(), wanted.isel(key))


def test_conditions_in_other_processes(archives, workers):
    from distributed import Client

    wanted = oracle(sorted((archives / "data").glob("*.nc"))).load()
    wanted = wanted.where(wanted.tas > 300)
    found = nc3z.open_collection(archives / "s.catalog.nc3z", where="tas > 300", chunks={"time": 7}).dataset
    xr.testing.assert_identical(found.compute(scheduler="processes"), wanted)
    with Client(workers):
        xr.testing.assert_identical(found.compute(), wanted)


def lose(path):
    """A file whose every value is an error: its name, size, header and time stay."""
    status = os.stat(path)
    with nc3z.open(path) as ds:
        sha256 = ds.sha256
    damaged = bytearray(path.read_bytes())
    # The index is at the end.
    middle = slice(len(damaged) // 8, len(damaged) // 2)
    damaged[middle] = bytes(b ^ 0x55 for b in damaged[middle])
    path.write_bytes(damaged)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with nc3z.open(path) as ds:
        assert ds.sha256 == sha256
        with pytest.raises(nc3z.CorruptError):
            ds["tas"][...]


def test_what_is_excluded_is_not_read(tmp_path):
    rng = np.random.default_rng(2)
    for n in range(4):
        values = (10 * n + rng.normal(0, 1, (3, 300, 400))).astype("f4")
        path = write(tmp_path / f"{n}.nc", {"tas": (("time", "y", "x"), values), "time": ("time", np.arange(3.0) + 3 * n)})
        nc3z.archive(path)
    wanted = oracle(sorted(tmp_path.glob("*.nc"))).load()
    catalog = tmp_path / "s.catalog.nc3z"
    run("catalog", *sorted(tmp_path.glob("*.nc3z")), "-o", catalog)
    for n in range(3):
        lose(tmp_path / f"{n}.nc.nc3z")
    found = nc3z.open_collection(catalog, where="tas > 28", chunks={}).dataset
    xr.testing.assert_identical(found.compute().tas, wanted.tas.where(wanted.tas > 28))
    assert int(found.tas.count()) > 1000
    with pytest.raises(nc3z.CorruptError):
        nc3z.open_collection(catalog, where="tas > 20").dataset.tas.load()


def test_tiles_are_excluded_one_by_one(archives, monkeypatch):
    """The elements that are read are those of the tiles that may have such values."""
    from nc3z import _arrays

    wanted = oracle(sorted((archives / "data").glob("*.nc"))).load()
    threshold = float(np.nanmax(wanted.tas)) - 0.5
    read = []
    original = _arrays.Question.matches

    def noted(self, indices):
        files = self.joined.files
        opened = type(files).dataset

        def dataset(files, number, decode=False):
            found = opened(files, number, decode)
            return Noted(found, read) if decode else found

        monkeypatch.setattr(type(files), "dataset", dataset)
        try:
            return original(self, indices)
        finally:
            monkeypatch.setattr(type(files), "dataset", opened)

    class Noted:
        def __init__(self, dataset, read):
            self.dataset, self.read = dataset, read

        def __getitem__(self, name):
            return self.__class__(self.dataset[name], self.read) if not isinstance(name, tuple) else self.values(name)

        def values(self, key):
            found = self.dataset[key]
            self.read.append(found.size)
            return found

    monkeypatch.setattr(_arrays.Question, "matches", noted)
    found = nc3z.open_collection(archives / "s.catalog.nc3z", where=f"tas > {threshold}").dataset.tas.load()
    np.testing.assert_array_equal(found, wanted.tas.where(wanted.tas > threshold))
    assert 0 < sum(read) <= 4 * 30 * max(1, int((wanted.tas > threshold).sum())) < wanted.tas.size


def test_statistics_of_a_file_that_was_cut_short_exclude_nothing(archives):
    """Its missing values could meet the condition, so the file is opened; reading them is an error."""
    from nc3z import _catalogs

    cut = archives / "data" / "0.nc"
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    run("catalog", "data", "-o", "cut.catalog.nc3z", cwd=archives)
    found = _catalogs.read(str(archives / "cut.catalog.nc3z"), ["tas"])
    known = {os.path.basename(name): "tas" in file.tiles for name, file in found.items()}
    assert known == {f"{n}.nc": n != 0 for n in range(8)}


def test_excluded_files_are_dropped_without_being_opened(archives):
    wanted = oracle(sorted((archives / "data").glob("*.nc"))).load()
    threshold = float(np.nanmax(wanted.tas[:20])) + 0.5
    for n in range(4):
        path = archives / "archives" / f"{n}.nc.nc3z"
        status = os.stat(path)
        path.write_bytes(bytes(status.st_size))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    collection = nc3z.open_collection(archives / "s.catalog.nc3z", where=f"tas > {threshold}", drop=True)
    assert sorted(os.path.basename(p) for p in collection.left_out) == [f"{n}.nc.nc3z" for n in range(4)]
    assert "exclude" in next(iter(collection.left_out.values()))
    later = wanted.isel(time=slice(20, None))
    xr.testing.assert_equal(collection.dataset.compute(), later.where(later.tas > threshold))
    with pytest.raises(FileNotFoundError, match="no file is left"):
        nc3z.open_collection(archives / "s.catalog.nc3z", where="tas > 1e6", drop=True)


def test_statistics_of_files_that_may_have_changed_are_not_used(archives):
    """A classic file has no digest: its time decides. An archive has one."""
    run("catalog", "data", "-o", "plain.catalog.nc3z", cwd=archives)
    hot = month(2, np.linspace(-80, 80, 10))
    hot["tas"] = (hot["tas"][0], hot["tas"][1] + 500, hot["tas"][2])
    write(archives / "data" / "2.nc", hot, encoding=FILL)
    after = os.stat(archives / "plain.catalog.nc3z").st_mtime_ns + 10**9
    os.utime(archives / "data" / "2.nc", ns=(after, after))
    collection = nc3z.open_collection(archives / "plain.catalog.nc3z", where="tas > 600")
    assert int(collection.dataset.tas.count()) == int((hot["tas"][1] > 600).sum()) > 100
    assert len(collection.notes) == 1 and "catalog" in collection.notes[0]
    assert len(nc3z.open_collection(archives / "plain.catalog.nc3z", where="tas > 600", drop=True).dataset.time) == 5
    # A replaced archive of another original, with an old time.
    path = archives / "archives" / "2.nc.nc3z"
    nc3z.archive(archives / "data" / "2.nc", path, force=True)
    os.utime(path, ns=(10**18, 10**18))
    assert int(nc3z.open_collection(archives / "s.catalog.nc3z", where="tas > 600").dataset.tas.count()) > 100


def test_missing_and_infinite_values_and_packed_integers(tmp_path):
    """Values that are missing for nc3z never match; infinite ones do; integers and packed ones are compared as unpacked numbers."""
    netCDF4 = pytest.importorskip("netCDF4")
    raw, numbers = [], []
    rng = np.random.default_rng(7)
    for n in range(4):
        with netCDF4.Dataset(tmp_path / f"{n}.nc", "w", format="NETCDF3_64BIT_OFFSET") as ds:
            ds.createDimension("time", None)
            ds.createDimension("x", 50)
            ds.createVariable("time", "f8", ("time",))[:] = np.arange(3) + 3 * n
            p = ds.createVariable("p", "i2", ("time", "x"), fill_value=np.int16(-999))
            p.scale_factor, p.add_offset = np.float32(0.1), np.float32(20)
            p.valid_range = np.array([-500, 500], "i2")
            p.set_auto_maskandscale(False)
            stored = rng.integers(-700, 700, (3, 50)).astype("i2") + np.int16(100 * n)
            stored[rng.random((3, 50)) < 0.1] = -999
            p[:] = stored
            f = ds.createVariable("f", "f4", ("time", "x"))
            values = rng.normal(0, 1, (3, 50)).astype("f4")
            values[0, :2] = (np.inf, np.nan) if n == 2 else (0, 0)
            f[:] = values
        raw.append(stored)
        numbers.append(values)
    run("catalog", *sorted(tmp_path.glob("*.nc")), "-o", tmp_path / "s.catalog.nc3z")
    stored, values = np.concatenate(raw), np.concatenate(numbers)
    unpacked = stored.astype("f4") * np.float32(0.1) + np.float32(20)
    for threshold in (-20.0, 3.3, 69.9, 70.0, 80.0):
        found = nc3z.open_collection(tmp_path / "s.catalog.nc3z", where=f"p >= {threshold}").dataset.p.values
        match = (stored != -999) & (abs(stored.astype("i4")) <= 500) & (unpacked.astype("f8") >= threshold)
        np.testing.assert_array_equal(np.isfinite(found), match)
        np.testing.assert_allclose(found[match], unpacked[match], rtol=1e-6)
    found = nc3z.open_collection(tmp_path / "s.catalog.nc3z", where="f > 1e9").dataset.f.values
    assert np.isinf(found).sum() == 1 and np.isfinite(found).sum() == 0
    both = nc3z.open_collection(tmp_path / "s.catalog.nc3z", where=["f > 0", "p < 30"]).dataset
    match = (values > 0) & (stored != -999) & (abs(stored.astype("i4")) <= 500) & (unpacked < 30)
    np.testing.assert_array_equal(~np.isnan(both.f.values), match)


def test_thresholds_beside_values(tmp_path):
    """Thresholds within rounding of a minimum or a maximum: no value that meets the condition is lost."""
    rng = np.random.default_rng(0)
    values = rng.normal(280, 5, (6, 4, 9)).astype("f4")
    for n in range(3):
        ds = {"t": (("time", "y", "x"), values[2 * n : 2 * n + 2]), "time": ("time", [2.0 * n, 2.0 * n + 1])}
        nc3z.archive(write(tmp_path / f"{n}.nc", ds), chunks={"time": 1, "y": 2})
    run("catalog", *sorted(tmp_path.glob("*.nc3z")), "-o", tmp_path / "s.catalog.nc3z")
    edges = [values.min(), values.max(), *(values[n].max() for n in range(6))]
    near = [float(x) for edge in edges for x in (np.nextafter(edge, -np.inf), edge, np.nextafter(edge, np.float32(np.inf)))]
    near += [float(edge) * (1 + e) for edge in edges for e in (-1e-12, 1e-12)]
    for threshold in near:
        for sign, compare in ((">", np.greater), (">=", np.greater_equal), ("<", np.less), ("<=", np.less_equal), ("==", np.equal)):
            found = nc3z.open_collection(tmp_path / "s.catalog.nc3z", where=f"t {sign} {threshold!r}").dataset.t.values
            np.testing.assert_array_equal(~np.isnan(found), compare(values.astype("f8"), threshold), f"{sign} {threshold!r}")


def test_other_variables_are_masked_where_they_have_the_dimensions(tmp_path):
    for n in range(2):
        more = month(n)
        more["pr"] = (("time", "lat", "lon"), np.full((5, 6, 8), n, "i4"))
        more["ua"] = (("time", "lev", "lat", "lon"), np.zeros((5, 2, 6, 8), "f4"))
        more["orog"] = (("lat", "lon"), np.ones((6, 8), "f4"))
        write(tmp_path / f"{n}.nc", more, encoding=FILL)
    wanted = oracle(sorted(tmp_path.glob("*.nc"))).load()
    condition = wanted.tas > 280
    found = nc3z.open_collection(tmp_path, where="tas > 280").dataset.load()
    assert found.pr.dtype == "f8"
    for name in ("tas", "pr", "ua"):
        xr.testing.assert_equal(found[name], wanted[name].where(condition).transpose(*wanted[name].dims))
    xr.testing.assert_equal(found.orog, wanted.orog)


def test_what_is_no_condition(archives):
    for text in ("tas", "tas = 3", "tas > x", "> 3", "tas > nan", "tas != 3"):
        with pytest.raises(ValueError, match="not a condition"):
            nc3z.open_collection(archives / "archives", where=text)
    with pytest.raises(ValueError, match="no file has a variable 'pr'"):
        nc3z.open_collection(archives / "archives", where="pr > 3")
    # Each condition counts: one that is misspelled is not left out.
    with pytest.raises(ValueError, match="no file has a variable 'tsa'; did you mean 'tas'"):
        nc3z.open_collection(archives / "archives", where=["tas > 3", "tsa < 4"])
    with pytest.raises(ValueError, match="times"):
        nc3z.open_collection(archives / "archives", where="time > 3").dataset  # noqa: B018


def test_damaged_catalogs_are_an_error_or_the_same(archives):
    """Parts of a catalogue that are not read are not checked."""
    data = (archives / "s.catalog.nc3z").read_bytes()
    path = archives / "hurt.catalog.nc3z"
    shutil.copy(archives / "s.catalog.nc3z", path)
    wanted = nc3z.open_collection([path], where="tas > 290").dataset.load()
    errors = 0
    for n in range(0, len(data), max(1, len(data) // 60)):
        changed = bytearray(data)
        changed[n] ^= 0x20
        path.write_bytes(bytes(changed))
        try:
            found = nc3z.open_collection([path], where="tas > 290").dataset
        except nc3z.CorruptError:
            errors += 1
        else:
            xr.testing.assert_identical(found.load(), wanted)
        path.write_bytes(data[:n])
        with pytest.raises((nc3z.Error, OSError)):
            nc3z.open_collection([path])
    assert errors > 20


def test_groups_are_built_from_the_catalog_alone(archives, monkeypatch):
    """No file is opened until values are read."""
    from nc3z._fragments import Opening

    def refuse(self, path, decode=False):
        raise AssertionError(f"{path} was opened")

    wanted = oracle(sorted((archives / "data").glob("*.nc"))).load()
    with monkeypatch.context() as patch:
        patch.setattr(Opening, "open", refuse)
        collection = nc3z.open_collection(archives / "s.catalog.nc3z")
        assert len(collection) == 1 and "8 files" in repr(collection)
    xr.testing.assert_identical(collection.dataset.compute(), wanted)
    # A catalogue of the originals, and of a packed bundle: nothing is opened either, and what is replaced is noticed.
    run("bundle", archives / "data", "-o", archives / "set.bundle.nc3z", "--pack")
    run("catalog", archives / "data", archives / "set.bundle.nc3z", "-o", archives / "both.catalog.nc3z")
    with monkeypatch.context() as patch:
        patch.setattr(Opening, "open", refuse)
        both = nc3z.open_collection(archives / "both.catalog.nc3z", where="tas > 1e9", drop=False, errors="raise")
    assert sum(len(both.files(name)) for name in both) == 16


def test_a_catalog_beside_other_sources_and_another_place(archives, monkeypatch, tmp_path):
    wanted = oracle(sorted((archives / "data").glob("*.nc"))).load()
    wanted = wanted.where(wanted.tas > 300)
    found = nc3z.open_collection(archives / "archives", catalog=archives / "s.catalog.nc3z", where="tas > 300", drop=True)
    assert found.left_out
    (archives / "moved").mkdir()
    shutil.move(archives / "archives", archives / "moved" / "archives")
    found = nc3z.open_collection(archives / "s.catalog.nc3z", base=str(archives / "moved"), where="tas > 300")
    xr.testing.assert_identical(found.dataset.compute(), wanted)
    shutil.copy2(archives / "s.catalog.nc3z", archives / "moved")
    monkeypatch.chdir(archives / "data")
    xr.testing.assert_identical(nc3z.open_collection("../moved/s.catalog.nc3z", where="tas > 300").dataset.compute(), wanted)

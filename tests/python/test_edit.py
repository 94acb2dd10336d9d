"""Edits by Python: the same done to the classic file by netCDF4-python, and to an archive, give equal files."""

import shutil
import threading

import netCDF4
import nc3z
import numpy as np
import pytest
from conftest import CLASSIC
from test_processes import in_fork


@pytest.fixture
def pair(tmp_path):
    """An archive, and a copy of the file that it holds."""
    source, archive = tmp_path / "a.nc", tmp_path / "a.nc3z"
    shutil.copy(CLASSIC / "coads_climatology.cdf", source)
    nc3z.archive(source, archive)
    return source, archive


def same(archive, source, tmp_path):
    """The newest version is the file, by every value and attribute that netCDF4 reads."""
    restored = tmp_path / "restored.nc"
    nc3z.restore(archive, restored, force=True)
    with netCDF4.Dataset(source) as a, netCDF4.Dataset(restored) as b:
        a.set_auto_maskandscale(False)
        b.set_auto_maskandscale(False)
        assert a.ncattrs() == b.ncattrs() and list(a.variables) == list(b.variables)
        assert {n: len(d) for n, d in a.dimensions.items()} == {n: len(d) for n, d in b.dimensions.items()}
        for name, one in a.variables.items():
            other = b.variables[name]
            assert one.dtype == other.dtype and one.dimensions == other.dimensions and one.ncattrs() == other.ncattrs()
            for key in one.ncattrs():
                np.testing.assert_array_equal(one.getncattr(key), other.getncattr(key))
            assert one[...].tobytes() == other[...].tobytes(), name


KEYS = [
    (0, 45, 60),
    (slice(None), 3, slice(None, None, 7)),
    (-1, slice(10, 2, -2)),
    (Ellipsis, 5),
    (slice(2, 4), slice(80, None), slice(179, 170, -1)),
    (slice(4, 4),),
]


@pytest.mark.parametrize("key", KEYS)
def test_values_by_basic_indices(pair, tmp_path, key):
    source, archive = pair
    with netCDF4.Dataset(source, "r+") as ds, nc3z.open(archive, "r+") as edit:
        ds.set_auto_maskandscale(False)
        before = edit["SST"][key]
        np.testing.assert_array_equal(before, nc3z.open(archive)["SST"][key])
        values = np.random.default_rng(1).normal(20, 5, np.shape(before)).astype("f4")
        whole = ds["SST"][...]
        whole[key] = values
        ds["SST"][...] = whole
        edit["SST"][key] = values
        np.testing.assert_array_equal(edit["SST"][key], values)
        np.testing.assert_array_equal(edit["SST"][...], whole)
        done = edit.commit("by key", author="me", time="2026-11-22T00:00:00Z")
        assert done.is_new or not values.size
    same(archive, source, tmp_path)
    assert nc3z.verify(archive, deep=True)


def test_lists_masks_and_scalars(pair, tmp_path):
    source, archive = pair
    with netCDF4.Dataset(source, "r+") as ds, nc3z.open(archive, "r+") as edit:
        ds.set_auto_maskandscale(False)
        whole = ds["AIRT"][...]
        missing = whole < -1e33
        for key, value in (([0, 5], -7), ((slice(None), [1, 1, 80]), 3.5), (missing, 99), ((11,), np.arange(180.0))):
            whole[key] = value
            edit["AIRT"][key] = value
        ds["AIRT"][...] = whole
        np.testing.assert_array_equal(edit["AIRT"], whole)
        assert edit.touched and edit.commit().version == 2 and not edit.touched
    same(archive, source, tmp_path)


def test_attributes_names_dimensions_and_new_variables(pair, tmp_path):
    source, archive = pair
    with netCDF4.Dataset(source, "r+") as ds, nc3z.open(archive, "r+") as edit:
        ds.set_auto_maskandscale(False)
        ds.setncattr("title", "mended")
        ds["SST"].setncattr("units", "degC")
        ds["SST"].setncattr("valid_range", np.array([-2, 40], "f4"))
        ds["SST"].setncattr("levels", np.array([1, 2], "i4"))
        ds["AIRT"].delncattr("units")
        ds.renameVariable("UWND", "eastward")
        ds.renameDimension("COADSX", "lon")
        ds.createDimension("two", 2)
        new = ds.createVariable("bounds", "f8", ("COADSY", "two"), fill_value=-1.0)
        new[...] = np.arange(180.0).reshape(90, 2)
        flag = ds.createVariable("flag", "S1", ("two",))
        flag[:] = np.array([b"a", b"b"])
        edit.attrs["title"] = "mended"
        edit["SST"].attrs["units"] = "degC"
        edit["SST"].attrs["valid_range"] = [-2, 40]
        edit["SST"].attrs["levels"] = [1, 2]
        del edit["AIRT"].attrs["units"]
        edit.rename_variable("UWND", "eastward")
        edit.rename_dimension("COADSX", "lon")
        edit.create_dimension("two", 2)
        edit.create_variable("bounds", "f8", ("COADSY", "two"), fill_value=-1)[...] = np.arange(180).reshape(90, 2)
        edit.create_variable("flag", "S1", ["two"])[:] = "ab"
        assert edit.attrs["title"] == "mended" and "units" not in edit["AIRT"].attrs
        edit.commit("words")
    same(archive, source, tmp_path)
    with nc3z.open(archive, "r+") as edit:
        del edit["flag"]
        edit.commit("one less")
    assert "flag" not in nc3z.open(archive) and "flag" in nc3z.open(archive, version=2)
    assert [v.message for v in nc3z.versions(archive)][:2] == ["one less", "words"]


def test_records_grow(pair, tmp_path):
    source, archive = pair
    with netCDF4.Dataset(source, "r+") as ds, nc3z.open(archive, "r+") as edit:
        ds.set_auto_maskandscale(False)
        n = len(ds.dimensions["TIME"])
        ds["SST"][n] = 4.0
        ds["TIME"][n] = 9999.0
        edit["SST"][n] = 4.0
        edit["TIME"][n : n + 1] = 9999.0
        assert edit.dimensions["TIME"] == n + 1 and edit["AIRT"].shape == (n + 1, 90, 180)
        assert edit.commit(digest=False).sha256 is None
    same(archive, source, tmp_path)


def test_points_beyond_the_last_record_grow(pair):
    with nc3z.open(pair[1], "r+") as edit:
        edit["SST"].vindex[[13, 12], [0, 1], [0, 2]] = [1, 2]
        assert edit["SST"].shape == (14, 90, 180)
        assert edit["SST"][13, 0, 0] == 1 and edit["SST"][12, 1, 2] == 2


@pytest.mark.parametrize("index", [10**12, 10**15, 10**17, 2**63 - 2])
def test_a_length_of_too_many_tiles_is_refused_and_changes_nothing(pair, tmp_path, index):
    source, archive = pair
    with nc3z.open(archive, "r+") as edit:
        edit["AIRT"][0, 0, 0] = 5
        staged = edit["AIRT"][0]
        for key in (index, (index, 0, 0), slice(index, index + 1)):
            with pytest.raises(ValueError):
                edit["SST"][key] = 1
        with pytest.raises(ValueError):
            edit["SST"].vindex[[index], [0], [0]] = 1
        for change in (lambda: edit["SST"].plan_resize(index, "TIME"), lambda: edit.resize("TIME", index)):
            with pytest.raises(ValueError):
                change()
        assert edit.dimensions["TIME"] == 12 and edit["SST"].shape == (12, 90, 180)
        np.testing.assert_array_equal(edit["AIRT"][0], staged)
        assert edit.commit().version == 2
    with netCDF4.Dataset(source, "r+") as ds:
        ds["AIRT"][0, 0, 0] = 5
    same(archive, source, tmp_path)


def test_what_is_refused_changes_nothing(pair, tmp_path):
    source, archive = pair
    before = archive.read_bytes()
    with nc3z.open(archive, "r+") as edit:
        with pytest.raises(nc3z.Error, match="another process|locked|in use"):
            nc3z.open(archive, "r+")
        with pytest.raises(KeyError):
            edit["nothing"]
        with pytest.raises(IndexError, match="COADSY of length 90"):
            edit["SST"][0, 90]
        with pytest.raises(ValueError, match="is not a value of type"):
            edit["SST"].attrs["valid_range"] = 1
            edit.create_variable("short", "i2", ("COADSY",))[:] = 70000
        with pytest.raises(ValueError):
            edit["SST"][0] = np.zeros((3, 3))
        with pytest.raises(TypeError, match="not a type of classic netCDF"):
            edit.create_variable("odd", "c16")
        with pytest.raises(TypeError):
            edit["SST"][0] = "text"
        assert "another" not in edit and len(edit) == len(nc3z.open(archive)) + 1
        # Others read meanwhile.
        assert nc3z.open(archive)["SST"].shape == (12, 90, 180)
    with pytest.raises(ValueError, match="closed"):
        edit["SST"]
    assert edit.closed and archive.read_bytes() == before, "nothing was committed"
    for wrong in (2, "w", "a"):
        with pytest.raises(ValueError, match="mode"):
            nc3z.open(archive, wrong)
    with pytest.raises(ValueError, match="newest version"):
        nc3z.open(archive, "r+", version=1)
    with pytest.raises(TypeError, match="path"):
        nc3z.open(before, "r+")
    with pytest.raises(nc3z.Error):
        nc3z.open(source, "r+")


def test_a_new_variable_whose_fill_value_is_refused_is_not_staged(pair, tmp_path):
    source, archive = pair
    with nc3z.open(archive, "r+") as edit:
        for dtype, fill in (("i1", 300), ("i2", 0.5), ("i2", [1, 2]), ("f4", "text")):
            with pytest.raises((ValueError, TypeError), match="_FillValue"):
                edit.create_variable("w", dtype, ("COADSY",), fill_value=fill)
            assert "w" not in edit
        assert not edit.commit().is_new
        edit.create_variable("w", "i1", ("COADSY",), fill_value=30)[:] = 3
        edit.commit()
    with netCDF4.Dataset(source, "r+") as ds:
        ds.createVariable("w", "i1", ("COADSY",), fill_value=np.int8(30))[:] = 3
    same(archive, source, tmp_path)


def test_threads_take_turns(pair):
    _, archive = pair
    with nc3z.open(archive, "r+") as edit:
        def write(month):
            for row in range(90):
                edit["SST"][month, row] = month * 100 + row

        threads = [threading.Thread(target=write, args=(month,)) for month in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        edit.commit("by twelve")
    expected = np.arange(12)[:, None, None] * 100 + np.arange(90)[:, None] + np.zeros(180)
    np.testing.assert_array_equal(nc3z.open(archive)["SST"][...], expected)


def test_of_two_processes_with_one_edit_the_forked_one_is_refused(pair):
    """A lock is shared by a fork, so that both could append at one place, and one version would be gone."""
    _, archive = pair
    edit = nc3z.open(archive, "r+")
    edit.attrs["title"] = "by the parent"

    def by_the_child():
        edit.attrs["title"] = "by the child"
        try:
            edit.commit("child")
        except nc3z.Error as e:
            return str(e)

    words = in_fork(by_the_child)
    assert "forked" in words and "open it again" in words, words
    assert edit.commit("parent").version == 2
    edit.close()
    with nc3z.open(archive) as ds:
        assert ds.attrs["title"] == "by the parent"


def test_an_archive_that_was_replaced_is_not_committed_to(pair, tmp_path):
    _, archive = pair
    shutil.copy(archive, tmp_path / "other.nc3z")
    with nc3z.open(archive, "r+") as edit:
        edit.attrs["title"] = "mended"
        shutil.move(tmp_path / "other.nc3z", archive)
        with pytest.raises(nc3z.Error, match="leads to another file"):
            edit.commit()
    with nc3z.open(archive) as ds:
        assert ds.attrs.get("title") != "mended"


def of_records(tmp_path):
    """An archive of two variables with 1,500 records in several tiles, whose fill value is -1."""
    source, archive = tmp_path / "a.nc", tmp_path / "a.nc3z"
    with netCDF4.Dataset(source, "w", format="NETCDF3_CLASSIC") as d:
        d.createDimension("time", None)
        d.createDimension("x", 3)
        for name in ("a", "b"):
            d.createVariable(name, "f4", ("time", "x"), fill_value=-1)[:1500] = np.arange(4500).reshape(1500, 3)
    nc3z.archive(source, archive, tile_nbytes=4096)
    return archive


@pytest.mark.parametrize("before", ["read", "write", "nothing"])
def test_elements_that_grow_have_the_present_fill_value(tmp_path, before):
    """Also where the variable was read or written before its `_FillValue` was changed. Another variable makes it grow."""
    archive = of_records(tmp_path)
    with nc3z.open(archive, "r+") as edit:
        if before == "read":
            edit["a"][0]
        elif before == "write":
            edit["a"][0, 0] = 0
        edit["a"].attrs["_FillValue"] = np.float32(-9)
        edit["b"][2500] = 7
        assert edit["a"][1499:1502].tolist() == [[4497, 4498, 4499], [-9, -9, -9], [-9, -9, -9]]
        edit.commit()
    with nc3z.open(archive) as found:
        assert found["a"][:1500].tolist() == np.arange(4500).reshape(1500, 3).tolist()
        assert (found["a"][1500:] == -9).all() and found["a"].shape == (2501, 3)
        assert (found["b"][1500:2500] == -1).all()


@pytest.mark.parametrize("overlap", ["refuse", "replace"])
def test_an_append_that_meets_damage_stages_nothing(tmp_path, overlap):
    def make(name, first):
        with netCDF4.Dataset(tmp_path / name, "w", format="NETCDF3_64BIT_OFFSET") as d:
            d.createDimension("time", None)
            d.createDimension("x", 1000)
            time = d.createVariable("time", "f8", ("time",))
            time.units = "days since 2000-01-01"
            time[:] = np.arange(first, first + 10)
            for n, variable in enumerate("ab"):
                d.createVariable(variable, "f4", ("time", "x"))[:] = np.random.default_rng(first + n).normal(size=(10, 1000))
        nc3z.archive(tmp_path / name, tmp_path / f"{name}3z")

    make("one.nc", 0)
    make("more.nc", 10 if overlap == "refuse" else 5)
    archive, bad = tmp_path / "one.nc3z", tmp_path / "more.nc3z"
    content = bytearray(bad.read_bytes())
    content[len(content) * 4 // 5] ^= 0xFF
    bad.write_bytes(content)
    with nc3z.open(archive) as found:
        expected = {name: found[name][...] for name in ("time", "a", "b")}
    with nc3z.open(archive, "r+") as edit:
        with pytest.raises(nc3z.CorruptError):
            edit.append(bad, overlap=overlap)
        for name, values in expected.items():
            np.testing.assert_array_equal(edit[name][...], values)
        edit["a"][0, 0] = 5
        edit.commit()
    expected["a"][0, 0] = 5
    with nc3z.open(archive) as found:
        for name, values in expected.items():
            np.testing.assert_array_equal(found[name][...], values)

NFD, NFC = "e\u0301te\u0301", "\u00e9t\u00e9"


def test_names_are_stored_in_the_composed_form(pair, tmp_path):
    """As the netCDF library stores and looks them up."""
    _, archive = pair
    with nc3z.open(archive, "r+") as edit:
        edit.create_dimension(f"d{NFD}", 2)
        new = edit.create_variable(f"v{NFD}", "i2", (f"d{NFD}",), fill_value=-1)
        new[:] = [4, 5]
        new.attrs[f"a{NFD}"] = 1
        edit[f"v{NFC}"].attrs[f"b{NFD}"] = 2
        edit.attrs[f"g{NFD}"] = "words"
        edit.rename_variable("UWND", f"u{NFD}")
        edit.rename_dimension("COADSX", f"x{NFD}")
        assert edit[f"u{NFC}"].shape == (12, 90, 180)
        edit.commit()
    nc3z.restore(archive, tmp_path / "restored.nc")
    with netCDF4.Dataset(tmp_path / "restored.nc") as ds:
        assert (ds.getncattr(f"g{NFC}"), len(ds.dimensions[f"d{NFC}"])) == ("words", 2)
        new = ds[f"v{NFC}"]
        assert new[:].tolist() == [4, 5] and (new.getncattr(f"a{NFC}"), new.getncattr(f"b{NFC}")) == (1, 2)
        assert ds[f"u{NFC}"].dimensions[2] == f"x{NFC}" and ds[f"u{NFC}"][0].shape == (90, 180)
    with nc3z.open(archive, "r+") as edit:
        for form in (NFD, NFC):
            with pytest.raises(ValueError, match="already"):
                edit.create_variable(f"v{form}", "i2", ())
        edit[f"v{NFC}"].attrs[f"a{NFD}"] = 7
        del edit[f"v{NFC}"].attrs[f"b{NFC}"]
        del edit.attrs[f"g{NFC}"]
        edit.commit()
    found = nc3z.open(archive)
    assert dict(found[f"v{NFC}"].attrs) == {f"a{NFC}": 7, "_FillValue": -1} and f"g{NFC}" not in found.attrs


@pytest.mark.parametrize("change", ["set", "delete"])
@pytest.mark.parametrize("length", [1501, 2500])
def test_a_fill_value_does_not_change_after_a_growth(tmp_path, change, length):
    """The new elements were given the old one. So they are also where they are the end of a tile that was there before."""
    archive = of_records(tmp_path)
    with nc3z.open(archive, "r+") as edit:
        edit["a"][length - 1] = 7
        with pytest.raises(ValueError, match="elements that were not written yet: set `_FillValue` before"):
            if change == "set":
                edit["a"].attrs["_FillValue"] = np.float32(-9)
            else:
                del edit["a"].attrs["_FillValue"]
        assert edit["a"].attrs["_FillValue"] == -1
        edit.commit()
        edit["a"].attrs["_FillValue"] = np.float32(-9)
        edit["b"][length] = 7
        edit.commit()
    with nc3z.open(archive) as found:
        assert (found["a"][1500 : length - 1] == -1).all() and (found["a"][length - 1] == 7).all() and (found["a"][length] == -9).all()

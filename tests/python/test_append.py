"""Records appended from Python: what `nc3z append` does, with the same checks of the record coordinate."""

import re

import nc3z
import netCDF4
import numpy as np
import pytest


def make(path, times, value=None):
    """A record file of a time coordinate and two values for each time."""
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
        d.createDimension("time", None)
        d.createDimension("x", 2)
        time = d.createVariable("time", "f8", ("time",))
        time.units = "days since 2000-01-01"
        time[:] = times
        values = np.arange(2 * len(times)).reshape(-1, 2) if value is None else np.full((len(times), 2), value)
        d.createVariable("tas", "f4", ("time", "x"))[:] = values
    return path


@pytest.fixture
def archive(tmp_path):
    nc3z.archive(make(tmp_path / "a.nc", [0, 1, 2]), tmp_path / "a.nc3z")
    return tmp_path / "a.nc3z"


def test_records_are_appended_once(archive, tmp_path):
    more = make(tmp_path / "b.nc", [3, 4])
    with nc3z.open(archive, "r+") as edit:
        assert edit.append(more) == nc3z.Appended(appended=2, replaced=0, known=0)
        assert edit.append(more) == nc3z.Appended(appended=0, replaced=0, known=2)
        assert edit.commit(time="now").version == 2
    assert nc3z.open(archive)["time"][:].tolist() == [0, 1, 2, 3, 4]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", nc3z.versions(archive)[0].time)
    before = archive.read_bytes()
    with nc3z.open(archive, "r+") as edit:
        assert edit.append(more).known == 2
        assert not edit.commit().is_new
    assert archive.read_bytes() == before


def test_records_without_a_coordinate_are_appended_with_a_warning(tmp_path):
    def bare(path, values):
        with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
            d.createDimension("n", None)
            d.createVariable("tas", "f4", ("n",))[:] = values
        return path

    nc3z.archive(bare(tmp_path / "a.nc", [1, 2]), tmp_path / "a.nc3z")
    with nc3z.open(tmp_path / "a.nc3z", "r+") as edit:
        assert edit.append(tmp_path / "a.nc").known == 2
        with pytest.warns(UserWarning, match="could not be compared"):
            assert edit.append(bare(tmp_path / "b.nc", [3])) == nc3z.Appended(1, 0, 0, True)
        assert edit.append(tmp_path / "b.nc", overlap="allow") == nc3z.Appended(1, 0, 0)
        assert edit["tas"][:].tolist() == [1, 2, 3, 3]


def test_errors_name_pythons_arguments(archive, tmp_path):
    with nc3z.open(archive, "r+") as edit, pytest.raises(ValueError, match='overlap="replace"') as caught:
        edit.append(make(tmp_path / "b.nc", [2, 3], 9))
    assert "--" not in str(caught.value) and caught.value.code == "option"


def test_errors_have_stable_codes(archive, tmp_path):
    (tmp_path / "cut.nc3z").write_bytes(archive.read_bytes()[:-9])
    for name, code in (("cut.nc3z", "input.damaged"), ("none.nc", "input.missing")):
        with pytest.raises(OSError) as caught:
            nc3z.open(tmp_path / name)
        assert caught.value.code == code


def test_overlaps_are_refused_replaced_or_allowed(archive, tmp_path):
    more = make(tmp_path / "b.nc", [2, 3], value=9)
    with nc3z.open(archive, "r+") as edit:
        with pytest.raises(ValueError, match=r"begins at 2 days.* ends at 2 days"):
            edit.append(more)
        with pytest.raises(ValueError, match="unknown overlap"):
            edit.append(more, overlap="perhaps")
        assert not edit.touched
        assert edit.append(more, overlap="replace") == nc3z.Appended(1, 1, 0)
        np.testing.assert_array_equal(edit["tas"][:, 0], [0, 2, 9, 9])
        assert edit.append(more, overlap="allow").known == 0
        assert edit["time"][:].tolist() == [0, 1, 2, 3, 2, 3]


def test_a_dry_run_changes_nothing(archive, tmp_path):
    before = archive.read_bytes()
    with nc3z.open(archive, "r+") as edit:
        edit["tas"][0, 0] = 7
        rehearsed = edit.commit(dry_run=True)
        assert rehearsed.version == 2 and rehearsed.added_nbytes > 0 and archive.read_bytes() == before
        assert edit["tas"][0, 0] == 7 and edit.touched
        assert edit.commit() == rehearsed
    other = make(tmp_path / "c.nc", [0, 1, 2], value=5)
    before = archive.read_bytes()
    rehearsed = nc3z.commit(archive, other, dry_run=True)
    assert archive.read_bytes() == before
    assert nc3z.commit(archive, other) == rehearsed


def test_an_unrelated_file_is_not_committed(archive, tmp_path):
    other = tmp_path / "other.nc"
    with netCDF4.Dataset(other, "w", format="NETCDF3_CLASSIC") as d:
        d.createDimension("y", 3)
        d.createVariable("height", "i2", ("y",))[:] = [1, 2, 3]
    with pytest.raises(ValueError, match="seems to be another data set"):
        nc3z.commit(archive, other)
    assert nc3z.commit(archive, other, allow_unrelated=True).version == 2


def test_the_file_that_is_damaged_is_named(tmp_path):
    def damaged(path):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        bad = path.with_name(f"bad-{path.name}")
        bad.write_bytes(content)
        return bad

    for name, first in (("a.nc", 0), ("b.nc", 10)):
        with netCDF4.Dataset(tmp_path / name, "w", format="NETCDF3_64BIT_OFFSET") as d:
            d.createDimension("time", None)
            d.createDimension("x", 5000)
            time = d.createVariable("time", "f8", ("time",))
            time.units = "days since 2000-01-01"
            time[:] = np.arange(first, first + 10)
            d.createVariable("tas", "f4", ("time", "x"))[:] = np.random.default_rng(first).normal(size=(10, 5000))
        nc3z.archive(tmp_path / name, tmp_path / f"{name}3z")
    bad, bad_more = damaged(tmp_path / "a.nc3z"), damaged(tmp_path / "b.nc3z")
    for archive, more, of, other in ((tmp_path / "a.nc3z", bad_more, "/bad-b.nc3z", "/a.nc3z"), (bad, tmp_path / "a.nc", "/bad-a.nc3z", "/a.nc:")):
        with nc3z.open(archive, "r+") as edit, pytest.raises(nc3z.CorruptError) as caught:
            edit.append(more)
        assert of in str(caught.value) and other not in str(caught.value)
        assert caught.value.filename is None or of in str(caught.value.filename)

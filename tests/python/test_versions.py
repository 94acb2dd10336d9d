"""Versions: committed, listed, named, opened."""

import io
import pickle

import numpy as np
import pytest
import xarray as xr
from conftest import CLASSIC

import nc3z

NAME = "coads_climatology.cdf"


@pytest.fixture
def edited(tmp_path):
    """An archive of three versions, and the content of each."""
    original = (CLASSIC / NAME).read_bytes()
    versions = [original]
    archive = tmp_path / "a.nc3z"
    nc3z.archive(CLASSIC / NAME, archive, preset="fast")
    for number, place in ((2, -5), (3, -50_001)):
        data = bytearray(versions[-1])
        data[place] ^= 0x3F
        file = tmp_path / f"v{number}.nc"
        file.write_bytes(data)
        done = nc3z.commit(archive, file, message=f"edit {number}", author="A. Nobody")
        assert done.version == number and done.is_new and done.added_nbytes < 200_000 and done.kept_tiles > 0
        versions.append(bytes(data))
    return archive, versions


def whole(ds):
    return ds.read_original(0, ds.original_nbytes)


def test_each_version_is_what_was_committed(edited):
    archive, versions = edited
    assert nc3z.tag(archive, "first", 1) == 1 and nc3z.tag(archive, "good") == 3
    for name, expected in ((1, 0), (2, 1), (3, 2), (None, 2), ("first", 0), ("good", 2), ("2", 1), (np.int64(2), 1)):
        with nc3z.open(archive, version=name) as ds:
            assert whole(ds) == versions[expected], name
            assert whole(pickle.loads(pickle.dumps(ds))) == versions[expected]
    # An older version has no tags that were set later.
    assert nc3z.open(archive).tags == {"first": 1, "good": 3} and nc3z.open(archive, version=2).tags == {}
    for wrong in (4, "bad"):
        with pytest.raises(ValueError, match=f"no (version|tag) `?{wrong}"):
            nc3z.open(archive, version=wrong)
    for wrong in (0, -1, 1.5, True, b"first"):
        with pytest.raises((TypeError, ValueError)):
            nc3z.open(archive, version=wrong)
    with pytest.raises(ValueError, match="tag `good`|good"):
        nc3z.tag(archive, "good", 1)
    assert nc3z.tag(archive, "good", "first", move_tag=True) == 1
    assert nc3z.delete_tag(archive, "good") == 1
    assert nc3z.open(archive).tags == {"first": 1}


def test_the_log_tells_of_them(edited):
    archive, versions = edited
    nc3z.tag(archive, "first", 1)
    found = nc3z.versions(archive)
    assert [v.number for v in found] == [3, 2, 1]
    assert [v.message for v in found] == ["edit 3", "edit 2", None] and found[0].author == "A. Nobody"
    assert [v.tags for v in found] == [(), (), ("first",)]
    assert [v.original_nbytes for v in found] == [len(v) for v in versions]
    import hashlib

    assert [v.sha256 for v in reversed(found)] == [hashlib.sha256(v).hexdigest() for v in versions]
    assert [v.number for v in nc3z.versions(archive, 2)] == [2, 1] and len(nc3z.versions(archive, limit=1)) == 1
    assert nc3z.versions(CLASSIC / NAME) == () and pickle.loads(pickle.dumps(found)) == found


def test_committing_nothing_new_and_nothing_at_all(edited, tmp_path):
    archive, versions = edited
    (tmp_path / "same.nc").write_bytes(versions[-1])
    done = nc3z.commit(archive, tmp_path / "same.nc")
    assert not done.is_new and done.version == 3
    with pytest.raises(FileNotFoundError):
        nc3z.commit(archive, tmp_path / "nothing.nc")
    before = archive.read_bytes()
    cancel = nc3z.Cancel()
    cancel.set()
    (tmp_path / "other.nc").write_bytes((CLASSIC / NAME).read_bytes()[:-3] + b"abc")
    with pytest.raises(nc3z.Cancelled):
        nc3z.commit(archive, tmp_path / "other.nc", cancel=cancel)
    assert archive.read_bytes() == before


def test_what_is_open_stays_as_it_was_opened(edited, tmp_path):
    archive, versions = edited
    with nc3z.open(archive) as ds:
        (tmp_path / "other.nc").write_bytes(versions[0])
        nc3z.commit(archive, tmp_path / "other.nc")
        assert whole(ds) == versions[-1]
    assert whole(nc3z.open(archive)) == versions[0]


def test_xarray_opens_versions(edited):
    archive, _ = edited
    nc3z.tag(archive, "first", 1)
    expected = xr.open_dataset(CLASSIC / NAME, decode_times=False)
    xr.testing.assert_identical(xr.open_dataset(archive, version="first", decode_times=False), expected)
    xr.testing.assert_identical(xr.open_dataset(archive, version=1, decode_times=False), expected)
    names = {xr.open_dataset(archive, version=v, chunks={}, decode_times=False).SST.data.name for v in (1, 2, 3)}
    assert len(names) == 3


def test_an_archive_that_lost_its_end_opens_by_the_number_of_an_older_version_alone(edited):
    archive, versions = edited
    data = archive.read_bytes()
    with nc3z.open(archive, version=2) as ds:
        assert whole(ds) == versions[1]
    for length in (len(data) - 1, len(data) - 128, len(data) - 700):
        archive.write_bytes(data[:length])
        missing = f"the last {len(data) - length} bytes of version 3 are missing"
        with pytest.raises(nc3z.CorruptError, match=missing):
            nc3z.open(archive)
        with pytest.raises(nc3z.CorruptError, match=missing):
            nc3z.open(archive, version=3)
        with pytest.raises(nc3z.CorruptError, match=missing):
            nc3z.open(io.BytesIO(data[:length]))
        with pytest.raises(nc3z.Error):
            nc3z.open(archive, "r+")
        assert archive.stat().st_size == length
        with nc3z.open(archive, version=2) as ds:
            assert whole(ds) == versions[1]

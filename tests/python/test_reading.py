"""Reads give the same as netCDF4-python, and as NumPy with the same key."""

import io
import os
import pickle
import random
import resource
from concurrent.futures import ThreadPoolExecutor

import netCDF4
import numpy as np
import pytest
from conftest import CLASSIC, NAMES, ODD

import nc3z


def open_both(name, archives):
    """The classic file and its archive, by nc3z."""
    return nc3z.open(CLASSIC / name), nc3z.open(archives / (name + ".nc3z"))


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ODD])
def test_values_and_headers_are_those_of_netcdf4(name, archives):
    with netCDF4.Dataset(CLASSIC / name) as theirs:
        theirs.set_auto_maskandscale(False)
        theirs.set_auto_chartostring(False)
        for ours in open_both(name, archives):
            assert list(ours) == list(theirs.variables)
            assert ours.data_model == theirs.data_model
            assert ours.ncattrs() == theirs.ncattrs()
            for key in theirs.ncattrs():
                same(ours.getncattr(key), theirs.getncattr(key))
            assert list(ours.dimensions) == list(theirs.dimensions)
            for key, dim in theirs.dimensions.items():
                mine = ours.dimensions[key]
                assert (mine.size, mine.isunlimited(), len(mine)) == (dim.size, dim.isunlimited(), len(dim))
            for key, variable in theirs.variables.items():
                mine = ours[key]
                assert mine.dtype == variable.dtype and mine.dtype.isnative
                assert (mine.shape, mine.dimensions, mine.ndim) == (variable.shape, variable.dimensions, variable.ndim)
                assert mine.ncattrs() == variable.ncattrs()
                for attribute in variable.ncattrs():
                    same(mine.getncattr(attribute), variable.getncattr(attribute))
                    same(mine.attrs[attribute], variable.getncattr(attribute))
                expected = np.asarray(variable[...])
                found = np.asarray(mine)
                assert found.shape == expected.shape and found.dtype == mine.dtype
                assert found.tobytes() == expected.astype(mine.dtype).tobytes()


def same(mine, theirs):
    assert type(mine) is type(theirs)
    np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs))


@pytest.mark.parametrize("name", sorted(ODD))
def test_archive_and_classic_file_say_the_same_where_others_do_not_read(name, archives):
    classic, archive = open_both(name, archives)
    assert list(classic) == list(archive)
    for key in classic:
        results = []
        for ds in (classic, archive):
            try:
                results.append(np.asarray(ds[key]).tobytes())
            except nc3z.CorruptError as e:
                assert "of which the file holds" in str(e)
                results.append("short")
        assert results[0] == results[1]


def random_key(rng, shape):
    items = []
    for length in shape:
        kind = rng.random()
        if kind < 0.25 and length:
            items.append(rng.randrange(-length, length))
        elif kind < 0.9:
            edge = lambda: rng.choice([None, rng.randrange(-length - 2, length + 3)])
            items.append(slice(edge(), edge(), rng.choice([None, 1, 2, 3, -1, -2, -5])))
        else:
            items.append(slice(None))
    if items and rng.random() < 0.3:
        begin = rng.randrange(len(items) + 1)
        end = rng.randrange(begin, len(items) + 1)
        items[begin:end] = [...]
    elif rng.random() < 0.3:
        del items[rng.randrange(len(items) + 1) :]
    return items[0] if len(items) == 1 and rng.random() < 0.5 else tuple(items)


@pytest.mark.parametrize("name", ["coads_climatology.cdf", "record_padding.nc", "all_types_cdf5.nc", "smooth.nc"])
def test_keys_mean_what_they_mean_to_numpy(name, archives):
    rng = random.Random(name)
    for ds in open_both(name, archives):
        for variable in ds.values():
            whole = np.asarray(variable)
            for _ in range(60):
                key = random_key(rng, variable.shape)
                expected, found = whole[key], variable[key]
                assert type(found) is type(expected), key
                assert found.shape == expected.shape and found.dtype == expected.dtype, key
                assert found.tobytes() == expected.tobytes(), key
                if expected.ndim and expected.dtype != "S1":
                    out = np.empty(expected.shape, variable.dtype)
                    assert variable.read(key, out=out) is out
                    assert out.tobytes() == expected.tobytes()


def random_list(rng, length):
    kind = rng.random()
    if kind < 0.2:
        return [rng.random() < 0.4 for _ in range(length)]
    count = rng.randrange(0, 6)
    return [rng.randrange(-length, length) for _ in range(count)] if length else []


def test_oindex_is_numpys_ix(archives):
    rng = random.Random(1)
    for ds in open_both("coads_climatology.cdf", archives):
        variable = ds["SST"]
        whole = np.asarray(variable)
        for _ in range(150):
            key, lists = [], []
            for length in variable.shape:
                kind = rng.random()
                if kind < 0.6:
                    item = random_list(rng, length)
                    array = np.asarray(item)
                    lists.append(np.flatnonzero(array) if array.dtype == bool else array.astype(int))
                    item = rng.choice([item, np.asarray(item, bool if array.dtype == bool else int)])
                elif kind < 0.8:
                    item = slice(rng.randrange(length), None, rng.choice([1, 2, -1]))
                    lists.append(np.arange(length)[item])
                else:
                    item = rng.randrange(-length, length)
                    lists.append(np.asarray([item]))
                key.append(item)
            expected = whole[np.ix_(*lists)]
            expected = expected.reshape([n for n, item in zip(expected.shape, key) if not isinstance(item, int)])
            found = variable.oindex[tuple(key)]
            assert found.shape == expected.shape and found.tobytes() == expected.tobytes(), key


def test_vindex_is_numpys(archives):
    rng = np.random.default_rng(1)
    for ds in open_both("coads_climatology.cdf", archives):
        variable = ds["SST"]
        whole = np.asarray(variable)
        for shape in [(), (0,), (1,), (7,), (3, 4)]:
            t, y, x = (rng.integers(-n, n, shape) for n in variable.shape)
            for key in [(t, y, x), (t, y), (t[..., None], y[..., None], x[..., None]), (t, 3, x), t]:
                expected = whole[key]
                found = variable.vindex[key]
                assert np.array_equal(found, expected, equal_nan=True) and found.shape == np.shape(expected)
        # NumPy puts the points of lists that a slice parts first, too.
        t, x = rng.integers(0, 12, 5), rng.integers(0, 180, 5)
        assert np.array_equal(variable.vindex[t, 10:20:3, x], whole[t, 10:20:3, x])


def test_wrong_keys_are_refused(archives):
    _, ds = open_both("coads_climatology.cdf", archives)
    sst = ds["SST"]
    for key in [12, -13, (0, 90), (0, 0, 0, 0), (..., ...), None, True, [12], np.array([-13]), (0, [90]), [[1, 2]]]:
        with pytest.raises(IndexError):
            sst[key]
    for key in ["x", 1.5, (0, "y")]:
        with pytest.raises(TypeError):
            sst[key]
    with pytest.raises(ValueError):
        sst[::0]
    for key in [[12], [[1, 2]], ([True],), (0, [90])]:
        with pytest.raises(IndexError):
            sst.oindex[key]
    with pytest.raises(IndexError):
        sst.vindex[[1], [2], [180]]
    with pytest.raises(KeyError, match="no variable.*there are COADSX"):
        ds["nothing"]
    with pytest.raises(AttributeError):
        _ = sst.nothing


def test_other_types_and_outputs_of_the_callers(archives):
    _, ds = open_both("all_types_cdf5.nc", archives)
    for variable in ds.values():
        whole = np.asarray(variable)
        if variable.dtype == "S1" or not variable.ndim:
            continue
        np.testing.assert_array_equal(variable.read(dtype="f8"), whole.astype("f8"))
    _, ds = open_both("coads_climatology.cdf", archives)
    sst = ds["SST"]
    with pytest.raises(nc3z.RangeError, match="does not fit"):
        sst.read(dtype="i2")
    with pytest.raises(ValueError, match="shape"):
        sst.read(0, out=np.empty((90, 179), "f4"))
    with pytest.raises(ValueError, match="contiguous"):
        sst.read(0, out=np.empty((90, 360), "f4")[:, ::2])
    with pytest.raises(TypeError, match="native"):
        sst.read(0, out=np.empty((90, 180), ">f4"))
    fixed = np.empty((90, 180), "f4")
    fixed.flags.writeable = False
    with pytest.raises(ValueError):
        sst.read(0, out=fixed)
    assert np.from_dlpack(sst).tobytes() == np.asarray(sst).tobytes()
    assert np.asarray(sst, dtype="f8").dtype == "f8"
    with pytest.raises(ValueError):
        np.array(sst, copy=False)


def test_bytes_and_file_objects(archives):
    name = "coads_climatology.cdf"
    for path in (CLASSIC / name, archives / (name + ".nc3z")):
        data = path.read_bytes()
        expected = np.asarray(nc3z.open(path)["SST"]).tobytes()
        with open(path, "rb") as file:
            for source in (data, bytearray(data), memoryview(data), io.BytesIO(data), file):
                ds = nc3z.open(source)
                assert ds.path is None
                with ThreadPoolExecutor(4) as pool:
                    for found in pool.map(lambda _: ds["SST"][...].tobytes(), range(8)):
                        assert found == expected
    with pytest.raises(TypeError):
        nc3z.open(3)
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(nc3z.open(io.BytesIO(data)))


class Broken(io.BytesIO):
    """Ends early, though its length says otherwise."""

    def read(self, n=-1):
        return super().read(n)[: max(n // 2, 0)] if self.tell() < 4096 else b""


def test_a_file_object_that_breaks_is_an_error(archives):
    data = (archives / "coads_climatology.cdf.nc3z").read_bytes()
    with pytest.raises(OSError, match="file object returned 0 of"):
        nc3z.open(Broken(data))


def test_pickles_reopen_what_was_pickled_and_nothing_else(archives, tmp_path):
    path = tmp_path / "a.nc3z"
    path.write_bytes((archives / "coads_climatology.cdf.nc3z").read_bytes())
    ds = nc3z.open(path)
    again, variable = pickle.loads(pickle.dumps((ds, ds["SST"])))
    assert again["SST"][3, 2, 1] == ds["SST"][3, 2, 1] == variable[3, 2, 1]
    assert len(pickle.dumps(ds["SST"])) < 1000
    pickled = pickle.dumps(ds)
    path.unlink()
    path.write_bytes((archives / "etopo120.cdf.nc3z").read_bytes())
    with pytest.raises(nc3z.ReplacedError):
        pickle.loads(pickled)
    data = nc3z.open(path.read_bytes())
    assert list(pickle.loads(pickle.dumps(data))) == list(data)


def test_closed_means_closed(archives):
    with nc3z.open(archives / "coads_climatology.cdf.nc3z") as ds:
        sst = ds["SST"]
        assert ds.isopen() and not ds.closed
    assert ds.closed and "closed" in repr(ds)
    for use in (lambda: sst[0], lambda: ds.attrs, lambda: sst.units, lambda: ds.header_bytes):
        with pytest.raises(ValueError, match="closed"):
            use()
    ds.close()


def test_what_is_no_such_file_is_refused_with_the_right_exception(tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        nc3z.open(tmp_path / "nothing.nc3z")
    assert missing.value.errno == 2 and missing.value.filename.endswith("nothing.nc3z")
    with pytest.raises(IsADirectoryError):
        nc3z.open(tmp_path)
    for name in ("bad_version.nc", "bad_truncated_header.nc", "bad_dimension_id.nc"):
        with pytest.raises(nc3z.Error, match=name):
            nc3z.open(CLASSIC / name)
    with pytest.raises(nc3z.Error):
        nc3z.open(b"")
    with pytest.raises(ValueError, match="one version"):
        nc3z.open(CLASSIC / "smooth.nc", version=1)


def test_damage_is_an_error_and_never_wrong_data(archives):
    data = bytearray((archives / "coads_climatology.cdf.nc3z").read_bytes())
    expected = {name: np.asarray(v).tobytes() for name, v in nc3z.open(bytes(data)).items()}
    rng = random.Random(3)
    for _ in range(60):
        at = rng.randrange(len(data))
        data[at] ^= 1 << rng.randrange(8)
        try:
            for name, variable in nc3z.open(data).items():
                assert np.asarray(variable).tobytes() == expected[name]
        except nc3z.Error:
            pass
        data[at] ^= 0xFF
        try:
            nc3z.open(data)["SST"][0]
        except nc3z.Error:
            pass
        data = bytearray((archives / "coads_climatology.cdf.nc3z").read_bytes())


def test_sixteen_threads_read_the_same(big):
    with nc3z.open(big) as ds:
        field = ds["field"]
        whole = np.asarray(field)

        def work(seed):
            rng = random.Random(seed)
            for _ in range(1000):
                t, y = rng.randrange(48), rng.randrange(181)
                assert field[t, y, ::7].tobytes() == whole[t, y, ::7].tobytes()
            return field[...].tobytes() == whole.tobytes()

        with ThreadPoolExecutor(16) as pool:
            assert all(pool.map(work, range(16)))


def test_opening_again_and_again_costs_no_memory(archives):
    path = archives / "record_padding.nc.nc3z"

    def use(times):
        for _ in range(times):
            ds = nc3z.open(path)
            ds["a"][0, 0]

    use(2000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    use(int(os.environ.get("NC3Z_OPENS", "8000")))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096


def test_the_originals_bytes(archives):
    classic, archive = open_both("record_padding.nc", archives)
    data = (CLASSIC / "record_padding.nc").read_bytes()
    for ds in (classic, archive):
        assert ds.read_original(0, len(data) + 5) == data
        assert ds.read_original(7, 9) == data[7:16]
        assert data.startswith(ds.header_bytes)
        assert ds.original_nbytes == len(data)


def test_threads_and_cache_can_be_set(big):
    before = nc3z.get_threads()
    try:
        nc3z.set_threads(3)
        assert nc3z.get_threads() == 3
        with nc3z.open(big) as ds:
            expected = np.asarray(ds["field"]).tobytes()
            nc3z.set_threads(1)
            assert np.asarray(ds["field"]).tobytes() == expected
    finally:
        nc3z.set_threads(0)
    assert nc3z.get_threads() == before or before > 0
    assert nc3z.cache_stats()["budget"] > 0


def test_chunks_for_dask_are_boxes_of_whole_tiles(big, tmp_path):
    with nc3z.open(big) as ds:
        field = ds["field"]
        tile, chunk = field.tile_shape, field.chunk_shape(8 << 20)
        assert tile is not None and np.prod(chunk) * 4 <= 8 << 20
        assert all(c % t == 0 or c == n for c, t, n in zip(chunk, tile, field.shape))
        assert field.chunk_shape() == field.shape
    nc3z.archive(big.with_name("big.nc"), tmp_path / "c.nc3z", preset="fast", chunks={"time": 5, "lat": 50, "lon": 60})
    with nc3z.open(tmp_path / "c.nc3z") as ds:
        assert ds["field"].tile_shape == (5, 50, 60)
        assert ds["field"].chunk_shape(1 << 20) == (5, 100, 360)


def test_repr(archives):
    with nc3z.open(archives / "coads_climatology.cdf.nc3z") as ds:
        assert "TIME=12*" in repr(ds) and "float32 SST(TIME=12, COADSY=90, COADSX=180)" in repr(ds)
        assert repr(ds["SST"]) == '<nc3z.Variable "SST": float32 (TIME=12, COADSY=90, COADSX=180)>'
        assert "SST" in ds._repr_html_() and "Deg C" in ds["SST"]._repr_html_()


def test_no_element_is_left_as_memory_was(archives):
    """Results begin as whatever memory held: damage, lost tiles and short files must not let any of it through."""
    ds = nc3z.open(archives / "coads_climatology.cdf.nc3z")
    sst, whole = ds["SST"], np.asarray(ds["SST"])
    for _ in range(30):
        used = np.full((12, 90, 180), 0x5A5A, "u4").view("f4")
        del used  # memory that the next array of the size may get
        assert np.array_equal(sst[...], whole)
        assert np.array_equal(sst[::-1, ::7, 3:50], whole[::-1, ::7, 3:50])
        assert sst[3:3].size == 0 and sst.read(dtype="f8").sum() == whole.astype("f8").sum()


def claims(tmp_path, elements=2**32 - 1):
    """A CDF-5 file of 220 bytes whose header claims `short big(n)`, and an archive of it."""
    header = b"CDF\x05" + bytes(8)
    word = lambda n: int(n).to_bytes(8, "big")
    header += b"\0\0\0\x0a" + word(1) + word(1) + b"n\0\0\0" + word(elements) + bytes(12)
    header += b"\0\0\0\x0b" + word(1) + word(3) + b"big\0" + word(1) + word(0) + bytes(12) + b"\0\0\0\x03"
    path = tmp_path / "claims.nc"
    path.write_bytes((header + word(2**32 - 1) + word(200)).ljust(220, b"\0"))
    nc3z.archive(path, tmp_path / "claims.nc3z")
    return path, tmp_path / "claims.nc3z"


@pytest.mark.parametrize("elements", [2**32 - 1, 2**62])
def test_what_no_memory_holds_is_an_error_before_memory_is_asked_for(elements, tmp_path):
    from nc3z.zarr import Nc3zStore

    for path in claims(tmp_path, elements):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with nc3z.open(path) as ds:
            big = ds["big"]
            assert big.shape == (elements,) and "big" in repr(ds) and "big" in ds._repr_html_() + big._repr_html_()
            assert big[:10].tolist() == [0] * 10
            reads = [lambda: big[...], lambda: big[::-1], lambda: np.asarray(big), lambda: big.read(dtype="f8"),
                     lambda: big.oindex[:], lambda: big.vindex[:], lambda: big[-1], lambda: big[:100_000_000]]
            for read in reads:
                with pytest.raises(nc3z.CorruptError, match="big.*of which the file holds"):
                    read()
            assert Nc3zStore(ds)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10

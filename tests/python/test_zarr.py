"""Zarr 3: the store over archives and classic files, the codec in other stores; NumCodecs; references."""

import pickle
import subprocess
import sys

import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr
from conftest import CLASSIC, NAMES, ODD, ROOT
from scipy.io import netcdf_file

import nc3z
from nc3z.zarr import Nc3zStore, Num

SMALL = {"chunk_nbytes": 4096}
RNG = np.random.default_rng(7)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_are_the_variables(name, archives):
    for path in (CLASSIC / name, archives / f"{name}.nc3z"):
        for options in ({}, SMALL):
            try:
                store = Nc3zStore(path, **options)
            except nc3z.CorruptError:
                pytest.skip("it is not a file that can be read")
            group = zarr.open_group(store, mode="r")
            ds = nc3z.open(path)
            assert set(group.array_keys()) == set(ds)
            for variable in ds.values():
                if not variable.size or name in ODD:
                    continue
                array = group[variable.name]
                assert array.shape == variable.shape and array.metadata.dimension_names == variable.dimensions
                found, expected = np.asarray(array[...]), np.asarray(variable)
                assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ODD])
def test_xarray_reads_what_the_engine_reads(name, archives):
    options = {"decode_times": False, "mask_and_scale": False, "concat_characters": False}
    try:
        expected = xr.open_dataset(archives / f"{name}.nc3z", engine="nc3z", **options)
    except Exception:
        pytest.skip("xarray does not read it")
    found = xr.open_zarr(Nc3zStore(archives / f"{name}.nc3z", **SMALL), chunks=None, **options)
    assert set(found.variables) == set(expected.variables)
    for key, variable in expected.variables.items():
        assert found.variables[key].dims == variable.dims
        assert np.asarray(found.variables[key]).tobytes() == np.asarray(variable).tobytes()
        if variable.dtype.kind != "S":
            assert set(found.variables[key].attrs) == set(variable.attrs)


def test_masks_are_those_of_the_engine(archives):
    path = archives / "coads_climatology.cdf.nc3z"
    expected = xr.open_dataset(path, engine="nc3z", decode_times=False)
    found = xr.open_zarr(Nc3zStore(path), decode_times=False, chunks=None)
    xr.testing.assert_equal(found, expected)
    assert found.SST.units == "Deg C"


def test_the_store_is_a_read_only_store(archives):
    path = archives / "coads_climatology.cdf.nc3z"
    store = Nc3zStore(path, **SMALL)
    again = pickle.loads(pickle.dumps(store))
    assert again == store and store == Nc3zStore(path, **SMALL) and store != Nc3zStore(path) and store != 3
    assert np.array_equal(zarr.open_array(again, path="SST", mode="r")[5], nc3z.open(path)["SST"][5])
    with pytest.raises(Exception, match="read"):
        zarr.open_group(store, mode="a").create_array("x", shape=(1,), dtype="i4")
    run = zarr.core.sync.sync

    async def keys():
        everything = [key async for key in store.list()]
        assert len(everything) == len(set(everything))
        for key in everything[:50]:
            assert await store.exists(key) and await store.get(key) is not None
        for key in ("SST/c/0/0", "SST/c/0/0/99", "SST/c/-1/0/0", "SST/c/0/0/x", "nothing/c/0", "SST", "SST/c", "c", ""):
            assert not await store.exists(key) and await store.get(key) is None
        chunk = (await store.get("SST/c/0/0/0")).to_bytes()
        from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest

        assert (await store.get("SST/c/0/0/0", byte_range=RangeByteRequest(3, 9))).to_bytes() == chunk[3:9]
        assert (await store.get("SST/c/0/0/0", byte_range=OffsetByteRequest(9))).to_bytes() == chunk[9:]
        assert (await store.get("SST/c/0/0/0", byte_range=SuffixByteRequest(5))).to_bytes() == chunk[-5:]
        assert sorted([key async for key in store.list_dir("SST")]) == ["c", "zarr.json"]
        assert {key async for key in store.list_dir("")} == {"zarr.json", *nc3z.open(path)}

    run(keys())


#: Type, stored values, `_FillValue`, and the values that xarray shows. Text and numbers that the type does not have equal no element.
FILLS = {
    "a fraction": ("i2", [1, 2, 3], np.float64(2.5), [1, 2, 3]),
    "beyond the type": ("i1", [1, 44, 3], np.int16(300), [1, 44, 3]),
    "NaN on integers": ("i2", [1, 0, 3], np.float32(np.nan), [1, 0, 3]),
    "an infinity on integers": ("i4", [1, 0, 3], np.float64(np.inf), [1, 0, 3]),
    "text": ("f4", [1, 0, 3], "none", [1, 0, 3]),
    "text on integers": ("i2", [1, 0, 3], "none", [1, 0, 3]),
    "two values": ("i2", [1, 2, 3], np.array([1, 2], "i2"), [np.nan, np.nan, 3]),
    "of another type": ("i2", [1, 2, 3], np.float64(2), [1, np.nan, 3]),
    "of the type": ("f4", [1, 2, 3], np.float32(2), [1, np.nan, 3]),
}


@pytest.mark.parametrize("case", FILLS)
def test_fill_values_of_another_type(tmp_path, case):
    dtype, values, fill, wanted = FILLS[case]
    path = tmp_path / "a.nc"
    with netcdf_file(path, "w") as ds:
        ds.createDimension("x", 3)
        ds.createVariable("v", dtype, ("x",))[:] = values
        # SciPy takes a text for a number.
        ds.variables["v"]._FillValue = "9999" if isinstance(fill, str) else fill
    if isinstance(fill, str):
        path.write_bytes(path.read_bytes().replace(b"9999", fill.encode()))
    store = Nc3zStore(path)
    np.testing.assert_array_equal(zarr.open_group(store, mode="r")["v"][...], values)
    with xr.open_zarr(store, chunks=None) as found:
        np.testing.assert_array_equal(found.v, wanted)


def test_a_global_fill_value_is_an_attribute(tmp_path):
    with netcdf_file(tmp_path / "a.nc", "w") as ds:
        ds.createDimension("x", 2)
        ds.createVariable("v", "f4", ("x",))[:] = [1, 2]
        ds._FillValue = "none"
    with xr.open_zarr(Nc3zStore(tmp_path / "a.nc"), chunks=None) as found:
        assert found.attrs["_FillValue"] == "none" and found.v.values.tolist() == [1, 2]


def arrays():
    """One array of each type, with values that exercise the encoder's choice."""
    smooth = np.add.outer(np.arange(40), np.arange(50)) / 8
    for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
        yield smooth.astype(dtype)
        if dtype[0] == "f":
            odd = smooth.astype(dtype)
            odd[3:9, ::7] = np.nan
            odd[0, 0], odd[1, 1], odd[2, 2] = -0.0, np.inf, -np.inf
            yield odd
            yield np.where(odd > 9, odd, -1e34).astype(dtype)
        else:
            info = np.iinfo(dtype)
            yield RNG.integers(info.min, info.max, (40, 50), dtype=dtype, endpoint=True)
            yield RNG.integers(0, 3, (40, 50)).astype(dtype) * 40  # few values
    yield np.zeros((3, 1, 7), "f4")
    yield np.arange(1.0)


@pytest.mark.parametrize("level", ["fast", "default", "max"])
def test_the_codec_gives_every_bit_back(level, tmp_path):
    for number, array in enumerate(arrays()):
        chunks = tuple(max(1, -(-n // 2) - 1) for n in array.shape)
        z = zarr.create_array(
            tmp_path / f"{level}{number}.zarr", shape=array.shape, chunks=chunks, dtype=array.dtype,
            serializer=Num(level), compressors=zarr.codecs.Crc32cCodec(),
        )  # fmt: skip
        z[...] = array
        again = zarr.open_array(tmp_path / f"{level}{number}.zarr", mode="r")
        assert isinstance(again.serializer, Num) and again.serializer.level == level
        assert again[...].tobytes() == array.tobytes()


def test_the_codec_makes_smooth_fields_smaller_than_zstd(tmp_path):
    field = np.round(np.cumsum(RNG.normal(size=(200, 200)), 0), 2).astype("f4")
    sizes = {}
    for name, options in {"num": {"serializer": Num(), "compressors": None}, "zstd": {}}.items():
        z = zarr.create_array(tmp_path / name, shape=field.shape, chunks=field.shape, dtype="f4", **options)
        z[...] = field
        sizes[name] = z.nbytes_stored()
    assert sizes["num"] < 0.7 * sizes["zstd"], sizes


def test_the_codec_is_found_by_its_entry_point(tmp_path):
    z = zarr.create_array(tmp_path / "a", shape=(9,), chunks=(4,), dtype="i4", serializer=Num(), compressors=None)
    z[:] = np.arange(9)
    code = f"import zarr; assert zarr.open_array({str(tmp_path / 'a')!r})[:].tolist() == list(range(9))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    code = "import numcodecs; print(numcodecs.get_codec({'id': 'nc3z.num', 'dtype': '>f4', 'shape': [3]}).get_config())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "nc3z.num" in done.stdout, done.stderr


def test_the_codec_refuses_what_it_cannot_take(tmp_path):
    for dtype in ("f2", "bool", "c8", "S3"):
        with pytest.raises(ValueError, match="nc3z.num"):
            zarr.create_array(tmp_path / dtype, shape=(4,), dtype=dtype, serializer=Num(), compressors=None)
    with pytest.raises(ValueError, match="level"):
        Num("best")
    with pytest.raises(ValueError, match="no setting"):
        Num.from_dict({"name": "nc3z.num", "configuration": {"speed": 1}})


def test_damaged_payloads_are_errors_or_other_numbers():
    from nc3z._num import decode, encode

    field = np.add.outer(np.arange(30.0), np.arange(20.0)).astype("f4")
    payload = encode(field, field.shape, "max")
    assert np.array_equal(decode(payload, field.dtype, field.shape), field)
    outcomes = set()
    for at in range(len(payload)):
        for bad in (payload[:at], payload[:at] + bytes([payload[at] ^ 0x55]) + payload[at + 1 :]):
            try:
                outcomes.add(decode(bad, field.dtype, field.shape).shape)
            except (nc3z.CorruptError, nc3z.UnsupportedError) as e:
                outcomes.add(type(e))
    assert nc3z.CorruptError in outcomes
    for shape in ([30, 21], [2**40, 2**40], []):
        with pytest.raises((ValueError, MemoryError, nc3z.Error)):
            decode(payload, field.dtype, shape)


#: Types by their numbers in netCDF, which the reference decoder takes.
NUMBERS = {"i1": 1, "i2": 3, "i4": 4, "f4": 5, "f8": 6, "u1": 7, "u2": 8, "u4": 9, "i8": 10, "u8": 11}


@pytest.mark.parametrize("level", ["fast", "default", "max"])
def test_the_reference_decoder_reads_what_the_codec_writes(level):
    pytest.importorskip("zstandard")
    sys.path.append(str(ROOT / "spec" / "reference"))
    import nc3z_num

    from nc3z._num import encode

    for array in arrays():
        payload = encode(array, array.shape, level)
        number = NUMBERS[f"{array.dtype.kind}{array.dtype.itemsize}"]
        found = nc3z_num.decode(payload, array.size, number, nc3z_num.geometry_of(list(array.shape)))
        assert [int(x) for x in found] == array.view(f"u{array.dtype.itemsize}").ravel().tolist(), array.dtype


def test_numcodecs_give_every_bit_back():
    from nc3z.numcodecs import Num as Codec

    for array in arrays():
        for order in ("<", ">"):
            codec = Codec(array.dtype.newbyteorder(order).str, array.shape)
            stored = array.astype(codec.dtype)
            payload = codec.encode(stored)
            found = codec.decode(payload)
            assert found.tobytes() == stored.tobytes() and found.dtype == stored.dtype
            out = np.empty(array.shape, codec.dtype)
            codec.decode(payload, out)
            assert out.tobytes() == stored.tobytes()
            assert Codec.from_config(codec.get_config()).decode(payload).tobytes() == stored.tobytes()


def test_numcodecs_checksums_find_every_flipped_bit():
    """As the HDF5 filter writes chunks for NCZarr: a CRC-32 behind the payload."""
    from nc3z.numcodecs import Num as Codec

    codec = Codec("<f4", (20, 50), checksum=True)
    field = (np.arange(1000, dtype="f4") / 10).reshape(20, 50)
    payload = codec.encode(field)
    bare = Codec("<f4", (20, 50))
    assert payload[:-4] == bare.encode(field) and "checksum" not in bare.get_config()
    again = Codec.from_config(codec.get_config())
    assert again.checksum and again.decode(payload).tobytes() == field.tobytes()
    for bit in range(len(payload) * 8):
        flipped = bytearray(payload)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(nc3z.CorruptError, match="CRC-32"):
            codec.decode(bytes(flipped))
    for cut in range(len(payload)):
        with pytest.raises(nc3z.CorruptError):
            codec.decode(payload[:cut])


def test_references_open_in_xarray(tmp_path):
    """By fsspec's reference file system, which kerchunk's readers use; the archive is not opened by nc3z."""
    tool = ROOT / "target" / "debug" / "nc3z"
    pytest.importorskip("fsspec")
    if not tool.exists():
        pytest.skip("the tool is not built")
    archive, refs = tmp_path / "a.nc3z", tmp_path / "a.json"
    chain = '[{"id": "shuffle"}, {"id": "zstd", "level": 9}]'
    nc3z.archive(CLASSIC / "coads_climatology.cdf", archive, layout="chunked", pad_edges=True, chains={"*": chain},
                 tile_nbytes=1 << 16)
    subprocess.run([tool, "refs", archive, "-o", refs], check=True)
    import fsspec

    mapper = fsspec.filesystem("reference", fo=str(refs), asynchronous=True, remote_protocol="file",
                               remote_options={"asynchronous": True})
    store = zarr.storage.FsspecStore(mapper, read_only=True)
    options = {"decode_times": False}
    with xr.open_zarr(store, zarr_format=2, consolidated=False, chunks=None, **options) as found:
        expected = xr.open_dataset(CLASSIC / "coads_climatology.cdf", engine="netcdf4", **options)
        xr.testing.assert_equal(found.load(), expected)


def test_netcdf4_agrees(archives):
    """The store against the C library, without this package's own reader between."""
    path = CLASSIC / "coads_climatology.cdf"
    group = zarr.open_group(Nc3zStore(archives / f"{path.name}.nc3z"), mode="r")
    with netCDF4.Dataset(path) as ds:
        ds.set_auto_maskandscale(False)
        for name, variable in ds.variables.items():
            assert np.array_equal(group[name][...], variable[...])

"""References as others use them: Icechunk's virtual chunks, VirtualiZarr's manifests, kerchunk's JSON; read by Zarr's own codecs."""

import json
import os
import subprocess
import zipfile
from datetime import UTC, datetime

import numpy as np
import pytest
import xarray as xr
import zarr
from conftest import CLASSIC, ODD, ROOT

import nc3z

TOOL = ROOT / "target" / "debug" / "nc3z"
PLAIN = {"decode_times": False, "mask_and_scale": False, "concat_characters": False}
#: Chains that Zarr has, as NumCodecs writes them.
CHAINS = {
    "shuffle, zstd": '[{"id":"shuffle"},{"id":"zstd","level":9}]',
    "zlib": '[{"id":"shuffle"},{"id":"zlib","level":5}]',
    "gzip": '[{"id":"gzip","level":5}]',
    "lz4": '[{"id":"lz4"}]',
    "lzma": '[{"id":"shuffle"},{"id":"lzma","format":3,"check":-1,"preset":null,"filters":[{"id":33,"dict_size":1048576,"lc":2,"lp":2,"pb":2}]}]',
    "bz2": '[{"id":"bz2","level":9}]',
    "blosc": '[{"id":"blosc","cname":"zstd","clevel":5,"shuffle":1,"blocksize":0}]',
    "blosc, bits": '[{"id":"blosc","cname":"lz4","clevel":5,"shuffle":2,"blocksize":0}]',
    "crc32c": '[{"id":"shuffle"},{"id":"zstd","level":3},{"id":"crc32c"}]',
    "fletcher32": '[{"id":"zlib","level":3},{"id":"fletcher32"}]',
    "none": "[]",
}
#: The same, of numbers.
NUMBERS = {
    "pcodec": '[{"id":"pcodec"}]',
    "nc3z.num": '[{"id":"nc3z.num"}]',
    "delta": '[{"id":"delta"},{"id":"zstd","level":3}]',
    "packbits off": '[{"id":"shuffle"},{"id":"zstd","level":1}]',
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A variable of each of some types, large enough that tiles are blocks of their own, and short ones."""
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("refs") / "mixed.nc"
    smooth = np.cumsum(rng.integers(-3, 4, (30, 40, 50)), 0)
    variables = {f"v_{t}": (("t", "y", "x"), smooth.astype(t)) for t in ("i1", "i2", "i4", "f4", "f8")}
    variables["noise"] = (("t", "y", "x"), rng.integers(-(2**31), 2**31, (30, 40, 50), dtype="i4"))
    variables["constant"] = (("t", "y", "x"), np.full((30, 40, 50), 7, "f4"))
    ds = xr.Dataset(variables, {"t": np.arange(30.0), "x": np.arange(50, dtype="i2")}, {"title": "mixed"})
    ds["v_f4"].attrs.update(_FillValue=np.float32(-1e34), units="K")
    ds.to_netcdf(path, engine="scipy")
    return path


def zarr_archive(source, path, chain=None, only=None):
    chains = None if chain is None else {only or "*": chain}
    nc3z.archive(source, path, profile="zarr", tile_nbytes=1 << 14, chains=chains, force=True)
    return path


def repository(archive, allowed=True):
    icechunk = pytest.importorskip("icechunk")
    from nc3z.icechunk import container

    prefix, place = container(archive)
    config = icechunk.RepositoryConfig.default()
    config.set_virtual_chunk_container(place)
    keys = icechunk.containers_credentials({prefix: None}) if allowed else None
    return icechunk.Repository.create(icechunk.in_memory_storage(), config, authorize_virtual_chunk_access=keys)


def written(archive, refs=None, **options):
    from nc3z.icechunk import write

    repo = repository(archive)
    session = repo.writable_session("main")
    write(session.store, refs or archive, **options)
    session.commit("references")
    return repo.readonly_session("main").store


def compare(found, source):
    expected = xr.open_dataset(source, engine="netcdf4", **PLAIN)
    assert set(found.variables) == set(expected.variables)
    for name, variable in expected.variables.items():
        assert found[name].dims == variable.dims and found[name].dtype == variable.dtype, name
        assert found[name].to_numpy().tobytes() == variable.to_numpy().tobytes(), name


@pytest.mark.parametrize("chain", [*CHAINS.values(), *NUMBERS.values()], ids=[*CHAINS, *NUMBERS])
def test_icechunk_reads_what_is_in_the_file(chain, source, tmp_path):
    pytest.importorskip("icechunk")
    only = "v_i4" if chain in NUMBERS.values() else None
    archive = zarr_archive(source, tmp_path / "a.nc3z", chain, only)
    store = written(archive)
    compare(xr.open_zarr(store, consolidated=False, zarr_format=3, chunks=None, **PLAIN), source)


def test_icechunks_chunks_lie_in_the_archive(source, tmp_path):
    archive = zarr_archive(source, tmp_path / "a.nc3z")
    store = written(archive, group="some/where")
    assert zarr.open_group(store, path="some/where", mode="r").attrs["title"] == "mixed"
    # Without the archive only chunks that are stored in the references can be read.
    found = zarr.open_group(store, path="some/where", mode="r")
    assert found["v_f4"][3, 4, 5] == nc3z.open(archive)["v_f4"][3, 4, 5]
    os.rename(archive, tmp_path / "elsewhere")
    assert found["x"][:].tolist() == list(range(50))
    with pytest.raises(Exception, match=r"(?i)not found|no such|virtual"):
        found["v_f4"][3, 4, 5]


def test_an_archive_that_was_replaced_is_an_error(source, tmp_path):
    archive = zarr_archive(source, tmp_path / "a.nc3z")
    store = written(archive)
    group = zarr.open_group(store, mode="r")
    assert group["v_f8"][0, 0, 0] == nc3z.open(archive)["v_f8"][0, 0, 0]
    data = archive.read_bytes()
    archive.write_bytes(bytes(b ^ 0x55 for b in data))
    later = datetime.now(UTC).timestamp() + 60
    os.utime(archive, (later, later))
    with pytest.raises(Exception, match=r"(?i)modified|checksum|changed|updated"):
        group["v_f8"][0, 0, 0]


def test_the_tools_references_are_those_of_the_package(source, tmp_path):
    if not TOOL.exists():
        pytest.skip("the tool is not built")
    archive = zarr_archive(source, tmp_path / "a.nc3z")
    told = json.loads(subprocess.run([TOOL, "refs", "--format", "icechunk", archive], check=True, capture_output=True).stdout)
    assert told["checksum"]["last_modified"] >= archive.stat().st_mtime
    assert {c for refs in told["arrays"].values() for c in ("chunks", "inlined") if refs[c]} == {"chunks", "inlined"}
    compare(xr.open_zarr(written(archive, told), consolidated=False, zarr_format=3, chunks=None, **PLAIN), source)
    told["version"] = 2
    with pytest.raises(ValueError, match="version 1"):
        written(archive, told)


def test_a_bundles_member_is_read_in_the_bundle(source, tmp_path):
    """References point into the ZIP, whose identity is checked like that of archives."""
    zarr_archive(source, tmp_path / "a.nc3z")
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as made:
        made.write(source, "first.nc")
        made.write(tmp_path / "a.nc3z", "a.nc3z")
    (tmp_path / "a.nc3z").unlink()
    member = f"{tmp_path}/set.zip!/a.nc3z"
    store = written(member)
    compare(xr.open_zarr(store, consolidated=False, zarr_format=3, chunks=None, **PLAIN), source)
    later = datetime.now(UTC).timestamp() + 60
    os.utime(tmp_path / "set.zip", (later, later))
    with pytest.raises(Exception, match=r"(?i)modified|checksum|changed|updated"):
        zarr.open_group(store, mode="r")["v_f8"][0, 0, 0]
    with nc3z.open(member) as ds, nc3z.open(source) as other:
        assert ds._file == f"{tmp_path}/set.zip" and other._file == str(source)
    if TOOL.exists():
        told = json.loads(subprocess.run([TOOL, "refs", "--format", "icechunk", member], check=True, capture_output=True).stdout)
        compare(xr.open_zarr(written(member, told), consolidated=False, zarr_format=3, chunks=None, **PLAIN), source)


def test_what_is_no_array_of_zarr_is_named(source, tmp_path):
    pytest.importorskip("icechunk")
    nc3z.archive(source, tmp_path / "a.nc3z", tile_nbytes=1 << 14)
    with pytest.raises(ValueError, match=r"variable `v_\w+`: .*profile zarr"):
        written(tmp_path / "a.nc3z")
    with pytest.raises(ValueError, match="classic file"):
        written(source)
    with pytest.raises(ValueError, match="profile"):
        nc3z.archive(source, tmp_path / "b.nc3z", profile="hdf5")


def parser():
    """VirtualiZarr's newer releases; the last for Python 3.11 has no chunks within manifests."""
    manifests = pytest.importorskip("virtualizarr.manifests.manifest")
    if not hasattr(manifests, "INLINED_CHUNK_PATH"):
        pytest.skip("VirtualiZarr 2.8 or later is needed, which this Python has not")
    from nc3z.virtualizarr import Nc3zParser
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore

    return Nc3zParser(), ObjectStoreRegistry({"file://": LocalStore()})


@pytest.mark.parametrize("chain", ["shuffle, zstd", "blosc", "crc32c"])
def test_virtualizarr_reads_what_is_in_the_file(chain, source, tmp_path):
    parse, registry = parser()
    archive = zarr_archive(source, tmp_path / "a.nc3z", CHAINS[chain])
    store = parse(archive.as_uri(), registry)
    compare(xr.open_dataset(store, engine="zarr", consolidated=False, zarr_format=3, **PLAIN), source)


@pytest.mark.parametrize("name", ["coads_climatology.cdf", "etopo120.cdf", "numeric.nc", "record_padding.nc"])
def test_virtualizarr_and_its_own_parser_agree(name, tmp_path):
    assert name not in ODD
    parse, registry = parser()
    from virtualizarr.parsers import NetCDF3Parser

    archive = tmp_path / "a.nc3z"
    nc3z.archive(CLASSIC / name, archive, profile="zarr", tile_nbytes=1 << 16)
    options = {"engine": "zarr", "consolidated": False, "zarr_format": 3, **PLAIN}
    found = xr.open_dataset(parse(archive.as_uri(), registry), **options)
    theirs = xr.open_dataset(NetCDF3Parser()((CLASSIC / name).as_uri(), registry), **options)
    for key, variable in theirs.variables.items():
        assert found[key].to_numpy().tobytes() == variable.to_numpy().tobytes(), key


def test_virtual_datasets_are_joined_and_written(source, tmp_path):
    parse, registry = parser()
    pytest.importorskip("icechunk")
    import virtualizarr

    parts = []
    for n in range(2):
        archive = zarr_archive(source, tmp_path / f"{n}.nc3z")
        opened = virtualizarr.open_virtual_dataset(archive.as_uri(), registry, parser=parse, decode_times=False)
        parts.append(opened[["v_f4", "v_i2"]].drop_vars(["t", "x"], errors="ignore"))
    joined = xr.concat(parts, "t", coords="minimal", compat="override", combine_attrs="override")
    repo = repository(tmp_path / "0.nc3z")
    session = repo.writable_session("main")
    accessor = getattr(joined, "vz", None) or joined.virtualize
    accessor.to_icechunk(session.store)
    session.commit("two archives")
    found = zarr.open_group(repo.readonly_session("main").store, mode="r")
    expected = np.asarray(nc3z.open(source)["v_f4"])
    assert np.array_equal(found["v_f4"][:], np.concatenate([expected, expected]))

"""URLs: what local files give, in few requests; the right bytes from bad servers, or an error that names URL and range.

NC3Z_NIGHT=1 asks for a thousand reads of each bad server, and for the S3 server of `moto`, which scripts/nightly.sh installs."""

import os
import pickle
import random
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pytest
import xarray as xr
from conftest import CLASSIC, ROOT

import nc3z
from nc3z.xarray import Nc3zBackendEntrypoint

sys.path.append(str(ROOT / "tests"))
from servers import FAULTS, serve  # noqa: E402

NAME = "coads_climatology.cdf"
TOOL = Path(os.environ.get("NC3Z", ROOT / "target" / "debug" / "nc3z"))
QUICK = {"max_retries": 8, "retry_timeout": 20}
#: Opened so often from each bad server, for three reads. nc3z-remote's own tests read a thousand times.
OPENS = 334 if os.environ.get("NC3Z_NIGHT") else 3


@pytest.fixture(scope="module")
def files(archives):
    return {NAME: (CLASSIC / NAME).read_bytes(), f"bucket/{NAME}.nc3z": (archives / f"{NAME}.nc3z").read_bytes()}


@pytest.fixture
def server(files):
    with serve(files) as server:
        yield server


@pytest.fixture(params=[NAME, f"bucket/{NAME}.nc3z"])
def name(request):
    return request.param


def expected():
    with nc3z.open(CLASSIC / NAME) as ds:
        return ds["SST"][...]


def test_values_are_the_local_files_and_requests_are_few(server, name):
    with nc3z.open(server.url(name)) as ds:
        assert len(server.asked) <= 2
        assert list(ds) == list(nc3z.open(CLASSIC / NAME)) and ds["SST"].units == "Deg C"
        assert len(server.asked) <= 2
        before = len(server.asked)
        assert np.array_equal(ds["SST"][5], expected()[5])
        assert len(server.asked) - before <= 1
        before = len(server.asked)
        assert np.array_equal(ds["SST"][:, 45, 20], expected()[:, 45, 20])
        # A record each of the classic file, not the file.
        assert len(server.asked) - before <= 12
        assert np.array_equal(ds["SST"].oindex[[0, 11], :, [3, 90]], expected()[np.ix_([0, 11], range(90), [3, 90])])
    # Every request but the first names the object that was opened.
    assert all(tag for _, _, tag in server.asked[1:])


def test_xarray_reads_the_times_of_a_record_file_by_ranges(tmp_path):
    """A record of 200 KB has one time."""
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_64BIT_OFFSET") as ds:
        ds.createDimension("time", None)
        ds.createDimension("x", 50_000)
        ds.createVariable("time", "f8", ("time",)).units = "days since 2000-01-01"
        ds.createVariable("tas", "f4", ("time", "x"))[:] = np.arange(150)[:, None]
        ds["time"][:] = np.arange(150)
    with serve({"a.nc": (tmp_path / "a.nc").read_bytes()}, delay=0.02) as server:
        with xr.open_dataset(server.url("a.nc"), engine="nc3z") as ds:
            assert ds.time.dt.dayofyear[149] == 150 and ds.tas[149, 7] == 149
            assert server.sent < 1_000_000 and len(server.asked) <= 2 * 150 + 10
            np.testing.assert_array_equal(ds.tas, np.broadcast_to(np.arange(150)[:, None], (150, 50_000)))
    assert server.sent < 33_000_000


def test_messages_and_repr_hide_secrets(server, name):
    url = server.url(name).replace("http://", "http://me:hush@") + "?signature=s3cr3t-s3cr3t"
    ds = nc3z.open(url)
    assert ds.path == server.url(name) and "s3cr3t" not in repr(ds) + ds._repr_html_()
    server.files.clear()
    with pytest.raises(OSError) as caught:
        ds["SST"][...]
    words = str(caught.value)
    assert server.url(name) in words and "s3cr3t" not in words and "hush" not in words


@pytest.mark.parametrize("chunks", [None, {}])
def test_encodings_hide_secrets(server, name, chunks):
    url = server.url(name).replace("http://", "http://me:hush@") + "?signature=s3cr3t-s3cr3t"
    with xr.open_dataset(url, engine="nc3z", chunks=chunks, decode_times=False) as ds:
        assert ds.encoding["source"] == server.url(name) == ds["SST"].encoding["source"]
        assert float(ds["SST"][5, 40, 40]) == float(expected()[5, 40, 40])
    # For a local file xarray stores the path.
    with xr.open_dataset(CLASSIC / NAME, engine="nc3z", decode_times=False) as ds:
        assert ds.encoding["source"] == str(CLASSIC / NAME)


def test_a_bundle_at_a_url_hides_secrets(server):
    server.put("bad.zip", b"PK\x03\x04" + bytes(200))
    with pytest.raises(nc3z.CorruptError) as caught:
        nc3z.open_collection(server.url("bad.zip").replace("http://", "http://me:hush@") + "?signature=s3cr3t-s3cr3t")
    assert server.url("bad.zip") in str(caught.value) and "s3cr3t" not in str(caught.value) and "hush" not in str(caught.value)


def test_versions_of_members_and_of_their_bundle(server, tmp_path):
    if not TOOL.exists():
        pytest.skip("the tool is not built")
    archive, bundle = tmp_path / "a.nc3z", tmp_path / "set.bundle.nc3z"
    nc3z.archive(CLASSIC / "smooth.nc", archive, preset="fast")
    nc3z.commit(archive, CLASSIC / NAME, allow_unrelated=True)
    subprocess.run([TOOL, "bundle", archive, "-o", bundle], check=True)
    subprocess.run([TOOL, "bundle", CLASSIC / "numeric.nc", "-o", bundle, "--append"], check=True)
    server.put(bundle.name, bundle.read_bytes())
    wanted = {"@1!/a.nc3z": NAME, "@1!/a.nc3z@1": "smooth.nc", "@2!/a.nc3z@2": NAME, "!/a.nc3z@1": "smooth.nc", "@2!/numeric.nc": "numeric.nc"}
    for bundled in (str(bundle), server.url(bundle.name)):
        for name, original in wanted.items():
            with nc3z.open(bundled + name) as ds:
                assert ds.read_original(0, ds.original_nbytes) == (CLASSIC / original).read_bytes(), name
        with pytest.raises((FileNotFoundError, nc3z.Error), match="numeric.nc"):
            nc3z.open(f"{bundled}@1!/numeric.nc")


def test_what_cannot_be_opened_says_why(server, name):
    with pytest.raises(FileNotFoundError) as caught:
        nc3z.open(server.url("nothing.nc3z"))
    assert server.url("nothing.nc3z") in str(caught.value)
    with pytest.raises(ValueError, match="unsupported URL scheme"):
        nc3z.open("ftp://host/a.nc3z")
    with pytest.raises(TypeError, match="storage_options are for URLs"):
        nc3z.open(CLASSIC / NAME, storage_options={"region": "x"})
    with pytest.raises(OSError, match="no setting `region`"):
        nc3z.open(server.url(name), storage_options={"region": "x"})
    with pytest.raises(ValueError, match="timeout"):
        nc3z.open(server.url(name), storage_options={"timeout": "soon"})


@pytest.mark.parametrize("fault", FAULTS)
def test_bad_servers_give_the_right_bytes_or_an_error(files, name, fault):
    whole = expected()
    random_ = random.Random(fault)
    right = 0
    for _ in range(OPENS):
        with serve(files, fault) as server:
            try:
                with nc3z.open(server.url(name), storage_options=QUICK) as ds:
                    for _ in range(3):
                        t, y, x = (random_.randrange(n) for n in whole.shape)
                        nc3z.set_cache(0)
                        assert np.array_equal(ds["SST"][t:, y : y + 3, x:], whole[t:, y : y + 3, x:])
                        right += 1
            except (OSError, nc3z.Error) as e:
                words = str(e)
                assert server.url(name) in words and "bytes " in words, (fault, words)
            finally:
                nc3z.set_cache(64 << 20)
    assert right >= (3 * OPENS if fault in ("cut", "busy") else 0)


def test_a_replaced_object_is_never_mixed(files, name):
    for heeds in (True, False):
        with serve(files, "changed", every=1, after=2, heeds=heeds) as server:
            ds = nc3z.open(server.url(name))
            nc3z.set_cache(0)
            try:
                with pytest.raises(nc3z.ReplacedError, match="replaced"):
                    for step in range(12):
                        ds["SST"][step]
            finally:
                nc3z.set_cache(64 << 20)


@pytest.mark.parametrize("path", ["sub%2Fa", "a%2Bb", "d//a", "a%FFb", "d/a/", "t~(x),a+b", "sp%20ace", "%C3%BCx", "%c3%bcx"])
@pytest.mark.parametrize("query", ["", "?alt=media&name=a%2Fb+c%20d"])
def test_a_url_is_requested_as_it_is_given(files, path, query):
    with serve({path: files[f"bucket/{NAME}.nc3z"]}) as server:
        url = server.url(path) + query
        with nc3z.open(url) as ds:
            assert np.array_equal(ds["SST"][3], expected()[3])
            again = pickle.loads(pickle.dumps(ds))
            assert np.array_equal(again["SST"][4], expected()[4])
        assert nc3z.verify(url) and nc3z.info(url).kind == "archive"
        assert set(server.targets) == {f"/{path}{query}"}


def test_servers_without_ranges_are_named(files, name):
    with serve(files, ranges=False) as server, pytest.raises(OSError, match="does not serve byte ranges"):
        nc3z.open(server.url(name))


def test_pickles_and_processes(server, name):
    ds = nc3z.open(server.url(name), storage_options={"timeout": 30})
    again = pickle.loads(pickle.dumps(ds))
    assert np.array_equal(again["SST"][3], expected()[3])
    for method in ("fork", "spawn"):
        with ProcessPoolExecutor(1, get_context(method)) as pool:
            assert np.array_equal(pool.submit(read_step, ds, 4).result(60), expected()[4])


def read_step(ds, step):
    return ds["SST"][step]


def test_xarray(server, name):
    options = {"decode_times": False}
    local = xr.open_dataset(CLASSIC / NAME, engine="netcdf4", **options)
    with xr.open_dataset(server.url(name), engine="nc3z", **options) as ds:
        xr.testing.assert_identical(ds.load(), local)
    if name.endswith(".nc3z"):
        with xr.open_dataset(server.url(name), engine="nc3z", chunks={}, **options) as ds:
            assert np.array_equal(ds.SST.mean("TIME").compute(), local.SST.mean("TIME"), equal_nan=True)
    # Without netCDF4, whose engine claims every URL, this one is guessed.
    assert Nc3zBackendEntrypoint().guess_can_open(server.url(name) + "?signature=x.nc") == name.endswith(".nc3z")
    a, b = (xr.open_dataset(server.url(name), engine="nc3z", chunks={}, **options).SST.data.name for _ in range(2))
    assert a == b


def test_settings_of_a_store(server, files):
    options = {"endpoint": server.root, "skip_signature": True, "region": "here"}
    url = f"s3://bucket/{NAME}.nc3z"
    with nc3z.open(url, storage_options=options) as ds:
        assert np.array_equal(ds["SST"][...], expected())
    found = xr.open_dataset(url, engine="nc3z", storage_options=options, decode_times=False)
    assert np.array_equal(found.SST[3], xr.open_dataset(CLASSIC / NAME, decode_times=False).SST[3], equal_nan=True)
    assert nc3z.info(url, storage_options=options).kind == "archive"


def test_whole_archives(server, tmp_path):
    url = server.url(f"bucket/{NAME}.nc3z")
    assert nc3z.verify(url) and nc3z.verify(url, deep=False)
    assert len(server.asked) <= 10
    done = nc3z.restore(url, tmp_path / "back.nc")
    assert done.matches_record and (tmp_path / "back.nc").read_bytes() == (CLASSIC / NAME).read_bytes()


@pytest.fixture
def bucket(files, monkeypatch):
    """The files in an S3 server that refuses wrong signatures: its client, and the settings of a permitted reader."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        tell = lambda what, body: urlopen(Request(f"{endpoint}/moto-api/{what}", body, {"Content-Type": "text/plain"}, method="POST")).close()
        # Servers of one process share what is in them.
        tell("reset", b"")
        make = lambda kind, key, secret: boto3.client(kind, endpoint_url=endpoint, region_name="us-east-1",
                                                      aws_access_key_id=key, aws_secret_access_key=secret)
        iam = make("iam", "first", "first")
        iam.create_user(UserName="reader")
        rule = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}'
        iam.put_user_policy(UserName="reader", PolicyName="all", PolicyDocument=rule)
        key = iam.create_access_key(UserName="reader")["AccessKey"]
        client = make("s3", key["AccessKeyId"], key["SecretAccessKey"])
        client.create_bucket(Bucket="bucket")
        for name, data in files.items():
            client.put_object(Bucket="bucket", Key=name, Body=data)
        options = {"endpoint": endpoint, "region": "us-east-1", "allow_http": True}
        options |= {"access_key_id": key["AccessKeyId"], "secret_access_key": key["SecretAccessKey"]}
        # From here on each request is checked: its signature, and what its user may do.
        check = lambda after: tell("reset-auth", after)
        check(b"0")
        yield client, options
        check(b"inf")
    finally:
        server.stop()


needs_moto = pytest.mark.skipif(not os.environ.get("NC3Z_NIGHT"), reason="NC3Z_NIGHT is not set")


@needs_moto
def test_s3_with_signatures(bucket, files):
    client, options = bucket
    whole = expected()
    for name in files:
        with pytest.raises(OSError, match=f"{name}.*(403|[Ff]orbidden|denied)"):
            nc3z.open(f"s3://bucket/{name}", storage_options={**options, "secret_access_key": "another"})
        with pytest.raises(FileNotFoundError):
            nc3z.open(f"s3://bucket/{name}.none", storage_options=options)
        with nc3z.open(f"s3://bucket/{name}", storage_options=options) as ds:
            assert np.array_equal(ds["SST"][...], whole)
            random_ = random.Random(1)
            nc3z.set_cache(0)
            for _ in range(1000):
                t, y, x = (random_.randrange(n) for n in whole.shape)
                assert np.array_equal(ds["SST"][t, y:, x], whole[t, y:, x])
            nc3z.set_cache(64 << 20)
            client.put_object(Bucket="bucket", Key=name, Body=files[name][:-1])
            nc3z.set_cache(0)
            with pytest.raises(nc3z.ReplacedError):
                for step in range(12):
                    ds["SST"][step]
            nc3z.set_cache(64 << 20)


def test_objects_of_a_server_share_connections():
    data = (CLASSIC / NAME).read_bytes()
    with serve({f"{n}.nc": data for n in range(20)}) as server:
        files = [nc3z.open(server.url(f"{n}.nc")) for n in range(20)]
        assert {file["SST"][0, 1, 2] for file in files} == {nc3z.open(CLASSIC / NAME)["SST"][0, 1, 2]}
        assert len(server.asked) >= 20 and server.connections <= 4
        # Another user is another client.
        nc3z.open(server.url("0.nc"), storage_options={"bearer_token": "x"})
        assert server.headers[-1]["Authorization"] == "Bearer x"
        nc3z.open(server.url("0.nc"))
        assert "Authorization" not in server.headers[-1]


@needs_moto
def test_s3_by_the_tool(bucket, files, archives, tmp_path):
    """`nc3z` by its options, and by the environment."""
    if not TOOL.exists():
        pytest.skip("the tool is not built")
    _, options = bucket
    words = {name: str(value).lower() if value is True else value for name, value in options.items()}
    by_option = [word for name, value in words.items() for word in ("--storage-option", f"{name}={value}")]
    by_environment = {**os.environ, **{f"AWS_{name.upper()}": value for name, value in words.items()}}

    def run(*command, ok=True):
        found = []
        for arguments, env in ((by_option, os.environ), ([], by_environment)):
            done = subprocess.run([TOOL, *command, *arguments], capture_output=True, env=env)
            assert (done.returncode == 0) == ok, (command, done.stderr)
            found.append(done.stdout if ok else done.stderr)
        assert found[0] == found[1] or not ok
        return found[0]

    for name in files:
        url, path = f"s3://bucket/{name}", archives / Path(name).name if name.endswith("nc3z") else CLASSIC / name
        for command in (["read", url, "SST", "-d", "TIME,3", "--format", "raw"], ["dump", "-h", url], ["info", "--json", url]):
            here = subprocess.run([TOOL, *(str(path) if w == url else w for w in command)], check=True, capture_output=True).stdout
            assert run(*command).replace(url.encode(), str(path).encode()) == here, command
    run("verify", url)
    assert run("restore", url, "-o", "-") == files[NAME]
    assert url.encode() in run("verify", f"{url}.none", ok=False)
    done = subprocess.run([TOOL, "info", url, *by_option, "--storage-option", "secret_access_key=another"], capture_output=True)
    assert done.returncode == 1 and url.encode() in done.stderr and b"another" not in done.stderr

"""`gs://` and `az://`, by Python and by the tool: the right bytes in counted requests, at the paths and with the headers that the stores require.

A server of our own stands for either store. NC3Z_AZURITE names the folder that `npm install azurite` made, Microsoft's emulator of Azure's
blobs, which checks signatures: scripts/nightly.sh installs it. No emulator of Google's store that could be had answers as that does: the one of PyPI gives
neither tag nor time of an object."""

import base64
import hashlib
import hmac
import json
import os
import re
import socket
import subprocess
import sys
import time
from email.utils import formatdate
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pytest
from conftest import CLASSIC, ROOT

import nc3z

sys.path.append(str(ROOT / "tests"))
from servers import serve  # noqa: E402

NAME = "coads_climatology.cdf"
TOOL = Path(os.environ.get("NC3Z", ROOT / "target" / "debug" / "nc3z"))
#: Azurite's, known to everyone.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@pytest.fixture(scope="module")
def files(archives):
    return {NAME: (CLASSIC / NAME).read_bytes(), f"{NAME}.nc3z": (archives / f"{NAME}.nc3z").read_bytes()}


@pytest.fixture(scope="module")
def whole():
    with nc3z.open(CLASSIC / NAME) as ds:
        return ds["SST"][...]


@pytest.fixture
def stores(files, tmp_path):
    """A server with the files at each store's paths, and by scheme the settings that lead to it."""
    paths = {f"bucket/{name}": data for name, data in files.items()}
    # Google's has names percent-encoded beyond what URLs ask for.
    paths |= {f"bucket/{name.replace('.', '%2E').replace('_', '%5F')}": data for name, data in files.items()}
    paths |= {f"{ACCOUNT}/bucket/{name}": data for name, data in files.items()}
    with serve(paths) as server:
        account = tmp_path / "account.json"
        account.write_text(
            json.dumps({"gcs_base_url": server.root, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""})
        )
        settings = {
            "gs": {"service_account": str(account)},
            "az": {"account_name": ACCOUNT, "account_key": KEY, "endpoint": f"{server.root}/{ACCOUNT}", "allow_http": "true"},
        }
        yield server, settings


@pytest.mark.parametrize("scheme", ["gs", "az"])
@pytest.mark.parametrize("name", [NAME, f"{NAME}.nc3z"])
def test_values_are_the_local_files_and_requests_are_few(stores, scheme, name, whole):
    server, settings = stores
    url = f"{scheme}://bucket/{name}"
    with nc3z.open(url, storage_options=settings[scheme]) as ds:
        assert len(server.asked) <= 2
        before = len(server.asked)
        assert np.array_equal(ds["SST"][5], whole[5])
        assert len(server.asked) - before <= 1
        assert np.array_equal(ds["SST"].oindex[[0, 11], :, [3, 90]], whole[np.ix_([0, 11], range(90), [3, 90])])
    # Bounded ranges, and every request but the first names the object that was opened.
    assert all(re.fullmatch(r"bytes=\d+-\d+", range_) for _, range_, _ in server.asked)
    assert all(tag for _, _, tag in server.asked[1:])
    with pytest.raises(FileNotFoundError, match=f"{scheme}://bucket/none"):
        nc3z.open(f"{scheme}://bucket/none", storage_options=settings[scheme])


@pytest.mark.parametrize("scheme", ["gs", "az"])
def test_the_tool_reads_them(stores, scheme):
    if not TOOL.exists():
        pytest.skip("the tool is not built")
    server, settings = stores
    options = [word for setting in settings[scheme].items() for word in ("--storage-option", "=".join(setting))]
    url, path = f"{scheme}://bucket/{NAME}", str(CLASSIC / NAME)
    for command in (["read", url, "SST", "-d", "TIME,3", "--format", "raw"], ["dump", "-h", url], ["info", "--json", url]):
        here = subprocess.run([TOOL, *(path if word == url else word for word in command)], check=True, capture_output=True).stdout
        server.asked.clear()
        there = subprocess.run([TOOL, *command, *options], check=True, capture_output=True).stdout
        assert there.replace(url.encode(), path.encode()) == here, command
        assert 1 <= len(server.asked) <= 3, server.asked
    done = subprocess.run([TOOL, "verify", f"{url}.nc3z", *options], capture_output=True)
    assert done.returncode == 0, done.stderr


def test_the_objects_of_two_writers_do_not_mix(stores, files, whole):
    server, settings = stores
    with nc3z.open(f"az://bucket/{NAME}", storage_options=settings["az"]) as ds:
        path = f"/{ACCOUNT}/bucket/{NAME}"
        server.tags[path] = '"another"'
        with pytest.raises(nc3z.ReplacedError):
            ds["SST"][...]


class Azurite:
    """The emulator in a process of its own, and its log of requests."""

    def __init__(self, folder, log):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = log
        main = Path(folder) / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
        words = ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--blobPort", str(self.port)]
        self.process = subprocess.Popen(["node", main, *words], stdout=log.open("wb"), stderr=subprocess.STDOUT)
        self.root = f"http://127.0.0.1:{self.port}/{ACCOUNT}"
        until = time.monotonic() + 60
        while time.monotonic() < until and b"listens on" not in log.read_bytes():
            assert self.process.poll() is None, log.read_text()
            time.sleep(0.1)

    def put(self, path, body=b"", query="", **headers):
        """A request signed with the account's key."""
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"} | headers
        kind = "application/octet-stream" if body else ""
        names = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
        resource = f"/{ACCOUNT}/{ACCOUNT}/{path}" + (f"\n{query.replace('=', ':')}" if query else "")
        words = "\n".join(["PUT", "", "", str(len(body)) if body else "", "", kind, *[""] * 6]) + f"\n{names}{resource}"
        signature = base64.b64encode(hmac.new(base64.b64decode(KEY), words.encode(), hashlib.sha256).digest()).decode()
        headers |= {"Authorization": f"SharedKey {ACCOUNT}:{signature}"} | ({"Content-Type": kind} if kind else {})
        url = f"{self.root}/{path}" + (f"?{query}" if query else "")
        urlopen(Request(url, body or None, headers, method="PUT")).close()

    def gets(self):
        """Answers to readers so far: the emulator writes them down a little later."""
        time.sleep(0.3)
        return re.findall(rb'"GET [^"]*" (\d+)', self.log.read_bytes())

    def close(self):
        self.process.terminate()
        self.process.wait()


@pytest.fixture
def azurite(files, tmp_path):
    folder = os.environ.get("NC3Z_AZURITE")
    if not folder:
        pytest.skip("NC3Z_AZURITE names no folder with azurite; scripts/nightly.sh installs it by npm")
    emulator = Azurite(folder, tmp_path / "azurite.log")
    try:
        emulator.put("bucket", query="restype=container")
        for name, data in files.items():
            emulator.put(f"bucket/{name}", data, **{"x-ms-blob-type": "BlockBlob"})
        yield emulator
    finally:
        emulator.close()


@pytest.mark.parametrize("name", [NAME, f"{NAME}.nc3z"])
def test_azurite(azurite, files, name, whole):
    options = {"account_name": ACCOUNT, "account_key": KEY, "endpoint": azurite.root, "allow_http": True}
    url = f"az://bucket/{name}"
    with nc3z.open(url, storage_options=options) as ds:
        assert len(azurite.gets()) <= 2
        before = len(azurite.gets())
        assert np.array_equal(ds["SST"][5], whole[5])
        assert len(azurite.gets()) - before <= 1
        nc3z.set_cache(0)
        random_ = np.random.default_rng(1)
        for t, y, x in zip(*(random_.integers(0, n, 1000) for n in whole.shape), strict=True):
            assert np.array_equal(ds["SST"][t, y:, x], whole[t, y:, x])
        assert set(azurite.gets()) == {b"206"}
        azurite.put(f"bucket/{name}", files[name][:-1], **{"x-ms-blob-type": "BlockBlob"})
        with pytest.raises(nc3z.ReplacedError):
            for step in range(12):
                ds["SST"][step]
        nc3z.set_cache(64 << 20)
    other = {**options, "account_key": base64.b64encode(b"another key").decode()}
    with pytest.raises(PermissionError, match="403") as caught:
        nc3z.open(url, storage_options=other)
    assert url in str(caught.value)
    if TOOL.exists():
        words = [word for name, value in options.items() for word in ("--storage-option", f"{name}={str(value).lower() if value is True else value}")]
        # The object under this name was replaced above; the other was not.
        url = f"az://bucket/{NAME if name != NAME else f'{NAME}.nc3z'}"
        read = lambda file, *more: subprocess.run([TOOL, "read", file, "SST", "-d", "TIME,3", *more], check=True, capture_output=True).stdout
        assert read(url, *words) == read(CLASSIC / NAME)

"""Archives of several versions that lost their end: an error of every way to open one, and never an older version.

NC3Z_NIGHT=1 tries 12,000 cuts in each way; by day there are 36. NC3Z_CUTS names another number."""

import io
import os
import random
import sys

import fsspec
import pytest
import xarray as xr
from conftest import CLASSIC, ROOT

import nc3z

sys.path.append(str(ROOT / "tests"))
from servers import serve  # noqa: E402

NAME = "coads_climatology.cdf"
CUTS = int(os.environ.get("NC3Z_CUTS", 12_000 if os.environ.get("NC3Z_NIGHT") else 36))
#: Cuts of one history, and of them at one server.
EACH, SERVED = 400, 50


def history(folder, rng):
    """An archive with some versions: edits, reverts, tags. Gives its bytes, and where each of them ended."""
    versions = [(CLASSIC / NAME).read_bytes()]
    archive, file = folder / "a.nc3z", folder / "v.nc"
    nc3z.archive(CLASSIC / NAME, archive, preset="fast", force=True)
    ends = [archive.stat().st_size]
    for _ in range(rng.randint(2, 5)):
        data = bytearray(rng.choice(versions))
        for _ in range(rng.choice((0, 1, 3))):
            data[-rng.randint(1, len(data) // 2)] ^= 1 + rng.randrange(255)
        if data == versions[-1]:
            data[-4] ^= 1
        file.write_bytes(data)
        nc3z.commit(archive, file)
        versions.append(bytes(data))
        ends.append(archive.stat().st_size)
        if rng.random() < 0.3:
            nc3z.tag(archive, "t", move_tag=True)
    ends.append(archive.stat().st_size)
    return archive.read_bytes(), ends


def by_path(data, folder):
    path = folder / "cut.nc3z"
    path.write_bytes(data)
    nc3z.open(path).load()


def by_xarray(data, folder):
    path = folder / "cut.nc3z"
    path.write_bytes(data)
    xr.open_dataset(path, engine="nc3z").load()


def by_fsspec(data, folder):
    fs = fsspec.filesystem("memory")
    fs.pipe("/cut.nc3z", data)
    with fs.open("/cut.nc3z", "rb") as file:
        nc3z.open(file).load()


LOCAL = [lambda data, _: nc3z.open(data), lambda data, _: nc3z.open(io.BytesIO(data)), by_path, by_xarray, by_fsspec,
         lambda data, folder: nc3z.restore(by_name(data, folder), folder / "out.nc", force=True)]


def by_name(data, folder):
    path = folder / "cut.nc3z"
    path.write_bytes(data)
    return path


def lengths(ends, total, rng, count):
    """Of the last generations, some of them where something ends."""
    first = ends[max(0, len(ends) - 4)]
    near = [at for end in ends[-4:] for at in (end - 128, end - 1, end, end + 1)]
    return [n for n in near if first <= n < total][:count // 2] + [rng.randrange(first, total) for _ in range(count // 2)]


def histories(folder, seed):
    left, rng = CUTS, random.Random(seed)
    while left > 0:
        data, ends = history(folder, rng)
        cuts = lengths(ends, len(data), rng, min(EACH, left))
        left -= len(cuts)
        yield data, ends, cuts


def test_no_way_to_open_one_shows_an_older_version(tmp_path):
    tried = 0
    for data, _, cuts in histories(tmp_path, 1):
        for n, length in enumerate(cuts):
            # By day every cut is opened in one way, by turns.
            ways = LOCAL if CUTS > 1000 and n % 8 == 0 else [LOCAL[n % len(LOCAL)]]
            for way in ways:
                with pytest.raises(nc3z.Error, match="missing"):
                    way(data[:length], tmp_path)
                tried += 1
    print(f"{tried} cuts opened by Python")


def test_no_url_shows_an_older_version(tmp_path):
    tried = 0
    for data, _, cuts in histories(tmp_path, 2):
        # Few at a time: each is a copy.
        for some in (cuts[n : n + SERVED] for n in range(0, len(cuts), SERVED)):
            with serve({f"{length}.nc3z": data[:length] for length in some} | {"whole.nc3z": data}) as server:
                nc3z.open(server.url("whole.nc3z"))
                for length in some:
                    with pytest.raises(nc3z.Error, match="missing"):
                        nc3z.open(server.url(f"{length}.nc3z"))
                    tried += 1
    print(f"{tried} cuts opened by URL")

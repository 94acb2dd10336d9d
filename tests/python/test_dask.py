"""Work by Dask: means over many archives, and a tree archived by workers that are killed half way."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import xarray as xr
from conftest import CLASSIC
from test_collections import TOOL

import nc3z
import nc3z.xarray  # registers the accessor
from nc3z.dask import archive_tree

#: A thousand where the tests may take long.
ARCHIVES = int(os.environ.get("NC3Z_TEST_ARCHIVES", "40"))


@pytest.fixture
def tree(tmp_path):
    """Classic files in folders, one that cannot be archived, and other files."""
    root = tmp_path / "tree"
    for n, name in enumerate(["smooth.nc", "numeric.nc", "record_padding.nc", "etopo120.cdf", "bad_truncated_header.nc"]):
        folder = root / f"{n % 2}" / "deep"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(CLASSIC / name, folder / name)
    (root / "notes.txt").write_text("no file of ours")
    return root


def test_the_mean_over_many_archives_is_numpys(client, tmp_path):
    rng = np.random.default_rng(1)
    values = rng.normal(280, 10, (ARCHIVES, 2, 30, 40)).astype("f4")
    for n, value in enumerate(values):
        ds = xr.Dataset({"t": (("time", "y", "x"), value)}, {"time": [2 * n, 2 * n + 1]})
        ds.nc3z.to_archive(tmp_path / f"{n:04}.nc3z", preset="fast")
    paths = sorted(tmp_path.glob("*.nc3z"))
    with xr.open_mfdataset(paths, combine="nested", concat_dim="time", chunks={}, data_vars="all") as ds:
        found = ds.t.mean(("y", "x"), dtype="f8").compute()
    np.testing.assert_allclose(found, values.mean((2, 3), dtype="f8").ravel(), rtol=1e-12)


@pytest.mark.parametrize("by", ["client", "scheduler"])
def test_a_tree(by, client, tree, tmp_path):
    told = []
    options = {"client": client} if by == "client" else {}
    done = archive_tree(tree, tmp_path / "out", batch_size=2, on_result=told.append, preset="fast", **options)
    assert len(done.archived) == 4 and len(told) == 5
    ((path, words),) = done.failed.items()
    assert path.endswith("bad_truncated_header.nc") and "CorruptError" in words
    for result in done.archived:
        assert nc3z.verify(result.path) and not result.skipped
    assert done.stored_nbytes < done.original_nbytes
    again = archive_tree(tree, tmp_path / "out", **options)
    assert all(result.skipped for result in again.archived) and len(again.archived) == 4


def test_a_log_is_that_of_the_program(tree, tmp_path):
    """The log of a run accounts for every file, and gives the manifest."""
    log, theirs, out = tmp_path / "log.jsonl", tmp_path / "theirs.jsonl", tmp_path / "out"
    (tree / "latest.nc").symlink_to("0/deep/smooth.nc")
    with open(tree / "stub.nc", "wb") as f:
        f.truncate(1 << 20)
    archive_tree(tree, out, log=log, on_tape="skip", preset="fast")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert lines[0]["planned"] == 8 and lines[-1]["complete"]
    assert lines[-1]["counts"] == {"archived": 4, "failed": 1, "on tape": 1, "passed over": 2}
    (bad,) = (line for line in lines if line.get("state") == "failed")
    assert (bad["code"], bad["retry"]) == ("input.damaged", False)
    if not os.path.exists(TOOL):
        pytest.skip("no program nc3z")
    done = subprocess.run([TOOL, "archive", "-q", "-r", tree, "-o", tmp_path / "theirs", "--log", theirs, "--on-tape", "skip"], check=False)
    assert done.returncode == 1
    keys = lambda path: {line.get("state", line.get("log")): set(line) - {"seconds", "arguments", "parity_bytes", "target"}
                         for line in map(json.loads, path.read_text().splitlines())}
    assert keys(log) == keys(theirs)
    state = lambda path: {line["file"]: line["state"] for line in map(json.loads, path.read_text().splitlines()) if "file" in line}
    assert state(log) == state(theirs)
    done = subprocess.run([TOOL, "hash", "--manifest", out, "--from-log", log], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "bad_truncated_header.nc" in done.stderr
    assert len((out / "SHA256SUMS").read_text().splitlines()) == 4


def test_an_output_directory_that_cannot_be_made_fails_for_its_files_alone(tree, tmp_path):
    out, log = tmp_path / "out", tmp_path / "log.jsonl"
    out.mkdir()
    (out / "1").write_text("no directory")
    done = archive_tree(tree, out, log=log, preset="fast")
    assert {os.path.relpath(r.path, out) for r in done.archived} == {"0/deep/smooth.nc.nc3z", "0/deep/record_padding.nc.nc3z"}
    failed = {os.path.relpath(path, tree): words for path, words in done.failed.items()}
    assert set(failed) == {"1/deep/numeric.nc", "1/deep/etopo120.cdf", "0/deep/bad_truncated_header.nc"}
    assert all("Error" in failed[name] and str(out / "1") in failed[name] for name in failed if name[0] == "1")
    last = json.loads(log.read_text().splitlines()[-1])
    assert last["complete"] and last["counts"] == {"archived": 2, "failed": 3, "passed over": 1}


def test_a_dataset_whose_chunks_other_processes_compute_is_archived(client, tmp_path):
    ds = xr.Dataset({"v": ("x", np.arange(6)), "w": ("x", np.arange(6.0))})
    ds.chunk({"x": 2}).nc3z.to_archive(tmp_path / "a.nc3z", format="NETCDF3_64BIT_DATA")
    xr.testing.assert_equal(xr.open_dataset(tmp_path / "a.nc3z").load(), ds)


def test_a_tree_is_gone_on_with_after_a_kill(tmp_path):
    root, out = tmp_path / "tree", tmp_path / "out"
    root.mkdir()
    for n in range(12):
        shutil.copy(CLASSIC / "coads_climatology.cdf", root / f"{n:02}.nc")
    script = """
        import sys
        from nc3z.dask import archive_tree
        archive_tree(*sys.argv[1:], batch_size=1, preset="max")
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), root, out])
    while not list(out.glob("*.nc3z")) and child.poll() is None:
        time.sleep(0.05)
    child.kill()
    child.wait()
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("*.nc3z")}
    assert 1 <= len(before)
    done = archive_tree(root, out, preset="fast")
    assert not done.failed and len(done.archived) == 12
    assert {r.path for r in done.archived if r.skipped} == {str(out / name) for name in before}
    # Whole archives only, and nothing that the killed run had begun.
    assert sorted(p.name for p in out.glob("*.nc3z")) == [f"{n:02}.nc.nc3z" for n in range(12)]
    assert all(nc3z.verify(r.path) for r in done.archived)


def test_options_that_do_not_exist_are_named(tmp_path):
    with pytest.raises(TypeError, match=r"archive_tree\(\) .*'skip_existing': existing archives .* are always kept"):
        archive_tree(tmp_path, tmp_path / "out", skip_existing=True)

"""Bundles and catalogues of a tree by Dask: they hold all files, are continued after a kill, and are opened as one collection."""

import os
import shutil
import subprocess
import sys
import textwrap
import time

import pytest
import xarray as xr
from test_collections import FILL, TOOL, month, oracle, run, tool, write

import nc3z
from nc3z.dask import bundle_tree, catalog_tree

pytestmark = tool


@pytest.fixture
def tree(tmp_path):
    for n in range(9):
        write(tmp_path / "tree" / str(2001 + n // 3) / f"{n}.nc", month(n), encoding=FILL)
    (tmp_path / "tree" / "notes.txt").write_text("no file of ours")
    return tmp_path / "tree"


def originals(tree):
    return oracle(sorted(tree.rglob("*.nc"))).load()


@pytest.mark.parametrize("by", ["client", "scheduler"])
def test_bundles_with_catalogs(tree, tmp_path, by, request):
    out, told = tmp_path / "out", []
    size = 3 * (tree / "2001" / "0.nc").stat().st_size + 100
    options = {"target_nbytes": size, "program": TOOL, "on_result": told.append}
    if by == "client":
        done = bundle_tree(tree, out, client=request.getfixturevalue("client"), **options)
    else:
        done = bundle_tree(tree, out, **options)
    assert not done.failed and len(done.done) == len(told) == 3 and [b.files for b in done.done] == [3, 3, 3]
    assert sum(b.original_nbytes for b in done.done) == sum(p.stat().st_size for p in tree.rglob("*.nc"))
    # All of them are one collection, by the bundles and by their catalogues; every file comes back.
    wanted = originals(tree)
    xr.testing.assert_identical(nc3z.open_collection([b.path for b in done.done]).dataset.compute(), wanted)
    catalogs = nc3z.open_collection(f"{out}/*.catalog.nc3z", where="tas > 300").dataset
    xr.testing.assert_identical(catalogs.compute(), wanted.where(wanted.tas > 300))
    run("restore", "-r", out / "00001.bundle.nc3z", "-o", tmp_path / "back")
    assert (tmp_path / "back" / "2002" / "4.nc").read_bytes() == (tree / "2002" / "4.nc").read_bytes()
    again = bundle_tree(tree, out, **options)
    assert [b.skipped for b in again.done] == [True] * 3
    # One more file changes its bundle, and no other.
    write(tree / "2003" / "9.nc", month(9), encoding=FILL)
    options["target_nbytes"] += size // 3
    more = bundle_tree(tree, out, **options)
    assert [(b.files, b.skipped) for b in more.done] == [(3, True), (3, True), (4, False)]


def test_catalogs_alone(tree, tmp_path):
    out = tmp_path / "catalogs"
    done = catalog_tree(tree, out, batch_size=4, program=TOOL)
    assert not done.failed and [b.files for b in done.done] == [3, 3, 3] and all(b.path is None for b in done.done)
    found = nc3z.open_collection(f"{out}/*.catalog.nc3z", where="tas < 270").dataset
    wanted = originals(tree)
    xr.testing.assert_identical(found.compute(), wanted.where(wanted.tas < 270))
    assert all(b.skipped for b in catalog_tree(tree, out, batch_size=4, program=TOOL).done)


def test_files_on_tape_and_other_files(tree, tmp_path):
    with open(tree / "tape.nc", "wb") as file:
        file.truncate(10 << 20)
    (tree / "notes.txt").write_text("text")
    os.symlink("2001/0.nc", tree / "latest.nc")
    for make in (bundle_tree, catalog_tree):
        with pytest.raises(OSError, match="tape.nc; on_tape='skip'"):
            make(tree, tmp_path / "out", program=TOOL)
        done = make(tree, tmp_path / make.__name__, on_tape="skip", program=TOOL)
        assert not done.failed and sum(b.files for b in done.done) == 9
        others = {os.path.relpath(path, tree): kind for path, kind in done.passed_over.items()}
        assert others == {"tape.nc": "file on tape", "notes.txt": "other file", "latest.nc": "link inside the tree"}


def test_failures_are_reported_for_each_bundle(tree, tmp_path):
    with pytest.raises(FileNotFoundError, match="search path"):
        bundle_tree(tree, tmp_path / "out", program="no-such-program")
    path = tree / "2002" / "5.nc"
    path.write_bytes(path.read_bytes()[:90])
    done = catalog_tree(tree, tmp_path / "out", batch_size=3, program=TOOL)
    assert [b.files for b in done.done] == [3, 3]
    ((name, words),) = done.failed.items()
    assert name.endswith("00001.catalog.nc3z") and "5.nc" in words
    assert not (tmp_path / "out" / "00001.list").exists()
    path.unlink()
    write(path, month(5), encoding=FILL)
    again = catalog_tree(tree, tmp_path / "out", batch_size=3, program=TOOL)
    assert not again.failed and [b.skipped for b in again.done] == [True, False, True]


def test_a_killed_run_is_continued(tree, tmp_path):
    out = tmp_path / "out"
    for n in range(9, 40):
        write(tree / "2009" / f"{n:02}.nc", month(n), encoding=FILL)
    size = 2 * (tree / "2001" / "0.nc").stat().st_size + 100
    script = f"""
        from nc3z.dask import bundle_tree
        bundle_tree({str(tree)!r}, {str(out)!r}, target_nbytes={size}, program={TOOL!r}, preset="max")
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], start_new_session=True)
    while len(list(out.glob("*.list"))) < 2 and child.poll() is None:
        time.sleep(0.05)
    os.killpg(child.pid, 9)
    child.wait()
    done = bundle_tree(tree, out, target_nbytes=size, program=TOOL, preset="max")
    assert not done.failed and any(b.skipped for b in done.done)
    assert sum(b.files for b in done.done) == 40
    run("verify", "--deep", *(b.path for b in done.done))
    xr.testing.assert_identical(nc3z.open_collection(f"{out}/*.catalog.nc3z").dataset.compute(), originals(tree))
    shutil.rmtree(out)

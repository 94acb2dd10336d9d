"""Whole files: results, progress, and the end of interrupted work."""

import errno
import hashlib
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tarfile
import textwrap
import threading
import time
import warnings
import zipfile

import numpy as np
import pytest
from conftest import CLASSIC, ROOT

import nc3z

COADS = CLASSIC / "coads_climatology.cdf"


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_device_takes_what_is_restored(tmp_path):
    nc3z.archive(CLASSIC / "coads_climatology.cdf", tmp_path / "a.nc3z", preset="fast")
    assert nc3z.restore(tmp_path / "a.nc3z", os.devnull).matches_record
    assert not os.path.isfile(os.devnull)
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError) as caught:
            nc3z.restore(tmp_path / "a.nc3z", "/dev/full")
        assert caught.value.errno == errno.ENOSPC and caught.value.filename == "/dev/full"


def test_there_and_back(tmp_path):
    told = []
    done = nc3z.archive(COADS, tmp_path / "a.nc3z", progress=lambda n, total: told.append((n, total)))
    assert done.sha256 == digest(COADS) and done.verified and not done.skipped
    assert done.original_nbytes == COADS.stat().st_size and done.stored_nbytes == (tmp_path / "a.nc3z").stat().st_size
    assert told and told[-1][0] <= told[-1][1] == done.original_nbytes
    back = nc3z.restore(tmp_path / "a.nc3z", tmp_path / "a.nc")
    assert digest(tmp_path / "a.nc") == done.sha256 == back.sha256 and back.matches_record
    for result in (done, back, nc3z.verify(tmp_path / "a.nc3z"), nc3z.info(tmp_path / "a.nc3z")):
        assert pickle.loads(pickle.dumps(result)) == result
    assert len(pickle.dumps(done)) < 1000


def test_options_shape_the_archive(tmp_path):
    nc3z.archive(COADS, tmp_path / "c.nc3z", layout="chunked", chunks={"TIME": 4}, pad_edges=True, preset="fast")
    assert nc3z.info(tmp_path / "c.nc3z").variables["SST"].tile_shape == (4, 90, 180)
    nc3z.archive(COADS, tmp_path / "z.nc3z", chains={"*": '[{"id":"shuffle"},{"id":"zstd","level":3}]'}, verify=False)
    assert nc3z.verify(tmp_path / "z.nc3z").is_sound
    rounded = nc3z.archive(COADS, tmp_path / "q.nc3z", quantize={"SST": "bitround:5"})
    assert rounded.lossy
    for wrong in ({"preset": "best"}, {"layout": "round"}, {"parity": "much"}, {"quantize": {"SST": "x"}}):
        with pytest.raises(ValueError):
            nc3z.archive(COADS, tmp_path / "w.nc3z", **wrong)
    with pytest.raises(TypeError, match="unknown option"):
        nc3z.archive(COADS, tmp_path / "w.nc3z", level=9)
    assert not (tmp_path / "w.nc3z").exists()


def test_nothing_is_overwritten_unasked(tmp_path):
    path = tmp_path / "a.nc3z"
    nc3z.archive(CLASSIC / "smooth.nc", path)
    with pytest.raises(FileExistsError, match="force=True"):
        nc3z.archive(COADS, path)
    with pytest.raises(FileExistsError):
        nc3z.restore(path, path)
    with pytest.raises(FileExistsError, match="another file"):
        nc3z.archive(COADS, path, skip_existing=True)
    nc3z.archive(COADS, path, force=True)
    assert nc3z.archive(COADS, path, skip_existing=True).skipped
    newer = tmp_path / "newer.cdf"
    shutil.copy(COADS, newer)
    os.utime(newer, ns=(path.stat().st_mtime_ns + 10**9,) * 2)
    with pytest.raises(FileExistsError, match="older"):
        nc3z.archive(newer, path, skip_existing=True)


def test_in_memory():
    data = COADS.read_bytes()
    archive = nc3z.archive_bytes(data)
    assert nc3z.open(archive).read_original(0, len(data)) == data
    assert nc3z.verify(archive)
    with pytest.raises(nc3z.Error):
        nc3z.archive_bytes(b"CDF\x07")


def test_damage_is_reported_with_its_place(archives, tmp_path):
    data = bytearray((archives / "coads_climatology.cdf.nc3z").read_bytes())
    data[len(data) // 2] ^= 1
    path = tmp_path / "bad.nc3z"
    path.write_bytes(data)
    report = nc3z.verify(path)
    assert not report and not report.is_sound
    (finding,) = report.findings
    assert finding.start <= len(data) // 2 < finding.stop and finding.variables
    with pytest.raises(nc3z.CorruptError):
        np.asarray(nc3z.open(path)[finding.variables[0]])
    with pytest.raises(nc3z.CorruptError):
        nc3z.restore(path, tmp_path / "bad.nc")
    assert not (tmp_path / "bad.nc").exists()


def test_a_report_counts_versions_as_they_are_listed(tmp_path):
    """A tag and parity add to an archive, but no version."""
    path = tmp_path / "a.nc3z"
    nc3z.archive(COADS, path, preset="fast")
    for title in ("second", "third"):
        with nc3z.open(path, "r+") as edit:
            edit.attrs["title"] = title
            edit.commit(title)
    nc3z.tag(path, "good")
    nc3z.tag(path, "first", version=1)
    assert nc3z.verify(path).versions == nc3z.verify(path, deep=False).versions == len(nc3z.versions(path)) == 3


def test_bundles_of_others_are_no_damaged_archives(tmp_path):
    """Blocks of the archive are in them, but no superblock and no tail."""
    path, zipped, tarred = (tmp_path / name for name in ("long.nc3z", "set.zip", "set.tar"))
    nc3z.archive(COADS, path, preset="fast")
    assert path.read_bytes()[9] == 0
    with zipfile.ZipFile(zipped, "w") as z:
        z.write(path, path.name)
    with tarfile.open(tarred, "w") as t:
        t.add(path, path.name)
    for name in (zipped, tarred):
        for deep in (True, False):
            with pytest.raises(nc3z.UnsupportedError, match="bundle of 1 file"):
                nc3z.verify(name, deep=deep)
        with pytest.raises(nc3z.UnsupportedError, match="bundle of 1 file"):
            nc3z.verify(name.read_bytes())


def test_a_deep_check_without_the_plugin_is_incomplete(tmp_path):
    """Archives are made by the tool here: the package loads no plug-ins."""
    source = tmp_path / "lib.c"
    source.write_text(
        "#include <stddef.h>\n"
        "static size_t f(unsigned a, size_t n, const unsigned *c, size_t len, size_t *s, void **b)"
        "{ unsigned char *x = *b; for (size_t i = 0; i < len; i++) x[i] ^= 85; return len; }\n"
        "static const struct { int v, id; unsigned e, d; const char *n; void *c, *l; void *f; } k = {1, 40001, 1, 1, \"t\", 0, 0, (void *)f};\n"
        "int H5PLget_plugin_type(void) { return 0; }\nconst void *H5PLget_plugin_info(void) { return &k; }\n")
    tool, compiler = os.environ.get("NC3Z", str(ROOT / "target/debug/nc3z")), shutil.which("cc")
    if compiler is None or not os.path.exists(tool):
        pytest.skip("NOT TESTED: the tool or a C compiler is missing")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", tmp_path / "lib.so", source], check=True)
    path = tmp_path / "a.nc3z"
    chain = 'SST=[{"id":"zlib","level":1},{"id":"hdf5","filter":40001,"cd_values":[]}]'
    subprocess.run([tool, "archive", COADS, "-o", path, "--chain", chain, "--plugin-path", tmp_path], check=True)
    report = nc3z.verify(path)
    assert [name for name, *_ in report.not_decoded] == ["SST"]
    assert not report and not report.is_sound and not report.is_complete and report.findings == ()
    assert "40001" in report.not_decoded[0][2] and report.sha256 is None
    assert nc3z.verify(path, deep=False).is_sound


def test_many_and_again(tmp_path):
    names = ["coads_climatology.cdf", "etopo120.cdf", "bad_version.nc", "smooth.nc"]
    sources = [CLASSIC / name for name in names] + [tmp_path / "nothing.nc"]
    seen = []
    results = nc3z.archive_many(sources, tmp_path / "out", on_result=seen.append, preset="fast")
    assert [type(r).__name__ for r in results] == ["Archived", "Archived", "UnsupportedError", "Archived", "FileNotFoundError"]
    assert sorted(map(id, seen)) == sorted(map(id, results))
    again = nc3z.archive_many(sources[:2], tmp_path / "out", skip_existing=True)
    assert [r.skipped for r in again] == [True, True]
    pairs = nc3z.archive_many([(COADS, tmp_path / "x.nc3z")])
    assert pairs[0].path == str(tmp_path / "x.nc3z")

    def stop(result):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        nc3z.archive_many(sources, tmp_path / "out2", on_result=stop)


def test_two_sources_that_would_become_one_archive_are_refused(tmp_path):
    sources = [tmp_path / folder / "s.nc" for folder in ("a", "b")]
    for path, original in zip(sources, (COADS, CLASSIC / "smooth.nc")):
        path.parent.mkdir()
        shutil.copy(original, path)
    one = tmp_path / "out" / "s.nc.nc3z"
    for jobs in (sources, [(sources[0], one), (sources[1], f"{tmp_path}/out/./s.nc.nc3z")]):
        with pytest.raises(ValueError, match="a/s.nc` and `.*b/s.nc` would both become `.*s.nc.nc3z`; nothing was done"):
            nc3z.archive_many(jobs, tmp_path / "out", force=True)
        assert not (tmp_path / "out").exists()


def test_estimates():
    guess = nc3z.estimate(COADS, ["fast", "default"])
    assert [p.preset for p in guess.presets] == ["fast", "default"]
    assert guess.presets[1].stored_nbytes < guess.original_nbytes and "gzip -6" in guess.peers
    assert len(guess.variables["SST"][1]) == 2
    assert pickle.loads(pickle.dumps(guess)) == guess


def test_an_estimate_by_one_preset():
    assert [p.preset for p in nc3z.estimate(COADS, "fast").presets] == ["fast"]


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    """A file that takes seconds to archive."""
    from scipy.io import netcdf_file

    path = tmp_path_factory.mktemp("noisy") / "noisy.nc"
    rng = np.random.default_rng(1)
    with netcdf_file(path, "w", version=2) as file:
        file.createDimension("x", 40_000_000)
        file.createVariable("a", "f4", ("x",))[:] = rng.standard_normal(40_000_000, dtype="f4")
    return path


def test_work_ends_when_it_is_told_to(noisy, tmp_path):
    cancel = nc3z.Cancel()
    threading.Timer(0.3, cancel.set).start()
    begin = time.monotonic()
    with pytest.raises(nc3z.Cancelled):
        nc3z.archive(noisy, tmp_path / "a.nc3z", preset="max", cancel=cancel)
    assert cancel.is_set() and time.monotonic() - begin < 20

    def raises(done, total):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        nc3z.archive(noisy, tmp_path / "a.nc3z", preset="max", progress=raises)
    (dropped,) = nc3z.archive_many([noisy], tmp_path, cancel=cancel)
    assert isinstance(dropped, nc3z.Cancelled) and "not begun" in str(dropped)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("call", ["archive(path, out, preset='max')", "archive_many([(path, out)], preset='max')"])
def test_control_c_ends_the_work_and_leaves_nothing(noisy, tmp_path, call):
    script = f"""
        import nc3z, signal, sys
        # A shell that runs the tests in the background may ignore it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        path, out = sys.argv[1:]
        print("begun", flush=True)
        try:
            nc3z.{call}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    out = tmp_path / "a.nc3z"
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), str(noisy), str(out)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "begun\n"
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    begin = time.monotonic()
    words, _ = child.communicate(timeout=60)
    assert words == "interrupted\n" and time.monotonic() - begin < 20
    assert os.listdir(tmp_path) == []


def test_the_main_thread_goes_on_while_another_archives(noisy, tmp_path):
    cancel = nc3z.Cancel()
    failed = []

    def work():
        try:
            nc3z.archive(noisy, tmp_path / "a.nc3z", preset="max", cancel=cancel)
        except nc3z.Cancelled as e:
            failed.append(e)

    thread = threading.Thread(target=work)
    thread.start()
    turns, end = 0, time.monotonic() + 0.5
    while time.monotonic() < end:
        turns += 1
    cancel.set()
    thread.join()
    assert turns > 1000 and failed


@pytest.mark.parametrize("lend", [bytes, bytearray, memoryview, lambda data: memoryview(bytearray(data))])
def test_a_file_in_memory_becomes_the_same_archive(lend, tmp_path):
    data = (CLASSIC / "coads_climatology.cdf").read_bytes()
    told = []
    done = nc3z.archive(lend(data), tmp_path / "a.nc3z", progress=lambda *now: told.append(now))
    assert done.source == "<memory>" and done.verified and told[-1] == (len(data), len(data))
    nc3z.archive(CLASSIC / "coads_climatology.cdf", tmp_path / "b.nc3z")
    assert (tmp_path / "a.nc3z").read_bytes() == (tmp_path / "b.nc3z").read_bytes()
    with pytest.raises(FileExistsError):
        nc3z.archive(lend(data), tmp_path / "a.nc3z")
    for wrong in ({}, {"path": tmp_path / "a.nc3z", "skip_existing": True}):
        with pytest.raises(TypeError):
            nc3z.archive(lend(data), **wrong)
    with pytest.raises(nc3z.CorruptError):
        nc3z.archive(lend(b"CDF\x01"), tmp_path / "c.nc3z")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.nc3z", "b.nc3z"]


def test_an_archive_with_parity_is_read_through_damage(tmp_path):
    """One warning for each archive; values, restored file and xarray as from the original; the file is not changed."""
    source, path = CLASSIC / "coads_climatology.cdf", tmp_path / "a.nc3z"
    nc3z.archive(source, path, parity="5%")
    data = path.read_bytes()
    begin = len(data) // 3
    bad = data[:begin] + bytes(8192) + data[begin + 8192:]
    path.write_bytes(bad)
    with nc3z.open(source) as plain, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with nc3z.open(path) as damaged:
            for name in plain:
                assert np.array_equal(np.asarray(damaged[name][...]), np.asarray(plain[name][...])), name
    told = [str(w.message) for w in caught if "computed from its parity" in str(w.message)]
    assert len(told) == 1 and "nc3z repair" in told[0], told
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nc3z.restore(path, tmp_path / "back.nc")
    assert (tmp_path / "back.nc").read_bytes() == source.read_bytes() and len(caught) == 1
    assert path.read_bytes() == bad and not nc3z.verify(path).is_sound


def test_the_cost_of_a_read_is_known_without_reading(tmp_path):
    path = tmp_path / "c.nc3z"
    nc3z.archive(COADS, path, preset="fast")
    with nc3z.open(path) as ds, nc3z.open(COADS) as classic:
        one, whole = ds.explain("SST", 0), ds.explain("SST", all=True)
        assert one["variable"] == "SST" and one["hyperslabs"][0]["count"] == [1, 90, 180]
        assert one["bytes_wanted"] * 12 == whole["bytes_wanted"] and one["tiles"]["touched"] <= whole["tiles"]["touched"]
        assert one["shape"] == whole["shape"] == classic.explain("SST", (0, slice(3)))["shape"] == [12, 90, 180]
        with pytest.raises((KeyError, ValueError)):
            ds.explain("SSX")

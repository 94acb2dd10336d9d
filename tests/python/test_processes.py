"""Forked children have no threads, and may have locks that no thread will release: reading works there nevertheless."""

import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import nc3z

#: Seconds after which a child that hangs is a failure.
LIMIT = 60


def total(variable):
    return float(np.asarray(variable).sum(dtype="f8"))


def read_by_path(path):
    with nc3z.open(path) as ds:
        return total(ds["field"])


def archive_in_child(job):
    source, target = job
    return nc3z.archive(source, target, preset="fast").sha256


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_pools_of_processes_read_and_archive(method, big, tmp_path):
    ds = nc3z.open(big)
    expected = total(ds["field"])  # starts the threads of this process
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        assert pool.map_async(read_by_path, [big] * 4).get(LIMIT) == [expected] * 4
        assert pool.map_async(total, [ds["field"]] * 2).get(LIMIT) == [expected] * 2
        jobs = [(big.with_name("big.nc"), tmp_path / f"{n}.nc3z") for n in range(2)]
        assert len(set(pool.map_async(archive_in_child, jobs).get(LIMIT))) == 1
    assert total(ds["field"]) == expected


def in_fork(work):
    """Returns the result of `work` in a forked child, with a time limit."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(send, repr(work()).encode())
        finally:
            os._exit(0)
    os.close(send)
    timer = threading.Timer(LIMIT, os.kill, (child, 9))
    timer.start()
    with os.fdopen(receive) as pipe:
        words = pipe.read()
    timer.cancel()
    os.waitpid(child, 0)
    return words


def test_a_forked_child_reads_what_its_parent_opened(big):
    ds = nc3z.open(big)
    field = ds["field"]
    expected = total(field)
    assert in_fork(lambda: total(field)) == repr(expected)
    # A child of the child, too.
    assert in_fork(lambda: in_fork(lambda: total(field))) == repr(repr(expected))
    assert in_fork(lambda: (ds.close(), ds.closed)[1]) == "True"
    assert not ds.closed and total(field) == expected


def test_forks_while_other_threads_read(big):
    ds = nc3z.open(big)
    field = ds["field"]
    expected = total(field)
    stop = threading.Event()

    def read():
        rng = np.random.default_rng(threading.get_ident())
        while not stop.is_set():
            np.asarray(field[rng.integers(48), :, ::5])
            np.asarray(field)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            assert in_fork(lambda: total(field)) == repr(expected)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_import_loads_nothing_heavy():
    script = """
        import sys
        import nc3z
        assert "numpy" not in sys.modules and "nc3z._nc3z" not in sys.modules
        assert "archive_many" in dir(nc3z)
        nc3z.open
        assert "nc3z._nc3z" in sys.modules
        for name in nc3z.__all__:
            getattr(nc3z, name)
        try:
            nc3z.nothing
        except AttributeError:
            print("done")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


class Interrupted:
    """A binary file object whose reads are interrupted after the number `after`."""

    def __init__(self, path, after):
        self.file, self.left = open(path, "rb"), after

    def seek(self, *args):
        return self.file.seek(*args)

    def tell(self):
        return self.file.tell()

    def read(self, *args):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return self.file.read(*args)

    def readable(self):
        return True

    def seekable(self):
        return True


@pytest.mark.parametrize("after", [0, 1])
def test_an_interrupt_inside_a_read_is_one_outside(after, big):
    with pytest.raises(KeyboardInterrupt):
        nc3z.open(Interrupted(big, after))["field"][...]


def test_an_archive_committed_beyond_its_last_whole_trailer_is_corrupt(tmp_path, big):
    """The last trailer is damaged: no RuntimeError, one of the package's own classes."""
    archive = tmp_path / "a.nc3z"
    archive.write_bytes(big.read_bytes())
    with nc3z.open(archive, "r+") as edit:
        edit.attrs["title"] = "mended"
        edit.commit()
    damaged = bytearray(archive.read_bytes())
    damaged[-100] ^= 1
    archive.write_bytes(damaged)
    with pytest.raises(nc3z.Error):
        nc3z.open(archive)

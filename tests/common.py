"""Shared by the tests: the program, input files, temporary directories, and visible skips."""

import contextlib
import hashlib
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NC3Z = str(Path(os.environ.get("NC3Z") or ROOT / "target/debug/nc3z").resolve())
CLASSIC = ROOT / "testdata/classic"
FERRET = Path("/usr/share/ferret-vis/data")
TIMEOUT = 180
# At night, tests run all cases at full size. The tests that decide whether a change lands run smaller or fewer cases.
# Versions have neither author nor date, unless a test asks for them.
os.environ.setdefault("NC3Z_AUTHOR", "")
os.environ.setdefault("NC3Z_DATE", "")
NIGHT = bool(os.environ.get("NC3Z_NIGHT"))
# Two of the ferret data sets, of 10 and 11 MB, are for the night.
FERRET_MAX = (12 if NIGHT else 8) << 20


def good_files():
    """Classic files that must come back exactly: testdata, then the ferret data sets that are not in it."""
    files = [p for p in sorted(CLASSIC.glob("*")) if p.suffix in (".nc", ".cdf") and not p.name.startswith("bad_")]
    return files + ferret_files({p.name for p in files})


def ferret_files(but=()):
    found = sorted(FERRET.glob("*")) if FERRET.is_dir() else []
    return [p for p in found if p.name not in but and p.suffix in (".nc", ".cdf") and p.stat().st_size <= FERRET_MAX]


def bad_files():
    return sorted(CLASSIC.glob("bad_*.nc"))


def damaged(archive):
    """Writes a copy of an archive with one damaged byte in its middle, beside it."""
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 0xFF
    bad = archive.with_name(f"bad-{archive.name}")
    bad.write_bytes(content)
    return bad


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _digest(f)


def _digest(f):
    h = hashlib.sha256()
    while chunk := f.read(1 << 20):
        h.update(chunk)
    return h.hexdigest()


def without_slots(data):
    """An archive's bytes with empty commit slots: the rest never changes, and its beginning is that of an archive without the later generations."""
    return bytes(data[:112]) + bytes(48) + bytes(data[160:])


#: Tables have room for all columns: in pipes, they fit 80 characters otherwise.
os.environ["COLUMNS"] = "400"


def nc3z(*args, **options):
    """Runs nc3z to its end. Standard output and error are bytes and text."""
    options.setdefault("timeout", TIMEOUT)
    options.setdefault("stdin", subprocess.DEVNULL) if "input" not in options else None
    done = subprocess.run([NC3Z, *map(str, args)], stdout=options.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE,
                          check=False, **options)
    done.stderr = done.stderr.decode("utf-8", "replace")
    return done


def start(*args, **options):
    """Starts nc3z and does not wait."""
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.DEVNULL)
    return subprocess.Popen([NC3Z, *map(str, args)], stderr=subprocess.PIPE, **options)


def peak_memory(pid):
    """Largest resident set of a running process so far, in bytes; 0 once it is gone. (The value of wait4 includes this process, too.)"""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            return next((int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


def finish(process, timeout=TIMEOUT):
    """Waits for a started process; gives exit code and standard error."""
    try:
        _, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, err.decode("utf-8", "replace")


class Moments:
    """SIGKILL at random moments of runs of about so many seconds. A run that ended before its moment tells how long runs take
    now, so a machine that was busy when the first was timed is not a reason to kill too late."""

    def __init__(self, seed, seconds):
        self.pick = random.Random(seed)
        self.seconds = seconds

    def kill(self, process):
        """Gives the exit code; -SIGKILL if it came in time."""
        begin = time.monotonic()
        try:
            process.wait(self.pick.uniform(0, 1.1) * self.seconds)
            self.seconds = min(self.seconds, time.monotonic() - begin)
        except subprocess.TimeoutExpired:
            process.kill()
        return finish(process)[0]


def missing(test, why):
    """Skips, loudly; with CI=true that is a failure."""
    if os.environ.get("CI") == "true":
        test.fail(f"CI=true, and {why}")
    print(f"\n*** NOT TESTED: {test.id()}: {why}", file=sys.stderr, flush=True)
    test.skipTest(why)


def need_program(test, name):
    path = shutil.which(name)
    if path is None:
        missing(test, f"{name} is not installed")
    return path


def kills(usual):
    """The number of times that a command is killed at a random moment: NC3Z_KILLS, or the number usual for it."""
    return int(os.environ.get("NC3Z_KILLS", usual))


def tell_kills(command, killed, runs, more=""):
    """Says how many of the runs were killed before they had ended."""
    print(f"\n{command}: killed {killed} of {runs}{more}", file=sys.stderr, flush=True)


class Case(unittest.TestCase):
    """A test with a directory of its own."""

    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        if not os.access(NC3Z, os.X_OK):
            raise RuntimeError(f"no program at {NC3Z}: build it, or set NC3Z")

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="nc3z-test-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def names(self, directory=None):
        return sorted(os.listdir(directory or self.dir))

    def ok(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def fails(self, done, code=1, words=None):
        """Checks the exit code and the message, which matches `words` (a regular expression, any case) and reports no panic."""
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn("nc3z: ", done.stderr)
        self.assertNotIn("panicked", done.stderr)
        if words:
            self.assertRegex(done.stderr, f"(?i){words}")
        return done

    def need(self, files, what):
        if not files:
            missing(self, f"{what} are not there")
        return files


def header(variables, dims, version=1, numrecs=0):
    """Header of a classic file; variables are (name, dimension numbers, type, size in bytes), laid out one after another."""
    def name(text):
        raw = text.encode()
        return struct.pack(">I", len(raw)) + raw + b"\0" * (-len(raw) % 4)

    def build(begins):
        out = b"CDF" + bytes([version]) + struct.pack(">I", numrecs)
        out += struct.pack(">II", 10, len(dims)) + b"".join(name(n) + struct.pack(">I", size) for n, size in dims)
        out += struct.pack(">II", 0, 0) + struct.pack(">II", 11, len(variables))
        for (n, ids, kind, size), begin in zip(variables, begins):
            out += name(n) + struct.pack(f">I{len(ids)}I", len(ids), *ids) + struct.pack(">II", 0, 0)
            out += struct.pack(">IIi" if version == 1 else ">IIq", kind, size, begin)
        return out

    begin = len(build([0] * len(variables)))
    begins = []
    for v in variables:
        begins.append(begin)
        begin += v[3]
    return build(begins)


def synthetic(path, mib=20, seed=1):
    """A classic file of about this size: a smooth field with noise, so that there is work to do."""
    import numpy as np

    rng = np.random.default_rng(seed)
    columns = 16384
    half = mib << 19
    rows = half // (4 * columns)
    x = np.linspace(0, 20, columns)
    y = np.linspace(0, 7, rows)[:, None]
    with open(path, "wb") as f:
        f.write(header([("smooth", (0, 1), 5, half), ("counts", (0, 1), 4, half)], [("y", rows), ("x", columns)]))
        smooth = 280 + 20 * np.sin(x) * np.cos(y) + rng.normal(0, 0.05, (rows, columns))
        f.write(smooth.astype(">f4").tobytes())
        f.write(rng.poisson(1000 + 50 * smooth).astype(">i4").tobytes())
    return path


def mostly_zero(path, mib=50):
    """A classic file of one byte variable, all zeros but a few at the beginning, in the middle and at the end."""
    size = mib << 20
    with open(path, "wb") as f:
        f.write(header([("v", (0,), 1, size)], [("n", size)]))
        begin = f.tell()
        for at in (0, size // 2, size - 8):
            f.seek(begin + at)
            f.write(b"\x01\x02\x03\x04")
        f.truncate(begin + size)
    return path


@contextlib.contextmanager
def tmpfs(test, size, read_only_with=None):
    """A small file system of its own; with `read_only_with` files are copied in and it is then read-only."""
    if os.geteuid() != 0:
        missing(test, "mounting needs root")
    need_program(test, "mount")
    point = Path(tempfile.mkdtemp(prefix="nc3z-mount-"))
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(point)], capture_output=True, check=False)
    if mounted.returncode != 0:
        point.rmdir()
        missing(test, f"mount refuses: {mounted.stderr.decode().strip()}")
    try:
        if read_only_with is not None:
            for file in read_only_with:
                shutil.copy2(file, point)
            subprocess.run(["mount", "-o", "remount,ro", str(point)], check=True)
        yield point
    finally:
        if subprocess.run(["umount", str(point)], capture_output=True, check=False).returncode != 0:
            subprocess.run(["umount", "-l", str(point)], check=False)
        point.rmdir()


def wait_for(condition, seconds=20.0):
    """Waits until the condition holds; returns True if it does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.001)
    return False


def interrupt(process):
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)

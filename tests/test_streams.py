"""Standard output and standard error that are closed or full: output may end, the verdict and the exit code stay. And exit codes: each
one that the help names, from the command line and from signals."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from common import NC3Z, Case, finish, missing, mostly_zero, nc3z, sha256, start, synthetic, wait_for

FULL = Path("/dev/full")


def setUpModule():
    global SHARED, GOOD, BAD, FILLED, PLAIN
    SHARED = Path(tempfile.mkdtemp(prefix="nc3z-test-"))
    unittest.addModuleCleanup(shutil.rmtree, SHARED, ignore_errors=True)
    PLAIN = synthetic(SHARED / "x.nc", 2)
    GOOD, BAD, FILLED = SHARED / "good.nc3z", SHARED / "bad.nc3z", SHARED / "lost.nc3z"
    subprocess.run([NC3Z, "archive", "--tile-size", "64KiB", PLAIN, "-o", GOOD], check=True, capture_output=True)
    raw = bytearray(GOOD.read_bytes())
    raw[len(raw) // 2] ^= 1
    BAD.write_bytes(raw)
    shutil.copy(BAD, FILLED)


def closed(*args, stdin=subprocess.DEVNULL, both=False, cwd=None):
    """Runs nc3z with its output in a pipe without a reader (`both`: its messages too); exit code and messages."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run([NC3Z, *map(str, args)], stdin=stdin, stdout=write, stderr=write if both else subprocess.PIPE, timeout=120,
                              check=False, cwd=cwd)
    finally:
        os.close(write)
    return done.returncode, (done.stderr or b"").decode("utf-8", "replace")


class ClosedOutput(Case):
    def verdict(self, expected, *args):
        for both in (False, True):
            with self.subTest(args=[str(a) for a in args], both=both):
                code, err = closed(*args, both=both)
                self.assertEqual(code, expected, err)
                self.assertNotIn("panicked", err)

    def test_verify(self):
        for extra in ((), ("--json",), ("--deep",), ("--threads", 1)):
            self.verdict(3, "verify", *extra, BAD)
            self.verdict(3, "verify", *extra, GOOD, BAD)
            self.verdict(0, "verify", *extra, GOOD)
        self.verdict(1, "verify", self.dir / "none.nc3z")

    def test_verify_goes_on(self):
        """A `grep -q` that has seen enough does not keep the other archives from being checked."""
        archives = [Path(shutil.copy(GOOD, self.dir / f"{i}.nc3z")) for i in range(40)] + [BAD]
        command = '"$NC3Z" verify "$@" | grep -q sound'
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command, "-", *archives], env=dict(os.environ, NC3Z=NC3Z), capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_lists_of_digests(self):
        self.ok(nc3z("archive", PLAIN, "-o", self.dir / "a.nc3z"))
        (self.dir / "list").write_bytes(self.ok(nc3z("hash", "a.nc3z", cwd=self.dir)).stdout)
        right = (self.dir / "list").read_text()
        (self.dir / "wrong").write_text(right.replace(right.split(" = ")[-1][:8], "0" * 8) if " = " in right else "0" * 8 + right[8:])
        os.chdir(self.dir)
        self.addCleanup(os.chdir, SHARED.parent)
        for extra in ((), ("--json",), ("--quiet",)):
            self.verdict(0, "hash", "--check", *extra, "list")
            self.verdict(1, "hash", "--check", *extra, "wrong")
        self.verdict(1, "hash", self.dir / "none", GOOD)

    def test_manifest(self):
        shutil.copy(PLAIN, self.dir / "x.nc")
        self.ok(nc3z("archive", "-r", "--manifest", "sha256", self.dir))
        self.verdict(0, "verify", "--no-fixity-log", "--manifest", self.dir)
        with open(self.dir / "x.nc.nc3z", "ab") as f:
            f.write(b"more")
        for extra in ((), ("--json",)):
            self.verdict(3, "verify", "--no-fixity-log", *extra, "--manifest", self.dir)

    def test_restore_with_fill_values(self):
        self.verdict(3, "restore", "--fill-lost", FILLED, "-o", "-")
        self.verdict(3, "restore", "--fill-lost", GOOD, FILLED, "-o", "-")
        self.verdict(0, "restore", GOOD, "-o", "-")

    def test_repair(self):
        for extra in ((), ("--json",)):
            self.verdict(3, "repair", "--force", *extra, BAD, "-o", self.dir / "repaired.nc3z")
            self.verdict(0, "repair", "--force", *extra, GOOD, "-o", self.dir / "repaired.nc3z")

    def test_parity_of_several(self):
        a, b = (Path(shutil.copy(GOOD, self.dir / f"{n}.nc3z")) for n in "ab")
        b.write_bytes(b"no archive")
        self.verdict(nc3z("parity", "info", b, a).returncode, "parity", "info", b, a)
        code, err = closed("parity", "add", "--share", "5%", a)
        self.assertEqual(code, 0, err)
        self.assertTrue(json.loads(self.ok(nc3z("parity", "info", "--json", a)).stdout)[0]["parity"])

    def test_results_that_nobody_wants(self):
        """A command that only prints ends without a message."""
        for args in (("info", GOOD), ("info", "--layout", GOOD), ("info", "--layout", "--json", GOOD), ("read", GOOD, "smooth"), ("dump", GOOD), ("hash", GOOD),
                     ("read", "--explain", GOOD, "smooth"), ("archive", PLAIN, "-o", "-"), ("--help",), ("--version",)):
            with self.subTest(args=[str(a) for a in args]):
                self.assertEqual(closed(*args), (0, ""))
        for args in (("info", self.dir / "none"), ("read", GOOD, "nothing"), ("dump", self.dir / "none")):
            self.verdict(1, *args)


class Outputs(Case):
    def full(self, *args, stdin=subprocess.DEVNULL):
        with open(FULL, "wb") as full:
            done = subprocess.run([NC3Z, *map(str, args)], stdin=stdin, stdout=full, stderr=subprocess.PIPE, check=False, timeout=120)
        return done.returncode, done.stderr.decode()

    @unittest.skipUnless(FULL.exists(), "no /dev/full")
    def test_a_full_output_is_no_failure_of_the_input(self):
        for args in (("read", GOOD, "smooth"), ("dump", GOOD), ("info", GOOD), ("list", GOOD), ("restore", GOOD, "-o", "-"), ("archive", PLAIN, "-o", "-"),
                     ("verify", GOOD), ("hash", GOOD)):
            with self.subTest(args=[str(a) for a in args]):
                code, err = self.full(*args)
                self.assertNotEqual(code, 0)
                self.assertIn("write to standard output: No space left on device", err)
                self.assertNotIn(GOOD.name, err)
                self.assertNotIn("input", err)

    def test_devices_that_take_a_stream_are_written_to(self):
        self.ok(nc3z("restore", GOOD, "-o", "/dev/null"))
        self.assertFalse(Path("/dev/null").is_file())
        done = self.ok(nc3z("restore", "-q", GOOD, "-o", "/dev/stdout"))
        self.assertEqual(done.stdout, self.ok(nc3z("restore", GOOD, "-o", "-")).stdout)
        if FULL.exists():
            done = self.fails(nc3z("restore", GOOD, "-o", FULL), 1, f"write to `{FULL}`: No space left")
            self.assertNotIn("input", done.stderr)
        # A command that makes a file does not suggest an option that does not help.
        done = self.fails(nc3z("archive", PLAIN, "-o", "/dev/null"), 1, "there is a device of that name")
        self.assertNotIn("--force", done.stderr)

    def test_a_restored_stream_has_the_mode_of_any_new_file(self):
        out = self.dir / "x.nc"
        command = 'umask 027; "$0" restore -q - -o "$1" < "$2"'
        subprocess.run(["sh", "-c", command, NC3Z, out, GOOD], check=True)
        self.assertEqual(out.stat().st_mode & 0o777, 0o640)


class BadStandardError(Case):
    def runs(self, *args, cwd=None):
        """The exit codes with messages that cannot be written: no reader, no space, no standard error at all."""
        read, write = os.pipe()
        os.close(read)
        codes = [subprocess.run([NC3Z, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=write, cwd=cwd, check=False,
                                timeout=120).returncode]
        os.close(write)
        if FULL.exists():
            with open(FULL, "wb") as full:
                codes.append(subprocess.run([NC3Z, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=full, cwd=cwd,
                                            check=False, timeout=120).returncode)
        shell = ["sh", "-c", '"$@" 2>&-', "sh", NC3Z, *map(str, args)]
        codes.append(subprocess.run(shell, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=cwd, check=False, timeout=120).returncode)
        return codes

    def tree(self):
        (self.dir / "in").mkdir()
        for i in range(12):
            mostly_zero(self.dir / f"in/{i}.nc", 1)
        (self.dir / "in/bad.nc").write_bytes(b"CDF\x01" + b"\xff" * 60)

    def test_tree(self):
        self.tree()
        for n, code in enumerate(self.runs("archive", "-r", "--force", "in", "-o", "out", cwd=self.dir)):
            self.assertEqual((n, code), (n, 1))
        self.assertEqual(len(list((self.dir / "out").glob("*.nc3z"))), 12)
        self.assertEqual(set(self.runs("restore", "-r", "--force", "out", "-o", "back", cwd=self.dir)), {0})
        self.assertEqual(set(self.runs("recompress", "-r", "--preset", "fast", "out", cwd=self.dir)), {0})

    def test_pipe_that_takes_two_lines(self):
        self.tree()
        command = '"$NC3Z" archive -r in -o out 2>&1 | head -2'
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], env=dict(os.environ, NC3Z=NC3Z), cwd=self.dir, capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(len(list((self.dir / "out").glob("*.nc3z"))), 12)

    def test_each_command(self):
        cases = ((0, "verify", GOOD), (3, "verify", BAD), (1, "verify", self.dir / "none"), (3, "restore", "--fill-lost", FILLED, "-o", "-"),
                 (3, "repair", "--force", BAD, "-o", self.dir / "r.nc3z"), (1, "info", "none"), (2, "info"), (2, "no-such-command"),
                 (0, "subset", "--force", PLAIN, "-v", "smooth", "-d", "y,0", "-o", self.dir / "s.nc"), (1, "hash", "none"), (0, "--help"))
        for code, *args in cases:
            with self.subTest(args=[str(a) for a in args]):
                self.assertEqual(set(self.runs(*args)), {code})


class Campaigns(Case):
    """plan, status, retire and reconcile do their work also where nobody takes their output, and end by a signal with 130."""

    def setUp(self):
        super().setUp()
        for n in range(6):
            path = self.dir / f"data/{n % 2}/{n}.nc"
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PLAIN, path)
        self.ok(nc3z("plan", "data", "-o", "camp", cwd=self.dir))
        self.ok(nc3z("archive", "-q", "--unit", "camp/units/00001.list", "-o", "out", cwd=self.dir))
        rows = "".join(f"{n % 2}/{n}.nc\n" for n in range(6))
        (self.dir / "cat.csv").write_text(f"path\n{rows}")
        self.commands = (("plan", "data", "-o", "camp", "--json"), ("status", "camp"), ("status", "camp", "--csv"), ("reconcile", "cat.csv", "out", "--columns", "path"),
                         ("retire", "data", "out", "--trash", "trash"), ("retire", "--undo", "--trash", "trash"))

    def test_closed(self):
        for args in self.commands:
            with self.subTest(args=args):
                self.assertEqual(closed(*args, cwd=self.dir)[0], 0)
        self.assertEqual(len(list((self.dir / "data").rglob("*.nc"))), 6)

    @unittest.skipUnless(FULL.exists(), "no /dev/full")
    def test_full(self):
        for args in self.commands:
            with self.subTest(args=args), open(FULL, "wb") as full:
                done = subprocess.run([NC3Z, *args], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, check=False, cwd=self.dir)
                self.assertEqual((done.returncode, b"No space left" in done.stderr), (0, False) if args[0] == "retire" else (1, True), done.stderr)

    def test_messages(self):
        for args in self.commands:
            with self.subTest(args=args):
                self.assertEqual(set(BadStandardError.runs(self, *args, cwd=self.dir)), {0})

    def test_signals(self):
        for args in self.commands:
            for number in (signal.SIGTERM, signal.SIGHUP):
                old = signal.signal(number, signal.SIG_DFL)
                try:
                    process = start(*args, cwd=self.dir)
                    process.send_signal(number)
                    code, err = finish(process, 60)
                    self.assertIn(code, (130, 0, -number), err)
                    files = [*(self.dir / "data").rglob("*.nc"), *(self.dir / "trash").rglob("*.nc")]
                    self.assertEqual(len(files), 6)
                finally:
                    signal.signal(number, old)


class ExitCodes(Case):
    def test_documented(self):
        text = " ".join(self.ok(nc3z("--help")).stdout.decode().split())
        for words in ("0 done", "1 failed", "2 usage", "3 corrupt archive", "130 stopped by a signal"):
            self.assertIn(words, text)

    def test_from_the_command_line(self):
        self.ok(nc3z("verify", GOOD))
        self.fails(nc3z("archive", self.dir / "none.nc"), 1)
        self.assertEqual(nc3z("archive").returncode, 2)
        self.assertEqual(nc3z("verify", BAD).returncode, 3)
        self.fails(nc3z("restore", BAD, "-o", self.dir / "x"), 3)

    def test_signals(self):
        """Each of the three ends a run with 130, and removes unfinished files."""
        big = synthetic(self.dir / "big.nc", 20)
        digest = sha256(big)
        # A shell that starts tests in the background has them ignored.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            old = signal.signal(number, signal.SIG_DFL)
            try:
                with self.subTest(signal=number.name):
                    process = start("archive", "--parents", big, "-o", self.dir / "new/deep/out.nc3z")
                    self.assertTrue(wait_for(lambda: (self.dir / "new/deep").is_dir() and self.names(self.dir / "new/deep")))
                    process.send_signal(number)
                    code, err = finish(process, 60)
                    self.assertEqual(code, 130, err)
                    self.assertIn("interrupted", err)
                    # The directories that it made are gone too.
                    self.assertEqual(self.names(), ["big.nc"])
                    self.assertEqual(sha256(big), digest)
            finally:
                signal.signal(number, old)

    def test_nohup(self):
        """Where the caller ignores SIGHUP, it is ignored."""
        big = synthetic(self.dir / "big.nc", 20)
        old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            process = start("archive", big)
            self.assertTrue(wait_for(lambda: len(self.names()) > 1))
            process.send_signal(signal.SIGHUP)
            self.assertEqual(finish(process)[0], 0)
        finally:
            signal.signal(signal.SIGHUP, old)

    def test_signals_while_it_waits(self):
        """For a pipe on standard input, and for one with a list of digests."""
        os.mkfifo(self.dir / "list")
        for number in (signal.SIGTERM, signal.SIGHUP):
            old = signal.signal(number, signal.SIG_DFL)
            read, write = os.pipe()
            try:
                for args, stdin in ((("archive", "-", "-o", self.dir / "a.nc3z"), read), (("hash", "--check", "-"), read),
                                    (("hash", "--check", self.dir / "list"), subprocess.DEVNULL)):
                    with self.subTest(signal=number.name, args=[str(a) for a in args]):
                        process = start(*args, stdin=stdin)
                        time.sleep(0.5)
                        process.send_signal(number)
                        self.assertEqual(finish(process, 20)[0], 130)
            finally:
                os.close(read)
                os.close(write)
                signal.signal(number, old)


class Special(Case):
    """Named pipes, sockets and devices: never waited for, never replaced."""

    def test_named_pipe_by_name(self):
        pipe = self.dir / "p.nc3z"
        os.mkfifo(pipe)
        commands = [("archive", pipe), ("archive", pipe, "-o", "-"), ("restore", pipe), ("restore", pipe, "-o", "-"), ("restore", "--fill-lost", pipe),
                    ("verify", pipe), ("verify", GOOD, "--against", pipe), ("info", pipe), ("info", "--layout", pipe), ("hash", pipe), ("dump", pipe),
                    ("read", pipe, "v"), ("subset", pipe, "-o", self.dir / "s.nc"), ("recompress", pipe), ("repair", pipe, "-o", self.dir / "r"),
                    ("repair", "--in-place", pipe), ("parity", "add", pipe), ("parity", "remove", pipe), ("parity", "info", pipe),
                    ("estimate", pipe), ("read", "--explain", pipe, "v"), ("verify", "--manifest", pipe)]
        for args in commands:
            with self.subTest(args=[str(a) for a in args]):
                try:
                    done = nc3z(*args, timeout=20)
                except subprocess.TimeoutExpired:
                    self.fail("waits for a writer of the named pipe")
                self.fails(done, 1, "named pipe|not a file|expected a file")
                self.assertEqual(self.names(), ["p.nc3z"])

    def test_named_pipes_in_trees(self):
        tree = self.dir / "tree"
        tree.mkdir()
        mostly_zero(tree / "x.nc", 1)
        os.mkfifo(tree / "p.nc")
        os.mkfifo(tree / "p.nc3z")
        for args in (("archive", "-r", tree), ("verify", "-r", tree), ("hash", "-r", tree), ("recompress", "--preset", "fast", "-r", tree),
                     ("restore", "-r", tree, "-o", self.dir / "back")):
            with self.subTest(args[0]):
                try:
                    done = self.ok(nc3z(*args, timeout=20))
                except subprocess.TimeoutExpired:
                    self.fail("waits for a writer of a named pipe")
                for name in ("p.nc", "p.nc3z"):
                    self.assertIn(f"tree/{name}: a named pipe", done.stderr)
        self.assertEqual(self.names(self.dir / "back"), ["x.nc"])

    def test_devices_are_not_replaced(self):
        device = self.dir / "null"
        try:
            os.mknod(device, 0o600 | 0o020000, os.makedev(1, 3))
        except PermissionError:
            missing(self, "making a device node needs root")
        os.mkfifo(self.dir / "pipe")
        self.ok(nc3z("restore", GOOD, "-o", device))
        for target in (device, self.dir / "pipe"):
            before = target.stat()
            for args in (("archive", PLAIN), ("restore", GOOD), ("recompress", GOOD), ("repair", GOOD), ("subset", PLAIN),
                         ("read", GOOD, "smooth", "-d", "y,0")):
                if (target, args[0]) == (device, "restore"):
                    continue  # it takes the bytes
                with self.subTest(target=target.name, args=args[0]):
                    self.fails(nc3z(*args, "--force", "-o", target, timeout=20), 1, "device|named pipe")
                    after = target.lstat()
                    self.assertEqual((after.st_mode, after.st_ino), (before.st_mode, before.st_ino))
        self.assertEqual(self.names(), ["null", "pipe"])


class Leftovers(Case):
    """Temporary files of runs that were killed."""

    def kill(self, *args, directory):
        before = set(self.names(directory))
        process = start(*args)
        self.assertTrue(wait_for(lambda: set(self.names(directory)) - before))
        process.kill()
        finish(process)
        left = set(self.names(directory)) - before
        self.assertTrue(left and all(n.startswith(".") and n.endswith(".nc3z-tmp") for n in left), left)
        return left

    def test_next_run_removes_them(self):
        big = synthetic(self.dir / "big.nc", 20)
        left = self.kill("archive", big, directory=self.dir)
        done = self.ok(nc3z("archive", big))
        self.assertEqual(self.names(), ["big.nc", "big.nc.nc3z"])
        self.assertIn(left.pop(), done.stderr)
        self.kill("restore", "--force", self.dir / "big.nc.nc3z", directory=self.dir)
        self.ok(nc3z("restore", "--force", self.dir / "big.nc.nc3z"))
        self.assertEqual(self.names(), ["big.nc", "big.nc.nc3z"])

    def test_not_those_of_runs_that_go_on(self):
        big = synthetic(self.dir / "big.nc", 20)
        mostly_zero(self.dir / "small.nc", 1)
        process = start("archive", big)
        # Once bytes are in it: a temporary file that was just made may not be locked yet, and is made again where it was removed.
        self.assertTrue(wait_for(lambda: any(n.endswith("-tmp") and (self.dir / n).stat().st_size for n in self.names())))
        process.send_signal(signal.SIGSTOP)
        try:
            held = [n for n in self.names() if n.endswith("-tmp")]
            self.assertEqual(len(held), 1)
            self.ok(nc3z("archive", self.dir / "small.nc"))
            self.assertIn(held[0], self.names())
        finally:
            process.send_signal(signal.SIGCONT)
        self.assertEqual(finish(process)[0], 0)
        self.assertEqual(self.names(), ["big.nc", "big.nc.nc3z", "small.nc", "small.nc.nc3z"])

    def test_never_a_source(self):
        """Half a restored file begins like a classic file."""
        tree = self.dir / "tree"
        (tree / "sub").mkdir(parents=True)
        mostly_zero(tree / "x.nc", 1)
        left = tree / "sub/.big.nc.AbCdEf.nc3z-tmp"
        shutil.copy(PLAIN, left)
        done = self.ok(nc3z("archive", "-r", "--remove-source", tree, "-o", self.dir / "out"))
        self.assertEqual(sorted(p.name for p in (self.dir / "out").rglob("*") if p.is_file()), ["x.nc.nc3z"], done.stderr)
        self.assertTrue(left.exists())
        for command in ("hash", "verify"):
            self.assertNotIn("nc3z-tmp", self.ok(nc3z(command, "-r", tree)).stdout.decode())


class Directories(Case):
    def test_a_failed_run_leaves_none(self):
        (self.dir / "bad.nc").write_bytes(b"CDF\x01" + b"\xff" * 60)
        for args in (("archive", "--parents", self.dir / "bad.nc", "-o", self.dir / "new/deep/x.nc3z"),
                     ("restore", "--parents", BAD, "-o", self.dir / "new/deep/x.nc"), ("archive", "-r", "--parents", self.dir, "-o", self.dir / "new/deep"),
                     ("archive", "-r", self.dir, "-o", self.dir / "new"), ("restore", "--parents", self.dir / "none.nc3z", "-o", self.dir / "new/x"),
                     ("read", GOOD, "nothing", "-o", self.dir / "new/x"), ("repair", self.dir / "bad.nc", "-o", self.dir / "new/x")):
            with self.subTest(args=[str(a) for a in args]):
                self.assertNotEqual(nc3z(*args).returncode, 0)
                self.assertEqual(self.names(), ["bad.nc"])

    def test_what_was_there_or_is_used_stays(self):
        (self.dir / "there").mkdir()
        (self.dir / "in").mkdir()
        mostly_zero(self.dir / "in/x.nc", 1)
        (self.dir / "in/bad.nc").write_bytes(b"CDF\x01" + b"\xff" * 60)
        self.fails(nc3z("archive", self.dir / "in/bad.nc", "-o", self.dir / "there/x.nc3z"), 1)
        self.assertEqual(self.names(), ["in", "there"])
        self.fails(nc3z("archive", "-r", "--parents", self.dir / "in", "-o", self.dir / "new/out"), 1)
        self.assertEqual(self.names(self.dir / "new/out"), ["x.nc.nc3z"])


if __name__ == "__main__":
    unittest.main()

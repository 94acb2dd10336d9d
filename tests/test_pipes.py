"""`-` for standard input and output; readers that go away; writers that never end."""

import errno
import os
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from common import NC3Z, Case, finish, interrupt, missing, mostly_zero, nc3z, sha256, start, synthetic


def _gone(*args, read=0, **options):
    """Runs nc3z with its output in a pipe whose reader goes away after some bytes; exit code and standard error."""
    process = subprocess.Popen([NC3Z, *map(str, args)], stdin=options.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, **options)
    if read:
        process.stdout.read(read)
    process.stdout.close()
    err = process.stderr.read().decode("utf-8", "replace")
    process.stderr.close()
    return process.wait(60), err


class Pipes(Case):
    def setUp(self):
        super().setUp()
        # Spool files go here, and must be gone afterwards.
        self.spool = self.dir / "spool"
        self.spool.mkdir()
        self.env = dict(os.environ, TMPDIR=str(self.spool))
        self.source = synthetic(self.dir / "x.nc", 4)
        self.digest = sha256(self.source)
        self.addCleanup(self.spool_is_empty)

    def spool_is_empty(self):
        self.assertEqual(os.listdir(self.spool), [])

    def back(self, archive):
        """SHA-256 of what an archive restores to."""
        self.ok(nc3z("restore", archive, "-o", self.dir / "back", "--force"))
        return sha256(self.dir / "back")

    def piped(self, *args, data, **options):
        return nc3z(*args, input=data, env=self.env, **options)

    def test_from_a_pipe_to_a_file(self):
        self.ok(self.piped("archive", "-", "-o", self.dir / "a.nc3z", data=self.source.read_bytes()))
        self.assertEqual(self.back(self.dir / "a.nc3z"), self.digest)

    def test_from_a_file_to_a_pipe(self):
        done = self.ok(nc3z("archive", self.source, "-o", "-", env=self.env))
        (self.dir / "a.nc3z").write_bytes(done.stdout)
        self.assertEqual(self.back(self.dir / "a.nc3z"), self.digest)
        self.assertEqual(self.names(), ["a.nc3z", "back", "spool", "x.nc"])

    def test_from_a_pipe_to_a_pipe(self):
        for args in (("archive", "-"), ("archive", "-", "-o", "-"), ("archive", "--no-verify", "-")):
            done = self.ok(self.piped(*args, data=self.source.read_bytes()))
            (self.dir / "a.nc3z").write_bytes(done.stdout)
            self.assertEqual(self.back(self.dir / "a.nc3z"), self.digest)

    def test_same_archive_by_pipe_and_by_name(self):
        self.ok(nc3z("archive", self.source))
        by_name = (self.dir / "x.nc.nc3z").read_bytes()
        self.assertTrue(self.piped("archive", "-", data=self.source.read_bytes()).stdout == by_name)
        self.assertTrue(nc3z("archive", self.source, "-o", "-", env=self.env).stdout == by_name)

    def test_standard_input_is_a_file(self):
        with open(self.source, "rb") as f:
            self.ok(nc3z("archive", "-", "-o", self.dir / "a.nc3z", stdin=f, env=self.env))
        self.assertEqual(self.back(self.dir / "a.nc3z"), self.digest)

    def test_mode_of_an_archive_from_a_pipe(self):
        """Without a source, the mode is that of a new file, not of the spool."""
        for umask in (0o022, 0o027, 0o077, 0o002):
            with self.subTest(umask=oct(umask)):
                archive = self.dir / f"{umask:o}.nc3z"
                self.ok(self.piped("archive", "-", "-o", archive, data=self.source.read_bytes(), umask=umask))
                self.assertEqual(oct(archive.stat().st_mode & 0o777), oct(0o666 & ~umask))

    def test_restore_to_a_pipe(self):
        self.ok(nc3z("archive", self.source))
        for extra in ((), ("--mmap",), ("--threads", 1)):
            done = self.ok(nc3z("restore", self.dir / "x.nc.nc3z", "-o", "-", *extra))
            self.assertTrue(done.stdout == self.source.read_bytes())

    def test_what_is_no_classic_file(self):
        cases = ((b"", "the file is empty"), (b"\x89HDF\r\n\x1a\n" + bytes(99), "HDF5"), (b"CDF\x01\0\0\0\0", "truncated.*byte"))
        for data, words in cases:
            for target in ("-", self.dir / "out.nc3z"):
                done = self.fails(self.piped("archive", "-", "-o", target, data=data), 1, words)
                self.assertEqual(done.stdout, b"")
        self.assertEqual(self.names(), ["spool", "x.nc"])

    def test_existing_target(self):
        (self.dir / "a.nc3z").write_bytes(b"precious")
        data = self.source.read_bytes()
        self.fails(self.piped("archive", "-", "-o", self.dir / "a.nc3z", data=data), 1, "exists")
        self.assertEqual((self.dir / "a.nc3z").read_bytes(), b"precious")
        self.ok(self.piped("archive", "-", "-o", self.dir / "a.nc3z", "--force", data=data))

    def test_output_in_a_new_directory(self):
        """As with an input of a name."""
        self.ok(self.piped("archive", "--parents", "-", "-o", self.dir / "new/a.nc3z", data=self.source.read_bytes()))

    def test_dash_stands_alone(self):
        self.fails(self.piped("archive", "-", self.source, data=b""), 1, "only input")
        self.fails(nc3z("archive", self.source, self.source, "-o", "-", env=self.env), 1, "only input")

    def test_reader_that_goes_away(self):
        self.ok(nc3z("archive", self.source))
        archive = self.dir / "x.nc.nc3z"
        commands = [("restore", archive, "-o", "-"), ("restore", "--mmap", archive, "-o", "-"),
                    ("archive", self.source, "-o", "-"), ("verify", archive), ("verify", "--json", archive), ("--help",)]
        for args in commands:
            for read in (0, 10) if args[0] in ("restore", "archive") else (0,):
                with self.subTest(args=[str(a) for a in args], read=read):
                    code, err = _gone(*args, read=read, env=self.env)
                    # The suggestion of `verify` is not an error about the pipe.
                    self.assertRegex(err, r"\A(nc3z: no parity: .*\n)?\Z")
                    self.assertIn(code, (0, -signal.SIGPIPE, 128 + signal.SIGPIPE))

    def test_pipeline(self):
        command = 'cat x.nc | "$NC3Z" archive - | tee a.nc3z | wc -c; "$NC3Z" restore a.nc3z -o - | cmp - x.nc'
        done = subprocess.run(["sh", "-ec", command], cwd=self.dir, env=dict(self.env, NC3Z=NC3Z), capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(int(done.stdout), (self.dir / "a.nc3z").stat().st_size)

    def test_full_device(self):
        if not Path("/dev/full").exists():
            missing(self, "there is no /dev/full")
        self.ok(nc3z("archive", self.source))
        archive = self.dir / "x.nc.nc3z"
        for args in (("restore", archive, "-o", "-"), ("archive", self.source, "-o", "-"), ("verify", archive)):
            with self.subTest(args[0]), open("/dev/full", "wb") as full:
                self.fails(nc3z(*args, stdout=full, env=self.env), 1, os.strerror(errno.ENOSPC))

    def test_restore_of_two_archives(self):
        self.ok(nc3z("archive", self.source))
        mostly_zero(self.dir / "z.nc", 1)
        self.ok(nc3z("archive", self.dir / "z.nc"))
        done = self.ok(nc3z("restore", self.dir / "x.nc.nc3z", self.dir / "z.nc.nc3z", "-o", "-"))
        self.assertTrue(done.stdout == self.source.read_bytes() + (self.dir / "z.nc").read_bytes())

    def test_interrupted_while_waiting_for_input(self):
        read, write = os.pipe()
        try:
            os.write(write, b"CDF\x01")
            process = start("archive", "-", "-o", self.dir / "a.nc3z", stdin=read, env=self.env)
            time.sleep(0.5)
            interrupt(process)
            try:
                code, err = finish(process, 10)
            except subprocess.TimeoutExpired:
                self.fail("SIGINT does nothing while nc3z waits for standard input")
        finally:
            os.close(read)
            os.close(write)
        self.assertEqual(code, 130, err)
        self.assertEqual(self.names(), ["spool", "x.nc"])

    def test_interrupted_while_the_reader_sleeps(self):
        self.ok(nc3z("archive", self.source))
        for args in (("restore", self.dir / "x.nc.nc3z", "-o", "-"), ("archive", self.source, "-o", "-")):
            with self.subTest(args[0]):
                process = start(*args, stdout=subprocess.PIPE, env=self.env)
                time.sleep(1.5)
                interrupt(process)
                try:
                    # The output pipe stays open, full and unread.
                    code = process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    shutil.rmtree(self.spool)
                    self.spool.mkdir()
                    self.fail("SIGINT does nothing while nc3z waits for its reader")
                finally:
                    process.stdout.close()
                    process.stderr.close()
                self.assertEqual(code, 130)


if __name__ == "__main__":
    unittest.main()

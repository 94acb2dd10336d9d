"""Real faults: killed, interrupted, no space, no permission, files that change under our hands. Nothing is lost, nothing half
done is left under a final name, and the exit code says what happened."""

import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from common import NC3Z, NIGHT, Case, Moments, finish, interrupt, kills, mostly_zero, nc3z, sha256, start, synthetic, tell_kills, tmpfs, wait_for

KILLS = kills(12)
INTERRUPTS = 10
SEED = 20_240_501


def setUpModule():
    global SHARED, BIG, BIG_SHA, BIG_ARCHIVE, BIG_SECONDS
    SHARED = Path(tempfile.mkdtemp(prefix="nc3z-test-"))
    unittest.addModuleCleanup(shutil.rmtree, SHARED, ignore_errors=True)
    BIG = synthetic(SHARED / "big.nc", 20)
    BIG_SHA = sha256(BIG)
    BIG_ARCHIVE = SHARED / "big.nc.nc3z"
    begin = time.monotonic()
    subprocess.run([NC3Z, "archive", str(BIG)], check=True, capture_output=True)
    BIG_SECONDS = time.monotonic() - begin


class Killed(Case):
    def test_sigkill(self):
        moments = Moments(SEED, BIG_SECONDS)
        source = Path(shutil.copy2(BIG, self.dir / "big.nc"))
        archive = self.dir / "big.nc.nc3z"
        before = source.stat()
        killed = 0
        for trial in range(KILLS):
            process = start("archive", source)
            code = moments.kill(process)
            killed += code == -signal.SIGKILL
            with self.subTest(trial=trial, code=code):
                self.assertIn(code, (0, -signal.SIGKILL))
                after = source.stat()
                self.assertEqual((after.st_size, after.st_mtime_ns, after.st_ino), (before.st_size, before.st_mtime_ns, before.st_ino))
                self.assertEqual(sha256(source), BIG_SHA)
                if archive.exists():
                    self.ok(nc3z("verify", archive, "--against", source))
                    archive.unlink()
                else:
                    self.assertNotEqual(code, 0)
                for name in self.names():
                    self.assertTrue(name == "big.nc" or (name.startswith(".") and name.endswith(".nc3z-tmp")), name)
                    if name != "big.nc":
                        (self.dir / name).unlink()
        self.assertGreater(killed, KILLS // 3, "the test killed too late")
        tell_kills("archive", killed, KILLS)
        # Files of a killed run do not disturb the next run.
        self.ok(nc3z("archive", source))
        self.ok(nc3z("verify", archive, "--against", source))

    def test_sigkill_of_restore(self):
        back = self.dir / "back.nc"
        begin = time.monotonic()
        self.ok(nc3z("restore", BIG_ARCHIVE, "-o", back))
        moments = Moments(SEED + 1, time.monotonic() - begin)
        back.unlink()
        killed, runs = 0, kills(6)
        for trial in range(runs):
            process = start("restore", BIG_ARCHIVE, "-o", back)
            killed += moments.kill(process) == -signal.SIGKILL
            with self.subTest(trial=trial):
                for name in self.names():
                    self.assertTrue(name == "back.nc" or (name.startswith(".") and name.endswith(".nc3z-tmp")), name)
                    if name != "back.nc":
                        (self.dir / name).unlink()
                if back.exists():
                    self.assertEqual(sha256(back), BIG_SHA)
                    back.unlink()
        self.assertGreater(killed, runs // 4, "the test killed too late")
        tell_kills("restore", killed, runs)


class Interrupted(Case):
    def interrupted(self, target, signals, *args):
        """Runs, sends a signal once the temporary file is there; gives exit codes of the trials."""
        pick = random.Random(SEED + 2)
        codes = []
        for trial in range(INTERRUPTS):
            number = signals[trial % len(signals)]
            process = start(*args)
            self.assertTrue(wait_for(lambda: self.names() or process.poll() is not None))
            time.sleep(pick.uniform(0, 0.8) * BIG_SECONDS * trial / INTERRUPTS)
            process.send_signal(number)
            code, err = finish(process, 60)
            with self.subTest(trial=trial):
                self.assertNotIn("panicked", err)
                self.assertIn(code, (0, 130), err)
                self.assertEqual(self.names(), [target.name] if code == 0 else [])
                if code == 130:
                    self.assertIn("interrupted", err)
            if code == 0:
                target.unlink(missing_ok=True)
            codes.append(code)
        self.assertIn(130, codes)
        self.assertEqual(sha256(BIG), BIG_SHA)

    def test_archive(self):
        target = self.dir / "out.nc3z"
        self.interrupted(target, (signal.SIGINT, signal.SIGTERM), "archive", BIG, "-o", target)

    def test_restore(self):
        target = self.dir / "back.nc"
        self.interrupted(target, (signal.SIGINT, signal.SIGTERM), "restore", BIG_ARCHIVE, "-o", target)

    def test_at_any_moment(self):
        """Also before the program is ready for signals, when the system ends it: 130 to a shell, and nothing left."""
        pick = random.Random(SEED + 3)
        target = self.dir / "out.nc3z"
        for trial in range(INTERRUPTS):
            process = start("archive", BIG, "-o", target)
            time.sleep(pick.uniform(0, 1) * BIG_SECONDS)
            interrupt(process)
            code, err = finish(process, 60)
            with self.subTest(trial=trial):
                self.assertIn(code, (0, 130, -signal.SIGINT), err)
                self.assertEqual(self.names(), ["out.nc3z"] if code == 0 else [])
            target.unlink(missing_ok=True)

    def test_several_files(self):
        (self.dir / "in").mkdir()
        for i in range(3):
            os.link(BIG, self.dir / f"in/{i}.nc") if BIG.stat().st_dev == self.dir.stat().st_dev else shutil.copy2(BIG, self.dir / f"in/{i}.nc")
        process = start("archive", "--threads", 1, "--recursive", "--remove-source", self.dir / "in")
        self.assertTrue(wait_for(lambda: len(self.names(self.dir / "in")) > 3))
        interrupt(process)
        code, err = finish(process, 60)
        self.assertEqual(code, 130, err)
        left = self.names(self.dir / "in")
        self.assertFalse([n for n in left if n.startswith(".")], left)
        for i in range(3):
            self.assertTrue(f"{i}.nc" in left or f"{i}.nc.nc3z" in left, left)


class NoSpace(Case):
    WORDS = "no space"

    def test_archive(self):
        for extra in ((), ("--preset", "fast"), ("--no-verify",), ("--threads", 1)):
            with tmpfs(self, "3m") as full:
                self.fails(nc3z("archive", BIG, "-o", full / "out.nc3z", *extra), 1, self.WORDS)
                self.assertEqual(self.names(full), [])
        self.assertEqual(sha256(BIG), BIG_SHA)

    def test_archive_into_a_full_disk(self):
        mostly_zero(self.dir / "x.nc", 1)
        with tmpfs(self, "64k") as full:
            with self.assertRaises(OSError), open(full / "filler", "wb", buffering=0) as f:
                while True:
                    f.write(b"x" * 4096)
            self.fails(nc3z("archive", self.dir / "x.nc", "-o", full / "out.nc3z"), 1, self.WORDS)
            self.assertEqual(self.names(full), ["filler"])

    def test_existing_target_and_source_are_kept(self):
        source = Path(shutil.copy2(BIG, self.dir / "big.nc"))
        with tmpfs(self, "3m") as full:
            (full / "out.nc3z").write_bytes(b"precious")
            self.fails(nc3z("archive", source, "-o", full / "out.nc3z", "--force", "--remove-source"), 1, self.WORDS)
            self.assertEqual(self.names(full), ["out.nc3z"])
            self.assertEqual((full / "out.nc3z").read_bytes(), b"precious")
        self.assertEqual(sha256(source), BIG_SHA)

    def test_restore(self):
        with tmpfs(self, "3m") as full:
            (full / "old").write_bytes(b"precious")
            for extra in ((), ("--mmap",), ("--threads", 1)):
                self.fails(nc3z("restore", BIG_ARCHIVE, "-o", full / "back.nc", *extra), 1, "needs 20.0 MiB, and its file system has")
                self.assertEqual(self.names(full), ["old"])
            self.fails(nc3z("restore", BIG_ARCHIVE, "-o", full / "old", "--force"), 1, "needs 20.0 MiB, and its file system has")
            self.assertEqual((full / "old").read_bytes(), b"precious")
            self.assertEqual(self.names(full), ["old"])

    def test_spool_of_standard_input(self):
        with tmpfs(self, "3m") as full, open(BIG, "rb") as f:
            env = dict(os.environ, TMPDIR=str(full))
            self.fails(nc3z("archive", "-", "-o", self.dir / "out.nc3z", stdin=f, env=env), 1, self.WORDS)
            self.assertEqual(self.names(full), [])
        self.assertEqual(self.names(), [])

    def test_file_size_limit(self):
        """No mount needed: the limit of the shell's `ulimit -f`, as EFBIG."""
        import resource

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        for args in (("archive", BIG, "-o", self.dir / "o"), ("restore", BIG_ARCHIVE, "-o", self.dir / "o")):
            # Python resets signals that it ignores itself, not this one; restore_signals would.
            done = nc3z(*args, preexec_fn=limit, restore_signals=False)
            self.fails(done, 1, "too large")
            self.assertEqual(self.names(), [])


class Targets(Case):
    def setUp(self):
        super().setUp()
        self.source = mostly_zero(self.dir / "x.nc", 1)
        self.digest = sha256(self.source)

    def kept(self, *names):
        self.assertEqual(self.names(), sorted({"x.nc", *names}))
        self.assertEqual(sha256(self.source), self.digest)

    def test_missing_directory_is_made_where_that_is_asked_for(self):
        self.fails(nc3z("archive", self.source, "-o", self.dir / "new/deep/x.nc3z"), 1, "directory .* does not exist; --parents")
        self.kept()
        self.ok(nc3z("archive", "--parents", self.source, "-o", self.dir / "new/deep/x.nc3z"))
        self.fails(nc3z("restore", self.dir / "new/deep/x.nc3z", "-o", self.dir / "other/deep/x.nc"), 1, "directory .* does not exist; --parents")
        self.ok(nc3z("restore", "--parents", self.dir / "new/deep/x.nc3z", "-o", self.dir / "other/deep/x.nc"))
        self.assertEqual(sha256(self.dir / "other/deep/x.nc"), self.digest)

    def test_directory_that_cannot_be_made(self):
        (self.dir / "file").write_bytes(b"a file")
        self.ok(nc3z("archive", self.source))
        for target in (self.dir / "file/x.nc3z", "/proc/nc3z-none/x.nc3z", "/dev/null/x.nc3z"):
            self.fails(nc3z("archive", "--parents", self.source, "-o", target), 1, "not a directory|no such file|permission|exists")
            self.fails(nc3z("restore", "--parents", self.dir / "x.nc.nc3z", "-o", target), 1, "not a directory|no such file|permission|exists")
        self.kept("file", "x.nc.nc3z")

    def test_target_is_a_directory(self):
        (self.dir / "d/x.nc.nc3z").mkdir(parents=True)
        self.fails(nc3z("archive", self.source, "-o", self.dir / "d", "--force"), 1, "directory")
        self.kept("d")
        self.assertEqual(self.names(self.dir / "d/x.nc.nc3z"), [])

    def test_read_only_file_system(self):
        self.ok(nc3z("archive", self.source))
        with tmpfs(self, "4m", read_only_with=[self.source, self.dir / "x.nc.nc3z"]) as ro:
            before = self.names(ro)
            for args in (("archive", ro / "x.nc", "--force"), ("archive", self.source, "-o", ro / "y.nc3z"),
                         ("restore", ro / "x.nc.nc3z", "--force"), ("archive", "--parents", self.source, "-o", ro / "new/y.nc3z")):
                self.fails(nc3z(*args), 1, "read-only file system")
            # Reading works there; removing the source does not.
            self.ok(nc3z("archive", ro / "x.nc", "-o", self.dir / "o.nc3z"))
            self.fails(nc3z("archive", ro / "x.nc", "-o", self.dir / "p.nc3z", "--remove-source"), 1, "read-only file system")
            self.ok(nc3z("verify", self.dir / "p.nc3z", "--against", ro / "x.nc"))
            self.assertEqual(self.names(ro), before)

    def test_source_is_target(self):
        (self.dir / "link").symlink_to("x.nc")
        os.link(self.source, self.dir / "hard")
        for target in ("x.nc", "./x.nc", "link", "hard"):
            for extra in ((), ("--force",)):
                with self.subTest(target=target, extra=extra):
                    self.fails(nc3z("archive", "x.nc", "-o", target, *extra, cwd=self.dir), 1, "same file|exists")
                    self.kept("link", "hard")
        self.ok(nc3z("archive", self.source, "-o", self.dir / "a.nc3z"))
        digest = sha256(self.dir / "a.nc3z")
        self.fails(nc3z("restore", self.dir / "a.nc3z", "-o", self.dir / "a.nc3z", "--force"), 1, "same file")
        self.assertEqual(sha256(self.dir / "a.nc3z"), digest)

    def test_existing_target(self):
        target = self.dir / "x.nc.nc3z"
        target.write_bytes(b"precious")
        self.fails(nc3z("archive", self.source), 1, "exists.*--force")
        self.assertEqual(target.read_bytes(), b"precious")
        self.kept("x.nc.nc3z")
        self.ok(nc3z("archive", self.source, "--force"))
        self.ok(nc3z("verify", target, "--against", self.source))
        self.fails(nc3z("restore", target), 1, "exists.*--force")
        self.kept("x.nc.nc3z")
        self.source.write_bytes(b"to be replaced")
        self.ok(nc3z("restore", target, "--force"))
        self.kept("x.nc.nc3z")

    def test_force_keeps_the_old_target_when_it_fails(self):
        (self.dir / "bad.nc").write_bytes(b"CDF\x01\0\0\0\0\0\0")
        (self.dir / "bad.nc.nc3z").write_bytes(b"precious")
        self.fails(nc3z("archive", "--force", self.dir / "bad.nc"), 1)
        self.assertEqual((self.dir / "bad.nc.nc3z").read_bytes(), b"precious")
        (self.dir / "bad.nc3z").write_bytes(b"\x89NC3Z\r\n\x1a" + b"\0" * 100)
        self.fails(nc3z("restore", "--force", self.dir / "bad.nc3z", "-o", self.source), 3)
        self.kept("bad.nc", "bad.nc.nc3z", "bad.nc3z")

    def test_dangling_link_as_target(self):
        (self.dir / "link").symlink_to("nowhere")
        self.fails(nc3z("archive", self.source, "-o", self.dir / "link"), 1, "exists")
        self.assertTrue((self.dir / "link").is_symlink())
        self.kept("link")

    def test_target_that_appears_meanwhile(self):
        target = self.dir / "big.nc3z"
        process = start("archive", BIG, "-o", target)
        self.assertTrue(wait_for(lambda: len(self.names()) > 1))
        target.write_bytes(b"precious")
        code, err = finish(process)
        self.assertEqual(code, 1, err)
        self.assertEqual(target.read_bytes(), b"precious")
        self.kept("big.nc3z")

    def test_two_inputs_of_one_name(self):
        """They would become one archive: a source without an archive must never be removed."""
        for extra in ((), ("--force",)):
            with self.subTest(extra=extra):
                tree = self.dir / f"t{len(extra)}"
                for i, d in enumerate("ab"):
                    (tree / d).mkdir(parents=True)
                    mostly_zero(tree / d / "x.nc", 1 + i)
                digests = {sha256(tree / d / "x.nc") for d in "ab"}
                done = nc3z("archive", tree / "a/x.nc", tree / "b/x.nc", "-o", tree / "out", "--remove-source", *extra)
                self.assertIn(done.returncode, (1, 2), done.stderr)
                kept = {sha256(p) for p in tree.glob("[ab]/x.nc")}
                for archive in tree.glob("out/*.nc3z"):
                    self.ok(nc3z("restore", archive, "-o", tree / "back", "--force"))
                    kept.add(sha256(tree / "back"))
                self.assertEqual(kept, digests, "content is lost")


class Trees(Case):
    def setUp(self):
        super().setUp()
        for name in ("a.nc", "sub/b.nc", "sub/z.nc"):
            (self.dir / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            mostly_zero(self.dir / "in" / name, 1)

    def archived(self, bad, timeout=60, **options):
        """All others are archived, and the last lines name the bad ones."""
        done = nc3z("archive", "--recursive", "in", "-o", "out", cwd=self.dir, timeout=timeout, **options)
        self.fails(done, 1)
        for name in ("a.nc", "sub/b.nc", "sub/z.nc"):
            if f"in/{name}" not in bad:
                self.ok(nc3z("verify", self.dir / f"out/{name}.nc3z", "--against", self.dir / "in" / name))
        lines = done.stderr.splitlines()
        at = next(i for i, line in enumerate(lines) if "files failed" in line)
        self.assertIn(f"{len(bad)} of ", lines[at])
        self.assertEqual(sorted(line.strip() for line in lines[at + 1:]), sorted(bad))
        self.assertFalse(list((self.dir / "out").rglob(".*")))

    def test_dangling_link(self):
        (self.dir / "in/sub/lost.nc").symlink_to("nowhere")
        self.archived(["in/sub/lost.nc"])
        self.assertTrue((self.dir / "in/sub/lost.nc").is_symlink())

    def test_bad_header_among_good_files(self):
        (self.dir / "in/sub/bad.nc").write_bytes(b"CDF\x01" + b"\xff" * 60)
        self.archived(["in/sub/bad.nc"])

    def test_existing_archive_among_others(self):
        (self.dir / "out/sub").mkdir(parents=True)
        (self.dir / "out/sub/b.nc.nc3z").write_bytes(b"precious")
        self.archived(["in/sub/b.nc"])
        self.assertEqual((self.dir / "out/sub/b.nc.nc3z").read_bytes(), b"precious")

    def test_unreadable_file_and_directory(self):
        options = {}
        if os.geteuid() == 0:
            # Root reads everything: run as another user, with a copy of the program that this user may run.
            program = shutil.copy(NC3Z, self.dir / "nc3z-copy")
            os.chmod(program, 0o755)
            os.chmod(self.dir, 0o755)
            for path in [self.dir / "in", *(self.dir / "in").rglob("*")]:
                os.chown(path, 65534, 65534)
            (self.dir / "out").mkdir()
            os.chown(self.dir / "out", 65534, 65534)
            options = {"executable": program, "user": 65534, "group": 65534, "extra_groups": []}
        (self.dir / "in/sub/b.nc").chmod(0)
        (self.dir / "in/shut").mkdir()
        (self.dir / "in/shut").chmod(0)
        if os.geteuid() == 0:
            os.chown(self.dir / "in/shut", 65534, 65534)
        self.archived(["in/shut", "in/sub/b.nc"], **options)

    def test_link_to_a_directory_is_not_followed(self):
        (self.dir / "elsewhere").mkdir()
        mostly_zero(self.dir / "elsewhere/e.nc", 1)
        (self.dir / "in/loop").symlink_to(".")
        (self.dir / "in/link").symlink_to("../elsewhere")
        done = nc3z("archive", "--recursive", "in", "-o", "out", cwd=self.dir, timeout=60)
        self.ok(done)
        self.assertFalse((self.dir / "out/link").exists())

    def test_fifo_does_not_hang(self):
        os.mkfifo(self.dir / "in/pipe")
        try:
            done = nc3z("archive", "--recursive", "in", "-o", "out", cwd=self.dir, timeout=20)
        except subprocess.TimeoutExpired:
            self.fail("a named pipe in the tree stops everything")
        self.assertIn(done.returncode, (0, 1))
        self.ok(nc3z("verify", self.dir / "out/sub/z.nc.nc3z"))

    def test_restore_goes_on_after_a_corrupt_archive(self):
        self.ok(nc3z("archive", "--recursive", "in", "-o", "out", cwd=self.dir))
        path = self.dir / "out/sub/b.nc.nc3z"
        path.write_bytes(path.read_bytes()[:-40])
        done = self.fails(nc3z("restore", "--recursive", "out", "-o", "back", cwd=self.dir), 3)
        self.assertEqual(done.stderr.splitlines()[-2:], ["nc3z: 1 of 3 archives failed:", "  out/sub/b.nc.nc3z"])
        self.assertEqual(sorted(p.name for p in (self.dir / "back").rglob("*") if p.is_file()), ["a.nc", "z.nc"])


class SourceChanges(Case):
    """A file that changes while it is read gives no archive, or the archive of one version that it had."""

    TRIALS = 8 if NIGHT else 5

    def change(self, name, act, versions, codes, delay):
        source, archive, back = self.dir / "s.nc", self.dir / "s.nc.nc3z", self.dir / "back"
        shutil.copy2(BIG, source)
        process = start("archive", source)
        self.assertTrue(wait_for(lambda: len(self.names()) > 1 or process.poll() is not None))
        time.sleep(delay)
        act(source)
        code, err = finish(process)
        codes.append(code)
        self.assertNotIn("panicked", err)
        self.assertIn(code, (0, 1), err)
        if code == 1:
            self.assertEqual(self.names(), ["s.nc"])
            self.assertRegex(err, "s.nc.*(changed|does not rebuild|read|end)")
        else:
            self.ok(nc3z("restore", archive, "-o", back))
            self.assertIn(sha256(back), versions, f"{name}: the archive holds a version that never was")
            archive.unlink()
            back.unlink()

    def run_trials(self, name, act, after):
        versions = {BIG_SHA, after}
        pick = random.Random(SEED + 4)
        codes = []
        # The time of a run depends on other work of the machine: repeat until a change came at the right moment.
        for trial in range(5 * self.TRIALS):
            if trial >= self.TRIALS and 1 in codes:
                break
            with self.subTest(name, trial=trial):
                self.change(name, act, versions, codes, pick.uniform(0, 0.9) * BIG_SECONDS * trial / self.TRIALS)
        self.assertIn(1, codes, "no change was noticed")

    def changed(self, act):
        copy = Path(shutil.copy2(BIG, SHARED / "changed"))
        act(copy)
        return sha256(copy)

    def test_truncated(self):
        def act(path):
            os.truncate(path, 9_000_001)
        self.run_trials("truncated", act, self.changed(act))

    def test_appended(self):
        def act(path):
            with open(path, "ab") as f:
                f.write(b"more" * 1000)
        self.run_trials("appended", act, self.changed(act))

    def test_rewritten(self):
        def act(path):
            with open(path, "r+b") as f:
                for at in range(1 << 20, BIG.stat().st_size, 1 << 20):
                    f.seek(at)
                    f.write(b"rewritten")
        self.run_trials("rewritten", act, self.changed(act))

    def test_rewritten_with_the_old_time(self):
        """As some tools do: the modification time is put back. The proof reads the source again, and must see it."""
        def act(path):
            meta = path.stat()
            with open(path, "r+b") as f:
                for at in range(1 << 20, BIG.stat().st_size, 1 << 20):
                    f.seek(at)
                    f.write(b"rewritten")
            os.utime(path, ns=(meta.st_atime_ns, meta.st_mtime_ns))
        self.run_trials("rewritten", act, self.changed(act))

    def beside_a_writer(self, source, *command, dated_back=False):
        """Runs a command while a thread writes to `source`, which may put the modification time back after each write."""
        stop, before = threading.Event(), source.stat()

        def write():
            with open(source, "r+b", buffering=0) as f:
                while not stop.is_set():
                    f.seek(random.randrange(4096, 20 << 20))
                    f.write(os.urandom(16))
                    if dated_back:
                        os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))

        writer = threading.Thread(target=write)
        writer.start()
        try:
            return nc3z(*command)
        finally:
            stop.set()
            writer.join()

    def test_written_all_the_time(self):
        source = Path(shutil.copy2(BIG, self.dir / "s.nc"))
        self.fails(self.beside_a_writer(source, "archive", source), 1)
        self.assertEqual(self.names(), ["s.nc"])

    def test_commands_that_read_a_file_refuse_a_changing_one(self):
        """`hash`, `subset` and `set --from` give the values of one state of the file, or none. Also when it is dated back."""
        source, out, archive = Path(shutil.copy2(BIG, self.dir / "s.nc")), self.dir / "out.nc", self.dir / "a.nc3z"
        shutil.copy2(BIG_ARCHIVE, archive)
        whole = sha256(archive)
        for command in (("hash", source), ("hash", "--root", source), ("subset", source, "-v", "smooth", "-o", out),
                        ("set", archive, "smooth", "--from", source)):
            for dated_back in (False, True):
                # A command that reads faster than the system lets the writer run sees one state, and succeeds: then it is run again.
                for _ in range(10):
                    out.unlink(missing_ok=True)
                    shutil.copy2(BIG_ARCHIVE, archive)
                    done = self.beside_a_writer(source, *command, dated_back=dated_back)
                    if done.returncode != 0:
                        break
                with self.subTest(command=command[:2], dated_back=dated_back):
                    self.fails(done, 1, "s.nc.* changed while it was read")
                    self.assertEqual((self.names(), sha256(archive)), (["a.nc3z", "s.nc"], whole))

    def test_replaced_by_another_file_under_its_name(self):
        """`mv new s.nc` while s.nc is archived: with --remove-source the new file, archived nowhere, must survive."""
        source = Path(shutil.copy2(BIG, self.dir / "s.nc"))
        other = mostly_zero(SHARED / "other.nc", 1)
        digest = sha256(other)
        process = start("archive", "--remove-source", source)
        self.assertTrue(wait_for(lambda: len(self.names()) > 1))
        os.replace(other, source)
        finish(process)
        self.assertTrue(source.exists(), "the new file was removed, and is in no archive")
        self.assertEqual(sha256(source), digest)


class RemoveSource(Case):
    def test_after_success(self):
        source = Path(shutil.copy2(BIG, self.dir / "s.nc"))
        self.ok(nc3z("archive", "--remove-source", source))
        self.assertEqual(self.names(), ["s.nc.nc3z"])
        self.ok(nc3z("verify", self.dir / "s.nc.nc3z", "--against", BIG))

    def test_not_before_the_archive_is_there(self):
        source = Path(shutil.copy2(BIG, self.dir / "s.nc"))
        archive = self.dir / "s.nc.nc3z"
        process = start("archive", "--remove-source", source)
        gone_first = False
        while process.poll() is None:
            if not source.exists() and not archive.exists():
                gone_first = True
        code, err = finish(process)
        self.assertEqual(code, 0, err)
        self.assertFalse(gone_first)

    def test_not_after_failure(self):
        source = mostly_zero(self.dir / "x.nc", 1)
        (self.dir / "x.nc.nc3z").write_bytes(b"precious")
        self.fails(nc3z("archive", "--remove-source", source), 1, "exists")
        self.fails(nc3z("archive", "--parents", "--remove-source", source, "-o", "/proc/none/x"), 1)
        self.fails(nc3z("archive", "--remove-source", source, "-o", source, "--force"), 1, "same file")
        (self.dir / "bad.nc").write_bytes(b"CDF\x02\0")
        self.fails(nc3z("archive", "--remove-source", self.dir / "bad.nc"), 1)
        self.assertEqual(self.names(), ["bad.nc", "x.nc", "x.nc.nc3z"])

    def test_not_when_interrupted(self):
        source = Path(shutil.copy2(BIG, self.dir / "s.nc"))
        process = start("archive", "--remove-source", source)
        self.assertTrue(wait_for(lambda: len(self.names()) > 1))
        interrupt(process)
        self.assertEqual(finish(process)[0], 130)
        self.assertEqual(self.names(), ["s.nc"])
        self.assertEqual(sha256(source), BIG_SHA)

    def test_never_without_proof(self):
        source = mostly_zero(self.dir / "x.nc", 1)
        self.assertEqual(nc3z("archive", "--remove-source", "--no-verify", source).returncode, 2)
        with open(source, "rb") as f:
            self.fails(nc3z("archive", "--remove-source", "-", stdin=f), 2, "remove-source")
        self.assertEqual(self.names(), ["x.nc"])


class CorruptArchives(Case):
    def test_flipped_bits(self):
        good = BIG_ARCHIVE.read_bytes()
        pick = random.Random(SEED + 5)
        places = [0, 8, 20, 40, 70, *(len(good) - n for n in (1, 2, 60, 127, 128, 140, 400)),
                  *(pick.randrange(len(good)) for _ in range(25))]
        caught = 0
        bad, back = self.dir / "bad.nc3z", self.dir / "back.nc"
        for at in places:
            with self.subTest(at=at):
                flipped = bytearray(good)
                flipped[at] ^= 1 << pick.randrange(8)
                bad.write_bytes(flipped)
                done = nc3z("restore", bad, "-o", back)
                if done.returncode == 0:
                    # A spare copy or unused padding was hit.
                    self.assertEqual(sha256(back), BIG_SHA)
                    back.unlink()
                    continue
                caught += 1
                # A version of the future is not corruption.
                self.fails(done, 1 if "unsupported" in done.stderr else 3)
                self.assertEqual(self.names(), ["bad.nc3z"])
        self.assertGreater(caught, 25)

    def test_truncated(self):
        good = BIG_ARCHIVE.read_bytes()
        bad = self.dir / "bad.nc3z"
        for length in (8, 9, 47, 48, 100, 200, 4096, len(good) // 2, len(good) - 129, len(good) - 128, len(good) - 1):
            with self.subTest(length=length):
                bad.write_bytes(good[:length])
                for command in ((), ("--mmap",)):
                    self.fails(nc3z("restore", bad, "-o", self.dir / "back.nc", *command), 3)
                self.assertEqual(nc3z("verify", bad).returncode, 3)
                self.assertEqual(self.names(), ["bad.nc3z"])

    def test_zeroed_block_to_standard_output(self):
        """Bytes that were written stay, but the exit code reports the error."""
        bad = bytearray(BIG_ARCHIVE.read_bytes())
        bad[len(bad) // 2:len(bad) // 2 + 512] = bytes(512)
        (self.dir / "bad.nc3z").write_bytes(bad)
        self.fails(nc3z("restore", self.dir / "bad.nc3z", "-o", "-"), 3)

    def test_no_archive_at_all(self):
        """Exit code 3 is for archives: other files are ordinary failures."""
        path = self.dir / "x.nc3z"
        for content in (b"", b"abc", b"# a text\n" * 100, bytes(4096), b"CDF\x01" + b"\xff" * 28, random.Random(SEED).randbytes(100_000)):
            for command in (("restore",), ("verify",), ("verify", "--deep"), ("recompress",), ("parity", "add"), ("parity", "remove"), ("info",),
                            ("hash",), ("dump",), ("info", "--layout",), ("repair", "--in-place"), ("repair", "-o", self.dir / "y")):
                with self.subTest(content=content[:8], command=command):
                    path.write_bytes(content)
                    self.fails(nc3z(*command, path), 1)
                    self.assertEqual(self.names(), ["x.nc3z"])
                    self.assertEqual(path.read_bytes(), content)

    def test_truncated_while_it_is_read(self):
        archive, back = self.dir / "a.nc3z", self.dir / "back.nc"
        pick = random.Random(SEED + 6)
        for trial in range(8):
            with self.subTest(trial=trial):
                shutil.copyfile(BIG_ARCHIVE, archive)
                process = start("restore", archive, "-o", back)
                wait_for(lambda: len(self.names()) > 1 or process.poll() is not None)
                time.sleep(pick.uniform(0, 0.03))
                os.truncate(archive, 4096)
                code, err = finish(process)
                self.assertIn(code, (0, 1), err)
                if code == 0:
                    self.assertEqual(sha256(back), BIG_SHA)
                    back.unlink()
                else:
                    self.assertIn("became shorter while it was read", err)
                self.assertEqual(self.names(), ["a.nc3z"])

    def test_truncated_while_a_slow_reader_reads(self):
        """A pipe that is full holds the command in the middle of the file; then the file is cut. An error that says so, and no signal."""
        classic = self.dir / "a.nc"
        synthetic(classic, 24)
        archive = self.dir / "a.nc3z"
        self.ok(nc3z("archive", "--preset", "fast", classic, "-o", archive))
        whole, original = archive.read_bytes(), classic.read_bytes()
        commands = (("dump", archive), ("restore", archive, "-o", "-"), ("dump", classic))
        for command, file, *more in commands:
            with self.subTest(command=command, file=file.name):
                file.write_bytes(whole if file == archive else original)
                process = start(command, file, *more, stdout=subprocess.PIPE)
                process.stdout.read(1000)
                time.sleep(0.3)
                os.truncate(file, 4096)
                code, err = finish(process)
                self.assertEqual(code, 1, err)
                self.assertIn("became shorter while it was read", err)
        # `subset` writes a file: it is stopped while it does.
        archive.write_bytes(whole)
        process = start("subset", archive, "-v", "smooth,counts", "--threads", 1, "-o", self.dir / "s.nc")
        wait_for(lambda: any(n.endswith("-tmp") for n in self.names()) or process.poll() is not None)
        process.send_signal(signal.SIGSTOP)
        os.truncate(archive, 4096)
        process.send_signal(signal.SIGCONT)
        code, err = finish(process)
        self.assertIn(code, (0, 1), err)
        if code == 1:
            self.assertIn("became shorter while it was read", err)
            self.assertEqual(self.names(), ["a.nc", "a.nc3z"])


if __name__ == "__main__":
    unittest.main()

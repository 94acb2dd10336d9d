"""`nc3z mount`: through the kernel, programs without support for nc3z read the same as from the originals."""

import contextlib
import errno
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

import kinds
from common import CLASSIC, NC3Z, NIGHT, ROOT, Case, good_files, missing, nc3z, need_program, start
from servers import serve

COADS = CLASSIC / "coads_climatology.cdf"
PAGE = 4096
SOON = 60


def pages_of(fd, expected):
    """Reads an open file page by page: how many were right, and how many an I/O error. Wrong bytes end the test."""
    good = bad = 0
    for at in range(0, len(expected), PAGE):
        try:
            assert os.pread(fd, PAGE, at) == expected[at:at + PAGE], f"wrong bytes at {at}"
            good += 1
        except OSError as e:
            assert e.errno == errno.EIO, e
            bad += 1
    return good, bad


def is_mounted(place):
    # Without a word to the server, which may be gone.
    with open("/proc/self/mounts", encoding="utf-8") as f:
        return any(line.split()[1] == str(place) for line in f)


def eventually(done, what):
    end = time.monotonic() + SOON
    while not done():
        if time.monotonic() > end:
            raise AssertionError(f"not within {SOON} s: {what}")
        time.sleep(0.02)


class MountCase(Case):
    """A test with a directory of archives and a place to mount them."""

    def setUp(self):
        super().setUp()
        # Not every machine that tests can have it: skipped in CI too.
        why = None
        if not os.path.exists("/dev/fuse"):
            why = "there is no /dev/fuse"
        elif os.geteuid() != 0 and (not shutil.which("fusermount3") or not os.access("/dev/fuse", os.W_OK)):
            why = "only root may mount here: no fusermount3, or no right to /dev/fuse"
        if why:
            print(f"\n*** NOT TESTED: {self.id()}: {why}", file=sys.stderr, flush=True)
            self.skipTest(why)
        self.source, self.place = self.dir / "source", self.dir / "mnt"
        self.source.mkdir()
        self.place.mkdir()

    def archive(self, original, name=None):
        archive = self.source / f"{name or original.name}.nc3z"
        archive.parent.mkdir(parents=True, exist_ok=True)
        self.ok(nc3z("archive", "-q", "-f", original, "-o", archive))
        return archive

    def clear(self, place):
        if is_mounted(place):
            subprocess.run(["umount", "-l", str(place)] if os.geteuid() == 0 else ["fusermount3", "-u", "-z", str(place)], check=False)

    @contextlib.contextmanager
    def mounted(self, *options, source=None, place=None, **more):
        place = place or self.place
        process = start("mount", *options, source or self.source, place, **more)
        self.addCleanup(self.clear, place)
        # Its messages are read as they come: a full pipe would block it.
        said = []
        reader = threading.Thread(target=lambda: said.extend(line.decode() for line in process.stderr))
        reader.start()
        try:
            eventually(lambda: is_mounted(place) or process.poll() is not None, "the mount")
            self.assertIsNone(process.poll(), said)
            process.said = said
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(SOON)
            finally:
                process.kill()
                process.wait()
                reader.join()
                process.stderr.close()
                self.clear(place)

    def tells(self, process, words):
        eventually(lambda: any(words in line for line in process.said), f"{words} in {process.said}")


class Bytes(MountCase):
    def test_every_file_is_the_original_with_its_size_mode_and_time(self):
        copies = self.dir / "originals"
        copies.mkdir()
        for n, file in enumerate(good_files()):
            copy = copies / file.name
            shutil.copy(file, copy)
            copy.chmod((0o644, 0o600, 0o444)[n % 3])
            os.utime(copy, ns=(0, 1_000_000_000_000_000_007 + n))
            self.archive(copy)
        with self.mounted():
            self.assertEqual(self.names(self.place), self.names(copies))
            for copy in sorted(copies.iterdir()):
                shown, archive = self.place / copy.name, self.source / f"{copy.name}.nc3z"
                subprocess.run(["cmp", str(copy), str(shown)], check=True)
                was, seen = copy.stat(), shown.stat()
                self.assertEqual((seen.st_size, seen.st_mode, seen.st_mtime_ns), (was.st_size, was.st_mode, was.st_mtime_ns))
                self.assertEqual(seen.st_blocks, archive.stat().st_blocks)
                self.assertEqual(os.getxattr(shown, "user.nc3z.archive"), os.fsencode(archive.resolve()))
                self.assertEqual(os.listxattr(shown), ["user.nc3z.archive"])

    def test_each_kind_of_input_is_shown_or_named(self):
        files = kinds.write(self.dir)
        with serve(files) as server:
            for kind, name in kinds.names(server).items():
                with self.subTest(kind), open(self.dir / "a.nc.nc3z", "rb") as stdin:
                    shown = kinds.SHOWN[kind]
                    if isinstance(shown, str):
                        self.assertRegex(nc3z("mount", name, self.place, cwd=self.dir, timeout=SOON).stderr, shown)
                        continue
                    with self.mounted(source=name, cwd=self.dir, stdin=stdin):
                        names = self.names(self.place)
                        self.assertTrue(names if shown is None else set(shown) <= set(names), names)
                        for file in shown or []:
                            self.assertEqual((self.place / file).read_bytes(), kinds.SOURCE.read_bytes())

    def test_it_is_read_only_and_maps(self):
        self.archive(COADS)
        (self.source / "note").write_text("n")
        with self.mounted():
            shown = self.place / COADS.name
            for refused in (lambda: open(shown, "r+b"), lambda: open(self.place / "new", "wb"), lambda: os.unlink(shown),
                            lambda: open(self.place / "note", "ab")):
                with self.assertRaises(OSError) as caught:
                    refused()
                self.assertEqual(caught.exception.errno, errno.EROFS)
            with open(shown, "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
                self.assertEqual(m[:], COADS.read_bytes())
            self.assertEqual((self.place / "note").read_text(), "n")

    def test_many_read_at_once(self):
        names = ["coads_climatology.cdf", "record_padding.nc", "all_types_cdf5.nc"]
        originals = {name: (CLASSIC / name).read_bytes() for name in names}
        for name in names:
            self.archive(CLASSIC / name)
        end = time.monotonic() + (600 if NIGHT else 4)
        wrong, count, lock = [], [0], threading.Lock()

        def read(seed):
            rng, done = random.Random(seed), 0
            while time.monotonic() < end and not wrong:
                name = rng.choice(names)
                expected = originals[name]
                fd = os.open(self.place / name, os.O_RDONLY)
                try:
                    # The page cache would answer all reads except the first.
                    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                    if seed % 2:
                        at = [n * 100_003 for n in range(-(-len(expected) // 100_003))]
                        parts = [(a, 100_003) for a in at]
                    else:
                        parts = [(rng.randrange(len(expected)), rng.choice([1, 4, 4096, 70_000])) for _ in range(50)]
                    for offset, length in parts:
                        if os.pread(fd, length, offset) != expected[offset:offset + length]:
                            wrong.append((name, offset, length))
                        done += 1
                finally:
                    os.close(fd)
            with lock:
                count[0] += done

        def resident(pid):
            return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

        with self.mounted("--cache", "64MiB") as process:
            threads = [threading.Thread(target=read, args=(seed,)) for seed in range(16)]
            for thread in threads:
                thread.start()
            half = time.monotonic() + (end - time.monotonic()) / 2
            while time.monotonic() < half:
                time.sleep(0.05)
            middle = resident(process.pid)
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])
            self.assertGreater(count[0], 100)
            self.assertLess(resident(process.pid), middle + (64 << 20))

    def test_a_bundle_and_one_archive(self):
        archive = self.archive(COADS, "2026/coads.cdf")
        self.ok(nc3z("bundle", self.source, "-o", self.dir / "set.bundle.nc3z"))
        with self.mounted(source=self.dir / "set.bundle.nc3z"):
            found = [Path(d, name) for d, _, names in os.walk(self.place) for name in names if name == "coads.cdf"]
            self.assertEqual([path.read_bytes() for path in found], [COADS.read_bytes()])
        file = self.dir / "coads.cdf"
        file.touch()
        with self.mounted(source=archive, place=file):
            self.assertEqual(file.read_bytes(), COADS.read_bytes())
        self.assertEqual(file.read_bytes(), b"")
        with self.mounted(source=archive):
            self.assertEqual(self.names(self.place), ["coads.cdf"])


class Programs(MountCase):
    """The same words from the original and from the mount."""

    def setUp(self):
        super().setUp()
        # Of a header that leaves the number of records open, netCDF's own tools make 2^32 of them.
        limit = (6 if NIGHT else 1) << 20
        self.files = [f for f in good_files() if (f.stat().st_size < limit or f == COADS) and "streaming" not in f.name]
        for file in self.files:
            self.archive(file)

    def both(self, command, files=None):
        """Runs a command on each original and on the mounted file. Its words contain {f}, the file, and {o}, an output file."""
        ran = 0
        for file in files or self.files:
            said = []
            for path in (file, self.place / file.name):
                out = self.dir / "out"
                out.unlink(missing_ok=True)
                words = [word.format(f=path, o=out) for word in command]
                done = subprocess.run(words, capture_output=True, timeout=120, check=False)
                text = done.stdout.replace(os.fsencode(path), b"FILE")
                said.append((done.returncode, text, out.read_bytes() if out.exists() else None))
            self.assertEqual(said[0], said[1], f"{command} {file}")
            ran += said[0][0] == 0
        self.assertGreater(ran, 0, command)

    def test_tools_of_netcdf_and_nco(self):
        with self.mounted():
            for command in (["ncdump", "{f}"], ["ncdump", "-k", "{f}"], ["nccopy", "-k", "nc3", "{f}", "{o}"]):
                need_program(self, command[0])
                self.both(command)
            need_program(self, "ncks")
            self.both(["ncks", "--cdl", "{f}"])
            self.both(["ncks", "-O", "-h", "-d", "TIME,3,5", "-v", "SST", "{f}", "{o}"], [COADS])

    def test_cdo(self):
        need_program(self, "cdo")
        with self.mounted():
            self.both(["cdo", "-s", "infon", "{f}"])
            self.both(["cdo", "-s", "output", "-fldmean", "-selname,SST", "{f}"], [COADS])

    def test_scipy_and_xarray(self):
        import numpy
        import xarray
        from scipy.io import netcdf_file

        names = ["coads_climatology.cdf", "record_padding.nc", "all_types_cdf1.nc", "all_types_cdf2.nc"]
        with self.mounted():
            for name in names:
                with netcdf_file(CLASSIC / name, mmap=False) as a, netcdf_file(self.place / name, mmap=True) as b:
                    self.assertEqual(list(a.variables), list(b.variables))
                    for key, variable in a.variables.items():
                        numpy.testing.assert_array_equal(variable[...].copy(), b.variables[key][...].copy())
                    # A map lives as long as arrays of it.
                    del variable
                for engine in ("scipy", "netcdf4"):
                    with xarray.open_dataset(CLASSIC / name, engine=engine, decode_times=False) as a, \
                            xarray.open_dataset(self.place / name, engine=engine, decode_times=False) as b:
                        xarray.testing.assert_identical(a.load(), b.load())


class Life(MountCase):
    """Beginning and end of mounts."""

    def setUp(self):
        super().setUp()
        self.archive(COADS)
        self.shown = self.place / COADS.name

    def test_signals_unmount(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.mounted() as process:
                self.assertTrue(self.shown.exists())
                process.send_signal(number)
                self.assertEqual(process.wait(SOON), 0)
                self.assertFalse(is_mounted(self.place))

    def test_unmounted_from_outside_it_ends(self):
        with self.mounted() as process:
            subprocess.run(["umount", str(self.place)] if os.geteuid() == 0 else ["fusermount3", "-u", str(self.place)], check=True)
            self.assertEqual(process.wait(SOON), 0)

    def test_what_is_open_is_served_after_a_signal_and_a_second_one_ends_it(self):
        expected = COADS.read_bytes()
        with self.mounted() as process, open(self.shown, "rb", buffering=0) as f:
            process.terminate()
            eventually(lambda: not is_mounted(self.place), "the unmount")
            self.tells(process, "1 file still open")
            self.assertEqual(f.read(len(expected)), expected)
            f.close()
            self.assertEqual(process.wait(SOON), 0)
        with self.mounted() as process:
            fd = os.open(self.shown, os.O_RDONLY)
            process.terminate()
            self.tells(process, "1 file still open")
            process.terminate()
            self.assertEqual(process.wait(SOON), 130)
            self.assertFalse(is_mounted(self.place))
            with self.assertRaises(OSError):
                os.pread(fd, 100, 1 << 20)
            with contextlib.suppress(OSError):
                os.close(fd)

    def test_killed_it_leaves_a_mount_that_is_recognised(self):
        with self.mounted() as process:
            process.kill()
            process.wait()
            with self.assertRaises(OSError) as caught:
                os.listdir(self.place)
            self.assertEqual(caught.exception.errno, errno.ENOTCONN)
            self.fails(nc3z("mount", self.source, self.place), 1, f"fusermount3 -u -z {self.place}")
            self.clear(self.place)
        with self.mounted():
            self.assertEqual(self.shown.read_bytes(), COADS.read_bytes())

    def test_in_the_background_it_answers_when_the_command_returns(self):
        log = self.dir / "log"
        damaged = self.archive(COADS, "damaged.cdf")
        data = bytearray(damaged.read_bytes())
        data[len(data) // 2] ^= 1
        damaged.write_bytes(data)
        self.addCleanup(self.clear, self.place)
        self.ok(nc3z("mount", "--daemon", "--log", log, self.source, self.place))
        self.assertEqual(self.shown.read_bytes(), COADS.read_bytes())
        with self.assertRaises(OSError):
            (self.place / "damaged.cdf").read_bytes()
        self.clear(self.place)
        self.assertRegex(log.read_text(), r"^\d{4}-\d\d-\d\dT\S+ nc3z: `.*damaged.cdf.nc3z`: reading \w+\[")
        # The command reports a mount that failed.
        self.fails(nc3z("mount", "--daemon", self.dir / "none", self.place), 1, "none")
        self.fails(nc3z("mount", self.source, self.dir / "nowhere"), 1, "cannot mount at")

    def test_the_helper_of_mount(self):
        binaries = self.dir / "bin"
        binaries.mkdir()
        (binaries / "nc3z").symlink_to(NC3Z)
        helper = ROOT / "packaging/mount.fuse.nc3z"
        self.addCleanup(self.clear, self.place)
        environment = dict(os.environ, PATH=f"{binaries}:{os.environ['PATH']}")
        run = ["sh", str(helper), str(self.source), str(self.place)]
        subprocess.run([*run, "-o", "rw,noatime,x-systemd.automount,cache=64MiB"], check=True, env=environment)
        self.assertEqual(self.shown.read_bytes(), COADS.read_bytes())
        self.clear(self.place)
        done = subprocess.run([*run, "-o", "uid=7"], check=False, env=environment, capture_output=True)
        self.assertNotEqual(done.returncode, 0)

    def test_other_users_see_what_modes_let_them(self):
        if os.geteuid() != 0:
            missing(self, "only root can be another user")
        need_program(self, "setpriv")
        secret = self.archive(COADS, "secret.cdf")
        secret.chmod(0o600)
        self.dir.chmod(0o755)

        def other(name):
            words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "head", "-c3", str(self.place / name)]
            return subprocess.run(words, capture_output=True, check=False).stdout

        with self.mounted():
            self.assertEqual(other(COADS.name), b"")
        with self.mounted("--allow-other"):
            self.assertEqual(other(COADS.name), b"CDF")
            self.assertEqual(other("secret.cdf"), b"")


class Places(MountCase):
    """Mount points that would make the server wait for its own answers are refused. A failure must not hang: each command has a time limit, and
    the kernel's connection of a process that cannot be killed is ended."""

    CONNECTIONS = Path("/sys/fs/fuse/connections")

    def setUp(self):
        super().setUp()
        self.archive(COADS, "sub/x.nc")
        if os.geteuid() == 0 and not is_mounted(self.CONNECTIONS):
            subprocess.run(["mount", "-t", "fusectl", "none", str(self.CONNECTIONS)], capture_output=True, check=False)
        self.before = set(os.listdir(self.CONNECTIONS))

    def abort(self):
        for number in set(os.listdir(self.CONNECTIONS)) - self.before:
            with contextlib.suppress(OSError):
                (self.CONNECTIONS / number / "abort").write_text("1")

    def refused(self, source, place, words):
        for options in ([], ["--daemon"]):
            process = subprocess.Popen([NC3Z, "mount", *options, str(source), str(place)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE)
            self.addCleanup(process.stderr.close)
            self.addCleanup(self.clear, place.resolve())
            try:
                self.assertEqual(process.wait(SOON), 1, (source, place))
            except subprocess.TimeoutExpired:
                process.kill()
                self.abort()
                raise
            said = process.stderr.read().decode()
            self.assertIn(words, said)
            self.assertFalse(is_mounted(place.resolve()))

    def test_at_the_source_in_it_and_above_it(self):
        (self.dir / "link").symlink_to(self.source / "sub")
        file = self.source / "sub/x.nc.nc3z"
        self.refused(self.source, self.source, "it is the source itself")
        self.refused(self.source / "sub/..", self.source, "it is the source itself")
        self.refused(self.source, self.source / "sub", "it is inside the source")
        self.refused(self.source, self.dir / "link", "it is inside the source")
        self.refused(self.dir / "link", self.source, "the source is inside it")
        self.refused(file, file, "it is the source itself")
        self.refused(file, self.source / "sub", "the source is inside it")
        self.ok(nc3z("bundle", self.source, "-o", self.dir / "set.bundle.nc3z"))
        self.refused(self.dir / "set.bundle.nc3z", self.dir, "the source is inside it")

    def test_by_a_bind_mount(self):
        if os.geteuid() != 0:
            self.skipTest("only root makes bind mounts")
        bound = self.dir / "bound"
        bound.mkdir()
        if subprocess.run(["mount", "--bind", self.source / "sub", bound], capture_output=True, check=False).returncode:
            self.skipTest("this machine refuses bind mounts")
        self.addCleanup(subprocess.run, ["umount", "-l", str(bound)], check=False)
        (self.source / "sub/inner").mkdir()
        self.refused(self.source, bound / "inner", "it is inside the source")
        self.refused(bound, self.source, "the source is inside it")
        self.refused(bound, self.source / "sub", "it is")

    def test_a_link_into_the_mount_is_an_error(self):
        (self.source / "y.nc.nc3z").symlink_to(self.place / "y.nc.nc3z")
        (self.source / "z.nc.nc3z").symlink_to(self.place / "sub/x.nc")
        (self.source / "up").symlink_to(self.place)
        with self.mounted():
            for name in ("y.nc", "z.nc"):
                done = subprocess.run(["timeout", str(SOON), "head", "-c3", str(self.place / name)], capture_output=True, check=False)
                self.assertEqual((done.returncode, done.stdout), (1, b""), name)
            self.assertEqual((self.place / "up/sub/x.nc").read_bytes(), COADS.read_bytes())

    def test_many_hard_links_of_a_file_are_read(self):
        for n in range(70):
            (self.source / f"link{n}.nc.nc3z").hardlink_to(self.source / "sub/x.nc.nc3z")
        with self.mounted():
            for n in range(70):
                with open(self.place / f"link{n}.nc", "rb") as f:
                    self.assertEqual(f.read(PAGE), COADS.read_bytes()[:PAGE])

    def test_directories_have_no_false_link_counts(self):
        (self.source / "sub/deep").mkdir()
        with self.mounted():
            for path in (self.place, self.place / "sub", self.place / "sub/deep", self.place / ".versions"):
                directories = sum(1 for p in path.iterdir() if p.is_dir())
                # 1: they are not counted.
                self.assertIn(path.stat().st_nlink, (1, 2 + directories), path)
            found = subprocess.run(["find", str(self.place), "-name", "x.nc"], capture_output=True, check=True).stdout
            self.assertEqual(found.split(), [os.fsencode(self.place / "sub/x.nc")])


class Changes(MountCase):
    """Archives that change while they are mounted."""

    def setUp(self):
        super().setUp()
        self.path = self.archive(COADS)
        self.shown, self.original = self.place / COADS.name, COADS.read_bytes()
        self.edited = self.original[:-4] + b"\x42\x28\0\0"
        (self.dir / "edited.cdf").write_bytes(self.edited)

    def test_commits_are_seen_after_opening_again_and_all_versions_are_there(self):
        with self.mounted(), open(self.shown, "rb", buffering=0) as before:
            self.ok(nc3z("commit", "-q", self.path, self.dir / "edited.cdf"))
            self.ok(nc3z("tag", self.path, "first", "--version", "1"))
            self.assertEqual(self.shown.read_bytes(), self.edited)
            self.assertEqual(before.read(len(self.original)), self.original)
            versions = self.place / ".versions" / COADS.name
            self.assertEqual(self.names(versions), ["1", "2", "first"])
            self.assertEqual((versions / "1").read_bytes(), self.original)
            self.assertEqual((versions / "2").read_bytes(), self.edited)
            self.assertEqual(os.readlink(versions / "first"), "1")
            self.assertEqual((versions / "first").read_bytes(), self.original)
            self.assertNotIn(".versions", self.names(self.place))

    def test_another_archive_of_the_name(self):
        with self.mounted(), open(self.shown, "rb", buffering=0) as before:
            self.archive(self.dir / "edited.cdf", COADS.name)
            self.assertEqual(self.shown.read_bytes(), self.edited)
            self.assertEqual(before.read(len(self.original)), self.original)

    def test_cut_short_it_gives_errors(self):
        with self.mounted() as process, open(self.shown, "rb", buffering=0) as before:
            self.assertEqual(before.read(100), self.original[:100])
            os.truncate(self.path, 700_000)
            good, bad = pages_of(before.fileno(), self.original)
            self.assertTrue(good and bad, (good, bad))
            eventually(lambda: self.refused(errno.EIO), "the error of opening")
            self.tells(process, "it cannot be opened")

    def refused(self, number):
        try:
            os.close(os.open(self.shown, os.O_RDONLY))
        except OSError as e:
            return e.errno == number
        return False

    def test_removed_it_is_read_by_who_has_it_open(self):
        with self.mounted(), open(self.shown, "rb", buffering=0) as before:
            self.path.unlink()
            self.assertTrue(self.refused(errno.ENOENT))
            self.assertEqual(before.read(len(self.original)), self.original)

    def test_a_damaged_tile_is_an_error_for_its_pages_alone(self):
        data = bytearray(self.path.read_bytes())
        data[len(data) // 2] ^= 0x55
        self.path.write_bytes(data)
        with self.mounted() as process:
            with open(self.shown, "rb", buffering=0) as f:
                good, bad = pages_of(f.fileno(), self.original)
            # One of seven variables.
            pages = good + bad
            self.assertTrue(pages / 9 < bad < pages / 5, (good, bad))
            self.tells(process, "cdf.nc3z`: reading WSPD[TIME=0..11, COADSY=0..89, COADSX=0..179] (tile 0, 194400 elements, bytes ")
            # Read forward, all before it comes.
            with open(self.shown, "rb", buffering=0) as f, self.assertRaises(OSError):
                while part := f.read(1 << 16):
                    self.assertEqual(part, self.original[f.tell() - len(part):f.tell()])
            self.assertEqual(len([line for line in process.said if "reading " in line]), 1)


class Parity(MountCase):
    def test_what_parity_mends_is_read_and_said_once(self):
        path = self.archive(COADS)
        self.ok(nc3z("parity", "add", "--share", "5%", path))
        data = path.read_bytes()
        begin = len(data) // 3
        bad = data[:begin] + bytes(8192) + data[begin + 8192:]
        path.write_bytes(bad)
        with self.mounted() as process:
            shown = self.place / COADS.name
            for _ in range(2):
                self.assertEqual(shown.read_bytes(), COADS.read_bytes())
            self.tells(process, "computed from its parity")
            self.assertEqual(len([line for line in process.said if "parity" in line]), 1)
        self.assertEqual(path.read_bytes(), bad)


if __name__ == "__main__":
    unittest.main()

"""Trees and long runs: skipped files are reported, a stopped run can be continued, several runs share one tree."""

import gzip
import json
import os
import shutil
import signal
import time
import unittest

from common import CLASSIC, NIGHT, Case, Moments, finish, kills, nc3z, sha256, start, tell_kills, wait_for

HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(200)


def classic(path, n):
    """A small classic file, different for each number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = bytearray((CLASSIC / "numeric.nc").read_bytes())
    raw[-8:] = n.to_bytes(8, "big")
    path.write_bytes(raw)
    return path


class Trees(Case):
    def tree(self, files=3):
        """Classic files among all kinds of others."""
        for i in range(files):
            classic(self.dir / f"in/{i % 3}/{i}.nc", i)
        (self.dir / "in/four.nc").write_bytes(HDF5)
        with gzip.open(self.dir / "in/0/packed.nc.gz", "wb") as f:
            f.write((CLASSIC / "numeric.nc").read_bytes())
        (self.dir / "in/empty.nc").touch()
        (self.dir / "in/readme.txt").write_bytes(b"what this is\n")
        os.mkfifo(self.dir / "in/pipe.nc")
        return self.dir / "in"

    def archives(self, directory="out"):
        return sorted(str(p.relative_to(self.dir / directory)) for p in (self.dir / directory).rglob("*.nc3z"))

    def all_exact(self, directory="out"):
        for path in sorted((self.dir / "in").rglob("*.nc")):
            if path.is_file() and path.read_bytes()[:3] == b"CDF":
                name = path.relative_to(self.dir / "in")
                self.ok(nc3z("verify", self.dir / directory / f"{name}.nc3z", "--against", path))


class Others(Trees):
    PASSED = "5 passed over (1 netCDF-4 or HDF5, 1 compressed file, 1 empty file, 1 named pipe, 1 other file)"

    def test_each_tree_ends_with_a_summary(self):
        self.tree()
        done = self.ok(nc3z("archive", "-r", "in", "-o", "out", cwd=self.dir))
        self.assertRegex(done.stderr, r"nc3z: 3 archived, 5 passed over .*; [0-9.]+ KiB -> [0-9.]+ KiB \([0-9.]+x\) in [0-9.]+ s\n$")
        self.assertIn(self.PASSED, done.stderr)
        (self.dir / "out/notes").write_text("x")
        done = self.ok(nc3z("restore", "-r", "out", "-o", "back", cwd=self.dir))
        self.assertRegex(done.stderr, r"nc3z: 3 restored, 1 passed over \(1 other file\); .* in [0-9.]+ s\n$")
        done = self.ok(nc3z("recompress", "-r", "--preset", "fast", "--if-smaller", "out", cwd=self.dir))
        self.assertRegex(done.stderr, r"nc3z: \d recompressed.*1 passed over \(1 other file\).* in [0-9.]+ s\n$")
        done = self.ok(nc3z("verify", "-r", "out", cwd=self.dir))
        self.assertTrue(done.stdout.endswith(b"3 archives checked, 0 of them not sound; 1 passed over (1 other file)\n"), done.stdout)

    def test_failures_are_counted(self):
        self.tree()
        (self.dir / "in/bad.nc").write_bytes(b"CDF\x01" + b"\xff" * 60)
        done = self.fails(nc3z("archive", "-r", "in", "-o", "out", cwd=self.dir), 1)
        self.assertIn("nc3z: 3 archived, 1 failed, 5 passed over", done.stderr)
        self.assertTrue(done.stderr.endswith("nc3z: 1 of 4 files failed:\n  in/bad.nc\n"), done.stderr)

    def test_others_are_listed_or_refused(self):
        self.tree()
        lines = ["in/four.nc: passed over, netCDF-4 or HDF5", "in/empty.nc: passed over, empty file", "in/pipe.nc: passed over, named pipe",
                 "in/0/packed.nc.gz: passed over, compressed file", "in/readme.txt: passed over, other file"]
        for what, code in (("list", 0), ("fail", 1)):
            done = nc3z("archive", "-r", "--force", "--passed-over", what, "in", "-o", "out", cwd=self.dir)
            self.assertEqual(done.returncode, code, done.stderr)
            for line in lines:
                self.assertIn(line + "\n", done.stderr)
        self.assertEqual(len(self.archives()), 3)
        for command, *more in (("verify",), ("restore", "-o", "back"), ("recompress", "--preset", "fast")):
            self.ok(nc3z(command, "-r", "--passed-over", "fail", "out", *more, cwd=self.dir))
            (self.dir / "out/notes").write_text("x")
            more = [m if m != "back" else "back2" for m in more]
            done = nc3z(command, "-r", "--passed-over", "fail", "out", *more, cwd=self.dir)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("out/notes: passed over, other file", done.stderr)
            (self.dir / "out/notes").unlink()

    def test_others_are_copied(self):
        self.tree()
        os.utime(self.dir / "in/readme.txt", (1, 1_000_000_000))
        done = self.ok(nc3z("archive", "-r", "--passed-over", "copy", "in", "-o", "out", cwd=self.dir))
        self.assertIn("3 archived, 4 copied, 5 passed over", done.stderr)
        for name in ("four.nc", "0/packed.nc.gz", "empty.nc", "readme.txt"):
            self.assertEqual((self.dir / "out" / name).read_bytes(), (self.dir / "in" / name).read_bytes())
        self.assertEqual((self.dir / "out/readme.txt").stat().st_mtime, 1_000_000_000)
        self.assertFalse((self.dir / "out/pipe.nc").exists())
        (self.dir / "out/readme.txt").write_bytes(b"precious")
        self.fails(nc3z("archive", "-r", "--skip-existing", "--passed-over", "copy", "in", "-o", "out", cwd=self.dir), 1, "readme.txt.*exists")
        self.assertEqual((self.dir / "out/readme.txt").read_bytes(), b"precious")
        self.fails(nc3z("archive", "-r", "--force", "--passed-over", "copy", "in", cwd=self.dir), 1, "-o")

    def test_a_copy_or_link_never_replaces_an_archive_of_the_same_run(self):
        tree = self.dir / "in"
        for name in ("a.nc", "b.nc"):
            classic(tree / name, 1)
        (tree / "a.nc.nc3z").write_bytes(b"a note")
        (tree / "b.nc.nc3z").symlink_to("notes.txt")
        (tree / "notes.txt").write_bytes(b"more")
        args = ("archive", "-r", "--force", "--passed-over", "copy", "in", "-o", "out")
        for _ in range(2):
            done = nc3z(*args, cwd=self.dir)
            self.fails(done, 1, "a.nc.nc3z.*exists")
            self.fails(done, 1, "b.nc.nc3z.*exists")
            for name in ("a.nc", "b.nc"):
                self.ok(nc3z("verify", "--against", f"in/{name}", f"out/{name}.nc3z", cwd=self.dir))

    def test_a_copy_never_replaces_the_archive_of_a_removed_file(self):
        raw = classic(self.dir / "in/a.nc", 1).read_bytes()
        self.ok(nc3z("archive", "-r", "--remove-source", "in", "-o", "out", cwd=self.dir))
        (self.dir / "in/a.nc.nc3z").write_bytes(b"a note")
        for force in ((), ("--force",)):
            done = self.fails(nc3z("archive", "-r", *force, "--passed-over", "copy", "in", "-o", "out", cwd=self.dir), 1, "out/a.nc.nc3z.*exists and is an archive")
            self.assertNotIn("--force", done.stderr)
        self.ok(nc3z("restore", "out/a.nc.nc3z", "-o", "back.nc", cwd=self.dir))
        self.assertEqual((self.dir / "back.nc").read_bytes(), raw)


class Links(Trees):
    def linked(self):
        tree = self.dir / "in"
        classic(tree / "a.nc", 1)
        classic(tree / "d/b.nc", 2)
        classic(self.dir / "outside.nc", 3)
        (tree / "current.nc").symlink_to("a.nc")
        (tree / "d/up.nc").symlink_to("../a.nc")
        (tree / "latest").symlink_to("d")
        (tree / "absolute.nc").symlink_to(tree / "a.nc")
        (tree / "away.nc").symlink_to("../outside.nc")
        return tree

    def test_links_are_counted_and_named(self):
        self.linked()
        done = self.ok(nc3z("archive", "-r", "in", "-o", "out", "--passed-over", "list", cwd=self.dir))
        self.assertIn("2 archived, 5 passed over (1 link out of the tree, 4 links inside the tree)", done.stderr)
        self.assertIn("in/current.nc: passed over, a link to `a.nc`, which is in the tree\n", done.stderr)
        self.assertIn("in/latest: passed over, a link to `d`, which is in the tree\n", done.stderr)
        self.assertEqual(self.archives(), ["a.nc.nc3z", "d/b.nc.nc3z"])
        # Nothing is lost by a link inside; by one that leads out, its file may be.
        (self.dir / "in/away.nc").unlink()
        self.ok(nc3z("archive", "-r", "in", "-o", "out2", "--passed-over", "fail", cwd=self.dir))

    def test_links_are_made_again(self):
        self.linked()
        args = ("archive", "-r", "in", "-o", "out", "--passed-over", "copy", "--skip-existing")
        done = self.ok(nc3z(*args, cwd=self.dir))
        self.assertIn("2 archived, 3 linked, 2 passed over", done.stderr)
        self.assertIn("in/absolute.nc: a link whose path leads out of the tree; it is not made again\n", done.stderr)
        for name, target in (("current.nc.nc3z", "a.nc.nc3z"), ("d/up.nc.nc3z", "../a.nc.nc3z"), ("latest", "d")):
            self.assertEqual(os.readlink(self.dir / "out" / name), target)
        self.assertIn("0 archived, 5 already there", self.ok(nc3z(*args, cwd=self.dir)).stderr)
        done = self.ok(nc3z("restore", "-r", "out", "-o", "back", cwd=self.dir))
        self.assertIn("2 restored, 3 linked", done.stderr)
        for name, target in (("current.nc", "a.nc"), ("d/up.nc", "../a.nc"), ("latest", "d")):
            self.assertEqual(os.readlink(self.dir / "back" / name), target)
        self.assertEqual((self.dir / "back/current.nc").read_bytes(), (self.dir / "in/a.nc").read_bytes())
        # Another file with the same name stays.
        (self.dir / "out/current.nc.nc3z").unlink()
        (self.dir / "out/current.nc.nc3z").write_bytes(b"precious")
        self.fails(nc3z(*args, cwd=self.dir), 1, "current.nc.nc3z.*exists")
        self.assertEqual((self.dir / "out/current.nc.nc3z").read_bytes(), b"precious")


class Modes(Trees):
    """Directories keep their modes, and are never more open than those of the source."""

    def test_directories_keep_their_modes(self):
        for name, mode in (("secret", 0o700), ("secret/open", 0o755), ("group", 0o2750), ("closed", 0o500), ("closed/deep", 0o711)):
            classic(self.dir / "in" / name / "x.nc", 1)
        (self.dir / "in/group/notes.txt").write_text("x")
        (self.dir / "in/group/latest.nc").symlink_to("x.nc")
        modes = {"": 0o750, "secret": 0o700, "secret/open": 0o755, "group": 0o2750, "closed": 0o500, "closed/deep": 0o711}
        for name, mode in modes.items():
            os.chmod(self.dir / "in" / name, mode)
        old = os.umask(0o022)
        self.addCleanup(os.umask, old)
        runs = (("archive", "-r", "--passed-over", "copy", "in", "-o", "out"), ("restore", "-r", "out", "-o", "back"), ("recompress", "-r", "--preset", "fast", "out", "-o", "new"))
        for command in runs:
            self.ok(nc3z(*command, cwd=self.dir))
            for name, mode in modes.items():
                with self.subTest(command=command[0], directory=name):
                    self.assertEqual(oct((self.dir / command[-1] / name).stat().st_mode & 0o7777), oct(mode))
        # A directory for several trees gets only the permissions that all of them have. The modes of existing directories do not change.
        shutil.copytree(self.dir / "in/secret/open", self.dir / "public")
        (self.dir / "public/x.nc").rename(self.dir / "public/y.nc")
        os.chmod(self.dir / "public", 0o755)
        self.ok(nc3z("archive", "-r", "public", "in/secret", "-o", "both", "--force", cwd=self.dir))
        self.assertEqual((self.dir / "both").stat().st_mode & 0o777, 0o700)
        os.chmod(self.dir / "both", 0o770)
        self.ok(nc3z("archive", "-r", "in", "-o", "both", cwd=self.dir))
        self.assertEqual((self.dir / "both").stat().st_mode & 0o777, 0o770)
        # Names of a list keep their directories.
        (self.dir / "list").write_text("in/secret/x.nc\n")
        self.ok(nc3z("archive", "--files-from", "list", "-o", "listed", cwd=self.dir))
        self.assertEqual((self.dir / "listed/in/secret").stat().st_mode & 0o777, 0o700)


class Against(Trees):
    def test_a_tree_is_compared_with_its_directory(self):
        """Files with files, by their names; a file without an archive is named."""
        self.tree(6)
        self.ok(nc3z("archive", "-r", "in", "-o", "out", cwd=self.dir))
        done = self.ok(nc3z("verify", "-r", "out", "--against", "in", cwd=self.dir))
        self.assertIn(b"6 archives checked, 0 of them not sound", done.stdout)
        raw = bytearray((self.dir / "in/1/1.nc").read_bytes())
        raw[-1] ^= 1
        (self.dir / "in/1/1.nc").write_bytes(raw)
        done = self.fails(nc3z("verify", "-r", "out", "--against", "in", cwd=self.dir), 1, "1/1.nc. differs at byte")
        self.assertIn(b"6 archives checked, 1 of them not sound", done.stdout)
        classic(self.dir / "in/1/1.nc", 1)
        classic(self.dir / "in/new.nc", 77)
        self.fails(nc3z("verify", "-r", "out", "--against", "in", cwd=self.dir), 1, "in/new.nc: it has no archive")
        (self.dir / "in/0/0.nc").unlink()
        self.fails(nc3z("verify", "-r", "out", "--against", "in", cwd=self.dir), 1, "0/0.nc.*No such file")
        # One archive, in the directory with the file of its name.
        self.ok(nc3z("verify", "out/1/1.nc.nc3z", "--against", "in/1", cwd=self.dir))

    def test_chunks_apply_where_they_fit(self):
        """Of a tree, files without the dimensions or the variable are archived without the chunks. A single file refuses them."""
        self.tree(2)
        shutil.copy(CLASSIC / "coads_climatology.cdf", self.dir / "in/coads.nc")
        for number, chunk in enumerate(("TIME=1,COADSX=30", "SST:TIME=12")):
            done = self.ok(nc3z("archive", "-r", "in", "-o", f"out{number}", "--tile", chunk, cwd=self.dir))
            self.assertIn("2 of 3 files have no variable with the dimensions of --tile", done.stderr)
            layout = self.ok(nc3z("info", "--json", self.dir / f"out{number}/coads.nc.nc3z")).stdout
            self.assertIn(b"chunk", layout)
            self.all_exact(f"out{number}")
        self.ok(nc3z("recompress", "-r", "out0", "-o", "again", "--tile", "TIME=2", cwd=self.dir))
        self.fails(nc3z("archive", "in/0/0.nc", "-o", "x.nc3z", "--tile", "TIME=1", cwd=self.dir), 1, "no dimension .TIME.")
        self.fails(nc3z("archive", "-r", "in", "-o", "out9", "--tile", "TIME=0", cwd=self.dir), 1, "the least is 1")


class Resuming(Trees):
    def test_what_is_there_is_passed_over(self):
        self.tree()
        self.ok(nc3z("archive", "-r", "in", "-o", "out", cwd=self.dir))
        before = {n: (self.dir / "out" / n).stat().st_ino for n in self.archives()}
        for how in ((), ("=header",), ("=digest",), ("=name",)):
            done = self.ok(nc3z("archive", "-r", f"--skip-existing{''.join(how)}", "in", "-o", "out", cwd=self.dir))
            self.assertIn("nc3z: 0 archived, 3 already there", done.stderr)
        self.assertEqual({n: (self.dir / "out" / n).stat().st_ino for n in self.archives()}, before)

    def test_second_run_prints_one_line(self):
        self.tree()
        listing = "in/0/0.nc\nin/1/1.nc\n"
        (self.dir / "list").write_text(listing)
        for args in (("-r", "in", "-o", "out"), ("--files-from", "list", "-o", "out2")):
            self.ok(nc3z("archive", *args, cwd=self.dir))
            out = args[-1]
            before = {n: (self.dir / out / n).stat().st_ino for n in self.archives(out)}
            done = self.ok(nc3z("archive", *args, cwd=self.dir))
            lines = [line for line in done.stderr.splitlines() if "pipe.nc" not in line]
            self.assertEqual(len(lines), 1, lines)
            self.assertRegex(lines[0], rf"^nc3z: 0 archived, {len(before)} already there.* \(--force [^\n]*\)$")
            self.assertEqual({n: (self.dir / out / n).stat().st_ino for n in self.archives(out)}, before)
            self.ok(nc3z("archive", "--force", *args, cwd=self.dir))
            self.assertTrue(all((self.dir / out / n).stat().st_ino != inode for n, inode in before.items()))
        # Files that are named are not a run to be continued.
        self.fails(nc3z("archive", "in/0/0.nc", "-o", "out/0/0.nc.nc3z", cwd=self.dir), 1, "exists")
        # A source that changed is not passed over.
        classic(self.dir / "in/0/0.nc", 77)
        self.fails(nc3z("archive", "-r", "in", "-o", "out", cwd=self.dir), 1, "older than the source")
        # A source whose archive existed before is compared, and removed: a run that was killed before it removed it is finished.
        args = ("archive", "--files-from", "-", "-o", "out2", "--remove-source")
        raw, archive = (self.dir / "in/1/1.nc").read_bytes(), self.dir / "out2/in/1/1.nc.nc3z"
        sound = archive.read_bytes()
        archive.write_bytes(sound[:-30] + bytes(30))
        self.fails(nc3z(*args, cwd=self.dir, input=b"in/1/1.nc\n"), 1)
        self.assertEqual((self.dir / "in/1/1.nc").read_bytes(), raw)
        archive.write_bytes(sound)
        self.ok(nc3z(*args, cwd=self.dir, input=b"in/1/1.nc\n"))
        self.assertFalse((self.dir / "in/1/1.nc").exists())
        # Its name may stay in lists.
        done = self.ok(nc3z(*args, cwd=self.dir, input=b"in/1/1.nc\n"))
        self.assertIn("0 archived, 1 already there", done.stderr)

    def test_restoring_continues(self):
        self.tree()
        self.ok(nc3z("archive", "-r", "in", "-o", "out", cwd=self.dir))
        args = ("restore", "-r", "out", "-o", "back")
        self.ok(nc3z(*args, cwd=self.dir))
        path = self.dir / "back/1/1.nc"
        held = path.read_bytes()
        path.unlink()
        done = self.ok(nc3z(*args, cwd=self.dir))
        self.assertRegex(done.stderr, r"\nnc3z: 1 restored, 2 already there.* \(--force [^\n]*\)\n$")
        self.assertEqual(path.read_bytes(), held)
        stat = path.stat()
        flipped = held[:-1] + bytes([held[-1] ^ 1])
        for name, raw, how, words in (("edited", flipped, (), "another modification time"), ("edited", flipped, ("--skip-existing=digest",), "other data"),
                                      ("longer", held + b"x", (), "is not the archive's original"), ("text", b"precious", (), "is not the archive's original")):
            with self.subTest(name, how=how):
                path.write_bytes(raw)
                self.fails(nc3z(*args, *how, cwd=self.dir), 1, words)
                self.assertEqual(path.read_bytes(), raw)
        # The data are the archive's, and only the time is not.
        path.write_bytes(held)
        self.fails(nc3z(*args, cwd=self.dir), 1, "--skip-existing=digest")
        self.assertIn("3 already there", self.ok(nc3z(*args, "--skip-existing=digest", cwd=self.dir)).stderr)
        self.assertIn("3 already there", self.ok(nc3z(*args, "--skip-existing=name", cwd=self.dir)).stderr)
        self.assertIn("3 restored", self.ok(nc3z(*args, "--force", cwd=self.dir)).stderr)
        self.assertEqual((path.read_bytes(), path.stat().st_mtime_ns), (held, stat.st_mtime_ns))
        self.fails(nc3z("restore", "out/1/1.nc.nc3z", "-o", path, cwd=self.dir), 1, "exists")

    def test_what_is_there_and_is_another(self):
        """Nothing of another file is taken for the archive, and nothing is replaced without --force."""
        source = classic(self.dir / "x.nc", 1)
        archive = self.dir / "x.nc.nc3z"
        self.ok(nc3z("archive", source))
        whole = archive.read_bytes()
        stat = source.stat()

        def newer():
            os.utime(source, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10 ** 9))

        def other_values():
            classic(source, 2)
            os.utime(source, ns=(stat.st_atime_ns, stat.st_mtime_ns))

        cases = {"newer": (newer, "header", "older than the source"), "values": (other_values, "digest", "other data"),
                 "longer": (lambda: source.write_bytes(source.read_bytes() + b"tail"), "header", "another file"),
                 "cut": (lambda: archive.write_bytes(whole[:-100]), "header", "not a complete archive"),
                 "foreign": (lambda: archive.write_bytes(b"precious"), "digest", "not a complete archive")}
        for name, (act, how, words) in cases.items():
            with self.subTest(name):
                classic(source, 1)
                os.utime(source, ns=(stat.st_atime_ns, stat.st_mtime_ns))
                self.ok(nc3z("archive", "--force", source))
                act()
                held = archive.read_bytes()
                self.fails(nc3z("archive", f"--skip-existing={how}", source), 1, words)
                self.assertEqual(archive.read_bytes(), held)
                self.ok(nc3z("archive", f"--skip-existing={how}", "--force", source))
                self.ok(nc3z("verify", archive, "--against", source))

    def test_an_archive_of_several_versions_is_not_replaced(self):
        """A new archive would not have them. What was not edited is passed over as before, or replaced."""
        self.tree()
        self.ok(nc3z("archive", "-r", "in", "-o", "out", cwd=self.dir))
        self.assertIn("0 archived, 3 already there", self.ok(nc3z("archive", "-r", "in", "-o", "out", cwd=self.dir)).stderr)
        edited, other = (self.dir / "out" / name for name in ("0/0.nc.nc3z", "1/1.nc.nc3z"))
        self.ok(nc3z("attr", edited, ":note=edited"))
        held, inode = edited.read_bytes(), other.stat().st_ino
        tree, one = ("-r", "in", "-o", "out"), ("in/0/0.nc", "-o", "out/0/0.nc.nc3z")
        for args in (tree, ("--skip-existing=digest", *tree), ("--skip-existing", *one), ("--skip-existing=digest", *one)):
            with self.subTest(args=args):
                done = self.fails(nc3z("archive", *args, cwd=self.dir), 1, "0.nc.nc3z. exists, and has several versions.*commit the file to it")
                self.assertNotRegex(done.stderr, "replace it with --force|is the archive of another file")
                self.assertEqual((edited.read_bytes(), other.stat().st_ino), (held, inode))
                if args[-1] == "out":
                    self.assertIn("0 archived, 2 already there, 1 failed", done.stderr)
        self.fails(nc3z("archive", "--force", *tree, cwd=self.dir), 1, "0.nc.nc3z. exists, and has several versions.*prune")
        self.assertEqual(edited.read_bytes(), held)
        self.assertNotEqual(other.stat().st_ino, inode)
        # A digest finds edited values, too.
        self.ok(nc3z("set", other, "bytes", "=3"))
        done = self.fails(nc3z("archive", "--skip-existing=digest", *tree, cwd=self.dir), 1, "1.nc.nc3z. exists, and has several versions")
        self.assertIn("2 of 3 files failed", done.stderr)
        # The versions are dropped on request.
        self.ok(nc3z("prune", "--in-place", edited, "--keep", "2"))
        self.fails(nc3z("archive", "--force", *tree, cwd=self.dir), 1, "1 of 3 files failed:\n  in/1/1.nc")
        self.ok(nc3z("verify", edited, "--against", self.dir / "in/0/0.nc"))

    def test_killed_and_run_again(self):
        """SIGKILL at random moments, each time the same command again: in the end all is there once, and nothing else."""
        files = 24
        self.tree(files)
        args = ("archive", "-r", "--skip-existing", "--log", "log", "--manifest", "sha256", "in", "-o", "out")
        begin = time.monotonic()
        self.ok(nc3z("archive", "-r", "in", "-o", "once", cwd=self.dir))
        moments = Moments(7, (time.monotonic() - begin) / 3)
        killed, runs = 0, kills(8)
        for _ in range(runs):
            killed += moments.kill(start(*args, cwd=self.dir)) == -signal.SIGKILL
            moments.seconds = (time.monotonic() - begin) / (3 + runs)
        tell_kills("archive -r --skip-existing", killed, runs)
        done = self.ok(nc3z(*args, cwd=self.dir))
        self.assertRegex(done.stderr, r"nc3z: \d+ archived|already there")
        self.assertEqual(self.archives(), self.archives("once"))
        for name in self.archives():
            self.assertTrue((self.dir / "out" / name).read_bytes() == (self.dir / "once" / name).read_bytes(), name)
        self.assertEqual([p for p in (self.dir / "out").rglob(".*")], [])
        self.all_exact()
        self.ok(nc3z("verify", "--no-fixity-log", "--manifest", "out", cwd=self.dir))
        states = {}
        for line in (self.dir / "log").read_bytes().splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue        # a line that a kill cut off
            if "log" in entry:
                continue        # the first or the last line of a run
            states.setdefault(entry["file"], []).append(entry["state"])
        passed = {name: states.pop(name) for name in list(states) if states[name][-1] == "passed over"}
        self.assertEqual((len(states), len(passed)), (files, 5))
        self.assertTrue(all(s[-1] in ("archived", "present") for s in states.values()), states)

    def test_resumed_by_the_log(self):
        self.tree(6)
        (self.dir / "in/bad.nc").write_bytes(b"CDF\x01" + b"\xff" * 60)
        odd = classic(self.dir / "in" / os.fsdecode(b"od\xff\nd.nc"), 99)
        args = ("archive", "-r", "--log", "log", "--resume", "log", "in", "-o", "out")
        (self.dir / "log").touch()
        self.fails(nc3z(*args, cwd=self.dir), 4)
        first, *entries, last = [json.loads(line) for line in (self.dir / "log").read_bytes().splitlines()]
        self.assertEqual((first["log"], last["log"], last["complete"]), ("begin", "end", True))
        self.assertEqual(sorted(e["state"] for e in entries), ["archived"] * 7 + ["failed"] + ["passed over"] * 5)
        reasons = {e["file"]: e["reason"] for e in entries if e["state"] == "passed over"}
        self.assertEqual(reasons["in/empty.nc"], "empty file")
        self.assertEqual(reasons["in/pipe.nc"], "named pipe")
        self.assertTrue(all("archive" not in e for e in entries if e["state"] == "passed over"))
        good = next(e for e in entries if e["file"] == "in/0/0.nc")
        self.assertEqual(good["original_sha256"], sha256(self.dir / "in/0/0.nc"))
        self.assertEqual(good["stored_bytes"], (self.dir / "out/0/0.nc.nc3z").stat().st_size)
        self.assertEqual(bytes.fromhex(next(e for e in entries if "file_hex" in e)["file_hex"]), b"in/" + os.fsencode(odd.name))
        # An archive that is gone is made again, whatever the log says.
        (self.dir / "out/1/1.nc.nc3z").unlink()
        shutil.copy(self.dir / "in/0/0.nc", self.dir / "in/bad.nc")
        done = self.ok(nc3z(*args, cwd=self.dir))
        self.assertIn("nc3z: 2 archived, 6 already there", done.stderr)
        self.fails(nc3z("archive", "-r", "--resume", "in/readme.txt", "in", "-o", "out", cwd=self.dir), 1, "is not the log of a run")

    def test_interrupted_tree_keeps_what_is_done(self):
        files = 300 if NIGHT else 70
        self.tree(files)
        process = start("archive", "-r", "--log", "log", "in", "-o", "out", cwd=self.dir)
        while process.poll() is None and len(self.archives() if (self.dir / "out").exists() else ()) < 3:
            time.sleep(0.002)
        process.send_signal(signal.SIGTERM)
        code, err = finish(process)
        self.assertEqual(code, 130, err)
        self.assertRegex(err, r"nc3z: \d+ archived.* not tried")
        self.assertIn("the same command continues", err)
        self.assertNotRegex(err, r"\d failed")
        _, *lines, last = [json.loads(line) for line in (self.dir / "log").read_bytes().splitlines()]
        self.assertEqual((last["log"], last["complete"]), ("end", False))
        states = [line["state"] for line in lines]
        self.assertEqual(len(states), files + 5, "every file of the tree is accounted for")
        self.assertLessEqual(set(states), {"archived", "passed over", "interrupted", "not tried"})
        self.assertEqual([p for p in (self.dir / "out").rglob(".*")], [])
        self.ok(nc3z("archive", "-r", "in", "-o", "out", cwd=self.dir))
        self.assertEqual(len(self.archives()), files)

    def test_too_many_errors(self):
        self.tree(1)
        for i in range(20):
            (self.dir / f"in/bad{i}.nc").write_bytes(b"CDF\x01" + b"\xff" * 60)
        done = self.fails(nc3z("archive", "-r", "--threads", 1, "--max-errors", 3, "in", "-o", "out", cwd=self.dir), 1)
        self.assertRegex(done.stderr, r"3 failed, 1[78] not tried")
        self.assertEqual(nc3z("archive", "-r", "--max-errors", 0, "in", cwd=self.dir).returncode, 2)

    def test_dry_run(self):
        self.tree()
        before = sorted(self.dir.rglob("*"))
        done = self.ok(nc3z("archive", "-r", "--dry-run", "in", "-o", "out", cwd=self.dir))
        self.assertIn("in/1/1.nc would be archived as out/1/1.nc.nc3z\n", done.stderr)
        self.assertIn(f"nc3z: 3 to archive, {Others.PASSED}", done.stderr)
        self.assertEqual(sorted(self.dir.rglob("*")), before)
        self.ok(nc3z("archive", "--parents", "in/1/1.nc", "-o", "out/1/1.nc.nc3z", cwd=self.dir))
        self.fails(nc3z("archive", "--dry-run", "in/1/1.nc", "-o", "out/1/1.nc.nc3z", cwd=self.dir), 1, "exists.*--skip-existing")
        done = self.ok(nc3z("archive", "-r", "--dry-run", "in", "-o", "out", cwd=self.dir))
        self.assertIn("nc3z: 2 to archive, 1 already there", done.stderr)


class Sharing(Trees):
    def test_lists(self):
        self.tree(6)
        names = ["in/0/0.nc", "in/1/1.nc", "in/2/2.nc"]
        (self.dir / "list").write_text("\n".join(names) + "\n\n")
        self.ok(nc3z("archive", "--files-from", "list", "-o", "out", cwd=self.dir))
        self.assertEqual(self.archives(), [f"{n}.nc3z" for n in names])
        zero = "\0".join(names[:2]).encode() + b"\0"
        self.ok(nc3z("archive", "--files-from", "-", "-0", "-o", "out0", cwd=self.dir, input=zero))
        self.assertEqual(self.archives("out0"), [f"{n}.nc3z" for n in names[:2]])
        self.ok(nc3z("archive", "--files-from", "list", cwd=self.dir))
        self.assertTrue((self.dir / "in/0/0.nc.nc3z").exists())
        for bad in ("../x.nc", str(self.dir / "in/0/0.nc")):
            (self.dir / "list").write_text(f"{bad}\nin/0/3.nc\n")
            self.fails(nc3z("archive", "--files-from", "list", "-o", "out2", "--skip-existing", cwd=self.dir), 1, "relative")
            self.assertEqual(self.archives("out2"), ["in/0/3.nc.nc3z"])
        self.fails(nc3z("archive", "--files-from", "none", cwd=self.dir), 1, "none")
        self.assertEqual(nc3z("archive", cwd=self.dir).returncode, 2)

    def test_two_runs_with_the_same_work(self):
        """The second run finds the archive of the first one: that is not a failure."""
        files = 40 if NIGHT else 24
        self.tree(files)
        args = ("archive", "-q", "-r", "--skip-existing", "in", "-o", "out")
        runs = [start(*args, cwd=self.dir) for _ in range(3)]
        for process in runs:
            code, err = finish(process)
            self.assertEqual((code, [line for line in err.splitlines() if "error" in line]), (0, []))
        self.assertEqual(len(self.archives()), files)
        self.all_exact()

    def test_shards_at_once(self):
        """Four runs share a tree: together they do all of it, and no file twice."""
        self.tree(30)
        args = ("archive", "-r", "in", "-o", "out", "--log")
        runs = [start(*args, f"log{i}", "--shard", f"{i}/4", cwd=self.dir) for i in range(1, 5)]
        for process in runs:
            self.assertEqual(finish(process)[0], 0)
        lines = [json.loads(line) for i in range(1, 5) for line in (self.dir / f"log{i}").read_bytes().splitlines()]
        done = [line["file"] for line in lines if "file" in line]
        self.assertEqual((len(done), len(set(done))), (35, 35), "those passed over are accounted for once, too")
        self.all_exact()
        done = self.ok(nc3z("archive", "-r", "--skip-existing", "--manifest", "sha256", "in", "-o", "out", cwd=self.dir))
        self.assertIn("30 already there", done.stderr)
        self.ok(nc3z("verify", "--no-fixity-log", "--manifest", "out", cwd=self.dir))

    def shards(self, *parts, count=4):
        for i in parts:
            self.ok(nc3z("archive", "-r", "in", "-o", "out", "--log", f"log{i}", "--shard", f"{i}/{count}", cwd=self.dir))

    def manifest(self, *logs, code=0, words=None):
        logs = [word for log in logs for word in ("--from-log", log)]
        (self.dir / "out/SHA256SUMS").unlink(missing_ok=True)
        done = nc3z("hash", "--manifest", "out", *logs, cwd=self.dir)
        self.assertEqual(done.returncode, code, done.stderr)
        if words:
            self.assertRegex(done.stderr, words)
        return (self.dir / "out/SHA256SUMS").exists()

    def test_a_log_begins_and_ends(self):
        self.tree(6)
        env = dict(os.environ, SLURM_ARRAY_JOB_ID="77", SLURM_ARRAY_TASK_ID="3")
        self.ok(nc3z("archive", "-r", "in", "-o", "out", "--log", "log", cwd=self.dir, env=env))
        lines = [json.loads(line) for line in (self.dir / "log").read_text().splitlines()]
        first, *files, last = lines
        self.assertEqual((first["log"], first["planned"], first["job"], first["inputs"], first["output"]), ("begin", 11, "77_3", ["in"], "out"))
        self.assertEqual(first["arguments"][1:], ["archive", "-r", "in", "-o", "out", "--log", "log"])
        self.assertTrue(first["host"] and first["tool"].startswith("nc3z "))
        self.assertRegex(first["time"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual((last["log"], last["complete"], last["counts"]), ("end", True, {"archived": 6, "passed over": 5}))
        self.assertEqual(({line["run"] for line in lines}, len(files)), ({first["run"]}, 11))
        self.assertTrue(self.manifest("log"))

    def test_a_shard_without_a_log_fails_the_manifest(self):
        self.tree(30)
        self.shards(1, 2, 4)
        self.assertFalse(self.manifest("log1", "log2", "log4", code=1, words="the log of the part 3/4 is missing"))
        self.shards(3)
        self.assertTrue(self.manifest("log1", "log2", "log3", "log4"))
        # An archive that no log has.
        shutil.copy(self.dir / "out/0/0.nc.nc3z", self.dir / "out/more.nc.nc3z")
        self.manifest("log1", "log2", "log3", "log4", code=1, words="more.nc.nc3z: an archive that no log lists")

    def test_a_log_without_its_end_fails_the_manifest(self):
        self.tree(8)
        self.ok(nc3z("archive", "-r", "in", "-o", "out", "--log", "log", cwd=self.dir))
        lines = (self.dir / "log").read_text().splitlines(keepends=True)
        for name, kept, words in (("killed", lines[:5], "no last line"), ("torn", [*lines[:5], lines[5][:30]], "no last line"),
                                  ("old", [line for line in lines if '"file"' in line], "no first line"), ("empty", [], "is empty"),
                                  ("hole", [*lines[:5], *lines[6:]], "lacks lines: 13 files were planned, and 12")):
            with self.subTest(name):
                (self.dir / name).write_text("".join(kept))
                self.assertFalse(self.manifest(name, code=1, words=words))
        # The run was repeated with the same log.
        (self.dir / "again").write_text("".join(lines[:5]))
        self.ok(nc3z("archive", "-r", "in", "-o", "out", "--skip-existing", "--log", "again", cwd=self.dir))
        self.assertTrue(self.manifest("again"))

    def test_a_killed_run_fails_the_manifest(self):
        for i in range(3):
            shutil.copy(CLASSIC / "coads_climatology.cdf", classic(self.dir / f"in/{i}.nc", i))
        process = start("archive", "-r", "--threads", 1, "--preset", "max", "in", "-o", "out", "--log", "log", cwd=self.dir)
        wait_for(lambda: (self.dir / "log").exists() and b'"archived"' in (self.dir / "log").read_bytes())
        process.kill()
        finish(process)
        self.assertFalse(self.manifest("log", code=1, words="no last line"))

    def test_files_on_tape_are_in_the_log(self):
        self.tree(3)
        with open(self.dir / "in/stub.nc", "wb") as f:
            f.truncate(1 << 20)
        self.assertEqual(nc3z("archive", "-r", "in", "-o", "out", "--log", "log", "--on-tape", "skip", cwd=self.dir).returncode, 1)
        lines = [json.loads(line) for line in (self.dir / "log").read_text().splitlines()]
        self.assertEqual([line["file"] for line in lines if line.get("state") == "on tape"], ["in/stub.nc"])
        self.assertEqual(lines[-1]["counts"]["on tape"], 1)
        self.manifest("log", code=1, words="in/stub.nc: .*no data on disk")

    def test_unlisted_archives_fail_the_manifest(self):
        self.tree()
        self.ok(nc3z("archive", "-r", "--manifest", "sha256", "in", "-o", "out", cwd=self.dir))
        self.ok(nc3z("verify", "--no-fixity-log", "--manifest", "out", cwd=self.dir))
        shutil.copy(self.dir / "out/0/0.nc.nc3z", self.dir / "out/0/more.nc3z")
        done = nc3z("verify", "--no-fixity-log", "--manifest", "out", cwd=self.dir)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"0/more.nc3z: is not listed", done.stdout)


if __name__ == "__main__":
    unittest.main()

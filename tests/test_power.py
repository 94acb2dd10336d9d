"""Loss of power during a commit, or while a bundle grows: of what was not synced, any sectors are on disk and any are not. The archive then has the old version,
or the new one, and the bundle the old files or the new ones; after success they have the new ones. `faults.c` records the calls of the real program, and the states are made from them."""

import itertools
import os
import random
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

from common import CLASSIC, NIGHT, Case, nc3z, sha256, without_slots

SECTOR = 512
STATES = 40 if NIGHT else 4     # random states after each call
SEED = 20_261_127


def setUpModule():
    global SHIM
    if not shutil.which("cc"):
        raise unittest.SkipTest("no C compiler")
    shared = Path(tempfile.mkdtemp(prefix="nc3z-test-"))
    unittest.addModuleCleanup(shutil.rmtree, shared, ignore_errors=True)
    SHIM = shared / "faults.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", SHIM, Path(__file__).with_name("faults.c")], check=True)


class Disk:
    """A file on a disk: what is synced, and what is not."""

    def __init__(self, data):
        self.synced, self.now, self.lengths, self.sectors = bytes(data), bytearray(data), {len(data)}, set()

    def call(self, what, at, data):
        if what == b"s":
            self.__init__(self.now)
            return
        if what == b"c":
            self.now = self.now[:at] + bytes(max(0, at - len(self.now)))
        else:
            self.now += bytes(max(0, at - len(self.now)))
            self.now[at:at + len(data)] = data
            self.sectors |= set(range(at // SECTOR, (at + len(data) - 1) // SECTOR + 1))
        self.lengths.add(len(self.now))

    def state(self, chosen, length):
        data = bytearray(self.synced[:length]) + bytes(max(0, length - len(self.synced)))
        for sector in chosen:
            part = slice(sector * SECTOR, min((sector + 1) * SECTOR, length))
            if part.start < length:
                data[part] = (bytes(self.now[part]) + bytes(SECTOR))[:part.stop - part.start]
        return bytes(data)

    def states(self, pick):
        sectors, lengths = sorted(self.sectors), sorted(self.lengths)
        if len(sectors) <= 3:
            subsets = [s for n in range(len(sectors) + 1) for s in itertools.combinations(sectors, n)]
            return {self.state(s, length) for s in subsets for length in lengths}
        subsets = [(), sectors, *([s for s in sectors if pick.random() < 0.5] for _ in range(STATES))]
        return {self.state(s, pick.choice(lengths)) for s in subsets}


def all_calls(record):
    raw, at = record.read_bytes(), 0
    while at < len(raw):
        ino, offset, length = struct.unpack_from("<QQQ", raw, at + 1)
        yield ino, raw[at:at + 1], offset, raw[at + 25:at + 25 + length]
        at += 25 + length


def calls(record, inode):
    return (call[1:] for call in all_calls(record) if call[0] == inode)


class Power(Case):
    def lost(self, archive, *args):
        """Runs the command on a copy; returns the contents before and after it, and each state of a loss of power by the content."""
        data = archive.read_bytes()
        work = self.dir / "work"
        work.mkdir(exist_ok=True)
        path, record = work / archive.name, self.dir / "record"
        path.write_bytes(data)
        record.unlink(missing_ok=True)
        before = self.content(path)
        inode = path.stat().st_ino
        env = dict(os.environ, LD_PRELOAD=str(SHIM), NC3Z_FAULT_DIR=str(work), NC3Z_RECORD=str(record))
        self.ok(nc3z(*(path if a is None else a for a in args), env=env))
        after = self.content(path)
        final = path.read_bytes()
        self.assertNotEqual(before, after)
        disk, states, pick = Disk(data), set(), random.Random(SEED)
        for call in calls(record, inode):
            disk.call(*call)
            states |= disk.states(pick)
        self.assertEqual(bytes(disk.now), final, "the record is complete")
        seen = set()
        for number, state in enumerate(sorted(states)):
            with self.subTest(args=args[0], state=number, length=len(state)):
                path.write_bytes(state)
                found = self.content(path)
                self.assertIn(found, (before, after))
                seen.add(found)
        self.assertEqual(seen, {before, after})
        for state in disk.states(pick):
            path.write_bytes(state)
            self.assertEqual(self.content(path), after, "success was reported")
        print(f"\n{args[0]}: {len(states)} states", flush=True)
        path.write_bytes(final)
        return path

    def content(self, path):
        """What the archive is, by its newest version: the file, its tags and its parity. What the bundle is: its files."""
        if path.name.endswith(".bundle.nc3z"):
            out = self.dir / "files"
            shutil.rmtree(out, ignore_errors=True)
            self.ok(nc3z("restore", "-r", path, "-o", out))
            return tuple(sorted((found.name, sha256(found)) for found in out.rglob("*.nc")))
        out = self.dir / "content.nc"
        self.ok(nc3z("restore", "-f", path, "-o", out))
        listed = self.ok(nc3z("log", "--json", path)).stdout
        return sha256(out), listed

    def test_commits(self):
        archive = self.dir / "a.nc3z"
        self.ok(nc3z("archive", CLASSIC / "winds.nc", "-o", archive))
        # The short form is replaced by a new file; from then on commits append.
        self.ok(nc3z("attr", archive, ":history=first"))
        # The end of the archive moves by a few bytes from commit to commit, and so over the border of a sector.
        for n in range(6):
            archive = Path(shutil.copy2(self.lost(archive, "attr", None, f":history={'x' * (37 * n)}"), archive))
        shutil.copy2(self.lost(archive, "tag", None, "good"), archive)

    def test_appending_to_a_bundle(self):
        data = self.dir / "data"
        data.mkdir()
        for n in range(9):
            shutil.copy(CLASSIC / ("winds.nc" if n % 2 else "numeric.nc"), data / f"m{n}.nc")
        bundle = self.dir / "set.bundle.nc3z"
        self.ok(nc3z("bundle", "--pack", *(data / f"m{n}.nc" for n in range(3)), "-o", bundle))
        for n in (3, 5, 7):
            shutil.copy2(self.lost(bundle, "bundle", data / f"m{n}.nc", data / f"m{n + 1}.nc", "-o", None, "--append"), bundle)

    def test_an_archive_written_to_a_pipe(self):
        """It has no commit slots, so that the first commit writes that of the first version first."""
        archive = self.dir / "a.nc3z"
        self.ok(nc3z("archive", CLASSIC / "winds.nc", "-o", archive))
        self.ok(nc3z("attr", archive, ":history=first"))
        self.ok(nc3z("prune", "--keep", "2", archive, "-o", self.dir / "long.nc3z"))
        archive.write_bytes(without_slots((self.dir / "long.nc3z").read_bytes()))
        for n in range(3):
            shutil.copy2(self.lost(archive, "attr", None, f":history={'y' * (170 * n + 1)}"), archive)
        # After success, an end that was cut off or damaged is refused, and the older version is never shown.
        data = archive.read_bytes()
        for cut in (1, 8, 100, 200, 500):
            for state in (data[:-cut], data[:-cut] + bytes(cut)):
                archive.write_bytes(state)
                self.assertEqual(nc3z("restore", "-f", archive, "-o", self.dir / "o.nc").returncode, 3)


class Names:
    """The names of a tree on a disk. A name that was made, moved or removed is surely on the disk once its directory was synced. Until then it may be there and
    may not, one by one; a move is one change."""

    def __init__(self, files):
        self.files, self.directories, self.pending = dict(files), set(), []

    @staticmethod
    def parents(change):
        return {os.path.dirname(path) for path in change[1:]}

    def sync(self, directory):
        later = []
        for change in self.pending:
            if directory in self.parents(change):
                self.apply(self, [change])
            else:
                later.append(change)
        self.pending = later

    @staticmethod
    def apply(state, changes):
        for what, path, *to in changes:
            if what == b"d":
                state.directories.add(path)
            elif what == b"n":
                state.files[path] = path
            elif what == b"u":
                state.files.pop(path, None)
            elif path in state.files:
                state.files[to[0]] = state.files.pop(path)

    def states(self, pick):
        choices = [[], self.pending, *([c for c in self.pending if pick.random() < 0.5] for _ in range(STATES))]
        for chosen in choices:
            state = Names(self.files)
            state.directories = set(self.directories)
            self.apply(state, chosen)
            yield state


class Moved(Case):
    """Loss of power while originals are moved into a trash, and back: no file is in neither place, and the next run continues."""

    def setUp(self):
        super().setUp()
        self.tree = self.dir / "tree"
        for n in range(4):
            path = self.tree / f"data/{n % 2}/{n}.nc"
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CLASSIC / ("winds.nc" if n % 2 else "numeric.nc"), path)
        self.ok(nc3z("archive", "-q", "-r", self.tree / "data", "-o", self.dir / "out"))
        self.before = {str(p.relative_to(self.tree / "data")): p.read_bytes() for p in (self.tree / "data").rglob("*.nc")}

    def run_here(self, *args, **more):
        return self.ok(nc3z("retire", "-q", *args, "--trash", self.tree / "trash", **more))

    def found(self, directory):
        return {str(p.relative_to(self.tree / directory)): p.read_bytes() for p in (self.tree / directory).rglob("*.nc")}

    def lost(self, *args):
        """Records a run, and yields each state of a loss of power, made on disk."""
        files = {str(p): p.read_bytes() for p in self.tree.rglob("*") if p.is_file()}
        directories = {str(p) for p in self.tree.rglob("*") if p.is_dir()}
        record = self.dir / "record"
        record.unlink(missing_ok=True)
        env = dict(os.environ, LD_PRELOAD=str(SHIM), NC3Z_FAULT_DIR=str(self.dir), NC3Z_RECORD=str(record))
        self.run_here(*args, env=env)
        place_of = {os.stat(d).st_ino: d for d, _, _ in os.walk(self.dir)}
        journal = self.tree / "trash/retired.jsonl"
        number = journal.stat().st_ino
        disk, names, pick, states = Disk(files.get(str(journal), b"")), Names({f: f for f in files}), random.Random(SEED), {}
        names.directories = directories
        names.files.pop(str(journal), None)
        if str(journal) in files:
            names.files[str(journal)] = str(journal)
        for inode, what, at, data in all_calls(record):
            if inode == 0:
                change = (what, *(os.fsdecode(name) for name in data.split(b"\0")))
                if all(path.startswith(str(self.tree)) for path in change[1:]):
                    names.pending.append(change)
            elif inode == number:
                disk.call(what, at if what != b"w" else len(disk.now), data)
            elif what == b"s" and inode in place_of:
                names.sync(place_of[inode])
            for state in names.states(pick):
                for content in disk.states(pick):
                    key = (tuple(sorted(state.files.items())), tuple(sorted(state.directories)), content)
                    states.setdefault(key, None)
        self.assertEqual(bytes(disk.now), journal.read_bytes(), "the record is complete")
        print(f"\nretire {args[0]}: {len(states)} states", flush=True)
        for held, made, content in states:
            shutil.rmtree(self.tree)
            for directory in sorted(made):
                os.makedirs(directory, exist_ok=True)
            for path, source in held:
                with self.subTest(path=path):
                    self.assertTrue(os.path.isdir(os.path.dirname(path)), "the name is lost with its directory")
                Path(path).write_bytes(content if source == str(journal) else files[source])
            yield

    def test_no_file_is_in_neither_place(self):
        data, out = self.tree / "data", self.dir / "out"
        for args in ((data, out), ("--undo",)):
            for _ in self.lost(*args):
                here, there = self.found("data"), self.found("trash/files")
                self.assertEqual({**here, **there}, self.before)
                self.assertEqual(set(here) & set(there), set())
                if (self.tree / "trash/retired.jsonl").exists():
                    self.run_here("--undo")
                    self.assertEqual(self.found("data"), self.before, "the journal knows each file of the trash")
                self.run_here(data, out)
                self.assertEqual(self.found("trash/files"), self.before)


if __name__ == "__main__":
    unittest.main()

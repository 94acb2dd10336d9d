"""Faults put in at every call: reads, writes, syncs, cuts and renames of the real program fail one after the other, are cut short or
interrupted. Nothing is lost, nothing half done stands under a final name, and the message says what the system said.

`faults.c` is loaded before the C library; the rename, which does not go through it, fails by way of strace. NC3Z_FAULT_CALLS limits
how many calls of a kind are tried: the first, the last, and some between."""

import errno
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from common import NC3Z, Case, nc3z, sha256, synthetic, without_slots

MOST = int(os.environ.get("NC3Z_FAULT_CALLS", "8"))
WORDS = {errno.ENOSPC: "No space left on device", errno.EIO: "Input/output error"}


def setUpModule():
    global SHARED, SHIM, SOURCE, ARCHIVE, PARITY, BAD
    if not shutil.which("cc"):
        raise unittest.SkipTest("no C compiler")
    SHARED = Path(tempfile.mkdtemp(prefix="nc3z-test-"))
    unittest.addModuleCleanup(shutil.rmtree, SHARED, ignore_errors=True)
    SHIM = SHARED / "faults.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", SHIM, Path(__file__).with_name("faults.c")], check=True)
    SOURCE = synthetic(SHARED / "s.nc", 4)
    ARCHIVE, PARITY, BAD = SHARED / "s.nc3z", SHARED / "p.nc3z", SHARED / "b.nc3z"
    subprocess.run([NC3Z, "archive", SOURCE, "-o", ARCHIVE], check=True, capture_output=True)
    subprocess.run([NC3Z, "archive", "--parity", "2%", SOURCE, "-o", PARITY], check=True, capture_output=True)
    raw = bytearray(ARCHIVE.read_bytes())
    raw[len(raw) // 3:len(raw) // 3 + 5000] = bytes(5000)
    BAD.write_bytes(raw[:-200])


def chosen(count):
    """The calls that are made to fail."""
    if count <= MOST:
        return list(range(1, count + 1))
    third = MOST // 3
    step = max(1, (count - 2 * third) // third)
    return sorted({*range(1, third + 1), *range(third + 1, count - third + 1, step), *range(count - third + 1, count + 1)})


class Inject(Case):
    def run_with(self, fault, *args):
        log = self.dir.with_name(self.dir.name + ".log")
        env = dict(os.environ, LD_PRELOAD=str(SHIM), NC3Z_FAULT=fault, NC3Z_FAULT_DIR=str(self.dir), NC3Z_FAULT_LOG=str(log))
        done = nc3z(*args, env=env)
        self.assertNotIn("panicked", done.stderr)
        self.assertIn(done.returncode, (0, 1, 3), f"{fault}: {done.stderr}")
        counts = {name: int(n) for name, n in (line.split() for line in log.read_text().splitlines())}
        log.unlink()
        return done, counts

    def every_call(self, args, check, ops=("write", "sync", "cut", "read"), reset=lambda: None):
        """Fails each call with ENOSPC from then on (writes), and alone with EIO; `check` examines the remaining files."""
        reset()
        done, counts = self.run_with("none 0 0", *args)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        check(done, None, "all is well")
        tried = 0
        for op in ops:
            kinds = (errno.EIO, -errno.ENOSPC) if op == "write" else (errno.EIO,)
            for n in chosen(counts[op]):
                for kind in kinds:
                    reset()
                    done, _ = self.run_with(f"{op} {n} {kind}", *args)
                    with self.subTest(args=args[0], op=op, n=n, kind=kind, stderr=done.stderr[-300:]):
                        check(done, op, WORDS[abs(kind)])
                    tried += 1
            for how in ("short", "eintr") if op in ("write", "read") else ("eintr",):
                reset()
                done, _ = self.run_with(f"{op} 0 {how}", *args)
                with self.subTest(args=args[0], op=op, how=how, stderr=done.stderr[-300:]):
                    check(done, None, "short writes and interruptions are not faults")
        print(f"\n{args[0]}: {tried} faults; calls {counts}", flush=True)
        return counts

    def whole_or_nothing(self, output, expected, inputs, fine=0, soft=(), again=()):
        """A check for commands that make a new file. A fault of a call in `soft` may cost a part of it, one in `again` nothing: it is
        tried once more."""
        digests = {path: sha256(path) for path in inputs}

        def check(done, op, words):
            try:
                look(done, op, words)
            finally:
                output.unlink(missing_ok=True)

        def look(done, op, words):
            names = sorted(path.name for path in (*inputs, *([output] if output.exists() else [])))
            self.assertEqual(self.names(), names)
            for path, digest in digests.items():
                self.assertEqual(sha256(path), digest)
            if op is None:
                self.assertEqual(done.returncode, fine)
                self.assertEqual(sha256(output), expected())
            elif done.returncode == 1:
                self.assertIn(words, done.stderr)
                # Only where the rename was done, and the directory could not be synced, is there a file: the whole one.
                if output.exists():
                    self.assertEqual((op, sha256(output)), ("sync", expected()))
            elif op in again:
                self.assertEqual((done.returncode, sha256(output)), (fine, expected()))
            else:
                self.assertIn(op, soft, "success in spite of a fault")
                if output.exists():
                    self.ok(nc3z("verify", output))

        return check

    def test_archive(self):
        source, output = Path(shutil.copy2(SOURCE, self.dir)), self.dir / "o.nc3z"
        for extra, like in (((), ARCHIVE), (("--parity", "2%"), PARITY)):
            check = self.whole_or_nothing(output, lambda like=like: sha256(like), [source])
            counts = self.every_call(("archive", "--threads", 1, *extra, source, "-o", output), check)
            self.assertTrue(counts["write"] > 1 and counts["sync"] > 1 and counts["read"] > 3, counts)

    def test_existing_target_is_kept(self):
        source, output = Path(shutil.copy2(SOURCE, self.dir)), self.dir / "o.nc3z"
        output.write_bytes(b"precious")
        for fault in ("write 1 5", "write 2 -28", "sync 2 5", "read 3 5"):
            done, _ = self.run_with(fault, "archive", "--force", "--remove-source", source, "-o", output)
            self.fails(done, 1)
            self.assertEqual((output.read_bytes(), self.names()), (b"precious", ["o.nc3z", "s.nc"]))

    def test_restore(self):
        archive, output = Path(shutil.copy2(ARCHIVE, self.dir)), self.dir / "back.nc"
        check = self.whole_or_nothing(output, lambda: sha256(SOURCE), [archive], again=("read",))
        counts = self.every_call(("restore", "--threads", 1, archive, "-o", output), check)
        self.assertTrue(counts["write"] > 1 and counts["read"] > 3, counts)

    def test_repair(self):
        """A sector that cannot be read costs its tile; a disk that cannot be written ends the repair."""
        bad, output = Path(shutil.copy2(BAD, self.dir)), self.dir / "good.nc3z"
        self.assertEqual(nc3z("repair", bad, "-o", output).returncode, 3)
        expected = sha256(output)
        output.unlink()
        check = self.whole_or_nothing(output, lambda: expected, [bad], fine=3, soft=("read",))
        self.every_call(("repair", "--threads", 1, bad, "-o", output), check)

    def test_recompress(self):
        archive = self.dir / "s.nc3z"
        before = sha256(ARCHIVE)
        goal = []

        def check(done, op, words):
            self.assertEqual(self.names(), ["s.nc3z"])
            now = sha256(archive)
            if op is None:
                self.assertEqual(done.returncode, 0)
                goal.append(now)
                self.assertEqual(len(set(goal)), 1)
            elif op == "read" and done.returncode == 0:
                # The two reads that open an archive are tried once more.
                self.assertEqual(now, goal[0])
            else:
                self.assertEqual(done.returncode, 1, "success in spite of a fault")
                self.assertIn(words, done.stderr)
                self.assertIn(now, (before, goal[0]) if op == "sync" else (before,))

        args = ("recompress", "--preset", "fast", "--parity", "2%", "--threads", 1, archive)
        self.every_call(args, check, reset=lambda: shutil.copy2(ARCHIVE, archive))

    def test_parity_in_place(self):
        """Adding appends, removing cuts off: whatever fails, the archive is there, and can be given parity again."""
        archive = self.dir / "s.nc3z"
        plain, goal = ARCHIVE.read_bytes(), PARITY.read_bytes()

        def added(done, op, words):
            now = archive.read_bytes()
            self.assertTrue(without_slots(now)[:len(plain)] == without_slots(plain), "what was there is changed")
            if op is None:
                self.assertTrue(done.returncode == 0 and now == goal)
                return
            # Unreadable bytes are damage for a check of the archive, unless the second read succeeds.
            self.assertIn(done.returncode, (0, 1, 3) if op == "read" else (1,), "success in spite of a fault")
            if done.returncode:
                self.assertIn(words, done.stderr)
            else:
                self.assertTrue(now == goal)
            self.ok(nc3z("restore", "--force", archive, "-o", self.dir / "r.nc"))
            self.assertEqual(sha256(self.dir / "r.nc"), sha256(SOURCE))
            (self.dir / "r.nc").unlink()
            if now != goal:
                self.ok(nc3z("parity", "add", "--share", "2%", archive))
                self.assertTrue(archive.read_bytes() == goal)

        args = ("parity", "add", "--share", "2%", "--threads", 1, archive)
        self.every_call(args, added, reset=lambda: archive.write_bytes(plain))

        def removed(done, op, words):
            now = archive.read_bytes()
            if op is None:
                self.assertTrue(done.returncode == 0 and now == plain)
            else:
                # Packets of the parity that cannot be read do not matter any more.
                allowed = (0, 1, 3) if op == "read" else (1,)
                self.assertIn(done.returncode, allowed, "success in spite of a fault")
                self.assertTrue(now == plain if done.returncode == 0 else now in (plain, goal))
                if done.returncode == 1:
                    self.assertIn(words, done.stderr)

        self.every_call(("parity", "remove", archive), removed, reset=lambda: archive.write_bytes(goal))

    def test_mending_in_place(self):
        """Whatever fails while lost sectors are written, the work can be begun again."""
        archive = self.dir / "p.nc3z"
        data = PARITY.read_bytes()
        bad = data[:9000] + bytes(4096) + data[13096:]

        def check(done, op, words):
            if op is None:
                self.assertEqual(done.returncode, 0)
            elif done.returncode == 0:
                # A sector that cannot be read is lost, and mended.
                self.assertEqual(op, "read")
            else:
                # Bytes that cannot be read after the repair are damage for the last check.
                self.assertIn(done.returncode, (1, 3) if op == "read" else (1,))
                self.assertIn(words, done.stderr)
                self.ok(nc3z("repair", "--in-place", archive))
            self.assertTrue(archive.read_bytes() == data)

        args = ("repair", "--in-place", "--threads", 1, archive)
        self.every_call(args, check, reset=lambda: archive.write_bytes(bad))

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_rename(self):
        source, archive = Path(shutil.copy2(SOURCE, self.dir)), Path(shutil.copy2(ARCHIVE, self.dir))
        bad, before = Path(shutil.copy2(BAD, self.dir)), sha256(ARCHIVE)
        calls = "rename,renameat,renameat2"
        commands = (("archive", source, "-o", self.dir / "o"), ("archive", "--force", source, "-o", archive),
                    ("restore", archive, "-o", self.dir / "o"), ("repair", bad, "-o", self.dir / "o"),
                    ("recompress", "--preset", "fast", archive), ("recompress", archive, "-o", self.dir / "o"))
        for number in ("EIO", "ENOSPC"):
            for args in commands:
                with self.subTest(number=number, args=args[0]):
                    strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={calls}:error={number}"]
                    done = subprocess.run([*strace, NC3Z, *map(str, args)], capture_output=True, text=True)
                    if "ptrace" in done.stderr:
                        self.skipTest("strace may not trace here")
                    self.fails(done, 1, WORDS[getattr(errno, number)])
                    self.assertEqual(self.names(), ["b.nc3z", "s.nc", "s.nc3z"])
                    self.assertEqual(sha256(archive), before)


if __name__ == "__main__":
    unittest.main()

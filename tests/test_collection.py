"""A collection as archivists have them, and what happens to long runs: kills, stops, a full disk, several runs at once.

    NC3Z_FILES=2000 NC3Z_KILLS=20 NC3Z=target/release/nc3z .venv/bin/python tests/test_collection.py

In the end every classic file is archived and verified once, log and manifest are complete, and nothing else is left.
"""

import collections
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from common import CLASSIC, NC3Z, Case, ferret_files, finish, kills, missing, nc3z, start, tell_kills, tmpfs

FILES = int(os.environ.get("NC3Z_FILES", 90))
# The largest file, in bytes, that is taken from testdata and Ferret's data.
REAL_MAX = 400_000
NOBODY = 65534


def real_files():
    files = [p for p in sorted(CLASSIC.glob("*")) if p.suffix in (".nc", ".cdf") and not p.name.startswith("bad_")] + ferret_files()
    return [p for p in files if p.stat().st_size <= REAL_MAX]


class Collections(Case):
    def setUp(self):
        super().setUp()
        self.pick = random.Random(11)

    def collection(self, files=FILES):
        """Copies of real files in nested directories, each a little different, links to them, and other objects of such trees."""
        root = self.dir / "in"
        sources = real_files()
        self.classic = {}
        for i in range(files):
            source = sources[i % len(sources)]
            directory = root / f"{1990 + i % 7}" / f"{i % 4:02}"
            directory.mkdir(parents=True, exist_ok=True)
            name = f"{source.stem}-{i}{source.suffix}"
            if i % 53 == 5:
                name = os.fsdecode(b"m\xe9t\xe9o-%d.nc" % i)      # Latin 1, no UTF-8.
            raw = bytearray(source.read_bytes())
            if len(raw) > 2000:
                raw[-4:] = i.to_bytes(4, "big")
            path = directory / name
            path.write_bytes(raw)
            self.classic[path.relative_to(root)] = bytes(raw)
        some = sorted(self.classic)
        for i, name in enumerate(some[:max(4, files // 20)]):
            (root / f"link-{i}.nc").symlink_to(name)
        os.link(root / some[0], root / "hard.nc")
        self.classic[Path("hard.nc")] = self.classic[some[0]]
        (root / "four.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(300))
        with gzip.open(root / "packed.nc.gz", "wb") as f:
            f.write(self.classic[some[1]])
        (root / "empty.nc").touch()
        (root / "readme.txt").write_text("what this is\n")
        # Everybody may read it, wherever this checkout is.
        outside = self.dir / "numeric.nc"
        shutil.copyfile(CLASSIC / "numeric.nc", outside)
        (root / "out-of-it.nc").symlink_to(outside)
        os.mkfifo(root / "pipe.nc")
        return root

    def expect_complete(self, out="out"):
        """Each classic file has one archive that gives it back, and there is nothing else."""
        expected = {str(name) + ".nc3z" for name in self.classic}
        found = {str(p.relative_to(self.dir / out)) for p in (self.dir / out).rglob("*") if not p.is_dir()}
        self.assertEqual(found - {"SHA256SUMS"}, expected)
        self.ok(nc3z("verify", "-r", "-q", out, cwd=self.dir))
        self.ok(nc3z("restore", "-r", "-q", out, "-o", "back", cwd=self.dir))
        for name, raw in self.classic.items():
            self.assertTrue((self.dir / "back" / name).read_bytes() == raw, name)
        shutil.rmtree(self.dir / "back")

    def states(self, *logs):
        """The states of each file in the logs, without lines that a kill has cut off."""
        states = collections.defaultdict(list)
        for log in logs:
            for line in (self.dir / log).read_bytes().splitlines():
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                if "log" in entry:
                    continue
                name = bytes.fromhex(entry["file_hex"]) if "file_hex" in entry else entry["file"].encode()
                states[name].append(entry["state"])
        return states

    def expect_log(self, *logs):
        states = {name: each for name, each in self.states(*logs).items() if each[-1] != "passed over"}
        self.assertEqual(set(states), {b"in/" + os.fsencode(name) for name in self.classic})
        for name, each in states.items():
            self.assertIn(each[-1], ("archived", "present"), name)
            self.assertLessEqual(each.count("archived"), 1, f"{name} was archived twice: {each}")

    def expect_manifest(self, *logs):
        self.ok(nc3z("hash", "--manifest", "out", *[a for log in logs for a in ("--from-log", log)], cwd=self.dir))
        self.ok(nc3z("verify", "--no-fixity-log", "--manifest", "out", cwd=self.dir))
        listed = (self.dir / "out/SHA256SUMS").read_bytes().count(b"\n")
        self.assertEqual(listed, len(self.classic))

    def once(self, *args):
        begin = time.monotonic()
        self.ok(nc3z("archive", "-q", "-r", "in", "-o", "once", *args, cwd=self.dir, timeout=1200))
        seconds = time.monotonic() - begin
        self.pages = sum(-(-p.stat().st_size // 4096) for p in (self.dir / "once").rglob("*.nc3z"))
        shutil.rmtree(self.dir / "once")
        return seconds

    def stopped_and_run_again(self, number, runs):
        self.collection()
        args = ("archive", "-q", "-r", "--skip-existing", "--log", "log", "in", "-o", "out")
        seconds = self.once()
        stopped = 0
        for _ in range(runs):
            process = start(*args, cwd=self.dir)
            try:
                process.wait(self.pick.uniform(0, 2.5 * seconds / runs))
            except subprocess.TimeoutExpired:
                process.send_signal(number)
            code, err = finish(process)
            expected = -signal.SIGKILL if number == signal.SIGKILL else 130
            self.assertIn(code, (0, expected), err)
            stopped += code == expected
        tell_kills(f"archive -r of {len(self.classic)} files, {number.name}", stopped, runs)
        done = self.ok(nc3z(*args, cwd=self.dir, timeout=1200))
        self.assertNotIn("error", done.stderr)
        self.expect_log("log")
        self.expect_complete()
        self.expect_manifest("log")
        done = self.ok(nc3z("archive", "-r", "--skip-existing", "in", "-o", "out", cwd=self.dir, timeout=1200))
        self.assertIn(f"nc3z: 0 archived, {len(self.classic)} already there", done.stderr)
        self.assertIn("1 netCDF-4 or HDF5, 1 compressed file, 1 empty file, 1 named pipe", done.stderr)

    def test_killed_and_run_again(self):
        self.stopped_and_run_again(signal.SIGKILL, kills(6))

    def test_stopped_and_run_again(self):
        self.stopped_and_run_again(signal.SIGTERM, max(3, kills(6) // 2))

    def test_four_shards_at_once_of_which_one_is_killed(self):
        self.collection()
        args = ("archive", "-q", "-r", "--skip-existing", "--threads", "1", "in", "-o", "out")
        shard = lambda i: start(*args, "--shard", f"{i}/4", "--log", f"log{i}", cwd=self.dir)
        runs = {i: shard(i) for i in range(1, 5)}
        time.sleep(0.3)
        runs[2].kill()
        ends = {i: finish(run) for i, run in runs.items()}
        for i in (1, 3, 4):
            self.assertEqual(ends[i][0], 0, ends[i][1])
        self.assertEqual(finish(shard(2))[0], 0)
        logs = [f"log{i}" for i in range(1, 5)]
        self.expect_log(*logs)
        self.expect_complete()
        self.expect_manifest(*logs)

    def test_a_disk_that_is_full_and_then_is_not(self):
        self.collection(max(20, FILES // 4))
        self.once()
        with tmpfs(self, f"{self.pages * 2}k") as small:
            args = ("archive", "-q", "-r", "--skip-existing", "--log", "log", "in", "-o", small / "out")
            done = self.fails(nc3z(*args, cwd=self.dir, timeout=1200), 1, "no space left")
            self.assertEqual([p for p in small.rglob(".*") if "nc3z-tmp" in p.name], [])
            for archive in (small / "out").rglob("*.nc3z"):
                self.ok(nc3z("verify", "-q", archive))
            self.assertLess(sum(1 for _ in (small / "out").rglob("*.nc3z")), len(self.classic), done.stderr)
            subprocess.run(["mount", "-o", "remount,size=200m", str(small)], check=True)
            self.ok(nc3z(*args, cwd=self.dir, timeout=1200))
            (self.dir / "out").symlink_to(small / "out")
            self.expect_log("log")
            self.expect_complete()
            self.expect_manifest("log")

    def test_a_file_that_may_not_be_read(self):
        """It fails, the others do not; the run that may read it does the rest."""
        root = self.collection(12)
        closed = root / "closed.nc"
        shutil.copy(CLASSIC / "numeric.nc", closed)
        closed.chmod(0)
        options = {}
        if os.geteuid() == 0:
            # To root nothing is closed: another user runs the same program.
            self.dir.chmod(0o755)
            program = self.dir / "nc3z"
            shutil.copy(NC3Z, program)
            (self.dir / "out").mkdir()
            os.chown(self.dir / "out", NOBODY, NOBODY)
            options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        else:
            program = NC3Z
        args = ["archive", "-r", "--skip-existing", "in", "-o", "out"]
        try:
            done = subprocess.run([str(program), *args], cwd=self.dir, capture_output=True, check=False, timeout=120, **options)
        except PermissionError as e:
            missing(self, f"another user cannot run the program: {e}")
        err = done.stderr.decode("utf-8", "replace")
        self.assertEqual(done.returncode, 1, err)
        self.assertIn("closed.nc: open `in/closed.nc`: Permission denied", err)
        self.assertIn(f"{len(self.classic)} archived, 1 failed", err)
        if os.geteuid() == 0:
            program.unlink()
        closed.chmod(0o644)
        self.classic[Path("closed.nc")] = closed.read_bytes()
        done = self.ok(nc3z(*args, cwd=self.dir))
        self.assertIn(f"1 archived, {len(self.classic) - 1} already there", done.stderr)
        self.expect_complete()


if __name__ == "__main__":
    sys.exit(unittest.main())

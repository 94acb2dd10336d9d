"""`nc3z aggregate` killed at random moments: there is the old aggregation or the new one, and running it again completes it.

NC3Z_KILLS=200 asks for more kills than the usual few."""

import shutil
import signal
import struct
import subprocess
import time
import unittest

import netCDF4
import numpy as np
from common import NC3Z, Moments, kills, nc3z, start, tell_kills
from test_aggregate import Aggregation, make, truth

FILES, OLD = 300, 150


class Kills(Aggregation):
    def setUp(self):
        """Files of a day each, made of one by its time alone, and the aggregation of half of them."""
        super().setUp()
        self.data = self.dir / "data"
        self.data.mkdir()
        model = make(self.data / "m.nc", 123456, 1).read_bytes()
        (self.data / "m.nc").unlink()
        at = model.index(struct.pack(">d", 123456.0))
        for n in range(FILES):
            (self.data / f"m{n:03}.nc").write_bytes(model[:at] + struct.pack(">d", n) + model[at + 8 :])
        self.files = sorted(self.data.glob("*.nc"))
        self.agg = self.data / "agg.nc"
        self.old, self.new = self.made(self.files[:OLD]), self.made(self.files)
        self.assertNotEqual(self.old, self.new)

    def made(self, files):
        self.ok(nc3z("aggregate", "--no-history", *files, "-o", self.agg, "-f"))
        return self.agg.read_bytes()

    def killed_and_run_again(self, what, command, before, after):
        """Kills the command again and again; then it is run to its end. `before` is the aggregation at the beginning of each run."""
        begin = time.monotonic()
        self.agg.write_bytes(self.old)
        self.ok(nc3z(*command))
        moments = Moments(17, time.monotonic() - begin)
        runs, killed, left = kills(12), 0, 0
        for _ in range(runs):
            self.agg.unlink(missing_ok=True)
            if before is not None:
                self.agg.write_bytes(before)
            code = moments.kill(start(*command))
            self.assertIn(code, (0, -signal.SIGKILL))
            killed += code == -signal.SIGKILL
            temporary = [p for p in self.data.iterdir() if p.name.endswith(".nc3z-tmp")]
            left += len(temporary)
            # At most that of this run: the temporary file of the previous run is removed.
            self.assertLessEqual(len(temporary), 1)
            found = self.agg.read_bytes() if self.agg.exists() else None
            self.assertIn(found, (before, after) if code else (after,))
        # One more that was left while it was written.
        (self.data / ".agg.nc.AbCdEf.nc3z-tmp").write_bytes(self.new[:1000])
        self.ok(nc3z(*command))
        self.assertEqual(self.agg.read_bytes(), after)
        self.assertEqual(self.names(self.data), ["agg.nc"] + [f.name for f in self.files])
        tell_kills(what, killed, runs, f", {left} temporary files left")
        self.assertGreater(killed, 0)
        with netCDF4.Dataset(self.agg) as d:
            self.assertTrue((d["time"][:] == np.arange(FILES)).all())
        self.near(self.values(self.agg), np.repeat(truth([123456]), FILES, 0), 0.01)

    def test_a_new_one_in_the_place_of_an_old_one(self):
        command = ("aggregate", "--no-history", self.data, "-o", self.agg, "-f")
        self.killed_and_run_again("aggregate -f", command, self.old, self.new)

    def test_the_first_one(self):
        command = ("aggregate", "--no-history", self.data, "-o", self.agg, "-f")
        self.killed_and_run_again("aggregate", command, None, self.new)

    def test_files_that_are_added(self):
        self.agg.write_bytes(self.old)
        command = ("aggregate", "--no-history", "--append", self.data, "-o", self.agg)
        self.ok(nc3z(*command))
        appended = self.agg.read_bytes()
        self.killed_and_run_again("aggregate --append", command, self.old, appended)

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_killed_while_it_is_written(self):
        """By the call: before the new file is synced, and before it has its name. Each leaves a temporary file, which the next run removes."""
        command = [NC3Z, "aggregate", "--no-history", str(self.data), "-o", str(self.agg), "-f"]
        self.agg.write_bytes(self.old)
        for call in ("fsync", "rename,renameat,renameat2"):
            with self.subTest(call):
                strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when=1"]
                # The call itself is not made.
                strace[-1] += ":error=EINTR"
                done = subprocess.run([*strace, *command], capture_output=True, text=True, check=False)
                if "ptrace" in done.stderr:
                    self.skipTest("strace may not trace here")
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(self.agg.read_bytes(), self.old)
                self.assertEqual(sum(p.name.endswith(".nc3z-tmp") for p in self.data.iterdir()), 1)
        done = self.ok(nc3z(*command[1:]))
        self.assertIn("left by a run that was killed", done.stderr)
        self.assertEqual(self.agg.read_bytes(), self.new)
        self.assertEqual(self.names(self.data), ["agg.nc"] + [f.name for f in self.files])


if __name__ == "__main__":
    unittest.main()

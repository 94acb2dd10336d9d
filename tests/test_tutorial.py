"""Runs the commands of docs/tutorial.md, task after task, in one directory."""

import csv
import os
import re
import shutil
import subprocess
import sys
import unittest

from common import CLASSIC, NC3Z, ROOT, Case, sha256

TASKS = dict(re.findall(r"<!-- task: (\w+) -->\n```bash\n(.*?)```", (ROOT / "docs/tutorial.md").read_text("utf-8"), re.DOTALL))


class Commands(Case):
    def test_the_page_of_commands_is_that_of_the_help(self):
        done = subprocess.run([sys.executable, ROOT / "scripts/commands.py", "--check"], capture_output=True, text=True, check=False, env={**os.environ, "NC3Z": NC3Z})
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Tutorial(Case):
    def setUp(self):
        super().setUp()
        (self.dir / "bin").mkdir()
        (self.dir / "bin/nc3z").symlink_to(NC3Z)
        (self.dir / "data").mkdir()
        for path in CLASSIC.glob("*.cdf"):
            shutil.copy(path, self.dir / "data")
        self.done = set()

    def task(self, name):
        self.done.add(name)
        env = {**os.environ, "PATH": f"{self.dir / 'bin'}:{os.environ['PATH']}"}
        run = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", TASKS[name]], cwd=self.dir, env=env, capture_output=True, check=False,
                             timeout=180, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(run.returncode, 0, f"{name}: {run.stdout}{run.stderr}")
        return run.stdout + run.stderr

    def test_all_tasks_in_their_order(self):
        out = self.task("archive")
        self.assertRegex(out, r"nc3z: 3 archived; .* in [0-9.]+ s")
        self.assertIn("3 files", out)
        self.assertIn("all as listed", out)
        out = self.task("restore")
        self.assertIn("the very same bytes", out)
        self.assertIn(sha256(self.dir / "data/coads_climatology.cdf"), out)
        out = self.task("look")
        self.assertRegex(out, r"archive/etopo120\.cdf\.nc3z +archive ")
        self.assertIn("SEA SURFACE TEMPERATURE", out)
        self.assertIn("netcdf coads_climatology", out)
        with open(self.dir / "series.csv", encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        self.assertEqual((len(rows), rows[0]["COADSY"], rows[0]["COADSX"]), (12, "1.0", "181.0"))
        self.assertEqual((self.dir / "january.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        import netCDF4
        with netCDF4.Dataset(self.dir / "tropics.nc") as d, netCDF4.Dataset(self.dir / "data/coads_climatology.cdf") as whole:
            inside = (whole["COADSY"][:] >= -30) & (whole["COADSY"][:] <= 30)
            self.assertTrue((d["SST"][:].filled(9e9) == whole["SST"][:, inside].filled(9e9)).all())
        out = self.task("correct")
        self.assertIn("units that programs know", out)
        self.assertIn("version 1 is the original", out)
        self.assertRegex(out, r"SST.*units.*Deg C.*degC")
        out = self.task("damage")
        self.assertIn("damage found, exit code 3", out)
        self.assertIn("as it was", out)
        self.task("report")
        self.assertIn("coads_climatology.cdf.nc3z", (self.dir / "report.html").read_text("utf-8"))
        self.assertEqual(self.done, set(TASKS))


if __name__ == "__main__":
    sys.exit(unittest.main())

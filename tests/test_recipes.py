"""Runs the recipes of docs/recipes.md: each is killed half way, run again, and compared with an undisturbed run."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from common import CLASSIC, NC3Z, ROOT, Case, need_program, nc3z, wait_for

RECIPES = dict(re.findall(r"<!-- recipe: (\w+) -->\n```\w*\n(.*?)```", (ROOT / "docs/recipes.md").read_text("utf-8"), re.DOTALL))
FILES = 16


def session(leader):
    """The processes of a session: what a recipe has started, in whichever process groups."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as f:
                    fields = f.read().rpartition(")")[2].split()
                if int(fields[3]) == leader and fields[0] != "Z":
                    found.append(int(entry))
    return found


class Recipes(Case):
    def setUp(self):
        super().setUp()
        (self.dir / "bin").mkdir()
        (self.dir / "bin/nc3z").symlink_to(NC3Z)
        venv = ROOT / ".venv/bin"
        self.env = {**os.environ, "PATH": f"{self.dir / 'bin'}:{os.environ['PATH']}:{venv}", "HOME": str(self.dir)}
        raw = bytearray((CLASSIC / "numeric.nc").read_bytes())
        for i in range(FILES):
            path = self.dir / f"data/{1990 + i % 3}/m{i % 2}/{i}.nc"
            path.parent.mkdir(parents=True, exist_ok=True)
            raw[-8:] = i.to_bytes(8, "big")
            path.write_bytes(raw)
        (self.dir / "data/notes.txt").write_text("x")

    def start(self, *command, **more):
        return subprocess.Popen(command, cwd=self.dir, env={**self.env, **more}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, start_new_session=True)

    def end(self, process):
        out, _ = process.communicate(timeout=180)
        return process.returncode, out.decode("utf-8", "replace")

    def archives(self):
        return sorted((self.dir / "archives").rglob("*.nc3z"))

    def kill_half_way(self, *processes, number=signal.SIGKILL):
        """All of a recipe's processes, at once, when a few archives are there."""
        wait_for(lambda: len(self.archives()) >= 3 or all(p.poll() is not None for p in processes), 60)
        for p in processes:
            for pid in session(p.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        for p in processes:
            p.communicate(timeout=60)
            self.assertTrue(wait_for(lambda p=p: not session(p.pid), 60))

    def complete(self):
        """The files of one run, byte for byte, and no others."""
        self.ok(nc3z("archive", "-q", "-r", "data", "-o", "once", cwd=self.dir))
        once = {p.relative_to(self.dir / "once"): p for p in (self.dir / "once").rglob("*") if p.is_file()}
        found = {p.relative_to(self.dir / "archives"): p for p in (self.dir / "archives").rglob("*") if p.is_file()}
        extra = {str(name) for name in set(found) - set(once)}
        self.assertLessEqual(extra, {"SHA256SUMS"})
        self.assertEqual(set(once) - set(found), set())
        self.assertEqual(len(once), FILES)
        for name, path in once.items():
            self.assertTrue(path.read_bytes() == found[name].read_bytes(), name)
        shutil.rmtree(self.dir / "once")

    def run_twice(self, *command, number=signal.SIGKILL):
        self.kill_half_way(self.start(*command), number=number)
        code, out = self.end(self.start(*command))
        self.assertEqual(code, 0, out)
        self.complete()

    def test_all_are_known(self):
        self.assertEqual(sorted(RECIPES), ["cron", "fixity", "parallel", "plain", "slurm", "slurm_bundles", "snakemake", "snakemake_bundles"])

    def test_plain(self):
        self.run_twice("bash", "-e", "-c", RECIPES["plain"])
        code, out = self.end(self.start("bash", "-e", "-c", RECIPES["fixity"]))
        self.assertEqual(code, 0, out)
        self.assertTrue((self.dir / "archives/SHA256SUMS.fixity.jsonl").exists())

    def test_parallel(self):
        need_program(self, "parallel")
        (self.dir / ".parallel").mkdir()
        (self.dir / ".parallel/will-cite").touch()
        self.run_twice("bash", "-e", "-c", RECIPES["parallel"])
        self.ok(nc3z("verify", "--no-fixity-log", "--manifest", "archives", cwd=self.dir))

    def test_slurm(self):
        """Without Slurm: only its environment, which is all that the recipe uses. Tasks are stopped as Slurm stops them."""
        (self.dir / "archive.sbatch").write_text(RECIPES["slurm"])
        task = lambda i: self.start("bash", "archive.sbatch", SLURM_ARRAY_TASK_ID=str(i), SLURM_ARRAY_TASK_COUNT="4", SLURM_CPUS_PER_TASK="1")
        self.kill_half_way(*[task(i) for i in range(1, 5)], number=signal.SIGTERM)
        for process in [task(i) for i in range(1, 5)]:
            code, out = self.end(process)
            self.assertEqual(code, 0, out)
        self.complete()
        logs = [a for i in range(1, 5) for a in ("--from-log", f"log.{i}.jsonl")]
        done = self.ok(nc3z("hash", "--manifest", "archives", *logs, cwd=self.dir))
        self.assertIn(f"{FILES} archives", done.stderr)

    def test_snakemake(self):
        if shutil.which("snakemake", path=self.env["PATH"]) is None:
            # It brings a hundred megabytes; scripts/nightly.sh has it.
            print("\n*** NOT TESTED: the recipe for Snakemake: it is not installed", file=sys.stderr)
            self.skipTest("snakemake is not installed")
        (self.dir / "Snakefile").write_text(RECIPES["snakemake"])
        command = ("snakemake", "--cores", "2", "--quiet", "all")
        self.kill_half_way(self.start(*command))
        # A killed Snakemake leaves its lock, as its manual says; archives are complete or absent.
        for path in self.archives():
            self.ok(nc3z("verify", "-q", path))
        self.assertEqual(self.end(self.start("snakemake", "--unlock"))[0], 0)
        code, out = self.end(self.start(*command, "--rerun-incomplete"))
        self.assertEqual(code, 0, out)
        self.complete()

    def bundles(self):
        return sorted((self.dir / "bundles").glob("*.catalog.nc3z"))

    def complete_bundles(self):
        """Every file comes back from the bundles, also those directly below data/, and the catalogues have every file."""
        names = [p.name.removesuffix(".catalog.nc3z") for p in self.bundles()]
        self.assertEqual(names, ["1990", "1991", "1992", "_top"])
        (self.dir / "back").mkdir()
        for name in names:
            self.ok(nc3z("restore", "-r", f"bundles/{name}.bundle.nc3z", "-o", f"back/{name}", cwd=self.dir))
        for path in (self.dir / "data").rglob("*.nc"):
            name = path.relative_to(self.dir / "data")
            back = self.dir / "back" / (name if len(name.parts) > 1 else "_top" / name)
            self.assertTrue(path.read_bytes() == back.read_bytes(), path)
        rows = json.loads(self.ok(nc3z("stats", "bundles/1991.catalog.nc3z", "--json", cwd=self.dir)).stdout)
        self.assertEqual({row["files"] for row in rows}, {len(list((self.dir / "data/1991").rglob("*.nc")))})
        self.assertEqual(sorted("".join(p.suffixes[-2:]) for p in (self.dir / "bundles").iterdir()), sorted([".catalog.nc3z", ".bundle.nc3z"] * 4))

    def test_slurm_bundles(self):
        """As `test_slurm`."""
        shutil.copy(CLASSIC / "numeric.nc", self.dir / "data/above.nc")
        self.assertNotIn("--signal=TERM", (ROOT / "docs/recipes.md").read_text("utf-8"))
        (self.dir / "bundle.sbatch").write_text(RECIPES["slurm_bundles"])
        task = lambda i: self.start("bash", "bundle.sbatch", SLURM_ARRAY_TASK_ID=str(i), SLURM_ARRAY_TASK_COUNT="2", SLURM_CPUS_PER_TASK="1")
        first = task(1)
        wait_for(lambda: self.bundles() or first.poll() is not None, 60)
        for pid in session(first.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        first.communicate(timeout=60)
        for process in [task(1), task(2)]:
            code, out = self.end(process)
            self.assertEqual(code, 0, out)
        self.complete_bundles()

    def test_snakemake_bundles(self):
        if shutil.which("snakemake", path=self.env["PATH"]) is None:
            print("\n*** NOT TESTED: the recipe for Snakemake: it is not installed", file=sys.stderr)
            self.skipTest("snakemake is not installed")
        shutil.copy(CLASSIC / "numeric.nc", self.dir / "data/above.nc")
        (self.dir / "Snakefile").write_text(RECIPES["snakemake_bundles"])
        code, out = self.end(self.start("snakemake", "--cores", "2", "--quiet", "all"))
        self.assertEqual(code, 0, out)
        self.complete_bundles()

    def test_cron(self):
        line = RECIPES["cron"].strip().replace("\\%", "%")
        command = line.split(" ", 5)[5].replace("/home/me", str(self.dir))
        self.assertTrue(line.startswith("17 3 * * * "))
        night = lambda: self.end(self.start("sh", "-c", command))
        os.utime(self.dir / "data/1990/m0/0.nc")
        (self.dir / "stamp.old").touch()
        os.utime(self.dir / "stamp.old", (86400, 86400))
        cut = self.start("sh", "-c", command)
        self.kill_half_way(cut)
        # The stamp moves only once all is archived, as it may be when the shell is killed.
        if (self.dir / "stamp.old").stat().st_mtime != 86400:
            self.complete()
        code, out = night()
        self.assertEqual(code, 0, out)
        self.complete()
        # A file that changed is archived again, others are not touched.
        times = {p: p.stat().st_mtime_ns for p in self.archives()}
        time.sleep(0.02)
        shutil.copy(CLASSIC / "smooth.nc", self.dir / "data/1991/m1/1.nc")
        code, out = night()
        self.assertEqual(code, 0, out)
        self.assertEqual([p.name for p in self.archives() if p.stat().st_mtime_ns != times[p]], ["1.nc.nc3z"])
        self.complete()


if __name__ == "__main__":
    sys.exit(unittest.main())

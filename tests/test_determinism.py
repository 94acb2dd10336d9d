"""The archive depends on the file, the preset and the block size, and on nothing else."""

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import old_cpu
from common import CLASSIC, NC3Z, NIGHT, Case, good_files, nc3z, sha256, synthetic

THREADS = (1, 2, 4)
MEMORY = ("8MiB", "64MiB", "256MiB")
PRESETS = ("fast", "default", "max")


class Determinism(Case):
    def files(self):
        """A few that differ in kind: real ones, and one of many tiles."""
        wanted = ("coads_climatology.cdf", "esku_heat_budget.cdf", "record_padding.nc", "all_types_cdf5.nc")
        real = [CLASSIC / name for name in wanted if (CLASSIC / name).exists()]
        self.need(real, "files of testdata/classic")
        return [*real, synthetic(self.dir / "synthetic.nc", 16)]

    def digest(self, path, *args, **options):
        out = self.dir / "out.nc3z"
        self.ok(nc3z("archive", path, "-o", out, *args, **options))
        result = sha256(out)
        out.unlink()
        return result

    def test_threads_and_memory(self):
        for path in self.files():
            # By day, each number of threads and each memory, and all corners.
            digests = {(t, m): self.digest(path, "--threads", t, "--memory", m) for t in THREADS for m in MEMORY
                       if NIGHT or (t == 2) == (m == "64MiB")}
            self.assertEqual(len(set(digests.values())), 1, f"{path.name}: {digests}")

    def test_commits(self):
        """All values changed, and then all changed and there are more rows."""
        made = {}
        for threads, memory in ((1, "8MiB"), (2, "64MiB"), (4, "256MiB")):
            archive = self.dir / "s.nc3z"
            self.ok(nc3z("archive", "-f", synthetic(self.dir / "s.nc", 24), "-o", archive, "--threads", 2))
            for seed, mib in ((2, 24), (3, 26)):
                edited = synthetic(self.dir / "s.nc", mib, seed=seed)
                self.ok(nc3z("commit", "--threads", threads, "--memory", memory, archive, edited))
            made[threads, memory] = sha256(archive)
        self.assertEqual(len(set(made.values())), 1, made)

    def test_presets_and_block_sizes(self):
        path = synthetic(self.dir / "s.nc", 8)
        for preset in PRESETS:
            for size in ("64KiB", "1MiB"):
                with self.subTest(preset=preset, size=size):
                    options = ("--preset", preset, "--tile-size", size)
                    digests = {self.digest(path, *options, "--threads", t, "--memory", m) for t, m in ((1, "8MiB"), (4, "256MiB"))}
                    self.assertEqual(len(digests), 1)

    def test_repeated(self):
        for path in self.files()[-2:]:
            self.assertEqual(len({self.digest(path) for _ in range(5)}), 1)

    def test_name_time_and_place_do_not_matter(self):
        path = self.files()[0]
        expected = self.digest(path)
        other = self.dir / "elsewhere/another name"
        other.parent.mkdir()
        shutil.copyfile(path, other)
        os.utime(other, ns=(1, 1))
        other.chmod(0o600)
        env = {"PATH": os.environ.get("PATH", ""), "TZ": "Asia/Tokyo", "LC_ALL": "tr_TR.UTF-8", "HOME": "/nonexistent"}
        self.assertEqual(self.digest(other, cwd=other.parent, env=env), expected)
        self.assertEqual(self.digest(path, "--no-verify"), expected)

    def test_many_files_at_once_or_one_by_one(self):
        (self.dir / "in").mkdir()
        small = [p for p in good_files() if p.parent == CLASSIC and p.stat().st_size < 100_000]
        for path in self.need(small, "files of testdata/classic"):
            shutil.copyfile(path, self.dir / "in" / path.name)
        self.ok(nc3z("archive", "--recursive", "--threads", 4, self.dir / "in", "-o", self.dir / "together"))
        for path in small:
            self.assertEqual(sha256(self.dir / f"together/{path.name}.nc3z"), self.digest(path), path.name)

    def on_old_cpu(self, *args):
        done = subprocess.run([sys.executable, Path(old_cpu.__file__), NC3Z, *map(str, args)], capture_output=True, timeout=120,
                              check=False)
        if done.returncode == old_cpu.CANNOT:
            self.skipTest("this machine cannot hide what its processor can do")
        self.assertEqual(done.returncode, 0, done.stderr.decode("utf-8", "replace"))

    def test_old_processor(self):
        """Without AVX, AVX2 and BMI2: the same archive, and each reads the other's."""
        if not old_cpu.supported():
            self.skipTest("needs Linux on x86-64 with CPUID faulting (flag cpuid_fault)")
        out, back = self.dir / "old.nc3z", self.dir / "back"
        for path in self.files():
            for preset in PRESETS:
                with self.subTest(file=path.name, preset=preset):
                    self.on_old_cpu("archive", "--preset", preset, path, "-o", out)
                    self.assertEqual(sha256(out), self.digest(path, "--preset", preset))
                    self.on_old_cpu("restore", out, "-o", back)
                    self.assertEqual(sha256(back), sha256(path))
                    out.unlink()
                    back.unlink()

    def test_old_processor_is_old(self):
        """The means of the test above do what they say."""
        compiler = shutil.which("cc")
        if not old_cpu.supported() or not compiler:
            self.skipTest("needs Linux on x86-64 with CPUID faulting, and a C compiler")
        (self.dir / "f.c").write_text("int main(void){__builtin_cpu_init();return !!__builtin_cpu_supports(\"avx\");}")
        subprocess.run([compiler, "-o", self.dir / "f", self.dir / "f.c"], check=True)
        done = subprocess.run([sys.executable, old_cpu.__file__, self.dir / "f"], check=False)
        if done.returncode == old_cpu.CANNOT:
            self.skipTest("this machine cannot hide what its processor can do")
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()

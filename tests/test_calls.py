"""How often the kernel is asked for bytes of a source: in blocks, whatever the arrays are, and never element by element."""

import shutil
import subprocess
import unittest

from common import NC3Z, Case, sha256

# The largest number of system calls for each MiB of the source, and for a run besides these.
FOR_MIB, ALWAYS = 128, 300


def arrays(rng, records):
    """Kinds of record variables, as lists of values with the record as the first dimension."""
    import numpy as np

    few = rng.integers(0, 900, records)
    return {
        "integers as floats": {"a": few.astype("f4"), "b": few[::-1].astype("f4"), "c": (few % 7).astype("f4")},
        "shorts, padded": {"a": (few % 50).astype("i2"), "b": (few % 9).astype("i2"), "c": few.astype("i2")},
        "one short": {"a": (few % 50).astype("i2")},
        "doubles of many values": {"a": rng.normal(0, 1, records), "b": few / 4},
        "bytes": {"a": (few % 5).astype("i1"), "b": (few % 3).astype("i1")},
        "text": {"a": np.frombuffer(b"ABCDEFGH", "S1")[rng.integers(0, 8, (records, 12))], "b": few.astype("i4")},
        "rows": {"a": rng.integers(0, 30, (records, 5)).astype("f4"), "b": few.astype("f8")},
    }


class Calls(Case):
    def write(self, variables):
        import netCDF4

        path = self.dir / "a.nc"
        with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as file:
            file.createDimension("t", None)
            for name, values in variables.items():
                inner = []
                for n in values.shape[1:]:
                    inner.append(f"n{n}")
                    if f"n{n}" not in file.dimensions:
                        file.createDimension(f"n{n}", n)
                file.createVariable(name, values.dtype, ("t", *inner))
            for name, values in variables.items():
                file[name][:] = values
        return path

    def count(self, *args):
        """The calls that read a file or ask for its state."""
        log = self.dir / "calls"
        calls = "trace=read,pread64,preadv,readv,lseek,fstat,stat,statx,newfstatat"
        done = subprocess.run(["strace", "-f", "-qq", "-e", calls, "-e", "signal=none", "-o", log, NC3Z, *map(str, args)],
                              capture_output=True, text=True, check=False)
        if done.returncode and "ptrace" in done.stderr.lower():
            self.skipTest("strace may not trace here")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(log, encoding="latin-1") as lines:
            return sum(1 for _ in lines)

    def few_calls(self, source, *args):
        self.assertLessEqual(self.count(*args), ALWAYS + FOR_MIB * source.stat().st_size / (1 << 20), args)

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_records_are_read_in_blocks(self):
        import numpy as np

        for name, variables in arrays(np.random.default_rng(1), 100_000).items():
            source = self.write(variables)
            archive = self.dir / "a.nc3z"
            with self.subTest(name):
                for preset in ("fast", "default"):
                    self.few_calls(source, "archive", "--threads", 1, "--preset", preset, "--force", source, "-o", archive)
                self.few_calls(source, "archive", "--threads", 1, "--tile", "t=5000",
                               "--force", source, "-o", archive)
                self.few_calls(source, "diff", "--threads", 1, source, archive)
                self.few_calls(source, "hash", "--threads", 1, source)
                self.few_calls(source, "restore", "--threads", 1, "--force", archive, "-o", self.dir / "back.nc")
                self.assertEqual(sha256(source), sha256(self.dir / "back.nc"))

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_records_of_a_long_file_are_read_in_blocks(self):
        """The arrays of a longer file are not in memory while they are planned."""
        import numpy as np

        few = np.random.default_rng(1).integers(0, 900, 1_200_000)
        source = self.write({f"v{i}": np.roll(few, i).astype("f4") for i in range(8)})
        for preset in ("fast", "default"):
            self.few_calls(source, "archive", "--threads", 1, "--no-verify", "--preset", preset, "--force", source, "-o", self.dir / "a.nc3z")


if __name__ == "__main__":
    unittest.main()

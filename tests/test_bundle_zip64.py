"""Long bundles, and ZIPs whose end record is that of ZIP64; the oracles are Python's zipfile and Info-ZIP's unzip.

NC3Z_ZIP64=1 asks for a bundle of more than 4 GiB too, and for one of 65,600 members, which takes a while and 300 MB."""

import os
import subprocess
import unittest
import zipfile

import numpy as np
from common import nc3z, need_program
from test_aggregate import Aggregation, make, truth


class Zip64(Aggregation):
    def test_members_behind_four_gigabytes(self):
        """A sparse file with a hole of 5 GB between its members."""
        files = [make(self.dir / f"m{n}.nc", 3 * n, 3) for n in range(3)]
        path = self.dir / "big.zip"
        with zipfile.ZipFile(path, "w") as z:
            z.write(files[0], "m0.nc")
            z.fp.seek(5 << 30)
            z.start_dir = z.fp.tell()
            z.write(files[1], "m1.nc")
            z.write(files[2], "m2.nc")
        self.assertLess(path.stat().st_blocks * 512, 1 << 20)
        with zipfile.ZipFile(path) as z:
            self.assertGreater(z.getinfo("m2.nc").header_offset, 4 << 30)
            self.assertIsNone(z.testzip())
        for n in range(3):
            self.near(self.values(f"{path}!/m{n}.nc"), truth(range(3 * n, 3 * n + 3)))
        self.assertEqual(len(self.ok(nc3z("list", path)).stdout.splitlines()), 4)

    if os.environ.get("NC3Z_ZIP64"):

        def test_a_bundle_beyond_four_gigabytes(self):
            """With a sparse file of 5 GB, whose tiles are constant and take no space."""
            first, last = make(self.dir / "m0.nc", 0, 3), make(self.dir / "m1.nc", 3, 3)
            hole = self.dir / "hole.bin"
            with open(hole, "wb") as out:
                out.truncate(5 << 30)
            bundle = self.dir / "big.bundle.nc3z"
            self.ok(nc3z("bundle", first, hole, last, "-o", bundle, "--on-tape", "last", timeout=300))
            self.assertLess(bundle.stat().st_size, 4 << 20)
            for n in range(2):
                self.near(self.values(f"{bundle}!/m{n}.nc"), truth(range(3 * n, 3 * n + 3)))

        def test_more_members_than_the_short_form_counts(self):
            data = self.dir / "data"
            data.mkdir()
            model = make(data / "m0.nc", 0, 1).read_bytes()
            for n in range(1, 65_600):
                (data / f"m{n}.nc").write_bytes(model)
            path = self.dir / "set.zip"
            self.ok(nc3z("bundle", data, "-o", path, "--zip", timeout=600))
            with zipfile.ZipFile(path) as z:
                self.assertEqual(len(z.namelist()), 65_600)
                self.assertEqual(z.read("m65599.nc"), model)
            done = subprocess.run([need_program(self, "unzip"), "-tq", path], capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.near(self.values(f"{path}!/m65599.nc"), truth(range(1)))
            self.assertTrue(np.load(self.dir / "values.npy").size)


if __name__ == "__main__":
    unittest.main()

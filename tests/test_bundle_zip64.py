"""Bundles whose end record is that of ZIP64; the oracles are Python's zipfile and Info-ZIP's unzip.

NC3Z_ZIP64=1 asks for a bundle of 65,600 members too, which takes a while and 300 MB."""

import os
import struct
import subprocess
import unittest
import zipfile

import numpy as np
from common import nc3z, need_program
from servers import serve
from test_aggregate import Aggregation, make, truth


#: Large enough for a bundle that is longer than its first read.
LAT, LON = tuple(np.linspace(-89, 89, 90)), tuple(np.arange(0.0, 360.0, 4))


class Zip64(Aggregation):
    def bundle(self):
        data = self.dir / "data"
        data.mkdir()
        for n in range(4):
            make(data / f"m{n}.nc", 3 * n, 3, lat=LAT, lon=LON)
        self.ok(nc3z("aggregate", data, "-o", data / "agg.nc"))
        self.ok(nc3z("bundle", data, "-o", self.dir / "set.zip"))
        return (self.dir / "set.zip").read_bytes()

    def check(self, path):
        """Read by both oracles and by nc3z; gives the requests that are made over a network."""
        with zipfile.ZipFile(path) as z:
            self.assertIsNone(z.testzip())
        done = subprocess.run([need_program(self, "unzip"), "-tq", path], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.near(self.values(f"{path}!/agg.nc"), truth(range(12), LAT, LON))
        self.near(self.values(f"{path}!/m3.nc"), truth(range(9, 12), LAT, LON))
        with serve({"set.zip": path.read_bytes()}) as server:
            self.ok(nc3z("info", server.url("set.zip!/agg.nc")))
            return len(server.asked)

    def test_a_long_end_record_over_a_small_bundle(self):
        raw = self.bundle()
        end = raw.rindex(b"PK\x05\x06")
        count, size, at = struct.unpack("<HII", raw[end + 10 : end + 20])
        long = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, at)
        locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1)
        short = bytearray(raw[end:])
        short[8:20] = b"\xff" * 12
        path = self.dir / "long.zip"
        # The hint in the first member's padding has another length, so the index is found by the comment.
        path.write_bytes(raw[:end] + long + locator + short)
        self.assertEqual(self.check(path), 2)
        # With the hint put right, as the writer would have it.
        hint = raw.index(b"nc3z-index ")
        told = str(len(raw)).encode()
        changed = bytearray(path.read_bytes())
        where = raw.index(b" " + told, hint) + 1
        self.assertLess(where, hint + 96)
        changed[where : where + len(told)] = str(len(changed)).encode()
        path.write_bytes(changed)
        self.assertEqual(self.check(path), 2)
        # Without any way to the index, the ZIP's own directory leads to all members.
        changed[hint : hint + 4] = b"none"
        changed[-4:] = b"none"
        path.write_bytes(changed)
        self.assertGreater(self.check(path), 2)
        # Wrong ones: an answer or an error, in little time.
        for value in (0, 1, end - 1, 1 << 40, (1 << 64) - 1):
            for field in (24, 32, 40, 48):
                forged = bytearray(raw[:end] + long + locator + short)
                forged[hint : hint + 4] = b"none"
                struct.pack_into("<Q", forged, end + field, value)
                forged[-40] ^= 1
                path.write_bytes(forged)
                done = nc3z("list", path, timeout=20)
                self.assertIn(done.returncode, (0, 1, 2, 3, 4), done.stderr)
                self.assertNotIn("panicked", done.stderr)

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

        def test_more_members_than_the_short_form_counts(self):
            data = self.dir / "data"
            data.mkdir()
            model = make(data / "m0.nc", 0, 1).read_bytes()
            for n in range(1, 65_600):
                (data / f"m{n}.nc").write_bytes(model)
            path = self.dir / "set.zip"
            self.ok(nc3z("bundle", data, "-o", path, timeout=600))
            with zipfile.ZipFile(path) as z:
                self.assertEqual(len(z.namelist()), 65_601)
                self.assertEqual(z.read("m65599.nc"), model)
            done = subprocess.run([need_program(self, "unzip"), "-tq", path], capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.near(self.values(f"{path}!/m65599.nc"), truth(range(1)))
            self.assertTrue(np.load(self.dir / "values.npy").size)


if __name__ == "__main__":
    unittest.main()

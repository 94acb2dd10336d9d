"""One aggregation, by every program that shows its values: the tool, `serve` and the netCDF plug-in. The oracle is NumPy, from how the files
were made, and xarray. The Python package has the same oracle in tests/python/test_aggregations.py."""

import csv
import io
import json
import os
import shutil
import time
import unittest

import netCDF4
import numpy as np
from common import missing, nc3z
from serving import ServeCase
from test_aggregate import Aggregation, make, truth
from test_netcdf_plugin import Plugin

#: Requests: start, count and stride along time, latitude and longitude.
SLABS = [((0, 0, 0), (9, 4, 3), (1, 1, 1)), ((2, 1, 0), (3, 2, 3), (2, 2, 1)), ((4, 3, 2), (1, 1, 1), (1, 1, 1)), ((1, 0, 1), (2, 4, 1), (5, 1, 1))]


def slices(slab):
    return tuple(slice(start, start + (count - 1) * stride + 1, stride) for start, count, stride in zip(*slab, strict=True))


def constraint(name, slab):
    return name + "".join(f"[{start}:{stride}:{start + (count - 1) * stride}]" for start, count, stride in zip(*slab, strict=True))


class Faces(ServeCase, Aggregation):
    """Three files: days of 2001 as floats, the next days as packed shorts counted from another date, and doubles."""

    def setUp(self):
        super().setUp()
        self.files = [
            make(self.source / "a.nc", 0, 3),
            make(self.source / "b.nc", 3, 4, dtype="i2", packing=(0.001, 273.15), tunits="hours since 2001-01-04", times=np.arange(4) * 24.0),
            make(self.source / "c.nc", 7, 2, dtype="f8", units="degC"),
        ]
        self.expected = truth(range(9))
        self.ok(nc3z("aggregate", *self.files, "-o", self.source / "all.nc", "--no-history"))

    def all_same(self, path, url, tolerance=1e-3):
        """Every way to the values gives the same, which are those that the files were made of."""
        with netCDF4.Dataset(url) as remote:
            self.assertEqual(remote["time"].units, "days since 2001-01-01")
            np.testing.assert_array_equal(np.asarray(remote["time"][:]), np.arange(9.0))
            for slab in SLABS:
                at, request = slices(slab), constraint("tas", slab)
                expected = self.expected[at]
                by_tool = self.values(path, "tas", *[word for name, s in zip(("time", "lat", "lon"), zip(*slab, strict=True), strict=True)
                                                     for word in ("-d", f"{name},{s[0]},{s[0] + (s[1] - 1) * s[2]},{s[2]}")])
                self.near(by_tool, expected, tolerance)
                np.testing.assert_array_equal(np.asarray(remote["tas"][at]), by_tool)
                doubles = np.frombuffer(self.get(url + ".f64?" + request), "<f8").reshape(expected.shape)
                np.testing.assert_array_equal(doubles.astype(by_tool.dtype), by_tool)
                lines = list(csv.reader(io.StringIO(self.get(url + ".csv?" + request).decode())))
                np.testing.assert_allclose([float(line[-1]) for line in lines[1:]], by_tool.ravel(), rtol=1e-6)
                with netCDF4.Dataset("part", memory=self.get(url + ".nc?" + request)) as part:
                    np.testing.assert_array_equal(np.asarray(part["tas"][...]), by_tool)

    def get(self, url):
        reply = self.server.ask(url.removeprefix(self.server.url.rstrip("/")))
        self.assertEqual(reply.status, 200, reply.body[:300])
        return reply.body

    def test_the_tool_and_the_server_give_the_same(self):
        with self.serving("--quiet") as self.server:
            self.all_same(self.source / "all.nc", self.server.address("all.nc"))

    def test_an_archived_one_and_one_in_a_bundle(self):
        self.ok(nc3z("archive", "-q", "--remove-source", self.source / "all.nc", "-o", self.source / "all.nc.nc3z"))
        with self.serving("--quiet") as self.server:
            self.all_same(self.source / "all.nc.nc3z", self.server.address("all.nc"))
        bundle = self.dir / "set.bundle.nc3z"
        self.ok(nc3z("bundle", self.source, "-o", bundle))
        with self.serving("--quiet", source=bundle) as self.server:
            self.all_same(f"{bundle}!/all.nc.nc3z", self.server.address("all.nc"))

    def test_xarray_by_zarr_decodes_the_same(self):
        try:
            import aiohttp  # noqa: F401
            import xarray
            import zarr  # noqa: F401
        except ImportError:
            missing(self, "xarray, zarr or aiohttp is not installed")
        files = [str(file) for file in self.files]
        with self.serving("--quiet") as server, xarray.open_dataset(server.url + "all.zarr/", engine="zarr") as shown:
            np.testing.assert_allclose(shown["tas"].values, self.expected, atol=1e-3)
            parts = [xarray.open_dataset(file) for file in files]
            np.testing.assert_array_equal(shown["time"].values, np.concatenate([part["time"].values for part in parts]))

    def test_the_tag_changes_with_every_fragment(self):
        forms = ["all.nc.dds", "all.nc.dods", "all.json", "all.nc.csv?time", "all.nc.f64?tas", "all.zarr/zarr.json", "all.nc.nc?tas"]
        with self.serving("--quiet") as server:
            tags = {}

            def ask(changed):
                for form in forms:
                    reply = server.ask("/" + form)
                    self.assertEqual(reply.status, 200, (form, reply.body[:200]))
                    # The time of one file says nothing of the others.
                    self.assertIsNone(reply["last-modified"], form)
                    self.assertEqual(reply["etag"] != tags.get(form), changed, form)
                    tags[form] = reply["etag"]
                    again = server.ask("/" + form, If_None_Match=reply["etag"])
                    self.assertEqual((again.status, again.body), (304, b""), form)

            def values():
                return np.frombuffer(server.ask("/all.nc.f64?tas").body, "<f8").reshape(9, 4, 3)

            ask(True)
            ask(False)
            own = server.ask("/all.nc")["etag"]
            np.testing.assert_allclose(values(), self.expected, atol=1e-3)
            # Another file of the same length and time in its place.
            for n, at in enumerate((slice(0, 3), slice(3, 7), slice(7, 9))):
                file, status = self.files[n], self.files[n].stat()
                other = self.dir / "other.nc"
                shutil.copy(file, other)
                with netCDF4.Dataset(other, "a") as dataset:
                    tas = dataset["tas"]
                    tas.set_auto_maskandscale(False)
                    tas[...] = tas[...][::-1]
                self.assertEqual(other.stat().st_size, status.st_size)
                os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
                os.replace(other, file)
                ask(True)
                expected = self.expected.copy()
                expected[at] = expected[at][::-1]
                np.testing.assert_allclose(values()[at], expected[at], atol=1e-3)
            # Changed in place.
            with open(self.files[0], "r+b") as file:
                file.seek(-4, os.SEEK_END)
                file.write(np.array(1.5, ">f4").tobytes())
            ask(True)
            self.assertEqual(values()[2, 3, 2], 1.5)
            # The bytes of the file itself are the same.
            self.assertEqual(server.ask("/all.nc", If_None_Match=own).status, 304)
            # A fragment that is gone is named, without the server's own paths; and it may come back.
            moved = self.dir / "c.nc"
            os.replace(self.files[2], moved)
            gone = server.ask("/all.nc.f64?tas")
            self.assertEqual(gone.status, 500)
            self.assertIn(b"c.nc", gone.body)
            self.assertNotIn(str(self.dir).encode(), gone.body)
            self.assertEqual(server.ask("/all.nc.f64?tas[0:1:5][0][0]").status, 200)
            os.replace(moved, self.files[2])
            ask(True)

    def test_an_aggregation_leads_nowhere_else(self):
        outside = make(self.dir / "secret.nc", 0, 3)
        (self.source / "nested").mkdir()
        shutil.copy(self.source / "a.nc", self.source / "nested/a.nc")
        shutil.copy(self.source / "all.nc", self.source / "nested/inner.nc")
        os.symlink(outside, self.source / "link.nc")
        names = ["../secret.nc", str(outside), f"file://{outside}", "link.nc", "http://127.0.0.1:9/x.nc", "https://example.org/x.nc", "/etc/passwd",
                 "inner.nc", "%2e%2e/secret.nc"]
        for n, name in enumerate(names):
            shutil.move(self.hand_made([name], [3], name=f"hand{n}.nc"), self.source / f"hand{n}.nc")
        shutil.copy(self.source / "all.nc", self.source / "inner.nc")
        with self.serving("--quiet") as server:
            for n, name in enumerate(names):
                with self.subTest(name=name):
                    begin = time.monotonic()
                    reply = server.ask(f"/hand{n}.nc.f64?tas")
                    self.assertEqual(reply.status, 500, reply.body[:200])
                    self.assertIn(b"the server cannot read the fragment", reply.body)
                    self.assertNotIn(str(self.dir).encode(), reply.body.replace(name.encode(), b""))
                    self.assertLess(time.monotonic() - begin, 20)
                    # What describes it is shown.
                    self.assertEqual(server.ask(f"/hand{n}.nc.dds").status, 200)


class ByPlugin(Plugin, Aggregation):
    def test_an_archived_aggregation_has_the_values_of_its_files(self):
        files = [make(self.dir / "a.nc", 0, 3), make(self.dir / "b.nc", 3, 4, dtype="i2", packing=(0.001, 273.15)), make(self.dir / "c.nc", 7, 2)]
        self.ok(nc3z("aggregate", *files, "-o", self.dir / "all.nc"))
        archive = self.archive(self.dir / "all.nc", "all.nc.nc3z")
        self.tool("netcdf-plugin", "install")
        code = f"""
import json, netCDF4, sys
slabs = {[[[s.start, s.stop, s.step] for s in slices(slab)] for slab in SLABS]!r}
with netCDF4.Dataset(sys.argv[1]) as file:
    print(json.dumps([file["tas"][tuple(slice(*s) for s in slab)].tolist() for slab in slabs]))
"""
        done = self.python(code, archive)
        self.assertEqual(done.returncode, 0, done.stderr)
        for values, slab in zip(json.loads(done.stdout), SLABS, strict=True):
            np.testing.assert_allclose(np.asarray(values), truth(range(9))[slices(slab)], atol=1e-3)


if __name__ == "__main__":
    unittest.main()

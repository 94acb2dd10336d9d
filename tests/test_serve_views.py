"""Views of a data set by `nc3z serve` other than bytes and DAP2: Zarr, JSON, parts as netCDF, CSV and numbers."""

import csv
import io
import json
import random
import unittest
import urllib.parse

import numpy as np

from common import CLASSIC, NIGHT, good_files, missing, nc3z
from serving import ServeCase
from test_serve_dap import LIARS, misfits, netcdf4, raw, slabs

COADS = CLASSIC / "coads_climatology.cdf"
SMALL = CLASSIC / "record_padding.nc"


def whole_files():
    return [f for f in good_files() if (NIGHT or f.stat().st_size < 2 << 20) and not f.name.startswith(LIARS)]


class Zarr(ServeCase):
    def test_zarr_python_reads_every_file(self):
        try:
            import aiohttp  # noqa: F401
            import zarr
        except ImportError:
            missing(self, "zarr or aiohttp is not installed")
        netCDF4 = netcdf4(self)
        files = whole_files()
        for file in files:
            self.archive(file)
        read = 0
        with self.serving("--quiet") as server:
            for file in files:
                try:
                    original = raw(netCDF4.Dataset(file))
                except OSError:
                    continue
                with self.subTest(file=file.name), original:
                    group = zarr.open_group(server.address(file.name) + ".zarr/", mode="r", zarr_format=3)
                    self.assertEqual(sorted(group.array_keys()), sorted(original.variables))
                    for name, variable in original.variables.items():
                        array = group[name]
                        self.assertEqual(array.shape, variable.shape)
                        self.assertEqual(tuple(array.metadata.dimension_names or ()), variable.dimensions)
                        self.assertEqual(np.asarray(array[...]).tobytes(), np.asarray(variable[...]).tobytes(), name)
                        read += 1
        self.assertGreater(read, 30)

    def test_a_fill_value_that_the_type_cannot_hold_masks_nothing(self):
        try:
            import aiohttp  # noqa: F401
            import xarray
        except ImportError:
            missing(self, "xarray or aiohttp is not installed")
        kinds, values = misfits(self)
        with self.serving("--quiet") as server, xarray.open_dataset(server.url + "x.zarr/", engine="zarr") as shown:
            for name, (kind, fill) in kinds.items():
                variable = shown[name]
                self.assertEqual(variable.values.tolist(), values.tolist(), name)
                if name.startswith(("good", "nan_float")):
                    self.assertTrue(np.array_equal(variable.encoding["_FillValue"], np.array(fill, kind), equal_nan=True), name)
                else:
                    self.assertNotIn("_FillValue", variable.encoding)
                    self.assertIn("cannot hold it", variable.attrs["nc3z_left_out"])

    def test_xarray_sees_the_same(self):
        try:
            import aiohttp  # noqa: F401
            import xarray
        except ImportError:
            missing(self, "xarray or aiohttp is not installed")
        self.archive(COADS)
        with self.serving("--quiet") as server, xarray.open_dataset(COADS, decode_times=False) as was, \
                xarray.open_dataset(server.url + "coads_climatology.zarr/", engine="zarr", decode_times=False) as shown:
            for name in was.variables:
                self.assertEqual(shown[name].dims, was[name].dims)
                np.testing.assert_array_equal(shown[name].values, was[name].values)
            self.assertEqual(shown["SST"].attrs["long_name"], was["SST"].attrs["long_name"])

    def test_what_is_no_key(self):
        self.archive(COADS, "x.nc")
        with self.serving("--quiet") as server:
            for key in ("SST/c/0/0", "SST/c/99/0/0", "SST/c/a/0/0", "SST/c/00/0/0", "none/zarr.json", "SST/c", ".zgroup", "SST/c/-1/0/0",
                        "SST/c/99999999999999999999/0/0"):
                self.assertEqual(server.ask("/x.zarr/" + key).status, 404, key)
            self.assertEqual(server.ask("/none.zarr/zarr.json").status, 404)
            group = server.ask("/x.zarr/zarr.json").json()
            self.assertIn("SST", group["consolidated_metadata"]["metadata"])
            self.assertEqual(server.ask("/x.nc.zarr/zarr.json").json(), group)


class Json(ServeCase):
    def test_it_is_what_info_says_and_the_attributes(self):
        archive = self.archive(COADS, "x.nc")
        info = json.loads(nc3z("info", "--json", archive).stdout)
        with self.serving("--quiet") as server:
            found = server.ask("/x.json").json()
            self.assertEqual(server.ask("/x.nc.json").json(), found)
            for key in info:
                if key not in ("file", "variables"):
                    self.assertEqual(found[key], info[key], key)
            for was, shown in zip(info["variables"], found["variables"]):
                for key in was:
                    self.assertEqual(shown[key], was[key])
            sst = next(v for v in found["variables"] if v["name"] == "SST")
            self.assertEqual(sst["attribute_values"]["long_name"], "SEA SURFACE TEMPERATURE")
            self.assertIn("history", found["attributes"])

    def test_every_file_has_valid_json(self):
        for file in whole_files():
            self.archive(file)
        with self.serving("--quiet") as server:
            for file in whole_files():
                reply = server.ask("/" + urllib.parse.quote(file.name) + ".json")
                self.assertEqual(reply.status, 200, file.name)
                json.loads(reply.body, parse_constant=lambda word: self.fail(f"{file.name}: {word} is not valid JSON"))
                group = server.ask("/" + urllib.parse.quote(file.name) + ".zarr/zarr.json")
                json.loads(group.body, parse_constant=lambda word: self.fail(f"{file.name}: {word} is not valid JSON"))


class Parts(ServeCase):
    def test_a_part_as_netcdf(self):
        netCDF4 = netcdf4(self)
        for file in whole_files():
            self.archive(file)
        pick = random.Random(23)
        with self.serving("--quiet") as server:
            for file in whole_files():
                try:
                    original = raw(netCDF4.Dataset(file))
                except OSError:
                    continue
                with self.subTest(file=file.name), original:
                    for _ in range(10 if NIGHT else 3):
                        names = [n for n, v in original.variables.items() if v.size and len(set(v.dimensions)) == v.ndim and v.dtype.char != "S"]
                        if not names:
                            continue
                        name = pick.choice(names)
                        part, words = slabs(pick, original[name].shape)
                        query = urllib.parse.quote(name + words)
                        reply = server.ask(f"/{urllib.parse.quote(file.name)}.nc?{query}")
                        self.assertEqual(reply.status, 200, (query, reply.body))
                        self.assertEqual(len(reply.body), int(reply["content-length"]))
                        copy = self.dir / "part.nc"
                        copy.write_bytes(reply.body)
                        with raw(netCDF4.Dataset(copy)) as shown:
                            a, b = np.asarray(shown[name][...]), np.asarray(original[name][part])
                            self.assertEqual(a.tobytes(), b.tobytes(), (name, part))
                            self.assertEqual(shown[name].dimensions, original[name].dimensions)
                            for dim, n in zip(original[name].dimensions, part):
                                if dim in shown.variables and dim in original.variables and original[dim].dimensions == (dim,):
                                    self.assertEqual(np.asarray(shown[dim][...]).tobytes(), np.asarray(original[dim][n]).tobytes())

    def test_a_part_is_what_subset_writes(self):
        archive = self.archive(COADS, "x.nc")
        expected = self.dir / "part.nc"
        self.ok(nc3z("subset", archive, "-v", "SST", "-d", "TIME,3,8", "-d", "COADSY,10,20", "--no-history", "-o", expected))
        with self.serving("--quiet") as server:
            reply = server.ask("/x.nc.nc?SST[3:8][10:20][0:179]")
            self.assertEqual(reply.body, expected.read_bytes())
            whole = server.ask("/x.nc.nc")
            self.ok(nc3z("subset", archive, "--no-history", "-f", "-o", expected))
            self.assertEqual(whole.body, expected.read_bytes())
            self.assertEqual(server.ask("/x.nc.nc?SST[0][0][0],AIRT[1][0][0]").status, 400)

    def test_csv_and_numbers(self):
        netCDF4 = netcdf4(self)
        self.archive(COADS, "x.nc")
        with self.serving("--quiet") as server, raw(netCDF4.Dataset(COADS)) as original:
            sst = original["SST"]
            reply = server.ask("/x.nc.csv?SST%5B2%5D%5B10:12%5D%5B5:2:9%5D")
            rows = list(csv.reader(io.StringIO(reply.body.decode())))
            self.assertEqual(rows[0], ["TIME", "COADSY", "COADSX", "SST"])
            expected = [[original["COADSY"][y], original["COADSX"][x], sst[2, y, x]] for y in range(10, 13) for x in range(5, 10, 2)]
            self.assertEqual([[np.float64(b), np.float64(c), np.float32(d or "-1e34")] for _, b, c, d in rows[1:]],
                             [[np.float64(b), np.float64(c), np.float32(d)] for b, c, d in expected])
            numbers = server.ask("/x.nc.f64?SST[0:11][45][90]")
            np.testing.assert_array_equal(np.frombuffer(numbers.body, "<f8"), sst[:, 45, 90].astype("f8"))
            for end in ("csv", "f64"):
                self.assertEqual(server.ask(f"/x.nc.{end}").status, 400)
                self.assertEqual(server.ask(f"/x.nc.{end}?SST[12][0][0]").status, 400)

    def test_csv_is_that_of_the_tool(self):
        netCDF4 = netcdf4(self)
        path = self.source / "x.nc"
        with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
            d.createDimension("time", None)
            d.createDimension("station", 2)
            d.createDimension("letter", 4)
            time = d.createVariable("time", "f8", ("time",))
            time.units = "hours since 2001-02-28"
            time[:] = [0, 24, 48.5]
            d.createVariable("name", "S1", ("station", "letter"))[:] = [[b"Z", b"\xc3", b"\xbc", b"r"], [b"O", b",", b"1", b"\0"]]
            tas = d.createVariable("tas", "i2", ("time", "station"), fill_value=-32768)
            tas.setncatts({"scale_factor": 0.01, "add_offset": 273.15})
            tas.set_auto_maskandscale(False)
            tas[:] = [[100, -32768], [5, 6], [7, 8]]
            d.createVariable("letters", "S1", ())[...] = b"q"
            d.createVariable("many", "f4", ("time", "station", "letter"))[:] = np.arange(24).reshape(3, 2, 4)
        self.archive(path, "y.nc")
        self.archive(COADS, "coads.cdf")
        with self.serving("--quiet") as server:
            for file in ("x.nc", "y.nc.nc3z"):
                for name in ("time", "name", "tas", "letters", "many"):
                    expected = self.ok(nc3z("read", self.source / file, name, "--format", "csv")).stdout
                    self.assertEqual(server.ask(f"/{file.removesuffix('.nc3z')}.csv?{name}").body, expected, name)
            self.assertIn("0,Zür\n1,\"O,1\"\n".encode(), server.ask("/x.nc.csv?name").body)
            self.assertIn(b"2001-02-28T00:00:00,0,274.15\n2001-02-28T00:00:00,1,\n", server.ask("/x.nc.csv?tas").body)
            # Several pieces.
            expected = self.ok(nc3z("read", COADS, "SST", "--format", "csv", "-d", "TIME,2,9,3")).stdout
            self.assertEqual(server.ask("/coads.cdf.csv?SST[2:3:9][0:89][0:179]").body, expected)


if __name__ == "__main__":
    unittest.main()

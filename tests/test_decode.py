"""Values as they are meant, where people look at them: lists, pictures, selections, decoded reading, comparisons; of classic files and
archives alike."""

import json
import re
import subprocess
import unittest

from common import Case, nc3z


def classic(path, dims, variables, **attributes):
    """A classic file: `variables` has (name, type, dimensions, values, attributes). Values are as they are stored."""
    import netCDF4
    import numpy as np

    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as d:
        d.set_auto_maskandscale(False)
        d.setncatts(attributes)
        for name, n in dims.items():
            d.createDimension(name, n)
        for name, ty, over, values, attrs in variables:
            attrs = dict(attrs)
            v = d.createVariable(name, ty, over, fill_value=attrs.pop("_FillValue", None))
            v.set_auto_maskandscale(False)
            v.setncatts(attrs)
            v[...] = np.asarray(values, dtype=ty) if ty != "S1" else values
    return path


class Decoded(Case):
    def out(self, *args):
        done = nc3z(*args)
        self.ok(done)
        return done.stdout.decode()

    def words(self, *args):
        return self.out(*args).split()

    def both(self, path):
        """The file and an archive of it."""
        self.ok(nc3z("archive", "-q", path, "-o", f"{path}.nc3z"))
        return path, f"{path}.nc3z"

    def svg(self, *args):
        self.ok(nc3z("plot", *args, "-o", self.dir / "p.svg", "--force"))
        return (self.dir / "p.svg").read_text()

    def numbers(self, svg):
        texts = re.findall(r">\s*([\u2212-]?[0-9.]+)\s*<", svg)
        return [float(t.replace("\u2212", "-")) for t in texts]

    def test_unsigned_and_packed_values(self):
        path = classic(self.dir / "radiance.nc", {"y": 2, "x": 3}, [
            ("rad", "i2", ("y", "x"), [[0, 100, 1000], [32767, -6, -1]],
             {"_Unsigned": "true", "_FillValue": -1, "scale_factor": 0.01, "valid_range": [0, -6]})])
        for file in self.both(path):
            self.assertEqual(self.words("read", file, "rad", "--decode"), ["0.0", "1.0", "10.0", "327.67", "655.3000000000001", "_"])
            rows = self.out("read", file, "rad", "--format", "csv").splitlines()
            self.assertEqual([rows[0], rows[2], rows[6]], ["y,x,rad", "0,1,1.0", "1,2,"])
            self.assertEqual(self.out("read", file, "rad", "--format", "csv", "--raw").splitlines()[6], "1,2,-1")
            data = json.loads(self.out("read", file, "rad", "--format", "json", "--decode"))["data"]
            self.assertEqual((data[1][2], data[0][2]), (None, 10.0))
            self.assertEqual(self.words("read", file, "rad"), ["0", "100", "1000", "32767", "-6", "-1"])
            self.assertGreater(max(self.numbers(self.svg(file, "rad"))), 500)

    def test_packed_coordinates(self):
        path = classic(self.dir / "grid.nc", {"lat": 3, "time": 2}, [
            ("lat", "i2", ("lat",), [80, 90, 100], {"units": "degrees_north", "scale_factor": 0.5}),
            ("time", "i2", ("time",), [0, 10], {"units": "days since 2000-01-01", "scale_factor": 0.1, "add_offset": 1.0}),
            ("t", "f4", ("time", "lat"), [[1, 2, 3], [4, 5, 6]], {})])
        for file in self.both(path):
            listed = self.out("list", file)
            self.assertIn("lat 40..50", listed)
            self.assertIn("2000-01-02 to 2000-01-03", listed)
            self.assertEqual(self.words("read", file, "t", "-d", "lat,45.0"), ["2.0", "5.0"])
            self.assertEqual(self.words("read", file, "t", "-d", "time,2000-01-03"), ["4.0", "5.0", "6.0"])
            self.assertIn("time[1]=2.0 lat[2]=50.0 t=6.0", self.out("read", file, "t", "--coordinates"))
            named = self.out("read", file, "t", "--coordinates", "--decode")
            self.assertIn("time[1]=2000-01-03T00:00:00 lat[2]=50.0 t=6.0", named)
            ticks = self.numbers(self.svg(file, "t", "-d", "time,0"))
            self.assertTrue(all(v <= 60 for v in ticks), ticks)

    def test_fill_values_in_times(self):
        path = classic(self.dir / "juld.nc", {"juld": 3}, [
            ("juld", "f8", ("juld",), [24658.5, 24659.5, 999999.0], {"units": "days since 1950-01-01", "_FillValue": 999999.0}),
            ("t", "f4", ("juld",), [1, 2, 3], {})])
        for file in self.both(path):
            listed = self.out("list", file)
            self.assertIn("2017-07-06 12:00:00 to 2017-07-07 12:00:00", listed)
            self.assertNotIn("4687", listed + self.svg(file, "t"))
            rows = self.out("read", file, "t", "--format", "csv").splitlines()
            self.assertEqual(rows[1:], ["2017-07-06T12:00:00,1.0", "2017-07-07T12:00:00,2.0", ",3.0"])

    def test_zones_of_one_digit(self):
        for n, zone in enumerate(["-6:00", "-06:00", "-6", "-0600"]):
            path = classic(self.dir / f"mdt{n}.nc", {"time": None}, [
                ("time", "f8", ("time",), [0, 60], {"units": f"seconds since 1992-10-8 15:15:42.5 {zone}"}),
                ("t", "f4", ("time",), [1, 2], {})])
            self.assertIn("1992-10-08 21:15:42.5", self.out("list", path), zone)
            self.assertIn("1992-10-08T21:15:42.500000", self.out("read", path, "time", "--decode"), zone)

    def test_times_as_text_and_of_other_variables(self):
        wrf = classic(self.dir / "wrf.nc", {"Time": None, "n": 19}, [
            ("Times", "S1", ("Time", "n"), [list("2005-08-28_12:00:00"), list("2005-08-28_18:00:00"), list("2005-08-29_00:00:00")], {}),
            ("t", "f4", ("Time",), [1, 2, 3], {})])
        tide = classic(self.dir / "tide.nc", {"obs": 3}, [
            ("when", "f8", ("obs",), [0, 6, 12], {"units": "hours since 2005-08-28 12:00", "standard_name": "time"}),
            ("t", "f4", ("obs",), [1, 2, 3], {"coordinates": "when"})])
        for path, dim in ((wrf, "Time"), (tide, "obs")):
            for file in self.both(path):
                self.assertIn("2005-08-28 12:00:00 to 2005-08-29", self.out("list", file))
                self.assertEqual(self.words("read", file, "t", "-d", f"{dim},2005-08-28"), ["1.0", "2.0"])
                self.assertIn("2005-08-28T18:00:00,2.0", self.out("read", file, "t", "--format", "csv"))
                self.assertIn("2005-08-28", self.svg(file, "t"))

    def test_months_of_iri(self):
        path = classic(self.dir / "iri.nc", {"T": 2}, [
            ("T", "f4", ("T",), [0.5, 1.5], {"units": "months since 1960-01-01", "calendar": "360"}), ("t", "f4", ("T",), [1, 2], {})])
        self.assertIn("1960-01-16 to 1960-02-16", self.out("list", path))

    def globe(self, name="globe.nc", lon=range(0, 360, 30)):
        lon = list(lon)
        return classic(self.dir / name, {"time": 14, "lat": 3, "lon": len(lon)}, [
            ("time", "f8", ("time",), [30 * n for n in range(14)], {"units": "days since 2000-01-15", "calendar": "360_day"}),
            ("lat", "f4", ("lat",), [-30, 0, 30], {"units": "degrees_north"}),
            ("lon", "f4", ("lon",), lon, {"units": "degrees_east"}),
            ("t", "f4", ("time", "lat", "lon"), [[[100 * n + x for x in lon]] * 3 for n in range(14)], {"_FillValue": -1.0})])

    def test_longitudes_wrap(self):
        for file in self.both(self.globe()):
            self.assertEqual(self.words("read", file, "lon", "-d", "lon,-30.0,30.0"), ["330.0", "0.0", "30.0"])
            self.assertEqual(self.words("read", file, "lon", "-d", "lon,350.0,10.0"), ["0.0"])
            self.assertEqual(self.words("read", file, "lon", "-d", "lon,-90.0"), ["270.0"])
            self.assertEqual(self.words("read", file, "t", "--box=-60,-20,0,10", "-d", "time,0"), ["300.0", "330.0"])
            self.ok(nc3z("subset", file, "-d", "lon,-30.0,30.0", "-o", self.dir / "s.nc", "--force", "--no-history"))
            self.assertEqual(self.words("read", self.dir / "s.nc", "lon"), ["330.0", "0.0", "30.0"])
            self.svg(file, "t", "-d", "lon,-30.0,30.0", "-d", "time,0")
            done = nc3z("read", file, "lat", "-d", "lat,-90.0,0.0")
            self.assertIn("exceeds the coordinate, which goes from -30.0 to 30.0", done.stderr)
            self.assertEqual(done.stdout.split(), [b"-30.0", b"0.0"])

    def test_negative_steps_count_down(self):
        path = self.globe()
        self.assertEqual(self.words("read", path, "time", "-d", "time,3,0,-1"), ["90.0", "60.0", "30.0", "0.0"])
        done = nc3z("read", path, "time", "-d", "time,12,1")
        self.assertIn("wrap around its end", done.stderr)
        self.assertEqual(done.stdout.split(), [b"360.0", b"390.0", b"0.0", b"30.0"])
        self.assertEqual(nc3z("read", path, "lon", "-d", "lon,11,1").stderr, "")

    def test_dates_select(self):
        for file in self.both(self.globe()):
            self.assertEqual(self.words("read", file, "time", "-d", "time,2000-02"), ["30.0"])
            self.assertEqual(self.words("read", file, "time", "-d", "time,2000-03,2000-05"), ["60.0", "90.0", "120.0"])
            self.assertEqual(self.words("read", file, "time", "-d", "time,2001-01,"), ["360.0", "390.0"])
            self.assertEqual(self.words("read", file, "time", "-d", "time,,2000-02-15,-1"), ["30.0", "0.0"])
            self.fails(nc3z("read", file, "time", "-d", "time,2000-01-16"), 1, "no time is in this range; times go from 2000-01-15 to")
            self.fails(nc3z("read", file, "time", "-d", "time,2000-02-31"), 1, "no date 2000-02-31")
            self.fails(nc3z("read", file, "t", "-d", "lat,2000-01"), 1, "has no dates")
            self.ok(nc3z("subset", file, "-d", "time,2000-06", "-o", self.dir / "s.nc", "--force"))
            self.assertEqual(self.words("read", self.dir / "s.nc", "time"), ["150.0"])

    def curvilinear(self):
        import numpy as np

        y, x = np.mgrid[0:6, 0:8]
        lat, lon = 40 + 2.0 * y + 0.5 * x, 350 + 4.0 * x - y
        leading = lambda a: np.stack([a, a])
        return classic(self.dir / "wrf2.nc", {"Time": 2, "south_north": 6, "west_east": 8}, [
            ("XLAT", "f4", ("Time", "south_north", "west_east"), leading(lat), {"units": "degree_north"}),
            ("XLONG", "f4", ("Time", "south_north", "west_east"), leading(lon), {"units": "degree_east"}),
            ("T2", "f4", ("Time", "south_north", "west_east"), leading(10.0 * y + x), {"coordinates": "XLONG, XLAT"}),
            ("IVGTYP", "i4", ("Time", "south_north", "west_east"), leading(10 * y + x), {"_FillValue": -9})]), lat, lon

    def test_regions_of_curvilinear_grids(self):
        import netCDF4
        import numpy as np

        path, lat, lon = self.curvilinear()
        inside = (lat >= 44) & (lat <= 48) & ((lon + 180) % 360 - 180 >= -2) & ((lon + 180) % 360 - 180 <= 8)
        rows, columns = np.where(inside)
        box = np.s_[rows.min():rows.max() + 1, columns.min():columns.max() + 1]
        for file in self.both(path):
            for variable in ("T2", "IVGTYP"):
                shown = self.words("read", file, variable, "-d", "Time,1", "--box=-2,8,44,48", "--decode")
                want = [str(v) if ok else "_" for v, ok in zip(self.values(path, variable)[box].ravel(), inside[box].ravel())]
                self.assertEqual([s.removesuffix(".0") for s in shown], [w.removesuffix(".0") for w in want])
            self.ok(nc3z("subset", file, "--box=-2,8,44,48", "-o", self.dir / "s.nc", "--force"))
            with netCDF4.Dataset(self.dir / "s.nc") as d:
                found = d["T2"][0]
                self.assertEqual(found.shape, inside[box].shape)
                np.testing.assert_array_equal(np.ma.getmaskarray(found), ~inside[box])
                np.testing.assert_allclose(d["XLAT"][0], lat[box])
            self.fails(nc3z("read", file, "T2", "--box=100,110,0,10"), 1, "it contains no cell")
        svg = self.svg(path, "T2", "-d", "Time,1")
        self.assertNotIn("(index)", svg)

    def values(self, path, variable):
        import netCDF4

        with netCDF4.Dataset(path) as d:
            d.set_auto_maskandscale(False)
            return d[variable][1]

    def test_meshes_are_maps_in_degrees(self):
        import numpy as np

        n = 400
        rng = np.random.default_rng(5)
        lat, lon, values = np.radians(rng.uniform(-80, 80, n)), np.radians(rng.uniform(0, 359, n)), rng.uniform(0, 1, n)
        mpas = classic(self.dir / "mpas.nc", {"Time": None, "nCells": n}, [
            ("latCell", "f8", ("nCells",), lat, {}), ("lonCell", "f8", ("nCells",), lon, {}),
            ("t", "f4", ("Time", "nCells"), [values], {})])
        ugrid = classic(self.dir / "ugrid.nc", {"face": n}, [
            ("mesh", "i4", (), 0, {"cf_role": "mesh_topology", "face_coordinates": "fx fy"}),
            ("fx", "f8", ("face",), np.degrees(lon), {"standard_name": "longitude", "units": "degrees_east"}),
            ("fy", "f8", ("face",), np.degrees(lat), {"standard_name": "latitude", "units": "degrees_north"}),
            ("t", "f4", ("face",), values, {"mesh": "mesh", "location": "face"})])
        scrip = classic(self.dir / "scrip.nc", {"grid_size": n}, [
            ("grid_center_lat", "f8", ("grid_size",), lat, {"units": "radians"}),
            ("grid_center_lon", "f8", ("grid_size",), lon, {"units": "radians"}), ("t", "f4", ("grid_size",), values, {})])
        inside = (np.degrees(lat) >= 10) & (np.degrees(lat) <= 30) & (np.degrees(lon) <= 60)
        for path in (mpas, ugrid, scrip):
            svg = self.svg(path, "t")
            self.assertNotIn("(index)", svg, path)
            self.assertGreater(max(self.numbers(svg)), 100, path)
            shown = self.words("read", path, "t", "--box=0,60,10,30", "--decode")
            self.assertEqual(sum(s != "_" for s in shown), int(inside.sum()), path)

    def test_parts_are_compared_by_their_coordinates(self):
        a = self.globe("a.nc")
        b = self.globe("b.nc", [(x + 180) % 360 - 180 for x in range(180, 540, 30)])
        self.assertEqual(nc3z("diff", a, b, "-v", "t").returncode, 1)
        self.assertEqual(nc3z("diff", a, b, "-v", "lat", "-d", "lat,0.0,30.0").returncode, 0)
        self.ok(nc3z("diff", a, b, "-v", "t", "-d", "time,2000-01", "-d", "lon,0.0,150.0"))
        self.assertEqual(nc3z("diff", a, b, "-v", "t", "-d", "lon,-90.0,0.0").returncode, 1)

    def test_incomplete_files(self):
        import netCDF4

        path = self.dir / "cut.nc"
        with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
            d.createDimension("time", None)
            for name in ("time", "t"):
                d.createVariable(name, "f8", ("time",))[:] = [0.0, 1.0]
            d["time"].units = "days since 2000-01-01"
        path.write_bytes(path.read_bytes()[:-16])
        done = nc3z("archive", path)
        self.assertIn("variable `time`: the file holds 1 of 2 elements", done.stderr)
        for file in (path, f"{path}.nc3z"):
            for args in (("read", file, "time"), ("read", file, "time", "-d", "time,1"), ("subset", file, "-o", self.dir / "s.nc")):
                done = nc3z(*args)
                self.fails(done, 1, "fetch or copy the classic file again; what is there is read by a selection such as -d time,0")
                self.assertNotIn("repair", done.stderr)
                self.assertNotIn("FILE", done.stderr)
            self.assertEqual(self.words("read", file, "time", "-d", "time,0"), ["0.0"])
            listed = self.out("list", file)
            self.assertIn("2000-01-01 to unknown", listed)
            self.assertEqual(nc3z("diff", file, file).returncode, 0)
            self.assertEqual(nc3z("diff", file, path).returncode, 0)
        whole = self.dir / "whole.nc"
        with netCDF4.Dataset(whole, "w", format="NETCDF3_CLASSIC") as d:
            d.createDimension("time", None)
            for name in ("time", "t"):
                d.createVariable(name, "f8", ("time",))[:] = [0.0, 1.0]
            d["time"].units = "days since 2000-01-01"
        self.assertEqual(nc3z("diff", path, whole).returncode, 1)

    def test_selections_are_those_of_ncks(self):
        import shutil

        if not shutil.which("ncks"):
            self.skipTest("there is no ncks")
        path = self.globe()
        for ranges in (["time,2000-02,2000-04"], ["lat,0.0,30.0"], ["lon,300.0,60.0"], ["time,2,8,3", "lon,30.0,90.0"]):
            theirs, ours = self.dir / "n.nc", self.dir / "o.nc"
            flags = [f for r in ranges for f in ("-d", r.replace("2000-02,2000-04", "2000-02-01,2000-04-30"))]
            subprocess.run(["ncks", "-O", "-h", *flags, path, theirs], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.ok(nc3z("subset", path, *[f for r in ranges for f in ("-d", r)], "-o", ours, "--force", "--no-history"))
            self.assertEqual(nc3z("diff", theirs, ours, "-v", "t,lat,lon").returncode, 0, ranges)


if __name__ == "__main__":
    unittest.main()

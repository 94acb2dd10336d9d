"""Searches in catalogues: places and times of the files of well-known models, values at the ends of their types, files that changed.

Files of which a catalogue does not know the answer are listed as unknown."""

import json
import os
import tarfile
import unittest

import cftime
import netCDF4
import numpy as np
from common import Case, nc3z
from servers import serve

CALENDARS = ("standard", "proleptic_gregorian", "noleap", "all_leap", "360_day", "julian")


def text(d, name, dims, rows):
    """A variable of text with a row for each string."""
    v = d.createVariable(name, "S1", dims)
    length = len(d.dimensions[dims[-1]])
    cells = np.array([list(row.ljust(length)[:length]) for row in rows], dtype="S1")
    v[:] = cells if len(dims) == 2 else cells[0]
    return v


class Find(Case):
    def file(self, name, form="NETCDF3_64BIT_DATA"):
        (self.dir / "data").mkdir(exist_ok=True)
        return netCDF4.Dataset(self.dir / "data" / name, "w", format=form)

    def index(self, *inputs):
        catalog = self.dir / "s.catalog.nc3z"
        self.ok(nc3z("catalog", *(inputs or [self.dir / "data"]), "-o", catalog, "-f"))
        return catalog

    def found(self, *words):
        """The files that are found, and those that are unknown with the reasons; the exit code is that of the manual."""
        done = nc3z("find", "--json", *words)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        rows = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if rows else 1)
        name = lambda row: row["file"].rpartition("/")[2]  # noqa: E731
        known = [name(row) for row in rows if not row["unknown"]]
        return sorted(known), {name(row): row["unknown"] for row in rows if row["unknown"]}

    def place(self, name, lon, lat, *, dims=("y", "x"), names=("lon", "lat"), units=(None, None), standard=(None, None), more=()):
        """A file with longitudes and latitudes over some dimensions."""
        with self.file(name) as d:
            shape = np.shape(lon) if len(dims) == np.ndim(lon) else ()
            for dim, n in zip(dims, shape or (len(lat), len(lon))):
                d.createDimension(dim, n)
            own = not shape
            for which, values, unit, std, dim in zip(names, (lon, lat), units, standard, (dims[1:], dims[:1])):
                v = d.createVariable(which, "f8", dim if own else dims)
                if unit:
                    v.units = unit
                if std:
                    v.standard_name = std
                v[:] = values
            d.createVariable("t", "f4", dims)[:] = 1.0
            for word, value in more:
                d.setncattr(word, value)

    def test_places_of_models_are_found(self):
        y, x = np.mgrid[0:4, 0:5]
        lon, lat = 10.0 + 2 * x + 0.1 * y, 40.0 + 2 * y - 0.1 * x
        axes = (10.0 + 2 * np.arange(5), 40.0 + 2 * np.arange(4))
        flat = (lon.ravel(), lat.ravel())
        rad = np.radians
        self.place("wrf.nc", lon, lat, names=("XLONG", "XLAT"), units=("degree_east", "degree_north"))
        self.place("wps.nc", lon, lat, names=("XLONG_M", "XLAT_M"), units=("degrees longitude", "degrees latitude"))
        self.place("mpas.nc", rad(flat[0]), rad(flat[1]), dims=("nCells",), names=("lonCell", "latCell"), units=("rad", "rad"))
        self.place("mpas_bare.nc", rad(flat[0]), rad(flat[1]), dims=("nCells",), names=("lonCell", "latCell"))
        self.place("icon.nc", rad(flat[0]), rad(flat[1]), dims=("cell",), names=("clon", "clat"), units=("radian",) * 2, standard=("longitude", "latitude"))
        self.place("argo.nc", *flat, dims=("N_PROF",), names=("LONGITUDE", "LATITUDE"), units=("degree_east", "degree_north"))
        self.place("roms.nc", lon, lat, names=("lon_rho", "lat_rho"))
        self.place("scrip.nc", *flat, dims=("grid_size",), names=("grid_center_lon", "grid_center_lat"), units=("degrees", "degrees"))
        self.place("scrip_rad.nc", rad(flat[0]), rad(flat[1]), dims=("grid_size",), names=("grid_center_lon", "grid_center_lat"), units=("radians",) * 2)
        self.place("mom6.nc", lon, lat, names=("x", "y"), units=("degree_east", "degree_north"), standard=("geographic_longitude", "geographic_latitude"))
        self.place("nemo.nc", lon, lat, names=("nav_lon", "nav_lat"))
        self.place("cf_e.nc", *axes, dims=("b", "a"), names=("a", "b"), units=("degrees_E", "degrees_N"))
        self.place("cf_e1.nc", *axes, dims=("b", "a"), names=("a", "b"), units=("degreeE", "degreeN"))
        self.place("bare.nc", *axes, dims=("lat", "lon"), names=("lon", "lat"))
        self.place("over.nc", np.mod(lon + 350, 360), lat, names=("lon", "lat"), units=("degrees_east", "degrees_north"))
        with self.file("esmf.nc") as d:
            d.createDimension("elementCount", 20)
            d.createDimension("coordDim", 2)
            v = d.createVariable("centerCoords", "f8", ("elementCount", "coordDim"))
            v.units = "degrees"
            v[:] = np.stack(flat, 1)
            d.createVariable("elementArea", "f8", ("elementCount",))[:] = np.arange(20.0)
        # These have no place: a rotated grid, metres, an angle, nothing.
        self.place("rotated.nc", *axes, dims=("rlat", "rlon"), names=("rlon", "rlat"), units=("degrees", "degrees"), standard=("grid_longitude", "grid_latitude"))
        self.place("metres.nc", *axes, dims=("b", "a"), names=("a", "b"), units=("m", "m"))
        self.place("angle.nc", lon, lat, units=("degrees_east", "degrees_north"), standard=("grid_vertex_x_angle", "grid_vertex_y_angle"))
        lost = {name: ["place"] for name in ("rotated.nc", "metres.nc", "angle.nc")}
        every = sorted(p.name for p in (self.dir / "data").iterdir() if p.name not in lost)
        catalog = self.index()
        known, unknown = self.found("--box=12,16,41,45", catalog)
        self.assertEqual((known, unknown), ([name for name in every if name != "over.nc"], lost))
        # In another place nothing is found; columns of one variable are looked at together.
        self.assertEqual(self.found("--box=-60,-50,41,45", catalog), ([], lost))
        self.assertEqual(self.found("--box=12,16,-60,-50", catalog), ([], lost))
        self.assertEqual(self.found("--box=0,5,41,45", catalog)[0], ["over.nc"])
        # `read --box` selects the same cells of each.
        inside = (lon >= 12) & (lon <= 16) & (lat >= 41) & (lat <= 45)
        for name in ("wrf.nc", "wps.nc", "mpas.nc", "mpas_bare.nc", "icon.nc", "argo.nc", "roms.nc", "scrip.nc", "scrip_rad.nc", "mom6.nc", "nemo.nc", "esmf.nc"):
            with self.subTest(name=name):
                variable = "elementArea" if name == "esmf.nc" else "t"
                out = self.dir / "box.npy"
                self.ok(nc3z("read", self.dir / "data" / name, variable, "--box=12,16,41,45", "--format", "npy", "--decode", "-o", out, "-f"))
                self.assertEqual(np.isfinite(np.load(out)).sum(), inside.sum())
        for name in lost:
            self.fails(nc3z("read", self.dir / "data" / name, "t", "--box=12,16,41,45"), 1, "no latitudes and longitudes")
        # Text and names alone.
        done = self.ok(nc3z("find", "--box=-60,-50,41,45", catalog))
        self.assertRegex(done.stdout.decode(), r"rotated\.nc +unknown: its place is unknown")
        self.assertIn("of 3 files the place is unknown", done.stderr)
        names = self.ok(nc3z("find", "-l", "--box=-60,-50,41,45", catalog)).stdout.decode().split()
        self.assertEqual(sorted(name.rpartition("/")[2] for name in names), sorted(lost))

    def test_missing_and_wild_places(self):
        self.place("fill.nc", [np.nan, np.nan], [1.0, 2.0], dims=("n",), names=("lon", "lat"))
        self.place("wild.nc", [1e30, 10.0], [1e30, 45.0], dims=("n",), names=("lon", "lat"))
        with self.file("empty.nc") as d:
            d.createDimension("n", None)
            for name in ("lon", "lat"):
                d.createVariable(name, "f8", ("n",))
        catalog = self.index()
        self.assertEqual(self.found("--box=0,20,0,50", catalog), (["wild.nc"], {"fill.nc": ["place"]}))

    def times(self, name, values, units, *, calendar=None, dims=("time",), variable="time", **attributes):
        with self.file(name) as d:
            for dim, n in zip(dims, np.shape(values)):
                d.createDimension(dim, n)
            v = d.createVariable(variable, "f8", dims, fill_value=attributes.pop("_FillValue", None))
            v.units = units
            if calendar:
                v.calendar = calendar
            for key, value in attributes.items():
                v.setncattr(key, value)
            v[...] = values

    def test_times_of_models_are_found(self):
        since = "days since 2000-01-01"
        with self.file("wrf.nc") as d:
            d.createDimension("Time", None)
            d.createDimension("DateStrLen", 19)
            text(d, "Times", ("Time", "DateStrLen"), ["2000-02-01_00:00:00", "2000-02-01_06:00:00"])
            x = d.createVariable("XTIME", "f4", ("Time",))
            x.units = "minutes since 1900-01-01 00:00:00"
            x[:] = [0, 360]
        with self.file("mpas.nc") as d:
            d.createDimension("Time", None)
            d.createDimension("StrLen", 64)
            text(d, "xtime", ("Time", "StrLen"), ["2000-01-31_00:00:00", "2000-02-01_00:00:00"])
        with self.file("mpas_one.nc") as d:
            d.createDimension("StrLen", 64)
            text(d, "xtime", ("StrLen",), ["2000-02-01_00:00:00"])
        self.times("argo.nc", [18293.0, 999999.0], "days since 1950-01-01 00:00:00 UTC", dims=("N_PROF",), variable="JULD", _FillValue=999999.0)
        self.times("roms.nc", [0.0, 31.0], since, dims=("time",), variable="ocean_time")
        self.times("any.nc", [0.0, 31.0], since, dims=("obs",), variable="when")
        self.times("two.nc", [[0.0], [31.0]], since, dims=("obs", "one"), variable="time")
        self.times("scalar.nc", 31.0, since, dims=(), variable="time")
        self.times("scalar_any.nc", 31.0, since, dims=(), variable="valid")
        self.times("cf.nc", [0.0, 31.0], since)
        self.times("hour.nc", [0.0, 31.0], "days since 20000101 0")
        self.times("wild.nc", [0.0, 31.0, 1e30], since)
        self.times("infinite.nc", [0.0, 31.0, np.inf, 1e308, 1e308], since)
        # No time that is known.
        self.times("reference.nc", 31.0, since, dims=(), variable="run", standard_name="forecast_reference_time")
        self.times("strange.nc", [0.0, 31.0], "days since the war")
        self.times("missing.nc", [np.nan, np.nan], since)
        with self.file("none.nc") as d:
            d.createVariable("orog", "f4", ())[...] = 1.0
        lost = {name: ["time"] for name in ("reference.nc", "strange.nc", "missing.nc", "none.nc")}
        every = sorted(p.name for p in (self.dir / "data").iterdir() if p.name not in lost)
        catalog = self.index()
        known, unknown = self.found("--time", "2000-02", catalog)
        self.assertEqual((known, unknown), (every, lost))
        self.assertEqual(self.found("--time", "2000-02-02,2030", catalog), ([], lost))
        self.assertEqual(self.found("--time", "1950,1999-12-31", catalog), ([], lost))
        # The list of the catalogue is that of the directory.
        plain = json.loads(self.ok(nc3z("list", "--json", self.dir / "data")).stdout)
        listed = json.loads(self.ok(nc3z("list", "--json", catalog)).stdout)
        for a, b in zip(plain, listed, strict=True):
            with self.subTest(name=a["name"]):
                if a["name"].endswith("two.nc"):
                    continue  # the catalogue has the ends of arrays only in its statistics
                self.assertEqual(a["time"], b["time"])
                self.assertEqual(b["time"] is None or b["time"][1] == "unknown", a["name"].rpartition("/")[2] in lost)
        self.ok(nc3z("list", catalog))
        plan = json.loads(self.ok(nc3z("read", "--explain", "--json", catalog, "XTIME", "-d", "Time,2000-02-01T06")).stdout)
        self.assertEqual((plan["files"], plan["tiles"]["touched"]), (1, 1))

    def test_days_that_a_calendar_lacks(self):
        for calendar in CALENDARS:
            self.times(f"{calendar}.nc", np.arange(12) * 30.0 + 15.0, "days since 1950-01-01", calendar=calendar)
        catalog = self.index()
        every = sorted(f"{calendar}.nc" for calendar in CALENDARS)
        for period in ("1950-01-01,1950-12-31", "1950-01-31,1950-02-30", "1950-02-30,1950-03-31", "1950-01-29,1950-02-29"):
            first, last = period.split(",")
            wanted = []
            for calendar in CALENDARS:
                dates = cftime.num2date(np.arange(12) * 30.0 + 15.0, "days since 1950-01-01", calendar)
                # The least and the largest time of a file stand for all between.
                low, high = (dates[0].strftime("%Y-%m-%d"), dates[-1].strftime("%Y-%m-%d"))
                if low <= last and first <= high:
                    wanted.append(f"{calendar}.nc")
            self.assertEqual(self.found("--time", period, catalog), (sorted(wanted), {}), period)
            self.assertEqual(sorted(wanted), every)
        self.assertEqual(nc3z("find", "--time", "1950-01-32", catalog).returncode, 2)
        self.assertEqual(nc3z("find", "--time", "1950-13", catalog).returncode, 2)
        # Reading the period selects the same months, with a note; a single day that does not exist is an error.
        path = self.dir / "data/360_day.nc"
        done = self.ok(nc3z("read", path, "time", "-d", "time,1950-01-01,1950-12-31"))
        self.assertEqual(len(done.stdout.split()), 12)
        self.assertIn("no date 1950-12-31 in its calendar; the day before is the last", done.stderr)
        self.fails(nc3z("read", path, "time", "-d", "time,1950-12-31"), 1, "no date 1950-12-31 in its calendar")

    def test_values_at_the_ends_of_their_types(self):
        inf, odd = np.inf, 2**53 + 1
        files = {
            "mix": ("f8", [1.0, inf, -inf]), "plus": ("f8", [inf]), "minus": ("f8", [-inf]), "plain": ("f8", [1.0, 2.0]),
            "sum": ("f8", [1e308, 1e308, -1.0]), "float": ("f4", [3e38, 3e38]), "odd": ("i8", [odd]), "long": ("i8", [-(2**63) + 1, 2**63 - 1]), "unsigned": ("u8", [2**64 - 3]),
            "none": ("f8", [np.nan]),
        }
        for name, (ty, values) in files.items():
            with self.file(f"{name}.nc") as d:
                d.createDimension("x", len(values))
                d.createVariable("v", ty, ("x",), fill_value=False)[:] = np.array(values, dtype=ty)
        catalog = self.index()
        meets = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}
        for limit in ("0", "1.5", "-1", "inf", "-inf", "1e308", "1e307", "-1e308", str(odd), str(odd - 1), str(odd + 1), str(2**63 - 1), str(2**63 - 2), str(2**64 - 3), str(2**64 - 4), "3e38"):
            for sign, compare in meets.items():
                bound = int(limit) if limit.lstrip("-").isdigit() else float(limit)
                stored = lambda ty, x: int(x) if ty[0] in "iu" else float(np.dtype(ty).type(x))  # noqa: E731
                wanted = sorted(f"{name}.nc" for name, (ty, values) in files.items() if any(compare(stored(ty, x), bound) for x in values))
                self.assertEqual(self.found("--where", f"v {sign} {limit}", catalog), (wanted, {}), f"v {sign} {limit}")
        self.assertIn("mix.nc", self.found("--where", "v == inf", catalog)[0])
        self.assertEqual(self.found("--where", f"v == {odd - 1}", catalog)[0], ["long.nc", "mix.nc", "sum.nc"])
        table = self.ok(nc3z("stats", catalog, "--each")).stdout.decode()
        self.assertIn(str(odd), table)
        self.assertIn("-9223372036854775807", table)
        rows = {row["file"].rpartition("/")[2]: row for row in json.loads(self.ok(nc3z("stats", catalog, "--each", "--json")).stdout)}
        self.assertEqual((rows["odd.nc"]["min"], rows["unsigned.nc"]["max"]), (odd, 2**64 - 3))
        self.assertEqual([rows["sum.nc"][key] for key in ("count", "infinite", "min", "max", "mean")], [3, 0, -1.0, 1e308, None])
        self.assertEqual([rows["mix.nc"][key] for key in ("count", "infinite", "mean")], [1, 2, 1.0])

    def test_numbers_have_few_digits(self):
        with self.file("small.nc") as d:
            d.createDimension("x", 4)
            d.createVariable("v", "f8", ("x",))[:] = [5e-324, 0.0, 1e-310, -0.0]
            d.createVariable("w", "f8", ("x",))[:] = [-0.0, 1e30, 1.5, -0.0]
        table = self.ok(nc3z("stats", self.index())).stdout.decode()
        self.assertIn("1e-310", table)
        self.assertIn("1e30", table)
        self.assertLess(max(map(len, table.splitlines())), 120)
        self.assertNotIn("-0 ", table)

    def test_a_variable_that_no_file_has(self):
        with self.file("a.nc") as d:
            d.createDimension("x", 2)
            d.createVariable("tas", "f8", ("x",))[:] = [1, 2]
            text(d, "station", ("x",), ["ab"])
        catalog = self.index()
        self.fails(nc3z("find", "--where", "tsa > 300", catalog), 1, "no file has a variable `tsa` .did you mean `tas`")
        self.fails(nc3z("find", "--where", "station > 300", catalog), 1, "`station` has no numbers")
        self.fails(nc3z("stats", catalog, "--variable", "tsa"), 1, "did you mean `tas`")
        self.assertEqual(self.found("--where", "tas > 1", "--where", "tas < 0", catalog), ([], {}))

    def test_a_damaged_archive_may_have_any_variable(self):
        with self.file("a.nc") as d:
            d.createDimension("x", 20000)
            d.createVariable("v", "f8", ("x",))[:] = np.random.default_rng(1).normal(size=20000)
        with self.file("b.nc") as d:
            d.createDimension("x", 2)
            d.createVariable("w", "f8", ("x",))[:] = [1, 2]
        bad = self.dir / "bad.nc3z"
        self.ok(nc3z("archive", self.dir / "data/a.nc", "-o", bad))
        raw = bytearray(bad.read_bytes())
        raw[len(raw) // 2] ^= 255
        bad.write_bytes(raw)
        for others in ((), (self.dir / "data/b.nc",)):
            done = self.fails(nc3z("find", "--where", "v > 3.9", bad, *others), 3, "corrupt")
            self.assertNotIn("no file has a variable", done.stderr)

    def test_a_file_that_changed_is_named(self):
        for name in ("a.nc", "b.nc", "c.nc"):
            with self.file(name) as d:
                d.createDimension("x", 2)
                d.createVariable("tas", "f8", ("x",))[:] = [1, 2]
        catalog = self.index()
        data = self.dir / "data"
        self.assertEqual(self.found("--where", "tas > 300", catalog), ([], {}))
        with netCDF4.Dataset(data / "b.nc", "a") as d:
            d["tas"][:] = [400, 500]
        # An older time is another time, too; a file that is not there is on tape.
        os.utime(data / "a.nc", (1e9, 1e9))
        (data / "c.nc").unlink()
        self.assertEqual(self.found("--where", "tas > 300", catalog), ([], {"a.nc": ["changed"], "b.nc": ["changed"]}))
        self.assertEqual(self.found("--where", "tas < 5", catalog)[0], ["c.nc"])
        done = self.ok(nc3z("find", "--where", "tas > 300", catalog))
        self.assertRegex(done.stdout.decode(), r"b\.nc +unknown: it changed after it was indexed")
        self.assertIn("2 files changed after the catalogue was made", done.stderr)
        for command in ("stats", "list"):
            self.assertRegex(self.ok(nc3z(command, catalog)).stderr, r"2 files changed after the catalogue was made, such as .*a\.nc`; run `nc3z catalog` again")
        self.ok(nc3z("bundle", data, "-o", self.dir / "set.bundle.nc3z"))
        catalog = self.index(self.dir / "set.bundle.nc3z")
        self.assertEqual(self.found("--where", "tas > 300", catalog), (["b.nc"], {}))
        os.utime(self.dir / "set.bundle.nc3z", (1e9, 1e9))
        self.assertEqual(self.found("--where", "tas > 300", catalog)[1], {"a.nc": ["changed"], "b.nc": ["changed"]})

    def test_the_files_of_a_catalogue_at_a_url_are_not_those_of_this_machine(self):
        """A name in it is that of a file beside it on the server, and not of a local file."""
        for name in ("a.nc", "b.nc"):
            with self.file(name) as d:
                d.createDimension("x", 2)
                d.createVariable("tas", "f8", ("x",))[:] = [1, 2]
        self.ok(nc3z("catalog", "data", "-o", "s.catalog.nc3z", cwd=self.dir))
        content = (self.dir / "s.catalog.nc3z").read_bytes()
        local = self.dir / "elsewhere/data"
        local.mkdir(parents=True)
        (local / "a.nc").write_bytes(b"another file")
        with serve({"set/s.catalog.nc3z": content}) as server:
            url = server.url("set/s.catalog.nc3z")
            for command, code in ((("find", "--where", "tas > 300", url), 1), (("find", "--where", "tas < 5", url), 0), (("stats", url), 0), (("list", url), 0)):
                with self.subTest(command=command):
                    done = nc3z(*command, cwd=local.parent)
                    self.assertEqual(done.returncode, code, done.stderr)
                    self.assertNotIn("changed", done.stderr + done.stdout.decode())
        # Of a local catalogue it is that file.
        (local.parent / "s.catalog.nc3z").write_bytes(content)
        self.assertRegex(self.ok(nc3z("find", "--where", "tas > 300", "s.catalog.nc3z", cwd=local.parent)).stdout.decode(), r"a\.nc +unknown: it changed")

    def test_longitudes_across_the_date_line(self):
        for name, lon in (("rises.nc", [170.0, 175.0, 180.0, -175.0, -170.0]), ("falls.nc", [-170.0, -175.0, 180.0, 175.0, 170.0]), ("zero.nc", [350.0, 355.0, 0.0, 5.0, 10.0])):
            self.place(name, lon, [0.0, 5.0], dims=("lat", "lon"), names=("lon", "lat"), units=("degrees_east", "degrees_north"))
        read = lambda *words: self.ok(nc3z("read", *words)).stdout.decode().split()  # noqa: E731
        data = self.dir / "data"
        for name in ("rises.nc", "falls.nc"):
            self.assertEqual(len(read(data / name, "t", "--box=150,-150,-1,1")), 5)
            self.assertEqual(sorted(read(data / name, "lon", "-d", "lon,175.0,185.0")), ["-175.0", "175.0", "180.0"])
            self.assertEqual(read(data / name, "lon", "-d", "lon,-175.0"), ["-175.0"])
            self.assertEqual(read(data / name, "lon", "-d", "lon,185.0"), ["-175.0"])
        self.assertEqual(read(data / "zero.nc", "lon", "-d", "lon,-5.0,5.0"), ["355.0", "0.0", "5.0"])
        self.ok(nc3z("subset", data / "rises.nc", "--box=172,-172,-1,1", "-o", self.dir / "cut.nc"))
        with netCDF4.Dataset(self.dir / "cut.nc") as d:
            self.assertEqual(list(d["lon"][:]), [175, 180, -175])
        self.ok(nc3z("plot", data / "rises.nc", "t", "--box=172,-172,-1,6", "-o", self.dir / "a.svg"))

    def test_reference_times_of_udunits_and_the_year_0(self):
        self.times("hour.nc", [0.0, 6.0, 30.0], "hours since 2000-01-01 0")
        self.times("coads.nc", [366.0, 1096.485, 8400.0], "hour since 0000-01-01 00:00:00")
        data = self.dir / "data"
        shown = lambda *words: self.ok(nc3z("read", "--decode", *words)).stdout.decode().split()  # noqa: E731
        self.assertEqual(shown(data / "hour.nc", "time"), ["2000-01-01T00:00:00", "2000-01-01T06:00:00", "2000-01-02T06:00:00"])
        self.assertEqual(shown(data / "hour.nc", "time", "-d", "time,2000-01-01"), ["2000-01-01T00:00:00", "2000-01-01T06:00:00"])
        # As cdo showtimestamp and ncdump -t show them.
        self.assertEqual([value[:19] for value in shown(data / "coads.nc", "time")], ["0000-01-16T06:00:00", "0000-02-15T16:29:06", "0000-12-16T00:00:00"])
        self.assertEqual(len(shown(data / "coads.nc", "time", "-d", "time,0000-02")), 1)
        self.assertEqual(self.found("--time", "0000-02", self.index()), (["coads.nc"], {}))

    def test_limits_of_the_type_of_the_factors(self):
        with self.file("pk.nc") as d:
            d.createDimension("x", 5)
            v = d.createVariable("kx", "i2", ("x",))
            v[:] = np.array([-32767, -32667, -31768, -32000, 5], dtype="i2")
        # netCDF4 converts limits to the type of the variable.
        archive = self.dir / "pk.nc.nc3z"
        self.ok(nc3z("archive", self.dir / "data/pk.nc", "-o", archive))
        self.ok(nc3z("attr", archive, "-a", "add_offset,kx,o,l,32768", "-a", "valid_range,kx,o,l,1,1000"))
        values = self.ok(nc3z("read", "--decode", archive, "kx")).stdout.decode().split()
        self.assertEqual([value.removesuffix(".0") for value in values], ["1", "101", "1000", "768", "_"])

    def test_a_file_that_was_cut_short_is_unknown_where_values_are_missing(self):
        """What it has is found; what it lacks may be anything. Statistics of what it has come with a warning."""
        with self.file("whole.nc", "NETCDF3_CLASSIC") as d:
            d.createDimension("lat", 10)
            d.createDimension("time", None)
            for name, dims, units in (("lat", ("lat",), "degrees_north"), ("lon", ("lat",), "degrees_east")):
                d.createVariable(name, "f8", dims).units = units
                d[name][:] = np.arange(10.0)
            d.createVariable("time", "f8", ("time",)).units = "days since 2000-01-01"
            v = d.createVariable("v", "f8", ("time", "lat"))
            d["time"][:] = np.arange(100.0)
            v[:] = np.arange(1000.0).reshape(100, 10)
        data = self.dir / "data"
        cut = data / "cut.nc"
        # 88 bytes a record: 49 of 100 are whole.
        cut.write_bytes((data / "whole.nc").read_bytes()[: -88 * 50 - 40])
        archive = self.dir / "cut.nc.nc3z"
        self.ok(nc3z("archive", cut, "-o", archive))
        bundle, tape = self.dir / "b.bundle.nc3z", self.dir / "t.tar"
        self.ok(nc3z("bundle", data, "-o", bundle, "--statistics"))
        with tarfile.open(tape, "w") as t:
            t.add(cut, "cut.nc")
        catalog = self.dir / "s.catalog.nc3z"
        warned = "warning: .*cut.nc.*variable `v`: the file holds "
        self.assertRegex(self.ok(nc3z("catalog", data, archive, tape, "-o", catalog)).stderr, warned)
        for given in (cut, archive, tape, data, bundle, catalog):
            with self.subTest(given.name):
                done = self.ok(nc3z("stats", given))
                self.assertRegex(done.stderr, "warning: .*values are missing in " if given in (bundle, catalog) else warned)
                if given == catalog:
                    continue
                whole = ["whole.nc"] if given in (data, bundle) else []
                cuts = ["cut.nc.nc3z"] if given == archive else ["cut.nc"]
                for words, why in ((["--time", "2000-03"], "time"), (["--where", "v > 700"], "values")):
                    found, unknown = self.found(*words, given)
                    self.assertEqual((found, unknown), (whole, dict.fromkeys(cuts, [why])), words)
                for words in (["--time", "2000-01"], ["--where", "v < 100"], ["--box", "0,5,0,5"]):
                    self.assertEqual(self.found(*words, given), (sorted(cuts + whole), {}), words)
                # Conditions that do not need the missing values are still answered.
                self.assertEqual(self.found("--box", "50,60,0,5", given), ([], {}))
        found, unknown = self.found("--where", "v > 700", catalog)
        self.assertEqual((found, sorted(unknown)), (["whole.nc"], ["cut.nc", "cut.nc.nc3z"]))
        # Cut inside the longitudes: the place is unknown, the rest of the coordinates is not invented.
        header = (data / "whole.nc").stat().st_size - 88 * 100 - 160
        cut.write_bytes((data / "whole.nc").read_bytes()[: header + 80 + 24])
        self.ok(nc3z("catalog", cut, "-o", catalog, "-f"))
        for given in (cut, catalog):
            self.assertEqual(self.found("--box", "8,9,0,5", given), ([], {"cut.nc": ["place"]}))
            self.assertEqual(self.found("--box", "8,9,50,60", given), ([], {}))
            self.assertEqual(self.found("--time", "2000-01", given), ([], {"cut.nc": ["time"]}))


if __name__ == "__main__":
    unittest.main()

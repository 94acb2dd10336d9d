"""Which files make one array: each case of the study of the CF aggregation rules, by its name there. What cf-python does silently wrong or
refuses silently is told here: refusals name both files and the values."""

import json
import unittest

import cftime
import netCDF4
import numpy as np
from common import nc3z
from test_aggregate import CF, LAT, Aggregation, truth

NCA = ("--convention", "nca")


def along(path, name, units, points, values=None, /, **attributes):
    """A file of a coordinate of that name and these units, and a variable `v` along it."""
    points, values = np.asarray(points), np.arange(len(points), dtype="f4") if values is None else np.asarray(values)
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as d:
        d.set_fill_off()
        d.createDimension(name, len(points))
        d.createVariable(name, points.dtype, (name,))[:] = points
        d[name].units = units
        v = d.createVariable("v", values.dtype, (name,), fill_value=attributes.pop("_FillValue", None))
        v.setncatts(attributes)
        v[:] = values
    return path


class Rules(Aggregation):
    """`a.nc` has three days; each case gives the second file, and the result of joining both."""

    def two(self, first=3, count=3, **options):
        return self.make("a.nc", 0, 3), self.make("b.nc", first, count, **options)

    def joined(self, files, *options, shape=(6, 4, 3), expected=None):
        agg = self.aggregate(*files, options=("-f", *options))
        found = self.values(agg)
        self.assertEqual(found.shape, shape)
        self.near(found, truth(range(shape[0])) if expected is None else expected)
        return agg

    def report(self, files, *options):
        return json.loads(self.ok(nc3z_check(*files, *options)).stdout)

    def test_tiling_of_time_and_latitude_in_any_order(self):
        files = [self.make(f"g{i}{j}.nc", 3 * i, 3, lat=LAT[2 * j:2 * j + 2]) for i in range(3) for j in range(2)]
        for order in ((0, 1, 2, 3, 4, 5), (5, 4, 3, 2, 1, 0), (2, 5, 0, 3, 1, 4)):
            self.joined([files[k] for k in order], shape=(9, 4, 3))

    def test_tiling_with_one_missing_is_refused(self):
        """cf.aggregate gives two fields."""
        files = [self.make(f"g{i}{j}.nc", 3 * i, 3, lat=LAT[2 * j:2 * j + 2]) for i in range(3) for j in range(2)]
        for gone in range(6):
            self.refused(*(files[:gone] + files[gone + 1:]), words="nothing fills|not aligned")

    def test_mixed_units_take_those_of_the_first_file(self):
        a, b = self.two(units="degC")
        self.joined([a, b])
        self.joined([b, a], expected=truth(range(6)) - 273.15)

    def test_reversed_latitude_split_in_time(self):
        """cf.aggregate joins them with wrong values."""
        files = self.two(lat=LAT[::-1])
        done = self.refused(*files, words="descending", options=CF)
        self.assertRegex(done.stderr, "a.nc")
        self.joined(files, *NCA)

    def test_reversed_latitude_split_in_latitude(self):
        files = self.make("a.nc", 0, 3, lat=LAT[:2]), self.make("b.nc", 0, 3, lat=LAT[:1:-1])
        self.refused(*files, words="descending", options=CF)
        self.joined(files, *NCA, shape=(3, 4, 3))

    def test_scalar_time_and_scalar_time(self):
        files = [self.make(f"s{n}.nc", n, 1, scalar=True) for n in range(2)]
        self.joined(files, shape=(2, 4, 3))

    def test_scalar_times_and_a_file_of_three_steps(self):
        files = [self.make(f"s{n}.nc", n, 1, scalar=True) for n in range(2)]
        self.joined([*files, self.make("c.nc", 2, 3)], shape=(5, 4, 3))

    def test_a_scalar_time_is_added_to_an_aggregation_of_one_file(self):
        files = [self.make(f"s{n}.nc", n, 1, scalar=True) for n in range(3)]
        out = self.dir / "grown.nc"
        self.ok(nc3z("aggregate", files[0], "-o", out))
        for file in files[1:]:
            self.ok(nc3z("aggregate", "--append", file, "-o", out))
        whole = self.aggregate(*files)
        for name in ("tas", "time"):
            self.assertEqual(self.values(out, name).tolist(), self.values(whole, name).tolist())

    def test_scalar_time_that_coordinates_does_not_list_tells_nothing(self):
        for n in range(2):
            with netCDF4.Dataset(self.make(f"s{n}.nc", n, 1, scalar=True), "a") as d:
                d["tas"].delncattr("coordinates")
        self.refused(self.dir / "s0.nc", self.dir / "s1.nc", words="s0.nc.*s1.nc.*same cells")

    def test_units_that_cannot_be_converted(self):
        done = self.refused(*self.two(units="m"), words="cannot convert")
        self.assertRegex(done.stderr, "b.nc.*a.nc")

    def test_unknown_units(self):
        self.refused(*self.two(units="furlong_x"), words="furlong_x.*not understood")

    def test_the_same_unknown_units_are_equal(self):
        files = self.make("a.nc", 0, 3, units="psu"), self.make("b.nc", 3, 3, units="psu")
        self.joined(files)

    def test_gap_in_time_without_bounds(self):
        files = self.two(first=5)
        self.joined(files, expected=truth([0, 1, 2, 5, 6, 7]))
        done = self.refused(*files, words="gap between 2001-01-03 and 2001-01-06", options=("--contiguous",))
        self.assertNotIn("note", done.stderr)

    def test_gap_in_time_with_bounds(self):
        files = self.make("a.nc", 0, 3, bounds=1.0), self.make("b.nc", 4, 3, bounds=1.0)
        self.joined(files, expected=truth([0, 1, 2, 4, 5, 6]))
        self.refused(*files, words="leave a gap", options=("--contiguous",))

    def test_overlap_of_coordinates(self):
        self.refused(*self.two(first=2), words="a.nc.*b.nc.*overlap along .time.: 2001-01-01 to 2001-01-03 and 2001-01-03 to 2001-01-05")

    def test_the_same_file_twice(self):
        self.refused(*self.two(first=0), words="a.nc.*b.nc.*same cells")

    def test_overlapping_bounds_only(self):
        """As cf.aggregate: the place follows from the coordinates. It is refused if cells must touch."""
        files = self.make("a.nc", 0, 3, bounds=1.0), self.make("b.nc", 3, 3, bounds=1.5)
        self.joined(files)
        self.refused(*files, words="bounds|cells|overlap", options=("--contiguous",))

    def test_bounds_of_a_climatology(self):
        """Their cells overlap: each month of thirty years. They are joined as other bounds, and are not a gap."""
        files = []
        for n in range(3):
            files.append(self.make(f"m{n}.nc", n, 1, bounds=60.0))
            with netCDF4.Dataset(files[-1], "a") as d:
                d["time"].delncattr("bounds")
                d["time"].climatology = "time_bnds"
        done = self.ok(nc3z("aggregate", "--contiguous", *files, "-o", self.dir / "agg.nc"))
        self.assertNotIn("note", done.stderr)
        self.assertTrue((self.values(self.dir / "agg.nc", "time_bnds") == np.stack([np.arange(3) - 30.0, np.arange(3) + 30.0], 1)).all())
        with netCDF4.Dataset(self.dir / "agg.nc") as d:
            self.assertEqual(d["time"].climatology, "time_bnds")

    def test_bounds_in_one_file_only(self):
        files = self.make("a.nc", 0, 3, bounds=1.0), self.make("b.nc", 3, 3)
        done = self.ok(nc3z("aggregate", *files, "-o", self.dir / "agg.nc"))
        self.assertRegex(done.stderr, "bounds of .time. are left out")
        self.near(self.values(self.dir / "agg.nc"), truth(range(6)))

    def test_attributes_that_differ_or_are_in_one_file_only(self):
        for mine, other in (({"experiment": "A"}, {"experiment": "B"}), ({"experiment": "A"}, {})):
            files = self.make("a.nc", 0, 3, attributes=mine), self.make("b.nc", 3, 3, attributes=other)
            agg = self.joined(files)
            header = nc3z("dump", "-h", agg).stdout.decode()
            self.assertNotIn("experiment", header)
            self.assertIn("experiment", " ".join(self.report(files)["notes"]))

    def test_calendars_standard_and_gregorian(self):
        files = self.make("a.nc", 0, 3, calendar="standard"), self.make("b.nc", 3, 3, calendar="gregorian")
        self.joined(files)
        self.joined([self.make("c.nc", 0, 3), self.make("d.nc", 3, 3, calendar="GREGORIAN")])

    def test_calendars_standard_and_noleap(self):
        """cf.aggregate ends with an exception for all files."""
        done = self.refused(*self.two(calendar="noleap"), words="calendars are noleap and standard")
        self.assertRegex(done.stderr, "b.nc.*a.nc")

    def test_calendars_standard_and_proleptic_gregorian(self):
        """Both count the same days from 1582-10-15 on: joined where all dates are later, in either order; refused where one is earlier."""
        files = self.two(calendar="proleptic_gregorian")
        self.joined(files)
        self.joined(files[::-1])
        # The reference date may be earlier: day 700,000 after 0001-01-01 is two days apart in both.
        for calendar, day, other, first in (("standard", 730121 + 2, "proleptic_gregorian", 730121 + 3), ("proleptic_gregorian", 730121, "standard", 730121 + 5)):
            a = self.make("e.nc", 0, 3, tunits="days since 0001-01-01", calendar=calendar, times=[day, day + 1, day + 2])
            b = self.make("f.nc", 3, 3, tunits="days since 0001-01-01", calendar=other, times=[first, first + 1, first + 2])
            agg = self.joined([a, b])
            expected = cftime.num2date(self.values(agg, "time"), "days since 0001-01-01", calendar)
            each = [cftime.num2date(netCDF4.Dataset(f)["time"][:], "days since 0001-01-01", c) for f, c in ((a, calendar), (b, other))]
            self.assertEqual([str(d) for d in expected], [str(d) for d in np.concatenate(each)])
        words = "calendars are proleptic_gregorian and standard"
        early = {"calendar": "proleptic_gregorian", "tunits": "days since 1582-10-12"}
        self.refused(self.make("a.nc", 0, 3), self.make("b.nc", 0, 3, **early), words=words)
        # The first day of the Gregorian calendar is one of both.
        first = self.make("b.nc", 3, 3, calendar="proleptic_gregorian", tunits="days since 1582-10-15", times=[0, 1, 2])
        self.joined([self.make("a.nc", 0, 3), first], expected=truth([3, 4, 5, 0, 1, 2]))

    def test_another_reference_date(self):
        self.joined(self.two(tunits="days since 2001-01-04", times=[0, 1, 2]))

    def test_hours_and_days(self):
        agg = self.joined(self.two(tunits="hours since 2001-01-01", times=[72, 96, 120]))
        self.assertEqual(list(self.values(agg, "time")), list(range(6)))

    def test_float_times_with_two_reference_dates_are_exact(self):
        """A float of days since 1850 is off by minutes."""
        files = []
        for n, (units, times) in enumerate((("days since 1850-01-01", [55152, 55153]), ("hours since 2001-01-03", [1, 2]))):
            path = self.make(f"f{n}.nc", 0, 2, tunits="days since 1850-01-01", times=[0, 1])
            with netCDF4.Dataset(path, "r+") as d:
                d.renameVariable("time", "unused")
            with netCDF4.Dataset(path, "a") as d:
                t = d.createVariable("time", "f4", ("time",))
                t.units, t.standard_name = units, "time"
                t[:] = times
                d["unused"].delncattr("standard_name")
                d["unused"].delncattr("units")
            files.append(path)
        found = self.values(self.aggregate(*files, options=("-f",)), "time")
        np.testing.assert_allclose(found, [55152, 55153, 55154 + 1 / 24, 55154 + 2 / 24], rtol=1e-15)

    def test_half_units_of_integer_times_are_not_rounded(self):
        files = [along(self.dir / "a.nc", "time", "seconds since 1970-01-01", np.array([1577836800, 1577836801], "i4")),
                 along(self.dir / "b.nc", "time", "milliseconds since 2020-01-01", np.array([2500, 3500], "i4"))]
        found = self.values(self.aggregate(*files), "time")
        self.assertEqual(found.tolist(), [1577836800, 1577836801, 1577836802.5, 1577836803.5])

    def test_integers_that_no_double_equals_are_refused(self):
        for name, units, first, second in (("station", "1", [2**60 + 1, 2**60 + 9001], [2**61, 2**61 + 2**20]),
                                           ("time", "nanoseconds since 1970-01-01", [10**18 + 1, 10**18 + 9003], [2 * 10**18, 3 * 10**18])):
            files = [along(self.dir / f"{n}.nc", name, units, np.array(points, "i8")) for n, points in (("a", first), ("b", second))]
            self.refused(*files, words=f"a.nc.*`{name}`.*{first[0]}")
        # A double equals these.
        files = [along(self.dir / f"{n}.nc", "station", "1", np.array(points, "i8")) for n, points in (("a", [2**53 - 1, 2**53]), ("b", [2**60, 2**61]))]
        self.assertEqual(self.values(self.aggregate(*files), "station").tolist(), [2**53 - 1, 2**53, 2**60, 2**61])

    def test_a_scalar_that_no_double_equals_is_kept(self):
        files = [self.make(f"m{n}.nc", n, 1, fmt="NETCDF3_64BIT_DATA") for n in range(2)]
        for n, path in enumerate(files):
            with netCDF4.Dataset(path, "a") as d:
                d.createVariable("orbit", "i8", ())[...] = 2**60 + 1 + 2 * n
        self.assertEqual(self.values(self.aggregate(*files), "orbit").tolist(), [2**60 + 1, 2**60 + 3])

    def test_bounds_of_packed_coordinates_are_unpacked_once(self):
        for n in range(2):
            with netCDF4.Dataset(self.dir / f"{n}.nc", "w", format="NETCDF3_CLASSIC") as d:
                for name, size in (("time", 2), ("lat", 3), ("nv", 2)):
                    d.createDimension(name, size)
                for name, units, values in (("time", "hours since 2001-01-01", [6 + 2 * n, 7 + 2 * n]), ("lat", "degrees_north", [10, 20, 30])):
                    half = (values[1] - values[0]) / 2
                    for v, x in ((d.createVariable(name, "i2", (name,)), np.array(values)),
                                 (d.createVariable(f"{name}_bnds", "i2", (name, "nv")), np.array([[x - half, x + half] for x in values]))):
                        v.scale_factor = 0.5
                        v[:] = x
                    d[name].units, d[name].bounds = units, f"{name}_bnds"
                d.createVariable("v", "f4", ("time", "lat"))[:] = n
        with netCDF4.Dataset(self.aggregate(self.dir / "0.nc", self.dir / "1.nc")) as d:
            for name, values in (("time", [6, 7, 8, 9]), ("lat", [10, 20, 30]), ("time_bnds", [[5.5, 6.5], [6.5, 7.5], [7.5, 8.5], [8.5, 9.5]]),
                                 ("lat_bnds", [[5, 15], [15, 25], [25, 35]])):
                self.assertEqual(d[name][:].tolist(), values, name)

    def test_cell_methods_differ(self):
        files = [self.make(f"{n}.nc", 3 * i, 3, attributes={"cell_methods": m}) for i, (n, m) in enumerate((("a", "time: mean"), ("b", "time: maximum")))]
        self.refused(*files, words="`time: mean` in .*a.nc. and `time: maximum` in .*b.nc")

    def test_cell_methods_missing_in_one(self):
        self.refused(*self.two(attributes={"cell_methods": "time: mean"}), words="cell_methods none in .*a.nc. and `time: mean` in .*b.nc")

    def test_intervals_of_cell_methods_differ(self):
        each = [{"cell_methods": f"time: mean (interval: {n} hr)"} for n in (1, 3)]
        files = [self.make(f"{n}.nc", 3 * i, 3, attributes=each[i]) for i, n in enumerate("ab")]
        self.refused(*files, words="interval: 1 hr.*interval: 3 hr")

    def test_another_standard_name_is_another_variable(self):
        files = self.make("a.nc", 0, 3), self.make("b.nc", 3, 3, name="ts", standard_name="surface_temperature")
        report = self.report(files)
        self.assertEqual({v["name"]: v["shape"] for v in report["variables"]}, {"tas": [3, 4, 3], "ts": [3, 4, 3]})

    def test_the_same_standard_name_and_another_variable_name(self):
        self.joined(self.two(name="t2m"))

    def test_no_standard_name_but_a_long_name(self):
        options = {"standard_name": None, "attributes": {"long_name": "temperature"}}
        self.joined([self.make("a.nc", 0, 3, **options), self.make("b.nc", 3, 3, name="t2m", **options)])

    def test_neither_standard_nor_long_name(self):
        self.joined([self.make(f"{n}.nc", 3 * i, 3, standard_name=None) for i, n in enumerate("ab")])

    def test_one_latitude_off_by_a_millionth(self):
        files = self.two(lat=(-30.0, -10.0, 10.0, 30.000001))
        done = self.refused(*files, words="30.000001")
        self.assertRegex(done.stderr, "a.nc.*b.nc|b.nc.*a.nc")
        # The values are of that latitude.
        expected = np.concatenate([truth(range(3)), truth(range(3, 6), lat=(-30.0, -10.0, 10.0, 30.000001))])
        for option in ("--atol=1e-5", "--rtol=1e-5"):
            self.joined(files, option, expected=expected)

    def test_one_latitude_off_in_its_last_place(self):
        self.joined(self.two(lat=(-30.0, -10.0, 10.0, np.nextafter(30.0, 31))))

    def test_a_tolerance_wider_than_a_step_is_refused(self):
        files = [self.make(f"{n}.nc", 3 * n, 3, lat=np.arange(4) / 2 + n / 100) for n in range(2)]
        done = self.refused(*files, words="`lat` in `.*0.nc` are equal within the tolerance: 0 and 0.5; make it smaller", options=("--atol", "0.7"))
        self.assertNotIn("widen", done.stderr)

    def test_steps_of_a_few_units_in_the_last_place(self):
        """Northings in metres, which are floats."""
        points = np.arange(5000000, 5000010, dtype="f4")
        files = [along(self.dir / f"{n}.nc", "y", "m", points[part], points[part] - 5000000) for n, part in (("a", slice(5)), ("b", slice(5, 10)))]
        agg = self.aggregate(*files)
        self.assertEqual((self.values(agg, "y").tolist(), self.values(agg, "v").tolist()), (points.tolist(), list(range(10))))

    def test_float_and_double(self):
        files = self.two(dtype="f8")
        agg = self.joined(files)
        self.assertEqual(self.values(agg).dtype.newbyteorder("="), np.dtype("f8"))

    def test_missing_value_in_one_only(self):
        a, b = self.two()
        with netCDF4.Dataset(b, "a") as d:
            d["tas"].missing_value = np.float32(-5)
            d["tas"][1, 2, 0] = -5
        agg = self.aggregate(a, b)
        found = self.values(agg)
        # Minus five is a number in the first file, and none in the second: there it is the whole's own fill value.
        self.assertEqual(np.argwhere(found > 9e36).tolist(), [[4, 2, 0]])
        rest = np.ones(found.shape, bool)
        rest[4, 2, 0] = False
        self.assertLess(np.abs(found - truth(range(6)))[rest].max(), 2e-5)

    def decoded(self, first, second, mine=None, other=None):
        """The joined values of two files of two elements each, without those that are missing."""
        files = [along(self.dir / f"{n}.nc", "time", "days since 2001-01-01", [2.0 * n, 2.0 * n + 1], values, **(attributes or {}))
                 for n, (values, attributes) in enumerate(((first, mine), (second, other)))]
        agg = self.aggregate(*files, options=("-f",))
        return [None if word == "_" else float(word) for word in self.ok(nc3z("read", "--decode", agg, "v")).stdout.decode().split()]

    def test_bytes_have_no_fill_value_of_their_own(self):
        for dtype, most in (("u1", 255), ("i1", -127)):
            first, second = np.array([1, most], dtype), np.array([2, most], dtype)
            self.assertEqual(self.decoded(first, second), [1, most, 2, most])
            with netCDF4.Dataset(self.dir / "agg.nc") as d:
                self.assertNotIn("_FillValue", d["v"].ncattrs())
            one = {"_FillValue": np.array(1, dtype)}
            self.assertEqual(self.decoded(first, second, one), [None, most, 2, most])
            self.assertEqual(self.decoded(first, second, one, one), [None, most, 2, most])

    def test_values_outside_the_valid_range_are_missing(self):
        floats, bytes_ = (np.array([270, 301], "f4"), np.array([20, 302], "f4")), (np.array([1, 255], "u1"), np.array([2, 255], "u1"))
        most = lambda value, dtype, **more: {"valid_max": np.array(value, dtype), **more}  # noqa: E731
        for (first, second), mine, other, expected in (
            (floats, most(300, "f4", units="K"), most(300, "f4", units="degC"), [270, None, 293.15, None]),
            (floats, most(300, "f4"), most(305, "f4"), [270, None, 20, 302]),
            (floats, most(300, "f4"), {}, [270, None, 20, 302]),
            (floats, most(300, "f4"), most(300, "f4"), [270, None, 20, None]),
            ((floats[0], floats[1].astype("f8")), most(300, "f4"), most(300, "f8"), [270, None, 20, None]),
            (bytes_, most(100, "u1"), {}, [1, None, 2, 255]),
        ):
            found = self.decoded(first, second, mine, other)
            self.assertEqual([x and round(x, 3) for x in found], expected, (mine, other))

    def test_missing_values_that_are_the_same_in_all_files_stay_missing(self):
        files = [self.make(f"m{n}.nc", n, 1) for n in range(2)]
        for path in files:
            with netCDF4.Dataset(path, "a") as d:
                v = d.createVariable("s", "i2", ("lat",), fill_value=np.int16(-99))
                v.scale_factor = 0.5
                v.set_auto_maskandscale(False)
                v[:] = [1, -99, 3, 4]
        with netCDF4.Dataset(self.aggregate(*files)) as d:
            self.assertEqual(d["s"][:].tolist(), [0.5, None, 1.5, 2.0])
            # netCDF4 knows the default fill value, others do not.
            self.assertEqual(d["s"].__dict__.get("_FillValue"), netCDF4.default_fillvals["f8"])

    def test_scalars_that_differ_stand_along_the_files(self):
        """`unique_values`: one value for each fragment."""
        files = [self.make(f"m{n}.nc", 2 * n, 2) for n in range(4)]
        for n, path in enumerate(files):
            with netCDF4.Dataset(path, "a") as d:
                for name, kind, value in (("orbit", "i4", 100 + n), ("same", "f8", 2.5)):
                    v = d.createVariable(name, kind, ())
                    v.units = "1"
                    v[...] = value
        agg = self.aggregate(*files[:3])
        self.assertEqual(self.values(agg, "orbit").tolist(), [100, 100, 101, 101, 102, 102])
        self.assertEqual(self.values(agg, "same"), 2.5)
        with netCDF4.Dataset(agg) as d:
            self.assertRegex(d["orbit"].aggregated_data, r"^map: \w+ unique_values: fragment_unique_values$")
            self.assertEqual(d["orbit"].aggregated_dimensions, "time")
            self.assertEqual(d["fragment_unique_values"][:].tolist(), [100, 101, 102])
        # The new month brings its own.
        self.ok(nc3z("aggregate", "--append", files[3], "-o", agg))
        self.assertEqual(self.values(agg, "orbit").tolist(), [100, 100, 101, 101, 102, 102, 103, 103])
        self.near(self.values(agg), truth(range(8)))
        # It has no position along two dimensions, and NCA cannot express it: it is left out with a note.
        done = self.ok(nc3z("aggregate", *files, "-o", self.dir / "nca.nc", *NCA))
        self.assertRegex(done.stderr, "variable `orbit` is left out")

    def test_a_scalar_that_one_file_lacks_is_missing_there(self):
        files = [self.make(f"m{n}.nc", 2 * n, 2) for n in range(3)]
        for n in (0, 2):
            with netCDF4.Dataset(files[n], "a") as d:
                d.createVariable("orbit", "i4", (), fill_value=np.int32(-1))[...] = 100 + n
        self.assertEqual(self.values(self.aggregate(*files), "orbit").tolist(), [100, 100, -1, -1, 102, 102])


def nc3z_check(*args):
    """Runs `nc3z aggregate --check` on files."""
    return nc3z("aggregate", "--check", "--json", "-o", "none.nc", *args)


if __name__ == "__main__":
    unittest.main()

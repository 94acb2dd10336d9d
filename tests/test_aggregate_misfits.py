"""Joining variables of different files, dimensions that one file lacks, and files that do not fit."""

import json
import shutil
import unittest
from pathlib import Path

import netCDF4
import numpy as np
from common import ROOT, nc3z
from test_aggregate import LAT, LON, Aggregation, truth

CASE = ROOT / "tests/data/aggregate-same-name"


def small(path, times, *, name="t", values=None, scalar=False, coordinates=False, **attributes):
    """A file of a variable along time, or of a number at one time."""
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
        if not scalar:
            d.createDimension("time", len(times))
        t = d.createVariable("time", "f8", () if scalar else ("time",))
        t.units = "days since 2001-01-01"
        t[...] = times[0] if scalar else times
        v = d.createVariable(name, "f8", () if scalar else ("time",))
        v.setncatts({"units": "K", **attributes})
        if scalar and coordinates:
            v.coordinates = "time"
        v[...] = (values or [10.0 * x for x in times])[0 if scalar else slice(None)]
    return path


class Joined(Aggregation):
    def small(self, file, *args, **options):
        return small(self.dir / file, *args, **options)

    def names_of(self, path):
        return [v["name"] for v in json.loads(nc3z("info", "--json", path).stdout)["variables"]]


class Names(Joined):
    """No file has two variables of one name."""

    def test_another_long_name_is_the_same_variable(self):
        files = [self.small(f"{n}.nc", [n], long_name=f"{n} metre temperature") for n in range(7)]
        done = self.ok(nc3z("aggregate", *files, "-o", self.dir / "agg.nc"))
        self.assertRegex(done.stderr, "`t` is joined though its long_name is `0 metre temperature` in `.*0.nc` and `1 metre temperature` in `.*1.nc`")
        self.assertEqual(self.values(self.dir / "agg.nc", "t").tolist(), [10.0 * n for n in range(7)])
        self.assertEqual(sorted(self.names_of(self.dir / "agg.nc")), ["t", "time"])
        # NCO and CDO join them, too; ncdump shows one variable.
        with netCDF4.Dataset(self.dir / "agg.nc") as d:
            self.assertEqual([n for n in d.variables if not n.startswith("fragment")], ["time", "t"])

    def test_a_standard_name_in_some_files_only(self):
        files = [self.small("a.nc", [0], standard_name="air_temperature", long_name="t"), self.small("b.nc", [1], long_name="u"), self.small("c.nc", [2])]
        for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
            done = self.ok(nc3z("aggregate", *(files[n] for n in order), "-f", "-o", self.dir / "agg.nc"))
            self.assertRegex(done.stderr, "joined though its standard_name is")
            self.assertEqual(self.values(self.dir / "agg.nc", "t").tolist(), [0, 10, 20])
            with netCDF4.Dataset(self.dir / "agg.nc") as d:
                self.assertEqual(d["t"].standard_name, "air_temperature")

    def test_two_standard_names_of_one_name_are_refused_or_get_two_names(self):
        files = [self.small(f"{n}.nc", [n], standard_name=["air_temperature", "surface_temperature"][n == 2]) for n in range(3)]
        done = self.refused(*files, words="`t` has the standard_name `air_temperature` in `.*0.nc` and the standard_name `surface_temperature` in `.*2.nc`")
        self.assertRegex(done.stderr, "--identity name.*--identity meaning")
        self.aggregate(*files, options=("--identity", "name"))
        self.assertEqual(self.values(self.dir / "agg.nc", "t").tolist(), [0, 10, 20])
        done = self.ok(nc3z("aggregate", *files, "-f", "-o", self.dir / "agg.nc", "--identity", "meaning"))
        self.assertRegex(done.stderr, "another variable `t`, of `.*2.nc`, is called `t_2`")
        self.assertEqual((self.values(self.dir / "agg.nc", "t").tolist(), self.values(self.dir / "agg.nc", "t_2").tolist()), ([0, 10], [20]))
        done = self.ok(nc3z("aggregate", *files, "-f", "-o", self.dir / "agg.nc", "--skip-misfits"))
        self.assertRegex(done.stderr, "left out `.*2.nc`: variable `t` has the standard_name")
        self.assertEqual(self.values(self.dir / "agg.nc", "t").tolist(), [0, 10])

    def test_two_variables_of_one_standard_name_in_a_file(self):
        for n in range(2):
            with netCDF4.Dataset(self.small(f"{n}.nc", [n], name="t2", standard_name="air_temperature"), "a") as d:
                v = d.createVariable("t10", "f8", ("time",))
                v.setncatts({"standard_name": "air_temperature", "units": "K"})
                v[:] = 100.0 + n
        agg = self.aggregate(self.dir / "0.nc", self.dir / "1.nc")
        self.assertEqual((self.values(agg, "t2").tolist(), self.values(agg, "t10").tolist()), ([0, 10], [100, 101]))

    def test_helpers_whose_long_names_differ(self):
        """A two-dimensional latitude that each file words differently."""
        files = [self.make(f"{n}.nc", n, 1, attributes={"coordinates": "lat2"}) for n in range(2)]
        for n, f in enumerate(files):
            with netCDF4.Dataset(f, "a") as d:
                v = d.createVariable("lat2", "f8", ("lat", "lon"))
                v.long_name = f"latitude {n}"
                v[:] = 5.0
        agg = self.aggregate(*files)
        self.assertEqual(self.names_of(agg).count("lat2"), 1)
        self.near(self.values(agg), truth(range(2)))

    def test_a_variable_that_is_called_as_what_describes_fragments(self):
        files = [self.small(f"{n}.nc", [n], name="fragment_map") for n in range(2)]
        agg = self.aggregate(*files)
        self.assertEqual(self.values(agg, "fragment_map").tolist(), [0, 10])

    def test_equal_numbers_of_other_units_are_other_times(self):
        a, b = self.small("a.nc", [0, 1], name="t"), self.small("b.nc", [0, 1], name="u")
        with netCDF4.Dataset(b, "a") as d:
            d["time"].units = "days since 2002-01-01"
        agg = self.aggregate(a, b)
        with netCDF4.Dataset(agg) as d:
            self.assertEqual(d["t"].aggregated_dimensions, "time")
            self.assertEqual((d["u"].aggregated_dimensions, d["time_2"].units), ("time_2", "days since 2002-01-01"))


class Lacking(Joined):
    """Dimensions of length 1 that one file has, and another not."""

    def test_numbers_at_scalar_times(self):
        """A file with `t(time=1)`, and two with a number at a scalar time, whether or not `coordinates` names that."""
        for coordinates in (True, False):
            files = [self.small("a.nc", [0])] + [self.small(f"s{n}.nc", [n], scalar=True, coordinates=coordinates) for n in (1, 2)]
            for order in ((0, 1, 2), (2, 0, 1)):
                for options in ((), ("--convention", "nca")):
                    agg = self.aggregate(*(files[n] for n in order), options=("-f", *options))
                    self.assertEqual((self.values(agg, "t").tolist(), self.values(agg, "time").tolist()), ([0, 10, 20], [0, 1, 2]))

    def test_numbers_at_scalar_times_alone(self):
        files = [self.small(f"s{n}.nc", [n], scalar=True, coordinates=True) for n in (2, 0, 1)]
        agg = self.aggregate(*files)
        self.assertEqual(self.values(agg, "t").tolist(), [0, 10, 20])
        # One more, and one with a dimension.
        self.ok(nc3z("aggregate", "--append", self.small("s3.nc", [3], scalar=True, coordinates=True), self.small("m.nc", [4, 5]), "-o", agg))
        self.assertEqual(self.values(agg, "t").tolist(), [0, 10, 20, 30, 40, 50])

    def test_a_number_that_nothing_places_is_refused(self):
        a, b = self.small("a.nc", [0]), self.dir / "b.nc"
        with netCDF4.Dataset(b, "w", format="NETCDF3_CLASSIC") as d:
            v = d.createVariable("t", "f8", ())
            v.units = "K"
            v[...] = 7
        # The only time there is stands for it: a dimension of length 1 that is missing.
        self.refused(a, b, words="a.nc. and .*b.nc. hold the same cells of `t`")
        self.refused(self.small("c.nc", [0, 1]), b, words="b.nc. has no axis `time`")

    def test_a_dimension_of_length_1_that_one_file_lacks(self):
        """Beside another of length 1, in any order, as CF-1.13 and as NCA."""
        def write(name, first, dims):
            with netCDF4.Dataset(self.dir / name, "w", format="NETCDF3_CLASSIC") as d:
                for n, size in (("time", 1), ("height", 1), ("lat", len(LAT)), ("band", 1)):
                    if n in dims:
                        d.createDimension(n, size)
                for n, x in (("time", first), ("height", 2.0), ("band", 3.0)):
                    v = d.createVariable(n, "f8", (n,) if n in dims else ())
                    v.units = "days since 2001-01-01" if n == "time" else "m"
                    v[...] = x
                d.createVariable("lat", "f8", ("lat",))[:] = LAT
                v = d.createVariable("tas", "f8", dims)
                v.coordinates = " ".join(n for n in ("time", "height", "band") if n not in dims)
                v[:] = (np.arange(4.0) + 10 * first).reshape([4 if n == "lat" else 1 for n in dims])
            return self.dir / name

        every = ("time", "height", "lat", "band")
        ways = [every, ("time", "lat"), ("lat", "band"), ("height", "lat", "band"), ("time", "lat", "band"), ("lat",), ("height", "lat")]
        files = [write(f"f{n}.nc", n, dims) for n, dims in enumerate(ways)]
        for options in ((), ("--convention", "cf"), ("--convention", "nca")):
            agg = self.aggregate(*files, options=("-f", *options))
            self.assertTrue((self.values(agg) == (np.arange(4.0) + 10 * np.arange(7.0)[:, None]).reshape(7, 1, 4, 1)).all())

    def test_a_dimension_of_length_1_without_any_coordinate(self):
        a = self.make("a.nc", 0, 3)
        with netCDF4.Dataset(self.dir / "b.nc", "w", format="NETCDF3_CLASSIC") as d, netCDF4.Dataset(self.make("c.nc", 3, 3)) as c:
            for n, x in c.dimensions.items():
                d.createDimension(n, len(x))
            d.createDimension("level", 1)
            for n, v in c.variables.items():
                dims = ("time", "level", "lat", "lon") if n == "tas" else v.dimensions
                w = d.createVariable(n, v.dtype, dims)
                w.setncatts(v.__dict__)
                w[:] = v[:].reshape([len(d.dimensions[x]) for x in dims])
        done = self.ok(nc3z("aggregate", a, self.dir / "b.nc", "-o", self.dir / "agg.nc"))
        self.assertRegex(done.stderr, "a.nc. has no dimension `level`")
        self.near(self.values(self.dir / "agg.nc"), truth(range(6)).reshape(6, 1, 4, 3))

    def test_latitudes_whose_standard_name_one_file_lacks(self):
        a, b = self.make("a.nc", 0, 3), self.make("b.nc", 3, 3)
        with netCDF4.Dataset(b, "a") as d:
            d["lat"].delncattr("standard_name")
        for files in ((a, b), (b, a)):
            self.near(self.values(self.aggregate(*files, options=("-f",))), truth(range(6)))

    def test_a_scalar_time_that_along_names(self):
        for n in range(2):
            with netCDF4.Dataset(self.make(f"s{n}.nc", n, 1, scalar=True), "a") as d:
                d["tas"].delncattr("coordinates")
        self.near(self.values(self.aggregate(self.dir / "s1.nc", self.dir / "s0.nc", options=("--along", "time"))), truth(range(2)))

    def test_one_file_with_a_scalar_time(self):
        agg = self.aggregate(self.make("s.nc", 2, 1, scalar=True))
        self.near(self.values(agg), truth([2])[0])
        self.assertEqual(self.values(agg, "time"), 2)


class Misfits(Joined):
    """`--skip-misfits` leaves out files that do not fit, and gives the reason."""

    def kept(self, files, *options, expected=None):
        done = self.ok(nc3z("aggregate", "--skip-misfits", "--json", *files, "-f", "-o", self.dir / "agg.nc", *options))
        self.near(self.values(self.dir / "agg.nc"), truth(range(9)) if expected is None else expected)
        report = json.loads(done.stdout)
        self.assertEqual(report["files"], len(files) - len(report["skipped"]))
        return {Path(s["file"]).name: s["reason"] for s in report["skipped"]}

    def test_each_kind_of_misfit_at_each_place(self):
        good = [self.make(f"m{n}.nc", 3 * n, 3) for n in range(3)]
        (self.dir / "text.nc").write_text("no netCDF file")
        cut = self.dir / "cut.nc"
        cut.write_bytes(good[0].read_bytes()[:60])
        bad = {
            "text.nc": "text.nc", "cut.nc": "cut.nc", "none.nc": "none.nc",
            self.make("units.nc", 20, 3, units="m").name: "cannot convert",
            self.make("calendar.nc", 20, 3, calendar="noleap").name: "calendars are noleap and standard|calendars are standard and noleap",
            self.make("methods.nc", 20, 3, attributes={"cell_methods": "time: mean"}).name: "cell_methods",
            self.make("lat.nc", 20, 3, lat=(-30.0, -10.0, 10.0, 30.000001)).name: "interleave",
            self.make("again.nc", 3, 3).name: "overlap",
            self.make("half.nc", 4, 1).name: "overlap",
            self.make("text_time.nc", 20, 3, tunits="fortnights before noon").name: "units|time",
        }
        with netCDF4.Dataset(self.make("neither.nc", 20, 3), "a") as d:
            d["time"][:] = [5, 3, 4]
        bad["neither.nc"] = "neither ascend nor descend"
        with netCDF4.Dataset(self.make("nan.nc", 20, 3), "a") as d:
            d["time"][:] = [5, 6, np.nan]
        bad["nan.nc"] = "neither|NaN"
        for name, words in bad.items():
            for place in range(4):
                if words == "overlap" and place < 2:
                    continue
                files = good[:place] + [self.dir / name] + good[place:]
                found = self.kept(files)
                self.assertEqual(list(found), [name])
                self.assertRegex(found[name], words)
        found = self.kept(good + [self.dir / name for name in bad])
        self.assertEqual(sorted(found), sorted(bad))

    def test_values_of_a_constant_that_differ(self):
        files = [self.make(f"m{n}.nc", 3 * n, 3) for n in range(4)]
        for n, f in enumerate(files):
            with netCDF4.Dataset(f, "a") as d:
                d.createVariable("orog", "f4", ("lat", "lon"))[:] = 1.0 if n == 0 else 2.0
        found = self.kept(files, expected=truth(range(3, 12)))
        self.assertEqual(list(found), ["m0.nc"])
        self.assertRegex(found["m0.nc"], "different values of `orog`")

    def test_a_fragment_whose_last_element_cannot_be_read(self):
        """Found by reading back, before the aggregation is reported."""
        grid = {"lat": tuple(np.linspace(-60, 60, 31)), "lon": tuple(np.linspace(0, 90, 31))}
        files = [self.make(f"m{n}.nc", 3 * n, 3, **grid) for n in range(4)]
        with netCDF4.Dataset(files[3], "a") as d:
            d["tas"][:] += np.random.default_rng(3).random(d["tas"].shape)
        archive = self.dir / "m3.nc.nc3z"
        self.ok(nc3z("archive", files[3], "-o", archive))
        data = bytearray(archive.read_bytes())
        data[len(data) // 2] ^= 0xFF
        archive.write_bytes(data)
        self.ok(nc3z("info", archive))
        done = nc3z("aggregate", *files[:3], archive, "-o", self.dir / "no.nc")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "m3.nc.nc3z")
        self.assertFalse((self.dir / "no.nc").exists())
        self.assertEqual(list(self.kept([*files[:3], archive], expected=truth(range(9), **grid))), ["m3.nc.nc3z"])

    def test_nothing_is_left(self):
        (self.dir / "a.nc").write_text("a")
        self.refused(self.dir / "a.nc", words="no file", options=("--skip-misfits",))


class Chosen(Joined):
    """Which variables and which files take part."""

    def test_variables_by_name_and_what_they_refer_to(self):
        files = [self.make(f"m{n}.nc", 3 * n, 3, attributes={"grid_mapping": "crs", "coordinates": "lat2"}) for n in range(2)]
        for n, f in enumerate(files):
            with netCDF4.Dataset(f, "a") as d:
                d.createVariable("crs", "i4", ())[...] = 7
                d.createVariable("lat2", "f8", ("lat", "lon"))[:] = 1.0
                d.createVariable("orog", "f4", ("lat", "lon"))[:] = n
                d.createVariable("orbit", "i4", ())[...] = n
        self.refused(*files, words="different values of `orog`")
        agg = self.aggregate(*files, options=("-v", "tas"))
        self.near(self.values(agg), truth(range(6)))
        self.assertEqual(sorted(self.names_of(agg)), ["crs", "lat", "lat2", "lon", "tas", "time"])
        both = self.aggregate(*files, options=("-v", "tas,orbit"), out="both.nc")
        self.assertEqual(self.values(both, "orbit").tolist(), [0, 0, 0, 1, 1, 1])
        for n, f in enumerate(files):
            with netCDF4.Dataset(f, "a") as d:
                d.renameVariable("orbit", "orbit,1")
        comma = self.aggregate(*files, options=("-v", r"tas,orbit\,1"), out="comma.nc")
        self.assertIn("orbit,1", self.names_of(comma))
        self.refused(*files, words="no file has a variable `pr`; there are crs, lat2, orbit,1, orog, tas", options=("-v", "pr"))

    def test_a_new_dimension(self):
        """Runs of an ensemble: equal times, other values."""
        files = []
        for n in range(3):
            files.append(self.make(f"run{n}.nc", 0, 3, attributes={"coordinates": "lat2"}))
            with netCDF4.Dataset(files[-1], "a") as d:
                d["tas"][:] = truth(range(3)) + 100 * n
                d.createVariable("lat2", "f8", ("lat", "lon"))[:] = 1.0
                d.createVariable("seed", "i4", ())[...] = 5 * n
        self.refused(*files, words="same cells.*--new-dim")
        expected = np.stack([truth(range(3)) + 100 * n for n in (2, 0, 1)])
        for options in ((), ("--convention", "nca")):
            agg = self.aggregate(*(files[n] for n in (2, 0, 1)), options=("-f", "--new-dim", "member", *options))
            self.near(self.values(agg), expected, 1e-4)
            self.assertEqual((self.values(agg, "member").tolist(), self.values(agg, "lat2").shape), ([0, 1, 2], (4, 3)))
        agg = self.aggregate(*files[:2], options=("-f", "--new-dim", "member"))
        self.assertEqual(self.values(agg, "seed").tolist(), [0, 5])
        self.ok(nc3z("aggregate", "--append", "--new-dim", "member", files[2], "-o", agg))
        self.near(self.values(agg), np.stack([truth(range(3)) + 100 * n for n in range(3)]), 1e-4)
        self.assertEqual(self.values(agg, "seed").tolist(), [0, 5, 10])
        one = self.aggregate(files[0], options=("--new-dim", "member"), out="one.nc")
        self.assertEqual(self.values(one).shape, (1, 3, 4, 3))
        self.refused(*files, words="run0.nc. has a dimension or a variable `lat`", options=("--new-dim", "lat"))

    def test_numbers_along_a_new_dimension(self):
        for n in range(3):
            with netCDF4.Dataset(self.dir / f"{n}.nc", "w", format="NETCDF3_CLASSIC") as d:
                d.createVariable("x", "f8", ())[...] = 10 * n
        agg = self.aggregate(*(self.dir / f"{n}.nc" for n in range(3)), options=("--new-dim", "run"))
        self.assertEqual(self.values(agg, "x").tolist(), [0, 10, 20])

    def test_a_directory_that_has_an_aggregation(self):
        sub = self.dir / "data"
        sub.mkdir()
        files = [self.make(f"data/m{n}.nc", 3 * n, 3) for n in range(3)]
        self.aggregate(*files[:2], out="data/old.nc")
        for what in (sub, f"{sub}/*.nc"):
            done = self.ok(nc3z("aggregate", what, "-f", "-o", sub / "all.nc"))
            self.assertRegex(done.stderr, "old.nc. is an aggregation itself and is left out; name it to include it")
            self.near(self.values(sub / "all.nc"), truth(range(9)))
        # It may be named, and a directory may have aggregations only.
        self.near(self.values(self.aggregate(sub / "old.nc", files[2])), truth(range(9)))
        (self.dir / "years").mkdir()
        for n in range(3):
            (self.dir / f"years/{n}").mkdir()
            shutil.copy(files[n], self.dir / f"years/{n}/m.nc")
            self.aggregate(self.dir / f"years/{n}/m.nc", out=f"years/y{n}.nc")
        self.near(self.values(self.aggregate(*(self.dir / f"years/y{n}.nc" for n in range(3)), out="top.nc")), truth(range(9)))
        only = self.dir / "only"
        only.mkdir()
        for n in range(3):
            self.aggregate(self.dir / f"years/{n}/m.nc", out=f"only/y{n}.nc", options=("--absolute",))
        self.near(self.values(self.aggregate(only, out="only.nc"), "tas", "--outside"), truth(range(9)))

    def test_a_file_without_records(self):
        files = [self.make(f"m{n}.nc", 3 * n, 3) for n in range(2)]
        with netCDF4.Dataset(self.dir / "e.nc", "w", format="NETCDF3_CLASSIC") as d:
            d.createDimension("time", None)
            d.createDimension("lat", 4)
            d.createDimension("lon", 3)
            d.createVariable("time", "f8", ("time",)).setncatts({"units": "days since 2001-01-01", "standard_name": "time"})
            d.createVariable("lat", "f8", ("lat",))[:] = LAT
            d.createVariable("lon", "f8", ("lon",))[:] = LON
            d.createVariable("tas", "f4", ("time", "lat", "lon")).setncatts({"units": "K", "standard_name": "air_temperature"})
            d.createVariable("orbit", "i4", ())[...] = 3
        for order in ((0, 1), (1, 0)):
            done = self.ok(nc3z("aggregate", *[files[0], self.dir / "e.nc"][::-1 if order[0] else 1], files[1], "-f", "-o", self.dir / "agg.nc"))
            self.assertRegex(done.stderr, "e.nc. has no values of `tas`: its dimension `time` has length 0; it is left out there")
            self.near(self.values(self.dir / "agg.nc"), truth(range(6)))
        self.refused(self.dir / "e.nc", words="no file has values to aggregate: .*e.nc")

    def test_fragments_outside_the_directory(self):
        (self.dir / "in").mkdir()
        files = [self.make(f"m{n}.nc", 3 * n, 3) for n in range(3)]
        done = self.ok(nc3z("aggregate", *files, "-o", self.dir / "in/agg.nc"))
        self.assertRegex(done.stderr, "m0.nc. and 2 more lies outside the directory of the aggregation: it is read with `--outside` only")
        self.near(self.values(self.dir / "in/agg.nc", "tas", "--outside"), truth(range(9)))
        done = self.ok(nc3z("aggregate", *files, "-o", self.dir / "agg.nc"))
        self.assertNotIn("outside", done.stderr)


if __name__ == "__main__":
    unittest.main()

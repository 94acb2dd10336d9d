"""Edits that cannot do harm by accident: files that do not belong, dry runs, tags kept, names with separators, dates."""

import json
import os
import re
import shutil
import unittest
from pathlib import Path

from common import CLASSIC, Case, missing, nc3z, sha256

try:
    import netCDF4
    import numpy as np
except ImportError as e:
    netCDF4 = None
    ABSENT = e.name

class Edited(Case):
    def setUp(self):
        super().setUp()
        if netCDF4 is None:
            missing(self, f"{ABSENT} is not installed")

    def archived(self, file, name="a.nc3z"):
        archive = self.dir / name
        self.ok(nc3z("archive", "--force", file, "-o", archive))
        return archive

    def log(self, archive):
        return json.loads(self.ok(nc3z("log", "--json", archive)).stdout)["versions"]


class Commits(Edited):
    def test_an_unrelated_file_is_refused(self):
        archive, other = self.archived(CLASSIC / "coads_climatology.cdf"), CLASSIC / "lone_record_short.nc"
        before = archive.read_bytes()
        self.fails(nc3z("commit", archive, other), 1, "seems to be another data set.*--allow-unrelated")
        self.fails(nc3z("commit", "--dry-run", archive, other), 1, "seems to be another data set")
        self.assertEqual(archive.read_bytes(), before)
        self.ok(nc3z("commit", "--allow-unrelated", archive, other))
        # A file that the archive held before belongs to it, and so does an older version.
        self.ok(nc3z("revert", archive, "1"))
        self.ok(nc3z("commit", archive, other))
        self.assertEqual([v["version"] for v in self.log(archive)], [4, 3, 2, 1])

    def test_a_renamed_variable_belongs(self):
        archive = self.archived(self.one("a.nc", "v", 0))
        self.ok(nc3z("commit", archive, self.one("b.nc", "w", 0)))
        self.fails(nc3z("commit", archive, self.one("c.nc", "u", 1)), 1, "another data set")

    def one(self, name, variable, first):
        with netCDF4.Dataset(self.dir / name, "w", format="NETCDF3_CLASSIC") as d:
            d.createDimension("x", 10)
            d.createVariable(variable, "f8", ("x",))[:] = np.arange(10) + first
        return self.dir / name

    def test_dates(self):
        archive = self.archived(CLASSIC / "record_padding.nc")
        self.ok(nc3z("attr", archive, ":a=1", "--date", "now", "-m", "first\nand more"))
        self.ok(nc3z("attr", archive, ":a=2", env=self.env(NC3Z_DATE="now")))
        self.ok(nc3z("attr", archive, ":a=3", "--date", "yesterday", env=self.env(NC3Z_DATE="now")))
        self.ok(nc3z("attr", archive, ":a=4"))
        self.ok(nc3z("tag", archive, "good", "--version", "2"))
        dates = [v["time"] for v in self.log(archive)]
        self.assertEqual((dates[0], dates[1], dates[4]), (None, "yesterday", None))
        for date in dates[2:4]:
            self.assertRegex(date, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertIn(f"date {dates[3]}", self.ok(nc3z("log", archive)).stdout.decode())
        lines = self.ok(nc3z("log", "--oneline", archive)).stdout.decode().splitlines()
        self.assertEqual(lines, ["5", "4 yesterday", f"3 {dates[2]}", f"2 (good) {dates[3]} first", "1"])

    def test_who_and_when_are_recorded_by_default(self):
        archive = self.archived(CLASSIC / "record_padding.nc")
        twin = shutil.copy2(archive, self.dir / "twin.nc3z")
        plain = {k: v for k, v in os.environ.items() if k not in ("NC3Z_AUTHOR", "NC3Z_DATE", "SOURCE_DATE_EPOCH")}
        self.ok(nc3z("attr", archive, ":a=1", env={**plain, "USER": "someone"}))
        self.ok(nc3z("attr", archive, ":a=2", "--no-author", env={**plain, "USER": "someone"}))
        self.ok(nc3z("attr", archive, ":a=3", "--author", "A. Nobody", env={**plain, "SOURCE_DATE_EPOCH": "86400"}))
        log = self.log(archive)
        self.assertEqual([v["author"] for v in log], ["A. Nobody", None, "someone", None])
        self.assertEqual((log[0]["time"], log[1]["time"], log[3]["time"]), ("1970-01-02T00:00:00Z", None, None))
        self.assertRegex(log[2]["time"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        told = self.ok(nc3z("log", archive)).stdout.decode()
        self.assertIn("author someone", told)
        self.assertIn(f"2 {log[2]['time']} someone", self.ok(nc3z("log", "--oneline", archive)).stdout.decode())
        # The same edits give the same bytes with the option, whoever makes them and whenever.
        other = shutil.copy2(twin, self.dir / "other.nc3z")
        self.ok(nc3z("attr", twin, ":a=1", "--no-author", env={**plain, "USER": "a", "SOURCE_DATE_EPOCH": "1"}))
        self.ok(nc3z("attr", other, ":a=1", "--no-author", env={**plain, "USER": "b", "SOURCE_DATE_EPOCH": "2"}))
        self.assertEqual(Path(twin).read_bytes(), Path(other).read_bytes())

    def env(self, **more):
        return {**os.environ, **more}


class FillValues(Edited):
    """Another `_FillValue` changes what values mean: it is said, and the values are changed on request, as ncatted changes them."""

    def file(self, values, fill, kind="i2", name="a.nc", **attributes):
        with netCDF4.Dataset(self.dir / name, "w", format="NETCDF3_CLASSIC") as d:
            d.set_fill_off()
            d.createDimension("x", len(values))
            v = d.createVariable("tas", kind, ("x",), fill_value=fill)
            v.set_auto_maskandscale(False)
            for key, value in attributes.items():
                v.setncattr(key, value)
            v[:] = np.array(values, kind)
        return self.dir / name

    def values(self, archive):
        out = self.dir / "back.nc"
        self.ok(nc3z("restore", "--force", archive, "-o", out))
        with netCDF4.Dataset(out) as d:
            d.set_auto_maskandscale(False)
            return d["tas"][:].tolist(), d["tas"]._FillValue

    def test_it_is_said(self):
        archive = self.archived(self.file([100, -32768, 5, -1], -32768))
        done = self.ok(nc3z("attr", archive, "-a", "_FillValue,tas,o,s,-1"))
        self.assertIn("1 of 4 values of `tas` were missing and are data now; --replace-fill", done.stderr)
        self.assertIn("1 of 4 values of `tas` were data and are missing now", done.stderr)
        self.assertEqual(self.values(archive), ([100, -32768, 5, -1], -1))
        # A value that another attribute declares missing stays missing.
        archive = self.archived(self.file([1, -9, 3], -9, name="b.nc", missing_value=np.int16(-9)))
        self.assertNotIn("data now", self.ok(nc3z("attr", archive, "tas:_FillValue=-8")).stderr)
        done = self.ok(nc3z("attr", archive, "--delete", "tas:missing_value", "--delete", "tas:_FillValue"))
        self.assertNotIn("--replace-fill", done.stderr)
        # Nothing is said where no value is concerned.
        archive = self.archived(self.file([1, 2, 3], -9, name="c.nc"))
        self.assertNotIn("values", self.ok(nc3z("attr", archive, "tas:_FillValue=-8")).stderr)

    def test_values_are_replaced_as_ncatted_replaces_them(self):
        for kind, values, old, new, wanted in (
                ("i2", [100, -32768, 5, 6], -32768, "-1", [100, -1, 5, 6]),
                ("f4", [1.5, float("nan"), 3], float("nan"), "-9", [1.5, -9.0, 3.0]),
                ("f8", [1e20] * 5 + [0.0], 1e20, "-1", [-1.0] * 5 + [0.0])):
            with self.subTest(kind):
                archive = self.archived(self.file(values, old, kind))
                done = self.ok(nc3z("attr", archive, f"tas:_FillValue={new}", "--replace-fill"))
                self.assertNotIn("data now", done.stderr)
                self.assertEqual(self.values(archive), (wanted, float(new)))
                self.ok(nc3z("verify", "--deep", archive))

    def test_long_variables_change_where_the_fill_value_is(self):
        values = np.arange(300_000, dtype="i4")
        values[[0, 150_000, 299_999]] = -5
        archive = self.archived(self.file(values, -5, "i4"))
        done = self.ok(nc3z("attr", archive, "tas:_FillValue=-6", "--replace-fill"))
        self.assertIn("3 values changed", done.stderr)
        values[[0, 150_000, 299_999]] = -6
        self.assertEqual(self.values(archive), (values.tolist(), -6))


class DryRuns(Edited):
    """A dry run reports what the real run does, and changes no byte."""

    def rehearsed(self, archive, command, *args):
        before, beside = archive.read_bytes(), sorted(self.dir.iterdir())
        dry = self.ok(nc3z(command, archive, *args, "--dry-run")).stderr
        self.assertEqual((archive.read_bytes(), sorted(self.dir.iterdir())), (before, beside))
        self.assertIn("nothing was changed", dry)
        done = self.ok(nc3z(command, archive, *args)).stderr
        numbers = lambda text: re.findall(r"version \d+|[\d.]+ (?:KiB|MiB|B) added|\(\d+ tiles new, \d+ kept\)", text)
        self.assertEqual(numbers(dry), numbers(done))
        self.assertEqual(len(numbers(dry)), 3, dry)

    def test_every_edit(self):
        for name in ("record_padding.nc", "coads_climatology.cdf"):
            file = CLASSIC / name
            archive = self.archived(file)
            variable = json.loads(self.ok(nc3z("info", "--json", archive)).stdout)["variables"][-1]["name"]
            self.rehearsed(archive, "attr", ":a=1")
            self.rehearsed(archive, "rename", "-v", f"{variable},other")
            self.rehearsed(archive, "set", "other", "=1")
            self.rehearsed(archive, "commit", file)
            self.rehearsed(archive, "revert", "2")
            # Nothing to do is nothing to do.
            self.assertIn("already", self.ok(nc3z("revert", archive, "2", "--dry-run")).stderr)
            self.ok(nc3z("verify", "--all-versions", archive))

    def test_gc_keeps_tags(self):
        archive = self.archived(CLASSIC / "record_padding.nc")
        for n in range(4):
            self.ok(nc3z("attr", archive, f":a={n}"))
        self.ok(nc3z("tag", archive, "good", "--version", "2"))
        self.ok(nc3z("tag", archive, "bad", "--version", "3"))
        before = archive.read_bytes()
        done = self.ok(nc3z("prune", "--in-place", "--dry-run", archive))
        self.assertIn("3 versions would be kept, 2 dropped (1, 4)", done.stderr)
        done = self.ok(nc3z("prune", "--in-place", "--dry-run", "--drop-tagged", "--keep", "bad", archive))
        self.assertIn("2 versions would be kept, 3 dropped (1, 2, 4)", done.stderr)
        self.assertIn("tags that would go with dropped versions: good", done.stderr)
        self.assertEqual(archive.read_bytes(), before)
        self.ok(nc3z("prune", "--in-place", archive))
        self.assertEqual([v["version"] for v in self.log(archive)], [5, 3, 2])
        self.ok(nc3z("prune", "--in-place", "--drop-tagged", archive))
        self.assertEqual([(v["version"], v["tags"]) for v in self.log(archive)], [(5, [])])

    def test_attributes_that_are_not_there(self):
        archive = self.archived(CLASSIC / "record_padding.nc")
        before = archive.read_bytes()
        for args in (("--delete", ":none"), ("-a", "none,global,d,,")):
            done = self.ok(nc3z("attr", archive, *args))
            self.assertIn("no attribute `:none`", done.stderr)
            self.assertEqual(archive.read_bytes(), before)
        self.fails(nc3z("attr", archive, "--delete", "nobody:none"), 1, "no variable `nobody`")


class Names(Edited):
    """A backslash makes a separator a part of a name, in every option that has names and separators."""

    def setUp(self):
        super().setUp()
        self.file = self.dir / "names.nc"
        with netCDF4.Dataset(self.file, "w", format="NETCDF3_CLASSIC") as d:
            d.createDimension("lat,lon", 3)
            d.createVariable("T,P", "i4", ("lat,lon",))[:] = [1, 2, 3]
            d.createVariable("a:b", "i4", ("lat,lon",))[:] = [4, 5, 6]
            d.createVariable("c=d@e", "i4", ("lat,lon",))[:] = [7, 8, 9]

    def names(self, path):
        with netCDF4.Dataset(path) as d:
            return list(d.variables)

    def test_reading(self):
        out = self.dir / "n.nc"
        self.ok(nc3z("subset", self.file, "-C", "-v", r"T\,P,a:b", "-d", r"lat\,lon,1", "-o", out))
        with netCDF4.Dataset(out) as d:
            self.assertEqual({n: v[:].tolist() for n, v in d.variables.items()}, {"T,P": [2], "a:b": [5]})
        self.assertIn("2", self.ok(nc3z("read", self.file, "T,P", "-d", r"lat\,lon,1")).stdout.decode())
        self.assertIn("4, 5, 6", self.ok(nc3z("dump", "-v", r"a\:b", self.file)).stdout.decode())
        self.fails(nc3z("subset", self.file, "-v", "T,P", "-o", self.dir / "m.nc"), 1, r"write a backslash before")
        self.fails(nc3z("diff", self.file, self.archived(self.file), "-v", r"T\,P,none"), 2, "none")
        self.ok(nc3z("diff", self.file, self.archived(self.file), "-v", r"T\,P,c=d@e"))

    def test_edits(self):
        archive = self.archived(self.file)
        self.ok(nc3z("attr", archive, r"a\:b:units=m", r"c\=d@e:k\:\=y=1:2=3", "-a", r"units,T\,P,o,c,K"))
        self.fails(nc3z("attr", archive, "a:b:units=m"), 1, "no variable `a`.*a backslash")
        self.ok(nc3z("rename", archive, "-v", r"T\,P,x\,y", "-d", r"lat\,lon,p\,q", "-a", r"c=d\@e@k:\=y,z"))
        self.ok(nc3z("set", archive, "x,y", "-d", r"p\,q,0", "=9"))
        out = self.dir / "out.nc"
        self.ok(nc3z("restore", archive, "-o", out))
        with netCDF4.Dataset(out) as d:
            self.assertEqual(list(d.dimensions), ["p,q"])
            self.assertEqual((d["a:b"].units, d["x,y"].units, d["x,y"][:].tolist()), ("m", "K", [9, 2, 3]))
            self.assertEqual({k: d["c=d@e"].getncattr(k) for k in d["c=d@e"].ncattrs()}, {"z": "1:2=3"})
        self.ok(nc3z("attr", archive, "--delete", r"a\:b:units"))
        self.assertEqual(nc3z("rename", archive, "-v", "x,y,z").returncode, 2)

    def test_errors_tell_the_rule(self):
        archive = self.archived(self.file)
        for command in (("attr", archive, "-a", "units,T,P,o,c,m"), ("read", archive, "T,P", "-d", "lat,lon,1"), ("aggregate", self.file, "-v", "T,P", "-o", self.dir / "z.nc")):
            with self.subTest(command=command[0]):
                done = nc3z(*command)
                self.assertEqual((done.returncode, "backslash" in done.stderr), (2 if command[0] == "read" else 1, True), done.stderr)

    def test_a_name_alone_takes_the_backslash(self):
        archive, name = self.archived(self.file), r"T\,P"
        self.assertEqual(self.ok(nc3z("read", archive, name)).stdout, self.ok(nc3z("read", archive, "T,P")).stdout)
        for command in (("read", "--explain", archive, name), ("plot", archive, name, "-o", self.dir / "p.png"), ("set", archive, name, "--plan", "=1")):
            with self.subTest(command=command[0]):
                self.ok(nc3z(*command))

    def test_tiles_are_planned_in_the_arrays_indices(self):
        archive = self.archived(self.file)
        plan = self.ok(nc3z("set", archive, "T,P", "-d", r"lat\,lon,1,2", "--plan", "=0")).stdout.decode()
        self.assertRegex(plan, r"T,P\[lat,lon=1\.\.2\]: 2 elements in 1 tile of 1\n  T,P\[lat,lon=0\.\.2\] \(tile 0, 3 elements.*: 2 elements overwritten")
        plan = self.ok(nc3z("set", archive, "T,P", "--plan", "=0")).stdout.decode()
        self.assertRegex(plan, r"overwritten whole, not read")


class Aggregations(Edited):
    def test_an_archived_aggregation_keeps_its_versions(self):
        def make(name, first):
            with netCDF4.Dataset(self.dir / name, "w", format="NETCDF3_CLASSIC") as d:
                d.createDimension("time", None)
                time = d.createVariable("time", "f8", ("time",))
                time.units = "days since 2000-01-01"
                time[:] = [first, first + 1]
                d.createVariable("tas", "f4", ("time",))[:] = [first, first + 1]
            return self.dir / name

        a, b, c = (make(f"{n}.nc", first) for n, first in (("a", 0), ("b", 2), ("c", 4)))
        agg = self.dir / "x.nc"
        self.ok(nc3z("aggregate", "--no-history", a, b, "-o", agg))
        archive = self.archived(agg, "x.nc.nc3z")
        first = sha256(agg)
        self.ok(nc3z("aggregate", "--no-history", "--append", c, "-o", archive))
        self.assertEqual([v["version"] for v in self.log(archive)], [2, 1])
        out = self.dir / "first.nc"
        self.ok(nc3z("restore", archive, "--version", "1", "-o", out))
        self.assertEqual(sha256(out), first)
        self.assertEqual(self.ok(nc3z("read", archive, "tas")).stdout, self.ok(nc3z("read", self.all(a, b, c), "tas")).stdout)
        before = archive.read_bytes()
        self.ok(nc3z("aggregate", "--no-history", "--append", c, "-o", archive))
        self.assertEqual(archive.read_bytes(), before)
        self.assertEqual([p for p in self.dir.iterdir() if "appended" in p.name], [])

    def test_what_its_user_has_added_stays(self):
        def make(name, first, **attributes):
            with netCDF4.Dataset(self.dir / name, "w", format="NETCDF3_CLASSIC") as d:
                d.createDimension("time", None)
                time = d.createVariable("time", "f8", ("time",))
                time.units = "days since 2000-01-01"
                time[:] = [first]
                d.createVariable("tas", "f4", ("time",))[:] = [first]
                d.setncatts({"title": "same", **attributes})
            return self.dir / name

        archive = self.archived(self.all(make("a.nc", 0), make("b.nc", 1)), "x.nc.nc3z")
        self.ok(nc3z("attr", archive, ":comment=mine"))
        third = make("c.nc", 2)
        self.fails(nc3z("append", archive, third), words="is an aggregation.*aggregate --append")
        done = self.ok(nc3z("aggregate", "--no-history", "--append", third, "-o", archive))
        self.assertNotIn("comment", done.stderr)
        self.assertIn(':comment = "mine"', self.ok(nc3z("dump", "-h", archive)).stdout.decode())
        # An attribute that differs in a new file is left out.
        self.ok(nc3z("aggregate", "--no-history", "--append", make("d.nc", 3, title="other"), "-o", archive))
        header = self.ok(nc3z("dump", "-h", archive)).stdout.decode()
        self.assertNotIn("title", header)
        self.assertIn(':comment = "mine"', header)

    def all(self, *files):
        out = self.dir / "all.nc"
        self.ok(nc3z("aggregate", "--no-history", *files, "-o", out))
        return out


if __name__ == "__main__":
    unittest.main()

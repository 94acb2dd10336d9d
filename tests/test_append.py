"""`nc3z append` and the record coordinate: a month that is there already, records that overlap, other reference dates."""

import shutil
import subprocess
import unittest
from pathlib import Path

from common import Case, damaged, missing, nc3z, need_program

try:
    import netCDF4
    import numpy as np
except ImportError as e:
    netCDF4 = None
    ABSENT = e.name


def make(path, times, units="days since 2000-01-01", values=None, kind="f8", calendar=None, bounds=False):
    """A record file: a time coordinate, and a variable of two values for each time."""
    times = np.asarray(times)
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
        d.createDimension("time", None)
        d.createDimension("x", 2)
        time = d.createVariable("time", kind, ("time",))
        if units is not None:
            time.units = units
        if calendar:
            time.calendar = calendar
        if bounds:
            time.bounds = "time_bnds"
            d.createVariable("time_bnds", kind, ("time", "x"))[:] = np.stack([times - 0.5, times + 0.5], axis=1)
        time[:] = times
        tas = d.createVariable("tas", "f4", ("time", "x"))
        tas[:] = np.arange(2 * len(times)).reshape(-1, 2) if values is None else np.full((len(times), 2), values)
    return path


class Append(Case):
    def setUp(self):
        super().setUp()
        if netCDF4 is None:
            missing(self, f"{ABSENT} is not installed")

    def archive_of(self, *args, **more):
        return self.archived(make(self.dir / "a.nc", *args, **more), name="a.nc3z")

    def archived(self, file, name):
        archive = self.dir / name
        self.ok(nc3z("archive", "--force", file, "-o", archive))
        return archive

    def read(self, archive, name="time"):
        out = self.dir / "out.nc"
        self.ok(nc3z("restore", "--force", archive, "-o", out))
        with netCDF4.Dataset(out) as d:
            return d[name][...].tolist()

    def refused(self, archive, file, words, *args):
        before = archive.read_bytes()
        self.fails(nc3z("append", archive, file, *args), 1, words)
        self.assertEqual(archive.read_bytes(), before)

    def test_the_same_month_twice(self):
        case = Path(__file__).resolve().parent.parent.parent / "shared" / "cases" / "append-twice"
        if case.is_dir():
            files = [Path(shutil.copyfile(case / name, self.dir / name)) for name in ("jan.nc", "feb.nc")]
        else:
            files = [make(self.dir / "jan.nc", [0, 1, 2]), make(self.dir / "feb.nc", [3, 4])]
        archive = self.archived(files[0], "jan.nc3z")
        self.ok(nc3z("append", archive, files[1]))
        times = self.read(archive)
        before = archive.read_bytes()
        again = self.ok(nc3z("append", archive, files[1]))
        self.assertIn("has its 2 records already", again.stderr)
        self.assertEqual((archive.read_bytes(), self.read(archive)), (before, times))
        # An archive of the month is the same month.
        again = self.ok(nc3z("append", archive, self.archived(files[1], "feb.nc3z")))
        self.assertEqual(archive.read_bytes(), before)

    def words_file(self, name, times, values, kind="Times"):
        """A file of WRF's kind: its only times are text."""
        path = self.dir / name
        with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as d:
            d.createDimension("Time", None)
            d.createDimension("DateStrLen", 19)
            d.createDimension("x", 2)
            if kind:
                d.createVariable(kind, "S1", ("Time", "DateStrLen"))[:] = np.array([list(t.encode()) for t in times], "u1").view("S1").reshape(-1, 19)
            d.createVariable("T2", "f4", ("Time", "x"))[:] = np.repeat(np.asarray(values, "f4")[:, None], 2, axis=1)
        return path

    def test_times_as_text_order_the_records(self):
        hours = [f"2000-01-01_{n:02}:00:00" for n in range(6)]
        first = self.words_file("w1.nc", hours[:2], [1, 2])
        archive = self.archived(first, "w.nc3z")
        before = archive.read_bytes()
        self.assertIn("has its 2 records already", self.ok(nc3z("append", archive, first)).stderr)
        self.assertEqual(archive.read_bytes(), before)
        self.refused(archive, self.words_file("w2.nc", hours[1:4], [9, 3, 4]), "begins at 2000-01-01 01:00:00, .*ends at 2000-01-01 01:00:00")
        self.refused(archive, self.words_file("w3.nc", [hours[3], hours[2]], [3, 4]), "turns back")
        self.refused(archive, self.words_file("w4.nc", [hours[3], hours[3]], [3, 4]), "2000-01-01 03:00:00 twice")
        done = self.ok(nc3z("append", archive, self.words_file("w5.nc", hours[2:4], [3, 4])))
        self.assertNotIn("warning", done.stderr)
        self.ok(nc3z("append", archive, self.dir / "w2.nc", "--replace-overlap"))
        self.assertEqual([row[0] for row in self.read(archive, "T2")], [1, 9, 3, 4])

    def test_without_times_a_warning_says_so(self):
        for kind, text in ((None, []), ("Times", ["no time as such 000", "no time as such 001"])):
            file = self.words_file("n.nc", text, [1, 2], kind)
            archive = self.archived(file, "n.nc3z")
            before = archive.read_bytes()
            self.assertIn("has its 2 records already", self.ok(nc3z("append", archive, file)).stderr)
            self.assertEqual(archive.read_bytes(), before)
            done = self.ok(nc3z("append", archive, self.words_file("m.nc", text, [3, 4], kind)))
            self.assertIn("warning", done.stderr)
            self.assertIn("could not be compared", done.stderr)
            done = self.ok(nc3z("append", archive, self.dir / "m.nc", "--allow-overlap"))
            self.assertNotIn("warning", done.stderr)
            self.assertEqual([row[0] for row in self.read(archive, "T2")], [1, 2, 3, 4, 3, 4])

    def test_an_archive_without_records_is_named(self):
        fixed = self.dir / "fixed.nc"
        with netCDF4.Dataset(fixed, "w", format="NETCDF3_CLASSIC") as d:
            d.createDimension("x", 2)
            d.createVariable("tas", "f4", ("x",))[:] = [1, 2]
        self.refused(self.archived(fixed, "fixed.nc3z"), make(self.dir / "a.nc", [0, 1]), "the archive has no record dimension")

    def test_what_overlaps_or_turns_back_is_refused(self):
        archive = self.archive_of([0, 1, 2, 3, 4])
        b = self.dir / "b.nc"
        self.refused(archive, make(b, [3, 4], values=9), "records of `time` from 3 days .* to 4 days .* other values of `tas`")
        self.refused(archive, make(b, [4, 5]), "begins at 4 days .* ends at 4 days .* 1 of its 2 records")
        self.refused(archive, make(b, [2.5, 6]), "begins at 2.5 days .* ends at 4 days")
        self.refused(archive, make(b, [5, 7, 6]), "turns back from 7 days .* to 6 days")
        self.refused(archive, make(b, [5, 5]), "has 5 days .* twice")
        self.ok(nc3z("append", archive, make(b, [5, 6])))
        self.assertEqual(self.read(archive), [0, 1, 2, 3, 4, 5, 6])

    def test_an_overlap_is_replaced_or_allowed(self):
        archive = self.archive_of([0, 1, 2, 3, 4])
        b = make(self.dir / "b.nc", [3, 4, 5], values=9)
        self.assertIn("2 records replaced, 1 record appended, 6 now", self.ok(nc3z("append", archive, b, "--replace-overlap")).stderr)
        self.assertEqual(self.read(archive), [0, 1, 2, 3, 4, 5])
        self.assertEqual(self.read(archive, "tas"), [[0, 1], [2, 3], [4, 5], [9, 9], [9, 9], [9, 9]])
        self.refused(archive, make(b, [1.5, 9]), "no record at 1.5 days.* one at 2 days", "--replace-overlap")
        self.ok(nc3z("append", archive, make(b, [4, 5], values=1), "--allow-overlap"))
        self.assertEqual(self.read(archive), [0, 1, 2, 3, 4, 5, 4, 5])
        self.refused(archive, make(b, [4, 6]), "archive's `time` .* is not monotonic", "--replace-overlap")
        self.assertEqual(nc3z("append", archive, b, "--replace-overlap", "--allow-overlap").returncode, 2)

    def test_the_file_that_is_damaged_is_named(self):
        """Records are read from the new file, and from the archive where they are compared or replaced."""
        def file(name, first, seed):
            with netCDF4.Dataset(self.dir / name, "w", format="NETCDF3_64BIT_OFFSET") as d:
                d.createDimension("time", None)
                d.createDimension("x", 5000)
                time = d.createVariable("time", "f8", ("time",))
                time.units = "days since 2000-01-01"
                time[:] = np.arange(first, first + 10)
                d.createVariable("tas", "f4", ("time", "x"))[:] = np.random.default_rng(seed).normal(size=(10, 5000))
            return self.dir / name

        first, second = file("a.nc", 0, 1), file("b.nc", 10, 2)
        archive, more = self.archived(first, "a.nc3z"), self.archived(second, "b.nc3z")
        bad, bad_more = damaged(archive), damaged(more)
        for of, to, new, options in ((bad_more, archive, bad_more, ()), (bad, bad, first, ()), (bad, bad, file("c.nc", 5, 3), ("--replace-overlap",))):
            with self.subTest(to=to.name, new=new.name):
                held = to.read_bytes()
                done = self.fails(nc3z("append", to, new, *options), 3, f"{of.name}.*corrupt.*nc3z repair [^ ]*{of.name}")
                other = new if of == to else to
                self.assertNotIn(f"/{other.name}", done.stderr)
                self.assertEqual(to.read_bytes(), held)

    def test_downwards_is_a_direction_too(self):
        archive = self.archive_of([9, 8, 7])
        b = self.dir / "b.nc"
        self.refused(archive, make(b, [8, 6]), "begins at 8 days .* ends at 7 days")
        self.ok(nc3z("append", archive, make(b, [6, 5])))
        self.assertEqual(self.read(archive), [9, 8, 7, 6, 5])
        # One record has no direction of its own.
        one = self.archived(make(self.dir / "one.nc", [3]), "one.nc3z")
        self.refused(one, make(b, [2]), "begins at 2 days .* ends at 3 days")
        self.ok(nc3z("append", one, make(b, [2, 1])))

    def test_integers_and_missing_times(self):
        archive = self.archive_of([0, 1], kind="i4")
        b = self.dir / "b.nc"
        self.refused(archive, make(b, [1, 2], kind="i4"), "begins at 1 days")
        self.ok(nc3z("append", archive, make(b, [2, 3], kind="i4")))
        # The fill value is not a time: it says nothing of the order.
        self.ok(nc3z("append", archive, make(b, [-2147483647, 4], kind="i4")))
        self.refused(archive, make(b, [4], kind="i4", values=3), "other values|begins at 4")

    def test_a_zero_byte_at_the_end_of_units(self):
        archive = self.archive_of([0, 1])
        self.ok(nc3z("append", archive, make(self.dir / "b.nc", [2], units="days since 2000-01-01\0")))
        self.assertEqual(self.read(archive), [0, 1, 2])

    def test_other_reference_dates_are_rebased_as_ncrcat_does(self):
        need_program(self, "ncrcat")
        for kind, calendar, first, second, times in (
            ("f8", None, "days since 2000-01-01", "days since 2001-01-01", [0, 31.5, 0.25]), ("i4", "noleap", "days since 1850-01-01", "days since 1850-03-01", [0, 9]),
            ("f8", "360_day", "hours since 2000-01-01", "days since 2000-02-30 12:00", [0, 1 / 24, 2.5]), ("f8", None, "seconds since 1970-01-01", "days since 2000-01-01", [1, 2.5]),
            ("f4", None, "days since 2000-01-01", "hours since 2000-02-01", [0, 12]),
        ):
            with self.subTest(first=first, second=second, kind=kind):
                a, b = (make(self.dir / name, sorted(t), units, kind=kind, calendar=calendar, bounds=kind == "f8")
                        for name, t, units in (("a.nc", [0, 1], first), ("b.nc", times, second)))
                joined = self.dir / "joined.nc"
                subprocess.run(["ncrcat", "-O", "-h", a, b, joined], check=True, capture_output=True)
                archive = self.archived(a, "r.nc3z")
                self.ok(nc3z("append", archive, b))
                with netCDF4.Dataset(joined) as d:
                    d.set_auto_mask(False)
                    wanted = {n: np.asarray(v[:]) for n, v in d.variables.items()}
                    self.assertEqual(d["time"].units, first)
                for name, values in wanted.items():
                    got = np.asarray(self.read(archive, name))
                    np.testing.assert_allclose(got, values, rtol=1e-13 if kind != "f4" else 1e-6, atol=1e-9, err_msg=name)
                # The same again is there, whatever its units.
                before = archive.read_bytes()
                self.assertIn("already", self.ok(nc3z("append", archive, b)).stderr)
                self.assertEqual(archive.read_bytes(), before)

    def test_what_cannot_be_rebased_exactly_is_refused(self):
        b = self.dir / "b.nc"
        archive = self.archive_of([0, 1], kind="i4")
        self.refused(archive, make(b, [36, 49], "hours since 2000-01-01", kind="i4"), r"36 hours since 2000-01-01 \(2000-01-02 12:00:00\) is not exactly a value of type int in the archive's `days since 2000-01-01`")
        self.ok(nc3z("append", archive, make(b, [48, 72], "hours since 2000-01-01", kind="i4")))
        self.assertEqual(self.read(archive), [0, 1, 2, 3])
        archive = self.archive_of([0, 1], units="days since 1800-01-01", kind="f4")
        self.refused(archive, make(b, [0.1], "days since 2000-01-01", kind="f4"), "is not exactly a value of type float")
        # Another calendar counts other days.
        archive = self.archive_of([0, 1], calendar="noleap")
        self.refused(archive, make(b, [2], calendar="360_day"), "`time:calendar` is not the same")
        self.refused(archive, make(b, [2], "days since 2001-01-01", calendar="360_day"), "is not the same")
        self.refused(archive, make(b, [2], "metres", calendar="noleap"), "`time:units` is not the same")
        # Packed times are not counted from a date.
        archive, packed = self.archive_of([0, 1]), make(b, [0, 1], "days since 2001-01-01")
        with netCDF4.Dataset(packed, "a") as d:
            d["time"].add_offset = 1.0
        self.refused(archive, packed, "`time:(units|add_offset)` is not the same")

    def test_units_may_be_written_in_another_way(self):
        archive = self.archive_of([0, 1], calendar="standard")
        self.ok(nc3z("append", archive, make(self.dir / "b.nc", [2], "day since 2000-1-1 00:00:00 UTC", calendar="gregorian")))
        self.assertEqual(self.read(archive), [0, 1, 2])

    def test_other_reference_dates_are_rebased(self):
        """As the next test, without other programs."""
        archive = self.archive_of([0, 1, 365.5], bounds=True)
        b = make(self.dir / "b.nc", [0, 0.25, 31.5], "days since 2001-01-01", bounds=True)
        self.ok(nc3z("append", archive, b))
        self.assertEqual(self.read(archive), [0, 1, 365.5, 366, 366.25, 397.5])
        self.assertEqual(self.read(archive, "time_bnds")[3:], [[365.5, 366.5], [365.75, 366.75], [397, 398]])
        before = archive.read_bytes()
        self.assertIn("already", self.ok(nc3z("append", archive, b)).stderr)
        self.assertEqual(archive.read_bytes(), before)
        # A rebased time that does not continue the archive's.
        b = make(self.dir / "c.nc", [-1], "days since 2001-01-01", bounds=True)
        self.refused(archive, b, "begins at 365 days since 2000-01-01 .2000-12-31., .* ends at 397.5 days")
        # The unchanged numbers, on request.
        self.ok(nc3z("append", archive, make(b, [400], "days since 2001-01-01", bounds=True), "--any-units"))
        self.assertEqual(self.read(archive)[-1], 400)


class Names(Append):
    """The message names what cannot be joined."""

    def test_calendars_before_units_that_could_be_converted(self):
        make(self.dir / "p.nc", [0, 1], "days since 2000-01-01", calendar="standard")
        self.ok(nc3z("archive", self.dir / "p.nc", "-o", self.dir / "p.nc3z"))
        for calendar in ("noleap", "360_day"):
            make(self.dir / "q.nc", [0, 1], "days since 2000-01-03", calendar=calendar)
            done = self.fails(nc3z("append", self.dir / "p.nc3z", self.dir / "q.nc"), 1, "time:calendar.*dates differ")
            self.assertIn(calendar, done.stderr)
            self.assertIn("standard", done.stderr)
        # Without the attribute the calendar is the standard one.
        make(self.dir / "r.nc", [2, 3], "days since 2000-01-01")
        self.ok(nc3z("append", self.dir / "p.nc3z", self.dir / "r.nc"))

    def test_values_of_other_attributes(self):
        make(self.dir / "p.nc", [0, 1])
        make(self.dir / "q.nc", [2, 3])
        for path, units in (("p.nc", "K"), ("q.nc", "degC")):
            with netCDF4.Dataset(self.dir / path, "a") as d:
                d["tas"].units = units
        self.ok(nc3z("archive", self.dir / "p.nc", "-o", self.dir / "p.nc3z"))
        self.fails(nc3z("append", self.dir / "p.nc3z", self.dir / "q.nc"), 1, 'tas:units` is not the same in the new file, "degC" instead of "K"')


if __name__ == "__main__":
    unittest.main()

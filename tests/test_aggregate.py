"""Aggregations: many files as one, read and made; every expectation is computed here, by NumPy, from how the files were made."""

import fcntl
import json
import os
import resource
import shutil
import subprocess
import unittest
import zipfile
from pathlib import Path

import netCDF4
import numpy as np
from common import ROOT, Case, finish, missing, nc3z, need_program, start
from servers import serve

CDL = ROOT / "testdata/aggregation"
LAT = (-30.0, -10.0, 10.0, 30.0)
LON = (0.0, 10.0, 20.0)
CF = ("--convention", "cf")


def truth(times, lat=LAT, lon=LON):
    """Kelvin at day, latitude, longitude."""
    t, y, x = np.meshgrid(np.asarray(times, "f8"), np.asarray(lat), np.asarray(lon), indexing="ij")
    return 273.15 + t + 0.1 * y + 0.01 * x


def make(path, first, count, *, units="K", lat=LAT, lon=LON, dtype="f4", packing=None, tunits="days since 2001-01-01", calendar=None,
         name="tas", standard_name="air_temperature", attributes=None, bounds=None, scalar=False, times=None, order=("time", "lat", "lon"),
         fmt="NETCDF3_CLASSIC", title=None):
    """A file with `count` days from day `first` on."""
    days = np.arange(first, first + count, dtype="f8")
    with netCDF4.Dataset(path, "w", format=fmt) as d:
        d.Conventions = "CF-1.8"
        if title:
            d.title = title
        if not scalar:
            d.createDimension("time", count)
        d.createDimension("lat", len(lat))
        d.createDimension("lon", len(lon))
        t = d.createVariable("time", "f8", () if scalar else ("time",))
        t.units, t.standard_name = tunits, "time"
        if calendar:
            t.calendar = calendar
        t[...] = (days if times is None else np.asarray(times)) if not scalar else days[0]
        for n, values, u, s in (("lat", lat, "degrees_north", "latitude"), ("lon", lon, "degrees_east", "longitude")):
            v = d.createVariable(n, "f8", (n,))
            v.units, v.standard_name = u, s
            v[:] = values
        if bounds is not None:
            d.createDimension("nv", 2)
            t.bounds = "time_bnds"
            b = d.createVariable("time_bnds", "f8", ("time", "nv"))
            b[:] = np.stack([t[:] - bounds / 2, t[:] + bounds / 2], 1)
        dims = [n for n in order if not (scalar and n == "time")]
        values = truth(days, lat, lon)
        if units == "degC":
            values = values - 273.15
        if scalar:
            values = values[0]
        else:
            values = np.transpose(values, [("time", "lat", "lon").index(n) for n in order])
        v = d.createVariable(name, dtype, dims, fill_value=np.array(-9999, dtype) if packing else None)
        v.units = units
        if standard_name:
            v.standard_name = standard_name
        if scalar:
            v.coordinates = "time"
        for key, value in (attributes or {}).items():
            v.setncattr(key, value)
        if packing:
            v.scale_factor, v.add_offset = packing
            v.set_auto_maskandscale(False)
            v[:] = np.round((values - packing[1]) / packing[0]).astype(dtype)
        else:
            v[:] = values
    return path


class Aggregation(Case):
    def values(self, path, name="tas", *args):
        """Returns the values of `nc3z read` as an array."""
        out = self.dir / "values.npy"
        self.ok(nc3z("read", path, name, "--format", "npy", "-f", "-o", out, *args))
        return np.load(out)

    def make(self, file, *args, **options):
        return make(self.dir / file, *args, **options)

    def aggregate(self, *files, out="agg.nc", options=()):
        self.ok(nc3z("aggregate", *files, "-o", self.dir / out, *options))
        return self.dir / out

    def refused(self, *files, words, options=()):
        done = self.fails(nc3z("aggregate", *files, "-o", self.dir / "no.nc", *options), words=words)
        self.assertNotIn("no.nc", self.names())
        return done

    def near(self, found, expected, tolerance=2e-5):
        self.assertEqual(found.shape, expected.shape)
        self.assertLess(np.abs(found - expected).max(), tolerance)

    def hand_made(self, uris, sizes, *, ids="tas", length=None, name="hand.nc", units="K", dtype="f4", terms=None, fill=1e20, conventions="CF-1.13",
                  values=None, pad=b"\0"):
        """An aggregation along time, as CF-1.13 has it."""
        length = sum(sizes) if length is None else length
        path = self.dir / name
        with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
            d.Conventions = conventions
            for n, size in (("time", length), ("lat", 4), ("lon", 3), ("j", 3), ("i", len(sizes)), ("f_time", len(sizes)), ("f_lat", 1), ("f_lon", 1)):
                d.createDimension(n, size)
            v = d.createVariable("tas", dtype, (), fill_value=np.array(fill, dtype))
            v.units, v.aggregated_dimensions = units, "time lat lon"
            v.aggregated_data = terms or ("map: m unique_values: u" if values else "map: m uris: u identifiers: k")
            m = d.createVariable("m", "i4", ("j", "i"), fill_value=np.int32(-2147483647))
            table = np.ma.masked_all((3, len(sizes)), "i4")
            table[0, :], table[1, 0], table[2, 0] = sizes, 4, 3
            m[:] = table
            if values:
                u = d.createVariable("u", dtype, ("f_time", "f_lat", "f_lon"), fill_value=np.array(fill, dtype))
                u[:] = np.ma.masked_invalid(np.array(values)).reshape(-1, 1, 1)
                return path
            each = ("f_time", "f_lat", "f_lon")
            for n, texts, dims in (("u", uris, each), ("k", [ids], ()) if isinstance(ids, str) else ("k", ids, each)):
                width = max(len(s.encode()) for s in texts)
                d.createDimension(n + "_len", width)
                v = d.createVariable(n, "S1", dims + (n + "_len",))
                chars = np.frombuffer(b"".join(s.encode().ljust(width, pad) for s in texts), "S1")
                v[:] = chars.reshape([len(d.dimensions[x]) for x in dims] + [width])
        return path

    def fragments(self):
        make(self.dir / "a.nc", 0, 3)
        make(self.dir / "b.nc", 3, 4, units="degC")
        make(self.dir / "c.nc", 7, 2, dtype="f8")
        make(self.dir / "p.nc", 3, 4, dtype="i2", packing=(0.01, 270.0))
        make(self.dir / "d.nc", 9, 1, scalar=True)
        (self.dir / "sub dir").mkdir()
        shutil.copy(self.dir / "b.nc", self.dir / "sub dir/b c.nc")

    def ncgen(self, name):
        out = self.dir / f"{name}.nc"
        subprocess.run([need_program(self, "ncgen"), "-k", "classic", "-o", out, CDL / f"{name}.cdl"], check=True)
        return out


class Made(Aggregation):
    """Tests the aggregations that `nc3z aggregate` writes."""

    def test_tiles_of_two_dimensions_in_any_order(self):
        files = [self.make(f"g{i}{j}.nc", 3 * i, 3, lat=LAT[2 * j:2 * j + 2], units="K" if (i + j) % 2 else "degC")
                 for i in range(3) for j in range(2)]
        agg = self.aggregate(*[files[k] for k in (4, 1, 5, 0, 3, 2)])
        self.near(self.values(agg), truth(range(9)) - 273.15)
        info = json.loads(nc3z("info", "--json", agg).stdout)
        tas = next(v for v in info["variables"] if v["name"] == "tas")
        self.assertEqual((tas["fragments"], tas["shape"], tas["units"]), ([3, 2, 1], [9, 4, 3], "degC"))
        self.near(self.values(agg, "tas", "-d", "time,,,-3", "-d", "lat,3"), (truth(range(9)) - 273.15)[::3][::-1, 3:4])
        # A missing file is an error.
        self.refused(*files[:5], words="nothing fills")

    def test_each_file_keeps_its_packing(self):
        """Where ncrcat and kerchunk are silently wrong."""
        pairs = [(0.01, 270.0), (0.02, 280.0), (0.005, 275.0)]
        files = [self.make(f"p{n}.nc", 4 * n, 4, dtype="i2", packing=pairs[n % 3]) for n in range(6)]
        agg = self.aggregate(*files)
        expected = np.concatenate([self.unpacked(f) for f in files])
        found = self.values(agg)
        self.assertEqual(found.dtype.newbyteorder("="), np.dtype("f8"))
        self.assertEqual(np.abs(found - expected).max(), 0)
        self.assertNotIn("scale_factor", nc3z("dump", "-h", agg).stdout.decode())

    def unpacked(self, path):
        with netCDF4.Dataset(path) as d:
            v = d["tas"]
            v.set_auto_maskandscale(False)
            return v[:].astype("f8") * float(v.scale_factor) + float(v.add_offset)

    def test_archives_and_classic_files_together(self):
        files = [self.make(f"m{n}.nc", 2 * n, 2) for n in range(4)]
        self.ok(nc3z("archive", files[1], files[3]))
        os.remove(files[1])
        os.remove(files[3])
        agg = self.aggregate(self.dir)
        self.near(self.values(agg), truth(range(8)))
        # A file that is archived later is found under its new name, and is known by its digest.
        self.ok(nc3z("archive", files[0]))
        os.remove(files[0])
        self.near(self.values(agg), truth(range(8)))
        # So is the aggregation itself.
        self.ok(nc3z("archive", agg))
        self.near(self.values(self.dir / "agg.nc.nc3z"), truth(range(8)))

    def test_every_reading_command_takes_it(self):
        files = [self.make(f"r{n}.nc", 2 * n, 2) for n in range(3)]
        agg = self.aggregate(*files)
        text = self.ok(nc3z("dump", agg)).stdout.decode()
        self.assertIn("float tas(time, lat, lon)", text)
        self.assertNotIn("fragment", text)
        # ncgen accepts the output of dump: the aggregation as a plain file.
        (self.dir / "all.cdl").write_text(text)
        subprocess.run([need_program(self, "ncgen"), "-o", self.dir / "all.nc", self.dir / "all.cdl"], check=True)
        with netCDF4.Dataset(self.dir / "all.nc") as d:
            self.near(d["tas"][:], truth(range(6)))
        self.ok(nc3z("subset", agg, "-v", "tas", "-d", "time,1,4", "-o", self.dir / "part.nc"))
        with netCDF4.Dataset(self.dir / "part.nc") as d:
            self.near(d["tas"][:], truth(range(1, 5)))
            self.assertEqual(list(d["time"][:]), [1, 2, 3, 4])
        report = json.loads(self.ok(nc3z("read", "--explain", "--json", agg, "tas", "-d", "time,3")).stdout)
        self.assertEqual(report["partitions"], {"total": 3, "touched": 1})
        self.assertEqual(report["first_fragments"][0]["file"], "r1.nc")
        self.assertIn("fragments  1 of 3", nc3z("read", "--explain", agg, "tas", "-d", "time,3").stdout.decode())
        self.assertIn("aggregation, CF-1.13", self.ok(nc3z("info", agg)).stdout.decode())
        csv = self.ok(nc3z("read", agg, "tas", "-d", "time,5", "-d", "lat,10.0", "-d", "lon,0.0", "--format", "csv", "--raw")).stdout.decode()
        self.assertEqual(csv.splitlines()[1].split(",")[:3], ["5.0", "10.0", "0.0"])
        self.ok(nc3z("dump", "-h", "--as-stored", agg))
        self.assertIn("fragment_uris", nc3z("dump", "-h", "--as-stored", agg).stdout.decode())

    def test_times_of_other_units_and_reference_dates(self):
        files = [self.make("a.nc", 0, 3), self.make("b.nc", 3, 3, tunits="hours since 2001-01-01", times=[72, 96, 120]),
                 self.make("c.nc", 6, 3, tunits="days since 2001-01-04 00:00:00Z", times=[3, 4, 5])]
        agg = self.aggregate(*files)
        self.assertEqual(list(self.values(agg, "time")), list(range(9)))
        self.near(self.values(agg), truth(range(9)))

    def test_scalar_times_become_a_dimension(self):
        files = [self.make(f"s{n}.nc", n, 1, scalar=True) for n in range(4)]
        agg = self.aggregate(*files)
        self.near(self.values(agg), truth(range(4)))
        both = self.aggregate(*files, self.make("more.nc", 4, 3), out="both.nc")
        self.near(self.values(both), truth(range(7)))

    def test_latitudes_the_other_way_need_nca(self):
        files = [self.make("a.nc", 0, 3), self.make("b.nc", 3, 3, lat=LAT[::-1])]
        done = self.refused(*files, words="descending", options=CF)
        self.assertRegex(done.stderr, "b.nc.*a.nc.*NCA")
        # Without --convention, an arrangement that CF-1.13 cannot express is written as NCA, with a note.
        told = self.ok(nc3z("aggregate", *files, "-o", self.dir / "told.nc")).stderr
        self.assertRegex(told, "written as NCA-0.1.*b.nc")
        for agg in (self.aggregate(*files, options=("--convention", "nca")), self.dir / "told.nc"):
            self.near(self.values(agg), truth(range(6)))
            self.assertIn("nca_array", nc3z("dump", "-h", "--as-stored", agg).stdout.decode())

    def test_another_order_of_dimensions_needs_nca(self):
        files = [self.make("a.nc", 0, 3), self.make("b.nc", 3, 3, order=("lon", "time", "lat"))]
        self.refused(*files, words="in the order", options=CF)
        self.near(self.values(self.aggregate(*files, options=("--convention", "nca"))), truth(range(6)))

    def test_unaligned_files_become_virtual_partitions(self):
        files = [self.make("a.nc", 0, 4, lat=LAT[:2]), self.make("b.nc", 0, 2, lat=LAT[2:]), self.make("c.nc", 2, 2, lat=LAT[2:])]
        self.refused(*files, words="not aligned", options=CF)
        agg = self.aggregate(*files, options=("--convention", "nca"))
        self.near(self.values(agg), truth(range(4)))

    def test_what_does_not_fit_is_refused_with_names_and_values(self):
        a = self.make("a.nc", 0, 3)
        for words, options in (
            ("a.nc.*b.nc.*overlap along .time.: 2001-01-01 to 2001-01-03 and 2001-01-03 to 2001-01-05", {"first": 2}),
            ("calendars are noleap and standard", {"calendar": "noleap"}),
            ("calendars are julian and standard", {"calendar": "julian"}),
            ("b.nc.*a.nc.*cannot convert", {"units": "m"}),
            ("unit .Kelvin_x. is not understood", {"units": "Kelvin_x"}),
            ("cell_methods none in .*a.nc. and .time: mean. in .*b.nc", {"attributes": {"cell_methods": "time: mean"}}),
            ("interleave.*30.000001", {"lat": (-30.0, -10.0, 10.0, 30.000001)}),
        ):
            options = {"first": 3, **options}
            self.refused(a, self.make("b.nc", options.pop("first"), 3, **options), words=words)
        self.refused(a, shutil.copy(a, self.dir / "copy.nc"), words="a.nc.*copy.nc.*same cells")
        self.refused(a, self.dir / "none.nc", words="none.nc")

    def test_near_coordinates_are_one_where_that_is_asked_for(self):
        lat = (-30.0, -10.0, 10.0, np.nextafter(30.0, 31))
        agg = self.aggregate(self.make("a.nc", 0, 3), self.make("b.nc", 3, 3, lat=lat))
        self.assertEqual(self.values(agg).shape, (6, 4, 3))
        files = [self.dir / "a.nc", self.make("c.nc", 3, 3, lat=(-30.0, -10.0, 10.0, 30.000001))]
        self.assertEqual(self.values(self.aggregate(*files, out="c_agg.nc", options=("--atol", "1e-5"))).shape, (6, 4, 3))

    def test_gaps_are_noted_or_refused(self):
        files = [self.make("a.nc", 0, 3), self.make("b.nc", 5, 3)]
        done = self.ok(nc3z("aggregate", *files, "-o", self.dir / "gap.nc"))
        self.assertRegex(done.stderr, "gap between 2001-01-03 and 2001-01-06")
        self.refused(*files, words="gap between", options=("--contiguous",))
        with_bounds = [self.make("c.nc", 0, 3, bounds=1.0), self.make("d.nc", 3, 3, bounds=1.0)]
        agg = self.aggregate(*with_bounds, out="b_agg.nc", options=("--contiguous",))
        self.assertTrue((self.values(agg, "time_bnds") == np.stack([np.arange(6) - 0.5, np.arange(6) + 0.5], 1)).all())
        with_bounds[1] = self.make("d.nc", 4, 3, bounds=1.0)
        self.refused(*with_bounds, words="leave a gap", options=("--contiguous",))

    def test_append_does_not_read_the_others_again(self):
        files = [self.make(f"m{n}.nc", 3 * n, 3, dtype="i2", packing=(0.01, 270 + n)) for n in range(4)]
        agg = self.aggregate(*files[:3])
        whole = self.aggregate(*files, out="whole.nc", options=("--no-history",))
        hidden = self.dir / "hidden"
        hidden.mkdir()
        for f in files[:3]:
            shutil.move(f, hidden)
        self.ok(nc3z("aggregate", "--append", "--no-history", files[3], "-o", agg))
        for f in files[:3]:
            shutil.move(hidden / f.name, f)
        self.near(self.values(agg), truth(range(12)), 0.006)
        self.assertTrue((self.values(agg) == self.values(whole)).all())
        # Adding a file again changes nothing.
        before = agg.read_bytes()
        self.ok(nc3z("aggregate", "--append", "--no-history", *files, "-o", agg))
        self.assertEqual(agg.read_bytes(), before)
        self.fails(nc3z("aggregate", "--append", files[0], "-o", self.dir / "none.nc"), words="does not exist")

    def test_files_that_are_added_at_the_same_time_are_not_lost(self):
        files = [self.make(f"m{n}.nc", 3 * n, 3) for n in range(8)]
        agg = self.aggregate(*files[:2])
        with open(agg, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.fails(nc3z("aggregate", "--append", files[2], "-o", agg), words="being changed by another process")
        self.ok(nc3z("archive", agg))
        for out in (agg, self.dir / "agg.nc.nc3z"):
            added = 0
            for process in [start("aggregate", "--append", file, "-o", out) for file in files[2:]]:
                code, words = finish(process)
                self.assertTrue(code == 0 or "being changed by another process" in words, words)
                added += code == 0
            self.assertGreaterEqual(added, 1)
            # The first row is the aggregation's own.
            listed = json.loads(self.ok(nc3z("list", "--json", out)).stdout)
            self.assertEqual(len(listed) - 1, 2 + added, out)

    def test_check_writes_nothing_and_lists_are_read(self):
        files = [self.make(f"m{n}.nc", 3 * n, 3, title=f"file {n}") for n in range(3)]
        (self.dir / "list.txt").write_text("".join(f"{f}\n" for f in files))
        done = self.ok(nc3z("aggregate", "--check", "--json", "--files-from", self.dir / "list.txt", "-o", self.dir / "agg.nc"))
        report = json.loads(done.stdout)
        self.assertNotIn("agg.nc", self.names())
        self.assertEqual((report["files"], report["variables"][0]["shape"]), (3, [9, 4, 3]))
        self.assertTrue(any("title" in n for n in report["notes"]))

    def test_dimensions_without_coordinates_are_joined_in_order(self):
        for n in range(3):
            with netCDF4.Dataset(self.dir / f"n{n}.nc", "w", format="NETCDF3_CLASSIC") as d:
                d.createDimension("n", 2 + n)
                v = d.createVariable("v", "i4", ("n",))
                v[:] = np.arange(2 + n) + 10 * n
        files = [self.dir / f"n{n}.nc" for n in (2, 0, 1)]
        self.refused(*files, words="no coordinates that tell")
        agg = self.aggregate(*files, options=("--along", "n"))
        self.assertEqual(list(self.values(agg, "v")), [20, 21, 22, 23, 0, 1, 10, 11, 12])

    def test_what_is_the_same_in_all_files_is_stored_once(self):
        files = [self.make(f"m{n}.nc", 3 * n, 3) for n in range(3)]
        for n, f in enumerate(files):
            with netCDF4.Dataset(f, "a") as d:
                v = d.createVariable("orog", "f4", ("lat", "lon"))
                v[:] = np.arange(12).reshape(4, 3)
                d.createVariable("crs", "i4", ())[...] = 7
        agg = self.aggregate(*files)
        self.assertTrue((self.values(agg, "orog") == np.arange(12).reshape(4, 3)).all())
        self.assertEqual(self.values(agg, "crs"), 7)
        with netCDF4.Dataset(files[1], "a") as d:
            d["orog"][0, 0] = 99
        self.refused(*files, words="m0.nc.*m1.nc.*different values of .orog")


class Safe(Aggregation):
    """Tests aggregations that must be refused."""

    def test_fragments_outside_the_directory_are_refused(self):
        (self.dir / "data").mkdir()
        (self.dir / "agg").mkdir()
        files = [self.make(f"data/m{n}.nc", 3 * n, 3) for n in range(2)]
        self.ok(nc3z("aggregate", *files, "-o", self.dir / "agg/agg.nc"))
        self.fails(nc3z("read", self.dir / "agg/agg.nc", "tas"), words="outside the directory")
        self.near(self.values(self.dir / "agg/agg.nc", "tas", "--outside"), truth(range(6)))

    def test_changed_and_missing_fragments_are_named(self):
        files = [self.make(f"m{n}.nc", 3 * n, 3) for n in range(3)]
        agg = self.aggregate(*files)
        self.make("m1.nc", 3, 4)
        self.fails(nc3z("read", agg, "tas"), words="m1.nc.*has changed since.*length was")
        os.remove(files[1])
        self.fails(nc3z("read", agg, "tas"), words="m1.nc.*does not exist")
        # Others are read as before.
        self.near(self.values(agg, "tas", "-d", "time,0,2"), truth(range(3)))
        filled = self.values(agg, "tas", "--fill-missing")
        self.near(filled[:3], truth(range(3)))
        self.assertTrue((filled[3:6] > 9e36).all())
        listed = json.loads(nc3z("list", "--json", agg).stdout)
        self.assertEqual([e["state"] for e in listed], ["ok", "ok", "error", "ok"])

    def test_a_changed_archive_is_named_also_without_a_digest(self):
        """An edit with --quick leaves none; a fragment that had none before is read."""
        archives = []
        for n in range(2):
            archives.append(self.dir / f"m{n}.nc.nc3z")
            self.ok(nc3z("archive", "-q", self.make(f"m{n}.nc", 3 * n, 3), "-o", archives[-1]))
        agg = self.aggregate(*archives)
        expected = self.values(agg)
        self.ok(nc3z("set", "-q", "--quick", archives[1], "tas", "-d", "time,0", "=500"))
        self.fails(nc3z("read", agg, "tas"), words="m1.nc.*has changed since.*SHA-256")
        self.near(self.values(agg, "tas", "-d", "time,0,2"), expected[:3])
        self.assertEqual([e["state"] for e in json.loads(nc3z("list", "--json", agg).stdout)], ["ok", "ok", "error"])
        expected[3] = 500
        self.near(self.values(self.aggregate(*archives, out="again.nc")), expected)
        self.near(self.values(self.aggregate(*archives, out="without.nc", options=("--no-fingerprints",))), expected)
        self.ok(nc3z("revert", "-q", archives[1], "1"))
        self.near(self.values(agg), truth(range(6)))

    def test_values_of_an_archived_aggregation_are_not_set(self):
        """They are in its fragments; its attributes, and variables of its own, are edited."""
        agg = self.aggregate(self.make("a.nc", 0, 3), self.make("b.nc", 3, 3))
        archive = self.dir / "agg.nc3z"
        self.ok(nc3z("archive", "-q", agg, "-o", archive))
        held = archive.read_bytes()
        for values in (("=1",), ("-d", "time,0", "=1"), ("--from", self.dir / "a.nc")):
            self.fails(nc3z("set", archive, "tas", *values), 1, "`tas` is a variable of an aggregation, whose values are in its fragments")
            self.assertEqual(archive.read_bytes(), held)
        self.ok(nc3z("set", archive, "lat", "-d", "lat,0", "=-45"))
        self.ok(nc3z("attr", archive, "tas:comment=set"))
        self.near(self.values(archive), truth(range(6)))
        self.assertEqual(self.values(archive, "lat")[0], -45)

    def test_a_fragment_that_cannot_be_reached_is_not_filled(self):
        (self.dir / "sub").mkdir()
        agg = self.aggregate(self.make("sub/a.nc", 0, 3), self.make("b.nc", 3, 3))
        self.dir.chmod(0o755)
        # Root may read everywhere.
        user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        (self.dir / "sub").chmod(0o700 if user else 0)
        self.addCleanup((self.dir / "sub").chmod, 0o700)
        try:
            done = nc3z("read", "--fill-missing", agg, "tas", **user)
        except PermissionError:
            missing(self, "another user may not run the tool here")
        self.fails(done, words="a.nc.*Permission denied")
        self.assertEqual(done.stdout, b"")

    def test_diff_takes_the_options_of_aggregations(self):
        (self.dir / "data").mkdir()
        (self.dir / "agg").mkdir()
        files = [self.make(f"data/m{n}.nc", 3 * n, 3) for n in range(2)]
        agg, whole = self.aggregate(*files, out="agg/agg.nc"), self.make("whole.nc", 0, 6)

        def differing(*options):
            done = nc3z("diff", "--json", *options, agg, whole)
            self.assertEqual(done.returncode, 1, done.stderr)
            return {v["name"]: (v["values"] or {}).get("differing", 0) for v in json.loads(done.stdout)["variables"]}

        self.fails(nc3z("diff", agg, whole), 2, "outside the directory.*--outside")
        self.assertEqual(differing("--outside")["tas"], 0)
        os.remove(files[1])
        self.fails(nc3z("diff", "--outside", agg, whole), 2, "m1.nc.*does not exist")
        self.assertEqual(differing("--outside", "--fill-missing")["tas"], 3 * 4 * 3)
        self.assertIn("fragment_uris", differing("--as-stored"))

    def test_few_files_are_open_at_a_time(self):
        """400 fragments by a process that may have 200 files open."""
        for n in range(400):
            self.make(f"m{n:03}.nc", n, 1)
        agg = self.aggregate(self.dir)
        out = self.dir / "values.npy"
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))  # noqa: E731
        self.ok(nc3z("read", agg, "tas", "--format", "npy", "-o", out, preexec_fn=limit))
        self.near(np.load(out), truth(range(400)), 1e-4)

    def test_hand_made_aggregations(self):
        """The cases of CF-1.13 that other readers stumble over."""
        self.fragments()
        here = f"file://{self.dir.resolve()}"
        cases = {
            "relative": ["a.nc", "b.nc", "c.nc"],
            "absolute": [f"{here}/a.nc", f"{here}/b.nc", f"{here}/c.nc"],
            "localhost": [f"file://localhost{self.dir.resolve()}/a.nc", "b.nc", "./c.nc"],
            "bare path": [f"{self.dir.resolve()}/a.nc", "b.nc", f"../{self.dir.name}/c.nc"],
            "blank": ["a.nc", "sub dir/b c.nc", "c.nc"],
            "percent": ["a.nc", "sub%20dir/b%20c.nc", "c.nc"],
        }
        for what, uris in cases.items():
            with self.subTest(what):
                self.near(self.values(self.hand_made(uris, [3, 4, 2])), truth(range(9)))
        self.near(self.values(self.hand_made(cases["blank"], [3, 4, 2], pad=b" ")), truth(range(9)))
        self.near(self.values(self.hand_made(cases["relative"], [3, 4, 2], ids="/tas")), truth(range(9)))
        for terms in ("uris: u identifiers: k map: m", "Map: m Uris: u Identifiers: k", "map: m\n uris: u  identifiers: k"):
            self.near(self.values(self.hand_made(cases["relative"], [3, 4, 2], terms=terms)), truth(range(9)))
        # A dimension of length 1 is missing in the last; one is packed.
        self.near(self.values(self.hand_made(["a.nc", "p.nc", "c.nc", "d.nc"], [3, 4, 2, 1])), truth(range(10)), 0.006)
        found = self.values(self.hand_made(None, [3, 4, 2], values=[1.5, np.nan, 3.5]))
        self.assertEqual(sorted(set(found.ravel())), [1.5, 3.5, np.float32(1e20)])
        self.assertTrue((found[3:7] == np.float32(1e20)).all() and (found[7:] == 3.5).all())

    def test_wrong_aggregations_are_refused(self):
        self.fragments()
        good = ["a.nc", "b.nc", "c.nc"]
        for words, options in (
            ("together 9 along .time., whose length is 10", {"length": 10}),
            ("c.nc.*length 2 along .time., its place in the aggregation 3", {"sizes": [3, 4, 3]}),
            ("etc/passwd.*outside", {"uris": ["../" * 20 + "etc/passwd"], "sizes": [3]}),
            ("outside", {"uris": ["/etc/passwd"], "sizes": [3]}),
            ("on a server, outside the directory", {"uris": ["s3://bucket/a.nc"], "sizes": [3]}),
            ("no variable .nope.", {"terms": "map: nope uris: u identifiers: k"}),
            ("neither .uris.", {"terms": "map: m identifiers: k uri: u"}),
            ("pr", {"ids": "pr"}),
            ("cannot convert", {"units": "kg"}),
            ("refers to itself", {"uris": ["hand.nc"], "sizes": [3]}),
            ("fragment of size 0|fragment of size -1", {"sizes": [3, -1, 2], "length": 4}),
        ):
            with self.subTest(words):
                options = {"uris": good, "sizes": [3, 4, 2], **options}
                path = self.hand_made(options.pop("uris"), options.pop("sizes"), **options)
                self.fails(nc3z("read", path, "tas"), words=words)

    def test_aggregations_of_aggregations_and_cycles(self):
        self.fragments()
        inner = self.hand_made(["a.nc", "b.nc"], [3, 4], name="inner.nc")
        self.assertTrue(inner.exists())
        outer = self.hand_made(["inner.nc", "c.nc"], [7, 2], name="outer.nc")
        self.near(self.values(outer), truth(range(9)))
        self.hand_made(["two.nc"], [3], name="one.nc")
        self.hand_made(["one.nc"], [3], name="two.nc")
        self.fails(nc3z("read", self.dir / "one.nc", "tas"), words="refers to itself|nested")

    def test_a_billion_partitions_are_an_error(self):
        cdl = """netcdf x { dimensions: n = 1000000000 ; variables: float v ; v:nca_dimensions = "n" ;
            v:nca_array = "{\\"pdimensions\\": [\\"n\\"], \\"pshape\\": [1000000000], \\"Partitions\\": []}" ; }"""
        (self.dir / "x.cdl").write_text(cdl)
        subprocess.run([need_program(self, "ncgen"), "-k", "classic", "-o", self.dir / "x.nc", self.dir / "x.cdl"], check=True)
        self.fails(nc3z("read", self.dir / "x.nc", "v"), words="1000000000.*more than")


class Conventions(Aggregation):
    """Files of other conventions and writers."""

    def test_nca_example_of_eleven_sub_arrays(self):
        agg = self.ncgen("nca")
        self.ncgen("other")
        expected = 250.0 + 10 * np.arange(8)[:, None] + np.arange(7)[None, :]
        self.near(self.values(agg), expected, 1e-9)
        info = json.loads(nc3z("info", "--json", agg).stdout)
        tas = next(v for v in info["variables"] if v["name"] == "tas")
        self.assertEqual((tas["fragments"], tas["convention"]), ([4, 6], "NCA-0.1"))
        self.near(self.values(agg, "tas", "-d", "y,,,-2", "-d", "x,1,6,2"), expected[::2][::-1, 1::2], 1e-9)
        self.assertNotIn("sub_A", nc3z("dump", "-h", agg).stdout.decode())

    def test_cfa_04_and_what_cf_python_writes(self):
        for name, fragments in (("cfa04", ("t1/a.nc", "t1/b2.nc")), ("cf_python", ("a.nc", "b2.nc"))):
            with self.subTest(name):
                (self.dir / "t1").mkdir(exist_ok=True)
                make(self.dir / fragments[0], 0, 3)
                make(self.dir / fragments[1], 3, 4)
                self.near(self.values(self.ncgen(name)), truth(range(7)))


class Collections(Aggregation):
    def test_a_bundle_is_read_in_place_and_by_unzip(self):
        data = self.dir / "data"
        data.mkdir()
        files = [make(data / f"m{n}.nc", 3 * n, 3) for n in range(3)]
        self.ok(nc3z("archive", *files))
        for f in files:
            os.remove(f)
        self.ok(nc3z("aggregate", data, "-o", data / "agg.nc"))
        bundle = self.dir / "set.bundle.nc3z"
        self.ok(nc3z("bundle", data, "-o", bundle))
        self.assertIn((data / "m1.nc.nc3z").read_bytes(), bundle.read_bytes())
        self.ok(nc3z("bundle", data, "-o", self.dir / "set.zip", "--zip"))
        with zipfile.ZipFile(self.dir / "set.zip") as z:
            self.assertIsNone(z.testzip())
            self.assertEqual(z.namelist(), ["agg.nc", "m0.nc.nc3z", "m1.nc.nc3z", "m2.nc.nc3z"])
            self.assertEqual(z.read("m1.nc.nc3z"), (data / "m1.nc.nc3z").read_bytes())
        shutil.rmtree(data)
        self.near(self.values(f"{bundle}!/m1.nc.nc3z"), truth(range(3, 6)))
        self.near(self.values(f"{bundle}!/agg.nc"), truth(range(9)))
        self.ok(nc3z("subset", f"{bundle}!/m0.nc.nc3z", "-d", "time,1", "-o", self.dir / "one.nc"))
        self.assertIn("nc3z archive", self.ok(nc3z("info", f"{bundle}!/m0.nc.nc3z")).stdout.decode())
        self.fails(nc3z("read", f"{bundle}!/none.nc", "tas"), words="no member .none.nc.; it has agg.nc")
        listed = json.loads(self.ok(nc3z("list", "--json", bundle)).stdout)
        self.assertEqual([e["kind"] for e in listed], ["aggregation", "archive", "archive", "archive"])
        self.assertEqual(listed[2]["time"], ["2001-01-04", "2001-01-06"])
        # Any uncompressed zip, and a tar; a compressed one is refused.
        with zipfile.ZipFile(self.dir / "set.zip") as z:
            z.extractall(self.dir / "out")
        self.near(self.values(f"{self.dir / 'set.zip'}!/agg.nc"), truth(range(9)))
        plain = shutil.make_archive(str(self.dir / "plain"), "tar", self.dir / "out")
        self.near(self.values(f"{plain}!/m2.nc.nc3z"), truth(range(6, 9)))
        self.near(self.values(f"{plain}!/agg.nc"), truth(range(9)))
        for method, name in ((zipfile.ZIP_STORED, "stored.zip"), (zipfile.ZIP_DEFLATED, "deflated.zip")):
            with zipfile.ZipFile(self.dir / name, "w", method) as z:
                z.write(self.dir / "out/m2.nc.nc3z", "m2.nc.nc3z")
                z.writestr("pad.txt", "x" * 10000)
        self.near(self.values(f"{self.dir / 'stored.zip'}!/m2.nc.nc3z"), truth(range(6, 9)))
        self.fails(nc3z("read", f"{self.dir / 'deflated.zip'}!/m2.nc.nc3z", "tas"), words="compressed.*zip -0")

    def test_the_same_values_over_http(self):
        """Plain, in a bundle, and each from a server: an aggregation finds its fragments in its own directory."""
        data = self.dir / "data"
        data.mkdir()
        files = [make(data / f"m{n}.nc", 3 * n, 3) for n in range(3)]
        self.ok(nc3z("archive", files[1]))
        os.remove(files[1])
        self.ok(nc3z("aggregate", data, "-o", data / "agg.nc"))
        self.ok(nc3z("bundle", data, "-o", self.dir / "set.bundle.nc3z"))
        # One that leads to another directory of the same server.
        with netCDF4.Dataset(data / "agg.nc") as d:
            self.assertEqual(netCDF4.chartostring(d["fragment_uris"][:]).ravel().tolist(), ["m0.nc", "m1.nc.nc3z", "m2.nc"])
        served = {f"sub/{p.name}": p.read_bytes() for p in data.iterdir()}
        served["set.bundle.nc3z"] = (self.dir / "set.bundle.nc3z").read_bytes()
        served["agg.nc"] = served["sub/agg.nc"].replace(b"m1.nc.nc3z", b"../m1.nc\0\0")
        with serve(served) as server:
            for name in ("sub/agg.nc", "set.bundle.nc3z!/agg.nc"):
                server.asked.clear()
                self.near(self.values(server.url(name), "tas"), truth(range(9)))
                server.asked.clear()
                self.near(self.values(server.url(name), "tas", "-d", "time,4"), truth([4]))
                # Fragments outside the selection are not requested.
                self.assertFalse([path for path, _, _ in server.asked if path in ("/sub/m0.nc", "/sub/m2.nc")])
            self.near(self.values(server.url("set.bundle.nc3z!/m1.nc.nc3z"), "tas"), truth(range(3, 6)))
            self.fails(nc3z("read", server.url("agg.nc"), "tas", "-d", "time,4"), words="outside the server's tree|outside the directory")

    def test_a_fragment_that_a_server_lacks_is_filled(self):
        with serve({"a.nc": self.make("a.nc", 0, 3).read_bytes()}) as server:
            agg = self.hand_made([server.url("a.nc"), server.url("none.nc")], [3, 3])
            self.fails(nc3z("read", "--outside", agg, "tas"), words="none.nc.*404")
            found = self.values(agg, "tas", "--outside", "--fill-missing")
            self.near(found[:3], truth(range(3)))
            self.assertTrue((found[3:] == np.float32(1e20)).all())
        for fault in ("forbidden", "busy"):
            with serve({"a.nc": (self.dir / "a.nc").read_bytes()}, fault, every=1, after=0) as server:
                agg = self.hand_made([server.url("a.nc")], [3])
                self.fails(nc3z("read", "--outside", "--fill-missing", agg, "tas"), words=r"refuses access \(403|answers 503")

    def test_a_directory_is_listed(self):
        for n in range(2):
            self.make(f"m{n}.nc", 3 * n, 3)
        self.ok(nc3z("archive", self.dir / "m0.nc"))
        (self.dir / "bad.nc").write_bytes(b"CDF\x01 and no more")
        done = nc3z("list", self.dir)
        self.assertEqual(done.returncode, 1, done.stderr)
        lines = done.stdout.decode().splitlines()
        # The table, then the reasons of files that cannot be listed.
        self.assertEqual(len(lines), 7)
        self.assertRegex(lines[1], "bad.nc +error")
        self.assertRegex(lines[6], "bad.nc.*(truncated|corrupt)")
        ranges = r"2001-01-01 to 2001-01-03 +lat -30..30 degrees_north, lon 0..20 degrees_east"
        self.assertRegex(lines[2], r"m0.nc +classic.* tas +time=3 lat=4 lon=3 +" + ranges + " +ok")
        self.assertRegex(lines[3], r"m0.nc.nc3z +archive.* tas +time=3 lat=4 lon=3 +" + ranges + " +ok")

    def test_ranges_of_coordinates_are_listed_and_nothing_else_is_read(self):
        """Of a directory, a bundle and an aggregation. The data of each archive is damaged."""
        data = self.dir / "data"
        data.mkdir()
        lat = tuple(np.linspace(-89.5, 89.5, 180))
        for n in range(3):
            make(data / f"m{n}.nc", 30 * n, 30, lat=lat, tunits="hours since 2001-01-01" if n == 1 else "days since 2001-01-01")
            with netCDF4.Dataset(data / f"m{n}.nc", "a") as d:
                d["tas"][:] += np.random.default_rng(n).random(d["tas"].shape)
                d.createDimension("level", 2)
                level = d.createVariable("level", "f4", ("level",))
                level.units, level[:] = "hPa", [1000.5, 0.1]
                d.createDimension("name", 2)
                d.createVariable("name", "S1", ("name",))[:] = np.array([b"a", b"b"])
                d.createDimension("none", None)
                d.createVariable("none", "f8", ("none",))
        self.ok(nc3z("archive", *sorted(data.glob("*.nc"))))
        for path in data.glob("*.nc"):
            path.unlink()
        self.ok(nc3z("aggregate", data / "m0.nc.nc3z", data / "m2.nc.nc3z", "-o", data / "agg.nc"))
        for path in data.glob("*.nc3z"):
            raw = bytearray(path.read_bytes())
            middle = len(raw) // 2
            raw[middle : middle + 64] = bytes(b ^ 0xFF for b in raw[middle : middle + 64])
            path.write_bytes(raw)
            self.assertNotEqual(nc3z("read", path, "tas", "-o", os.devnull, "-f").returncode, 0)
        self.ok(nc3z("bundle", data, "-o", self.dir / "set.bundle.nc3z"))
        expected = [("lat", "degrees_north", -89.5, 89.5, None), ("level", "hPa", 1000.5, 0.1, None), ("lon", "degrees_east", 0, 20, None)]
        days = {"agg.nc": ("days", 0, 89, "2001-01-01", "2001-03-31"), "m0": ("days", 0, 29, "2001-01-01", "2001-01-30"),
                "m1": ("hours", 30, 59, "2001-01-02 06:00:00", "2001-01-03 11:00:00"), "m2": ("days", 60, 89, "2001-03-02", "2001-03-31")}
        for place in (data, self.dir / "set.bundle.nc3z", data / "agg.nc"):
            with self.subTest(place.name):
                listed = json.loads(self.ok(nc3z("list", "--json", place)).stdout)
                names = [Path(e["name"]).name.removesuffix(".nc.nc3z") for e in listed]
                self.assertEqual(names, ["agg.nc", "m0", "m2"] if place.name == "agg.nc" else ["agg.nc", "m0", "m1", "m2"])
                for name, e in zip(names, listed):
                    units, first, last, *dates = days[name]
                    found = {(c["name"], c["units"], c["first"], c["last"], tuple(c["dates"] or ()) or None) for c in e["coordinates"]}
                    # No array of the aggregation has a level.
                    others = [e for e in expected if (name, e[0]) != ("agg.nc", "level")]
                    self.assertEqual(found, {*others, ("time", f"{units} since 2001-01-01", first, last, tuple(dates))}, name)
                    self.assertEqual(e["time"], dates)
                    self.assertIn("tas", e["variables"])
                    self.assertGreater(e["bytes"], 0)

    def test_quoted_patterns(self):
        data = self.dir / "data"
        (data / "y1").mkdir(parents=True)
        (data / "y2/deep").mkdir(parents=True)
        for n, place in enumerate(("y1", "y1", "y2", "y2/deep")):
            make(data / place / f"m{n}.nc", 3 * n, 3)
        (data / "y1/notes.txt").write_text("no netCDF")
        (data / "y1/round").symlink_to(".")
        agg = self.dir / "agg.nc"
        for pattern, days in (("y1/*.nc", 6), ("y?/m[12].nc", (3, 9)), ("**/*.nc", 12), ("**", 12), ("y[!3]", 12), ("y2/**/m3.nc", (9, 12))):
            with self.subTest(pattern):
                self.ok(nc3z("aggregate", data / pattern, "-o", agg, "-f"))
                first, end = days if isinstance(days, tuple) else (0, days)
                self.near(self.values(agg), truth(range(first, end)))
        # From the directory itself, and with the output among what fits.
        self.ok(nc3z("aggregate", "**/*.nc", "-o", "all.nc", cwd=data))
        self.ok(nc3z("aggregate", "**/*.nc", "-o", "all.nc", "-f", cwd=data))
        self.near(self.values(data / "all.nc"), truth(range(12)))
        (data / "all.nc").unlink()
        # A name is a name, whatever is in it.
        make(data / "m[12].nc", 0, 1)
        self.ok(nc3z("aggregate", data / "m[12].nc", "-o", agg, "-f"))
        self.near(self.values(agg), truth(range(1)))
        (data / "m[12].nc").unlink()
        # In a bundle, names are kept from the first wildcard on.
        self.ok(nc3z("bundle", data / "**/*.nc", "-o", self.dir / "set.bundle.nc3z"))
        names = [entry["name"] for entry in json.loads(self.ok(nc3z("list", "--json", self.dir / "set.bundle.nc3z")).stdout)]
        self.assertEqual(names, ["y1/m0.nc", "y1/m1.nc", "y2/deep/m3.nc", "y2/m2.nc"])
        listed = json.loads(self.ok(nc3z("list", "--json", data / "y2/**/*.nc")).stdout)
        self.assertEqual([Path(e["name"]).name for e in listed], ["m3.nc", "m2.nc"])
        for command in (("aggregate", "-o", self.dir / "no.nc"), ("bundle", "-o", self.dir / "no.bundle.nc3z"), ("list",)):
            self.fails(nc3z(*command, data / "*.cdf"), words=r"no file matches the pattern .*\*\.cdf")
            self.fails(nc3z(*command, data / "x[.nc"), words="pattern .*x.*wrong")
        self.assertEqual(self.names(), ["agg.nc", "data", "set.bundle.nc3z", "values.npy"])


if __name__ == "__main__":
    unittest.main()

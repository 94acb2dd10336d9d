"""subset writes classic files that hold what numpy slices of the original, and that other programs accept."""

import os
import random
import re
import subprocess
import time
import unittest
from pathlib import Path

import netCDF4
import numpy as np

from common import CLASSIC, NC3Z, NIGHT, Case, good_files, nc3z, need_program, peak_memory

DATA = os.environ.get("NC3Z_DATA_DIR")
NAMING = ("coordinates", "bounds", "climatology", "grid_mapping", "cell_measures", "ancillary_variables", "formula_terms")
# Files that netCDF4-python or libnetcdf does not open: out of order, overlapping, streaming, cut short, two record dimensions.
NOT_READ = {"fixed_reverse_order.nc", "overlapping.nc", "streaming.nc", "streaming_partial.nc", "truncated_fixed.nc",
            "truncated_in_element.nc", "numrecs_beyond_end.nc", "two_unlimited.nc"}


def opened(path):
    data = netCDF4.Dataset(path)
    data.set_auto_maskandscale(False)
    data.set_auto_chartostring(False)
    return data


def related(data, names):
    """The variables and their related variables, by an independent reading of the rule."""
    found, todo = [], list(names)
    while todo:
        name = todo.pop()
        if name in found or name not in data.variables:
            continue
        found.append(name)
        v = data.variables[name]
        todo += [d for d in v.dimensions if d in data.variables and d in data.variables[d].dimensions]
        for attribute in NAMING:
            text = getattr(v, attribute, "")
            if isinstance(text, str):
                words = text.replace("\0", " ").split()
                todo += [w.rstrip(":") for w in words if attribute == "grid_mapping" or not w.endswith(":")]
    return set(found)


def attributes(thing):
    return {n: np.asarray(thing.getncattr(n)) for n in thing.ncattrs()}


class Names(Case):
    def test_variables_follow_the_file(self):
        path = CLASSIC / "record_padding.nc"
        names = [str(n) for n in list(opened(path).variables)[:2]]
        self.ok(nc3z("subset", path, "-v", ",".join(names), "--no-history", "-o", self.dir / "a.nc"))
        self.ok(nc3z("subset", path, *names, "--no-history", "-o", self.dir / "b.nc"))
        self.ok(nc3z("subset", path, names[0], "-v", names[1], "--no-history", "-o", self.dir / "c.nc"))
        self.assertEqual((self.dir / "a.nc").read_bytes(), (self.dir / "b.nc").read_bytes())
        self.assertEqual((self.dir / "a.nc").read_bytes(), (self.dir / "c.nc").read_bytes())
        self.fails(nc3z("subset", path, "nothing", "-o", self.dir / "d.nc"), 1, "no variable `nothing`")


class Subset(Case):
    def setUp(self):
        super().setUp()
        self.validator = need_program(self, "ncvalidator")

    def archive(self, path, *options):
        archive = self.dir / (path.name + ".nc3z")
        self.ok(nc3z("archive", "--force", "--preset", "fast", *options, path, "-o", archive))
        return archive

    def subset(self, file, *args, out="out.nc"):
        out = self.dir / out
        self.ok(nc3z("subset", file, *args, "--force", "-o", out))
        self.valid(out)
        return out

    def valid(self, path):
        done = subprocess.run([self.validator, "-q", str(path)], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def same_attributes(self, new, old, but=()):
        new, old = attributes(new), attributes(old)
        self.assertEqual([n for n in new if n not in but], [n for n in old if n not in but])
        for name in (n for n in new if n not in but):
            self.assertEqual(new[name].dtype.kind, old[name].dtype.kind, name)
            np.testing.assert_array_equal(new[name], old[name], name)

    def check(self, old_path, new_path, names, slices, kept=None):
        """The new file is the old one's variables `names`, sliced."""
        with opened(old_path) as old, opened(new_path) as new:
            self.assertEqual(set(new.variables), set(names))
            order = [n for n in old.variables if n in names]
            self.assertEqual(list(new.variables), order)
            used = {d for n in names for d in old.variables[n].dimensions} if kept is None else kept
            self.assertEqual(list(new.dimensions), [d for d in old.dimensions if d in used])
            for d in used:
                length = len(range(len(old.dimensions[d]))[slices.get(d, slice(None))])
                self.assertEqual(len(new.dimensions[d]), length, d)
                self.assertEqual(new.dimensions[d].isunlimited(), old.dimensions[d].isunlimited(), d)
            self.same_attributes(new, old, {"history"})
            for n in order:
                a, b = new.variables[n], old.variables[n]
                self.assertEqual((a.dtype, a.dimensions), (b.dtype, b.dimensions), n)
                self.same_attributes(a, b)
                expected = np.asarray(b[...]).reshape(b.shape)[tuple(slices.get(d, slice(None)) for d in b.dimensions)]
                self.assertEqual(np.asarray(a[...]).tobytes(), np.ascontiguousarray(expected).tobytes(), n)
            self.assertEqual(new.data_model, old.data_model)


class Files(Subset):
    def files(self):
        return self.need([p for p in good_files() if p.name not in NOT_READ], "test files")

    def test_everything(self):
        """Without a selection: all of it, dimensions without variables too."""
        for path in self.files():
            with self.subTest(path.name):
                for file in (path, self.archive(path)):
                    out = self.subset(file)
                    with opened(path) as old:
                        self.check(path, out, list(old.variables), {}, set(old.dimensions))

    def test_random_selections(self):
        rng = random.Random(4)
        for path in self.files():
            archive = self.archive(path)
            with opened(path) as old:
                names, lengths = list(old.variables), {d: len(v) for d, v in old.dimensions.items() if len(v)}
            for _ in range(6):
                if not names:
                    break
                chosen = rng.sample(names, rng.randint(1, min(3, len(names))))
                if not all(re.fullmatch(r"\w+", n) for n in chosen):
                    continue
                bare = rng.random() < 0.5
                with opened(path) as old:
                    expected = set(chosen) if bare else related(old, chosen)
                    used = sorted({d for n in expected for d in old.variables[n].dimensions if d in lengths})
                slices, args = {}, ["-C"] if bare else []
                for d in rng.sample(used, rng.randint(0, len(used))):
                    first = rng.randrange(lengths[d])
                    last = rng.randrange(first, lengths[d])
                    step = rng.choice((1, 1, 2, 3, 7))
                    slices[d] = slice(first, last + 1, step)
                    args += ["-d", f"{d},{first},{last},{step}"]
                with self.subTest(file=path.name, variables=chosen, args=args):
                    out = self.subset(rng.choice((path, archive)), "-v", ",".join(chosen), *args)
                    self.check(path, out, expected, slices)

    @unittest.skipUnless(DATA, "NC3Z_DATA_DIR is not set: no subsets of its files are taken")
    def test_data_directory(self):
        paths = sorted(p for p in Path(DATA).rglob("*") if p.suffix in (".nc", ".cdf") and p.read_bytes()[:3] == b"CDF")
        for path in self.need(paths, f"files of {DATA}"):
            with self.subTest(path.name):
                archive = self.archive(path)
                with opened(path) as old:
                    names, dims = list(old.variables), set(old.dimensions)
                    last = related(old, names[-1:])
                self.check(path, self.subset(archive), names, {}, dims)
                if names and names[-1].isidentifier():
                    self.check(path, self.subset(archive, "-v", names[-1]), last, {})
                archive.unlink()

    def test_same_as_nco(self):
        """ncks: the same variables, dimensions and values."""
        ncks = need_program(self, "ncks")
        path = CLASSIC / "coads_climatology.cdf"
        for n, args in enumerate((["-v", "SST"], ["-v", "SST,AIRT", "-d", "TIME,2,5"], ["-C", "-v", "SST", "-d", "TIME,0,11,3"],
                                  ["-v", "SST", "-d", "COADSX,100.0,160.0", "-d", "COADSY,-10.0,10.0"], ["-d", "COADSX,0,20,5"])):
            with self.subTest(args=args):
                reference = self.dir / f"nco{n}.nc"
                subprocess.run([ncks, "-O", "-h", *args, str(path), str(reference)], check=True, capture_output=True)
                out = self.subset(path, *args, "--no-history")
                with opened(reference) as a, opened(out) as b:
                    self.assertEqual(set(a.variables), set(b.variables))
                    self.assertEqual({d: len(v) for d, v in a.dimensions.items()}, {d: len(v) for d, v in b.dimensions.items()})
                    for name in a.variables:
                        self.assertEqual(np.asarray(a[name][...]).tobytes(), np.asarray(b[name][...]).tobytes(), name)
                        self.same_attributes(b[name], a[name])


class Made(Subset):
    def make(self, name="made.nc", kind="NETCDF3_CLASSIC", records=7):
        """A file with everything that belongs to a variable, and records of several odd sizes."""
        rng = np.random.default_rng(5)
        path = self.dir / name
        with netCDF4.Dataset(path, "w", format=kind) as n:
            for d, length in (("time", None), ("lat", 9), ("lon", 12), ("bnds", 2), ("len", 3), ("unused", 4)):
                n.createDimension(d, length)
            n.setncatts({"title": "made", "history": "first line"})

            def variable(name, ty, dims, **atts):
                v = n.createVariable(name, ty, dims)
                v.setncatts(atts)
                shape = tuple(records if d == "time" else len(n.dimensions[d]) for d in dims)
                v[...] = rng.integers(1, 100, shape).astype("S1" if ty == "S1" else ty)
                return v

            variable("flag", "i1", ("time", "len"))
            variable("tas", "f4", ("time", "lat", "lon"), coordinates="height station", cell_measures="area: areacella", grid_mapping="crs")
            variable("time", "f8", ("time",), bounds="time_bnds")[...] = np.arange(records) * 1.5
            variable("time_bnds", "f8", ("time", "bnds"))
            variable("lat", "f4", ("lat",))[...] = np.linspace(80, -80, 9)
            variable("lon", "f8", ("lon",))[...] = np.arange(12) * 30.0
            variable("height", "f4", ())
            variable("station", "S1", ("lat", "len"))
            variable("areacella", "i2", ("lat", "lon"))
            variable("crs", "i4", ())
            variable("odd", "i1", ("len",), _FillValue=np.int8(5))
            variable("count", "i2", ("time",))
            variable("alone", "i1", ("time", "len"))
        return path

    def test_coordinates_come_along(self):
        for kind in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"):
            path = self.make(kind=kind)
            for file in (path, self.archive(path)):
                out = self.subset(file, "-v", "tas")
                names = {"tas", "time", "time_bnds", "lat", "lon", "height", "station", "areacella", "crs"}
                self.check(path, out, names, {})
                self.check(path, self.subset(file, "-v", "tas,lat", "-C"), {"tas", "lat"}, {})
                self.check(path, self.subset(file, "-v", "alone", "-C"), {"alone"}, {})
                self.check(path, self.subset(file, "-v", "alone,count", "-C", "-d", "time,1,5,2"), {"alone", "count"}, {"time": slice(1, 6, 2)})

    def test_chunked_archives(self):
        path = self.make(records=50)
        names = {"tas", "time", "time_bnds", "lat", "lon", "height", "station", "areacella", "crs"}
        for options in (["--layout", "series"], ["--tile", "time=7,lat=4,lon=5"], ["--tile", "time=7,lat=4,lon=5", "--edge", "pad"]):
            out = self.subset(self.archive(path, *options), "-v", "tas", "-d", "time,3,40,3", "-d", "lon,2,9")
            self.check(path, out, names, {"time": slice(3, 41, 3), "lon": slice(2, 10)})

    def test_coordinate_values(self):
        path = self.make()
        out = self.subset(path, "-v", "tas", "-d", "lat,-25.0,45.0", "-d", "lon,60.,120.", "-d", "time,3.0,6.0")
        self.check(path, out, {"tas", "time", "time_bnds", "lat", "lon", "height", "station", "areacella", "crs"},
                   {"lat": slice(2, 6), "lon": slice(2, 5), "time": slice(2, 5)})

    def test_wrapped_longitudes(self):
        path = self.make()
        out = self.subset(path, "-v", "tas", "-d", "lon,300.0,60.0")
        with opened(path) as old, opened(out) as new:
            order = [10, 11, 0, 1, 2]
            np.testing.assert_array_equal(new["lon"][...], old["lon"][...][order])
            np.testing.assert_array_equal(new["tas"][...], old["tas"][...][..., order])
            np.testing.assert_array_equal(new["areacella"][...], old["areacella"][...][..., order])

    def test_backwards(self):
        path = self.make()
        out = self.subset(path, "-v", "tas", "-C", "-d", "lat,,,-1", "-d", "time,,,-2")
        with opened(path) as old, opened(out) as new:
            np.testing.assert_array_equal(new["tas"][...], old["tas"][...][::-2, ::-1])

    def test_history(self):
        path = self.make()
        env = {**os.environ, "SOURCE_DATE_EPOCH": "1795247999"}
        out = self.dir / "a b.nc"
        self.ok(nc3z("subset", path, "-v", "crs", "-o", out, env=env))
        with opened(out) as n:
            lines = n.history.split("\n")
        self.assertEqual(lines[0], "first line")
        self.assertRegex(lines[1], rf"^2026-11-21T07:59:59Z nc3z [0-9.]+: nc3z subset {path} -v crs -o '{out}'$")
        self.assertEqual(len(lines), 2)
        self.check(path, self.subset(path, "-v", "crs", "--no-history"), {"crs"}, {})
        with opened(self.dir / "out.nc") as n:
            self.assertEqual(n.history, "first line")

    def test_kinds(self):
        path = self.make()
        for kind, model in (("cdf1", "NETCDF3_CLASSIC"), ("cdf2", "NETCDF3_64BIT_OFFSET"), ("cdf5", "NETCDF3_64BIT_DATA")):
            with opened(self.subset(path, "--kind", kind)) as n:
                self.assertEqual(n.data_model, model)
        unsigned = self.dir / "unsigned.nc"
        with netCDF4.Dataset(unsigned, "w", format="NETCDF3_64BIT_DATA") as n:
            n.createDimension("x", 2)
            n.createVariable("u", "u4", ("x",))[:] = [1, 2]
            n.createVariable("i", "i4", ("x",))[:] = [3, 4]
        self.fails(nc3z("subset", unsigned, "--kind", "cdf2", "-o", self.dir / "no.nc"), 1, "cannot be written as CDF-2.*type uint")
        self.assertFalse((self.dir / "no.nc").exists())
        with opened(self.subset(unsigned, "-v", "i", "--kind", "cdf1")) as n:
            np.testing.assert_array_equal(n["i"][:], [3, 4])

    def test_no_records(self):
        path = self.make(records=0)
        self.check(path, self.subset(path, "-v", "tas,count"), {"tas", "time", "time_bnds", "lat", "lon", "height", "station", "areacella", "crs", "count"}, {})

    def test_atomic(self):
        path = self.make()
        (self.dir / "there.nc").write_text("mine")
        self.fails(nc3z("subset", path, "-o", self.dir / "there.nc"), 1, "there.nc.*exists.*--force")
        self.assertEqual((self.dir / "there.nc").read_text(), "mine")
        self.fails(nc3z("subset", path, "--force", "-o", path), 1, "same file")
        self.subset(path, out="there.nc")
        self.assertEqual(self.names(), ["made.nc", "there.nc"])
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual((self.dir / "there.nc").stat().st_mode & 0o777, 0o666 & ~mask)

    def test_refused(self):
        path = self.make()
        for args, words in (
            (["-v", "none"], "no variable `none`; there are flag, tas"),
            (["-d", "none,1"], "no dimension `none`; there are time, lat"),
            (["-d", "lat,9"], "dimension `lat` has length 9, asked for index 9"),
            (["-d", "lat,0,9"], "dimension `lat` has length 9"),
            (["-d", "bnds,0.5"], "`bnds` has no coordinate variable"),
            (["-d", "lat,1", "-d", "lat,2"], "`lat` is given twice"),
            (["-v", "crs", "-d", "lat,1"], "no selected variable has the dimension `lat`"),
        ):
            with self.subTest(args=args):
                self.fails(nc3z("subset", path, *args, "-o", self.dir / "no.nc"), 1, words)
                self.assertEqual(self.names(), ["made.nc"])
        for args in (["-d", "lat"], ["-d", "lat,x"], ["-d", "lat,1,2,0"], ["--kind", "cdf3"]):
            self.assertEqual(nc3z("subset", path, *args, "-o", self.dir / "no.nc").returncode, 2, args)
        self.assertEqual(nc3z("subset", path).returncode, 2)

    def test_file_cut_short(self):
        self.fails(nc3z("subset", CLASSIC / "truncated_fixed.nc", "-o", self.dir / "no.nc"), 1, 'variable "a".*the classic file is incomplete')
        self.assertEqual(self.names(), [])

    def test_memory_is_bounded(self):
        """Records and fixed variables larger than the memory limit."""
        path = self.dir / "big.nc"
        # A fixed variable of 1.6 GB by night, and of 480 MB by day, in planes of 40 MB and of 20.
        x, z, most = (10000, 40, 256 << 20) if NIGHT else (5000, 24, 160 << 20)
        with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as n:
            for d, length in (("t", None), ("y", 1000), ("x", x), ("z", z)):
                n.createDimension(d, length)
            n.set_fill_off()
            rows = np.arange(x, dtype="f4")
            big, small = n.createVariable("big", "f4", ("t", "y", "x")), n.createVariable("small", "i2", ("t",))
            fixed = n.createVariable("fixed", "f4", ("z", "y", "x"))
            for t in range(4):
                big[t] = rows + np.arange(1000, dtype="f4")[:, None] * (t + 1)
                small[t] = t
            for at in range(0, z, 4):
                fixed[at:at + 4] = rows + np.arange(4, dtype="f4")[:, None, None] + np.zeros((1000, 1), "f4")
        out = self.dir / "out.nc"
        process = subprocess.Popen([NC3Z, "subset", str(path), "-d", f"x,0,{x - 2}", "-o", str(out)], stderr=subprocess.PIPE)
        memory = 0
        while process.poll() is None:
            memory = max(memory, peak_memory(process.pid))
            time.sleep(0.002)
        self.assertEqual(process.returncode, 0, process.stderr.read())
        process.stderr.close()
        self.assertTrue(0 < memory < most, memory)
        self.valid(out)
        with opened(path) as old, opened(out) as new:
            for t in range(4):
                np.testing.assert_array_equal(new["big"][t], old["big"][t, :, :x - 1])
            np.testing.assert_array_equal(new["small"][:], old["small"][:])
            for at in range(0, z, 10):
                np.testing.assert_array_equal(new["fixed"][at], old["fixed"][at, :, :x - 1])


if __name__ == "__main__":
    unittest.main()

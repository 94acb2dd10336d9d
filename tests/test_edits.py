"""Edits without the file: `att`, `set`, `append`, `rename`, `gc`. The results equal those of netCDF4 and NCO for the same edits, in canonical form, and every earlier
version comes back to the byte."""

import json
import os
import random
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from common import CLASSIC, NC3Z, Case, damaged, good_files, missing, nc3z, need_program, sha256, start

try:
    import netCDF4
    import numpy as np
except ImportError as e:
    netCDF4 = None
    ABSENT = e.name

KILLS = int(os.environ.get("NC3Z_KILLS", "10"))
ROUNDS = int(os.environ.get("NC3Z_EDIT_ROUNDS", "25"))


def raw(path):
    """Everything that the library says of a classic file."""
    with netCDF4.Dataset(path) as d:
        d.set_auto_maskandscale(False)
        def attributes(x):
            return [(a, getattr(x.getncattr(a), "dtype", type(x.getncattr(a))), np.asarray(x.getncattr(a)).tobytes()) for a in x.ncattrs()]
        return {
            "kind": d.data_model,
            "dimensions": [(n, len(x), x.isunlimited()) for n, x in d.dimensions.items()],
            "attributes": attributes(d),
            "variables": [(n, v.dtype, v.dimensions, attributes(v), v[...].tobytes()) for n, v in d.variables.items()],
        }


def make(path, kind="NETCDF3_64BIT_OFFSET", records=5):
    """A file with every type that the kind has."""
    types = ["i1", "S1", "i2", "i4", "f4", "f8"] + (["u1", "u2", "u4", "i8", "u8"] if kind == "NETCDF3_64BIT_DATA" else [])
    with netCDF4.Dataset(path, "w", format=kind) as d:
        d.title = "edits"
        d.createDimension("time", None)
        d.createDimension("y", 7)
        d.createDimension("x", 5)
        for n, t in enumerate(types):
            for name, dims in ((f"fixed_{t}", ("y", "x")), (f"rec_{t}", ("time", "x")), (f"cube_{t}", ("time", "y", "x"))):
                v = d.createVariable(name, t, dims)
                v.units = f"unit {n}"
                rng = np.random.default_rng(n)
                shape = [records if k == "time" else len(d.dimensions[k]) for k in dims]
                v[...] = rng.integers(0, 100, shape).astype(t) if t != "S1" else rng.choice([b"a", b"b"], shape)
        d.createVariable("scalar", "f8", ())[...] = 3.5


class Edits(Case):
    def setUp(self):
        super().setUp()
        if netCDF4 is None:
            missing(self, f"the oracle needs {ABSENT}")

    def archived(self, file, *options, name="a.nc3z"):
        archive = self.dir / name
        self.ok(nc3z("archive", file, "-o", archive, *options))
        return archive

    def restored(self, archive, version=None):
        out = self.dir / "restored.nc"
        named = archive if version is None else f"{archive}@{version}"
        self.ok(nc3z("restore", "--force", named, "-o", out))
        return out

    def is_canonical(self, file):
        """As nccopy lays it out: the same header, and, where no variable is padded, the same bytes."""
        again = self.dir / "again.nc"
        subprocess.run(["nccopy", file, again], check=True)
        a, b = file.read_bytes(), again.read_bytes()
        # Behind the last value of a file with a long header it leaves zeros that belong to nothing.
        self.assertEqual(b[len(a):].strip(b"\0"), b"")
        self.assertLessEqual(len(a), len(b))
        differ = [n for n in range(len(a)) if a[n] != b[n]]
        # Padding of at most three bytes behind values of one or two, which nccopy leaves to chance.
        with netCDF4.Dataset(file) as d:
            padded = any(v.dtype.itemsize < 4 for v in d.variables.values())
        if not padded:
            self.assertEqual(differ, [])
        self.assertEqual(raw(file), raw(again))

    def newest(self, archive):
        return json.loads(self.ok(nc3z("log", "-n", 1, "--json", archive)).stdout)["versions"][0]

    def same_as(self, archive, file):
        out = self.restored(archive)
        self.assertEqual(raw(out), raw(file))
        self.is_canonical(out)
        self.assertEqual(self.newest(archive)["sha256"], sha256(out))
        return out

    def test_attributes_as_ncatted_sets_them(self):
        need_program(self, "ncatted")
        need_program(self, "nccopy")
        edits = [
            "units,cube_f4,o,c,degC", "units,cube_f4,a,c, more", "units,cube_i2,p,c,less ", "units,cube_i4,m,c,K", "nothing,cube_i4,m,c,K", "new,fixed_i1,c,s,1,2,-3",
            "units,fixed_i1,c,c,not this", "units,rec_f8,d,,", "title,global,o,c,A title that is longer than the one before", "number,global,c,d,1.5", "units,,o,c,all of them",
            "_FillValue,cube_f4,o,f,-999", "history,global,c,c,line one\\nline two", "bytes,global,o,b,1,-2,3", "title,global,d,,", "missing_value,cube_i4,o,l,-1", "x,global,n,c,y",
        ]
        file = self.dir / "a.nc"
        make(file)
        archive = self.archived(file)
        first = sha256(file)
        for n, edit in enumerate(edits, 2):
            subprocess.run(["ncatted", "-O", "-h", "-a", edit, file], check=True)
            self.ok(nc3z("attr", archive, "-a", edit, "-m", edit))
            # An edit without a change makes no version.
            with self.subTest(edit=edit):
                self.same_as(archive, file)
        self.assertEqual(sha256(self.restored(archive, 1)), first)
        self.ok(nc3z("verify", "--deep", archive))

    def test_plain_attributes(self):
        file = self.dir / "a.nc"
        make(file)
        archive = self.archived(file)
        self.ok(nc3z("attr", archive, "cube_f4:units=K", ":title=Monthly means", "cube_i2:missing_value=-9", "cube_f4:valid_range=0,400", "fixed_f4:a=1", "fixed_f4:b=1,2.5", "fixed_f4:c=3s",
                     'fixed_f4:d="12"', "fixed_f4:e=nan", "--delete", "rec_f8:units", "-m", "plain"))
        with netCDF4.Dataset(file, "r+") as d:
            d["cube_f4"].units = "K"
            d.title = "Monthly means"
            d["cube_i2"].missing_value = np.int16(-9)
            d["cube_f4"].valid_range = np.array([0, 400], "f4")
            for name, value in (("a", np.int32(1)), ("b", np.array([1, 2.5])), ("c", np.int16(3)), ("d", "12"), ("e", np.float64("nan"))):
                d["fixed_f4"].setncattr(name, value)
            d["rec_f8"].delncattr("units")
        self.same_as(archive, file)
        before = archive.read_bytes()
        for args, words in (
            (["nothing:units=K"], "no variable `nothing`"), (["cube_f4:a/b=K"], "invalid name"), (["cube_f4:_FillValue=abc"], "variable's type float"), (["cube_f4:n=1ll"], "needs CDF-5"),
            (["--delete", "none:units"], "no variable `none`"), (["cube_f4"], "VARIABLE:ATTRIBUTE=VALUE"), (["-a", "units,cube_f4,z,c,K"], "unknown mode `z`"), (["cube_f4:x=300b"], "not a value of type byte"),
        ):
            self.fails(nc3z("attr", archive, *args), 1, words)
        self.assertEqual(nc3z("attr", archive).returncode, 2)
        self.assertEqual(archive.read_bytes(), before)

    def test_values_as_numpy_sets_them(self):
        need_program(self, "nccopy")
        rng = random.Random(11)
        for kind, options in (
            ("NETCDF3_CLASSIC", ()), ("NETCDF3_64BIT_DATA", ("--tile", "time=2,y=3,x=2", "--edge", "pad")), ("NETCDF3_64BIT_OFFSET", ("--tile", "time=2,y=3,x=4")),
        ):
            file = self.dir / "a.nc"
            make(file, kind)
            archive = self.archived(file, *options, name=f"{kind}.nc3z")
            with netCDF4.Dataset(file, "r+") as d:
                d.set_auto_maskandscale(False)
                names = [n for n in d.variables if "S1" not in n and n != "scalar"]
                for n in range(max(3, ROUNDS // 3)):
                    v = d[rng.choice(names)]
                    args, index = [], []
                    for dim, length in zip(v.dimensions, v.shape):
                        low = rng.randrange(length)
                        high = rng.randrange(low, length)
                        step = rng.randrange(1, 4)
                        last = low + (high - low) // step * step
                        back = rng.random() < 0.3
                        args += ["-d", f"{dim},{low},{last},-{step}" if back else f"{dim},{low},{high},{step}"]
                        at = list(range(low, high + 1, step))
                        index.append(at[::-1] if back else at)
                    value = rng.randrange(100)
                    count = int(np.prod([len(i) for i in index]))
                    values = [str((value + k) % 100) for k in range(count)] if rng.random() < 0.6 else [str(value)]
                    self.ok(nc3z("set", archive, v.name, *args, "=" + ",".join(values), *(["--quick"] if n % 2 else [])))
                    array = v[...]
                    array[np.ix_(*index)] = np.array([float(x) for x in values]).astype(v.dtype).reshape([len(i) for i in index] if len(values) > 1 else ())
                    v[...] = array
                d["scalar"][...] = -1
            self.ok(nc3z("set", archive, "scalar", "=-1"))
            with self.subTest(kind=kind):
                self.same_as(archive, file)
                self.ok(nc3z("verify", "--deep", archive))

    def test_values_out_of_files(self):
        file = self.dir / "a.nc"
        make(file)
        archive = self.archived(file)
        other = self.dir / "other.nc"
        with netCDF4.Dataset(other, "w", format="NETCDF3_CLASSIC") as d:
            d.createDimension("y", 7)
            d.createDimension("x", 5)
            d.createVariable("map", "f4", ("y", "x"))[...] = np.arange(35).reshape(7, 5)
        self.ok(nc3z("set", archive, "cube_f4", "-d", "time,3", "--from", other, "--from-variable", "map"))
        numbers = self.dir / "numbers.txt"
        numbers.write_text("1 2 3\n4,5 _\n")
        self.ok(nc3z("set", archive, "rec_f8", "-d", "time,0,1", "-d", "x,0,2", "--text", numbers))
        self.ok(nc3z("set", archive, "fixed_i2", "-d", "y,0", "=_"))
        self.ok(nc3z("set", archive, "rec_S1", "-d", "time,1", "=hi"))
        with netCDF4.Dataset(file, "r+") as d:
            d.set_auto_maskandscale(False)
            d["cube_f4"][3] = np.arange(35).reshape(7, 5)
            d["rec_f8"][0:2, 0:3] = [[1, 2, 3], [4, 5, netCDF4.default_fillvals["f8"]]]
            d["fixed_i2"][0] = netCDF4.default_fillvals["i2"]
            d["rec_S1"][1] = [b"h", b"i", b"", b"", b""]
        self.same_as(archive, file)
        self.fails(nc3z("set", archive, "cube_f4", "-d", "time,9", "=1"), 1, "time")
        self.fails(nc3z("set", archive, "cube_i2", "-d", "time,3", "--from", other, "--from-variable", "map"), 1, "type float.*short is wanted")
        self.fails(nc3z("set", archive, "cube_f4", "--from", other, "--from-variable", "map"), 1, "lengths")
        self.fails(nc3z("set", archive, "fixed_i2", "=1,2"), 1, "2 values are given, but 35 are selected")
        self.fails(nc3z("set", archive, "fixed_i2", "=70000"), 1, "not a value of type short")
        before = archive.read_bytes()
        plan = self.ok(nc3z("set", archive, "cube_f4", "-d", "time,1", "--plan", "=0")).stdout.decode()
        self.assertIn("cube_f4[time=1, y=0..6, x=0..4]: 35 elements in 1 tile of 1", plan)
        self.assertEqual(archive.read_bytes(), before)

    def test_what_reads_as_missing_is_set(self):
        file = self.dir / "missing.nc"
        with netCDF4.Dataset(file, "w", format="NETCDF3_CLASSIC") as d:
            d.createDimension("x", 3)
            for name, ty in (("bare", "i1"), ("byte", "i1"), ("float", "f4"), ("short", "i2")):
                d.createVariable(name, ty, ("x",), fill_value=False)[:] = [1, 2, 3]
            d["byte"].missing_value = np.int8(-1)
            d["float"].missing_value = np.float32(1e20)
        archive = self.archived(file)
        for name in ("byte", "float", "short"):
            self.ok(nc3z("set", archive, name, "-d", "x,0", "=_"))
        refused = nc3z("set", archive, "bare", "-d", "x,0", "=_")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("`bare` is of type byte and has no `_FillValue` and no `missing_value`", refused.stderr)
        self.ok(nc3z("restore", "-f", archive, "-o", file))
        with netCDF4.Dataset(file) as d:
            self.assertEqual([bool(np.ma.getmaskarray(d[name][:])[0]) for name in ("bare", "byte", "float", "short")], [False, True, True, True])

    def test_records_are_appended(self):
        need_program(self, "ncrcat")
        file, more, joined = (self.dir / n for n in ("a.nc", "b.nc", "joined.nc"))
        for kind in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"):
            make(file, kind)
            make(more, kind, records=3)
            with netCDF4.Dataset(more, "r+") as d:
                d["cube_f4"][...] = 17
            subprocess.run(["ncrcat", "-O", "-h", "--no_cll_mth", file, more, joined], check=True)
            archive = self.archived(file, name=f"{kind}.nc3z")
            self.ok(nc3z("append", archive, more, "-m", "more"))
            a, b = raw(self.restored(archive)), raw(joined)
            self.assertEqual(sorted(a["variables"], key=lambda v: v[0]), sorted(b["variables"], key=lambda v: v[0]))
            self.assertEqual(sorted(a["dimensions"]), sorted(b["dimensions"]))
            self.is_canonical(self.restored(archive))
            self.assertEqual(sha256(self.restored(archive, 1)), sha256(file))
            # As an archive, twice at once.
            again = self.archived(more, name=f"{kind}.more.nc3z")
            self.ok(nc3z("append", archive, again, more, "--quick", "--allow-overlap"))
            with netCDF4.Dataset(self.restored(archive)) as d:
                self.assertEqual(len(d.dimensions["time"]), 14)
            self.ok(nc3z("verify", "--deep", archive))
        for words, change in (
            ("units", lambda d: d["cube_f4"].setncattr("units", "other")), ("fixed_f4` differs", lambda d: d["fixed_f4"].__setitem__(0, 77)),
            ("`extra`", lambda d: d.createVariable("extra", "f4", ("time",))), ("scale_factor", lambda d: d["rec_i2"].setncattr("scale_factor", 0.5)),
        ):
            make(more, kind, records=2)
            with netCDF4.Dataset(more, "r+") as d:
                change(d)
            before = archive.read_bytes()
            self.fails(nc3z("append", archive, more), 1, words)
            self.assertEqual(archive.read_bytes(), before)
        self.ok(nc3z("append", archive, self._other_units(more, kind), "--any-units", "--keep-fixed"))

    def _other_units(self, more, kind):
        make(more, kind, records=2)
        with netCDF4.Dataset(more, "r+") as d:
            d["cube_f4"].units = "other"
            d["fixed_f4"][0] = 77
        return more

    def test_many_months_are_not_many_tiles(self):
        """A file that begins with no record, or one, is not cut into tiles of one."""
        file, more = self.dir / "a.nc", self.dir / "b.nc"
        make(file, records=0)
        make(more, records=40)
        archive = self.archived(file)
        for _ in range(6):
            self.ok(nc3z("append", archive, more, "--quick", "--allow-overlap"))
        rows = json.loads(self.ok(nc3z("info", "--json", archive)).stdout)["variables"]
        tiles = {row["name"]: row["tiles"]["total"] for row in rows}
        self.assertLess(max(tiles.values()), 9, tiles)
        with netCDF4.Dataset(self.restored(archive)) as d, netCDF4.Dataset(more) as m:
            self.assertEqual(np.asarray(d["cube_f4"][...]).tobytes(), np.concatenate([m["cube_f4"][...]] * 6).tobytes())

    def test_names_as_ncrename_sets_them(self):
        need_program(self, "ncrename")
        file = self.dir / "a.nc"
        make(file)
        archive = self.archived(file)
        args = ["-v", "cube_f4,tas", "-d", "x,lon", "-a", "rec_f8@units,unit", "-a", "global@title,name"]
        subprocess.run(["ncrename", "-O", "-h", "-v", "cube_f4,tas", "-d", "x,lon", "-a", "rec_f8@units,unit", "-a", "global@title,name", file], check=True)
        self.ok(nc3z("rename", archive, *args))
        self.same_as(archive, file)
        self.assertLess(self.newest(archive)["added_bytes"], 3000)
        self.fails(nc3z("rename", archive, "-v", "tas,rec_f8"), 1, "already")
        self.fails(nc3z("rename", archive, "-d", "none,z"), 1, "no dimension `none`")

    def test_names_are_stored_in_the_composed_form(self):
        """As the netCDF library does, which finds no name in another form."""
        need_program(self, "ncdump")
        apart, composed = "e\u0301te\u0301", "\u00e9t\u00e9"
        file = self.dir / "a.nc"
        make(file)
        archive = self.archived(file)
        self.ok(nc3z("attr", archive, f":{apart}=hello", f"cube_f4:{apart}=1.5"))
        self.ok(nc3z("rename", archive, "-v", f"cube_i2,{apart}", "-d", f"x,x{apart}", "-a", f"global@title,t{apart}"))
        out = self.restored(archive)
        with netCDF4.Dataset(out) as d:
            self.assertEqual((d.getncattr(composed), d.getncattr(f"t{composed}"), d["cube_f4"].getncattr(composed)), ("hello", "edits", 1.5))
            self.assertEqual((d[composed].shape, d[composed].dimensions[2], len(d.dimensions[f"x{composed}"])), ((5, 7, 5), f"x{composed}", 5))
        subprocess.run(["ncdump", "-v", composed, out], check=True, capture_output=True)
        # Either form is the same name.
        version = self.newest(archive)["version"]
        self.ok(nc3z("attr", archive, f":{apart}=hello", f":{composed}=hello"))
        self.fails(nc3z("rename", archive, "-v", f"cube_i4,{apart}"), 1, "already")
        self.assertEqual(self.newest(archive)["version"], version)
        self.ok(nc3z("rename", archive, "-v", f"{apart},back", "-a", f"global@{apart},words"))
        with netCDF4.Dataset(self.restored(archive)) as d:
            self.assertEqual((d["back"].shape, d.getncattr("words")), ((5, 7, 5), "hello"))

    def test_the_file_that_is_damaged_is_named(self):
        """Of the archive that is edited and the file whose values it takes, also where the archive is damaged."""
        def archived(name, records, columns):
            with netCDF4.Dataset(self.dir / name, "w", format="NETCDF3_64BIT_OFFSET") as d:
                d.createDimension("time", records)
                d.createDimension("x", columns)
                d.createVariable("v", "f4", ("time", "x"))[:] = np.random.default_rng(records).normal(size=(records, columns))
            return self.archived(self.dir / name, name=f"{name}3z")

        archive = archived("a.nc", 4, 20_000)
        held = archive.read_bytes()
        for more, selection in ((archived("b.nc", 4, 20_000), ()), (archived("c.nc", 3, 20_000), ("-d", "time,1,3"))):
            bad = damaged(more)
            done = self.fails(nc3z("set", archive, "v", *selection, "--from", bad), 3, f"{bad.name}.: corrupt.*nc3z repair [^ ]*{bad.name}")
            self.assertNotIn("/a.nc3z", done.stderr)
            self.assertEqual(archive.read_bytes(), held)
        # Elements that are not set come from the archive.
        more = archived("d.nc", 4, 10)
        done = self.fails(nc3z("set", damaged(archive), "v", "-d", "x,0,9", "--from", more), 3, "bad-a.nc3z.: corrupt.*nc3z repair [^ ]*bad-a.nc3z")
        self.assertNotIn("/d.nc3z", done.stderr)

    def test_any_file_is_edited(self):
        """Odd files become canonical; incomplete files are refused; the first version stays unchanged."""
        need_program(self, "nccopy")
        refused = []
        for n, file in enumerate(f for f in good_files() if f.stat().st_size < 100_000):
            archive = self.archived(file, name=f"{n}.nc3z")
            done = nc3z("attr", archive, ":edited=yes")
            if done.returncode:
                self.assertEqual(done.returncode, 1, done.stderr)
                refused.append(file.name)
                self.assertIn("has", done.stderr)
                continue
            out = self.restored(archive)
            with self.subTest(file=file.name):
                # The library takes the number of records of these from the field, which does not say it.
                if not any(odd in file.name for odd in ("overlapping", "streaming", "reverse")):
                    a, b = raw(out), raw(file)
                    self.assertEqual(a["variables"], b["variables"])
                    self.assertEqual(a["dimensions"], b["dimensions"])
                self.is_canonical(out)
                self.assertEqual(sha256(self.restored(archive, 1)), sha256(file))
                self.ok(nc3z("verify", archive))
        self.assertLess(len(refused), 8, refused)
        self.assertIn("truncated_fixed.nc", refused)

    def test_short_of_memory_and_with_room_the_archive_is_the_same(self):
        file = self.dir / "a.nc"
        values = np.arange(3_000_000, dtype="f4").reshape(3, 1_000_000)
        with netCDF4.Dataset(file, "w", format="NETCDF3_64BIT_OFFSET") as d:
            d.createDimension("time", None)
            d.createDimension("x", values.shape[1])
            d.createVariable("v", "f4", ("time", "x"))[:] = 0
            d["v"][:3] = 0
        other = self.dir / "b.nc"
        with netCDF4.Dataset(other, "w", format="NETCDF3_64BIT_OFFSET") as d:
            d.createDimension("time", 3)
            d.createDimension("x", values.shape[1])
            d.createVariable("v", "f4", ("time", "x"))[:] = values
        archive = self.archived(file, "--preset", "fast")
        twin = Path(shutil.copy2(archive, self.dir / "b.nc3z"))
        self.ok(nc3z("set", archive, "v", "--from", other, "--quick"))
        self.ok(nc3z("set", twin, "v", "--from", other, "--quick", "--memory", "1MiB"))
        self.assertEqual(sha256(archive), sha256(twin))
        with netCDF4.Dataset(self.restored(twin)) as d:
            self.assertEqual(np.asarray(d["v"][...]).tobytes(), values.tobytes())

    def test_versions_are_dropped(self):
        file = self.dir / "a.nc"
        make(file)
        archive = self.archived(file)
        for n in range(2, 9):
            self.ok(nc3z("set", archive, "cube_f8", "-d", "time,2", f"={n}"))
        self.ok(nc3z("tag", archive, "good", "--version", 5))
        self.ok(nc3z("tag", archive, "bad", "--version", 6))
        files = {n: sha256(self.restored(archive, n)) for n in range(1, 9)}
        before = archive.read_bytes()
        small = self.dir / "small.nc3z"
        self.ok(nc3z("prune", archive, "-o", small, "--keep", "1,good", "--drop-tagged"))
        self.assertEqual(archive.read_bytes(), before)
        listed = json.loads(self.ok(nc3z("log", "--json", small)).stdout)["versions"]
        self.assertEqual([v["version"] for v in listed], [8, 5, 1])
        self.assertEqual(listed[1]["tags"], ["good"])
        for n in (1, 5, 8, "good"):
            self.assertEqual(sha256(self.restored(small, n)), files[5 if n == "good" else n])
        self.fails(nc3z("restore", f"{small}@4", "-o", self.dir / "x.nc"), 1, "dropped")
        self.fails(nc3z("restore", f"{small}@bad", "-o", self.dir / "x.nc"), 1, "no tag `bad`")
        self.ok(nc3z("verify", "--deep", small))
        # Numbers go on.
        self.ok(nc3z("attr", small, ":more=1"))
        self.assertEqual(self.newest(small)["version"], 9)
        self.assertEqual(sha256(self.restored(small, 5)), files[5])
        self.ok(nc3z("prune", "--in-place", archive))
        self.assertEqual([v["version"] for v in json.loads(self.ok(nc3z("log", "--json", archive)).stdout)["versions"]], [8, 6, 5])
        self.fails(nc3z("prune", archive, "-o", small), 1, "exists")
        self.fails(nc3z("prune", archive, "-o", self.dir / "y.nc3z", "--keep", "77"), 1, "no version 77")
        self.assertEqual(nc3z("prune", archive).returncode, 2)

    def test_versions_are_checked_and_saved(self):
        """Damage of data that only one version has: the others are intact, verified as such, and saved by a repair."""
        file = self.dir / "a.nc"
        rng = np.random.default_rng(3)
        with netCDF4.Dataset(file, "w", format="NETCDF3_64BIT_OFFSET") as d:
            d.createDimension("x", 50_000)
            for name in "abc":
                d.createVariable(name, "f8", ("x",))[:] = rng.random(50_000)
        archive = self.archived(file, "--tile-size", "64KiB")
        other = self.dir / "b.nc"
        with netCDF4.Dataset(other, "w", format="NETCDF3_64BIT_OFFSET") as d:
            d.createDimension("x", 50_000)
            d.createVariable("a", "f8", ("x",))[:] = rng.random(50_000)
        before = archive.stat().st_size
        self.ok(nc3z("set", archive, "a", "--from", other))
        middle = (before + archive.stat().st_size) // 2
        self.ok(nc3z("revert", archive, 1))
        self.ok(nc3z("attr", archive, "b:units=K"))
        files = {n: sha256(self.restored(archive, n)) for n in (1, 2, 3, 4)}
        done = self.ok(nc3z("verify", "--all-versions", "--json", archive))
        self.assertEqual([(v["version"], v["sha256"]) for v in json.loads(done.stdout)[0]["older_versions"]], [(n, files[n]) for n in (3, 2, 1)])
        self.ok(nc3z("verify", "--deep", f"{archive}@2"))
        raw = bytearray(archive.read_bytes())
        raw[middle] ^= 1
        archive.write_bytes(raw)
        self.assertEqual(nc3z("verify", archive).returncode, 3)
        done = nc3z("verify", "--all-versions", archive)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"version 2: NOT WHOLE", done.stdout)
        self.assertIn(b"version 1: ", done.stdout)
        self.fails(nc3z("verify", "--deep", f"{archive}@2"), 3)
        good = self.dir / "good.nc3z"
        done = nc3z("repair", archive, "-o", good)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"lost: version 2", done.stdout)
        self.ok(nc3z("verify", "--all-versions", good))
        for n in (1, 3, 4):
            self.assertEqual(sha256(self.restored(good, n)), files[n])
        # The newest version counts: if it is not intact, no older one replaces it.
        raw[middle] ^= 1
        raw[before // 2] ^= 1
        archive.write_bytes(raw)
        done = nc3z("repair", archive, "-f", "-o", good)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"tiles saved", done.stdout)
        self.assertEqual(json.loads(self.ok(nc3z("log", "--json", good)).stdout)["versions"][0]["version"], 4)

    def test_a_damaged_end_of_an_older_generation(self):
        """Versions cannot be listed then, but those before it are found; the lost version is named, and the saved archive can be edited."""
        archive = self.archived(CLASSIC / "numeric.nc")
        files = {1: sha256(CLASSIC / "numeric.nc")}
        for n in range(2, 6):
            self.ok(nc3z("attr", archive, f":edited={n}"))
            files[n] = sha256(self.restored(archive))
        raw = bytearray(archive.read_bytes())
        ends = [at for at in range(0, len(raw), 8) if raw[at:at + 4] == b"\xb1NCt"]
        self.assertEqual(len(ends), 5)
        raw[ends[2] + 10] ^= 1
        archive.write_bytes(raw)
        saved = self.dir / "saved.nc3z"
        done = nc3z("repair", archive, "-o", saved)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(b"lost: version 3: ", done.stdout)
        found = [v["version"] for v in json.loads(self.ok(nc3z("log", "--json", saved)).stdout)["versions"]]
        self.assertEqual(found, [5, 4, 2, 1])
        for n in found:
            self.assertEqual(sha256(self.restored(saved, n)), files[n])
            # And so they can be read out of the damaged archive, by number.
            self.assertEqual(sha256(self.restored(archive, n)), files[n])
        self.fails(nc3z("restore", "--version", 3, archive, "-o", self.dir / "no.nc"), 3, "trailer")
        self.ok(nc3z("verify", "--all-versions", saved))
        # An archive that was rewritten as one version can be edited, too.
        self.ok(nc3z("repair", "--force", "--uncommitted", archive, "-o", saved))
        self.ok(nc3z("attr", saved, ":again=yes"))
        self.ok(nc3z("verify", "--all-versions", saved))

    def test_a_quick_commit_says_so(self):
        file = self.dir / "a.nc"
        make(file)
        archive = self.archived(file)
        self.ok(nc3z("set", archive, "cube_f8", "-d", "time,2", "=1", "--quick", "-m", "words", "--author", "A", "--date", "T"))
        newest = self.newest(archive)
        self.assertEqual([newest[k] for k in ("sha256", "message", "author", "time")], [None, "words", "A", "T"])
        self.ok(nc3z("verify", "--deep", archive))
        self.ok(nc3z("checkout", archive, "--version", 1, "-o", self.dir / "first.nc"))
        self.assertEqual(sha256(self.dir / "first.nc"), sha256(file))

    def test_quiet(self):
        archive = self.archived(CLASSIC / "numeric.nc")
        told = lambda *args: self.ok(nc3z(*args)).stderr
        self.assertIn("version 2", told("attr", archive, ":a=1"))
        for args in (("attr", archive, ":a=2"), ("set", archive, "bytes", "=3"), ("rename", archive, "--variable", "bytes,octets"), ("revert", archive, "1"),
                     ("commit", "--allow-unrelated", archive, CLASSIC / "smooth.nc"), ("commit", archive, CLASSIC / "smooth.nc")):
            self.assertEqual(told(*args, "-q"), "", args)

    def test_one_writer_at_a_time(self):
        file = self.dir / "a.nc"
        make(file)
        archive = self.archived(file)
        # It waits for standard input with the archive locked; where the other was quicker, it failed, and is started again.
        first = start("set", archive, "scalar", "--text", "-", stdin=subprocess.PIPE)
        try:
            for _ in range(100):
                if first.poll() is not None:
                    first.stderr.close()
                    first.stdin.close()
                    first = start("set", archive, "scalar", "--text", "-", stdin=subprocess.PIPE)
                time.sleep(0.1)
                done = nc3z("attr", archive, ":x=1")
                if done.returncode:
                    break
            self.fails(done, 1, "being changed by another process")
            first.stdin.write(b"7\n")
            first.stdin.close()
            self.assertEqual(first.wait(60), 0)
        finally:
            first.kill()
            first.wait()
            first.stderr.close()
            first.stdin.close()
        with netCDF4.Dataset(self.restored(archive)) as d:
            self.assertEqual(float(d["scalar"][...]), 7)

    def test_killed_at_any_call(self):
        need_program(self, "cc")
        shim = self.dir / "faults.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", shim, Path(__file__).with_name("faults.c")], check=True)
        file = self.dir / "a.nc"
        make(file)
        source = self.archived(file, name="source.nc3z")
        self.ok(nc3z("attr", source, ":long=yes"))
        work = self.dir / "work"
        work.mkdir()
        archive = work / "a.nc3z"
        args = ("set", archive, "cube_f8", "-d", "time,0,3", "=7", "--threads", "1")

        def run(fault):
            shutil.copy2(source, archive)
            log = self.dir / "calls.log"
            env = dict(os.environ, LD_PRELOAD=str(shim), NC3Z_FAULT=fault, NC3Z_FAULT_DIR=str(work), NC3Z_FAULT_LOG=str(log))
            done = nc3z(*args, env=env)
            return done, {k: int(n) for k, n in (line.split() for line in log.read_text().splitlines())} if log.exists() else {}

        done, counts = run("none 0 0")
        self.ok(done)
        states = {2: sha256(self.restored(source)), 3: sha256(self.restored(archive))}
        goal = archive.read_bytes()
        tried = 0
        for op in ("write", "sync", "cut"):
            every = range(1, counts[op] + 1)
            for n in every if counts[op] <= KILLS else sorted({*every[:KILLS // 2], *every[-(KILLS - KILLS // 2):]}):
                for what in ("kill", "28", "-28"):
                    done, _ = run(f"{op} {n} {what}")
                    self.assertNotEqual(done.returncode, 0)
                    tried += 1
                    with self.subTest(op=op, n=n, what=what):
                        newest = self.newest(archive)
                        self.assertEqual(newest["sha256"], states[newest["version"]])
                        self.assertEqual(sha256(self.restored(archive)), states[newest["version"]])
                        if newest["version"] == 2:
                            self.ok(nc3z(*args))
                            self.assertTrue(archive.read_bytes() == goal)
        print(f"\nset: killed {tried} times at {counts}", flush=True)


if __name__ == "__main__":
    unittest.main()

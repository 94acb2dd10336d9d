"""`nc3z serve` by DAP2: programs without support for nc3z read the same from its addresses as from the files."""

import os
import random
import struct
import subprocess
import unittest
import urllib.parse

import numpy as np

from common import CLASSIC, NIGHT, good_files, header, missing, nc3z, need_program, peak_memory, synthetic
from serving import ServeCase

COADS = CLASSIC / "coads_climatology.cdf"
SMALL = CLASSIC / "record_padding.nc"
# Types that DAP2 has no name for.
LONG = ("int64", "uint64")
# Files whose header promises more than is there, which the C library reads as whatever it finds; and one without elements, whose variables
# its DAP client does not show.
LIARS = ("streaming", "truncated", "numrecs_beyond", "no_records")


def netcdf4(test):
    try:
        import netCDF4
    except ImportError:
        missing(test, "netCDF4 is not installed")
    return netCDF4


def raw(dataset):
    dataset.set_auto_maskandscale(False)
    dataset.set_auto_chartostring(False)
    return dataset


def is_too_long(attribute):
    """Of attributes, those that do not fit Int32."""
    return getattr(attribute, "dtype", None) in LONG and not (np.abs(np.asarray(attribute, object)) < 2**31).all()


def slabs(pick, shape):
    """A random part of an array, as slices and as a constraint expression."""
    slices, words = [], ""
    for n in shape:
        first = pick.randrange(n)
        last, stride = pick.randrange(first, n), pick.choice((1, 1, 2, 3, 7))
        slices.append(slice(first, last + 1, stride))
        words += pick.choice((f"[{first}:{stride}:{last}]", f"[{first}:{stride}:{last}]" if stride > 1 else f"[{first}:{last}]"))
    return tuple(slices), words


class Programs(ServeCase):
    def same(self, name, server_dataset, original):
        """Dimensions, types, values and attributes of all variables."""
        for variable in original.variables.values():
            if name == "dap" and variable.dtype.name in LONG:
                self.assertNotIn(variable.name, server_dataset.variables)
                self.assertIn(f"variable {variable.name}: DAP2 has no type {variable.dtype.name}", server_dataset.nc3z_left_out)
                continue
            shown = server_dataset.variables[variable.name]
            # The C library's DAP client knows the types of netCDF-3 alone: the same bits, as signed numbers.
            signed = {"uint8": "int8", "uint16": "int16", "uint32": "int32"} if name == "dap" else {}
            self.assertEqual(shown.dtype.name, signed.get(variable.dtype.name, variable.dtype.name), variable.name)
            self.assertEqual(shown.shape, variable.shape, (name, variable.name))
            a, b = np.asarray(shown[...]), np.asarray(variable[...])
            self.assertEqual(a.tobytes(), b.tobytes(), (name, variable.name))
            for attribute in variable.ncattrs():
                was = variable.getncattr(attribute)
                if name == "dap" and is_too_long(was):
                    self.assertIn(f"attribute {variable.name}:{attribute} = {was}: DAP2 has no type", server_dataset.nc3z_left_out)
                    continue
                is_ = shown.getncattr(attribute)
                self.assertTrue(np.array_equal(was, is_, equal_nan=not isinstance(was, str)), (name, variable.name, attribute, was, is_))

    def test_netcdf4_python_reads_every_file_by_dap_and_by_bytes(self):
        netCDF4 = netcdf4(self)
        files = [f for f in good_files() if (NIGHT or f.stat().st_size < 2 << 20) and not f.name.startswith(LIARS)]
        for file in files:
            self.archive(file)
        read = 0
        with self.serving("--quiet") as server:
            for file in files:
                try:
                    original = raw(netCDF4.Dataset(file))
                except OSError:
                    # The C library does not read the file itself.
                    continue
                with self.subTest(file=file.name), original:
                    with raw(netCDF4.Dataset(server.address(file.name) + "#mode=bytes")) as shown:
                        self.same("bytes", shown, original)
                    with raw(netCDF4.Dataset(server.address(file.name))) as shown:
                        self.same("dap", shown, original)
                    read += 1
        self.assertGreater(read, 10)

    def test_random_hyperslabs(self):
        netCDF4 = netcdf4(self)
        self.archive(COADS)
        pick = random.Random(11)
        with self.serving("--quiet") as server, raw(netCDF4.Dataset(COADS)) as original, \
                raw(netCDF4.Dataset(server.address(COADS.name))) as dap, \
                raw(netCDF4.Dataset(server.address(COADS.name) + "#mode=bytes")) as ranges:
            names = list(original.variables)
            for _ in range(1000 if NIGHT else 60):
                name = pick.choice(names)
                part, _ = slabs(pick, original[name].shape)
                expected = original[name][part]
                self.assertTrue(np.array_equal(expected, dap[name][part], equal_nan=True), (name, part))
                if pick.random() < 0.1:
                    self.assertTrue(np.array_equal(expected, ranges[name][part], equal_nan=True), (name, part))

    def test_ncdump_ncks_and_cdo(self):
        for program in ("ncdump", "ncks", "cdo"):
            need_program(self, program)
        self.archive(COADS)
        self.archive(SMALL)

        def run(*command):
            done = subprocess.run([str(word) for word in command], capture_output=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout
        with self.serving("--quiet") as server:
            for file in (COADS, SMALL):
                url = server.address(file.name)
                with self.subTest(file=file.name):
                    was, shown = (run("ncdump", "-v", self.a_variable(file), place).decode() for place in (file, url))
                    self.assertEqual(was.split("data:", 1)[1], shown.split("data:", 1)[1])
            url = server.address(COADS.name)
            part = ["-H", "-C", "-v", "SST", "-d", "TIME,3", "-d", "COADSY,10,12", "-d", "COADSX,5,9,2"]
            self.assertEqual(run("ncks", *part, COADS), run("ncks", *part, url))
            self.assertEqual(run("cdo", "-s", "infon", "-selname,SST", COADS), run("cdo", "-s", "infon", "-selname,SST", url))
            self.assertIn(b"TIME = UNLIMITED ; // (12 currently)", run("ncdump", "-h", url))

    @staticmethod
    def a_variable(file):
        return "SST" if file is COADS else "a"

    def test_pydap(self):
        try:
            from pydap.client import open_url
        except ImportError:
            missing(self, "pydap is not installed")
        netCDF4 = netcdf4(self)
        self.archive(COADS)
        pick = random.Random(5)
        with self.serving("--quiet") as server, raw(netCDF4.Dataset(COADS)) as original:
            shown = open_url(server.address(COADS.name), protocol="dap2")
            self.assertEqual(sorted(shown.keys()), sorted(original.variables))
            self.assertEqual(shown["SST"].attributes["long_name"], original["SST"].long_name)
            for _ in range(20):
                name = pick.choice(list(original.variables))
                part, _ = slabs(pick, original[name].shape)
                self.assertTrue(np.array_equal(np.asarray(shown[name][part]), original[name][part], equal_nan=True), (name, part))

    def test_single_bytes_and_letters(self):
        netCDF4 = netcdf4(self)
        path = self.source / "x.nc"
        with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as d:
            d.createDimension("t", 3)
            for name, kind, value in (("a", "i1", -1), ("b", "u1", 255), ("c", "S1", b"x"), ("d", "i2", -2)):
                d.createVariable(name, kind)[...] = value
            d.createVariable("e", "i1", ("t",))[:] = [-1, 0, 1]
            d.createVariable("f", "i4", ("t",))[:] = 1
            d["f"].setncattr("long", np.int64(-5))
        with self.serving("--quiet") as server, raw(netCDF4.Dataset(server.address("x.nc"))) as shown:
            for name, expected in (("a", b"\xff"), ("b", b"\xff"), ("c", b"x"), ("d", b"\xfe\xff"), ("e", b"\xff\0\1")):
                self.assertEqual(np.asarray(shown[name][...]).tobytes(), expected, name)
            self.assertEqual(shown["f"].long, -5)
        with netCDF4.Dataset(path, "a") as d:
            d["f"].setncattr("long", np.int64(1 << 40))
        with self.serving("--quiet") as server:
            with raw(netCDF4.Dataset(server.address("x.nc"))) as shown:
                self.assertNotIn("long", shown["f"].ncattrs())
                self.assertEqual(shown.nc3z_left_out, f"attribute f:long = {1 << 40}: DAP2 has no type int64")
                self.assertEqual(shown["f"][:].tolist(), [1, 1, 1])
            self.assertEqual(server.ask("/x.nc.dods?e").status, 200)

    def test_versions_open_too(self):
        netCDF4 = netcdf4(self)
        self.archive(COADS)
        with self.serving("--quiet") as server, raw(netCDF4.Dataset(f"{server.url}.versions/{COADS.name}/1")) as shown, \
                raw(netCDF4.Dataset(COADS)) as original:
            self.same("dap", shown, original)


def odd_file(test, name):
    """A file in which attributes may have any type and name, to be written."""
    try:
        from scipy.io import netcdf_file
    except ImportError:
        missing(test, "scipy is not installed")
    file = netcdf_file(test.source / name, "w", version=2)
    file.createDimension("time", None)
    file.createDimension("x", 4)
    return file


def misfits(test):
    """Writes `x.nc`, with fill values that the types of variables cannot hold, and others. Gives type and fill value of each, and their values."""
    kinds = {"nan_short": ("i2", np.float64("nan")), "large_short": ("i2", np.int32(40000)), "half_short": ("i2", np.float64(1.5)),
             "short_byte": ("i1", np.int16(255)), "large_int": ("i4", np.float64(3e9)), "inf_int": ("i4", np.float32("inf")),
             "large_float": ("f4", np.float64(1e300)), "text_short": ("i2", b"-1"), "list_short": ("i2", np.array([1, 70000], "i4")),
             "good_short": ("i2", np.int32(-9999)), "good_float": ("f4", np.float64(1e20)), "nan_float": ("f4", np.float64("nan"))}
    values = np.array([0, 64, 127, -1])
    with odd_file(test, "x.nc") as file:
        for name, (kind, fill) in kinds.items():
            v = file.createVariable(name, kind, ("x",))
            v[:] = values
            v._FillValue = fill
            v.missing_value = fill
    return kinds, values


class Misfits(ServeCase):
    """Files that DAP2, or netCDF-C by DAP2, cannot express."""

    def test_a_fill_value_that_the_type_cannot_hold_masks_nothing(self):
        netCDF4 = netcdf4(self)
        kinds, values = misfits(self)
        with self.serving("--quiet") as server:
            for _ in range(3):
                with netCDF4.Dataset(server.address("x.nc")) as shown:
                    for name, (kind, fill) in kinds.items():
                        if name.startswith(("good", "nan_float")):
                            self.assertTrue(np.array_equal(shown[name]._FillValue, np.array(fill, kind), equal_nan=True), name)
                        else:
                            self.assertNotIn("_FillValue", shown[name].ncattrs(), name)
                            self.assertIn(f"attribute {name}:_FillValue = ", shown.nc3z_left_out)
                        self.assertIn("missing_value", shown[name].ncattrs())
                        shown[name].set_auto_maskandscale(False)
                        self.assertEqual(shown[name][:].tolist(), values.tolist(), name)

    def test_variables_without_elements_come_last(self):
        netCDF4 = netcdf4(self)
        with odd_file(self, "x.nc") as file:
            for name, dims in (("r", ("time",)), ("a", ("x",)), ("text", ("time", "x")), ("b", ("x",)), ("s", ()), ("time", ("time",))):
                v = file.createVariable(name, "S1" if name == "text" else "f4", dims)
                if "time" not in dims:
                    v[...] = 7
        with self.serving("--quiet") as server:
            dds = server.ask("/x.nc.dds").body.decode()
            self.assertEqual([line.split()[1].split("[")[0].rstrip(";") for line in dds.splitlines()[1:-1]], ["a", "b", "s", "r", "text", "time"])
            with netCDF4.Dataset(server.address("x.nc")) as shown:
                for name in ("a", "b", "s"):
                    self.assertTrue((np.asarray(shown[name][...]) == 7).all(), name)
            with netCDF4.Dataset(server.address("x.nc") + "?r,a,text,b") as shown:
                self.assertTrue((shown["a"][:] == 7).all() and (shown["b"][:] == 7).all())
            need_program(self, "ncdump")
            done = subprocess.run(["ncdump", server.address("x.nc")], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, " a = 7, 7, 7, 7 ;" in done.stdout), (0, True), done.stderr)

    def test_text_along_time_without_records_is_an_empty_string(self):
        netCDF4 = netcdf4(self)
        with odd_file(self, "x.nc") as file:
            file.createVariable("c", "S1", ("time",))
            file.createVariable("z", "f8", ("x",))[:] = [1, 2, 3, 4]
        with self.serving("--quiet") as server:
            self.assertEqual(server.ask("/x.nc.dods?c").body.split(b"Data:\n", 1)[1], bytes(4))
            self.assertEqual(server.ask("/x.nc.dods?z,c").body.split(b"Data:\n", 1)[1], struct.pack(">II4d", 4, 4, 1, 2, 3, 4) + bytes(4))
            with netCDF4.Dataset(server.address("x.nc")) as shown:
                self.assertEqual(shown["z"][:].tolist(), [1, 2, 3, 4])

    def test_files_with_64_bit_integers_are_read_without_them(self):
        netCDF4 = netcdf4(self)
        with netCDF4.Dataset(self.source / "x.nc", "w", format="NETCDF3_64BIT_DATA") as d:
            d.createDimension("t", 3)
            for name, kind in (("long", "i8"), ("v", "f4"), ("ulong", "u8"), ("w", "i2")):
                d.createVariable(name, kind, ("t",))[:] = [1, 2, 3]
            d.big = np.int64(1700000000000000001)
            d.many = np.full(100, 2**63, "u8")
            d["v"].small = np.int64(-5)
        with self.serving("--quiet") as server:
            for query in ("", "?v", "?w,v"):
                with netCDF4.Dataset(server.address("x.nc") + query) as shown:
                    self.assertEqual(shown["v"][:].tolist(), [1, 2, 3])
                    self.assertEqual(shown["v"].small, -5)
                    self.assertNotIn("big", shown.ncattrs())
            with netCDF4.Dataset(server.address("x.nc")) as shown:
                self.assertEqual(list(shown.variables), ["v", "w"])
                note = shown.nc3z_left_out
            for words in ("variable long: DAP2 has no type int64", "variable ulong: DAP2 has no type uint64", "attribute :big = 1700000000000000001: ", "9223372036854775808, ...: "):
                self.assertIn(words, note)
            self.assertLess(len(note), 1000)
            reply = server.ask("/x.nc.dods?long")
            self.assertEqual((reply.status, b"/x.nc" in reply.body), (400, True))
            self.assertEqual(server.ask("/x.nc.nc").body, (self.source / "x.nc").read_bytes())
            try:
                from pydap.client import open_url
            except ImportError:
                return
            self.assertEqual(np.asarray(open_url(server.address("x.nc"), protocol="dap2")["v"][:]).tolist(), [1, 2, 3])

    def test_names_of_attributes_are_sent_as_they_are(self):
        netCDF4 = netcdf4(self)
        names = ["CF:feature_type", "a#b", "it's", "a+b-c.d", "100%", "a b", ":first", "\N{LATIN SMALL LETTER E WITH ACUTE}t\N{LATIN SMALL LETTER E WITH ACUTE}"]
        with odd_file(self, "x.nc") as file:
            v = file.createVariable("v", "f4", ("x",))
            v[:] = 1
            for of in (file, v):
                for n, name in enumerate(names):
                    setattr(of, name, np.int32(n))
        with self.serving("--quiet") as server:
            with netCDF4.Dataset(server.address("x.nc")) as shown:
                for of in (shown, shown["v"]):
                    for n, name in enumerate(names[:5]):
                        self.assertEqual(of.getncattr(name), n, name)
                    self.assertEqual(of.getncattr("a%20b"), 5)
                    # netCDF-C refuses a file with an encoded first character.
                    self.assertNotIn("first", "".join(of.ncattrs()))
                self.assertIn("attribute v::first = 6: netCDF-C cannot read its name", shown.nc3z_left_out)
            try:
                from pydap.client import open_url
            except ImportError:
                return
            attributes = open_url(server.address("x.nc"), protocol="dap2")["v"].attributes
            self.assertLessEqual(set(names[:5]), set(attributes))

    def test_variables_whose_names_netcdf_c_cannot_read_are_left_out(self):
        netCDF4 = netcdf4(self)
        with netCDF4.Dataset(self.source / "x.nc", "w", format="NETCDF3_CLASSIC") as file:
            file.createDimension("x", 4)
            file.createDimension("\u00e9tage", 2)
            for name, dims in (("v", ("x",)), ("\u00e9t\u00e9", ("x",)), ("w", ("\u00e9tage",)), ("na\u00efve", ("x",))):
                file.createVariable(name, "f4", dims)[:] = 3
        with self.serving("--quiet") as server:
            with netCDF4.Dataset(server.address("x.nc")) as shown:
                self.assertEqual(shown["v"][:].tolist(), [3] * 4)
                self.assertEqual(len(shown.variables), 2)
                self.assertIn("variable \u00e9t\u00e9: netCDF-C cannot read its name", shown.nc3z_left_out)
                self.assertIn("variable w: netCDF-C cannot read the name of its dimension \u00e9tage", shown.nc3z_left_out)
            for name in ("\u00e9t\u00e9", "w"):
                self.assertEqual(server.ask("/x.nc.dds?" + urllib.parse.quote(name)).status, 200, name)

    def test_an_open_data_set_whose_archive_is_replaced_fails(self):
        netCDF4 = netcdf4(self)
        archive, other = self.archive(COADS, "x.nc"), self.archive(COADS, "other.nc")
        longer = self.dir / "longer.nc3z"
        edited = self.dir / "edited.cdf"
        edited.write_bytes(COADS.read_bytes()[:-4] + b"\x42\x28\0\0")
        self.ok(nc3z("archive", "-q", edited, "-o", longer))
        again = self.dir / "again.nc3z"
        self.ok(nc3z("archive", "-q", "--preset", "fast", COADS, "-o", again))
        with self.serving("--quiet") as server, raw(netCDF4.Dataset(server.address("x.nc"))) as shown, raw(netCDF4.Dataset(server.address("other.nc"))) as beside:
            first = shown["SST"][0].copy()
            # Another archive of the same bytes is the same state.
            os.replace(again, archive)
            self.assertEqual(shown["SST"][1].tobytes(), beside["SST"][1].tobytes())
            os.replace(longer, archive)
            with self.assertRaises((OSError, RuntimeError, IndexError)):
                shown["SST"][2]
            self.assertEqual(beside["SST"][0].tobytes(), first.tobytes())
            with raw(netCDF4.Dataset(server.address("x.nc"))) as new:
                self.assertEqual(new["SST"][0].tobytes(), first.tobytes())
            self.assertTrue(other.exists())
            cookie = server.ask("/x.nc.dds")["set-cookie"].split(";")[0]
            for path, status in (("/x.nc.dods?TIME", 200), ("/other.nc.dods?TIME", 200), ("/x.nc.dds", 200)):
                self.assertEqual(server.ask(path, Cookie=f"a=b; {cookie}; c").status, status, path)
            stale = cookie[:-4] + "beef"
            reply = server.ask("/x.nc.dods?TIME", Cookie=stale)
            self.assertEqual((reply.status, reply["content-description"]), (409, "dods-error"))
            self.assertIn(b"open it again", reply.body)
            self.assertEqual(server.ask("/x.nc.dds", Cookie=stale).status, 200)


class Constraints(ServeCase):
    def test_errors_are_those_of_dap(self):
        self.archive(SMALL, "x.nc")
        with self.serving("--quiet") as server:
            for query in ("b2", "a[40][0]", "a[0]", "a&a>1", "f(a)", "a[0][", "a,a"):
                reply = server.ask("/x.nc.dods?" + urllib.parse.quote(query))
                self.assertEqual((reply.status, reply["content-description"]), (400, "dods-error"), query)
                self.assertRegex(reply.body, rb'^Error \{\n    code = 400;\n    message = ".*";\n\};\n$')
            reply = server.ask("/none.nc.dds")
            self.assertEqual((reply.status, reply["content-description"]), (404, "dods-error"))

    def test_mutated_expressions_are_refused_or_right(self):
        netCDF4 = netcdf4(self)
        self.archive(COADS, "x.nc")
        pick = random.Random(13)
        with self.serving("--quiet") as server, raw(netCDF4.Dataset(COADS)) as original:
            sst = np.asarray(original["SST"][...])
            right = refused = 0
            for _ in range(1000 if NIGHT else 150):
                _, words = slabs(pick, sst.shape)
                query = list("SST" + words)
                for _ in range(pick.randrange(3)):
                    at = pick.randrange(len(query))
                    query[at:at + pick.randrange(2)] = pick.choice("0123456789[]:,&%SXa-. ")
                query = "".join(query)
                reply = server.ask("/x.nc.dods?" + urllib.parse.quote(query, safe="%"))
                if reply.status != 200:
                    self.assertEqual(reply.status, 400, query)
                    refused += 1
                    continue
                head, values = reply.body.split(b"Data:\n", 1)
                self.assertEqual(reply["content-length"], str(len(reply.body)))
                parts = urllib.parse.unquote(query).strip()
                if "," in parts or not parts.startswith("SST") or parts.count("[") != 3:
                    continue
                part = []
                for bracket in parts[3:].replace(" ", "").strip("[]").split("]["):
                    numbers = [int(n) for n in bracket.split(":")]
                    first, last, step = numbers[0], numbers[-1], numbers[1] if len(numbers) == 3 else 1
                    part.append(slice(first, last + 1, step))
                expected = sst[tuple(part)]
                self.assertEqual(values[8:], expected.astype(">f4").tobytes(), query)
                self.assertEqual(values[:8], 2 * expected.size.to_bytes(4, "big"))
                right += 1
        self.assertGreater(right, 10)
        self.assertGreater(refused, 10)

    def test_mutated_ranges_are_refused_or_right(self):
        self.archive(SMALL, "x.nc")
        data = SMALL.read_bytes()
        pick = random.Random(17)
        with self.serving("--quiet") as server:
            for _ in range(1000 if NIGHT else 150):
                header = list(f"bytes={pick.randrange(len(data))}-{pick.randrange(len(data))}")
                for _ in range(pick.randrange(3)):
                    header[pick.randrange(len(header))] = pick.choice("0123456789-,= abx")
                reply = server.ask("/x.nc", Range="".join(header))
                self.assertIn(reply.status, (200, 206, 416), header)
                if reply.status == 206 and reply["content-range"]:
                    first, last = map(int, reply["content-range"].split(" ")[1].split("/")[0].split("-"))
                    self.assertEqual(reply.body, data[first:last + 1])
                elif reply.status == 200:
                    self.assertEqual(reply.body, data)

    def test_text_and_form(self):
        self.archive(SMALL, "x.nc")
        with self.serving("--quiet") as server:
            text = server.ask("/x.nc.ascii?a%5B1:2%5D%5B0:2:4%5D").body.decode()
            self.assertIn("a[2][3]\n[0], 21, -32768, 25\n[1], 42, -32768, 46\n", text)
            self.assertIn("Int16 a[time = 2][x = 3];", text)
            form = server.ask("/x.nc.html")
            self.assertEqual(form["content-description"], "dods-form")
            self.assertIn(b'href="./x.nc.ascii?a[0:39][0:4]"', form.body)

    def test_long_text_is_right_and_is_never_in_memory_as_a_whole(self):
        """Strings longer and shorter than a piece of 1 MiB, of lengths that need padding."""
        netCDF4 = netcdf4(self)
        pick = np.random.default_rng(7)
        with netCDF4.Dataset(self.dir / "a.nc", "w", format="NETCDF3_64BIT_OFFSET") as d:
            for name, size in (("n", 3_000_001), ("rows", 3), ("wide", 1_500_002), ("many", 40_001), ("short", 61)):
                d.createDimension(name, size)
            texts = {}
            for name, dims in (("one", ("n",)), ("long", ("rows", "wide")), ("lines", ("many", "short"))):
                texts[name] = pick.integers(32, 127, [len(d.dimensions[x]) for x in dims]).astype("u1")
                d.createVariable(name, "S1", dims)[:] = texts[name].view("S1")
        self.archive(self.dir / "a.nc", "x.nc")
        huge = 48 << 20
        with open(self.source / "huge.nc", "wb") as f:
            f.write(header([("c", (0,), 2, huge)], [("n", huge)]))
            f.truncate(f.tell() + huge)

        def xdr(text):
            strings = text if text.ndim > 1 else text[None]
            count = struct.pack(">I", len(strings)) if text.ndim > 1 else b""
            return count + b"".join(struct.pack(">I", len(s)) + s.tobytes() + bytes(-len(s) % 4) for s in strings)

        with self.serving("--quiet") as server:
            for name, text in texts.items():
                self.assertTrue(server.ask(f"/x.nc.dods?{name}").body.split(b"Data:\n", 1)[1] == xdr(text), name)
            # Text has no index along its last dimension.
            for query, part in (("long[1:2]", texts["long"][1:]), ("lines[7:3:40000]", texts["lines"][7::3])):
                self.assertTrue(server.ask("/x.nc.dods?" + urllib.parse.quote(query)).body.split(b"Data:\n", 1)[1] == xdr(part), query)
            before = peak_memory(server.process.pid)
            self.assertEqual(len(server.ask("/huge.nc.dods?c").body.split(b"Data:\n", 1)[1]), 4 + huge)
            self.assertLess(peak_memory(server.process.pid) - before, huge // 3)

    def test_long_replies_are_made_in_pieces_and_have_a_limit(self):
        original = self.dir / "big.nc"
        synthetic(original, mib=24)
        self.archive(original, "x.nc")
        netCDF4 = netcdf4(self)
        with raw(netCDF4.Dataset(original)) as dataset:
            name = max(dataset.variables, key=lambda n: dataset[n].size)
            values = np.asarray(dataset[name][...])
        with self.serving("--quiet") as server:
            reply = server.ask(f"/x.nc.dods?{name}")
            body = reply.body.split(b"Data:\n", 1)[1]
            wide = values.astype(">i4") if values.dtype.itemsize == 2 else values.astype(values.dtype.newbyteorder(">"))
            self.assertEqual(body[8:8 + wide.nbytes], wide.tobytes())
        with self.serving("--quiet", "--max-reply", "1MiB") as server:
            reply = server.ask(f"/x.nc.dods?{name}")
            self.assertEqual(reply.status, 413)
            self.assertIn(b"ask for a part", reply.body)
            self.assertEqual(server.ask(f"/x.nc.ascii?{name}").status, 413)
            # Files have none.
            self.assertEqual(len(server.ask("/x.nc").body), original.stat().st_size)


if __name__ == "__main__":
    unittest.main()

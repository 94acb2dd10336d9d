"""dump prints what ncdump prints: of the original, of the archive, with the same letters."""

import os
import random
import re
import struct
import subprocess
import unittest
from pathlib import Path

from common import CLASSIC, NC3Z, NIGHT, Case, good_files, header, nc3z, need_program, peak_memory

DATA = os.environ.get("NC3Z_DATA_DIR")
EDGE = os.environ.get("NC3Z_EDGE_DIR")
EDGE_MAX = 8 << 20

# docs/dump.md, "Where the text differs": files of testdata that ncdump does not print, or prints wrongly.
REFUSED = {"fixed_reverse_order.nc", "overlapping.nc"}
STREAMING = {"streaming.nc", "streaming_partial.nc"}

FLAGS = (
    [], ["-h"], ["-c"], ["-b", "c"], ["-b", "f"], ["-f", "c"], ["-f", "f"], ["-b", "c", "-f", "c"], ["-l", "10"], ["-l", "33"], ["-l", "200"],
    ["-p", "3"], ["-p", "9,17"], ["-p", "20,20"], ["-p", "1,1"], ["-n", "2 nàmes;"], ["-k"], ["-s"],
)

TYPES = ("byte", "char", "short", "int", "float", "double", "ubyte", "ushort", "uint", "int64", "uint64")

ODD = r"""netcdf odd {
dimensions:
    t = UNLIMITED ; x = 5 ; y = 3 ; one = 1 ; wide = 40 ; two = 2 ; \2x = 2 ; a\ b = 2 ; größe = 3 ;
variables:
    byte b(x) ; b:_FillValue = -3b ; b:flag = 1b, -128b, 127b ;
    byte default_fill(x) ;
    char c0 ;
    char c1(wide) ; c1:text = "q\"uote's \\ back\ttab\nline\n" ; c1:empty = "" ; c1:nuls = "a\000b\000\000" ; c1:bytes = "\001\177\200\377é" ;
    char c2(y, x) ;
    char c3(two, y, x) ;
    char c4(t, x) ;
    char letters(x) ; letters:C_format = "%c" ;
    short s(t, y) ; s:a = -32768s, 32767s, 0s ; s:C_format = "%5d" ;
    int i(y, x) ; i:_FillValue = 7 ; i:a = -2147483647, 2147483647 ;
    float f(x) ; f:a = 1.f, 0.1f, 1.e20f, 1.17549435e-38f, NaNf, -Infinityf, Infinityf, 123456.7f, 1234567.f ;
    float g(wide) ; g:_FillValue = 1.e20f ;
    float h(x) ; h:_FillValue = NaNf ;
    float fixed(x) ; fixed:C_format = "%8.3f" ;
    float odd_format(x) ; odd_format:C_format = "<%+-9.2e>" ;
    double d(wide) ; d:a = 1., 0.1, 1.e-300, 4.94e-324, 1.7976931348623157e308, NaN, -Infinity ; d:one = 1. ;
    double e(x) ; e:_FillValue = Infinity ;
    double \2x(\2x) ; \2x:_FillValue = 0. ;
    int a\ b(a\ b) ; a\ b:x\ y = 1 ;
    short größe(größe) ; größe:é = "ü" ;
    int t3(one) ; t3:\3d = 3 ;
    double scalar ; scalar:long_list = 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13., 14., 15., 16., 17., 18., 19., 20. ;
    double a_name_that_is_longer_than_the_line_may_be_long_so_that_the_first_value_wraps(x) ;
    :title = "odd\n" ; :history = "one\ntwo\n" ; :numbers = 1, 2, 3 ; :text = "\b\f\r\v" ;
data:
    b = 1, -3, -127, 127, -128 ;
    default_fill = -127, _, 0, 1, 2 ;
    c0 = "x" ;
    c1 = "a\000b'\"\\\n\t\r\b\f\v\001\177é" ;
    c2 = "abcde", "ab", "" ;
    c3 = "a\nb", "\000\000a", "", "ab\n", "x", "y" ;
    c4 = "one", "two\n", "thr" ;
    letters = "ab" ;
    s = 1, 2, 3, -32767, 32767, 0, _, _, 4 ;
    i = 1, 7, -2147483647, _, 0, 1, 2, 3, 4, 5, 2147483647, 7, 7, 7, 7 ;
    f = 1.5, NaNf, Infinityf, -Infinityf, _ ;
    g = 0, -0, 1, 10, 100000, 1e6, 1e7, 1234567, 12345678, 0.1, 0.0001, 0.00001, 1.e20, 1.00000004e20, 3.4028235e38, 1.e-45,
        1.17549435e-38, 16777216, 16777217, 0.333333333, 9999999.5, 999999.95, 2.5, 1e-4, 1.5e-5, 123456.7 ;
    h = NaNf, 1, Infinityf, _, 2 ;
    fixed = 1, -1.5, 1000.0005, _, 12345678 ;
    odd_format = 1, -1.5, 1000.0005, _, NaNf ;
    d = 0, -0, 1, 1e14, 1e15, 1e16, 123456789012345., 1234567890123456., 0.1, 0.3, 1e-4, 1e-5, 5e-324, 2.2250738585072014e-308,
        1.7976931348623157e308, 0.1e-300, 3.141592653589793, 2.718281828459045, 1e100, 1e-100, 0.5, 1e22, 1e23, 9007199254740993. ;
    e = Infinity, -Infinity, NaN, 1, _ ;
    \2x = 0, 1 ;
    a\ b = 1, 2 ;
    größe = 1, 2, 3 ;
    t3 = 1 ;
    scalar = 0.1 ;
    a_name_that_is_longer_than_the_line_may_be_long_so_that_the_first_value_wraps = 1.5, 2, 3, 4, 5 ;
}
"""


class Dump(Case):
    def setUp(self):
        super().setUp()
        self.ncdump = need_program(self, "ncdump")

    def reference(self, flags, path):
        """Returns the output of ncdump, or None if it fails."""
        done = subprocess.run([self.ncdump, *flags, str(path)], capture_output=True, check=False, timeout=300)
        return done.stdout if done.returncode == 0 else None

    def archive(self, path, *options):
        archive = self.dir / (path.name + ".nc3z")
        self.ok(nc3z("archive", "--force", "--preset", "fast", *options, path, "-o", archive))
        return archive

    def compare(self, path, flags, archive, change=lambda text: text):
        """ncdump's text against ours; False where ncdump fails."""
        expected = self.reference(flags, path)
        if expected is None:
            return False
        expected = change(expected)
        for file in (path, archive):
            with self.subTest(file=file.name, flags=flags):
                found = self.ok(nc3z("dump", *flags, file)).stdout
                if found != expected:
                    at = next((n for n, (a, b) in enumerate(zip(found, expected)) if a != b), min(len(found), len(expected)))
                    self.fail(f"at byte {at}: {found[max(0, at - 60):at + 60]!r}, ncdump: {expected[max(0, at - 60):at + 60]!r}")
        return True

    def compare_all(self, paths, exceptions=frozenset()):
        """All text, the header, coordinates, and the last variable by name."""
        compared = 0
        for path in paths:
            archive = self.archive(path)
            names = self.variables(archive)
            # Names with what -v takes for its own cannot be asked for; so with names that dump escapes.
            sample = [["-v", names[-1]]] if names and names[-1].isidentifier() else []
            for flags in [[], ["-h"], ["-c"], *sample]:
                done = self.compare(path, flags, archive)
                self.assertTrue(done or path.name in exceptions, f"ncdump {flags} does not print {path}")
                compared += done
            archive.unlink()
        return compared

    def variables(self, path):
        import json

        return [v["name"] for v in json.loads(self.ok(nc3z("info", "--json", path)).stdout)["variables"]]

    def generate(self, name, cdl, kind):
        path = self.dir / name
        (self.dir / "in.cdl").write_text(cdl, encoding="utf-8")
        done = subprocess.run([need_program(self, "ncgen"), f"-{kind}", "-o", path, self.dir / "in.cdl"], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return path


class Files(Dump):
    def test_files(self):
        paths = [p for p in good_files() if p.name not in STREAMING]
        self.need(paths, "test files")
        self.assertGreater(self.compare_all(paths, REFUSED), 60)

    def test_chunked_archives(self):
        """Values come in rows whatever the tiles are."""
        for path in (CLASSIC / "coads_climatology.cdf", CLASSIC / "all_types_cdf5.nc", CLASSIC / "record_padding.nc"):
            for options in (["--layout", "chunked"], ["--layout", "series"], ["--layout", "map"], ["--layout", "chunked", "--edge", "pad"]):
                self.assertTrue(self.compare(path, [], self.archive(path, *options)))

    def test_dates(self):
        cdl = """netcdf dates {
        dimensions: time = UNLIMITED ; n = 2 ; x = 6 ;
        variables:
          double time(time) ; time:units = "days since 2000-01-01" ; time:calendar = "noleap" ; time:bounds = "tb" ;
            time:valid_range = 0., 900.5 ; time:three = 1, 2, 3 ; time:many = 1.f, 2.f, 3.5f, 4.f, 5.f, 6.25f, 7.f, 8.f, 9.f ;
          double tb(time, n) ;
          float hours(x) ; hours:units = "hours since 1990-1-1 06:30" ; hours:_FillValue = -1.f ;
          int secs(x) ; secs:units = "seconds since 1970-01-01T00:00:00Z" ; secs:calendar = "360_day" ;
          short old(x) ; old:units = "days since 0001-01-01" ;
          double fine(x) ; fine:units = "seconds since 2000-01-01" ; fine:calendar = "proleptic_gregorian" ;
          double far(x) ; far:units = "days since 1582-10-04" ; far:calendar = "standard" ;
          int lead(x) ; lead:units = "hours" ;
          char text(x) ; text:units = "days since 2000-01-01" ;
        data:
          time = 0, 0.5, 1.25, 59 ; tb = 0, 1, 1, 2, 2, 3, 58.5, 60 ; hours = 1, _, 3.5, 4, 5, 6 ; secs = 0, 59, 60, 3600, 86400, -1 ;
          old = 1, 366, 3, 4, 5, 6 ; fine = 0.5, 1.25, 3, 61.5, NaN, -0.5 ; far = 2, -1, 0, 100000, NaN, _ ; lead = 1, 2, 3, 4, 5, 6 ; text = "abcdef" ;
        }"""
        (self.dir / "dates.cdl").write_text(cdl)
        path = self.dir / "dates.nc"
        subprocess.run([need_program(self, "ncgen"), "-o", path, self.dir / "dates.cdl"], check=True)
        archive = self.archive(path)
        for flags in (["-t"], ["-i"], ["-t", "-i"], ["-t", "-h"], ["-i", "-c"], ["-t", "-v", "tb"], ["-t", "-f", "c", "-v", "tb"],
                      ["-t", "-b", "f", "-v", "tb"], ["-t", "-l", "40"], ["-t", "-l", "60"], ["-t", "-p", "3"], ["-w"], ["-t", "-s"]):
            self.assertTrue(self.compare(path, flags, archive), flags)
        # Packed values are unpacked first, and values that are not times stay numbers.
        (self.dir / "more.cdl").write_text("""netcdf more { dimensions: x = 2 ; variables:
            short packed(x) ; packed:units = "days since 2000-01-01" ; packed:scale_factor = 0.5 ;
            int odd(x) ; odd:units = "days since yesterday" ; data: packed = 1, 2 ; odd = 1, 2 ; }""")
        subprocess.run(["ncgen", "-o", self.dir / "more.nc", self.dir / "more.cdl"], check=True)
        text = self.ok(nc3z("dump", "-t", self.dir / "more.nc")).stdout.decode()
        self.assertIn(' packed = "2000-01-01 12", "2000-01-02" ;', text)
        self.assertIn(" odd = 1, 2 ;", text)

    def test_files_that_ncdump_refuses(self):
        for name in sorted(REFUSED):
            path = CLASSIC / name
            self.assertIsNone(self.reference([], path))
            text = self.ok(nc3z("dump", path)).stdout
            self.assertIn(b"data:\n", text)
            self.assertEqual(self.ok(nc3z("dump", self.archive(path))).stdout, text)

    def test_streaming_counts_the_records_there_are(self):
        for name, records in (("streaming.nc", 6), ("streaming_partial.nc", 5)):
            path = CLASSIC / name
            self.assertIn(b"(4294967295 currently)", self.reference(["-h"], path))
            self.assertIn(b"(%d currently)" % records, self.ok(nc3z("dump", "-h", path)).stdout)
            text = self.ok(nc3z("dump", path)).stdout
            self.assertEqual(self.ok(nc3z("dump", self.archive(path))).stdout, text)
            # With the count in its place, ncdump agrees.
            raw = bytearray(path.read_bytes())
            raw[4:8] = struct.pack(">I", records)
            fixed = self.dir / f"fixed_{name}"
            fixed.write_bytes(raw)
            self.assertTrue(self.compare(fixed, [], self.archive(fixed)))
            self.assertEqual(self.ok(nc3z("dump", "-n", path.stem, fixed)).stdout, text)

    @unittest.skipUnless(DATA, "NC3Z_DATA_DIR is not set: its files are not dumped")
    def test_data_directory(self):
        paths = sorted(p for p in Path(DATA).rglob("*") if p.suffix in (".nc", ".cdf") and p.read_bytes()[:3] == b"CDF")
        self.compare_all(self.need(paths, f"files of {DATA}"))

    @unittest.skipUnless(EDGE, "NC3Z_EDGE_DIR is not set: the edge corpus is not dumped")
    def test_edge_corpus(self):
        paths = sorted(p for p in (Path(EDGE) / "valid").glob("*.nc") if p.stat().st_size < EDGE_MAX)
        self.compare_all(self.need(paths, "edge files"), {"v_name_lengths.nc"})


class Generated(Dump):
    def test_odd_cdl(self):
        for kind in (3, 6, 5):
            path = self.generate(f"odd{kind}.nc", ODD, kind)
            archive = self.archive(path)
            for flags in FLAGS:
                if flags == ["-s"] and kind == 5:
                    continue  # ncdump fails: see test_special_attributes
                # ncdump prints the memory before a scalar's indices: 33, so 34.
                change = (lambda text: re.sub(rb"// (c0|scalar)\(34\)", rb"// \1(1)", text)) if flags == ["-f", "f"] else (lambda text: text)
                self.assertTrue(self.compare(path, flags, archive, change), flags)

    def test_all_types(self):
        lines = ["netcdf types {", "dimensions: t = UNLIMITED ; x = 4 ;", "variables:"]
        ends = {
            "byte": "-128, 127, 0, _", "char": '"ab\\000c"', "short": "-32768, 32767, -32767, 0", "int": "-2147483648, 2147483647, _, 0",
            "float": "NaNf, -Infinityf, 9.96921e36f, 0", "double": "NaN, Infinity, -1.5, _", "ubyte": "0, 255, 254, _",
            "ushort": "0, 65535, 65534, _", "uint": "0, 4294967295U, 4294967294U, _",
            "int64": "-9223372036854775808LL, 9223372036854775807LL, -9223372036854775806LL, 0",
            "uint64": "0, 18446744073709551615ULL, 18446744073709551614ULL, _",
        }
        suffix = {"byte": "b", "short": "s", "float": ".f", "double": ".", "ubyte": "UB", "ushort": "US", "uint": "U", "int64": "LL", "uint64": "ULL"}
        for n, ty in enumerate(TYPES):
            value = '"text"' if ty == "char" else ", ".join(f"{v}{suffix.get(ty, '')}" for v in (1, 20, 100))
            lines.append(f"{ty} v{n}(t, x) ; v{n}:a = {value} ; {ty} s{n} ; {ty} w{n}(x) ;")
        lines.append("data:")
        for n, ty in enumerate(TYPES):
            row = ends[ty]
            lines.append(f"v{n} = {row}, {row} ; w{n} = {row} ; s{n} = {row.split(',')[0]} ;")
        path = self.generate("types.nc", "\n".join([*lines, "}"]), 5)
        archive = self.archive(path)
        for flags in FLAGS:
            if flags not in (["-s"], ["-f", "f"]):
                self.assertTrue(self.compare(path, flags, archive), flags)

    def test_empty(self):
        for turn, kind in enumerate((3, 6, 5)):
            for n, cdl in enumerate(("netcdf x { }", "netcdf x { dimensions: t = UNLIMITED ; }", "netcdf x { :a = 1 ; }",
                                     "netcdf x { dimensions: t = UNLIMITED ; x = 2 ; variables: int a(t) ; int b(t, x) ; char c(x) ; }")):
                path = self.generate(f"empty{kind}{n}.nc", cdl, kind)
                archive = self.archive(path)
                # By day, every flag meets every text, in one of the formats.
                for flags in FLAGS if NIGHT else FLAGS[(turn + n) % 3::3]:
                    if flags != ["-s"] or kind != 5:
                        self.assertTrue(self.compare(path, flags, archive), flags)

    def test_special_attributes(self):
        import netCDF4

        path = self.dir / "hidden.nc"
        with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as n:
            n.setncatts({"_NCProperties": "version=2,\"x\"", "_SuperblockVersion": 2.5, "_IsNetcdf4": 7, "a": 1})
            for keyword in ("data", "types", "group", "variables", "dimensions"):
                n.createDimension(keyword, 2)
                n.createVariable(keyword, "i2", (keyword,)).units = "keyword"
        archive = self.archive(path)
        for flags in ([], ["-s"], ["-b", "c"]):
            self.assertTrue(self.compare(path, flags, archive), flags)
        # Of CDF-5 variables ncdump prints their storage and then fails.
        path = self.generate("five.nc", "netcdf x { dimensions: x = 1 ; variables: int a(x) ; a:u = 1 ; data: a = 1 ; }", 5)
        done = subprocess.run([self.ncdump, "-s", str(path)], capture_output=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        text = self.ok(nc3z("dump", "-s", path)).stdout
        self.assertTrue(text.startswith(done.stdout), done.stdout)
        self.assertIn(b'\t\t:_Format = "cdf5" ;\n', text)

    def test_formats(self):
        """C_format attributes that C defines for their type."""
        ints = ("%d", "%i", "%5d|", "%-5d|", "%05d", "%+d", "% d", "%.3d", "%x", "%#X", "%o", "%#o", "%u", "%hd", "%hhd", "%c", "%%%d%%", "none")
        floats = ("%f", "%.0f", "%#.0f", "%10.3f", "%-10.3f|", "%010.3f", "%e", "%.3E", "%g", "%G", "%#g", "%.10g", "%.17g", "%+.2e", "% f", "%lf", "%5.1f%%")
        values = "0, 1, -1, 255, -32767, 300, 65" , "0., 1., -1.5, 0.1, 123456.789, 1.e-10, 2.5"
        variables, data = [], []
        for group, types, row in ((ints, ("byte", "short", "int"), values[0]), (floats, ("float", "double"), values[1])):
            for ty in types:
                for n, text in enumerate(group):
                    name = f"{ty}_{n}"
                    variables.append(f'{ty} {name}(x) ; {name}:C_format = "{text}" ;')
                    small = ", ".join(str((int(v) + 128) % 256 - 128) for v in row.split(",")) if ty == "byte" else row
                    data.append(f"{name} = {small} ;")
        cdl = "\n".join(["netcdf x {", "dimensions: x = 7 ;", "variables:", *variables, "data:", *data, "}"])
        path = self.generate("formats.nc", cdl, 3)
        for flags in ([], ["-f", "c"], ["-p", "4"], ["-l", "20"]):
            self.assertTrue(self.compare(path, flags, self.archive(path)) if flags == [] else self.compare(path, flags, path), flags)

    def test_formats_that_c_leaves_undefined(self):
        cdl = 'netcdf x { dimensions: x = 2 ; variables: float f(x) ; f:C_format = "%d" ; int i(x) ; i:C_format = "%s%n" ; data: f = 1.5, 2 ; i = 1, 2 ; }'
        text = self.ok(nc3z("dump", self.generate("undefined.nc", cdl, 3))).stdout
        self.assertIn(b" f = 1.5, 2 ;\n", text)
        self.assertIn(b" i = 1, 2 ;\n", text)


class Random(Dump):
    """Random values: any bits, any shape."""

    def write(self, name, dims, variables, data, version=1, numrecs=0):
        path = self.dir / name
        path.write_bytes(header(variables, dims, version, numrecs) + data)
        return path

    def test_any_bits(self):
        rng = random.Random(1)
        count = 20_000
        floats = rng.randbytes(4 * count)
        # Numbers as people have them: few digits, and halfway between two of seven or fifteen.
        plain = [rng.randrange(-10**rng.randrange(1, 17), 10**rng.randrange(1, 17)) / 10**rng.randrange(0, 12) for _ in range(count)]
        halves = [(rng.randrange(10**6, 10**7) + 0.5) * 10.0**rng.randrange(-3, 4) for _ in range(count)]
        parts = [floats, struct.pack(f">{count}f", *plain), struct.pack(f">{count}f", *halves),
                 rng.randbytes(8 * count), struct.pack(f">{count}d", *plain), struct.pack(f">{count}d", *halves), rng.randbytes(2 * count)]
        kinds = [5, 5, 5, 6, 6, 6, 3]
        variables = [(f"v{n}", (0,), kind, len(part)) for n, (kind, part) in enumerate(zip(kinds, parts))]
        path = self.write("bits.nc", [("x", count)], variables, b"".join(parts))
        archive = self.archive(path)
        for flags in ([], ["-p", "9,17"], ["-p", "1,2"], ["-p", "20,20"]):
            self.assertTrue(self.compare(path, flags, archive), flags)

    def test_any_text(self):
        rng = random.Random(2)
        for n, alphabet in enumerate((bytes(range(256)), b"\0\0\0\0ab\n\"", b"\0", b"\n\\")):
            columns, rows = rng.randrange(1, 400), rng.randrange(1, 60)
            text = bytes(rng.choice(alphabet) for _ in range(columns * rows))
            padded = text + b"\0" * (-len(text) % 4)
            path = self.write(f"text{n}.nc", [("y", rows), ("x", columns)], [("c", (0, 1), 2, len(padded))], padded)
            archive = self.archive(path)
            for flags in ([], ["-b", "c"], ["-f", "f"]):
                self.assertTrue(self.compare(path, flags, archive), flags)

    def test_any_shape(self):
        rng = random.Random(3)
        for n in range(40 if NIGHT else 14):
            rank = rng.randrange(0, 6)
            dims = [(f"d{i}", rng.randrange(1, 6)) for i in range(rank)]
            total = 1
            for _, size in dims:
                total *= size
            records = n % 2 == 1 and rank > 0
            if records:
                numrecs, dims[0] = dims[0][1], (dims[0][0], 0)
            values = [rng.choice((0, 1, -32767, 12345, rng.randrange(-32768, 32768))) for _ in range(total)]
            data = struct.pack(f">{total}h", *values)
            path = self.write(f"shape{n}.nc", dims, [("v", tuple(range(rank)), 3, len(data) + len(data) % 4)],
                              data + b"\0" * (0 if records else len(data) % 4), 1, numrecs if records else 0)
            archive = self.archive(path)
            for flags in ([], ["-l", "30"], ["-b", "c"], ["-b", "f"], ["-f", "c"], *([["-f", "f"]] if rank else [])):
                self.assertTrue(self.compare(path, flags, archive), flags)


class Behaviour(Dump):
    def test_names(self):
        path = self.generate("x.y.nc", "netcdf x { }", 3)
        archive = self.archive(path)
        self.assertEqual(self.ok(nc3z("dump", archive)).stdout, b"netcdf x.y {\n}\n")
        self.assertEqual(self.ok(nc3z("dump", "-n", "other", archive)).stdout, b"netcdf other {\n}\n")
        bare = path.with_name("noend")
        path.rename(bare)
        self.assertTrue(self.compare(bare, [], self.archive(bare)))

    def test_unknown_variable(self):
        path = self.generate("x.nc", "netcdf x { variables: int a ; int b ; }", 3)
        done = self.fails(nc3z("dump", "-v", "a,none", path), 1, "x.nc.*no variable `none`; there are a, b")
        self.assertEqual(done.stdout, b"")

    def test_usage(self):
        for args in (["-l", "9"], ["-p", "0"], ["-p", "21"], ["-b", "x"], ["-x"], []):
            self.assertEqual(nc3z("dump", *args, *(["f.nc"] if args else [])).returncode, 2, args)

    def test_truncated_file_is_told(self):
        done = self.ok(nc3z("dump", CLASSIC / "truncated_fixed.nc"))
        self.assertRegex(done.stderr, r"warning: `a`: \d+ of 15 values are beyond the end of the file")

    def test_closed_pipe_is_no_error(self):
        path = self.write_long()
        shell = subprocess.run(f"'{os.environ.get('NC3Z') or nc3z.__globals__['NC3Z']}' dump {path} | head -c 100", shell=True,
                               capture_output=True, check=False, timeout=60)
        self.assertEqual((len(shell.stdout), shell.stderr), (100, b""))

    def write_long(self):
        path = self.dir / "long.nc"
        path.write_bytes(header([("v", (0,), 4, 8 << 20)], [("x", 2 << 20)]) + b"\x01\x02\x03\x04" * (2 << 20))
        return path

    def test_memory_is_bounded(self):
        """A long row of NULs that ends in another character is not collected in memory."""
        path = self.dir / "nuls.nc"
        size = 256 << 20
        with open(path, "wb") as f:
            f.write(header([("c", (0,), 2, size)], [("x", size)]))
            f.truncate(f.tell() + size - 1)
            f.seek(0, 2)
            f.write(b"x")
        process = subprocess.Popen([NC3Z, "dump", str(path)], stdout=subprocess.PIPE)
        length, tail, memory = 0, b"", 0
        while chunk := process.stdout.read(1 << 20):
            length += len(chunk)
            tail = (tail + chunk)[-23:]
            memory = max(memory, peak_memory(process.pid))
        process.stdout.close()
        self.assertEqual(process.wait(), 0)
        self.assertEqual(tail, b'\\000' * 4 + b'x" ;\n}\n')
        self.assertGreater(length, 4 * (size - 1))
        self.assertTrue(0 < memory < 64 << 20, memory)


if __name__ == "__main__":
    unittest.main()

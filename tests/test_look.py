"""Commands that look at data and collections: find, plot, report; and completions and manual pages."""

import base64
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree
import zlib

from common import CLASSIC, Case, nc3z

COADS = CLASSIC / "coads_climatology.cdf"


def field(path, values, *, lat, lon, fill=-999.0, scale=None, units="K", time=None, bits=4):
    """A classic file of one variable over latitude and longitude, written by netCDF4."""
    import netCDF4
    import numpy as np

    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
        for name, axis, unit in (("lat", lat, "degrees_north"), ("lon", lon, "degrees_east")):
            d.createDimension(name, len(axis))
            v = d.createVariable(name, "f4", (name,))
            v.units = unit
            v[:] = axis
        dims = ("lat", "lon")
        if time is not None:
            d.createDimension("time", None)
            v = d.createVariable("time", "f8", ("time",))
            v.units, v.calendar = "days since 2000-01-01", "standard"
            v[:] = time
            dims = ("time", *dims)
        v = d.createVariable("tas", f"f{bits}" if scale is None else "i2", dims, fill_value=fill)
        v.units, v.long_name, v.standard_name = units, "air temperature", "air_temperature"
        v.set_auto_maskandscale(False)
        if scale is not None:
            v.scale_factor, v.add_offset = scale
        v[:] = np.asarray(values)
    return path


def pixels(png):
    """Width, height and rows of a PNG, decoded by hand: nothing of ours."""
    import numpy as np

    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data, head = 8, b"", None
    while at < len(png):
        n, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        body = png[at + 8:at + 8 + n]
        assert zlib.crc32(kind + body) == int.from_bytes(png[at + 8 + n:at + 12 + n], "big")
        head = body if kind == b"IHDR" else head
        data += body if kind == b"IDAT" else b""
        at += 12 + n
    width, height, depth, colour = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:8], "big"), head[8], head[9]
    channels = {2: 3, 6: 4}[colour]
    assert depth == 8
    raw, stride = zlib.decompress(data), width * channels
    rows, before = [], np.zeros(stride, np.uint8)
    for y in range(height):
        kind, line = raw[y * (stride + 1)], np.frombuffer(raw, np.uint8, stride, y * (stride + 1) + 1).copy()
        if kind == 2:
            line += before
        elif kind in (1, 3, 4):
            for i in range(stride):
                a = int(line[i - channels]) if i >= channels else 0
                b, c = int(before[i]), int(before[i - channels]) if i >= channels else 0
                p = a + b - c
                paeth = a if abs(p - a) <= abs(p - b) and abs(p - a) <= abs(p - c) else b if abs(p - b) <= abs(p - c) else c
                line[i] = (int(line[i]) + {1: a, 3: (a + b) // 2, 4: paeth}[kind]) & 255
        rows.append(line.reshape(width, channels))
        before = line
    return np.stack(rows)


class Find(Case):
    """Variables, dimensions, attributes across files."""

    def setUp(self):
        super().setUp()
        field(self.dir / "a.nc", [[1.0, 2.0]], lat=[0], lon=[0, 1])
        field(self.dir / "b.nc", [[1.0, 2.0]], lat=[0], lon=[0, 1], units="degC")
        (self.dir / "sub").mkdir()
        shutil.copy(COADS, self.dir / "sub/coads.nc")
        self.ok(nc3z("archive", "--remove-source", "b.nc", cwd=self.dir))
        (self.dir / "notes.txt").write_text("tas")

    def rows(self, *args, code=0):
        done = nc3z("find", "--json", *args, cwd=self.dir)
        self.assertEqual(done.returncode, code, done.stderr)
        return [(f["file"], m.get("variable"), m["found"], m.get("name")) for f in json.loads(done.stdout) for m in f["matches"]]

    def test_names_values_and_patterns(self):
        self.assertEqual(self.rows("tas", "."), [("./a.nc", "tas", "variable", None), ("./b.nc.nc3z", "tas", "variable", None)])
        self.assertEqual(self.rows("standard_name=air_temperature", "."), [("./a.nc", "tas", "attribute", "standard_name"),
                                                                          ("./b.nc.nc3z", "tas", "attribute", "standard_name")])
        self.assertEqual(self.rows("units=deg?", "."), [("./b.nc.nc3z", "tas", "attribute", "units")])
        self.assertEqual(self.rows("units=k", "a.nc", "b.nc.nc3z"), [("a.nc", "tas", "attribute", "units")])
        self.assertIn(("sub/coads.nc", None, "dimension", "COADSX"), self.rows("coadsx", "sub"))
        self.assertIn(("sub/coads.nc", "COADSX", "variable", None), self.rows("COADSX", "sub"))
        self.assertEqual(self.rows("nothing*", ".", code=1), [])

    def test_text(self):
        done = self.ok(nc3z("find", "sea surface", ".", cwd=self.dir))
        self.assertRegex(done.stdout.decode(), r"\./sub/coads\.nc +SST\(TIME, COADSY, COADSX\) +Deg C +long_name +SEA SURFACE TEMPERATURE")
        done = self.ok(nc3z("find", "-l", "units=K", ".", cwd=self.dir))
        self.assertEqual(done.stdout, b"./a.nc\n")

    def test_what_cannot_be_read_is_told(self):
        (self.dir / "bad.nc").write_bytes(b"CDF\x01" + b"\xff" * 60)
        self.fails(nc3z("find", "tas", ".", cwd=self.dir), 1, "bad.nc")
        self.fails(nc3z("find", "", ".", cwd=self.dir), 1, "the pattern is empty")


class Coordinates(Case):
    def test_each_value_with_what_it_stands_at(self):
        args = ("read", COADS, "SST", "-d", "TIME,1", "-d", "COADSY,45,46", "-d", "COADSX,80,82")
        lines = self.ok(nc3z(*args, "--coordinates")).stdout.decode().splitlines()
        self.assertEqual(len(lines), 6)
        self.assertRegex(lines[0], r"^TIME\[1\]=\S+ COADSY\[45\]=1\.0 COADSX\[80\]=181\.0 SST=\S+$")
        self.assertRegex(lines[5], r"^TIME\[1\]=\S+ COADSY\[46\]=3\.0 COADSX\[82\]=185\.0 SST=\S+$")
        plain = self.ok(nc3z(*args)).stdout.split()
        self.assertEqual([line.rsplit("=", 1)[1].encode() for line in lines], plain)
        # CSV has coordinates anyway: the option changes nothing.
        csv = self.ok(nc3z(*args, "--format", "csv", "--raw"))
        self.assertEqual(self.ok(nc3z(*args, "--format", "csv", "--raw", "--coordinates")).stdout, csv.stdout)
        self.assertEqual([line.rsplit(",", 1)[1].encode() for line in csv.stdout.decode().splitlines()[1:]], plain)
        self.fails(nc3z(*args, "--coordinates", "--format", "json"), 2, "--coordinates is for text")

    def test_a_dimension_without_a_coordinate_has_its_index(self):
        done = self.ok(nc3z("read", CLASSIC / "numeric.nc", "tenths", "--coordinates", "--start", "2,3,4", "--count", "2,1,1"))
        self.assertRegex(done.stdout.decode(), r"^t\[2\] y\[3\] x\[4\] tenths=\S+\nt\[3\] y\[3\] x\[4\] tenths=\S+\n$")


class Info(Case):
    def test_many_files(self):
        for name in ("a.nc", "b.nc"):
            shutil.copy(CLASSIC / "numeric.nc", self.dir / name)
        self.ok(nc3z("archive", "-q", "a.nc", cwd=self.dir))
        each = [self.ok(nc3z("info", name, cwd=self.dir)).stdout for name in ("a.nc.nc3z", "b.nc")]
        self.assertEqual(self.ok(nc3z("info", "a.nc.nc3z", "b.nc", cwd=self.dir)).stdout, b"\n".join(each))
        found = json.loads(self.ok(nc3z("info", "--json", "a.nc.nc3z", "b.nc", cwd=self.dir)).stdout)
        self.assertEqual([f["kind"] for f in found], ["archive", "classic"])
        done = self.fails(nc3z("info", "--json", "a.nc", "none.nc", "b.nc", cwd=self.dir), 1, "none.nc")
        found = json.loads(done.stdout)
        self.assertEqual([f["file"] for f in found], ["a.nc", "none.nc", "b.nc"])
        self.assertIn("No such file", found[1]["error"]["message"])


class Plot(Case):
    def plot(self, *args, output="p.png"):
        self.ok(nc3z("plot", *args, "-f", "-o", output, cwd=self.dir))
        return (self.dir / output).read_bytes()

    def map(self, *args):
        """The pixels inside the frame of a map."""
        import numpy as np

        picture = pixels(self.plot(*args, "--width", 320, "--no-coastline"))
        # The frame is the largest rectangle of ink: its lines, across and down, are the first ones that are long.
        ink = (picture == 40).all(axis=2)
        rows = np.flatnonzero(ink.sum(axis=1) > 100)
        columns = np.flatnonzero(ink[rows[0]])
        left, right = columns[0], columns[np.flatnonzero(np.diff(columns) > 1)[0]] if (np.diff(columns) > 1).any() else columns[-1]
        self.assertTrue(ink[rows[0]:rows[-1] + 1, [left, right]].all())
        return picture[rows[0] + 1:rows[-1], left + 1:right]

    def test_north_is_up_whichever_way_latitudes_run(self):
        import numpy as np

        values = np.arange(12.0).reshape(3, 4)
        for name, lat, v in (("up", [-60, 0, 60], values), ("down", [60, 0, -60], values[::-1])):
            with self.subTest(name):
                field(self.dir / "x.nc", v, lat=lat, lon=[0, 90, 180, 270])
                inside = self.map("x.nc", "tas")
                height, width = inside.shape[:2]
                corner = lambda y, x: tuple(inside[int(height * y), int(width * x)])
                # viridis: the smallest is dark blue, the largest yellow.
                self.assertEqual(corner(0.95, 0.05), (0x44, 0x01, 0x54))
                self.assertEqual(corner(0.05, 0.95), (0xfd, 0xe7, 0x25))
                self.assertEqual(len({corner(y, x) for y in (0.2, 0.5, 0.8) for x in (0.1, 0.4, 0.6, 0.9)}), 12)

    def test_missing_is_blank_and_packed_is_unpacked(self):
        import numpy as np

        values = np.array([[0, 100], [-32767, 200]], np.int16)
        field(self.dir / "x.nc", values, lat=[0, 10], lon=[0, 10], fill=-32767, scale=(0.5, 10.0))
        inside = self.map("x.nc", "tas")
        height, width = inside.shape[:2]
        self.assertEqual(tuple(inside[height // 4, width // 4]), (255, 255, 255))
        self.assertEqual(tuple(inside[3 * height // 4, width // 4]), (0x44, 0x01, 0x54))
        svg = self.plot("x.nc", "tas", output="x.svg").decode()
        words = [t.text.strip() for t in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
        # 0.5 * 0 + 10 to 0.5 * 200 + 10.
        self.assertIn("100", words)
        self.assertNotIn("200", words)
        self.assertIn("tas (K)", words)

    def test_longitudes_across_the_meridian(self):
        import numpy as np

        values = np.tile(np.arange(36.0), (2, 1))
        field(self.dir / "x.nc", values, lat=[0, 10], lon=np.arange(0, 360, 10))
        svg = self.plot("x.nc", "tas", "-d", "lon,340.0,20.0", output="x.svg").decode()
        words = [t.text.strip() for t in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("\u221210", words)
        self.assertIn("lon (degrees_east)", words)

    def test_cells_are_drawn_where_their_coordinates_are(self):
        """A grid that is turned by 45 degrees, across the meridian of 180; the same cells in no order; the same as a series of times."""
        import netCDF4
        import numpy as np

        j, i = np.mgrid[-10:11, -10:11]
        lon, lat = (180.0 + i - j + 180) % 360 - 180, 20.0 + i + j
        order = np.random.default_rng(1).permutation(lon.size)
        with netCDF4.Dataset(self.dir / "x.nc", "w", format="NETCDF3_CLASSIC") as d:
            for name, size in (("t", 2), ("y", 21), ("x", 21), ("cell", lon.size), ("obs", lon.size)):
                d.createDimension(name, size)
            for name, dims, values, units in (
                    ("nav_lon", ("y", "x"), lon, None), ("nav_lat", ("y", "x"), lat, None),
                    ("clon", ("cell",), lon.ravel()[order], "degrees_east"), ("clat", ("cell",), lat.ravel()[order], "degrees_north"),
                    ("olon", ("obs",), lon.ravel(), "degrees_east"), ("olat", ("obs",), lat.ravel(), "degrees_north"),
                    ("when", ("obs",), np.arange(lon.size), "days since 2000-01-01")):
                v = d.createVariable(name, "f8", dims)
                v[:] = values
                if units:
                    v.units = units
            for name, dims, values, coordinates in (
                    ("grid", ("t", "y", "x"), np.stack([lat, -lat]), "nav_lon nav_lat"), ("loose", ("t", "cell"), np.stack([lat.ravel()[order]] * 2), None),
                    ("track", ("obs",), lat.ravel(), "when olon olat")):
                v = d.createVariable(name, "f4", dims)
                v[:] = values
                if coordinates:
                    v.coordinates = coordinates
        for name in ("grid", "loose"):
            with self.subTest(name):
                inside = self.map("x.nc", name)
                height, width = inside.shape[:2]
                at = lambda y, x: inside[int(height * y), int(width * x)].astype(int)
                for corner in ((0.1, 0.1), (0.1, 0.9), (0.9, 0.1), (0.9, 0.9)):
                    self.assertEqual(tuple(at(*corner)), (255, 255, 255))
                # From dark blue in the south to yellow in the north, in one piece.
                self.assertLess(at(0.9, 0.5)[1], 60)
                self.assertGreater(at(0.1, 0.5)[1], 200)
                self.assertFalse((inside[height // 2, width // 5:-(width // 5)] == 255).all(axis=1).any())
                words = self.plot("x.nc", name, output="x.svg").decode()
                self.assertIn("(degrees_north)" if name == "loose" else "nav_lat", words)
                self.assertIn(">180<", words.replace("\n", ""))
        self.assertIn("<image", self.plot("x.nc", "grid", output="x.svg").decode())
        self.assertNotIn("<image", self.plot("x.nc", "track", output="x.svg").decode())

    def test_svg_is_sound_and_holds_the_map(self):
        svg = self.plot(COADS, "SST", "-d", "TIME,0", "--width", 300, output="m.svg")
        root = ElementTree.fromstring(svg)
        image = next(root.iter("{http://www.w3.org/2000/svg}image"))
        href = image.get("href")
        self.assertTrue(href.startswith("data:image/png;base64,"))
        inner = pixels(base64.b64decode(href.split(",")[1]))
        self.assertEqual(inner.shape[2], 4)
        self.assertTrue((inner[..., 3] == 0).any() and (inner[..., 3] == 255).any())
        words = [t.text.strip() for t in root.iter("{http://www.w3.org/2000/svg}text")]
        for word in ("SEA SURFACE TEMPERATURE (SST)", "COADSX (degrees_east)", "COADSY (degrees_north)", "SST (Deg C)", "\u221260", "180"):
            self.assertIn(word, words)
        self.assertNotIn(b"http://", svg.replace(b"http://www.w3.org/2000/svg", b""))

    def test_series_have_dates_and_gaps(self):
        import numpy as np

        values = np.arange(24.0).reshape(24, 1, 1)
        values[10] = -999
        field(self.dir / "x.nc", values, lat=[5], lon=[7], time=np.arange(24) * 30.0)
        svg = self.plot("x.nc", "tas", output="s.svg").decode()
        root = ElementTree.fromstring(svg)
        words = [t.text.strip() for t in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertTrue(any(re.fullmatch(r"200[01]-\d\d", w) for w in words), words)
        lines = [p for p in root.iter("{http://www.w3.org/2000/svg}polyline") if p.get("stroke-width") == "2"]
        self.assertEqual(sorted(len(p.get("points").split()) for p in lines), [10, 13])
        self.assertTrue(any("lat = 5 degrees_north" in w for w in words), words)

    def test_more_than_two_dimensions_are_said_of(self):
        done = self.ok(nc3z("plot", COADS, "SST", "-o", self.dir / "p.png"))
        self.assertIn("only the first of `TIME` is drawn", done.stderr)

    def test_odd_data(self):
        import numpy as np

        cases = {"all missing": np.full((3, 3), -999.0), "equal": np.full((3, 3), 7.0), "infinite": np.array([[np.inf, 1, 2]] * 3),
                 "nan": np.array([[np.nan, 1, 2]] * 3), "huge": np.array([[-1.7e308, 0, 1.7e308]] * 3)}
        for name, values in cases.items():
            with self.subTest(name):
                field(self.dir / "x.nc", values, lat=[0, 1, 2], lon=[0, 1, 2], bits=8)
                pixels(self.plot("x.nc", "tas", "--width", 300))
                ElementTree.fromstring(self.plot("x.nc", "tas", output="x.svg"))
        # Coordinates that mean nothing give indices.
        field(self.dir / "x.nc", np.arange(9.0).reshape(3, 3), lat=[0, 5, 1], lon=[np.nan, 1, 2])
        svg = self.plot("x.nc", "tas", output="x.svg").decode()
        self.assertIn("lat (index)", svg)
        self.assertIn("lon (index)", svg)
        # More than there is room for.
        big = np.zeros((3000, 20), np.float32)
        field(self.dir / "big.nc", big, lat=np.linspace(-90, 90, 3000), lon=np.arange(20))
        done = self.ok(nc3z("plot", "big.nc", "tas", "-o", "big.png", cwd=self.dir))
        self.assertIn("of `lat` one value in 2 is drawn", done.stderr)

    def test_refusals(self):
        self.fails(nc3z("plot", CLASSIC / "all_types_cdf1.nc", "c", "-o", self.dir / "p.png"), 1)
        self.assertEqual(nc3z("plot", COADS, "SST", "--range", "3,1", "-o", self.dir / "p.png").returncode, 2)
        (self.dir / "p.png").write_bytes(b"precious")
        self.fails(nc3z("plot", COADS, "SST", "-d", "TIME,0", "-o", self.dir / "p.png"), 1, "exists.*--force")
        self.assertEqual(self.names(), ["p.png"])


class Page(html.parser.HTMLParser):
    """The tags of a page, their balance, and the URLs that would be fetched."""

    VOID = ("meta", "br", "link", "img", "input", "hr")
    # End tags that HTML lets one leave out.
    OPEN = ("td", "th")

    def __init__(self, text):
        super().__init__()
        self.stack, self.tags, self.fetched, self.text, self.titles = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for key, value in attrs:
            if key in ("src", "href", "xlink:href", "action", "data") or key.startswith("on"):
                self.fetched.append((tag, key, value))
        if tag not in self.VOID and tag not in self.OPEN:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack and self.stack[-1] == tag, (tag, self.stack)
        self.stack.pop()

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        (self.titles if self.stack and self.stack[-1] == "title" else self.text).append(data)


class Report(Case):
    def test_a_collection_in_a_page(self):
        source = self.dir / "in"
        (source / "b").mkdir(parents=True)
        shutil.copy(COADS, source / "coads.nc")
        shutil.copy(CLASSIC / "smooth.nc", source / "b/smooth.nc")
        shutil.copy(CLASSIC / "smooth.nc", source / "b/<script>alert('x')&.nc")
        self.ok(nc3z("archive", "-r", "--remove-source", source))
        shutil.copy(CLASSIC / "numeric.nc", source / "b/later.nc")
        (source / "four.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(200))
        done = self.ok(nc3z("list", "in", "--html", "report.html", cwd=self.dir))
        self.assertEqual(done.stderr, "")
        text = (self.dir / "report.html").read_text("utf-8")
        page = Page(text)
        self.assertEqual((page.stack, page.fetched), ([], []))
        self.assertNotIn("script", page.tags)
        self.assertNotIn("://", text)
        self.assertEqual(page.tags.count("svg"), 1)
        words = " ".join(page.text)
        for word in ("archives", "classic files not archived", "SST", "coads.nc.nc3z", "1 netCDF-4 or HDF5"):
            self.assertIn(word, words)
        tips = " ".join(page.titles)
        self.assertIn("b/<script>alert('x')&.nc.nc3z", tips)
        self.assertIn("b/later.nc: 226.2 KiB, not archived", tips)
        # The figures are those of the files.
        stored = sum(p.stat().st_size for p in source.rglob("*.nc3z"))
        original = COADS.stat().st_size + 2 * (CLASSIC / "smooth.nc").stat().st_size
        self.assertIn(f"{original / stored:.2f}×", words)
        # Areas of the picture are in proportion to the files' sizes: all rectangles together fill it except for frames.
        boxes = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"[^>]*><title>([^<]*)', text)
        self.assertEqual(len(boxes), 4)
        sizes = {p.name: p.stat().st_size for p in source.rglob("*.nc*")}
        for _, _, width, height, title in boxes:
            name = title.split(": ")[0].rsplit("/", 1)[-1]
            if name in sizes and name.startswith("coads"):
                self.assertAlmostEqual(float(width) * float(height) / (1100 * 560), sizes[name] / (stored + sizes["later.nc"]), delta=0.05)
        self.fails(nc3z("list", "in", "--html", "report.html", cwd=self.dir), 1, "exists.*--force")

    def test_what_cannot_be_read_stands_in_it(self):
        (self.dir / "in").mkdir()
        self.ok(nc3z("archive", CLASSIC / "smooth.nc", "-o", self.dir / "in/x.nc3z"))
        raw = (self.dir / "in/x.nc3z").read_bytes()
        (self.dir / "in/y.nc3z").write_bytes(raw[:-200])
        done = self.fails(nc3z("list", "in", "--html", "r.html", cwd=self.dir), 3, "y.nc3z.*end of the archive is missing")
        page = Page((self.dir / "r.html").read_text("utf-8"))
        self.assertIn("What cannot be read", " ".join(page.text))
        self.assertIn("the end of the archive is missing", " ".join(page.text))
        self.assertIn("nc3z: error", done.stderr)

    def test_nothing_at_all(self):
        (self.dir / "in").mkdir()
        self.ok(nc3z("list", "in", "--html", "r.html", cwd=self.dir))
        self.assertEqual(Page((self.dir / "r.html").read_text("utf-8")).stack, [])


class Shells(Case):
    COMMANDS = ("archive", "restore", "verify", "find", "plot", "list", "hash")

    def test_bash_completes(self):
        script = self.ok(nc3z("completions", "bash")).stdout
        (self.dir / "nc3z.bash").write_bytes(script)
        ask = 'source nc3z.bash; COMP_WORDS=("${@}"); COMP_CWORD=$(($# - 1)); _nc3z nc3z "${!#}" ""; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", ask, "bash", "nc3z", "ar"], cwd=self.dir, capture_output=True, check=True)
        self.assertEqual(done.stdout.split(), [b"archive"])
        done = subprocess.run(["bash", "-c", ask, "bash", "nc3z", "archive", "--skip"], cwd=self.dir, capture_output=True, check=True)
        self.assertEqual(done.stdout.split(), [b"--skip-existing"])

    def test_other_shells_have_all_commands(self):
        for shell in ("zsh", "fish"):
            script = self.ok(nc3z("completions", shell)).stdout.decode()
            for command in self.COMMANDS:
                self.assertIn(command, script)
            if shutil.which(shell):
                (self.dir / "s").write_text(script)
                subprocess.run([shell, "-n", self.dir / "s"], check=True)
        self.assertEqual(nc3z("completions", "tcsh").returncode, 2)

    def test_manual_pages(self):
        self.ok(nc3z("man", "-o", "man1", cwd=self.dir))
        names = self.names(self.dir / "man1")
        for command in ("nc3z", *(f"nc3z-{c}" for c in self.COMMANDS), "nc3z-parity-add"):
            self.assertIn(f"{command}.1", names)
        page = (self.dir / "man1/nc3z-archive.1").read_text("utf-8")
        self.assertIn("skip\\-existing", page)
        self.assertIn("nc3z archive", page)
        self.assertEqual(self.ok(nc3z("man")).stdout, (self.dir / "man1/nc3z.1").read_bytes())
        if shutil.which("man"):
            done = subprocess.run(["man", "--warnings", "-l", "man1/nc3z-archive.1"], cwd=self.dir, capture_output=True, check=False,
                                  env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
            self.assertIn(b"EXAMPLES" if b"EXAMPLES" in done.stdout else b"Examples", done.stdout)


if __name__ == "__main__":
    sys.exit(unittest.main())

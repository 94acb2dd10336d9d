"""Pictures of every kind: their structure is compared with the record in tests/pictures.txt, and their pixels with their SVG.

    NC3Z_PICTURES=/tmp/pictures ... scripts/acceptance.py test_pictures      writes the pictures there, to be looked at
    NC3Z_PICTURES=keep ... scripts/acceptance.py test_pictures               writes tests/pictures.txt anew

Each picture is told in a few lines: size, words, ticks with their places, ends of the colour bar, what is inside of the frame.
"""

import base64
import difflib
import os
import re
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from common import CLASSIC, ROOT, Case, nc3z
from test_look import pixels

SVG = "{http://www.w3.org/2000/svg}"
KEPT = Path(__file__).with_name("pictures.txt")
WRITE = os.environ.get("NC3Z_PICTURES")


class File:
    """A classic file under construction."""

    def __init__(self, path):
        import netCDF4

        self.file = netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA")
        self.file.set_auto_maskandscale(False)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.file.close()

    def add(self, name, dims, values, fill=None, **attributes):
        import numpy as np

        values = np.asarray(values)
        for dim, size in zip(dims, values.shape):
            if dim not in self.file.dimensions:
                self.file.createDimension(dim, size)
        variable = self.file.createVariable(name, values.dtype, dims, fill_value=fill)
        variable.set_auto_maskandscale(False)
        variable.setncatts(attributes)
        variable[...] = values

    def grid(self, lat, lon, **more):
        self.add("lat", ("lat",), lat, units="degrees_north", long_name="latitude")
        self.add("lon", ("lon",), lon, units="degrees_east", long_name="longitude")
        for name, (values, attributes) in more.items():
            self.add(name, (name,), values, **attributes)


def waves(lat, lon):
    """A smooth field with its own value everywhere."""
    import numpy as np

    y, x = np.meshgrid(np.radians(lat), np.radians(lon), indexing="ij")
    return (280 + 20 * np.cos(2 * y) + 5 * np.sin(2 * x) * np.cos(y)).astype("f4")


def steps(size, seed):
    import numpy as np

    return np.random.default_rng(seed).normal(size=size).cumsum()


KINDS = {}


def kind(variable, *options):
    """Registers a picture of a variable in the file that the function makes."""
    def register(make):
        KINDS[make.__name__] = (make, variable, options)
        return make
    return register


@kind("tas")
def global_map(f):
    import numpy as np

    lat, lon = np.arange(-87.5, 90, 5), np.arange(-177.5, 180, 5)
    f.grid(lat, lon)
    f.add("tas", ("lat", "lon"), waves(lat, lon), units="K", long_name="air temperature")


@kind("tas", "--no-coastline", "--colours", "magma")
def global_from_greenwich(f):
    import numpy as np

    lat, lon = np.arange(87.5, -90, -5), np.arange(2.5, 360, 5)
    f.grid(lat, lon)
    f.add("tas", ("lat", "lon"), waves(lat, lon), units="K")


@kind("tas", "--colours", "cividis_r")
def regional_map(f):
    import numpy as np

    lat, lon = np.arange(45, 55.1, 0.25), np.arange(5, 15.1, 0.25)
    f.grid(lat, lon)
    f.add("tas", ("lat", "lon"), waves(lat * 5, lon * 20), units="K")


@kind("tas")
def dateline_map(f):
    import numpy as np

    lat, lon = np.arange(-50, -29, 1.0), np.arange(165, 196, 1.0)
    f.grid(lat, (lon + 180) % 360 - 180)
    f.add("tas", ("lat", "lon"), waves(lat, lon), units="K")


@kind("tas")
def longitudes_first(f):
    import numpy as np

    lat, lon = np.arange(-30, 31, 5.0), np.arange(0, 91, 5.0)
    f.grid(lat, lon)
    f.add("tas", ("lon", "lat"), waves(lat, lon).T, units="K")


@kind("temp")
def curvilinear(f):
    import numpy as np

    j, i = np.mgrid[-15:16, -25:26]
    lon, lat = 10 + i * 0.8 - j * 0.5, 50 + j * 0.6 + i * 0.2
    f.add("nav_lon", ("y", "x"), lon, units="degrees_east", standard_name="longitude")
    f.add("nav_lat", ("y", "x"), lat, units="degrees_north", standard_name="latitude")
    f.add("temp", ("y", "x"), np.hypot(i, j).astype("f4"), units="degC", coordinates="nav_lon nav_lat")


@kind("thickness")
def unstructured(f):
    import numpy as np

    n = np.arange(4000)
    lat = np.degrees(np.arcsin(1 - 2 * (n + 0.5) / len(n)))
    lon = n * 137.50776 % 360
    f.add("lon", ("cell",), lon, units="degrees_east", standard_name="longitude")
    f.add("lat", ("cell",), lat, units="degrees_north", standard_name="latitude")
    f.add("thickness", ("cell",), np.sin(np.radians(lat * 3)).astype("f4"), units="m", coordinates="lon lat")


@kind("level")
def stations(f):
    import numpy as np

    f.add("lon", ("station",), [4.0, 8.1, 11.0, 7.9, 3.1], units="degrees_east", standard_name="longitude")
    f.add("lat", ("station",), [52.0, 53.9, 54.2, 54.2, 51.3], units="degrees_north", standard_name="latitude")
    f.add("level", ("station",), np.array([1.0, 2, 3, 4, 5]), units="m", coordinates="lon lat")


@kind("temp")
def profile_of_depths(f):
    import numpy as np

    depth = np.array([0, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000.0])
    f.add("depth", ("depth",), depth, units="m", positive="down", long_name="depth below the surface")
    f.add("temp", ("depth",), 4 + 16 * np.exp(-depth / 120), units="degC", long_name="sea water temperature")


@kind("temp")
def profile_of_pressures(f):
    import numpy as np

    f.add("plev", ("plev",), np.arange(1000, 0, -50.0), units="hPa")
    f.add("temp", ("plev",), np.linspace(290, 200, 20), units="K")


@kind("wind")
def profile_of_heights(f):
    import numpy as np

    height = np.arange(10, 500, 2.0)
    f.add("height", ("height",), height, units="m", standard_name="height", positive="up")
    f.add("wind", ("height",), np.log(height), units="m s-1")


@kind("salt")
def section(f):
    import numpy as np

    depth, lat = np.array([0, 10, 30, 60, 100, 150, 220, 300.0]), np.arange(-60, 61, 4.0)
    f.add("depth", ("depth",), depth, units="m", positive="down")
    f.add("lat", ("lat",), lat, units="degrees_north")
    f.add("salt", ("depth", "lat"), 35 + np.outer(np.exp(-depth / 100), np.cos(np.radians(lat))), units="1e-3")


@kind("salt")
def section_by_depth(f):
    import numpy as np

    depth, lat = np.array([0, 10, 30, 60, 100, 150, 220, 300.0]), np.arange(-60, 61, 4.0)
    f.add("depth", ("depth",), depth, units="m", positive="down")
    f.add("lat", ("lat",), lat, units="degrees_north")
    f.add("salt", ("lat", "depth"), 35 + np.outer(np.cos(np.radians(lat)), np.exp(-depth / 100)), units="1e-3")


@kind("temp")
def depths_in_time(f):
    import numpy as np

    f.add("time", ("time",), np.arange(0, 72, 1.0), units="hours since 2021-06-01")
    f.add("depth", ("depth",), np.arange(1, 41, 1.0), units="m", positive="down")
    f.add("temp", ("time", "depth"), np.add.outer(np.sin(np.arange(72) / 4), np.linspace(10, 4, 40)), units="degC")


@kind("olr")
def longitudes_in_time(f):
    import numpy as np

    f.add("time", ("time",), np.arange(120.0), units="days since 1998-01-01")
    f.add("lon", ("lon",), np.arange(40, 200, 2.5), units="degrees_east")
    f.add("olr", ("time", "lon"), np.sin(np.add.outer(np.arange(120) / 9, -np.arange(64) / 6)), units="W m-2")


@kind("q")
def daily_series(f):
    import numpy as np

    f.add("time", ("time",), np.arange(30) + 0.5, units="days since 2010-12-20", calendar="standard")
    f.add("q", ("time",), steps(30, 1), units="m3 s-1", long_name="river discharge")


@kind("q")
def hourly_series(f):
    import numpy as np

    f.add("time", ("time",), np.arange(49.0), units="hours since 2010-12-31 00:00", calendar="standard")
    f.add("q", ("time",), steps(49, 2), units="m")


@kind("q")
def series_of_years(f):
    import numpy as np

    f.add("time", ("time",), np.arange(0, 150 * 365, 365.0), units="days since 1850-01-01", calendar="noleap")
    f.add("q", ("time",), steps(150, 3), units="K")


@kind("q")
def series_of_seconds(f):
    import numpy as np

    f.add("time", ("time",), np.arange(0, 45, 0.5), units="seconds since 2024-02-29 23:59:30")
    f.add("q", ("time",), steps(90, 4), units="V")


@kind("q")
def series_with_gaps(f):
    import numpy as np

    values = steps(300, 5).astype("f4")
    values[40:60] = values[199] = values[201] = -999
    values[250:] = np.nan
    f.add("time", ("time",), np.arange(300.0), units="days since 2000-01-01", calendar="360_day")
    f.add("q", ("time",), values, fill=np.float32(-999), units="m")


@kind("total_intensity")
def chromatogram(f):
    import numpy as np

    random = np.random.default_rng(6)
    values = random.gamma(0.3, 2e4, 2650)
    for peak in (300, 340, 900, 1500, 2200):
        values += 2e6 * random.random() * np.exp(-((np.arange(2650) - peak) / 6) ** 2)
    f.add("total_intensity", ("scan_number",), values, long_name="total ion chromatogram")


@kind("noise")
def random_numbers(f):
    import numpy as np

    f.add("noise", ("n",), np.random.default_rng(7).normal(size=900))


@kind("noise")
def long_series(f):
    import numpy as np

    values = np.random.default_rng(8).normal(size=300_000).astype("f4")
    values[123_457], values[200_003] = 40, -30
    f.add("time", ("time",), np.arange(300_000.0), units="minutes since 2019-01-01")
    f.add("noise", ("time",), values, units="mV")


@kind("q", "--range", "-1,2")
def series_beyond_the_range(f):
    f.add("q", ("n",), steps(400, 9))


@kind("tas")
def all_missing_map(f):
    import numpy as np

    lat, lon = np.arange(-60, 61, 30.0), np.arange(0, 360, 30.0)
    f.grid(lat, lon)
    f.add("tas", ("lat", "lon"), np.full((5, 12), -1, "f4"), fill=np.float32(-1), units="K")


@kind("q")
def all_missing_series(f):
    import numpy as np

    f.add("q", ("n",), np.full(50, np.nan))


@kind("tas")
def constant_map(f):
    import numpy as np

    lat, lon = np.arange(-60, 61, 30.0), np.arange(0, 360, 30.0)
    f.grid(lat, lon)
    f.add("tas", ("lat", "lon"), np.full((5, 12), 273.15, "f4"), units="K")


@kind("q")
def constant_series(f):
    import numpy as np

    f.add("q", ("n",), np.full(50, 4.0))


@kind("q")
def one_point(f):
    import numpy as np

    values = np.full(50, np.nan)
    values[20] = 3
    f.add("q", ("n",), values)


@kind("sst")
def packed(f):
    import numpy as np

    lat, lon = np.arange(-40, 41, 10.0), np.arange(0, 360, 10.0)
    f.add("lat", ("lat",), (lat * 10).astype("i2"), units="degrees_north", scale_factor=0.1)
    f.add("lon", ("lon",), (lon * 10).astype("i2"), units="degrees_east", scale_factor=0.1)
    values = (waves(lat, lon) - 273.15) * 100
    values[3, 4:9] = -32767
    f.add("sst", ("lat", "lon"), values.astype("i2"), fill=np.int16(-32767), scale_factor=np.float32(0.01), add_offset=np.float32(273.15),
          units="K")


@kind("rad")
def unsigned(f):
    import numpy as np

    values = np.arange(256).astype("u1").view("i1").reshape(16, 16)
    f.add("rad", ("y", "x"), values, fill=np.int8(-1), _Unsigned="true", units="1")


@kind("land_cover")
def categorical(f):
    import numpy as np

    lat, lon = np.arange(-35, 36, 5.0), np.arange(-20, 55, 5.0)
    f.grid(lat, lon)
    classes = (np.add.outer(np.arange(15) // 3, np.arange(15) // 4) % 4 + 1).astype("i1")
    f.add("land_cover", ("lat", "lon"), classes, fill=np.int8(-1), flag_values=np.array([1, 2, 3, 4], "i1"),
          flag_meanings="water forest grassland built_up", long_name="land cover")


@kind("anomaly", "--diverging")
def anomalies(f):
    import numpy as np

    lat, lon = np.arange(-87.5, 90, 5), np.arange(2.5, 360, 5)
    f.grid(lat, lon)
    f.add("anomaly", ("lat", "lon"), (waves(lat, lon) - 285) / 10, units="K")


@kind("tas", "--size", "500x700", "--range", "250,300")
def of_a_size(f):
    global_map(f)


@kind("flux")
def small_numbers(f):
    import numpy as np

    lat, lon = np.arange(-60, 61, 10.0), np.arange(0, 181, 10.0)
    f.grid(lat, lon)
    f.add("flux", ("lat", "lon"), waves(lat, lon) * 1e-12, units="kg m-2 s-1")


@kind("field")
def without_coordinates(f):
    import numpy as np

    f.add("field", ("row", "column"), np.add.outer(np.arange(40.0), np.arange(60.0) ** 2))


@kind("q")
def long_words(f):
    f.add("q", ("n",), steps(40, 10), units="μmol m⁻² s⁻¹ <&>", long_name="Übermäßig lange Bezeichnung, " * 6)


@kind("TEMP", "-d", "INSTANCE,0")
def cast_of_a_ctd(f):
    """CF featureType = "profile": pressures are a variable of their own, named by `coordinates`."""
    import numpy as np

    p = np.arange(60) * 10.0 + 2
    f.file.featureType = "profile"
    f.add("PRES", ("INSTANCE", "MAXZ"), np.stack([p, p * 2]), units="dbar", axis="Z", positive="down", long_name="pressure")
    f.add("LATITUDE", ("INSTANCE",), np.array([54.0, 55.0]), units="degrees_north")
    t = 4 + 12 * np.exp(-p / 60)
    t[50:] = -999
    f.add("TEMP", ("INSTANCE", "MAXZ"), np.stack([t, t]), fill=-999.0, units="degC", coordinates="LATITUDE PRES")


@kind("TEMP_ADJUSTED", "-d", "N_PROF,1")
def float_of_argo(f):
    """No `coordinates`: the pressures that `axis` declares, the adjusted ones with adjusted temperatures."""
    import numpy as np

    p = np.linspace(5, 2000, 70)[None] + np.array([[0.0], [3.0]])
    for end, more in (("", 0), ("_ADJUSTED", 1000)):
        f.add("PRES" + end, ("N_PROF", "N_LEVELS"), p + more, units="decibar", axis="Z", long_name="Sea water pressure" + end)
        f.add("TEMP" + end, ("N_PROF", "N_LEVELS"), 3 + 15 * np.exp(-p / 300), units="degree_Celsius")


@kind("Temp", "-d", "X,1")
def levels_without_attributes(f):
    """MITgcm: `Z` in metres, negative below the surface, without `positive`."""
    import numpy as np

    z = -np.cumsum(np.linspace(10, 400, 23))
    f.add("Z", ("Z",), z, units="meters", long_name="vertical coordinate of cell center")
    f.add("Temp", ("Z", "X"), np.outer(2 + 20 * np.exp(z / 500), [1.0, 1.1]), units="degC")


@kind("PMSL", "--no-coastline")
def grid_of_wps(f):
    import numpy as np

    y, x = np.mgrid[0:20, 0:25]
    f.add("XLAT_M", ("Time", "south_north", "west_east"), (40 + y * 0.5)[None], units="degrees latitude")
    f.add("XLONG_M", ("Time", "south_north", "west_east"), (-10 + x * 0.8 + y * 0.1)[None], units="degrees longitude")
    f.add("PMSL", ("Time", "south_north", "west_east"), (1000.0 + np.hypot(x - 12, y - 10))[None], units="hPa")


@kind("elementArea", "--no-coastline")
def mesh_of_esmf(f):
    import numpy as np

    n = 3000
    i = np.arange(n) + 0.5
    lat, lon = np.degrees(np.arcsin(1 - 2 * i / n)), np.degrees(np.pi * (1 + 5 ** 0.5) * i) % 360
    f.add("centerCoords", ("elementCount", "coordDim"), np.stack([lon, lat], 1), units="degrees")
    f.add("elementArea", ("elementCount",), np.sin(np.radians(lat)), long_name="Element Areas")


@kind("efth")
def spectrum_of_waves(f):
    """Directions fall, and go on below 0 degrees at 345."""
    import numpy as np

    direction = np.r_[np.arange(90, -1, -15), np.arange(345, 104, -15)].astype("f4")
    frequency = 0.04 * 1.1 ** np.arange(25)
    f.add("frequency", ("frequency",), frequency, units="s-1")
    f.add("direction", ("direction",), direction, units="degree", long_name="direction")
    energy = np.outer(np.exp(-((frequency - 0.1) / 0.03) ** 2), np.maximum(np.cos(np.radians(direction - 300)), 0) ** 4)
    f.add("efth", ("frequency", "direction"), energy, units="m2 s")


@kind("rain", "--log", "--title", "Rain of <3> May", "--no-coastline")
def logarithmic_map(f):
    import numpy as np

    lat, lon = np.arange(45, 48, 0.25), np.arange(5, 9, 0.25)
    f.grid(lat, lon)
    y, x = np.mgrid[0:lat.size, 0:lon.size]
    f.add("rain", ("lat", "lon"), np.where(x == 0, 0.0, 10 ** (x / 4 - 2 + 0 * y)), units="mm h-1")


@kind("z", "--range", "0,40", "--no-coastline")
def map_beyond_the_range(f):
    import numpy as np

    lat, lon = np.arange(45, 48, 0.25), np.arange(5, 9, 0.25)
    f.grid(lat, lon)
    values = np.tile(np.linspace(-10, 60, lon.size), (lat.size, 1))
    values[0] = -99900
    f.add("z", ("lat", "lon"), values, units="dBZ")


@kind("chl", "--y", "depth")
def profile_of_a_named_variable(f):
    import numpy as np

    n = np.arange(200)
    f.add("time", ("obs",), n / 24.0, units="days since 2020-06-01")
    f.add("depth", ("obs",), 50 + 40 * np.sin(n / 9), units="m", positive="down")
    f.add("chl", ("obs",), np.cos(n / 9), units="mg m-3")


@kind("temp", "--x", "pressure")
def map_over_a_named_variable(f):
    import numpy as np

    f.add("pressure", ("level",), np.array([1000.0, 850, 700, 500, 300]), units="hPa")
    f.add("temp", ("level", "n"), np.add.outer(np.arange(5.0), np.arange(8.0)))


def words(group):
    return [t.text or "" for t in group.iter(SVG + "text")]


def structure(svg):
    """The lines that describe a picture."""
    root = ElementTree.fromstring(svg)
    out = [f"size {root.get('width')}x{root.get('height')}"]
    for group in root:
        name = group.get("class")
        if name in ("title", "subtitle", "missing"):
            out.append(f"{name}: {' '.join(words(group))}")
        elif name in ("x-axis", "y-axis", "colour-bar"):
            place = "x" if name == "x-axis" else "y"
            ticks = [t for t in group.iter(SVG + "text")]
            told = [f"{t.text}@{float(t.get(place)):.0f}" for t in ticks[:-1]]
            out.append(f"{name}: {ticks[-1].text}: {' '.join(told)}")
        elif name == "cells":
            image = next(group.iter(SVG + "image"))
            inner = pixels(base64.b64decode(image.get("href").split(",")[1]))
            blank = 100 * (inner[..., 3] == 0).mean()
            height, width = inner.shape[:2]
            at = lambda y, x: "#%02x%02x%02x" % tuple(inner[int(height * y), int(width * x), :3])
            colours = [at(y, x) for y in (0.05, 0.5, 0.95) for x in (0.05, 0.5, 0.95)]
            out.append(f"cells: {image.get('width')}x{image.get('height')} at {image.get('x')},{image.get('y')}, {blank:.0f} % blank: {' '.join(colours)}")
        elif name == "line":
            lines, dots = points(group), list(group.iter(SVG + "circle"))
            every = [p for line in lines for p in line] or [(float(d.get("cx")), float(d.get("cy"))) for d in dots]
            x, y = [p[0] for p in every], [p[1] for p in every]
            reach = f"{min(x):.0f},{min(y):.0f} to {max(x):.0f},{max(y):.0f}" if every else "nothing"
            out.append(f"line: {len(lines)} of {sum(map(len, lines))} points, {len(dots)} dots, {reach}")
        elif name == "coastline":
            path = [p.get("d") for p in group.iter(SVG + "path")][-1]
            out.append(f"coastline: {path.count('M')} lines, {len(re.findall(r'[-.0-9]+', path)) // 100} hundred numbers")
    return out


def points(group):
    each = [p.get("points").split() for p in group.iter(SVG + "polyline")]
    return [[tuple(map(float, p.split(","))) for p in line] for line in each]


def frame(svg):
    """The inside of the frame: left, top, right, bottom."""
    root = ElementTree.fromstring(svg)
    group = next(g for g in root.iter(SVG + "g") if g.get("class") == "frame")
    ends = [[float(line.get(k)) for k in ("x1", "y1", "x2", "y2")] for line in group.iter(SVG + "line")]
    x, y = [e for end in ends for e in end[0::2]], [e for end in ends for e in end[1::2]]
    return int(min(x)) + 1, int(min(y)) + 1, int(max(x)) - 2, int(max(y)) - 2


class Pictures(Case):
    def draw(self, name, suffix, *more):
        make, variable, options = KINDS[name]
        if not (self.dir / f"{name}.nc").exists():
            with File(self.dir / f"{name}.nc") as f:
                make(f)
        self.ok(nc3z("plot", f"{name}.nc", variable, *options, *more, "-f", "-o", f"{name}.{suffix}", cwd=self.dir))
        return (self.dir / f"{name}.{suffix}").read_bytes()

    def test_structure(self):
        told = {}
        for name in KINDS:
            svg = self.draw(name, "svg")
            told[name] = structure(svg)
            with self.subTest(name):
                self.apart(svg)
            if WRITE and WRITE != "keep":
                Path(WRITE).mkdir(parents=True, exist_ok=True)
                Path(WRITE, f"{name}.svg").write_bytes(svg)
                Path(WRITE, f"{name}.png").write_bytes(self.draw(name, "png"))
        self.assertGreaterEqual(len(told), 30)
        now = "".join(f"{name}\n" + "".join(f"  {line}\n" for line in lines) for name, lines in told.items())
        if WRITE == "keep":
            KEPT.write_text(now, encoding="utf-8")
        kept = KEPT.read_text(encoding="utf-8")
        change = "\n".join(difflib.unified_diff(kept.splitlines(), now.splitlines(), "kept", "now", lineterm="", n=8))
        self.assertEqual(kept, now, f"look at the pictures (NC3Z_PICTURES=DIRECTORY), then keep them (NC3Z_PICTURES=keep):\n{change}")

    def apart(self, svg):
        """Words below an axis do not touch each other: a letter of DejaVu Sans is 0.6 of the size wide."""
        axis = next(g for g in ElementTree.fromstring(svg).iter(SVG + "g") if g.get("class") == "x-axis")
        rows = {}
        for t in list(axis.iter(SVG + "text"))[:-1]:
            rows.setdefault(t.get("y"), []).append((float(t.get("x")), len(t.text) * 0.6 * float(t.get("font-size"))))
        for row in rows.values():
            row.sort()
            for (x, wide), (x2, wide2) in zip(row, row[1:]):
                self.assertGreater(x2 - x, (wide + wide2) / 2, words(axis))

    def test_lines_stay_in_the_frame_and_are_where_the_svg_has_them(self):
        import numpy as np

        for name in ("chromatogram", "random_numbers", "long_series", "series_with_gaps", "series_beyond_the_range", "profile_of_heights",
                     "hourly_series", "one_point"):
            for more in ((), ("--width", 400)) if name in ("chromatogram", "hourly_series") else ((),):
                with self.subTest(name, more=more):
                    svg, png = self.draw(name, "svg", *more), pixels(self.draw(name, "png", *more)).astype(int)
                    root = ElementTree.fromstring(svg)
                    self.assertEqual(png.shape[:2], (int(root.get("height")), int(root.get("width"))))
                    left, top, right, bottom = frame(svg)
                    # The line is blue; everything else is grey.
                    blue = png[..., 2] - png[..., 0]
                    inside = np.zeros(blue.shape, bool)
                    inside[top:bottom + 1, left:right + 1] = True
                    self.assertEqual(np.count_nonzero(blue[~inside]), 0)
                    group = next(g for g in root.iter(SVG + "svg") if g.get("class") == "line")
                    unit = min(max(png.shape[1] / 1000, 0.75), 3)
                    near, on = distances(group, blue.shape, unit)
                    # Every pixel whose middle is well within the line has its colour; none that is off it has any.
                    self.assertGreater(blue[on & inside].min(), 90)
                    self.assertEqual(np.count_nonzero(blue[near > unit + 0.8]), 0)

    def test_a_long_series_keeps_its_extremes(self):
        root = ElementTree.fromstring(self.draw("long_series", "svg"))
        group = next(g for g in root.iter(SVG + "svg") if g.get("class") == "line")
        y = [p[1] for line in points(group) for p in line]
        axis = next(g for g in root.iter(SVG + "g") if g.get("class") == "y-axis")
        ticks = {t.text: float(t.get("y")) for t in axis.iter(SVG + "text") if re.fullmatch("\u2212?[0-9.]+", t.text)}
        number = {float(k.replace("\u2212", "-")): v for k, v in ticks.items()}
        (a, ya), (b, yb) = sorted(number.items())[0], sorted(number.items())[-1]
        value = lambda pixel: a + (pixel - ya) * (b - a) / (yb - ya)
        self.assertAlmostEqual(value(min(y) + 14 * 0.36), 40, delta=0.3)
        self.assertAlmostEqual(value(max(y) + 14 * 0.36), -30, delta=0.3)

    def test_options(self):
        plain = self.draw("global_map", "svg")
        self.assertIn(b'class="coastline"', plain)
        self.assertEqual(plain, self.draw("global_map", "svg", "--coastline"))
        self.assertNotIn(b'class="coastline"', self.draw("global_map", "svg", "--no-coastline"))
        self.assertNotIn(b'class="coastline"', self.draw("section", "svg", "--coastline"))
        root = ElementTree.fromstring(self.draw("global_map", "svg", "--size", "1200x400"))
        self.assertEqual((root.get("width"), root.get("height")), ("1200", "400"))
        png = self.draw("global_map", "png", "--size", "300x200")
        self.assertEqual(pixels(png).shape, (200, 300, 3))
        # The ends of published maps of colours.
        ends = {"viridis": ("440154", "fde725"), "cividis": ("00224e", "fee838"), "magma": ("000004", "fcfdbf"), "plasma": ("0d0887", "f0f921"),
                "inferno": ("000004", "fcffa4"), "coolwarm": ("3b4cc0", "b40426"), "magma_r": ("fcfdbf", "000004")}
        for name, (low, high) in ends.items():
            with self.subTest(name):
                root = ElementTree.fromstring(self.draw("global_map", "svg", "--colours", name))
                image = next(i for g in root.iter(SVG + "g") if g.get("class") == "colour-bar" for i in g.iter(SVG + "image"))
                bar = pixels(base64.b64decode(image.get("href").split(",")[1]))
                for row, expected in ((-1, low), (0, high)):
                    expected = [int(expected[i:i + 2], 16) for i in (0, 2, 4)]
                    self.assertLessEqual(max(abs(int(a) - b) for a, b in zip(bar[row, 0], expected)), 3)
        # PDF: one page of the picture's size, the same bytes each time, and no date.
        pdf = self.draw("global_map", "pdf")
        self.assertTrue(pdf.startswith(b"%PDF-1.4") and pdf.endswith(b"%%EOF\n"))
        self.assertEqual(pdf, self.draw("global_map", "pdf"))
        self.assertNotIn(b"Date", pdf)
        root = ElementTree.fromstring(plain)
        self.assertIn(b"/MediaBox [0 0 %g %g]" % (int(root.get("width")) * 0.75, int(root.get("height")) * 0.75), pdf)
        # Without a name the picture has that of the file and the variable, and nothing is overwritten.
        done = self.ok(nc3z("plot", "global_map.nc", "tas", cwd=self.dir))
        self.assertEqual((self.dir / "global_map-tas.png").read_bytes(), self.draw("global_map", "png"))
        self.assertIn("global_map-tas.png", done.stderr)
        self.fails(nc3z("plot", "global_map.nc", "tas", cwd=self.dir), 1, "exists.*--force")
        # Values beyond the range are counted, and so are those without a logarithm.
        self.draw("map_beyond_the_range", "svg")
        done = self.ok(nc3z("plot", "map_beyond_the_range.nc", "z", "--range", "0,40", "-f", "-o", "x.svg", cwd=self.dir))
        self.assertRegex(done.stderr, r"\d+ values are below the range \(grey\), \d+ above it")
        done = self.ok(nc3z("plot", "map_beyond_the_range.nc", "z", "--log", "-f", "-o", "x.svg", cwd=self.dir))
        self.assertRegex(done.stderr, r"\d+ values are not positive")
        self.fails(nc3z("plot", "map_beyond_the_range.nc", "z", "--log", "--range", "0,40", "-o", "y.svg", cwd=self.dir), 1, "positive ends")
        self.draw("float_of_argo", "svg")
        for axes, words in ((("--y", "nothing"), "nothing"), (("--x", "PRES", "--y", "PRES"), "--x or --y")):
            self.fails(nc3z("plot", "float_of_argo.nc", "TEMP", "-d", "N_PROF,0", *axes, "-o", "y.svg", cwd=self.dir), 1, words)
        self.fails(nc3z("plot", "float_of_argo.nc", "TEMP", "--y", "PRES", "-o", "y.svg", cwd=self.dir), 1, "cannot be an axis")
        for wrong, words in ((("--colours", "jet"), "viridis"), (("--size", "10x10"), "300"), (("--size", "1000"), "1200x800"),
                             (("--size", "400x300", "--width", "400"), "cannot be used")):
            done = nc3z("plot", "global_map.nc", "tas", *wrong, "-f", "-o", "x.svg", cwd=self.dir)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)


def distances(group, shape, unit):
    """For each pixel's middle, how far it is from the lines and dots of a group (up to 4 pixels); and whether it is well within one."""
    import numpy as np

    near = np.full(shape, 9.0)
    on = np.zeros(shape, bool)
    for line in points(group):
        for (x1, y1), (x2, y2) in zip(line, line[1:]):
            left, right = int(max(min(x1, x2) - 4, 0)), int(min(max(x1, x2) + 5, shape[1]))
            top, bottom = int(max(min(y1, y2) - 4, 0)), int(min(max(y1, y2) + 5, shape[0]))
            if left >= right or top >= bottom:
                continue
            y, x = np.mgrid[top:bottom, left:right] + 0.5
            dx, dy = x2 - x1, y2 - y1
            part = np.clip(((x - x1) * dx + (y - y1) * dy) / max(dx * dx + dy * dy, 1e-12), 0, 1)
            away = np.hypot(x - x1 - part * dx, y - y1 - part * dy)
            here = near[top:bottom, left:right]
            np.minimum(here, away, out=here)
            on[top:bottom, left:right] |= away < 0.2
    for dot in group.iter(SVG + "circle"):
        y, x = np.mgrid[0:shape[0], 0:shape[1]] + 0.5
        away = np.hypot(x - float(dot.get("cx")), y - float(dot.get("cy")))
        np.minimum(near, np.maximum(away - float(dot.get("r")) + unit, 0), out=near)
        on |= away < float(dot.get("r")) - 0.8
    return near, on


class Gallery(Case):
    """docs/gallery.md: its commands draw its pictures."""

    def test_each_command_draws_its_picture(self):
        import numpy as np

        commands = re.findall(r"^nc3z (plot .+ -o (\S+))$", (ROOT / "docs/gallery.md").read_text(encoding="utf-8"), re.M)
        self.assertGreater(len(commands), 5)
        for command, name in commands:
            words = command.split()
            words[1] = CLASSIC / words[1]
            nc3z(*words[:-1], self.dir / name)
            drawn, shown = (self.dir / name).read_bytes(), (ROOT / "docs/pictures" / name)
            if WRITE == "keep":
                shown.write_bytes(drawn)
            with self.subTest(command):
                kept = shown.read_bytes()
                # Another compressor may pack the same pixels into other bytes.
                same = drawn == kept or name.endswith(".png") and np.array_equal(pixels(drawn), pixels(kept))
                self.assertTrue(same, f"docs/pictures/{name} is another picture; NC3Z_PICTURES=keep writes it anew")


if __name__ == "__main__":
    unittest.main()

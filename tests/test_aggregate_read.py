"""Aggregations as others may write them: each case of the study of readers of CF-1.13, hand-made, with what is right by the text of CF, and
files of older conventions by the program that wrote them. Where cfdm, cf-python and cfapyx are wrong or fail, the case says so."""

import json
import shutil
import os
import resource
import subprocess
import unittest

import netCDF4
import numpy as np
from common import nc3z, need_program
from test_aggregate import CDL, Aggregation, make, truth

FILES, SIZES = ["a.nc", "b.nc", "c.nc"], [3, 4, 2]


class Cases(Aggregation):
    """`a.nc` in K, `b.nc` in degC, `c.nc` doubles: three, four and two days."""

    def setUp(self):
        super().setUp()
        self.fragments()

    def reads(self, uris=FILES, sizes=SIZES, tolerance=2e-5, **options):
        self.near(self.values(self.hand_made(uris, sizes, **options)), truth(range(sum(sizes))), tolerance)

    def here(self, scheme="file://"):
        return f"{scheme}{self.dir.resolve()}"

    def test_absolute_uris(self):
        self.reads([f"{self.here()}/{name}" for name in FILES])

    def test_uris_of_localhost(self):
        """cfapyx does not find them."""
        self.reads([f"{self.here('file://localhost')}/{name}" for name in FILES])

    def test_bare_absolute_paths(self):
        self.reads([f"{self.here('')}/{name}" for name in FILES])

    def test_relative_uris_count_from_the_aggregation(self):
        """cfdm and cfapyx count from the directory where the program runs."""
        path = self.hand_made(FILES, SIZES)
        out = self.dir / "out.npy"
        self.ok(nc3z("read", path, "tas", "--format", "npy", "-o", out, cwd="/"))
        self.near(np.load(out), truth(range(9)))

    def test_dots_and_mixtures_of_relative_and_absolute(self):
        self.reads(["./a.nc", f"../{self.dir.name}/b.nc", f"{self.here()}/c.nc"])

    def test_blanks_in_names(self):
        self.reads(["a.nc", "sub dir/b c.nc", "c.nc"])

    def test_percent_codes_are_decoded_where_there_is_no_such_file(self):
        """cfdm and cfapyx do not decode them."""
        self.reads(["a.nc", "sub%20dir/b%20c.nc", "c.nc"])
        shutil.copy(self.dir / "b.nc", self.dir / "b%20.nc")
        self.reads(["a.nc", "b%20.nc", "c.nc"])

    def test_padding_by_zeros_and_by_blanks(self):
        """cfdm keeps blanks where names are not of one length."""
        for pad in (b"\0", b" "):
            self.reads(["a.nc", "sub dir/b c.nc", "c.nc"], pad=pad)

    def test_identifiers_for_all_and_for_each(self):
        self.reads(ids="/tas")
        with netCDF4.Dataset(self.dir / "b.nc", "a") as d:
            d.renameVariable("tas", "temp")
        self.reads(ids=["tas", "/temp", "tas"])

    def test_terms_in_any_order_in_capitals_and_over_lines(self):
        for terms in ("uris: u identifiers: k map: m", "Map: m Uris: u Identifiers: k", "map: m\n uris: u  identifiers: k"):
            self.reads(terms=terms)

    def test_lines_and_blanks_in_other_attributes(self):
        path = self.hand_made(FILES, SIZES)
        with netCDF4.Dataset(path, "a") as d:
            d.title = "one\n  and  another"
        self.near(self.values(path), truth(range(9)))

    def test_unique_values_and_a_missing_one(self):
        """cfdm gives 0 for the missing one; cfapyx fails."""
        found = self.values(self.hand_made(None, SIZES, values=[1.5, np.nan, 3.5]))
        expected = np.repeat(np.float32([1.5, 1e20, 3.5]), SIZES)[:, None, None] * np.ones((1, 4, 3), "f4")
        self.assertTrue((found == expected).all())

    def test_a_scalar_aggregation_with_a_scalar_map(self):
        """cfapyx fails."""
        with netCDF4.Dataset(self.dir / "one.nc", "w", format="NETCDF3_CLASSIC") as d:
            v = d.createVariable("t", "f4", ())
            v.units = "degC"
            v[...] = 1.5
        path = self.dir / "scalar.nc"
        with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
            d.createDimension("l", 6)
            v = d.createVariable("t", "f8", ())
            v.units, v.aggregated_dimensions, v.aggregated_data = "K", "", "map: m uris: u identifiers: k"
            d.createVariable("m", "i4", ())[...] = 1
            d.createVariable("u", "S1", ("l",))[:] = np.frombuffer(b"one.nc", "S1")
            d.createVariable("k", "S1", ())[...] = b"t"
        self.assertAlmostEqual(float(self.values(path, "t")), 274.65)

    def test_a_fragment_without_a_dimension_of_one_element(self):
        """cfdm and cfapyx fail, though CF-1.13 allows it."""
        self.reads(["a.nc", "b.nc", "c.nc", "d.nc"], [3, 4, 2, 1])

    def test_a_packed_fragment_and_what_is_missing_in_it(self):
        """cfapyx gives -32768 for missing values."""
        with netCDF4.Dataset(self.dir / "p.nc", "a") as d:
            d["tas"].set_auto_maskandscale(False)
            d["tas"][1, 2, 0] = -9999
        found = self.values(self.hand_made(["a.nc", "p.nc", "c.nc"], SIZES))
        self.assertEqual(np.argwhere(found == np.float32(1e20)).tolist(), [[4, 2, 0]])
        found[4, 2, 0] = truth([4])[0, 2, 0]
        self.near(found, truth(range(9)), 0.006)

    def test_packing_of_the_aggregation_variable_applies_after_all(self):
        path = self.hand_made(FILES, SIZES)
        with netCDF4.Dataset(path, "a") as d:
            d["tas"].scale_factor, d["tas"].add_offset = np.float32(2), np.float32(1)
        # As for any packed variable: stored values, and the attributes for unpacking.
        self.near(self.values(path), truth(range(9)))
        header = nc3z("dump", "-h", path).stdout.decode()
        self.assertRegex(header, r"tas:scale_factor = 2.f")
        self.assertRegex(header, r"tas:add_offset = 1.f")

    def test_a_missing_file_is_named_when_it_is_read(self):
        path = self.hand_made(["a.nc", "gone.nc", "c.nc"], SIZES)
        self.ok(nc3z("info", path))
        self.near(self.values(path, "tas", "-d", "time,0,2"), truth(range(3)))
        self.fails(nc3z("read", path, "tas"), words="gone.nc.*does not exist")
        # Missing values in its place are requested, and noted.
        done = self.ok(nc3z("read", path, "tas", "-d", "lat,0", "-d", "lon,0", "--fill-missing", "--format", "csv"))
        self.assertRegex(done.stderr, "note: fragment .gone.nc. does not exist: its values are missing")

    def test_a_map_that_says_more_than_the_fragment_has(self):
        """cfdm gives nine of ten values and says nothing."""
        path = self.hand_made(FILES, [3, 4, 3])
        self.fails(nc3z("read", path, "tas"), words="c.nc.*length 2 along .time., its place in the aggregation 3")

    def test_strings_of_netcdf4_are_another_format(self):
        """Aggregations in netCDF-4 files are refused by that name."""
        path = self.dir / "four.nc"
        with netCDF4.Dataset(path, "w", format="NETCDF4") as d:
            d.createVariable("tas", "f4", ()).aggregated_dimensions = "time"
        self.fails(nc3z("read", path, "tas"), words="netCDF-4|HDF5")

    def test_a_billion_fragments_of_a_map(self):
        """An array that does not exist gives the sizes: nothing is allocated for them."""
        path = self.dir / "big.nc"
        with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as d:
            d.createDimension("n", 1_000_000_000)
            d.createDimension("i", 1)
            v = d.createVariable("v", "i1", ())
            v.aggregated_dimensions, v.aggregated_data = "n n2", "map: m uris: m identifiers: m"
            d.createDimension("n2", 1_000_000_000)
            m = d.createVariable("m", "i4", ("i",))
            m[:] = 1
        self.fails(nc3z("info", path), words="map|rows")

    def little_memory(self, *args):
        """A run that may ask for 1.5 GB: 10^9 of anything longer than a byte do not fit."""
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))  # noqa: E731
        # However many cores there are.
        env = os.environ | {"RAYON_NUM_THREADS": "2", "MALLOC_ARENA_MAX": "2"}
        return nc3z(*args, preexec_fn=limit, env=env)

    def test_a_billion_fragments_that_the_rows_of_a_map_claim(self):
        """1000 sizes of 1 along each of three dimensions: a valid map, whose fragments do not exist."""
        for claimed, words in ((1000, "1000, 1000, 1000. fragments are more than 20000000"), (2, "names of fragments have the shape")):
            path = self.dir / f"claims{claimed}.nc"
            with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as d:
                for n in ("time", "lat", "lon"):
                    d.createDimension(n, claimed)
                d.createDimension("j", 3)
                d.createDimension("i", claimed)
                d.createDimension("one", 1)
                v = d.createVariable("tas", "f4", ())
                v.aggregated_dimensions, v.aggregated_data = "time lat lon", "map: m uris: u identifiers: u"
                d.createVariable("m", "i4", ("j", "i"))[:] = 1
                d.createVariable("u", "S1", ("one",))[:] = b"u"
            for command in (("info",), ("dump", "-h"), ("list",)):
                done = self.fails(self.little_memory(*command, path)) if command != ("list",) else self.little_memory(*command, path)
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stderr + done.stdout.decode(), words)

    def test_a_billion_columns_of_a_map(self):
        """They are there, as holes of the file: 3 GB that are not read."""
        path = self.dir / "columns.nc"
        with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as d:
            for n, size in (("time", 10), ("lat", 10), ("lon", 10), ("j", 3), ("i", 1_000_000_000)):
                d.createDimension(n, size)
            v = d.createVariable("tas", "f4", ())
            v.aggregated_dimensions, v.aggregated_data = "time lat lon", "map: m uris: u identifiers: u"
            d.createVariable("u", "S1", ("j",))
            d.set_fill_off()
            d.createVariable("m", "i1", ("j", "i"))
        os.truncate(path, path.stat().st_size + (3 << 30))
        self.fails(self.little_memory("info", path), words="map `m` has the shape .3, 1000000000., more than is read")


class OlderConventions(Aggregation):
    """As cf-python 3.16.3 and 3.13.1 wrote them."""

    def fragments_at(self, *names):
        for name in names:
            path = self.dir / name
            path.parent.mkdir(exist_ok=True)
            first, count, options = {"a": (0, 3, {}), "b": (3, 4, {"units": "degC"}), "b2": (3, 4, {}), "c": (7, 2, {"dtype": "f8"})}[path.stem]
            make(path, first, count, **options)

    def test_cfa_062(self):
        """Fragments in K and degC, and of another type, in arrays of characters."""
        self.fragments_at("a.nc", "b.nc", "c.nc")
        agg = self.ncgen("cfa062")
        self.near(self.values(agg), truth(range(9)))
        info = json.loads(nc3z("info", "--json", agg).stdout)
        self.assertEqual([v["name"] for v in info["variables"]], ["time", "lat", "lon", "tas"])

    def test_cfa_062_with_substitutions(self):
        self.fragments_at("a.nc", "b.nc", "c.nc")
        text = (CDL / "cfa062_substitutions.cdl").read_text()
        self.assertIn("file:///data/cf/", text)
        (self.dir / "here.cdl").write_text(text.replace("file:///data/cf/", f"file://{self.dir.resolve()}/"))
        subprocess.run([need_program(self, "ncgen"), "-k", "classic", "-o", self.dir / "sub.nc", self.dir / "here.cdl"], check=True)
        self.near(self.values(self.dir / "sub.nc"), truth(range(9)))
        # As it was written it leads elsewhere.
        self.fails(nc3z("read", self.ncgen("cfa062_substitutions"), "tas"), words="data/cf/a.nc|outside")

    def test_cfa_04(self):
        self.fragments_at("t1/a.nc", "t1/b2.nc")
        self.near(self.values(self.ncgen("cfa04")), truth(range(7)))


if __name__ == "__main__":
    unittest.main()

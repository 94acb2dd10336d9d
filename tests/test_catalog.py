"""Catalogues: statistics without the files, equal to those of all values within the stated bound."""

import contextlib
import importlib.util
import json
import math
import os
import pathlib
import shutil
import sys
import unittest
from urllib.parse import quote, unquote

import netCDF4
import numpy as np
from common import CLASSIC, ROOT, nc3z
from servers import serve
from test_aggregate import Aggregation, make


def reference():
    """The reader that was written from the specification."""
    folder = ROOT / "spec/reference"
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location("nc3z_catalog", folder / "nc3z_catalog.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(folder))


class Catalogs(Aggregation):
    def year(self):
        data = self.dir / "data"
        data.mkdir()
        rng = np.random.default_rng(11)
        for month in range(12):
            with netCDF4.Dataset(data / f"m{month:02}.nc", "w", format="NETCDF3_64BIT_OFFSET") as d:
                d.institution = "Somewhere"
                for name, n in (("time", None), ("lat", 20), ("lon", 30)):
                    d.createDimension(name, n)
                tas = d.createVariable("tas", "f4", ("time", "lat", "lon"), fill_value=1e20)
                tas.units, tas.standard_name = "K", "air_temperature"
                tas[:] = np.ma.masked_where(rng.random((28, 20, 30)) < 0.1, 250 + 5 * month + rng.normal(0, 9, (28, 20, 30)))
                pr = d.createVariable("pr", "i2", ("time", "lat", "lon"), fill_value=-1)
                pr.scale_factor, pr.add_offset, pr.units = 0.01, 5.0, "mm"
                pr[:] = 5 + rng.integers(0, 3000, (28, 20, 30)) * 0.01
                text = d.createVariable("station", "S1", ("lat",))
                text[:] = np.array([b"x"] * 20)
        return data

    def numbers(self, data, name):
        values = []
        for path in sorted(data.glob("*.nc")):
            with netCDF4.Dataset(path) as d:
                values.append(np.asarray(d[name][:].compressed(), dtype="f8"))
        return np.concatenate(values)

    def stats(self, catalog, *more):
        return json.loads(self.ok(nc3z("stats", catalog, "--json", *more)).stdout)

    def test_yearly_means_need_no_member(self):
        data = self.year()
        archives, catalog = self.dir / "archives", self.dir / "a.catalog.nc3z"
        self.ok(nc3z("archive", "-r", data, "-o", archives))
        self.ok(nc3z("bundle", data, "-o", self.dir / "set.bundle.nc3z"))
        self.ok(nc3z("bundle", data, "-o", self.dir / "packed.bundle.nc3z", "--pack"))
        want = {name: self.numbers(data, name) for name in ("tas", "pr")}
        inputs = [data, archives, self.dir / "set.bundle.nc3z", self.dir / "packed.bundle.nc3z"]
        for at in inputs:
            self.ok(nc3z("catalog", at, "-o", catalog, "-f"))
        self.ok(nc3z("catalog", archives, "-o", self.dir / "one.catalog.nc3z", "--threads", "1"))
        self.ok(nc3z("catalog", archives, "-o", catalog, "-f"))
        self.assertEqual(catalog.read_bytes(), (self.dir / "one.catalog.nc3z").read_bytes())
        (self.dir / "list").write_text("".join(f"{path}\n" for path in sorted(archives.iterdir())))
        self.ok(nc3z("catalog", "--files-from", self.dir / "list", "-o", self.dir / "one.catalog.nc3z", "-f"))
        self.assertEqual(catalog.read_bytes(), (self.dir / "one.catalog.nc3z").read_bytes())
        shutil.move(data, self.dir / "gone")
        shutil.rmtree(archives)
        rows = {row["variable"]: row for row in self.stats(catalog)}
        self.assertEqual(sorted(rows), ["pr", "tas"])
        for name, values in want.items():
            row = rows[name]
            self.assertEqual((row["files"], row["count"], row["min"], row["max"]), (12, len(values), values.min(), values.max()))
            self.assertLessEqual(abs(row["mean"] - math.fsum(values) / len(values)), row["mean_error_bound"])
            self.assertLess(row["mean_error_bound"], 1e-12)
            np.testing.assert_allclose(row["mean"], values.mean(), rtol=1e-12)
            np.testing.assert_allclose(row["standard_deviation"], values.std(), rtol=1e-9)
        each = self.stats(catalog, "--each", "--variable", "tas")
        self.assertEqual(len(each), 12)
        self.assertEqual(sum(row["count"] for row in each), len(want["tas"]))
        self.assertIn("K", self.ok(nc3z("stats", catalog)).stdout.decode())
        self.assertEqual(nc3z("stats", catalog, "--variable", "nothing").returncode, 1)

    def test_statistics_along_a_dimension(self):
        data, catalog = self.year(), self.dir / "s.catalog.nc3z"
        chunked = self.dir / "chunked"
        for path in data.glob("*.nc"):
            with netCDF4.Dataset(path, "a") as d:
                time = d.createVariable("time", "f8", ("time",))
                time.units = "days since 2001-01-01"
                time[:] = np.arange(28) + 28 * int(path.stem[1:])
        self.ok(nc3z("archive", "-r", data, "-o", self.dir / "linear"))
        self.ok(nc3z("archive", "-r", data, "-o", chunked, "--tile", "time=7,lat=5,lon=30"))
        for at, parts in ((data, None), (self.dir / "linear", None), (chunked, {"time": 4, "lat": 4, "lon": 1})):
            self.ok(nc3z("catalog", at, "-o", catalog, "-f"))
            for axis, dimension in enumerate(("time", "lat", "lon")):
                rows = self.stats(catalog, "--variable", "tas", "--variable", "pr", "--along", dimension)
                if parts:
                    self.assertEqual(len(rows), 2 * 12 * parts[dimension])
                for name in ("tas", "pr"):
                    for path in sorted(data.glob("*.nc")):
                        with netCDF4.Dataset(path) as d:
                            values = np.moveaxis(d[name][:].astype("f8"), axis, 0)
                        own = [r for r in rows if r["variable"] == name and pathlib.Path(r["file"]).name.startswith(path.stem)]
                        self.assertEqual([own[0]["first"], own[-1]["last"]], [0, len(values) - 1])
                        for before, row in zip([None, *own], own):
                            self.assertTrue(before is None or row["first"] == before["last"] + 1)
                            part = values[row["first"] : row["last"] + 1].compressed()
                            self.assertEqual((row["count"], row["min"], row["max"]), (len(part), part.min(), part.max()))
                            self.assertLessEqual(abs(row["mean"] - math.fsum(part) / len(part)), row["mean_error_bound"])
                            np.testing.assert_allclose(row["standard_deviation"], part.std(), rtol=1e-9)
        table = self.ok(nc3z("stats", catalog, "--variable", "tas", "--along", "time")).stdout.decode()
        self.assertIn("2001-01-01", table)
        self.fails(nc3z("stats", catalog, "--variable", "tas", "--along", "depth"), 1, "no dimension `depth`; it has `lat`, `lon`, `time`")
        self.fails(nc3z("stats", catalog, "--variable", "station", "--along", "lat"), 1, "no file has a variable `station` of numbers")
        self.assertEqual(nc3z("stats", catalog, "--along", "time").returncode, 2)

    def test_all_kinds_of_inputs_give_the_same_statistics(self):
        data = self.year()
        archives = self.dir / "archives"
        self.ok(nc3z("archive", "-r", data, "-o", archives))
        self.ok(nc3z("bundle", data, "-o", self.dir / "packed.bundle.nc3z", "--pack"))
        found = []
        for at in (data, archives, self.dir / "packed.bundle.nc3z"):
            self.ok(nc3z("catalog", at, "-o", self.dir / "s.catalog.nc3z", "-f"))
            found.append(self.stats(self.dir / "s.catalog.nc3z"))
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])

    def test_archive_writes_the_catalog_that_index_writes(self):
        data, out = self.year(), self.dir / "out"
        made, later = self.dir / "made.catalog.nc3z", self.dir / "later.catalog.nc3z"
        self.ok(nc3z("archive", "-r", data, "-o", out, "--catalog", made, "-q"))
        self.ok(nc3z("catalog", out, "-o", later))
        self.assertEqual(made.read_bytes(), later.read_bytes())
        # An existing catalogue is not replaced, and nothing is archived first.
        shutil.rmtree(out)
        done = nc3z("archive", "-r", data, "-o", out, "--catalog", made)
        self.assertEqual((done.returncode, out.exists()), (1, False), done.stderr)
        self.assertIn("exists", done.stderr)
        self.ok(nc3z("archive", "-r", data, "-o", out, "--catalog", made, "--force", "-q"))
        self.assertEqual(made.read_bytes(), later.read_bytes())
        # A file that fails is not in the catalogue; the others are.
        (data / "bad.nc").write_bytes(b"CDF\x01" + bytes(9))
        shutil.rmtree(out)
        done = nc3z("archive", "-r", data, "-o", out, "--catalog", made, "--force", "-q")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(made.read_bytes(), later.read_bytes())
        # A stream is not in any file, and a trial writes nothing.
        piped = nc3z("archive", "-", "-o", self.dir / "x.nc3z", "--catalog", self.dir / "x.catalog.nc3z")
        self.assertEqual(piped.returncode, 2)
        self.ok(nc3z("archive", "-r", data / "m00.nc", "-o", self.dir / "x.nc3z", "--catalog", self.dir / "x.catalog.nc3z", "--dry-run"))
        self.assertFalse((self.dir / "x.catalog.nc3z").exists())

    def test_files_are_added_as_a_version(self):
        data = self.year()
        whole, grown = self.dir / "whole.catalog.nc3z", self.dir / "grown.catalog.nc3z"
        files = sorted(data.glob("*.nc"))
        self.fails(nc3z("catalog", files[0], "-o", grown, "--append"), 1, "does not exist: leave out --append")
        self.ok(nc3z("catalog", *files, "-o", whole))
        self.ok(nc3z("catalog", *files[:5], "-o", grown))
        first = json.loads(self.ok(nc3z("list", "--json", grown)).stdout)
        self.assertIn("@2", self.ok(nc3z("catalog", *files[5:11], "-o", grown, "--append")).stderr)
        # What it is, and as which archive it is stored.
        told = json.loads(self.ok(nc3z("info", "--json", grown)).stdout)
        self.assertEqual(told, {"file": str(grown), "kind": "catalogue", "files": 11, "file_bytes": grown.stat().st_size})
        self.assertRegex(self.ok(nc3z("info", grown)).stdout.decode(), r"(?s)catalogue\n.*files +11; `nc3z list")
        for words in (["--as-stored"], ["--versions"]):
            self.assertEqual(json.loads(self.ok(nc3z("info", "--json", *words, grown)).stdout)["kind"], "archive")
        # Files that are there are passed over; a directory may be named again.
        done = json.loads(self.ok(nc3z("catalog", data, "-o", grown, "--append", "--json")).stdout)
        self.assertEqual((done["files"], done["present"], done["failed"]), (1, 11, 0))
        self.assertEqual(done["original_bytes"], files[11].stat().st_size)
        size = grown.stat().st_size
        done = self.ok(nc3z("catalog", data, "-o", grown, "--append"))
        self.assertIn("had 12 files already", done.stderr)
        self.assertEqual(grown.stat().st_size, size)
        # The answers are those of a catalogue that was written at once.
        for words in (["stats", "--json"], ["stats", "--json", "--each"], ["list", "--json"], ["find", "--json", "--where", "tas > 310"],
                      ["stats", "--json", "--variable", "tas", "--along", "lat"]):
            self.assertEqual(*(nc3z(*words, at).stdout.replace(str(at).encode(), b"") for at in (whole, grown)), words)
        self.assertEqual([f["name"] for f in reference().read(grown.read_bytes())], [str(path) for path in files])
        self.ok(nc3z("verify", "--deep", grown))
        # Versions of a catalogue are those of an archive.
        self.assertEqual(len(json.loads(self.ok(nc3z("log", "--json", grown)).stdout)["versions"]), 3)
        self.assertEqual(json.loads(self.ok(nc3z("list", "--json", f"{grown}@1")).stdout), first)
        # A file that changed is an error, and the others are added.
        shutil.copy(files[0], data / "new.nc")
        os.utime(files[3], (1e9, 1e9))
        done = nc3z("catalog", data, "-o", grown, "--append", "--json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("m03.nc", done.stderr)
        self.assertIn("earlier state", done.stderr)
        done = json.loads(done.stdout)
        self.assertEqual((done["files"], done["present"], done["failed"]), (1, 11, 1))
        # Kinds of variables that no file had before.
        text = self.dir / "text.catalog.nc3z"
        with netCDF4.Dataset(self.dir / "text.nc", "w", format="NETCDF3_CLASSIC") as d:
            d.createDimension("n", 3)
            d.createVariable("word", "S1", ("n",))[:] = np.array(list("abc"), "S1")
        self.ok(nc3z("catalog", self.dir / "text.nc", "-o", text))
        self.ok(nc3z("catalog", files[0], "-o", text, "--append"))
        self.assertEqual({row["variable"] for row in self.stats(text)}, {"tas", "pr"})
        self.fails(nc3z("catalog", files[1], "-o", files[0], "--append"), 1, "not a")
        self.ok(nc3z("find", "--where", "tas > 0", f"{text}@2"))

    def test_files_are_found_by_their_values(self):
        data = self.year()
        catalog = self.dir / "s.catalog.nc3z"
        self.ok(nc3z("catalog", data, "-o", catalog))
        limit = 315.0
        wanted = []
        for path in sorted(data.glob("*.nc")):
            with netCDF4.Dataset(path) as d:
                if d["tas"][:].max() > limit:
                    wanted.append(str(path))
        found = self.ok(nc3z("find", "-l", "--where", f"tas > {limit}", catalog)).stdout.decode().split()
        self.assertEqual(found, wanted)
        both = json.loads(self.ok(nc3z("find", "--json", "--where", f"tas > {limit}", "--where", "pr >= 5", catalog)).stdout)
        self.assertEqual([row["file"] for row in both], wanted)
        self.assertEqual(nc3z("find", "--where", "tas > 1000", catalog).returncode, 1)
        # With a pattern, in any order of the words.
        for words in (["tas", "--where", f"tas > {limit}", catalog], ["--where", f"tas > {limit}", "tas", catalog], ["units=K", catalog, "--where", f"tas > {limit}"]):
            self.assertEqual(self.ok(nc3z("find", "-l", *words)).stdout.decode().split(), found)
        self.assertEqual(nc3z("find", "standard_name=sea_ice", "--where", f"tas > {limit}", catalog).returncode, 1)
        self.fails(nc3z("find", "tas", "--where", f"tas > {limit}"), 1, "`tas` does not exist.*--where CONDITION FILE")
        self.assertEqual(nc3z("find", "--where", "tas is large", catalog).returncode, 2)
        self.assertEqual(nc3z("find").returncode, 2)

    def test_a_damaged_catalogue_is_an_error(self):
        catalogue = self.dir / "s.catalog.nc3z"
        self.ok(nc3z("catalog", CLASSIC / "numeric.nc", "-o", catalogue))
        data = catalogue.read_bytes()
        for hurt in (data[:-1], data[:10], b"", data[:-20] + bytes([data[-20] ^ 1]) + data[-19:], b"CDF\1" + data):
            catalogue.write_bytes(hurt)
            self.assertIn(nc3z("stats", catalogue).returncode, (1, 3), hurt[:10])

    def test_a_catalogue_is_an_ordinary_dataset(self):
        """Other programs read its variables, and it is checked and restored as any archive."""
        data = self.year()
        catalogue, plain = self.dir / "s.catalog.nc3z", self.dir / "s.nc"
        self.ok(nc3z("catalog", data, "-o", catalogue))
        self.ok(nc3z("verify", "--deep", catalogue))
        self.ok(nc3z("restore", catalogue, "-o", plain))
        with netCDF4.Dataset(plain) as d:
            d.set_auto_mask(False)
            lengths = d["file_name_length"][:]
            names = [b"".join(part).decode() for part in np.split(d["file_name"][:], np.cumsum(lengths)[:-1])]
            self.assertEqual(names, [str(path) for path in sorted(data.glob("*.nc"))])
            for counts in d.variables.values():
                if "sample_dimension" in counts.ncattrs() and counts.sample_dimension in d.dimensions:
                    self.assertEqual(counts[:].sum(), len(d.dimensions[counts.sample_dimension]), counts.name)
            self.assertEqual(d["file_kind"].flag_meanings.split()[d["file_kind"][0]], "classic")
            least = d["tile_least"][:][d["tile_count"][:] > 0].min()
            self.assertEqual(least, min(row["min"] for row in self.stats(catalogue)))
        # A catalogue in a directory is not one of its files.
        self.assertEqual(len(json.loads(self.ok(nc3z("list", "--json", catalogue)).stdout)), 12)
        self.ok(nc3z("catalog", data, "-o", data / "all.catalog.nc3z"))
        self.ok(nc3z("catalog", data, "-o", self.dir / "again.catalog.nc3z"))
        self.assertEqual((self.dir / "again.catalog.nc3z").read_bytes(), catalogue.read_bytes())

    def test_the_reader_of_the_specification_reads_the_same(self):
        data = self.year()
        archives, catalog = self.dir / "archives", self.dir / "a.catalog.nc3z"
        self.ok(nc3z("archive", "-r", data, "-o", archives))
        self.ok(nc3z("bundle", data, "-o", self.dir / "packed.bundle.nc3z", "--pack"))
        self.ok(nc3z("catalog", archives, data, self.dir / "packed.bundle.nc3z", "-o", catalog))
        found = reference().read(catalog.read_bytes())
        self.assertEqual(len(found), 36)
        rows = {row["variable"]: row for row in self.stats(catalog)}
        for name in ("tas", "pr"):
            tiles = [t for file in found for v in file["variables"] if v["name"] == name for t in v["tiles"]]
            self.assertEqual(sum(t[0] for t in tiles), rows[name]["count"])
            self.assertEqual(min(t[2] for t in tiles), rows[name]["min"])
            self.assertLessEqual(abs(math.fsum(x for t in tiles for x in t[4:6]) / rows[name]["count"] - rows[name]["mean"]), rows[name]["mean_error_bound"])
        for file in found:
            self.assertIn(file["kind"], ("archive", "classic", "packed"))
            name = file["name"].partition("!/")[2] or file["name"]
            original = (data / name.rpartition("/")[2].removesuffix(".nc3z")).read_bytes()
            header = bytes.fromhex(file["header"])
            self.assertEqual((file["len"], original[: len(header)]), (len(original), header))
            self.assertEqual([v["variable"] for v in file["variables"]], [0, 1, 2])
        # Places are blocks of the archive.
        file = found[0]
        stored = (archives / "m00.nc.nc3z").read_bytes()
        self.assertEqual((file["kind"], file["stored"]), ("archive", len(stored)))
        places = [place for v in file["variables"] for tile in v["places"] for place in tile]
        self.assertTrue(places and all(offset + length <= len(stored) for offset, length in places))
        # Damage and early ends are refused.
        whole = catalog.read_bytes()
        for n in range(0, len(whole), 997):
            with self.assertRaises(Exception):  # noqa: B017
                reference().read(whole[:n])
            with contextlib.suppress(Exception):
                self.assertEqual(reference().read(whole[:n] + bytes([whole[n] ^ 4]) + whole[n + 1 :]), found)

    def test_objects_are_counted_and_measured_as_files_are(self):
        """An aggregation beside its fragments is a view of them wherever they are, and an archive has a size."""
        self.same_as_on_disk("t0.nc", "t1.nc")

    def test_so_are_objects_whose_names_are_escaped_in_urls(self):
        """The aggregation has them as they are."""
        self.same_as_on_disk("t0 é.nc", "t%2C 1#.nc")

    def same_as_on_disk(self, *files):
        data = self.dir / "data"
        data.mkdir()
        for n, name in enumerate(files):
            make(data / name, 3 * n, 3)
        self.ok(nc3z("archive", *sorted(data.glob("*.nc"))))
        for path in data.glob("*.nc"):
            path.unlink()
        self.ok(nc3z("aggregate", data, "-o", data / "agg.nc"))
        names = [path.name for path in sorted(data.iterdir())]
        self.ok(nc3z("catalog", *(data / name for name in names), "-o", self.dir / "disk.catalog.nc3z"))
        wanted, = self.stats(self.dir / "disk.catalog.nc3z", "--variable", "tas")
        self.assertEqual((wanted["files"], wanted["count"]), (2, 2 * 3 * 4 * 3))
        sizes = {path.name: path.stat().st_size for path in data.iterdir()}
        with serve({f"bucket/d/{quote(path.name)}": path.read_bytes() for path in data.iterdir()}) as server:
            settings = [word for option in (f"endpoint={server.root}", "skip_signature=true", "region=here") for word in ("--storage-option", option)]
            # An aggregation on disk whose fragments are objects.
            s3 = [f"s3://bucket/d/{quote(name)}" for name in names[1:]]
            self.ok(nc3z("aggregate", *s3, "-o", self.dir / "of-objects.nc", *settings))
            places = {
                "http": ([server.url(f"bucket/d/{quote(name)}") for name in names], ()),
                "with a query": ([server.url(f"bucket/d/{quote(name)}?token=x") for name in names], ()),
                "store": ([f"s3://bucket/d/{quote(name)}" for name in names], settings),
                "prefix": (["s3://bucket/d/"], settings),
                "disk and store": ([self.dir / "of-objects.nc", *s3], ["--outside", *settings]),
            }
            for place, (inputs, options) in places.items():
                with self.subTest(place):
                    catalog = self.dir / "c.catalog.nc3z"
                    self.ok(nc3z("catalog", "-f", *inputs, "-o", catalog, *options))
                    row, = self.stats(catalog, "--variable", "tas")
                    self.assertEqual({key: row[key] for key in ("files", "count", "min", "max", "mean")}, {key: wanted[key] for key in ("files", "count", "min", "max", "mean")})
                    rows = json.loads(self.ok(nc3z("list", "--json", catalog)).stdout)
                    self.assertEqual(len(rows), 3)
                    found = {unquote(row["name"].rpartition("/")[2]): row["bytes"] for row in rows if row["kind"] == "archive"}
                    self.assertEqual(found, {name: sizes[name] for name in names[1:]})
            # Files are added to a catalogue: the aggregation last, and first.
            urls = places["http"][0]
            for first, then in ((urls[1:], urls[:1]), (urls[:2], urls[2:])):
                self.ok(nc3z("catalog", "-f", *first, "-o", catalog))
                self.ok(nc3z("catalog", "--append", *then, "-o", catalog))
                row, = self.stats(catalog, "--variable", "tas")
                on_disk = self.dir / "d.catalog.nc3z"
                self.ok(nc3z("catalog", "-f", *(data / names[urls.index(url)] for url in first), "-o", on_disk))
                self.ok(nc3z("catalog", "--append", *(data / names[urls.index(url)] for url in then), "-o", on_disk))
                there, = self.stats(on_disk, "--variable", "tas")
                self.assertEqual((row["files"], row["count"]), (there["files"], there["count"]), first)

    def test_an_aggregation_on_a_server_has_a_size(self):
        for n in range(2):
            make(self.dir / f"t{n}.nc", 3 * n, 3)
        self.ok(nc3z("aggregate", "t0.nc", "t1.nc", "-o", "agg.nc", cwd=self.dir))
        self.ok(nc3z("archive", "agg.nc", cwd=self.dir))
        files = {path.name: path.read_bytes() for path in self.dir.iterdir()}
        with serve(files) as server:
            for name in ("agg.nc", "agg.nc.nc3z", "t0.nc"):
                self.ok(nc3z("catalog", "-f", server.url(name), "-o", self.dir / "c.catalog.nc3z"))
                row, = json.loads(self.ok(nc3z("list", "--json", self.dir / "c.catalog.nc3z")).stdout)
                self.assertEqual(row["bytes"], len(files[name]), name)

    def test_an_older_version_in_a_catalogue_has_a_size(self):
        archive, catalog = self.dir / "v.nc3z", self.dir / "v.catalog.nc3z"
        self.ok(nc3z("archive", make(self.dir / "v.nc", 0, 3), "-o", archive))
        self.ok(nc3z("attr", archive, ":title=second"))
        self.ok(nc3z("catalog", f"{archive}@1", "-o", catalog))
        row, = json.loads(self.ok(nc3z("list", "--json", catalog)).stdout)
        listed, = json.loads(self.ok(nc3z("list", "--json", f"{archive}@1")).stdout)
        self.assertGreater(row["bytes"], 0)
        self.assertEqual(row["bytes"], listed["bytes"])

    def test_headers_ranges_and_plans_need_no_member(self):
        data = self.dir / "grid"
        data.mkdir()
        rng = np.random.default_rng(5)
        for month in range(4):
            with netCDF4.Dataset(data / f"m{month}.nc", "w", format="NETCDF3_64BIT_OFFSET") as d:
                for name, n in (("time", None), ("lat", 60), ("lon", 90)):
                    d.createDimension(name, n)
                time = d.createVariable("time", "f8", ("time",))
                time.units = "days since 2001-01-01"
                time[:] = np.arange(30) + 30.0 * month
                d.createVariable("lat", "f4", ("lat",))[:] = np.linspace(-90, 90, 60)
                tas = d.createVariable("tas", "f4", ("time", "lat", "lon"))
                tas.standard_name = "air_temperature"
                tas[:] = rng.normal(280, 9, (30, 60, 90)).cumsum(0)
        archives = self.dir / "archives"
        self.ok(nc3z("archive", "-r", data, "-o", archives))
        self.ok(nc3z("bundle", archives, "-o", self.dir / "set.bundle.nc3z"))
        catalog = self.dir / "s.catalog.nc3z"
        for at, object in ((data, data / "m1.nc"), (archives, archives / "m1.nc.nc3z"), (self.dir / "set.bundle.nc3z", self.dir / "set.bundle.nc3z")):
            wanted = json.loads(self.ok(nc3z("list", "--json", at)).stdout)
            self.ok(nc3z("catalog", at, "-o", catalog, "-f"))
            moved = self.dir / "moved"
            at.rename(moved)
            listed = json.loads(self.ok(nc3z("list", "--json", catalog)).stdout)
            for a, b in zip(wanted, listed, strict=True):
                self.assertTrue(b.pop("name").endswith(a.pop("name")))
                # Of a member, with the headers of the bundle's blocks between its bytes.
                self.assertIn(b.pop("bytes") - a.pop("bytes"), range(100) if at.suffix else [0])
                self.assertEqual(a, b)
            found = json.loads(self.ok(nc3z("find", "--json", "standard_name=air_temperature", catalog)).stdout)
            self.assertEqual(len(found), 4)
            self.assertEqual(nc3z("find", "standard_name=sea_ice", catalog).returncode, 1)
            for words, count in ((("--time", "2001-02"), 1), (("--time", "2001-02,2001-03"), 2), (("--time", "2001-04-15,2002"), 1), (("--time", "2001", "--where", "tas > 1e6"), 0)):
                lines = nc3z("find", "-l", *words, catalog).stdout.decode().splitlines()
                self.assertEqual(len(lines), count, words)
            # The files have no longitudes.
            rows = json.loads(self.ok(nc3z("find", "--json", "--box", "0,10,0,10", catalog)).stdout)
            self.assertEqual([row["unknown"] for row in rows], [["place"]] * 4)
            # One day is in one file.
            plan = json.loads(self.ok(nc3z("read", "--explain", "--json", "--all", catalog, "tas", "-d", "time,2001-02-05,2001-02-05")).stdout)
            self.assertEqual((plan["objects"], plan["files"], len(plan["files_left_out"])), (1, 1, 3))
            self.assertEqual(plan["first_ranges"][0]["object"], str(object))
            moved.rename(at)
            file = object if at.is_dir() else f"{object}!/m1.nc.nc3z"
            alone = json.loads(self.ok(nc3z("read", "--explain", "--json", file, "tas", "-d", "time,2001-02-05,2001-02-05")).stdout)
            self.assertEqual(plan["bytes_to_fetch"], alone["bytes_to_fetch"])
            member = json.loads(self.ok(nc3z("read", "--explain", "--json", f"{catalog}!/{file}", "tas")).stdout)
            self.assertEqual(member["tiles"]["touched"], member["tiles"]["total"])
            self.fails(nc3z("read", "--explain", f"{catalog}!/{file}", "nothing"), 1, "no variable")


if __name__ == "__main__":
    unittest.main()

"""Quantized archives: the bits of netCDF-C, the bound on every element, and that everything says that values were changed."""

import json
import struct
import unittest

import netCDF4
import numpy as np
from common import CLASSIC, NIGHT, Case, missing, nc3z, sha256

FORMATS = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]
MODES = {"bitround": "BitRound", "granularbr": "GranularBitRound", "bitgroom": "BitGroom"}
ATTRIBUTE = {"bitround": "nsb", "granularbr": "nsd", "bitgroom": "nsd"}
LIMITS = {"f4": {"bitround": 23, "granularbr": 6, "bitgroom": 6}, "f8": {"bitround": 52, "granularbr": 15, "bitgroom": 15}}


def adversarial(dtype, n=40000, seed=1):
    """Random bits, extremes, denormals, whole numbers, powers of ten, negatives; neither NaN nor infinite."""
    rng = np.random.default_rng(seed)
    words = np.dtype("u4" if dtype == "f4" else "u8")
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        parts = [
            rng.integers(0, np.iinfo(words).max, n, dtype=words, endpoint=True).view(dtype),
            rng.normal(0, 1, n).astype(dtype), (280 + 20 * rng.normal(0, 1, n)).astype(dtype),
            rng.integers(0, 5000, n).astype(words).view(dtype),                          # denormals
            -rng.integers(0, 1 << 20, n).astype(words).view(dtype),
            np.arange(-3000, 3000).astype(dtype), rng.integers(-2**40, 2**40, n).astype(dtype),
            (10.0 ** np.arange(-37, 38)).astype(dtype), np.nextafter((10.0 ** np.arange(-37, 38)).astype(dtype), np.zeros(1, dtype)[0]),
            (2.0 ** np.arange(-126, 127)).astype(dtype), np.round(rng.normal(0, 100, n), 2).astype(dtype),
            np.array([0.0, -0.0, info.tiny, -info.tiny, info.tiny / 2, 1, -1, 0.1, 9.99, 9.995, 0.5, 1.5, 2.5], dtype),
        ]
    values = np.concatenate(parts)
    values = values[np.isfinite(values)]
    # Values that would round to infinity are left alone by nc3z; they have a test of their own.
    values = values[np.abs(values) < info.max / 4]
    return rng.permutation(values)


class Quantize(Case):
    def classic(self, values, name="c.nc", form="NETCDF3_CLASSIC", fill=None, attributes=None, records=False):
        path = self.dir / name
        with netCDF4.Dataset(path, "w", format=form) as d:
            d.set_auto_mask(False)
            d.createDimension("x", None if records else len(values))
            v = d.createVariable("v", values.dtype.newbyteorder("="), ("x",), fill_value=fill)
            v.setncatts(attributes or {})
            v[:] = values
        return path

    def quantized(self, path, *rules, options=()):
        archive, out = self.dir / "q.nc3z", self.dir / "q.nc"
        flags = [f for rule in rules for f in ("--quantize", rule)]
        done = self.ok(nc3z("archive", "--force", *flags, *options, path, "-o", archive))
        self.ok(nc3z("restore", "--force", archive, "-o", out))
        return archive, out, done

    def by_netcdf_c(self, values, mode, n, fill=None):
        path = self.dir / "oracle.nc"
        with netCDF4.Dataset(path, "w") as d:
            d.set_auto_mask(False)
            d.createDimension("x", len(values))
            v = d.createVariable("v", values.dtype, ("x",), significant_digits=n, quantize_mode=MODES[mode], fill_value=fill)
            v.set_auto_maskandscale(False)
            v[:] = values
        with netCDF4.Dataset(path) as d:
            d["v"].set_auto_maskandscale(False)
            return d["v"][:]

    def values(self, path, name="v"):
        with netCDF4.Dataset(path) as d:
            d[name].set_auto_maskandscale(False)
            return d[name][:]

    def same_bits(self, found, expected, what):
        words = "u4" if expected.dtype.itemsize == 4 else "u8"
        a, b = (np.ascontiguousarray(x).astype(expected.dtype.newbyteorder("=")).view(words) for x in (found, expected))
        bad = np.flatnonzero(a != b)
        self.assertEqual(len(bad), 0, f"{what}: first at {bad[:3]}: {a[bad[:3]]} {b[bad[:3]]}")

    def test_bits_of_netcdf_c(self):
        if not netCDF4.__has_quantization_support__:
            missing(self, "this netCDF4 cannot quantize")
        for dtype in ("f4", "f8"):
            values = adversarial(dtype)
            path = self.classic(values)
            for mode, most in LIMITS[dtype].items():
                # By day every third number of bits or digits, and the most.
                for n in range(most, 0, -1 if NIGHT else -3):
                    with self.subTest(dtype=dtype, mode=mode, n=n):
                        _, out, _ = self.quantized(path, f"v={mode}:{n}", options=("--preset", "fast"))
                        self.same_bits(self.values(out), self.by_netcdf_c(values, mode, n), f"{mode}:{n}")

    def test_fill_values_are_those_of_netcdf_c(self):
        for dtype in ("f4", "f8"):
            rng = np.random.default_rng(3)
            for fill in (None, -999.9):
                values = rng.normal(0, 300, 5001).astype(dtype)
                marker = np.array([netCDF4.default_fillvals[dtype] if fill is None else fill], dtype)[0]
                values[rng.integers(0, 5001, 700)] = marker
                path = self.classic(values, fill=None if fill is None else marker)
                for rule in ("bitround:3", "granularbr:2", "bitgroom:2"):
                    _, out, _ = self.quantized(path, f"v={rule}")
                    mode, n = rule.split(":")
                    expected = self.by_netcdf_c(values, mode, int(n), None if fill is None else marker)
                    self.same_bits(self.values(out), expected, rule)
                    self.assertEqual(np.sum(self.values(out) == marker), np.sum(values == marker))

    def test_what_is_never_touched(self):
        special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo("f4").max, -np.finfo("f4").max], "f4")
        special = np.concatenate([special, np.array([0x7FC01234, 0xFF812345], "u4").view("f4")])
        values = np.concatenate([np.tile(special, 40), np.full(50, 1e20, "f4"), np.full(50, -7.77, "f4")])
        path = self.classic(values, attributes={"missing_value": np.array([1e20, -7.77], "f4")})
        for rule in ("bitround:1", "granularbr:1", "bitgroom:1", "abs:1000"):
            with self.subTest(rule):
                _, out, _ = self.quantized(path, f"v={rule}")
                found = self.values(out)
                # BitGroom only shaves or sets: the largest number changes, and stays finite.
                keep = np.abs(values) < 3e38 if rule == "bitgroom:1" else np.full(len(values), True)
                keep |= ~np.isfinite(values)
                self.same_bits(found[keep], values[keep], rule)
                self.assertTrue(np.isfinite(found[np.isfinite(values)]).all())

    def test_absolute_bound_holds_and_pays(self):
        y, x = np.mgrid[:300, :400]
        rng = np.random.default_rng(5)
        field = (280 + 20 * np.sin(x / 60) * np.cos(y / 45) + rng.normal(0, 0.02, (300, 400))).ravel()
        for dtype in ("f4", "f8"):
            values = field.astype(dtype)
            path = self.classic(values)
            plain = self.dir / "plain.nc3z"
            self.ok(nc3z("archive", path, "--force", "-o", plain))
            for bound in (1e-3, 0.01, 0.1, 1.0):
                archive, out, _ = self.quantized(path, f"v=abs:{bound}")
                error = np.abs(self.values(out).astype("f8") - values.astype("f8"))
                self.assertLessEqual(error.max(), bound)
                self.assertGreater(error.max(), bound / 4)
                told = json.loads(self.ok(nc3z("info", "--json", archive)).stdout)["quantization"]["variables"][0]
                self.assertEqual(told["max_abs_error"], error.max())
                self.assertLess(archive.stat().st_size, plain.stat().st_size)
            wild = adversarial(dtype)
            _, out, _ = self.quantized(self.classic(wild), "v=abs:0.25")
            with np.errstate(all="ignore"):
                self.assertLessEqual(np.abs(self.values(out).astype("f8") - wild.astype("f8")).max(), 0.25)

    def dataset(self, path, form, records=True):
        """Coordinates, bounds, packed and float data, records with padding; two float variables to round."""
        rng = np.random.default_rng(7)
        with netCDF4.Dataset(path, "w", format=form) as d:
            d.title = "made for a test"
            d.createDimension("time", None if records else 5)
            d.createDimension("lat", 7)
            d.createDimension("lon", 9)
            for name, size in (("time", 5), ("lat", 7), ("lon", 9)):
                v = d.createVariable(name, "f8", (name,))
                v[:] = np.linspace(0.123456789, 90.987654321, size)
            v = d.createVariable("area", "f4", ("lat", "lon"))
            v[:] = rng.normal(5, 1, (7, 9))
            v = d.createVariable("tas", "f4", ("time", "lat", "lon"), fill_value=np.float32(1e20))
            v.cell_measures = "area: area"
            v[:] = rng.normal(280, 10, (5, 7, 9))
            v = d.createVariable("flag", "i1", ("time", "lon"))
            v[:] = rng.integers(0, 9, (5, 9))
            v = d.createVariable("packed", "i2", ("time", "lat", "lon"))
            v[:] = rng.integers(-99, 99, (5, 7, 9))
            v = d.createVariable("pr", "f8", ("time", "lat", "lon"))
            v[:] = rng.gamma(1, 1e-5, (5, 7, 9))
            v = d.createVariable("offset", "f8", ())
            v[...] = 1.23456789
        return path

    def test_whole_dataset_but_for_the_rounded_values(self):
        for form in FORMATS:
            for records in (True, False):
                with self.subTest(form, records=records):
                    path = self.dataset(self.dir / "d.nc", form, records)
                    archive, out, done = self.quantized(path, "tas=bitround:5", "pr=granularbr:3")
                    with netCDF4.Dataset(path) as a, netCDF4.Dataset(out) as b:
                        self.assertEqual(b.data_model, a.data_model)
                        self.assertEqual({k: len(v) for k, v in a.dimensions.items()}, {k: len(v) for k, v in b.dimensions.items()})
                        self.assertEqual(a.ncattrs(), b.ncattrs())
                        self.assertEqual(list(b.variables)[:len(a.variables)], list(a.variables))
                        for name in a.variables:
                            va, vb = a[name], b[name]
                            for v in (va, vb):
                                v.set_auto_maskandscale(False)
                            self.assertEqual((va.dtype, va.dimensions), (vb.dtype, vb.dimensions))
                            self.assertEqual(vb.ncattrs()[:len(va.ncattrs())], va.ncattrs())
                            if name in ("tas", "pr"):
                                continue
                            self.assertEqual(va[...].tobytes(), vb[...].tobytes(), name)
                        tas, pr = b["tas"], b["pr"]
                        self.assertEqual((tas.quantization_nsb, pr.quantization_nsd), (5, 3))
                        for v, algorithm in ((tas, "bitround"), (pr, "granular_bitround")):
                            container = b[v.getncattr("quantization")]
                            self.assertEqual((container.algorithm, container.dimensions), (algorithm, ()))
                            self.assertRegex(container.implementation, r"^nc3z version \d+\.\d+\.\d+$")
                        self.same_bits(tas[...].ravel(), self.by_netcdf_c(a["tas"][...].ravel(), "bitround", 5, np.float32(1e20)), "tas")
                        self.same_bits(pr[...].ravel(), self.by_netcdf_c(a["pr"][...].ravel(), "granularbr", 3), "pr")
                    self.assertIn("LOSSY", done.stderr)

    def test_everything_says_so(self):
        path = self.dataset(self.dir / "d.nc", FORMATS[0])
        archive, out, done = self.quantized(path, "tas=bitgroom:3")
        self.assertRegex(done.stderr, r"LOSSY, the rounded file verified")
        self.assertRegex(done.stderr, r"tas bitgroom:3: \d+ of 315 values changed, by at most ")
        restored = self.ok(nc3z("restore", "--force", archive, "-o", out))
        self.assertIn("LOSSY", restored.stderr)
        text = self.ok(nc3z("info", archive)).stdout.decode()
        self.assertIn("LOSSY", text)
        self.assertIn(sha256(path), text)
        report = json.loads(self.ok(nc3z("info", "--json", archive)).stdout)
        self.assertTrue(report["lossy"])
        self.assertEqual(report["sha256"], sha256(out))
        self.assertEqual(report["options"]["quantize tas"], "bitgroom:3")
        record = report["quantization"]
        self.assertEqual((record["source_sha256"], record["source_length"]), (sha256(path), path.stat().st_size))
        a, b = self.values(path, "tas").astype("f8"), self.values(out, "tas").astype("f8")
        [told] = record["variables"]
        self.assertEqual(told["max_abs_error"], np.abs(a - b).max())
        self.assertEqual(told["max_rel_error"], (np.abs(a - b) / np.abs(a)).max())
        self.assertEqual((told["changed"], told["elements"]), (int(np.sum(a != b)), a.size))
        self.assertIn("LOSSY", self.ok(nc3z("verify", archive)).stdout.decode())
        self.ok(nc3z("verify", "--against", out, archive))
        self.fails(nc3z("verify", "--against", path, archive), words="lossy")
        # And an exact archive does not.
        self.ok(nc3z("archive", path, "--force", "-o", archive))
        report = json.loads(self.ok(nc3z("info", "--json", archive)).stdout)
        self.assertEqual((report["lossy"], report["quantization"]), (False, None))

    def test_the_trailer_demands_a_reader_that_knows(self):
        path = self.dataset(self.dir / "d.nc", FORMATS[0])
        archive, _, _ = self.quantized(path, "tas=abs:0.1")
        self.ok(nc3z("parity", "add", archive))                              # in the long form there is a trailer
        required = struct.unpack("<I", archive.read_bytes()[-128:][16:20])[0]
        self.assertEqual(required & 1, 1)

    def test_star_takes_data_and_leaves_coordinates(self):
        path = self.dataset(self.dir / "d.nc", FORMATS[2])
        _, out, done = self.quantized(path, "*=bitround:8", "pr=bitround:20")
        with netCDF4.Dataset(out) as d:
            found = {n: getattr(v, "quantization_nsb", None) for n, v in d.variables.items()}
        self.assertEqual({n for n, k in found.items() if k}, {"tas", "pr", "offset"})
        self.assertEqual((found["tas"], found["pr"]), (8, 20))
        self.assertIn("`area` is named by attribute cell_measures of `tas`", done.stderr)
        self.assertIn("`lat` is a coordinate variable", done.stderr)

    def test_refusals_teach(self):
        path = self.dataset(self.dir / "d.nc", FORMATS[0])
        target = self.dir / "no.nc3z"

        def refused(words, *rules, code=1, options=()):
            flags = [f for rule in rules for f in ("--quantize", rule)]
            self.fails(nc3z("archive", path, *flags, *options, "-o", target), code, words)
            self.assertFalse(target.exists())
        refused("no variable `t`; there are time", "t=bitround:3")
        refused("only float and double", "packed=bitround:3")
        refused("coordinate variable", "lat=bitround:3")
        refused("cell_measures", "area=bitround:3")
        refused("1 to 23 bits", "tas=bitround:24")
        refused("1 to 6 digits", "tas=granularbr:7")
        _, out, _ = self.quantized(path, "tas=bitround:9")
        self.fails(nc3z("archive", out, "--quantize", "tas=bitround:3", "-o", target), 1, "quantized already")
        for rule in ("tas=bitround", "tas", "tas=abs:0", "tas=zfp:3"):
            self.assertEqual(nc3z("archive", path, "--quantize", rule, "-o", target).returncode, 2)
        done = nc3z("archive", path, "--quantize", "tas=bitround:3", "--remove-source", "-o", target)
        self.assertEqual(done.returncode, 2)
        cut = self.dir / "cut.nc"
        cut.write_bytes(path.read_bytes()[:-40])
        self.fails(nc3z("archive", cut, "--quantize", "tas=bitround:3", "-o", target), 1, "cut short")

    def test_same_archive_whatever_the_threads(self):
        rng = np.random.default_rng(2)
        path = self.dir / "big.nc"
        with netCDF4.Dataset(path, "w", format=FORMATS[1]) as d:
            d.createDimension("t", None)
            d.createDimension("x", 1001)
            for name, kind in (("a", "f4"), ("b", "i1"), ("c", "f8")):
                d.createVariable(name, kind, ("t", "x"))[:] = rng.normal(0, 30, (1500, 1001))
        made = []
        for options in (("--threads", "1"), ("--threads", "4", "--memory", "16MiB")):
            archive, out, _ = self.quantized(path, "*=bitgroom:2", options=options)
            made.append(archive.read_bytes())
        self.assertEqual(made[0], made[1])
        for name in ("a", "c"):
            old, new = self.values(path, name), self.values(out, name)
            self.same_bits(new.ravel(), self.by_netcdf_c(old.ravel(), "bitgroom", 2), name)
        self.assertEqual(self.values(path, "b").tobytes(), self.values(out, "b").tobytes())

    def test_lone_record_variable_and_empty_records(self):
        for n in (0, 1, 4097):
            path = self.classic(adversarial("f4")[:n], records=True)
            _, out, _ = self.quantized(path, "v=bitround:4")
            self.assertEqual(len(self.values(out)), n)

    def test_real_files(self):
        for name in ("numeric.nc", "record_padding.nc", "all_types_cdf5.nc"):
            path = CLASSIC / name
            with netCDF4.Dataset(path) as d:
                floats = [n for n, v in d.variables.items() if v.dtype.kind == "f" and n not in d.dimensions]
            if not floats:
                continue
            with self.subTest(name):
                _, out, _ = self.quantized(path, "*=bitround:7")
                with netCDF4.Dataset(path) as a, netCDF4.Dataset(out) as b:
                    for n, v in a.variables.items():
                        for d in (v, b[n]):
                            d.set_auto_maskandscale(False)
                        if v.dtype.kind != "f":
                            self.assertEqual(np.asarray(v[...]).tobytes(), np.asarray(b[n][...]).tobytes(), n)


if __name__ == "__main__":
    unittest.main()

"""Filters in both notations: the bytes of HDF5's plug-ins and of NumCodecs, both ways; rounding filters; the output of `info` and `dump`."""

import importlib
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from common import ROOT, Case, header, missing, nc3z

sys.path.insert(0, str(ROOT / "spec" / "reference"))
import make_test_archive  # noqa: E402
import nc3z_ref  # noqa: E402

import numpy as np  # noqa: E402

CODES = {"i1": 1, "i2": 3, "i4": 4, "f4": 5, "f8": 6}


def library(test, name):
    try:
        return importlib.import_module(name)
    except ImportError:
        missing(test, f"the Python package {name} is not installed")


def numbers(kind, count):
    """Numbers that compress, of a big-endian type."""
    x = np.arange(count)
    values = np.round(280 + 20 * np.sin(x / 60), 1) if kind[0] == "f" else (x // 3) % 101
    return values.astype(">" + kind)


# HDF5's pipeline as a user writes it, and as HDF5 has it for elements of `size` bytes.
PIPELINES = [
    ("1,5", lambda size: [(1, (5,))]),
    ("2|1,9", lambda size: [(2, ()), (1, (9,))]),
    ("2|1,1|3", lambda size: [(2, ()), (1, (1,)), (3, ())]),
    ("3|2|307,9", lambda size: [(3, ()), (2, ()), (307, (9,))]),
    ("32015,3", lambda size: [(32015, (3,))]),
    ("32004", lambda size: [(32004, ())]),
    ("32004,1000", lambda size: [(32004, (1000,))]),
    ("32008,0,2", lambda size: [(32008, (0, 2))]),
    ("32008,64,3,5", lambda size: [(32008, (64, 3, 5))]),
    ("32008,0,2|3", lambda size: [(32008, (0, 2)), (3, ())]),
    ("32000", lambda size: [(32000, ())]),
    ("32008,0,2|307,1", lambda size: [(32008, (0, 2)), (307, (1,))]),
] + [(f"32001,0,0,0,0,{level},{shuffle},{codec}", lambda size, l=level, s=shuffle, c=codec: [(32001, (0, 0, 0, 0, l, s, c))])
     for codec, level, shuffle in ((0, 5, 1), (1, 9, 2), (2, 5, 0), (4, 1, 1), (5, 3, 2))]

NUMCODECS = [
    [{"id": "zlib", "level": 5}],
    [{"id": "gzip", "level": 5}],
    [{"id": "bz2", "level": 1}],
    [{"id": "lz4"}],
    [{"id": "zstd", "level": 3}],
    [{"id": "shuffle"}, {"id": "zlib", "level": 1}],
    [{"id": "delta"}, {"id": "bz2"}],
    [{"id": "crc32"}],
    [{"id": "crc32c"}],
    [{"id": "adler32"}],
    [{"id": "crc32", "location": "end"}],
    [{"id": "zstd", "level": 1}, {"id": "crc32c"}],
    [{"id": "fletcher32"}],
    [{"id": "pcodec"}],
    [{"id": "pcodec", "level": 4, "delta_spec": "try_consecutive", "delta_encoding_order": 1}],
] + [[{"id": "blosc", "cname": cname, "clevel": clevel, "shuffle": shuffle}]
     for cname, clevel, shuffle in (("blosclz", 5, 1), ("lz4", 5, -1), ("lz4hc", 9, 2), ("zlib", 1, 0), ("zstd", 7, 2), ("zstd", 9, 1))]


class Filters(Case):
    def file(self, values):
        path = self.dir / "v.nc"
        path.write_bytes(header([("v", (0,), CODES[values.dtype.str[1:]], values.nbytes)], [("x", values.size)])
                         + values.tobytes())
        return path

    def archive(self, path, *options):
        target = self.dir / "a.nc3z"
        self.ok(nc3z("archive", "--force", *options, path, "-o", target))
        return target

    def block(self, archive):
        """The payload of variable 0's only tile, and its chain."""
        opened = nc3z_ref.Archive(archive.read_bytes())
        [found] = [b for b in opened.probe() if b.variable == 0 and b.kind == 0]
        return opened.payload(found), opened.chains[found.chain]

    def reference(self, archive, path):
        """The decoder that is written from the specification gives the file back."""
        opened = nc3z_ref.Archive(archive.read_bytes())
        back = bytearray(opened.length)
        opened.restore(back)
        self.assertEqual(bytes(back), path.read_bytes())

    def theirs(self, path, chain, encode):
        """An archive whose tiles somebody else encoded; restored by us, it is the file."""
        target, out = self.dir / "theirs.nc3z", self.dir / "out.nc"
        ours, make_test_archive.encode = make_test_archive.encode, lambda data, steps, *_: encode(data) if steps else data
        try:
            sys.argv = ["make", str(path), "-o", str(target), "--chain", json.dumps(chain), "--tile", "100000"]
            make_test_archive.main()
        finally:
            make_test_archive.encode = ours
        self.ok(nc3z("restore", "--force", target, "-o", out))
        self.assertEqual(out.read_bytes(), path.read_bytes())

    def dataset(self, h5py, file, values, filters):
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk(values.shape)
        for number, parameters in filters:
            if number == 1:
                plist.set_deflate(*parameters)
            elif number == 2:
                plist.set_shuffle()
            elif number == 3:
                plist.set_fletcher32()
            else:
                plist.set_filter(number, 0, parameters)
        space = h5py.h5s.create_simple(values.shape)
        h5py.h5d.create(file.id, b"d", h5py.h5t.py_create(values.dtype), space, plist)
        return file["d"]

    def test_bytes_of_hdf5s_plugins_both_ways(self):
        h5py, _ = library(self, "h5py"), library(self, "hdf5plugin")
        for n, (text, pipeline) in enumerate(PIPELINES):
            for kind, count in (("f4", 4099), (("f8", 3001), ("i2", 9001), ("i1", 10007))[n % 3]):
                with self.subTest(text, kind=kind, count=count):
                    values = numbers(kind, count)
                    path = self.file(values)
                    payload, chain = self.block(self.archive(path, "--chain", f"v={text}"))
                    self.reference(self.dir / "a.nc3z", path)
                    filters = pipeline(values.itemsize)
                    with h5py.File("ours", "w", driver="core", backing_store=False) as f:
                        data = self.dataset(h5py, f, values, filters)
                        data.id.write_direct_chunk((0,), payload)
                        self.assertEqual(data[...].tobytes(), values.tobytes())
                    with h5py.File("theirs", "w", driver="core", backing_store=False) as f:
                        data = self.dataset(h5py, f, values, filters)
                        data[...] = values
                        mask, written = data.id.read_direct_chunk((0,))
                        self.assertEqual(mask, 0)
                    self.theirs(path, chain, lambda _: written)

    def test_chunks_that_netcdf4_wrote_are_read(self):
        library(self, "netCDF4")
        library(self, "h5py")
        code = """if True:
            import json, sys, numpy as np, netCDF4
            path, count = sys.argv[1], 9001
            made = []
            with netCDF4.Dataset(path, "w") as f:
                f.createDimension("x", count)
                for name, options in {"zlib": dict(compression="zlib", complevel=4, fletcher32=True), "zstd": dict(compression="zstd", complevel=3),
                                      "bzip2": dict(compression="bzip2", complevel=9), "blosc_lz4": dict(compression="blosc_lz4", blosc_shuffle=1),
                                      "blosc_zstd": dict(compression="blosc_zstd", blosc_shuffle=2, shuffle=False)}.items():
                    try:
                        v = f.createVariable(name, "i4", ("x",), chunksizes=(count,), endian="big", **options)
                    except RuntimeError:
                        continue
                    v[:] = np.arange(count) // 3 % 101
        """
        path = self.dir / "v4.nc"
        subprocess.run([sys.executable, "-c", code, path], check=True)
        import h5py
        values = (np.arange(9001) // 3 % 101).astype(">i4")
        source = self.file(values)
        read = 0
        with h5py.File(path) as f:
            for name in f:
                if name == "x":
                    continue
                plist = f[name].id.get_create_plist()
                stored = [plist.get_filter(i) for i in range(plist.get_nfilters())]
                text = "|".join(",".join(map(str, (number, *cd))) for number, _, cd, _ in stored)
                mask, written = f[name].id.read_direct_chunk((0,))
                with self.subTest(name, text=text):
                    self.assertEqual(mask, 0)
                    _, chain = self.block(self.archive(source, "--chain", f"v={text}"))
                    self.theirs(source, chain, lambda _: written)
                    read += 1
        self.assertGreaterEqual(read, 3)

    def test_bytes_of_numcodecs_both_ways(self):
        numcodecs = library(self, "numcodecs")
        if not hasattr(numcodecs, "pcodec"):
            importlib.import_module("numcodecs.pcodec") if importlib.util.find_spec("pcodec") else None
        known = numcodecs.registry.codec_registry
        for n, steps in enumerate(NUMCODECS):
            if any(step["id"] not in known and step["id"] not in numcodecs.registry.entries for step in steps):
                continue
            is_pcodec = steps[0]["id"] == "pcodec"
            for kind, count in ((("f4", 4099), ("i2", 9001), ("f8", 2051), ("i1", 10007))[:3 if is_pcodec else 4][n % 3::3]):
                if steps[0]["id"] == "delta" and kind[0] == "f":
                    continue
                with self.subTest(steps=steps, kind=kind):
                    values = numbers(kind, count)
                    path = self.file(values)
                    payload, chain = self.block(self.archive(path, "--chain", "v=" + json.dumps(steps)))
                    told = json.loads(self.ok(nc3z("info", "--json", "--notation", "json", self.dir / "a.nc3z")).stdout)
                    [told] = [c["numcodecs"] for c in told["variables"][0]["chains"]]
                    codecs = [numcodecs.get_codec(dict(step)) for step in told]
                    if not is_pcodec:
                        self.reference(self.dir / "a.nc3z", path)
                    data = payload
                    for codec in reversed(codecs):
                        data = codec.decode(data)
                    data = np.asarray(data)
                    if is_pcodec:
                        data = data.astype(">" + kind)
                    self.assertEqual(np.ascontiguousarray(data).tobytes(), values.tobytes())

                    def encode(raw):
                        numbers_of = np.frombuffer(raw, values.dtype)
                        written = numbers_of.astype("=" + kind) if is_pcodec else numbers_of
                        for codec in codecs:
                            written = codec.encode(written)
                        return bytes(np.ascontiguousarray(written).tobytes() if isinstance(written, np.ndarray) else written)
                    self.theirs(path, chain, encode)

    def test_filters_for_special_values(self):
        numcodecs = library(self, "numcodecs")
        flags = (np.arange(9001) % 3 == 0).astype("i1")
        steps = np.round(np.arange(9001) % 700 / 4 + 1, 2).astype(">f4")
        for values, steps_ in ((flags, [{"id": "packbits"}]),
                               (steps, [{"id": "fixedscaleoffset", "offset": 1, "scale": 4, "astype": "<i2"}])):
            with self.subTest(steps=steps_):
                path = self.file(values)
                payload, chain = self.block(self.archive(path, "--chain", "v=" + json.dumps(steps_)))
                codec = numcodecs.get_codec(dict(chain[0]))
                self.reference(self.dir / "a.nc3z", path)
                source = values.astype(bool) if steps_[0]["id"] == "packbits" else values
                self.assertEqual(bytes(np.asarray(codec.encode(source))), payload)
                self.assertEqual(np.asarray(codec.decode(payload)).view(values.dtype).tobytes(), values.tobytes())
        done = nc3z("archive", "--force", self.file(np.random.default_rng(1).normal(0, 20, 9000).astype(">f4")), "-o", self.dir / "no.nc3z",
                    "--chain", 'v=[{"id":"delta"}]')
        self.assertEqual(done.returncode, 1)
        self.assertIn("would not come back", done.stderr)

    def test_rounding_filters_are_declared_losses(self):
        numcodecs = library(self, "numcodecs")
        rng = np.random.default_rng(3)
        values = rng.normal(280, 20, 9001).astype(">f4")
        path = self.file(values)
        for text, rule, filters in (
            ("32032,9|2|32015,3", "bitround:9", "32032,9|2,4|32015,3"),
            ("37373,5|1,9", "bitround:5", "32032,5|1,9"),
            ("32022,3|1,9", "bitgroom:3", "32022,3|1,9"),
            ("32023,2|1,9|3", "granularbr:2", "32023,2|1,9|3"),
            ('[{"id":"quantize","digits":1},{"id":"zlib","level":1}]', "abs:0.03125", None),
        ):
            with self.subTest(text):
                target = self.dir / "a.nc3z"
                done = self.ok(nc3z("archive", "--force", path, "-o", target, "--chain", f"v={text}"))
                self.assertIn("LOSSY", done.stderr)
                self.assertIn("v", done.stderr)
                self.ok(nc3z("archive", "--force", path, "-o", self.dir / "q.nc3z", "--quantize", f"v={rule}"))
                for name in ("a", "q"):
                    self.ok(nc3z("restore", "--force", self.dir / f"{name}.nc3z", "-o", self.dir / f"{name}.nc"))
                self.assertEqual((self.dir / "a.nc").read_bytes(), (self.dir / "q.nc").read_bytes())
                report = json.loads(self.ok(nc3z("info", "--json", "--notation", "hdf5", target)).stdout)
                self.assertTrue(report["lossy"])
                self.assertEqual(report["quantization"]["variables"][0]["name"], "v")
                self.assertEqual(report["variables"][0]["chains"][0]["hdf5"], filters)
                if "quantize" in text:
                    self.ok(nc3z("read", "--format", "npy", "-o", self.dir / "v.npy", target, "v"))
                    kept = np.load(self.dir / "v.npy").astype(">f4")
                    (self.dir / "v.npy").unlink()
                    codec = numcodecs.get_codec({"id": "quantize", "digits": 1, "dtype": ">f4"})
                    self.assertEqual(kept.tobytes(), np.asarray(codec.encode(values)).tobytes())
        for rule, words in (("v=2|32032,9", "must be the first"), ("v=32032,9|32022,3", "two filters that round"),
                            ("v=32032,24", "1 to 23 bits")):
            done = nc3z("archive", "--force", path, "-o", self.dir / "no.nc3z", "--chain", rule)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)
        done = nc3z("archive", "--force", path, "-o", self.dir / "no.nc3z", "--chain", "v=32032,9", "--quantize", "v=bitround:3")
        self.assertIn("and by another rule", done.stderr)
        done = nc3z("recompress", self.dir / "a.nc3z", "--chain", "v=32032,9")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("only making an archive", done.stderr)

    def test_quantize_keeps_the_sign_of_zero(self):
        """As NumCodecs does, and as netCDF-C does in its own modes."""
        numcodecs = library(self, "numcodecs")
        for kind in ("f4", "f8"):
            values = np.array([0.0, -0.0, 1e-40, -1e-40, 0.001, -0.001, 0.06, -0.06, -0.05, 0.05, 1, -1, -2.26] * 700, ">" + kind)
            for digits in (0, 1, 3):
                chain = json.dumps([{"id": "quantize", "digits": digits}, {"id": "zlib", "level": 1}])
                archive = self.archive(self.file(values), "--chain", f"v={chain}")
                self.ok(nc3z("read", "--format", "npy", "-o", self.dir / "v.npy", archive, "v"))
                kept = np.load(self.dir / "v.npy").astype(">" + kind)
                (self.dir / "v.npy").unlink()
                expected = numcodecs.get_codec({"id": "quantize", "digits": digits, "dtype": ">" + kind}).encode(values)
                self.assertEqual(kept.tobytes(), np.asarray(expected).tobytes())
                self.assertIn(-0.0, kept[np.signbit(kept)])

    def test_a_rule_for_all_rounds_data_only(self):
        path = self.dir / "two.nc"
        values, counts = numbers("f4", 5000), numbers("i4", 5000)
        path.write_bytes(header([("v", (0,), 5, values.nbytes), ("n", (0,), 4, counts.nbytes)], [("x", 5000)])
                         + values.tobytes() + counts.tobytes())
        archive = self.archive(path, "--chain", "*=32032,5|1,9")
        report = json.loads(self.ok(nc3z("info", "--json", "--notation", "hdf5", archive)).stdout)
        self.assertEqual([v["chains"][0]["hdf5"] for v in report["variables"][:2]], ["32032,5|1,9", "1,9"])
        self.assertEqual([v["name"] for v in report["quantization"]["variables"]], ["v"])

    def test_notations_of_info_and_dump(self):
        path = self.file(numbers("f4", 9000))
        archive = self.archive(path, "--chain", 'v={"filters":[{"id":"shuffle"}],"compressor":{"id":"zlib","level":5}}')
        text = self.ok(nc3z("info", "--notation", "hdf5", archive)).stdout.decode()
        self.assertIn("2,4|1,5", text)
        text = self.ok(nc3z("info", "--notation", "json", archive)).stdout.decode()
        self.assertIn('{"compressor":{"id":"zlib","level":5},"filters":[{"elementsize":4,"id":"shuffle"}]}', text)
        # A chain that neither notation can express is reported, and `dump` prints the same as for the original.
        archive = self.archive(path)
        text = self.ok(nc3z("info", "--notation", "hdf5", archive)).stdout.decode()
        self.assertIn("cannot be written in HDF5's notation", text)
        self.assertEqual(self.ok(nc3z("dump", "-hs", "-n", "x", archive)).stdout, self.ok(nc3z("dump", "-hs", "-n", "x", path)).stdout)

    def test_special_attributes_are_those_of_ncdump(self):
        """ncdump of a netCDF-4 file with the same chunks, filters and byte order, all of whose chunks are written."""
        if importlib.util.find_spec("netCDF4") is None or not shutil.which("ncdump"):
            missing(self, "the Python package netCDF4, or ncdump, is not installed")
        import netCDF4

        def special(text):
            return [line for line in text.splitlines() if line.startswith("\t\tv:_")]

        def ours(path, chain):
            archive = self.archive(path, "--chain", f"v={chain}", "--layout", "chunked", "--tile", "y=20,x=50")
            return special(self.ok(nc3z("dump", "-hs", archive)).stdout.decode())

        def theirs(path):
            return special(subprocess.run(["ncdump", "-hs", path], capture_output=True, text=True, check=True).stdout)

        def write(path, kind, **options):
            with netCDF4.Dataset(path, "w", format=options.pop("format")) as file:
                file.createDimension("y", 60)
                file.createDimension("x", 50)
                v = file.createVariable("v", kind, ("y", "x"), fill_value=False, **options)
                values = np.arange(3000).reshape(60, 50) // 7
                v[:] = values.astype("u1").view("S1") if kind == "S1" else values.astype(kind)

        cases = {
            "1,5": {"zlib": True, "complevel": 5, "shuffle": False}, "2|1,9": {"zlib": True, "complevel": 9},
            "3|2|1,1": {"zlib": True, "complevel": 1, "fletcher32": True}, "3": {"fletcher32": True},
        }
        classic, hdf5 = self.dir / "a.nc", self.dir / "b.nc"
        for kind in ("f4", "f8", "i1", "i2", "u8", "S1"):
            write(classic, kind, format="NETCDF3_64BIT_DATA")
            for chain, filters in cases.items():
                with self.subTest(kind=kind, chain=chain):
                    order = {"endian": "big"} if kind[1:] != "1" else {}
                    write(hdf5, ">" + kind if order else kind, format="NETCDF4", chunksizes=(20, 50), **order, **filters)
                    self.assertEqual(ours(classic, chain), theirs(hdf5))
        # nccopy takes chains as nc3z does, and writes in the machine's byte order. It chooses its own chunks.
        write(classic, "f4", format="NETCDF3_64BIT_OFFSET")
        plugins = importlib.util.find_spec("hdf5plugin")
        if plugins is None or not shutil.which("nccopy"):
            missing(self, "the Python package hdf5plugin, or nccopy, is not installed")
        env = dict(os.environ, HDF5_PLUGIN_PATH=str(pathlib.Path(plugins.origin).parent / "plugins"))
        for chain in ("307,9", "2|307,9", "1,5|307,9", "2|32015,3", "3|32015,3", "3|2|1,4|307,1", "1,5|307,9|32015,3"):
            with self.subTest(chain=chain):
                subprocess.run(["nccopy", "-4", "-c", "y/20,x/50", "-F", f"v,{chain}", classic, hdf5], env=env, check=True)
                expected = [line.replace("little", "big") for line in theirs(hdf5)]
                self.assertEqual(ours(classic, chain)[2:], expected[2:])

    def test_special_attributes_keep_orders_that_ncdump_loses(self):
        """netCDF-C names the checksum and shuffle first, wherever they are: `_Filter` has the chain then, and ncgen takes it."""
        path = self.file(numbers("f4", 9000))
        for chain, lines in (
            ("1,5|3", ['v:_Fletcher32 = "true" ;', "v:_DeflateLevel = 5 ;", 'v:_Filter = "1,5|3" ;']),
            ("2|1,5|3", ['v:_Fletcher32 = "true" ;', 'v:_Shuffle = "true" ;', "v:_DeflateLevel = 5 ;", 'v:_Filter = "2,4|1,5|3" ;']),
            ("3|1,5", ['v:_Fletcher32 = "true" ;', "v:_DeflateLevel = 5 ;"]),
        ):
            with self.subTest(chain):
                archive = self.archive(path, "--chain", f"v={chain}", "--layout", "chunked", "--tile", "x=3000")
                text = self.ok(nc3z("dump", "-hs", archive)).stdout.decode()
                special = [line.strip() for line in text.splitlines() if line.startswith("\t\tv:_")]
                self.assertEqual(special[2:-2], lines)
                self.assertEqual(special[-2:], ['v:_Endianness = "big" ;', 'v:_NoFill = "true" ;'])
                if shutil.which("ncgen"):
                    (self.dir / "a.cdl").write_text(text.replace("cdf5", "netCDF-4"))
                    subprocess.run(["ncgen", "-4", "-o", self.dir / "g.nc", self.dir / "a.cdl"], check=True)
        # Codecs without a number in HDF5 have JSON, as ncdump prints it of NCZarr.
        archive = self.archive(path, "--chain", 'v=[{"id":"lz4"}]')
        text = self.ok(nc3z("dump", "-hs", archive)).stdout.decode()
        self.assertIn('\t\tv:_Codecs = "[{\\"acceleration\\":1,\\"id\\":\\"lz4\\"}]" ;', text)
        self.assertNotIn("v:_Filter", text)

    def test_filters_are_listed(self):
        text = self.ok(nc3z("filters")).stdout.decode()
        report = json.loads(self.ok(nc3z("filters", "--json")).stdout)
        numbers_of = {f["id"]: f["hdf5_id"] for f in report["built_in"]}
        for name, number in (("zlib", 1), ("shuffle", 2), ("fletcher32", 3), ("bz2", 307), ("lzf", 32000), ("blosc", 32001),
                             ("lz4h5", 32004), ("bitshuffle", 32008), ("zstd", 32015), ("bitgroom", 32022),
                             ("granularbr", 32023), ("bitround", 32032), ("lz4", None), ("gzip", None), ("pcodec", None)):
            self.assertEqual(numbers_of[name], number, name)
            self.assertIn(f'"id":"{name}"', text)
        self.assertEqual(report["plugins"], [])

    def test_filters_that_are_not_there_are_told(self):
        path = self.file(numbers("f4", 5000))
        for rule, words in (("v=4,141,32", "it is part of HDF5 itself"), ("v=32013,1", "hdf5plugin"), ("v=40000", "private range"),
                            ("v=1,10", "out of range"), ("v=2|x", "not a filter number"), ("v=32015,1.5", "1.5f")):
            done = nc3z("archive", path, "-o", self.dir / "no.nc3z", "--chain", rule)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertFalse((self.dir / "no.nc3z").exists())


if __name__ == "__main__":
    unittest.main()

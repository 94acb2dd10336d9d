"""Chains that the user chose: exact, read by the reference reader, and in the bytes of NumCodecs and HDF5."""

import importlib
import json
import sys
import unittest

from common import CLASSIC, NIGHT, ROOT, Case, header, missing, nc3z

sys.path.insert(0, str(ROOT / "spec" / "reference"))
import nc3z_ref  # noqa: E402

import numpy as np  # noqa: E402

LZMA = {"check": -1, "filters": [{"dict_size": 65536, "id": 33, "lc": 2, "lp": 2, "pb": 2}], "format": 3, "id": "lzma", "preset": None}
FILTERS = [[], [{"id": "shuffle"}], [{"id": "bitshuffle"}], [{"id": "bitshuffle", "blocksize": 64}]]
CODECS = [[], [{"id": "zstd", "level": 3}], [{"id": "zlib", "level": 6}], [{"id": "gzip", "level": 6}],
          [{"id": "lz4", "acceleration": 1}], [LZMA]]
CHAINS = [f + c for f in FILTERS for c in CODECS] + [[{"id": "nc3z.num"}]]


def library(test, name):
    try:
        return importlib.import_module(name)
    except ImportError:
        missing(test, f"the Python package {name} is not installed")


class Chains(Case):
    def archive(self, path, *options):
        target = self.dir / "a.nc3z"
        self.ok(nc3z("archive", "--force", *options, path, "-o", target))
        return target

    def field(self, rows=300, columns=517):
        """A classic file of one float variable that compresses; its last tile is ragged. And its values."""
        y, x = np.mgrid[:rows, :columns]
        values = (np.round(280 + 20 * np.sin(x / 60) * np.cos(y / 45), 1)).astype(">f4")
        path = self.dir / "field.nc"
        path.write_bytes(header([("v", (0, 1), 5, values.nbytes)], [("y", rows), ("x", columns)]) + values.tobytes())
        return path, values

    def blocks(self, archive):
        """The tiles of variable 0: the stored bytes and the chain of each."""
        opened = nc3z_ref.Archive(archive.read_bytes())
        found = {b.tile: b for b in opened.probe() if b.variable == 0 and b.kind == 0}
        return [(opened.payload(found[t]), opened.chains[found[t].chain]) for t in sorted(found)]

    def test_round_trip_and_reference(self):
        for name in ("numeric.nc", "record_padding.nc", "all_types_cdf5.nc", "etopo120.cdf"):
            # By day, each filter and each codec, and not each pair of every file.
            for chain in CHAINS if NIGHT or name == "numeric.nc" else CHAINS[::5] + CHAINS[1:2] + CHAINS[-1:]:
                with self.subTest(name, chain=chain):
                    path = CLASSIC / name
                    archive = self.archive(path, "--chain", "*=" + json.dumps(chain))
                    out = self.dir / "out"
                    self.ok(nc3z("restore", "--force", archive, "-o", out))
                    self.assertEqual(out.read_bytes(), path.read_bytes())
                    opened = nc3z_ref.Archive(archive.read_bytes())
                    back = bytearray(opened.length)
                    opened.restore(back)
                    self.assertEqual(bytes(back), path.read_bytes())

    def test_payloads_are_those_of_numcodecs(self):
        numcodecs = library(self, "numcodecs")
        path, values = self.field()
        raw = values.tobytes()
        for chain in CHAINS[:-1]:
            if any(s["id"] == "bitshuffle" for s in chain):
                continue
            with self.subTest(chain=chain):
                blocks = self.blocks(self.archive(path, "--tile-size", "200000", "--chain", "v=" + json.dumps(chain)))
                self.assertEqual(len(blocks), 4)
                at = 0
                for payload, stored in blocks:
                    self.assertEqual([s["id"] for s in stored], [s["id"] for s in chain])
                    for step in reversed(stored):
                        payload = bytes(numcodecs.get_codec(step).decode(payload))
                    self.assertEqual(payload, raw[at:at + len(payload)])
                    at += len(payload)
                self.assertEqual(at, len(raw))

    def test_numcodecs_blocks_are_read(self):
        numcodecs = library(self, "numcodecs")
        from make_test_archive import encode  # noqa: F401  (the producer's codecs are our own; NumCodecs' come below)
        import make_test_archive
        path, _ = self.field(60, 70)
        for chain in ([{"id": "lz4", "acceleration": 1}], [LZMA], [{"id": "gzip", "level": 5}], [{"id": "zlib", "level": 5}],
                      [{"elementsize": 4, "id": "shuffle"}, {"id": "lz4", "acceleration": 3}]):
            with self.subTest(chain=chain):
                def by_numcodecs(data, steps, kind=None, geometry=None):
                    for step in steps:
                        if step["id"] == "shuffle" and len(data) % step["elementsize"]:
                            whole = len(data) // step["elementsize"] * step["elementsize"]
                            data = bytes(numcodecs.get_codec(step).encode(data[:whole])) + data[whole:]
                        else:
                            data = bytes(numcodecs.get_codec(step).encode(data))
                    return data

                ours = make_test_archive.encode
                make_test_archive.encode = by_numcodecs
                try:
                    target = self.dir / "theirs.nc3z"
                    sys.argv = ["make", str(path), "-o", str(target), "--chain", json.dumps(chain), "--tile", "3000"]
                    make_test_archive.main()
                finally:
                    make_test_archive.encode = ours
                out = self.dir / "out.nc"
                self.ok(nc3z("restore", "--force", target, "-o", out))
                self.assertEqual(out.read_bytes(), path.read_bytes())

    def test_bitshuffle_is_hdf5s(self):
        h5py, hdf5plugin = library(self, "h5py"), library(self, "hdf5plugin")
        path, values = self.field(301, 517)
        for block in (0, 64, 8):
            for codec in ([], [{"id": "zstd", "level": 3}]):
                with self.subTest(block=block, codec=codec):
                    chain = [{"id": "bitshuffle", "blocksize": block}] + codec
                    [(payload, stored)] = self.blocks(self.archive(path, "--chain", "v=" + json.dumps(chain)))
                    self.assertEqual(stored[0], {"id": "bitshuffle", "elementsize": 4, "blocksize": block})
                    file = self.dir / "b.h5"
                    with h5py.File(file, "w") as f:
                        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                        plist.set_chunk(values.shape)
                        plist.set_filter(hdf5plugin.BSHUF_ID, 0, (block, 0))
                        if codec:
                            plist.set_filter(hdf5plugin.ZSTD_ID, 0, (3,))
                        space = h5py.h5s.create_simple(values.shape)
                        h5py.h5d.create(f.id, b"d", h5py.h5t.py_create(values.dtype), space, plist)
                        if not codec:
                            f["d"][...] = values
                            _, theirs = f["d"].id.read_direct_chunk((0, 0))
                            self.assertEqual(theirs, payload)
                        # And HDF5 reads our very bytes.
                        f["d"].id.write_direct_chunk((0, 0), payload)
                    with h5py.File(file) as f:
                        self.assertEqual(f["d"][...].tobytes(), values.tobytes())

    def test_store_where_the_chain_does_not_help_and_constants(self):
        noise = np.random.default_rng(1).integers(0, 2**32, 60000, dtype=np.uint32).tobytes()
        path = self.dir / "noise.nc"
        path.write_bytes(header([("v", (0,), 4, len(noise)), ("w", (0,), 4, len(noise))], [("x", 60000)])
                         + noise + b"\0\0\0\7" * 60000)
        archive = self.archive(path, "--chain", '*=[{"id":"lz4","acceleration":1}]')
        self.assertEqual([chain for _, chain in self.blocks(archive)], [[]])
        opened = nc3z_ref.Archive(archive.read_bytes())
        self.assertFalse([b for b in opened.probe() if b.variable == 1 and b.kind == 0])
        self.ok(nc3z("verify", archive))

    def test_small_variables_keep_the_chain(self):
        path, _ = self.field(6, 50)
        archive = self.archive(path, "--chain", 'v=[{"id":"bitshuffle"}]')
        report = json.loads(self.ok(nc3z("info", "--json", archive)).stdout)
        self.assertEqual(report["options"]["chain v"], '[{"id":"bitshuffle"}]')
        opened = nc3z_ref.Archive(archive.read_bytes())
        self.assertEqual(opened.chains[opened.entry(0, 0).chain][0]["id"], "bitshuffle")

    def test_same_archive_whatever_the_threads(self):
        path, _ = self.field(700, 900)
        chain = ("--chain", 'v=[{"id":"bitshuffle"},{"id":"lz4","acceleration":1}]')
        one = self.archive(path, *chain, "--threads", "1").read_bytes()
        self.assertEqual(self.archive(path, *chain, "--threads", "4").read_bytes(), one)

    def test_errors_teach(self):
        path, _ = self.field(6, 50)
        def refused(rule, words, code=2):
            done = nc3z("archive", path, "-o", self.dir / "no.nc3z", "--chain", rule)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertFalse((self.dir / "no.nc3z").exists())
        refused('v=[{"id":"zfpy"}]', "expected shuffle, bitshuffle, zstd, zlib, gzip, lz4, lzma")
        refused('v=[{"id":"zstd"}]', '{"id":"zstd","level":9}')
        refused('v=[zstd', "is not valid JSON")
        refused('v=zstd', "not a filter number")
        refused('[{"id":"zstd","level":1}]', "VAR=CHAIN")
        refused('v=[{"id":"lz4","acceleration":1},{"id":"packbits"}]', "a codec must be the last")
        refused('v=[{"id":"shuffle","elementsize":8}]', "the elements have 4 bytes", 1)
        refused('tas=[]', "no variable `tas`; there are v", 1)


if __name__ == "__main__":
    unittest.main()

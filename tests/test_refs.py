"""References: an archive of the profile `zarr`, read by NumCodecs alone where the references lead, is the original."""

import base64
import json
import tarfile
import unittest
import zipfile

import netCDF4
import numcodecs
import numpy as np

import servers
from common import CLASSIC, Case, good_files, nc3z

# Files that the C library does not read unchanged, or for which Zarr has no arrays.
ODD = {"streaming.nc", "streaming_partial.nc", "numrecs_beyond_end.nc", "truncated_fixed.nc", "truncated_in_element.nc",
       "fixed_reverse_order.nc", "two_unlimited.nc", "vsize_lies.nc"}


def read(refs, name):
    """An array by its references, as Zarr 2 says; nothing of nc3z's is used."""
    array = json.loads(refs[f"{name}/.zarray"])
    shape, chunks, dtype = array["shape"], array["chunks"], np.dtype(array["dtype"])
    stages = [numcodecs.get_codec(c) for c in [*(array["filters"] or []), *([array["compressor"]] if array["compressor"] else [])]]
    out = np.zeros(shape, dtype)
    for index in np.ndindex(*(-(-n // c) for n, c in zip(shape, chunks))):
        found = refs[f"{name}/" + (".".join(map(str, index)) or "0")]
        if isinstance(found, str):
            data = base64.b64decode(found.removeprefix("base64:"))
        else:
            path, offset, length = found
            with open(path, "rb") as f:
                f.seek(offset)
                data = f.read(length)
        for stage in reversed(stages):
            data = stage.decode(data)
        tile = np.frombuffer(bytes(data), dtype).reshape(chunks)
        box = tuple(slice(i * c, min((i + 1) * c, n)) for i, c, n in zip(index, chunks, shape))
        out[box] = tile[tuple(slice(0, s.stop - s.start) for s in box)]
    return out


class Refs(Case):
    def refs(self, archive, *more):
        return json.loads(self.ok(nc3z("refs", archive, *more)).stdout)["refs"]

    def compare(self, path, refs):
        with netCDF4.Dataset(path) as ds:
            ds.set_auto_maskandscale(False)
            for name, variable in ds.variables.items():
                found = read(refs, name)
                self.assertEqual(found.astype(found.dtype.newbyteorder("=")).tobytes(), variable[...].tobytes(), (path.name, name))
                attributes = json.loads(refs[f"{name}/.zattrs"])
                self.assertEqual(attributes["_ARRAY_DIMENSIONS"], list(variable.dimensions))
                if "units" in variable.ncattrs():
                    self.assertEqual(attributes["units"], variable.units)
            self.assertEqual(json.loads(refs[".zgroup"]), {"zarr_format": 2})

    def test_archives_of_the_profile_are_read_without_nc3z(self):
        referenced = 0
        for path in good_files():
            if path.name in ODD or path.stat().st_size > 6 << 20:
                continue
            archive = self.dir / f"{path.name}.nc3z"
            self.ok(nc3z("archive", "--preset", "fast", "--profile", "zarr", "--tile-size", "64KiB", path, "-o", archive))
            done = nc3z("refs", archive)
            if path.name == "overlapping.nc":
                self.fails(done, words="another variable")
                continue
            refs = json.loads(self.ok(done).stdout)["refs"]
            self.compare(path, refs)
            referenced += sum(isinstance(value, list) for value in refs.values())
        self.assertGreater(referenced, 20, "chunks were read where they lie")

    def test_every_codec_of_numcodecs(self):
        """In the bytes of the original libraries, whichever the chain; tiles that no codec makes smaller among them."""
        path = self.dir / "mixed.nc"
        rng = np.random.default_rng(4)
        smooth = np.cumsum(rng.integers(-3, 4, (20, 30, 40)), 0)
        with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as ds:
            for name, length in zip("tyx", smooth.shape):
                ds.createDimension(name, length)
            half = np.where(np.arange(20)[:, None, None] < 10, smooth, rng.integers(-(2**31), 2**31, smooth.shape))
            for name, kind, values in (("whole", "i4", smooth), ("half", "i4", half), ("real", "f4", smooth / 8), ("double", "f8", smooth / 8)):
                ds.createVariable(name, kind, ("t", "y", "x"))[:] = values
        lzma = '{"id":"lzma","format":3,"check":-1,"preset":null,"filters":[{"id":33,"dict_size":1048576,"lc":2,"lp":2,"pb":2}]}'
        everything = ['[{"id":"zlib","level":1}]', '[{"id":"gzip","level":9}]', '[{"id":"bz2","level":1}]', '[{"id":"lz4"}]', f"[{lzma}]",
                      '[{"id":"shuffle"},{"id":"lz4"}]', '[{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}]',
                      '[{"id":"blosc","cname":"zstd","clevel":9,"shuffle":2,"blocksize":0}]', '[{"id":"zstd","level":3},{"id":"crc32c"}]',
                      '[{"id":"zlib","level":3},{"id":"fletcher32"}]', '[{"id":"zstd","level":1},{"id":"adler32"}]',
                      '[{"id":"pcodec"}]', "[]"]
        whole = ['[{"id":"delta"},{"id":"zstd","level":3}]', '[{"id":"delta"},{"id":"shuffle"},{"id":"zlib","level":5}]']
        for variable, chain in [*(("*", chain) for chain in everything), *(("whole", chain) for chain in whole)]:
            with self.subTest(chain=chain):
                archive = self.dir / "a.nc3z"
                self.ok(nc3z("archive", "--force", "--preset", "fast", "--profile", "zarr", "--tile-size", "16KiB", "--chain",
                             f"{variable}={chain}", path, "-o", archive))
                refs = self.refs(archive)
                self.compare(path, refs)
                self.assertGreater(sum(isinstance(value, list) for value in refs.values()), 5)

    def test_documents_of_zarr_3(self):
        archive = self.dir / "a.nc3z"
        self.ok(nc3z("archive", "--profile", "zarr", "--tile-size", "64KiB", CLASSIC / "coads_climatology.cdf", "-o", archive))
        told = json.loads(self.ok(nc3z("refs", "--format", "icechunk", archive)).stdout)
        self.assertEqual((told["version"], told["location"]), (1, str(archive)))
        self.assertEqual(told["checksum"], {"last_modified": int(archive.stat().st_mtime) + 1})
        array = told["documents"]["SST/zarr.json"]
        self.assertEqual([codec["name"] for codec in array["codecs"]], ["bytes", "numcodecs.shuffle", "zstd"])
        self.assertEqual(array["dimension_names"], ["TIME", "COADSY", "COADSX"])
        chunks = told["arrays"]["SST"]
        kerchunk = self.refs(archive)
        for index, offset, length in chunks["chunks"]:
            self.assertEqual(kerchunk["SST/" + ".".join(map(str, index))], [str(archive), offset, length])
        self.assertEqual(np.prod(chunks["grid"]), len(chunks["chunks"]) + len(chunks["inlined"]))
        elsewhere = json.loads(self.ok(nc3z("refs", "--format", "icechunk", "--url", "s3://b/a", archive)).stdout)
        self.assertIsNone(elsewhere["checksum"], "what is there is not known")

    def test_members_of_bundles_lead_into_the_bundle(self):
        """By a ZIP of nc3z, any ZIP that is not compressed, and a tar; on disk and on a server."""
        path = CLASSIC / "coads_climatology.cdf"
        folder = self.dir / "set"
        folder.mkdir()
        archive = folder / "a.nc3z"
        self.ok(nc3z("archive", "--profile", "zarr", "--tile-size", "64KiB", path, "-o", archive))
        alone = self.refs(archive)
        self.ok(nc3z("bundle", folder, "-o", self.dir / "own.zip", "--zip"))
        with zipfile.ZipFile(self.dir / "plain.zip", "w", zipfile.ZIP_STORED) as made:
            made.write(path, "first.nc")
            made.write(archive, "a.nc3z")
        with tarfile.open(self.dir / "set.tar", "w") as made:
            made.add(path, "first.nc")
            made.add(archive, "a.nc3z")
        for name in ("own.zip", "plain.zip", "set.tar"):
            with self.subTest(name=name):
                bundle = self.dir / name
                refs = self.refs(f"{bundle}!/a.nc3z")
                self.compare(path, refs)
                places = {key: value for key, value in refs.items() if isinstance(value, list)}
                self.assertEqual(places.keys(), {key for key, value in alone.items() if isinstance(value, list)})
                begin = bundle.read_bytes().index(archive.read_bytes())
                for key, (file, offset, length) in places.items():
                    self.assertEqual((file, offset - begin, length), (str(bundle), *alone[key][1:]))
                told = json.loads(self.ok(nc3z("refs", "--format", "icechunk", f"{bundle}!/a.nc3z")).stdout)
                self.assertEqual((told["location"], told["checksum"]), (str(bundle), {"last_modified": int(bundle.stat().st_mtime) + 1}))
                elsewhere = self.refs(f"{bundle}!/a.nc3z", "--url", "s3://b/set")
                self.assertEqual({value[0] for value in elsewhere.values() if isinstance(value, list)}, {"s3://b/set"})
        self.fails(nc3z("refs", f"{self.dir / 'own.zip'}!/b.nc3z"), words="no member")
        with servers.serve({"own.zip": (self.dir / "own.zip").read_bytes()}) as server:
            refs = self.refs(f"{server.url('own.zip')}!/a.nc3z")
            places = {key: value for key, value in refs.items() if isinstance(value, list)}
            own = self.refs(f"{self.dir / 'own.zip'}!/a.nc3z")
            self.assertEqual(places, {key: [server.url("own.zip"), *own[key][1:]] for key in places})
            told = json.loads(self.ok(nc3z("refs", "--format", "icechunk", f"{server.url('own.zip')}!/a.nc3z")).stdout)
            self.assertEqual((told["location"], set(told["checksum"])), (server.url("own.zip"), {"etag"}))

    def test_urls_and_outputs(self):
        archive = self.dir / "a.nc3z"
        self.ok(nc3z("archive", "--profile", "zarr", "--tile-size", "64KiB", CLASSIC / "coads_climatology.cdf", "-o", archive))
        refs = self.refs(archive, "--url", "s3://bucket/a.nc3z")
        self.assertEqual({value[0] for value in refs.values() if isinstance(value, list)}, {"s3://bucket/a.nc3z"})
        self.ok(nc3z("refs", archive, "-o", self.dir / "a.json"))
        self.assertEqual(json.loads((self.dir / "a.json").read_text())["version"], 1)
        self.fails(nc3z("refs", archive, "-o", self.dir / "a.json"), words="exists")
        array = json.loads(refs["SST/.zarray"])
        self.assertEqual((array["fill_value"], array["dtype"]), (np.float32(-1e34).item(), ">f4"))
        self.assertNotIn("_FillValue", json.loads(refs["SST/.zattrs"]))

    def test_what_zarr_cannot_hold_is_named(self):
        for words, *options in [
            ("`SST`: its tiles are not boxes.*profile zarr", "--tile-size", "16KiB"),
            ("`TIME`: its chunks are clipped", "--tile", "TIME=5", "--chain", '*=[{"id":"zstd","level":3}]'),
            ('NumCodecs has no codec for .*"bitshuffle".*inside "blosc"', "--profile", "zarr", "--chain", 'SST=[{"id":"bitshuffle"},{"id":"zstd","level":3}]'),
        ]:
            archive = self.dir / "a.nc3z"
            self.ok(nc3z("archive", "--force", *options, CLASSIC / "coads_climatology.cdf", "-o", archive))
            self.fails(nc3z("refs", archive), words=words)
        self.fails(nc3z("refs", CLASSIC / "coads_climatology.cdf"), words="not an nc3z archive")


if __name__ == "__main__":
    unittest.main()

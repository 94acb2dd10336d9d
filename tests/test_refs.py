"""References: an archive of the profile `zarr`, read by NumCodecs alone where the references lead, is the original."""

import base64
import json
import unittest

import netCDF4
import numcodecs
import numpy as np

from common import CLASSIC, Case, good_files, nc3z

# What the C library does not read as it is, and what Zarr has no arrays for.
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
            self.ok(nc3z("archive", "--preset", "fast", "--profile", "zarr", "--block-size", "64KiB", path, "-o", archive))
            done = nc3z("refs", archive)
            if path.name == "overlapping.nc":
                self.fails(done, words="another variable's")
                continue
            refs = json.loads(self.ok(done).stdout)["refs"]
            self.compare(path, refs)
            referenced += sum(isinstance(value, list) for value in refs.values())
        self.assertGreater(referenced, 20, "chunks were read where they lie")

    def test_urls_and_outputs(self):
        archive = self.dir / "a.nc3z"
        self.ok(nc3z("archive", "--profile", "zarr", "--block-size", "64KiB", CLASSIC / "coads_climatology.cdf", "-o", archive))
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
            ("`SST`: its tiles are no boxes.*profile zarr", "--block-size", "16KiB"),
            ("`TIME`: its chunks are clipped", "--chunk", "TIME=5", "--chain", '*=[{"id":"zstd","level":3}]'),
            ("NumCodecs has no `bitshuffle`", "--profile", "zarr", "--chain", 'SST=[{"id":"bitshuffle"},{"id":"zstd","level":3}]'),
        ]:
            archive = self.dir / "a.nc3z"
            self.ok(nc3z("archive", "--force", *options, CLASSIC / "coads_climatology.cdf", "-o", archive))
            self.fails(nc3z("refs", archive), words=words)
        self.fails(nc3z("refs", CLASSIC / "coads_climatology.cdf"), words="not an nc3z archive")


if __name__ == "__main__":
    unittest.main()

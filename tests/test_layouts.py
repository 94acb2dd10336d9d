"""Tile layouts: whatever the chunks, the file comes back, by the program and by the reference reader, in bounded memory."""

import json
import os
import subprocess
import sys
import unittest

import netCDF4
import numpy as np

from common import CLASSIC, NC3Z, NIGHT, ROOT, Case, good_files, header, nc3z, sha256

sys.path.insert(0, str(ROOT / "spec" / "reference"))
import nc3z_ref  # noqa: E402

LAYOUTS = ("linear", "chunked", "auto", "series", "map")
COADS = CLASSIC / "coads_climatology.cdf"
FLOAT = 5


def cube(path, records, rows, columns, record=True, others=(), steps=None):
    """A file of one float variable of time, lat and lon, smooth with some noise, and of more: (name, rows, columns). With
    steps, values are multiples of 1/steps, so that the archive is small."""
    import numpy as np

    variables = [("tas", rows, columns), *others]
    sizes = [rows * columns * 4 for _, rows, columns in variables]
    dims = [("time", 0 if record else records)]
    listed = []
    for (name, rows, columns), size in zip(variables, sizes):
        ids = (0, len(dims), len(dims) + 1)
        suffix = "" if name == "tas" else f"_{name}"
        dims += [(f"lat{suffix}", rows), (f"lon{suffix}", columns)]
        listed.append((name, ids, FLOAT, size if record else size * records))
    rng = np.random.default_rng(3)
    maps = [270 + 30 * np.cos(np.linspace(-1.5, 1.5, r))[:, None] + np.sin(np.linspace(0, 9, c)) for _, r, c in variables]
    noise = rng.normal(0, 0.25, max(m.size for m in maps) * 2).round(2)
    with open(path, "wb") as f:
        f.write(header(listed, dims, version=2, numrecs=records if record else 0))
        def field(i, t):
            shift = t * 977 % maps[i].size
            values = maps[i] + np.sin(t / 9) + noise[shift:shift + maps[i].size].reshape(maps[i].shape)
            return (values if steps is None else np.round(values * steps) / steps).astype(">f4").tobytes()
        if record:
            for t in range(records):
                for i in range(len(maps)):
                    f.write(field(i, t))
        else:
            for i in range(len(maps)):
                for t in range(records):
                    f.write(field(i, t))
    return path


class Layouts(Case):
    def archive(self, path, *options):
        out = self.dir / f"{path.name}.nc3z"
        self.ok(nc3z("archive", "--force", *options, path, "-o", out))
        return out

    def comes_back(self, path, *options, reference=False):
        archive, back = self.archive(path, *options), self.dir / "back"
        self.ok(nc3z("restore", "--force", archive, "-o", back))
        self.assertEqual(sha256(back), sha256(path), f"{path.name} {options}")
        back.unlink()
        if reference:
            opened = nc3z_ref.Archive(archive.read_bytes())
            out = bytearray(opened.length)
            opened.restore(out)
            self.assertTrue(bytes(out) == path.read_bytes(), f"the reference reader: {path.name} {options}")
        return archive

    def layouts(self, archive):
        info = json.loads(self.ok(nc3z("info", "--json", archive)).stdout)
        return {v["name"]: v["layout"] for v in info["variables"]}

    def test_every_layout_of_every_file(self):
        for number, path in enumerate(self.need(good_files(), "classic files")):
            for turn, layout in enumerate(LAYOUTS[1:], number):
                with self.subTest(file=path.name, layout=layout):
                    size = path.stat().st_size
                    # By day, all but small files get every layout once, and both edges by turns.
                    both = NIGHT or size < 50_000
                    if both or turn % 2 == 0:
                        self.comes_back(path, "--preset", "fast", "--layout", layout, reference=size < 100_000)
                    if both or turn % 2 == 1:
                        self.comes_back(path, "--preset", "fast", "--layout", layout, "--edge", "pad", "--tile-size", "20KiB")

    def test_chunks_of_the_numeric_codec(self):
        """Every shape of tile that predictors see, decoded by the reference reader as well."""
        path = CLASSIC / "numeric.nc"
        dims = json.loads(self.ok(nc3z("info", "--json", path)).stdout)["dimensions"]
        for lengths in ((1, 1, 1), (2, 3, 5), (5, 1, 7), (1, 40, 3), (1000, 1000, 1000)):
            for edge in ("clip", "pad"):
                if edge == "pad" and max(lengths) == 1000:
                    continue
                chunks = [f"{d['name']}={n}" for d, n in zip(dims, lengths * len(dims))]
                options = [word for chunk in chunks for word in ("--tile", chunk)]
                with self.subTest(lengths=lengths, edge=edge):
                    self.comes_back(path, *options, "--edge", edge, reference=True)

    def test_chunks_by_dimension_and_by_variable(self):
        archive = self.comes_back(COADS, "--tile", "TIME=4,COADSY=30", "--tile", "AIRT:COADSX=45", "--layout", "UWND=linear")
        layouts = self.layouts(archive)
        self.assertEqual(layouts["SST"], {"kind": "chunked", "shape": [4, 30, 180], "edge": "clip"})
        self.assertEqual(layouts["AIRT"], {"kind": "chunked", "shape": [12, 90, 45], "edge": "clip"})
        self.assertEqual(layouts["UWND"]["kind"], "linear")
        self.assertEqual(layouts["COADSX"]["kind"], "linear")
        text = self.ok(nc3z("info", archive)).stdout.decode()
        self.assertIn("4x30x180", text)
        self.ok(nc3z("verify", archive))
        self.ok(nc3z("info", "--layout", archive))

    def test_padding_repeats_what_is_before_it(self):
        archive = self.comes_back(COADS, "--tile", "SST:TIME=5,COADSY=40,COADSX=70", "--edge", "pad")
        opened = nc3z_ref.Archive(archive.read_bytes())
        sst = [v.name for v in opened.header.vars].index(b"SST")
        self.assertEqual(self.layouts(archive)["SST"], {"kind": "chunked", "shape": [5, 40, 70], "edge": "pad"})
        last = opened.tile(sst, 3 * 3 * 3 - 1)
        self.assertEqual(len(last), 5 * 40 * 70 * 4)
        # Longitudes 140 to 179 of 140 to 209, latitudes 80 to 89 of 80 to 119, months 10 and 11 of 10 to 14.
        tile = np.frombuffer(last, ">u4").reshape(5, 40, 70)
        with netCDF4.Dataset(COADS) as file:
            file.set_auto_maskandscale(False)
            expected = file["SST"][10:, 80:, 140:].astype(">f4").view(">u4")
        self.assertTrue(np.array_equal(tile[:2, :10, :40], expected))
        for t, y in np.ndindex(2, 10):
            self.assertTrue((tile[t, y, 40:] == tile[t, y, 39]).all())
        for t in range(2):
            self.assertTrue((tile[t, 10:] == tile[t, 9, -1]).all())
        self.assertTrue((tile[2:] == tile[1, -1, -1]).all())

    def test_what_cannot_be_says_so(self):
        out = self.dir / "x.nc3z"
        for options, code, words in (
            (["--tile", "depth=3"], 1, r"dimension \"depth\".*TIME"),
            (["--tile", "AIRX:TIME=3"], 1, r"variable \"AIRX\".*AIRT"),
            (["--tile", "TIME=0"], 1, r"\"TIME\" has length 12.*chunks of 0"),
            (["--tile", "TIME=3,COADSX=x"], 2, r"COADSX.*`x`"),
            (["--tile", "TIME=1.5"], 2, r"TIME.*`1\.5`"),
            (["--tile", "TIME=-1"], 2, r"TIME.*`-1`"),
            (["--tile", "SST:TIME=100000,COADSY=100000,COADSX=1", "--edge", "pad"], 1, r"SST.*100000 of 12.*40000000000 bytes"),
            (["--layout", "cubes"], 2, r"cubes.*linear"),
            (["--layout", "nope=auto"], 1, r"variable \"nope\""),
            (["--layout", "SST=map", "--tile", "SST:TIME=1"], 1, r"SST.*map"),
        ):
            with self.subTest(options=options):
                done = nc3z("archive", *options, COADS, "-o", out)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertRegex(done.stderr.replace("\n", " "), words)
                self.assertEqual(self.names(), [])

    def test_auto_cuts_only_what_is_dear(self):
        dear = cube(self.dir / "dear.nc", 3000, 60, 120)
        layouts = self.layouts(self.comes_back(dear, "--preset", "fast", "--layout", "auto"))
        self.assertEqual(layouts["tas"]["kind"], "chunked")
        self.assertTrue(1 < layouts["tas"]["shape"][0] < 3000, layouts)
        cheap = cube(self.dir / "cheap.nc", 100, 60, 120)
        self.assertEqual(self.layouts(self.archive(cheap, "--layout", "auto"))["tas"]["kind"], "linear")


def peak(*args):
    """Runs nc3z; gives exit code and the most memory it had, in MiB."""
    process = subprocess.Popen([NC3Z, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss / 1024


class LargeLayers(Case):
    """Layers of chunks larger than what is held: slower, but exact, the same from any memory, and in bounded memory. The bounds
    are below what a layer, beside the map of the archive, would take; by day archives are small, so that the layers can be."""

    steps = None if NIGHT else 2

    def check(self, path, *options, most):
        digests = set()
        for memory, threads in (("8MiB", 1), ("256MiB", 2)):
            archive, back = self.dir / "a.nc3z", self.dir / "back"
            # Without the proof, whose map of the archive would count as memory; the restore is it.
            code, used = peak("archive", "--force", "--no-verify", "--preset", "fast", "--memory", memory, "--threads", threads, *options, path,
                              "-o", archive)
            self.assertEqual(code, 0)
            self.assertLess(used, most, f"archive {options}, {memory}")
            if sha256(archive) in digests:
                continue
            digests.add(sha256(archive))
            code, used = peak("restore", "--force", archive, "-o", back)
            self.assertEqual(code, 0)
            self.assertLess(used, most, f"restore {options}")
            self.assertEqual(sha256(back), sha256(path))
        self.assertEqual(len(digests), 1)

    def test_fixed(self):
        days = 300 if NIGHT else 150                                         # layers of 366 MiB, and of 183 MiB
        path = cube(self.dir / "fixed.nc", days, 400, 800, record=False, steps=self.steps)
        self.check(path, "--tile", f"time={days},lat=40,lon=40", most=300 if NIGHT else 150)

    def test_records(self):
        days = 300 if NIGHT else 200                                         # layers of 206 and 69 MiB, and of 137 and 46 MiB
        path = cube(self.dir / "records.nc", days, 300, 600, others=(("uas", 200, 300), ("ps", 3, 5)), steps=self.steps)
        self.check(path, "--tile", f"tas:time={days},lat=40,lon=50", "--tile", f"uas:time={days},lat_uas=10", "--tile", "ps:lat_ps=2",
                   most=300 if NIGHT else 190)

    def test_warns_of_a_slow_restore(self):
        path = cube(self.dir / "records.nc", 100, 600, 600)
        done = self.ok(nc3z("archive", "--preset", "fast", "--tile", "time=100,lat=50,lon=50", path, "-o", self.dir / "x"))
        self.assertRegex(done.stderr, r"tas.*about 3 times.*144000000 bytes")


if __name__ == "__main__":
    unittest.main()

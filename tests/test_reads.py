"""Reads of parts of variables: against numpy's slicing of what netCDF4-python read from the original.

NC3Z_READS sets the number of random selections (3,000 by default), NC3Z_READS_SEED where they begin.
"""

import io
import json
import os
import subprocess
import unittest

from common import FERRET, NC3Z, ROOT, Case, missing, nc3z

CASES = int(os.environ.get("NC3Z_READS") or 3000)
SEED = int(os.environ.get("NC3Z_READS_SEED") or 1)
FORMATS = {"NETCDF3_CLASSIC": ("i1", "S1", "i2", "i4", "f4", "f8"), "NETCDF3_64BIT_OFFSET": ("i1", "S1", "i2", "i4", "f4", "f8"),
           "NETCDF3_64BIT_DATA": ("i1", "S1", "i2", "i4", "f4", "f8", "u1", "u2", "u4", "i8", "u8")}
NAMES = {"i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u1": "u8", "u2": "u16", "u4": "u32", "u8": "u64", "f4": "f32",
         "f8": "f64"}


def packages(test):
    try:
        import netCDF4
        import numpy
    except ImportError as e:
        missing(test, f"{e.name} is not installed")
    return numpy, netCDF4


def reader():
    """The program that reads many selections, built if it is missing."""
    if not os.environ.get("NC3Z_READ_SLABS"):
        subprocess.run(["cargo", "build", "--quiet", "--workspace", "--features", "nc3z-reader/ndarray", "--example", "read_slabs"], cwd=ROOT, check=True)
        return str(ROOT / "target/debug/examples/read_slabs")
    return os.environ["NC3Z_READ_SLABS"]


def random_values(np, rng, kind, shape):
    """Smooth, noisy, with many fill values, or one value: so that every kind of tile occurs."""
    size = int(np.prod(shape, dtype=np.int64))
    if kind == "S1":
        return rng.integers(0, 128, size).astype("u1").view("S1").reshape(shape)
    dtype = np.dtype(kind)
    style = rng.integers(5)
    if style == 0:
        values = np.zeros(size, dtype)
    elif style == 1:
        values = np.frombuffer(rng.bytes(size * dtype.itemsize), dtype).copy()
    elif style == 2:
        values = (np.arange(size) % 120).astype(dtype)
    elif style == 3:
        values = np.round(60 + 50 * np.sin(np.arange(size) / 9)).astype(dtype)
    else:
        values = np.where(rng.random(size) < 0.8, 99, np.arange(size) % 77).astype(dtype)
    return values.reshape(shape)


def random_file(np, netCDF4, rng, path, file_format, turn=0):
    """A file of some variables of ranks 0 to 6, of any type of the format, with and without records."""
    with netCDF4.Dataset(path, "w", format=file_format) as f:
        f.set_fill_off()
        records = int(rng.integers(0, 9))
        f.createDimension("t", None)
        kinds = FORMATS[file_format]
        for v in range(rng.integers(1, 6)):
            rank = int(rng.integers(0, 7))
            is_record = rank > 0 and rng.random() < 0.4
            longest = (2000, 400, 60, 20, 10, 7, 5)[rank]
            shape = [int(rng.integers(1, longest + 1)) for _ in range(rank)]
            dims = []
            for d, n in enumerate(shape):
                dims.append(f"d{v}_{d}")
                if d > 0 or not is_record:
                    f.createDimension(dims[d], n)
            if is_record:
                dims[0], shape[0] = "t", records
            kind = kinds[(turn + v) % len(kinds)]
            variable = f.createVariable(f"v{v}", kind, dims, fill_value=False)
            variable.set_auto_maskandscale(False)
            variable.set_auto_chartostring(False)
            if all(shape):
                variable[...] = random_values(np, rng, kind, shape)
        # So that there are `records` of them, whichever variables have any.
        if records:
            last = f.createVariable("last", "i1", ("t",), fill_value=False)
            last[:] = np.arange(records, dtype="i1")


def random_slab(rng, shape):
    """Start, count, stride inside a shape, and the same as numpy's slices."""
    start, count, stride, slices = [], [], [], []
    for n in shape:
        step = int(rng.integers(1, max(2, min(n, 7) + 1))) if rng.random() < 0.4 else 1
        most = -(-n // step)
        many = 0 if rng.random() < 0.03 else 1 if rng.random() < 0.2 else most if rng.random() < 0.3 else int(rng.integers(min(1, most), most + 1))
        many = min(many, most)
        reach = max(many - 1, 0) * step
        low = int(rng.integers(0, n - reach)) if many else int(rng.integers(0, n + 1))
        if rng.random() < 0.3:
            first, step = low + reach, -step
        else:
            first = low
        end = first + many * step
        slices.append(slice(first, None if end < 0 and many else end if many else first, step))
        start.append(first)
        count.append(many)
        stride.append(step)
    return start, count, stride, tuple(slices)


def outside(rng, shape):
    """A selection that leaves the shape by one along some dimension."""
    start, count, stride, _ = random_slab(rng, shape)
    d = int(rng.integers(len(shape)))
    # (A dimension of length 0 has no last index to begin at.)
    start[d], count[d], stride[d] = [(shape[d], 1, 1), (0, shape[d] + 1, 1), (max(shape[d] - 1, 0), shape[d] + 1, -1), (0, 2**63, 2),
                                     (0, 1, 0)][rng.integers(5)]
    return start, count, stride


class Batch:
    """Selections sent to one process, and the expected results."""

    def __init__(self):
        self.lines, self.expected = [], []

    def add(self, path, variable, slab, kind, expected, status=0):
        lists = "\t".join(",".join(map(str, part)) for part in slab)
        self.lines.append(f"{path}\t{variable}\t{lists}\t{kind}")
        self.expected.append((status, expected))

    def run(self, test, program, env=None):
        done = subprocess.run([program], input="\n".join(self.lines + [""]).encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False, timeout=600, env=dict(os.environ, **(env or {})))
        test.assertEqual(done.returncode, 0, done.stderr.decode("utf-8", "replace"))
        out = io.BytesIO(done.stdout)
        for line, (status, expected) in zip(self.lines, self.expected):
            found = out.read(1)[0]
            data = out.read(int.from_bytes(out.read(8), "little"))
            if found != status or (expected is not None and data != expected):
                test.fail(f"{line!r}: status {found} for {status}, {len(data)} bytes, expected "
                          f"{None if expected is None else len(expected)}: {data[:200]!r}")
        test.assertEqual(out.read(), b"")


class Reads(Case):
    def has_layouts(self):
        return b"--tile" in nc3z("archive", "--help").stdout

    def twins(self, np, netCDF4, rng, source):
        """The classic file, and archives of it with tiles of several sizes and layouts."""
        sizes = [int(rng.integers(1, 9)) * 8, int(rng.integers(64, 4096)), 1 << int(rng.integers(9, 16))]
        options = [["--tile-size", sizes[rng.integers(3)]], ["--tile-size", sizes[rng.integers(3)], "--preset", "fast"]]
        if self.has_layouts():
            edge = ["clip", "pad"][rng.integers(2)]
            chunked = ["--edge", edge]
            with netCDF4.Dataset(source) as f:
                for name, v in f.variables.items():
                    lengths = [f"{d}={int(rng.integers(1, min(max(n, 1), 9) + 2))}" for d, n in zip(v.dimensions, v.shape)
                               if rng.random() < 0.8]
                    if lengths:
                        chunked += ["--tile", f"{name}:{','.join(lengths)}"]
            options.append(chunked)
            options.append(["--layout", ["auto", "chunked", "series", "map"][rng.integers(4)], "--tile-size", 4096])
        yield source
        for n, flags in enumerate(options):
            archive = self.dir / f"{source.stem}.{n}.nc3z"
            self.ok(nc3z("archive", "--no-verify", "--threads", 1, source, "-o", archive, *flags))
            yield archive

    def test_random_hyperslabs(self):
        np, netCDF4 = packages(self)
        program = reader()
        rng = np.random.default_rng(SEED)
        done, ranks, kinds, empty, files = 0, set(), set(), 0, 0
        while done < CASES:
            source = self.dir / f"f{files}.nc"
            files += 1
            random_file(np, netCDF4, rng, source, list(FORMATS)[files % 3], files)
            with netCDF4.Dataset(source) as f:
                f.set_auto_maskandscale(False)
                f.set_auto_chartostring(False)
                arrays = {name: np.asarray(v[...]) for name, v in f.variables.items()}
                shapes = {name: v.shape for name, v in f.variables.items()}
            twins = list(self.twins(np, netCDF4, rng, source))
            batch = Batch()
            for _ in range(max(60, CASES // 200)):
                name = list(arrays)[rng.integers(len(arrays))]
                array, shape = arrays[name].reshape(shapes[name]), shapes[name]
                path = twins[rng.integers(len(twins))]
                if shape and rng.random() < 0.02:
                    batch.add(path, name, outside(rng, shape), "raw", None, 1)
                    continue
                start, count, stride, slices = random_slab(rng, shape)
                expected = array[slices] if shape else array
                self.assertEqual(list(expected.shape), count)
                kind = array.dtype.str.lstrip("<>|=")
                if kind != "S1" and rng.random() < 0.2:
                    # The same numbers in native order.
                    wanted, order = NAMES[kind], "<"
                else:
                    wanted, order = "raw", ">"
                batch.add(path, name, (start, count, stride), wanted, expected.astype(expected.dtype.newbyteorder(order)).tobytes())
                done += 1
                ranks.add(len(shape))
                kinds.add(kind)
                empty += 0 in count
            cache = ["0", "20000", "64MiB"][rng.integers(3)]
            batch.run(self, program, {"NC3Z_CACHE": cache, "RAYON_NUM_THREADS": str(rng.integers(1, 4))})
            for path in twins:
                path.unlink()
        if CASES >= 3000:
            self.assertEqual(ranks, set(range(7)))
            self.assertEqual(len(kinds), 11)
            self.assertGreater(empty, 0)
        print(f"\n{done} selections of {files} files, {empty} of them empty", flush=True)

    def test_reads_of_several_blocks(self):
        """`read` writes more than 8 MiB in blocks of whole layers of tiles: in order, whatever the tiles are."""
        np, netCDF4 = packages(self)
        source = self.dir / "long.nc"
        values = np.random.default_rng(SEED + 2).integers(0, 1000, (70, 50, 700)).astype("f4")
        with netCDF4.Dataset(source, "w", format="NETCDF3_64BIT_OFFSET") as f:
            for name, length in zip("tyx", values.shape, strict=True):
                f.createDimension(name, length)
            f.createVariable("v", "f4", tuple("tyx"), fill_value=False)[:] = values
        paths = [source]
        # The second has layers of 9.8 MB, longer than a block.
        for number, tiles in enumerate((("--tile-size", "300KiB"), ("--tile", "t=70,y=10,x=64"), ("--tile", "t=9,y=7,x=700"))):
            paths.append(self.dir / f"long{number}.nc3z")
            self.ok(nc3z("archive", "--no-verify", "--preset", "fast", *tiles, source, "-o", paths[-1]))
        for path in paths:
            for threads in ("1", "2"):
                for chosen, expected in (((), values), (("-d", "t,3,69,2", "-d", "x,1,699"), values[3::2, :, 1:]), (("-d", "t,3,69"), values[3:])):
                    done = self.ok(nc3z("read", path, "v", *chosen, "--threads", threads, "--format", "raw"))
                    self.assertTrue(done.stdout == expected.astype(">f4").tobytes(), f"{path.name} {threads} {chosen}")

    def test_conversions(self):
        """Any numeric type as any other: as numpy casts where it fits, refused where it does not."""
        np, netCDF4 = packages(self)
        program = reader()
        rng = np.random.default_rng(SEED + 1)
        source = self.dir / "c.nc"
        kinds = [k for k in FORMATS["NETCDF3_64BIT_DATA"] if k != "S1"]
        with netCDF4.Dataset(source, "w", format="NETCDF3_64BIT_DATA") as f:
            f.createDimension("n", 64)
            f.createDimension("c", 5)
            for kind in kinds:
                for style in ("small", "wild"):
                    v = f.createVariable(f"{kind}_{style}", kind, ("n",), fill_value=False)
                    if style == "small":
                        v[:] = (np.arange(64) % 100 + (0.75 if kind[0] == "f" else 0)).astype(kind)
                    else:
                        v[:] = np.frombuffer(rng.bytes(64 * np.dtype(kind).itemsize), kind)
            f.createVariable("text", "S1", ("c",), fill_value=False)[:] = np.array(list("abcde"), "S1")
        archive = self.dir / "c.nc3z"
        self.ok(nc3z("archive", source, "-o", archive, "--tile-size", 64))
        batch, refused = Batch(), 0
        with netCDF4.Dataset(source) as f:
            f.set_auto_maskandscale(False)
            for path in (source, archive):
                for name, v in f.variables.items():
                    if name == "text":
                        batch.add(path, name, ([0], [5], [1]), "u8", b"abcde")
                        for wanted in ("i8", "i32", "f64"):
                            batch.add(path, name, ([0], [5], [1]), wanted, None, 1)
                        continue
                    array = np.asarray(v[:])
                    for to in kinds:
                        fits = self.fits(np, array, to)
                        expected = None
                        if fits:
                            with np.errstate(all="ignore"):
                                expected = array.astype(np.dtype(to).newbyteorder("<")).tobytes()
                        refused += not fits
                        batch.add(path, name, ([0], [64], [1]), NAMES[to], expected, int(not fits))
        self.assertGreater(refused, 40)
        batch.run(self, program)

    @staticmethod
    def fits(np, array, to):
        """True if every value fits the wanted type, apart from a float's fraction; computed by Python's own numbers."""
        if to[0] == "f":
            if to == "f8" or array.dtype.kind != "f" or array.dtype.itemsize == 4:
                return True
            finite = array[np.isfinite(array)]
            return bool((abs(finite) <= np.finfo("f4").max).all())
        low, high = int(np.iinfo(to).min), int(np.iinfo(to).max)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            return False
        return all(low <= int(x) <= high for x in array)

    def test_formats(self):
        """npy, raw, json and csv say the same as the library that made the file."""
        np, netCDF4 = packages(self)
        rng = np.random.default_rng(SEED + 2)
        for n, file_format in enumerate(FORMATS):
            source = self.dir / f"f{n}.nc"
            random_file(np, netCDF4, rng, source, file_format)
            archive = self.dir / f"f{n}.nc3z"
            self.ok(nc3z("archive", source, "-o", archive, "--tile-size", 128))
            with netCDF4.Dataset(source) as f:
                f.set_auto_maskandscale(False)
                f.set_auto_chartostring(False)
                for name, v in f.variables.items():
                    array = np.asarray(v[...]).reshape(v.shape)
                    start, count, stride, slices = random_slab(rng, v.shape)
                    part = array[slices] if v.shape else array
                    flags = [f"--{flag}={','.join(map(str, values))}" for flag, values in
                             (("start", start), ("count", count), ("stride", stride)) if v.shape]
                    for path in (source, archive):
                        with self.subTest(path=path.name, variable=name, flags=flags):
                            self.check_formats(np, path, name, flags, part)

    def check_formats(self, np, path, name, flags, part):
        target = self.dir / "out.npy"
        self.ok(nc3z("read", path, name, *flags, "--format", "npy", "-o", target, "--force"))
        found = np.load(target)
        self.assertEqual((found.dtype.str.lstrip("<|="), found.shape, found.flags.c_contiguous),
                         (part.dtype.str.lstrip("<>|="), part.shape, True))
        self.assertEqual(found.tobytes(), part.astype(found.dtype).tobytes())
        raw = self.ok(nc3z("read", path, name, *flags, "--format", "raw")).stdout
        self.assertEqual(raw, part.astype(part.dtype.newbyteorder(">")).tobytes())
        if part.dtype.kind == "S" or part.size == 0:
            json.loads(self.ok(nc3z("read", path, name, *flags, "--format", "json")).stdout)
            return
        document = json.loads(self.ok(nc3z("read", path, name, *flags, "--format", "json")).stdout)
        values = np.array(document["data"], dtype=object)
        self.assertEqual((tuple(document["shape"]), values.shape), (part.shape, part.shape))
        self.same(np, values.ravel(), part)
        rows = self.ok(nc3z("read", path, name, *flags, "--format", "csv", "--raw")).stdout.decode().splitlines()
        self.assertEqual(len(rows[0].split(",")), part.ndim + 1)
        self.same(np, np.array([row.split(",")[-1] for row in rows[1:]], dtype=object), part)
        words = self.ok(nc3z("read", path, name, *flags)).stdout.decode().split()
        self.same(np, np.array(words, dtype=object), part)

    def same(self, np, words, part):
        """Printed numbers equal the numbers read, bit for bit except for the payload of NaNs."""
        if part.dtype.kind != "f":
            self.assertEqual([int(w) for w in words], [int(x) for x in part.ravel()])
            return
        found = np.array([float(w) for w in words]).astype(part.dtype)
        self.assertTrue(np.array_equal(found, part.ravel(), equal_nan=True))
        number = ~np.isnan(found)
        self.assertEqual(found[number].tobytes(), part.ravel()[number].astype(found.dtype).tobytes())

    def test_coordinates(self):
        """Values of coordinates, ranges that wrap, indices from the end."""
        np, netCDF4 = packages(self)
        source = FERRET / "coads_climatology.cdf"
        if not source.exists():
            missing(self, "the ferret data sets are not installed")
        archive = self.dir / "coads.nc3z"
        self.ok(nc3z("archive", source, "-o", archive))
        with netCDF4.Dataset(source) as f:
            f.set_auto_maskandscale(False)
            sst, lon, lat = f["SST"][...], f["COADSX"][...], f["COADSY"][...]
        east = np.concatenate([np.flatnonzero(lon >= 350), np.flatnonzero(lon <= 30.5)])
        tropics = np.flatnonzero((lat >= -5) & (lat <= 5.5))
        cases = [
            (["-d", "TIME,0", "-d", "COADSX,350.0,30.5"], sst[0:1][:, :, east]),
            (["-d", "COADSY,-5.0,5.5", "-d", "TIME,-2,"], sst[-2:][:, tropics]),
            (["-d", "COADSY,,,-1", "-d", "COADSX,175,4"], sst[:, ::-1][:, :, list(range(175, 180)) + list(range(5))]),
            (["-d", "COADSX,175,10,4", "-d", "TIME,11,1"], sst[[11, 0, 1]][:, :, [175, 179, 3, 7]]),
            (["-d", "COADSY,0.2", "-d", "COADSX,200.9"],
             sst[:, [abs(lat - 0.2).argmin()]][:, :, [abs(lon - 200.9).argmin()]]),
        ]
        for flags, expected in cases:
            for path in (source, archive):
                with self.subTest(flags=flags, path=path.name):
                    done = self.ok(nc3z("read", path, "SST", *flags, "--format", "npy"))
                    found = np.load(io.BytesIO(done.stdout))
                    self.assertEqual(found.shape, expected.shape)
                    self.assertEqual(found.tobytes(), expected.astype("<f4").tobytes())
        refused = [("COADSX,999.0", "goes from"), ("COADSX,180", "length 180"), ("TIME,0,1,0", "step"), ("NOPE,1", "no dimension"),
                   ("COADSX,22.1,22.2", "no value is in"), ("COADSX,1,2.0", "mixes"), ("TIME,-13", "length 12")]
        for flag, words in refused:
            done = nc3z("read", archive, "SST", "-d", flag)
            self.assertIn(done.returncode, (1, 2), flag)
            self.assertRegex(done.stderr, words)
            self.assertEqual(done.stdout, b"")

    def test_explain(self):
        source = FERRET / "coads_climatology.cdf"
        if not source.exists():
            missing(self, "the ferret data sets are not installed")
        archive = self.dir / "coads.nc3z"
        self.ok(nc3z("archive", source, "-o", archive, "--tile-size", 64800))
        plan = json.loads(self.ok(nc3z("read", "--explain", "--json", archive, "SST", "-d", "TIME,3,4")).stdout)
        self.assertEqual((plan["bytes_wanted"], plan["bytes_to_decode"]), (2 * 64800, 2 * 64800))
        self.assertEqual(plan["tiles"], {"total": 12, "touched": 2, "whole": 2, "constant": 0, "references": 0})
        self.assertTrue(0 < plan["bytes_to_fetch"] < plan["bytes_wanted"])
        self.assertEqual([t["tile"] for t in plan["first_tiles"]], [3, 4])
        text = self.ok(nc3z("read", "--explain", archive, "SST", "-d", "COADSX,5")).stdout.decode()
        self.assertRegex(text, r"tiles +12 of 12")
        plan = json.loads(self.ok(nc3z("read", "--explain", "--json", source, "SST", "-d", "TIME,3")).stdout)
        self.assertEqual((plan["bytes_to_fetch"], plan["bytes_to_decode"], plan["cache"]), (64800, 0, None))

    def test_closed_pipes_and_the_environment(self):
        source = self.dir / "a.nc"
        self.ok(subprocess.run(["cp", ROOT / "testdata/classic/numeric.nc", source], check=False, stderr=subprocess.PIPE))
        names = [v["name"] for v in json.loads(self.ok(nc3z("info", "--json", source)).stdout)["variables"]]
        for form in ("text", "csv", "json", "npy", "raw"):
            command = f'"$NC3Z" read a.nc {names[0]} --format {form} | head -c 1 >/dev/null; "$NC3Z" read --explain a.nc {names[0]} | head -c 1'
            done = subprocess.run(["sh", "-ec", command], cwd=self.dir, env=dict(os.environ, NC3Z=NC3Z), capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
        for value, code in (("0", 0), ("1MiB", 0), ("lots", 1)):
            done = nc3z("read", source, names[0], env=dict(os.environ, NC3Z_CACHE=value))
            self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn("NC3Z_CACHE", done.stderr)


if __name__ == "__main__":
    unittest.main()

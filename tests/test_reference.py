"""The program and the reference reader against each other: each must read what the other one, or an older version, wrote.

NC3Z is the program under test (default target/debug/nc3z); it needs `zstandard`.
"""

import contextlib
import hashlib
import io
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "spec" / "reference"
CLASSIC = ROOT / "testdata" / "classic"
ARCHIVES = ROOT / "testdata" / "archives"
PROGRAM = Path(os.environ.get("NC3Z", ROOT / "target" / "debug" / "nc3z")).absolute()

sys.path.insert(0, str(REFERENCE))
import make_test_archive  # noqa: E402
import nc3z_num  # noqa: E402
import nc3z_ref  # noqa: E402

SMALL = sorted(path for path in CLASSIC.glob("*.nc") if not path.name.startswith("bad_")) + [CLASSIC / "etopo120.cdf"]


def reference_restore(archive):
    """The original's bytes, as the reference reader makes them."""
    opened = nc3z_ref.Archive(archive.read_bytes())
    out = bytearray(opened.length)
    opened.restore(out)
    return bytes(out)


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def program(self, *args):
        if not PROGRAM.exists():
            self.skipTest(f"{PROGRAM} is not built")
        done = subprocess.run([PROGRAM, *args], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{args}: {done.stderr[-2000:]}")

    def assertSame(self, found, expected, what):
        self.assertTrue(found == expected, f"{what}: the bytes differ")      # no dump of either

    def assertProgramRestores(self, archive, expected, what):
        out = self.dir / "restored"
        self.program("restore", "--force", archive, "-o", out)
        self.assertSame(out.read_bytes(), expected, what)


class ProgramWrites(Case):
    """Archives of the program, restored by the reference reader."""

    def check(self, paths, *options):
        for path in paths:
            with self.subTest(path.name, options=options):
                archive = self.dir / f"{path.name}.nc3z"
                self.program("archive", "--force", *options, path, "-o", archive)
                self.assertSame(reference_restore(archive), path.read_bytes(), path.name)

    def test_fast(self):
        self.check(SMALL, "--preset", "fast")

    def test_default(self):
        self.check(SMALL, "--preset", "default")

    def test_max(self):
        self.check(SMALL, "--preset", "max")

    @unittest.skipUnless(os.environ.get("NC3Z_NIGHT"), "87,500 tiles take the reference reader ten seconds: at night")
    def test_an_index_of_height_2(self):
        """More tiles than two levels of pages hold: 169 times 509."""
        count = 350_000
        name = lambda text: struct.pack(">I", len(text)) + text + bytes(-len(text) % 4)
        head = b"CDF\1" + struct.pack(">III", 0, 10, 1) + name(b"n") + struct.pack(">IIIII", count, 0, 0, 11, 1)
        head += name(b"v") + struct.pack(">IIII", 1, 0, 0, 0) + struct.pack(">II", 3, 2 * count)
        values = b"".join(struct.pack(">h", i // 997 % 50) for i in range(count))
        path = self.dir / "many.nc"
        path.write_bytes(head + struct.pack(">I", len(head) + 4) + values)
        self.check([path], "--tile-size", "8")

    def test_tiles_of_small_files(self):
        # Without this option, most small files are stored as a whole.
        self.check(SMALL, "--tile-size", "1MiB")

    def test_small_tiles(self):
        big = [CLASSIC / "numeric.nc", CLASSIC / "etopo120.cdf"]
        self.check(big, "--tile-size", "16KiB")
        self.check(big, "--tile-size", "4KiB")

    def test_command(self):
        """The reference reader as a command, on an archive with the numeric codec and a dictionary."""
        path, archive, out = CLASSIC / "numeric.nc", self.dir / "a.nc3z", self.dir / "out.nc"
        self.program("archive", path, "-o", archive)
        chains = [step for chain in nc3z_ref.Archive(archive.read_bytes()).chains for step in chain]
        self.assertIn({"id": "nc3z.num"}, chains)
        self.assertIn({"dict": 0, "id": "nc3z.num"}, chains)
        run = [sys.executable, REFERENCE / "nc3z_ref.py"]
        subprocess.run([*run, "restore", archive, "-o", out], check=True, capture_output=True)
        self.assertSame(out.read_bytes(), path.read_bytes(), path.name)
        subprocess.run([*run, "info", archive], check=True, capture_output=True)


class WithoutPackages(Case):
    """The programs of the specification say which package they lack, and need no more than their text says."""

    def run_without(self, absent, *args):
        lacks = self.dir / ("without-" + "-".join(absent))
        lacks.mkdir(exist_ok=True)
        for name in absent:
            (lacks / f"{name}.py").write_text(f"raise ImportError('{name} is not there')")
        env = dict(os.environ, PYTHONPATH=str(lacks))
        return subprocess.run([sys.executable, *map(str, args)], env=env, capture_output=True, text=True, check=False)

    def test_each_program(self):
        archive, out = self.dir / "a.nc3z", self.dir / "out.nc"
        subprocess.run([PROGRAM, "archive", CLASSIC / "numeric.nc", "-o", archive], check=True, capture_output=True)
        calls = {"nc3z_ref.py": ("restore", archive, "-o", out), "nc3z_bundle.py": (archive,), "nc3z_catalog.py": (archive,),
                 "nc3z_num.py": ("--self-test",), "make_test_archive.py": (CLASSIC / "numeric.nc", "-o", self.dir / "b.nc3z")}
        for name, args in calls.items():
            with self.subTest(name):
                done = self.run_without(["zstandard"], REFERENCE / name, *args)
                self.assertEqual((done.returncode, "Traceback" in done.stderr), (1, False), done.stderr)
                self.assertIn("`zstandard` is not installed", done.stderr)
        # Only some filters need NumPy.
        done = self.run_without(["numpy"], REFERENCE / "nc3z_ref.py", "restore", archive, "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(out.read_bytes(), (CLASSIC / "numeric.nc").read_bytes())
        # Proofs and parity need Python alone.
        for name in ("check_proof.py", "nc3z_parity.py", "nc3z_digest.py"):
            done = self.run_without(["zstandard", "numpy"], REFERENCE / name, "--help")
            self.assertNotIn("not installed", done.stderr)


class ReferenceWrites(Case):
    """Archives of the test producer, restored by the program, and by the reference reader."""

    def check(self, names, *options):
        for name in names:
            with self.subTest(name, options=options):
                path, archive = CLASSIC / name, self.dir / "made.nc3z"
                with mock.patch.object(sys, "argv", ["make_test_archive.py", str(path), "-o", str(archive), *options]):
                    with contextlib.redirect_stdout(io.StringIO()):
                        self.assertFalse(make_test_archive.main())
                self.assertSame(reference_restore(archive), path.read_bytes(), name)
                self.assertProgramRestores(archive, path.read_bytes(), name)

    CHAINS = ["--chain", '[{"id":"shuffle","elementsize":4},{"id":"zstd","level":3}]', "--chain", '[{"id":"zlib","level":6}]']
    OTHERS = ["--chain", '[{"id":"bitshuffle","elementsize":4,"blocksize":0},{"id":"lz4","acceleration":1}]',
              "--chain", '[{"id":"bitshuffle","elementsize":3,"blocksize":16},{"id":"gzip","level":6}]',
              "--chain", '[{"id":"lzma","format":3,"check":-1,"preset":null,"filters":[{"id":33,"dict_size":4096,"lc":0,"lp":3,"pb":3}]}]']
    NUM = ["--chain", '[{"id":"nc3z.num"}]']

    def test_plain(self):
        self.check([path.name for path in SMALL], *self.CHAINS)

    def test_files_as_a_whole(self):
        self.check([path.name for path in SMALL if path.stat().st_size < 50_000], "--whole")

    def test_other_codecs(self):
        self.check(["etopo120.cdf", "record_padding.nc", "all_types_cdf5.nc", "empty_cdf1.nc"], *self.OTHERS, "--tile", "5000")

    def test_frames(self):
        names = ["etopo120.cdf", "record_padding.nc", "empty_cdf1.nc"]
        self.check(names, *self.CHAINS, "--late-chains", "--head", "raw", "--torn", "8", "--digest", "0")
        self.check(names, *self.CHAINS, "--head", "dictionary")
        self.check(names, *self.CHAINS, "--no-pack", "--no-constants", "--tile", "64", "--digest", "2")

    def test_an_index_of_three_levels(self):
        """More tiles than 169 * 509: a page of pages of pages. The reference reads some of the tiles, the program all."""
        be = lambda *numbers: struct.pack(f">{len(numbers)}I", *numbers)  # noqa: E731
        count = 169 * 509 + 40
        values = bytes(i * 7 % 251 for i in range(count))
        path, archive = self.dir / "tiles.nc", self.dir / "made.nc3z"
        path.write_bytes(b"CDF\1" + be(0, 10, 1, 1) + b"x\0\0\0" + be(count, 0, 0, 11, 1, 1) + b"v\0\0\0" + be(1, 0, 0, 0, 1, count, 80) + values)
        with mock.patch.object(sys, "argv", ["make_test_archive.py", str(path), "-o", str(archive), "--tile", "1"]):
            self.assertFalse(make_test_archive.main())
        opened = nc3z_ref.Archive(archive.read_bytes())
        for tile in (0, 168, 169, 169 * 509 - 1, 169 * 509, count - 1):
            self.assertEqual(opened.tile(0, tile), values[tile:tile + 1], tile)
        self.assertProgramRestores(archive, path.read_bytes(), path.name)

    def test_chunks(self):
        for edges in ("clipped", "padded"):
            self.check(["etopo120.cdf", "numeric.nc"], *self.CHAINS, "--chunk", edges, "--tile", "4000")
            self.check(["record_padding.nc", "all_types_cdf5.nc"], *self.CHAINS, "--chunk", edges, "--tile", "64")

    def test_numeric(self):
        self.check(["etopo120.cdf", "numeric.nc", "all_types_cdf5.nc"], *self.NUM, "--tile", "9000")

    def test_numeric_in_chunks(self):
        for edges in ("clipped", "padded"):
            self.check(["etopo120.cdf", "numeric.nc"], *self.NUM, "--chunk", edges, "--tile", "5000")
            self.check(["record_padding.nc", "all_types_cdf5.nc"], *self.NUM, "--chunk", edges, "--tile", "99")


class Golden(Case):
    """Archives of released versions: whatever could be read once must be read for ever."""

    def test_archives(self):
        archives = sorted(ARCHIVES.glob("*/*.nc3z"))
        self.assertTrue(archives)
        for archive in archives:
            with self.subTest(f"{archive.parent.name}/{archive.name}"):
                digest, name = archive.with_name(archive.name + ".sha256").read_text().split()
                if ".lost." in archive.name:
                    self.lost(archive, digest, CLASSIC / name)
                    continue
                restored = reference_restore(archive)
                self.assertEqual(hashlib.sha256(restored).hexdigest(), digest)
                # Where values were rounded, the metadata have the SHA-256 of the unrounded file.
                lossy = nc3z_ref.Archive(archive.read_bytes()).metadata.get("lossy")
                source = lossy["source_sha256"] if lossy else digest
                # A later state of a file has no original but the digest.
                if ".later." not in archive.name:
                    self.assertEqual(hashlib.sha256((CLASSIC / name).read_bytes()).hexdigest(), source)
                self.assertProgramRestores(archive, restored, archive.name)

    def lost(self, archive, digest, source):
        """An archive with lost tiles: no reader restores it. Its other tiles are those of the original, and the lost ones are filled on request."""
        opened, original = nc3z_ref.Archive(archive.read_bytes()), source.read_bytes()
        with self.assertRaisesRegex(nc3z_ref.Refused, "tiles are lost"):
            opened.restore(bytearray(opened.length))
        found, lost = bytearray(original), set()
        for id, tiles in opened.tiles.items():
            for tile in range(tiles.count):
                try:
                    data = opened.tile(id, tile)
                except nc3z_ref.Refused as error:
                    self.assertRegex(str(error), "lost")
                    lost.add((id, tile))
                    continue
                for inside, first, n in tiles.pieces(tile):
                    tiles.array.put(found, first, data[inside:inside + n])
        self.assertSame(found, original, archive.name)
        repair = opened.metadata["repair"]
        self.assertEqual(len(lost), repair["lost_tiles"])
        self.assertEqual((repair["original_sha256"], repair["filled_sha256"]), (hashlib.sha256(original).hexdigest(), digest))
        out = self.dir / "filled"
        for options, expected in (((), None), (("--fill-lost",), digest)):
            done = subprocess.run([PROGRAM, "restore", *options, archive, "-o", out], capture_output=True)
            self.assertEqual(done.returncode, 3)
            self.assertEqual(hashlib.sha256(out.read_bytes()).hexdigest() if out.exists() else None, expected)


class Numeric(unittest.TestCase):
    def test_vectors(self):
        with contextlib.redirect_stdout(io.StringIO()):
            nc3z_num.self_test()

    def test_vectors_of_every_feature(self):
        make = ROOT / "spec/vectors/make_num.py"
        subprocess.run([sys.executable, make, "--check"], check=True, capture_output=True)

    def test_vectors_are_those_of_the_text(self):
        text = (ROOT / "spec" / "num.md").read_text()
        for vector, *_ in nc3z_num.VECTORS:
            self.assertIn(vector, text)


if __name__ == "__main__":
    unittest.main()

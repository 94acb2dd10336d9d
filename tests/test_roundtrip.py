"""Archiving and restoring keeps every byte, mode and time; other files are refused."""

import csv
import os
import struct
import subprocess
import threading
import unittest
from pathlib import Path

from common import CLASSIC, FERRET, Case, NC3Z, bad_files, ferret_files, good_files, mostly_zero, nc3z, sha256

PRESETS = ("fast", "default", "max")
EDGE = os.environ.get("NC3Z_EDGE_DIR")
HUGE = os.environ.get("NC3Z_EDGE_HUGE") == "1"
HUGE_RSS = 1 << 30


class RoundTrip(Case):
    def there_and_back(self, files, preset, *options):
        for path in files:
            with self.subTest(file=path.name, preset=preset):
                archive, back = self.dir / "a.nc3z", self.dir / "back"
                self.ok(nc3z("archive", "--preset", preset, *options, path, "-o", archive))
                self.ok(nc3z("restore", archive, "-o", back))
                self.assertEqual(sha256(back), sha256(path))
                self.assertEqual(self.names(), ["a.nc3z", "back"])
                archive.unlink()
                back.unlink()

    def test_testdata(self):
        files = self.need([p for p in good_files() if p.parent == CLASSIC], "files of testdata/classic")
        for preset in PRESETS:
            self.there_and_back(files, preset)
        # Without this option, most small files are stored as a whole.
        self.there_and_back(files, "default", "--tile-size", "1MiB")

    def test_ferret(self):
        in_testdata = {p.name for p in CLASSIC.glob("*")}
        files = self.need(ferret_files(in_testdata), f"files of {FERRET}")
        for preset in PRESETS:
            self.there_and_back(files, preset)

    def test_without_map_and_with_one_thread(self):
        for path in self.need(good_files()[:12], "test files"):
            archive, back = self.dir / "a.nc3z", self.dir / "back"
            self.ok(nc3z("archive", "--threads", 1, path, "-o", archive))
            self.ok(nc3z("restore", "--mmap", "--threads", 1, archive, "-o", back))
            self.assertEqual(sha256(back), sha256(path), path.name)
            self.ok(nc3z("verify", archive, "--against", path))
            archive.unlink()
            back.unlink()

    def test_verify_against_another_file(self):
        mostly_zero(self.dir / "x.nc", 1)
        self.ok(nc3z("archive", self.dir / "x.nc"))
        other = bytearray((self.dir / "x.nc").read_bytes())
        other[-9] ^= 1
        (self.dir / "other.nc").write_bytes(other)
        self.fails(nc3z("verify", self.dir / "x.nc.nc3z", "--against", self.dir / "other.nc"), 1, rf"byte {len(other) - 9}\b")

    def test_mode_and_time(self):
        for mode, when in ((0o640, 981_173_106_123_456_789), (0o444, 1_700_000_000_000_000_001), (0o755, -86_400_000_000_000),
                           (0o600, 4_102_444_800_500_000_000)):
            with self.subTest(mode=oct(mode), when=when):
                source, archive, back = (self.dir / f"{mode:o}{e}" for e in (".nc", ".nc.nc3z", ".back"))
                mostly_zero(source, 1)
                os.utime(source, ns=(when, when))
                source.chmod(mode)
                self.ok(nc3z("archive", source))
                self.ok(nc3z("restore", archive, "-o", back))
                for file in (source, archive, back):
                    self.assertEqual(oct(file.stat().st_mode & 0o7777), oct(mode), file.name)
                    self.assertEqual(file.stat().st_mtime_ns, when, file.name)

    def test_restored_name(self):
        source = mostly_zero(self.dir / "x.nc", 1)
        digest = sha256(source)
        self.ok(nc3z("archive", source))
        source.unlink()
        self.ok(nc3z("restore", self.dir / "x.nc.nc3z"))
        self.assertEqual(self.names(), ["x.nc", "x.nc.nc3z"])
        self.assertEqual(sha256(source), digest)

    def test_tree(self):
        for name in ("a.nc", "sub/b.nc", "sub/deep/a.nc"):
            (self.dir / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            mostly_zero(self.dir / "in" / name, 1)
        (self.dir / "in/readme.txt").write_text("not data")
        (self.dir / "in/empty").write_bytes(b"")
        self.ok(nc3z("archive", "--recursive", self.dir / "in", "-o", self.dir / "out"))
        found = sorted(str(p.relative_to(self.dir / "out")) for p in (self.dir / "out").rglob("*") if p.is_file())
        self.assertEqual(found, ["a.nc.nc3z", "sub/b.nc.nc3z", "sub/deep/a.nc.nc3z"])
        self.ok(nc3z("restore", "--recursive", self.dir / "out", "-o", self.dir / "back"))
        for name in ("a.nc", "sub/b.nc", "sub/deep/a.nc"):
            self.assertEqual(sha256(self.dir / "back" / name), sha256(self.dir / "in" / name))

    def test_zeros_are_holes(self):
        source, archive, back = self.dir / "z.nc", self.dir / "z.nc.nc3z", self.dir / "z.back"
        mostly_zero(source, 50)
        self.ok(nc3z("archive", source))
        self.assertLess(archive.stat().st_size, 64 << 10)
        self.ok(nc3z("restore", archive, "-o", back))
        self.assertEqual(back.stat().st_size, source.stat().st_size)
        self.assertEqual(sha256(back), sha256(source))
        self.assertLess(back.stat().st_blocks * 512, 1 << 20)


class Refused(Case):
    def refused(self, path, words):
        before = self.names()
        digest = sha256(path)
        self.fails(nc3z("archive", path, "-o", self.dir / "out.nc3z"), 1, words)
        self.fails(nc3z("archive", path), 1, words)
        self.assertEqual(self.names(), before)
        self.assertEqual(sha256(path), digest)

    def test_what_is_no_classic_file(self):
        cases = {
            "empty.nc": (b"", r"the file is empty"),
            "three.nc": (b"CDF", r"byte 0"),
            "hdf5.nc": (b"\x89HDF\r\n\x1a\n" + b"\0" * 500, r"HDF5 file.*nccopy"),
            "gzip.nc": (b"\x1f\x8b\x08\0" + b"\0" * 20, r"gzip file: decompress"),
            "random.nc": (b"\xa7" + os.urandom(4095), r"not a netCDF file: it begins with the bytes a7"),
            "text.nc": (b"netcdf x {\n}\n", r"CDL text.*ncgen"),
            "cdf3.nc": (b"CDF\x03" + b"\0" * 28, r"magic of CDF-3"),
            "zeros.nc": (b"\0" * 4096, r"begins with zero bytes"),
            "tag.nc": (b"CDF\x01" + struct.pack(">III", 0, 77, 1) + b"\0" * 40, r"byte 8\b"),
        }
        for name, (content, words) in cases.items():
            with self.subTest(name):
                (self.dir / name).write_bytes(content)
                self.refused(self.dir / name, words)

    def test_truncated_header(self):
        whole = mostly_zero(self.dir / "whole", 1).read_bytes()[:76]
        for length in range(4, 76, 3):
            with self.subTest(length=length):
                path = self.dir / "cut.nc"
                path.write_bytes(whole[:length])
                self.refused(path, r"truncated.*byte \d+.*left")

    def test_bad_files_of_testdata(self):
        for path in self.need(bad_files(), "files of testdata/classic"):
            with self.subTest(path.name):
                done = self.fails(nc3z("archive", path, "-o", self.dir / "out.nc3z"), 1, r"byte \d+|magic of CDF-3 or CDF-4")
                self.assertIn(path.name, done.stderr)
                self.assertEqual(self.names(), [])

    def test_archive_of_an_archive(self):
        self.ok(nc3z("archive", mostly_zero(self.dir / "x.nc", 1)))
        self.refused(self.dir / "x.nc.nc3z", r"archived already")

    def test_missing_input(self):
        self.fails(nc3z("archive", self.dir / "none.nc"), 1, "none.nc.*no such file")
        self.fails(nc3z("restore", self.dir / "none.nc.nc3z"), 1, "none.nc.*no such file")
        self.assertEqual(self.names(), [])

    def test_directory_without_recursive(self):
        (self.dir / "d").mkdir()
        self.fails(nc3z("archive", self.dir / "d"), 1, "directory.*--recursive")

    def test_usage(self):
        for args in ((), ("archive",), ("archive", "x", "--preset", "best"), ("restore",), ("nothing",),
                     ("archive", "x", "--memory", "0")):
            self.assertEqual(nc3z(*args).returncode, 2, args)


def measured(*args):
    """Runs nc3z; gives exit code, standard error and its largest resident set in bytes."""
    process = subprocess.Popen([NC3Z, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    err = []
    reader = threading.Thread(target=lambda: err.append(process.stderr.read()))
    reader.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    reader.join()
    process.stderr.close()
    return process.returncode, err[0].decode("utf-8", "replace"), usage.ru_maxrss * 1024


@unittest.skipUnless(EDGE, "NC3Z_EDGE_DIR is not set: the edge corpus is not tested")
class EdgeCorpus(Case):
    def setUp(self):
        super().setUp()
        with open(Path(EDGE) / "EDGE.tsv", encoding="utf-8", newline="") as f:
            self.rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))

    def judge(self, row, limit=None):
        """Returns the fault of nc3z's answer to this file, or None."""
        path = next(Path(EDGE).glob(f"*/{row['id']}.nc"), None)
        if path is None:
            return "the file is missing"
        archive, back = self.dir / "a.nc3z", self.dir / "back"
        code, err, rss = measured("archive", path, "-o", archive)
        if limit and rss > limit:
            return f"archive took {rss >> 20} MiB"
        expected = row["expected"].strip()
        if code == 1:
            if self.names():
                return f"refused, but left {self.names()}"
            # The place of the fault; or, for a file that is not classic, its kind.
            instead = expected == "R" and (": this is " in err or ": the file is empty" in err)
            clear = "byte" in err or instead
            if "nc3z: error: " not in err or not clear or "panicked" in err:
                return f"refused without a clear message: {err}"
            return "refused: " + err.strip() if expected in ("A", "B") else None
        if code != 0:
            return f"exit {code}: {err.strip()}"
        if expected == "R":
            return "not refused"
        if expected == "B" and "warning" not in err:
            return "no warning"
        code, err, rss = measured("restore", archive, "-o", back)
        if code != 0:
            return f"restore: exit {code}: {err.strip()}"
        if limit and rss > limit:
            return f"restore took {rss >> 20} MiB"
        return None if sha256(back) == sha256(path) else "restored bytes differ"

    def run_rows(self, rows, limit=None):
        wrong = []
        for row in rows:
            verdict = self.judge(row, limit)
            if verdict:
                wrong.append(f"{row['id']} ({row['expected']}): {verdict}")
            for file in self.dir.iterdir():
                file.unlink()
        self.assertFalse(wrong, f"{len(wrong)} of {len(rows)}:\n" + "\n".join(wrong))

    def test_corpus(self):
        self.run_rows([r for r in self.rows if "huge" not in r["tags"].split(",")])

    @unittest.skipUnless(HUGE, "NC3Z_EDGE_HUGE=1 is not set: files of gigabytes are not tested")
    def test_huge(self):
        self.run_rows([r for r in self.rows if "huge" in r["tags"].split(",")], HUGE_RSS)


if __name__ == "__main__":
    unittest.main()

"""`nc3z hash`: digests against the plain-Python reference, netCDF's own reader and sha256sum; `--check` and its habits."""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from common import CLASSIC, NIGHT, ROOT, Case, good_files, header, missing, nc3z, need_program, sha256, synthetic

sys.path.insert(0, str(ROOT / "spec/reference"))
import nc3z_digest  # noqa: E402
import nc3z_ref  # noqa: E402

# The reference is not fast: files up to this size.
REFERENCE_MAX = 4 << 20


def reference(path):
    with open(path, "rb") as file:
        content, own = nc3z_digest.Classic(file).digests()
    return content.hex(), [d.hex() for d in own]


def hashed(*args):
    """Rows of `hash --json`."""
    return json.loads(nc3z("hash", "--json", *args).stdout)


def content(path):
    return hashed(path)[0]["content"]


class Reference(Case):
    """The same digests as those computed from the text of the specification."""

    def same(self, path):
        expected, own = reference(path)
        row = hashed("--variables", path)[0]
        self.assertEqual(row["content"], expected)
        self.assertEqual([v["digest"] for v in row["variables"]], own)
        self.assertEqual(row["sha256"], sha256(path))
        return expected, own

    def test_classic_files_and_archives_of_every_kind(self):
        files = [p for p in good_files() if p.stat().st_size <= REFERENCE_MAX]
        # Each makes five archives, and is hashed eleven times: by day every third one.
        for path in self.need(files, "classic files")[:: 1 if NIGHT else 3]:
            with self.subTest(path.name):
                expected, own = self.same(path)
                for options in (("--preset", "fast"), (), ("--preset", "max", "--tile-size", "4KiB"), ("--tile-size", "777"),
                                ("--layout", "chunked", "--tile-size", "4KiB")):
                    archive = self.dir / "a.nc3z"
                    self.ok(nc3z("archive", "--force", *options, path, "-o", archive))
                    for threads in ("1", "2"):
                        row = hashed("--variables", "--threads", threads, archive)[0]
                        self.assertEqual(row["content"], expected, options)
                        self.assertEqual([v["digest"] for v in row["variables"]], own, options)
                        self.assertEqual((row["kind"], row["sha256"]), ("archive", sha256(path)))
                        self.assertEqual((row["recorded_sha256"], row["digest_state"]), (sha256(path), "valid"))

    def test_large_file(self):
        """Many leaves, and windows that end inside them."""
        path = synthetic(self.dir / "s.nc", 21)
        expected, _ = self.same(path)
        self.ok(nc3z("archive", "--tile-size", "300000", path))
        self.assertEqual(content(self.dir / "s.nc.nc3z"), expected)

    def test_interleaved_records_of_every_size(self):
        """Windows that end in a record: short slots, long slots, and records longer than a window."""
        for slots in ((2, 6), (4, 40_000, 3), (9_000_000, 8, 1_200_000)):
            with self.subTest(slots):
                path = self.dir / "r.nc"
                dims = [("t", 0), *((f"d{i}", n) for i, n in enumerate(slots))]
                variables = [(f"v{i}", (0, i + 1), 1, n + -n % 4) for i, n in enumerate(slots)]
                records = 3 + min(10_000_000 // sum(slots), 400_000)
                with open(path, "wb") as f:
                    f.write(header(variables, dims, numrecs=records))
                    begin = f.tell()
                    f.write(os.urandom(records * sum(v[3] for v in variables) - 5))
                self.assertGreater(begin, 0)
                expected, _ = self.same(path)
                self.ok(nc3z("archive", "--force", path))
                self.assertEqual(content(self.dir / "r.nc.nc3z"), expected)

    def test_command(self):
        path = CLASSIC / "record_padding.nc"
        done = subprocess.run([sys.executable, ROOT / "spec/reference/nc3z_digest.py", "--variables", path], capture_output=True,
                              check=True, text=True)
        listed = self.dir / "list"
        listed.write_text(done.stdout)
        checked = self.ok(nc3z("hash", "--check", listed)).stdout.decode()
        self.assertEqual(checked.count(": OK\n"), len(done.stdout.splitlines()))


class OnRecord(Case):
    """Digests that archives have on record: right, never stale, compared by a deep check, read without decoding."""

    def digests(self, *names):
        return json.loads(self.ok(nc3z("info", "--json", *names)).stdout)["digests"]

    def archived(self, *options):
        source, archive = self.dir / "s.nc", self.dir / "s.nc3z"
        source.write_bytes((CLASSIC / "coads_climatology.cdf").read_bytes())
        self.ok(nc3z("archive", "--force", "--preset", "fast", *options, source, "-o", archive))
        return source, archive

    def test_they_are_those_of_the_file_and_read_without_decoding(self):
        source, archive = self.archived("--digest", "md5")
        expected, own = reference(source)
        found = self.digests(archive)
        self.assertEqual((found["content"], found["source"]), (expected, "recorded"))
        self.assertEqual([v["digest"] for v in found["variables"]], own)
        self.assertEqual(found["md5"], hashlib.md5(source.read_bytes()).hexdigest())
        self.ok(nc3z("verify", "--deep", archive))
        raw = bytearray(archive.read_bytes())
        raw[len(raw) // 2] ^= 1
        archive.write_bytes(raw)
        row = hashed("--variables", archive)[0]
        self.assertEqual((row["content"], row["sha256"], row["computed"]), (expected, sha256(source), False))
        self.assertEqual([v["digest"] for v in row["variables"]], own)
        self.assertEqual(nc3z("hash", "--recompute", archive).returncode, 3)
        row = hashed("--recompute", source)[0]
        self.assertEqual((row["content"], row["computed"]), (expected, True))

    def test_small_originals_have_none_and_are_computed(self):
        source, archive = CLASSIC / "numeric.nc", self.dir / "a.nc3z"
        for name in ("template.nc", "all_types_cdf5.nc"):
            self.ok(nc3z("archive", "--force", CLASSIC / name, "-o", archive))
            found = self.digests(archive)
            self.assertEqual((found["content"], found["source"]), (reference(CLASSIC / name)[0], "computed"))
            self.assertNotIn("content", nc3z_ref.Archive(archive.read_bytes()).metadata)
        # Fourteen variables are too many for an archive of 58 KB.
        self.ok(nc3z("archive", "--force", source, "-o", archive))
        found = self.digests(archive)
        self.assertEqual((found["content"], found["source"], found["variables"]), (reference(source)[0], "recorded", []))
        self.assertTrue(hashed("--variables", archive)[0]["computed"])
        self.assertFalse(hashed(archive)[0]["computed"])
        self.ok(nc3z("archive", "--force", "--digest", "none", source, "-o", archive))
        self.assertNotIn("content", nc3z_ref.Archive(archive.read_bytes()).metadata)

    def test_versions_have_their_own_and_edits_leave_no_wrong_one(self):
        source, archive = self.archived()
        first = self.digests(archive)["content"]
        other = self.dir / "other.nc"
        raw = bytearray(source.read_bytes())
        raw[-8:] = b"\x40\x49\x0f\xdb" * 2
        other.write_bytes(raw)
        self.ok(nc3z("commit", archive, other, "-m", "two"))
        second = self.digests(archive)["content"]
        self.assertEqual((first, second), (reference(source)[0], reference(other)[0]))
        self.assertEqual(self.digests(f"{archive}@1")["content"], first)
        self.ok(nc3z("attr", archive, ":history=edited"))
        self.assertIsNone(self.digests(archive))
        row = hashed(archive)[0]
        self.assertTrue(row["computed"])
        self.ok(nc3z("restore", archive, "-o", self.dir / "now.nc"))
        self.assertEqual(row["content"], reference(self.dir / "now.nc")[0])
        self.ok(nc3z("verify", "--deep", "--all-versions", archive))
        self.ok(nc3z("recompress", "--drop-history", archive))
        self.assertEqual((self.digests(archive)["content"], self.digests(archive)["source"]), (row["content"], "recorded"))

    def test_a_deep_check_finds_a_wrong_record(self):
        source = CLASSIC / "all_types_cdf5.nc"
        content, own = reference(source)
        made = self.dir / "made.nc3z"
        of, wrong = sha256(source)[:16], "0" * 64
        full = {"of": of, "file": content, "values": own, "md5": hashlib.md5(source.read_bytes()).hexdigest()}
        cases = [(full, True), ({**full, "file": wrong}, False), ({**full, "values": own[:-1] + [wrong]}, False), ({**full, "md5": wrong[:32]}, False),
                 # None of these is a record of this file.
                 ({**full, "of": wrong[:16], "file": wrong}, True), ({**full, "file": "x"}, True), ({**full, "values": own[:-1]}, True), ([], True),
                 # Unknown keys.
                 ({"of": of, "digest": wrong, "variables": [wrong], "root": wrong, "arrays": [wrong]}, True)]
        for record, good in cases:
            with self.subTest(record):
                run = [sys.executable, ROOT / "spec/reference/make_test_archive.py", source, "-o", made, "--metadata", json.dumps({"content": record})]
                subprocess.run([str(a) for a in run], check=True, capture_output=True)
                self.assertEqual(nc3z("verify", "--deep", made).returncode, 0 if good else 3)
                self.assertEqual(nc3z("verify", made).returncode, 0)
                opened = nc3z_ref.Archive(made.read_bytes())
                try:
                    opened.restore(bytearray(opened.length))
                    self.assertTrue(good)
                except nc3z_ref.Corrupt:
                    self.assertFalse(good)


class NetCDF(Case):
    """Values, names and attributes as the netCDF library reads them give the same digests."""

    CODES = {"i1": 1, "S1": 2, "i2": 3, "i4": 4, "f4": 5, "f8": 6, "u1": 7, "u2": 8, "u4": 9, "i8": 10, "u8": 11}

    def attributes(self, item):
        import numpy as np

        out = []
        for name in item.ncattrs():
            value = item.getncattr(name)
            if isinstance(value, str):
                out.append((name.encode(), 2, value.encode()))
            else:
                value = np.atleast_1d(value)
                out.append((name.encode(), self.CODES[value.dtype.str[1:]], value.astype(value.dtype.newbyteorder(">")).tobytes()))
        return out

    def by_netcdf(self, path):
        import netCDF4

        with netCDF4.Dataset(path) as data:
            data.set_auto_maskandscale(False)
            data.set_auto_chartostring(False)
            names = list(data.dimensions)
            dimensions = [(n.encode(), d.isunlimited(), len(d)) for n, d in data.dimensions.items()]
            entries = [nc3z_digest.file_entry(dimensions, self.attributes(data))]
            for name, v in data.variables.items():
                values = v[...]
                raw = values.astype(values.dtype.newbyteorder(">")).tobytes()
                kind = self.CODES[values.dtype.str[1:]]
                own = nc3z_digest.values_digest(kind, list(v.shape), values.size, nc3z_digest.values_root(kind, list(v.shape), [raw]))
                places = [(names.index(d), *dimensions[names.index(d)]) for d in v.dimensions]
                entries.append(nc3z_digest.variable_entry(name.encode(), kind, places, values.size, self.attributes(v), own))
            return nc3z_digest.content_digest(entries).hex()

    def test_library_reads_what_is_hashed(self):
        with contextlib.suppress(ImportError):
            import netCDF4  # noqa: F401
        if "netCDF4" not in sys.modules:
            missing(self, "netCDF4 is not installed")
        for name in ("all_types_cdf1.nc", "all_types_cdf2.nc", "all_types_cdf5.nc", "record_padding.nc", "lone_record_short.nc",
                     "numeric.nc", "no_records.nc", "etopo120.cdf", "coads_climatology.cdf", "esku_heat_budget.cdf"):
            with self.subTest(name):
                self.assertEqual(content(CLASSIC / name), self.by_netcdf(CLASSIC / name))

    def test_kind_of_file_does_not_matter(self):
        need_program(self, "nccopy")
        for name in ("all_types_cdf1.nc", "record_padding.nc", "etopo120.cdf", "lone_record_byte.nc"):
            expected = content(CLASSIC / name)
            for kind in ("classic", "64-bit offset", "cdf5"):
                with self.subTest(name, kind=kind):
                    copy = self.dir / "copy.nc"
                    subprocess.run(["nccopy", "-k", kind, "-h", "4096", CLASSIC / name, copy], check=True)
                    self.assertEqual(content(copy), expected)


class Content(Case):
    """Tests which bytes of a file belong to its content."""

    def edited(self, at, replacement):
        """The digest of a copy with other bytes at this place."""
        copy = bytearray((CLASSIC / "record_padding.nc").read_bytes())
        copy[at:at + len(replacement)] = replacement
        path = self.dir / "edited.nc"
        path.write_bytes(copy)
        return hashed(path)[0]

    def test_signed_zeros_and_nans_are_bits(self):
        head = header([("v", (0,), 5, 4)], [("n", 1)])
        seen = set()
        for bits in ("00000000", "80000000", "7fc00000", "7fc00001", "ffc00000"):
            (self.dir / "v.nc").write_bytes(head + bytes.fromhex(bits))
            seen.add(content(self.dir / "v.nc"))
        self.assertEqual(len(seen), 5)

    def test_padding_between_records_does_not_matter(self):
        with open(CLASSIC / "record_padding.nc", "rb") as file:
            classic = nc3z_digest.Classic(file)
            plain = hashed(CLASSIC / "record_padding.nc")[0]
            v = next(v for v in classic.variables if classic.is_record(v) and classic.size(v, classic.records) % 4)
            at = v[4] + classic.size(v, classic.records)
        padded = self.edited(at, b"\x7e")
        self.assertEqual(padded["content"], plain["content"])
        self.assertNotEqual(padded["sha256"], plain["sha256"])
        self.assertNotEqual(self.edited(v[4], b"\x7e")["content"], plain["content"])

    def test_restored_file_and_streaming(self):
        path = CLASSIC / "streaming.nc"
        raw = bytearray(path.read_bytes())
        self.assertEqual(raw[4:8], b"\xff" * 4)
        with open(path, "rb") as file:
            records = nc3z_digest.Classic(file).records
        raw[4:8] = records.to_bytes(4, "big")
        (self.dir / "counted.nc").write_bytes(raw)
        self.assertEqual(content(self.dir / "counted.nc"), content(path))
        self.ok(nc3z("archive", path, "-o", self.dir / "a.nc3z"))
        self.ok(nc3z("restore", self.dir / "a.nc3z", "-o", self.dir / "back.nc"))
        self.assertEqual(content(self.dir / "back.nc"), content(path))

    def test_truncated_file_differs(self):
        raw = (CLASSIC / "numeric.nc").read_bytes()
        (self.dir / "short.nc").write_bytes(raw[:-400])
        self.assertNotEqual(content(self.dir / "short.nc"), content(CLASSIC / "numeric.nc"))
        self.assertEqual(content(self.dir / "short.nc"), reference(self.dir / "short.nc")[0])

    def test_one_variable_may_differ(self):
        head = header([("a", (0,), 4, 4000), ("b", (0,), 4, 4000)], [("n", 1000)])
        data = os.urandom(8000)
        (self.dir / "one.nc").write_bytes(head + data)
        (self.dir / "two.nc").write_bytes(head + data[:-1] + bytes([data[-1] ^ 1]))
        one, two = hashed("--variables", self.dir / "one.nc", self.dir / "two.nc")
        self.assertEqual(one["variables"][0], two["variables"][0])
        self.assertNotEqual(one["variables"][1]["digest"], two["variables"][1]["digest"])


class Check(Case):
    """`--check` has the habits of `sha256sum -c`."""

    def setUp(self):
        super().setUp()
        for name in ("record_padding.nc", "numeric.nc"):
            shutil.copy(CLASSIC / name, self.dir)
        self.ok(nc3z("archive", "numeric.nc", cwd=self.dir))

    def listed(self, *args):
        done = self.ok(nc3z("hash", *args, cwd=self.dir))
        (self.dir / "list").write_bytes(done.stdout)
        return done.stdout.decode()

    def check(self, *args, code=0):
        done = nc3z("hash", "--check", *args, "list", cwd=self.dir)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout.decode(), done.stderr

    def damage(self, name, at=-3):
        raw = bytearray((self.dir / name).read_bytes())
        raw[at] ^= 1
        (self.dir / name).write_bytes(raw)

    def test_sha256sum_takes_the_plain_lines(self):
        need_program(self, "sha256sum")
        self.listed("--only", "sha256", "record_padding.nc", "numeric.nc")
        run = ["sha256sum", "--check", "--strict", "list"]
        done = subprocess.run(run, cwd=self.dir, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "record_padding.nc: OK\nnumeric.nc: OK\n")
        self.listed("record_padding.nc")
        subprocess.run(run[:2] + ["list"], cwd=self.dir, capture_output=True, check=True)

    def test_lists_of_sha256sum_are_taken(self):
        need_program(self, "sha256sum")
        (self.dir / "new\nline\\").write_bytes(b"no netCDF at all")
        for tag in ([], ["--tag"], ["--binary"]):
            run = ["sha256sum", *tag, "record_padding.nc", "numeric.nc.nc3z", "new\nline\\"]
            (self.dir / "list").write_bytes(subprocess.run(run, cwd=self.dir, capture_output=True, check=True).stdout)
            out, _ = self.check()
            self.assertEqual(out, "record_padding.nc: OK\nnumeric.nc.nc3z: OK\nnew\\u{a}line\\: OK\n")

    def test_all_is_well(self):
        lines = self.listed("--variables", "record_padding.nc", "numeric.nc", "numeric.nc.nc3z")
        out, err = self.check()
        self.assertEqual(out.count(": OK\n"), len(lines.splitlines()))
        self.assertEqual((out.count("FAILED"), err), (0, ""))
        self.assertIn("record_padding.nc content: OK\nrecord_padding.nc: OK\n", out)
        self.assertIn("numeric.nc.nc3z original: OK\n", out)
        self.assertEqual(self.check("--quiet")[0], "")
        self.assertEqual(self.check("--threads", "1"), (out, err))

    def test_what_changed_is_named(self):
        self.listed("--variables", "record_padding.nc", "numeric.nc")
        self.damage("numeric.nc")
        out, err = self.check("--quiet", code=1)
        self.assertIn("numeric.nc: FAILED\n", out)
        self.assertIn("numeric.nc content: FAILED\n", out)
        self.assertEqual(out.count("variable"), 1)
        self.assertIn("3 computed digests did NOT match", err)
        self.assertEqual(self.check("--status", code=1), ("", ""))
        report = json.loads(self.check("--json", code=1)[0])
        self.assertEqual((report["failed"], sum(not r["ok"] for r in report["results"])), (3, 3))

    def test_corrupt_archive_is_3(self):
        self.listed("numeric.nc.nc3z")
        self.damage("numeric.nc.nc3z", at=(self.dir / "numeric.nc.nc3z").stat().st_size // 2)
        out, _ = self.check(code=3)
        self.assertEqual(out, "numeric.nc.nc3z: FAILED open or read\n")

    def test_missing_files(self):
        self.listed("record_padding.nc", "numeric.nc")
        (self.dir / "numeric.nc").unlink()
        out, err = self.check(code=1)
        self.assertIn("numeric.nc: FAILED open or read\n", out)
        self.assertIn("No such file", err)
        out, _ = self.check("--ignore-missing")
        self.assertNotIn("numeric", out)
        out, _ = self.check("--either")
        self.assertIn("numeric.nc content: OK (of numeric.nc.nc3z)\nnumeric.nc: OK (of numeric.nc.nc3z)\n", out)
        (self.dir / "record_padding.nc").unlink()
        (self.dir / "numeric.nc.nc3z").unlink()
        self.assertIn("no digest was checked", self.check("--ignore-missing", code=1)[1])

    def test_list_of_archives_checks_what_was_restored(self):
        self.listed("numeric.nc.nc3z")
        (self.dir / "numeric.nc.nc3z").unlink()
        out, _ = self.check("--either")
        self.assertEqual(out.count("OK (of numeric.nc)"), 2)

    def test_lines_that_are_none(self):
        lines = self.listed("numeric.nc")
        (self.dir / "list").write_text("# a comment\n\nwhat is this?\n" + lines)
        self.assertIn("1 line is not a digest", self.check()[1])
        self.assertIn("line 3 is not a digest", self.check("--strict", code=1)[1])

    def test_from_standard_input(self):
        lines = self.listed("numeric.nc")
        self.ok(nc3z("hash", "--check", "-", cwd=self.dir, input=lines.encode()))

    def test_names_that_a_terminal_would_obey(self):
        raw = (self.dir / "numeric.nc").read_bytes()
        name = "a\x1b[31m\nb\\ \u202e) = c.nc"
        (self.dir / name).write_bytes(raw)
        lines = self.listed("--variables", name)
        self.assertFalse(set(lines) & {"\x1b", "\u202e"})
        out, _ = self.check()
        self.assertFalse(set(out) & {"\x1b", "\u202e"})
        self.assertEqual(out.count(": OK\n"), len(lines.splitlines()))

    def test_recorded(self):
        done = self.ok(nc3z("hash", "--recorded", "numeric.nc.nc3z", cwd=self.dir)).stdout.decode()
        comment, line = done.splitlines()
        self.assertRegex(comment, "^# numeric.nc.nc3z: .*not computed")
        self.assertEqual(line, f"SHA256-ORIGINAL (numeric.nc.nc3z) = {sha256(self.dir / 'numeric.nc')}")
        self.listed("--recorded", "numeric.nc.nc3z")
        self.check("--strict")
        self.fails(nc3z("hash", "--recorded", "numeric.nc", cwd=self.dir), 1, "no digest on record")
        row = hashed("--recorded", self.dir / "numeric.nc.nc3z")[0]
        self.assertEqual((row["sha256"], row["content"]), (None, None))
        self.assertEqual(row["recorded_sha256"], sha256(self.dir / "numeric.nc"))

    def test_tree_and_failures(self):
        shutil.copy(CLASSIC / "bad_version.nc", self.dir / "bad.nc")
        (self.dir / "sub").mkdir()
        (self.dir / "sub/notes.txt").write_text("no netCDF")
        shutil.copy(CLASSIC / "numeric.nc", self.dir / "sub/bad_too.nc")
        os.truncate(self.dir / "sub/bad_too.nc", 40)
        done = nc3z("hash", "--recursive", ".", cwd=self.dir)
        self.fails(done, 1, "bad_too.nc")
        out = done.stdout.decode()
        self.assertEqual([line.split()[1] for line in out.splitlines()[::2]],
                         ["(./numeric.nc)", "(./numeric.nc.nc3z)", "(./record_padding.nc)"])
        self.fails(nc3z("hash", ".", cwd=self.dir), 1, "--recursive")

    def test_digest_of_nothing_but_the_bytes(self):
        """A plain line has the digest of the file itself, archive or not."""
        raw = (self.dir / "numeric.nc.nc3z").read_bytes()
        (self.dir / "list").write_text(f"{hashlib.sha256(raw).hexdigest()}  numeric.nc.nc3z\n")
        self.check()


if __name__ == "__main__":
    unittest.main()

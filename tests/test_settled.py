"""Section 3 of spec/conformance.md, question by question: the program and the reference reader give the answer of the text."""

import hashlib
import struct
import sys
import unittest

import forge
from common import ROOT, Case, nc3z, without_slots
from common import header as classic_header
from forge import Forge, be, constant, header, one_scalar

sys.path.insert(0, str(ROOT / "spec/reference"))
import nc3z_ref  # noqa: E402
from make_test_archive import varint  # noqa: E402
from nc3z_ref import CONSTANTS, STORED, TRAILER_SIZE, crc32, salted_crc  # noqa: E402

GOOD, CORRUPT, FAILS = "good", "corrupt", "fails"


def scalar(seal=None, **options):
    made = header(1, lambda _: 60)
    text = options.pop("header", header(1, lambda _: len(made)))
    length = options.pop("length", len(made) + 1)
    generation, body = options.pop("generation", 0), options.pop("body", None)
    entry, rows = options.pop("entry", constant(b"\7")), options.pop("rows", [(0, 1, 0)])
    forged = Forge(text, length, **{"layouts": b"\0\1\1", **options})
    forged.generation = generation
    if body:
        entry = body(forged) or entry
    return forged.seal(rows, entry, **(seal or {})).bytes()


def packed(filler=b"", moved=0, tile=0):
    def body(forged):
        entries = forged.container(0, [(0, tile, 0, b"\7", crc32(b"\7"))], 0, bytes, filler)
        return entries[0][:20] + struct.pack("<I", struct.unpack("<I", entries[0][20:])[0] + moved)
    return scalar(body=body)


def other_constants(forged):
    rows = varint(0) + varint(0) + varint(1) + b"\1\x63"
    forged.block(CONSTANTS, 3, 0, 0, len(rows), crc32(rows), rows)


def block(payload, chains, decoded=b"\7"):
    """The scalar as a block of its own, of chain 1."""
    def body(forged):
        at, check = forged.block(0, 0, 1, 0, len(decoded), crc32(decoded), payload)
        return struct.pack("<BBHIQII", STORED, 0, 1, len(payload), at, check, 0)
    return scalar(body=body, chains=chains)


def salted(first, last):
    """A salt whose first or last half is another."""
    right = Forge(SCALAR, len(SCALAR) + 1, layouts=b"\0\1\1").salt
    flip = lambda half, changed: bytes(b ^ (0x55 * changed) for b in half)  # noqa: E731
    return scalar(salt=flip(right[:4], first) + flip(right[4:], last))


# A zstd frame of the byte 7 that states a window of 2^log bytes: no segment, no size, one raw block of one byte.
def window(log):
    return b"\x28\xb5\x2f\xfd\x00" + bytes([log - 10 << 3]) + b"\x09\0\0\7"


MADE = header(1, lambda _: 60)
SCALAR = header(1, lambda _: len(MADE))
# Question, archive, restore, verify.
CASES = [
    ("a member in a container", packed(), GOOD, GOOD),
    ("bytes behind the last member", packed(filler=b"?"), CORRUPT, CORRUPT),
    ("an entry for what the directory has not", packed(moved=1), CORRUPT, CORRUPT),
    ("a window of 128 MiB", block(window(27), b'[[],[{"id":"zstd","level":1}]]'), GOOD, GOOD),
    ("a salt of another header", salted(True, False), CORRUPT, CORRUPT),
    ("a salt of another content", salted(False, True), GOOD, GOOD),
    ("a constants list that disagrees", scalar(body=other_constants), GOOD, GOOD),
    ("an entry of kind 0", scalar(entry=bytes(24)), CORRUPT, CORRUPT),
    ("required bit 1 with nothing lost", scalar({"required": 2}), CORRUPT, GOOD),
    ("a fresh archive of generation 5", scalar(generation=4), GOOD, GOOD),
    ("optional bit 0 without parity", scalar({"optional": 1}), GOOD, GOOD),
    ("an unknown chain that nothing uses", scalar(chains=b'[[],[{"id":"lz9"}]]'), GOOD, GOOD),
    ("a malformed chain table", scalar(chains=b'[[],{"id":"zstd"}]'), CORRUPT, CORRUPT),
    ("a filter without id", scalar(chains=b'[[],[{"level":1}]]'), CORRUPT, CORRUPT),
    ("a key twice in a chain", scalar(chains=b'[[],[{"id":"zstd","level":1,"level":1}]]'), CORRUPT, CORRUPT),
    ("a key twice in the metadata", scalar({"metadata": b'{"a":{"b":1,"b":1}}'}), CORRUPT, CORRUPT),
    ("empty metadata", scalar({"metadata": b"{}"}), GOOD, GOOD),
    ("a tile length above 2^63 - 1", scalar(layouts=b"\0" + varint(1 << 63) + b"\1"), CORRUPT, CORRUPT),
    ("a tile length of 2^63 - 1", scalar(layouts=b"\0" + varint((1 << 63) - 1) + b"\1"), GOOD, GOOD),
    ("bytes behind the header", scalar(header=SCALAR + b"\0\0\0\0", length=len(SCALAR) + 5), CORRUPT, CORRUPT),
    ("a type of CDF-5 in CDF-1", scalar(header=SCALAR[:-12] + be(7, 4, len(MADE))), CORRUPT, CORRUPT),
    ("an optional section with a wrong checksum", scalar({"more": [(0x8001, 0, 5, b"12345678")]}), GOOD, CORRUPT),
    ("an optional section with its own checksums", scalar({"more": [(0x8001, 2, 0, b"12345678")]}), GOOD, GOOD),
    ("an optional section of encoding 3", scalar({"more": [(0x8001, 3, 0, b"12345678")]}), CORRUPT, CORRUPT),
]


class Settled(Case):
    def outcome(self, done):
        return {0: GOOD, 3: CORRUPT}.get(done.returncode, FAILS)

    def test_the_program_gives_the_answer_of_the_text(self):
        for question, archive, restored, verified in CASES:
            with self.subTest(question):
                path, out = self.dir / "a.nc3z", self.dir / "out"
                path.write_bytes(archive)
                done = nc3z("restore", "-f", path, "-o", out)
                self.assertEqual(self.outcome(done), restored, done.stderr)
                if restored == GOOD:
                    self.assertEqual(out.read_bytes(), SCALAR + b"\7")
                done = nc3z("verify", "--deep", path)
                self.assertEqual(self.outcome(done), verified, done.stderr)

    def test_the_reference_reader_does_so_too(self):
        for question, archive, restored, _ in CASES:
            with self.subTest(question):
                try:
                    opened = nc3z_ref.Archive(archive)
                    out = bytearray(opened.length)
                    opened.restore(out)
                    self.assertEqual((restored, bytes(out)), (GOOD, SCALAR + b"\7"))
                except nc3z_ref.Refused as error:
                    self.assertNotEqual(restored, GOOD, error)

    def test_a_member_that_is_another_tile(self):
        """Its bytes have the checksum of the requested tile: a reader need not report an error, the reference does."""
        archive = packed(tile=5)
        with self.assertRaises(nc3z_ref.Refused):
            nc3z_ref.Archive(archive).restore(bytearray(len(SCALAR) + 1))

    def test_a_mender_compares_the_salt_with_the_content(self):
        """Where the digest went with the trailer: the salt confirms or contradicts."""
        whole = SCALAR + b"\7"
        head = Forge(SCALAR, len(whole), layouts=b"\0\1\1").salt
        rows = varint(0) + varint(0) + varint(1) + b"\1\7"
        for salt, words, code in ((head[:4] + hashlib.sha256(whole).digest()[:4], "made anew", 0), (head[:4] + b"\1\2\3\4", "NOT have the SHA-256", 3)):
            with self.subTest(words):
                path, out = self.dir / "a.nc3z", self.dir / "out.nc3z"
                path.write_bytes(scalar(salt=salt, body=lambda f: f.block(CONSTANTS, 3, 0, 0, len(rows), crc32(rows), rows) and None)[:-60])
                done = nc3z("repair", "-f", path, "-o", out)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(words, done.stdout.decode())
                self.assertEqual(self.ok(nc3z("restore", out, "-o", "-")).stdout, whole)

    def test_each_is_asked_in_the_text(self):
        text = (ROOT / "spec/conformance.md").read_text()
        for words in ("last member", "constants list that disagrees", "kind 0", "required bit 1", "generation is not 1", "optional bit 0",
                      "occurs twice", "2^63", "longer than the header", "`classic.md`", "required keys", "optional kind", "window of a zstd",
                      "paddings and the gap", "quantised file", "salt on opening", "Dimensions of length 0", "section without the bit"):
            self.assertIn(words, text)


def archive_of_records(payload):
    """Four records of a byte and an int: the byte's padding, three bytes in each, is one numeric tile."""
    name = lambda text: be(len(text)) + text.ljust(4, b"\0")  # noqa: E731

    def text(begin):
        a = name(b"a") + be(1, 0, 0, 0, 1, 4, begin)
        b = name(b"b") + be(1, 0, 0, 0, 4, 4, begin + 4)
        return b"CDF\1" + be(4, 10, 1) + name(b"t") + be(0, 0, 0, 11, 2) + a + b

    head = text(len(text(0)))
    padding = bytes([0, 0xFF, 2, 3, 4, 5, 6, 7, 0xFF, 9, 10, 11])
    forged = Forge(head, len(head) + 32, layouts=b"\0\4" + b"\0\4" + b"\x0c" + b"\1", chains=b'[[],[{"id":"nc3z.num"}]]')
    at, check = forged.block(0x80000000, 0, 1, 0, 12, crc32(padding), payload)
    entry = struct.pack("<BBHIQII", STORED, 0, 1, len(payload), at, check, 0)
    rows = [(0, 1, 0), (1, 1, 0), (0x80000000, 1, 0)]
    whole = head + b"".join(b"\7" + padding[3 * i:3 * i + 3] + be(9) for i in range(4))
    return forged.seal(rows, constant(b"\7") + constant(be(9)) + entry).bytes(), whole


class Strides(Case):
    def test_padding_is_one_run_of_bytes(self):
        """No row of four, though four records have it; the words are bytes."""
        stored = bytes([1, 0, 0, 0, 0xFF, 2, 3, 4, 5, 6, 7, 0xFF, 9, 10, 11])
        by_rows = bytes.fromhex("01010005ff05002d0100020304050607090a0b")
        for payload, good in ((stored, True), (by_rows, False)):
            archive, whole = archive_of_records(payload)
            path = self.dir / "a.nc3z"
            path.write_bytes(archive)
            done = nc3z("restore", "-f", path, "-o", self.dir / "out")
            self.assertEqual(done.returncode, 0 if good else 3, done.stderr)
            try:
                opened = nc3z_ref.Archive(archive)
                out = bytearray(opened.length)
                opened.restore(out)
                self.assertTrue(good and bytes(out) == whole)
            except nc3z_ref.Refused:
                self.assertFalse(good)
            if good:
                self.assertEqual((self.dir / "out").read_bytes(), whole)


class LengthZero(Case):
    def test_the_worked_example(self):
        name = lambda text: be(len(text)) + text.ljust(4, b"\0")  # noqa: E731

        def text(numrecs, a, b, c):
            variables = b"".join(name(n) + be(len(d), *d) + be(0, 0, 3, 0, at) for n, d, at in
                                 ((b"a", (0, 1), a), (b"b", (1, 0), b), (b"c", (0, 0), c)))
            return b"CDF\1" + numrecs + be(10, 2) + name(b"t") + be(0) + name(b"x") + be(3) + be(0, 0) + be(11, 3) + variables

        size = len(text(be(2), 0, 0, 0))
        # b has 3 · 2 shorts in one piece; a record is 3 shorts of a, padded to 8 bytes, and 2 of c.
        head = text(be(2), size + 12, size, size + 20)
        short = lambda *numbers: struct.pack(f">{len(numbers)}h", *numbers)  # noqa: E731
        body = short(*range(6)) + b"".join(short(100 + i, 200 + i, 300 + i) + b"pp" + short(400 + i, 500 + i) for i in range(2))
        source = self.dir / "z.nc"
        source.write_bytes(head + body)
        archive, back = self.dir / "z.nc3z", self.dir / "back"
        self.ok(nc3z("archive", source, "-o", archive))
        self.ok(nc3z("restore", archive, "-o", back))
        self.assertEqual(back.read_bytes(), head + body)
        for variable, values in (("a", (100, 200, 300, 101, 201, 301)), ("b", range(6)), ("c", (400, 500, 401, 501))):
            for file in (source, archive):
                self.assertEqual(self.ok(nc3z("read", file, variable, "--format", "raw")).stdout, short(*values), (variable, file.name))
        opened = nc3z_ref.Archive(archive.read_bytes())
        out = bytearray(opened.length)
        opened.restore(out)
        self.assertEqual(bytes(out), head + body)
        arrays = nc3z_ref.Classic(nc3z_ref.Header(head), len(head + body)).arrays
        self.assertEqual({i for i in arrays if i < 1 << 30}, {0, 1, 2}, "none overlaps another: all have arrays")

        # With a streaming record count: n = floor((length - B0) / R), R with the second t as nothing: 8 + 0.
        streaming = text(b"\xff" * 4, size + 12, size, size + 20)
        layout = nc3z_ref.Classic(nc3z_ref.Header(streaming), len(streaming) + 12 + 3 * 8)
        self.assertEqual(layout.n, 3)
        source.write_bytes(streaming + bytes(12 + 3 * 8))
        self.ok(nc3z("archive", "-f", source, "-o", archive))
        self.assertIn(b'"numrecs": 3', self.ok(nc3z("info", "--json", archive)).stdout)


class Parity(Case):
    def test_the_section_counts_and_not_the_bit(self):
        good = (ROOT / "testdata/archives/v1_0_0/record_padding.default.parity.nc3z").read_bytes()
        raw = bytearray(good)
        at = len(raw) - TRAILER_SIZE
        self.assertEqual(raw[at + 20], 1)
        raw[at + 20] = 0
        raw[at + 120:at + 124] = struct.pack("<I", salted_crc(bytes(raw[at + 8:at + 16]), at, bytes(raw[at:at + 120])))
        raw = without_slots(raw)
        path = self.dir / "a.nc3z"
        path.write_bytes(raw)
        self.assertIn(b"intact", self.ok(nc3z("parity", "info", path)).stdout + b"intact")
        original = nc3z_ref.Archive(good)
        expected, found = bytearray(original.length), bytearray(original.length)
        original.restore(expected)
        nc3z_ref.Archive(bytes(raw)).restore(found)
        self.assertEqual(found, expected)
        self.assertEqual(self.ok(nc3z("restore", path, "-o", "-")).stdout, bytes(expected))


class Quantised(Case):
    def test_begin_and_vsize_are_computed_whatever_the_source_says(self):
        import numpy as np

        made = bytearray(classic_header([("v", (0,), 5, 40)], [("x", 10)]))
        made[-8:-4] = be(12345)                                     # vsize lies
        source = self.dir / "q.nc"
        source.write_bytes(bytes(made) + np.linspace(1, 2, 10, dtype=">f4").tobytes())
        self.ok(nc3z("archive", "--quantize", "v=bitround:5", source, "-o", self.dir / "q.nc3z"))
        raw = self.ok(nc3z("restore", self.dir / "q.nc3z", "-o", "-")).stdout
        parsed = nc3z_ref.Header(raw)
        first = parsed.vars[0]
        self.assertEqual(first.begin, -(-parsed.length // 4) * 4)
        self.assertIn(be(5, 40, first.begin), raw[:parsed.length])
        self.assertEqual(len(parsed.vars), 2)


if __name__ == "__main__":
    unittest.main()

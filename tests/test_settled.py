"""Section 3 of spec/conformance.md, question by question: the program and the reference reader give the answer of the text."""

import struct
import sys
import unittest

import forge
from common import ROOT, Case, nc3z
from forge import Forge, be, constant, header, one_scalar

sys.path.insert(0, str(ROOT / "spec/reference"))
import nc3z_ref  # noqa: E402
from make_test_archive import varint  # noqa: E402
from nc3z_ref import CONSTANTS, crc32  # noqa: E402

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


def packed(filler=b"", moved=0):
    def body(forged):
        entries = forged.container(0, [(0, 0, 0, b"\7", crc32(b"\7"))], 0, bytes, filler)
        return entries[0][:20] + struct.pack("<I", struct.unpack("<I", entries[0][20:])[0] + moved)
    return scalar(body=body)


def other_constants(forged):
    rows = varint(0) + varint(0) + varint(1) + b"\1\x63"
    forged.block(CONSTANTS, 3, 0, 0, len(rows), crc32(rows), rows)


MADE = header(1, lambda _: 60)
SCALAR = header(1, lambda _: len(MADE))
# Question, archive, restore, verify.
CASES = [
    ("a member in a container", packed(), GOOD, GOOD),
    ("bytes behind the last member", packed(filler=b"?"), CORRUPT, CORRUPT),
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

    def test_each_is_asked_in_the_text(self):
        text = (ROOT / "spec/conformance.md").read_text()
        for words in ("last member", "constants list that disagrees", "kind 0", "required bit 1", "generation is not 1", "optional bit 0",
                      "stands twice", "2^63", "longer than the header", "Types 7 to 11", "required keys", "optional kind"):
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main()

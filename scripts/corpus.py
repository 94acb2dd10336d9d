#!/usr/bin/env python3
"""Makes the files of testdata/conformance: archives that decoders must read, may refuse, or must refuse (spec/conformance.md).

    corpus.py MAKE      all files again, by the tool in NC3Z and by tests/forge.py; digests of originals come from what was archived
    corpus.py TAR FILE  a reproducible tar of the folder
    corpus.py FREEZE    frozen.sha256, at the freeze of format 1.0: after it, MAKE refuses, and files are only added (docs/releasing.md)

Each file has a number and a name that says what is odd about it. `corpus.json` says what a decoder answers, and which rules of
spec/conformance.md the file is for.
"""

import hashlib
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "testdata/conformance"
CLASSIC, GOLDEN = ROOT / "testdata/classic", ROOT / "testdata/archives/v1_0_0"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "spec/reference")]
READ, MAY, MUST = "must-read", "may-refuse", "must-refuse"


#: Commands that record the date of a version. The corpus is the same whenever it is made.
DATED, DATE = {"attr", "append", "commit", "rename", "revert", "set"}, ("--date", "2026-11-28T00:00:00Z")


def run(*command, cwd=None):
    command = (*command, *DATE) if command[1] in DATED else command
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.decode()}")
    return done.stdout


class Corpus:
    """The files so far, and the facts of each."""

    def __init__(self, folder):
        self.folder, self.rows, self.count = folder, [], {READ: 0, MAY: 100, MUST: 200}

    def add(self, kind, name, about, data, *rules, original=None, verify=None, reads=(), edition="core-1"):
        """`original`: the bytes that restoring gives, None where it is refused. `reads`: variables and their values as they are stored,
        None for those that are refused. `verify`: whether a checker finds the archive sound; None where either answer is right."""
        self.count[kind] += 1
        path = f"{kind}/{self.count[kind]:03d}-{name}.nc3z"
        (self.folder / kind).mkdir(exist_ok=True)
        (self.folder / path).write_bytes(data)
        digest = lambda data: None if data is None else hashlib.sha256(data).hexdigest()  # noqa: E731
        self.rows.append({"file": path, "sha256": digest(data), "about": about, "rules": list(rules), "edition": edition, "restore": digest(original),
                          "read": {name: digest(values) for name, values in reads}, "verify": verify})


def by_the_tool(corpus, tool, work):
    """Every path of the writer: presets, layouts, edits, versions, parity."""
    def archive(name, *options):
        out = work / "a.nc3z"
        run(tool, "archive", "--force", *options, CLASSIC / name, "-o", out)
        return out

    def add(name, about, source, *options, rules=(), variable=None, kind=READ, edition="core-1"):
        made = archive(source, *options)
        reads = [(variable, run(tool, "read", CLASSIC / source, variable, "--format", "raw"))] if variable else []
        corpus.add(kind, name, about, made.read_bytes(), *rules, original=(CLASSIC / source).read_bytes(), verify=True, reads=reads, edition=edition)

    add("file-as-a-whole", "short form 2: the classic file in one frame", "all_types_cdf2.nc", variable="f_short")
    add("dictionary-of-templates", "short form whose frame needs dictionary 50018", "template.nc")
    add("short-listing", "short form 1: a container inside, blocks behind the listing", "smooth.nc")
    add("empty-file", "no dimensions, no variables", "empty_cdf1.nc")
    add("no-records", "a record dimension without records", "no_records.nc")
    add("lone-record-byte", "one record variable of bytes: records are not padded", "lone_record_byte.nc")
    add("lone-record-ushort", "the same in CDF-5", "lone_record_ushort_cdf5.nc")
    add("two-unlimited", "two dimensions of length 0", "two_unlimited.nc", rules=("S21",))
    add("truncated-in-element", "a file that ends within an element", "truncated_in_element.nc")
    add("truncated-fixed", "a file that ends before its fixed variable does", "truncated_fixed.nc")
    add("numrecs-beyond-end", "more records in the header than in the file", "numrecs_beyond_end.nc")
    add("streaming", "a streaming record count", "streaming.nc")
    add("streaming-partial", "the same, and a record that is not whole", "streaming_partial.nc", "--preset", "max")
    add("overlapping", "variables that share bytes: aliased", "overlapping.nc", variable="second")
    add("fixed-reverse-order", "begins that descend", "fixed_reverse_order.nc")
    add("vsize-lies", "vsize and begin as no library writes them", "vsize_lies.nc", rules=("S15",))
    add("trailing-bytes", "bytes behind the last variable", "trailing_bytes.nc")
    add("gap-and-odd-padding", "a gap behind the header, padding that is not zero", "gap_after_header_odd_padding.nc")
    for preset in ("fast", "default", "max"):
        add(f"numeric-{preset}", f"fields of all numeric types, preset {preset}", "numeric.nc", "--preset", preset, variable="tenths")
    add("mixed-predictions", "residuals of the coder mix", "winds.nc", "--preset", "max", variable="v")
    add("by-value", "floats predicted by their values", "winds.nc", variable="u")
    add("references", "tiles against those of another variable", "references.nc", "--tile-size", "64KiB", variable="adjusted")
    add("exceptions-marked", "exceptions as marks", "beside.nc", "--tile-size", "64KiB")
    add("without-neighbours", "differences along planes and rows alone", "components.nc")
    add("chunks-clipped", "chunks, clipped at the edges", "smooth.nc", "--tile", "t=2,y=13,x=44", rules=("F3",), variable="masked")
    add("chunks-padded", "chunks, padded at the edges", "record_padding.nc", "--layout", "chunked", "--edge", "pad", "--tile-size", "64")
    add("profile-zarr", "what Zarr reads without copying", "etopo120.cdf", "--profile", "zarr", "--preset", "fast", edition="extended")
    add("pages-of-an-index", "more than 32 tiles: a tree of pages", "etopo120.cdf", "--tile-size", "256", "--preset", "fast", rules=("F8",))
    add("parity", "a parity region", "record_padding.nc", "--parity", "5%", "--tile-size", "64", rules=("F10",))
    add("parity-of-the-head", "a head of 12 KB, more than a sixteenth of the archive", "outlines.nc", "--tile-size", "64")
    add("long-form", "a small archive in the long form, without slots", "all_types_cdf5.nc", "--tile-size", "64", "--layout", "linear")

    # Later generations.
    def edited(name, about, *steps, rules=(), source="all_types_cdf2.nc", options=()):
        made = archive(source, *options)
        for step in steps:
            step(made)
        original = run(tool, "restore", made, "-o", "-")
        corpus.add(READ, name, about, made.read_bytes(), *rules, original=original, verify=True)

    def att(text):
        return lambda made: run(tool, "attr", made, text)

    def commit(source):
        return lambda made: run(tool, "commit", "--allow-unrelated", made, CLASSIC / source)

    edited("later-head", "an attribute was changed: a later head", att(":title=another"))
    edited("later-head-twice", "three versions, each with its head", att(":title=another"), att(":history=twice"))
    edited("another-file", "the second version is another file", commit("record_padding.nc"))
    edited("version-of-old-tiles", "revert: a generation that holds again what an older one held", att(":title=another"), lambda made: run(tool, "revert", made, "1"))
    edited("tags", "two tags", lambda made: run(tool, "tag", made, "first"), att(":title=another"), lambda made: run(tool, "tag", made, "second.1"), rules=("W6",))
    edited("parity-between", "parity of the first version, which a second one made stale", lambda made: run(tool, "parity", "add", made), att(":title=another"))
    for name in ("numeric.later", "smooth.later", "states.later"):
        golden = GOLDEN / f"{name}.nc3z"
        corpus.add(READ, name.replace(".", "-"), "versions by commits: tiles against older ones, sections that continue older ones", golden.read_bytes(),
                   original=run(tool, "restore", golden, "-o", "-"), verify=True)
    golden = GOLDEN / "numeric.lossy.nc3z"
    corpus.add(READ, "values-rounded", "required bit 0: values are lossy", golden.read_bytes(), "S16", original=run(tool, "restore", golden, "-o", "-"), verify=True)
    golden = GOLDEN / "all_types_cdf5.skipped.nc3z"
    corpus.add(READ, "optional-section", "an optional section and metadata keys that readers skip", golden.read_bytes(), "R3",
               original=(CLASSIC / "all_types_cdf5.nc").read_bytes(), verify=True)
    golden = GOLDEN / "record_padding.stale.nc3z"
    corpus.add(READ, "digest-stale", "digest state 2: nothing is compared", golden.read_bytes(), original=(CLASSIC / "record_padding.nc").read_bytes(), verify=True)

    # Edition *extended*: chains that users ask for.
    for name in ("etopo120.bitshuffle-lz4", "etopo120.blosc-crc32c", "etopo120.hdf5-filters", "etopo120.late-chains", "numeric.pcodec", "record_padding.bitshuffle-gzip"):
        golden = GOLDEN / f"{name}.nc3z"
        source = next(CLASSIC.glob(name.split(".")[0] + ".*"))
        corpus.add(MAY, name.replace(".", "-"), "chains of the extended edition: a core reader refuses their tiles", golden.read_bytes(), "R4",
                   original=source.read_bytes(), verify=True, edition="extended")
    # Lost tiles: restoring is refused, other tiles can be read.
    golden = GOLDEN / "references.lost.nc3z"
    corpus.add(MUST, "lost-tiles", "required bit 1: tiles are lost, and no fill values without a request", golden.read_bytes(), "R5", verify=None)
    return archive


def signed(data, at, fields, check, salt=None):
    """`data` with other bytes at `at` + offset, and the structure's checksum at `check` made anew: of the superblock without `salt`, else of
    the trailer."""
    from nc3z_ref import crc32, salted_crc

    out = bytearray(data)
    for offset, new in fields.items():
        out[at + offset:at + offset + len(new)] = new
    crc = crc32(bytes(out[:44] + out[48:112])) if salt is None else salted_crc(salt, at, bytes(out[at:at + check]))
    out[at + check:at + check + 4] = struct.pack("<I", crc)
    return bytes(out)


def flipped(data, at):
    out = bytearray(data)
    out[at] ^= 4
    return bytes(out)


def damaged(corpus, archive, tool):
    """Each structure of an archive of two generations damaged, one at a time."""
    from common import without_slots

    made = archive("all_types_cdf2.nc")
    run(tool, "attr", made, ":title=another")
    data, original = made.read_bytes(), run(tool, "restore", made, "-o", "-")

    def must(name, about, bad, *rules):
        corpus.add(MUST, name, about, bad, *rules, verify=False)
        corpus.rows[-1]["undamaged"] = hashlib.sha256(original).hexdigest()

    end = len(data) - 128
    salt = data[16:24]
    table_at, table_length = struct.unpack_from("<QI", data, end + 24)
    sections = [struct.unpack_from("<HHIQQ", data, table_at + 24 * i) for i in range(table_length // 24)]
    place = {kind: at for kind, _, _, at, _ in sections}
    previous = struct.unpack_from("<Q", data, end + 56)[0]
    begin = struct.unpack_from("<Q", data, previous + 40)[0]
    must("magic", "one bit of the magic is another", flipped(data, 0))
    must("major-version", "superblock: major version 9", signed(data, 0, {8: b"\x09\0"}, 44), "R2")
    must("reserved-of-the-superblock", "superblock: a reserved byte is not zero", signed(data, 0, {12: b"\1"}, 44), "R3")
    must("checksum-of-the-superblock", "one bit of the original's length", flipped(data, 24), "R1")
    must("text-of-the-superblock", "one bit of the text, which readers ignore, but its checksum covers", flipped(data, 50), "R1")
    must("head", "one bit of the head copy, which is the head section", flipped(data, 170), "R1")
    must("block-header", "one bit of a block's header", flipped(data, begin + 9), "R1")
    must("payload", "one bit of a payload", flipped(data, begin + 60), "R1")
    must("variable-table", "one bit of the variable table of a generation with a later head", flipped(data, place[2] + 5), "R1", "S17")
    must("metadata", "one bit of the metadata", flipped(data, place[3] + 5), "R1")
    must("section-table", "one bit of the section table", flipped(data, table_at + 8), "R1")
    must("trailer", "one bit of the last trailer: the version that the slot names is lost", flipped(data, end + 8), "R1", "R6")
    must("end-marker", "one bit of the last four bytes", flipped(data, len(data) - 1), "R6")
    must("cut-by-a-byte", "the last byte is missing", data[:-1], "R6")
    must("cut-to-the-first-version", "the second version is missing, its slot is not", data[:previous + 128], "R6")
    must("cut-within-the-head", "nothing but the beginning", data[:200], "R7")
    must("both-slots-damaged", "no slot is whole: the newest version is not known", flipped(flipped(data, 112), 136), "R6")
    must("slot-and-tail", "a damaged slot, and bytes behind the trailer that the other one names",
         flipped(data[:previous + 128], 112 + 24 * (struct.unpack_from("<I", data, end + 4)[0] % 2)) + b"\1" * 64, "R6")
    must("required-feature", "the trailer requires an unknown feature", signed(without_slots(bytearray(data)), end, {16: b"\x20\0\0\0"}, 120, salt), "R2")
    must("reserved-of-the-trailer", "trailer: a reserved byte is not zero", signed(without_slots(bytearray(data)), end, {116: b"\1"}, 120, salt), "R3")
    must("generation-of-the-trailer", "the trailer has the generation of the one before", signed(data, end, {4: b"\1"}, 120, salt), "R6")
    corpus.add(READ, "torn-tail", "bytes of a commit that did not finish", data + b"\xb1NCb" + bytes(40), "S16", original=original, verify=None)
    corpus.add(READ, "slots-are-empty", "written forward only, as to a pipe: one generation, no slots", without_slots(bytearray(archive("etopo120.cdf", "--tile-size", "8KiB", "--preset", "fast").read_bytes())),
               original=(CLASSIC / "etopo120.cdf").read_bytes(), verify=True)

    short = archive("all_types_cdf2.nc").read_bytes()
    original = (CLASSIC / "all_types_cdf2.nc").read_bytes()
    must("short-checksum", "short form: one bit of its content", flipped(short, 80), "R1")
    must("short-form-3", "short form: an unknown form", short[:9] + b"\3" + short[10:], "R2")
    must("short-cut", "short form: the last byte is missing", short[:-1], "R1")
    pages = archive("etopo120.cdf", "--tile-size", "1KiB", "--preset", "fast").read_bytes()
    end = len(pages) - 128
    table_at, table_length = struct.unpack_from("<QI", pages, end + 24)
    page = [at for kind, _, _, at, _ in (struct.unpack_from("<HHIQQ", pages, table_at + 24 * i) for i in range(table_length // 24)) if kind == 4][0]
    original = (CLASSIC / "etopo120.cdf").read_bytes()
    must("index-page", "one bit of an index page", flipped(pages, page + 40), "R1")


def forged(corpus):
    """Archives put together by hand: each settled question, and limits."""
    import zlib

    import zstandard
    from forge import Forge, be, constant, header, one_scalar, scalar_with, zstd
    from make_test_archive import varint
    from nc3z_bytes import MAGIC, MAJOR, MINOR
    from nc3z_ref import crc32
    from test_settled import CASES, GOOD, SCALAR, block, scalar, window

    whole = SCALAR + b"\7"
    rules = {"a member in a container": (), "bytes behind the last member": ("S1",), "an entry for what the directory has not": ("S2",), "a window of 128 MiB": ("L16",),
             "a salt of another header": ("S23",), "a salt of another content": ("S23",), "a constants list that disagrees": ("S3",), "an entry of kind 0": ("S4",),
             "required bit 1 with nothing lost": ("S5",), "a fresh archive of generation 5": ("S6",), "optional bit 0 without parity": ("S7",),
             "an unknown chain that nothing uses": ("S9",), "a malformed chain table": ("S8",), "a filter without id": ("S8",), "a key twice in a chain": ("S10",),
             "a key twice in the metadata": ("S10",), "empty metadata": ("S18",), "a tile length above 2^63 - 1": ("F3",), "a tile length of 2^63 - 1": ("F3", "S13"),
             "bytes behind the header": ("S14",), "a type of CDF-5 in CDF-1": ("S15",), "an optional section with a wrong checksum": ("S19",),
             "an optional section with its own checksums": ("S19",), "an optional section of encoding 3": ("S19",)}
    for question, data, restored, verified in CASES:
        name = question.replace(" - ", "-").replace(" ", "-").replace("^", "").replace(",", "")
        if restored == GOOD:
            corpus.add(READ, name, question, data, *rules[question], original=whole, verify=None if verified == GOOD else False)
        else:
            corpus.add(MUST, name, question, data, *rules[question], verify=None if verified == GOOD else False)

    def must(name, about, data, *rules):
        corpus.add(MUST, name, about, data, *rules, verify=False)
        corpus.rows[-1]["undamaged"] = hashlib.sha256(whole).hexdigest()

    def may(name, about, data, *rules, original=whole):
        corpus.add(MAY, name, about, data, *rules, original=original, edition="extended")

    ZSTD = b'[[],[{"id":"zstd","level":1}]]'
    must("section-kind", "an unknown section kind below 0x8000", scalar({"more": [(7, 0, crc32(b"12345678"), b"12345678")]}), "R2")
    must("decoded-checksum", "a tile whose decoded bytes have another checksum", block(zstd(b"\7"), ZSTD, b"\x08"), "R1")
    must("decoded-too-short", "a frame of one byte for a tile of one byte, and a byte behind it", block(zstd(b"\7") + b"\0", ZSTD), "R7")
    must("frame-too-long", "a frame of two bytes for a tile of one", block(zstd(b"\7\7"), ZSTD), "R7")

    def lengths(decoded, stored):
        """A block whose header claims these lengths, with right checksums of the header."""
        def body(forge):
            import struct as s

            from nc3z_ref import BLOCK_MARKER, STORED, salted_crc
            payload = zstd(b"\7")
            at = forge.align()
            raw = BLOCK_MARKER + s.pack("<IIBBHQIIII", 1, 0, 0, 0, 1, 0, decoded or 1, stored or len(payload), crc32(s.pack("<IQ", 0, 0) + payload), crc32(b"\7"))
            check = salted_crc(forge.salt, at, raw)
            forge.out += raw + s.pack("<I", check) + payload
            return s.pack("<BBHIQII", STORED, 0, 1, stored or len(payload), at, check, 0)
        return scalar(body=body, chains=ZSTD)
    must("tile-of-more-than-a-gib", "a block that claims 2^30 + 1 decoded bytes", lengths((1 << 30) + 1, 0), "F1")
    must("block-of-more-than-a-gib", "a block that claims 1,074,790,401 stored bytes", lengths(0, 1074790401), "F2")
    inner = zlib.compress(b"\7", 0)
    bare = inner[:2] + b"\0\0\0\xff\xff" * 14000 + inner[2:]
    assert zlib.decompress(bare) == b"\7"
    must("between-two-codecs", "70,011 bytes between two codecs of a tile of one byte", block(zlib.compress(bare, 9), b'[[],[{"id":"zlib","level":9},{"id":"zlib","level":9}]]'), "F4")

    def container(forge):
        entries = forge.container(0, [(0, 0, 0, b"\7", crc32(b"\7"))], 1, zstd, bytes((8 << 20) - 4))
        return entries[0]
    must("container-of-more-than-8-mib", "a container of 8 MiB and some bytes", scalar(body=container, chains=ZSTD), "F5")

    def table(entries):
        def body(forge):
            values = struct.pack(f"<{entries}H", *(i & 0xFFFF for i in range(entries)))
            payload = b"\1\0\x10" + zstandard.ZstdCompressor(level=3, write_checksum=False).compress(values)
            data = varint(entries) + payload
            at, check = forge.block(0x40000000, 2, 0, 0, len(data), crc32(data), data)
            definition = struct.pack("<BBHIQII", 1, 0, 0, len(data), at, check, 0)
            tile = b"\1\x0c\0\7"
            at, check = forge.block(0, 0, 1, 0, 1, crc32(b"\7"), tile)
            return struct.pack("<BBHIQII", 1, 0, 1, len(tile), at, check, 0) + definition
        return scalar(body=body, chains=b'[[],[{"id":"nc3z.num","dict":0}]]', rows=[(0, 1, 0), (0x40000000, 1, 0)])
    must("value-table-of-65537", "a value table with 65,537 entries", table(65537), "F6")
    must("row-of-33-tiles", "33 tiles without a tree", scalar(rows=[(0, 33, 0)], entry=constant(b"\7") * 33), "F8")

    def short(form, content):
        packed = zstd(content, 19)
        begin = MAGIC + struct.pack("<BBHI", MAJOR, form, MINOR, len(packed))
        rest = b"netCDF in nc3z\r\n" + hashlib.sha256(whole).digest() + packed
        return begin + struct.pack("<I", crc32(begin + rest)) + rest
    must("short-of-more-than-a-mib", "short form: a content of 1,048,577 bytes and more", short(2, varint(0) + varint(2) + b"{}" + SCALAR + bytes(1 << 20)), "F9")
    head = varint(len(SCALAR)) + SCALAR + varint(4) + b"[[]]" + b"\0\1\1"
    rows = varint(0) + varint(0) + varint(33) + b"\1\7"
    must("short-of-33-tiles", "short form: 33 constant tiles of an array", short(1, varint(0) + varint(len(whole)) + varint(len(head)) + head + varint(2) + b"{}" + varint(1) + b"\7" + varint(len(rows)) + rows), "F9")
    must("not-a-number", "a number of JSON beyond binary64", scalar_with(b'{"a":1e999}'), "S11")
    may("window-of-256-mib", "a frame whose window is 256 MiB", block(window(28), ZSTD), "L16")
    may("metadata-of-33-levels", "arrays in 33 arrays", scalar_with(b'{"a":' + b"[" * 33 + b"]" * 33 + b"}"), "L18")
    may("chain-of-33-objects", "33 shuffles", block(b"\7", b'[[],[' + b",".join([b'{"id":"shuffle","elementsize":1}'] * 33) + b"]]"), "L11")
    may("five-codecs", "a chain of five codecs is unknown", block(b"\7", b'[[],[' + b",".join([b'{"id":"zlib","level":1}'] * 5) + b"]]"), "L12")

    def named(length, dims=0):
        def text(begin):
            rank = be(dims, *[0] * dims)
            return b"CDF\x01" + be(0) + (be(10, 1, 1) + b"x\0\0\0" + be(1) if dims else be(0, 0)) + be(0, 0) + be(11, 1, length) + b"v" * length + bytes(-length % 4) + rank + be(0, 0, 1, 4, begin)
        made = text(len(text(0)))
        return Forge(made, len(made) + 1, layouts=b"\0\1\1").seal([(0, 1, 0)], constant(b"\7")).bytes(), made + b"\7"
    data, original = named((1 << 20) + 1)
    may("name-of-more-than-a-mib", "a variable whose name has 1,048,577 bytes", data, "L3", original=original)
    data, original = named(1, 65537)
    may("variable-of-65537-dimensions", "a variable of 65,537 dimensions", data, "L4", original=original)
    del one_scalar, header, GOOD


def by_other_commands(corpus, tool, work):
    """The other commands that write archives: edits of values and names, appended records, prune, recompress, repair, rounding."""
    from forge import record_file

    made, other = work / "o.nc3z", work / "p.nc3z"

    def add(name, about, archive, *rules, variable=None):
        reads = [(variable, run(tool, "read", archive, variable, "--format", "raw"))] if variable else []
        corpus.add(READ, name, about, archive.read_bytes(), *rules, original=run(tool, "restore", archive, "-o", "-"), verify=True, reads=reads)

    first, more = (record_file(work / f"{n}.nc", n) for n in (0, 1))
    run(tool, "archive", "--force", first, "-o", made)
    run(tool, "append", made, more)
    add("appended-records", "records were appended: a later head, and the last tile made anew", made, variable="v")
    run(tool, "set", made, "v", "-d", "t,0", "=1.5")
    add("values-set", "values were set: one tile against the older one", made, variable="v")
    run(tool, "rename", made, "-v", "v,w")
    add("variable-renamed", "a variable was renamed: a head alone is later", made, variable="w")
    run(tool, "prune", "--force", made, "-o", other)
    add("pruned", "only the newest version was kept, which had a later head", other)
    run(tool, "recompress", "--force", "--drop-history", "--preset", "max", made, "-o", other)
    add("recompressed", "made anew of an archive with four versions: the key lineage", other)
    run(tool, "archive", "--force", "--quantize", "tenths=bitround:9", CLASSIC / "numeric.nc", "-o", made)
    add("rounded-by-the-tool", "required bit 0, the key lossy, attributes of the rounding", made, "S22", variable="tenths")
    run(tool, "archive", "--force", "--parity", "20%", "--tile-size", "1KiB", CLASSIC / "numeric.nc", "-o", made)
    data = made.read_bytes()
    made.write_bytes(flipped(data, len(data) // 3))
    run(tool, "repair", "--force", made, "-o", other)
    add("repaired-by-parity", "equal to the undamaged archive", other, "F10")
    run(tool, "archive", "--force", "--tile-size", "1KiB", CLASSIC / "numeric.nc", "-o", made)
    data = made.read_bytes()
    made.write_bytes(flipped(data, len(data) // 3))
    done = subprocess.run([tool, "repair", "--force", made, "-o", other], capture_output=True, check=False)
    assert done.returncode == 3, done.stderr
    names = [variable["name"] for variable in json.loads(run(tool, "info", "--json", other))["variables"]]
    kept = [name for name in names if subprocess.run([tool, "read", other, name, "--format", "raw"], capture_output=True, check=False).returncode == 0]
    corpus.add(MUST, "lost-by-a-repair", "a repair without parity lost tiles; those of other variables are read", other.read_bytes(), "R5", "S5", verify=None,
               reads=[(name, run(tool, "read", CLASSIC / "numeric.nc", name, "--format", "raw")) for name in kept])
    assert 0 < len(kept) < len(names)


def forged_later(corpus):
    """As `forged`; later numbers."""
    import lzma

    from forge import METADATA, Forge, constant, header, scalar_with
    from make_test_archive import varint
    from nc3z_ref import crc32
    from test_settled import SCALAR, block, scalar

    whole = SCALAR + b"\7"

    def stream(data):
        return lzma.compress(data, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 2, "lp": 2, "pb": 2}])

    def stored(data):
        return b"\1" + struct.pack(">H", len(data) - 1) + data + b"\0"

    def must(name, about, data, *rules):
        corpus.add(MUST, name, about, data, *rules, verify=False)
        corpus.rows[-1]["undamaged"] = hashlib.sha256(whole).hexdigest()

    def against_older(steps):
        """The scalar against a tile of the same place, which is against another one where `steps` is 2."""
        def body(forge):
            at, check = forge.block(0, 0, 0, 0, 1, crc32(b"\2"), b"\2")
            entry = struct.pack("<BBHIQII", 1, 0, 0, 1, at, check, 0)
            for step in range(steps):
                payload = entry + varint(0) + varint(0) + varint(1) + b"\1\0\0" + (b"\0" if step + 1 < steps else b"\5")
                at, check = forge.block(0, 0, 1, 0, 1, crc32(b"\2" if step + 1 < steps else b"\7"), payload)
                entry = struct.pack("<BBHIQII", 1, 0, 1, len(payload), at, check, 0)
            return entry
        return scalar(body=body, chains=b'[[],[{"id":"nc3z.base"},{"id":"nc3z.num"}]]')

    corpus.add(READ, "base-followed-by-num", "a tile of the chain nc3z.base, nc3z.num", against_older(1), original=whole, verify=True)
    must("base-of-a-base", "a tile against one that is against a third", against_older(2))
    must("level-with-a-point", "a level of 1.0 in the chain of a tile: the chain is unknown", block(b"\7", b'[[],[{"id":"zstd","level":1.0}]]'), "S12", "R4")
    corpus.rows[-1]["verify"] = None
    must("two-sections-of-metadata", "a section kind that occurs twice", scalar(seal={"more": [(3, 0, crc32(METADATA), METADATA)]}), "R2")
    long = header(1, lambda _: 0, dim=0x7FFFFFFF)
    long = header(1, lambda _: len(long), dim=0x7FFFFFFF)
    must("more-pages-than-bytes", "2^31 - 1 tiles of a byte in an archive of some hundred bytes", Forge(long, len(long) + 0x7FFFFFFF, layouts=b"\0\1\1").seal([(0, 0x7FFFFFFF, 160)]).bytes(), "S20")
    must("array-number-above-2-30", "a row of the variable table whose array is none", scalar(rows=[(0, 1, 0), (0x3FFFFFFF, 1, 0)], entry=constant(b"\7") * 2), "F7")
    corpus.add(READ, "head-by-lzma2", "the head copy is packed by LZMA2", scalar(pack=stream), original=whole, verify=True)
    corpus.add(READ, "head-in-a-stored-chunk", "the same, in a chunk that is not compressed: its first byte is 1", scalar(pack=stored), original=whole, verify=True)
    must("head-of-another-length", "an LZMA2 stream of one byte more than the superblock says", scalar(pack=lambda head: stream(head + b"\0")), "R7")
    must("head-behind-its-end", "a byte behind the LZMA2 stream of the head", scalar(pack=lambda head: stream(head) + b"\0"), "R7")
    must("head-of-unknown-packing", "packed bytes that are neither a zstd frame nor an LZMA2 stream", scalar(pack=lambda head: b"\x78\x9c" + stream(head)), "R7")
    record = json.dumps({"tags": {"t" * 65: 1}, "version": {"message": "m" * 65537, "number": 1}}, separators=(",", ":")).encode()
    corpus.add(READ, "long-message-and-tag", "a message of 65,537 bytes and a tag of 65 letters, which no writer may write, and readers take", scalar_with(record), "W6", original=whole, verify=True)


def bundles(corpus, tool, work):
    """Bundles and catalogues (spec/catalogue.md): members by name. Those whose table is wrong are sound archives of a changed dataset."""
    from nc3z_bundle import restored
    from nc3z_ref import Classic, Header

    tree, more, many, made = work / "tree", work / "more", work / "many", work / "b.bundle.nc3z"
    for folder, names in ((tree, ("template.nc", "record_padding.nc")), (more, ("no_records.nc",)), (many, ("record_padding.nc",))):
        folder.mkdir()
        for name in names:
            shutil.copy(CLASSIC / name, folder)
    for name in ("smooth.nc", "all_types_cdf2.nc"):
        run(tool, "archive", CLASSIC / name, "-o", tree / f"{name}.nc3z")
    for number in range(8):
        (many / f"like_{number}.nc").write_bytes((CLASSIC / "template.nc").read_bytes()[:-1] + bytes([number]))
    for path in (*tree.iterdir(), *more.iterdir(), *many.iterdir()):
        path.chmod(0o644)
        os.utime(path, (1_700_000_000, 1_700_000_000))
    content = {path.name: path.read_bytes() for folder in (more, many, tree) for path in folder.iterdir()}
    content.update({name: (CLASSIC / name.removesuffix(".nc3z")).read_bytes() for name in content if name.endswith(".nc3z")})

    def add(kind, name, about, data, members, *, sound=True, rules=()):
        """`members`: names, and None for those that are refused."""
        corpus.add(kind, f"bundle-{name}", about, data, *rules, verify=sound)
        if kind == READ:
            # A program may restore the table, or say that this is a bundle and has members.
            del corpus.rows[-1]["restore"]
            corpus.rows[-1]["dataset"] = hashlib.sha256(restored(data)).hexdigest()
        corpus.rows[-1]["members"] = {member: hashlib.sha256(content[member]).hexdigest() if good else None for member, good in members.items()}

    plain = {path.name: True for path in sorted(tree.iterdir())}
    for name, about, folder, *options in (("plain", "classic files and archives, as they are", tree), ("packed", "members in a group", many, "--pack"),
                                          ("parity", "a bundle with parity", tree, "--parity", "5%"), ("statistics", "a bundle with statistics of its files", tree, "--statistics")):
        run(tool, "bundle", "--force", folder, "-o", made, *options)
        members = {path.name: True for path in sorted(folder.iterdir())}
        add(READ, name, about, made.read_bytes(), {**members, "nothing": False})
        if name == "packed":
            run(tool, "bundle", "--append", "--pack", more, "-o", made)
            add(READ, "appended", "two versions: a file was added to a packed bundle", made.read_bytes(), {**members, "no_records.nc": True})
    run(tool, "bundle", "--force", tree, "-o", made)
    data = made.read_bytes()
    at = data.index(content["record_padding.nc"][:200])
    add(MUST, "content-damaged", "one bit of a member: a reader may refuse those that share its tile, too", flipped(data, at + 100), {"record_padding.nc": False}, sound=False, rules=("R1",))
    add(MUST, "cut", "the last byte of a bundle is missing", data[:-1], dict.fromkeys(plain, False), sound=False, rules=("R6",))
    dataset = restored(made.read_bytes())
    header = Header(dataset)
    places = {v.name.decode(): Classic(header, len(dataset)).arrays[v.id] for v in header.vars}
    one = sorted(plain).index("record_padding.nc")

    def changed(name, about, variable, element, new, members, *, at=None):
        """`element` of `variable` in the dataset has the bytes `new`."""
        place = places[variable].begin + element * places[variable].element if at is None else at
        data = dataset[:place] + new + dataset[place + len(new):]
        (work / "changed.nc").write_bytes(data)
        run(tool, "archive", "--force", work / "changed.nc", "-o", made)
        add(READ, name, about, made.read_bytes(), members, sound=None)

    changed("checksum-of-a-member", "the table has another CRC-32 of a classic file", "file_crc32", one, b"\1\2\3\4", {**plain, "record_padding.nc": False})
    changed("member-outside", "the bytes of a member are behind the content", "file_offset", one, b"\0\0\0\1\0\0\0\0", {**plain, "record_padding.nc": False})
    changed("member-of-kind-9", "a member of an unknown kind", "file_kind", one, b"\x09", {**plain, "record_padding.nc": False})
    start = sum(map(len, sorted(plain)[:one]))
    changed("name-outside", "the name of a member leads outside", "file_name", start, b"../", {**{name: True for name in plain if name != "record_padding.nc"}, "../ord_padding.nc": False})
    at = dataset.index(b"nc3z_bundle\0") + 12 + 4 + 8
    changed("of-a-later-kind", "the attribute nc3z_bundle has another value", None, None, b"2", dict.fromkeys(plain, False), at=at)
    shutil.copy2(tree / "template.nc", tree / "templatf.nc")
    run(tool, "bundle", "--force", tree, "-o", made)
    dataset = restored(made.read_bytes())
    at = dataset.index(b"template.nctemplatf.nc") + 18
    changed("two-of-one-name", "two members have one name", None, None, b"e", {**plain, "template.nc": False}, at=at)
    run(tool, "catalog", "--force", tree.name, "-o", made, cwd=work)
    corpus.add(READ, "catalogue", "a catalogue of files, with statistics", made.read_bytes(), original=run(tool, "restore", made, "-o", "-"), verify=True)

    # Packed members: their headers, lengths and SHA-256 are in the table.
    run(tool, "bundle", "--force", many, "-o", made, "--pack")
    dataset = restored(made.read_bytes())
    header = Header(dataset)
    places = {v.name.decode(): Classic(header, len(dataset)).arrays[v.id] for v in header.vars}
    members = {path.name: True for path in sorted(many.iterdir())}
    of = lambda name: sorted(members).index(name)  # noqa: E731
    changed("sha256-of-a-packed-member", "the table has another SHA-256 of a packed member", None, None, b"\1\2\3\4", {**members, "like_3.nc": False},
            at=places["file_sha256"].begin + 32 * of("like_3.nc"))
    changed("packed-member-of-another-number", "two packed members have the number of one in their group", "file_group_member", of("like_3.nc"), struct.pack(">i", of("like_4.nc")),
            {**members, "like_3.nc": False})
    changed("packed-member-outside", "a packed member has a number that its group does not have", "file_group_member", of("like_3.nc"), struct.pack(">i", 99), {**members, "like_3.nc": False})
    changed("packed-header", "two packed members have the header of one, of another length", "file_header", of("record_padding.nc"), struct.pack(">i", 0), {**members, "record_padding.nc": False})
    changed("packed-length", "the length of a packed member is that of a longer file", "file_size", of("like_3.nc"), struct.pack(">q", 1 << 20), {**members, "like_3.nc": False})
    changed("cut-group", "the bytes of a group end before its end", "file_stored_size", of("like_3.nc"), struct.pack(">q", 100), {**members, "like_3.nc": False})
    (tree / "templatf.nc").unlink()
    for name, text in (("notes.txt", b"Some notes of no consequence.\n"), ("nothing.txt", b"")):
        content[name] = text
        (tree / name).write_bytes(text)
        (tree / name).chmod(0o644)
        os.utime(tree / name, (1_700_000_000, 1_700_000_000))
    run(tool, "bundle", "--force", tree, *(tree / name for name in ("notes.txt", "nothing.txt")), "-o", made)
    add(READ, "other-files", "files that are not netCDF, one of them without bytes: kind 5", made.read_bytes(), {**plain, "notes.txt": True, "nothing.txt": True})


def of_version_0(corpus, archive):
    """Archives of development builds, which are named and refused. They differ from those of version 1.0 in the version alone."""
    from nc3z_ref import crc32

    long, short = archive("etopo120.cdf").read_bytes(), bytearray(archive("all_types_cdf2.nc").read_bytes())
    corpus.add(MUST, "version-0", "an archive of a development build, in the long form", signed(long, 0, {8: b"\0\0\1\0"}, 44), "R2", verify=False)
    short[8], short[10] = 0, 1
    struct.pack_into("<I", short, 16, crc32(bytes(short[:16] + short[20:68 + struct.unpack_from("<I", short, 12)[0]])))
    corpus.add(MUST, "version-0-short", "the same in the short form", bytes(short), "R2", verify=False)


#: Rules that no file shows, and why.
WITHOUT = {
    "R8": "what a reader need not do",
    **{f"L{n}": "takes a file of many megabytes, or memory in proportion: tests/test_limits.py and tests/test_bombs.py make them" for n in (1, 2, 5, 6, 7, 8, 9, 10, 13, 14, 15, 17, 19, 20, 21)},
    **{f"W{n}": "of writers: scripts/acceptance.py tests them" for n in range(1, 6)},
}


def frozen_lines(described):
    """A line for each file: the SHA-256 of all that is said of it, its own SHA-256 included, and its name."""
    return [f"{hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()}  {row['file']}" for row in described["files"]]


def freeze():
    path = CORPUS / "frozen.sha256"
    if path.exists():
        sys.exit(f"{path} exists: a corpus is frozen once")
    path.write_text("\n".join(frozen_lines(json.loads((CORPUS / "corpus.json").read_text()))) + "\n")
    print(hashlib.sha256(path.read_bytes()).hexdigest())


def make():
    if (CORPUS / "frozen.sha256").exists():
        sys.exit(f"{CORPUS} is frozen: files are only added, by hand and by number")
    tool = Path(os.environ["NC3Z"]).resolve()
    if CORPUS.exists():
        for kind in (READ, MAY, MUST):
            shutil.rmtree(CORPUS / kind, ignore_errors=True)
    CORPUS.mkdir(parents=True, exist_ok=True)
    corpus = Corpus(CORPUS)
    with tempfile.TemporaryDirectory() as folder:
        archive = by_the_tool(corpus, tool, Path(folder))
        damaged(corpus, archive, tool)
        forged(corpus)
        by_other_commands(corpus, tool, Path(folder))
        forged_later(corpus)
        bundles(corpus, tool, Path(folder))
        of_version_0(corpus, archive)
    rows = sorted(corpus.rows, key=lambda row: row["file"])
    text = json.dumps({"format": "nc3z", "without": WITHOUT, "files": []}, indent=1)
    text = text.replace('"files": []', '"files": [\n' + ",\n".join("  " + json.dumps(row) for row in rows) + "\n ]")
    (CORPUS / "corpus.json").write_text(text + "\n")
    print(f"{len(rows)} files, {sum((CORPUS / row['file']).stat().st_size for row in rows)} bytes")


def tar(path):
    """The same bytes for the same files, whatever the machine and the time."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as out:
        for file in sorted(p for p in CORPUS.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            info = tarfile.TarInfo(f"nc3z-test-files-1.0/{file.relative_to(CORPUS).as_posix()}")
            data = file.read_bytes()
            info.size, info.mode = len(data), 0o644
            out.addfile(info, io.BytesIO(data))
    print(f"{path}: SHA-256 {hashlib.sha256(Path(path).read_bytes()).hexdigest()}")


def main():
    if sys.argv[1:] == ["MAKE"]:
        make()
    elif sys.argv[1:] == ["FREEZE"]:
        freeze()
    elif len(sys.argv) == 3 and sys.argv[1] == "TAR":
        tar(sys.argv[2])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()

"""Annotated hex dumps of a small archive, for spec/examples.md. scripts/spec.py calls it."""

import hashlib
import json
import struct
import sys
import zlib
from pathlib import Path

SPEC = Path(__file__).resolve().parent.parent / "spec"
sys.path.insert(0, str(SPEC / "reference"))
WIDTH = 16
INTRODUCTION = """# Examples: one archive, byte by byte

The classic file of `classic.md`, *Example* (88 bytes, a `short` variable `v(x)` with the values 1, 2, 3), as an archive. It has {short} bytes in its short form, and {long} in the long form that this stands for. `vectors/archives.json` has both, and the file.

Each line has an offset and bytes, both hexadecimal, and what they are.
"""


class Dump:
    """Lines of a dump. Each call takes the next bytes and adds their description."""

    def __init__(self, data):
        self.data, self.at, self.lines = data, 0, []

    def take(self, length, what=""):
        data = self.data[self.at:self.at + length]
        assert len(data) == length, what
        for i in range(0, max(length, 1), WIDTH):
            part = " ".join(f"{b:02X}" for b in data[i:i + WIDTH])
            self.lines.append(f"{self.at + i:04X}  {part:{3 * WIDTH}} {what if i == 0 else ''}".rstrip())
        self.at += length
        return data

    def title(self, text):
        self.lines += ["", f"      {text}"]

    def number(self, length, what, note=""):
        value = int.from_bytes(self.data[self.at:self.at + length], "little")
        self.take(length, f"{what}: {value}{note}" if length < 4 or value < 1 << 24 else f"{what}: {value:#x}{note}")
        return value

    def varint(self, what):
        value = length = 0
        while True:
            byte = self.data[self.at + length]
            value |= (byte & 127) << 7 * length
            length += 1
            if byte < 128:
                break
        self.take(length, f"{what}: {value}" if value < 1 << 24 else f"{what}: {value:#x}")
        return value

    def pad(self, to=8):
        if self.at % to:
            self.take(-self.at % to, "zeros up to a multiple of 8")

    def text(self):
        return "\n".join(self.lines).strip("\n") + "\n"


def head(d, header):
    length = d.varint("bytes of the header")
    assert d.data[d.at:d.at + length] == header
    d.take(length, "the header, as in classic.md")
    table = d.varint("bytes of the chain table")
    d.take(table, "chain table: " + d.data[d.at:d.at + table].decode())


def layouts(d):
    d.varint("tile layout of variable 0: kind, linear")
    d.varint("its tile length in elements")
    d.varint("tile length of the gap")


def prefix(d, forms):
    d.title("Prefix (section 12)")
    d.take(8, "magic")
    d.number(1, "major version")
    d.number(1, "form", f": {forms}")
    d.number(2, "minor version")
    length = d.number(4, "stored bytes of the content")
    d.number(4, "CRC of bytes 0-15, 20-67 and the content")
    d.take(16, "text: \"netCDF in nc3z\\r\\n\"")
    d.take(32, "SHA-256 of the original")
    d.title("Content, packed: one zstd frame, of one block that is not compressed")
    assert d.at + length == len(d.data)
    d.take(FRAME_HEADERS, "headers of the frame and of its block")
    d.varint("required features")
    d.take(d.varint("bytes of the metadata"), "the metadata, JSON")
    d.take(len(d.data) - d.at, "the classic file")


def listing(d, header):
    d.varint("required features")
    d.varint("original length")
    d.varint("bytes of the head")
    head(d, header)
    layouts(d)
    d.take(d.varint("bytes of the metadata"), "the metadata, JSON")
    for _ in range(d.varint("blocks")):
        d.number(1, "kind 1, a container; bit 2: inside")
        count = d.varint("members")
        columns = [[d.varint(what) for _ in range(count)] for what in
                   ("variable, less (the one before + 1)", "tile", "chain", "stored length")]
        for _ in range(count):
            d.number(4, "CRC-32 of the decoded tile")
        for length in columns[-1]:
            d.take(length, "a member's bytes")


def block(d):
    d.title("Block (section 3): a container with both arrays")
    d.take(4, "marker")
    d.number(4, "generation")
    d.number(4, "variable", ", containers")
    d.number(1, "kind", ", container")
    d.number(1, "flags")
    d.number(2, "chain")
    d.number(8, "tile", ", the first container")
    d.number(4, "decoded length")
    stored = d.number(4, "stored length")
    for what in ("payload CRC", "decoded CRC", "header CRC, with salt and offset"):
        d.number(4, what)
    end = d.at + stored
    d.number(4, "payload: bytes of the member table")
    for _ in range(d.varint("members")):
        for what in ("variable", "tile", "chain", "stored length"):
            d.varint(what)
    d.take(6, "tile 0 of variable 0: 1, 2, 3")
    d.take(end - d.at, "tile 0 of the gap")
    d.pad()


def long_form(d, header):
    d.title("Superblock (section 1)")
    d.take(8, "magic")
    d.number(2, "major version")
    d.number(2, "minor version")
    d.take(4, "reserved")
    d.take(8, "salt")
    d.number(8, "original length")
    stored = d.number(4, "stored bytes of the head copy")
    d.number(4, "decoded bytes", ", the same: raw")
    d.number(4, "head CRC")
    d.number(4, "superblock CRC")
    d.take(112 - d.at, "text for people")
    d.take(24, "commit slot 0, empty: a short form has none")
    d.take(24, "commit slot 1, empty")
    d.title("Head copy (section 1)")
    head(d, header)
    layouts(d)
    assert d.at == 160 + stored
    d.pad()
    block(d)
    d.title("Variable table (section 6): rows and entries are shuffled")
    rows, entries = d.number(4, "rows"), d.number(4, "entries")
    d.take(20 * rows, "byte 0 of each row, byte 1 of each, ...: ids, tile counts, roots")
    d.take(24 * entries, "the same of the entries: both of kind 3, packed")
    d.pad()
    d.title("Metadata (section 6)")
    length = int.from_bytes(d.data[-128 + 24:-128 + 32], "little")
    table = d.data[length:]
    at, size = struct.unpack_from("<QQ", table, 2 * 24 + 8)
    assert at == d.at
    d.take(size, d.data[at:at + size].decode())
    d.pad()
    d.title("Section table (section 6)")
    for name in ("head section", "variable table", "metadata"):
        d.number(2, "kind", f", {name}")
        d.number(2, "encoding", ", raw")
        d.number(4, "CRC")
        d.number(8, "offset")
        d.number(8, "stored length")
    d.title("Trailer (section 7)")
    d.take(4, "marker")
    d.number(4, "generation")
    d.take(8, "salt")
    d.number(4, "required features")
    d.number(4, "optional features")
    d.number(8, "section table offset")
    d.number(4, "section table length")
    d.number(4, "section table CRC")
    for what in ("blocks begin", "blocks end", "previous trailer", "archive length", "original length"):
        d.number(8, what)
    d.take(32, "SHA-256 of the original")
    d.number(4, "digest state", ", valid")
    d.take(4, "reserved")
    d.number(4, "trailer CRC")
    d.take(4, "end marker")


FRAME_HEADERS = 9


def frame(content):
    """A zstd frame of one raw block: the same bytes whatever the library."""
    assert len(content) < 256
    return b"\x28\xb5\x2f\xfd" + bytes([0x20, len(content)]) + (len(content) << 3 | 1).to_bytes(3, "little") + content


def sample(file):
    """The short form of a classic file: as a whole, in a frame that is not compressed."""
    from nc3z_short import MAGIC, MINOR, TEXT, WHOLE, varint

    metadata = json.dumps({"writer": "spec.py"}, separators=(",", ":")).encode()
    packed = frame(varint(0) + varint(len(metadata)) + metadata + file)
    begin = MAGIC + WHOLE + struct.pack("<HI", MINOR, len(packed))
    rest = TEXT + hashlib.sha256(file).digest() + packed
    return begin + struct.pack("<I", zlib.crc32(begin + rest)) + rest


def examples():
    """Paths and contents: the samples and the text."""
    import nc3z_ref
    import nc3z_short

    sys.path.insert(0, str(SPEC / "vectors"))
    from make_digest import example

    file = example()
    header = file[:nc3z_ref.Header(file).length]
    short = sample(file)
    long = nc3z_ref.long_form(short)

    parts = [INTRODUCTION.format(short=len(short), long=len(long))]

    def add(title, words, data, walk, *more):
        d = Dump(data)
        walk(d, *more)
        assert d.at == len(data), title
        parts.append(f"\n## {title}\n\n{words}\n\n```\n{d.text()}```\n")

    add("1. Short form", "A file as a whole. Programs compress the frame; here the file can be seen in it.",
        short, prefix, "the file as a whole")
    listed = {}

    def keep(found, classic):
        listed["content"] = plain(found, classic)
        return listed["content"]

    plain, nc3z_short.directory = nc3z_short.directory, keep
    nc3z_ref.long_form(short)
    nc3z_short.directory = plain
    add("2. The listing that it stands for", "As a short form of form 1 would have it as its content.", listed["content"], listing, header)
    add("3. Long form", "Every other text is about this form.", long, long_form, header)
    text = "".join(parts).replace("\n\n\n", "\n\n")
    digest = hashlib.sha256(file).hexdigest()
    archives = [{"what": f"the example of examples.md, {what}", "archive": data.hex(), "original": file.hex(), "sha256": digest}
                for what, data in (("short form", short), ("long form", long))]
    lines = "[\n" + ",\n".join(json.dumps(row) for row in archives) + "\n]\n"
    return {SPEC / "examples.md": text.encode(), SPEC / "vectors/archives.json": lines.encode()}

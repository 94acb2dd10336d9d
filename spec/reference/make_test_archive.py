#!/usr/bin/env python3
"""A tiny producer of nc3z archives, for tests only: an archive of a classic file, written from spec/archive.md.

It compresses badly and holds the file in memory. It shares the classic half (section 2 of the text) with nc3z_ref.py.

    make_test_archive.py CLASSIC -o ARCHIVE [--chain JSON]... [--tile BYTES] [--chunk clipped|padded] [--no-pack]
                         [--no-constants] [--late-chains] [--head raw|zstd|dictionary] [--digest 0|1|2] [--torn BYTES]
    make_test_archive.py CLASSIC -o ARCHIVE --whole
"""

import argparse
import gzip
import hashlib
import json
import lzma
import struct
import sys
import zlib

from nc3z_bytes import MAGIC, MAJOR, MINOR, bitshuffle, lz4, package
from nc3z_num import BYTE, Type, geometry_of
from nc3z_ref import (BLOCK_MARKER, CHAINS, CONSTANT, CONSTANTS, CONTAINERS, GAP, HEAD_AT, INLINE_TILES, PACKED,
                      PAGE_FAN, PAGE_LEAF, PAGE_SIZE, STORED, S_HEAD, S_METADATA, S_PAGES, S_TABLE, TRAILER_END,
                      TRAILER_MARKER, TYPE_SIZES, Classic, Header, Layout, Refused, Tiles, crc32, product, salted_crc,
                      head_dictionary, shuffle)

zstandard = package("zstandard")

TEXT = b"nc3z archive of a netCDF file\nsee spec/archive.md of nc3z\n"
PACK_BELOW = 4096       # tiles whose stored form is shorter share a block
CONTAINER = 16384       # and this much of them fills one


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def compact(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def encode_num(data, kind, geometry):
    """The plainest payload of nc3z.num that depends on the tile's geometry: all strides there are, then planes."""
    size, mask, n = kind.size, kind.all, len(data) // kind.size
    values = kind.keys([int.from_bytes(data[i:i + size], "big") for i in range(0, len(data), size)])
    flags, parts = 0, []
    if n > 1:
        flags, base = 1, values[0].to_bytes(size, "little")
        out = [0] + [a - b & mask for a, b in zip(values[1:], values)]
        for i, s in enumerate(geometry):
            if 1 < s < n:
                flags |= 2 << i
                out = out[:s] + [a - b & mask for a, b in zip(out[s:], out)]
        values = [(r << 1 ^ -(r >> kind.bits - 1)) & mask for r in out]
        parts = [varint(size), base]
    little = b"".join(v.to_bytes(size, "little") for v in values)
    planes = zstandard.ZstdCompressor(level=3).compress(shuffle(little, size))
    return bytes([1, 0, flags | 2 << 4]) + b"".join(parts) + planes


def encode(data, chain, kind=None, geometry=None):
    for step in chain:
        if step["id"] == "shuffle":
            data = shuffle(data, step["elementsize"])
        elif step["id"] == "zstd":
            data = zstandard.ZstdCompressor(level=step["level"]).compress(data)
        elif step["id"] == "zlib":
            data = zlib.compress(data, step["level"])
        elif step["id"] == "gzip":
            data = gzip.compress(data, step["level"], mtime=0)
        elif step["id"] == "lz4":
            data = lz4(data)
        elif step["id"] == "lzma":
            data = lzma.compress(data, lzma.FORMAT_RAW, filters=step["filters"])
        elif step["id"] == "bitshuffle":
            data = bitshuffle(data, step["elementsize"], step["blocksize"])
        elif step == {"id": "nc3z.num"} and kind:
            data = encode_num(data, kind, geometry)
        else:
            raise Refused(f"cannot encode {step['id']}")
    return data


class Producer:
    def __init__(self, data, options):
        self.data, self.options = data, options
        self.header = Header(data)
        self.classic = Classic(self.header, len(data))
        head = data[:self.header.length]
        bound = hashlib.sha256(hashlib.sha256(head).digest() + struct.pack("<Q", len(data))).digest()
        self.salt = bound[:4] + hashlib.sha256(data).digest()[:4]
        self.out = bytearray()
        self.chains = [[]] + [c for c in options.chain if c]
        self.early = 1 if options.late_chains else len(self.chains)
        self.waiting, self.constants, self.numbers = [], [], {CONTAINERS: 0, CONSTANTS: 0}
        self.entries = {}

    def align(self):
        self.out += bytes(-len(self.out) % 8)
        return len(self.out)

    # ---- section 1

    def layout(self, v):
        array = self.classic.arrays.get(v.id)
        size = TYPE_SIZES[v.type]
        if self.options.chunk and array and array.shape and array.present == product(array.shape):
            room, sizes = max(1, self.options.tile // size), []
            for n in reversed(array.shape):         # odd sizes on purpose, so that edges are clipped
                sizes.insert(0, max(1, min(n, room)))
                room = max(1, room // sizes[0])
                if n > 2 and sizes[0] == n and room < 4:
                    sizes[0] = n // 2 + 1
            return Layout({"clipped": 1, "padded": 2}[self.options.chunk], sizes)
        return Layout(0, [max(1, self.options.tile // size)])

    def head(self):
        table = compact(self.chains[:self.early])
        out = varint(self.header.length) + self.data[:self.header.length] + varint(len(table)) + table
        self.layouts = {v.id: self.layout(v) for v in self.header.vars}
        for v in self.header.vars:
            out += varint(self.layouts[v.id].kind) + b"".join(map(varint, self.layouts[v.id].sizes))
        for id in sorted(self.classic.padding) + [GAP]:
            self.layouts[id] = Layout(0, [self.options.tile])
            out += varint(self.options.tile)
        return out

    # ---- section 3

    def block(self, variable, kind, chain, tile, decoded, stored):
        at = self.align()
        head = BLOCK_MARKER + struct.pack("<IIBBHQIIII", 1, variable, kind, 0, chain, tile, len(decoded), len(stored),
                                          crc32(struct.pack("<IQ", variable, tile) + stored), crc32(decoded))
        check = salted_crc(self.salt, at, head)
        self.out += head + struct.pack("<I", check) + stored
        return at, check

    def flush(self):
        """Write the waiting small tiles as one packed container."""
        if not self.waiting:
            return
        directory = varint(len(self.waiting))
        for id, tile, chain, stored, _ in self.waiting:
            directory += varint(id) + varint(tile) + varint(chain) + varint(len(stored))
        decoded = struct.pack("<I", len(directory)) + directory + b"".join(w[3] for w in self.waiting)
        chain = next((i for i, c in enumerate(self.chains) if c and c[-1]["id"] != "nc3z.num"), 0)
        number = self.numbers[CONTAINERS]
        self.numbers[CONTAINERS] += 1
        at, _ = self.block(CONTAINERS, 1, chain, number, decoded, encode(decoded, self.chains[chain]))
        start = 4 + len(directory)
        for id, tile, chain, stored, check in self.waiting:
            self.entries[id][tile] = struct.pack("<BBHIQII", PACKED, 0, chain, len(stored), at, check, start)
            start += len(stored)
        self.waiting = []

    def tile(self, id, tile, data, size):
        if not self.options.no_constants and data == data[:size] * (len(data) // size):
            self.entries[id].append(struct.pack("<BBHI8sII", CONSTANT, 0, 0, 0, data[:size], 0, 0))
            last = self.constants[-1] if self.constants else None
            if last and (last[0], last[1] + last[2], last[3]) == (id, tile, data[:size]):
                last[2] += 1
            else:
                self.constants.append([id, tile, 1, data[:size]])
            return
        chain = (id + tile) % len(self.chains)      # any will do; so all of them are used
        array, layout = self.classic.arrays[id], self.layouts[id]
        shape = array.shape if layout.kind == 0 else Tiles(array, layout).shape(tile)
        kind = Type(self.header.vars[id].type if id < len(self.header.vars) else BYTE)
        stored = encode(data, self.chains[chain], kind, geometry_of(shape))
        if len(stored) < PACK_BELOW and not self.options.no_pack:
            self.waiting.append((id, tile, chain, stored, crc32(data)))
            self.entries[id].append(None)
            if sum(len(w[3]) for w in self.waiting) >= CONTAINER:
                self.flush()
            return
        at, check = self.block(id, 0, chain, tile, data, stored)
        self.entries[id].append(struct.pack("<BBHIQII", STORED, 0, chain, len(stored), at, check, 0))

    def blocks(self):
        for i in range(self.early, len(self.chains)):
            text = compact(self.chains[i])
            self.block(CHAINS, 4, 0, i, text, text)
        for id, array in self.classic.arrays.items():
            tiles = Tiles(array, self.layouts[id])
            self.entries[id] = []
            for tile in range(tiles.count):
                data = bytearray(b"\xa5" * (tiles.elements(tile) * array.element))
                for inside, first, n in tiles.pieces(tile):
                    data[inside:inside + n] = array.get(self.data, first, first + n)
                self.tile(id, tile, bytes(data), array.element)
        self.flush()
        if self.constants:
            rows = b"".join(varint(id) + varint(first) + varint(count) + bytes([len(value)]) + value
                            for id, first, count, value in self.constants)
            self.block(CONSTANTS, 3, 0, 0, rows, rows)

    # ---- section 5

    def pages(self, id):
        """Write the page tree of an array and return the offset of its root."""
        items, size, fan, span, level = self.entries[id], 24, PAGE_LEAF, 1, 0
        while True:
            offsets = []
            for i in range(0, len(items), fan):
                part = items[i:i + fan]
                at = self.align()
                body = struct.pack("<IHHIQ", id, level, len(part), 0, i * span) + b"".join(part)
                body = body.ljust(PAGE_SIZE - 4, b"\0")
                self.out += struct.pack("<I", salted_crc(self.salt, at, body)) + body
                offsets.append(at)
            if len(offsets) == 1:
                return offsets[0]
            span, level = span * fan, level + 1
            items, size, fan = [struct.pack("<Q", at) for at in offsets], 8, PAGE_FAN

    # ---- sections 6 and 7

    def section(self, kind, data, compress):
        stored = zstandard.ZstdCompressor(level=3).compress(data) if compress else data
        at = self.align()
        self.out += stored
        return struct.pack("<HHIQQ", kind, int(compress), crc32(stored), at, len(stored))

    def run(self):
        data = self.data
        head = self.head()
        words = {"dict_data": head_dictionary(50_017)} if self.options.head == "dictionary" else {}
        stored = head if self.options.head == "raw" else zstandard.ZstdCompressor(level=9, **words).compress(head)
        if len(stored) >= len(head):
            stored = head
        super_ = MAGIC + struct.pack("<HHI8sQIII", MAJOR, MINOR, 0, self.salt, len(data), len(stored), len(head), crc32(stored))
        text = TEXT.ljust(64, b"\0")
        self.out += super_ + struct.pack("<I", crc32(super_ + text)) + text + bytes(48) + stored
        begin = self.align()
        self.blocks()
        end = self.align()

        table, rows, inline, first = b"", b"", b"", len(self.out)
        for id in sorted(self.entries):
            entries = self.entries[id]
            if len(entries) > INLINE_TILES:
                rows += struct.pack("<IQQ", id, len(entries), self.pages(id))
            elif entries:
                rows += struct.pack("<IQQ", id, len(entries), 0)
                inline += b"".join(entries)
        if len(self.out) > first:
            table += struct.pack("<HHIQQ", S_PAGES, 2, 0, first, len(self.out) - first)
        if end > 65536 or 32 * len(stored) <= end:
            table += self.section(S_HEAD, head, stored is not head)
        else:
            table += struct.pack("<HHIQQ", S_HEAD, int(stored is not head), crc32(stored), HEAD_AT, len(stored))
        variables = struct.pack("<II", len(rows) // 20, len(inline) // 24) + shuffle(rows, 20) + shuffle(inline, 24)
        table += self.section(S_TABLE, variables, True)
        metadata = {"writer": "make_test_archive 0.1", "options": {}, **self.options.metadata}
        if self.early < len(self.chains):
            metadata["chains"] = self.chains[self.early:]
        table += self.section(S_METADATA, compact(metadata), False)
        table += self.section(0x8000 + 77, b"to be skipped", False)

        at = self.align()
        self.out += table
        here = self.align()
        sha = hashlib.sha256(data).digest() if self.options.digest == 1 else bytes(32)
        trailer = TRAILER_MARKER + struct.pack(
            "<I8sIIQIIQQQQQ32sII", 1, self.salt, 0, 0, at, len(table), salted_crc(self.salt, at, table), begin, end, 0,
            here + 128, len(data), sha, self.options.digest, 0)
        self.out += trailer + struct.pack("<I", salted_crc(self.salt, here, trailer)) + TRAILER_END
        if self.options.torn:
            self.align()
            self.out += (BLOCK_MARKER + TRAILER_MARKER + b"torn tail ")[:self.options.torn].ljust(self.options.torn, b"x")
        return bytes(self.out)


def whole(data):
    """The short form that is the file as a whole (section 12)."""
    metadata = compact({"writer": "make_test_archive 0.1", "options": {}})
    content = varint(0) + varint(len(metadata)) + metadata + data
    packed = zstandard.ZstdCompressor(level=9).compress(content)
    start = MAGIC + struct.pack("<BBHI", MAJOR, 2, MINOR, len(packed))
    rest = b"netCDF in nc3z\r\n" + hashlib.sha256(data).digest()
    return start + struct.pack("<I", crc32(start + rest + packed)) + rest + packed


def arguments():
    parser = argparse.ArgumentParser(description="makes test archives")
    parser.add_argument("classic")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--chain", action="append", type=json.loads, default=[], help="JSON of a chain besides []")
    parser.add_argument("--tile", type=int, default=65536, help="bytes of a tile")
    parser.add_argument("--chunk", choices=["clipped", "padded"])
    parser.add_argument("--no-pack", action="store_true")
    parser.add_argument("--no-constants", action="store_true")
    parser.add_argument("--late-chains", action="store_true", help="chains in the metadata, not in the head")
    parser.add_argument("--head", choices=["raw", "zstd", "dictionary"], default="zstd")
    parser.add_argument("--digest", type=int, default=1)
    parser.add_argument("--metadata", type=json.loads, default={}, help="JSON object of metadata keys")
    parser.add_argument("--whole", action="store_true", help="the short form that is the file as a whole; other options count for nothing")
    parser.add_argument("--torn", type=int, default=0, help="bytes of a torn tail after the trailer")
    return parser.parse_args()


def main():
    options = arguments()
    try:
        with open(options.classic, "rb") as file:
            data = file.read()
        archive = whole(data) if options.whole else Producer(data, options).run()
    except (Refused, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    with open(options.output, "wb") as file:
        file.write(archive)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A small reader of shadows, written from the text of spec/shadow.md alone.

    nc3z_shadow.py SHADOW     all of it, as JSON

Exit codes: 0 done, 2 usage, 3 the shadow is corrupt.
"""

import json
import struct
import sys
import zlib
from itertools import accumulate
from pathlib import Path

from nc3z_bytes import package
from nc3z_ref import Bytes, Corrupt, need

zstandard = package("zstandard")

MAGIC, END = b"nc3xshd3", b"nc3xend2"
WRAP = 1 << 64
KINDS = ["classic", "archive", "short", "packed", "other"]


def frame(data, offset, stored, decoded, crc):
    """The decompressed content of a frame (section 1)."""
    need(decoded <= min(256 << 20, 65536 + 1000 * stored) and bool(stored) == bool(decoded), f"frame at {offset}: length")
    if not stored:
        return b""
    packed = data[offset:offset + stored]
    need(len(packed) == stored and zlib.crc32(packed) == crc, f"frame at {offset}: CRC-32")
    try:
        need(zstandard.get_frame_parameters(packed).content_size == decoded, f"frame at {offset}: length")
        one = zstandard.ZstdDecompressor().decompressobj()
        plain = one.decompress(packed)
    except zstandard.ZstdError as error:
        raise Corrupt(f"frame at {offset}: {error}") from error
    need(one.eof and not any(one.unused_data), f"frame at {offset}: what follows")
    return plain


class Columns(Bytes):
    """Columns of a frame (section 3)."""

    def numbers(self, n):
        return [self.varint() for _ in range(n)]

    def signed(self, n):
        return [z >> 1 ^ -(z & 1) for z in self.numbers(n)]

    def steps(self, n):
        return list(accumulate(self.signed(n)))

    def doubles(self, n):
        planes = [self.take(n) for _ in range(8)]
        return list(struct.unpack(f">{n}d", bytes(byte for each in zip(*planes) for byte in each)))

    def strings(self):
        lengths = self.numbers(self.varint())
        return [bytes(self.take(length)) for length in lengths]


def ranges(gaps, lengths):
    found, end = [], 0
    for gap, length in zip(gaps, lengths):
        offset = (end + gap) % WRAP
        end = (offset + length) % WRAP
        found.append((offset, length))
    return found


def names(data, n):
    b, found, before = Columns(data, "names"), [], b""
    for shared, own in [*zip(b.numbers(n), b.numbers(n))]:
        need(shared <= len(before) and shared + own <= 16384, "names: length")
        before = before[:shared] + bytes(b.take(own))
        found.append(before.decode())
    b.end()
    return found


def heads(data, n):
    b = Columns(data, "heads")
    kinds, lengths, gaps, stored = b.numbers(n), b.numbers(n), b.signed(n), b.numbers(n)
    headers, has = b.steps(n), b.numbers(n)
    files = [
        {"kind": KINDS[kind], "len": length, "offset": offset, "stored": size, "header": header}
        for kind, length, (offset, size), header in zip(kinds, lengths, ranges(gaps, stored), headers)
    ]
    for file, one in zip(files, has):
        file["sha256"] = bytes(b.take(32)).hex() if one else None
    for file, modified in zip(files, b.steps(n)):
        file["modified"] = modified
    b.end()
    return files


def coordinates(data, n):
    b = Columns(data, "coordinates")
    counts = b.numbers(n)
    total = sum(counts)
    rows = list(zip(b.numbers(total), b.numbers(total), b.numbers(total), b.steps(total)))
    lists = b.strings()
    b.end()
    need(all(size <= 256 for _, _, size, _ in rows), "coordinates: bytes of a value")
    rows = iter([{"variable": v, "whole": bool(w), "size": s, "bytes": lists[k].hex()} for v, w, s, k in rows])
    return [[next(rows) for _ in range(count)] for count in counts]


def sections(data, n):
    """The sections of a frame of a group (section 5)."""
    if not data:
        return [b""] * n
    b = Columns(data, "sections")
    found = [bytes(b.take(length)) for length in b.numbers(n)]
    b.end()
    return found


def variable(tiles, sums, places):
    """A variable in all files of a block. A tile has: valid values that are finite, infinite ones, the least, the largest, the sum and the
    sum of squares as two doubles each, and what the least and the largest are more than their doubles."""
    b = Columns(tiles, "tiles")
    m = b.varint()
    members, ids, counts, has, kinds, ranks = b.steps(m), *(b.numbers(m) for _ in range(5))
    shapes = [b.numbers(rank) for rank in ranks]
    rows = sum(count for count, one in zip(counts, has) if one)
    table = [b.numbers(rows), b.numbers(rows), b.doubles(rows), b.doubles(rows)]
    rests = [b.signed(rows), b.signed(rows)]
    b.end()
    b = Columns(sums, "sums")
    table += [b.doubles(rows) for _ in range(4)] + rests
    b.end()
    table = iter(list(zip(*table)))
    parts, found = iter(()), iter(())
    if places:
        b = Columns(places, "places")
        parts = b.numbers(sum(counts))
        total = sum(parts)
        parts, found = iter(parts), iter(ranges(b.signed(total), b.numbers(total)))
        b.end()
    for member, number, count, one, kind, shape in zip(members, ids, counts, has, kinds, shapes):
        yield member, {
            "variable": number, "layout": ["linear", "clipped", "padded"][kind], "shape": shape,
            "tiles": [next(table) for _ in range(count)] if one else None,
            "places": [[next(found) for _ in range(next(parts))] for _ in range(count)] if places else [],
        }


def read(data):
    """All files of a shadow."""
    need(data[:8] == MAGIC and len(data) >= 48 and data[-8:] == END, "no shadow")
    offset, stored, decoded, crc, own = struct.unpack("<QQQII", data[-40:-8])
    need(zlib.crc32(data[-40:-12]) == own and offset + stored == len(data) - 40, "end")
    b = Columns(frame(data, offset, stored, decoded, crc), "directory")
    at, files = 8, []

    def part():
        nonlocal at
        stored, decoded, crc = b.varint(), b.varint(), int.from_bytes(b.take(4), "little")
        need(at + stored <= offset, "directory: a frame is beyond it")
        at += stored
        return frame(data, at - stored, stored, decoded, crc)

    for _ in range(b.varint()):
        n, groups = b.varint(), b.varint()
        need(n <= 4096, "directory: files of a block")
        block_names, block_heads, headers, known = part(), part(), part(), part()
        headers = Columns(headers, "headers").strings()
        block = heads(block_heads, n)
        for file, name, each in zip(block, names(block_names, n), coordinates(known, n)):
            need(file["header"] < len(headers), "heads: header")
            file.update(name=name, header=headers[file["header"]].hex(), coordinates=each, variables=[])
        for _ in range(groups):
            own = [bytes(b.take(b.varint())).decode() for _ in range(b.varint())]
            frames = [sections(part(), len(own)) for _ in range(3)]
            for name, *each in zip(own, *frames):
                for member, found in variable(*each):
                    need(0 <= member < n, "tiles: file")
                    block[member]["variables"].append({"name": name, **found})
        for file in block:
            file["variables"].sort(key=lambda v: v["variable"])
        files += block
    b.end()
    need(at == offset, "directory: bytes between frames")
    return files


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(2)
    try:
        print(json.dumps(read(Path(sys.argv[1]).read_bytes())))
    except (Corrupt, IndexError, ValueError, StopIteration, RuntimeError) as e:
        print(f"nc3z_shadow.py: {sys.argv[1]}: {e}", file=sys.stderr)
        sys.exit(3)

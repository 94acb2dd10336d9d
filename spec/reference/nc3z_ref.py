#!/usr/bin/env python3
"""A small reader of nc3z archives, written from the text of spec/archive.md alone; nc3z_num.py beside
it does the same for spec/num.md.

It exists to prove that the text suffices and to be a way out when every other program is gone, so it is plain Python
(standard library and `zstandard`), checks every rule it can, and is not fast. Section numbers are those of the text.

    nc3z_ref.py restore ARCHIVE -o OUT    give back the classic file, byte for byte
    nc3z_ref.py info ARCHIVE              what the archive holds
    nc3z_ref.py probe ARCHIVE             the blocks that can be found without the index

Exit codes: 0 done, 1 failed, 2 usage, 3 the archive is corrupt.
"""

import argparse
import hashlib
import io
import itertools
import json
import lzma
import mmap
import os
import struct
import sys
import zlib
from bisect import bisect_right
from collections import namedtuple
from pathlib import Path

import nc3z_digest
import nc3z_filters
import nc3z_short
from nc3z_bytes import LAST_OF_VERSION_0, MAGIC, MAJOR, package, shuffle, unbitshuffle, unlz4, unshuffle

zstandard = package("zstandard")

# ---------------------------------------------------------------- errors


class Refused(Exception):
    """The archive may be sound, but this reader cannot or must not go on."""


class Corrupt(Refused):
    """The bytes break a rule of the text."""


def need(condition, what):
    if not condition:
        raise Corrupt(what)


# ---------------------------------------------------------------- small things ("Conventions")

MAX_DECODED = 1 << 30
MAX_STORED = (1 << 30) + (1 << 20)


def crc32(data):
    return zlib.crc32(data)


def salted_crc(salt, offset, data):
    return zlib.crc32(salt + struct.pack("<Q", offset) + data)


def round_up(n, m):
    return -(-n // m) * m


def product(numbers):
    out = 1
    for n in numbers:
        out *= n
    return out


class Bytes:
    """A cursor over decoded bytes; running out of them is corruption."""

    def __init__(self, data, what):
        self.data, self.what, self.pos = data, what, 0

    def take(self, n):
        need(n <= len(self.data) - self.pos, f"{self.what}: ends early")
        out = self.data[self.pos:self.pos + n]
        self.pos += n
        return out

    def u8(self):
        return self.take(1)[0]

    def varint(self):
        value = 0
        for i in range(10):
            byte = self.u8()
            value |= (byte & 127) << (7 * i)
            if byte < 128:
                need(byte or i == 0, f"{self.what}: varint is not in its shortest form")
                need(value < 1 << 64, f"{self.what}: varint is too large")
                return value
        raise Corrupt(f"{self.what}: varint is too long")

    def rest(self):
        return self.take(len(self.data) - self.pos)

    def end(self):
        need(self.pos == len(self.data), f"{self.what}: {len(self.data) - self.pos} bytes too many")


DICTIONARIES = {50_017: "head.dict", 50_018: "argo.dict"}


def head_dictionary(number):
    path = Path(__file__).resolve().parent.parent / "dictionary" / DICTIONARIES[number]
    try:
        return zstandard.ZstdCompressionDict(path.read_bytes())
    except OSError as error:
        raise Refused(f"the dictionary of the specification is needed: {error}") from error


def unzstd(data, length, what, dictionary=False, before=None):
    """`dictionary`: of the head copy or a section, whose frames may need the format's dictionary. `before`: raw content that is continued."""
    need(data[:4] == b"\x28\xb5\x2f\xfd", f"{what}: not a zstd frame")
    try:
        parameters = zstandard.get_frame_parameters(data)
        size, number = parameters.content_size, parameters.dict_id
        need(size in (zstandard.CONTENTSIZE_UNKNOWN, length), f"{what}: frame of {size} bytes, expected {length}")
        need(number == 0 or dictionary and number in DICTIONARIES, f"{what}: a frame with dictionary {number}")
        words = {"dict_data": head_dictionary(number)} if number else {"dict_data": before} if before else {}
        out = zstandard.ZstdDecompressor(**words).decompress(data, max_output_size=max(length, 1), allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise Corrupt(f"{what}: {error}") from error
    need(len(out) == length, f"{what}: {len(out)} bytes, expected {length}")
    return out


def lzma2_length(data, what):
    """The length that the chunks of an LZMA2 stream say (chains.md, section 2)."""
    chunks, total = Bytes(data, what), 0
    while control := chunks.u8():
        need(control < 3 or control >= 128, f"{what}: a chunk of kind {control}")
        size = int.from_bytes(chunks.take(2), "big") + 1
        if control >= 128:
            total += (control & 31) << 16
            chunks.take(int.from_bytes(chunks.take(2), "big") + 1 + ((control >> 5 & 3) >= 2))
        else:
            chunks.take(size)
        total += size
    chunks.end()
    return total


def unpack(data, length, what):
    """Packed bytes (section 1) of `length` (None: those that they say): a frame, with a dictionary of the format or without, or an LZMA2 stream."""
    if data[:1] == b"\1" or data[:1] >= b"\xe0":
        size = lzma2_length(data, what)
        need(length in (None, size), f"{what}: a stream of {size} bytes, expected {length}")
        out = unlzma(data, [{"id": 33, "dict_size": 4096, "lc": 3, "lp": 0, "pb": 2}], size, what)
        need(len(out) == size, f"{what}: {len(out)} bytes, expected {size}")
        return out
    size = frame_size(data, what)
    need(size != zstandard.CONTENTSIZE_UNKNOWN and length in (None, size), f"{what}: frame without its content size, or of another one")
    return unzstd(data, size, what, dictionary=True)


def parse_older(payload, what):
    """The older tile that a payload names first: its index entry, array, tile number and length; and the rest of the payload."""
    head = Bytes(payload, what)
    entry = parse_entry(head.take(24))
    need(entry.kind in (STORED, PACKED), f"{what}: neither a block nor a member")
    return entry, head.varint(), head.varint(), head.varint(), head.rest()


def frame_size(data, what):
    try:
        return zstandard.get_frame_parameters(data).content_size
    except zstandard.ZstdError as error:
        raise Corrupt(f"{what}: {error}") from error


def lzma_filters(step):
    """The filters of an lzma object for Python's module; None where it has other keys than the one form that is known."""
    try:
        (one,) = step["filters"]
        numbers = [one[key] for key in ("dict_size", "lc", "lp", "pb")]
        if any(type(n) is not int or n < 0 for n in numbers):
            return None
        dict_size, lc, lp, pb = numbers
    except (KeyError, TypeError, ValueError):
        return None
    known = {"dict_size": dict_size, "id": 33, "lc": lc, "lp": lp, "pb": pb}
    whole = {"check": -1, "filters": [known], "format": 3, "id": "lzma", "preset": None}
    right = step == whole and 4096 <= dict_size <= 64 << 20 and lc + lp <= 4 and pb <= 4
    return [known] if right else None


# Decoders need none of its numbers.


def unlzma(data, filters, length, what):
    # The dictionary need not be larger than the data, nor be the one that the encoder had.
    reach = [dict(filters[0], dict_size=max(length, 4096))]
    stream = lzma.LZMADecompressor(format=lzma.FORMAT_RAW, filters=reach)
    try:
        out = stream.decompress(data, length + 1)
    except lzma.LZMAError as error:
        raise Corrupt(f"{what}: {error}") from error
    need(stream.eof and not stream.unused_data, f"{what}: a cut LZMA2 stream, or bytes after it")
    return out


def unzlib(data, length, what, window=zlib.MAX_WBITS):
    stream = zlib.decompressobj(window)
    try:
        out = stream.decompress(data, length + 1)
    except zlib.error as error:
        raise Corrupt(f"{what}: {error}") from error
    need(stream.eof and not stream.unused_data, f"{what}: not exactly one stream of {length} bytes")
    need(len(out) == length, f"{what}: {len(out)} bytes, expected {length}")
    return out


# ---------------------------------------------------------------- the classic header

# byte, char, short, int, float, double, ubyte, ushort, uint, int64, uint64
TYPE_NAMES = [None, "byte", "char", "short", "int", "float", "double", "ubyte", "ushort", "uint", "int64", "uint64"]
TYPE_SIZES = [None, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8]

Dim = namedtuple("Dim", "name length")
Att = namedtuple("Att", "name type count value")
Var = namedtuple("Var", "id name dims atts type vsize begin")


class Header:
    """The parsed header. `length` is where it ends; integers are big-endian and unsigned, whatever the version."""

    def __init__(self, data):
        self.data, self.pos = data, 0
        magic = self._take(4)
        if magic[:3] != b"CDF" or magic[3] not in (1, 2, 5):
            raise Refused("not a classic netCDF file")
        self.version = magic[3]
        self.wide = 8 if self.version == 5 else 4
        self.begin_size = 4 if self.version == 1 else 8
        self.numrecs = self._uint(self.wide)
        self.streaming = self.numrecs == (1 << 8 * self.wide) - 1
        self.dims = self._list(10, lambda i: Dim(self._name(), self._uint(self.wide)))
        self.atts = self._attributes()
        self.vars = self._list(11, self._variable)
        self.length = self.pos
        del self.data

    def _take(self, n):
        if n > len(self.data) - self.pos:
            raise Refused("the classic header ends early")
        out = self.data[self.pos:self.pos + n]
        self.pos += n
        return bytes(out)

    def _uint(self, size):
        return int.from_bytes(self._take(size), "big")

    def _list(self, tag, item):
        found, count = self._uint(4), self._uint(self.wide)
        if found == 0 and count == 0:
            return []
        if found != tag:
            raise Refused(f"list tag {found} in the classic header, expected {tag}")
        if count > (len(self.data) - self.pos) // 8:
            raise Refused("a list of the classic header is longer than the file")
        return [item(i) for i in range(count)]

    def _name(self):
        count = self._uint(self.wide)
        return self._take(round_up(count, 4))[:count]

    def _type(self):
        number = self._uint(4)
        if not 1 <= number <= (11 if self.version == 5 else 6):
            raise Refused(f"type {number} in the classic header")
        return number

    def _attributes(self):
        def attribute(_):
            name, kind, count = self._name(), self._type(), self._uint(self.wide)
            size = count * TYPE_SIZES[kind]
            return Att(name, kind, count, self._take(round_up(size, 4))[:size])
        return self._list(12, attribute)

    def _variable(self, number):
        name = self._name()
        rank = self._uint(self.wide)
        if rank > (len(self.data) - self.pos) // self.wide:
            raise Refused("a rank in the classic header is longer than the file")
        dims = [self._uint(self.wide) for _ in range(rank)]
        if any(d >= len(self.dims) for d in dims):
            raise Refused("a dimension id in the classic header is out of range")
        atts = self._attributes()
        return Var(number, name, dims, atts, self._type(), self._uint(self.wide), self._uint(self.begin_size))


# ---------------------------------------------------------------- section 2: arrays and residue

DEFINITIONS, PADDING, GAP = 0x40000000, 0x80000000, 0xC0000000
CONTAINERS, CONSTANTS, CHAINS, HEADS, COMMITS = range(0xC0000001, 0xC0000006)


class Place:
    """The position of the bytes of one array in the file: `slot` bytes at `begin`, repeated every `stride` bytes."""

    def __init__(self, id, element, shape, begin, slot, stride, slots, length):
        self.id, self.element, self.shape = id, element, shape
        self.begin, self.slot, self.stride = begin, slot, stride
        # `present`: leading elements wholly inside the file
        room = length - begin
        if room <= 0 or slot == 0 or slots == 0:
            self.present = 0
            return
        if slots == 1:
            whole = 1 if room >= slot else 0
        else:
            whole = min(slots, (room - slot) // stride + 1) if room >= slot else 0
        rest = 0
        if whole < slots:
            rest = max(0, min(slot, room - whole * stride) // element)
        self.present = whole * (slot // element) + rest

    def runs(self, first, last):
        """The pieces of the file that hold bytes `first`..`last` of the array: (position in the file, length)."""
        while first < last:
            record, inside = divmod(first, self.slot)
            n = min(self.slot - inside, last - first)
            yield self.begin + record * self.stride + inside, n
            first += n

    def put(self, file, first, data):
        """Write `data`, the array's bytes from `first` on, into the file."""
        if self.slot < 64 and self.stride > self.slot and first % self.slot == 0 and len(data) % self.slot == 0:
            count = len(data) // self.slot           # many small records: a strided copy for each byte of the slot
            start = self.begin + first // self.slot * self.stride
            for i in range(self.slot):
                file[start + i:start + i + (count - 1) * self.stride + 1:self.stride] = data[i::self.slot]
            return
        done = 0
        for at, n in self.runs(first, first + len(data)):
            file[at:at + n] = data[done:done + n]
            done += n

    def get(self, file, first, last):
        return b"".join(file[at:at + n] for at, n in self.runs(first, last))


class Gap:
    """All bytes nothing else owns, in ascending order and concatenated."""

    id, element = GAP, 1

    def __init__(self, owned, length):
        self.pieces, self.starts, at, total = [], [], 0, 0
        for a, b in sorted(owned) + [(length, length)]:
            if a > at:
                self.pieces.append((at, a))
                self.starts.append(total)
                total += a - at
            at = max(at, b)
        self.present = total
        self.shape = [total]

    def runs(self, first, last):
        i = bisect_right(self.starts, first) - 1
        while first < last:
            a, b = self.pieces[i]
            inside = first - self.starts[i]
            n = min(b - a - inside, last - first)
            yield a + inside, n
            first += n
            i += 1

    def put(self, file, first, data):
        done = 0
        for at, n in self.runs(first, first + len(data)):
            file[at:at + n] = data[done:done + n]
            done += n

    get = Place.get


def meets(a, b):
    """True if two extents share a byte; an empty extent shares none."""
    return max(a[0], b[0]) < min(a[1], b[1])


class Classic:
    """A classic file as arrays: everything that follows from the header bytes and the length of the file."""

    def __init__(self, header, length):
        self.header, self.length = header, length
        is_record = [bool(v.dims) and header.dims[v.dims[0]].length == 0 for v in header.vars]
        records = [v for v in header.vars if is_record[v.id]]
        n = 0 if header.streaming else header.numrecs

        def size(v):                                # `s`
            dims = v.dims[1:] if is_record[v.id] else v.dims
            return product(header.dims[d].length or n for d in dims) * TYPE_SIZES[v.type]

        def padded(v):                              # `p`
            return size(v) if len(records) == 1 else round_up(size(v), 4)

        stride = sum(padded(v) for v in records)    # `R`
        first = min((v.begin for v in records), default=0)  # `B0`
        if header.streaming:
            n = (length - first) // stride if stride and first < length else 0
        stride = sum(padded(v) for v in records)
        self.n, self.stride, self.first = n, stride, first

        # rule 1 and 2
        taken = [(0, header.length)]
        self.arrays, self.aliased = {}, []
        owned = [(0, header.length)]
        for v in header.vars:
            if is_record[v.id]:
                continue
            extent = (v.begin, min(length, v.begin + size(v)))
            if any(meets(extent, other) for other in taken):
                self.aliased.append(v.id)
                continue
            taken.append(extent)
            shape = [header.dims[d].length or n for d in v.dims]
            place = Place(v.id, TYPE_SIZES[v.type], shape, v.begin, size(v), 0, 1, length)
            self.arrays[v.id] = place
            if place.present:
                owned.append((v.begin, v.begin + place.present * place.element))

        # rule 3
        region = (first, min(length, first + n * stride))
        at, regular = first, 0 < stride < 1 << 64 and n > 0
        for v in sorted(records, key=lambda v: (v.begin, v.id)):
            regular = regular and v.begin == at
            at += padded(v)
        regular = regular and not any(meets(region, other) for other in taken)
        self.regular = regular
        self.padding = []
        if not regular:
            self.aliased = sorted(self.aliased + [v.id for v in records])
        else:
            partial = []                            # what the last, incomplete record owns
            whole = min(n, max(0, length - first) // stride)
            for v in records:
                s, p = size(v), padded(v)
                shape = [n] + [header.dims[d].length or n for d in v.dims[1:]]
                parts = [Place(v.id, TYPE_SIZES[v.type], shape, v.begin, s, stride, n, length)]
                if p > s:
                    parts.append(Place(PADDING + v.id, 1, [n * (p - s)], v.begin + s, p - s, stride, n, length))
                    self.padding.append(PADDING + v.id)
                for place in parts:
                    self.arrays[place.id] = place
                    left = place.present * place.element - whole * place.slot
                    if left > 0:
                        start = place.begin + whole * stride
                        partial.append((start, start + left))
            if whole:
                owned.append((first, first + whole * stride))
            owned += partial
        # rule 4
        self.arrays[GAP] = Gap(owned, length)


Layout = namedtuple("Layout", "kind sizes")  # kind 0: sizes[0] elements a tile; 1, 2: the chunk shape


class Tiles:
    """The tiles of one array: how many, how long, and where their elements go."""

    def __init__(self, array, layout):
        self.array, self.layout = array, layout
        if layout.kind == 0:
            self.count = -(-array.present // layout.sizes[0])
            return
        if array.present < product(array.shape):
            raise Corrupt(f"array {array.id:#x}: chunked, but not all of its elements are present")
        self.grid = [-(-n // c) for n, c in zip(array.shape, layout.sizes)]
        self.count = product(self.grid)

    def box(self, tile):
        index = []
        for n in reversed(self.grid):
            index.insert(0, tile % n)
            tile //= n
        start = [i * c for i, c in zip(index, self.layout.sizes)]
        clipped = [min(c, n - a) for a, c, n in zip(start, self.layout.sizes, self.array.shape)]
        return start, clipped, (clipped if self.layout.kind == 1 else list(self.layout.sizes))

    def elements(self, tile):
        if self.layout.kind == 0:
            size = self.layout.sizes[0]
            return min(size, self.array.present - tile * size)
        return product(self.box(tile)[2])

    def shape(self, tile):
        """The tile's own shape; a linear tile's is one run of elements."""
        return [self.elements(tile)] if self.layout.kind == 0 else self.box(tile)[2]

    def pieces(self, tile):
        """(position in the tile, position in the array, length), all in bytes, of each contiguous run."""
        size = self.array.element
        if self.layout.kind == 0:
            yield 0, tile * self.layout.sizes[0] * size, self.elements(tile) * size
            return
        start, clipped, stored = self.box(tile)
        if not stored:
            yield 0, 0, size
            return
        for row in range(product(clipped[:-1])):
            index, rest = [], row
            for n in reversed(clipped[:-1]):
                index.insert(0, rest % n)
                rest //= n
            inside = at = 0
            for i, a, n, c in zip(index + [0], start, self.array.shape, stored):
                inside, at = inside * c + i, at * n + a + i
            yield inside * size, at * size, clipped[-1] * size


# ---------------------------------------------------------------- sections 1, 6 and 7: what frames the blocks

BLOCK_MARKER, TRAILER_MARKER, TRAILER_END = b"\xb1NCb", b"\xb1NCt", b"CZ\r\n"
SLOTS_AT, HEAD_AT, TRAILER_SIZE, PAGE_SIZE = 112, 160, 128, 4096
PAGE_LEAF, PAGE_FAN, INLINE_TILES = 169, 509, 32
S_HEAD, S_TABLE, S_METADATA, S_PAGES, S_PARITY = 1, 2, 3, 4, 5
ABSENT, STORED, CONSTANT, PACKED, LOST = range(5)

Trailer = namedtuple("Trailer", "offset generation required optional table_offset table_length table_crc "
                                "blocks_begin blocks_end previous original_length sha256 digest")
Section = namedtuple("Section", "kind encoding crc offset length")
Entry = namedtuple("Entry", "kind reserved chain length offset check start")
Row = namedtuple("Row", "id count root")
Block = namedtuple("Block", "offset generation variable kind chain tile decoded_length stored_length payload_crc "
                            "decoded_crc header_crc")


def parse_entry(data):
    entry = Entry(*struct.unpack("<BBHIQII", data))
    need(entry.kind <= LOST, f"index entry of kind {entry.kind}")
    need(entry.reserved == 0, "index entry: reserved byte is not zero")
    if entry.kind in (ABSENT, LOST):
        need(not any(entry[1:]), "index entry: an absent or lost tile has other fields")
    if entry.kind == CONSTANT:
        need(not (entry.chain or entry.length or entry.check or entry.start), "index entry: constant with other fields")
    if entry.kind == STORED:
        need(entry.start == 0, "index entry: a stored tile has a start")
    if entry.kind in (STORED, PACKED):
        need(entry.offset % 8 == 0 and entry.offset >= HEAD_AT, "index entry: place of the block")
        need(entry.length <= MAX_STORED, "index entry: too long")
    return entry


def parse_head(data):
    """The start of the decoded head: (cursor behind it, header, header bytes, chains)."""
    head = Bytes(data, "head")
    header_bytes = head.take(head.varint())
    try:
        header = Header(header_bytes)
    except Refused as error:
        raise Corrupt(f"head: {error}") from error
    need(header.length == len(header_bytes), "head: bytes after the classic header")
    chains = parse_chains(head.take(head.varint()))
    return head, header, header_bytes, chains


def parse_layouts(head, classic):
    layouts = {}

    def size():
        n = head.varint()
        need(1 <= n < 1 << 63, f"head: a tile length of {n}")
        return n

    for v in classic.header.vars:
        kind = head.varint()
        need(kind <= 2, f"head: tile layout of kind {kind}")
        layouts[v.id] = Layout(kind, [size() for _ in range(1 if kind == 0 else len(v.dims))])
    for id in sorted(classic.padding):
        layouts[id] = Layout(0, [size()])
    layouts[GAP] = Layout(0, [size()])
    head.end()
    return layouts


def unique(pairs):
    """An object of JSON; a key that occurs twice is an error."""
    need(len(dict(pairs)) == len(pairs), "JSON: a key occurs twice in an object")
    return dict(pairs)


def finite(text):
    """A number of JSON with a point or an exponent; `NaN` and the like, which Python takes, are none."""
    value = float(text)
    need(abs(value) < float("inf"), f"JSON: a number that binary64 has not: {text[:40]}")
    return value


def parse_json(data):
    return json.loads(data, object_pairs_hook=unique, parse_float=finite, parse_constant=finite)


def parse_chains(data):
    try:
        chains = parse_json(data)
    except ValueError as error:
        raise Corrupt(f"chain table: {error}") from error
    need(isinstance(chains, list) and all(isinstance(c, list) for c in chains), "chain table: not an array of arrays")
    need(all(isinstance(o, dict) and isinstance(o.get("id"), str) for c in chains for o in c),
         "chain table: an object without id")
    return chains


def short_content(packed, most=nc3z_short.CONTENT):
    """The content of a short form, unpacked."""
    what = "short form"
    need(packed[:4] == b"\x28\xb5\x2f\xfd", f"{what}: its content is not a zstd frame")
    size = frame_size(packed, what)
    need(0 <= size <= most, f"{what}: a frame without its content size, or a longer one")
    return unzstd(packed, size, what, dictionary=True)


def long_form(data):
    """The bytes of an archive in the long form, whichever it is in (section 12)."""
    if not nc3z_short.is_short(data):
        return data
    def classic(file):
        header = Header(file)
        arrays = Classic(header, len(file)).arrays
        lengths = []
        for v in header.vars:
            lengths += [0, max(1, arrays[v.id].present if v.id in arrays else 1)]
        lengths += [max(1, arrays[id].present) for id in sorted(a for a in arrays if PADDING <= a < GAP)]
        lengths.append(max(1, arrays[GAP].present))
        some = {id: place.get(file, 0, place.present * place.element) for id, place in arrays.items() if place.present}
        return header.length, lengths, some

    try:
        return nc3z_short.expand(data, short_content, classic)
    except nc3z_short.Broken as error:
        raise Corrupt(str(error)) from error
    except nc3z_short.Unknown as error:
        raise Refused(str(error)) from error


class Archive:
    """An opened archive."""

    def __init__(self, data):
        self.data = long_form(data)
        self.seen = 0           # blocks whose payload was read
        self._superblock()
        self.trailer = self._last_trailer()
        self._sections()
        self._table()
        self._head()
        self._check_table()
        self._metadata()
        self._containers = {}
        self.older = None       # while a tile is decoded that another is coded against: that other one
        self.dictionaries = {}  # of nc3z.num, by variable and definition

    def slice(self, offset, length, what):
        need(offset + length <= len(self.data), f"{what}: beyond the end of the archive")
        return self.data[offset:offset + length]

    def aligned(self, offset, length, what):
        """Bytes of a part that starts on a multiple of 8; those up to the next multiple are zero."""
        need(offset % 8 == 0, f"{what}: offset {offset} is not a multiple of 8")
        out = self.slice(offset, length, what)
        rest = self.data[offset + length:round_up(offset + length, 8)]
        need(not any(rest), f"{what}: bytes up to the next multiple of 8 are not zero")
        return out

    def _superblock(self):
        if self.data[:8] != MAGIC:
            raise Refused("not an nc3z archive")
        if self.data[8:9] == b"\0":
            raise Refused(f"archive of format version 0, of a development build; commit {LAST_OF_VERSION_0} of the source reads it")
        raw = self.slice(0, HEAD_AT, "superblock")
        major, minor, reserved, self.salt, self.length, stored, decoded, head_crc, crc = \
            struct.unpack_from("<HHI8sQIIII", raw, 8)
        if major != MAJOR:
            raise Refused(f"archive of format version {major}.{minor}")
        need(crc == crc32(raw[:44] + raw[48:SLOTS_AT]), "superblock: checksum")
        need(reserved == 0, "superblock: reserved bytes are not zero")
        self.minor, self.head_crc, self.head_lengths = minor, head_crc, (stored, decoded)
        self.slots, self.damaged = [], False
        for number in (0, 1):
            at = SLOTS_AT + 24 * number
            slot = raw[at:at + 24]
            generation, trailer_crc, length, version, check = struct.unpack("<IIQII", slot)
            if (check == salted_crc(self.salt, at, slot[:20]) and generation and generation % 2 == number and version
                    and length % 8 == 0 and length >= HEAD_AT + TRAILER_SIZE):
                self.slots.append((generation, trailer_crc, length, version))
            elif any(slot):
                self.damaged = True
        self.slots.sort()
        need(self.slots or not any(raw[SLOTS_AT:]), "commit slots: both are damaged")

    def trailer_at(self, offset):
        """The trailer at an offset, or None without a valid one."""
        raw = self.data[offset:offset + TRAILER_SIZE]
        if len(raw) < TRAILER_SIZE or raw[:4] != TRAILER_MARKER or raw[124:] != TRAILER_END:
            return None
        (generation, salt, required, optional, at, length, table_crc, begin, end, previous, total, original, sha,
         digest, reserved, crc) = struct.unpack_from("<I8sIIQIIQQQQQ32sIII", raw, 4)
        if crc != salted_crc(self.salt, offset, raw[:120]) or salt != self.salt or total != offset + TRAILER_SIZE:
            return None
        if required & ~7:
            raise Refused(f"required features {required:#x}")
        need(reserved == 0, "trailer: reserved bytes are not zero")
        return Trailer(offset, generation, required, optional, at, length, table_crc, begin, end, previous, original,
                       sha, digest)

    def _last_trailer(self):
        offset = len(self.data) - TRAILER_SIZE
        if offset % 8:
            offset -= offset % 8
        while offset >= HEAD_AT:
            trailer = self.trailer_at(offset)
            if trailer:
                break
            offset = self.data.rfind(TRAILER_MARKER, 0, offset + 3)     # next candidate; skip what cannot be one
            while offset >= 0 and offset % 8:
                offset = self.data.rfind(TRAILER_MARKER, 0, offset + 3)
        else:
            raise Corrupt("no valid trailer")
        end = trailer.offset + TRAILER_SIZE
        if self.slots:
            generation, check, length, version = self.slots[-1]
            need(end >= length, f"commit slots: the end of version {version}, generation {generation}, is lost: "
                                f"{max(0, length - len(self.data))} bytes are missing")
            crc, = struct.unpack_from("<I", self.data, trailer.offset + 120)
            need(end > length and trailer.generation > generation or (trailer.generation, crc) == (generation, check),
                 "commit slots: they name another trailer")
        if end < len(self.data):
            # A commit is acknowledged after its slot is on disk: slots that end with this trailer deny a later one.
            denied = (not self.damaged and self.slots and end == self.slots[-1][2] and (len(self.slots) == 2 or trailer.previous == 0))
            need(denied or not self._committed(end), "a later generation may have been committed, and its trailer is damaged")
            need(not (self.damaged and self.slots and end == self.slots[-1][2] and not self._parity_follows(end)),
                 "commit slots: one is damaged, and bytes follow the last trailer: a later generation may be lost")
        need(trailer.generation >= 1, "trailer: generation 0")
        need(trailer.digest <= 2, f"trailer: digest state {trailer.digest}")
        need(trailer.digest == 1 or not any(trailer.sha256), "trailer: a digest where there is none")
        self.later = bool(trailer.required & 4)
        need(self.later or trailer.original_length == self.length, "trailer: original length differs from the superblock's")
        need(HEAD_AT <= trailer.blocks_begin <= trailer.blocks_end <= trailer.table_offset
             and trailer.blocks_begin % 8 == trailer.blocks_end % 8 == 0, "trailer: block range")
        before = trailer.previous
        need(before == 0 or before % 8 == 0 and before + TRAILER_SIZE <= trailer.blocks_begin, "trailer: previous trailer")
        return trailer

    def _parity_follows(self, end):
        """True if the last whole trailer is followed by parity: the same file."""
        for at in range(round_up(end, 64), end + 4096, 64):
            packet = self.data[at:at + 4096]
            # a packet has at least two pieces of 64 bytes (parity.md, section 2)
            if packet[:4] == b"\xb1NCp" and len(packet) > 64 and packet[63] >= 2:
                packet = packet[:64 * packet[63]]
                crc, salt, begin = struct.unpack_from("<I8sQ", packet, 4)
                if (salt, begin) == (self.salt, at) and crc == salted_crc(salt, at, packet[8:]):
                    return True
        return False

    def _committed(self, end):
        """True if the last whole trailer is followed by a generation that was committed and lost its own trailer."""
        if self._parity_follows(end):
            return False
        last = self.data[-TRAILER_SIZE:]
        ours = [last[8:16] == self.salt, last[64:72] == struct.pack("<Q", len(self.data))]
        marks = [last[:4] == TRAILER_MARKER, last[124:] == TRAILER_END]
        return any(ours) and sum(ours + marks) >= 2

    def _sections(self):
        t = self.trailer
        need(t.table_length % 24 == 0, "section table: length is not a multiple of 24")
        need(HEAD_AT <= t.table_offset and t.table_offset + t.table_length <= t.offset, "section table: its place")
        raw = self.aligned(t.table_offset, t.table_length, "section table")
        need(t.table_crc == salted_crc(self.salt, t.table_offset, raw), "section table: checksum")
        self.sections = [Section(*row) for row in struct.iter_unpack("<HHIQQ", raw)]
        self.section = {}
        at = HEAD_AT
        for s in sorted(self.sections, key=lambda s: (s.offset, s.length)):
            need(s.encoding <= 3, f"section {s.kind}: encoding {s.encoding}")
            need(s.encoding != 3 or s.kind in (S_TABLE, S_METADATA), f"section {s.kind}: encoding 3")
            need(s.encoding != 2 or s.crc == 0, f"section {s.kind}: encoding 2 with a checksum")
            need(s.offset >= at and s.offset + s.length <= t.table_offset, f"section {s.kind}: its place")
            need(s.kind > S_PAGES or (s.kind == S_PAGES) == (s.encoding == 2), f"section {s.kind}: encoding {s.encoding}")
            need(s.kind != S_PAGES or s.length % PAGE_SIZE == 0, "index pages: part of a page")
            at = s.offset + s.length
        for s in self.sections:
            if s.kind >= 0x8000:
                continue
            if not S_HEAD <= s.kind <= S_PARITY:
                raise Refused(f"unknown section of kind {s.kind}")
            need(s.kind == S_PAGES or s.kind not in self.section, f"section {s.kind}: appears twice")
            self.section[s.kind] = s

    def section_bytes(self, kind):
        need(kind in self.section, f"section {kind}: missing")
        return self.decode_section(self.section[kind], True)

    def decode_section(self, s, may_continue):
        what = f"section {s.kind}"
        raw = self.aligned(s.offset, s.length, what)
        need(s.encoding in ((0, 1, 3) if may_continue else (0, 1)), f"{what}: encoding {s.encoding}")
        need(crc32(raw) == s.crc, f"{what}: checksum")
        if s.encoding == 0:
            return raw
        if s.encoding == 1:
            return unpack(raw, None, what)
        # the entry of an older section, and a frame that continues it
        need(len(raw) >= 24, f"{what}: ends early")
        older, raw = Section(*struct.unpack_from("<HHIQQ", raw)), raw[24:]
        need(older.kind == s.kind and HEAD_AT <= older.offset and older.offset + older.length <= s.offset, f"{what}: what it continues")
        older = self.decode_section(older, False)
        before = zstandard.ZstdCompressionDict(older, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        size = frame_size(raw, what)
        need(size != zstandard.CONTENTSIZE_UNKNOWN, f"{what}: frame without its content size")
        return unzstd(raw, size, what, before=before)

    def head_copy(self):
        stored, decoded = self.head_lengths
        raw = self.aligned(HEAD_AT, stored, "head copy")
        need(crc32(raw) == self.head_crc, "head copy: checksum")
        if stored == decoded:
            return raw
        return unpack(raw, decoded, "head copy")

    def _head(self):
        decoded = self.head_copy()
        need(self.section_bytes(S_HEAD) == decoded, "head section: differs from the head copy")
        head, self.header, header_bytes, self.chains = parse_head(decoded)
        digest = hashlib.sha256(hashlib.sha256(header_bytes).digest() + struct.pack("<Q", self.length)).digest()
        need(digest[:4] == self.salt[:4], "superblock: salt does not belong to this header and length")
        need(len(header_bytes) <= self.length, "head: the header is longer than the file")
        numbers = list(range(len(self.header.vars)))
        self.following = len(numbers)       # no array has had this number or a higher one
        if self.later:
            head, header_bytes, numbers = self._later_head(decoded)
        self.header_bytes = header_bytes
        self.classic = Classic(self.header, self.length)
        layouts = parse_layouts(head, self.classic)
        # by the number of the array, which a later head may make another than the place in the header

        def id_of(id):
            return id if id >= GAP else id & 0xC0000000 | numbers[id & 0x3FFFFFFF]

        self.variable = {number: place for place, number in enumerate(numbers)}
        self.layouts = {id_of(id): layout for id, layout in layouts.items()}
        self.tiles = {id_of(id): Tiles(array, layouts[id]) for id, array in self.classic.arrays.items()}

    # ------------------------------------------------------------ section 11: later heads

    def _later_head(self, head_copy):
        need(HEADS in self.rows and self.rows[HEADS].count == 1, "later head: no entry")
        entry = self.inline[HEADS][0]
        need(entry.kind == STORED and entry.chain == 0, "later head: its entry")
        block = self.block_at(entry.offset)
        need(block and block.header_crc == entry.check, "later head: no such block")
        need((block.kind, block.variable, block.tile, block.chain, block.stored_length) == (6, HEADS, 0, 0, entry.length),
             "later head: block and index disagree")
        raw, what = self.payload(block), "later head"
        need(frame_size(raw, what) == block.decoded_length, f"{what}: frame of another length")
        before = zstandard.ZstdCompressionDict(head_copy, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        raw = unzstd(raw, block.decoded_length, what, before=before)
        need(len(raw) == block.decoded_length and crc32(raw) == block.decoded_crc, f"{what}: length or checksum")
        head = Bytes(raw, what)
        self.length = head.varint()
        need(self.length == self.trailer.original_length, "trailer: original length differs from the later head's")
        header_bytes = head.take(head.varint())
        try:
            self.header = Header(header_bytes)
        except Refused as error:
            raise Corrupt(f"{what}: {error}") from error
        need(self.header.length == len(header_bytes) <= self.length, f"{what}: length of the header")
        self.following = head.varint()
        need(self.following <= 1 << 30, f"{what}: next number")
        numbers = [head.varint() for _ in self.header.vars]
        need(len(set(numbers)) == len(numbers) and all(n < self.following for n in numbers), f"{what}: numbers of arrays")
        return head, header_bytes, numbers

    def _table(self):
        raw = self.section_bytes(S_TABLE)
        need(len(raw) >= 8, "variable table: ends early")
        rows, entries = struct.unpack_from("<II", raw)
        need(len(raw) == 8 + 20 * rows + 24 * entries, "variable table: length")
        cut = 8 + 20 * rows
        entries = unshuffle(raw[cut:], 24)
        entries = [parse_entry(entries[i:i + 24]) for i in range(0, len(entries), 24)]
        self.rows, self.inline, last, used = {}, {}, -1, 0
        for row in struct.iter_unpack("<IQQ", unshuffle(raw[8:cut], 20)):
            row = Row(*row)
            need(row.id > last, "variable table: ids do not ascend")
            need(row.count > 0, f"array {row.id:#x}: a row without tiles")
            last = row.id
            self.rows[row.id] = row
            need((row.root == 0) == (row.count <= INLINE_TILES), f"array {row.id:#x}: {row.count} tiles, root {row.root}")
            if row.root == 0:
                self.inline[row.id] = entries[used:used + row.count]
                used += row.count
        need(used == len(entries), "variable table: entries")
        need((HEADS in self.rows) == self.later, "variable table: a later head, and none in the trailer, or none")

    def _check_table(self):
        for id, tiles in self.tiles.items():
            have = self.rows[id].count if id in self.rows else 0
            need(have == tiles.count, f"array {id:#x}: {have} tiles in the index, {tiles.count} by its layout")
        for id in self.rows:
            known = id in self.tiles or id == HEADS or DEFINITIONS <= id < DEFINITIONS + self.following
            need(known, f"variable table: unknown array {id:#x}")

    def _metadata(self):
        try:
            self.metadata = parse_json(self.section_bytes(S_METADATA))
        except ValueError as error:
            raise Corrupt(f"metadata: {error}") from error
        need(isinstance(self.metadata, dict), "metadata: not an object")
        self.chains = self.chains + parse_chains(json.dumps(self.metadata.get("chains", [])))
        need(self.chains[:1] == [[]], "chain 0 is not []")

    # ------------------------------------------------------------ section 5: index

    def entry(self, id, tile):
        row = self.rows[id]
        if row.root == 0:
            return self.inline[id][tile]
        height = 0
        while PAGE_LEAF * PAGE_FAN ** height < row.count:
            height += 1
        at, first = row.root, 0
        for level in range(height, -1, -1):
            page = self.page(at, id, level, first, row.count)
            if level == 0:
                i = tile - first
                return parse_entry(page[24 + 24 * i:48 + 24 * i])
            span = PAGE_LEAF * PAGE_FAN ** (level - 1)
            i = (tile - first) // span
            below = struct.unpack_from("<Q", page, 24 + 8 * i)[0]
            need(HEAD_AT <= below < at, f"index page at {at}: a page below it does not stand before it")
            at, first = below, first + i * span

    def page(self, offset, id, level, first, tiles):
        what = f"index page at {offset}"
        raw = self.aligned(offset, PAGE_SIZE, what)
        crc, variable, got_level, count, reserved, got_first = struct.unpack_from("<IIHHIQ", raw)
        need(crc == salted_crc(self.salt, offset, raw[4:]), f"{what}: checksum")
        need((variable, got_level, got_first) == (id, level, first), f"{what}: belongs elsewhere")
        need(reserved == 0, f"{what}: reserved bytes are not zero")
        if level == 0:
            want, size = min(PAGE_LEAF, tiles - first), 24
        else:
            want, size = min(PAGE_FAN, -(-(tiles - first) // (PAGE_LEAF * PAGE_FAN ** (level - 1)))), 8
        need(count == want, f"{what}: {count} entries, expected {want}")
        need(not any(raw[24 + count * size:]), f"{what}: the rest is not zero")
        return raw

    # ------------------------------------------------------------ section 3: blocks

    def block_at(self, offset):
        """The block header at an offset, or None without a sound one."""
        raw = self.data[offset:offset + 44]
        if len(raw) < 44 or raw[:4] != BLOCK_MARKER:
            return None
        generation, variable, kind, flags, chain, tile, decoded, stored, payload_crc, decoded_crc, crc = \
            struct.unpack_from("<IIBBHQIIIII", raw, 4)
        if crc != salted_crc(self.salt, offset, raw[:40]):
            return None
        need(flags <= 1, f"block at {offset}: flags {flags}")
        need(kind <= 7, f"block at {offset}: kind {kind}")
        need(generation >= 1, f"block at {offset}: generation 0")
        need(decoded <= MAX_DECODED and stored <= MAX_STORED, f"block at {offset}: too long")
        return Block(offset, generation, variable, kind, chain, tile, decoded, stored, payload_crc, decoded_crc, crc)

    def payload(self, block):
        what = f"block at {block.offset}"
        raw = self.aligned(block.offset, 44 + block.stored_length, what)[44:]
        need(block.payload_crc == crc32(struct.pack("<IQ", block.variable, block.tile) + raw), f"{what}: payload checksum")
        self.seen += 1
        return raw

    def decode_block(self, block):
        out = self.decode(self.payload(block), block.chain, block.decoded_length, block.variable, block.tile, block.offset)
        need(block.decoded_crc == crc32(out), f"block at {block.offset}: decoded checksum")
        return out

    def container(self, offset):
        """A packed container: its decoded bytes, and its members by their position."""
        if offset not in self._containers:
            block = self.block_at(offset)
            need(block and block.kind == 1 and block.variable == CONTAINERS, f"no packed container at {offset}")
            self._containers = {offset: (self.decode_block(block), {})}
            data, members = self._containers[offset]
            for position, *member in container_members(data):
                members[position] = tuple(member)
        return self._containers[offset]

    # ------------------------------------------------------------ section 4: chains

    def decode(self, data, chain, length, variable, tile, own=None):
        """Undo a chain. `length` is that of the decoded bytes; filters keep it, so it also bounds every step. `own` is the offset of the block or container."""
        what = f"array {variable:#x} tile {tile}"
        need(chain < len(self.chains), f"{what}: chain {chain} of {len(self.chains)}")
        steps, older = self.chains[chain], None
        if variable in (CONTAINERS, CONSTANTS) and any(step["id"] in ("nc3z.num", "nc3z.base") for step in steps):
            raise Refused(f"{what}: a chain that codes tiles, not bytes")
        if steps and steps[0]["id"] == "nc3z.base":
            if len(steps[0]) > 1:
                raise Refused(f"{what}: unknown codec {json.dumps(steps[0])}")
            if any(step["id"] == "nc3z.num" and len(step) > 1 for step in steps):
                raise Refused(f"{what}: unknown codec {json.dumps(steps)}")
            (older, data), steps = self.base(data, variable, tile, own), steps[1:]
        tile_length, lengths = length, self.lengths(steps, length, len(data), what)
        for step, (length, most) in reversed(list(zip(steps, lengths))):
            name = step["id"]
            if name == "lz4" and length is None and int.from_bytes(data[:4], "little") <= most:
                length = int.from_bytes(data[:4], "little")
            if name in ("zstd", "zlib", "gzip") and length is None:
                length = self.content_length(name, data, most, what)
            if nc3z_filters.known(step):
                try:
                    data = nc3z_filters.decode(step, data, length, most, lambda body, n: unzstd(body, n, what))
                except (ValueError, IndexError, StopIteration, struct.error) as error:
                    raise Corrupt(f"{what}: {error}") from error
            elif name == "shuffle":
                self.known(step, "elementsize", 1, (1 << 32) - 1, what)
                data = unshuffle(data, step["elementsize"])
            elif name == "bitshuffle":
                size, block = step.get("elementsize"), step.get("blocksize")
                if (set(step) != {"id", "elementsize", "blocksize"} or type(size) is not int or type(block) is not int
                        or not 1 <= size < 1 << 32 or not 0 <= block < 1 << 32 or block % 8):
                    raise Refused(f"{what}: unknown codec {json.dumps(step)}")
                data = unbitshuffle(data, size, block)
            elif name == "lz4":
                self.known(step, "acceleration", -1 << 31, (1 << 31) - 1, what)
                try:
                    data = unlz4(data, length)
                except ValueError as error:
                    raise Corrupt(f"{what}: {error}") from error
            elif name == "zstd":
                self.known(step, "level", -1 << 31, (1 << 31) - 1, what)
                data = unzstd(data, length, what)
            elif name == "zlib":
                self.known(step, "level", 0, 9, what)
                data = unzlib(data, length, what)
            elif name == "gzip":
                self.known(step, "level", 0, 9, what)
                data = unzlib(data, length, what, zlib.MAX_WBITS | 16)
            elif name == "lzma":
                filters = lzma_filters(step)
                if filters is None:
                    raise Refused(f"{what}: unknown codec {json.dumps(step)}")
                data = unlzma(data, filters, length, what)
            elif name == "nc3z.num":
                need(len(steps) == 1, f"{what}: nc3z.num is not alone in its chain")
                data = self.decode_num(data, step, length, variable, tile)
            else:
                raise Refused(f"{what}: unknown codec {name}")
        need(len(data) == tile_length, f"{what}: {len(data)} bytes, expected {tile_length}")
        if older is not None:
            data = bytes(a ^ b for a, b in itertools.zip_longest(data, older[:tile_length], fillvalue=0))
        return data

    @staticmethod
    def lengths(steps, length, payload, what):
        """The decoded length of each step or None, and its upper bound: from the tile's length up to the first codec, from the payload's length behind the last."""
        kept = ("shuffle", "bitshuffle")
        is_codec = lambda s: nc3z_filters.is_codec(s) or s["id"] not in kept + nc3z_filters.SAME + nc3z_filters.SUMS + ("packbits", "delta", "fixedscaleoffset")  # noqa: E731
        found, known, codecs = [], True, 0
        for step in steps:
            found.append([length if known else None, length])
            if is_codec(step):
                codecs += 1
                known, length = False, length + length // 4 + 65536
                if codecs > 1 and step["id"] in ("lzma", "pcodec", "nc3z.num"):
                    raise Refused(f"{what}: a codec behind a codec that does not say its length")
            else:
                if codecs and nc3z_filters.decoded_length(step, 61) is None:
                    raise Refused(f"{what}: a filter behind a codec that does not say its length")
                try:
                    length = nc3z_filters.encoded_length(step, length)
                except ValueError as error:
                    raise Corrupt(f"{what}: {error}") from error
        if codecs > 4:
            raise Refused(f"{what}: more than 4 codecs")
        if not codecs:
            need(length == payload, f"{what}: {payload} bytes, expected {length}")
            return found
        for step, place in zip(reversed(steps), reversed(found)):
            if is_codec(step):
                break
            payload = nc3z_filters.decoded_length(step, payload)
            need(payload >= 0, f"{what}: cut")
            place[0] = payload
        return found

    @staticmethod
    def content_length(name, data, most, what):
        try:
            if name == "zstd":
                return len(zstandard.ZstdDecompressor().decompress(data, max_output_size=most))
            return len(zlib.decompressobj(zlib.MAX_WBITS | (16 if name == "gzip" else 0)).decompress(data, most))
        except (zlib.error, zstandard.ZstdError) as error:
            raise Corrupt(f"{what}: {error}") from error

    def member(self, entry, length, id, tile):
        """The decoded bytes of a tile that is a member of a container."""
        what = f"array {id:#x} tile {tile}"
        data, members = self.container(entry.offset)
        need(members.get(entry.start) == (id, tile, entry.chain, entry.length), f"{what}: not where the index says")
        out = self.decode(data[entry.start:entry.start + entry.length], entry.chain, length, id, tile, entry.offset)
        need(crc32(out) == entry.check, f"{what}: checksum")
        return out

    def base(self, payload, id, tile, own):
        """The older tile that a tile is coded against, which its payload names first, and the rest of that."""
        what, coded = f"array {id:#x} tile {tile}, the older one", (id, tile)
        entry, id, tile, length, rest = parse_older(payload, what)
        need(id <= GAP and not DEFINITIONS <= id < PADDING, f"{what}: array {id:#x}")
        need(length <= MAX_DECODED, f"{what}: {length} bytes")
        need(entry.offset < own, f"{what}: it does not stand before")
        need(entry.chain < len(self.chains), f"{what}: chain {entry.chain} of {len(self.chains)}")
        need(not any(step["id"] == "nc3z.base" or "ref" in step for step in self.chains[entry.chain]), f"{what}: coded against another")
        element = self.tiles[coded[0]].array.element
        self.older = coded
        if entry.kind == PACKED:
            need(length % element == 0, f"{what}: part of an element")
            out = self.member(entry, length, id, tile)
        else:
            block = self.block_at(entry.offset)
            need(block, f"{what}: no block at {entry.offset}")
            need(block.header_crc == entry.check, f"{what}: the block is not the one that is meant")
            need((block.kind, block.variable, block.tile, block.chain, block.stored_length)
                 == (0, id, tile, entry.chain, entry.length), f"{what}: block and entry disagree")
            need(block.decoded_length % element == 0, f"{what}: part of an element")
            need(length == block.decoded_length, f"{what}: {block.decoded_length} bytes, expected {length}")
            out = self.decode_block(block)
        self.older = None
        return out, rest

    @staticmethod
    def known(step, key, low, high, what):
        """Refuses an object of a chain unless it has exactly this key, in this range."""
        value = step.get(key)
        if set(step) != {"id", key} or type(value) is not int or not low <= value <= high:
            raise Refused(f"{what}: unknown codec {json.dumps(step)}")

    def decode_num(self, data, step, length, variable, tile):
        what = f"array {variable:#x} tile {tile}"
        try:
            import nc3z_num
        except ImportError:
            raise Refused(f"{what}: nc3z.num is not here") from None
        try:
            return nc3z_num.decode_tile(self, data, step, length, variable, tile)
        except nc3z_num.Refused as error:
            raise Corrupt(f"{what}: {error}") from error
        except nc3z_num.Unsupported as error:
            raise Refused(f"{what}: {error}") from error

    def refers(self, id, tile):
        """True if the chain that a tile's index entry names has a reference."""
        entry = self.entry(id, tile)
        if entry.kind not in (STORED, PACKED):
            return False
        need(entry.chain < len(self.chains), f"array {id:#x} tile {tile}: chain {entry.chain} of {len(self.chains)}")
        return any("ref" in step for step in self.chains[entry.chain] if step["id"] == "nc3z.num")

    def definition(self, variable, number):
        """The decoded bytes of a variable's definition."""
        what = f"definition {number} of variable {variable}"
        id = DEFINITIONS + variable
        need(id in self.rows and number < self.rows[id].count, f"{what}: missing")
        entry = self.entry(id, number)
        need(entry.kind == STORED, f"{what}: not a block")
        block = self.block_at(entry.offset)
        need(block, f"{what}: no block at {entry.offset}")
        need(block.header_crc == entry.check, f"{what}: the block is not the one the index means")
        need((block.kind, block.variable, block.tile, block.chain, block.stored_length)
             == (2, id, number, entry.chain, entry.length), f"{what}: block and index disagree")
        need(block.chain == 0, f"{what}: chain {block.chain}")
        return self.decode_block(block)

    # ------------------------------------------------------------ section 8: tiles

    def tile(self, id, tile):
        """The decoded bytes of a tile, big-endian."""
        what = f"array {id:#x} tile {tile}"
        length = self.tiles[id].elements(tile) * self.tiles[id].array.element
        entry = self.entry(id, tile)
        if entry.kind in (ABSENT, LOST):
            raise Refused(f"{what}: {'absent' if entry.kind == ABSENT else 'lost'}")
        if entry.kind == CONSTANT:
            size = self.tiles[id].array.element
            value = struct.pack("<Q", entry.offset)
            need(not any(value[size:]), f"{what}: bytes after the constant value")
            return value[:size] * (length // size)
        if entry.kind == PACKED:
            return self.member(entry, length, id, tile)
        block = self.block_at(entry.offset)
        need(block, f"{what}: no block at {entry.offset}")
        need(block.header_crc == entry.check, f"{what}: the block is not the one the index means")
        need((block.kind, block.variable, block.tile, block.chain, block.stored_length, block.decoded_length)
             == (0, id, tile, entry.chain, entry.length, length), f"{what}: block and index disagree")
        return self.decode_block(block)

    def put(self, file, ids):
        """Write the header and these arrays into their places in `file`, which has the original's length."""
        file[:len(self.header_bytes)] = self.header_bytes
        for id in ids:
            tiles = self.tiles[id]
            for tile in range(tiles.count):
                data = self.tile(id, tile)
                for inside, first, n in tiles.pieces(tile):
                    tiles.array.put(file, first, data[inside:inside + n])

    def restore(self, file):
        """Write every byte of the original into `file` (of its full length) and compare the digest."""
        need(not self.trailer.required & 2, "tiles are lost: the original cannot be restored")
        self.put(file, self.tiles)
        if self.trailer.digest == 1:
            sha = hashlib.sha256()
            for at in range(0, self.length, 1 << 20):
                sha.update(file[at:at + (1 << 20)])
            need(sha.digest() == self.trailer.sha256, "the restored file has another SHA-256")
            self._compare_record(bytes(file))

    def recorded_digests(self):
        """Digests of the content on record (digest.md, section 8): an object, or None where there are none of this file."""
        record = self.metadata.get("content")
        if self.trailer.digest != 1 or not isinstance(record, dict) or record.get("of") != self.trailer.sha256.hex()[:16]:
            return None
        variables = record.get("values", [])
        some = [record[key] for key in ("file", "md5") if key in record] + (variables if isinstance(variables, list) else [None])
        sane = all(isinstance(text, str) and set(text) <= set("0123456789abcdef") for text in some)
        return record if sane and len(variables) in (0, len(self.header.vars)) else None

    def _compare_record(self, file):
        record = self.recorded_digests()
        if record and ("file" in record or record.get("values")):
            content, own = nc3z_digest.Classic(io.BytesIO(file)).digests()
            need(record.get("file", content.hex()) == content.hex(), "the root is not the one on record")
            need(not record.get("values") or record["values"] == [d.hex() for d in own], "digests of variables are not those on record")
        if record and "md5" in record:
            need(record["md5"] == hashlib.md5(file).hexdigest(), "the MD5 is not the one on record")

    def probe(self):
        """All blocks that can be found without the index, in the order of the archive."""
        at = HEAD_AT
        while True:
            at = self.data.find(BLOCK_MARKER, at)
            if at < 0:
                return
            block = None
            if at % 8 == 0:
                try:
                    block = self.block_at(at)
                except Corrupt:
                    pass
            if block and at + 44 + block.stored_length <= len(self.data):
                yield block
                at = round_up(at + 44 + block.stored_length, 8)
            else:
                at += 1


def container_members(data):
    """(position, variable, tile, chain, stored length) of each member of a decoded container."""
    need(len(data) >= 4, "packed container: ends early")
    size = struct.unpack_from("<I", data)[0]
    directory = Bytes(data[4:4 + size], "packed container")
    need(len(directory.data) == size, "packed container: ends early")
    at = 4 + size
    for _ in range(directory.varint()):
        variable, tile, chain, stored = (directory.varint() for _ in range(4))
        yield at, variable, tile, chain, stored
        at += stored
    directory.end()
    need(at == len(data), "packed container: members do not fill it")


# ---------------------------------------------------------------- commands


def command_restore(args):
    archive = Archive(args.data)
    if os.path.exists(args.output) and not args.force:
        raise Refused(f"{args.output} exists")
    temporary = f"{args.output}.part{os.getpid()}"
    try:
        with open(temporary, "w+b") as out:
            out.truncate(archive.length)
            with mmap.mmap(out.fileno(), archive.length) as file:
                archive.restore(file)
        os.replace(temporary, args.output)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def command_info(args):
    a = Archive(args.data)
    h, c, t = a.header, a.classic, a.trailer
    print(f"nc3z archive, format {MAJOR}.{a.minor}, generation {t.generation}, {len(args.data)} bytes")
    print(f"original: CDF-{h.version}, {a.length} bytes, header {h.length}, {c.n} records of {c.stride} bytes")
    print(f"digest: {('none', t.sha256.hex(), 'stale')[t.digest]}")
    for key, digest in (a.recorded_digests() or {}).items():
        print(f"on record, {key}: {digest}")
    for i, chain in enumerate(a.chains):
        print(f"chain {i}: {json.dumps(chain, separators=(',', ':'))}")
    for s in a.sections:
        print(f"section {s.kind}: encoding {s.encoding}, {s.length} bytes at {s.offset}")
    kinds = "absent stored constant packed lost".split()
    for id, tiles in sorted(a.tiles.items()):
        name = h.vars[a.variable[id & 0x3FFFFFFF]].name.decode(errors="replace") if id < GAP else ""
        count = [0] * 5
        for tile in range(tiles.count):
            count[a.entry(id, tile).kind] += 1
        counts = ", ".join(f"{n} {k}" for k, n in zip(kinds, count) if n) or "no tiles"
        shape = "x".join(map(str, tiles.array.shape))
        print(f"array {id:#x} {name!r}: {shape}, {tiles.array.present} present, "
              f"layout {tiles.layout.kind} {tiles.layout.sizes}, {counts}")
    for id in c.aliased:
        print(f"variable {id} {h.vars[id].name.decode(errors='replace')!r}: aliased")


def command_probe(args):
    archive = Archive.__new__(Archive)              # the superblock gives the salt; nothing else is needed
    archive.data, archive.seen = long_form(args.data), 0
    archive._superblock()
    for b in archive.probe():
        try:
            archive.payload(b)
            state = "sound"
        except Corrupt:
            state = "damaged"
        print(f"{b.offset}: generation {b.generation} variable {b.variable:#x} kind {b.kind} tile {b.tile} "
              f"chain {b.chain} decoded {b.decoded_length} stored {b.stored_length} {state}")


def main():
    parser = argparse.ArgumentParser(description="reference reader of nc3z archives")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, run in (("restore", command_restore), ("info", command_info), ("probe", command_probe)):
        command = commands.add_parser(name)
        command.add_argument("archive")
        command.set_defaults(run=run)
        if name == "restore":
            command.add_argument("-o", "--output", required=True)
            command.add_argument("--force", action="store_true")
    args = parser.parse_args()
    try:
        with open(args.archive, "rb") as file:
            args.data = file.read()
        args.run(args)
    except Corrupt as error:
        print(f"corrupt: {error}", file=sys.stderr)
        return 3
    except (Refused, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The short form of small archives (archive.md, section 12): from its bytes to those of the archive in the long form.

Part of the reference reader, and like it written from the text alone.
"""

import hashlib
import struct
import zlib

from nc3z_bytes import MAGIC, MAJOR, MINOR, shuffle

PREFIX = 68
LENGTH, CONTENT, ENTRIES = 64 << 10, 1 << 20, 1 << 14
TEXT = b"netCDF in nc3z\r\n"
DIRECTORY, WHOLE = bytes([MAJOR, 1]), bytes([MAJOR, 2])    # major version and form
GAP = 0xC0000000
CONTAINERS, CONSTANTS = GAP + 1, GAP + 2
TILE, CONTAINER, DEFINITION, LIST = range(4)
INSIDE = 4


class Broken(Exception):
    """The bytes break a rule of the text."""


class Unknown(Exception):
    """The archive may be sound, but is of a kind that this reader does not know."""


def need(condition, what):
    if not condition:
        raise Broken(f"short form: {what}")


def is_short(data):
    return data[:10] in (MAGIC + DIRECTORY, MAGIC + WHOLE)


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        need(n <= len(self.data) - self.at, "ends early")
        self.at += n
        return self.data[self.at - n:self.at]

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]

    def varint(self, bits=64):
        value = 0
        for i in range(10):
            byte = self.take(1)[0]
            value |= (byte & 127) << 7 * i
            if byte < 128:
                need(byte or i == 0, "a varint is not in its shortest form")
                need(value < 1 << bits, "a number is too large")
                return value
        raise Broken("short form: a varint is too long")


def members(c):
    """The rows of a container's members: (variable, tile, chain, stored length, CRC of the decoded tile)."""
    count = c.varint()
    need(count <= len(c.data) // 4, "more members than bytes")
    ids, following = [], 0
    for _ in range(count):
        ids.append((following + c.varint(32)) % (1 << 32))
        following = ids[-1] + 1
    tiles = [c.varint() for _ in range(count)]
    chains = [c.varint(16) for _ in range(count)]
    lengths = [c.varint(32) for _ in range(count)]
    checks = [c.u32() for _ in range(count)]
    return list(zip(ids, tiles, chains, lengths, checks))


class Long:
    """The long form as it grows."""

    def __init__(self, salt, lossy):
        self.out, self.salt, self.lossy, self.entries = bytearray(), salt, lossy, {}

    def align(self):
        self.out += bytes(-len(self.out) % 8)
        return len(self.out)

    def crc(self, offset, data):
        return zlib.crc32(self.salt + struct.pack("<Q", offset) + data)

    def block(self, kind, variable, tile, chain, decoded_length, decoded_crc, payload, payload_crc):
        """Appends a block; gives its offset and the CRC of its header."""
        offset = self.align()
        header = b"\xb1NCb" + struct.pack("<IIBBHQIIII", 1, variable, kind, self.lossy, chain, tile, decoded_length, len(payload),
                                          payload_crc, decoded_crc)
        check = self.crc(offset, header)
        self.out += header + struct.pack("<I", check) + payload
        return offset, check

    def entry(self, variable, tile, *fields):
        need((variable, tile) not in self.entries, f"array {variable:#x} tile {tile} twice")
        need(len(self.entries) < ENTRIES, "too many index entries")
        self.entries[variable, tile] = struct.pack("<BBHIQII", *fields)

    def constants(self, data):
        c = Cursor(data)
        while c.at < len(data):
            variable, first, count = c.varint(32), c.varint(), c.varint()
            need(count >= 1 and first + count <= 32, "constant tiles of an array beyond 32")
            size = c.take(1)[0]
            need(size in (1, 2, 4, 8), f"elements of {size} bytes")
            value = int.from_bytes(c.take(size).ljust(8, b"\0"), "little")
            for tile in range(first, first + count):
                self.entry(variable, tile, 2, 0, 0, 0, value, 0, 0)

    def table(self):
        rows, entries = [], []
        for variable, tile in sorted(self.entries):
            if not rows or rows[-1][0] != variable:
                rows.append([variable, 0])
            need(tile == rows[-1][1], f"array {variable:#x} has no tile {rows[-1][1]}")
            rows[-1][1] += 1
            need(rows[-1][1] <= 32, f"array {variable:#x} has more than 32 tiles")
            entries.append(self.entries[variable, tile])
        packed = b"".join(struct.pack("<IQQ", variable, count, 0) for variable, count in rows)
        return struct.pack("<II", len(rows), len(entries)) + shuffle(packed, 20) + shuffle(b"".join(entries), 24)


def expand(data, unpack, classic):
    """The archive in the long form. `unpack(packed, most)` gives a content; `classic(file)` what follows from a classic file: the length
    of its header, the tile lengths of its variables, paddings and gap, and the bytes of each array that has some, by id."""
    need(len(data) <= LENGTH, f"{len(data)} bytes")
    start = Cursor(data)
    prefix = start.take(PREFIX)
    length, crc = struct.unpack_from("<II", prefix, 12)
    packed = start.take(length)
    need(crc == zlib.crc32(prefix[:16] + prefix[20:] + packed), "checksum of prefix and content")
    need(prefix[20:36] == TEXT, "text")
    content = unpack(packed, CONTENT)
    if prefix[8:10] == WHOLE:
        content = directory(content, classic)
    return long_form(start, content, prefix[36:68])


def directory(content, classic):
    """The directory that a file as a whole stands for."""
    c = Cursor(content)
    required = c.varint()
    metadata = c.take(c.varint())
    file = c.take(len(content) - c.at)
    header, tile_lengths, arrays = classic(file)
    layouts = b"".join(varint(n) for n in tile_lengths)
    head = varint(header) + file[:header] + varint(4) + b"[[]]" + layouts
    out = varint(required) + varint(len(file)) + varint(len(head)) + head + varint(len(metadata)) + metadata
    arrays = sorted(arrays.items())
    if not arrays:
        return out + varint(0)
    out += varint(1) + bytes([CONTAINER | INSIDE]) + varint(len(arrays))
    following = 0
    for id, _ in arrays:
        out += varint((id - following) % (1 << 32))
        following = id + 1
    out += bytes(2 * len(arrays))                                               # tile 0 by chain 0
    out += b"".join(varint(len(data)) for _, data in arrays)
    out += b"".join(struct.pack("<I", zlib.crc32(data)) for _, data in arrays)
    return out + b"".join(data for _, data in arrays)


def long_form(start, content, sha256):
    """`start` is at the beginning of the payloads."""
    c = Cursor(content)
    required = c.varint(32)
    if required & ~7:
        raise Unknown(f"required features {required:#x}")
    need(required <= 1, f"required features {required}")
    original_length = c.varint()
    head = c.take(c.varint())
    metadata = c.take(c.varint())

    in_head = Cursor(head)
    header = in_head.take(in_head.varint())
    salt = hashlib.sha256(hashlib.sha256(header).digest() + struct.pack("<Q", original_length)).digest()[:4] + sha256[:4]
    long = Long(salt, required & 1)
    superblock = bytearray(MAGIC + struct.pack("<HHI", MAJOR, MINOR, 0) + salt)
    superblock += struct.pack("<QIII", original_length, len(head), len(head), zlib.crc32(head))
    text = b"\nnetCDF in nc3z\nnc3z restore FILE\nFormat: nc3z spec/archive.md\n\n"
    superblock += struct.pack("<I", zlib.crc32(bytes(superblock) + text)) + text + bytes(48)
    long.out += superblock + head

    begin = long.align()
    containers = lists = 0
    for _ in range(c.varint()):
        code = c.take(1)[0]
        need(code <= 7, f"a block of kind {code}")
        kind, inside = code & 3, bool(code & INSIDE)
        rows = []
        if kind == CONTAINER:
            rows = members(c)
            variable, tile = CONTAINERS, containers
            containers += 1
        elif kind == LIST:
            need(inside, "a constants list behind the directory")
            variable, tile = CONSTANTS, lists
            lists += 1
        else:
            variable, tile = c.varint(32), c.varint()
        directory = varint(len(rows)) + b"".join(varint(n) for row in rows for n in row[:4])
        directory = struct.pack("<I", len(directory)) + directory
        if inside:
            payload = c.take(sum(row[3] for row in rows) if kind == CONTAINER else c.varint())
            payload = directory + payload if kind == CONTAINER else payload
            chain, decoded_length, decoded_crc = 0, len(payload), zlib.crc32(payload)
            payload_crc = zlib.crc32(struct.pack("<IQ", variable, tile) + payload)
        else:
            chain, stored = c.varint(16), c.varint(32)
            payload_crc = c.u32()
            payload = start.take(stored)
            decoded_length, decoded_crc = (c.varint(32), c.u32()) if chain else (stored, zlib.crc32(payload))
        offset, check = long.block(kind, variable, tile, chain, decoded_length, decoded_crc, payload, payload_crc)
        if kind == CONTAINER:
            position = len(directory)
            for number, place, member_chain, stored, check in rows:
                long.entry(number, place, 3, 0, member_chain, stored, offset, check, position)
                position += stored
        elif kind == LIST:
            long.constants(payload)
        else:
            long.entry(variable, tile, 1, 0, chain, len(payload), offset, check, 0)
    need(c.at == len(c.data), "directory: bytes after its end")
    need(start.at == len(start.data), f"{len(start.data) - start.at} bytes after the end")
    end = long.align()

    table = struct.pack("<HHIQQ", 1, 0, zlib.crc32(head), 160, len(head))
    for kind, content in ((2, long.table()), (3, metadata)):
        table += struct.pack("<HHIQQ", kind, 0, zlib.crc32(content), long.align(), len(content))
        long.out += content
    at = long.align()
    long.out += table
    trailer_at = len(long.out)
    trailer = b"\xb1NCt" + struct.pack("<I8sIIQIIQQQQQ32sII", 1, salt, required, 0, at, len(table), long.crc(at, table), begin, end, 0,
                                       trailer_at + 128, original_length, sha256, 1, 0)
    return bytes(long.out) + trailer + struct.pack("<I", long.crc(trailer_at, trailer)) + b"CZ\r\n"

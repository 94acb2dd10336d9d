"""Archives whose checksums are right and whose claims are not: small files that ask for much."""

import hashlib
import struct
import sys
from pathlib import Path

import zstandard
from common import NIGHT

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "spec/reference"))
from make_test_archive import TEXT, varint  # noqa: E402
from nc3z_bytes import MAGIC, MAJOR, MINOR  # noqa: E402
from nc3z_ref import (BLOCK_MARKER, CONSTANT, CONTAINERS, HEAD_AT, PACKED, S_HEAD, S_METADATA, S_PAGES, S_TABLE, STORED,  # noqa: E402
                      TRAILER_END, TRAILER_MARKER, crc32, salted_crc, shuffle)

# Of the largest headers that may be: all of one at night, a quarter by day.
PART = 1 if NIGHT else 4
METADATA = b'{"writer":"forge"}'


def zstd(data, level=3):
    return zstandard.ZstdCompressor(level=level).compress(data)


def be(*numbers):
    return b"".join(n.to_bytes(4, "big") for n in numbers)


def header(count, begin, dim=None, numrecs=0):
    """A CDF-1 header of `count` variables of bytes, without names; `begin(i)` says where. Scalars, or of one dimension."""
    dims = be(10, 1, 1) + b"x\0\0\0" + be(dim) if dim is not None else be(0, 0)
    rank = be(1, 0) if dim is not None else be(0)
    variables = b"".join(be(0) + rank + be(0, 0, 1, 4, begin(i)) for i in range(count))
    return b"CDF\x01" + be(numrecs) + dims + be(0, 0) + be(11, count) + variables


class Forge:
    """An archive put together by hand, generation by generation."""

    def __init__(self, header, length, layouts=b"\x01", chains=b"[[]]", salt=None, pack=None):
        """`pack` makes the stored head copy of the decoded one, instead of zstd where that is smaller."""
        self.head = varint(len(header)) + header + varint(len(chains)) + chains + layouts
        self.salt = hashlib.sha256(hashlib.sha256(header).digest() + struct.pack("<Q", length)).digest()[:8]
        self.salt = salt or self.salt
        self.length, self.generation, self.previous = length, 0, 0
        stored = zstd(self.head, 9)
        self.stored_head = pack(self.head) if pack else stored if len(stored) < len(self.head) else self.head
        top = MAGIC + struct.pack("<HHI8sQIII", MAJOR, MINOR, 0, self.salt, length, len(self.stored_head), len(self.head),
                                  crc32(self.stored_head))
        text = TEXT.ljust(64, b"\0")
        self.out = bytearray(top + struct.pack("<I", crc32(top + text)) + text + bytes(48) + self.stored_head)
        self.begin = self.align()

    def align(self):
        self.out += bytes(-len(self.out) % 8)
        return len(self.out)

    def block(self, variable, kind, chain, tile, decoded_length, decoded_crc, stored):
        at = self.align()
        raw = BLOCK_MARKER + struct.pack("<IIBBHQIIII", self.generation + 1, variable, kind, 0, chain, tile, decoded_length,
                                         len(stored), crc32(struct.pack("<IQ", variable, tile) + stored), decoded_crc)
        check = salted_crc(self.salt, at, raw)
        self.out += raw + struct.pack("<I", check) + stored
        return at, check

    def container(self, number, members, chain, encode, filler=b""):
        """A container of (variable, tile, chain, stored, crc of the decoded tile); gives the members' index entries."""
        directory = varint(len(members)) + b"".join(varint(v) + varint(t) + varint(c) + varint(len(s)) for v, t, c, s, _ in members)
        decoded = struct.pack("<I", len(directory)) + directory + b"".join(m[3] for m in members) + filler
        at, _ = self.block(CONTAINERS, 1, chain, number, len(decoded), crc32(decoded), encode(decoded))
        entries, start = [], 4 + len(directory)
        for _, _, member_chain, stored, check in members:
            entries.append(struct.pack("<BBHIQII", PACKED, 0, member_chain, len(stored), at, check, start))
            start += len(stored)
        return entries

    def seal(self, rows=(), entries=b"", table=None, metadata=METADATA, head=None, compress=True, required=0, optional=0,
             more=(), end=None, pages=b""):
        """Ends a generation: sections, section table, trailer. `head` is a head section to store instead of the first one; `more` are
        further sections, `end` is where blocks end if not here, `pages` the entry of a section that stands behind them."""
        end = end or self.align()
        self.generation += 1
        if table is None:
            rows = b"".join(struct.pack("<IQQ", *row) for row in rows)
            table = struct.pack("<II", len(rows) // 20, len(entries) // 24) + shuffle(rows, 20) + shuffle(entries, 24)
        sections = pages
        for kind, data in ((S_HEAD, head), (S_TABLE, table), (S_METADATA, metadata)):
            if data is None:
                packed = self.stored_head is not self.head
                sections += struct.pack("<HHIQQ", kind, packed, crc32(self.stored_head), HEAD_AT, len(self.stored_head))
                continue
            stored = zstd(data) if compress and kind != S_HEAD else data
            packed = stored[:4] == b"\x28\xb5\x2f\xfd"
            sections += struct.pack("<HHIQQ", kind, packed, crc32(stored), self.align(), len(stored))
            self.out += stored
        for kind, encoding, crc, stored in more:
            sections += struct.pack("<HHIQQ", kind, encoding, crc, self.align(), len(stored))
            self.out += stored
        at = self.align()
        self.out += sections
        here = self.align()
        trailer = TRAILER_MARKER + struct.pack(
            "<I8sIIQIIQQQQQ32sII", self.generation, self.salt, required, optional, at, len(sections), salted_crc(self.salt, at, sections),
            self.begin, end, self.previous, here + 128, self.length, bytes(32), 0, 0)
        self.out += trailer + struct.pack("<I", salted_crc(self.salt, here, trailer)) + TRAILER_END
        self.previous, self.begin = here, len(self.out)
        return self

    def bytes(self):
        return bytes(self.out)


def record_file(path, number):
    """Forty records of a smooth field."""
    import netCDF4
    import numpy as np

    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
        d.createDimension("t", None)
        d.createDimension("x", 50)
        t = np.arange(37) + 37 * number
        d.createVariable("t", "f8", ("t",)).units = "days since 2000-01-01"
        d["t"][:] = t
        d.createVariable("v", "f4", ("t", "x"))[:] = np.round(280 + np.cumsum(np.sin(t[:, None] * 0.3 + np.arange(50) * 0.1), axis=0), 2)
    return path


def constant(value):
    return struct.pack("<BBHI8sII", CONSTANT, 0, 0, 0, value, 0, 0)


def one_scalar():
    """A file of one byte variable of one element."""
    made = header(1, lambda _: 60)
    return Forge(header(1, lambda _: len(made)), len(made) + 1, layouts=b"\0\1" + b"\1"), [(0, 1, 0)], constant(b"\7")


def scalar_with(metadata):
    forge, rows, entries = one_scalar()
    return forge.seal(rows, entries, metadata=metadata).bytes()


def sound():
    return scalar_with(METADATA)


def metadata_of_values():
    return scalar_with(b'{"a":[' + b"[]," * 20_000_000 + b'[]]}')


def metadata_of_keys():
    return scalar_with(b'{"a":[' + b'{"":0},' * 8_000_000 + b"0]}")


def metadata_of_chains():
    return scalar_with(b'{"chains":[' + b"[{\"id\":\"\"}]," * 4_000_000 + b"[]]}")


def metadata_of_one_string():
    return scalar_with(b'{"a":"' + b"x" * (60 << 20) + b'"}')


def metadata_that_is_wrong():
    return scalar_with(b'{"writer":["' + b"x" * (60 << 20) + b'"]}')


def chain_table():
    made = header(1, lambda _: 60)
    chains = b"[[]" + b",[]" * 20_000_000 + b"]"
    forge = Forge(header(1, lambda _: len(made)), len(made) + 1, layouts=b"\0\1" + b"\1", chains=chains)
    return forge.seal([(0, 1, 0)], constant(b"\7")).bytes()


def header_of_variables():
    one = be(0, 0, 0, 0, 1, 4, 0)
    count = (250 << 20) // len(one)
    text = b"CDF\x01" + be(0, 0, 0, 0, 0, 11, count) + one * count
    # All overlap the header: none owns a byte, and none has a tile.
    return Forge(text, len(text), layouts=b"\0\1" * count + b"\1").seal().bytes()


def header_of_attributes():
    one = be(0, 1, 0)
    count = (250 << 20) // len(one)
    text = b"CDF\x01" + be(0, 0, 0, 12, count) + one * count + be(0, 0)
    return Forge(text, len(text), layouts=b"\1").seal().bytes()


def lost_tiles_of_many_attributes():
    """A quarter of a million lost tiles of a variable whose fill value must be searched among many attributes."""
    tiles, one = (1 << 18) // PART - 1, be(8) + b"nothing\0" + be(1, 0)
    count = (32 << 20) // PART // len(one)

    def text(begin):
        return (b"CDF\x01" + be(0, 10, 1, 1) + b"x\0\0\0" + be(tiles, 0, 0, 11, 1) + be(1) + b"v\0\0\0" + be(1, 0, 12, count)
                + one * count + be(1, tiles + 1, begin))

    length = len(text(0))
    return Forge(text(length), length + tiles, layouts=b"\0\1\1").seal().bytes()


def keys_within_limits():
    return scalar_with(b'{"a":[' + b'{"":0},' * 130_000 + b"0]}")


def attributes_within_limits():
    one = be(1) + b"a\0\0\0" + be(1, 1) + b"\1\0\0\0"
    count = (32 << 20) // PART // len(one)
    text = b"CDF\x01" + be(0, 0, 0, 12, count) + one * count + be(0, 0)
    return Forge(text, len(text), layouts=b"\1").seal().bytes()


def variables_within_limits():
    one = be(0, 0, 0, 0, 1, 4, 0)
    text = b"CDF\x01" + be(0, 0, 0, 0, 0, 11, 131_072) + one * 131_072
    return Forge(text, len(text), layouts=b"\0\1" * 131_072 + b"\1").seal().bytes()


def variable_table():
    forge, _, _ = one_scalar()
    count = 10_000_000
    rows = b"".join(struct.pack("<I", i) for i in range(count))
    raw = struct.pack("<II", count, 0) + shuffle(rows, 4) + (b"\1" + bytes(15)) * count
    return forge.seal(table=raw).bytes()


def aliased_variables():
    """A hundred thousand variables that are all the same bytes; by day a quarter of them."""
    count, dim = 100_000 // PART, 1000
    size = len(header(0, None, dim)) + 32 * count
    text = header(count, lambda _: size, dim)
    length = size + dim
    forge = Forge(text, length, layouts=(b"\0" + varint(dim)) * count + b"\1")
    return forge.seal([(0, 1, 0)], constant(b"\7")).bytes()


def long_head_copies():
    """Each generation has another copy of the head, which decodes to 512 MiB."""
    forge, rows, entries = one_scalar()
    for i in range(300):
        forge.seal(rows, entries, head=None if i == 299 else zstd(bytes([i & 255]) * (512 << 20), 1) if i < 2 else
                   long_head_copies.last)
        if i < 2:
            long_head_copies.last = zstd(bytes([i]) * (512 << 20), 1)
    return forge.bytes()


def large_containers(size=32 << 20, containers=6, members=300):
    """Members of a few bytes that share containers of 32 MiB, every tile in another container than the one before."""
    tiles, lengths = containers * members, containers * members
    size_of_header = len(header(1, lambda _: 0, lengths))
    text = header(1, lambda _: size_of_header, lengths)
    chains = b'[[],[{"id":"zstd","level":1}]]'
    forge = Forge(text, size_of_header + lengths, layouts=b"\0\1" + b"\1", chains=chains)
    found = {}
    for c in range(containers):
        mine = [(0, t, 0, bytes([t & 255]), crc32(bytes([t & 255]))) for t in range(c, tiles, containers)]
        # The last member holds the rest: no tile of this file, but the container is well-formed.
        rest = (0, 1 << 40 | c, 0, bytes(size), 0)
        for (_, t, *_), entry in zip(mine, forge.container(c, mine + [rest], 1, zstd)):
            found[t] = entry
    return with_pages(forge, [found[t] for t in range(tiles)])


def small_containers():
    """The same with containers of 7 MiB: as large as they may be. So many members that the budget for decoding suffices even where no container is
    found in the cache again, which two threads on idle processors come near to: 1,200 decodes of 200 members each went beyond it in some runs."""
    return large_containers(7 << 20, 12, 150)


def containers_by_turns():
    """84 MiB to decode where a container is decoded once for all tiles of a window; 12 GiB, which is beyond the budget, where it is decoded once for 16 of them."""
    return large_containers(7 << 20, 12, 2400)


def with_pages(forge, entries):
    """Ends the archive with a tree of one root over leaves."""
    from nc3z_ref import PAGE_LEAF, PAGE_SIZE

    def page(level, first, count, body):
        at = forge.align()
        raw = struct.pack("<IHHIQ", 0, level, count, 0, first) + body
        raw = raw.ljust(PAGE_SIZE - 4, b"\0")
        forge.out += struct.pack("<I", salted_crc(forge.salt, at, raw)) + raw
        return at

    end = forge.align()
    leaves = [page(0, i, len(entries[i:i + PAGE_LEAF]), b"".join(entries[i:i + PAGE_LEAF]))
              for i in range(0, len(entries), PAGE_LEAF)]
    root = leaves[0] if len(leaves) == 1 else page(1, 0, len(leaves), b"".join(struct.pack("<Q", at) for at in leaves))
    pages = struct.pack("<HHIQQ", S_PAGES, 2, 0, end, len(forge.out) - end)
    return forge.seal([(0, len(entries), root)], end=end, pages=pages).bytes()


def padded_chunks(count=200, side=1 << 28):
    """Scalars' worth of data in padded chunks of 256 MiB each."""
    size = len(header(0, None, 1)) + 32 * count
    text = header(count, lambda i: size + i, 1)
    chains = b'[[],[{"id":"zstd","level":1}]]'
    forge = Forge(text, size + count, layouts=(b"\2" + varint(side)) * count + b"\1", chains=chains)
    decoded = bytes(side)
    stored, check = zstd(decoded, 1), crc32(decoded)
    entries, rows = b"", []
    for i in range(count):
        at, head_crc = forge.block(i, 0, 1, 0, side, check, stored)
        entries += struct.pack("<BBHIQII", STORED, 0, 1, len(stored), at, head_crc, 0)
        rows.append((i, 1, 0))
    return forge.seal(rows, entries).bytes()


FORGED = [lost_tiles_of_many_attributes, metadata_of_values, metadata_of_keys, metadata_of_chains, metadata_of_one_string, metadata_that_is_wrong, chain_table,
          header_of_variables, header_of_attributes, variable_table, aliased_variables, long_head_copies, large_containers,
          small_containers, padded_chunks, keys_within_limits, attributes_within_limits, variables_within_limits]

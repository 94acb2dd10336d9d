#!/usr/bin/env python3
"""Makes chains.json: payloads of chains (archive.md, section 4), one for each rule that a library may see otherwise, and what they decode to.

    make_chains.py [--check]      --check compares with the file

Each has the chain, the payload and the decoded length, and either `decoded` or `refused`: `corrupt` where the payload breaks a rule, `unknown` where the chain
does. The payloads are put together by hand, but for streams of zlib, bzip2, LZMA, zstd and pco, whose bytes may differ between versions of a library.
"""

import bz2
import json
import lzma
import struct
import sys
import zlib
from pathlib import Path

import zstandard

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "reference"))
from nc3z_bytes import bitshuffle, lz4, shuffle  # noqa: E402

TEXT = b"a text of some bytes, some bytes, some bytes and thirteen more"
LZMA = {"id": "lzma", "format": 3, "check": -1, "preset": None, "filters": [{"id": 33, "dict_size": 4096, "lc": 3, "lp": 0, "pb": 2}]}
ZLIB, ZSTD = {"id": "zlib", "level": 6}, {"id": "zstd", "level": 3}
FIXED = {"id": "fixedscaleoffset", "offset": 0, "scale": 1}


def floats(*values):
    return b"".join(struct.pack(">I", v) if type(v) is int else struct.pack(">f", v) for v in values)


def binary32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def blosc(flags, size, length, block, blocks):
    """A frame of splits that are stored as they are."""
    table, body, at = b"", b"", 16 + 4 * len(blocks)
    for splits in blocks:
        table += struct.pack("<I", at + len(body))
        body += b"".join(struct.pack("<I", len(split)) + split for split in splits)
    frame = table + body
    return struct.pack("<4B3I", 2, 1, flags, size, length, block, 16 + len(frame)) + frame


def behind_a_codec():
    """Each object behind zlib: where it finds the length of its content, it decodes; else the chain is not known."""
    inner = zlib.compress(TEXT, 6)
    n = len(inner)
    sums = struct.pack("<I", zlib.crc32(inner))
    yield "zstd", ZSTD, zstandard.ZstdCompressor(level=3).compress(inner)
    yield "zlib", ZLIB, zlib.compress(inner)
    yield "gzip", {"id": "gzip", "level": 6}, zlib.compress(inner, wbits=31)
    yield "lz4", {"id": "lz4", "acceleration": 1}, lz4(inner)
    yield "bz2", {"id": "bz2", "level": 9}, bz2.compress(inner)
    yield "lzma", LZMA, None
    yield "shuffle", {"id": "shuffle", "elementsize": 4}, shuffle(inner, 4)
    yield "bitshuffle", {"id": "bitshuffle", "elementsize": 2, "blocksize": 0}, bitshuffle(inner, 2, 0)
    yield "blosc", {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0, "typesize": 1}, blosc(2, 1, n, n, [])[:12] \
        + struct.pack("<I", 16 + n) + inner
    yield "lz4h5", {"id": "lz4h5", "blocksize": 0}, struct.pack(">QII", n, n, n) + inner
    yield "lzf", {"id": "lzf"}, b"".join(bytes([len(inner[i:i + 32]) - 1]) + inner[i:i + 32] for i in range(0, n, 32))
    yield "crc32", {"id": "crc32", "location": "start"}, sums + inner
    yield "crc32 behind", {"id": "crc32", "location": "end"}, inner + sums
    yield "bitround", {"id": "bitround", "keepbits": 9}, inner
    yield "packbits", {"id": "packbits"}, None
    yield "delta", {"id": "delta", "dtype": "|u1", "astype": "|u1"}, None
    yield "fixedscaleoffset", dict(FIXED, dtype="|u1", astype="|u1"), None
    yield "pcodec", {"id": "pcodec", "level": 8, "mode_spec": "auto", "delta_spec": "auto", "paging_spec": "equal_pages_up_to",
                     "delta_encoding_order": None, "equal_pages_up_to": 262144, "dtype": ">i2"}, None


def pco_files():
    """Each mode and delta encoding of pco that its library writes."""
    import numpy as np
    from pcodec import ChunkConfig, DeltaSpec, ModeSpec, standalone

    rng = np.random.default_rng(3)
    walk = np.cumsum(rng.integers(-5, 6, 300)) + 1000           # more than a batch, where it is taken whole
    tenths = rng.integers(-999, 1000, 80) / 10
    some = rng.normal(size=9)
    none = DeltaSpec.no_op()
    for what, values, mode, delta in (
            ("classic, no deltas, int", walk[:80].astype("i4"), ModeSpec.classic(), none),
            ("classic, no deltas, a single number", walk[:1].astype("u2"), ModeSpec.classic(), none),
            ("classic, no deltas, floats of any bits", rng.integers(0, 1 << 32, 20, dtype="u4").view("f4"), ModeSpec.classic(), none),
            ("consecutive deltas of order 2, short", walk.astype("i2"), ModeSpec.classic(), DeltaSpec.try_consecutive(2)),
            ("lookback, uint64", np.tile(walk[:17] ** 3, 4).astype("u8"), ModeSpec.classic(), DeltaSpec.try_lookback()),
            ("convolution, int", walk[:90].astype("i4"), ModeSpec.classic(), DeltaSpec.try_conv1(4)),
            ("integers times a base, int64", (walk[:80] * 7 + 3).astype("i8"), ModeSpec.try_int_mult(7), DeltaSpec.try_consecutive(1)),
            ("floats times a base, double", tenths, ModeSpec.try_float_mult(0.1), none),
            ("floats times a base, float", tenths.astype("f4"), ModeSpec.try_float_mult(0.1), DeltaSpec.try_consecutive(1)),
            ("floats of fewer bits, double", rng.normal(size=40).astype("f4").astype("f8"), ModeSpec.try_float_quant(29), none),
            ("dictionary, double", rng.choice(some, 60), ModeSpec.try_dict(), none)):
        payload = bytes(standalone.simple_compress(values, ChunkConfig(mode_spec=mode, delta_spec=delta)))
        big = values.dtype.newbyteorder(">")
        step = {"id": "pcodec", "level": 8, "mode_spec": "auto", "delta_spec": "auto", "paging_spec": "equal_pages_up_to",
                "delta_encoding_order": None, "equal_pages_up_to": 262144, "dtype": big.str}
        yield f"pcodec: {what}", [step], payload, values.astype(big).tobytes()


def differences(add):
    """Section 3: tiles of the gap that are coded against an older one of `older`."""
    base, shuffled = {"id": "nc3z.base"}, {"id": "shuffle", "elementsize": 4}

    def named(older, kind=1, start=0):
        """The older tile's index entry and its three numbers: tile 3 of the gap."""
        return struct.pack("<BBHIQII", kind, 0, 0, len(older), 160, 7, start) + b"\x80\x80\x80\x80\x0c\x03" + bytes([len(older)])

    def coded(new, older):
        return bytes(a ^ b for a, b in zip(new, older.ljust(len(new), b"\0")))

    def packed(data):
        return zstandard.ZstdCompressor(level=3).compress(data)

    other = TEXT[:20] + b"another" + TEXT[27:]
    add("base: the difference as it is", [base], named(other) + coded(TEXT, other), TEXT, older=other)
    add("base: the older tile is a member of a container", [base], named(other, 3, 9) + coded(TEXT, other), TEXT, older=other)
    add("base: the difference in a frame", [base, ZSTD], named(other) + packed(coded(TEXT, other)), TEXT, older=other)
    add("base: an older tile that is shorter counts as continued with zeros", [base, ZSTD], named(other[:30]) + packed(coded(TEXT, other[:30])), TEXT, older=other[:30])
    longer = other + b" more"
    add("base: of an older tile that is longer the beginning counts", [base, shuffled, ZSTD], named(longer) + packed(shuffle(coded(TEXT, longer), 4)), TEXT, older=longer)
    add("base: the payload ends within the name of the older tile", [base], named(other)[:20], refused="corrupt", older=other)
    add("base: what it names is constant", [base], named(other, 2) + coded(TEXT, other), refused="corrupt", older=other)
    add("base: no key is known", [{"id": "nc3z.base", "of": 1}], named(other) + coded(TEXT, other), refused="unknown", older=other)
    add("base: only first in a chain", [shuffled, base], named(other) + coded(TEXT, other), refused="unknown", older=other)
    add("base: once in a chain", [base, base], named(other) + coded(TEXT, other), refused="unknown", older=other)
    add("base: the difference by the numeric codec", [base, {"id": "nc3z.num"}], named(other) + b"\1\0\0" + coded(TEXT, other), TEXT, older=other)
    add("base: no dictionary for the difference", [base, {"id": "nc3z.num", "dict": 0}], named(other) + b"\1\0\0" + coded(TEXT, other), refused="unknown", older=other)


def vectors():
    found = []

    def add(what, chain, payload, decoded=None, refused=None, length=len(TEXT), older=None):
        result = {"refused": refused} if refused else {"decoded": decoded.hex()}
        result = result if older is None else {"older": older.hex(), **result}
        found.append({"what": what, "chain": chain, "payload": payload.hex(), "length": length if refused else len(decoded), **result})

    for name, step, payload in behind_a_codec():
        if payload is None:
            add(f"{name} does not stand behind a codec", [ZLIB, step], b"\0" * 16, refused="unknown")
        else:
            add(f"{name} behind a codec finds the length of its content", [ZLIB, step], payload, TEXT)
    add("four codecs", [ZLIB] * 4, zlib.compress(zlib.compress(zlib.compress(zlib.compress(TEXT)))), TEXT)
    add("five codecs", [ZLIB] * 5, TEXT, refused="unknown")
    differences(add)

    # delta
    single = {"id": "delta", "dtype": ">f4", "astype": ">f4"}
    parts = [0.1, 0.2, 1e8, 1.5, -1e8]
    sums, total = [], None
    for part in map(binary32, parts):
        total = part if total is None else binary32(total + part)
        sums.append(total)
    add("delta of floats: the sum so far, rounded to the type, and the next", [single], floats(*parts), floats(*sums))
    add("delta of floats: what is not a number becomes one bit pattern, but the first element stays as it is", [single],
        floats(0x7FA00001, 1.0, 0xFFC12345), floats(0x7FA00001, 0x7FC00000, 0x7FC00000))
    add("delta of floats: infinity less infinity", [single], floats(0x7F800000, 0xFF800000), floats(0x7F800000, 0x7FC00000))
    small = {"id": "delta", "dtype": ">i2", "astype": "|i1"}
    add("delta of integers: differences with a sign are extended by it, sums wrap around at the type of the elements", [small],
        struct.pack(">4b", 100, 127, -128, -1), struct.pack(">4h", 100, 227, 99, 98))
    plain = {"id": "delta", "dtype": ">i2", "astype": "|u1"}
    add("delta of integers: differences without a sign", [plain], bytes([100, 255, 255]), struct.pack(">3h", 100, 355, 610))
    narrow = {"id": "delta", "dtype": "|u1", "astype": ">i4"}
    add("delta of integers: differences wider than the elements", [narrow], struct.pack(">3i", 200, 100, -301), bytes([200, 44, 255]))

    # fixedscaleoffset
    cut = dict(FIXED, dtype=">i2", astype=">f4")
    add("fixedscaleoffset: into integers, cut towards zero and at the ends of the type; what is not a number becomes 0", [cut],
        floats(3.99, -3.99, 1e10, -1e10, 0x7F800000, 0xFF800000, 0x7FC00000, 32768.0, -32769.0),
        struct.pack(">9h", 3, -3, 32767, -32768, 32767, -32768, 0, 32767, -32768))
    wide = dict(FIXED, dtype=">u8", astype=">f8")
    add("fixedscaleoffset: the ends of 64 bits", [wide], struct.pack(">4d", -1.0, 2.0**64, 2.0**63, 1.5),
        struct.pack(">4Q", 0, (1 << 64) - 1, 1 << 63, 1))
    single = {"id": "fixedscaleoffset", "offset": 0.1, "scale": 3, "dtype": ">f4", "astype": ">f4"}
    exact = [binary32(binary32(binary32(x) / 3) + binary32(0.1)) for x in (1.0, 2.0, 100.0)]
    add("fixedscaleoffset: in binary32 where the stored side is binary32; quotient and sum are rounded each", [single],
        floats(1.0, 2.0, 100.0), floats(*exact))
    packed = {"id": "fixedscaleoffset", "offset": 273.15, "scale": 100, "dtype": ">f4", "astype": ">i2"}
    add("fixedscaleoffset: in binary64 from integers, then rounded to binary32", [packed], struct.pack(">3h", 1, -2731, 32767),
        floats(*[x / 100 + 273.15 for x in (1, -2731, 32767)]))
    large = dict(FIXED, dtype=">f4", astype=">f8")
    add("fixedscaleoffset: overflow gives infinity; what is not a number becomes one bit pattern", [large],
        struct.pack(">2d", 1e300, -1e300) + bytes.fromhex("fff8000000000123"), floats(0x7F800000, 0xFF800000, 0x7FC00000))

    # lz4, shuffle, Blosc
    add("lz4 of no bytes: its block is the one byte 00", [{"id": "lz4", "acceleration": 1}], b"\0\0\0\0\0", b"")
    add("lz4 of no bytes: no block at all", [{"id": "lz4", "acceleration": 1}], b"\0\0\0\0", refused="corrupt", length=0)
    ragged = bytes(range(1, 24))
    add("shuffle leaves less than an element at the end", [{"id": "shuffle", "elementsize": 4}], shuffle(ragged, 4), ragged)
    long = bytes(range(250)) * 2 + bytes(range(30))                                   # 53 elements of 10 bytes
    bits = {"id": "bitshuffle", "elementsize": 10, "blocksize": 16}
    add("bitshuffle leaves the elements behind the last eight as they are", [bits], bitshuffle(long, 10, 16), long)
    step = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0, "typesize": 3}
    data = bytes(i * 7 & 255 for i in range(605))
    rows = [shuffle(data[:300], 3), shuffle(data[300:600], 3), data[600:]]
    add("blosc: each block is shuffled by itself; bytes behind its last whole element stay at its end", [step],
        blosc(0x11 | 1 << 5, 3, 605, 300, [[rows[0]], [rows[1]], [shuffle(data[600:], 3)]]), data)
    whole = bytes(i * 7 & 255 for i in range(401))
    add("blosc: a block of 401 bytes in one split, elements of 3", [step], blosc(0x11 | 1 << 5, 3, 401, 401, [[shuffle(whole, 3)]]), whole)
    add("blosc: a block in splits has whole elements", [step], blosc(1 | 1 << 5, 3, 401, 401, [[whole[:133], whole[133:266], whole[266:399], whole[399:]]]),
        refused="corrupt", length=401)
    thirds = shuffle(whole[:399], 3)
    add("blosc: a block of 399 bytes in three splits", [step], blosc(1 | 1 << 5, 3, 399, 399, [[thirds[:133], thirds[133:266], thirds[266:]]]), whole[:399])
    add("blosc: bits of a block whose elements are no multiple of eight are not shuffled", [step], blosc(0x14 | 1 << 5, 3, 303, 303, [[whole[:303]]]),
        whole[:303])
    stored = blosc(2, 3, 10, 10, [])
    add("blosc: stored as it is", [step], stored[:12] + struct.pack("<I", 26) + whole[:10], whole[:10])
    add("blosc: stored as it is, a byte too few", [step], stored[:12] + struct.pack("<I", 25) + whole[:9], refused="corrupt", length=10)
    for what, chain, payload, decoded in pco_files():
        add(what, chain, payload, decoded)
    add("pcodec: nothing behind the end", chain, payload + b"\0", refused="corrupt", length=len(decoded))
    add("pcodec: another number of elements", chain, payload, refused="corrupt", length=len(decoded) - 8)
    add("lzma: one stream, nothing behind it", [LZMA], lzma.compress(TEXT, lzma.FORMAT_RAW, filters=LZMA["filters"]) + b"\0", refused="corrupt")
    return found


def main():
    made, path = vectors(), HERE / "chains.json"
    if "--check" in sys.argv:
        stored = json.loads(path.read_text())
        same = [[{k: v for k, v in vector.items() if k != "payload"} for vector in some] for some in (stored, made)]
        assert same[0] == same[1], "chains.json is not what this makes"
        return
    path.write_text("[\n" + ",\n".join(json.dumps(vector) for vector in made) + "\n]\n")


if __name__ == "__main__":
    main()

"""Small classic files, written byte by byte, and documents that are compared with recorded ones."""

import os
import struct
from pathlib import Path

SNAPSHOTS = Path(__file__).resolve().parent / "snapshots"


def _header(records, dims, variables):
    """A CDF-1 header with one global attribute. Variables are (name, dimension numbers, type code, bytes): fixed variables first,
    then those whose first dimension is number 0, `time`, with the bytes of one record.
    """
    def name(raw):
        return struct.pack(">I", len(raw)) + raw + b"\0" * (-len(raw) % 4)

    def build(begin):
        out = b"CDF\x01" + struct.pack(">III", records, 10, len(dims))
        out += b"".join(name(n) + struct.pack(">I", length) for n, length in dims)
        out += struct.pack(">II", 12, 1) + name(b"title") + struct.pack(">I", 2) + name(b"a sample")
        out += struct.pack(">II", 11, len(variables))
        for n, ids, kind, size in variables:
            slot = size + -size % 4
            out += name(n) + struct.pack(f">I{len(ids)}I", len(ids), *ids) + struct.pack(">IIIII", 0, 0, kind, slot, begin)
            begin += slot
        return out

    return build(len(build(0)))


def noise(length):
    """Bytes that do not compress, always the same."""
    state, out = 0x9E3779B97F4A7C15, bytearray()
    while len(out) < length:
        state ^= state << 13 & (1 << 64) - 1
        state ^= state >> 7
        state ^= state << 17 & (1 << 64) - 1
        out += state.to_bytes(8, "big")
    return bytes(out[:length])


def small(name=b"tas"):
    """Three records of `flag(time)`, a short with padding, and `tas(time, x)`, after `x(x)` and three bytes `b(n)` with a gap.

    `x = 1..4`, `flag = 0..2`, `tas = 270 + time + x / 4`.
    """
    out = _header(3, [(b"time", 0), (b"x", 4), (b"n", 3)],
                  [(b"x", [1], 4, 16), (b"b", [2], 1, 3), (b"flag", [0], 3, 2), (name, [0, 1], 5, 16)])
    out += struct.pack(">4i", 1, 2, 3, 4) + bytes([7, 8, 9, 0])
    for record in range(3):
        out += bytes([0, record, 0, 0]) + struct.pack(">4f", *(270 + record + x / 4 for x in range(4)))
    return out


def noisy(length):
    """A variable `noise(n)` of bytes that do not compress, and `zero(n)`, constant."""
    length += -length % 4
    out = _header(0, [(b"time", 0), (b"n", length)], [(b"noise", [1], 1, length), (b"zero", [1], 1, length)])
    return out + noise(length) + bytes(length)


def many(count):
    """`count` variables of one int each."""
    variables = [(b"variable_%d" % n, [1], 4, 4) for n in range(count)]
    return _header(0, [(b"time", 0), (b"one", 1)], variables) + struct.pack(f">{count}I", *range(count))


def check_snapshot(case, name, found):
    """Compares a text with a recorded file. UPDATE_SNAPSHOTS=1 records it instead."""
    path = SNAPSHOTS / name
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(found, encoding="utf-8")
    case.assertEqual(found, path.read_text(encoding="utf-8"), f"{name} differs; UPDATE_SNAPSHOTS=1 records it")


def keys(document):
    """The keys of a JSON document, one path in each line. Rows of an array count as one."""
    paths = set()

    def walk(value, path):
        if isinstance(value, dict):
            for key, inner in value.items():
                paths.add(f"{path}.{key}")
                walk(inner, f"{path}.{key}")
        elif isinstance(value, list):
            for row in value:
                walk(row, f"{path}[]")

    walk(document, "")
    return "".join(f"{path}\n" for path in sorted(paths))

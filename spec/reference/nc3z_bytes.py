"""Byte filters and codecs of the archive's section 4 that Python has no library for: LZ4 blocks, byte shuffle and bit shuffle. Also
imports of packages that are not in Python's library."""

import importlib
import sys

#: The first bytes of an archive, and the version of the format that is read and written.
MAGIC = b"\x89NC3Z\r\n\x1a"
MAJOR, MINOR = 1, 0
#: The last commit that reads archives of major version 0.
LAST_OF_VERSION_0 = "6c620646477a"


def package(name):
    """A package of Python. Ends the program with a sentence if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        sys.exit(f"{sys.argv[0]}: the Python package `{name}` is not installed; `python3 -m pip install {name}` installs it")


class Later:
    """A package that is imported when it is first used."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, key):
        return getattr(package(self._name), key)


def unshuffle(data, size):
    """Undo HDF5's byte shuffle; a rest of less than `size` bytes stands at the end."""
    count = len(data) // size
    out = bytearray(data)
    # Elements longer than the data are none, whatever length a chain claims.
    for i in range(size if count else 0):
        out[i:count * size:size] = data[i * count:(i + 1) * count]
    return bytes(out)


def shuffle(data, size):
    count = len(data) // size
    return b"".join(data[i:count * size:size] for i in range(size if count else 0)) + data[count * size:]


def unlz4(data, length):
    """The bytes of NumCodecs' lz4: the decoded length, then one LZ4 block. ValueError where that is not so."""
    if len(data) < 4 or int.from_bytes(data[:4], "little") != length:
        raise ValueError(f"lz4 does not begin with the length {length}")
    return lz4_block(data[4:], length)


def lz4_block(data, length):
    """The bytes of one LZ4 block."""
    out, at = bytearray(), 0

    def byte():
        nonlocal at
        if at >= len(data):
            raise ValueError("lz4 block is cut")
        at += 1
        return data[at - 1]

    def extended(n):
        if n == 15:
            while True:
                more = byte()
                n += more
                if more != 255:
                    break
        return n

    while True:
        token = byte()
        literals = extended(token >> 4)
        if at + literals > len(data) or len(out) + literals > length:
            raise ValueError("lz4 literals leave the block")
        out += data[at:at + literals]
        at += literals
        if at == len(data):
            break
        back = byte() | byte() << 8
        match = extended(token & 15) + 4
        if not 1 <= back <= len(out) or len(out) + match > length:
            raise ValueError("lz4 match leaves the tile")
        for _ in range(match):
            out.append(out[-back])
    if len(out) != length:
        raise ValueError(f"lz4 block of {len(out)} bytes, expected {length}")
    return bytes(out)


def lz4(data):
    """A plain compressor: the last place of each four bytes is remembered; the end is literals, as the format asks."""
    def number(n):
        return b"" if n < 15 else b"\xff" * ((n - 15) // 255) + bytes([(n - 15) % 255])

    out, seen, at, anchor = bytearray(len(data).to_bytes(4, "little")), {}, 0, 0
    while at < len(data) - 12:
        key = data[at:at + 4]
        before = seen.get(key)
        seen[key] = at
        if before is None or at - before > 65535:
            at += 1
            continue
        match = 4
        while at + match < len(data) - 5 and data[before + match] == data[at + match]:
            match += 1
        literals = at - anchor
        out.append(min(literals, 15) << 4 | min(match - 4, 15))
        out += number(literals) + data[anchor:at] + (at - before).to_bytes(2, "little") + number(match - 4)
        at += match
        anchor = at
    rest = data[anchor:]
    return bytes(out) + bytes([min(len(rest), 15) << 4]) + number(len(rest)) + rest


def _blocks(length, size, block):
    """Byte ranges of the blocks of a bit-shuffled tile."""
    step = (block or max(8192 // size // 8 * 8, 128)) * size
    end = length // size // 8 * 8 * size
    for first in range(0, end, step):
        yield first, min(step, end - first)


def bitshuffle(data, size, block):
    out = bytearray(data)
    for first, length in _blocks(len(data), size, block):
        n = length // size
        rows = bytearray(length)
        for i in range(n):
            for bit in range(8 * size):
                value = data[first + i * size + bit // 8] >> bit % 8 & 1
                rows[bit * n // 8 + i // 8] |= value << i % 8
        out[first:first + length] = rows
    return bytes(out)


def unbitshuffle(data, size, block):
    out = bytearray(data)
    for first, length in _blocks(len(data), size, block):
        n = length // size
        elements = bytearray(length)
        for bit in range(8 * size):
            row = data[first + bit * n // 8:first + (bit + 1) * n // 8]
            bits = int.from_bytes(row, "little")
            for i in range(n):
                elements[i * size + bit // 8] |= (bits >> i & 1) << bit % 8
        out[first:first + length] = elements
    return bytes(out)

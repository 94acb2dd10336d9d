#!/usr/bin/env python3
"""Content digests of classic netCDF files, written from the text of spec/digest.md (and of spec/archive.md, section 2).

Plain Python, standard library only. Sections named in comments are those of spec/digest.md.

    nc3z_digest.py FILE...                the content digest of each file, which is its root
    nc3z_digest.py --root FILE...         the same as a root is written: nc3z1:...
    nc3z_digest.py --variables FILE...    and the digest of each variable
"""

import hashlib
import struct
import sys
from math import prod

LEAF = 4096
BRANCH = 32768
PIECE = 1 << 20
SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}


def sha256(data):
    return hashlib.sha256(data).digest()


def u64(n):
    return struct.pack(">Q", n)


def string(b):
    return u64(len(b)) + b


# ---------------------------------------------------------------- sections 2 to 4


def root(hashes):
    """Merkle tree hash over leaf hashes."""
    if not hashes:
        return sha256(b"")
    if len(hashes) == 1:
        return hashes[0]
    k = 1 << (len(hashes) - 1).bit_length() - 1
    return sha256(b"\x01" + root(hashes[:k]) + root(hashes[k:]))


def branch_length(kind, lengths):
    """Bytes of a branch; more than any array has, where all values are one branch."""
    sizes = (prod(lengths[n:]) * SIZES[kind] for n in range(len(lengths) - 1, 0, -1))
    return next((size for size in sizes if size >= BRANCH), 1 << 64)


def leaves(pieces, branch):
    """The leaves of values that come in pieces of any length, each with whether its branch ends."""
    held, at = b"", 0
    for piece in pieces:
        held, first = held + piece, 0
        while len(held) - first >= (length := min(LEAF, branch - at)):
            at = (at + length) % branch
            yield held[first:first + length], at == 0
            first += length
        held = held[first:]
    if held:
        yield held, False


def values_root(kind, lengths, pieces):
    """The tree root of the branches."""
    branches, hashes = [], []
    for leaf, ends in leaves(pieces, branch_length(kind, lengths)):
        hashes.append(sha256(b"\x00" + leaf))
        if ends:
            branches.append(root(hashes))
            hashes = []
    return root(branches + [root(hashes)] if hashes else branches)


def values_digest(kind, lengths, present, over):
    """Section 3."""
    return sha256(b"nc3z variable 1\n" + u64(kind) + u64(len(lengths)) + b"".join(map(u64, lengths)) + u64(present) + over)


def attributes_domain(attributes):
    """Attributes are (name, type code, values as big-endian bytes)."""
    out = u64(len(attributes))
    for name, kind, values in attributes:
        out += string(name) + u64(kind) + u64(len(values) // SIZES[kind]) + values
    return out


def file_entry(dimensions, attributes):
    """Dimensions are (name, is record dimension, length)."""
    each = b"".join(string(name) + u64(int(record)) + u64(length) for name, record, length in dimensions)
    return b"nc3z file entry 1\n" + u64(len(dimensions)) + each + attributes_domain(attributes)


def variable_entry(name, kind, dimensions, present, attributes, digest):
    """Dimensions are (number, name, is record dimension, length)."""
    each = b"".join(u64(number) + string(own) + u64(int(record)) + u64(length) for number, own, record, length in dimensions)
    head = b"nc3z variable entry 1\n" + string(name) + u64(kind) + u64(len(dimensions)) + each + u64(present)
    return head + attributes_domain(attributes) + digest


def root_of_entries(count, tree):
    return sha256(b"nc3z root 1\n" + u64(count) + tree)


def content_digest(entries):
    """Section 4: the root over the entries of a file and of its variables."""
    return root_of_entries(len(entries), root([sha256(b"\x00" + entry) for entry in entries]))


def collection_root(members):
    """Section 5: members are (name, root), by name."""
    tree = root([sha256(b"\x00" + string(name) + own) for name, own in sorted(members)])
    return sha256(b"nc3z collection 1\n" + u64(len(members)) + tree)


# ---------------------------------------------------------------- a classic file


class Classic:
    """A classic file as dimensions, attributes and values; the position of each variable is computed from its header."""

    def __init__(self, file):
        self.file = file
        self.length = file.seek(0, 2)
        file.seek(0)
        magic = file.read(4)
        if magic[:3] != b"CDF" or magic[3] not in (1, 2, 5):
            raise ValueError("not a classic netCDF file")
        self.count_size = 8 if magic[3] == 5 else 4
        self.offset_size = 4 if magic[3] == 1 else 8
        numrecs = self.count()
        self.dimensions = self.list(10, lambda: (self.name(), self.count()))
        self.attributes = self.attribute_list()
        self.variables = self.list(11, self.variable)
        self.records = self.record_count(numrecs)

    def take(self, n):
        data = self.file.read(n)
        if len(data) != n:
            raise ValueError("the header is cut short")
        return data

    def number(self, size):
        return int.from_bytes(self.take(size), "big")

    def count(self):
        return self.number(self.count_size)

    def name(self):
        n = self.count()
        data = self.take(n)
        self.take(-n % 4)
        return data

    def list(self, tag, item):
        found, n = self.number(4), self.count()
        if found not in (tag, 0) or (found == 0 and n):
            raise ValueError(f"tag {found} where {tag} was expected")
        return [item() for _ in range(n)]

    def attribute(self):
        name, kind, n = self.name(), self.number(4), self.count()
        values = self.take(n * SIZES[kind])
        self.take(-len(values) % 4)
        return name, kind, values

    def attribute_list(self):
        return self.list(12, self.attribute)

    def variable(self):
        name, rank = self.name(), self.count()
        numbers = [self.count() for _ in range(rank)]
        attributes, kind, _vsize = self.attribute_list(), self.number(4), self.count()
        return name, numbers, attributes, kind, self.number(self.offset_size)

    # spec/archive.md, section 2, "Sizes".
    def lengths(self, numbers, records):
        return [self.dimensions[n][1] or records for n in numbers]

    def is_record(self, v):
        return bool(v[1]) and self.dimensions[v[1][0]][1] == 0

    def size(self, v, records):
        """`s`: bytes of a fixed variable, or of one record."""
        numbers = v[1][1:] if self.is_record(v) else v[1]
        return prod(self.lengths(numbers, records)) * SIZES[v[3]]

    def stride(self, records):
        """`R`."""
        sizes = [self.size(v, records) for v in self.variables if self.is_record(v)]
        return sizes[0] if len(sizes) == 1 else sum(s + -s % 4 for s in sizes)

    def record_count(self, numrecs):
        if numrecs != (1 << 8 * self.count_size) - 1:
            return numrecs
        begins = [v[4] for v in self.variables if self.is_record(v)]
        stride = self.stride(0)
        if not begins or stride == 0:
            return 0
        return max(self.length - min(begins), 0) // stride

    def runs(self, v):
        """(offset, bytes) of the parts of a variable that are inside the file, whole elements only."""
        size, element, begin = self.size(v, self.records), SIZES[v[3]], v[4]
        count, stride = (self.records, self.stride(self.records)) if self.is_record(v) else (1, 0)
        if size == 0 or count == 0:
            return
        if stride == size:
            size, count = size * count, 1
        for i in range(count):
            at = begin + i * stride
            inside = min(size, max(self.length - at, 0)) // element * element
            if inside:
                yield at, inside
            if inside < size:
                return

    def values(self, v):
        for offset, length in self.runs(v):
            self.file.seek(offset)
            while length:
                piece = self.take(min(length, PIECE))
                length -= len(piece)
                yield piece

    def entries(self):
        """The entries of the file and of its variables, and the digests of the variables."""
        dimensions = [(name, n == 0, n or self.records) for name, n in self.dimensions]
        entries, own = [file_entry(dimensions, self.attributes)], []
        for v in self.variables:
            name, numbers, attributes, kind = v[:4]
            present = sum(length for _, length in self.runs(v)) // SIZES[kind]
            lengths = self.lengths(numbers, self.records)
            own.append(values_digest(kind, lengths, present, values_root(kind, lengths, self.values(v))))
            places = [(n, *dimensions[n]) for n in numbers]
            entries.append(variable_entry(name, kind, places, present, attributes, own[-1]))
        return entries, own

    def digests(self):
        """The content digest, and those of the variables."""
        entries, own = self.entries()
        return content_digest(entries), own


def main(arguments):
    each = "--variables" in arguments
    for path in (a for a in arguments if a not in ("--variables", "--root")):
        with open(path, "rb") as file:
            classic = Classic(file)
            content, own = classic.digests()
        print(f"nc3z1:{content.hex()}" if "--root" in arguments else f"NC3Z1-CONTENT ({path}) = {content.hex()}")
        for v, digest in zip(classic.variables, own) if each else ():
            print(f"NC3Z1-VARIABLE ({path}) {v[0].decode('utf-8', 'backslashreplace')} = {digest.hex()}")


if __name__ == "__main__":
    main(sys.argv[1:])

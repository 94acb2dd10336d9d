#!/usr/bin/env python3
"""A small reader of bundles, written from the text of spec/catalogue.md alone (sections 5 and 6).

    nc3z_bundle.py list BUNDLE               names of all members
    nc3z_bundle.py member BUNDLE NAME        a member as it is stored; a packed one as the classic file that it is
    nc3z_bundle.py restore BUNDLE -o DIR     every file, byte for byte; archives are restored

Exit codes: 0 done, 1 failed, 2 usage, 3 the bundle is corrupt.
"""

import argparse
import hashlib
import struct
import sys
import zlib
from collections import Counter
from pathlib import Path

from nc3z_bytes import MAGIC
from nc3z_catalog import DIGEST, Dataset
from nc3z_ref import TYPE_SIZES, Archive, Classic, Corrupt, Header, Refused, need

BYTE, INT, PACKED, KINDS = 1, 4, 3, 6
LIST = [b"member_arrays", b"array_column", b"array_step"]


def restored(data):
    """The original of an archive; other files are as they are."""
    if data[:8] != MAGIC:
        return data
    archive = Archive(data)
    file = bytearray(archive.length)
    archive.restore(file)
    return bytes(file)


class Group:
    """Section 6."""

    def __init__(self, data):
        self.file = restored(data)
        header = Header(self.file)
        marks = [a for a in header.atts if a.name == b"nc3z_packed"]
        need(marks and marks[0].value == b"1", "group: no mark, or another version")
        need([(v.name, v.type) for v in header.vars[:3]] == [(name, INT) for name in LIST], "group: its list")
        self.classic = Classic(header, len(self.file))
        self.types = [v.type for v in header.vars]
        counts, columns, steps = ([n for (n,) in struct.iter_unpack(">i", self.column(number))] for number in range(3))
        need(len(columns) == len(steps) and min(counts) >= 0 and sum(counts) == len(columns), "group: number of arrays")
        last, places = {}, []
        for column, step in zip(columns, steps):
            last[column] = last.get(column, 0) + step
            need(0 <= last[column] < 1 << 31, "group: place of an array")
            places.append((column, last[column]))
        self.members, end = [], 0
        for count in counts:
            self.members.append(places[end:end + count])
            end += count

    def column(self, number):
        place = self.classic.arrays[number]
        return self.file[place.begin:place.begin + place.present * place.element]

    def member(self, name, number, length, head):
        """The bytes of a file."""
        need(0 <= number < len(self.members), f"{name}: its group does not have it")
        header, places = Header(head), self.members[number]
        need(header.length == len(head), f"{name}: length of its header")
        classic = Classic(header, length)
        arrays = [(id, place) for id, place in sorted(classic.arrays.items()) if place.present]
        need(len(arrays) == len(places), f"{name}: number of arrays")
        file = bytearray(length)
        file[:len(head)] = head
        for (id, place), (column, first) in zip(arrays, places):
            kind = header.vars[id].type if id < len(header.vars) else BYTE
            need(len(LIST) <= column < len(self.types) and self.types[column] == kind, f"{name}: column of array {id:#x}")
            size = TYPE_SIZES[kind]
            data = self.column(column)[first * size:first * size + place.present * size]
            need(len(data) == place.present * size, f"{name}: place of array {id:#x}")
            place.put(file, 0, data)
        return bytes(file)


class Bundle:
    """Section 5."""

    def __init__(self, data):
        d = Dataset(data)
        need(d.marks.get(b"nc3z_bundle") == b"1", "this is no bundle, or one of a later kind")
        self.content, self.groups = d.raw("content"), {}
        names = [name.decode() for name in d.strings("file_name_length", "file_name")]
        columns = [d[f"file_{name}"] for name in ("kind", "offset", "stored_size", "crc32", "size", "header", "group_member")]
        need(all(len(column) == len(names) for column in columns), "files: number")
        self.headers, sums = d.strings("header_length", "header_bytes"), d.raw("file_sha256")
        columns.append([sums[at:at + DIGEST] for at in range(0, len(sums), DIGEST)])
        self.places = {name: place for name, *place in zip(names, *columns)}
        self.twice = {name for name, count in Counter(names).items() if count > 1}

    def member(self, name):
        """The bytes of a member as they are stored; of a packed one, of the file."""
        name = name if name in self.places else f"{name}.nc3z"
        if name not in self.places:
            raise Refused(f"{name}: no such member")
        need(name not in self.twice, f"{name}: two members have this name")
        need("\0" not in name and not {"", ".", ".."} & set(name.split("/")), f"{name!r}: a name that no file has")
        kind, offset, size, crc, length, header, number, sha256 = self.places[name]
        need(0 <= kind < KINDS and offset >= 0 and 0 <= size <= len(self.content) - offset, f"{name}: its bytes")
        stored = self.content[offset:offset + size]
        if kind != PACKED:
            need(zlib.crc32(stored) == crc, f"{name}: CRC-32")
            return stored
        if offset not in self.groups:
            self.groups = {offset: Group(stored)}
        need(0 <= header < len(self.headers) and length >= 0, f"{name}: its header")
        file = self.groups[offset].member(name, number, length, self.headers[header])
        need(hashlib.sha256(file).digest() == sha256, f"{name}: SHA-256")
        return file

    def files(self):
        """Name and bytes of each file; archives are restored."""
        for name in self.places:
            data = self.member(name)
            yield name.removesuffix(".nc3z") if data[:8] == MAGIC else name, restored(data)


def main():
    parser = argparse.ArgumentParser(description="reference reader of bundles")
    parser.add_argument("command", choices=["list", "member", "restore"])
    parser.add_argument("bundle")
    parser.add_argument("name", nargs="?")
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    try:
        bundle = Bundle(Path(args.bundle).read_bytes())
        if args.command == "list":
            print(*bundle.places, sep="\n")
        elif args.command == "member":
            sys.stdout.buffer.write(bundle.member(args.name or ""))
        else:
            for name, content in bundle.files():
                target = Path(args.output or ".") / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
    except (Corrupt, KeyError, IndexError, struct.error, ValueError) as error:
        print(f"corrupt: {error}", file=sys.stderr)
        return 3
    except (Refused, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

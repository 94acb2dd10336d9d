#!/usr/bin/env python3
"""A small reader of bundles, written from the text of spec/catalogue.md alone (sections 5 to 7).

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
from nc3z_catalog import Dataset
from nc3z_ref import TYPE_SIZES, Archive, Bytes, Classic, Corrupt, Header, Refused, frame_size, need, unzstd

BYTE, PACKED, KINDS = 1, 3, 6


def signed(b):
    n = b.varint()
    return n >> 1 ^ -(n & 1)


def restored(data):
    """The original of an archive; other files are as they are."""
    if data[:8] != MAGIC:
        return data
    archive = Archive(data)
    file = bytearray(archive.length)
    archive.restore(file)
    return bytes(file)


class Group:
    """Sections 6 and 7."""

    def __init__(self, data):
        self.file = restored(data)
        header = Header(self.file)
        marks = [a for a in header.atts if a.name == b"nc3z_packed"]
        need(marks and marks[0].value == b"1", "group: no mark, or another version")
        need([v.name for v in header.vars[:2]] == [b"nc3z_members", b"nc3z_heads"], "group: its own variables")
        self.classic = Classic(header, len(self.file))
        self.types = [v.type for v in header.vars]
        packed = self.column(0)
        b = Bytes(unzstd(packed, frame_size(packed, "list"), "list", dictionary=True), "list of members")
        need(b.u8() == 1, "list: version")
        heads, at, self.frames = self.column(1), 0, []
        for _ in range(b.varint()):
            stored, decoded = b.varint(), b.varint()
            need(decoded <= 4 << 20, "list: frame of headers")
            self.frames.append(unzstd(heads[at:at + stored], decoded, "headers", dictionary=True))
            at += stored
        self.names = [b.take(b.varint()).decode() for _ in range(b.varint())]
        facts, frame = [], 0
        for _ in self.names:
            length, header = b.varint(), b.varint()
            frame += b.varint()
            facts.append((length, header, frame, b.varint()))
        places, last = [], {}
        for *_, count in facts:
            own, column = [], 0
            for _ in range(count):
                column += signed(b) + 1
                first = last.get(column, 0) + signed(b)
                last[column] = first
                own.append((column, first))
            places.append(own)
        digests = [b.take(32) for _ in self.names]
        b.end()
        self.members, used = {}, [0] * len(self.frames)
        for name, (length, header, frame, _), own, digest in zip(self.names, facts, places, digests):
            need(frame < len(self.frames), f"{name}: frame of its header")
            head = self.frames[frame][used[frame]:used[frame] + header]
            need(len(head) == header, f"{name}: its header leaves the frame")
            used[frame] += header
            self.members[name] = (length, head, own, digest)

    def column(self, number):
        place = self.classic.arrays[number]
        return self.file[place.begin:place.begin + place.present * place.element]

    def member(self, name):
        """The bytes of a file."""
        need(name in self.members, f"{name}: its group does not have it")
        length, head, places, digest = self.members[name]
        header = Header(head)
        need(header.length == len(head), f"{name}: length of its header")
        classic = Classic(header, length)
        arrays = [(id, place) for id, place in sorted(classic.arrays.items()) if place.present]
        need(len(arrays) == len(places), f"{name}: number of arrays")
        file = bytearray(length)
        file[:len(head)] = head
        for (id, place), (column, first) in zip(arrays, places):
            kind = header.vars[id].type if id < len(header.vars) else BYTE
            need(2 <= column < len(self.types) and self.types[column] == kind, f"{name}: column of array {id:#x}")
            size = TYPE_SIZES[kind]
            data = self.column(column)[first * size:first * size + place.present * size]
            need(first >= 0 and len(data) == place.present * size, f"{name}: place of array {id:#x}")
            place.put(file, 0, data)
        need(hashlib.sha256(file).digest() == digest, f"{name}: SHA-256")
        return bytes(file)


class Bundle:
    """Section 5."""

    def __init__(self, data):
        d = Dataset(data)
        need(d.marks.get(b"nc3z_bundle") == b"1", "this is no bundle, or one of a later kind")
        self.content, self.groups = d.raw("content"), {}
        names = [name.decode() for name in d.strings("file_name_length", "file_name")]
        columns = [d[f"file_{name}"] for name in ("kind", "offset", "stored_size", "crc32")]
        need(all(len(column) == len(names) for column in columns), "files: number")
        self.places = {name: place for name, *place in zip(names, *columns)}
        self.twice = {name for name, count in Counter(names).items() if count > 1}

    def member(self, name):
        """The bytes of a member as they are stored; of a packed one, of the file."""
        name = name if name in self.places else f"{name}.nc3z"
        if name not in self.places:
            raise Refused(f"{name}: no such member")
        need(name not in self.twice, f"{name}: two members have this name")
        need("\0" not in name and not {"", ".", ".."} & set(name.split("/")), f"{name!r}: a name that no file has")
        kind, offset, size, crc = self.places[name]
        need(0 <= kind < KINDS and offset >= 0 and 0 <= size <= len(self.content) - offset, f"{name}: its bytes")
        stored = self.content[offset:offset + size]
        if kind != PACKED:
            need(zlib.crc32(stored) == crc, f"{name}: CRC-32")
            return stored
        if offset not in self.groups:
            self.groups = {offset: Group(stored)}
        return self.groups[offset].member(name)

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

#!/usr/bin/env python3
"""A small reader of packed bundles, written from the text of spec/bundle.md alone.

    nc3z_bundle.py list BUNDLE               names of all members
    nc3z_bundle.py restore BUNDLE -o DIR     every file, byte for byte

Exit codes: 0 done, 1 failed, 2 usage, 3 the bundle is corrupt.
"""

import argparse
import hashlib
import json
import os
import struct
import sys
import zlib
from pathlib import Path, PurePosixPath

from nc3z_ref import TYPE_SIZES, Archive, Bytes, Classic, Corrupt, Header, Refused, frame_size, need, unzstd

MAGIC, HINT = b"nc3zidx2", 96
GROUPS, README = ".nc3z/packed/", "README-nc3z.txt"
BYTE = 1


def end_of(data):
    """Comment of the end, and where the list of members begins; nothing without an end (section 1)."""
    for at in range(len(data) - 22, max(len(data) - 22 - 65536, -1), -1):
        if data[at:at + 4] != b"PK\5\6" or len(data) - at - 22 != int.from_bytes(data[at + 20:at + 22], "little"):
            continue
        count, size, directory = struct.unpack_from("<HII", data, at + 10)
        last = at
        if (count == 0xffff or 0xffffffff in (size, directory)) and at >= 20 and data[at - 20:at - 16] == b"PK\6\7":
            last = int.from_bytes(data[at - 12:at - 4], "little")
            if data[last:last + 4] != b"PK\6\6":
                continue
            size, directory = struct.unpack_from("<QQ", data, last + 40)
        if directory + size == last:
            return data[at + 22:], directory
    return None


def words(text):
    """Offset, length and CRC-32 of the index, and the length of the bundle (of a hint)."""
    parts = text.rstrip(b"\0").split()
    try:
        if parts[:1] == [b"nc3z-index"]:
            return (int(parts[1]), int(parts[2]), int(parts[3], 16)), int(parts[4]) if len(parts) > 4 else None
    except (ValueError, IndexError):
        pass
    return None, None


def committed(data):
    """The bytes of the index of a bundle, and those of the bundle, without what an interrupted run left (section 1)."""

    def named(pointer):
        found = data[pointer[0]:pointer[0] + pointer[1]]
        return found if len(found) == pointer[1] and zlib.crc32(found) == pointer[2] else None

    at = 30 + sum(struct.unpack_from("<HH", data, 26))
    hinted, length = words(data[at - HINT:at])
    if length is None:
        hinted = None
    if hinted and length == len(data) and named(hinted):
        return named(hinted), data
    end = end_of(data)
    pointer = words(end[0])[0] if end else None
    if pointer and pointer[0] + pointer[1] != end[1]:
        pointer = None
    if pointer and named(pointer) and (not hinted or length <= len(data) or pointer == hinted):
        return named(pointer), data
    if end and not pointer and (not hinted or length != len(data)):
        raise Refused("another program has changed the ZIP")
    need(not hinted or length <= len(data), f"the bundle has {len(data)} bytes, and its hint says {length}")
    need(hinted and length < len(data), "index: CRC-32")
    return committed(data[:length])


def index(data):
    """The list, and the names of packed members (section 2)."""
    need(data[:8] == MAGIC, "index: not one")
    length = int.from_bytes(data[8:16], "little")
    plain = unzstd(data[16:], length, "index")
    size = int.from_bytes(plain[:8], "little")
    need(8 + size <= length, "index: its list is longer than itself")
    found = json.loads(plain[8:8 + size])
    heads = sum(part[1] for member in found["members"] for part in member[4])
    names, rest = [], plain[8 + size + heads:]
    for group, members, own in found.get("packed", []):
        mine, rest = rest[:own].split(b"\0"), rest[own:]
        need(len(mine) == members + 1 and not mine[-1], f"index: names of {group}")
        names.append((group, [name.decode() for name in mine[:-1]]))
    return found, names


def signed(b):
    n = b.varint()
    return n >> 1 ^ -(n & 1)


class Group:
    """Sections 3 and 4."""

    def __init__(self, data):
        self.archive = Archive(data)
        file = bytearray(self.archive.length)
        self.archive.restore(file)
        self.file = bytes(file)
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


def files(data):
    """Name and bytes of each file of a bundle."""
    listed, data = committed(data)
    found, packed = index(listed)
    for name, offset, length, crc, _ in found["members"]:
        stored = data[offset:offset + length]
        need(len(stored) == length and zlib.crc32(stored) == crc, f"{name}: CRC-32")
        if name == README:
            continue
        if name.startswith(GROUPS):
            group = Group(stored)
            need((name, group.names) in packed, f"{name}: names of its members")
            yield from ((member, group.member(member)) for member in group.names)
        elif stored[:8] == b"\x89NC3Z\r\n\x1a":
            archive = Archive(stored)
            file = bytearray(archive.length)
            archive.restore(file)
            yield name.removesuffix(".nc3z"), bytes(file)
        else:
            yield name, stored


def main():
    parser = argparse.ArgumentParser(description="reference reader of packed bundles")
    parser.add_argument("command", choices=["list", "restore"])
    parser.add_argument("bundle")
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    try:
        for name, content in files(Path(args.bundle).read_bytes()):
            need(not os.path.isabs(name) and ".." not in PurePosixPath(name).parts, f"{name}: leads outside")
            if args.command == "list":
                print(name)
                continue
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

#!/usr/bin/env python3
"""A small reader of packed bundles, written from the text of spec/bundle.md alone.

    nc3z_bundle.py list BUNDLE               names of all members
    nc3z_bundle.py restore BUNDLE -o DIR     every file, byte for byte

Exit codes: 0 done, 1 failed, 2 usage, 3 the bundle is corrupt.
"""

import argparse
import hashlib
import io
import json
import os
import struct
import sys
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from nc3z_ref import TYPE_SIZES, Archive, Bytes, Classic, Corrupt, Header, Refused, frame_size, need, unzstd

MAGIC, HINT = b"nc3zidx2", 96
GROUPS, README, INDEX = ".nc3z/packed/", "README-nc3z.txt", ".nc3z/index"
BYTE = 1


def committed(data):
    """The bytes of the bundle: without those that an interrupted run left (section 1)."""
    at = 30 + sum(struct.unpack_from("<HH", data, 26))
    words = data[at - HINT:at].rstrip(b"\0").split()
    if len(words) == 5 and words[0] == b"nc3z-index" and int(words[4]) < len(data):
        tail = data[-(64 << 10):]
        end = tail.rfind(b"PK\5\6")
        if end < 0 or len(tail) < end + 22 + int.from_bytes(tail[end + 20:end + 22], "little"):
            return data[:int(words[4])]
    return data


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
    data = committed(data)
    inside = zipfile.ZipFile(io.BytesIO(data))
    found, packed = index(inside.read(INDEX))
    for name, offset, length, crc, _ in found["members"]:
        stored = data[offset:offset + length]
        need(zlib.crc32(stored) == crc and inside.getinfo(name).CRC == crc, f"{name}: CRC-32")
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
    except (Corrupt, KeyError, IndexError, struct.error, zipfile.BadZipFile, ValueError) as error:
        print(f"corrupt: {error}", file=sys.stderr)
        return 3
    except (Refused, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

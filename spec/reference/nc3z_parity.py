#!/usr/bin/env python3
"""Mends an nc3z archive by its parity, as spec/parity.md describes it. Plain Python, standard library only; slow, and shares nothing with the Rust code.

    nc3z_parity.py check ARCHIVE
    nc3z_parity.py mend ARCHIVE -o MENDED
"""

import argparse
import hashlib
import struct
import sys
import zlib
from collections import defaultdict

MARKER = b"\xb1NCp"
SLOTS = 112, 160
HEADER = struct.Struct("<4sI8sQQQIIIHHIHBB")
BASIS = [0x0001, 0xACCA, 0x3C0E, 0x163E, 0xC582, 0xED2E, 0x914C, 0x4012,
         0x6C98, 0x10D8, 0x6A72, 0xB900, 0xFDB8, 0xFB34, 0xFF38, 0x991E]


class Damaged(Exception):
    """The archive cannot be mended; the message has the reason."""


# The field, section 3: logarithms of symbols to the base x.

def tables():
    element = [0]
    for basis in BASIS:
        element += [e ^ basis for e in element]
    symbol = {e: s for s, e in enumerate(element)}
    log, exp, power = [0] * 65536, [0] * 131072, 1
    for i in range(65535):
        log[symbol[power]] = i
        exp[i] = exp[i + 65535] = symbol[power]
        power <<= 1
        if power > 0xFFFF:
            power ^= 0x1002D
    return log, exp


LOG, EXP = tables()


def mul(a, b):
    return EXP[LOG[a] + LOG[b]] if a and b else 0


# Shards while they are computed with: a pair of integers, all low bytes of the symbols and all high bytes.

def split(shard):
    lanes = [shard[i:i + 64] for i in range(0, len(shard), 64)]
    return b"".join(lane[:32] for lane in lanes), b"".join(lane[32:] for lane in lanes)


def join(low, high):
    return b"".join(low[i:i + 32] + high[i:i + 32] for i in range(0, len(low), 32))


def times(factor, halves):
    """All symbols times a factor: a product is the XOR of what each half byte by byte gives."""
    low = high = 0
    for shift, half in ((0, halves[0]), (8, halves[1])):
        products = [mul(factor, b << shift) for b in range(256)]
        low ^= int.from_bytes(half.translate(bytes(p & 255 for p in products)), "little")
        high ^= int.from_bytes(half.translate(bytes(p >> 8 for p in products)), "little")
    return low, high


def recover(known, lost, parity):
    """Lost shards of a group, section 3. `known`: position -> bytes; `lost`: positions."""
    span = 1 << (parity - 1).bit_length()
    unknown = sorted(set(lost) | set(range(parity, span)))
    if len(unknown) > span:
        raise Damaged(f"{len(lost)} shards of a group are lost, it has parity for {parity}")
    size = len(next(iter(known.values())))
    halves = {p: split(shard) for p, shard in known.items()}
    log_of = {p: sum(LOG[p ^ v] for v in unknown) for p in known}         # all (p - v), no p is among the v
    out = {}
    for u in lost:
        below = sum(LOG[u ^ v] for v in unknown if v != u)
        low = high = 0
        for p, half in halves.items():
            a, b = times(EXP[(log_of[p] - LOG[p ^ u] - below) % 65535], half)
            low, high = low ^ a, high ^ b
        out[u] = join(low.to_bytes(size // 2, "little"), high.to_bytes(size // 2, "little"))
    return out


class Groups:
    """The distribution of items over groups, section 3."""

    def __init__(self, items, groups, run, parity):
        self.items, self.groups, self.run, self.parity = items, groups, run, parity
        self.span = 1 << (parity - 1).bit_length()

    def place(self, number):
        """Group and position of an item, those of parity included."""
        if number >= self.items:
            return (number - self.items) % self.groups, (number - self.items) // self.groups
        slot = number // (self.run * self.groups) * self.run + number % self.run
        return number // self.run % self.groups, self.span + slot

    def count(self):
        return self.items + self.groups * self.parity

    def recover(self, lost, read):
        """The lost items; `read(number)` gives the others."""
        by_group = defaultdict(dict)
        for number in lost:
            group, position = self.place(number)
            by_group[group][position] = number
        known = {group: {} for group in by_group}
        for number in range(self.count()):
            group, position = self.place(number)
            if group in known and number not in lost:
                known[group][position] = read(number)
        out = {}
        for group, numbers in by_group.items():
            for position, shard in recover(known[group], numbers, self.parity).items():
                out[numbers[position]] = shard
        return out


class Parity:
    """The parity of an archive, as one of its packets describes it. Sections 1 and 2."""

    def __init__(self, header):
        (_, _, self.salt, self.begin, self.end, self.length, self.generation, self.number, groups, parity, run,
         packet_groups, packet_parity, shard_units, packet_units) = HEADER.unpack(header)
        self.fields = header[8:]
        self.shard, self.packet = shard_units * 64, packet_units * 64
        if not (1 <= shard_units <= 64 and 2 <= packet_units <= 64 and 0 < self.begin <= self.end
                and self.begin % self.shard == 0 and 128 <= self.length - self.end <= 1 << 20):
            raise Damaged("lengths")
        if not (groups and parity and run and packet_groups and packet_parity):
            raise Damaged("counts")
        self.head = self.begin // self.shard
        items = self.head + -((self.end - self.length) // self.shard)
        self.shards = Groups(items, groups, run, parity)
        catalogue = 32 + 4 * self.shards.count()
        self.packets = Groups(-(-catalogue // (self.packet - 64)), packet_groups, 1, packet_parity)
        if self.end - self.begin != groups * parity * self.shard + self.packets.count() * self.packet:
            raise Damaged("length of the region")
        if self.number >= self.packets.count():
            raise Damaged("number")

    def shards_before(self, packet):
        return packet * self.shards.groups * self.shards.parity // (self.packets.count() - 1)

    def packet_at(self, packet):
        return self.begin + packet * self.packet + self.shards_before(packet) * self.shard

    def shard_at(self, shard):
        """Begin and end of a shard."""
        if shard >= self.shards.items:
            row, total = shard - self.shards.items, self.shards.groups * self.shards.parity
            packets = -(-(row + 1) * (self.packets.count() - 1) // total)
            begin = self.begin + row * self.shard + packets * self.packet
        elif shard >= self.head:
            begin = self.end + (shard - self.head) * self.shard
            return begin, min(begin + self.shard, self.length)
        else:
            begin = shard * self.shard
        return begin, begin + self.shard

    def encode(self, number, payload):
        rest = bytearray(self.fields)
        struct.pack_into("<I", rest, 36, number)
        rest += payload
        crc = salted(self.salt, self.packet_at(number), rest)
        return MARKER + struct.pack("<I", crc) + bytes(rest)


def without_slots(data, offset):
    """Bytes of the archive from an offset on, as parity sees them: its commit slots are zeros."""
    first, last = (max(0, min(len(data), place - offset)) for place in SLOTS)
    return data[:first] + bytes(last - first) + data[last:]


def salted(salt, offset, data):
    return zlib.crc32(data, zlib.crc32(salt + struct.pack("<Q", offset)))


def packet(data, offset):
    """The packet at an offset, or None."""
    header = data[offset:offset + 64]
    if len(header) < 64 or header[:4] != MARKER:
        return None
    length = header[63] * 64
    whole = data[offset:offset + length]
    if len(whole) != length or salted(header[8:16], offset, whole[8:]) != struct.unpack("<I", header[4:8])[0]:
        return None
    try:
        parity = Parity(header)
    except Damaged:
        return None
    if parity.packet_at(parity.number) != offset or parity.length > 8 * len(data) + (1 << 20):
        return None
    return parity


def find(data):
    """Looks for packets everywhere; the newest generation with the most packets counts."""
    counts = defaultdict(int)
    first = {}
    at = data.find(MARKER)
    while at >= 0:
        parity = packet(data, at) if at % 64 == 0 else None
        if parity:
            key = (parity.generation, parity.fields[:36], parity.fields[40:])
            counts[key] += 1
            first.setdefault(key, parity)
        at = data.find(MARKER, at + 1)
    if not counts:
        raise Damaged("no parity packet is left, or there never was one")
    return first[max(counts, key=lambda key: (key[0], counts[key]))]


class Checked:
    """An archive's bytes, its parity, and what is lost. Section 5, steps 1 and 2."""

    def __init__(self, data):
        self.data = data
        self.parity = p = find(data)
        size = p.packet - 64

        def payload(number):
            at = p.packet_at(number) + 64
            return data[at:at + size]

        def whole(number):
            found = packet(data, p.packet_at(number))
            return found and found.number == number and found.fields[:36] == p.fields[:36] and found.fields[40:] == p.fields[40:]

        self.lost_packets = [j for j in range(p.packets.count()) if not whole(j)]
        self.payloads = p.packets.recover(set(self.lost_packets), payload)
        catalogue = b"".join(self.payloads.get(j) or payload(j) for j in range(p.packets.items))
        self.digest = catalogue[:32]
        count = p.shards.count()
        self.checks = struct.unpack(f"<{count}I", catalogue[32:32 + 4 * count])
        self.lost_shards = [i for i in range(count) if not self.good(i)]

    def read(self, number):
        begin, end = self.parity.shard_at(number)
        return without_slots(self.data[begin:end], begin).ljust(self.parity.shard, b"\0")

    def good(self, number):
        return self.parity.shard_at(number)[1] <= len(self.data) and zlib.crc32(self.read(number)) == self.checks[number]

    def mend(self):
        """The archive as it was. Section 5, step 3."""
        p = self.parity
        out = bytearray(self.data.ljust(p.length, b"\0"))
        for number, shard in p.shards.recover(set(self.lost_shards), self.read).items():
            if zlib.crc32(shard) != self.checks[number]:
                raise Damaged(f"shard {number} is mended, but not to its checksum")
            begin, end = p.shard_at(number)
            out[begin:end] = shard[:end - begin]
        for at in SLOTS[0], SLOTS[0] + 24:      # they are not covered: one that is whole stays, another is empty
            slot = self.data[at:at + 24]
            is_whole = len(slot) == 24 and salted(p.salt, at, slot[:20]) == struct.unpack("<I", slot[20:])[0]
            out[at:at + 24] = slot if is_whole else bytes(24)
        for number, payload in self.payloads.items():
            begin = p.packet_at(number)
            out[begin:begin + p.packet] = p.encode(number, payload)
        covered = hashlib.sha256(without_slots(out[:p.begin], 0))
        covered.update(out[p.end:p.length])
        if covered.digest() != self.digest:
            raise Damaged("all shards have their checksums, but the digest of the whole is another")
        return bytes(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["check", "mend"])
    parser.add_argument("archive")
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    with open(args.archive, "rb") as file:
        data = file.read()
    try:
        checked = Checked(data)
        p = checked.parity
        print(f"{p.shards.items} data and {p.shards.groups * p.shards.parity} parity shards of {p.shard} bytes in {p.shards.groups} groups; "
              f"lost: {len(checked.lost_shards)} shards, {len(checked.lost_packets)} of {p.packets.count()} packets")
        if args.action == "check":
            return 3 if checked.lost_shards or checked.lost_packets else 0
        mended = checked.mend()
    except Damaged as e:
        print(f"nc3z_parity: {e}", file=sys.stderr)
        return 3
    if not args.output:
        parser.error("mend needs -o")
    with open(args.output, "xb") as file:
        file.write(mended)
    return 0


if __name__ == "__main__":
    sys.exit(main())

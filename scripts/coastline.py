#!/usr/bin/env python3
"""Writes libs/nc3z-look/assets/coastline.bin, the coastlines of `nc3z plot`, from Natural Earth's land areas.

    npm pack world-atlas@2.0.2 && tar xf world-atlas-2.0.2.tgz && python3 scripts/coastline.py package/land-50m.json

Natural Earth's data are in the public domain (naturalearthdata.com, "Terms of Use"); the package `world-atlas` has them as TopoJSON (ISC).
Lines are simplified by Douglas and Peucker's method to a tenth of a degree; islands below 0.3 degrees are left out; so are the edges of
the map along 180 degrees, and steps across it. Places are whole twentieths of a degree. The file is a sequence of numbers of seven bits a byte, least
significant first, the sign in the lowest bit: how many places a line has, then for each the steps east and north of the one before.
"""

import json
import math
import pathlib
import sys

TOLERANCE, SMALLEST, STEPS = 0.1, 0.3, 20


def arcs(path):
    topology = json.loads(pathlib.Path(path).read_text())
    (sx, sy), (tx, ty) = topology["transform"]["scale"], topology["transform"]["translate"]
    for arc in topology["arcs"]:
        x = y = 0
        line = []
        for dx, dy in arc:
            x, y = x + dx, y + dy
            line.append((x * sx + tx, y * sy + ty))
        yield line


def without_edges(line):
    """The parts of a line that are not an edge of the map."""
    part = line[:1]
    for a, b in zip(line, line[1:]):
        if min(abs(a[0]), abs(b[0])) > 179.99 or abs(a[0] - b[0]) > 180:
            yield part
            part = []
        part.append(b)
    yield part


def simplified(line):
    keep, left = {0, len(line) - 1}, [(0, len(line) - 1)]
    while left:
        a, b = left.pop()
        (x, y), (x2, y2) = line[a], line[b]
        narrow = max(0.2, math.cos(math.radians((y + y2) / 2)))
        dx, dy = (x2 - x) * narrow, y2 - y
        farthest, at = 0, None
        for i in range(a + 1, b):
            px, py = (line[i][0] - x) * narrow, line[i][1] - y
            part = min(max((px * dx + py * dy) / (dx * dx + dy * dy), 0), 1) if dx or dy else 0
            distance = math.hypot(px - part * dx, py - part * dy)
            if distance > farthest:
                farthest, at = distance, i
        if farthest > TOLERANCE:
            keep.add(at)
            left += [(a, at), (at, b)]
    return [line[i] for i in sorted(keep)]


def number(n):
    n = -2 * n - 1 if n < 0 else 2 * n
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def main():
    out = b""
    for arc in arcs(sys.argv[1]):
        size = max(max(axis) - min(axis) for axis in zip(*arc))
        if arc[0] == arc[-1] and size < SMALLEST:
            continue
        for line in without_edges(arc):
            if len(line) < 2:
                continue
            half = len(line) // 2
            line = simplified(line[:half + 1])[:-1] + simplified(line[half:]) if line[0] == line[-1] else simplified(line)
            places = [(round(x * STEPS), round(y * STEPS)) for x, y in line]
            places = [p for i, p in enumerate(places) if i == 0 or p != places[i - 1]]
            if len(places) < 2:
                continue
            out += number(len(places))
            before = (0, 0)
            for x, y in places:
                out += number(x - before[0]) + number(y - before[1])
                before = (x, y)
    target = pathlib.Path(__file__).parent.parent / "libs/nc3z-look/assets/coastline.bin"
    target.write_bytes(out)
    print(f"{target}: {len(out)} bytes")


main()

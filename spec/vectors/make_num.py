#!/usr/bin/env python3
"""Makes num.json: one payload of nc3z.num for each feature, put together by hand from spec/num.md, and what it decodes to.

    make_num.py [--check]      --check compares with the file; frames of zstd may differ between its versions, what they hold not
"""

import json
import struct
import sys
from itertools import groupby
from pathlib import Path

import zstandard

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "spec/reference"))
import nc3z_num as num  # noqa: E402
from make_test_archive import varint  # noqa: E402
from nc3z_ref import shuffle  # noqa: E402

TYPES = {"byte": num.BYTE, "short": num.SHORT, "ushort": num.USHORT, "float": num.FLOAT, "double": num.DOUBLE, "int64": num.INT64}
SIZES = {"byte": 1, "short": 2, "ushort": 2, "float": 4, "double": 8, "int64": 8}


#: Arithmetic codes cannot be put together by hand: the encoder of this repository made these, and the reference decoder reads them.
MIXED = {
    "mix-rows": "01004008000a4e94cddbbbd8858debb30e4d8a879c836f698fbad8811d14cb305cc5cdc07d6ab3c433bbbf465a38cb42e601e2bb252797b13020ea1b"
              "42f3bc5c737046ba73195a206403ca1117f60f18514e774b64",
    "mix-planes": "0101431e040100807f00000003010a010a010a010a010a010a010a010a010a010a01060000204105140a6391e3df116e1c7086a0c966f65271c90d2d"
              "c52bf6d884629a53cf53e5b00e0050870b91e842f5047b01cedf5c5abe91a36893e009f15fe557ed2103345a6a7c7af703c68e58e42b96dcfc5285a6"
              "4ee9d4ca4fa10c129d49d3362b1d8bf3dca7309e13dce65d368353049a4ce30632b3043c1a80c00a6616001e59011d962525a9563bc45a4106875c57"
              "7a26013fa1051aca4080d06588ef1c20934fc6d587e95a6f3e27863b032284351f96085107d04223b05000401b7030a98dd7c2f863699ff168b00498"
              "ae92bc4e174d870afc5a83e30780fc4b80330c9136e7d529c98910bec9005364c168b93bb620251a102a405726003819002caf9d56859bd0bbad3507"
              "4d072a04a3de4c58e50b311c0b80ac03008280455680a17796e7de8397fbc8f1013d5a89ef080fd2807001585a60f10db62802a82d0062354bacebba"
              "421a58320045180f6e14406d8c1905746d80a00dc9940524650fad51f76d2e4798335441681f6597230750f22080de6b68200e60b61ed018571408de"
              "cd2a04",
    "mix-long": "01004108a708000000000080000a1491e0c978cc9789afeac5a9f8a6550738c251c21a0c91ffffff9f21d210f9ffffff1922f36effffff7fdecd10f9"
              "ffffff1922f36effffff5fdedd10f9ffffff1722f46effffff5fdedd10f9ffffff17220c91ffffff9f2132eff6ffffffe5dd0d91ffffff7f2142eff6"
              "ffffffe5dd0d91ffffff9f2142eff6ffffffe7dd0d91ffffff9f21d210f9ffffff1722f46effffff5fdedd10f9ffffff1922f36effffff7fdecd10f9"
              "ffffff1922f36effffff7fdecd10f9ffffff19220d91000000a02132ef06000000e8dd0c91ffffff9f2132eff6ffffffe5dd0c91ffffff7f2132eff6"
              "ffffffe5dd0d91ffffff7f2142eff6ffffffe5dd0d91ffffff9f21d210f9ffffff1722f46effffff5fdedd10f9ffffff1722f46effffff5fdedd10f9"
              "ffffff1922f36effffff7fdecd10f9ffffff19220d91ffffff9f2132eff6ffffffe7dd0c91ffffff9f2132eff6ffffffe7dd0c91ffffff9f2132eff6"
              "ffffffe5dd0d91ffffff7f21c210f9ffffff1922f36effffff5fdecd10f9ffffff1722f36effffff5fdedd10f9ffffff1722f46effffff5fdedd10f9"
              "ffffff19220d91000000802142ef06000000e6dd0d91ffffff7f2142eff6ffffffe5dd0d91ffffff9f2132eff6ffffffe7dd0c91ffffff9f2102",
}


def words(values, size):
    return b"".join((v & (1 << 8 * size) - 1).to_bytes(size, "little") for v in values)


def frame(data):
    return zstandard.ZstdCompressor(level=3, write_content_size=True, write_checksum=False, write_dict_id=False).compress(data)


def raw(data):
    return b"\0" + data


def payload(parts, mask=0, domain=0, exceptions=0, again=0, strides=0, coder=0, rows=0, by_value=0):
    repeats = again | rows << 2 | by_value << 4
    head = [1, mask | domain << 2 | exceptions << 4, strides | coder << 4 | (repeats > 0) << 7] + [repeats] * (repeats > 0)
    return bytes(head) + b"".join(varint(len(p)) for p in parts[:-1]) + b"".join(parts)


def deltas(values, size, steps):
    """Section 5 of the text, without a mask: residuals of these steps, in the encoder's order."""
    out = [0] + [(a - b) & (1 << 8 * size) - 1 for a, b in zip(values[1:], values)]
    return differences(out, size, steps)


def differences(out, size, steps):
    """The same without neighbours."""
    mask = (1 << 8 * size) - 1
    for s in steps:
        out = out[:s] + [(a - b) & mask for a, b in zip(out[s:], out)]
    return out


def floats(values, kind):
    """The patterns of numbers."""
    return [struct.unpack("<I" if kind == "float" else "<Q", struct.pack("<f" if kind == "float" else "<d", x))[0] for x in values]


def by_value(patterns, kind, near, far, valid, k=0):
    """Section 5, by value: the base, and the residuals of the valid positions."""
    bits = 8 * SIZES[kind]
    whole, form = ("<I", "<f") if kind == "float" else ("<Q", "<d")
    lowest, highest, fraction = (27, 226, 23) if kind == "float" else (123, 1922, 52)

    def rounded(x):
        return struct.unpack(form, struct.pack(form, x))[0]

    def number(b):
        exponent = b >> fraction & (1 << bits - 1 - fraction) - 1
        return struct.unpack(form, struct.pack(whole, b))[0] if lowest <= exponent <= highest else 0.0

    def integer(b):
        b = (b - (b >> bits - 1 << bits) >> k) & (1 << bits) - 1
        return b ^ (1 << bits - 1 - k) - 1 if b >> bits - 1 else b

    def there(*positions):
        return all(j >= 0 and valid[j] for j in positions)

    def step(j):
        return rounded(number(patterns[j]) - number(patterns[j - 1])) if j % near and there(j, j - 1) else 0.0

    left = [i for i, v in enumerate(valid) if v]
    out = [0]
    for before, i in zip(left, left[1:]):
        if i % near == 0 and there(i - near):
            begin = number(patterns[i - near])
            expected = rounded(number(patterns[i - far]) - number(patterns[i - far - near])) if far and there(i - far, i - far - near) else 0.0
        else:
            begin = number(patterns[before])
            expected = rounded(step(i - near) + rounded(step(i - far) - step(i - far - near))) if far else step(i - near)
        predicted = floats([rounded(begin + expected)], kind)[0]
        out.append(integer(patterns[i]) - integer(predicted) & (1 << bits) - 1)
    return words([integer(patterns[left[0]])], bits // 8), words(out, bits // 8)


def contexts(n, row):
    """Section 7: tokens that follow from their contexts alone, and the part that says so."""
    tables = [(5 * t + 3) % 16 for t in range(20)]
    kn, kw, of = 2, 16, [(7 * c + 1) % 20 for c in range(32)]
    lane = n // 4
    tokens = []
    for p in range(n):
        at = p % lane
        west = tokens[-1] if at else 0
        north = 1
        if at >= row + 1:
            a, b, c = tokens[p - row - 1:p - row + 2]
            north = (b + (a + c + 1 >> 1) + 1 >> 1) >= 7
        tokens.append(tables[of[north * kw + west]])
    bits, at = 0, 0
    for t in tables:
        for value, count in (t, 8), (t + 1, 8), (5, 4), (1, 5):         # `lo`, `hi`, `e` and `m`: all 32 states
            bits |= value << at
            at += count
    stored = bits.to_bytes(at + 7 >> 3, "little")
    head = bytes([5, kn, kw, len(tables)]) + varint(row) + bytes([7]) + bytes(range(1, 16)) + bytes(of)
    return tokens, head + stored + varint(3) + bytes(3)


def zigzag(r, size):
    bits = 8 * size
    return (r << 1 ^ -(r >> bits - 1)) & (1 << bits) - 1


def planes(residuals, size):
    return frame(shuffle(words([zigzag(r, size) for r in residuals], size), size))


def vectors():
    def patterns(values, kind):
        return [f"{v & (1 << 8 * SIZES[kind]) - 1:#x}" for v in values]

    def add(name, proves, kind, geometry, values, made, dictionary=None, reference=None):
        reference = reference and {"type": reference[0], "values": patterns(reference[1], reference[0])}
        found.append({"name": name, "proves": proves, "type": kind, "geometry": list(geometry), "dictionary": dictionary,
                      "reference": reference, "payload": made.hex(), "values": patterns(values, kind)})

    found, flat = [], (0, 0, 0)
    three = [1, -2, 300]
    add("store", "words as they are, little-endian; no part but the residuals, whose length is not stored", "short", flat, three,
        payload([words(three, 2)]))
    add("store-float", "float patterns by their ordered bits: -1.5 has its lower bits complemented", "float", flat, [0x3FC00000, 0xBFC00000],
        payload([words([0x3FC00000, 0xBFC00000 ^ 0x7FFFFFFF], 4)]))
    add("zstd", "the same words in a zstd frame", "short", flat, three * 20, payload([frame(words(three * 20, 2))], coder=1))
    add("planes", "byte planes without deltas: no zigzag", "short", flat, three * 20, payload([frame(shuffle(words(three * 20, 2), 2))], coder=2))
    line = [5, 7, 9, 8, 100, -3]
    add("planes-delta", "byte planes of zigzag residuals; the base part and its length", "short", flat, line,
        payload([words(line[:1], 2), planes(deltas(line, 2, []), 2)], strides=1, coder=2))
    cube = [(x * x + 3 * y + 7 * z * y) & 0xFFFF for z in range(3) for y in range(3) for x in range(4)]
    shape = (4, 12, 36)
    add("planes-volume", "deltas along elements, rows and planes", "ushort", shape, cube,
        payload([words(cube[:1], 2), planes(deltas(cube, 2, [4, 12]), 2)], strides=7, coder=2))
    add("repeats", "neighbours again twice, rows again once", "ushort", shape, cube,
        payload([words(cube[:1], 2), planes(deltas(cube, 2, [1, 1, 4, 4]), 2)], strides=3, coder=2, again=2, rows=1))
    add("alone", "deltas along rows and planes, and none along elements: no base", "ushort", shape, cube,
        payload([planes(differences(cube, 2, [4, 12]), 2)], strides=6, coder=2))
    add("alone-repeats", "rows again once, without elements", "ushort", shape, cube,
        payload([planes(differences(cube, 2, [4, 4]), 2)], strides=2, coder=2, rows=1))
    add("mask-2", "every element is the masked pattern: one part, no length", "float", flat, [0x7F800001] * 5, payload([words([0x7F800001], 4)], mask=2))
    add("mask-runs", "runs of masked and valid elements, the first of length 0", "byte", flat, [3, 9, 9, 4],
        payload([b"\x09\x00" + raw(b"\0\1\2\1"), bytes([3, 4])], mask=1))
    # Valid: rows of 3 x 4; each row like the one before but for one element.
    valid = [1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1]
    bits = [v ^ (valid[i - 4] if i >= 4 else 0) for i, v in enumerate(valid)]
    by_row = bytes([0]) + bytes(len(list(run)) for _, run in groupby(bits))
    left = [i for i, v in enumerate(valid) if v]
    add("mask-row", "runs of what differs from the row before, in a byte string without zstd", "byte", (4, 12, 0),
        [i if v else 0xFF for i, v in enumerate(valid)], payload([b"\xff\x01" + raw(by_row), bytes(left)], mask=1))
    add("mask-row-zstd", "the same runs as a zstd frame", "byte", (4, 12, 0),
        [i if v else 0xFF for i, v in enumerate(valid)], payload([b"\xff\x01\x01" + frame(by_row), bytes(left)], mask=1))
    add("trim", "four low bits that are zero everywhere", "short", flat, [0x10, 0x120, -0x40], payload([b"\x04", words([1, 0x12, -4], 2)], domain=1))
    add("trim-all-but-one", "31 low bits that are zero everywhere: a shift by all bits of the type gives 0", "float", flat, [0x80000000, 0, 0x80000000],
        payload([b"\x1f", words([0xFFFFFFFF, 0, 1], 4)], domain=1))
    add("trim-all-but-one-short", "the same of integers", "short", flat, [0x8000, 0], payload([b"\x0f", words([1, 2], 2)], domain=1))
    add("dictionary", "positions in a table of the variable's values", "byte", flat, [9, 7, 9], payload([bytes([1, 0, 1])], domain=3), "020100000709")
    add("dictionary-exception", "a value that the table has not: an exception to the nearest one", "byte", flat, [9, 8, 9],
        payload([raw(varint(1) + varint(1) + varint(2)), bytes([1, 0, 1])], domain=3, exceptions=1), "020100000709")
    # Columns are differenced: what stands under a masked element is as it is.
    spread = [10 * i + i // 4 for i in range(12)]
    under = [spread[i] - (spread[i - 4] if i >= 4 and valid[i - 4] else 0) for i in left]
    add("alone-masked", "deltas along rows alone, where some elements are masked", "byte", (4, 12, 0),
        [v if valid[i] else 0xFF for i, v in enumerate(spread)], payload([b"\xff\x01" + raw(by_row), words(under, 1)], mask=1, strides=2))
    off_step = struct.pack("<dd", 1.0, 0.1)
    tenths = [struct.unpack("<I", struct.pack("<f", x))[0] for x in (1.0, 1.1, 1.2)]
    # The second and the last of eleven are masked; of the others the third is one unit above its place, the fifth 200 below, the tenth 300 above.
    eleven = [struct.unpack("<I", struct.pack("<f", 1.0 + 0.1 * i))[0] for i in range(11)]
    moved = [0x7F800001 if i in (1, 10) else v + {2: 1, 4: -200, 9: 300}.get(i, 0) for i, v in enumerate(eleven)]
    on_grid = words([i for i in range(11) if i not in (1, 10)], 4)
    runs = words([0x7F800001], 4) + b"\x00" + raw(b"\0\1\1\10\1")
    marks = (1 << 2 | 1 << 4 | 1 << 9).to_bytes(2, "little")
    values = shuffle(words([2 * 1, 2 * 200 - 1, 2 * 300], 2), 2)
    for form, of in (("raw", raw), ("zstd", lambda data: b"\1" + frame(data))):
        add(f"exceptions-marked-{form}", "a bit for each element, masked ones too, and two planes of differences", "float", flat, moved,
            payload([runs, varint(11) + off_step, b"\2" + varint(len(of(marks))) + of(marks) + of(values), on_grid],
                    mask=1, domain=2, exceptions=2))
    there = [i for i in range(11) if i not in (1, 10)]
    apart = words([i - (i - 4 if i >= 4 and i - 4 in there else 0) for i in there], 4)
    add("alone-marked", "marked exceptions, and deltas along rows alone", "float", (4, 0, 0), moved,
        payload([runs, varint(11) + off_step, b"\2" + varint(len(raw(marks))) + raw(marks) + raw(values), apart],
                mask=1, domain=2, exceptions=2, strides=2))
    add("scale-offset", "values on a grid: offset 1, step 0.1", "float", flat, tenths, payload([varint(3) + off_step, words([0, 1, 2], 4)], domain=2))
    winds = floats([-1.5, -0.25, 0.5, 1.75, -1.25, 1e-39, 0.75, 2.0, float("inf"), 0.3, -2e30, 1e-33, 3.0, 1.0, -0.5, 7.25], "float")
    add("by-value", "rows predicted by their values; a subnormal, an infinite and other numbers that count as 0", "float", (4, 8, 0), winds,
        payload([*by_value(winds, "float", 4, 0, [1] * 16)], strides=3, by_value=1))
    doubles = floats([0.1 * (i % 4) ** 2 - 0.5 * (i // 4) + 0.01 * i * i for i in range(24)], "double")
    add("by-value-planes", "rows and planes predicted by their values", "double", (4, 8, 24), doubles,
        payload([*by_value(doubles, "double", 4, 8, [1] * 24)], strides=7, by_value=1))
    some = [1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1]
    halves = [v if some[i] else 0x7F800001 for i, v in enumerate(floats([i % 5 - 1.5 * (i // 4) for i in range(16)], "float"))]
    add("by-value-masked", "the same where elements are masked", "float", (4, 8, 0), halves,
        payload([words([0x7F800001], 4) + b"\x00" + raw(b"\0\1\1\6\1\7"), *by_value(halves, "float", 4, 0, some)], mask=1, strides=3, by_value=1))
    short = floats([i % 5 - 1.5 * (i // 4) for i in range(16)], "double")
    base, rest = by_value(short, "double", 4, 0, [1] * 16, k=44)
    add("by-value-trim", "the same of numbers with low bits that are zero", "double", (4, 8, 0), short,
        payload([base, b"\x2c", rest], domain=1, strides=3, by_value=1))
    noise = [(i * 2654435761 >> 7) & 0xFFFF for i in range(128)]
    tokens, part = contexts(200, 20)
    add("ctx-contexts", "32 contexts and 20 tables, so that the map has bytes; each table has one token, which takes no bits", "byte", (20, 200, 0), tokens,
        payload([part], coder=3))
    add("mix-rows", "mixed predictions by the row before", "ushort", (8, 0, 0), [i % 8 * (i % 8) + 5 * (i // 8) + noise[i] % 7 for i in range(96)],
        bytes.fromhex(MIXED["mix-rows"]))
    add("mix-planes", "mixed predictions by the row and the plane before, with masked elements", "float", (5, 20, 0),
        [0x7F800001 if i % 11 == 3 else 0x41200000 + (noise[i] << i % 13) + 1000 * (i // 20) for i in range(120)],
        bytes.fromhex(MIXED["mix-planes"]))
    add("mix-long", "mixed predictions of long integers: fields of more than 32 bits", "int64", flat,
        [(noise[i] << 45) ^ noise[i + 7] ^ (i % 2 == 0) << 63 for i in range(60)], bytes.fromhex(MIXED["mix-long"]))
    references(add)
    return found


def references(add):
    """Section 10: pairs of types, domains, and what is held."""
    flat = (0, 0, 0)
    add("reference", "integers against those of a tile of the same type", "short", flat, [11, 20, 25], payload([words([1, 0, -5], 2)]),
        reference=("short", [10, 20, 30]))
    add("reference-neighbours", "neighbours are differenced before the reference is added", "short", flat, [11, 22, 34],
        payload([words([1], 2), words([0, 1, 2], 2)], strides=1), reference=("short", [10, 20, 30]))
    add("reference-planes", "residuals of planes are zigzagged where there is a reference, without strides too", "short", flat, [11, 20, 25],
        payload([frame(bytes([2, 0, 9, 0, 0, 0]))], coder=2), reference=("short", [10, 20, 30]))
    add("reference-widened", "a shorter integer is extended by its sign", "short", flat, [0, 5], payload([words([1, 0], 2)]), reference=("byte", [-1, 5]))
    add("reference-without-sign", "one without a sign is extended by zeros", "int64", flat, [0xFFFF, 1], payload([words([0, -4], 8)]), reference=("ushort", [0xFFFF, 5]))
    add("reference-cut", "of a longer integer the low bits count", "short", flat, [7, -1], payload([words([2, 0], 2)]), reference=("int64", [0x10005, -1]))
    add("reference-float-of-integer", "the value of an integer as a float", "float", flat, [*floats([3.0], "float"), 0x4B800001],
        payload([words([0, 1], 4)]), reference=("int64", [3, 1 << 24]))
    doubles = floats([1.5, 1e300, float("nan"), 1e-320, -1e-320], "double")
    add("reference-float-of-double", "rounding, overflow, not a number, and magnitudes that count as zero", "float", flat,
        [*floats([1.5, float("inf")], "float"), 0x7FC00001, 0, 0x80000000], payload([words([0, 0, 1, 0, 0], 4)]), reference=("double", doubles))
    add("reference-integer-of-double", "ties to even, the ends of the type, not a number", "ushort", flat, [2, 4, 1, 65535, 7],
        payload([words([0, 0, 1, 0, 7], 2)]), reference=("double", floats([2.5, 3.5, -1.0, 1e9, float("nan")], "double")))
    near = floats([1.5, 2.0, 2.75, -3.0], "float")
    add("reference-trim", "trimmed floats: the reference's patterns are shifted and put in order", "float", flat, near,
        payload([b"\x14", words([0, 0, 1, 0], 4)], domain=1), reference=("float", floats([1.5, 2.0, 2.5, -3.0], "float")))
    step = varint(4) + struct.pack("<2d", 0.0, -100.0)
    add("reference-scale-offset", "numbers of steps; one that is not a number is held", "double", flat, floats([0.07, 0.14, 0.28, 27.32], "double"),
        payload([step, words([0, 1, 15, 2], 8)], domain=2), reference=("float", floats([0.07, 0.13, float("nan"), 27.3], "float")))
    add("reference-rank", "ranks; a value that the table has not is held, and is 0 at the beginning", "byte", flat, [7, 9, 9, 7],
        payload([bytes([0, 0, 0, 0])], domain=3), "020100000709", reference=("byte", [8, 9, 8, 7]))
    add("reference-masked", "where the reference has the masked pattern, the integer before is held", "short", flat, [5, -1, 12, 9],
        payload([words([-1], 2) + b"\0" + raw(b"\0\1\1\2"), words([0, 7, 0], 2)], mask=1), reference=("short", [5, -1, -1, 9]))


def decoded(vector):
    kind, dictionary = TYPES[vector["type"]], vector["dictionary"]
    table = num.decode_dictionary(bytes.fromhex(dictionary), kind) if dictionary else None
    other = vector["reference"]
    if other:
        other = num.convert([int(v, 16) for v in other["values"]], num.Type(TYPES[other["type"]]), num.Type(kind))
    return num.decode(bytes.fromhex(vector["payload"]), len(vector["values"]), kind, tuple(vector["geometry"]), table, other)


def main():
    made = vectors()
    for vector in made:
        assert [f"{v:#x}" for v in decoded(vector)] == vector["values"], vector["name"]
    path = HERE / "num.json"
    if "--check" in sys.argv:
        stored = json.loads(path.read_text())
        same = [[{k: v for k, v in vector.items() if k != "payload"} for vector in some] for some in (stored, made)]
        assert same[0] == same[1], "num.json is not what this makes"
        assert all([f"{v:#x}" for v in decoded(vector)] == vector["values"] for vector in stored)
        return
    path.write_text("[\n" + ",\n".join(json.dumps(vector) for vector in made) + "\n]\n")


if __name__ == "__main__":
    main()

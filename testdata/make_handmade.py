#!/usr/bin/env python3
"""Builds the hand-made files of testdata/classic, byte by byte, the same bytes each time.

    make_handmade.py [OUTDIR]      writes NAME.nc; with --check compares with what is there instead
"""

import argparse
import struct
import sys
from pathlib import Path

SIZES = [None, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8]
BYTE, CHAR, SHORT, INT, FLOAT, DOUBLE, UBYTE, USHORT, UINT, INT64, UINT64 = range(1, 12)
STREAMING = -1


class File:
    """A classic file in the making. Variables are (name, dimension numbers, type); data is given for each record."""

    def __init__(self, version, dims, variables, numrecs=0, atts=()):
        self.version, self.dims, self.variables, self.numrecs, self.atts = version, dims, variables, numrecs, atts
        self.begins = {}            # begin fields that are not the natural ones
        self.vsizes = {}
        self.pad = b"\0"
        self.min_free = 0

    def count(self, n):
        return struct.pack(">Q" if self.version == 5 else ">I", n & (2**64 - 1 if self.version == 5 else 2**32 - 1))

    def text(self, raw):
        return self.count(len(raw)) + raw + self.pad * (-len(raw) % 4)

    def items(self, tag, items):
        return struct.pack(">I", tag if items else 0) + self.count(len(items)) + b"".join(items)

    def attributes(self, atts):
        out = []
        for name, kind, raw in atts:
            out.append(self.text(name) + struct.pack(">I", kind) + self.count(len(raw) // SIZES[kind]) + raw
                       + self.pad * (-len(raw) % 4))
        return self.items(12, out)

    def is_record(self, dims):
        return bool(dims) and self.dims[dims[0]][1] == 0

    def size(self, dims, kind):
        size = SIZES[kind]
        for d in dims[1:] if self.is_record(dims) else dims:
            size *= self.dims[d][1]
        return size

    def header(self, begins):
        variables = []
        for i, (name, dims, kind) in enumerate(self.variables):
            size = self.vsizes.get(i, -(-self.size(dims, kind) // 4) * 4)
            variables.append(self.text(name) + self.count(len(dims)) + b"".join(map(self.count, dims)) + self.attributes([])
                             + struct.pack(">I", kind) + self.count(size)
                             + struct.pack(">I" if self.version == 1 else ">Q", begins[i]))
        dims = [self.text(name) + self.count(n) for name, n in self.dims]
        return (b"CDF" + bytes([self.version]) + self.count(self.numrecs) + self.items(10, dims)
                + self.attributes(self.atts) + self.items(11, variables))

    def build(self, records=None):
        """The whole file; every element and every padding byte differs from its neighbours."""
        n = self.numrecs if records is None else records
        begins = [0] * len(self.variables)
        at = len(self.header(begins)) + self.min_free
        at += -at % 4
        fixed = [i for i, v in enumerate(self.variables) if not self.is_record(v[1])]
        record = [i for i, v in enumerate(self.variables) if self.is_record(v[1])]

        def slot(i):
            size = self.size(*self.variables[i][1:])
            return size if record == [i] else size + -size % 4

        for i in fixed + record:
            begins[i] = self.begins.get(i, at)
            at = max(at, begins[i] + slot(i))
        stride = sum(map(slot, record))
        out = bytearray(self.header(begins))
        for i in fixed + record:
            size = self.size(*self.variables[i][1:])
            for r in range(n if i in record else 1):
                start = begins[i] + r * stride
                end = start + slot(i)
                out += b"\xee" * (end - len(out))
                out[start:start + size] = values(self.variables[i][2], size, i + 3 * r)
                out[start + size:end] = b"PAD"[:slot(i) - size]
        return bytes(out)


def values(kind, size, seed):
    """Elements of a type: counting up from the seed, with the extremes and a quiet and a signalling NaN among them."""
    out = b""
    count = size // SIZES[kind]
    for k in range(count):
        n = seed * 7 + k
        if kind in (FLOAT, DOUBLE):
            special = {3: 0x7FA00001, 4: 0x80000000, 5: 0xFF800000}.get(k)
            if special is not None:
                out += struct.pack(">I", special) + bytes(SIZES[kind] - 4)
            else:
                out += struct.pack(">f" if kind == FLOAT else ">d", n * 0.25 - 3)
        elif kind == CHAR:
            out += bytes([97 + n % 26])
        elif k == 2:
            out += b"\x80" + bytes(SIZES[kind] - 1)
        else:
            out += (n % 100).to_bytes(SIZES[kind], "big")
    return out


class Numbers:
    """A plain generator of numbers (that of MMIX), so that the bytes do not depend on any library."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) * n >> 31

    def walk(self, n, step, start=0):
        """A walk of n whole numbers with steps from -step to step, now and then a jump."""
        at, out = start, []
        for _ in range(n):
            at += self.below(2 * step + 1) - step + (0 if self.below(200) else 40 * step)
            out.append(at)
        return out


def numeric():
    """Numbers like measured ones: a masked field of tenths, walks of all widths, a few repeated values."""
    draw = Numbers(2)
    t, y, x = 4, 24, 40
    grid, n = [0, 1, 2], t * y * x
    land = [draw.walk(1, 1, 8)[0] + (r * 3 + c * c // 40) % 30 > 20 for r in range(y) for c in range(x)] * t
    few = [1e-3 * (draw.below(10**9) ** 2 / 7 + 1) for _ in range(24)]
    often = [few[min(draw.below(24), draw.below(24))] for _ in range(n)]
    field = [k + 3 * (i % x) + 2 * (i // x % y) for i, k in enumerate(draw.walk(n, 2))]
    pack = {BYTE: "b", SHORT: "h", INT: "i", FLOAT: "f", DOUBLE: "d", UBYTE: "B", USHORT: "H", UINT: "I", INT64: "q",
            UINT64: "Q"}
    content = [
        (b"tenths", FLOAT, [1e20 if dry else 280 + 0.1 * k for k, dry in zip(field, land)]),
        (b"hundredths", DOUBLE, [0.01 * k if draw.below(150) else 0.01 * k + 1e-7 for k in draw.walk(n, 30)]),
        (b"few_doubles", DOUBLE, often),
        (b"few_ints", INT, [int(v) % 2**31 - 2**30 for v in often]),
        (b"few_shorts", SHORT, [few.index(v) ** 3 - 6000 for v in often]),
        (b"coarse", FLOAT, [float(k // 3 * 1024) * 1.5 for k in field]),
        (b"noise", FLOAT, [(draw.below(2**24) + 1) / (draw.below(2**20) + 3) for _ in range(n)]),
        (b"bytes", BYTE, [-100 if dry else k % 120 for k, dry in zip(field, land)]),
        (b"shorts", SHORT, draw.walk(n, 6)),
        (b"ubytes", UBYTE, [k % 256 for k in draw.walk(n, 2)]),
        (b"ushorts", USHORT, [k % 65536 for k in draw.walk(n, 90)]),
        (b"uints", UINT, [k % 2**32 for k in draw.walk(n, 9)]),
        (b"int64s", INT64, [k * 1000 for k in draw.walk(n, 7, 2**40)]),
        (b"uint64s", UINT64, [k % 2**64 for k in draw.walk(n, 2**20)]),
    ]
    file = File(5, [(b"t", t), (b"y", y), (b"x", x)], [(name, grid, kind) for name, kind, _ in content])
    data = file.build()
    size = sum(len(numbers) * SIZES[kind] for _, kind, numbers in content)
    return data[:len(data) - size] + b"".join(struct.pack(f">{n}{pack[kind]}", *numbers) for _, kind, numbers in content)


def smooth():
    """Fields smooth to their last digit, and numbers that are quotients: what repeated differences and divisors are for."""
    draw = Numbers(5)
    t, y, x = 3, 30, 44
    grid, n = [0, 1, 2], t * y * x
    places = [(i // (x * y), i // x % y, i % x) for i in range(n)]
    content = [
        (b"curved", DOUBLE, [40 + r / 11 + c * (c - r * 3) / 7e3 + k * r * c / 9e5 for k, r, c in places]),
        (b"masked", FLOAT, [1e20 if (r * 5 + c * c // 30) % 37 > 29 else 250 + c / 3 - c * c * r / 2e3 for k, r, c in places]),
        (b"cubic", INT, [c**3 - 4 * r * r * c + 90 * k * r + draw.below(2) for k, r, c in places]),
        (b"parsed", DOUBLE, [k / 100 for k in draw.walk(n, 30)]),
        (b"means", FLOAT, [k / 144 for k in draw.walk(n, 300)]),
    ]
    pack = {INT: "i", FLOAT: "f", DOUBLE: "d"}
    file = File(2, [(b"t", t), (b"y", y), (b"x", x)], [(name, grid, kind) for name, kind, _ in content])
    data = file.build()
    size = sum(len(numbers) * SIZES[kind] for _, kind, numbers in content)
    return data[:len(data) - size] + b"".join(struct.pack(f">{n}{pack[kind]}", *numbers) for _, kind, numbers in content)


def winds():
    """Floats of both signs with all their digits: what prediction by values is for. One field is masked, one has singles in doubles."""
    draw = Numbers(11)
    t, y, x = 3, 26, 48
    n = t * y * x
    places = [(i // (x * y), i // x % y, i % x) for i in range(n)]

    def wave(z):
        """A smooth wave between -1 and 1, without functions that differ between platforms."""
        z = z % 4 - 2
        return z * (2 - abs(z))

    def single(z):
        return struct.unpack(">f", struct.pack(">f", z))[0]

    def wind(k, r, c, length, noise):
        return 11 * wave(c / length + r / 31 + k / 5) * wave(r / 7 - k / 8 + length) + draw.below(1 << 20) / 1048577 / noise

    content = [
        (b"u", FLOAT, [wind(k, r, c, 9, 50) for k, r, c in places]),
        (b"sst", FLOAT, [1e20 if (r * 5 + c * c // 30) % 37 > 31 else wind(k, r, c, 13, 40) for k, r, c in places]),
        (b"v", DOUBLE, [wind(k, r, c, 7, 5e6) for k, r, c in places]),
        (b"wide", DOUBLE, [single(wind(k, r, c, 17, 60)) for k, r, c in places]),
    ]
    pack = {FLOAT: "f", DOUBLE: "d"}
    data = File(2, [(b"t", t), (b"y", y), (b"x", x)], [(name, [0, 1, 2], kind) for name, kind, _ in content]).build()
    size = sum(len(numbers) * SIZES[kind] for _, kind, numbers in content)
    return data[:len(data) - size] + b"".join(struct.pack(f">{n}{pack[kind]}", *numbers) for _, kind, numbers in content)


def references():
    """Profiles of floats, and nearly equal arrays: corrected, filled at more places, as doubles, in whole tenths."""
    draw = Numbers(7)
    n, fill = 2600, 99999.0
    rows = [k / 1000 for k in draw.walk(n, 700, 9000)]
    raw = [fill if i % 90 > 81 else x for i, x in enumerate(rows)]
    single = [struct.unpack(">f", struct.pack(">f", x))[0] for x in raw]
    adjusted = [fill if i > 2300 else x + 0.003 if 900 < i < 1700 and x != fill else x for i, x in enumerate(raw)]
    kinds = [(b"temp", FLOAT, raw), (b"adjusted", FLOAT, adjusted), (b"again", FLOAT, raw), (b"exact", DOUBLE, single),
             (b"tenths", SHORT, [-9999 if x == fill else round(x * 10) for x in raw]),
             (b"warmer", SHORT, [-9999 if x == fill else round(x * 10) + draw.below(3) for x in raw]),
             (b"error", FLOAT, [fill if i > 2300 else 0.002 + draw.below(2) / 1000 for i in range(n)])]
    content = [(name, kind, 0, values) for name, kind, values in kinds]
    # short ones, which share a container
    content += [(b"t_short", FLOAT, 1, raw[:600]), (b"a_short", FLOAT, 1, adjusted[600:1200]), (b"b_short", DOUBLE, 1, single[:600])]
    pack = {SHORT: "h", FLOAT: "f", DOUBLE: "d"}
    data = File(2, [(b"n", n), (b"m", 600)], [(name, [dim], kind) for name, kind, dim, _ in content]).build()
    size = sum(len(values) * SIZES[kind] for _, kind, _, values in content)
    return data[:len(data) - size] + b"".join(
        struct.pack(f">{len(values)}{pack[kind]}", *values) for _, kind, _, values in content)


def beside():
    """Multiples of a step, rounded by other arithmetic: some differ by a unit or two, in a masked field of floats, or by more, in doubles."""
    draw, n, fill = Numbers(13), 4200, 1e20
    near = [(draw.below(3) or 2) - (draw.below(2) and 4) if draw.below(14) == 0 else 0 for _ in range(2 * n)]

    def moved(kind, x, units):
        bits, = struct.unpack(f">{kind[1]}", struct.pack(f">{kind[0]}", x))
        return struct.unpack(f">{kind[0]}", struct.pack(f">{kind[1]}", bits + units))[0]

    winds = [fill if i % 60 < 9 else moved("fI", k / 10, u) for i, (k, u) in enumerate(zip(draw.walk(n, 20, 9000), near))]
    heights = [moved("dQ", k / 100, u * draw.below(2**28)) for k, u in zip(draw.walk(n, 40, 9000), near[n:])]
    data = File(2, [(b"y", n // 60), (b"x", 60)], [(b"winds", [0, 1], FLOAT), (b"heights", [0, 1], DOUBLE)]).build()
    return data[:len(data) - 12 * n] + struct.pack(f">{n}f{n}d", *winds, *heights)


def components():
    """Neighbours that are not alike: the three components of slowly moving places, and cells of a mesh through time."""
    draw, fill = Numbers(17), -32768
    frames, atoms, times, cells = 24, 90, 40, 150
    places = [draw.below(200_000) - 100_000 for _ in range(3 * atoms)]
    moves = []
    for _ in range(frames):
        places = [k + draw.below(401) - 200 for k in places]
        # Thirds of a small step, so that no short decimal names them.
        moves += [k / 3072 for k in places]
    levels = [draw.below(20_000) - 10_000 for _ in range(cells)]
    depths = []
    for _ in range(times):
        levels = [k + draw.below(9) - 4 for k in levels]
        depths += [fill if i % 7 == 3 else k for i, k in enumerate(levels)]
    dims = [(b"frame", frames), (b"atom", atoms), (b"spatial", 3), (b"time", times), (b"cell", cells)]
    data = File(2, dims, [(b"coordinates", [0, 1, 2], FLOAT), (b"depth", [3, 4], SHORT)]).build()
    return data[:len(data) - 4 * len(moves) - 2 * len(depths)] + struct.pack(f">{len(moves)}f{len(depths)}h", *moves, *depths)


def outlines():
    """A header that is data: outlines of regions as attributes, in degrees of four digits, with numbers of other types among them."""
    draw, atts = Numbers(11), [(b"title", CHAR, b"outlines of regions")]
    for region in range(24):
        n = 30 + draw.below(40)
        for axis, at in ((b"lat", 350_000 + 9000 * region), (b"lon", -863_000 - 7000 * region)):
            atts.append((b"%s_%d" % (axis, region), FLOAT, struct.pack(f">{n}f", *(k / 1e4 for k in draw.walk(n, 300, at)))))
        atts.append((b"name_%d" % region, CHAR, b"region %d" % region))
        atts.append((b"code_%d" % region, SHORT, struct.pack(">h", region)))
    atts.append((b"crossings", SHORT, struct.pack(">60h", *draw.walk(60, 9))))
    atts.append((b"areas", DOUBLE, struct.pack(">24d", *(k / 7 for k in draw.walk(24, 10**6, 10**8)))))
    return File(1, [(b"region", 24)], [(b"number", [0], INT)], 0, atts).build()


def files():
    made = {"beside": beside(), "components": components(), "numeric": numeric(), "outlines": outlines(), "references": references(), "smooth": smooth(), "winds": winds()}
    dims = [(b"time", 0), (b"y", 3), (b"x", 5)]
    old = [BYTE, CHAR, SHORT, INT, FLOAT, DOUBLE]
    names = [b"byte", b"char", b"short", b"int", b"float", b"double", b"ubyte", b"ushort", b"uint", b"int64", b"uint64"]
    atts = [(b"title", CHAR, b"hand-made"), (b"numbers", SHORT, b"\0\1\0\2\0\3"), (b"empty", CHAR, b"")]

    words = [(b"title", CHAR, b"Argo float vertical profile"), (b"institution", CHAR, b"FR GDAC"), (b"source", CHAR, b"Argo float"),
             (b"references", CHAR, b"http://www.argodatamgt.org/Documentation"), (b"user_manual_version", CHAR, b"3.1"),
             (b"Conventions", CHAR, b"Argo-3.1 CF-1.6"), (b"featureType", CHAR, b"trajectoryProfile")]
    made["template"] = File(1, [(b"N_PROF", 2), (b"N_LEVELS", 7)], [(b"PRES", [0, 1], FLOAT), (b"TEMP", [0, 1], FLOAT)], 0, words).build()

    made["empty_cdf1"] = File(1, [], []).build()
    for version in (1, 2, 5):
        kinds = old if version < 5 else range(1, 12)
        both = [(b"f_" + names[k - 1], [1, 2], k) for k in kinds] + [(b"r_" + names[k - 1], [0, 2], k) for k in kinds]
        made[f"all_types_cdf{version}"] = File(version, dims, [(b"scalar", [], DOUBLE)] + both, 4, atts).build()
    made["lone_record_byte"] = File(1, dims, [(b"b", [0, 2], BYTE)], 3).build()
    made["lone_record_short"] = File(2, dims, [(b"s", [0, 1], SHORT)], 5).build()
    made["lone_record_ushort_cdf5"] = File(5, dims, [(b"s", [0], USHORT), (b"fixed", [1], UBYTE)], 7).build()
    two = [(b"a", [0, 2], SHORT), (b"b", [0], BYTE), (b"fixed", [1, 2], FLOAT)]
    made["record_padding"] = File(1, dims, two, 40).build()
    made["streaming"] = File(1, dims, two, STREAMING).build(6)
    made["streaming_partial"] = made["streaming"][:-9]
    made["no_records"] = File(1, dims, two, 0).build()

    gaps = File(2, dims, two, 3)
    gaps.min_free, gaps.pad = 512, b"\x5a"
    made["gap_after_header_odd_padding"] = gaps.build()
    reverse = File(1, dims, [(b"first", [2], INT), (b"second", [2], INT)])
    reverse.begins = {0: 200, 1: 164}
    made["fixed_reverse_order"] = reverse.build()
    over = File(1, dims, [(b"first", [1, 2], INT), (b"second", [1, 2], SHORT)])
    over.begins = {0: 160, 1: 190}
    made["overlapping"] = over.build()
    lies = File(1, dims, two, 3)
    lies.vsizes = {0: 4, 2: 2**32 - 1}
    made["vsize_lies"] = lies.build()
    full = File(1, dims, two, 3).build()
    made["trailing_bytes"] = full + b"left over by some program\n"
    made["truncated_in_element"] = full[:-31]
    made["truncated_fixed"] = File(1, dims, [(b"a", [1, 2], DOUBLE)]).build()[:-21]
    claims = File(1, dims, two, 1000)
    made["numrecs_beyond_end"] = claims.build(2)
    made["two_unlimited"] = File(1, [(b"t", 0), (b"u", 0)], [(b"a", [0], INT), (b"b", [1], SHORT)], 3).build()
    # refused: the header does not parse
    made["bad_truncated_header"] = full[:100]
    made["bad_version"] = b"CDF\x03" + full[4:]
    made["bad_dimension_id"] = File(1, dims, [(b"a", [1], INT)]).build().replace(
        b"a\0\0\0" + struct.pack(">II", 1, 1), b"a\0\0\0" + struct.pack(">II", 1, 9))
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("outdir", nargs="?", default=Path(__file__).parent / "classic", type=Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    wrong = 0
    for name, data in files().items():
        path = args.outdir / f"{name}.nc"
        if not args.check:
            path.write_bytes(data)
        elif not path.exists() or path.read_bytes() != data:
            print(f"{path} is not what this script makes", file=sys.stderr)
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())

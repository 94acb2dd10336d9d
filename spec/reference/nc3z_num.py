#!/usr/bin/env python3
"""A small decoder of the numeric codec `nc3z.num`, written from the text of spec/num.md alone.

It exists to prove that the text suffices, and so that no value is lost when every other program is gone: plain Python
(standard library and `zstandard`), every rule of refusal checked, not fast. Section numbers are those of spec/num.md.
nc3z_ref.py calls `decode_tile`; `decode` is the codec itself and knows nothing of archives.

    nc3z_num.py --self-test
"""

import struct
import sys
from array import array
from itertools import accumulate, chain, compress
from operator import add, xor

from nc3z_bytes import package

zstandard = package("zstandard")


class Refused(Exception):
    """The payload breaks a rule of the text."""


class Unsupported(Exception):
    """The payload is of a version this decoder does not know."""


def need(condition, what):
    if not condition:
        raise Refused(what)


# ---------------------------------------------------------------- section 1: conventions

BYTE, CHAR, SHORT, INT, FLOAT, DOUBLE, UBYTE, USHORT, UINT, INT64, UINT64 = range(1, 12)
SIZES = [0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8]
UNSIGNED = (CHAR, UBYTE, USHORT, UINT, UINT64)
MAX_ELEMENTS = 1 << 30
CODES = {array(code).itemsize: code for code in "QLIHB"}


class Type:
    """A netCDF type: its width, and the integer arithmetic that goes with it."""

    def __init__(self, number):
        self.number, self.size = number, SIZES[number]
        self.bits = 8 * self.size
        self.all = (1 << self.bits) - 1                 # `x & all` is x modulo 2^w
        self.top = 1 << (self.bits - 1)
        self.float = number in (FLOAT, DOUBLE)

    def signed(self, x):
        return x - (self.all + 1) if x & self.top else x

    def keys(self, values):
        """`key` of each value."""
        if not self.float:
            return values
        top, low = self.top, self.all >> 1
        return [b ^ low if b & top else b for b in values]

    def key(self, b):
        return b ^ (self.all >> 1) if self.float and b & self.top else b

    def order(self, b):
        """The sort key of dictionary entries."""
        return b if self.number in UNSIGNED else self.signed(self.key(b))

    def pattern(self, data):
        return int.from_bytes(data, "little")

    def words(self, data):
        """Little-endian bytes as integers."""
        out = array(CODES[self.size], data)
        if sys.byteorder == "big":
            out.byteswap()
        return out.tolist()

    def big_endian(self, patterns):
        out = array(CODES[self.size], patterns)
        if sys.byteorder == "little":
            out.byteswap()
        return out.tobytes()


def unzigzag(z, mask):
    return (z >> 1 ^ -(z & 1)) & mask


def unzigzags(values, mask):
    return [(z >> 1 ^ -(z & 1)) & mask for z in values]


class Bytes:
    """A cursor over bytes."""

    def __init__(self, data, what):
        self.data, self.what, self.pos = data, what, 0

    def take(self, n):
        need(n <= len(self.data) - self.pos, f"{self.what}: ends early")
        out = self.data[self.pos:self.pos + n]
        self.pos += n
        return out

    def u8(self):
        return self.take(1)[0]

    def rest(self):
        return self.take(len(self.data) - self.pos)

    def varint(self):
        value = 0
        for i in range(10):
            byte = self.u8()
            value |= (byte & 127) << (7 * i)
            if byte < 128:
                need(byte or i == 0, f"{self.what}: varint is not in its shortest form")
                need(value < 1 << 64, f"{self.what}: varint beyond 64 bits")
                return value
        raise Refused(f"{self.what}: varint beyond 64 bits")

    def end(self):
        need(self.pos == len(self.data), f"{self.what}: {len(self.data) - self.pos} bytes too many")


class Bits:
    """A bit stream, lowest bits first."""

    def __init__(self, data, what):
        self.data, self.what, self.pos = data, what, 0

    def take(self, n):
        at, end = self.pos, self.pos + n
        need(end <= 8 * len(self.data), f"{self.what}: ends early")
        self.pos = end
        return int.from_bytes(self.data[at >> 3:end + 7 >> 3], "little") >> (at & 7) & (1 << n) - 1

    def end(self):
        """All bytes are used, and the unused bits of the last one are zero."""
        need(len(self.data) == self.pos + 7 >> 3, f"{self.what}: not of the length it needs")
        need(self.pos % 8 == 0 or self.data[-1] >> self.pos % 8 == 0, f"{self.what}: unused bits are not zero")


def unzstd(data, low, high, what):
    """One zstd frame that fills its place, of `low` to `high` bytes."""
    need(len(data) >= 6 and data[:4] == b"\x28\xb5\x2f\xfd", f"{what}: not a zstd frame")
    need(data[4] & 31 == 0, f"{what}: a zstd frame with a checksum, dictionary or reserved bits")
    need(data[4] >> 5, f"{what}: a zstd frame without its content size")
    try:
        size = zstandard.get_frame_parameters(data).content_size
        need(low <= size <= high, f"{what}: zstd frame of {size} bytes, expected {low} to {high}")
        out = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise Refused(f"{what}: {error}") from error
    need(len(out) == size, f"{what}: {len(out)} bytes, expected {size}")
    return out


def byte_string(data, low, high, what):
    need(data, f"{what}: ends early")
    form, data = data[0], data[1:]
    need(form <= 1, f"{what}: form {form}")
    if form == 1:
        return unzstd(data, low, high, what)
    need(low <= len(data) <= high, f"{what}: {len(data)} bytes, expected {low} to {high}")
    return data


# ---------------------------------------------------------------- section 2: payload


def decode(payload, n, number, geometry=(0, 0, 0), dictionary=None, reference=None):
    """The `n` patterns of a payload, of the netCDF type `number`. `geometry` is (C, P, Q); `dictionary` a list; `reference` the
    patterns of the reference, as patterns of this type."""
    kind = Type(number)
    need(reference is None or len(reference) == n, "reference: number of elements")
    need(n <= MAX_ELEMENTS, "payload: too many elements")
    body = Bytes(payload, "payload")
    version = body.u8()
    if version != 1:
        raise Unsupported(f"payload of version {version}")
    flags, more = body.u8(), body.u8()
    mask, domain, exceptions = flags & 3, flags >> 2 & 3, flags >> 4 & 3
    need(mask <= 2 and exceptions <= 2 and flags < 64, f"payload: flags {flags:#04x}")
    strides, coder = more & 15, more >> 4 & 7
    need(coder <= 4, f"payload: coder {coder}")
    repeats = body.u8() if more & 128 else 0
    need(repeats < 32 and (repeats != 0) == (more >> 7), f"payload: repeats {repeats:#04x}")
    again, rows_again, by_value = repeats & 3, repeats >> 2 & 3, repeats >> 4
    need(not by_value or repeats == 16, "payload: repeats by value")
    need(not by_value or (kind.float and domain < 2 and reference is None), "payload: by value without floats in their order")
    need(strides & 1 or not again, "payload: no neighbours to repeat")
    need(strides & 2 or not rows_again, "payload: no rows to repeat")
    need(not exceptions or domain >= 2, "payload: exceptions in a domain without")
    need(domain != 2 or kind.float, "payload: scale-offset of integers")
    named = [s for i, s in enumerate(geometry) if strides >> i + 1 & 1]
    need(all(1 < s < n for s in named), "payload: a stride that does not exist")
    need(not by_value or (strides & 1 and 1 <= len(named) <= 2 and named[-1] % named[0] == 0), "payload: strides by value")
    longer = named[:0:-1] + named[:1] * (1 + rows_again) if strides & 2 else named[::-1]
    if mask == 2 or n == 0:
        need(flags == mask and more == 0, "payload: bits that mean nothing here")
        need(n > 0 or mask == 0, "payload: a mask of no elements")

    names = [name for name, there in (("mask", mask), ("base", strides & 1), ("domain", domain in (1, 2)),
                                      ("exceptions", exceptions), ("residuals", mask != 2)) if there]
    lengths = [body.varint() for _ in names[:-1]]
    parts = {name: body.take(length) for name, length in zip(names, lengths)}
    parts[names[-1]] = body.rest()

    if mask == 2:
        need(len(parts["mask"]) == kind.size, "mask: not one pattern")
        return [kind.pattern(parts["mask"])] * n
    masked = valid = None                           # a bool for each grid position, or None: all
    if mask == 1:
        masked, valid = read_mask(parts["mask"], n, kind, geometry)
    where = range(n) if valid is None else list(compress(range(n), valid))

    words = read_residuals(parts["residuals"], coder, n, where, kind, strides != 0 or reference is not None)
    if strides and not strides & 1:
        words = add_strides(words, n, where, valid, longer, valid, kind)
    elif by_value:
        need(len(parts["base"]) == kind.size, "base: length")
        words = lorenzo(words, kind.pattern(parts["base"]), n, where, valid, named, parts.get("domain"), kind)
    elif strides:
        need(len(parts["base"]) == kind.size, "base: length")
        words = integrate(words, kind.pattern(parts["base"]), n, where, valid, longer + [1] * again, kind)
    if reference is not None:
        other = reference_integers(reference, masked, domain, parts.get("domain"), n, kind, dictionary)
        words = [f + other[i] & kind.all for i, f in zip(where, words)]
    patterns = from_domain(words, domain, parts.get("domain"), n, where, kind, dictionary)
    if exceptions:
        part = parts["exceptions"]
        found = marked(part, n, valid, kind) if exceptions == 2 else listed(part, n, valid, kind)
        # which valid element stands at a grid position
        number = range(n) if valid is None else {p: i for i, p in enumerate(where)}
        need(1 <= len(found) <= len(patterns), "exceptions: their number")
        for at, z in found:
            need(0 < z <= kind.all, "exceptions: a value that is zero or too large")
            i = number[at]
            patterns[i] = kind.key(kind.key(patterns[i]) + unzigzag(z, kind.all) & kind.all)
    if valid is None:
        return patterns
    out = [masked] * n
    for i, pattern in zip(where, patterns):
        out[i] = pattern
    return out


# ---------------------------------------------------------------- section 3: mask

BITS_OF = [tuple(byte >> i & 1 for i in range(8)) for byte in range(256)]


def read_mask(part, n, kind, geometry):
    part = Bytes(part, "mask")
    pattern, before = kind.pattern(part.take(kind.size)), part.u8()
    need(before < 3, f"mask: comparison {before}")
    string = Bytes(byte_string(part.rest(), 1, n + 1, "mask"), "mask")
    bits, bit = [], 0
    while string.pos < len(string.data):
        run = string.varint()
        need(run or (string.pos == 1), "mask: an empty run")
        need(run <= n - len(bits), "mask: runs are too long")
        bits += [bit] * run
        bit ^= 1
    need(len(bits) == n, "mask: runs are too short")
    if before:
        r = geometry[before - 1]
        need(1 < r < n, "mask: a stride that does not exist")
        for i in range(r, n, r):
            bits[i:i + r] = map(xor, bits[i:i + r], bits[i - r:i])
    need(0 < sum(bits) < n, "mask: nothing or all is masked")
    return pattern, bits


# ---------------------------------------------------------------- section 4: integers to patterns


def from_domain(words, domain, part, n, where, kind, dictionary):
    """The patterns of the valid positions."""
    if domain == 0:
        return kind.keys(words)
    if domain == 1:
        need(len(part) == 1 and 1 <= part[0] < kind.bits, "trim: its shift")
        k, mask = part[0], kind.all
        if kind.float:
            top, low = kind.top, mask >> k + 1
            words = [f ^ low if f & top else f for f in words]
        return [f << k & mask for f in words]
    if domain == 2:
        return scale_offset(words, part, n, where, kind)
    need(dictionary is not None, "rank: without a dictionary")
    try:
        return [dictionary[f] for f in words]
    except IndexError:
        raise Refused("rank: beyond the dictionary") from None


def normal(x):
    return 2.0 ** -1022 <= abs(x) < float("inf")    # false for NaN


def scale_offset_part(part, n):
    part = Bytes(part, "scale-offset")
    seg = part.varint()
    need(1 <= seg <= n, "scale-offset: length of a segment")
    need(len(part.data) - part.pos == 16 * -(-n // seg), "scale-offset: length")
    pairs = list(struct.iter_unpack("<dd", part.rest()))
    need(all(off == 0 or normal(off) for off, _ in pairs), "scale-offset: an offset is not a normal number")
    need(all(normal(step) for _, step in pairs), "scale-offset: a step is not a normal number")
    return seg, pairs


def scale_offset(words, part, n, where, kind):
    seg, pairs = scale_offset_part(part, n)
    top, modulus = kind.top, kind.all + 1
    values = [f - modulus if f & top else f for f in words]
    if kind.size == 8:
        need(all(-1 << 53 <= k <= 1 << 53 for k in values), "scale-offset: a multiple beyond 2^53")
    # Python's floats are binary64, each operation rounded once, to nearest, without exceptions here
    if len(pairs) == 1:
        off, step = pairs[0]
        values = [off + k * step for k in values] if step > 0 else [off + k / -step for k in values]
    else:
        segments = ((pairs[i // seg], k) for i, k in zip(where, values))
        values = [off + (k * step if step > 0 else k / -step) for (off, step), k in segments]
    # `array` converts to binary32 as C does: to nearest, infinity beyond
    patterns = array(CODES[kind.size], array("f" if kind.size == 4 else "d", values).tobytes()).tolist()
    least, low = (0x00800000 if kind.size == 4 else 0x0010000000000000), kind.all >> 1
    return [b if b & low > least else b & top for b in patterns]


def listed(part, n, valid, kind):
    """Positions and values of exceptions that are a list."""
    part = Bytes(byte_string(part, 3, 15 * n + 5, "exceptions"), "exceptions")
    count = part.varint()
    need(count <= n, "exceptions: their number")
    at, places = -1, []
    for _ in range(count):
        at += part.varint() + 1
        need(at < n and (valid is None or valid[at]), "exceptions: a position that is not valid")
        places.append(at)
    found = [(at, part.varint()) for at in places]
    part.end()
    return found


def marked(part, n, valid, kind):
    """Positions and values of exceptions that are marked."""
    part, size = Bytes(part, "exceptions"), n + 7 >> 3
    width = part.u8()
    need(1 <= width <= kind.size, "exceptions: width")
    marks = byte_string(part.take(part.varint()), size, size, "exceptions' marks")
    marks = list(chain.from_iterable(BITS_OF[byte] for byte in marks))
    need(not any(marks[n:]), "exceptions: unused bits are not zero")
    places = list(compress(range(n), marks))
    need(valid is None or all(valid[at] for at in places), "exceptions: a position that is not valid")
    count = len(places)
    planes = byte_string(part.rest(), width * count, width * count, "exceptions' planes")
    return [(at, sum(planes[p * count + i] << 8 * p for p in range(width))) for i, at in enumerate(places)]


# ---------------------------------------------------------------- section 5: residuals to integers


def add_strides(words, n, where, valid, strides, allowed, kind):
    """Adds to each position the value one stride before it, stride by stride; `allowed[i]` is true if position i may be added,
    None that all are."""
    grid = words
    if valid is not None:
        grid = [0] * n
        for i, r in zip(where, words):
            grid[i] = r
    for s in strides:
        if s == 1 and valid is None:
            grid = list(accumulate(grid))
        elif s == 1:
            for i in range(1, n):
                if allowed[i - 1]:
                    grid[i] += grid[i - 1]
        for i in range(s, n if s > 1 else 0, s):        # a row of s positions only needs the row before it
            if valid is None:
                grid[i:i + s] = map(add, grid[i:i + s], grid[i - s:i])
            else:
                grid[i:i + s] = [x + y if v else x for x, y, v in zip(grid[i:i + s], grid[i - s:i], allowed[i - s:i])]
        grid = [x & kind.all for x in grid]
    return grid if valid is None else list(compress(grid, valid))


def integrate(words, base, n, where, valid, strides, kind):
    """Inverse deltas. `strides` are those besides the last neighbours, in the order Q, P, C, 1, repeated as named."""
    need(words[0] == 0, "residuals: the first is not zero")
    if strides:
        both = None if valid is None else [0] + [a & b for a, b in zip(valid, valid[1:])]       # `V`
        words = add_strides(words, n, where, valid, strides, both, kind)
    sums = accumulate(words, initial=base)
    next(sums)
    return [f & kind.all for f in sums]


def single(x):
    """Rounded to binary32, to nearest, ties to even: as `struct` does. A sum of two binary32 that was rounded to binary64 before is the same."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def lorenzo(words, base, n, where, valid, strides, trim, kind):
    """Section 5, by value."""
    form, whole = ("<f", "<I") if kind.size == 4 else ("<d", "<Q")
    low, high, fraction = (27, 226, 23) if kind.size == 4 else (123, 1922, 52)
    exponents = kind.all >> 1 >> fraction
    rounded = single if kind.size == 4 else float
    k = trim[0] if trim else 0
    need(k < kind.bits and (trim is None or (len(trim) == 1 and k)), "trim: its shift")

    def number(integer):
        b = (integer ^ kind.all >> k + 1 if integer & kind.top else integer) << k & kind.all
        return struct.unpack(form, struct.pack(whole, b))[0] if low <= b >> fraction & exponents <= high else 0.0

    def integer(x):
        p = kind.signed(struct.unpack(whole, struct.pack(form, x))[0]) >> k & kind.all
        return p ^ kind.all >> k + 1 if p & kind.top else p

    near, far = strides[0], strides[1] if len(strides) == 2 else None
    values, steps, firsts, out = [0.0] * n, [0.0] * n, [0.0] * n, []
    there = [True] * n if valid is None else valid
    before = None

    def earlier(of, distance):
        return of[i - distance] if far and i >= distance else 0.0

    for i, x in zip(where, words):
        starts = i % near == 0 and i >= near and there[i - near]
        if before is None:
            need(x == 0, "residuals: the first is not zero")
            out.append(base)
        else:
            if starts:
                predicted = rounded(values[i - near] + earlier(firsts, far)) if far else values[i - near]
            else:
                expected = steps[i - near] if i >= near else 0.0
                if far:
                    expected = rounded(expected + rounded(earlier(steps, far) - earlier(steps, far + near)))
                predicted = rounded(values[before] + expected)
            out.append(integer(predicted) + x & kind.all)
        values[i] = number(out[-1])
        if i % near and before == i - 1:
            steps[i] = rounded(values[i] - values[i - 1])
        if starts:
            firsts[i] = rounded(values[i] - values[i - near])
        before = i
    return out


# ---------------------------------------------------------------- section 6: residuals


def read_residuals(part, coder, n, where, kind, signed):
    """The words r of the valid elements."""
    nv = len(where)
    size = nv * kind.size
    if coder == 0:
        need(len(part) == size, f"residuals: {len(part)} bytes, expected {size}")
        return kind.words(part)
    if coder == 1:
        return kind.words(unzstd(part, size, size, "residuals"))
    if coder == 2:
        planes, out = unzstd(part, size, size, "residuals"), bytearray(size)
        for i in range(kind.size):
            out[i::kind.size] = planes[i * nv:(i + 1) * nv]
        z = kind.words(bytes(out))
    elif coder == 4:
        return read_mix(part, n, where, kind)
    else:
        z = read_ctx(part, n, where, kind)
    return unzigzags(z, kind.all) if signed else z


# ---------------------------------------------------------------- section 7: ctx


def thresholds(head, count):
    out = list(head.take(count))
    need(all(a < b for a, b in zip([0] + out, out)), "ctx: thresholds do not ascend")
    return out


def counts_of(bits, log, alphabet):
    lo, hi = bits.take(8), bits.take(8)
    need(lo < hi <= alphabet, "ctx: the tokens of a table")
    counts = [0] * alphabet
    for token in range(lo, hi):
        e = bits.take(4)
        need(e <= log, "ctx: a count is too large")
        counts[token] = (1 << e) + bits.take(e) - 1
    need(sum(counts) == 1 << log, "ctx: counts do not fill the table")
    need(counts[lo] and counts[hi - 1], "ctx: the first or last count of a table is zero")
    return counts


def decoding_table(counts, log):
    """(token, bits to read, next state) of each state."""
    size = 1 << log
    symbol, p = [0] * size, 0
    for token, count in enumerate(counts):
        for _ in range(count):
            symbol[p] = token
            p = (p + size // 2 + size // 8 + 3) % size
    table, x = [], list(counts)
    for token in symbol:
        nb = log - (x[token].bit_length() - 1)
        table.append((token, nb, (x[token] << nb) - size))
        x[token] += 1
    return table


def read_ctx(part, n, where, kind):
    """The z of the valid elements."""
    nv, alphabet = len(where), 2 * kind.bits + 8
    head = Bytes(part, "ctx")
    log, kn, kw, nt = head.take(4)
    need(5 <= log <= 12, "ctx: size of the tables")
    need(1 <= kn <= 16 and 1 <= kw <= 16 and kn * kw << log <= 65536, "ctx: number of classes")
    need(1 <= nt <= min(64, kn * kw), "ctx: number of tables")
    back = head.varint()                            # `S`
    need(back == 0 if kn == 1 else back >= 16 and 8 * back < n, "ctx: distance of the previous row")
    tn, tw = thresholds(head, kn - 1), thresholds(head, kw - 1)
    if nt <= 16:
        table_of = [x for byte in head.take(kn * kw + 1 >> 1) for x in (byte & 15, byte >> 4)]
    else:
        table_of = list(head.take(kn * kw))
    need(not any(table_of[kn * kw:]), "ctx: unused bits of the map are not zero")
    del table_of[kn * kw:]
    need(all(x < nt for x in table_of), "ctx: a table that does not exist")

    bits = Bits(head.data[head.pos:], "ctx tables")
    tables = [decoding_table(counts_of(bits, log, alphabet), log) for _ in range(nt)]
    bits.data = head.take(bits.pos + 7 >> 3)
    bits.end()
    stream1 = head.take(head.varint())
    stream2 = head.rest()

    # the table by u and a: rows[u][a]
    def rank(limits, x):
        return sum(t <= x for t in limits)

    by_class = [[tables[table_of[qn * kw + rank(tw, a)]] for a in range(alphabet)] for qn in range(kn)]
    rows = [by_class[rank(tn, u)] for u in range(alphabet)]
    middle = by_class[kn // 2]

    # lanes
    q = -(-nv // 4)
    starts = [min(lane * q, nv) for lane in range(5)]
    lengths = [b - a for a, b in zip(starts, starts[1:])]
    bits = Bits(stream1, "ctx tokens")
    state = [bits.take(log) for _ in range(4)]
    last = [0] * 4
    # from which grid position on a lane looks at its previous row
    since = [where[a] + back + 1 if back and k else n for a, k in zip(starts, lengths)]

    # stream 1: `window[i]` is the 24 bits from byte i on; a state reads 12 at most
    padded = stream1 + b"\0\0\0"
    window = [a | b << 8 | c << 16 for a, b, c in zip(padded, padded[1:], padded[2:])]
    ones = [(1 << k) - 1 for k in range(16)]
    tokens = bytearray(n)                           # `g`, on the grid
    pos, done = bits.pos, 0
    try:
        for until in sorted(set(lengths)):          # lanes end one after another
            lanes = [lane for lane in range(4) if lengths[lane] > done]
            for j in range(done, until):
                for lane in lanes:
                    p = where[starts[lane] + j]
                    if p < since[lane]:
                        row = middle
                    else:
                        i = p - back
                        row = rows[tokens[i] + (tokens[i - 1] + tokens[i + 1] + 1 >> 1) + 1 >> 1]
                    token, nb, base = row[last[lane]][state[lane]]
                    state[lane] = base + (window[pos >> 3] >> (pos & 7) & ones[nb])
                    pos += nb
                    last[lane] = tokens[p] = token
            done = until
    except IndexError:
        raise Refused("ctx tokens: end early") from None
    need(pos <= 8 * len(stream1), "ctx tokens: end early")
    bits.pos = pos
    bits.end()
    need(not any(state), "ctx tokens: a lane does not end in state 0")

    # stream 2
    bits, out = Bits(stream2, "ctx raw bits"), []
    for p in where:
        token = tokens[p]
        if token < 16:
            out.append(token)
        else:
            raw = (token - 16 >> 1) + 3
            out.append((2 + (token & 1) << raw) + bits.take(raw))
    bits.end()
    return out


# ---------------------------------------------------------------- section 8: mix

LOGISTIC = [22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743, 32768, 40793, 47911, 53581, 57724,
            60565, 62428, 63615, 64357, 64816, 65097, 65269, 65374, 65438, 65476, 65500, 65514]
U32 = (1 << 32) - 1


def sigma(x):
    i, f = x + 2048 >> 7, x + 2048 & 127
    return LOGISTIC[i] * (128 - f) + LOGISTIC[i + 1] * f + 64 >> 7


def inverse(values):
    """The least x of each 4096th."""
    out, x = [], 0
    for q in range(4096):
        while x < 4096 and values[x] < 16 * q + 8:
            x += 1
        out.append(min(x - 2048, 2047))
    return out


SQUASH = [sigma(x) for x in range(-2048, 2048)]
STRETCH = inverse(SQUASH)
ADAPT = [327680 // (10 * age + 16) for age in range(16)]
LARGEST = 1 << 50


def rotated(x, n):
    return x << n & U32 | x >> 32 - n


def hashed(x):
    return rotated(x * 0x9E3779B1 & U32, 15) * 0xC2B2AE35 & U32


def pair(a, b):
    return (a * 0x2545F491 & U32 ^ rotated(b * 0x9E3779B9 & U32, 13)) * 0x85EBCA6B & U32


def logarithm(x, f):
    if x < 2 << f:
        return x
    e = x.bit_length() - 1
    return (e - f << f) + (x >> e - f)


def rounded(x):
    """x / 32768, rounded; a half goes up."""
    return x + 16384 >> 15


def size(x):
    return min(abs(x), LARGEST)


def sign(x):
    return 1 if x < 0 else 2 if x > 0 else 0


class Mix:
    """The model, and the arithmetic coder that it serves."""

    def __init__(self, n, stream):
        self.log = min(max(n.bit_length() + 3, 10), 16)
        self.q, self.ages = [2048] * (7 << self.log), bytearray(7 << self.log)
        self.by_step, self.trained = [[4588] * 8 for _ in range(96)], [0] * 96
        self.by_class = {}
        self.refined = {}
        self.stream, self.read = stream, 4
        self.range = U32
        self.code = int.from_bytes((stream[:4] + bytes(4))[:4], "big")

    def places(self, hashes):
        return [(i << self.log) + (h >> 32 - self.log) for i, h in enumerate(hashes)]

    def groups(self, hashes):
        return [place & ~15 for place in self.places(hashes)]

    def bit(self, p):
        m = (self.range >> 16) * p
        bit = self.code < m
        if bit:
            self.range = m
        else:
            self.range, self.code = self.range - m, self.code - m
        while self.range < 1 << 24:
            self.range = self.range << 8
            need(self.read < len(self.stream) + 3, "mix stream 1: ends early")
            byte = self.stream[self.read] if self.read < len(self.stream) else 0
            self.code, self.read = self.code << 8 & U32 | byte, self.read + 1
        return bit

    def decide(self, places, t, kind, k):
        v = [STRETCH[self.q[place]] for place in places] + [256]
        weights = self.by_step[t], self.by_class.setdefault((kind, k), [4588] * 8)
        x = max(-2047, min(sum(w * x for ws in weights for w, x in zip(ws, v)) >> 15, 2047))
        j, f = x + 2048 >> 7, x + 2048 & 127
        line = self.refined.setdefault((kind, k), [SQUASH[min(128 * i, 4095)] for i in range(33)])
        r = line[j] * (128 - f) + line[j + 1] * f >> 7
        bit = self.bit(max(24, min(SQUASH[x + 2048] + r >> 1, 65512)))
        j += f >= 64
        line[j] += (65535 * bit) - line[j] >> 6
        rate = 20 + 300 // (self.trained[t] + 1)
        self.trained[t] = min(self.trained[t] + 1, 255)
        e = max(-32768, min((65536 * bit - SQUASH[x + 2048]) * rate >> 9, 32767))
        for ws in weights:
            ws[:] = [max(-32768, min(w + rounded(16 * x * e), 32767)) for w, x in zip(ws, v)]
        goal = 4095 * bit
        for place in places:
            age = self.ages[place]
            self.q[place] += rounded((goal - self.q[place]) * ADAPT[age])
            self.ages[place] = min(age + 1, 15)
        return bit


def read_mix(part, n, where, kind):
    """The r of the valid elements."""
    head = Bytes(part, "mix")
    row = head.varint()
    plane = head.varint() if row else 0
    need(row == 0 or 1 < row < n, "mix: distance of rows")
    need(plane == 0 or row < plane < n, "mix: distance of planes")
    full = head.u8()
    need(full <= 20, "mix: class whose bits are all modelled")
    stream = head.take(head.varint())
    raw = Bits(head.rest(), "mix raw bits")
    model, w = Mix(n, stream), kind.bits
    g, last, total, average, out = {}, [0] * 4, 0, 0, []
    for p in where:
        def at(back):
            return g.get(p - back, 0)

        w0, w1, w2, w3 = last
        north, north_west, north_east, north_north = (at(row), at(row + 1), at(row - 1), at(2 * row)) if row else (w2, w3, 0, 0)
        top, top_east, top_south = (at(plane), at(plane - 1), at(plane - row)) if plane else (0, 0, 0)
        expected = (2 * size(w0) + size(w1) + 2 * size(north) + size(north_west) + size(north_east) + size(north_north) // 2
                    + 2 * size(top) + size(top_east) // 2 + size(top_south) // 2)
        s, k = min((expected >> 3).bit_length(), w - 1), min(logarithm(expected, 2), 127)
        column = p % row if row else 0

        def c(x):
            return abs(x).bit_length()

        hashes = [hashed(x & U32) for x in (
            logarithm(size(w0), 1) | c(w1) << 8 | c(w2) << 16,
            logarithm(size(north), 1) | c(north_east) << 8 | c(north_west) << 16,
            logarithm(size(top), 1) | max(c(top_east), c(top_south)) << 8 | s << 16,
            pair(total & U32, 0),
            logarithm(average >> 4, 2) | c(w0) // 2 << 8,
            pair(w0 & U32, w1 & U32),
            column | c(north) << 20)]
        groups = model.groups(hashes)

        def at_least(klass, t, y):
            return model.decide([group + klass % 16 for group in groups], t, y, k)

        klass = s
        if s == 0 or at_least(s, 0, 0):
            while klass < w:
                u = klass + 1 - s
                if not at_least(klass + 1, min(u, 10), min(u, 3)):
                    break
                klass += 1
        else:
            klass -= 1
            while klass > 0:
                u = s - klass
                if at_least(klass, 10 + min(u, 10), 3 + min(u, 3)):
                    break
                klass -= 1
        value = 0
        if klass:
            def rel(x):
                return 3 * min(max(c(x) + 3 - klass, 0), 6) + sign(x)

            signs = [hashed(x & U32 ^ 1 << 30) for x in (
                rel(w0) | rel(w1) << 5 | rel(w2) << 10,
                rel(north) | rel(north_west) << 5 | rel(north_east) << 10,
                rel(top) | rel(top_east) << 5 | rel(top_south) << 10,
                pair(total & U32, 0) ^ klass,
                rel(int64(w0 + north)),
                pair(w0 & U32, w1 & U32) ^ klass,
                column | sign(north) << 24)]
            negative = model.decide(model.places(signs), 21 + min(klass, 8), 7, sign(w0) + 3 * sign(north) + 9 * sign(top))
            below = klass - 1
            modelled = below if klass <= full else min(2, below)
            value = 1
            for j in range(modelled):
                if j % 4 == 0:
                    salt = hashed(klass << 16 | value)
                    groups, inside = model.groups([(h ^ salt) * 0x9E3779B1 & U32 for h in hashes]), 1
                bit = model.decide([group + inside for group in groups], 32 + 8 * min(j, 7) + min(klass, 7), 8 + min(j, 3), min(klass, 15))
                inside, value = inside << 1 | bit, value << 1 | bit
            value = value << below - modelled | raw.take(below - modelled)
            value = int64(-value if negative else value)
        value = kind.signed(value & kind.all)
        g[p], last = value, [value, w0, w1, w2]
        total, average = total + value & (1 << 64) - 1, average + ((size(value) << 8) - average >> 4)
        out.append(value & kind.all)
    raw.end()
    need(model.read == len(stream) + 3, "mix stream 1: not of the length it needs")
    return out


def int64(x):
    return (x + (1 << 63) & (1 << 64) - 1) - (1 << 63)


# ---------------------------------------------------------------- section 9: rank dictionary


def decode_dictionary(data, number):
    body = Bytes(data, "dictionary")
    count = body.varint()
    need(1 <= count <= 65536, f"dictionary: {count} entries")
    payload = body.rest()
    need(len(payload) >= 2 and payload[1] >> 2 & 7 != 3, "dictionary: made with a dictionary")
    entries = decode(payload, count, number)
    order = [Type(number).order(x) for x in entries]
    need(all(a < b for a, b in zip(order, order[1:])), "dictionary: entries do not ascend")
    return entries


# ---------------------------------------------------------------- section 10: references

LEAST = {4: 0x00800000, 8: 0x0010000000000000}      # smallest normal number, as a pattern
NAN = {4: 0x7FC00000, 8: 0x7FF8000000000000}


def flushed(b, kind):
    return b if b & kind.all >> 1 > LEAST[kind.size] else b & kind.top


def values_of(patterns, kind):
    """Patterns of a float type as binary64."""
    return array("f" if kind.size == 4 else "d", array(CODES[kind.size], patterns).tobytes()).tolist()


def convert(patterns, old, new):
    """Patterns of one type as patterns of another: their values."""
    if old.number == new.number:
        return patterns
    if not old.float:
        if old.number not in UNSIGNED:
            patterns = [old.signed(b) for b in patterns]
        if not new.float:
            return [b & new.all for b in patterns]
        values = [float(b) for b in patterns]
    else:
        values = values_of([flushed(b, old) for b in patterns], old)
    if new.float:
        # `array` converts to binary32 as C does: to nearest, infinity beyond
        out = array(CODES[new.size], array("f" if new.size == 4 else "d", values).tobytes()).tolist()
        return [NAN[new.size] if x != x else flushed(b, new) for x, b in zip(values, out)]
    low, high = (0, new.all) if new.number in UNSIGNED else (-new.top, new.top - 1)
    out = []
    for x in values:
        k = 0 if x != x else low if x < low else high if x > high else round(x)
        out.append(min(max(k, low), high) & new.all)
    return out


def reference_integers(patterns, masked, domain, part, n, kind, dictionary):
    """`fref` of all positions."""
    if domain == 0:
        integers = kind.keys(patterns)
    elif domain == 1:
        need(len(part) == 1 and 1 <= part[0] < kind.bits, "trim: its shift")
        k, integers = part[0], []
        for p in patterns:
            b = kind.signed(p) >> k
            integers.append((b ^ (kind.all >> k + 1 if kind.float and b < 0 else 0)) & kind.all)
    elif domain == 2:
        integers = reference_steps(patterns, part, n, kind)
    else:
        need(dictionary is not None, "rank: without a dictionary")
        rank = {p: i for i, p in enumerate(dictionary)}
        integers = [rank.get(p) for p in patterns]
    last, out = 0, []
    for p, f in zip(patterns, integers):
        if f is not None and p != masked:
            last = f
        out.append(last)
    return out


def reference_steps(patterns, part, n, kind):
    seg, pairs = scale_offset_part(part, n)
    limit = (1 << 31) - 1 if kind.size == 4 else 1 << 53
    values, integers = values_of([flushed(p, kind) for p in patterns], kind), []
    for i, x in enumerate(values):
        off, step = pairs[i // seg]
        d = x - off
        if abs(d) < 2.0 ** -1022:
            d = 0.0
        # a quotient beyond binary64 is an infinity, for which Python has an exception only where the divisor is zero
        ratio = d / step if step > 0 else d * -step
        integers.append(round(ratio) & kind.all if abs(ratio) <= limit + 0.5 and abs(round(ratio)) <= limit else None)
    return integers


# ---------------------------------------------------------------- what nc3z_ref.py calls


def geometry_of(shape):
    """(C, P, Q) of a shape."""
    def product(count):
        out = 1
        for length in shape[len(shape) - count:]:
            out *= length
        return out if len(shape) >= count else 0
    return product(1), product(2), product(3)


def decode_tile(archive, data, step, length, variable, tile):
    """The big-endian bytes of a tile. `step` is the object of the chain, `length` that of the bytes."""
    if not set(step) <= {"id", "dict", "ref"}:
        raise Unsupported("nc3z.num with unknown keys in its chain")
    # an older tile has type and shape of the tile that is coded against it, whosever it is
    own, tile_of_own = archive.older or (variable, tile)
    need(own in archive.tiles, "nc3z.num: what is not a tile")
    # a variable has its own type; padding and gap are bytes
    place = archive.variable.get(own)
    number = archive.header.vars[place].type if place is not None else BYTE
    need(length % SIZES[number] == 0, "nc3z.num: part of an element")
    tiles = archive.tiles[own]
    shape = tiles.array.shape if tiles.layout.kind == 0 else tiles.shape(tile_of_own)
    dictionary = None
    if "dict" in step:
        name = step["dict"]
        if type(name) is not int or not 0 <= name < 1 << 64:
            raise Unsupported(f"nc3z.num with the dictionary {name!r}")
        need(variable < 1 << 30, "nc3z.num: a dictionary of what is not a variable")
        if (variable, name) not in archive.dictionaries:
            definition = archive.definition(variable, name)
            archive.dictionaries[variable, name] = decode_dictionary(definition, number)
        dictionary = archive.dictionaries[variable, name]
    reference = None
    if "ref" in step:
        distance = step["ref"]
        if type(distance) is not int or not 0 < distance < 1 << 32:
            raise Unsupported(f"nc3z.num with the reference {distance!r}")
        other = variable - distance
        need(variable < len(archive.header.vars) and other >= 0 and other in archive.tiles, "nc3z.num: the reference is not a variable")
        need(tile < archive.tiles[other].count and archive.tiles[other].elements(tile) == length // SIZES[number],
             "nc3z.num: the reference has another number of elements")
        need(not archive.refers(other, tile), "nc3z.num: the reference has one itself")
        kind = Type(archive.header.vars[other].type)
        big = array(CODES[kind.size], archive.tile(other, tile))
        if sys.byteorder == "little":
            big.byteswap()
        reference = convert(big.tolist(), kind, Type(number))
    patterns = decode(data, length // SIZES[number], number, geometry_of(shape), dictionary, reference)
    return Type(number).big_endian(patterns)


# ---------------------------------------------------------------- section 11: vectors


def floats(*values):
    return [struct.unpack("<I", struct.pack("<f", x))[0] for x in values]


SHORTS = [100, 101, 103, 90, 91, 140]
VECTORS = [
    ("ctx-1: 01 04 31 02 01 19 00 02 05 01 01 01 00 00 00 01 15 00 03 00 00 00", SHORT, (0, 0, 0), SHORTS[:1]),
    ("ctx-3: 01 00 31 02 64 00 05 01 01 01 00 00 00 05 33 18 C2 10 03 13 46 00", SHORT, (0, 0, 0), SHORTS[:3]),
    ("ctx-5: 01 00 31 02 64 00 05 01 01 01 00 00 00 12 32 8C 41 06 00 00 00 00 00 18 00 04 B3 1E 70 00 01",
     SHORT, (0, 0, 0), SHORTS[:5]),
    ("ctx-6: 01 00 31 02 64 00 05 01 01 01 00 00 00 16 22 0C 41 04 00 00 00 00 00 10 01 40 06 05 00 06 70 05 00 11",
     SHORT, (0, 0, 0), SHORTS),
    ("mask: 01 05 03 0B 04 01 EC 78 AD 60 01 00 00 01 01 02 04 FE 01 00 00 15 00 00 00 00 02 00 00 00 01 00 00 00 01 00 "
     "00 00 FF FB FF FF F6 03 00 00", FLOAT, (4, 8, 0), floats(1.5, 1e20, 2, 2.5, 3, 1e20, -1.5, 0.5)),
    ("scale-offset: 01 18 01 04 11 08 00 00 00 00 06 00 00 00 00 00 00 F0 3F 9A 99 99 99 99 99 B9 3F 00 01 04 84 81 AB BE "
     "07 00 00 00 00 01 00 00 00 01 00 00 00 01 00 00 00 F3 FF FF FF 0F 00 00 00",
     FLOAT, (0, 0, 0), floats(1, 1.1, 1.2, 1.3, 0.007, 1.5)),
    ("marked: 01 28 00 11 0C 14 00 00 00 00 00 00 00 00 9A 99 99 99 99 99 B9 3F 01 04 00 1A 12 00 00 02 02 01 04 01 00 00 "
     "00 00 01 00 00 00 02 00 00 00 03 00 00 00 04 00 00 00 05 00 00 00 06 00 00 00 07 00 00 00 08 00 00 00 09 00 00 00 0A "
     "00 00 00 0B 00 00 00 0C 00 00 00 0D 00 00 00 0E 00 00 00 0F 00 00 00 10 00 00 00 11 00 00 00 12 00 00 00 13 00 00 00",
     FLOAT, (0, 0, 0), [x + {1: 1, 3: 1, 4: -1, 9: 2, 12: -1}.get(i, 0) for i, x in enumerate(floats(*[0.1 * i for i in range(20)]))]),
    ("again: 01 00 83 05 02 00 00 00 00 01 00 02 00 02 00 FC FF FE FF FE FF FE FF 18 00 ED FF 00 00 00 00",
     USHORT, (4, 8, 0), [0, 1, 4, 9, 10, 11, 14, 19, 40, 41, 44, 49]),
    ("mix: 01 00 43 02 00 00 04 08 00 06 9A 10 9A 8D CA 64 00", USHORT, (4, 8, 0), [0, 1, 4, 9, 10, 11, 14, 19, 40, 41, 44, 49]),
    ("divided: 01 08 00 11 04 00 00 00 00 00 00 00 00 00 00 00 00 00 00 59 C0 07 00 00 00 00 00 00 00 0E 00 00 00 00 "
     "00 00 00 1C 00 00 00 00 00 00 00 AC 0A 00 00 00 00 00 00",
     DOUBLE, (0, 0, 0), [struct.unpack("<Q", struct.pack("<d", x))[0] for x in (0.07, 0.14, 0.28, 27.32)]),
]

# with a reference: of which type, and its patterns
AGAINST = [
    ("reference: 01 05 00 0C 01 EC 78 AD 60 00 00 00 01 01 03 01 02 14 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 FF "
     "F7 FF FF 00 00 00 00",
     FLOAT, floats(1.5, 1e20, 2, 2.75, 3, 1e20, -1.5, 0.5), FLOAT, floats(1.5, 1e20, 2, 2.5, 3, 1e20, 1e20, 0.5)),
    ("held: 01 08 00 11 04 00 00 00 00 00 00 00 00 00 00 00 00 00 00 59 C0 00 00 00 00 00 00 00 00 01 00 00 00 00 "
     "00 00 00 0F 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00",
     DOUBLE, [struct.unpack("<Q", struct.pack("<d", x))[0] for x in (0.07, 0.14, 0.28, 27.32)],
     FLOAT, floats(0.07, 0.13, float("nan"), 27.3)),
]


def refuses(payload, *rest):
    try:
        decode(payload, *rest)
    except (Refused, Unsupported):
        return True
    return False


def self_test():
    import random
    for text, number, geometry, values in VECTORS:
        name, payload = text.split(":")
        payload, n = bytes.fromhex(payload), len(values)
        assert decode(payload, n, number, geometry) == values, name
        assert all(refuses(payload[:i], n, number, geometry) for i in range(len(payload))), name
        assert refuses(payload + b"\0", n, number, geometry), name
        assert refuses(b"\3" + payload[1:], n, number, geometry), name
        assert refuses(bytes([payload[0] ^ 3]) + payload[1:], n, number, geometry), name
        rng = random.Random(name)
        for _ in range(2000):                       # whatever comes: refused, or the declared number of elements
            bad = bytearray(payload)
            for _ in range(rng.randint(1, 3)):
                bad[rng.randrange(len(bad))] = rng.choice([0, 255, rng.randrange(256)])
            try:
                assert len(decode(bytes(bad), n, number, geometry)) == n, name
            except (Refused, Unsupported):
                pass
        print(f"{name}: ok")
    for text, number, values, other, patterns in AGAINST:
        name, payload = text.split(":")
        payload, n = bytes.fromhex(payload), len(values)
        reference = convert(patterns, Type(other), Type(number))
        assert decode(payload, n, number, (0, 0, 0), None, reference) == values, name
        for i in range(len(payload)):
            assert refuses(payload[:i], n, number, (0, 0, 0), None, reference), name
        assert refuses(payload, n, number, (0, 0, 0), None, reference[1:]), name
        print(f"{name}: ok")
    doubles = [struct.unpack("<Q", struct.pack("<d", x))[0] for x in (2.5, 3.5, -2.5, float("nan"), 1e300, -1e300, 5e-324, -0.0)]
    assert convert(doubles, Type(DOUBLE), Type(INT)) == [2, 4, 0xFFFFFFFE, 0, 0x7FFFFFFF, 0x80000000, 0, 0]
    assert convert(doubles, Type(DOUBLE), Type(UBYTE)) == [2, 4, 0, 0, 255, 0, 0, 0]
    assert convert(doubles[3:], Type(DOUBLE), Type(FLOAT)) == [0x7FC00000, 0x7F800000, 0xFF800000, 0, 0x80000000]
    assert convert([255, 1], Type(BYTE), Type(UINT64)) == [2**64 - 1, 1]
    assert decode(b"\1\0\0", 0, SHORT) == []
    assert refuses(b"\1\2\0\1\0", 0, SHORT) and refuses(b"\1\0\x10", 0, SHORT)
    assert decode(b"\1\2\0\1\2", 3, SHORT) == [0x201] * 3
    assert decode_dictionary(b"\2\1\0\0\xff\1", BYTE) == [255, 1]
    for bad in (b"\2\1\0\0\1\xff", b"\2\1\0\0\1\1", b"\0\1\0\0", b"\2\1\x0c\0\0\1"):
        try:
            decode_dictionary(bad, BYTE)
        except Refused:
            continue
        raise AssertionError(bad)
    assert decode(b"\1\x0c\0\1\0\1", 3, BYTE, (0, 0, 0), [7, 9]) == [9, 7, 9]
    assert refuses(b"\1\x0c\0\1\2\1", 3, BYTE, (0, 0, 0), [7, 9]) and refuses(b"\1\x0c\0\1\0\1", 3, BYTE)
    print("all ok")


if __name__ == "__main__":
    if sys.argv[1:] != ["--self-test"]:
        sys.exit("usage: nc3z_num.py --self-test")
    self_test()

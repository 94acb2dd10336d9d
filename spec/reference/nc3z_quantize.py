"""Rounding of values (quantize.md, section 2), from the text alone: plain Python, and slow. Bit patterns are integers.

    rounded(mode, kind, index, bits)    the pattern that an element's pattern becomes; `mode` as in the text: "bitround:9", "abs:0.01"
"""

import decimal
import math
import struct
from fractions import Fraction

MANTISSA = {"float": 23, "double": 52}
CODES = {"float": (">I", ">f"), "double": (">Q", ">d")}
B, D = math.log(10) / math.log(2), math.log(2) / math.log(10)
# The text says what these are; a library that rounds its logarithms otherwise would not do.
assert (B.hex(), D.hex()) == ("0x1.a934f0979a372p+1", "0x1.34413509f79fep-2")
EXACT = decimal.Context(prec=60)


def value(kind, bits):
    return struct.unpack(CODES[kind][1], struct.pack(CODES[kind][0], bits))[0]


def pattern(kind, x):
    """The nearest number of the type; None where that is infinite."""
    try:
        return struct.unpack(CODES[kind][0], struct.pack(CODES[kind][1], x))[0]
    except OverflowError:
        return None


def log10(s):
    """The binary64 number nearest to the logarithm: Python's own floats may be off by one."""
    return float(decimal.Decimal(s).log10(EXACT))


def dropped(kind, bits, d):
    """The pattern with its d lowest bits dropped; None where that is infinite."""
    if d > 0:
        bits = (bits + (1 << d - 1)) >> d << d
    return None if math.isinf(value(kind, bits)) else bits


def granular_bits(x, digits):
    """The number of explicit bits that `digits` decimal digits take."""
    s, e = math.frexp(abs(x))
    l = log10(s)  # noqa: E741
    d = math.floor(e * D + l) + 1
    p = math.floor(B * (d - digits))
    return max(0, abs(math.floor(e - B * l) - p) - 1)


def rounded(mode, kind, index, bits):
    name, parameter = mode.split(":")
    x, m = value(kind, bits), MANTISSA[kind]
    if x == 0 or not math.isfinite(x):
        return bits
    if name == "abs":
        q = Fraction(2) ** (math.frexp(float(parameter))[1])           # the largest power of two that is at most 2E
        units = round(Fraction(x) / q)                                  # to the nearest, halves to even
        found = pattern(kind, math.copysign(float(units * q), x))
    elif name == "bitround":
        found = dropped(kind, bits, m - int(parameter))
    elif name == "granularbr":
        found = dropped(kind, bits, max(0, m - granular_bits(x, int(parameter))))
    elif name == "bitgroom":
        low = (1 << max(0, m - math.ceil(int(parameter) * B) - 1)) - 1
        found = bits & ~low if index % 2 == 0 else bits | low
    else:
        raise ValueError(f"mode {name}")
    return bits if found is None else found

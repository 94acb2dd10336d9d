#!/usr/bin/env python3
"""Makes quantize.json: bit patterns before and after rounding (quantize.md), by the reference. Element i has the index i.

    make_quantize.py [--check]      --check compares with the file
"""

import json
import math
import random
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "reference"))
from nc3z_quantize import CODES, pattern, rounded  # noqa: E402

MODES = {"float": ["bitround:1", "bitround:9", "bitround:23", "granularbr:1", "granularbr:3", "granularbr:6", "bitgroom:2", "bitgroom:6", "abs:0.01", "abs:3"],
         "double": ["bitround:20", "bitround:52", "granularbr:1", "granularbr:3", "granularbr:9", "granularbr:15", "bitgroom:4", "bitgroom:15", "abs:1e-9"]}
# Their logarithms decide, and the last bits of these: several C libraries find another power of ten or of two for some of them.
CLOSE = ["0x1.06b0bb1fb3854p+960", "0x1.008896bcf54fcp+970", "0x1.00000000000b2p-1001", "0x1.00000000000b2p-853", "0x1.00000000000b2p-779"]


def values(kind):
    rng = random.Random(kind)
    width = struct.calcsize(CODES[kind][0])
    last = {"float": 37, "double": 307}[kind]
    powers = sorted(rng.sample(range(-last, last), 3) + list(range(-3, 5)))
    numbers = [float(f"1e{k}") for k in powers] + [2.0 ** k for k in (-20, -1, 0, 1, 2, 10)]
    numbers += [float(f"-{rng.uniform(1, 10):.4g}e{rng.randrange(-last, last)}") for _ in range(3)]
    numbers += [0.1, 9.99, 9.995, 0.5, 1.5, 2.5, math.pi, 999.9999, 1000.0, 0.0, -0.0, -1e-12, -0.001]
    found = [pattern(kind, x) for x in numbers]
    found += [p + d for p in found[:8] for d in (-1, 1)]
    if kind == "double":
        found += [pattern(kind, float.fromhex(x)) for x in CLOSE]
    infinity = pattern(kind, math.inf)
    return found + [1, 2, 1000, infinity, infinity + 1, infinity - 1, infinity | 1 << 8 * width - 1]


def vectors():
    for kind, modes in MODES.items():
        digits = 2 * struct.calcsize(CODES[kind][0])
        before = values(kind)
        for mode in modes:
            after = [rounded(mode, kind, i, bits) for i, bits in enumerate(before)]
            yield {"type": kind, "mode": mode, **{key: [f"{bits:0{digits}x}" for bits in some] for key, some in (("before", before), ("after", after))}}


def main():
    text = "[\n" + ",\n".join(json.dumps(vector) for vector in vectors()) + "\n]\n"
    path = HERE / "quantize.json"
    if "--check" in sys.argv:
        assert path.read_text() == text, "quantize.json is not what this makes"
        return
    path.write_text(text)


if __name__ == "__main__":
    main()

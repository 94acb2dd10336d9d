#!/usr/bin/env python3
"""Makes digest.json: small classic files, their digests (digest.md), and the bytes that are hashed for them.

    make_digest.py [--check]      --check compares with the file, and with the worked example of the text
"""

import hashlib
import io
import json
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "reference"))
import nc3z_digest as digest  # noqa: E402


def be(*numbers):
    return b"".join(struct.pack(">I", n) for n in numbers)


def name(text):
    return be(len(text)) + text + bytes(-len(text) % 4)


def example():
    """The file of classic.md: x = 3, short v(x) = 1, 2, 3."""
    head = b"CDF\1" + be(0, 10, 1) + name(b"x") + be(3, 0, 0, 11, 1) + name(b"v") + be(1, 0, 0, 0, 3, 8, 80)
    return head + struct.pack(">4h", 1, 2, 3, 0)


def records(numrecs, cut=0):
    """Records of a byte and a float, with attributes; `numrecs` as written."""
    def head(begin):
        own = be(12, 1) + name(b"units") + be(2, 1) + b"K\0\0\0"
        file = be(12, 1) + name(b"n") + be(3, 2) + struct.pack(">2h", -1, 7)
        variables = name(b"b") + be(1, 0, 0, 0, 1, 4, begin) + name(b"f") + be(2, 0, 1) + own + be(5, 8, begin + 4)
        return b"CDF\1" + be(numrecs, 10, 2) + name(b"t") + be(0) + name(b"y") + be(2) + file + be(11, 2) + variables

    begin = len(head(0))
    body = b"".join(struct.pack(">b3x2f", i, i + 0.5, -i) for i in range(3))
    return (head(begin) + body)[:begin + len(body) - cut]


def large():
    """512 leaves and a byte: 2 MiB and 1 byte of zeros."""
    n = (2 << 20) + 1
    return b"CDF\1" + be(0, 10, 1) + name(b"x") + be(n, 0, 0, 11, 1) + name(b"v") + be(1, 0, 0, 0, 1, n + 3, 80) + bytes(n)


def branches(cut=0):
    """A byte variable of 3 branches of 33,215 bytes, each of 8 leaves and 447 bytes; value i is i modulo 251."""
    n = 3 * 5 * 91 * 73
    head = b"CDF\1" + be(0, 10, 4) + name(b"t") + be(3) + name(b"z") + be(5) + name(b"y") + be(91) + name(b"x") + be(73)
    head += be(0, 0, 11, 1) + name(b"v") + be(4, 0, 1, 2, 3, 0, 0, 1, n + 3, 128)
    return head + (bytes(range(251)) * (n // 251 + 1))[:n - cut]


FILES = {"one fixed variable: the example of the text": example, "records, attributes": lambda: records(3), "the same, streaming: the same digests": lambda: records(0xFFFFFFFF),
         "the same, cut in the last element": lambda: records(3, 5), "no variables": lambda: b"CDF\1" + be(0, 0, 0, 0, 0, 0, 0)}


def digests(data):
    """Content digest, digests of the variables, and what is hashed, in order."""
    steps = []

    def sha256(data):
        steps.append(bytes(data))
        return hashlib.sha256(data).digest()

    plain, digest.sha256 = digest.sha256, sha256
    try:
        content, own = digest.Classic(io.BytesIO(data)).digests()
    finally:
        digest.sha256 = plain
    return content, own, steps


def parts(data, begin, period):
    """The bytes before `begin`, and those from there on as one period and how often it is repeated; the last time may be cut."""
    times = (len(data) - begin) / period
    assert data == data[:begin] + (data[begin:begin + period] * int(times + 1))[:len(data) - begin]
    return {"begin": data[:begin].hex(), "period": data[begin:begin + period].hex(), "length": len(data)}


def vectors():
    for what, make in FILES.items():
        data = make()
        content, own, steps = digests(data)
        yield {"what": what, "file": data.hex(), "variables": [d.hex() for d in own], "content": content.hex(), "steps": [s.hex() for s in steps]}
    content, own, _ = digests(large())
    yield {"what": "513 leaves: a byte variable of 2,097,153 zeros; CDF-1, dimension x, variable v, the data at 80", "file": None, "parts": parts(large(), 80, 1),
           "variables": [d.hex() for d in own], "content": content.hex(), "steps": None}
    for cut, what in (0, "3 branches"), (40000, "2 branches, the second of 7 leaves, since 40,000 bytes are cut off"):
        content, own, _ = digests(branches(cut))
        what += ": a byte variable, value i is i modulo 251; CDF-1, dimensions t = 3, z = 5, y = 91, x = 73, variable v, the data at 128"
        yield {"what": what, "file": None, "parts": parts(branches(cut), 128, 251), "variables": [d.hex() for d in own], "content": content.hex(), "steps": None}


def main():
    text = "[\n" + ",\n".join(json.dumps(vector) for vector in vectors()) + "\n]\n"
    path = HERE / "digest.json"
    if "--check" in sys.argv:
        assert path.read_text() == text, "digest.json is not what this makes"
        written = (HERE.parent / "digest.md").read_text()
        first = json.loads(path.read_text())[0]
        for words in (*first["variables"], first["content"]):
            assert words in written, f"digest.md lacks {words}"
        return
    path.write_text(text)


if __name__ == "__main__":
    main()

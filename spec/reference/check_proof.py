#!/usr/bin/env python3
"""Checks that a slice is a part of the dataset with a root, written from the text of spec/proof.md and spec/digest.md.

Plain Python, standard library only. Sections named in comments are those of spec/proof.md.

    check_proof.py SLICE PROOF nc3z1:HEX      prints what was proven; exit code 1 and the reason where nothing was
"""

import base64
import io
import json
import re
import struct
import sys
from math import isfinite, prod

from nc3z_digest import LEAF, SIZES, Classic, branch_length, root_of_entries, sha256, values_digest

TYPES = ("", "byte", "char", "short", "int", "float", "double", "ubyte", "ushort", "uint", "int64", "uint64")
NPY = {"|i1": 1, "|S1": 2, "<i2": 3, "<i4": 4, "<f4": 5, "<f8": 6, "|u1": 7, "<u2": 8, "<u4": 9, "<i8": 10, "<u8": 11}
FORMATS = ("", ">b", ">B", ">h", ">i", ">f", ">d", ">B", ">H", ">I", ">q", ">Q")


class Refused(Exception):
    """The slice is not proven."""


def need(truth, why):
    if not truth:
        raise Refused(why)


# ---------------------------------------------------------------- section 1: slices
# (global attributes or None, variables); a variable is a dictionary of what its format says: kind, shape, values, and
# name, dimensions [(name, record)], attributes, which may be None.


def slice_of(data):
    if data[:3] == b"CDF":
        return classic(data)
    return None, [npy(data) if data[:6] == b"\x93NUMPY" else csv(data)]


def classic(data):
    file = Classic(io.BytesIO(data))
    used = {n for v in file.variables for n in v[1]}
    need(used == set(range(len(file.dimensions))), "a dimension of no variable")
    variables = []
    for v in file.variables:
        name, numbers, attributes, kind = v[:4]
        shape, values = file.lengths(numbers, file.records), b"".join(file.values(v))
        need(len(values) == prod(shape) * SIZES[kind], "the slice ends before its values do")
        dimensions = [(file.dimensions[n][0], file.dimensions[n][1] == 0) for n in numbers]
        variables.append(dict(name=name, kind=kind, shape=shape, dimensions=dimensions, attributes=attributes, values=values))
    return file.attributes, variables


def npy(data):
    need(data[6:8] in (b"\1\0", b"\2\0"), "an npy file of another version")
    size = 2 if data[6] == 1 else 4
    begin = 8 + size + int.from_bytes(data[8:8 + size], "little")
    found = re.fullmatch(r"\{'descr': '(...)', 'fortran_order': False, 'shape': \(((?:[0-9]+, )*[0-9]+,?|)\), \} *\n", data[8 + size:begin].decode("latin-1"))
    need(found and found[1] in NPY, "an npy file of another kind")
    kind, shape = NPY[found[1]], [int(n) for n in found[2].replace(",", " ").split()]
    values, step = data[begin:], SIZES[kind]
    need(len(values) == prod(shape) * step, "an npy file of another length")
    values = b"".join(values[at:at + step][::-1] for at in range(0, len(values), step))
    return dict(name=None, kind=kind, shape=shape, dimensions=None, attributes=None, values=values)


def csv(data):
    head, *rows = data.decode().split("\n")
    names = [part.split(":") for part in head.split(",")]
    need(all(len(part) == 2 for part in names) and all(re.fullmatch("[0-9]+", n) for _, n in names[1:]) and names[0][1] in TYPES[1:], "no CSV of a slice")
    kind, shape, values = TYPES.index(names[0][1]), [int(n) for _, n in names[1:]], []
    for n, row in enumerate(rows[:-1]):
        value, *index = row.split(",")
        need(re.fullmatch(r"-?([0-9]+(\.[0-9]+)?(e-?[0-9]+)?|inf)|NaN", value), f"`{value}` is not a number")
        need(kind not in (2, 7, 8, 9, 11) or value[0] != "-", "a sign where there is none")
        need(index == [str(n // prod(shape[d + 1:]) % shape[d]) for d in range(len(shape))], "a row in another place")
        values.append(struct.pack(FORMATS[kind], (float if kind in (5, 6) else int)(value)))
    need(len(values) == prod(shape) and rows[-1] == "", "CSV of another length")
    dimensions = [(name.encode(), None) for name, _ in names[1:]]
    return dict(name=names[0][0].encode(), kind=kind, shape=shape, dimensions=dimensions, attributes=None, values=b"".join(values))


# ---------------------------------------------------------------- section 2: proofs


def once(pairs):
    need(len(dict(pairs)) == len(pairs), "a key twice")
    return dict(pairs)


def number(text):
    need(isfinite(float(text)), "a number that is none")
    return int(text) if re.fullmatch("0|-?[1-9][0-9]*", text) else float(text)


def depth(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, (dict, list)) + max(map(depth, inner), default=0)


def decoded(text):
    need(isinstance(text, str), "base64 was expected")
    data = base64.b64decode(text, validate=True)
    need(base64.b64encode(data).decode() == text, "base64 of another form")
    return data


def nodes_of(text):
    data = decoded(text)
    need(len(data) % 32 == 0, "nodes of 32 bytes")
    return [data[at:at + 32] for at in range(0, len(data), 32)]


def fold(count, each, known, nodes):
    """The root of a tree of `count` leaves, `each` of them a branch, from those known {number: hash} and the nodes beside them."""
    need(all(0 <= n < count for n in known), "a leaf beyond the end")
    rest, order = list(nodes), sorted(known)

    def part(first, n, low, high):
        if low == high:
            need(rest, "too few nodes")
            return rest.pop(0)
        if n == 1:
            return known[first]
        unit = each if n > each else 1
        k = unit << (-(-n // unit) - 1).bit_length() - 1
        middle = next((at for at in range(low, high) if order[at] >= first + k), high)
        return sha256(b"\x01" + part(first, k, low, middle) + part(first + k, n - k, middle, high))

    root = part(0, count, 0, len(order)) if count else sha256(b"")
    need(not rest, "too many nodes")
    return root


class Entry:
    """The entry of a variable or of a file, taken apart."""

    def __init__(self, data, is_file):
        self.data, self.at = data, 0
        magic = b"nc3z file entry 1\n" if is_file else b"nc3z variable entry 1\n"
        need(self.take(len(magic)) == magic, "an entry of another kind")
        if is_file:
            self.dimensions = [(self.string(), self.flag(), self.number()) for _ in range(self.number())]
        else:
            self.name, self.kind = self.string(), self.number()
            self.dimensions = [(self.number(), self.string(), self.flag(), self.number()) for _ in range(self.number())]
            self.present = self.number()
            self.shape = [d[3] for d in self.dimensions]
            need(self.kind in SIZES, "an unknown type")
        self.attributes = [self.attribute() for _ in range(self.number())]
        self.digest = None if is_file else self.take(32)
        need(self.at == len(data), "an entry with bytes too many")

    def take(self, n):
        need(n <= len(self.data) - self.at, "an entry that is cut short")
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self):
        return int.from_bytes(self.take(8), "big")

    def string(self):
        return self.take(self.number())

    def flag(self):
        n = self.number()
        need(n in (0, 1), "a flag that is neither 0 nor 1")
        return n == 1

    def attribute(self):
        name, kind, n = self.string(), self.number(), self.number()
        need(kind in SIZES, "an unknown type")
        return name, kind, self.take(n * SIZES[kind])


# ---------------------------------------------------------------- section 3: checking


def runs(shape, start, count, stride):
    """(first element in the array, elements) of runs of the hyperslab, in order."""
    rank = len(shape)
    inner = rank
    while inner and stride[inner - 1] == 1 and count[inner - 1] == shape[inner - 1]:
        inner -= 1
    if inner and stride[inner - 1] == 1:
        inner -= 1
    length, index = prod(count[inner:]), [0] * inner
    for _ in range(prod(count[:inner])):
        at = [start[d] + index[d] * stride[d] for d in range(inner)] + start[inner:]
        flat = 0
        for d in range(rank):
            flat = flat * shape[d] + at[d]
        yield flat, length
        for d in reversed(range(inner)):
            index[d] += 1
            if index[d] < count[d]:
                break
            index[d] = 0


def check_variable(part, own):
    need(set(part) | {"name"} == {"name", "number", "entry", "start", "count", "stride", "nodes", "leaves"}, "other keys")
    entry = Entry(decoded(part["entry"]), False)
    slab = start, count, stride = [part[key] for key in ("start", "count", "stride")]
    shape, size = entry.shape, SIZES[entry.kind]
    need(part.get("name", entry.name.decode("utf-8", "replace")) == entry.name.decode("utf-8", "replace"), "another name")
    need(type(part["number"]) is int and part["number"] > 0, "no number of a variable")
    for key in slab:
        need(len(key) == len(shape) and all(type(n) is int and 0 <= n < 1 << 64 for n in key), "no hyperslab")
    need(all(n < 1 << 63 for n in stride), "no hyperslab")
    for n, first, many, step in zip(shape, *slab):
        need(step >= 1 and first <= n and (not many or first + (many - 1) * step < n), "a hyperslab beyond its dimension")
    for key, value in (("name", entry.name), ("kind", entry.kind), ("shape", count), ("attributes", entry.attributes)):
        need(own[key] is None or list(own[key]) == list(value) if key != "kind" else own[key] == value, f"another {key}")
    if own["dimensions"] is not None:
        same = [d[0] for d in own["dimensions"]] == [d[1] for d in entry.dimensions]
        need(same and all(o[1] in (None, d[2]) for o, d in zip(own["dimensions"], entry.dimensions)), "other dimensions")
    values, total = own["values"], entry.present * size
    need(len(values) == prod(count) * size, "another number of values")
    branch, met, at = branch_length(entry.kind, shape), {}, 0
    each = -(-branch // LEAF)
    for first, many in runs(shape, start, count, stride) if prod(count) else ():
        first, end = first * size, (first + many) * size
        need(end <= total, "values that the dataset does not have")
        while first < end:
            leaf, within = first // branch * each + first % branch // LEAF, first % branch % LEAF
            take = min(end - first, LEAF - within, branch - first % branch)
            met.setdefault(leaf, []).append((within, at, take))
            first, at = first + take, at + take
    leaves, known = decoded(part["leaves"]), {}
    for leaf in sorted(met):
        begin, pieces = leaf // each * branch + leaf % each * LEAF, met[leaf]
        length = min(LEAF, (leaf // each + 1) * branch - begin, total - begin)
        if pieces[0][0] == 0 and sum(p[2] for p in pieces) == length:
            data = values[pieces[0][1]:pieces[0][1] + length]
        else:
            data, leaves = leaves[:length], leaves[length:]
            need(len(data) == length, "a leaf is missing")
            need(all(data[to:to + n] == values[of:of + n] for to, of, n in pieces), "values that are not those of their leaf")
        known[leaf] = sha256(b"\x00" + data)
    need(not leaves, "leaves that the hyperslab does not meet")
    root = fold(total // branch * each + -(-(total % branch) // LEAF), each, known, nodes_of(part["nodes"]))
    need(values_digest(entry.kind, shape, entry.present, root) == entry.digest, "values that are not those of the hyperslab")
    return entry


def check(data, text, root):
    """Raises Refused, or gives the names and hyperslabs that were proven."""
    proof = json.loads(text.decode(), object_pairs_hook=once, parse_constant=number, parse_int=number, parse_float=number)
    json.dumps(proof, ensure_ascii=False).encode()  # no halves of surrogate pairs
    need(isinstance(proof.get("about", {}), dict) and depth(proof) <= 127, "no proof")
    need(set(proof) - {"file", "about"} == {"format", "root", "entries", "path", "variables"}, "other keys")
    need(proof["format"] == "nc3z proof 1" and proof["root"] == root, "another format or root")
    need(type(proof["entries"]) is int and 0 < proof["entries"] < 1 << 64, "no number of entries")
    attributes, variables = slice_of(data)
    need(len(variables) == len(proof["variables"]) > 0, "another number of variables")
    known, parts, found, last = {}, {}, [], 0
    if "file" in proof:
        entry = decoded(proof["file"])
        need(attributes is not None and Entry(entry, True).attributes == attributes, "other global attributes")
        known[0] = sha256(b"\x00" + entry)
    else:
        need(not attributes, "global attributes that are not proven")
    for part, own in zip(proof["variables"], variables):
        entry = check_variable(part, own)
        need(part["number"] > last, "variables in another order")
        last = part["number"]
        known[last] = sha256(b"\x00" + entry.data)
        for d, *slab in zip(entry.dimensions, part["start"], part["count"], part["stride"]):
            need(parts.setdefault(d[0], slab) == slab, "two parts of one dimension")
        found.append((entry.name.decode("utf-8", "backslashreplace"), part["start"], part["count"], part["stride"]))
    tree = fold(proof["entries"], 1, known, nodes_of(proof["path"]))
    need("nc3z1:" + root_of_entries(proof["entries"], tree).hex() == root, "entries that are not those of the root")
    return found


def main(path, proof, root):
    try:
        with open(path, "rb") as file, open(proof, "rb") as beside:
            for name, start, count, stride in check(file.read(), beside.read(), root):
                print(f"proven: {name} start {start} count {count} stride {stride}")
    except (Refused, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OverflowError, struct.error) as e:
        sys.exit(f"not proven: {e}")


if __name__ == "__main__":
    main(*sys.argv[1:])

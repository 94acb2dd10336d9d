"""Compares pairs of files by the netCDF C library: the original, and the archive that the plug-in opens.

    python tests/netcdf_oracle.py SLICES SEED < list of pairs, a JSON array

Every inquiry, every attribute, and every variable must be equal; then SLICES random requests: blocks, strides, maps of memory, all types.
Return codes are compared, and the bytes of the buffer, those that nothing was written to included. Prints a line of JSON with counts.
"""

import ctypes as C
import glob
import importlib.util
import json
import os
import random
import sys

SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}
NAMES = {1: "schar", 2: "text", 3: "short", 4: "int", 5: "float", 6: "double", 7: "uchar", 8: "ushort", 9: "uint", 10: "longlong", 11: "ulonglong"}
MOST = 1 << 22  # Bytes of a whole variable: larger ones are read in part.


def library():
    """The netCDF library of the Python package netCDF4, which loads the plug-in as .ncrc says."""
    place = os.path.dirname(os.path.dirname(importlib.util.find_spec("netCDF4").origin))
    found = [path for folder in ("netcdf4.libs", "netCDF4.libs") for path in glob.glob(f"{place}/{folder}/libnetcdf*.so*")]
    return found[0]


class File:
    def __init__(self, nc, path):
        self.nc, self.id = nc, C.c_int(-1)
        self.code = nc.nc_open(os.fsencode(path), 0, C.byref(self.id))

    def ints(self, function, *args, n=1):
        """Calls a function that fills `n` ints."""
        out = [C.c_int(-77) for _ in range(n)]
        code = getattr(self.nc, function)(self.id, *args, *(C.byref(x) for x in out))
        return (code, *(x.value for x in out))

    def name_and_size(self, function, *args):
        name, size = C.create_string_buffer(b"?" * 300, 300), C.c_size_t(7)
        return getattr(self.nc, function)(self.id, *args, name, C.byref(size)), name.value, size.value

    def attributes(self, var, count):
        nc, out = self.nc, []
        for n in range(count):
            name, ty, size = C.create_string_buffer(300), C.c_int(), C.c_size_t()
            found = (nc.nc_inq_attname(self.id, var, n, name), nc.nc_inq_att(self.id, var, name, C.byref(ty), C.byref(size)))
            out.append((*found, name.value, ty.value, size.value, *self.ints("nc_inq_attid", var, name)))
            for want, kind in NAMES.items():
                buffer = C.create_string_buffer(b"\xa5" * (size.value * SIZES[want] + 9), size.value * SIZES[want] + 9)
                out.append((kind, getattr(nc, f"nc_get_att_{kind}")(self.id, var, name, buffer), buffer.raw))
            buffer = C.create_string_buffer(size.value * 8 + 9)
            out.append((nc.nc_get_att(self.id, var, name, buffer), buffer.raw))
        name = C.create_string_buffer(300)
        out.append((nc.nc_inq_attname(self.id, var, count, name), nc.nc_inq_att(self.id, var, b"no such", None, None)))
        return out

    def variable(self, var):
        nc = self.nc
        name, ty, rank, count = C.create_string_buffer(300), C.c_int(), C.c_int(), C.c_int()
        dims = (C.c_int * 1100)(*[-7] * 1100)
        code = nc.nc_inq_var(self.id, var, name, C.byref(ty), C.byref(rank), dims, C.byref(count))
        no_fill, fill = C.c_int(-7), C.create_string_buffer(64)
        fills = (nc.nc_inq_var_fill(self.id, var, C.byref(no_fill), fill), no_fill.value, fill.raw)
        own, size = C.c_int(), C.c_size_t()
        if nc.nc_inq_att(self.id, var, b"_FillValue", C.byref(own), C.byref(size)) == 0 and size.value * SIZES[own.value] > SIZES[ty.value]:
            # The library writes more than a value of the variable's type, beyond what callers have room for.
            fills = fills[:2]
        deflate = self.ints("nc_inq_var_deflate", var, n=3)
        storage = C.c_int(-7), (C.c_size_t * 1100)()
        chunking = nc.nc_inq_var_chunking(self.id, var, C.byref(storage[0]), storage[1]), storage[0].value
        found = (code, name.value, ty.value, dims[: rank.value], count.value, *self.ints("nc_inq_varid", name))
        return found, fills, deflate[:1], chunking, self.attributes(var, count.value)

    def description(self):
        nc = self.nc
        head = self.ints("nc_inq", n=4)
        out = [head, self.ints("nc_inq_format"), self.ints("nc_inq_unlimdim"), self.ints("nc_inq_unlimdims", n=2)[:2]]
        ids = (C.c_int * 100000)()
        for function in ("nc_inq_varids", "nc_inq_grps", "nc_inq_typeids"):
            n = C.c_int(-7)
            out.append((getattr(nc, function)(self.id, C.byref(n), ids), n.value, ids[: n.value]))
        n = C.c_int(-7)
        out.append((nc.nc_inq_dimids(self.id, C.byref(n), ids, 0), n.value, ids[: n.value]))
        out.append(self.ints("nc_inq_grp_parent")[:1])
        name = C.create_string_buffer(300)
        out.append((nc.nc_inq_grpname(self.id, name), name.value))
        for dim in range(head[1]):
            found = self.name_and_size("nc_inq_dim", dim)
            out.append((found, self.ints("nc_inq_dimid", found[1])))
        out.append(self.name_and_size("nc_inq_dim", head[1])[0])
        out.append((self.ints("nc_inq_dimid", b"no such")[0], self.ints("nc_inq_varid", b"no such")[0]))
        for ty in range(-1, 14):
            out.append(self.name_and_size("nc_inq_type", ty))
        out.append(self.attributes(-1, head[3]))
        out.extend(self.variable(var) for var in range(head[2]))
        out.append((nc.nc_redef(self.id), nc.nc_put_att_int(self.id, -1, b"a", 4, C.c_size_t(1), C.byref(C.c_int(1)))))
        return out

    def shapes(self):
        out = []
        for var in range(self.ints("nc_inq", n=4)[2]):
            ty, rank, dims = C.c_int(), C.c_int(), (C.c_int * 1100)()
            self.nc.nc_inq_var(self.id, var, None, C.byref(ty), C.byref(rank), dims, None)
            out.append((ty.value, [self.name_and_size("nc_inq_dim", d)[2] for d in dims[: rank.value]]))
        return out

    def whole(self, var, ty, shape):
        size = SIZES[ty]
        for n in shape:
            size *= n
        if size > MOST:
            return None
        buffer = C.create_string_buffer(b"\xa5" * (size + 1), size + 1)
        return self.nc.nc_get_var(self.id, var, buffer), buffer.raw

    def read(self, request):
        kind, var, want, start, count, stride, imap, room, at = request
        buffer = C.create_string_buffer(b"\xa5" * room, room)
        rank = len(start)
        lists = [(C.c_size_t * max(rank, 1))(*start), (C.c_size_t * max(rank, 1))(*count)]
        if kind != "vara":
            lists.append((C.c_ssize_t * max(rank, 1))(*stride))
        if kind == "varm":
            lists.append((C.c_ssize_t * max(rank, 1))(*imap))
        place = C.byref(buffer, at)
        return getattr(self.nc, f"nc_get_{kind}_{NAMES[want]}")(self.id, var, *lists, place), buffer.raw


def request(rng, var, ty, shape):
    """A random request, sometimes one that is outside the variable or has another kind of type."""
    kind = rng.choice(["vara", "vara", "vars", "vars", "varm"])
    want = ty if rng.random() < 0.3 else rng.choice([t for t in NAMES if (t == 2) == (ty == 2)])
    if rng.random() < 0.03:
        want = rng.choice(list(NAMES))
    start, count, stride, imap = [], [], [], []
    left = 4000
    for n in shape:
        step = rng.choice([1, 1, 2, 3, 7]) if kind != "vara" else 1
        a = rng.randrange(n) if n else 0
        most = (n - a + step - 1) // step if n else 0
        k = min(rng.randint(1, most) if most else 0, left)
        # The library also requires the last index without strides to be inside.
        k = min(k, n - a)
        left //= max(k, 1)
        start.append(a), count.append(k), stride.append(step)
    if shape and rng.random() < 0.08:
        d = rng.randrange(len(shape))
        what = rng.choice(["start", "end", "count", "none", "stride"])
        if what == "start":
            start[d] = shape[d] + rng.choice([0, 1, 5])
        elif what == "end":
            start[d], count[d] = shape[d], rng.choice([0, 1])
        elif what == "count":
            count[d] = min(count[d] + shape[d], 5000)
        elif what == "none":
            count[d] = 0
        else:
            stride[d] = rng.choice([0, -1, 1 << 31, 2])
    elements = 1
    for k in count:
        elements *= k
    order = list(range(len(shape)))
    rng.shuffle(order)
    imap, step = [0] * len(shape), 1
    for d in order:
        imap[d] = step
        step *= max(count[d], 1)
    at = rng.choice([0, 0, 1, 8])
    return kind, var, want, start, count, stride, imap, max(elements, step) * SIZES[want] + 16, at


def main():
    slices, rng = int(sys.argv[1]), random.Random(int(sys.argv[2]))
    nc = C.CDLL(library())
    nc.nc_strerror.restype = C.c_char_p
    compared, unreadable, opened = 0, 0, []
    for original, archive in json.load(sys.stdin):
        a, b = File(nc, original), File(nc, archive)
        if a.code:
            # Files that the library itself refuses cannot be compared.
            unreadable += 1
            continue
        if b.code:
            sys.exit(f"{archive}: code {b.code} ({nc.nc_strerror(b.code).decode()})")
        for n, (x, y) in enumerate(zip(a.description(), b.description(), strict=True)):
            if x != y:
                sys.exit(f"{archive}: part {n} of the description:\n  {str(x)[:1500]}\n  {str(y)[:1500]}")
        shapes = a.shapes()
        for var, (ty, shape) in enumerate(shapes):
            if a.whole(var, ty, shape) != b.whole(var, ty, shape):
                sys.exit(f"{archive}: variable {var} differs")
        compared += len(shapes)
        if any(ty for ty, shape in shapes) and len(opened) < 200:
            opened.append((archive, a, b, shapes))
        else:
            nc.nc_close(a.id), nc.nc_close(b.id)
    codes = {}
    for _ in range(slices):
        archive, a, b, shapes = rng.choice(opened)
        var = rng.randrange(len(shapes))
        asked = request(rng, var, *shapes[var])
        x, y = a.read(asked), b.read(asked)
        # After an error other than a range error, the content of the buffer is undefined.
        if x[0] != y[0] or (x[0] in (0, -60) and x[1] != y[1]):
            where = next((i for i, (p, q) in enumerate(zip(x[1], y[1])) if p != q), None)
            sys.exit(f"{archive}: {asked} of type {shapes[var]}: codes {x[0]} and {y[0]}, first difference at byte {where}: "
                     f"{x[1][(where or 0):(where or 0) + 8].hex()} and {y[1][(where or 0):(where or 0) + 8].hex()}")
        codes[x[0]] = codes.get(x[0], 0) + 1
    print(json.dumps({"variables": compared, "refused_by_the_library": unreadable, "slices": slices, "codes": codes}))


if __name__ == "__main__":
    main()

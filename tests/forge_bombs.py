"""Small files of other kinds whose claims are large: chunk grids, bundles, tars, aggregations, archives of very many versions."""

import io
import itertools
import struct
import tarfile
import zlib
from binascii import crc32

import forge
import zstandard
from common import NIGHT
from forge import Forge, be, varint

MOST = (1 << 31) - 1
# By day a fifth of the text.
MANY = 1_000_000 if NIGHT else 200_000


def grid(dims, layout, root):
    """An archive of one variable of bytes of these dimensions, whose index has its root where `root` says and nothing more."""
    count = 1
    for dim in dims:
        count *= dim
    tile, name = (varint(1), b"\0") if layout == "linear" else (b"", {"chunks": b"\1", "padded": b"\2"}[layout])
    shape = tile or b"".join(varint(1) for _ in dims)

    def text(begin):
        names = b"".join(be(1) + bytes([97 + n]) + b"\0\0\0" + be(dim) for n, dim in enumerate(dims))
        variable = be(1) + b"v\0\0\0" + be(len(dims), *range(len(dims))) + be(0, 0, 1) + be(min(count, (1 << 32) - 1), begin)
        return b"CDF\x01" + be(0, 10, len(dims)) + names + be(0, 0, 11, 1) + variable

    length = len(text(0))
    forged = Forge(text(length), length + count, layouts=name + shape + b"\1")
    rows = [] if root == "none" else [(0, count, forged.begin)]
    if root == "page":
        # One whole page, of other tiles than the root should have.
        raw = struct.pack("<IHHIQ", 0, 0, 1, 0, 0) + forge.constant(b"\7")
        raw = raw.ljust(4092, b"\0")
        at = forged.begin
        forged.out += struct.pack("<I", forge.salted_crc(forged.salt, at, raw)) + raw
        pages = struct.pack("<HHIQQ", forge.S_PAGES, 2, 0, at, 4096)
        return forged.seal(rows, end=at, pages=pages).bytes()
    return forged.seal(rows).bytes()


GRIDS = [
    (f"{layout} of {'x'.join(map(str, dims))}, root {root}", lambda dims=dims, layout=layout, root=root: grid(dims, layout, root))
    for dims, layout, root in itertools.product(
        [(1 << 17,), (MOST,), (MOST, MOST), (1000, 1000, 1000)], ["linear", "chunks", "padded"], ["none", "nowhere", "page"])
]


def bundle(index):
    """A ZIP of one small member with this as the index of nc3z, as `nc3z bundle` would point to it."""
    packed = b"nc3zidx2" + struct.pack("<Q", len(index)) + zstandard.ZstdCompressor(level=3).compress(index)
    out = io.BytesIO()
    entries = []
    for name, data in ((b"a.txt", b"x"), (b".nc3z/index", packed)):
        check, size = zlib.crc32(data), len(data)
        head = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 0x21, check, size, size, len(name), 0)
        entries.append(b"PK\1\2" + struct.pack("<H", 20) + head[:-4] + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, out.tell()) + name)
        out.write(b"PK\3\4" + head + name)
        at = out.tell()
        out.write(data)
    begin, directory = out.tell(), b"".join(entries)
    comment = f"nc3z-index {at} {len(packed)} {crc32(packed):08x}".encode()
    out.write(directory + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, len(entries), len(entries), len(directory), begin, len(comment)) + comment)
    return out.getvalue()


def listed(text):
    return bundle(struct.pack("<Q", len(text)) + text)


def bundle_of_objects():
    return listed(b'{"version":2,"members":[' + b'{"a":0},' * (6 * MANY) + b"0]}")


def bundle_of_blanks():
    return listed(b'{"version":2,"members":[' + b" " * ((512 if NIGHT else 64) << 20) + b"]}")


def bundle_of_members():
    return listed(b'{"version":2,"members":[' + b",".join(b'["%d",0,0,0,[]]' % n for n in range(40_000)) + b"]}")


def bundle_of_parts():
    return listed(b'{"version":2,"members":[["a",0,1,0,[' + b"[0,0]," * 100_000 + b"[0,0]]]]}")


def tar_of_a_long_name(kind=tarfile.GNUTYPE_LONGNAME, size=1 << 30):
    """The name claims to have a GiB, but only a few bytes follow."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = kind, size
    file = tarfile.TarInfo("a.nc")
    return info.tobuf(tarfile.GNU_FORMAT) + b"a" * (4 << 20) + file.tobuf() + bytes(1024)


def tar_of_pax():
    return tar_of_a_long_name(tarfile.XHDTYPE)


def aggregation(text, dims=()):
    """A classic file with one aggregation variable of NCA, described by this text."""
    text = text.encode() if isinstance(text, str) else text

    def attribute(name, value):
        return be(len(name)) + name + bytes(-len(name) % 4) + be(2, len(value)) + value + bytes(-len(value) % 4)

    names = b"".join(be(1) + bytes([97 + n]) + b"\0\0\0" + be(dim) for n, dim in enumerate(dims))
    words = " ".join(chr(97 + n) for n in range(len(dims))).encode()
    attributes = attribute(b"cf_role", b"nca_variable") + attribute(b"nca_dimensions", words) + attribute(b"nca_array", text)

    def whole(begin):
        dimensions = be(10, len(dims)) + names if dims else be(0, 0)
        return b"CDF\x01" + be(0) + dimensions + be(0, 0, 11, 1) + be(3) + b"tas\0" + be(0, 12, 3) + attributes + be(5, 4, begin)

    return whole(len(whole(0))) + struct.pack(">f", 0)


def partitions_of_objects():
    return aggregation('{"Partitions": [' + '{"a":0},' * MANY + '{"a":0}]}')


def keys_of_an_aggregation():
    return aggregation('{"directions": {' + ",".join(f'"{n}":1' for n in range(MANY)) + '}, "Partitions": []}')


def nearly_json():
    return aggregation("{'Partitions': [" + "{'a':0}," * MANY + "{'a':0}]}")


def deep_json():
    return aggregation('{"Partitions": ' + "[" * MANY)


def many_partitions(count=300_000 if NIGHT else 10_000):
    part = '{"index":[%d],"location":[[%d,%d]],"data":{"file":"f%d.nc","ncvar":"tas","shape":[1]}}'
    parts = ",".join(part % (n, n, n + 1, n) for n in range(count))
    return aggregation('{"pdimensions":["a"],"pshape":[%d],"Partitions":[%s]}' % (count, parts), (count,))


def parts_of_numbers():
    part = "[" + ",".join(["0"] * (4 * MANY)) + "]"
    return aggregation('{"Partitions": [{"part": "[%s]", "data": {"file": "f", "ncvar": "v", "shape": [1]}}]}' % part)


BUNDLES = [bundle_of_objects, bundle_of_blanks, bundle_of_members, bundle_of_parts, tar_of_a_long_name, tar_of_pax]
AGGREGATIONS = [partitions_of_objects, keys_of_an_aggregation, nearly_json, deep_json, many_partitions, parts_of_numbers]

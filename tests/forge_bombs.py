"""Small files of other kinds whose claims are large: chunk grids, bundles, tars, aggregations, archives of very many versions."""

import io
import itertools
import re
import struct
import tarfile
import zlib
from binascii import crc32

import forge
from common import NIGHT, ROOT
from forge import Forge, be, varint

MOST = (1 << 31) - 1
# By day a fifth of the text.
MANY = 1_000_000 if NIGHT else 200_000
MEMBERS = 1500 if NIGHT else 300


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


BUNDLES = [tar_of_a_long_name, tar_of_pax]
AGGREGATIONS = [partitions_of_objects, keys_of_an_aggregation, nearly_json, deep_json, many_partitions, parts_of_numbers]


def classic(variables, atts=b""):
    """A classic file of one-dimensional variables of ints; `atts` are global attributes."""

    def whole(begins):
        head = b"CDF\x02" + be(0) + be(10, len(variables)) + b"".join(be(1) + bytes([97 + n]) + b"\0\0\0" + be(len(data) // 4) for n, (_, data) in enumerate(variables))
        head += atts or be(0, 0)
        head += be(11, len(variables))
        for n, ((name, data), begin) in enumerate(zip(variables, begins)):
            head += be(len(name)) + name + bytes(-len(name) % 4) + be(1, n, 0, 0, 4, len(data)) + struct.pack(">Q", begin)
        return head

    at, begins = len(whole([0] * len(variables))), []
    for _, data in variables:
        begins.append(at)
        at += len(data)
    return whole(begins) + b"".join(data for _, data in variables)


def group(counts, arrays):
    """The classic file of a group. All arrays are the first element of column 3."""
    mark = be(12, 1, 11) + b"nc3z_packed\0" + be(2, 1) + b"1\0\0\0"
    return classic([(b"member_arrays", counts), (b"array_column", be(3) * arrays), (b"array_step", bytes(4 * arrays)), (b"v", bytes(16))], mark)


def group_without_arrays(count=MEMBERS):
    """Members without arrays, and one that has one."""
    return group(bytes(4 * count) + be(1), 1)


def group_of_arrays():
    """One member of thirty million arrays."""
    return group(be(30 << 20), 30 << 20)


def group_of_members():
    """Thirty million members."""
    return group(be(1) + bytes(4 * (30 << 20)), 1)


def long_header():
    """A header of nearly 4 MiB."""
    title = bytes((4 << 20) - 200)
    return b"CDF\1" + be(0, 0, 0, 12, 1, 5) + b"title\0\0\0" + be(2, len(title)) + title + be(0, 0)


def packed_bundle(groups, names, header=bytes(32)):
    """The dataset of a bundle of packed members, which have one header; `names` are those of the members of each group."""
    content, rows = b"".join(groups), []
    at = 0
    for group, own in zip(groups, names):
        rows += [(name, at, len(group), number) for number, name in enumerate(own)]
        at += len(group)
    every = b"".join(name for name, *_ in rows)
    # Blocks have at most 4,096 files.
    n = len(rows)
    assert n <= 4096
    column = lambda code, values: struct.pack(f">{n}{code}", *values)  # noqa: E731
    return catalogue(
        {"block": 1, "file": n, "file_name_byte": len(every), "header": 1, "header_byte": len(header), "content_byte": len(content)}, True, block_files=int32(n),
        block_name_bytes=int32(len(every)), block_headers=int32(1), block_header_bytes=int32(len(header)),
        header_length=int32(len(header)), header_bytes=header, file_name_length=column("i", [len(name) for name, *_ in rows]), file_name=every, file_kind=b"\3",
        file_size=struct.pack(">q", len(header)), file_offset=column("q", [at for _, at, *_ in rows]), file_stored_size=column("q", [size for *_, size, _ in rows]),
        file_group_member=column("i", [number for *_, number in rows]), file_mode=struct.pack(">h", -1), content=content)


PACKED = [(group_without_arrays, 1, MEMBERS), (group_of_arrays, 8, 1), (group_of_members, 8, 1)]


def catalogue(dimensions, is_bundle=False, **values):
    """A classic dataset with the variables of a catalogue (spec/catalogue.md), all 0 but those that are given, as CDF-5."""
    rows = re.findall(r"^\| `(\w+)\((\w+)(, sha256_byte)?\)` \| (\w+) \|", (ROOT / "spec/catalogue.md").read_text(), re.M)
    numbers = {"byte": 1, "char": 2, "short": 3, "int": 4, "double": 6, "ubyte": 7, "uint": 9, "int64": 10}
    sizes = {"byte": 1, "char": 1, "short": 2, "int": 4, "double": 8, "ubyte": 1, "uint": 4, "int64": 8}
    long = lambda n: struct.pack(">Q", n)  # noqa: E731
    text = lambda s: long(len(s)) + s + bytes(-len(s) % 4)  # noqa: E731
    names = [*dimensions, "sha256_byte"]
    of_bundles = ("file_crc32", "file_mode", "file_group_member", "content")
    parts = [(name, axis, digest, kind) for name, axis, digest, kind in rows if axis in dimensions and (is_bundle or name not in of_bundles)]
    marks = [b"nc3z_catalog", *([b"nc3z_bundle"] if is_bundle else [])]

    def header(begins):
        out = b"CDF\5" + long(0) + struct.pack(">I", 10) + long(len(names))
        out += b"".join(text(n.encode()) + long(dimensions.get(n, 32)) for n in names)
        out += struct.pack(">I", 12) + long(len(marks)) + b"".join(text(mark) + struct.pack(">I", 2) + text(b"1") for mark in marks)
        out += struct.pack(">I", 11) + long(len(parts))
        for (name, axis, digest, kind), begin in zip(parts, begins):
            of = [axis, *(["sha256_byte"] if digest else [])]
            size = dimensions[axis] * (32 if digest else sizes[kind])
            out += text(name.encode()) + long(len(of)) + b"".join(long(names.index(n)) for n in of) + bytes(4) + long(0)
            out += struct.pack(">I", numbers[kind]) + long(size + -size % 4) + long(begin)
        return out

    at, begins, data = len(header([0] * len(parts))), [], []
    for name, axis, digest, kind in parts:
        size = dimensions[axis] * (32 if digest else sizes[kind])
        given = values.get(name)
        own = bytes(size) if given is None else given * (size // len(given))
        begins.append(at)
        data.append(own + bytes(-size % 4))
        at += size + -size % 4
    return header(begins) + b"".join(data)


def int32(*numbers):
    return struct.pack(f">{len(numbers)}i", *numbers)


def catalogue_of_files():
    """As many files as a short catalogue may have, with empty names."""
    blocks = 20
    return catalogue({"block": blocks, "file": 4096 * blocks, "header": blocks}, block_files=int32(4096), block_headers=int32(1),
                     file_header=b"".join(int32(n) * 4096 for n in range(blocks)))


def catalogue_of_tiles():
    """A variable with as many tiles as one may have."""
    n = 4_100_000
    one = dict.fromkeys(("block", "file", "header", "variable", "variable_name_byte", "section", "occurrence", "tiling", "tiling_axis"), 1)
    return catalogue({**one, "tile": n}, block_files=int32(1), block_headers=int32(1), variable_name_length=int32(1), variable_name=b"v",
                     section_occurrences=int32(1), section_tiles=int32(n), tiling_rank=int32(1),
                     tiling_length=struct.pack(">q", 1), occurrence_statistics=b"\1", occurrence_tiles=int32(n), tile_count=struct.pack(">q", 1))


def catalogue_of_sections():
    """Half a million variables in the block of one file."""
    n = 500_000
    names = b"".join(b"%06d" % i for i in range(n))
    return catalogue({"block": 1, "file": 1, "header": 1, "variable": n, "variable_name_byte": 6 * n, "section": n}, block_files=int32(1),
                     block_headers=int32(1), variable_name_length=int32(6), variable_name=names, section_variable=int32(*range(n)))


CATALOGUES = [catalogue_of_files, catalogue_of_tiles, catalogue_of_sections]

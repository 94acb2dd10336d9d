"""Writes spec/vectors/filters.json: short and ragged chunks as HDF5's plug-ins and NumCodecs make them.

Made once, with h5py 3.16, hdf5plugin 7.1 and numcodecs 0.16.6. `make_filters.py --objects` needs none of them: it writes the key `objects` of each
vector anew, the chain as archives store it. A chunk's numbers are not stored: number i is 5 + (i // 3) % 4, as its type, big-endian."""

import json
import pathlib
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
PIPELINES = {
    "2|1,5": [(2, ()), (1, (5,))],
    "1,9|3": [(1, (9,)), (3, ())],
    "3|307,9": [(3, ()), (307, (9,))],
    "32015,3": [(32015, (3,))],
    "32004,64": [(32004, (64,))],
    "32008,0,2": [(32008, (0, 2))],
    "32008,8,3,5": [(32008, (8, 3, 5))],
    "32008": [(32008, ())],
    "32000": [(32000, ())],
    "32001,0,0,0,0,5,1,0": [(32001, (0, 0, 0, 0, 5, 1, 0))],
    "32001,0,0,0,0,9,2,1": [(32001, (0, 0, 0, 0, 9, 2, 1))],
    "32001,0,0,0,0,5,1,4": [(32001, (0, 0, 0, 0, 5, 1, 4))],
    "32001,0,0,0,0,3,2,5": [(32001, (0, 0, 0, 0, 3, 2, 5))],
}
CODECS = [
    [{"id": "zlib", "level": 5}], [{"id": "gzip", "level": 5}], [{"id": "bz2", "level": 1}], [{"id": "lz4"}], [{"id": "zstd", "level": 3}],
    [{"id": "delta"}, {"id": "lz4"}], [{"id": "delta", "astype": "i1"}], [{"id": "crc32"}], [{"id": "crc32c"}], [{"id": "adler32"}],
    [{"id": "crc32", "location": "end"}], [{"id": "zstd", "level": 1}, {"id": "crc32c"}], [{"id": "fletcher32"}],
    [{"id": "fixedscaleoffset", "offset": 5, "scale": 2, "astype": "u1"}],
    [{"id": "blosc", "cname": "blosclz", "clevel": 5, "shuffle": 1}], [{"id": "blosc", "cname": "lz4hc", "clevel": 9, "shuffle": 2}],
    [{"id": "blosc", "cname": "zstd", "clevel": 9, "shuffle": 2, "blocksize": 256}],
]
TYPES = {"byte": "i1", "short": "i2", "int": "i4", "float": "f4", "double": "f8", "int64": "i8", "ushort": "u2"}
COUNTS = (1, 7, 8, 9, 33, 500)


DTYPES = {"byte": "|i1", "short": ">i2", "int": ">i4", "float": ">f4", "double": ">f8", "int64": ">i8", "ushort": ">u2"}
BLOSC_CODECS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
# NumCodecs' values of keys that are left out.
DEFAULTS = {"lz4": {"acceleration": 1}, "crc32": {"location": "start"}, "crc32c": {"location": "end"}, "adler32": {"location": "start"},
            "blosc": {"cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}}


def object_of_filter(number, cd, size):
    """The object of one of HDF5's filters, with the parameters that a user gives, for elements of `size` bytes."""
    def at(i, default):
        return cd[i] if i < len(cd) else default

    if number == 1:
        return {"id": "zlib", "level": cd[0]}
    if number == 2:
        return {"id": "shuffle", "elementsize": at(0, size)}
    if number == 3:
        return {"id": "fletcher32"}
    if number == 307:
        return {"id": "bz2", "level": at(0, 9)}
    if number == 32000:
        return {"id": "lzf"}
    if number == 32001:
        return {"id": "blosc", "cname": BLOSC_CODECS[at(6, 0)], "clevel": at(4, 5), "shuffle": at(5, 1), "blocksize": 0, "typesize": at(2, 0) or size}
    if number == 32004:
        return {"id": "lz4h5", "blocksize": at(0, 0)}
    if number == 32008:
        inner = {0: {}, 2: {"cname": "lz4"}, 3: {"cname": "zstd", "clevel": at(2, 3)}}[at(1, 0)]
        return {"id": "bitshuffle", "elementsize": size, "blocksize": at(0, 0), **inner}
    if number == 32015:
        return {"id": "zstd", "level": at(0, 3)}
    name, key = {32022: ("bitgroom", "nsd"), 32023: ("granularbr", "nsd"), 32032: ("bitround", "keepbits"), 37373: ("bitround", "keepbits")}[number]
    return {"id": name, key: cd[0]}


def objects(chain, kind):
    """A chain as archives store it, for elements of a type."""
    dtype = DTYPES[kind]
    size = int(dtype[2:])
    if not chain.startswith("["):
        filters = [[int(n) for n in text.split(",")] for text in chain.split("|")]
        return [object_of_filter(n, cd, size) for n, *cd in filters]
    steps = []
    for step in json.loads(chain):
        step = {**DEFAULTS.get(step["id"], {}), **step}
        if step["id"] in ("delta", "fixedscaleoffset"):
            wanted = step.get("astype", dtype).lstrip("<>|")
            step = {**step, "dtype": dtype, "astype": ("|" if wanted[1:] == "1" else ">") + wanted}
        if step["id"] == "blosc":
            step["typesize"] = size
        steps.append(step)
    return steps


def write(vectors):
    for vector in vectors:
        vector["objects"] = objects(vector["chain"], vector["type"])
    target = HERE / "filters.json"
    target.write_text("[\n" + ",\n".join(json.dumps(v) for v in vectors) + "\n]\n")
    print(len(vectors), target.stat().st_size)


def chunk(kind, count):
    return (5 + np.arange(count) // 3 % 4).astype(">" + kind)


def by_hdf5(values, filters):
    with h5py.File("x", "w", driver="core", backing_store=False) as f:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk(values.shape)
        for number, parameters in filters:
            {1: lambda p: plist.set_deflate(*p), 2: lambda p: plist.set_shuffle(), 3: lambda p: plist.set_fletcher32()}.get(
                number, lambda p, n=number: plist.set_filter(n, 1, p))(parameters)
        h5py.h5d.create(f.id, b"d", h5py.h5t.py_create(values.dtype), h5py.h5s.create_simple(values.shape), plist)
        f["d"][...] = values
        stored = [plist.get_filter(i) for i in range(plist.get_nfilters())]
        real = f["d"].id.get_create_plist()
        stored = "|".join(",".join(map(str, (n, *cd))) for n, _, cd, _ in (real.get_filter(i) for i in range(real.get_nfilters())))
        mask, written = f["d"].id.read_direct_chunk((0,))
        return None if mask else (stored, written)


def by_numcodecs(values, steps):
    for step in steps:
        step = dict(step)
        if step["id"] in ("delta", "fixedscaleoffset"):
            step["dtype"] = values.dtype.str
            if step.get("astype"):
                step["astype"] = np.dtype(step["astype"]).newbyteorder(">").str
        values = numcodecs.get_codec(step).encode(values)
    return np.asarray(values).tobytes() if not isinstance(values, bytes) else values


def main():
    vectors = []
    for n, (text, filters) in enumerate(PIPELINES.items()):
        for m, (name, kind) in enumerate(TYPES.items()):
            for count in COUNTS[(n + m) % 2::2]:
                made = by_hdf5(chunk(kind, count), filters)
                if made:
                    vectors.append({"chain": text, "stored": made[0], "type": name, "count": count, "bytes": made[1].hex()})
    for n, steps in enumerate(CODECS):
        for m, (name, kind) in enumerate(TYPES.items()):
            if steps[0]["id"] == "delta" and kind[0] == "f":
                continue
            for count in COUNTS[(n + m) % 3::3]:
                vectors.append({"chain": json.dumps(steps), "type": name, "count": count, "bytes": by_numcodecs(chunk(kind, count), steps).hex()})
    write(vectors)


if __name__ == "__main__":
    if "--objects" in sys.argv:
        write(json.loads((HERE / "filters.json").read_text()))
        sys.exit()
    import h5py
    import hdf5plugin  # noqa: F401
    import numcodecs
    import numpy as np

    warnings.simplefilter("ignore")
    main()

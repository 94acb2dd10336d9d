"""Peers that store arrays, not files. Each writes a folder of arrays and reads it back whole.

Arrays of fewer than 64 elements, the header and the attributes cost them nothing, and what they give back is arrays, not the
file: both in their favour.
"""
import ctypes
import functools
import os
import re

TILE = 1 << 20   # bytes of an HDF5 chunk: nc3z's default tile
LARGE = 4 << 20  # bytes of a Zarr or Blosc2 chunk, which does them good
# ALP and SPDP, which are crates: cargo build --release in bench/peers.
LIBRARY = os.environ.get("NC3Z_BENCH_PEERS", os.path.join(os.path.dirname(__file__), "../peers/target/release/libpeers.so"))


def chunks(shape, itemsize, target):
    """Whole trailing dimensions, the leading ones halved until a chunk has at most `target` bytes."""
    shape = list(shape)
    size = lambda: itemsize * __import__("math").prod(shape)
    for d in range(len(shape)):
        while size() > target and shape[d] > 1:
            shape[d] = (shape[d] + 1) // 2
    return tuple(max(1, n) for n in shape)


def h5(options):
    """HDF5 through h5py: (write, read)."""
    def write(arrays, folder):
        import h5py
        with h5py.File(folder + "/x.h5", "w", libver="latest") as f:
            for name, a in arrays.items():
                f.create_dataset(name, data=a, chunks=chunks(a.shape, a.itemsize, TILE), **options())
    def read(folder):
        import h5py
        import hdf5plugin  # noqa: F401  (registers zstd)
        with h5py.File(folder + "/x.h5") as f:
            return {name: f[name][...] for name in f}
    return write, read


def h5_deflate(level):
    return h5(lambda: dict(shuffle=True, compression="gzip", compression_opts=level))


def h5_zstd(level):
    def options():
        import hdf5plugin
        return dict(shuffle=True, **hdf5plugin.Zstd(clevel=level))
    return h5(options)


def blosc2(filters, level=9):
    """Blosc2 NDArrays, zstd: (write, read)."""
    def write(arrays, folder):
        import blosc2 as b2
        for name, a in arrays.items():
            named = {"shuffle": [b2.Filter.SHUFFLE], "bitshuffle": [b2.Filter.BITSHUFFLE],
                     "bytedelta": [b2.Filter.SHUFFLE, b2.Filter.BYTEDELTA]}[filters]
            meta = [0] * (len(named) - 1) + [a.itemsize if filters == "bytedelta" else 0]
            params = b2.CParams(codec=b2.Codec.ZSTD, clevel=level, typesize=a.itemsize, filters=named, filters_meta=meta,
                                nthreads=1)
            b2.asarray(a, urlpath=f"{folder}/{name}.b2nd", mode="w", cparams=params,
                       chunks=chunks(a.shape, a.itemsize, LARGE))
    def read(folder):
        import blosc2 as b2
        b2.set_nthreads(1)
        return {f[:-5]: b2.open(f"{folder}/{f}", mode="r")[...] for f in os.listdir(folder)}
    return write, read


def zarr(shuffle):
    """Zarr 3 with Blosc zstd 9: (write, read)."""
    def write(arrays, folder):
        import zarr as z
        group = z.open_group(folder + "/x.zarr", mode="w")
        for name, a in arrays.items():
            codec = z.codecs.BloscCodec(cname="zstd", clevel=9, shuffle=shuffle)
            array = group.create_array(name, shape=a.shape, dtype=a.dtype, compressors=[codec],
                                       chunks=chunks(a.shape, a.itemsize, LARGE))
            array[...] = a
    def read(folder):
        import zarr as z
        group = z.open_group(folder + "/x.zarr", mode="r")
        return {name: group[name][...] for name in group.array_keys()}
    return write, read


def each(extension, encode, decode):
    """One file an array, from functions of bytes; shapes and types are kept for free. Arrays that they refuse go to zstd 19."""
    def write(arrays, folder):
        for name, a in arrays.items():
            blob = encode(a)
            tail = extension if blob is not None else ".zst"
            with open(f"{folder}/{name}{tail}", "wb") as f:
                f.write(zstd_bytes(a) if blob is None else blob)
    def read(folder):
        out = {}
        for f in os.listdir(folder):
            with open(f"{folder}/{f}", "rb") as file:
                blob = file.read()
            out[os.path.splitext(f)[0]] = decode(blob) if f.endswith(extension) else unzstd_bytes(blob)
        return out
    return write, read


def zstd_bytes(a):
    import zstandard
    return zstandard.ZstdCompressor(level=19).compress(a.tobytes())


def unzstd_bytes(blob):
    import numpy as np
    import zstandard
    return np.frombuffer(zstandard.ZstdDecompressor().decompress(blob), "u1")


def in_blocks(compressor, block):
    """Blocks of so many bytes, each compressed by itself, as file systems do. A block that does not shrink is kept as it is.
    `compressor` returns functions that compress a block, and that restore one of a given length."""
    def encode(a):
        compress, _ = compressor()
        raw = memoryview(a.reshape(-1).view("u1"))
        parts = [len(raw).to_bytes(8, "little")]
        for at in range(0, len(raw), block):
            plain, packed = raw[at:at + block], compress(raw[at:at + block])
            kept = packed if len(packed) < len(plain) else plain
            parts += len(kept).to_bytes(4, "little"), kept
        return b"".join(parts)
    def decode(blob):
        import numpy as np
        _, expand = compressor()
        left, at, out = int.from_bytes(blob[:8], "little"), 8, []
        while left:
            plain, packed = min(block, left), int.from_bytes(blob[at:at + 4], "little")
            part = memoryview(blob)[at + 4:at + 4 + packed]
            out.append(part if packed == plain else expand(part, plain))
            at, left = at + 4 + packed, left - plain
        return np.frombuffer(b"".join(out), "u1")
    return each(".blocks", encode, decode)


def zstd_block(level):
    def functions():
        import zstandard
        expander = zstandard.ZstdDecompressor()
        return zstandard.ZstdCompressor(level=level).compress, lambda part, n: expander.decompress(part, max_output_size=n)
    return functions


def lz4_block():
    import lz4.block
    return (lambda part: lz4.block.compress(part, store_size=False),
            lambda part, n: lz4.block.decompress(part, uncompressed_size=n))


def pcodec(level):
    def encode(a):
        from pcodec import ChunkConfig, standalone
        if a.itemsize == 1:
            return None
        return standalone.simple_compress(a.reshape(-1), ChunkConfig(compression_level=level))
    def decode(blob):
        from pcodec import standalone
        return standalone.simple_decompress(blob)
    return each(".pco", encode, decode)


def gridpack():
    """Lattices of floats, Lorenzo, zstd. A file holds shape and type, which its decoder is told."""
    def encode(a):
        import json
        import gridpack as gp
        head = json.dumps([a.shape, a.dtype.str]).encode()
        return len(head).to_bytes(4, "little") + head + gp.encode_array(a) if a.dtype.kind == "f" else None
    def decode(blob):
        import json
        import gridpack as gp
        n = 4 + int.from_bytes(blob[:4], "little")
        shape, dtype = json.loads(blob[4:n])
        return gp.decode_array(blob[n:], shape, dtype)
    return each(".gp", encode, decode)


@functools.cache
def crates():
    """The functions of bench/peers."""
    library = ctypes.CDLL(os.path.abspath(LIBRARY))
    pointer, size, level = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint8
    for name, result, arguments in (
            ("alp_bound", size, [size]), ("spdp_bound", size, [size]),
            *((f"alp_store_f{n}", size, [pointer, size, pointer]) for n in (4, 8)),
            *((f"alp_fetch_f{n}", ctypes.c_bool, [pointer, size, pointer, size]) for n in (4, 8)),
            ("spdp_store", size, [level, pointer, size, pointer]), ("spdp_fetch", ctypes.c_bool, [level, pointer, size, pointer, size])):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def of_crate(extension, takes, bound, store, fetch):
    """A peer of bench/peers. Its file begins with the number of elements and the bytes of each."""
    def encode(a):
        import numpy as np
        if not takes(a):
            return None
        out = np.empty(9 + bound(a), "u1")
        out[:8], out[8] = np.frombuffer(a.size.to_bytes(8, "little"), "u1"), a.itemsize
        return out[:9 + store(a, out.ctypes.data + 9)].data
    def decode(blob):
        import numpy as np
        out = np.empty(int.from_bytes(blob[:8], "little"), f"u{blob[8]}")
        packed = np.frombuffer(blob, "u1", offset=9)
        if not fetch(packed, out):
            raise ValueError(f"a {extension} file that does not fill its array")
        return out
    return each(extension, encode, decode)


def alp():
    """ALP by the crate fastalp takes floats; zstd 19 stores the other arrays."""
    return of_crate(".alp", lambda a: a.dtype.kind == "f", lambda a: crates().alp_bound(a.size),
                    lambda a, to: getattr(crates(), f"alp_store_f{a.itemsize}")(a.ctypes.data, a.size, to),
                    lambda packed, out: getattr(crates(), f"alp_fetch_f{out.itemsize}")(packed.ctypes.data, packed.size, out.ctypes.data, out.size))


def spdp(level):
    """SPDP by the crate spdp_sys, which takes any bytes."""
    return of_crate(".spdp", lambda a: True, lambda a: crates().spdp_bound(a.nbytes),
                    lambda a, to: crates().spdp_store(level, a.ctypes.data, a.nbytes, to),
                    lambda packed, out: crates().spdp_fetch(level, packed.ctypes.data, packed.size, out.ctypes.data, out.nbytes))


def words(a):
    """The elements as unsigned integers of their width, in the machine's order."""
    import numpy as np
    return np.ascontiguousarray(a.astype(a.dtype.newbyteorder("="), copy=False).reshape(-1)).view(f"u{a.itemsize}")


def by_graph(numbers, graph):
    """OpenZL's frame of some words by one graph: a function of the compressor that gives the graph to start with."""
    import openzl.ext as zl
    compressor, context = zl.Compressor(), zl.CCtx()
    compressor.set_parameter(zl.CParam.FormatVersion, zl.MAX_FORMAT_VERSION)
    compressor.select_starting_graph(graph(compressor))
    context.ref_compressor(compressor)
    context.set_parameter(zl.CParam.FormatVersion, zl.MAX_FORMAT_VERSION)
    return context.compress([zl.Input(zl.Type.Numeric, numbers)])


def from_graph(blob):
    import numpy as np
    import openzl.ext as zl
    return np.array(zl.DCtx().decompress(blob)[0].content.as_nparray())


def openzl():
    """OpenZL's generic numeric graph."""
    def encode(a):
        from openzl.ext import graphs
        return by_graph(words(a), lambda c: graphs.Compress()(c))
    return each(".zl", encode, from_graph)


def openzl_graphs(a, level):
    """Graphs for an array: what its nodes for numbers make of it, and each way to code the result."""
    from openzl.ext import graphs, nodes
    lossless = lambda c: graphs.Zstd(compression_level=level)(c)  # noqa: E731
    serial = lambda c: nodes.ConvertNumToSerialLE()(c, lossless(c))  # noqa: E731
    ends = {
        "lz": lambda c: graphs.FieldLz(compression_level=7)(c),
        "bytes": serial,
        "planes": lambda c: nodes.ConvertNumToStructLE()(c, nodes.TransposeSplit()(c, lossless(c))),
        "range": lambda c: nodes.RangePack()(c, serial(c)),
        "generic": lambda c: graphs.Compress()(c),
    }
    delta, zigzag, divide = nodes.DeltaInt(), nodes.Zigzag(), nodes.DivideBy()
    for name, end in ends.items():
        yield name, end
        yield "delta, " + name, lambda c, end=end: delta(c, end(c))
        yield "delta twice, " + name, lambda c, end=end: delta(c, delta(c, end(c)))
        yield "delta, zigzag, " + name, lambda c, end=end: delta(c, zigzag(c, end(c)))
        if a.dtype.kind in "iu":
            yield "divide, " + name, lambda c, end=end: divide(c, end(c))
        if a.itemsize > 1:
            values = lambda c: delta(c, ends["lz"](c))  # noqa: E731
            token = nodes.TokenizeNumeric(sort=True)
            yield "token, " + name, lambda c, end=end, t=token: t(c, values(c), end(c))
            yield "token, delta, " + name, lambda c, end=end, t=token: t(c, values(c), delta(c, end(c)))
    if a.dtype == "f4" or a.dtype == ">f4":
        parts = nodes.Float32Deconstruct()
        yield "parts", lambda c: parts(c, nodes.TransposeSplit()(c, lossless(c)), lossless(c))


def openzl_searched():
    """OpenZL with a graph for each array, in place of its training: of some 30 graphs those three that are smallest with zstd 3, and
    of these the one that is smallest with zstd 19. Training uses other arrays; this uses the array itself, in the peer's favour."""
    def encode(a):
        numbers = words(a)
        sizes = []
        for name, graph in openzl_graphs(a, 3):
            try:
                sizes.append((len(by_graph(numbers, graph)), name))
            except Exception:  # noqa: BLE001, S112  (a graph that does not take these numbers)
                continue
        best = {name for _, name in sorted(sizes)[:3]}
        return min((by_graph(numbers, graph) for name, graph in openzl_graphs(a, 19) if name in best), key=len)
    return each(".zl", encode, from_graph)


def fpzip():
    def encode(a):
        import fpzip as fp
        if a.dtype.kind != "f":
            return None
        best = None
        # The 4-D call, and the leading dimensions folded: whichever is smaller.
        while a.ndim > 4:
            a = a.reshape(-1, *a.shape[2:])
        shapes = [a.shape] + ([(-1, *a.shape[-2:])] if a.ndim == 4 else [])
        for shape in shapes:
            blob = fp.compress(a.reshape(shape), precision=0, order="C")
            best = blob if best is None or len(blob) < len(best) else best
        return best
    def decode(blob):
        import fpzip as fp
        return fp.decompress(blob, order="C")
    return each(".fpz", encode, decode)


def xz():
    import lzma
    return each(".xz", lambda a: lzma.compress(a.tobytes(), preset=9 | lzma.PRESET_EXTREME), lzma.decompress)


def gzip(level):
    import zlib
    return each(".z", lambda a: zlib.compress(a.tobytes(), level), zlib.decompress)


def zstd_long():
    def encode(a):
        import zstandard
        params = zstandard.ZstdCompressionParameters.from_level(19, window_log=27, enable_ldm=True)
        return zstandard.ZstdCompressor(compression_params=params).compress(a.tobytes())
    def decode(blob):
        import zstandard
        return zstandard.ZstdDecompressor(max_window_size=1 << 27).decompress(blob)
    return each(".zst", encode, decode)


# Byte compressors: on whole files they run as commands, on variables here.
BYTES = {"gzip 6": gzip(6), "zstd 19 --long=27": zstd_long(), "xz 9e": xz()}

PEERS = {
    "fpzip": fpzip(),
    "pcodec 8": pcodec(8),
    "hdf5 shuffle+deflate 5": h5_deflate(5),
    "hdf5 shuffle+zstd 9": h5_zstd(9),
    "pcodec 12": pcodec(12),
    "hdf5 shuffle+zstd 19": h5_zstd(19),
    "blosc2 shuffle+zstd 5": blosc2("shuffle", 5),
    "blosc2 bytedelta+zstd 9": blosc2("bytedelta"),
    "blosc2 bitshuffle+zstd 9": blosc2("bitshuffle"),
    "zarr3 shuffle+zstd 9": zarr("shuffle"),
    "gridpack": gridpack(),
    "lz4 in 128 KiB": in_blocks(lz4_block, 128 << 10),
    "lz4 in 1 MiB": in_blocks(lz4_block, 1 << 20),
    "zstd -3 in 128 KiB": in_blocks(zstd_block(3), 128 << 10),
    "zstd -3 in 1 MiB": in_blocks(zstd_block(3), 1 << 20),
    "openzl": openzl(),
    "openzl searched": openzl_searched(),
}

CRATES = {"alp": alp(), "spdp 5": spdp(5)} if os.path.exists(LIBRARY) else {}

ALL = {**PEERS, **CRATES, **BYTES}


def payload_of(folder):
    """Stored bytes of the arrays alone: without HDF5's structure and Zarr's JSON."""
    if os.path.exists(folder + "/x.h5"):
        import h5py
        with h5py.File(folder + "/x.h5") as f:
            return sum(f[name].id.get_storage_size() for name in f)
    return sum(os.path.getsize(os.path.join(d, f))
               for d, _, files in os.walk(folder) for f in files if f != "zarr.json")


def size_of(path):
    """Bytes of a file or of all files in a folder."""
    if not os.path.isdir(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(path) for f in files)


def plain(name):
    """A variable's name as a file's name."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".") or "_"

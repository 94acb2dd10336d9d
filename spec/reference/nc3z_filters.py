"""Filters and codecs of section 4 that HDF5 and NumCodecs have, from the specification alone. ValueError where bytes are not theirs."""

import bz2
import struct
import zlib

import nc3z_pco
from nc3z_bytes import Later, lz4_block, unbitshuffle

np = Later("numpy")

RANGES = {"bz2": {"level": (1, 9)}, "lz4h5": {"blocksize": (0, 0x7E000000)}, "lzf": {}, "packbits": {}, "fletcher32": {},
          "bitround": {"keepbits": (1, 52)}, "bitgroom": {"nsd": (1, 15)}, "granularbr": {"nsd": (1, 15)}}
SAME = ("bitround", "bitgroom", "granularbr", "quantize")
SUMS = ("fletcher32", "crc32", "crc32c", "adler32")
CODECS = ("bz2", "blosc", "lz4h5", "lzf", "pcodec")


def number(value, low, high):
    return type(value) is int and low <= value <= high


def dtype(name):
    kinds = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
    if not isinstance(name, str) or name[:1] not in "<>|" or name[1:] not in kinds:
        return None
    return np.dtype(name)


def known(step):
    """True if the object is one of these filters, with its keys in their ranges."""
    name, keys = step["id"], {key: value for key, value in step.items() if key != "id"}
    if name in RANGES:
        return set(keys) == set(RANGES[name]) and all(number(keys[k], *r) for k, r in RANGES[name].items())
    if name in ("crc32", "crc32c", "adler32"):
        return set(keys) == {"location"} and keys["location"] in ("start", "end")
    if name == "blosc":
        return (set(keys) == {"cname", "clevel", "shuffle", "blocksize", "typesize"}
                and keys["cname"] in ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd") and number(keys["clevel"], 0, 9)
                and number(keys["shuffle"], 0, 2) and number(keys["blocksize"], 0, 1 << 30) and number(keys["typesize"], 1, 1 << 30))
    if name == "bitshuffle":
        level = {"clevel"} if keys.get("cname") == "zstd" else set()
        return (set(keys) == {"elementsize", "blocksize", "cname"} | level and keys["cname"] in ("lz4", "zstd")
                and number(keys["elementsize"], 1, (1 << 32) - 1) and number(keys["blocksize"], 0, (1 << 32) - 1)
                and keys["blocksize"] % 8 == 0 and (not level or number(keys["clevel"], -1 << 31, (1 << 31) - 1)))
    if name == "pcodec":
        one, order = dtype(keys.get("dtype")), keys.get("delta_encoding_order")
        deltas = ("auto", "try_consecutive") if order is not None else ("auto", "none", "try_lookback")
        return (set(keys) == {"level", "mode_spec", "delta_spec", "paging_spec", "delta_encoding_order", "equal_pages_up_to", "dtype"}
                and one is not None and one.itemsize > 1 and number(keys["level"], 0, 12) and keys["mode_spec"] in ("auto", "classic")
                and keys["delta_spec"] in deltas and keys["paging_spec"] == "equal_pages_up_to" and (order is None or number(order, 0, 7))
                and number(keys["equal_pages_up_to"], 1, (1 << 63) - 1))
    if name in ("delta", "fixedscaleoffset", "quantize"):
        more = {"delta": set(), "fixedscaleoffset": {"offset", "scale"}, "quantize": {"digits"}}[name]
        one, two = dtype(keys.get("dtype")), dtype(keys.get("astype"))
        if set(keys) != {"dtype", "astype"} | more or one is None or two is None:
            return False
        if name == "delta":
            return "f" not in (one.kind, two.kind) or (one.kind == two.kind and one.itemsize == two.itemsize)
        if name == "quantize":
            return one == two and one.kind == "f" and number(keys["digits"], 0, 30)
        return all(type(keys[k]) in (int, float) for k in more) and keys["scale"] != 0
    return False


def is_codec(step):
    return step["id"] in CODECS or "cname" in step


def encoded_length(step, length):
    """The encoded length of `length` bytes."""
    name = step["id"]
    if name in SUMS:
        return length + 4
    if name == "packbits":
        return 1 + (length + 7) // 8
    if name in ("delta", "fixedscaleoffset"):
        one, two = np.dtype(step["dtype"]).itemsize, np.dtype(step["astype"]).itemsize
        if length % one:
            raise ValueError(f"{length} bytes are not whole elements of {one}")
        return length // one * two
    return length


def decoded_length(step, length):
    """The inverse of encoded_length, for filters behind a codec; None where it is not known for every length."""
    name = step["id"]
    return length - 4 if name in SUMS else length if name in SAME + ("shuffle", "bitshuffle") else None


def decode(step, data, length, most, unzstd):
    """Undoes one filter. `length` is the decoded length; None if the bytes contain it, and then it is at most `most`."""
    name = step["id"]
    if name in SAME:
        out = data
    elif name in SUMS:
        at_end = name == "fletcher32" or step["location"] == "end"
        told, out = (data[-4:], data[:-4]) if at_end else (data[:4], data[4:])
        found = {"fletcher32": fletcher32, "crc32": zlib.crc32, "crc32c": crc32c, "adler32": zlib.adler32}[name](out)
        told = int.from_bytes(told, "little")
        swapped = found >> 8 & 0xFF00FF | (found & 0xFF00FF) << 8
        if told != found and not (name == "fletcher32" and told == swapped):
            raise ValueError(f"{name} is {found:08x}, not {told:08x}")
    elif name == "packbits":
        if len(data) != 1 + (length + 7) // 8 or data[0] != -length % 8:
            raise ValueError("packbits of another length")
        out = np.unpackbits(np.frombuffer(data, "u1", offset=1))[:length].tobytes()
    elif name == "delta":
        one, two = np.dtype(step["dtype"]), np.dtype(step["astype"])
        values = np.frombuffer(data, two)
        if one.kind == "f":
            with np.errstate(all="ignore"):
                sums = np.cumsum(values, dtype=one.newbyteorder("=")).astype(one)
            sums[1:][np.isnan(sums[1:])] = np.nan           # one bit pattern, whatever the machine makes of it
            out = values[:1].astype(one).tobytes() + sums[1:].tobytes()
        else:
            wide = values.astype(np.int64 if two.kind == "i" else np.uint64).astype(np.uint64)
            out = np.cumsum(wide, dtype=np.uint64).astype(f"=u{one.itemsize}").astype(f"{one.str[0]}u{one.itemsize}").tobytes()
    elif name == "fixedscaleoffset":
        one, two = np.dtype(step["dtype"]), np.dtype(step["astype"])
        wide = np.float32 if two.kind == "f" and two.itemsize == 4 else np.float64
        with np.errstate(all="ignore"):
            values = np.frombuffer(data, two).astype(wide) / wide(step["scale"]) + wide(step["offset"])
        out = converted(values, one)
    elif name == "bz2":
        stream = bz2.BZ2Decompressor()
        try:
            out = stream.decompress(data, (most if length is None else length) + 1)
        except OSError as error:
            raise ValueError(str(error)) from error
        if not stream.eof or stream.unused_data:
            raise ValueError("not exactly one bzip2 stream")
    elif name == "lzf":
        out = lzf(data, most if length is None else length, False)
    elif name == "lz4h5":
        out = lz4h5(data, most if length is None else length)
    elif name == "bitshuffle":
        out = packed_bits(step, data, most if length is None else length, unzstd)
    elif name == "pcodec":
        one = np.dtype(step["dtype"])
        if length is None or length % one.itemsize:
            raise ValueError("pcodec of no whole numbers")
        patterns = nc3z_pco.decode(data, one.str[1:], length // one.itemsize)
        out = np.array(patterns, f"u{one.itemsize}").astype(f"{one.str[0]}u{one.itemsize}").tobytes()
    elif name == "blosc":
        out = blosc(data, most if length is None else length, unzstd)
    if len(out) > most or (length is not None and len(out) != length):
        raise ValueError(f"{name} of {len(out)} bytes")
    return out


def converted(values, to):
    """Numbers as a type: rounded to floats, where what is not a number has one bit pattern; into integers cut towards zero and at the type's ends."""
    if to.kind == "f":
        with np.errstate(all="ignore"):
            out = values.astype(to)
        out[np.isnan(out)] = np.nan
        return out.tobytes()
    low, high = np.iinfo(to).min, np.iinfo(to).max
    cut = [0 if x != x else high if x > high else low if x < low else int(x) for x in values.tolist()]
    return np.array([min(max(x, low), high) for x in cut], to).tobytes()


def fletcher32(data):
    words = np.frombuffer(data + b"\0" * (len(data) % 2), ">u2").astype(object)
    if not len(words):
        return 0
    low = int(sum(words))
    high = int(sum(w * (len(words) - i) for i, w in enumerate(words)))
    fold = lambda n: (n - 1) % 65535 + 1 if n else 0  # noqa: E731
    return fold(high) << 16 | fold(low)


TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def lzf(data, most, is_blosc):
    out, at = bytearray(), 0

    def byte():
        nonlocal at
        at += 1
        if at > len(data):
            raise ValueError("tokens are cut")
        return data[at - 1]

    while at < len(data):
        first = at == 0
        control = byte() & (31 if first and is_blosc else 255)
        if control < 32:
            if at + control + 1 > len(data):
                raise ValueError("literals are cut")
            out += data[at:at + control + 1]
            at += control + 1
        else:
            length = (control >> 5) + 2
            if control >> 5 == 7:
                more = byte()
                length += more
                while is_blosc and more == 255:
                    more = byte()
                    length += more
            back = (control & 31) << 8 | byte()
            if is_blosc and back == 0x1FFF:
                back += byte() << 8
                back += byte()
            back += 1
            if back > len(out) or len(out) + length > most:
                raise ValueError("a match leaves the bytes")
            for _ in range(length):
                out.append(out[-back])
        if len(out) > most:
            raise ValueError("too many bytes")
    return bytes(out)


def front(data, most):
    if len(data) < 12:
        raise ValueError("no header")
    length, block = struct.unpack(">QI", data[:12])
    if length > most:
        raise ValueError(f"{length} bytes, at most {most}")
    return length, block, 12


def lz4h5(data, most):
    length, block, at = front(data, most)
    out = b""
    while len(out) < length:
        part = min(block, length - len(out))
        stored = int.from_bytes(data[at:at + 4], "big")
        body = data[at + 4:at + 4 + stored]
        if not part or len(body) != stored or at + 4 > len(data):
            raise ValueError("blocks are cut")
        out += body if stored == part else lz4_block(body, part)
        at += 4 + stored
    if at != len(data):
        raise ValueError("bytes behind the last block")
    return out


def packed_bits(step, data, most, unzstd):
    size = step["elementsize"]
    length, block, at = front(data, most)
    if not block or block % (8 * size):
        raise ValueError("blocks of no whole groups")
    whole, out = length // (8 * size) * 8 * size, b""
    while len(out) < whole:
        part = min(block, whole - len(out))
        stored = int.from_bytes(data[at:at + 4], "big")
        body = data[at + 4:at + 4 + stored]
        if len(body) != stored or at + 4 > len(data):
            raise ValueError("blocks are cut")
        rows = lz4_block(body, part) if step["cname"] == "lz4" else unzstd(body, part)
        out += unbitshuffle(rows, size, part // size)
        at += 4 + stored
    return out + data[at:]


def blosc(data, most, unzstd):
    if len(data) < 16:
        raise ValueError("no header")
    version, codec_version, flags, size, length, block, frame = struct.unpack("<4B3I", data[:16])
    if version not in (1, 2) or codec_version != 1 or frame != len(data) or not size or length > most or (length and not 0 < block <= length):
        raise ValueError("a header of another frame")
    if not length or flags & 2:
        if len(data) != 16 + length:
            raise ValueError("bytes that are stored as they are, more or fewer")
        return data[16:]
    out = b""
    for n in range(-(-length // block)):
        at, part = struct.unpack("<I", data[16 + 4 * n:20 + 4 * n])[0], min(block, length - n * block)
        split = not flags & 16 and part == block and size <= 16 and block // size >= 128
        each = part // size if split else part
        if split and part % size:
            raise ValueError("a block in splits without whole elements")
        rows = b""
        while len(rows) < part:
            stored = int.from_bytes(data[at:at + 4], "little")
            body = data[at + 4:at + 4 + stored]
            if len(body) != stored or at + 4 > len(data):
                raise ValueError("splits are cut")
            rows += body if stored == each else inner(flags >> 5, body, each, unzstd)
            at += 4 + stored
        count = part // size
        if flags & 1:
            planes = np.frombuffer(rows, "u1", count * size).reshape(size, count)
            rows = planes.T.tobytes() + rows[count * size:]
        elif flags & 4 and count % 8 == 0 and count:
            rows = unbitshuffle(rows[:count * size], size, count) + rows[count * size:]
        out += rows
    return out


def inner(codec, body, length, unzstd):
    if codec == 0:
        out = lzf(body, length, True)
    elif codec == 1:
        out = lz4_block(body, length)
    elif codec == 2:
        out = snappy(body, length)
    elif codec == 3:
        out = zlib.decompress(body)
    elif codec == 4:
        out = unzstd(body, length)
    else:
        raise ValueError("an unknown codec")
    if len(out) != length:
        raise ValueError("a split of another length")
    return out


def snappy(data, length):
    at = next(i for i, b in enumerate(data) if b < 128) + 1
    out = bytearray()
    while at < len(data):
        tag, at = data[at], at + 1
        if tag & 3 == 0:
            n = tag >> 2
            if n >= 60:
                wide = n - 59
                n, at = int.from_bytes(data[at:at + wide], "little"), at + wide
            out += data[at:at + n + 1]
            at += n + 1
            continue
        if tag & 3 == 1:
            n, back, at = (tag >> 2 & 7) + 4, tag >> 5 << 8 | data[at], at + 1
        else:
            wide = 2 if tag & 3 == 2 else 4
            n, back, at = (tag >> 2) + 1, int.from_bytes(data[at:at + wide], "little"), at + wide
        if not 0 < back <= len(out) or len(out) + n > length:
            raise ValueError("a copy leaves the bytes")
        for _ in range(n):
            out.append(out[-back])
    return bytes(out)

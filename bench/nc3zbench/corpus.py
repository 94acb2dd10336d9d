"""The measured files, and their content."""
import hashlib
import os

KINDS = {1: "classic", 2: "64-bit-offset", 5: "cdf5"}


def kind(path):
    """`nccopy -k`'s name of a classic file's format, or None for anything else."""
    try:
        with open(path, "rb") as f:
            magic = f.read(4)
    except OSError:
        return None
    return KINDS.get(magic[3]) if len(magic) == 4 and magic[:3] == b"CDF" else None


def classic_files(paths, least, most):
    """Classic files of `least` to `most` bytes in files and folders, each content once, smallest first."""
    found = []
    for path in paths:
        if os.path.isdir(path):
            for folder, _, names in os.walk(path):
                found += [os.path.join(folder, n) for n in names]
        else:
            found.append(path)
    seen, kept = set(), []
    for path in sorted(found):
        if not os.path.isfile(path) or not least <= os.path.getsize(path) <= most or not kind(path):
            continue
        digest = sha256(path)
        if digest not in seen:
            seen.add(digest)
            kept.append((path, digest))
    return sorted(kept, key=lambda p: os.path.getsize(p[0]))


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def variables(path, least_bytes=0):
    """{name: native-endian array} of a file's variables as stored (no scaling, no masks), text as bytes."""
    import netCDF4
    import numpy as np
    netCDF4.default_encoding = "latin-1"
    arrays = {}
    with netCDF4.Dataset(path) as data:
        data.set_auto_maskandscale(False)
        data.set_auto_chartostring(False)
        for name, variable in data.variables.items():
            if variable.size * variable.dtype.itemsize < least_bytes:
                continue
            array = np.ascontiguousarray(variable[...])
            if array.dtype.kind in "SU":
                array = array.astype("S1").view("u1")
            arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    return arrays


def left_out(path):
    """The xz -9e size of bytes that array peers do not store: that many bytes of the file's beginning, which has the header."""
    import lzma
    stored = sum(a.nbytes for a in variables(path).values() if a.size >= 64)
    with open(path, "rb") as f:
        head = f.read(max(0, os.path.getsize(path) - stored))
    return len(lzma.compress(head, preset=9 | lzma.PRESET_EXTREME)) if head else 0

"""Decompresses zstd frames: with Python's own module (3.14 and later), ``backports.zstd`` or ``zstandard``."""

from __future__ import annotations

import importlib
import io
from typing import Any

from nc3z._errors import CorruptError


def decompress(frame: bytes, nbytes: int, what: str) -> bytes:
    """Returns the content of a frame, which must have ``nbytes`` bytes. No more than that is decompressed."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            module: Any = importlib.import_module(name)
        except ImportError:
            continue
        return _whole(lambda: module.ZstdDecompressor().decompress(frame, nbytes + 1), nbytes, what, module.ZstdError)
    try:
        other: Any = importlib.import_module("zstandard")
    except ImportError:
        raise ImportError(f"{what} is compressed with zstd, which Python has from version 3.14; `pip install zstandard` for this one") from None
    return _whole(lambda: other.ZstdDecompressor().stream_reader(io.BytesIO(frame)).read(nbytes + 1), nbytes, what, other.ZstdError)


def _whole(read: Any, nbytes: int, what: str, error: type[Exception]) -> bytes:
    try:
        found: bytes = read()
    except error as e:
        raise CorruptError(f"{what}: {e}") from None
    if len(found) != nbytes:
        raise CorruptError(f"{what}: it has another length than the stored {nbytes} bytes")
    return found

"""The codec ``nc3z.num`` for numcodecs: Zarr 2, and kerchunk's references (``nc3z refs``)."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numcodecs.abc import Codec
from numcodecs.compat import ensure_bytes, ndarray_copy

from nc3z._errors import CorruptError
from nc3z._num import decode, encode


class Num(Codec):  # type: ignore[misc]
    """The numeric codec of nc3z. The elements' type and the chunk's shape are settings. A payload contains everything else.

    >>> import numpy as np
    >>> codec = Num("<f4", [20, 50])
    >>> field = np.arange(1000, dtype="f4") / 10
    >>> payload = codec.encode(field)
    >>> len(payload) < 400, bool((codec.decode(payload) == field.reshape(20, 50)).all())
    (True, True)
    """

    codec_id = "nc3z.num"

    def __init__(self, dtype: str, shape: Sequence[int], level: str = "default", checksum: bool = False) -> None:
        self.dtype = np.dtype(dtype).str
        self.shape = [int(n) for n in shape]
        self.level = level
        self.checksum = checksum

    def encode(self, buf: Any) -> bytes:
        """Returns the payload of an array, or of its bytes. With ``checksum``, its CRC-32 is appended."""
        array = np.frombuffer(ensure_bytes(buf), self.dtype)
        payload = encode(array, self.shape, self.level)
        return payload + zlib.crc32(payload).to_bytes(4, "little") if self.checksum else payload

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Returns the array, in the byte order of ``dtype``."""
        payload = ensure_bytes(buf)
        if self.checksum:
            payload, stored = payload[:-4], int.from_bytes(payload[-4:], "little")
            if zlib.crc32(payload) != stored:
                raise CorruptError(f"nc3z.num: the chunk's CRC-32 is {zlib.crc32(payload):08x}, it has {stored:08x} on record")
        found = decode(payload, np.dtype(self.dtype), self.shape).astype(self.dtype, copy=False)
        return found if out is None else ndarray_copy(found, out)

    def get_config(self) -> dict[str, Any]:
        """Returns the settings of the codec."""
        settings = {"id": self.codec_id, "dtype": self.dtype, "shape": self.shape, "level": self.level}
        return {**settings, "checksum": True} if self.checksum else settings

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Makes a codec from its settings."""
        return cls(config["dtype"], config["shape"], config.get("level", "default"), config.get("checksum", False))

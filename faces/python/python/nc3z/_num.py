"""Encodes arrays as payloads of ``nc3z.num`` and decodes them: shared by the codecs for other formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nc3z import _nc3z

Array = npt.NDArray[Any]


def _patterns(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"u{dtype.itemsize}")


def encode(array: Array, shape: Sequence[int], level: str, fill_value: Any = None) -> bytes:
    """Returns the payload of an array. ``fill_value`` is the value of missing elements, if there is one."""
    native = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    fill = None
    if fill_value is not None:
        fill = int(np.asarray(fill_value).astype(native.dtype).view(_patterns(native.dtype)))
    patterns = native.reshape(-1).view(_patterns(native.dtype))
    return _nc3z.num_encode(patterns, f"{native.dtype.kind}{native.dtype.itemsize}", list(shape), level, fill)


def decode(payload: bytes, dtype: np.dtype[Any], shape: Sequence[int]) -> Array:
    """Returns the array of a payload, in native byte order."""
    native = dtype.newbyteorder("=")
    patterns = np.zeros(tuple(shape), _patterns(native))
    _nc3z.num_decode(payload, f"{native.kind}{native.itemsize}", list(shape), patterns)
    return patterns.view(native)

"""References to an archive's tiles in the form of Zarr 3, for VirtualiZarr and Icechunk."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nc3z._nc3z import Dataset


def references(
    ds: Dataset, location: str, *, etag: str | None = None, modified: int | None = None
) -> dict[str, Any]:
    """Returns the output of ``nc3z refs --format icechunk``.

    Raises
    ------
    ValueError
        A variable is not stored as Zarr stores arrays, or the file is a classic file.
    """
    found: dict[str, Any] = json.loads(ds._references("icechunk", location, etag, modified))
    return found


def arrays(refs: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], Mapping[str, Any]]]:
    """Yields name, document and chunks of each array."""
    if refs.get("version") != 1 or "documents" not in refs:
        raise ValueError("these are not references of `nc3z refs --format icechunk`, version 1")
    for name, chunks in refs["arrays"].items():
        yield name, refs["documents"][f"{name}/zarr.json"], chunks


def inlined(chunks: Mapping[str, Any]) -> Iterator[tuple[tuple[int, ...], bytes]]:
    """Yields the chunks that are stored in the references themselves, with their indices in the grid."""
    for key, text in chunks["inlined"].items():
        yield tuple(int(n) for n in key.split("/") if n), base64.standard_b64decode(text)

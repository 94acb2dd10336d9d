"""Headers and coordinates of files from their shadow, without opening them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from nc3z._core import Dataset
from nc3z._core import open as open_dataset
from nc3z._errors import Error
from nc3z._fragments import hashed
from nc3z._groups import Array, File, Schema, Schemas
from nc3z._shadows import Statistics


class Described:
    """Makes files of a collection from what a shadow has of them."""

    def __init__(self, schemas: Schemas, known: Callable[[Array], Array]) -> None:
        self._schemas, self._known = schemas, known
        #: By header: the schema, the names of dimensions, and the positions of variables. None where a file must be opened.
        self._heads: dict[bytes, tuple[Schema, list[str], dict[str, int]] | None] = {}

    def file(self, path: str, name: str, statistics: Statistics) -> File | None:
        """Returns the file, or None where it must be opened: it may have changed, or the shadow does not have all coordinates."""
        if statistics.kind == "aggregation" or not statistics.describes(path):
            return None
        token = _token(path, statistics)
        key = hashlib.blake2b(statistics.header, digest_size=16).digest()
        if token is None:
            return None
        if key not in self._heads:
            self._heads[key] = self._head(statistics.header)
        head = self._heads[key]
        if head is None or len(head[1]) != len(statistics.sizes):
            return None
        schema, dimensions, positions = head
        lengths = dict(zip(dimensions, statistics.sizes, strict=True))
        sizes = {short: lengths[stored] for stored, short in schema.used}
        coordinates = {}
        for short, h in schema.heads.items():
            if h.dimensions == (short,):
                stored = statistics.coordinates.get(positions[h.stored], b"")
                if h.is_text or len(stored) != sizes[short] * h.dtype.itemsize:
                    return None
                coordinates[short] = self._known(np.frombuffer(stored, h.dtype.newbyteorder(">")).astype(h.dtype))
        return File(path, name, schema, token, sizes, coordinates)

    def _head(self, header: bytes) -> tuple[Schema, list[str], dict[str, int]] | None:
        try:
            # A file that ends with its header has all metadata.
            dataset: Dataset = open_dataset(header)
        except (Error, OSError, ValueError):
            return None
        with dataset:
            names = list(dataset)
            if dataset.kind == "aggregation" or len(set(names)) != len(names):
                return None
            return self._schemas.of(dataset), list(dataset.dimensions), {name: n for n, name in enumerate(names)}


def _token(path: str, statistics: Statistics) -> bytes | None:
    """Returns what :func:`nc3z._fragments.token` returns for the open file; None where only opening tells."""
    state: tuple[Any, ...]
    if statistics.kind == "archive" and statistics.sha256 is not None:
        state = (statistics.sha256,)
    elif "://" in path:
        return None
    else:
        status = os.stat(path if os.path.exists(path) else path.partition("!/")[0])
        state = (status.st_size, status.st_mtime_ns)
    return hashed(state)

"""Opens the files of a collection when their values are read, and divides selections of joined arrays among them."""

from __future__ import annotations

import hashlib
import itertools
import os
import pickle
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nc3z import _nc3z
from nc3z._catalogs import status_of
from nc3z._core import Dataset
from nc3z._core import open as open_dataset
from nc3z._errors import ReplacedError

#: Files that a process keeps open. Others are opened again, which takes some 0.2 ms each.
_OPEN = 128
#: Files that are looked at side by side, on disk and at URLs.
LOCAL, REMOTE = 4, 32
_cache: OrderedDict[Any, Dataset] = OrderedDict()
#: Bundles that a process keeps open, each with its list of members.
_BUNDLES = 8
_bundles: OrderedDict[Any, _nc3z.Bundle] = OrderedDict()
_lock = threading.Lock()
_bundles_lock = threading.Lock()

Index = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Opening:
    """The options with which files are opened."""

    #: Pickled: a dict cannot be part of a key.
    storage_options: bytes | None = None
    fill_lost: bool = False
    outside: bool = False
    fill_missing: bool = False

    @staticmethod
    def of(storage_options: Mapping[str, Any] | None, fill_lost: bool, outside: bool, fill_missing: bool) -> Opening:
        settings = None if storage_options is None else pickle.dumps(dict(storage_options))
        return Opening(settings, fill_lost, outside, fill_missing)

    def settings(self, path: str) -> dict[str, Any] | None:
        """Returns the settings of the store of a URL."""
        return pickle.loads(self.storage_options) if self.storage_options is not None and "://" in path else None

    def bundle(self, path: str) -> _nc3z.Bundle:
        """Returns an open bundle. Its members then need no further look at its list."""
        key = (os.getpid(), path, self.storage_options)
        with _bundles_lock:
            found = _bundles.pop(key, None)
            if found is None:
                found = _nc3z.Bundle(path, self.settings(path))
                while len(_bundles) >= _BUNDLES:
                    _bundles.popitem(last=False)
            _bundles[key] = found
            return found

    def open(self, path: str, decode: bool = False) -> Dataset:
        """Opens a file."""
        bundle, is_member, member = path.partition("!/")
        # A directory's name may end with an exclamation mark.
        if is_member and not os.path.lexists(path):
            return self.bundle(bundle).open(member, self.fill_lost, self.outside, self.fill_missing, decode)
        return open_dataset(
            path,
            storage_options=self.settings(path),
            fill_lost=self.fill_lost,
            outside=self.outside,
            fill_missing=self.fill_missing,
            decode=decode,
        )


def forget_bundles() -> None:
    """Forgets open bundles: a new collection reads them as they are now."""
    with _bundles_lock:
        _bundles.clear()


def token(dataset: Dataset) -> bytes:
    """Returns a value that changes with the content of a file: with the SHA-256 on record, the tag of its store, or size and time.

    It has 12 bytes, because a graph of Dask has that of each file.
    """
    return hashed(_state(dataset))


def hashed(state: tuple[object, ...]) -> bytes:
    return hashlib.blake2b(repr(state).encode(), digest_size=12).digest()


def _state(dataset: Dataset) -> tuple[object, ...]:
    if dataset.kind == "archive" and dataset.sha256 is not None:
        return (dataset.sha256,)
    if dataset.identity is not None:
        return (dataset.identity,)
    if dataset.path is None or "://" in dataset.path:
        # A member of a bundle in a store.
        return (dataset.original_nbytes, zlib.crc32(dataset.header_bytes))
    status = status_of(dataset.path)
    found: tuple[object, ...] = (status.st_size, status.st_mtime_ns)
    if dataset.kind == "aggregation":
        found += tuple(dataset._fragments(name) for name in dataset)
    return found


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a group, with what they were when the collection was opened."""

    paths: tuple[str, ...]
    tokens: tuple[bytes, ...]
    opening: Opening

    def __reduce__(self) -> tuple[Any, ...]:
        # A million paths are sent with each array to each worker: their beginnings repeat.
        return _unpacked, (zlib.compress(pickle.dumps((self.paths, self.tokens)), 1), self.opening)

    def dataset(self, number: int, decode: bool = False) -> Dataset:
        """Returns an open file. A file that was replaced is an error."""
        path = self.paths[number]
        key = (os.getpid(), path, self.tokens[number], self.opening, decode)
        with _lock:
            found = _cache.get(key)
            if found is not None and not found.closed:
                _cache.move_to_end(key)
                return found
        opened = self.opening.open(path, decode)
        if token(opened) != self.tokens[number]:
            opened.close()
            raise ReplacedError(f"{path}: another file has replaced the one of the collection; open the collection again")
        with _lock:
            _cache[key] = opened
            # Not closed: other threads may be reading. It is closed with its last reference.
            while len(_cache) > _OPEN:
                _cache.popitem(last=False)
        return opened


def _unpacked(packed: bytes, opening: Opening) -> Files:
    paths, tokens = pickle.loads(zlib.decompress(packed))
    return Files(paths, tokens, opening)


def _runs(labels: Index) -> Iterator[tuple[int, slice]]:
    """The runs of equal labels: label and place."""
    cuts = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    for start, stop in itertools.pairwise(cuts):
        yield int(labels[start]), slice(start, stop)


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of a selection that one file has."""

    file: int
    #: Indices in the file, for each dimension.
    local: tuple[Index, ...]
    #: The place among the selected values.
    place: tuple[slice, ...]
    #: The shape of the file's part.
    extent: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """The arrangement of a variable's array: which file has which part."""

    files: Files
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    #: For each dimension the ends of the files' parts along it, or None if every file has all of it.
    ends: tuple[Index | None, ...]
    #: Numbers of files, with an axis for each joined dimension of the variable.
    table: Index
    #: True if the files do not have the first dimension: each file is one element of it.
    stacked: bool = False

    def own(self, piece: Piece) -> tuple[Index, ...]:
        """Returns the key of a piece for the array of its file."""
        return piece.local[1:] if self.stacked else piece.local

    def box(self, tile: Sequence[int]) -> tuple[int, ...]:
        """Returns the shape of a file's tile with all dimensions."""
        return (1, *tile) if self.stacked else tuple(tile)

    def pieces(self, indices: Sequence[Index]) -> Iterator[Piece]:
        """Divides a selection among files."""
        if any(len(chosen) == 0 for chosen in indices):
            return
        axes: list[list[tuple[int, slice, Index]]] = []
        for chosen, ends in zip(indices, self.ends, strict=True):
            if ends is None:
                axes.append([(0, slice(0, len(chosen)), chosen)])
                continue
            part = np.searchsorted(ends, chosen, side="right")
            starts = np.concatenate([[0], ends[:-1]])
            axes.append([(n, place, chosen[place] - starts[n]) for n, place in _runs(part)])
        joined = [axis for axis, ends in enumerate(self.ends) if ends is not None]
        for combination in itertools.product(*axes):
            file = self.table[tuple(combination[axis][0] for axis in joined)]
            extent = tuple(
                length if ends is None else int(ends[c[0]] - (ends[c[0] - 1] if c[0] else 0))
                for c, length, ends in zip(combination, self.shape, self.ends, strict=True)
            )
            yield Piece(int(file), tuple(c[2] for c in combination), tuple(c[1] for c in combination), extent)


def tiles(piece: Piece, tile: Sequence[int]) -> Iterator[tuple[int, Piece]]:
    """Divides a piece among the tiles of its file: the number of each tile, and its piece."""
    counts = [-(-length // t) for length, t in zip(piece.extent, tile, strict=True)]
    axes = [
        [(n, place, local[place]) for n, place in _runs(local // t)]
        for local, t in zip(piece.local, tile, strict=True)
    ]
    for combination in itertools.product(*axes):
        number = 0
        for (n, _, _), count in zip(combination, counts, strict=True):
            number = number * count + n
        place = tuple(
            slice(outer.start + c[1].start, outer.start + c[1].stop) for outer, c in zip(piece.place, combination, strict=True)
        )
        yield number, Piece(piece.file, tuple(c[2] for c in combination), place, piece.extent)

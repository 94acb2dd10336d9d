"""The arrays of a collection: lazy, one for each variable. Each reads only the files, and the tiles, that a selection needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from xarray.core import dtypes

from nc3z._fragments import Index, Joined, Piece, tiles
from nc3z._nc3z import Condition, Form, Head, shown
from nc3z._catalogs import Statistics
from nc3z.xarray import LazyArray

Array = npt.NDArray[Any]
#: Requests to a server at a time.
_REQUESTS = 16
#: A chunk for Dask has about this length: the work on it then takes much longer than its scheduling.
CHUNK_NBYTES = 32 << 20


def outer(key: Iterable[Any], shape: Sequence[int]) -> tuple[list[Index], tuple[Any, ...]]:
    """Returns the indices of a key for each dimension, and the key that removes the dimensions of integers."""
    indices: list[Index] = []
    dropped: list[Any] = []
    for item, length in zip(key, shape, strict=True):
        if isinstance(item, slice):
            indices.append(np.arange(*item.indices(length), dtype=np.int64))
        else:
            array = np.asarray(item, np.int64)
            indices.append(np.where(array < 0, array + length, array).reshape(-1))
        dropped.append(0 if np.ndim(item) == 0 and not isinstance(item, slice) else slice(None))
    return indices, tuple(dropped)


def conformed(form: Form, head: Head, values: Array, what: str) -> Array:
    """Returns stored values of a file in a form. An error begins with ``what``."""
    return of_bytes(form.conform(head, big_endian(values), what), form.dtype).reshape(values.shape)


def big_endian(values: Array) -> bytes:
    return np.ascontiguousarray(values, values.dtype.newbyteorder(">")).tobytes()


def of_bytes(values: bytes, dtype: np.dtype[Any]) -> Array:
    return np.frombuffer(values, dtype.newbyteorder(">"))


def _each(work: Callable[[Piece], None], pieces: Sequence[Piece], joined: Joined) -> None:
    remote = len(pieces) > 1 and any("://" in joined.files.paths[piece.file] for piece in pieces)
    if remote:
        with ThreadPoolExecutor(min(_REQUESTS, len(pieces)), "nc3z-collection") as pool:
            list(pool.map(work, pieces))
    else:
        for piece in pieces:
            work(piece)


class JoinedArray(LazyArray):
    """A variable of many files. If the files store it in different ways, values are converted to ``form``."""

    __slots__ = ("dtype", "form", "joined", "shape")

    def __init__(self, joined: Joined, form: Form | None = None) -> None:
        self.joined, self.shape, self.form = joined, joined.shape, form
        self.dtype = joined.dtype if form is None else form.dtype

    def read(self, key: tuple[Any, ...]) -> Any:
        """Reads an outer selection."""
        indices, dropped = outer(key, self.shape)
        shape = [len(chosen) for chosen in indices]
        # Short text ends with zeros.
        out = np.zeros(shape, self.dtype) if self.dtype.kind == "S" else np.empty(shape, self.dtype)
        _each(lambda piece: self._put(piece, out), list(self.joined.pieces(indices)), self.joined)
        return out[dropped]

    def _put(self, piece: Piece, out: npt.NDArray[Any]) -> None:
        variable = self.joined.files.dataset(piece.file)[self.joined.name]
        if self.form is not None:
            what = f"{shown(self.joined.files.paths[piece.file])}: variable {self.joined.name}"
            out[piece.place] = conformed(self.form, Head.of(variable), np.asarray(variable[self.joined.own(piece)]), what)
            return
        # Also without dimensions a view, not a number.
        place: Any = (*piece.place, ...)
        view = out[place]
        if self.dtype.kind == "S" and variable.ndim and variable.shape[-1] < self.shape[-1]:
            inside = piece.local[-1] < variable.shape[-1]
            piece = replace(piece, local=(*piece.local[:-1], piece.local[-1][inside]))
            if inside.any():
                view[..., inside] = variable[self.joined.own(piece)]
            return
        own = self.joined.own(piece)
        is_one = not self.joined.stacked or len(view) == 1
        if self.joined.stacked:
            view = view[0, ...]
        if is_one and view.flags.c_contiguous and variable.dtype == view.dtype:
            variable.read(own, out=view)
        else:
            out[piece.place] = variable[own]

    def __dask_tokenize__(self) -> tuple[object, ...]:
        j = self.joined
        form = None if self.form is None else repr(self.form.__reduce__())
        return ("nc3z-collection", j.name, j.files.paths, j.files.tokens, j.table.tobytes(), j.shape, j.stacked, form)


class Question:
    """A condition on a variable of many files, with the statistics of their tiles."""

    def __init__(self, condition: Condition, joined: Joined, dimensions: tuple[str, ...], statistics: tuple[Statistics | None, ...]) -> None:
        self.condition, self.joined, self.dimensions = condition, joined, dimensions
        # Only what is needed, since it is sent to other processes.
        self._possible = [
            None if s is None or condition.variable not in s.tiles else condition.possible(s.tiles[condition.variable]) for s in statistics
        ]

    def _tiles(self, file: int) -> tuple[tuple[int, ...] | None, npt.NDArray[np.bool_]]:
        """The shape of a file's tiles, and for each whether it may have such values; one of the whole file if they are not known."""
        known, everything = self._possible[file], np.ones(1, np.bool_)
        if known is None:
            return None, everything
        # A file without such values is not even opened here.
        if not known.any():
            return None, np.zeros(1, np.bool_)
        variable = self.joined.files.dataset(file)[self.joined.name]
        # The shape of a tile if tiles are boxes; the number of boxes then is that of the tiles.
        tile = variable.chunk_shape(1)
        boxes = prod(-(-length // t) for length, t in zip(variable.shape, tile, strict=True))
        return (self.joined.box(tile), known) if boxes == len(known) else (None, everything)

    def matches(self, indices: Sequence[Index]) -> npt.NDArray[np.bool_]:
        """Returns where selected values meet the condition. Reads only tiles that may have such values."""
        found = np.zeros([len(chosen) for chosen in indices], np.bool_)
        work: list[Piece] = []
        for piece in self.joined.pieces(indices):
            tile, possible = self._tiles(piece.file)
            if possible.all():
                work.append(piece)
            elif tile is not None and possible.any():
                work.extend(part for number, part in tiles(piece, tile) if possible[number])

        def one(piece: Piece) -> None:
            values = self.joined.files.dataset(piece.file, decode=True)[self.joined.name][self.joined.own(piece)]
            found[piece.place] = self.condition.holds(np.asarray(np.ma.getdata(values))) & ~np.ma.getmaskarray(values)

        _each(one, work, self.joined)
        return found


class WhereArray(LazyArray):
    """The values of a variable where all conditions are met, missing values elsewhere. Files and tiles without such values are not
    read.
    """

    __slots__ = ("dimensions", "dtype", "fill", "inner", "joined", "questions", "shape")

    def __init__(self, inner: xr.Variable, dimensions: tuple[str, ...], joined: Joined, questions: tuple[Question, ...]) -> None:
        self.inner, self.dimensions, self.joined, self.questions = inner, dimensions, joined, questions
        self.shape = inner.shape
        self.dtype, self.fill = dtypes.maybe_promote(inner.dtype)

    def read(self, key: tuple[Any, ...]) -> Any:
        """Reads an outer selection."""
        indices, dropped = outer(key, self.shape)
        out = np.full([len(chosen) for chosen in indices], self.fill, self.dtype)
        found = np.ones((1,) * len(indices), np.bool_)
        for question in self.questions:
            own = [self.dimensions.index(d) for d in question.dimensions]
            mask = question.matches([indices[axis] for axis in own])
            order = np.argsort(own)
            shape = [len(chosen) if axis in own else 1 for axis, chosen in enumerate(indices)]
            found = found & mask.transpose(order).reshape(shape)
            if not found.any():
                return out[dropped]
        found = np.broadcast_to(found, out.shape)
        # The joined array of text has one dimension more, of the characters.
        more = [np.arange(length) for length in self.joined.shape[len(indices) :]]
        for whole_piece in self.joined.pieces([*indices, *more]):
            piece = replace(whole_piece, **{n: getattr(whole_piece, n)[: len(indices)] for n in ("local", "place", "extent")})
            part = found[piece.place]
            if not part.any():
                continue
            variable = self.joined.files.dataset(piece.file)[self.joined.name]
            tile = self.joined.box(variable.chunk_shape(1))[: len(self.shape)]
            whole = bool(part.all()) or not all(t > 0 for t in tile)
            parts = [piece] if whole else [p for _, p in tiles(piece, tile)]
            for block in parts:
                mask = found[block.place]
                if mask.any():
                    absolute = tuple(chosen[place] for chosen, place in zip(indices, block.place, strict=True))
                    values = self.inner[tuple(absolute)].values
                    out[block.place] = np.where(mask, values, self.fill)
        return out[dropped]

    def __dask_tokenize__(self) -> tuple[object, ...]:
        j = self.joined
        return ("nc3z-where", j.name, j.files.paths, j.files.tokens, j.table.tobytes(), tuple(str(q.condition) for q in self.questions))


def preferred_chunks(joined: Joined, chunk: Sequence[int]) -> tuple[int | tuple[int, ...], ...]:
    """Returns lengths of chunks that consist of whole files, or of whole tiles of one file.

    ``chunk`` is the shape of a box of tiles in one of the files.
    """
    found: list[int | tuple[int, ...]] = []
    lengths = [
        np.array([length]) if ends is None else np.diff(np.concatenate([[0], ends]))
        for length, ends in zip(joined.shape, joined.ends, strict=True)
    ]
    whole = all(c >= n.max() for c, n in zip(chunk, lengths, strict=True))
    nbytes = joined.dtype.itemsize * prod(int(n.max()) for n in lengths)
    times = max(1, CHUNK_NBYTES // max(nbytes, 1))
    for axis, (ends, own) in enumerate(zip(joined.ends, lengths, strict=True)):
        if ends is None:
            found.append(max(1, min(int(chunk[axis]), joined.shape[axis])))
        elif whole:
            # Consecutive files become one chunk, along the first joined dimension first.
            groups = [own[at : at + times] for at in range(0, len(own), times)]
            found.append(tuple(int(group.sum()) for group in groups))
            times = max(1, times // len(own))
        else:
            step = int(chunk[axis])
            found.append(tuple(min(step, int(n) - at) for n in own for at in range(0, int(n), step)))
    return tuple(found)

"""Converts keys of an edited variable to the editor's selections: a grid, boxes at points, or a mask."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nc3z._indexing import _expand, _line

Array = npt.NDArray[Any]
#: Start, count and stride along a dimension, or ascending indices.
Pick = tuple[int, int, int] | npt.NDArray[np.uint64]
Picks = list[Pick] | tuple[npt.NDArray[np.uint64], list[int], list[int]] | npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Selected:
    """The selection of a key."""

    #: The selection in the editor's form.
    picks: Picks
    #: The shape of the values in the editor's order, and in NumPy's.
    full: tuple[int, ...]
    shape: tuple[int, ...]
    #: Axes of ``full`` that are read backwards.
    flipped: tuple[int, ...] = ()
    #: For axes of lists that do not ascend: when reading, the position of each index of the list among the
    #: indices that are read; when writing, the last position in the list of each index that is written.
    inverse: dict[int, Array] = field(default_factory=dict)
    places: dict[int, Array] = field(default_factory=dict)
    #: The lengths that the dimensions must have.
    lengths: tuple[int, ...] = ()
    #: True if a single value is returned as a scalar.
    scalar: bool = False

    def from_read(self, values: Array) -> Array:
        """Rearranges values that were read to NumPy's shape."""
        found = values.reshape(self.full)
        if self.flipped:
            found = np.flip(found, self.flipped)
        for axis, inverse in self.inverse.items():
            found = np.take(found, inverse, axis)
        return found.reshape(self.shape)

    def to_write(self, values: Array) -> Array:
        """Rearranges values for writing. If an index occurs twice, its last value is kept."""
        lens = list(self.full)
        for axis, inverse in self.inverse.items():
            lens[axis] = len(inverse)
        wanted = np.broadcast_to(values, self.shape).reshape(lens)
        for axis, places in self.places.items():
            wanted = np.take(wanted, places, axis)
        return np.flip(wanted, self.flipped) if self.flipped else wanted

    def parts(self, most: int) -> list[tuple[Selected, slice]]:
        """Parts along the first axis with about ``most`` values each, and the slice of :meth:`to_write` for each."""
        rows = self.full[0] if self.full else 1
        each = max(1, most // max(1, int(np.prod(self.full[1:]))))
        if rows <= each or not isinstance(self.picks, list):
            return [(self, slice(None))]
        first, *others = self.picks
        found = []
        for at in range(0, rows, each):
            n = min(each, rows - at)
            pick = (first[0] + at * first[2], n, first[2]) if isinstance(first, tuple) else first[at : at + n]
            found.append((replace(self, picks=[pick, *others], full=(n, *self.full[1:])), slice(at, at + n)))
        return found


def _integer(item: Any, name: str) -> int:
    """Returns an index. The item must be an integer: other numbers are not rounded."""
    if isinstance(item, bool | np.bool_) or getattr(item, "dtype", None) == bool:
        raise IndexError(f"dimension {name}: a single truth value is not an index")
    try:
        return operator.index(item)
    except TypeError:
        kind = type(item).__name__
        raise TypeError(f"dimension {name}: an index is an integer, a slice, a list or a mask, not {kind}") from None


def _outside(index: int, name: str, length: int) -> IndexError:
    return IndexError(f"index {index} is outside dimension {name} of length {length}")


def _list(item: Any, name: str, length: int, can_grow: bool) -> npt.NDArray[np.int64]:
    """Converts a list, an array or a mask to indices from 0."""
    array = np.asarray(item)
    if array.dtype == bool:
        if array.shape != (length,):
            raise IndexError(f"dimension {name}: a mask of shape {array.shape} for {length} indices")
        return np.flatnonzero(array).astype(np.int64)
    if array.size == 0:
        return np.zeros(array.shape, np.int64)
    if array.dtype.kind not in "iu":
        raise IndexError(f"dimension {name}: an index of type {array.dtype}, not integers or a mask")
    wrong = (array < -length) | ((array >= length) & (not can_grow))
    if wrong.any():
        raise _outside(int(array[wrong].flat[0]), name, length)
    numbers = array.astype(np.int64)
    return np.where(numbers < 0, numbers + length, numbers)


def is_list(item: Any) -> bool:
    """Returns whether an item selects several indices one by one."""
    return isinstance(item, list | tuple | range) or np.ndim(item) > 0


def is_mask(key: Any) -> bool:
    """Returns whether a key is a mask of several dimensions."""
    return not isinstance(key, tuple) and getattr(key, "dtype", None) == bool and np.ndim(key) > 1


def grid(key: Any, names: Sequence[str], shape: Sequence[int], grows: Callable[[str], bool]) -> Selected:
    """Selects the elements at the picks of all dimensions. If a dimension ``grows``, indices may exceed its length."""
    picks: list[Pick] = []
    full, kept, flipped, lengths = [], [], [], []
    inverse: dict[int, Array] = {}
    places: dict[int, Array] = {}
    for dim, (item, name, length) in enumerate(zip(_expand(key, len(shape)), names, shape, strict=True)):
        can_grow = grows(name)
        if isinstance(item, slice):
            if can_grow and item.stop is not None and (item.step is None or operator.index(item.step) > 0):
                length = max(length, operator.index(item.stop))
            start, count, step = _line(item, length)
            if step < 0:
                start, step = start + (count - 1) * step, -step
                flipped.append(dim)
            picks.append((start if count else 0, count, step))
            end = start + (count - 1) * step + 1 if count else 0
            kept.append(count)
        elif is_list(item):
            numbers = _list(item, name, length, can_grow)
            if numbers.ndim != 1:
                raise IndexError(f"dimension {name}: a list of {numbers.ndim} dimensions; .vindex takes those")
            kept.append(len(numbers))
            if (np.diff(numbers) <= 0).any():
                numbers, inverse[dim] = np.unique(numbers, return_inverse=True)
                places[dim] = np.zeros(len(numbers), np.int64)
                places[dim][inverse[dim]] = np.arange(len(inverse[dim]))
            count, end = len(numbers), int(numbers[-1]) + 1 if len(numbers) else 0
            picks.append(np.ascontiguousarray(numbers, np.uint64))
        else:
            index = _integer(item, name)
            if index < -length or (index >= length and not can_grow):
                raise _outside(index, name, length)
            index = index + length if index < 0 else index
            picks.append((index, 1, 1))
            count, end = 1, index + 1
        full.append(count)
        lengths.append(max(end, shape[dim]))
    scalar = not kept and key is not Ellipsis and not (isinstance(key, tuple) and any(k is Ellipsis for k in key))
    return Selected(picks, tuple(full), tuple(kept), tuple(flipped), inverse, places, tuple(lengths), scalar)


def mask(key: Any, names: Sequence[str], shape: Sequence[int]) -> Selected:
    """Selects the elements where a mask is true. A mask with fewer dimensions than the variable applies to its first
    dimensions.
    """
    array = np.asarray(key)
    if array.shape != tuple(shape[: array.ndim]):
        raise IndexError(f"a mask of shape {array.shape} for a variable of shape {tuple(shape)}")
    if array.ndim < len(shape):
        return points(tuple(np.nonzero(array)), names, shape)
    count = int(np.count_nonzero(array))
    return Selected(np.ascontiguousarray(array).reshape(-1), (count,), (count,), lengths=tuple(shape))


def points(key: Any, names: Sequence[str], shape: Sequence[int]) -> Selected:
    """Selects points. Their dimensions come first in the values, followed by those of slices."""
    items = _expand(key, len(shape))
    dims = [dim for dim, item in enumerate(items) if not isinstance(item, slice)]
    if not dims:
        return grid(key, names, shape, lambda name: False)
    lists = [_list(items[dim] if is_list(items[dim]) else _integer(items[dim], names[dim]), names[dim], shape[dim], False) for dim in dims]
    found = np.broadcast_arrays(*lists)
    starts = np.zeros((found[0].size, len(shape)), np.uint64)
    count, stride, flipped, lens = [1] * len(shape), [1] * len(shape), [], []
    for dim, (item, length) in enumerate(zip(items, shape, strict=True)):
        if dim in dims:
            starts[:, dim] = found[dims.index(dim)].ravel()
            continue
        start, count[dim], stride[dim] = _line(item, length)
        if stride[dim] < 0:
            start, stride[dim] = start + (count[dim] - 1) * stride[dim], -stride[dim]
            flipped.append(dim + 1)
        starts[:, dim] = start if count[dim] else 0
        lens.append(count[dim])
    full = (found[0].size, *count)
    return Selected((starts, count, stride), full, (*found[0].shape, *lens), tuple(flipped), lengths=tuple(shape))

"""Reads lists and points of indices as hyperslabs."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from nc3z._nc3z import Variable

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

#: A list is read as the range that it spans if the range is at most ``_DENSE`` times as long as the list.
_DENSE = 8
#: The maximal number of ranges that lists are read as: one for each combination of their parts.
_PARTS = 256
#: The number of values of a mask that are processed at once.
_MASKED = 1 << 22


def _expand(key: Any, rank: int) -> list[Any]:
    """Expands a key to one item for each dimension."""
    items = list(key) if isinstance(key, tuple) else [key]
    dots = [n for n, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can have one ellipsis ('...')")
    if dots:
        missing = rank - (len(items) - 1)
        items[dots[0] : dots[0] + 1] = [slice(None)] * max(missing, 0)
    items += [slice(None)] * (rank - len(items))
    if len(items) > rank:
        raise IndexError(f"too many indices: the variable has {rank} dimensions")
    return items


def _numbers(item: Any, dim: int, length: int) -> Indices:
    """Converts a list, an array or a mask to checked indices from 0."""
    array = np.asarray(item)
    if array.dtype == bool:
        if array.shape != (length,):
            raise IndexError(f"dimension {dim}: a mask of shape {array.shape} for {length} indices")
        return np.flatnonzero(array).astype(np.int64)
    if array.size == 0:
        return np.zeros(array.shape, np.int64)
    if array.dtype.kind not in "iu":
        raise IndexError(f"dimension {dim}: an index of type {array.dtype}, not integers or a mask")
    numbers = array.astype(np.int64)
    wrong = (numbers < -length) | (numbers >= length)
    if wrong.any():
        first = numbers[wrong].flat[0]
        raise IndexError(f"index {first} is outside dimension {dim} of length {length}")
    return np.where(numbers < 0, numbers + length, numbers)


def _line(item: slice, length: int) -> tuple[int, int, int]:
    """Returns start, count and stride of a slice."""
    indices = range(*item.indices(length))
    return (indices.start if len(indices) else 0), len(indices), indices.step


def _read_points(
    variable: Variable, starts: Indices, count: list[int], stride: list[int], shape: tuple[int, ...]
) -> Array:
    """Reads the boxes at ``starts``, each into one row of the result."""
    is_text = variable.dtype == np.dtype("S1")
    out: Array = np.zeros(shape, np.uint8 if is_text else variable.dtype)
    if out.size:
        variable._read_points(np.ascontiguousarray(starts, np.uint64), count, stride, out)
    return out.view("S1") if is_text else out


class _Stored:
    """A variable of a decoding dataset, read as stored."""

    __slots__ = ("_read_points", "_variable", "dtype", "shape")

    def __init__(self, variable: Variable) -> None:
        self._variable, self._read_points, self.shape = variable, variable._read_points, variable.shape
        self.dtype = np.dtype(variable._stored_type)

    def __getitem__(self, key: Any) -> Array:
        return self._variable._read_stored(key)

    def chunk_shape(self, nbytes: int) -> tuple[int, ...]:
        return self._variable.chunk_shape(nbytes)


def _stored(variable: Variable) -> Any:
    """Returns the variable from which stored values are gathered."""
    return _Stored(variable) if variable._decodes else variable


def _given(variable: Variable, found: Array) -> Array:
    """Returns gathered values, decoded where the dataset decodes."""
    if not variable._decodes:
        return found
    return variable._decode(found.astype(found.dtype.newbyteorder(">")).tobytes(), list(found.shape))


class _Indexer:
    """An object that is indexed in place of a variable."""

    __slots__ = ("_decoded", "_variable")

    def __init__(self, variable: Variable) -> None:
        self._decoded, self._variable = variable, _stored(variable)


def by_lists(variable: Variable, key: Any) -> Array:
    """Reads ``variable[key]`` with lists or masks, each along its own dimension, as in netCDF4-python. A mask of several
    dimensions selects the elements where it is true.
    """
    if not isinstance(key, tuple) and np.ndim(key) > 1 and np.asarray(key).dtype == bool:
        return _given(variable, _by_mask(_stored(variable), np.asarray(key)))
    return OIndex(variable)[key]


def _by_mask(variable: Variable, mask: npt.NDArray[np.bool_]) -> Array:
    """Reads a number of rows of the first dimension at a time, and of these the box that contains the true elements of the
    mask.
    """
    shape = variable.shape
    if mask.shape != shape[: mask.ndim]:
        raise IndexError(f"a mask of shape {mask.shape} for a variable of shape {shape}")
    row = int(np.prod(shape[1:]))
    rows = max(variable.chunk_shape(1)[0], _MASKED // max(row, 1), 1)
    found: list[Array] = [np.zeros((0, *shape[mask.ndim :]), variable.dtype)]
    for first in range(0, shape[0], rows):
        part = mask[first : first + rows]
        hit = [np.flatnonzero(part.any(axis=tuple(d for d in range(part.ndim) if d != dim))) for dim in range(part.ndim)]
        if hit[0].size:
            box = tuple(slice(int(n[0]), int(n[-1]) + 1) for n in hit)
            read = np.asarray(variable[(slice(first + box[0].start, first + box[0].stop), *box[1:])])
            found.append(read[part[box]])
    return np.concatenate(found)


def _clusters(numbers: Indices, tile: int) -> list[slice]:
    """Splits a list of ascending indices where the distance of two indices contains whole tiles."""
    ends = np.flatnonzero(np.diff(numbers // tile) > 1) + 1
    return [slice(int(a), int(b)) for a, b in zip([0, *ends], [*ends, len(numbers)], strict=True)]


class OIndex(_Indexer):
    """Reads ``variable.oindex[...]``: indices along each dimension independently."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Array:
        """Returns an array with the lengths of the lists and slices, in the order of the dimensions."""
        return _given(self._decoded, self._gather(key))

    def _gather(self, key: Any) -> Array:
        variable, shape = self._variable, self._variable.shape
        items = _expand(key, len(shape))
        basic: list[Any] = []  # what is read: integers, slices, and in the place of lists their indices, ascending
        lens: list[int] = []
        lists: dict[int, Indices] = {}  # by dimension
        inverse: dict[int, Indices] = {}  # by axis of the result, where a list does not ascend
        for dim, (item, length) in enumerate(zip(items, shape, strict=True)):
            if isinstance(item, slice):
                basic.append(item)
                lens.append(_line(item, length)[1])
                continue
            if not isinstance(item, (list, tuple, range)) and np.ndim(item) == 0:
                if isinstance(item, (bool, np.bool_)):
                    raise IndexError(f"dimension {dim}: a single truth value is not an index")
                basic.append(int(_numbers(item, dim, length)))
                continue
            numbers = _numbers(item, dim, length)
            if numbers.ndim != 1:
                raise IndexError(f"dimension {dim}: a list of {numbers.ndim} dimensions; .vindex takes those")
            if (np.diff(numbers) <= 0).any():
                numbers, inverse[len(lens)] = np.unique(numbers, return_inverse=True)
            lists[dim] = numbers
            basic.append(numbers)
            lens.append(len(numbers))
        if not lists:
            return np.asarray(variable[tuple(basic)])
        if 0 in lens:
            result: Array = np.zeros(lens, variable.dtype)
        else:
            parts = self._parts(lists)
            result = self._scattered(basic, lists) if parts is None else self._in_parts(basic, lens, parts)
        for axis, places in inverse.items():
            result = np.take(result, places, axis=axis)
        return result

    def _parts(self, lists: dict[int, Indices]) -> dict[int, list[slice]] | None:
        """Returns the parts of each list that are read as the range that they span. None if there are too many ranges, or the
        lists use too few of their indices.
        """
        tile = self._variable.chunk_shape(1)
        parts = {dim: _clusters(numbers, tile[dim]) for dim, numbers in lists.items()}
        spans = {dim: sum(int(lists[dim][p.stop - 1] - lists[dim][p.start]) + 1 for p in parts[dim]) for dim in lists}
        if any(spans[dim] > _DENSE * len(lists[dim]) for dim in lists) or np.prod([len(p) for p in parts.values()]) > _PARTS:
            return None
        return parts

    def _in_parts(self, basic: list[Any], lens: list[int], parts: dict[int, list[slice]]) -> Array:
        result: Array = np.empty(lens, self._variable.dtype)
        for part in product(*parts.values()):
            chosen = dict(zip(parts, part, strict=True))
            read: list[Any] = []  # the range of each dimension
            taken: list[Any] = []  # what is taken of it, and where it goes
            place: list[slice] = []
            for dim, item in enumerate(basic):
                if dim in chosen:
                    numbers = item[chosen[dim]]
                    low, high = int(numbers[0]), int(numbers[-1])
                    read.append(slice(low, high + 1))
                    taken.append(None if high - low + 1 == len(numbers) else numbers - low)
                    place.append(chosen[dim])
                else:
                    read.append(item)
                    if isinstance(item, slice):
                        taken.append(None)
                        place.append(slice(None))
            found = np.asarray(self._variable[tuple(read)])
            for axis, numbers in enumerate(taken):
                if numbers is not None:
                    found = np.take(found, numbers, axis=axis)
            result[tuple(place)] = found
        return result

    def _scattered(self, basic: list[Any], scattered: dict[int, Indices]) -> Array:
        variable = self._variable
        lists = np.meshgrid(*scattered.values(), indexing="ij")
        points = lists[0].size
        starts = np.zeros((points, len(basic)), np.int64)
        count, stride = [1] * len(basic), [1] * len(basic)
        for numbers, dim in zip(lists, scattered, strict=True):
            starts[:, dim] = numbers.ravel()
        kept: list[int] = []  # dimensions of the result that are slices
        for dim, (item, length) in enumerate(zip(basic, variable.shape, strict=True)):
            if dim in scattered:
                continue
            if isinstance(item, slice):
                starts[:, dim], count[dim], stride[dim] = _line(item, length)
                kept.append(dim)
            else:
                starts[:, dim] = item
        found = _read_points(variable, starts, count, stride, (points, *(count[d] for d in kept)))
        found = found.reshape([n.size for n in scattered.values()] + [count[d] for d in kept])
        # The dimensions in the variable's order.
        return found.transpose(np.argsort([*scattered, *kept]))


class VIndex(_Indexer):
    """Reads ``variable.vindex[...]``: points. Their dimensions come first in the result."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Array:
        """Returns an array with the lists' common shape, followed by the lengths of the slices."""
        return _given(self._decoded, self._gather(key))

    def _gather(self, key: Any) -> Array:
        variable, shape = self._variable, self._variable.shape
        items = _expand(key, len(shape))
        dims = [dim for dim, item in enumerate(items) if not isinstance(item, slice)]
        if not dims:
            return np.asarray(variable[tuple(items)])
        found = np.broadcast_arrays(*(_numbers(items[dim], dim, shape[dim]) for dim in dims))
        points = found[0].shape
        size = int(np.prod(points))
        starts = np.zeros((size, len(shape)), np.int64)
        count, stride = [1] * len(shape), [1] * len(shape)
        for numbers, dim in zip(found, dims, strict=True):
            starts[:, dim] = numbers.ravel()
        kept = [dim for dim in range(len(shape)) if dim not in dims]
        for dim in kept:
            starts[:, dim], count[dim], stride[dim] = _line(items[dim], shape[dim])
        lengths = tuple(count[d] for d in kept)
        return _read_points(variable, starts, count, stride, (size, *lengths)).reshape(points + lengths)

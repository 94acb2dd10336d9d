"""Lists and points as indices, made of the boxes that the reader knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from nc3z._nc3z import Variable

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

#: A list is read as the range that it spans where it holds at least one index in so many of it.
_DENSE = 8


def _expand(key: Any, rank: int) -> list[Any]:
    """One item for each dimension."""
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
    """A list, an array or a mask as indices from 0, checked."""
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
    """Start, count and stride of a slice."""
    indices = range(*item.indices(length))
    return (indices.start if len(indices) else 0), len(indices), indices.step


def _read_points(
    variable: Variable, starts: Indices, count: list[int], stride: list[int], shape: tuple[int, ...]
) -> Array:
    """Boxes at ``starts``, one row of the result each."""
    is_text = variable.dtype == np.dtype("S1")
    out: Array = np.zeros(shape, np.uint8 if is_text else variable.dtype)
    if out.size:
        variable._read_points(np.ascontiguousarray(starts, np.uint64), count, stride, out)
    return out.view("S1") if is_text else out


class _Indexer:
    """Something that is indexed in place of a variable."""

    __slots__ = ("_variable",)

    def __init__(self, variable: Variable) -> None:
        self._variable = variable


class OIndex(_Indexer):
    """Reads ``variable.oindex[...]``: each dimension's indices apart from the others'."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Array:
        """An array of the lengths of the lists and slices, in the order of the dimensions."""
        variable, shape = self._variable, self._variable.shape
        items = _expand(key, len(shape))
        basic: list[Any] = []  # what is read
        takes: list[tuple[int, Indices]] = []  # what is taken of it afterwards: axis of the result, indices
        scattered: dict[int, Indices] = {}  # lists that are read index by index
        axis = 0
        for dim, (item, length) in enumerate(zip(items, shape, strict=True)):
            if isinstance(item, slice):
                basic.append(item)
                axis += 1
                continue
            if not isinstance(item, (list, tuple, range)) and np.ndim(item) == 0:
                if isinstance(item, (bool, np.bool_)):
                    raise IndexError(f"dimension {dim}: a single truth value is no index")
                basic.append(int(_numbers(item, dim, length)))
                continue
            numbers = _numbers(item, dim, length)
            if numbers.ndim != 1:
                raise IndexError(f"dimension {dim}: a list of {numbers.ndim} dimensions; .vindex takes those")
            low, high = (int(numbers.min()), int(numbers.max())) if numbers.size else (0, -1)
            if high - low < _DENSE * max(numbers.size, 1):
                basic.append(slice(low, high + 1))
                if not np.array_equal(numbers, np.arange(low, high + 1)):
                    takes.append((axis, numbers - low))
            else:
                scattered[dim] = numbers
                basic.append(slice(0, 1))
            axis += 1
        result = self._scattered(basic, scattered) if scattered else np.asarray(variable[tuple(basic)])
        for at, numbers in takes:
            result = np.take(result, numbers, axis=at)
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
    """Reads ``variable.vindex[...]``: points, whose dimensions come first in the result."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Array:
        """An array of the lists' common shape, then the slices' lengths."""
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

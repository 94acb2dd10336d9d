"""Editing an archive: what ``nc3z.open(path, "r+")`` gives."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nc3z import _nc3z
from nc3z._core import Cancel, Source
from nc3z._core import open as open_dataset
from nc3z._indexing import _expand, _line
from nc3z._operations import Path, Progress
from nc3z._versions import Committed, when

Array = npt.NDArray[Any]
#: Start, count and stride of a hyperslab.
_Box = tuple[list[int], list[int], list[int]]

#: Types of classic netCDF, and NumPy's.
_DTYPES = {
    "byte": "i1", "char": "S1", "short": "i2", "int": "i4", "float": "f4", "double": "f8",
    "ubyte": "u1", "ushort": "u2", "uint": "u4", "int64": "i8", "uint64": "u8",
}  # fmt: skip
_TYPES = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}
#: Attributes whose numbers have the variable's type.
_OF_VARIABLE = {"_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"}


def _type_of(dtype: Any) -> str:
    """The type of classic netCDF for a dtype."""
    wanted = np.dtype(dtype)
    name = "char" if wanted.kind in "SU" else _TYPES.get(wanted.newbyteorder("="))
    if name is None:
        raise TypeError(f"{wanted} is no type of classic netCDF: those are {', '.join(map(str, _TYPES))}")
    return name


def _fitting(value: Any, dtype: np.dtype[Any], fill: Any = None) -> Array:
    """Values as the dtype; an error where numbers would not be the same."""
    if isinstance(value, np.ma.MaskedArray):
        value = value.filled(fill) if fill is not None else value.filled()
    array = np.asarray(value)
    if dtype.kind == "S":
        if array.dtype.kind == "U":
            array = np.char.encode(array, "utf-8")
        if array.dtype.kind == "S" and array.dtype.itemsize > 1:
            # Strings as characters, padded with zeros: one more dimension.
            shape = (*array.shape, array.dtype.itemsize)
            array = np.ascontiguousarray(array).view("S1").reshape(shape)
        if array.dtype.kind != "S":
            raise TypeError(f"values of type {array.dtype} for a variable of text")
        return array.astype("S1")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"values of type {array.dtype} for a variable of type {dtype}")
    with np.errstate(all="ignore"):
        made = array.astype(dtype)
        same = dtype.kind == "f" or np.array_equal(made.astype(array.dtype), array)
    if not same:
        raise ValueError(f"some values of type {array.dtype} are none of type {dtype}")
    return made


class Attributes(MutableMapping[str, Any]):
    """Attributes by name, of a variable or of the file."""

    def __init__(self, edit: _nc3z.Edit, owner: str | None, dtype: np.dtype[Any] | None = None) -> None:
        self._edit, self._owner, self._dtype = edit, owner, dtype

    def __getitem__(self, name: str) -> Any:
        return self._edit.attributes(self._owner)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._edit.attributes(self._owner))

    def __len__(self) -> int:
        return len(self._edit.attributes(self._owner))

    def __setitem__(self, name: str, value: Any) -> None:
        if isinstance(value, str | bytes):
            values, kind = (value.encode() if isinstance(value, str) else value), "char"
        else:
            array = np.atleast_1d(np.asarray(value))
            if array.ndim != 1:
                raise TypeError(f"attribute {name}: an attribute is a text, a number or a list of numbers")
            if self._dtype is not None and self._dtype.kind != "S" and name in _OF_VARIABLE:
                array = _fitting(array, self._dtype)
            elif not isinstance(value, np.ndarray | np.generic) and array.dtype == np.int64:
                # Python's integers, which have no size: an int where they fit, as everybody's files have them.
                array = array.astype("i4") if np.array_equal(array.astype("i4"), array) else array
            elif array.dtype == bool:
                array = array.astype("i1")
            kind = _type_of(array.dtype)
            values = np.char.encode(array, "utf-8").tobytes() if array.dtype.kind == "U" else _stored(array)
        self._edit.set_attribute(self._owner, name, kind, values)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._edit.delete_attribute(self._owner, name)

    def __repr__(self) -> str:
        return repr(dict(self))


def _stored(array: Array) -> bytes:
    """Big-endian."""
    return array.astype(array.dtype.newbyteorder(">")).tobytes()


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append did, in numbers of records."""

    appended: int
    """Behind those there were."""
    replaced: int
    """Written over others of the same coordinate."""
    known: int
    """There already, values and all: nothing was staged for them."""


class EditedVariable:
    """A variable of an archive that is being edited."""

    def __init__(self, edit: Edit, name: str, kind: str, dimensions: tuple[str, ...]) -> None:
        self._owner, self._edit = edit, edit._edit
        self.name, self.dtype, self.dimensions = name, np.dtype(_DTYPES[kind]), dimensions

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the dimensions as they are now."""
        lengths = self._owner.dimensions
        return tuple(lengths[name] for name in self.dimensions)

    @property
    def attrs(self) -> Attributes:
        """Its attributes; what is set here is part of the edit."""
        return Attributes(self._edit, self.name, self.dtype)

    def _line(self, item: Any, dim: int, length: int, grow: bool) -> tuple[int, int, int]:
        """Start, count and step of an index or a slice; a record beyond the last makes the variable longer if ``grow``."""
        name = self.dimensions[dim]
        can_grow = grow and self._owner._is_record(name)
        if not isinstance(item, slice):
            index = int(item)
            if index < -length or (index >= length and not can_grow):
                raise IndexError(f"index {index} is outside dimension {name} of length {length}")
            if index >= length:
                self._owner.resize(name, index + 1)
            return (index + length if index < 0 else index), 1, 1
        if can_grow and item.stop is not None and item.stop > length and (item.step or 1) > 0:
            self._owner.resize(name, item.stop)
            length = int(item.stop)
        return _line(item, length)

    def _box(self, items: list[Any], grow: bool = False) -> tuple[_Box, tuple[int, ...], tuple[slice, ...]]:
        """A hyperslab, the shape of what it is in NumPy, and how to turn what is read backwards."""
        starts, counts, strides, shape, turned = [], [], [], [], []
        for dim, (item, length) in enumerate(zip(items, self.shape, strict=True)):
            start, count, step = self._line(item, dim, length, grow)
            if step < 0:
                start, step = start + (count - 1) * step, -step
                turned.append(slice(None, None, -1))
            else:
                turned.append(slice(None))
            starts.append(start if count else 0)
            counts.append(count)
            strides.append(step)
            if isinstance(item, slice):
                shape.append(count)
        return (starts, counts, strides), tuple(shape), tuple(turned)

    def _is_basic(self, items: list[Any]) -> bool:
        return all(isinstance(i, slice) or (np.ndim(i) == 0 and not isinstance(i, bool | np.bool_)) for i in items)

    def __getitem__(self, key: Any) -> Array:
        """Values as they are now, what is staged among them."""
        items = _expand(key, len(self.dimensions)) if not _is_mask(key) else None
        if items is None or not self._is_basic(items):
            found: Array = self[...][key]
            return found
        (start, count, stride), shape, turned = self._box(items)
        big = self.dtype.newbyteorder(">")
        if 0 in count:
            return np.zeros(shape, self.dtype)
        values = np.frombuffer(self._edit.get(self.name, (start, count, stride)), big).reshape(count)[turned]
        found = values.astype(self.dtype).reshape(shape)
        return found[()] if not shape else found

    def __setitem__(self, key: Any, value: Any) -> None:
        """Stages values: arrays, or one value for all. A record beyond the last makes the record dimension longer."""
        fill = self.attrs.get("_FillValue")
        array = _fitting(value, self.dtype, fill)
        items = _expand(key, len(self.dimensions)) if not _is_mask(key) else None
        if items is not None and self._is_basic(items):
            (start, count, stride), shape, turned = self._box(items, grow=True)
            if 0 in count:
                np.broadcast_to(array, shape)
                return
            if array.ndim == 0:
                self._edit.set(self.name, (start, count, stride), _stored(array))
                return
            whole = np.broadcast_to(array, shape).reshape(count)[turned]
            self._edit.set(self.name, (start, count, stride), _stored(whole))
            return
        # Lists and masks: what NumPy makes of them, then the rows that they touch.
        if not self.dimensions:
            raise IndexError("a scalar has no lists of indices")
        values, touched = self[...], np.zeros(self.shape, bool)
        values[key] = array
        touched[key] = True
        rows = np.flatnonzero(touched.any(axis=tuple(range(1, touched.ndim))))
        for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1):
            if run.size:
                self[int(run[0]) : int(run[-1]) + 1] = values[run[0] : run[-1] + 1]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        values = self[...]
        return values if dtype is None else values.astype(dtype)

    def __len__(self) -> int:
        if not self.dimensions:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        dims = ", ".join(f"{n}={length}" for n, length in zip(self.dimensions, self.shape, strict=True))
        return f"<nc3z.EditedVariable {self.name!r}: {self.dtype} ({dims})>"


def _is_mask(key: Any) -> bool:
    """A mask of several dimensions."""
    return not isinstance(key, tuple) and getattr(key, "ndim", 0) > 1


class Edit(Mapping[str, EditedVariable]):
    """An archive that is being edited: a mapping of its variables by name.

    What is set is staged, and read back from there; :meth:`commit` makes a new version of it, which costs what was changed.
    Earlier versions stay as they are. The archive is locked against other writers until :meth:`close`, which drops what was
    not committed; readers are never in the way. Made by ``nc3z.open(path, "r+")``.

    >>> done = nc3z.archive("coads_climatology.cdf", "edited.nc3z", overwrite=True)
    >>> with nc3z.open("edited.nc3z", "r+") as edit:
    ...     edit["SST"][0, 45, 60] = 29.5
    ...     edit["SST"].attrs["units"] = "degC"
    ...     edit.commit("one value mended").version
    2
    >>> float(nc3z.open("edited.nc3z")["SST"][0, 45, 60]), nc3z.open("edited.nc3z", version=1)["SST"].units
    (29.5, 'Deg C')
    """

    def __init__(self, path: Path) -> None:
        self._edit = _nc3z.Edit(os.fspath(path))

    # Reading

    def __getitem__(self, name: str) -> EditedVariable:
        for known, kind, dimensions in self._edit.variables():
            if known == name:
                return EditedVariable(self, known, kind, tuple(dimensions))
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _, _ in self._edit.variables())

    def __len__(self) -> int:
        return len(self._edit.variables())

    @property
    def variables(self) -> dict[str, EditedVariable]:
        """Variables by name."""
        return {name: EditedVariable(self, name, kind, tuple(dims)) for name, kind, dims in self._edit.variables()}

    @property
    def dimensions(self) -> dict[str, int]:
        """Lengths by name; the number of records for the record dimension."""
        return {name: length for name, length, _ in self._edit.dimensions()}

    def _is_record(self, name: str) -> bool:
        return any(known == name and is_record for known, _, is_record in self._edit.dimensions())

    @property
    def attrs(self) -> Attributes:
        """The file's attributes; what is set here is part of the edit."""
        return Attributes(self._edit, None)

    @property
    def path(self) -> str:
        """The archive's path."""
        return self._edit.path

    @property
    def version(self) -> int:
        """The version that is edited."""
        return self._edit.version

    @property
    def touched(self) -> bool:
        """Whether anything was edited since the last commit."""
        return self._edit.touched

    # Editing

    def create_dimension(self, name: str, size: int | None) -> None:
        """Adds a dimension; of size None it is the record dimension."""
        if size == 0:
            raise ValueError(f"dimension {name}: a length of 0; None makes the record dimension")
        self._edit.add_dimension(name, size or 0)

    def create_variable(
        self, name: str, dtype: Any, dimensions: tuple[str, ...] | list[str] = (), *, fill_value: Any = None
    ) -> EditedVariable:
        """Adds a variable; it holds the fill value until something is set."""
        self._edit.add_variable(name, _type_of(dtype), list(dimensions))
        variable = self[name]
        if fill_value is not None:
            variable.attrs["_FillValue"] = fill_value
        return variable

    def resize(self, dimension: str, size: int) -> None:
        """Makes a dimension longer or shorter; new elements hold the fill value."""
        self._edit.resize(dimension, size)

    def append(
        self,
        source: Source,
        *,
        keep_fixed: bool = False,
        any_units: bool = False,
        overlap: str = "refuse",
        storage_options: Mapping[str, Any] | None = None,
    ) -> Appended:
        """Appends the records of another file or archive.

        Every record variable must be in it, of the same type and lengths. Variables without records must be equal, unless ``keep_fixed``;
        so must attributes that say what numbers mean, such as ``units``, unless ``any_units``. The record coordinate (time) must
        continue the archive's: ``overlap="replace"`` writes records over those of the same coordinate, ``"allow"`` appends them all the
        same. Records that the archive has already, values and all, change nothing.
        """
        with open_dataset(source, storage_options=storage_options) as more:
            return Appended(*self._edit.append(more, keep_fixed, any_units, overlap))

    def rename_variable(self, name: str, new: str) -> None:
        """Renames a variable."""
        self._edit.rename_variable(name, new)

    def rename_dimension(self, name: str, new: str) -> None:
        """Renames a dimension."""
        self._edit.rename_dimension(name, new)

    def set_kind(self, kind: int) -> None:
        """Makes the file one of kind CDF-1, CDF-2 or CDF-5: 1, 2, 5."""
        self._edit.set_kind(kind)

    def __delitem__(self, name: str) -> None:
        """Deletes a variable."""
        if name not in self:
            raise KeyError(name)
        self._edit.delete_variable(name)

    def commit(
        self,
        message: str | None = None,
        *,
        author: str | None = None,
        time: str | datetime | None = None,
        digest: bool = True,
        dry_run: bool = False,
        parity: bool = True,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> Committed:
        """Makes a new version of what is staged; the edit goes on from there.

        It is there whole or not at all, whatever happens meanwhile. Author and time are noted only where they are given;
        ``time="now"`` is this moment in UTC. With ``dry_run`` nothing is changed, and the result is what would have been done.
        Where the archive has parity, that is made anew, unless ``parity`` is False.
        Without ``digest`` the version is not rebuilt for its SHA-256, and a commit costs only what was changed.
        """
        note = {"message": message, "author": author, "time": when(time)}
        return Committed(**self._edit.commit(note, digest, dry_run, parity, progress, cancel))

    def close(self) -> None:
        """Lets go of the archive; what was not committed is dropped."""
        self._edit.close()

    @property
    def closed(self) -> bool:
        """True once it is closed."""
        return self._edit.closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return f"<nc3z.Edit {self.path}: closed>"
        state = "edited" if self.touched else "nothing edited"
        return f"<nc3z.Edit {self.path}: version {self.version}, {len(self)} variables, {state}>"

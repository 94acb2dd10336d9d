"""Variables of an archive that is being edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nc3z import _keys
from nc3z._attributes import _DTYPES, Attributes
from nc3z._cast import cast
from nc3z._keys import Selected
from nc3z._plans import Plan, Planner

if TYPE_CHECKING:
    from nc3z._edit import Edit

Array = npt.NDArray[Any]

#: The number of values that are passed to the editor at once.
_PART = 4 << 20


class EditedVariable:
    """A variable of an archive that is being edited.

    Indices are integers, slices, lists and masks, each along its own dimension, as in netCDF4-python; ``oindex`` does the same. A
    mask of several dimensions selects the elements where it is true. ``vindex`` selects points.
    """

    def __init__(self, edit: Edit, name: str, kind: str, dimensions: tuple[str, ...]) -> None:
        self._owner, self._edit = edit, edit._edit
        self.name, self.dtype, self.dimensions = name, np.dtype(_DTYPES[kind]), dimensions

    @property
    def shape(self) -> tuple[int, ...]:
        """The current lengths of the dimensions."""
        lengths = self._owner.dimensions
        return tuple(lengths[name] for name in self.dimensions)

    @property
    def attrs(self) -> Attributes:
        """The variable's attributes. Setting one is part of the edit."""
        return Attributes(self._edit, self.name, self.dtype)

    def _select(self, key: Any, grow: bool = False) -> Selected:
        if _keys.is_mask(key):
            return _keys.mask(key, self.dimensions, self.shape)
        return _keys.grid(key, self.dimensions, self.shape, lambda name: grow and self._owner._is_record(name))

    def _points(self, key: Any) -> Selected:
        return _keys.points(key, self.dimensions, self.shape)

    def __getitem__(self, key: Any) -> Array:
        """Returns the current values, including staged ones."""
        return self._read(self._select(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        """Stages values: arrays, or one value for all. A record beyond the last makes the record dimension longer."""
        array = self._cast(value)
        self._write(self._select(key, grow=True), array)

    def _read(self, selected: Selected) -> Array:
        if 0 in selected.full:
            return np.zeros(selected.shape, self.dtype)
        stored = self._edit.get(self.name, selected.picks).view(self.dtype.newbyteorder(">"))
        found = np.ascontiguousarray(selected.from_read(stored).astype(self.dtype)).reshape(selected.shape)
        return found[()] if selected.scalar else found

    def _cast(self, value: Any) -> Array:
        return cast(value, self.dtype, f"variable {self.name}", self._fill())

    def _write(self, selected: Selected, array: Array) -> None:
        values = selected.to_write(array)
        if 0 in selected.full:
            return
        for name, length, wanted in zip(self.dimensions, self.shape, selected.lengths, strict=True):
            if wanted > length:
                self._owner.resize(name, wanted)
        if array.ndim == 0:
            self._edit.set(self.name, selected.picks, self._stored(array))
            return
        for part, rows in selected.parts(_PART):
            self._edit.set(self.name, part.picks, self._stored(values[rows] if values.ndim else values))

    def _stored(self, values: Array) -> npt.NDArray[np.uint8]:
        """Returns values as big-endian bytes."""
        return np.ascontiguousarray(values, self.dtype.newbyteorder(">")).reshape(-1).view(np.uint8)

    def _fill(self) -> Array | None:
        """The attribute ``_FillValue``, if it is one value of the variable's type."""
        stored = self._edit.fill_value(self.name)
        if stored is None:
            return None
        return np.frombuffer(stored, self.dtype.newbyteorder(">")).astype(self.dtype).reshape(())

    @property
    def oindex(self) -> _Indexer:
        """Reads and sets values by indices along each dimension independently."""
        return _Indexer(self, False)

    @property
    def vindex(self) -> _Indexer:
        """Reads and sets values at points: lists that are broadcast against each other. If a point occurs twice, its last
        value is stored.
        """
        return _Indexer(self, True)

    @property
    def plan_set(self) -> Planner:
        """``plan_set[key]``: the reads, copies and writes for setting values. Nothing is executed."""
        return Planner(lambda key: Plan(**self._edit.plan_set(self.name, self._select(key).picks)))

    @property
    def plan_get(self) -> Planner:
        """``plan_get[key]``: the reads and copies for reading values."""
        return Planner(lambda key: Plan(**self._edit.plan_get(self.name, self._select(key).picks)))

    def plan_resize(self, size: int, dimension: str | None = None) -> Plan:
        """The operations on this variable for another length of a dimension, by default the first.

        For the first dimension, edge tiles are extended. For another one, all tiles are read, and the elements are stored in new
        tiles.
        """
        if dimension is None:
            if not self.dimensions:
                raise ValueError(f"variable {self.name} is a scalar, which has no dimension to resize")
            dimension = self.dimensions[0]
        return Plan(**self._edit.plan_resize(self.name, dimension, size))

    def plan_load(self) -> Plan:
        """The operations that load all of the variable into memory."""
        return Plan(**self._edit.plan_load(self.name))

    def plan_commit(self) -> Plan:
        """The operations that a commit performs for the variable."""
        return Plan(**self._edit.plan_commit(self.name))

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


class _Indexer:
    """An object that is indexed in place of a variable."""

    __slots__ = ("_points", "_variable")

    def __init__(self, variable: EditedVariable, points: bool) -> None:
        self._variable, self._points = variable, points

    def _select(self, key: Any, grow: bool) -> Selected:
        return self._variable._points(key) if self._points else self._variable._select(key, grow)

    def __getitem__(self, key: Any) -> Array:
        return self._variable._read(self._select(key, False))

    def __setitem__(self, key: Any, value: Any) -> None:
        array = self._variable._cast(value)
        self._variable._write(self._select(key, True), array)

    @property
    def plan_set(self) -> Planner:
        """See ``EditedVariable.plan_set``."""
        variable = self._variable
        return Planner(lambda key: Plan(**variable._edit.plan_set(variable.name, self._select(key, False).picks)))

    @property
    def plan_get(self) -> Planner:
        """See ``EditedVariable.plan_get``."""
        variable = self._variable
        return Planner(lambda key: Plan(**variable._edit.plan_get(variable.name, self._select(key, False).picks)))

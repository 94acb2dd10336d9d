"""Variables of an archive that is being edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nc3z._attributes import _DTYPES, Attributes
from nc3z._cast import cast
from nc3z._plans import Plan, Planner

if TYPE_CHECKING:
    from nc3z._edit import Edit

Array = npt.NDArray[Any]


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

    def __getitem__(self, key: Any) -> Array:
        """Returns the current values, including staged ones."""
        return self._edit.get(self.name, key, False)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Stages values: arrays, or one value for all. A record beyond the last makes the record dimension longer."""
        self._set(key, False, value)

    def _set(self, key: Any, points: bool, value: Any) -> None:
        self._edit.set(self.name, key, points, cast(value, self.dtype, f"variable {self.name}", self._fill()))

    def _plan(self, points: bool, set: bool) -> Planner:
        return Planner(lambda key: Plan(**self._edit.plan(self.name, key, points, set)))

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
        return self._plan(False, True)

    @property
    def plan_get(self) -> Planner:
        """``plan_get[key]``: the reads and copies for reading values."""
        return self._plan(False, False)

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

    def __getitem__(self, key: Any) -> Array:
        return self._variable._edit.get(self._variable.name, key, self._points)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._variable._set(key, self._points, value)

    @property
    def plan_set(self) -> Planner:
        """See ``EditedVariable.plan_set``."""
        return self._variable._plan(self._points, True)

    @property
    def plan_get(self) -> Planner:
        """See ``EditedVariable.plan_get``."""
        return self._variable._plan(self._points, False)

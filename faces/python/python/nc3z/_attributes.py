"""Attributes of an archive that is being edited."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

import numpy as np
import numpy.typing as npt

from nc3z import _nc3z
from nc3z._cast import attribute, cast

Array = npt.NDArray[Any]

#: Types of classic netCDF, and NumPy's.
_DTYPES = {
    "byte": "i1", "char": "S1", "short": "i2", "int": "i4", "float": "f4", "double": "f8",
    "ubyte": "u1", "ushort": "u2", "uint": "u4", "int64": "i8", "uint64": "u8",
}  # fmt: skip
_TYPES = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}
#: Attributes whose numbers have the type of their variable.
_OF_VARIABLE = {"_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"}


def _type_of(dtype: Any) -> str:
    """The type of classic netCDF for a dtype."""
    wanted = np.dtype(dtype)
    name = "char" if wanted.kind in "SU" else _TYPES.get(wanted.newbyteorder("="))
    if name is None:
        raise TypeError(f"{wanted} is not a type of classic netCDF: those are {', '.join(map(str, _TYPES))}")
    return name


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
            array = attribute(value, f"attribute {name}")
            if self._dtype is not None and self._dtype.kind != "S" and name in _OF_VARIABLE:
                array = cast(value, self._dtype, f"attribute {name}").reshape(-1)
            kind, values = _type_of(array.dtype), _stored(array)
        self._edit.set_attribute(self._owner, name, kind, values)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._edit.delete_attribute(self._owner, name)

    def __repr__(self) -> str:
        return repr(dict(self))


def _stored(array: Array) -> bytes:
    """The numbers or text of an attribute as big-endian bytes."""
    return array.astype(array.dtype.newbyteorder(">")).tobytes()

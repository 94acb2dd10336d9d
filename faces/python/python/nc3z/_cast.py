"""Converts values of any kind to values of a variable's type. A conversion that is not exact is an error.

* Integers, and truth values as 0 and 1, must be values of the type, whether that is an integer or a floating-point type.
* Floating-point numbers for an integer type must be whole numbers within its range: no fraction, no NaN, no infinity.
* Floating-point numbers for a floating-point type are rounded to the nearest value. Finite numbers must stay finite.
* Masked values become the variable's ``_FillValue``. Without one they are refused.

``nc3z set`` follows the same rules (``nc3z-cli/src/cmd/edit/number.rs``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nc3z._errors import RangeError

Array = npt.NDArray[Any]


def cast(value: Any, dtype: np.dtype[Any], name: str, fill: Array | None = None) -> Array:
    """Returns ``value`` as an array of ``dtype``. ``name`` names the target in errors; ``fill`` is the fill value.

    Raises :class:`nc3z.RangeError` for a number that the type cannot hold, ``TypeError`` for values of another kind and
    ``ValueError`` for masked values without a fill value.
    """
    if isinstance(value, list | tuple):
        return _cast_list(value, dtype, name, fill)
    mask = np.ma.getmaskarray(value) if isinstance(value, np.ma.MaskedArray) else None
    array = np.asarray(value)
    if mask is not None and mask.any():
        if fill is None:
            raise ValueError(
                f"{name}: masked values, but no _FillValue to write in their place: "
                "set the attribute first, or give numbers (`values.filled(number)`)"
            )
        cleared = np.where(mask, np.zeros((), array.dtype), array)
        return np.where(mask, fill, _cast_array(cleared, dtype, name))
    return _cast_array(array, dtype, name)


def _has_arrays(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_arrays, value))
    return getattr(value, "ndim", 0) > 0


def _cast_list(value: list[Any] | tuple[Any, ...], dtype: np.dtype[Any], name: str, fill: Array | None) -> Array:
    """Converts lists item by item: NumPy would turn an integer next to a double into a double, and a masked item into NaN."""
    if not value:
        return np.zeros(0, dtype)
    if _has_arrays(value):
        return np.stack([cast(item, dtype, name, fill) for item in value])
    if dtype.kind == "S":
        return _cast_array(np.asarray(value), dtype, name)
    items = np.array(value, dtype=object)
    kinds = {type(item) for item in items.flat}
    if kinds <= {float}:
        return _cast_array(items.astype("f8"), dtype, name)
    masked = np.array([item is np.ma.masked for item in items.flat], bool).reshape(items.shape)
    if masked.any():
        items[masked] = 0
        return cast(np.ma.MaskedArray(items, masked), dtype, name, fill)
    return _cast_array(items, dtype, name)


def _cast_array(array: Array, dtype: np.dtype[Any], name: str) -> Array:
    if dtype.kind == "S":
        return _text(array, dtype, name)
    if array.dtype == object:
        return _objects(array, dtype, name)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name}: values of type {array.dtype} for type {dtype}")
    if array.dtype == dtype:
        return array
    if array.dtype.newbyteorder("=") == dtype:
        return array.astype(dtype)
    if array.dtype == np.float16:
        array = array.astype("f4")
    with np.errstate(all="ignore"):
        if dtype.kind == "f":
            made = array.astype(dtype)
            fits = _rounded(array, made) if array.dtype.kind == "f" else _exact(array, made)
        else:
            fits = _within(array, dtype)
            made = array.astype(dtype)
    if not np.all(fits):
        at = np.unravel_index(int(np.argmin(fits)), array.shape)
        raise _refusal(array[at], at, dtype, name)
    return made


def _refusal(value: Any, at: tuple[Any, ...], dtype: np.dtype[Any], name: str) -> RangeError:
    place = f" (at {', '.join(str(int(n)) for n in at)})" if at else ""
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            nearest = dtype.type(value)
        if np.isfinite(nearest):
            why = f"whose nearest value is {int(nearest)}; give a float to have it rounded"
        else:
            why = f"which ends at {np.finfo(dtype).max}"
    else:
        why = f"which holds whole numbers from {np.iinfo(dtype).min} to {np.iinfo(dtype).max}"
    return RangeError(f"{name}: {value}{place} is not a value of type {dtype}, {why}")


def _within(array: Array, dtype: np.dtype[Any]) -> Any:
    """Returns, for each number, whether an integer type can hold it."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if array.dtype.kind == "b" or array.size == 0:
        return True
    if array.dtype.kind == "f":
        # Both bounds are powers of two or zero, which every floating-point type can represent. A comparison
        # with NaN is false.
        return (array >= low) & (array < array.dtype.type(high + 1)) & (np.trunc(array) == array)
    if low <= int(array.min()) and int(array.max()) <= high:
        return True
    info = np.iinfo(array.dtype)
    return (array >= max(low, int(info.min))) & (array <= min(high, int(info.max)))


def _exact(array: Array, made: Array) -> Any:
    """Returns whether integers equal the floating-point numbers that they were converted to."""
    if array.dtype.kind == "b" or array.size == 0:
        return True
    digits = np.finfo(made.dtype).nmant + 1
    if array.dtype.itemsize * 8 <= digits or (-(1 << digits) <= int(array.min()) and int(array.max()) <= 1 << digits):
        return True
    # A number beyond the largest integer cannot be converted back: the type does not have it.
    inside = made.astype("f8") < float(1 << (64 if array.dtype.kind == "u" else 63))
    return inside & (np.where(inside, made, 0).astype(array.dtype) == array)


def _rounded(array: Array, made: Array) -> Any:
    """Returns whether finite numbers are still finite after rounding."""
    if made.dtype.itemsize >= array.dtype.itemsize:
        return True
    return np.isfinite(made) | ~np.isfinite(array)


def _objects(array: Array, dtype: np.dtype[Any], name: str) -> Array:
    """Converts Python's numbers, whose integers have any size."""
    made = np.zeros(array.shape, dtype)
    for at in np.ndindex(array.shape):
        item = array[at]
        if isinstance(item, np.ndarray) and item.ndim == 0:
            item = item[()]
        if isinstance(item, int | float | np.bool_ | np.integer | np.floating):
            made[at] = _number(item, at, dtype, name)
        else:
            raise TypeError(f"{name}: a value of type {type(item).__name__} for type {dtype}")
    return made


def _number(item: Any, at: tuple[int, ...], dtype: np.dtype[Any], name: str) -> Any:
    if not isinstance(item, int):
        return _cast_array(np.asarray(item), dtype, name)[()]
    if dtype.kind in "iu":
        if not np.iinfo(dtype).min <= item <= np.iinfo(dtype).max:
            raise _refusal(item, at, dtype, name)
        return item
    try:
        with np.errstate(all="ignore"):
            made = dtype.type(float(item))
    except OverflowError:
        raise _refusal_beyond(item, dtype, name) from None
    if not np.isfinite(made) or int(made) != item:
        raise _refusal(item, at, dtype, name)
    return made


def _refusal_beyond(item: int, dtype: np.dtype[Any], name: str) -> RangeError:
    return RangeError(f"{name}: an integer of {item.bit_length()} bits is not a value of type {dtype}")


def attribute(value: Any, name: str) -> Array:
    """Returns the numbers or the text of an attribute as an array of one dimension, in the type of the new attribute.

    Arrays keep their type. Python's integers have no size: they become an int where they fit, otherwise an int64 or a uint64.
    Next to a float they become floats.
    """
    if np.ma.is_masked(value):
        raise ValueError(f"{name}: masked values, which an attribute cannot have")
    array = np.asarray(value)
    if not isinstance(value, np.ndarray | np.generic) and array.dtype.kind in "iufO":
        items = [item for item in np.array(value, dtype=object).flat]
        if items and all(isinstance(item, int | np.integer) for item in items):
            fits = (t for t in ("i4", "i8", "u8") if np.iinfo(t).min <= min(items) and max(items) <= np.iinfo(t).max)
            array = cast(value, np.dtype(next(fits, "u8")), name)
        else:
            array = cast(value, np.dtype("f8"), name)
    elif array.dtype == bool:
        array = array.astype("i1")
    refuse_texts(value, name)
    array = np.atleast_1d(array)
    if array.ndim != 1:
        raise TypeError(f"{name}: an attribute is a text, a number or a list of numbers")
    return np.char.encode(array, "utf-8") if array.dtype.kind == "U" else array


def refuse_texts(value: Any, name: str) -> None:
    """Refuses a list of texts: an attribute of a classic file is one text."""
    array = np.asarray(value)
    if array.dtype.kind in "SU" and array.size > 1:
        raise TypeError(f"{name}: an attribute is one text; join the {array.size} texts first")


def _text(array: Array, dtype: np.dtype[Any], name: str) -> Array:
    """Returns text as an array of characters. Strings are padded with zeros, and their length becomes an additional dimension."""
    if array.dtype.kind == "U":
        array = np.char.encode(array, "utf-8")
    if array.dtype.kind != "S":
        raise TypeError(f"{name}: values of type {array.dtype} for a variable of text")
    if array.dtype.itemsize > 1:
        shape = (*array.shape, array.dtype.itemsize)
        array = np.ascontiguousarray(array).view("S1").reshape(shape)
    return array.astype(dtype)

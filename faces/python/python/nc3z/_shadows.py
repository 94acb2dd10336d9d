"""Reads shadows (``nc3z catalog``), and finds the tiles whose values can meet a condition."""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from nc3z import _nc3z

#: Four units in the last place of a 32-bit float: the roundings of a value that is unpacked, and of a threshold, in 32 bits.
_ROUNDING = 4 * float(np.finfo(np.float32).eps)

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a variable's values with a number, such as ``tas > 310``."""

    variable: str
    sign: str
    #: The number as it was written: a double does not hold all integers of 64 bits.
    number: str

    @property
    def value(self) -> float:
        """The nearest double."""
        return float(self.number)

    @staticmethod
    def parse(text: str) -> Condition:
        """Reads the form of ``nc3z find --where``."""
        parts = re.fullmatch(r"\s*([^<>=]+?)\s*(<=|>=|==|<|>)\s*([^\s_]+)\s*", text)
        try:
            value = float(parts[3]) if parts else float("nan")
        except ValueError:
            value = float("nan")
        if not parts or np.isnan(value):
            raise ValueError(f"{text!r} is not a condition; one is VARIABLE, then <, <=, >, >= or ==, then a number")
        return Condition(parts[1], parts[2], parts[3])

    def holds(self, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Returns where values meet the condition. Missing values, which are masked or NaN, never do."""
        numbers = np.ma.getdata(values)
        found: npt.NDArray[np.bool_]
        if numbers.dtype.kind in "iu" and np.isfinite(self.value):
            found = self._holds_whole(numbers)
        else:
            numbers = numbers.astype(np.float64)
            found = _COMPARE[self.sign](numbers, self.value) & ~np.isnan(numbers)
        return found & ~np.ma.getmaskarray(values)

    def _holds_whole(self, numbers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Compares integers exactly, also those that a double does not hold."""
        exact = Decimal(self.number)
        # The integers that a number is compared with: the next one below or above a fraction.
        bound = math.floor(exact) if self.sign in (">", "<=") else math.ceil(exact)
        info = np.iinfo(numbers.dtype)
        if self.sign == "==" and bound != exact or not info.min <= bound <= info.max:
            holds = self.sign != "==" and bool(_COMPARE[self.sign](0, bound))
            return np.full(numbers.shape, holds)
        return np.asarray(_COMPARE[self.sign](numbers, numbers.dtype.type(bound)))

    def possible(self, tiles: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Returns for each tile whether a value of it may meet the condition.

        A tile is outside only if its minimum and maximum exclude the number by more than roundings in 32 bits change. Tiles with
        infinite values are never outside.
        """
        count, infinite, low, high = tiles.T
        # Infinite ends give NaN, which excludes nothing below.
        with np.errstate(invalid="ignore", over="ignore"):
            margin = _ROUNDING * (np.maximum(np.abs(low), np.abs(high)) + abs(self.value))
            if self.sign in (">", ">="):
                may = high + margin >= self.value
            elif self.sign in ("<", "<="):
                may = low - margin <= self.value
            else:
                may = (low - margin <= self.value) & (self.value <= high + margin)
        return np.asarray(((count > 0) & may) | (infinite > 0))

    def __str__(self) -> str:
        return f"{self.variable} {self.sign} {self.number}"


@dataclass(slots=True)
class Statistics:
    """The statistics of a file."""

    nbytes: int
    stored_nbytes: int
    sha256: str | None
    #: For each variable of numbers, a row for each tile: count of valid and of infinite values, minimum, maximum.
    tiles: dict[str, npt.NDArray[np.float64]]
    #: The time of the shadow in seconds, or None if it is not on disk. A local file that is newer may have changed.
    made: float | None = None
    #: ``archive``, ``classic``, ``packed`` or ``aggregation``.
    kind: str = "classic"
    #: The header of the classic file, the lengths of its dimensions, and values of coordinates by the position of their variable.
    header: bytes = b""
    sizes: Sequence[int] = ()
    coordinates: Mapping[int, bytes] = field(default_factory=dict)
    #: The time of the file's last change when it was indexed, in milliseconds; 0 if it is not known.
    modified: int = 0

    def describes(self, path: str) -> bool:
        """Returns whether a local file can be the one that was indexed, without opening it: by its size and time."""
        bundle, _, member = path.partition("!/")
        if "://" in path:
            return True
        try:
            status = os.stat(bundle)
        except OSError:
            return False
        if self.modified:
            now = status.st_mtime_ns // 10**6
            # Some copies keep only the seconds.
            if now != self.modified and (now // 1000 != self.modified // 1000 or (now % 1000 and self.modified % 1000)):
                return False
        elif self.made is not None and status.st_mtime > self.made:
            return False
        return bool(member) or status.st_size == self.stored_nbytes

    def describes_opened(self, sha256: str | None, nbytes: int) -> bool:
        """Returns whether an opened file is the one that was indexed."""
        return nbytes == self.nbytes and (self.sha256 is None or sha256 is None or sha256 == self.sha256)

    def possible(self, conditions: Iterable[Condition]) -> bool:
        """Returns whether the file may have values for all conditions. True for a variable that it does not have."""
        known = ((c, self.tiles[c.variable]) for c in conditions if c.variable in self.tiles)
        return all(bool(c.possible(tiles).any()) for c, tiles in known)


@dataclass(slots=True)
class Shadow:
    """The statistics of files by their names, in the shadow's order."""

    path: str
    files: dict[str, Statistics] = field(default_factory=dict)


def is_shadow(path: str) -> bool:
    """Returns whether a local file is a catalogue; of a URL, whether its name says so."""
    if "://" in path:
        return _nc3z.Shadow.is_name(path.partition("?")[0])
    return _nc3z.Shadow.is_at(path)


def read(path: str, variables: Sequence[str], storage_options: Mapping[str, Any] | None = None) -> Shadow:
    """Reads a shadow; the statistics of the named variables only."""
    shadow = _nc3z.Shadow(path, None if storage_options is None or "://" not in path else dict(storage_options))
    made = None if "://" in path else os.stat(path).st_mtime
    files: list[Statistics] = []
    names: list[str] = []
    for name, kind, nbytes, stored, sha256, header, sizes, coordinates, modified in shadow.files():
        names.append(name)
        files.append(Statistics(nbytes, stored, sha256, {}, made, kind, header, sizes, coordinates, modified))
    for variable in dict.fromkeys(variables):
        for number, tiles in shadow.tiles(variable):
            # Of variables of the same name, which few files have, the first one counts.
            files[number].tiles.setdefault(variable, tiles)
    return Shadow(path, dict(zip(names, files, strict=True)))

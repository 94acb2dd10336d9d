"""Plans of edits: instructions, and a drawing of the tiles that they touch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

#: The colours of the tiles in a notebook.
_COLOURS = {"p": "#f4c77b", "w": "#7fb77e"}


@dataclass(frozen=True, repr=False)
class Plan:
    """The operations of an edit on a variable. ``print(plan)`` shows the instructions and the map of the tiles.

    >>> _ = nc3z.archive("etopo120.cdf", "plan.nc3z", chunks={"ETOPO120Y": 30, "ETOPO120X": 60}, force=True)
    >>> with nc3z.open("plan.nc3z", "r+") as edit:
    ...     plan = edit["ROSE"].plan_set[10:60, 120:]
    >>> print(plan.map, end="")
      012
    0 ..p
    1 ..w
    2 ...
    >>> plan.reads                                # tiles of the archive that would be read
    [2]
    """

    #: The instructions: slabs, transfers, and the position of each tile afterwards.
    text: str
    #: The grid of tiles: ``p`` for a tile that is touched partly, ``w`` for one that is touched completely.
    map: str
    #: Lengths of the grid. Tiles that are runs of the flattened array have one axis.
    grid: tuple[int, ...]
    #: The tiles that are touched: the index in the grid, and whether the tile is touched completely.
    touched: list[tuple[tuple[int, ...], bool]]
    #: Numbers of the archive's tiles that would be read.
    reads: list[int]

    def __repr__(self) -> str:
        return f"{self.text.rstrip()}\ntiles (p in part, w whole):\n{self.map.rstrip()}"

    def _repr_html_(self) -> str:
        marked = "".join(
            f"<span style='background:{_COLOURS[mark]};color:#000'>{mark}</span>" if mark in _COLOURS else escape(mark)
            for mark in self.map
        )
        whole = sum(is_whole for _, is_whole in self.touched)
        words = f"{whole} tiles whole, {len(self.touched) - whole} in part, {len(self.reads)} read from the archive"
        return f"<pre>{escape(self.text.rstrip())}</pre><p>{words}</p><pre>{marked}</pre>"


class Planner:
    """An object that is indexed for a plan."""

    __slots__ = ("_plan",)

    def __init__(self, plan: Callable[[Any], Plan]) -> None:
        self._plan = plan

    def __getitem__(self, key: Any) -> Plan:
        """Returns the plan for a key."""
        return self._plan(key)

"""Reads catalogues (``nc3z catalog``), and finds the tiles whose values can meet a condition."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from nc3z import _nc3z
from nc3z._nc3z import Condition


_NOTHING: Mapping[Any, Any] = MappingProxyType({})
#: Values of more bytes may be those of many files, such as the axes of a grid. A single value is usually that of one file.
LONG = 16


@dataclass(slots=True)
class Statistics:
    """The statistics of a file."""

    nbytes: int
    stored_nbytes: int
    sha256: str | None
    #: For each variable of numbers, a row for each tile: count of valid and of infinite values, minimum, maximum.
    tiles: Mapping[str, npt.NDArray[np.float64]]
    #: The time of the catalogue in seconds, or None if it is not on disk. A local file that is newer may have changed.
    made: float | None = None
    #: ``archive``, ``classic``, ``packed`` or ``aggregation``.
    kind: str = "classic"
    #: The header of the classic file, the lengths of its dimensions, and the positions of coordinate variables with their values. Tuples,
    #: because a catalogue may have a million files.
    header: bytes = b""
    sizes: Sequence[int] = ()
    coordinates: tuple[int, ...] = ()
    values: tuple[bytes, ...] = ()
    #: The time of the file's last change when it was indexed, in nanoseconds; None if it is not known, and of a member in its bundle.
    modified: int | None = None

    def forget(self) -> None:
        """Drops what only the description of the file needs."""
        self.header, self.sizes, self.coordinates, self.values = b"", (), (), ()

    def describes(self, path: str) -> bool:
        """Returns whether a local file can be the one that was indexed, without opening it: by its size and time."""
        bundle, _, member = path.partition("!/")
        if "://" in path:
            return True
        try:
            status = os.stat(_nc3z.without_version(bundle))
        except OSError:
            return False
        if self.modified is not None:
            now, then = status.st_mtime_ns // 10**6, self.modified // 10**6
            # Some copies keep only the seconds, others the milliseconds.
            if now != then and (now // 1000 != then // 1000 or (now % 1000 and then % 1000)):
                return False
        elif self.made is not None and status.st_mtime > self.made:
            return False
        return bool(member) or status.st_size == self.stored_nbytes

    def state(self, path: str) -> tuple[object, ...] | None:
        """Returns what tells the content of the open file from that of others; None where only opening tells."""
        if self.kind == "aggregation":
            return None
        if self.kind == "archive" and self.sha256 is not None:
            return (self.sha256,)
        if "://" in path:
            return None
        status = status_of(path)
        return (status.st_size, status.st_mtime_ns)

    def describes_opened(self, sha256: str | None, nbytes: int) -> bool:
        """Returns whether an opened file is the one that was indexed."""
        return nbytes == self.nbytes and (self.sha256 is None or sha256 is None or sha256 == self.sha256)

    def possible(self, conditions: Iterable[Condition]) -> bool:
        """Returns whether the file may have values for all conditions. True for a variable that it does not have."""
        known = ((c, self.tiles[c.variable]) for c in conditions if c.variable in self.tiles)
        return all(bool(c.possible(tiles).any()) for c, tiles in known)


def status_of(path: str) -> os.stat_result:
    """Returns the status of a file on disk: of a member that of its bundle, of a version that of the archive."""
    return os.stat(path if os.path.exists(path) else _nc3z.without_version(path.partition("!/")[0]))


def is_catalog(path: str) -> bool:
    """Returns whether a local file is a catalogue; of a URL, whether its name says so."""
    if "://" in path:
        return _nc3z.Catalog.is_name(path.partition("?")[0])
    return _nc3z.Catalog.is_at(path)


def read(
    path: str,
    variables: Sequence[str],
    storage_options: Mapping[str, Any] | None = None,
    place: Callable[[str], str] = lambda name: name,
) -> dict[str, Statistics]:
    """Reads a catalogue: its files in its order, by the paths that ``place`` makes of their names, with the statistics of the named variables."""
    catalog = _nc3z.Catalog(path, None if storage_options is None or "://" not in path else dict(storage_options))
    made = None if "://" in path else status_of(path).st_mtime
    files: list[Statistics | None] = []
    known: dict[str, Statistics] = {}
    # Equal values of several files are one object.
    shared: dict[Any, Any] = {}
    before = 0
    for block in range(catalog.blocks()):
        for name, kind, nbytes, stored, sha256, header, sizes, (coordinates, values), modified in catalog.files(block):
            if kind == "other file":
                files.append(None)
                continue
            values = tuple(shared.setdefault(each, each) if len(each) > LONG else each for each in values)
            lengths = tuple(sizes)
            coordinates, lengths = shared.setdefault(coordinates, coordinates), shared.setdefault(lengths, lengths)
            # Files of a series often have the length of the one before, and classic files are stored as they are.
            nbytes = before if nbytes == before else nbytes
            stored = nbytes if stored == nbytes else stored
            before = nbytes
            file = Statistics(nbytes, stored, sha256, _NOTHING, made, kind, header, lengths, coordinates, values, modified)
            files.append(file)
            known[place(name)] = file
    for variable in dict.fromkeys(variables):
        for number, tiles in catalog.tiles(variable):
            # Of variables of the same name, which few files have, the first one counts.
            if (described := files[number]) is not None and variable not in described.tiles:
                described.tiles = {**described.tiles, variable: tiles}
    return known

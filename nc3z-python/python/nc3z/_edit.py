"""Editing an archive: what ``nc3z.open(path, "r+")`` gives."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from nc3z import _nc3z
from nc3z._attributes import Attributes, _type_of
from nc3z._core import Cancel, Source
from nc3z._core import open as open_dataset
from nc3z._edited import EditedVariable
from nc3z._operations import Path, Progress
from nc3z._versions import Committed, when


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append did, in numbers of records."""

    appended: int
    """Behind those there were."""
    replaced: int
    """Written over others of the same coordinate."""
    known: int
    """There already, values and all: nothing was staged for them."""


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

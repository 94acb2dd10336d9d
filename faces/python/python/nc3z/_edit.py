"""Editing an archive: the result of ``nc3z.open(path, "r+")``."""

from __future__ import annotations

import os
import unicodedata
import warnings
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
    """The result of an append, in numbers of records."""

    appended: int
    """Records that were added at the end."""
    replaced: int
    """Records that replaced others with the same coordinate."""
    known: int
    """Records that the archive already had with the same values. Nothing was staged for them."""
    unordered: bool = False
    """Whether no coordinate orders the records, so that they could not be compared with the archive's."""


class Edit(Mapping[str, EditedVariable]):
    """An archive that is being edited: a mapping of its variables by name.

    New values are staged, and reading returns them. :meth:`commit` stores them as a new version; its cost depends only on what
    was changed. Earlier versions are unchanged. The archive is locked against other writers until :meth:`close`, which discards
    what was not committed. Readers are never blocked. Created by ``nc3z.open(path, "r+")``.

    >>> done = nc3z.archive("coads_climatology.cdf", "edited.nc3z", force=True)
    >>> with nc3z.open("edited.nc3z", "r+") as edit:
    ...     edit["SST"][0, 45, 60] = 29.5
    ...     edit["SST"].attrs["units"] = "degC"
    ...     edit.commit("one value corrected").version
    2
    >>> float(nc3z.open("edited.nc3z")["SST"][0, 45, 60]), nc3z.open("edited.nc3z", version=1)["SST"].units
    (29.5, 'Deg C')
    """

    def __init__(self, path: Path) -> None:
        self._edit = _nc3z.Edit(os.fspath(path))

    # Reading

    def __getitem__(self, name: str) -> EditedVariable:
        variables = self._edit.variables()
        for wanted in (name, unicodedata.normalize("NFC", name)):
            for known, kind, dimensions in variables:
                if known == wanted:
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
        """Lengths of dimensions by name. The length of the record dimension is the number of records."""
        return {name: length for name, length, _ in self._edit.dimensions()}

    @property
    def attrs(self) -> Attributes:
        """The file's attributes. Setting one is part of the edit."""
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
        """True where anything was edited since the last commit."""
        return self._edit.touched

    # Editing

    def create_dimension(self, name: str, size: int | None) -> None:
        """Adds a dimension. Size None makes it the record dimension."""
        if size == 0:
            raise ValueError(f"dimension {name}: a length of 0; None makes the record dimension")
        self._edit.add_dimension(name, size or 0)

    def create_variable(
        self, name: str, dtype: Any, dimensions: tuple[str, ...] | list[str] = (), *, fill_value: Any = None
    ) -> EditedVariable:
        """Adds a variable. Its elements are the fill value until they are set."""
        # As the netCDF library, an edit stores names in Unicode's composed form.
        name = unicodedata.normalize("NFC", name)
        self._edit.add_variable(name, _type_of(dtype), list(dimensions))
        variable = self[name]
        if fill_value is not None:
            try:
                variable.attrs["_FillValue"] = fill_value
            except BaseException:
                self._edit.delete_variable(name)
                raise
        return variable

    def resize(self, dimension: str, size: int) -> None:
        """Makes a dimension longer or shorter. New elements are the fill value."""
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

        The other file must have every record variable, with the same type and lengths. Variables without records must be equal,
        unless ``keep_fixed``. Attributes that give numbers their meaning, such as ``units``, must be equal, unless ``any_units``.
        The record coordinate (time) must continue the archive's: ``overlap="replace"`` replaces records with the same coordinate,
        ``overlap="allow"`` appends them anyway. Records that the archive already has with the same values change nothing.
        Where no coordinate orders the records, they are appended with a warning, unless ``overlap="allow"``.
        """
        with open_dataset(source, storage_options=storage_options) as more:
            done = Appended(*self._edit.append(more, keep_fixed, any_units, overlap))
        if done.unordered:
            what = 'no coordinate orders the records, so they could not be compared with the archive\'s; overlap="allow" appends without this warning'
            warnings.warn(what, stacklevel=2)
        return done

    def rename_variable(self, name: str, new: str) -> None:
        """Renames a variable."""
        self._edit.rename_variable(name, new)

    def rename_dimension(self, name: str, new: str) -> None:
        """Renames a dimension."""
        self._edit.rename_dimension(name, new)

    def set_kind(self, kind: int) -> None:
        """Changes the classic format to CDF-1, CDF-2 or CDF-5: 1, 2, 5."""
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
        """Stores the staged changes as a new version. Later edits apply to that version.

        The version is stored completely or not at all, even if the process is killed. Author and time are stored only if they are
        given; ``time="now"`` is the current time in UTC. With ``dry_run`` nothing is changed, and the result describes what a
        commit would do. If the archive has parity, the parity is computed again, unless ``parity`` is False. Without ``digest``
        the version is not rebuilt to compute its SHA-256, and the cost depends only on what was changed.
        """
        note = {"message": message, "author": author, "time": when(time)}
        return Committed(**self._edit.commit(note, digest, dry_run, parity, progress, cancel))

    def close(self) -> None:
        """Releases the archive. Discards what was not committed."""
        self._edit.close()

    @property
    def closed(self) -> bool:
        """True after the edit was closed."""
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

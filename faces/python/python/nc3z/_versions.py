"""Lists, adds and names versions of an archive."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from nc3z import _nc3z
from nc3z._core import Cancel, Source
from nc3z._core import open as open_dataset
from nc3z._operations import Path, Progress


@dataclass(frozen=True, slots=True)
class Version:
    """One version of the file that an archive holds."""

    number: int
    """1 is the original."""
    message: str | None
    author: str | None
    time: str | None
    sha256: str | None
    """The SHA-256 of the version as a classic file, hexadecimal; None where none is stored."""
    original_nbytes: int
    added_nbytes: int
    """The number of bytes that it added to the archive."""
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Committed:
    """The result of a commit."""

    version: int
    is_new: bool
    """True if there is a new version. False if the newest one is the same file."""
    sha256: str | None
    """The SHA-256 of the file; None where it was not computed."""
    new_tiles: int
    kept_tiles: int
    """The number of tiles that were already stored."""
    stored_nbytes: int
    added_nbytes: int


def when(time: str | datetime | None) -> str | None:
    """Returns the text that is stored for a time: ``"now"`` is the current time in UTC."""
    if time == "now":
        time = datetime.now(UTC)
    if isinstance(time, datetime):
        utc = time.tzinfo is not None and not time.utcoffset()
        return time.isoformat(timespec="seconds").replace("+00:00", "Z") if utc else time.isoformat(timespec="seconds")
    return time


def commit(
    archive: Path,
    edited: Path,
    *,
    message: str | None = None,
    author: str | None = None,
    time: str | datetime | None = None,
    allow_unrelated: bool = False,
    dry_run: bool = False,
    parity: bool = True,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Committed:
    """Adds an edited classic file to an archive as a new version. Every version stays readable, byte for byte.

    Unchanged data are not stored again. The new version is rebuilt and compared before it becomes valid. A dataset that is
    already open keeps its version. Author and time are stored only if they are given; ``time="now"`` is the current time in UTC.
    A file that has none of the archive's variables is refused unless ``allow_unrelated``. With ``dry_run`` nothing is changed, and the
    result describes what a commit would do. If the archive has parity, the parity is computed again, unless ``parity`` is False.

    >>> done = nc3z.archive("etopo120.cdf", "relief.nc3z", force=True)
    >>> nc3z.commit("relief.nc3z", "etopo120.cdf").is_new
    False
    """
    note = {"message": message, "author": author, "time": when(time)}
    return Committed(**_nc3z.commit(os.fspath(archive), os.fspath(edited), note, allow_unrelated, dry_run, parity, progress, cancel))


def versions(
    archive: Source,
    version: int | str | None = None,
    *,
    limit: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> tuple[Version, ...]:
    """The versions of an archive up to ``version`` (the newest by default), newest first, at most ``limit``.

    >>> [(v.number, v.message) for v in nc3z.versions("coads_climatology.nc3z")]
    [(1, None)]
    """
    with open_dataset(archive, version=version, storage_options=storage_options) as ds:
        most = 2**64 - 1 if limit is None else limit
        return tuple(Version(**{**entry, "tags": tuple(entry["tags"])}) for entry in ds._log(most))


def tag(archive: Path, name: str, version: int | str | None = None, *, move_tag: bool = False) -> int:
    """Gives a version (the newest by default) a name, and returns its number. ``move_tag`` moves a tag from another version.

    >>> done = nc3z.archive("etopo120.cdf", "relief.nc3z", force=True)
    >>> nc3z.tag("relief.nc3z", "release")
    1
    >>> nc3z.open("relief.nc3z", version="release").tags
    {'release': 1}
    """
    return _nc3z.tag(os.fspath(archive), name, version, move_tag=move_tag)


def delete_tag(archive: Path, name: str) -> int:
    """Deletes a tag, and returns the number of its version. The version itself is kept."""
    return _nc3z.tag(os.fspath(archive), name, delete=True)

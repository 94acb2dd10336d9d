"""Versions of an archive: what there is, one more, their names."""

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
    """Of the version as a classic file, hexadecimal; None where none is on record."""
    original_nbytes: int
    added_nbytes: int
    """Bytes that it added to the archive."""
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Committed:
    """What was committed."""

    version: int
    is_new: bool
    """Whether there is a new version; False where the newest one is the same file."""
    sha256: str | None
    """Of the file; None where it was not asked for."""
    new_tiles: int
    kept_tiles: int
    """Tiles that were there already."""
    stored_nbytes: int
    added_nbytes: int


def when(time: str | datetime | None) -> str | None:
    """The text that is noted for a time: ``"now"`` is this moment in UTC."""
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
    force: bool = False,
    dry_run: bool = False,
    parity: bool = True,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Committed:
    """Adds an edited classic file to an archive as a new version; every version stays readable, to the byte.

    What did not change is not stored again. The new version is rebuilt and compared before it counts; what is open of the
    archive stays as it was opened. Author and time are noted only where they are given; ``time="now"`` is this
    moment in UTC. A file that has no variable of the archive is refused unless ``force``. With ``dry_run`` nothing is changed, and the
    result is what would have been done. Where the archive has parity, that is made anew, unless ``parity`` is False.

    >>> done = nc3z.archive("etopo120.cdf", "relief.nc3z", overwrite=True)
    >>> nc3z.commit("relief.nc3z", "etopo120.cdf").is_new
    False
    """
    note = {"message": message, "author": author, "time": when(time)}
    return Committed(**_nc3z.commit(os.fspath(archive), os.fspath(edited), note, force, dry_run, parity, progress, cancel))


def log(
    archive: Source,
    version: int | str | None = None,
    *,
    limit: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> tuple[Version, ...]:
    """The versions of an archive up to ``version`` (the newest by default), newest first, at most ``limit``.

    >>> [(v.number, v.message) for v in nc3z.log("coads_climatology.nc3z")]
    [(1, None)]
    """
    with open_dataset(archive, version=version, storage_options=storage_options) as ds:
        most = 2**64 - 1 if limit is None else limit
        return tuple(Version(**{**entry, "tags": tuple(entry["tags"])}) for entry in ds._log(most))


def tag(archive: Path, name: str, version: int | str | None = None, *, overwrite: bool = False) -> int:
    """Names a version (the newest by default) and gives its number; ``overwrite`` moves a tag that names another one.

    >>> done = nc3z.archive("etopo120.cdf", "relief.nc3z", overwrite=True)
    >>> nc3z.tag("relief.nc3z", "release")
    1
    >>> nc3z.open("relief.nc3z", version="release").tags
    {'release': 1}
    """
    return _nc3z.tag(os.fspath(archive), name, version, overwrite=overwrite)


def delete_tag(archive: Path, name: str) -> int:
    """Takes a tag away; the version that it named, whose number is given, stays."""
    return _nc3z.tag(os.fspath(archive), name, delete=True)

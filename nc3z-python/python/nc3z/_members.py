"""Finds the files of a collection: in directories, patterns, lists, bundles and shadows."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nc3z import _bundles, _shadows

#: The first bytes of archives and of classic files.
_MAGICS = (b"\x89NC3Z\r\n\x1a", b"CDF\x01", b"CDF\x02", b"CDF\x05")


@dataclass(slots=True)
class Found:
    """The files of a collection."""

    paths: list[str] = field(default_factory=list)
    statistics: dict[str, _shadows.Statistics] = field(default_factory=dict)
    #: True for files that were found by looking for them. Those that are no netCDF files are then left out.
    searched: bool = False
    notes: list[str] = field(default_factory=list)


def find(
    source: Any,
    *,
    shadow: str | os.PathLike[str] | None,
    base: str | None,
    variables: Sequence[str],
    storage_options: Mapping[str, Any] | None,
) -> Found:
    """Lists the files of a source; see :func:`nc3z.open_collection`."""
    found = Found()
    sources = [source] if isinstance(source, str | os.PathLike) else list(source)
    for item in sources:
        _add(found, _absolute(os.fspath(item)), base, variables, storage_options)
    if shadow is not None:
        read = _shadows.read(_absolute(os.fspath(shadow)), variables, storage_options)
        found.statistics.update(_placed(read, base))
    found.paths = list(dict.fromkeys(found.paths))
    if not found.paths:
        raise FileNotFoundError(f"{source!r}: no archive and no classic netCDF file")
    return found


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(os.path.expanduser(path))


def _add(found: Found, path: str, base: str | None, variables: Sequence[str], options: Mapping[str, Any] | None) -> None:
    if _shadows.is_shadow(path):
        placed = _placed(_shadows.read(path, variables, options), base)
        found.paths.extend(placed)
        found.statistics.update(placed)
    elif "://" in path:
        # Members and packed members; `set.zip!/a.nc` is a single file.
        if "!/" not in path and path.partition("?")[0].endswith((".zip", ".tar")):
            found.paths.extend(f"{path}!/{name}" for name in _bundles.names(path, options))
            found.searched = True
        else:
            found.paths.append(path)
    elif os.path.isdir(path):
        found.paths.extend(_tree(path, found, options))
        found.searched = True
    elif os.path.isfile(path):
        found.paths.extend(_file(path, options))
        found.searched |= found.paths[-1:] != [path]
    elif "!/" in path:
        found.paths.append(path)
    elif matches := sorted(glob.glob(path, recursive=True)):
        for match in matches:
            _add(found, match, base, variables, options)
    else:
        raise FileNotFoundError(f"{path}: there is no such file or directory, and no file that this pattern matches")


def _placed(shadow: _shadows.Shadow, base: str | None) -> dict[str, _shadows.Statistics]:
    """The files of a shadow by path. Relative names start at ``base``, otherwise at the current directory if the first file is
    there, otherwise at the shadow's directory.
    """
    if base is None:
        first = next(iter(shadow.files), "").partition("!/")[0]
        base = os.getcwd() if os.path.exists(first) or "://" in shadow.path else os.path.dirname(shadow.path)
    found = {}
    for name, statistics in shadow.files.items():
        if "://" not in name:
            name = f"{base.rstrip('/')}/{name}" if "://" in base else os.path.abspath(os.path.join(base, name))
        found[name] = statistics
    return found


def _is_netcdf(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(8).startswith(_MAGICS)
    except OSError:
        # Opening reports the error.
        return True


def _file(path: str, options: Mapping[str, Any] | None) -> list[str]:
    return [f"{path}!/{name}" for name in _bundles.names(path, options)] if _bundles.is_bundle(path) else [path]


def _walk(folder: str) -> Iterator[tuple[str, set[str], list[str]]]:
    """The directories of a tree: path, names of entries that are no directories, and sorted names of files."""
    names, files, folders = set(), [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir():
                    if not entry.is_symlink():
                        folders.append(entry.name)
                    continue
                names.add(entry.name)
                if entry.is_file():
                    files.append(entry.name)
    except OSError:
        # As os.walk: what cannot be listed is not there.
        pass
    yield folder, names, sorted(files)
    for name in sorted(folders):
        yield from _walk(os.path.join(folder, name))


def _tree(root: str, found: Found, options: Mapping[str, Any] | None) -> Iterator[str]:
    """The archives, classic files and members of bundles below a directory. Where a file and its archive are side by side, the
    archive is taken.
    """
    for folder, present, files in _walk(root):
        for name in files:
            path = os.path.join(folder, name)
            if f"{name}.nc3z" in present:
                found.notes.append(f"{path}: left out, because its archive is there")
            elif _is_netcdf(path):
                yield path
            elif _bundles.is_bundle(path):
                yield from _file(path, options)

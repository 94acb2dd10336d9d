"""Finds the files of a collection: in directories, patterns, lists, bundles and catalogues."""

from __future__ import annotations

import glob
import os
import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from nc3z import _nc3z, _catalogs
from nc3z._fragments import Opening

#: The names of members that describe the bundle.
_OWN = (".nc3z/", "README-nc3z.txt", "nc3z-specification/")


@dataclass(slots=True)
class Found:
    """The files of a collection."""

    paths: list[str] = field(default_factory=list)
    #: The paths as they were named or found: a file that was named twice is there twice.
    mentions: list[str] = field(default_factory=list)
    statistics: dict[str, _catalogs.Statistics] = field(default_factory=dict)
    #: True for files that were found by a search. Those that are not netCDF files are left out.
    searched: bool = False
    notes: list[str] = field(default_factory=list)


def find(
    source: Any,
    *,
    catalog: str | os.PathLike[str] | None,
    base: str | None,
    variables: Sequence[str],
    opening: Opening,
) -> Found:
    """Lists the files of a source; see :func:`nc3z.open_collection`."""
    found = Found()
    sources = [source] if isinstance(source, str | os.PathLike) else list(source)
    for item in sources:
        _add(found, _absolute(os.fspath(item)), base, variables, opening)
    if catalog is not None:
        path = _absolute(os.fspath(catalog))
        found.statistics.update(_catalogs.read(path, variables, opening.settings(path), _places(path, base)))
    found.mentions = found.paths
    found.paths = list(dict.fromkeys(found.mentions))
    if not found.paths:
        raise FileNotFoundError(f"{source!r}: no archive and no classic netCDF file")
    return found


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(os.path.expanduser(path))


def _add(found: Found, path: str, base: str | None, variables: Sequence[str], opening: Opening) -> None:
    # A version of a catalogue or of a bundle is one, too.
    file = _nc3z.without_version(path)
    if _catalogs.is_catalog(file):
        files = _catalogs.read(path, variables, opening.settings(path), _places(path, base))
        found.paths.extend(files)
        found.statistics.update(files)
    elif "://" in path:
        # Members and packed members; `set.zip!/a.nc` is a single file.
        if "!/" not in path and _nc3z.Bundle.is_name(file.partition("?")[0]):
            _add_bundle(found, path, variables, opening)
            found.searched = True
        else:
            found.paths.append(path)
    elif os.path.isdir(path):
        found.paths.extend(_tree(path, found, opening))
        found.searched = True
    elif os.path.isfile(file):
        if _nc3z.Bundle.recognizes(file):
            _add_bundle(found, path, variables, opening)
            found.searched = True
        else:
            found.paths.append(path)
    elif _nc3z.names_part(path):
        found.paths.append(path)
    elif matches := sorted(glob.glob(path, recursive=True)):
        for match in matches:
            _add(found, match, base, variables, opening)
    else:
        raise FileNotFoundError(f"{path}: no such file or directory, and no file matches this pattern")


def _add_bundle(found: Found, path: str, variables: Sequence[str], opening: Opening) -> None:
    """Adds the members of a bundle. Its own table has their headers."""
    found.paths.extend(_members(path, opening))
    if opening.bundle(path).has_table:
        found.statistics.update(_catalogs.read(path, variables, opening.settings(path)))


def _places(catalog: str, base: str | None) -> Callable[[str], str]:
    """Returns what makes paths of a catalogue's names. Relative names start at ``base``; otherwise, for a catalogue at a URL, beside it, and
    for one on disk at the current directory if the first file is there, otherwise at the catalogue's directory.
    """
    if base is None and "://" in catalog:
        base = catalog.partition("?")[0].rpartition("/")[0]

    def place(name: str) -> str:
        nonlocal base
        if base is None:
            base = os.getcwd() if os.path.exists(name.partition("!/")[0]) else os.path.dirname(catalog)
        if "://" in name:
            return name
        return _below(base, name) if "://" in base else os.path.abspath(os.path.join(base, name))

    return place


def _below(base: str, name: str) -> str:
    """Returns the URL of a name that starts at the URL of a directory."""
    bundle, is_member, member = name.partition("!/")
    parts = urlsplit(base)
    path = posixpath.normpath(f"{parts.path.rstrip('/')}/{quote(bundle)}")
    return parts._replace(path=path, query="", fragment="").geturl() + is_member + member


def _members(path: str, opening: Opening) -> list[str]:
    names = opening.bundle(path).names
    return [f"{path}!/{name}" for name in names if not name.startswith(_OWN) and not name.endswith("/")]


def _tree(root: str, found: Found, opening: Opening) -> Iterator[str]:
    """The archives, classic files and members of bundles below a directory. Where a file and its archive are side by side, the
    archive is taken. A link to a file of the tree is left out: the file has its own name.
    """
    files, _, others, _ = _nc3z.files_of_tree(root, True)
    kinds = dict.fromkeys(files, "") | dict(others)
    for path, kind in sorted(kinds.items()):
        if not os.path.isfile(path):
            # A link to nothing, or to a directory outside of the tree.
            continue
        if f"{path}.nc3z" in kinds:
            found.notes.append(f"{path}: left out, because its archive is there")
        elif kind == "link inside the tree":
            found.notes.append(f"{path}: left out, because it is a link to a file of the tree")
        elif kind and _nc3z.Bundle.recognizes(path):
            yield from _members(path, opening)
        # Catalogues among the files are about them. A linked file of another kind is left out when it is opened.
        elif kind in ("", "link out of the tree") and not _nc3z.Catalog.is_name(os.path.basename(path).encode("utf-8", "replace").decode()):
            yield path

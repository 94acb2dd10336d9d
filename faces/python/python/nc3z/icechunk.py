"""Virtual references in repositories of Icechunk: a Zarr group whose chunks are tiles of archives.

>>> import icechunk
>>> from nc3z.icechunk import container, write
>>> import nc3z
>>> _ = nc3z.archive("coads_climatology.cdf", "tas.nc3z", force=True, profile="zarr")
>>> prefix, place = container("tas.nc3z")
>>> config = icechunk.RepositoryConfig.default()
>>> config.set_virtual_chunk_container(place)
>>> allowed = icechunk.containers_credentials({prefix: None})
>>> repository = icechunk.Repository.create(icechunk.in_memory_storage(), config, authorize_virtual_chunk_access=allowed)
>>> session = repository.writable_session("main")
>>> write(session.store, "tas.nc3z")
>>> _ = session.commit("archives of today")

The repository's container defines where archives may be and how they are read. Each reference stores the archive's entity tag, or
the time since which it must not have changed. If the archive was rewritten, reading the reference is an error, and never returns
other values.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import icechunk
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync

from nc3z._core import open as open_dataset
from nc3z._references import arrays, inlined, references

if TYPE_CHECKING:
    from icechunk import IcechunkStore, VirtualChunkContainer

__all__ = ["container", "write"]


def container(archive: str | os.PathLike[str]) -> tuple[str, VirtualChunkContainer]:
    """Returns the URL of the folder of a local archive, and that folder as a container of virtual chunks."""
    folder = Path(os.fspath(archive).split("!/")[0]).absolute().parent
    prefix = folder.as_uri().rstrip("/") + "/"
    return prefix, icechunk.VirtualChunkContainer(prefix, icechunk.local_filesystem_store(str(folder)))


def write(
    store: IcechunkStore,
    archive: str | os.PathLike[str] | Mapping[str, Any],
    *,
    group: str = "",
    location: str | None = None,
    checksum: str | datetime | None = None,
    version: int | str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> None:
    """Writes the group of an archive, with virtual references to its tiles, into a session's store.

    Parameters
    ----------
    store
        ``session.store`` of a writable session, whose repository has a container for ``location``.
    archive
        A path, a URL, or the parsed JSON of ``nc3z refs --format icechunk``. Its arrays must be stored as Zarr stores them.
    group
        The group's path in the repository; the root by default.
    location
        The URL of the archive for readers, if it is not the current one. For a member of a bundle, the URL of the bundle.
    checksum
        The entity tag at that location, or the time since which it must not have changed. The default are the current ones, if
        ``location`` is not given.
    version, storage_options
        As for :func:`nc3z.open`.

    Raises
    ------
    ValueError
        A variable is not stored as Zarr stores arrays, or no container of the repository includes the location.
    """
    if isinstance(archive, Mapping):
        refs: Mapping[str, Any] = archive
    else:
        refs = _references(archive, location, version, storage_options)
    location = location or _as_url(refs["location"])
    checksum = checksum or _checksum(refs.get("checksum"))
    prefix = f"{group.strip('/')}/" if group.strip("/") else ""
    documents = {f"{prefix}{path}": document for path, document in refs["documents"].items()}
    sync(_put(store, {path: json.dumps(document).encode() for path, document in documents.items()}))
    for name, _, chunks in arrays(refs):
        told = {"etag_checksum": checksum} if isinstance(checksum, str) else {"last_updated_at_checksum": checksum}
        specs = [
            icechunk.VirtualChunkSpec(index, location, offset, length, **told) for index, offset, length in chunks["chunks"]
        ]
        if specs and store.set_virtual_refs(f"/{prefix}{name}", specs, validate_containers=True):
            raise ValueError(f"no container of the repository has {location}")
        own = {f"{prefix}{name}/{'/'.join(['c', *map(str, index)])}": data for index, data in inlined(chunks)}
        sync(_put(store, own))


def _references(
    archive: str | os.PathLike[str], location: str | None, version: int | str | None, storage_options: Mapping[str, Any] | None
) -> dict[str, Any]:
    with open_dataset(archive, version=version, storage_options=storage_options) as ds:
        # The path of the bundle, if the archive is a member of one.
        file = ds._file or os.fspath(archive)
        tag, modified = None, None
        if location is None and ds.identity is not None:
            tag = ds.identity if ds.identity.startswith('"') else None
        elif location is None:
            modified = int(os.stat(file).st_mtime) + 1
        return references(ds, location or _as_url(file), etag=tag, modified=modified)


def _as_url(location: str) -> str:
    return location if "://" in location else Path(location).absolute().as_uri()


def _checksum(found: Mapping[str, Any] | None) -> str | datetime | None:
    if not found:
        return None
    if "etag" in found:
        return str(found["etag"])
    return datetime.fromtimestamp(found["last_modified"], UTC)


async def _put(store: IcechunkStore, values: Mapping[str, bytes]) -> None:
    buffer = default_buffer_prototype().buffer
    await asyncio.gather(*(store.set(key, buffer.from_bytes(data)) for key, data in values.items()))

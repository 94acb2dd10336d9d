"""A parser for VirtualiZarr: presents archives as virtual Zarr 3 groups. Zarr reads their chunks directly from the archive.

The arrays of the archive must be stored as Zarr stores them (``nc3z archive --profile zarr``, ``nc3z.archive(…,
profile="zarr")``); otherwise the error names the variable. Readers of the result need this package only for chunks of the codec
``nc3z.num``. It requires VirtualiZarr 2.8 or later, and therefore Python 3.12: small chunks are stored in the manifest itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from obspec_utils.readers import BlockStoreReader
from virtualizarr.manifests import ChunkManifest, ManifestArray, ManifestGroup, ManifestStore
from zarr.core.metadata import ArrayV3Metadata

from nc3z._core import open as open_dataset
from nc3z._references import arrays, inlined, references

if TYPE_CHECKING:
    from obspec_utils.registry import ObjectStoreRegistry

__all__ = ["Nc3zParser"]

class Nc3zParser:
    """Makes a ``ManifestStore`` of an archive. Use it by VirtualiZarr's ``open_virtual_dataset(url, registry,
    parser=Nc3zParser())``.

    Parameters
    ----------
    version
        The version of an archive with several versions, by number or tag; the last by default.
    """

    def __init__(self, *, version: int | str | None = None) -> None:
        self.version = version

    def __call__(self, url: str, registry: ObjectStoreRegistry[Any]) -> ManifestStore:
        if "!/" in url:
            raise ValueError(f"{url}: stores have no members of bundles; nc3z.icechunk and `nc3z refs` refer to these")
        store, path = registry.resolve(url)
        with open_dataset(BlockStoreReader(store, path), version=self.version) as ds:
            refs = references(ds, url)
        found = {name: _array(document, chunks, url) for name, document, chunks in arrays(refs)}
        group = ManifestGroup(arrays=found, attributes=refs["documents"]["zarr.json"]["attributes"])
        return ManifestStore(group=group, registry=registry)


def _array(document: dict[str, Any], chunks: Mapping[str, Any], url: str) -> ManifestArray:
    entries: dict[str, dict[str, Any]] = {
        _key(index): {"path": url, "offset": offset, "length": length} for index, offset, length in chunks["chunks"]
    }
    for index, data in inlined(chunks):
        entries[_key(index)] = {"path": "", "offset": 0, "length": len(data), "data": data}
    manifest = ChunkManifest(entries=entries, shape=tuple(chunks["grid"]))
    return ManifestArray(metadata=ArrayV3Metadata.from_dict(document), chunkmanifest=manifest)


def _key(index: Iterable[int]) -> str:
    return ".".join(map(str, index)) or "0"

"""Zarr 3: a read-only store for archives and classic files, and the codec ``nc3z.num`` for other stores.

>>> import xarray as xr
>>> from nc3z.zarr import Nc3zStore
>>> xr.open_zarr(Nc3zStore("coads_climatology.nc3z"), decode_times=False, chunks=None).SST.shape
(12, 90, 180)

The store decodes in Rust and returns uncompressed chunks. Its readers need no codec, whatever codec the archive uses. Data that
are written with ``nc3z.num`` need this package for reading.
"""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from zarr.abc.codec import ArrayBytesCodec
from zarr.abc.store import (
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    Store,
    SuffixByteRequest,
)
from zarr.core.common import parse_named_configuration

from nc3z._num import decode, encode

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, BufferPrototype, NDBuffer

    from nc3z._core import Dataset, Source
    from nc3z._nc3z import Variable

#: The approximate length of a chunk in bytes. A chunk consists of whole tiles of an archive.
CHUNK_NBYTES = 8 << 20

_METADATA = "zarr.json"


class Nc3zStore(Store):
    """An archive or a classic netCDF file as a read-only Zarr 3 group: an array for each variable.

    Chunks are boxes of whole tiles, decoded when they are read. Only the package's cache keeps decoded tiles. Attributes are
    JSON: numbers lose their types. ``_FillValue`` is written as xarray writes it.

    Parameters
    ----------
    source
        Anything that :func:`nc3z.open` takes, or an open :class:`nc3z.Dataset`, which the store then shares.
    version, storage_options
        As for :func:`nc3z.open`.
    chunk_nbytes
        The approximate length of a chunk in bytes.
    """

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(
        self,
        source: Source | Dataset,
        *,
        version: int | str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        chunk_nbytes: int = CHUNK_NBYTES,
    ) -> None:
        super().__init__(read_only=True)
        from nc3z._core import Dataset
        from nc3z._core import open as open_dataset

        if isinstance(source, Dataset):
            self._dataset = source
        else:
            self._dataset = open_dataset(source, version=version, storage_options=storage_options)
        self._chunk_nbytes = chunk_nbytes
        arrays = {name: self._array(variable) for name, variable in self._dataset.items()}
        self._grids = {name: array["chunk_grid"]["configuration"]["chunk_shape"] for name, array in arrays.items()}
        group = {
            "zarr_format": 3,
            "node_type": "group",
            "attributes": {name: _json(value) for name, value in self._dataset.attrs.items()},
            "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": arrays},
        }
        self._documents = {f"{name}/{_METADATA}": _document(array) for name, array in arrays.items()}
        self._documents[_METADATA] = _document(group)

    def _array(self, variable: Variable) -> dict[str, Any]:
        dtype = variable.dtype
        attributes = variable.attrs
        fill: Any = attributes.get("_FillValue")
        if dtype == np.dtype("S1"):
            # Attributes cannot contain bytes.
            attributes.pop("_FillValue", None)
            data_type: Any = {"name": "null_terminated_bytes", "configuration": {"length_bytes": 1}}
            fill_value: Any = base64.standard_b64encode(fill[:1] if isinstance(fill, bytes) else b"").decode()
        else:
            data_type, fill_value = dtype.name, _fill_value(fill, dtype)
        written = {name: _json(value) for name, value in attributes.items()}
        if "_FillValue" in written:
            # Readers expect one value of the array's type: no element equals another one.
            if isinstance(fill, str | bytes) or np.ndim(fill) != 0 or not _is_value(fill, dtype):
                del written["_FillValue"]
                if not isinstance(fill, str | bytes) and np.ndim(fill) != 0:
                    # `missing_value` lists several values; `_FillValue` holds one.
                    written["missing_value"] = [*np.ravel(fill).tolist(), *np.ravel(attributes.get("missing_value", [])).tolist()]
            elif dtype.kind == "f":
                written["_FillValue"] = base64.standard_b64encode(struct.pack("<d", float(fill))).decode()
        codec: dict[str, Any] = {"name": "bytes"}
        if dtype.itemsize > 1:
            codec["configuration"] = {"endian": "little"}
        return {
            "zarr_format": 3,
            "node_type": "array",
            "shape": list(variable.shape),
            "data_type": data_type,
            "chunk_grid": {
                "name": "regular",
                "configuration": {"chunk_shape": list(variable.chunk_shape(self._chunk_nbytes))},
            },
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": fill_value,
            "codecs": [codec],
            "attributes": written,
            "dimension_names": list(variable.dimensions),
            "storage_transformers": [],
        }

    def _chunk(self, key: str) -> np.ndarray[Any, Any] | None:
        """Returns the bytes of a chunk, padded at the edges. None if the key is not that of a chunk."""
        name, mark, numbers = key.partition("/c")
        chunk = self._grids.get(name)
        if chunk is None or not mark:
            return None
        parts = numbers.split("/")[1:]
        if len(parts) != len(chunk) or not all(n.isascii() and n.isdigit() for n in parts) or numbers[:1] not in ("", "/"):
            return None
        variable = self._dataset[name]
        starts = [int(n) * length for n, length in zip(parts, chunk, strict=True)]
        if any(start >= length for start, length in zip(starts, variable.shape, strict=True)):
            return None
        box = tuple(
            slice(start, min(start + length, n))
            for start, length, n in zip(starts, chunk, variable.shape, strict=True)
        )
        whole = all(s.stop - s.start == length for s, length in zip(box, chunk, strict=True))
        if whole:
            found = np.asarray(variable[box])
        else:
            found = np.zeros(chunk, variable.dtype)
            found[tuple(slice(0, s.stop - s.start) for s in box)] = variable[box]
        if found.dtype.itemsize > 1:
            found = found.astype(found.dtype.newbyteorder("<"), copy=False)
        return np.ascontiguousarray(found).reshape(-1).view(np.uint8)

    def _read(self, key: str, prototype: BufferPrototype, wanted: ByteRequest | None) -> Buffer | None:
        document = self._documents.get(key)
        found = self._chunk(key) if document is None else np.frombuffer(document, np.uint8)
        if found is None:
            return None
        if isinstance(wanted, RangeByteRequest):
            found = found[wanted.start : wanted.end]
        elif isinstance(wanted, OffsetByteRequest):
            found = found[wanted.offset :]
        elif isinstance(wanted, SuffixByteRequest):
            found = found[max(0, found.size - wanted.suffix) :]
        return prototype.buffer.from_array_like(found)

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Returns a metadata document or a chunk, decoded in a thread."""
        if prototype is None:
            from zarr.core.buffer import default_buffer_prototype

            prototype = default_buffer_prototype()
        if key in self._documents:
            return self._read(key, prototype, byte_range)
        return await asyncio.to_thread(self._read, key, prototype, byte_range)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Returns several documents or chunks."""
        return list(await asyncio.gather(*(self.get(key, prototype, wanted) for key, wanted in key_ranges)))

    async def exists(self, key: str) -> bool:
        """Returns whether a document or chunk has this key."""
        if key in self._documents:
            return True
        name, mark, _ = key.partition("/c")
        return bool(mark) and any(key == chunk for chunk in self._chunks(name))

    async def set(self, key: str, value: Buffer) -> None:
        """Raises an error: archives are written by :func:`nc3z.archive`."""
        self._check_writable()

    async def delete(self, key: str) -> None:
        """Raises an error: archives are read-only."""
        self._check_writable()

    def _chunks(self, name: str) -> Iterable[str]:
        if name not in self._grids:
            return
        shape, chunk = self._dataset[name].shape, self._grids[name]
        counts = [-(-n // length) for n, length in zip(shape, chunk, strict=True)]
        for numbers in np.ndindex(*counts):
            yield "/".join([name, "c", *map(str, numbers)])

    async def list(self) -> AsyncIterator[str]:
        """Yields all keys."""
        for key in self._documents:
            yield key
        for name in self._grids:
            for key in self._chunks(name):
                yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Yields all keys that begin with ``prefix``."""
        async for key in self.list():
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yields the names in a folder."""
        folder = prefix.rstrip("/")
        if not folder:
            yield _METADATA
            for name in self._grids:
                yield name
            return
        seen = set()
        async for key in self.list_prefix(folder + "/"):
            first = key[len(folder) + 1 :].split("/")[0]
            if first not in seen:
                seen.add(first)
                yield first

    def with_read_only(self, read_only: bool = False) -> Self:
        """Returns the store itself, which is always read-only."""
        if not read_only:
            raise ValueError("an nc3z store is read-only")
        return self

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Nc3zStore)
            and self._chunk_nbytes == other._chunk_nbytes
            and (self._dataset is other._dataset or self._identity() == other._identity())
        )

    __hash__ = None  # type: ignore[assignment]

    def _identity(self) -> object:
        ds = self._dataset
        return (ds.path, ds.version, ds.sha256, ds.identity) if ds.path else id(ds)

    def __repr__(self) -> str:
        return f"<nc3z.zarr.Nc3zStore of {self._dataset.path or 'bytes'}>"


def _document(value: object) -> bytes:
    # NaN in an attribute is written in the form that zarr-python uses.
    return json.dumps(value).encode()


def _json(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _is_value(number: Any, dtype: np.dtype[Any]) -> bool:
    """Returns whether an integer type has a number. A floating-point type has all numbers."""
    if dtype.kind == "f":
        return True
    limits = np.iinfo(dtype)
    return bool(np.isfinite(number)) and int(number) == number and limits.min <= int(number) <= limits.max


def _fill_value(fill: Any, dtype: np.dtype[Any]) -> Any:
    """Returns the value for a missing chunk. Zarr requires one, although no chunk is missing."""
    if fill is None or isinstance(fill, (str, bytes)) or np.ndim(fill) != 0:
        return 0.0 if dtype.kind == "f" else 0
    if dtype.kind != "f":
        return int(fill) if _is_value(fill, dtype) else 0
    number = float(fill)
    if np.isfinite(number):
        return number
    return "NaN" if np.isnan(number) else ("Infinity" if number > 0 else "-Infinity")


@dataclass(frozen=True)
class Num(ArrayBytesCodec):
    """The numeric codec of nc3z as a codec of Zarr 3: ``serializer=nc3z.zarr.Num()``, ``compressors=None``.

    It encodes integers of 8 to 64 bits and floats of 32 and 64 bits, without loss. It has no checksum of its own: Zarr's
    ``crc32c`` can follow it.
    """

    is_fixed_size = False

    level: str = "default"
    """``"fast"``, ``"default"`` or ``"max"``: the effort of encoding. Every reader decodes all of them."""

    def __post_init__(self) -> None:
        if self.level not in ("fast", "default", "max"):
            raise ValueError(f'unknown level {self.level!r}; expected "fast", "default" or "max"')

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Makes a codec from the metadata of an array."""
        _, configuration = parse_named_configuration(data, "nc3z.num", require_configuration=False)
        configuration = dict(configuration or {})
        level = configuration.pop("level", "default")
        if configuration:
            raise ValueError(f"nc3z.num has no setting {next(iter(configuration))!r}")
        return cls(str(level))

    def to_dict(self) -> Any:
        """Returns the entry for the metadata of an array."""
        return {"name": "nc3z.num", "configuration": {"level": self.level}}

    def validate(self, *, shape: Any, dtype: Any, chunk_grid: Any) -> None:
        """Raises an error for types that are not numbers of 8 to 64 bits."""
        native = np.dtype(dtype.to_native_dtype())
        if native.kind not in "iuf" or native.itemsize not in (1, 2, 4, 8) or native == np.dtype("f2"):
            raise ValueError(f"nc3z.num does not encode elements of type {native}")

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        """Raises an error: the encoded size is not known in advance."""
        raise NotImplementedError

    def _decode_sync(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        dtype = np.dtype(chunk_spec.dtype.to_native_dtype()).newbyteorder("=")
        # Zarr's type annotation for arrays is narrower than NumPy's.
        found: Any = decode(chunk_data.to_bytes(), dtype, chunk_spec.shape)
        return chunk_spec.prototype.nd_buffer.from_ndarray_like(found)

    def _encode_sync(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> Buffer:
        array = np.asarray(chunk_data.as_numpy_array())
        payload = encode(array, chunk_spec.shape, self.level, chunk_spec.fill_value)
        return chunk_spec.prototype.buffer.from_bytes(payload)

    async def _decode_single(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        return await asyncio.to_thread(self._decode_sync, chunk_data, chunk_spec)

    async def _encode_single(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> Buffer | None:
        return await asyncio.to_thread(self._encode_sync, chunk_data, chunk_spec)

"""The xarray engine: ``xarray.open_dataset(path or URL, engine="nc3z")``, and ``dataset.nc3z.to_archive(path)``.

Importing this imports only xarray's interface: the reader is loaded when a file is opened. The engine opens archives
automatically, and classic files only with ``engine="nc3z"``. Nothing takes a lock. Datasets are pickled by path. If one is used
after ``close``, it is opened again, as with xarray's other engines.
"""

from __future__ import annotations

import errno
import os
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack

import numpy as np
import xarray as xr
from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint
from xarray.backends.store import StoreBackendEntrypoint
from xarray.core import indexing
from xarray.core.utils import FrozenDict

from nc3z._cast import refuse_texts

if TYPE_CHECKING:
    from nc3z._nc3z import Dataset, Variable
    from nc3z._operations import Archived, ArchiveOptions

#: The first bytes of an archive.
MAGIC = b"\x89NC3Z\r\n\x1a"
#: The parameters by which xarray decodes values.
DECODING = ("mask_and_scale", "decode_times", "concat_characters", "decode_coords", "drop_variables", "use_cftime", "decode_timedelta")
#: Types that CDF-5 has and CDF-2 does not have.
_CDF5_TYPES = tuple(np.dtype(name) for name in ("int64", "uint64", "uint32", "uint16", "uint8"))


class _File:
    """An open dataset. It is opened again if it is used after it was closed or pickled."""

    __slots__ = ("_dataset", "_origin")

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        # None for a file object, which cannot be opened again.
        try:
            self._origin = dataset.__reduce__()
        except TypeError:
            self._origin = ()

    def dataset(self) -> Dataset:
        if self._dataset.closed and self._origin:
            opener, arguments = self._origin
            self._dataset = opener(*arguments)
        return self._dataset

    def close(self) -> None:
        self._dataset.close()

    def token(self) -> tuple[object, ...]:
        """Returns a value that changes with the content: the stored SHA-256, otherwise the file's name, length and time, or
        the entity tag of the object in its store.
        """
        dataset = self.dataset()
        # The digest of an aggregation does not cover the values of its fragments.
        if dataset.sha256 is not None and dataset.kind == "archive":
            return (dataset.sha256,)
        if dataset.identity is not None:
            return (dataset.path, dataset.identity)
        if dataset.path is None:
            return (id(self),)
        # For a member of a bundle, the bundle is checked.
        status = os.stat(dataset.path if os.path.exists(dataset.path) else dataset.path.split("!/")[0])
        return (dataset.path, status.st_size, status.st_mtime_ns, dataset.version)

    def __reduce__(self) -> tuple[Any, ...]:
        if not self._origin:
            raise TypeError("a dataset of a file object stays in its process; open it by path to pickle it")
        return _reopen, self._origin


def _reopen(opener: Any, arguments: tuple[Any, ...]) -> _File:
    return _File(opener(*arguments))


def c_names(names: Iterable[str]) -> dict[str, str]:
    """Maps names in the file to the names that the C library returns, which end at a NUL. Names are unchanged where two would
    become equal.
    """
    kept = list(names)
    cut = [name.split("\0", 1)[0] for name in kept]
    return dict(zip(kept, cut if len(set(cut)) == len(cut) else kept, strict=True))


def with_c_names(values: Mapping[str, Any] | Dataset) -> dict[str, Any]:
    names = c_names(values)
    return {names[name]: value for name, value in values.items()}


class LazyArray(BackendArray):
    """An array that reads outer selections: for each dimension an index, a slice or a list."""

    __slots__ = ()
    shape: tuple[int, ...]

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        if isinstance(key, indexing.BasicIndexer | indexing.OuterIndexer):
            return self.read(key.tuple)
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self.read)

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        """Reads in a thread, while the event loop continues."""
        import asyncio

        return await asyncio.to_thread(self.__getitem__, key)

    def read(self, key: tuple[Any, ...]) -> Any:
        """Reads an outer selection."""
        raise NotImplementedError


class Nc3zArray(LazyArray):
    """A variable with xarray's interface for indexing. Any number of threads may read at once."""

    __slots__ = ("dtype", "file", "name", "shape")

    def __init__(self, file: _File, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.file, self.name, self.shape, self.dtype = file, name, shape, dtype

    def read(self, key: tuple[Any, ...]) -> Any:
        """Reads an outer selection. Lists read the tiles of their indices, not the range that they span."""
        return self.file.dataset()[self.name][key]

    def __reduce__(self) -> tuple[Any, ...]:
        # Dask names the data of a dataset by the hash of its pickle, since xarray's own layers around this array ask for no
        # token. Therefore the pickle contains a value that changes with the content.
        from nc3z._errors import Error

        try:
            token: tuple[object, ...] = self.__dask_tokenize__()
        except (OSError, Error):
            # Reading reports the error.
            token = ()
        return _array, (self.file, self.name, self.shape, self.dtype, token)

    def __dask_tokenize__(self) -> tuple[object, ...]:
        # The values of an aggregation are in other files, which may be replaced.
        return ("nc3z", self.name, *self.file.token(), self.file.dataset()._fragments(self.name))


def _array(file: _File, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], _token: object) -> Nc3zArray:
    return Nc3zArray(file, name, shape, dtype)


class Nc3zStore(AbstractDataStore):
    """An open dataset with xarray's interface for backends."""

    __slots__ = ("dimensions", "file", "source")

    def __init__(self, dataset: Dataset) -> None:
        self.file = _File(dataset)
        self.source = dataset.path
        self.dimensions = c_names(dataset.dimensions)

    def open_store_variable(self, variable: Variable) -> xr.Variable:
        """Returns a lazy variable. Its ``encoding`` has the entries of netCDF4's engine, and ``preferred_chunks``."""
        array = Nc3zArray(self.file, variable.name, variable.shape, variable.dtype)
        encoding: dict[str, Any] = {"dtype": variable.dtype}
        attributes = with_c_names(variable.attrs)
        dimensions = [self.dimensions[name] for name in variable.dimensions]
        if "least_significant_digit" in attributes:
            encoding["least_significant_digit"] = attributes.pop("least_significant_digit")
        if self.source is not None:
            encoding["source"] = self.source
        encoding["original_shape"] = variable.shape
        if variable.ndim:
            chunks = variable.chunk_shape()
            encoding["preferred_chunks"] = dict(zip(dimensions, chunks, strict=True))
        return xr.Variable(dimensions, indexing.LazilyIndexedArray(array), attributes, encoding)

    def get_variables(self) -> Any:
        variables = with_c_names(self.file.dataset())
        return FrozenDict((name, self.open_store_variable(v)) for name, v in variables.items())

    def get_attrs(self) -> Any:
        return FrozenDict(with_c_names(self.file.dataset().attrs))

    def get_dimensions(self) -> Any:
        return FrozenDict((self.dimensions[name], d.size) for name, d in self.file.dataset().dimensions.items())

    def get_encoding(self) -> dict[str, Any]:
        dimensions = self.file.dataset().dimensions.items()
        return {"unlimited_dims": {self.dimensions[name] for name, d in dimensions if d.isunlimited()}}

    def close(self) -> None:
        self.file.close()


class Nc3zBackendEntrypoint(BackendEntrypoint):
    """Opens nc3z archives and, when asked, classic netCDF files."""

    description: ClassVar[str] = "Open nc3z archives (.nc3z) and classic netCDF files without locks"
    supports_groups: ClassVar[bool] = False
    # These are also valid if the class is given in place of the name.
    open_dataset_parameters: ClassVar[tuple[str, ...] | None] = (
        "filename_or_obj",
        *DECODING,
        "version",
        "storage_options",
        "fill_lost",
        "outside",
        "fill_missing",
        "root",
        "tree",
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Returns whether a file is an archive, by its first bytes. A URL is recognized by its name."""
        if isinstance(filename_or_obj, (bytes, bytearray, memoryview)):
            return bytes(filename_or_obj[: len(MAGIC)]) == MAGIC
        if isinstance(filename_or_obj, (str, os.PathLike)):
            path = os.fspath(filename_or_obj)
            if "://" in path:
                return path.split("?")[0].split("#")[0].endswith(".nc3z")
            try:
                with open(os.path.expanduser(path), "rb") as file:
                    return file.read(len(MAGIC)) == MAGIC
            except OSError:
                return False
        if hasattr(filename_or_obj, "read") and hasattr(filename_or_obj, "seek"):
            at = filename_or_obj.tell()
            filename_or_obj.seek(0)
            magic = filename_or_obj.read(len(MAGIC))
            filename_or_obj.seek(at)
            return bool(magic == MAGIC)
        return False

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: bool = True,
        concat_characters: bool = True,
        decode_coords: bool = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: bool | None = None,
        version: int | str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        fill_lost: bool = False,
        outside: bool = False,
        fill_missing: bool = False,
        root: str | None = None,
        tree: str | None = None,
    ) -> xr.Dataset:
        """Opens a file or a URL lazily. xarray decodes the values. For ``version`` and the following options see
        :func:`nc3z.open`.
        """
        import nc3z

        if isinstance(filename_or_obj, (str, os.PathLike)):
            path = os.fspath(filename_or_obj)
            filename_or_obj = path if "://" in path or path == "-" else os.path.abspath(os.path.expanduser(path))
        dataset = nc3z.open(
            filename_or_obj,
            version=version,
            storage_options=storage_options,
            fill_lost=fill_lost,
            outside=outside,
            fill_missing=fill_missing,
            root=root,
            tree=tree,
        )
        store = Nc3zStore(dataset)
        try:
            opened: xr.Dataset = StoreBackendEntrypoint().open_dataset(
                store,
                mask_and_scale=mask_and_scale,
                decode_times=decode_times,
                concat_characters=concat_characters,
                decode_coords=decode_coords,
                drop_variables=drop_variables,
                use_cftime=use_cftime,
                decode_timedelta=decode_timedelta,
            )
        except BaseException:
            store.close()
            raise
        if isinstance(filename_or_obj, str) and "://" in filename_or_obj:
            # Otherwise xarray stores the URL with its secrets.
            opened.encoding["source"] = dataset.path
        return opened


#: True where xarray lets netCDF4 write a file in memory.
_NETCDF4_WRITES_MEMORY = tuple(int(part) for part in xr.__version__.split(".")[:2] if part.isdigit()) >= (2025, 9)

def _is_wide(value: Any) -> bool:
    """Returns whether an attribute's numbers need more than 32-bit integers."""
    array = np.asarray(value)
    return array.dtype.kind in "iu" and array.dtype.itemsize >= 4 and not np.array_equal(array.astype("i4"), array)


Format = Literal["NETCDF3_CLASSIC", "NETCDF3_64BIT", "NETCDF3_64BIT_DATA"]


class Nc3zAccessor:
    """``dataset.nc3z``: writing archives."""

    def __init__(self, dataset: xr.Dataset) -> None:
        self._dataset = dataset

    def to_archive(
        self,
        path: str | os.PathLike[str],
        *,
        format: Format | None = None,
        encoding: Any = None,
        unlimited_dims: Iterable[str] | None = None,
        **options: Unpack[ArchiveOptions],
    ) -> Archived:
        """Writes the dataset as a classic file in memory, and archives that.

        xarray writes the classic file with scipy. For ``"NETCDF3_64BIT_DATA"`` (CDF-5, which has 64-bit and unsigned integers), and
        for records beside variables without dimensions, it uses netCDF4. Without ``format``, a dataset with variables of such a
        type becomes CDF-5, with a warning, and any other becomes CDF-2. ``encoding`` and ``unlimited_dims`` are those of
        ``Dataset.to_netcdf``. For ``options`` see :func:`nc3z.archive`. Before version 2025.9, xarray's netCDF4 engine only writes
        files: it then writes to a temporary folder in the directory of ``path``.
        """
        import nc3z

        path = os.fspath(path)
        if not options.get("force") and os.path.lexists(path):
            # Checked before the dataset is computed. A file that is created meanwhile is not replaced either.
            raise FileExistsError(errno.EEXIST, "the file exists; `force=True` replaces it", path)
        for attributes in (self._dataset.attrs, *(variable.attrs for variable in self._dataset.variables.values())):
            for name, value in attributes.items():
                refuse_texts(value, f"attribute {name}")
        if format is None:
            format = self._chosen(encoding or {})
        keywords = {"format": format, "encoding": encoding, "unlimited_dims": unlimited_dims}
        records = self._dataset.encoding.get("unlimited_dims") if unlimited_dims is None else unlimited_dims
        # In files with records, scipy writes variables without dimensions over the first records.
        is_scipys = not records or all(variable.dims for variable in self._dataset.variables.values())
        # The type annotations lack this form of the call, which the code supports.
        dataset: Any = self._dataset
        if format != "NETCDF3_64BIT_DATA" and is_scipys:
            return nc3z.archive(dataset.to_netcdf(engine="scipy", **keywords), path, **options)
        # netCDF4's writers leave Dask's arrays unwritten, or fail where other processes compute them.
        if any(variable.chunks is not None for variable in dataset.variables.values()):
            dataset = dataset.compute()

        def write(target: str | None) -> Any:
            if format == "NETCDF3_64BIT_DATA":
                return self._cdf5(dataset, target, encoding, unlimited_dims)
            return dataset.to_netcdf(target, engine="netcdf4", **keywords)

        if _NETCDF4_WRITES_MEMORY:
            return nc3z.archive(write(None), path, **options)
        directory = os.path.dirname(os.path.abspath(path))
        with tempfile.TemporaryDirectory(prefix=".nc3z-", dir=directory) as folder:
            classic = os.path.join(folder, "classic.nc")
            write(classic)
            return nc3z.archive(classic, path, **options)

    def _chosen(self, encoding: Any) -> Format:
        """Returns CDF-5 if a variable has a type that CDF-2 does not have."""
        wide = []
        for name, variable in self._dataset.variables.items():
            wanted = encoding.get(name, {}).get("dtype", variable.encoding.get("dtype", variable.dtype))
            if isinstance(wanted, type | str | np.dtype) and np.dtype(wanted) in _CDF5_TYPES:
                wide.append(f"{name} ({np.dtype(wanted)})")
        if not wide:
            return "NETCDF3_64BIT"
        warnings.warn(
            f"{', '.join(wide)}: the archive is one of a CDF-5 file, since CDF-2 has no such type; format='NETCDF3_64BIT' makes integers of 32 bits where they fit",
            stacklevel=3,
        )
        return "NETCDF3_64BIT_DATA"

    @staticmethod
    def _cdf5(dataset: Any, path: str | None, encoding: Any, unlimited_dims: Iterable[str] | None) -> Any:
        """Returns a dataset in memory as a CDF-5 file: its bytes, or a file on disk. xarray's own call converts to 32-bit integers, or
        refuses.
        """
        import netCDF4
        from xarray.backends import NetCDF4DataStore

        class Store(NetCDF4DataStore):
            def encode_variable(self, variable: xr.Variable, name: Any = None) -> xr.Variable:
                kept = {key: value for key, value in variable.attrs.items() if _is_wide(value)}
                if variable.dtype not in _CDF5_TYPES:
                    variable = variable._replace(attrs={k: v for k, v in variable.attrs.items() if k not in kept})
                    inherited: Any = super()
                    encoded: xr.Variable = inherited.encode_variable(variable, name=name)
                    return encoded._replace(attrs={**encoded.attrs, **kept})
                # The fill value has the variable's type. Other attributes are written as xarray writes them.
                kept |= {key: variable.attrs[key] for key in ("_FillValue", "missing_value") if key in variable.attrs}
                attrs = {key: kept.get(key, value) for key, value in variable.attrs.items()}
                return variable._replace(attrs={k: v if k in kept else self.encode_attribute(v) for k, v in attrs.items()})

            def encode_attribute(self, a: Any) -> Any:
                inherited: Any = super()
                return a if _is_wide(a) else inherited.encode_attribute(a)

        store: Any = Store
        memory: Any = {} if path else {"memory": 1}
        file = netCDF4.Dataset(path or "in-memory", "w", format="NETCDF3_64BIT_DATA", **memory)
        try:
            dataset.dump_to_store(store(file, autoclose=False), encoding=encoding, unlimited_dims=unlimited_dims)
        except BaseException:
            file.close()
            raise
        return file.close()


_register: Any = xr.register_dataset_accessor
_register("nc3z")(Nc3zAccessor)

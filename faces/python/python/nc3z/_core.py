"""Opens files."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, overload

from nc3z import _nc3z
from nc3z._nc3z import (
    Cancel,
    Dataset,
    Dimension,
    Variable,
    __version__,
    cache_stats,
    get_threads,
    set_cache,
    set_threads,
)

if TYPE_CHECKING:
    from nc3z._edit import Edit

__all__ = [
    "Cancel",
    "Dataset",
    "Dimension",
    "Source",
    "Variable",
    "__version__",
    "cache_stats",
    "get_threads",
    "open",
    "set_cache",
    "set_threads",
]

Mapping.register(Dataset)

#: The types that can be opened: a path or a URL, bytes, a binary file object.
Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO


@overload
def open(
    source: Source | Any,
    mode: Literal["r"] = "r",
    *,
    version: int | str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    fill_lost: bool = False,
    as_stored: bool = False,
    outside: bool = False,
    fill_missing: bool = False,
    decode: bool = False,
    root: str | None = None,
    tree: str | os.PathLike[str] | None = None,
) -> Dataset: ...
@overload
def open(source: str | os.PathLike[str], mode: Literal["r+"]) -> "Edit": ...
def open(
    source: Source | Any,
    mode: str = "r",
    *,
    version: int | str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    fill_lost: bool = False,
    as_stored: bool = False,
    outside: bool = False,
    fill_missing: bool = False,
    decode: bool = False,
    root: str | None = None,
    tree: str | os.PathLike[str] | None = None,
) -> "Dataset | Edit":
    """Opens an archive or a classic netCDF file. The first bytes decide which it is.

    Parameters
    ----------
    source
        A path; a URL (``https``, ``s3``, ``gs``, ``az``), of which only the needed bytes are fetched; the file's bytes; or a
        binary file object with ``read`` and ``seek``, which any thread may read, one at a time. Local files are mapped. A member
        of a bundle is named ``set.zip!/a.nc.nc3z``. The variables of an aggregation have the data of its fragments, which are in
        the same directory.
    mode
        ``"r"`` reads. ``"r+"`` edits the newest version of an archive on disk, see :class:`nc3z.Edit`. Earlier versions are
        never changed.
    version
        The version of an archive with several versions, by number or tag; the last by default.
    storage_options
        For a URL: settings of its store by name, such as ``region``, ``endpoint``, ``skip_signature``. All stores have
        ``timeout``, ``connect_timeout``, ``max_retries``, ``retry_timeout`` (times in seconds).
    fill_lost
        Where an archive is damaged or has lost tiles, return fill values instead of raising an error.
    as_stored, outside, fill_missing
        For an aggregation. ``as_stored`` reads the variables that describe it, without its fragments. ``outside`` trusts it:
        fragments may be outside its directory, or on a server. ``fill_missing`` returns missing values instead of an error where
        a fragment does not exist.
    decode
        Return decoded values in masked arrays, as netCDF4-python does, and NaN masked: ``_Unsigned``, ``scale_factor``, ``add_offset``,
        ``_FillValue``, ``missing_value`` and valid ranges are applied. Times since a date become ``datetime64[us]``, or ISO text
        in calendars that NumPy does not have.
    root, tree
        Check every value against this root (``nc3z hash --root``) before it is returned. Bytes that do not belong to the dataset
        raise :class:`nc3z.CorruptError`, which names the tile. ``tree`` is the path or URL of the tree file (``nc3z hash
        --tree``), which need not be trusted. Without it, opening reads the whole dataset.

    Returns
    -------
    Dataset or Edit
        A mapping of variables by name. ``variables``, ``dimensions`` and ``ncattrs()`` are as in netCDF4-python, but values are
        neither masked nor scaled, unless ``decode`` is given.

    Raises
    ------
    FileNotFoundError, OSError
        An error of the operating system.
    nc3z.CorruptError, nc3z.UnsupportedError, nc3z.LimitError
        The file is damaged, of an unknown kind, or exceeds a limit.

    Examples
    --------
    >>> ds = nc3z.open("coads_climatology.nc3z")
    >>> list(ds)[:4]
    ['COADSX', 'COADSY', 'TIME', 'SST']
    >>> ds["SST"][0, 45, ::60]                  # degrees Celsius; -1e34 where there is none
    array([-9.9999998e+33,  2.8910908e+01,  2.4900000e+01], dtype=float32)
    >>> ds["SST"][-1, ::-45, 0].shape           # backwards in latitude
    (2,)
    >>> ds.dimensions["TIME"].isunlimited(), ds["SST"].dimensions
    (True, ('TIME', 'COADSY', 'COADSX'))
    """
    if mode not in ("r", "r+"):
        raise ValueError(f"mode {mode!r} is neither 'r' nor 'r+'; a version is asked for by version={mode!r}")
    if mode == "r+":
        from nc3z._edit import Edit

        if version is not None or storage_options is not None or fill_lost or as_stored or outside or fill_missing or decode or root or tree:
            raise ValueError("mode 'r+' edits the newest version of an archive on disk: no version, storage_options, fill_lost, nor others")
        if not isinstance(source, str | os.PathLike):
            raise TypeError("mode 'r+' takes the path of an archive")
        return Edit(source)
    options = None if storage_options is None else dict(storage_options)
    return _nc3z.open(
        source,
        version,
        storage_options=options,
        fill_lost=fill_lost,
        as_stored=as_stored,
        outside=outside,
        fill_missing=fill_missing,
        decode=decode,
        root=root,
        tree=None if tree is None else os.fspath(tree),
    )

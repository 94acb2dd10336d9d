"""Opening and reading."""

import os
from collections.abc import Mapping
from typing import Any, BinaryIO

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

#: What can be opened: a path, bytes, a binary file object.
Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO


def open(source: Source | Any, version: int | None = None, *, fill_lost: bool = False) -> Dataset:
    """Opens an archive or a classic netCDF file, whichever it is by its first bytes.

    Parameters
    ----------
    source
        A path; the file's bytes; or a binary file object with ``read`` and ``seek``, which is then read by whichever
        thread needs it, one at a time. Local files are mapped.
    version
        The version of an archive that was committed to; the last by default.
    fill_lost
        Reads give fill values where an archive is damaged or has lost tiles, instead of an error.

    Returns
    -------
    Dataset
        A mapping of variables by name. ``variables``, ``dimensions`` and ``ncattrs()`` are those of netCDF4-python,
        but values are neither masked nor scaled.

    Raises
    ------
    FileNotFoundError, OSError
        What the system says.
    nc3z.CorruptError, nc3z.UnsupportedError, nc3z.LimitError
        What the file is found to be.

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
    return _nc3z.open(source, version, fill_lost=fill_lost)

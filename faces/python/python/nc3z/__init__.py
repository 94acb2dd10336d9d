"""Archives (``.nc3z``) and classic netCDF files as NumPy arrays.

>>> import nc3z
>>> with nc3z.open("coads_climatology.nc3z") as ds:   # or the classic file itself
...     sst = ds["SST"]
...     sst.shape, sst.units
((12, 90, 180), 'Deg C')

Reading takes no lock: any number of threads may use datasets and variables. They may be sent to other processes, and used in
forked ones. Values are returned as stored; xarray decodes packed values and fill values (``xarray.open_dataset(path,
engine="nc3z")``).

Submodules are loaded when they are first used, so that importing this package is cheap.
"""

import typing as _typing

if _typing.TYPE_CHECKING:
    from nc3z._collection import Collection, open_collection
    from nc3z._core import (
        Cancel,
        Dataset,
        Dimension,
        Variable,
        __version__,
        cache_stats,
        get_threads,
        open,
        set_cache,
        set_threads,
    )
    from nc3z._core import Source as Source
    from nc3z._edit import Appended, Edit
    from nc3z._edited import EditedVariable
    from nc3z._errors import (
        Cancelled,
        CorruptError,
        Error,
        LimitError,
        RangeError,
        ReplacedError,
        UnsupportedError,
    )
    from nc3z._operations import (
        Archived,
        ArchiveOptions,
        Estimate,
        Finding,
        Info,
        Report,
        Restored,
        VariableInfo,
        archive,
        archive_bytes,
        archive_many,
        estimate,
        info,
        restore,
        verify,
    )
    from nc3z._operations import Path as Path
    from nc3z._operations import Progress as Progress
    from nc3z._plans import Plan
    from nc3z._versions import Committed, Version, commit, delete_tag, tag, versions

_COLLECTION = "Collection open_collection"
_CORE = (
    "Cancel Dataset Dimension Source Variable __version__ cache_stats get_threads open set_cache set_threads"
)
_EDIT = "Appended Edit EditedVariable"
_ERRORS = "Cancelled CorruptError Error LimitError RangeError ReplacedError UnsupportedError"
_OPERATIONS = (
    "ArchiveOptions Archived Path Progress Estimate Finding Info Report Restored VariableInfo "
    "archive archive_bytes archive_many estimate info restore verify"
)
_PLANS = "Plan"
_VERSIONS = "Committed Version commit delete_tag tag versions"
_PLACES = {
    name: module
    for module, names in (
        ("nc3z._collection", _COLLECTION),
        ("nc3z._core", _CORE),
        ("nc3z._edit", _EDIT),
        ("nc3z._errors", _ERRORS),
        ("nc3z._operations", _OPERATIONS),
        ("nc3z._plans", _PLANS),
        ("nc3z._versions", _VERSIONS),
    )
    for name in names.split()
}

__all__ = [
    "Appended",
    "ArchiveOptions",
    "Archived",
    "Cancel",
    "Cancelled",
    "Committed",
    "CorruptError",
    "Dataset",
    "Dimension",
    "Edit",
    "EditedVariable",
    "Error",
    "Estimate",
    "Finding",
    "Info",
    "LimitError",
    "Path",
    "Plan",
    "Progress",
    "RangeError",
    "ReplacedError",
    "Report",
    "Restored",
    "Source",
    "UnsupportedError",
    "Variable",
    "VariableInfo",
    "Version",
    "__version__",
    "archive",
    "archive_bytes",
    "archive_many",
    "cache_stats",
    "commit",
    "delete_tag",
    "estimate",
    "get_threads",
    "info",
    "open",
    "open_collection",
    "restore",
    "set_cache",
    "set_threads",
    "tag",
    "verify",
    "versions",
]


def __getattr__(name: str) -> _typing.Any:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'nc3z' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(place), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({name for name in globals() if name.startswith("__")} | set(_PLACES))

"""Restores datasets and variables from a pickle."""

from typing import Any

from nc3z import _nc3z
from nc3z._errors import ReplacedError

Origin = tuple[str | bytes, int | str | None, bool, str | None, dict[str, Any] | None, tuple[bool, bool, bool], bool, tuple[str, str | None] | None]


def reopen(
    source: str | bytes,
    version: int | str | None,
    fill_lost: bool,
    sha256: str | None,
    storage_options: dict[str, Any] | None = None,
    reading: tuple[bool, bool, bool] = (False, False, False),
    decode: bool = False,
    root: tuple[str, str | None] | None = None,
) -> _nc3z.Dataset:
    """Opens the pickled dataset. Another file that now has its name is an error."""
    as_stored, outside, fill_missing = reading
    dataset = _nc3z.open(
        source,
        version,
        storage_options=storage_options,
        fill_lost=fill_lost,
        as_stored=as_stored,
        outside=outside,
        fill_missing=fill_missing,
        decode=decode,
        root=root[0] if root else None,
        tree=root[1] if root else None,
    )
    found = dataset.sha256
    if found != sha256:
        dataset.close()
        name = dataset.path or "bytes"
        raise ReplacedError(f"{name}: the pickled archive was of SHA-256 {sha256}, this one is of {found}")
    return dataset


def reopen_variable(name: str, origin: Origin) -> _nc3z.Variable:
    """Returns a variable of a pickled dataset."""
    return reopen(*origin)[name]

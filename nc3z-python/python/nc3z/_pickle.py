"""How datasets and variables come out of a pickle."""

from nc3z import _nc3z
from nc3z._errors import ReplacedError

Origin = tuple[str | bytes, int | None, bool, str | None]


def reopen(source: str | bytes, version: int | None, fill_lost: bool, sha256: str | None) -> _nc3z.Dataset:
    """Opens what was pickled, and nothing else that has its name now."""
    dataset = _nc3z.open(source, version, fill_lost=fill_lost)
    found = dataset.sha256
    if found != sha256:
        dataset.close()
        name = source if isinstance(source, str) else "bytes"
        raise ReplacedError(f"{name}: the pickled archive was of SHA-256 {sha256}, this one is of {found}")
    return dataset


def reopen_variable(name: str, origin: Origin) -> _nc3z.Variable:
    """A variable of such a dataset."""
    return reopen(*origin)[name]

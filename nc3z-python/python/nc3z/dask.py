"""Archiving a tree of classic files by Dask: one task for a batch of files, results of some hundred bytes each."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from nc3z._operations import Archived, archive_many

if TYPE_CHECKING:
    from nc3z._operations import ArchiveOptions

#: Source, archive, and what became of it: the result, or the words of the exception.
Outcome = tuple[str, str, "Archived | str"]


@dataclass(frozen=True, slots=True)
class Tree:
    """What became of a tree."""

    archived: tuple[Archived, ...]
    """Files archived now, or before (``skipped``)."""
    failed: dict[str, str]
    """Why a file was not archived, by its path."""

    @property
    def original_nbytes(self) -> int:
        """Bytes of the classic files."""
        return sum(done.original_nbytes for done in self.archived)

    @property
    def stored_nbytes(self) -> int:
        """Bytes of their archives."""
        return sum(done.stored_nbytes for done in self.archived)


def _is_classic(path: str) -> bool:
    """Whether a file begins as classic ones do; what cannot be read is for the archiver to name."""
    try:
        with open(path, "rb") as file:
            magic = file.read(4)
    except OSError:
        return True
    return magic[:3] == b"CDF" and magic[3:] in (b"\x01", b"\x02", b"\x05")


def _files(root: str, output: str) -> Iterator[str]:
    inside = os.path.abspath(output)
    for folder, names, files in os.walk(root):
        names[:] = sorted(n for n in names if os.path.abspath(os.path.join(folder, n)) != inside)
        for name in sorted(files):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and _is_classic(path):
                yield path


def archive_batch(jobs: Sequence[tuple[str, str]], options: ArchiveOptions) -> list[Outcome]:
    """One task: archives pairs of source and archive that are not archived yet, one file after another."""
    for _, path in jobs:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    results = archive_many(jobs, skip_existing=True, max_workers=1, **options)
    return [
        (source, path, f"{type(result).__name__}: {result}" if isinstance(result, Exception) else result)
        for (source, path), result in zip(jobs, results, strict=True)
    ]


def archive_tree(
    root: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    client: Any = None,
    batch_size: int = 32,
    on_result: Callable[[Archived | str], object] | None = None,
    **options: Unpack[ArchiveOptions],
) -> Tree:
    """Archives every classic file of a tree, as ``output/<path in the tree>.nc3z``.

    Files are told by their first bytes. An archive that is there and the source's is left as it is, so a run that was killed
    goes on when it is started again; archives get their names only when they are complete and proven.

    Parameters
    ----------
    root, output
        Folders that all workers see under the same names.
    client
        A ``distributed.Client``; without one, Dask's current scheduler does the work.
    batch_size
        Files a task. Schedulers do not like millions of tasks.
    on_result
        Called with each result, or with the words that say why a file failed, on this thread.
    **options
        See :class:`nc3z._operations.ArchiveOptions`.
    """
    root, output = os.fspath(root), os.fspath(output)
    jobs = [(path, os.path.join(output, os.path.relpath(path, root) + ".nc3z")) for path in _files(root, output)]
    batches = [jobs[at : at + batch_size] for at in range(0, len(jobs), batch_size)]
    archived: list[Archived] = []
    failed: dict[str, str] = {}
    for batch in _run(batches, options, client):
        for source, _, result in batch:
            if isinstance(result, Archived):
                archived.append(result)
            else:
                failed[source] = result
            if on_result is not None:
                on_result(result)
    return Tree(tuple(sorted(archived, key=lambda done: done.source)), failed)


def _run(
    batches: list[list[tuple[str, str]]], options: ArchiveOptions, client: Any
) -> Iterator[list[Outcome]]:
    if client is None:
        # Dask's functions have no types.
        dask: Any = importlib.import_module("dask")
        task = dask.delayed(archive_batch, pure=False)
        yield from dask.compute(*(task(batch, options) for batch in batches))
        return
    distributed: Any = importlib.import_module("distributed")
    futures = client.map(archive_batch, batches, options=options, pure=False, retries=2)
    for future in distributed.as_completed(futures):
        yield future.result()
        future.release()

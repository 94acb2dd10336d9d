"""Archives a tree of classic files with Dask: one task for a batch of files, with results of some hundred bytes each.

:func:`bundle_tree` makes bundles of a tree with their shadows, :func:`index_tree` shadows alone.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from nc3z._bundling import Bundle, Bundles, bundle_tree, index_tree
from nc3z._operations import Archived, archive_many

if TYPE_CHECKING:
    from nc3z._operations import ArchiveOptions

__all__ = ["Bundle", "Bundles", "Outcome", "Tree", "archive_batch", "archive_tree", "bundle_tree", "index_tree"]

#: The source, the archive, and the result or the message of the exception.
Outcome = tuple[str, str, "Archived | str"]


@dataclass(frozen=True, slots=True)
class Tree:
    """The result of archiving a tree."""

    archived: tuple[Archived, ...]
    """The files that were archived in this run, or before (``skipped``)."""
    failed: dict[str, str]
    """The reason why a file was not archived, by its path."""

    @property
    def original_nbytes(self) -> int:
        """The size of the classic files in bytes."""
        return sum(done.original_nbytes for done in self.archived)

    @property
    def stored_nbytes(self) -> int:
        """The size of their archives in bytes."""
        return sum(done.stored_nbytes for done in self.archived)


def _is_classic(path: str) -> bool:
    """Returns whether a file begins like a classic file. True for an unreadable file: the archiver reports the error."""
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
    """One task: archives pairs of source and archive one after another. Existing archives are skipped."""
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

    Classic files are recognized by their first bytes. An existing archive of the source is kept, so that an interrupted run
    continues when it is started again. Archives get their names only after they are complete and verified.

    Parameters
    ----------
    root, output
        Folders that have the same paths on all workers.
    client
        A ``distributed.Client``. Without one, Dask's current scheduler is used.
    batch_size
        The number of files of a task. Schedulers are slow with millions of tasks.
    on_result
        Called on this thread with each result, or with the message that says why a file failed.
    **options
        See :class:`nc3z._operations.ArchiveOptions`.
    """
    if "skip_existing" in options:
        raise TypeError("archive_tree() got an unexpected keyword argument 'skip_existing': existing archives of the same source are always kept")
    root, output = os.fspath(root), os.fspath(output)
    jobs = [(path, os.path.join(output, os.path.relpath(path, root) + ".nc3z")) for path in _files(root, output)]
    batches = [jobs[at : at + batch_size] for at in range(0, len(jobs), batch_size)]
    archived: list[Archived] = []
    failed: dict[str, str] = {}
    for batch in run_tasks(archive_batch, batches, client, options=options):
        for source, _, result in batch:
            if isinstance(result, Archived):
                archived.append(result)
            else:
                failed[source] = result
            if on_result is not None:
                on_result(result)
    return Tree(tuple(sorted(archived, key=lambda done: done.source)), failed)


def run_tasks(work: Callable[..., Any], items: Sequence[Any], client: Any, **options: Any) -> Iterator[Any]:
    """Runs a function for each item: by a client, in the order in which tasks end, otherwise by Dask's current scheduler."""
    if client is None:
        # Dask's functions have no type annotations.
        dask: Any = importlib.import_module("dask")
        task = dask.delayed(work, pure=False)
        yield from dask.compute(*(task(item, **options) for item in items))
        return
    distributed: Any = importlib.import_module("distributed")
    futures = client.map(work, items, pure=False, retries=2, **options)
    for future in distributed.as_completed(futures):
        yield future.result()
        future.release()

"""Archives a tree of classic files with Dask: one task for a batch of files, with results of some hundred bytes each.

:func:`bundle_tree` makes bundles of a tree with their catalogues, :func:`catalog_tree` catalogues alone.
"""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Unpack

from nc3z import _nc3z
from nc3z._bundling import Bundle, Bundles, Tape, bundle_tree, catalog_tree, tree_of
from nc3z._operations import Archived, archive_many

if TYPE_CHECKING:
    from nc3z._operations import ArchiveOptions

__all__ = ["Bundle", "Bundles", "Outcome", "Tree", "archive_batch", "archive_tree", "bundle_tree", "catalog_tree"]

#: The source, the archive, and the result or the message of the exception.
Outcome = tuple[str, str, "Archived | str"]


class Failure(str):
    """The message of an exception, and its stable code."""

    code: str | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    """The result of archiving a tree."""

    archived: tuple[Archived, ...]
    """The files that were archived in this run, or before (``skipped``)."""
    failed: dict[str, str]
    """The reason why a file was not archived, or a directory not read, by its path."""
    passed_over: Mapping[str, str] = field(default_factory=dict)
    """The kind of each other file of the tree, by its path: ``"netCDF-4 or HDF5"``, ``"link inside the tree"``, ``"file on tape"``."""

    def count_passed_over(self) -> dict[str, int]:
        """Returns the number of other files of each kind."""
        return dict(Counter(self.passed_over.values()))

    @property
    def original_nbytes(self) -> int:
        """The size of the classic files in bytes."""
        return sum(done.original_nbytes for done in self.archived)

    @property
    def stored_nbytes(self) -> int:
        """The size of their archives in bytes."""
        return sum(done.stored_nbytes for done in self.archived)


def archive_batch(jobs: Sequence[tuple[str, str]], options: ArchiveOptions) -> list[Outcome]:
    """One task: archives pairs of source and archive one after another. Existing archives are skipped."""
    failed: dict[tuple[str, str], Exception] = {}
    for job in jobs:
        try:
            os.makedirs(os.path.dirname(job[1]) or ".", exist_ok=True)
        except OSError as e:
            failed[job] = e
    left = [job for job in jobs if job not in failed]
    results = {**failed, **dict(zip(left, archive_many(left, skip_existing=True, max_workers=1, **options), strict=True))}
    return [(*job, failure(result) if isinstance(result := results[job], Exception) else result) for job in jobs]


def failure(error: Exception) -> Failure:
    """Returns the type and the message of an exception as a text that can be sent to the client."""
    words = Failure(f"{type(error).__name__}: {error}")
    words.code = getattr(error, "code", None)
    return words


def archive_tree(
    root: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    client: Any = None,
    batch_size: int = 32,
    on_tape: Literal["refuse", "skip", "last"] = "refuse",
    tape_command: str | None = None,
    tape_list: str | os.PathLike[str] | None = None,
    log: str | os.PathLike[str] | None = None,
    on_result: Callable[[Archived | str], object] | None = None,
    **options: Unpack[ArchiveOptions],
) -> Tree:
    """Archives every classic file of a tree, as ``output/<path in the tree>.nc3z``.

    The files are those of ``nc3z archive -r``. Classic files are recognized by their first bytes. Links are not followed: a file of
    the tree is archived by its own name. An existing archive of the source is kept, so that an interrupted run continues when it is
    started again. Archives get their names only after they are complete and verified.

    Parameters
    ----------
    root, output
        Folders that have the same paths on all workers.
    client
        A ``distributed.Client``. Without one, Dask's current scheduler is used.
    batch_size
        The number of files of a task. Schedulers are slow with millions of tasks.
    on_tape
        The treatment of files whose data are on tape, as for ``nc3z archive``: ``"refuse"`` raises an error before anything is
        read, ``"skip"`` leaves them out, ``"last"`` archives them after all others. They are not read to find out their kind.
    tape_command, tape_list
        A command that says whether a file is on tape, such as ``"lfs hsm_state {}"``, and a file with the names of those on tape, in the
        order of their recall, as ``--tape-command`` and ``--tape-list`` of ``nc3z archive``. The client runs the command once for each file.
    log
        A file to which the client appends a line of JSON for each file of the tree, as ``nc3z archive --log`` does.
    on_result
        Called on this thread with each result, or with the message that says why a file failed.
    **options
        See :class:`nc3z._operations.ArchiveOptions`.

    Raises
    ------
    OSError
        Files are on tape, and ``on_tape`` is ``"refuse"``. The list cannot be read.
    ValueError
        The command failed. Nothing is read.
    """
    if "skip_existing" in options:
        raise TypeError("archive_tree() got an unexpected keyword argument 'skip_existing': existing archives of the same source are always kept")
    root, output = os.fspath(root), os.fspath(output)
    _nc3z.refuse_url(output)
    found = tree_of(root, output, archives=False, tape=Tape(on_tape, tape_command, tape_list))
    jobs = [(path, os.path.join(output, os.path.relpath(path, root) + ".nc3z")) for path in found.files]
    batches = [jobs[at : at + batch_size] for at in range(0, len(jobs), batch_size)]
    archived: list[Archived] = []
    failed = dict(found.failed)
    journal = _nc3z.Journal(log, root, output, len(jobs) + len(found.failed) + len(found.passed_over)) if log is not None else None
    if journal is not None:
        for path, words in found.failed.items():
            journal.failed(path, None, words, None)
        for path, kind in found.passed_over.items():
            journal.add(path, "on tape" if kind == "file on tape" else "passed over", reason=kind)
    for batch in run_tasks(archive_batch, batches, client, options=options):
        for source, path, result in batch:
            if journal is not None:
                log_result(journal, source, path, result)
            if isinstance(result, Archived):
                archived.append(result)
            else:
                failed[source] = result
            if on_result is not None:
                on_result(result)
    if journal is not None:
        journal.end()
    return Tree(tuple(sorted(archived, key=lambda done: done.source)), failed, found.passed_over)


def log_result(journal: _nc3z.Journal, source: str, path: str, result: Archived | str) -> None:
    """Appends the result for a file to a log."""
    if not isinstance(result, Archived):
        journal.failed(source, path, result, getattr(result, "code", None))
    elif result.skipped:
        journal.add(source, "present", path)
    else:
        sizes = {"original_bytes": result.original_nbytes, "stored_bytes": result.stored_nbytes}
        journal.add(source, "archived", path, original_sha256=result.sha256, proven=result.verified, **sizes)


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

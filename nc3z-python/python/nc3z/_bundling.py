"""Bundles and shadows of a tree with Dask: one task for each bundle, done by the program ``nc3z``."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

#: A longer file without a block on disk is a stub of a hierarchical storage manager: reading it would recall it (as for `nc3z bundle`).
_STUB_NBYTES = 4096
_MAGICS = (b"\x89NC3Z\r\n\x1a", b"CDF\x01", b"CDF\x02", b"CDF\x05")


@dataclass(frozen=True, slots=True)
class Bundle:
    """A part of a tree."""

    path: str | None
    """The bundle; None if only a shadow was made."""
    shadow: str | None
    """The shadow of its files."""
    files: int
    original_nbytes: int
    """The size of the files that were put into it, in bytes."""
    stored_nbytes: int
    """The size of the bundle and the shadow in bytes."""
    skipped: bool = False
    """True if it was there, made from the same files."""


@dataclass(frozen=True, slots=True)
class Bundles:
    """The result for a tree."""

    done: tuple[Bundle, ...]
    failed: dict[str, str]
    """The reason why a bundle or a shadow was not made, by its path."""


@dataclass(frozen=True, slots=True)
class Part:
    """The files of one task. It is sent to a worker."""

    name: str
    root: str
    output: str
    #: Path relative to the root, size in bytes, and time in nanoseconds.
    files: tuple[tuple[str, int, int], ...]
    bundles: bool
    shadows: bool
    options: tuple[str, ...]
    program: str


def _is_wanted(path: str, status: os.stat_result) -> bool:
    if status.st_size > _STUB_NBYTES and status.st_blocks == 0:
        # Its name must do.
        return path.endswith((".nc", ".nc3z", ".cdf"))
    try:
        with open(path, "rb") as file:
            return file.read(8).startswith(_MAGICS)
    except OSError:
        return True


def _files(root: str, output: str) -> Iterator[tuple[str, int, int]]:
    inside = os.path.abspath(output)
    for folder, names, files in os.walk(root):
        names[:] = sorted(n for n in names if os.path.abspath(os.path.join(folder, n)) != inside)
        for name in sorted(files):
            path = os.path.join(folder, name)
            if not os.path.islink(path) and os.path.isfile(path):
                status = os.stat(path)
                if _is_wanted(path, status):
                    yield os.path.relpath(path, root), status.st_size, status.st_mtime_ns


def _parts(files: Iterator[tuple[str, int, int]], nbytes: int, count: int) -> Iterator[tuple[tuple[str, int, int], ...]]:
    """Divides files, in their order, into parts of at most ``nbytes`` and ``count`` files. A part in its second half ends where the
    directory changes.
    """
    part: list[tuple[str, int, int]] = []
    size = 0
    for file in files:
        other = bool(part) and os.path.dirname(part[-1][0]) != os.path.dirname(file[0])
        half = size > nbytes // 2 or len(part) > count // 2
        if part and (size + file[1] > nbytes or len(part) >= count or (other and half)):
            yield tuple(part)
            part, size = [], 0
        part.append(file)
        size += file[1]
    if part:
        yield tuple(part)


def make_part(part: Part) -> Bundle | str:
    """One task: the bundle and the shadow of a part, or the message that says why they were not made."""
    bundle = f"{part.name}.zip" if part.bundles else None
    shadow = f"{part.name}.nc3x" if part.shadows else None
    made = os.path.join(part.output, f"{part.name}.list")
    wanted = [os.path.join(part.output, name) for name in (bundle, shadow) if name]
    listed = "".join(f"{size} {time} {path}\n" for path, size, time in part.files)
    listed = " ".join((*part.options, "bundle" if bundle else "", "shadow" if shadow else "")) + "\n" + listed
    if any("\n" in path for path, _, _ in part.files):
        return "a name has a line break: a list of files has one name in each line"
    skipped = all(map(os.path.exists, (made, *wanted))) and _text(made) == listed
    if not skipped:
        if os.path.exists(made):
            os.remove(made)
        names = [path for path, _, _ in part.files]
        if bundle:
            words = ["bundle", "--files-from", "-", "-o", wanted[0], "-f", "--threads", "1", *part.options]
            failure = _run(part, words, part.root, "\n".join(names) + "\n")
        else:
            failure = ""
        if shadow and not failure:
            # Names in the shadow of a bundle start at the shadow's directory.
            inputs = [str(bundle)] if bundle else [os.path.relpath(os.path.join(part.root, name), part.output) for name in names]
            failure = _run(part, ["index", *inputs, "-o", shadow, "-f", "--threads", "1"], part.output, None)
        if failure:
            return failure
        temporary = f"{made}.tmp"
        with open(temporary, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(listed)
        os.replace(temporary, made)
    stored = sum(os.path.getsize(path) for path in wanted)
    paths = iter(wanted)
    return Bundle(
        next(paths) if bundle else None,
        next(paths) if shadow else None,
        len(part.files),
        sum(size for _, size, _ in part.files),
        stored,
        skipped,
    )


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def _run(part: Part, words: Sequence[str], folder: str, names: str | None) -> str:
    """Runs the program. Returns what it reports if it fails."""
    data = None if names is None else names.encode("utf-8", "surrogateescape")
    done = subprocess.run([part.program, *words], cwd=folder, input=data, capture_output=True, check=False)
    return "" if done.returncode == 0 else done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"


def _found(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise FileNotFoundError(f"{program}: the program is not in the search path; bundles and shadows are made by it, so give program=")
    return os.path.abspath(found)


def bundle_tree(
    root: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    client: Any = None,
    target_nbytes: int = 50 << 30,
    pack: bool = True,
    shadows: bool = True,
    preset: Literal["fast", "default", "max"] = "default",
    offline: Literal["refuse", "skip", "last"] = "refuse",
    program: str = "nc3z",
    on_result: Callable[[Bundle | str], object] | None = None,
) -> Bundles:
    """Puts the archives and classic files of a tree into bundles ``output/NNNNN.zip``, each with its shadow ``NNNNN.nc3x``.

    A bundle that is there is kept if it was made from the same files, which ``NNNNN.list`` records. So an interrupted run continues
    when it is started again. Bundles and shadows get their names only after they are complete.

    Parameters
    ----------
    root, output
        Directories that have the same paths on all workers.
    client
        A ``distributed.Client``. Without one, Dask's current scheduler is used.
    target_nbytes
        The most bytes of the files of a bundle. It ends earlier where the directory changes, if that is in its second half.
    pack, preset, offline
        As for ``nc3z bundle``.
    shadows
        Whether shadows are made. All values are then read once.
    program
        The program ``nc3z``, which must be on all workers.
    on_result
        Called on this thread with each result, or with the message that says why a bundle was not made.
    """
    options = ["--offline", offline, *(["--pack", "--preset", preset] if pack else [])]
    return _tree(root, output, client, target_nbytes, 1 << 60, True, shadows, options, program, on_result)


def index_tree(
    root: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    client: Any = None,
    batch_size: int = 1000,
    program: str = "nc3z",
    on_result: Callable[[Bundle | str], object] | None = None,
) -> Bundles:
    """Makes shadows ``output/NNNNN.nc3x`` of the archives and classic files of a tree, each of at most ``batch_size`` files.

    Names in the shadows are relative to ``output``. For the parameters see :func:`bundle_tree`.
    """
    return _tree(root, output, client, 1 << 62, batch_size, False, True, [], program, on_result)


def _tree(
    root: Any,
    output: Any,
    client: Any,
    nbytes: int,
    count: int,
    bundles: bool,
    shadows: bool,
    options: Sequence[str],
    program: str,
    on_result: Callable[[Bundle | str], object] | None,
) -> Bundles:
    from nc3z.dask import run_tasks

    root, output, program = os.path.abspath(root), os.path.abspath(output), _found(program)
    os.makedirs(output, exist_ok=True)
    parts = [
        Part(f"{n:05}", root, output, files, bundles, shadows, tuple(options), program)
        for n, files in enumerate(_parts(_files(root, output), nbytes, count))
    ]
    done: dict[str, Bundle] = {}
    failed: dict[str, str] = {}
    for name, result in run_tasks(_named, parts, client):
        if isinstance(result, Bundle):
            done[name] = result
        else:
            failed[os.path.join(output, f"{name}.{'zip' if bundles else 'nc3x'}")] = result
        if on_result is not None:
            on_result(result)
    return Bundles(tuple(done[name] for name in sorted(done)), failed)


def _named(part: Part) -> tuple[str, Bundle | str]:
    return part.name, make_part(part)

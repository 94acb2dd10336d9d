"""Bundles and catalogues of a tree with Dask: one task for each bundle, done by the program ``nc3z``."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from nc3z import _nc3z


@dataclass(frozen=True, slots=True)
class Bundle:
    """A part of a tree."""

    path: str | None
    """The bundle; None if only a catalogue was made."""
    catalog: str | None
    """The catalogue of its files."""
    files: int
    original_nbytes: int
    """The size of the files that were put into it, in bytes."""
    stored_nbytes: int
    """The size of the bundle and the catalogue in bytes."""
    skipped: bool = False
    """True if it was there, made from the same files."""


@dataclass(frozen=True, slots=True)
class Bundles:
    """The result for a tree."""

    done: tuple[Bundle, ...]
    failed: dict[str, str]
    """The reason why a bundle or a catalogue was not made, or a directory not read, by its path."""
    passed_over: Mapping[str, str] = field(default_factory=dict)
    """The kind of each other file of the tree, by its path."""


@dataclass(frozen=True, slots=True)
class Part:
    """The files of one task. It is sent to a worker."""

    name: str
    root: str
    output: str
    #: Path relative to the root, size in bytes, and time in nanoseconds.
    files: tuple[tuple[str, int, int], ...]
    bundles: bool
    catalogs: bool
    options: tuple[str, ...]
    program: str


@dataclass(frozen=True, slots=True)
class Tape:
    """The list and the command that name the files on tape, and how these files are treated."""

    on_tape: str = "refuse"
    command: str | None = None
    names: str | os.PathLike[str] | None = None

    def options(self) -> list[str]:
        """Returns the options of the program."""
        options = ["--on-tape", self.on_tape]
        if self.command is not None:
            options += ["--tape-command", self.command]
        if self.names is not None:
            options += ["--tape-list", os.path.abspath(self.names)]
        return options


@dataclass(slots=True)
class Files:
    """The files of a tree, as the program finds them."""

    files: list[str]
    failed: dict[str, str]
    passed_over: dict[str, str]


def tree_of(root: str, output: str, *, archives: bool, tape: Tape) -> Files:
    """Finds the classic files of a tree, with ``archives`` archives, too; without those of the output. No link is followed, and no
    file on tape is opened.
    """
    on_tape = tape.on_tape
    if on_tape not in ("refuse", "skip", "last"):
        raise ValueError(f"unknown on_tape {on_tape!r}; expected 'refuse', 'skip' or 'last'")
    inside = os.path.join(os.path.abspath(output), "")

    def is_own(path: str) -> bool:
        return os.path.abspath(path).startswith(inside)

    files, stubs, others, failed = _nc3z.files_of_tree(root, archives, tape.command, None if tape.names is None else os.fspath(tape.names))
    stubs_on_tape = dict.fromkeys(path for path in stubs if not is_own(path))
    if stubs_on_tape and on_tape == "refuse":
        count = f"{len(stubs_on_tape)} {'file has' if len(stubs_on_tape) == 1 else 'files have'}"
        raise OSError(f"{count} no data on disk, such as {next(iter(stubs_on_tape))}; on_tape='skip' leaves such files out, 'last' reads them last")
    found = Files([p for p in files if p not in stubs_on_tape and not is_own(p)], dict(failed), {p: kind for p, kind in others if not is_own(p)})
    if on_tape == "skip":
        found.passed_over.update(dict.fromkeys(stubs_on_tape, "file on tape"))
    else:
        found.files += stubs_on_tape
    return found


def _stated(paths: Sequence[str], root: str) -> Iterator[tuple[str, int, int]]:
    for path in paths:
        status = os.stat(path)
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
    """One task: the bundle and the catalogue of a part, or the message that says why they were not made."""
    bundle = f"{part.name}.bundle.nc3z" if part.bundles else None
    catalog = f"{part.name}.catalog.nc3z" if part.catalogs else None
    made = os.path.join(part.output, f"{part.name}.list")
    wanted = [os.path.join(part.output, name) for name in (bundle, catalog) if name]
    listed = "".join(f"{size} {time} {path}\n" for path, size, time in part.files)
    listed = " ".join((*part.options, "bundle" if bundle else "", "catalog" if catalog else "")) + "\n" + listed
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
        if catalog and not failure:
            # Names in the catalogue of a bundle start at the catalogue's directory.
            inputs = [str(bundle)] if bundle else [os.path.relpath(os.path.join(part.root, name), part.output) for name in names]
            options = () if bundle else part.options
            failure = _run(part, ["catalog", *inputs, "-o", catalog, "-f", "--threads", "1", *options], part.output, None)
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
        next(paths) if catalog else None,
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
        raise FileNotFoundError(f"{program}: the program is not in the search path; bundles and catalogues are made by it, so give program=")
    return os.path.abspath(found)


def bundle_tree(
    root: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    client: Any = None,
    target_nbytes: int = 50 << 30,
    pack: bool = True,
    catalogs: bool = True,
    preset: Literal["fast", "default", "max"] = "default",
    on_tape: Literal["refuse", "skip", "last"] = "refuse",
    tape_command: str | None = None,
    tape_list: str | os.PathLike[str] | None = None,
    program: str = "nc3z",
    on_result: Callable[[Bundle | str], object] | None = None,
) -> Bundles:
    """Puts the archives and classic files of a tree into bundles ``output/NNNNN.bundle.nc3z``, each with its catalogue ``NNNNN.catalog.nc3z``.

    A bundle that is there is kept if it was made from the same files, which ``NNNNN.list`` records. So an interrupted run continues
    when it is started again. Bundles and catalogues get their names only after they are complete.

    Parameters
    ----------
    root, output
        Directories that have the same paths on all workers.
    client
        A ``distributed.Client``. Without one, Dask's current scheduler is used.
    target_nbytes
        The most bytes of the files of a bundle. It ends earlier where the directory changes, if that is in its second half.
    pack, preset, on_tape, tape_command, tape_list
        As for ``nc3z bundle``.
    catalogs
        Whether catalogues are made. All values are then read once.
    program
        The program ``nc3z``, which must be on all workers.
    on_result
        Called on this thread with each result, or with the message that says why a bundle was not made.
    """
    tape = Tape(on_tape, tape_command, tape_list)
    options = [*tape.options(), *(["--pack", "--preset", preset] if pack else [])]
    return _tree(root, output, client, target_nbytes, 1 << 60, True, catalogs, options, program, tape, on_result)


def catalog_tree(
    root: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    client: Any = None,
    batch_size: int = 1000,
    on_tape: Literal["refuse", "skip", "last"] = "refuse",
    tape_command: str | None = None,
    tape_list: str | os.PathLike[str] | None = None,
    program: str = "nc3z",
    on_result: Callable[[Bundle | str], object] | None = None,
) -> Bundles:
    """Makes catalogues ``output/NNNNN.catalog.nc3z`` of the archives and classic files of a tree, each of at most ``batch_size`` files.

    Names in the catalogues are relative to ``output``. For the parameters see :func:`bundle_tree`.
    """
    tape = Tape(on_tape, tape_command, tape_list)
    return _tree(root, output, client, 1 << 62, batch_size, False, True, tape.options(), program, tape, on_result)


def _tree(
    root: Any,
    output: Any,
    client: Any,
    nbytes: int,
    count: int,
    bundles: bool,
    catalogs: bool,
    options: Sequence[str],
    program: str,
    tape: Tape,
    on_result: Callable[[Bundle | str], object] | None,
) -> Bundles:
    from nc3z.dask import run_tasks

    _nc3z.refuse_url(os.fspath(output))
    root, output, program = os.path.abspath(root), os.path.abspath(output), _found(program)
    found = tree_of(root, output, archives=True, tape=tape)
    os.makedirs(output, exist_ok=True)
    parts = [
        Part(f"{n:05}", root, output, files, bundles, catalogs, tuple(options), program)
        for n, files in enumerate(_parts(_stated(found.files, root), nbytes, count))
    ]
    done: dict[str, Bundle] = {}
    failed = dict(found.failed)
    for name, result in run_tasks(_named, parts, client):
        if isinstance(result, Bundle):
            done[name] = result
        else:
            failed[os.path.join(output, f"{name}.{'bundle.nc3z' if bundles else 'catalog.nc3z'}")] = result
        if on_result is not None:
            on_result(result)
    return Bundles(tuple(done[name] for name in sorted(done)), failed, found.passed_over)


def _named(part: Part) -> tuple[str, Bundle | str]:
    return part.name, make_part(part)

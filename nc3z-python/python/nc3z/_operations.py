"""Whole files: archive, restore, verify, estimate, info. Results are plain values that pickle."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from nc3z import _nc3z
from nc3z._core import Cancel, Source
from nc3z._core import open as open_dataset
from nc3z._errors import Cancelled

Path = str | os.PathLike[str]
#: Called now and then with the bytes done and the bytes in all, on the thread that asked for the work.
Progress = Callable[[int, int], object]


class ArchiveOptions(TypedDict, total=False):
    """What may be chosen of an archive.

    preset
        ``"fast"``, ``"default"`` or ``"max"``: time against size.
    layout
        How variables are cut into tiles: ``"linear"`` (runs of the flattened array), ``"chunked"``, ``"auto"``,
        ``"series"`` or ``"map"``.
    chunks
        Lengths of tiles by name of dimension; dimensions not named take their whole length.
    pad_edges
        Whether chunks at the upper edges are filled up, as Zarr and HDF5 have them.
    tile_nbytes
        Bytes of a tile before compression: 1 MiB unless said otherwise (``"max"``: 4 MiB), 256 KiB for arrays of at least 16 MiB where
        that costs next to nothing.
    memory
        Bytes for buffers.
    parity
        Redundancy that mends losses of this share, such as ``"5%"``.
    prove
        Whether the archive is read back and compared before it is given its name; True unless said otherwise.
    quantize
        LOSSY: rounding by name of variable, such as ``{"tas": "bitround:9"}``.
    chains
        Filters and codec as JSON by name of variable; ``"*"`` for all.
    profile
        ``"zarr"`` stores arrays as Zarr does, for references to them (:mod:`nc3z.virtualizarr`, :mod:`nc3z.icechunk`): chunks,
        filled up at the edges, all of them by shuffle and zstd. Other options given change that.
    overwrite
        Whether an existing file may be replaced.
    """

    preset: Literal["fast", "default", "max"]
    layout: Literal["linear", "chunked", "auto", "series", "map"]
    chunks: Mapping[str, int] | None
    pad_edges: bool
    tile_nbytes: int | None
    memory: int | None
    parity: str | None
    prove: bool
    quantize: Mapping[str, str] | None
    chains: Mapping[str, str] | None
    profile: Literal["zarr"] | None
    overwrite: bool


_DEFAULTS: ArchiveOptions = {
    "preset": "default",
    "layout": "linear",
    "chunks": None,
    "pad_edges": False,
    "tile_nbytes": None,
    "memory": None,
    "parity": None,
    "prove": True,
    "quantize": None,
    "chains": None,
    "profile": None,
    "overwrite": False,
}


def _complete(options: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [name for name in options if name not in _DEFAULTS]
    if unknown:
        raise TypeError(f"no option {unknown[0]!r}; there are {', '.join(_DEFAULTS)}")
    complete: dict[str, Any] = {**_DEFAULTS, **options}
    profile = complete.pop("profile")
    if profile not in (None, "zarr"):
        raise ValueError(f"profile {profile!r}; there is 'zarr'")
    if profile:
        given = {name: value for name, value in options.items() if value is not None}
        chains = {"*": _nc3z.zarr_chain, **given.pop("chains", {})}
        complete.update({"layout": "chunked", "pad_edges": True, **given, "chains": chains})
        del complete["profile"]
    return complete


@dataclass(frozen=True, slots=True)
class Archived:
    """What was archived."""

    source: str
    """The classic file; ``"<memory>"`` for one that was given as bytes."""
    path: str
    """The archive."""
    original_nbytes: int
    stored_nbytes: int
    sha256: str
    """Of the classic file, hexadecimal."""
    proven: bool
    """Whether the archive was read back and compared with the classic file; False where it was there already."""
    lossy: bool = False
    """Whether values were rounded."""
    warnings: tuple[str, ...] = ()
    """What is odd about the classic file."""
    skipped: bool = False
    """Whether the archive was there already."""

    @property
    def ratio(self) -> float:
        """Original bytes for each byte stored."""
        return self.original_nbytes / max(self.stored_nbytes, 1)


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored."""

    path: str
    nbytes: int
    sha256: str
    matches_record: bool
    """Whether the archive records a digest; where it does, it is this one."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with an archive."""

    structure: str
    """What it is wrong with."""
    start: int
    stop: int
    """Bytes of the archive, from ``start`` to before ``stop``."""
    message: str
    variables: tuple[str, ...]
    """Whose data it touches."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found; true where the archive is sound."""

    stored_nbytes: int
    blocks: int
    tiles: int
    versions: int
    findings: tuple[Finding, ...]
    more_findings: int
    """Findings beyond those listed."""
    sha256: str | None
    """Of the rebuilt original, for a deep check of a sound archive."""
    mendable: bool
    """Whether parity can mend what is wrong."""

    @property
    def is_sound(self) -> bool:
        """Whether nothing was found."""
        return not self.findings and not self.more_findings

    def __bool__(self) -> bool:
        return self.is_sound


@dataclass(frozen=True, slots=True)
class PresetEstimate:
    """What a preset makes of a file."""

    preset: str
    stored_nbytes: int
    uncertainty: float
    """Two standard errors of that, relative."""
    archive_seconds: float
    restore_seconds: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What archives of a file would come to."""

    original_nbytes: int
    sampled_nbytes: int
    whole: bool
    """Whether all of the file was sampled: sizes are then exact but for some overhead."""
    presets: tuple[PresetEstimate, ...]
    others: Mapping[str, int]
    """Bytes that other tools store."""
    variables: Mapping[str, tuple[int, tuple[int, ...]]]
    """By variable: original bytes, and bytes stored for each preset."""


@dataclass(frozen=True, slots=True)
class VariableInfo:
    """A variable as its file has it."""

    name: str
    dtype: str
    dimensions: tuple[str, ...]
    shape: tuple[int, ...]
    nbytes: int
    tile_shape: tuple[int, ...] | None
    """Shape of the unit of decoding, where that is a box."""


@dataclass(frozen=True, slots=True)
class Info:
    """What a file is."""

    path: str | None
    kind: str
    """``"archive"`` or ``"classic"``."""
    data_model: str
    original_nbytes: int
    stored_nbytes: int
    sha256: str | None
    version: int
    dimensions: Mapping[str, int]
    unlimited: tuple[str, ...]
    variables: Mapping[str, VariableInfo]


def archive(
    source: Path | bytes | bytearray | memoryview,
    path: Path | None = None,
    *,
    skip_existing: bool = False,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    **options: Unpack[ArchiveOptions],
) -> Archived:
    """Archives a classic netCDF file.

    The archive gets its name only when it is complete, proven and on disk; the source is never written.

    Parameters
    ----------
    source
        The classic file, or its bytes, which nobody may write to meanwhile.
    path
        The archive; ``source`` with ``.nc3z`` behind it by default. Bytes have no name: for them it must be given.
    skip_existing
        Whether an archive that is there, whole, and the source's is left as it is: its header and length are the source's, and
        it is not older. Anything else of that name is an error.
    progress
        Called with bytes done and bytes in all.
    cancel
        Ends the work, with :class:`nc3z.Cancelled`, once it is set. Ctrl-C does the same.
    **options
        See :class:`nc3z.ArchiveOptions`.

    Examples
    --------
    >>> done = nc3z.archive("etopo120.cdf", "relief.nc3z")
    >>> done.original_nbytes, done.proven, done.ratio > 1
    (67548, True, True)
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        if path is None:
            raise TypeError("bytes have no name: the archive of them needs a path")
        if skip_existing:
            raise TypeError("skip_existing compares files; bytes have no time to compare")
        path = os.fspath(path)
        done = _nc3z.archive_buffer(source, path, _complete(options), progress, cancel)
        return Archived("<memory>", path, **{**done, "warnings": tuple(done["warnings"])})
    source, path = os.fspath(source), os.fspath(path) if path is not None else os.fspath(source) + ".nc3z"
    complete = _complete(options)
    if skip_existing and os.path.lexists(path):
        return _present(source, path)
    done = _nc3z.archive(source, path, complete, progress, cancel)
    return Archived(source, path, **{**done, "warnings": tuple(done["warnings"])})


def _present(source: str, path: str) -> Archived:
    """The archive that is there, which must be the source's."""
    # As it is stored: an aggregation may be archived, too.
    with open_dataset(path, as_stored=True) as there:
        if there.kind != "archive":
            raise FileExistsError(f"`{path}` is there, and is no archive; `overwrite=True` replaces it")
        status = os.stat(source)
        header = there.header_bytes
        with open(source, "rb") as file:
            same = status.st_size == there.original_nbytes and file.read(len(header)) == header
        if not same:
            raise FileExistsError(f"`{path}` is there, and is the archive of another file; `overwrite=True` replaces it")
        if status.st_mtime_ns > os.stat(path).st_mtime_ns:
            raise FileExistsError(f"`{path}` is there, and is older than the source; `overwrite=True` replaces it")
        sha256 = there.sha256 or ""
        return Archived(source, path, there.original_nbytes, there.stored_nbytes, sha256, False, skipped=True)


def _settings(storage_options: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if storage_options is None else dict(storage_options)


def archive_bytes(
    source: Source,
    *,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    **options: Unpack[ArchiveOptions],
) -> bytes:
    """Archives a classic file in memory: bytes, a file object or a path in, the archive's bytes out.

    >>> from pathlib import Path
    >>> small = nc3z.archive_bytes(Path("etopo120.cdf").read_bytes())
    >>> nc3z.open(small)["ROSE"].shape
    (90, 180)
    """
    return _nc3z.archive_bytes(source, _complete(options), progress, cancel)[0]


def archive_many(
    sources: Iterable[Path | tuple[Path, Path]],
    directory: Path | None = None,
    *,
    skip_existing: bool = False,
    on_result: Callable[[Archived | Exception], object] | None = None,
    max_workers: int | None = None,
    cancel: Cancel | None = None,
    **options: Unpack[ArchiveOptions],
) -> list[Archived | Exception]:
    """Archives many files, several at a time; one that fails does not stop the others.

    Parameters
    ----------
    sources
        Classic files, or pairs of a classic file and its archive.
    directory
        Where archives go that are not named; beside their sources by default.
    skip_existing
        As for :func:`archive`: a run that was interrupted goes on where it stopped.
    on_result
        Called with each result as it comes, on the calling thread.
    max_workers
        Files at a time; as many as there are threads by default.
    cancel
        Ends the work once it is set: files under way are dropped, the others not begun.

    Returns
    -------
    list
        In the order of ``sources``: what was archived, or the exception that says why not.

    Examples
    --------
    >>> good, bad = nc3z.archive_many(["etopo120.cdf", "nothing.nc"], "archives")
    >>> good.path, type(bad).__name__
    ('archives/etopo120.cdf.nc3z', 'FileNotFoundError')
    """
    if isinstance(sources, str | bytes | os.PathLike):
        raise TypeError(f"archive_many takes a list of files, not {sources!r}: give [{sources!r}], or call nc3z.archive")
    stop = cancel or Cancel()
    complete = _complete(options)

    def one(source: str, path: str) -> Archived:
        if stop.is_set():
            raise Cancelled(f"{source}: not begun")
        return archive(source, path, skip_existing=skip_existing, cancel=stop, **complete)

    jobs = [_job(entry, directory) for entry in sources]
    if directory is not None:
        os.makedirs(directory, exist_ok=True)
    results: dict[Future[Archived], Archived | Exception] = {}
    with ThreadPoolExecutor(max_workers or _nc3z.get_threads(), "nc3z-archive") as pool:
        try:
            futures = [pool.submit(one, *job) for job in jobs]
            pending = set(futures)
            while pending:
                # With a limit, since a wait without one does not hear Ctrl-C everywhere.
                done, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    failure = future.exception()
                    if failure is not None and not isinstance(failure, Exception):
                        raise failure
                    results[future] = future.result() if failure is None else failure
                    if on_result is not None:
                        on_result(results[future])
        except BaseException:
            stop.set()
            raise
    return [results[future] for future in futures]


def _job(entry: Path | tuple[Path, Path], directory: Path | None) -> tuple[str, str]:
    if isinstance(entry, tuple):
        return os.fspath(entry[0]), os.fspath(entry[1])
    source = os.fspath(entry)
    if directory is None:
        return source, source + ".nc3z"
    return source, os.path.join(directory, os.path.basename(source) + ".nc3z")


def restore(
    archive: Path,
    path: Path,
    *,
    overwrite: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Restored:
    """Restores the classic file that an archive is of, byte for byte; the digest on record is checked.

    The archive is a path or a URL; for ``storage_options`` see :func:`nc3z.open`.

    >>> nc3z.restore("coads_climatology.nc3z", "back.nc").matches_record
    True
    """
    archive, path = os.fspath(archive), os.fspath(path)
    return Restored(path, **_nc3z.restore(archive, path, overwrite, _settings(storage_options), progress, cancel))


def verify(
    archive: Source,
    *,
    deep: bool = True,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Report:
    """Checks every byte of an archive, and goes on after a finding.

    With ``deep``, every tile is decoded and the original rebuilt and compared with its digest; else stored bytes are
    compared with their checksums.

    >>> report = nc3z.verify("coads_climatology.nc3z")
    >>> report.is_sound, report.findings
    (True, ())
    """
    found = _nc3z.check(archive, deep, _settings(storage_options), progress, cancel)
    findings = tuple(Finding(s, a, b, words, tuple(names)) for s, a, b, words, names in found.pop("findings"))
    return Report(**found, findings=findings)


def estimate(
    source: Source,
    presets: Sequence[str] = ("fast", "default", "max"),
    *,
    sample_nbytes: int | None = None,
    cancel: Cancel | None = None,
) -> Estimate:
    """Estimates what archives of a classic file would come to, from samples: bytes, and seconds on this machine.

    >>> guess = nc3z.estimate("etopo120.cdf", ["default"])
    >>> guess.presets[0].stored_nbytes < guess.original_nbytes
    True
    """
    found = _nc3z.estimate(source, list(presets), sample_nbytes, None, cancel)
    return Estimate(
        found["original_nbytes"],
        found["sampled_nbytes"],
        found["whole"],
        tuple(PresetEstimate(*preset) for preset in found["presets"]),
        dict(found["others"]),
        {name: (original, tuple(stored)) for name, original, stored in found["variables"]},
    )


def info(source: Source, *, storage_options: Mapping[str, Any] | None = None) -> Info:
    """What a file is: kind, sizes, dimensions, variables. Reads no data.

    >>> found = nc3z.info("coads_climatology.nc3z")
    >>> found.kind, found.data_model, found.variables["SST"].shape
    ('archive', 'NETCDF3_CLASSIC', (12, 90, 180))
    """
    with open_dataset(source, storage_options=storage_options) as ds:
        variables = {
            name: VariableInfo(name, str(v.dtype), v.dimensions, v.shape, v.nbytes, v.tile_shape)
            for name, v in ds.items()
        }
        return Info(
            ds.path,
            ds.kind,
            ds.data_model,
            ds.original_nbytes,
            ds.stored_nbytes,
            ds.sha256,
            ds.version,
            {name: d.size for name, d in ds.dimensions.items()},
            tuple(name for name, d in ds.dimensions.items() if d.isunlimited()),
            variables,
        )


__all__ = [
    "ArchiveOptions",
    "Archived",
    "Estimate",
    "Finding",
    "Info",
    "PresetEstimate",
    "Report",
    "Restored",
    "VariableInfo",
    "archive",
    "archive_bytes",
    "archive_many",
    "estimate",
    "info",
    "restore",
    "verify",
]

"""Whole files: archive, restore, verify, estimate, info. Results are plain values that pickle."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from nc3z import _nc3z
from nc3z._core import Cancel, Source
from nc3z._core import open as open_dataset
from nc3z._errors import Cancelled

Path = str | os.PathLike[str]
#: Called repeatedly with the bytes done and the total, on the thread that started the work.
Progress = Callable[[int, int], object]


class ArchiveOptions(TypedDict, total=False):
    """The options of an archive.

    preset
        ``"fast"``, ``"default"`` or ``"max"``: a smaller archive takes more time.
    layout
        The shape of tiles: ``"linear"`` (runs of the flattened array), ``"chunked"``, ``"auto"``, ``"series"`` or ``"map"``.
    chunks
        Lengths of tiles by name of dimension. A dimension that is not named is not divided.
    pad_edges
        If true, chunks at the upper edges are padded to full size, as in Zarr and HDF5.
    tile_nbytes
        The length of a tile before compression in bytes. The default is 1 MiB (``"max"``: 4 MiB), or 256 KiB for arrays of at
        least 16 MiB where that makes the archive hardly larger.
    memory
        The length of the buffers in bytes.
    parity
        Redundancy that can repair the loss of this share of the archive, such as ``"5%"``.
    verify
        If true (the default), the archive is read back and compared before it gets its name.
    quantize
        LOSSY: rounding by name of variable, such as ``{"tas": "bitround:9"}``.
    chains
        Filters and codec as JSON by name of variable; ``"*"`` for all.
    profile
        ``"zarr"`` stores arrays as Zarr does, for references to them (:mod:`nc3z.virtualizarr`, :mod:`nc3z.icechunk`): padded
        chunks, all encoded with shuffle and zstd. Other options take precedence.
    force
        If true, an existing file may be replaced.
    """

    preset: Literal["fast", "default", "max"]
    layout: Literal["linear", "chunked", "auto", "series", "map"]
    chunks: Mapping[str, int] | None
    pad_edges: bool
    tile_nbytes: int | None
    memory: int | None
    parity: str | None
    verify: bool
    quantize: Mapping[str, str] | None
    chains: Mapping[str, str] | None
    profile: Literal["zarr"] | None
    force: bool


def _known(options: ArchiveOptions) -> ArchiveOptions:
    unknown = [name for name in options if name not in ArchiveOptions.__annotations__]
    if unknown:
        raise TypeError(f"unknown option {unknown[0]!r}; expected one of {', '.join(ArchiveOptions.__annotations__)}")
    return {"force": False, **options}


@dataclass(frozen=True, slots=True)
class Archived:
    """The result of archiving a file."""

    source: str
    """The classic file; ``"<memory>"`` for one that was given as bytes."""
    path: str
    """The archive."""
    original_nbytes: int
    stored_nbytes: int
    sha256: str
    """The SHA-256 of the classic file, hexadecimal."""
    verified: bool
    """True if the archive was read back and compared with the classic file. False where it already existed."""
    lossy: bool = False
    """True if values were rounded."""
    warnings: tuple[str, ...] = ()
    """Irregularities of the classic file."""
    skipped: bool = False
    """True if the archive already existed."""

    @property
    def ratio(self) -> float:
        """The ratio of original bytes to stored bytes."""
        return self.original_nbytes / max(self.stored_nbytes, 1)


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of restoring a file."""

    path: str
    nbytes: int
    sha256: str
    matches_record: bool
    """True if the archive stores a digest, which is then equal to this one."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect of an archive."""

    structure: str
    """The defective structure."""
    start: int
    stop: int
    """The defective bytes of the archive, from ``start`` up to but not including ``stop``."""
    message: str
    variables: tuple[str, ...]
    """The variables whose data are affected."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a check. True in a condition if the archive is sound."""

    stored_nbytes: int
    blocks: int
    tiles: int
    versions: int
    findings: tuple[Finding, ...]
    more_findings: int
    """The number of further findings that are not listed."""
    sha256: str | None
    """The SHA-256 of the rebuilt original, for a deep check of a sound archive."""
    repairable: bool
    """True if parity can repair the archive."""
    not_decoded: tuple[tuple[str | None, int, str], ...] = ()
    """Tiles that a deep check could not decode: the variable, the number of tiles, and the missing filter or codec."""
    not_rebuilt: str | None = None
    """The reason why a deep check could not rebuild the original although it found no defect."""

    @property
    def is_complete(self) -> bool:
        """True if everything was checked."""
        return not self.not_decoded and self.not_rebuilt is None

    @property
    def is_sound(self) -> bool:
        """True if everything was checked, and no defect was found."""
        return self.is_complete and not self.findings and not self.more_findings

    def __bool__(self) -> bool:
        return self.is_sound


@dataclass(frozen=True, slots=True)
class PresetEstimate:
    """The estimate for one preset."""

    preset: str
    stored_nbytes: int
    uncertainty: float
    """Two standard errors of the estimate, relative."""
    archive_seconds: float
    restore_seconds: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimates for the archives of a file."""

    original_nbytes: int
    sampled_nbytes: int
    whole: bool
    """True if the whole file was sampled. Sizes are then exact, except for some overhead."""
    presets: tuple[PresetEstimate, ...]
    peers: Mapping[str, int]
    """The size in bytes with other tools."""
    variables: Mapping[str, tuple[int, tuple[int, ...]]]
    """For each variable: the original size in bytes, and the stored size for each preset."""


@dataclass(frozen=True, slots=True)
class VariableInfo:
    """A variable as described in its file."""

    name: str
    dtype: str
    dimensions: tuple[str, ...]
    shape: tuple[int, ...]
    nbytes: int
    tile_shape: tuple[int, ...] | None
    """The shape of the unit of decoding, if it is a box."""


@dataclass(frozen=True, slots=True)
class Info:
    """A description of a file."""

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

    The archive gets its name only after it is complete, verified and on disk. The source is never changed.

    Parameters
    ----------
    source
        The classic file, or its bytes, which must not change meanwhile.
    path
        The archive; by default ``source`` with ``.nc3z`` appended. It must be given if the source is bytes.
    skip_existing
        If true, an existing archive of the source is kept: its header and length must be those of the source, and it must not be
        older. Any other file of that name is an error.
    progress
        Called with the bytes done and the total.
    cancel
        Ends the work with :class:`nc3z.Cancelled` when it is set. Ctrl-C does the same.
    **options
        See :class:`nc3z.ArchiveOptions`.

    Examples
    --------
    >>> done = nc3z.archive("etopo120.cdf", "relief.nc3z")
    >>> done.original_nbytes, done.verified, done.ratio > 1
    (67548, True, True)
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        if path is None:
            raise TypeError("bytes have no name: the archive of them needs a path")
        if skip_existing:
            raise TypeError("skip_existing compares files; bytes have no time to compare")
        path = os.fspath(path)
        done = _nc3z.archive_buffer(source, path, _known(options), progress, cancel)
        return Archived("<memory>", path, **done)
    source, path = os.fspath(source), os.fspath(path) if path is not None else os.fspath(source) + ".nc3z"
    if skip_existing and os.path.lexists(path):
        _known(options)
        return _present(source, path)
    done = _nc3z.archive(source, path, _known(options), progress, cancel)
    return Archived(source, path, **done)


def _present(source: str, path: str) -> Archived:
    """Returns the existing archive, which must be the source's."""
    return Archived(source, path, **_nc3z.present(source, path), skipped=True)


def _settings(storage_options: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if storage_options is None else dict(storage_options)


def archive_bytes(
    source: Source,
    *,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    **options: Unpack[ArchiveOptions],
) -> bytes:
    """Archives a classic file in memory. Takes bytes, a file object or a path, and returns the bytes of the archive.

    >>> from pathlib import Path
    >>> small = nc3z.archive_bytes(Path("etopo120.cdf").read_bytes())
    >>> nc3z.open(small)["ROSE"].shape
    (90, 180)
    """
    return _nc3z.archive_bytes(source, _known(options), progress, cancel)[0]


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
    """Archives many files, several at a time. If one fails, the others are still archived.

    Parameters
    ----------
    sources
        Classic files, or pairs of a classic file and its archive.
    directory
        The directory for archives that are not named; by default that of the source.
    skip_existing
        As for :func:`archive`. An interrupted run that is started again continues where it stopped.
    on_result
        Called with each result when it is ready, on the calling thread.
    max_workers
        The number of files at a time; by default the number of threads.
    cancel
        Ends the work when it is set: unfinished files are discarded, and no others are started.

    Returns
    -------
    list
        In the order of ``sources``: the result for each file, or the exception that it raised.

    Examples
    --------
    >>> good, bad = nc3z.archive_many(["etopo120.cdf", "nothing.nc"], "archives")
    >>> good.path, type(bad).__name__
    ('archives/etopo120.cdf.nc3z', 'FileNotFoundError')
    """
    if isinstance(sources, str | bytes | os.PathLike):
        raise TypeError(f"archive_many takes a list of files, not {sources!r}: give [{sources!r}], or call nc3z.archive")
    stop = cancel or Cancel()
    known = _known(options)
    jobs = [_job(entry, directory) for entry in sources]
    outputs: dict[str, str] = {}
    for source, path in jobs:
        other = outputs.setdefault(os.path.abspath(path), source)
        if other != source:
            raise ValueError(f"`{other}` and `{source}` would both become `{path}`; nothing was done")
    if directory is not None:
        _nc3z.refuse_url(os.fspath(directory))
        os.makedirs(directory, exist_ok=True)
    results: dict[int, Archived | Exception] = {}

    def tell(number: int, result: Archived | Exception) -> None:
        results[number] = result
        if on_result is not None:
            on_result(result)

    left = []
    try:
        for number, (source, path) in enumerate(jobs):
            if not skip_existing or stop.is_set() or not os.path.lexists(path):
                left.append(number)
                continue
            try:
                there: Archived | Exception = _present(source, path)
            except Exception as failure:
                there = failure
            tell(number, there)

        def ended(at: int, done: dict[str, Any] | Exception) -> None:
            number = left[at]
            if isinstance(done, Exception):
                tell(number, done)
            else:
                tell(number, Archived(*jobs[number], **done))

        _nc3z.archive_many([jobs[n] for n in left], known, max_workers or _nc3z.get_threads(), ended, stop)
        for number, (source, _) in enumerate(jobs):
            if number not in results:
                tell(number, Cancelled(f"{source}: not begun"))
    except BaseException:
        stop.set()
        raise
    return [results[number] for number in range(len(jobs))]


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
    force: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Restored:
    """Restores the classic file of an archive, byte for byte. Its digest is compared with the stored one.

    The archive is a path or a URL; for ``storage_options`` see :func:`nc3z.open`.

    >>> nc3z.restore("coads_climatology.nc3z", "back.nc").matches_record
    True
    """
    archive, path = os.fspath(archive), os.fspath(path)
    return Restored(path, **_nc3z.restore(archive, path, force, _settings(storage_options), progress, cancel))


def verify(
    archive: Source,
    *,
    deep: bool = True,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Report:
    """Checks every byte of an archive. Continues after a finding.

    With ``deep``, every tile is decoded, and the original is rebuilt and compared with its digest. Otherwise stored bytes are
    compared with their checksums.

    >>> report = nc3z.verify("coads_climatology.nc3z")
    >>> report.is_sound, report.findings
    (True, ())
    """
    found = _nc3z.check(archive, deep, _settings(storage_options), progress, cancel)
    findings = tuple(Finding(s, a, b, words, tuple(names)) for s, a, b, words, names in found.pop("findings"))
    not_decoded = tuple(found.pop("not_decoded"))
    return Report(**found, findings=findings, not_decoded=not_decoded)


def estimate(
    source: Source,
    presets: str | Sequence[str] = ("fast", "default", "max"),
    *,
    sample_nbytes: int | None = None,
    cancel: Cancel | None = None,
) -> Estimate:
    """Estimates the size of archives of a classic file by one or several presets, and the time on this machine in seconds, from samples.

    >>> guess = nc3z.estimate("etopo120.cdf", ["default"])
    >>> guess.presets[0].stored_nbytes < guess.original_nbytes
    True
    """
    found = _nc3z.estimate(source, [presets] if isinstance(presets, str) else list(presets), sample_nbytes, None, cancel)
    return Estimate(
        found["original_nbytes"],
        found["sampled_nbytes"],
        found["whole"],
        tuple(PresetEstimate(*preset) for preset in found["presets"]),
        dict(found["peers"]),
        {name: (original, tuple(stored)) for name, original, stored in found["variables"]},
    )


def info(source: Source, *, storage_options: Mapping[str, Any] | None = None) -> Info:
    """Returns the kind of a file, its sizes, dimensions and variables. Reads no data.

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

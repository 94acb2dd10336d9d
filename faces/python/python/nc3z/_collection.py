"""Opens many files as xarray datasets, one for each group of files that belong together."""

from __future__ import annotations

import difflib
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal

from nc3z._errors import Error, UnsupportedError
from nc3z._nc3z import Condition, Member, Scan, group_files, shown

if TYPE_CHECKING:
    import xarray as xr

    from nc3z._building import Plan
    from nc3z._fragments import Opening
    from nc3z._members import Found

Path = str | os.PathLike[str]
#: Local files that a thread looks at before it takes the next ones.
_BATCH = 64


class Collection(Mapping[str, "xr.Dataset"]):
    """Datasets by name of group; made by :func:`open_collection`.

    A dataset is built when it is first asked for. ``xarray.DataTree.from_dict(collection)`` makes a tree of all.
    """

    def __init__(self, plans: dict[str, Plan], options: dict[str, Any], left_out: dict[str, str], notes: list[str]) -> None:
        self._plans, self._options = plans, options
        self._built: dict[str, xr.Dataset] = {}
        self._lock = threading.Lock()
        self.left_out = left_out
        """The reason why a file is in no group, by its path."""
        self.notes = notes
        """Remarks, such as statistics that were not used because a file is newer."""

    def __getitem__(self, name: str) -> xr.Dataset:
        import xarray as xr

        from nc3z._building import Engine

        if name not in self._plans:
            raise KeyError(f"no group {name!r}; there are {', '.join(list(self._plans)[:10])}")
        with self._lock:
            if name not in self._built:
                plan: Any = self._plans[name]
                self._built[name] = xr.open_dataset(plan, engine=Engine, **self._options)
            return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plans)

    def __len__(self) -> int:
        return len(self._plans)

    def files(self, name: str) -> tuple[str, ...]:
        """Returns the paths of the files of a group, in the order in which they are joined."""
        return tuple(path for group in self._plans[name].groups for path in group.paths)

    @property
    def dataset(self) -> xr.Dataset:
        """The dataset, if there is one group."""
        if len(self._plans) != 1:
            names = list(self._plans)
            a, b = (self._plans[name].groups[0] for name in names[:2])
            raise ValueError(
                f"the collection has {len(names)} groups, not one: {', '.join(names[:10])}; take one by its name. "
                f"{names[0]} and {names[1]} are apart because {a.difference(b)}"
            )
        return self[next(iter(self._plans))]

    def __repr__(self) -> str:
        lines = [f"<nc3z.Collection of {len(self)} {'group' if len(self) == 1 else 'groups'}>"]
        for name, plan in list(self._plans.items())[:40]:
            heads = {n for group in plan.groups for n in group.heads}
            lengths = {d: parts.sum() for group in reversed(plan.groups) for d, parts in group.lengths.items()}
            files = sum(len(group) for group in plan.groups)
            first = ", ".join(f"{d}: {length}" for d, length in list(lengths.items())[:6])
            lines.append(f"  {name}  {files} {'file' if files == 1 else 'files'}, {len(heads)} variables, ({first})")
        if len(self) > 40:
            lines.append(f"  and {len(self) - 40} more")
        if self.left_out:
            lines.append(f"  left out: {len(self.left_out)} (see .left_out)")
        return "\n".join(lines)


def open_collection(
    source: Path | Iterable[Path],
    *,
    where: str | Iterable[str] = (),
    drop: bool = False,
    catalog: Path | None = None,
    base: str | None = None,
    concat_dim: str | None = None,
    compat: Literal["equals", "override"] = "equals",
    merge: bool = True,
    errors: Literal["raise", "ignore"] = "raise",
    chunks: Any = None,
    storage_options: Mapping[str, Any] | None = None,
    fill_lost: bool = False,
    outside: bool = False,
    fill_missing: bool = False,
    **options: Any,
) -> Collection:
    """Opens many files as lazy xarray datasets, one for each group of files that belong together.

    Only headers and coordinates are read. Files with the same variables, units and calendars are joined along the dimensions whose
    coordinates differ, whatever their order and names. Each variable is one array, which reads the files that a selection needs.

    Parameters
    ----------
    source
        A directory, with all archives, classic files and bundles below it; a pattern such as ``"data/**/tas_*.nc"``; a bundle; a catalogue
        (``nc3z catalog``); an aggregation; a single file; a URL of one of the last five; or a list of these.
    where
        Conditions such as ``"tas > 310"``. Data variables with the dimensions of ``tas`` are then missing where it is not met, as by
        ``Dataset.where``. Files and tiles whose minimum and maximum in the catalogue exclude such values are not read.
    drop
        With ``where``: leave out files whose statistics exclude such values, without opening them. Dimensions are then shorter.
    catalog
        The catalogue of the files, if ``source`` is not one.
    base
        The directory or URL where relative names of a catalogue start; by default the current directory, or that of the catalogue.
    concat_dim
        A dimension without coordinates, along which files are joined in the order given. If no file has it, it is new: each file is one
        element of it, and data variables get it as their first dimension, as by ``xarray.open_mfdataset(combine="nested")``. A file
        that is named twice is then joined twice.
    compat
        ``"equals"`` compares the values of variables that do not have the joined dimension. If they differ, they get that dimension.
        ``"override"`` takes those of the first file, and does not read the others.
    merge
        Whether groups with different variables and equal coordinates become one dataset, if one has all dimensions of the other.
    errors
        ``"ignore"`` leaves out files that cannot be opened, with the reason in ``left_out``.
    chunks
        As for ``xarray.open_dataset``. ``{}`` makes Dask arrays with chunks of whole files, or of whole tiles of one.
    storage_options, fill_lost, outside, fill_missing
        As for :func:`nc3z.open`. Settings are for the URLs among the sources.
    **options
        Those of ``xarray.open_dataset`` for decoding, such as ``decode_times`` and ``drop_variables``.

    Returns
    -------
    Collection
        A mapping of datasets by name of group. ``.dataset`` is the only one, if there is one.

    Raises
    ------
    FileNotFoundError
        The source has no archive and no classic file.
    nc3z.UnsupportedError
        A file that was named is not a netCDF file. Files that were found in directories and bundles are left out.

    Examples
    --------
    >>> collection = nc3z.open_collection(["coads_climatology.nc3z", "etopo120.cdf"], decode_times=False)
    >>> list(collection)
    ['AIRT+SLP+SPEH+4', 'ROSE']
    >>> collection["ROSE"].ROSE.shape
    (90, 180)
    """
    from nc3z import _members
    from nc3z._building import Plan
    from nc3z._fragments import Opening, forget_bundles

    if compat not in ("equals", "override"):
        raise ValueError(f"compat {compat!r} is neither 'equals' nor 'override'")
    if errors not in ("raise", "ignore"):
        raise ValueError(f"errors {errors!r} is neither 'raise' nor 'ignore'")
    conditions = tuple(Condition(text) for text in ([where] if isinstance(where, str) else where))
    opening = Opening.of(storage_options, fill_lost, outside, fill_missing)
    forget_bundles()
    found = _members.find(source, catalog=catalog, base=base, variables=[condition.variable for condition in conditions], opening=opening)
    left_out = _without(found, conditions) if drop else {}
    if not found.paths:
        raise FileNotFoundError(f"{source!r}: no file is left, because the statistics of all exclude {' and '.join(map(str, conditions))}")
    files = _look(found, opening, left_out, errors == "ignore", bool(conditions))
    if not files:
        raise FileNotFoundError(f"{source!r}: no archive and no classic netCDF file")
    merged, empty = group_files(_mentioned(files, found, concat_dim), concat_dim, merge)
    left_out.update(empty)
    known = {name for _, groups in merged for group in groups for name in group.heads} if conditions else set()
    for variable in (c.variable for c in conditions if c.variable not in known):
        near = difflib.get_close_matches(variable, known, 1)
        raise ValueError(f"no file has a variable {variable!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    plans = {name: Plan(groups, opening, compat == "equals", conditions, found.statistics) for name, groups in merged}
    return Collection(plans, {"chunks": chunks, **options}, left_out, found.notes)


def _mentioned(files: list[Member], found: Found, concat_dim: str | None) -> list[Member]:
    """Returns files as often as they were named, where they are joined in the order given; otherwise once."""
    if len(found.mentions) == len(found.paths):
        return files
    if concat_dim is not None and not any(file.has_coordinates(concat_dim) for file in files):
        by_path = {file.path: file for file in files}
        return [by_path[path] for path in found.mentions if path in by_path]
    for path, times in Counter(found.mentions).items():
        if times > 1:
            found.notes.append(f"{shown(path)}: named {times} times, and read once; concat_dim joins files in the order given")
    return files


def _without(found: Found, conditions: tuple[Condition, ...]) -> dict[str, str]:
    """Removes the files that cannot have values for the conditions."""
    out = {}
    for path in found.paths:
        statistics = found.statistics.get(path)
        if statistics is not None and statistics.describes(path) and not statistics.possible(conditions):
            out[path] = f"its statistics exclude {' and '.join(map(str, conditions))}"
    found.paths = [path for path in found.paths if path not in out]
    return out


def _look(found: Found, opening: Opening, left_out: dict[str, str], ignore: bool, has_conditions: bool) -> list[Member]:
    """Opens all files, and reads their headers and coordinates. Only conditions need statistics afterwards."""
    from nc3z._fragments import LOCAL, REMOTE, hashed, token

    folder = os.path.commonpath({os.path.dirname(p) for p in found.paths}) if not any("://" in p for p in found.paths) else ""
    prefix = folder.rstrip("/") + "/" if folder else None
    scan = Scan()

    def one(path: str) -> Member | str:
        try:
            return looked(path)
        except UnsupportedError as e:
            if found.searched or ignore:
                return str(e)
            raise
        except (Error, OSError) as e:
            if ignore:
                return str(e)
            raise

    def looked(path: str) -> Member | str:
        if not path.isascii() and path != path.encode("utf-8", "replace").decode():
            raise UnsupportedError(f"{ascii(path)}: its name is not valid UTF-8, and names in a collection must be; rename the file")
        if prefix is not None and path.startswith(prefix):
            name = path[len(prefix) :]
        else:
            # The query of a bundle's URL comes before the member.
            bundle, mark, member = path.partition("!/")
            name = os.path.relpath(path, folder) if folder else ((shown(bundle) + mark + member).partition("://")[2] or path).lstrip("/")
        statistics = found.statistics.get(path)
        state = None if statistics is None or not statistics.describes(path) else statistics.state(path)
        if statistics is not None and state is not None:
            coordinates = (statistics.coordinates, statistics.values)
            known = scan.described(statistics.header, statistics.sizes, coordinates, path, name, hashed(state))
            if known is not None:
                statistics.forget()
                if not has_conditions:
                    del found.statistics[path]
                return known
        with opening.open(path) as dataset:
            if dataset.kind == "aggregation" and found.searched:
                return "it is an aggregation; name it to open it"
            if statistics is not None and not (
                statistics.describes(path) and statistics.describes_opened(dataset.sha256, dataset.original_nbytes)
            ):
                del found.statistics[path]
                found.notes.append(f"{shown(path)}: its statistics are not used, because it may have changed since; run `nc3z catalog` again")
            return scan.file(dataset, path, name, token(dataset))

    is_remote = any("://" in path for path in found.paths)
    workers, step = (REMOTE, 1) if is_remote else (LOCAL, _BATCH)
    batches = [found.paths[at : at + step] for at in range(0, len(found.paths), step)]
    files: list[Member] = []
    with ThreadPoolExecutor(workers, "nc3z-collection") as pool:
        for batch, results in zip(batches, pool.map(lambda batch: [one(path) for path in batch], batches), strict=True):
            for path, result in zip(batch, results, strict=True):
                if isinstance(result, str):
                    left_out[path] = result
                else:
                    files.append(result)
    return files

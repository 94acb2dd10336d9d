"""Opens many files as xarray datasets, one for each group of files that belong together."""

from __future__ import annotations

import difflib
import hashlib
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nc3z._errors import Error, UnsupportedError
from nc3z._nc3z import shown

if TYPE_CHECKING:
    import xarray as xr

    from nc3z._building import Plan
    from nc3z._groups import Array, File, Group, Schemas
    from nc3z._members import Found
    from nc3z._shadows import Condition

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
        return tuple(file.path for group in self._plans[name].groups for file in group.files)

    @property
    def dataset(self) -> xr.Dataset:
        """The dataset, if there is one group."""
        if len(self._plans) != 1:
            from nc3z._groups import difference

            names = list(self._plans)
            a, b = (self._plans[name].groups[0] for name in names[:2])
            raise ValueError(
                f"the collection has {len(names)} groups, not one: {', '.join(names[:10])}; take one by its name. "
                f"{names[0]} and {names[1]} are apart because {difference(a, b)}"
            )
        return self[next(iter(self._plans))]

    def __repr__(self) -> str:
        lines = [f"<nc3z.Collection of {len(self)} {'group' if len(self) == 1 else 'groups'}>"]
        for name, plan in list(self._plans.items())[:40]:
            heads = {n: head for group in plan.groups for n, head in group.schema.heads.items()}
            lengths = _lengths(plan)
            files = sum(len(group.files) for group in plan.groups)
            first = ", ".join(f"{d}: {length}" for d, length in list(lengths.items())[:6])
            lines.append(f"  {name}  {files} {'file' if files == 1 else 'files'}, {len(heads)} variables, ({first})")
        if len(self) > 40:
            lines.append(f"  and {len(self) - 40} more")
        if self.left_out:
            lines.append(f"  left out: {len(self.left_out)} (see .left_out)")
        return "\n".join(lines)


def _lengths(plan: Plan) -> dict[str, int]:
    found: dict[str, int] = {}
    for group in plan.groups:
        for dimension, size in group.files[0].sizes.items():
            numbers = group.positions.get(dimension)
            if numbers is not None:
                size = sum({n: f.sizes[dimension] for n, f in zip(numbers, group.files, strict=True)}.values())
            found.setdefault(dimension, size)
    return found


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
    from nc3z._groups import Schemas, arrange, names, stack, without_records
    from nc3z._shadows import Condition

    if compat not in ("equals", "override"):
        raise ValueError(f"compat {compat!r} is neither 'equals' nor 'override'")
    if errors not in ("raise", "ignore"):
        raise ValueError(f"errors {errors!r} is neither 'raise' nor 'ignore'")
    conditions = tuple(Condition.parse(text) for text in ([where] if isinstance(where, str) else where))
    opening = Opening.of(storage_options, fill_lost, outside, fill_missing)
    forget_bundles()
    found = _members.find(source, shadow=catalog, base=base, variables=[condition.variable for condition in conditions], opening=opening)
    left_out = _without(found, conditions) if drop else {}
    if not found.paths:
        raise FileNotFoundError(f"{source!r}: no file is left, because the statistics of all exclude {' and '.join(map(str, conditions))}")
    files = _look(found, opening, Schemas(), left_out, errors == "ignore")
    if not files:
        raise FileNotFoundError(f"{source!r}: no archive and no classic netCDF file")
    by_key: dict[Any, list[File]] = {}
    for file in _mentioned(files, found, concat_dim):
        by_key.setdefault(file.schema.key, []).append(file)
    for key, part in by_key.items():
        empty = without_records(part)
        left_out.update(empty)
        by_key[key] = [file for file in part if file.path not in empty]
    if concat_dim is not None and not any(concat_dim in file.sizes for file in files):
        groups = [group for part in by_key.values() for group in stack(part, concat_dim)]
    else:
        groups = [group for part in by_key.values() for group in arrange(part, concat_dim)]
    for group in groups:
        _sort(group)
    known = {name for schema in {id(g.schema): g.schema for g in groups}.values() for name in schema.heads}
    for variable in (c.variable for c in conditions if c.variable not in known):
        near = difflib.get_close_matches(variable, known, 1)
        raise ValueError(f"no file has a variable {variable!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    merged = _merge(groups) if merge else [[group] for group in groups]
    labels = names([_together(part) for part in merged])
    plans = {
        label: Plan(part, opening, compat == "equals", conditions, found.statistics) for label, part in zip(labels, merged, strict=True)
    }
    return Collection(plans, {"chunks": chunks, **options}, left_out, found.notes)


def _mentioned(files: list[File], found: Found, concat_dim: str | None) -> list[File]:
    """Returns files as often as they were named, where they are joined in the order given; otherwise once."""
    if len(found.mentions) == len(found.paths):
        return files
    if concat_dim is not None and not any(concat_dim in file.coordinates for file in files):
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


def _look(found: Found, opening: Any, schemas: Schemas, left_out: dict[str, str], ignore: bool) -> list[File]:
    """Opens all files, and reads their headers and coordinates."""
    from nc3z._described import Described
    from nc3z._fragments import LOCAL, REMOTE, token
    from nc3z._groups import File

    folder = os.path.commonpath([os.path.dirname(p) for p in found.paths]) if not any("://" in p for p in found.paths) else ""
    prefix = folder.rstrip("/") + "/" if folder else None
    lock = threading.Lock()
    # Most files have the same latitudes.
    known: dict[tuple[str, bytes], Array] = {}

    def shared(values: Array) -> Array:
        return known.setdefault((values.dtype.str, values.tobytes()), values)

    described = Described(schemas, shared)

    def one(path: str) -> File | str:
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

    def looked(path: str) -> File | str:
        if prefix is not None and path.startswith(prefix):
            name = path[len(prefix) :]
        else:
            name = os.path.relpath(path, folder) if folder else (shown(path).partition("://")[2] or path).lstrip("/")
        statistics = found.statistics.get(path)
        if statistics is not None:
            with lock:
                file = described.file(path, name, statistics)
            if file is not None:
                return file
        dataset = opening.open(path)
        with dataset:
            if dataset.kind == "aggregation" and found.searched:
                return "it is an aggregation; name it to open it"
            with lock:
                schema = schemas.of(dataset)
            if statistics is not None and not (
                statistics.describes(path) and statistics.describes_opened(dataset.sha256, dataset.original_nbytes)
            ):
                del found.statistics[path]
                found.notes.append(f"{shown(path)}: its statistics are not used, because it may have changed since; run `nc3z catalog` again")
            coordinates = {n: shared(np.asarray(dataset[stored][...])) for n, stored in schema.coordinates}
            dimensions = dataset.dimensions
            sizes = {short: dimensions[stored].size for stored, short in schema.used}
            return File(path, name, schema, token(dataset), sizes, coordinates)

    is_remote = any("://" in path for path in found.paths)
    workers, step = (REMOTE, 1) if is_remote else (LOCAL, _BATCH)
    batches = [found.paths[at : at + step] for at in range(0, len(found.paths), step)]
    files: list[File] = []
    with ThreadPoolExecutor(workers, "nc3z-collection") as pool:
        for batch, results in zip(batches, pool.map(lambda batch: [one(path) for path in batch], batches), strict=True):
            for path, result in zip(batch, results, strict=True):
                if isinstance(result, str):
                    left_out[path] = result
                else:
                    files.append(result)
    return files


def _sort(group: Group) -> None:
    """Sorts files by their place, so that the first file is the first one along all dimensions."""
    places = list(zip(*group.positions.values(), strict=True)) if group.positions else [()] * len(group.files)
    order = sorted(range(len(group.files)), key=lambda n: places[n])
    group.files = [group.files[n] for n in order]
    group.positions = {d: [numbers[n] for n in order] for d, numbers in group.positions.items()}


def _whole(group: Group, dimension: str) -> Array:
    """Returns the coordinates of a group, decoded; numbers if there are none."""
    from nc3z._groups import places

    head = group.schema.heads.get(dimension)
    numbers = group.positions.get(dimension, [0] * len(group.files))
    first = {number: file for number, file in reversed(list(zip(numbers, group.files, strict=True)))}
    parts = [first[place] for place in sorted(first)]
    if head is None or any(dimension not in file.coordinates for file in parts):
        return np.arange(sum(file.sizes[dimension] for file in parts))
    try:
        return np.concatenate([places(file.schema.heads[dimension], file.coordinates[dimension]) for file in parts])
    except ValueError:
        # Equal to nothing.
        return np.array([np.nan])


def _merge(groups: list[Group]) -> list[list[Group]]:
    """Puts groups together that have different variables and equal coordinates."""
    from nc3z._building import same_coordinates

    merged: list[list[Group]] = []
    if len({id(group.schema.key) for group in groups}) == 1:
        return [[group] for group in groups]
    # By a coordinate, the places in `merged` by the variables there. Groups of equal variables cannot be merged; many of them are files
    # that could not be placed.
    known: dict[Any, dict[frozenset[Any], list[int]]] = {}
    # In the order of names: which groups are merged does not depend on the order in which files were found.
    for group in sorted(groups, key=lambda group: group.files[0].name):
        key, coordinates = group.schema.key, _coordinates(group)
        lists = [places for c in coordinates for keys, places in known.get(c, {}).items() if key not in keys]
        candidates = sorted({place for places in lists for place in places})
        place = next((n for n in candidates if all(same_coordinates(other, group, _whole) for other in merged[n])), None)
        before: frozenset[Any] = frozenset()
        if place is None:
            place = len(merged)
            merged.append([group])
        else:
            before = frozenset(other.schema.key for other in merged[place])
            for c in {c for other in merged[place] for c in _coordinates(other)}:
                known[c][before].remove(place)
                coordinates = coordinates | {c}
            merged[place].append(group)
        for c in coordinates:
            known.setdefault(c, {}).setdefault(before | {key}, []).append(place)
    found = {id(group): n for n, group in enumerate(groups)}
    return sorted(merged, key=lambda together: min(found[id(group)] for group in together))


def _coordinates(group: Group) -> frozenset[Any]:
    """Returns the coordinates of a group, of which groups that become one dataset have one in common: its times, if it has some."""
    heads, times = group.schema.heads, group.schema.times()
    own = {d for d in group.files[0].sizes if d in heads}
    found = set()
    for d in own & times or own:
        values = _whole(group, d)
        # Zeros of both signs are equal.
        values = values if values.dtype.kind == "S" else values + 0
        found.add((d, hashlib.blake2b(values.tobytes(), digest_size=16).digest()))
    return frozenset(found)


def _together(groups: list[Group]) -> Group:
    """Returns a group for the name of several."""
    from nc3z._groups import Group, Schema

    if len(groups) == 1:
        return groups[0]
    heads = {name: head for group in groups for name, head in group.schema.heads.items()}
    files = [file for group in groups for file in group.files]
    first = files[0]
    schema = Schema(heads, first.schema.unlimited)
    return Group([type(first)(first.path, first.name, schema, b"", first.sizes, {}), *files[1:]])

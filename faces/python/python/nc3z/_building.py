"""Builds the xarray dataset of a group of files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import xarray as xr
from xarray.backends import AbstractDataStore, BackendEntrypoint
from xarray.backends.store import StoreBackendEntrypoint
from xarray.core import indexing
from xarray.core.utils import FrozenDict

from nc3z._arrays import CHUNK_NBYTES, Decoder, JoinedArray, Question, WhereArray, fitted, preferred_chunks
from nc3z._fragments import LOCAL, REMOTE, Files, Joined, Opening
from nc3z._groups import Array, Group, Head, coordinate_names, data_variables, is_time
from nc3z._shadows import Condition, Statistics
from nc3z.xarray import with_c_names

#: The most bytes of a variable that is repeated for each file along the joined dimension.
_REPEATED = 64 << 20
_PACKING = {"scale_factor", "add_offset"}


@dataclass(slots=True)
class Plan:
    """What a dataset is built from: groups of files with different variables and equal coordinates."""

    groups: list[Group]
    opening: Opening
    #: True if variables that all files share are compared.
    compares: bool = True
    conditions: tuple[Condition, ...] = ()
    statistics: dict[str, Statistics] = field(default_factory=dict)

    def __dask_tokenize__(self) -> tuple[object, ...]:
        files = tuple((file.path, file.token) for group in self.groups for file in group.files)
        return ("nc3z-collection", files, tuple(map(str, self.conditions)))


class _Part:
    """The variables of one group."""

    def __init__(self, group: Group, plan: Plan, options: dict[str, Any]) -> None:
        self.group, self.plan = group, plan
        self.options = tuple(options.items())
        self.files = Files(tuple(f.path for f in group.files), tuple(f.token for f in group.files), plan.opening)
        self.table = group.table()
        self.joined: dict[str, Joined] = {}
        #: Coordinates, which do not get the dimension along which files are stacked.
        self.shared = {n for n, head in group.schema.heads.items() if head.dimensions == (n,)} | coordinate_names(group)
        schemas = {id(f.schema): f.schema for f in group.files}
        self.is_uniform = {
            name: len({schema.heads[name].storage() for schema in schemas.values()}) == 1 for name in group.schema.heads
        }
        for name, head in group.schema.heads.items():
            if head.dtype.kind == "S" and head.dimensions and len(self.widths(name)) > 1:
                self.is_uniform[name] = False
        #: Decoded times that files store in different ways, for each part along their dimension.
        self.times = {
            name: self.decoded(name)
            for name in group.schema.times()
            if options["decode_times"] is not False and not self.is_uniform[name] and self.has_values(name)
        }
        if any(len({v.dtype.kind for v in parts}) > 1 for parts in self.times.values()):
            # NumPy's dates hold those of some files only. All become dates of cftime, as in a single file with such times.
            coder: Any = xr.coders.CFDatetimeCoder(use_cftime=True) if hasattr(xr, "coders") else True
            self.options = tuple({**options, "decode_times": coder, "use_cftime": True if coder is True else None}.items())
            self.times = {name: self.decoded(name) for name in self.times}

    def has_values(self, name: str) -> bool:
        """Returns whether the values of a coordinate variable are known."""
        return all(name in file.coordinates for file in self.group.files)

    def along(self, name: str) -> list[int]:
        """Returns, for each part along a dimension, the number of the first file that has it."""
        numbers = self.group.positions.get(name, [0])
        by_place = {number: n for n, number in reversed(list(enumerate(numbers)))}
        return [by_place[place] for place in sorted(by_place)]

    def decoded(self, name: str) -> list[xr.Variable]:
        """Returns the decoded parts of a coordinate variable."""
        return [self.decoder(n, name).variable(self.group.files[n].coordinates[name]) for n in self.along(name)]

    def check(self, name: str) -> None:
        """Refuses to mix values that only decoding makes comparable."""
        options, head = dict(self.options), self.group.schema.heads[name]
        option = "decode_times" if is_time(head.decoding) else "mask_and_scale"
        packings = {file.schema.heads[name].packing() for file in self.group.files}
        if options[option] is False and head.dtype.kind != "S" and len(packings) > 1:
            raise ValueError(f"the files store {name} in different ways; {option}=False would mix their numbers, so drop {name} or open fewer files")

    def widths(self, name: str) -> set[int]:
        """Returns the lengths of the last dimension of a variable in all files."""
        return {file.sizes[file.schema.heads[name].dimensions[-1]] for file in self.group.files}

    def ends(self, dimension: str) -> npt.NDArray[np.int64] | None:
        numbers = self.group.positions.get(dimension)
        if numbers is None:
            return None
        lengths = np.zeros(max(numbers) + 1, np.int64)
        for number, file in zip(numbers, self.group.files, strict=True):
            lengths[number] = file.sizes[dimension]
        return np.cumsum(lengths)

    def arrangement(self, head: Head, dimensions: Sequence[str]) -> Joined:
        ends = tuple(self.ends(d) for d in dimensions)
        first = self.group.files[0].sizes
        shape = tuple(first[d] if e is None else int(e[-1]) for d, e in zip(dimensions, ends, strict=True))
        axes = list(self.group.positions)
        # Along joined dimensions that the variable does not have, it is that of the first file.
        table = self.table[tuple(slice(None) if d in dimensions else 0 for d in axes)]
        order = [d for d in axes if d in dimensions]
        table = table.transpose([order.index(d) for d in dimensions if d in order])
        is_stacked = self.group.stacked is not None and dimensions[:1] == (self.group.stacked,)
        return Joined(self.files, head.stored, shape, head.dtype, ends, table, is_stacked)

    def dimensions(self, head: Head) -> tuple[str, ...]:
        """The dimensions of a variable in the dataset."""
        if self.group.stacked is None or head.name in self.shared:
            return head.dimensions
        return (self.group.stacked, *head.dimensions)

    def decoder(self, number: int, name: str) -> Decoder:
        head = self.group.files[number].schema.heads[name]
        return Decoder(name, tuple(head.decoding.items()), self.options)

    def decoders(self, name: str) -> tuple[Decoder, ...]:
        known: dict[Any, Decoder] = {}
        heads = [file.schema.heads[name] for file in self.group.files]
        return tuple(known.setdefault(head.storage(), self.decoder(n, name)) for n, head in enumerate(heads))

    def samples(self, name: str) -> list[xr.Variable]:
        """Returns a decoded element for each way in which files store a variable."""
        known: dict[Any, xr.Variable] = {}
        for number, file in enumerate(self.group.files):
            head = file.schema.heads[name]
            if head.storage() not in known:
                zeros = np.zeros((1,) * len(head.dimensions), head.dtype)
                known[head.storage()] = self.decoder(number, name).variable(zeros)
        return list(known.values())

    def variable(self, name: str) -> xr.Variable:
        head = self.group.schema.heads[name]
        if head.dimensions == (name,) and self.has_values(name):
            return self.coordinate(head)
        dimensions = self.dimensions(head)
        is_joined = any(d in self.group.positions for d in dimensions)
        if not is_joined and len(self.group.files) > 1 and self.plan.compares:
            values = self.distinct(head)
            if values is not None:
                return values
        first = self.files.dataset(0)[head.stored]
        if self.is_uniform[name] or not is_joined:
            joined = self.joined[name] = self.arrangement(head, dimensions)
            return self.lazy(head, dimensions, JoinedArray(joined, head.dtype), joined.box(first.chunk_shape(CHUNK_NBYTES)))
        self.check(name)
        decoders = self.decoders(name)
        samples = self.samples(name)
        # Decoding may join the characters of the last dimension.
        dimensions = dimensions[: len(dimensions) - len(head.dimensions) + samples[0].ndim]
        ndim = len(dimensions)
        joined = self.joined[name] = self.arrangement(head, dimensions)
        chosen: Any = np.result_type(*(sample.dtype for sample in samples))
        if chosen.kind in "SU":
            chosen = np.dtype((chosen.type, max(self.widths(name))))
        variable = self.lazy(head, dimensions, JoinedArray(joined, chosen, decoders), joined.box(first.chunk_shape(CHUNK_NBYTES))[:ndim])
        encoding = {"preferred_chunks": variable.encoding["preferred_chunks"]} if ndim else {}
        return variable._replace(attrs=samples[0].attrs, encoding={**_encoding(samples), **encoding})

    def compared(self, variable: xr.Variable, name: str) -> xr.Variable:
        """Returns a variable as it is decoded by xarray, for a comparison with that of other files."""
        head = self.group.schema.heads[name]
        is_stored = self.is_uniform[name] or not any(d in self.group.positions for d in variable.dims)
        if not is_stored or head.dtype.kind == "S" or prod(variable.shape) * variable.dtype.itemsize > _REPEATED:
            return variable
        return xr.Variable(variable.dims, self.decoder(0, name)(variable[...].values))

    def lazy(self, head: Head, dimensions: Sequence[str], array: JoinedArray, chunk: Sequence[int]) -> xr.Variable:
        encoding: dict[str, Any] = {"dtype": head.dtype, "original_shape": array.shape}
        attributes = dict(head.attributes)
        if "least_significant_digit" in attributes:
            encoding["least_significant_digit"] = attributes.pop("least_significant_digit")
        if dimensions:
            encoding["preferred_chunks"] = dict(zip(dimensions, preferred_chunks(array.joined, chunk), strict=True))
        return xr.Variable(dimensions, indexing.LazilyIndexedArray(array), attributes, encoding)

    def coordinate(self, head: Head) -> xr.Variable:
        """A coordinate variable, whose values were read when the files were compared."""
        name, chosen = head.name, self.along(head.name)
        if self.is_uniform[name]:
            values = np.concatenate([self.group.files[n].coordinates[name] for n in chosen])
            return xr.Variable((name,), values, dict(head.attributes), {"dtype": head.dtype, "original_shape": values.shape})
        self.check(name)
        decoded = self.times.get(name) or self.decoded(name)
        found = self.concatenated(name, chosen, [v.values for v in decoded])
        return xr.Variable((name,), found, decoded[0].attrs, _encoding(decoded))

    def concatenated(self, name: str, files: Sequence[int], values: Sequence[Array]) -> Array:
        """Joins decoded values of files in the type of all."""
        dtype: np.dtype[Any] = np.result_type(*{v.dtype for v in values})
        return np.concatenate([fitted(v, dtype, name, self.files.paths[n]) for n, v in zip(files, values, strict=True)])

    def distinct(self, head: Head) -> xr.Variable | None:
        """Compares a variable that is not joined. If files have different values, it gets the joined dimension."""
        decoders = None if self.is_uniform[head.name] else self.decoders(head.name)

        def read(number: int) -> Array:
            values = self.files.dataset(number)[self.group.files[number].schema.heads[head.name].stored][...]
            return values if decoders is None else np.asarray(decoders[number](values))

        first = read(0)
        values = [first]
        differs = 0
        workers = REMOTE if any("://" in path for path in self.files.paths) else LOCAL
        with ThreadPoolExecutor(workers, "nc3z-collection") as pool:
            for number, found in enumerate(pool.map(read, range(1, len(self.group.files))), 1):
                if not _alike(found, first):
                    differs = differs or number
                values.append(found if differs else first)
        if not differs:
            return None
        names = f"{self.files.paths[0]} and {self.files.paths[differs]}"
        if len(self.group.positions) != 1 or (decoders is not None and head.dtype.kind == "S"):
            raise ValueError(f"variable {head.name} differs between {names}; compat='override' takes that of the first file")
        ((dimension, _),) = self.group.positions.items()
        order = self.table.reshape(-1).tolist()
        lengths = [self.group.files[n].sizes[dimension] for n in order]
        if sum(lengths) * first.nbytes > _REPEATED or any(v.shape != first.shape for v in values):
            raise ValueError(f"variable {head.name} differs between {names}; compat='override' takes that of the first file")
        repeated = self.concatenated(
            head.name, order, [np.broadcast_to(values[n], (length, *first.shape)) for n, length in zip(order, lengths, strict=True)]
        )
        if decoders is None:
            return xr.Variable((dimension, *head.dimensions), repeated, dict(head.attributes), {"dtype": head.dtype})
        self.check(head.name)
        samples = self.samples(head.name)
        return xr.Variable((dimension, *head.dimensions), repeated, samples[0].attrs, _encoding(samples))


def _alike(a: Array, b: Array) -> bool:
    if a.shape != b.shape or a.dtype.kind == "S" != b.dtype.kind:
        return False
    return (a.dtype == b.dtype and a.tobytes() == b.tobytes()) or bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fmM" and b.dtype.kind in "fmM"))


def _encoding(decoded: Sequence[xr.Variable]) -> dict[str, Any]:
    """Returns the encoding of the first file, without its type if that type does not have the values of other files."""
    encoding = dict(decoded[0].encoding)
    stored = np.dtype(encoding.get("dtype", decoded[0].dtype))
    if stored.kind not in "iuf" or decoded[0].dtype.kind not in "iuf" or not _PACKING.isdisjoint(encoding):
        return encoding
    for v in decoded:
        packed = not _PACKING.isdisjoint(v.encoding)
        own = v.dtype if packed else np.dtype(v.encoding.get("dtype", v.dtype))
        # Unpacked numbers are rounded to floating-point numbers in any case.
        if not (packed and stored.kind == "f") and not np.can_cast(own, stored, "safe"):
            encoding.pop("dtype", None)
    return encoding


class _Store(AbstractDataStore):
    """The variables of a plan with xarray's interface for backends."""

    def __init__(self, plan: Plan, options: dict[str, Any], dropped: Sequence[str]) -> None:
        self.plan = plan
        self.parts = [_Part(group, plan, options) for group in plan.groups]
        self.dropped = set(dropped)

    def get_variables(self) -> Any:
        found: dict[str, xr.Variable] = {}
        first: dict[str, _Part] = {}
        for part in self.parts:
            for name in part.group.schema.heads:
                if name in self.dropped:
                    continue
                variable = part.variable(name)
                # Coordinates were compared when the groups were put together.
                is_new = name not in found or variable.dims == (name,)
                if not is_new and self.plan.compares and not _same(first[name].compared(found[name], name), part.compared(variable, name)):
                    raise ValueError(
                        f"variable {name} differs between {self.parts[0].files.paths[0]} and {part.files.paths[0]}, which have the same "
                        "coordinates; merge=False makes two groups of them"
                    )
                found.setdefault(name, variable)
                first.setdefault(name, part)
        return FrozenDict(found)

    def get_attrs(self) -> Any:
        with self.plan.opening.open(self.plan.groups[0].files[0].path) as dataset:
            return FrozenDict(with_c_names(dataset.attrs))

    def get_dimensions(self) -> Any:
        raise NotImplementedError("xarray takes them from the variables")

    def get_encoding(self) -> dict[str, Any]:
        return {"unlimited_dims": {name for group in self.plan.groups for name in group.schema.unlimited}}

    @staticmethod
    def close() -> None:
        """Does nothing: files are closed when others need their place. Static, since datasets pickle the function."""


def _same(a: xr.Variable, b: xr.Variable) -> bool:
    if a.dims != b.dims or a.shape != b.shape:
        return False
    if prod(a.shape) * a.dtype.itemsize > _REPEATED:
        return True
    return bool(np.array_equal(a[...].values, b[...].values, equal_nan=a.dtype.kind in "fmM"))


class Engine(BackendEntrypoint):
    """Opens a plan: not a file, therefore not an engine that is registered."""

    open_dataset_parameters: ClassVar[tuple[str, ...] | None] = (
        "filename_or_obj",
        "mask_and_scale",
        "decode_times",
        "concat_characters",
        "decode_coords",
        "drop_variables",
        "use_cftime",
        "decode_timedelta",
    )

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: Any = True,
        concat_characters: bool = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: Any = None,
    ) -> xr.Dataset:
        """Builds the dataset. xarray decodes what all files store in the same way."""
        plan: Plan = filename_or_obj
        options: dict[str, Any] = {
            "mask_and_scale": mask_and_scale,
            "decode_times": decode_times,
            "concat_characters": concat_characters,
            "use_cftime": use_cftime,
            "decode_timedelta": decode_timedelta,
        }
        dropped = [drop_variables] if isinstance(drop_variables, str) else list(drop_variables or ())
        store = _Store(plan, options, dropped)
        dataset: xr.Dataset = StoreBackendEntrypoint().open_dataset(store, decode_coords=decode_coords, **options)
        questions = tuple(q for condition in plan.conditions for q in _questions(store, condition))
        return _masked(dataset, store, questions) if questions else dataset


def _questions(store: _Store, condition: Condition) -> list[Question]:
    for part in store.parts:
        head = part.group.schema.heads.get(condition.variable)
        if head is None:
            continue
        if head.dtype.kind == "S" or is_time(head.decoding):
            raise ValueError(f"{condition}: {head.name} has {'text' if head.dtype.kind == 'S' else 'times'}; select it with `sel`")
        statistics = tuple(store.plan.statistics.get(path) for path in part.files.paths)
        dimensions = part.dimensions(head)
        return [Question(condition, part.arrangement(head, dimensions), dimensions, statistics)]
    return []


def _masked(dataset: xr.Dataset, store: _Store, questions: tuple[Question, ...]) -> xr.Dataset:
    """Masks the data variables that have all dimensions of the conditions."""
    needed = {d for question in questions for d in question.dimensions}
    for part in store.parts:
        for name, joined in part.joined.items():
            if name not in dataset.data_vars or not needed <= set(dataset[name].dims):
                continue
            inner = dataset.variables[name]
            dimensions = tuple(str(d) for d in inner.dims)
            array = WhereArray(inner, dimensions, joined, questions)
            dataset[name] = xr.Variable(inner.dims, indexing.LazilyIndexedArray(array), inner.attrs, inner.encoding)
    return dataset


def same_coordinates(a: Group, b: Group, whole: Any) -> bool:
    """Returns whether two groups with different data can be one dataset: all shared dimensions have equal coordinates."""
    heads, others = a.schema.heads, b.schema.heads
    mine, theirs = set(data_variables(a)), set(data_variables(b))
    if mine & set(others) or theirs & set(heads):
        return False
    shared = set(heads) & set(others)
    if any(heads[name].meaning() != others[name].meaning() for name in shared):
        return False
    # One has all dimensions of the other: files that share no more than the time are not parts of one dataset.
    all_dimensions = [set(group.files[0].sizes) - group.schema.characters for group in (a, b)]
    dimensions = all_dimensions[0] & all_dimensions[1]
    if dimensions not in all_dimensions or a.schema.times() != b.schema.times() or not any(d in heads and d in others for d in dimensions):
        return False
    return all(_equal(whole(a, d), whole(b, d)) for d in dimensions)


def _equal(a: Array, b: Array) -> bool:
    return a.shape == b.shape and a.dtype.kind == b.dtype.kind and bool(np.all(a == b))

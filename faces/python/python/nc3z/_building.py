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

from nc3z._arrays import CHUNK_NBYTES, Array, JoinedArray, Question, WhereArray, big_endian, conformed, of_bytes, preferred_chunks
from nc3z._fragments import LOCAL, REMOTE, Files, Joined, Opening
from nc3z._nc3z import Condition, Form, Group, Head
from nc3z._catalogs import Statistics
from nc3z.xarray import DECODING, with_c_names

#: The most bytes of a variable that is repeated for each file along the joined dimension.
_REPEATED = 64 << 20


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
        files = tuple((group.paths, group.tokens) for group in self.groups)
        return ("nc3z-collection", files, tuple(map(str, self.conditions)))


class _Part:
    """The variables of one group."""

    def __init__(self, group: Group, plan: Plan, options: dict[str, Any]) -> None:
        self.group, self.plan, self.options = group, plan, options
        #: Units, calendar and type in the first file of times that are joined as microseconds.
        self.times: dict[str, dict[str, Any]] = {}
        self.files = Files(group.paths, group.tokens, plan.opening)
        self.heads, self.lengths, self.positions = group.heads, group.lengths, group.positions
        #: Numbers of files, with an axis for each joined dimension.
        self.table = np.zeros([len(self.lengths[d]) for d in self.positions], np.int64)
        if self.positions:
            self.table[tuple(self.positions.values())] = np.arange(len(self.files.paths))
        self.joined: dict[str, Joined] = {}
        #: Coordinates, which do not get the dimension along which files are stacked.
        self.shared = group.coordinates
        self._forms: dict[str, Form | None] = {}

    def form(self, name: str) -> Form | None:
        """Returns the form in which a variable is read; None if all files store it in the same way."""
        if name not in self._forms:
            form = self._forms[name] = self.group.form(name)
            if form is not None and not form.is_time and self.group.is_coded(name) and self.options["mask_and_scale"] is False:
                raise ValueError(f"the files store {name} in different ways; mask_and_scale=False would mix their numbers, so drop {name} or open fewer files")
        return self._forms[name]

    def ends(self, dimension: str) -> npt.NDArray[np.int64] | None:
        return np.cumsum(self.lengths[dimension]) if dimension in self.positions else None

    def arrangement(self, head: Head, dimensions: Sequence[str]) -> Joined:
        ends = tuple(self.ends(d) for d in dimensions)
        shape = tuple(int(self.lengths[d].sum()) for d in dimensions)
        if head.is_text and shape and ends[-1] is None:
            shape = (*shape[:-1], self.group.width(head.name))
        axes = list(self.positions)
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

    def variable(self, name: str) -> xr.Variable:
        head = self.heads[name]
        if head.dimensions == (name,):
            form = self.form(name)
            known = self.group.coordinate(name, form)
            if known is not None:
                dtype = head.dtype if form is None else form.dtype
                values = of_bytes(known, dtype).astype(dtype)
                return self.raw(head, (name,), values, form, {"original_shape": values.shape})
        dimensions = self.dimensions(head)
        is_joined = any(d in self.positions for d in dimensions)
        if not is_joined and len(self.files.paths) > 1 and self.plan.compares:
            repeated = self.distinct(head)
            if repeated is not None:
                return repeated
        array = JoinedArray(self.arrangement(head, dimensions), self.form(name) if is_joined else None)
        self.joined[name] = array.joined
        encoding: dict[str, Any] = {"original_shape": array.shape}
        if dimensions:
            chunk = array.joined.box(self.files.dataset(0)[head.stored].chunk_shape(CHUNK_NBYTES))
            encoding["preferred_chunks"] = dict(zip(dimensions, preferred_chunks(array.joined, chunk), strict=True))
        return self.raw(head, dimensions, indexing.LazilyIndexedArray(array), array.form, encoding)

    def compared(self, variable: xr.Variable, name: str) -> xr.Variable:
        """Returns a variable for a comparison with that of other files, which may store it in another way."""
        head = self.heads[name]
        is_stored = self.form(name) is None or not any(d in self.positions for d in variable.dims)
        if not is_stored or head.is_text or prod(variable.shape) * variable.dtype.itemsize > _REPEATED:
            return variable
        try:
            return xr.Variable(variable.dims, conformed(Form.comparable(head), head, variable[...].values, name))
        except ValueError:
            # Units of times without a length.
            return variable

    def raw(self, head: Head, dimensions: Sequence[str], values: Any, form: Form | None, encoding: dict[str, Any]) -> xr.Variable:
        """Returns a variable that xarray decodes: values of one form, and the attributes of the first file."""
        attributes = head.attributes if form is None else form.attributes(head)
        encoding["dtype"] = head.dtype if form is None else form.dtype
        if "least_significant_digit" in attributes:
            encoding["least_significant_digit"] = attributes.pop("least_significant_digit")
        if form is not None and form.is_time:
            units, calendar = head.since or ("", None)
            own = {"units": units, "calendar": calendar, "dtype": head.dtype}
            self.times[head.name] = {key: value for key, value in own.items() if value is not None}
        return xr.Variable(dimensions, values, attributes, encoding)

    def stored(self, name: str, number: int, values: Array) -> Array:
        """Returns values of a file in the form of all files."""
        form = self.form(name)
        if values.dtype.kind == "S" and values.ndim:
            # Short text ends with zeros.
            padded = np.zeros((*values.shape[:-1], self.group.width(name)), values.dtype)
            padded[..., : values.shape[-1]] = values
            return padded
        if form is None:
            return values
        found = self.group.conform(number, name, form, big_endian(values))
        return of_bytes(found, form.dtype).reshape(values.shape).astype(form.dtype)

    def distinct(self, head: Head) -> xr.Variable | None:
        """Compares a variable that is not joined. If files have different values, it gets the joined dimension."""

        def read(number: int) -> Array:
            values = self.files.dataset(number)[self.group.stored_name(number, head.name)][...]
            return self.stored(head.name, number, np.asarray(values))

        first = read(0)
        values = [first]
        differs = 0
        workers = REMOTE if any("://" in path for path in self.files.paths) else LOCAL
        with ThreadPoolExecutor(workers, "nc3z-collection") as pool:
            for number, found in enumerate(pool.map(read, range(1, len(self.files.paths))), 1):
                if not _alike(found, first):
                    differs = differs or number
                values.append(found if differs else first)
        if not differs:
            return None
        names = f"{self.files.paths[0]} and {self.files.paths[differs]}"
        if len(self.positions) != 1:
            raise ValueError(f"variable {head.name} differs between {names}; compat='override' takes that of the first file")
        (dimension,) = self.positions
        order, lengths = self.table.tolist(), self.lengths[dimension].tolist()
        if sum(lengths) * first.nbytes > _REPEATED or any(v.shape != first.shape for v in values):
            raise ValueError(f"variable {head.name} differs between {names}; compat='override' takes that of the first file")
        repeated = np.concatenate([np.broadcast_to(values[n], (length, *first.shape)) for n, length in zip(order, lengths, strict=True)])
        return self.raw(head, (dimension, *head.dimensions), repeated, self.form(head.name), {})


def _alike(a: Array, b: Array) -> bool:
    if a.shape != b.shape or a.dtype.kind == "S" != b.dtype.kind:
        return False
    return (a.dtype == b.dtype and a.tobytes() == b.tobytes()) or bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fmM" and b.dtype.kind in "fmM"))


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
            for name in part.heads:
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
        with self.plan.opening.open(self.parts[0].files.paths[0]) as dataset:
            return FrozenDict(with_c_names(dataset.attrs))

    def get_dimensions(self) -> Any:
        raise NotImplementedError("xarray takes them from the variables")

    def get_encoding(self) -> dict[str, Any]:
        return {"unlimited_dims": {name for group in self.plan.groups for name in group.unlimited}}

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

    open_dataset_parameters: ClassVar[tuple[str, ...] | None] = ("filename_or_obj", *DECODING)

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        **given: Any,
    ) -> xr.Dataset:
        """Builds the dataset. xarray decodes what all files store in the same way."""
        plan: Plan = filename_or_obj
        options: dict[str, Any] = {"mask_and_scale": True, "decode_times": True, "concat_characters": True, "use_cftime": None, "decode_timedelta": None}
        options.update(given)
        dropped = [drop_variables] if isinstance(drop_variables, str) else list(drop_variables or ())
        store = _Store(plan, options, dropped)
        dataset: xr.Dataset = StoreBackendEntrypoint().open_dataset(store, decode_coords=decode_coords, **options)
        for name, own in [item for part in reversed(store.parts) for item in part.times.items()]:
            # Times are written in the unit of the first file.
            if dataset.variables[name].dtype.kind in "MO":
                dataset.variables[name].encoding.update(own)
        questions = tuple(q for condition in plan.conditions for q in _questions(store, condition))
        return _masked(dataset, store, questions) if questions else dataset


def _questions(store: _Store, condition: Condition) -> list[Question]:
    for part in store.parts:
        head = part.heads.get(condition.variable)
        if head is None:
            continue
        if head.is_text or head.since:
            raise ValueError(f"{condition}: {head.name} has {'text' if head.is_text else 'times'}; select it with `sel`")
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

"""Divides files into groups that can be joined, by their headers and coordinates."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from nc3z._core import Dataset
from nc3z._nc3z import Form, Head

Array = npt.NDArray[Any]
#: Attributes that keep variables of one name apart.
_MEANING = ("units", "standard_name", "cell_methods", "positive")
#: Medians of the distances of coordinates that differ by more belong to different series, such as daily and monthly means.
_SPACING = 1.5


@dataclass(slots=True)
class Schema:
    """The headers of a file's variables. Files with equal headers share it."""

    heads: dict[str, Head]
    unlimited: tuple[str, ...]
    #: Dimensions of characters, whose lengths do not count.
    characters: frozenset[str] = frozenset()
    key: Any = None
    #: Variables with data, when they are known.
    data: list[str] | None = None
    #: The names of used dimensions in the file, and those of the collection.
    used: tuple[tuple[str, str], ...] = ()
    #: Coordinate variables: their names, and those in the file.
    coordinates: tuple[tuple[str, str], ...] = ()

    def times(self) -> set[str]:
        """Returns the dimensions whose coordinates are times."""
        return {n for n, head in self.heads.items() if head.dimensions == (n,) and head.since}

    @staticmethod
    def of(dataset: Dataset) -> Schema:
        from nc3z.xarray import c_names

        dims = c_names(dataset.dimensions)
        heads = {head.name: head for head in Head.all(dataset)}
        unlimited = tuple(dims[name] for name, d in dataset.dimensions.items() if d.isunlimited())
        texts = {h.dimensions[-1] for h in heads.values() if h.is_text and h.dimensions}
        others = {d for h in heads.values() for d in (h.dimensions[:-1] if h.is_text else h.dimensions)}
        schema = Schema(heads, unlimited, frozenset(texts - others))
        schema.key = frozenset(head.meaning for head in heads.values())
        used = {d for head in heads.values() for d in head.dimensions}
        schema.used = tuple((stored, short) for stored, short in dims.items() if short in used)
        schema.coordinates = tuple((name, head.stored) for name, head in heads.items() if head.dimensions == (name,))
        return schema


class Schemas:
    """Schemas by header, without the number of records."""

    def __init__(self) -> None:
        self._known: dict[bytes, Schema] = {}

    def of(self, dataset: Dataset) -> Schema:
        header = dataset.header_bytes
        # Bytes 4 to 8, of CDF-5 to 12, are the number of records.
        key = header[:4] + header[12 if header[3:4] == b"\x05" else 8 :]
        found = self._known.get(key) if dataset.kind != "aggregation" else None
        if found is None:
            found = Schema.of(dataset)
            if dataset.kind != "aggregation":
                self._known[key] = found
        return found


@dataclass(slots=True)
class File:
    """A file of a collection."""

    path: str
    #: The path in the collection, for names of groups.
    name: str
    schema: Schema
    token: bytes
    sizes: dict[str, int]
    #: The stored values of coordinate variables by dimension.
    coordinates: dict[str, Array]


@dataclass(slots=True)
class Group:
    """Files that are parts of one dataset."""

    files: list[File]
    #: For each joined dimension: the number of each file's part along it.
    positions: dict[str, list[int]] = field(default_factory=dict)
    #: A joined dimension that the files themselves do not have: each file is one element of it.
    stacked: str | None = None

    @property
    def schema(self) -> Schema:
        return self.files[0].schema

    def table(self) -> npt.NDArray[np.int64]:
        """Returns the numbers of files, with an axis for each joined dimension."""
        if not self.positions:
            return np.zeros((), np.int64)
        shape = [max(numbers) + 1 for numbers in self.positions.values()]
        found = np.zeros(shape, np.int64)
        found[tuple(np.array(numbers) for numbers in self.positions.values())] = np.arange(len(self.files))
        return found


def conformed(form: Form, head: Head, values: Array, what: str) -> Array:
    """Returns stored values of a file in a form. An error begins with `what`."""
    stored = np.ascontiguousarray(values, values.dtype.newbyteorder(">"))
    return np.frombuffer(form.conform(head, stored.tobytes(), what), form.dtype.newbyteorder(">")).reshape(values.shape)


def comparable(head: Head, values: Array) -> Array:
    """Returns values of a file as numbers that can be compared with those of files that store them in another way."""
    if head.is_text:
        return values
    form = Form.comparable(head)
    return conformed(form, head, values, head.name).astype(form.dtype)


def places(head: Head, values: Array) -> Array:
    """Returns coordinates as numbers by which files are ordered."""
    found = comparable(head, values)
    if head.since and (found == np.iinfo(np.int64).min).any():
        raise ValueError(f"{head.name}: a time is missing")
    return found


class Line:
    """The coordinates of the files of a group along one dimension."""

    def __init__(self, files: Sequence[File], dimension: str) -> None:
        heads = [file.schema.heads.get(dimension) for file in files]
        self.has_values = all(dimension in file.coordinates for file in files)
        # False if their order is not known, as of months since a date.
        self.is_comparable = self.has_values
        self.vectors: list[Array] = []
        self.numbers: list[int] = []
        known: dict[Any, int] = {}
        # Files with equal headers share them: a million files may have one.
        storages = {head.storage for head in {id(h): h for h in heads if h is not None}.values()}
        for file, head in zip(files, heads, strict=True):
            if self.has_values and head is not None:
                values = file.coordinates[dimension]
                key: Any = None
                if len(storages) > 1:
                    try:
                        values = places(head, values)
                    except ValueError:
                        self.is_comparable = False
                        key = (head.storage, values.tobytes())
                if key is None:
                    key = (values.dtype.str, values.tobytes())
            else:
                values = np.arange(file.sizes.get(dimension, 1))
                key = len(values)
            if key not in known:
                known[key] = len(self.vectors)
                self.vectors.append(values)
            self.numbers.append(known[key])

    def order(self) -> list[int] | None:
        """Returns the place of each vector if they follow one another without overlap, otherwise None."""
        if not self.is_comparable or any(v.dtype.kind == "S" or len(v) == 0 for v in self.vectors):
            return None
        signs = set()
        for vector in self.vectors:
            if len(vector) > 1:
                steps = vector[1:] > vector[:-1] if vector[0] < vector[-1] else vector[1:] < vector[:-1]
                if not np.all(steps):
                    return None
                signs.add(bool(vector[0] < vector[-1]))
        if len(signs) > 1:
            return None
        rising = signs != {False}
        order = sorted(range(len(self.vectors)), key=lambda n: self.vectors[n][0], reverse=not rising)
        for a, b in zip(order, order[1:], strict=False):
            end, start = self.vectors[a][-1], self.vectors[b][0]
            if not (end < start if rising else end > start):
                return None
        places = [0] * len(order)
        for place, number in enumerate(order):
            places[number] = place
        return places

    def spacings(self) -> list[int]:
        """Returns a number for each vector; vectors of one number have similar distances between coordinates."""
        medians = [_median(v) if self.is_comparable and len(v) > 1 and v.dtype.kind != "S" else -1.0 for v in self.vectors]
        ranks, rank, last = {}, 0, -1.0
        for median in sorted(set(medians)):
            rank += median > _SPACING * max(last, 0)
            last, ranks[median] = median, rank
        return [ranks[median] for median in medians]


def _median(values: Array) -> float:
    return abs(float(np.median(np.diff(values))))


def _pattern(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _parts(files: Sequence[File], labels: Sequence[Any]) -> list[list[File]]:
    parts: dict[Any, list[File]] = {}
    for label, file in zip(labels, files, strict=True):
        parts.setdefault(label, []).append(file)
    return list(parts.values())


def stack(files: list[File], dimension: str) -> list[Group]:
    """Joins files with the same variables along a dimension that they do not have. Files with different coordinates are different groups."""
    characters = files[0].schema.characters
    lines = [Line(files, d) for d in files[0].sizes if d not in characters]
    labels = list(zip(*(line.numbers for line in lines), strict=True)) if lines else [()] * len(files)
    groups = []
    for part in _parts(files, labels):
        for file in part:
            file.sizes[dimension] = 1
        groups.append(Group(part, {dimension: list(range(len(part)))}, dimension))
    return groups


def arrange(files: list[File], concat_dim: str | None) -> list[Group]:
    """Divides files with the same variables into groups.

    Files that follow one another along any dimensions, without overlap or hole, are one group. If they do not, they are divided by
    the spacing of coordinates, by the pattern of their names, by directory, and finally by coordinates.
    """
    if len(files) == 1:
        return [Group(files)]
    schema = files[0].schema
    dimensions = [d for d in files[0].sizes if d not in schema.characters]
    lines = {d: Line(files, d) for d in dimensions}
    if concat_dim in lines and not lines[concat_dim].has_values:
        line = lines[concat_dim]
        line.vectors, line.numbers = [np.arange(1)] * len(files), list(range(len(files)))
    varying = [d for d, line in lines.items() if len(line.vectors) > 1]
    orders = {d: lines[d].order() for d in varying}
    if concat_dim in orders and not lines[str(concat_dim)].has_values:
        orders[str(concat_dim)] = list(range(len(files)))
    bad = [d for d in varying if orders[d] is None]
    positions = {d: [order[n] for n in lines[d].numbers] for d, order in orders.items() if order is not None}
    if not bad:
        places = set(zip(*positions.values(), strict=True)) if positions else {()}
        if len(places) == len(files) == prod(max(numbers) + 1 for numbers in positions.values()):
            return [Group(files, positions)]
    for labels in _labels(files, lines, bad, varying):
        if len(set(labels)) > 1:
            return [group for part in _parts(files, labels) for group in arrange(part, concat_dim)]
    raise AssertionError("each file is a part of its own")


def _labels(files: Sequence[File], lines: Mapping[str, Line], bad: Sequence[str], varying: Sequence[str]) -> Iterator[Sequence[Any]]:
    """The ways to divide files that do not fit together, best first: a label for each file."""
    for d in bad:
        spacings = lines[d].spacings()
        yield [spacings[number] for number in lines[d].numbers]
    yield [_pattern(file.name) for file in files]
    yield [os.path.dirname(file.name) for file in files]
    for d in sorted(bad or varying, key=lambda d: (len(lines[d].vectors), d in files[0].schema.times())):
        yield lines[d].numbers
    yield range(len(files))


def difference(a: Group, b: Group) -> str:
    """Says why two groups are not one."""
    heads, others = a.schema.heads, b.schema.heads
    first, second = a.files[0].name, b.files[0].name
    for name, head in heads.items():
        other = others.get(name)
        if other is None or head.meaning == other.meaning:
            continue
        if head.dimensions != other.dimensions:
            return f"{name} has the dimensions {head.dimensions} in {first} and {other.dimensions} in {second}"
        for attribute in ("calendar", *_MEANING):
            values = [_said(h, attribute) for h in (head, other)]
            if values[0] != values[1] and not (attribute == "units" and head.since and other.since):
                return f"the {attribute} of {name} is {values[0]!r} in {first} and {values[1]!r} in {second}"
        return f"{name} is text in one of {first} and {second}"
    for mine, theirs, file in ((heads, others, first), (others, heads, second)):
        if more := [name for name in mine if name not in theirs]:
            return f"{file} has the variable {more[0]}, and other files do not"
    return f"the coordinates of {first} and {second} differ, overlap or leave a hole"


def _said(head: Head, attribute: str) -> str | None:
    return head.words(attribute) if attribute != "calendar" else head.since[1] if head.since else None


def without_records(files: Sequence[File]) -> dict[str, str]:
    """Returns the reason for each file that has nothing to add to the others with the same variables: a dimension has length 0."""
    empty = {}
    for file in files:
        short = [d for d, size in file.sizes.items() if size == 0 and d not in file.schema.characters]
        if short:
            empty[file.path] = f"it has no records: the length of its dimension {short[0]} is 0"
    if len(empty) == len({file.path for file in files}):
        del empty[files[0].path]
    return empty


def names(groups: Sequence[Group]) -> list[str]:
    """Names groups: by the directory that their files share, then by their variables, then by numbers."""
    folders = [_folder(file.name for file in group.files) for group in groups]
    everything = _folder(file.name for group in groups for file in group.files)
    folders = [os.path.relpath(folder, everything or ".") if folder != everything else "" for folder in folders]
    found = []
    number = Counter(folders)
    inner = {above for folder in number for above in _above(folder)}
    for group, folder in zip(groups, folders, strict=True):
        # No name is the beginning of another one, so that the names can be paths of a tree.
        alone = folder and number[folder] == 1 and folder not in inner and not any(above in number for above in _above(folder))
        found.append(folder if alone else "/".join(filter(None, [folder, _variables(group)])))
    counts: dict[str, int] = {}
    for n, name in enumerate(found):
        counts[name] = counts.get(name, 0) + 1
        if counts[name] > 1:
            found[n] = f"{name}_{counts[name]}"
    return found


def _above(folder: str) -> Iterator[str]:
    """The directories that a relative directory is in."""
    while "/" in folder:
        folder = folder.rpartition("/")[0]
        yield folder


def _folder(paths: Iterable[str]) -> str:
    folders = {os.path.dirname(path) for path in paths}
    return os.path.commonpath(folders) if len(folders) > 1 else folders.pop()


def coordinate_names(group: Group) -> set[str]:
    """Returns the variables that others name as their coordinates."""
    return {word for head in group.schema.heads.values() for word in str(head.attributes.get("coordinates", "")).split()}


def data_variables(group: Group) -> list[str]:
    """Returns the variables that are not coordinates, bounds, or otherwise named by others."""
    if group.schema.data is None:
        group.schema.data = _data_variables(group.schema.heads)
    return group.schema.data


def _data_variables(heads: Mapping[str, Head]) -> list[str]:
    words = {
        word
        for head in heads.values()
        for name in ("bounds", "coordinates", "grid_mapping", "ancillary_variables", "cell_measures", "climatology")
        for word in re.split(r"[\s:]+", str(head.attributes.get(name, "")))
    }
    return [n for n, head in heads.items() if n not in words and head.dimensions != (n,)]


def _variables(group: Group) -> str:
    found = sorted(name.replace("/", "_") for name in data_variables(group) or group.schema.heads)
    return "+".join(found[:3]) + (f"+{len(found) - 3}" if len(found) > 3 else "") or "empty"

"""What datasets and variables look like in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nc3z._nc3z import Dataset, Variable

#: Variables and attributes listed in a terminal.
_LISTED = 40


def size(nbytes: int) -> str:
    """``1.5 MiB``."""
    if nbytes < 1024:
        return f"{nbytes} B"
    value = float(nbytes)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 1024:
            break
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"


def _title(ds: Dataset) -> str:
    kind = {"archive": "archive of ", "aggregation": "aggregation, "}.get(ds.kind, "")
    bytes_ = size(ds.original_nbytes)
    if ds.kind == "archive":
        bytes_ += f" in {size(ds.stored_nbytes)}, ratio {ds.original_nbytes / max(ds.stored_nbytes, 1):.2f}"
    return f"{kind}{ds.data_model}, {bytes_}"


def _shape(variable: Variable) -> str:
    return ", ".join(f"{name}={n}" for name, n in zip(variable.dimensions, variable.shape, strict=True))


def dataset_text(ds: Dataset) -> str:
    """What ``repr`` gives."""
    name = f" {ds.path}" if ds.path else ""
    if ds.closed:
        return f"<nc3z.Dataset{name}: closed>"
    dims = ", ".join(f"{d.name}={d.size}{'*' if d.isunlimited() else ''}" for d in ds.dimensions.values())
    lines = [f"<nc3z.Dataset{name}: {_title(ds)}>", f"dimensions: {dims or 'none'}", "variables:"]
    variables = list(ds.values())
    lines += [f"    {v.dtype} {v.name}({_shape(v)})" for v in variables[:_LISTED]]
    if len(variables) > _LISTED:
        lines.append(f"    ... {len(variables) - _LISTED} more")
    return "\n".join(lines)


def _table(rows: Sequence[tuple[str, ...]], head: tuple[str, ...]) -> str:
    cells = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    titles = "".join(f"<th style='text-align:left'>{escape(cell)}</th>" for cell in head)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{cells}</tbody></table>"


def _row(variable: Variable) -> tuple[str, ...]:
    tile = variable.tile_shape
    words = str(variable.attrs.get("long_name", ""))[:80]
    units = str(variable.attrs.get("units", ""))[:40]
    tiles = "×".join(map(str, tile)) if tile else ""
    return variable.name, str(variable.dtype), _shape(variable), size(variable.nbytes), tiles, units, words


_HEAD = ("variable", "type", "shape", "bytes", "tile", "units", "long name")


def dataset_html(ds: Dataset) -> str:
    """What a notebook shows."""
    if ds.closed:
        return f"<pre>{escape(dataset_text(ds))}</pre>"
    attributes = [(name, str(value)[:500]) for name, value in ds.attrs.items()]
    return (
        f"<div><b>nc3z</b> {escape(ds.path or '')} &middot; {escape(_title(ds))}"
        f"{_table([_row(v) for v in ds.values()], _HEAD)}"
        f"<details><summary>{len(attributes)} attributes</summary>"
        f"{_table(attributes, ('attribute', 'value'))}</details></div>"
    )


def variable_html(variable: Variable) -> str:
    """The same for one variable."""
    attributes = [(name, str(value)[:500]) for name, value in variable.attrs.items()]
    return f"<div>{_table([_row(variable)], _HEAD)}{_table(attributes, ('attribute', 'value'))}</div>"

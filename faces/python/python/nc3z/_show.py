"""Shows datasets and variables in a terminal and in a notebook."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from math import prod
from typing import TYPE_CHECKING

from nc3z._errors import Error

if TYPE_CHECKING:
    from nc3z._nc3z import Dataset, Variable

#: The number of variables that are listed in a terminal and in a notebook.
_LISTED = 40
_ROWS = 200
#: The width of a quick look in pixels, and the largest size of its two dimensions: a map is decoded as a whole.
_WIDTH = 640
_LOOKED_AT = 1 << 25


def size(nbytes: int) -> str:
    """Formats a length in bytes, such as ``1.5 MiB``."""
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
    """Returns the text of ``repr``."""
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


def _row(variable: Variable, cost: tuple[int, str] | None) -> tuple[str, ...]:
    tile = variable.tile_shape
    words = str(variable.attrs.get("long_name", ""))[:80]
    units = str(variable.attrs.get("units", ""))[:40]
    tiles = "×".join(map(str, tile)) if tile else ""
    stored = ("", "", "")
    if cost is not None:
        ratio = f"{variable.nbytes / cost[0]:.2f}" if cost[0] else ""
        stored = (size(cost[0]), ratio, cost[1])
    return variable.name, str(variable.dtype), _shape(variable), size(variable.nbytes), *stored, tiles, units, words


_HEAD = ("variable", "type", "shape", "bytes", "stored", "ratio", "tiles by chain", "tile", "units", "long name")


def _costs(ds: Dataset) -> dict[str, tuple[int, str]]:
    """Returns stored bytes and chains of each variable. Empty for a URL, where reading them takes requests."""
    if ds.identity is not None:
        return {}
    try:
        return {name: (stored, chains) for name, stored, chains in ds._costs() or ()}
    except (OSError, ValueError, RuntimeError, Error):
        return {}


def _look(variable: Variable, remote: bool) -> str:
    """Returns the picture of ``nc3z plot`` where it costs little: for variables in local files that are not larger than a
    picture needs.
    """
    long = [n for n in variable.shape if n > 1][-2:]
    if remote or not long or 0 in variable.shape or variable.dtype.kind == "S" or prod(long) > _LOOKED_AT:
        return ""
    try:
        picture = variable.picture(kind="svg", width=_WIDTH)
    except (OSError, ValueError, RuntimeError, Error) as e:
        return f"<p>{escape(str(e)[:500])}</p>"
    data = b64encode(picture).decode()
    return f"<img alt='{escape(variable.name, quote=True)}' src='data:image/svg+xml;base64,{data}'>"


def _first_look(ds: Dataset) -> str:
    """Returns a picture of the largest variable that is not a coordinate."""
    candidates = [v for v in ds.values() if v.dtype.kind != "S" and v.dimensions != (v.name,)]
    if not candidates:
        return ""
    variable = max(candidates, key=lambda v: v.nbytes)
    look = _look(variable, ds.identity is not None)
    return f"<details open><summary>{escape(variable.name)}</summary>{look}</details>" if look else ""


def dataset_html(ds: Dataset) -> str:
    """Returns the HTML of a dataset for a notebook."""
    if ds.closed:
        return f"<pre>{escape(dataset_text(ds))}</pre>"
    attributes = [(name, str(value)[:500]) for name, value in ds.attrs.items()]
    costs = _costs(ds)
    variables = list(ds.values())
    rows = [_row(v, costs.get(v.name)) for v in variables[:_ROWS]]
    more = f"<p>{len(variables) - _ROWS} more variables</p>" if len(variables) > _ROWS else ""
    return (
        f"<div><b>nc3z</b> {escape(ds.path or '')} &middot; {escape(_title(ds))}"
        f"{_table(rows, _HEAD)}{more}{_first_look(ds)}"
        f"<details><summary>{len(attributes)} attributes</summary>"
        f"{_table(attributes, ('attribute', 'value'))}</details></div>"
    )


def variable_html(variable: Variable) -> str:
    """Returns the HTML of a variable for a notebook."""
    cost, look = None, ""
    try:
        cost = variable._cost()
        look = _look(variable, variable._is_remote)
        attrs = variable.attrs
    except (OSError, ValueError, RuntimeError, Error) as e:  # damage, or the dataset is closed
        return f"<pre>{escape(repr(variable))}: {escape(str(e)[:500])}</pre>"
    attributes = [(name, str(value)[:500]) for name, value in attrs.items()]
    return f"<div>{_table([_row(variable, cost)], _HEAD)}{look}{_table(attributes, ('attribute', 'value'))}</div>"

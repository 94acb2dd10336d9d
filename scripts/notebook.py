#!/usr/bin/env python3
"""Runs docs/first-steps.ipynb cell by cell and stores its outputs in it, so that a page of the repository shows them.

    scripts/notebook.py     with the `nc3z`, `xarray`, `scipy` and `zarr` of this Python
"""

import ast
import json
import os
from pathlib import Path

NOTEBOOK = Path(__file__).resolve().parent.parent / "docs" / "first-steps.ipynb"


def run(cell, names):
    """The value of the cell's last expression, or None."""
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NOTEBOOK.name, "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)


def outputs(value, number):
    if value is None:
        return []
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    return [{"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}]


def main():
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    here = os.getcwd()
    names = {"__name__": "__main__"}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, 1):
        cell["execution_count"] = number
        cell["outputs"] = outputs(run(cell, names), number)
    os.chdir(here)
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()

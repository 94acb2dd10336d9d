"""Examples run; type stubs match the package."""

import ast
import doctest
import importlib
import json
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

import nc3z


@pytest.mark.parametrize("module", ["nc3z", "nc3z._collection", "nc3z._core", "nc3z._edit", "nc3z._operations", "nc3z._versions", "nc3z.zarr", "nc3z.numcodecs", "nc3z.icechunk"])
def test_examples_run(module, samples):
    loaded = importlib.import_module(module)
    nc3z.archive("etopo120.cdf", "other.nc3z")
    with np.printoptions(legacy=False):
        result = doctest.testmod(loaded, extraglobs={"nc3z": nc3z}, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0 and result.failed == 0


def test_the_manuals_examples_run(samples):
    result = doctest.testfile(
        str(ROOT / "docs" / "python.md"), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert result.attempted > 0 and result.failed == 0


def test_types(tmp_path):
    package = ROOT / "faces/python"
    config = str(package / "pyproject.toml")
    run = lambda *words: subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, cwd=tmp_path
    )
    checked = run("mypy", "--config-file", config, "-p", "nc3z")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    # Attributes of files are found by `__getattr__`, which the extension's types answer without having a method of that name.
    allowed = tmp_path / "allowed"
    allowed.write_text("nc3z._nc3z.(Dataset|Variable).__getattr__\n")
    compared = run(
        "mypy.stubtest", "--mypy-config-file", config, "--allowlist", str(allowed), "nc3z._nc3z", "--concise"
    )
    assert compared.returncode == 0, compared.stdout + compared.stderr


def test_the_manual_of_zarr_runs(samples):
    result = doctest.testfile(
        str(ROOT / "docs" / "zarr.md"), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert result.attempted > 0 and result.failed == 0


def test_the_notebook_runs(samples):
    """Cell by cell, as Jupyter does; the last expression of a cell is shown."""
    notebook = json.loads((ROOT / "docs" / "first-steps.ipynb").read_text("utf-8"))
    names, shown = {"__name__": "__main__"}, []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "first-steps.ipynb", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "first-steps.ipynb", "eval"), names) if last else None
        assert bool(cell["outputs"]) == (value is not None), "scripts/notebook.py stores the outputs"
        if value is not None:
            shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
    assert "True" in shown and shown[-1] == "True" and any("<table" in text for text in shown)
    assert sum("data:image/svg+xml;base64," in text for text in shown) == 2 and "b'\\x89PNG'" in shown
    assert any("station 7 corrected" in text for text in shown) and "1.5" in shown

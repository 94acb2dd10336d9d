"""Examples run; type stubs say what is there."""

import doctest
import importlib
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

import nc3z


@pytest.mark.parametrize("module", ["nc3z", "nc3z._core", "nc3z._operations", "nc3z._versions", "nc3z.zarr", "nc3z.numcodecs"])
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
    package = ROOT / "nc3z-python"
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

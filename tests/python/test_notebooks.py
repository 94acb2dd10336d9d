"""The display in a notebook: sizes, chains, and the picture of ``nc3z plot``, byte by byte."""

import base64
import re
import subprocess

import numpy as np
import pytest
from conftest import CLASSIC, ROOT
from scipy.io import netcdf_file

import nc3z

TOOL = ROOT / "target" / "debug" / "nc3z"
NAME = "coads_climatology.cdf"


def pictures(html):
    return [base64.b64decode(data) for data in re.findall(r"data:image/svg\+xml;base64,([^']+)", html)]


@pytest.mark.parametrize("archived", [True, False])
def test_variables_show_the_tools_picture(archived, archives, tmp_path):
    path = archives / f"{NAME}.nc3z" if archived else CLASSIC / NAME
    with nc3z.open(path) as ds:
        html = ds["SST"]._repr_html_()
        (picture,) = pictures(html)
        assert picture == ds["SST"].picture(kind="svg", width=640) and picture.startswith(b"<svg")
        assert "Deg C" in html and "12" in html
        # A map shows the first time; a series has one dimension left.
        assert ds["SST"].picture(0) == ds["SST"].picture()
        assert ds["SST"].picture(np.s_[:, 45, 20], kind="svg") != ds["SST"].picture(np.s_[:, 45, 21], kind="svg")
        assert ds["TIME"].picture(range=(0, 1))[:4] == b"\x89PNG"
    if not TOOL.exists():
        pytest.skip("the tool is not built")
    for kind, options, own in (("svg", ["--width", "640"], picture), ("png", [], ds_picture(path))):
        target = tmp_path / f"look.{kind}"
        subprocess.run([TOOL, "plot", path, "SST", "-o", target, *options], check=True, capture_output=True)
        assert target.read_bytes() == own


def ds_picture(path):
    with nc3z.open(path) as ds:
        return ds["SST"].picture()


def test_sizes_and_chains_are_the_tools(archives):
    import json

    path = archives / f"{NAME}.nc3z"
    if not TOOL.exists():
        pytest.skip("the tool is not built")
    told = json.loads(subprocess.run([TOOL, "info", "--json", path], check=True, capture_output=True).stdout)
    with nc3z.open(path) as ds:
        costs = {name: (stored, chains) for name, stored, chains in ds._costs()}
        assert {v["name"]: v["stored_bytes"] for v in told["variables"]} == {name: stored for name, (stored, _) in costs.items()}
        assert all(ds[name]._cost() == cost for name, cost in costs.items())
        html = ds._repr_html_()
        assert costs["SST"][1] in html and len(pictures(html)) == 1
    assert nc3z.open(CLASSIC / NAME)._costs() is None


def test_what_cannot_be_drawn_says_why(archives, tmp_path):
    with nc3z.open(archives / f"{NAME}.nc3z") as ds:
        for key, words in ((np.s_[0, 0, 0], "cannot be drawn"), (np.s_[:0], "no values")):
            with pytest.raises(ValueError, match=words):
                ds["SST"].picture(key)
        with pytest.raises(ValueError, match="unknown kind"):
            ds["SST"].picture(kind="gif")
        with pytest.raises(ValueError, match="range"):
            ds["SST"].picture(range=(1, 1))
        with pytest.raises(IndexError):
            ds["SST"].picture(99)
        variable = ds["SST"]
    assert "closed" in variable._repr_html_() and "closed" in ds._repr_html_()
    with netcdf_file(tmp_path / "odd.nc", "w") as file:
        file.createDimension("none", None)
        file.createDimension("n", 3)
        file.createVariable("text", "c", ("n",))[:] = b"a<b"
        file.createVariable("empty", "f4", ("none", "n"))
        file.createVariable("<script>", "i2", ("n",))[:] = [1, 2, 3]
        file.title = "<script>alert(1)</script>"
    with nc3z.open(tmp_path / "odd.nc") as ds:
        html = ds._repr_html_() + "".join(v._repr_html_() for v in ds.values())
        assert "<script>" not in html and "&lt;script&gt;" in html
        assert not any(b"<script>" in picture for picture in pictures(html))
        assert not pictures(ds["text"]._repr_html_()) and not pictures(ds["empty"]._repr_html_())


def test_damage_is_told_in_place_of_a_picture(archives, tmp_path):
    data = bytearray((archives / f"{NAME}.nc3z").read_bytes())
    with nc3z.open(bytes(data)) as ds:
        whole = ds._repr_html_()
    damaged = 0
    for at in range(len(data) // 8, len(data) - len(data) // 8, len(data) // 16):
        bad = data[:at] + bytes(b ^ 0xFF for b in data[at : at + 64]) + data[at + 64 :]
        try:
            with nc3z.open(bytes(bad)) as ds:
                damaged += ds._repr_html_() + ds["SST"]._repr_html_() != whole + nc3z.open(bytes(data))["SST"]._repr_html_()
        except nc3z.Error:
            continue
    assert damaged

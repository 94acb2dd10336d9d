"""The simulation of docs/scale.md: its parts agree with what can be computed by hand, and its tables are the recorded ones."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "bench"))
import petabyte  # noqa: E402


def test_bundles_hold_all_files_and_none_exceeds_the_target():
    tree = petabyte.grow(5000, 5e12, 1.0, 50e9, 2.0, 7)
    assert sum(tree.original) == pytest.approx(5e12) and sum(tree.bundles) == pytest.approx(2.5e12)
    filled = {}
    for number, length in zip(tree.bundle, tree.original, strict=True):
        filled.setdefault(number, []).append(length)
    assert all(sum(part) <= 50e9 or len(part) == 1 for part in filled.values())
    assert petabyte.grow(5000, 5e12, 1.0, 50e9, 2.0, 7) == tree


def test_the_last_task_ends_when_the_workers_are_done():
    assert petabyte.makespan([1.0] * 8, 4) == 2
    assert petabyte.makespan([5.0, 1.0, 1.0, 1.0], 2) == 5
    assert petabyte.makespan([3.0], 64) == 3


def test_requests_of_an_upload():
    part = petabyte.PART_BYTES
    assert [petabyte.puts(n) for n in (1, part, part + 1, 10 * part)] == [1, 1, 4, 12]
    # Never more parts than a store allows.
    assert petabyte.puts(100_000 * part) == petabyte.MOST_PARTS + 2


def test_recalls():
    lengths = [9e12] * 4
    recalls, moved, cartridges, hours = petabyte.tape(lengths, [0, 1, 3, 3])
    assert (recalls, moved, cartridges) == (3, 27e12, 2)
    seconds = 2 * petabyte.cited("tape_mount") + 3 * petabyte.cited("tape_locate") + 27e12 / petabyte.cited("tape_rate")
    assert hours == pytest.approx(seconds / 3600)


def test_every_constant_has_a_unit_and_a_source():
    assert all(value > 0 and unit and source for value, unit, source in petabyte.CITED.values())
    text = (ROOT / "docs" / "scale.md").read_text("utf-8")
    assert all(f"`{name}`" in text for name in [*petabyte.CITED, *petabyte.MEASURED])


def test_the_documented_tables_are_those_of_the_script():
    printed = subprocess.run([sys.executable, str(ROOT / "bench" / "petabyte.py")], capture_output=True, text=True, check=True).stdout
    text = (ROOT / "docs" / "scale.md").read_text("utf-8")
    rows = [line for line in printed.splitlines() if re.match(r"\| .*\d", line)]
    assert len(rows) > 20
    for row in rows:
        assert row in text, row

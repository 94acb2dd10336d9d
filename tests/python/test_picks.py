"""Edits by lists, masks and points: as NumPy has them, no tile read that need not be, and little memory."""

import os
import subprocess
import sys
import textwrap

import netCDF4
import nc3z
import numpy as np
import pytest
from conftest import ROOT

#: Programs of random operations; scripts/nightly.sh runs 10,000.
PROGRAMS = int(os.environ.get("NC3Z_PICKS", "60"))
SEED = int(os.environ.get("NC3Z_SEED", "43"))
#: Lengths of arrays, and of their chunks; None: linear tiles.
LAYOUTS = [((20,), (3,)), ((12, 9), (4, 2)), ((7, 6, 5), (2, 3, 2)), ((6, 50), None), ((5, 4, 6), (5, 4, 6)), ((9, 1, 8), (2, 1, 3))]


@pytest.fixture(scope="module")
def layouts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layouts")
    made = []
    for number, (shape, chunk) in enumerate(LAYOUTS):
        source, path = folder / f"{number}.nc", folder / f"{number}.nc3z"
        with netCDF4.Dataset(source, "w", format="NETCDF3_64BIT_DATA") as ds:
            for axis, length in enumerate(shape):
                ds.createDimension(f"d{axis}", length)
            ds.createVariable("v", "i8", [f"d{axis}" for axis in range(len(shape))])[...] = 1 + np.arange(np.prod(shape)).reshape(shape)
        options = {"chunks": {f"d{axis}": length for axis, length in enumerate(chunk)}} if chunk else {}
        nc3z.archive(source, path, **options)
        made.append((path, shape, chunk))
    return made


def one_key(rng, length):
    """A key of one dimension, and its indices."""
    kind = rng.integers(6)
    if kind == 0:
        return int(rng.integers(-length, length)), None
    if kind == 1:
        a, b = sorted(int(n) for n in rng.integers(0, length + 1, 2))
        key = slice(a, b, int(rng.integers(1, 4)))
    elif kind == 2:
        key = slice(None, None, int(rng.choice([-1, -2, 1, 3])))
    elif kind == 3:
        key = rng.random(length) < 0.4
    else:
        key = rng.integers(-length, length, rng.integers(0, 2 * length)).tolist()
    return key, np.arange(length)[key] if not isinstance(key, list) or key else np.zeros(0, int)


def grid_key(rng, shape):
    """A key, the indices of each dimension, and the shape of the values."""
    keys, indices, lens = [], [], []
    for length in shape:
        key, found = one_key(rng, length)
        keys.append(key)
        indices.append(np.array([key % length]) if found is None else found)
        lens += [] if found is None else [len(found)]
    return tuple(keys), np.ix_(*indices), tuple(lens)


def operation(rng, variable, model, first):
    """One random operation on both."""
    kind, shape = rng.integers(5), model.shape
    if kind < 3:
        key, where, lens = grid_key(rng, shape)
        target = variable.oindex if rng.integers(2) else variable
        assert np.array_equal(target[key], model[where].reshape(lens)), key
    elif kind == 3:
        key = where = rng.random(shape) < rng.random()
        target, lens = variable, (int(key.sum()),)
        if model.ndim == 1:
            target = variable.oindex
        assert np.array_equal(variable[key], model[key])
    else:
        points = rng.integers(1, 6, rng.integers(1, 3))
        keys = [rng.integers(-n, n, points) if rng.random() < 0.7 else slice(None, None, int(rng.integers(1, 3))) for n in shape]
        if all(isinstance(k, slice) for k in keys):
            keys[0] = rng.integers(-shape[0], shape[0], points)
        # NumPy puts the axis of the points first if slices are between them; vindex always does.
        lists = [k for k in keys if not isinstance(k, slice)]
        axes = [n for n, k in enumerate(keys) if not isinstance(k, slice)]
        moved = np.moveaxis(model, axes, range(len(axes)))
        rest = tuple(k for k in keys if isinstance(k, slice))
        where = (*lists, *rest)
        assert np.array_equal(variable.vindex[tuple(keys)], moved[where])
        value = values(rng, moved[where].shape, first)
        variable.vindex[tuple(keys)] = value
        moved[where] = value
        return
    value = values(rng, lens, first)
    target[key] = value
    if kind == 3:
        model[where] = value
    else:
        model[where] = np.broadcast_to(value, lens).reshape(model[where].shape)


def values(rng, shape, first):
    """An array, one that is broadcast, or one value."""
    kind = rng.integers(3)
    if kind == 0 or not shape:
        return int(first)
    if kind == 1:
        return first + np.arange(shape[-1])
    return first + np.arange(np.prod(shape, dtype=int)).reshape(shape)


def test_programs_are_numpys(layouts):
    for number in range(PROGRAMS):
        rng = np.random.default_rng([SEED, number])
        path, shape, _ = layouts[number % len(layouts)]
        model = 1 + np.arange(np.prod(shape)).reshape(shape)
        with nc3z.open(path, "r+") as edit:
            for step in range(8):
                operation(rng, edit["v"], model, 1000 * (step + 1))
                assert np.array_equal(edit["v"][...], model), (number, step)


def test_reading_by_lists_is_numpys(layouts):
    for number in range(PROGRAMS):
        rng = np.random.default_rng([SEED, number, 1])
        path, shape, _ = layouts[number % len(layouts)]
        model = 1 + np.arange(np.prod(shape)).reshape(shape)
        with nc3z.open(path) as ds:
            for _ in range(6):
                key, where, lens = grid_key(rng, shape)
                assert np.array_equal(ds["v"][key], model[where].reshape(lens)), key
                mask = rng.random(shape) < rng.random()
                assert np.array_equal(ds["v"][mask], model[mask])
                lead = rng.random(shape[:-1]) < 0.3
                if len(shape) > 2:
                    assert np.array_equal(ds["v"][lead], model[lead])


def test_no_tile_is_read_that_versioned_hdf5_does_not_read(layouts):
    """StagedChangesArray takes one list or mask together with slices with positive steps and integers."""
    pytest.importorskip("versioned_hdf5")
    sys.path.insert(0, str(ROOT / "tests"))
    from staged_oracle import build, for_numpy, random_index

    lists = 0
    for number in range(PROGRAMS):
        rng = np.random.default_rng([SEED, number, 2])
        path, shape, chunk = layouts[number % len(layouts)]
        if chunk is None:
            continue
        model, staged, counting = build(shape, chunk, -1)
        with nc3z.open(path, "r+") as edit:
            variable = edit["v"]
            for step in range(8):
                index = random_index(rng, shape)
                key, usable = tuple(index), for_numpy(index)
                lists += any(isinstance(item, list) for item in index)
                counting.take()
                if rng.random() < 0.3:
                    ours = variable.plan_get[key].reads
                    assert np.array_equal(variable[key], model[usable])
                    assert np.array_equal(staged[usable], model[usable])
                else:
                    ours = variable.plan_set[key].reads
                    model[usable] = staged[usable] = 100 * step + 7
                    variable[key] = 100 * step + 7
                    assert np.array_equal(variable[...], model)
                theirs = counting.take()
                assert set(ours) <= set(theirs), (number, step, index, ours, theirs)
                assert np.array_equal(staged[...], model)
    assert lists or PROGRAMS < 10


def test_plans_show_what_is_done(layouts):
    path, shape, _ = layouts[1]
    with nc3z.open(path, "r+") as edit:
        v = edit["v"]
        plan = v.plan_set[2:8, [0, 1, 5]]
        assert plan.map == "  01234\n0 p.p..\n1 w.p..\n2 .....\n"
        assert plan.touched == [((0, 0), False), ((0, 2), False), ((1, 0), True), ((1, 2), False)] and plan.reads == [0, 2, 7]
        assert "slabs.append" in repr(plan) and plan.map.rstrip() in repr(plan)
        html = plan._repr_html_()
        assert "1 tiles whole, 3 in part, 3 read" in html and html.count("<span") == 4
        assert not edit.touched, "a plan does nothing"
        v[2:8, [0, 1, 5]] = 0
        # Staged tiles are not read from the archive again.
        assert v.plan_get[:, 0].reads == [10] and v.plan_set[2:8, 1].reads == []
        assert v.plan_set[np.zeros(shape, bool)].touched == []
        assert v.vindex.plan_set[[0, 0], [8, 8]].reads == [4] and v.oindex.plan_get[[11], [0]].reads == [10]
        assert len(v.plan_load().reads) == 15 - 4 and len(v.plan_commit().touched) == 4
        grown = v.plan_resize(13)
        assert "ResizePlan" in grown.text and grown.touched == []


def test_plans_of_resizing_any_dimension(layouts):
    path, shape, _ = layouts[1]
    assert shape == (12, 9), "tiles of (4, 2): the last column of tiles is not full"
    with nc3z.open(path, "r+") as edit:
        v = edit["v"]
        assert v.plan_resize(13).reads == v.plan_resize(13, "d0").reads == [], "the edge is at the end of a tile"
        assert v.plan_resize(10).touched == []
        edit.resize("d0", 10)
        filled = v.plan_resize(12)
        assert [at for at, _ in filled.touched] == [(2, n) for n in range(5)] and filled.reads == list(range(10, 15))
        wider = v.plan_resize(11, "d1")
        assert wider.text.startswith("RearrangePlan<[10, 9] -> [10, 11]") and wider.reads == list(range(15))
        assert wider.map.count("w") == 15 and not wider.text.endswith("\n\n")
        before = v[...]
        edit.resize("d1", 11)
        assert np.array_equal(v[:, :9], before) and v.plan_load().reads == []
        assert v.plan_resize(9, "d1").reads == [], "all of it is staged by now"
        for size, name in ((3, "no"), (0, "d0"), (0, "d1")):
            with pytest.raises((ValueError, KeyError)):
                v.plan_resize(size, name)
        edit.create_variable("s", "i4", ())
        with pytest.raises(ValueError, match="scalar"):
            edit["s"].plan_resize(3)
        with pytest.raises(ValueError, match="does not have the dimension"):
            edit["s"].plan_resize(3, "d0")


def test_what_is_refused(layouts):
    path, shape, _ = layouts[1]
    with nc3z.open(path, "r+") as edit:
        v = edit["v"]
        for key in ([0, 12], (slice(None), [-10]), ([0.5],), np.ones(3, bool), np.ones((3, 9), bool), ([[0, 1]],), (0, 0, [0])):
            with pytest.raises(IndexError):
                v[key] = 1
            with pytest.raises(IndexError):
                v[key]
            with pytest.raises(IndexError):
                nc3z.open(path)["v"][key]
        with pytest.raises(IndexError):
            v.vindex[[0, 12], [0, 0]] = 1
        for key, value in (([0, 1], np.zeros(3)), (np.ones(shape, bool), np.zeros(5)), (([0, 1], [0, 1]), np.zeros((3, 2)))):
            with pytest.raises(ValueError):
                v[key] = value
        assert not edit.touched


def test_lists_make_records_longer(tmp_path):
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as ds:
        ds.createDimension("n", None)
        ds.createVariable("v", "f4", ("n",))[:] = [1, 2]
    nc3z.archive(tmp_path / "a.nc", tmp_path / "a.nc3z")
    with nc3z.open(tmp_path / "a.nc3z", "r+") as edit:
        edit["v"][[4, 1, 4]] = [5, 6, 7]
        assert edit["v"].shape == (5,) and edit["v"][[0, 1, 4]].tolist() == [1, 6, 7]
        edit.commit()
    assert nc3z.open(tmp_path / "a.nc3z")["v"][[0, 1, 4]].tolist() == [1, 6, 7]


BIG = """
import sys
import numpy as np
import nc3z

def peak():
    # The peak of getrusage includes the process that this one was forked from.
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1]) / 1000

with nc3z.open(sys.argv[1], "r+") as edit:
    v = edit["tas"]
    rows, columns, times = v.shape[1], v.shape[2], v.shape[0]
    v[[3, 7], 4, 5] = [1, 2]
    v[::7, [1, 5, 9], 3] = 3
    v[:, 0, np.arange(columns) % 3 == 0] = 4
    v.vindex[np.arange(times), np.arange(times) % rows, 0] = np.arange(times)
    assert v[[7, 3], 4, 5].tolist() == [2, 1] and v[7, 1, 3] == 3 and (v[:, 0, 6] == 4).all()
    v[[0, times - 1]] = np.ones((rows, columns))
    lists = peak()
    mask = np.zeros(v.shape, bool)
    mask[...] = False
    mask[::50, ::3, ::5] = True
    v[mask] = 9
    assert v[50, 3, 5] == 9
    print(round(lists), round(peak() - mask.nbytes / 1e6))
"""


@pytest.mark.parametrize("chunks", [None, {"time": 20, "lat": 50, "lon": 100}])
def test_memory_on_a_large_variable(tmp_path, chunks):
    """With NC3Z_NIGHT a variable of 1 GB."""
    times = 1280 if os.environ.get("NC3Z_NIGHT") else 320
    with netCDF4.Dataset(tmp_path / "big.nc", "w", format="NETCDF3_64BIT_OFFSET") as ds:
        for name, length in (("time", times), ("lat", 400), ("lon", 500)):
            ds.createDimension(name, length)
        v = ds.createVariable("tas", "f4", ("time", "lat", "lon"))
        for step in range(times):
            v[step] = np.add.outer(np.arange(400.0) * step, np.arange(500.0))
    nc3z.archive(tmp_path / "big.nc", tmp_path / "big.nc3z", preset="fast", **({"chunks": chunks} if chunks else {}))
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(BIG), tmp_path / "big.nc3z"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lists, mask = (int(n) for n in done.stdout.split())
    print(f"{times * 0.8:.0f} MB of values, chunks {chunks}: lists {lists} MB, a mask {mask} MB beside the mask itself")
    assert lists < 200 and mask < 200

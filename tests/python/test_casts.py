"""Values of any type for variables of any type: stored exactly or refused, by the Python editor and by ``nc3z set`` alike."""

import os
import shutil
import subprocess

import nc3z
import netCDF4
import numpy as np
import pytest
from conftest import ROOT

NC3Z = os.environ.get("NC3Z", str(ROOT / "target" / "debug" / "nc3z"))
TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
#: The fill value of variables that have one; a value of all types.
FILL = 77
#: Random assignments; scripts/nightly.sh takes more.
COUNT = int(os.environ.get("NC3Z_CASTS", "2000"))


@pytest.fixture
def typed(tmp_path):
    """One variable of two elements for each type, `c` of text, and scalars `s` and `t`; `filled` has a `_FillValue`."""
    with netCDF4.Dataset(tmp_path / "types.nc", "w", format="NETCDF3_64BIT_DATA") as ds:
        ds.createDimension("x", 2)
        ds.createDimension("n", None)
        for kind in TYPES:
            ds.createVariable(f"v{kind}", kind, ("x",))[:] = np.arange(2)
        ds.createVariable("c", "S1", ())[...] = b"a"
        ds.createVariable("s", "i4", ())[...] = 5
        ds.createVariable("filled", "i2", ("x",), fill_value=-7)[:] = [1, 2]
        ds.createVariable("r", "f4", ("n", "x"))[:] = np.zeros((1, 2))
    nc3z.archive(tmp_path / "types.nc", tmp_path / "types.nc3z")
    return tmp_path / "types.nc3z"


def numbers(kind):
    """Numbers at the ends of a type and next to them."""
    if kind.startswith("f"):
        info = np.finfo(kind)
        found = [0.0, -0.0, 0.5, -1.0, 2.0**24 + 1, 2.0**53, info.max, info.min, np.nan, np.inf, -np.inf, info.tiny]
        found += [s * 2.0**k + d for k in (7, 8, 15, 16, 31, 32, 63, 64) for s in (1, -1) for d in (-1, 0, 1)]
        return np.array(found, kind)
    info = np.iinfo(kind)
    near = [n + d for k in (7, 8, 15, 16, 24, 31, 32, 53, 63, 64) for n in (1 << k, -1 << k) for d in (-1, 0, 1)]
    near += [0, 1, -1, int(info.min), int(info.max)]
    return np.array([n for n in near if info.min <= n <= info.max], kind)


def right(value, kind):
    """The stored value, or None if it must be refused, computed by Python's own numbers."""
    if kind.startswith("f"):
        with np.errstate(all="ignore"):
            if isinstance(value, int):
                try:
                    made = np.dtype(kind).type(float(value))
                except OverflowError:
                    return None
                return made if np.isfinite(made) and int(made) == value else None
            made = np.dtype(kind).type(value)
        return None if np.isinf(made) and not np.isinf(value) else made
    if isinstance(value, float):
        if not np.isfinite(value) or value != int(value):
            return None
        value = int(value)
    info = np.iinfo(kind)
    return np.dtype(kind).type(value) if info.min <= value <= info.max else None


def check(edit, kind, given, values):
    """Assigns ``given``, which is the ``values``, and compares; returns whether it was stored. ``None`` means a masked value."""
    name = f"v{kind}"
    wanted = [FILL if value is None else right(value, kind) for value in values]
    before = edit[name][:].tobytes()
    if any(value is None for value in wanted):
        with pytest.raises(nc3z.RangeError, match=f"variable {name}: .* is not a value of type"):
            edit[name][: len(values)] = given
        assert edit[name][:].tobytes() == before
        return False
    edit[name][: len(values)] = given
    assert edit[name][: len(values)].tobytes() == np.array(wanted, kind).tobytes(), (kind, given)
    return True


def python(number):
    return float(number) if isinstance(number, np.floating) else int(number)


@pytest.mark.parametrize("kind", TYPES)
def test_every_number_of_every_type_is_stored_exactly_or_refused(typed, kind):
    stored = 0
    with nc3z.open(typed, "r+") as edit:
        for other in TYPES:
            for number in numbers(other):
                value = python(number)
                for given in (number, value, [value], (value, value), np.array([number]), np.array([number], np.dtype(other).newbyteorder())):
                    stored += check(edit, kind, given, [value] * (2 if isinstance(given, tuple) else 1))
        for value in (2**63, 2**64, -(2**63) - 1, 10**30, 10**400, 2**100, True):
            check(edit, kind, value, [value])
            check(edit, kind, [0, value], [0, value])
            check(edit, kind, [0.5 if kind[0] == "f" else 1.0, value], [0.5 if kind[0] == "f" else 1.0, value])
            check(edit, kind, [np.array(1.0), value], [1.0, value])
    assert stored > 50


def test_the_case_that_was_reported(typed):
    with nc3z.open(typed, "r+") as edit:
        for name, value in (
            ("vi1", np.array([200, 255], "u1")), ("vi2", np.array([40000, 65535], "u2")), ("vu2", np.array([-1, -2], "i2")), ("vi8", 2**63),
            ("vf4", 1e39), ("vi4", np.nan), ("vi4", [1, np.inf]), ("vi4", 1.5), ("vi4", [np.array([1, 2.5])[1]] * 2), ("vf4", 16777217), ("vf8", [2**53 + 1, 0.5]),
            ("vf4", np.longdouble("1e400")), ("vi2", np.float16(1.5)),
        ):  # fmt: skip
            with pytest.raises(nc3z.RangeError, match="is not a value of type") as refused:
                edit[name][:] = value
            assert isinstance(refused.value, OverflowError) and isinstance(refused.value, ValueError)
        for value in ("1", b"1", None, [None], 1j, np.datetime64("2000-01-01"), [[1], [2, 3]], {}):
            with pytest.raises((TypeError, ValueError)):
                edit["vi4"][:] = value
        assert not edit.touched
        with pytest.raises(nc3z.RangeError):
            edit["vi1"].attrs["valid_max"] = 128
        with pytest.raises(nc3z.RangeError):
            edit["vi1"].attrs["other"] = [2**64, 1]
        edit["vi1"].attrs["other"] = [2**63, 1]
        assert edit["vi1"].attrs["other"].tolist() == [2**63, 1]
        with pytest.raises(nc3z.RangeError):
            edit.create_variable("new", "i2", ("x",), fill_value=1e5)


def test_masked_values_become_the_fill_value_or_are_refused(typed):
    with nc3z.open(typed, "r+") as edit:
        for masked in (np.ma.MaskedArray([300, 4], [True, False], "u2"), [np.ma.masked, 4], np.ma.MaskedArray([1e300, 4.0], [True, False])):
            edit["filled"][:] = masked
            assert edit["filled"][:].tolist() == [-7, 4]
            for name in ("vi1", "vf8", "vu8"):
                with pytest.raises(ValueError, match=rf"variable {name}: masked values, but no _FillValue"):
                    edit[name][:] = masked
        with pytest.raises(ValueError, match="masked values"):
            edit["vf4"][0] = np.ma.masked
        with pytest.raises(nc3z.RangeError):
            edit["filled"][:] = np.ma.MaskedArray([1, 40000], [True, False])
        # Nothing is masked: nothing is missing.
        edit["vi1"][:] = np.ma.MaskedArray([3, 4], False)
        assert edit["vi1"][:].tolist() == [3, 4]
        with pytest.raises(ValueError, match="masked"):
            edit["vi1"].attrs["other"] = np.ma.MaskedArray([1, 2], [True, False])


def test_scalars_and_odd_indices(typed):
    with nc3z.open(typed, "r+") as edit:
        assert edit["c"][...] == b"a" and edit["c"][()] == b"a" and edit["s"][...] == 5
        assert edit["c"][...].dtype == np.dtype("S1") and edit["c"][...].shape == nc3z.open(typed)["c"][...].shape == ()
        edit["c"][...] = "b"
        edit["s"][()] = np.int8(-3)
        assert edit["c"][...] == b"b" and edit["s"][...] == -3
        with pytest.raises(ValueError):
            edit["c"][...] = "bc"
        for key in (1.5, 1.0, np.float64(1), "1", None, [0.5], slice(0.5, None), slice(None, 3.0)):
            with pytest.raises((TypeError, IndexError)):
                edit["vi4"][key] = 7
            with pytest.raises((TypeError, IndexError)):
                edit["vi4"][key]
        for key in (True, np.False_):
            with pytest.raises(IndexError, match="truth"):
                edit["vi4"][key] = 7
        # Refused values make nothing longer.
        for key, value in ((4, [1, 2, 3]), (slice(0, 9), np.zeros((2, 2))), (5, 1e39)):
            with pytest.raises(ValueError):
                edit["r"][key] = value
        assert edit["r"].shape == (1, 2) and edit["vi4"][:].tolist() == [0, 1]


def assigned(archive, name, words):
    """Returns the bytes that ``nc3z set`` stores for words, or None."""
    archive = shutil.copy(archive, archive.with_suffix(".set"))
    text = "\n".join(words)
    done = subprocess.run([NC3Z, "set", archive, name, "--text", "-", "--quick"], input=text, capture_output=True, text=True)
    if done.returncode:
        assert done.returncode == 1 and "is not a value of type" in done.stderr or "too large for type" in done.stderr, done.stderr
        return None
    return nc3z.open(archive)[name][:].tobytes()


@pytest.mark.skipif(not os.path.exists(NC3Z), reason="the command line tool is not built")
def test_random_assignments_by_both_faces(tmp_path):
    """Scalars, lists, arrays of every type and masked arrays for variables of every type, by Python. The tool then gets all stored values and some of the refused ones."""
    rng = np.random.default_rng(int(os.environ.get("NC3Z_SEED", "41")))
    each = COUNT // len(TYPES)
    with netCDF4.Dataset(tmp_path / "types.nc", "w", format="NETCDF3_64BIT_DATA") as ds:
        ds.createDimension("x", 4 * each)
        for kind in TYPES:
            ds.createVariable(f"v{kind}", kind, ("x",), fill_value=FILL)[:] = 0
    archive = tmp_path / "types.nc3z"
    nc3z.archive(tmp_path / "types.nc", archive)
    pairs = set()
    with nc3z.open(archive, "r+") as edit:
        for kind in TYPES:
            accepted, refused = [], []
            for _ in range(each):
                given, values = random_assignment(rng)
                if check(edit, kind, given, values):
                    accepted += values
                    pairs.add((getattr(given, "dtype", np.dtype("O")).name, kind))
                else:
                    refused.append(next(value for value in values if value is not None and right(value, kind) is None))
            words = ["_" if value is None else repr(value) for value in accepted]
            stored = np.array([FILL if value is None else right(value, kind) for value in accepted], kind)
            assert len(refused) > each // 50 and len(accepted) > each // 50
            words += ["0"] * (4 * each - len(words))
            assert assigned(archive, f"v{kind}", words) == np.concatenate([stored, np.zeros(4 * each - len(stored), kind)]).tobytes()
            for value in refused[: max(3, COUNT // 200)]:
                assert assigned(archive, f"v{kind}", [repr(value)]) is None, (kind, value)
    assert len(pairs) == (len(TYPES) + 1) * len(TYPES), "values of every type were stored in every type"


def random_assignment(rng):
    """The assigned object, and its elements as Python's numbers; a masked one is None."""
    form = rng.integers(6)
    if form == 0:
        value = random_number(rng)
        return (value, [value])
    if form == 1:
        values = [random_number(rng) for _ in range(rng.integers(1, 5))]
        return (values, values) if rng.integers(2) else (tuple(values), values)
    array = random_array(rng, str(rng.choice(TYPES)))
    values = [python(number) for number in array]
    if form < 4:
        array = array.astype(array.dtype.newbyteorder(rng.choice(["<", ">"])))
        return (array.reshape(()), values) if len(values) == 1 and rng.integers(2) else (array, values)
    mask = rng.random(len(values)) < 0.4
    values = [None if masked else value for masked, value in zip(mask, values, strict=True)]
    if form == 4:
        return np.ma.MaskedArray(array, mask), values
    return [np.ma.masked if value is None else value for value in values], values


def random_array(rng, kind):
    """One to four numbers of a type: some small, some at the ends of the types."""
    length = rng.integers(1, 5)
    if rng.integers(2):
        return rng.choice(numbers(kind), length)
    return rng.integers(0, 100, length).astype(kind)


def random_number(rng):
    """A Python number of any size and kind."""
    kind = rng.integers(6)
    if kind == 0:
        return python(rng.choice(numbers(rng.choice(TYPES))))
    if kind == 1:
        return int(rng.integers(-300, 300))
    if kind == 2:
        bits = int(rng.integers(1, 70))
        return int(rng.integers(0, 2**62)) * int(rng.choice([1, -1])) * 2**10 >> (72 - bits)
    if kind == 3:
        return float(rng.normal() * 10.0 ** rng.integers(-50, 50))
    if kind == 4:
        return float(np.trunc(rng.normal() * 10.0 ** rng.integers(0, 22)))
    return float(rng.choice([np.nan, np.inf, -np.inf, 0.1, -0.0, 1e39, -1e308, 5e-324, 0.5]))

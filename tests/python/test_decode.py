"""Decoded values compared with other packages: cftime for dates, xarray and netCDF4-python for arrays.

NC3Z_TIMES is the number of random dates (300; scripts/nightly.sh asks for 10,000), NC3Z_DATA a directory of more files."""

import os
import random
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.io import netcdf_file

import nc3z

netCDF4 = pytest.importorskip("netCDF4")
cftime = pytest.importorskip("cftime")

CLASSIC = Path(__file__).resolve().parents[2] / "testdata/classic"
CALENDARS = ["standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "365_day", "all_leap", "366_day", "360_day"]
UNITS = ["microseconds", "milliseconds", "msec", "ms", "seconds", "second", "sec", "s", "minutes", "min", "hours", "hour", "hr", "h",
         "days", "day", "d", "Days", "HOURS"]


def random_reference(rng):
    year = rng.choice([rng.randint(1, 3000), rng.randint(1580, 1585), rng.randint(1850, 2100), 0, -rng.randint(1, 4000)])
    sign, year = ("-", -year) if year < 0 else ("", year)
    date = rng.choice([f"{sign}{year:04d}-{rng.randint(1, 12):02d}-{rng.randint(1, 31):02d}",
                       f"{sign}{year}-{rng.randint(1, 12)}-{rng.randint(1, 28)}"])
    clock = f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}"
    return date + rng.choice(["", "", " 00:00:00", f" {clock}", f"T{clock}:30Z", f" {clock}:{rng.randint(0, 59):02d}.5",
                              f" {clock}:00 {rng.choice('+-')}{rng.randint(0, 12):02d}:{rng.choice(['00', '30', '45'])}", f" {clock} UTC"])


def random_value(rng):
    size = 10 ** rng.uniform(0, 8)
    return rng.choice([float(rng.randint(-50000, 50000)), rng.uniform(-size, size), rng.uniform(0, 1), rng.randint(-400, 400) / 8, 0.0,
                       1e18, -1e15])


def iso(moment):
    """ISO 8601, which has four digits in negative years too: cftime's own text has a digit less in years from -1 to -999."""
    m, sign = moment, "-" if moment.year < 0 else ""
    text = f"{sign}{abs(m.year):04d}-{m.month:02d}-{m.day:02d}T{m.hour:02d}:{m.minute:02d}:{m.second:02d}"
    return text + (f".{m.microsecond:06d}" if m.microsecond else "")


def is_rounded_twice(found, expected):
    """True if two dates differ by a microsecond: cftime rounds its product to 80 bits before it rounds it to microseconds."""
    return found[:19] == expected[:19] and "." in found and "." in expected and abs(int(found[-6:]) - int(expected[-6:])) == 1


def test_random_dates_are_those_of_cftime(tmp_path):
    rng = random.Random(int(os.environ.get("NC3Z_SEED", "41")))
    count = int(os.environ.get("NC3Z_TIMES", "300"))
    triples = [(f"{rng.choice(UNITS)} since {random_reference(rng)}", rng.choice(CALENDARS), random_value(rng)) for _ in range(count)]
    # cftime takes months of 360-day years, and common years of 365 days.
    triples += [("months since 2000-01-15", "360_day", 1.5), ("common_years since 1900-03-01", "noleap", 2.25)]
    path, wrong, rounded, dates = tmp_path / "t.nc", [], [], 0
    with netcdf_file(path, "w", version=2) as d:
        for n, (units, calendar, value) in enumerate(triples):
            v = d.createVariable(f"t{n}", "f8", ())
            v.units, v.calendar = units, calendar
            v.data[...] = value
    with nc3z.open(path, decode=True) as d:
        for n, (units, calendar, value) in enumerate(triples):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    # A reference in the year 0 is one of a calendar that has it, as for ncdump and CDO.
                    zero = {"has_year_zero": True} if re.search(r"since 0+-", units) else {}
                    expected = iso(cftime.num2date(value, units, calendar, **zero))
            except (ValueError, OverflowError):
                expected = "refused"
            found = d[f"t{n}"][...]
            if found.dtype.kind == "f" or (found.dtype.kind == "U" and "T" not in str(found)):
                found = "refused"
            elif found.dtype.kind == "M":
                # NumPy, too, has a digit less there.
                found = re.sub(r"^-(\d{3})-", r"-0\1-", str(np.datetime_as_string(found.data)).removesuffix(".000000"))
            else:
                found = str(found)
            dates += found != "refused"
            if found != expected:
                (rounded if is_rounded_twice(found, expected) else wrong).append((units, calendar, value, found, expected))
    assert len(rounded) <= count // 1000, rounded
    assert not wrong, f"{len(wrong)} of {count}: {wrong[:10]}"
    assert dates > count // 3


def files():
    found = [p for p in sorted(CLASSIC.glob("*")) if p.suffix in (".nc", ".cdf") and not p.name.startswith("bad_")]
    more = os.environ.get("NC3Z_DATA")
    return found + (sorted(p for p in Path(more).rglob("*") if p.suffix.lower() in (".nc", ".cdf", ".nc3")) if more else [])


def valid(stored, attributes):
    """True for values that are in the valid range of the attributes, and not the default fill value of their type."""
    ok = np.ones(stored.shape, bool)
    kind = stored.dtype.str[1:]
    if "_FillValue" not in attributes and stored.dtype.itemsize > 1 and kind in netCDF4.default_fillvals:
        ok &= stored != np.array(netCDF4.default_fillvals[kind], stored.dtype)
    ends = np.ravel(attributes.get("valid_range", [attributes.get("valid_min", np.nan), attributes.get("valid_max", np.nan)]))
    if ends.dtype.kind in "fiu" and ends.size == 2:
        ok &= ~(stored < ends[0]) & ~(stored > ends[1])
    return ok


@pytest.mark.parametrize("path", files(), ids=lambda p: p.name)
def test_arrays_are_those_of_xarray(path):
    xr = pytest.importorskip("xarray")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            raw = xr.open_dataset(path, engine="netcdf4", decode_cf=False, cache=False)
    except Exception as e:  # what xarray cannot open is not an oracle
        pytest.skip(f"xarray: {e}")
    compared = 0
    with raw, nc3z.open(path, decode=True) as ours:
        for name in ours:
            v = ours[name]
            if name not in raw.variables or v.dtype.kind == "S" or v.size == 0 or v.size > 4_000_000 or v.dtype.kind in "MU":
                continue
            stored = raw.variables[name]
            if stored.dtype.kind not in "fiu":
                continue
            try:
                found = v[...]
            except nc3z.CorruptError:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    expected = xr.conventions.decode_cf_variable(name, stored, decode_times=False).values
                except Exception:
                    continue
            expected = np.asarray(expected, dtype="f8") if expected.dtype.kind == "f" else expected
            missing = np.ma.getmaskarray(found)
            nan = np.isnan(expected) if expected.dtype.kind == "f" else np.zeros(expected.shape, bool)
            assert not (nan & ~missing).any(), f"{name}: xarray masks what we show"
            unexplained = missing & ~nan & valid(np.asarray(stored.values), stored.attrs)
            assert not unexplained.any(), f"{name}: we mask {np.asarray(stored.values)[unexplained][:3]}"
            shown = ~missing & ~nan
            tolerance = 1e-6 if found.dtype == np.float32 else 1e-12
            np.testing.assert_allclose(np.asarray(found.data, "f8")[shown], np.asarray(expected, "f8")[shown], rtol=tolerance, atol=1e-30,
                                       err_msg=name)
            compared += 1
    if compared == 0:
        pytest.skip("no numeric variable")


@pytest.mark.parametrize("path", files(), ids=lambda p: p.name)
def test_times_are_those_of_xarray(path):
    xr = pytest.importorskip("xarray")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            raw = xr.open_dataset(path, engine="netcdf4", decode_cf=False, cache=False)
    except Exception as e:
        pytest.skip(f"xarray: {e}")
    coder = xr.coders.CFDatetimeCoder(use_cftime=True)
    compared = 0
    with raw, nc3z.open(path, decode=True) as ours:
        for name in ours:
            v = ours[name]
            if v.dtype.kind != "M" or v.size == 0 or v.size > 100_000 or "units" not in raw.variables[name].attrs:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    expected = xr.conventions.decode_cf_variable(name, raw.variables[name], decode_times=coder).values.ravel()
                except Exception:
                    continue
            if expected.dtype.kind != "O":
                continue
            found = v[...].ravel()
            for n in {0, len(expected) // 2, len(expected) - 1}:
                if found.mask is not np.ma.nomask and found.mask[n]:
                    continue
                # Text in calendars that NumPy does not have.
                text = str(found.data[n]) if found.dtype.kind == "U" else str(np.datetime_as_string(found.data[n]))
                text = text.removesuffix(".000000")
                want = iso(expected[n])
                assert text == want or abs(_microseconds(text) - _microseconds(want)) <= 1, f"{name}[{n}]"
                compared += 1
    if compared == 0:
        pytest.skip("no times")


def _microseconds(text):
    date, _, clock = text.partition("T")
    h, m, s = clock.split(":")
    return (int(h) * 60 + int(m)) * 60_000_000 + round(float(s) * 1e6) if date else 0


def grid(path, lon, **attributes):
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
        d.createDimension("time", 4)
        d.createDimension("lon", len(lon))
        t = d.createVariable("time", "f8", ("time",))
        t.units, t.calendar = "days since 2000-01-30", "noleap"
        t[:] = [0, 1, 2, 3]
        x = d.createVariable("lon", "f4", ("lon",))
        x.units = "degrees_east"
        x[:] = lon
        v = d.createVariable("v", "i2", ("time", "lon"), fill_value=-1)
        v.set_auto_maskandscale(False)
        v.setncatts(attributes)
        v[:] = np.arange(4 * len(lon)).reshape(4, -1)


def test_masked_arrays_as_netcdf4_gives_them(tmp_path):
    path = tmp_path / "a.nc"
    grid(path, [0, 90, 180, 270], scale_factor=0.5, add_offset=10.0, missing_value=np.int16(3), valid_max=np.int16(13))
    with netCDF4.Dataset(path) as theirs, nc3z.open(path, decode=True) as ours:
        a, b = theirs["v"][:], ours["v"][:]
        assert a.dtype == b.dtype == ours["v"].dtype
        np.testing.assert_array_equal(np.ma.getmaskarray(a), np.ma.getmaskarray(b))
        np.testing.assert_array_equal(a.compressed(), b.compressed())
        assert ours["v"][0, 3] is np.ma.masked or np.ma.getmaskarray(ours["v"][0, 3]).all()
        assert [str(t) for t in ours["time"][:]] == [f"2000-{d}T00:00:00" for d in ("01-30", "01-31", "02-01", "02-02")]
    with nc3z.open(path) as stored:
        assert stored["v"][0, 3] == 3 and stored["time"][0] == 0.0


def test_parts_by_dates_longitudes_and_regions(tmp_path):
    path = tmp_path / "a.nc"
    grid(path, [0, 90, 180, 270])
    with nc3z.open(path) as d:
        v = d["v"]
        np.testing.assert_array_equal(v.sel(time="2000-02"), v[2:4])
        np.testing.assert_array_equal(v.sel(time=slice("2000-01-31", "2000-02-01")), v[1:3])
        np.testing.assert_array_equal(v.sel(lon=slice(-90, 90)), v[...][:, [3, 0, 1]])
        np.testing.assert_array_equal(v.sel(lon=-90), v[:, 3:4])
        with pytest.raises(ValueError, match="no time is in this range"):
            v.sel(time="2001")
        with pytest.raises(ValueError, match="no dimension `tim`"):
            v.sel(tim=0)
        with pytest.raises(ValueError, match="no latitudes and longitudes"):
            v.sel(box=(0, 10, 0, 10))
        with pytest.warns(UserWarning, match="exceeds the coordinate"):
            d["time"].sel(time=slice(-5.0, 1.0))


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_dates_of_numpy_xarray_and_pandas_select_by_date(tmp_path, unit):
    pd, xr = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    path = tmp_path / "a.nc"
    grid(path, [0, 90])
    date = np.datetime64("2000-01-31", unit)
    with nc3z.open(path) as d:
        v = d["v"]
        for given in (date, np.array(date), xr.DataArray(date), pd.Timestamp(date)):
            np.testing.assert_array_equal(v.sel(time=given), [[2, 3]])
            np.testing.assert_array_equal(v.sel(time=slice(None, given)), [[0, 1], [2, 3]])
            np.testing.assert_array_equal(v.sel(time=slice(given, np.datetime64("2000-02-01", unit))), [[2, 3], [4, 5]])


def test_lists_points_masks_and_outputs_are_decoded(tmp_path):
    path = tmp_path / "a.nc"
    grid(path, [0, 90, 180, 270], scale_factor=0.5, missing_value=np.int16(3))
    with nc3z.open(path, decode=True) as d:
        v = d["v"]
        whole = v[...]
        assert whole.mask.sum() == 1

        def same(found, wanted):
            assert found.dtype == v.dtype and isinstance(found, np.ma.MaskedArray)
            np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(wanted))
            np.testing.assert_array_equal(found.filled(0), wanted.filled(0))

        same(v.oindex[[2, 0], [3, 1]], whole[np.ix_([2, 0], [3, 1])])
        same(v[[2, 0], 1:], whole[[2, 0], 1:])
        same(v.vindex[[0, 3, 0], [3, 3, 0]], whole[[0, 3, 0], [3, 3, 0]])
        where = np.arange(16).reshape(4, 4) % 3 == 0
        same(v[where], whole[where])
        same(v.oindex[1:3, 0], whole[1:3, 0])
        assert v.oindex[[], :].shape == (0, 4)
        out = np.ma.zeros(v.shape, v.dtype)
        assert v.read(out=out) is out
        same(out, whole)
        plain = np.zeros(4, v.dtype)
        np.testing.assert_array_equal(v.read(1, out=plain), whole[1])
        with pytest.raises(ValueError, match="v: missing values are among these"):
            v.read(0, out=plain)
        with pytest.raises(ValueError, match="shape"):
            v.read(0, out=np.zeros(3))
        times = d["time"]
        assert [str(t) for t in times[[0, 3]]] == ["2000-01-30T00:00:00", "2000-02-02T00:00:00"]


@pytest.mark.parametrize("calendar", CALENDARS)
def test_types_of_times_are_known_before_they_are_read(tmp_path, calendar):
    path = tmp_path / "t.nc"
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as d:
        d.createDimension("n", 3)
        t = d.createVariable("t", "f8", ("n",), fill_value=-9.0)
        t.units, t.calendar = "days since 2000-01-01", calendar
        t[:] = [0.25, -9, 1e6]
    with nc3z.open(path, decode=True) as d:
        is_numpys = calendar in ("standard", "gregorian", "proleptic_gregorian")
        wanted = np.dtype("datetime64[us]" if is_numpys else "U32")
        t = d["t"]
        for found in (t[...], t[0:2], t[1:2], t[0:0], t[[0, 2]], t.vindex[[1]], t[::2]):
            assert found.dtype == t.dtype == wanted
        assert t[...].mask.tolist() == [False, True, False]
        expected = cftime.num2date([0.25, 1e6], t.units, calendar)
        given = t[::2].data
        texts = [str(x) for x in (np.datetime_as_string(given, unit="s") if is_numpys else given)]
        assert texts == [iso(e) for e in expected]

"""What the blocks of docs/analyst.md must have done."""

import csv


def prepare(test, _, at):
    test.assertEqual(len(list((at / "archive").iterdir())), 3)


def find(test, out, _):
    test.assertRegex(out, r"archive/etopo120\.cdf\.nc3z +archive ")
    test.assertIn("SEA SURFACE TEMPERATURE", out)
    test.assertIn("netcdf coads_climatology", out)


def numbers(test, out, at):
    with open(at / "series.csv", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    test.assertEqual((len(rows), rows[0]["COADSY"], rows[0]["COADSX"]), (12, "1.0", "181.0"))
    test.assertRegex(out, r"SST +\d+ +\d+ ")
    test.assertRegex(out, r"archive/coads_climatology.cdf.nc3z +SST > 30 ")


def catalog(test, out, at):
    test.assertRegex(out, r"SST +\d+ +\d+ ")
    test.assertRegex(out, r"archive/coads_climatology.cdf.nc3z +SST > 30 ")
    test.assertTrue((at / "archive.catalog.nc3z").exists())


def parts(test, out, at):
    test.assertEqual((at / "january.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
    test.assertRegex(out, r"tiles +\d+ of \d+")
    import netCDF4
    with netCDF4.Dataset(at / "tropics.nc") as d, netCDF4.Dataset(at / "data/coads_climatology.cdf") as whole:
        inside = (whole["COADSY"][:] >= -30) & (whole["COADSY"][:] <= 30)
        test.assertTrue((d["SST"][:].filled(9e9) == whole["SST"][:, inside].filled(9e9)).all())


def xarray(test, out, _):
    test.assertIn("(30, 180)", out)


def no_package():
    try:
        import nc3z
        import xarray  # noqa: F401
    except ImportError as e:
        return str(e)
    return None if nc3z else None


BLOCKS = {"prepare": prepare, "find": find, "numbers": numbers, "catalog": catalog, "parts": parts, "xarray": xarray}
SKIP = {"xarray": no_package}

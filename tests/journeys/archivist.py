"""What the blocks of docs/archivist.md must have done."""

from common import sha256


def estimate(test, out, _):
    test.assertRegex(out, "default")


def archive(test, out, _):
    test.assertRegex(out, r"nc3z: 3 archived; .* in [0-9.]+ s")
    test.assertIn("3 files", out)
    test.assertIn("all as listed", out)


def restore(test, out, at):
    test.assertIn("the very same bytes", out)
    test.assertIn(sha256(at / "data/coads_climatology.cdf"), out)


def correct(test, out, _):
    test.assertIn("units that programs know", out)
    test.assertIn("version 1 is the original", out)
    test.assertRegex(out, r"SST.*units.*Deg C.*degC")


def damage(test, out, _):
    test.assertIn("damage found, exit code 3", out)
    test.assertIn("as it was", out)


def report(test, out, at):
    test.assertIn("coads_climatology.cdf.nc3z", (at / "report.html").read_text("utf-8"))
    test.assertIn("etopo120", out)


BLOCKS = {"estimate": estimate, "archive": archive, "restore": restore, "correct": correct, "damage": damage, "report": report}

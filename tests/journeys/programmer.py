"""What the blocks of docs/programmer.md must have done."""

import json

from journeys.analyst import no_package


def script(test, out, at):
    test.assertIn("'SST'", out)
    test.assertIn('"sound": true', out)
    test.assertEqual(json.loads((at / "layout.json").read_text())["kind"], "archive")
    test.assertEqual((at / "january.npy").read_bytes()[:6], b"\x93NUMPY")


def python(test, out, _):
    test.assertIn("etopo.nc3z True", out)
    test.assertIn("float32 (90, 180)", out)


def edit(test, _, at):
    test.assertIn("SST", (at / "changes.json").read_text())


BLOCKS = {"script": script, "python": python, "edit": edit}
SKIP = {"python": no_package}

"""`verify --known-defects`: archives that a version with a known defect wrote are found, by the program's list and by a newer one."""

import json
import unittest

from common import CLASSIC, Case, nc3z

MADE = {"id": "NC3Z-MADE", "about": "Its values were made up.", "remedy": "Archive the original again.", "writers": ["0.0.1", "0.1.0"]}


class Defects(Case):
    def setUp(self):
        super().setUp()
        self.archive = self.dir / "a.nc3z"
        self.ok(nc3z("archive", CLASSIC / "beside.nc", "-o", self.archive))

    def found(self, *defects, archive=None):
        """Exit code and names of the defects that affect the archive, by a list of these."""
        self.list = self.dir / "defects.json"
        self.list.write_text(json.dumps(defects))
        done = nc3z("verify", "--json", f"--known-defects={self.list}", archive or self.archive)
        return done.returncode, [d["id"] for d in json.loads(done.stdout)[0]["defects"]]

    def test_no_defect_is_known(self):
        done = self.ok(nc3z("verify", "--known-defects", self.archive))
        self.assertIn("0 known defects", done.stderr)
        self.assertNotIn("defects", json.loads(self.ok(nc3z("verify", "--json", self.archive)).stdout)[0])

    def test_a_made_defect_is_found(self):
        self.assertEqual(self.found(MADE), (1, ["NC3Z-MADE"]))
        done = nc3z("verify", f"--known-defects={self.list}", self.archive)
        self.assertEqual(done.returncode, 1)
        for words in ("AFFECTED by NC3Z-MADE", "made up", "Archive the original again"):
            self.assertIn(words, done.stdout.decode())

    def test_other_versions_and_other_chains_are_not_affected(self):
        self.assertEqual(self.found({**MADE, "writers": ["0.1.1", "0.2.0"]}), (0, []))
        self.assertEqual(self.found({**MADE, "chains": ["bz2"]}), (0, []))
        self.assertEqual(self.found({**MADE, "chains": ["bz2", "nc3z.num"]}, MADE), (1, ["NC3Z-MADE", "NC3Z-MADE"]))

    def test_an_archive_that_was_made_of_one_is_affected(self):
        self.ok(nc3z("recompress", "--preset", "fast", self.archive, "-o", self.dir / "b.nc3z"))
        self.assertEqual(self.found(MADE, archive=self.dir / "b.nc3z"), (1, ["NC3Z-MADE"]))

    def test_a_list_of_another_form_is_an_error_that_names_it(self):
        for text in ("{}", "[1]", "no JSON", json.dumps([{**MADE, "writers": ["1.0"]}])):
            bad = self.dir / "bad.json"
            bad.write_text(text)
            done = nc3z("verify", f"--known-defects={bad}", self.archive)
            self.assertEqual(done.returncode, 1)
            self.assertIn("bad.json", done.stderr)


if __name__ == "__main__":
    unittest.main()

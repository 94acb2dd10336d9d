"""docs/seeds.md: every file and every test that its tables name exists."""

import re
import unittest

from common import ROOT

REFERENCE = re.compile(r"`([\w./-]+/[\w.-]+\.(?:rs|py|md))(?:::(\w+))?`")


class Seeds(unittest.TestCase):
    def test_every_row_leads_to_code_and_tests(self):
        rows = [line for line in (ROOT / "docs/seeds.md").read_text().splitlines() if line.startswith("| ") and "implemented in" not in line]
        self.assertGreater(len(rows), 40)
        for row in rows:
            cells = row.strip("| ").split(" | ")
            self.assertEqual(len(cells), 3, row)
            for cell in cells[1:]:
                found = REFERENCE.findall(cell)
                self.assertTrue(found, row)
                for path, test in found:
                    self.assertTrue((ROOT / path).is_file(), path)
                    if test:
                        self.assertRegex((ROOT / path).read_text(), rf"\b(fn|def) {test}\b", row)


if __name__ == "__main__":
    unittest.main()

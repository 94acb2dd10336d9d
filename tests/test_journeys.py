"""Runs the pages for five kinds of readers (docs/archivist.md and the others), block after block, as they are written.

Each module of tests/journeys says what the blocks of its page must have done."""

import importlib
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from common import CLASSIC, NC3Z, ROOT, Case

BLOCK = re.compile(r"<!-- run: (\w+) -->\n```(bash|python)\n(.*?)```", re.DOTALL)
PEOPLE = ("archivist", "analyst", "programmer", "operator", "implementer")


class Commands(Case):
    def test_the_page_of_commands_is_that_of_the_help(self):
        done = subprocess.run([sys.executable, ROOT / "scripts/commands.py", "--check"], capture_output=True, text=True, check=False, env={**os.environ, "NC3Z": NC3Z})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_page_of_names_is_up_to_date_and_one_idea_has_one_word(self):
        done = subprocess.run([sys.executable, ROOT / "scripts/names.py", "--check"], capture_output=True, text=True, check=False, env={**os.environ, "NC3Z": NC3Z})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_no_block_of_a_page_is_left_out(self):
        for name in PEOPLE:
            page = (ROOT / f"docs/{name}.md").read_text("utf-8")
            shown = re.findall(r"^```(?:bash|python)$", page, re.MULTILINE)
            self.assertEqual(len(shown), len(BLOCK.findall(page)), name)


class Journeys(Case):
    def setUp(self):
        super().setUp()
        (self.dir / "bin").mkdir()
        (self.dir / "bin/nc3z").symlink_to(NC3Z)
        # The python3 of the pages is the one that has the package.
        (self.dir / "bin/python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (self.dir / "bin/python3").chmod(0o755)
        self.data = self.dir / "data"
        self.data.mkdir()
        for path in CLASSIC.glob("*.cdf"):
            shutil.copy(path, self.data)

    def journey(self, name):
        expected = importlib.import_module(f"journeys.{name}")
        env = {**os.environ, "PATH": f"{self.dir / 'bin'}:{os.environ['PATH']}", "HOME": str(self.dir)}
        blocks = BLOCK.findall((ROOT / f"docs/{name}.md").read_text("utf-8"))
        left = set(vars(expected)["BLOCKS"])
        for block, language, text in blocks:
            with self.subTest(page=name, block=block):
                left.discard(block)
                check = vars(expected)["BLOCKS"].get(block)
                if check is None:
                    self.fail(f"tests/journeys/{name}.py does not know the block")
                skipped = getattr(expected, "SKIP", {}).get(block, lambda: None)()
                if skipped:
                    print(f"{name}, {block}: NOT TESTED: {skipped}")
                    continue
                command = ["bash", "-e", "-o", "pipefail", "-c", text] if language == "bash" else [sys.executable, "-c", text]
                run = subprocess.run(command, cwd=self.dir, env=env, capture_output=True, check=False, timeout=300, text=True, stdin=subprocess.DEVNULL)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                check(self, run.stdout + run.stderr, Path(self.dir))
        self.assertEqual(left, set(), "blocks that the page does not have")


def of(name):
    return lambda self: self.journey(name)


for person in PEOPLE:
    setattr(Journeys, f"test_{person}", of(person))


if __name__ == "__main__":
    sys.exit(unittest.main())

"""What a terminal shows of the progress of each command: a line in each phase, and nothing of it in results and messages."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
import unittest

from common import CLASSIC, NC3Z, Case, nc3z

# The words of each command, and the phases that it shows one after another. With NC3Z_PROGRESS=0 each phase is shown when it
# begins, however short it is. The first phase has the name of the command; the others say more: a file, or a part of the work.
PHASES = [
    ("archive a.nc -o new.nc3z", ["archive", "a.nc"]),
    ("archive -r . -o all --manifest sha256 --catalog c.catalog.nc3z", ["archive", "archive .* files", "manifest", "catalog"]),
    ("archive - -o piped.nc3z", ["archive"]),
    ("restore a.nc3z -o back.nc", ["restore", "find files", "a.nc3z"]),
    ("restore -r set.bundle.nc3z -o back", ["restore", "set.bundle.nc3z"]),
    ("recompress --preset fast a.nc3z -o other.nc3z", ["recompress", "find files", "recompress"]),
    ("hash a.nc3z", ["hash", "find files", "hash"]),
    ("hash --root a.nc3z", ["hash", "hash"]),
    ("hash --check list", ["hash", "hash"]),
    ("hash --manifest tree", ["hash", "manifest"]),
    ("cite a.nc3z tenths -o slice.nc", ["cite", "hash", "cite"]),
    ("estimate a.nc", ["estimate", "find files", "estimate"]),
    ("commit a.nc3z b.nc --allow-unrelated", ["commit", "b.nc"]),
    ("attr a.nc3z :title=new", ["attr", "a.nc3z"]),
    ("set a.nc3z tenths =_", ["set", "a.nc3z"]),
    ("append record.nc3z record.nc --quick", ["append"]),
    ("rename a.nc3z -v tenths,t", ["rename", "a.nc3z"]),
    ("prune a.nc3z -o small.nc3z", ["prune", "a.nc3z"]),
    ("revert a.nc3z 1", ["revert", "a.nc3z"]),
    ("log a.nc3z", ["log"]),
    ("tag a.nc3z one", ["tag"]),
    ("diff a.nc3z b.nc", ["diff", "diff"]),
    ("info a.nc3z", ["info"]),
    ("info --layout a.nc3z", ["info"]),
    ("read a.nc3z tenths -o values", ["read", "read"]),
    ("verify a.nc3z", ["verify", "a.nc3z"]),
    ("verify -r tree", ["verify", "find files", "tree/a.nc.nc3z"]),
    ("repair a.nc3z -o repaired.nc3z", ["repair", "a.nc3z"]),
    ("dump a.nc3z", ["dump"]),
    ("refs a.nc3z -o refs.json", ["refs"]),
    ("subset a.nc3z tenths -o part.nc", ["subset", "part.nc"]),
    ("aggregate tree -o all.nc", ["aggregate", "find files", "aggregate .* files"]),
    ("bundle tree -o other.bundle.nc3z", ["bundle", "other.bundle.nc3z"]),
    ("list tree", ["list", "find files", "list .* files"]),
    ("list --html page.html tree", ["list", "find files", "list .* files"]),
    ("find tenths tree", ["find", "find files", "find .* files"]),
    ("find --where tenths>0 tree", ["find", "find files", "catalog .* files"]),
    ("catalog tree -o tree.catalog.nc3z", ["catalog", "find files", "catalog .* files"]),
    ("stats tree", ["stats", "find files", "catalog .* files"]),
    ("plot a.nc3z tenths -o tenths.png", ["plot", "plot"]),
    ("plan tree -o camp", ["plan", "plan"]),
    ("status camp --log log", ["status"]),
    ("retire tree out --trash trash", ["retire", "retire"]),
    ("reconcile table.csv tree", ["reconcile"]),
    ("parity add a.nc3z", ["parity add", "find files", "a.nc3z"]),
    ("parity remove a.nc3z", ["parity remove", "find files", "a.nc3z"]),
    ("parity info a.nc3z", ["parity info", "find files"]),
    ("filters", ["filters"]),
    ("completions bash", ["completions"]),
    ("man -o man", ["man"]),
    ("spec", ["spec"]),
]
# They serve until they are ended, or run a program that has the terminal.
WITHOUT_END = {"mount", "serve", "netcdf-plugin", "help"}


class Progress(Case):
    def setUp(self):
        super().setUp()
        for name, source in (("a.nc", "numeric.nc"), ("b.nc", "smooth.nc")):
            shutil.copy(CLASSIC / source, self.dir / name)
        os.mkdir(self.dir / "tree")
        shutil.copy(self.dir / "a.nc", self.dir / "tree")
        self.ok(self.run_here("archive", "a.nc", "-o", "a.nc3z"))

    def run_here(self, *words, **more):
        return nc3z(*words, cwd=self.dir, **more)

    def on_terminal(self, words, delay="0", stdin=subprocess.DEVNULL, stdout=None, stop=None, seconds=60):
        """Runs a command with a terminal as standard error, and as standard output unless `stdout` is given. Returns what the terminal
        got. `stop` is a text after which the command is killed."""
        ours, theirs = pty.openpty()
        environment = {**os.environ, "NC3Z_PROGRESS": delay, "TERM": "xterm", "COLUMNS": "100"}
        if delay is None:
            del environment["NC3Z_PROGRESS"]
        done = subprocess.Popen([NC3Z, *words], stdin=stdin, stdout=stdout or theirs, stderr=theirs, cwd=self.dir, env=environment)
        os.close(theirs)
        got, end = b"", time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                if select.select([ours], [], [], 0.1)[0]:
                    got += os.read(ours, 1 << 16)
                if stop and stop.encode() in got:
                    break
        except OSError:  # The other end is closed.
            pass
        done.kill() if stop else None
        done.wait(timeout=60)
        os.close(ours)
        self.code = done.returncode
        return got.decode()


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def screen(text):
    """The lines that a terminal shows in the end."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)", text):
        number = int(part[0]) if part[0].isdigit() else 1
        if part[1] == "K":
            lines[row] = lines[row][:column] if part[0] in ("", "0") else ""
        elif part[1] == "A":
            row = max(0, row - number)
        elif part[1] == "B":
            row += number
        elif part[2] == "\r":
            column = 0
        elif part[2] == "\n":
            row += 1
        elif part[3]:
            lines[row] = lines[row][:column].ljust(column) + part[3] + lines[row][column + len(part[3]):]
            column += len(part[3])
        while row >= len(lines):
            lines.append("")
    return [line.rstrip() for line in lines]


class Phases(Progress):
    def test_each_command_shows_each_phase(self):
        for words, phases in PHASES:
            with self.subTest(words):
                shutil.rmtree(self.dir)
                os.mkdir(self.dir)
                self.setUp_again(words)
                text = plain(self.on_terminal(words.split()))
                self.assertIn(self.code, (0, 1), text)
                at = 0
                for phase in phases:
                    found = re.compile(rf"(?:^|[\s\r])(?:\S )?{phase}\b").search(text, at)
                    self.assertTrue(found, f"no line for `{phase}` after {text[:at]!r} in {text[at:]!r}")
                    at = found.end()

    def setUp_again(self, words):
        Progress.setUp(self)
        if "record" in words:
            shutil.copy(CLASSIC / "record_padding.nc", self.dir / "record.nc")
            self.run_here("archive", "record.nc", "-o", "record.nc3z")
        if "set.bundle.nc3z" in words:
            self.ok(self.run_here("bundle", "a.nc", "-o", "set.bundle.nc3z"))
        if "parity remove" in words:
            self.ok(self.run_here("parity", "add", "a.nc3z"))
        if "--check list" in words:
            (self.dir / "list").write_bytes(self.ok(self.run_here("hash", "a.nc3z")).stdout)
        if words.startswith("verify -r") or "--manifest tree" in words:
            self.ok(self.run_here("archive", "-r", "tree"))
        if words.startswith("status"):
            self.ok(self.run_here("plan", "tree", "-o", "camp"))
            (self.dir / "log").write_bytes(b"")
        if words.startswith("retire"):
            self.ok(self.run_here("archive", "-r", "tree", "-o", "out"))
        if words.startswith("reconcile"):
            self.ok(self.run_here("archive", "-r", "tree"))
            (self.dir / "table.csv").write_text("path,checksum\n")

    def test_the_table_has_all_commands(self):
        lines = self.ok(self.run_here("--help-all")).stdout.decode().splitlines()
        named = {line.split()[0] for line in lines if re.match(r"  [a-z][a-z-]+ ", line)}
        self.assertEqual({words.split()[0] for words, _ in PHASES} | WITHOUT_END, named)


class Manners(Progress):
    def test_a_line_appears_after_a_second(self):
        self.assertNotIn("verify", plain(self.on_terminal(["verify", "a.nc3z"], delay=None)).replace("a.nc3z: verify", ""))
        reader, writer = os.pipe()
        begin = time.monotonic()
        self.on_terminal(["archive", "-", "-o", "new.nc3z"], delay=None, stdin=reader, stop="archive")
        self.assertGreater(time.monotonic() - begin, 0.9)
        self.assertLess(time.monotonic() - begin, 30)
        os.close(writer)
        os.close(reader)

    def test_no_line_without_a_terminal_and_with_quiet(self):
        done = self.run_here("archive", "-r", "tree", "-o", "one", env={**os.environ, "NC3Z_PROGRESS": "0"})
        self.assertNotIn("find files", done.stderr)
        self.assertEqual(self.on_terminal(["archive", "-q", "a.nc", "-o", "two.nc3z"], delay="1"), "")

    def test_results_and_messages_are_as_without_a_line(self):
        for words in ("verify a.nc3z", "verify -r tree", "list tree", "find tenths tree", "hash a.nc3z a.nc", "dump a.nc3z", "stats tree", "info a.nc3z none.nc3z",
                      "archive a.nc", "read a.nc3z tenths"):
            with self.subTest(words):
                (self.dir / "a.nc.nc3z").unlink(missing_ok=True)
                without = screen(self.on_terminal(words.split(), delay="1000"))
                (self.dir / "a.nc.nc3z").unlink(missing_ok=True)
                with_line = screen(self.on_terminal(words.split()))
                self.assertEqual([line for line in with_line if line], [line for line in without if line])

    def test_a_pager_has_the_terminal_to_itself(self):
        """After the first bytes for another program, no line appears: the program may use the terminal."""
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        got = self.on_terminal(["dump", "-h", "a.nc3z"], stdout=writer)
        os.close(writer)
        self.assertEqual([line for line in screen(got) if line], [])
        self.assertIn("netcdf", os.read(reader, 1 << 20).decode())
        os.close(reader)

    def test_a_delay_that_is_not_a_number_is_a_usage_error(self):
        done = self.run_here("info", "a.nc3z", env={**os.environ, "NC3Z_PROGRESS": "soon"})
        self.fails(done, 2, "NC3Z_PROGRESS is `soon`; expected a number of seconds")


if __name__ == "__main__":
    sys.exit(unittest.main())

#!/usr/bin/env python3
"""Writes docs/commands.md from the tool's own help: the groups of commands, what each does, and its examples.

    NC3Z=target/debug/nc3z scripts/commands.py            write the page
    NC3Z=target/debug/nc3z scripts/commands.py --check    fail if the page differs from the help
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/commands.md"
INTRODUCTION = """\
# Commands

The commands of `nc3z`, by purpose, with the examples of their help. `nc3z COMMAND --help-all` prints all options of a command.
`scripts/commands.py` writes this page from the help.
"""
# The largest number of columns of the help (`max_term_width` in nc3z-cli/src/args/mod.rs).
WIDTH = 100
# The programs with which examples begin.
PROGRAMS = ("nc3z", "cat", "curl", "fusermount3", "ls", "ncdump")


def help_of(*command):
    done = subprocess.run([os.environ["NC3Z"], *command, "--help-all"], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": str(WIDTH)})
    return done.stdout


def groups(text):
    """Names of groups with their commands, each with its summary."""
    found = []
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z][^:]*:", line) and line not in ("Options:", "Examples:"):
            found.append((line[:-1], []))
        elif line == "Options:":
            break
        elif found and (command := re.match(r"  ([a-z]\S*) {2,}(\S.*)", line)):
            found[-1][1].append([command[1], command[2]])
        elif found and found[-1][1] and re.match(r" {8,}\S", line):
            found[-1][1][-1][1] += f" {line.strip()}"
    return [(name, commands) for name, commands in found if commands]


def examples(text):
    """The lines below `Examples:`, up to the first empty one. The help wraps lines at WIDTH: a wrapped line is joined again."""
    after = re.search(r"^Examples:\n((?:  .*\n)+)", text, re.M)
    lines, before = [], ""
    for line in after[1].splitlines() if after else []:
        first = line.split(maxsplit=1)[0]
        wrapped = lines and first not in PROGRAMS and len(before) + 1 + len(first) > WIDTH
        if wrapped:
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line.strip())
        before = line
    return lines


def page():
    parts = [INTRODUCTION]
    for name, commands in groups(help_of()):
        parts.append(f"## {name}\n")
        for command, summary in commands:
            if command == "help":
                continue
            parts.append(f"### {command}\n\n{summary}.\n")
            if lines := examples(help_of(command)):
                parts.append("```sh\n" + "\n".join(lines) + "\n```\n")
    return "\n".join(parts)


def main():
    text = page()
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text("utf-8") != text:
            sys.exit("docs/commands.md differs from the help of the tool: run scripts/commands.py")
        return
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()

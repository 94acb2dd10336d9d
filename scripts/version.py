#!/usr/bin/env python3
"""Prints the version of this tree, checks that every file names the same one, or writes another.

    scripts/version.py               prints the version; exit code 1, with a line for each file that names another
    scripts/version.py --set 1.0.0   writes a version into all of them, and into Cargo.lock

Cargo.toml has the version. PLACES lists all other files that name it. The tool, the crate `nc3z`, the Python package and the C library have this
version. The other crates promise nothing, so their version stays below 1: version 1.2.3 is made of parts of version 0.102.3.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NUMBER = r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?"
#: The crates that promise stability; the other members of the workspace are their parts.
STABLE = {"nc3z", "nc3z-cli", "faces/c", "faces/python"}
#: File and pattern. Every match of a pattern is the version of nc3z.
PLACES = [
    ("Cargo.toml", rf'^(?:version = |nc3z = \{{ path = "[^"]+", version = )"({NUMBER})"'),
    ("nc3z-format/src/lib.rs", rf'^        "({NUMBER})"$'),
    ("CITATION.cff", rf"^version: ({NUMBER})$"),
    ("codemeta.json", rf'"version": "({NUMBER})"'),
    ("packaging/conda/recipe.yaml", rf"^  version: ({NUMBER})$"),
    ("packaging/install/install.sh", rf"^version=({NUMBER})$"),
    ("packaging/install/install.ps1", rf"^\$version = '({NUMBER})'$"),
    ("faces/java/pom.xml", rf"<artifactId>nc3z-java</artifactId>\s*<version>({NUMBER})</version>"),
    ("faces/java/netcdf-java/pom.xml", rf"<artifactId>nc3z-[a-z-]+</artifactId>\s*<version>({NUMBER})</version>"),
]
#: The files with the version of the parts, and the pattern that finds it.
PARTS = [("Cargo.toml", rf'^nc3z-[a-z0-9-]* = \{{ path = "[^"]+", version = "({NUMBER})"')]


def places():
    """Yields file and pattern of each place, and whether it names the version of the parts."""
    members = re.search(r"^members = \[(.*)\]$", (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.M)[1]
    parts = [name for name in re.findall(r'"([^"]+)"', members) if name not in STABLE and not name.startswith("scripts/")]
    yield from ((name, pattern, False) for name, pattern in PLACES)
    yield from ((name, pattern, True) for name, pattern in [*PARTS, *((f"{part}/Cargo.toml", rf'^version = "({NUMBER})"$') for part in parts)])


def of_parts(version):
    """Returns the version of the parts: 0.102.3 for 1.2.3."""
    major, minor, rest = version.split(".", 2)
    return f"0.{100 * int(major) + int(minor)}.{rest}"


def wrong(version):
    """Yields a line for each place that names another version than it should."""
    for name, pattern, part in places():
        expected = of_parts(version) if part else version
        versions = re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.M)
        if not versions:
            sys.exit(f"{name}: no version found; the pattern in scripts/version.py no longer fits")
        yield from (f"{name}: {other}, expected {expected}" for other in sorted(set(versions)) if other != expected)


def write(version):
    """Writes `version` into each place."""
    for name, pattern, part in places():
        new = of_parts(version) if part else version
        text = (ROOT / name).read_text(encoding="utf-8")

        def replaced(match, new=new):
            begin, end = (at - match.start() for at in match.span(1))
            return match[0][:begin] + new + match[0][end:]

        (ROOT / name).write_text(re.sub(pattern, replaced, text, flags=re.M), encoding="utf-8")
    subprocess.run(["cargo", "update", "--workspace", "--offline", "--quiet"], cwd=ROOT, check=True)


def main():
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", metavar="VERSION", help="write this version into all files")
    args = parser.parse_args()
    if args.set:
        if not re.fullmatch(NUMBER, args.set):
            parser.error(f"`{args.set}` is not a version; expected MAJOR.MINOR.PATCH")
        write(args.set)
    version = re.search(PLACES[0][1], (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.M)[1]
    lines = list(wrong(version))
    print("\n".join(lines) or version)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

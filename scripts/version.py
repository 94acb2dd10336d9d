#!/usr/bin/env python3
"""Prints the version of this tree, checks that every file names the same one, or writes another.

    scripts/version.py               prints the version; exit code 1, with a line for each file that names another
    scripts/version.py --set 1.0.0   writes a version into all of them, and into Cargo.lock

Cargo.toml has the version. PLACES lists all other files that name it.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NUMBER = r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?"
#: File and pattern. Every match of a pattern is the version of nc3z.
PLACES = [
    ("Cargo.toml", rf'^(?:version = |nc3z[a-z0-9-]* = \{{ path = "[^"]+", version = )"({NUMBER})"'),
    ("CITATION.cff", rf"^version: ({NUMBER})$"),
    ("codemeta.json", rf'"version": "({NUMBER})"'),
    ("packaging/conda/recipe.yaml", rf"^  version: ({NUMBER})$"),
    ("faces/java/pom.xml", rf"<artifactId>nc3z-java</artifactId>\s*<version>({NUMBER})</version>"),
    ("faces/java/netcdf-java/pom.xml", rf"<artifactId>nc3z-[a-z-]+</artifactId>\s*<version>({NUMBER})</version>"),
]


def found():
    """Yields each file with the versions that it names."""
    for name, pattern in PLACES:
        versions = re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.M)
        if not versions:
            sys.exit(f"{name}: no version found; the pattern in scripts/version.py no longer fits")
        yield name, versions


def write(version):
    """Writes `version` into each file."""
    for name, pattern in PLACES:
        text = (ROOT / name).read_text(encoding="utf-8")

        def replaced(match):
            begin, end = (at - match.start() for at in match.span(1))
            return match[0][:begin] + version + match[0][end:]

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
    versions = dict(found())
    wanted = versions["Cargo.toml"][0]
    wrong = [f"{name}: {other}, expected {wanted}" for name, others in versions.items() for other in sorted(set(others)) if other != wanted]
    print(wanted if not wrong else "\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

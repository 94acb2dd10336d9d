#!/usr/bin/env python3
"""Writes what of the specification follows from the rest of it: the contents in spec/README.md, examples and their dumps.

    spec.py [--check]      --check compares instead, and ends with 1 where something is not as it should be
"""

import argparse
import re
import sys
from pathlib import Path

from spec_examples import examples

SPEC = Path(__file__).resolve().parent.parent / "spec"
CHAPTERS = ["archive", "chains", "num", "pco", "classic", "examples", "conformance", "parity", "catalogue", "digest", "proof", "quantize", "compatibility", "errata"]
MARK = "## Chapters\n"
FILES = {
    "dictionary/": "the zstd dictionaries of heads and sections, and the programs that made them (`archive.md`, *Dictionary*)",
    "editions/": "what an archive of an edition may hold, as data (`compatibility.md`, section 3)",
    "reference/": "a decoder in plain Python, which restores, probes, digests, mends and checks proofs by this text; `nc3z_ref.py restore ARCHIVE -o FILE`",
    "vectors/": "encoded bytes and their decoded form, for `num.md`, `chains.md`, `quantize.md` and `digest.md`; `vectors/README.md` describes them",
    "magic": "an entry for file(1)",
}


def anchor(title):
    """The anchor of a heading, as GitHub and MkDocs make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def headings(text):
    """Level and title of each heading outside of code."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    return [(len(found[1]), found[2]) for found in re.finditer(r"^(#{1,2}) (.+)$", text, flags=re.M)]


def contents():
    out = []
    for name in CHAPTERS:
        (_, chapter), *sections = headings((SPEC / f"{name}.md").read_text())
        links = [f"[{title}]({name}.md#{anchor(title)})" for _, title in sections]
        out.append(f"* [{chapter}]({name}.md)" + (": " if links else "") + " · ".join(links))
    out += ["", "## Other files", "", "| file | purpose |", "|---|---|"]
    out += [f"| `{name}` | {purpose} |" for name, purpose in FILES.items()]
    return "\n".join(out) + "\n"


def index():
    path = SPEC / "README.md"
    before, mark, _ = path.read_text().partition(MARK)
    return {path: f"{before}{mark}\n{contents()}".encode()}


def main():
    parser = argparse.ArgumentParser(description="parts of the specification that follow from others")
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    # The contents last: they have the examples' headings.
    for make in (examples, index):
        for path, data in make().items():
            if not path.exists() or path.read_bytes() != data:
                stale.append(path)
                if not check:
                    path.parent.mkdir(exist_ok=True)
                    path.write_bytes(data)
    for path in stale:
        print(f"{path.relative_to(SPEC.parent)}: {'is stale; run scripts/spec.py' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())

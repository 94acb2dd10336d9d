#!/usr/bin/env python3
"""Writes docs/api/names.md: the public names of the tool, of Python, Rust and C, and the keys of JSON, side by side.

    NC3Z=target/debug/nc3z scripts/names.py            write the page
    NC3Z=target/debug/nc3z scripts/names.py --check    fail if the page is not up to date, or an idea has a second word

Names are compared without the parts that a language adds: `nc3z_read_original`, `Dataset::read_original` and
`Dataset.read_original` are one name. A name in one column alone is listed below the table.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/api/names.md"
FACES = ("tool", "Python", "Rust", "C", "JSON")
# The word for an idea, what it means, and the words that no face may use for it.
WORDS = (
    ("tile", "a part of an array that is compressed on its own", {"block_size", "chunk_size"}),
    ("version", "a state of the file in an archive", {"generation", "revision"}),
    ("attr", "edit attributes", {"att"}),
    ("prune", "drop versions", {"gc", "collect_garbage"}),
    ("catalog", "statistics and headers of many files in one small file", {"shadow", "shadows", "index"}),
    ("on_tape", "what to do with files that have no data on disk", {"offline"}),
    ("versions", "the list of an archive's versions", {"history"}),
    ("explain", "the cost of a read, without reading", set()),
    ("layout", "the place of each byte, and the arrangement of tiles", set()),
    ("verify", "check bytes, of an archive or after writing one; a proof is of a slice", {"prove", "proven", "is_proven", "unproven", "unproven_versions"}),
    ("force", "replace a file that exists", {"overwrite", "clobber"}),
    ("move_tag", "give a tag to another version", set()),
    ("allow_unrelated", "commit a file that has none of the variables", set()),
)
# Names that look like a second word, and are another idea.
OTHER_IDEAS = {
    "JSON": {"index", "generation"},  # `info --layout` shows structures of the format: index pages, and the generation of a block.
    "Rust": {"index"},  # `Index` is the item of a request for one dimension.
}

PREAMBLE = """\
# Names side by side

The public names of all faces: commands and options of the tool, functions, methods and keyword arguments of Python, items of the crate `nc3z`, functions
and fields of the C library, keys of the tool's JSON. `scripts/names.py` writes this page, and a test checks it.
"""


def tool():
    """Commands and long options."""
    found = {}
    for command in re.findall(r"^  ([a-z]\S*) {2,}\S", help_of(), re.M):
        if command == "help":
            continue
        found.setdefault(key_of(command), set()).add(f"`{command}`")
        text = help_of(command)
        for sub in re.findall(r"^  ([a-z]\S*)  +\S", section(text, "Commands:"), re.M):
            if sub != "help":
                found.setdefault(key_of(sub), set()).add(f"`{command} {sub}`")
                text += help_of(command, sub)
        for option in re.findall(r"^ {2,}(?:-\S, )?--([a-z][a-z-]+)", text, re.M):
            if option not in ("help", "version"):
                found.setdefault(key_of(option), set()).add(f"`--{option}`")
    return found


def section(text, heading):
    return text.partition(heading)[2].partition("\n\n")[0]


def help_of(*command):
    done = subprocess.run([os.environ["NC3Z"], *command, "--help-all"], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "100"})
    return done.stdout


def python():
    """Functions, classes, methods and keyword arguments of the package, from its sources."""
    package = ROOT / "faces/python/python/nc3z"
    public = set()
    for module in ("__init__.py", "dask.py", "xarray.py", "zarr.py", "icechunk.py", "virtualizarr.py"):
        for node in ast.parse((package / module).read_text("utf-8")).body:
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
                public |= set(ast.literal_eval(node.value))
    found = {}

    def add(name, shown):
        if not name.startswith("_"):
            found.setdefault(key_of(name), set()).add(f"`{shown}`")

    def function(node, shown):
        add(node.name, f"{shown}()")
        for argument in node.args.kwonlyargs:
            add(argument.arg, f"{argument.arg}=")

    for path in sorted(package.glob("*.py*")):
        for node in ast.parse(path.read_text("utf-8")).body:
            name = getattr(node, "name", "")
            if name not in public:
                continue
            if isinstance(node, ast.FunctionDef):
                function(node, name)
            elif isinstance(node, ast.ClassDef):
                add(name, name)
                for part in node.body:
                    if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
                        function(part, f"{name}.{part.name}")
                    elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                        add(part.target.id, f"{name}.{part.target.id}")
    return found


def rust():
    """Items of docs/api/nc3z.txt."""
    found = {}
    for line in (ROOT / "docs/api/nc3z.txt").read_text("utf-8").splitlines():
        if line.startswith("impl"):
            continue
        match = re.match(r"(?:#\[\w+\] )?pub (?:const |unsafe )*(?:fn |struct |enum |trait |use |type |static )?nc3z::([\w:]+)", line)
        if not match:
            continue
        shown = match[1]
        name = shown.rsplit("::", 1)[-1]
        if name in ("from", "fmt", "eq", "clone", "default", "hash", "source", "borrow", "into", "try_from", "drop"):
            continue
        found.setdefault(key_of(re.sub(r"^with_", "", name)), set()).add(f"`{shown}`")
    return found


def c():
    """Functions and fields of nc3z.h."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "faces/c/include/nc3z.h").read_text("utf-8"), flags=re.S)
    found = {}
    for name in re.findall(r"\bnc3z_(\w+)\(", text):
        found.setdefault(key_of(name), set()).add(f"`nc3z_{name}`")
    for struct, body in re.findall(r"typedef struct nc3z_(\w+) \{(.*?)\}", text, re.S):
        for name in re.findall(r"(?:\*|\s)(\w+);", body):
            if name not in ("size", "reserved", "reserved2"):
                found.setdefault(key_of(name), set()).add(f"`{struct}.{name}`")
    return found


# Commands whose JSON has the keys; A is an archive with two versions, D a directory with it.
REPORTS = (
    ("info", "--versions", "A"),
    ("info", "--layout", "A"),
    ("read", "--explain", "A", "SST", "-d", "TIME,0"),
    ("verify", "--deep", "A"),
    ("log", "A"),
    ("hash", "A"),
    ("list", "D"),
    ("find", "SST", "D"),
    ("stats", "A"),
    ("diff", "A@1", "A"),
    ("parity", "info", "A"),
)
# Their children are named by the content of the file.
NAMED_BY_CONTENT = {"attributes", "attribute_values", "options", "dimensions", "shape", "chunk", "extra"}


def json_keys():
    """Keys of the reports of an archive."""
    found = {}

    def walk(value, command):
        if isinstance(value, list):
            for part in value:
                walk(part, command)
        elif isinstance(value, dict):
            for name, part in value.items():
                if re.fullmatch(r"[a-z][a-z0-9_]*", name):
                    found.setdefault(key_of(name), set()).add(f"`{name}` ({command})")
                if name not in NAMED_BY_CONTENT or isinstance(part, list):
                    walk(part, command)

    with tempfile.TemporaryDirectory() as work:
        run = lambda *words: subprocess.run([os.environ["NC3Z"], *words], cwd=work, capture_output=True, text=True, check=False)
        Path(work, "D").mkdir()
        run("archive", str(ROOT / "testdata/classic/coads_climatology.cdf"), "-o", "A", "--preset", "fast")
        run("attr", "A", "SST:units=degC", "-m", "units")
        run("parity", "add", "A")
        Path(work, "D/a.nc3z").write_bytes(Path(work, "A").read_bytes())
        for words in REPORTS:
            done = run(*words, "--json")
            command = words[0] + (f" {words[1]}" if words[1].startswith("--") or words[0] == "parity" else "")
            walk(json.loads(done.stdout), command)
    return {name: {one_of(shown)} for name, shown in found.items()}


def one_of(shown):
    """The key with the commands that have it."""
    name = next(iter(sorted(shown))).partition(" ")[0]
    commands = sorted({text.partition("(")[2].rstrip(")") for text in shown})
    return f"{name} ({', '.join(commands[:3])}{', …' if len(commands) > 3 else ''})"


def key_of(name):
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_")
    return re.sub(r"_(nbytes|bytes)$", "_len", name)


def shown(names):
    names = sorted(names)
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def page(faces):
    keys = sorted(set().union(*faces.values()))
    rows = [(key, [faces[face].get(key, set()) for face in FACES]) for key in keys]
    lines = [PREAMBLE, "## Words\n", "| word | meaning |", "|---|---|"]
    lines += [f"| {word} | {meaning} |" for word, meaning, _ in WORDS]
    lines += ["\n## In several faces\n", "| name | " + " | ".join(FACES) + " |", "|---" * (len(FACES) + 1) + "|"]
    lines += [f"| {key} | " + " | ".join(shown(names) for names in row) + " |" for key, row in rows if sum(map(bool, row)) > 1]
    for number, face in enumerate(FACES):
        only = [shown(row[number]) for _, row in rows if row[number] and sum(map(bool, row)) == 1]
        lines += [f"\n## {face} alone\n", ", ".join(only) + "."]
    return "\n".join(lines) + "\n"


def second_words(faces):
    """Names that a word of the table replaces."""
    for word, _, others in WORDS:
        for face, names in faces.items():
            for other in others & set(names) - OTHER_IDEAS.get(face, set()):
                yield f"{face}: {shown(names[other])} instead of `{word}`"


def main():
    faces = dict(zip(FACES, (tool(), python(), rust(), c(), json_keys()), strict=True))
    if faults := list(second_words(faces)):
        sys.exit("\n".join(faults))
    text = page(faces)
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text("utf-8") != text:
            sys.exit("docs/api/names.md is not up to date: run scripts/names.py")
        return
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()

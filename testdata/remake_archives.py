#!/usr/bin/env python3
"""Makes the archives of testdata/archives anew after a change of the format.

    remake_archives.py OLD NEW [NAME]...

OLD is the tool that wrote the archives, NEW the tool of this tree. Each version that OLD restores is archived, or committed, by NEW, with
the options below. The new archive takes the place of the old one if NEW restores the same bytes and the reference decoder does too.
Archives that are not listed are made otherwise: testdata/README.md says how.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ARCHIVES = HERE / "archives/v0_1_0"
REFERENCE = HERE.parent / "spec/reference/nc3z_ref.py"

#: Options of `nc3z archive`, by the archive's name.
OPTIONS = {
    "beside.default": ["--tile-size", "64KiB"],
    "beside.max": ["--preset", "max"],
    "components.default": [],
    "numeric.chunked": ["--tile", "t=3,y=10,x=16"],
    "numeric.default": [],
    "numeric.fast": ["--preset", "fast"],
    "numeric.later": [],
    "numeric.lossy": ["--quantize", "tenths=bitround:9"],
    "numeric.max": ["--preset", "max"],
    "numeric.rooted": ["--digest", "md5"],
    "references.default": ["--tile-size", "64KiB"],
    "references.short": [],
    "smooth.chunked": ["--tile", "t=2,y=13,x=44"],
    "smooth.default": [],
    "smooth.max": ["--preset", "max"],
    "smooth.later": [],
    "states.later": ["--tile-size", "800"],
    "winds.default": [],
    "winds.max": ["--preset", "max"],
}
#: Archives in the long form, though their content would fit the short one.
LONG = {"beside.default", "references.default"}
#: Of these the file that was archived is in `classic`: the archive holds another one, or digests that a restored file has not.
LOSSY = {"numeric.lossy": "numeric.nc"}


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.decode()}")
    return done.stdout


def versions(old, archive):
    """Numbers, messages and tags of the versions, the oldest first."""
    text = run(old, "log", archive).decode()
    found = []
    for part in re.split(r"^(?=version \d)", text, flags=re.M):
        if head := re.match(r"version (\d+)(?: \((.*)\))?\n", part):
            message = "\n".join(line.strip() for line in part.splitlines() if line.startswith("    "))
            found.append((int(head[1]), message, head[2]))
    return sorted(found)


def remake(old, new, name, folder):
    archive, made = ARCHIVES / f"{name}.nc3z", folder / f"{name}.nc3z"
    for number, message, tag in versions(old, archive):
        file = folder / f"{name}.{number}.nc"
        file.write_bytes((HERE / "classic" / LOSSY[name]).read_bytes() if name in LOSSY else run(old, "restore", f"{archive}@{number}", "-o", "-"))
        if number == 1:
            run(new, "archive", *OPTIONS[name], file, "-o", made)
        else:
            run(new, "commit", "--force", made, file, *(["-m", message] if message else []))
        if tag:
            run(new, "tag", "--version", number, made, tag)
    if name in LONG:
        run(new, "prune", "--force", made, "-o", f"{made}.long")
        Path(f"{made}.long").rename(made)
    if name not in LOSSY:
        for number, _, _ in versions(old, archive):
            assert run(new, "restore", f"{made}@{number}", "-o", "-") == (folder / f"{name}.{number}.nc").read_bytes(), name
    restored = folder / f"{name}.reference.nc"
    run(sys.executable, REFERENCE, "restore", made, "-o", restored)
    digest = hashlib.sha256(restored.read_bytes()).hexdigest()
    said = ARCHIVES / f"{name}.nc3z.sha256"
    before, rest = said.read_text().split(maxsplit=1)
    print(f"{name}: {archive.stat().st_size} -> {made.stat().st_size} bytes{'' if digest == before else ', another file'}")
    said.write_text(f"{digest}  {rest}")
    archive.write_bytes(made.read_bytes())


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    old, new, *names = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for name in names or OPTIONS:
            remake(old, new, name, Path(folder))


if __name__ == "__main__":
    main()

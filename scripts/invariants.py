#!/usr/bin/env python3
"""Checks rules for every classic file below the given directories: it is archived with proof, restored to the same bytes,
sound when checked deeply, of one content digest as file and as archive; its archive is the same with one thread as with several, and at
most a little larger than the file. One line for each failure; exit code 1 if there was one.

    NC3Z=target/release/nc3z python scripts/invariants.py DIRECTORY... [--preset fast --preset default] [--jobs N]
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NC3Z = str(Path(os.environ.get("NC3Z") or ROOT / "target/release/nc3z").resolve())
# The bytes that an archive may add to the file: sections, and a few bytes for each variable.
OVERHEAD = 4096


class Broken(Exception):
    """An invariant does not hold."""


def run(*args, expect=0):
    done = subprocess.run([NC3Z, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != expect:
        raise Broken(f"nc3z {args[0]}: exit code {done.returncode}: {done.stderr.decode('utf-8', 'replace').strip()[-300:]}")
    return done.stdout


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while chunk := f.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def content_digest(path):
    line = run("hash", "--only", "content", path).decode("utf-8", "replace").strip()
    return line.rsplit(" ", 1)[-1]


def check(path, presets):
    with tempfile.TemporaryDirectory(prefix="nc3z-invariants-") as work:
        archive, single, back = Path(work, "a.nc3z"), Path(work, "b.nc3z"), Path(work, "back")
        for preset in presets:
            run("archive", "--force", "--preset", preset, path, "-o", archive)
            run("archive", "--force", "--no-verify", "--threads", 1, "--preset", preset, path, "-o", single)
            if archive.read_bytes() != single.read_bytes():
                raise Broken(f"{preset}: another archive with one thread")
            size, limit = archive.stat().st_size, path.stat().st_size
            if size > limit + limit // 50 + OVERHEAD:
                raise Broken(f"{preset}: {size} bytes for {limit}")
            run("restore", "--force", archive, "-o", back)
            if sha256(back) != sha256(path):
                raise Broken(f"{preset}: restored to other bytes")
            run("verify", "--deep", archive, "--against", path)
            if content_digest(archive) != content_digest(path):
                raise Broken(f"{preset}: the content digests differ")
            run("info", "--json", archive)
    return path.stat().st_size


def is_classic(path):
    with open(path, "rb") as f:
        return f.read(4) in (b"CDF\x01", b"CDF\x02", b"CDF\x05")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--preset", action="append", help="[default: fast and default]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    files = sorted({p for d in args.directories for p in d.rglob("*") if p.is_file() and not p.is_symlink() and is_classic(p)})
    presets = args.preset or ["fast", "default"]
    failed, total, refused = 0, 0, 0

    def one(path):
        # Files that are refused as not classic are skipped, whatever their first bytes are.
        done = subprocess.run([NC3Z, "info", str(path)], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return check(path, presets) if done.returncode == 0 else None

    with ThreadPoolExecutor(args.jobs) as pool:
        for path, future in [(p, pool.submit(one, p)) for p in files]:
            try:
                size = future.result()
                total += size or 0
                refused += size is None
            except (Broken, OSError) as e:
                failed += 1
                print(f"{path}: {e}", flush=True)
    print(f"{len(files)} files, {refused} refused, {total} bytes, presets {', '.join(presets)}: {failed} failed")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())

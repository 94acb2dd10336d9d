#!/usr/bin/env python3
"""Chains of real edits, committed one after another, beside the same files in git, borg, restic, and chains of zstd and xdelta3 patches.

    bench/versions.py --nc3z target/release/nc3z [--chains 50] [--edits 10] [--seed 1] [--most BYTES] [--json OUT] FILE...

Every chain takes one of the files (of at most --most bytes, or its first records and rows) through --edits edits by NCO, picked at random: attributes, names, one value, a map, a box, a
record more, a variable dropped, copied or brought back, an older state. Each version must come back to the byte. Tools that are not there are left out of the table. Sizes are exact; each tool
stores all versions of all chains, borg and restic each chain in a repository of its own, as an archivist would keep one object.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import netCDF4


def run(*args, **options):
    return subprocess.run([str(a) for a in args], check=True, capture_output=True, **options)


def try_run(*args):
    return subprocess.run([str(a) for a in args], check=False, capture_output=True).returncode == 0


def describe(path):
    with netCDF4.Dataset(path) as d:
        record = next((n for n, x in d.dimensions.items() if x.isunlimited()), None)
        variables = {
            n: [(x, len(d.dimensions[x])) for x in v.dimensions]
            for n, v in d.variables.items()
            if v.dtype.kind in "fi" and v.dtype.itemsize >= 2 and v.size > 1 and n.isidentifier() and n not in d.dimensions
        }
        return record, (len(d.dimensions[record]) if record else 0), variables, list(d.variables)


def edits(rng, before, after, history, work):
    """One edit; false where the file does not have what it needs."""
    record, records, variables, names = describe(before)
    kind = rng.choice(["attribute", "comment", "rename", "value", "map", "box", "record", "drop", "copy", "older", "scale", "values"])
    if not variables:
        kind = rng.choice(["attribute", "comment", "older"])
    name = rng.choice(sorted(variables)) if variables else None
    dims = variables.get(name, [])
    if kind == "attribute":
        return try_run("ncatted", "-O", "-h", "-a", f"units,{name or 'global'},o,c,unit {rng.randrange(10**6)}", before, after)
    if kind == "comment":
        words = " ".join(rng.choice(["corrected", "by", "the", "archive", "on", "request", "of", "its", "owner"]) for _ in range(rng.randrange(3, 30)))
        return try_run("ncatted", "-O", "-h", "-a", f"comment,global,o,c,{words}", before, after)
    if kind == "rename":
        return try_run("ncrename", "-O", "-h", "-v", f"{name},v{rng.randrange(10**6)}", before, after)
    at = [rng.randrange(n) for _, n in dims]
    if kind == "value":
        return try_run("ncap2", "-O", "-h", "-s", f"{name}({','.join(map(str, at))})=7", before, after)
    if kind == "values":
        index = ",".join("::20" if i == len(dims) - 1 else ":" for i in range(len(dims)))
        return try_run("ncap2", "-O", "-h", "-s", f"{name}({index})={name}({index})+1", before, after)
    if kind == "map":
        index = ",".join(str(a) if i == 0 and len(dims) > 1 else ":" for i, a in enumerate(at))
        return try_run("ncap2", "-O", "-h", "-s", f"{name}({index})={name}({index})+1", before, after)
    if kind == "box":
        index = ",".join(f"{n // 3}:{n // 2}" for _, n in dims)
        return try_run("ncap2", "-O", "-h", "-s", f"{name}({index})={name}({index})*2", before, after)
    if kind == "scale":
        return rng.random() < 0.3 and try_run("ncap2", "-O", "-h", "-s", f"{name}={name}+1", before, after)
    if kind == "record":
        one = work / "one.nc"
        return bool(records) and try_run("ncks", "-O", "-h", "-d", f"{record},{rng.randrange(records)}", before, one) and try_run("ncrcat", "-O", "-h", before, one, after)
    if kind == "drop":
        return len(names) > 3 and try_run("ncks", "-O", "-h", "-x", "-v", name, before, after)
    if kind == "copy":
        one, new = work / "copy.nc", f"c{rng.randrange(10**6)}"
        shutil.copyfile(before, after)
        return try_run("ncks", "-O", "-h", "-C", "-v", name, before, one) and try_run("ncrename", "-h", "-v", f"{name},{new}", one) and try_run("ncks", "-A", "-h", "-C", "-v", new, one, after)
    shutil.copyfile(rng.choice(history), after)
    return len(history) > 1


def make_chain(rng, source, count, most, folder):
    folder.mkdir(parents=True)
    first = folder / "v00.nc"
    shutil.copyfile(source, first)
    if first.stat().st_size > most:
        with netCDF4.Dataset(source) as d:
            longest = max(d.dimensions.items(), key=lambda x: len(x[1]))
            keep = max(1, len(longest[1]) * most // first.stat().st_size)
        run("ncks", "-O", "-h", "-d", f"{longest[0]},0,{keep - 1}", source, first)
    files = [first]
    for _ in range(count * 20):
        if len(files) > count:
            break
        after = folder / f"v{len(files):02}.nc"
        if edits(rng, files[-1], after, files, folder.parent) and after.exists() and after.stat().st_size < 4 * most:
            files.append(after)
        else:
            after.unlink(missing_ok=True)
        for leftover in folder.glob("*.tmp"):
            leftover.unlink()
    return files


def sha(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def size(path):
    return sum(p.stat().st_size for p in Path(path).rglob("*") if p.is_file())


def nc3z(tool, files, work):
    archive = work / "a.nc3z"
    run(tool, "archive", "--force", files[0], "-o", archive)
    numbers = []
    for file in files[1:]:
        run(tool, "commit", archive, file)
    listed = json.loads(run(tool, "log", "--json", archive).stdout)["versions"]
    by_sha = {v["sha256"]: v["version"] for v in listed}
    for file in files:
        numbers.append(by_sha[sha(file)])
        run(tool, "restore", "--force", archive, "--version", numbers[-1], "-o", work / "back.nc")
        if sha(work / "back.nc") != sha(file):
            sys.exit(f"{file}: version {numbers[-1]} is not what was committed")
    return archive.stat().st_size


def git(files, work):
    repository = work / "git"
    run("git", "init", "-q", repository)
    for n, file in enumerate(files):
        shutil.copyfile(file, repository / "file.nc")
        run("git", "-C", repository, "add", "file.nc")
        run("git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", f"edit {n}")
    run("git", "-C", repository, "gc", "-q", "--aggressive", "--prune=now")
    return sum(p.stat().st_size for p in (repository / ".git/objects/pack").glob("*"))


def borg(files, work):
    env = dict(os.environ, BORG_BASE_DIR=str(work / "borg-base"), BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK="yes", BORG_RELOCATED_REPO_ACCESS_IS_OK="yes")
    repository = work / "borg"
    run("borg", "init", "-e", "none", repository, env=env)
    for n, file in enumerate(files):
        shutil.copyfile(file, work / "file.nc")
        run("borg", "create", "-C", "zstd,19", "--chunker-params", "10,23,16,4095", f"{repository}::v{n}", "file.nc", env=env, cwd=work)
    return size(repository)


def restic(files, work):
    env = dict(os.environ, RESTIC_PASSWORD="a", RESTIC_CACHE_DIR=str(work / "restic-cache"))
    repository = work / "restic"
    run("restic", "init", "-r", repository, "--repository-version", "2", env=env)
    for file in files:
        shutil.copyfile(file, work / "file.nc")
        run("restic", "backup", "-r", repository, "--compression", "max", "file.nc", env=env, cwd=work)
    return size(repository)


def zstd_each(files, work):
    return sum(len(run("zstd", "-19", "-c", file).stdout) for file in files)


def patch_from(files, work):
    total = len(run("zstd", "-19", "-c", files[0]).stdout)
    for before, after in zip(files, files[1:]):
        total += len(run("zstd", "-19", "--long=27", f"--patch-from={before}", "-c", after).stdout)
    return total


def xdelta(files, work):
    total = len(run("zstd", "-19", "-c", files[0]).stdout)
    for before, after in zip(files, files[1:]):
        run("xdelta3", "-f", "-9", "-S", "lzma", "-e", "-s", before, after, work / "x.vcdiff")
        total += (work / "x.vcdiff").stat().st_size
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nc3z", required=True)
    parser.add_argument("--chains", type=int, default=50)
    parser.add_argument("--edits", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=1 << 20)
    parser.add_argument("--json")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    tools = {"full copies": (None, lambda files, work: sum(f.stat().st_size for f in files)), "zstd -19, each": ("zstd", zstd_each), "git gc --aggressive": ("git", git),
             "borg, zstd 19, small chunks": ("borg", borg), "restic, max": ("restic", restic), "zstd -19 + xdelta3 -9 -S lzma": ("xdelta3", xdelta),
             "zstd -19 --patch-from": ("zstd", patch_from), "nc3z commit": (None, lambda files, work: nc3z(args.nc3z, files, work))}
    totals, rows = {}, []
    for n in range(args.chains):
        rng = random.Random(args.seed * 1000 + n)
        source = Path(args.files[n % len(args.files)])
        with tempfile.TemporaryDirectory() as temporary:
            files = make_chain(rng, source, args.edits, args.most, Path(temporary, "chain"))
            row = {"source": source.name, "versions": len(files)}
            for name, (program, measure) in tools.items():
                if program and not shutil.which(program):
                    continue
                work = Path(temporary, name.split(",")[0].replace(" ", "-"))
                work.mkdir()
                row[name] = measure(files, work)
                totals[name] = totals.get(name, 0) + row[name]
        rows.append(row)
        print(json.dumps(row), flush=True)
        if args.json:
            Path(args.json).write_text(json.dumps({"rows": rows, "totals": totals}, indent=1), encoding="utf-8")
    print(f"\n{len(rows)} chains, {sum(r['versions'] for r in rows)} versions, all of them restored to the byte")
    for name, total in sorted(totals.items(), key=lambda item: -item[1]):
        print(f"| {name} | {total:,} | {total / totals['nc3z commit']:.2f} |")


if __name__ == "__main__":
    main()

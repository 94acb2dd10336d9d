#!/usr/bin/env python3
"""Chains of real edits, committed one after another, compared with the same files in git, borg, restic, and chains of zstd and xdelta3 patches.

    bench/versions.py --nc3z target/release/nc3z [--chains 50] [--edits 10] [--seed 1] [--most BYTES] [--keep DIR] [--json OUT] FILE...

Every chain takes one of the files (of at most --most bytes, or its first records and rows) through --edits edits by NCO, picked at random: attributes, names, one value, a map, a box, a
record more (of those that the first version was made without, in their order), a variable dropped, copied or brought back, an older state. Each version must come back to the byte. Tools that
are not there are left out of the table. Sizes are exact; each tool stores all versions of all chains, borg and restic each chain in a repository of its own, as an archivist would keep one
object. With --keep, chains and the peers' sizes are kept in a directory, and only nc3z runs again.
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


def edits(rng, before, after, history, work, whole):
    """One edit: its kind, or nothing if the file lacks something that the edit needs."""
    kind, done = edit(rng, before, after, history, work, whole)
    return kind if done else None


def edit(rng, before, after, history, work, whole):
    record, records, variables, names = describe(before)
    kind = rng.choice(["attribute", "comment", "rename", "value", "map", "box", "record", "drop", "copy", "older", "scale", "values"])
    if not variables:
        kind = rng.choice(["attribute", "comment", "older"])
    name = rng.choice(sorted(variables)) if variables else None
    dims = variables.get(name, [])
    if kind == "attribute":
        return kind, try_run("ncatted", "-O", "-h", "-a", f"units,{name or 'global'},o,c,unit {rng.randrange(10**6)}", before, after)
    if kind == "comment":
        words = " ".join(rng.choice(["corrected", "by", "the", "archive", "on", "request", "of", "its", "owner"]) for _ in range(rng.randrange(3, 30)))
        return kind, try_run("ncatted", "-O", "-h", "-a", f"comment,global,o,c,{words}", before, after)
    if kind == "rename":
        return kind, try_run("ncrename", "-O", "-h", "-v", f"{name},v{rng.randrange(10**6)}", before, after)
    at = [rng.randrange(n) for _, n in dims]
    if kind == "value":
        return kind, try_run("ncap2", "-O", "-h", "-s", f"{name}({','.join(map(str, at))})=7", before, after)
    if kind == "values":
        index = ",".join("::20" if i == len(dims) - 1 else ":" for i in range(len(dims)))
        return kind, try_run("ncap2", "-O", "-h", "-s", f"{name}({index})={name}({index})+1", before, after)
    if kind == "map":
        index = ",".join(str(a) if i == 0 and len(dims) > 1 else ":" for i, a in enumerate(at))
        return kind, try_run("ncap2", "-O", "-h", "-s", f"{name}({index})={name}({index})+1", before, after)
    if kind == "box":
        index = ",".join(f"{n // 3}:{n // 2}" for _, n in dims)
        return kind, try_run("ncap2", "-O", "-h", "-s", f"{name}({index})={name}({index})*2", before, after)
    if kind == "scale":
        return kind, rng.random() < 0.3 and try_run("ncap2", "-O", "-h", "-s", f"{name}={name}+1", before, after)
    if kind == "record":
        # The next record of the whole file, its variables as they were there: not where names or kinds have changed since.
        one, parts = work / "one.nc", ",".join(names)
        ready = bool(records) and records < whole[1] and try_run("ncks", "-O", "-h", "-C", "-v", parts, "-d", f"{record},{records}", whole[0], one)
        return kind, ready and try_run("ncrcat", "-O", "-h", before, one, after)
    if kind == "drop":
        return kind, len(names) > 3 and try_run("ncks", "-O", "-h", "-x", "-v", name, before, after)
    if kind == "copy":
        one, new = work / "copy.nc", f"c{rng.randrange(10**6)}"
        shutil.copyfile(before, after)
        return kind, try_run("ncks", "-O", "-h", "-C", "-v", name, before, one) and try_run("ncrename", "-h", "-v", f"{name},{new}", one) and try_run("ncks", "-A", "-h", "-C", "-v", new, one, after)
    shutil.copyfile(rng.choice(history), after)
    return kind, len(history) > 1


def make_chain(rng, source, count, most, folder):
    """The files of a chain, and the kinds of the edits between them."""
    folder.mkdir(parents=True)
    whole = folder / "whole.nc"
    shutil.copyfile(source, whole)
    if whole.stat().st_size > most:
        with netCDF4.Dataset(source) as d:
            longest = max(d.dimensions.items(), key=lambda x: len(x[1]))
            keep = max(1, len(longest[1]) * most // whole.stat().st_size)
        run("ncks", "-O", "-h", "-d", f"{longest[0]},0,{keep - 1}", source, whole)
    first, (record, records, _, _) = folder / "v00.nc", describe(whole)
    if records >= 8:
        run("ncks", "-O", "-h", "-d", f"{record},0,{records - 1 - min(count, records // 4)}", whole, first)
    else:
        shutil.copyfile(whole, first)
    work = folder / "work"
    work.mkdir()
    files, kinds = [first], []
    for _ in range(count * 20):
        if len(files) > count:
            break
        after = folder / f"v{len(files):02}.nc"
        kind = edits(rng, files[-1], after, files, work, (whole, records))
        if kind and after.exists() and after.stat().st_size < 4 * most and after.read_bytes() != files[-1].read_bytes():
            files.append(after)
            kinds.append(kind)
        else:
            after.unlink(missing_ok=True)
        for leftover in folder.glob("*.tmp"):
            leftover.unlink()
    shutil.rmtree(work)
    return files, kinds


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
    added = [v["added_bytes"] for v in reversed(listed)]
    by_sha = {v["sha256"]: v["version"] for v in listed}
    for file in files:
        numbers.append(by_sha[sha(file)])
        run(tool, "restore", "--force", archive, "--version", numbers[-1], "-o", work / "back.nc")
        if sha(work / "back.nc") != sha(file):
            sys.exit(f"{file}: version {numbers[-1]} is not what was committed")
    return archive.stat().st_size, added


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
    sizes = [len(run("zstd", "-19", "-c", files[0]).stdout)]
    for before, after in zip(files, files[1:]):
        sizes.append(len(run("zstd", "-19", "--long=27", f"--patch-from={before}", "-c", after).stdout))
    return sum(sizes), sizes


def xdelta(files, work):
    total = len(run("zstd", "-19", "-c", files[0]).stdout)
    for before, after in zip(files, files[1:]):
        run("xdelta3", "-f", "-9", "-S", "lzma", "-e", "-s", before, after, work / "x.vcdiff")
        total += (work / "x.vcdiff").stat().st_size
    return total


PEERS = {
    "full copies": (None, lambda files, work: sum(f.stat().st_size for f in files)),
    "zstd -19, each": ("zstd", zstd_each),
    "git gc --aggressive": ("git", git),
    "borg, zstd 19, small chunks": ("borg", borg),
    "restic, max": ("restic", restic),
    "zstd -19 + xdelta3 -9 -S lzma": ("xdelta3", xdelta),
    "zstd -19 --patch-from": ("zstd", patch_from),
}
OURS = "nc3z commit"


def chain_of(args, n, temporary):
    """The files of chain `n` and its record: made now, or from the kept folder."""
    source = Path(args.files[n % len(args.files)])
    folder = Path(args.keep, f"{n:03}-{source.name}") if args.keep else Path(temporary, "chain")
    known = folder / "peers.json"
    if known.exists():
        row = json.loads(known.read_text(encoding="utf-8"))
        return [folder / f"v{v:02}.nc" for v in range(row["versions"])], row, known
    shutil.rmtree(folder, ignore_errors=True)
    files, kinds = make_chain(random.Random(args.seed * 1000 + n), source, args.edits, args.most, folder)
    return files, {"source": source.name, "versions": len(files), "edits": kinds, "sizes": {}}, known


def measure(args, n):
    with tempfile.TemporaryDirectory() as temporary:
        files, row, known = chain_of(args, n, temporary)
        for name, (program, peer) in PEERS.items():
            if name in row["sizes"] or program and not shutil.which(program):
                continue
            work = Path(temporary, name.split(",")[0].replace(" ", "-"))
            work.mkdir()
            found = peer(files, work)
            row["sizes"][name], *each = found if isinstance(found, tuple) else (found,)
            if each:
                row.setdefault("each", {})[name] = each[0]
        if args.keep:
            known.write_text(json.dumps(row, indent=1), encoding="utf-8")
        if args.nc3z:
            work = Path(temporary, "nc3z")
            work.mkdir()
            row["sizes"][OURS], row.setdefault("each", {})[OURS] = nc3z(args.nc3z, files, work)
        return row


def table(rows):
    totals = {}
    for row in rows:
        for name, size in row["sizes"].items():
            totals[name] = totals.get(name, 0) + size
    ours = totals.get(OURS)
    yield f"{len(rows)} chains, {sum(r['versions'] for r in rows)} versions" + (", all of them restored to the byte" if ours else "")
    for name, total in sorted(totals.items(), key=lambda item: -item[1]):
        smaller = sum(row["sizes"][OURS] < row["sizes"][name] for row in rows) if ours else 0
        yield f"| {name} | {total:,} | {total / (ours or 1):.2f} | {smaller} |"
    kinds, names = {}, [OURS, "zstd -19 --patch-from"]
    for row in rows:
        if all(name in row.get("each", {}) for name in names):
            for at, kind in enumerate(["first version", *row["edits"]]):
                count = kinds.setdefault(kind, [0] * (len(names) + 1))
                count[0] += 1
                for i, name in enumerate(names, 1):
                    count[i] += row["each"][name][at]
    for kind, (count, *sizes) in sorted(kinds.items(), key=lambda item: -item[1][1]):
        yield f"| {kind} | {count} | " + " | ".join(f"{size:,}" for size in sizes) + " |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nc3z", help="the tool; without it only the peers run")
    parser.add_argument("--chains", type=int, default=50)
    parser.add_argument("--edits", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=1 << 20)
    parser.add_argument("--keep")
    parser.add_argument("--json")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    rows = []
    for n in range(args.chains):
        rows.append(measure(args, n))
        print(json.dumps({key: rows[-1][key] for key in ("source", "versions", "sizes")}), flush=True)
        if args.json:
            Path(args.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print()
    for line in table(rows):
        print(line)


if __name__ == "__main__":
    main()

"""Whole files: bytes stored, time to store and to bring back, memory, of nc3z and every peer."""
import os
import shutil
import sys
import tempfile

from nc3zbench import child, corpus
from nc3zbench.store import run

# name: (store, fetch, extension); {kind} is nccopy's name of the original's format.
COMMANDS = {
    "gzip -6": ("gzip -6 -c {src} >{out}", "gzip -dc {out} >{back}", ".gz"),
    "xz -9e": ("xz -9e -T1 -c {src} >{out}", "xz -dc {out} >{back}", ".xz"),
    "zstd -19 --long=27": ("zstd -q -f -19 --long=27 --single-thread {src} -o {out}",
                           "zstd -q -f -d --long=27 {out} -o {back}", ".zst"),
    "zpaq -m5": ("zpaq add {out} {src} -m5 -t1", "zpaq extract {out} {src} -to {back} -force -t1", ".zpaq"),
    "nccopy -d1 -s": ("nccopy -d1 -s {src} {out}", "nccopy -k {kind} {out} {back}", ".nc4"),
    "nccopy -d5 -s": ("nccopy -d5 -s {src} {out}", "nccopy -k {kind} {out} {back}", ".nc4"),
}
ARRAYS = ["fpzip", "pcodec 8", "pcodec 12", "hdf5 shuffle+zstd 19", "blosc2 bytedelta+zstd 9", "blosc2 bitshuffle+zstd 9",
          "zarr3 shuffle+zstd 9", "openzl", "openzl searched"]
PRESETS = ["fast", "default", "max"]
LIMITS = {"cp": ("cp --reflink=never {src} {out}", "cat {out} >/dev/null", ".copy"),
          "sha256sum": ("sha256sum {src} >{out}", "true", ".sum")}


def nc3z_command(binary, preset, threads=1):
    return (f"{binary} archive --preset {preset} --threads {threads} --force {{src}} -o {{out}}",
            f"{binary} restore --threads {threads} --force {{out}} -o {{back}}", ".nc3z")


def by_command(commands, path, reps, exact):
    """Stores and fetches one file by shell commands in memory; `exact` ones must give the file back."""
    folder = tempfile.mkdtemp(dir="/dev/shm", prefix="nc3zbench-")
    try:
        store, fetch, extension = commands
        src = shutil.copy(path, folder + "/src.nc")
        place = dict(src=src, out=f"{folder}/x{extension}", back=folder + "/back.nc", kind=corpus.kind(path))
        stored = child.best(1, lambda: child.run(store.format(**place))[0])
        fetched = child.best(reps, lambda: child.run(fetch.format(**place))[0])
        if exact and corpus.sha256(place["back"]) != corpus.sha256(src):
            raise child.Failed("the file did not come back as it was")
        return dict(size=os.path.getsize(place["out"]), store=stored, fetch=fetched)
    finally:
        shutil.rmtree(folder)


def by_worker(store, files, mode, peer, reps):
    """Runs one array peer over files in one process of its own."""
    if not files:
        return
    folder = tempfile.mkdtemp(dir="/dev/shm", prefix="nc3zbench-")
    worker = child.Worker(sys.executable, [mode, peer, folder + "/x", reps])
    try:
        for path, digest in files:
            store.note(path, digest, peer, lambda: worker.ask(path))
    finally:
        worker.close()
        shutil.rmtree(folder)


def measure(store, files, binary, reps, jobs, only, again):
    """All methods on all files, method by method."""
    commands = [(n, c, n not in LIMITS and not n.startswith("nccopy")) for n, c in {**LIMITS, **COMMANDS}.items()]
    commands += [(f"nc3z {p}", nc3z_command(binary, p), True) for p in PRESETS]
    tasks = []
    for name, command, exact in commands:
        for path, digest in store.missing(files, name, again) if not only or only.search(name) else []:
            tasks.append(lambda n=name, c=command, p=path, d=digest, e=exact:
                         store.note(p, d, n, lambda: by_command(c, p, reps, e)))
    for peer in ARRAYS:
        if not only or only.search(peer):
            tasks.append(lambda n=peer, f=store.missing(files, peer, again): by_worker(store, f, "file", n, reps))
    run(tasks, jobs)

"""Variables by themselves: ratios of each codec, and speeds measured inside its process."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from nc3zbench import arraypeers, child
from nc3zbench.files import by_worker
from nc3zbench.store import run

PEERS = list(arraypeers.ALL)
TYPES = {"int8": "byte", "uint8": "ubyte", "int16": "short", "uint16": "ushort", "int32": "int", "uint32": "uint",
         "int64": "int64", "uint64": "uint64", "float32": "float", "float64": "double"}
EFFORTS = ["fast", "default", "max"]


def stored_by_nc3z(binary, preset, path):
    """Bytes of each variable in a real archive of the whole file: its blocks with their headers and index entries."""
    folder = tempfile.mkdtemp(dir="/dev/shm", prefix="nc3zbench-")
    try:
        out = folder + "/x.nc3z"
        child.run(f"{binary} archive --preset {preset} --threads 1 --no-verify --force '{path}' -o {out}")
        said = json.loads(child.run(f"{binary} info --json {out}")[1])
        return {v["name"]: v["stored_bytes"] for v in said["variables"]}
    finally:
        shutil.rmtree(folder)


def dumps(path, least, folder):
    """Raw native-endian dumps for the example `num_bench`: {variable: FILE:TYPE:DIMS}. Needs numpy, so a process of its own."""
    code = ("import sys, json; from nc3zbench import corpus, variables as v\n"
            "out = {}\n"
            "for n, a in corpus.variables(sys.argv[1], int(sys.argv[2])).items():\n"
            "    if a.dtype.name == 'uint8': continue\n"
            "    f = f'{sys.argv[3]}/{len(out)}.bin'; a.tofile(f)\n"
            "    out[n] = [f, v.TYPES[a.dtype.name], ','.join(map(str, a.shape)), a.nbytes]\n"
            "print(json.dumps(out))")
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    done = subprocess.run([sys.executable, "-c", code, path, str(least), folder], check=True, stdout=subprocess.PIPE,
                          env={**os.environ, "PYTHONPATH": here})
    return json.loads(done.stdout)


def by_nc3z(binary, bench, preset, path, least):
    """Sizes from a real archive, speeds of the numeric codec from `num_bench`, which checks every tile."""
    sizes = stored_by_nc3z(binary, preset, path)
    folder = tempfile.mkdtemp(dir="/dev/shm", prefix="nc3zbench-")
    try:
        result = {}
        for name, (file, kind, dims, raw) in dumps(path, least, folder).items():
            done = dict(raw=raw, size=sizes[name])
            tile = str(4 << 20 if preset == "max" else 1 << 20)
            out = subprocess.run([bench, "--json", "--effort", preset, "--tile", tile, f"{file}:{kind}:{dims}"],
                                 check=True, stdout=subprocess.PIPE).stdout
            speeds = json.loads(out.splitlines()[0])
            done["codec"] = speeds
            result[name] = done
        return dict(variables=result)
    finally:
        shutil.rmtree(folder)


def measure(store, files, binary, bench, least, reps, jobs, only, again):
    """All methods on all files that can hold such a variable."""
    files = [f for f in files if os.path.getsize(f[0]) >= least]
    tasks = []
    for peer in PEERS:
        if not only or only.search(peer):
            missing = store.missing(files, peer, again)
            tasks.append(lambda n=peer, f=missing: by_worker(store, f, f"variables:{least}", n, reps))
    for effort in EFFORTS:
        name = f"nc3z {effort}"
        for path, digest in store.missing(files, name, again) if not only or only.search(name) else []:
            tasks.append(lambda n=name, e=effort, p=path, d=digest:
                         store.note(p, d, n, lambda: by_nc3z(binary, bench, e, p, least)))
    run(tasks, jobs)

#!/usr/bin/env python3
"""Makes proof.json: slices of a small file with their proofs, and ones that prove nothing.

    make_proof.py NC3Z FILE      slices of FILE (testdata/classic/record_padding.nc) by the program
    make_proof.py --check        each proves what it says, by reference/check_proof.py
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "reference"))
import check_proof  # noqa: E402

ERRORS = (check_proof.Refused, ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, check_proof.struct.error)


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout


def vectors(tool, file):
    import nc3z_digest

    with open(file, "rb") as data:
        content, _ = nc3z_digest.Classic(data).digests()
        data.seek(0)
        variables = [v[0].decode() for v in nc3z_digest.Classic(data).variables]
    root = f"nc3z1:{content.hex()}"
    with tempfile.TemporaryDirectory() as folder:
        for ending, what in (("nc", "a classic file"), ("csv", "CSV"), ("npy", "NumPy's format")):
            out = Path(folder) / f"slice.{ending}"
            run(tool, "cite", file, variables[0], "-o", out, *(["--no-coordinates"] if ending == "npy" else []))
            slice_, proof = out.read_bytes(), out.with_name(out.name + ".proof").read_bytes()
            yield {"what": f"a variable as {what}", "root": root, "slice": slice_.hex(), "proof": json.loads(proof), "proven": True}
            yield {"what": f"the same, the last byte of the slice is another: {what}", "root": root, "slice": (slice_[:-2] + bytes([slice_[-2] ^ 1]) + slice_[-1:]).hex(),
                   "proof": json.loads(proof), "proven": False}
            if ending == "nc":
                other = json.loads(proof)
                yield {"what": "the same, against another root", "root": root[:-1] + ("0" if root[-1] != "0" else "1"), "slice": slice_.hex(), "proof": other, "proven": False}
                yield {"what": "the same with a key that proofs have not", "root": root, "slice": slice_.hex(), "proof": {**other, "more": 1}, "proven": False}
                yield {"what": "the same without a node of the path", "root": root, "slice": slice_.hex(), "proof": {**other, "path": other["path"][:-1]}, "proven": False}


def proven(vector):
    try:
        check_proof.check(bytes.fromhex(vector["slice"]), json.dumps(vector["proof"]).encode(), vector["root"])
    except ERRORS:
        return False
    return True


def main():
    path = HERE / "proof.json"
    if "--check" not in sys.argv:
        rows = list(vectors(*sys.argv[1:3]))
        path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    for vector in json.loads(path.read_text()):
        assert proven(vector) == vector["proven"], vector["what"]


if __name__ == "__main__":
    main()

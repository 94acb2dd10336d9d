#!/usr/bin/env python3
"""The reference reader as the runner of the test files calls a decoder: `restore FILE`, `read FILE NAME`. It does not check archives: 64."""

import io
import sys

import nc3z_digest
import nc3z_ref


def main():
    command, path, *names = sys.argv[1:]
    if command not in ("restore", "read"):
        return 64
    try:
        with open(path, "rb") as file:
            archive = nc3z_ref.Archive(file.read())
        original = bytearray(archive.length)
        archive.restore(original)
    except nc3z_ref.Corrupt as error:
        print(f"corrupt: {error}", file=sys.stderr)
        return 3
    except nc3z_ref.Refused as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if command == "read":
        classic = nc3z_digest.Classic(io.BytesIO(original))
        found = [v for v in classic.variables if v[0] == names[0].encode()]
        if not found:
            return 1
        original = b"".join(classic.values(found[0]))
    sys.stdout.buffer.write(original)
    return 0


if __name__ == "__main__":
    sys.exit(main())

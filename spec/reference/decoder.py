#!/usr/bin/env python3
"""The reference reader as the runner of the test files calls a decoder: `restore FILE`, `read FILE NAME`, `member FILE NAME`. It does not check archives: 64."""

import io
import sys

import nc3z_bundle
import nc3z_digest
import nc3z_ref


def values(archive, name, original):
    """The values of the first variable of that name, from its own tiles; of an aliased one from the whole file."""
    archive.put(original, ())
    names = [variable[0] for variable in nc3z_digest.Classic(io.BytesIO(original)).variables]
    if name not in names:
        raise nc3z_ref.Refused(f"no variable {name!r}")
    place = names.index(name)
    own = [id for id in archive.tiles if archive.variable.get(id) == place]
    if own:
        archive.put(original, own)
    else:
        archive.restore(original)
    classic = nc3z_digest.Classic(io.BytesIO(original))
    return b"".join(classic.values(classic.variables[place]))


def main():
    command, path, *names = sys.argv[1:]
    if command not in ("restore", "read", "member"):
        return 64
    try:
        with open(path, "rb") as file:
            data = file.read()
        if command == "member":
            out = nc3z_bundle.restored(nc3z_bundle.Bundle(data).member(names[0]))
        else:
            archive = nc3z_ref.Archive(data)
            out = bytearray(archive.length)
            if command == "restore":
                archive.restore(out)
            else:
                out = values(archive, names[0].encode(), out)
    except nc3z_ref.Corrupt as error:
        print(f"corrupt: {error}", file=sys.stderr)
        return 3
    except nc3z_ref.Refused as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

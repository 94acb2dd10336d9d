"""The places of members in the file of a bundle, by their bytes: those that are stored as they are, are there as they are."""

import json

from common import nc3z

MAGIC = b"\x89NC3Z\r\n\x1a"


def archives(bundle):
    """The places of the archives in a sound bundle, as begin and end: groups, and members that are archives."""
    data = bundle.read_bytes()
    parts = [entry for entry in json.loads(nc3z("verify", "--json", bundle).stdout) if "!/" in entry["archive"] and "blocks" in entry]
    found, at = [], 0
    for part in parts:
        at = data.index(MAGIC, at + 1)
        found.append((at, at + part["stored_bytes"]))
    return found


def names(bundle):
    """The names of the members, in their order."""
    return [entry["name"] for entry in json.loads(nc3z("list", "--json", bundle).stdout)]

"""An input of each kind, for the tests of the tool, the Python package, the C library, the netCDF plug-in and the servers."""

import shutil
import tarfile
import zipfile

from common import CLASSIC, nc3z

SOURCE = CLASSIC / "record_padding.nc"
#: The first numbers of its variable `a`.
FIRST = [0, 1, -32768]
# Kinds of inputs that have the variables of one file.
ARCHIVES = ["archive", "version", "member", "member-version", "url-archive", "url-version", "url-member", "standard-input"]
CLASSICS = ["classic", "member-classic", "packed-member", "url-classic", "url-packed-member"]
AGGREGATIONS = ["aggregation", "url-aggregation"]
BUNDLES = ["bundle", "packed-bundle", "zip", "tar", "url-bundle"]
CATALOGUES = ["catalogue", "url-catalogue"]
OTHERS = ["directory", "hdf5", "text", "none"]
URLS = ["url-archive", "url-version", "url-member", "url-classic", "url-packed-member", "url-aggregation", "url-bundle", "url-catalogue"]
KINDS = ARCHIVES + CLASSICS + AGGREGATIONS + BUNDLES + CATALOGUES + OTHERS


def hdf5(path):
    """The least that identifies an HDF5 file."""
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(504))


def write(place):
    """Writes a file of each kind into a directory; returns their bytes by name, for a server."""

    def tool(*args):
        done = nc3z(*args, cwd=place)
        assert done.returncode == 0, done.stderr

    shutil.copy(SOURCE, place / "a.nc")
    shutil.copy(SOURCE, place / "c.nc")
    (place / "d").mkdir()
    shutil.copy(SOURCE, place / "d/a.nc")
    tool("archive", "-q", "a.nc")
    tool("archive", "-q", "a.nc", "-o", "d/b.nc.nc3z")
    tool("bundle", "d", "-o", "plain.bundle.nc3z")
    tool("bundle", "--pack", "d", "-o", "packed.bundle.nc3z")
    tool("aggregate", "--new-dim", "run", "a.nc", "c.nc", "-o", "aggregation.nc")
    tool("catalog", "d", "-o", "d.catalog.nc3z")
    with zipfile.ZipFile(place / "other.zip", "w") as z:
        z.write(SOURCE, "a.nc")
    with tarfile.open(place / "other.tar", "w") as t:
        t.add(SOURCE, "a.nc")
    hdf5(place / "four.nc")
    (place / "text").write_text("hello, this is no file of numbers\n" * 50)
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def names(server):
    """The name of each kind, in the directory of `write`."""
    found = {
        "archive": "a.nc.nc3z", "version": "a.nc.nc3z@1", "member": "plain.bundle.nc3z!/b.nc.nc3z",
        "member-version": "plain.bundle.nc3z!/b.nc.nc3z@1", "url-archive": server.url("a.nc.nc3z"),
        "url-version": server.url("a.nc.nc3z@1"), "url-member": server.url("plain.bundle.nc3z!/b.nc.nc3z"), "standard-input": "-",
        "classic": "a.nc", "member-classic": "plain.bundle.nc3z!/a.nc", "packed-member": "packed.bundle.nc3z!/a.nc",
        "url-classic": server.url("a.nc"), "url-packed-member": server.url("packed.bundle.nc3z!/a.nc"),
        "aggregation": "aggregation.nc", "url-aggregation": server.url("aggregation.nc"), "bundle": "plain.bundle.nc3z",
        "packed-bundle": "packed.bundle.nc3z", "zip": "other.zip", "tar": "other.tar", "url-bundle": server.url("plain.bundle.nc3z"),
        "catalogue": "d.catalog.nc3z", "url-catalogue": server.url("d.catalog.nc3z"), "directory": "d", "hdf5": "four.nc", "text": "text",
        "none": "none.nc",
    }
    assert sorted(found) == sorted(KINDS)
    return found


#: What `mount` and `serve` show of each kind: names of files, all with the bytes of SOURCE; None where the names are not checked. Or the
#: message of a kind that they do not show.
SHOWN = (
    dict.fromkeys(["archive", "version", "url-archive", "url-version"], ["a.nc"])
    | dict.fromkeys(["member", "member-version", "url-member"], ["b.nc"])
    | {"standard-input": ["input"], "zip": ["a.nc"], "tar": ["a.nc"], "directory": ["a.nc", "b.nc"]}
    | dict.fromkeys(["bundle", "packed-bundle", "url-bundle"], ["a.nc", "b.nc"])
    | dict.fromkeys(CATALOGUES)
    | dict.fromkeys(CLASSICS + AGGREGATIONS, r"not an nc3z archive but a classic netCDF file.*nc3z archive")
    | {"hdf5": r"HDF5 file \(netCDF-4\)", "text": "this is text", "none": "No such file"}
)


class NoServer:
    """In the place of a server, where no kind is a URL."""

    def url(self, name):
        return name

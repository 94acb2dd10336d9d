"""Every entry of the package that takes an input, with every kind of input: the right answer, or an exception that names the kind and what
to call. The tool has tests/test_matrix.py; the other faces have a test of this kind each.

The list of entries comes from the package. An entry without a row fails the test."""

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("NC3Z", str(ROOT / "target/debug/nc3z"))
sys.path.append(str(ROOT / "tests"))
import kinds  # noqa: E402
from kinds import AGGREGATIONS, ARCHIVES, BUNDLES, CATALOGUES, CLASSICS, KINDS, URLS  # noqa: E402
from servers import serve  # noqa: E402

import nc3z  # noqa: E402

BUNDLE = r"UnsupportedError: .*bundle of \d files?; open one of its files as .*nc3z.open_collection"
DIRECTORY = r"IsADirectoryError: .*directory; nc3z.open_collection"
HDF5 = r"UnsupportedError: .*HDF5"
TEXT = r"(Unsupported|Corrupt)Error: .*this is text"
NONE = r"FileNotFoundError: "
CLASSIC_FILE = r"UnsupportedError: .*not an nc3z archive but a classic netCDF file; nc3z.archive"
NO_VARIABLE = r"KeyError: .*(no variable|No variable|not found)"


def row(*read, **words):
    """A row: the kinds that work, and what the exception says for each of the others."""
    cells = dict.fromkeys(BUNDLES, BUNDLE) | dict.fromkeys(CATALOGUES, NO_VARIABLE)
    cells |= {"directory": DIRECTORY, "hdf5": HDF5, "text": TEXT, "none": NONE}
    return cells | {kind.replace("_", "-"): text for kind, text in words.items()} | dict.fromkeys(read)


def a(dataset):
    """Reads the first numbers of variable `a`."""
    found = dataset["a"][(0,) * (dataset["a"].ndim - 1)][:3]
    assert [int(x) for x in getattr(found, "values", found)] == kinds.FIRST, found


def with_xarray(name):
    import xarray

    with xarray.open_dataset(name, engine="nc3z", mask_and_scale=False, decode_times=False) as dataset:
        a(dataset)


def with_collection(name):
    collection = nc3z.open_collection(name, mask_and_scale=False, decode_times=False)
    for group in collection:
        a(collection[group])


def with_zarr(name):
    from nc3z.zarr import Nc3zStore

    import zarr

    a(zarr.open_group(Nc3zStore(name), mode="r", zarr_format=3))


def edited(name):
    with nc3z.open(name, "r+") as edit:
        edit["a"][0, 0] = 3
        edit.commit()


VARIABLES = row(*ARCHIVES, *CLASSICS, *AGGREGATIONS)
ANY_VARIABLE = VARIABLES | dict.fromkeys(CATALOGUES)
ARCHIVE = row(*ARCHIVES, *CATALOGUES, **{k.replace("-", "_"): CLASSIC_FILE for k in CLASSICS + AGGREGATIONS})
ON_DISK = row("archive", "catalogue", classic=CLASSIC_FILE, aggregation=CLASSIC_FILE) | dict.fromkeys(URLS, "is a URL.*file on this machine")
ON_DISK |= dict.fromkeys(["member", "member-version", "member-classic", "packed-member"], "is a member of a bundle.*on disk")
ON_DISK |= {"version": "is a version", "standard-input": "is standard input"}
ARCHIVED = dict.fromkeys([*ARCHIVES, *CATALOGUES], "it is archived already")
ON_DISK_CLASSIC = ON_DISK | dict.fromkeys(["classic", "aggregation"]) | {"directory": "IsADirectoryError"}
ON_DISK_CLASSIC |= dict.fromkeys(["archive", "catalogue", "version"], "it is archived already")

#: A bundle of nc3z is an archive, too.
OWN_ON_DISK = ["bundle", "packed-bundle"]
OWN_BUNDLES = [*OWN_ON_DISK, "url-bundle"]

#: The call of an entry for a name, and its row.
ROWS = {
    "open": (lambda name: a(nc3z.open(name)), VARIABLES),
    "open_collection": (with_collection, VARIABLES | dict.fromkeys([*BUNDLES, *CATALOGUES, "directory"]) | {"standard-input": NONE}),
    "info": (nc3z.info, ANY_VARIABLE),
    "versions": (nc3z.versions, ANY_VARIABLE),
    "verify": (nc3z.verify, ARCHIVE | dict.fromkeys(OWN_BUNDLES)),
    "restore": (lambda name: nc3z.restore(name, "out.nc", force=True), ARCHIVE),
    "estimate": (lambda name: nc3z.estimate(name, ["fast"]), VARIABLES | ARCHIVED | dict.fromkeys(OWN_BUNDLES, "it is archived already")),
    "archive": (lambda name: nc3z.archive(name, "out.nc3z", force=True), ON_DISK_CLASSIC),
    "archive_bytes": (nc3z.archive_bytes, VARIABLES | ARCHIVED | dict.fromkeys(OWN_BUNDLES, "it is archived already")),
    "archive_many": (lambda name: raised(nc3z.archive_many([(name, "out.nc3z")], force=True)), ON_DISK_CLASSIC),
    "Edit": (edited, ON_DISK | dict.fromkeys(["catalogue", *OWN_ON_DISK], "KeyError: 'a'")),
    "commit": (lambda name: nc3z.commit(name, "c.nc"), ON_DISK | dict.fromkeys(["catalogue", *OWN_ON_DISK], "shares no variable")),
    "tag": (lambda name: nc3z.tag(name, "good"), ON_DISK | dict.fromkeys(OWN_ON_DISK)),
    "delete_tag": (lambda name: (nc3z.tag(name, "good"), nc3z.delete_tag(name, "good")), ON_DISK | dict.fromkeys(OWN_ON_DISK)),
    "xarray": (with_xarray, VARIABLES),
    "zarr": (with_zarr, VARIABLES),
}
#: Entries that take something else.
ELSEWHERE = {
    "cache_stats", "get_threads", "set_cache", "set_threads",  # no input
    "dask",  # trees: test_dask, test_dask_bundles
    "icechunk", "virtualizarr",  # archives by location: test_references
    "numcodecs",  # no input
}


def raised(results):
    for result in results:
        if isinstance(result, Exception):
            raise result


def main(names):
    """Makes all calls, and prints what they raise."""
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    found = {}
    for entry, (call, _) in ROWS.items():
        for kind, name in names.items():
            try:
                call(name)
                said = None
            except Exception as e:
                said = f"{type(e).__name__}: {e}"
            changed = [path for path, data in before.items() if path.read_bytes() != data]
            for path in changed:
                path.write_bytes(before[path])
            found.setdefault(entry, {})[kind] = (said, [str(path) for path in changed])
    print(json.dumps(found))


def test_each_entry_has_a_row():
    public = {name for name in nc3z.__all__ if inspect.isroutine(getattr(nc3z, name)) or name == "Edit"}
    modules = {path.stem for path in Path(nc3z.__file__).parent.glob("*.py") if not path.stem.startswith("_")}
    assert public | modules == {entry.split()[0] for entry in ROWS} | ELSEWHERE


def test_each_cell_is_the_answer_or_names_the_kind(tmp_path):
    files = kinds.write(tmp_path)
    with serve(files) as server:
        names = kinds.names(server)
        done = subprocess.run([sys.executable, __file__, json.dumps(names)], cwd=tmp_path, input=files["a.nc.nc3z"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    wrong = []
    for entry, (_, cells) in ROWS.items():
        assert sorted(cells) == sorted(KINDS), entry
        for kind, expected in cells.items():
            said, changed = found[entry][kind]
            is_right = said is None if expected is None else said is not None and re.search(expected, said, re.S)
            if not is_right or (changed and not (expected is None and cells.get("url-archive") == ON_DISK["url-archive"])):
                wrong.append(f"{entry} of {kind}: {said}, changed {changed}; expected {expected!r}")
    assert not wrong, "\n" + "\n".join(wrong)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

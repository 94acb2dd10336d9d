"""xarray's own tests of a backend, run against this one: files written by others, archived, and read through the engine.

NC3Z_NIGHT=1 runs them for every format, layout and way of opening."""

import builtins
import contextlib
import itertools
import os

import pytest
import xarray as xr
from xarray.tests import test_backends as theirs  # the module: pytest would collect classes imported from it
from xarray.tests.conftest import *  # noqa: F403  their fixtures

import nc3z


class Engine(theirs.NetCDF3Only, theirs.CFEncodedBase):
    """`engine` and `file_format` name the writer of each format."""

    options = {}
    open_options = {}

    def save(self, dataset, path, **options):
        out = super().save(dataset, path, **options)
        if options.get("compute", True):
            nc3z.archive(path, path + ".nc3z", force=True, **self.options)
        return out

    @contextlib.contextmanager
    def open(self, path, **options):
        with xr.open_dataset(path + ".nc3z", engine="nc3z", **{**self.open_options, **options}) as ds:
            yield ds

    @contextlib.contextmanager
    def create_store(self):
        pytest.skip("the engine only reads")
        yield

    # NetCDF3Only leaves it out, since its engines have none.
    test_load_async = theirs.DatasetIOBase.test_load_async


#: The writer of each format.
WRITERS = {
    "Cdf1": ("scipy", "NETCDF3_CLASSIC"),
    "Cdf2": ("scipy", "NETCDF3_64BIT"),
    "Cdf5": ("netcdf4", "NETCDF3_64BIT_DATA"),
}
LAYOUTS = {"Linear": {}, "Padded": {"layout": "chunked", "pad_edges": True}}
#: Each format, each layout, and both ways of opening, once; at night all of them together.
BRIEF = {"Cdf1Linear", "Cdf2Padded", "Cdf5Linear", "Cdf2LinearDask"}


def suite(writer, layout, dask):
    """The tests, for one way to write and to open. `type` is a fixture here."""
    engine, file_format = WRITERS[writer]
    body = {"engine": engine, "file_format": file_format, "options": LAYOUTS[layout], "__module__": __name__}
    if dask:
        # Dask's arrays are not cached by the dataset, whichever engine reads them.
        body |= {"open_options": {"chunks": {}}, "test_dataset_caching": None}
    return builtins.type(f"Test{writer}{layout}{'Dask' if dask else ''}", (Engine,), body)


for made in itertools.starmap(suite, itertools.product(WRITERS, LAYOUTS, (False, True))):
    if os.environ.get("NC3Z_NIGHT") or made.__name__.removeprefix("Test") in BRIEF:
        globals()[made.__name__] = made
del made

"""xarray's own tests of a backend, run against this one: files written by others, archived, and read through the engine."""

import contextlib

import pytest
import xarray as xr
from xarray.tests import test_backends as theirs  # the module: pytest would collect classes imported from it
from xarray.tests.conftest import *  # noqa: F403  their fixtures

import nc3z


class Engine(theirs.NetCDF3Only, theirs.CFEncodedBase):
    """`engine` and `file_format` say who writes which format."""

    options = {}
    open_options = {}

    def save(self, dataset, path, **options):
        out = super().save(dataset, path, **options)
        if options.get("compute", True):
            nc3z.archive(path, path + ".nc3z", overwrite=True, **self.options)
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


class TestCdf1(Engine):
    engine, file_format = "scipy", "NETCDF3_CLASSIC"


class TestCdf2Padded(Engine):
    engine, file_format = "scipy", "NETCDF3_64BIT"
    options = {"layout": "chunked", "pad_edges": True}


class TestCdf5(Engine):
    engine, file_format = "netcdf4", "NETCDF3_64BIT_DATA"


class TestCdf2Dask(Engine):
    engine, file_format = "scipy", "NETCDF3_64BIT"
    open_options = {"chunks": {}}
    # Dask's arrays are not cached by the dataset, whichever engine reads them.
    test_dataset_caching = None

//! `nc3z.Dataset`: an open file and its metadata.

use crate::aggregated::{self, Reading};
use crate::attributes;
use crate::error::Failure;
use crate::handle::{Against, Handle, How};
use crate::key::{Axes, Key};
use crate::source::{self, Settings};
use crate::variable::Variable;
use crate::versions;
use nc3z::opener::archive_of;
use nc3z_format::classic::Version;
use nc3z_look::cost::Costs;
use nc3z_look::explain::PlannedRead;
use nc3z_reader::VersionName;
use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_zarr::Arrays;
use pyo3::exceptions::{PyAttributeError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyMappingProxy, PyTuple};
use serde_json::{Value, json};
use std::sync::Arc;

/// An open archive or classic netCDF file: a mapping of variables by name.
#[pyclass(frozen, mapping, weakref, module = "nc3z", name = "Dataset")]
pub(crate) struct Dataset {
    handle: Arc<Handle>,
    variables: PyOnceLock<Py<PyMappingProxy>>,
    dimensions: PyOnceLock<Py<PyMappingProxy>>,
}

/// A dimension: a name and a length.
#[pyclass(frozen, eq, hash, module = "nc3z", name = "Dimension")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Dimension {
    /// The name of the dimension.
    #[pyo3(get)]
    name: String,
    /// Its length; the number of records where it is unlimited.
    #[pyo3(get)]
    size: u64,
    unlimited: bool,
}

#[pymethods]
impl Dimension {
    /// True for the record dimension.
    fn isunlimited(&self) -> bool {
        self.unlimited
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(usize::try_from(self.size)?)
    }

    fn __repr__(&self) -> String {
        let unlimited = if self.unlimited { ", unlimited" } else { "" };
        format!("<nc3z.Dimension {:?}: size {}{unlimited}>", self.name, self.size)
    }
}

/// Opens an archive or a classic file.
#[pyfunction]
#[pyo3(signature = (source, /, version=None, *, storage_options=None, fill_lost=false, as_stored=false, outside=false, fill_missing=false, decode=false, root=None, tree=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::fn_params_excessive_bools,
    reason = "Python's keyword arguments"
)]
pub(crate) fn open(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    version: Option<&Bound<'_, PyAny>>,
    storage_options: Option<Settings>,
    fill_lost: bool,
    as_stored: bool,
    outside: bool,
    fill_missing: bool,
    decode: bool,
    root: Option<&str>,
    tree: Option<String>,
) -> PyResult<Dataset> {
    let version = version.map(version_name).transpose()?;
    let (source, origin, place) = source::open(py, source, storage_options)?;
    if version.is_some() && place.version().is_some() {
        return Err(PyValueError::new_err(
            "the name requests a version, and so does `version`: give one of them",
        ));
    }
    let version = version.or_else(|| place.version().cloned());
    let root = root.map(|root| root.parse().map_err(Failure::from)).transpose()?;
    if root.is_none() && tree.is_some() {
        return Err(PyValueError::new_err(
            "tree is the file by which values are checked against a root, and no root is given",
        ));
    }
    let root = root.map(|root| Against { root, tree });
    let how = How { version, fill_lost, reading: Reading { as_stored, outside, fill_missing }, decode, root };
    Ok(Dataset::new(Handle::open(py, source, origin, place, how)?))
}

/// Converts a version from Python: a number from 1, or a tag.
pub(crate) fn version_name(version: &Bound<'_, PyAny>) -> PyResult<VersionName> {
    if let Ok(tag) = version.extract::<String>() {
        return Ok(tag.parse().map_err(Failure::from)?);
    }
    let number: u64 = version
        .extract()
        .ok()
        .filter(|number| *number > 0 && !version.is_instance_of::<pyo3::types::PyBool>())
        .ok_or_else(|| PyTypeError::new_err("a version is a number from 1, or a tag"))?;
    Ok(VersionName::Number(number))
}

impl Dataset {
    /// An open file as a mapping of its variables.
    pub(crate) fn new(handle: Handle) -> Self {
        Dataset { handle: Arc::new(handle), variables: PyOnceLock::new(), dimensions: PyOnceLock::new() }
    }

    /// The open file, for other classes of this module.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }
}

#[pymethods]
impl Dataset {
    /// The path as it was given; None for bytes and file objects.
    #[getter]
    fn path(&self) -> Option<&str> {
        self.handle.origin.name()
    }

    /// "archive", "classic", or "aggregation".
    #[getter]
    fn kind(&self) -> PyResult<&'static str> {
        let dataset = self.handle.dataset()?;
        Ok(match () {
            () if dataset.archive().is_some() => "archive",
            () if nc3z_collections::as_aggregation(&dataset).is_some() => "aggregation",
            () => "classic",
        })
    }

    /// The classic format, as netCDF4-python names it.
    #[getter]
    fn data_model(&self) -> PyResult<&'static str> {
        Ok(match self.handle.dataset()?.header().version {
            Version::Cdf1 => "NETCDF3_CLASSIC",
            Version::Cdf2 => "NETCDF3_64BIT_OFFSET",
            Version::Cdf5 => "NETCDF3_64BIT_DATA",
        })
    }

    /// SHA-256 of the original file as stored in the archive, hexadecimal; None where it is not stored, and
    /// for classic files.
    #[getter]
    fn sha256(&self) -> PyResult<Option<String>> {
        self.handle.sha256()
    }

    /// Number of the version that is open; 0 for a classic file.
    #[getter]
    fn version(&self) -> PyResult<u64> {
        let dataset = self.handle.dataset()?;
        let Some(archive) = archive_of(&dataset) else { return Ok(0) };
        Ok(archive.version().map_err(Failure::from)?.number)
    }

    /// Tags with the numbers of their versions, as known to the open version; the newest version knows all.
    /// None for a classic file.
    #[getter]
    fn tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dataset = self.handle.dataset()?;
        let tags = archive_of(&dataset).map(nc3z_reader::Archive::tags).transpose();
        let dict = PyDict::new(py);
        for (tag, number) in tags.map_err(|e| self.handle.failure(e))?.unwrap_or_default() {
            dict.set_item(tag, number)?;
        }
        Ok(dict)
    }

    /// Returns the cost of reading a part of a variable, without reading it, as `nc3z read --explain --json` prints it. `key` is an
    /// index as in `variable[key]`; by default, everything. With `all`, every tile is listed.
    #[pyo3(signature = (variable, key=None, *, all=false))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        variable: &str,
        key: Option<&Bound<'py, PyAny>>,
        all: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let dataset = self.handle.dataset()?;
        let found = dataset.variable(variable).map_err(|e| self.handle.failure(e))?;
        let names: Vec<String> = found.dimensions().map(|d| d.name_lossy().into_owned()).collect();
        let axes = Axes { names: &names, shape: found.shape(), grows: false };
        let key = key.map_or_else(|| Ok(Key::all(found.shape())), |key| Key::new(key, false, axes))?;
        let selection = key.selection()?;
        let source: SharedSource = match dataset.archive() {
            Some(archive) => archive.source().clone(),
            // The cost of a classic file follows from its header.
            None => Arc::new(MemorySource::new(Vec::new())),
        };
        let planned = PlannedRead::new(&dataset, &found, &selection, &source);
        let report = planned.map_err(|e| self.handle.failure(e))?.to_json(all);
        py.import("json")?.call_method1("loads", (report.to_string(),))
    }

    /// At most `most` versions up to the open one, newest first: for `nc3z.versions`.
    #[pyo3(signature = (most, /))]
    fn _log<'py>(&self, py: Python<'py>, most: u64) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let dataset = self.handle.dataset()?;
        let archive = archive_of(&dataset);
        archive.map_or_else(|| Ok(Vec::new()), |archive| versions::log(py, archive, most))
    }

    /// A value that changes with the fragments of an aggregated variable, for the names of Dask's tasks. None
    /// for other variables.
    #[pyo3(signature = (variable, /))]
    fn _fragments(&self, py: Python<'_>, variable: &str) -> PyResult<Option<String>> {
        let id = self.handle.dataset()?.variable(variable).map_err(|e| self.handle.failure(e))?.id();
        self.handle.fragments_state(py, id)
    }

    /// Bytes of the classic file.
    #[getter]
    fn original_nbytes(&self) -> PyResult<u64> {
        Ok(self.handle.dataset()?.original_len())
    }

    /// Bytes of the file that is open.
    #[getter]
    fn stored_nbytes(&self) -> PyResult<u64> {
        let dataset = self.handle.dataset()?;
        let archive = archive_of(&dataset);
        Ok(archive.map_or_else(|| dataset.original_len(), nc3z_reader::Archive::stored_len))
    }

    /// An identity that changes with a remote object: an entity tag, or length and time; None for local
    /// files.
    #[getter]
    fn identity(&self) -> PyResult<Option<String>> {
        self.handle.identity()
    }

    /// Stored bytes of each variable, and its tiles by chain as text; None for a classic file.
    fn _costs(&self, py: Python<'_>) -> PyResult<Option<Vec<(String, u64, String)>>> {
        let dataset = self.handle.dataset()?;
        let Some(archive) = dataset.archive() else { return Ok(None) };
        let costs =
            py.detach(|| Costs::new(archive, archive.source())).map_err(|e| self.handle.failure(e))?;
        let each = archive.header().variables().zip(&costs.variables);
        Ok(Some(
            each.map(|((_, v), cost)| {
                (v.name_lossy().into_owned(), cost.bytes, cost.words(archive.chains()))
            })
            .collect(),
        ))
    }

    /// The path or URL of the file that contains the bytes: for a bundle's member, the bundle.
    #[getter]
    fn _file(&self) -> Option<&str> {
        let name = self.handle.origin.name()?;
        if self.handle.place.is_bundle() {
            return aggregated::member_of(name).map(|(bundle, _)| bundle);
        }
        Some(name)
    }

    /// References as JSON, of kind "kerchunk" or "icechunk"; `etag` or `modified` (seconds) identify the
    /// content of the archive at `url`. For a bundle's member, `url` is the bundle's.
    #[pyo3(signature = (kind, url, etag=None, modified=None, /))]
    fn _references(
        &self,
        py: Python<'_>,
        kind: &str,
        url: &str,
        etag: Option<&str>,
        modified: Option<u64>,
    ) -> PyResult<String> {
        let dataset = self.handle.dataset()?;
        let archive = dataset.archive().ok_or_else(|| {
            PyValueError::new_err("a classic file has no tiles to refer to; archive it with profile \"zarr\"")
        })?;
        let checksum = match (etag, modified) {
            (Some(tag), _) => json!({"etag": tag}),
            (None, Some(seconds)) => json!({"last_modified": seconds}),
            (None, None) => Value::Null,
        };
        let made = py.detach(|| {
            let offset = self.handle.place.offset()?;
            let arrays = Arrays::new(archive)?.at(offset);
            if kind == "kerchunk" { arrays.kerchunk(url) } else { arrays.icechunk(url, &checksum) }
        });
        made.map(|references| references.to_string()).map_err(|e| self.handle.failure(e))
    }

    /// The classic header's bytes.
    #[getter]
    fn header_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let dataset = self.handle.dataset()?;
        let bytes = dataset.archive().map(nc3z_reader::Archive::header_bytes);
        let bytes = bytes.or_else(|| dataset.classic().map(nc3z_reader::ClassicFile::header_bytes));
        Ok(PyBytes::new(py, bytes.unwrap_or_default()))
    }

    /// Reads bytes of the classic file, also from an archive.
    #[pyo3(signature = (offset, nbytes, /))]
    fn read_original<'py>(&self, py: Python<'py>, offset: u64, nbytes: u64) -> PyResult<Bound<'py, PyBytes>> {
        let dataset = self.handle.dataset()?;
        let len = nbytes.min(dataset.original_len().saturating_sub(offset));
        PyBytes::new_with(py, usize::try_from(len)?, |out| {
            py.detach(|| dataset.read_bytes(offset, out)).map_err(|e| self.handle.failure(e))
        })
    }

    /// Variables by name, in stored order; read-only.
    #[getter]
    fn variables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMappingProxy>> {
        let made = self.variables.get_or_try_init(py, || {
            let dict = PyDict::new(py);
            let dataset = self.handle.dataset()?;
            for variable in dataset.variables() {
                let name = variable.name();
                if !dict.contains(&*name)? {
                    dict.set_item(&*name, Variable::new(&self.handle, &variable))?;
                }
            }
            Ok::<_, PyErr>(PyMappingProxy::new(py, dict.as_mapping()).unbind())
        })?;
        Ok(made.bind(py).clone())
    }

    /// Dimensions by name, in stored order; read-only.
    #[getter]
    fn dimensions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMappingProxy>> {
        let made = self.dimensions.get_or_try_init(py, || {
            let dict = PyDict::new(py);
            let dataset = self.handle.dataset()?;
            for d in dataset.dimensions() {
                let (name, unlimited) = (d.name_lossy().into_owned(), d.is_record());
                let size = if unlimited { dataset.records() } else { d.len };
                if !dict.contains(&name)? {
                    dict.set_item(name.clone(), Dimension { name, size, unlimited })?;
                }
            }
            Ok::<_, PyErr>(PyMappingProxy::new(py, dict.as_mapping()).unbind())
        })?;
        Ok(made.bind(py).clone())
    }

    /// Global attributes: text as str, one number as a NumPy scalar, several as an array.
    #[getter]
    fn attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        attributes::dict(py, self.handle.dataset()?.attributes())
    }

    /// Names of the global attributes.
    fn ncattrs(&self) -> PyResult<Vec<String>> {
        let dataset = self.handle.dataset()?;
        Ok(dataset.attributes().iter().map(|a| a.name_lossy().into_owned()).collect())
    }

    /// One global attribute.
    #[pyo3(signature = (name, /))]
    fn getncattr<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.__getattr__(py, name)
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.handle.dataset()?.header().attribute(name.as_bytes()) {
            Some(attribute) => attributes::value(py, attribute),
            None => Err(PyAttributeError::new_err(format!("no attribute {name:?}"))),
        }
    }

    /// True after the dataset was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.handle.is_closed()
    }

    /// Closes the file. Its variables can no longer be read.
    fn close(&self) {
        self.handle.close();
    }

    fn isopen(&self) -> bool {
        !self.handle.is_closed()
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.handle.close();
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let variables = self.variables(py)?;
        variables.get_item(name).map_err(|_| {
            let known: Vec<String> =
                variables.keys().and_then(|k| k.iter().map(|n| n.extract()).collect()).unwrap_or_default();
            let more = known.len().saturating_sub(20);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            let known = known.into_iter().take(20).collect::<Vec<_>>().join(", ");
            PyKeyError::new_err(format!("no variable {name:?}; there are {known}{rest}"))
        })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.variables(py)?.len()
    }

    fn __contains__(&self, py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.variables(py)?.contains(name)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.variables(py)?.as_any().try_iter()
    }

    /// Names of the variables.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.variables(py)?.call_method0("keys")
    }

    /// Returns the variables.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.variables(py)?.call_method0("values")
    }

    /// Names and variables.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.variables(py)?.call_method0("items")
    }

    /// The variable of that name, otherwise `default`.
    #[pyo3(signature = (name, default=None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let variables = self.variables(py)?;
        if variables.contains(name)? { Ok(Some(variables.get_item(name)?)) } else { Ok(default) }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        Ok((py.import("nc3z._pickle")?.getattr("reopen")?, self.handle.to_reopen(py)?))
    }

    fn __repr__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("nc3z._show")?.getattr("dataset_text")?.call1((this,))
    }

    fn _repr_html_<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("nc3z._show")?.getattr("dataset_html")?.call1((this,))
    }
}

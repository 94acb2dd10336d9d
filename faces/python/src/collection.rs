//! Collections: the variables of many files, and the form in which those that are stored in different ways are read.

use crate::attributes;
use crate::dataset::Dataset;
use crate::error::exception;
use crate::variable::{Variable, type_name};
use nc3z_collections::collection::{self, Since};
use nc3z_format::NcType;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

/// A variable as its file's header describes it.
#[pyclass(frozen, module = "nc3z._nc3z", name = "Head")]
pub(crate) struct Head(collection::Head);

/// The form of a variable that files store in different ways.
#[pyclass(frozen, eq, module = "nc3z._nc3z", name = "Form")]
#[derive(PartialEq, Eq)]
pub(crate) struct Form(collection::Form);

#[pymethods]
impl Head {
    /// The variables of a file.
    #[staticmethod]
    fn all(dataset: &Dataset) -> PyResult<Vec<Head>> {
        Ok(collection::Head::all(dataset.handle().dataset()?.header()).into_iter().map(Head).collect())
    }

    /// A variable of an open file.
    #[staticmethod]
    fn of(variable: &Variable) -> PyResult<Head> {
        let (dataset, reader) = variable.opened()?;
        Ok(Head(collection::Head::of(dataset.header(), reader.header())))
    }

    /// Its name, which ends at a NUL as in the C library.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Its name in the file.
    #[getter]
    fn stored(&self) -> String {
        self.0.variable().name_lossy().into_owned()
    }

    /// The type of stored values.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dtype(py, self.0.variable().ty)
    }

    #[getter]
    fn dimensions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.dimensions())
    }

    /// Its attributes as stored.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        attributes::c_dict(py, &self.0.variable().attributes)
    }

    /// A value that is equal for variables that can be joined.
    #[getter]
    fn meaning<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.meaning())
    }

    /// A value that is equal for variables whose stored values have the same type and meaning.
    #[getter]
    fn storage<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.storage())
    }

    /// Unit and calendar of a time since a date, otherwise None.
    #[getter]
    fn since(&self) -> Option<(&str, Option<&str>)> {
        self.0.since()
    }

    #[getter]
    fn is_text(&self) -> bool {
        self.0.is_text()
    }

    /// True if values are unpacked, masked, or read with another sign.
    #[getter]
    fn is_coded(&self) -> bool {
        self.0.is_coded()
    }

    /// An attribute as words with single blanks, or None.
    fn words(&self, attribute: &str) -> Option<String> {
        self.0.words(attribute)
    }
}

#[pymethods]
impl Form {
    #[new]
    fn new(code: u32, is_time: bool, from_year_one: bool) -> PyResult<Self> {
        let ty = NcType::from_code(code).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let since = if from_year_one { Since::YearOne } else { Since::Unix };
        Ok(Form(collection::Form { ty, time: is_time.then_some(since) }))
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (u32, bool, bool)) {
        let form = this.get().0;
        let time = (form.time.is_some(), form.time == Some(Since::YearOne));
        (this.get_type().into_any(), (form.ty.code(), time.0, time.1))
    }

    /// The form of a variable that these files have. None if all store it in the same way.
    #[staticmethod]
    fn joined(heads: Vec<PyRef<'_, Head>>) -> PyResult<Option<Self>> {
        let heads: Vec<&collection::Head> = heads.iter().map(|head| &head.0).collect();
        Ok(collection::Form::joined(&heads).map_err(PyValueError::new_err)?.map(Form))
    }

    /// The form in which coordinates are compared.
    #[staticmethod]
    fn comparable(head: &Head) -> PyResult<Self> {
        collection::Form::comparable(&head.0).map(Form).map_err(PyValueError::new_err)
    }

    /// The type of values.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dtype(py, self.0.ty)
    }

    /// True for microseconds since a date.
    #[getter]
    fn is_time(&self) -> bool {
        self.0.time.is_some()
    }

    /// The attributes of the joined variable whose first file has this one.
    fn attributes<'py>(&self, py: Python<'py>, head: &Head) -> PyResult<Bound<'py, PyDict>> {
        attributes::c_dict(py, &self.0.attributes(&head.0))
    }

    /// Converts stored values of a file, in big-endian bytes. An error begins with `what`.
    fn conform<'py>(
        &self,
        py: Python<'py>,
        head: &Head,
        stored: &[u8],
        what: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let found = py.detach(|| self.0.conform(&head.0, stored.to_vec()));
        let found = found.map_err(|why| exception("RangeError", format!("{what}: {why}")))?;
        Ok(PyBytes::new(py, &found))
    }
}

fn dtype(py: Python<'_>, ty: NcType) -> PyResult<Bound<'_, PyAny>> {
    py.import("numpy")?.getattr("dtype")?.call1((type_name(ty),))
}

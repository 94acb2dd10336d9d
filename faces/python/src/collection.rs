//! Collections: the headers and coordinates of many files, the groups that they are parts of, and the form in which variables that
//! are stored in different ways are read.

use crate::attributes;
use crate::dataset::Dataset;
use crate::error::exception;
use crate::variable::{Variable, type_name};
use nc3z_collections::catalog;
use nc3z_collections::collection::{self, Since};
use nc3z_format::NcType;
use nc3z_format::classic::VarId;
use nc3z_format::url::shown;
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArray2, ToPyArray};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// A variable as its file's header describes it.
#[pyclass(frozen, module = "nc3z._nc3z", name = "Head")]
pub(crate) struct Head(collection::Head);

/// The form of a variable that files store in different ways.
#[pyclass(frozen, eq, module = "nc3z._nc3z", name = "Form")]
#[derive(PartialEq, Eq)]
pub(crate) struct Form(collection::Form);

/// Makes the files of a collection, which share headers and coordinates.
#[pyclass(frozen, module = "nc3z._nc3z", name = "Scan")]
pub(crate) struct Scan(collection::Scan);

/// A file of a collection: its header and its coordinates.
#[pyclass(frozen, module = "nc3z._nc3z", name = "Member")]
pub(crate) struct Member(Arc<collection::Member>);

/// Files that are parts of one dataset.
#[pyclass(frozen, module = "nc3z._nc3z", name = "Group")]
pub(crate) struct Group(collection::Group);

/// Names of datasets, each with its groups, and why files are in none.
type Grouped = (Vec<(String, Vec<Group>)>, Vec<(String, String)>);

/// Groups files, puts groups with different variables and equal coordinates together if `merge` is true, and names them.
#[pyfunction]
#[pyo3(signature = (files, along, merge))]
pub(crate) fn group_files(
    py: Python<'_>,
    files: Vec<PyRef<'_, Member>>,
    along: Option<&str>,
    merge: bool,
) -> Grouped {
    let mut files: Vec<Arc<collection::Member>> = files.iter().map(|file| Arc::clone(&file.0)).collect();
    py.detach(|| {
        let empty = collection::without_records(&files);
        let left_out: HashSet<&str> = empty.iter().map(|(path, _)| path.as_str()).collect();
        files.retain(|file| !left_out.contains(file.path.as_str()));
        let groups = collection::groups(&files, along);
        let merged = if merge {
            collection::merged(groups)
        } else {
            groups.into_iter().map(|group| vec![group]).collect()
        };
        let names = collection::names(&merged);
        let merged = merged.into_iter().map(|groups| groups.into_iter().map(Group).collect());
        (names.into_iter().zip(merged).collect(), empty)
    })
}

#[pymethods]
impl Scan {
    #[new]
    fn new() -> Self {
        Scan(collection::Scan::default())
    }

    /// Reads header and coordinates of an open file.
    fn file(
        &self,
        py: Python<'_>,
        dataset: &Dataset,
        path: &str,
        name: &str,
        token: &[u8],
    ) -> PyResult<Member> {
        let (handle, opened) = (dataset.handle(), dataset.handle().dataset()?);
        let found = py.detach(|| self.0.file(&opened, path, name, token));
        found.map(|member| Member(Arc::new(member))).map_err(|e| handle.failure(e))
    }

    /// Makes a file by its description in a catalogue. None where the file must be opened.
    fn described(
        &self,
        header: &[u8],
        lengths: Vec<u64>,
        coordinates: (Vec<usize>, Vec<PyBackedBytes>),
        path: &str,
        name: &str,
        token: &[u8],
    ) -> Option<Member> {
        let (numbers, values) = coordinates;
        let of = |id: VarId| {
            let at = numbers.iter().position(|&number| number == id.index())?;
            values.get(at).map(|bytes| bytes.to_vec())
        };
        self.0.described(header, &lengths, of, path, name, token).map(|member| Member(Arc::new(member)))
    }
}

#[pymethods]
impl Member {
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// Returns whether it has coordinates along a dimension.
    fn has_coordinates(&self, dimension: &str) -> bool {
        self.0.has_coordinates(dimension)
    }
}

#[pymethods]
impl Group {
    /// The paths of its files, in the order in which they are joined.
    #[getter]
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.files.iter().map(|file| file.path.as_str()))
    }

    /// For each file a value that changes with its content.
    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.files.iter().map(|file| PyBytes::new(py, &file.token)))
    }

    fn __len__(&self) -> usize {
        self.0.files.len()
    }

    /// The variables of its first file by name.
    #[getter]
    fn heads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let heads = PyDict::new(py);
        self.0.heads().iter().try_for_each(|head| heads.set_item(head.name(), Head(head.clone())))?;
        Ok(heads)
    }

    /// The place of each file along each joined dimension.
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (dimension, numbers) in &self.0.positions {
            let numbers = numbers.iter().map(|n| i64::try_from(*n)).collect::<Result<Vec<_>, _>>()?;
            found.set_item(dimension, PyArray1::from_vec(py, numbers))?;
        }
        Ok(found)
    }

    /// A joined dimension that the files do not have, or None.
    #[getter]
    fn stacked(&self) -> Option<&str> {
        self.0.stacked.as_deref()
    }

    /// The lengths of the files' parts along each dimension.
    #[getter]
    fn lengths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (dimension, lengths) in self.0.lengths() {
            let lengths = lengths.into_iter().map(i64::try_from).collect::<Result<Vec<_>, _>>()?;
            found.set_item(dimension, PyArray1::from_vec(py, lengths))?;
        }
        Ok(found)
    }

    /// The names of unlimited dimensions.
    #[getter]
    fn unlimited(&self) -> HashSet<String> {
        self.0.unlimited().iter().cloned().collect()
    }

    /// Coordinate variables, and those that others name as coordinates.
    #[getter]
    fn coordinates(&self) -> BTreeSet<String> {
        self.0.coordinates()
    }

    /// The largest length of the last dimension of a variable.
    fn width(&self, name: &str) -> u64 {
        self.0.width(name)
    }

    /// The name of a variable in a file.
    fn stored_name(&self, file: usize, name: &str) -> PyResult<String> {
        Ok(self.head_of(file, name)?.variable().name_lossy().into_owned())
    }

    /// True if a file has a variable packed, masked, or with another sign.
    fn is_coded(&self, name: &str) -> bool {
        self.0.is_coded(name)
    }

    /// The form in which a variable is read; None if all files store it in the same way.
    fn form(&self, name: &str) -> PyResult<Option<Form>> {
        Ok(self.0.form(name).map_err(PyValueError::new_err)?.map(Form))
    }

    /// Converts stored values of a file to a form, in big-endian bytes.
    fn conform<'py>(
        &self,
        py: Python<'py>,
        file: usize,
        name: &str,
        form: &Form,
        stored: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        form.conform(
            py,
            &Head(self.head_of(file, name)?.clone()),
            stored,
            &what(&self.0.files[file].path, name),
        )
    }

    /// The values of a coordinate variable in a form, in big-endian bytes; None if not all files have them.
    #[pyo3(signature = (name, form))]
    fn coordinate<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        form: Option<PyRef<'_, Form>>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let form = form.map(|form| form.0);
        let found = py.detach(|| self.0.coordinate(name, form));
        let found =
            found.map_err(|(path, why)| exception("RangeError", format!("{}: {why}", what(&path, name))))?;
        Ok(found.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Says why this group and another one are not one.
    fn difference(&self, other: &Group) -> String {
        collection::difference(&self.0, &other.0)
    }
}

impl Group {
    fn head_of(&self, file: usize, name: &str) -> PyResult<&collection::Head> {
        self.0.head_of(file, name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }
}

/// A variable of a file, for messages.
fn what(path: &str, name: &str) -> String {
    format!("{}: variable {name}", shown(path))
}

#[pymethods]
impl Head {
    /// A variable of an open file.
    #[staticmethod]
    fn of(variable: &Variable) -> PyResult<Head> {
        let (dataset, reader) = variable.opened()?;
        Ok(Head(collection::Head::from_variable(dataset.header(), reader.id(), reader.header())))
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

    /// Unit and calendar of a time since a date, otherwise None.
    #[getter]
    fn since(&self) -> Option<(&str, Option<&str>)> {
        self.0.since()
    }

    /// True for characters.
    #[getter]
    fn is_text(&self) -> bool {
        self.0.is_text()
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

/// A comparison of a variable's values with a number, such as `tas > 310`.
#[pyclass(frozen, module = "nc3z._nc3z", name = "Condition")]
pub(crate) struct Condition(catalog::Condition);

#[pymethods]
impl Condition {
    /// Parses the form of `nc3z find --where`.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        text.parse().map(Condition).map_err(|e: String| PyValueError::new_err(e))
    }

    #[getter]
    fn variable(&self) -> &str {
        self.0.variable()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (String,)) {
        (this.get_type().into_any(), (this.get().0.to_string(),))
    }

    /// Returns where numbers meet it. NaN never does.
    fn holds<'py>(&self, py: Python<'py>, values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        macro_rules! try_types {
            ($($rust:ty as $wide:ty),+) => {$(
                if let Ok(array) = values.cast::<PyArrayDyn<$rust>>() {
                    let array = array.try_readonly().map_err(|e| PyValueError::new_err(e.to_string()))?;
                    let array = array.as_array();
                    let found = py.detach(|| array.mapv(|x| self.0.holds(<$wide>::from(x).into())));
                    return Ok(found.to_pyarray(py).into_any());
                }
            )+};
        }
        try_types!(
            f32 as f64,
            f64 as f64,
            i8 as i128,
            u8 as i128,
            i16 as i128,
            u16 as i128,
            i32 as i128,
            u32 as i128,
            i64 as i128,
            u64 as i128
        );
        Err(PyTypeError::new_err(format!("{}: a condition is on numbers", self.0)))
    }

    /// Returns for each tile whether it may have such values, by the rows of `Catalog.tiles`.
    fn possible<'py>(&self, py: Python<'py>, tiles: PyReadonlyArray2<'_, f64>) -> Bound<'py, PyArray1<bool>> {
        let tiles = tiles.as_array();
        let rows = tiles.rows().into_iter();
        PyArray1::from_iter(py, rows.map(|row| self.0.may_hold(row[0], row[1], row[2], row[3])))
    }
}

fn dtype(py: Python<'_>, ty: NcType) -> PyResult<Bound<'_, PyAny>> {
    py.import("numpy")?.getattr("dtype")?.call1((type_name(ty),))
}

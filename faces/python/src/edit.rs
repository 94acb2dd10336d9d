//! Edits of an archive, for the wrapper `nc3z/_edit.py`. Values and attributes are big-endian bytes.

use crate::attributes;
use crate::dataset::Dataset;
use crate::decode;
use crate::error::{Failure, of_file};
use crate::key::{Axes, Key};
use crate::variable::type_name;
use crate::versions::{Note, committed};
use crate::work::{self, Cancel};
use nc3z::opener::Kind;
use nc3z_format::NcType;
use nc3z_format::classic::{Header, Version};
use nc3z_format::selection::AnySelection;
use nc3z_writer::WriterOptions;
use nc3z_writer::edit::{AppendPolicy, Edit as Staged, Overlap, Plan};
use numpy::{PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PySlice, PyTuple};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An archive that is being edited. Calls are executed one at a time.
#[pyclass(frozen, module = "nc3z._nc3z", name = "Edit")]
pub(crate) struct Edit {
    path: String,
    /// `None` after it was closed.
    staged: Mutex<Option<Staged>>,
}

/// The number of values that are passed to the editor at a time.
const PART: u64 = 4 << 20;

/// Type and dimensions of a variable, in the present state of the edit.
struct Array {
    ty: NcType,
    names: Vec<String>,
    shape: Vec<u64>,
    is_record: bool,
}

impl Array {
    /// Parses a key. If the key may `grow` the variable, it may have indices beyond the last record.
    fn key<'py>(&self, key: &Bound<'py, PyAny>, points: bool, grow: bool) -> PyResult<Key<'py>> {
        let grows = grow && self.is_record;
        Key::new(key, points, Axes { names: &self.names, shape: &self.shape, grows })
    }
}

/// Returns a plan as a dict.
fn planned(py: Python<'_>, plan: Plan) -> PyResult<Bound<'_, PyDict>> {
    let made = PyDict::new(py);
    made.set_item("text", plan.text)?;
    made.set_item("map", plan.map)?;
    made.set_item("grid", PyTuple::new(py, plan.grid)?)?;
    let touched: Vec<_> = plan
        .touched
        .into_iter()
        .map(|(at, whole)| Ok((PyTuple::new(py, at)?, whole)))
        .collect::<PyResult<_>>()?;
    made.set_item("touched", touched)?;
    made.set_item("reads", plan.reads)?;
    Ok(made)
}

impl Edit {
    /// Locks the staged edit, also after another thread panicked while it held the lock.
    fn locked(&self) -> MutexGuard<'_, Option<Staged>> {
        self.staged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `work` with the staged edit, with the GIL released.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Staged) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            let mut staged = self.locked();
            work(staged.as_mut().ok_or_else(closed)?)
        });
        done.map_err(|e| e.in_file(Some(&self.path)))
    }

    fn array(&self, py: Python<'_>, name: &str) -> PyResult<Array> {
        self.with(py, |staged| {
            let shape = staged.shape_of(name)?;
            let header = staged.header();
            let (_, variable) = header.variable(name.as_bytes()).expect("it has a shape");
            let dims = || variable.dimensions.iter().map(|d| &header.dimensions[d.index()]);
            let names = dims().map(|d| d.name_lossy().into_owned()).collect();
            let is_record = dims().next().is_some_and(nc3z_format::classic::Dimension::is_record);
            Ok(Array { ty: variable.ty, names, shape, is_record })
        })
    }

    fn header(&self, py: Python<'_>) -> PyResult<(Header, u64)> {
        self.with(py, |staged| Ok((staged.header().clone(), staged.records())))
    }
}

fn closed() -> Failure {
    Failure::Python(PyValueError::new_err("the edit is closed: open it again"))
}

fn type_of(name: &str) -> Result<NcType, Failure> {
    NcType::ALL.into_iter().find(|ty| ty.to_string() == name).ok_or_else(|| {
        Failure::Python(PyValueError::new_err(format!("`{name}` is not a type of classic netCDF")))
    })
}

#[pymethods]
impl Edit {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let name = path.to_string_lossy().into_owned();
        let staged = py.detach(|| Staged::open(&path, &WriterOptions::default()));
        let staged = staged.map_err(|e| of_file(&path, Kind::Archive, e))?;
        Ok(Edit { path: name, staged: Mutex::new(Some(staged)) })
    }

    /// The archive's path, as it was given.
    #[getter]
    fn path(&self) -> &str {
        &self.path
    }

    /// The version that is edited.
    #[getter]
    fn version(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |staged| Ok(staged.archive().version()?.number))
    }

    /// True if anything was edited since the last commit.
    #[getter]
    fn touched(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |staged| Ok(staged.is_touched()))
    }

    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        py.detach(|| self.locked().is_none())
    }

    /// Name, length and whether it is the record dimension, for each dimension.
    fn dimensions(&self, py: Python<'_>) -> PyResult<Vec<(String, u64, bool)>> {
        let (header, records) = self.header(py)?;
        let of = |d: &nc3z_format::classic::Dimension| {
            (d.name_lossy().into_owned(), if d.is_record() { records } else { d.len }, d.is_record())
        };
        Ok(header.dimensions.iter().map(of).collect())
    }

    /// Name, type and names of the dimensions, for each variable.
    fn variables(&self, py: Python<'_>) -> PyResult<Vec<(String, String, Vec<String>)>> {
        let (header, _) = self.header(py)?;
        let of = |v: &nc3z_format::classic::Variable| {
            let dims = v.dimensions.iter().map(|d| header.dimensions[d.index()].name_lossy().into_owned());
            (v.name_lossy().into_owned(), v.ty.to_string(), dims.collect())
        };
        Ok(header.variables.iter().map(of).collect())
    }

    /// Attributes of a variable, or of the file.
    fn attributes<'py>(&self, py: Python<'py>, owner: Option<&str>) -> PyResult<Bound<'py, PyDict>> {
        let (header, _) = self.header(py)?;
        match owner {
            None => attributes::dict(py, &header.attributes),
            Some(name) => {
                let (_, variable) = header
                    .variable(name.as_bytes())
                    .ok_or_else(|| PyKeyError::new_err(format!("no variable `{name}`")))?;
                attributes::dict(py, &variable.attributes)
            }
        }
    }

    /// The attribute `_FillValue`, big-endian, if it is one value of the variable's type.
    fn fill_value<'py>(&self, py: Python<'py>, variable: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let (header, _) = self.header(py)?;
        let found = header.variable(variable.as_bytes()).and_then(|(_, v)| v.own_fill_value());
        Ok(found.map(|value| PyBytes::new(py, value)))
    }

    /// Sets an attribute; the values are big-endian.
    fn set_attribute(
        &self,
        py: Python<'_>,
        owner: Option<&str>,
        name: &str,
        ty: &str,
        values: &[u8],
    ) -> PyResult<()> {
        self.with(py, |staged| Ok(staged.set_attribute(owner, name, type_of(ty)?, values)?))
    }

    /// Deletes an attribute.
    fn delete_attribute(&self, py: Python<'_>, owner: Option<&str>, name: &str) -> PyResult<()> {
        self.with(py, |staged| Ok(staged.delete_attribute(owner, name)?))
    }

    /// Renames a dimension.
    fn rename_dimension(&self, py: Python<'_>, name: &str, new: &str) -> PyResult<()> {
        self.with(py, |staged| Ok(staged.rename_dimension(name, new)?))
    }

    /// Renames a variable.
    fn rename_variable(&self, py: Python<'_>, name: &str, new: &str) -> PyResult<()> {
        self.with(py, |staged| Ok(staged.rename_variable(name, new)?))
    }

    /// Adds a dimension. Length 0 makes it the record dimension.
    fn add_dimension(&self, py: Python<'_>, name: &str, len: u64) -> PyResult<()> {
        self.with(py, |staged| Ok(staged.add_dimension(name, len)?))
    }

    /// Adds a variable.
    fn add_variable(&self, py: Python<'_>, name: &str, ty: &str, dimensions: Vec<String>) -> PyResult<()> {
        let names: Vec<&str> = dimensions.iter().map(String::as_str).collect();
        self.with(py, |staged| Ok(staged.add_variable(name, type_of(ty)?, &names)?))
    }

    /// Deletes a variable.
    fn delete_variable(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.with(py, |staged| Ok(staged.delete_variable(name)?))
    }

    /// Makes a dimension longer or shorter.
    fn resize(&self, py: Python<'_>, dimension: &str, len: u64) -> PyResult<()> {
        self.with(py, |staged| Ok(staged.resize_dimension(dimension, len)?))
    }

    /// Changes the classic format to CDF-1, CDF-2 or CDF-5: 1, 2, 5.
    fn set_kind(&self, py: Python<'_>, kind: u8) -> PyResult<()> {
        let kind = match kind {
            1 => Version::Cdf1,
            2 => Version::Cdf2,
            5 => Version::Cdf5,
            _ => return Err(PyValueError::new_err("a classic file has kind 1, 2 or 5")),
        };
        self.with(py, |staged| Ok(staged.set_kind(kind)?))
    }

    /// Returns the elements of a key. With `points`, its lists are broadcast against each other.
    fn get<'py>(
        &self,
        py: Python<'py>,
        variable: &str,
        key: &Bound<'py, PyAny>,
        points: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = self.array(py, variable)?;
        let key = array.key(key, points, false)?;
        let selection = key.any()?;
        let bytes = self.with(py, |staged| Ok(staged.get(variable, &selection)?))?;
        let found = decode::stored(py, array.ty, bytes, None, &key.shape)?;
        if key.scalar { found.get_item(PyTuple::empty(py)) } else { Ok(found) }
    }

    /// Writes values of the variable's type, which are broadcast to the elements of a key. Indices beyond the last record make the
    /// record dimension longer.
    fn set<'py>(
        &self,
        py: Python<'py>,
        variable: &str,
        key: &Bound<'py, PyAny>,
        points: bool,
        values: &Bound<'py, PyUntypedArray>,
    ) -> PyResult<()> {
        let array = self.array(py, variable)?;
        let key = array.key(key, points, true)?;
        let numpy = py.import("numpy")?;
        let all = numpy.call_method1("broadcast_to", (values, PyTuple::new(py, &key.shape)?))?;
        if key.elements() == 0 {
            return Ok(());
        }
        let needed = key.least_len();
        let big =
            numpy.call_method1("dtype", (type_name(array.ty),))?.call_method1("newbyteorder", (">",))?;
        let stage = |selection: &AnySelection<'_>, values: &Bound<'py, PyAny>| {
            let bytes = numpy.call_method1("ascontiguousarray", (values, &big))?;
            let bytes = bytes.call_method1("reshape", (-1,))?.call_method1("view", ("uint8",))?;
            let bytes: PyReadonlyArray1<'py, u8> = bytes.extract()?;
            let bytes = bytes.as_slice()?;
            // The first part makes room for all of them.
            self.with(py, |staged| Ok(staged.set_growing(variable, needed, selection, bytes)?))
        };
        let selection = key.any()?;
        if values.ndim() == 0 {
            return stage(&selection, values);
        }
        let AnySelection::Grid(_) = selection else { return stage(&selection, &all) };
        let parts = key.parts(PART)?;
        if parts.len() == 1 {
            return stage(&selection, &all);
        }
        let done: PyResult<()> = parts.into_iter().try_for_each(|(part, from, to)| {
            let rows = PySlice::new(py, isize::try_from(from)?, isize::try_from(to)?, 1);
            stage(&AnySelection::Grid(part), &all.get_item(rows)?)
        });
        if let (Err(_), Some(before)) = (&done, array.shape.first().filter(|len| **len < needed)) {
            self.resize(py, &array.names[0], *before)?;
        }
        done
    }

    /// Returns the plan of `set`, or of `get`.
    fn plan<'py>(
        &self,
        py: Python<'py>,
        variable: &str,
        key: &Bound<'py, PyAny>,
        points: bool,
        set: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let key = self.array(py, variable)?.key(key, points, false)?;
        let selection = key.any()?;
        let plan = self.with(py, |staged| {
            Ok(if set {
                staged.plan_set(variable, &selection)?
            } else {
                staged.plan_get(variable, &selection)?
            })
        });
        planned(py, plan?)
    }

    /// Returns the plan of changing the length of a dimension, for one variable.
    fn plan_resize<'py>(
        &self,
        py: Python<'py>,
        variable: &str,
        dimension: &str,
        len: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        planned(py, self.with(py, |staged| Ok(staged.plan_resize(variable, dimension, len)?))?)
    }

    /// Returns the plan of loading all of a variable into memory.
    fn plan_load<'py>(&self, py: Python<'py>, variable: &str) -> PyResult<Bound<'py, PyDict>> {
        planned(py, self.with(py, |staged| Ok(staged.plan_load(variable)?))?)
    }

    /// Returns the plan of a commit for a variable.
    fn plan_commit<'py>(&self, py: Python<'py>, variable: &str) -> PyResult<Bound<'py, PyDict>> {
        planned(py, self.with(py, |staged| Ok(staged.plan_commit(variable)?))?)
    }

    /// Appends the records of another file. Returns the numbers of records that were appended, that were
    /// replaced, and that existed already, and whether no coordinate orders them.
    fn append(
        &self,
        py: Python<'_>,
        more: &Dataset,
        keep_fixed: bool,
        any_units: bool,
        overlap: &str,
    ) -> PyResult<(u64, u64, u64, bool)> {
        let overlap = match overlap {
            "refuse" => Overlap::Refuse,
            "replace" => Overlap::Replace,
            "allow" => Overlap::Allow,
            other => {
                let words = format!("unknown overlap {other:?}; expected 'refuse', 'replace' or 'allow'");
                return Err(PyValueError::new_err(words));
            }
        };
        let policy = AppendPolicy { keep_fixed, any_units, overlap };
        let name = more.handle().origin.name().map(str::to_owned);
        let more = more.handle().dataset()?;
        let done = self.with(py, |staged| {
            staged.append_records(&more, policy, &()).map_err(|e| {
                if matches!(e.kind(), nc3z_writer::ErrorKind::Source(_)) {
                    Failure::Python(Failure::from(e).in_file(name.as_deref()))
                } else {
                    e.into()
                }
            })
        })?;
        Ok((done.appended, done.replaced, done.known, done.unordered))
    }

    /// Commits the staged edit as a new version. A dry run only returns what would be done.
    #[pyo3(signature = (note, digest, dry_run, parity, progress=None, cancel=None))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn commit<'py>(
        &self,
        py: Python<'py>,
        note: &Bound<'py, PyAny>,
        digest: bool,
        dry_run: bool,
        parity: bool,
        progress: Option<&Bound<'py, PyAny>>,
        cancel: Option<&Cancel>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let note = note.extract::<Note>()?.into();
        let total = self.with(py, |staged| Ok(staged.archive().trailer().original_len))?;
        let done = work::run(py, total.saturating_mul(3), progress, cancel, |watch| {
            let mut staged = self.locked();
            let edit = staged.take().ok_or_else(closed)?;
            let edit = edit.with_digest(digest).with_dry_run(dry_run).with_parity_renewed(parity);
            Ok(staged.insert(edit).commit(&note, watch)?)
        });
        committed(py, &done.map_err(|e| e.in_file(Some(&self.path)))?, digest)
    }

    /// Releases the lock, and discards the staged edit.
    fn close(&self, py: Python<'_>) {
        py.detach(|| *self.locked() = None);
    }
}

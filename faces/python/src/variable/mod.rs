//! `nc3z.Variable`: the metadata of a variable, and its elements as NumPy arrays.

use crate::attributes;
use crate::chunks;
use crate::decode;
use crate::handle::Handle;
use crate::key::{Axes, Key};
use crate::picture;
use nc3z_format::classic::VarId;
use nc3z_format::decode_value::Decoding;
use nc3z_format::{Hyperslab, NcType, with_type};
use nc3z_look::cost::Costs;
use nc3z_look::values;
use nc3z_plot as plot;
use nc3z_reader::convert::Element;
use nc3z_reader::{Dataset as ReaderDataset, Variable as ReaderVariable};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::sync::Arc;
use std::time::Instant;

mod arrays;

/// A variable of an open file. Nothing is read before it is indexed.
#[pyclass(frozen, weakref, module = "nc3z", name = "Variable")]
pub(crate) struct Variable {
    handle: Arc<Handle>,
    id: VarId,
    ty: NcType,
    shape: Vec<u64>,
    /// The variable's name.
    #[pyo3(get)]
    name: String,
    dimensions: Vec<String>,
}

impl Variable {
    pub(crate) fn new(handle: &Arc<Handle>, variable: &ReaderVariable) -> Self {
        Variable {
            handle: Arc::clone(handle),
            id: variable.id(),
            ty: variable.ty(),
            shape: variable.shape().to_vec(),
            name: variable.name().into_owned(),
            dimensions: variable.dimensions().map(|d| d.name_lossy().into_owned()).collect(),
        }
    }

    fn decoding(&self) -> PyResult<Decoding> {
        Ok(Decoding::new(self.handle.dataset()?.header(), self.reader()?.header()))
    }

    fn reader(&self) -> PyResult<ReaderVariable> {
        let variable = self.handle.dataset()?.variable_at(self.id);
        variable.ok_or_else(|| PyValueError::new_err("the file has changed: the variable is no longer there"))
    }

    /// The open file and the variable in it.
    pub(crate) fn opened(
        &self,
    ) -> PyResult<(Arc<impl std::ops::Deref<Target = ReaderDataset>>, ReaderVariable)> {
        Ok((self.handle.dataset()?, self.reader()?))
    }

    fn type_name(&self) -> &'static str {
        type_name(self.ty)
    }

    /// Parses a key; see [`Key::new`].
    fn key<'py>(&self, key: &Bound<'py, PyAny>, points: bool) -> PyResult<Key<'py>> {
        Key::new(key, points, Axes { names: &self.dimensions, shape: &self.shape, grows: false })
    }

    /// Parses a key that may be left out: then it selects everything.
    fn key_or_all<'py>(&self, key: Option<&Bound<'py, PyAny>>) -> PyResult<Key<'py>> {
        key.map_or_else(|| Ok(Key::all(&self.shape)), |key| self.key(key, false))
    }
}

/// Returns NumPy's name of a type.
pub(crate) fn type_name(ty: NcType) -> &'static str {
    match ty {
        NcType::Byte => "int8",
        NcType::Char => "S1",
        NcType::Short => "int16",
        NcType::Int => "int32",
        NcType::Float => "float32",
        NcType::Double => "float64",
        NcType::UByte => "uint8",
        NcType::UShort => "uint16",
        NcType::UInt => "uint32",
        NcType::Int64 => "int64",
        NcType::UInt64 => "uint64",
    }
}

#[pymethods]
impl Variable {
    /// NumPy type of the elements, in native byte order; "S1" for text.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static DTYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let name = if self.decodes() { decode::dtype(&self.decoding()?) } else { self.type_name() };
        DTYPE.import(py, "numpy", "dtype")?.call1((name,))
    }

    /// Lengths of the dimensions, slowest first; the number of records for the record dimension.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// Names of the dimensions, slowest first.
    #[getter]
    fn dimensions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.dimensions)
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> u128 {
        self.shape.iter().fold(1_u128, |n, len| n.saturating_mul(u128::from(*len)))
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> u128 {
        self.size().saturating_mul(self.ty.size() as u128)
    }

    /// Attributes: text as str, one number as a NumPy scalar, several as an array.
    #[getter]
    fn attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        attributes::dict(py, self.reader()?.attributes())
    }

    /// Names of the attributes.
    fn ncattrs(&self) -> PyResult<Vec<String>> {
        Ok(self.reader()?.attributes().iter().map(|a| a.name_lossy().into_owned()).collect())
    }

    /// One attribute.
    #[pyo3(signature = (name, /))]
    fn getncattr<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.__getattr__(py, name)
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let missing =
            || PyAttributeError::new_err(format!("variable {:?} has no attribute {name:?}", self.name));
        attributes::value(py, self.reader()?.attribute(name).ok_or_else(missing)?)
    }

    /// Shape of a tile, the unit of decoding, where tiles are boxes of the array; None otherwise, and for
    /// classic files.
    #[getter]
    fn tile_shape<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let dataset = self.handle.dataset()?;
        if dataset.archive().is_none() {
            return Ok(None);
        }
        let reader = self.reader()?;
        let tiling = reader.tiling().map_err(|e| self.handle.failure(e))?;
        chunks::tile_shape(&tiling).map(|shape| PyTuple::new(py, shape)).transpose()
    }

    /// Shape of boxes of whole tiles of about `nbytes` bytes, for dividing the array with Dask. The default
    /// is 32 MiB: the work on each box then takes much longer than its scheduling.
    #[pyo3(signature = (nbytes=33_554_432))]
    fn chunk_shape<'py>(&self, py: Python<'py>, nbytes: u64) -> PyResult<Bound<'py, PyTuple>> {
        let reader = self.reader()?;
        let tiling = reader.tiling().map_err(|e| self.handle.failure(e))?;
        PyTuple::new(py, chunks::chunk_shape(&tiling, self.ty.size() as u64, nbytes))
    }

    /// Reads the selection of a key: integers, slices with any step, an ellipsis; lists and masks as in
    /// netCDF4-python, each along its own dimension.
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.read_key(py, &self.key(key, false)?)
    }

    /// Reads the selection of a key (by default everything) as another type, or into the caller's array.
    #[pyo3(signature = (key=None, *, dtype=None, out=None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        key: Option<&Bound<'py, PyAny>>,
        dtype: Option<&Bound<'py, PyAny>>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let key = self.key_or_all(key)?;
        let Some(out) = out else {
            let Some(dtype) = dtype else { return self.read_key(py, &key) };
            if self.ty == NcType::Char || self.decodes() {
                return self.read_key(py, &key)?.call_method1("astype", (dtype,));
            }
            let wanted = py.import("numpy")?.getattr("dtype")?.call1((dtype,))?;
            let array = self.read_new(py, &key, &wanted.call_method1("newbyteorder", ("=",))?)?;
            return if key.scalar { array.get_item(PyTuple::empty(py)) } else { Ok(array) };
        };
        if dtype.is_some() {
            return Err(PyTypeError::new_err(
                "give dtype or out, not both: an output array has its own type",
            ));
        }
        let shape = out.cast::<PyUntypedArray>()?.shape().to_vec();
        if !shape.iter().map(|n| *n as u64).eq(key.shape.iter().copied()) {
            let words = format!("the selection has shape {:?}, the output array {shape:?}", key.shape);
            return Err(PyValueError::new_err(words));
        }
        if self.decodes() {
            decode::put(&self.read_key(py, &key)?, &out, &self.name)?;
            return Ok(out);
        }
        let is_text =
            self.ty == NcType::Char && out.getattr("dtype")?.getattr("itemsize")?.extract::<usize>()? == 1;
        let target = if is_text { out.call_method1("view", ("uint8",))? } else { out.clone() };
        self.read_to(&target, &key)?;
        Ok(out)
    }

    /// Reads a part by values of the coordinates: `sel(time="2000-01", lat=slice(30, 60))`. Numbers are
    /// values of the coordinate. Text and dates are times, in the coordinate's calendar. Both ends of a slice
    /// are included. Longitudes wrap. `box` is a region, (west, east, south, north) in degrees. On grids with
    /// arrays of latitudes and longitudes, the result is the smallest box of indices around the region, with
    /// the cells outside masked. All dimensions are kept.
    #[pyo3(signature = (*, r#box=None, **dims))]
    fn sel<'py>(
        &self,
        py: Python<'py>,
        r#box: Option<(f64, f64, f64, f64)>,
        dims: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reader = self.reader()?;
        let request = decode::request(r#box, dims)?;
        let selection = decode::select(py, &self.handle, &reader, &request)?;
        let bytes = py.detach(|| values::bytes(&reader, &selection)).map_err(|e| self.handle.failure(e))?;
        let (outside, shape) = (selection.outside(), selection.counts());
        if self.decodes() {
            return decode::elements(py, &self.decoding()?, &bytes, outside, &shape);
        }
        decode::stored(py, self.ty, bytes, outside, &shape)
    }

    /// A quick look at the selection of a key (by default everything), drawn as by `nc3z plot`: a map of the
    /// last two dimensions that are longer than one, or a series if there is only one. Returns the bytes of a
    /// PNG or SVG file.
    ///
    /// `colours` is the name of a map of colours (`viridis`, `cividis`, `magma`, `plasma`, `inferno`,
    /// `coolwarm`, each also reversed with `_r` appended). `diverging` puts 0 in the middle of the scale.
    /// `coastline=False` omits coastlines. `size=(1200, 800)` is used in place of `width`.
    #[pyo3(signature = (key=None, *, kind="png", width=1000, size=None, range=None, colours=None, diverging=false, coastline=true))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn picture<'py>(
        &self,
        py: Python<'py>,
        key: Option<&Bound<'py, PyAny>>,
        kind: &str,
        width: u32,
        size: Option<(u32, u32)>,
        range: Option<(f64, f64)>,
        colours: Option<&str>,
        diverging: bool,
        coastline: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let options = picture::Request { kind, width, size, range, colours, diverging, coastline };
        let (kind, options) = options.checked()?;
        let selection = self.key_or_all(key)?.selection()?;
        let name = self.handle.origin.name().unwrap_or_default();
        let file = name.rsplit('/').next().unwrap_or_default().to_owned();
        let (dataset, reader) = (self.handle.dataset()?, self.reader()?);
        let options = plot::Options { file, ..options };
        let drawn = py.detach(|| plot::draw(&dataset, &reader, &selection, kind, &options));
        Ok(PyBytes::new(py, &drawn.map_err(|e| self.handle.failure(e))?.bytes))
    }

    /// Stored bytes, and tiles by chain as text. None for a classic file, and for a URL, where this takes
    /// requests.
    fn _cost(&self, py: Python<'_>) -> PyResult<Option<(u64, String)>> {
        let dataset = self.handle.dataset()?;
        let Some(archive) = dataset.archive().filter(|archive| archive.identity().is_none()) else {
            return Ok(None);
        };
        let costs =
            py.detach(|| Costs::new(archive, archive.source())).map_err(|e| self.handle.failure(e))?;
        let cost = costs.variables.get(self.id.index());
        Ok(cost.map(|cost| (cost.bytes, cost.words(archive.chains()))))
    }

    /// True if reading takes requests.
    #[getter]
    fn _is_remote(&self) -> PyResult<bool> {
        Ok(self.handle.identity()?.is_some())
    }

    /// Time in seconds that the reader takes to read the selection of a key `times` times, without Python.
    /// `bench/python_access.py` compares it with the time of a call.
    #[pyo3(signature = (key, times, /))]
    fn _seconds(&self, py: Python<'_>, key: &Bound<'_, PyAny>, times: u32) -> PyResult<f64> {
        let key = self.key(key, false)?;
        let slab = key.slab().ok_or_else(|| PyTypeError::new_err("a key without lists is needed"))?;
        let reader = self.reader()?;
        with_type!(self.ty, T => py.detach(|| seconds::<T>(&reader, slab, times)))
            .map_err(|e| self.handle.failure(e))
    }

    #[pyo3(signature = (dtype=None, *, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err(
                "copy=False is not possible: a variable is read into a new array",
            ));
        }
        let array = self.read_key(py, &Key::all(&self.shape))?;
        match dtype {
            Some(dtype) => {
                let options = PyDict::new(py);
                options.set_item("copy", false)?;
                array.call_method("astype", (dtype,), Some(&options))
            }
            None => Ok(array),
        }
    }

    #[pyo3(signature = (**options))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.__array__(py, None, None)?.call_method("__dlpack__", (), options)
    }

    /// The device of the CPU, for `from_dlpack`.
    #[expect(clippy::unused_self, reason = "the protocol's method")]
    fn __dlpack_device__(&self) -> (i32, i32) {
        (1, 0)
    }

    fn __len__(&self) -> PyResult<usize> {
        let len =
            self.shape.first().ok_or_else(|| PyTypeError::new_err("a scalar variable has no length"))?;
        Ok(usize::try_from(*len)?)
    }

    /// Reads by indices along each dimension independently: lists, boolean arrays, slices, integers.
    #[getter]
    fn oindex(this: &Bound<'_, Self>) -> Indexer {
        Indexer { variable: this.clone().unbind(), points: false }
    }

    /// Reads points: integer arrays that are broadcast against each other, as in NumPy.
    #[getter]
    fn vindex(this: &Bound<'_, Self>) -> Indexer {
        Indexer { variable: this.clone().unbind(), points: true }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let reopen = py.import("nc3z._pickle")?.getattr("reopen_variable")?;
        Ok((reopen, (self.name.as_str(), self.handle.to_reopen(py)?).into_pyobject(py)?))
    }

    /// The name of Dask's data: it changes with the file, and with the fragments of an aggregation.
    fn __dask_tokenize__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, own) = (this.py(), this.borrow());
        // A file object stays in its process, and its data have the name of this object.
        let Ok(origin) = own.handle.to_reopen(py) else {
            return ("nc3z.Variable", own.name.as_str(), this.as_ptr() as usize).into_pyobject(py);
        };
        let (state, fragments) = (own.handle.state()?, own.handle.fragments_state(py, own.id)?);
        ("nc3z.Variable", own.name.as_str(), origin, state, fragments).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        let dims = self.dimensions.iter().zip(&self.shape).map(|(name, len)| format!("{name}={len}"));
        let dims = dims.collect::<Vec<_>>().join(", ");
        format!("<nc3z.Variable {:?}: {} ({dims})>", self.name, self.type_name())
    }

    fn _repr_html_<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("nc3z._show")?.getattr("variable_html")?.call1((this,))
    }
}

/// An object that is indexed in place of a variable.
#[pyclass(frozen, module = "nc3z", name = "Indexer")]
pub(crate) struct Indexer {
    variable: Py<Variable>,
    /// True if lists are broadcast against each other.
    points: bool,
}

#[pymethods]
impl Indexer {
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let variable = self.variable.get();
        variable.read_key(py, &variable.key(key, self.points)?)
    }
}

/// Reads the same selection into the same memory `times` times. Returns the seconds.
fn seconds<T: Element>(reader: &ReaderVariable, slab: &Hyperslab, times: u32) -> nc3z_reader::Result<f64> {
    let mut out: Vec<T> = reader.read(slab)?;
    let begin = Instant::now();
    for _ in 0..times {
        reader.read_into(slab, std::hint::black_box(&mut out[..]))?;
    }
    Ok(begin.elapsed().as_secs_f64())
}

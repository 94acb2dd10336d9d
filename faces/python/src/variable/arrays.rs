//! NumPy's arrays of a variable's elements.

use super::Variable;
use crate::decode;
use crate::key::Key;
use nc3z_format::{NcType, with_type};
use nc3z_reader::Variable as ReaderVariable;
use nc3z_reader::convert::Element;
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

/// Up to this number of elements, the array is allocated without checking that the file contains them.
const SMALL: u128 = 1 << 20;

/// Arrays of up to this number of bytes and dimensions are made by NumPy's C interface, which clears them.
/// That is faster than calling Python for an array that is not cleared.
const CLEARED: u128 = 16 << 10;
const CLEARED_RANK: usize = 8;

impl Variable {
    /// Returns whether elements are decoded. Text never is.
    pub(super) fn decodes(&self) -> bool {
        self.handle.how.decode && self.ty != NcType::Char
    }

    /// Allocates an array of the selection's shape and reads into it.
    pub(super) fn read_new<'py>(
        &self,
        py: Python<'py>,
        key: &Key<'_>,
        dtype: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        // A header may describe more elements than fit into memory, in a short file. That is reported before
        // NumPy allocates memory. Reading reports it as well, so that small reads skip this check.
        if key.elements() > SMALL {
            self.reader()?.check(&key.any()?).map_err(|e| self.handle.failure(e))?;
        }
        // Not zeros: a read writes every element, or it fails and the array is dropped. NumPy uses large
        // pages for it.
        let empty = EMPTY.import(py, "numpy", "empty")?;
        let shape = PyTuple::new(py, &key.shape)?;
        let array = empty.call1((shape, dtype))?;
        self.read_to(&array, key)?;
        Ok(array)
    }

    /// Like `read_new`, for few elements of the variable's own type.
    fn read_few<'py>(&self, py: Python<'py>, key: &Key<'_>) -> PyResult<Bound<'py, PyAny>> {
        let shape = key.shape.iter().map(|n| usize::try_from(*n)).collect::<Result<Vec<_>, _>>()?;
        let reader = self.reader()?;
        Ok(with_type!(self.ty, T => {
            let array = PyArrayDyn::<T>::zeros(py, &shape[..], false);
            self.fill::<T>(&reader, &array, key)?;
            array.into_any()
        }))
    }

    /// Reads into a contiguous array of any numeric type, or of bytes if the variable is text.
    pub(super) fn read_to(&self, array: &Bound<'_, PyAny>, key: &Key<'_>) -> PyResult<()> {
        let reader = self.reader()?;
        macro_rules! try_types {
            ($($rust:ty),+) => {$(
                if let Ok(typed) = array.cast::<PyArrayDyn<$rust>>() {
                    return self.fill::<$rust>(&reader, typed, key);
                }
            )+};
        }
        // The most frequent types first.
        try_types!(f32, f64, i16, i32, u8, i8, i64, u16, u32, u64);
        let dtype =
            array.getattr("dtype").and_then(|d| d.str()).map_or_else(|_| "?".to_owned(), |d| d.to_string());
        Err(PyTypeError::new_err(format!(
            "cannot read into an array of {dtype}: a native numeric type is needed"
        )))
    }

    fn fill<T: Element + numpy::Element>(
        &self,
        reader: &ReaderVariable,
        array: &Bound<'_, PyArrayDyn<T>>,
        key: &Key<'_>,
    ) -> PyResult<()> {
        let mut guard =
            array.try_readwrite().map_err(|e| PyValueError::new_err(format!("output array: {e}")))?;
        let out = guard
            .as_slice_mut()
            .map_err(|_| PyValueError::new_err("the output array is not C-contiguous"))?;
        let done = if let Some(slab) = key.slab() {
            array.py().detach(|| reader.read_into(slab, out))
        } else {
            let selection = key.any()?;
            array.py().detach(|| reader.gather_into(&selection, out))
        };
        done.map_err(|e| self.handle.failure(e))
    }

    /// NumPy's own object for the type in memory, bytes for text. No lookup by name is needed.
    fn descriptor<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        with_type!(self.ty, T => numpy::dtype::<T>(py)).into_any()
    }

    /// Reads the selection of a key, decoded or as stored, as the dataset was opened.
    pub(super) fn read_key<'py>(&self, py: Python<'py>, key: &Key<'_>) -> PyResult<Bound<'py, PyAny>> {
        if self.decodes() {
            let (reader, selection) = (self.reader()?, key.any()?);
            let bytes = py.detach(|| reader.gather_bytes(&selection)).map_err(|e| self.handle.failure(e))?;
            return decode::elements(py, &self.decoding()?, &bytes, None, &key.shape);
        }
        let bytes = key.elements().saturating_mul(self.ty.size() as u128);
        let mut array = if bytes <= CLEARED && key.shape.len() <= CLEARED_RANK {
            self.read_few(py, key)?
        } else {
            self.read_new(py, key, &self.descriptor(py))?
        };
        if self.ty == NcType::Char {
            array = array.call_method1("view", ("S1",))?;
        }
        if key.scalar { array.get_item(PyTuple::empty(py)) } else { Ok(array) }
    }
}

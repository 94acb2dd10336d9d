//! Converts keys of `variable[...]` to hyperslabs: integers, slices, an ellipsis.

use nc3z_format::Hyperslab;
use numpy::PyUntypedArray;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyList, PyRange, PySlice, PyTuple};

/// The selection of a key.
pub(crate) struct Selected {
    pub(crate) slab: Hyperslab,
    /// The shape of the result. Dimensions with an integer index are dropped.
    pub(crate) shape: Vec<u64>,
    /// True where a single element is returned as a scalar. With an ellipsis NumPy returns an array without
    /// dimensions.
    pub(crate) scalar: bool,
}

impl Selected {
    pub(crate) fn all(shape: &[u64]) -> Self {
        Selected { slab: Hyperslab::all(shape), shape: shape.to_vec(), scalar: false }
    }

    /// Number of elements.
    pub(crate) fn elements(&self) -> u128 {
        self.shape.iter().fold(1, |n, len| n.saturating_mul(u128::from(*len)))
    }
}

/// Parses a key for an array of `shape`.
pub(crate) fn parse(key: &Bound<'_, PyAny>, shape: &[u64]) -> PyResult<Selected> {
    let rank = shape.len();
    let mut found = Selected {
        slab: Hyperslab {
            start: Vec::with_capacity(rank),
            count: Vec::with_capacity(rank),
            stride: Vec::with_capacity(rank),
        },
        shape: Vec::with_capacity(rank),
        scalar: true,
    };
    let Ok(keys) = key.cast::<PyTuple>() else {
        add(&mut found, key, shape, rank)?;
        fill(&mut found, shape, rank);
        return Ok(found);
    };
    let given = keys.len();
    let mut ellipsis = false;
    for (n, key) in keys.iter().enumerate() {
        if key.is_instance_of::<PyEllipsis>() {
            if ellipsis {
                return Err(PyIndexError::new_err("an index can have one ellipsis ('...')"));
            }
            ellipsis = true;
        }
        add(&mut found, &key, shape, (rank + n + 1).saturating_sub(given))?;
    }
    fill(&mut found, shape, rank);
    Ok(found)
}

/// Adds one item of a key. An ellipsis selects all dimensions before number `until`.
fn add(found: &mut Selected, key: &Bound<'_, PyAny>, shape: &[u64], until: usize) -> PyResult<()> {
    if key.is_instance_of::<PyEllipsis>() {
        fill(found, shape, until);
        found.scalar = false;
        return Ok(());
    }
    let dim = found.slab.start.len();
    let Some(&len) = shape.get(dim) else {
        let words = format!("too many indices: the variable has {} dimensions", shape.len());
        return Err(PyIndexError::new_err(words));
    };
    if let Ok(slice) = key.cast::<PySlice>() {
        let indices = slice.indices(isize::try_from(len)?)?;
        let count = indices.slicelength;
        found.slab.start.push(if count == 0 { 0 } else { u64::try_from(indices.start)? });
        found.slab.count.push(u64::try_from(count)?);
        found.slab.stride.push(i64::try_from(indices.step)?);
        found.shape.push(u64::try_from(count)?);
        return Ok(());
    }
    let index = integer(key, dim, len)?;
    found.slab.start.push(index);
    found.slab.count.push(1);
    found.slab.stride.push(1);
    Ok(())
}

/// Selects all indices of the dimensions before number `until`.
fn fill(found: &mut Selected, shape: &[u64], until: usize) {
    for &len in shape.iter().take(until).skip(found.slab.start.len()) {
        found.slab.start.push(0);
        found.slab.count.push(len);
        found.slab.stride.push(1);
        found.shape.push(len);
    }
}

/// Returns whether a key has lists or masks among its items.
pub(crate) fn has_lists(key: &Bound<'_, PyAny>) -> bool {
    let is_list = |key: &Bound<'_, PyAny>| {
        key.is_instance_of::<PyList>()
            || key.cast::<PyUntypedArray>().is_ok_and(|a| numpy::PyUntypedArrayMethods::ndim(a) > 0)
            || key.hasattr("__array__").unwrap_or(false) && key.len().is_ok()
            || key.is_instance_of::<PyRange>()
    };
    match key.cast::<PyTuple>() {
        Ok(keys) => keys.iter().any(|key| is_list(&key)),
        Err(_) => is_list(key),
    }
}

fn integer(key: &Bound<'_, PyAny>, dim: usize, len: u64) -> PyResult<u64> {
    let is_sequence = key.is_instance_of::<PyList>()
        || key.cast::<PyUntypedArray>().is_ok_and(|a| numpy::PyUntypedArrayMethods::ndim(a) > 0);
    if is_sequence || key.is_none() || key.is_instance_of::<PyBool>() {
        return Err(PyIndexError::new_err(format!(
            "dimension {dim}: integers, slices and '...' are indices here; v[...] and .oindex take lists and boolean arrays along each \
             dimension, .vindex takes points"
        )));
    }
    let index: i64 = key.extract().map_err(|_| {
        let kind = key.get_type().name().map_or_else(|_| "that".to_owned(), |n| n.to_string());
        PyTypeError::new_err(format!("dimension {dim}: an index is an integer, a slice or '...', not {kind}"))
    })?;
    let found = if index < 0 { len.checked_sub(index.unsigned_abs()) } else { Some(index.unsigned_abs()) };
    found.filter(|i| *i < len).ok_or_else(|| {
        PyIndexError::new_err(format!("index {index} is outside dimension {dim} of length {len}"))
    })
}

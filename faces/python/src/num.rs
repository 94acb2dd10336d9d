//! The numeric codec alone, for codecs of other formats (`nc3z/zarr.py`, `nc3z/numcodecs.py`).

use crate::error::exception;
use nc3z_num::{
    Effort, ElementType, EncodePlan, Error, Geometry, MAX_ELEMENTS, Scratch, Width, choose, decode, encode,
};
use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::cell::RefCell;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new());
}

/// Parses an element type given by NumPy's kind and size, such as `f4`.
fn element_type(name: &str) -> PyResult<ElementType> {
    Ok(match name {
        "i1" => ElementType::I8,
        "u1" => ElementType::U8,
        "i2" => ElementType::I16,
        "u2" => ElementType::U16,
        "i4" => ElementType::I32,
        "u4" => ElementType::U32,
        "i8" => ElementType::I64,
        "u8" => ElementType::U64,
        "f4" => ElementType::F32,
        "f8" => ElementType::F64,
        _ => return Err(PyTypeError::new_err(format!("nc3z.num does not encode elements of type {name:?}"))),
    })
}

fn failure(e: &Error) -> PyErr {
    match e {
        Error::Corrupt { .. } => exception("CorruptError", e.to_string()),
        Error::Unsupported(_) => exception("UnsupportedError", e.to_string()),
        _ => PyValueError::new_err(e.to_string()),
    }
}

/// Checks that the product of the lengths equals the number of elements.
fn check_shape(shape: &[u64], elements: usize) -> PyResult<()> {
    let product = shape.iter().try_fold(1_u64, |n, len| n.checked_mul(*len));
    if product != Some(elements as u64) || elements > MAX_ELEMENTS {
        return Err(PyValueError::new_err(format!(
            "{elements} elements do not fill a tile of shape {shape:?}"
        )));
    }
    Ok(())
}

/// Returns the smallest payload of the plans tried. No plan uses a dictionary, which would be stored outside
/// the payload.
fn encoded<W: Width>(
    data: &[W],
    ty: ElementType,
    shape: &[u64],
    effort: Effort,
    fill: Option<u64>,
) -> Result<Vec<u8>, Error> {
    let geometry = Geometry::new(shape);
    let fills: Vec<W> = fill.map(W::from_u64).into_iter().collect();
    let mut plans = choose(&[data], ty, &geometry, effort, &fills)?.plans;
    plans.retain(|plan| plan.dictionary().is_none());
    plans.truncate(if effort == Effort::Fast { 1 } else { 3 });
    plans.push(EncodePlan::default());
    let mut best: Option<Vec<u8>> = None;
    SCRATCH.with_borrow_mut(|scratch| {
        for plan in &plans {
            let mut payload = Vec::new();
            encode(data, ty, &geometry, plan, scratch, &mut payload)?;
            if best.as_ref().is_none_or(|best| payload.len() < best.len()) {
                best = Some(payload);
            }
        }
        Ok(best.unwrap_or_default())
    })
}

/// Encodes an array of bit patterns (unsigned integers) of elements of type `ty` and of `shape`.
#[pyfunction]
#[pyo3(signature = (patterns, ty, shape, effort, fill=None, /))]
pub(crate) fn num_encode<'py>(
    py: Python<'py>,
    patterns: &Bound<'py, PyAny>,
    ty: &str,
    shape: Vec<u64>,
    effort: &str,
    fill: Option<u64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let ty = element_type(ty)?;
    let effort = match effort {
        "fast" => Effort::Fast,
        "default" => Effort::Default,
        "max" => Effort::Max,
        _ => {
            let words = format!("unknown level {effort:?}; expected \"fast\", \"default\" or \"max\"");
            return Err(PyValueError::new_err(words));
        }
    };
    macro_rules! try_types {
        ($($rust:ty),+) => {$(
            if let Ok(array) = patterns.extract::<PyReadonlyArrayDyn<'_, $rust>>() {
                let data = array.as_slice().map_err(|e| PyValueError::new_err(e.to_string()))?;
                check_shape(&shape, data.len())?;
                let done = py.detach(|| encoded::<$rust>(data, ty, &shape, effort, fill));
                return Ok(PyBytes::new(py, &done.map_err(|e| failure(&e))?));
            }
        )+};
    }
    try_types!(u8, u16, u32, u64);
    Err(PyTypeError::new_err("bit patterns are unsigned integers"))
}

/// Decodes a payload into an array of bit patterns (unsigned integers).
#[pyfunction]
#[pyo3(signature = (payload, ty, shape, out, /))]
pub(crate) fn num_decode(
    py: Python<'_>,
    payload: PyBackedBytes,
    ty: &str,
    shape: Vec<u64>,
    out: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let ty = element_type(ty)?;
    macro_rules! try_types {
        ($($rust:ty),+) => {$(
            if let Ok(array) = out.cast::<PyArrayDyn<$rust>>() {
                let mut guard = array.try_readwrite().map_err(|e| PyValueError::new_err(e.to_string()))?;
                let out = guard.as_slice_mut().map_err(|e| PyValueError::new_err(e.to_string()))?;
                check_shape(&shape, out.len())?;
                let geometry = Geometry::new(&shape);
                let done = py.detach(|| {
                    SCRATCH.with_borrow_mut(|scratch| decode(&payload, ty, &geometry, None, scratch, out))
                });
                return done.map_err(|e| failure(&e));
            }
        )+};
    }
    try_types!(u8, u16, u32, u64);
    Err(PyTypeError::new_err("bit patterns are unsigned integers"))
}

//! Attributes and names as Python values, in the form of netCDF4-python.

use nc3z_collections::collection::c_names;
use nc3z_format::classic::Attribute;
use nc3z_format::{NcType, with_type};
use nc3z_reader::convert::Element;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

/// Returns all attributes of a list, in stored order. Of two with the same name, the first.
pub(crate) fn dict<'py>(py: Python<'py>, attributes: &[Attribute]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for attribute in attributes {
        let name = attribute.name_lossy();
        if !dict.contains(&*name)? {
            dict.set_item(&*name, value(py, attribute)?)?;
        }
    }
    Ok(dict)
}

/// Like [`dict`], with names that end at a NUL, as in the C library; unchanged where two would become equal.
pub(crate) fn c_dict<'py>(py: Python<'py>, attributes: &[Attribute]) -> PyResult<Bound<'py, PyDict>> {
    let stored = dict(py, attributes)?;
    let names = c_names(stored.keys().iter().map(|name| name.extract()).collect::<PyResult<_>>()?);
    let named = PyDict::new(py);
    names.iter().zip(stored.values()).try_for_each(|(name, value)| named.set_item(name, value))?;
    Ok(named)
}

/// Returns text as `str`, a single number as a NumPy scalar, several as an array. The `_FillValue` of text
/// stays bytes.
pub(crate) fn value<'py>(py: Python<'py>, attribute: &Attribute) -> PyResult<Bound<'py, PyAny>> {
    let bytes = &attribute.values;
    match attribute.ty {
        NcType::Char if attribute.name == b"_FillValue" => Ok(PyBytes::new(py, bytes).into_any()),
        NcType::Char => {
            let text = String::from_utf8_lossy(bytes).replace('\0', "");
            Ok(PyString::new(py, &text).into_any())
        }
        ty => with_type!(ty, T => numbers::<T>(py, bytes)),
    }
}

fn numbers<'py, T: Element + numpy::Element>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let array = PyArray1::from_iter(py, T::split(bytes).iter().map(|b| T::from_be(*b)));
    if array.len()? == 1 { array.as_any().get_item(0) } else { Ok(array.into_any()) }
}

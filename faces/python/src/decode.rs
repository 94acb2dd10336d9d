//! Decoded values as NumPy's masked arrays; parts of variables by values, dates and regions.

use crate::handle::Handle;
use crate::variable::type_name;
use nc3z_format::NcType;
use nc3z_format::decode_value::{Decoding, Number, Shown, Value};
use nc3z_format::units::{Calendar, Period};
use nc3z_look::selection::{
    Bound as Limit, BoxArg, DimArg, Error as SelectionError, RangeArg, Request, Selection,
};
use nc3z_reader::Variable;
use numpy::{Element, PyArray1};
use pyo3::exceptions::{PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyEllipsis, PySlice, PyString, PyTuple};

/// The NumPy type for ISO text of any time: years have at most seven digits, and a sign.
const TIME_TEXT: &str = "<U32";

/// Returns the NumPy type of decoded values. If one time in the standard calendar is before 1582-10-15, all
/// times of the same read become text.
pub(crate) fn dtype(decoding: &Decoding) -> &'static str {
    if let Some(time) = decoding.time() {
        return if is_numpys(time.calendar()) { "datetime64[us]" } else { TIME_TEXT };
    }
    match decoding.shown() {
        Shown::Single | Shown::AsStored(NcType::Float) => "float32",
        Shown::Double | Shown::AsStored(NcType::Double) => "float64",
        Shown::AsStored(ty) => match ty {
            NcType::Byte => "int8",
            NcType::Short => "int16",
            NcType::Int => "int32",
            NcType::Int64 => "int64",
            NcType::UShort => "uint16",
            NcType::UInt => "uint32",
            NcType::UInt64 => "uint64",
            _ => "uint8",
        },
    }
}

/// Returns true for calendars that `datetime64` supports.
fn is_numpys(calendar: Calendar) -> bool {
    matches!(calendar, Calendar::Standard | Calendar::ProlepticGregorian)
}

/// Returns big-endian elements as a masked array of decoded values. Those `outside` are masked, too.
pub(crate) fn elements<'py>(
    py: Python<'py>,
    decoding: &Decoding,
    bytes: &[u8],
    outside: Option<Vec<bool>>,
    shape: &[u64],
) -> PyResult<Bound<'py, PyAny>> {
    let size = decoding.ty().size();
    let mask: Vec<bool> = py.detach(|| {
        let outside = outside.unwrap_or_default();
        let items = bytes.chunks_exact(size).enumerate();
        items.map(|(n, item)| outside.get(n) == Some(&true) || decoding.is_missing(item)).collect()
    });
    if decoding.time().is_some() {
        return times(py, decoding, bytes, mask, shape);
    }
    macro_rules! whole {
        ($t:ty) => {
            array(py, bytes, size, mask, shape, |item| match decoding.stored(item) {
                Number::Whole(n) => <$t>::try_from(n).unwrap_or_default(),
                Number::Real(_) => <$t>::default(),
            })
        };
    }
    match decoding.shown() {
        #[expect(clippy::cast_possible_truncation, reason = "stored or computed as a float")]
        Shown::Single | Shown::AsStored(NcType::Float) => {
            array(py, bytes, size, mask, shape, |item| decoding.unpacked(item) as f32)
        }
        Shown::Double | Shown::AsStored(NcType::Double) => {
            array(py, bytes, size, mask, shape, |item| decoding.unpacked(item))
        }
        Shown::AsStored(ty) => match ty {
            NcType::Byte => whole!(i8),
            NcType::Short => whole!(i16),
            NcType::Int => whole!(i32),
            NcType::Int64 => whole!(i64),
            NcType::UShort => whole!(u16),
            NcType::UInt => whole!(u32),
            NcType::UInt64 => whole!(u64),
            _ => whole!(u8),
        },
    }
}

/// Returns masked elements of any type.
fn array<'py, T: Element + Send>(
    py: Python<'py>,
    bytes: &[u8],
    size: usize,
    mask: Vec<bool>,
    shape: &[u64],
    value: impl Fn(&[u8]) -> T + Sync,
) -> PyResult<Bound<'py, PyAny>> {
    let data: Vec<T> = py.detach(|| bytes.chunks_exact(size).map(&value).collect());
    masked(py, PyArray1::from_vec(py, data).into_any(), mask, shape)
}

fn masked<'py>(
    py: Python<'py>,
    data: Bound<'py, PyAny>,
    mask: Vec<bool>,
    shape: &[u64],
) -> PyResult<Bound<'py, PyAny>> {
    let shape = PyTuple::new(py, shape)?;
    let data = data.call_method1("reshape", (&shape,))?;
    let mask = PyArray1::from_vec(py, mask).call_method1("reshape", (&shape,))?;
    let options = PyDict::new(py);
    options.set_item("mask", mask)?;
    py.import("numpy")?.getattr("ma")?.call_method("array", (data,), Some(&options))
}

/// Copies decoded values into the caller's array: with their mask, or without one if nothing is masked.
pub(crate) fn put(values: &Bound<'_, PyAny>, out: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
    let masked = values.py().import("numpy")?.getattr("ma")?;
    let takes_mask = out.is_instance(&masked.getattr("MaskedArray")?)?;
    if !takes_mask && masked.call_method1("is_masked", (values,))?.is_truthy()? {
        let words =
            format!("{name}: missing values are among these, for which `out` has to be a masked array");
        return Err(PyValueError::new_err(words));
    }
    out.set_item(PyEllipsis::get(values.py()), values)
}

/// Returns times as `datetime64` in microseconds if NumPy supports the calendar and all dates, otherwise as
/// ISO text.
fn times<'py>(
    py: Python<'py>,
    decoding: &Decoding,
    bytes: &[u8],
    mask: Vec<bool>,
    shape: &[u64],
) -> PyResult<Bound<'py, PyAny>> {
    let found: Vec<Value> =
        bytes.chunks_exact(decoding.ty().size()).map(|item| decoding.value(item)).collect();
    let unix = |value: &Value| match value {
        Value::Missing => Some(i64::MIN),
        Value::Time(moment) => moment.unix_microseconds(),
        _ => None,
    };
    let is_numpys = decoding.time().is_some_and(|time| is_numpys(time.calendar()));
    if is_numpys && let Some(all) = found.iter().map(unix).collect::<Option<Vec<i64>>>() {
        let data = PyArray1::from_vec(py, all).call_method1("view", ("datetime64[us]",))?;
        return masked(py, data, mask, shape);
    }
    let words: Vec<String> = found.iter().map(ToString::to_string).collect();
    masked(py, py.import("numpy")?.call_method1("array", (words, TIME_TEXT))?, mask, shape)
}

/// Parses the arguments of `sel`.
pub(crate) fn request(
    region: Option<(f64, f64, f64, f64)>,
    dims: Option<&Bound<'_, PyDict>>,
) -> PyResult<Request> {
    let region = region.map(|(west, east, south, north)| {
        // The same checks as on the command line.
        format!("{west:?},{east:?},{south:?},{north:?}").parse::<BoxArg>().map_err(PyValueError::new_err)
    });
    let mut asked = Vec::new();
    for (name, value) in dims.into_iter().flatten() {
        let name: String = name.extract()?;
        let (range, step) = if let Ok(slice) = value.cast::<PySlice>() {
            let end = |name: &str| slice.getattr(name).and_then(|end| limit(&end));
            let step: Option<i64> = slice.getattr("step")?.extract()?;
            (RangeArg::Between(end("start")?, end("stop")?), step.unwrap_or(1))
        } else {
            let at = limit(&value)?.ok_or_else(|| {
                PyTypeError::new_err(format!("{name}: the selection is None; expected a value or a slice"))
            })?;
            (RangeArg::At(at), 1)
        };
        if step == 0 {
            return Err(PyValueError::new_err(format!("{name}: the step must not be 0")));
        }
        asked.push(DimArg { name, range, step });
    }
    Ok(Request { dims: asked, region: region.transpose()? })
}

/// Converts a limit. A number is a value of the coordinate; text, `date`, `datetime` and `datetime64` are
/// dates.
fn limit(value: &Bound<'_, PyAny>) -> PyResult<Option<Limit>> {
    if value.is_none() {
        return Ok(None);
    }
    // NumPy's dates in nanoseconds would become numbers.
    let kind = value.getattr("dtype").and_then(|dtype| dtype.getattr("kind")?.extract::<char>());
    let is_date = kind.is_ok_and(|kind| kind == 'M');
    if !value.is_instance_of::<PyString>()
        && !value.is_instance_of::<PyBool>()
        && !is_date
        && let Ok(number) = value.extract::<f64>()
    {
        return if number.is_finite() {
            Ok(Some(Limit::Value(number)))
        } else {
            Err(PyValueError::new_err(format!("{number} is not a coordinate value")))
        };
    }
    // The text of an array without dimensions is that of its element; xarray's arrays have texts of their own.
    let text = if is_date {
        value.py().import("numpy")?.call_method1("asarray", (value,))?.str()?.to_string()
    } else {
        value.str()?.to_string()
    };
    text.parse::<Period>().map(|period| Some(Limit::Date(period))).map_err(PyValueError::new_err)
}

/// Returns the selected part of a variable. Notes become warnings.
pub(crate) fn select(
    py: Python<'_>,
    handle: &Handle,
    variable: &Variable,
    request: &Request,
) -> PyResult<Selection> {
    let dataset = handle.dataset()?;
    let mut notes = Vec::new();
    let found = py.detach(|| request.of(&dataset, variable, &mut notes)).map_err(|e| match e {
        SelectionError::Read { source, .. } => handle.failure(source),
        e => PyValueError::new_err(e.to_string()),
    })?;
    for note in notes {
        PyErr::warn(
            py,
            &py.get_type::<PyUserWarning>(),
            &std::ffi::CString::new(note.replace('\0', " "))?,
            1,
        )?;
    }
    Ok(found)
}

/// Returns big-endian elements as stored: a plain array, masked only if some are `outside` of a region.
pub(crate) fn stored<'py>(
    py: Python<'py>,
    ty: NcType,
    bytes: Vec<u8>,
    outside: Option<Vec<bool>>,
    shape: &[u64],
) -> PyResult<Bound<'py, PyAny>> {
    let native = py.import("numpy")?.call_method1("dtype", (type_name(ty),))?;
    let big = native.call_method1("newbyteorder", (">",))?;
    let array =
        PyArray1::from_vec(py, bytes).call_method1("view", (big,))?.call_method1("astype", (native,))?;
    match outside {
        None => array.call_method1("reshape", (PyTuple::new(py, shape)?,)),
        Some(mask) => masked(py, array, mask, shape),
    }
}

//! Times as whole numbers that can be compared, whatever unit, date or century they count from.

use nc3z_format::units::{Calendar, TimeUnit};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Converts times to microseconds since 1970-01-01 in their calendar.
#[pyfunction]
pub(crate) fn microseconds<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    units: &str,
    calendar: &str,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let known = Calendar::new(Some(calendar))
        .ok_or_else(|| PyValueError::new_err(format!("unknown calendar {calendar:?}")))?;
    let unit = TimeUnit::parse(units, known).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let zero = TimeUnit::days(known).moment(0.0).expect("every calendar has this day");
    let moments: Vec<_> = if let Ok(whole) = values.extract::<PyReadonlyArray1<'_, i64>>() {
        whole.as_array().iter().map(|n| unit.moment_of_integer(i128::from(*n))).collect()
    } else {
        let real = values.extract::<PyReadonlyArray1<'_, f64>>()?;
        real.as_array().iter().map(|x| unit.moment(*x)).collect()
    };
    let since = |moment: Option<_>| {
        let found = moment.and_then(|moment: nc3z_format::units::Moment| {
            i64::try_from(moment.microseconds_from(&zero)).ok()
        });
        found
            .ok_or_else(|| PyValueError::new_err("one of the times is missing or outside the range of dates"))
    };
    let found = moments.into_iter().map(since).collect::<PyResult<Vec<_>>>()?;
    Ok(PyArray1::from_vec(py, found))
}

//! The netCDF library's error codes (`netcdf.h`), and their assignment to errors.

use nc3z_c_common::{Fault, words};
use nc3z_reader::{Error, ErrorKind};
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) const BAD_ID: c_int = -33;
pub(crate) const INVALID: c_int = -36;
pub(crate) const READ_ONLY: c_int = -37;
pub(crate) const OUTSIDE: c_int = -40;
pub(crate) const NO_ATTRIBUTE: c_int = -43;
pub(crate) const BAD_TYPE: c_int = -45;
pub(crate) const BAD_DIMENSION: c_int = -46;
pub(crate) const NO_VARIABLE: c_int = -49;
pub(crate) const NOT_NETCDF: c_int = -51;
pub(crate) const TEXT: c_int = -56;
pub(crate) const EDGE: c_int = -57;
pub(crate) const STRIDE: c_int = -58;
pub(crate) const BAD_NAME: c_int = -59;
pub(crate) const RANGE: c_int = -60;
pub(crate) const NO_MEMORY: c_int = -61;
pub(crate) const TRUNCATED: c_int = -64;
pub(crate) const IO: c_int = -68;
pub(crate) const INTERNAL: c_int = -92;
pub(crate) const NOT_NETCDF4: c_int = -111;
pub(crate) const NO_GROUP: c_int = -125;
pub(crate) const NOT_BUILT: c_int = -128;
pub(crate) const NO_FILTER: c_int = -136;

/// A code, as an error.
pub(crate) type Result<T = ()> = std::result::Result<T, c_int>;

/// Runs an entry of the table. A panic, which would be a defect, becomes a code: none may cross into C.
pub(crate) fn entry(work: impl FnOnce() -> Result) -> c_int {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code,
        Err(_) => INTERNAL,
    }
}

/// Returns the code of a refused or failed request.
pub(crate) fn of_fault(fault: &Fault) -> c_int {
    match fault {
        Fault::Coordinates => OUTSIDE,
        Fault::Edge => EDGE,
        Fault::Stride => STRIDE,
        Fault::Text => TEXT,
        Fault::Type => BAD_TYPE,
        Fault::Buffer { .. } => INVALID,
        Fault::TooLarge => NO_MEMORY,
        Fault::Reader(e) => {
            log(&words(e));
            of_reader(e)
        }
    }
}

/// Returns the code of an error while opening. Positive codes are the system's.
pub(crate) fn of_open(name: &str, e: &Error) -> c_int {
    log(&format!("{name}: {}", words(e)));
    match e.kind() {
        ErrorKind::Format(e) if e.is_corrupt() => NOT_NETCDF,
        _ => of_reader(e),
    }
}

fn of_reader(e: &Error) -> c_int {
    match e.kind() {
        ErrorKind::Io { source, .. } => source.raw_os_error().unwrap_or(IO),
        ErrorKind::Incomplete { .. } => TRUNCATED,
        ErrorKind::Range { .. } => RANGE,
        _ if e.is_unsupported() => NOT_BUILT,
        _ if e.is_corrupt() => IO,
        _ => INVALID,
    }
}

/// Writes to standard error if the environment requests it.
pub(crate) fn log(words: &str) {
    if std::env::var_os("NC3Z_LOG").is_some_and(|set| !set.is_empty() && set != "0") {
        eprintln!("nc3z: {words}");
    }
}

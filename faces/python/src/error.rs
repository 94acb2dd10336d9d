//! Errors as Python's exceptions, by the family that callers act on. The classes are in `nc3z/_errors.py`.

use nc3z::Name;
use nc3z::opener::{Elsewhere, Kind, Opener, WrongKind};
use nc3z_format::ErrorKind as FormatKind;
use nc3z_format::url::hidden_in;
use nc3z_reader::{Error as ReadError, ErrorKind as ReadKind, OpenOptions};
use nc3z_writer::{Advice, Error as WriteError, ErrorKind as WriteKind};
use pyo3::exceptions::{PyException, PyFileExistsError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::io::ErrorKind;
use std::path::Path;

/// An error of any of the libraries.
#[derive(Debug)]
pub(crate) enum Failure {
    Read(ReadError),
    Write(WriteError),
    /// The file does not support the request; the text gives the reason.
    Unfit(String),
    /// A Python exception was already raised: by a signal, a callback, an argument.
    Python(PyErr),
}

impl From<ReadError> for Failure {
    fn from(e: ReadError) -> Self {
        Failure::Read(e)
    }
}

impl From<nc3z_format::Error> for Failure {
    fn from(e: nc3z_format::Error) -> Self {
        Failure::Read(e.into())
    }
}

impl From<nc3z_plot::Error> for Failure {
    fn from(e: nc3z_plot::Error) -> Self {
        match e {
            nc3z_plot::Error::Read(e) => Failure::Read(e),
            other => Failure::Unfit(other.to_string()),
        }
    }
}

impl From<nc3z_zarr::Error> for Failure {
    fn from(e: nc3z_zarr::Error) -> Self {
        match e {
            nc3z_zarr::Error::Read(e) => Failure::Read(e),
            nc3z_zarr::Error::InVariable { variable, source } => match Failure::from(*source) {
                Failure::Unfit(words) => Failure::Unfit(format!("variable `{variable}`: {words}")),
                other => other,
            },
            other => Failure::Unfit(other.to_string()),
        }
    }
}

impl From<WriteError> for Failure {
    fn from(e: WriteError) -> Self {
        Failure::Write(e)
    }
}

impl From<PyErr> for Failure {
    fn from(e: PyErr) -> Self {
        Failure::Python(e)
    }
}

impl Failure {
    /// Converts to an exception. Adds `file` where the message does not name it.
    pub(crate) fn in_file(self, file: Option<&str>) -> PyErr {
        let code = self.code();
        let raised = self.raised(file);
        if let Some(code) = code {
            Python::attach(|py| {
                // Those that end the program, such as `SystemExit`, have a code of their own.
                if raised.is_instance_of::<PyException>(py) {
                    let _ = raised.value(py).setattr("code", code);
                }
            });
        }
        raised
    }

    /// Returns the stable code of the error. None for an exception of Python.
    fn code(&self) -> Option<&'static str> {
        match self {
            Failure::Read(e) => Some(e.code()),
            Failure::Write(e) => Some(e.code()),
            Failure::Unfit(_) => Some("argument"),
            Failure::Python(_) => None,
        }
    }

    fn raised(self, file: Option<&str>) -> PyErr {
        match self {
            Failure::Python(e) => e,
            Failure::Unfit(words) => PyValueError::new_err(named(words, file)),
            Failure::Read(e) => read(&e, file),
            Failure::Write(e) => match e.kind() {
                WriteKind::Read(inner) | WriteKind::Source(inner) => read(inner, file),
                WriteKind::Exists(path) => {
                    let advice = in_python(Advice::Replace).unwrap_or_default();
                    let words = format!("`{}` exists; {advice}", path.display());
                    PyFileExistsError::new_err(hidden_in(&words))
                }
                WriteKind::Io { path, source, what } => io(what, Some(path), source, file),
                WriteKind::Proof { .. } => exception("CorruptError", named(e.to_string(), file)),
                WriteKind::SourceChanged { .. } | WriteKind::Busy(_) | WriteKind::LockLost { .. } => {
                    exception("Error", named(e.to_string(), file))
                }
                WriteKind::Interrupted => exception("Cancelled", named(e.to_string(), file)),
                _ => {
                    let advice = e
                        .advice()
                        .and_then(in_python)
                        .map_or_else(String::new, |advice| format!("; {advice}"));
                    PyValueError::new_err(named(format!("{e}{advice}"), file))
                }
            },
        }
    }
}

impl From<Failure> for PyErr {
    fn from(e: Failure) -> Self {
        e.in_file(None)
    }
}

fn read(e: &ReadError, file: Option<&str>) -> PyErr {
    let words = || named(e.with_causes(), file);
    if let Some(wrong) = WrongKind::within(e) {
        return wrong_kind(wrong);
    }
    match e.kind() {
        ReadKind::Format(inner) => match inner.kind() {
            FormatKind::Corrupt { .. } | FormatKind::Truncated { .. } => exception("CorruptError", words()),
            FormatKind::Unsupported { .. } => exception("UnsupportedError", words()),
            FormatKind::Limit { .. } => exception("LimitError", words()),
            _ => PyValueError::new_err(words()),
        },
        ReadKind::Io { path, source, what } => io(what, path.as_deref(), source, file),
        ReadKind::Replaced { .. } => exception("ReplacedError", words()),
        ReadKind::Digest { .. }
        | ReadKind::OlderState { .. }
        | ReadKind::NewestUnknown { .. }
        | ReadKind::NewestLost { .. }
        | ReadKind::Incomplete { .. }
        | ReadKind::Unverified { .. } => exception("CorruptError", words()),
        ReadKind::Range { variable, index, value, wanted } => {
            let words = format!("{variable}, element {index:?}: {value} does not fit {}", numpy_name(wanted));
            exception("RangeError", named(words, file))
        }
        ReadKind::Interrupted => exception("Cancelled", words()),
        // Errors of an aggregation, and others.
        _ => {
            let advice = nc3z_collections::Error::advice_in(e).and_then(in_python);
            let advice = advice.map_or_else(String::new, |advice| format!("; {advice}"));
            exception("Error", format!("{}{advice}", words()))
        }
    }
}

/// Returns the exception for an input of another kind, with the call that takes it.
fn wrong_kind(wrong: &WrongKind) -> PyErr {
    let name = &wrong.name;
    let advice = match (wrong.kind, wrong.needed) {
        (Kind::Classic, Kind::Archive) => format!("nc3z.archive({name:?}, ...) makes one of it"),
        (Kind::Bundle, _) => {
            let first = wrong.first.as_deref().unwrap_or("NAME");
            let member = format!("{name}!/{first}");
            format!("open one of its files as {member:?}, or all with nc3z.open_collection({name:?})")
        }
        (Kind::Catalog | Kind::Tree, _) => format!("nc3z.open_collection({name:?}) opens its files"),
        _ => String::new(),
    };
    if wrong.kind == Kind::Tree {
        return PyOSError::new_err((21, format!("{}; {advice}", wrong.kind), name.clone()));
    }
    exception("UnsupportedError", hidden_in(&format!("{wrong}; {advice}")))
}

/// Returns the exception for a file that a call could not use. An input that is not a whole file on this machine, or of another kind than
/// is needed, is named.
pub(crate) fn of_file(path: &Path, needed: Kind, e: impl Into<Failure>) -> PyErr {
    let e = e.into().in_file(Some(&path.to_string_lossy()));
    let Ok(name) = Name::from_path(path) else { return e };
    let words = match (name.elsewhere(), needed) {
        (None, _) => {
            let opener = Opener::new(OpenOptions::default().with_mmap(false));
            let found = match needed {
                Kind::Archive => opener.archive(&name).err(),
                _ => opener.stored(&name).err(),
            };
            return found.as_ref().and_then(WrongKind::within).map_or(e, wrong_kind);
        }
        (Some(Elsewhere::Url), _) => "is a URL, and this call needs a file on this machine".to_owned(),
        (Some(Elsewhere::StandardInput), _) => "is standard input, which this call does not read".to_owned(),
        (Some(Elsewhere::Member), _) => {
            "is a member of a bundle, and this call needs a file on disk".to_owned()
        }
        (Some(Elsewhere::Version), Kind::Archive) => {
            let file = name.file().display();
            format!("is a version, and this call is for the archive with all its versions: `{file}`")
        }
        (Some(Elsewhere::Version), _) => "is a version of an archive: it is archived already".to_owned(),
    };
    exception("UnsupportedError", format!("`{name}` {words}"))
}

/// Returns NumPy's name of a Rust type. Rust's `i8` is `int8` in NumPy, where `i8` has 8 bytes.
fn numpy_name(rust: &str) -> &str {
    match rust {
        "i8" => "int8",
        "u8" => "uint8",
        "i16" => "int16",
        "u16" => "uint16",
        "i32" => "int32",
        "u32" => "uint32",
        "i64" => "int64",
        "u64" => "uint64",
        "f32" => "float32",
        "f64" => "float64",
        other => other,
    }
}

/// Returns `OSError(errno, message, path)`, which Python turns into `FileNotFoundError` and other classes.
/// An error without a number becomes a plain `OSError` with the message.
fn io(what: &str, path: Option<&Path>, source: &std::io::Error, file: Option<&str>) -> PyErr {
    if let Some(e) = of_caller(source) {
        return e;
    }
    let path = path.map(Path::to_string_lossy).or_else(|| file.map(Into::into)).map(|path| hidden_in(&path));
    let number = source.raw_os_error().or(match source.kind() {
        ErrorKind::NotFound => Some(2),
        ErrorKind::PermissionDenied => Some(13),
        ErrorKind::IsADirectory => Some(21),
        _ => None,
    });
    let Some(number) = number else {
        let words = format!("{what} {}: {source}", path.as_deref().unwrap_or("input"));
        return PyOSError::new_err(hidden_in(&words));
    };
    let words = source.to_string();
    let words = words.split(" (os error").next().unwrap_or_default().to_owned();
    PyOSError::new_err((number, words, path))
}

/// Returns an exception that a file object's method raised to end the program, such as `KeyboardInterrupt`.
/// It is not a read error.
fn of_caller(source: &std::io::Error) -> Option<PyErr> {
    let raised = source.get_ref()?.downcast_ref::<PyErr>()?;
    Python::attach(|py| (!raised.is_instance_of::<PyException>(py)).then(|| raised.clone_ref(py)))
}

/// Returns the keyword argument that lets a refused request through.
fn in_python(advice: Advice) -> Option<&'static str> {
    Some(match advice {
        Advice::Replace => "`force=True` replaces it",
        Advice::CommitUnrelated => "archive it separately, or commit it with allow_unrelated=True",
        Advice::ReplaceOrAllowOverlap => {
            "overlap=\"replace\" writes the new records over the archive's, overlap=\"allow\" appends all"
        }
        Advice::AllowOverlap => "overlap=\"allow\" appends all",
        Advice::MoveTag => "move_tag=True moves it",
        Advice::TrustOutside => "outside=True allows that for an aggregation that you trust",
        _ => return None,
    })
}

/// Returns the message with the file's name, and URLs without secrets.
fn named(words: String, file: Option<&str>) -> String {
    match file {
        Some(file) if !words.contains(file) => hidden_in(&format!("{file}: {words}")),
        _ => hidden_in(&words),
    }
}

/// Returns an exception of one of the package's own classes.
pub(crate) fn exception(class: &'static str, words: String) -> PyErr {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    Python::attach(|py| {
        let module = MODULE.get_or_try_init(py, || py.import("nc3z._errors").map(Bound::unbind));
        match module.and_then(|m| Ok(m.bind(py).getattr(class)?.cast_into::<PyType>()?)) {
            Ok(class) => PyErr::from_type(class, words),
            Err(e) => e,
        }
    })
}

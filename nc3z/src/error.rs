//! The error of all calls.

use nc3z_format::ErrorKind as FormatKind;
use nc3z_reader::ErrorKind as ReadKind;
use nc3z_writer::ErrorKind as WriteKind;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The category of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused an operation; see [`Error::io_error`].
    Io,
    /// The bytes of a file are damaged, or the file is neither an archive nor a classic netCDF file.
    Corrupt,
    /// A newer or fuller build might read the file.
    Unsupported,
    /// The file requires more memory or work than the limits allow.
    Limit,
    /// The request does not fit the file: an unknown name, a hyperslab outside its variable, an invalid option.
    Invalid,
    /// A value does not fit the wanted type.
    Range,
    /// The classic file ends before all elements that its header claims.
    Incomplete,
    /// The target exists, and the options do not allow it to be replaced.
    Exists,
    /// Another process changes the archive.
    Busy,
    /// The file was changed or replaced during the work.
    Changed,
    /// The monitor cancelled the work.
    Interrupted,
}

/// The error of all calls of this crate.
///
/// Its text contains the path and all causes.
pub struct Error(Box<Inner>);

struct Inner {
    cause: nc3z_writer::Error,
    path: Option<PathBuf>,
}

/// The result of all calls of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Returns the category.
    pub fn kind(&self) -> ErrorKind {
        match self.0.cause.kind() {
            WriteKind::Read(e) | WriteKind::Source(e) => of_read(e),
            WriteKind::Io { .. } | WriteKind::Staged(_) => ErrorKind::Io,
            WriteKind::Exists(_) => ErrorKind::Exists,
            WriteKind::SourceChanged { .. } | WriteKind::LockLost { .. } => ErrorKind::Changed,
            WriteKind::Proof { .. } => ErrorKind::Corrupt,
            WriteKind::Busy(_) => ErrorKind::Busy,
            WriteKind::GenerationsUsedUp(_) => ErrorKind::Limit,
            WriteKind::Interrupted => ErrorKind::Interrupted,
            _ => ErrorKind::Invalid,
        }
    }

    /// Returns the stable code of the error, such as `input.damaged`, for programs and logs.
    pub fn code(&self) -> &'static str {
        self.0.cause.code()
    }

    /// Returns the file that the call was about, if it was called with a path.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Returns the operating system's error, if it caused this one.
    pub fn io_error(&self) -> Option<&io::Error> {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&self.0.cause);
        while let Some(e) = cause {
            if let Some(io) = e.downcast_ref() {
                return Some(io);
            }
            cause = e.source();
        }
        None
    }

    /// Makes the error of an invalid request.
    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        nc3z_format::Error::invalid(why).into()
    }

    /// Makes the error of a value that does not fit a type.
    pub(crate) fn range(variable: String, index: Vec<u64>, value: String, wanted: &'static str) -> Self {
        nc3z_reader::Error::from(ReadKind::Range { variable, index, value, wanted }).into()
    }

    /// Adds the path of the file.
    pub(crate) fn at(mut self, path: &Path) -> Self {
        self.0.path.get_or_insert_with(|| path.to_owned());
        self
    }
}

/// Returns the category of an error of reading.
fn of_read(error: &nc3z_reader::Error) -> ErrorKind {
    match error.kind() {
        ReadKind::Format(e) => match e.kind() {
            FormatKind::Unsupported { .. } => ErrorKind::Unsupported,
            FormatKind::Limit { .. } => ErrorKind::Limit,
            FormatKind::InvalidArgument(_) => ErrorKind::Invalid,
            _ => ErrorKind::Corrupt,
        },
        ReadKind::Io { .. } => ErrorKind::Io,
        ReadKind::Replaced { .. } => ErrorKind::Changed,
        ReadKind::Range { .. } => ErrorKind::Range,
        ReadKind::Incomplete { .. } => ErrorKind::Incomplete,
        ReadKind::Interrupted => ErrorKind::Interrupted,
        _ if error.is_corrupt() => ErrorKind::Corrupt,
        _ => ErrorKind::Invalid,
    }
}

/// Adds the path of a file to the errors of results.
pub(crate) trait At<T> {
    /// Adds the path.
    fn at(self, path: &Path) -> Result<T>;
}

impl<T, E: Into<Error>> At<T> for std::result::Result<T, E> {
    fn at(self, path: &Path) -> Result<T> {
        self.map_err(|e| e.into().at(path))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = nc3z_format::error::with_causes(&self.0.cause);
        match &self.0.path {
            Some(path) if self.0.cause.path().is_none() && !self.0.cause.is_interrupted() => {
                write!(f, "`{}`: {text}", path.display())
            }
            _ => f.write_str(&text),
        }
    }
}

/// The same text as `Display`, for programs whose `main` returns the error.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

#[doc(hidden)]
impl From<nc3z_writer::Error> for Error {
    fn from(cause: nc3z_writer::Error) -> Self {
        Error(Box::new(Inner { cause, path: None }))
    }
}

#[doc(hidden)]
impl From<nc3z_reader::Error> for Error {
    fn from(cause: nc3z_reader::Error) -> Self {
        nc3z_writer::Error::from(cause).into()
    }
}

#[doc(hidden)]
impl From<nc3z_format::Error> for Error {
    fn from(cause: nc3z_format::Error) -> Self {
        nc3z_writer::Error::from(cause).into()
    }
}

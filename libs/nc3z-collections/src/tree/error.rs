//! Errors of runs over trees.

use crate::tree::refusal::{ManifestFault, Refusal, SourceKept};
use nc3z_writer::Advice;
use std::fmt;
use std::io;

/// The kinds of errors of a run over a tree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The system refused an operation.
    #[error("{what}")]
    Io {
        /// The operation, with the file.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// A directory could not be read.
    #[error(transparent)]
    Walk(#[from] walkdir::Error),
    /// The reader failed. Its error is the source of this one and has the same text.
    #[error("{0}")]
    Read(#[source] nc3z_reader::Error),
    /// The writer failed. Its error is the source of this one and has the same text.
    #[error("{0}")]
    Write(#[source] nc3z_writer::Error),
    /// An aggregation or a bundle cannot be read. Its error is the source of this one and has the same text.
    #[error("{0}")]
    Aggregate(#[source] crate::Error),
    /// A file that should be an archive is none, or is damaged.
    #[error("{what}")]
    Archive {
        /// The file, and the reason why it was opened.
        what: String,
        /// True if the file has the name of an output, and may be replaced.
        is_output: bool,
        /// The reader's error.
        source: nc3z_reader::Error,
    },
    /// The files of a pattern were not found.
    #[error("find the files of the pattern `{pattern}`")]
    Pattern {
        /// The text of the pattern.
        pattern: String,
        /// The error that caused it.
        source: crate::tree::patterns::PatternError,
    },
    /// The request cannot be carried out.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// An error of a run over a tree.
pub struct Error(Box<ErrorKind>);

/// The result of an operation on a tree.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Returns the kind of the error.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// Returns the kind of the error by value.
    pub fn into_kind(self) -> ErrorKind {
        *self.0
    }

    /// The advice that would let a refused request through.
    pub fn advice(&self) -> Option<Advice> {
        match &*self.0 {
            ErrorKind::Refused(refusal) => refusal.advice(),
            ErrorKind::Archive { is_output: true, .. } => Some(Advice::Replace),
            ErrorKind::Write(e) => e.advice(),
            ErrorKind::Read(e) => crate::Error::advice_in(e),
            ErrorKind::Aggregate(e) => e.advice(),
            _ => None,
        }
    }

    /// Returns whether the caller's monitor ended the work.
    pub fn is_interrupted(&self) -> bool {
        match &*self.0 {
            ErrorKind::Read(e) | ErrorKind::Archive { source: e, .. } => e.is_interrupted(),
            ErrorKind::Write(e) => e.is_interrupted(),
            _ => false,
        }
    }

    /// Returns the text of the error and of its causes, each once.
    pub fn with_causes(&self) -> String {
        nc3z_format::error::with_causes(self)
    }

    /// Returns whether the text is that of the source, so that a caller who prints the chain of causes prints it once.
    pub fn repeats_its_source(&self) -> bool {
        matches!(*self.0, ErrorKind::Read(_) | ErrorKind::Write(_) | ErrorKind::Aggregate(_))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl<E: Into<ErrorKind>> From<E> for Error {
    fn from(e: E) -> Self {
        Error(Box::new(e.into()))
    }
}

impl From<nc3z_reader::Error> for ErrorKind {
    fn from(e: nc3z_reader::Error) -> Self {
        ErrorKind::Read(e)
    }
}

impl From<crate::Error> for ErrorKind {
    fn from(e: crate::Error) -> Self {
        match e {
            crate::Error::Reader(e) => ErrorKind::Read(e),
            e => ErrorKind::Aggregate(e),
        }
    }
}

impl From<nc3z_writer::Error> for ErrorKind {
    fn from(e: nc3z_writer::Error) -> Self {
        ErrorKind::Write(e)
    }
}

/// Names the operation and the file in an error of the system or of the reader.
pub(crate) trait Context<T> {
    /// Adds the text.
    fn with_context(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn with_context(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| ErrorKind::Io { what: what(), source }.into())
    }
}

impl<T> Context<T> for nc3z_reader::Result<T> {
    fn with_context(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| ErrorKind::Archive { what: what(), is_output: false, source }.into())
    }
}

impl From<SourceKept> for ErrorKind {
    fn from(e: SourceKept) -> Self {
        ErrorKind::Refused(Refusal::Source(e))
    }
}

impl From<ManifestFault> for ErrorKind {
    fn from(e: ManifestFault) -> Self {
        ErrorKind::Refused(Refusal::Manifest(e))
    }
}

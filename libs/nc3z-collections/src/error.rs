//! Errors: what is wrong, in which file, and what to do.

use nc3z_format::units::UnitError;
use nc3z_writer::Advice;
use std::path::PathBuf;

/// An error of making or reading an aggregation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading one of the files failed.
    #[error(transparent)]
    Reader(#[from] nc3z_reader::Error),
    /// The file of an aggregation contradicts its convention.
    #[error("aggregation variable `{variable}`: {what}")]
    Malformed {
        /// The name of the aggregation variable.
        variable: String,
        /// The defect, in words.
        what: String,
    },
    /// A fragment cannot be used.
    #[error("fragment `{file}`: {what}")]
    Fragment {
        /// The fragment, as the aggregation names it.
        file: String,
        /// The defect, in words.
        what: String,
    },
    /// A fragment does not exist.
    #[error("fragment `{file}`: {what}")]
    Absent {
        /// The fragment, as the aggregation names it.
        file: String,
        /// The place where it was looked for.
        what: String,
    },
    /// Reading a fragment failed.
    #[error("fragment `{file}`")]
    Inside {
        /// The fragment, as the aggregation names it.
        file: String,
        /// The reader's error.
        #[source]
        source: nc3z_reader::Error,
    },
    /// The bundle has no such member.
    #[error("`{bundle}` has no member `{name}`; it has {known}")]
    NoMember {
        /// The name of the bundle.
        bundle: String,
        /// The name that was searched.
        name: String,
        /// The first members, in a list with commas.
        known: String,
    },
    /// Files that cannot be joined to one array.
    #[error("{0}")]
    Refused(String),
    /// One file that does not belong to the others, which a caller may leave out.
    #[error("{what}")]
    Misfit {
        /// The file, as it was given.
        file: String,
        /// The reason, with the names of both files.
        what: String,
        /// The advice that would let all files through, besides leaving this one out.
        advice: Option<Advice>,
    },
    /// Another error, with the advice that would let the request through.
    #[error("{error}")]
    Advised {
        /// The error, whose text this one has.
        error: Box<Error>,
        /// The advice, which each interface puts into its own words.
        advice: Advice,
    },
    /// The convention cannot express the files' positions in the array.
    #[error("{0}")]
    Unsayable(String),
    /// Writing an archive or a file failed.
    #[error(transparent)]
    Writer(#[from] nc3z_writer::Error),
    /// A member cannot be written.
    #[error(transparent)]
    Output(std::io::Error),
    /// A directory cannot be created.
    #[error("create `{}`", path.display())]
    Create {
        /// The path of the directory.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// An error of the operating system.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
}

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The file of this machine that the message names, if there is one.
    pub fn path(&self) -> Option<&std::path::Path> {
        match self {
            Error::Reader(e) => e.path(),
            Error::Writer(e) => e.path(),
            Error::Create { path, .. } | Error::Io { path, .. } => Some(path),
            _ => None,
        }
    }

    /// The stable code of the error, for programs and logs (`docs/campaign.md`).
    pub fn code(&self) -> &'static str {
        match self {
            Error::Reader(e) | Error::Inside { source: e, .. } => e.code(),
            Error::Writer(e) => e.code(),
            Error::Output(source) | Error::Create { source, .. } | Error::Io { source, .. } => {
                nc3z_reader::code_of_io(source)
            }
            Error::Absent { .. } | Error::NoMember { .. } => "input.missing",
            Error::Advised { error, .. } => error.code(),
            _ => "other",
        }
    }

    /// The advice that would let a refused request through.
    pub fn advice(&self) -> Option<Advice> {
        match self {
            Error::Advised { advice, .. } => Some(*advice),
            Error::Misfit { advice, .. } => *advice,
            Error::Reader(e) => Self::advice_in(e),
            Error::Writer(e) => e.advice(),
            _ => None,
        }
    }

    /// The advice in an error of the reader that was made from one of these.
    pub fn advice_in(e: &nc3z_reader::Error) -> Option<Advice> {
        match e.kind() {
            nc3z_reader::ErrorKind::Other(e) => e.downcast_ref::<Error>()?.advice(),
            _ => None,
        }
    }

    /// Adds advice.
    pub(crate) fn advised(self, advice: Advice) -> Self {
        match self {
            Error::Misfit { file, what, .. } => Error::Misfit { file, what, advice: Some(advice) },
            error => Error::Advised { error: Box::new(error), advice },
        }
    }

    /// True if bytes of a file are invalid.
    pub fn is_corrupt(&self) -> bool {
        matches!(self, Error::Reader(e) | Error::Inside { source: e, .. } if e.is_corrupt())
            || matches!(self, Error::Writer(e) if e.is_corrupt())
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        matches!(self, Error::Reader(e) if e.is_interrupted())
    }

    pub(crate) fn malformed(variable: &str, what: impl Into<String>) -> Self {
        Error::Malformed { variable: variable.to_owned(), what: what.into() }
    }

    /// Names the fragment in an error of reading its bytes. An interruption stays an interruption.
    pub(crate) fn inside(file: &str, source: nc3z_reader::Error) -> Self {
        if source.is_interrupted() || source.is_replaced() {
            return Error::Reader(source);
        }
        Error::Inside { file: file.to_owned(), source }
    }

    pub(crate) fn fragment(file: &str, what: impl Into<String>) -> Self {
        Error::Fragment { file: file.to_owned(), what: what.into() }
    }

    pub(crate) fn refused(what: impl Into<String>) -> Self {
        Error::Refused(what.into())
    }

    pub(crate) fn misfit(file: &str, what: impl Into<String>) -> Self {
        Error::Misfit { file: file.to_owned(), what: what.into(), advice: None }
    }

    pub(crate) fn unsayable(what: impl Into<String>) -> Self {
        Error::Unsayable(what.into())
    }

    /// The same kind of error, with the place in front of the message.
    pub(crate) fn within(self, place: &str) -> Self {
        match self {
            Error::Misfit { file, what, advice } => {
                Error::Misfit { file, what: format!("{place}: {what}"), advice }
            }
            Error::Unsayable(what) => Error::Unsayable(format!("{place}: {what}")),
            Error::Advised { error, advice } => error.within(place).advised(advice),
            other => Error::Refused(format!("{place}: {other}")),
        }
    }

    pub(crate) fn io(path: &std::path::Path, source: std::io::Error) -> Self {
        Error::Io { path: path.to_owned(), source }
    }
}

impl From<UnitError> for Error {
    fn from(e: UnitError) -> Self {
        Error::Refused(e.to_string())
    }
}

impl From<nc3z_format::Error> for Error {
    fn from(e: nc3z_format::Error) -> Self {
        Error::Reader(e.into())
    }
}

impl From<Error> for nc3z_reader::Error {
    fn from(e: Error) -> Self {
        match e {
            Error::Reader(e) => e,
            other => nc3z_reader::Error::other(other),
        }
    }
}

//! Errors of making and checking proofs.

/// An error of making or checking a proof.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The slice or the proof does not match the root.
    #[error("not proven: {0}")]
    Refused(String),
    /// A file that is not a slice, or JSON that is not a proof.
    #[error("{0}")]
    Malformed(String),
    /// A request that has no proof.
    #[error("{0}")]
    Request(String),
    /// A slice in a format for one variable would have several.
    #[error("npy and csv hold one variable, but {0} are named")]
    SeveralVariables(usize),
    /// The selected part of the variable is two hyperslabs.
    #[error("the selection of `{0}` wraps around the end of a dimension: cite its two parts as two slices")]
    TwoParts(String),
    /// The request does not fit the dataset.
    #[error(transparent)]
    Select(#[from] nc3z_look::selection::Error),
    /// The values cannot be written.
    #[error(transparent)]
    Print(#[from] nc3z_look::print::Error),
    /// An error of reading the dataset.
    #[error(transparent)]
    Read(#[from] nc3z_reader::Error),
}

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn refused(what: impl Into<String>) -> Self {
        Error::Refused(what.into())
    }

    pub(crate) fn malformed(what: impl Into<String>) -> Self {
        Error::Malformed(what.into())
    }
}

impl From<nc3z_format::Error> for Error {
    fn from(e: nc3z_format::Error) -> Self {
        Error::Read(e.into())
    }
}

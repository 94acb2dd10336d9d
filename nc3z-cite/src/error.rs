//! Errors of making and checking proofs.

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The slice or the proof is not what the root vouches for.
    #[error("not proven: {0}")]
    Refused(String),
    /// A file that is no slice, or JSON that is no proof.
    #[error("{0}")]
    Malformed(String),
    /// A request that has no proof.
    #[error("{0}")]
    Request(String),
    /// What reading the dataset says.
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

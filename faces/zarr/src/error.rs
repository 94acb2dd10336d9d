//! Errors of making references.

/// An error of making references.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The archive cannot be read.
    #[error(transparent)]
    Read(#[from] nc3z_reader::Error),
    /// A variable is not stored as Zarr stores arrays.
    #[error("{0}")]
    NotZarr(String),
    /// One of these errors, in a variable.
    #[error("variable `{variable}`")]
    InVariable {
        /// Its name, as the file has it.
        variable: String,
        /// The error of the variable.
        source: Box<Error>,
    },
}

/// A result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn not_zarr(words: impl Into<String>) -> Self {
        Error::NotZarr(words.into())
    }

    pub(crate) fn in_variable(self, name: &str) -> Self {
        Error::InVariable { variable: name.to_owned(), source: Box::new(self) }
    }
}

impl From<nc3z_format::Error> for Error {
    fn from(e: nc3z_format::Error) -> Self {
        Error::Read(e.into())
    }
}

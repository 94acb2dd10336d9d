//! Why there is no picture.

use crate::text;
use nc3z_reader::Variable;
use std::fmt::Display;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The values cannot be read.
    #[error(transparent)]
    Read(#[from] nc3z_reader::Error),
    /// The variable, or what is selected of it, cannot be drawn.
    #[error("variable `{variable}` {why}")]
    NoPicture {
        /// Its name, safe to show.
        variable: String,
        /// What it is or has.
        why: &'static str,
    },
    /// What the drawing itself says.
    #[error("cannot draw: {0}")]
    Drawing(String),
}

/// A result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(super) fn no_picture(variable: &Variable, why: &'static str) -> Self {
        Error::NoPicture { variable: text::safe(&variable.name()), why }
    }

    pub(super) fn drawing(e: impl Display) -> Self {
        Error::Drawing(e.to_string())
    }
}

impl From<nc3z_format::Error> for Error {
    fn from(e: nc3z_format::Error) -> Self {
        Error::Read(e.into())
    }
}

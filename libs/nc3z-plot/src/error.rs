//! Errors of drawing a picture.

use nc3z_look::text;
use nc3z_reader::Variable;
use std::fmt::Display;

/// The reason why nothing was drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The values cannot be read.
    #[error(transparent)]
    Read(#[from] nc3z_reader::Error),
    /// The variable or the selected part cannot be drawn.
    #[error("variable `{variable}` {why}")]
    NoPicture {
        /// Its name, safe to show.
        variable: String,
        /// The property of the variable that prevents it.
        why: &'static str,
    },
    /// The options do not fit the variable.
    #[error("{0}")]
    Request(String),
    /// An error of the drawing itself.
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

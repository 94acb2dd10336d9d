//! Errors in a payload, or in a call.

use std::fmt::Display;

/// An error of the numeric codec.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not a payload of this tile.
    #[error("corrupt nc3z.num payload: {what} is {found}, expected {expected}")]
    Corrupt {
        /// The field that is wrong.
        what: &'static str,
        /// The values that are allowed, as text.
        expected: String,
        /// The value in the payload.
        found: String,
    },
    /// The payload may be valid, but this build is too old for it.
    #[error("unsupported nc3z.num payload: {0}")]
    Unsupported(String),
    /// The caller's request is invalid.
    #[error("{0}")]
    InvalidArgument(String),
}

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Error::InvalidArgument(what.into())
    }
}

pub(crate) fn bad(what: &'static str, expected: impl Display, found: impl Display) -> Error {
    Error::Corrupt { what, expected: expected.to_string(), found: found.to_string() }
}

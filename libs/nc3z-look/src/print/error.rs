//! Errors of printing.

use std::io;

/// The result of printing.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A reason why values are not printed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The output failed. Its error is the source of this one and has the same text.
    #[error("{0}")]
    Output(#[from] io::Error),
    /// The values cannot be read. The reader's error is the source of this one and has the same text.
    #[error("{0}")]
    Read(#[from] nc3z_reader::Error),
    /// The values of a coordinate variable cannot be read.
    #[error("read the coordinates `{name}`")]
    Coordinates {
        /// The name, safe to show.
        name: String,
        /// The reader's error.
        source: nc3z_reader::Error,
    },
    /// A row of text does not fit in memory.
    #[error("a row of text does not fit in memory")]
    LongText,
    /// An empty selection would print as very many empty rows.
    #[error("the selection is empty, and would print as {0} empty rows")]
    EmptyRows(u64),
    /// NumPy has no such time.
    #[error("{0} is a date that NumPy's calendar does not have; other formats write it as text")]
    Calendar(String),
    /// The value is not a time.
    #[error("NumPy's format cannot hold the time {0}; other formats write it as text")]
    NoTime(String),
}

//! The errors of a request of a C program.

use nc3z::opener::{Kind, WrongKind};
use nc3z_reader::ErrorKind;
use std::fmt;

/// Why a request is refused. The netCDF library has a code for each.
#[derive(Debug)]
pub enum Fault {
    /// A start index lies outside its dimension (`NC_EINVALCOORDS`).
    Coordinates,
    /// Start and count exceed a dimension (`NC_EEDGE`).
    Edge,
    /// A stride is not positive, or too large (`NC_ESTRIDE`).
    Stride,
    /// Text was asked for as numbers, or numbers as text (`NC_ECHAR`).
    Text,
    /// There is no such type (`NC_EBADTYPE`).
    Type,
    /// The buffer has another length than the request needs.
    Buffer {
        /// Bytes that the request needs.
        needed: u64,
        /// Bytes of the buffer.
        given: u64,
    },
    /// The request has more elements than memory has addresses.
    TooLarge,
    /// Reading failed.
    Reader(nc3z_reader::Error),
}

impl From<nc3z_reader::Error> for Fault {
    fn from(e: nc3z_reader::Error) -> Self {
        Fault::Reader(e)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Coordinates => f.write_str("a start index is outside its dimension"),
            Fault::Edge => f.write_str("start and count exceed a dimension"),
            Fault::Stride => f.write_str("a stride is not positive, or is 2147483647 or more"),
            Fault::Text => f.write_str("char is text: read it as char, and numbers as numbers"),
            Fault::Type => f.write_str("unknown type"),
            Fault::Buffer { needed, given } => {
                write!(f, "the buffer has {given} bytes, the request needs {needed}")
            }
            Fault::TooLarge => f.write_str("the request has more elements than memory has addresses"),
            Fault::Reader(e) => f.write_str(&words(e)),
        }
    }
}

impl std::error::Error for Fault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Fault::Reader(e) => Some(e),
            _ => None,
        }
    }
}

/// Returns the message of an error: what happened, and for an input of another kind what to do.
pub fn words(e: &nc3z_reader::Error) -> String {
    let words = e.with_causes();
    let Some(wrong) = WrongKind::within(e) else { return words };
    let name = &wrong.name;
    match (wrong.kind, wrong.needed) {
        (Kind::Bundle, _) => {
            format!(
                "{words}; open one of its files as `{name}!/{}`",
                wrong.first.as_deref().unwrap_or("NAME")
            )
        }
        (Kind::Tree, _) => format!("{words}; open one of the files in it"),
        (Kind::Classic, Kind::Archive) => format!("{words}; nc3z_archive makes one of it"),
        _ => words,
    }
}

/// Returns true for an input of a kind that cannot be read.
pub fn is_wrong_kind(e: &nc3z_reader::Error) -> bool {
    WrongKind::within(e).is_some()
}

/// Returns true if there is no such file, or no such member of a bundle.
pub fn is_not_found(e: &nc3z_reader::Error) -> bool {
    match e.kind() {
        ErrorKind::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
        ErrorKind::Other(other) => {
            matches!(other.downcast_ref(), Some(nc3z_collections::Error::NoMember { .. }))
        }
        _ => false,
    }
}

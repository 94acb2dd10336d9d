//! The one error type of this crate: five families, because callers act on the family.

use std::fmt;

/// Where in a file something was found to be wrong: which structure, and the absolute byte offset in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The structure being read, in the words of the specification ("superblock", "variable `tas`, tile 17").
    pub section: String,
    /// Absolute byte offset in the file, where one is known.
    pub offset: Option<u64>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.section)?;
        if let Some(offset) = self.offset {
            write!(f, " at byte {offset}")?;
        }
        Ok(())
    }
}

/// What went wrong. The five families are what callers act on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes contradict the format: the file is damaged, or is of another kind.
    #[error("corrupt {location}: {what} is {found}, expected {expected}")]
    Corrupt {
        /// Where it was found.
        location: Location,
        /// The field or fact that is wrong.
        what: &'static str,
        /// The values that the format allows here.
        expected: String,
        /// The value in the file.
        found: String,
    },
    /// The file may be fine, but this build does not know how to read it.
    #[error("unsupported {location}: {what}")]
    Unsupported {
        /// Where it was found.
        location: Location,
        /// The unknown feature, and the version or build that would read it.
        what: String,
    },
    /// The file needs more than [`crate::Limits`] allow.
    #[error("limit exceeded in {location}: {what} is {found}, the limit is {limit}")]
    Limit {
        /// Where it was found.
        location: Location,
        /// The quantity that is too large.
        what: &'static str,
        /// The limit in force.
        limit: u64,
        /// The value in the file.
        found: u64,
    },
    /// An invalid request of the caller.
    #[error("{0}")]
    InvalidArgument(String),
    /// Input ended before the structure did.
    #[error("truncated {location}: {what} needs {needed} more bytes, {available} are left")]
    Truncated {
        /// Where the input ended.
        location: Location,
        /// The structure that was being read.
        what: &'static str,
        /// Bytes still needed.
        needed: u64,
        /// Remaining bytes.
        available: u64,
    },
}

/// An error of the format layer.
#[derive(Debug)]
pub struct Error(Box<ErrorKind>);

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The kind of the error.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// True where the bytes are wrong (damaged or cut short), rather than unknown or too large.
    pub fn is_corrupt(&self) -> bool {
        matches!(*self.0, ErrorKind::Corrupt { .. } | ErrorKind::Truncated { .. })
    }

    /// True where a newer or fuller build might read the file.
    pub fn is_unsupported(&self) -> bool {
        matches!(*self.0, ErrorKind::Unsupported { .. })
    }

    /// True if the file needs more than [`crate::Limits`] allow.
    pub fn is_limit(&self) -> bool {
        matches!(*self.0, ErrorKind::Limit { .. })
    }

    /// Where the trouble is, if it is in a file.
    pub fn location(&self) -> Option<&Location> {
        match &*self.0 {
            ErrorKind::Corrupt { location, .. }
            | ErrorKind::Unsupported { location, .. }
            | ErrorKind::Limit { location, .. }
            | ErrorKind::Truncated { location, .. } => Some(location),
            ErrorKind::InvalidArgument(_) => None,
        }
    }

    /// A corrupt field, with what was expected and what was found.
    pub fn corrupt(
        section: impl Into<String>,
        offset: impl Into<Option<u64>>,
        what: &'static str,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        ErrorKind::Corrupt {
            location: Location { section: section.into(), offset: offset.into() },
            what,
            expected: expected.to_string(),
            found: found.to_string(),
        }
        .into()
    }

    /// Something this build does not know.
    pub fn unsupported(
        section: impl Into<String>,
        offset: impl Into<Option<u64>>,
        what: impl Into<String>,
    ) -> Self {
        ErrorKind::Unsupported {
            location: Location { section: section.into(), offset: offset.into() },
            what: what.into(),
        }
        .into()
    }

    /// A quantity over its limit.
    pub fn limit(
        section: impl Into<String>,
        offset: impl Into<Option<u64>>,
        what: &'static str,
        limit: u64,
        found: u64,
    ) -> Self {
        ErrorKind::Limit {
            location: Location { section: section.into(), offset: offset.into() },
            what,
            limit,
            found,
        }
        .into()
    }

    /// Input that ends too early.
    pub fn truncated(
        section: impl Into<String>,
        offset: impl Into<Option<u64>>,
        what: &'static str,
        needed: u64,
        available: u64,
    ) -> Self {
        ErrorKind::Truncated {
            location: Location { section: section.into(), offset: offset.into() },
            what,
            needed,
            available,
        }
        .into()
    }

    /// An invalid request.
    pub fn invalid(what: impl Into<String>) -> Self {
        ErrorKind::InvalidArgument(what.into()).into()
    }

    /// Returns the error as an error of an outer structure. `section` is put before the inner section, and `base` is added to the
    /// inner offset.
    #[must_use]
    pub fn within(self, section: &str, base: u64) -> Self {
        self.moved(section, |offset| Some(offset.unwrap_or(0).saturating_add(base)))
    }

    /// Puts the name of the structure that needs this section before the section. The offset does not change.
    #[must_use]
    pub fn needed_by(self, section: &str) -> Self {
        self.moved(section, |offset| offset)
    }

    fn moved(mut self, section: &str, offset: impl FnOnce(Option<u64>) -> Option<u64>) -> Self {
        match &mut *self.0 {
            ErrorKind::Corrupt { location, .. }
            | ErrorKind::Unsupported { location, .. }
            | ErrorKind::Limit { location, .. }
            | ErrorKind::Truncated { location, .. } => {
                location.section = format!("{section}, {}", location.section);
                location.offset = offset(location.offset);
            }
            ErrorKind::InvalidArgument(_) => {}
        }
        self
    }
}

/// Returns the messages of an error and its causes, each once.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut out = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        let words = e.to_string();
        if !out.contains(&words) {
            out = format!("{out}: {words}");
        }
        cause = e.source();
    }
    out
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error(Box::new(kind))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {}

impl From<nc3z_num::Error> for Error {
    fn from(error: nc3z_num::Error) -> Self {
        const SECTION: &str = "nc3z.num payload";
        match error {
            nc3z_num::Error::Corrupt { what, expected, found } => {
                Error::corrupt(SECTION, None, what, expected, found)
            }
            nc3z_num::Error::Unsupported(what) => Error::unsupported(SECTION, None, what),
            nc3z_num::Error::InvalidArgument(what) => Error::invalid(what),
            other => Error::invalid(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_one_word() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }

    #[test]
    fn message_names_place_expected_and_found() {
        let e = Error::corrupt("superblock", 8, "major version", 0, 7);
        assert_eq!(e.to_string(), "corrupt superblock at byte 8: major version is 7, expected 0");
        assert!(e.is_corrupt());
        let e = e.within("archive `a.nc3z`", 100);
        assert_eq!(e.location().unwrap().offset, Some(108));
    }
}

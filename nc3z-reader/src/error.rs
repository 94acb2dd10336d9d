//! Errors of reading: the format's five families, plus input and output with the place they happened.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong while reading.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are wrong, unknown or ask for too much; or the request makes no sense.
    #[error(transparent)]
    Format(#[from] nc3z_format::Error),
    /// The operating system refused.
    #[error("{what} {}", path.as_deref().map_or_else(|| "input".to_owned(), |p| format!("`{}`", p.display())))]
    Io {
        /// What was being done ("read", "open").
        what: &'static str,
        /// The file, where there is one.
        path: Option<PathBuf>,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
    /// Another object stands where the source was: what was read of the first fits nothing of the second.
    #[error("the source was replaced while it was open: it was {expected} and is {found}; open it anew")]
    Replaced {
        /// Identity when it was opened.
        expected: String,
        /// Identity now.
        found: String,
    },
    /// A later state of the file was committed, and its trailer is damaged: the state before it must not be taken for it.
    #[error(
        "the archive was committed beyond generation {generation}, whose trailer is the last whole one, and the trailer behind it is \
         damaged: repairing it may save more, and the older state is given only where it is asked for"
    )]
    OlderState {
        /// The last generation whose trailer is whole.
        generation: u32,
    },
    /// The commit slots name a generation whose end is missing or damaged: the version before it must not be taken for it.
    #[error("{}", newest_lost(*version, *generation, *archive_len, *len, *whole))]
    NewestLost {
        /// The version that it holds.
        version: u32,
        /// The generation.
        generation: u32,
        /// Length of the archive with it.
        archive_len: u64,
        /// Length of the file.
        len: u64,
        /// The newest version that is whole, if there is one.
        whole: Option<u32>,
    },
    /// The rebuilt file is not the original: its digest differs from the one recorded.
    #[error("the rebuilt file has SHA-256 {found}, the archive records {expected}")]
    Digest {
        /// Recorded digest, hexadecimal.
        expected: String,
        /// Digest of the rebuilt bytes, hexadecimal.
        found: String,
    },
    /// A value that the wanted type does not have; the netCDF library's `NC_ERANGE`.
    #[error("{variable}, element {index:?}: {value} does not fit {wanted}")]
    Range {
        /// The variable, in the words of messages.
        variable: String,
        /// Index of the element in the variable.
        index: Vec<u64>,
        /// The value, as it prints.
        value: String,
        /// The wanted type.
        wanted: &'static str,
    },
    /// Elements that the classic file does not hold: it ends before all that its header claims. An archive of it is sound, and
    /// just as incomplete.
    #[error(
        "{variable} of shape {shape:?}, of which the file holds the first {present} elements; selection {selection}: {missing} \
         bytes are missing, because the classic file is incomplete"
    )]
    Incomplete {
        /// The variable, in the words of messages.
        variable: String,
        /// Its shape, as the header claims.
        shape: Vec<u64>,
        /// Elements that the file holds, from the first on.
        present: u64,
        /// What was to be read.
        selection: String,
        /// Bytes of it that are not there.
        missing: u64,
        /// The name of the first dimension, and the number of its indices of which all elements are there.
        whole: Option<(String, u64)>,
    },
    /// Values that are not those of the root that the reader was given.
    #[error("{}", unverified(variable, elements, tiles, root))]
    Unverified {
        /// The variable, in the words of messages.
        variable: String,
        /// The elements that were checked together, by their place in the flattened array.
        elements: std::ops::Range<u64>,
        /// The tiles that hold them.
        tiles: Vec<u64>,
        /// The root.
        root: String,
    },
    /// A header or a tree file that is not that of the root which the reader was given.
    #[error(
        "header and tree belong to the root {found}, not to {expected}: this is another file or version, or the tree file of one"
    )]
    OtherRoot {
        /// The root that was given.
        expected: String,
        /// The root of what is there.
        found: String,
    },
    /// What an array source of another crate says.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Names the tiles whose values are not those of a root.
fn unverified(variable: &str, elements: &std::ops::Range<u64>, tiles: &[u64], root: &str) -> String {
    let tiles = match tiles {
        [] => String::new(),
        [one] => format!(" (tile {one})"),
        [first, .., last] => format!(" (tiles {first} to {last})"),
    };
    format!(
        "{variable}: elements {} to {}{tiles} are not those of {root}; nothing of them was returned",
        elements.start,
        elements.end.saturating_sub(1)
    )
}

/// What is missing of the newest version, and what is not.
fn newest_lost(version: u32, generation: u32, archive_len: u64, len: u64, whole: Option<u32>) -> String {
    let of = match whole {
        Some(whole) if whole == version => {
            format!("generation {generation}, which adds tags or parity to version {version},")
        }
        _ => format!("version {version}"),
    };
    let state = match archive_len.checked_sub(len).filter(|&missing| missing > 0) {
        Some(missing) => format!(
            "the last {missing} bytes of {of} are missing (the file is {len} bytes, version {version} needs {archive_len})"
        ),
        None => format!("the end of {of} is damaged (its trailer ends at byte {archive_len})"),
    };
    match whole {
        Some(whole) => format!("{state}; version {whole} is whole and opens by its number"),
        None => format!("{state}; no version before it is whole"),
    }
}

/// An error of the reader.
#[derive(Debug)]
pub struct Error(Box<ErrorKind>);

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// True where the file's bytes are wrong.
    pub fn is_corrupt(&self) -> bool {
        match &*self.0 {
            ErrorKind::Format(e) => e.is_corrupt(),
            ErrorKind::Digest { .. }
            | ErrorKind::OlderState { .. }
            | ErrorKind::NewestLost { .. }
            | ErrorKind::Unverified { .. } => true,
            // An array source that reads other files says in which of them the bytes are wrong.
            ErrorKind::Other(e) => {
                let cause = e.source().and_then(|e| e.downcast_ref::<Error>());
                cause.is_some_and(Error::is_corrupt)
            }
            ErrorKind::Io { .. }
            | ErrorKind::Replaced { .. }
            | ErrorKind::Range { .. }
            | ErrorKind::Incomplete { .. }
            | ErrorKind::OtherRoot { .. }
            | ErrorKind::Interrupted => false,
        }
    }

    /// True where the classic file does not hold what its header claims.
    pub fn is_incomplete(&self) -> bool {
        matches!(&*self.0, ErrorKind::Incomplete { .. })
    }

    /// True where a newer or fuller build might read the file.
    pub fn is_unsupported(&self) -> bool {
        matches!(&*self.0, ErrorKind::Format(e) if e.is_unsupported())
    }

    /// True where another object stands in the place of the one that was opened.
    pub fn is_replaced(&self) -> bool {
        matches!(&*self.0, ErrorKind::Replaced { .. })
    }

    /// A source that finds another object in its place: what it was when it was opened, and what it is now.
    pub fn replaced(expected: impl Into<String>, found: impl Into<String>) -> Self {
        ErrorKind::Replaced { expected: expected.into(), found: found.into() }.into()
    }

    /// Adds what needs the thing that the error is about.
    pub(crate) fn needed_by(self, place: &str) -> Self {
        match *self.0 {
            ErrorKind::Format(e) => ErrorKind::Format(e.needed_by(place)).into(),
            other => other.into(),
        }
    }

    /// The message and those of its causes.
    pub fn with_causes(&self) -> String {
        let mut out = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(e) = cause {
            let words = e.to_string();
            if !out.contains(&words) {
                out = format!("{out}: {words}");
            }
            cause = e.source();
        }
        out
    }

    /// True where the caller asked to stop.
    pub fn is_interrupted(&self) -> bool {
        matches!(&*self.0, ErrorKind::Interrupted)
    }

    /// The error of an array source that other crates bring.
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        ErrorKind::Other(error.into()).into()
    }

    /// The caller asked to stop.
    pub fn interrupted() -> Self {
        ErrorKind::Interrupted.into()
    }

    /// An operation on a file that the system refused.
    pub fn io(what: &'static str, path: Option<&Path>, source: io::Error) -> Self {
        ErrorKind::Io { what, path: path.map(Path::to_owned), source }.into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error(Box::new(kind))
    }
}

impl From<nc3z_format::Error> for Error {
    fn from(e: nc3z_format::Error) -> Self {
        ErrorKind::Format(e).into()
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&*self.0)
    }
}

//! Errors of reading: the format's five families, and errors of input and output with their place.

use std::io;
use std::path::{Path, PathBuf};

/// The kinds of errors of reading.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are invalid, unknown or exceed a limit; or the request is invalid.
    #[error(transparent)]
    Format(#[from] nc3z_format::Error),
    /// An error of the operating system.
    #[error("{what} {}", path.as_deref().map_or_else(|| "input".to_owned(), |p| format!("`{}`", p.display())))]
    Io {
        /// The failed operation ("read", "open").
        what: &'static str,
        /// The file, where there is one.
        path: Option<PathBuf>,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Another object is in the place of the source. Bytes of the two must not be mixed.
    #[error("the source was replaced while it was open: it was {expected} and is {found}; open it anew")]
    Replaced {
        /// Identity when it was opened.
        expected: String,
        /// Identity now.
        found: String,
    },
    /// The file was written to since it was opened. What was read may be a mixture.
    #[error("`{}` changed while it was read ({what}); read it again when nothing writes to it", path.display())]
    Changed {
        /// The path of the file.
        path: PathBuf,
        /// The evidence of the change.
        what: String,
    },
    /// A later state of the file was committed, and its trailer is damaged. The state before it must not be
    /// mistaken for it.
    #[error(
        "the archive has commits after commit {generation}, whose trailer is the last whole one, and the trailer behind it is \
         damaged: repairing it may save more, and the older state is given only where it is asked for"
    )]
    OlderState {
        /// The last generation with an intact trailer.
        generation: u32,
    },
    /// A commit slot is damaged, and bytes follow the last whole trailer: the slot may have named a generation that these bytes begin.
    #[error(
        "a commit slot is damaged, and {behind} bytes follow the end of commit {generation}, which is whole: a later version may \
         have been lost, and the older one is given only where it is asked for"
    )]
    NewestUnknown {
        /// The last generation with an intact trailer.
        generation: u32,
        /// The number of bytes behind it.
        behind: u64,
    },
    /// The commit slots name a generation whose end is missing or damaged. The version before it must not be
    /// mistaken for it.
    #[error("{}", newest_lost(*version, *generation, *archive_len, *len, *whole))]
    NewestLost {
        /// The version in that generation.
        version: u32,
        /// The number of the generation.
        generation: u32,
        /// Length of the archive including the generation.
        archive_len: u64,
        /// Length of the file.
        len: u64,
        /// The newest intact version, if there is one.
        whole: Option<u32>,
    },
    /// The restored file is not the original: its digest differs from the recorded one.
    #[error("the rebuilt file has SHA-256 {found}, the archive records {expected}")]
    Digest {
        /// Recorded digest, hexadecimal.
        expected: String,
        /// Digest of the restored bytes, hexadecimal.
        found: String,
    },
    /// A value that does not fit the wanted type. The netCDF library's `NC_ERANGE`.
    #[error("{variable}, element {index:?}: {value} does not fit {wanted}")]
    Range {
        /// The variable, as in messages.
        variable: String,
        /// Index of the element in the variable.
        index: Vec<u64>,
        /// The value, as text.
        value: String,
        /// The name of the type that was requested.
        wanted: &'static str,
    },
    /// Elements that the header claims, but the classic file ends before them. An archive of such a file is sound and has the
    /// same elements.
    #[error(
        "{variable} of shape {shape:?}, of which the file holds the first {present} elements; selection {selection}: {missing} \
         bytes are missing, because the classic file is incomplete"
    )]
    Incomplete {
        /// The variable, as in messages.
        variable: String,
        /// Its shape, as the header claims.
        shape: Vec<u64>,
        /// The number of elements in the file, from the first on.
        present: u64,
        /// The selection that was requested, as text.
        selection: String,
        /// The number of its missing bytes.
        missing: u64,
        /// The name of the first dimension, and the number of its indices with all elements present.
        whole: Option<(String, u64)>,
    },
    /// Values that do not belong to the given root.
    #[error("{}", unverified(variable, elements, tiles, root))]
    Unverified {
        /// The variable, as in messages.
        variable: String,
        /// The elements that were checked together, by their place in the flattened array.
        elements: std::ops::Range<u64>,
        /// The tiles that contain them.
        tiles: Vec<u64>,
        /// The root that was expected.
        root: String,
    },
    /// A header or a tree file that does not belong to the given root.
    #[error(
        "header and tree belong to the root {found}, not to {expected}: this is another file or version, or the tree file of one"
    )]
    OtherRoot {
        /// The root that was given.
        expected: String,
        /// The root that was found.
        found: String,
    },
    /// An error of an array source of another crate.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Names the tiles whose values do not belong to a root.
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

/// The message about a damaged newest version. It names the intact version to read instead.
fn newest_lost(version: u32, generation: u32, archive_len: u64, len: u64, whole: Option<u32>) -> String {
    let of = match whole {
        Some(whole) if whole == version => {
            format!("commit {generation}, which adds tags or parity to version {version},")
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
    /// The kind of the error.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// The stable code of the error, for programs and logs (`docs/campaign.md`).
    pub fn code(&self) -> &'static str {
        match &*self.0 {
            ErrorKind::Format(e) if e.is_unsupported() => "input.unsupported",
            ErrorKind::Format(e) if e.is_corrupt() => "input.damaged",
            ErrorKind::Format(e) if e.is_limit() => "input.limit",
            ErrorKind::Format(_) => "argument",
            ErrorKind::Io { source, .. } => code_of_io(source),
            ErrorKind::Changed { .. } | ErrorKind::Replaced { .. } => "changed",
            ErrorKind::Interrupted => "interrupted",
            ErrorKind::Range { .. } => "range",
            ErrorKind::Incomplete { .. } => "input.incomplete",
            ErrorKind::OtherRoot { .. } => "root",
            _ if self.is_corrupt() => "input.damaged",
            _ => "other",
        }
    }

    /// The file, if the error names one.
    pub fn path(&self) -> Option<&Path> {
        match &*self.0 {
            ErrorKind::Io { path, .. } => path.as_deref(),
            ErrorKind::Changed { path, .. } => Some(path),
            _ => None,
        }
    }

    /// True if the file's bytes are invalid.
    pub fn is_corrupt(&self) -> bool {
        match &*self.0 {
            ErrorKind::Format(e) => e.is_corrupt(),
            ErrorKind::Digest { .. }
            | ErrorKind::OlderState { .. }
            | ErrorKind::NewestUnknown { .. }
            | ErrorKind::NewestLost { .. }
            | ErrorKind::Unverified { .. } => true,
            // An array source that reads other files names the file with the invalid bytes.
            ErrorKind::Other(e) => {
                let cause = e.source().and_then(|e| e.downcast_ref::<Error>());
                cause.is_some_and(Error::is_corrupt)
            }
            ErrorKind::Io { .. }
            | ErrorKind::Replaced { .. }
            | ErrorKind::Changed { .. }
            | ErrorKind::Range { .. }
            | ErrorKind::Incomplete { .. }
            | ErrorKind::OtherRoot { .. }
            | ErrorKind::Interrupted => false,
        }
    }

    /// True if the classic file lacks elements that its header claims.
    pub fn is_incomplete(&self) -> bool {
        matches!(&*self.0, ErrorKind::Incomplete { .. })
    }

    /// True if a newer build, or one with more features, might read the file.
    pub fn is_unsupported(&self) -> bool {
        matches!(&*self.0, ErrorKind::Format(e) if e.is_unsupported())
    }

    /// True if another object is in the place of the one that was opened.
    pub fn is_replaced(&self) -> bool {
        matches!(&*self.0, ErrorKind::Replaced { .. })
    }

    /// The error of a source that finds another object in its place, with the identities at opening and now.
    pub fn replaced(expected: impl Into<String>, found: impl Into<String>) -> Self {
        ErrorKind::Replaced { expected: expected.into(), found: found.into() }.into()
    }

    /// Adds the structure that needs the one in the error.
    pub(crate) fn needed_by(self, place: &str) -> Self {
        match *self.0 {
            ErrorKind::Format(e) => ErrorKind::Format(e.needed_by(place)).into(),
            other => other.into(),
        }
    }

    /// Returns the messages of the error and of its causes.
    pub fn with_causes(&self) -> String {
        nc3z_format::error::with_causes(self)
    }

    /// True where the caller asked to stop.
    pub fn is_interrupted(&self) -> bool {
        matches!(&*self.0, ErrorKind::Interrupted)
    }

    /// The error of an array source from another crate.
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        ErrorKind::Other(error.into()).into()
    }

    /// The error for a request of the caller to stop.
    pub fn interrupted() -> Self {
        ErrorKind::Interrupted.into()
    }

    /// A failed operation of the operating system on a file.
    pub fn io(what: &'static str, path: Option<&Path>, source: io::Error) -> Self {
        ErrorKind::Io { what, path: path.map(Path::to_owned), source }.into()
    }
}

/// The stable code of an error of the operating system; see [`Error::code`].
pub fn code_of_io(e: &io::Error) -> &'static str {
    match e.kind() {
        io::ErrorKind::NotFound => "input.missing",
        io::ErrorKind::StorageFull => "io.enospc",
        io::ErrorKind::QuotaExceeded => "io.edquot",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "io.eacces",
        // A file that became shorter while it was read.
        io::ErrorKind::UnexpectedEof => "changed",
        io::ErrorKind::Interrupted => "interrupted",
        // EIO has no kind of its own.
        _ if e.raw_os_error() == Some(5) => "io.eio",
        _ => "io.other",
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

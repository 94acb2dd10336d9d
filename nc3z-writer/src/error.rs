//! Errors of writing: what the source was found to be, what the target refused, what the proof found.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong while writing an archive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The source could not be read, the archive that is changed is damaged, or the written archive could not be read back.
    #[error(transparent)]
    Read(#[from] nc3z_reader::Error),
    /// The source is no classic netCDF file, or a damaged one.
    #[error(transparent)]
    Source(nc3z_reader::Error),
    /// The target could not be written.
    #[error("{what} `{}`", path.display())]
    Io {
        /// What was being done.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
    /// The target exists and may not be replaced.
    #[error("`{}` exists", .0.display())]
    Exists(PathBuf),
    /// Source and target are one file.
    #[error("source and target are the same file `{}`", .0.display())]
    SameFile(PathBuf),
    /// The source is not what it was when work began.
    #[error("`{}` changed while it was read ({what}); nothing was written", path.display())]
    SourceChanged {
        /// The source.
        path: PathBuf,
        /// What showed it.
        what: String,
    },
    /// The rebuilt bytes differ from the source.
    #[error("the archive of `{}` does not rebuild it: first difference at byte {offset}; nothing was written", path.display())]
    Proof {
        /// The source.
        path: PathBuf,
        /// Offset of the first byte that differs.
        offset: u64,
    },
    /// A tile layout was asked for that the file's variables and dimensions do not allow.
    #[error("{0}")]
    Layout(String),
    /// The new archive would not keep all that the old one has.
    #[error("`{}` has {what}, which a new archive does not keep", path.display())]
    History {
        /// The old archive.
        path: PathBuf,
        /// What would be lost.
        what: String,
    },
    /// What was asked for does not fit the file.
    #[error("{option}: {why}")]
    Option {
        /// What was asked for: "chain", "quantize".
        option: &'static str,
        /// Why it does not fit, and what would.
        why: String,
    },
    /// The archive's parity does not allow what was asked for.
    #[error("`{}`: {why}", path.display())]
    Parity {
        /// The archive.
        path: PathBuf,
        /// Why, and what to do.
        why: String,
    },
    /// The file to be committed has no variable of the archive.
    #[error(
        "`{}` has no variable of `{}`, by name, type and lengths or by its values: it seems to be another data set. Archive it by itself, or commit it with `--force`",
        file.display(), archive.display()
    )]
    Unrelated {
        /// The archive.
        archive: PathBuf,
        /// The file.
        file: PathBuf,
    },
    /// The tag names another version.
    #[error("the tag `{tag}` names version {version} already")]
    TagInUse {
        /// The tag.
        tag: String,
        /// What it names.
        version: u64,
    },
    /// What was staged could not be put away or read back.
    #[error("keep staged values in a temporary file")]
    Staged(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Another process is changing the archive.
    #[error("`{}` is being changed by another process; try again when that is done", .0.display())]
    Busy(PathBuf),
    /// The archive is not the one any more that was opened and locked.
    #[error("`{}`: {why}; nothing was changed", path.display())]
    LockLost {
        /// The archive, by the name it was opened with.
        path: PathBuf,
        /// What showed it, and what to do.
        why: String,
    },
    /// The archive has as many generations as can be counted.
    #[error("`{}`: its generations are used up", .0.display())]
    GenerationsUsedUp(PathBuf),
    /// The caller asked to stop.
    #[error("interrupted; nothing was written")]
    Interrupted,
}

/// An error of the writer.
#[derive(Debug)]
pub struct Error(Box<ErrorKind>);

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// What went wrong, by itself.
    pub(crate) fn into_kind(self) -> ErrorKind {
        *self.0
    }

    /// True where the caller asked to stop.
    pub fn is_interrupted(&self) -> bool {
        match &*self.0 {
            ErrorKind::Interrupted => true,
            ErrorKind::Read(e) | ErrorKind::Source(e) => e.is_interrupted(),
            _ => false,
        }
    }

    /// True where an archive that was read is damaged beyond what was asked for.
    pub fn is_corrupt(&self) -> bool {
        matches!(&*self.0, ErrorKind::Read(e) if e.is_corrupt())
    }

    /// An operation on the target that the system refused.
    pub fn io(what: &'static str, path: &Path, source: io::Error) -> Self {
        ErrorKind::Io { what, path: path.to_owned(), source }.into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error(Box::new(kind))
    }
}

impl From<nc3z_reader::Error> for Error {
    fn from(e: nc3z_reader::Error) -> Self {
        ErrorKind::Read(e).into()
    }
}

impl From<nc3z_format::Error> for Error {
    fn from(e: nc3z_format::Error) -> Self {
        nc3z_reader::Error::from(e).into()
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

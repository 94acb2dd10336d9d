//! Errors of writing: of the source, of the target, and of the comparison after writing.

use std::io;
use std::path::{Path, PathBuf};

/// The kinds of errors in writing an archive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The source could not be read, the archive that is changed is damaged, or the written archive could not be read back.
    #[error(transparent)]
    Read(#[from] nc3z_reader::Error),
    /// The source is not a classic netCDF file, or it is damaged; also a file whose values an edit takes.
    #[error(transparent)]
    Source(nc3z_reader::Error),
    /// The target could not be written.
    #[error("{what} `{}`", path.display())]
    Io {
        /// The operation that failed.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The target exists and may not be replaced.
    #[error("`{}` exists", .0.display())]
    Exists(PathBuf),
    /// The name of the target is meant as a URL.
    #[error("`{}` looks like a URL, and outputs are files on this machine: write a file, and copy it there (`./{}` would be a directory of that name); nothing was done", nc3z_format::url::cut(.0), nc3z_format::url::cut(.0))]
    UrlTarget(String),
    /// Source and target are one file.
    #[error("source and target are the same file `{}`", .0.display())]
    SameFile(PathBuf),
    /// The source changed since work began.
    #[error("`{}` changed while it was read ({what}); nothing was written", path.display())]
    SourceChanged {
        /// The path of the source.
        path: PathBuf,
        /// The evidence of the change.
        what: String,
    },
    /// The rebuilt bytes differ from the source.
    #[error("the archive of `{}` does not rebuild it: first difference at byte {offset}; nothing was written", path.display())]
    Proof {
        /// The path of the source.
        path: PathBuf,
        /// Offset of the first byte that differs.
        offset: u64,
    },
    /// The file's variables and dimensions do not allow the requested tile layout.
    #[error("{0}")]
    Layout(String),
    /// The new archive would not contain everything that the old one has.
    #[error("`{}` has {what}, which a new archive does not keep", path.display())]
    History {
        /// The path of the old archive.
        path: PathBuf,
        /// The part that would be lost.
        what: String,
    },
    /// A requested option does not fit the file.
    #[error("{option}: {why}")]
    Option {
        /// The option: "chain", "quantize".
        option: &'static str,
        /// The reason, and values that would fit.
        why: String,
        /// The advice that would let the request through, if one exists.
        advice: Option<Advice>,
    },
    /// The archive's parity does not allow the operation.
    #[error("`{}`: {why}", path.display())]
    Parity {
        /// The path of the archive.
        path: PathBuf,
        /// The reason, and what to do.
        why: String,
    },
    /// The file to be committed has no variable of the archive.
    #[error(
        "`{}` shares no variable with `{}`, neither by name, type and lengths nor by values: it seems to be another data set",
        file.display(), archive.display()
    )]
    Unrelated {
        /// The path of the archive.
        archive: PathBuf,
        /// The path of the file.
        file: PathBuf,
    },
    /// The tag is already in use for another version.
    #[error("the tag `{tag}` names version {version} already")]
    TagInUse {
        /// The name of the tag.
        tag: String,
        /// The version that has the tag.
        version: u64,
    },
    /// Staged values could not be written to or read from their temporary file.
    #[error("keep staged values in a temporary file")]
    Staged(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Another process is changing the archive.
    #[error("`{}` is being changed by another process; try again when that is done", .0.display())]
    Busy(PathBuf),
    /// The archive is no longer the one that was opened and locked.
    #[error("`{}`: {why}; nothing was changed", path.display())]
    LockLost {
        /// The archive, by the name it was opened with.
        path: PathBuf,
        /// The evidence, and what to do.
        why: String,
    },
    /// The archive has the largest possible number of generations.
    #[error("`{}` has the largest possible number of commits: write it to a new archive, which begins with one", .0.display())]
    GenerationsUsedUp(PathBuf),
    /// The caller asked to stop.
    #[error("interrupted; nothing was written")]
    Interrupted,
}

/// What a caller can ask for so that a refused request is carried out. Each interface has its own option for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// Replace the target.
    Replace,
    /// Move the tag.
    MoveTag,
    /// Drop the history of the archive.
    DropHistory,
    /// Commit a file that shares nothing with the archive.
    CommitUnrelated,
    /// Replace the archive's records of the same coordinates, or append all records.
    ReplaceOrAllowOverlap,
    /// Append all records.
    AllowOverlap,
    /// Use more memory.
    MoreMemory,
    /// Enter directories.
    Recurse,
    /// Create missing directories.
    CreateDirectories,
    /// Name the output.
    NameOutput,
    /// Name a directory for the output.
    NameDirectory,
    /// Choose another directory, or replace what is in this one.
    OtherDirectoryOrReplace,
    /// Compare the data, or replace the file.
    CompareOrReplace,
    /// Recall the files from tape first, leave them out, or read them last.
    Recall,
    /// Name the columns of a table.
    NameColumns,
    /// List the chapters of the specification.
    ListChapters,
    /// Write a manifest.
    WriteManifest,
    /// Check the archive itself.
    VerifyArchive,
    /// Make a plan.
    MakePlan,
    /// Make the catalogue again.
    MakeCatalogue,
    /// Allow fragments outside the aggregation's directory.
    TrustOutside,
    /// Join variables by their name, or keep those of different meaning apart.
    JoinByNameOrMeaning,
    /// Give the new dimension another name, or join along the existing one.
    OtherDimension,
    /// Extract packed members.
    Extract,
    /// Make a packed bundle.
    Pack,
}

/// An error of the writer.
#[derive(Debug)]
pub struct Error(Box<ErrorKind>);

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Returns the kind of the error.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// Returns the kind, without the box.
    pub(crate) fn into_kind(self) -> ErrorKind {
        *self.0
    }

    /// The advice that would let a refused request through.
    pub fn advice(&self) -> Option<Advice> {
        match &*self.0 {
            ErrorKind::Exists(_) => Some(Advice::Replace),
            ErrorKind::TagInUse { .. } => Some(Advice::MoveTag),
            ErrorKind::History { .. } => Some(Advice::DropHistory),
            ErrorKind::Unrelated { .. } => Some(Advice::CommitUnrelated),
            ErrorKind::Option { advice, .. } => *advice,
            _ => None,
        }
    }

    /// The stable code of the error, for programs and logs (`docs/campaign.md`).
    pub fn code(&self) -> &'static str {
        match &*self.0 {
            ErrorKind::Read(e) => e.code(),
            // The source is a classic file: any other fault of its bytes is damage.
            ErrorKind::Source(e) => match e.code() {
                "argument" => "input.not-classic",
                "range" | "root" | "other" => "input.damaged",
                code => code,
            },
            ErrorKind::Io { source, .. } => nc3z_reader::code_of_io(source),
            ErrorKind::Exists(_) | ErrorKind::History { .. } | ErrorKind::TagInUse { .. } => "exists",
            ErrorKind::SourceChanged { .. } => "changed",
            ErrorKind::Proof { .. } => "proof",
            ErrorKind::Busy(_) | ErrorKind::LockLost { .. } => "busy",
            ErrorKind::Layout(_) | ErrorKind::Option { .. } => "option",
            ErrorKind::Interrupted => "interrupted",
            _ => "other",
        }
    }

    /// The file that the message names, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match &*self.0 {
            ErrorKind::Read(e) | ErrorKind::Source(e) => e.path(),
            ErrorKind::Exists(path)
            | ErrorKind::SameFile(path)
            | ErrorKind::Busy(path)
            | ErrorKind::GenerationsUsedUp(path)
            | ErrorKind::Io { path, .. }
            | ErrorKind::SourceChanged { path, .. }
            | ErrorKind::Proof { path, .. }
            | ErrorKind::History { path, .. }
            | ErrorKind::Parity { path, .. }
            | ErrorKind::Unrelated { archive: path, .. }
            | ErrorKind::LockLost { path, .. } => Some(path),
            ErrorKind::UrlTarget(path) => Some(Path::new(path)),
            ErrorKind::Layout(_)
            | ErrorKind::Option { .. }
            | ErrorKind::TagInUse { .. }
            | ErrorKind::Staged(_)
            | ErrorKind::Interrupted => None,
        }
    }

    /// True if the caller requested the interruption.
    pub fn is_interrupted(&self) -> bool {
        match &*self.0 {
            ErrorKind::Interrupted => true,
            ErrorKind::Read(e) | ErrorKind::Source(e) => e.is_interrupted(),
            _ => false,
        }
    }

    /// True if the archive that was read is damaged and the request cannot be met.
    pub fn is_corrupt(&self) -> bool {
        matches!(&*self.0, ErrorKind::Read(e) if e.is_corrupt())
    }

    /// Wraps the system's error for an operation on the target.
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

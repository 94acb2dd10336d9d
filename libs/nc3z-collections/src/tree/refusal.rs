//! The reasons why a run refuses a request, each with the advice that lets the request through. Each interface puts the advice
//! into its own words.

use nc3z_writer::Advice;
use std::path::PathBuf;

/// The reason why a request cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A bundle has lost a member.
    #[error("`{0}` does not exist")]
    NoMember(String),
    /// A fragment of an aggregation does not exist.
    #[error("fragment `{0}` does not exist")]
    NoFragment(String),
    /// Two members of a collection have the same original name.
    #[error(
        "two members have the original name `{0}`; the root of a collection needs a different name for each member"
    )]
    TwoMembers(String),
    /// A collection has no tree file.
    #[error("a tree file describes one file, and a collection is named; name one file, or one member")]
    TreeOfCollection,
    /// A directory is named, and directories are not entered.
    #[error("`{}` is a directory", .0.display())]
    Directory(PathBuf),
    /// Files have no data on disk, and may not be recalled.
    #[error("{count} of the inputs {have} no data on disk, such as `{first}`: reading them recalls them from tape", have = if *.count == 1 { "has" } else { "have" }, first = .first.display())]
    Offline {
        /// The number of these files.
        count: usize,
        /// The first of them.
        first: PathBuf,
    },
    /// The site's command for files on tape failed.
    #[error("`{command}` failed ({status}){colon}{reason}", colon = if .reason.is_empty() { "" } else { ": " })]
    TapeCommand {
        /// The command, with the name of a file.
        command: String,
        /// The exit status of the command.
        status: String,
        /// The text that the command wrote to standard error.
        reason: String,
    },
    /// Several inputs would go into one file.
    #[error("several inputs need a directory as output; `{}` is a file", .0.display())]
    OneFile(PathBuf),
    /// Several inputs would go into one name that a file has.
    #[error("several inputs need a directory as output; `{name}` names one file, and `{name}/` a directory", name = .0.display())]
    OneName(PathBuf),
    /// Two inputs would get the same output.
    #[error("`{}` and `{}` would both become `{}`; nothing was done", .first.display(), .second.display(), .output.display())]
    Collision {
        /// An input.
        first: PathBuf,
        /// Another input.
        second: PathBuf,
        /// The output of both.
        output: PathBuf,
    },
    /// An archive would be restored over itself.
    #[error("archive and output are the same file `{}`", .0.display())]
    SameFile(PathBuf),
    /// The name of a file cannot be in a bundle.
    #[error("the name `{}` is not valid UTF-8, and names in a bundle must be; rename the file to include it", .0.display())]
    MemberName(PathBuf),
    /// A name of a list is absolute or leads upwards.
    #[error("with -o, names in a list must be relative and must not lead upwards")]
    ListedName,
    /// The file's name does not give the name of the output.
    #[error("`{}` does not end in {}", .0.display(), crate::tree::walk::SUFFIX)]
    Suffix(PathBuf),
    /// An older version has no name for the output.
    #[error("the output of an older version has no default name")]
    VersionName,
    /// Standard input has no name for the output.
    #[error("the output for standard input has no default name")]
    NoName,
    /// The directory of an output does not exist.
    #[error("directory `{}` does not exist", .0.display())]
    NoParent(PathBuf),
    /// Other files are to be copied, but no directory was given.
    #[error(
        "files that are passed over are copied into the output directory, and no output directory is named"
    )]
    CopyInPlace,
    /// A file of the name exists.
    #[error("`{}` exists", .0.display())]
    Exists(PathBuf),
    /// A file of the name exists that is not the source's archive.
    #[error("`{}` exists, and {why}", .archive.display())]
    NotItsArchive {
        /// The path of the file.
        archive: PathBuf,
        /// The difference that was found.
        why: Mismatch,
    },
    /// A file of the name exists that is not the archive's original.
    #[error("`{}` exists, and {why}", .file.display())]
    NotItsOriginal {
        /// The path of the file.
        file: PathBuf,
        /// The difference that was found.
        why: RestoredMismatch,
    },
    /// No file fits a pattern.
    #[error("no file matches the pattern `{0}`")]
    NoFile(String),
    /// The file is not a log.
    #[error("`{}` is not the log of a run: no line in it names a file and its state", .0.display())]
    NoLog(PathBuf),
    /// A name in a log is damaged.
    #[error("`{}`: `{digits}` is not a file name in hexadecimal digits", .log.display())]
    LoggedName {
        /// The path of the log.
        log: PathBuf,
        /// The name in hexadecimal digits.
        digits: String,
    },
    /// The file is not a plan.
    #[error("`{}` is not a valid plan", .0.display())]
    NoPlan(PathBuf),
    /// The plan is for other directories.
    #[error("`{}` is a plan for other directories; write the new plan to another directory", .0.display())]
    OtherPlan(PathBuf),
    /// A file with ACLs or attributes is not in the notation.
    #[error("`{}`: the entry that ends before line {line} is not in the notation of `getfacl -n` or `getfattr -e hex`", .path.display())]
    NoAcl {
        /// The path of the file.
        path: PathBuf,
        /// The line that follows, from 1.
        line: u64,
    },
    /// The list is not a unit of a plan.
    #[error("`{}` is not a unit of a plan, such as camp/units/00001.list", .0.display())]
    NoUnit(PathBuf),
    /// A row of a table is wrong.
    #[error("`{}`, row {row}: expected path, size, mtime, kind and unit", .path.display())]
    Table {
        /// The path of the table.
        path: PathBuf,
        /// The row, from 1, which has the names of the columns.
        row: u64,
    },
    /// The trash is inside the originals' directory.
    #[error("the trash `{}` is inside the directory of the originals; choose a directory outside it", .0.display())]
    TrashInside(PathBuf),
    /// The trash is on another file system.
    #[error("the trash `{}` is on another file system than the originals, and originals are moved by renaming, which works within one file system; choose a directory on theirs", .0.display())]
    OtherDevice(PathBuf),
    /// Archive and file differ.
    #[error("`{}` does not hold the bytes of `{}`; the file stays where it is", .archive.display(), .file.display())]
    NotEqual {
        /// The path of the archive.
        archive: PathBuf,
        /// The path of the file.
        file: PathBuf,
    },
    /// A copy of another file has the name of an archive.
    #[error("`{}` exists and is an archive, which a copy of `{}` does not replace; rename one of the two", .archive.display(), .file.display())]
    OverArchive {
        /// The path of the archive.
        archive: PathBuf,
        /// The path of the other file.
        file: PathBuf,
    },
    /// A file to retire is a link.
    #[error("`{}` is a link, and its file stays where it is: retiring it would free no space", .0.display())]
    RetiredLink(PathBuf),
    /// An archive is damaged, and its file would be given up.
    #[error("`{}` is damaged, as `nc3z verify` says in detail; `{}` stays where it is", .archive.display(), .file.display())]
    Damaged {
        /// The path of the archive.
        archive: PathBuf,
        /// The path of the file.
        file: PathBuf,
    },
    /// A catalogue lacks a column.
    #[error("`{}` has no column `{column}`; its columns are {known}", .path.display())]
    NoColumn {
        /// The path of the catalogue.
        path: PathBuf,
        /// The name of the column.
        column: String,
        /// The names of the columns.
        known: String,
    },
    /// The specification has no such file.
    #[error("the specification has no file `{}`", nc3z_look::text::safe(.0))]
    NoChapter(String),
    /// A file of the specification exists with other content.
    #[error("`{}` exists and differs from the file of this version", .0.display())]
    OtherSpecification(PathBuf),
    /// The source has other content than its archive, or may get it.
    #[error(transparent)]
    Source(#[from] SourceKept),
    /// A manifest cannot be read or written.
    #[error(transparent)]
    Manifest(#[from] ManifestFault),
}

impl Refusal {
    /// The advice that would let the request through.
    pub fn advice(&self) -> Option<Advice> {
        Some(match self {
            Refusal::Directory(_) => Advice::Recurse,
            Refusal::Offline { .. } => Advice::Recall,
            Refusal::Suffix(_) | Refusal::VersionName | Refusal::NoName => Advice::NameOutput,
            Refusal::NoParent(_) => Advice::CreateDirectories,
            Refusal::CopyInPlace
            | Refusal::Manifest(ManifestFault::NoBagDirectory | ManifestFault::InputFile(_)) => {
                Advice::NameDirectory
            }
            // Another archive would have none of the versions.
            Refusal::NotItsArchive { why: Mismatch::Edited | Mismatch::Versions, .. } => return None,
            Refusal::NotItsArchive { why: Mismatch::Older, .. }
            | Refusal::NotItsOriginal { why: RestoredMismatch::OtherTime, .. } => Advice::CompareOrReplace,
            Refusal::Exists(_) | Refusal::NotItsArchive { .. } | Refusal::NotItsOriginal { .. } => {
                Advice::Replace
            }
            Refusal::NoPlan(_) => Advice::MakePlan,
            Refusal::NoColumn { .. } => Advice::NameColumns,
            Refusal::NoChapter(_) => Advice::ListChapters,
            Refusal::OtherSpecification(_) | Refusal::Manifest(ManifestFault::FullBag(_)) => {
                Advice::OtherDirectoryOrReplace
            }
            Refusal::Manifest(ManifestFault::None(_)) => Advice::WriteManifest,
            Refusal::Manifest(ManifestFault::Archive(_)) => Advice::VerifyArchive,
            _ => return None,
        })
    }
}

/// The difference between an existing archive and that of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// It has another header or length.
    #[error("is the archive of another file")]
    OtherFile,
    /// It has no digest.
    #[error("has no digest to compare")]
    NoDigest,
    /// It has another digest.
    #[error("is the archive of other data")]
    OtherData,
    /// It is older.
    #[error("is older than the source")]
    Older,
    /// It has several versions.
    #[error(
        "has several versions, of which the newest is not this file; commit the file to it as a version, or leave the file out"
    )]
    Edited,
    /// It has several versions, and would be replaced.
    #[error(
        "has several versions, which a new archive would not have; drop them first (prune), or remove the archive"
    )]
    Versions,
}

/// The difference between an existing file and the original of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoredMismatch {
    /// It has another header or length.
    #[error("is not the archive's original")]
    OtherFile,
    /// The archive has no digest.
    #[error("its archive has no digest to compare")]
    NoDigest,
    /// It has another digest.
    #[error("has other data than its archive")]
    OtherData,
    /// It has another modification time.
    #[error("has another modification time than its archive")]
    OtherTime,
}

/// The reason why a source was not removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceKept {
    /// Another process can write to it.
    #[error("process {0} has it open for writing; its archive is complete, and the source was not removed")]
    Open(u32),
    /// The source was written to while it was archived.
    #[error("it was written to while it was archived; the source was not removed: archive it again")]
    Written,
    /// The name or the times changed.
    #[error("it was written to, or another file took its name, while it was archived; nothing was removed")]
    Replaced,
}

/// A fault of a manifest, or of the directory for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestFault {
    /// There is none.
    #[error("manifest `{}` does not exist", .0.display())]
    None(PathBuf),
    /// It is too large, or no file.
    #[error("`{}` is not a manifest: expected a file of at most {most} bytes", .path.display())]
    NoFile {
        /// The path that was looked for.
        path: PathBuf,
        /// The limit for its length.
        most: u64,
    },
    /// It is an archive.
    #[error("`{name}` is an nc3z archive, not a manifest", name = .0.display())]
    Archive(PathBuf),
    /// A line of a list is wrong.
    #[error("`{}`, line {line}: expected a SHA-256, two blanks and a name", .path.display())]
    Line {
        /// The path of the manifest.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// An entry of a bag is wrong.
    #[error("`{}`, entry {entry}: expected a SHA-256, a blank and a name", .path.display())]
    Entry {
        /// The path of the manifest.
        path: PathBuf,
        /// The entry, from 1.
        entry: u64,
    },
    /// No directory is named for a bag.
    #[error("a bag needs its own directory, and no directory is named")]
    NoBagDirectory,
    /// The directory for a bag has another file.
    #[error("`{}` contains `{}` and is not a bag; name an empty directory, or one with a bag", .root.display(), .name.display())]
    NoBag {
        /// The path of the directory.
        root: PathBuf,
        /// The path of the file.
        name: PathBuf,
    },
    /// The bag has files.
    #[error("`{}` is not empty", .0.display())]
    FullBag(PathBuf),
    /// The name cannot be in a bag.
    #[error("`{}` is not valid UTF-8 and cannot be listed in a bag", .0.display())]
    BagName(PathBuf),
    /// The name of an archive cannot be in a bag, so that it was not written.
    #[error("its name is not valid UTF-8 and cannot be listed in a bag; nothing was written")]
    ArchiveName,
    /// An input is not a directory.
    #[error("`{}` is not a directory", .0.display())]
    InputFile(PathBuf),
    /// The root is not a directory.
    #[error("`{}` is not a directory; name the directory of the archives", .0.display())]
    NoDirectory(PathBuf),
    /// A listed file cannot be checked.
    #[error(transparent)]
    NotThere(#[from] NotThere),
    /// An archive is in none of the directories.
    #[error("an archive is outside the tree")]
    Outside,
    /// Logs do not account for all files.
    #[error("{}", gaps(.0))]
    Gaps(Vec<(PathBuf, String)>),
}

/// The number of gaps in a message.
const GAPS: usize = 8;

/// Names the logs that do not account for all files.
fn gaps(gaps: &[(PathBuf, String)]) -> String {
    let mut lines: Vec<String> = gaps
        .iter()
        .take(GAPS)
        .map(|(log, why)| format!("the log `{}` {why}", crate::tree::shown(log)))
        .collect();
    if gaps.len() > GAPS {
        lines.push(format!("and {} more", gaps.len() - GAPS));
    }
    format!(
        "{}. The manifest might lack files, so nothing was written. Run that part again (it keeps existing archives), and give the logs of all parts",
        lines.join("; ")
    )
}

/// The reason why a file that a manifest lists is not checked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotThere {
    /// It does not exist.
    #[error("missing")]
    Missing,
    /// The name leads out of the directory.
    #[error("leads out of the directory")]
    LeadsOut,
    /// It is a link that leads out of the directory.
    #[error("is a link that leads out of the directory")]
    LinkOut,
    /// It is a directory or a device.
    #[error("is not a file")]
    NoFile,
    /// The system does not show it.
    #[error("{0}")]
    System(String),
}

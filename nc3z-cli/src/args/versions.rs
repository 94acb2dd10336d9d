//! Arguments of `commit`, `log`, `tag` and `revert`.

use super::{JsonArgs, RemoteArgs, ThreadsArgs, parse_size};
use clap::Args;
use nc3z_reader::VersionName;
use std::path::PathBuf;

/// The description of a version.
#[derive(Debug, Args)]
pub(crate) struct NoteArgs {
    /// A description of the change.
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// The author of the change [default: the environment variable NC3Z_AUTHOR, or the user's name].
    #[arg(long, value_name = "NAME")]
    pub(crate) author: Option<String>,
    /// The date of the change: any text, or `now` for the current date and time in UTC [default: the environment
    /// variable NC3Z_DATE, or now].
    #[arg(long, value_name = "DATE", alias = "time")]
    pub(crate) date: Option<String>,
    /// Record author and date only if --author and --date give them: the same edits then give the same archive.
    #[arg(long, conflicts_with = "author")]
    pub(crate) no_author: bool,
    /// Report only warnings and failures.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Options for making a new version.
#[derive(Debug, Args)]
pub(crate) struct EffortArgs {
    /// Report what would be done, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Leave parity unchanged: it then does not cover the new version. Otherwise parity of the same share (in
    /// archives of a few MB or less perhaps of a neighbouring one) is computed again, for which the archive is read twice. After a crash during that, the archive is intact,
    /// but may have no parity: see `nc3z parity info`.
    #[arg(long)]
    pub(crate) no_parity: bool,
    /// Memory for buffers. It does not affect the archive.
    #[arg(long, value_parser = parse_size, default_value = "256MiB", value_name = "SIZE")]
    pub(crate) memory: u64,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
}

/// Arguments of `commit`.
#[derive(Debug, Args)]
pub(crate) struct CommitArgs {
    /// The archive to change.
    pub(crate) archive: PathBuf,
    /// The edited classic netCDF file.
    pub(crate) edited: PathBuf,
    /// Commit the file even if it has none of the archive's variables.
    #[arg(long)]
    pub(crate) allow_unrelated: bool,
    #[command(flatten)]
    pub(crate) note: NoteArgs,
    #[command(flatten)]
    pub(crate) effort: EffortArgs,
}

/// Arguments of `revert`.
#[derive(Debug, Args)]
pub(crate) struct RevertArgs {
    /// The archive to change.
    pub(crate) archive: PathBuf,
    /// The version that the new one repeats, by number or tag.
    #[arg(value_parser = parse_version)]
    pub(crate) version: VersionName,
    #[command(flatten)]
    pub(crate) note: NoteArgs,
    #[command(flatten)]
    pub(crate) effort: EffortArgs,
}

/// Arguments of `log`.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// An archive; with NAME@VERSION, the versions up to that one.
    pub(crate) archive: PathBuf,
    /// Only the newest NUMBER versions.
    #[arg(short = 'n', long, value_name = "NUMBER")]
    pub(crate) number: Option<u64>,
    /// One line for each version: number, tags, date, author, message.
    #[arg(long, conflicts_with = "json")]
    pub(crate) oneline: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

/// Arguments of `tag`.
#[derive(Debug, Args)]
pub(crate) struct TagArgs {
    /// The archive to change.
    pub(crate) archive: PathBuf,
    /// The tag. Without it the tags are listed.
    pub(crate) tag: Option<String>,
    /// The version to tag, by number or another tag [default: the newest].
    #[arg(long, value_name = "VERSION", value_parser = parse_version, requires = "tag")]
    pub(crate) version: Option<VersionName>,
    /// Move a tag from another version.
    #[arg(long, requires = "tag")]
    pub(crate) move_tag: bool,
    /// Leave parity unchanged: it then does not cover the tag.
    #[arg(long, requires = "tag")]
    pub(crate) no_parity: bool,
    /// Delete the tag.
    #[arg(short, long, requires = "tag", conflicts_with_all = ["version", "move_tag"])]
    pub(crate) delete: bool,
}

/// Parses a version's number or tag.
pub(super) fn parse_version(text: &str) -> Result<VersionName, String> {
    text.parse().map_err(|e: nc3z_format::Error| e.to_string())
}

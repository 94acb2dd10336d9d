//! Arguments of `commit`, `log`, `tag` and `revert`.

use super::{parse_size, parse_threads};
use clap::Args;
use nc3z_reader::VersionName;
use std::path::PathBuf;

/// What is said of a version.
#[derive(Debug, Args)]
pub(crate) struct NoteArgs {
    /// What the change is.
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Who made it. Nothing is noted unless it is given.
    #[arg(long, value_name = "NAME")]
    pub(crate) author: Option<String>,
    /// When it was made: any text, or `now` for the date and time of this moment in UTC. Nothing is noted unless it is given, here or by the
    /// environment variable NC3Z_DATE.
    #[arg(long, value_name = "DATE", alias = "time")]
    pub(crate) date: Option<String>,
    /// Tell of warnings and failures only.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// How a new version is made.
#[derive(Debug, Args)]
pub(crate) struct EffortArgs {
    /// Report what would be done, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Leave parity as it is: it does not cover the new version then. Otherwise parity of the same share is made anew, for which the archive is read twice. A crash meanwhile leaves the archive whole, but perhaps without parity: `nc3z parity info` says whether it has some.
    #[arg(long)]
    pub(crate) no_parity: bool,
    /// Memory for buffers. The archive does not depend on it.
    #[arg(long, value_parser = parse_size, default_value = "256MiB", value_name = "SIZE")]
    pub(crate) memory: u64,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
}

/// Arguments of `commit`.
#[derive(Debug, Args)]
pub(crate) struct CommitArgs {
    /// The archive, which is added to in place.
    pub(crate) archive: PathBuf,
    /// The edited classic netCDF file.
    pub(crate) edited: PathBuf,
    /// Commit the file even if it has none of the archive's variables.
    #[arg(short, long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) note: NoteArgs,
    #[command(flatten)]
    pub(crate) effort: EffortArgs,
}

/// Arguments of `revert`.
#[derive(Debug, Args)]
pub(crate) struct RevertArgs {
    /// The archive, which is added to in place.
    pub(crate) archive: PathBuf,
    /// The version that the new one is to be like, by number or tag.
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
    /// An archive; with `@` and a number or a tag behind its name, the versions up to that one.
    pub(crate) archive: PathBuf,
    /// At most so many versions, the newest.
    #[arg(short = 'n', long, value_name = "NUMBER")]
    pub(crate) number: Option<u64>,
    /// One line for each version: number, tags, date, message.
    #[arg(long, conflicts_with = "json")]
    pub(crate) oneline: bool,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `tag`.
#[derive(Debug, Args)]
pub(crate) struct TagArgs {
    /// The archive, which is added to in place.
    pub(crate) archive: PathBuf,
    /// The tag. Without one the tags are listed.
    pub(crate) tag: Option<String>,
    /// The version that it names, by number or another tag [default: the newest].
    #[arg(long, value_name = "VERSION", value_parser = parse_version, requires = "tag")]
    pub(crate) version: Option<VersionName>,
    /// Move a tag that names another version.
    #[arg(short, long, requires = "tag")]
    pub(crate) force: bool,
    /// Leave parity as it is: it does not cover the tag then.
    #[arg(long, requires = "tag")]
    pub(crate) no_parity: bool,
    /// Take the tag away.
    #[arg(short, long, requires = "tag", conflicts_with_all = ["version", "force"])]
    pub(crate) delete: bool,
}

/// Reads a version's number or tag.
pub(super) fn parse_version(text: &str) -> Result<VersionName, String> {
    text.parse().map_err(|e: nc3z_format::Error| crate::output::words::plain(&e))
}

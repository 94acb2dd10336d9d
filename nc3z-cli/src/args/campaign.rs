//! Arguments of `plan` and `status`.

use super::{JsonArgs, ResidencyArgs, TellArgs, parse_size};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Directories with the files of the campaign.
    #[arg(required_unless_present = "files_from")]
    pub(crate) directories: Vec<PathBuf>,
    /// The directory of the plan. If it has one, the trees are compared with it.
    #[arg(short, long, value_name = "CAMP")]
    pub(crate) output: PathBuf,
    /// Bytes of a unit, such as 200GB. A unit ends where a directory does, if it is at least half full then.
    #[arg(long, value_parser = parse_unit, default_value = "200GB", value_name = "SIZE")]
    pub(crate) unit: u64,
    /// Plan the files of a list, one in each line, in its order, such as the order of recalls from tape; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "directories")]
    pub(crate) files_from: Option<PathBuf>,
    /// Names in --files-from end with a zero byte instead of a line break.
    #[arg(short = '0', long = "null", requires = "files_from")]
    pub(crate) null: bool,
    /// Add units for new and changed files to the plan that is there. Otherwise it stays, and differences give exit code 1.
    #[arg(long)]
    pub(crate) update: bool,
    /// Read no file to estimate sizes and time.
    #[arg(long)]
    pub(crate) no_samples: bool,
    /// Do not write acl.txt and xattr.txt: owners, modes, ACLs and user attributes of all files and directories.
    #[arg(long)]
    pub(crate) no_acl: bool,
    #[command(flatten)]
    _residency: ResidencyArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) tell: TellArgs,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The directory of a plan.
    pub(crate) camp: PathBuf,
    /// Another log of the campaign, besides those in its directory. May be repeated.
    #[arg(long, value_name = "LOG")]
    pub(crate) log: Vec<PathBuf>,
    /// Machine-readable output.
    #[arg(long, group = "form")]
    pub(crate) json: bool,
    /// A row for each file, as CSV: path, size, time, kind, unit, state, code of a failure.
    #[arg(long, group = "form")]
    pub(crate) csv: bool,
    /// Numbers in the text format of Prometheus.
    #[arg(long, group = "form")]
    pub(crate) prometheus: bool,
    /// Write a page: a single HTML file with a chart of the progress, failures by code, and what remains by directory.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// Arguments of `retire`.
#[derive(Debug, Args)]
pub(crate) struct RetireArgs {
    /// The directory of the originals, and the directory of their archives. With --undo, the files to put back [default: all].
    pub(crate) paths: Vec<PathBuf>,
    /// The trash: a directory on the file system of the originals, outside of them.
    #[arg(long, value_name = "DIR")]
    pub(crate) trash: PathBuf,
    /// Read each file of the trash and its archive once more, and name those that would be deleted; with --yes, delete them.
    #[arg(long, conflicts_with = "undo")]
    pub(crate) purge: bool,
    /// With --purge, only files that were moved this long ago or longer, such as 30d or 12h.
    #[arg(long, value_parser = parse_duration, default_value = "30d", value_name = "TIME", requires = "purge", conflicts_with = "undo")]
    pub(crate) after: Duration,
    /// Delete what --purge names.
    #[arg(long, requires = "purge")]
    pub(crate) yes: bool,
    /// Move files of the trash back to their places.
    #[arg(long)]
    pub(crate) undo: bool,
    #[command(flatten)]
    pub(crate) tell: TellArgs,
}

/// Arguments of `reconcile`.
#[derive(Debug, Args)]
pub(crate) struct ReconcileArgs {
    /// The catalogue: CSV with names in its first line; separated by commas, semicolons or tabs.
    pub(crate) catalogue: PathBuf,
    /// Directories with archives.
    #[arg(required = true)]
    pub(crate) archives: Vec<PathBuf>,
    /// The columns of the catalogue: `plain` (path, size, checksum), `esgf` (title, size, checksum) or `intake-esm` (path).
    #[arg(long, default_value = "plain", value_name = "KIND")]
    pub(crate) preset: String,
    /// The names of the columns for path, size and checksum (SHA-256 or MD5), such as `url,bytes,md5`; the last two may be missing.
    #[arg(long, value_name = "NAMES")]
    pub(crate) columns: Option<String>,
    /// The beginning of the paths in the catalogue that the names of archives do not have.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Compare the last components of paths only.
    #[arg(long)]
    pub(crate) by_name: bool,
    /// Write a catalogue of the archives that match: path, size, media type, and the original's path, size and digests.
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Overwrite the file of --write.
    #[arg(short, long, requires = "write")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// Reads `200GB`: powers of ten, as storage is sold and accounted for, besides the units of [`parse_size`].
pub(super) fn parse_unit(text: &str) -> Result<u64, String> {
    let powers = [("kb", 1), ("mb", 2), ("gb", 3), ("tb", 4)];
    let lower = text.to_ascii_lowercase();
    let Some((number, power)) =
        powers.iter().find_map(|(unit, power)| Some((lower.strip_suffix(unit)?, *power)))
    else {
        return parse_size(text);
    };
    let number: u64 = number.trim().parse().map_err(|_| "expected a size such as 200GB or 1TB".to_owned())?;
    let bytes = number.checked_mul(1000_u64.pow(power)).filter(|&n| n > 0);
    bytes.ok_or_else(|| format!("`{text}` is out of range"))
}

/// Reads `30d`, `12h`, `15m` or `20s`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time such as 30d, 12h, 15m or 20s".to_owned();
    let (number, unit) = text.split_at(text.len() - text.chars().last().map_or(0, char::len_utf8));
    let seconds = match unit {
        "d" => 86400,
        "h" => 3600,
        "m" => 60,
        "s" => 1,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

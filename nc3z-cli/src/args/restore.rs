//! Arguments of `restore`.

use super::versions::parse_version;
use super::{DefaultOutputArgs, OfflineArgs, OpenArgs, PassedOverArg, SkipArg, TellArgs, ThreadsArgs};
use clap::Args;
use nc3z_reader::VersionName;
use std::path::PathBuf;

/// Arguments of `restore`.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Archives (or directories with --recursive); `-` is standard input.
    #[arg(required = true)]
    pub(crate) archives: Vec<PathBuf>,
    /// Output file, or a directory if there are several archives; `-` is standard output. Default: the name
    /// without .nc3z.
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    /// The version to restore, by number or tag [default: the newest]; ARCHIVE@VERSION does the same.
    #[arg(long, value_name = "VERSION", value_parser = parse_version, conflicts_with = "recursive")]
    pub(crate) version: Option<VersionName>,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    /// Enter directories, and restore every .nc3z in them.
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Action for files of a tree that are not archives; they are counted in any case.
    #[arg(long, value_enum, value_name = "WHAT", requires = "recursive")]
    pub(crate) passed_over: Option<PassedOverArg>,
    #[command(flatten)]
    pub(crate) out: DefaultOutputArgs,
    /// Allow writing a netCDF file to a terminal.
    #[arg(long)]
    pub(crate) to_terminal: bool,
    /// Keep files that exist already: `header` (a file with the archive's header, length and time), `digest`
    /// (its SHA-256 is the recorded one), or `name`. With --recursive, `header` is the default; --force
    /// restores all files again.
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "header", value_name = "HOW")]
    pub(crate) skip_existing: Option<SkipArg>,
    /// Also set the owners, modes, ACLs and user attributes that `nc3z plan` or `archive --acl` wrote to acl.txt and
    /// xattr.txt in DIR. Other owners need root.
    #[arg(long, value_name = "DIR", requires_all = ["recursive", "output"], hide_short_help = true)]
    pub(crate) acl: Option<PathBuf>,
    /// Keep the archives (always done).
    #[arg(short, long)]
    keep: bool,
    #[command(flatten)]
    pub(crate) tell: TellArgs,
    /// Write fill values where the archive is damaged or has lost tiles, instead of failing. Lists them; exit
    /// code 3.
    #[arg(long)]
    pub(crate) fill_lost: bool,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

//! Arguments of `manifest`.

use super::parse_threads;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `manifest`.
#[derive(Debug, Args)]
pub(crate) struct ManifestArgs {
    /// The directory that the manifest is of: all archives below it.
    pub(crate) directory: PathBuf,
    /// Only the archives that these logs of `nc3z archive --log` list as done; all of them must be there. May be given several times: each
    /// shard has a log of its own.
    #[arg(long, value_name = "LOG")]
    pub(crate) from_log: Vec<PathBuf>,
    /// Where to write it; `-` is standard output [default: SHA256SUMS in the directory].
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite an existing manifest. Without it, archives are added to the one that is there, and others stay listed.
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
}

//! Arguments of `manifest`.

use super::{OfflineArgs, parse_threads};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `manifest`.
#[derive(Debug, Args)]
pub(crate) struct ManifestArgs {
    /// The directory of the manifest, which lists all archives below it.
    pub(crate) directory: PathBuf,
    /// List only the archives that these logs of `nc3z archive --log` list as done; all of them must exist.
    /// May be given several times: each shard has its own log.
    #[arg(long, value_name = "LOG")]
    pub(crate) from_log: Vec<PathBuf>,
    /// Output file; `-` is standard output [default: SHA256SUMS in the directory].
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite an existing manifest. Otherwise archives are added to it, and the other entries are kept.
    #[arg(short, long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
}

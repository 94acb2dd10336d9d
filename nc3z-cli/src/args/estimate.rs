//! Arguments of `estimate`.

use super::{JsonArgs, OfflineArgs, PresetArg, RemoteArgs, parse_size, parse_threads};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `estimate`.
#[derive(Debug, Args)]
pub(crate) struct EstimateArgs {
    /// Classic netCDF files; with --recursive, directories too.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Enter directories: print a line for each sampled file, and one summary of all.
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Number of files of a tree to sample, both small and large ones; the summary is scaled to all. 0 means
    /// all files.
    #[arg(long, default_value_t = 64, requires = "recursive", value_name = "N")]
    pub(crate) most: usize,
    /// Presets to estimate; may be given several times [default: all; with --recursive, fast and default].
    #[arg(long, value_enum)]
    pub(crate) preset: Vec<PresetArg>,
    /// Bytes of each file to sample (half of that for `max`).
    #[arg(long, value_parser = parse_size, default_value = "32MiB", value_name = "SIZE")]
    pub(crate) sample: u64,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    /// Number of threads for measuring, and for which times are estimated; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

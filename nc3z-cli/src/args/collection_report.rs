//! Arguments of `report`.

use super::{OfflineArgs, PlaceArgs, parse_threads};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `report`.
#[derive(Debug, Args)]
pub(crate) struct CollectionReportArgs {
    /// The directory to report on, with all files below it.
    pub(crate) directory: PathBuf,
    /// The HTML page to write; `-` is standard output.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
    /// Overwrite an existing output.
    #[arg(short, long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
}

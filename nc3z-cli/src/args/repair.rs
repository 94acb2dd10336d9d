//! Arguments of `repair`.

use super::parse_threads;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `repair`.
#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// The damaged archive. It is never written, unless --in-place asks for it.
    pub(crate) archive: PathBuf,
    /// Where the sound archive goes.
    #[arg(short, long, required_unless_present = "in_place")]
    pub(crate) output: Option<PathBuf>,
    /// Mend the archive itself by its parity: only what is lost is written over, and nothing where not all can be mended.
    #[arg(long, conflicts_with_all = ["output", "force", "uncommitted", "no_parity"])]
    pub(crate) in_place: bool,
    /// Do not use parity; save what is whole without it.
    #[arg(long)]
    pub(crate) no_parity: bool,
    /// Overwrite an existing output.
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Also take blocks of a commit whose trailer is missing: for an archive of several generations whose end was lost.
    #[arg(long)]
    pub(crate) uncommitted: bool,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
}

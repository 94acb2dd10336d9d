//! Arguments of `verify`.

use super::parse_threads;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Archives.
    #[arg(required = true)]
    pub(crate) archives: Vec<PathBuf>,
    /// Compare the rebuilt bytes with this file.
    #[arg(long, value_name = "ORIGINAL")]
    pub(crate) against: Option<PathBuf>,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    /// Read by position instead of through a map.
    #[arg(long)]
    pub(crate) no_mmap: bool,
}

//! Arguments of `verify`.

use super::parse_threads;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Archives (or directories with --recursive).
    #[arg(required = true)]
    pub(crate) archives: Vec<PathBuf>,
    /// Also decode everything and rebuild the original's SHA-256.
    #[arg(long)]
    pub(crate) deep: bool,
    /// Compare the rebuilt bytes with this file; implies --deep.
    #[arg(long, value_name = "ORIGINAL")]
    pub(crate) against: Option<PathBuf>,
    /// Go into directories, checking every .nc3z in them.
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    /// Accepted for symmetry: archives are always read by position here, so that a failing disk gives an error.
    #[arg(long, hide = true)]
    pub(crate) no_mmap: bool,
}

//! Arguments of commands that describe one file: `info`, `layout`.

use super::OpenArgs;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `info` and `layout`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// An archive or a classic netCDF file.
    pub(crate) file: PathBuf,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

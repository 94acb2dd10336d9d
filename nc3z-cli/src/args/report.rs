//! Arguments of commands that describe one file: `info`, `layout`.

use super::OpenArgs;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `info`.
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Also list the versions of an archive.
    #[arg(long)]
    pub(crate) versions: bool,
}

/// Arguments of `layout`, and of `info` among others.
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

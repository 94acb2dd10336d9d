//! Arguments of `explain`.

use super::{OpenArgs, SelectionArgs};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// An archive or a classic netCDF file.
    pub(crate) file: PathBuf,
    /// Name of the variable.
    pub(crate) variable: String,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Print all tiles and copies, not only the first few.
    #[arg(long)]
    pub(crate) all: bool,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

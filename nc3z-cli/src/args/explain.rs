//! Arguments of `explain`.

use super::{OpenArgs, SelectionArgs};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// An archive or a classic netCDF file; or a shadow (also `SHADOW!/FILE`, for one of its files): then the objects and
    /// ranges of bytes that the read needs, in the order of recalling them, without opening them.
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

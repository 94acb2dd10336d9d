//! Arguments of `filters`.

use clap::Args;

/// Arguments of `filters`.
#[derive(Debug, Args)]
pub(crate) struct FiltersArgs {
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
}

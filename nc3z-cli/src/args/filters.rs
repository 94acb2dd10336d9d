//! Arguments of `filters`.

use clap::Args;

/// Arguments of `filters`.
#[derive(Debug, Args)]
pub(crate) struct FiltersArgs {
    /// Say a chain in the other notation: HDF5's numbers as JSON, JSON as HDF5's numbers. Codec plug-ins that are loaded translate
    /// what they can.
    #[arg(long, value_name = "CHAIN")]
    pub(crate) translate: Option<String>,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
}

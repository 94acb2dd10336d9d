//! Arguments of `filters`.

use super::JsonArgs;
use clap::Args;

/// Arguments of `filters`.
#[derive(Debug, Args)]
pub(crate) struct FiltersArgs {
    /// Translate a chain to the other notation: HDF5's numbers to JSON, JSON to HDF5's numbers. Loaded codec
    /// plug-ins translate their own codecs.
    #[arg(long, value_name = "CHAIN")]
    pub(crate) translate: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

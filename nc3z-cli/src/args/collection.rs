//! Arguments of `bundle` and `list`.

use super::{FragmentArgs, parse_threads};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `bundle`.
#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// Directories, whose archives and classic files are taken, single files, or quoted patterns such as 'data/**/*.nc', of which names
    /// are kept from the first wildcard on.
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// The bundle to write, a ZIP.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
    /// Overwrite an existing output.
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Put the specification of the format into the bundle too, below nc3z-specification/.
    #[arg(long)]
    pub(crate) with_spec: bool,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Archives, classic files, bundles, aggregations; of a directory, all that are below it; a quoted pattern such as 'data/**/*.nc'.
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print all columns at their full width on a terminal too. Pipes and files always get them so.
    #[arg(long, conflicts_with = "json")]
    pub(crate) wide: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) fragments: FragmentArgs,
}

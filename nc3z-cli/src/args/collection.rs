//! Arguments of `bundle` and `list`.

use super::{FragmentArgs, parse_threads};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `bundle`.
#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// Directories, of which archives and classic files are taken; single files; or quoted patterns such as
    /// 'data/**/*.nc'. Names in the bundle start at the first wildcard of a pattern.
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// The bundle to write, a ZIP.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
    /// Overwrite an existing output.
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Also put the specification of the format into the bundle, in nc3z-specification/.
    #[arg(long)]
    pub(crate) with_spec: bool,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Archives, classic files, bundles, aggregations; directories, with all files below them; quoted
    /// patterns such as 'data/**/*.nc'.
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print all columns at their full width also on a terminal. Pipes and files always get the full width.
    #[arg(long, conflicts_with = "json")]
    pub(crate) wide: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) fragments: FragmentArgs,
}

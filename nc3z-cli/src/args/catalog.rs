//! Arguments of `catalog` and `stats`.

use super::{OfflineArgs, OpenArgs, OthersArg, PlaceArgs, parse_threads};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `catalog`.
#[derive(Debug, Args)]
pub(crate) struct CatalogArgs {
    /// Archives, classic files and bundles; directories, with all archives and classic files below them. All values are
    /// read once.
    #[arg(required_unless_present = "files_from")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Also those that this file lists, one in each line; `-` for standard input.
    #[arg(long, value_name = "LIST")]
    pub(crate) files_from: Option<PathBuf>,
    /// The catalogue to write; `-` is standard output.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
    /// Overwrite an existing output.
    #[arg(short, long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    /// Action for files of directories that are not archives, classic files or bundles; they are counted in any case.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) others: Option<OthersArg>,
    /// Machine-readable output: the catalogue, files that were passed over by kind, and files that failed.
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

/// Arguments of `stats`.
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// A catalogue, or its URL; or archives, classic files and bundles, and directories with all of them, whose values
    /// are then read.
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Only this variable. May be given several times.
    #[arg(long = "variable", value_name = "NAME")]
    pub(crate) variables: Vec<String>,
    /// A line for each file, not one for all of them.
    #[arg(long)]
    pub(crate) each: bool,
    /// Lines along a dimension of each file, each for the indices from `first` to `last`, with their coordinates. Each line covers
    /// as few indices as tile boundaries allow.
    #[arg(long, value_name = "DIMENSION", requires = "variables", conflicts_with = "each")]
    pub(crate) along: Option<String>,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

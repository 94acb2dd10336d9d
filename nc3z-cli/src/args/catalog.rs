//! Arguments of `catalog` and `stats`.

use super::{JsonArgs, OfflineArgs, OpenArgs, OutputArgs, PassedOverArg, ThreadsArgs};
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
    /// Add the files to the catalogue, which exists, as a new version. Files that it has are passed over; one that changed
    /// since is an error.
    #[arg(long, conflicts_with = "force")]
    pub(crate) append: bool,
    #[command(flatten)]
    pub(crate) out: OutputArgs,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    /// Action for files of directories that are not archives, classic files or bundles; they are counted in any case.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) passed_over: Option<PassedOverArg>,
    /// Machine-readable output: the catalogue, files that were passed over by kind, and files that failed.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
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
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

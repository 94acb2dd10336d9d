//! Arguments of `read`.

use super::{OpenArgs, RootArgs, SelectionArgs, parse_threads};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// How values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// A line for each row of the last dimension, values separated by blanks.
    Text,
    /// A line for each value, its coordinates before it.
    Csv,
    /// One object, the values as nested arrays.
    Json,
    /// NumPy's file format: little-endian, in C order.
    Npy,
    /// The elements as they stand in the classic file: big-endian, nothing else.
    Raw,
}

/// Arguments of `read`.
#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// An archive or a classic netCDF file.
    pub(crate) file: PathBuf,
    /// Name of the variable.
    pub(crate) variable: String,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// How to write the values.
    #[arg(long, value_enum, default_value_t = FormatArg::Text)]
    pub(crate) format: FormatArg,
    /// With text: a line for each value, with the coordinates and indices that it stands at, as ncks prints. CSV has them always.
    #[arg(long)]
    pub(crate) coordinates: bool,
    /// Values as they are meant: unpacked, missing ones as `_` (empty in CSV, null in JSON, NaN in npy), times as dates. CSV is so
    /// unless --raw is given.
    #[arg(long, conflicts_with = "raw")]
    pub(crate) decode: bool,
    /// With CSV: values as they are stored.
    #[arg(long)]
    pub(crate) raw: bool,
    /// Output file; `-` is standard output, the default.
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite an existing output.
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

//! Arguments of `read`.

use super::{OpenArgs, PlaceArgs, RootArgs, SelectionArgs, parse_threads};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The format of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// A line for each row of the last dimension, values separated by blanks.
    Text,
    /// A line for each value, preceded by its coordinates.
    Csv,
    /// One object, the values as nested arrays.
    Json,
    /// NumPy's file format: little-endian, in C order.
    Npy,
    /// The elements as stored in the classic file: big-endian, nothing else.
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
    /// Format of the values.
    #[arg(long, value_enum, default_value_t = FormatArg::Text)]
    pub(crate) format: FormatArg,
    /// With text: print a line for each value, with its coordinates and indices, as ncks does. CSV always has
    /// them.
    #[arg(long)]
    pub(crate) coordinates: bool,
    /// Print decoded values: unpacked, missing ones as `_` (empty in CSV, null in JSON, NaN in npy), times as
    /// dates. This is the default for CSV, unless --raw is given.
    #[arg(long, conflicts_with = "raw")]
    pub(crate) decode: bool,
    /// With CSV: print stored values.
    #[arg(long)]
    pub(crate) raw: bool,
    /// Output file; `-` is standard output (the default).
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite an existing output.
    #[arg(short, long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

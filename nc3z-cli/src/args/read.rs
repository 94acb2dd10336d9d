//! Arguments of `read`.

use super::{OpenArgs, OutputArgs, RootArgs, SelectionArgs, ThreadsArgs};
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
    /// An archive or a classic netCDF file; with --explain also a catalogue, or one of its files as `CATALOGUE!/FILE`.
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
    /// Print no values, but how they would be read: tiles touched, bytes to fetch and to decode, bytes requested. Of a
    /// catalogue, the objects and ranges of bytes in the order of recalling them; no file is opened.
    #[arg(
        long,
        conflicts_with_all = [
            "format", "coordinates", "decode", "raw", "output", "force", "parents", "threads", "root", "tree",
        ]
    )]
    pub(crate) explain: bool,
    /// With --explain: print all tiles and copies, not only the first few.
    #[arg(long, requires = "explain")]
    pub(crate) all: bool,
    /// With --explain: machine-readable output. Values as JSON are printed by --format json.
    #[arg(long, requires = "explain")]
    pub(crate) json: bool,
    /// Output file; `-` is standard output (the default).
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) out: OutputArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

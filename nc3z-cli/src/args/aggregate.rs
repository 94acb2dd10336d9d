//! Arguments of `aggregate`, and of commands that read its output.

use super::{JsonArgs, OfflineArgs, OutputArgs, RemoteArgs, ThreadsArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The convention in which an aggregation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConventionArg {
    /// CF-1.13, which other programs can read.
    Cf,
    /// NCA-0.1, which also expresses what CF cannot, such as a file whose latitudes run in the other
    /// direction.
    Nca,
}

/// The rule by which variables of different files are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IdentityArg {
    /// The `standard_name`; otherwise the name, whatever the `long_name` is; otherwise the `long_name`.
    Auto,
    /// By the name alone.
    Name,
    /// The `standard_name`, otherwise the `long_name`, otherwise the name; two variables with the same name
    /// get two names.
    Meaning,
}

/// Arguments of `aggregate`.
#[derive(Debug, Args)]
pub(crate) struct AggregateArgs {
    /// Archives and classic files, in any mixture; directories, with all files below them; quoted patterns
    /// such as 'data/**/*.nc'; URLs, of which one that ends in / stands for all objects below it.
    #[arg(required_unless_present = "files_from")]
    pub(crate) files: Vec<PathBuf>,
    /// Read names of files from this file, one in each line; `-` is standard input.
    #[arg(long, value_name = "LIST")]
    pub(crate) files_from: Option<PathBuf>,
    /// The aggregation to write; `-` is standard output.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
    /// The convention of the output [default: cf if it can express the files' positions, otherwise nca, with
    /// a note].
    #[arg(long, value_enum)]
    pub(crate) convention: Option<ConventionArg>,
    /// Join only these variables, separated by commas, with the coordinates and other variables that their
    /// attributes name. A backslash makes a comma part of a name.
    #[arg(short = 'v', long, value_name = "NAME,...")]
    pub(crate) variables: Vec<String>,
    /// The rule by which variables of different files are one.
    #[arg(long, value_enum, default_value_t = IdentityArg::Auto)]
    pub(crate) identity: IdentityArg,
    /// Join files along this dimension only; may be given several times. If files have no coordinates along
    /// it, they are joined in the order given [default: along all dimensions whose coordinates differ].
    #[arg(long, value_name = "DIMENSION")]
    pub(crate) along: Vec<String>,
    /// Join files along a new dimension, in the order given, for example the runs of an ensemble. Its
    /// coordinate numbers them from 0.
    #[arg(long, value_name = "NAME", conflicts_with = "along")]
    pub(crate) new_dim: Option<String>,
    /// Leave out files that do not fit the others, and report each with the reason. If two files differ, the
    /// one that agrees with fewer of the others is left out.
    #[arg(long)]
    pub(crate) skip_misfits: bool,
    /// Only report what would be joined, or why the files cannot be joined; write nothing.
    #[arg(long, conflicts_with_all = ["append", "force", "no_verify"])]
    pub(crate) check: bool,
    /// Add files to an existing aggregation; its files are not read again.
    #[arg(long, conflicts_with = "force")]
    pub(crate) append: bool,
    /// Treat coordinates as equal if they differ by at most this.
    #[arg(long, value_name = "DISTANCE", default_value_t = 0.0)]
    pub(crate) atol: f64,
    /// Treat coordinates as equal if they differ by at most this share of their value.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) rtol: f64,
    /// Refuse gaps between the files, instead of only reporting them.
    #[arg(long)]
    pub(crate) contiguous: bool,
    /// Name files by absolute URIs, for programs that resolve relative ones from their working directory.
    #[arg(long)]
    pub(crate) absolute: bool,
    /// Store no lengths and digests of the files: later changes are then not detected.
    #[arg(long)]
    pub(crate) no_fingerprints: bool,
    /// Do not read the aggregation back: by default, names, shapes and one element of each fragment are compared with the files.
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Write no `history` attribute.
    #[arg(long)]
    pub(crate) no_history: bool,
    #[command(flatten)]
    pub(crate) out: OutputArgs,
    /// Also write the specification of the format into the directory nc3z-specification next to the
    /// aggregation, once.
    #[arg(long, conflicts_with = "check")]
    pub(crate) with_spec: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

/// Options for reading an aggregation.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FragmentArgs {
    /// Read the file of an aggregation or of a bundle itself: the variables that describe its files.
    #[arg(long, help_heading = "Aggregations")]
    pub(crate) as_stored: bool,
    /// Trust the aggregation: its fragments may be outside its own directory.
    #[arg(long, help_heading = "Aggregations")]
    pub(crate) outside: bool,
    /// Return missing values where a fragment does not exist, instead of an error.
    #[arg(long, help_heading = "Aggregations")]
    pub(crate) fill_missing: bool,
}

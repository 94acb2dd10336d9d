//! Arguments of `aggregate`, and how other commands read what it makes.

use super::parse_threads;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What an aggregation is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConventionArg {
    /// CF-1.13: what other programs read.
    Cf,
    /// NCA-0.1: also what CF cannot say, such as a file whose latitudes run the other way.
    Nca,
}

/// The rule by which variables of different files are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IdentityArg {
    /// The `standard_name`; else the name, whatever the `long_name` says; else the `long_name`.
    Auto,
    /// The name alone.
    Name,
    /// The `standard_name`, else the `long_name`, else the name; two variables of one name get two names.
    Meaning,
}

/// Arguments of `aggregate`.
#[derive(Debug, Args)]
pub(crate) struct AggregateArgs {
    /// Archives and classic files, in any mixture; of a directory, all that are below it; a quoted pattern such as 'data/**/*.nc'.
    #[arg(required_unless_present = "files_from")]
    pub(crate) files: Vec<PathBuf>,
    /// Read names of files from this file, one a line; `-` is standard input.
    #[arg(long, value_name = "LIST")]
    pub(crate) files_from: Option<PathBuf>,
    /// The aggregation to write.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
    /// What to write it as [default: cf where it can say how the files lie in the whole, otherwise nca, with a note].
    #[arg(long, value_enum)]
    pub(crate) convention: Option<ConventionArg>,
    /// Join these variables only, separated by commas, with the coordinates and other variables that their attributes name. A backslash
    /// takes a comma into a name.
    #[arg(short = 'v', long, value_name = "NAME,...")]
    pub(crate) variables: Vec<String>,
    /// The rule by which variables of different files are one.
    #[arg(long, value_enum, default_value_t = IdentityArg::Auto)]
    pub(crate) identity: IdentityArg,
    /// Join files along this dimension only; may be given several times. Where files have no coordinates along it, they are joined in
    /// the order given [default: along all dimensions whose coordinates differ].
    #[arg(long, value_name = "DIMENSION")]
    pub(crate) along: Vec<String>,
    /// Join files along a new dimension, in the order given: runs of an ensemble, for instance. Its coordinate numbers them from 0.
    #[arg(long, value_name = "NAME", conflicts_with = "along")]
    pub(crate) new_dim: Option<String>,
    /// Leave out files that do not belong to the others, and report each with the reason. Where two files differ, the one that fewer
    /// others agree with is left out.
    #[arg(long)]
    pub(crate) skip_misfits: bool,
    /// Only tell what would be joined, or what keeps the files apart; write nothing.
    #[arg(long, conflicts_with = "append")]
    pub(crate) check: bool,
    /// Add files to the aggregation, which is there already; the files that it has are not read again.
    #[arg(long)]
    pub(crate) append: bool,
    /// Take coordinates for equal that are so far apart.
    #[arg(long, value_name = "DISTANCE", default_value_t = 0.0)]
    pub(crate) atol: f64,
    /// Take coordinates for equal that are so far apart, as a share of their value.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) rtol: f64,
    /// Refuse gaps between the files, instead of noting them.
    #[arg(long)]
    pub(crate) contiguous: bool,
    /// Name files by absolute URIs, for programs that look for relative ones in the directory where they run.
    #[arg(long)]
    pub(crate) absolute: bool,
    /// Note no lengths and digests: changed files are then not found out.
    #[arg(long)]
    pub(crate) no_fingerprints: bool,
    /// Do not read the aggregation back: by default, names, shapes and one element of each fragment are compared with the files.
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Write no `history` attribute.
    #[arg(long)]
    pub(crate) no_history: bool,
    /// Overwrite an existing output.
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Write the specification of the format beside the aggregation too, once: the directory nc3z-specification.
    #[arg(long, conflicts_with = "check")]
    pub(crate) with_spec: bool,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
}

/// How an aggregation is read.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FragmentArgs {
    /// Read an aggregation as it stands: the variables that describe it, and none of its fragments.
    #[arg(long, help_heading = "Aggregations")]
    pub(crate) as_stored: bool,
    /// Trust the aggregation: its fragments may lie outside its own directory.
    #[arg(long, help_heading = "Aggregations")]
    pub(crate) outside: bool,
    /// Give missing values where a fragment is not there, instead of an error.
    #[arg(long, help_heading = "Aggregations")]
    pub(crate) fill_missing: bool,
}

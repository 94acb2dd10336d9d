//! Arguments of `diff`.

use super::{JsonArgs, OpenArgs, ThreadsArgs};
use clap::Args;
use nc3z_look::selection::{BoxArg, DimArg};
use std::path::PathBuf;

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// An archive or a classic netCDF file; NAME@VERSION, with a number or a tag, is a version of an archive.
    pub(crate) before: PathBuf,
    /// The file to compare with. `@VERSION` alone is another version of the same archive.
    pub(crate) after: PathBuf,
    /// Treat numbers as equal if they differ by at most this. Unless --abs or --rel is given, every bit
    /// counts.
    #[arg(long, value_name = "DIFFERENCE", value_parser = parse_tolerance)]
    pub(crate) abs: Option<f64>,
    /// Treat numbers as equal if they differ by at most this share of the larger magnitude.
    #[arg(long, value_name = "SHARE", value_parser = parse_tolerance)]
    pub(crate) rel: Option<f64>,
    /// Only these variables, separated by commas; a backslash makes a comma part of a name.
    #[arg(short, long, value_name = "NAME,...")]
    pub(crate) variables: Vec<String>,
    /// Only this part of one dimension, selected in each file by its own coordinates, as in `read`. May be
    /// given for several dimensions.
    #[arg(
        short = 'd',
        long = "dim",
        value_name = "NAME,FIRST[,LAST[,STEP]]",
        allow_hyphen_values = true,
        conflicts_with_all = ["header", "exact"]
    )]
    pub(crate) dims: Vec<DimArg>,
    /// Only the smallest box of indices around this region in degrees.
    #[arg(long = "box", value_name = "W,E,S,N", allow_hyphen_values = true, conflicts_with_all = ["header", "exact"])]
    pub(crate) region: Option<BoxArg>,
    /// Compare only dimensions, attributes and types, no values.
    #[arg(long)]
    pub(crate) header: bool,
    /// Also list the first NUMBER differing elements of each variable.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) first: usize,
    /// Also compare the classic format, the order, padding and gaps.
    #[arg(long, conflicts_with_all = ["variables", "header"])]
    pub(crate) exact: bool,
    /// Print nothing; only set the exit code.
    #[arg(short, long, conflicts_with_all = ["json", "first"])]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

/// Parses a tolerance.
fn parse_tolerance(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0);
    number.ok_or_else(|| "expected a number from 0".to_owned())
}

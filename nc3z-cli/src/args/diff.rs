//! Arguments of `diff`.

use super::parse_threads;
use clap::Args;
use nc3z_look::selection::{BoxArg, DimArg};
use std::path::PathBuf;

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// An archive or a classic netCDF file; of an archive, `@` and a number or a tag behind the name are a version.
    pub(crate) before: PathBuf,
    /// What it is compared with. Alone, `@VERSION` is another version of the same archive.
    pub(crate) after: PathBuf,
    /// Numbers that differ by at most this are no difference. Unless --abs or --rel is given, every bit counts.
    #[arg(long, value_name = "DIFFERENCE", value_parser = parse_tolerance)]
    pub(crate) abs: Option<f64>,
    /// Numbers that differ by at most this share of the larger magnitude are no difference.
    #[arg(long, value_name = "SHARE", value_parser = parse_tolerance)]
    pub(crate) rel: Option<f64>,
    /// These variables only, separated by commas; a backslash takes a comma into a name.
    #[arg(short, long, value_name = "NAME,...")]
    pub(crate) variables: Vec<String>,
    /// Only this part of one dimension, found in each file by its own coordinates: as of `read`. May be given for several dimensions.
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
    /// Dimensions, attributes and types only, no values.
    #[arg(long)]
    pub(crate) header: bool,
    /// Also list so many differing elements of each variable.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) first: usize,
    /// The kind of file, order, padding and gaps count too.
    #[arg(long, conflicts_with_all = ["variables", "header"])]
    pub(crate) exact: bool,
    /// Say nothing; the exit code tells.
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
}

/// Reads a tolerance.
fn parse_tolerance(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0);
    number.ok_or_else(|| format!("`{text}` is no number from 0"))
}

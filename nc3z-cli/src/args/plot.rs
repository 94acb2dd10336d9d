//! Arguments of `plot`.

use super::{OpenArgs, SelectionArgs, parse_threads};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `plot`.
#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// An archive or a classic netCDF file.
    pub(crate) file: PathBuf,
    /// Name of the variable.
    pub(crate) variable: String,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// The picture to write; its name ends in .png or .svg.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
    /// Ends of the colour scale, or of a series' axis [default: the smallest and the largest value].
    #[arg(long, value_name = "MIN,MAX", value_parser = parse_range, allow_hyphen_values = true)]
    pub(crate) range: Option<(f64, f64)>,
    /// Width of the picture in pixels; the height follows.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(300..=4000), value_name = "PIXELS")]
    pub(crate) width: u32,
    /// Overwrite an existing output.
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

/// Reads `270,310`.
fn parse_range(text: &str) -> Result<(f64, f64), String> {
    let ends = text.split_once(',').and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    match ends {
        Some((a, b)) if f64::is_finite(a) && f64::is_finite(b) && a < b => Ok((a, b)),
        _ => Err(format!("`{text}` is no range such as 270,310, the smaller end first")),
    }
}

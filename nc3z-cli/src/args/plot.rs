//! Arguments of `plot`.

use super::{DefaultOutputArgs, OpenArgs, SelectionArgs, ThreadsArgs};
use clap::Args;
use nc3z_plot::{Colours, Options};
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
    /// Output file; its name ends in .png, .svg or .pdf. `-` is standard output, for a PNG [default:
    /// FILE-VARIABLE.png in the current directory].
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    /// The variable along the horizontal axis, in place of the coordinate of the dimension.
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) x: Option<String>,
    /// The variable along the vertical axis, such as the pressures of a profile.
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) y: Option<String>,
    /// The title [default: the variable's long name].
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Logarithmic scale of the values.
    #[arg(long, conflicts_with = "diverging")]
    pub(crate) log: bool,
    /// Ends of the colour scale, or of a series' axis [default: the smallest and the largest value]. On a map,
    /// values below are grey, and values above magenta.
    #[arg(long, value_name = "LO,HI", value_parser = parse_range, allow_hyphen_values = true)]
    pub(crate) range: Option<(f64, f64)>,
    /// Colours of a map: viridis, cividis, magma, plasma, inferno or coolwarm; reversed with _r after the
    /// name [default: viridis].
    #[arg(long, value_name = "NAME", value_parser = parse_colours)]
    pub(crate) colours: Option<Colours>,
    /// Centre the scale at 0, in blue, white and red.
    #[arg(long)]
    pub(crate) diverging: bool,
    /// Draw coastlines on a map of longitudes and latitudes (the default).
    #[arg(long, overrides_with = "no_coastline")]
    pub(crate) coastline: bool,
    /// Draw no coastlines.
    #[arg(long, overrides_with = "coastline")]
    pub(crate) no_coastline: bool,
    /// Width of the picture in pixels; the height follows from it.
    #[arg(long, default_value_t = 1000, value_parser = parse_width, value_name = "PIXELS")]
    pub(crate) width: u32,
    /// Width and height of the picture in pixels, such as 1200x800.
    #[arg(long, value_parser = parse_size, value_name = "WxH", conflicts_with = "width")]
    pub(crate) size: Option<(u32, u32)>,
    #[command(flatten)]
    pub(crate) out: DefaultOutputArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

/// Parses `270,310`.
fn parse_range(text: &str) -> Result<(f64, f64), String> {
    let ends = text.split_once(',').and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    match ends {
        Some((a, b)) if f64::is_finite(a) && f64::is_finite(b) && a < b => Ok((a, b)),
        _ => Err("expected a range such as 270,310, the smaller end first".to_owned()),
    }
}

/// Parses the name of a map of colours.
fn parse_colours(text: &str) -> Result<Colours, String> {
    Colours::named(text).ok_or_else(|| {
        let names: Vec<&str> = Colours::names().collect();
        format!("unknown colours `{text}`; expected {}, or one of these with _r appended", names.join(", "))
    })
}

/// Parses a picture's width.
fn parse_width(text: &str) -> Result<u32, String> {
    let allowed = Options::WIDTHS;
    let width = text.parse().ok().filter(|width| allowed.contains(width));
    width.ok_or_else(|| format!("expected a width of {} to {} pixels", allowed.start(), allowed.end()))
}

/// Parses `1200x800`.
fn parse_size(text: &str) -> Result<(u32, u32), String> {
    let (width, height) =
        text.split_once(['x', 'X', '\u{d7}']).ok_or_else(|| "expected a size such as 1200x800".to_owned())?;
    let allowed = Options::HEIGHTS;
    let height_of = height.trim().parse().ok().filter(|height| allowed.contains(height));
    let refused = || format!("expected a height of {} to {} pixels", allowed.start(), allowed.end());
    Ok((parse_width(width.trim())?, height_of.ok_or_else(refused)?))
}

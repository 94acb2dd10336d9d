//! Arguments of `bundle`, `unbundle` and `list`.

use super::parity::parse_share;
use super::{FragmentArgs, OpenArgs, PresetArg, TellArgs, parse_threads};
use clap::Args;
use nc3z_writer::Share;
use std::path::PathBuf;

/// Arguments of `bundle`.
#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// Directories, of which archives and classic files are taken; single files; or quoted patterns such as
    /// 'data/**/*.nc'. Names in the bundle start at the first wildcard of a pattern.
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// The bundle to write, a ZIP.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
    /// Overwrite an existing output.
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Also put the specification of the format into the bundle, in nc3z-specification/.
    #[arg(long)]
    pub(crate) with_spec: bool,
    /// Share what repeats across files of at most 1 MiB. Classic files are archived on the way; `restore -r` gives them back, `unbundle` an
    /// archive of each.
    #[arg(long)]
    pub(crate) pack: bool,
    /// Add files to a packed bundle that is there. Nothing in it is rewritten, and an interrupted run leaves it as it was.
    #[arg(long, conflicts_with = "force")]
    pub(crate) append: bool,
    /// With --pack or --append: trade size against time [default: default].
    #[arg(long, value_enum, value_name = "PRESET")]
    pub(crate) preset: Option<PresetArg>,
    /// With --pack or --append: add redundancy that mends losses of this share of the sectors of each archive in the bundle, such as 5%.
    #[arg(long, value_parser = parse_share, value_name = "SHARE")]
    pub(crate) parity: Option<Share>,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
}

/// Arguments of `unbundle`.
#[derive(Debug, Args)]
pub(crate) struct UnbundleArgs {
    /// The bundle: a ZIP, packed or not, or a tar.
    pub(crate) bundle: PathBuf,
    /// The directory to write to.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
    /// Overwrite existing files.
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) tell: TellArgs,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Archives, classic files, bundles, aggregations; directories, with all files below them; quoted
    /// patterns such as 'data/**/*.nc'.
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print all columns at their full width also on a terminal. Pipes and files always get the full width.
    #[arg(long, conflicts_with = "json")]
    pub(crate) wide: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) fragments: FragmentArgs,
}

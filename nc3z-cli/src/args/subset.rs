//! Arguments of `subset`.

use super::{OpenArgs, RootArgs, parse_threads};
use clap::{Args, ValueEnum};
use nc3z_format::classic::Version;
use nc3z_look::selection::{BoxArg, DimArg};
use std::ffi::OsString;
use std::path::PathBuf;

/// Arguments of `subset`.
#[derive(Debug, Args)]
pub(crate) struct SubsetArgs {
    /// An nc3z archive or a classic netCDF file.
    pub(crate) file: PathBuf,
    /// Variables, separated by commas, and what belongs to them [default: all]. A backslash takes a comma into a name.
    #[arg(short = 'v', long, value_name = "NAME,...")]
    pub(crate) variables: Vec<OsString>,
    /// One dimension's range, ends included, for all variables: integers are indices (negative: from the end), numbers with a
    /// decimal point are values of its coordinate variable, dates such as 2000-01-02 or 2000-01 are times. May be given for several
    /// dimensions. A backslash takes a comma into a name.
    #[arg(short = 'd', long = "dim", value_name = "NAME,FIRST[,LAST[,STEP]]", allow_hyphen_values = true)]
    pub(crate) dims: Vec<DimArg>,
    /// A region in degrees: the smallest box of indices around it. On grids whose latitudes and longitudes are arrays, cells of the
    /// box outside of the region become fill values.
    #[arg(long = "box", value_name = "W,E,S,N", allow_hyphen_values = true)]
    pub(crate) region: Option<BoxArg>,
    /// Only the variables named, not their coordinates, bounds, grid mappings, cell measures, and so on.
    #[arg(short = 'C', long)]
    pub(crate) no_coordinates: bool,
    /// The classic file to write.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
    /// Kind of file [default: as the original, or the next that is large enough].
    #[arg(long)]
    pub(crate) kind: Option<Kind>,
    /// Leave the `history` attribute as it is.
    #[arg(long)]
    pub(crate) no_history: bool,
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

/// The classic formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// The original: offsets of 31 bits.
    Cdf1,
    /// Offsets of 64 bits.
    Cdf2,
    /// Offsets and lengths of 64 bits, unsigned and 64-bit integers.
    Cdf5,
}

impl From<Kind> for Version {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Cdf1 => Version::Cdf1,
            Kind::Cdf2 => Version::Cdf2,
            Kind::Cdf5 => Version::Cdf5,
        }
    }
}

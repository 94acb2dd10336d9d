//! Arguments of `subset`.

use super::{OpenArgs, OutputArgs, RootArgs, ThreadsArgs};
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
    /// Variables, as -v takes them.
    #[arg(value_name = "VARIABLE")]
    pub(crate) names: Vec<OsString>,
    /// Variables, separated by commas; related variables are included [default: all]. A backslash makes a
    /// comma part of a name.
    #[arg(short = 'v', long, value_name = "NAME,...")]
    pub(crate) variables: Vec<OsString>,
    /// The range of one dimension for all variables, both ends included. Integers are indices (negative: from
    /// the end), numbers with a decimal point are values of its coordinate variable, dates such as 2000-01-02
    /// or 2000-01 are times. May be given for several dimensions. A backslash makes a comma part of a name.
    #[arg(short = 'd', long = "dim", value_name = "NAME,FIRST[,LAST[,STEP]]", allow_hyphen_values = true)]
    pub(crate) dims: Vec<DimArg>,
    /// A region in degrees: selects the smallest box of indices around it. On grids with arrays of latitudes
    /// and longitudes, cells of the box outside of the region become fill values.
    #[arg(long = "box", value_name = "W,E,S,N", allow_hyphen_values = true)]
    pub(crate) region: Option<BoxArg>,
    /// Only the named variables, without their coordinates, bounds, grid mappings, cell measures, and so on.
    #[arg(short = 'C', long)]
    pub(crate) no_coordinates: bool,
    /// The classic file to write; `-` is standard output.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
    /// Classic format [default: that of the original, or the next that is large enough].
    #[arg(long)]
    pub(crate) kind: Option<ClassicFormat>,
    /// Leave the `history` attribute unchanged.
    #[arg(long)]
    pub(crate) no_history: bool,
    #[command(flatten)]
    pub(crate) out: OutputArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

/// The classic formats that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClassicFormat {
    /// The original: offsets of 31 bits.
    Cdf1,
    /// Offsets of 64 bits.
    Cdf2,
    /// Offsets and lengths of 64 bits, unsigned and 64-bit integers.
    Cdf5,
}

impl From<ClassicFormat> for Version {
    fn from(kind: ClassicFormat) -> Self {
        match kind {
            ClassicFormat::Cdf1 => Version::Cdf1,
            ClassicFormat::Cdf2 => Version::Cdf2,
            ClassicFormat::Cdf5 => Version::Cdf5,
        }
    }
}

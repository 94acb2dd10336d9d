//! The selected part of a variable.

use clap::Args;
use nc3z_look::selection::{BoxArg, DimArg};

/// The heading of these options in help texts.
const HEADING: &str = "Selection (default: everything)";

/// The selection of `read` and `plot`.
#[derive(Debug, Args)]
pub(crate) struct SelectionArgs {
    /// First index along each dimension [default: 0, or the last if the stride is negative].
    #[arg(long, value_name = "I,J,...", value_delimiter = ',', help_heading = HEADING)]
    pub(crate) start: Option<Vec<u64>>,
    /// Number of indices along each dimension [default: as many as possible].
    #[arg(long, value_name = "I,J,...", value_delimiter = ',', help_heading = HEADING)]
    pub(crate) count: Option<Vec<u64>>,
    /// Distance between indices along each dimension; negative: backwards [default: 1].
    #[arg(long, value_name = "I,J,...", value_delimiter = ',', allow_hyphen_values = true, help_heading = HEADING)]
    pub(crate) stride: Option<Vec<i64>>,
    /// The range of one dimension, both ends included. Integers are indices (negative: from the end), numbers
    /// with a decimal point are values of its coordinate variable, dates such as 2000-01-02 or 2000-01 are
    /// times. May be given for several dimensions. A backslash makes a comma part of a name.
    #[arg(
        short = 'd',
        long = "dim",
        value_name = "NAME,FIRST[,LAST[,STEP]]",
        help_heading = HEADING,
        conflicts_with_all = ["start", "count", "stride"]
    )]
    pub(crate) dims: Vec<DimArg>,
    /// A region in degrees: selects the smallest box of indices around it. On grids with arrays of latitudes
    /// and longitudes, cells of the box outside of the region become fill values.
    #[arg(
        long = "box",
        value_name = "W,E,S,N",
        allow_hyphen_values = true,
        help_heading = HEADING,
        conflicts_with_all = ["start", "count", "stride"]
    )]
    pub(crate) region: Option<BoxArg>,
}

//! Arguments of `find`.

use super::{OpenArgs, parse_threads};
use clap::Args;
use nc3z_aggregate::shadow::Condition;
use std::path::PathBuf;

/// Arguments of `find`.
#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// The text to find: a part of a name or of a text, or a pattern with `*` and `?` for the whole of it;
    /// ATTRIBUTE=VALUE searches only the values of this attribute. Upper and lower case are not
    /// distinguished.
    #[arg(required_unless_present = "conditions")]
    pub(crate) pattern: Option<String>,
    /// Archives and classic files; directories, with all files below them.
    #[arg(required_unless_present = "conditions")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Find files by their values, such as 'tas > 310' (also <, <=, >= and ==, in the units of the variable). Then there
    /// is no pattern, and the inputs are shadows, which `nc3z index` writes. If it is given several times, files must
    /// meet all conditions.
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) conditions: Vec<Condition>,
    /// Print only the names of files with matches.
    #[arg(short = 'l', long)]
    pub(crate) files_with_matches: bool,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

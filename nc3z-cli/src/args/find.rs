//! Arguments of `find`.

use super::{OpenArgs, parse_threads};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `find`.
#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// What to look for: a part of a name or of a text, or a pattern with `*` and `?` that all of it fits; ATTRIBUTE=VALUE looks at the values
    /// of such attributes alone. Upper and lower case are alike.
    pub(crate) pattern: String,
    /// Archives and classic files; of a directory, all that are below it.
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Print only the names of files in which something was found.
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

//! Arguments of `find`.

use super::{OpenArgs, parse_threads};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `find`.
#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// The text to find: a part of a name or of a text, or a pattern with `*` and `?` for the whole of it;
    /// ATTRIBUTE=VALUE searches only the values of this attribute. Upper and lower case are not
    /// distinguished.
    pub(crate) pattern: String,
    /// Archives and classic files; directories, with all files below them.
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
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

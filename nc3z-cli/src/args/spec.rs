//! Arguments of `spec`, and of commands that put the specification into a collection.

use clap::Args;
use std::path::PathBuf;

/// Arguments of `spec`.
#[derive(Debug, Args)]
pub(crate) struct SpecArgs {
    /// Print this file of the specification, such as `archive.md` [default: README.md, the contents].
    #[arg(conflicts_with_all = ["output", "document", "html", "list"])]
    pub(crate) file: Option<String>,
    /// Write all files into this directory, which is created if needed: text, dictionaries, vectors,
    /// reference decoder, and their SHA256SUMS.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Print all chapters as one Markdown document.
    #[arg(long, conflicts_with_all = ["output", "list"])]
    pub(crate) document: bool,
    /// Print all chapters as one page of HTML.
    #[arg(long, conflicts_with_all = ["output", "document", "list"])]
    pub(crate) html: bool,
    /// Print a line for each file: SHA-256 and name, as `sha256sum` does.
    #[arg(long, conflicts_with = "output")]
    pub(crate) list: bool,
    /// Replace files in the directory that differ.
    #[arg(short, long, requires = "output")]
    pub(crate) force: bool,
}

//! Arguments of `completions` and `man`.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell for which the script is written.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page for the tool and one for each command into this directory, which is created if needed.
    /// Without it the tool's own page is written to standard output.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

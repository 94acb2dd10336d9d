//! How much a command tells.

use clap::Args;

/// Arguments of commands that tell what became of each file.
#[derive(Debug, Default, Args)]
pub(crate) struct TellArgs {
    /// Tell of warnings and failures only.
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Tell of each file that is passed over, too.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

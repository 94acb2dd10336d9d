//! The amount of messages of a command.

use clap::Args;

/// Arguments of commands that report the result for each file.
#[derive(Debug, Default, Args)]
pub(crate) struct TellArgs {
    /// Report only warnings and failures.
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Also report each file that is skipped.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

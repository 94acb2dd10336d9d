//! Arguments of commands that write a file.

use clap::Args;

/// Arguments of commands that write a file whose name is given by the user.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlaceArgs {
    /// Create missing directories in the name of the output.
    #[arg(long)]
    pub(crate) parents: bool,
}

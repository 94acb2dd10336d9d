//! Arguments for opening a file, for commands that only read.

use super::{FragmentArgs, RemoteArgs};
use clap::Args;
pub(crate) use nc3z::opener::Access;
use nc3z_reader::OpenOptions;

/// Arguments of all commands that read an archive or a classic file.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OpenArgs {
    /// If the newest version of an archive is damaged, read the newest one that is intact.
    #[arg(long)]
    pub(crate) older: bool,
    /// Read through a memory map. If another program shortens the file meanwhile, the process ends without a
    /// message (SIGBUS).
    #[arg(long)]
    pub(crate) mmap: bool,
    #[command(flatten)]
    pub(crate) fragments: FragmentArgs,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// The way in which the command reads objects of URLs.
    #[arg(skip)]
    pub(crate) access: Access,
    /// True for a command that changes the file.
    #[arg(skip)]
    pub(crate) as_it_is: bool,
}

impl OpenArgs {
    /// Options for a command that changes the file: damage is an error, even if parity could repair it.
    pub(crate) fn as_it_is() -> Self {
        OpenArgs { as_it_is: true, ..OpenArgs::default() }
    }

    /// Returns the options for the library.
    pub(crate) fn options(&self) -> OpenOptions {
        // By position: a file that shrinks, or a disk that fails, gives an error and no signal.
        crate::registry::open_options().with_mmap(self.mmap).with_older(self.older)
    }
}

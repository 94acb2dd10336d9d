//! How commands that only read open their file.

use super::{FragmentArgs, RemoteArgs};
use clap::Args;
use nc3z_reader::OpenOptions;

/// Arguments of all commands that read an archive or a classic file.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OpenArgs {
    /// Read an archive as it was after this commit, instead of its last state; `info` and `verify` count them.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) generation: Option<u64>,
    /// Read the last state of an archive that is whole, where a later one was committed and its end is damaged.
    #[arg(long, conflicts_with = "generation")]
    pub(crate) older: bool,
    /// Read through a map. A file that others cut short meanwhile then ends the process (SIGBUS), and no message says why.
    #[arg(long)]
    pub(crate) mmap: bool,
    /// Read by position, as is done unless a map is asked for.
    #[arg(long, hide = true, conflicts_with = "mmap")]
    no_mmap: bool,
    #[command(flatten)]
    pub(crate) fragments: FragmentArgs,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

impl OpenArgs {
    /// Whether another state than the last one is asked for, or may be given.
    pub(crate) fn names_state(&self) -> bool {
        self.generation.is_some() || self.older
    }

    /// The same for the library.
    pub(crate) fn options(&self) -> OpenOptions {
        // By position: a file that shrinks, or a disk that fails, gives an error and no signal.
        crate::plugins::open_options()
            .with_mmap(self.mmap)
            .with_older(self.older)
            .with_generation(self.generation)
    }
}

//! Options that many commands have, each declared once.

use super::parse_threads;
use clap::Args;
use std::ops::Deref;

/// The option of commands that work on several threads.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ThreadsArgs {
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    threads: usize,
}

impl Deref for ThreadsArgs {
    type Target = usize;

    fn deref(&self) -> &usize {
        &self.threads
    }
}

/// The option of commands that report.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct JsonArgs {
    /// Machine-readable output.
    #[arg(long)]
    json: bool,
}

impl Deref for JsonArgs {
    type Target = bool;

    fn deref(&self) -> &bool {
        &self.json
    }
}

/// Options of commands that write a file whose name is given by the user.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OutputArgs {
    /// Overwrite an existing output.
    #[arg(short, long, requires = "output")]
    pub(crate) force: bool,
    /// Create missing directories in the name of the output.
    #[arg(long, requires = "output")]
    pub(crate) parents: bool,
}

/// Options of commands that write a file under a default name where the user gives none.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DefaultOutputArgs {
    /// Overwrite existing outputs.
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Create missing directories in the name given by -o.
    #[arg(long, requires = "output")]
    pub(crate) parents: bool,
}

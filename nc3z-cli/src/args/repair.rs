//! Arguments of `repair`.

use super::parity::parse_choice;
use super::{JsonArgs, OutputArgs, ThreadsArgs};
use clap::Args;
use nc3z_writer::ParityChoice;
use std::path::PathBuf;

/// Arguments of `repair`.
#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// The damaged archive, or a bundle with damaged groups or archives. It is not changed, unless --in-place is given.
    pub(crate) archive: PathBuf,
    /// Output file for the sound archive.
    #[arg(short, long, required_unless_present = "in_place")]
    pub(crate) output: Option<PathBuf>,
    /// Repair the archive itself with its parity: only lost bytes are overwritten, and nothing is changed if
    /// not all can be repaired.
    #[arg(long, conflicts_with_all = ["output", "force", "parents", "uncommitted", "no_parity", "parity"])]
    pub(crate) in_place: bool,
    /// Do not use parity; save what is intact without it.
    #[arg(long)]
    pub(crate) no_parity: bool,
    /// Parity of the new archive: a share such as 5%, or 0 for none. Default: the share of the old archive.
    #[arg(long, value_parser = parse_choice, default_value = "", hide_default_value = true, value_name = "SHARE")]
    pub(crate) parity: ParityChoice,
    #[command(flatten)]
    pub(crate) out: OutputArgs,
    /// Also use blocks of a commit whose trailer is missing, for an archive of several versions whose end
    /// was lost.
    #[arg(long)]
    pub(crate) uncommitted: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
}

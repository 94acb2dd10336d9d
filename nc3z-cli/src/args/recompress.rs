//! Arguments of `recompress`.

use super::parity::parse_choice;
use super::{EncodeArgs, OfflineArgs, OutputArgs, PassedOverArg, TellArgs, ThreadsArgs};
use clap::Args;
use nc3z_writer::ParityChoice;
use std::path::PathBuf;

/// Arguments of `recompress`.
#[derive(Debug, Args)]
pub(crate) struct RecompressArgs {
    /// Archives (or directories with --recursive).
    #[arg(required = true)]
    pub(crate) archives: Vec<PathBuf>,
    /// Output file, or a directory if there are several archives. Default: replace the archive, and update
    /// the manifests (SHA256SUMS, BagIt) that list it, in its directory and in those above.
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) encode: EncodeArgs,
    /// Keep the old archive unless the new one is smaller.
    #[arg(long)]
    pub(crate) if_smaller: bool,
    /// Do everything except the last step, and report what would be saved.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Replace an archive even if it has earlier versions or an incomplete commit at its end, which the
    /// new one does not keep.
    #[arg(long)]
    pub(crate) drop_history: bool,
    /// Parity of the new archive: a share such as 5%, or 0 for none. Default: the share of the old archive.
    #[arg(long, value_parser = parse_choice, default_value = "", hide_default_value = true, value_name = "SHARE")]
    pub(crate) parity: ParityChoice,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    /// Enter directories, and take every .nc3z in them.
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Action for files of a tree that are not archives; they are counted in any case.
    #[arg(long, value_enum, value_name = "WHAT", requires = "recursive")]
    pub(crate) passed_over: Option<PassedOverArg>,
    #[command(flatten)]
    pub(crate) out: OutputArgs,
    #[command(flatten)]
    pub(crate) tell: TellArgs,
}

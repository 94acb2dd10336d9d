//! Arguments of `parity`.

use super::{OthersArg, parse_size, parse_threads};
use clap::{Args, Subcommand};
use nc3z_writer::{ParityChoice, Share};
use std::path::PathBuf;

/// What to do with parity.
#[derive(Debug, Subcommand)]
pub(crate) enum ParityCommand {
    /// Add parity, in place: appended, so a crash leaves the archive as it was.
    #[command(after_help = "Examples:
  nc3z parity add tas.nc.nc3z               5%
  nc3z parity add --share 1% *.nc3z
  nc3z parity add -r /archive/              all archives of a tree")]
    Add(ParityAddArgs),
    /// Take parity away, in place: the archive is again what it was before.
    Remove(ParityRemoveArgs),
    /// Tell how much parity there is, what it covers and what it can mend.
    Info(ParityInfoArgs),
}

/// Archives whose parity is meant.
#[derive(Debug, Args)]
pub(crate) struct ParityFiles {
    /// Archives (or directories with --recursive).
    #[arg(required = true)]
    pub(crate) archives: Vec<PathBuf>,
    /// Go into directories, taking every .nc3z in them.
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// What to do with files of a tree that are no archives; they are counted in any case.
    #[arg(long, value_enum, value_name = "WHAT", requires = "recursive")]
    pub(crate) others: Option<OthersArg>,
}

/// Arguments of `parity add`.
#[derive(Debug, Args)]
pub(crate) struct ParityAddArgs {
    #[command(flatten)]
    pub(crate) which: ParityFiles,
    /// Share of the file's 4 KiB sectors that may be lost, half of it at random and half in one burst: 0.1% to 30%.
    #[arg(long, value_parser = parse_share, default_value = "5%", value_name = "SHARE")]
    pub(crate) share: Share,
    /// Memory for buffers. The parity does not depend on it.
    #[arg(long, value_parser = parse_size, default_value = "256MiB", value_name = "SIZE")]
    pub(crate) memory: u64,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
}

/// Arguments of `parity remove`.
#[derive(Debug, Args)]
pub(crate) struct ParityRemoveArgs {
    #[command(flatten)]
    pub(crate) which: ParityFiles,
}

/// Arguments of `parity info`.
#[derive(Debug, Args)]
pub(crate) struct ParityInfoArgs {
    #[command(flatten)]
    pub(crate) which: ParityFiles,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads `5%`.
pub(super) fn parse_share(text: &str) -> Result<Share, String> {
    Share::parse(text).map_err(|_| "parity may be 0.1% to 30% of an archive, such as 5%".to_owned())
}

/// Reads `5%`, or 0 for none; nothing for what there was.
pub(super) fn parse_choice(text: &str) -> Result<ParityChoice, String> {
    match text {
        "" => Ok(ParityChoice::Keep),
        "0" | "0%" => Ok(ParityChoice::Without),
        _ => parse_share(text).map(ParityChoice::Share),
    }
}

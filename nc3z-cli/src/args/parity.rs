//! Arguments of `parity`.

use super::{parse_size, parse_threads};
use clap::{Args, Subcommand};
use nc3z_writer::{ParityChoice, Share};
use std::path::PathBuf;

/// What to do with parity.
#[derive(Debug, Subcommand)]
pub(crate) enum ParityCommand {
    /// Add parity, in place: appended, so a crash leaves the archive as it was.
    #[command(after_help = "Examples:
  nc3z parity add tas.nc.nc3z               5%
  nc3z parity add --share 1% *.nc3z")]
    Add(ParityAddArgs),
    /// Take parity away, in place: the archive is again what it was before.
    Remove(ParityRemoveArgs),
    /// Tell how much parity there is, what it covers and what it can mend.
    Info(ParityInfoArgs),
}

/// Arguments of `parity add`.
#[derive(Debug, Args)]
pub(crate) struct ParityAddArgs {
    /// Archives.
    #[arg(required = true)]
    pub(crate) archives: Vec<PathBuf>,
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
    /// Archives.
    #[arg(required = true)]
    pub(crate) archives: Vec<PathBuf>,
}

/// Arguments of `parity info`.
#[derive(Debug, Args)]
pub(crate) struct ParityInfoArgs {
    /// Archives.
    #[arg(required = true)]
    pub(crate) archives: Vec<PathBuf>,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads `5%`.
pub(super) fn parse_share(text: &str) -> Result<Share, String> {
    Share::parse(text).map_err(|e| e.to_string())
}

/// Reads `5%`, or 0 for none; nothing for what there was.
pub(super) fn parse_choice(text: &str) -> Result<ParityChoice, String> {
    match text {
        "" => Ok(ParityChoice::Keep),
        "0" | "0%" => Ok(ParityChoice::Without),
        _ => parse_share(text).map(ParityChoice::Share),
    }
}

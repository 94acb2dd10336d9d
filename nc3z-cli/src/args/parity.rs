//! Arguments of `parity`.

use super::{JsonArgs, OfflineArgs, PassedOverArg, ThreadsArgs, parse_size};
use clap::{Args, Subcommand};
use nc3z_writer::{ParityChoice, Share};
use std::path::PathBuf;

/// The commands for parity.
#[derive(Debug, Subcommand)]
pub(crate) enum ParityCommand {
    /// Add parity in place. It is appended, so that a crash leaves the archive unchanged.
    #[command(after_help = "Examples:
  nc3z parity add tas.nc.nc3z               5%
  nc3z parity add --share 1% *.nc3z
  nc3z parity add -r /archive/              all archives of a tree")]
    Add(ParityAddArgs),
    /// Remove parity in place: the archive is again as it was before.
    Remove(ParityRemoveArgs),
    /// Show the amount of parity, what it covers and what it can repair.
    Info(ParityInfoArgs),
}

/// The archives with parity.
#[derive(Debug, Args)]
pub(crate) struct ParityFiles {
    /// Archives (or directories with --recursive).
    #[arg(required = true)]
    pub(crate) archives: Vec<PathBuf>,
    /// Enter directories, and take every .nc3z in them.
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Action for files of a tree that are not archives; they are counted in any case.
    #[arg(long, value_enum, value_name = "WHAT", requires = "recursive")]
    pub(crate) passed_over: Option<PassedOverArg>,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
}

/// Arguments of `parity add`.
#[derive(Debug, Args)]
pub(crate) struct ParityAddArgs {
    #[command(flatten)]
    pub(crate) which: ParityFiles,
    /// Share of the file's 4 KiB sectors whose loss can be repaired, half of it at random and half in one
    /// burst: 0.1% to 30%.
    #[arg(long, value_parser = parse_share, default_value = "5%", value_name = "SHARE")]
    pub(crate) share: Share,
    /// Memory for buffers. It does not affect the parity.
    #[arg(long, value_parser = parse_size, default_value = "256MiB", value_name = "SIZE")]
    pub(crate) memory: u64,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
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
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// Parses `5%`.
pub(super) fn parse_share(text: &str) -> Result<Share, String> {
    let words = |e: nc3z_format::Error| match e.to_string() {
        words if words.contains("write") => words,
        _ => "parity may be 0.1% to 30% of an archive, such as 5%".to_owned(),
    };
    Share::parse(text).map_err(words)
}

/// Parses `5%`, or 0 for none. The empty text keeps the present share.
pub(super) fn parse_choice(text: &str) -> Result<ParityChoice, String> {
    match text {
        "" => Ok(ParityChoice::Keep),
        "0" | "0%" => Ok(ParityChoice::Without),
        _ => parse_share(text).map(ParityChoice::Share),
    }
}

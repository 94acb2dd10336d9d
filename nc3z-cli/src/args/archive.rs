//! Arguments of `archive`.

use super::encode::split_rule;
use super::parity::parse_share;
use super::{EncodeArgs, RunArgs, TellArgs, parse_threads};
use crate::output::words::plain;
use clap::{Args, ValueEnum};
use nc3z_format::quantize::Quantize;
use nc3z_writer::Share;
use std::path::PathBuf;

/// How hard to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PresetArg {
    /// Quickest to write and read.
    Fast,
    /// Small, still quick to read.
    Default,
    /// The smallest; writing takes long.
    Max,
}

/// What chunks at the upper edges of an array hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EdgeArg {
    /// Only what is in the array.
    Clip,
    /// The full chunk shape.
    Pad,
}

/// Digests on record beside those that every archive has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DigestArg {
    /// MD5 of the file too.
    Md5,
    /// SHA-256 of the file alone.
    None,
}

/// Which manifest to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ManifestArg {
    /// SHA256SUMS in the output directory, or in each directory given.
    Sha256,
    /// A BagIt 1.0 bag.
    Bagit,
}

/// Arguments of `archive`.
#[derive(Debug, Args)]
pub(crate) struct ArchiveArgs {
    /// Classic netCDF files (or directories with --recursive); `-` is standard input.
    #[arg(required_unless_present = "files_from")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Output file, or a directory where there are several inputs; `-` is standard output. Default: INPUT.nc3z.
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) encode: EncodeArgs,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    /// LOSSY: round a variable's values before archiving: VAR=MODE, or *=MODE for all data variables of floats. MODE is
    /// bitround:KEEPBITS, granularbr:NSD, bitgroom:NSD or abs:BOUND.
    #[arg(long = "quantize", value_parser = parse_quantize, value_name = "VAR=MODE")]
    #[arg(conflicts_with = "remove_source")]
    pub(crate) quantize: Vec<(String, Quantize)>,
    /// Add redundancy that mends losses of this share of the archive's 4 KiB sectors, such as 5%; see `nc3z parity`.
    #[arg(long, value_parser = parse_share, value_name = "SHARE")]
    pub(crate) parity: Option<Share>,
    /// Digests of the file that the archive has on record beside SHA-256 and those of the content: `md5`, for catalogues that ask for it; `none` leaves those of the
    /// content out.
    #[arg(long, value_enum, value_name = "DIGEST")]
    pub(crate) digest: Option<DigestArg>,
    /// Go into directories, archiving every classic file in them.
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Write a manifest of the tree: SHA256SUMS for `sha256sum -c`, or a BagIt bag (at -o, archives under data/).
    #[arg(long, value_enum, value_name = "KIND", requires = "recursive")]
    pub(crate) manifest: Option<ManifestArg>,
    /// Put the specification of the format into the bag, once: text, dictionaries and a reference decoder.
    #[arg(long, requires = "manifest")]
    pub(crate) with_spec: bool,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Overwrite existing outputs; write an archive to a terminal.
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Make the directories that -o names where they are missing.
    #[arg(long)]
    pub(crate) parents: bool,
    /// First remove the temporary files that killed runs left anywhere in the output directory (or in the directories given). Without it
    /// they are removed where this run writes. Those of runs that go on stay.
    #[arg(long, requires = "recursive")]
    pub(crate) clean_temps: bool,
    /// Keep the inputs, as is done unless --remove-source is given.
    #[arg(short, long, conflicts_with = "remove_source")]
    keep: bool,
    #[command(flatten)]
    pub(crate) tell: TellArgs,
    /// Skip the proof of the round trip (not the checksums).
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Delete each input once its archive is proven and safe on disk.
    #[arg(long, conflicts_with = "no_verify")]
    pub(crate) remove_source: bool,
}

/// Reads `tas=bitround:9`.
fn parse_quantize(text: &str) -> Result<(String, Quantize), String> {
    let (name, mode) = split_rule(text, "VAR=MODE, such as tas=bitround:9")?;
    Ok((name, mode.parse().map_err(|e: nc3z_format::Error| plain(&e))?))
}

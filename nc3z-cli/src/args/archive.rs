//! Arguments of `archive`.

use super::encode::{self, split_rule};
use super::parity::parse_share;
use super::{DefaultOutputArgs, EncodeArgs, RunArgs, TellArgs, ThreadsArgs};
use clap::{Args, ValueEnum};
use nc3z_format::quantize::Quantize;
use nc3z_writer::Share;
use std::path::PathBuf;

/// The effort of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PresetArg {
    /// Fastest to write and read.
    Fast,
    /// Small, still fast to read.
    Default,
    /// Smallest; writing takes long.
    Max,
}

/// The length of chunks at the upper edges of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EdgeArg {
    /// Only what is in the array.
    Clip,
    /// The full chunk shape.
    Pad,
}

/// Digests that are stored besides those that every archive has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DigestArg {
    /// Also MD5 of the file.
    Md5,
    /// Only SHA-256 of the file.
    None,
}

/// The kind of manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ManifestArg {
    /// SHA256SUMS in the output directory, or in each directory given.
    Sha256,
    /// A BagIt 1.0 bag.
    Bagit,
}

/// The heading of the options for lists and catalogues of archives.
const COLLECTION: &str = "Manifests and catalogues";
/// The heading of the options that protect data.
const SAFETY: &str = "Checks, digests, repairs";
/// The heading of the options that concern the output.
const OUTPUT: &str = "Output files";

/// Arguments of `archive`.
#[derive(Debug, Args)]
pub(crate) struct ArchiveArgs {
    /// Classic netCDF files (or directories with --recursive); `-` is standard input.
    #[arg(required_unless_present_any = ["files_from", "unit"])]
    pub(crate) inputs: Vec<PathBuf>,
    /// Output file, or a directory if there are several inputs; `-` is standard output. Default: INPUT.nc3z.
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) encode: EncodeArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    /// LOSSY: round a variable's values before archiving: VAR=MODE, or *=MODE for all floating-point data
    /// variables. MODE is bitround:KEEPBITS, granularbr:NSD, bitgroom:NSD or abs:BOUND.
    #[arg(help_heading = encode::HEADING, long = "quantize", value_parser = parse_quantize, value_name = "VAR=MODE")]
    #[arg(conflicts_with = "remove_source")]
    pub(crate) quantize: Vec<(String, Quantize)>,
    /// Add redundancy that can repair the loss of this share of the archive's 4 KiB sectors, such as 5%; see
    /// `nc3z parity`.
    #[arg(help_heading = SAFETY, long, value_parser = parse_share, value_name = "SHARE")]
    pub(crate) parity: Option<Share>,
    /// Digests to store besides SHA-256 of the file and the digests of the content: `md5`, for catalogues
    /// that need it; `none` omits the digests of the content.
    #[arg(help_heading = SAFETY, long, value_enum, value_name = "DIGEST")]
    pub(crate) digest: Option<DigestArg>,
    /// Enter directories, and archive every classic file in them.
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Write a manifest of the tree: SHA256SUMS for `sha256sum -c`, or a BagIt bag (at -o, archives under data/).
    #[arg(help_heading = COLLECTION, long, value_enum, value_name = "KIND", requires = "recursive")]
    pub(crate) manifest: Option<ManifestArg>,
    /// Also put the specification of the format into the bag: text, dictionaries and a reference decoder.
    #[arg(help_heading = COLLECTION, long, requires = "manifest")]
    pub(crate) with_spec: bool,
    /// Also write a catalogue of the archives, as `nc3z catalog` does: `find`, `stats`, `list` and `read --explain` answer from it while
    /// the archives are on tape or far away. The archives are read once more for it.
    #[arg(help_heading = COLLECTION, long, value_name = "FILE")]
    pub(crate) catalog: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub(crate) out: DefaultOutputArgs,
    /// Allow writing an archive to a terminal.
    #[arg(help_heading = OUTPUT, long)]
    pub(crate) to_terminal: bool,
    /// First remove the temporary files that killed runs left anywhere in the output directory (or in the
    /// directories given). Without this option, only those in the directories where this run writes are
    /// removed. Files of running processes are kept.
    #[arg(help_heading = OUTPUT, long, requires = "recursive", conflicts_with = "dry_run")]
    pub(crate) clean_temps: bool,
    /// Keep the inputs. This is the default unless --remove-source is given.
    #[arg(help_heading = SAFETY, short, long, conflicts_with = "remove_source")]
    keep: bool,
    #[command(flatten)]
    pub(crate) tell: TellArgs,
    /// Skip reading the archive back to compare it with the source (not the checksums).
    #[arg(help_heading = SAFETY, long)]
    pub(crate) no_verify: bool,
    /// Write owners, modes, ACLs and user attributes of all files and directories to acl.txt and xattr.txt in DIR,
    /// for restore --acl, setfacl --restore and setfattr --restore.
    #[arg(long, value_name = "DIR", requires = "recursive", conflicts_with_all = ["shard", "dry_run"], hide_short_help = true)]
    pub(crate) acl: Option<PathBuf>,
    /// Delete each input after its archive is verified and safe on disk.
    #[arg(help_heading = SAFETY, long, conflicts_with = "no_verify")]
    pub(crate) remove_source: bool,
}

/// Reads `tas=bitround:9`.
fn parse_quantize(text: &str) -> Result<(String, Quantize), String> {
    let (name, mode) = split_rule(text, "VAR=MODE, such as tas=bitround:9")?;
    Ok((name, mode.parse().map_err(|e: nc3z_format::Error| e.to_string())?))
}

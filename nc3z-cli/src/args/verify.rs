//! Arguments of `verify`.

use super::{OthersArg, RemoteArgs, TellArgs, parse_threads};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Archives, or versions of them as NAME@VERSION (or directories with --recursive); bundles, and members of them as BUNDLE!/NAME; `-` is standard input; with --manifest, the directory it is of [default: the manifest's own].
    #[arg(required_unless_present = "manifest")]
    pub(crate) archives: Vec<PathBuf>,
    /// Also decode everything and rebuild the original's SHA-256.
    #[arg(long)]
    pub(crate) deep: bool,
    /// Also rebuild every older version; implies --deep. (The bytes of all versions are checked in any case.)
    #[arg(long, conflicts_with = "manifest")]
    pub(crate) all_versions: bool,
    /// Compare the rebuilt bytes with this file; implies --deep.
    #[arg(long, value_name = "ORIGINAL")]
    pub(crate) against: Option<PathBuf>,
    /// Go into directories, checking every .nc3z in them.
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// What to do with files of a tree that are no archives; they are counted in any case.
    #[arg(long, value_enum, value_name = "WHAT", requires = "recursive")]
    pub(crate) others: Option<OthersArg>,
    /// Compare files with a manifest (SHA256SUMS, or a BagIt bag), and append the result to a fixity log. An archive that has changed but is sound, since it
    /// has grown or was recompressed, is told from one that is damaged: exit code 1, not 3.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["against", "deep", "recursive"])]
    pub(crate) manifest: Option<PathBuf>,
    /// The fixity log [default: the manifest's name with .fixity.jsonl behind it].
    #[arg(long, value_name = "PATH", requires = "manifest", conflicts_with = "no_fixity_log")]
    pub(crate) fixity_log: Option<PathBuf>,
    /// Write no fixity log.
    #[arg(long, requires = "manifest")]
    pub(crate) no_fixity_log: bool,
    #[command(flatten)]
    pub(crate) tell: TellArgs,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    /// Accepted for symmetry: archives are always read by position here, so that a failing disk gives an error.
    #[arg(long, hide = true)]
    pub(crate) no_mmap: bool,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

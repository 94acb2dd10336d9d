//! Arguments of `verify`.

use super::{JsonArgs, OfflineArgs, PassedOverArg, RemoteArgs, TellArgs, ThreadsArgs};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Archives, or versions of them as NAME@VERSION (or directories with --recursive); bundles, or members
    /// of them as BUNDLE!/NAME; `-` is standard input. With --manifest, the directory of the listed files
    /// [default: that of the manifest].
    #[arg(required_unless_present = "manifest")]
    pub(crate) archives: Vec<PathBuf>,
    /// Also decode everything, rebuild the original and check its SHA-256.
    #[arg(long)]
    pub(crate) deep: bool,
    /// Also rebuild every older version; implies --deep. (The bytes of all versions are checked in any case.)
    #[arg(long, conflicts_with = "manifest")]
    pub(crate) all_versions: bool,
    /// Also report archives that a version of nc3z with a known defect wrote; such an archive gives exit code 1.
    /// LIST is a newer list of defects than the one of this program.
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, conflicts_with = "manifest")]
    #[expect(clippy::option_option, reason = "clap: not given, given without a list, given with one")]
    pub(crate) known_defects: Option<Option<PathBuf>>,
    /// Compare the rebuilt bytes with this file, or those of a tree with the files of this directory, by their
    /// names in the trees; implies --deep.
    #[arg(long, value_name = "ORIGINAL")]
    pub(crate) against: Option<PathBuf>,
    /// Enter directories, and check every .nc3z in them.
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Action for files of a tree that are not archives; they are counted in any case.
    #[arg(long, value_enum, value_name = "WHAT", requires = "recursive")]
    pub(crate) passed_over: Option<PassedOverArg>,
    /// Compare files with a manifest (SHA256SUMS, or a BagIt bag), and append the result to a fixity log. An
    /// archive that has changed but is sound, because it was appended to or recompressed, gives exit code 1;
    /// a damaged one gives 3, and so does an edited one whose listed bytes were replaced: with parity, or in the
    /// short form.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["against", "deep", "recursive"])]
    pub(crate) manifest: Option<PathBuf>,
    /// The fixity log [default: the manifest's name with .fixity.jsonl appended].
    #[arg(long, value_name = "PATH", requires = "manifest", conflicts_with = "no_fixity_log")]
    pub(crate) fixity_log: Option<PathBuf>,
    /// Write no fixity log.
    #[arg(long, requires = "manifest")]
    pub(crate) no_fixity_log: bool,
    #[command(flatten)]
    pub(crate) tell: TellArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

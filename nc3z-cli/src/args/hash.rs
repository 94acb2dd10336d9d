//! Arguments of `hash`.

use super::{JsonArgs, OfflineArgs, OpenArgs, ThreadsArgs};
use clap::{ArgGroup, Args, ValueEnum};
use std::path::PathBuf;

/// The digest to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnlyArg {
    /// The content digest: the same for the original, for any archive of it and for the restored file.
    Content,
    /// SHA-256 of the classic file's bytes; for an archive, of the rebuilt original.
    Sha256,
}

/// Arguments of `hash`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("written").args(["tree", "manifest"]).multiple(true))]
pub(crate) struct HashArgs {
    /// Archives and classic netCDF files (or directories with --recursive). With --check, lists of digests; `-` is standard
    /// input. With --manifest, the directory of the archives.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Compute the digests in these lists again and compare; takes lists of sha256sum too.
    #[arg(short, long)]
    pub(crate) check: bool,
    /// Print the root of each file, in one line: a digest of its content by which any part of it can be
    /// checked. For a bundle or an aggregation, the root of its members.
    #[arg(long, conflicts_with_all = ["check", "recorded", "only", "all_versions", "recursive"])]
    pub(crate) root: bool,
    /// Write the tree of one file, with which `read --root` checks the values that it reads without reading
    /// all others.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "recorded", "only", "all_versions", "recursive"])]
    pub(crate) tree: Option<PathBuf>,
    /// Write the manifest of a directory: SHA256SUMS, which lists all archives below it, for `sha256sum -c` and `nc3z
    /// verify --manifest`. Archives are added to an existing one, and its other entries stay.
    #[arg(
        long,
        conflicts_with_all = [
            "check", "root", "tree", "variables", "only", "recompute", "recorded", "all_versions", "recursive", "json",
            "older", "mmap", "as_stored", "outside", "fill_missing", "settings",
        ]
    )]
    pub(crate) manifest: bool,
    /// With --manifest: list only the archives that these logs of `nc3z archive --log` list as done; all of them must
    /// exist. May be given several times: each shard has its own log.
    #[arg(long, value_name = "LOG", requires = "manifest")]
    pub(crate) from_log: Vec<PathBuf>,
    /// With --manifest: the file to write; `-` is standard output [default: SHA256SUMS in the directory].
    #[arg(short, long, value_name = "FILE", requires = "manifest")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite an existing file of --tree; with --manifest, replace all entries.
    #[arg(short, long, requires = "written")]
    pub(crate) force: bool,
    /// Create missing directories in the name of the output.
    #[arg(long, requires = "written")]
    pub(crate) parents: bool,
    /// Also print the digest of each variable; with --root of a collection, the root of each member.
    #[arg(long, conflicts_with_all = ["check", "recorded"])]
    pub(crate) variables: bool,
    /// Compute only one of the two.
    #[arg(long, value_enum, value_name = "DIGEST", conflicts_with_all = ["check", "recorded"])]
    pub(crate) only: Option<OnlyArg>,
    /// Decode archives and compute, even if all requested digests are stored.
    #[arg(long, conflicts_with_all = ["check", "recorded"])]
    pub(crate) recompute: bool,
    /// Print the digests that archives store, and compute nothing.
    #[arg(long, conflicts_with = "check")]
    pub(crate) recorded: bool,
    /// If FILE does not exist, check FILE.nc3z, or FILE without .nc3z.
    #[arg(long, requires = "check")]
    pub(crate) either: bool,
    /// Do not report listed files that are missing.
    #[arg(long, requires = "check")]
    pub(crate) ignore_missing: bool,
    /// Do not print OK for each digest that matches.
    #[arg(short, long, requires = "check")]
    pub(crate) quiet: bool,
    /// Print nothing; only set the exit code.
    #[arg(long, requires = "check")]
    pub(crate) status: bool,
    /// Fail on lines that are not digests.
    #[arg(long, requires = "check")]
    pub(crate) strict: bool,
    /// Print the digests of every version of an archive, oldest first, as NAME@VERSION.
    #[arg(long, conflicts_with = "check")]
    pub(crate) all_versions: bool,
    /// Enter directories, and take every archive and classic file in them.
    #[arg(short, long, conflicts_with = "check")]
    pub(crate) recursive: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

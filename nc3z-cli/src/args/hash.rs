//! Arguments of `hash`.

use super::{OpenArgs, parse_threads};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Which digests to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnlyArg {
    /// The content digest: the same for the original, for any archive of it and for the restored file.
    Content,
    /// SHA-256 of the classic file's bytes; of an archive's rebuilt original.
    Sha256,
}

/// Arguments of `hash`.
#[derive(Debug, Args)]
pub(crate) struct HashArgs {
    /// Archives and classic netCDF files (or directories with --recursive); with --check, lists of digests, `-` is standard input.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Compute the digests in these lists again and compare; takes lists of sha256sum too.
    #[arg(short, long)]
    pub(crate) check: bool,
    /// Print the root of each file, one line: a digest of its content from which any part of it can be checked. Of a bundle or an
    /// aggregation, the root of its members.
    #[arg(long, conflicts_with_all = ["check", "recorded", "only", "all_versions", "recursive"])]
    pub(crate) root: bool,
    /// Write the tree of one file, by which `read --root` checks what it reads without reading all of it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "recorded", "only", "all_versions", "recursive"])]
    pub(crate) tree: Option<PathBuf>,
    /// Overwrite an existing file of --tree.
    #[arg(short, long, requires = "tree")]
    pub(crate) force: bool,
    /// Print the digest of each variable too; with --root of a collection, the root of each member.
    #[arg(long, conflicts_with_all = ["check", "recorded"])]
    pub(crate) variables: bool,
    /// Compute one of the two only.
    #[arg(long, value_enum, value_name = "DIGEST", conflicts_with_all = ["check", "recorded"])]
    pub(crate) only: Option<OnlyArg>,
    /// Decode archives and compute, also where all that is asked for is on record.
    #[arg(long, conflicts_with_all = ["check", "recorded"])]
    pub(crate) recompute: bool,
    /// Print the digests that archives have on record, and compute nothing.
    #[arg(long, conflicts_with = "check")]
    pub(crate) recorded: bool,
    /// Where FILE is gone, check FILE.nc3z, or FILE without .nc3z, in its place.
    #[arg(long, requires = "check")]
    pub(crate) either: bool,
    /// Do not complain of listed files that are missing.
    #[arg(long, requires = "check")]
    pub(crate) ignore_missing: bool,
    /// Do not print OK for each digest that is right.
    #[arg(short, long, requires = "check")]
    pub(crate) quiet: bool,
    /// Print nothing; the exit code tells.
    #[arg(long, requires = "check")]
    pub(crate) status: bool,
    /// Fail on lines that are no digests.
    #[arg(long, requires = "check")]
    pub(crate) strict: bool,
    /// Print the digests of every version of an archive, oldest first, as those of NAME@VERSION.
    #[arg(long, conflicts_with = "check")]
    pub(crate) all_versions: bool,
    /// Go into directories, taking every archive and classic file in them.
    #[arg(short, long, conflicts_with = "check")]
    pub(crate) recursive: bool,
    /// Machine-readable output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

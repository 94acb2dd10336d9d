//! Arguments of `mount`.

use super::parse_size;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `mount`.
#[derive(Debug, Args)]
pub(crate) struct MountArgs {
    /// A directory with archives; an archive; or a bundle. An archive or a bundle may be at a URL.
    pub(crate) source: PathBuf,
    /// The mount point: a directory; for a single archive also a file.
    pub(crate) mountpoint: PathBuf,
    /// Serve it until it is unmounted, or a signal arrives (the default).
    #[arg(long, overrides_with = "daemon")]
    foreground: bool,
    /// Return as soon as the mount answers, and serve it in the background.
    #[arg(long, overrides_with = "foreground")]
    pub(crate) daemon: bool,
    /// Allow other users, as far as the files' permissions allow. Users other than root need
    /// `user_allow_other` in /etc/fuse.conf for this.
    #[arg(long)]
    pub(crate) allow_other: bool,
    /// Memory for decoded tiles [default: an eighth of all, at most 1GiB].
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    pub(crate) cache: Option<u64>,
    /// Append messages to this file, with the time.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Options as passed by `mount`, separated by commas: allow_other, cache=SIZE, log=FILE, ro. Options for
    /// `mount` itself are ignored.
    #[arg(short = 'o', value_name = "OPTIONS", value_delimiter = ',')]
    pub(crate) options: Vec<String>,
    /// Report only warnings and failures.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Report on standard output that the mount is ready, and then leave the terminal.
    #[arg(long, hide = true)]
    pub(crate) serve_for_parent: bool,
}

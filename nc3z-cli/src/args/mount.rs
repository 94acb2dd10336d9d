//! Arguments of `mount`.

use super::parse_size;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments of `mount`.
#[derive(Debug, Args)]
pub(crate) struct MountArgs {
    /// A directory, with archives anywhere in it; an archive; or a bundle.
    pub(crate) source: PathBuf,
    /// Where to show it: a directory; for one archive, a file will do too.
    #[arg(required_unless_present = "nfs")]
    pub(crate) mountpoint: Option<PathBuf>,
    /// Serve it by NFS (version 3) at this address instead of mounting it, for systems without FUSE; how to mount it is printed.
    /// Any program that can connect can read it, so only loopback addresses are accepted.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0", require_equals = true)]
    #[arg(conflicts_with_all = ["mountpoint", "daemon", "allow_other"])]
    pub(crate) nfs: Option<SocketAddr>,
    /// Serve it until it is unmounted, or a signal comes (the default).
    #[arg(long, overrides_with = "daemon")]
    foreground: bool,
    /// Return when the mount answers, and serve it in the background.
    #[arg(long, overrides_with = "foreground")]
    pub(crate) daemon: bool,
    /// Let other users in, as far as the files' own modes let them. Who is not root needs `user_allow_other` in /etc/fuse.conf for it.
    #[arg(long)]
    pub(crate) allow_other: bool,
    /// Memory for decoded tiles [default: an eighth of all, at most 1GiB].
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    pub(crate) cache: Option<u64>,
    /// Append messages to this file, with the time.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Options as `mount` gives them, separated by commas: allow_other, cache=SIZE, log=FILE, ro. Those for `mount` itself are passed over.
    #[arg(short = 'o', value_name = "OPTIONS", value_delimiter = ',')]
    pub(crate) options: Vec<String>,
    /// Tell of warnings and failures only.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Say on standard output that the mount is there; leave the terminal then.
    #[arg(long, hide = true)]
    pub(crate) serve_for_parent: bool,
}

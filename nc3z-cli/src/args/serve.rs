//! Arguments of `serve`.

use super::parse_size;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The end of the help.
pub(super) const EXAMPLES: &str = "Examples:
  nc3z serve archive/                              at http://127.0.0.1:8473/, until ^C or SIGTERM
  nc3z serve archive/ --listen 0.0.0.0:8473        for other machines, too; any client can read all
  ncdump -h http://127.0.0.1:8473/2026/tas.nc      archive/2026/tas.nc.nc3z by DAP2, with any netCDF program
  curl -O http://127.0.0.1:8473/2026/tas.nc        the original's bytes, or ranges of them

/tas.nc returns the bytes of the original, /tas.nc.nc3z those of the archive, /.versions/tas.nc/1 those of a version. With .dds, \
.das, .dods, .ascii or .html appended, /tas.nc answers DAP2; with .nc or .csv, it returns a part of the variables as a file. \
/tas.zarr/ is a Zarr group, /tas.json the output of `info`, /metrics are counts for Prometheus, and / is a page. Nothing can be \
written, and no path or link leads out of DIR. For details see docs/serve.md.";

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// A directory with archives and classic files; an archive; or a bundle. An archive or a bundle may be at a URL.
    pub(crate) dir: PathBuf,
    /// Address and port. Port 0 selects any free one; it is printed on standard output.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8473")]
    pub(crate) listen: SocketAddr,
    /// Memory for decoded tiles [default: an eighth of all, at most 1GiB].
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    pub(crate) cache: Option<u64>,
    /// Maximal number of connections at a time; further clients get status 503.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) connections: u32,
    /// Maximal time in seconds for a request to arrive, for the next one on its connection, and for a client
    /// to take a part of a reply.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// Maximal length of a request, including headers.
    #[arg(long, value_parser = parse_size, value_name = "SIZE", default_value = "64KiB")]
    pub(crate) max_request: u64,
    /// Maximal length of a reply that is made for a request (DAP2, a part as a file). Files have no limit:
    /// they are sent in pieces.
    #[arg(long, value_parser = parse_size, value_name = "SIZE", default_value = "4GiB")]
    pub(crate) max_reply: u64,
    /// Append a line for each request to this file instead of standard error.
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Option<PathBuf>,
    /// Write the request lines as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only warnings and failures: no request lines, unless --access-log is given.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

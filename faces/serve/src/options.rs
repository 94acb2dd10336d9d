//! Options of a server.

use crate::log::Access;
use nc3z_reader::OpenOptions;
use std::sync::Arc;
use std::time::Duration;

/// Options of a server.
#[derive(Clone)]
pub struct Options {
    /// The maximal number of connections at a time. A client beyond it gets status 503.
    pub connections: usize,
    /// The maximal time for a request to arrive, for the next one on the same connection, and for a client to
    /// take a part of a reply.
    pub timeout: Duration,
    /// The maximal length of a request in bytes: its line and headers.
    pub request_len: usize,
    /// The maximal length in bytes of a reply that is made for a request, such as those of DAP. Files are
    /// sent in pieces, and have no limit.
    pub reply_len: u64,
    /// The maximal number of requests that read and decode at a time. Others wait.
    pub decodes: usize,
    /// The options for opening classic files that are not archives.
    pub open: OpenOptions,
    /// Receives a line for each request.
    pub access: Arc<dyn Fn(&Access<'_>) + Send + Sync>,
}

impl Default for Options {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Options {
            connections: 256,
            timeout: Duration::from_secs(60),
            request_len: 64 << 10,
            reply_len: 4 << 30,
            decodes: (2 * cores).max(4),
            open: OpenOptions::default(),
            access: Arc::new(|_| ()),
        }
    }
}

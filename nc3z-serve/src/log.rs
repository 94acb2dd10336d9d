//! The line that each request leaves.

use std::net::SocketAddr;
use std::time::Duration;

/// One request and what became of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Access<'a> {
    /// The client's address.
    pub peer: SocketAddr,
    /// `GET`, `HEAD`, …
    pub method: &'a str,
    /// Path and query as they were sent.
    pub target: &'a str,
    /// The header `Range`, if there is one.
    pub range: Option<&'a str>,
    /// The header `User-Agent`, if there is one.
    pub agent: Option<&'a str>,
    /// The status of the reply.
    pub status: u16,
    /// Bytes of the body that were handed to the connection.
    pub sent: u64,
    /// Time from the request to the end of the reply.
    pub time: Duration,
    /// Why the request failed or the reply broke off.
    pub error: Option<&'a str>,
}

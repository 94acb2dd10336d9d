//! The log line of each request.

use std::net::SocketAddr;
use std::time::Duration;

/// A request and its result.
#[derive(Debug)]
#[non_exhaustive]
pub struct Access<'a> {
    /// The client's address.
    pub peer: SocketAddr,
    /// `GET`, `HEAD`, …
    pub method: &'a str,
    /// Path and query as sent.
    pub target: &'a str,
    /// The header `Range`, if there is one.
    pub range: Option<&'a str>,
    /// The header `User-Agent`, if there is one.
    pub agent: Option<&'a str>,
    /// The status of the reply.
    pub status: u16,
    /// The number of bytes of the body that were passed to the connection.
    pub sent: u64,
    /// Time from the request to the end of the reply.
    pub time: Duration,
    /// The reason why the request failed or the reply was cut off.
    pub error: Option<&'a str>,
}

//! Progress reports and cancellation of long operations.

/// Receives progress reports, and decides whether an operation stops. `()` ignores progress and never stops.
pub trait Monitor: Sync {
    /// Reports that `bytes` more bytes of the classic file are done.
    fn advance(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Returns true if the operation should stop, leaving nothing half-done.
    fn is_cancelled(&self) -> bool {
        false
    }
}

impl Monitor for () {}

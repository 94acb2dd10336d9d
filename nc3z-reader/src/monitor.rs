//! How long work reports progress and learns that it should stop.

/// Told of progress; asked whether to stop. `()` is the monitor that does neither.
pub trait Monitor: Sync {
    /// `bytes` more bytes of the classic file are dealt with.
    fn advance(&self, bytes: u64) {
        let _ = bytes;
    }

    /// True once the work should stop, leaving nothing half-done behind.
    fn is_cancelled(&self) -> bool {
        false
    }
}

impl Monitor for () {}

//! Limits the number of decoded bytes. Otherwise a file of a few KB whose tiles share containers of megabytes
//! could cost hours.

use crate::error::Result;
use nc3z_format::limits::work;
use nc3z_format::{Error as FormatError, Limits};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts decoded bytes against a limit, which depends on the lengths of archive and original.
pub(crate) struct Work {
    limit: u64,
    spent: AtomicU64,
}

impl Work {
    pub(crate) fn new(limits: &Limits, archive_len: u64, original_len: u64) -> Self {
        let limit = if limits.one_pass { work(archive_len, original_len) } else { u64::MAX };
        Work { limit, spent: AtomicU64::new(0) }
    }

    /// Counts `bytes` bytes, before they are decoded.
    ///
    /// # Errors
    /// The bytes exceed the limit. Nothing is decoded from then on.
    pub(crate) fn spend(&self, bytes: u64) -> Result<()> {
        if self.limit == u64::MAX {
            return Ok(());
        }
        let before = self.spent.fetch_add(bytes, Ordering::Relaxed);
        let found = before.saturating_add(bytes);
        if found <= self.limit {
            return Ok(());
        }
        // The sum stays above the limit and never wraps.
        self.spent.fetch_max(self.limit.saturating_add(1), Ordering::Relaxed);
        let what = "bytes decoded of one archive";
        Err(FormatError::limit("archive", None, what, self.limit, found).into())
    }

    /// Returns true if the limit was exceeded.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent.load(Ordering::Relaxed) > self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_stops_at_the_limit_and_a_reader_that_stays_open_does_not() {
        let open = Work::new(&Limits::default(), 1000, 1000);
        let once = Work::new(&Limits::of_command(), 1000, 1000);
        for _ in 0..8 {
            open.spend(1 << 30).unwrap();
            once.spend(1 << 30).unwrap();
        }
        open.spend(1 << 30).unwrap();
        assert!(!once.is_spent());
        let e = once.spend(1 << 30).unwrap_err();
        assert!(e.to_string().contains("bytes decoded"), "{e}");
        assert!(once.is_spent() && once.spend(1).is_err() && !open.is_spent());
    }
}

//! Counts of a cache's hits, misses and bytes.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the cache was made, and its present contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CacheStats {
    /// Tiles found decoded.
    pub hits: u64,
    /// Tiles that had to be decoded, cached or not.
    pub misses: u64,
    /// Tiles dropped to make room.
    pub evictions: u64,
    /// Bytes of all tiles decoded.
    pub decoded_bytes: u64,
    /// Bytes copied out of decoded tiles. Tiles decoded in their final place are not copied.
    pub copied_bytes: u64,
    /// The number of cached tiles now.
    pub entries: u64,
    /// Bytes of the cached tiles.
    pub used_bytes: u64,
    /// Bytes that the cache may hold.
    pub budget: u64,
}

#[derive(Default)]
pub(super) struct Counters {
    pub(super) hits: AtomicU64,
    pub(super) misses: AtomicU64,
    pub(super) evictions: AtomicU64,
    pub(super) decoded_bytes: AtomicU64,
    pub(super) copied_bytes: AtomicU64,
}

impl Counters {
    pub(super) fn hits(&self, tiles: u64) {
        self.hits.fetch_add(tiles, Ordering::Relaxed);
    }

    /// Evictions so far. Whatever the caller does next happens after them.
    pub(super) fn evictions(&self) -> u64 {
        self.evictions.load(Ordering::Acquire)
    }

    pub(super) fn decoded(&self, len: usize) {
        self.misses.fetch_add(1, Ordering::Relaxed);
        self.decoded_bytes.fetch_add(len as u64, Ordering::Relaxed);
    }

    pub(super) fn copied(&self, len: u64) {
        self.copied_bytes.fetch_add(len, Ordering::Relaxed);
    }

    pub(super) fn read(&self, entries: u64, used_bytes: u64, budget: u64) -> CacheStats {
        let now = |n: &AtomicU64| n.load(Ordering::Relaxed);
        CacheStats {
            hits: now(&self.hits),
            misses: now(&self.misses),
            evictions: now(&self.evictions),
            decoded_bytes: now(&self.decoded_bytes),
            copied_bytes: now(&self.copied_bytes),
            entries,
            used_bytes,
            budget,
        }
    }
}

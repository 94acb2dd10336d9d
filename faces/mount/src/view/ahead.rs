//! Read-ahead by tiles: while a program reads forward, the next tiles are decoded into the cache, in
//! parallel.

use super::original::Original;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of bytes that are decoded ahead of a reader, for each thread.
const AHEAD_LEN: u64 = 4 << 20;
/// The maximal distance from the end of the last read at which a read still counts as forward: the kernel's
/// read-ahead sends several requests at once, which arrive in any order.
const SLACK: u64 = 2 << 20;
/// The number of consecutive bytes after which a reader is expected to continue: two requests of the kernel's
/// usual read-ahead.
const BEGUN: u64 = 256 << 10;
/// The maximal number of tiles that wait to be decoded, for each thread.
const WAITING: usize = 8;

/// The progress of a reader of one open file.
#[derive(Debug, Default)]
pub(crate) struct Stride {
    begin: u64,
    end: u64,
    /// Bytes before this offset were decoded ahead.
    ahead: u64,
}

impl Stride {
    /// Records a read. Returns the range to decode ahead.
    pub(crate) fn note(&mut self, offset: u64, len: u64, ahead_len: u64) -> Option<Range<u64>> {
        let end = offset.saturating_add(len);
        let is_first = self.end == 0 && offset > 0;
        if is_first || offset.abs_diff(self.end) > SLACK || offset < self.begin {
            *self = Stride { begin: offset, end, ahead: end };
            return None;
        }
        self.end = self.end.max(end);
        self.ahead = self.ahead.max(self.end);
        // Decodes ahead in parts of at least half of the read-ahead length.
        if self.end - self.begin < BEGUN || self.ahead - self.end > ahead_len / 2 {
            return None;
        }
        let range = self.ahead..self.end.saturating_add(ahead_len);
        self.ahead = range.end.max(self.ahead);
        (!range.is_empty()).then_some(range)
    }
}

pub(crate) struct Ahead {
    pool: ThreadPool,
    waiting: Arc<AtomicUsize>,
    threads: usize,
}

impl Ahead {
    pub(crate) fn new() -> io::Result<Self> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|n| format!("nc3z-ahead-{n}"));
        let pool = pool.build().map_err(io::Error::other)?;
        Ok(Ahead { pool, waiting: Arc::default(), threads })
    }

    /// The number of bytes to decode ahead of a reader: less for a small cache, and 0 without a cache.
    pub(crate) fn len(&self, original: &Original) -> u64 {
        (AHEAD_LEN * self.threads as u64).min(original.archive.cache().budget() / 8)
    }

    /// Decodes the tiles of a range that are not in the cache. Read errors are reported when the tile is
    /// read.
    pub(crate) fn decode(&self, original: &Arc<Original>, range: Range<u64>) {
        let archive = &original.archive;
        for (array, tile) in archive.tiles_of_original(range).unwrap_or_default() {
            if archive.is_cached(array, tile) {
                continue;
            }
            if self.waiting.fetch_add(1, Ordering::Relaxed) >= WAITING * self.threads {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                return;
            }
            let (archive, waiting) = (archive.clone(), Arc::clone(&self.waiting));
            self.pool.spawn(move || {
                let _ = archive.cached_tile(array, tile);
                waiting.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AHEAD: u64 = 8 << 20;
    const READ: u64 = 128 << 10;

    #[test]
    fn reading_forward_decodes_ahead_and_each_part_once() {
        let mut stride = Stride::default();
        let (mut last, mut all) = (None, 0);
        for n in 0..400 {
            if let Some(range) = stride.note(n * READ, READ, AHEAD) {
                assert!(last.is_none_or(|end| end == range.start), "{range:?}");
                assert!(range.end <= (n + 1) * READ + AHEAD);
                (last, all) = (Some(range.end), all + 1);
            }
        }
        assert!(last.unwrap() > 400 * READ && all < 40, "{all} decisions");
    }

    #[test]
    fn parts_that_come_out_of_order_go_forward_too() {
        let mut stride = Stride::default();
        let ranges = [1, 0, 3, 2, 5, 4].map(|n| stride.note(n * READ, READ, AHEAD));
        assert!(ranges.iter().flatten().next().is_some());
    }

    #[test]
    fn reads_here_and_there_decode_nothing_ahead() {
        let mut stride = Stride::default();
        for n in [900, 17, 333, 4, 712, 1200, 60] {
            assert_eq!(stride.note(n * (4 << 20), 4096, AHEAD), None);
        }
    }
}

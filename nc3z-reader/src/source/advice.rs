//! Advice to the operating system about a memory map: read the requested bytes, and nothing around them.
//!
//! By default the system reads ahead at each missing page: as much as the disk's setting says (8 MiB on some
//! disks). Opening an archive touches a few pages at both ends and in between, so the whole file may be read.
//! The map is therefore advised as read at random, and the system reads single pages. Each range is advised
//! as needed before it is given out, and the system reads the range in one go. Where the ranges of a thread
//! follow each other, the bytes after them are requested too.

use memmap2::Mmap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Length in bytes of a granule, the unit of advice. Each granule of a short range is advised once.
const GRANULE: u64 = 16 << 10;
/// Ranges of at least this many bytes are advised each time: their pages may have left memory since.
const LONG: u64 = 64 << 10;
/// Ranges of at least this many bytes get no advice: the system's own read-ahead is sufficient.
const HUGE: u64 = 8 << 20;
/// Largest distance in bytes between two ranges of which the second follows the first.
const NEXT: u64 = 256 << 10;
/// Bytes that are requested ahead of a thread's reads: at first, and at most.
const AHEAD: Range<u64> = (128 << 10)..(8 << 20);
/// Bytes at the end that hold an archive's trailer and sections.
const TAIL: u64 = 16 << 10;
/// The number of threads whose reads are tracked separately.
const STREAMS: usize = 16;

/// The advice to give before a range is read.
#[derive(Debug, PartialEq, Eq)]
enum KernelAdvice {
    Nothing,
    Read(Range<u64>),
    Normal(Range<u64>),
}

#[derive(Debug, Default)]
struct Stream {
    /// The end of the last range.
    next: AtomicU64,
    /// The number of bytes to request ahead.
    ahead: AtomicU64,
}

/// A map, and the ranges of it that were requested.
#[derive(Debug)]
pub(super) struct Advised {
    map: Arc<Mmap>,
    asked: Asked,
}

#[derive(Debug)]
struct Asked {
    len: u64,
    /// One bit for each granule that was advised.
    granules: Box<[AtomicU64]>,
    streams: [Stream; STREAMS],
}

impl Advised {
    /// Advises the map as read at random, and its ends as needed. The system may ignore the advice.
    pub(super) fn new(map: Arc<Mmap>) -> Self {
        let advised = Advised { asked: Asked::new(map.len() as u64), map };
        #[cfg(unix)]
        let _ = advised.map.advise(memmap2::Advice::Random);
        let len = advised.asked.len;
        advised.carry_out(&KernelAdvice::Read(advised.asked.mark(0, GRANULE.min(len))));
        advised.carry_out(&KernelAdvice::Read(advised.asked.mark(len.saturating_sub(TAIL), TAIL.min(len))));
        advised
    }

    /// Asks for a range that is about to be read.
    pub(super) fn before_read(&self, offset: u64, len: u64) {
        self.carry_out(&self.asked.wanted(offset, len, stream_number()));
    }

    fn carry_out(&self, wanted: &KernelAdvice) {
        #[cfg(unix)]
        {
            let (advice, range) = match wanted {
                KernelAdvice::Nothing => return,
                KernelAdvice::Read(range) => (memmap2::Advice::WillNeed, range),
                KernelAdvice::Normal(range) => (memmap2::Advice::Normal, range),
            };
            let at = usize::try_from(range.start).expect("inside the map");
            let len = usize::try_from(range.end - range.start).expect("inside the map");
            // Refused advice costs only speed.
            let _ = self.map.advise_range(advice, at, len);
        }
        #[cfg(not(unix))]
        let _ = (&self.map, wanted);
    }
}

impl Asked {
    fn new(len: u64) -> Self {
        let words = usize::try_from(len.div_ceil(GRANULE).div_ceil(64)).expect("fewer than the map's bytes");
        let granules = (0..words).map(|_| AtomicU64::new(0)).collect();
        Asked { len, granules, streams: Default::default() }
    }

    fn wanted(&self, offset: u64, len: u64, stream: usize) -> KernelAdvice {
        let end = offset.saturating_add(len);
        if len == 0 || end > self.len {
            return KernelAdvice::Nothing;
        }
        let Stream { next, ahead } = &self.streams[stream % STREAMS];
        let last = next.swap(end, Ordering::Relaxed);
        let follows = last > 0 && offset.abs_diff(last) <= NEXT;
        let before = if follows { ahead.load(Ordering::Relaxed) } else { 0 };
        if !follows {
            ahead.store(0, Ordering::Relaxed);
        }
        if len >= HUGE {
            return if self.has(offset, end) {
                KernelAdvice::Nothing
            } else {
                KernelAdvice::Normal(self.mark(offset, len))
            };
        }
        // Half of the bytes requested ahead are still to come when the next are requested.
        let front = (end + before / 2).min(self.len);
        if len < LONG && self.has(offset, front) {
            return KernelAdvice::Nothing;
        }
        let more = if follows { (before * 2).clamp(AHEAD.start, AHEAD.end) } else { 0 };
        if follows && self.has(end, front) && before > 0 {
            // Enough bytes are already requested.
            return KernelAdvice::Read(self.mark(offset, len));
        }
        ahead.store(more, Ordering::Relaxed);
        KernelAdvice::Read(self.mark(offset, (end + more).min(self.len) - offset))
    }

    /// Returns true if all granules of a range were advised.
    fn has(&self, start: u64, end: u64) -> bool {
        (start / GRANULE..end.div_ceil(GRANULE)).all(|granule| {
            let word = &self.granules[usize::try_from(granule / 64).expect("a granule of the map")];
            word.load(Ordering::Relaxed) & (1 << (granule % 64)) != 0
        })
    }

    /// Marks a range as advised. Returns the bytes of its granules.
    fn mark(&self, start: u64, len: u64) -> Range<u64> {
        let (first, last) = (start / GRANULE, (start + len).div_ceil(GRANULE));
        for granule in first..last {
            let word = &self.granules[usize::try_from(granule / 64).expect("a granule of the map")];
            word.fetch_or(1 << (granule % 64), Ordering::Relaxed);
        }
        first * GRANULE..(last * GRANULE).min(self.len)
    }
}

/// A number of this thread.
fn stream_number() -> usize {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static NUMBER: usize = COUNT.fetch_add(1, Ordering::Relaxed));
    NUMBER.with(|number| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn single_reads_ask_for_their_granules_once() {
        let asked = Asked::new(100 * MIB);
        assert_eq!(asked.wanted(20 * MIB + 5, 100, 0), KernelAdvice::Read(20 * MIB..20 * MIB + GRANULE));
        assert_eq!(asked.wanted(20 * MIB + 50, 100, 1), KernelAdvice::Nothing, "by another thread");
        assert_eq!(
            asked.wanted(90 * MIB - 1, 2, 0),
            KernelAdvice::Read(90 * MIB - GRANULE..90 * MIB + GRANULE)
        );
        assert_eq!(asked.wanted(100 * MIB - 1, 1, 0), KernelAdvice::Read(100 * MIB - GRANULE..100 * MIB));
        for (offset, len) in [(0, 0), (100 * MIB, 1), (u64::MAX, 5)] {
            assert_eq!(asked.wanted(offset, len, 0), KernelAdvice::Nothing);
        }
    }

    #[test]
    fn long_reads_are_asked_for_again_and_huge_ones_left_to_the_system() {
        let asked = Asked::new(100 * MIB);
        for _ in 0..2 {
            assert_eq!(asked.wanted(50 * MIB, LONG, 0), KernelAdvice::Read(50 * MIB..50 * MIB + LONG));
            asked.wanted(0, 1, 0);
        }
        assert_eq!(asked.wanted(0, HUGE, 0), KernelAdvice::Normal(0..HUGE));
        assert_eq!(asked.wanted(0, HUGE, 0), KernelAdvice::Nothing);
    }

    #[test]
    fn reads_that_follow_each_other_are_ever_further_ahead() {
        let asked = Asked::new(100 * MIB);
        let (mut calls, mut front) = (0, 0);
        for offset in (0..100 * MIB).step_by(4 << 10) {
            if let KernelAdvice::Read(range) = asked.wanted(offset, 4 << 10, 3) {
                calls += 1;
                front = range.end;
            }
            assert!(front >= offset + (4 << 10), "all that is read was asked for");
        }
        assert!((15..60).contains(&calls), "{calls}");
        // Not so where they jump.
        let asked = Asked::new(100 * MIB);
        let ahead: u64 = (0..100_u64)
            .map(|n| match asked.wanted((n * 37 % 100) * MIB, 4096, 0) {
                KernelAdvice::Read(range) => range.end - range.start,
                _ => 0,
            })
            .sum();
        assert_eq!(ahead, 100 * GRANULE);
    }
}

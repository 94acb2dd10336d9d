//! A source for work that reads a whole object from beginning to end, in many small reads.

use crate::pages;
use nc3z_reader::Result;
use nc3z_reader::source::{ByteSource, SharedSource};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The length of a page in bytes.
const PAGE_LEN: u64 = 4 << 20;
/// The number of pages that are fetched at once when reading goes forward.
const AHEAD: u64 = 4;
/// The number of pages that are kept.
const HELD: usize = 16;

/// A source that is read in pages of 4 MiB. The 64 MiB that were used last stay in memory. Consecutive reads, such as those
/// of a check of every byte, take one request for each page instead of one for each read.
///
/// ```
/// use nc3z_reader::source::{ByteSource, MemorySource};
/// let source = nc3z_remote::ForwardSource::new(std::sync::Arc::new(MemorySource::new(vec![7; 100])));
/// assert_eq!(source.read_at(98, 2)?[..], [7, 7]);
/// # Ok::<(), nc3z_reader::Error>(())
/// ```
pub struct ForwardSource {
    source: SharedSource,
    pages: Mutex<Pages>,
}

#[derive(Default)]
struct Pages {
    /// The bytes of a page, and the time of its last use.
    held: HashMap<u64, (bytes::Bytes, u64)>,
    clock: u64,
}

impl ForwardSource {
    /// Reads `source` in pages.
    pub fn new(source: SharedSource) -> Self {
        ForwardSource { source, pages: Mutex::default() }
    }

    /// Returns a page. A thread that needs a page that is being fetched waits for it, so that each page is
    /// fetched once.
    fn page(&self, number: u64) -> Result<bytes::Bytes> {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.clock += 1;
        let clock = pages.clock;
        if let Some((bytes, used)) = pages.held.get_mut(&number) {
            *used = clock;
            return Ok(bytes.clone());
        }
        let forward = number == 0 || pages.held.contains_key(&(number - 1));
        let last = self.source.len().div_ceil(PAGE_LEN);
        let until = if forward { last.min(number.saturating_add(AHEAD)) } else { number + 1 };
        let wanted: Vec<u64> =
            (number..until).filter(|n| *n == number || !pages.held.contains_key(n)).collect();
        let ranges: Vec<Range<u64>> = wanted.iter().map(|n| self.range(*n)).collect();
        let found = self.source.read_ranges(&ranges)?;
        let first = found.first().cloned().unwrap_or_default();
        pages.held.extend(wanted.into_iter().zip(found.into_iter().map(|bytes| (bytes, clock))));
        pages::forget(&mut pages.held, HELD);
        Ok(first)
    }

    fn range(&self, page: u64) -> Range<u64> {
        pages::range(page, PAGE_LEN, self.source.len())
    }
}

impl ByteSource for ForwardSource {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn stored_len(&self) -> u64 {
        self.source.stored_len()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let (wanted, available) = (buf.len() as u64, self.len().saturating_sub(offset));
        if wanted > available {
            let missing = wanted - available;
            return Err(nc3z_format::Error::truncated("object", offset, "read", missing, available).into());
        }
        pages::fill(PAGE_LEN, offset, buf, |number| self.page(number))
    }

    fn identity(&self) -> Option<Arc<str>> {
        self.source.identity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_reader::source::MemorySource;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Counting(MemorySource, AtomicU64);

    impl ByteSource for Counting {
        fn len(&self) -> u64 {
            self.0.len()
        }

        fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.read_into(offset, buf)
        }
    }

    #[test]
    fn bytes_are_the_sources_and_each_page_is_asked_for_once() {
        let len = 3 * PAGE_LEN + 1234;
        let bytes: Vec<u8> = (0..len).map(|n| (n % 251).to_le_bytes()[0]).collect();
        let inner = Arc::new(Counting(MemorySource::new(bytes.clone()), AtomicU64::new(0)));
        let source = ForwardSource::new(inner.clone());
        let mut at = 0;
        while at < len {
            let n = (len - at).min(100_003);
            let (from, to) = (usize::try_from(at).unwrap(), usize::try_from(at + n).unwrap());
            assert!(source.read_at(at, to - from).unwrap() == bytes[from..to]);
            at += n;
        }
        assert_eq!(inner.1.load(Ordering::Relaxed), 4);
        assert!(source.read_at(len - 1, 2).unwrap_err().is_corrupt());
        assert!(source.read_at(len, 0).unwrap().is_empty());
    }

    #[test]
    fn no_more_pages_are_kept_than_said() {
        let len = (HELD as u64 + 9) * PAGE_LEN;
        let inner = Arc::new(MemorySource::new(vec![1; usize::try_from(len).unwrap()]));
        let source = ForwardSource::new(inner);
        for page in 0..len / PAGE_LEN {
            source.read_at(page * PAGE_LEN, 1).unwrap();
            assert!(source.pages.lock().unwrap().held.len() <= HELD);
        }
    }
}

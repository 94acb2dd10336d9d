//! A source for work that needs a few bytes in each of many places.

use crate::pages;
use nc3z_reader::Result;
use nc3z_reader::source::{ByteSource, Reach, SharedSource};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The length of a page in bytes: a request for it takes little longer than one for a few bytes.
const PAGE_LEN: u64 = 256 << 10;
/// The number of pages that are kept.
const HELD: usize = 64;

/// A source that is read in pages of 256 KiB, several of them at once. The last 16 MiB used are kept. Short reads of
/// neighbouring places, such as the headers of small files in a bundle, take one request for each page. Reads that are
/// longer than a page are requested as they are.
///
/// ```
/// use nc3z_reader::source::{ByteSource, MemorySource};
/// let source = nc3z_remote::PagedSource::new(std::sync::Arc::new(MemorySource::new(vec![7; 100])));
/// assert_eq!(source.read_at(98, 2)?[..], [7, 7]);
/// # Ok::<(), nc3z_reader::Error>(())
/// ```
pub struct PagedSource {
    source: SharedSource,
    pages: Mutex<Pages>,
}

/// The bytes of a page, once they are there. A thread that needs a page which is being fetched waits for it.
type Page = Arc<Mutex<Option<bytes::Bytes>>>;

#[derive(Default)]
struct Pages {
    /// A page, and the time of its last use.
    held: HashMap<u64, (Page, u64)>,
    clock: u64,
}

impl Pages {
    /// Returns a page, which may be empty yet, and forgets the page that was not used for longest.
    fn find(&mut self, number: u64) -> Page {
        self.clock += 1;
        let clock = self.clock;
        let (page, used) = self.held.entry(number).or_default();
        *used = clock;
        let page = Arc::clone(page);
        pages::forget(&mut self.held, HELD);
        page
    }
}

impl PagedSource {
    /// Reads `source` in pages.
    pub fn new(source: SharedSource) -> Self {
        PagedSource { source, pages: Mutex::default() }
    }

    fn page(&self, number: u64) -> Result<bytes::Bytes> {
        let page = self.pages.lock().unwrap_or_else(PoisonError::into_inner).find(number);
        let mut page = page.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = &*page {
            return Ok(bytes.clone());
        }
        let range = pages::range(number, PAGE_LEN, self.source.len());
        let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let bytes = self.source.read_at(range.start, len)?;
        *page = Some(bytes.clone());
        Ok(bytes)
    }
}

impl ByteSource for PagedSource {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn stored_len(&self) -> u64 {
        self.source.stored_len()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let (wanted, available) = (buf.len() as u64, self.len().saturating_sub(offset));
        if wanted > available || wanted > PAGE_LEN {
            return self.source.read_into(offset, buf);
        }
        pages::fill(PAGE_LEN, offset, buf, |number| self.page(number))
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<bytes::Bytes>> {
        // Long ranges are requested at once.
        if ranges.iter().any(|range| range.end.saturating_sub(range.start) > PAGE_LEN) {
            return self.source.read_ranges(ranges);
        }
        let read = |range: &Range<u64>| {
            let len = range.end.saturating_sub(range.start);
            self.read_at(range.start, usize::try_from(len).unwrap_or(usize::MAX))
        };
        ranges.iter().map(read).collect()
    }

    fn reach(&self) -> Reach {
        self.source.reach()
    }

    fn ends(&self, head: u64, tail: u64) -> Result<(bytes::Bytes, bytes::Bytes)> {
        // The source has some of these bytes already.
        self.source.ends(head, tail)
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
    fn short_reads_take_one_request_for_a_page() {
        let len = 3 * PAGE_LEN + 1234;
        let bytes: Vec<u8> = (0..len).map(|n| (n % 251).to_le_bytes()[0]).collect();
        let inner = Arc::new(Counting(MemorySource::new(bytes.clone()), AtomicU64::new(0)));
        let source = PagedSource::new(inner.clone());
        for at in (0..len - 100).step_by(997) {
            let from = usize::try_from(at).unwrap();
            assert!(source.read_at(at, 100).unwrap() == bytes[from..from + 100]);
        }
        assert_eq!(inner.1.load(Ordering::Relaxed), 4);
        let found = source.read_ranges(&[0..7, PAGE_LEN - 1..PAGE_LEN + 1]).unwrap();
        assert!(found[0] == bytes[..7] && found[1].len() == 2);
        assert_eq!(inner.1.load(Ordering::Relaxed), 4);
        assert!(source.read_at(len - 1, 2).unwrap_err().is_corrupt());
        assert!(source.read_at(len, 0).unwrap().is_empty());
        let long = usize::try_from(2 * PAGE_LEN).unwrap();
        assert!(source.read_at(5, long).unwrap() == bytes[5..5 + long]);
    }

    #[test]
    fn no_more_pages_are_kept_than_said() {
        let len = (HELD as u64 + 9) * PAGE_LEN;
        let source = PagedSource::new(Arc::new(MemorySource::new(vec![1; usize::try_from(len).unwrap()])));
        for page in 0..len / PAGE_LEN {
            source.read_at(page * PAGE_LEN, 1).unwrap();
            assert!(source.pages.lock().unwrap().held.len() <= HELD);
        }
    }
}

//! Reads many members of one object in few requests. A read of bytes that are not in memory fails, and its
//! range is recorded. All recorded ranges are fetched in merged requests, and the reads are tried again.

use bytes::Bytes;
use nc3z_reader::source::{ByteSource, Reach, SharedSource};
use nc3z_reader::{Error, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that are fetched in one round. Those of the previous round are kept too.
const ROUND_LEN: u64 = 64 << 20;

/// Ranges of an object that were fetched for several readers, and the ranges that are needed next.
pub struct Ahead {
    source: SharedSource,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    wanted: Vec<Range<u64>>,
    /// By offset: the pieces of this round, and of the previous one.
    pieces: [BTreeMap<u64, Bytes>; 2],
    /// True where reads are passed on to the source, and no range is recorded.
    direct: bool,
}

/// The error of a read whose range was recorded.
#[derive(Debug, thiserror::Error)]
#[error("these bytes are fetched together with others")]
struct Deferred;

impl Ahead {
    pub(super) fn new(source: SharedSource) -> Self {
        Ahead { source, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches the recorded ranges, at most about `ROUND_LEN` bytes. Returns false where no range was
    /// recorded.
    ///
    /// # Errors
    /// Errors of the source.
    pub(crate) fn fetch(&self) -> Result<bool> {
        let wanted = std::mem::take(&mut self.state().wanted);
        let mut merged = self.source.reach().merge(&wanted);
        let mut sum = 0;
        let enough = merged.iter().position(|range| {
            sum += range.end - range.start;
            sum > ROUND_LEN
        });
        // Fetches at least one range, so that each round makes progress.
        merged.truncate(enough.unwrap_or(merged.len()).max(1));
        if merged.is_empty() {
            return Ok(false);
        }
        let found = self.source.read_ranges(&merged)?;
        let fetched = merged.iter().map(|range| range.start).zip(found).collect();
        let mut state = self.state();
        let last = std::mem::replace(&mut state.pieces[0], fetched);
        state.pieces[1] = last;
        Ok(true)
    }

    /// Passes all later reads on to the source.
    pub(crate) fn read_directly(&self) {
        self.state().direct = true;
    }

    /// Returns the bytes of ranges. If one is missing, all of them are recorded.
    fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let mut state = self.state();
        let found: Vec<Option<Bytes>> = ranges.iter().map(|range| state.get(range)).collect();
        if found.iter().all(Option::is_some) {
            return Ok(found.into_iter().flatten().collect());
        }
        if state.direct {
            drop(state);
            return self.source.read_ranges(ranges);
        }
        state.wanted.extend(ranges.iter().filter(|range| range.start < range.end).cloned());
        Err(Error::other(Deferred))
    }
}

impl State {
    fn get(&self, range: &Range<u64>) -> Option<Bytes> {
        let len = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        if len == 0 {
            return Some(Bytes::new());
        }
        self.pieces.iter().find_map(|pieces| {
            let (begin, bytes) = pieces.range(..=range.start).next_back()?;
            let at = usize::try_from(range.start - begin).ok()?;
            let end = at.checked_add(len).filter(|end| *end <= bytes.len())?;
            Some(bytes.slice(at..end))
        })
    }
}

/// The object as a source for its readers.
pub(super) struct AheadSource(pub(super) Arc<Ahead>);

impl ByteSource for AheadSource {
    fn len(&self) -> u64 {
        self.0.source.len()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        buf.copy_from_slice(&self.read_at(offset, buf.len())?);
        Ok(())
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        let range = offset..offset.saturating_add(len as u64);
        Ok(self.read_ranges(std::slice::from_ref(&range))?.pop().unwrap_or_default())
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let len = self.len();
        if let Some(range) = ranges.iter().find(|range| range.end > len) {
            let available = len.saturating_sub(range.start);
            let missing = range.end.saturating_sub(range.start).saturating_sub(available);
            return Err(
                nc3z_format::Error::truncated("bundle", range.start, "read", missing, available).into()
            );
        }
        self.0.read(ranges)
    }

    fn reach(&self) -> Reach {
        self.0.source.reach()
    }

    fn identity(&self) -> Option<Arc<str>> {
        self.0.source.identity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_reader::source::MemorySource;

    #[test]
    fn what_is_missing_is_noted_and_fetched_in_few_requests() {
        let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let ahead = Arc::new(Ahead::new(Arc::new(MemorySource::new(bytes.clone()))));
        let source = AheadSource(Arc::clone(&ahead));
        assert!(!ahead.fetch().unwrap());
        for at in [70_000, 10, 20] {
            assert!(source.read_at(at, 8).is_err());
        }
        assert!(ahead.fetch().unwrap());
        for at in [70_000_u64, 10, 20] {
            assert_eq!(source.read_at(at, 8).unwrap(), bytes[usize::try_from(at).unwrap()..][..8]);
        }
        assert!(!ahead.fetch().unwrap());
        // The pieces of the previous round are still there, older ones are not.
        assert!(source.read_at(500, 1).is_err());
        assert!(ahead.fetch().unwrap());
        assert!(source.read_at(10, 8).is_ok());
        assert!(source.read_at(600, 1).is_err() && ahead.fetch().unwrap());
        assert!(source.read_at(10, 8).is_err());
        ahead.read_directly();
        assert_eq!(source.read_at(30, 4).unwrap(), bytes[30..34]);
        assert!(source.read_at(99_999, 2).is_err() && source.read_at(u64::MAX, 1).is_err());
    }
}

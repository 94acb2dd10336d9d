//! Bytes of a source that are already in memory.

use super::{ByteSource, Reach, SharedSource, answers};
use crate::error::Result;
use bytes::Bytes;
use nc3z_format::array::coalesce;
use std::ops::Range;
use std::sync::Arc;

/// Ranges of a source in memory. Cheap to clone; empty until something is fetched.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nearby(Option<Arc<[(u64, Bytes)]>>);

impl Nearby {
    /// Fetches the ranges `wanted`, merged into requests as `Reach::merge` decides.
    ///
    /// # Errors
    /// The error of the source.
    pub(crate) fn fetch(source: &dyn ByteSource, wanted: &[Range<u64>]) -> Result<Self> {
        Self::fetch_merged(source, wanted, |wanted| source.reach().merge(wanted))
    }

    /// Fetches the ranges `wanted` without the bytes between them.
    ///
    /// # Errors
    /// The error of the source.
    pub(crate) fn fetch_apart(source: &dyn ByteSource, wanted: &[Range<u64>]) -> Result<Self> {
        Self::fetch_merged(source, wanted, |wanted| coalesce(wanted, 0, source.reach().request_len))
    }

    fn fetch_merged(
        source: &dyn ByteSource,
        wanted: &[Range<u64>],
        merge: impl FnOnce(&[Range<u64>]) -> Vec<Range<u64>>,
    ) -> Result<Self> {
        // Bytes that the source has in memory need no request: they are read from the source when needed.
        let wanted: Vec<Range<u64>> = wanted.iter().filter(|range| !source.holds(range)).cloned().collect();
        let merged = merge(&wanted);
        if merged.is_empty() {
            return Ok(Nearby::default());
        }
        let found = source.read_ranges(&merged)?;
        if found.len() != merged.len() {
            return Err(answers(merged.len(), found.len()));
        }
        Ok(Self::new(merged.iter().map(|range| range.start).zip(found)))
    }

    /// Makes a `Nearby` of pieces, whose offsets are ascending and which do not overlap.
    pub(crate) fn new(pieces: impl IntoIterator<Item = (u64, Bytes)>) -> Self {
        Nearby(Some(pieces.into_iter().collect()))
    }

    /// Joins these pieces and the pieces of `other`. The pieces must not overlap.
    pub(crate) fn and(&self, other: &Nearby) -> Self {
        let (Some(a), Some(b)) = (&self.0, &other.0) else {
            return if self.0.is_some() { self.clone() } else { other.clone() };
        };
        let mut all: Vec<_> = a.iter().chain(b.iter()).cloned().collect();
        all.sort_by_key(|(offset, bytes)| (*offset, bytes.len()));
        // If two pieces begin at the same byte, the longer one is sorted last, so that the search finds it.
        Nearby(Some(all.into()))
    }

    /// The bytes `[offset, offset + len)`, if one piece contains them all.
    pub(crate) fn get(&self, offset: u64, len: usize) -> Option<Bytes> {
        let pieces = self.0.as_ref()?;
        let after = pieces.partition_point(|(begin, _)| *begin <= offset);
        let (begin, bytes) = pieces.get(after.checked_sub(1)?)?;
        let from = usize::try_from(offset - begin).ok()?;
        let end = from.checked_add(len).filter(|end| *end <= bytes.len())?;
        Some(bytes.slice(from..end))
    }

    /// Returns true if [`Nearby::get`] would return these bytes.
    pub(crate) fn holds(&self, range: &Range<u64>) -> bool {
        usize::try_from(range.end - range.start).is_ok_and(|len| self.get(range.start, len).is_some())
    }

    /// The bytes from these pieces, otherwise from the source.
    ///
    /// # Errors
    /// The error of the source.
    pub(crate) fn read_at(&self, source: &dyn ByteSource, offset: u64, len: usize) -> Result<Bytes> {
        self.get(offset, len).map_or_else(|| source.read_at(offset, len), Ok)
    }
}

/// A source with some of its bytes in memory.
pub(crate) struct NearbySource {
    pub(crate) nearby: Nearby,
    pub(crate) source: SharedSource,
}

impl ByteSource for NearbySource {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn stored_len(&self) -> u64 {
        self.source.stored_len()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        match self.nearby.get(offset, buf.len()) {
            Some(bytes) => buf.copy_from_slice(&bytes),
            None => self.source.read_into(offset, buf)?,
        }
        Ok(())
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.nearby.read_at(&*self.source, offset, len)
    }

    fn reach(&self) -> Reach {
        self.source.reach()
    }

    fn identity(&self) -> Option<Arc<str>> {
        self.source.identity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::MemorySource;

    #[test]
    fn pieces_give_what_they_hold_and_no_more() {
        let source = MemorySource::new((0..100).collect::<Vec<u8>>());
        let nearby = Nearby::fetch(&source, &[10..20, 50..60]).unwrap();
        assert_eq!(&nearby.get(12, 3).unwrap()[..], [12, 13, 14]);
        assert_eq!(nearby.get(50, 10).unwrap().len(), 10);
        for (offset, len) in [(9, 2), (19, 2), (20, 1), (55, 6), (0, 1), (99, 1)] {
            assert!(nearby.get(offset, len).is_none(), "{offset} +{len}");
        }
        let both = nearby.and(&Nearby::fetch(&source, &[30..35, 35..40]).unwrap());
        assert_eq!(&both.get(39, 1).unwrap()[..], [39]);
        assert_eq!(&both.read_at(&source, 98, 2).unwrap()[..], [98, 99]);
        assert!(Nearby::default().get(0, 0).is_none());
    }
}

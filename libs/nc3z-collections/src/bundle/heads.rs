//! The heads of members: the bytes that are read when a member is opened, and the index of its tiles. The
//! bundle's index stores them, so that a member is opened without a request, and reading it requests only
//! data.

use crate::fragments::fingerprint;
use bytes::Bytes;
use nc3z_format::archive::{BLOCK_HEADER_LEN, IndexEntry};
use nc3z_reader::source::{ByteSource, SharedSource};
use nc3z_reader::{Archive, Dataset, OpenOptions, Result};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The maximal length of a member's head in bytes. If an archive has a longer index, the head only suffices
/// to open it, and index pages are read when needed.
const MAX_HEAD: u64 = 1 << 20;
/// An aggregation up to this length is stored as a whole: names of files, and coordinates.
const MAX_AGGREGATION: u64 = 32 << 20;
/// Ranges with at most this distance in bytes are merged.
const GAP: u64 = 64;

/// Parts of a member, ascending and not adjacent. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Head(Arc<[(u64, Bytes)]>);

impl Head {
    /// Makes a head of parts, each with its offset in the member.
    pub(super) fn new(parts: Vec<(u64, Bytes)>) -> Self {
        Head(parts.into())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn parts(&self) -> &[(u64, Bytes)] {
        &self.0
    }

    /// Returns the bytes from `offset` on, if one part has them all.
    pub(super) fn get(&self, offset: u64, len: usize) -> Option<Bytes> {
        let n = self.0.partition_point(|(begin, _)| *begin <= offset).checked_sub(1)?;
        let (begin, bytes) = &self.0[n];
        let at = usize::try_from(offset - begin).ok()?;
        let end = at.checked_add(len).filter(|end| *end <= bytes.len())?;
        Some(bytes.slice(at..end))
    }

    /// Returns the parts at both ends of a member of length `len`.
    pub(super) fn ends(&self, len: u64) -> (Bytes, Bytes) {
        let first = self.0.first().filter(|(at, _)| *at == 0).map(|(_, bytes)| bytes.clone());
        let last = self.0.last().filter(|(at, bytes)| *at > 0 && at + bytes.len() as u64 == len);
        (first.unwrap_or_default(), last.map(|(_, bytes)| bytes.clone()).unwrap_or_default())
    }
}

/// Returns the head of a file that will be a member. It is empty for a file that is not netCDF, and for one
/// so small that it is read at once.
pub(crate) fn head_of(source: &SharedSource) -> Head {
    let len = source.len();
    let wanted = wanted(source).unwrap_or_default();
    let parts = merged(wanted, len).into_iter().map(|range| {
        let size = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        Some((range.start, source.read_at(range.start, size).ok()?))
    });
    // An unreadable file is reported when it is copied.
    Head::new(parts.collect::<Option<Vec<_>>>().unwrap_or_default())
}

/// The ranges that are read to open a file, and to find its tiles.
fn wanted(source: &SharedSource) -> Result<Vec<Range<u64>>> {
    let noted = Arc::new(Noting { source: source.clone(), ranges: Mutex::default() });
    let options = OpenOptions::of_command();
    let dataset = Dataset::from_source(noted.clone(), &options)?;
    let len = source.len();
    if crate::file::is_aggregation(&dataset) && len <= MAX_AGGREGATION {
        return Ok(std::iter::once(0..len).collect());
    }
    let Some(archive) = dataset.archive() else {
        return Ok(std::iter::once(0..dataset.layout().header_len).collect());
    };
    // In the short form head and data are not separate.
    if archive.is_short() {
        return Ok(Vec::new());
    }
    // Opening a fragment also reads its fingerprint. If that fails here, it is reported when the fragment is
    // opened.
    let _ = fingerprint(&dataset);
    let opening = noted.take();
    let sum = |ranges: &[Range<u64>]| ranges.iter().map(|r| r.end - r.start).sum::<u64>();
    if sum(&opening) > MAX_HEAD {
        return Ok(Vec::new());
    }
    let containers = read_pages(archive, &|| sum(&noted.ranges()) > MAX_HEAD)?;
    let both = [opening.clone(), noted.take(), containers].concat();
    Ok(if sum(&both) > MAX_HEAD { opening } else { both })
}

/// Reads all pages of an archive's index, until there are too many. Returns the ranges of the headers of
/// shared containers: they are needed for the cost of tiles, which is requested more often than data.
fn read_pages(archive: &Archive, enough: &dyn Fn() -> bool) -> Result<Vec<Range<u64>>> {
    let mut containers = BTreeSet::new();
    for row in archive.variable_table().rows() {
        for tile in 0..row.tile_count {
            if let IndexEntry::Shared { offset, .. } = archive.entry(row.array, tile)? {
                containers.insert(offset);
            }
            if tile % 64 == 0 && enough() {
                return Ok(Vec::new());
            }
        }
    }
    Ok(containers.into_iter().map(|at| at..at.saturating_add(BLOCK_HEADER_LEN as u64)).collect())
}

/// Sorts ranges, joins neighbours, and drops those beyond `len`.
fn merged(mut ranges: Vec<Range<u64>>, len: u64) -> Vec<Range<u64>> {
    ranges.sort_by_key(|r| (r.start, r.end));
    let mut out: Vec<Range<u64>> = Vec::new();
    for range in ranges.into_iter().filter(|r| r.start < r.end && r.end <= len) {
        match out.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(GAP) => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

/// A source that records which ranges are read. It does not return its ends in advance, so that each part is
/// requested separately.
struct Noting {
    source: SharedSource,
    ranges: Mutex<Vec<Range<u64>>>,
}

impl Noting {
    fn take(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut *self.ranges.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn ranges(&self) -> Vec<Range<u64>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ByteSource for Noting {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.source.read_into(offset, buf)?;
        let range = offset..offset + buf.len() as u64;
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner).push(range);
        Ok(())
    }

    fn ends(&self, _: u64, _: u64) -> Result<(Bytes, Bytes)> {
        Ok((Bytes::new(), Bytes::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_near_each_other_are_one() {
        assert_eq!(merged(vec![200..300, 0..8, 4..10, 5..5, 40..41, 290..1000], 500), [0..41, 200..300]);
    }

    #[test]
    fn parts_answer_for_what_they_have() {
        let head = Head::new(vec![(0, Bytes::from_static(b"abcd")), (10, Bytes::from_static(b"klm"))]);
        assert_eq!(head.get(1, 3).as_deref(), Some(&b"bcd"[..]));
        assert_eq!(head.get(12, 1).as_deref(), Some(&b"m"[..]));
        assert_eq!((head.get(3, 2), head.get(4, 1), head.get(12, 2)), (None, None, None));
        let ends = head.ends(13);
        assert_eq!((&ends.0[..], &ends.1[..]), (&b"abcd"[..], &b"klm"[..]));
        assert_eq!(head.ends(14).1.len(), 0);
    }
}

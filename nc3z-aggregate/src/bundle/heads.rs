//! The heads of members: the bytes that opening one reads, and the index of its tiles. With them in the bundle's index a member is
//! opened without a request, and reading it asks for the data alone.

use crate::fragments::fingerprint;
use bytes::Bytes;
use nc3z_format::archive::{BLOCK_HEADER_LEN, IndexEntry};
use nc3z_reader::source::{ByteSource, SharedSource};
use nc3z_reader::{Archive, Dataset, OpenOptions, Result};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of one member's head at most; an archive with more of an index is opened by it, and its pages are read when needed.
const MAX_HEAD: u64 = 1 << 20;
/// An aggregation up to this length is held whole: names of files, and coordinates.
const MAX_AGGREGATION: u64 = 32 << 20;
/// Ranges no further apart than this are one.
const GAP: u64 = 64;

/// Parts of a member, ascending and apart from each other. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head(Arc<[(u64, Bytes)]>);

impl Head {
    /// Parts by their places in the member.
    pub(super) fn new(parts: Vec<(u64, Bytes)>) -> Self {
        Head(parts.into())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn parts(&self) -> &[(u64, Bytes)] {
        &self.0
    }

    /// The bytes from `offset` on, if one part has them all.
    pub(super) fn get(&self, offset: u64, len: usize) -> Option<Bytes> {
        let n = self.0.partition_point(|(begin, _)| *begin <= offset).checked_sub(1)?;
        let (begin, bytes) = &self.0[n];
        let at = usize::try_from(offset - begin).ok()?;
        let end = at.checked_add(len).filter(|end| *end <= bytes.len())?;
        Some(bytes.slice(at..end))
    }

    /// The parts at both ends of a member of length `len`.
    pub(super) fn ends(&self, len: u64) -> (Bytes, Bytes) {
        let first = self.0.first().filter(|(at, _)| *at == 0).map(|(_, bytes)| bytes.clone());
        let last = self.0.last().filter(|(at, bytes)| *at > 0 && at + bytes.len() as u64 == len);
        (first.unwrap_or_default(), last.map(|(_, bytes)| bytes.clone()).unwrap_or_default())
    }
}

/// The head of a file that will be a member; empty of what is no netCDF file, and of a file so small that it is read at once.
pub(super) fn head_of(source: &SharedSource) -> Head {
    let len = source.len();
    let wanted = wanted(source).unwrap_or_default();
    let parts = merged(wanted, len).into_iter().map(|range| {
        let size = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        Some((range.start, source.read_at(range.start, size).ok()?))
    });
    // A file that cannot be read is told when it is copied.
    Head::new(parts.collect::<Option<Vec<_>>>().unwrap_or_default())
}

/// What is read to open a file, and to find its tiles.
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
    // In the short form head and data are one.
    if archive.is_short() {
        return Ok(Vec::new());
    }
    // What is looked at when a fragment is opened; an archive that cannot tell it is refused then.
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

/// Reads all pages of an archive's index, until there are too many. Gives the places of the headers of containers: they tell what their
/// tiles cost, which is asked for more often than data.
fn read_pages(archive: &Archive, enough: &dyn Fn() -> bool) -> Result<Vec<Range<u64>>> {
    let mut containers = BTreeSet::new();
    for row in archive.variable_table().rows() {
        for tile in 0..row.tile_count {
            if let IndexEntry::Packed { offset, .. } = archive.entry(row.array, tile)? {
                containers.insert(offset);
            }
            if tile % 64 == 0 && enough() {
                return Ok(Vec::new());
            }
        }
    }
    Ok(containers.into_iter().map(|at| at..at.saturating_add(BLOCK_HEADER_LEN as u64)).collect())
}

/// Ranges in order, neighbours joined, none beyond `len`.
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

/// A source that notes what is read of it. It gives no ends, so that each part is asked for by itself.
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

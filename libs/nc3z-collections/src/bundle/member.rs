//! A range of a byte source as a byte source of its own. A small one is read as a whole.

use super::stamp::Stamp;
use bytes::Bytes;
use nc3z_reader::Result;
use nc3z_reader::source::{ByteSource, Reach, SharedSource};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A member up to this length is read as a whole, if each request costs a round trip.
const SMALL: u64 = 64 << 10;

/// A member of a bundle.
pub struct Member {
    source: SharedSource,
    offset: u64,
    len: u64,
    /// The CRC-32 that the bundle records.
    crc32: Option<u32>,
    stamp: Stamp,
    /// All bytes of a small member, after they were read.
    whole: OnceLock<Bytes>,
}

impl Member {
    /// Makes a member of `len` bytes from `offset` on.
    pub(super) fn new(source: SharedSource, offset: u64, len: u64) -> std::result::Result<Self, String> {
        match offset.checked_add(len).filter(|end| *end <= source.len()) {
            Some(_) => Ok(Member {
                source,
                offset,
                len,
                crc32: None,
                stamp: Stamp::default(),
                whole: OnceLock::new(),
            }),
            None => {
                Err(format!("{len} bytes from byte {offset} exceed the bundle of {} bytes", source.len()))
            }
        }
    }

    /// The member with what the bundle records of it.
    pub(super) fn with_record(self, crc32: Option<u32>, stamp: Stamp) -> Self {
        Member { crc32, stamp, ..self }
    }

    /// Time and permissions of its file.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// The CRC-32 that the bundle records, if it was asked for; a tar records none.
    pub fn crc32(&self) -> Option<u32> {
        self.crc32
    }

    /// The offset of the member in the bundle.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    fn check(&self, offset: u64, len: u64) -> Result<()> {
        let available = self.len.saturating_sub(offset);
        if len > available {
            return Err(nc3z_format::Error::truncated(
                "member of a bundle",
                offset,
                "read",
                len - available,
                available,
            )
            .into());
        }
        Ok(())
    }

    /// All bytes of a small member. None for other members.
    fn whole(&self) -> Result<Option<&Bytes>> {
        if self.len > SMALL || !self.source.reach().fetches_ahead() {
            return Ok(None);
        }
        if let Some(whole) = self.whole.get() {
            return Ok(Some(whole));
        }
        let len = usize::try_from(self.len).unwrap_or(usize::MAX);
        let read = self.source.read_at(self.offset, len)?;
        Ok(Some(self.whole.get_or_init(|| read)))
    }

    /// Returns the bytes from `offset` on, which are inside the member, if it is small.
    fn in_memory(&self, offset: u64, len: usize) -> Result<Option<Bytes>> {
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        Ok(self.whole()?.map(|whole| whole.slice(at..at + len)))
    }

    fn checked(&self, range: &Range<u64>) -> Result<()> {
        self.check(range.start, range.end.saturating_sub(range.start))
    }
}

impl ByteSource for Member {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.check(offset, buf.len() as u64)?;
        match self.in_memory(offset, buf.len())? {
            Some(bytes) => buf.copy_from_slice(&bytes),
            None => self.source.read_into(self.offset + offset, buf)?,
        }
        Ok(())
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.check(offset, len as u64)?;
        self.in_memory(offset, len)?.map_or_else(|| self.source.read_at(self.offset + offset, len), Ok)
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        ranges.iter().try_for_each(|range| self.checked(range))?;
        if let Some(whole) = self.whole()? {
            let at = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
            return Ok(ranges.iter().map(|r| whole.slice(at(r.start)..at(r.end.max(r.start)))).collect());
        }
        let moved: Vec<Range<u64>> =
            ranges.iter().map(|r| self.offset + r.start..self.offset + r.end.max(r.start)).collect();
        self.source.read_ranges(&moved)
    }

    fn reach(&self) -> Reach {
        self.source.reach()
    }

    fn lends(&self) -> bool {
        self.source.lends()
    }

    fn holds(&self, range: &Range<u64>) -> bool {
        self.whole.get().is_some()
            || range.end <= self.len
                && self.source.holds(&(self.offset + range.start..self.offset + range.end))
    }

    fn identity(&self) -> Option<Arc<str>> {
        self.source.identity()
    }
}

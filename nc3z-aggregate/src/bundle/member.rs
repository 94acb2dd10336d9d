//! A range of a byte source as a byte source of its own.

use bytes::Bytes;
use nc3z_reader::source::{ByteSource, Reach, SharedSource};
use nc3z_reader::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// A member of a bundle.
pub struct Member {
    source: SharedSource,
    offset: u64,
    len: u64,
}

impl Member {
    /// The bytes from `offset` on.
    pub(super) fn new(source: SharedSource, offset: u64, len: u64) -> std::result::Result<Self, String> {
        match offset.checked_add(len).filter(|end| *end <= source.len()) {
            Some(_) => Ok(Member { source, offset, len }),
            None => {
                Err(format!("{len} bytes from {offset} on do not lie in a bundle of {} bytes", source.len()))
            }
        }
    }

    /// Where it begins in the bundle.
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
}

impl ByteSource for Member {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.check(offset, buf.len() as u64)?;
        self.source.read_into(self.offset + offset, buf)
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.check(offset, len as u64)?;
        self.source.read_at(self.offset + offset, len)
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let moved = ranges.iter().map(|r| {
            self.check(r.start, r.end.saturating_sub(r.start))?;
            Ok::<_, Error>(self.offset + r.start..self.offset + r.end)
        });
        self.source.read_ranges(&moved.collect::<Result<Vec<_>>>()?)
    }

    fn reach(&self) -> Reach {
        self.source.reach()
    }

    fn identity(&self) -> Option<Arc<str>> {
        self.source.identity()
    }
}

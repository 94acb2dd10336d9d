//! A source that lost its beginning, seen as if it still had its old offsets.

use super::{ByteSource, Reach, SharedSource, check_range};
use crate::error::{Error, Result};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// `missing` bytes that are gone, then the source. Reading what is gone is an error.
pub(crate) struct TruncatedSource {
    source: SharedSource,
    missing: u64,
}

impl TruncatedSource {
    /// `missing` and the source's length together must fit 64 bits.
    pub(crate) fn new(source: SharedSource, missing: u64) -> Self {
        TruncatedSource { source, missing }
    }

    /// The offset in the source, for a range that does not touch what is gone.
    fn inside(&self, offset: u64, len: usize) -> Result<u64> {
        check_range(self.len(), offset, len)?;
        offset.checked_sub(self.missing).ok_or_else(|| {
            let what = format!("the first {} bytes of the archive are missing", self.missing);
            let gone = std::io::Error::new(std::io::ErrorKind::UnexpectedEof, what);
            Error::io("read", None, gone)
        })
    }
}

impl ByteSource for TruncatedSource {
    fn len(&self) -> u64 {
        self.missing + self.source.len()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.source.read_into(self.inside(offset, buf.len())?, buf)
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.source.read_at(self.inside(offset, len)?, len)
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let inside = |range: &Range<u64>| {
            let len = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
            let start = self.inside(range.start, len)?;
            Ok(start..start + len as u64)
        };
        self.source.read_ranges(&ranges.iter().map(inside).collect::<Result<Vec<_>>>()?)
    }

    fn reach(&self) -> Reach {
        self.source.reach()
    }

    fn identity(&self) -> Option<Arc<str>> {
        self.source.identity()
    }
}

//! A source that lost its beginning, seen as if it still had its old offsets.

use super::{ByteSource, SharedSource, check_range};
use crate::error::{Error, Result};
use bytes::Bytes;

/// `missing` bytes that are gone, then the source. Reading what is gone is an error.
pub(crate) struct WithoutBeginning {
    source: SharedSource,
    missing: u64,
}

impl WithoutBeginning {
    /// `missing` and the source's length together must fit 64 bits.
    pub(crate) fn new(source: SharedSource, missing: u64) -> Self {
        WithoutBeginning { source, missing }
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

impl ByteSource for WithoutBeginning {
    fn len(&self) -> u64 {
        self.missing + self.source.len()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.source.read_into(self.inside(offset, buf.len())?, buf)
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.source.read_at(self.inside(offset, len)?, len)
    }
}

//! Bytes in memory as a source: tests, small remote files.

use super::{ByteSource, check_range};
use crate::error::Result;
use bytes::Bytes;

/// Bytes in memory.
#[derive(Debug, Clone)]
pub struct MemorySource(Bytes);

impl MemorySource {
    /// Takes the bytes.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        MemorySource(bytes.into())
    }
}

impl ByteSource for MemorySource {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        buf.copy_from_slice(&self.read_at(offset, buf.len())?);
        Ok(())
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        check_range(self.len(), offset, len)?;
        let at = usize::try_from(offset).expect("check_range: the offset is inside memory");
        Ok(self.0.slice(at..at + len))
    }

    fn lends(&self) -> bool {
        true
    }
}

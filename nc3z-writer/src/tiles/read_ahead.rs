//! Forward reads, through a buffer if they are small.

use crate::error::Result;
use nc3z_reader::source::ByteSource;

/// Reads of fewer bytes than this go through a buffer.
const READ_AHEAD: usize = 256 << 10;

/// [`ReadAhead::read`] or [`ReadAhead::read_here`].
pub(crate) type Read<'a> = fn(&mut ReadAhead<'a>, u64, &mut [u8]) -> Result<()>;

pub(crate) struct ReadAhead<'a> {
    source: &'a dyn ByteSource,
    begin: u64,
    buffer: Vec<u8>,
}

impl<'a> ReadAhead<'a> {
    pub(crate) fn new(source: &'a dyn ByteSource) -> Self {
        ReadAhead { source, begin: 0, buffer: Vec::new() }
    }

    /// Reads bytes that nearby reads will follow.
    pub(crate) fn read(&mut self, offset: u64, out: &mut [u8]) -> Result<()> {
        if out.len() >= READ_AHEAD {
            return Ok(self.source.read_into(offset, out)?);
        }
        let end = offset + out.len() as u64;
        if offset < self.begin || end > self.begin + self.buffer.len() as u64 {
            let len = (self.source.len().saturating_sub(offset)).min(READ_AHEAD as u64);
            let len = usize::try_from(len).expect("at most READ_AHEAD").max(out.len());
            self.buffer.resize(len, 0);
            self.begin = offset;
            if let Err(e) = self.source.read_into(offset, &mut self.buffer) {
                self.buffer.clear();
                return Err(e.into());
            }
        }
        let at = usize::try_from(offset - self.begin).expect("inside the buffer");
        out.copy_from_slice(&self.buffer[at..at + out.len()]);
        Ok(())
    }

    /// Reads bytes without nearby reads.
    pub(crate) fn read_here(&mut self, offset: u64, out: &mut [u8]) -> Result<()> {
        Ok(self.source.read_into(offset, out)?)
    }
}

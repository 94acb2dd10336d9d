//! Appends bytes one after another and records their offset.

use crate::error::{Error, Result};
use nc3z_format::archive::align8;
use std::io::Write;
use std::path::Path;

/// A sink that knows its present offset.
pub(super) struct Sink<'a, W> {
    out: W,
    path: &'a Path,
    offset: u64,
}

impl<'a, W: Write> Sink<'a, W> {
    /// The first byte is written at `offset` of the archive; `path` is for messages.
    pub(super) fn new(out: W, path: &'a Path, offset: u64) -> Self {
        Sink { out, path, offset }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| Error::io("write", self.path, e))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Writes zeros up to the next multiple of 8; returns the offset there.
    pub(super) fn align(&mut self) -> Result<u64> {
        let gap = usize::try_from(align8(self.offset) - self.offset).expect("less than 8");
        self.write(&[0; 8][..gap])?;
        Ok(self.offset)
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(|e| Error::io("write", self.path, e))
    }
}

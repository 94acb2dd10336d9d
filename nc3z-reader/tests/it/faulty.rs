//! Byte sources that fail as disks do.

use bytes::Bytes;
use nc3z_reader::source::ByteSource;
use nc3z_reader::{Error, Result};
use std::ops::Range;

/// Bytes some of which cannot be read.
pub(crate) struct Faulty {
    pub(crate) bytes: Vec<u8>,
    /// Reading any of these fails.
    pub(crate) bad: Range<u64>,
}

impl ByteSource for Faulty {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let end = offset + buf.len() as u64;
        if end > self.len() {
            let short = std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "a short read");
            return Err(Error::io("read", None, short));
        }
        if self.bad.start < end && offset < self.bad.end {
            // EIO.
            return Err(Error::io("read", None, std::io::Error::from_raw_os_error(5)));
        }
        let at = usize::try_from(offset).unwrap();
        buf.copy_from_slice(&self.bytes[at..at + buf.len()]);
        Ok(())
    }
}

/// Bytes with one bit turned, without a copy of them: who turns bits of an archive one after the other would otherwise copy it each time,
/// which takes ten times as long as checking it.
pub(crate) struct Flipped {
    pub(crate) bytes: Bytes,
    pub(crate) at: u64,
    pub(crate) bit: u8,
}

impl ByteSource for Flipped {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let begin = usize::try_from(offset).unwrap_or(usize::MAX);
        let whole = begin.checked_add(buf.len()).and_then(|end| self.bytes.get(begin..end));
        let Some(whole) = whole else {
            let short = std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "a short read");
            return Err(Error::io("read", None, short));
        };
        buf.copy_from_slice(whole);
        let inside = self.at.checked_sub(offset).and_then(|at| usize::try_from(at).ok());
        if let Some(byte) = inside.and_then(|at| buf.get_mut(at)) {
            *byte ^= 1 << self.bit;
        }
        Ok(())
    }
}

//! A byte source that fails as disks do.

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

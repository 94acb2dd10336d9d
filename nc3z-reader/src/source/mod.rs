//! Byte sources: anything that answers "how long are you" and "give me this range".
//!
//! Readers are written against [`ByteSource`] alone, so that a map, a file and memory (and later an object store)
//! are one thing to them.

mod file;
mod memory;
mod mmap;
mod original;
pub(crate) mod soft;
pub(crate) mod view;

pub use file::FileSource;
pub use memory::MemorySource;
pub use mmap::MmapSource;
pub use original::OriginalSource;

use crate::error::{Error, Result};
use bytes::Bytes;
use std::path::Path;
use std::sync::Arc;

/// A range-readable, immutable sequence of bytes.
pub trait ByteSource: Send + Sync {
    /// Length in bytes, fixed when the source was opened.
    fn len(&self) -> u64;

    /// True where there is nothing.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buf` from `offset`.
    ///
    /// # Errors
    /// A range that leaves the source is corrupt (truncated); the system's refusals are passed on.
    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()>;

    /// The bytes `[offset, offset + len)`; without a copy where the source allows.
    ///
    /// # Errors
    /// As [`ByteSource::read_into`].
    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        check_range(self.len(), offset, len)?;
        let mut buf = vec![0; len];
        self.read_into(offset, &mut buf)?;
        Ok(buf.into())
    }
}

/// A shared byte source.
pub type SharedSource = Arc<dyn ByteSource>;

/// Opens a file as a byte source: mapped, or read by position where `mapped` is false.
///
/// # Errors
/// Whatever the system says of opening or mapping.
pub fn open(path: &Path, mapped: bool) -> Result<SharedSource> {
    if mapped { Ok(Arc::new(MmapSource::open(path)?)) } else { Ok(Arc::new(FileSource::open(path)?)) }
}

/// Refuses a range that leaves the source, before anything is allocated for it.
fn check_range(source_len: u64, offset: u64, len: usize) -> Result<()> {
    let available = source_len.saturating_sub(offset);
    if len as u64 > available {
        return Err(Error::from(nc3z_format::Error::truncated(
            "file",
            offset,
            "read",
            len as u64 - available,
            available,
        )));
    }
    Ok(())
}

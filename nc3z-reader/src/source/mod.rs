//! Byte sources: anything that has a length and returns the bytes of given ranges.
//!
//! Readers use only the trait [`ByteSource`], so that they treat a map, a file, memory and an object store
//! alike. The source describes the cost of requests as a [`Reach`]. Where requests cost nothing, readers
//! request range after range. Where each request costs a round trip, they send few merged requests.

#[cfg(feature = "fs")]
mod advice;
mod ends;
#[cfg(feature = "fs")]
mod file;
pub(crate) mod lenient;
mod memory;
mod merge;
#[cfg(feature = "fs")]
mod mmap;
mod nearby;
mod reach;
#[cfg(feature = "fs")]
mod regular;
pub(crate) mod short;
mod slotless;
pub(crate) mod truncated;

pub use ends::EndsSource;
#[cfg(feature = "fs")]
pub use file::{FileSource, Stamp};
pub use memory::MemorySource;
#[cfg(feature = "fs")]
pub use mmap::MmapSource;
pub(crate) use nearby::{Nearby, NearbySource};
pub use reach::Reach;
#[cfg(feature = "fs")]
pub use regular::{open_regular, special_name};
pub(crate) use slotless::SlotlessSource;
pub use slotless::clear_slots;

use crate::error::{Error, Result};
use bytes::Bytes;
use std::ops::Range;
#[cfg(feature = "fs")]
use std::path::Path;
use std::sync::Arc;

/// A range-readable, immutable sequence of bytes.
///
/// A new kind of source implements `len` and `read_into`; one that pays for each request implements [`ByteSource::read_ranges`]
/// and [`ByteSource::reach`] too, and one whose bytes others can replace, [`ByteSource::identity`].
///
/// ```
/// use nc3z_reader::source::{ByteSource, MemorySource};
/// let source = MemorySource::new(vec![1, 2, 3, 4, 5]);
/// let parts = source.read_ranges(&[0..2, 4..5])?;
/// assert_eq!((&parts[0][..], &parts[1][..]), (&[1, 2][..], &[5][..]));
/// # Ok::<(), nc3z_reader::Error>(())
/// ```
pub trait ByteSource: Send + Sync {
    /// Length in bytes, fixed when the source was opened.
    fn len(&self) -> u64;

    /// The present length. It differs from [`ByteSource::len`] where others appended since the source was
    /// opened.
    fn current_len(&self) -> u64 {
        self.len()
    }

    /// Checks that the bytes are those that the source was opened with, as far as the system tells: a file's length and modification
    /// time are unchanged. An archive's bytes have checksums; whoever reads a classic file to its end calls this.
    ///
    /// # Errors
    /// The file was written to.
    fn check_unchanged(&self) -> Result<()> {
        Ok(())
    }

    /// Returns true if the source has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The length in bytes of the stored file. An archive in the short form is read as the long form and has
    /// fewer stored bytes.
    fn stored_len(&self) -> u64 {
        self.len()
    }

    /// Fills `buf` from `offset`.
    ///
    /// # Errors
    /// A range that leaves the source is corrupt (truncated). Errors of the operating system are passed on.
    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()>;

    /// The bytes `[offset, offset + len)`, without a copy where the source allows this.
    ///
    /// # Errors
    /// As [`ByteSource::read_into`].
    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        check_range(self.len(), offset, len)?;
        let mut buf = vec![0; len];
        self.read_into(offset, &mut buf)?;
        Ok(buf.into())
    }

    /// The bytes of each range, in the order of `ranges`. Readers first merge ranges as [`ByteSource::reach`]
    /// describes. A remote source sends as many requests at once as its `reach` gives.
    ///
    /// # Errors
    /// As [`ByteSource::read_into`]. If one range cannot be read, the call fails.
    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        ranges.iter().map(|range| read_range(self, range)).collect()
    }

    /// The cost of requests to this source. The default is the cost of local files.
    fn reach(&self) -> Reach {
        Reach::LOCAL
    }

    /// Returns true if these bytes are in memory already, so that reading them costs nothing. Readers then do
    /// not fetch them with others.
    fn holds(&self, _range: &Range<u64>) -> bool {
        false
    }

    /// Returns true if [`ByteSource::read_at`] returns bytes in memory without a copy. Readers then convert
    /// them in place.
    fn lends(&self) -> bool {
        false
    }

    /// Distinguishes these bytes from others under the same name: an entity tag, a version. The identity is
    /// that of the time of opening. A source that finds another object in its place fails with
    /// [`Error::replaced`], and never mixes the bytes of two objects.
    fn identity(&self) -> Option<Arc<str>> {
        None
    }

    /// About `head` first and `tail` last bytes. If the source is no longer than both together, the first
    /// part has all its bytes. A source that already has some of these bytes, for example because it had to
    /// read them to learn its length, returns those.
    ///
    /// # Errors
    /// As [`ByteSource::read_into`].
    fn ends(&self, head: u64, tail: u64) -> Result<(Bytes, Bytes)> {
        let len = self.len();
        if head.saturating_add(tail) >= len {
            return Ok((read_range(self, &(0..len))?, Bytes::new()));
        }
        let mut both = self.read_ranges(&[0..head, len - tail..len])?;
        match (both.pop(), both.pop(), both.pop()) {
            (Some(tail), Some(head), None) => Ok((head, tail)),
            _ => Err(answers(2, both.len())),
        }
    }
}

fn read_range<S: ByteSource + ?Sized>(source: &S, range: &Range<u64>) -> Result<Bytes> {
    let len = range.end.saturating_sub(range.start);
    let len = usize::try_from(len).map_err(|_| beyond(source.len(), range.start, len))?;
    source.read_at(range.start, len)
}

/// The error for a source that returned another number of ranges than requested.
pub(crate) fn answers(asked: usize, given: usize) -> Error {
    let what = format!("the source gave {given} ranges where {asked} were asked for");
    Error::io("read ranges of", None, std::io::Error::other(what))
}

/// A shared byte source.
pub type SharedSource = Arc<dyn ByteSource>;

/// Opens a file as a byte source: mapped, or read by position where `mapped` is false.
///
/// # Errors
/// The error of the operating system from opening or mapping the file.
#[cfg(feature = "fs")]
pub fn open(path: &Path, mapped: bool) -> Result<SharedSource> {
    if mapped { Ok(Arc::new(MmapSource::open(path)?)) } else { Ok(Arc::new(FileSource::open(path)?)) }
}

/// Refuses a range that leaves the source, before anything is allocated for it.
pub(crate) fn check_range(source_len: u64, offset: u64, len: usize) -> Result<()> {
    let available = source_len.saturating_sub(offset);
    if len as u64 > available {
        return Err(beyond(source_len, offset, len as u64));
    }
    Ok(())
}

fn beyond(source_len: u64, offset: u64, len: u64) -> Error {
    let available = source_len.saturating_sub(offset);
    let missing = len.saturating_sub(available);
    nc3z_format::Error::truncated("file", offset, "read", missing, available).into()
}

//! A small archive in the short form, read as the equivalent long form (`spec/archive.md`, section 12).

use super::{ByteSource, MemorySource, SharedSource};
use crate::error::{Error, Result};
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::Superblock;
use nc3z_format::archive::short::{self, Expanded, Outside};
use std::ops::Range;
use std::sync::Arc;

/// The first bytes show whether a file is an archive in the short form.
const START: usize = 10;

/// Facts about the stored file of an archive in the short form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShortFacts {
    /// Length of the file in bytes.
    pub(crate) stored_len: u64,
    /// Bytes that are missing at the end of the file.
    pub(crate) missing: u64,
    /// Bytes after the end of the archive.
    pub(crate) extra: u64,
    directory_end: u64,
    outside: Arc<[Outside]>,
    is_whole: bool,
}

impl ShortFacts {
    /// The bytes of the file from which these bytes of the long form are made.
    pub(crate) fn in_file(&self, long: &Range<u64>) -> Range<u64> {
        if long.is_empty() {
            return long.clone();
        }
        let outside = self.outside.iter().find(|o| o.long.contains(&long.start));
        outside.map_or(0..self.directory_end, |o| o.stored.clone())
    }

    /// The stored bytes for `bytes` bytes of the original, in proportion. `None` unless the file is
    /// compressed as a whole.
    pub(crate) fn share(&self, bytes: u64, original_len: u64) -> Option<u64> {
        let share = u128::from(self.directory_end) * u128::from(bytes) / u128::from(original_len.max(1));
        u64::try_from(share).ok().filter(|_| self.is_whole)
    }

    /// The error for a file that ends early.
    pub(crate) fn missing(&self) -> Option<Error> {
        let truncated = || FormatError::truncated("archive", self.stored_len, "payload", self.missing, 0);
        (self.missing > 0).then(|| truncated().into())
    }
}

/// The long form, in memory.
struct ShortSource {
    long: MemorySource,
    facts: ShortFacts,
    identity: Option<Arc<str>>,
}

/// Returns the source unchanged. If it is an archive in the short form, returns its long form and the facts
/// about it.
///
/// # Errors
/// The source cannot be read; an archive in the short form whose prefix or directory is damaged.
pub(crate) fn expanded(source: &SharedSource) -> Result<(SharedSource, Option<ShortFacts>)> {
    let len = source.len();
    let mut start = [0; START];
    if len < START as u64 {
        return Ok((Arc::clone(source), None));
    }
    // A read error here is ignored: the reader of these bytes reports it.
    if source.read_into(0, &mut start).is_err() || !short::is_short(&start) {
        return Ok((Arc::clone(source), None));
    }
    // Bytes after the longest possible short form are not part of it.
    let most = len.min(short::SHORT_LEN as u64);
    let stored = source.read_at(0, usize::try_from(most).expect("64 KiB"))?;
    let expanded = short::expand(&stored);
    if expanded.is_err() && stored.first_chunk().is_some_and(Superblock::is_version_damaged) {
        return Ok((Arc::clone(source), None));
    }
    let Expanded { bytes, missing, extra, directory_end, outside } = expanded?;
    let (outside, is_whole, extra) = (outside.into(), short::is_whole(&start), extra + (len - most));
    let facts = ShortFacts { stored_len: len, missing, extra, directory_end, outside, is_whole };
    let long =
        ShortSource { long: MemorySource::new(bytes), facts: facts.clone(), identity: source.identity() };
    Ok((Arc::new(long), Some(facts)))
}

impl ByteSource for ShortSource {
    fn len(&self) -> u64 {
        self.long.len()
    }

    fn stored_len(&self) -> u64 {
        self.facts.stored_len
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.long.read_into(offset, buf)
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.long.read_at(offset, len)
    }

    fn identity(&self) -> Option<Arc<str>> {
        self.identity.clone()
    }
}

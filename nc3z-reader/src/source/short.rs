//! A small archive in the short form, as the long one that it stands for (`spec/archive.md`, section 12).

use super::{ByteSource, MemorySource, SharedSource};
use crate::error::Result;
use bytes::Bytes;
use nc3z_format::archive::short::{self, Expanded, Outside};
use std::ops::Range;
use std::sync::Arc;

/// Bytes that tell whether a file is an archive in the short form.
const START: usize = 10;

/// What the file of an archive in the short form has too few or too many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShortFacts {
    /// Bytes of the file.
    pub(crate) stored_len: u64,
    /// Bytes that it lacks at its end.
    pub(crate) missing: u64,
    /// Bytes behind its end.
    pub(crate) extra: u64,
    directory_end: u64,
    outside: Arc<[Outside]>,
}

impl ShortFacts {
    /// The bytes of the file that bytes of the long form come of.
    pub(crate) fn in_file(&self, long: &Range<u64>) -> Range<u64> {
        if long.is_empty() {
            return long.clone();
        }
        let outside = self.outside.iter().find(|o| o.long.contains(&long.start));
        outside.map_or(0..self.directory_end, |o| o.stored.clone())
    }

    /// The bytes of the file that a block of the long form, of `long_len` bytes, takes: its payload's, or its share of what is packed as one.
    pub(crate) fn charge(&self, block: &Range<u64>, long_len: u64) -> u64 {
        if let Some(outside) = self.outside.iter().find(|o| o.long.contains(&block.start)) {
            return outside.stored.end - outside.stored.start;
        }
        let outside: u64 = self.outside.iter().map(|o| o.long.end - o.long.start).sum();
        let packed = u128::from(long_len.saturating_sub(outside).max(1));
        let share = u128::from(self.directory_end) * u128::from(block.end - block.start) / packed;
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

/// The long form, in memory.
struct ShortSource {
    long: MemorySource,
    facts: ShortFacts,
    identity: Option<Arc<str>>,
}

/// The source as it is, or, where it is an archive in the short form, as the long one; and what is to be told of it then.
///
/// # Errors
/// The source cannot be read; an archive in the short form whose prefix or directory is damaged.
pub(crate) fn expanded(source: &SharedSource) -> Result<(SharedSource, Option<ShortFacts>)> {
    let len = source.len();
    let mut start = [0; START];
    if len < START as u64 {
        return Ok((Arc::clone(source), None));
    }
    // What cannot be read here is told by who reads what stands here.
    if source.read_into(0, &mut start).is_err() || !short::is_short(&start) {
        return Ok((Arc::clone(source), None));
    }
    // One byte more than there may be is refused by its length.
    let most = len.min(short::SHORT_LEN as u64 + 1);
    let stored = source.read_at(0, usize::try_from(most).expect("64 KiB"))?;
    let Expanded { bytes, missing, extra, directory_end, outside } = short::expand(&stored)?;
    let facts = ShortFacts { stored_len: len, missing, extra, directory_end, outside: outside.into() };
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

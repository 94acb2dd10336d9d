//! A small archive in the short form, as the long one that it stands for (`spec/archive.md`, section 12).

use super::{ByteSource, MemorySource, SharedSource};
use crate::error::Result;
use bytes::Bytes;
use nc3z_format::archive::short::{self, Expanded};
use std::sync::Arc;

/// Bytes that tell whether a file is an archive in the short form.
const START: usize = 10;

/// What the file of an archive in the short form has too few or too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShortFacts {
    /// Bytes of the file.
    pub(crate) stored_len: u64,
    /// Bytes that it lacks at its end.
    pub(crate) missing: u64,
    /// Bytes behind its end.
    pub(crate) extra: u64,
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
    let Expanded { bytes, missing, extra } = short::expand(&stored)?;
    let facts = ShortFacts { stored_len: len, missing, extra };
    let long = ShortSource { long: MemorySource::new(bytes), facts, identity: source.identity() };
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

//! A source whose first and last bytes are in memory. Opening an archive reads mainly these bytes.

use super::{ByteSource, Reach, SharedSource};
use crate::error::Result;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// The first and last bytes of a source, in memory, and the source. Reads inside these bytes make no request.
///
/// Opening wraps every source in an `EndsSource`. A caller that already has the first and last bytes can make
/// one too. Opening then requests nothing inside them:
///
/// ```
/// use nc3z_reader::source::{ByteSource, EndsSource, MemorySource};
/// use std::sync::Arc;
/// let bytes: Vec<u8> = (0..100).collect();
/// let tail = bytes[90..].to_vec();
/// let source = EndsSource::new(Arc::new(MemorySource::new(bytes)), Vec::new().into(), tail.into());
/// assert_eq!(source.read_at(95, 2)?[..], [95, 96]);
/// # Ok::<(), nc3z_reader::Error>(())
/// ```
pub struct EndsSource {
    source: SharedSource,
    head: Bytes,
    /// Ends where the source ends.
    tail: Bytes,
}

impl EndsSource {
    /// `head` are the source's first bytes, `tail` its last. A part that is longer than the source is not
    /// used.
    pub fn new(source: SharedSource, head: Bytes, tail: Bytes) -> Self {
        let fits = |bytes: Bytes| if bytes.len() as u64 <= source.len() { bytes } else { Bytes::new() };
        let (head, tail) = (fits(head), fits(tail));
        EndsSource { source, head, tail }
    }

    /// Reads both ends, as much as the source suggests.
    ///
    /// # Errors
    /// The error of the source.
    pub fn read(source: SharedSource) -> Result<Self> {
        let Reach { head_len, tail_len, .. } = source.reach();
        let (head, tail) = source.ends(head_len, tail_len)?;
        Ok(Self::new(source, head, tail))
    }

    /// Returns the bytes if one of the ends contains them.
    fn held(&self, offset: u64, len: usize) -> Option<Bytes> {
        let within = |bytes: &Bytes, begin: u64| {
            let from = usize::try_from(offset.checked_sub(begin)?).ok()?;
            let end = from.checked_add(len).filter(|end| *end <= bytes.len())?;
            Some(bytes.slice(from..end))
        };
        within(&self.head, 0).or_else(|| within(&self.tail, self.len() - self.tail.len() as u64))
    }
}

impl ByteSource for EndsSource {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn current_len(&self) -> u64 {
        self.source.current_len()
    }

    fn stored_len(&self) -> u64 {
        self.source.stored_len()
    }

    fn check_unchanged(&self) -> Result<()> {
        self.source.check_unchanged()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        match self.held(offset, buf.len()) {
            Some(bytes) => buf.copy_from_slice(&bytes),
            None => self.source.read_into(offset, buf)?,
        }
        Ok(())
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.held(offset, len).map_or_else(|| self.source.read_at(offset, len), Ok)
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let held = |range: &Range<u64>| {
            let len = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
            self.held(range.start, len)
        };
        let mut found: Vec<Option<Bytes>> = ranges.iter().map(held).collect();
        let missing: Vec<Range<u64>> =
            ranges.iter().zip(&found).filter(|(_, f)| f.is_none()).map(|(r, _)| r.clone()).collect();
        if !missing.is_empty() {
            let read = self.source.read_ranges(&missing)?;
            if read.len() != missing.len() {
                return Err(super::answers(missing.len(), read.len()));
            }
            found.iter_mut().filter(|f| f.is_none()).zip(read).for_each(|(f, bytes)| *f = Some(bytes));
        }
        Ok(found.into_iter().flatten().collect())
    }

    fn reach(&self) -> Reach {
        self.source.reach()
    }

    fn holds(&self, range: &Range<u64>) -> bool {
        let len = range.end.checked_sub(range.start).and_then(|len| usize::try_from(len).ok());
        len.is_some_and(|len| self.held(range.start, len).is_some()) || self.source.holds(range)
    }

    fn lends(&self) -> bool {
        self.source.lends()
    }

    fn identity(&self) -> Option<Arc<str>> {
        self.source.identity()
    }

    fn ends(&self, head: u64, tail: u64) -> Result<(Bytes, Bytes)> {
        if self.tail.is_empty() && (self.head.len() as u64) < self.len() {
            return self.source.ends(head, tail);
        }
        Ok((self.head.clone(), self.tail.clone()))
    }
}

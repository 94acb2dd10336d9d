//! Reads as much as possible: where a disk refuses a part of a range, the remaining bytes of the range are
//! still read.

use super::{ByteSource, check_range};
use crate::error::Result;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Bytes that are given up at a time: a sector of today's disks.
const SECTOR: u64 = 4096;

/// A source whose unreadable sectors are recorded and read as zeros.
pub(crate) struct Lenient<'a> {
    source: &'a dyn ByteSource,
    unreadable: Mutex<Vec<Range<u64>>>,
}

impl<'a> Lenient<'a> {
    pub(crate) fn new(source: &'a dyn ByteSource) -> Self {
        Lenient { source, unreadable: Mutex::new(Vec::new()) }
    }

    /// Fills `buf` from `offset`. Unreadable bytes are zero. The range must be inside the source.
    pub(crate) fn read(&self, offset: u64, buf: &mut [u8]) {
        if self.source.read_into(offset, buf).is_ok() {
            return;
        }
        let (mut at, mut rest) = (offset, buf);
        while !rest.is_empty() {
            let room = SECTOR - at % SECTOR;
            let take = usize::try_from(room).map_or(rest.len(), |n| n.min(rest.len()));
            let (here, after) = rest.split_at_mut(take);
            if self.source.read_into(at, here).is_err() {
                here.fill(0);
                self.note(at..at + take as u64);
            }
            at += take as u64;
            rest = after;
        }
    }

    /// Records a range. Adjacent ranges become one.
    fn note(&self, range: Range<u64>) {
        let mut all = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        match all.last_mut() {
            Some(last) if last.start <= range.start && range.start <= last.end => {
                last.end = last.end.max(range.end);
            }
            _ => all.push(range),
        }
    }

    /// The unreadable ranges, in the order in which they were found.
    pub(crate) fn unreadable(self) -> Vec<Range<u64>> {
        self.unreadable.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ByteSource for Lenient<'_> {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn current_len(&self) -> u64 {
        self.source.current_len()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        check_range(self.len(), offset, buf.len())?;
        self.read(offset, buf);
        Ok(())
    }
}

//! A source as parity covers it: its commit slots, which every commit overwrites, are zeros.

use super::{ByteSource, Reach, SharedSource};
use crate::error::Result;
use crate::newest::SLOTS;
use bytes::Bytes;
use std::sync::Arc;

/// A source whose commit slots read as zeros.
pub(crate) struct SlotlessSource(pub(crate) SharedSource);

/// Zeros for the bytes of the commit slots in a range that begins at `offset`.
pub fn clear_slots(offset: u64, bytes: &mut [u8]) {
    let within = |place: u64| {
        usize::try_from(place.saturating_sub(offset)).map_or(bytes.len(), |at| at.min(bytes.len()))
    };
    let (from, to) = (within(SLOTS.start), within(SLOTS.end));
    bytes[from..to].fill(0);
}

impl ByteSource for SlotlessSource {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn current_len(&self) -> u64 {
        self.0.current_len()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.0.read_into(offset, buf)?;
        clear_slots(offset, buf);
        Ok(())
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        let bytes = self.0.read_at(offset, len)?;
        if offset >= SLOTS.end || offset.saturating_add(len as u64) <= SLOTS.start {
            return Ok(bytes);
        }
        let mut bytes = bytes.to_vec();
        clear_slots(offset, &mut bytes);
        Ok(bytes.into())
    }

    fn reach(&self) -> Reach {
        self.0.reach()
    }

    fn identity(&self) -> Option<Arc<str>> {
        self.0.identity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::MemorySource;

    #[test]
    fn the_slots_alone_are_zeros() {
        let source = SlotlessSource(Arc::new(MemorySource::new(vec![1; 200])));
        for offset in [0, 100, 111, 112, 130, 159, 160, 170] {
            for len in [0, 1, 12, 30] {
                let expected: Vec<u8> =
                    (offset..offset + len as u64).map(|at| u8::from(!SLOTS.contains(&at))).collect();
                assert_eq!(&source.read_at(offset, len).unwrap()[..], expected, "{offset} {len}");
                let mut bytes = vec![9; len];
                source.read_into(offset, &mut bytes).unwrap();
                assert_eq!(bytes, expected, "{offset} {len}");
            }
        }
    }
}

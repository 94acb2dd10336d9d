//! Patterns to integers where no fit is needed, and exceptions.

use super::bits::put_varint;
use super::frame::{self, Compressor};
use crate::encode::Runs;
use crate::error::Result;
use crate::transform::Transform;
use crate::word::{Word, low8};

/// Low bits that are zero in all valid patterns.
pub(crate) fn common_zeros<W: Word>(elements: &[W], runs: &Runs) -> u32 {
    let any = runs.list.iter().flat_map(|r| &elements[r.clone()]).fold(W::default(), |a, &e| a.or(e));
    if any == W::default() { 0 } else { any.to_u64().trailing_zeros() }
}

/// Exceptions: positions ascending on the grid, and what to add to the mapped key there.
#[derive(Debug, Default)]
pub(crate) struct Exceptions<W> {
    pub(crate) list: Vec<(usize, W)>,
}

impl<W: Word> Exceptions<W> {
    /// Appends the part: count, position gaps, zigzag differences.
    pub(crate) fn put(&self, level: i32, zstd: &mut Compressor, out: &mut Vec<u8>) -> Result<()> {
        let mut content = Vec::with_capacity(3 * self.list.len() + 8);
        put_varint(&mut content, self.list.len() as u64);
        let mut next = 0;
        for &(at, _) in &self.list {
            put_varint(&mut content, (at - next) as u64);
            next = at + 1;
        }
        for &(_, difference) in &self.list {
            put_varint(&mut content, difference.zigzag().to_u64());
        }
        frame::put_bytes(&content, level, zstd, out)
    }
}

impl Transform {
    /// Its number in a payload.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Transform::Ordered => 0,
            Transform::Trim(_) => 1,
            Transform::ScaleOffset(_) => 2,
            Transform::Dictionary => 3,
        }
    }

    /// Appends the transform part, if there is one.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Transform::Ordered | Transform::Dictionary => {}
            Transform::Trim(k) => out.push(low8(u64::from(*k))),
            Transform::ScaleOffset(segments) => segments.put(out),
        }
    }
}

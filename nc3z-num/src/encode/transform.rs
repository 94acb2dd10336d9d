//! The encoder's part of transforms: their storage.

use crate::encode::Runs;
use crate::transform::Transform;
use crate::word::{Word, low8};

/// Returns the number of low bits that are zero in all valid patterns.
pub(crate) fn common_zeros<W: Word>(elements: &[W], runs: &Runs) -> u32 {
    let any = runs.list.iter().flat_map(|r| &elements[r.clone()]).fold(W::default(), |a, &e| a.or(e));
    if any == W::default() { 0 } else { any.to_u64().trailing_zeros() }
}

impl Transform {
    /// Returns its number in a payload.
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

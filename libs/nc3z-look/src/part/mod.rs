//! Exports parts of a data set: as a classic file, CSV, or plain numbers. Each is made piece by piece.
//!
//! A failed call of `next_piece` can be repeated: a reader whose bytes are still being fetched continues
//! where it stopped.

mod contents;
mod export;
mod header;
mod subset;
mod text;

pub use contents::{Contents, SubsetRequest};
pub use export::{Csv, Doubles};
pub use header::arrangement;
pub use subset::Subset;
pub use text::numbers;

use nc3z_format::Hyperslab;
use nc3z_format::classic::VarId;
use nc3z_reader::{Dataset, Variable};
use std::collections::VecDeque;

/// The length of a piece in bytes: the memory that one part needs.
pub const PIECE_LEN: u64 = 1 << 20;

/// A variable and the requested part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection {
    /// The number of the variable.
    pub variable: VarId,
    /// The selection along all dimensions of the variable, including the last one of text.
    pub slab: Hyperslab,
}

/// The reason why a part is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// The request is invalid.
    #[error("{0}")]
    Refused(String),
    /// The part is longer than the caller allows.
    #[error("the part would have {len} bytes, and at most {limit} are allowed; ask for less")]
    TooLong {
        /// Bytes of the part.
        len: u64,
        /// The most that is allowed.
        limit: u64,
    },
    /// The values cannot be read.
    #[error(transparent)]
    Read(#[from] nc3z_reader::Error),
}

impl From<crate::print::Error> for PartError {
    fn from(e: crate::print::Error) -> Self {
        match e {
            crate::print::Error::Read(e) | crate::print::Error::Coordinates { source: e, .. } => e.into(),
            e => PartError::Refused(e.to_string()),
        }
    }
}

fn variable_of(dataset: &Dataset, part: &Projection) -> Result<Variable, PartError> {
    let missing = || PartError::Refused(format!("no variable number {}", part.variable.index()));
    dataset.variable_at(part.variable).ok_or_else(missing)
}

/// Splits a hyperslab into pieces of at most `elements` elements, in the order of its elements. An empty one has no pieces.
pub fn pieces_of(slab: &Hyperslab, elements: u64) -> VecDeque<Hyperslab> {
    let mut pieces = VecDeque::new();
    if !slab.count.contains(&0) {
        split(slab, elements.max(1), &mut pieces);
    }
    pieces
}

fn split(slab: &Hyperslab, elements: u64, pieces: &mut VecDeque<Hyperslab>) {
    let all: u64 = slab.count.iter().fold(1, |n, count| n.saturating_mul(*count));
    let Some(dim) = slab.count.iter().position(|n| *n > 1).filter(|_| all > elements) else {
        pieces.push_back(slab.clone());
        return;
    };
    let rows = (elements / (all / slab.count[dim]).max(1)).max(1);
    let mut from = 0;
    while from < slab.count[dim] {
        let mut part = slab.clone();
        part.count[dim] = rows.min(slab.count[dim] - from);
        part.start[dim] += from * slab.stride[dim].unsigned_abs();
        split(&part, elements, pieces);
        from += part.count[dim];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_each_other_and_are_all() {
        let slab = Hyperslab::new([1, 2, 0], [4, 3, 5], [2, 1, 3]).unwrap();
        for elements in [1, 4, 5, 7, 15, 16, 60, 100] {
            let pieces = pieces_of(&slab, elements);
            let mut seen = Vec::new();
            for piece in &pieces {
                assert!(piece.count.iter().product::<u64>() <= elements);
                for a in 0..piece.count[0] {
                    for b in 0..piece.count[1] {
                        for c in 0..piece.count[2] {
                            seen.push((piece.start[0] + 2 * a, piece.start[1] + b, piece.start[2] + 3 * c));
                        }
                    }
                }
            }
            assert_eq!(seen.len(), 60);
            assert!(seen.is_sorted(), "{elements}");
        }
        assert!(pieces_of(&Hyperslab::all(&[0, 5]), 3).is_empty());
        assert_eq!(pieces_of(&Hyperslab::all(&[]), 3).len(), 1);
    }
}

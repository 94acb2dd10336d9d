//! Replies in pieces.

use crate::failure::Answer;
use bytes::Bytes;
use nc3z_format::Hyperslab;
use std::collections::VecDeque;
use std::ops::Range;

use crate::site::OpenFile;
use std::sync::Arc;

/// Bytes of a piece: what one reply holds in memory.
pub(crate) const PIECE_LEN: u64 = 1 << 20;

/// A reply that is made while it is sent.
pub(crate) trait Pieces: Send {
    /// The next piece, never empty; nothing at the end. It may block.
    fn next(&mut self) -> Answer<Option<Bytes>>;
}

/// A part of a reply to a request for bytes of a file.
pub(crate) enum Part {
    /// Text between the ranges.
    Text(Bytes),
    /// Bytes of the file.
    Range(Range<u64>),
}

/// Bytes of a file.
pub(crate) struct FileBytes {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) parts: VecDeque<Part>,
}

impl Pieces for FileBytes {
    fn next(&mut self) -> Answer<Option<Bytes>> {
        loop {
            match self.parts.pop_front() {
                None => return Ok(None),
                Some(Part::Text(text)) => return Ok(Some(text)),
                Some(Part::Range(range)) if range.is_empty() => {}
                Some(Part::Range(range)) => {
                    let end = range.end.min(range.start.saturating_add(PIECE_LEN));
                    if end < range.end {
                        self.parts.push_front(Part::Range(end..range.end));
                    }
                    return self.file.read(range.start..end).map(Some);
                }
            }
        }
    }
}

/// Splits a hyperslab into pieces of at most `elements` elements, in the order of its elements. An empty one has no pieces.
pub(crate) fn pieces_of(slab: &Hyperslab, elements: u64) -> VecDeque<Hyperslab> {
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

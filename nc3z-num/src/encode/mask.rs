//! Writes the mask part: the masked positions, as runs.

use super::bits::put_varint;
use super::frame::{self, Compressor};
use super::runs::Runs;
use crate::error::Result;
use crate::geometry::Geometry;
use crate::mask::{pack, stride};
use crate::word::Word;

/// Marks positions without `pattern` by 0xFF; returns their number.
#[multiversion::multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn compare<W: Word>(elements: &[W], pattern: W, valid: &mut [u8]) -> usize {
    let mut total = 0;
    for (e, v) in elements.chunks(128).zip(valid.chunks_mut(128)) {
        let mut masked = 0u8;
        for (x, y) in e.iter().zip(v.iter_mut()) {
            let equal = u8::from(*x == pattern);
            *y = equal.wrapping_sub(1);
            masked += equal;
        }
        total += e.len() - usize::from(masked);
    }
    total
}

/// Finds the valid positions of a tile.
pub(crate) fn find<W: Word>(elements: &[W], pattern: W, valid: &mut Vec<u8>, runs: &mut Runs) {
    valid.clear();
    valid.resize(elements.len(), 0);
    if compare(elements, pattern, valid) == elements.len() {
        runs.all(elements.len());
    } else {
        runs.scan(valid);
    }
}

/// A row of bits, LSB first; those beyond the last are zero.
struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    fn new(valid: &[u8]) -> Self {
        Bits { words: valid.chunks(64).map(pack).collect(), len: valid.len() }
    }

    /// Returns `self[i] xor self[i - by]`, or `self[i]` if there is no `self[i - by]`.
    fn differences(&self, by: usize) -> Self {
        let (skip, shift) = (by / 64, by % 64);
        let before = std::iter::repeat_n(0, skip).chain(self.words.iter().copied());
        let mut carry = 0;
        let mut words: Vec<u64> = self
            .words
            .iter()
            .zip(before)
            .map(|(w, b)| {
                let moved = b << shift | carry;
                carry = if shift > 0 { b >> (64 - shift) } else { 0 };
                w ^ moved
            })
            .collect();
        if let (Some(last), rest @ 1..) = (words.last_mut(), self.len % 64) {
            *last &= u64::MAX >> (64 - rest);
        }
        Bits { words, len: self.len }
    }

    /// Returns the positions where a bit differs from the one before; a zero precedes the first.
    fn changes(&self) -> Self {
        self.differences(1)
    }

    fn ones(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }
}

/// Writes run lengths as varints, alternating, beginning with zeros; `changes` has a one where a run begins.
fn run_lengths(changes: &Bits, out: &mut Vec<u8>) {
    let mut start = 0usize;
    for (at, &word) in (0..).step_by(64).zip(&changes.words) {
        let mut word = word;
        while word != 0 {
            let here = at + word.trailing_zeros() as usize;
            put_varint(out, (here - start) as u64);
            start = here;
            word &= word - 1;
        }
    }
    put_varint(out, (changes.len - start) as u64);
}

/// Appends the part of a partly masked tile. `valid` is the result of [`find`].
pub(crate) fn encode<W: Word>(
    pattern: W,
    valid: &[u8],
    geom: &Geometry,
    level: i32,
    zstd: &mut Compressor,
    out: &mut Vec<u8>,
) -> Result<()> {
    W::put_le(&[pattern], out);
    let plain = Bits::new(valid);
    let strides = (1..3u8)
        .filter_map(|code| Some((code, plain.differences(stride(code, geom, valid.len())?).changes())));
    let alone = (0, plain.changes());
    let fewest = strides.fold(alone, |best, next| if next.1.ones() < best.1.ones() { next } else { best });
    let mut content = Vec::new();
    run_lengths(&fewest.1, &mut content);
    out.push(fewest.0);
    frame::put_bytes(&content, level, zstd, out)
}

/// Converts an argument of 64 bits to a word, if it fits the type.
pub(crate) fn pattern_of<W: Word>(value: u64) -> Option<W> {
    let w = W::from_u64(value);
    (w.to_u64() == value).then_some(w)
}

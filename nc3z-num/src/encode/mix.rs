//! Encoder of `mix`.

#![expect(clippy::inline_always, reason = "compiled with the features of the caller")]

use super::Runs;
use super::bits::{BitWriter, put_varint};
use crate::geometry::Geometry;
use crate::mix::model::BitCoder;
use crate::mix::range::Range;
use crate::mix::value::{Layout, Strides};
use crate::mix::{Workspace, code, signed};
use crate::word::{Word, index, low8};

/// The largest class whose bits are all modelled, in tiles whose numbers repeat. Of 474 tiles, 91 are smaller with it, one by a
/// factor of 20; 282 are smaller without it, by at most 2.6 %, and all decode a fifth faster (docs/design/0046).
const FULL: u32 = 12;
/// The least class whose bits are not all modelled otherwise, and the average number of times that a number of the
/// classes from it to [`FULL`] occurs if numbers repeat.
const PARTLY: u32 = 4;
const REPEATS: usize = 2;

/// Writes the bits of both streams.
struct Encoder<'a> {
    range: Range,
    /// The begin of the interval: 32 bits, and a carry above them.
    low: u64,
    stream: Vec<u8>,
    raw: BitWriter<'a>,
}

impl Encoder<'_> {
    /// Moves the highest byte of the begin to the stream.
    fn shift(&mut self) {
        if self.low >> 32 != 0 {
            // The carry goes up to the last byte that is not 0xFF. There is one, because the interval is below 2^32 at first.
            for byte in self.stream.iter_mut().rev() {
                *byte = byte.wrapping_add(1);
                if *byte != 0 {
                    break;
                }
            }
        }
        self.stream.push(low8(self.low >> 24));
        self.low = (self.low & 0xFF_FFFF) << 8;
    }
}

impl BitCoder for Encoder<'_> {
    #[inline(always)]
    fn bit(&mut self, one: u32, bit: bool) -> bool {
        let first = self.range.first_part(one);
        self.range.narrow(first, bit);
        if !bit {
            self.low += u64::from(first);
        }
        while self.range.widen() {
            self.shift();
        }
        bit
    }

    #[inline(always)]
    fn raw(&mut self, len: u32, bits: u64) -> u64 {
        self.raw.put(bits & 0xFFFF_FFFF, len.min(32));
        if len > 32 {
            self.raw.put(bits >> 32, len - 32);
        }
        bits
    }
}

/// Returns the distances of neighbours in a tile of `n`: the row, and the next longer distance.
fn strides(geom: &Geometry, n: usize) -> Strides {
    let row = Geometry::usable(geom.row, n);
    let longer = [geom.plane, geom.volume].map(|s| Geometry::usable(s, n).filter(|&s| Some(s) > row));
    let plane = longer.into_iter().flatten().next().filter(|_| row.is_some());
    Strides { row: row.unwrap_or(0), plane: plane.unwrap_or(0) }
}

/// Returns true if the values of the classes whose bits may all be modelled repeat.
fn repeats<W: Word>(words: &[W]) -> bool {
    let mut seen = vec![false; 1 << FULL];
    let (mut count, mut distinct) = (0, 0);
    for word in words {
        let magnitude = index(signed(*word).unsigned_abs());
        if (1 << (PARTLY - 1)..1 << FULL).contains(&magnitude) {
            count += 1;
            distinct += usize::from(!std::mem::replace(&mut seen[magnitude], true));
        }
    }
    count > 0 && count >= REPEATS * distinct
}

/// Appends the part of the residuals in `words`: those of the valid elements of a tile of `n`, of which there is at
/// least one.
pub(crate) fn encode<W: Word>(
    words: &[W],
    (n, geom): (usize, &Geometry),
    (runs, valid): (&Runs, &[u8]),
    work: &mut Workspace,
    out: &mut Vec<u8>,
) {
    let grid = W::pool(&mut work.grid);
    grid.clear();
    grid.resize(n, W::default());
    let mut from = 0;
    for run in &runs.list {
        grid[run.clone()].copy_from_slice(&words[from..from + run.len()]);
        from += run.len();
    }
    let layout = Layout { bits: W::BITS, strides: strides(geom, n), full: 0 };
    let valid = (runs.valid < n).then_some(valid);
    let [mut best, mut other] = [Vec::new(), Vec::new()];
    encode_grid::<W>(layout, valid, work, &mut best);
    if repeats(words) {
        encode_grid::<W>(Layout { full: FULL, ..layout }, valid, work, &mut other);
        if other.len() < best.len() {
            best = other;
        }
    }
    out.extend_from_slice(&best);
}

/// Appends the part of the values in `work.grid`.
fn encode_grid<W: Word>(layout: Layout, valid: Option<&[u8]>, work: &mut Workspace, out: &mut Vec<u8>) {
    let mut raw = Vec::new();
    let mut coder = Encoder { range: Range::ALL, low: 0, stream: Vec::new(), raw: BitWriter::new(&mut raw) };
    code::<W, _>(layout, valid, &mut coder, work);
    // The interval is at least 2^24 long: it contains a number of one byte and zeros after it.
    coder.low += 0xFF_FFFF;
    coder.shift();
    let Encoder { stream, raw: writer, .. } = coder;
    writer.finish();
    let Strides { row, plane } = layout.strides;
    put_varint(out, row as u64);
    if row > 0 {
        put_varint(out, plane as u64);
    }
    out.push(low8(u64::from(layout.full)));
    put_varint(out, stream.len() as u64);
    out.extend_from_slice(&stream);
    out.extend_from_slice(&raw);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes words in one row; returns the class up to which all bits are modelled, and the bytes.
    fn encoded(words: &[u32]) -> (u8, usize) {
        let mut out = Vec::new();
        let runs = Runs { list: std::iter::once(0..words.len()).collect(), valid: words.len() };
        let of_all = (words.len(), &Geometry::default());
        encode::<u32>(words, of_all, (&runs, &[]), &mut Workspace::default(), &mut out);
        (out[1], out.len())
    }

    #[test]
    fn all_bits_are_modelled_where_numbers_repeat() {
        let mixed = |i: u32| i.wrapping_mul(0x9E37_79B1) >> 20;
        let repeated: Vec<u32> = (0..4000).map(|i| mixed(i % 40)).collect();
        let (full, len) = encoded(&repeated);
        assert_eq!(full, low8(u64::from(FULL)));
        assert!(len < 400, "{len} bytes");
        let other: Vec<u32> = (0..4000).map(mixed).collect();
        assert_eq!(encoded(&other).0, 0);
    }
}

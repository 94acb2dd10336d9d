//! Stage 1, the mask: one bit pattern taken out of the tile; what is left are runs of valid positions.

use super::bits::{Cursor, put_varint};
use super::frame::{self, Zstd};
use super::word::{Word, index};
use super::{Geometry, bad};
use crate::error::Result;
use std::ops::Range;

/// Positions of a tile that hold something else than the masked pattern: ascending, not touching, not empty.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Runs {
    pub(super) list: Vec<Range<usize>>,
    /// Positions in all runs together.
    pub(super) valid: usize,
}

impl Runs {
    fn clear(&mut self) {
        self.list.clear();
        self.valid = 0;
    }

    /// Appends a run; joins it to the last if they touch.
    fn push(&mut self, run: Range<usize>) {
        self.valid += run.len();
        match self.list.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => self.list.push(run),
        }
    }

    /// One run of everything.
    pub(super) fn all(&mut self, n: usize) {
        self.clear();
        if n > 0 {
            self.push(0..n);
        }
    }

    /// Runs of the bytes of `valid` that are 0xFF; the others are 0.
    fn scan(&mut self, valid: &[u8]) {
        self.clear();
        let (mut start, mut open) = (0usize, 0u64);
        for (at, block) in (0..).step_by(64).zip(valid.chunks(64)) {
            let bits = pack(block);
            // A one wherever the state changes; beyond the end nothing does.
            let known = u64::MAX >> (64 - block.len());
            let mut changes = (bits ^ (bits << 1 | open)) & known;
            while changes != 0 {
                let here = at + changes.trailing_zeros() as usize;
                if open == 0 {
                    start = here;
                } else {
                    self.push(start..here);
                }
                open ^= 1;
                changes &= changes - 1;
            }
        }
        if open == 1 {
            self.push(start..valid.len());
        }
    }

    /// Fills everything outside the runs.
    pub(super) fn fill_gaps<W: Word>(&self, grid: &mut [W], value: W) {
        let mut at = 0;
        for run in &self.list {
            grid[at..run.start].fill(value);
            at = run.end;
        }
        grid[at..].fill(value);
    }

    /// Moves the first `valid` words to their positions; gaps keep what they had.
    pub(super) fn scatter<W: Word>(&self, grid: &mut [W]) {
        let mut from = self.valid;
        for run in self.list.iter().rev() {
            from -= run.len();
            grid.copy_within(from..from + run.len(), run.start);
        }
    }

    /// Moves the words in the runs to the front.
    pub(super) fn gather<T: Copy>(&self, grid: &mut [T]) {
        let mut to = 0;
        for run in &self.list {
            grid.copy_within(run.clone(), to);
            to += run.len();
        }
    }
}

/// Bit i = bit 0 of byte i, of at most 64 bytes.
fn pack(block: &[u8]) -> u64 {
    let (eights, rest) = block.as_chunks::<8>();
    let mut bits = 0;
    for (i, eight) in eights.iter().enumerate() {
        // The product gathers the low bits of the eight bytes in its top byte.
        let ones = u64::from_le_bytes(*eight) & 0x0101_0101_0101_0101;
        bits |= (ones.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    let tail = 8 * eights.len();
    rest.iter().enumerate().fold(bits, |bits, (i, &b)| bits | u64::from(b & 1) << (tail + i))
}

/// Undoes the exclusive or with the reference, block by block of its length.
#[multiversion::multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn undo_reference(valid: &mut [u8], r: usize) {
    let mut at = r;
    while at < valid.len() {
        let (done, rest) = valid.split_at_mut(at);
        for (a, b) in rest.iter_mut().zip(&done[at - r..]) {
            *a ^= *b;
        }
        at += r;
    }
}

/// Marks positions that do not hold `pattern` by 0xFF; gives how many.
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
pub(super) fn find<W: Word>(elements: &[W], pattern: W, valid: &mut Vec<u8>, runs: &mut Runs) {
    valid.clear();
    valid.resize(elements.len(), 0);
    if compare(elements, pattern, valid) == elements.len() {
        runs.all(elements.len());
    } else {
        runs.scan(valid);
    }
}

/// The stride a mask is compared with: none, the previous row, the previous plane.
fn reference(code: u8, geom: &Geometry, n: usize) -> Option<usize> {
    match code {
        0 => Some(0),
        1 => Geometry::usable(geom.row, n),
        2 => Geometry::usable(geom.plane, n),
        _ => None,
    }
}

/// A row of bits, LSB first; those beyond the last are zero.
struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    fn of(valid: &[u8]) -> Self {
        Bits { words: valid.chunks(64).map(pack).collect(), len: valid.len() }
    }

    /// `self[i] xor self[i - by]`, where there is no `self[i - by]` just `self[i]`.
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

    /// Positions where a bit differs from the one before; before the first stands a zero.
    fn changes(&self) -> Self {
        self.differences(1)
    }

    fn ones(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// The bytes of the row.
    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.words.iter().flat_map(|w| w.to_le_bytes()).take(self.len.div_ceil(8))
    }
}

/// Run lengths as varints, alternating, beginning with zeros; `changes` has a one where a run begins.
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

/// Appends the part of a mixed mask. `valid` is what [`find`] made.
pub(super) fn encode<W: Word>(
    pattern: W,
    valid: &[u8],
    geom: &Geometry,
    level: i32,
    zstd: &mut Zstd,
    out: &mut Vec<u8>,
) -> Result<()> {
    W::put_le(&[pattern], out);
    let plain = Bits::of(valid);
    let mut best = (plain.changes(), 0, 0);
    let mut least = best.0.ones();
    for code in 1..3u8 {
        let Some(r) = reference(code, geom, valid.len()) else { continue };
        let changes = plain.differences(r).changes();
        let ones = changes.ones();
        if ones < least {
            (best, least) = ((changes, code, r), ones);
        }
    }
    let (changes, code, r) = best;
    let mut content = Vec::new();
    run_lengths(&changes, &mut content);
    let start = out.len();
    out.push(code);
    frame::put_bytes(&content, level, zstd, out)?;
    if least >= valid.len() / 64 {
        content.clear();
        content.extend(if r > 0 { plain.differences(r) } else { plain }.bytes());
        let mut other = vec![code | 4];
        frame::put_bytes(&content, level, zstd, &mut other)?;
        if other.len() < out.len() - start {
            out.truncate(start);
            out.extend_from_slice(&other);
        }
    }
    Ok(())
}

/// Reads the part of a mixed mask: the pattern, and the runs of a tile of `n` elements.
pub(super) fn decode<W: Word>(
    part: &[u8],
    n: usize,
    geom: &Geometry,
    zstd: &mut Zstd,
    buffers: (&mut Vec<u8>, &mut Vec<u8>),
    runs: &mut Runs,
) -> Result<W> {
    let (content, valid) = buffers;
    let mut cursor = Cursor::new(part);
    let mut pattern = [W::default()];
    W::get_le(cursor.take(W::BYTES)?, &mut pattern);
    let flags = cursor.byte()?;
    if flags > 7 {
        return Err(bad("mask flags", "at most 7", flags));
    }
    let r =
        reference(flags & 3, geom, n).ok_or_else(|| bad("mask reference", "a stride of the tile", flags))?;
    if flags & 4 != 0 {
        frame::take_bytes(cursor.rest(), n.div_ceil(8)..=n.div_ceil(8), zstd, content)?;
        if !n.is_multiple_of(8) && content[n / 8] >> (n % 8) != 0 {
            return Err(bad("mask bitmap", "zero padding bits", content[n / 8]));
        }
        valid.clear();
        valid.extend((0..n).map(|i| 0u8.wrapping_sub(content[i / 8] >> (i % 8) & 1)));
    } else {
        frame::take_bytes(cursor.rest(), 1..=n + 1, zstd, content)?;
        expand_runs(content, n, valid)?;
    }
    if r > 0 {
        undo_reference(valid, r);
    }
    runs.scan(valid);
    if runs.valid == 0 || runs.valid == n {
        return Err(bad("mask", "both valid and masked positions", runs.valid));
    }
    Ok(pattern[0])
}

fn expand_runs(content: &[u8], n: usize, valid: &mut Vec<u8>) -> Result<()> {
    valid.clear();
    valid.resize(n, 0);
    let mut cursor = Cursor::new(content);
    let (mut at, mut state, mut first) = (0usize, 0u8, true);
    while cursor.len() > 0 {
        let len = cursor.varint()?;
        if (len == 0 && !first) || len > u64::try_from(n - at).unwrap_or(0) {
            return Err(bad("mask run", format_args!("1 to {}", n - at), len));
        }
        valid[at..at + index(len)].fill(state);
        (at, state, first) = (at + index(len), !state, false);
    }
    if at == n { Ok(()) } else { Err(bad("mask runs", n, at)) }
}

/// The part of a tile that holds nothing but the masked pattern.
pub(super) fn decode_all<W: Word>(part: &[u8]) -> Result<W> {
    let mut pattern = [W::default()];
    if part.len() != W::BYTES {
        return Err(bad("mask part", W::BYTES, part.len()));
    }
    W::get_le(part, &mut pattern);
    Ok(pattern[0])
}

/// The words of an argument given as 64 bits, if it fits the type.
pub(super) fn pattern_of<W: Word>(value: u64) -> Option<W> {
    let w = W::from_u64(value);
    (w.to_u64() == value).then_some(w)
}

/// 0xFF where both a position and its predecessor are valid.
pub(super) fn pairs(runs: &Runs, n: usize, out: &mut Vec<u8>) {
    out.clear();
    out.resize(n, 0);
    for run in &runs.list {
        out[run.start + 1..run.end].fill(0xFF);
    }
}

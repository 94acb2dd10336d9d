//! Stage 1, the mask: one bit pattern taken out of the tile; what is left are runs of valid positions.

use crate::bits::Cursor;
use crate::error::{Result, bad};
use crate::frame::{self, Zstd};
use crate::geometry::Geometry;
use crate::reference::toggle_valid;
use crate::word::{Word, index};
use multiversion::multiversion;
use std::ops::Range;

/// Positions of a tile that hold something else than the masked pattern: ascending, not touching, not empty.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Runs {
    pub(crate) list: Vec<Range<usize>>,
    /// Positions in all runs together.
    pub(crate) valid: usize,
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
    pub(crate) fn all(&mut self, n: usize) {
        self.clear();
        if n > 0 {
            self.push(0..n);
        }
    }

    /// Runs of the bytes of `valid` that are 0xFF; the others are 0.
    pub(crate) fn scan(&mut self, valid: &[u8]) {
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

    /// Moves the first `valid` words to their positions; gaps keep what they had.
    pub(crate) fn scatter<W: Word>(&self, grid: &mut [W]) {
        let mut from = self.valid;
        for run in self.list.iter().rev() {
            from -= run.len();
            grid.copy_within(from..from + run.len(), run.start);
        }
    }
}

/// Bit i = bit 0 of byte i, of at most 64 bytes.
pub(crate) fn pack(block: &[u8]) -> u64 {
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
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
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

/// The number that says: compared with the mask of the tile's reference.
pub(crate) const REFERENCE: u8 = 3;

/// The stride a mask is compared with: none, the previous row, the previous plane.
pub(crate) fn reference(code: u8, geom: &Geometry, n: usize) -> Option<usize> {
    match code {
        0 => Some(0),
        1 => Geometry::usable(geom.row, n),
        2 => Geometry::usable(geom.plane, n),
        _ => None,
    }
}

/// Reads the part of a mixed mask: the pattern, and the runs of a tile of `n` elements.
pub(crate) fn decode<W: Word>(
    part: &[u8],
    (n, geom, against): (usize, &Geometry, Option<&[W]>),
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
    let wrong = || bad("mask reference", "a stride of the tile, or its reference", flags);
    let other = against.filter(|_| flags & 3 == REFERENCE);
    let r = if other.is_some() { 0 } else { reference(flags & 3, geom, n).ok_or_else(wrong)? };
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
    if let Some(other) = other {
        toggle_valid(valid, other, pattern[0]);
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
pub(crate) fn decode_all<W: Word>(part: &[u8]) -> Result<W> {
    let mut pattern = [W::default()];
    if part.len() != W::BYTES {
        return Err(bad("mask part", W::BYTES, part.len()));
    }
    W::get_le(part, &mut pattern);
    Ok(pattern[0])
}

/// 0xFF where both a position and its predecessor are valid.
pub(crate) fn pairs(valid: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.push(0);
    out.extend(valid.iter().zip(&valid[1..]).map(|(before, here)| before & here));
}

/// Gives all masked positions one value.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn fill_masked<W: Word>(grid: &mut [W], valid: &[u8], value: W) {
    for (x, &v) in grid.iter_mut().zip(valid) {
        *x = value.xor(x.xor(value).and(W::widen_mask(v)));
    }
}

//! Stage 1, the mask: one bit pattern is removed from the tile. The remaining positions are valid, each marked by a
//! byte 0xFF among zeros.

use crate::bits::Cursor;
use crate::error::{Result, bad};
use crate::frame::{self, Zstd};
use crate::geometry::Geometry;
use crate::word::{Word, index};
use multiversion::{multiversion, target::match_target};
#[cfg(target_arch = "x86_64")]
use {crate::avx2::expand, crate::word::ByWidth};

/// Moves the first `count` words to the `count` positions whose byte of `valid` is 0xFF. The other words are
/// undefined afterwards.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn scatter<W: Word>(words: &mut [W], valid: &[u8], count: usize) {
    match_target! {
        "x86_64+avx2" => match W::by_width(words) {
            ByWidth::W8(words) => expand::words8(words, valid, count),
            ByWidth::W16(words) => expand::words16(words, valid, count),
            ByWidth::W32(words) => expand::words32(words, valid, count),
            ByWidth::W64(words) => expand::words64(words, valid, count),
        },
        _ => {
            let mut from = count;
            for (at, &valid) in valid.iter().enumerate().rev() {
                from -= usize::from(valid & 1);
                words[at] = words[from];
            }
        }
    }
}

/// Moves the words whose byte of `valid` is 0xFF to the front; returns their number. The words after them are
/// undefined afterwards.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn gather(words: &mut [u16], valid: &[u8]) -> usize {
    match_target! {
        "x86_64+avx2" => expand::gather16(words, valid),
        _ => {
            let mut to = 0;
            for (at, &valid) in valid.iter().enumerate() {
                words[to] = words[at];
                to += usize::from(valid & 1);
            }
            to
        }
    }
}

/// Returns the positions of valid elements with these ascending numbers; the end for numbers that are too large.
pub(crate) fn positions<const N: usize>(valid: &[u8], numbers: [usize; N]) -> [usize; N] {
    let mut out = [valid.len(); N];
    let (mut before, mut next) = (0, 0);
    for (block, at) in valid.chunks(64).zip((0..).step_by(64)) {
        let mut bits = pack(block);
        let count = bits.count_ones() as usize;
        let mut passed = 0;
        while next < N && numbers[next] < before + count {
            // Clears the bits before the wanted one.
            while passed < numbers[next] - before {
                bits &= bits - 1;
                passed += 1;
            }
            out[next] = at + bits.trailing_zeros() as usize;
            next += 1;
        }
        before += count;
    }
    out
}

/// Packs at most 64 bytes: bit i is bit 0 of byte i.
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

/// Undoes the exclusive or with the mask one stride before, in blocks of that length.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn undo_stride(valid: &mut [u8], r: usize) {
    let mut at = r;
    while at < valid.len() {
        let (done, rest) = valid.split_at_mut(at);
        for (a, b) in rest.iter_mut().zip(&done[at - r..]) {
            *a ^= *b;
        }
        at += r;
    }
}

/// Returns the stride that a mask is compared over: 0 for none, the previous row, or the previous plane.
pub(crate) fn stride(code: u8, geom: &Geometry, n: usize) -> Option<usize> {
    match code {
        0 => Some(0),
        1 => Geometry::usable(geom.row, n),
        2 => Geometry::usable(geom.plane, n),
        _ => None,
    }
}

/// Reads the mask part of a partly masked tile of `n` elements: the pattern, and the number of valid elements. The
/// second buffer then marks the valid elements.
pub(crate) fn decode<W: Word>(
    part: &[u8],
    (n, geom): (usize, &Geometry),
    zstd: &mut Zstd,
    buffers: (&mut Vec<u8>, &mut Vec<u8>),
) -> Result<(W, usize)> {
    let (content, valid) = buffers;
    let mut cursor = Cursor::new(part);
    let mut pattern = [W::default()];
    W::get_le(cursor.take(W::BYTES)?, &mut pattern);
    let code = cursor.byte()?;
    let stride = stride(code, geom, n)
        .ok_or_else(|| bad("mask stride", "0, or 1 or 2 where the tile has it", code))?;
    frame::take_bytes(cursor.rest(), 1..=n + 1, zstd, content)?;
    expand_runs(content, n, valid)?;
    if stride > 0 {
        undo_stride(valid, stride);
    }
    let count = valid.chunks(64).map(|block| pack(block).count_ones() as usize).sum();
    if count == 0 || count == n {
        return Err(bad("mask", "both valid and masked positions", count));
    }
    Ok((pattern[0], count))
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

/// Reads the mask part of a tile in which all elements are masked.
pub(crate) fn decode_all<W: Word>(part: &[u8]) -> Result<W> {
    let mut pattern = [W::default()];
    if part.len() != W::BYTES {
        return Err(bad("mask part", W::BYTES, part.len()));
    }
    W::get_le(part, &mut pattern);
    Ok(pattern[0])
}

/// Marks by 0xFF the positions that are valid and follow a valid position.
pub(crate) fn pairs(valid: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.push(0);
    out.extend(valid.iter().zip(&valid[1..]).map(|(before, here)| before & here));
}

/// Sets all masked positions to one value.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn fill_masked<W: Word>(grid: &mut [W], valid: &[u8], value: W) {
    for (x, &v) in grid.iter_mut().zip(valid) {
        *x = value.xor(x.xor(value).and(W::widen_mask(v)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scattered<W: Word>(valid: &[u8]) {
        let count = valid.iter().filter(|v| **v != 0).count();
        let mut words: Vec<W> = (1..=valid.len() as u64).map(W::from_u64).collect();
        scatter(&mut words, valid, count);
        let found: Vec<W> = words.iter().zip(valid).filter(|(_, v)| **v != 0).map(|(w, _)| *w).collect();
        assert_eq!(found, (1..=count as u64).map(W::from_u64).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn words_find_their_positions(valid in prop::collection::vec(prop::bool::weighted(0.7), 0..300)) {
            let valid: Vec<u8> = valid.into_iter().map(|v| if v { 0xFF } else { 0 }).collect();
            scattered::<u8>(&valid);
            scattered::<u16>(&valid);
            scattered::<u32>(&valid);
            scattered::<u64>(&valid);
        }

        #[test]
        fn words_of_positions_come_to_the_front(valid in prop::collection::vec(prop::bool::weighted(0.7), 0..300)) {
            let bytes: Vec<u8> = valid.iter().map(|&v| if v { 0xFF } else { 0 }).collect();
            let places: Vec<u16> = (0..).zip(&valid).filter(|(_, v)| **v).map(|(at, _)| at).collect();
            let mut words: Vec<u16> = (0..).take(valid.len()).collect();
            assert_eq!(gather(&mut words, &bytes), places.len());
            assert_eq!(words[..places.len()], places);
            let wanted = [0, places.len() / 3, places.len().saturating_sub(1), places.len()];
            let found = wanted.map(|number| places.get(number).map_or(valid.len(), |&at| usize::from(at)));
            assert_eq!(positions(&bytes, wanted), found);
        }
    }
}

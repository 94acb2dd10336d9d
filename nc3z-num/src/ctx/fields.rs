//! Reads fields of raw bits from their stream, with ordinary word instructions.

use crate::word::{index, low32};

/// The number of fields in a group.
pub(super) const GROUP: usize = 8;
/// The largest number of raw bits per field for which a block's fields fit in one window.
pub(super) const MOST: u8 = 28;
/// The number of bytes in which a block's fields begin: a power of two.
pub(super) const WINDOW: usize = 1024;
/// The number of bytes after them, so that this number can be loaded from each.
pub(super) const BEHIND: usize = 16;

/// The bytes from the one in which a block's first field begins.
pub(super) type Window = [u8; WINDOW + BEHIND];

/// Reads the fields of groups, of `lens` bits each and at most `largest`, from a window, starting at bit `at`.
/// Returns the bit after the last. The bits above a field are those that follow it.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
pub(super) fn take(
    largest: u8,
    lens: &[[u8; GROUP]],
    window: &Window,
    at: u64,
    raws: &mut [[u32; GROUP]],
) -> u64 {
    match largest {
        0..=7 => groups::<1>(lens, window, at, raws),
        8..=14 => groups::<2>(lens, window, at, raws),
        _ => groups::<4>(lens, window, at, raws),
    }
}

/// Does the work of [`take`] with `LOADS` words for each group.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
fn groups<const LOADS: usize>(
    lens: &[[u8; GROUP]],
    window: &Window,
    mut at: u64,
    raws: &mut [[u32; GROUP]],
) -> u64 {
    for (lens, raws) in lens.iter().zip(raws) {
        // Each byte of the product is the sum of all lengths up to it, below 256.
        let ends = u64::from_le_bytes(*lens).wrapping_mul(0x0101_0101_0101_0101);
        let begins = (ends << 8).to_le_bytes();
        let each = GROUP / LOADS;
        for (raws, begins) in raws.chunks_exact_mut(each).zip(begins.chunks_exact(each)) {
            let word = load(window, at + u64::from(begins[0]));
            for (raw, &begin) in raws.iter_mut().zip(begins) {
                *raw = low32(word.wrapping_shr(u32::from(begin - begins[0])));
            }
        }
        at += ends >> 56;
    }
    at
}

/// Returns the 57 bits from `bit` on; they are undefined beyond the window.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
fn load(window: &Window, bit: u64) -> u64 {
    let byte = index(bit >> 3) % WINDOW;
    window[byte..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight) >> (bit & 7))
}

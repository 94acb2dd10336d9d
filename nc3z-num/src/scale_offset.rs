//! The scale-offset transform of floats: `x = T(off + k * step)`, or `x = T(off + k / divisor)`. This module
//! contains the decoder.
//!
//! Decimal numbers that were parsed as doubles are quotients by a power of ten, seldom products. Product or
//! quotient and sum are rounded to binary64, then the sum to the type; never fused. A result of magnitude at most
//! the smallest normal number counts as zero of its sign, so that flush-to-zero modes change nothing.

use crate::bits::Cursor;
use crate::error::{Result, bad};
use crate::word::{Word, index};
use multiversion::multiversion;

/// Offset and step of quantised numbers: `off + k * step`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScaleOffset {
    /// Value of `k = 0`.
    pub off: f64,
    /// Distance of neighbours; if negative, `k` is divided by `-step` instead.
    pub step: f64,
}

impl ScaleOffset {
    /// True if the format allows these numbers.
    pub(crate) fn is_sound(self) -> bool {
        (self.off == 0.0 || self.off.is_normal()) && self.step.is_normal()
    }
}

/// The scale-offsets of consecutive segments of `len` elements each; the last segment may be shorter.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Segments {
    pub(crate) len: usize,
    pub(crate) list: Vec<ScaleOffset>,
}

impl Segments {
    pub(crate) fn take(part: &[u8], n: usize) -> Result<Self> {
        let mut cursor = Cursor::new(part);
        let len = index(cursor.varint()?);
        if len == 0 || len > n {
            return Err(bad("scale-offset segment", format_args!("1 to {n}"), len));
        }
        let count = n.div_ceil(len);
        if cursor.len() != count.saturating_mul(16) {
            return Err(bad("scale-offset part", format_args!("{count} segments of 16 bytes"), cursor.len()));
        }
        let (pairs, _) = cursor.rest().as_chunks::<8>();
        let list: Vec<ScaleOffset> = pairs
            .chunks_exact(2)
            .map(|p| ScaleOffset { off: f64::from_le_bytes(p[0]), step: f64::from_le_bytes(p[1]) })
            .collect();
        if let Some(l) = list.iter().find(|l| !l.is_sound()) {
            return Err(bad("scale-offset", "normal numbers", format_args!("{l:?}")));
        }
        Ok(Self { len, list })
    }
}

/// Returns the pattern of `k`; `DIVIDED` for a negative step.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
pub(crate) fn point<W: Word, const DIVIDED: bool>(k: W, l: ScaleOffset) -> W {
    pattern::<W, DIVIDED>(k.signed_to_f64(), l)
}

/// Does the work of [`point`] for a whole number.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
fn pattern<W: Word, const DIVIDED: bool>(k: f64, l: ScaleOffset) -> W {
    let x = W::float_pattern(l.off + if DIVIDED { k / -l.step } else { k * l.step });
    // Without the sign; the smallest normal number is 1 << mantissa bits.
    let magnitude = x.shl(1).shr(1);
    let smallest = W::from_u64(if W::BITS == 64 { 1 << 52 } else { 1 << 23 });
    if magnitude <= smallest { x.xor(magnitude) } else { x }
}

/// 1.5 · 2^52: adding an integer of magnitude below 2^51 to its bits adds the same integer to its value.
const MAGIC: f64 = 6_755_399_441_055_744.0;
/// Numbers below this magnitude, 2^51, are rounded by adding [`MAGIC`].
pub(crate) const NEAR: f64 = 2_251_799_813_685_248.0;

/// Returns the integer that is nearest to `x`, ties to even, as a signed word, if `x` is below [`NEAR`]; otherwise any
/// word. Vector instructions do the same, unlike for a conversion that saturates.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
pub(crate) fn nearest<W: Word>(x: f64) -> W {
    W::from_u64((x + MAGIC).to_bits().wrapping_sub(MAGIC.to_bits()))
}

/// The number of 64-bit integers that are checked together.
const AT_ONCE: usize = 128;

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn points<W: Word, const DIVIDED: bool>(grid: &mut [W], l: ScaleOffset) -> bool {
    if W::BITS < 64 {
        for w in grid {
            *w = point::<W, DIVIDED>(*w, l);
        }
        return true;
    }
    let limit = |bits: u32| W::from_u64(1 << bits);
    for block in grid.chunks_mut(AT_ONCE) {
        // Vector instructions convert small 64-bit integers to floats through their bits.
        let small = block.iter().fold(W::default(), |all, w| all.or(w.plus(limit(50)))) < limit(51);
        if small {
            for w in block {
                let k = f64::from_bits(MAGIC.to_bits().wrapping_add(w.to_u64())) - MAGIC;
                *w = pattern::<W, DIVIDED>(k, l);
            }
            continue;
        }
        if block.iter().any(|w| w.plus(limit(53)) > limit(54)) {
            return false;
        }
        for w in block {
            *w = point::<W, DIVIDED>(*w, l);
        }
    }
    true
}

pub(crate) fn invert<W: Word>(grid: &mut [W], segments: &Segments) -> Result<()> {
    for (part, l) in grid.chunks_mut(segments.len).zip(&segments.list) {
        let sound = if l.step < 0.0 { points::<W, true>(part, *l) } else { points::<W, false>(part, *l) };
        if !sound {
            return Err(bad("scale-offset index", "at most 2^53", "more"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_of_all_sizes_become_points(
            size in 0u32..55, seed: u64, len in 0usize..300, off in -1e3..1e3, step in prop_oneof![1e-4..10.0, -1000.0..-1.0],
        ) {
            let l = ScaleOffset { off, step };
            let integer = |i: u64| {
                let x = (seed ^ i).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31);
                // Ascending at the end: the last one is about the largest of its size.
                let x = (x.cast_signed() >> (64 - size - 1)).max(-(1 << size)).min(1 << size);
                if i % 100 == 99 { 1i64 << size } else { x }
            };
            let integers: Vec<i64> = (0..len as u64).map(integer).collect();
            let mut grid: Vec<u64> = integers.iter().map(|k| k.cast_unsigned()).collect();
            let sound = if step < 0.0 { points::<u64, true>(&mut grid, l) } else { points::<u64, false>(&mut grid, l) };
            prop_assert_eq!(sound, integers.iter().all(|k| k.unsigned_abs() <= 1 << 53));
            if sound {
                #[expect(clippy::cast_precision_loss, reason = "at most 2^53")]
                let value = |k: &i64| off + if step < 0.0 { *k as f64 / -step } else { *k as f64 * step };
                let expected: Vec<f64> = integers.iter().map(value).collect();
                let found: Vec<f64> = grid.iter().map(|&bits| f64::from_bits(bits)).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}

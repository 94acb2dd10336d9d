//! The scale-offset transform of floats: `x = T(off + k * step)`, or `x = T(off + k / divisor)`. Here: the way back.
//!
//! Decimal numbers that were parsed as doubles are quotients by a power of ten, seldom products.
//! Product or quotient and sum are rounded to binary64, the sum then to the type; never fused. A result of magnitude at
//! most the smallest normal number counts as zero of its sign, so that flush-to-zero modes change nothing.

use crate::bits::Cursor;
use crate::error::{Result, bad};
use crate::word::{Word, index};
use multiversion::multiversion;

/// Offset and step of numbers that were quantised: `off + k * step`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScaleOffset {
    /// Value of `k = 0`.
    pub off: f64,
    /// Distance of neighbours; if negative, `-step` is what `k` is divided by instead.
    pub step: f64,
}

impl ScaleOffset {
    /// True for numbers that the format allows.
    pub(crate) fn is_sound(self) -> bool {
        (self.off == 0.0 || self.off.is_normal()) && self.step.is_normal()
    }
}

/// Those of consecutive segments of `len` elements each; the last may be shorter.
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

/// The pattern of `k`; `DIVIDED`: with a step that is negative.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled with the features of its caller")]
pub(crate) fn point<W: Word, const DIVIDED: bool>(k: W, l: ScaleOffset) -> W {
    let k = k.signed_to_f64();
    let x = W::float_pattern(l.off + if DIVIDED { k / -l.step } else { k * l.step });
    // Without the sign; the smallest normal number is 1 << mantissa bits.
    let magnitude = x.shl(1).shr(1);
    let smallest = W::from_u64(if W::BITS == 64 { 1 << 52 } else { 1 << 23 });
    if magnitude <= smallest { x.xor(magnitude) } else { x }
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn points<W: Word, const DIVIDED: bool>(grid: &mut [W], l: ScaleOffset) -> bool {
    let mut sound = true;
    let limit = W::from_u64(1 << 53);
    for w in grid {
        if W::BITS == 64 {
            sound &= w.plus(limit) <= limit.plus(limit);
        }
        *w = point::<W, DIVIDED>(*w, l);
    }
    sound
}

/// Integers to patterns.
pub(crate) fn invert<W: Word>(grid: &mut [W], segments: &Segments) -> Result<()> {
    for (part, l) in grid.chunks_mut(segments.len).zip(&segments.list) {
        let sound = if l.step < 0.0 { points::<W, true>(part, *l) } else { points::<W, false>(part, *l) };
        if !sound {
            return Err(bad("scale-offset index", "at most 2^53", "more"));
        }
    }
    Ok(())
}

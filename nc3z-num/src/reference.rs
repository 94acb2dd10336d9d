//! References: a tile is coded as its differences from another known tile with the same number of elements.
//!
//! The other tile first passes through this tile's transform, so only its *values* matter, not its storage. If a
//! value has no integer under that transform, or is masked, the integer before it is used.

use crate::dictionary::Dictionary;
use crate::element::ElementType;
use crate::error::{Error, Result, bad};
use crate::scale_offset::{self, Segments};
use crate::transform::{Transform, to_integers};
use crate::word::Word;
use multiversion::multiversion;

/// Returns the magnitude of the smallest normal number, as a pattern. Numbers that are not larger count as zero.
#[inline]
fn smallest<W: Word>() -> W {
    W::from_u64(if W::BITS == 64 { 1 << 52 } else { 1 << 23 })
}

/// Returns the pattern, or the zero of its sign if it is not larger than the smallest normal number.
#[inline]
fn flushed<W: Word>(b: W) -> W {
    let magnitude = b.shl(1).shr(1);
    if magnitude <= smallest::<W>() { b.xor(magnitude) } else { b }
}

/// A value during conversion between two types.
#[derive(Clone, Copy)]
enum Value {
    Real(f64),
    /// Sign- or zero-extended.
    Whole(u64, bool),
}

impl Value {
    #[inline]
    fn new<V: Word>(b: V, ty: ElementType) -> Self {
        if ty.is_float() {
            Value::Real(flushed(b).float_value())
        } else if ty.is_signed() {
            let high = u64::MAX << (V::BITS - 1);
            let bits = b.to_u64();
            Value::Whole(if bits & high == 0 { bits } else { bits | high }, true)
        } else {
            Value::Whole(b.to_u64(), false)
        }
    }

    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "rounding to binary64 is the purpose")]
    fn pattern<W: Word>(self, ty: ElementType) -> W {
        match (self, ty.is_float()) {
            (Value::Real(x), true) if x.is_nan() => {
                W::from_u64(if W::BITS == 64 { 0x7FF8 << 48 } else { 0x7FC0_0000 })
            }
            (Value::Real(x), true) => flushed(W::float_pattern(x)),
            (Value::Whole(bits, true), true) => W::float_pattern(bits.cast_signed() as f64),
            (Value::Whole(bits, false), true) => W::float_pattern(bits as f64),
            (Value::Whole(bits, _), false) => W::from_u64(bits),
            (Value::Real(x), false) => whole(x.round_ties_even(), ty),
        }
    }
}

/// Returns the integer of a type nearest to `x`; 0 for a NaN.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate, and NaN is 0")]
fn whole<W: Word>(x: f64, ty: ElementType) -> W {
    if ty.is_signed() {
        return W::signed_from_f64(x);
    }
    W::from_u64((x as u64).min(u64::MAX >> (64 - W::BITS)))
}

/// Converts the values of a tile's elements to patterns of another type (spec/num.md, section 10).
///
/// # Errors
/// The words do not have the size of their type.
pub fn convert<V: Word, W: Word>(from: &[V], from_ty: ElementType, to: ElementType) -> Result<Vec<W>> {
    if from_ty.size() != V::BYTES || to.size() != W::BYTES {
        return Err(Error::invalid(format!(
            "words of {} and {} bytes for {from_ty} and {to}",
            V::BYTES,
            W::BYTES
        )));
    }
    if from_ty == to {
        return Ok(from.iter().map(|b| W::from_u64(b.to_u64())).collect());
    }
    Ok(from.iter().map(|&b| Value::new(b, from_ty).pattern(to)).collect())
}

/// Refuses a reference of another length.
pub(crate) fn check<W>(reference: Option<&[W]>, n: usize) -> Result<()> {
    match reference {
        Some(r) if r.len() != n => Err(bad("number of elements of the reference", n, r.len())),
        _ => Ok(()),
    }
}

/// Applies a scale-offset to patterns; marks those that have no integer.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn steps<W: Word>(patterns: &[W], off: f64, by: f64, divide: bool, out: &mut [W], held: &mut [u8]) {
    let most = if W::BITS == 64 { 9_007_199_254_740_992.0 } else { 2_147_483_647.0 };
    for ((p, k), h) in patterns.iter().zip(out).zip(held) {
        let distance = flushed(*p).float_value() - off;
        let distance = if distance.abs() < f64::MIN_POSITIVE { 0.0 } else { distance };
        let ratio = if divide { distance / by } else { distance * by };
        let ratio = ratio.round_ties_even();
        *h = u8::from(ratio.is_nan() || ratio.abs() > most);
        *k = W::signed_from_f64(ratio);
    }
}

fn segments<W: Word>(patterns: &[W], all: &Segments, out: &mut [W], held: &mut [u8]) {
    let parts = patterns.chunks(all.len).zip(out.chunks_mut(all.len)).zip(held.chunks_mut(all.len));
    for (((p, k), h), l) in parts.zip(&all.list) {
        let scale_offset::ScaleOffset { off, step } = *l;
        steps(p, off, step.abs(), step > 0.0, k, h);
    }
}

fn ranks<W: Word>(patterns: &[W], dict: &Dictionary, ty: ElementType, out: &mut [W], held: &mut [u8]) {
    let mut last = None;
    for ((p, k), h) in patterns.iter().zip(out).zip(held) {
        let rank = match last {
            Some((pattern, rank)) if pattern == *p => rank,
            _ => dict.rank(*p, ty),
        };
        last = Some((*p, rank));
        *h = u8::from(rank.is_none());
        *k = rank.map_or(W::default(), |r| W::from_u64(r as u64));
    }
}

/// Returns the integers of the reference's patterns under a tile's transform. `masked`: the pattern that the tile
/// masks out.
pub(crate) fn integers<W: Word>(
    patterns: &[W],
    masked: Option<W>,
    transform: &Transform,
    (ty, dict): (ElementType, Option<&Dictionary>),
    out: &mut Vec<W>,
    held: &mut Vec<u8>,
) -> Result<()> {
    out.clear();
    out.extend_from_slice(patterns);
    held.clear();
    held.resize(patterns.len(), 0);
    match transform {
        Transform::Ordered => to_integers(out, ty, 0),
        Transform::Trim(k) => to_integers(out, ty, *k),
        Transform::ScaleOffset(all) => segments(patterns, all, out, held),
        Transform::Dictionary => {
            let dict = dict.ok_or_else(|| bad("rank", "a dictionary", "none"))?;
            ranks(patterns, dict, ty, out, held);
        }
    }
    if let Some(masked) = masked {
        held.iter_mut().zip(patterns).for_each(|(h, p)| *h |= u8::from(*p == masked));
    }
    if held.iter().any(|h| *h != 0) {
        let mut last = W::default();
        for (k, h) in out.iter_mut().zip(held.iter()) {
            if *h != 0 {
                *k = last;
            }
            last = *k;
        }
    }
    Ok(())
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn add<W: Word>(grid: &mut [W], reference: &[W]) {
    for (x, r) in grid.iter_mut().zip(reference) {
        *x = x.plus(*r);
    }
}

#[cfg(feature = "encode")]
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn subtract<W: Word>(grid: &mut [W], reference: &[W]) {
    for (x, r) in grid.iter_mut().zip(reference) {
        *x = x.minus(*r);
    }
}

impl Dictionary {
    /// The number of a pattern.
    pub(crate) fn rank<W: Word>(&self, pattern: W, ty: ElementType) -> Option<usize> {
        let key = crate::transform::sort_key(pattern, ty);
        let table = self.patterns::<W>();
        let at = table.partition_point(|&p| crate::transform::sort_key(p, ty) < key);
        (table.get(at) == Some(&pattern)).then_some(at)
    }
}

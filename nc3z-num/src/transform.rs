//! Stage 2, the transform: patterns of valid elements become integers with small differences. This module contains
//! the decoder.

use crate::dictionary::Dictionary;
use crate::element::ElementType;
use crate::error::{Result, bad};
use crate::scale_offset::{self, Segments};
use crate::word::Word;
use multiversion::multiversion;

/// Returns the order-preserving integer of a float pattern with `1 + trim` sign bits before its magnitude; the
/// function is its own inverse.
#[inline]
pub(crate) fn ord<W: Word>(b: W, trim: u32) -> W {
    b.xor(b.sar(W::BITS - 1).shr(trim).shr(1))
}

/// Does the work of [`ord`] for floats; integers stay unchanged.
#[inline]
pub(crate) fn key<W: Word>(b: W, ty: ElementType) -> W {
    if ty.is_float() { ord(b, 0) } else { b }
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn order_all<W: Word>(words: &mut [W]) {
    for w in words {
        *w = ord(*w, 0);
    }
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn untrim_all<W: Word>(words: &mut [W], trim: u32, float: bool) {
    for w in words {
        *w = if float { ord(*w, trim) } else { *w }.shl(trim);
    }
}

/// A transform in its stored form.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) enum Transform {
    #[default]
    Ordered,
    Trim(u32),
    ScaleOffset(Segments),
    Dictionary,
}

impl Transform {
    /// True where a transform part is stored.
    pub(crate) fn has_part(code: u8) -> bool {
        code == 1 || code == 2
    }

    /// Returns the number of low bits that it removes.
    pub(crate) fn trim(&self) -> u32 {
        if let Transform::Trim(k) = self { *k } else { 0 }
    }

    /// Reads the transform part of a tile of `n` elements.
    pub(crate) fn take<W: Word>(code: u8, part: &[u8], n: usize, ty: ElementType) -> Result<Self> {
        match (code, part) {
            (0, []) => Ok(Transform::Ordered),
            (3, []) => Ok(Transform::Dictionary),
            (1, &[k]) if (1..W::BITS).contains(&u32::from(k)) => Ok(Transform::Trim(u32::from(k))),
            (2, part) if ty.is_float() => Ok(Transform::ScaleOffset(Segments::take(part, n)?)),
            _ => Err(bad("transform", "a transform of this type", code)),
        }
    }
}

/// Returns the unsigned sort key of a pattern: in the order of floats or signed integers, or the pattern itself.
pub(crate) fn sort_key<W: Word>(b: W, ty: ElementType) -> W {
    let top = if ty.is_signed() { W::from_u64(1).shl(W::BITS - 1) } else { W::default() };
    key(b, ty).xor(top)
}

/// Converts float patterns to ordered integers, or back; integers stay unchanged.
pub(crate) fn order<W: Word>(grid: &mut [W], ty: ElementType) {
    if ty.is_float() {
        order_all(grid);
    }
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn trim_all<W: Word>(words: &mut [W], trim: u32, float: bool) {
    for w in words {
        let shifted = w.sar(trim);
        *w = if float { ord(shifted, trim) } else { shifted };
    }
}

/// Converts the patterns in `grid` to integers, for transforms without exceptions.
pub(crate) fn to_integers<W: Word>(grid: &mut [W], ty: ElementType, trim: u32) {
    if trim > 0 {
        trim_all(grid, trim, ty.is_float());
    } else {
        order(grid, ty);
    }
}

/// Inverts the transform: integers in, patterns out. Masked positions have 0.
pub(crate) fn invert<W: Word>(
    grid: &mut [W],
    transform: &Transform,
    ty: ElementType,
    dict: Option<&Dictionary>,
) -> Result<()> {
    match transform {
        Transform::Ordered => order(grid, ty),
        Transform::Trim(k) => untrim_all(grid, *k, ty.is_float()),
        Transform::ScaleOffset(segments) => scale_offset::invert(grid, segments)?,
        Transform::Dictionary => {
            let dict = dict.ok_or_else(|| bad("rank", "a dictionary", "none"))?;
            dict.lookup(grid)?;
        }
    }
    Ok(())
}

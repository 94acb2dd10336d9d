//! Stage 3, stride deltas. Stage 1 takes differences of neighbours. Later stages take differences of these
//! differences at a distance of one row, plane or volume. Neighbours and rows may be differenced repeatedly, or
//! neighbours not at all. Masked positions are excluded.

use crate::error::{Result, bad};
use crate::geometry::{DeltaAxes, Geometry};
use crate::running_sums;
use crate::word::Word;
use multiversion::multiversion;

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn inverse<W: Word>(x: &mut [W], s: usize) {
    let mut at = s;
    while at < x.len() {
        let (done, rest) = x.split_at_mut(at);
        for (a, b) in rest.iter_mut().zip(&done[at - s..]) {
            *a = a.plus(*b);
        }
        at += s;
    }
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn inverse_masked<W: Word>(x: &mut [W], pairs: &[u8], s: usize) {
    let mut at = s;
    while at < x.len() {
        let (done, rest) = x.split_at_mut(at);
        for ((a, b), m) in rest.iter_mut().zip(&done[at - s..]).zip(&pairs[at - s..]) {
            *a = a.plus(b.and(W::widen_mask(*m)));
        }
        at += s;
    }
}

/// The masked tile's valid positions, and those that follow a valid position, as bytes 0xFF and 0.
#[derive(Clone, Copy)]
pub(crate) struct Masked<'a> {
    pub(crate) valid: &'a [u8],
    /// Empty if no axes need it ([`needs_pairs`]).
    pub(crate) pairs: &'a [u8],
}

/// True if the inverse of `axes` needs to know which positions follow a valid one ([`Masked::pairs`]).
pub(crate) fn needs_pairs(geom: &Geometry, n: usize, axes: DeltaAxes) -> bool {
    axes.repeats().0 > 0 || axes.later(geom, n).iter().any(Option::is_some)
}

/// Undoes the neighbours' differences; `again` is the number of repeats after the first.
fn neighbours<W: Word>(grid: &mut [W], base: W, masked: Option<Masked<'_>>, again: u8) {
    if let Some(masked) = masked {
        let Masked { valid, pairs } = masked;
        return match again {
            0 => running_sums::of_valid::<W, 0>(grid, valid, pairs, base),
            1 => running_sums::of_valid::<W, 1>(grid, valid, pairs, base),
            2 => running_sums::of_valid::<W, 2>(grid, valid, pairs, base),
            _ => running_sums::of_valid::<W, 3>(grid, valid, pairs, base),
        };
    }
    match again {
        0 => running_sums::plain::<W, 1>(grid, base),
        1 => running_sums::plain::<W, 2>(grid, base),
        2 => running_sums::plain::<W, 3>(grid, base),
        _ => running_sums::plain::<W, 4>(grid, base),
    }
}

/// Returns the first valid position. Refuses a tile whose residual there is not 0.
pub(crate) fn check_first<W: Word>(grid: &[W], masked: Option<Masked<'_>>) -> Result<usize> {
    let first = masked.map_or(0, |m| m.valid.iter().position(|&v| v != 0).unwrap_or(0));
    match grid.get(first).filter(|r| **r != W::default()) {
        Some(residual) => Err(bad("first residual", 0, residual.to_u64())),
        None => Ok(first),
    }
}

/// Converts residuals to integers, in place.
pub(crate) fn decode<W: Word>(
    grid: &mut [W],
    base: W,
    masked: Option<Masked<'_>>,
    geom: &Geometry,
    axes: DeltaAxes,
) {
    decode_alone(grid, masked.map(|m| m.pairs), geom, axes);
    neighbours(grid, base, masked, axes.repeats().0);
}

/// Undoes all differences except the neighbours'. For a masked tile, `allowed` marks the values that may be added:
/// those of [`Masked::pairs`] if neighbours' differences follow, otherwise all valid ones.
pub(crate) fn decode_alone<W: Word>(
    grid: &mut [W],
    allowed: Option<&[u8]>,
    geom: &Geometry,
    axes: DeltaAxes,
) {
    for s in axes.later(geom, grid.len()).into_iter().rev().flatten() {
        match allowed {
            None => inverse(grid, s),
            Some(allowed) => inverse_masked(grid, allowed, s),
        }
    }
}

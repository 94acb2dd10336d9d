//! Stage 3, stride deltas: stage 1 differences neighbours, later stages difference those differences one
//! row, plane or volume apart. Masked positions take no part.

use super::bad;
use super::mask::Runs;
use super::word::Word;
use super::{Geometry, Strides};
use crate::error::Result;
use multiversion::multiversion;

/// `out[i] = d[i] - d[i - s]`, out of place.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn forward<W: Word>(d: &[W], s: usize, out: &mut [W]) {
    out[..s].copy_from_slice(&d[..s]);
    for ((o, a), b) in out[s..].iter_mut().zip(&d[s..]).zip(d) {
        *o = a.minus(*b);
    }
}

/// As [`forward`], where `pairs` allows.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn forward_masked<W: Word>(d: &[W], pairs: &[u8], s: usize, out: &mut [W]) {
    out[..s].copy_from_slice(&d[..s]);
    for (((o, a), b), m) in out[s..].iter_mut().zip(&d[s..]).zip(d).zip(pairs) {
        *o = a.minus(b.and(W::widen_mask(*m)));
    }
}

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

/// Replaces the mapped values in `grid` by their residuals (0 at the first valid position, anything at
/// masked ones) and gives the base. `strides` has its first bit set; there is a valid position.
pub(super) fn encode<W: Word>(
    grid: &mut Vec<W>,
    spare: &mut Vec<W>,
    pairs: &[u8],
    runs: &Runs,
    geom: &Geometry,
    strides: Strides,
) -> W {
    let base = runs.list.first().map_or(W::default(), |r| grid[r.start]);
    let mut previous = base;
    for run in &runs.list {
        for x in &mut grid[run.clone()] {
            let value = *x;
            *x = value.minus(previous);
            previous = value;
        }
    }
    let n = grid.len();
    for s in strides.later(geom, n).into_iter().flatten() {
        spare.resize(n, W::default());
        if runs.valid == n {
            forward(grid, s, spare);
        } else {
            forward_masked(grid, pairs, s, spare);
        }
        std::mem::swap(grid, spare);
    }
    base
}

/// Inverse of [`encode`], in place.
pub(super) fn decode<W: Word>(
    grid: &mut [W],
    base: W,
    pairs: &[u8],
    runs: &Runs,
    geom: &Geometry,
    strides: Strides,
) -> Result<()> {
    let n = grid.len();
    let first = runs.list.first().map_or(0, |r| r.start);
    if grid[first] != W::default() {
        return Err(bad("first residual", 0, grid[first].to_u64()));
    }
    for s in strides.later(geom, n).into_iter().rev().flatten() {
        if runs.valid == n {
            inverse(grid, s);
        } else {
            inverse_masked(grid, pairs, s);
        }
    }
    let mut sum = base;
    for run in &runs.list {
        for x in &mut grid[run.clone()] {
            sum = sum.plus(*x);
            *x = sum;
        }
    }
    Ok(())
}

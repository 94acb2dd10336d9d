//! Stage 3, stride deltas: stage 1 differences neighbours, later stages difference those differences one
//! row, plane or volume apart. Neighbours and rows may be differenced several times over. Masked positions take no part.

use crate::error::{Result, bad};
use crate::geometry::{DeltaAxes, Geometry};
use crate::mask::Runs;
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

/// Running sums, `N` times over, in one pass; the last begins with `base`.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn sums<W: Word, const N: usize>(x: &mut [W], base: W) {
    let mut sums = [W::default(); N];
    sums[N - 1] = base;
    for x in x {
        let mut value = *x;
        for sum in &mut sums {
            *sum = sum.plus(value);
            value = *sum;
        }
        *x = value;
    }
}

/// The same for the runs of a grid. The first word of a run is a difference from the run before: all sums but the last begin anew behind it.
fn run_sums<W: Word, const N: usize>(grid: &mut [W], base: W, runs: &Runs) {
    let mut sum = base;
    for run in &runs.list {
        let Some((first, rest)) = grid[run.clone()].split_first_mut() else { continue };
        sum = sum.plus(*first);
        *first = sum;
        let mut sums = [W::default(); N];
        for x in rest {
            let mut value = *x;
            for sum in &mut sums {
                *sum = sum.plus(value);
                value = *sum;
            }
            sum = sum.plus(value);
            *x = sum;
        }
    }
}

/// Undoes the neighbours' differences, of which there are `again` after the first.
fn neighbours<W: Word>(grid: &mut [W], base: W, runs: &Runs, again: u8) {
    if runs.valid == grid.len() {
        return match again {
            0 => sums::<W, 1>(grid, base),
            1 => sums::<W, 2>(grid, base),
            2 => sums::<W, 3>(grid, base),
            _ => sums::<W, 4>(grid, base),
        };
    }
    match again {
        0 => run_sums::<W, 0>(grid, base, runs),
        1 => run_sums::<W, 1>(grid, base, runs),
        2 => run_sums::<W, 2>(grid, base, runs),
        _ => run_sums::<W, 3>(grid, base, runs),
    }
}

/// Residuals to integers, in place.
pub(crate) fn decode<W: Word>(
    grid: &mut [W],
    base: W,
    pairs: &[u8],
    runs: &Runs,
    geom: &Geometry,
    axes: DeltaAxes,
) -> Result<()> {
    let n = grid.len();
    let first = runs.list.first().map_or(0, |r| r.start);
    if grid[first] != W::default() {
        return Err(bad("first residual", 0, grid[first].to_u64()));
    }
    for s in axes.later(geom, n).into_iter().rev().flatten() {
        if runs.valid == n {
            inverse(grid, s);
        } else {
            inverse_masked(grid, pairs, s);
        }
    }
    neighbours(grid, base, runs, axes.repeats().0);
    Ok(())
}

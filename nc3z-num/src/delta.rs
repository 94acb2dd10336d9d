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

/// Words whose sums [`sums_once`] finds at once.
const TOGETHER: usize = 8;

/// Running sums from `base` on, in one pass: those within a few words do not wait for each other.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn sums_once<W: Word>(x: &mut [W], base: W) {
    let mut sum = base;
    let (groups, rest) = x.as_chunks_mut::<TOGETHER>();
    for group in groups {
        let mut sums = *group;
        for apart in [1, 2, 4] {
            let before = sums;
            for i in apart..TOGETHER {
                sums[i] = before[i].plus(before[i - apart]);
            }
        }
        for (x, of_group) in group.iter_mut().zip(sums) {
            *x = of_group.plus(sum);
        }
        sum = group[TOGETHER - 1];
    }
    for x in rest {
        sum = sum.plus(*x);
        *x = sum;
    }
}

/// Running sums of the valid positions alone; masked ones get the sum before them.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn valid_sums<W: Word>(grid: &mut [W], valid: &[u8], base: W) {
    let mut sum = base;
    for (x, &v) in grid.iter_mut().zip(valid) {
        sum = sum.plus(x.and(W::widen_mask(v)));
        *x = sum;
    }
}

/// Running sums for the runs of a grid, `N` times over and once more over all runs. The first word of a run is a difference from the run
/// before: all sums but the last begin anew behind it.
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
fn neighbours<W: Word>(grid: &mut [W], base: W, valid: &[u8], runs: &Runs, again: u8) {
    if runs.valid == grid.len() {
        return match again {
            // Of bytes, eight are too few to gain by it.
            0 if W::BYTES > 1 => sums_once(grid, base),
            0 => sums::<W, 1>(grid, base),
            1 => sums::<W, 2>(grid, base),
            2 => sums::<W, 3>(grid, base),
            _ => sums::<W, 4>(grid, base),
        };
    }
    match again {
        0 => valid_sums(grid, valid, base),
        1 => run_sums::<W, 1>(grid, base, runs),
        2 => run_sums::<W, 2>(grid, base, runs),
        _ => run_sums::<W, 3>(grid, base, runs),
    }
}

/// Residuals to integers, in place.
pub(crate) fn decode<W: Word>(
    grid: &mut [W],
    base: W,
    (valid, pairs): (&[u8], &[u8]),
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
    neighbours(grid, base, valid, runs, axes.repeats().0);
    Ok(())
}

//! Differences along the delta axes.

use crate::encode::Runs;
use crate::geometry::{DeltaAxes, Geometry};
use crate::word::Word;
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

/// Replaces the mapped values in `grid` by their residuals (0 at the first valid position, anything at
/// masked ones) and gives the base. `axes` has its first bit set; there is a valid position.
pub(crate) fn encode<W: Word>(
    grid: &mut Vec<W>,
    spare: &mut Vec<W>,
    pairs: &[u8],
    runs: &Runs,
    geom: &Geometry,
    axes: DeltaAxes,
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
    let again = std::iter::repeat_n(1, usize::from(axes.repeats().0));
    for s in again.chain(axes.later(geom, n).into_iter().flatten()) {
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

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

/// Does the work of [`forward`], but subtracts only values that `pairs` marks.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn forward_masked<W: Word>(d: &[W], pairs: &[u8], s: usize, out: &mut [W]) {
    out[..s].copy_from_slice(&d[..s]);
    for (((o, a), b), m) in out[s..].iter_mut().zip(&d[s..]).zip(d).zip(pairs) {
        *o = a.minus(b.and(W::widen_mask(*m)));
    }
}

/// Replaces the mapped values in `grid` by their residuals (0 at the first valid position, undefined at masked
/// ones) and returns the base. `axes` has its first bit set; there is a valid position.
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
    let again = std::iter::repeat_n(1, usize::from(axes.repeats().0));
    let distances = again.chain(axes.later(geom, grid.len()).into_iter().flatten());
    differences(grid, spare, distances, (runs.valid < grid.len()).then_some(pairs));
    base
}

/// Replaces the mapped values by residuals without differences of neighbours, and without a base. `valid` is given if
/// the tile is masked.
pub(crate) fn encode_alone<W: Word>(
    grid: &mut Vec<W>,
    spare: &mut Vec<W>,
    valid: Option<&[u8]>,
    geom: &Geometry,
    axes: DeltaAxes,
) {
    let distances = axes.later(geom, grid.len()).into_iter().flatten();
    differences(grid, spare, distances, valid);
}

/// Takes differences at one distance after another; `allowed`, if given, marks the values that may be subtracted.
fn differences<W: Word>(
    grid: &mut Vec<W>,
    spare: &mut Vec<W>,
    distances: impl Iterator<Item = usize>,
    allowed: Option<&[u8]>,
) {
    for s in distances {
        spare.resize(grid.len(), W::default());
        match allowed {
            None => forward(grid, s, spare),
            Some(allowed) => forward_masked(grid, allowed, s, spare),
        }
        std::mem::swap(grid, spare);
    }
}

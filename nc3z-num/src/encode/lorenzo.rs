//! Residuals of Lorenzo prediction on floating point values.

use super::Runs;
use crate::delta::Masked;
use crate::geometry::Stencil;
use crate::lorenzo::{Buffers, Float, Workspace, expected_first, number, predicted};
use crate::word::{ByWidth, Word};
use multiversion::multiversion;

/// Replaces the integers in `grid` by their residuals (0 at the first valid position, undefined at masked ones) and
/// returns the base. There is a valid position.
pub(crate) fn encode<W: Word>(
    grid: &mut [W],
    masked: Option<Masked<'_>>,
    runs: &Runs,
    (stencil, trim): (Stencil, u32),
    work: &mut Workspace,
) -> W {
    let base = runs.list.first().map_or(W::default(), |run| grid[run.start]);
    match W::by_width(grid) {
        ByWidth::W32(grid) => forward(grid, masked, runs, (stencil, trim), u32::buffers(work)),
        ByWidth::W64(grid) => forward(grid, masked, runs, (stencil, trim), u64::buffers(work)),
        ByWidth::W8(_) | ByWidth::W16(_) => {}
    }
    base
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn forward<W: Float>(
    grid: &mut [W],
    masked: Option<Masked<'_>>,
    runs: &Runs,
    (stencil, trim): (Stencil, u32),
    buffers: &mut Buffers<W::Value>,
) {
    let Buffers { values, steps, expected } = buffers;
    let (valid, pairs) = (masked.map(|m| m.valid), masked.map(|m| m.pairs));
    let (n, near) = (grid.len(), stencil.near);
    values.clear();
    values.extend(grid.iter().map(|x| number(*x, trim)));
    steps.clear();
    steps.resize(n, W::Value::default());
    for ((step, value), before) in steps[1..].iter_mut().zip(&values[1..]).zip(&*values) {
        *step = *value - *before;
    }
    for (step, _) in steps.iter_mut().zip(pairs.unwrap_or_default()).filter(|(_, pair)| **pair == 0) {
        *step = W::Value::default();
    }
    steps.iter_mut().step_by(near).for_each(|step| *step = W::Value::default());
    expected.clear();
    expected.resize(n, W::Value::default());
    let after = |distance: usize| distance.min(n);
    if let Some(far) = stencil.far {
        expected[after(far)..].iter_mut().zip(&*steps).for_each(|(e, s)| *e += *s);
        expected[after(far + near)..].iter_mut().zip(&*steps).for_each(|(e, s)| *e -= *s);
    }
    expected[after(near)..].iter_mut().zip(&*steps).for_each(|(e, s)| *e += *s);
    // From here on, this buffer has the element from which each element is predicted.
    let before = steps;
    before[1..].copy_from_slice(&values[..n - 1]);
    for pair in runs.list.windows(2) {
        before[pair[1].start] = values[pair[0].end - 1];
    }
    for at in (near..n).step_by(near).filter(|at| valid.is_none_or(|valid| valid[at - near] != 0)) {
        before[at] = values[at - near];
        expected[at] = expected_first(stencil, values, valid, at);
    }
    for ((x, before), expected) in grid.iter_mut().zip(&*before).zip(&*expected) {
        *x = x.minus(predicted(*before, *expected, trim));
    }
    if let Some(run) = runs.list.first() {
        grid[run.start] = W::default();
    }
}

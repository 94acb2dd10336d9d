//! Runs of masks, of positions and of tiles.

use crate::error::Result;
use nc3z_format::selection::Run;

/// The distance between two counts of a mask, in elements.
const RANK_LEN: usize = 4096;

/// The number of true elements of a mask before an element.
pub(super) struct Ranks(Vec<usize>);

impl Ranks {
    pub(super) fn new(mask: &[bool]) -> Self {
        let mut all = 0;
        Ranks(
            mask.chunks(RANK_LEN)
                .map(|part| {
                    let before = all;
                    all += part.iter().filter(|selected| **selected).count();
                    before
                })
                .collect(),
        )
    }

    pub(super) fn before(&self, mask: &[bool], at: usize) -> usize {
        let part = at / RANK_LEN;
        self.0[part] + mask[part * RANK_LEN..at].iter().filter(|selected| **selected).count()
    }
}

/// Calls `each` with the first element and the length of each run of true elements.
pub(super) fn true_runs(mask: &[bool], mut each: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
    let mut at = 0;
    while let Some(gap) = mask[at..].iter().position(|selected| *selected) {
        at += gap;
        let count = mask[at..].iter().position(|selected| !selected).unwrap_or(mask.len() - at);
        each(at as u64, count as u64)?;
        at += count;
    }
    Ok(())
}

/// Calls `each` with every index of an array of `lens`, row-major.
pub(super) fn each_index(lens: &[u64], mut each: impl FnMut(&[u64]) -> Result<()>) -> Result<()> {
    if lens.contains(&0) {
        return Ok(());
    }
    let mut at = vec![0; lens.len()];
    loop {
        each(&at)?;
        let mut axis = lens.len();
        loop {
            let Some(next) = axis.checked_sub(1) else { return Ok(()) };
            axis = next;
            at[axis] += 1;
            if at[axis] < lens[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
}

/// Calls `each` with the position of every index of some axes and the position of its value, row-major.
pub(super) fn walk(
    axes: &[Vec<Run>],
    units: &[u64],
    value_units: &[u64],
    (at, value): (u64, u64),
    each: &mut dyn FnMut(u64, u64) -> Result<()>,
) -> Result<()> {
    let Some((runs, inner)) = axes.split_first() else { return each(at, value) };
    for run in runs {
        for n in 0..run.count {
            let (at, value) = (at + run.index(n) * units[0], value + run.place_of(n) * value_units[0]);
            walk(inner, &units[1..], &value_units[1..], (at, value), each)?;
        }
    }
    Ok(())
}

/// Returns an upper estimate of the number of tiles that ascending runs touch along an axis.
pub(super) fn tiles_of(runs: &[Run], size: u64) -> u64 {
    let mut last = None;
    let mut tiles = 0;
    for run in runs {
        let (first, end) = (run.low / size, run.last() / size);
        let touched = (end - first + 1).min(run.count);
        tiles += touched - u64::from(last == Some(first) && touched > 0);
        last = Some(end);
    }
    tiles
}

/// Splits runs of several tiles between two tiles.
pub(super) fn halves(runs: &[Run], size: u64) -> (Vec<Run>, Vec<Run>) {
    let first = runs.first().map_or(0, |run| run.low / size);
    let last = runs.last().map_or(0, |run| run.last() / size);
    let cut = first + (last - first).div_ceil(2);
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for run in runs {
        let before = (cut * size).saturating_sub(run.low).div_ceil(run.step).min(run.count);
        if before > 0 {
            low.push(run.part(0, before));
        }
        if before < run.count {
            high.push(run.part(before, run.count));
        }
    }
    (low, high)
}

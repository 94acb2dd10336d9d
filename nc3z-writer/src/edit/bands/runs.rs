//! Runs of indices, of masks and of positions.

use super::super::picks::Pick;
use super::narrow;
use crate::error::Result;
use nc3z_format::Error as FormatError;
use nc3z_staged::FlatRun;

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
pub(super) fn true_runs(mask: &[bool], mut each: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
    let mut at = 0;
    while let Some(gap) = mask[at..].iter().position(|selected| *selected) {
        at += gap;
        let count = mask[at..].iter().position(|selected| !selected).unwrap_or(mask.len() - at);
        each(at, count)?;
        at += count;
    }
    Ok(())
}

/// Calls `each` with every index of an array of `lens`, row-major.
pub(super) fn each_index(lens: &[usize], mut each: impl FnMut(&[usize]) -> Result<()>) -> Result<()> {
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
    axes: &[Vec<FlatRun>],
    units: &[usize],
    value_units: &[usize],
    (at, value): (usize, usize),
    each: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let Some((runs, inner)) = axes.split_first() else { return each(at, value) };
    for run in runs {
        for n in 0..run.count {
            let run = later(run, n);
            let (at, value) = (at + run.at * units[0], value + run.value * value_units[0]);
            walk(inner, &units[1..], &value_units[1..], (at, value), each)?;
        }
    }
    Ok(())
}

/// Returns a run without its first elements.
pub(super) fn later(run: &FlatRun, done: usize) -> FlatRun {
    let moved = run.value_step.unsigned_abs() * done;
    // The position after the last element of a descending run would be negative.
    let value = if run.value_step < 0 { run.value.saturating_sub(moved) } else { run.value + moved };
    FlatRun { at: run.at + done * run.step, value, count: run.count - done, ..*run }
}

/// Returns the indices of a dimension as ascending runs.
pub(super) fn runs_of(pick: &Pick) -> Result<Vec<FlatRun>> {
    let list = match pick {
        Pick::List(list) => narrow(list)?,
        Pick::Range { start, count, stride } => {
            let (start, count) = (narrow(&[*start])?[0], narrow(&[*count])?[0]);
            let step = usize::try_from(stride.unsigned_abs())
                .map_err(|_| FormatError::invalid("a stride beyond all lengths"))?;
            let span = count.saturating_sub(1);
            let step = if span == 0 { 1 } else { step };
            let run = if *stride < 0 && span > 0 {
                FlatRun { at: start - span * step, step, value: span, value_step: -1, count }
            } else {
                FlatRun { at: start, step, value: 0, value_step: 1, count }
            };
            return Ok(if count == 0 { Vec::new() } else { vec![run] });
        }
    };
    let mut runs: Vec<FlatRun> = Vec::new();
    for (value, at) in list.into_iter().enumerate() {
        match runs.last_mut() {
            Some(run) if run.count == 1 => (run.step, run.count) = (at - run.at, 2),
            Some(run) if at - run.at == run.step * run.count => run.count += 1,
            _ => runs.push(FlatRun { at, step: 1, value, value_step: 1, count: 1 }),
        }
    }
    Ok(runs)
}

/// Returns an upper estimate of the number of tiles that ascending runs touch along an axis.
pub(super) fn tiles_of(runs: &[FlatRun], size: usize) -> usize {
    let mut last = None;
    let mut tiles = 0_usize;
    for run in runs {
        let (first, end) = (run.at / size, (run.at + (run.count - 1) * run.step) / size);
        let touched = (end - first + 1).min(run.count);
        tiles += touched - usize::from(last == Some(first) && touched > 0);
        last = Some(end);
    }
    tiles
}

/// Splits runs of several tiles between two tiles.
pub(super) fn halves(runs: &[FlatRun], size: usize) -> (Vec<FlatRun>, Vec<FlatRun>) {
    let first = runs.first().map_or(0, |run| run.at / size);
    let last = runs.last().map_or(0, |run| (run.at + (run.count - 1) * run.step) / size);
    let cut = first + (last - first).div_ceil(2);
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for run in runs {
        let before = (cut * size).saturating_sub(run.at).div_ceil(run.step).min(run.count);
        if before > 0 {
            low.push(FlatRun { count: before, ..*run });
        }
        if before < run.count {
            high.push(later(run, before));
        }
    }
    (low, high)
}

//! A lane: a quarter of the valid positions, with its own previous rows.

use super::context::{Model, north_classes};
use crate::mask::Runs;
use std::ops::Range;

/// Most values whose contexts are prepared at once.
pub(crate) const AHEAD: usize = 1024;

/// The valid indices of the four lanes of `nv` values.
pub(crate) fn split(nv: usize) -> [Range<usize>; 4] {
    let q = nv.div_ceil(4);
    std::array::from_fn(|l| (l * q).min(nv)..((l + 1) * q).min(nv))
}

/// Most positions, masked ones included, whose contexts are prepared at once.
const SPAN: usize = 2 * AHEAD;

/// One lane of a decoder.
pub(crate) struct Lane<'a> {
    /// Its tokens, compacted; `done` of them are known.
    pub(crate) tokens: &'a mut [u8],
    pub(crate) done: usize,
    /// Contexts of the tokens `ready_from..ready_to`.
    pub(crate) contexts: Vec<u16>,
    pub(crate) ready_from: usize,
    pub(crate) ready_to: usize,
    /// Tokens on the grid, from the lane's first valid position on; empty where nothing is masked.
    grid: &'a mut [u8],
    runs: &'a [Range<usize>],
    /// Grid position of `grid[0]`.
    origin: usize,
    /// The next position that wants a context: run, and offset in it.
    cursor: (usize, usize),
}

impl<'a> Lane<'a> {
    /// The four lanes over `tokens`, and over `grid` where something is masked.
    pub(crate) fn all(tokens: &'a mut [u8], mut grid: &'a mut [u8], runs: &'a Runs) -> Vec<Lane<'a>> {
        let ranges = split(tokens.len());
        let starts: [(usize, usize); 4] = locate(runs, &ranges);
        let position =
            |(run, offset): (usize, usize)| runs.list.get(run).map_or(usize::MAX, |r| r.start + offset);
        let mut lanes = Vec::with_capacity(4);
        let (mut rest, mut taken) = (tokens, 0);
        for l in 0..4 {
            let (mine, others) = std::mem::take(&mut rest).split_at_mut(ranges[l].len());
            rest = others;
            let origin = position(starts[l]);
            let part: &mut [u8] = if grid.is_empty() || origin == usize::MAX {
                &mut []
            } else {
                let (_, from_here) = std::mem::take(&mut grid).split_at_mut(origin - taken);
                let end = if l < 3 { position(starts[l + 1]) } else { usize::MAX };
                let (part, later) = from_here.split_at_mut(end.saturating_sub(origin).min(from_here.len()));
                grid = later;
                taken = origin + part.len();
                part
            };
            // As many as are prepared at most.
            let ahead = if part.is_empty() { AHEAD.min(mine.len()) } else { SPAN.min(part.len()) };
            lanes.push(Lane {
                tokens: mine,
                done: 0,
                contexts: vec![0; ahead],
                ready_from: 0,
                ready_to: 0,
                grid: part,
                runs: &runs.list,
                origin,
                cursor: starts[l],
            });
        }
        lanes
    }

    /// Prepares contexts of the next tokens; all prepared before are decoded.
    pub(crate) fn refill(&mut self, model: &Model, unit: u16) {
        let left = self.tokens.len() - self.done;
        if model.stride == 0 {
            self.contexts[..left.min(AHEAD)].fill(0);
            self.ready_from = self.done;
            self.ready_to = self.done + left.min(AHEAD);
        } else if self.grid.is_empty() {
            self.refill_plain(model, unit, left);
        } else {
            self.refill_masked(model, unit);
        }
    }

    fn refill_plain(&mut self, model: &Model, unit: u16, left: usize) {
        let count = left.min(AHEAD).min(model.stride - 1);
        self.ready_from = self.done;
        self.ready_to = self.done + count;
        contexts_of(self.tokens, self.done, model, unit, &mut self.contexts[..count]);
    }

    fn refill_masked(&mut self, model: &Model, unit: u16) {
        // Put the tokens of the last round on the grid: they end where the cursor stands.
        self.scatter();
        self.ready_from = self.done;
        self.ready_to = self.done;
        let Some(start) = self.runs.get(self.cursor.0).map(|r| r.start + self.cursor.1) else { return };
        // Contexts of the next positions, masked ones too, as far as the previous row is known; then those of the runs are moved together.
        let limit = start + (model.stride - 1).min(SPAN);
        let most = (self.tokens.len() - self.done).min(AHEAD);
        let (mut count, mut end, (mut run, mut offset)) = (0, start, self.cursor);
        while count < most
            && let Some(r) = self.runs.get(run).filter(|r| r.start + offset < limit)
        {
            let at = r.start + offset;
            end = r.end.min(at + most - count).min(limit);
            count += end - at;
            (run, offset) = if end == r.end { (run + 1, 0) } else { (run, end - r.start) };
        }
        let span = &mut self.contexts[..end - start];
        contexts_of(self.grid, start - self.origin, model, unit, span);
        let mut to = 0;
        for r in &self.runs[self.cursor.0..self.runs.len().min(run + 1)] {
            let (from, end) = (r.start.max(start) - start, r.end.min(end).saturating_sub(start));
            if from >= end {
                break;
            }
            if from > to {
                span.copy_within(from..end, to);
            }
            to += end - from;
        }
        self.cursor = (run, offset);
        self.ready_to = self.done + count;
    }

    /// Copies the tokens `ready_from..done` to the grid; the cursor stands behind the last of them.
    fn scatter(&mut self) {
        let (mut run, mut end) = self.cursor;
        let mut hi = self.done;
        while hi > self.ready_from {
            if end == 0 {
                run -= 1;
                end = self.runs[run].len();
            }
            let len = end.min(hi - self.ready_from);
            let at = self.runs[run].start + end - len - self.origin;
            self.grid[at..at + len].copy_from_slice(&self.tokens[hi - len..hi]);
            hi -= len;
            end -= len;
        }
    }
}

/// Run and offset of the first valid index of each lane.
fn locate(runs: &Runs, ranges: &[Range<usize>; 4]) -> [(usize, usize); 4] {
    let mut out = [(runs.list.len(), 0); 4];
    let (mut l, mut before) = (0, 0);
    for (i, run) in runs.list.iter().enumerate() {
        while l < 4 && ranges[l].start < before + run.len() {
            if !ranges[l].is_empty() {
                out[l] = (i, ranges[l].start - before);
            }
            l += 1;
        }
        before += run.len();
    }
    out
}

/// Contexts of the positions from `from` on, relative to the lane's first position.
pub(crate) fn contexts_of(grid: &[u8], from: usize, model: &Model, unit: u16, out: &mut [u16]) {
    let none = (model.stride + 1).saturating_sub(from).min(out.len());
    let (head, tail) = out.split_at_mut(if model.stride == 0 { out.len() } else { none });
    let middle = u16::try_from(model.middle()).unwrap_or(0);
    head.fill(if model.stride == 0 { 0 } else { middle * unit });
    if !tail.is_empty() {
        north_classes(grid, from + none, model.stride, &model.north, unit, tail);
    }
}

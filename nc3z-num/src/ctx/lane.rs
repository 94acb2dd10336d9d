//! A lane: a quarter of the valid positions, with its own previous rows.

use super::context::{Model, north_classes};
use crate::mask::{gather, positions, scatter};
use std::ops::Range;

/// The largest number of values whose contexts are prepared at once.
pub(crate) const AHEAD: usize = 1024;

/// Returns the valid indices of the four lanes of `nv` values.
pub(crate) fn split(nv: usize) -> [Range<usize>; 4] {
    let q = nv.div_ceil(4);
    std::array::from_fn(|l| (l * q).min(nv)..((l + 1) * q).min(nv))
}

/// One lane of a decoder.
pub(crate) struct Lane<'a> {
    /// Its tokens, compacted; `done` of them are known.
    pub(crate) tokens: &'a mut [u8],
    pub(crate) done: usize,
    /// Contexts of the tokens `ready_from..ready_to`.
    pub(crate) contexts: Vec<u16>,
    pub(crate) ready_from: usize,
    pub(crate) ready_to: usize,
    /// The grid, if elements are masked.
    masked: Option<Masked<'a>>,
}

/// The positions of a lane, from its first valid one to the next lane's.
struct Masked<'a> {
    /// Tokens at their positions, 0 where masked.
    grid: &'a mut [u8],
    /// 0xFF where a position is valid, else 0.
    valid: &'a [u8],
    /// Contexts of `from..to` are prepared; tokens before `from` are on the grid.
    from: usize,
    to: usize,
}

impl<'a> Lane<'a> {
    /// Creates the four lanes of `tokens`. If elements are masked, `valid` marks the others, and `grid` has a
    /// position for each element.
    pub(crate) fn all(tokens: &'a mut [u8], grid: &'a mut [u8], valid: Option<&'a [u8]>) -> Vec<Lane<'a>> {
        let ranges = split(tokens.len());
        let starts = valid.map(|valid| positions(valid, ranges.clone().map(|r| r.start)));
        let (mut rest, mut grid) = (tokens, grid);
        let mut lanes = Vec::with_capacity(4);
        for (l, range) in ranges.into_iter().enumerate() {
            let mine = rest.split_off_mut(..range.len()).unwrap_or_default();
            let masked = valid.zip(starts).map(|(valid, starts)| {
                let end = starts.get(l + 1).copied().unwrap_or(valid.len());
                // Positions before the first lane belong to no lane.
                let before = valid.len() - grid.len();
                let mut part = grid.split_off_mut(..end - before).unwrap_or_default();
                let grid = part.split_off_mut(starts[l] - before..).unwrap_or_default();
                Masked { grid, valid: &valid[starts[l]..end], from: 0, to: 0 }
            });
            let ahead = AHEAD.min(masked.as_ref().map_or(mine.len(), |m| m.valid.len()));
            let contexts = vec![0; ahead];
            lanes.push(Lane { tokens: mine, done: 0, contexts, ready_from: 0, ready_to: 0, masked });
        }
        lanes
    }

    /// Returns the contexts of the next `count` tokens, and the positions for them; these then count as done.
    pub(crate) fn next(&mut self, count: usize) -> (&[u16], &mut [u8]) {
        let from = self.done;
        self.done += count;
        let contexts = &self.contexts[from - self.ready_from..self.done - self.ready_from];
        (contexts, &mut self.tokens[from..self.done])
    }

    /// Prepares contexts of the next tokens; all prepared tokens must be decoded.
    pub(crate) fn refill(&mut self, model: &Model, unit: u16) {
        let tokens = &self.tokens[self.ready_from..self.done];
        self.ready_from = self.done;
        let count = match &mut self.masked {
            None => {
                let count = (self.tokens.len() - self.done).min(AHEAD).min(model.stride - 1);
                contexts_of(self.tokens, self.done, model, unit, &mut self.contexts[..count]);
                count
            }
            Some(masked) => {
                masked.place(tokens);
                masked.contexts(model, unit, &mut self.contexts)
            }
        };
        self.ready_to = self.done + count;
    }
}

impl Masked<'_> {
    /// Copies the tokens of `from..to` to the grid.
    fn place(&mut self, tokens: &[u8]) {
        let span = &mut self.grid[self.from..self.to];
        let valid = &self.valid[self.from..self.to];
        span[..tokens.len()].copy_from_slice(tokens);
        scatter(span, valid, tokens.len());
        for (token, valid) in span.iter_mut().zip(valid) {
            *token &= valid;
        }
        self.from = self.to;
    }

    /// Prepares contexts of the next positions, as far as the previous row is known. Returns the number of valid
    /// ones, whose contexts come first. Returns `None` only after the last valid position.
    fn contexts(&mut self, model: &Model, unit: u16, contexts: &mut [u16]) -> usize {
        while self.to < self.valid.len() {
            let len = (self.valid.len() - self.to).min(contexts.len()).min(model.stride - 1);
            let end = self.to + len;
            let span = &mut contexts[..len];
            contexts_of(self.grid, self.to, model, unit, span);
            let count = gather(span, &self.valid[self.to..end]);
            // The grid is 0 where all elements are masked.
            (self.from, self.to) = (self.to, end);
            if count > 0 {
                return count;
            }
        }
        0
    }
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

//! Which contexts the tokens of a tile have, by a sample of them: thresholds, and whether the previous row is worth its time.

use super::context::averages_of;
use super::model::{Histogram, tables, thresholds};
use crate::ctx::context::Model;
use crate::ctx::limits::{MAX_CONTEXTS, MAX_NORTH, MAX_WEST};
use crate::ctx::token::{TOKENS, raw_bits};
use crate::encode::plan::Shape;
use std::ops::Range;

/// At most so many values are looked at.
const VALUES: usize = 1 << 16;
/// Values that follow each other in a sample.
const PIECE: usize = 1024;
/// Tiles of fewer values have no contexts.
const FEWEST: usize = 1024;

/// Tokens of a tile, as far as contexts are made of them.
pub(super) struct Sample<'a> {
    pub(super) tokens: &'a [u8],
    /// The tokens at their positions, 0 where masked.
    pub(super) grid: &'a [u8],
    /// The parts of the grid that belong to each lane.
    pub(super) lanes: &'a [Range<usize>; 4],
    /// Positions from one row to the next, 0 without rows.
    pub(super) stride: usize,
}

/// Pieces of `len` values: all of them, or evenly spread ones.
fn pieces(len: usize) -> impl Iterator<Item = Range<usize>> {
    let every = len.div_ceil(VALUES).max(1);
    (0..len).step_by(PIECE * every).map(move |s| s..(s + PIECE).min(len))
}

impl Sample<'_> {
    /// The best thresholds, with the previous row or without it.
    pub(super) fn model(&self, shape: Shape, averages: &mut Vec<u8>) -> Model {
        if self.tokens.len() < FEWEST {
            return Model::default();
        }
        let kw = usize::from(shape.west).clamp(1, MAX_WEST);
        let kn = if self.stride == 0 { 1 } else { usize::from(shape.north).clamp(1, MAX_NORTH) };
        let kn = kn.min(MAX_CONTEXTS / kw);
        let by_west = if kw > 1 || kn > 1 { self.after_each() } else { Vec::new() };
        if kn > 1 {
            let by_north = self.below_each(averages);
            let north = thresholds(&by_north, kn);
            let model = Model { stride: self.stride, north, west: thresholds(&by_west, kw) };
            if !model.north.is_empty() && self.rows_pay(&model, shape, averages) {
                return model;
            }
        }
        let kw = if kn > 1 { usize::from(shape.alone).clamp(1, MAX_WEST) } else { kw };
        Model { stride: 0, north: Vec::new(), west: thresholds(&by_west, kw) }
    }

    /// A histogram for each token: of those that follow it.
    fn after_each(&self) -> Vec<Histogram> {
        let mut rows = self.histograms();
        for piece in pieces(self.tokens.len()) {
            for pair in self.tokens[piece].windows(2) {
                rows[usize::from(pair[0])][usize::from(pair[1])] += 1;
            }
        }
        rows
    }

    /// A histogram for each average of the previous row: of the tokens below it.
    fn below_each(&self, averages: &mut Vec<u8>) -> Vec<Histogram> {
        let mut rows = self.histograms();
        self.each_below(averages, |average, tokens| {
            rows[usize::from(average)][usize::from(tokens[1])] += 1;
        });
        rows
    }

    /// An empty histogram for each token that occurs; averages are no larger.
    fn histograms(&self) -> Vec<Histogram> {
        let largest = self.tokens.iter().copied().max().map_or(0, usize::from);
        vec![[0; TOKENS]; largest + 1]
    }

    /// Calls `f` with the average of the previous row, the token before, and the token.
    fn each_below(&self, averages: &mut Vec<u8>, mut f: impl FnMut(u8, [u8; 2])) {
        averages.resize(PIECE, 0);
        for lane in self.lanes.iter().filter(|g| g.len() > self.stride + 1) {
            let grid = &self.grid[lane.clone()];
            for piece in pieces(grid.len() - self.stride - 1) {
                let from = piece.start + self.stride + 1;
                averages_of(grid, from, self.stride, &mut averages[..piece.len()]);
                let pairs = grid[from - 1..from + piece.len()].windows(2);
                for (&average, pair) in averages.iter().zip(pairs) {
                    f(average, [pair[0], pair[1]]);
                }
            }
        }
    }

    /// Whether the previous row saves as much as it must, compared with more classes of the token before alone.
    fn rows_pay(&self, model: &Model, shape: Shape, averages: &mut Vec<u8>) -> bool {
        if shape.rows_worth == 0 {
            return true;
        }
        let class = |thresholds: &[u8], x: u8| thresholds.iter().filter(|&&t| x >= t).count();
        let mut with = vec![[0; TOKENS]; model.kn() * model.kw()];
        let mut rows = self.histograms();
        let classes: Vec<usize> = (0..=u8::MAX).map(|t| class(&model.west, t)).collect();
        self.each_below(averages, |average, [before, token]| {
            let context = class(&model.north, average) * model.kw() + classes[usize::from(before)];
            with[context][usize::from(token)] += 1;
            rows[usize::from(before)][usize::from(token)] += 1;
        });
        let west = thresholds(&rows, usize::from(shape.alone).clamp(1, MAX_WEST));
        let mut without = vec![[0; TOKENS]; west.len() + 1];
        for (before, row) in (0..).zip(&rows) {
            let sum = &mut without[class(&west, before)];
            sum.iter_mut().zip(row).for_each(|(s, &r)| *s += r);
        }
        let raw: u64 =
            rows.iter().flatten().zip((0..TOKENS).cycle()).map(|(&c, t)| u64::from(c) * raw_of(t)).sum();
        let bits = |histograms: &[Histogram]| tables(histograms, u32::from(shape.log)).bits;
        let (with, without) = (bits(&with), bits(&without));
        let all = without + (raw << 16);
        without.saturating_sub(with) * 1000 >= all * u64::from(shape.rows_worth)
    }
}

/// Raw bits of a token.
fn raw_of(token: usize) -> u64 {
    u8::try_from(token).map_or(0, |t| u64::from(raw_bits(t)))
}

//! Chooses the contexts of a tile's tokens: thresholds, from a sample of the tokens.

use super::context::averages_of;
use super::model::{Histogram, thresholds};
use crate::ctx::context::Model;
use crate::ctx::limits::{MAX_CONTEXTS, MAX_NORTH, MAX_WEST};
use crate::ctx::token::TOKENS;
use crate::encode::plan::Shape;
use std::ops::Range;

/// The largest number of sampled values.
const VALUES: usize = 1 << 16;
/// The number of consecutive values in a piece of the sample.
const PIECE: usize = 1024;
/// Tiles of fewer values have no contexts.
const FEWEST: usize = 1024;

/// The tokens of a tile and the data for their contexts.
pub(super) struct Sample<'a> {
    pub(super) tokens: &'a [u8],
    /// The tokens at their positions, 0 where masked.
    pub(super) grid: &'a [u8],
    /// The ranges of the grid for each lane.
    pub(super) lanes: &'a [Range<usize>; 4],
    /// Positions from one row to the next, 0 without rows.
    pub(super) stride: usize,
}

/// Returns pieces of `len` values: all of them, or evenly spread ones.
fn pieces(len: usize) -> impl Iterator<Item = Range<usize>> {
    let every = len.div_ceil(VALUES).max(1);
    (0..len).step_by(PIECE * every).map(move |s| s..(s + PIECE).min(len))
}

impl Sample<'_> {
    /// Returns the model with the best thresholds. It has at most the number of classes that `shape` allows.
    pub(super) fn model(&self, shape: Shape, averages: &mut Vec<u8>) -> Model {
        if self.tokens.len() < FEWEST {
            return Model::default();
        }
        let kw = usize::from(shape.west).clamp(1, MAX_WEST);
        let kn = if self.stride == 0 { 1 } else { usize::from(shape.north).clamp(1, MAX_NORTH) };
        let kn = kn.min(MAX_CONTEXTS / kw);
        let west = if kw > 1 { thresholds(&self.after_each(), kw) } else { Vec::new() };
        let north = if kn > 1 { thresholds(&self.below_each(averages), kn) } else { Vec::new() };
        Model { stride: if north.is_empty() { 0 } else { self.stride }, north, west }
    }

    /// Returns, for each token, a histogram of the tokens after it.
    fn after_each(&self) -> Vec<Histogram> {
        let mut rows = self.histograms();
        for piece in pieces(self.tokens.len()) {
            for pair in self.tokens[piece].windows(2) {
                rows[usize::from(pair[0])][usize::from(pair[1])] += 1;
            }
        }
        rows
    }

    /// Returns, for each average of the previous row, a histogram of the tokens below it.
    fn below_each(&self, averages: &mut Vec<u8>) -> Vec<Histogram> {
        let mut rows = self.histograms();
        averages.resize(PIECE, 0);
        for lane in self.lanes.iter().filter(|g| g.len() > self.stride + 1) {
            let grid = &self.grid[lane.clone()];
            for piece in pieces(grid.len() - self.stride - 1) {
                let from = piece.start + self.stride + 1;
                averages_of(grid, from, self.stride, &mut averages[..piece.len()]);
                for (&average, &token) in averages.iter().zip(&grid[from..from + piece.len()]) {
                    rows[usize::from(average)][usize::from(token)] += 1;
                }
            }
        }
        rows
    }

    /// Returns an empty histogram for each token that occurs; averages are not larger than that.
    fn histograms(&self) -> Vec<Histogram> {
        let largest = self.tokens.iter().copied().max().map_or(0, usize::from);
        vec![[0; TOKENS]; largest + 1]
    }
}

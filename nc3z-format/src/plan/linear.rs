//! Linear tiles: the selection as one grid over the flattened array, cut at tile borders, and at borders of branches where there are
//! branches.

use std::borrow::Cow;

use super::grid::{Axis, Grid};
use super::{TilePlan, output_base, output_steps};
use crate::selection::Line;
use crate::tile::Tiling;

/// A selection, at least one element of an array that is not empty, in linear tiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinearPlan {
    /// Elements of a tile.
    len: u64,
    /// Elements of a branch, if the first tile of each branch begins with it.
    branch: Option<u64>,
    /// Leading elements that exist: where the last tile ends.
    present: u64,
    grid: Grid,
    /// Ordinal after the last position that is present.
    end: u64,
    /// Every step leaves its tile.
    leaps: bool,
}

impl LinearPlan {
    #[inline]
    pub(super) fn new(tiling: &Tiling, len: u64, branch: Option<u64>, lines: &[Line]) -> Self {
        let mut stride = 1; // of the array; a product of its dimensions, so within `MAX_ELEMENTS`
        let mut src = 0;
        let axes = output_steps(lines).zip(tiling.shape().iter().rev()).map(|((line, dst), n)| {
            let axis = Axis { count: line.count, src: line.step * stride, dst };
            src += line.low * stride;
            stride *= n;
            axis
        });
        let grid = Grid::from_inner(axes);
        let grid = Grid { src, dst: output_base(lines), ..grid };
        let end = grid.seek(tiling.present());
        let leaps = grid.gaps().is_some_and(|(closest, _)| closest >= len);
        LinearPlan { len, branch, present: tiling.present(), grid, end, leaps }
    }

    pub(super) fn elements(&self) -> u64 {
        self.end
    }

    /// The tile that has this element of the array, its first element, and its elements if all are present.
    #[inline]
    fn tile_at(&self, src: u64) -> (u64, u64, u64) {
        let Some(branch) = self.branch else {
            let tile = src / self.len;
            return (tile, tile * self.len, self.len);
        };
        let (number, within) = (src / branch, src % branch / self.len);
        let len = self.len.min(branch - within * self.len);
        (number * branch.div_ceil(self.len) + within, number * branch + within * self.len, len)
    }

    pub(super) fn tile_count(&self) -> u64 {
        let tile_of = |ordinal| self.tile_at(self.grid.locate(ordinal).0).0;
        match (self.end, self.grid.gaps()) {
            (0, _) => 0,
            (1, _) | (_, None) => 1,
            // No step leaps over a tile: all from the first to the last are touched.
            (end, Some((_, widest))) if widest <= self.len && self.branch.is_none() => {
                tile_of(end - 1) - tile_of(0) + 1
            }
            (end, _) if self.leaps => end,
            _ => self.tiles().cut_all(),
        }
    }

    pub(super) fn tiles(&self) -> LinearTiles<'_> {
        LinearTiles { plan: self, next: 0 }
    }
}

/// The tiles of a linear plan.
#[derive(Debug, Clone)]
pub(super) struct LinearTiles<'p> {
    plan: &'p LinearPlan,
    /// Ordinal of the first position not yet given out.
    next: u64,
}

/// The positions of one tile.
struct Cut {
    tile: u64,
    /// The first element of the cut.
    origin: u64,
    /// Its elements, if all are present.
    len: u64,
    first: u64,
    end: u64,
    dst: u64,
}

impl<'p> LinearTiles<'p> {
    /// The positions in the same tile as the next one. A search finds the tile's end, without visiting each
    /// position.
    #[inline]
    fn cut(&mut self) -> Option<Cut> {
        let LinearPlan { grid, end, leaps, .. } = self.plan;
        if self.next >= *end {
            return None;
        }
        let first = self.next;
        let (src, dst) = grid.locate(first);
        let (tile, origin, len) = self.plan.tile_at(src);
        self.next = if *leaps { first + 1 } else { grid.seek(origin.saturating_add(len)).min(*end) };
        Some(Cut { tile, origin, len, first, end: self.next, dst })
    }

    fn cut_all(mut self) -> u64 {
        let mut tiles = 0;
        while self.cut().is_some() {
            tiles += 1;
        }
        tiles
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<TilePlan<'p>> {
        let Cut { tile, origin, len, first, end, dst } = self.cut()?;
        let LinearPlan { present, grid, .. } = self.plan;
        let decoded = (present - origin).min(len);
        let elements = end - first;
        let whole = elements == decoded && grid.ascends(first, end);
        Some(TilePlan {
            tile,
            decoded,
            elements,
            whole: whole.then_some(dst),
            grid: Cow::Borrowed(grid),
            first,
            origin,
        })
    }
}

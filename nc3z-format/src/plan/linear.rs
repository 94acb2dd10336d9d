//! Linear tiles: the selection as one grid over the flattened array, cut at tile borders.

use std::borrow::Cow;

use super::grid::{Axis, Grid};
use super::{TilePlan, output_base, output_steps};
use crate::select::Line;
use crate::tile::Tiling;

/// A selection, at least one element of an array that is not empty, in linear tiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinearPlan {
    /// Elements of a tile.
    len: u64,
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
    pub(super) fn new(tiling: &Tiling, len: u64, lines: &[Line]) -> Self {
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
        LinearPlan { len, present: tiling.present(), grid, end, leaps }
    }

    pub(super) fn elements(&self) -> u64 {
        self.end
    }

    pub(super) fn tile_count(&self) -> u64 {
        let tile_of = |ordinal| self.grid.locate(ordinal).0 / self.len;
        match (self.end, self.grid.gaps()) {
            (0, _) => 0,
            (1, _) | (_, None) => 1,
            // No step leaps over a tile: all from the first to the last are touched.
            (end, Some((_, widest))) if widest <= self.len => tile_of(end - 1) - tile_of(0) + 1,
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
    first: u64,
    end: u64,
    dst: u64,
}

impl<'p> LinearTiles<'p> {
    /// The positions in the same tile as the next one. A search finds the tile's end, without visiting each
    /// position.
    #[inline]
    fn cut(&mut self) -> Option<Cut> {
        let LinearPlan { len, grid, end, leaps, .. } = self.plan;
        if self.next >= *end {
            return None;
        }
        let first = self.next;
        let (src, dst) = grid.locate(first);
        let tile = src / len;
        self.next = if *leaps { first + 1 } else { grid.seek((tile * len).saturating_add(*len)).min(*end) };
        Some(Cut { tile, first, end: self.next, dst })
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
        let Cut { tile, first, end, dst } = self.cut()?;
        let LinearPlan { len, present, grid, .. } = self.plan;
        let origin = tile * len;
        let decoded = (present - origin).min(*len);
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

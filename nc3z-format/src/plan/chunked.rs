//! Chunks: a projection per dimension, and their cross product.

use std::borrow::Cow;

use super::grid::{Axis, Grid, moved};
use super::{TilePlan, output_base, output_steps};
use crate::selection::Line;
use crate::tile::{Edge, Tiling};

/// A selection, at least one element of an array that is not empty, in chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChunkedPlan {
    edge: Edge,
    /// Output position of the smallest index along every dimension.
    dst: u64,
    /// Outermost first. All counts are at least 1, unless no selected element is present.
    dims: Vec<Dim>,
}

/// One dimension: the selection, the chunks, and the place in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Dim {
    len: u64,
    chunk: u64,
    /// Tile numbers from one chunk to the next along this dimension.
    tile_stride: u64,
    line: Line,
    /// Output distance from one selected index to the next.
    dst: i64,
}

/// The projection of one chunk: the selected indices `first..end` (ordinals in the line) are in chunk
/// `chunk`.
#[derive(Debug, Clone, Copy)]
struct Projection {
    chunk: u64,
    first: u64,
    end: u64,
}

impl Dim {
    /// Index in the array of the `i`-th one selected.
    fn index(&self, i: u64) -> u64 {
        self.line.low + i * self.line.step
    }

    /// The projection of the chunk that holds the `first`-th selected index.
    fn project(&self, first: u64) -> Projection {
        let chunk = self.index(first) / self.chunk;
        let limit = (chunk * self.chunk).saturating_add(self.chunk);
        let end = (limit - self.line.low).div_ceil(self.line.step).min(self.line.count);
        Projection { chunk, first, end }
    }

    /// Chunks touched: all between the first and the last if no step leaps over one, else each by one index.
    fn chunks(&self) -> u64 {
        if self.line.step >= self.chunk {
            return self.line.count;
        }
        self.index(self.line.count - 1) / self.chunk - self.line.low / self.chunk + 1
    }

    /// Length of chunk `chunk` once decoded.
    fn decoded(&self, chunk: u64, edge: Edge) -> u64 {
        match edge {
            Edge::Padded => self.chunk,
            Edge::Clipped => self.chunk.min(self.len - chunk * self.chunk),
        }
    }
}

impl ChunkedPlan {
    pub(super) fn new(tiling: &Tiling, chunk: &[u64], edge: Edge, lines: &[Line]) -> Self {
        let mut tile_stride = 1;
        let cut = tiling.shape().iter().zip(chunk).rev();
        let mut dims: Vec<Dim> = output_steps(lines)
            .zip(cut)
            .map(|((line, dst), (&len, &chunk))| {
                let dim = Dim { len, chunk, tile_stride, line: *line, dst };
                tile_stride *= len.div_ceil(chunk);
                dim
            })
            .collect();
        dims.reverse();
        if let Some(first) = dims.first_mut() {
            // Only whole layers along dimension 0 can be missing.
            let limit = (tiling.tile_count() / first.tile_stride).saturating_mul(first.chunk);
            let line = &mut first.line;
            line.count = line.count.min(limit.saturating_sub(line.low).div_ceil(line.step));
        }
        ChunkedPlan { edge, dst: output_base(lines), dims }
    }

    pub(super) fn elements(&self) -> u64 {
        self.dims.iter().map(|d| d.line.count).product()
    }

    pub(super) fn tile_count(&self) -> u64 {
        if self.elements() == 0 { 0 } else { self.dims.iter().map(Dim::chunks).product() }
    }

    pub(super) fn tiles(&self) -> ChunkTiles<'_> {
        let at = (self.elements() > 0).then(|| self.dims.iter().map(|d| d.project(0)).collect());
        ChunkTiles { plan: self, at }
    }

    fn tile_plan(&self, at: &[Projection]) -> TilePlan<'static> {
        let (mut tile, mut decoded, mut elements) = (0, 1, 1);
        let (mut src, mut dst) = (0, self.dst);
        let axes = self.dims.iter().zip(at).rev().map(|(dim, p)| {
            let count = p.end - p.first;
            // Two indices in one chunk: the step is less than the chunk, and the product less than its elements.
            let src_step = if count > 1 { dim.line.step * decoded } else { 0 };
            let axis = Axis { count, src: src_step, dst: dim.dst };
            tile += p.chunk * dim.tile_stride;
            src += (dim.index(p.first) - p.chunk * dim.chunk) * decoded;
            dst = moved(dst, dim.dst, p.first);
            elements *= axis.count;
            decoded *= dim.decoded(p.chunk, self.edge);
            axis
        });
        let grid = Grid::from_inner(axes);
        let grid = Grid { src, dst, ..grid };
        let whole = (elements == decoded && grid.is_block()).then_some(dst);
        TilePlan { tile, decoded, elements, whole, grid: Cow::Owned(grid), first: 0, origin: 0 }
    }
}

/// The tiles of a chunked plan: an odometer over the projections, innermost dimension fastest.
#[derive(Debug, Clone)]
pub(super) struct ChunkTiles<'p> {
    plan: &'p ChunkedPlan,
    /// Projections of the next tile; `None` after the last.
    at: Option<Vec<Projection>>,
}

impl<'p> ChunkTiles<'p> {
    pub(super) fn next(&mut self) -> Option<TilePlan<'p>> {
        let mut at = self.at.take()?;
        let tile = self.plan.tile_plan(&at);
        for (dim, p) in self.plan.dims.iter().zip(&mut at).rev() {
            let wraps = p.end == dim.line.count;
            *p = dim.project(if wraps { 0 } else { p.end });
            if !wraps {
                self.at = Some(at);
                break;
            }
        }
        Some(tile)
    }
}

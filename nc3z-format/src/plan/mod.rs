//! Projection: the tiles that a hyperslab touches, and for each the copies into the output.
//!
//! A [`Plan`] is a pure value that prints well. It is lazy: its memory depends only on the rank, and tiles
//! that are not touched cost nothing. Every tile occurs once, in ascending order of number, whatever the
//! signs of the strides. Every element of the output is written exactly once.
//!
//! ```
//! use nc3z_format::{Hyperslab, Plan, TileLayout};
//! // Rows 2, 1, 0 of a 3 x 4 array in linear tiles of 8.
//! let slab = Hyperslab::new([2, 0], [3, 4], [-1, 1])?;
//! let plan = Plan::new(&[3, 4], &TileLayout::linear(8), &slab)?;
//! assert_eq!(
//!     plan.to_string(),
//!     "12 elements from 2 of 2 tiles (linear 8)\n\
//!      tile 0: 2 runs\n  src 0.. -> dst 8.., 4 elements\n  src 4.. -> dst 4.., 4 elements\n\
//!      tile 1: whole -> dst 0.., 4 elements\n"
//! );
//! # Ok::<(), nc3z_format::Error>(())
//! ```

use std::borrow::Cow;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::selection::{Hyperslab, Line};
use crate::tile::{TileLayout, Tiling, element_count};

mod chunked;
pub mod copy;
mod grid;
mod linear;
mod show;
mod split;
#[cfg(test)]
mod tests;

use chunked::{ChunkTiles, ChunkedPlan};
pub use grid::{CopyRun, Runs};
use grid::{Grid, moved};
use linear::{LinearPlan, LinearTiles};
pub use split::{Part, split};

/// The plan to read one hyperslab: see the [module](self).
#[derive(Clone, PartialEq, Eq)]
pub struct Plan {
    layout: TileLayout,
    tiles_in_array: u64,
    /// Elements selected, present or not.
    selected: u64,
    kind: PlanKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PlanKind {
    Empty,
    Linear(LinearPlan),
    Chunked(ChunkedPlan),
}

impl Plan {
    /// Plans `slab` of an array of `shape`, all of it present.
    ///
    /// # Errors
    /// Invalid: a layout that does not fit the shape, a hyperslab that exceeds it.
    pub fn new(shape: &[u64], layout: &TileLayout, slab: &Hyperslab) -> Result<Self> {
        Plan::with_tiling(&layout.bind(shape, element_count(shape)?)?, slab)
    }

    /// Plans `slab` of the array that `tiling` cuts. Elements that are in no tile, because they are not
    /// present, are omitted: see [`Plan::is_complete`].
    ///
    /// # Errors
    /// Invalid: a hyperslab that exceeds the array.
    pub fn with_tiling(tiling: &Tiling, slab: &Hyperslab) -> Result<Self> {
        Plan::cut(tiling, None, slab)
    }

    /// Does the work of [`Plan::with_tiling`] for linear tiles that do not cross branches of `branch` elements: each branch begins with a new
    /// tile, and the last tile of a branch may be shorter. Chunks have no branches.
    ///
    /// # Errors
    /// As [`Plan::with_tiling`]; a branch of no elements.
    pub fn in_branches(tiling: &Tiling, branch: u64, slab: &Hyperslab) -> Result<Self> {
        if branch == 0 {
            return Err(Error::invalid("a branch of no elements"));
        }
        Plan::cut(tiling, Some(branch), slab)
    }

    fn cut(tiling: &Tiling, branch: Option<u64>, slab: &Hyperslab) -> Result<Self> {
        let selection = slab.resolve(tiling.shape())?;
        let kind = if selection.elements() == 0 || tiling.tile_count() == 0 {
            PlanKind::Empty
        } else {
            match tiling.layout() {
                TileLayout::Linear { len } => {
                    PlanKind::Linear(LinearPlan::new(tiling, *len, branch, selection.dims()))
                }
                TileLayout::Chunked { shape, edge } => {
                    PlanKind::Chunked(ChunkedPlan::new(tiling, shape, *edge, selection.dims()))
                }
            }
        };
        let tiles_in_array = match (tiling.layout(), branch) {
            (TileLayout::Linear { len }, Some(branch)) => {
                tiling.present() / branch * branch.div_ceil(*len) + (tiling.present() % branch).div_ceil(*len)
            }
            _ => tiling.tile_count(),
        };
        Ok(Plan { layout: tiling.layout().clone(), tiles_in_array, selected: selection.elements(), kind })
    }

    /// The layout planned for.
    pub fn layout(&self) -> &TileLayout {
        &self.layout
    }

    /// Elements of the output: those selected, present or not.
    pub fn selected(&self) -> u64 {
        self.selected
    }

    /// Elements that the copy runs write.
    pub fn elements(&self) -> u64 {
        match &self.kind {
            PlanKind::Empty => 0,
            PlanKind::Linear(p) => p.elements(),
            PlanKind::Chunked(p) => p.elements(),
        }
    }

    /// Returns true if every selected element is in a tile. Otherwise the caller reports this, or fills the
    /// output before it copies. (A chunk with one present element contains all of its elements.)
    pub fn is_complete(&self) -> bool {
        self.elements() == self.selected
    }

    /// The number of tiles that the selection touches. It is computed directly for chunks, and for linear tiles if all gaps of the
    /// selection are longer than a tile, or all are shorter. Otherwise the tiles are counted by a search for the end of each.
    pub fn tile_count(&self) -> u64 {
        match &self.kind {
            PlanKind::Empty => 0,
            PlanKind::Linear(p) => p.tile_count(),
            PlanKind::Chunked(p) => p.tile_count(),
        }
    }

    /// The tiles touched, in ascending order of number.
    pub fn tiles(&self) -> Tiles<'_> {
        Tiles(match &self.kind {
            PlanKind::Empty => TilesKind::Empty,
            PlanKind::Linear(p) => TilesKind::Linear(p.tiles()),
            PlanKind::Chunked(p) => TilesKind::Chunked(p.tiles()),
        })
    }
}

/// The tiles of a plan, one at a time; made by [`Plan::tiles`].
#[derive(Debug, Clone)]
pub struct Tiles<'p>(TilesKind<'p>);

#[derive(Debug, Clone)]
enum TilesKind<'p> {
    Empty,
    Linear(LinearTiles<'p>),
    Chunked(ChunkTiles<'p>),
}

impl<'p> Iterator for Tiles<'p> {
    type Item = TilePlan<'p>;

    // Inlined into the caller's loop: moving a plan takes longer than making it.
    #[inline]
    fn next(&mut self) -> Option<TilePlan<'p>> {
        match &mut self.0 {
            TilesKind::Empty => None,
            TilesKind::Linear(tiles) => tiles.next(),
            TilesKind::Chunked(tiles) => tiles.next(),
        }
    }
}

/// The contribution of one tile.
#[derive(Clone, PartialEq, Eq)]
pub struct TilePlan<'p> {
    /// Number of the tile.
    pub tile: u64,
    /// Elements of the tile once decoded, padding included.
    pub decoded: u64,
    /// Elements copied out of it, at least 1.
    pub elements: u64,
    /// Set if the output contains the whole tile unchanged: the output position of its first element. The
    /// tile can then be decoded directly into the output.
    pub whole: Option<u64>,
    grid: Cow<'p, Grid>,
    /// Ordinal in `grid` of the first position in this tile.
    first: u64,
    /// Source position of the tile's first element.
    origin: u64,
}

impl TilePlan<'_> {
    /// Returns the index of the element in the decoded tile and its position in the output, if the tile gives one element only.
    ///
    /// ```
    /// use nc3z_format::{Hyperslab, Plan, TileLayout};
    /// let slab = Hyperslab::new([11], [3], [-4])?; // 11, 7, 3
    /// let plan = Plan::new(&[16], &TileLayout::linear(10), &slab)?;
    /// let singles: Vec<_> = plan.tiles().map(|tile| tile.single()).collect();
    /// assert_eq!(singles, [None, Some((1, 0))]);
    /// # Ok::<(), nc3z_format::Error>(())
    /// ```
    #[inline]
    pub fn single(&self) -> Option<(u64, u64)> {
        if self.elements != 1 {
            return None;
        }
        let (src, dst) = self.grid.locate(self.first);
        Some((src - self.origin, dst))
    }

    /// The copies from the decoded tile to the output, in ascending order of source.
    pub fn runs(&self) -> Runs<'_> {
        match self.whole {
            Some(dst) => Runs::whole(dst, self.elements),
            None => Runs::new(&self.grid, self.first, self.first + self.elements, self.origin),
        }
    }

    /// The smallest range of the decoded tile that holds every element copied: what a source need fetch that can
    /// read parts of a tile.
    ///
    /// ```
    /// use nc3z_format::{Hyperslab, Plan, TileLayout};
    /// let slab = Hyperslab::new([11], [3], [-4])?; // 11, 7, 3
    /// let plan = Plan::new(&[16], &TileLayout::linear(10), &slab)?;
    /// let spans: Vec<_> = plan.tiles().map(|tile| tile.span()).collect();
    /// assert_eq!(spans, [3..8, 1..2]);
    /// # Ok::<(), nc3z_format::Error>(())
    /// ```
    pub fn span(&self) -> Range<u64> {
        let place = |ordinal| self.grid.locate(ordinal).0 - self.origin;
        place(self.first)..place(self.first + self.elements - 1) + 1
    }
}

/// Each dimension of the output, innermost first: its line, and the signed distance between neighbours once the
/// source ascends.
fn output_steps(lines: &[Line]) -> impl Iterator<Item = (&Line, i64)> {
    lines.iter().rev().scan(1_i64, |width, line| {
        let step = if line.reversed { -*width } else { *width };
        // This cannot overflow: `Plan::with_tiling` refuses selections of more than `MAX_ELEMENTS` elements.
        *width = i64::try_from(line.count).ok().and_then(|n| width.checked_mul(n)).unwrap_or(i64::MAX);
        Some((line, step))
    })
}

/// Output position of the element with the smallest index along every dimension.
fn output_base(lines: &[Line]) -> u64 {
    output_steps(lines).filter(|(line, _)| line.reversed).fold(0, |at, (line, step)| {
        // Backwards along a reversed line: its smallest index is written last.
        moved(at, -step, line.count - 1)
    })
}

//! A variable's tiles, one after another.

use super::variable::Variable;
use crate::error::Result;
use nc3z_format::selection::Hyperslab;
use nc3z_format::tile::{Edge, TileExtent, TileLayout, Tiling};
use std::borrow::Cow;
use std::ops::Range;

/// One decoded tile.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tile {
    /// The number of the tile.
    pub number: u64,
    /// The part of the variable that it holds.
    pub extent: TileExtent,
    /// The elements of that part, row-major, big-endian. Padding beyond the array is omitted.
    pub bytes: Vec<u8>,
}

/// The tiles of a variable in ascending order of number, as the writer stores them; made by [`Variable::tiles`].
pub struct TileIter<'v> {
    variable: &'v Variable,
    tiling: Cow<'v, Tiling>,
    left: Range<u64>,
}

impl<'v> TileIter<'v> {
    pub(super) fn new(variable: &'v Variable) -> Result<Self> {
        let tiling = variable.tiling()?;
        let left = 0..tiling.tile_count();
        Ok(TileIter { variable, tiling, left })
    }

    fn read(&self, number: u64) -> Result<Tile> {
        let extent = self.tiling.extent(number)?;
        let padded = matches!(self.tiling.layout(), TileLayout::Chunked { edge: Edge::Padded, .. });
        let bytes = match &extent {
            TileExtent::Chunk { start, shape } if padded => {
                let slab = Hyperslab::new(start.clone(), shape.clone(), vec![1; start.len()])?;
                self.variable.read_bytes(&slab)?
            }
            _ => {
                let elements = self.tiling.tile_elements(number)?;
                let len = elements.saturating_mul(self.variable.ty().size() as u64);
                // The opener has compared tile lengths with its limits.
                let mut bytes = vec![0; usize::try_from(len).expect("a tile fits in memory")];
                self.variable.source().fill_tile(self.variable.id(), number, &mut bytes)?;
                bytes
            }
        };
        Ok(Tile { number, extent, bytes })
    }
}

impl Iterator for TileIter<'_> {
    type Item = Result<Tile>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left.next().map(|number| self.read(number))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left.end - self.left.start);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

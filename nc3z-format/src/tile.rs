//! The tiling of an array: linear runs, or n-d chunks. Both are a regular partition.
//!
//! [`TileLayout`] is the stored choice, unvalidated. [`Tiling`] is that choice checked for one array; it
//! answers every question about tiles and coordinates. [`crate::plan`] finds the tiles for a request. This
//! module does not deal with the encoding of tiles.

use std::fmt;

use crate::error::{Error, Result};
pub use nc3z_num::Geometry;

/// Most elements an array or a tile may have: offsets and steps then fit `i64` as well as `u64`.
pub const MAX_ELEMENTS: u64 = i64::MAX.unsigned_abs();

/// The content of the tiles at the far edges of a chunked array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Edge {
    /// Only elements inside the array.
    #[default]
    Clipped,
    /// The full chunk shape, as in HDF5 and Zarr. Elements outside the array have no meaning.
    Padded,
}

/// The way a variable is cut into tiles, as stored.
///
/// ```
/// use nc3z_format::tile::{Edge, TileLayout};
/// assert_eq!(TileLayout::linear(4).tile_count(&[3, 5], 15)?, 4);
/// assert_eq!(TileLayout::chunked([2, 2], Edge::Clipped).tile_count(&[3, 5], 15)?, 6);
/// # Ok::<(), nc3z_format::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TileLayout {
    /// Runs of `len` elements of the array flattened in row-major order; the last one may be shorter.
    Linear {
        /// Elements of a tile.
        len: u64,
    },
    /// n-d boxes, numbered in row-major order.
    Chunked {
        /// Length of a chunk along each dimension; may be larger than the dimension.
        shape: Vec<u64>,
        /// The content of edge tiles.
        edge: Edge,
    },
}

impl TileLayout {
    /// Linear tiles of `len` elements.
    pub fn linear(len: u64) -> Self {
        TileLayout::Linear { len }
    }

    /// The elements of a linear tile: at most `most`, and a multiple of the largest trailing slice (plane, row) that fits, so that
    /// tiles begin where rows and planes do. Never more than the `present` elements.
    ///
    /// ```
    /// use nc3z_format::tile::TileLayout;
    /// assert_eq!(TileLayout::aligned_len(&[120, 90, 180], 120 * 90 * 180, 262_144), 16 * 90 * 180);
    /// assert_eq!(TileLayout::aligned_len(&[10, 1000, 1000], 10_000_000, 262_144), 262 * 1000);
    /// ```
    pub fn aligned_len(shape: &[u64], present: u64, most: u64) -> u64 {
        let mut slice = 1_u64;
        for &dim in shape.iter().skip(1).rev() {
            match slice.checked_mul(dim) {
                Some(larger) if larger > 0 && larger <= most => slice = larger,
                _ => break,
            }
        }
        (most / slice * slice).min(present).max(1)
    }

    /// Chunks of `shape`.
    pub fn chunked(shape: impl Into<Vec<u64>>, edge: Edge) -> Self {
        TileLayout::Chunked { shape: shape.into(), edge }
    }

    /// Binds the layout to an array of `shape` whose first `present` elements exist, and checks that they fit.
    ///
    /// # Errors
    /// Invalid: a tile of no elements, a chunk of another rank, or more than [`MAX_ELEMENTS`] elements in the array
    /// or in a tile; `present` beyond the array.
    pub fn bind(&self, shape: &[u64], present: u64) -> Result<Tiling> {
        Tiling::new(self.clone(), shape.to_vec(), present)
    }

    /// Number of tiles that hold the first `present` elements of an array of `shape`.
    ///
    /// # Errors
    /// As [`TileLayout::bind`].
    pub fn tile_count(&self, shape: &[u64], present: u64) -> Result<u64> {
        Ok(self.bind(shape, present)?.tile_count())
    }
}

impl fmt::Display for TileLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TileLayout::Linear { len } => write!(f, "linear {len}"),
            TileLayout::Chunked { shape, edge: Edge::Clipped } => write!(f, "chunked {shape:?}"),
            TileLayout::Chunked { shape, edge: Edge::Padded } => write!(f, "chunked {shape:?} padded"),
        }
    }
}

/// The part of the array that a tile holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TileExtent {
    /// A run of the flattened array.
    Linear {
        /// Flat index of its first element.
        first: u64,
        /// Elements in it.
        count: u64,
    },
    /// A box, clipped to the array whatever the edge rule.
    Chunk {
        /// First index along each dimension.
        start: Vec<u64>,
        /// Length along each dimension.
        shape: Vec<u64>,
    },
}

/// A tile layout bound to one array, and checked.
///
/// Invariants: (1) the array has at most [`MAX_ELEMENTS`] elements, and unless it is empty so has every product of
/// some of its dimensions; (2) tiles have 1 to [`MAX_ELEMENTS`] elements; (3) `present <= elements`.
/// Sums and products below rest on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiling {
    layout: TileLayout,
    shape: Vec<u64>,
    elements: u64,
    present: u64,
    tiles: u64,
}

impl Tiling {
    /// See [`TileLayout::bind`].
    ///
    /// # Errors
    /// See [`TileLayout::bind`].
    pub fn new(layout: TileLayout, shape: Vec<u64>, present: u64) -> Result<Self> {
        let elements = element_count(&shape)?;
        if present > elements {
            return Err(Error::invalid(format!(
                "{present} elements said to be present in an array of {elements}"
            )));
        }
        let tiles = match &layout {
            TileLayout::Linear { len } => {
                if !(1..=MAX_ELEMENTS).contains(len) {
                    return Err(Error::invalid(format!(
                        "linear tile of {len} elements, allowed are 1 to {MAX_ELEMENTS}"
                    )));
                }
                present.div_ceil(*len)
            }
            TileLayout::Chunked { shape: chunk, .. } => {
                if chunk.len() != shape.len() || chunk.contains(&0) {
                    return Err(Error::invalid(format!(
                        "chunk shape {chunk:?} for an array of shape {shape:?}"
                    )));
                }
                element_count(chunk)?;
                if present == 0 { 0 } else { chunks_present(&shape, chunk, elements, present) }
            }
        };
        Ok(Tiling { layout, shape, elements, present, tiles })
    }

    /// The layout that was bound.
    pub fn layout(&self) -> &TileLayout {
        &self.layout
    }

    /// Shape of the array.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Elements of the array.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Leading elements that exist.
    pub fn present(&self) -> u64 {
        self.present
    }

    /// The number of tiles that contain the present elements. Chunks come in whole layers along the first
    /// dimension, so a chunked array has tiles up to the last layer with a present element.
    pub fn tile_count(&self) -> u64 {
        self.tiles
    }

    /// The part of the array that tile `tile` holds. The last linear tile ends with the present elements.
    ///
    /// # Errors
    /// Invalid: no such tile.
    pub fn extent(&self, tile: u64) -> Result<TileExtent> {
        self.check_tile(tile)?;
        Ok(match &self.layout {
            TileLayout::Linear { len } => {
                let first = tile * len;
                TileExtent::Linear { first, count: (self.present - first).min(*len) }
            }
            TileLayout::Chunked { shape: chunk, .. } => {
                let mut start = self.coordinates(tile)?;
                start.iter_mut().zip(chunk).for_each(|(k, c)| *k *= c);
                let inside = |((s, c), n): ((&u64, &u64), &u64)| (n - s).min(*c);
                let shape = start.iter().zip(chunk).zip(&self.shape).map(inside).collect();
                TileExtent::Chunk { start, shape }
            }
        })
    }

    /// Elements of tile `tile` once decoded, padding included.
    ///
    /// ```
    /// use nc3z_format::tile::{Edge, TileLayout};
    /// let clipped = TileLayout::chunked([2, 4], Edge::Clipped).bind(&[3, 5], 15)?;
    /// let padded = TileLayout::chunked([2, 4], Edge::Padded).bind(&[3, 5], 15)?;
    /// assert_eq!((clipped.tile_elements(3)?, padded.tile_elements(3)?), (1, 8));
    /// # Ok::<(), nc3z_format::Error>(())
    /// ```
    ///
    /// # Errors
    /// Invalid: no such tile.
    pub fn tile_elements(&self, tile: u64) -> Result<u64> {
        Ok(match (self.extent(tile)?, &self.layout) {
            (TileExtent::Linear { count, .. }, _) => count,
            (_, TileLayout::Chunked { shape, edge: Edge::Padded }) => shape.iter().product(),
            (TileExtent::Chunk { shape, .. }, _) => shape.iter().product(),
        })
    }

    /// Look-back distances of predictors in tile `tile`: of the array for linear tiles, of the tile's own true
    /// shape for chunks.
    ///
    /// # Errors
    /// Invalid: no such tile.
    pub fn geometry(&self, tile: u64) -> Result<Geometry> {
        Ok(match (self.extent(tile)?, &self.layout) {
            (TileExtent::Linear { .. }, _) => Geometry::new(&self.shape),
            (_, TileLayout::Chunked { shape, edge: Edge::Padded }) => Geometry::new(shape),
            (TileExtent::Chunk { shape, .. }, _) => Geometry::new(&shape),
        })
    }

    /// Does the work of [`Tiling::geometry`], but distances that depend on the length of the first dimension are longer than the tile. The
    /// result then does not change when that dimension grows.
    ///
    /// # Errors
    /// Invalid: no such tile.
    pub fn inner_geometry(&self, tile: u64) -> Result<Geometry> {
        let endless = |shape: &[u64]| {
            let mut shape = shape.to_vec();
            if let Some(first) = shape.first_mut() {
                *first = u64::MAX;
            }
            Geometry::new(&shape)
        };
        Ok(match (self.extent(tile)?, &self.layout) {
            (TileExtent::Linear { .. }, _) => endless(&self.shape),
            (_, TileLayout::Chunked { shape, edge: Edge::Padded }) => Geometry::new(shape),
            (TileExtent::Chunk { shape, .. }, _) => endless(&shape),
        })
    }

    /// Position of tile `tile` in the grid of tiles; for linear tiles that is its number.
    ///
    /// # Errors
    /// Invalid: no such tile.
    pub fn coordinates(&self, tile: u64) -> Result<Vec<u64>> {
        self.check_tile(tile)?;
        let TileLayout::Chunked { shape: chunk, .. } = &self.layout else { return Ok(vec![tile]) };
        let mut rest = tile;
        let mut at = vec![0; chunk.len()];
        for ((k, n), c) in at.iter_mut().zip(&self.shape).zip(chunk).rev() {
            let across = n.div_ceil(*c);
            *k = rest % across;
            rest /= across;
        }
        Ok(at)
    }

    /// Number of the tile at `coordinates`: the inverse of [`Tiling::coordinates`].
    ///
    /// # Errors
    /// Invalid: no such tile.
    pub fn tile_at(&self, coordinates: &[u64]) -> Result<u64> {
        let tile = match &self.layout {
            TileLayout::Linear { .. } => (coordinates.len() == 1).then(|| coordinates[0]),
            TileLayout::Chunked { shape: chunk, .. } if chunk.len() == coordinates.len() => {
                coordinates.iter().zip(&self.shape).zip(chunk).try_fold(0_u64, |tile, ((k, n), c)| {
                    let across = n.div_ceil(*c);
                    if *k < across { tile.checked_mul(across)?.checked_add(*k) } else { None }
                })
            }
            TileLayout::Chunked { .. } => None,
        };
        tile.filter(|t| *t < self.tiles)
            .ok_or_else(|| Error::invalid(format!("no tile at {coordinates:?} among {} tiles", self.tiles)))
    }

    /// The number of indices along dimension `dim` after which a new tile always begins, so that work split
    /// there decodes no tile twice. 1 if the borders of rows and tiles do not coincide.
    ///
    /// ```
    /// use nc3z_format::tile::TileLayout;
    /// assert_eq!(TileLayout::linear(20).bind(&[9, 5], 45)?.rows_per_tile(0), 4);
    /// assert_eq!(TileLayout::linear(21).bind(&[9, 5], 45)?.rows_per_tile(0), 1);
    /// # Ok::<(), nc3z_format::Error>(())
    /// ```
    pub fn rows_per_tile(&self, dim: usize) -> u64 {
        match &self.layout {
            TileLayout::Chunked { shape, .. } => shape.get(dim).copied().unwrap_or(1),
            TileLayout::Linear { len } => {
                let Some((outer, [n, inner @ ..])) = self.shape.split_at_checked(dim) else { return 1 };
                let row = inner.iter().try_fold(1_u64, |p, n| p.checked_mul(*n)).unwrap_or(0);
                if row == 0 || !len.is_multiple_of(row) {
                    return 1;
                }
                // Inside an outer dimension, tiles must begin anew with each of its indices.
                let rows = len / row;
                let falls_together = outer.iter().all(|n| *n == 1) || n.is_multiple_of(rows);
                if falls_together || (*n > 0 && rows.is_multiple_of(*n)) { rows } else { 1 }
            }
        }
    }

    fn check_tile(&self, tile: u64) -> Result<()> {
        if tile < self.tiles {
            return Ok(());
        }
        Err(Error::invalid(format!("tile {tile} of an array of {} tiles", self.tiles)))
    }
}

/// Elements of an array of `shape`: 1 for rank 0, 0 if any dimension is empty.
///
/// # Errors
/// Invalid: more than [`MAX_ELEMENTS`].
///
/// ```
/// use nc3z_format::tile::element_count;
/// assert_eq!(element_count(&[])?, 1);
/// assert_eq!(element_count(&[u64::MAX, u64::MAX, 0])?, 0);
/// assert!(element_count(&[1 << 32, 1 << 31]).is_err());
/// # Ok::<(), nc3z_format::Error>(())
/// ```
pub fn element_count(shape: &[u64]) -> Result<u64> {
    if shape.contains(&0) {
        return Ok(0);
    }
    let product = shape.iter().try_fold(1_u64, |p, n| p.checked_mul(*n));
    product
        .filter(|p| *p <= MAX_ELEMENTS)
        .ok_or_else(|| Error::invalid(format!("shape {shape:?} has more than {MAX_ELEMENTS} elements")))
}

/// Chunks in the layers along dimension 0 that hold the first `present` (not 0) elements.
fn chunks_present(shape: &[u64], chunk: &[u64], elements: u64, present: u64) -> u64 {
    let (Some(n), Some(c)) = (shape.first(), chunk.first()) else { return 1 };
    let layers = present.div_ceil(elements / n).div_ceil(*c);
    layers * shape.iter().zip(chunk).skip(1).map(|(n, c)| n.div_ceil(*c)).product::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_whole_planes_where_planes_fit_and_rows_where_only_rows_do() {
        let aligned_len = TileLayout::aligned_len;
        assert_eq!(aligned_len(&[120, 90, 180], 120 * 90 * 180, 262_144), 16 * 16_200);
        assert_eq!(aligned_len(&[10, 1000, 1000], 10_000_000, 262_144), 262_000);
        assert_eq!(aligned_len(&[3, 1_000_000], 3_000_000, 262_144), 262_144);
        assert_eq!(aligned_len(&[], 1, 262_144), 1);
        assert_eq!(aligned_len(&[5], 5, 262_144), 5);
        assert_eq!(aligned_len(&[5, 0], 0, 100), 1);
        assert_eq!(aligned_len(&[u64::MAX, u64::MAX, u64::MAX], 7, 100), 7);
    }

    const HUGE: u64 = MAX_ELEMENTS;

    #[test]
    fn linear_tiles_cover_what_is_present() {
        let t = TileLayout::linear(4).bind(&[3, 5], 10).unwrap();
        assert_eq!(t.tile_count(), 3);
        assert_eq!(t.extent(2).unwrap(), TileExtent::Linear { first: 8, count: 2 });
        assert_eq!(t.geometry(2).unwrap(), Geometry { row: Some(5), plane: Some(15), volume: None });
        assert!(t.extent(3).is_err());
        assert_eq!(t.coordinates(1).unwrap(), [1]);
    }

    #[test]
    fn chunks_are_numbered_in_row_major_order() {
        let t = TileLayout::chunked([2, 4], Edge::Clipped).bind(&[5, 9], 45).unwrap();
        assert_eq!(t.tile_count(), 9);
        for tile in 0..9 {
            assert_eq!(t.tile_at(&t.coordinates(tile).unwrap()).unwrap(), tile);
        }
        assert_eq!(t.coordinates(5).unwrap(), [1, 2]);
        assert_eq!(t.extent(8).unwrap(), TileExtent::Chunk { start: vec![4, 8], shape: vec![1, 1] });
        assert_eq!(t.geometry(7).unwrap().plane, Some(4));
        assert!(t.tile_at(&[0, 3]).is_err());
        // Nine elements are row 0, ten reach row 1, nineteen row 2: one layer of three chunks more.
        let tiles = |present| t.layout().tile_count(&[5, 9], present).unwrap();
        assert_eq!([0, 1, 9, 10, 18, 19, 36, 37, 45].map(tiles), [0, 3, 3, 3, 3, 6, 6, 9, 9]);
    }

    #[test]
    fn rank_zero_has_one_tile() {
        for layout in [TileLayout::linear(7), TileLayout::chunked([], Edge::Padded)] {
            let t = layout.bind(&[], 1).unwrap();
            assert_eq!((t.tile_count(), t.tile_elements(0).unwrap()), (1, 1));
            assert_eq!(t.geometry(0).unwrap(), Geometry::default());
        }
    }

    #[test]
    fn sizes_near_two_to_the_63() {
        let t = TileLayout::linear(HUGE).bind(&[HUGE], HUGE).unwrap();
        assert_eq!((t.tile_count(), t.tile_elements(0).unwrap()), (1, HUGE));
        let t = TileLayout::linear(HUGE - 1).bind(&[HUGE], HUGE).unwrap();
        assert_eq!(t.extent(1).unwrap(), TileExtent::Linear { first: HUGE - 1, count: 1 });
        let t = TileLayout::chunked([1 << 40, 1], Edge::Clipped).bind(&[1 << 61, 3], 3 << 61).unwrap();
        assert_eq!(t.tile_count(), 3 << 21);
        assert_eq!(t.tile_elements((3 << 21) - 1).unwrap(), 1 << 40);
        assert!(TileLayout::linear(1).bind(&[1 << 63], 0).is_err());
        assert!(TileLayout::chunked([1 << 32, 1 << 31], Edge::Padded).bind(&[1, 1], 1).is_err());
        assert_eq!(TileLayout::linear(1).tile_count(&[u64::MAX, 0, u64::MAX], 0).unwrap(), 0);
    }

    #[test]
    fn layouts_that_make_no_sense_are_refused() {
        assert!(TileLayout::linear(0).bind(&[4], 4).is_err());
        assert!(TileLayout::linear(2).bind(&[4], 5).is_err());
        assert!(TileLayout::chunked([2], Edge::Clipped).bind(&[4, 4], 16).is_err());
        assert!(TileLayout::chunked([2, 0], Edge::Clipped).bind(&[4, 4], 16).is_err());
    }
}

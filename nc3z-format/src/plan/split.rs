//! One read as several, for parallel execution in safe code.

use std::ops::Range;

use crate::error::Result;
use crate::selection::Hyperslab;
use crate::tile::Tiling;

/// A share of a read: a smaller hyperslab of the same array, and the place of its elements in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The hyperslab to read.
    pub slab: Hyperslab,
    /// Elements of the whole output that it fills, one after the other.
    pub dst: Range<u64>,
}

/// Splits `slab` into at most `parts` shares of nearly equal size, along the outermost dimension of which more than
/// one index is read.
///
/// The shares fill the output from its start to its end without gaps, so `split_at_mut` gives every task its own
/// slice. Where layers of tiles lie across that dimension the shares begin on their borders, and no two decode the
/// same tile; otherwise neighbours may share one. A hyperslab that selects nothing has no shares.
///
/// ```
/// use nc3z_format::plan::split;
/// use nc3z_format::tile::{Edge, TileLayout};
/// use nc3z_format::Hyperslab;
/// let tiling = TileLayout::chunked([4, 10], Edge::Clipped).bind(&[10, 10], 100)?;
/// let parts = split(&tiling, &Hyperslab::all(&[10, 10]), 2)?;
/// assert_eq!(parts[0].slab, Hyperslab::new([0, 0], [4, 10], [1, 1])?);
/// assert_eq!(parts[1].slab, Hyperslab::new([4, 0], [6, 10], [1, 1])?);
/// assert_eq!(parts[1].dst, 40..100);
/// # Ok::<(), nc3z_format::Error>(())
/// ```
///
/// # Errors
/// Invalid: a hyperslab that does not lie inside the array.
pub fn split(tiling: &Tiling, slab: &Hyperslab, parts: usize) -> Result<Vec<Part>> {
    let elements = slab.resolve(tiling.shape())?.elements();
    if elements == 0 {
        return Ok(Vec::new());
    }
    let Some(dim) = slab.count.iter().position(|n| *n > 1) else {
        return Ok(vec![Part { slab: slab.clone(), dst: 0..elements }]);
    };
    let (start, count, stride) = (slab.start[dim], slab.count[dim], slab.stride[dim]);
    let width = elements / count;
    let layer = tiling.rows_per_tile(dim);
    let parts = u64::try_from(parts).unwrap_or(u64::MAX).clamp(1, count);
    let mut shares = Vec::new();
    let mut from = 0;
    for k in 1..=parts {
        let even = u64::try_from(u128::from(count) * u128::from(k) / u128::from(parts)).unwrap_or(count);
        let to = if k == parts { count } else { layer_start(start, stride, layer, even) };
        if to <= from {
            continue;
        }
        let mut share = slab.clone();
        share.start[dim] = nth(start, stride, from);
        share.count[dim] = to - from;
        shares.push(Part { slab: share, dst: from * width..to * width });
        from = to;
    }
    Ok(shares)
}

/// The `i`-th index read; inside the dimension, so arithmetic modulo 2^64 finds it.
fn nth(start: u64, stride: i64, i: u64) -> u64 {
    start.wrapping_add(stride.cast_unsigned().wrapping_mul(i))
}

/// Ordinal of the first index that is read from the same layer of tiles as the `i`-th one.
fn layer_start(start: u64, stride: i64, layer: u64, i: u64) -> u64 {
    let first_of_layer = nth(start, stride, i) / layer * layer;
    let distance = if stride < 0 {
        let last_of_layer = first_of_layer.saturating_add(layer - 1);
        start.saturating_sub(last_of_layer)
    } else {
        first_of_layer.saturating_sub(start)
    };
    distance.div_ceil(stride.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tile::{Edge, TileLayout};

    #[test]
    fn backward_reads_split_on_layers_too() {
        let tiling = TileLayout::chunked([4], Edge::Clipped).bind(&[20], 20).unwrap();
        let slab = Hyperslab::new([19], [10], [-2]).unwrap(); // 19 17 | 15 13 | 11 9 | 7 5 | 3 1
        let parts = split(&tiling, &slab, 3).unwrap();
        let starts: Vec<_> = parts.iter().map(|p| (p.slab.start[0], p.dst.clone())).collect();
        assert_eq!(starts, [(19, 0..2), (15, 2..6), (7, 6..10)]);
    }

    #[test]
    fn single_rows_are_split_inside() {
        let tiling = TileLayout::linear(7).bind(&[3, 6, 5], 90).unwrap();
        let slab = Hyperslab::new([2, 0, 0], [1, 6, 5], [1, 1, 1]).unwrap();
        let parts = split(&tiling, &slab, 4).unwrap();
        let dst: Vec<_> = parts.into_iter().map(|p| p.dst).collect();
        assert_eq!(dst, [0..5, 5..15, 15..20, 20..30]);
    }

    #[test]
    fn nothing_and_one_element() {
        let tiling = TileLayout::linear(7).bind(&[3], 3).unwrap();
        assert!(split(&tiling, &Hyperslab::new([3], [0], [1]).unwrap(), 4).unwrap().is_empty());
        assert_eq!(split(&tiling, &Hyperslab::new([2], [1], [1]).unwrap(), 4).unwrap().len(), 1);
        assert_eq!(split(&tiling, &Hyperslab::all(&[3]), 3).unwrap().len(), 1, "one tile is decoded once");
        let tiling = TileLayout::linear(1).bind(&[3], 3).unwrap();
        assert_eq!(split(&tiling, &Hyperslab::all(&[3]), usize::MAX).unwrap().len(), 3);
        assert_eq!(split(&tiling, &Hyperslab::all(&[3]), 0).unwrap().len(), 1);
    }
}

//! Divides an array into boxes of whole tiles, for work that is done piece by piece.

use nc3z_format::tile::{TileLayout, Tiling};

/// Returns the shape of a tile: a chunk, or whole rows of a linear tile. None where tiles end inside a row.
pub(crate) fn tile_shape(tiling: &Tiling) -> Option<Vec<u64>> {
    let shape = tiling.shape();
    match tiling.layout() {
        TileLayout::Chunked { shape: chunk, .. } => {
            Some(chunk.iter().zip(shape).map(|(c, n)| (*c).min(*n).max(1)).collect())
        }
        TileLayout::Linear { len } => {
            let dim = (0..shape.len()).find(|d| tiling.rows_per_tile(*d) > 1 || row_len(shape, *d) == *len);
            let Some(dim) = dim else {
                return (tiling.tile_count() <= 1).then(|| shape.iter().map(|n| (*n).max(1)).collect());
            };
            let mut tile = vec![1; shape.len()];
            tile[dim] = tiling.rows_per_tile(dim).clamp(1, shape[dim].max(1));
            for (t, n) in tile.iter_mut().zip(shape).skip(dim + 1) {
                *t = (*n).max(1);
            }
            Some(tile)
        }
    }
}

/// The number of elements of one index along a dimension.
fn row_len(shape: &[u64], dim: usize) -> u64 {
    shape.iter().skip(dim + 1).fold(1, |n, len| n.saturating_mul(*len))
}

/// Returns the shape of a box of about `nbytes` bytes. It consists of whole tiles where they are boxes. Tiles
/// are joined along the last dimensions first.
pub(crate) fn chunk_shape(tiling: &Tiling, element_len: u64, nbytes: u64) -> Vec<u64> {
    let shape = tiling.shape();
    let wanted = (nbytes / element_len).max(1);
    let mut chunk = tile_shape(tiling).unwrap_or_else(|| vec![1; shape.len()]);
    for dim in (0..shape.len()).rev() {
        let len = chunk.iter().fold(1_u64, |n, len| n.saturating_mul(*len));
        let times = (wanted / len.max(1)).max(1);
        let whole = shape[dim].max(1);
        chunk[dim] = if times.saturating_mul(chunk[dim]) >= whole { whole } else { times * chunk[dim] };
    }
    chunk
}

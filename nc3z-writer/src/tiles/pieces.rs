//! Parts of chunked arrays for the choice of chains.

use super::HeldTiles;
use super::chunks::Chunked;
use super::read_ahead::ReadAhead;
use crate::error::Result;
use nc3z_format::archive::Role;
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_format::classic::VarId;
use nc3z_format::tile::{Edge, TileLayout};
use nc3z_reader::ClassicFile;

/// Bytes of a chunked array that are scanned at a time.
const PIECE_LEN: u64 = 1 << 20;

/// Returns the beginnings of some chunks, whole slices of at most `most` bytes unless a slice is longer. The chunks
/// are not clipped and are on the diagonal from the first to the last.
pub(crate) fn chunk_samples(
    classic: &ClassicFile,
    arrays: &Arrays,
    info: &ArrayInfo,
    samples: u64,
    most: u64,
) -> Result<Vec<Vec<u8>>> {
    let Role::Variable(var) = info.id.role() else { return Ok(Vec::new()) };
    let Some(chunked) = Chunked::new(classic, arrays, VarId(var))? else { return Ok(Vec::new()) };
    let mut reader = ReadAhead::new(&**classic.source());
    let grid = chunked.whole_chunks();
    let mut places: Vec<Vec<u64>> =
        (0..samples).map(|i| grid.iter().map(|n| (n - 1) * i / (samples - 1).max(1)).collect()).collect();
    places.dedup();
    places.iter().map(|at| chunked.beginning(at, most, &mut reader)).collect()
}

/// Calls `sink` with pieces that together contain every element of the array's tiles, including padding, until it
/// returns false. The pieces are the cached tiles, if there are any.
pub(crate) fn scan_pieces(
    classic: &ClassicFile,
    info: &ArrayInfo,
    held: Option<&HeldTiles>,
    sink: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<()> {
    if matches!(info.tiling.layout(), TileLayout::Chunked { edge: Edge::Padded, .. })
        && let Role::Variable(var) = info.id.role()
        && !sink(classic.header().variables[var as usize].fill_value())
    {
        return Ok(());
    }
    if let Some(held) = held {
        held.of(info.id).all(|tile| sink(&tile.bytes));
        return Ok(());
    }
    let total = info.total_bytes();
    let piece = info.linear_tile_len().unwrap_or(PIECE_LEN);
    let (mut first, mut bytes) = (0, Vec::new());
    while first < total {
        let len = piece.min(total - first);
        bytes.resize(usize::try_from(len).expect("a tile or a piece"), 0);
        classic.read_array_bytes(info.id, first, &mut bytes)?;
        if !sink(&bytes) {
            break;
        }
        first += len;
    }
    Ok(())
}

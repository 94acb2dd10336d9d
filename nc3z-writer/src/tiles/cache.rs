//! Caches all raw tiles of a source with short arrays: they are read once, used for planning, then encoded.

use super::{RawTile, for_each_tile};
use crate::error::Result;
use nc3z_format::archive::ArrayId;
use nc3z_format::array_table::Arrays;
use nc3z_reader::ClassicFile;
use std::collections::BTreeMap;

/// Tiles are cached if all arrays together have at most this many bytes. The limit does not depend on the memory
/// for buffers, because plans depend on it.
const HELD_LEN: u64 = 32 << 20;

/// The tiles in the archive's order, and the tiles of each array.
pub(crate) struct HeldTiles {
    tiles: Vec<RawTile>,
    by_array: BTreeMap<ArrayId, Vec<usize>>,
}

impl HeldTiles {
    /// Reads all tiles; `None` if they have too many bytes.
    pub(crate) fn read(classic: &ClassicFile, arrays: &Arrays, memory: u64) -> Result<Option<Self>> {
        let total = arrays.iter().fold(0u64, |sum, a| sum.saturating_add(a.total_bytes()));
        if total > HELD_LEN {
            return Ok(None);
        }
        let mut held = HeldTiles { tiles: Vec::new(), by_array: BTreeMap::new() };
        for_each_tile(classic, arrays, memory, &mut |raw| {
            held.by_array.entry(raw.array).or_default().push(held.tiles.len());
            held.tiles.push(raw);
            Ok(())
        })?;
        Ok(Some(held))
    }

    /// Returns the tiles of an array in the archive's order.
    pub(crate) fn of(&self, array: ArrayId) -> impl ExactSizeIterator<Item = &RawTile> {
        let at = self.by_array.get(&array).map_or(&[][..], Vec::as_slice);
        at.iter().map(|&i| &self.tiles[i])
    }

    /// Returns a tile of an array by its number.
    pub(crate) fn tile(&self, array: ArrayId, tile: u64) -> Option<&RawTile> {
        self.of(array).find(|t| t.tile == tile)
    }

    /// Returns all tiles in the archive's order.
    pub(crate) fn all(&self) -> &[RawTile] {
        &self.tiles
    }
}

//! All raw tiles of a source whose arrays are short: read once, planned by, then encoded.

use super::{RawTile, for_each_tile};
use crate::error::Result;
use nc3z_format::archive::ArrayId;
use nc3z_format::arrays::Arrays;
use nc3z_reader::ClassicFile;
use std::collections::BTreeMap;

/// The tiles of such a source are kept: so many bytes of arrays in all, whatever the memory for buffers, since plans may
/// follow from them.
const HELD_LEN: u64 = 32 << 20;

/// The tiles in the archive's order, and which of them are of which array.
pub(crate) struct HeldTiles {
    tiles: Vec<RawTile>,
    by_array: BTreeMap<ArrayId, Vec<usize>>,
}

impl HeldTiles {
    /// Reads all tiles; `None` where they are too many bytes.
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

    /// The tiles of an array in the order in which they come.
    pub(crate) fn of(&self, array: ArrayId) -> impl ExactSizeIterator<Item = &RawTile> {
        let at = self.by_array.get(&array).map_or(&[][..], Vec::as_slice);
        at.iter().map(|&i| &self.tiles[i])
    }

    /// A tile of an array by its number.
    pub(crate) fn tile(&self, array: ArrayId, tile: u64) -> Option<&RawTile> {
        self.of(array).find(|t| t.tile == tile)
    }

    /// All tiles in the archive's order.
    pub(crate) fn all(&self) -> &[RawTile] {
        &self.tiles
    }
}

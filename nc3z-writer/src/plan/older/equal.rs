//! Finds tiles of the archive by their content: a new array may equal another one, or a dropped variable.

use super::dropped::Dropped;
use crate::error::Result;
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::array_table::ArrayInfo;
use nc3z_reader::{Archive, BaseTile};
use std::collections::HashMap;

/// Archives with more tiles are not searched: each tile needs a read of its block's header.
const MOST_TILES: u64 = 1 << 16;

/// The archive's tiles by their checksums, built on first use.
pub(super) struct EqualTiles<'a> {
    old: &'a Archive,
    dropped: &'a [Dropped],
    /// Tiles of the newest generation, then of those that have dropped variables.
    all: Option<Vec<(&'a Archive, ByContent)>>,
}

/// Tiles by type, decoded length and checksum.
type ByContent = HashMap<(NcType, usize, u32), Vec<(ArrayId, u64)>>;

impl<'a> EqualTiles<'a> {
    pub(super) fn new(old: &'a Archive, dropped: &'a [Dropped]) -> Self {
        EqualTiles { old, dropped, all: None }
    }

    /// Returns the tile that a new variable's tile may be coded against. It is a tile with the same bytes, or the tile that
    /// such a tile is coded against. Without one, it is the tile at the same position of a dropped variable with the same
    /// name.
    pub(super) fn find(
        &mut self,
        name: &[u8],
        info: &ArrayInfo,
        tile: u64,
        bytes: &[u8],
    ) -> Result<Option<BaseTile>> {
        if !matches!(info.id.role(), Role::Variable(_)) {
            return Ok(None);
        }
        if self.all.is_none() {
            let mut all = vec![(self.old, by_content(self.old, |_| true)?)];
            for dropped in self.dropped {
                all.push((&dropped.archive, by_content(&dropped.archive, |array| dropped.has(array))?));
            }
            self.all = Some(all);
        }
        let key = (info.ty, bytes.len(), crc32fast::hash(bytes));
        let shape = info.tiling.inner_geometry(tile)?;
        for (archive, by_content) in self.all.iter().flatten() {
            for &(array, number) in by_content.get(&key).into_iter().flatten() {
                // The other tile must have the same shape.
                let Some(other) = archive.arrays().get(array) else { continue };
                if other.tiling.inner_geometry(number)? == shape
                    && archive.cached_tile(array, number)? == bytes
                {
                    return Ok(archive.base_tile(array, number)?);
                }
            }
        }
        for Dropped { archive, .. } in self.dropped {
            let other = archive.header().variables().find(|(_, variable)| variable.name == name);
            let Some((v, _)) = other else { continue };
            let other = archive.arrays().variable(v);
            let alike = other.ty == info.ty && tile < other.tiling.tile_count();
            if alike && other.tiling.inner_geometry(tile)? == shape {
                return Ok(archive.base_tile(other.id, tile)?);
            }
        }
        Ok(None)
    }
}

fn by_content(old: &Archive, wanted: impl Fn(ArrayId) -> bool) -> Result<ByContent> {
    let mut all = ByContent::new();
    let is_wanted = |id: ArrayId| matches!(id.role(), Role::Variable(_)) && wanted(id);
    let variables = || old.arrays().iter().filter(|info| is_wanted(info.id));
    if variables().map(|info| info.tiling.tile_count()).sum::<u64>() > MOST_TILES {
        return Ok(all);
    }
    for info in variables() {
        for tile in 0..info.tiling.tile_count() {
            if let Some(crc) = old.noted_crc(info.id, tile)? {
                all.entry((info.ty, info.tile_len(tile)?, crc)).or_default().push((info.id, tile));
            }
        }
    }
    Ok(all)
}

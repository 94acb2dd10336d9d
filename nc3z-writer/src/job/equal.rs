//! Tiles of the archive by their content: a new array may hold what another one holds.

use crate::error::Result;
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::arrays::ArrayInfo;
use nc3z_reader::{Archive, BaseTile};
use std::collections::HashMap;

/// Archives of more tiles are not looked through: each takes a read of its block's header.
const MOST_TILES: u64 = 1 << 16;

/// The archive's tiles by their checksums, once somebody asks.
#[derive(Default)]
pub(super) struct EqualTiles(Option<ByContent>);

/// Tiles by type, decoded length and checksum.
type ByContent = HashMap<(NcType, usize, u32), Vec<(ArrayId, u64)>>;

impl EqualTiles {
    /// What a tile that the archive does not have yet may be coded against: a tile that holds the same bytes, or the one that that is coded against.
    pub(super) fn find(
        &mut self,
        old: &Archive,
        info: &ArrayInfo,
        tile: u64,
        bytes: &[u8],
    ) -> Result<Option<BaseTile>> {
        if !matches!(info.id.role(), Role::Variable(_)) {
            return Ok(None);
        }
        if self.0.is_none() {
            self.0 = Some(by_content(old)?);
        }
        let all = self.0.iter().filter_map(|all| all.get(&(info.ty, bytes.len(), crc32fast::hash(bytes))));
        let shape = info.tiling.inner_geometry(tile)?;
        for &(array, number) in all.flatten() {
            // It is decoded in this tile's shape.
            let Some(other) = old.arrays().get(array) else { continue };
            if other.tiling.inner_geometry(number)? == shape && old.read_tile(array, number)? == bytes {
                return Ok(old.base_tile(array, number)?);
            }
        }
        Ok(None)
    }
}

fn by_content(old: &Archive) -> Result<ByContent> {
    let mut all = ByContent::new();
    let variables = || old.arrays().iter().filter(|info| matches!(info.id.role(), Role::Variable(_)));
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

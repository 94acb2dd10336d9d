//! Archives as array sources.

use super::pieces::{self, FileBytes};
use super::source::ArraySource;
use crate::archive::{Archive, check_len};
use crate::error::Result;
use crate::tile::{StoredTiles, Tiles, Worker};
use bytes::Bytes;
use nc3z_format::array::TileKey;
use nc3z_format::classic::{Header, Layout, VarId};
use nc3z_format::plan::TilePlan;
use nc3z_format::tile::Tiling;
use std::borrow::Cow;
use std::sync::Arc;

/// The original file, for variables whose bytes belong to others.
impl FileBytes for Archive {
    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.read_original(offset, out)
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        let mut bytes = vec![0; len];
        self.read_original(offset, &mut bytes)?;
        Ok(bytes.into())
    }
}

impl Archive {
    /// The tiles of a variable. `None` for an aliased variable, which has none.
    pub(super) fn stored(&self, var: VarId) -> Option<StoredTiles<'_>> {
        self.layout().variable(var).filter(|v| v.owned)?;
        let info = self.arrays().variable(var);
        Some(StoredTiles { store: &self.inner.store, nearby: self.nearby.clone(), info, caches_whole: true })
    }
}

impl ArraySource for Archive {
    fn header(&self) -> &Header {
        Archive::header(self)
    }

    fn layout(&self) -> &Layout {
        Archive::layout(self)
    }

    fn tiling(&self, var: VarId) -> Result<Cow<'_, Tiling>> {
        let v = self.variable_layout(var)?;
        if v.owned {
            return Ok(Cow::Borrowed(&self.arrays().variable(var).tiling));
        }
        pieces::tiling(var, v).map(Cow::Owned)
    }

    fn fill_tile(&self, var: VarId, tile: u64, out: &mut [u8]) -> Result<()> {
        let Some(tiles) = self.stored(var) else {
            return pieces::fill(self.variable_layout(var)?, tile, out, self);
        };
        check_len(tiles.info, tile, out)?;
        tiles.fill(tile, &mut Worker::default(), out)
    }

    fn tile(&self, var: VarId, tile: &TilePlan<'_>, keep: bool) -> Result<(u64, Bytes)> {
        let v = self.variable_layout(var)?;
        match self.stored(var) {
            Some(tiles) => tiles.view(tile, tile.elements * v.element_size(), keep, &mut Worker::default()),
            None => pieces::view(v, tile, self),
        }
    }

    fn fetches_ahead(&self) -> bool {
        self.inner.store.fetches_ahead()
    }

    fn fetch(&self, var: VarId, tiles: &[u64]) -> Result<(usize, Option<Arc<dyn ArraySource>>)> {
        if !self.variable_layout(var)?.owned {
            return Ok((tiles.len(), None));
        }
        let keys: Vec<TileKey> =
            tiles.iter().map(|tile| TileKey::new(self.arrays().variable(var).id, *tile)).collect();
        let (taken, nearby) = self.inner.store.fetch(&keys)?;
        Ok((taken, Some(Arc::new(self.with_nearby(nearby)))))
    }

    fn decode_cost(&self, var: VarId, tile: u64) -> u64 {
        let array = self.arrays().variable(var).id;
        match self.arrays().get(array) {
            Some(info) if !self.is_cached(array, tile) => info.tile_len(tile).map_or(0, |n| n as u64),
            _ => 0,
        }
    }

    fn cache_budget(&self) -> u64 {
        self.cache().budget() / 2
    }

    fn read_range(&self, var: VarId, first: u64, out: &mut [u8]) -> Result<()> {
        self.read_variable_range(var, first, out)
    }

    fn read_bytes(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.read_original(offset, out)
    }

    fn as_archive(&self) -> Option<&Archive> {
        Some(self)
    }
}

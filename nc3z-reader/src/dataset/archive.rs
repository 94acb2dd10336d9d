//! Archives as array sources.

use super::pieces::{self, FileBytes};
use super::source::ArraySource;
use crate::archive::Archive;
use crate::error::Result;
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
        let v = self.variable_layout(var)?;
        if !v.owned {
            return pieces::fill(v, tile, out, self);
        }
        let array = self.arrays().variable(var).id;
        let key = TileKey::new(array, tile);
        self.inner.store.cache.fill(key, out, |out| self.read_tile_into(array, tile, out))
    }

    fn tile(&self, var: VarId, tile: &TilePlan<'_>, keep: bool) -> Result<(u64, Bytes)> {
        let v = self.variable_layout(var)?;
        if !v.owned {
            return pieces::view(v, tile, self);
        }
        let wanted = tile.elements * v.element_size();
        let key = TileKey::new(self.arrays().variable(var).id, tile.tile);
        Ok((0, self.inner.store.cached(key, &self.near, wanted, keep)?))
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
        let (taken, near) = self.inner.store.fetch(&keys)?;
        Ok((taken, Some(Arc::new(self.with_near(near)))))
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

//! Archives as array sources.

use super::pieces::{self, FileBytes};
use super::source::ArraySource;
use crate::archive::Archive;
use crate::error::Result;
use bytes::Bytes;
use nc3z_format::archive::ArrayId;
use nc3z_format::classic::{Header, Layout, VarId};
use nc3z_format::plan::TilePlan;
use nc3z_format::tile::Tiling;
use std::borrow::Cow;

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
        let array = ArrayId::variable(var.0);
        self.inner.tiles.fill(array, tile, out, |out| self.read_tile_into(array, tile, out))
    }

    fn tile(&self, var: VarId, tile: &TilePlan<'_>, keep: bool) -> Result<(u64, Bytes)> {
        let v = self.variable_layout(var)?;
        if !v.owned {
            return pieces::view(v, tile, self);
        }
        let wanted = tile.elements * v.element_size();
        Ok((0, self.cached_tile(self.arrays().variable(var), tile.tile, wanted, keep)?))
    }

    fn decode_cost(&self, var: VarId, tile: u64) -> u64 {
        let array = ArrayId::variable(var.0);
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

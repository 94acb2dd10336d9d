//! The tiles of an array of an archive.

use super::reader::Tiles;
use super::{TileStore, Worker};
use crate::error::Result;
use crate::source::Nearby;
use bytes::Bytes;
use nc3z_format::array::TileKey;
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::plan::TilePlan;

/// The stored tiles of an array, some of whose bytes are in memory.
pub(crate) struct StoredTiles<'s> {
    pub(crate) store: &'s TileStore,
    pub(crate) nearby: Nearby,
    pub(crate) info: &'s ArrayInfo,
    /// True if whole tiles are looked up in the cache, and small ones cached.
    pub(crate) caches_whole: bool,
}

impl StoredTiles<'_> {
    fn key(&self, tile: u64) -> TileKey {
        TileKey::new(self.info.id, tile)
    }
}

impl Tiles for StoredTiles<'_> {
    fn fill(&self, tile: u64, worker: &mut Worker, out: &mut [u8]) -> Result<()> {
        let key = self.key(tile);
        let mut decode = |out: &mut [u8]| self.store.decode(key, &self.nearby, worker, out);
        if self.caches_whole { self.store.cache.fill(key, out, decode) } else { decode(out) }
    }

    fn view(
        &self,
        tile: &TilePlan<'_>,
        wanted: u64,
        keep: bool,
        worker: &mut Worker,
    ) -> Result<(u64, Bytes)> {
        Ok((0, self.store.cached(self.key(tile.tile), &self.nearby, worker, wanted, keep)?))
    }

    fn container_of(&self, tile: u64) -> u64 {
        self.store.container_of(self.key(tile), &self.nearby).unwrap_or(0)
    }

    fn open_container(&self, offset: u64, worker: &mut Worker) -> Option<Bytes> {
        self.store.open_container(offset, &self.nearby, worker)
    }

    fn fetches_ahead(&self) -> bool {
        self.store.fetches_ahead()
    }

    fn fetch<'s>(&'s self, tiles: &[TilePlan<'_>]) -> Result<(usize, Option<Box<dyn Tiles + Send + 's>>)> {
        let keys: Vec<TileKey> = tiles.iter().map(|tile| self.key(tile.tile)).collect();
        let (taken, fetched) = self.store.fetch(&keys)?;
        Ok((taken, Some(Box::new(StoredTiles { nearby: self.nearby.and(&fetched), ..*self }))))
    }
}

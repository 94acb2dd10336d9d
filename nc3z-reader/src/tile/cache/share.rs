//! One open archive's part of a cache.

use super::hot_tiles::HotTileView;
use super::{GuardResult, Key, TileCache};
use crate::error::Result;
use bytes::Bytes;
use nc3z_format::array::TileKey;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Tiles of at most this many bytes are cached even if they are decoded in their final place. Coordinates are
/// read often, and finding and decoding them costs more than copying.
const SMALL_LEN: usize = 64 << 10;
/// Pieces of at most this many bytes are copied from tiles at hand. An evicted tile waits for such a copy.
/// For longer pieces the lookup costs little compared with the copy.
pub(crate) const PIECE_LEN: u64 = 1 << 10;

/// The tiles of one open archive. They leave the cache when the archive is closed.
pub(crate) struct Share {
    /// The process's cache, unless another was given. It is made by the first read that can use it: restoring does without.
    cache: OnceLock<TileCache>,
    /// Differs from the number of any other archive opened by this process.
    archive: u64,
    /// True if any tile was ever cached. Otherwise closing skips the search for tiles, which takes long in a
    /// large cache.
    used: AtomicBool,
}

impl Share {
    pub(crate) fn new(cache: Option<TileCache>) -> Self {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let cache = cache.map_or_else(OnceLock::new, OnceLock::from);
        Share { cache, archive: OPENED.fetch_add(1, Ordering::Relaxed), used: AtomicBool::new(false) }
    }

    pub(crate) fn cache(&self) -> &TileCache {
        self.cache.get_or_init(|| TileCache::process().clone())
    }

    fn key(&self, tile: TileKey) -> Key {
        Key { archive: self.archive, tile }
    }

    /// Returns true if the cache has this tile. Does not count as a read.
    pub(crate) fn holds(&self, tile: TileKey) -> bool {
        self.used.load(Ordering::Relaxed) && self.cache().0.tiles.contains_key(&self.key(tile))
    }

    /// The tiles that were recently read in small pieces. The caller reports the bytes that it copies to
    /// [`Share::count`].
    pub(crate) fn hot_tiles(&self) -> HotTileView<'_> {
        let shared = &*self.cache().0;
        shared.hot_tiles.of(self.archive, shared.counters.evictions())
    }

    /// Counts `tiles` tiles that were found decoded, and `copied` bytes copied from them.
    pub(crate) fn count(&self, tiles: u64, copied: u64) {
        self.cache().0.counters.hits(tiles);
        self.cache().0.counters.copied(copied);
    }

    /// Finds a tile in the cache, of which `wanted` bytes will be copied.
    fn found(&self, key: &Key, wanted: u64) -> Option<Bytes> {
        let shared = &*self.cache().0;
        let evictions = shared.counters.evictions();
        let bytes = shared.tiles.get(key)?;
        self.count(1, wanted);
        if (1..=PIECE_LEN).contains(&wanted) {
            shared.hot_tiles.note(*key, &bytes, evictions, || shared.tiles.peek(key));
        }
        Some(bytes)
    }

    /// Fills `out` with a whole tile, from the cache or decoded in place.
    pub(crate) fn fill(
        &self,
        tile: TileKey,
        out: &mut [u8],
        decode: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let shared = &*self.cache().0;
        let key = self.key(tile);
        let enabled = self.cache().budget() > 0;
        if let Some(bytes) = enabled.then(|| self.found(&key, out.len() as u64)).flatten() {
            out.copy_from_slice(&bytes);
            return Ok(());
        }
        decode(out)?;
        shared.counters.decoded(out.len());
        if out.len() <= SMALL_LEN && self.cache().admits(out.len() as u64) {
            self.used.store(true, Ordering::Relaxed);
            shared.tiles.insert(key, Bytes::copy_from_slice(out));
        }
        Ok(())
    }

    /// A decoded tile of `len` bytes, of which `wanted` will be copied. It is cached unless `keep` is false.
    /// If two threads request a tile at the same time, it is decoded once.
    pub(crate) fn get(
        &self,
        tile: TileKey,
        len: usize,
        wanted: u64,
        keep: bool,
        decode: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Bytes> {
        let shared = &*self.cache().0;
        let decode = || -> Result<Bytes> {
            let mut bytes = vec![0; len];
            decode(&mut bytes)?;
            shared.counters.decoded(len);
            shared.counters.copied(wanted);
            Ok(bytes.into())
        };
        if self.cache().budget() == 0 {
            return decode();
        }
        let key = self.key(tile);
        if let Some(bytes) = self.found(&key, wanted) {
            return Ok(bytes);
        }
        if !keep || !self.cache().admits(len as u64) {
            return decode();
        }
        match shared.tiles.get_value_or_guard(&key, None) {
            GuardResult::Value(bytes) => {
                // Another thread has just decoded it: the cache does not count this as a read.
                self.count(1, wanted);
                Ok(bytes)
            }
            GuardResult::Guard(guard) => {
                // An error drops the guard: the next waiting thread tries again.
                let bytes = decode()?;
                self.used.store(true, Ordering::Relaxed);
                // Refused only if the cache was cleared meanwhile.
                let _ = guard.insert(bytes.clone());
                Ok(bytes)
            }
            GuardResult::Timeout => decode(),
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.used.load(Ordering::Relaxed) {
            self.cache().0.tiles.retain(|key, _| key.archive != self.archive);
            self.cache().0.hot_tiles.forget_archive(self.archive);
        }
    }
}

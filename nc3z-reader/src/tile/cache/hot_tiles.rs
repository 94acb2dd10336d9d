//! Tiles that are read repeatedly in small pieces. A reader finds many of them under one lock, and writes
//! nothing else that threads share.
//!
//! The cache decides which tiles are kept. Invariants:
//!
//! 1. A tile is here only while the cache holds it, and is removed with it: its bytes count in the cache's
//!    budget.
//! 2. A tile is found here only if a lookup in the cache would change nothing. The cache counts the reads of
//!    a tile up to [`COUNTED`], and reduces the count only while it makes room. So a tile is found here after
//!    [`COUNTED`] reads in the cache since the last eviction.
//!
//! Locks are taken one at a time: no lock of the cache while one of these is held.

use super::Key;
use bytes::Bytes;
use quick_cache::DefaultHashBuilder;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The largest number of reads of a tile that the cache counts to decide which tiles to keep.
const COUNTED: u64 = 2;
/// The number of locks. All tiles of an archive are behind one lock.
const SHARDS: usize = 16;

#[derive(Default)]
pub(super) struct HotTiles {
    shards: [Shard; SHARDS],
}

type Tiles = HashMap<Key, CachedTile, DefaultHashBuilder>;

/// Aligned apart from other shards, so that threads that read different archives do not wait for each other.
#[derive(Default)]
#[repr(align(128))]
struct Shard(RwLock<Tiles>);

impl Shard {
    // Work under a lock leaves the table valid wherever it ends.
    fn read(&self) -> RwLockReadGuard<'_, Tiles> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tiles> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

struct CachedTile {
    bytes: Bytes,
    /// In the high bits the evictions before the last read of the tile in the cache. In the low bits the
    /// reads since these evictions, at most [`COUNTED`].
    reads: AtomicU64,
}

/// Evictions and reads in one number. The later state is the greater number.
fn reads(evictions: u64, count: u64) -> u64 {
    (evictions << 2) | count
}

/// The tiles of an archive, which stay while this value exists. Its user copies little, and calls nothing
/// that takes a lock of the cache.
pub(crate) struct HotTileView<'h> {
    tiles: RwLockReadGuard<'h, Tiles>,
    archive: u64,
    enough: u64,
}

impl HotTileView<'_> {
    #[inline]
    pub(crate) fn tile(&self, tile: nc3z_format::array::TileKey) -> Option<&Bytes> {
        let held = self.tiles.get(&Key { archive: self.archive, tile })?;
        (held.reads.load(Ordering::Relaxed) == self.enough).then_some(&held.bytes)
    }
}

impl HotTiles {
    fn shard(&self, archive: u64) -> &Shard {
        &self.shards[usize::try_from(archive % SHARDS as u64).expect("less than SHARDS")]
    }

    /// The tiles of an archive, where the cache has evicted `evictions` tiles.
    pub(super) fn of(&self, archive: u64, evictions: u64) -> HotTileView<'_> {
        HotTileView { tiles: self.shard(archive).read(), archive, enough: reads(evictions, COUNTED) }
    }

    /// Records that a tile was read in the cache after `evictions` evictions. `current` returns the bytes
    /// that the cache has now.
    pub(super) fn note(
        &self,
        key: Key,
        bytes: &Bytes,
        evictions: u64,
        current: impl FnOnce() -> Option<Bytes>,
    ) {
        let shard = self.shard(key.archive);
        if let Some(held) = shard.read().get(&key) {
            // Two simultaneous reads may count as one: then the tile is read in the cache once more.
            let before = held.reads.load(Ordering::Relaxed);
            let one = reads(evictions, 1);
            let now = if before < one { one } else { (before + 1).min(reads(evictions, COUNTED)) };
            held.reads.store(now, Ordering::Relaxed);
            return;
        }
        let held = CachedTile { bytes: bytes.clone(), reads: AtomicU64::new(reads(evictions, 1)) };
        shard.write().insert(key, held);
        // The tile may have left the cache meanwhile, and been removed here before it was added.
        if current().is_none_or(|now| now.as_ptr() != bytes.as_ptr()) {
            self.forget(&key);
        }
    }

    /// Removes a tile that left the cache.
    pub(super) fn forget(&self, key: &Key) {
        // Freed after the lock is released.
        let _freed = self.shard(key.archive).write().remove(key);
    }

    /// Removes all tiles of an archive.
    pub(super) fn forget_archive(&self, archive: u64) {
        let mut tiles = self.shard(archive).write();
        tiles.retain(|key, _| key.archive != archive);
        let most = 2 * tiles.len();
        tiles.shrink_to(most);
    }

    pub(super) fn clear(&self) {
        for shard in &self.shards {
            *shard.write() = Tiles::default();
        }
    }

    /// The tiles and their bytes.
    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<(Key, Bytes)> {
        let all = self.shards.iter().flat_map(|shard| {
            let tiles = shard.read();
            tiles.iter().map(|(key, held)| (*key, held.bytes.clone())).collect::<Vec<_>>()
        });
        all.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Share, TileCache};
    use nc3z_format::archive::ArrayId;
    use nc3z_format::array::TileKey;

    fn key(tile: u64) -> TileKey {
        TileKey::new(ArrayId::variable(0), tile)
    }

    /// Two bytes of a tile of a thousand.
    fn read(share: &Share, tile: u64) {
        let decode = |out: &mut [u8]| {
            out.fill(u8::try_from(tile).unwrap());
            Ok(())
        };
        assert_eq!(share.get(key(tile), 1000, 2, true, decode).unwrap()[999], u8::try_from(tile).unwrap());
    }

    /// Checks invariant 1 while no thread reads.
    fn check(cache: &TileCache) {
        for (key, bytes) in cache.0.hot_tiles.all() {
            let kept = cache.0.tiles.peek(&key).expect("a tile at hand is in the cache");
            assert_eq!(kept.as_ptr(), bytes.as_ptr(), "and takes no memory of its own");
        }
    }

    #[test]
    fn a_tile_is_hot_until_something_is_evicted() {
        let cache = TileCache::new(3 * 1256);
        let share = Share::new(Some(cache.clone()));
        let is_hot = |tile| share.hot_tiles().tile(key(tile)).is_some();
        for before in 0..3 {
            assert!(!is_hot(7), "after {before} reads");
            read(&share, 7);
        }
        assert!(is_hot(7) && !is_hot(8));
        assert_eq!(share.hot_tiles().tile(key(7)).unwrap()[..], [7; 1000]);
        assert!(Share::new(Some(cache.clone())).hot_tiles().tile(key(7)).is_none(), "another archive's");
        (20..30).for_each(|tile| read(&share, tile));
        assert!(cache.stats().evictions > 0 && !is_hot(7));
        check(&cache);
        (0..3).for_each(|_| read(&share, 7));
        assert!(is_hot(7));
        cache.clear();
        assert!(!is_hot(7) && cache.0.hot_tiles.all().is_empty());
        (0..3).for_each(|_| read(&share, 7));
        cache.set_budget(1);
        assert!(!is_hot(7) && cache.0.hot_tiles.all().is_empty());
        cache.set_budget(1 << 20);
        (0..3).for_each(|_| read(&share, 7));
        assert!(is_hot(7));
        drop(share);
        assert!(cache.0.hot_tiles.all().is_empty());
    }

    #[test]
    fn tiles_in_long_pieces_are_not_hot() {
        let share = Share::new(Some(TileCache::new(1 << 20)));
        for wanted in [0, 1025] {
            for _ in 0..4 {
                share.get(key(1), 5000, wanted, true, |_| Ok(())).unwrap();
            }
            assert!(share.hot_tiles().tile(key(1)).is_none(), "{wanted}");
        }
    }

    #[test]
    fn hot_tiles_are_in_the_cache_while_others_read_and_clear() {
        let cache = TileCache::new(6 * 1256);
        for round in 0..10 {
            let share = Share::new(Some(cache.clone()));
            std::thread::scope(|scope| {
                for t in 0..4_u64 {
                    let (share, cache) = (&share, &cache);
                    scope.spawn(move || {
                        for n in 0..1000_u64 {
                            let tile = if n % 7 == t { n * 31 % 50 } else { n % 3 };
                            read(share, tile);
                            if let Some(bytes) = share.hot_tiles().tile(key(tile)) {
                                assert_eq!(u64::from(bytes[0]), tile);
                            }
                            match (t, n % 200) {
                                (0, 199) => cache.clear(),
                                (1, 99) => cache.set_budget((2 + n / 100) * 1256),
                                _ => {}
                            }
                        }
                    });
                }
            });
            check(&cache);
            assert!(cache.stats().evictions > 0, "round {round}");
        }
        assert!(cache.0.hot_tiles.all().is_empty() && cache.stats().entries == 0);
    }
}

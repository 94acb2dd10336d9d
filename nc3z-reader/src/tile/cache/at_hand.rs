//! Tiles that are read again and again in small pieces, found many at a time: by one lock for all of them, and nothing else written that
//! threads share.
//!
//! What is kept is the cache's business. Invariants:
//!
//! 1. A tile is here only while the cache holds it, and goes when it goes: its bytes are in the cache's budget.
//! 2. A tile is found here only where finding it there would change nothing. The cache counts the reads of a tile up to [`COUNTED`], and down
//!    only while it makes room: so a tile is found here once it was read there so many times since the last eviction.
//!
//! Locks are taken one at a time: none of the cache's while one of these is held.

use super::Key;
use bytes::Bytes;
use quick_cache::DefaultHashBuilder;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Reads of a tile that the cache counts at most, by which it tells what to keep.
const COUNTED: u64 = 2;
/// Locks: an archive's tiles are behind one.
const SHARDS: usize = 16;

#[derive(Default)]
pub(super) struct AtHand {
    shards: [Shard; SHARDS],
}

type Tiles = HashMap<Key, Held, DefaultHashBuilder>;

/// Apart from others', so that threads that read of several archives do not wait for each other.
#[derive(Default)]
#[repr(align(128))]
struct Shard(RwLock<Tiles>);

impl Shard {
    // What is done under the locks leaves the table whole wherever it may end.
    fn read(&self) -> RwLockReadGuard<'_, Tiles> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tiles> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Held {
    bytes: Bytes,
    /// Evictions before the last read of it in the cache, and reads since these (at most [`COUNTED`]) in the low bits.
    reads: AtomicU64,
}

/// Evictions and reads in one number; the later is the greater.
fn reads(evictions: u64, count: u64) -> u64 {
    (evictions << 2) | count
}

/// An archive's tiles, which stay while this is held: copy little, and call nothing that takes a lock of the cache.
pub(crate) struct Tray<'h> {
    tiles: RwLockReadGuard<'h, Tiles>,
    archive: u64,
    enough: u64,
}

impl Tray<'_> {
    /// The bytes of a tile.
    #[inline]
    pub(crate) fn tile(&self, tile: nc3z_format::array::TileKey) -> Option<&Bytes> {
        let held = self.tiles.get(&Key { archive: self.archive, tile })?;
        (held.reads.load(Ordering::Relaxed) == self.enough).then_some(&held.bytes)
    }
}

impl AtHand {
    fn shard(&self, archive: u64) -> &Shard {
        &self.shards[usize::try_from(archive % SHARDS as u64).expect("less than SHARDS")]
    }

    /// What is at hand of an archive, where the cache has evicted so many tiles.
    pub(super) fn of(&self, archive: u64, evictions: u64) -> Tray<'_> {
        Tray { tiles: self.shard(archive).read(), archive, enough: reads(evictions, COUNTED) }
    }

    /// Notes that a tile was read in the cache, after so many evictions; `current` gives the bytes that the cache has now.
    pub(super) fn note(
        &self,
        key: Key,
        bytes: &Bytes,
        evictions: u64,
        current: impl FnOnce() -> Option<Bytes>,
    ) {
        let shard = self.shard(key.archive);
        if let Some(held) = shard.read().get(&key) {
            // Two that note at once may count as one: then it is read there once more.
            let before = held.reads.load(Ordering::Relaxed);
            let one = reads(evictions, 1);
            let now = if before < one { one } else { (before + 1).min(reads(evictions, COUNTED)) };
            held.reads.store(now, Ordering::Relaxed);
            return;
        }
        let held = Held { bytes: bytes.clone(), reads: AtomicU64::new(reads(evictions, 1)) };
        shard.write().insert(key, held);
        // It may have left the cache meanwhile, and been forgotten here before it came.
        if current().is_none_or(|now| now.as_ptr() != bytes.as_ptr()) {
            self.forget(&key);
        }
    }

    /// A tile that left the cache.
    pub(super) fn forget(&self, key: &Key) {
        // Freed once the lock is gone.
        let _freed = self.shard(key.archive).write().remove(key);
    }

    /// All tiles of an archive.
    pub(super) fn forget_archive(&self, archive: u64) {
        let mut tiles = self.shard(archive).write();
        tiles.retain(|key, _| key.archive != archive);
        let most = 2 * tiles.len();
        tiles.shrink_to(most);
    }

    /// Everything.
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

    /// Invariant 1, where nobody reads.
    fn check(cache: &TileCache) {
        for (key, bytes) in cache.0.at_hand.all() {
            let kept = cache.0.tiles.peek(&key).expect("a tile at hand is in the cache");
            assert_eq!(kept.as_ptr(), bytes.as_ptr(), "and takes no memory of its own");
        }
    }

    #[test]
    fn a_tile_is_at_hand_once_reading_it_changes_nothing_and_until_something_is_evicted() {
        let cache = TileCache::new(3 * 1256);
        let share = Share::of(cache.clone());
        let is_at_hand = |tile| share.at_hand().tile(key(tile)).is_some();
        for before in 0..3 {
            assert!(!is_at_hand(7), "after {before} reads");
            read(&share, 7);
        }
        assert!(is_at_hand(7) && !is_at_hand(8));
        assert_eq!(share.at_hand().tile(key(7)).unwrap()[..], [7; 1000]);
        assert!(Share::of(cache.clone()).at_hand().tile(key(7)).is_none(), "another archive's");
        (20..30).for_each(|tile| read(&share, tile));
        assert!(cache.stats().evictions > 0 && !is_at_hand(7));
        check(&cache);
        (0..3).for_each(|_| read(&share, 7));
        assert!(is_at_hand(7));
        cache.clear();
        assert!(!is_at_hand(7) && cache.0.at_hand.all().is_empty());
        (0..3).for_each(|_| read(&share, 7));
        cache.set_budget(1);
        assert!(!is_at_hand(7) && cache.0.at_hand.all().is_empty());
        cache.set_budget(1 << 20);
        (0..3).for_each(|_| read(&share, 7));
        assert!(is_at_hand(7));
        drop(share);
        assert!(cache.0.at_hand.all().is_empty());
    }

    #[test]
    fn tiles_in_long_pieces_are_not_at_hand() {
        let share = Share::of(TileCache::new(1 << 20));
        for wanted in [0, 1025] {
            for _ in 0..4 {
                share.get(key(1), 5000, wanted, true, |_| Ok(())).unwrap();
            }
            assert!(share.at_hand().tile(key(1)).is_none(), "{wanted}");
        }
    }

    #[test]
    fn what_is_at_hand_is_in_the_cache_whoever_reads_and_clears_meanwhile() {
        let cache = TileCache::new(6 * 1256);
        for round in 0..10 {
            let share = Share::of(cache.clone());
            std::thread::scope(|scope| {
                for t in 0..4_u64 {
                    let (share, cache) = (&share, &cache);
                    scope.spawn(move || {
                        for n in 0..1000_u64 {
                            let tile = if n % 7 == t { n * 31 % 50 } else { n % 3 };
                            read(share, tile);
                            if let Some(bytes) = share.at_hand().tile(key(tile)) {
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
        assert!(cache.0.at_hand.all().is_empty() && cache.stats().entries == 0);
    }
}

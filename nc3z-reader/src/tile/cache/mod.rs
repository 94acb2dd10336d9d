//! A cache of decoded tiles: one for the process, with a budget in bytes.
//!
//! * If several threads request a tile at the same time, the first decodes it. No lock is held meanwhile.
//! * Tiles that were read once, by a scan, are evicted before tiles that were read again (S3-FIFO). A tile
//!   that is decoded directly into an output is not cached, unless it is small. The tiles of a request larger
//!   than half of the budget are not cached either.
//! * The tiles of an archive are dropped with the last clone of the archive.
//! * The budget is set by [`TileCache::set_budget`], otherwise by `NC3Z_CACHE` (a size such as `64MiB`; `0`
//!   for no cache). The default is an eighth of the memory that the process may use, at most 1 GiB.
//!
//! ```
//! use nc3z_reader::cache::TileCache;
//! let cache = TileCache::process();
//! cache.set_budget(64 << 20);
//! assert_eq!(cache.budget(), 64 << 20);
//! println!("{} hits", cache.stats().hits);
//! ```

mod budget;
mod hot_tiles;
mod share;
mod stats;

pub use budget::{budget_from_env, default_budget};
pub(crate) use share::{PIECE_LEN, Share};
pub use stats::CacheStats;

use bytes::Bytes;
use hot_tiles::HotTiles;
use nc3z_format::array::TileKey;
use quick_cache::sync::{Cache, GuardResult};
use quick_cache::{DefaultHashBuilder, Lifecycle, OptionsBuilder, Weighter};
use stats::Counters;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Bytes of an entry besides its tile, including its entry in [`hot_tiles`].
const ENTRY_LEN: u64 = 256;
/// Budget of a shard in bytes. Each shard has its own lock, and holds no tile larger than itself.
const SHARD_BUDGET: u64 = 64 << 20;
const MAX_SHARDS: u64 = 64;

/// Identifies a tile of an open archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    archive: u64,
    tile: TileKey,
}

#[derive(Clone)]
struct ByLength;

impl Weighter<Key, Bytes> for ByLength {
    fn weight(&self, _: &Key, tile: &Bytes) -> u64 {
        tile.len() as u64 + ENTRY_LEN
    }
}

/// Counts evictions, and frees the evicted tiles after the lock is released.
#[derive(Clone)]
struct Evictions {
    counters: Arc<Counters>,
    hot_tiles: Arc<HotTiles>,
}

#[derive(Default)]
struct Evicted {
    tiles: Vec<(Key, Bytes)>,
    hot_tiles: Option<Arc<HotTiles>>,
}

impl Lifecycle<Key, Bytes> for Evictions {
    type RequestState = Evicted;

    fn on_evict(&self, evicted: &mut Evicted, key: Key, tile: Bytes) {
        self.counters.evictions.fetch_add(1, Ordering::Relaxed);
        evicted.tiles.push((key, tile));
        evicted.hot_tiles.get_or_insert_with(|| Arc::clone(&self.hot_tiles));
    }
}

impl Drop for Evicted {
    fn drop(&mut self) {
        if let Some(hot_tiles) = &self.hot_tiles {
            self.tiles.iter().for_each(|(key, _)| hot_tiles.forget(key));
        }
    }
}

type Tiles = Cache<Key, Bytes, ByLength, DefaultHashBuilder, Evictions>;

/// A cache of decoded tiles. Clones share the tiles and the budget.
#[derive(Clone)]
pub struct TileCache(Arc<Shared>);

struct Shared {
    tiles: Tiles,
    budget: AtomicU64,
    counters: Arc<Counters>,
    /// The tiles that are read in small pieces.
    hot_tiles: Arc<HotTiles>,
}

impl TileCache {
    /// The process's cache. Archives use it unless they are opened with another.
    pub fn process() -> &'static TileCache {
        static PROCESS: OnceLock<TileCache> = OnceLock::new();
        // A program that wants to report an invalid value calls `budget_from_env` itself.
        PROCESS
            .get_or_init(|| TileCache::new(budget_from_env().ok().flatten().unwrap_or_else(default_budget)))
    }

    /// Makes a separate cache of `budget` bytes. 0 caches nothing.
    pub fn new(budget: u64) -> Self {
        let (counters, hot_tiles) = (Arc::new(Counters::default()), Arc::new(HotTiles::default()));
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        // A cache that begins without a budget may get one later.
        let shards = if budget == 0 { cores } else { budget / SHARD_BUDGET };
        let shards = shards.clamp(1, (4 * cores).min(MAX_SHARDS));
        let items = (budget >> 18).clamp(64 * shards, 1 << 20);
        let size = |n: u64| usize::try_from(n).expect("at most 2^20");
        let options = OptionsBuilder::new()
            .shards(size(shards))
            .estimated_items_capacity(size(items))
            .weight_capacity(budget)
            .build()
            .expect("capacities are set");
        let tiles = Cache::with_options(
            options,
            ByLength,
            DefaultHashBuilder::default(),
            Evictions { counters: Arc::clone(&counters), hot_tiles: Arc::clone(&hot_tiles) },
        );
        TileCache(Arc::new(Shared { tiles, budget: AtomicU64::new(budget), counters, hot_tiles }))
    }

    /// Bytes that the cache may hold.
    pub fn budget(&self) -> u64 {
        self.0.budget.load(Ordering::Relaxed)
    }

    /// Changes the budget, and drops the tiles that no longer fit. Best called before the first read, since
    /// the number of locks stays the same.
    pub fn set_budget(&self, budget: u64) {
        self.0.budget.store(budget, Ordering::Relaxed);
        self.0.tiles.set_capacity(budget);
        if budget == 0 {
            self.clear();
        }
    }

    /// Drops every tile.
    pub fn clear(&self) {
        self.0.tiles.clear();
        self.0.hot_tiles.clear();
    }

    /// The counts since the cache was made.
    pub fn stats(&self) -> CacheStats {
        self.0.counters.read(self.0.tiles.len() as u64, self.0.tiles.weight(), self.budget())
    }

    /// Returns true if the cache would hold a tile of this length.
    fn admits(&self, len: u64) -> bool {
        self.budget() > 0 && len + ENTRY_LEN <= self.0.tiles.shard_capacity() / 10 * 9
    }
}

impl std::fmt::Debug for TileCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TileCache").field(&self.stats()).finish()
    }
}

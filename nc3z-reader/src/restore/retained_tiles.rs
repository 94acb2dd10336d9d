//! Decoded tiles that windows to come need again.

use crate::error::{Error, Result};
use crate::source::Nearby;
use crate::tile::TileStore;
use nc3z_format::Error as FormatError;
use nc3z_format::array::TileKey;
use nc3z_format::classic::Layout;
use nc3z_format::selection;
use nc3z_format::tile::TileExtent;
use std::collections::HashMap;

/// A tile that is decoded in its place.
pub(super) type InPlace<'w> = (TileKey, &'w mut [u8]);

/// Largest number of tiles that are decoded in one step. Only a forged archive has as many in one window; without
/// this limit, the keys and places of tiles of one byte would need a gigabyte.
const BATCH_TILES: usize = 1 << 16;

enum Job<'w> {
    /// Into memory of its own, where it is held.
    RetainedTiles(TileKey, Vec<u8>),
    /// Into its place in the window.
    InPlace(TileKey, &'w mut [u8]),
}

impl Job<'_> {
    fn key(&self) -> TileKey {
        match self {
            Job::RetainedTiles(key, _) | Job::InPlace(key, _) => *key,
        }
    }
}

/// Tiles that reach beyond the window they were first needed for.
#[derive(Default)]
pub(super) struct RetainedTiles {
    tiles: HashMap<TileKey, Vec<u8>>,
    /// Buffers of released tiles, reused for the next tiles.
    spare: Vec<Vec<u8>>,
}

impl RetainedTiles {
    /// A decoded tile that is held.
    ///
    /// # Panics
    /// If it is not held: [`RetainedTiles::decode`] must be called first.
    pub(super) fn get(&self, key: TileKey) -> &[u8] {
        &self.tiles[&key]
    }

    pub(super) fn find(&self, key: TileKey) -> Option<&[u8]> {
        self.tiles.get(&key).map(Vec::as_slice)
    }

    /// Decodes tiles in parallel: those that are needed and not held yet, and others in their place.
    pub(super) fn decode(
        &mut self,
        store: &TileStore,
        nearby: &Nearby,
        mut needed: Vec<TileKey>,
        in_place: Vec<InPlace<'_>>,
    ) -> Result<()> {
        needed.retain(|key| !self.tiles.contains_key(key));
        needed.sort_unstable();
        needed.dedup();
        self.check_room(store, &needed)?;
        let spare = std::mem::take(&mut self.spare).into_iter().chain(std::iter::repeat_with(Vec::new));
        let jobs = needed.into_iter().zip(spare).map(|(key, room)| Job::RetainedTiles(key, room));
        let mut jobs = jobs.chain(in_place.into_iter().map(|(key, out)| Job::InPlace(key, out)));
        loop {
            let batch: Vec<Job<'_>> = jobs.by_ref().take(BATCH_TILES).collect();
            if batch.is_empty() {
                return Ok(());
            }
            self.decode_batch(store, nearby, batch)?;
        }
    }

    fn decode_batch(&mut self, store: &TileStore, nearby: &Nearby, jobs: Vec<Job<'_>>) -> Result<()> {
        let decoded = store.in_parallel(jobs, Job::key, nearby, |job, worker| match job {
            Job::InPlace(key, out) => store.decode(key, nearby, worker, out).map(|()| None),
            Job::RetainedTiles(key, mut room) => {
                room.resize(store.info(key.array)?.tile_len(key.tile)?, 0);
                store.decode(key, nearby, worker, &mut room)?;
                Ok(Some((key, room)))
            }
        });
        for tile in decoded {
            self.tiles.extend(tile?);
        }
        Ok(())
    }

    /// Only the writer guarantees that tiles of record variables are small together. A foreign archive could
    /// require any amount of memory.
    fn check_room(&self, store: &TileStore, needed: &[TileKey]) -> Result<()> {
        let limit = store.limits.rebuild_len;
        let mut room = limit;
        let held = self.tiles.values().map(|tile| Ok::<_, Error>(tile.len()));
        let asked = needed.iter().map(|key| Ok(store.info(key.array)?.tile_len(key.tile)?));
        for len in held.chain(asked) {
            let len = len? as u64;
            room = room.checked_sub(len).ok_or_else(|| {
                let what = "decoded tiles of one window";
                Error::from(FormatError::limit("original file", None, what, limit, limit.saturating_add(len)))
            })?;
        }
        Ok(())
    }

    /// Releases tiles that end before byte `done` of the original.
    pub(super) fn release(&mut self, store: &TileStore, layout: &Layout, done: u64) {
        let needed = |key: &TileKey| {
            let last = last_byte(store, *key).and_then(|last| store.arrays.byte_run(layout, key.array, last));
            last.is_some_and(|(offset, _)| offset >= done)
        };
        let passed = self.tiles.extract_if(|key, _| !needed(key));
        self.spare = passed.map(|(_, tile)| tile).collect();
    }
}

/// The last byte that a tile has of its array's flattened form.
fn last_byte(store: &TileStore, key: TileKey) -> Option<u64> {
    let info = store.arrays.get(key.array)?;
    let size = info.ty.size() as u64;
    let last = match info.tiling.extent(key.tile).ok()? {
        TileExtent::Linear { first, count } => first + count.checked_sub(1)?,
        TileExtent::Chunk { start, shape } => {
            let widths = selection::widths(info.tiling.shape());
            start.iter().zip(&shape).zip(&widths).map(|((s, n), w)| (s + n - 1) * w).sum()
        }
    };
    Some(last * size + size - 1)
}

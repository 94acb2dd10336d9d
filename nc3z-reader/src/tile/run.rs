//! Reads byte ranges of an array's flattened form, for all kinds of tiles: planned, then read window by
//! window.

use super::fetch::WINDOW_TILES;
use super::{TileStore, in_windows};
use crate::error::Result;
use crate::source::Near;
use bytes::Bytes;
use nc3z_format::array::TileKey;
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::plan::TilePlan;
use nc3z_format::plan::copy::copy_tile;
use nc3z_format::tile::{TileLayout, Tiling};
use nc3z_format::{Plan, runs};

/// Reads of fewer bytes than this are done on the calling thread.
const PARALLEL_FROM: usize = 2 << 20;
/// Largest number of bytes of tiles that are decoded apart from their place at a time.
const APART_LEN: u64 = 16 << 20;

/// A contiguous part of an output that comes from one array.
pub(crate) struct Piece<'w> {
    pub(crate) info: &'w ArrayInfo,
    /// First byte in the flattened array.
    pub(crate) first: u64,
    pub(crate) out: &'w mut [u8],
}

/// Describes the tiles of an array in bytes, so that a run of bytes is one or a few hyperslabs.
pub(crate) fn flat_tiling(info: &ArrayInfo) -> Result<Tiling> {
    let total = info.total_bytes();
    Ok(match info.linear_tile_len() {
        Some(len) => TileLayout::linear(len).bind(&[total], total)?,
        None => info.byte_tiling()?,
    })
}

/// Plans to read a run of `len` bytes from byte `first` on. The outputs of the plans follow each other, and
/// each plan has its length. A linear array needs one plan, a chunked array at most twice as many as it has
/// dimensions.
pub(crate) fn plans_of_run(
    tiling: &Tiling,
    first: u64,
    len: u64,
) -> impl Iterator<Item = Result<(Plan, usize)>> {
    runs::boxes(tiling.shape(), first, first + len).map(move |slab| {
        let plan = Plan::of(tiling, &slab)?;
        let len = usize::try_from(plan.selected()).expect("not more than the run, which is in memory");
        Ok((plan, len))
    })
}

/// Fills `out` with bytes of an array's flattened form, from byte `first` on. All of these bytes must be
/// present.
pub(crate) fn read_run(
    store: &TileStore,
    near: &Near,
    info: &ArrayInfo,
    first: u64,
    out: &mut [u8],
) -> Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    let tiling = flat_tiling(info)?;
    let run = Run { store, near, info, parallel: out.len() >= PARALLEL_FROM };
    let mut rest = out;
    for plan in plans_of_run(&tiling, first, rest.len() as u64) {
        let (plan, len) = plan?;
        let (here, after) = rest.split_at_mut(len);
        rest = after;
        run.read(&plan, here)?;
    }
    Ok(())
}

/// A read of a run.
struct Run<'r> {
    store: &'r TileStore,
    near: &'r Near,
    info: &'r ArrayInfo,
    parallel: bool,
}

/// The way to read one tile.
enum Work<'w> {
    /// Decode the tile in its final place.
    Whole(TileKey, &'w mut [u8]),
    /// Decode the tile elsewhere; this many of its bytes will be copied.
    Apart(TileKey, u64),
}

impl Run<'_> {
    fn key(&self, tile: &TilePlan<'_>) -> TileKey {
        TileKey::new(self.info.id, tile.tile)
    }

    fn read(&self, plan: &Plan, out: &mut [u8]) -> Result<()> {
        let mut tiles = plan.tiles();
        if !self.store.fetches_ahead() {
            while self.read_batch(&mut tiles, self.near, out)? {}
            return Ok(());
        }
        let fetch = |tiles: &[TilePlan<'_>]| {
            let keys: Vec<TileKey> = tiles.iter().map(|tile| self.key(tile)).collect();
            self.store.fetch(&keys)
        };
        in_windows(&mut tiles, WINDOW_TILES, true, fetch, |tiles, near| {
            let near = self.near.and(&near);
            let mut tiles = tiles.into_iter();
            while self.read_batch(&mut tiles, &near, out)? {}
            Ok(())
        })
    }

    /// Reads the next tiles: those that are decoded in place, and as many others as may be held at a time.
    /// Returns false after the last.
    fn read_batch(
        &self,
        tiles: &mut dyn Iterator<Item = TilePlan<'_>>,
        near: &Near,
        out: &mut [u8],
    ) -> Result<bool> {
        let (mut work, mut plans, mut held) = (Vec::new(), Vec::new(), 0);
        let (mut rest, mut at) = (&mut *out, 0);
        while held < APART_LEN
            && work.len() < WINDOW_TILES
            && let Some(tile) = tiles.next()
        {
            let key = self.key(&tile);
            // Whole tiles are in the order of the output.
            let place = tile.whole.and_then(|dst| usize::try_from(dst).ok()?.checked_sub(at));
            if let Some(skip) = place {
                let len = usize::try_from(tile.elements).expect("inside the run, which is in memory");
                let (here, after) = std::mem::take(&mut rest)[skip..].split_at_mut(len);
                (rest, at) = (after, at + skip + len);
                work.push(Work::Whole(key, here));
            } else {
                held += tile.decoded;
                work.push(Work::Apart(key, tile.elements));
                plans.push(tile);
            }
        }
        if work.is_empty() {
            return Ok(false);
        }
        // Partial linear tiles are at the ends of the run, where the next read may begin. Chunks extend over
        // many runs.
        let keep = !self.parallel || self.info.linear_tile_len().is_some();
        let decode = |work: Work<'_>| -> Result<Option<Bytes>> {
            match work {
                Work::Whole(key, out) => self.store.decode(key, near, out).map(|()| None),
                Work::Apart(key, wanted) => self.store.cached(key, near, wanted, keep).map(Some),
            }
        };
        let key = |work: &Work<'_>| match work {
            Work::Whole(key, _) | Work::Apart(key, _) => *key,
        };
        let in_parallel = self.parallel && work.len() > 1;
        let decoded = self.store.by_container(work, key, near, in_parallel, decode);
        let apart = decoded.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten();
        plans.iter().zip(apart).try_for_each(|(tile, bytes)| copy_tile(tile, &bytes, out))?;
        Ok(true)
    }
}

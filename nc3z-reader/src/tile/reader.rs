//! The engine that turns tiles into elements: it fetches, decodes in parallel, and places the pieces in a
//! destination.

use super::destination::{Destination, Failure, in_memory};
use super::fetch::WINDOW_TILES;
use super::group::by_container;
use super::window::in_windows;
use super::worker::Worker;
use crate::error::Result;
use crate::parallel;
use bytes::Bytes;
use nc3z_format::plan::{Part, Plan, TilePlan, split};
use nc3z_format::selection::Hyperslab;
use nc3z_format::tile::Tiling;

/// The number of shares per thread. With several, one slow share does not delay the rest.
pub(crate) const SHARES: usize = 4;
/// Bytes of tiles that are decoded at a time where they are copied one after another, unless that many are
/// fewer tiles than there are threads.
const BATCH_LEN: u64 = 1 << 20;

/// The tiles of one array, as the engine takes them.
pub(crate) trait Tiles: Sync {
    /// Fills `out` with a whole tile.
    fn fill(&self, tile: u64, worker: &mut Worker, out: &mut [u8]) -> Result<()>;

    /// At least the elements of a tile that a plan needs, `wanted` bytes: the number of the first one, and the
    /// bytes. If tiles are cached, this one stays in the cache if `keep` is true.
    fn view(&self, tile: &TilePlan<'_>, wanted: u64, keep: bool, worker: &mut Worker)
    -> Result<(u64, Bytes)>;

    /// The offset of the container that a tile is a member of, or 0.
    fn container_of(&self, _tile: u64) -> u64 {
        0
    }

    /// The decoded container at an offset, before work on its members. `None` if it is damaged: the worker's
    /// first member then reports the error.
    fn open_container(&self, _offset: u64, _worker: &mut Worker) -> Option<Bytes> {
        None
    }

    /// Returns true if [`Tiles::fetch`] saves time.
    fn fetches_ahead(&self) -> bool;

    /// Fetches the bytes that the first of these tiles need. Returns the number of tiles, and the tiles with
    /// these bytes in memory, or `None` if there is nothing to fetch.
    fn fetch<'s>(&'s self, tiles: &[TilePlan<'_>]) -> Result<(usize, Option<Box<dyn Tiles + Send + 's>>)>;
}

/// A read of a hyperslab, or a thread's share of one.
pub(crate) struct TileReader<'r> {
    pub(crate) tiles: &'r dyn Tiles,
    pub(crate) tiling: &'r Tiling,
    pub(crate) slab: &'r Hyperslab,
    /// Bytes of an element of the plan.
    pub(crate) size: u64,
    /// True if tiles of which parts are copied are cached for the next read.
    pub(crate) keep: bool,
    /// True if the read is worth several threads.
    pub(crate) is_big: bool,
}

impl TileReader<'_> {
    /// Reads the plan of the hyperslab into a destination of as many elements.
    pub(crate) fn run(&self, plan: &Plan, dest: &mut dyn Destination) -> Result<(), Failure> {
        if !self.is_big {
            return self.run_with(plan, 1, dest);
        }
        parallel::in_pool(|| self.run_with(plan, parallel::threads(), dest))
    }

    fn run_with(&self, plan: &Plan, threads: usize, dest: &mut dyn Destination) -> Result<(), Failure> {
        if self.tiles.fetches_ahead() {
            return self.run_windows(plan, threads, dest);
        }
        if threads > 1 {
            return self.run_shares(plan, threads, dest);
        }
        self.run_serial(plan.tiles(), dest)
    }

    /// Reads tiles on this thread.
    fn run_serial<'p>(
        &self,
        mut tiles: impl Iterator<Item = TilePlan<'p>>,
        dest: &mut dyn Destination,
    ) -> Result<(), Failure> {
        let mut worker = Worker::default();
        tiles.try_for_each(|tile| self.read(&tile, &mut worker, dest))
    }

    /// Reads one tile: directly into the output if it is there whole, otherwise by copying.
    fn read(
        &self,
        tile: &TilePlan<'_>,
        worker: &mut Worker,
        dest: &mut dyn Destination,
    ) -> Result<(), Failure> {
        if let Some(first) = tile.whole {
            let range = in_memory(first)..in_memory(first + tile.elements);
            if let Some(room) = dest.room(range.clone()) {
                self.tiles.fill(tile.tile, worker, room)?;
                dest.settle(range);
                return Ok(());
            }
        }
        let (first, bytes) = self.view(tile, worker)?;
        put(dest, tile, first, &bytes)
    }

    fn view(&self, tile: &TilePlan<'_>, worker: &mut Worker) -> Result<(u64, Bytes)> {
        self.tiles.view(tile, tile.elements * self.size, self.keep, worker)
    }

    /// Splits the read into shares of adjacent elements. Each is read by one thread into its own part of the
    /// output. If tiles extend over all shares, tiles are decoded in parallel and copied one after another.
    fn run_shares(&self, plan: &Plan, threads: usize, dest: &mut dyn Destination) -> Result<(), Failure> {
        let parts = shares(self.tiling, self.slab, threads * SHARES)?;
        if parts.len() < threads {
            return self.run_batches(&mut plan.tiles(), threads, dest);
        }
        let lens: Vec<usize> = parts.iter().map(|p| in_memory(p.dst.end - p.dst.start)).collect();
        let shares: Vec<_> = parts.iter().zip(dest.split(&lens)).collect();
        let done: Vec<Result<(), Failure>> = parallel::map(shares, |(part, mut dest)| {
            let plan = Plan::with_tiling(self.tiling, &part.slab)?;
            self.run_serial(plan.tiles(), &mut *dest).map_err(|failure| failure.moved(part.dst.start))
        });
        // The first failure in order of the output, whichever thread found it first.
        done.into_iter().collect()
    }

    /// Reads a plan window by window: the bytes of the next window are fetched while the current one is
    /// decoded.
    fn run_windows(&self, plan: &Plan, threads: usize, dest: &mut dyn Destination) -> Result<(), Failure> {
        let fetch = |tiles: &[TilePlan<'_>]| self.tiles.fetch(tiles);
        in_windows(&mut plan.tiles(), WINDOW_TILES, true, fetch, |tiles, fetched| {
            let tiles_of_window = fetched.as_deref().map_or(self.tiles, |tiles| tiles as &dyn Tiles);
            let window = TileReader { tiles: tiles_of_window, ..*self };
            if threads > 1 {
                return window.run_batches(&mut tiles.into_iter(), threads, dest);
            }
            window.run_serial(tiles.into_iter(), dest)
        })
    }

    /// Decodes a few tiles at a time, while the previous ones are copied.
    fn run_batches(
        &self,
        tiles: &mut (dyn Iterator<Item = TilePlan<'_>> + Send),
        threads: usize,
        dest: &mut dyn Destination,
    ) -> Result<(), Failure> {
        let mut next = || -> Result<Vec<_>> {
            let (mut batch, mut bytes) = (Vec::new(), 0_u64);
            while (batch.len() < threads || bytes < BATCH_LEN)
                && let Some(tile) = tiles.next()
            {
                bytes = bytes.saturating_add(tile.decoded.saturating_mul(self.size));
                batch.push(tile);
            }
            let decoded = by_container(
                batch.iter().collect(),
                |tile| self.tiles.container_of(tile.tile),
                |offset, worker| self.tiles.open_container(offset, worker),
                true,
                |tile, worker| self.view(tile, worker),
            );
            batch.into_iter().zip(decoded).map(|(tile, decoded)| Ok((tile, decoded?))).collect()
        };
        let mut ready = next()?;
        while !ready.is_empty() {
            let copy = || ready.iter().try_for_each(|(tile, (first, bytes))| put(dest, tile, *first, bytes));
            let (copied, following) = parallel::join(copy, &mut next);
            copied?;
            ready = following?;
        }
        Ok(())
    }
}

fn put(dest: &mut dyn Destination, tile: &TilePlan<'_>, first: u64, bytes: &[u8]) -> Result<(), Failure> {
    dest.put(tile, first, bytes)?.map_or(Ok(()), |misfit| Err(Failure::Misfit(misfit)))
}

/// Splits a hyperslab into shares. If the outermost dimension gives too few, they are split again along the
/// next one.
fn shares(tiling: &Tiling, slab: &Hyperslab, wanted: usize) -> Result<Vec<Part>> {
    let mut parts = split(tiling, slab, wanted)?;
    for _ in 1..slab.rank() {
        if parts.is_empty() || parts.len() >= wanted {
            break;
        }
        let each = wanted.div_ceil(parts.len());
        let mut finer = Vec::new();
        for part in &parts {
            for mut inner in split(tiling, &part.slab, each)? {
                inner.dst = part.dst.start + inner.dst.start..part.dst.start + inner.dst.end;
                finer.push(inner);
            }
        }
        if finer.len() == parts.len() {
            break;
        }
        parts = finer;
    }
    Ok(parts)
}

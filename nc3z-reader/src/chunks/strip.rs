//! Runs of a chunked array's flattened form, and strips: runs that are kept because the layer they belong to is too large.

use super::Piece;
use crate::archive::Archive;
use crate::error::Result;
use nc3z_format::archive::ArrayId;
use nc3z_format::arrays::byte_run;
use nc3z_format::plan::copy::copy_tile;
use nc3z_format::tile::{TileLayout, Tiling};
use nc3z_format::{Plan, flat};
use rayon::prelude::*;

/// Bytes of chunks that are decoded at a time for a strip.
const BATCH_LEN: u64 = 16 << 20;
/// Runs of fewer bytes than this are read on the calling thread.
const PARALLEL_FROM: u64 = 2 << 20;

/// A run of the flattened array.
pub(super) struct Strip {
    /// Bytes it has at most.
    most: u64,
    first: u64,
    bytes: Vec<u8>,
}

impl Strip {
    pub(super) fn new(most: u64) -> Self {
        Strip { most, first: 0, bytes: Vec::new() }
    }

    /// Lets go of a strip whose last byte lies before byte `done` of the original.
    pub(super) fn release(&mut self, archive: &Archive, array: ArrayId, done: u64) {
        if let Some(last) = (self.first + self.bytes.len() as u64).checked_sub(1)
            && byte_run(archive.layout(), array, last).is_none_or(|(offset, _)| offset < done)
        {
            self.bytes = Vec::new();
        }
    }

    /// Copies a piece out of strips, rebuilding them as it goes.
    pub(super) fn copy(
        &mut self,
        archive: &Archive,
        array: ArrayId,
        tiling: &Tiling,
        piece: Piece<'_>,
    ) -> Result<()> {
        let (mut first, mut out) = (piece.first, piece.out);
        while !out.is_empty() {
            let end = self.first + self.bytes.len() as u64;
            if first < self.first || first >= end {
                self.rebuild(archive, array, tiling, first)?;
                continue;
            }
            let at = usize::try_from(first - self.first).expect("inside the strip");
            let n = (self.bytes.len() - at).min(out.len());
            let (here, rest) = out.split_at_mut(n);
            here.copy_from_slice(&self.bytes[at..at + n]);
            first += n as u64;
            out = rest;
        }
        Ok(())
    }

    /// Rebuilds the strip that begins at byte `first`: as far as it may reach, to a border of chunks where there is one.
    fn rebuild(&mut self, archive: &Archive, array: ArrayId, tiling: &Tiling, first: u64) -> Result<()> {
        let (shape, widths) = (tiling.shape(), flat::widths(tiling.shape()));
        let chunk = match tiling.layout() {
            TileLayout::Chunked { shape, .. } => shape,
            TileLayout::Linear { .. } => shape,
        };
        // The outermost dimension of which whole indices fit.
        let d = widths.iter().position(|w| *w <= self.most).unwrap_or(widths.len() - 1);
        let index = first / widths[d] % shape[d];
        let mut end = index + (self.most / widths[d]).max(1);
        if end / chunk[d] > index / chunk[d] {
            end = end / chunk[d] * chunk[d];
        }
        let end = first / widths[d] * widths[d] + (end.min(shape[d]) - index) * widths[d];
        self.first = first;
        self.bytes.clear();
        self.bytes.resize(usize::try_from(end - first).expect("a strip is held in memory"), 0);
        read_run(archive, array, tiling, first, &mut self.bytes)
    }
}

/// Fills `out` with bytes of a chunked array's flattened form, from byte `first`. Every chunk that meets the run is decoded
/// once for each of the boxes that make it up: most often once, seldom as many times as there are dimensions.
pub(crate) fn read_run(
    archive: &Archive,
    array: ArrayId,
    tiling: &Tiling,
    first: u64,
    out: &mut [u8],
) -> Result<()> {
    let parallel = out.len() as u64 >= PARALLEL_FROM;
    let mut rest = out;
    for slab in flat::boxes(tiling.shape(), first, first + rest.len() as u64) {
        let plan = Plan::of(tiling, &slab)?;
        let len = usize::try_from(plan.selected()).expect("inside the run");
        let (here, after) = rest.split_at_mut(len);
        rest = after;
        let mut tiles = plan.tiles();
        loop {
            let mut left = BATCH_LEN;
            let batch: Vec<_> = std::iter::from_fn(|| {
                let tile = (left > 0).then(|| tiles.next()).flatten()?;
                left = left.saturating_sub(tile.decoded);
                Some(tile)
            })
            .collect();
            if batch.is_empty() {
                break;
            }
            if !parallel {
                for tile in &batch {
                    copy_tile(tile, &archive.read_tile(array, tile.tile)?, here)?;
                }
                continue;
            }
            let decoded: Vec<_> =
                batch.par_iter().map(|t| archive.read_tile(array, t.tile)).collect::<Result<_>>()?;
            batch.iter().zip(&decoded).try_for_each(|(t, bytes)| copy_tile(t, bytes, here))?;
        }
    }
    Ok(())
}

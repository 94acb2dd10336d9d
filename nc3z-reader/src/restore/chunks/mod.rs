//! Chunked arrays in a restore: a chunk extends over several windows, and is held until the stream has passed
//! it.
//!
//! A *layer* is all chunks with the same index along the first dimension. It is a run of the flattened array.
//! If a layer fits in [`HELD_LEN`] (for record variables: all their layers together), its chunks are decoded
//! once, when the first window needs them. They are held until the stream has passed their last byte. Larger
//! layers are rebuilt in *strips*, runs of at most that many bytes: a chunk is then decoded once for every
//! strip that it meets.

mod strip;

use super::part::Part;
use crate::archive::Archive;
use crate::error::Result;
use crate::tile::TileStore;
use nc3z_format::archive::ArrayId;
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::tile::{TileLayout, Tiling};
use std::collections::BTreeMap;
use strip::Strip;

/// Bytes of decoded chunks, or of strips, that are held at a time.
const HELD_LEN: u64 = 64 << 20;
/// Bytes to hold a chunk besides its data.
const HELD_COST: u64 = 128;
/// The way in which each chunked array is restored.
#[derive(Default)]
pub(super) struct Chunks {
    arrays: BTreeMap<ArrayId, Way>,
}

/// The way in which one array is restored.
struct Way {
    /// The tiling of its bytes into chunks.
    tiling: Tiling,
    /// The current strip, if the layers are too large to be held.
    strip: Option<Strip>,
}

impl Chunks {
    /// Decides how the chunked arrays of an archive are restored.
    pub(super) fn new(archive: &Archive) -> Result<Self> {
        let mut chunks = Chunks::default();
        let mut records = Vec::new();
        for info in archive.arrays().iter().filter(|a| is_chunked(a) && a.tiling.tile_count() > 0) {
            let tiling = info.byte_tiling()?;
            let cost = layer_cost(&tiling);
            let Some(v) = archive.arrays().variable_of(info.id) else { continue };
            // A layer of one record is released before the layer of the next variable is needed.
            let long = matches!(tiling.layout(), TileLayout::Chunked { shape, .. } if shape[0] > 1);
            if long && archive.variable_layout(v)?.is_record {
                records.push((cost, info.id));
            }
            let strip = (cost > HELD_LEN).then(|| Strip::new(HELD_LEN));
            chunks.arrays.insert(info.id, Way { tiling, strip });
        }
        // The smallest layers are held, as many as fit. The others share the same amount again.
        records.sort_unstable();
        let mut room = HELD_LEN;
        let held = records.iter().take_while(|(cost, _)| {
            let fits = *cost <= room;
            room -= if fits { *cost } else { 0 };
            fits
        });
        let held = held.count();
        let strips = (records.len() - held).max(1) as u64;
        for (_, id) in &records[held..] {
            if let Some(way) = chunks.arrays.get_mut(id) {
                way.strip = Some(Strip::new((HELD_LEN / strips).max(1)));
            }
        }
        Ok(chunks)
    }

    /// The best end for a window that begins at byte `begin` of an array and must end by `target`, so that it
    /// does not need chunks of two layers where one suffices.
    pub(super) fn border(&self, array: ArrayId, begin: u64, target: u64) -> Option<u64> {
        let layer = layer_len(&self.arrays.get(&array)?.tiling);
        Some(target / layer * layer).filter(|border| *border > begin)
    }

    /// Returns true if the tiles of an array are fetched when a strip of it is restored.
    pub(super) fn fetches_itself(&self, array: ArrayId) -> bool {
        self.arrays.get(&array).is_some_and(|way| way.strip.is_some())
    }

    /// Copies a part of a window whose array is rebuilt in strips. Returns any other part.
    pub(super) fn copy_from_strip<'w>(
        &mut self,
        store: &TileStore,
        part: Part<'w>,
    ) -> Result<Option<Part<'w>>> {
        match self.arrays.get_mut(&part.info.id) {
            Some(Way { tiling, strip: Some(strip) }) => {
                strip.copy(store, tiling, part.info, part.first, part.out)?;
                Ok(None)
            }
            _ => Ok(Some(part)),
        }
    }

    /// The tiling of an array's bytes into chunks, if its tiles are chunks.
    pub(super) fn tiling(&self, array: ArrayId) -> Option<&Tiling> {
        self.arrays.get(&array).map(|way| &way.tiling)
    }

    /// Releases strips that end before byte `done` of the original.
    pub(super) fn release(&mut self, archive: &Archive, done: u64) {
        for (array, way) in &mut self.arrays {
            if let Some(strip) = &mut way.strip {
                strip.release(archive, *array, done);
            }
        }
    }
}

/// Returns true if the tiles of an array are chunks.
pub(super) fn is_chunked(info: &ArrayInfo) -> bool {
    matches!(info.tiling.layout(), TileLayout::Chunked { .. })
}

/// Elements (bytes) of a layer of an array that has tiles.
fn layer_len(tiling: &Tiling) -> u64 {
    let TileLayout::Chunked { shape: chunk, .. } = tiling.layout() else { return tiling.elements() };
    let shape = tiling.shape();
    // A tiling over bytes always has a last dimension.
    tiling.elements() / shape[0] * chunk[0].min(shape[0])
}

/// Bytes needed to hold a layer.
fn layer_cost(tiling: &Tiling) -> u64 {
    let TileLayout::Chunked { shape: chunk, .. } = tiling.layout() else { return u64::MAX };
    let layers = tiling.shape()[0].div_ceil(chunk[0]);
    let tiles = tiling.tile_count() / layers;
    let tile = tiling.tile_elements(0).unwrap_or(u64::MAX);
    tiles.saturating_mul(tile.saturating_add(HELD_COST))
}

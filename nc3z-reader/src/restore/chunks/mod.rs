//! Chunked arrays in a restore: a chunk extends over several windows, and is held until the stream has passed
//! it.
//!
//! A *layer* is all chunks with the same index along the first dimension. It is a run of the flattened array.
//! If a layer fits in [`HELD_LEN`] (for record variables: all their layers together), its chunks are decoded
//! once, when the first window needs them. They are held until the stream has passed their last byte. Larger
//! layers are rebuilt in *strips*, runs of at most that many bytes: a chunk is then decoded once for every
//! strip that it meets.

mod strip;

use super::held::Held;
use crate::archive::Archive;
use crate::error::Result;
use crate::parallel;
use crate::source::Near;
use crate::tile::{Piece, TileStore, plans_of_run};
use nc3z_format::archive::ArrayId;
use nc3z_format::array::TileKey;
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::plan::copy::copy_tile;
use nc3z_format::tile::{TileLayout, Tiling};
use std::collections::BTreeMap;
use strip::Strip;

/// Bytes of decoded chunks, or of strips, that are held at a time.
const HELD_LEN: u64 = 64 << 20;
/// Bytes to hold a chunk besides its data.
const HELD_COST: u64 = 128;
/// Bytes that one task copies at a time.
const PART_LEN: usize = 1 << 20;
/// Pieces shorter than this are rebuilt together and then spread.
const LONG_PIECE: usize = 16 << 10;
/// Length in bytes of the largest chunk that is held because it is a member of a container.
const MEMBER_LEN: u64 = 1 << 20;

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

/// Successive pieces of one array, copied by one task.
struct Part<'w> {
    array: ArrayId,
    first: u64,
    len: usize,
    outs: Vec<&'w mut [u8]>,
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

    /// Fills pieces of chunked arrays, all of one window, in the order of the window.
    pub(super) fn fill(
        &mut self,
        archive: &Archive,
        near: &Near,
        held: &mut Held,
        pieces: Vec<Piece<'_>>,
    ) -> Result<()> {
        let store = &archive.inner.store;
        let mut parts = Vec::new();
        let mut by_array: BTreeMap<ArrayId, Vec<Piece<'_>>> = BTreeMap::new();
        for piece in pieces.into_iter().filter(|p| !p.out.is_empty()) {
            by_array.entry(piece.info.id).or_default().push(piece);
        }
        for (array, pieces) in by_array {
            match self.arrays.get_mut(&array) {
                Some(Way { tiling, strip: Some(strip) }) => {
                    for piece in pieces {
                        strip.copy(store, tiling, piece)?;
                    }
                }
                _ => cut_into_parts(array, pieces, &mut parts),
            }
        }
        held.hold(store, near, self.needed(store, near, &parts)?)?;
        let (held, arrays) = (&*held, &self.arrays);
        parallel::try_each(parts, |part| {
            let tiling = &arrays[&part.array].tiling;
            part.fill(store, near, held, tiling)
        })
    }

    /// The chunks from which parts of windows are copied. A chunk that is a run of its part is decoded in
    /// place, unless it is a member of a container. The members of a container are decoded together, so that
    /// the container is decoded once.
    fn needed(&self, store: &TileStore, near: &Near, parts: &[Part<'_>]) -> Result<Vec<TileKey>> {
        let mut needed = Vec::new();
        for part in parts {
            for plan in plans_of_run(&self.arrays[&part.array].tiling, part.first, part.len as u64) {
                let (plan, _) = plan?;
                for tile in plan.tiles() {
                    let key = TileKey::new(part.array, tile.tile);
                    let is_member = || tile.elements <= MEMBER_LEN && store.container_of(key, near).is_some();
                    if tile.whole.is_none() || is_member() {
                        needed.push(key);
                    }
                }
            }
        }
        Ok(needed)
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

/// Cuts long pieces so that tasks have similar shares, and joins short pieces that follow each other in the
/// array.
fn cut_into_parts<'w>(array: ArrayId, pieces: Vec<Piece<'w>>, parts: &mut Vec<Part<'w>>) {
    let mut together: Option<Part<'w>> = None;
    for Piece { first, out, .. } in pieces {
        if out.len() >= LONG_PIECE {
            let outs = out.chunks_mut(PART_LEN).enumerate().map(|(i, out)| {
                let first = first + (i * PART_LEN) as u64;
                Part { array, first, len: out.len(), outs: vec![out] }
            });
            parts.extend(outs);
            continue;
        }
        match &mut together {
            Some(part) if part.first + part.len as u64 == first && part.len < PART_LEN => {
                part.len += out.len();
                part.outs.push(out);
            }
            open => parts.extend(open.replace(Part { array, first, len: out.len(), outs: vec![out] })),
        }
    }
    parts.extend(together);
}

impl Part<'_> {
    fn fill(mut self, store: &TileStore, near: &Near, held: &Held, tiling: &Tiling) -> Result<()> {
        if let [out] = &mut self.outs[..] {
            return fill_run(store, near, held, tiling, self.array, self.first, out);
        }
        let mut bytes = vec![0; self.len];
        fill_run(store, near, held, tiling, self.array, self.first, &mut bytes)?;
        let mut rest = bytes.as_slice();
        for out in self.outs {
            let (here, after) = rest.split_at(out.len());
            out.copy_from_slice(here);
            rest = after;
        }
        Ok(())
    }
}

/// Fills `out` with a run of the flattened array. Chunks that are a run themselves are decoded in place. Of
/// held chunks, parts are copied.
fn fill_run(
    store: &TileStore,
    near: &Near,
    held: &Held,
    tiling: &Tiling,
    array: ArrayId,
    first: u64,
    out: &mut [u8],
) -> Result<()> {
    let mut rest = out;
    for plan in plans_of_run(tiling, first, rest.len() as u64) {
        let (plan, len) = plan?;
        let (here, after) = rest.split_at_mut(len);
        for tile in plan.tiles() {
            let key = TileKey::new(array, tile.tile);
            match (tile.whole, held.find(key)) {
                (_, Some(bytes)) => copy_tile(&tile, bytes, here)?,
                (Some(dst), None) => {
                    let at = usize::try_from(dst).expect("inside the run");
                    let len = usize::try_from(tile.elements).expect("inside the run");
                    store.decode(key, near, &mut here[at..at + len])?;
                }
                (None, None) => {
                    copy_tile(&tile, &store.cached(key, near, tile.elements, false)?, here)?;
                }
            }
        }
        rest = after;
    }
    Ok(())
}

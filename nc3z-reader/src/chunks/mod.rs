//! Chunked arrays in a rebuild: chunks lie across the stream of windows, and are held while it passes them.
//!
//! A *layer* is all chunks of one index of their grid along the first dimension; it is a run of the flattened array. Where a
//! layer fits in [`HELD_LEN`] (record variables: all their layers together), its chunks are decoded once, when the first window
//! needs them, and held until the stream has passed their last byte. Larger layers are rebuilt in *strips*, runs of
//! at most that many bytes: a chunk is then decoded once for every strip that it meets.

mod strip;

use crate::archive::Archive;
use crate::error::Result;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::arrays::{ArrayInfo, byte_run};
use nc3z_format::classic::VarId;
use nc3z_format::plan::copy::copy_tile;
use nc3z_format::tile::{Extent, TileLayout, Tiling};
use nc3z_format::{Plan, flat};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use strip::Strip;
pub(crate) use strip::read_run;

/// Bytes of decoded chunks, or of strips, that are held at a time.
const HELD_LEN: u64 = 64 << 20;
/// What holding a chunk costs besides its bytes.
const HELD_COST: u64 = 128;
/// Bytes that one task copies at a time.
const PART_LEN: usize = 1 << 20;
/// Pieces shorter than this are rebuilt together and then spread.
const LONG_PIECE: usize = 16 << 10;

/// A contiguous part of a window that comes from one array.
pub(crate) struct Piece<'w> {
    pub(crate) info: &'w ArrayInfo,
    /// First byte in the flattened array.
    pub(crate) first: u64,
    pub(crate) out: &'w mut [u8],
}

/// The chunks that the windows to come need, and how each chunked array is rebuilt.
#[derive(Default)]
pub(crate) struct Chunks {
    arrays: BTreeMap<ArrayId, Way>,
    held: HashMap<(ArrayId, u64), Vec<u8>>,
}

/// How an array is rebuilt.
struct Way {
    /// Its chunks over bytes.
    tiling: Tiling,
    /// Where its layers are too large to be held.
    strip: Option<Strip>,
}

/// Some pieces of one array that follow each other in it, copied by one task.
struct Part<'w> {
    array: ArrayId,
    first: u64,
    len: usize,
    outs: Vec<&'w mut [u8]>,
}

impl Chunks {
    /// Works out how the chunked arrays of an archive are rebuilt.
    pub(crate) fn new(archive: &Archive) -> Result<Self> {
        let mut chunks = Chunks::default();
        let mut records = Vec::new();
        for info in archive.arrays().iter().filter(|a| is_chunked(a) && a.tiling.tile_count() > 0) {
            let tiling = info.byte_tiling()?;
            let cost = layer_cost(&tiling);
            let Role::Variable(v) = info.id.role() else { continue };
            // A layer of one record is let go before the next variable's comes.
            let long = matches!(tiling.layout(), TileLayout::Chunked { shape, .. } if shape[0] > 1);
            if long && archive.variable_layout(VarId(v))?.is_record {
                records.push((cost, info.id));
            }
            let strip = (cost > HELD_LEN).then(|| Strip::new(HELD_LEN));
            chunks.arrays.insert(info.id, Way { tiling, strip });
        }
        // The smallest layers are held, as many as fit; the others share as much again.
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

    /// Where a window that begins at byte `begin` of an array and may not reach beyond `target` should end, so that it does not
    /// need chunks of two layers where one will do.
    pub(crate) fn border(&self, array: ArrayId, begin: u64, target: u64) -> Option<u64> {
        let layer = layer_len(&self.arrays.get(&array)?.tiling);
        Some(target / layer * layer).filter(|border| *border > begin)
    }

    /// Fills pieces of chunked arrays, all of one window, in the order in which they stand in it.
    pub(crate) fn fill(&mut self, archive: &Archive, pieces: Vec<Piece<'_>>) -> Result<()> {
        let mut parts = Vec::new();
        let mut by_array: BTreeMap<ArrayId, Vec<Piece<'_>>> = BTreeMap::new();
        for piece in pieces.into_iter().filter(|p| !p.out.is_empty()) {
            by_array.entry(piece.info.id).or_default().push(piece);
        }
        for (array, pieces) in by_array {
            match self.arrays.get_mut(&array) {
                Some(Way { tiling, strip: Some(strip) }) => {
                    for piece in pieces {
                        strip.copy(archive, array, tiling, piece)?;
                    }
                }
                _ => cut_into_parts(array, pieces, &mut parts),
            }
        }
        self.hold(archive, &parts)?;
        let (held, arrays) = (&self.held, &self.arrays);
        parts.into_par_iter().try_for_each(|part| {
            let tiling = &arrays[&part.array].tiling;
            part.fill(archive, held, tiling)
        })
    }

    /// Decodes what parts of windows need of chunks that are not held yet, in parallel.
    fn hold(&mut self, archive: &Archive, parts: &[Part<'_>]) -> Result<()> {
        let mut needed = Vec::new();
        for part in parts {
            let tiling = &self.arrays[&part.array].tiling;
            for slab in flat::boxes(tiling.shape(), part.first, part.first + part.len as u64) {
                let plan = Plan::of(tiling, &slab)?;
                // A chunk that is a run of this part goes there, and nowhere else.
                let tiles = plan.tiles().filter(|t| t.whole.is_none()).map(|t| (part.array, t.tile));
                needed.extend(tiles.filter(|key| !self.held.contains_key(key)));
            }
        }
        needed.sort_unstable();
        needed.dedup();
        let decoded: Vec<_> = needed
            .into_par_iter()
            .map(|(array, tile)| Ok(((array, tile), archive.read_tile(array, tile)?)))
            .collect::<Result<_>>()?;
        self.held.extend(decoded);
        Ok(())
    }

    /// Lets go of chunks and strips whose last byte lies before byte `done` of the original.
    pub(crate) fn release(&mut self, archive: &Archive, done: u64) {
        for (array, way) in &mut self.arrays {
            if let Some(strip) = &mut way.strip {
                strip.release(archive, *array, done);
            }
        }
        let arrays = &self.arrays;
        self.held.retain(|(array, tile), _| {
            let Ok(Extent::Chunk { start, shape }) = arrays[array].tiling.extent(*tile) else { return false };
            let widths = flat::widths(arrays[array].tiling.shape());
            let last: u64 = start.iter().zip(&shape).zip(&widths).map(|((s, n), w)| (s + n - 1) * w).sum();
            byte_run(archive.layout(), *array, last).is_some_and(|(offset, _)| offset >= done)
        });
    }
}

/// Whether an array's tiles are chunks.
pub(crate) fn is_chunked(info: &ArrayInfo) -> bool {
    matches!(info.tiling.layout(), TileLayout::Chunked { .. })
}

/// Elements (bytes) of a layer of an array that has tiles.
fn layer_len(tiling: &Tiling) -> u64 {
    let TileLayout::Chunked { shape: chunk, .. } = tiling.layout() else { return tiling.elements() };
    let shape = tiling.shape();
    // The last dimension of a tiling over bytes is always there.
    tiling.elements() / shape[0] * chunk[0].min(shape[0])
}

/// Bytes that holding a layer takes.
fn layer_cost(tiling: &Tiling) -> u64 {
    let TileLayout::Chunked { shape: chunk, .. } = tiling.layout() else { return u64::MAX };
    let layers = tiling.shape()[0].div_ceil(chunk[0]);
    let tiles = tiling.tile_count() / layers;
    let tile = tiling.tile_elements(0).unwrap_or(u64::MAX);
    tiles.saturating_mul(tile.saturating_add(HELD_COST))
}

/// Long pieces are cut so that tasks have like shares; short ones that follow each other in the array are put together.
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
    fn fill(
        mut self,
        archive: &Archive,
        held: &HashMap<(ArrayId, u64), Vec<u8>>,
        tiling: &Tiling,
    ) -> Result<()> {
        if let [out] = &mut self.outs[..] {
            return fill_run(archive, held, tiling, self.array, self.first, out);
        }
        let mut bytes = vec![0; self.len];
        fill_run(archive, held, tiling, self.array, self.first, &mut bytes)?;
        let mut rest = bytes.as_slice();
        for out in self.outs {
            let (here, after) = rest.split_at(out.len());
            out.copy_from_slice(here);
            rest = after;
        }
        Ok(())
    }
}

/// Fills `out` with a run of the flattened array: chunks that are a run themselves are decoded in place, of others the parts
/// copied.
fn fill_run(
    archive: &Archive,
    held: &HashMap<(ArrayId, u64), Vec<u8>>,
    tiling: &Tiling,
    array: ArrayId,
    first: u64,
    out: &mut [u8],
) -> Result<()> {
    let mut rest = out;
    for slab in flat::boxes(tiling.shape(), first, first + rest.len() as u64) {
        let plan = Plan::of(tiling, &slab)?;
        let len = usize::try_from(plan.selected()).expect("not more than the run");
        let (here, after) = rest.split_at_mut(len);
        for tile in plan.tiles() {
            match (tile.whole, held.get(&(array, tile.tile))) {
                (_, Some(bytes)) => copy_tile(&tile, bytes, here)?,
                (Some(dst), None) => {
                    let at = usize::try_from(dst).expect("inside the run");
                    let len = usize::try_from(tile.elements).expect("inside the run");
                    archive.read_tile_into(array, tile.tile, &mut here[at..at + len])?;
                }
                (None, None) => copy_tile(&tile, &archive.read_tile(array, tile.tile)?, here)?,
            }
        }
        rest = after;
    }
    Ok(())
}

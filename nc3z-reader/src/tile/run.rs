//! Reads byte ranges of an array's flattened form, for all kinds of tiles.

use super::TileStore;
use super::destination::{AsStored, Failure};
use super::reader::TileReader;
use super::stored::StoredTiles;
use crate::error::Result;
use crate::source::Nearby;
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::selection::Hyperslab;
use nc3z_format::tile::{TileLayout, Tiling};
use nc3z_format::{Plan, selection};

/// Reads of fewer bytes than this are done on the calling thread.
const PARALLEL_FROM: usize = 2 << 20;

/// Describes the tiles of an array in bytes, so that a run of bytes is one or a few hyperslabs.
pub(crate) fn flat_tiling(info: &ArrayInfo) -> Result<Tiling> {
    let total = info.total_bytes();
    Ok(match info.linear_tile_len() {
        Some(len) => TileLayout::linear(len).bind(&[total], total)?,
        None => info.byte_tiling()?,
    })
}

/// Returns the plans to read a run of `len` bytes from byte `first` on, each with the length of its output. The outputs
/// follow each other. A linear array needs one plan, and a chunked array at most twice as many as it has dimensions.
pub(crate) fn plans_of_run(
    tiling: &Tiling,
    first: u64,
    len: u64,
) -> impl Iterator<Item = Result<(Plan, usize)>> {
    slabs_of_run(tiling, first, len).map(|found| found.map(|(_, plan, len)| (plan, len)))
}

/// Returns the result of [`plans_of_run`], with the hyperslab of each plan.
fn slabs_of_run(
    tiling: &Tiling,
    first: u64,
    len: u64,
) -> impl Iterator<Item = Result<(Hyperslab, Plan, usize)>> {
    selection::boxes(tiling.shape(), first, first + len).map(move |slab| {
        let plan = Plan::with_tiling(tiling, &slab)?;
        let len = usize::try_from(plan.selected()).expect("not more than the run, which is in memory");
        Ok((slab, plan, len))
    })
}

/// Fills `out` with bytes of an array's flattened form, from byte `first` on. All of these bytes must be
/// present.
pub(crate) fn read_run(
    store: &TileStore,
    nearby: &Nearby,
    info: &ArrayInfo,
    first: u64,
    out: &mut [u8],
) -> Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    let tiling = &flat_tiling(info)?;
    let tiles = &StoredTiles { store, nearby: nearby.clone(), info, caches_whole: false };
    let is_big = out.len() >= PARALLEL_FROM;
    // Partial linear tiles are at the ends of the run, where the next read may begin. Chunks extend over many
    // runs.
    let keep = !is_big || info.linear_tile_len().is_some();
    let mut rest = out;
    for found in slabs_of_run(tiling, first, rest.len() as u64) {
        let (slab, plan, len) = found?;
        let (here, after) = rest.split_at_mut(len);
        rest = after;
        let reader = TileReader { tiles, tiling, slab: &slab, size: 1, keep, is_big };
        reader.run(&plan, &mut AsStored::<1>(here.as_chunks_mut().0)).map_err(|failure| match failure {
            Failure::Error(error) => error,
            Failure::Misfit(_) => unreachable!("bytes are not converted"),
        })?;
    }
    Ok(())
}

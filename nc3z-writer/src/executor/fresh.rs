//! Tiles of a new archive: each is encoded by its array's plan. Small arrays and their shared containers come first.

use super::{Encode, Executor, for_all};
use crate::encode::{EncodedTile, Form, encode_tile, in_variable};
use crate::error::Result;
use crate::generation::GenerationWriter;
use crate::options::{RECORD_TILES_LEN, WriterOptions};
use crate::plan::Plans;
use crate::scratch::with_scratch;
use crate::tiles::{RawTile, SMALL_LEN, first_arrays, for_each_of, for_each_tile};
use nc3z_format::archive::Role;
use nc3z_format::classic::VarId;
use nc3z_format::codec::encode_dictionary;
use nc3z_reader::{ClassicFile, Monitor};
use std::borrow::Cow;
use std::io::Write;

/// Raw bytes of a batch for each thread: enough to share evenly, and few enough that memory is reused while it is
/// in the cache.
const BATCH_LEN: u64 = 4 << 20;

/// Returns the bytes of raw tiles in one batch. With the open tiles of record variables and the encoded bytes, they
/// stay within the budget.
fn batch_len(options: &WriterOptions) -> u64 {
    let threads = rayon::current_num_threads() as u64;
    (options.memory.saturating_sub(RECORD_TILES_LEN) / 4).min(threads * BATCH_LEN).max(BATCH_LEN)
}

/// Encodes tiles by the plans of their arrays.
struct FreshTiles<'a> {
    classic: &'a ClassicFile,
    plans: &'a Plans,
    /// Blocks that are written after the containers, in sources that are in memory.
    blocks: Vec<EncodedTile>,
}

/// Writes all tiles of the source.
pub(crate) fn write_tiles<W: Write>(
    classic: &ClassicFile,
    plans: &Plans,
    options: &WriterOptions,
    writer: &mut GenerationWriter<'_, W>,
    monitor: &dyn Monitor,
) -> Result<()> {
    let arrays = &plans.arrays;
    for info in arrays.iter() {
        writer.declare(info.id, info.tiling.tile_count());
    }
    for (array, plan) in &plans.by_array {
        if let (Role::Variable(v), Some(dictionary)) = (array.role(), plan.dictionary()) {
            let ty = arrays.variable(VarId(v)).ty;
            writer.put_definition(v, 0, &encode_dictionary(dictionary, ty)?)?;
        }
    }
    let encoder = FreshTiles { classic, plans, blocks: Vec::new() };
    let mut executor = Executor::new(encoder, batch_len(options), monitor);
    if let Some(held) = &plans.held {
        for raw in held.all() {
            executor.push(Cow::Borrowed(raw), raw.bytes.len() as u64, writer)?;
        }
        let FreshTiles { mut blocks, .. } = executor.finish(writer)?;
        writer.close_containers()?;
        blocks.sort_by_key(|tile| arrays.get(tile.array).map_or(0, |info| info.total_bytes().min(SMALL_LEN)));
        return blocks.into_iter().try_for_each(|tile| writer.put(tile));
    }
    let first = first_arrays(classic, arrays);
    for_each_of(classic, arrays, &first, &mut |raw| push(&mut executor, raw, writer))?;
    executor.flush(writer)?;
    writer.close_containers()?;
    for_each_tile(classic, arrays, options.memory, &mut |raw| {
        if first.contains(&raw.array) { Ok(()) } else { push(&mut executor, raw, writer) }
    })?;
    executor.flush(writer)
}

fn push<W: Write>(
    executor: &mut Executor<'_, FreshTiles<'_>>,
    raw: RawTile,
    writer: &mut GenerationWriter<'_, W>,
) -> Result<()> {
    let len = raw.bytes.len() as u64;
    executor.push(Cow::Owned(raw), len, writer)
}

impl<'a> Encode for FreshTiles<'a> {
    type Item = Cow<'a, RawTile>;
    type Encoded = EncodedTile;

    fn encode(&mut self, batch: Vec<Self::Item>, monitor: &dyn Monitor) -> Result<Vec<EncodedTile>> {
        let len = batch.iter().map(|raw| raw.bytes.len() as u64).sum();
        let encoded = for_all(batch, monitor, |raw| self.encode_one(&raw))?;
        monitor.advance(len);
        Ok(encoded)
    }

    fn write<W: Write>(&mut self, tile: EncodedTile, writer: &mut GenerationWriter<'_, W>) -> Result<()> {
        // Blocks are kept until the containers of small tiles are written: the whole source is in memory, and
        // blocks are smaller.
        if self.plans.held.is_some() && matches!(tile.form, Form::Block { .. }) {
            self.blocks.push(tile);
            return Ok(());
        }
        writer.put(tile)
    }
}

impl FreshTiles<'_> {
    fn encode_one(&self, raw: &RawTile) -> Result<EncodedTile> {
        let Plans { arrays, by_array, held, .. } = self.plans;
        let info = arrays.get(raw.array).expect("tiles come from known arrays");
        let plan = &by_array[&info.id];
        if let Some(made) = plan.made.tile(raw.tile) {
            return Ok(made.numbered(plan));
        }
        let other = plan.referred(raw.array, raw.tile, arrays, held.as_ref())?;
        with_scratch(|scratch| encode_tile(raw, info, plan, other, scratch))
            .map_err(|e| in_variable(e, self.classic, raw.array, raw.tile))
    }
}

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
/// [`BATCH_LEN`] for a single thread, which shares with no other.
const BATCH_LEN_ALONE: u64 = 1 << 20;

/// Returns the bytes of raw tiles in one batch. With the open tiles of record variables and the encoded bytes, they
/// stay within the budget.
fn batch_len(options: &WriterOptions) -> u64 {
    match rayon::current_num_threads() as u64 {
        1 => BATCH_LEN_ALONE,
        threads => {
            (options.memory.saturating_sub(RECORD_TILES_LEN) / 4).clamp(BATCH_LEN, threads * BATCH_LEN)
        }
    }
}

/// Encodes tiles by the plans of their arrays.
struct FreshTiles<'a> {
    classic: &'a ClassicFile,
    plans: &'a Plans,
    /// Blocks that wait until the containers are written. `None`: blocks are written at once.
    blocks: Option<Vec<EncodedTile>>,
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
    let executor = |blocks| Executor::new(FreshTiles { classic, plans, blocks }, batch_len(options), monitor);
    if let Some(held) = &plans.held {
        // Containers are written before blocks. A tile that can only become a block is encoded after them, so that
        // few blocks wait in memory.
        let is_later = |raw: &&RawTile| {
            let large = arrays.get(raw.array).is_some_and(|info| info.total_bytes() > SMALL_LEN);
            large && plans.by_array[&raw.array].makes_a_block_of(raw.bytes.len())
        };
        let (later, first): (Vec<_>, Vec<_>) = held.all().iter().partition(is_later);
        let mut before = executor(Some(Vec::new()));
        first.into_iter().try_for_each(|raw| push(&mut before, Cow::Borrowed(raw), writer))?;
        let mut blocks = before.finish(writer)?.blocks.unwrap_or_default();
        writer.close_containers()?;
        blocks.sort_by_key(|tile| arrays.get(tile.array).map_or(0, |info| info.total_bytes().min(SMALL_LEN)));
        blocks.into_iter().try_for_each(|tile| writer.put(tile))?;
        let mut after = executor(None);
        later.into_iter().try_for_each(|raw| push(&mut after, Cow::Borrowed(raw), writer))?;
        return after.flush(writer);
    }
    let mut executor = executor(None);
    let first = first_arrays(classic, arrays);
    for_each_of(classic, arrays, &first, &mut |raw| push(&mut executor, Cow::Owned(raw), writer))?;
    executor.flush(writer)?;
    writer.close_containers()?;
    for_each_tile(classic, arrays, options.memory, &mut |raw| {
        if first.contains(&raw.array) { Ok(()) } else { push(&mut executor, Cow::Owned(raw), writer) }
    })?;
    executor.flush(writer)
}

fn push<'a, W: Write>(
    executor: &mut Executor<'_, FreshTiles<'a>>,
    raw: Cow<'a, RawTile>,
    writer: &mut GenerationWriter<'_, W>,
) -> Result<()> {
    let len = raw.bytes.len() as u64;
    executor.push(raw, len, writer)
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
        match &mut self.blocks {
            Some(blocks) if matches!(tile.form, Form::Block { .. }) => {
                blocks.push(tile);
                Ok(())
            }
            _ => writer.put(tile),
        }
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

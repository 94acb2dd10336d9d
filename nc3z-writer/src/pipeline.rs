//! Reads tiles in order, encodes them in parallel, and writes them in order; batches bound the memory. Small arrays
//! and their shared containers come first.

use crate::encode::{EncodedTile, Form, encode_tile, in_variable};
use crate::error::{ErrorKind, Result};
use crate::generation::GenerationWriter;
use crate::options::{RECORD_TILES_LEN, WriterOptions};
use crate::plan::Plans;
use crate::scratch::with_scratch;
use crate::tiles::{RawTile, SMALL_LEN, first_arrays, for_each_of, for_each_tile};
use nc3z_format::archive::Role;
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::classic::VarId;
use nc3z_format::codec::encode_dictionary;
use nc3z_reader::{ClassicFile, Monitor};
use rayon::prelude::*;
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
    let limit = batch_len(options);
    let held = plans.held.as_ref();
    let encode_all = |batch: &[RawTile]| -> Result<Vec<EncodedTile>> {
        if monitor.is_cancelled() {
            return Err(ErrorKind::Interrupted.into());
        }
        let encode = |raw: &RawTile| -> Result<EncodedTile> {
            let info: &ArrayInfo = arrays.get(raw.array).expect("tiles come from known arrays");
            let plan = &plans.by_array[&info.id];
            if let Some(made) = plan.made.tile(raw.tile) {
                return Ok(made.numbered(plan));
            }
            let other = plan.referred(raw.array, raw.tile, arrays, held)?;
            with_scratch(|scratch| encode_tile(raw, info, plan, other, scratch))
                .map_err(|e| in_variable(e, classic, raw.array, raw.tile))
        };
        let encoded = batch.par_iter().map(encode).collect::<Vec<_>>().into_iter().collect::<Result<_>>()?;
        monitor.advance(batch.iter().map(|t| t.bytes.len() as u64).sum());
        Ok(encoded)
    };
    if let Some(held) = held {
        // Blocks are kept until the containers of small tiles are written: the whole source is in memory, and
        // blocks are smaller.
        let mut blocks = Vec::new();
        let mut rest = held.all();
        while !rest.is_empty() {
            let mut len = 0;
            let full = rest.iter().position(|t| {
                len += t.bytes.len() as u64;
                len >= limit
            });
            let (batch, after) = rest.split_at(full.map_or(rest.len(), |last| last + 1));
            for tile in encode_all(batch)? {
                if matches!(tile.form, Form::Block { .. }) { blocks.push(tile) } else { writer.put(tile)? }
            }
            rest = after;
        }
        writer.close_containers()?;
        blocks.sort_by_key(|tile| arrays.get(tile.array).map_or(0, |info| info.total_bytes().min(SMALL_LEN)));
        return blocks.into_iter().try_for_each(|tile| writer.put(tile));
    }
    let mut batch = Batch { tiles: Vec::new(), len: 0, limit };
    let first = first_arrays(classic, arrays);
    for_each_of(classic, arrays, &first, &mut |raw| batch.push(raw, &encode_all, writer))?;
    batch.flush(&encode_all, writer)?;
    writer.close_containers()?;
    for_each_tile(classic, arrays, options.memory, &mut |raw| {
        if first.contains(&raw.array) { Ok(()) } else { batch.push(raw, &encode_all, writer) }
    })?;
    batch.flush(&encode_all, writer)
}

/// Tiles that are encoded together.
struct Batch {
    tiles: Vec<RawTile>,
    /// Their bytes, and the limit for them.
    len: u64,
    limit: u64,
}

impl Batch {
    fn push<W: Write>(
        &mut self,
        raw: RawTile,
        encode: &dyn Fn(&[RawTile]) -> Result<Vec<EncodedTile>>,
        writer: &mut GenerationWriter<'_, W>,
    ) -> Result<()> {
        self.len += raw.bytes.len() as u64;
        self.tiles.push(raw);
        if self.len < self.limit { Ok(()) } else { self.flush(encode, writer) }
    }

    fn flush<W: Write>(
        &mut self,
        encode: &dyn Fn(&[RawTile]) -> Result<Vec<EncodedTile>>,
        writer: &mut GenerationWriter<'_, W>,
    ) -> Result<()> {
        let encoded = encode(&self.tiles)?;
        self.tiles.clear();
        self.len = 0;
        encoded.into_iter().try_for_each(|tile| writer.put(tile))
    }
}

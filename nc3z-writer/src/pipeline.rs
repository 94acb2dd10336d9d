//! Tiles are read in order, encoded in parallel, and emitted in order; batches bound the memory.

use crate::encode::{EncodedTile, encode_against};
use crate::error::{ErrorKind, Result};
use crate::generation::GenerationWriter;
use crate::options::{RECORD_TILES_LEN, WriterOptions};
use crate::plan::Plans;
use crate::tiles::{RawTile, for_each_tile};
use nc3z_format::archive::Role;
use nc3z_format::arrays::{ArrayInfo, Arrays};
use nc3z_format::classic::VarId;
use nc3z_format::codec::{Scratch, encode_dictionary};
use nc3z_reader::{ClassicFile, Monitor};
use rayon::prelude::*;
use std::cell::RefCell;
use std::io::Write;

/// Raw tiles of a batch for each thread: enough to share evenly, little enough that memory is used again while it is
/// in the cache.
const BATCH_LEN: u64 = 4 << 20;

/// Bytes of raw tiles in one batch: with the open tiles of record variables and the encoded bytes, within the budget.
fn batch_len(options: &WriterOptions) -> u64 {
    let threads = rayon::current_num_threads() as u64;
    (options.memory.saturating_sub(RECORD_TILES_LEN) / 4).min(threads * BATCH_LEN).max(BATCH_LEN)
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::default());
}

/// Writes all tiles of the source.
pub(crate) fn write_tiles<W: Write>(
    classic: &ClassicFile,
    arrays: &Arrays,
    plans: &Plans,
    options: &WriterOptions,
    writer: &mut GenerationWriter<'_, W>,
    monitor: &dyn Monitor,
) -> Result<()> {
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
    let mut batch: Vec<RawTile> = Vec::new();
    let mut held_len = 0;
    let mut flush = |batch: &mut Vec<RawTile>| -> Result<()> {
        if monitor.is_cancelled() {
            return Err(ErrorKind::Interrupted.into());
        }
        let bytes: u64 = batch.iter().map(|t| t.bytes.len() as u64).sum();
        let encode = |raw: RawTile| -> Result<EncodedTile> {
            let info: &ArrayInfo = arrays.get(raw.array).expect("tiles come from known arrays");
            let plan = &plans.by_array[&info.id];
            let other = plan.referred(raw.array, raw.tile, arrays, held)?;
            SCRATCH.with_borrow_mut(|scratch| encode_against(raw, info, plan, other, scratch))
        };
        let encoded: Vec<_> = std::mem::take(batch).into_par_iter().map(encode).collect();
        for tile in encoded {
            writer.put(tile?)?;
        }
        monitor.advance(bytes);
        Ok(())
    };
    let mut put = |raw: RawTile| {
        held_len += raw.bytes.len() as u64;
        batch.push(raw);
        if held_len >= limit {
            held_len = 0;
            flush(&mut batch)?;
        }
        Ok(())
    };
    match held {
        // Copied, since others may refer to them.
        Some(held) => held.all().iter().cloned().try_for_each(&mut put)?,
        None => for_each_tile(classic, arrays, options.memory, &mut put)?,
    }
    flush(&mut batch)
}

//! Gather, encode in parallel, emit in order; batches bound the memory.

use crate::choose::{
    ArrayPlan, ChainTable, SAMPLES, Subject, choose, forced, sample_len, sample_ranges, whole_len,
};
use crate::encode::encode_tile;
use crate::error::{ErrorKind, Result};
use crate::gather::{RawTile, chunk_samples, gather, scan_pieces};
use crate::options::{PACK_LEN, RECORD_TILES_LEN, WriterOptions};
use crate::together;
use crate::writer::ArchiveWriter;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::arrays::{ArrayInfo, Arrays};
use nc3z_format::classic::{Attribute, Records, VarId};
use nc3z_format::codec::{ChainSpec, Scratch};
use nc3z_reader::{ClassicFile, Monitor};
use rayon::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;

/// Raw tiles of a batch for each thread: enough to share evenly, little enough that memory is used again while it is
/// in the cache.
const BATCH_LEN: u64 = 4 << 20;
/// Bytes of each window of records that samples are taken from.
const RECORD_SAMPLE_LEN: u64 = 1 << 20;

/// The plan of every array that has tiles, and the chain table they refer to.
pub(crate) struct Plans {
    pub(crate) table: ChainTable,
    by_array: BTreeMap<ArrayId, ArrayPlan>,
}

impl Plans {
    /// Samples every array and chooses its chain.
    pub(crate) fn new(classic: &ClassicFile, arrays: &Arrays, options: &WriterOptions) -> Result<Self> {
        options.chains.check_names(classic.header(), "--chain")?;
        let mut table = ChainTable::new();
        table.number(&ChainSpec(vec![crate::choose::codec(options.preset)]));
        let mut by_array = BTreeMap::new();
        let mut scratch = Scratch::default();
        let mut records = record_samples(classic, arrays)?;
        let whole_len = whole_len(arrays);
        for info in arrays.iter().filter(|a| a.tiling.tile_count() > 0) {
            let samples = match records.remove(&info.id) {
                Some(samples) => samples,
                None if info.total_bytes() <= PACK_LEN => Vec::new(),
                None => read_samples(classic, arrays, info)?,
            };
            let scan = |sink: &mut dyn FnMut(&[u8]) -> bool| scan_pieces(classic, info, sink);
            let subject =
                Subject { info, samples, fills: fill_values(classic, info), whole_len, scan: &scan };
            let plan = match wanted_chain(classic, info, options)? {
                Some(chain) => forced(&subject, &chain, options.preset, &mut table, &mut scratch)?,
                None => choose(&subject, options.preset, &mut table, &mut scratch)?,
            };
            by_array.insert(info.id, plan);
        }
        together::choose(classic, arrays, &mut by_array, &mut table, &mut scratch, options)?;
        Ok(Plans { table, by_array })
    }
}

/// The chain that was asked for a variable, bound to its type.
pub(crate) fn wanted_chain(
    classic: &ClassicFile,
    info: &ArrayInfo,
    options: &WriterOptions,
) -> Result<Option<ChainSpec>> {
    let Role::Variable(v) = info.id.role() else { return Ok(None) };
    let variable = &classic.header().variables[v as usize];
    let Some(wanted) = options.chains.of(&variable.name) else { return Ok(None) };
    let chain = wanted.bind(info.ty.size()).map_err(|e| ErrorKind::Option {
        option: "--chain",
        why: format!("variable `{}` of type {}: {e}", variable.name_lossy(), info.ty),
    })?;
    Ok(Some(chain))
}

/// Values of the variable's `_FillValue` and `missing_value` attributes, big-endian, where they have its type.
pub(crate) fn fill_values(classic: &ClassicFile, info: &ArrayInfo) -> Vec<Vec<u8>> {
    let Role::Variable(v) = info.id.role() else { return Vec::new() };
    let named = |a: &&Attribute| a.ty == info.ty && (a.name == b"_FillValue" || a.name == b"missing_value");
    let attributes = classic.header().variables[v as usize].attributes.iter().filter(named);
    attributes.filter_map(|a| a.values.get(..a.ty.size())).map(<[u8]>::to_vec).collect()
}

pub(crate) fn read_samples(classic: &ClassicFile, arrays: &Arrays, info: &ArrayInfo) -> Result<Vec<Vec<u8>>> {
    if info.linear_tile_len().is_none() {
        return chunk_samples(classic, arrays, info, SAMPLES, sample_len(info));
    }
    let samples = sample_ranges(info).into_iter().map(|(first, len)| {
        let mut bytes = vec![0; len];
        classic.read_array_bytes(info.id, first, &mut bytes)?;
        Ok(bytes)
    });
    Ok(samples.collect::<nc3z_reader::Result<Vec<_>>>()?)
}

/// Samples of all interleaved arrays at once, from a few windows of whole records: reading them one by one would touch
/// every record for every array.
pub(crate) fn record_samples(
    classic: &ClassicFile,
    arrays: &Arrays,
) -> Result<BTreeMap<ArrayId, Vec<Vec<u8>>>> {
    let mut samples: BTreeMap<ArrayId, Vec<Vec<u8>>> = BTreeMap::new();
    let Some(records) = &classic.layout().records else { return Ok(samples) };
    if records.stride > RECORD_SAMPLE_LEN {
        return Ok(samples);
    }
    let whole = (records.present_end - records.begin) / records.stride;
    let take = (RECORD_SAMPLE_LEN / records.stride).min(whole);
    let windows = 3.min(whole.div_ceil(take.max(1)));
    for window in 0..windows {
        let first = if windows > 1 { (whole - take) / (windows - 1) * window } else { 0 };
        let mut bytes = vec![0; usize::try_from(take * records.stride).expect("at most RECORD_SAMPLE_LEN")];
        classic.source().read_into(records.begin + first * records.stride, &mut bytes)?;
        for (id, offset, len) in record_columns(records, arrays) {
            let column = bytes.chunks(usize::try_from(records.stride).expect("at most RECORD_SAMPLE_LEN"));
            let column = column.flat_map(|record| &record[offset..offset + len]).copied().collect();
            samples.entry(id).or_default().push(column);
        }
    }
    Ok(samples)
}

/// Id, offset in the record and length of every interleaved array.
fn record_columns(records: &Records, arrays: &Arrays) -> Vec<(ArrayId, usize, usize)> {
    let narrow = |n: u64| usize::try_from(n).expect("inside a record of at most RECORD_SAMPLE_LEN");
    let mut columns = Vec::new();
    for slot in &records.slots {
        let (offset, len) = (narrow(slot.offset_in_record), narrow(slot.slot_len));
        // Samples of chunks are parts of chunks, which lie apart.
        if arrays.variable(slot.variable).linear_tile_len().is_some() {
            columns.push((arrays.variable(slot.variable).id, offset, len));
        }
        if let Some(padding) = arrays.padding(slot.variable) {
            columns.push((padding.id, offset + len, narrow(slot.padded_len - slot.slot_len)));
        }
    }
    columns
}

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
    writer: &mut ArchiveWriter<'_, W>,
    monitor: &dyn Monitor,
) -> Result<()> {
    for info in arrays.iter() {
        writer.declare(info.id, info.tiling.tile_count());
    }
    for (array, plan) in &plans.by_array {
        if let (Role::Variable(v), Some(dictionary)) = (array.role(), plan.dictionary()) {
            let ty = arrays.variable(VarId(v)).ty;
            writer.put_definition(v, 0, &dictionary.encode_definition(ty)?)?;
        }
    }
    let limit = batch_len(options);
    let mut batch: Vec<RawTile> = Vec::new();
    let mut held = 0;
    let mut flush = |batch: &mut Vec<RawTile>| -> Result<()> {
        if monitor.is_cancelled() {
            return Err(ErrorKind::Interrupted.into());
        }
        let bytes: u64 = batch.iter().map(|t| t.bytes.len() as u64).sum();
        let encode = |raw: RawTile| {
            let info: &ArrayInfo = arrays.get(raw.array).expect("tiles come from known arrays");
            let plan = &plans.by_array[&info.id];
            SCRATCH.with_borrow_mut(|scratch| encode_tile(raw, info, plan, plans.table.chains(), scratch))
        };
        let encoded: Vec<_> = std::mem::take(batch).into_par_iter().map(encode).collect();
        for tile in encoded {
            writer.put(tile?)?;
        }
        monitor.advance(bytes);
        Ok(())
    };
    gather(classic, arrays, options.memory, &mut |raw| {
        held += raw.bytes.len() as u64;
        batch.push(raw);
        if held >= limit {
            held = 0;
            flush(&mut batch)?;
        }
        Ok(())
    })?;
    flush(&mut batch)
}

//! Reads samples of each array for planning.

use super::{HeldTiles, chunk_samples};
use crate::error::Result;
use crate::plan::SamplePolicy;
use nc3z_format::archive::ArrayId;
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_format::classic::Records;
use nc3z_reader::ClassicFile;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Bytes of each window of records from which samples are taken.
const RECORD_SAMPLE_LEN: u64 = 1 << 20;

/// Windows of records are in the middles of parts of the region if it is this many times as long as a window.
const SPARSE: u64 = 8;

/// Reads the samples of one array.
pub(crate) fn read_samples(
    classic: &ClassicFile,
    arrays: &Arrays,
    info: &ArrayInfo,
    policy: &SamplePolicy,
) -> Result<Vec<Vec<u8>>> {
    if info.linear_tile_len().is_none() {
        return chunk_samples(classic, arrays, info, policy.count, sample_len(info, policy));
    }
    let samples = sample_ranges(info, policy).into_iter().map(|(first, len)| {
        let mut bytes = vec![0; len];
        classic.read_array_bytes(info.id, first, &mut bytes)?;
        Ok(bytes)
    });
    Ok(samples.collect::<nc3z_reader::Result<Vec<_>>>()?)
}

/// Reads samples of all interleaved arrays together, from a few windows of whole records. Separate reads would
/// touch every record for every array.
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
        // As for other arrays, the middles of parts, unless the windows are a large part of the records.
        let first = match windows {
            1 => 0,
            _ if whole >= take.saturating_mul(SPARSE) => (whole - take) / (2 * windows) * (2 * window + 1),
            _ => (whole - take) / (windows - 1) * window,
        };
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

/// Returns id, offset in the record and length of every interleaved array.
fn record_columns(records: &Records, arrays: &Arrays) -> Vec<(ArrayId, usize, usize)> {
    let narrow = |n: u64| usize::try_from(n).expect("inside a record of at most RECORD_SAMPLE_LEN");
    let mut columns = Vec::new();
    for slot in &records.slots {
        let (offset, len) = (narrow(slot.offset_in_record), narrow(slot.slot_len));
        // Samples of chunks are parts of chunks, which are not contiguous.
        if arrays.variable(slot.variable).linear_tile_len().is_some() {
            columns.push((arrays.variable(slot.variable).id, offset, len));
        }
        if let Some(padding) = arrays.padding(slot.variable) {
            columns.push((padding.id, offset + len, narrow(slot.padded_len - slot.slot_len)));
        }
    }
    columns
}

/// Takes the samples of one array from its cached tiles, if tiles are contiguous.
pub(crate) fn held_samples<'a>(
    held: &'a HeldTiles,
    info: &ArrayInfo,
    policy: &SamplePolicy,
) -> Option<Vec<Cow<'a, [u8]>>> {
    let tile_len = info.linear_tile_len()?.max(1);
    let tiles: Vec<&'a [u8]> = held.of(info.id).map(|t| &t.bytes[..]).collect();
    let sample = |(first, len): (u64, usize)| {
        let tile = usize::try_from(first / tile_len).ok().and_then(|t| tiles.get(t))?;
        let at = usize::try_from(first % tile_len).ok()?;
        tile.get(at..tile.len().min(at.checked_add(len)?)).map(Cow::Borrowed)
    };
    Some(sample_ranges(info, policy).into_iter().filter_map(sample).collect())
}

/// Returns the byte ranges (in the flattened array) of the samples: the beginnings of tiles in the middles of the array's
/// parts. The first and the last tiles represent the others least: they have the poles, the surface and the deepest level,
/// or a model's spin-up. If that is too much for the array, or it has fewer tiles, returns shorter pieces that begin at
/// rows or planes.
fn sample_ranges(info: &ArrayInfo, policy: &SamplePolicy) -> Vec<(u64, usize)> {
    let total = info.total_bytes();
    let tile = info.linear_tile_len().unwrap_or(total).clamp(1, total.max(1));
    let tiles = (total / tile).max(1);
    let size = info.ty.size() as u64;
    let n = policy.count.min(tiles);
    if n < policy.count && total > policy.whole_len as u64 {
        // The beginnings of one or two tiles do not represent the rest: they often contain surface levels or a
        // model's spin-up.
        let len = planes_len(info, policy, policy.whole_len as u64 / policy.count);
        return pieces(info, total, len, policy.count.min(total / len).max(1));
    }
    let len = sample_len(info, policy).min(tile);
    (0..n)
        .map(|i| {
            let first = tiles * (2 * i + 1) / (2 * n) * tile;
            let len = len.min(total - first) / size * size;
            (first, usize::try_from(len).expect("at most SamplePolicy::most"))
        })
        .collect()
}

/// Returns `count` pieces of about `len` bytes, evenly spread; whole planes or rows if they fit.
fn pieces(info: &ArrayInfo, total: u64, len: u64, count: u64) -> Vec<(u64, usize)> {
    let size = info.ty.size() as u64;
    let geometry = info.tiling.geometry(0).ok();
    let slices = geometry.map_or([None, None], |g| [g.plane, g.row]);
    let in_bytes = slices.into_iter().flatten().map(|n| n.saturating_mul(size));
    let slice = in_bytes.filter(|n| *n > 0).find(|n| n.saturating_mul(2) <= len).unwrap_or(size);
    let len = (len / slice * slice).clamp(size, total.max(size));
    let steps = (total - total.min(len)) / slice;
    (0..count)
        .map(|i| {
            let first = steps * i / (count - 1).max(1) * slice;
            let len = len.min(total - first) / size * size;
            (first, usize::try_from(len).expect("at most SamplePolicy::most"))
        })
        .collect()
}

/// Returns the largest length of a sample: the whole of a short array, otherwise some planes.
fn sample_len(info: &ArrayInfo, policy: &SamplePolicy) -> u64 {
    let whole = policy.whole_len as u64;
    planes_len(info, policy, if info.total_bytes() <= whole { whole } else { policy.len })
}

/// Returns at least `len` bytes, and some whole planes, so that prediction in time and scale-offset by plane show
/// their gain.
fn planes_len(info: &ArrayInfo, policy: &SamplePolicy, len: u64) -> u64 {
    let plane = info.tiling.geometry(0).ok().and_then(|g| g.plane).unwrap_or(0);
    let plane = plane.saturating_mul(info.ty.size() as u64);
    len.max(plane.saturating_mul(policy.planes)).min(policy.most)
}

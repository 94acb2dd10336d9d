//! Finds the tiles that contain a part of the original file.

use super::locate::TileKey;
use crate::array_table::{ArrayInfo, Arrays};
use crate::classic::{Layout, SegmentKind};
use crate::error::Result;
use crate::plan::Plan;
use crate::selection;
use std::ops::Range;

/// The tiles that contain bytes `range` of the original file, each once, ascending by array and number.
/// Header bytes are in no tile.
///
/// # Errors
/// An array of more bytes than can be addressed.
pub fn tiles_of_original(layout: &Layout, arrays: &Arrays, range: Range<u64>) -> Result<Vec<TileKey>> {
    let mut keys = Vec::new();
    let end = range.end.min(layout.file_len);
    let mut at = range.start;
    while at < end {
        let Some(segment) = layout.segment_at(at) else { break };
        let stop = segment.end().min(end);
        match segment.kind {
            SegmentKind::Header => {}
            SegmentKind::Fixed(var) => {
                add(arrays.variable(var), at - segment.offset, stop - segment.offset, &mut keys)?;
            }
            SegmentKind::Gap => {
                if let Some((first, _)) = layout.gaps.position(at) {
                    add(arrays.gap(), first, first + (stop - at), &mut keys)?;
                }
            }
            SegmentKind::Records => add_records(layout, arrays, at..stop, &mut keys)?,
        }
        at = stop;
    }
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

/// Adds the tiles of all records that a range touches, and of each record all tiles.
fn add_records(layout: &Layout, arrays: &Arrays, range: Range<u64>, keys: &mut Vec<TileKey>) -> Result<()> {
    let Some(records) = &layout.records else { return Ok(()) };
    let first = (range.start - records.begin) / records.stride;
    let last = (range.end - 1 - records.begin) / records.stride;
    for slot in &records.slots {
        let variable = (arrays.variable(slot.variable), slot.offset_in_record, slot.slot_len);
        let padding = arrays
            .padding(slot.variable)
            .map(|p| (p, slot.offset_in_record + slot.slot_len, slot.padded_len - slot.slot_len));
        for (info, offset, len) in std::iter::once(variable).chain(padding) {
            // Within one record, only the columns that the range meets.
            let begin = records.begin + first * records.stride + offset;
            if first == last && (begin >= range.end || begin + len <= range.start) {
                continue;
            }
            let (from, to) = (first.saturating_mul(len), (last + 1).saturating_mul(len));
            let (from, to) = if first == last {
                let into = |at: u64| at.saturating_sub(begin).min(len);
                (from + into(range.start), from + into(range.end))
            } else {
                (from, to)
            };
            add(info, from, to, keys)?;
        }
    }
    Ok(())
}

/// The tiles of bytes `[first, end)` of an array's flattened form.
fn add(info: &ArrayInfo, first: u64, end: u64, keys: &mut Vec<TileKey>) -> Result<()> {
    let end = end.min(info.total_bytes());
    if first >= end {
        return Ok(());
    }
    if let Some(len) = info.linear_tile_len() {
        keys.extend((first / len..=(end - 1) / len).map(|tile| TileKey::new(info.id, tile)));
        return Ok(());
    }
    let tiling = info.byte_tiling()?;
    for slab in selection::boxes(tiling.shape(), first, end) {
        keys.extend(Plan::with_tiling(&tiling, &slab)?.tiles().map(|t| TileKey::new(info.id, t.tile)));
    }
    Ok(())
}

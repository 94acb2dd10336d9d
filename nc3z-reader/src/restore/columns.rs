//! The record region by columns: short slots and paddings of many records are copied by strides.

use super::retained_tiles::RetainedTiles;
use crate::parallel;
use nc3z_format::array::TileKey;
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_format::classic::{Records, Slot};
use std::ops::Range;

/// Slots of record variables shorter than this are copied by strides, longer ones as pieces.
const LONG_SLOT: u64 = 16 << 10;

/// The short slots and paddings of a part of the record region.
pub(super) struct Columns<'a> {
    records: &'a Records,
    all: Vec<ShortColumn<'a>>,
    /// The part in bytes of the file.
    range: Range<u64>,
}

impl<'a> Columns<'a> {
    /// Returns the columns of a part of the record region. `None` if it has none.
    pub(super) fn new(arrays: &'a Arrays, records: &'a Records, range: Range<u64>) -> Option<Self> {
        let all = short_columns(arrays, records);
        (!all.is_empty()).then_some(Columns { records, all, range })
    }

    /// Adds the tiles that [`Columns::copy`] needs.
    pub(super) fn add_tiles(&self, needed: &mut Vec<TileKey>) {
        let Columns { records, range, .. } = self;
        let first = (range.start - records.begin) / records.stride;
        let last = (range.end - 1 - records.begin) / records.stride;
        for c in &self.all {
            let total = c.info.total_bytes();
            let (from, to) = ((first * c.len).min(total), ((last + 1) * c.len).min(total));
            let tile = c.info.linear_tile_len().unwrap_or(u64::MAX);
            if from < to {
                needed.extend((from / tile..=(to - 1) / tile).map(|t| TileKey::new(c.info.id, t)));
            }
        }
    }

    /// Copies the slots and paddings into `out`, which is the part. All tiles are held.
    pub(super) fn copy(&self, held: &RetainedTiles, out: &mut [u8]) {
        let Columns { records, all, range: Range { start: begin, .. } } = self;
        // Each thread copies some whole records of all columns, so that outputs are disjoint.
        let lead = (records.stride - (begin - records.begin) % records.stride) % records.stride;
        let lead = usize::try_from(lead).map_or(out.len(), |n| n.min(out.len()));
        let stride = usize::try_from(records.stride).unwrap_or(usize::MAX);
        let (head, body) = out.split_at_mut(lead);
        if !head.is_empty() {
            all.iter().for_each(|c| c.copy(held, records, *begin, head));
        }
        let per_part = (body.len() / stride.max(1) / (2 * parallel::threads())).max(1).saturating_mul(stride);
        let body_begin = begin + lead as u64;
        let parts: Vec<_> = body.chunks_mut(per_part.max(1)).enumerate().collect();
        parallel::map(parts, |(i, part)| {
            let at = body_begin + (i * per_part) as u64;
            all.iter().for_each(|c| c.copy(held, records, at, part));
        });
    }

    /// The part in bytes of the file.
    pub(super) fn range(&self) -> &Range<u64> {
        &self.range
    }
}

/// Returns true if a record variable's slots are copied as pieces: they are long, or their tiles are not runs
/// of the array.
pub(super) fn is_piece(arrays: &Arrays, slot: &Slot) -> bool {
    slot.slot_len >= LONG_SLOT || arrays.variable(slot.variable).linear_tile_len().is_none()
}

/// A record variable's short slot, or a padding: `len` bytes at `offset` of each record.
struct ShortColumn<'a> {
    info: &'a ArrayInfo,
    offset: u64,
    len: u64,
}

fn short_columns<'a>(arrays: &'a Arrays, records: &Records) -> Vec<ShortColumn<'a>> {
    let mut columns = Vec::new();
    for slot in &records.slots {
        if !is_piece(arrays, slot) {
            let info = arrays.variable(slot.variable);
            columns.push(ShortColumn { info, offset: slot.offset_in_record, len: slot.slot_len });
        }
        if let Some(info) = arrays.padding(slot.variable) {
            let offset = slot.offset_in_record + slot.slot_len;
            columns.push(ShortColumn { info, offset, len: slot.padded_len - slot.slot_len });
        }
    }
    columns.retain(|c| c.len > 0 && c.info.total_bytes() > 0);
    columns
}

impl ShortColumn<'_> {
    /// Copies this column into a part of the record region that begins at `begin` of the file.
    fn copy(&self, held: &RetainedTiles, records: &Records, begin: u64, out: &mut [u8]) {
        let tile_len = self.info.linear_tile_len().expect("is_piece: columns have linear tiles");
        let total = self.info.total_bytes();
        let stride = records.stride;
        let end = begin + out.len() as u64;
        let mut record = (begin - records.begin) / stride;
        let mut current: Option<(u64, &[u8])> = None;
        loop {
            let slot_begin = records.begin + record * stride + self.offset;
            let mut first = record * self.len;
            if slot_begin >= end || first >= total {
                return;
            }
            // The slot's part inside the window and the file; most often the whole slot inside one tile.
            let slot_end = (slot_begin + self.len.min(total - first)).min(end);
            let mut at = slot_begin.max(begin);
            first += at - slot_begin;
            while at < slot_end {
                let tile = first / tile_len;
                let bytes = match current {
                    Some((t, bytes)) if t == tile => bytes,
                    _ => {
                        let bytes = held.get(TileKey::new(self.info.id, tile));
                        current = Some((tile, bytes));
                        bytes
                    }
                };
                let from = usize::try_from(first - tile * tile_len).expect("inside a tile");
                let to = usize::try_from(at - begin).expect("inside the window");
                let n = usize::try_from(slot_end - at).expect("inside the window").min(bytes.len() - from);
                match (n, self.len) {
                    // Constant lengths compile to one move; whole slots of one tile follow each other.
                    (2, 2) | (4, 4) | (8, 8) | (1, 1) => {
                        let whole = (bytes.len() - from) / n;
                        let stride = usize::try_from(stride).expect("several records are in a window");
                        let fit = (out.len() - to - n) / stride + 1;
                        let count = whole.min(fit);
                        copy_strided(n, &bytes[from..from + count * n], stride, &mut out[to..]);
                        record += count as u64 - 1;
                        at = slot_end;
                    }
                    _ => {
                        out[to..to + n].copy_from_slice(&bytes[from..from + n]);
                        at += n as u64;
                        first += n as u64;
                    }
                }
            }
            record += 1;
        }
    }
}

/// Copies elements of `n` bytes that follow each other to places `stride` bytes apart.
fn copy_strided(n: usize, from: &[u8], stride: usize, out: &mut [u8]) {
    fn fixed<const N: usize>(from: &[u8], stride: usize, out: &mut [u8]) {
        for (from, to) in from.as_chunks::<N>().0.iter().zip(out.chunks_mut(stride)) {
            to[..N].copy_from_slice(from);
        }
    }
    match n {
        1 => fixed::<1>(from, stride, out),
        2 => fixed::<2>(from, stride, out),
        4 => fixed::<4>(from, stride, out),
        _ => fixed::<8>(from, stride, out),
    }
}

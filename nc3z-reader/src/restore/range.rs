//! Any byte range of the original file, from header, tiles and residue: what aliased variables, mounts and servers read.

use crate::archive::Archive;
use crate::error::Result;
use crate::tile::{flat_tiling, plans_of_run, read_run};
use nc3z_format::Error as FormatError;
use nc3z_format::archive::ArrayId;
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::classic::{Records, SegmentKind};
use std::ops::Range;

impl Archive {
    /// Fills `out` with the original file's bytes from `offset`.
    ///
    /// # Errors
    /// A range beyond the original's length; damage.
    pub fn read_original(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let left = self.original_len().saturating_sub(offset);
        if out.len() as u64 > left {
            return Err(FormatError::truncated(
                "original file",
                offset,
                "read",
                out.len() as u64 - left,
                left,
            )
            .into());
        }
        let (mut at, mut rest) = (offset, out);
        while !rest.is_empty() {
            let segment = self.layout().segment_at(at).expect("segments tile the file");
            let take = usize::try_from(segment.end() - at).map_or(rest.len(), |n| n.min(rest.len()));
            let (here, after) = rest.split_at_mut(take);
            let arrays = self.arrays();
            match segment.kind {
                SegmentKind::Header => {
                    let from = usize::try_from(at).expect("the header is in memory");
                    here.copy_from_slice(&self.header_bytes()[from..from + take]);
                }
                SegmentKind::Fixed(var) => self.read_flat(arrays.variable(var), at - segment.offset, here)?,
                SegmentKind::Gap => {
                    let (first, _) = self.layout().gaps.position(at).expect("gap segments are residue");
                    self.read_flat(arrays.gap(), first, here)?;
                }
                SegmentKind::Records => {
                    let records = self
                        .layout()
                        .records
                        .as_ref()
                        .expect("a record segment exists only where records are regular");
                    self.read_records(records, at, here)?;
                }
            }
            at += take as u64;
            rest = after;
        }
        Ok(())
    }

    /// Fills `out` with bytes of an array's flattened form, big-endian, from byte `first` on.
    ///
    /// # Errors
    /// No such array; bytes that it does not have; damage.
    pub fn read_array_bytes(&self, array: ArrayId, first: u64, out: &mut [u8]) -> Result<()> {
        let info = self.arrays().get(array);
        let info = info.ok_or_else(|| FormatError::invalid(format!("no array {array}")))?;
        let left = info.total_bytes().saturating_sub(first);
        if out.len() as u64 > left {
            let missing = out.len() as u64 - left;
            return Err(FormatError::truncated(array.to_string(), first, "read", missing, left).into());
        }
        self.read_flat(info, first, out)
    }

    /// Bytes of one array's flattened form.
    fn read_flat(&self, info: &ArrayInfo, first: u64, out: &mut [u8]) -> Result<()> {
        read_run(&self.inner.store, &self.nearby, info, first, out)
    }

    /// A range of the record region: slot by slot, each column's bytes of all records at once.
    fn read_records(&self, records: &Records, begin: u64, out: &mut [u8]) -> Result<()> {
        for column in self.columns(records, begin, begin + out.len() as u64) {
            let Column { info, from, to, .. } = column;
            let mut bytes = vec![0; usize::try_from(to - from).expect("not more than the request")];
            self.read_flat(info, from, &mut bytes)?;
            let mut at = from;
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let left = column.len - at % column.len;
                let run = usize::try_from(left).map_or(rest.len(), |n| n.min(rest.len()));
                let to = usize::try_from(column.place(records, at) - begin).expect("inside the request");
                out[to..to + run].copy_from_slice(&rest[..run]);
                at += run as u64;
                rest = &rest[run..];
            }
        }
        Ok(())
    }

    /// The columns of the record region, variables and padding, of which a range of the file has bytes.
    fn columns<'a>(
        &'a self,
        records: &'a Records,
        begin: u64,
        end: u64,
    ) -> impl Iterator<Item = Column<'a>> + 'a {
        let first = (begin - records.begin) / records.stride;
        let last = (end - 1 - records.begin) / records.stride;
        let slots = records.slots.iter().flat_map(move |slot| {
            let padding = self
                .arrays()
                .padding(slot.variable)
                .map(|p| (p, slot.offset_in_record + slot.slot_len, slot.padded_len - slot.slot_len));
            let variable = (self.arrays().variable(slot.variable), slot.offset_in_record, slot.slot_len);
            std::iter::once(variable).chain(padding)
        });
        slots.filter(|&(_, _, len)| len > 0).filter_map(move |(info, offset, len)| {
            // The range may cut the first and the last slot.
            let slot_begin = |record: u64| records.begin + record * records.stride + offset;
            let from = first * len + begin.saturating_sub(slot_begin(first)).min(len);
            let to = last * len + end.saturating_sub(slot_begin(last)).min(len);
            let to = to.min(info.total_bytes());
            (from < to).then_some(Column { info, offset, len, from, to })
        })
    }

    /// The tiles that contain bytes of the original file, in the order of the file. Header bytes are in no
    /// tile. Bytes beyond the original are ignored.
    ///
    /// # Errors
    /// Invalid layouts.
    pub fn tiles_of_original(&self, range: Range<u64>) -> Result<Vec<(ArrayId, u64)>> {
        let (mut at, end) = (range.start, range.end.min(self.original_len()));
        let mut tiles = Vec::new();
        while at < end {
            let segment = self.layout().segment_at(at).expect("segments tile the file");
            let stop = segment.end().min(end);
            match segment.kind {
                SegmentKind::Header => {}
                SegmentKind::Fixed(var) => {
                    let info = self.arrays().variable(var);
                    note_tiles(info, at - segment.offset, stop - segment.offset, &mut tiles)?;
                }
                SegmentKind::Gap => {
                    let (first, _) = self.layout().gaps.position(at).expect("gap segments are residue");
                    note_tiles(self.arrays().gap(), first, first + (stop - at), &mut tiles)?;
                }
                SegmentKind::Records => {
                    let records = self.layout().records.as_ref();
                    let records = records.expect("a record segment exists only where records are regular");
                    for Column { info, from, to, .. } in self.columns(records, at, stop) {
                        note_tiles(info, from, to, &mut tiles)?;
                    }
                }
            }
            at = stop;
        }
        Ok(tiles)
    }
}

/// The bytes of a variable of the record region, or of its padding, that are in a range. They are counted in the flattened array.
struct Column<'a> {
    info: &'a ArrayInfo,
    /// The offset of its slot in a record.
    offset: u64,
    /// Bytes of it in each record.
    len: u64,
    from: u64,
    to: u64,
}

impl Column<'_> {
    /// The offset of one of its bytes in the file.
    fn place(&self, records: &Records, byte: u64) -> u64 {
        records.begin + byte / self.len * records.stride + self.offset + byte % self.len
    }
}

/// Adds the tiles of a run of bytes of an array.
fn note_tiles(info: &ArrayInfo, first: u64, end: u64, tiles: &mut Vec<(ArrayId, u64)>) -> Result<()> {
    for plan in plans_of_run(&flat_tiling(info)?, first, end - first) {
        let (plan, _) = plan?;
        for tile in plan.tiles() {
            // Runs of a chunked array that follow each other meet the same chunks.
            if tiles.last() != Some(&(info.id, tile.tile)) {
                tiles.push((info.id, tile.tile));
            }
        }
    }
    Ok(())
}

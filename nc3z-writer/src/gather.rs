//! The classic file as a stream of raw tiles, in the archive's order: fixed variables by their place in the file, the record
//! region record after record, the gap bytes last.
//!
//! The source is read forward once. Interleaved record variables fill one open tile each while the records go by;
//! [`crate::options::RECORD_TILES_LEN`] bounds what is open, whatever the number of variables.

use crate::error::Result;
use nc3z_format::archive::ArrayId;
use nc3z_format::arrays::{ArrayInfo, Arrays};
use nc3z_format::classic::{Layout, Records, SegmentKind};
use nc3z_reader::source::ByteSource;

/// Bytes of the record region that are read at a time. Part of the order of tiles, so a constant.
const WINDOW_LEN: u64 = 4 << 20;
/// Reads of less than this go through a buffer.
const READ_AHEAD: usize = 256 << 10;

/// One tile's big-endian bytes.
#[derive(Debug)]
pub(crate) struct RawTile {
    pub(crate) array: ArrayId,
    pub(crate) tile: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Calls `sink` with every tile of every array, in the archive's order.
pub(crate) fn gather(
    source: &dyn ByteSource,
    layout: &Layout,
    arrays: &Arrays,
    sink: &mut dyn FnMut(RawTile) -> Result<()>,
) -> Result<()> {
    let mut reader = ReadAhead::new(source);
    for segment in layout.segments() {
        match segment.kind {
            SegmentKind::Fixed(var) => {
                let info = arrays.variable(var);
                let begin = segment.offset;
                for tile in 0..info.tiling.tile_count() {
                    let (first, len) = info.tile_bytes(tile)?;
                    let mut bytes = vec![0; len];
                    reader.read(begin + first, &mut bytes)?;
                    sink(RawTile { array: info.id, tile, bytes })?;
                }
            }
            SegmentKind::Records => {
                let records =
                    layout.records.as_ref().expect("a record segment exists only where records are regular");
                gather_records(&mut reader, records, arrays, sink)?;
            }
            SegmentKind::Header | SegmentKind::Gap => {}
        }
    }
    gather_gap(&mut reader, layout, arrays.gap(), sink)
}

fn gather_gap(
    reader: &mut ReadAhead<'_>,
    layout: &Layout,
    info: &ArrayInfo,
    sink: &mut dyn FnMut(RawTile) -> Result<()>,
) -> Result<()> {
    let mut open = OpenTile::new(info)?;
    for (offset, len) in layout.gaps.runs() {
        let mut at = offset;
        let end = offset + len;
        while at < end {
            let room = open.room();
            let n = usize::try_from(end - at).map_or(room, |left| left.min(room));
            reader.read(at, open.take(n))?;
            at += n as u64;
            open.emit_if_full(info, sink)?;
        }
    }
    Ok(())
}

/// One column of the record region: a variable's slot or its padding.
struct Column<'a> {
    info: &'a ArrayInfo,
    /// Bytes into the record.
    offset: u64,
    /// Bytes in each record.
    len: u64,
    /// Bytes of the array still to come.
    left: u64,
    open: OpenTile,
}

fn gather_records(
    reader: &mut ReadAhead<'_>,
    records: &Records,
    arrays: &Arrays,
    sink: &mut dyn FnMut(RawTile) -> Result<()>,
) -> Result<()> {
    let mut columns = columns(records, arrays)?;
    if records.stride > WINDOW_LEN {
        for record in 0..records.count {
            let begin = records.begin + record * records.stride;
            for column in &mut columns {
                column.read(reader, begin, sink)?;
            }
            if columns.iter().all(|c| c.left == 0) {
                break;
            }
        }
        return Ok(());
    }
    let per_window = WINDOW_LEN / records.stride;
    let mut window = Vec::new();
    let mut at = records.begin;
    while at < records.end {
        let len = (per_window * records.stride).min(records.end - at);
        window.resize(usize::try_from(len).expect("at most WINDOW_LEN"), 0);
        reader.read(at, &mut window)?;
        let stride = usize::try_from(records.stride).expect("at most WINDOW_LEN");
        for column in &mut columns {
            column.scatter(&window, stride, sink)?;
        }
        at += len;
    }
    Ok(())
}

fn columns<'a>(records: &Records, arrays: &'a Arrays) -> Result<Vec<Column<'a>>> {
    let mut columns = Vec::with_capacity(records.slots.len() * 2);
    for slot in &records.slots {
        let variable = Some((arrays.variable(slot.variable), slot.offset_in_record, slot.slot_len));
        let padding = arrays
            .padding(slot.variable)
            .map(|info| (info, slot.offset_in_record + slot.slot_len, slot.padded_len - slot.slot_len));
        for (info, offset, len) in variable.into_iter().chain(padding) {
            let left = info.total_bytes();
            columns.push(Column { info, offset, len, left, open: OpenTile::new(info)? });
        }
    }
    Ok(columns)
}

impl Column<'_> {
    /// Reads this column's bytes of the record that begins at `begin`.
    fn read(
        &mut self,
        reader: &mut ReadAhead<'_>,
        begin: u64,
        sink: &mut dyn FnMut(RawTile) -> Result<()>,
    ) -> Result<()> {
        let mut at = begin + self.offset;
        let end = at + self.len.min(self.left);
        while at < end {
            let room = self.open.room();
            let n = usize::try_from(end - at).map_or(room, |left| left.min(room));
            reader.read(at, self.open.take(n))?;
            at += n as u64;
            self.left -= n as u64;
            self.open.emit_if_full(self.info, sink)?;
        }
        Ok(())
    }

    /// Copies this column's bytes out of a window of whole records (the last may be cut).
    fn scatter(
        &mut self,
        window: &[u8],
        stride: usize,
        sink: &mut dyn FnMut(RawTile) -> Result<()>,
    ) -> Result<()> {
        let offset = usize::try_from(self.offset).expect("inside a record of at most WINDOW_LEN");
        let slot = usize::try_from(self.len).expect("inside a record of at most WINDOW_LEN");
        let mut at = offset;
        while at < window.len() && self.left > 0 {
            // Whole slots that fit in the open tile are copied in one tight loop.
            let whole = self.open.room().checked_div(slot).unwrap_or(0);
            let here = (window.len() - at).div_ceil(stride).min(whole);
            let left = usize::try_from(self.left / self.len.max(1)).unwrap_or(usize::MAX);
            let n = here.min(left).min(
                (window.len() - at).saturating_sub(slot) / stride + usize::from(window.len() - at >= slot),
            );
            if n > 0 {
                copy_slots(&window[at..], stride, slot, self.open.take(n * slot));
                at += n * stride;
                self.left -= (n * slot) as u64;
            } else {
                // The slot straddles two tiles, or is cut by the end of the file.
                let mut piece = &window[at..window.len().min(at + slot)];
                let left = usize::try_from(self.left).unwrap_or(usize::MAX);
                piece = &piece[..piece.len().min(left)];
                while !piece.is_empty() {
                    let n = piece.len().min(self.open.room());
                    self.open.take(n).copy_from_slice(&piece[..n]);
                    piece = &piece[n..];
                    self.left -= n as u64;
                    self.open.emit_if_full(self.info, sink)?;
                }
                at += stride;
            }
            self.open.emit_if_full(self.info, sink)?;
        }
        Ok(())
    }
}

/// Copies slots of `slot` bytes, `stride` bytes apart, one behind the other.
fn copy_slots(from: &[u8], stride: usize, slot: usize, to: &mut [u8]) {
    fn fixed<const N: usize>(from: &[u8], stride: usize, to: &mut [u8]) {
        let (to, _) = to.as_chunks_mut::<N>();
        for (to, from) in to.iter_mut().zip(from.chunks(stride)) {
            to.copy_from_slice(&from[..N]);
        }
    }
    match slot {
        1 => fixed::<1>(from, stride, to),
        2 => fixed::<2>(from, stride, to),
        3 => fixed::<3>(from, stride, to),
        4 => fixed::<4>(from, stride, to),
        8 => fixed::<8>(from, stride, to),
        _ => {
            for (to, from) in to.chunks_exact_mut(slot).zip(from.chunks(stride)) {
                to.copy_from_slice(&from[..slot]);
            }
        }
    }
}

/// A tile that is being filled.
struct OpenTile {
    tile: u64,
    len: usize,
    bytes: Vec<u8>,
}

impl OpenTile {
    fn new(info: &ArrayInfo) -> Result<Self> {
        let len = if info.tiling.tile_count() == 0 { 0 } else { info.tile_bytes(0)?.1 };
        Ok(OpenTile { tile: 0, len, bytes: Vec::new() })
    }

    fn room(&self) -> usize {
        self.len - self.bytes.len()
    }

    /// The next `n` bytes, to be filled; at most [`Self::room`].
    fn take(&mut self, n: usize) -> &mut [u8] {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(self.len);
        }
        let at = self.bytes.len();
        self.bytes.resize(at + n, 0);
        &mut self.bytes[at..]
    }

    fn emit_if_full(&mut self, info: &ArrayInfo, sink: &mut dyn FnMut(RawTile) -> Result<()>) -> Result<()> {
        if self.room() > 0 || self.len == 0 {
            return Ok(());
        }
        sink(RawTile { array: info.id, tile: self.tile, bytes: std::mem::take(&mut self.bytes) })?;
        self.tile += 1;
        self.len = if self.tile < info.tiling.tile_count() { info.tile_bytes(self.tile)?.1 } else { 0 };
        Ok(())
    }
}

/// Forward reads through a buffer where they are small.
struct ReadAhead<'a> {
    source: &'a dyn ByteSource,
    begin: u64,
    buffer: Vec<u8>,
}

impl<'a> ReadAhead<'a> {
    fn new(source: &'a dyn ByteSource) -> Self {
        ReadAhead { source, begin: 0, buffer: Vec::new() }
    }

    fn read(&mut self, offset: u64, out: &mut [u8]) -> Result<()> {
        if out.len() >= READ_AHEAD {
            return Ok(self.source.read_into(offset, out)?);
        }
        let end = offset + out.len() as u64;
        if offset < self.begin || end > self.begin + self.buffer.len() as u64 {
            let len = (self.source.len().saturating_sub(offset)).min(READ_AHEAD as u64);
            let len = usize::try_from(len).expect("at most READ_AHEAD").max(out.len());
            self.buffer.resize(len, 0);
            self.begin = offset;
            if let Err(e) = self.source.read_into(offset, &mut self.buffer) {
                self.buffer.clear();
                return Err(e.into());
            }
        }
        let at = usize::try_from(offset - self.begin).expect("inside the buffer");
        out.copy_from_slice(&self.buffer[at..at + out.len()]);
        Ok(())
    }
}

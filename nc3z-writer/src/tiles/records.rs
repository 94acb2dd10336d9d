//! Reads the record region, record after record: every interleaved array is a column whose tiles fill up.

use super::chunks::Chunked;
use super::open::{OpenLayer, OpenTile};
use super::raw::RawTile;
use super::read_ahead::{Read, ReadAhead};
use crate::error::Result;
use crate::options::RECORD_TILES_LEN;
use nc3z_format::array_table::Arrays;
use nc3z_format::classic::Records;
use nc3z_reader::ClassicFile;

/// Bytes of the record region that are read at a time. The order of tiles depends on it, so it is a constant.
const WINDOW_LEN: u64 = 4 << 20;

/// If the average length of a column's bytes in a record is at least this, they are read one by one directly into
/// their tiles. A window would have to be copied, and would need new memory.
const LONG_SLOT: u64 = 16 << 10;

/// One column of the record region: a variable's slot or its padding.
pub(super) struct Column<'a> {
    /// Bytes into the record.
    offset: u64,
    /// Bytes in each record.
    len: u64,
    /// Bytes of the array still to come.
    left: u64,
    open: Open<'a>,
}

/// The target of a column's bytes.
enum Open<'a> {
    /// Into a linear tile.
    Tile(OpenTile<'a>),
    /// Into a layer of chunks.
    Layer(OpenLayer<'a>),
    /// No target yet: the layers are too large, and are read separately after their records. Bytes passed so far.
    Later(Chunked<'a>, u64),
}

pub(super) fn read_records(
    reader: &mut ReadAhead<'_>,
    records: &Records,
    mut columns: Vec<Column<'_>>,
    budget: u64,
    sink: &mut dyn FnMut(RawTile) -> Result<()>,
) -> Result<()> {
    if records.stride > WINDOW_LEN {
        for record in 0..records.count {
            let begin = records.begin + record * records.stride;
            for column in &mut columns {
                column.read(reader, ReadAhead::read, begin, budget, sink)?;
            }
            if columns.iter().all(|c| c.left == 0) {
                break;
            }
        }
        return Ok(());
    }
    let per_window = WINDOW_LEN / records.stride;
    let are_long = records.stride / (columns.len() as u64).max(1) >= LONG_SLOT;
    let mut window = Vec::new();
    let mut at = records.begin;
    while at < records.end {
        let len = (per_window * records.stride).min(records.end - at);
        let stride = usize::try_from(records.stride).expect("at most WINDOW_LEN");
        if !are_long {
            window.resize(usize::try_from(len).expect("at most WINDOW_LEN"), 0);
            reader.read(at, &mut window)?;
        }
        for column in &mut columns {
            if column.is_later() {
                let passed = column.len.saturating_mul(len.div_ceil(records.stride));
                column.pass(passed, reader, budget, sink)?;
            } else if are_long {
                for begin in (at..at + len).step_by(stride) {
                    column.read(reader, ReadAhead::read_here, begin, budget, sink)?;
                }
            } else {
                column.scatter(&window, stride, sink)?;
            }
        }
        at += len;
    }
    Ok(())
}

pub(super) fn columns<'a>(
    classic: &ClassicFile,
    records: &Records,
    arrays: &'a Arrays,
) -> Result<Vec<Column<'a>>> {
    let mut columns = Vec::with_capacity(records.slots.len() * 2);
    for slot in &records.slots {
        let info = arrays.variable(slot.variable);
        let open = match Chunked::new(classic, arrays, slot.variable)? {
            Some(chunked) => Open::Later(chunked, 0),
            None => Open::Tile(OpenTile::new(info)?),
        };
        columns.push(Column {
            offset: slot.offset_in_record,
            len: slot.slot_len,
            left: info.total_bytes(),
            open,
        });
        if let Some(info) = arrays.padding(slot.variable) {
            columns.push(Column {
                offset: slot.offset_in_record + slot.slot_len,
                len: slot.padded_len - slot.slot_len,
                left: info.total_bytes(),
                open: Open::Tile(OpenTile::new(info)?),
            });
        }
    }
    open_layers(&mut columns);
    Ok(columns)
}

/// Fills the chunked columns whose layers fit in memory beside the open tiles while the records are read, the
/// smallest first.
fn open_layers(columns: &mut Vec<Column<'_>>) {
    let tiles: u64 = columns.iter().map(Column::held_len).sum();
    let mut room = RECORD_TILES_LEN.saturating_sub(tiles);
    let mut layers: Vec<(u64, usize)> = (0..columns.len())
        .filter_map(|i| match &columns[i].open {
            Open::Later(chunked, _) if chunked.layers() > 0 => Some((chunked.layer_len(0), i)),
            _ => None,
        })
        .collect();
    layers.sort_unstable();
    let mut fit = vec![false; columns.len()];
    for (len, i) in layers {
        if matches!(&columns[i].open, Open::Later(chunked, _) if chunked.is_of_one_record()) {
            fit[i] = len <= RECORD_TILES_LEN;
        } else if len <= room {
            room -= len;
            fit[i] = true;
        }
    }
    let opened = std::mem::take(columns).into_iter().zip(fit).map(|(column, fit)| match column.open {
        Open::Later(chunked, _) if fit => Column { open: Open::Layer(OpenLayer::new(chunked)), ..column },
        open => Column { open, ..column },
    });
    *columns = opened.collect();
}

impl Column<'_> {
    fn is_later(&self) -> bool {
        matches!(self.open, Open::Later(..))
    }

    /// Bytes of an open tile.
    fn held_len(&self) -> u64 {
        match &self.open {
            Open::Tile(open) => open.room() as u64,
            Open::Layer(_) | Open::Later(..) => 0,
        }
    }

    /// Bytes until the open tile or layer is full.
    fn room(&self) -> usize {
        match &self.open {
            Open::Tile(open) => open.room(),
            Open::Layer(open) => open.room(),
            Open::Later(..) => 0,
        }
    }

    fn take(&mut self, n: usize) -> &mut [u8] {
        self.left -= n as u64;
        match &mut self.open {
            Open::Tile(open) => open.take(n),
            Open::Layer(open) => open.take(n),
            Open::Later(..) => &mut [],
        }
    }

    fn emit_if_full(&mut self, sink: &mut dyn FnMut(RawTile) -> Result<()>) -> Result<()> {
        match &mut self.open {
            Open::Tile(open) => open.emit_if_full(sink),
            Open::Layer(open) => open.emit_if_full(sink),
            Open::Later(..) => Ok(()),
        }
    }

    /// Reads this column's bytes of the record that begins at `begin`.
    fn read<'r>(
        &mut self,
        reader: &mut ReadAhead<'r>,
        read: Read<'r>,
        begin: u64,
        budget: u64,
        sink: &mut dyn FnMut(RawTile) -> Result<()>,
    ) -> Result<()> {
        if self.is_later() {
            return self.pass(self.len, reader, budget, sink);
        }
        let mut at = begin + self.offset;
        let end = at + self.len.min(self.left);
        while at < end {
            let room = self.room();
            let n = usize::try_from(end - at).map_or(room, |left| left.min(room));
            read(reader, at, self.take(n))?;
            at += n as u64;
            self.emit_if_full(sink)?;
        }
        Ok(())
    }

    /// Skips bytes of a column that is read separately; reads the layers that are then complete.
    fn pass(
        &mut self,
        passed: u64,
        reader: &mut ReadAhead<'_>,
        budget: u64,
        sink: &mut dyn FnMut(RawTile) -> Result<()>,
    ) -> Result<()> {
        let Open::Later(chunked, before) = &mut self.open else { return Ok(()) };
        let layers = chunked.layers();
        if layers == 0 {
            return Ok(());
        }
        let passed = passed.min(self.left);
        self.left -= passed;
        let layer_len = chunked.layer_len(0);
        let first = *before / layer_len;
        *before += passed;
        let end = if self.left == 0 { layers } else { *before / layer_len };
        chunked.read_layers(first..end, reader, budget, sink)
    }

    /// Copies this column's bytes from a window of whole records (the last may be cut).
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
            let whole = self.room().checked_div(slot).unwrap_or(0);
            let here = (window.len() - at).div_ceil(stride).min(whole);
            let left = usize::try_from(self.left / self.len.max(1)).unwrap_or(usize::MAX);
            let n = here.min(left).min(
                (window.len() - at).saturating_sub(slot) / stride + usize::from(window.len() - at >= slot),
            );
            if n > 0 {
                copy_slots(&window[at..], stride, slot, self.take(n * slot));
                at += n * stride;
            } else {
                // The slot spans two tiles, or the end of the file cuts it.
                let mut piece = &window[at..window.len().min(at + slot)];
                let left = usize::try_from(self.left).unwrap_or(usize::MAX);
                piece = &piece[..piece.len().min(left)];
                while !piece.is_empty() {
                    let n = piece.len().min(self.room());
                    self.take(n).copy_from_slice(&piece[..n]);
                    piece = &piece[n..];
                    self.emit_if_full(sink)?;
                }
                at += stride;
            }
            self.emit_if_full(sink)?;
        }
        Ok(())
    }
}
/// Copies slots of `slot` bytes, `stride` bytes apart, one after another.
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

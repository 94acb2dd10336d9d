//! A window of the original file as the destination of tiles.
//!
//! The window is cut into *parts*, each a run of one array. Tiles that are a run of a part are decoded in their
//! place. All others are held until the stream has passed them, and their bytes are copied.

use super::chunks::Chunks;
use super::columns::{Columns, is_piece};
use super::part::Part;
use super::retained_tiles::{InPlace, RetainedTiles};
use crate::archive::Archive;
use crate::error::Result;
use crate::parallel;
use crate::source::Nearby;
use crate::tile::plans_of_run;
use nc3z_format::archive::ArrayId;
use nc3z_format::array::TileKey;
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::classic::{Records, Segment, SegmentKind};
use nc3z_format::plan::copy::copy_tile;
use std::collections::BTreeMap;

/// Bytes that one task copies at a time.
const PART_LEN: usize = 1 << 20;
/// Pieces of chunked arrays that are shorter than this are rebuilt together and then spread.
const LONG_PIECE: usize = 16 << 10;

/// Fills a window of the original file that begins at byte `begin`.
pub(super) fn fill(
    archive: &Archive,
    chunks: &mut Chunks,
    held: &mut RetainedTiles,
    nearby: &Nearby,
    begin: u64,
    window: &mut [u8],
) -> Result<()> {
    let store = &archive.inner.store;
    let mut cut = Cut::default();
    cut.window(archive, begin, window);
    let mut parts = Vec::new();
    for part in cut.parts {
        parts.extend(chunks.copy_from_strip(store, part)?);
    }
    let mut parts = joined(parts);
    let (mut in_place, mut needed) = (Vec::new(), Vec::new());
    cut.columns.iter().for_each(|columns| columns.add_tiles(&mut needed));
    for part in &mut parts {
        part.add_tiles(chunks, held, &mut in_place, &mut needed)?;
    }
    held.decode(store, nearby, needed, in_place)?;
    let (held, chunks) = (&*held, &*chunks);
    let mut tasks = Vec::new();
    parts.into_iter().filter(|part| part.copies).for_each(|part| part.add_tasks(&mut tasks));
    parallel::try_each(tasks, |part| part.copy(chunks, held))?;
    for columns in cut.columns {
        let within = |at: u64| usize::try_from(at - begin).expect("inside the window");
        let range = columns.range();
        columns.copy(held, &mut window[within(range.start)..within(range.end)]);
    }
    Ok(())
}

/// The parts of a window.
#[derive(Default)]
struct Cut<'a, 'w> {
    parts: Vec<Part<'w>>,
    columns: Vec<Columns<'a>>,
}

impl<'a: 'w, 'w> Cut<'a, 'w> {
    fn window(&mut self, archive: &'a Archive, begin: u64, window: &'w mut [u8]) {
        let (mut at, mut rest) = (begin, window);
        while !rest.is_empty() {
            let segment = archive.layout().segment_at(at).expect("segments tile the file");
            let take = usize::try_from(segment.end() - at).map_or(rest.len(), |n| n.min(rest.len()));
            let (here, after) = rest.split_at_mut(take);
            rest = after;
            self.segment(archive, at, segment, here);
            at += take as u64;
        }
    }

    /// Cuts one segment's part of the window.
    fn segment(&mut self, archive: &'a Archive, at: u64, segment: &Segment, out: &'w mut [u8]) {
        let (arrays, layout) = (archive.arrays(), archive.layout());
        match segment.kind {
            SegmentKind::Header => {
                let from = usize::try_from(at).expect("the header fits in memory");
                out.copy_from_slice(&archive.header_bytes()[from..from + out.len()]);
            }
            SegmentKind::Fixed(var) => self.add(arrays.variable(var), at - segment.offset, out),
            SegmentKind::Gap => {
                let (first, _) = layout.gaps.position(at).expect("gap segments are residue");
                self.add(arrays.gap(), first, out);
            }
            SegmentKind::Records => {
                let records = layout.records.as_ref();
                let records = records.expect("a record segment exists only where records are regular");
                self.columns.extend(Columns::new(arrays, records, at..at + out.len() as u64));
                self.long_slots(archive, records, at, out);
            }
        }
    }

    fn add(&mut self, info: &'w ArrayInfo, first: u64, out: &'w mut [u8]) {
        let len = out.len();
        self.parts.push(Part { info, first, out, more: Vec::new(), len, copies: false });
    }

    fn long_slots(&mut self, archive: &'a Archive, records: &'a Records, begin: u64, out: &'w mut [u8]) {
        let arrays = archive.arrays();
        if !records.slots.iter().any(|s| is_piece(arrays, s)) {
            return;
        }
        let end = begin + out.len() as u64;
        let (mut rest, mut at) = (out, begin);
        for record in (begin - records.begin) / records.stride..=(end - 1 - records.begin) / records.stride {
            for slot in records.slots.iter().filter(|s| is_piece(arrays, s)) {
                let info = arrays.variable(slot.variable);
                let slot_begin = records.begin + record * records.stride + slot.offset_in_record;
                let from = slot_begin.max(at);
                let first = record * slot.slot_len + (from - slot_begin.min(from));
                let left = info.total_bytes().saturating_sub(record * slot.slot_len);
                let to = (slot_begin + slot.slot_len.min(left)).min(end);
                if from >= to {
                    continue;
                }
                let skip = usize::try_from(from - at).expect("inside the window");
                let take = usize::try_from(to - from).expect("inside the window");
                let (here, tail) = rest[skip..].split_at_mut(take);
                self.add(info, first, here);
                rest = tail;
                at = to;
            }
        }
    }
}

/// Joins short parts of chunked arrays that follow each other in the array.
fn joined(parts: Vec<Part<'_>>) -> Vec<Part<'_>> {
    let mut done = Vec::with_capacity(parts.len());
    let mut open: BTreeMap<ArrayId, Part<'_>> = BTreeMap::new();
    for part in parts {
        if part.info.linear_tile_len().is_some() || part.out.len() >= LONG_PIECE {
            done.push(part);
            continue;
        }
        match open.get_mut(&part.info.id) {
            Some(last) if last.end() == part.first && last.len < PART_LEN => {
                last.len += part.out.len();
                last.more.push(part.out);
            }
            _ => done.extend(open.insert(part.info.id, part)),
        }
    }
    done.extend(open.into_values());
    done
}

impl Part<'_> {
    fn end(&self) -> u64 {
        self.first + self.len as u64
    }

    /// Adds its tiles: those that are decoded in their place, and those that must be held.
    fn add_tiles<'p>(
        &'p mut self,
        chunks: &Chunks,
        held: &RetainedTiles,
        in_place: &mut Vec<InPlace<'p>>,
        needed: &mut Vec<TileKey>,
    ) -> Result<()> {
        let (info, first, len, is_alone) = (self.info, self.first, self.len, self.more.is_empty());
        let (mut rest, mut at) = (&mut *self.out, 0);
        let mut add = |key: TileKey, place: Option<usize>, len: usize| {
            // Whole tiles are in the order of the output.
            let skip = place.filter(|_| is_alone && held.find(key).is_none()).and_then(|p| p.checked_sub(at));
            let Some(skip) = skip else {
                self.copies = true;
                needed.push(key);
                return;
            };
            let (here, after) = std::mem::take(&mut rest)[skip..].split_at_mut(len);
            (rest, at) = (after, at + skip + len);
            in_place.push((key, here));
        };
        let Some(tiling) = chunks.tiling(info.id) else {
            for piece in pieces(info, first, len) {
                let Piece { tile, from, to, len } = piece?;
                let is_whole = from == 0 && len == info.tile_len(tile)?;
                add(TileKey::new(info.id, tile), is_whole.then_some(to), len);
            }
            return Ok(());
        };
        let mut begin = 0_usize;
        for plan in plans_of_run(tiling, first, len as u64) {
            let (plan, len) = plan?;
            for tile in plan.tiles() {
                let place = tile.whole.and_then(|at| begin.checked_add(usize::try_from(at).ok()?));
                let len = usize::try_from(tile.elements).expect("inside the part");
                add(TileKey::new(info.id, tile.tile), place, len);
            }
            begin += len;
        }
        Ok(())
    }

    /// Adds this part as tasks of similar length.
    fn add_tasks(self, tasks: &mut Vec<Self>) {
        if !self.more.is_empty() || self.out.len() <= PART_LEN {
            tasks.push(self);
            return;
        }
        let Part { info, first, out, copies, .. } = self;
        tasks.extend(out.chunks_mut(PART_LEN).enumerate().map(|(i, out)| {
            let first = first + (i * PART_LEN) as u64;
            Part { info, first, len: out.len(), out, more: Vec::new(), copies }
        }));
    }

    /// Copies the bytes of tiles that are held.
    fn copy(self, chunks: &Chunks, held: &RetainedTiles) -> Result<()> {
        if self.more.is_empty() {
            return copy_run(self.info, chunks, held, self.first, self.out);
        }
        let mut bytes = vec![0; self.len];
        copy_run(self.info, chunks, held, self.first, &mut bytes)?;
        let mut rest = bytes.as_slice();
        for out in std::iter::once(self.out).chain(self.more) {
            let (here, after) = rest.split_at(out.len());
            out.copy_from_slice(here);
            rest = after;
        }
        Ok(())
    }
}

/// Copies the bytes of a run of an array that are in tiles which are held. All others have been decoded in their
/// place.
fn copy_run(
    info: &ArrayInfo,
    chunks: &Chunks,
    held: &RetainedTiles,
    first: u64,
    out: &mut [u8],
) -> Result<()> {
    let Some(tiling) = chunks.tiling(info.id) else {
        for piece in pieces(info, first, out.len()) {
            let Piece { tile, from, to, len } = piece?;
            if let Some(bytes) = held.find(TileKey::new(info.id, tile)) {
                out[to..to + len].copy_from_slice(&bytes[from..from + len]);
            }
        }
        return Ok(());
    };
    let mut rest = out;
    for plan in plans_of_run(tiling, first, rest.len() as u64) {
        let (plan, len) = plan?;
        let (here, after) = rest.split_at_mut(len);
        rest = after;
        for tile in plan.tiles() {
            if let Some(bytes) = held.find(TileKey::new(info.id, tile.tile)) {
                copy_tile(&tile, bytes, here)?;
            }
        }
    }
    Ok(())
}

/// A run of bytes of a linear tile: bytes `[from, from + len)` of the tile, at `to` of the output.
struct Piece {
    tile: u64,
    from: usize,
    to: usize,
    len: usize,
}

/// The linear tiles of a run of bytes of an array. Arithmetic, since a plan for each slot of a record would take
/// longer than copying the slot.
fn pieces(info: &ArrayInfo, first: u64, total: usize) -> impl Iterator<Item = Result<Piece>> + use<'_> {
    let tile_len = info.linear_tile_len().expect("chunked arrays have a tiling");
    let mut to = 0;
    std::iter::from_fn(move || {
        if to == total {
            return None;
        }
        let at = first + to as u64;
        let tile = at / tile_len;
        let piece = info.tile_bytes(tile).map(|(begin, tile_len)| {
            let from = usize::try_from(at - begin).expect("inside a tile");
            Piece { tile, from, to, len: (tile_len - from).min(total - to) }
        });
        to = piece.as_ref().map_or(total, |piece| to + piece.len);
        Some(piece.map_err(Into::into))
    })
}

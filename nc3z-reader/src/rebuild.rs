//! The original file rebuilt as a forward stream of windows, in parallel and in bounded memory.
//!
//! A window is a byte range of the original. Tiles that lie in it whole are decoded straight into place, in parallel; tiles
//! that reach into other windows are decoded once and held until the stream has passed them. Record variables interleave:
//! their tiles together hold at most 64 MiB (a rule of the writer), which bounds what is held. Chunks are [`crate::chunks`]'s.

use crate::archive::Archive;
use crate::chunks::{Chunks, Piece, is_chunked};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::ArrayId;
use nc3z_format::arrays::{ArrayInfo, Arrays, byte_run};
use nc3z_format::classic::{Records, Segment, SegmentKind, Slot};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of a window for each thread, unless one tile is larger: small enough that what was decoded is still in the
/// cache when it is hashed and written.
const WINDOW_LEN: u64 = 2 << 20;
/// Slots of record variables shorter than this are copied by strides, longer ones as pieces.
const LONG_SLOT: u64 = 16 << 10;

/// Rebuilds the original file window by window, in order.
pub struct Rebuild<'a> {
    archive: &'a Archive,
    /// Decoded tiles that the next windows need again.
    held: HashMap<(ArrayId, u64), Arc<Vec<u8>>>,
    /// Memory of tiles let go, for the next ones.
    spare: Vec<Vec<u8>>,
    /// Chunks that they need; made out with the first window.
    chunks: Option<Chunks>,
    at: u64,
    window_len: u64,
}

/// A rebuild without its archive, between two windows.
#[derive(Default)]
pub(crate) struct Suspended {
    held: HashMap<(ArrayId, u64), Arc<Vec<u8>>>,
    chunks: Option<Chunks>,
}

/// What a piece is made of: a whole tile in place, or a part of a tile that is decoded apart.
enum Job<'w> {
    Whole { array: ArrayId, tile: u64, out: &'w mut [u8] },
    Part { array: ArrayId, tile: u64, from: usize, out: &'w mut [u8] },
}

impl Archive {
    /// The original file as a stream of windows.
    pub fn rebuild(&self) -> Rebuild<'_> {
        let window_len = WINDOW_LEN * rayon::current_num_threads() as u64;
        Rebuild { archive: self, held: HashMap::new(), spare: Vec::new(), chunks: None, at: 0, window_len }
    }

    /// Calls `sink` with the original file's bytes, window after window, in order. Windows are rebuilt while the one before is
    /// in the sink, where rayon's current pool has more than one thread.
    ///
    /// # Errors
    /// Damage, a cancelled monitor, and what the sink says.
    pub fn rebuild_into<E: From<Error> + Send>(
        &self,
        monitor: &dyn Monitor,
        sink: &mut (dyn FnMut(u64, &[u8]) -> Result<(), E> + Send),
    ) -> Result<(), E> {
        let mut rebuild = self.rebuild();
        let mut offset = 0;
        let (mut ready, mut spare) = (Vec::new(), Vec::new());
        rebuild.next_window(&mut ready)?;
        while !ready.is_empty() {
            if monitor.is_cancelled() {
                return Err(Error::interrupted().into());
            }
            let len = ready.len() as u64;
            if rayon::current_num_threads() > 1 {
                let (written, next) =
                    rayon::join(|| sink(offset, &ready), || rebuild.next_window(&mut spare));
                written?;
                next?;
                std::mem::swap(&mut ready, &mut spare);
            } else {
                sink(offset, &ready)?;
                rebuild.next_window(&mut ready)?;
            }
            offset += len;
            monitor.advance(len);
        }
        Ok(())
    }
}

impl<'a> Rebuild<'a> {
    /// Goes on at byte `at` of the original with what an earlier rebuild held; it may hold nothing, or what is not needed.
    pub(crate) fn resume(archive: &'a Archive, from: Suspended, at: u64) -> Self {
        Rebuild { held: from.held, chunks: from.chunks, at, ..archive.rebuild() }
    }

    /// What a rebuild of the next windows can use again.
    pub(crate) fn suspend(self) -> Suspended {
        Suspended { held: self.held, chunks: self.chunks }
    }
}

impl Rebuild<'_> {
    /// Fills `window` with the next bytes of the original; leaves it empty at the end.
    ///
    /// # Errors
    /// Damage, with its place.
    pub fn next_window(&mut self, window: &mut Vec<u8>) -> Result<()> {
        if self.chunks.is_none() {
            self.chunks = Some(Chunks::new(self.archive)?);
        }
        let begin = self.at;
        let end = self.window_end(begin);
        window.resize(usize::try_from(end - begin).expect("a window fits in memory"), 0);
        self.fill(begin, window)?;
        self.at = end;
        Ok(())
    }

    /// Where the window that begins at `begin` ends: some `window_len` on, moved to a border of tiles or records.
    fn window_end(&self, begin: u64) -> u64 {
        let inner = &self.archive.inner;
        let len = inner.superblock.original_len;
        let target = begin.saturating_add(self.window_len).min(len);
        let border = match inner.layout.segment_at(target.saturating_sub(1).max(begin)) {
            Some(&Segment { kind: SegmentKind::Fixed(var), offset, .. }) => {
                let info = inner.arrays.variable(var);
                if is_chunked(info) {
                    let chunks = self.chunks.as_ref().expect("next_window made it");
                    let border = chunks.border(info.id, begin.saturating_sub(offset), target - offset);
                    return border.map_or(target, |border| offset + border);
                }
                info.linear_tile_len().map(|tile| {
                    let done = (target - offset) / tile * tile;
                    // At least one tile further than the window's begin.
                    let done =
                        if offset + done > begin { done } else { (begin - offset) / tile * tile + tile };
                    (offset + done).min(offset + info.total_bytes())
                })
            }
            Some(&Segment { kind: SegmentKind::Records, .. }) => inner.layout.records.as_ref().map(|r| {
                let done = (target - r.begin) / r.stride;
                if r.begin + done * r.stride > begin { r.begin + done * r.stride } else { target }
            }),
            _ => None,
        };
        border.unwrap_or(target).clamp(begin.saturating_add(1), len.max(begin.saturating_add(1))).min(len)
    }

    fn fill(&mut self, begin: u64, window: &mut [u8]) -> Result<()> {
        let archive = self.archive;
        let layout = &archive.inner.layout;
        let mut pieces = Vec::new();
        let mut strided = Vec::new();
        let (mut at, mut rest) = (begin, &mut *window);
        while !rest.is_empty() {
            let segment = layout.segment_at(at).expect("segments tile the file");
            let take = usize::try_from(segment.end() - at).map_or(rest.len(), |n| n.min(rest.len()));
            let (here, after) = rest.split_at_mut(take);
            rest = after;
            self.cut(at, segment, here, &mut pieces, &mut strided);
            at += take as u64;
        }
        self.run(pieces)?;
        for (from, to) in strided {
            let begin_of = |x: u64| usize::try_from(x - begin).expect("inside the window");
            let records = layout.records.as_ref().expect("strided parts come from the record segment");
            self.fill_short_slots(records, from, &mut window[begin_of(from)..begin_of(to)])?;
        }
        let done = begin + window.len() as u64;
        self.release(done);
        Ok(())
    }

    /// Cuts one segment's part of a window into pieces; notes the range whose short slots are to be copied by strides.
    fn cut<'w>(
        &self,
        at: u64,
        segment: &Segment,
        out: &'w mut [u8],
        pieces: &mut Vec<Piece<'w>>,
        strided: &mut Vec<(u64, u64)>,
    ) where
        Self: 'w,
    {
        let inner = &self.archive.inner;
        match segment.kind {
            SegmentKind::Header => {
                let from = usize::try_from(at).expect("the header fits in memory");
                out.copy_from_slice(&inner.head.header[from..from + out.len()]);
            }
            SegmentKind::Fixed(var) => {
                pieces.push(Piece {
                    info: self.archive.inner.arrays.variable(var),
                    first: at - segment.offset,
                    out,
                });
            }
            SegmentKind::Gap => {
                let (first, _) = inner.layout.gaps.position(at).expect("gap segments are residue");
                pieces.push(Piece { info: self.archive.inner.arrays.gap(), first, out });
            }
            SegmentKind::Records => {
                let records = inner
                    .layout
                    .records
                    .as_ref()
                    .expect("a record segment exists only where records are regular");
                strided.push((at, at + out.len() as u64));
                self.cut_long_slots(records, at, out, pieces);
            }
        }
    }

    fn cut_long_slots<'w>(
        &self,
        records: &Records,
        begin: u64,
        out: &'w mut [u8],
        pieces: &mut Vec<Piece<'w>>,
    ) where
        Self: 'w,
    {
        let arrays = &self.archive.inner.arrays;
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
                let (_, tail) = rest.split_at_mut(skip);
                let (here, tail) = tail.split_at_mut(take);
                pieces.push(Piece { info, first, out: here });
                rest = tail;
                at = to;
            }
        }
    }

    /// Fills pieces: whole tiles in place, parts from tiles decoded apart; all in parallel.
    fn run(&mut self, pieces: Vec<Piece<'_>>) -> Result<()> {
        let mut jobs = Vec::new();
        let (chunked, linear): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|p| is_chunked(p.info));
        if let (Some(chunks), false) = (&mut self.chunks, chunked.is_empty()) {
            chunks.fill(self.archive, chunked)?;
        }
        for piece in linear {
            cut_into_tiles(piece, &mut jobs)?;
        }
        let needed = jobs.iter().filter_map(|job| match job {
            Job::Part { array, tile, .. } => Some((*array, *tile)),
            Job::Whole { .. } => None,
        });
        let needed: Vec<_> = needed.collect();
        self.hold(needed)?;
        let inner = &self.archive.inner;
        let held = &self.held;
        jobs.into_par_iter().try_for_each(|job| match job {
            Job::Whole { array, tile, out } => inner.decode_tile(array, tile, out),
            Job::Part { array, tile, from, out } => {
                out.copy_from_slice(&held[&(array, tile)][from..from + out.len()]);
                Ok(())
            }
        })
    }

    /// Decodes tiles that are not held yet, in parallel.
    fn hold(&mut self, mut needed: Vec<(ArrayId, u64)>) -> Result<()> {
        needed.retain(|key| !self.held.contains_key(key));
        needed.sort_unstable();
        needed.dedup();
        let inner = &self.archive.inner;
        self.check_room(&needed)?;
        let spare = std::mem::take(&mut self.spare).into_iter().chain(std::iter::repeat_with(Vec::new));
        let needed: Vec<_> = needed.into_iter().zip(spare).collect();
        let decoded: Vec<_> = needed
            .into_par_iter()
            .map(|((array, tile), mut out)| {
                let info = inner.arrays.get(array).expect("tiles come from known arrays");
                out.resize(info.tile_len(tile)?, 0);
                inner.decode_tile(array, tile, &mut out)?;
                Ok(((array, tile), Arc::new(out)))
            })
            .collect::<Result<_>>()?;
        self.held.extend(decoded);
        Ok(())
    }

    /// That tiles of record variables are small together is the writer's word only: an archive of another may ask for any memory.
    fn check_room(&self, needed: &[(ArrayId, u64)]) -> Result<()> {
        let inner = &self.archive.inner;
        let mut room = inner.limits.rebuild_len;
        let held = self.held.values().map(|tile| Ok(tile.len()));
        let asked = needed.iter().map(|&(array, tile)| {
            inner.arrays.get(array).expect("tiles come from known arrays").tile_len(tile)
        });
        for len in held.chain(asked) {
            let len = len? as u64;
            room = room.checked_sub(len).ok_or_else(|| {
                let (what, limit) = ("decoded tiles of one window", inner.limits.rebuild_len);
                Error::from(FormatError::limit("original file", None, what, limit, limit.saturating_add(len)))
            })?;
        }
        Ok(())
    }

    /// Copies the short slots and paddings of `[begin, begin + out.len())` of the record region.
    fn fill_short_slots(&mut self, records: &Records, begin: u64, out: &mut [u8]) -> Result<()> {
        let archive = self.archive;
        let columns = short_columns(archive, records);
        if columns.is_empty() {
            return Ok(());
        }
        let end = begin + out.len() as u64;
        let first = (begin - records.begin) / records.stride;
        let last = (end - 1 - records.begin) / records.stride;
        let mut needed = Vec::new();
        for c in &columns {
            let total = c.info.total_bytes();
            let (from, to) = ((first * c.len).min(total), ((last + 1) * c.len).min(total));
            let tile = c.info.linear_tile_len().unwrap_or(u64::MAX);
            if from < to {
                needed.extend((from / tile..=(to - 1) / tile).map(|t| (c.info.id, t)));
            }
        }
        self.hold(needed)?;
        let held = &self.held;
        // Each thread copies some whole records of all columns, so that outputs are disjoint.
        let lead = (records.stride - (begin - records.begin) % records.stride) % records.stride;
        let lead = usize::try_from(lead).map_or(out.len(), |n| n.min(out.len()));
        let stride = usize::try_from(records.stride).unwrap_or(usize::MAX);
        let (head, body) = out.split_at_mut(lead);
        if !head.is_empty() {
            columns.iter().for_each(|c| c.copy(held, records, begin, head));
        }
        let per_part =
            (body.len() / stride.max(1) / (2 * rayon::current_num_threads())).max(1).saturating_mul(stride);
        let body_begin = begin + lead as u64;
        body.par_chunks_mut(per_part.max(1)).enumerate().for_each(|(i, part)| {
            let at = body_begin + (i * per_part) as u64;
            columns.iter().for_each(|c| c.copy(held, records, at, part));
        });
        Ok(())
    }

    /// Lets go of tiles that lie wholly before `done`.
    fn release(&mut self, done: u64) {
        if let Some(chunks) = &mut self.chunks {
            chunks.release(self.archive, done);
        }
        let inner = &self.archive.inner;
        let layout = &inner.layout;
        let needed = |(array, tile): &(ArrayId, u64)| {
            let info = inner.arrays.get(*array).expect("tiles come from known arrays");
            let Ok((first, len)) = info.tile_bytes(*tile) else { return false };
            let end = first + len as u64;
            byte_run(layout, *array, end - 1).is_some_and(|(last, _)| last >= done)
        };
        let passed = self.held.extract_if(|key, _| !needed(key));
        self.spare = passed.filter_map(|(_, tile)| Arc::into_inner(tile)).collect();
    }
}

fn cut_into_tiles<'w>(piece: Piece<'w>, jobs: &mut Vec<Job<'w>>) -> Result<()> {
    let Piece { info, mut first, mut out } = piece;
    let tile_len = info.linear_tile_len().expect("the caller has dealt with chunks");
    while !out.is_empty() {
        let tile = first / tile_len;
        let (begin, len) = info.tile_bytes(tile)?;
        let from = usize::try_from(first - begin).expect("inside a tile");
        let take = (len - from).min(out.len());
        let (here, rest) = out.split_at_mut(take);
        out = rest;
        first += take as u64;
        jobs.push(if take == len {
            Job::Whole { array: info.id, tile, out: here }
        } else {
            Job::Part { array: info.id, tile, from, out: here }
        });
    }
    Ok(())
}

/// Whether a record variable's slots are copied as pieces: where they are long, or their tiles are no runs of the array.
fn is_piece(arrays: &Arrays, slot: &Slot) -> bool {
    slot.slot_len >= LONG_SLOT || arrays.variable(slot.variable).linear_tile_len().is_none()
}

/// A record variable's short slot, or a padding: `len` bytes at `offset` of each record.
struct ShortColumn<'a> {
    info: &'a ArrayInfo,
    offset: u64,
    len: u64,
}

fn short_columns<'a>(archive: &'a Archive, records: &Records) -> Vec<ShortColumn<'a>> {
    let arrays = &archive.inner.arrays;
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
    fn copy(
        &self,
        held: &HashMap<(ArrayId, u64), Arc<Vec<u8>>>,
        records: &Records,
        begin: u64,
        out: &mut [u8],
    ) {
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
                        let bytes = held[&(self.info.id, tile)].as_slice();
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
                        let stride = usize::try_from(stride).expect("several records lie in a window");
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

//! The original file as a forward stream of windows, in parallel and in bounded memory.
//!
//! A window is a byte range of the original. Tiles inside a window are decoded in place, in parallel. Tiles
//! that extend into other windows are decoded once and held until the stream has passed them. Record
//! variables interleave: their tiles together hold at most 64 MiB (a rule of the writer), which limits the
//! held bytes. [`super::chunks`] handles chunks. The stored bytes of the next windows are fetched meanwhile,
//! where the source says that this saves time ([`super::ahead`]).

use super::ahead::Ahead;
use super::chunks::{Chunks, is_chunked};
use super::columns::{fill_short_slots, is_piece};
use super::held::Held;
use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::parallel;
use crate::source::Near;
use crate::tile::Piece;
use nc3z_format::array::TileKey;
use nc3z_format::classic::{Records, Segment, SegmentKind};

/// Bytes of a window for each thread, unless one tile is larger: small enough that what was decoded is still in the
/// cache when it is hashed and written.
const WINDOW_LEN: u64 = 2 << 20;

/// The original file window by window, in order.
///
/// ```
/// # let archive = nc3z_reader::Archive::open("../testdata/archives/v0_1_0/etopo120.fast.nc3z".as_ref())?;
/// let mut stream = archive.restore_stream();
/// let (mut window, mut original) = (Vec::new(), Vec::new());
/// loop {
///     stream.next_window(&mut window)?;
///     if window.is_empty() {
///         break;
///     }
///     original.extend_from_slice(&window);
/// }
/// assert_eq!(original.len() as u64, archive.original_len());
/// # Ok::<(), nc3z_reader::Error>(())
/// ```
pub struct RestoreStream {
    archive: Archive,
    /// Decoded tiles that later windows need again.
    held: Held,
    /// The way in which chunked arrays are restored, decided with the first window.
    chunks: Option<Chunks>,
    /// Stored bytes fetched for later windows.
    ahead: Ahead,
    at: u64,
    window_len: u64,
}

/// The source of a part of a window.
enum Job<'w> {
    /// A whole tile in place.
    Whole { key: TileKey, out: &'w mut [u8] },
    /// A part of a linear tile that is held.
    Part { key: TileKey, from: usize, out: &'w mut [u8] },
}

impl Archive {
    /// The original file as a stream of windows.
    pub fn restore_stream(&self) -> RestoreStream {
        self.restore_stream_from(0)
    }

    /// The original file from byte `at` on, as a stream of windows.
    pub(crate) fn restore_stream_from(&self, at: u64) -> RestoreStream {
        RestoreStream {
            archive: self.clone(),
            held: Held::default(),
            chunks: None,
            ahead: Ahead::default(),
            at,
            window_len: WINDOW_LEN * parallel::threads() as u64,
        }
    }

    /// Passes the original file's bytes to `sink`, window after window, in order. The next window is restored
    /// while the sink works, if rayon's current pool has more than one thread.
    ///
    /// # Errors
    /// Damage, a cancelled monitor, and errors of the sink.
    pub fn restore_into<E: From<Error> + Send>(
        &self,
        monitor: &dyn Monitor,
        sink: &mut (dyn FnMut(u64, &[u8]) -> Result<(), E> + Send),
    ) -> Result<(), E> {
        let mut stream = self.restore_stream();
        let mut offset = 0;
        let (mut ready, mut spare) = (Vec::new(), Vec::new());
        stream.next_window(&mut ready)?;
        while !ready.is_empty() {
            if monitor.is_cancelled() {
                return Err(Error::interrupted().into());
            }
            let len = ready.len() as u64;
            if parallel::threads() > 1 {
                let (written, next) =
                    parallel::join(|| sink(offset, &ready), || stream.next_window(&mut spare));
                written?;
                next?;
                std::mem::swap(&mut ready, &mut spare);
            } else {
                sink(offset, &ready)?;
                stream.next_window(&mut ready)?;
            }
            offset += len;
            monitor.advance(len);
        }
        Ok(())
    }
}

impl RestoreStream {
    /// Fills `window` with the next bytes of the original. The window is empty at the end of the file.
    ///
    /// # Errors
    /// Damage, with its place.
    pub fn next_window(&mut self, window: &mut Vec<u8>) -> Result<()> {
        if self.chunks.is_none() {
            self.chunks = Some(Chunks::new(&self.archive)?);
        }
        let begin = self.at;
        let end = self.window_end(begin);
        window.resize(usize::try_from(end - begin).expect("a window fits in memory"), 0);
        let chunks = self.chunks.as_ref();
        let near = self.ahead.fetch(&self.archive, begin..end, |array| {
            chunks.is_some_and(|chunks| chunks.fetches_itself(array))
        })?;
        self.fill(begin, &near, window)?;
        self.at = end;
        Ok(())
    }

    /// The end of the window that begins at `begin`: about `window_len` bytes later, at a border of tiles or
    /// records.
    fn window_end(&self, begin: u64) -> u64 {
        let (store, inner) = (&self.archive.inner.store, &self.archive.inner);
        let len = inner.trailer.original_len;
        let target = begin.saturating_add(self.window_len).min(len);
        let border = match inner.layout.segment_at(target.saturating_sub(1).max(begin)) {
            Some(&Segment { kind: SegmentKind::Fixed(var), offset, .. }) => {
                let info = store.arrays.variable(var);
                if is_chunked(info) {
                    let chunks = self.chunks.as_ref().expect("next_window made it");
                    let border = chunks.border(info.id, begin.saturating_sub(offset), target - offset);
                    return border.map_or(target, |border| offset + border);
                }
                info.linear_tile_len().map(|tile| {
                    let done = (target - offset) / tile * tile;
                    // At least one tile after the beginning of the window.
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

    fn fill(&mut self, begin: u64, near: &Near, window: &mut [u8]) -> Result<()> {
        let archive = self.archive.clone();
        let layout = archive.layout();
        let mut pieces = Vec::new();
        let mut strided = Vec::new();
        let (mut at, mut rest) = (begin, &mut *window);
        while !rest.is_empty() {
            let segment = layout.segment_at(at).expect("segments tile the file");
            let take = usize::try_from(segment.end() - at).map_or(rest.len(), |n| n.min(rest.len()));
            let (here, after) = rest.split_at_mut(take);
            rest = after;
            cut(&archive, at, segment, here, &mut pieces, &mut strided);
            at += take as u64;
        }
        self.run(&archive, near, pieces)?;
        for (from, to) in strided {
            let begin_of = |x: u64| usize::try_from(x - begin).expect("inside the window");
            let records = layout.records.as_ref().expect("strided parts come from the record segment");
            let out = &mut window[begin_of(from)..begin_of(to)];
            fill_short_slots(&archive.inner.store, near, &mut self.held, records, from, out)?;
        }
        let done = begin + window.len() as u64;
        if let Some(chunks) = &mut self.chunks {
            chunks.release(&archive, done);
        }
        self.held.release(&archive.inner.store, layout, done);
        Ok(())
    }

    /// Fills pieces, all in parallel: whole tiles in place, parts from separately decoded tiles.
    fn run(&mut self, archive: &Archive, near: &Near, pieces: Vec<Piece<'_>>) -> Result<()> {
        let mut jobs = Vec::new();
        let (chunked, linear): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|p| is_chunked(p.info));
        if let (Some(chunks), false) = (&mut self.chunks, chunked.is_empty()) {
            chunks.fill(archive, near, &mut self.held, chunked)?;
        }
        for piece in linear {
            cut_into_tiles(piece, &mut jobs)?;
        }
        let store = &archive.inner.store;
        let (mut members, mut whole, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for job in jobs {
            match job {
                Job::Whole { key, out } if store.container_of(key, near).is_some() => {
                    members.push((key, out));
                }
                Job::Whole { key, out } => whole.push((key, out)),
                Job::Part { key, from, out } => parts.push((key, from, out)),
            }
        }
        self.held.hold(store, near, parts.iter().map(|(key, ..)| *key).collect())?;
        let held = &self.held;
        parallel::map(parts, |(key, from, out)| out.copy_from_slice(&held.get(key)[from..from + out.len()]));
        let decode = |(key, out): (TileKey, &mut [u8])| store.decode(key, near, out);
        parallel::try_each(whole, decode)?;
        store.by_container(members, |(key, _)| *key, near, true, decode).into_iter().collect()
    }
}

/// Cuts one segment's part of a window into pieces. Records the range whose short slots are copied by
/// strides.
fn cut<'w>(
    archive: &'w Archive,
    at: u64,
    segment: &Segment,
    out: &'w mut [u8],
    pieces: &mut Vec<Piece<'w>>,
    strided: &mut Vec<(u64, u64)>,
) {
    let (store, inner) = (&archive.inner.store, &archive.inner);
    match segment.kind {
        SegmentKind::Header => {
            let from = usize::try_from(at).expect("the header fits in memory");
            out.copy_from_slice(&inner.head.header[from..from + out.len()]);
        }
        SegmentKind::Fixed(var) => {
            pieces.push(Piece { info: store.arrays.variable(var), first: at - segment.offset, out });
        }
        SegmentKind::Gap => {
            let (first, _) = inner.layout.gaps.position(at).expect("gap segments are residue");
            pieces.push(Piece { info: store.arrays.gap(), first, out });
        }
        SegmentKind::Records => {
            let records = inner
                .layout
                .records
                .as_ref()
                .expect("a record segment exists only where records are regular");
            strided.push((at, at + out.len() as u64));
            cut_long_slots(archive, records, at, out, pieces);
        }
    }
}

fn cut_long_slots<'w>(
    archive: &'w Archive,
    records: &Records,
    begin: u64,
    out: &'w mut [u8],
    pieces: &mut Vec<Piece<'w>>,
) {
    let arrays = &archive.inner.store.arrays;
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
        let key = TileKey::new(info.id, tile);
        jobs.push(if take == len {
            Job::Whole { key, out: here }
        } else {
            Job::Part { key, from, out: here }
        });
    }
    Ok(())
}

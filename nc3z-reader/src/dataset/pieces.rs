//! Variables that are read directly from the bytes of the classic file: variables of classic files, and aliased variables
//! of archives, whose bytes are stored with other variables. They are cut into linear pieces. Pieces need no decoding, so a
//! part of a piece can be read alone.

use crate::error::{Error, Result};
use crate::source::{ByteSource, Nearby};
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_format::classic::{VarId, VarLayout};
use nc3z_format::plan::TilePlan;
use nc3z_format::tile::{TileLayout, Tiling};
use std::ops::Range;

/// Bytes of a piece: long enough that planning costs little compared with reading, short enough for one
/// buffer per thread.
const PIECE_LEN: u64 = 256 << 10;
/// Largest number of bytes of a window that is fetched at once, and its largest number of runs.
const WINDOW_LEN: u64 = 64 << 20;
const WINDOW_RUNS: usize = 1 << 16;
/// Records at most this many bytes apart are read many at a time, with the bytes between them.
const JOINED_GAP: u64 = 4 << 10;

/// Access to the bytes of the classic file, with `read_into` and `read_at` as of a byte source.
pub(crate) trait FileBytes {
    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()>;
    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes>;

    /// Returns true if only the requested bytes are in memory. Elements between them are then not read.
    fn reads_apart(&self) -> bool {
        false
    }
}

/// The number of elements of a full piece: whole rows or planes where they fit.
fn piece_elements(v: &VarLayout) -> u64 {
    TileLayout::aligned_len(&v.shape, v.present, (PIECE_LEN / v.element_size()).max(1))
}

/// The pieces of a variable.
pub(super) fn tiling(var: VarId, v: &VarLayout) -> Result<Tiling> {
    let pieces = TileLayout::linear(piece_elements(v));
    match pieces.bind(&v.shape, v.present) {
        Ok(tiling) => Ok(tiling),
        // The shape is beyond all bounds: the present elements are a flat array, as in archives.
        Err(_) => pieces.bind(&[v.present], v.present).map_err(|e| {
            Error::from(FormatError::invalid(format!("variable {} of {} elements: {e}", var.0, v.present)))
        }),
    }
}

/// Fills `out` with a whole piece.
pub(super) fn fill(v: &VarLayout, piece: u64, out: &mut [u8], file: &dyn FileBytes) -> Result<()> {
    let first = piece.checked_mul(piece_elements(v));
    let first = first.ok_or_else(|| Error::from(FormatError::invalid(format!("no piece {piece}"))))?;
    read_elements(v, first, out, file)
}

/// The elements of a piece that a plan needs, as ranges. Ranges less than `JOINED_GAP` bytes apart are joined.
fn asked(v: &VarLayout, piece: &TilePlan<'_>) -> Vec<Range<u64>> {
    let gap = JOINED_GAP / v.element_size();
    let mut found: Vec<Range<u64>> = Vec::new();
    let mut add = |range: Range<u64>| match found.last_mut() {
        Some(last) if range.start <= last.end.saturating_add(gap) => last.end = last.end.max(range.end),
        _ => found.push(range),
    };
    for run in piece.runs() {
        if run.src_step <= gap {
            add(run.src..run.src + (run.len - 1) * run.src_step + 1);
        } else {
            (0..run.len).map(|n| run.src + n * run.src_step).for_each(|at| add(at..at + 1));
        }
    }
    found
}

/// The elements of a piece that a plan needs, and the elements between them.
pub(super) fn view(v: &VarLayout, piece: &TilePlan<'_>, file: &dyn FileBytes) -> Result<(u64, Bytes)> {
    let span = piece.span();
    let first = piece.tile * piece_elements(v) + span.start;
    let count = span.end - span.start;
    let len = usize::try_from(count * v.element_size()).expect("a piece fits in memory");
    let apart = if file.reads_apart() { asked(v, piece) } else { Vec::new() };
    if apart.len() < 2 {
        if let Some(run) = v.element_run(first).filter(|run| run.count >= count) {
            return Ok((span.start, file.read_at(run.offset, len)?));
        }
        let mut bytes = vec![0; len];
        read_elements(v, first, &mut bytes, file)?;
        return Ok((span.start, bytes.into()));
    }
    let mut bytes = vec![0; len];
    // Inside the piece, as `len` is.
    let byte = |element: u64| {
        usize::try_from((element - span.start) * v.element_size()).expect("a piece fits in memory")
    };
    for range in apart {
        let out = &mut bytes[byte(range.start)..byte(range.end)];
        read_elements(v, piece.tile * piece_elements(v) + range.start, out, file)?;
    }
    Ok((span.start, bytes.into()))
}

/// Fetches the bytes that the first of these pieces need, from a file whose requests cost a round trip. It
/// fetches as many pieces as make a window, and at least one if there is one.
///
/// # Errors
/// The error of the source.
pub(super) fn fetch(
    v: &VarLayout,
    pieces: &[TilePlan<'_>],
    source: &dyn ByteSource,
) -> Result<(usize, Nearby)> {
    let gap = source.reach().least_gap();
    let (mut wanted, mut bytes) = (Vec::new(), 0);
    for (taken, piece) in pieces.iter().enumerate() {
        bytes += add_runs(v, piece, gap, &mut wanted);
        if bytes >= WINDOW_LEN || wanted.len() >= WINDOW_RUNS {
            return Ok((taken + 1, Nearby::fetch(source, &wanted)?));
        }
    }
    Ok((pieces.len(), Nearby::fetch(source, &wanted)?))
}

/// Adds the runs of bytes that a plan needs of a piece. Returns their length, including gaps that are always
/// read. Bytes missing in the file are reported when they are read.
fn add_runs(v: &VarLayout, piece: &TilePlan<'_>, gap: u64, wanted: &mut Vec<Range<u64>>) -> u64 {
    let begin = piece.tile * piece_elements(v);
    let mut bytes: u64 = 0;
    for range in asked(v, piece) {
        let (mut first, end) = (begin + range.start, begin + range.end);
        while first < end
            && let Some(run) = v.element_run(first)
        {
            let n = run.count.min(end - first);
            let range = run.offset..run.offset + n * v.element_size();
            let from = wanted.last().filter(|last: &&Range<u64>| range.start.saturating_sub(last.end) <= gap);
            bytes = bytes.saturating_add(range.end.saturating_sub(from.map_or(range.start, |last| last.end)));
            wanted.push(range);
            first += n;
        }
    }
    bytes
}

/// Fills `out` with elements from `first` on, run by run. Short runs close to each other are read many at a
/// time.
pub(crate) fn read_elements(
    v: &VarLayout,
    mut first: u64,
    mut out: &mut [u8],
    file: &dyn FileBytes,
) -> Result<()> {
    let size = v.ty.size();
    while !out.is_empty() {
        let run = v.element_run(first).ok_or_else(|| {
            Error::from(FormatError::invalid(format!("element {first} is not in the file")))
        })?;
        let left = out.len() / size;
        let n = match usize::try_from(run.count) {
            Ok(n) if n < left && v.is_record && v.stride <= JOINED_GAP => {
                let slots = read_slots(v, first, out, file)?;
                if slots > 0 {
                    let done = slots * n;
                    first += done as u64;
                    out = &mut out[done * size..];
                    continue;
                }
                n
            }
            Ok(n) => n.min(left),
            Err(_) => left,
        };
        let (here, rest) = out.split_at_mut(n * size);
        file.read_into(run.offset, here)?;
        first += n as u64;
        out = rest;
    }
    Ok(())
}

/// Fills the beginning of `out` with whole slots from element `first` on, if a slot begins there. Returns the
/// number of elements.
fn read_slots(v: &VarLayout, first: u64, out: &mut [u8], file: &dyn FileBytes) -> Result<usize> {
    let (slot, stride) = (v.slot_len, v.stride);
    if !first.is_multiple_of(v.slot_elements()) {
        return Ok(0);
    }
    let here = (v.present - first).min(out.len() as u64 / v.element_size()) / v.slot_elements();
    let count = here.min(PIECE_LEN / stride);
    if count < 2 {
        return Ok(0);
    }
    // The elements are in the file, and have at most the length of a piece.
    let len = |n: u64| usize::try_from(n).expect("at most a piece");
    let offset = v.begin + first / v.slot_elements() * stride;
    let bytes = file.read_at(offset, len((count - 1) * stride + slot))?;
    copy_slots(&bytes, len(stride), len(slot), &mut out[..len(count * slot)]);
    Ok(len(count))
}

/// Gathers slots of `slot` bytes at a distance of `stride` bytes.
fn copy_slots(bytes: &[u8], stride: usize, slot: usize, out: &mut [u8]) {
    fn fixed<const N: usize>(bytes: &[u8], stride: usize, out: &mut [u8]) {
        for (to, from) in out.as_chunks_mut::<N>().0.iter_mut().zip(bytes.chunks(stride)) {
            to.copy_from_slice(&from[..N]);
        }
    }
    match slot {
        // Constant lengths compile to one move.
        1 => fixed::<1>(bytes, stride, out),
        2 => fixed::<2>(bytes, stride, out),
        4 => fixed::<4>(bytes, stride, out),
        8 => fixed::<8>(bytes, stride, out),
        _ => {
            for (to, from) in out.chunks_mut(slot).zip(bytes.chunks(stride)) {
                to.copy_from_slice(&from[..slot]);
            }
        }
    }
}

//! Chooses the pieces to sample: evenly spread, in proportion to an array's size. If there are many arrays,
//! only a few of each kind are sampled.

use crate::error::Result;
use crate::options::{PACK_LEN, WriterOptions};
use crate::plan::Partition;
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, Role, TileLayoutSpec};
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_format::classic::VarId;
use nc3z_reader::ClassicFile;
use std::collections::BTreeMap;

/// The number of sampled arrays. If there are more, arrays of the same type and size represent each other.
const ARRAYS: usize = 64;
/// The least number of pieces of an array, the number if its share of the budget allows it, and the planes of
/// each piece.
const LEAST_TILES: u64 = 3;
const PIECES: u64 = 16;
const PLANES: u64 = 4;
/// Bytes of records that are read for one piece of interleaved arrays.
const WINDOW_LEN: u64 = 32 << 20;
/// Slots of fewer bytes than this are extracted from whole records.
const SHORT_SLOT: u64 = 64 << 10;
/// Elements of a tile if the writer would make chunks.
const LINEAR_LEN: u64 = 1 << 18;
/// The least number of bytes of a piece.
const LEAST_PIECE_LEN: u64 = 256 << 10;
/// If there are many arrays, their smallest pieces together may exceed the requested bytes by this factor.
const MANY: u64 = 4;

/// A part of one array that is encoded like a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// First byte in the flattened array.
    pub(super) first: u64,
    pub(super) len: usize,
}

pub(super) struct Samples {
    arrays: Arrays,
    pub(super) partition: Partition,
    pieces: BTreeMap<ArrayId, Vec<Piece>>,
    /// Arrays that are not sampled, each with the arrays that represent it.
    alike: BTreeMap<ArrayId, Vec<ArrayId>>,
}

impl Samples {
    /// Spreads about `budget` bytes over all arrays.
    pub(super) fn new(classic: &ClassicFile, options: &WriterOptions, budget: u64) -> Result<Self> {
        let layout = classic.layout();
        let mut partition = Partition::new(classic.header(), layout, options)?;
        for spec in &mut partition.variables {
            if let TileLayoutSpec::Chunked { .. } = spec {
                *spec = TileLayoutSpec::Linear(LINEAR_LEN);
            }
        }
        let arrays = partition.arrays(classic)?;
        let (kept, alike) = representatives(&arrays);
        let total: u64 = arrays.iter().filter(|a| kept.contains(&a.id)).map(ArrayInfo::total_bytes).sum();
        let large =
            arrays.iter().filter(|a| kept.contains(&a.id) && a.total_bytes() > PACK_LEN).count() as u64;
        let least = MANY.saturating_mul(budget) / large.max(1);
        let mut pieces = BTreeMap::new();
        for info in arrays.iter().filter(|a| kept.contains(&a.id)) {
            pieces.insert(info.id, spread(classic, info, budget, total, least)?);
        }
        Ok(Samples { arrays, partition, pieces, alike })
    }

    /// All arrays that have bytes.
    pub(super) fn arrays(&self) -> impl Iterator<Item = &ArrayInfo> {
        self.arrays.iter().filter(|a| a.total_bytes() > 0)
    }

    pub(super) fn sampled(&self) -> impl Iterator<Item = &ArrayInfo> {
        self.arrays().filter(|a| self.pieces.contains_key(&a.id))
    }

    /// The pieces of an array.
    pub(super) fn of(&self, id: ArrayId) -> &[Piece] {
        self.pieces.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The arrays that represent this one; a sampled array represents itself.
    pub(super) fn witnesses(&self, id: ArrayId) -> Vec<ArrayId> {
        self.alike.get(&id).cloned().unwrap_or_else(|| vec![id])
    }

    pub(super) fn sampled_len(&self) -> u64 {
        self.pieces.values().flatten().map(|p| p.len as u64).sum()
    }

    /// True if every byte of every array is sampled.
    pub(super) fn is_whole(&self) -> bool {
        self.sampled_len() == self.arrays().map(ArrayInfo::total_bytes).sum::<u64>()
    }

    /// All arrays, for the writer's own code.
    pub(super) fn all(&self) -> &Arrays {
        &self.arrays
    }
}

/// Returns the arrays to sample, and for each other array those that represent it.
fn representatives(arrays: &Arrays) -> (Vec<ArrayId>, BTreeMap<ArrayId, Vec<ArrayId>>) {
    let mut kinds: BTreeMap<(NcType, u64, bool), Vec<ArrayId>> = BTreeMap::new();
    let large = |a: &&ArrayInfo| a.total_bytes() > PACK_LEN;
    let mut kept: Vec<ArrayId> =
        arrays.iter().filter(|a| a.total_bytes() > 0 && !large(a)).map(|a| a.id).collect();
    for info in arrays.iter().filter(large) {
        let variable = matches!(info.id.role(), Role::Variable(_));
        kinds.entry((info.ty, info.total_bytes(), variable)).or_default().push(info.id);
    }
    let count: usize = kinds.values().map(Vec::len).sum();
    let mut alike = BTreeMap::new();
    for ids in kinds.into_values() {
        // A share of ARRAYS in proportion, evenly spread, and at least three.
        let share =
            if count <= ARRAYS { ids.len() } else { (ids.len() * ARRAYS / count).max(3).min(ids.len()) };
        let chosen: Vec<ArrayId> = (0..share).map(|i| ids[(2 * i + 1) * ids.len() / (2 * share)]).collect();
        for id in ids {
            if !chosen.contains(&id) {
                alike.insert(id, chosen.clone());
            }
        }
        kept.extend(chosen);
    }
    kept.sort_unstable();
    (kept, alike)
}

/// Returns pieces in the middle of equal parts of the array, together about its share of the budget. If all
/// tiles are not much more, returns all tiles.
///
/// Many short pieces are more representative than a few long ones. But each must have several planes,
/// otherwise prediction from plane to plane would show no gain.
fn spread(
    classic: &ClassicFile,
    info: &ArrayInfo,
    budget: u64,
    total: u64,
    least: u64,
) -> Result<Vec<Piece>> {
    let bytes = info.total_bytes();
    let tile_len = info.linear_tile_len().unwrap_or(bytes).clamp(1, bytes);
    let share = u128::from(budget) * u128::from(bytes) / u128::from(total.max(1));
    let floor = least.min(LEAST_TILES.saturating_mul(tile_len));
    let share = u64::try_from(share).unwrap_or(u64::MAX).max(floor);
    if share >= bytes - bytes / 10 {
        let tiles = (0..info.tiling.tile_count()).map(|tile| {
            let (first, len) = info.tile_bytes(tile)?;
            Ok(Piece { first, len: short_enough(classic, info, len) })
        });
        return tiles.collect();
    }
    let size = info.ty.size() as u64;
    let geometry = info.tiling.geometry(0)?;
    let in_bytes = |n: Option<u64>| n.unwrap_or(1).saturating_mul(size);
    let (row, plane) = (in_bytes(geometry.row), in_bytes(geometry.plane));
    let smallest = LEAST_PIECE_LEN.max(plane.saturating_mul(PLANES)).min(tile_len);
    // Compression of text uses distant matches, so whole tiles of text are sampled.
    let wanted = if size == 1 { tile_len } else { (share / PIECES).clamp(smallest, tile_len) };
    let slice = [plane, row].into_iter().find(|n| *n <= wanted).unwrap_or(size).max(size);
    let len = usize::try_from(wanted / slice * slice).expect("at most a tile");
    let len = short_enough(classic, info, len).max(info.ty.size());
    let count = (share / len as u64).max(LEAST_TILES).min(bytes / len as u64).max(1);
    let piece = |i: u64| {
        let room = u128::from(bytes - len as u64);
        let middle = room * u128::from(2 * i + 1) / u128::from(2 * count);
        let first = u64::try_from(middle).expect("inside the array") / slice * slice;
        Piece { first, len }
    };
    Ok((0..count).map(piece).collect())
}

/// Limits a piece of interleaved elements to those in one window of records.
fn short_enough(classic: &ClassicFile, info: &ArrayInfo, len: usize) -> usize {
    let Some((slot, stride)) = interleaved(classic, info.id) else { return len };
    let records = (WINDOW_LEN / stride).max(1);
    let most = usize::try_from(records.saturating_mul(slot)).unwrap_or(usize::MAX);
    len.min(most) / info.ty.size() * info.ty.size()
}

/// Returns the bytes of a slot and of a record, if reading slot by slot would be slow.
fn interleaved(classic: &ClassicFile, id: ArrayId) -> Option<(u64, u64)> {
    let records = classic.layout().records.as_ref()?;
    let slot = |v: u32| classic.layout().variable(VarId(v)).filter(|v| v.is_record);
    let len = match id.role() {
        Role::Variable(v) => slot(v)?.slot_len,
        Role::Padding(v) => slot(v).map(|v| v.padded_len - v.slot_len)?,
        _ => return None,
    };
    (len > 0 && len < SHORT_SLOT && records.stride <= WINDOW_LEN).then_some((len, records.stride))
}

/// Reads the bytes of a piece.
pub(super) fn read(classic: &ClassicFile, info: &ArrayInfo, piece: &Piece) -> Result<Vec<u8>> {
    let mut out = vec![0; piece.len];
    let (Some((slot, stride)), Some(records)) =
        (interleaved(classic, info.id), classic.layout().records.as_ref())
    else {
        classic.read_array_bytes(info.id, piece.first, &mut out)?;
        return Ok(out);
    };
    // Whole records are read, and the slots are extracted.
    let (Role::Variable(v) | Role::Padding(v)) = info.id.role() else { return Ok(out) };
    let place = records.slots.iter().find(|s| s.variable == VarId(v)).expect("interleaved: it has a slot");
    let padding = matches!(info.id.role(), Role::Padding(_));
    let offset = place.offset_in_record + if padding { place.slot_len } else { 0 };
    let end = piece.first + piece.len as u64;
    let window = (WINDOW_LEN / stride).max(1);
    let narrow = |n: u64| usize::try_from(n).expect("inside a window of records");
    let mut record = piece.first / slot;
    let last = end.div_ceil(slot);
    while record < last {
        let count = window.min(last - record);
        let begin = records.begin + record * stride + offset;
        let bytes = ((count - 1) * stride + slot).min(records.end.saturating_sub(begin));
        let mut held = vec![0; narrow(bytes)];
        classic.source().read_into(begin, &mut held)?;
        for i in 0..count {
            let (from, to) = ((record + i) * slot, (record + i + 1) * slot);
            let (lo, hi) = (from.max(piece.first), to.min(end));
            let source = narrow(i * stride + lo - from)..narrow(i * stride + hi - from);
            let target = narrow(lo - piece.first)..narrow(hi - piece.first);
            out[target].copy_from_slice(&held[source]);
        }
        record += count;
    }
    Ok(out)
}

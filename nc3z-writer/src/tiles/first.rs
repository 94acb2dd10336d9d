//! Small arrays, which are stored before all others. If the end of an archive is lost, the coordinates are then
//! still there.

use super::RawTile;
use crate::error::Result;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_reader::ClassicFile;
use std::collections::BTreeSet;

/// Arrays of at most this many bytes are small.
pub(crate) const SMALL_LEN: u64 = 1 << 20;
/// Limit for the bytes of all arrays that are read ahead of the others.
const ALL_LEN: u64 = 16 << 20;
/// Limit for the number of reads: an interleaved array needs one for each record.
const READS: u64 = 1 << 17;

/// Returns the arrays of a source that are read ahead of the others, the smallest first. The limits are constants,
/// so that the order of blocks depends only on the source.
pub(crate) fn first_arrays(classic: &ClassicFile, arrays: &Arrays) -> BTreeSet<ArrayId> {
    let layout = classic.layout();
    let reads = |info: &ArrayInfo| match info.id.role() {
        Role::Variable(v) if layout.variables[v as usize].is_record => layout.numrecs,
        _ => 1,
    };
    let is_small = |info: &&ArrayInfo| {
        matches!(info.id.role(), Role::Variable(_))
            && info.linear_tile_len().is_some()
            && (1..=SMALL_LEN).contains(&info.total_bytes())
    };
    let mut small: Vec<&ArrayInfo> = arrays.iter().filter(is_small).collect();
    small.sort_by_key(|info| (info.total_bytes(), info.id));
    let (mut bytes_left, mut reads_left) = (ALL_LEN, READS);
    let fits = |info: &&ArrayInfo| {
        let left = (bytes_left.checked_sub(info.total_bytes()), reads_left.checked_sub(reads(info)));
        let (Some(bytes), Some(reads)) = left else { return false };
        (bytes_left, reads_left) = (bytes, reads);
        true
    };
    small.into_iter().filter(fits).map(|info| info.id).collect()
}

/// Calls `sink` with every tile of these arrays.
pub(crate) fn for_each_of(
    classic: &ClassicFile,
    arrays: &Arrays,
    which: &BTreeSet<ArrayId>,
    sink: &mut dyn FnMut(RawTile) -> Result<()>,
) -> Result<()> {
    for info in which.iter().filter_map(|&id| arrays.get(id)) {
        for tile in 0..info.tiling.tile_count() {
            let (first, len) = info.tile_bytes(tile)?;
            let mut bytes = vec![0; len];
            classic.read_array_bytes(info.id, first, &mut bytes)?;
            sink(RawTile { array: info.id, tile, bytes })?;
        }
    }
    Ok(())
}

//! Divides a selection into pieces that fit in memory, in the order of the output.

use crate::selection::Selection;
use nc3z_reader::Variable;

/// The length of a block in bytes, unless a single element is longer. The memory of a block is used again for the next one: for longer
/// blocks the system would take a third of the time of a read to clear pages.
const BLOCK_LEN: u64 = 8 << 20;
/// The length of a block where a layer of tiles is longer than [`BLOCK_LEN`], or each request to the source takes a round trip.
const LONG_BLOCK_LEN: u64 = 64 << 20;

/// Calls `sink` with the selection's big-endian bytes, block after block.
///
/// # Errors
/// The values cannot be read; an error of `sink`.
pub fn for_each<E: From<nc3z_reader::Error>>(
    variable: &Variable,
    selection: &Selection,
    sink: &mut dyn FnMut(Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let counts = selection.counts();
    let size = variable.ty().size() as u64;
    let len = selection.elements().saturating_mul(size);
    let dim = counts.iter().position(|n| *n > 1);
    let most = if variable.source().fetches_ahead() { LONG_BLOCK_LEN } else { BLOCK_LEN };
    let mut whole = || if len == 0 { Ok(()) } else { sink(crate::values::bytes(variable, selection)?) };
    let Some(dim) = dim.filter(|_| len > most) else { return whole() };
    let row = len / counts[dim];
    // Whole layers of tiles, so that few tiles are decoded twice.
    let layer = variable.tiling()?.rows_per_tile(dim).max(1);
    let layers = most / row / layer;
    let rows = if layers > 0 { layers * layer } else { (LONG_BLOCK_LEN / row).clamp(1, layer) };
    if rows >= counts[dim] {
        return whole();
    }
    let mut from = 0;
    while from < counts[dim] {
        let to = counts[dim].min(from + rows);
        for_each(variable, &selection.part(dim, from, to), sink)?;
        from = to;
    }
    Ok(())
}

//! Divides a selection into pieces that fit in memory, in the order of the output.

use crate::selection::Selection;
use nc3z_reader::Variable;

/// The length of a block in bytes, unless a single element is longer.
const BLOCK_LEN: u64 = 64 << 20;

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
    let Some(dim) = dim.filter(|_| len > BLOCK_LEN) else {
        return if len == 0 { Ok(()) } else { sink(crate::values::bytes(variable, selection)?) };
    };
    let row = len / counts[dim];
    let mut rows = (BLOCK_LEN / row).max(1);
    // Whole layers of tiles, so that few tiles are decoded twice.
    let layer = variable.tiling()?.rows_per_tile(dim);
    if rows > layer {
        rows -= rows % layer;
    }
    let mut from = 0;
    while from < counts[dim] {
        let to = counts[dim].min(from + rows);
        for_each(variable, &selection.part(dim, from, to), sink)?;
        from = to;
    }
    Ok(())
}

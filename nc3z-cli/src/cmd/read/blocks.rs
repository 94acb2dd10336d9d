//! A selection in pieces that fit in memory, in the order of the output.

use anyhow::Result;
use nc3z_format::Hyperslab;
use nc3z_look::selection::Selection;
use nc3z_reader::Variable;

/// Bytes of a block, unless a single element is longer.
const BLOCK_LEN: u64 = 64 << 20;

/// Calls `sink` with the selection's big-endian bytes, block after block.
pub(crate) fn for_each(
    variable: &Variable,
    selection: &Selection,
    sink: &mut dyn FnMut(Vec<u8>) -> Result<()>,
) -> Result<()> {
    let counts = selection.counts();
    let size = variable.ty().size() as u64;
    let len = selection.elements().saturating_mul(size);
    let dim = counts.iter().position(|n| *n > 1);
    let Some(dim) = dim.filter(|_| len > BLOCK_LEN) else {
        return if len == 0 { Ok(()) } else { sink(read(variable, selection)?) };
    };
    let row = len / counts[dim];
    let mut rows = (BLOCK_LEN / row).max(1);
    // Whole layers of tiles, so that few are decoded twice.
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

/// The big-endian bytes of a selection.
fn read(variable: &Variable, selection: &Selection) -> Result<Vec<u8>> {
    let slabs = selection.slabs();
    if let [(slab, _)] = &slabs[..] {
        return Ok(variable.read_bytes(slab)?);
    }
    let counts = selection.counts();
    let size = variable.ty().size() as u64;
    let in_memory = |n: u64| usize::try_from(n).expect("a block fits in memory");
    let mut out = vec![0; in_memory(counts.iter().product::<u64>() * size)];
    for (slab, place) in slabs {
        let bytes = variable.read_bytes(&slab)?;
        for (n, (from, row)) in rows(&slab).enumerate() {
            let at = flat(&counts, &place, &from) * size;
            let (at, row) = (in_memory(at), in_memory(row * size));
            out[at..at + row].copy_from_slice(&bytes[n * row..(n + 1) * row]);
        }
    }
    Ok(out)
}

/// The rows of a hyperslab along its last dimension: their positions, and the elements of each.
fn rows(slab: &Hyperslab) -> impl Iterator<Item = (Vec<u64>, u64)> {
    let row = slab.count.last().copied().unwrap_or(1);
    let outer = slab.count[..slab.count.len().saturating_sub(1)].to_vec();
    let total = if row == 0 { 0 } else { outer.iter().product::<u64>() };
    (0..total).map(move |n| {
        let mut at = vec![0; outer.len()];
        let mut rest = n;
        for (i, count) in at.iter_mut().zip(&outer).rev() {
            *i = rest % count;
            rest /= count;
        }
        (at, row)
    })
}

/// Flat position of a row that begins at `place` plus `at` in an array of `counts`.
fn flat(counts: &[u64], place: &[u64], at: &[u64]) -> u64 {
    let at = at.iter().chain(std::iter::repeat(&0));
    counts.iter().zip(place).zip(at).fold(0, |flat, ((n, place), i)| flat * n + place + i)
}

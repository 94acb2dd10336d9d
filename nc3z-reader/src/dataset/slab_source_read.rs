//! Requests to a source that reads hyperslabs itself: directly into the output, or converted piece by piece.

use super::read::unfit;
use super::source::ArraySource;
use crate::error::Result;
use crate::tile::{Destination, in_memory};
use nc3z_format::classic::VarId;
use nc3z_format::plan::Plan;
use nc3z_format::selection::Hyperslab;
use nc3z_format::tile::TileLayout;

/// Bytes that are read at once where they are converted.
const PIECE_LEN: u64 = 16 << 20;

/// Reads a hyperslab that was planned, into an output with as many elements.
pub(super) fn read(
    source: &dyn ArraySource,
    var: VarId,
    slab: &Hyperslab,
    dest: &mut dyn Destination,
) -> Result<()> {
    let len = dest.len();
    if len == 0 {
        return Ok(());
    }
    if let Some(room) = dest.room(0..len) {
        source.read_slab(var, slab, room)?;
        dest.settle(0..len);
        return Ok(());
    }
    let size = source.layout().variables[var.index()].element_size();
    let mut pieces = Vec::new();
    cut(slab.clone(), (PIECE_LEN / size).max(1), &mut pieces);
    let elements = |slab: &Hyperslab| slab.count.iter().product::<u64>();
    let lens: Vec<usize> = pieces.iter().map(|piece| in_memory(elements(piece))).collect();
    for (piece, mut dest) in pieces.iter().zip(dest.split(&lens)) {
        let count = elements(piece);
        let mut bytes = vec![0; in_memory(count * size)];
        source.read_slab(var, piece, &mut bytes)?;
        let whole = Plan::new(&[count], &TileLayout::linear(count), &Hyperslab::all(&[count]))?;
        for tile in whole.tiles() {
            if let Some(misfit) = dest.put(&tile, 0, &bytes)? {
                return Err(unfit(source, var, piece, &misfit));
            }
        }
    }
    Ok(())
}

/// Cuts a hyperslab into pieces of at most `most` elements, which follow one another in the output.
fn cut(slab: Hyperslab, most: u64, pieces: &mut Vec<Hyperslab>) {
    let elements: u64 = slab.count.iter().product();
    let outermost = slab.count.iter().position(|n| *n > 1);
    let Some(dim) = outermost.filter(|_| elements > most) else {
        pieces.push(slab);
        return;
    };
    let half = slab.count[dim] / 2;
    let (mut first, mut second) = (slab.clone(), slab);
    first.count[dim] = half;
    second.count[dim] -= half;
    // The plan has checked that the start is inside the dimension, so arithmetic modulo 2^64 is exact.
    let step = second.stride[dim].cast_unsigned().wrapping_mul(half);
    second.start[dim] = second.start[dim].wrapping_add(step);
    cut(first, most, pieces);
    cut(second, most, pieces);
}

//! Reads the values of a selection as numbers for display.

use crate::selection::Selection;
use nc3z_format::decode_value::Decoding;
use nc3z_format::{Error as FormatError, Hyperslab};
use nc3z_reader::{Result, Variable};

/// Returns the big-endian bytes of a selection, slowest dimension first. Elements outside of a region get the
/// variable's fill value.
///
/// # Errors
/// A read error, or the selection does not fit into memory.
pub fn bytes(variable: &Variable, selection: &Selection) -> Result<Vec<u8>> {
    let slabs = selection.slabs();
    let mut out = match &slabs[..] {
        [(slab, _)] => variable.read_bytes(slab)?,
        _ => joined(variable, selection, slabs)?,
    };
    if let Some(outside) = selection.outside() {
        let fill = variable.header().fill_value();
        let items = out.chunks_exact_mut(fill.len()).zip(outside);
        items.filter(|(_, outside)| *outside).for_each(|(item, _)| item.copy_from_slice(fill));
    }
    Ok(out)
}

/// Returns the numbers of a selection, unpacked, with NaN for those missing or outside of a region.
///
/// # Errors
/// A read error, or the selection does not fit into memory.
pub fn read(variable: &Variable, decoding: &Decoding, selection: &Selection) -> Result<Vec<f64>> {
    let mut numbers = decoding.numbers(&bytes(variable, selection)?);
    if let Some(outside) = selection.outside() {
        numbers.iter_mut().zip(outside).filter(|(_, outside)| *outside).for_each(|(x, _)| *x = f64::NAN);
    }
    Ok(numbers)
}

fn joined(variable: &Variable, selection: &Selection, slabs: Vec<(Hyperslab, Vec<u64>)>) -> Result<Vec<u8>> {
    let counts = selection.counts();
    let size = variable.ty().size() as u64;
    let in_memory = |n: u64| {
        usize::try_from(n)
            .map_err(|_| FormatError::limit("selection", None, "bytes in memory", isize::MAX as u64, n))
    };
    let mut out = vec![0; in_memory(selection.elements().saturating_mul(size))?];
    for (slab, place) in slabs {
        let bytes = variable.read_bytes(&slab)?;
        for (n, (from, row)) in rows(&slab).enumerate() {
            let at = flat(&counts, &place, &from) * size;
            let (at, row) = (in_memory(at)?, in_memory(row * size)?);
            out[at..at + row].copy_from_slice(&bytes[n * row..(n + 1) * row]);
        }
    }
    Ok(out)
}

/// Returns the rows of a hyperslab along its last dimension: their positions, and the number of elements of
/// each.
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

/// Returns the flat position of a row that begins at `place` plus `at` in an array of `counts`.
fn flat(counts: &[u64], place: &[u64], at: &[u64]) -> u64 {
    let at = at.iter().chain(std::iter::repeat(&0));
    counts.iter().zip(place).zip(at).fold(0, |flat, ((n, place), i)| flat * n + place + i)
}

//! Reads the values of a selection as numbers for display.

use crate::selection::Selection;
use nc3z_format::decode_value::Decoding;
use nc3z_reader::{Result, Variable};

/// Returns the big-endian bytes of a selection, slowest dimension first. Elements outside of a region get the
/// variable's fill value.
///
/// # Errors
/// A read error, or the selection does not fit into memory.
pub fn bytes(variable: &Variable, selection: &Selection) -> Result<Vec<u8>> {
    let mut out = variable.gather_bytes(&selection.into())?;
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

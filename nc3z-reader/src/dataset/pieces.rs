//! Variables read where they lie in the classic file: those of classic files, and those of archives whose bytes belong
//! to others. They are cut into linear pieces that are read, not decoded, so a part of one costs no more than itself.

use crate::error::{Error, Result};
use nc3z_format::Error as FormatError;
use nc3z_format::classic::{VarId, VarLayout};
use nc3z_format::tile::{TileLayout, Tiling};
use std::ops::Range;

/// Bytes of a piece: long enough that planning costs nothing beside reading, short enough for a buffer a thread.
const PIECE_LEN: u64 = 256 << 10;

/// The pieces of a variable.
pub(super) fn tiling(var: VarId, v: &VarLayout) -> Result<Tiling> {
    let pieces = TileLayout::linear((PIECE_LEN / v.element_size()).max(1));
    match pieces.bind(&v.shape, v.present) {
        Ok(tiling) => Ok(tiling),
        // Claimed beyond all bounds: what is present is a flat array, as in archives.
        Err(_) => pieces.bind(&[v.present], v.present).map_err(|e| {
            Error::from(FormatError::invalid(format!("variable {} of {} elements: {e}", var.0, v.present)))
        }),
    }
}

/// Elements of a full piece.
pub(super) fn piece_elements(v: &VarLayout) -> u64 {
    (PIECE_LEN / v.element_size()).max(1)
}

/// Fills `out` with elements from `first` on, run by run; `read` reads the file's bytes.
pub(super) fn read_elements(
    v: &VarLayout,
    mut first: u64,
    mut out: &mut [u8],
    read: &dyn Fn(u64, &mut [u8]) -> Result<()>,
) -> Result<()> {
    let size = v.ty.size();
    while !out.is_empty() {
        let run = v.element_run(first).ok_or_else(|| {
            Error::from(FormatError::invalid(format!("element {first} is not in the file")))
        })?;
        let left = out.len() / size;
        let n = usize::try_from(run.count).map_or(left, |n| n.min(left));
        let (here, rest) = out.split_at_mut(n * size);
        read(run.offset, here)?;
        first += n as u64;
        out = rest;
    }
    Ok(())
}

/// Room for some elements of a piece.
pub(super) fn buffer(v: &VarLayout, span: &Range<u64>) -> Result<Vec<u8>> {
    let len = (span.end - span.start) * v.element_size();
    let len = usize::try_from(len)
        .map_err(|_| Error::from(FormatError::limit("variable", None, "piece", PIECE_LEN, len)))?;
    Ok(vec![0; len])
}

//! Reads boxes at points.

use nc3z_format::Hyperslab;
use nc3z_reader::Variable;
use nc3z_reader::convert::Element;

/// Reads the points in the order of their positions in the array, so that no tile is decoded twice because
/// the cache is too small.
pub(crate) fn read_points<T: Element>(
    reader: &Variable,
    points: Vec<Vec<u64>>,
    count: &[u64],
    stride: &[i64],
    out: &mut [T],
) -> nc3z_reader::Result<()> {
    let mut numbered: Vec<(Vec<u64>, usize)> = points.into_iter().zip(0..).collect();
    if numbered.is_empty() || out.is_empty() {
        return Ok(());
    }
    let each = out.len() / numbered.len();
    numbered.sort_unstable();
    for (start, number) in numbered {
        let slab = Hyperslab::new(start, count, stride)?;
        let from = number * each;
        let end = (from + each).min(out.len());
        reader.read_into(&slab, &mut out[from..end])?;
    }
    Ok(())
}

//! How arrays are cut into tiles: sizes and alignment, from shapes alone (pure).

use crate::options::{RECORD_TILES_LEN, WriterOptions};
use nc3z_format::archive::TileLayoutSpec;
use nc3z_format::arrays::padded_variables;
use nc3z_format::classic::Layout;

/// The tile layouts of one archive, as the head copy stores them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Partition {
    /// One for each variable of the header, in id order.
    pub(crate) variables: Vec<TileLayoutSpec>,
    /// Bytes of a tile, for each padding pseudo-variable in variable id order.
    pub(crate) paddings: Vec<u64>,
    /// Bytes of a tile of the gap pseudo-variable.
    pub(crate) gap: u64,
}

impl Partition {
    /// Cuts all arrays of a classic file.
    pub(crate) fn new(layout: &Layout, options: &WriterOptions) -> Self {
        let padded: Vec<u64> = padded_variables(layout).into_iter().map(|(_, len)| len).collect();
        let record_arrays =
            layout.variables.iter().filter(|v| v.is_record && v.present > 0).count() + padded.len();
        // All open tiles of the interleaved arrays fit in RECORD_TILES_LEN together, however many there are.
        let record_cap = (RECORD_TILES_LEN / (record_arrays.max(1) as u64)).max(1);
        let variables = layout
            .variables
            .iter()
            .map(|v| {
                let size = v.ty.size() as u64;
                let mut bytes = options.tile_len_for(v.ty.size());
                if v.is_record {
                    bytes = bytes.min(record_cap);
                }
                TileLayoutSpec::Linear(aligned_len(&v.shape, v.present, (bytes / size).max(1)))
            })
            .collect();
        let pad = options.tile_len_for(1).min(record_cap);
        Partition {
            variables,
            paddings: padded.iter().map(|&present| present.clamp(1, pad)).collect(),
            gap: options.tile_len_for(1),
        }
    }
}

/// Elements of a linear tile: at most `target`, and a multiple of the largest trailing slice (plane, row) that fits, so that
/// tiles begin where rows and planes do. Never more than is present.
fn aligned_len(shape: &[u64], present: u64, target: u64) -> u64 {
    let mut slice = 1u64;
    for &dim in shape.iter().skip(1).rev() {
        match slice.checked_mul(dim) {
            Some(larger) if larger > 0 && larger <= target => slice = larger,
            _ => break,
        }
    }
    (target / slice * slice).min(present.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_whole_planes_where_planes_fit_and_rows_where_only_rows_do() {
        assert_eq!(aligned_len(&[120, 90, 180], 120 * 90 * 180, 262_144), 16 * 16_200);
        assert_eq!(aligned_len(&[10, 1000, 1000], 10_000_000, 262_144), 262_000);
        assert_eq!(aligned_len(&[3, 1_000_000], 3_000_000, 262_144), 262_144);
        assert_eq!(aligned_len(&[], 1, 262_144), 1);
        assert_eq!(aligned_len(&[5], 5, 262_144), 5);
        assert_eq!(aligned_len(&[5, 0], 0, 100), 1);
    }
}

//! Widens a hyperslab to borders of leaves, so that its proof contains no values.

use nc3z_format::NcType;
use nc3z_format::digest::{LEAF_LEN, branch_len};
use nc3z_format::selection::Hyperslab;

/// Returns the smallest hyperslab that contains the given one, is contiguous at each index of its outer
/// dimensions, and begins and ends at borders of leaves. The end of the array, or of a branch of it, counts as a
/// border. Strides become 1.
pub fn widen(ty: NcType, shape: &[u64], slab: &Hyperslab) -> Hyperslab {
    if slab.count.contains(&0) || shape.is_empty() {
        return slab.clone();
    }
    (0..shape.len())
        .rev()
        .find_map(|split| widened(ty, shape, slab, split))
        .unwrap_or_else(|| Hyperslab::all(shape))
}

/// Returns the hyperslab with all of the dimensions after `split`, and `split` itself widened. `None` if runs
/// then do not end at borders.
fn widened(ty: NcType, shape: &[u64], slab: &Hyperslab, split: usize) -> Option<Hyperslab> {
    let leaf = LEAF_LEN as u64;
    let unit = shape[split + 1..].iter().try_fold(ty.size() as u64, |n, len| n.checked_mul(*len))?;
    let row = unit.checked_mul(shape[split])?;
    let len = shape[..split].iter().try_fold(row, |n, len| n.checked_mul(*len))?;
    let branch = branch_len(ty, shape, len);
    // Rows of the dimensions before it begin at borders, or there is only one row in a branch.
    if row < branch && !row.is_multiple_of(leaf) {
        return None;
    }
    // The greatest common divisor of a power of two and `unit` is their lowest bit. Each branch begins at a border.
    let step = if unit >= branch { 1 } else { leaf / leaf.min(1 << unit.trailing_zeros().min(63)) };
    let mut wide = Hyperslab::all(shape);
    for d in 0..split {
        let (first, last) = ends(slab, d);
        (wide.start[d], wide.count[d]) = (first, last - first + 1);
    }
    let (first, last) = ends(slab, split);
    wide.start[split] = first / step * step;
    let end = (last / step + 1).saturating_mul(step).min(shape[split]);
    wide.count[split] = end - wide.start[split];
    Some(wide)
}

/// Returns the lowest and the highest index along a dimension.
fn ends(slab: &Hyperslab, d: usize) -> (u64, u64) {
    let span = slab.stride[d].unsigned_abs().saturating_mul(slab.count[d] - 1);
    let start = slab.start[d];
    if slab.stride[d] < 0 { (start.saturating_sub(span), start) } else { (start, start.saturating_add(span)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leaves::Leaves;

    #[test]
    fn a_widened_slab_has_the_slab_and_meets_whole_leaves_only() {
        for ty in [NcType::Byte, NcType::Short, NcType::Float, NcType::Double] {
            for shape in [
                &[10_000][..],
                &[50, 1024],
                &[7, 33, 129],
                &[3, 5, 512],
                &[1, 1, 9000],
                &[4, 4096, 2],
                &[5, 90, 101],
                &[2, 3, 33_001],
            ] {
                let elements: u64 = shape.iter().product();
                let leaves = Leaves::new(ty, shape, elements).unwrap();
                for n in 0..40_u64 {
                    let mut slab = Hyperslab::all(shape);
                    for (d, len) in shape.iter().enumerate() {
                        slab.start[d] = n * 7919 % len;
                        slab.count[d] = 1 + (n * 31 % (len - slab.start[d])) / 2;
                        slab.stride[d] = if slab.count[d] > 1 && n % 2 == 0 { 2 } else { 1 };
                    }
                    let wide = widen(ty, shape, &slab);
                    for d in 0..shape.len() {
                        let ((first, last), (from, to)) = (ends(&slab, d), ends(&wide, d));
                        assert!(from <= first && last <= to && to < shape[d], "{shape:?} {slab} {wide}");
                    }
                    let plan = leaves.plan(&wide).unwrap();
                    assert!(plan.tiles().all(|leaf| leaf.whole.is_some()), "{ty:?} {shape:?} {slab} {wide}");
                }
            }
        }
    }
}

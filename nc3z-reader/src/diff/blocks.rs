//! Cuts an array into hyperslabs of bounded size, in row-major order. Each is a run of the flattened array if
//! the lengths are the array's own.

use nc3z_format::Error as FormatError;
use nc3z_format::Hyperslab;

/// The boxes that cover `shape`, each of at most `most` elements. A box has a range along one dimension, all
/// indices of the later dimensions, and one index of the earlier ones.
pub(super) struct Blocks {
    shape: Vec<u64>,
    /// The dimension that is cut, and the number of its indices in a box.
    axis: usize,
    step: u64,
    /// The start of the next box. `None` at the end.
    next: Option<Vec<u64>>,
}

impl Blocks {
    pub(super) fn new(shape: &[u64], most: u64) -> Self {
        let mut inner = 1_u64;
        let mut axis = shape.len();
        while axis > 0 && inner.saturating_mul(shape[axis - 1]) <= most {
            axis -= 1;
            inner = inner.saturating_mul(shape[axis]);
        }
        // If the whole array fits, it is one box. Otherwise a part of the dimension before.
        let (axis, step) = match axis {
            0 => (0, shape.first().copied().unwrap_or(1).max(1)),
            _ => (axis - 1, (most / inner.max(1)).max(1)),
        };
        let next = (!shape.contains(&0)).then(|| vec![0; shape.len()]);
        Blocks { shape: shape.to_vec(), axis, step, next }
    }
}

impl Iterator for Blocks {
    type Item = Result<(Vec<u64>, Hyperslab), FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.next.take()?;
        let rank = self.shape.len();
        let mut count = vec![1; rank];
        if rank > 0 {
            count[self.axis] = self.step.min(self.shape[self.axis] - start[self.axis]);
            count[self.axis + 1..].copy_from_slice(&self.shape[self.axis + 1..]);
            let mut further = start.clone();
            further[self.axis] += count[self.axis];
            let mut at = self.axis;
            loop {
                if further[at] < self.shape[at] {
                    self.next = Some(further);
                    break;
                }
                if at == 0 {
                    break;
                }
                further[at] = 0;
                at -= 1;
                further[at] += 1;
            }
        }
        let stride = vec![1; rank];
        let slab = Hyperslab::new(start.clone(), count, stride);
        Some(slab.map(|slab| (start, slab)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(shape: &[u64], most: u64) -> Vec<(Vec<u64>, Vec<u64>)> {
        Blocks::new(shape, most).map(|b| b.unwrap()).map(|(start, slab)| (start, slab.count)).collect()
    }

    #[test]
    fn boxes_cover_each_element_once_and_are_small() {
        for shape in [vec![], vec![7], vec![3, 5], vec![2, 3, 4], vec![1, 100], vec![5, 1, 1]] {
            for most in [1, 2, 3, 7, 12, 1000] {
                let all = runs(&shape, most);
                let total: u64 = all.iter().map(|(_, count)| count.iter().product::<u64>()).sum();
                assert_eq!(total, shape.iter().product::<u64>(), "{shape:?} {most}");
                assert!(all.iter().all(|(_, count)| count.iter().product::<u64>() <= most));
                let mut starts: Vec<_> = all.iter().map(|(start, _)| start.clone()).collect();
                let sorted = starts.clone();
                starts.sort_unstable();
                assert_eq!(starts, sorted, "row-major");
            }
        }
        assert!(runs(&[3, 0], 5).is_empty());
        assert_eq!(runs(&[], 5).len(), 1);
    }
}

//! A run of the flattened array as boxes: what a reader of byte ranges asks of arrays that are cut into chunks.

use super::Hyperslab;

/// Returns the elements `[first, end)` of a flattened array (row-major, rank 1 or more, no length 0) as hyperslabs that follow
/// each other without a gap. There are at most twice as many hyperslabs as dimensions.
///
/// ```
/// use nc3z_format::selection::boxes;
/// // Rows of 4: the end of row 0, rows 1 and 2, the beginning of row 3.
/// let found: Vec<_> = boxes(&[5, 4], 3, 13).map(|slab| slab.to_string()).collect();
/// assert_eq!(found, ["[0 x1, 3 x1]", "[1 x2, 0 x4]", "[3 x1, 0 x1]"]);
/// ```
pub fn boxes(shape: &[u64], first: u64, end: u64) -> impl Iterator<Item = Hyperslab> {
    let widths = widths(shape);
    let shape = shape.to_vec();
    let mut at = first;
    std::iter::from_fn(move || {
        let (slab, len) = largest_box(&shape, &widths, at, end)?;
        at += len;
        Some(slab)
    })
}

/// Elements from one index of a dimension to the next, for each dimension.
pub fn widths(shape: &[u64]) -> Vec<u64> {
    let mut widths = vec![1; shape.len()];
    for d in (1..shape.len()).rev() {
        widths[d - 1] = widths[d] * shape[d];
    }
    widths
}

/// The largest box that begins at element `at`, is a run of the flattened array and ends by `end`; and its elements.
fn largest_box(shape: &[u64], widths: &[u64], at: u64, end: u64) -> Option<(Hyperslab, u64)> {
    let left = end.checked_sub(at).filter(|left| *left > 0)?;
    let d = widths.iter().position(|w| at.is_multiple_of(*w) && left >= *w)?;
    let start: Vec<u64> = shape.iter().zip(widths).map(|(n, w)| at / w % n).collect();
    let along = (left / widths[d]).min(shape[d] - start[d]);
    let counts = shape.iter().enumerate().map(|(i, n)| match i.cmp(&d) {
        std::cmp::Ordering::Less => 1,
        std::cmp::Ordering::Equal => along,
        std::cmp::Ordering::Greater => *n,
    });
    let slab = Hyperslab { count: counts.collect(), stride: vec![1; shape.len()], start };
    Some((slab, along * widths[d]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn boxes_are_the_run(
            shape in proptest::collection::vec(1u64..6, 1..6),
            (a, b) in any::<(u64, u64)>(),
        ) {
            let total: u64 = shape.iter().product();
            let (a, b) = (a % (total + 1), b % (total + 1));
            let (first, end) = (a.min(b), a.max(b));
            let widths = widths(&shape);
            let found: Vec<_> = boxes(&shape, first, end).collect();
            prop_assert!(found.len() <= 2 * shape.len());
            let mut at = first;
            for slab in &found {
                let begin: u64 = slab.start.iter().zip(&widths).map(|(s, w)| s * w).sum();
                prop_assert_eq!(begin, at);
                // A box is a run if all dimensions after the first one with more than one index are complete.
                let wide = slab.count.iter().position(|n| *n > 1).unwrap_or(shape.len());
                prop_assert!((wide + 1..shape.len()).all(|i| slab.count[i] == shape[i]));
                at += slab.resolve(&shape).unwrap().elements();
            }
            prop_assert_eq!(at, end);
        }
    }
}

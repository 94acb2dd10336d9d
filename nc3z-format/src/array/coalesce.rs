//! Few requests for many ranges.

use std::ops::Range;

/// Merges `wanted` into ranges that contain all of it, ascending and disjoint. Ranges at most `gap` bytes
/// apart become one of at most `most` bytes. Overlapping ranges are always merged. Empty ranges are omitted.
///
/// ```
/// use nc3z_format::array::coalesce;
/// assert_eq!(coalesce(&[50..60, 0..10, 14..20, 8..12], 4, 100), [0..20, 50..60]);
/// assert_eq!(coalesce(&[0..10, 10..20, 20..30], 4, 20), [0..20, 20..30]);
/// ```
pub fn coalesce(wanted: &[Range<u64>], gap: u64, most: u64) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = wanted.iter().filter(|r| r.start < r.end).cloned().collect();
    sorted.sort_unstable_by_key(|r| (r.start, r.end));
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
    for range in sorted {
        if let Some(last) = merged.last_mut() {
            let near = range.start - last.start <= most
                && range.start <= last.end.saturating_add(gap)
                && range.end - last.start <= most;
            if range.start < last.end || near {
                last.end = last.end.max(range.end);
                continue;
            }
        }
        merged.push(range);
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn inside(range: &Range<u64>, at: u64) -> bool {
        range.start <= at && at < range.end
    }

    proptest! {
        #[test]
        fn merged_ranges_hold_what_is_wanted_and_little_else(
            wanted in proptest::collection::vec((0u64..300, 0u64..40).prop_map(|(at, len)| at..at + len), 0..20),
            gap in 0u64..20,
            most in 1u64..120,
        ) {
            let merged = coalesce(&wanted, gap, most);
            // Ascending and disjoint.
            prop_assert!(merged.windows(2).all(|w| w[0].end <= w[1].start));
            // Each wanted range is inside exactly one merged range.
            for range in wanted.iter().filter(|r| !r.is_empty()) {
                let holders = merged.iter().filter(|m| m.start <= range.start && range.end <= m.end).count();
                prop_assert_eq!(holders, 1, "{:?}", range);
            }
            let is_wanted = |at: u64| wanted.iter().any(|r| inside(r, at));
            for m in &merged {
                // A merged range begins and ends with a requested one, and has no unrequested run longer than the gap.
                prop_assert!(is_wanted(m.start) && is_wanted(m.end - 1));
                let mut idle = 0;
                for at in m.clone() {
                    idle = if is_wanted(at) { 0 } else { idle + 1 };
                    prop_assert!(idle <= gap);
                }
                // Longer than a request only where ranges are, or overlap.
                let inner: Vec<_> = wanted.iter().filter(|r| !r.is_empty() && inside(m, r.start)).collect();
                let overlap = m.clone().any(|at| inner.iter().filter(|r| inside(r, at)).count() > 1);
                prop_assert!(m.end - m.start <= most || overlap || inner.len() == 1, "{:?}", m);
            }
            // Ranges stay separate only if the next one did not fit.
            for w in merged.windows(2) {
                let next = wanted.iter().filter(|r| !r.is_empty() && r.start == w[1].start).map(|r| r.end).min();
                let fits = next.is_some_and(|end| end - w[0].start <= most);
                prop_assert!(w[1].start - w[0].end > gap || !fits);
            }
        }
    }

    #[test]
    fn offsets_near_the_end_of_numbers() {
        let last = u64::MAX;
        assert_eq!(coalesce(&[last - 2..last, 0..1], last, last), vec![0..last; 1]);
        assert_eq!(coalesce(&[last - 2..last, 0..1], 5, last), [0..1, last - 2..last]);
    }
}

//! Merges the ranges to read from a source: ranges close to each other become one request, distant ranges
//! stay separate.

use super::Reach;
use nc3z_format::array::coalesce;
use std::ops::Range;

/// Largest number of unwanted bytes that are read, however many requests this saves: the length of a window.
const MOST_WASTE: u64 = 64 << 20;
/// Gaps of at most this many bytes are always read. This is a page of a file, and less than the headers of a
/// few requests.
const LEAST_GAP: u64 = 4 << 10;

impl Reach {
    /// The requests for the ranges `wanted`, ascending. Ranges close to each other are read as one, with the
    /// bytes between them.
    ///
    /// If all gaps up to [`Reach::gap`] together cost no more than one request, they are read. Otherwise only
    /// shorter gaps are read: requests that are under way at the same time share the time of one. The time
    /// that requests and bytes take decides.
    ///
    /// ```
    /// use nc3z_reader::source::Reach;
    /// // One value of each of 1,000 records of 1 MB: not the whole file.
    /// let times: Vec<_> = (0..1000_u64).map(|n| n * 1_000_000..n * 1_000_000 + 8).collect();
    /// assert_eq!(Reach::REMOTE.merge(&times).len(), 1000);
    /// assert_eq!(Reach::REMOTE.merge(&times[..2]), [0..1_000_008]);
    /// ```
    pub fn merge(&self, wanted: &[Range<u64>]) -> Vec<Range<u64>> {
        let merged = coalesce(wanted, self.gap, self.request_len);
        let len = |ranges: &[Range<u64>]| ranges.iter().map(|r| r.end - r.start).sum::<u64>();
        let needed = len(&coalesce(wanted, 0, self.request_len));
        if self.requests == 0 || len(&merged) - needed <= self.gap {
            return merged;
        }
        // The cost is in bytes, times the number of simultaneous requests. A round of requests costs as much as `gap` bytes.
        let at_once = self.planned();
        let cost = |ranges: &[Range<u64>]| {
            let rounds = (ranges.len() as u64).max(at_once);
            rounds.saturating_mul(self.gap).saturating_add(len(ranges).saturating_mul(at_once))
        };
        let too_much = |ranges: &[Range<u64>]| len(ranges) - needed > MOST_WASTE;
        let mut best = merged;
        let mut gap = self.gap;
        while gap > self.least_gap() || (gap > LEAST_GAP && too_much(&best)) {
            gap = (gap / 2).max(LEAST_GAP);
            let finer = coalesce(wanted, gap, self.request_len);
            if too_much(&best) || cost(&finer) < cost(&best) {
                best = finer;
            }
        }
        best
    }

    /// Gaps of at most this many bytes between two ranges are read, unless there are too many gaps.
    pub(crate) fn least_gap(&self) -> u64 {
        (self.gap / self.planned()).max(LEAST_GAP).min(self.gap)
    }

    /// The number of simultaneous requests that plans assume: half of the maximum, since only trials show how
    /// many a server accepts.
    fn planned(&self) -> u64 {
        (self.requests as u64 / 2).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn strided(count: u64, stride: u64, len: u64) -> Vec<Range<u64>> {
        (0..count).map(|n| n * stride..n * stride + len).collect()
    }

    fn read(ranges: &[Range<u64>]) -> u64 {
        ranges.iter().map(|r| r.end - r.start).sum()
    }

    #[test]
    fn gaps_are_read_where_requests_would_cost_more() {
        let merge = |count, stride, len| {
            let found = Reach::REMOTE.merge(&strided(count, stride, len));
            (found.len() as u64, read(&found))
        };
        // A few gaps cost less than a request. Many long gaps cost more, many short gaps less.
        assert_eq!(merge(8, 200_000, 100).0, 1);
        assert_eq!(merge(12, 260_000, 4), (12, 48));
        assert_eq!(merge(1000, 100_000, 8), (1000, 8000));
        assert_eq!(merge(100_000, 1_000, 8).0, 6);
        assert_eq!(merge(2000, 20_000, 8).0, 3);
        // Rows of half of a record: all simultaneous requests together cost as much as one.
        assert_eq!(merge(100, 2_000_000, 1_000_000), (100, 100_000_000));
        assert_eq!(merge(3, 3 << 20, 8).0, 3);
        assert_eq!(Reach::LOCAL.merge(&strided(3, 10, 10)), vec![Range { start: 0, end: 30 }]);
    }

    proptest! {
        #[test]
        fn every_range_lies_in_one_request_and_little_is_read_for_nothing(
            wanted in proptest::collection::vec((0_u64..1 << 30, 0_u64..1 << 18).prop_map(|(at, len)| at..at + len), 0..200),
            requests in 0_usize..200,
        ) {
            let reach = Reach::REMOTE.with_requests(requests);
            let merged = reach.merge(&wanted);
            prop_assert!(merged.windows(2).all(|w| w[0].end < w[1].start || w[0].end - w[0].start + (w[1].end - w[1].start) > reach.request_len));
            for range in wanted.iter().filter(|r| !r.is_empty()) {
                prop_assert!(merged.iter().any(|m| m.start <= range.start && range.end <= m.end));
            }
            let needed = read(&coalesce(&wanted, 0, reach.request_len));
            let least = read(&coalesce(&wanted, LEAST_GAP, reach.request_len));
            prop_assert!(read(&merged) <= (needed + MOST_WASTE).max(least));
        }
    }
}

//! Divides long ranges into parts, which are requested concurrently.

use bytes::{Bytes, BytesMut};
use nc3z_reader::source::Reach;
use std::ops::Range;

pub(crate) struct Cut {
    /// The parts of all ranges, in their order.
    pub(crate) parts: Vec<Range<u64>>,
    /// The number of parts of each range.
    counts: Vec<usize>,
}

impl Cut {
    /// Divides ranges into parts of at most [`Reach::request_len`]. If there are fewer parts than concurrent
    /// requests, the parts are shorter, but not so short that a request takes longer than the transfer of its
    /// bytes.
    pub(crate) fn new(ranges: &[Range<u64>], reach: &Reach, at_once: usize) -> Self {
        let total = ranges.iter().map(|r| r.end.saturating_sub(r.start)).fold(0, u64::saturating_add);
        let share = total.div_ceil(at_once.max(1) as u64);
        let step = share.max(reach.gap).min(reach.request_len).max(1);
        let mut cut = Cut { parts: Vec::new(), counts: Vec::with_capacity(ranges.len()) };
        for range in ranges {
            let before = cut.parts.len();
            let mut at = range.start;
            while at < range.end {
                let end = range.end.min(at.saturating_add(step));
                cut.parts.push(at..end);
                at = end;
            }
            cut.counts.push(cut.parts.len() - before);
        }
        cut
    }

    /// Joins the bytes of the parts to the bytes of each range.
    pub(crate) fn join(&self, parts: Vec<Bytes>) -> Vec<Bytes> {
        let mut parts = parts.into_iter();
        let mut one = |&count: &usize| {
            if count == 1 {
                return parts.next().unwrap_or_default();
            }
            let mut joined = BytesMut::new();
            parts.by_ref().take(count).for_each(|part| joined.extend_from_slice(&part));
            joined.freeze()
        };
        self.counts.iter().map(&mut one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_again() {
        let reach = Reach::REMOTE.with_gap(10).with_request_len(100);
        let bytes: Vec<u8> = (0..=255).cycle().take(2000).collect();
        for (ranges, at_once, parts) in [
            (vec![0..1000, 1500..1501], 4, 11),
            (vec![Range { start: 0, end: 1000 }], 100, 100),
            (vec![0..95, 5..5, 200..300], 4, 5),
            (vec![0..5, 5..10], 64, 2),
        ] {
            let cut = Cut::new(&ranges, &reach, at_once);
            assert_eq!(cut.parts.len(), parts, "{ranges:?}");
            let of = |range: &Range<u64>| {
                Bytes::copy_from_slice(
                    &bytes[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()],
                )
            };
            let joined = cut.join(cut.parts.iter().map(of).collect());
            assert_eq!(joined, ranges.iter().map(of).collect::<Vec<_>>());
        }
    }
}

//! Indices of one dimension: in the order of the output, and in ascending order.

/// `count` indices of one dimension: `start`, `start + stride`, …, in the order of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment {
    /// First index.
    pub start: u64,
    /// The number of indices.
    pub count: u64,
    /// Distance to the next; not 0.
    pub stride: i64,
}

impl Segment {
    /// Selects `count` neighbours, the first at `start`.
    pub const fn new(start: u64, count: u64) -> Self {
        Segment { start, count, stride: 1 }
    }

    /// Selects one index.
    pub const fn at(index: u64) -> Self {
        Segment::new(index, 1)
    }

    /// Returns the segments of a list of indices, in its order. Indices at equal distances become one segment.
    ///
    /// ```
    /// use nc3z_format::selection::Segment;
    /// let segments = Segment::of_list([3, 4, 5, 9, 7, 5, 5]);
    /// assert_eq!(segments, [Segment::new(3, 3), Segment { start: 9, count: 3, stride: -2 }, Segment::at(5)]);
    /// ```
    pub fn of_list(indices: impl IntoIterator<Item = u64>) -> Vec<Self> {
        let mut segments: Vec<Segment> = Vec::new();
        for index in indices {
            if let Some(last) = segments.last_mut() {
                let distance = index.wrapping_sub(last.index(last.count - 1)).cast_signed();
                if distance != 0 && (last.count == 1 || distance == last.stride) {
                    (last.stride, last.count) = (distance, last.count + 1);
                    continue;
                }
            }
            segments.push(Segment::at(index));
        }
        segments
    }

    /// Returns the segments of the true elements of a mask.
    pub fn of_mask(mask: &[bool]) -> Vec<Self> {
        Segment::of_list((0..).zip(mask).filter(|(_, selected)| **selected).map(|(index, _)| index))
    }

    /// Returns the `n`-th index, which is inside the dimension if the segment is.
    pub const fn index(&self, n: u64) -> u64 {
        self.start.wrapping_add(self.stride.cast_unsigned().wrapping_mul(n))
    }

    /// Returns the indices from the `from`-th to before the `to`-th.
    #[must_use]
    pub const fn part(&self, from: u64, to: u64) -> Self {
        Segment { start: self.index(from), count: to - from, stride: self.stride }
    }
}

/// A segment inside a dimension, in ascending order of index.
///
/// Invariant: if `count > 0`, `low + (count - 1) * step` is inside the dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Smallest index selected.
    pub low: u64,
    /// Indices selected.
    pub count: u64,
    /// Distance between neighbours, at least 1.
    pub step: u64,
    /// True if the output has them in descending order.
    pub reversed: bool,
}

impl Line {
    /// Returns the line of a segment. None if an index is outside of a dimension of length `len`, or the stride is 0.
    #[inline]
    pub(super) fn new(start: u64, count: u64, stride: i64, len: u64) -> Option<Self> {
        if stride == 0 {
            return None;
        }
        if count <= 1 {
            let inside = start < len || (count == 0 && start == len);
            return inside.then_some(Line { low: start, count, step: 1, reversed: false });
        }
        let step = stride.unsigned_abs();
        let reach = (count - 1).checked_mul(step)?;
        let reversed = stride < 0;
        let low = if reversed { start.checked_sub(reach)? } else { start };
        let high = if reversed { start } else { start.checked_add(reach)? };
        (high < len).then_some(Line { low, count, step, reversed })
    }
}

/// A line of at least one index, with the positions of its elements in the output.
///
/// Invariant: positions are less than the number of indices that the dimension's selection has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Smallest index.
    pub low: u64,
    /// The number of indices, at least 1.
    pub count: u64,
    /// Distance between neighbours, at least 1.
    pub step: u64,
    /// Position of the smallest index in the output.
    pub place: u64,
    /// True if positions descend as indices ascend.
    pub reversed: bool,
}

impl Run {
    /// Returns the run of neighbours from `low` on, at ascending positions from `place` on.
    pub const fn new(low: u64, count: u64, place: u64) -> Self {
        Run { low, count, step: 1, place, reversed: false }
    }

    /// Returns the `n`-th index in ascending order.
    pub const fn index(&self, n: u64) -> u64 {
        self.low + n * self.step
    }

    /// Returns the greatest index.
    pub const fn last(&self) -> u64 {
        self.index(self.count - 1)
    }

    /// Returns the position of the `n`-th index in ascending order.
    pub const fn place_of(&self, n: u64) -> u64 {
        if self.reversed { self.place - n } else { self.place + n }
    }

    /// Returns the position after the greatest one.
    pub fn places_end(&self) -> u64 {
        self.place.max(self.place_of(self.count - 1)) + 1
    }

    /// Returns the indices from the `from`-th to before the `to`-th, at least one.
    #[must_use]
    pub const fn part(&self, from: u64, to: u64) -> Self {
        Run { low: self.index(from), count: to - from, place: self.place_of(from), ..*self }
    }

    /// Returns true if neighbours have neighbouring positions in the same order.
    pub const fn is_contiguous(&self) -> bool {
        self.count == 1 || (self.step == 1 && !self.reversed)
    }
}

/// Returns the runs of segments inside a dimension of length `len`, in ascending order: each begins at or after the last index of
/// the one before. An index that occurs twice is in two runs, in the order of the output.
///
/// # Errors
/// The first segment that leaves the dimension or has the stride 0.
pub(super) fn runs(segments: &[Segment], len: u64) -> Result<Vec<Run>, Segment> {
    let mut found = Vec::with_capacity(segments.len());
    let mut place = 0;
    for segment in segments {
        let line = Line::new(segment.start, segment.count, segment.stride, len).ok_or(*segment)?;
        let Line { low, count, step, reversed } = line;
        if count > 0 {
            found.push(Run {
                low,
                count,
                step,
                place: if reversed { place + count - 1 } else { place },
                reversed,
            });
            place += count;
        }
    }
    if found.windows(2).all(|pair| pair[0].last() < pair[1].low) {
        return Ok(found);
    }
    let points = found.iter().flat_map(|run| (0..run.count).map(|n| (run.index(n), run.place_of(n))));
    let mut points: Vec<(u64, u64)> = points.collect();
    points.sort_unstable();
    Ok(joined(&points))
}

/// Returns points, each an index and its position, as few runs.
fn joined(points: &[(u64, u64)]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for &(index, place) in points {
        if let Some(run) = runs.last_mut() {
            let (distance, last) = (index - run.last(), run.place_of(run.count - 1));
            let (next, before) = (place == last + 1, place + 1 == last);
            if run.count == 1 && distance > 0 && (next || before) {
                (run.step, run.count, run.reversed) = (distance, 2, before);
                continue;
            }
            if distance == run.step && run.count > 1 && (if run.reversed { before } else { next }) {
                run.count += 1;
                continue;
            }
        }
        runs.push(Run::new(index, 1, place));
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lists_masks_and_runs_have_the_same_indices(list in proptest::collection::vec(0_u64..12, 0..14)) {
            let segments = Segment::of_list(list.iter().copied());
            let all: Vec<u64> = segments.iter().flat_map(|s| (0..s.count).map(|n| s.index(n))).collect();
            prop_assert_eq!(&all, &list);
            let runs = runs(&segments, 12).unwrap();
            prop_assert!(runs.windows(2).all(|pair| pair[0].last() <= pair[1].low));
            let mut points: Vec<(u64, u64)> =
                runs.iter().flat_map(|run| (0..run.count).map(|n| (run.index(n), run.place_of(n)))).collect();
            // As a stable sort has them.
            let mut expected: Vec<(u64, u64)> = list.iter().copied().zip(0..).collect();
            expected.sort_by_key(|(index, _)| *index);
            prop_assert_eq!(&points, &expected);
            points.iter_mut().for_each(|point| *point = (point.1, point.0));
            points.sort_unstable();
            prop_assert_eq!(points.iter().map(|point| point.1).collect::<Vec<_>>(), list.clone());
            let end = runs.iter().map(Run::places_end).max().unwrap_or(0);
            prop_assert_eq!(end, list.len() as u64);
            let mask: Vec<bool> = (0..12).map(|index| list.contains(&index)).collect();
            let selected = Segment::of_mask(&mask).iter().flat_map(|s| (0..s.count).map(|n| s.index(n))).collect::<Vec<_>>();
            prop_assert_eq!(selected, (0..12).filter(|index| list.contains(index)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_segment_outside_is_returned() {
        let outside = Segment { start: 3, count: 3, stride: -2 };
        assert_eq!(runs(&[Segment::at(1), outside], 5), Err(outside));
        assert_eq!(runs(&[Segment { start: 0, count: 0, stride: 0 }], 5).unwrap_err().stride, 0);
    }
}

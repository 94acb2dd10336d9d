//! Converts a range of one dimension to indices. Values and dates are looked up in the coordinate.

use super::Segment;
use super::arg::{Bound, DimArg, RangeArg};
use super::request::{Error, Result};
use super::search::{Place, Sorted};
use crate::coordinate::Coordinate;
use crate::text;
use nc3z_format::classic::DimId;
use nc3z_reader::Dataset;

/// The selection of a range.
pub(super) struct Found {
    /// One segment, or two if the range wraps around the dimension's end, as longitudes do.
    pub(super) segments: Vec<Segment>,
    pub(super) notes: Vec<String>,
}

/// Returns the indices that `arg` selects along a dimension of length `len`.
pub(super) fn select(dataset: &Dataset, dim: DimId, len: u64, arg: &DimArg) -> Result<Found> {
    let name = text::safe(&arg.name);
    let bounds = match arg.range {
        RangeArg::At(bound) => [Some(bound), None],
        RangeArg::Between(first, last) => [first, last],
    };
    let found = |place: Place| match place {
        Place::Range(first, last) => Ok((first, last)),
        Place::Nothing(why) => Err(Error::wrong(format!("dimension `{name}`: {why}"))),
    };
    let value = |bound| match bound {
        Some(Bound::Value(v)) => Some(v),
        _ => None,
    };
    let mut notes = Vec::new();
    let (first, last) = match (arg.range, bounds[0].or(bounds[1])) {
        (_, Some(Bound::Date(_))) => {
            let date = |bound: Option<Bound>| match bound {
                Some(Bound::Date(period)) => Some(period),
                _ => None,
            };
            let (first, last) = (date(bounds[0]), date(bounds[1]));
            let sorted = Sorted::of_time(dataset, dim)?;
            // A single date selects all of its day, month or hour.
            let (place, more) = match (arg.range, first) {
                (RangeArg::At(_), Some(date)) => (sorted.at_date(&date)?, Vec::new()),
                _ => sorted.between_dates(first.as_ref(), last.as_ref())?,
            };
            notes = more;
            found(place)?
        }
        (RangeArg::At(_), Some(Bound::Value(v))) => {
            let at = Sorted::new(dataset, dim)?.nearest(v)?;
            (at, at)
        }
        (_, Some(Bound::Value(_))) => {
            let sorted = Sorted::new(dataset, dim)?;
            let (mut low, mut high) = (value(bounds[0]), value(bounds[1]));
            // Backwards: the same range, read from its other end.
            if arg.step < 0
                && !sorted.is_longitude()
                && matches!((low, high), (Some(low), Some(high)) if low > high)
            {
                std::mem::swap(&mut low, &mut high);
            }
            let (place, more) = sorted.between(low, high)?;
            notes = more;
            found(place)?
        }
        (range, _) => {
            if len == 0 {
                return Err(Error::wrong(format!(
                    "dimension `{name}` has length 0: there is nothing to select"
                )));
            }
            let at = |bound, default| match bound {
                Some(Bound::Index(i)) => index(&name, len, i).map_err(|e| with_year(dataset, dim, i, e)),
                _ => Ok(default),
            };
            let first = at(bounds[0], 0)?;
            let last = if matches!(range, RangeArg::At(_)) { first } else { at(bounds[1], len - 1)? };
            if first > last && arg.step < 0 {
                return Ok(Found { segments: vec![down(first, last, arg.step)], notes });
            }
            if first > last && !Coordinate::own(dataset, dim).is_some_and(|c| c.is_longitude()) {
                notes.push(format!(
                    "dimension `{name}`: the indices {first} to {last} wrap around its end; a negative step counts down \
                     instead"
                ));
            }
            (first, last)
        }
    };
    Ok(Found { segments: walk(first, last, len, arg.step), notes })
}

/// Returns the indices from a greater one down to a smaller one.
fn down(first: u64, last: u64, step: i64) -> Segment {
    let count = (first - last) / step.unsigned_abs() + 1;
    Segment { start: first, count, stride: if count == 1 { 1 } else { step } }
}

/// Returns an index of the dimension. Negative ones count from its end.
fn index(name: &str, len: u64, i: i64) -> Result<u64> {
    let at = u64::try_from(i).ok().or_else(|| len.checked_sub(i.unsigned_abs()));
    at.filter(|at| *at < len)
        .ok_or_else(|| Error::wrong(format!("dimension `{name}` has length {len}, asked for index {i}")))
}

/// Adds how a year is written to the error for an index that may be meant as one.
fn with_year(dataset: &Dataset, dim: DimId, i: i64, error: Error) -> Error {
    let is_year = (1000..=9999).contains(&i) && Coordinate::time_of(dataset, dim).is_some();
    if is_year { Error::wrong(format!("{error}; the year is `{i}-01,{i}-12`")) } else { error }
}

/// Returns every `step`-th index from `first` to `last`, across the dimension's end if `last` is before
/// `first`. They are read backwards if `step` is negative.
pub(super) fn walk(first: u64, last: u64, len: u64, step: i64) -> Vec<Segment> {
    let stride = step.unsigned_abs();
    let forward = |first: u64, last: u64| Segment {
        start: first,
        count: (last - first) / stride + 1,
        stride: i64::try_from(stride).unwrap_or(i64::MAX),
    };
    let mut segments = Vec::new();
    if first <= last {
        segments.push(forward(first, last));
    } else {
        let head = forward(first, len - 1);
        // The step continues across the end.
        let next = u128::from(head.start) + u128::from(head.count) * u128::from(stride) - u128::from(len);
        segments.push(head);
        if let Some(next) = u64::try_from(next).ok().filter(|n| *n <= last) {
            segments.push(forward(next, last));
        }
    }
    if step < 0 {
        segments.reverse();
        for s in &mut segments {
            s.start += (s.count - 1) * stride;
            s.stride = -s.stride;
        }
    }
    for s in segments.iter_mut().filter(|s| s.count == 1) {
        s.stride = 1;
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices(first: u64, last: u64, len: u64, step: i64) -> Vec<u64> {
        let each = |s: Segment| {
            (0..s.count).map(move |i| s.start.wrapping_add_signed(s.stride * i64::try_from(i).unwrap()))
        };
        walk(first, last, len, step).into_iter().flat_map(each).collect()
    }

    #[test]
    fn ranges_wrap_and_keep_their_step() {
        assert_eq!(indices(2, 6, 10, 2), [2, 4, 6]);
        assert_eq!(indices(7, 2, 10, 1), [7, 8, 9, 0, 1, 2]);
        assert_eq!(indices(7, 2, 10, 2), [7, 9, 1]);
        assert_eq!(indices(7, 2, 10, 4), [7, 1]);
        assert_eq!(indices(7, 2, 10, 8), [7]);
        assert_eq!(indices(7, 2, 10, -2), [1, 9, 7]);
        assert_eq!(indices(2, 6, 10, -3), [5, 2]);
        assert_eq!(indices(5, 5, 10, i64::MIN), [5]);
    }

    #[test]
    fn negative_steps_count_down_from_the_first_index() {
        let all = |first, last, step| {
            let s = down(first, last, step);
            (0..s.count)
                .map(|i| s.start.wrapping_add_signed(s.stride * i64::try_from(i).unwrap()))
                .collect::<Vec<_>>()
        };
        assert_eq!(all(3, 0, -1), [3, 2, 1, 0]);
        assert_eq!(all(7, 2, -2), [7, 5, 3]);
        assert_eq!(all(7, 2, -9), [7]);
        assert_eq!(all(7, 2, i64::MIN), [7]);
    }

    #[test]
    fn negative_indices_count_from_the_end() {
        assert_eq!(index("x", 10, -1).unwrap(), 9);
        assert_eq!(index("x", 10, -10).unwrap(), 0);
        for bad in [-11, 10, i64::MIN, i64::MAX] {
            let error = index("x", 10, bad).unwrap_err().to_string();
            assert!(error.contains(&bad.to_string()) && error.contains("length 10"), "{error}");
        }
        assert!(index("x", 0, 0).is_err());
    }
}

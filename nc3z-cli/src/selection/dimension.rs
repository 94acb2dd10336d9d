//! What a range means for one dimension: indices, by way of the coordinate variable where values are given.

use super::arg::{Bound, DimArg, RangeArg};
use super::coordinate::{Coordinate, Place};
use crate::output::text;
use anyhow::{Result, anyhow, bail};
use nc3z_format::classic::DimId;
use nc3z_look::selection::Segment;
use nc3z_reader::Dataset;

/// The indices that `arg` selects along a dimension of length `len`: one segment, or two where the range wraps around
/// the dimension's end, as longitudes do.
pub(crate) fn select(dataset: &Dataset, dim: DimId, len: u64, arg: &DimArg) -> Result<Vec<Segment>> {
    let name = text::safe(&arg.name);
    let coordinate = || Coordinate::of(dataset, dim);
    let (first, last) = match arg.range {
        RangeArg::At(Bound::Index(i)) => {
            let i = index(&name, len, i)?;
            (i, i)
        }
        RangeArg::At(Bound::Value(v)) => {
            let i = coordinate()?.nearest(v)?;
            (i, i)
        }
        RangeArg::Between(first, last) => {
            let values = matches!(first.or(last), Some(Bound::Value(_)));
            if values {
                let value = |bound| match bound {
                    Some(Bound::Value(v)) => Some(v),
                    _ => None,
                };
                match coordinate()?.between(value(first), value(last))? {
                    Place::Range(first, last) => (first, last),
                    Place::Nothing(why) => bail!("dimension `{name}`: {why}"),
                }
            } else {
                if len == 0 {
                    bail!("dimension `{name}` has length 0: there is nothing to select");
                }
                let at = |bound, default| match bound {
                    Some(Bound::Index(i)) => index(&name, len, i),
                    _ => Ok(default),
                };
                (at(first, 0)?, at(last, len - 1)?)
            }
        }
    };
    Ok(walk(first, last, len, arg.step))
}

/// An index of the dimension; negative ones count from its end.
fn index(name: &str, len: u64, i: i64) -> Result<u64> {
    let at = u64::try_from(i).ok().or_else(|| len.checked_sub(i.unsigned_abs()));
    at.filter(|at| *at < len)
        .ok_or_else(|| anyhow!("dimension `{name}` has length {len}, asked for index {i}"))
}

/// Every `step`-th index from `first` to `last`, through the dimension's end where `last` comes before `first`; read
/// backwards if `step` is negative.
fn walk(first: u64, last: u64, len: u64, step: i64) -> Vec<Segment> {
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
        // The step goes on across the end.
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

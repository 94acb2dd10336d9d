//! Requests as programs write them: indices, Rust's ranges, lists and masks, one for each dimension.

use super::{Hyperslab, Segment, Selection};
use crate::error::{Error, Result};
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A range of one dimension. Negative numbers count from the end of the dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    start: i64,
    end: End,
    stride: i64,
}

/// The end of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The end of the dimension.
    Open,
    Before(i64),
    At(i64),
}

impl Span {
    /// Makes the span of a range.
    pub fn new(range: impl Into<Span>) -> Self {
        range.into()
    }

    /// Selects every `stride`-th index of the range: from its first on if positive, from its last backwards if negative.
    ///
    /// ```
    /// use nc3z_format::selection::{Select, Span};
    /// let selected = [Span::new(2..9).by(-3)].select(&[10])?; // 8, 5, 2
    /// assert_eq!(selected.selection.index(0, 2), 2);
    /// # Ok::<(), nc3z_format::Error>(())
    /// ```
    #[must_use]
    pub fn by(mut self, stride: i64) -> Self {
        self.stride = stride;
        self
    }

    /// Returns the segment in a dimension of length `len`.
    fn segment(&self, dim: usize, len: u64) -> Result<Segment> {
        let from_start = |i: i64| if i < 0 { i128::from(i) + i128::from(len) } else { i128::from(i) };
        let start = from_start(self.start);
        let end = match self.end {
            End::Open => i128::from(len),
            End::Before(end) => from_start(end),
            End::At(last) => from_start(last) + 1,
        };
        let inside = (0..=end).contains(&start) && end <= i128::from(len) && self.stride != 0;
        let ends = u64::try_from(start).ok().zip(u64::try_from(end).ok()).filter(|_| inside);
        let (start, end) = ends.ok_or_else(|| {
            let range = match self.end {
                End::Open => format!("{}..", self.start),
                End::Before(end) => format!("{}..{end}", self.start),
                End::At(last) => format!("{}..={last}", self.start),
            };
            Error::invalid(format!("dimension {dim} has length {len}, asked for {range} by {}", self.stride))
        })?;
        let count = (end - start).div_ceil(self.stride.unsigned_abs());
        let start = if self.stride < 0 && count > 0 { end - 1 } else { start };
        Ok(Segment { start, count, stride: self.stride })
    }
}

/// The indices of one dimension: one, a range, a list in any order, a mask of the dimension's length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Index {
    /// One index; negative from the end. An array of the values does not have this dimension.
    At(i64),
    /// A range of indices.
    Range(Span),
    /// These indices, in this order.
    List(Vec<u64>),
    /// The indices where the mask is true.
    Mask(Vec<bool>),
}

impl Index {
    fn segments(&self, dim: usize, len: u64) -> Result<Vec<Segment>> {
        match self {
            Index::At(at) => {
                let index = u64::try_from(*at).ok().or_else(|| len.checked_sub(at.unsigned_abs()));
                let index = index.filter(|index| *index < len);
                let wrong =
                    || Error::invalid(format!("dimension {dim} has length {len}, asked for index {at}"));
                Ok(vec![Segment::at(index.ok_or_else(wrong)?)])
            }
            Index::Range(span) => Ok(vec![span.segment(dim, len)?]),
            Index::List(list) => Ok(Segment::of_list(list.iter().copied())),
            Index::Mask(mask) if mask.len() as u64 == len => Ok(Segment::of_mask(mask)),
            Index::Mask(mask) => {
                let given = mask.len();
                Err(Error::invalid(format!("dimension {dim} has length {len}, the mask has {given}")))
            }
        }
    }
}

macro_rules! numbers {
    ($($number:ident)+) => {$(
        impl From<$number> for Index {
            fn from(index: $number) -> Self {
                Index::At(signed(index))
            }
        }
        numbers! { $number: Range range (signed(range.start), End::Before(signed(range.end))) }
        numbers! { $number: RangeFrom range (signed(range.start), End::Open) }
        numbers! { $number: RangeTo range (0, End::Before(signed(range.end))) }
        numbers! { $number: RangeInclusive range (signed(*range.start()), End::At(signed(*range.end()))) }
        numbers! { $number: RangeToInclusive range (0, End::At(signed(range.end))) }
    )+};
    ($number:ident: $range:ident $value:ident $ends:expr) => {
        impl From<$range<$number>> for Span {
            fn from($value: $range<$number>) -> Self {
                let (start, end) = $ends;
                Span { start, end, stride: 1 }
            }
        }
        impl From<$range<$number>> for Index {
            fn from(range: $range<$number>) -> Self {
                Index::Range(range.into())
            }
        }
    };
}
numbers! { u64 usize u32 i32 i64 }

/// Converts an index. An index beyond `i64` becomes `i64::MAX`, which is beyond any dimension, too.
fn signed(n: impl TryInto<i64>) -> i64 {
    n.try_into().unwrap_or(i64::MAX)
}

impl From<RangeFull> for Span {
    fn from(_: RangeFull) -> Self {
        Span { start: 0, end: End::Open, stride: 1 }
    }
}

impl From<RangeFull> for Index {
    fn from(range: RangeFull) -> Self {
        Index::Range(range.into())
    }
}

impl From<Span> for Index {
    fn from(span: Span) -> Self {
        Index::Range(span)
    }
}

impl From<Vec<u64>> for Index {
    fn from(list: Vec<u64>) -> Self {
        Index::List(list)
    }
}

impl From<Vec<bool>> for Index {
    fn from(mask: Vec<bool>) -> Self {
        Index::Mask(mask)
    }
}

/// A request that was resolved for an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// The selection, with all dimensions of the array.
    pub selection: Selection,
    /// For each dimension, true if a single index was given: an array of the values does not have it.
    pub dropped: Vec<bool>,
}

impl Selected {
    fn whole(selection: Selection) -> Self {
        Selected { dropped: vec![false; selection.rank()], selection }
    }

    /// Returns the shape of an array of the values: the numbers of indices, without the dimensions of single ones.
    pub fn shape(&self) -> Vec<u64> {
        let counts = self.selection.counts().into_iter().zip(&self.dropped);
        counts.filter(|(_, dropped)| !**dropped).map(|(count, _)| count).collect()
    }
}

/// Requests for elements of an array:
///
/// * `..`: all elements;
/// * a tuple, an array or a slice with an item for each dimension: an index, one of Rust's ranges, a [`Span`] with a stride, a list
///   (`vec![4, 0, 7_u64]`), a mask of the dimension's length (`Vec<bool>`);
/// * a [`Hyperslab`] or a [`Selection`].
///
/// Negative numbers count from the end of their dimension.
///
/// ```
/// use nc3z_format::selection::{Hyperslab, Select, Span};
/// let selected = (3, Span::new(..).by(-1), 10..=20, vec![7, 0, 7_u64]).select(&[12, 90, 180, 8])?;
/// assert_eq!(selected.selection.counts(), [1, 90, 11, 3]);
/// assert_eq!(selected.shape(), [90, 11, 3]);
/// let slab = Hyperslab::new([10, 0], [2, 90], [1, 1])?;
/// assert_eq!((-2.., ..).select(&[12, 90])?.selection, (&slab).into());
/// assert!((3, ..).select(&[3, 90]).is_err() && (3,).select(&[12, 90]).is_err());
/// # Ok::<(), nc3z_format::Error>(())
/// ```
pub trait Select {
    /// Resolves the request for an array of `shape`.
    ///
    /// # Errors
    /// Invalid: another number of items than dimensions, an index outside the array, a range that ends before it starts, a stride
    /// of 0, a mask of another length.
    fn select(self, shape: &[u64]) -> Result<Selected>;
}

impl Select for RangeFull {
    fn select(self, shape: &[u64]) -> Result<Selected> {
        Ok(Selected::whole(Selection::all(shape)))
    }
}

impl Select for &Selection {
    fn select(self, shape: &[u64]) -> Result<Selected> {
        self.runs(shape)?;
        Ok(Selected::whole(self.clone()))
    }
}

impl Select for &Hyperslab {
    fn select(self, shape: &[u64]) -> Result<Selected> {
        self.resolve(shape)?;
        Ok(Selected::whole(self.into()))
    }
}

impl Select for &[Index] {
    fn select(self, shape: &[u64]) -> Result<Selected> {
        if self.len() != shape.len() {
            let (given, rank) = (self.len(), shape.len());
            return Err(Error::invalid(format!("{given} indices for {rank} dimensions")));
        }
        let each = self.iter().zip(shape).enumerate();
        let dims = each.map(|(dim, (index, len))| index.segments(dim, *len)).collect::<Result<_>>()?;
        let selection = Selection::new(dims);
        selection.runs(shape)?;
        Ok(Selected { selection, dropped: self.iter().map(|index| matches!(index, Index::At(_))).collect() })
    }
}

impl<T: Into<Index>, const N: usize> Select for [T; N] {
    fn select(self, shape: &[u64]) -> Result<Selected> {
        let indices: [Index; N] = self.map(Into::into);
        indices.as_slice().select(shape)
    }
}

impl<T: Into<Index>> Select for Vec<T> {
    fn select(self, shape: &[u64]) -> Result<Selected> {
        let indices: Vec<Index> = self.into_iter().map(Into::into).collect();
        indices.as_slice().select(shape)
    }
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: Into<Index>),+> Select for ($($name,)+) {
            #[expect(non_snake_case, reason = "a variable for each parameter")]
            fn select(self, shape: &[u64]) -> Result<Selected> {
                let ($($name,)+) = self;
                let indices: &[Index] = &[$($name.into()),+];
                indices.select(shape)
            }
        }
    };
}
tuples! { A }
tuples! { A B }
tuples! { A B C }
tuples! { A B C D }
tuples! { A B C D E }
tuples! { A B C D E F }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_become_segments() {
        let one = |index: Index| {
            let found = [index].select(&[10]).ok()?.selection;
            Some((found.segments(0)[0].start, found.segments(0)[0].count))
        };
        assert_eq!(one((..).into()), Some((0, 10)));
        assert_eq!(one((4..).into()), Some((4, 6)));
        assert_eq!(one((..4_u64).into()), Some((0, 4)));
        assert_eq!(one(Span::new(..=4).by(2).into()), Some((0, 3)));
        assert_eq!(one(Span::new(1..9).by(-4).into()), Some((8, 2)));
        assert_eq!(one((10..).into()), Some((10, 0)));
        assert_eq!(one(Span::new(10..10).by(-1).into()), Some((10, 0)));
        assert_eq!(
            (one((-3..).into()), one((..=-1).into()), one((-1).into())),
            (Some((7, 3)), Some((0, 10)), Some((9, 1)))
        );
        for wrong in [
            (11..).into(),
            (..11).into(),
            10.into(),
            (-11).into(),
            (-11..).into(),
            Span::new(..).by(0).into(),
        ] {
            assert_eq!(one(wrong), None);
        }
        assert_eq!(
            (one((0..=u64::MAX).into()), one(u64::MAX.into()), one(vec![true; 9].into())),
            (None, None, None)
        );
        #[expect(clippy::reversed_empty_ranges, reason = "what is tested")]
        let backwards = Index::from(5..4);
        assert_eq!(one(backwards), None);
    }

    #[test]
    fn errors_name_the_dimension() {
        let error = |selected: Result<Selected>| selected.unwrap_err().to_string();
        assert_eq!(error((.., 8).select(&[2, 8])), "dimension 1 has length 8, asked for index 8");
        assert_eq!(error((.., ..=8).select(&[2, 8])), "dimension 1 has length 8, asked for 0..=8 by 1");
        assert_eq!(error((..,).select(&[2, 8])), "1 indices for 2 dimensions");
        assert_eq!(
            error((0, vec![1, 8_u64]).select(&[2, 8])),
            "dimension 1 has length 8, asked for start 1, count 2, stride 7"
        );
    }
}

//! Hyperslabs, and the ranges that they are made of.

use crate::error::Result;
use std::fmt;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A regular subset of an array. In each dimension it has `count` indices, from `start`, `stride` apart.
///
/// A negative stride reads backwards from `start`.
///
/// ```
/// let slab = nc3z::Hyperslab::new([1, 9], [2, 5], [1, -2])?; // rows 1 and 2; columns 9, 7, 5, 3, 1
/// assert_eq!(slab.to_string(), "[1 x2, 9 x5 by -2]");
/// # Ok::<(), nc3z::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hyperslab(pub(crate) nc3z_format::Hyperslab);

impl Hyperslab {
    /// Makes a hyperslab from its three lists. Each has one entry for each dimension.
    ///
    /// # Errors
    /// The lists have different lengths.
    pub fn new(
        start: impl Into<Vec<u64>>,
        count: impl Into<Vec<u64>>,
        stride: impl Into<Vec<i64>>,
    ) -> Result<Self> {
        Ok(Hyperslab(nc3z_format::Hyperslab::new(start, count, stride)?))
    }

    /// Selects all elements of an array of this shape.
    pub fn all(shape: &[u64]) -> Self {
        Hyperslab(nc3z_format::Hyperslab::all(shape))
    }

    /// Selects one range in each dimension of an array of this shape.
    ///
    /// ```
    /// use nc3z::{Hyperslab, Span};
    /// let slab = Hyperslab::of_spans(&[12, 90, 180], [Span::new(3), Span::new(..).by(-1), Span::new(10..=20).by(5)])?;
    /// assert_eq!(slab, Hyperslab::new([3, 89, 10], [1, 90, 3], [1, -1, 5])?);
    /// # Ok::<(), nc3z::Error>(())
    /// ```
    ///
    /// # Errors
    /// The numbers of ranges and dimensions differ. A range is outside its dimension. A stride is 0.
    pub fn of_spans(shape: &[u64], spans: impl AsRef<[Span]>) -> Result<Self> {
        let spans: Vec<_> = spans.as_ref().iter().map(|span| span.0).collect();
        Ok(Hyperslab(nc3z_format::Hyperslab::of_spans(shape, &spans)?))
    }

    /// Returns the first index in each dimension.
    pub fn start(&self) -> &[u64] {
        &self.0.start
    }

    /// Returns the number of indices in each dimension.
    pub fn count(&self) -> &[u64] {
        &self.0.count
    }

    /// Returns the distance from one index to the next in each dimension.
    pub fn stride(&self) -> &[i64] {
        &self.0.stride
    }

    /// Returns the index in the array of the element at `position` of the hyperslab, in row-major order.
    pub(crate) fn index_of(&self, position: usize) -> Vec<u64> {
        let mut rest = position as u64;
        let mut index = vec![0; self.0.rank()];
        for (dim, index) in index.iter_mut().enumerate().rev() {
            let count = self.0.count[dim].max(1);
            let step = (rest % count).wrapping_mul(self.0.stride[dim].cast_unsigned());
            *index = self.0.start[dim].wrapping_add(step);
            rest /= count;
        }
        index
    }
}

impl fmt::Display for Hyperslab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A range of one dimension: one of Rust's ranges, or a single index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(nc3z_format::selection::Span);

impl Span {
    /// Makes the span of a range or of one index.
    pub fn new(range: impl Into<Span>) -> Self {
        range.into()
    }

    /// Selects every `stride`-th index: forwards from the first index of the range, or, with a negative stride, backwards
    /// from its last index.
    #[must_use]
    pub fn by(self, stride: i64) -> Self {
        Span(self.0.by(stride))
    }
}

macro_rules! spans {
    ($($range:ty)+) => {$(
        impl From<$range> for Span {
            fn from(range: $range) -> Self {
                Span(range.into())
            }
        }
    )+};
}
spans! { u64 RangeFull Range<u64> RangeInclusive<u64> RangeFrom<u64> RangeTo<u64> RangeToInclusive<u64> }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_of_a_position_follows_the_strides() {
        let slab = Hyperslab::new([1, 9], [2, 5], [3, -2]).unwrap();
        assert_eq!(slab.index_of(0), [1, 9]);
        assert_eq!(slab.index_of(4), [1, 1]);
        assert_eq!(slab.index_of(6), [4, 7]);
    }
}

//! One dimension of a request as a program writes it: an index, one of Rust's ranges, a list, a mask.

use crate::error::{Error, Result};
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A range of one dimension, from Rust's own ranges or a single index; see [`Hyperslab::of_spans`](super::Hyperslab::of_spans).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    start: u64,
    /// First index no longer in the range, if it does not run to the end of the dimension. In `u128` because
    /// `..=u64::MAX` has one too.
    end: Option<u128>,
    pub(super) stride: i64,
}

impl Span {
    /// The span of a range, or of one index.
    pub fn new(range: impl Into<Span>) -> Self {
        range.into()
    }

    /// Every `stride`-th index of the range: from its first on if positive, from its last backwards if negative.
    ///
    /// ```
    /// use nc3z_format::selection::{Hyperslab, Span};
    /// let slab = Hyperslab::of_spans(&[10], &[Span::new(2..9).by(-3)])?; // 8, 5, 2
    /// assert_eq!(slab, Hyperslab::new([8], [3], [-3])?);
    /// # Ok::<(), nc3z_format::Error>(())
    /// ```
    #[must_use]
    pub fn by(mut self, stride: i64) -> Self {
        self.stride = stride;
        self
    }

    /// Start and count in a dimension of length `len`.
    pub(super) fn within(&self, dim: usize, len: u64) -> Result<(u64, u64)> {
        let end = u64::try_from(self.end.unwrap_or(u128::from(len))).ok();
        let end =
            end.filter(|end| self.start <= *end && *end <= len && self.stride != 0).ok_or_else(|| {
                let end = self.end.map(|e| e.to_string()).unwrap_or_default();
                Error::invalid(format!(
                    "dimension {dim} has length {len}, asked for {}..{end} by {}",
                    self.start, self.stride
                ))
            })?;
        let count = (end - self.start).div_ceil(self.stride.unsigned_abs());
        let start = if self.stride < 0 && count > 0 { end - 1 } else { self.start };
        Ok((start, count))
    }

    fn between(start: u64, end: Option<u128>) -> Self {
        Span { start, end, stride: 1 }
    }
}

impl From<u64> for Span {
    fn from(index: u64) -> Self {
        Span::between(index, Some(u128::from(index) + 1))
    }
}

impl From<RangeFull> for Span {
    fn from(_: RangeFull) -> Self {
        Span::between(0, None)
    }
}

impl From<Range<u64>> for Span {
    fn from(r: Range<u64>) -> Self {
        Span::between(r.start, Some(u128::from(r.end)))
    }
}

impl From<RangeFrom<u64>> for Span {
    fn from(r: RangeFrom<u64>) -> Self {
        Span::between(r.start, None)
    }
}

impl From<RangeTo<u64>> for Span {
    fn from(r: RangeTo<u64>) -> Self {
        Span::between(0, Some(u128::from(r.end)))
    }
}

impl From<RangeInclusive<u64>> for Span {
    fn from(r: RangeInclusive<u64>) -> Self {
        Span::between(*r.start(), Some(u128::from(*r.end()) + 1))
    }
}

impl From<RangeToInclusive<u64>> for Span {
    fn from(r: RangeToInclusive<u64>) -> Self {
        Span::between(0, Some(u128::from(r.end) + 1))
    }
}

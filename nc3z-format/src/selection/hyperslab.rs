//! One segment along each dimension.
//!
//! [`Hyperslab`] is the request. [`ResolvedSlab`] is the request after [`Hyperslab::resolve`] has checked that
//! it is inside an array.

use super::segment::{Line, Segment};
use crate::error::{Error, Result};
use std::fmt;

/// A regular subset of an array: along each dimension `count` indices, the first at `start`, each `stride`
/// after the one before.
///
/// A negative stride reads backwards from `start`; a count of 0 selects nothing; rank 0 selects the one element.
///
/// ```
/// use nc3z_format::selection::Hyperslab;
/// let slab = Hyperslab::new([1, 9], [2, 5], [1, -2])?; // rows 1 and 2; columns 9, 7, 5, 3, 1
/// assert_eq!(slab.to_string(), "[1 x2, 9 x5 by -2]");
/// assert_eq!(slab.resolve(&[3, 10])?.elements(), 10);
/// assert!(slab.resolve(&[3, 9]).is_err());
/// # Ok::<(), nc3z_format::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hyperslab {
    /// First index read, along each dimension.
    pub start: Vec<u64>,
    /// Indices read along each dimension.
    pub count: Vec<u64>,
    /// Distance from one index to the next; not 0.
    pub stride: Vec<i64>,
}

impl Hyperslab {
    /// A hyperslab from its three lists.
    ///
    /// # Errors
    /// Invalid: lists of different lengths.
    pub fn new(
        start: impl Into<Vec<u64>>,
        count: impl Into<Vec<u64>>,
        stride: impl Into<Vec<i64>>,
    ) -> Result<Self> {
        let slab = Hyperslab { start: start.into(), count: count.into(), stride: stride.into() };
        slab.check_lists()?;
        Ok(slab)
    }

    /// Every element of an array of `shape`.
    pub fn all(shape: &[u64]) -> Self {
        Hyperslab { start: vec![0; shape.len()], count: shape.to_vec(), stride: vec![1; shape.len()] }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.start.len()
    }

    /// Finds the hyperslab in an array of `shape`; dimensions are named by number in errors.
    ///
    /// # Errors
    /// Invalid: another rank, a stride of 0, an index outside the array. An empty dimension may start at its end.
    pub fn resolve(&self, shape: &[u64]) -> Result<ResolvedSlab> {
        self.resolve_named(shape, |_| None)
    }

    /// [`Hyperslab::resolve`], with the names that errors should use for the dimensions.
    ///
    /// ```
    /// use nc3z_format::selection::Hyperslab;
    /// let slab = Hyperslab::new([10], [3], [2])?;
    /// let error = slab.resolve_named(&[14], |_| Some("time")).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "dimension 0 (`time`) has length 14, asked for start 10, count 3, stride 2"
    /// );
    /// # Ok::<(), nc3z_format::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Hyperslab::resolve`].
    pub fn resolve_named<'n>(
        &self,
        shape: &[u64],
        name: impl Fn(usize) -> Option<&'n str>,
    ) -> Result<ResolvedSlab> {
        self.check_lists()?;
        if self.rank() != shape.len() {
            return Err(Error::invalid(format!(
                "hyperslab of {} dimensions in an array of {}",
                self.rank(),
                shape.len()
            )));
        }
        let mut dims = Vec::with_capacity(shape.len());
        for (dim, len) in shape.iter().enumerate() {
            let (start, count, stride) = (self.start[dim], self.count[dim], self.stride[dim]);
            let line = Line::new(start, count, stride, *len)
                .ok_or_else(|| super::outside(dim, name(dim), *len, Segment { start, count, stride }))?;
            dims.push(line);
        }
        // Distinct indices of each dimension: the product is at most the array's own, unless something is empty.
        let elements =
            if dims.iter().any(|d| d.count == 0) { 0 } else { crate::tile::element_count(&self.count)? };
        Ok(ResolvedSlab { dims, elements })
    }

    /// Adds a dimension.
    pub(super) fn push(&mut self, segment: Segment) {
        self.start.push(segment.start);
        self.count.push(segment.count);
        self.stride.push(segment.stride);
    }

    fn check_lists(&self) -> Result<()> {
        if self.count.len() == self.start.len() && self.stride.len() == self.start.len() {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "hyperslab lists of {} starts, {} counts, {} strides",
            self.start.len(),
            self.count.len(),
            self.stride.len()
        )))
    }
}

impl fmt::Display for Hyperslab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (d, ((start, count), stride)) in self.start.iter().zip(&self.count).zip(&self.stride).enumerate()
        {
            write!(f, "{}{start} x{count}", if d == 0 { "" } else { ", " })?;
            if *stride != 1 {
                write!(f, " by {stride}")?;
            }
        }
        f.write_str("]")
    }
}

/// A hyperslab that is inside an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedSlab {
    dims: Vec<Line>,
    elements: u64,
}

impl ResolvedSlab {
    /// The selection along each dimension.
    pub fn dims(&self) -> &[Line] {
        &self.dims
    }

    /// Elements selected.
    pub fn elements(&self) -> u64 {
        self.elements
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(start: u64, count: u64, stride: i64, len: u64) -> bool {
        Hyperslab::new([start], [count], [stride]).unwrap().resolve(&[len]).is_ok()
    }

    #[test]
    fn nothing_is_clamped() {
        assert!(fits(0, 5, 1, 5) && !fits(0, 6, 1, 5) && !fits(1, 5, 1, 5));
        assert!(fits(4, 5, -1, 5) && !fits(4, 6, -1, 5) && !fits(5, 1, -1, 5));
        assert!(fits(5, 0, 1, 5) && !fits(6, 0, 1, 5) && fits(0, 0, -1, 0) && !fits(0, 1, 1, 0));
        assert!(!fits(0, 1, 0, 5) && !fits(0, 0, 0, 5));
        assert!(fits(3, 1, i64::MIN, 5), "the stride of a single index leads nowhere");
    }

    #[test]
    fn ends_near_two_to_the_64_do_not_wrap() {
        assert!(fits(u64::MAX - 1, 2, -1, u64::MAX));
        assert!(!fits(1, u64::MAX, i64::MAX, u64::MAX) && !fits(u64::MAX - 1, 2, i64::MAX, u64::MAX));
        assert!(fits(1 << 63, 2, i64::MIN, u64::MAX) && !fits(1 << 62, 2, i64::MIN, u64::MAX));
    }

    #[test]
    fn errors_name_the_dimension() {
        let slab = Hyperslab::new([0, 7], [2, 2], [1, 1]).unwrap();
        let text = slab.resolve(&[2, 8]).unwrap_err().to_string();
        assert_eq!(text, "dimension 1 has length 8, asked for start 7, count 2, stride 1");
        assert!(slab.resolve(&[2]).is_err());
        assert!(Hyperslab::new([0], [1, 2], [1]).is_err());
    }
}

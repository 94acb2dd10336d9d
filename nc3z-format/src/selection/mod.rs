//! The part of an array that a caller requests.
//!
//! | type | selects |
//! |---|---|
//! | [`Segment`] | indices of one dimension: `start`, `start + stride`, …; a list or a mask is several segments |
//! | [`Hyperslab`] | one segment along each dimension |
//! | [`Selection`] | any segments along each dimension, and their cross product |
//! | [`Select`] | what a program writes: `(.., 3, vec![4, 0, 7_u64])`; becomes a [`Selection`] |
//! | [`AnySelection`] | one of these, boxes at points, or a mask of the whole array |
//!
//! Indices count elements from 0, slowest dimension first. Strides have either sign. The output is row-major and has one
//! dimension for each of the array's: its length is the number of indices that are selected along it. Nothing is ever clamped:
//! an index outside the array is an error of the kind *invalid argument* that names the dimension, its length and the request.
//!
//! [`Selection::runs`] checks a selection against a shape and returns it in ascending order of index, with the positions in the
//! output; so does [`Placed`], which staged arrays take. [`Hyperslab::resolve`] does so for a hyperslab, from which [`Plan`](crate::Plan) makes tiles and copies.

mod any;
mod boxes;
mod hyperslab;
mod index;
mod mask;
mod placed;
mod segment;

pub use any::AnySelection;
pub use boxes::{boxes, widths};
pub use hyperslab::{Hyperslab, ResolvedSlab};
pub use index::{Index, Select, Selected, Span};
pub use mask::Mask;
pub use placed::{Placed, Row};
pub use segment::{Line, Run, Segment};

use crate::error::{Error, Result};
use std::sync::Arc;

/// Segments along each dimension. The elements are those of their cross product.
///
/// ```
/// use nc3z_format::selection::{Segment, Selection};
/// // Columns that wrap around the end of the dimension, rows from a list.
/// let selection = Selection::new(vec![Segment::of_list([4, 0]), vec![Segment::new(350, 10), Segment::new(0, 5)]]);
/// assert_eq!(selection.counts(), [2, 15]);
/// assert_eq!(selection.index(1, 12), 2);
/// assert!(selection.runs(&[5, 360]).is_ok() && selection.runs(&[4, 360]).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    dims: Vec<Vec<Segment>>,
    /// The mask of the elements outside of a region.
    mask: Option<Arc<Mask>>,
}

impl From<&Hyperslab> for Selection {
    fn from(slab: &Hyperslab) -> Self {
        let each = slab.start.iter().zip(&slab.count).zip(&slab.stride);
        Selection::new(
            each.map(|((&start, &count), &stride)| vec![Segment { start, count, stride }]).collect(),
        )
    }
}

impl Selection {
    /// Makes a selection of the cross product of segments along each dimension.
    pub fn new(dims: Vec<Vec<Segment>>) -> Self {
        Selection { dims, mask: None }
    }

    /// Selects all of an array.
    pub fn all(shape: &[u64]) -> Self {
        Selection::new(shape.iter().map(|&len| vec![Segment::new(0, len)]).collect())
    }

    /// Adds a mask of the elements outside of a region.
    #[must_use]
    pub fn with_mask(mut self, mask: Option<Arc<Mask>>) -> Self {
        self.mask = mask;
        self
    }

    /// The mask of the elements outside of a region, if any.
    pub fn mask(&self) -> Option<&Mask> {
        self.mask.as_deref()
    }

    /// The mask, for another selection of the variable.
    pub fn shared_mask(&self) -> Option<Arc<Mask>> {
        self.mask.clone()
    }

    /// Returns for each element, slowest dimension first, whether it is outside of the region. None where
    /// there is no region.
    pub fn outside(&self) -> Option<Vec<bool>> {
        let mask = self.mask.as_deref()?;
        let counts = self.counts();
        let mut flags = Vec::new();
        if counts.contains(&0) {
            return Some(flags);
        }
        let mut at = vec![0; counts.len()];
        let mut index: Vec<u64> = (0..counts.len()).map(|d| self.index(d, 0)).collect();
        loop {
            flags.push(mask.is_outside(&index));
            // The last dimension runs fastest.
            let mut next = None;
            for d in (0..counts.len()).rev() {
                at[d] += 1;
                if at[d] == counts[d] {
                    at[d] = 0;
                }
                index[d] = self.index(d, at[d]);
                if at[d] > 0 {
                    next = Some(d);
                    break;
                }
            }
            if next.is_none() {
                return Some(flags);
            }
        }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The segments along a dimension.
    pub fn segments(&self, dim: usize) -> &[Segment] {
        &self.dims[dim]
    }

    /// The number of selected elements along each dimension.
    pub fn counts(&self) -> Vec<u64> {
        let count = |segments: &Vec<Segment>| segments.iter().fold(0, |n: u64, s| n.saturating_add(s.count));
        self.dims.iter().map(count).collect()
    }

    /// The number of selected elements. It is 0 if any dimension has none.
    pub fn elements(&self) -> u64 {
        elements(&self.counts())
    }

    /// Returns the index in the variable of the `n`-th selected one along a dimension.
    pub fn index(&self, dim: usize, mut n: u64) -> u64 {
        for s in &self.dims[dim] {
            if n < s.count {
                return s.index(n);
            }
            n -= s.count;
        }
        n
    }

    /// Returns the index in the array of the element at `position` of the output, in row-major order.
    pub fn index_of(&self, mut position: u64) -> Vec<u64> {
        let mut index = vec![0; self.rank()];
        for (dim, count) in self.counts().iter().enumerate().rev() {
            index[dim] = self.index(dim, position % count.max(&1));
            position /= count.max(&1);
        }
        index
    }

    /// Returns the hyperslab of a selection that has one segment along each dimension.
    pub fn as_slab(&self) -> Option<Hyperslab> {
        self.dims.iter().all(|segments| segments.len() == 1).then(|| {
            let mut slab = Hyperslab { start: vec![], count: vec![], stride: vec![] };
            self.dims.iter().for_each(|segments| slab.push(segments[0]));
            slab
        })
    }

    /// Returns the hyperslabs of the selection, and the position of each in the result: its first index along
    /// each dimension.
    pub fn slabs(&self) -> Vec<(Hyperslab, Vec<u64>)> {
        let none = Hyperslab { start: vec![], count: vec![], stride: vec![] };
        let mut slabs = vec![(none, Vec::new())];
        for segments in &self.dims {
            let mut longer = Vec::with_capacity(slabs.len() * segments.len());
            for (slab, place) in &slabs {
                let mut at = 0;
                for s in segments {
                    let (mut slab, mut place) = (slab.clone(), place.clone());
                    slab.push(*s);
                    place.push(at);
                    at += s.count;
                    longer.push((slab, place));
                }
            }
            slabs = longer;
        }
        slabs
    }

    /// Returns the positions `from..to` along one dimension, and all of the others.
    #[must_use]
    pub fn part(&self, dim: usize, from: u64, to: u64) -> Self {
        let mut segments = Vec::new();
        let mut begin = 0;
        for s in &self.dims[dim] {
            let (low, high) = (from.max(begin), to.min(begin + s.count));
            if low < high {
                segments.push(s.part(low - begin, high - begin));
            }
            begin += s.count;
        }
        let mut part = self.clone();
        part.dims[dim] = segments;
        part
    }

    /// Returns the runs along each dimension of an array of `shape`, in ascending order of index: each begins at or after the last
    /// index of the one before. An index that occurs twice is in two runs, in the order of the output.
    ///
    /// # Errors
    /// Invalid: another rank, a stride of 0, an index outside the array. An empty segment may start at its dimension's end.
    pub fn runs(&self, shape: &[u64]) -> Result<Vec<Vec<Run>>> {
        self.runs_named(shape, |_| None)
    }

    /// [`Selection::runs`], with the names that errors should use for the dimensions.
    ///
    /// # Errors
    /// As [`Selection::runs`].
    pub fn runs_named<'n>(
        &self,
        shape: &[u64],
        name: impl Fn(usize) -> Option<&'n str>,
    ) -> Result<Vec<Vec<Run>>> {
        if self.rank() != shape.len() {
            let (rank, of) = (self.rank(), shape.len());
            return Err(Error::invalid(format!("selection of {rank} dimensions in an array of {of}")));
        }
        let each = self.dims.iter().zip(shape).enumerate();
        each.map(|(dim, (segments, len))| {
            segment::runs(segments, *len).map_err(|s| outside(dim, name(dim), *len, s))
        })
        .collect()
    }
}

/// Returns the number of elements of an array with these lengths; saturates.
pub fn elements(counts: &[u64]) -> u64 {
    if counts.contains(&0) { 0 } else { counts.iter().fold(1, |all, n| all.saturating_mul(*n)) }
}

/// The error for a segment that leaves its dimension.
fn outside(dim: usize, name: Option<&str>, len: u64, segment: Segment) -> Error {
    let Segment { start, count, stride } = segment;
    let name = name.map(|n| format!(" (`{n}`)")).unwrap_or_default();
    Error::invalid(format!(
        "dimension {dim}{name} has length {len}, asked for start {start}, count {count}, stride {stride}"
    ))
}

//! A part of a variable: segments of indices along each dimension, two if a range wraps around, and a mask if
//! the part is not a box. [`Request`] makes it from the arguments of the command line ([`DimArg`],
//! [`BoxArg`]).

mod arg;
mod dimension;
mod mask;
mod region;
mod request;
mod search;
mod variables;

pub use arg::{Bound, BoxArg, DimArg, RangeArg};
pub use mask::Mask;
pub use region::{Region, of_all as regions};
pub use request::{Error, Request, Result};
pub use variables::named_variables;

use std::sync::Arc;

use nc3z_format::classic::DimId;
use nc3z_format::{Hyperslab, NcType};
use nc3z_reader::{Dataset, Variable};

/// `count` indices: `start`, `start + stride`, …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// First index.
    pub start: u64,
    /// The number of indices.
    pub count: u64,
    /// Distance to the next; not 0.
    pub stride: i64,
}

/// Segments along each dimension: one, or two if a range wraps around. The elements are those of their cross
/// product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    dims: Vec<Vec<Segment>>,
    /// The mask of the elements outside of a region.
    mask: Option<Arc<Mask>>,
}

impl Selection {
    /// Makes a selection of the cross product of segments along each dimension.
    pub fn new(dims: Vec<Vec<Segment>>) -> Self {
        Selection { dims, mask: None }
    }

    /// Selects a hyperslab.
    pub fn of_slab(slab: &Hyperslab) -> Self {
        let each = slab.start.iter().zip(&slab.count).zip(&slab.stride);
        let segment =
            |((&start, &count), &stride): ((&u64, &u64), &i64)| vec![Segment { start, count, stride }];
        Selection::new(each.map(segment).collect())
    }

    /// Selects by lists with an item for each dimension of `shape`. By default the start is where the stride begins, the count goes to
    /// where it ends, and the stride is 1.
    pub fn of_lists(
        shape: &[u64],
        start: Option<&[u64]>,
        count: Option<&[u64]>,
        stride: Option<&[i64]>,
    ) -> Self {
        let stride = stride.map_or_else(|| vec![1; shape.len()], <[i64]>::to_vec);
        let first = |(n, stride): (&u64, &i64)| if *stride < 0 { n.saturating_sub(1) } else { 0 };
        let start = start.map_or_else(|| shape.iter().zip(&stride).map(first).collect(), <[u64]>::to_vec);
        let reach = |((start, n), stride): ((&u64, &u64), &i64)| {
            let left =
                if *stride < 0 { (*start).min(*n) + u64::from(start < n) } else { n.saturating_sub(*start) };
            left.div_ceil(stride.unsigned_abs().max(1))
        };
        let count =
            count.map_or_else(|| start.iter().zip(shape).zip(&stride).map(reach).collect(), <[u64]>::to_vec);
        Selection::of_slab(&Hyperslab { start, count, stride })
    }

    /// Selects all of a variable.
    pub fn all(variable: &Variable) -> Self {
        let whole = |&count: &u64| vec![Segment { start: 0, count, stride: 1 }];
        Selection::new(variable.shape().iter().map(whole).collect())
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

    /// The segments along a dimension.
    pub fn segments(&self, dim: usize) -> &[Segment] {
        &self.dims[dim]
    }

    /// The number of selected elements along each dimension.
    pub fn counts(&self) -> Vec<u64> {
        self.dims.iter().map(|segments| segments.iter().map(|s| s.count).sum()).collect()
    }

    /// The number of selected elements. It is 0 if any dimension has none.
    pub fn elements(&self) -> u64 {
        elements(&self.counts())
    }

    /// Returns the index in the variable of the `n`-th selected one along a dimension.
    pub fn index(&self, dim: usize, mut n: u64) -> u64 {
        for s in &self.dims[dim] {
            if n < s.count {
                return s.start.wrapping_add(s.stride.cast_unsigned().wrapping_mul(n));
            }
            n -= s.count;
        }
        n
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
                    slab.start.push(s.start);
                    slab.count.push(s.count);
                    slab.stride.push(s.stride);
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
                let start = s.start.wrapping_add(s.stride.cast_unsigned().wrapping_mul(low - begin));
                segments.push(Segment { start, count: high - low, stride: s.stride });
            }
            begin += s.count;
        }
        let mut part = self.clone();
        part.dims[dim] = segments;
        part
    }
}

/// Returns the number of elements of an array with these lengths; saturates.
pub fn elements(counts: &[u64]) -> u64 {
    if counts.contains(&0) { 0 } else { counts.iter().fold(1, |all, n| all.saturating_mul(*n)) }
}

/// Returns the one-dimensional numeric variable with the dimension's own name.
pub fn coordinate_variable(dataset: &Dataset, dim: DimId) -> Option<Variable> {
    let header = dataset.header();
    let name = &header.dimensions.get(dim.index())?.name;
    let (id, v) = header.variable(name)?;
    let is_coordinate = v.dimensions == [dim] && v.ty != NcType::Char;
    is_coordinate.then(|| dataset.variable_at(id)).flatten()
}

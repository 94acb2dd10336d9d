//! All forms of requests: a cross product, boxes at points, a mask of the whole array.

use super::{Hyperslab, Selection};
use crate::error::{Error, Result};
use crate::tile::element_count;

/// Elements of an array: a cross product, boxes at points, or a mask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnySelection<'a> {
    /// The cross product of segments along each dimension. The output has the array's number of dimensions. If an index occurs
    /// twice, the value that is written last remains.
    Grid(Selection),
    /// A box at each point. The output is an array of the number of points and the lengths of the box. Equal points are the same
    /// box; the last value written is kept.
    Points {
        /// The first index of each box along each dimension, box after box.
        starts: &'a [u64],
        /// Lengths of the box.
        count: Vec<u64>,
        /// The distance between the box's elements along each dimension; not 0.
        stride: Vec<i64>,
    },
    /// The elements for which a mask of the array's shape, row-major, is true. The output has one dimension.
    Mask(&'a [bool]),
}

impl From<&Hyperslab> for AnySelection<'_> {
    fn from(slab: &Hyperslab) -> Self {
        AnySelection::Grid(slab.into())
    }
}

impl From<&Selection> for AnySelection<'_> {
    fn from(selection: &Selection) -> Self {
        AnySelection::Grid(selection.clone())
    }
}

impl<'a> From<&AnySelection<'a>> for AnySelection<'a> {
    fn from(selection: &AnySelection<'a>) -> Self {
        selection.clone()
    }
}

impl AnySelection<'_> {
    /// Returns the number of elements.
    ///
    /// # Errors
    /// Invalid: more elements than an array can have.
    pub fn elements(&self) -> Result<u64> {
        match self {
            AnySelection::Grid(selection) => element_count(&selection.counts()),
            AnySelection::Points { starts, count, .. } => {
                let points = starts.len().checked_div(count.len()).unwrap_or(0) as u64;
                element_count(&[&[points][..], count].concat())
            }
            AnySelection::Mask(mask) => Ok(mask.iter().filter(|selected| **selected).count() as u64),
        }
    }

    /// Refuses elements outside an array of `shape`, whose dimensions have these names.
    ///
    /// # Errors
    /// Invalid: another rank, a stride of 0, an index outside the array, a mask of another length.
    pub fn check(&self, shape: &[u64], names: &[String]) -> Result<()> {
        let name = |n: usize| names.get(n).map(String::as_str);
        match self {
            AnySelection::Grid(selection) => selection.runs_named(shape, name).map(|_| ()),
            AnySelection::Points { starts, count, stride } => {
                let rank = shape.len();
                let fits = [count.len(), stride.len()] == [rank; 2];
                if rank == 0 || !starts.len().is_multiple_of(rank) || !fits {
                    let given = count.len();
                    return Err(Error::invalid(format!("points of {given} dimensions for {rank}")));
                }
                // The boxes at the smallest and at the greatest index along each dimension.
                let each = |dim: usize| starts.iter().skip(dim).step_by(rank).copied();
                let count = if starts.is_empty() { &vec![0; rank] } else { count };
                for start in [
                    (0..rank).map(|dim| each(dim).min().unwrap_or(0)).collect(),
                    (0..rank).map(|dim| each(dim).max().unwrap_or(0)).collect(),
                ] {
                    let slab = Hyperslab { start, count: count.clone(), stride: stride.clone() };
                    slab.resolve_named(shape, name)?;
                }
                Ok(())
            }
            AnySelection::Mask(mask) => {
                let all = element_count(shape)?;
                if mask.len() as u64 == all {
                    return Ok(());
                }
                let given = mask.len();
                Err(Error::invalid(format!("a mask of {given} elements for a variable of {all}")))
            }
        }
    }
}

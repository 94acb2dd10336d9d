//! The selection of an edit: slices and lists along each dimension, points, or a mask.

use crate::error::Result;
use nc3z_format::tile::element_count;
use nc3z_format::{Error as FormatError, Hyperslab};

/// The selection along one dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pick {
    /// `count` indices from `start` on, `stride` apart; the stride is negative for descending indices.
    Range {
        /// The first selected index.
        start: u64,
        /// The number of indices.
        count: u64,
        /// The distance between indices; not zero.
        stride: i64,
    },
    /// These indices, ascending, without duplicates.
    List(Vec<u64>),
}

/// The selection of an edit in a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picks<'p> {
    /// The elements whose index is picked in every dimension. Values are an array with the picks' lengths.
    Grid(Vec<Pick>),
    /// A box at each point. Values are an array of the number of points and the lengths of the box. Equal
    /// points are the same box; the last value written applies.
    Points {
        /// The first index of each box along each dimension, box after box.
        starts: &'p [u64],
        /// Lengths of the box.
        count: Vec<u64>,
        /// The distance between the box's elements along each dimension; positive.
        stride: Vec<u64>,
    },
    /// The elements for which a mask of the variable's shape, row-major, is true; values are in that order.
    Mask(&'p [bool]),
}

impl From<&Hyperslab> for Picks<'_> {
    fn from(slab: &Hyperslab) -> Self {
        let each = slab.start.iter().zip(&slab.count).zip(&slab.stride);
        Picks::Grid(each.map(|((&start, &count), &stride)| Pick::Range { start, count, stride }).collect())
    }
}

impl Pick {
    /// The number of indices.
    pub fn len(&self) -> u64 {
        match self {
            Pick::Range { count, .. } => *count,
            Pick::List(list) => list.len() as u64,
        }
    }

    /// True without indices.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns start, count and stride of a range that fits in a dimension exactly if all indices do.
    fn bounds(&self) -> (u64, u64, i64) {
        match self {
            Pick::Range { start, count, stride } => (*start, *count, *stride),
            Pick::List(list) => match list.as_slice() {
                [] => (0, 0, 1),
                [one] => (*one, 1, 1),
                [first, .., last] => {
                    (*first, 2, i64::try_from(last.wrapping_sub(*first)).unwrap_or(i64::MAX).max(1))
                }
            },
        }
    }
}

impl Picks<'_> {
    /// The number of elements.
    pub(super) fn elements(&self) -> Result<u64> {
        match self {
            Picks::Grid(picks) => Ok(element_count(&picks.iter().map(Pick::len).collect::<Vec<_>>())?),
            Picks::Points { starts, count, .. } => {
                let points = starts.len().checked_div(count.len()).unwrap_or(0) as u64;
                Ok(element_count(&[&[points][..], count].concat())?)
            }
            Picks::Mask(mask) => Ok(mask.iter().filter(|selected| **selected).count() as u64),
        }
    }

    /// Refuses picks outside a variable of `shape`, whose dimensions have these names.
    pub(super) fn check(&self, shape: &[u64], names: &[String]) -> Result<()> {
        let name = |n: usize| names.get(n).map(String::as_str);
        let within = |each: Vec<(u64, u64, i64)>| -> Result<()> {
            let (mut start, mut count, mut stride) = (Vec::new(), Vec::new(), Vec::new());
            for (first, n, step) in each {
                start.push(first);
                count.push(n);
                stride.push(step);
            }
            Hyperslab { start, count, stride }.resolve_named(shape, name)?;
            Ok(())
        };
        match self {
            Picks::Grid(picks) => {
                let ascends = |pick: &Pick| match pick {
                    Pick::Range { .. } => true,
                    Pick::List(list) => list.windows(2).all(|pair| pair[0] < pair[1]),
                };
                if let Some(at) = picks.iter().position(|pick| !ascends(pick)) {
                    let name = name(at).unwrap_or("?");
                    return Err(FormatError::invalid(format!(
                        "the indices of dimension `{name}` do not ascend"
                    ))
                    .into());
                }
                within(picks.iter().map(Pick::bounds).collect())
            }
            Picks::Points { starts, count, stride } => {
                let rank = shape.len();
                if rank == 0
                    || !starts.len().is_multiple_of(rank)
                    || count.len() != rank
                    || stride.len() != rank
                {
                    return Err(FormatError::invalid(format!(
                        "points of {} dimensions for {rank}",
                        count.len()
                    ))
                    .into());
                }
                let last = |axis: usize| starts.iter().skip(axis).step_by(rank).max().copied();
                let step = |axis: usize| i64::try_from(stride[axis]).unwrap_or(0);
                within(
                    (0..rank)
                        .map(|axis| {
                            (
                                last(axis).unwrap_or(0),
                                if starts.is_empty() { 0 } else { count[axis] },
                                step(axis),
                            )
                        })
                        .collect(),
                )
            }
            Picks::Mask(mask) => {
                let all = element_count(shape)?;
                if mask.len() as u64 == all {
                    return Ok(());
                }
                Err(FormatError::invalid(format!(
                    "a mask of {} elements for a variable of {all}",
                    mask.len()
                ))
                .into())
            }
        }
    }
}

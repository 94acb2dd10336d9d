//! Turns sub-arrays placed anywhere in a master array into a matrix of partitions. Where their edges are not
//! aligned, a sub-array is divided into several *virtual* partitions.

use super::{Data, Indices, MAX_PARTITIONS, Partition};
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::ops::Range;

/// A sub-array and the box of the master array that it fills.
#[derive(Debug, Clone)]
pub struct Placed {
    /// The box: a range of indices for each dimension of the master array.
    pub location: Vec<Range<u64>>,
    /// The sub-array, as a partition that fills the box.
    pub partition: Partition,
    /// Its name in messages.
    pub name: String,
}

/// The cuts along each dimension, and the partitions between them in row-major order.
pub(crate) type Matrix = (Vec<Vec<u64>>, Vec<Partition>);

/// The cuts along each dimension, and the number of the sub-array that fills each cell between them.
pub(crate) type Cells = (Vec<Vec<u64>>, Vec<u32>);

/// Cuts a master array so that every sub-array consists of one or more whole partitions. `dimensions` are the
/// master's. Their directions are not needed: partitions name their reversed dimensions.
///
/// ```
/// # use nc3z_collections::{cut, Data, Partition, Placed, UnitsOf};
/// let missing = Partition {
///     dimensions: None, reversed: vec![], units: UnitsOf::Variable, part: None, data: Data::Missing,
/// };
/// let place = |y, x| Placed { location: vec![y, x], partition: missing.clone(), name: String::new() };
/// // The left half in one piece, the right half in two: the left one is cut, too.
/// let (cuts, partitions) = cut(&["y".into(), "x".into()], &[4, 4], &[place(0..4, 0..2), place(0..1, 2..4), place(1..4, 2..4)])?;
/// assert_eq!((cuts, partitions.len()), (vec![vec![0, 1, 4], vec![0, 2, 4]], 4));
/// # Ok::<(), nc3z_collections::Error>(())
/// ```
///
/// # Errors
/// Boxes that overlap, leave the array or leave a gap; the error names them. A matrix of too many partitions.
pub fn cut(dimensions: &[String], shape: &[u64], placed: &[Placed]) -> Result<Matrix> {
    let (place, name) = (|n: usize| placed[n].location.clone(), |n: usize| placed[n].name.clone());
    let (cuts, owners) = cells(dimensions, shape, placed.len(), &place, &name)?;
    let part =
        |(cell, owner): (usize, &u32)| part_of(&placed[*owner as usize], dimensions, &location(cell, &cuts));
    let partitions = owners.iter().enumerate().map(part).collect::<Result<_>>()?;
    Ok((cuts, partitions))
}

/// Does the same for `count` sub-arrays, and returns of each partition only the number of its sub-array. `place` returns the box of a
/// sub-array, `name` its name in messages.
pub(crate) fn cells(
    dimensions: &[String],
    shape: &[u64],
    count: usize,
    place: &dyn Fn(usize) -> Vec<Range<u64>>,
    name: &dyn Fn(usize) -> String,
) -> Result<Cells> {
    let mut edges: Vec<BTreeSet<u64>> = shape.iter().map(|len| BTreeSet::from([0, *len])).collect();
    for n in 0..count {
        let location = place(n);
        let inside = location.len() == shape.len()
            && location.iter().zip(shape).all(|(r, len)| r.start < r.end && r.end <= *len);
        if !inside {
            return Err(Error::refused(format!(
                "`{}` at {location:?} is outside an array of {shape:?}",
                name(n)
            )));
        }
        for (edges, range) in edges.iter_mut().zip(&location) {
            edges.extend([range.start, range.end]);
        }
    }
    let cuts: Vec<Vec<u64>> = edges.into_iter().map(|e| e.into_iter().collect()).collect();
    let cells = cuts.iter().map(|c| c.len() - 1).try_fold(1_usize, usize::checked_mul);
    let cells = cells.filter(|n| *n <= MAX_PARTITIONS).ok_or_else(|| {
        Error::refused(format!("{count} sub-arrays whose edges are not aligned make too many partitions"))
    })?;
    let mut owners = vec![FREE; cells];
    for n in 0..count {
        let owner = u32::try_from(n).ok().filter(|n| *n != FREE);
        let owner = owner.ok_or_else(|| Error::refused("2^32 sub-arrays or more"))?;
        let location = place(n);
        // Every edge is one of the cuts.
        let at = |d: usize, edge: u64| cuts[d].partition_point(|c| *c < edge);
        let ranges: Vec<Range<usize>> =
            location.iter().enumerate().map(|(d, r)| at(d, r.start)..at(d, r.end)).collect();
        each_cell(&ranges, &cuts, &mut |cell| match std::mem::replace(&mut owners[cell], owner) {
            FREE => Ok(()),
            other => Err(Error::refused(format!(
                "`{}` and `{}` overlap: they fill {} and {}",
                name(other as usize),
                name(n),
                show(dimensions, &place(other as usize)),
                show(dimensions, &location)
            ))),
        })?;
    }
    if let Some(cell) = owners.iter().position(|owner| *owner == FREE) {
        return Err(Error::refused(format!("nothing fills {}", show(dimensions, &location(cell, &cuts)))));
    }
    Ok((cuts, owners))
}

/// The owner of a cell that no sub-array fills.
const FREE: u32 = u32::MAX;

fn show(dimensions: &[String], location: &[Range<u64>]) -> String {
    let each = dimensions.iter().zip(location).map(|(d, r)| format!("{d} {} to {}", r.start, r.end - 1));
    each.collect::<Vec<_>>().join(", ")
}

/// Calls `f` with the number of each cell in some ranges of the matrix.
fn each_cell(
    ranges: &[Range<usize>],
    cuts: &[Vec<u64>],
    f: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<()> {
    fn inner(
        ranges: &[Range<usize>],
        cuts: &[Vec<u64>],
        base: usize,
        f: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        let Some((range, rest)) = ranges.split_first() else { return f(base) };
        range.clone().try_for_each(|i| inner(rest, &cuts[1..], base * (cuts[0].len() - 1) + i, f))
    }
    inner(ranges, cuts, 0, f)
}

/// Returns the box of a cell.
pub(crate) fn location(mut cell: usize, cuts: &[Vec<u64>]) -> Vec<Range<u64>> {
    let mut out = vec![0..0; cuts.len()];
    for (range, cuts) in out.iter_mut().zip(cuts).rev() {
        let n = cuts.len() - 1;
        *range = cuts[cell % n]..cuts[cell % n + 1];
        cell /= n;
    }
    out
}

/// Returns the partition that fills a box inside a placed sub-array.
pub(crate) fn part_of(placed: &Placed, dimensions: &[String], location: &[Range<u64>]) -> Result<Partition> {
    let Placed { location: whole, partition, name } = placed;
    if whole == location || !matches!(partition.data, Data::Array(_)) {
        return Ok(partition.clone());
    }
    // Maps each dimension of the data array to the master array.
    let stored = partition.dimensions.as_deref().unwrap_or(dimensions);
    let mut part = Vec::with_capacity(stored.len());
    for (n, dim) in stored.iter().enumerate() {
        let given = partition.part.as_ref().and_then(|part| part.get(n));
        let Some(d) = dimensions.iter().position(|m| m == dim) else {
            part.push(given.cloned().unwrap_or(Indices::all(1)));
            continue;
        };
        let (all, here) = (&whole[d], &location[d]);
        let all_len = all.end - all.start;
        let given = given.cloned().unwrap_or(Indices::all(all_len));
        if given.count() != all_len {
            return Err(Error::refused(format!(
                "`{name}` has {} indices along `{dim}`, its place has {all_len}",
                given.count()
            )));
        }
        let reversed = partition.reversed.contains(dim);
        let first = if reversed { all.end - here.end } else { here.start - all.start };
        part.push(given.slice(first, here.end - here.start));
    }
    Ok(Partition { part: Some(part), ..partition.clone() })
}

//! Elements in ascending order, with their positions in the output.

use super::segment::{Run, Segment};
use super::{Selection, outside};
use crate::error::{Error, Result};

/// Elements inside an array, with their positions in the output: a selection, or one of the parts into which it was divided.
///
/// ```
/// use nc3z_format::selection::{Placed, Run, Segment, Selection};
/// let selection = Selection::new(vec![Segment::of_list([7, 2])]);
/// let placed = selection.placed(&[8])?;
/// assert_eq!(placed, Placed::grid(vec![vec![Run { low: 2, count: 2, step: 5, place: 1, reversed: true }]], &[8])?);
/// # Ok::<(), nc3z_format::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed(Kind);

/// The forms of [`Placed`].
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Grid(Vec<Vec<Run>>),
    Rows(Vec<Row>),
}

/// Neighbours along the last dimension of an array, at neighbouring positions of an output of one dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The first element's index along each dimension.
    pub at: Vec<u64>,
    /// The number of elements, at least 1.
    pub count: u64,
    /// Position of the first element in the output.
    pub place: u64,
}

impl Selection {
    /// Returns the elements of an array of `shape`, with their positions in the output.
    ///
    /// # Errors
    /// As [`Selection::runs`].
    pub fn placed(&self, shape: &[u64]) -> Result<Placed> {
        Ok(Placed(Kind::Grid(self.runs(shape)?)))
    }
}

impl Placed {
    /// Returns the cross product of runs along each dimension of an array of `shape`. The output has the same number of dimensions,
    /// and may be larger than the runs' positions.
    ///
    /// # Errors
    /// Invalid: another rank; a run that is empty, has the step 0, leaves its dimension or begins before the last index of the run
    /// before it.
    pub fn grid(dims: Vec<Vec<Run>>, shape: &[u64]) -> Result<Self> {
        if dims.len() != shape.len() {
            let (rank, of) = (dims.len(), shape.len());
            return Err(Error::invalid(format!("runs of {rank} dimensions in an array of {of}")));
        }
        for (dim, (runs, &len)) in dims.iter().zip(shape).enumerate() {
            let mut least = 0;
            for run in runs {
                let reach = run.count.checked_sub(1).and_then(|n| n.checked_mul(run.step));
                let last = reach.and_then(|reach| reach.checked_add(run.low)).filter(|last| *last < len);
                let behind = !run.reversed || run.place >= run.count.saturating_sub(1);
                let Some(last) = last.filter(|_| run.step > 0 && behind && run.low >= least) else {
                    let stride = i64::try_from(run.step).unwrap_or(i64::MAX);
                    return Err(outside(
                        dim,
                        None,
                        len,
                        Segment { start: run.low, count: run.count, stride },
                    ));
                };
                least = last;
            }
        }
        Ok(Placed(Kind::Grid(dims)))
    }

    /// Returns rows of an array of `shape`, in this order. The output has one dimension.
    ///
    /// # Errors
    /// Invalid: a row that is empty or outside the array.
    pub fn rows(rows: Vec<Row>, shape: &[u64]) -> Result<Self> {
        let inside = |row: &Row| {
            let end = row.at.last().map_or(Some(row.count), |last| last.checked_add(row.count));
            row.count > 0
                && row.place.checked_add(row.count).is_some()
                && row.at.len() == shape.len()
                && row.at.iter().zip(shape).all(|(i, n)| i < n)
                && end.is_some_and(|end| end <= shape.last().copied().unwrap_or(1))
        };
        match rows.iter().find(|row| !inside(row)) {
            Some(row) => Err(Error::invalid(format!(
                "{} elements from {:?} on are outside an array of {shape:?}",
                row.count, row.at
            ))),
            None => Ok(Placed(Kind::Rows(rows))),
        }
    }

    /// Returns the runs along each dimension. None for rows.
    pub fn as_grid(&self) -> Option<&[Vec<Run>]> {
        match &self.0 {
            Kind::Grid(dims) => Some(dims),
            Kind::Rows(_) => None,
        }
    }

    /// Returns the rows. A grid has none.
    pub fn as_rows(&self) -> &[Row] {
        match &self.0 {
            Kind::Grid(_) => &[],
            Kind::Rows(rows) => rows,
        }
    }

    /// Returns the number of elements along each dimension of the output.
    pub fn counts(&self) -> Vec<u64> {
        match &self.0 {
            Kind::Grid(dims) => dims.iter().map(|runs| runs.iter().map(|run| run.count).sum()).collect(),
            Kind::Rows(rows) => vec![rows.iter().map(|row| row.count).sum()],
        }
    }

    /// Returns the position after the last one along each dimension of the output.
    pub fn ends(&self) -> Vec<u64> {
        match &self.0 {
            Kind::Grid(dims) => {
                dims.iter().map(|runs| runs.iter().map(Run::places_end).max().unwrap_or(0)).collect()
            }
            Kind::Rows(rows) => vec![rows.iter().map(|row| row.place + row.count).max().unwrap_or(0)],
        }
    }
}

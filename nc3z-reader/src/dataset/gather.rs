//! Reads selections that are not one hyperslab, as hyperslabs.

use super::Variable;
use super::convert::Element;
use super::variable::filled;
use crate::error::Result;
use nc3z_format::Error as FormatError;
use nc3z_format::selection::{AnySelection, Hyperslab, Run, Selection, elements};

/// Selected indices that are close to each other are read as the range that they span. The range may have at most this many times
/// as many indices.
const DENSE: u64 = 8;
/// The elements that are read at a time: of the part of a mask, and of ranges of several dimensions with indices that are not selected.
const AT_A_TIME: u64 = 1 << 22;
/// Up to this number of elements, a buffer is allocated without checking that the file contains them.
const UNCHECKED: u64 = 1 << 20;

/// Reads a hyperslab into a buffer.
type Read<'r, T> = &'r dyn Fn(&Hyperslab, &mut [T]) -> Result<()>;

impl Variable {
    /// Reads a selection as numbers of `T`, in its order: a hyperslab, lists and masks along each dimension, boxes at points, or a
    /// mask of the variable. Tiles without selected elements are not read, except between indices that are close to each other.
    ///
    /// ```
    /// # let file = nc3z_reader::Dataset::open("../testdata/classic/record_padding.nc", &Default::default())?;
    /// use nc3z_format::selection::Select;
    /// let a = file.variable("a")?; // short a(time=40, x=5)
    /// let selected = (vec![2, 0, 2_u64], -2..).select(a.shape())?;
    /// assert_eq!(a.gather::<i32>(&(&selected.selection).into())?, [45, 46, 3, 4, 45, 46]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A selection that exceeds the variable; more elements than memory holds; as [`Variable::read_into`].
    pub fn gather<T: Element>(&self, selection: &AnySelection<'_>) -> Result<Vec<T>> {
        let mut out = self.space(selection, 1, T::default())?;
        self.gather_into(selection, &mut out)?;
        Ok(out)
    }

    /// Does the work of [`Variable::gather`] into a buffer.
    ///
    /// # Errors
    /// As [`Variable::gather`]; a buffer whose length differs from the selection's.
    pub fn gather_into<T: Element>(&self, selection: &AnySelection<'_>, out: &mut [T]) -> Result<()> {
        Gather { variable: self, unit: 1, read: &|slab, out| self.read_into(slab, out) }.any(selection, out)
    }

    /// Does the work of [`Variable::gather`], and returns the big-endian bytes of the classic file.
    ///
    /// # Errors
    /// As [`Variable::gather`].
    pub fn gather_bytes(&self, selection: &AnySelection<'_>) -> Result<Vec<u8>> {
        let unit = self.ty().size();
        let mut out = self.space(selection, unit, 0)?;
        Gather { variable: self, unit, read: &|slab, out| self.read_bytes_into(slab, out) }
            .any(selection, &mut out)?;
        Ok(out)
    }

    /// Checks that a selection is inside the variable, and, if it has many elements, that the file can contain them: a header may
    /// describe more elements than fit into memory, in a short file. Returns the number of elements. Nothing is read but the index.
    ///
    /// # Errors
    /// A selection that exceeds the variable or the file.
    pub fn check(&self, selection: &AnySelection<'_>) -> Result<u64> {
        self.inside(selection)?;
        let elements = selection.elements()?;
        if let AnySelection::Grid(selection) = selection
            && elements > UNCHECKED
        {
            Pieces::new(self, selection)?.each(&mut |slab, _| self.plan(slab).map(|_| ()))?;
        }
        Ok(elements)
    }

    /// Refuses a selection outside the variable.
    fn inside(&self, selection: &AnySelection<'_>) -> Result<()> {
        let names: Vec<String> = self.dimensions().map(|d| d.name_lossy().into_owned()).collect();
        Ok(selection.check(self.shape(), &names)?)
    }

    /// Returns a buffer of `unit` values for each element of a selection, which is checked first.
    fn space<T: Clone>(&self, selection: &AnySelection<'_>, unit: usize, value: T) -> Result<Vec<T>> {
        if let AnySelection::Grid(selection) = selection
            && let Some(slab) = selection.as_slab()
        {
            return self.room(&slab, unit, value);
        }
        filled(self.check(selection)?, unit, value, || "selection".to_owned())
    }
}

/// The reading of a selection into values of `T`, `unit` of them for each element.
struct Gather<'g, T> {
    variable: &'g Variable,
    unit: usize,
    read: Read<'g, T>,
}

impl<T: Copy + Default> Gather<'_, T> {
    fn any(&self, selection: &AnySelection<'_>, out: &mut [T]) -> Result<()> {
        if let AnySelection::Grid(selection) = selection
            && let Some(slab) = selection.as_slab()
        {
            return (self.read)(&slab, out);
        }
        self.variable.inside(selection)?;
        let wanted = selection.elements()?.saturating_mul(self.unit as u64);
        if wanted != out.len() as u64 {
            let given = out.len();
            return Err(FormatError::invalid(format!("a buffer of {given} values for {wanted}")).into());
        }
        match selection {
            _ if out.is_empty() => Ok(()),
            AnySelection::Grid(selection) => self.grid(selection, out),
            AnySelection::Points { starts, count, stride } => self.points(starts, count, stride, out),
            AnySelection::Mask(mask) => self.mask(mask, out),
        }
    }

    fn grid(&self, selection: &Selection, out: &mut [T]) -> Result<()> {
        let counts = selection.counts();
        let mut buffer = Vec::new();
        Pieces::new(self.variable, selection)?.each(&mut |slab, takes| {
            if let Some((first, len)) = contiguous(takes, &counts) {
                return (self.read)(slab, &mut out[first * self.unit..(first + len) * self.unit]);
            }
            buffer.clear();
            buffer.resize(in_memory(elements(&slab.count)) * self.unit, T::default());
            (self.read)(slab, &mut buffer)?;
            self.scatter((&buffer, &slab.count, 0), (&mut *out, &counts, 0), takes);
            Ok(())
        })
    }

    /// Copies the taken elements of a hyperslab of `count`, from the outermost dimension on, to their places in an array of `lens`.
    fn scatter(
        &self,
        (from, count, at): (&[T], &[u64], usize),
        (to, lens, place): (&mut [T], &[u64], usize),
        takes: &[&Vec<Run>],
    ) {
        let Some((runs, inner)) = takes.split_first() else {
            return to[place * self.unit..][..self.unit]
                .copy_from_slice(&from[at * self.unit..][..self.unit]);
        };
        let (at, place) = (at * in_memory(count[0]), place * in_memory(lens[0]));
        for run in *runs {
            if inner.is_empty() && run.is_contiguous() {
                let (at, place) = (at + in_memory(run.low), place + in_memory(run.place));
                let len = in_memory(run.count) * self.unit;
                to[place * self.unit..][..len].copy_from_slice(&from[at * self.unit..][..len]);
                continue;
            }
            for n in 0..run.count {
                let from = (from, &count[1..], at + in_memory(run.index(n)));
                self.scatter(from, (&mut *to, &lens[1..], place + in_memory(run.place_of(n))), inner);
            }
        }
    }

    /// Reads the points in the order of their positions in the variable, so that no tile is decoded twice because the cache is too
    /// small. Neighbours in the variable that are neighbours in the output, too, are read as one hyperslab.
    fn points(&self, starts: &[u64], count: &[u64], stride: &[i64], out: &mut [T]) -> Result<()> {
        let each = out.len() / (starts.len() / count.len());
        let mut points: Vec<(&[u64], usize)> = starts.chunks_exact(count.len()).zip(0..).collect();
        points.sort_unstable();
        // The last dimension before those in which a box has other than one index.
        let axis = count.iter().position(|n| *n != 1).unwrap_or(count.len()).checked_sub(1);
        let is_next = |(a, m): &(&[u64], usize), (b, n): &(&[u64], usize)| {
            let differs =
                |axis| a[..axis] == b[..axis] && a[axis] + 1 == b[axis] && a[axis + 1..] == b[axis + 1..];
            m + 1 == *n && axis.is_some_and(differs)
        };
        for run in points.chunk_by(is_next) {
            let (start, number) = run[0];
            let mut slab = Hyperslab::new(start, count, stride)?;
            if let Some(axis) = axis {
                (slab.count[axis], slab.stride[axis]) = (run.len() as u64, 1);
            }
            (self.read)(&slab, &mut out[number * each..][..each * run.len()])?;
        }
        Ok(())
    }

    /// Reads a number of rows of the first dimension at a time, and of these the box that contains the true elements of the mask.
    fn mask(&self, mask: &[bool], out: &mut [T]) -> Result<()> {
        let shape = self.variable.shape();
        let Some((&len, inner)) = shape.split_first() else {
            return (self.read)(&self.variable.all(), out);
        };
        let row = elements(inner).max(1);
        let rows = self.variable.tiling()?.rows_per_tile(0).max(AT_A_TIME / row).max(1);
        let last = shape.len() - 1;
        let (mut first, mut done, mut buffer) = (0, 0, Vec::new());
        while first < len {
            let here = rows.min(len - first);
            let part = &mask[in_memory(first * row)..in_memory((first + here) * row)];
            // The lines along the last dimension that have true elements: from the first of them to the last.
            let line_len = in_memory(if inner.is_empty() { here } else { shape[last] });
            let lines = || {
                part.chunks(line_len).enumerate().filter_map(|(n, line)| {
                    let ends = line.iter().position(|at| *at).zip(line.iter().rposition(|at| *at));
                    ends.map(|(from, to)| (first * row + (n * line_len + from) as u64, &line[from..=to]))
                })
            };
            let (mut low, mut high) = (shape.to_vec(), vec![0; shape.len()]);
            let mut index = vec![0; shape.len()];
            for (position, line) in lines() {
                set_index(&mut index, shape, position);
                low.iter_mut().zip(&index).for_each(|(low, i)| *low = *i.min(low));
                index[last] += line.len() as u64 - 1;
                high.iter_mut().zip(&index).for_each(|(high, i)| *high = *i.max(high));
            }
            if low[0] == len {
                first += here;
                continue;
            }
            let count: Vec<u64> = low.iter().zip(&high).map(|(low, high)| high - low + 1).collect();
            let slab = Hyperslab::new(&low[..], &count[..], vec![1; shape.len()])?;
            buffer.clear();
            buffer.resize(in_memory(elements(&count)) * self.unit, T::default());
            (self.read)(&slab, &mut buffer)?;
            for (position, line) in lines() {
                set_index(&mut index, shape, position);
                let at = index.iter().zip(&low).zip(&count).fold(0, |at, ((i, low), n)| at * n + i - low);
                let mut at = in_memory(at) * self.unit;
                for run in line.chunk_by(|a, b| a == b) {
                    let len = run.len() * self.unit;
                    if run[0] {
                        out[done..done + len].copy_from_slice(&buffer[at..at + len]);
                        done += len;
                    }
                    at += len;
                }
            }
            first += here;
        }
        Ok(())
    }
}

/// Sets the index of the element at `position` of an array of `shape`.
fn set_index(index: &mut [u64], shape: &[u64], mut position: u64) {
    for (index, len) in index.iter_mut().zip(shape).rev() {
        *index = position % len;
        position /= len;
    }
}

/// Converts a number that is at most the length of a buffer or of a mask.
fn in_memory(n: u64) -> usize {
    usize::try_from(n).expect("no more than there is in memory")
}

/// Returns the position and the number of the elements of a hyperslab that fills neighbours of an array of `lens`, in order.
fn contiguous(takes: &[&Vec<Run>], lens: &[u64]) -> Option<(usize, usize)> {
    let (outer, inner) = takes.split_first()?;
    let whole = |(runs, len): (&&Vec<Run>, &u64)| matches!(runs[..], [run] if run.is_contiguous() && run.count == *len);
    let [run] = outer[..] else { return None };
    let row = in_memory(elements(&lens[1..]));
    (run.is_contiguous() && inner.iter().zip(&lens[1..]).all(whole))
        .then(|| (in_memory(run.place) * row, in_memory(run.count) * row))
}

/// A selection as hyperslabs to read: for each dimension, the ranges of indices that are read, each with the indices in it that are selected.
struct Pieces(Vec<Vec<(Run, Vec<Run>)>>);

impl Pieces {
    fn new(variable: &Variable, selection: &Selection) -> Result<Self> {
        let tiling = variable.tiling()?;
        Ok(Self::of_runs(&selection.runs(variable.shape())?, |dim| tiling.rows_per_tile(dim).max(1)))
    }

    /// Makes the hyperslabs from the runs of each dimension; `tile` returns the length of a tile along one.
    fn of_runs(dims: &[Vec<Run>], tile: impl Fn(usize) -> u64) -> Self {
        // From the last dimension on: the ranges of the inner ones limit those of the outer ones.
        let mut most = AT_A_TIME;
        let dims = dims.iter().enumerate().rev().map(|(dim, runs)| {
            let pieces = pieces(runs, tile(dim), most);
            most /= pieces.iter().map(|(range, _)| range.count).max().unwrap_or(1);
            pieces
        });
        let mut dims: Vec<_> = dims.collect();
        dims.reverse();
        Pieces(dims)
    }

    /// Calls `each` with every hyperslab and the runs that are taken of each of its dimensions, with their places in the output.
    fn each(&self, each: &mut dyn FnMut(&Hyperslab, &[&Vec<Run>]) -> Result<()>) -> Result<()> {
        let Pieces(dims) = self;
        if dims.iter().any(Vec::is_empty) {
            return Ok(());
        }
        let mut at = vec![0; dims.len()];
        loop {
            let chosen = || dims.iter().zip(&at).map(|(pieces, at)| &pieces[*at]);
            let start: Vec<u64> = chosen().map(|(run, _)| run.low).collect();
            let count: Vec<u64> = chosen().map(|(run, _)| run.count).collect();
            let stride: Vec<i64> =
                chosen().map(|(run, _)| i64::try_from(run.step).unwrap_or(i64::MAX)).collect();
            each(&Hyperslab { start, count, stride }, &chosen().map(|(_, takes)| takes).collect::<Vec<_>>())?;
            // The last dimension runs fastest.
            let Some(dim) = (0..dims.len()).rev().find(|&dim| at[dim] + 1 < dims[dim].len()) else {
                return Ok(());
            };
            at[dim] += 1;
            at[dim + 1..].fill(0);
        }
    }
}

/// Returns the ranges of indices of a dimension that are read, each with the selected indices in it. Runs share a range if less than a tile is
/// between them, unless too few of the range's indices are selected, or it has more than `most` indices.
fn pieces(runs: &[Run], tile: u64, most: u64) -> Vec<(Run, Vec<Run>)> {
    let mut pieces = Vec::new();
    let mut first = runs.first().map_or(0, |run| run.low);
    let shares = |a: &Run, b: &Run| {
        let shares = b.low / tile - a.last() / tile <= 1 && b.last() - first < most;
        first = if shares { first } else { b.low };
        shares
    };
    for cluster in runs.chunk_by(shares) {
        let (low, last) = (cluster[0].low, cluster[cluster.len() - 1].last());
        let selected: u64 = cluster.iter().map(|run| run.count).sum();
        let len = last - low + 1;
        if cluster.len() > 1 && len <= selected.saturating_mul(DENSE) {
            let takes = cluster.iter().map(|run| Run { low: run.low - low, ..*run }).collect();
            pieces.push((Run::new(low, len, 0), takes));
            continue;
        }
        pieces.extend(cluster.iter().map(|run| (*run, vec![Run { low: 0, step: 1, ..*run }])));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distant_indices_of_several_dimensions_read_bounded_hyperslabs() {
        // 0, 7, 15, 22, ...: 267 of 2000 indices of each of three dimensions. Their ranges have 421 times as many elements.
        let indices = (0..267).map(|n| n * 15 / 2);
        let runs: Vec<Run> = indices.zip(0..).map(|(index, place)| Run::new(index, 1, place)).collect();
        let Pieces(dims) = Pieces::of_runs(&[runs.clone(), runs.clone(), runs], |_| 500);
        let taken =
            |pieces: &Vec<(Run, Vec<Run>)>| pieces.iter().map(|(_, takes)| takes.len()).sum::<usize>();
        assert_eq!(dims.iter().map(taken).collect::<Vec<_>>(), [267; 3]);
        let most = dims.iter().map(|pieces| pieces.iter().map(|(range, _)| range.count).max().unwrap());
        assert!(most.clone().product::<u64>() <= AT_A_TIME, "{:?}", most.collect::<Vec<_>>());
        assert_eq!((dims[2].len(), dims[0].len()), (1, 267), "the last dimension is read as one range");
    }
}

//! Selections, along each axis and for each chunk. Chunks that are selected completely are distinguished from
//! those selected partly.

use crate::Error;
use std::collections::BTreeMap;

/// A selection along one axis. Negative numbers count from the end, as in NumPy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Index {
    /// One index. The result does not have this axis.
    At(i64),
    /// From `start` to before `stop`, every `step`-th. Backwards if `step` is negative.
    Slice {
        /// The first index. By default the beginning, or the end for a negative step.
        start: Option<i64>,
        /// The index after the last.
        stop: Option<i64>,
        /// Not zero.
        step: i64,
    },
    /// These indices, in this order. If an index occurs twice, the last value written is kept.
    List(Vec<i64>),
    /// The indices where the mask is true. It has the length of the axis.
    Mask(Vec<bool>),
}

impl Index {
    /// All indices of the axis.
    pub const ALL: Index = Index::Slice { start: None, stop: None, step: 1 };
}

/// A run of elements of an array of one axis, and the positions of their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlatRun {
    /// The first selected element.
    pub at: usize,
    /// The distance from one element to the next.
    pub step: usize,
    /// The position of the first element's value.
    pub value: usize,
    /// The distance from one value to the next.
    pub value_step: isize,
    /// The number of elements.
    pub count: usize,
}

impl FlatRun {
    /// Returns the position after the last of its values.
    fn values_end(&self) -> usize {
        let span = self.value_step.unsigned_abs() * self.count.saturating_sub(1);
        if self.value_step < 0 { self.value + 1 } else { self.value + span + 1 }
    }
}

/// Consecutive elements along an array's last axis, and the positions of their values, which are consecutive,
/// too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The first element's index along each axis.
    pub at: Vec<usize>,
    /// The number of elements.
    pub count: usize,
    /// The position of the first element's value.
    pub value: usize,
}

/// The selected points of an axis.
#[derive(Debug, Clone)]
enum Points {
    /// Disjoint, ascending.
    Runs(Vec<FlatRun>),
    Range {
        start: usize,
        step: isize,
        count: usize,
    },
    List(Vec<usize>),
}

/// A selection of an array of some shape.
#[derive(Debug, Clone)]
pub struct IndexSelection {
    axes: Vec<Points>,
    /// Axes of one index that the result does not have.
    dropped: Vec<bool>,
    /// The selected elements as segments, used instead of the axes.
    segments: Option<Vec<Segment>>,
}

/// A run of selected points in one chunk along one axis. Their positions in the chunk are `inside, inside +
/// inside_step, …`, in the value `outside, outside + outside_step, …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) inside: usize,
    pub(crate) inside_step: usize,
    pub(crate) outside: usize,
    pub(crate) outside_step: isize,
    pub(crate) count: usize,
}

/// The runs in one chunk along one axis.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) chunk: usize,
    /// True if all of the chunk that is inside the array is selected.
    pub(crate) whole: bool,
    pub(crate) runs: Vec<Run>,
}

impl IndexSelection {
    /// Selects by one index for each of the first axes, and all of the others. Several lists or masks select
    /// their cross product, each along its own axis. For points see [`IndexSelection::points`].
    ///
    /// # Errors
    /// An index outside the array; a step of 0; a mask of another length; more indices than axes.
    pub fn new(indices: &[Index], shape: &[usize]) -> Result<Self, Error> {
        if indices.len() > shape.len() {
            return Err(Error::index(format!("{} indices, but {} axes", indices.len(), shape.len())));
        }
        let all = indices.iter().chain(std::iter::repeat(&Index::ALL));
        let mut axes = Vec::new();
        for (axis, (index, &len)) in all.zip(shape).enumerate() {
            axes.push(resolve(index, axis, len)?);
        }
        let dropped = (0..shape.len()).map(|axis| matches!(indices.get(axis), Some(Index::At(_)))).collect();
        Ok(IndexSelection { axes, dropped, segments: None })
    }

    /// Selects ascending, disjoint runs of an array of one axis. This is a hyperslab of an array that is
    /// stored as one run of elements.
    /// # Errors
    /// Runs outside the array, that overlap or do not ascend; a step of 0; positions of values before the
    /// first.
    pub fn runs(runs: Vec<FlatRun>, shape: &[usize]) -> Result<Self, Error> {
        if shape.len() != 1 {
            return Err(Error::index(format!("runs of an array of {} axes", shape.len())));
        }
        Self::grid(vec![runs], shape)
    }

    /// Selects the cross product of runs along each axis, each as in [`IndexSelection::runs`]. The values are an
    /// array with the same number of axes, of which a selection may use a part.
    ///
    /// # Errors
    /// As [`IndexSelection::runs`]; another number of axes.
    pub fn grid(axes: Vec<Vec<FlatRun>>, shape: &[usize]) -> Result<Self, Error> {
        if axes.len() != shape.len() {
            return Err(Error::index(format!(
                "runs of {} axes, but the array has {}",
                axes.len(),
                shape.len()
            )));
        }
        for (runs, &len) in axes.iter().zip(shape) {
            check_runs(runs, len)?;
        }
        let dropped = vec![false; axes.len()];
        Ok(IndexSelection { axes: axes.into_iter().map(Points::Runs).collect(), dropped, segments: None })
    }

    /// Returns the position after the last value along each of the values' axes.
    pub(crate) fn ends(&self) -> Vec<usize> {
        if let Some(segments) = &self.segments {
            return vec![segments.iter().map(|s| s.value + s.count).max().unwrap_or(0)];
        }
        let end = |points: &Points| match points {
            Points::Runs(runs) => runs.iter().map(FlatRun::values_end).max().unwrap_or(0),
            other => other.len(),
        };
        self.axes.iter().map(end).collect()
    }

    /// Selects single elements, in this order.
    ///
    /// # Errors
    /// An element outside the array.
    pub fn points(points: Vec<Vec<usize>>, shape: &[usize]) -> Result<Self, Error> {
        Self::segments(
            points.into_iter().zip(0..).map(|(at, value)| Segment { at, count: 1, value }).collect(),
            shape,
        )
    }

    /// Selects segments along the last axis, in this order. Where they overlap, the last value written is
    /// kept.
    ///
    /// # Errors
    /// A segment that is empty or outside the array.
    pub fn segments(segments: Vec<Segment>, shape: &[usize]) -> Result<Self, Error> {
        let inside = |s: &Segment| {
            let last = s.at.last().map_or(Some(s.count), |&last| last.checked_add(s.count));
            s.count > 0
                && s.value.checked_add(s.count).is_some()
                && s.at.len() == shape.len()
                && s.at.iter().zip(shape).all(|(i, n)| i < n)
                && last.is_some_and(|last| last <= shape.last().copied().unwrap_or(1))
        };
        match segments.iter().find(|s| !inside(s)) {
            Some(s) => Err(Error::index(format!("{s:?} is outside {shape:?}"))),
            None => Ok(IndexSelection { axes: Vec::new(), dropped: Vec::new(), segments: Some(segments) }),
        }
    }

    /// Selects the elements where a mask over all axes, row-major, is true.
    ///
    /// # Errors
    /// A mask of another length than the array.
    pub fn mask(mask: &[bool], shape: &[usize]) -> Result<Self, Error> {
        if mask.len() != shape.iter().product::<usize>() {
            return Err(Error::index(format!("a mask of {} elements for an array of {shape:?}", mask.len())));
        }
        let all = crate::table::indices(shape).zip(mask);
        Self::points(all.filter(|(_, selected)| **selected).map(|(at, _)| at).collect(), shape)
    }

    /// The lengths of the selection, including single indices as 1. For points, their number.
    pub(crate) fn full_shape(&self) -> Vec<usize> {
        match &self.segments {
            Some(segments) => vec![segments.iter().map(|s| s.count).sum()],
            None => self.axes.iter().map(Points::len).collect(),
        }
    }

    /// Returns which axes of the selection the result has.
    pub(crate) fn kept(&self) -> Vec<bool> {
        if self.segments.is_some() {
            vec![true]
        } else {
            self.dropped.iter().map(|dropped| !dropped).collect()
        }
    }

    /// The lengths of the result.
    pub fn shape(&self) -> Vec<usize> {
        let dropped = self.dropped.iter().copied().chain(std::iter::repeat(false));
        self.full_shape().into_iter().zip(dropped).filter(|(_, dropped)| !dropped).map(|(n, _)| n).collect()
    }

    /// Returns the selected chunks, row-major: the index in the grid, whether the chunk is selected
    /// completely, and the runs along each axis.
    pub(crate) fn chunks(&self, shape: &[usize], chunk: &[usize]) -> Vec<Chunk> {
        if let Some(segments) = &self.segments {
            return chunks_of_segments(segments, shape, chunk);
        }
        let mut all = vec![Chunk { at: Vec::new(), whole: true, runs: Vec::new() }];
        for ((points, &len), &size) in self.axes.iter().zip(shape).zip(chunk) {
            let parts = points.parts(len, size);
            all = all
                .into_iter()
                .flat_map(|chunk| {
                    parts.iter().map(move |part| {
                        let mut next = chunk.clone();
                        next.at.push(part.chunk);
                        next.whole &= part.whole;
                        next.runs.push(part.runs.clone());
                        next
                    })
                })
                .collect();
        }
        all
    }

    /// Returns whether the value has one axis for all segments.
    pub(crate) fn is_segments(&self) -> bool {
        self.segments.is_some()
    }
}

/// A chunk that is selected completely or partly.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    pub(crate) at: Vec<usize>,
    pub(crate) whole: bool,
    /// The runs along each axis. For segments: the runs of each segment along all axes; the last one has its
    /// position in the value.
    pub(crate) runs: Vec<Vec<Run>>,
}

fn chunks_of_segments(segments: &[Segment], shape: &[usize], chunk: &[usize]) -> Vec<Chunk> {
    // Segments are cut at the edges of chunks, and grouped by chunk in the given order.
    let mut all: BTreeMap<Vec<usize>, Vec<Segment>> = BTreeMap::new();
    let size = chunk.last().copied().unwrap_or(1);
    for segment in segments {
        let mut done = 0;
        while done < segment.count {
            let mut at = segment.at.clone();
            let mut count = segment.count - done;
            if let Some(last) = at.last_mut() {
                *last += done;
                count = count.min(size - *last % size);
            }
            let number = at.iter().zip(chunk).map(|(i, c)| i / c).collect();
            all.entry(number).or_default().push(Segment { at, count, value: segment.value + done });
            done += count;
        }
    }
    let made = all.into_iter().map(|(at, segments)| {
        let extents: Vec<usize> =
            at.iter().zip(shape).zip(chunk).map(|((i, n), c)| (n - i * c).min(*c)).collect();
        let whole = distinct(&segments, &extents, chunk) == extents.iter().product::<usize>();
        let runs = segments.iter().map(|segment| segment_runs(segment, chunk)).collect();
        Chunk { at, whole, runs }
    });
    made.collect()
}

/// Returns the number of elements of a chunk in segments, each counted once.
fn distinct(segments: &[Segment], extents: &[usize], chunk: &[usize]) -> usize {
    let position = |s: &Segment| {
        s.at.iter().zip(chunk).zip(extents).fold(0, |position, ((i, c), n)| position * n + i % c)
    };
    let mut spans: Vec<(usize, usize)> = segments.iter().map(|s| (position(s), s.count)).collect();
    spans.sort_unstable();
    let (mut total, mut end) = (0, 0);
    for (begin, count) in spans {
        let after = (begin + count).max(end);
        total += after - begin.max(end);
        end = after;
    }
    total
}

fn segment_runs(segment: &Segment, chunk: &[usize]) -> Vec<Run> {
    let run = |(i, c): (&usize, &usize)| Run {
        inside: i % c,
        inside_step: 1,
        outside: segment.value,
        outside_step: 1,
        count: 1,
    };
    let mut runs: Vec<Run> = segment.at.iter().zip(chunk).map(run).collect();
    if let Some(last) = runs.last_mut() {
        last.count = segment.count;
    }
    runs
}

/// Refuses runs of an axis that are outside it, overlap or do not ascend.
fn check_runs(runs: &[FlatRun], len: usize) -> Result<(), Error> {
    let mut end = 0;
    for run in runs {
        let span = run.value_step.unsigned_abs().checked_mul(run.count.saturating_sub(1));
        let behind = span.is_some_and(|span| run.value_step >= 0 || span <= run.value);
        let inside = run.step.checked_mul(run.count.saturating_sub(1)).and_then(|n| n.checked_add(run.at));
        let fits = run.step > 0 && run.count > 0 && behind && run.at >= end;
        match inside.filter(|&last| fits && last < len) {
            Some(last) => end = last + 1,
            None => return Err(Error::index(format!("{run:?} is no further run of {len} elements"))),
        }
    }
    Ok(())
}

fn resolve(index: &Index, axis: usize, len: usize) -> Result<Points, Error> {
    let outside = |i: i64| Error::index(format!("index {i} is outside axis {axis}, which has {len}"));
    let signed = i64::try_from(len).map_err(|_| Error::index(format!("axis {axis} is too long")))?;
    let one = |i: i64| {
        let at = if i < 0 { i + signed } else { i };
        usize::try_from(at).ok().filter(|&at| at < len).ok_or_else(|| outside(i))
    };
    Ok(match index {
        Index::At(i) => Points::Range { start: one(*i)?, step: 1, count: 1 },
        Index::List(list) => Points::List(list.iter().map(|&i| one(i)).collect::<Result<_, _>>()?),
        Index::Mask(mask) if mask.len() != len => {
            return Err(Error::index(format!("a mask of {} for axis {axis}, which has {len}", mask.len())));
        }
        Index::Mask(mask) => Points::List((0..len).filter(|&i| mask[i]).collect()),
        Index::Slice { step: 0, .. } => return Err(Error::index("a step of 0".to_owned())),
        Index::Slice { start, stop, step } => {
            // The same rule as Python's slice.indices.
            let (low, high) = if *step < 0 { (-1, signed - 1) } else { (0, signed) };
            let clip = |i: i64| (if i < 0 { i.saturating_add(signed) } else { i }).clamp(low, high);
            let start = start.map_or(if *step < 0 { high } else { low }, clip);
            let stop = stop.map_or(if *step < 0 { low } else { high }, clip);
            let span = if *step < 0 { start - stop } else { stop - start };
            let count = if span <= 0 { 0 } else { (span - 1) / step.abs() + 1 };
            let small = |n: i64| isize::try_from(n).map_err(|_| Error::index(format!("step {n}")));
            Points::Range {
                start: usize::try_from(start).unwrap_or(0),
                // With at most one point the step has no meaning.
                step: if count > 1 { small(*step)? } else { 1 },
                count: usize::try_from(count).unwrap_or(0),
            }
        }
    })
}

impl Points {
    fn len(&self) -> usize {
        match self {
            Points::Range { count, .. } => *count,
            Points::List(list) => list.len(),
            Points::Runs(runs) => runs.iter().map(|run| run.count).sum(),
        }
    }

    /// Returns the chunks of this size with selected points, ascending.
    fn parts(&self, len: usize, size: usize) -> Vec<Part> {
        match self {
            Points::Range { start, step, count } => range_parts((*start, *step, *count), len, size),
            Points::List(list) => list_parts(list, len, size),
            Points::Runs(runs) => run_parts(runs, len, size),
        }
    }
}

/// Returns the length of a chunk along an axis, inside the array.
fn extent(chunk: usize, len: usize, size: usize) -> usize {
    size.min(len - chunk * size)
}

fn range_parts((start, step, count): (usize, isize, usize), len: usize, size: usize) -> Vec<Part> {
    if count == 0 {
        return Vec::new();
    }
    let stride = step.unsigned_abs();
    // Ascending indices. The value is then read backwards.
    let first = if step < 0 { start - (count - 1) * stride } else { start };
    let mut parts = Vec::new();
    let mut done = 0;
    while done < count {
        let at = first + done * stride;
        let (chunk, inside) = (at / size, at % size);
        let here = (size - inside).div_ceil(stride).min(count - done);
        let (outside, outside_step) = if step < 0 { (count - 1 - done, -1) } else { (done, 1) };
        let run = Run { inside, inside_step: stride, outside, outside_step, count: here };
        parts.push(Part { chunk, whole: here == extent(chunk, len, size), runs: vec![run] });
        done += here;
    }
    parts
}

fn run_parts(all: &[FlatRun], len: usize, size: usize) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut selected = 0;
    for run in all {
        let mut done = 0;
        while done < run.count {
            let at = run.at + done * run.step;
            let (chunk, inside) = (at / size, at % size);
            let count = (size - inside).div_ceil(run.step).min(run.count - done);
            let moved = isize::try_from(done).expect("no more than elements") * run.value_step;
            let (outside, outside_step) = (run.value.wrapping_add_signed(moved), run.value_step);
            if parts.last().is_none_or(|part| part.chunk != chunk) {
                parts.push(Part { chunk, whole: false, runs: Vec::new() });
                selected = 0;
            }
            let part = parts.last_mut().expect("one was pushed if there was none");
            part.runs.push(Run { inside, inside_step: run.step, outside, outside_step, count });
            selected += count;
            part.whole = selected == extent(chunk, len, size);
            done += count;
        }
    }
    parts
}

fn list_parts(list: &[usize], len: usize, size: usize) -> Vec<Part> {
    let mut sorted: Vec<(usize, usize)> = list.iter().map(|i| i / size).zip(0..).collect();
    sorted.sort_by_key(|(chunk, _)| *chunk);
    let mut parts: Vec<Part> = Vec::new();
    for (chunk, outside) in sorted {
        let inside = list[outside] % size;
        if parts.last().is_none_or(|part| part.chunk != chunk) {
            parts.push(Part { chunk, whole: false, runs: Vec::new() });
        }
        let runs = &mut parts.last_mut().expect("one was pushed if there was none").runs;
        match runs.last_mut() {
            // Neighbours in both the chunk and the value are joined to one run.
            Some(run) if run.inside + run.count == inside && run.outside + run.count == outside => {
                run.count += 1;
            }
            _ => runs.push(Run { inside, inside_step: 1, outside, outside_step: 1, count: 1 }),
        }
    }
    for part in &mut parts {
        let mut seen = vec![false; size];
        for run in &part.runs {
            seen[run.inside..run.inside + run.count].fill(true);
        }
        part.whole = seen[..extent(part.chunk, len, size)].iter().all(|&seen| seen);
    }
    parts
}

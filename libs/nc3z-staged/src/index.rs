//! The chunks that a selection touches. Chunks that are selected completely are distinguished from those selected
//! partly.

use nc3z_format::selection::{Placed, Row, Run};
use std::collections::BTreeMap;

/// A run of selected points in one chunk along one axis. Their positions in the chunk are `inside, inside +
/// inside_step, …`, in the value `outside, outside + outside_step, …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) inside: usize,
    pub(crate) inside_step: usize,
    pub(crate) outside: usize,
    pub(crate) outside_step: isize,
    pub(crate) count: usize,
}

/// The pieces in one chunk along one axis.
#[derive(Debug, Clone)]
struct Part {
    chunk: usize,
    /// True if all of the chunk that is inside the array is selected.
    whole: bool,
    pieces: Vec<Piece>,
}

/// A chunk that is selected completely or partly.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    pub(crate) at: Vec<usize>,
    pub(crate) whole: bool,
    /// The pieces along each axis. For rows: the pieces of each row along all axes; the last one has its position in
    /// the value.
    pub(crate) pieces: Vec<Vec<Piece>>,
}

/// Converts a number that is less than a length in memory.
pub(crate) fn narrow(n: u64) -> usize {
    usize::try_from(n).expect("inside an array whose lengths are usize")
}

/// Returns the selected chunks, row-major.
pub(crate) fn chunks(selection: &Placed, shape: &[usize], chunk: &[usize]) -> Vec<Chunk> {
    let Some(dims) = selection.as_grid() else {
        return chunks_of_rows(selection.as_rows(), shape, chunk);
    };
    let mut all = vec![Chunk { at: Vec::new(), whole: true, pieces: Vec::new() }];
    for ((runs, &len), &size) in dims.iter().zip(shape).zip(chunk) {
        let parts = parts(runs, len, size);
        all = all
            .into_iter()
            .flat_map(|chunk| {
                parts.iter().map(move |part| {
                    let mut next = chunk.clone();
                    next.at.push(part.chunk);
                    next.whole &= part.whole;
                    next.pieces.push(part.pieces.clone());
                    next
                })
            })
            .collect();
    }
    all
}

/// Returns the chunks of this size with selected points of an axis, ascending.
fn parts(runs: &[Run], len: usize, size: usize) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    // Distinct indices of the last part, and the last index.
    let (mut selected, mut last) = (0, None);
    for run in runs {
        let (first, inside_step, total) = (narrow(run.low), narrow(run.step), narrow(run.count));
        let place = narrow(run.place);
        let repeated = usize::from(last == Some(first));
        let mut done = 0;
        while done < total {
            let at = first + done * inside_step;
            let (chunk, inside) = (at / size, at % size);
            let count = (size - inside).div_ceil(inside_step).min(total - done);
            let (outside, outside_step) = if run.reversed { (place - done, -1) } else { (place + done, 1) };
            if parts.last().is_none_or(|part| part.chunk != chunk) {
                parts.push(Part { chunk, whole: false, pieces: Vec::new() });
                selected = 0;
            }
            selected += count - if done == 0 { repeated } else { 0 };
            let part = parts.last_mut().expect("one was pushed if there was none");
            part.pieces.push(Piece { inside, inside_step, outside, outside_step, count });
            part.whole = selected == size.min(len - chunk * size);
            done += count;
        }
        last = Some(narrow(run.last()));
    }
    parts
}

fn chunks_of_rows(rows: &[Row], shape: &[usize], chunk: &[usize]) -> Vec<Chunk> {
    // Rows are cut at the edges of chunks, and grouped by chunk in the given order.
    let mut all: BTreeMap<Vec<usize>, Vec<Vec<Piece>>> = BTreeMap::new();
    let size = chunk.last().copied().unwrap_or(1);
    for row in rows {
        let (mut at, total, place): (Vec<usize>, _, _) =
            (row.at.iter().map(|i| narrow(*i)).collect(), narrow(row.count), narrow(row.place));
        let mut done = 0;
        while done < total {
            let count = at.last().map_or(1, |last| size - last % size).min(total - done);
            let number = at.iter().zip(chunk).map(|(i, c)| i / c).collect();
            let piece = |(i, c)| Piece {
                inside: i % c,
                inside_step: 1,
                outside: place + done,
                outside_step: 1,
                count: 1,
            };
            let mut pieces: Vec<Piece> = at.iter().zip(chunk).map(piece).collect();
            if let (Some(piece), Some(last)) = (pieces.last_mut(), at.last_mut()) {
                piece.count = count;
                *last += count;
            }
            all.entry(number).or_default().push(pieces);
            done += count;
        }
    }
    let made = all.into_iter().map(|(at, pieces)| {
        let extents: Vec<usize> =
            at.iter().zip(shape).zip(chunk).map(|((i, n), c)| (n - i * c).min(*c)).collect();
        let whole = distinct(&pieces, &extents) == extents.iter().product::<usize>();
        Chunk { at, whole, pieces }
    });
    made.collect()
}

/// Returns the number of elements of a chunk in rows, each counted once.
fn distinct(rows: &[Vec<Piece>], extents: &[usize]) -> usize {
    let position =
        |row: &Vec<Piece>| row.iter().zip(extents).fold(0, |position, (p, n)| position * n + p.inside);
    let count = |row: &Vec<Piece>| row.last().map_or(1, |piece| piece.count);
    let mut spans: Vec<(usize, usize)> = rows.iter().map(|row| (position(row), count(row))).collect();
    spans.sort_unstable();
    let (mut total, mut end) = (0, 0);
    for (begin, count) in spans {
        let after = (begin + count).max(end);
        total += after - begin.max(end);
        end = after;
    }
    total
}

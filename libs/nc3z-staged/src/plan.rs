//! Plans: the slices that are copied, with source and destination. They contain no data, only shapes and
//! indices, and print as instructions.

use crate::index::{Chunk, Piece, chunks, narrow};
use crate::table::{Table, indices};
use nc3z_format::selection::Placed;

/// The source or destination of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A slab; 0 is the full one.
    Slab(usize),
    /// The value of a `set`.
    Value,
    /// The result of a `get`.
    Out,
}

/// A strided box that is copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// First index in the source.
    pub from: Vec<usize>,
    /// Steps in the source. Negative if the value is read backwards.
    pub from_step: Vec<isize>,
    /// First index in the destination.
    pub to: Vec<usize>,
    /// Steps in the destination.
    pub to_step: Vec<isize>,
    /// The number of elements along each axis.
    pub count: Vec<usize>,
}

/// The transfers between two places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfers {
    /// The slab that is copied from.
    pub from: Place,
    /// The slab that is copied to.
    pub to: Place,
    /// The copied boxes of both slabs.
    pub boxes: Vec<Transfer>,
}

/// A chunk that a selection touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// Its index in the grid.
    pub at: Vec<usize>,
    /// True if all of the chunk that is inside the array is selected.
    pub whole: bool,
}

/// Reads a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetPlan {
    /// The lengths of the result, including single indices as 1.
    pub shape: Vec<usize>,
    /// The chunks that are read, row-major.
    pub touched: Vec<Touched>,
    /// The copies, in the order of the chunks.
    pub transfers: Vec<Transfers>,
}

/// The operations of a plan that changes the array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// The shapes of the staged slabs that are appended, empty.
    pub append: Vec<Vec<usize>>,
    /// The number of the first slab that is appended.
    pub first: usize,
    /// The copies, in this order.
    pub transfers: Vec<Transfers>,
    /// The staged slabs that no chunk uses afterwards.
    pub drop: Vec<usize>,
    /// The slab of each chunk afterwards.
    pub slab_indices: Table,
    /// The offset of each chunk in its slab afterwards, along the first axis.
    pub slab_offsets: Table,
}

/// Writes a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetPlan {
    /// The lengths of the value, including single indices as 1.
    pub value_shape: Vec<usize>,
    /// The chunks that are written, row-major.
    pub touched: Vec<Touched>,
    /// The operations of the plan, in order.
    pub changes: Changes,
}

/// Changes the shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResizePlan {
    /// The lengths before the change.
    pub before: Vec<usize>,
    /// The lengths after the change.
    pub after: Vec<usize>,
    /// The operations of the plan, in order.
    pub changes: Changes,
}

/// Loads all chunks of base slabs into memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadPlan {
    /// The operations of the plan, in order.
    pub changes: Changes,
}

/// The chunks that a commit stores: those in staged slabs. All others are unchanged, or have only the fill
/// value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPlan {
    /// Chunks to store: the index in the grid, the slab, the offset in it, the lengths inside the array.
    pub store: Vec<StagedChunk>,
    /// Chunks that stay in base slabs: index in the grid, slab, offset.
    pub keep: Vec<(Vec<usize>, usize, usize)>,
    /// Chunks of the full slab.
    pub full: Vec<Vec<usize>>,
}

/// A chunk in a staged slab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedChunk {
    /// Its index in the grid.
    pub at: Vec<usize>,
    /// The slab that holds the chunk.
    pub slab: usize,
    /// The offset of the chunk in the slab, along the first axis.
    pub offset: usize,
    /// The lengths of the chunk inside the array.
    pub shape: Vec<usize>,
}

/// The shape, the chunks, and the location of each chunk.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) shape: Vec<usize>,
    pub(crate) chunk: Vec<usize>,
    pub(crate) slab_indices: Table,
    pub(crate) slab_offsets: Table,
    /// The kind of each slab so far. The first is the full one.
    pub(crate) kinds: Vec<SlabKind>,
}

/// The kind of a slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlabKind {
    Full,
    /// Read-only. It existed before anything was staged.
    Base,
    /// Read-only. Its chunks were staged, and then moved out of memory.
    Spilled,
    /// In memory. It is written in place.
    Staged,
}

/// Chunks of a slab with their boxes, for one destination.
#[derive(Default)]
struct Gather(Vec<Transfers>);

impl Gather {
    fn push(&mut self, from: Place, to: Place, transfer: Transfer) {
        match self.0.iter_mut().find(|group| (group.from, group.to) == (from, to)) {
            Some(group) => group.boxes.push(transfer),
            None => self.0.push(Transfers { from, to, boxes: vec![transfer] }),
        }
    }

    /// Returns the transfers in the order of the slabs.
    fn sorted(mut self, by: impl Fn(&Transfers) -> Place) -> Vec<Transfers> {
        self.0.sort_by_key(|group| by(group));
        self.0
    }
}

impl Layout {
    pub(crate) fn grid(shape: &[usize], chunk: &[usize]) -> Vec<usize> {
        shape.iter().zip(chunk).map(|(n, c)| n.div_ceil(*c)).collect()
    }

    /// Returns whether a slab can be written in place.
    fn is_staged(&self, slab: usize) -> bool {
        self.kinds[slab] == SlabKind::Staged
    }

    /// Returns the lengths of a chunk inside the array.
    pub(crate) fn extent(&self, at: &[usize]) -> Vec<usize> {
        at.iter().zip(&self.chunk).zip(&self.shape).map(|((i, c), n)| (n - i * c).min(*c)).collect()
    }

    /// Converts an index in a chunk to an index in the chunk's slab.
    fn in_slab(&self, at: &[usize], inside: &[usize]) -> Vec<usize> {
        let mut place = inside.to_vec();
        if let Some(first) = place.first_mut() {
            *first += self.slab_offsets.get(at);
        }
        place
    }

    pub(crate) fn get(&self, selection: &Placed) -> GetPlan {
        let mut gather = Gather::default();
        let mut touched = Vec::new();
        for chunk in chunks(selection, &self.shape, &self.chunk) {
            touched.push(Touched { at: chunk.at.clone(), whole: chunk.whole });
            let slab = Place::Slab(self.slab_indices.get(&chunk.at));
            for pieces in boxes(&chunk, selection) {
                let (inside, outside, count) = sides(&pieces, selection);
                let transfer = Transfer {
                    from: self.in_slab(&chunk.at, &inside.0),
                    from_step: inside.1,
                    to: outside.0,
                    to_step: outside.1,
                    count,
                };
                gather.push(slab, Place::Out, transfer);
            }
        }
        GetPlan { shape: lengths(selection), touched, transfers: gather.sorted(|group| group.from) }
    }

    pub(crate) fn set(&self, selection: &Placed) -> SetPlan {
        let mut next = self.clone();
        let chunks = chunks(selection, &self.shape, &self.chunk);
        let is_fixed = |chunk: &&Chunk| !self.is_staged(self.slab_indices.get(&chunk.at));
        let partial: Vec<Vec<usize>> =
            chunks.iter().filter(is_fixed).filter(|c| !c.whole).map(|c| c.at.clone()).collect();
        let whole: Vec<Vec<usize>> =
            chunks.iter().filter(is_fixed).filter(|c| c.whole).map(|c| c.at.clone()).collect();
        let mut append = Vec::new();
        // Chunks that are selected partly are copied first.
        let mut transfers = next.stage(&partial, &mut append, true);
        next.stage(&whole, &mut append, false);
        let mut gather = Gather::default();
        for chunk in &chunks {
            let slab = Place::Slab(next.slab_indices.get(&chunk.at));
            for pieces in boxes(chunk, selection) {
                let (inside, outside, count) = sides(&pieces, selection);
                let transfer = Transfer {
                    from: outside.0,
                    from_step: outside.1,
                    to: next.in_slab(&chunk.at, &inside.0),
                    to_step: inside.1,
                    count,
                };
                gather.push(Place::Value, slab, transfer);
            }
        }
        // New slabs first, in the order of the tables.
        let fresh = |group: &Transfers| {
            let was = match group.to {
                Place::Slab(n) if n >= self.kinds.len() && !append.is_empty() => n,
                _ => 0,
            };
            std::cmp::Reverse(was)
        };
        let mut values = gather.sorted(|group| group.to);
        values.sort_by_key(fresh);
        transfers.extend(values);
        let touched = chunks.into_iter().map(|Chunk { at, whole, .. }| Touched { at, whole }).collect();
        SetPlan { value_shape: lengths(selection), touched, changes: next.changes(self, append, transfers) }
    }

    pub(crate) fn resize(&self, shape: &[usize]) -> ResizePlan {
        let mut next = self.clone();
        let mut append = Vec::new();
        let mut transfers = Vec::new();
        // Axes that shrink are changed first: chunks that are removed need not be filled.
        for (axis, &len) in shape.iter().enumerate() {
            if len < next.shape[axis] {
                next.shape[axis] = len;
                let grid = Self::grid(&next.shape, &next.chunk);
                next.slab_indices = next.slab_indices.resized(&grid);
                next.slab_offsets = next.slab_offsets.resized(&grid);
            }
        }
        for (axis, &len) in shape.iter().enumerate() {
            if len > next.shape[axis] {
                transfers.extend(next.enlarge(axis, len, &mut append));
            }
        }
        let changes = next.changes(self, append, transfers);
        ResizePlan { before: self.shape.clone(), after: shape.to_vec(), changes }
    }

    /// Makes one axis longer: edge chunks in a slab are staged, and filled.
    fn enlarge(&mut self, axis: usize, len: usize, append: &mut Vec<Vec<usize>>) -> Vec<Transfers> {
        let (before, size) = (self.shape[axis], self.chunk[axis]);
        let grid = Self::grid(&self.shape, &self.chunk);
        let edge: Vec<Vec<usize>> = if before % size == 0 {
            Vec::new()
        } else {
            let at_edge = |at: &Vec<usize>| at[axis] == before / size && self.slab_indices.get(at) != 0;
            indices(&grid).filter(at_edge).collect()
        };
        let on_base: Vec<Vec<usize>> =
            edge.iter().filter(|at| !self.is_staged(self.slab_indices.get(at))).cloned().collect();
        let mut transfers = self.stage(&on_base, append, true);
        let mut gather = Gather::default();
        for at in &edge {
            let mut inside = vec![0; at.len()];
            let mut count = self.extent(at);
            inside[axis] = count[axis];
            count[axis] = size.min(len - at[axis] * size) - count[axis];
            let step = vec![1; at.len()];
            let transfer = Transfer {
                from: inside.clone(),
                from_step: step.clone(),
                to: self.in_slab(at, &inside),
                to_step: step,
                count,
            };
            gather.push(Place::Slab(0), Place::Slab(self.slab_indices.get(at)), transfer);
        }
        transfers.extend(gather.sorted(|group| group.to));
        self.shape[axis] = len;
        let grid = Self::grid(&self.shape, &self.chunk);
        self.slab_indices = self.slab_indices.resized(&grid);
        self.slab_offsets = self.slab_offsets.resized(&grid);
        transfers
    }

    pub(crate) fn load(&self) -> LoadPlan {
        let mut next = self.clone();
        let on_base = |at: &Vec<usize>| {
            matches!(self.kinds[self.slab_indices.get(at)], SlabKind::Base | SlabKind::Spilled)
        };
        let chunks: Vec<Vec<usize>> = indices(self.slab_indices.shape()).filter(on_base).collect();
        let mut append = Vec::new();
        let transfers = next.stage(&chunks, &mut append, true);
        LoadPlan { changes: next.changes(self, append, transfers) }
    }

    pub(crate) fn commit(&self) -> CommitPlan {
        let mut plan = CommitPlan { store: Vec::new(), keep: Vec::new(), full: Vec::new() };
        for at in indices(self.slab_indices.shape()) {
            let (slab, offset) = (self.slab_indices.get(&at), self.slab_offsets.get(&at));
            match self.kinds[slab] {
                SlabKind::Full => plan.full.push(at),
                SlabKind::Base => plan.keep.push((at, slab, offset)),
                SlabKind::Spilled | SlabKind::Staged => {
                    let shape = self.extent(&at);
                    plan.store.push(StagedChunk { at, slab, offset, shape });
                }
            }
        }
        plan
    }

    /// Moves chunks to a new staged slab. If `copied`, their elements are copied.
    fn stage(&mut self, chunks: &[Vec<usize>], append: &mut Vec<Vec<usize>>, copied: bool) -> Vec<Transfers> {
        if chunks.is_empty() {
            return Vec::new();
        }
        let size = self.chunk.first().copied().unwrap_or(1);
        let slab = self.kinds.len();
        let mut shape = self.chunk.clone();
        if let Some(first) = shape.first_mut() {
            *first *= chunks.len();
        }
        append.push(shape);
        self.kinds.push(SlabKind::Staged);
        let mut gather = Gather::default();
        for (n, at) in chunks.iter().enumerate() {
            let (was, count) = (self.slab_indices.get(at), self.extent(at));
            let zero = vec![0; at.len()];
            let from = if was == 0 { zero.clone() } else { self.in_slab(at, &zero) };
            self.slab_indices.set(at, slab);
            self.slab_offsets.set(at, n * size);
            if copied {
                let step = vec![1; at.len()];
                let to = self.in_slab(at, &zero);
                let transfer = Transfer { from, from_step: step.clone(), to, to_step: step, count };
                gather.push(Place::Slab(was), Place::Slab(slab), transfer);
            }
        }
        gather.sorted(|group| group.from)
    }

    /// Returns the changes that lead from `before` to this layout.
    fn changes(self, before: &Layout, append: Vec<Vec<usize>>, transfers: Vec<Transfers>) -> Changes {
        // Only staged slabs are dropped: the others use no memory.
        let fresh = before.kinds.len();
        let is_out = |n: &usize| self.kinds[*n] == SlabKind::Staged;
        let (mut used, mut was_used) = (vec![false; self.kinds.len()], vec![false; self.kinds.len()]);
        self.slab_indices.cells().iter().for_each(|&n| used[n] = true);
        before.slab_indices.cells().iter().for_each(|&n| was_used[n] = true);
        let drop = (0..self.kinds.len()).filter(is_out).filter(|&n| !used[n] && (was_used[n] || n >= fresh));
        let drop = drop.collect();
        let (slab_indices, slab_offsets) = (self.slab_indices, self.slab_offsets);
        Changes { append, first: fresh, transfers, drop, slab_indices, slab_offsets }
    }
}

/// Returns the lengths of the value or result of a selection.
pub(crate) fn lengths(selection: &Placed) -> Vec<usize> {
    selection.counts().into_iter().map(narrow).collect()
}

/// Combines the pieces of a chunk: each box has one piece along each axis. Each row is a box of its own.
fn boxes(chunk: &Chunk, selection: &Placed) -> Vec<Vec<Piece>> {
    if selection.as_grid().is_none() {
        return chunk.pieces.clone();
    }
    let mut all: Vec<Vec<Piece>> = vec![Vec::new()];
    for pieces in &chunk.pieces {
        let longer = |done: &Vec<Piece>| {
            let done = done.clone();
            pieces.iter().map(move |piece| [&done[..], &[*piece]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Returns the box in the chunk and in the value, each with first index and steps; and the counts.
#[expect(clippy::type_complexity, reason = "two sides of one box")]
fn sides(
    pieces: &[Piece],
    selection: &Placed,
) -> ((Vec<usize>, Vec<isize>), (Vec<usize>, Vec<isize>), Vec<usize>) {
    let inside = pieces.iter().map(|piece| piece.inside).collect();
    let step = |piece: &Piece| isize::try_from(piece.inside_step).expect("no longer than an axis");
    let inside_step = pieces.iter().map(step).collect();
    let count = pieces.iter().map(|piece| piece.count).collect();
    if selection.as_grid().is_none() {
        // The value has one axis, that of the box's last axis. The others have one element.
        let at = pieces.last().map_or(0, |piece| piece.outside);
        return ((inside, inside_step), (vec![at], vec![1]), count);
    }
    let outside = pieces.iter().map(|piece| piece.outside).collect();
    let outside_step = pieces.iter().map(|piece| piece.outside_step).collect();
    ((inside, inside_step), (outside, outside_step), count)
}

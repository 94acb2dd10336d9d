//! The array: its slabs, and the execution of plans.

use crate::Error;
use crate::dense::{Dense, for_each_position, gather, scatter};
use crate::index::narrow;
use crate::plan::{
    Changes, CommitPlan, GetPlan, Layout, LoadPlan, Place, ResizePlan, SetPlan, SlabKind, Transfer,
    Transfers, lengths,
};
use crate::table::{Table, indices};
use nc3z_format::selection::Placed;

/// The most chunks that an array can grow to, unless it began with more than half as many.
///
/// A chunk takes two words in the tables, five while they grow, and about 100 bytes in the plan of a commit.
pub const MAX_CHUNKS: usize = 1 << 22;

/// Returns the grid of the chunks of an array that began with `present` chunks.
///
/// # Errors
/// A chunk of another rank than the array, or with a length of 0. More chunks than [`MAX_CHUNKS`] and than twice
/// `present`.
pub fn check_grid(shape: &[usize], chunk: &[usize], present: usize) -> Result<Vec<usize>, Error> {
    let product = |lens: &[usize]| lens.iter().try_fold(1_usize, |n, &len| n.checked_mul(len));
    if shape.len() != chunk.len() || chunk.contains(&0) || product(chunk).is_none() {
        return Err(Error::Invalid(format!("chunks of {chunk:?} for an array of {shape:?}")));
    }
    let grid = Layout::grid(shape, chunk);
    let most = MAX_CHUNKS.max(present.saturating_mul(2));
    if product(shape).is_some() && product(&grid).is_some_and(|chunks| chunks <= most) {
        return Ok(grid);
    }
    Err(Error::Invalid(format!(
        "the lengths {shape:?} give more than {most} tiles of {chunk:?}, the most of an edit: use a smaller length, or archive the file with larger tiles"
    )))
}

/// A source of chunks, which follow each other along the first axis.
pub trait BaseSlab<T>: Send + Sync {
    /// The lengths. All but the first are those of a chunk.
    fn shape(&self) -> &[usize];

    /// Reads a box, row-major, into `out`, whose length is that of the box.
    ///
    /// # Errors
    /// An error of the store.
    fn read(
        &self,
        start: &[usize],
        count: &[usize],
        out: &mut [T],
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// A slab in memory, used as a base.
struct MemorySlab<T>(Dense<T>);

impl<T: Copy + Send + Sync> BaseSlab<T> for MemorySlab<T> {
    fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    fn read(
        &self,
        start: &[usize],
        count: &[usize],
        out: &mut [T],
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let step = vec![1; start.len()];
        let mut out = out.iter_mut();
        for_each_position(&self.0.shape, start, &step, count, |at| {
            if let Some(out) = out.next() {
                *out = self.0.cells[at];
            }
        });
        Ok(())
    }
}

enum Slab<T> {
    Full,
    Base(Box<dyn BaseSlab<T>>),
    Staged(Dense<T>),
    Dropped,
}

/// An array with staged changes.
pub struct StagedArray<T> {
    layout: Layout,
    slabs: Vec<Slab<T>>,
    fill: T,
    /// The number of chunks at the beginning.
    present: usize,
}

impl<T: Copy + Send + Sync + 'static> StagedArray<T> {
    /// Makes an array whose elements are all the fill value.
    ///
    /// # Errors
    /// A chunk of another rank than the array, or with a length of 0. More than [`MAX_CHUNKS`] chunks.
    pub fn full(shape: impl Into<Vec<usize>>, chunk: impl Into<Vec<usize>>, fill: T) -> Result<Self, Error> {
        let (shape, chunk) = (shape.into(), chunk.into());
        let grid = check_grid(&shape, &chunk, 0)?;
        Self::new(shape, chunk, Vec::new(), Table::zeros(&grid), Table::zeros(&grid), fill)
    }

    /// Makes an array over one base slab in memory that contains all its chunks, row-major. `cells` are the
    /// array's elements.
    ///
    /// # Errors
    /// As [`StagedArray::full`]; a number of cells that does not match the shape.
    pub fn from_base(
        shape: impl Into<Vec<usize>>,
        chunk: impl Into<Vec<usize>>,
        cells: Vec<T>,
        fill: T,
    ) -> Result<Self, Error> {
        let (shape, chunk) = (shape.into(), chunk.into());
        let grid = check_grid(&shape, &chunk, cells.len())?;
        let given = Dense { shape: shape.clone(), cells };
        if given.cells.len() != shape.iter().product::<usize>() {
            return Err(Error::Invalid(format!("{} cells for an array of {shape:?}", given.cells.len())));
        }
        let size = chunk.first().copied().unwrap_or(1);
        let count: usize = grid.iter().product();
        let mut slab_shape = chunk.clone();
        if let Some(first) = slab_shape.first_mut() {
            *first *= count;
        }
        let mut slab = Dense { cells: vec![fill; slab_shape.iter().product()], shape: slab_shape };
        for at in indices(&shape) {
            let number = at.iter().zip(&chunk).zip(&grid).fold(0, |n, ((i, c), g)| n * g + i / c);
            let mut inside: Vec<usize> = at.iter().zip(&chunk).map(|(i, c)| i % c).collect();
            if let Some(first) = inside.first_mut() {
                *first += number * size;
            }
            let position = slab.position(&inside);
            slab.cells[position] = given.cells[given.position(&at)];
        }
        let offsets =
            Table::new(&grid, (0..count).map(|n| n * size).collect()).expect("a number for each chunk");
        let ones = Table::new(&grid, vec![1; count]).expect("a number for each chunk");
        Self::new(shape, chunk, vec![Box::new(MemorySlab(slab))], ones, offsets, fill)
    }

    /// Makes an array over base slabs. A chunk with index 0 has the fill value. A chunk with index n is in
    /// `base[n - 1]`.
    ///
    /// # Errors
    /// As [`StagedArray::full`]; tables whose shape is not that of the grid; a chunk that is in no slab, or
    /// not completely inside its slab.
    pub fn new(
        shape: impl Into<Vec<usize>>,
        chunk: impl Into<Vec<usize>>,
        base: Vec<Box<dyn BaseSlab<T>>>,
        slab_indices: Table,
        slab_offsets: Table,
        fill: T,
    ) -> Result<Self, Error> {
        let (shape, chunk) = (shape.into(), chunk.into());
        let present = slab_indices.cells().len();
        let grid = check_grid(&shape, &chunk, present)?;
        if slab_indices.shape() != grid || slab_offsets.shape() != grid {
            return Err(Error::Invalid(format!("tables that are not of {grid:?}")));
        }
        for (&slab, &offset) in slab_indices.cells().iter().zip(slab_offsets.cells()) {
            let Some(slab) = slab.checked_sub(1) else { continue };
            let known = base.get(slab).ok_or_else(|| Error::Invalid(format!("unknown base slab {slab}")))?;
            let fits = match (known.shape(), &chunk[..]) {
                ([], []) => true,
                ([len, inner @ ..], [size, rest @ ..]) => {
                    inner == rest && offset.checked_add(*size).is_some_and(|end| end <= *len)
                }
                _ => false,
            };
            if !fits {
                return Err(Error::Invalid(format!(
                    "a chunk at {offset} of base slab {slab} of {:?}",
                    known.shape()
                )));
            }
        }
        let slabs: Vec<Slab<T>> =
            std::iter::once(Slab::Full).chain(base.into_iter().map(Slab::Base)).collect();
        let kinds = std::iter::once(SlabKind::Full).chain(vec![SlabKind::Base; slabs.len() - 1]).collect();
        let layout = Layout { shape, chunk, slab_indices, slab_offsets, kinds };
        Ok(StagedArray { layout, slabs, fill, present })
    }

    /// Refuses lengths that [`StagedArray::resize`] refuses.
    ///
    /// # Errors
    /// Another rank, or too many chunks.
    pub fn check_resize(&self, shape: &[usize]) -> Result<(), Error> {
        check_grid(shape, &self.layout.chunk, self.present).map(drop)
    }

    /// The lengths of the dimensions.
    pub fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    /// The lengths of a chunk.
    pub fn chunk(&self) -> &[usize] {
        &self.layout.chunk
    }

    /// The slab of each chunk.
    pub fn slab_indices(&self) -> &Table {
        &self.layout.slab_indices
    }

    /// The offset of each chunk in its slab.
    pub fn slab_offsets(&self) -> &Table {
        &self.layout.slab_offsets
    }

    /// The number of elements in staged slabs.
    pub fn staged_len(&self) -> usize {
        let len = |slab: &Slab<T>| if let Slab::Staged(dense) = slab { dense.cells.len() } else { 0 };
        self.slabs.iter().map(len).sum()
    }

    /// Returns whether anything is staged.
    pub fn has_changes(&self) -> bool {
        self.slabs.iter().any(|slab| matches!(slab, Slab::Staged(_)))
            || self.layout.kinds.contains(&SlabKind::Spilled)
    }

    /// Moves staged slabs out of memory. `make` gets the shape and the elements of each slab, and returns the
    /// source that they are read from afterwards. The slabs still count as changes.
    ///
    /// # Errors
    /// An error of `make`. That slab and those after it then stay in memory.
    pub fn spill(
        &mut self,
        mut make: impl FnMut(
            &[usize],
            &[T],
        ) -> Result<Box<dyn BaseSlab<T>>, Box<dyn std::error::Error + Send + Sync>>,
    ) -> Result<(), Error> {
        for (slab, kind) in self.slabs.iter_mut().zip(&mut self.layout.kinds) {
            if let Slab::Staged(dense) = slab {
                *slab = Slab::Base(make(&dense.shape, &dense.cells).map_err(Error::Base)?);
                *kind = SlabKind::Spilled;
            }
        }
        Ok(())
    }

    /// Plans the reading of a selection.
    pub fn plan_get(&self, selection: &Placed) -> GetPlan {
        self.layout.get(selection)
    }

    /// Plans the writing of a selection.
    pub fn plan_set(&self, selection: &Placed) -> SetPlan {
        self.layout.set(selection)
    }

    /// Plans a change of the shape. [`StagedArray::check_resize`] refuses impossible shapes.
    pub fn plan_resize(&self, shape: &[usize]) -> ResizePlan {
        self.layout.resize(shape)
    }

    /// Plans loading everything into memory.
    pub fn plan_load(&self) -> LoadPlan {
        self.layout.load()
    }

    /// Plans a commit.
    pub fn plan_commit(&self) -> CommitPlan {
        self.layout.commit()
    }

    /// Reads a selection, row-major.
    ///
    /// # Errors
    /// A base slab that cannot be read.
    pub fn get(&self, selection: &Placed) -> Result<Vec<T>, Error> {
        let shape = lengths(selection);
        let mut out = vec![self.fill; shape.iter().product()];
        self.get_into(selection, &shape, &mut out)?;
        Ok(out)
    }

    /// Reads a selection into an array of `shape`, at the positions in the selection.
    ///
    /// # Errors
    /// The array does not have these positions, or a base slab cannot be read.
    pub fn get_into(&self, selection: &Placed, shape: &[usize], out: &mut [T]) -> Result<(), Error> {
        check_places(selection, shape, out.len(), false)?;
        for Transfers { from, boxes, .. } in &self.plan_get(selection).transfers {
            for transfer in boxes {
                let cells = self.read(*from, transfer)?;
                scatter(shape, out, transfer, &cells);
            }
        }
        Ok(())
    }

    /// Writes values from an array of `shape`, row-major, at the positions in the selection. An axis of one element is repeated.
    ///
    /// # Errors
    /// The values do not have these positions, or a base slab cannot be read. The array is then unchanged.
    pub fn set(&mut self, selection: &Placed, shape: &[usize], values: &[T]) -> Result<(), Error> {
        check_places(selection, shape, values.len(), true)?;
        let plan = self.plan_set(selection);
        self.change(plan.changes, Some((shape, values)), None)
    }

    /// Makes axes longer or shorter.
    ///
    /// # Errors
    /// Another rank, too many chunks, or a base slab that cannot be read. The array is then unchanged.
    pub fn resize(&mut self, shape: &[usize]) -> Result<(), Error> {
        self.check_resize(shape)?;
        let plan = self.plan_resize(shape);
        self.change(plan.changes, None, Some(plan.after))
    }

    /// Loads all chunks of base slabs into memory.
    ///
    /// # Errors
    /// A base slab cannot be read. The array is then unchanged.
    pub fn load(&mut self) -> Result<(), Error> {
        let plan = self.plan_load();
        self.change(plan.changes, None, None)
    }

    /// Returns the elements of a chunk that are inside the array, row-major.
    ///
    /// # Errors
    /// There is no such chunk, or a base slab cannot be read.
    pub fn read_chunk(&self, at: &[usize]) -> Result<Vec<T>, Error> {
        let grid = self.layout.slab_indices.shape();
        if at.len() != grid.len() || at.iter().zip(grid).any(|(i, n)| i >= n) {
            return Err(Error::Invalid(format!("chunk {at:?} is outside the grid of {grid:?}")));
        }
        let (slab, count) = (self.layout.slab_indices.get(at), self.layout.extent(at));
        let mut from = vec![0; at.len()];
        if let Some(first) = from.first_mut().filter(|_| slab > 0) {
            *first = self.layout.slab_offsets.get(at);
        }
        let step = vec![1; at.len()];
        let transfer = Transfer { to: from.clone(), from, from_step: step.clone(), to_step: step, count };
        self.read(Place::Slab(slab), &transfer)
    }

    /// Executes a plan. Base slabs are read first: if that fails, nothing has changed.
    fn change(
        &mut self,
        changes: Changes,
        value: Option<(&[usize], &[T])>,
        shape: Option<Vec<usize>>,
    ) -> Result<(), Error> {
        let mut read = Vec::new();
        for Transfers { from, boxes, .. } in &changes.transfers {
            if let Place::Slab(n) = from
                && matches!(self.slabs.get(*n), Some(Slab::Base(_)))
            {
                read.extend(
                    boxes.iter().map(|transfer| self.read(*from, transfer)).collect::<Result<Vec<_>, _>>()?,
                );
            }
        }
        let mut read = read.into_iter();
        for shape in &changes.append {
            let cells = vec![self.fill; shape.iter().product()];
            self.slabs.push(Slab::Staged(Dense { shape: shape.clone(), cells }));
        }
        for Transfers { from, to, boxes } in &changes.transfers {
            for transfer in boxes {
                let cells = match from {
                    Place::Slab(n) if matches!(self.slabs[*n], Slab::Base(_)) => {
                        read.next().expect("read before")
                    }
                    Place::Value => {
                        let (shape, values) = value.expect("a plan of `set`");
                        gather(shape, values, transfer)
                    }
                    _ => self.read(*from, transfer)?,
                };
                if let Place::Slab(n) = to
                    && let Slab::Staged(dense) = &mut self.slabs[*n]
                {
                    scatter(&dense.shape, &mut dense.cells, transfer, &cells);
                }
            }
        }
        for n in changes.drop {
            self.slabs[n] = Slab::Dropped;
        }
        self.layout.kinds.resize(self.slabs.len(), SlabKind::Staged);
        self.layout.slab_indices = changes.slab_indices;
        self.layout.slab_offsets = changes.slab_offsets;
        if let Some(shape) = shape {
            self.layout.shape = shape;
        }
        Ok(())
    }

    /// Returns the elements of a box of a slab, in the order in which they are stored.
    fn read(&self, from: Place, transfer: &Transfer) -> Result<Vec<T>, Error> {
        let total = transfer.count.iter().product();
        let Place::Slab(n) = from else { unreachable!("values are gathered, results are not read") };
        match &self.slabs[n] {
            Slab::Full => Ok(vec![self.fill; total]),
            Slab::Staged(dense) => Ok(gather(&dense.shape, &dense.cells, transfer)),
            Slab::Dropped => unreachable!("no chunk lies on it"),
            Slab::Base(base) => {
                // The box around it, of which the steps take a part.
                let span = |(&count, step): (&usize, &isize)| (count.max(1) - 1) * step.unsigned_abs() + 1;
                let shape: Vec<usize> = transfer.count.iter().zip(&transfer.from_step).map(span).collect();
                let mut cells = vec![self.fill; shape.iter().product()];
                base.read(&transfer.from, &shape, &mut cells).map_err(Error::Base)?;
                if total == cells.len() {
                    return Ok(cells);
                }
                let inner = Transfer { from: vec![0; shape.len()], ..transfer.clone() };
                Ok(gather(&shape, &cells, &inner))
            }
        }
    }
}

/// Refuses an array of `shape` that lacks positions of a selection. If `broadcast`, an axis of one element is
/// repeated.
fn check_places(selection: &Placed, shape: &[usize], len: usize, broadcast: bool) -> Result<(), Error> {
    let ends: Vec<usize> = selection.ends().into_iter().map(narrow).collect();
    let sized = shape.iter().try_fold(1_usize, |all, &n| all.checked_mul(n));
    let fits = |(&end, &n): (&usize, &usize)| end <= n || broadcast && n == 1;
    if sized != Some(len) || ends.len() != shape.len() || !ends.iter().zip(shape).all(fits) {
        return Err(Error::Invalid(format!("{len} values of {shape:?} for a selection of {ends:?}")));
    }
    Ok(())
}

//! The array: slabs, and plans carried out.

use crate::Error;
use crate::dense::{Dense, for_each_position, gather, scatter};
use crate::index::Selection;
use crate::plan::{
    Changes, CommitPlan, GetPlan, Kind, Layout, LoadPlan, Place, ResizePlan, SetPlan, Transfer, Transfers,
};
use crate::table::{Table, indices};

/// Something that chunks are read from, one below the other along the first axis.
pub trait BaseSlab<T>: Send + Sync {
    /// Lengths; all but the first are those of a chunk.
    fn shape(&self) -> &[usize];

    /// Reads a box, row-major, into `out`, which has as many elements.
    ///
    /// # Errors
    /// What the store says.
    fn read(
        &self,
        start: &[usize],
        count: &[usize],
        out: &mut [T],
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// A slab in memory, as a base.
struct Held<T>(Dense<T>);

impl<T: Copy + Send + Sync> BaseSlab<T> for Held<T> {
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
}

impl<T: Copy + Send + Sync + 'static> StagedArray<T> {
    /// An array that holds the fill value alone.
    ///
    /// # Errors
    /// A chunk of another rank than the array, or with a length of 0.
    pub fn full(shape: impl Into<Vec<usize>>, chunk: impl Into<Vec<usize>>, fill: T) -> Result<Self, Error> {
        let (shape, chunk) = (shape.into(), chunk.into());
        let grid = Self::check(&shape, &chunk)?;
        Self::new(shape, chunk, Vec::new(), Table::zeros(&grid), Table::zeros(&grid), fill)
    }

    /// An array over one base slab in memory that holds all its chunks, row-major; `cells` are the array's elements.
    ///
    /// # Errors
    /// As [`StagedArray::full`]; cells that are not as many as the array's elements.
    pub fn from_base(
        shape: impl Into<Vec<usize>>,
        chunk: impl Into<Vec<usize>>,
        cells: Vec<T>,
        fill: T,
    ) -> Result<Self, Error> {
        let (shape, chunk) = (shape.into(), chunk.into());
        let grid = Self::check(&shape, &chunk)?;
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
        Self::new(shape, chunk, vec![Box::new(Held(slab))], ones, offsets, fill)
    }

    /// An array over base slabs: a chunk whose index is 0 holds the fill value, one whose index is n lies on `base[n - 1]`.
    ///
    /// # Errors
    /// As [`StagedArray::full`]; tables of another shape than the grid; a chunk that lies on no slab, or not wholly inside its own.
    pub fn new(
        shape: impl Into<Vec<usize>>,
        chunk: impl Into<Vec<usize>>,
        base: Vec<Box<dyn BaseSlab<T>>>,
        slab_indices: Table,
        slab_offsets: Table,
        fill: T,
    ) -> Result<Self, Error> {
        let (shape, chunk) = (shape.into(), chunk.into());
        let grid = Self::check(&shape, &chunk)?;
        if slab_indices.shape() != grid || slab_offsets.shape() != grid {
            return Err(Error::Invalid(format!("tables that are not of {grid:?}")));
        }
        for (&slab, &offset) in slab_indices.cells().iter().zip(slab_offsets.cells()) {
            let Some(slab) = slab.checked_sub(1) else { continue };
            let known =
                base.get(slab).ok_or_else(|| Error::Invalid(format!("there is no base slab {slab}")))?;
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
        let kinds = std::iter::once(Kind::Full).chain(vec![Kind::Base; slabs.len() - 1]).collect();
        let layout = Layout { shape, chunk, slab_indices, slab_offsets, kinds };
        Ok(StagedArray { layout, slabs, fill })
    }

    fn check(shape: &[usize], chunk: &[usize]) -> Result<Vec<usize>, Error> {
        let sized = |shape: &[usize]| shape.iter().try_fold(1_usize, |n, &len| n.checked_mul(len)).is_some();
        if shape.len() != chunk.len() || chunk.contains(&0) || !sized(shape) || !sized(chunk) {
            return Err(Error::Invalid(format!("chunks of {chunk:?} for an array of {shape:?}")));
        }
        Ok(Layout::grid(shape, chunk))
    }

    /// Lengths.
    pub fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    /// Lengths of a chunk.
    pub fn chunk(&self) -> &[usize] {
        &self.layout.chunk
    }

    /// The slab of each chunk.
    pub fn slab_indices(&self) -> &Table {
        &self.layout.slab_indices
    }

    /// Where each chunk begins in its slab.
    pub fn slab_offsets(&self) -> &Table {
        &self.layout.slab_offsets
    }

    /// Elements on staged slabs.
    pub fn staged_len(&self) -> usize {
        let len = |slab: &Slab<T>| if let Slab::Staged(dense) = slab { dense.cells.len() } else { 0 };
        self.slabs.iter().map(len).sum()
    }

    /// Whether anything is staged.
    pub fn has_changes(&self) -> bool {
        self.slabs.iter().any(|slab| matches!(slab, Slab::Staged(_)))
            || self.layout.kinds.contains(&Kind::Spilled)
    }

    /// Puts what lies on staged slabs away: `make` is given the shape and the elements of one slab after another and answers with where they are read from now. They
    /// count as changes as before.
    ///
    /// # Errors
    /// What `make` says; that slab and those after it then stay in memory.
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
                *kind = Kind::Spilled;
            }
        }
        Ok(())
    }

    /// How a selection would be read.
    pub fn plan_get(&self, selection: &Selection) -> GetPlan {
        self.layout.get(selection)
    }

    /// How a selection would be written.
    pub fn plan_set(&self, selection: &Selection) -> SetPlan {
        self.layout.set(selection)
    }

    /// What another shape would take.
    pub fn plan_resize(&self, shape: &[usize]) -> ResizePlan {
        self.layout.resize(shape)
    }

    /// What loading everything would take.
    pub fn plan_load(&self) -> LoadPlan {
        self.layout.load()
    }

    /// What a commit would store.
    pub fn plan_commit(&self) -> CommitPlan {
        self.layout.commit()
    }

    /// Reads a selection, row-major.
    ///
    /// # Errors
    /// A base slab that cannot be read.
    pub fn get(&self, selection: &Selection) -> Result<Vec<T>, Error> {
        let shape = selection.full_shape();
        let mut out = vec![self.fill; shape.iter().product()];
        self.get_into(selection, &shape, &mut out)?;
        Ok(out)
    }

    /// Reads a selection into an array of `shape`, at the places that the selection names.
    ///
    /// # Errors
    /// An array that does not have those places; a base slab that cannot be read.
    pub fn get_into(&self, selection: &Selection, shape: &[usize], out: &mut [T]) -> Result<(), Error> {
        check_places(selection, shape, out.len(), false)?;
        for Transfers { from, boxes, .. } in &self.plan_get(selection).transfers {
            for transfer in boxes {
                let cells = self.read(*from, transfer)?;
                scatter(shape, out, transfer, &cells);
            }
        }
        Ok(())
    }

    /// Writes one value to all of a selection.
    ///
    /// # Errors
    /// A base slab that cannot be read; the array is then as it was.
    pub fn set_scalar(&mut self, selection: &Selection, value: T) -> Result<(), Error> {
        let shape = vec![1; selection.full_shape().len()];
        self.set_places(selection, &shape, &[value])
    }

    /// Writes values of this shape, row-major, to a selection: an axis that is missing in front, or has one element, serves for all.
    ///
    /// # Errors
    /// Values of a shape that does not fit; a base slab that cannot be read. The array is then as it was.
    pub fn set(&mut self, selection: &Selection, shape: &[usize], values: &[T]) -> Result<(), Error> {
        let wanted = selection.shape();
        let unfit = || Error::Invalid(format!("values of {shape:?} for a selection of {wanted:?}"));
        if values.len() != shape.iter().product::<usize>() {
            return Err(Error::Invalid(format!("{} values for a shape of {shape:?}", values.len())));
        }
        // Ones in front of more axes than there are say nothing.
        let extra = shape.len().saturating_sub(wanted.len());
        if shape[..extra].iter().any(|&n| n != 1) {
            return Err(unfit());
        }
        let mut given = shape[extra..].iter().rev();
        let mut full = Vec::new();
        let kept = selection.kept();
        for (&len, kept) in selection.full_shape().iter().zip(kept).rev() {
            let n = if kept { *given.next().unwrap_or(&1) } else { 1 };
            if n != len && n != 1 {
                return Err(unfit());
            }
            full.push(n);
        }
        full.reverse();
        self.set_places(selection, &full, values)
    }

    /// Writes values out of an array of `shape`, whose places the selection names ([`Selection::runs`], [`Selection::grid`], [`Selection::segments`]): an axis of one
    /// element serves for all.
    ///
    /// # Errors
    /// Places that the values do not have; a base slab that cannot be read. The array is then as it was.
    pub fn set_places(&mut self, selection: &Selection, shape: &[usize], values: &[T]) -> Result<(), Error> {
        check_places(selection, shape, values.len(), true)?;
        let plan = self.plan_set(selection);
        self.change(plan.changes, Some((shape, values)), None)
    }

    /// Makes axes longer or shorter.
    ///
    /// # Errors
    /// Another rank; a base slab that cannot be read. The array is then as it was.
    pub fn resize(&mut self, shape: &[usize]) -> Result<(), Error> {
        Self::check(shape, &self.layout.chunk)?;
        let plan = self.plan_resize(shape);
        self.change(plan.changes, None, Some(plan.after))
    }

    /// Brings everything that lies on base slabs into memory.
    ///
    /// # Errors
    /// A base slab that cannot be read; the array is then as it was.
    pub fn load(&mut self) -> Result<(), Error> {
        let plan = self.plan_load();
        self.change(plan.changes, None, None)
    }

    /// The elements that the array has of a chunk, row-major.
    ///
    /// # Errors
    /// No such chunk; a base slab that cannot be read.
    pub fn read_chunk(&self, at: &[usize]) -> Result<Vec<T>, Error> {
        let grid = self.layout.slab_indices.shape();
        if at.len() != grid.len() || at.iter().zip(grid).any(|(i, n)| i >= n) {
            return Err(Error::Invalid(format!("there is no chunk {at:?} in a grid of {grid:?}")));
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

    /// Carries a plan out. Base slabs are read first: where that fails, nothing has changed.
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
        self.layout.kinds.resize(self.slabs.len(), Kind::Staged);
        self.layout.slab_indices = changes.slab_indices;
        self.layout.slab_offsets = changes.slab_offsets;
        if let Some(shape) = shape {
            self.layout.shape = shape;
        }
        Ok(())
    }

    /// The elements of a box of a slab, in the order in which they are put down.
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

/// Refuses an array of `shape` that lacks places which a selection names; where `broadcast`, an axis of one element serves for all.
fn check_places(selection: &Selection, shape: &[usize], len: usize, broadcast: bool) -> Result<(), Error> {
    let ends = selection.ends();
    let sized = shape.iter().try_fold(1_usize, |all, &n| all.checked_mul(n));
    let fits = |(&end, &n): (&usize, &usize)| end <= n || broadcast && n == 1;
    if sized != Some(len) || ends.len() != shape.len() || !ends.iter().zip(shape).all(fits) {
        return Err(Error::Invalid(format!("{len} values of {shape:?} for a selection of {ends:?}")));
    }
    Ok(())
}

//! Reads a request: plans it over the variable's tiles, and writes each tile as directly as possible into the
//! output.

use super::dest::{AsStored, Dest, Misfit};
use super::source::ArraySource;
use crate::error::{Error, ErrorKind, Result};
use crate::parallel;
use crate::tile::{WINDOW_TILES, in_windows};
use nc3z_format::Error as FormatError;
use nc3z_format::classic::VarId;
use nc3z_format::plan::{Part, Plan, TilePlan, split};
use nc3z_format::select::Hyperslab;
use nc3z_format::tile::Tiling;

/// A request uses several threads if it decodes or copies at least this many bytes.
const PARALLEL_FROM: u64 = 2 << 20;
/// Tiles of a plan that are examined to estimate its work.
const LOOK_AT: usize = 16;
/// The number of shares per thread. With several, one slow share does not delay the rest.
pub(super) const SHARES: usize = 4;

/// Checks that all elements of a hyperslab are in the variable and in the file. Returns their number.
pub(super) fn check(source: &dyn ArraySource, var: VarId, slab: &Hyperslab) -> Result<u64> {
    Ok(plan(source, var, &*source.tiling(var)?, slab)?.selected())
}

/// Reads a hyperslab's big-endian bytes.
pub(crate) fn read_bytes(
    source: &dyn ArraySource,
    var: VarId,
    slab: &Hyperslab,
    out: &mut [u8],
) -> Result<()> {
    let size = source.layout().variables[var.index()].ty.size();
    if !out.len().is_multiple_of(size) {
        let len = out.len();
        return Err(FormatError::invalid(format!("a buffer of {len} bytes for elements of {size}")).into());
    }
    match size {
        1 => read(source, var, slab, &mut AsStored::<1>(out.as_chunks_mut().0)),
        2 => read(source, var, slab, &mut AsStored::<2>(out.as_chunks_mut().0)),
        4 => read(source, var, slab, &mut AsStored::<4>(out.as_chunks_mut().0)),
        _ => read(source, var, slab, &mut AsStored::<8>(out.as_chunks_mut().0)),
    }
}

/// Reads a hyperslab into an output with as many elements.
pub(super) fn read(
    source: &dyn ArraySource,
    var: VarId,
    slab: &Hyperslab,
    dest: &mut dyn Dest,
) -> Result<()> {
    if let Some(done) = super::lent::read(source, var, slab, dest) {
        return done;
    }
    let tiling = source.tiling(var)?;
    let plan = plan(source, var, &tiling, slab)?;
    if plan.selected() != dest.len() as u64 {
        let (wanted, given) = (plan.selected(), dest.len());
        return Err(FormatError::invalid(format!(
            "{}: selection {slab} has {wanted} elements, the buffer {given}",
            called(source, var)
        ))
        .into());
    }
    if source.reads_slabs(var) {
        // The source reads parts of it in parallel.
        return parallel::in_pool(|| super::direct::read(source, var, slab, dest));
    }
    if source.as_archive().is_some_and(|archive| super::at_hand::read(archive, var, &plan, dest)) {
        return Ok(());
    }
    let mut request = Request { source, var, tiling: &tiling, slab, keep: true };
    let size = source.layout().variables[var.index()].element_size();
    if !is_big(source, var, &plan, size) {
        return request.run_with(&plan, 1, dest);
    }
    request.keep = request.decoded_len(&plan, size) <= source.cache_budget();
    parallel::in_pool(|| request.run_with(&plan, parallel::threads(), dest))
}

/// Returns true if a plan is worth several threads. Examines only its first tiles.
fn is_big(source: &dyn ArraySource, var: VarId, plan: &Plan, size: u64) -> bool {
    let mut work = 0_u64;
    for (n, tile) in plan.tiles().enumerate() {
        work = work.saturating_add(source.decode_cost(var, tile.tile).max(tile.elements * size));
        if work >= PARALLEL_FROM {
            // One thread decodes a single tile.
            return tile.elements < plan.elements();
        }
        if n == LOOK_AT {
            return (work / LOOK_AT as u64).saturating_mul(plan.tile_count()) >= PARALLEL_FROM;
        }
    }
    false
}

/// One request, or a thread's share of one.
struct Request<'r> {
    source: &'r dyn ArraySource,
    var: VarId,
    tiling: &'r Tiling,
    slab: &'r Hyperslab,
    /// True if tiles are cached for the next request.
    keep: bool,
}

impl Request<'_> {
    /// Bytes of all tiles that a plan touches.
    fn decoded_len(&self, plan: &Plan, size: u64) -> u64 {
        let tile = self.tiling.tile_elements(0).unwrap_or(0);
        plan.tile_count().saturating_mul(tile).saturating_mul(size)
    }

    /// Reads a plan in the way that suits its source.
    fn run_with(&self, plan: &Plan, threads: usize, dest: &mut dyn Dest) -> Result<()> {
        if self.source.fetches_ahead() {
            return self.run_windows(plan, threads, dest);
        }
        if threads > 1 {
            return self.run_parallel(plan, threads, dest);
        }
        self.run(plan, dest)
    }

    /// Reads a plan on this thread.
    fn run(&self, plan: &Plan, dest: &mut dyn Dest) -> Result<()> {
        plan.tiles().try_for_each(|tile| self.read_tile(&tile, dest))
    }

    /// Reads one tile: directly into the output if it is there whole, otherwise by copying.
    fn read_tile(&self, tile: &TilePlan<'_>, dest: &mut dyn Dest) -> Result<()> {
        if let Some(first) = tile.whole {
            let range = in_memory(first)..in_memory(first + tile.elements);
            if let Some(room) = dest.room(range.clone()) {
                self.source.fill_tile(self.var, tile.tile, room)?;
                dest.settle(range);
                return Ok(());
            }
        }
        let (first, bytes) = self.source.tile(self.var, tile, self.keep)?;
        self.put(tile, first, &bytes, dest)
    }

    fn put(&self, tile: &TilePlan<'_>, first: u64, bytes: &[u8], dest: &mut dyn Dest) -> Result<()> {
        match dest.put(tile, first, bytes)? {
            None => Ok(()),
            Some(misfit) => Err(unfit(self.source, self.var, self.slab, &misfit)),
        }
    }

    /// Splits the request into shares of adjacent elements. Each is read by one thread into its own part of
    /// the output. If tiles extend over all shares, tiles are decoded in parallel and copied one after
    /// another.
    fn run_parallel(&self, plan: &Plan, threads: usize, dest: &mut dyn Dest) -> Result<()> {
        let parts = shares(self.tiling, self.slab, threads * SHARES)?;
        if parts.len() < threads {
            return self.run_batches(&mut plan.tiles(), threads, dest);
        }
        let lens: Vec<usize> = parts.iter().map(|p| in_memory(p.dst.end - p.dst.start)).collect();
        let shares: Vec<_> = parts.iter().zip(dest.split(&lens)).collect();
        let done: Vec<Result<()>> = parallel::map(shares, |(part, mut dest)| {
            let share = Request { slab: &part.slab, ..*self };
            share.run(&Plan::of(self.tiling, &part.slab)?, &mut *dest)
        });
        // The first error in order of the output, whichever thread found it first.
        done.into_iter().collect()
    }

    /// Reads a plan window by window: the bytes of the next window are fetched while the current one is
    /// decoded.
    fn run_windows(&self, plan: &Plan, threads: usize, dest: &mut dyn Dest) -> Result<()> {
        let fetch = |tiles: &[TilePlan<'_>]| self.source.fetch_parts(self.var, tiles);
        in_windows(&mut plan.tiles(), WINDOW_TILES, true, fetch, |tiles, near| {
            let window = Request { source: near.as_deref().unwrap_or(self.source), ..*self };
            if threads > 1 {
                return window.run_batches(&mut tiles.into_iter(), threads, dest);
            }
            tiles.iter().try_for_each(|tile| window.read_tile(tile, dest))
        })
    }

    /// Decodes `threads` tiles at a time, while the previous ones are copied.
    fn run_batches(
        &self,
        tiles: &mut (dyn Iterator<Item = TilePlan<'_>> + Send),
        threads: usize,
        dest: &mut dyn Dest,
    ) -> Result<()> {
        let mut next = || -> Result<Vec<_>> {
            let batch: Vec<_> = tiles.take(threads).collect();
            let decoded =
                parallel::map(batch.iter().collect(), |tile| self.source.tile(self.var, tile, self.keep));
            batch.into_iter().zip(decoded).map(|(tile, decoded)| Ok((tile, decoded?))).collect()
        };
        let mut ready = next()?;
        while !ready.is_empty() {
            let copy =
                || ready.iter().try_for_each(|(tile, (first, bytes))| self.put(tile, *first, bytes, dest));
            let (copied, following) = parallel::join(copy, &mut next);
            copied?;
            ready = following?;
        }
        Ok(())
    }
}

/// Splits a request into shares. If the outermost dimension gives too few, they are split again along the
/// next one.
fn shares(tiling: &Tiling, slab: &Hyperslab, wanted: usize) -> Result<Vec<Part>> {
    let mut parts = split(tiling, slab, wanted)?;
    for _ in 1..slab.rank() {
        if parts.is_empty() || parts.len() >= wanted {
            break;
        }
        let each = wanted.div_ceil(parts.len());
        let mut finer = Vec::new();
        for part in &parts {
            for mut inner in split(tiling, &part.slab, each)? {
                inner.dst = part.dst.start + inner.dst.start..part.dst.start + inner.dst.end;
                finer.push(inner);
            }
        }
        if finer.len() == parts.len() {
            break;
        }
        parts = finer;
    }
    Ok(parts)
}

/// A position in the output, which is in memory. The output has been compared with the plan.
pub(super) fn in_memory(n: u64) -> usize {
    usize::try_from(n).expect("a position in the output")
}

/// Plans a request. Errors name the variable, its dimensions, and the missing part.
pub(super) fn plan(source: &dyn ArraySource, var: VarId, tiling: &Tiling, slab: &Hyperslab) -> Result<Plan> {
    let v = &source.layout().variables[var.index()];
    if tiling.shape() != v.shape {
        return Err(FormatError::invalid(format!(
            "{}: the header claims the shape {:?}, more elements than can be addressed, of which the file holds {}; \
             they can be read as a flat range",
            called(source, var),
            v.shape,
            v.present
        ))
        .into());
    }
    let plan = Plan::of(tiling, slab).map_err(|e| named(source, var, slab, e))?;
    if plan.is_complete() {
        return Ok(plan);
    }
    let size = v.element_size();
    let row = v.shape.iter().skip(1).product::<u64>().max(1);
    let dims = &source.header().variables[var.index()].dimensions;
    let first = dims.first().map(|d| source.header().dimensions[d.index()].name_lossy().into_owned());
    Err(ErrorKind::Incomplete {
        variable: called(source, var),
        shape: v.shape.clone(),
        present: v.present,
        selection: slab.to_string(),
        missing: (plan.selected() - plan.elements()).saturating_mul(size),
        whole: first.map(|name| (name, v.present / row)),
    }
    .into())
}

/// The name of a variable in messages.
fn called(source: &dyn ArraySource, var: VarId) -> String {
    format!("variable \"{}\"", source.header().variables[var.index()].name_lossy())
}

/// The error of a hyperslab that exceeds the variable, with the names of variable and dimensions.
fn named(source: &dyn ArraySource, var: VarId, slab: &Hyperslab, error: FormatError) -> Error {
    let header = source.header();
    let dims = &header.variables[var.index()].dimensions;
    let names: Vec<_> = dims.iter().map(|d| header.dimensions[d.index()].name_lossy()).collect();
    let shape = &source.layout().variables[var.index()].shape;
    let error = slab.resolve_named(shape, |d| names.get(d).map(|n| &**n)).err().unwrap_or(error);
    match error.kind() {
        nc3z_format::ErrorKind::InvalidArgument(what) => {
            FormatError::invalid(format!("{}: {what}", called(source, var))).into()
        }
        _ => error.into(),
    }
}

/// The error of a value that does not fit, with its index in the variable.
pub(super) fn unfit(source: &dyn ArraySource, var: VarId, slab: &Hyperslab, misfit: &Misfit) -> Error {
    let mut rest = misfit.dst;
    let mut index = vec![0; slab.rank()];
    for (d, i) in index.iter_mut().enumerate().rev() {
        let nth = rest % slab.count[d];
        rest /= slab.count[d];
        // Inside the dimension: the plan has checked it, and arithmetic modulo 2^64 gives the right value.
        *i = slab.start[d].wrapping_add(slab.stride[d].cast_unsigned().wrapping_mul(nth));
    }
    let variable = called(source, var);
    ErrorKind::Range { variable, index, value: misfit.value.clone(), wanted: misfit.wanted }.into()
}

//! Reads a request: plans it over the variable's tiles, and gives the plan to the engine
//! ([`TileReader`]).

use super::source::ArraySource;
use crate::error::{Error, ErrorKind, Result};
use crate::parallel;
use crate::tile::{AsStored, Destination, Failure, Misfit, TileReader, Tiles, Worker};
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_format::classic::VarId;
use nc3z_format::plan::{Plan, TilePlan};
use nc3z_format::selection::Hyperslab;
use nc3z_format::tile::Tiling;
use std::ops::Deref;

/// A request uses several threads if it decodes or copies at least this many bytes.
const PARALLEL_FROM: u64 = 2 << 20;
/// Tiles of a plan that are probed to estimate its work.
const PROBED: usize = 16;

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
    dest: &mut dyn Destination,
) -> Result<()> {
    if let Some(done) = super::mapped_read::read(source, var, slab, dest) {
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
        return parallel::in_pool(|| super::slab_source_read::read(source, var, slab, dest));
    }
    if source.as_archive().is_some_and(|archive| super::cached_read::read(archive, var, &plan, dest)) {
        return Ok(());
    }
    let size = source.layout().variables[var.index()].element_size();
    let is_big = is_big(source, var, &plan, size);
    let keep = !is_big || decoded_len(&tiling, &plan, size) <= source.cache_budget();
    let mut run =
        |tiles: &dyn Tiles| TileReader { tiles, tiling: &tiling, slab, size, keep, is_big }.run(&plan, dest);
    let done = match source.as_archive().and_then(|archive| archive.stored(var)) {
        Some(tiles) => run(&tiles),
        None => run(&SourceTiles { source, var }),
    };
    done.map_err(|failure| match failure {
        Failure::Error(error) => error,
        Failure::Misfit(misfit) => unfit(source, var, slab, &misfit),
    })
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
        if n == PROBED {
            return (work / PROBED as u64).saturating_mul(plan.tile_count()) >= PARALLEL_FROM;
        }
    }
    false
}

/// The tiles of a variable of any source.
struct SourceTiles<S> {
    source: S,
    var: VarId,
}

impl<S: Deref<Target: ArraySource> + Sync> Tiles for SourceTiles<S> {
    fn fill(&self, tile: u64, _: &mut Worker, out: &mut [u8]) -> Result<()> {
        self.source.fill_tile(self.var, tile, out)
    }

    fn view(&self, tile: &TilePlan<'_>, _: u64, keep: bool, _: &mut Worker) -> Result<(u64, Bytes)> {
        self.source.tile(self.var, tile, keep)
    }

    fn fetches_ahead(&self) -> bool {
        self.source.fetches_ahead()
    }

    fn fetch<'s>(&'s self, tiles: &[TilePlan<'_>]) -> Result<(usize, Option<Box<dyn Tiles + Send + 's>>)> {
        let (taken, fetched) = self.source.fetch_parts(self.var, tiles)?;
        let tiles = |source| Box::new(SourceTiles { source, var: self.var }) as Box<dyn Tiles + Send>;
        Ok((taken, fetched.map(tiles)))
    }
}

/// Bytes of all tiles that a plan touches.
fn decoded_len(tiling: &Tiling, plan: &Plan, size: u64) -> u64 {
    let tile = tiling.tile_elements(0).unwrap_or(0);
    plan.tile_count().saturating_mul(tile).saturating_mul(size)
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
    let plan = Plan::with_tiling(tiling, slab).map_err(|e| named(source, var, slab, e))?;
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

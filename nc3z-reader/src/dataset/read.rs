//! A request carried out: planned over the variable's tiles, each of which goes into the output as directly as it can.

use super::dest::{Dest, Misfit};
use super::source::ArraySource;
use crate::error::{Error, ErrorKind, Result};
use nc3z_format::Error as FormatError;
use nc3z_format::classic::VarId;
use nc3z_format::plan::{Plan, TilePlan, split};
use nc3z_format::select::Hyperslab;
use nc3z_format::tile::Tiling;
use rayon::prelude::*;

/// Bytes to decode or copy from which on a request is worth several threads.
const PARALLEL_FROM: u64 = 2 << 20;
/// Tiles of a plan that are looked at to tell how much work it is.
const LOOK_AT: usize = 16;
/// Shares a thread, so that one slow share does not hold up the rest.
const SHARES: usize = 4;

/// Elements of a hyperslab, all of which lie in the variable and are present in the file.
pub(super) fn check(source: &dyn ArraySource, var: VarId, slab: &Hyperslab) -> Result<u64> {
    Ok(plan(source, var, &*source.tiling(var)?, slab)?.selected())
}

/// Reads a hyperslab into an output with as many elements.
pub(super) fn read(
    source: &dyn ArraySource,
    var: VarId,
    slab: &Hyperslab,
    dest: &mut dyn Dest,
) -> Result<()> {
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
    let threads = rayon::current_num_threads();
    if threads > 1 && is_big(source, var, &plan) {
        return read_shares(source, var, &tiling, slab, threads, dest);
    }
    run(source, var, slab, &plan, dest)
}

/// Carries a plan out on this thread.
fn run(
    source: &dyn ArraySource,
    var: VarId,
    slab: &Hyperslab,
    plan: &Plan,
    dest: &mut dyn Dest,
) -> Result<()> {
    plan.tiles().try_for_each(|tile| read_tile(source, var, slab, &tile, dest))
}

/// Whether the work of a plan is worth other threads' time: looks at its first tiles only.
fn is_big(source: &dyn ArraySource, var: VarId, plan: &Plan) -> bool {
    let size = source.layout().variables[var.index()].element_size();
    let mut work = 0_u64;
    for tile in plan.tiles().take(LOOK_AT) {
        work += source.decode_cost(var, tile.tile).max(tile.elements * size);
        if work >= PARALLEL_FROM {
            // A single tile is one thread's work.
            return tile.elements < plan.elements();
        }
    }
    work / LOOK_AT as u64 * plan.tile_count() >= PARALLEL_FROM
}

/// Splits a request into shares of neighbouring elements, each read by one thread into its own part of the output.
fn read_shares(
    source: &dyn ArraySource,
    var: VarId,
    tiling: &Tiling,
    slab: &Hyperslab,
    threads: usize,
    dest: &mut dyn Dest,
) -> Result<()> {
    let parts = split(tiling, slab, threads * SHARES)?;
    let at = |n: u64| usize::try_from(n).expect("the output is in memory, and was compared with the plan");
    let lens: Vec<usize> = parts.iter().map(|p| at(p.dst.end - p.dst.start)).collect();
    let shares: Vec<_> = parts.iter().zip(dest.split(&lens)).collect();
    let done: Vec<Result<()>> = shares
        .into_par_iter()
        .map(|(part, mut dest)| run(source, var, &part.slab, &Plan::of(tiling, &part.slab)?, &mut *dest))
        .collect();
    // The first error in order of the output, whichever thread was first.
    done.into_iter().collect()
}

/// One tile: straight into the output where it lands there whole, else copied from where it is shown.
fn read_tile(
    source: &dyn ArraySource,
    var: VarId,
    slab: &Hyperslab,
    tile: &TilePlan<'_>,
    dest: &mut dyn Dest,
) -> Result<()> {
    let at = |n: u64| usize::try_from(n).expect("the output is in memory, and was compared with the plan");
    if let Some(first) = tile.whole {
        let range = at(first)..at(first + tile.elements);
        if let Some(room) = dest.room(range.clone()) {
            source.read_tile(var, tile.tile, room)?;
            dest.settle(range);
            return Ok(());
        }
    }
    source.view_tile(var, tile.tile, tile.span(), &mut |first, bytes| match dest.put(tile, first, bytes)? {
        None => Ok(()),
        Some(misfit) => Err(unfit(source, var, slab, &misfit)),
    })
}

/// Plans a request; errors name the variable, its dimensions, and what of it is missing.
fn plan(source: &dyn ArraySource, var: VarId, tiling: &Tiling, slab: &Hyperslab) -> Result<Plan> {
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
    let place = format!(
        "{} of shape {:?}, of which the file holds the first {} elements; selection {slab}",
        called(source, var),
        v.shape,
        v.present
    );
    let missing = (plan.selected() - plan.elements()).saturating_mul(size);
    Err(FormatError::truncated(place, None, "file", missing, plan.elements().saturating_mul(size)).into())
}

/// How a variable is called in messages.
fn called(source: &dyn ArraySource, var: VarId) -> String {
    format!("variable \"{}\"", source.header().variables[var.index()].name_lossy())
}

/// The error of a hyperslab that does not lie in the variable, with the names of both.
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
fn unfit(source: &dyn ArraySource, var: VarId, slab: &Hyperslab, misfit: &Misfit) -> Error {
    let mut rest = misfit.dst;
    let mut index = vec![0; slab.rank()];
    for (d, i) in index.iter_mut().enumerate().rev() {
        let nth = rest % slab.count[d];
        rest /= slab.count[d];
        // Inside the dimension: the plan has checked it, and arithmetic modulo 2^64 finds it.
        *i = slab.start[d].wrapping_add(slab.stride[d].cast_unsigned().wrapping_mul(nth));
    }
    let variable = called(source, var);
    ErrorKind::Range { variable, index, value: misfit.value.clone(), wanted: misfit.wanted }.into()
}

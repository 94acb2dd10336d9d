//! `nc3z set --plan`: shows what would be overwritten, in the array's indices and tiles.

use crate::output::table::count;
use crate::output::text;
use anyhow::Result;
use nc3z_format::Hyperslab;
use nc3z_format::plan::Plan;
use nc3z_look::place::words;
use nc3z_look::selection::Selection;
use nc3z_reader::{Archive, Variable};
use std::io::Write;
use std::ops::Range;

/// Neighbouring tiles with the same result.
struct Tiles {
    range: Range<u64>,
    /// The number of elements of each that are overwritten.
    written: u64,
    is_whole: bool,
}

/// Writes the plan of a selection.
pub(super) fn write(
    out: &mut dyn Write,
    archive: &Archive,
    variable: &Variable,
    selection: &Selection,
) -> Result<()> {
    for (slab, _) in selection.slabs() {
        let plan = variable.plan(&slab)?;
        writeln!(
            out,
            "{}{}: {} in {} of {}",
            text::safe(&variable.name()),
            indices(variable, &slab),
            count(slab.count.iter().product(), "element"),
            count(plan.tile_count(), "tile"),
            archive.arrays().variable(variable.id()).tiling.tile_count()
        )?;
        let array = archive.arrays().variable(variable.id()).id;
        for tiles in tiles(&plan) {
            let place = words(&archive.place(array, tiles.range.clone()), None);
            if tiles.is_whole {
                writeln!(out, "  {place}: overwritten whole, not read")?;
            } else {
                let each = if tiles.range.end - tiles.range.start > 1 { " of each" } else { "" };
                let written = count(tiles.written, "element");
                writeln!(out, "  {place}: {written}{each} overwritten, the others read and kept")?;
            }
        }
    }
    Ok(())
}

/// Returns the tiles that a plan touches. Neighbours are joined.
fn tiles(plan: &Plan) -> impl Iterator<Item = Tiles> {
    let mut all = plan.tiles().peekable();
    std::iter::from_fn(move || {
        let first = all.next()?;
        let mut found = Tiles {
            range: first.tile..first.tile + 1,
            written: first.elements,
            is_whole: first.elements == first.decoded,
        };
        while let Some(next) = all.next_if(|next| {
            next.tile == found.range.end
                && (next.elements == next.decoded) == found.is_whole
                && (found.is_whole || next.elements == found.written)
        }) {
            found.range.end = next.tile + 1;
        }
        Some(found)
    })
}

/// Formats indices: `[time=5, lat=0..44 by 2]`, the last index included.
fn indices(variable: &Variable, slab: &Hyperslab) -> String {
    let along = variable.dimensions().enumerate().map(|(n, dimension)| {
        let (start, count, stride) = (slab.start[n], slab.count[n], slab.stride[n]);
        let name = text::name(&dimension.name);
        let steps = i64::try_from(count.saturating_sub(1)).unwrap_or(i64::MAX);
        let last = start.saturating_add_signed(stride.saturating_mul(steps));
        match (count, stride) {
            (0, _) => format!("{name}=none"),
            (1, _) => format!("{name}={start}"),
            (_, 1) => format!("{name}={start}..{last}"),
            _ => format!("{name}={start}..{last} by {stride}"),
        }
    });
    let along: Vec<String> = along.collect();
    if along.is_empty() { String::new() } else { format!("[{}]", along.join(", ")) }
}

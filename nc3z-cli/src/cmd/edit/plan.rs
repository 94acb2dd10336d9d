//! `nc3z set --plan`: shows what would be overwritten, in the array's indices and tiles.

use crate::output::table::count;
use crate::output::text;
use anyhow::Result;
use nc3z_look::explain::{indices, tile_runs};
use nc3z_look::selection::Selection;
use nc3z_look::tile_location::words;
use nc3z_reader::{Archive, Variable};
use std::io::Write;

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
        for tiles in tile_runs(&plan) {
            let place = words(&archive.place(array, tiles.range.clone()), None);
            if tiles.is_whole {
                writeln!(out, "  {place}: overwritten whole, not read")?;
            } else {
                let each = if tiles.range.end - tiles.range.start > 1 { " of each" } else { "" };
                let written = count(tiles.elements, "element");
                writeln!(out, "  {place}: {written}{each} overwritten, the others read and kept")?;
            }
        }
    }
    Ok(())
}

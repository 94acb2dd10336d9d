//! The cost of reading an aggregated variable: the fragments, and the part of each.

use crate::output::table::{Side, Table, count};
use crate::output::text;
use anyhow::Result;
use nc3z_collections::as_aggregation;
use nc3z_collections::tree::answers::touched_json;
use nc3z_look::selection::Selection;
use nc3z_reader::{Dataset, Variable};
use std::io::Write;

/// The number of fragments that are listed, unless all are requested.
const SHOWN: usize = 16;

/// Explains the read if the variable is aggregated. Returns whether it is.
pub(super) fn explain(
    dataset: &Dataset,
    variable: &Variable,
    selection: &Selection,
    all: bool,
    as_json: bool,
    out: &mut dyn Write,
) -> Result<bool> {
    let Some(aggregation) = as_aggregation(dataset) else { return Ok(false) };
    let Some((_, master)) = aggregation.master(variable.id()) else { return Ok(false) };
    let mut touched = Vec::new();
    for (slab, _) in selection.slabs() {
        touched.extend(master.explain(aggregation.fragments(), &slab)?);
    }
    let elements: u64 = touched.iter().map(|t| t.elements).sum();
    let bytes: u64 = touched.iter().map(|t| t.bytes).sum();
    let shown = if all { usize::MAX } else { SHOWN };
    let dims: Vec<String> = variable.dimensions().map(|d| text::name(&d.name)).collect();
    if as_json {
        let report = touched_json(variable, master, &touched, shown);
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(true);
    }
    let shape: Vec<String> = dims.iter().zip(variable.shape()).map(|(d, n)| format!("{d}={n}")).collect();
    writeln!(
        out,
        "variable   {} {}({}), aggregated",
        variable.ty(),
        text::safe(&variable.name()),
        shape.join(", ")
    )?;
    writeln!(out, "wanted     {}", count(elements, "element"))?;
    writeln!(out, "fragments  {} of {}", touched.len(), master.partitions.len())?;
    writeln!(out, "read       {} of elements as the fragments have them", text::size(bytes))?;
    let mut table =
        Table::new(&[("partition", Side::Right), ("elements", Side::Right), ("fragment", Side::Left)]);
    for t in touched.iter().take(shown) {
        let file = t.file.as_deref().map_or_else(|| "(none)".to_owned(), text::safe);
        table.push(vec![t.partition.to_string(), t.elements.to_string(), file]);
    }
    table.print(out, "  ")?;
    if touched.len() > shown {
        writeln!(out, "  and {} more", touched.len() - shown)?;
    }
    Ok(true)
}

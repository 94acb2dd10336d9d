//! Describes an aggregation.

use crate::output::table::{Side, Table, count};
use crate::output::text;
use anyhow::Result;
use nc3z_collections::tree::answers::aggregation_json;
use nc3z_collections::{Aggregation, MasterArray};
use nc3z_reader::Dataset;
use std::io::Write;

pub(super) fn report(
    file: &str,
    dataset: &Dataset,
    aggregation: &Aggregation,
    as_json: bool,
    out: &mut dyn Write,
) -> Result<()> {
    if as_json {
        return Ok(writeln!(
            out,
            "{}",
            serde_json::to_string_pretty(&aggregation_json(file, dataset, aggregation))?
        )?);
    }
    let conventions: Vec<&str> = aggregation.masters().map(|(_, c, _)| c.name()).collect();
    writeln!(out, "{file}: aggregation, {}", conventions.first().unwrap_or(&""))?;
    let own = aggregation.fragments().own();
    writeln!(
        out,
        "  file     {}",
        text::size(own.archive().map_or(own.original_len(), nc3z_reader::Archive::stored_len))
    )?;
    writeln!(out, "  presents {} of values", text::size(dataset.layout().file_len))?;
    writeln!(out, "{}", count(dataset.dimensions().len() as u64, "dimension"))?;
    let mut table = Table::new(&[("", Side::Left), ("", Side::Right)]);
    for d in dataset.dimensions() {
        let len = if d.is_record() { dataset.records() } else { d.len };
        table.push(vec![text::name(&d.name), len.to_string()]);
    }
    table.print(out, "  ")?;
    writeln!(out, "{}", count(dataset.header().variables.len() as u64, "variable"))?;
    let mut table = Table::new(&[
        ("name", Side::Left),
        ("type", Side::Left),
        ("shape", Side::Left),
        ("fragments", Side::Right),
        ("units", Side::Left),
    ]);
    for v in dataset.variables() {
        let shape: Vec<String> =
            v.dimensions().zip(v.shape()).map(|(d, n)| format!("{}={n}", text::name(&d.name))).collect();
        let (fragments, units) = match aggregation.master(v.id()) {
            Some((_, m)) => (matrix(m), m.units.as_deref().map(text::safe).unwrap_or_default()),
            None => ("own".to_owned(), String::new()),
        };
        table.push(vec![text::safe(&v.name()), v.ty().to_string(), shape.join(" "), fragments, units]);
    }
    Ok(table.print(out, "  ")?)
}

/// Formats `120 x 1 x 1`.
fn matrix(m: &MasterArray) -> String {
    let each: Vec<String> = m.matrix().iter().map(ToString::to_string).collect();
    if each.is_empty() { "1".to_owned() } else { each.join(" x ") }
}

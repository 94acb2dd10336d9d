//! `nc3z stats`: statistics of variables, from a catalogue or from the values of files.

use super::catalog::{is_catalog, of_inputs, suggestion, tell_changed, tell_cut};
use crate::args::StatsArgs;
use crate::exit::Exit;
use crate::output::message::InFileExt;
use crate::output::streams::Stdout;
use crate::output::table::{Side, Table};
use crate::output::{failure, text};
use anyhow::{Result, bail};
use nc3z_collections::catalog::{self, Catalog, Exactly, Summary};
use nc3z_collections::tree::answers::{part_json, statistics_json, units};
use nc3z_look::coordinate::Coordinate;
use nc3z_look::selection::Segment;
use serde_json::Value;
use std::io::Write;
use std::path::Path;

pub(crate) fn stats(args: &StatsArgs) -> Result<Exit> {
    if args.inputs.len() > 1 && args.inputs.iter().any(|path| is_catalog(path)) {
        refuse!("a catalogue has statistics of its files: name it alone, or name files without catalogues");
    }
    let tables = (args.inputs.len() == 1).then_some(true);
    let (opened, worst) = of_inputs(&args.inputs, &args.tape, *args.threads, &args.open, tables)?;
    let Some((path, catalog)) = opened.first() else { return Ok(worst) };
    // Files that were described just now have been reported one by one.
    if catalog.is_bundle() || is_catalog(path) {
        tell_cut(path, catalog)?;
    }
    let done = super::with_threads(*args.threads, || match &args.along {
        Some(dimension) => along(args, path, catalog, dimension),
        None => whole(args, path, catalog),
    })?;
    Ok(done?.max(worst))
}

/// Prints the statistics of whole variables.
fn whole(args: &StatsArgs, path: &Path, catalog: &Catalog) -> Result<Exit> {
    let all = catalog::statistics(catalog, &args.variables, args.each).in_file(path)?;
    let missing = |name: &&String| !all.iter().any(|row| row.variable == **name);
    if let Some(missing) = args.variables.iter().find(missing) {
        let known = suggestion(missing, std::iter::once(catalog));
        bail!(
            "no file of `{}` has values of a variable `{}`{known}",
            super::url::shown(path),
            text::safe(missing)
        );
    }
    tell_changed(path, catalog)?;
    let mut out = Stdout::results();
    if *args.json {
        let rows: Vec<Value> = all.iter().map(statistics_json).chain(failure::rows()).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    let right = |title| (title, Side::Right);
    let names = [("variable", Side::Left), right("files")];
    let names_of_each = [("file", Side::Left), ("variable", Side::Left)];
    let mut columns = if args.each { names_of_each } else { names }.to_vec();
    columns.extend(NUMBERS.map(right));
    columns.push(("units", Side::Left));
    let mut table = Table::new(&columns);
    for row in &all {
        let mut cells = vec![text::safe(&row.variable)];
        match &row.file {
            Some(file) => cells.insert(0, text::safe(file)),
            None => cells.push(row.summary.files.to_string()),
        }
        cells.extend(numbers(&row.summary));
        cells.push(text::safe(units(row)));
        table.push(cells);
    }
    table.print(&mut out, "")?;
    out.flush()?;
    Ok(Exit::Done)
}

const NUMBERS: [&str; 5] = ["values", "min", "max", "mean", "deviation"];

fn numbers(s: &Summary) -> [String; 5] {
    let exactly = |x: Option<Exactly>| x.map_or_else(String::new, |x| x.to_string());
    let number = |x: Option<f64>| exactly(x.map(Exactly::from));
    let (mean, deviation) = (s.mean().map(|m| m.0), s.deviation());
    [s.count.to_string(), exactly(s.min), exactly(s.max), number(mean), number(deviation)]
}

/// Prints the statistics of variables along a dimension.
fn along(args: &StatsArgs, path: &Path, catalog: &Catalog, dimension: &str) -> Result<Exit> {
    tell_changed(path, catalog)?;
    let mut out = Stdout::results();
    let mut rows = Vec::new();
    let right = |title| (title, Side::Right);
    let mut columns = vec![("file", Side::Left), ("variable", Side::Left), right("first"), right("last")];
    columns.extend([("from", Side::Left), ("to", Side::Left)]);
    columns.extend(NUMBERS.map(right));
    let mut table = Table::new(&columns);
    for variable in &args.variables {
        catalog::along(catalog, variable, dimension, |series| {
            let coordinate = Coordinate::new(&series.dataset, series.dimension);
            for part in &series.parts {
                let (first, last) = (part.indices.start, part.indices.end - 1);
                let ends = [first, last].map(|index| shown(coordinate.as_ref(), index));
                if *args.json {
                    rows.push(part_json((variable, dimension), &series, part, &ends));
                    continue;
                }
                let [from, to] = ends.map(Option::unwrap_or_default);
                let mut cells = vec![text::safe(&series.file), text::safe(variable)];
                cells.extend([first.to_string(), last.to_string(), from, to]);
                cells.extend(numbers(&part.summary));
                table.push(cells);
            }
            Ok::<(), nc3z_collections::Error>(())
        })
        .in_file(path)?;
    }
    if *args.json {
        rows.extend(failure::rows());
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
    } else {
        table.print(&mut out, "")?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// The coordinate at an index. None if the catalogue does not have it.
fn shown(coordinate: Option<&Coordinate>, index: u64) -> Option<String> {
    let coordinate = coordinate?;
    let value = coordinate.values(&[Segment::at(index)]).ok()?;
    Some(coordinate.show(*value.first()?))
}

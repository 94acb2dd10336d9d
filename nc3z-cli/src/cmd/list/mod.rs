//! `nc3z list`: lists the files of a directory, a bundle or an aggregation, one in each line.

mod ranges;
mod shadow;

use super::named::Named;
use super::{aggregated, targets};
use crate::args::{ListArgs, OpenArgs};
use crate::exit::{Exit, of_error};
use crate::output::streams::Stdout;
use crate::output::table::{Side, Table};
use crate::output::{chain, text};
use crate::specification;
use anyhow::Result;
use nc3z_aggregate::bundle::Bundle;
use nc3z_aggregate::{FileRef, as_aggregation};
use nc3z_format::classic::DimId;
use nc3z_look::coordinate::Coordinate;
use nc3z_reader::source::{self, SharedSource};
use nc3z_reader::{Dataset, Variable};
use ranges::{CoordinateRange, range};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

/// The maximal number of names of variables that are printed for a file.
const NAMES: usize = 6;

/// Columns that are cut, or removed from the last on, if the terminal is narrow.
const FLEXIBLE: [&str; 4] = ["time", "variables", "dimensions", "other ranges"];

/// One file of a list.
struct Entry {
    name: String,
    /// Its kind and content, or the reason why it cannot be read.
    found: Result<Found>,
}

/// The content of a file.
struct Found {
    kind: &'static str,
    bytes: u64,
    original: u64,
    dimensions: Vec<(String, u64)>,
    variables: Vec<String>,
    /// The range of each coordinate variable, from the first to the last value.
    ranges: Vec<CoordinateRange>,
}

impl Found {
    /// Returns the first and last date, if there is a time coordinate.
    fn time(&self) -> Option<&(String, String)> {
        self.ranges.iter().find_map(|r| r.dates.as_ref())
    }

    /// Returns ranges of coordinates, without those in the column of times.
    fn other_ranges(&self) -> String {
        let time = self.ranges.iter().position(|r| r.dates.is_some());
        let others = self.ranges.iter().enumerate().filter(|(n, _)| Some(*n) != time);
        others.map(|(_, r)| r.words()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the first names, and the number of others.
    fn variable_names(&self) -> String {
        let more = self.variables.len().saturating_sub(NAMES);
        let names = self.variables.iter().take(NAMES).map(String::as_str).collect::<Vec<_>>().join(" ");
        if more == 0 { names } else { format!("{names} and {more} more") }
    }
}

/// Lists all inputs.
pub(crate) fn run(args: &ListArgs) -> Result<Exit> {
    let entries = super::with_threads(args.threads, || {
        let mut entries = Vec::new();
        for input in targets::expand(&args.inputs)? {
            entries.extend(list(&input.path, args)?);
        }
        Ok::<_, anyhow::Error>(entries)
    })??;
    let mut out = Stdout::results();
    if args.json {
        let all: Vec<Value> = entries.iter().map(to_json).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
    } else {
        let width = out.terminal_width().filter(|_| !args.wide);
        print(&entries, width, &mut out)?;
    }
    out.flush()?;
    Ok(entries.iter().filter_map(|e| e.found.as_ref().err()).map(of_error).max().unwrap_or(Exit::Done))
}

fn list(input: &Path, args: &ListArgs) -> Result<Vec<Entry>> {
    let name = |path: &Path| crate::cmd::shown(path);
    if input.is_dir() {
        let files = targets::netcdf_files(input)?;
        return Ok(files
            .par_iter()
            .map(|path| Entry { name: name(path), found: of_path(path, args).map(|f| f.0) })
            .collect());
    }
    if super::shadow::is_shadow(input) {
        return shadow::list(&super::shadow::open(input, &open_args(args))?);
    }
    let source = Named { file: input.to_owned(), version: None }.source(&open_args(args))?;
    if Bundle::is_bundle(&source)? {
        let bundle = Bundle::open(source)?;
        let data = bundle.names().par_iter().filter(|member| !specification::is_part(member));
        let each = data.map(|member| {
            let found = bundle.member(member).map_err(Into::into).and_then(|source| {
                let source = source.ok_or_else(|| anyhow::anyhow!("it is not there"))?;
                Ok(of_source(source, &input.join(member), args, true)?.0)
            });
            Entry { name: text::safe(member), found }
        });
        return Ok(each.collect());
    }
    let (found, dataset) = match of_source(source, input, args, false) {
        Ok(found) => found,
        Err(e) => return Ok(vec![Entry { name: name(input), found: Err(e) }]),
    };
    let mut entries = vec![Entry { name: name(input), found: Ok(found) }];
    let Some(aggregation) = as_aggregation(&dataset) else { return Ok(entries) };
    // Its fragments, each once.
    let mut uris = BTreeSet::new();
    for (_, _, master) in aggregation.masters() {
        for n in 0..master.partitions.len() {
            let partition = master.partitions.get(n)?;
            if let Some(FileRef::Uri(uri)) = partition.sub_array().map(|sub| &sub.file) {
                uris.insert((uri.clone(), partition.sub_array().and_then(|sub| sub.fingerprint.clone())));
            }
        }
    }
    let uris: Vec<_> = uris.into_iter().collect();
    entries.par_extend(uris.par_iter().map(|(uri, fingerprint)| {
        let opened = aggregation.fragments().open(&FileRef::Uri(uri.clone()), fingerprint.as_deref());
        let found = opened.map_err(Into::into).and_then(|dataset| {
            let dataset = dataset.ok_or_else(|| anyhow::anyhow!("it is not there"))?;
            let bytes = dataset.archive().map_or(dataset.original_len(), nc3z_reader::Archive::stored_len);
            describe(&dataset, bytes)
        });
        Entry { name: crate::cmd::shown(Path::new(uri)), found }
    }));
    Ok(entries)
}

/// Files are read by position, since a list opens many.
fn open_args(args: &ListArgs) -> OpenArgs {
    let mut open = OpenArgs::default();
    open.fragments = args.fragments.clone();
    open.mmap = false;
    open
}

fn of_path(path: &Path, args: &ListArgs) -> Result<(Found, Dataset)> {
    of_source(source::open(path, false)?, path, args, false)
}

fn of_source(source: SharedSource, path: &Path, args: &ListArgs, inside: bool) -> Result<(Found, Dataset)> {
    let open = open_args(args);
    let bytes = source.stored_len();
    let dataset = Dataset::from_source(source, &open.options())?;
    if inside || args.fragments.as_stored || !nc3z_aggregate::is_aggregation(&dataset) {
        let found = describe(&dataset, bytes)?;
        return Ok((found, dataset));
    }
    // With its fragments from its directory, its server, or its bundle.
    let dataset = aggregated::present(dataset, path, &open)?;
    Ok((describe(&dataset, bytes)?, dataset))
}

fn describe(dataset: &Dataset, bytes: u64) -> Result<Found> {
    let is_coordinate = |v: &Variable| {
        v.shape().len() == 1 && v.dimensions().next().is_some_and(|d| d.name == v.header().name)
    };
    let variables = dataset.variables().filter(|v| !is_coordinate(v)).map(|v| text::safe(&v.name()));
    let dimensions = dataset.dimensions().iter().map(|d| {
        let len = if d.is_record() { dataset.records() } else { d.len };
        (text::name(&d.name), len)
    });
    let kind = match () {
        () if as_aggregation(dataset).is_some() || nc3z_aggregate::is_aggregation(dataset) => "aggregation",
        () if dataset.archive().is_some() => "archive",
        () => "classic",
    };
    let mut coordinates: Vec<Coordinate> = Vec::new();
    for id in (0_u32..).map(DimId).take(dataset.dimensions().len()) {
        let found = Coordinate::of(dataset, id);
        coordinates.extend(
            found.filter(|c| coordinates.iter().all(|known| known.variable().id() != c.variable().id())),
        );
    }
    coordinates.sort_by_key(|c| c.variable().id());
    let ranges = coordinates.iter().filter_map(|c| range(c).transpose()).collect::<Result<_>>()?;
    let original = if kind == "aggregation" { dataset.layout().file_len } else { dataset.original_len() };
    Ok(Found {
        kind,
        bytes,
        original,
        dimensions: dimensions.collect(),
        variables: variables.collect(),
        ranges,
    })
}

fn print(entries: &[Entry], width: Option<usize>, out: &mut dyn Write) -> Result<()> {
    let columns = [
        ("name", Side::Left),
        ("kind", Side::Left),
        ("size", Side::Right),
        ("ratio", Side::Right),
        ("variables", Side::Left),
        ("dimensions", Side::Left),
        ("time", Side::Left),
        ("other ranges", Side::Left),
        ("state", Side::Left),
    ];
    let all_ok = entries.iter().all(|entry| entry.found.is_ok());
    let mut table = Table::new(&columns);
    for Entry { name, found } in entries {
        let row =
            match found {
                Err(e) => {
                    let mut row = vec![String::new(); columns.len()];
                    row[0].clone_from(name);
                    row[columns.len() - 1] = chain(e);
                    row
                }
                Ok(f) => {
                    let dims: Vec<String> =
                        f.dimensions.iter().map(|(n, len)| format!("{n}={len}")).collect();
                    let time = f.time().map_or_else(String::new, |(a, b)| {
                        if a == b { a.clone() } else { format!("{a} to {b}") }
                    });
                    let ratio =
                        if f.kind == "archive" { text::ratio(f.original, f.bytes) } else { String::new() };
                    vec![
                        name.clone(),
                        f.kind.to_owned(),
                        text::size(f.bytes),
                        ratio,
                        f.variable_names(),
                        dims.join(" "),
                        time,
                        f.other_ranges(),
                        if width.is_some() && all_ok { String::new() } else { "ok".to_owned() },
                    ]
                }
            };
        table.push(row);
    }
    if let Some(width) = width {
        table.fit(width, &FLEXIBLE);
    }
    Ok(table.print(out, "")?)
}

fn to_json(entry: &Entry) -> Value {
    let f = match &entry.found {
        Err(e) => return json!({"name": entry.name, "state": "error", "error": chain(e)}),
        Ok(f) => f,
    };
    let dimensions: Vec<Value> =
        f.dimensions.iter().map(|(name, len)| json!({"name": name, "length": len})).collect();
    json!({
        "name": entry.name, "state": "ok", "kind": f.kind, "bytes": f.bytes, "original_bytes": f.original,
        "dimensions": dimensions, "variables": f.variables, "time": f.time().map(|(a, b)| json!([a, b])),
        "coordinates": f.ranges.iter().map(CoordinateRange::to_json).collect::<Vec<_>>(),
    })
}

//! What a read needs of many files, from their shadow: objects and ranges of bytes, in the order of recalling them.

use crate::args::ExplainArgs;
use crate::exit::Exit;
use crate::output::streams::Stdout;
use crate::output::table::{Side, Table, count};
use crate::output::{chain, text};
use anyhow::{Context, Result, bail};
use nc3z_aggregate::shadow::{Asked, Kind, Need, described, need};
use serde_json::json;
use std::io::{BufWriter, Write};
use std::path::Path;

/// The number of ranges that are listed, unless all are requested.
const SHOWN: usize = 16;

/// A file that has the variable, and the ranges that the read takes from it.
struct File {
    /// The object that is recalled: the file, or its bundle.
    object: String,
    name: String,
    need: Need,
    packed: bool,
}

/// Plans the read for the files of a shadow, or for one of them.
pub(super) fn explain(args: &ExplainArgs, path: &Path, member: Option<&str>) -> Result<Exit> {
    let shadow = crate::cmd::shadow::open(path, &args.open)?;
    let (mut files, mut left_out, mut known) = (Vec::new(), Vec::new(), false);
    for block in shadow.blocks() {
        let Some(tiles) = block.tiles(&args.variable)? else { continue };
        let (names, heads, headers) = (block.names()?, block.heads()?, block.headers()?);
        let (coordinates, places) = (block.coordinates()?, block.places(&args.variable, &tiles)?);
        for (found, places) in tiles.found.iter().zip(&places) {
            let name = &names[found.member];
            if member.is_some_and(|wanted| wanted != name) {
                continue;
            }
            known = true;
            let (head, number) = &heads[found.member];
            let header = headers.get(*number).context("the shadow does not have a header that it names")?;
            let of = || -> Result<Need> {
                if head.kind == Kind::Other {
                    bail!("it is an aggregation: ask for the files that it refers to");
                }
                let dataset = described(head, header, coordinates[found.member].clone())?;
                let variable = dataset.variable(&args.variable)?;
                let selection = crate::cmd::read::selection_of(&dataset, &variable, &args.selection)?;
                let slabs: Vec<_> = selection.slabs().into_iter().map(|(slab, _)| slab).collect();
                let (variable, layout) = (variable.id(), &found.layout);
                Ok(need(Asked { head, dataset: &dataset, variable, layout, places }, &slabs)?)
            };
            match of() {
                Ok(need) => {
                    let object = name.split_once("!/").map_or(name.as_str(), |(bundle, _)| bundle).to_owned();
                    files.push(File { object, name: name.clone(), need, packed: head.kind == Kind::Packed });
                }
                Err(e) => left_out.push((name.clone(), e)),
            }
        }
    }
    if !known {
        let place = member
            .map_or_else(|| "a file of the shadow".to_owned(), |name| format!("`{}`", text::safe(name)));
        bail!("{place} has no variable `{}`", text::safe(&args.variable));
    }
    if files.is_empty() {
        let (name, e) = left_out.swap_remove(0);
        return Err(e.context(format!("`{}`", text::safe(&name))));
    }
    // A tape is read forwards: objects in the order of the shadow, and their ranges by offset.
    let mut objects: Vec<(String, Vec<File>)> = Vec::new();
    for file in files {
        match objects.last_mut() {
            Some((object, all)) if *object == file.object => all.push(file),
            _ => objects.push((file.object.clone(), vec![file])),
        }
    }
    for (_, files) in &mut objects {
        files.sort_by_key(|file| file.need.ranges.first().map(|range| range.offset));
        // Files of one group are read with it, once.
        for n in (1..files.len()).rev() {
            if files[n].packed && files[n].need.ranges == files[n - 1].need.ranges {
                files[n].need.ranges.clear();
            }
        }
    }
    print(args, &objects, &left_out)?;
    Ok(Exit::Done)
}

fn print(
    args: &ExplainArgs,
    objects: &[(String, Vec<File>)],
    left_out: &[(String, anyhow::Error)],
) -> Result<()> {
    let mut out = BufWriter::new(Stdout::results());
    let files = || objects.iter().flat_map(|(_, files)| files);
    let bytes: u64 = files().fold(0, |sum, file| sum.saturating_add(file.need.bytes()));
    let ranges: usize = files().map(|file| file.need.ranges.len()).sum();
    let (touched, tiles) =
        files().fold((0_u64, 0_u64), |(a, b), f| (a + f.need.tiles.0, b.saturating_add(f.need.tiles.1)));
    let shown = if args.all { usize::MAX } else { SHOWN };
    let rows = files().flat_map(|file| file.need.ranges.iter().map(move |range| (file, range))).take(shown);
    if args.json {
        let each: Vec<_> = rows
            .map(|(file, range)| {
                json!({"object": text::safe(&file.object), "file": text::safe(&file.name), "offset": range.offset, "length": range.len})
            })
            .collect();
        let others: Vec<_> = left_out
            .iter()
            .map(|(name, e)| json!({"file": text::safe(name), "reason": text::safe(&chain(e))}))
            .collect();
        let report = json!({
            "variable": text::safe(&args.variable), "objects": objects.len(), "files": files().count(), "files_left_out": others,
            "tiles": {"touched": touched, "total": tiles}, "ranges": ranges, "bytes_to_fetch": bytes, "first_ranges": each,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(out.flush()?);
    }
    writeln!(out, "objects    {}", objects.len())?;
    writeln!(out, "files      {}", files().count())?;
    writeln!(out, "tiles      {touched} of {tiles}")?;
    writeln!(out, "fetch      {} in {}", super::size(bytes), count(ranges as u64, "range"))?;
    if let Some((name, e)) = left_out.first() {
        let (name, why) = (text::safe(name), text::safe(&chain(e)));
        writeln!(out, "left out   {}, the first one `{name}`: {why}", count(left_out.len() as u64, "file"))?;
    }
    let mut table = Table::new(&[("offset", Side::Right), ("bytes", Side::Right), ("file", Side::Left)]);
    for (file, range) in rows {
        table.push(vec![range.offset.to_string(), range.len.to_string(), text::safe(&file.name)]);
    }
    table.print(&mut out, "  ")?;
    if ranges > shown {
        writeln!(out, "  and {} more", ranges - shown)?;
    }
    Ok(out.flush()?)
}

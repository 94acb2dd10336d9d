//! What a read needs of many files, from their catalogue: objects and ranges of bytes, in the order of recalling them.

use crate::args::ReadArgs;
use crate::exit::Exit;
use crate::output::streams::Stdout;
use crate::output::table::{Side, Table, count};
use crate::output::{chain, text};
use anyhow::{Result, bail};
use nc3z_collections::catalog::{Recall, RecalledFile, recall};
use nc3z_collections::tree::answers::{LeftOutFile, RecallReport};
use nc3z_format::Hyperslab;
use nc3z_reader::{Dataset, Variable};
use std::io::{BufWriter, Write};
use std::path::Path;

/// The number of ranges that are listed, unless all are requested.
const SHOWN: usize = 16;

/// Plans the read for the files of a catalogue, or for one of them.
pub(super) fn explain(args: &ReadArgs, path: &Path, member: Option<&str>) -> Result<Exit> {
    let catalog = crate::cmd::catalog::open(path, &args.open)?;
    let select = |dataset: &Dataset, variable: &Variable| -> Result<Vec<Hyperslab>> {
        let selection = crate::cmd::read::selection_of(dataset, variable, &args.selection)?;
        Ok(selection.slabs().into_iter().map(|(slab, _)| slab).collect())
    };
    let Recall { objects, mut left_out, is_known } = recall(&catalog, &args.variable, member, &select)?;
    if !is_known {
        let names: Vec<String> =
            catalog.blocks().map(|block| block.names()).collect::<Result<Vec<_>, _>>()?.concat();
        if let Some(name) = member.filter(|name| !names.iter().any(|known| known == name)) {
            bail!("the catalogue has no file `{}`; `nc3z list` lists its files", text::safe(name));
        }
        let place = member.map_or_else(
            || "no file of the catalogue has a".to_owned(),
            |name| format!("`{}` has no", text::safe(name)),
        );
        bail!("{place} variable `{}`", text::safe(&args.variable));
    }
    if objects.is_empty() {
        let (name, e) = left_out.swap_remove(0);
        return Err(e.context(format!("`{}`", text::safe(&name))));
    }
    print(args, &objects, &left_out)?;
    Ok(Exit::Done)
}

fn print(
    args: &ReadArgs,
    objects: &[(String, Vec<RecalledFile>)],
    left_out: &[(String, anyhow::Error)],
) -> Result<()> {
    let mut out = BufWriter::new(Stdout::results());
    let shown = if args.all { usize::MAX } else { SHOWN };
    let left_out: Vec<_> = left_out.iter().map(|(name, e)| (name.clone(), chain(e))).collect();
    let report = RecallReport::new(&args.variable, objects, &left_out, shown);
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(out.flush()?);
    }
    writeln!(out, "objects    {}", report.objects)?;
    writeln!(out, "files      {}", report.files)?;
    writeln!(out, "tiles      {} of {}", report.tiles.touched, report.tiles.total)?;
    let ranges = count(report.ranges as u64, "range");
    writeln!(out, "fetch      {} in {ranges}", super::size(report.bytes_to_fetch))?;
    if let Some(LeftOutFile { file, reason }) = report.files_left_out.first() {
        let files = count(report.files_left_out.len() as u64, "file");
        writeln!(out, "left out   {files}, the first one `{file}`: {reason}")?;
    }
    let mut table = Table::new(&[("offset", Side::Right), ("bytes", Side::Right), ("file", Side::Left)]);
    for range in &report.first_ranges {
        table.push(vec![range.offset.to_string(), range.length.to_string(), range.file.clone()]);
    }
    table.print(&mut out, "  ")?;
    if report.ranges > shown {
        writeln!(out, "  and {} more", report.ranges - shown)?;
    }
    Ok(out.flush()?)
}

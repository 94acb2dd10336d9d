//! `nc3z read --explain`: shows the plan of a read, and its cost.

mod catalog;
mod fragments;

use crate::args::ReadArgs;
use crate::cmd::named::{self, Opens as _};
use crate::exit::Exit;
use crate::output::streams::Stdout;
use crate::output::table::count;
use crate::output::text;
use anyhow::Result;
use nc3z_look::explain::PlannedRead;
use std::io::{BufWriter, Write};

/// Plans a read, and prints its cost.
pub(super) fn run(args: &ReadArgs) -> Result<Exit> {
    if let Some((catalog, member)) = super::catalog::named(&args.file) {
        return catalog::explain(args, &catalog, member.as_deref());
    }
    let (dataset, variable, selection) =
        super::read::select(&args.file, &args.variable, &args.selection, &args.open)?;
    let mut out = BufWriter::new(Stdout::results());
    if fragments::explain(&dataset, &variable, &selection, args.all, args.json, &mut out)? {
        out.flush()?;
        return Ok(Exit::Done);
    }
    // Offsets are those in the long form of a short archive.
    let source = match dataset.archive() {
        Some(archive) => archive.source().clone(),
        None => named::of(&args.file)?.source(&args.open)?,
    };
    let read = PlannedRead::new(&dataset, &variable, &selection, &source)?;
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&read.to_json(args.all))?)?;
    } else {
        write_text(&read, args.all, &mut out)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Writes the plan for people.
fn write_text(read: &PlannedRead<'_>, all: bool, out: &mut dyn Write) -> Result<()> {
    let PlannedRead { variable, cost, .. } = read;
    let dims: Vec<String> = variable
        .dimensions()
        .zip(variable.shape())
        .map(|(d, n)| format!("{}={n}", text::name(&d.name)))
        .collect();
    writeln!(out, "variable   {} {}({})", variable.ty(), text::safe(&variable.name()), dims.join(", "))?;
    let (elements, bytes) = read.wanted();
    for (slab, _) in read.selection.slabs() {
        writeln!(out, "selection  {slab}")?;
    }
    writeln!(out, "wanted     {}, {}", count(elements, "element"), size(bytes))?;
    let (tiles, layout) = read.tiles();
    if read.is_archived() {
        let constant =
            if cost.constant > 0 { format!(", {} constant", cost.constant) } else { String::new() };
        writeln!(out, "tiles      {} of {tiles} ({layout}), {} whole{constant}", cost.tiles, cost.whole)?;
    } else {
        writeln!(out, "pieces     {} of {tiles} ({layout}), read where they lie", cost.tiles)?;
    }
    if cost.references > 0 {
        writeln!(out, "references {} of other variables", count(cost.references, "tile"))?;
    }
    writeln!(out, "copies     {}", count(cost.runs, "run"))?;
    writeln!(out, "fetch      {}", size(cost.fetch))?;
    writeln!(out, "decode     {}", size(cost.decode))?;
    if let Some(archive) = read.dataset.archive().filter(|_| read.is_archived()) {
        let stats = archive.cache().stats();
        writeln!(
            out,
            "cache      {} of {} there; budget {}, {} used",
            cost.cached,
            count(cost.tiles, "tile"),
            text::size(stats.budget),
            text::size(stats.used_bytes)
        )?;
    }
    for plan in &read.plans {
        let plan = if all { format!("{plan:#}") } else { plan.to_string() };
        write!(out, "\n{plan}")?;
    }
    Ok(())
}

/// Formats a size, and the exact number if it was rounded.
fn size(bytes: u64) -> String {
    if bytes < 1024 { text::size(bytes) } else { format!("{} ({bytes} bytes)", text::size(bytes)) }
}

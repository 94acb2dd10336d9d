//! `nc3z info`: shows what a file is, and the stored size of each variable.

mod aggregation;
mod notation;

use super::read::printed;
use super::versions::{recorded, write_versions};
use super::{Input, in_file, named};
use crate::args::{InfoArgs, NotationArg, OpenArgs};
use crate::exit::{Exit, of_error};
use crate::output::failure::Failure;
use crate::output::streams::{Stdout, is_reader_gone};
use crate::output::table::{Side, Table, count};
use crate::output::{message, report_error, text};
use anyhow::Result;
use nc3z::opener::{Kind, WrongKind};
use nc3z_collections::catalog::Catalog;
use nc3z_format::archive::constants;
use nc3z_format::classic::NumRecs;
use nc3z_format::codec::ChainSpec;
use nc3z_format::quantize::LossRecord;
use nc3z_format::tile::{Edge, TileLayout};
use nc3z_look::cost::Costs;
use nc3z_look::info::{Details, Info, Notation, edition};
use nc3z_look::versions::versions_json;
use nc3z_reader::{Archive, Dataset};
use serde_json::{Value, json};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// The length of the output buffer in bytes.
const OUT_BUFFER: usize = 64 << 10;

/// One of the files to report on.
#[derive(Clone)]
pub(super) struct OneFile {
    pub(super) file: PathBuf,
    pub(super) json: bool,
    open: OpenArgs,
}

/// Reports on all files. If one cannot be read, the others are still reported.
pub(crate) fn run(args: &InfoArgs) -> Result<Exit> {
    super::url::check_credentials(&args.files, &args.open.remote)?;
    let each = args.files.iter().map(|file| OneFile {
        file: file.clone(),
        json: args.json,
        open: args.open.clone(),
    });
    let each: Vec<OneFile> = each.collect();
    let report = |one: &OneFile| {
        if args.layout { super::layout::run(one) } else { report(one, args.versions, args.notation) }
    };
    if let [one] = &each[..] {
        return report(one);
    }
    let mut worst = Exit::Done;
    let line = |words: &str| writeln!(Stdout::results(), "{words}");
    for (n, one) in each.iter().enumerate() {
        match (n, args.json) {
            (0, true) => line("[")?,
            (_, true) => line(",")?,
            (0, false) => {}
            (_, false) => line("")?,
        }
        if let Err(e) = report(one) {
            if is_reader_gone(&e) {
                return Err(e);
            }
            report_error(None, &e);
            worst = worst.max(of_error(&e));
            if args.json {
                let file = crate::cmd::shown(&one.file);
                line(&json!({"file": file, "error": Failure::new(&e, Some(&one.file))}).to_string())?;
            }
        }
    }
    if args.json {
        line("]")?;
    }
    Ok(worst)
}

fn report(args: &OneFile, versions: bool, notation: Option<NotationArg>) -> Result<Exit> {
    let dataset = match open(args) {
        Err(e) => match message::wrong_kind(&e) {
            // The versions and chains of a bundle are those of the archive that it is.
            Some(WrongKind { kind: Kind::Bundle, .. })
                if (versions || notation.is_some()) && !args.open.fragments.as_stored =>
            {
                let mut stored = args.clone();
                stored.open.fragments.as_stored = true;
                return report(&stored, versions, notation);
            }
            Some(found @ WrongKind { kind: Kind::Bundle | Kind::Catalog, .. }) => {
                let kind = if found.kind == Kind::Bundle { "bundle" } else { "catalogue" };
                return report_many(args, kind, found.files.map(|n| n as u64));
            }
            _ => return Err(e),
        },
        Ok(dataset) => dataset,
    };
    if !args.open.fragments.as_stored && nc3z_collections::has_aggregations(dataset.header()) {
        return report_aggregation(args, dataset);
    }
    // With --as-stored, --versions or --notation a catalogue is reported as the archive that it is stored in.
    let is_stored = args.open.fragments.as_stored || versions || notation.is_some();
    if !is_stored && dataset.archive().is_some() && Catalog::is_one(&dataset) {
        let catalog = in_file(&args.file, super::catalog::open(&args.file, &args.open))?;
        return report_many(args, "catalogue", Some(catalog.len() as u64));
    }
    let input = named::input(&dataset);
    let file = text::safe(&super::url::shown(&args.file));
    let info = in_file(&args.file, Info::new(file, &dataset).map_err(Into::into))?;
    let keys = notation.map(|notation| move |chain: &ChainSpec| notation::json(notation, chain));
    let keys = keys.as_ref().map(|keys| keys as &Notation<'_>);
    let mut out = BufWriter::with_capacity(OUT_BUFFER, Stdout::results());
    if args.json {
        let versions = match input {
            Input::Archive(archive) if versions => {
                Some(in_file(&args.file, versions_json(archive).map_err(Into::into))?)
            }
            _ => None,
        };
        printed(info.write_json(Details { notation: keys, versions, attributes: None }, &mut out))?;
    } else {
        write_text(&info, notation, &mut out)?;
        if let (true, Input::Archive(archive)) = (versions, input) {
            in_file(&args.file, write_versions(archive, &mut out))?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Reports on a file that has or describes other files: a bundle or a catalogue.
fn report_many(args: &OneFile, kind: &str, files: Option<u64>) -> Result<Exit> {
    let file = crate::cmd::shown(&args.file);
    let name = named::of(&args.file)?;
    let bytes = named::Opens::source(&name, &args.open)?.len();
    let mut out = Stdout::results();
    if args.json {
        let json = json!({"file": file, "kind": kind, "files": files, "file_bytes": bytes});
        writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
    } else {
        writeln!(out, "{file}: {kind}")?;
        let mut facts = Table::new(&[("", Side::Left), ("", Side::Left)]);
        facts.push(vec!["file".to_owned(), exact(bytes)]);
        let files = files.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
        facts.push(vec![
            "files".to_owned(),
            format!("{files}; `nc3z list {}` lists them", message::shell_name(&args.file)),
        ]);
        facts.print(&mut out, "  ")?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Reports on a file that is an aggregation.
fn report_aggregation(args: &OneFile, dataset: Dataset) -> Result<Exit> {
    let dataset = in_file(&args.file, named::present(dataset, &args.file, &args.open))?;
    let found = nc3z_collections::as_aggregation(&dataset)
        .expect("presented as an aggregation, which its header has");
    let mut out = BufWriter::with_capacity(OUT_BUFFER, Stdout::results());
    aggregation::report(&crate::cmd::shown(&args.file), &dataset, found, args.json, &mut out)?;
    out.flush()?;
    Ok(Exit::Done)
}

/// Opens the file of a report; errors name it.
pub(super) fn open(args: &OneFile) -> Result<Dataset> {
    in_file(&args.file, super::open_input(&args.file, &args.open))
}

/// Writes the report for people.
fn write_text(info: &Info<'_>, notation: Option<NotationArg>, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{}: {}", info.file, info.kind())?;
    let len = info.layout.file_len;
    let mut facts = Table::new(&[("", Side::Left), ("", Side::Left)]);
    let mut fact = |what: &str, words: String| facts.push(vec![what.to_owned(), words]);
    match &info.archive {
        None => fact("file", exact(len)),
        Some((archive, costs)) => archive_facts(archive, costs, &mut fact),
    }
    fact("header", exact(info.layout.header_len));
    fact("global attributes", info.header.attributes.len().to_string());
    fact("records", records_words(info));
    for (what, bytes, cost) in [
        ("gap bytes", info.layout.gaps.len(), info.archive.as_ref().map(|(a, c)| (a, &c.gap))),
        ("padding bytes", info.padding_len(), info.archive.as_ref().map(|(a, c)| (a, &c.padding))),
    ] {
        let stored = cost.filter(|_| bytes > 0).map(|(archive, cost)| {
            format!(", stored in {}: {}", text::size(cost.bytes), cost.words(archive.chains()))
        });
        fact(what, format!("{}{}", exact(bytes), stored.unwrap_or_default()));
    }
    facts.print(out, "  ")?;
    write_dimensions(info, out)?;
    write_variables(info, out)?;
    if let (Some(notation), Some((archive, costs))) = (notation, &info.archive) {
        notation::write(notation, info.header, archive, costs, out)?;
    }
    if !info.layout.warnings.is_empty() {
        writeln!(out, "warnings")?;
    }
    for warning in &info.layout.warnings {
        writeln!(out, "  {}", text::safe(&warning.words(info.header)))?;
    }
    Ok(())
}

fn records_words(info: &Info<'_>) -> String {
    if info.layout.record_len == 0 && info.layout.numrecs == 0 {
        return "none".to_owned();
    }
    let streaming =
        if info.header.numrecs == NumRecs::Streaming { " (streaming: from the file's length)" } else { "" };
    let irregular = info.layout.records.is_none() && info.layout.record_len > 0 && info.layout.numrecs > 0;
    let irregular = if irregular { ", irregular" } else { "" };
    format!("{} of {}{irregular}{streaming}", info.layout.numrecs, text::size(info.layout.record_len))
}

fn write_dimensions(info: &Info<'_>, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{}", count(info.header.dimensions.len() as u64, "dimension"))?;
    let mut table = Table::new(&[("", Side::Left), ("", Side::Right), ("", Side::Left)]);
    for d in &info.header.dimensions {
        let (len, mark) = if d.is_record() { (info.layout.numrecs, "record dimension") } else { (d.len, "") };
        table.push(vec![text::name(&d.name), len.to_string(), mark.to_owned()]);
    }
    Ok(table.print(out, "  ")?)
}

fn write_variables(info: &Info<'_>, out: &mut dyn Write) -> Result<()> {
    use Side::{Left, Right};
    writeln!(out, "{}", count(info.header.variables.len() as u64, "variable"))?;
    let mut columns = vec![("name", Left), ("type", Left), ("shape", Left), ("bytes", Right)];
    if info.archive.is_some() {
        columns.extend([
            ("stored", Right),
            ("ratio", Right),
            ("tiles", Right),
            ("of", Left),
            ("chains", Left),
        ]);
    }
    let mut table = Table::new(&columns);
    for ((id, variable), place) in info.header.variables().zip(&info.layout.variables) {
        let dims = variable.dimensions.iter().map(|d| text::name(&info.header.dimensions[d.index()].name));
        let shape: Vec<String> = dims.zip(&place.shape).map(|(name, len)| format!("{name}={len}")).collect();
        let bytes = place.present * place.element_size();
        let shape = if shape.is_empty() { "scalar".to_owned() } else { shape.join(" ") };
        let mut row = vec![text::name(&variable.name), variable.ty.to_string(), shape, text::size(bytes)];
        if let Some((archive, costs)) = &info.archive {
            let cost = &costs.variables[id.index()];
            let words = if place.owned { cost.words(archive.chains()) } else { "aliased".to_owned() };
            let ratio = text::ratio(bytes, cost.bytes);
            let cut = layout_words(archive.arrays().variable(id).tiling.layout());
            row.extend([text::size(cost.bytes), ratio, cost.tiles().to_string(), cut, words]);
        }
        table.push(row);
    }
    if !info.header.variables.is_empty() {
        table.print(out, "  ")?;
    }
    let packed = |(_, costs): &(_, Costs)| costs.variables.iter().any(|c| c.packed > 0);
    if info.archive.as_ref().is_some_and(packed) {
        writeln!(out, "  packed tiles share a block; each is charged its share of the block's bytes")?;
    }
    Ok(())
}

/// Formats `262144` elements of a linear tile, `12x90x180` of a chunk.
fn layout_words(layout: &TileLayout) -> String {
    match layout {
        TileLayout::Linear { len } => len.to_string(),
        TileLayout::Chunked { shape, edge } => {
            let shape: Vec<_> = shape.iter().map(ToString::to_string).collect();
            let padded = if *edge == Edge::Padded { " padded" } else { "" };
            format!("{}{padded}", if shape.is_empty() { "scalar".to_owned() } else { shape.join("x") })
        }
    }
}

/// Formats `1.5 KiB (1536 bytes)`.
fn exact(bytes: u64) -> String {
    if bytes < 1024 { count(bytes, "byte") } else { format!("{} ({bytes} bytes)", text::size(bytes)) }
}

/// Facts about archives only, for people.
fn archive_facts(archive: &Archive, costs: &Costs, fact: &mut dyn FnMut(&str, String)) {
    let (original, stored) = (archive.original_len(), archive.stored_len());
    fact("original", exact(original));
    fact("archive", format!("{}, ratio {}", exact(stored), text::ratio(original, stored)));
    if archive.is_short() {
        let long = exact(archive.source().len());
        let whole = if archive.is_whole() { ", the original packed as a whole" } else { "" };
        fact("form", format!("short{whole}; blocks are those of the long form, which has {long}"));
    } else {
        let overhead = exact(stored - costs.payload.min(stored));
        fact("overhead", format!("{overhead} of the archive is not payload"));
    }
    fact("SHA-256", recorded(archive.digest()));
    let metadata = archive.metadata();
    fact("writer", text::safe(&metadata.writer));
    let options = metadata.options.iter().map(|(k, v)| format!("{}={}", text::safe(k), text::safe(v)));
    fact("options", options.collect::<Vec<_>>().join(" "));
    for entry in metadata.lineage() {
        fact("came from", lineage_words(entry));
    }
    fact("edition", text::safe(edition(archive).name()));
    fact("commits", archive.trailer().generation.to_string());
    if let Ok(version) = archive.version() {
        fact("version", version.number.to_string());
        version.message.iter().for_each(|message| fact("message", text::safe(message)));
    }
    for (bit, words) in [
        (constants::REQUIRED_LOSSY, "LOSSY: values were rounded; the original is the rounded file"),
        (constants::REQUIRED_LOST, "holds lost tiles"),
    ] {
        if archive.trailer().required & bit != 0 {
            let lost = metadata.extra.get("repair").and_then(|r| r.get("lost_tiles")).and_then(Value::as_u64);
            let words = match lost.filter(|_| bit == constants::REQUIRED_LOST) {
                Some(n) => format!("{n} tiles were lost before it was repaired; `nc3z verify` lists them"),
                None => words.to_owned(),
            };
            fact("attention", words);
        }
    }
    if let Some(record) = LossRecord::find(&metadata.extra) {
        let before = format!("{}, SHA-256 {}", exact(record.source_len), text::safe(&record.source_sha256));
        fact("before rounding", before);
        record.variables.iter().for_each(|v| fact("rounded", text::loss(v)));
    }
    if archive.torn_tail() > 0 {
        fact("torn tail", format!("{} of a commit that did not finish", exact(archive.torn_tail())));
    }
}

fn lineage_words(entry: &Value) -> String {
    let word = |key: &str| text::safe(entry[key].as_str().unwrap_or("unknown"));
    let options = entry["options"].as_object().into_iter().flatten();
    let options =
        options.map(|(k, v)| format!(", {}={}", text::safe(k), text::safe(v.as_str().unwrap_or("?"))));
    let options: String = options.collect();
    let bytes = entry["archive_bytes"].as_u64().map_or_else(|| "unknown size".to_owned(), exact);
    format!("an archive by {}{options}; {bytes}, SHA-256 {}", word("writer"), word("archive_sha256"))
}

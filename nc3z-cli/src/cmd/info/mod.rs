//! `nc3z info`: shows what a file is, and the stored size of each variable.

mod aggregation;
mod digests;
pub(super) mod notation;
#[cfg(feature = "serve")]
mod open_file;

#[cfg(feature = "serve")]
pub(super) use open_file::describe;

use super::versions::{versions_json, write_versions};
use super::{Input, in_file};
use crate::args::{InfoArgs, NotationArg, ReportArgs};
use crate::exit::{Exit, of_error};
use crate::output::json::JsonWriter;
use crate::output::streams::{Stdout, is_reader_gone};
use crate::output::table::{Side, Table, count};
use crate::output::{chain, report_error, text};
use anyhow::Result;
use nc3z_format::archive::{SectionKind, constants};
use nc3z_format::classic::{Header, Layout, NumRecs, VarId, Variable};
use nc3z_format::codec::Chain;
use nc3z_format::quantize::LossRecord;
use nc3z_format::tile::{Edge, TileLayout};
use nc3z_look::cost::{Cost, Costs};
use nc3z_reader::{Archive, Dataset, Digest};
use serde_json::{Value, json};
use std::io::{BufWriter, Write};

/// The length of the output buffer in bytes.
const OUT_BUFFER: usize = 64 << 10;

/// Reports on all files. If one cannot be read, the others are still reported.
pub(crate) fn run(args: &InfoArgs) -> Result<Exit> {
    let each = args.files.iter().map(|file| ReportArgs {
        file: file.clone(),
        json: args.json,
        open: args.open.clone(),
    });
    let each: Vec<ReportArgs> = each.collect();
    if let [one] = &each[..] {
        return report(one, args.versions, args.notation);
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
        if let Err(e) = report(one, args.versions, args.notation) {
            if is_reader_gone(&e) {
                return Err(e);
            }
            report_error(None, &e);
            worst = worst.max(of_error(&e));
            if args.json {
                let file = text::safe(&super::url::shown(&one.file));
                line(&json!({"file": file, "error": text::safe(&chain(&e))}).to_string())?;
            }
        }
    }
    if args.json {
        line("]")?;
    }
    Ok(worst)
}

/// Reports on one file.
fn report(args: &ReportArgs, versions: bool, notation: Option<NotationArg>) -> Result<Exit> {
    let input = open(args)?;
    let header = match &input {
        Input::Archive(archive) => archive.header(),
        Input::Classic(classic) => classic.header(),
    };
    if !args.open.fragments.as_stored && nc3z_aggregate::has_aggregations(header) {
        return report_aggregation(args, input);
    }
    let costs = match &input {
        Input::Archive(archive) => {
            Some(in_file(&args.file, Costs::of(archive, archive.source()).map_err(Into::into))?)
        }
        Input::Classic(_) => None,
    };
    let file = text::safe(&super::url::shown(&args.file));
    let report = match &input {
        Input::Archive(a) => {
            Report { file, header: a.header(), layout: a.layout(), archive: costs.map(|c| (a, c)), notation }
        }
        Input::Classic(c) => Report { file, header: c.header(), layout: c.layout(), archive: None, notation },
    };
    let mut out = BufWriter::with_capacity(OUT_BUFFER, Stdout::results());
    if args.json {
        let versions = match &input {
            Input::Archive(archive) if versions => Some(in_file(&args.file, versions_json(archive))?),
            _ => None,
        };
        report.write_json(versions, &mut out)?;
    } else {
        report.write_text(&mut out)?;
        if let (true, Input::Archive(archive)) = (versions, &input) {
            in_file(&args.file, write_versions(archive, &mut out))?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Reports on a file that is an aggregation.
fn report_aggregation(args: &ReportArgs, input: Input) -> Result<Exit> {
    let dataset = match input {
        Input::Archive(archive) => Dataset::from(archive),
        Input::Classic(classic) => Dataset::from(*classic),
    };
    let dataset = in_file(&args.file, super::aggregated::present(dataset, &args.file, &args.open))?;
    let found =
        nc3z_aggregate::as_aggregation(&dataset).expect("presented as an aggregation, which its header has");
    let mut out = BufWriter::with_capacity(OUT_BUFFER, Stdout::results());
    aggregation::report(&crate::cmd::shown(&args.file), &dataset, found, args.json, &mut out)?;
    out.flush()?;
    Ok(Exit::Done)
}

/// Opens the file of a report; errors name it.
pub(super) fn open(args: &ReportArgs) -> Result<Input> {
    in_file(&args.file, super::open_input(&args.file, &args.open))
}

/// The content of a report.
struct Report<'a> {
    file: String,
    header: &'a Header,
    layout: &'a Layout,
    archive: Option<(&'a Archive, Costs)>,
    notation: Option<NotationArg>,
}

impl Report<'_> {
    fn kind(&self) -> String {
        let version = self.header.version;
        if self.archive.is_some() {
            format!("nc3z archive of {version}")
        } else {
            format!("classic netCDF, {version}")
        }
    }

    fn write_json(&self, versions: Option<Vec<Value>>, out: &mut dyn Write) -> Result<()> {
        let mut json = JsonWriter::new(out)?;
        let kind = if self.archive.is_some() { "archive" } else { "classic" };
        json.field("file", &self.file.as_str().into())?;
        json.field("kind", &kind.into())?;
        json.field("format", &self.header.version.to_string().into())?;
        json.field("original_bytes", &self.layout.file_len.into())?;
        if let Some((archive, costs)) = &self.archive {
            archive_json(&mut json, archive, costs)?;
            if let Some(versions) = versions {
                json.field("versions", &versions.into())?;
            }
        }
        let field = match self.header.numrecs {
            NumRecs::Count(n) => Value::from(n),
            NumRecs::Streaming => "streaming".into(),
        };
        json.field("numrecs", &self.layout.numrecs.into())?;
        json.field("numrecs_field", &field)?;
        json.field("global_attributes", &self.header.attributes.len().into())?;
        json.field("residue", &self.residue_json())?;
        json.array("dimensions")?;
        for d in &self.header.dimensions {
            let len = if d.is_record() { self.layout.numrecs } else { d.len };
            json.item(&json!({"name": text::name(&d.name), "length": len, "record": d.is_record()}))?;
        }
        json.close()?;
        json.array("variables")?;
        for (id, variable) in self.header.variables() {
            json.item(&self.variable_json(id, variable))?;
        }
        json.close()?;
        json.array("warnings")?;
        for warning in &self.layout.warnings {
            let variable = warning.variable().map(|v| v.0);
            let message = text::safe(&warning.words(self.header));
            json.item(&json!({"message": message, "serious": warning.is_serious(), "variable": variable}))?;
        }
        Ok(json.finish()?)
    }

    fn variable_json(&self, id: VarId, variable: &Variable) -> Value {
        let place = &self.layout.variables[id.index()];
        let dims = variable.dimensions.iter().map(|d| text::name(&self.header.dimensions[d.index()].name));
        let original = place.present * place.element_size();
        let mut value = json!({
            "id": id.0, "name": text::name(&variable.name), "type": variable.ty.name(),
            "dimensions": dims.collect::<Vec<_>>(), "shape": place.shape, "record": place.is_record,
            "elements": place.elements, "present": place.present, "owned": place.owned,
            "attributes": variable.attributes.len(), "original_bytes": original,
        });
        if let Some((archive, costs)) = &self.archive {
            let cost = &costs.variables[id.index()];
            (value["tiles"], value["chains"]) = tiles(cost, archive.chains(), self.notation);
            value["stored_bytes"] = cost.bytes.into();
            value["ratio"] = ratio(original, cost.bytes);
            value["layout"] = match archive.arrays().variable(id).tiling.layout() {
                TileLayout::Linear { len } => json!({"kind": "linear", "elements": len}),
                TileLayout::Chunked { shape, edge } => {
                    json!({"kind": "chunked", "shape": shape, "edge": if *edge == Edge::Padded { "pad" } else { "clip" }})
                }
            };
        }
        value
    }

    /// Returns the number of padding bytes of all record variables inside the file.
    fn padding_len(&self) -> u64 {
        self.layout.variables.iter().map(|v| v.padding_present).sum()
    }

    fn residue_json(&self) -> Value {
        let (gap, padding) = (self.layout.gaps.len(), self.padding_len());
        let Some((archive, costs)) = &self.archive else {
            return json!({"gap": {"original_bytes": gap}, "padding": {"original_bytes": padding}});
        };
        let part = |original: u64, cost: &Cost| {
            let (tiles, chains) = tiles(cost, archive.chains(), self.notation);
            json!({"original_bytes": original, "stored_bytes": cost.bytes, "tiles": tiles, "chains": chains})
        };
        json!({"gap": part(gap, &costs.gap), "padding": part(padding, &costs.padding)})
    }

    fn write_text(&self, out: &mut dyn Write) -> Result<()> {
        writeln!(out, "{}: {}", self.file, self.kind())?;
        let len = self.layout.file_len;
        let mut facts = Table::new(&[("", Side::Left), ("", Side::Left)]);
        let mut fact = |what: &str, words: String| facts.push(vec![what.to_owned(), words]);
        match &self.archive {
            None => fact("file", exact(len)),
            Some((archive, costs)) => archive_facts(archive, costs, &mut fact),
        }
        fact("header", exact(self.layout.header_len));
        fact("global attributes", self.header.attributes.len().to_string());
        fact("records", self.records_words());
        for (what, bytes, cost) in [
            ("gap bytes", self.layout.gaps.len(), self.archive.as_ref().map(|(a, c)| (a, &c.gap))),
            ("padding bytes", self.padding_len(), self.archive.as_ref().map(|(a, c)| (a, &c.padding))),
        ] {
            let stored = cost.filter(|_| bytes > 0).map(|(archive, cost)| {
                format!(", stored in {}: {}", text::size(cost.bytes), cost.words(archive.chains()))
            });
            fact(what, format!("{}{}", exact(bytes), stored.unwrap_or_default()));
        }
        facts.print(out, "  ")?;
        self.write_dimensions(out)?;
        self.write_variables(out)?;
        if let (Some(notation), Some((archive, costs))) = (self.notation, &self.archive) {
            notation::write(notation, self.header, archive, costs, out)?;
        }
        if !self.layout.warnings.is_empty() {
            writeln!(out, "warnings")?;
        }
        for warning in &self.layout.warnings {
            writeln!(out, "  {}", text::safe(&warning.words(self.header)))?;
        }
        Ok(())
    }

    fn records_words(&self) -> String {
        if self.layout.record_len == 0 && self.layout.numrecs == 0 {
            return "none".to_owned();
        }
        let streaming = if self.header.numrecs == NumRecs::Streaming {
            " (streaming: from the file's length)"
        } else {
            ""
        };
        let irregular =
            self.layout.records.is_none() && self.layout.record_len > 0 && self.layout.numrecs > 0;
        let irregular = if irregular { ", irregular" } else { "" };
        format!("{} of {}{irregular}{streaming}", self.layout.numrecs, text::size(self.layout.record_len))
    }

    fn write_dimensions(&self, out: &mut dyn Write) -> Result<()> {
        writeln!(out, "{}", count(self.header.dimensions.len() as u64, "dimension"))?;
        let mut table = Table::new(&[("", Side::Left), ("", Side::Right), ("", Side::Left)]);
        for d in &self.header.dimensions {
            let (len, mark) =
                if d.is_record() { (self.layout.numrecs, "record dimension") } else { (d.len, "") };
            table.push(vec![text::name(&d.name), len.to_string(), mark.to_owned()]);
        }
        Ok(table.print(out, "  ")?)
    }

    fn write_variables(&self, out: &mut dyn Write) -> Result<()> {
        use Side::{Left, Right};
        writeln!(out, "{}", count(self.header.variables.len() as u64, "variable"))?;
        let mut columns = vec![("name", Left), ("type", Left), ("shape", Left), ("bytes", Right)];
        if self.archive.is_some() {
            columns.extend([
                ("stored", Right),
                ("ratio", Right),
                ("tiles", Right),
                ("of", Left),
                ("chains", Left),
            ]);
        }
        let mut table = Table::new(&columns);
        for ((id, variable), place) in self.header.variables().zip(&self.layout.variables) {
            let dims =
                variable.dimensions.iter().map(|d| text::name(&self.header.dimensions[d.index()].name));
            let shape: Vec<String> =
                dims.zip(&place.shape).map(|(name, len)| format!("{name}={len}")).collect();
            let bytes = place.present * place.element_size();
            let shape = if shape.is_empty() { "scalar".to_owned() } else { shape.join(" ") };
            let mut row = vec![text::name(&variable.name), variable.ty.to_string(), shape, text::size(bytes)];
            if let Some((archive, costs)) = &self.archive {
                let cost = &costs.variables[id.index()];
                let words = if place.owned { cost.words(archive.chains()) } else { "aliased".to_owned() };
                let ratio = text::ratio(bytes, cost.bytes);
                let cut = layout_words(archive.arrays().variable(id).tiling.layout());
                row.extend([text::size(cost.bytes), ratio, cost.tiles().to_string(), cut, words]);
            }
            table.push(row);
        }
        if !self.header.variables.is_empty() {
            table.print(out, "  ")?;
        }
        let packed = |(_, costs): &(_, Costs)| costs.variables.iter().any(|c| c.packed > 0);
        if self.archive.as_ref().is_some_and(packed) {
            writeln!(out, "  packed tiles share a block; each is charged its share of the block's bytes")?;
        }
        Ok(())
    }
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

/// Returns the tiles by kind, and by chain.
fn tiles(cost: &Cost, chains: &[Chain], notation: Option<NotationArg>) -> (Value, Value) {
    let tiles = json!({
        "total": cost.tiles(), "stored": cost.stored, "packed": cost.packed, "constant": cost.constant,
        "absent": cost.absent, "lost": cost.lost,
    });
    let used = cost.chains.iter().map(|(&number, tiles)| {
        let stages = chains.get(usize::from(number)).map(|chain| chain.spec().to_value());
        let mut used = json!({"chain": number, "stages": stages, "tiles": tiles});
        if let Some((notation, chain)) = notation.zip(chains.get(usize::from(number))) {
            used.as_object_mut().expect("just made").extend(notation::json(notation, chain.spec()));
        }
        used
    });
    (tiles, used.collect())
}

#[expect(clippy::cast_precision_loss, reason = "the exact numbers are next to it")]
fn ratio(original: u64, stored: u64) -> Value {
    if stored == 0 { Value::Null } else { (original as f64 / stored as f64).into() }
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
        fact("overhead", format!("{overhead} of the archive are no payload"));
    }
    fact(
        "SHA-256",
        match archive.digest() {
            Digest::Sha256(digest) => text::hex(&digest),
            Digest::None => "not recorded".to_owned(),
            Digest::Stale => "stale".to_owned(),
        },
    );
    let metadata = archive.metadata();
    fact("writer", text::safe(&metadata.writer));
    let options = metadata.options.iter().map(|(k, v)| format!("{}={}", text::safe(k), text::safe(v)));
    fact("options", options.collect::<Vec<_>>().join(" "));
    for entry in lineage(archive) {
        fact("came from", lineage_words(entry));
    }
    fact("generation", archive.trailer().generation.to_string());
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

/// Returns the entries of `recompress` about previous archives, oldest first. They are from the metadata, and
/// are not checked.
fn lineage(archive: &Archive) -> &[Value] {
    archive.metadata().extra.get(nc3z_writer::LINEAGE).and_then(Value::as_array).map_or(&[], Vec::as_slice)
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

/// Facts about archives only, for programs.
fn archive_json<W: Write>(json: &mut JsonWriter<W>, archive: &Archive, costs: &Costs) -> Result<()> {
    let (original, stored) = (archive.original_len(), archive.stored_len());
    let of =
        |kind| -> u64 { archive.sections().entries().iter().filter(|s| s.kind == kind).map(|s| s.len).sum() };
    let (sha256, state) = match archive.digest() {
        Digest::Sha256(digest) => (Some(text::hex(&digest)), "valid"),
        Digest::None => (None, "none"),
        Digest::Stale => (None, "stale"),
    };
    let (metadata, trailer) = (archive.metadata(), archive.trailer());
    json.field("archive_bytes", &stored.into())?;
    json.field("form", &if archive.is_short() { "short" } else { "long" }.into())?;
    json.field("payload_bytes", &costs.payload.into())?;
    json.field("overhead_bytes", &(stored - costs.payload.min(stored)).into())?;
    json.field("head_bytes", &of(SectionKind::Head).into())?;
    json.field("index_bytes", &(of(SectionKind::VariableTable) + of(SectionKind::IndexPages)).into())?;
    json.field("ratio", &ratio(original, stored))?;
    json.field("sha256", &sha256.into())?;
    json.field("digest_state", &state.into())?;
    json.field("digests", &digests::json(archive))?;
    json.field("writer", &text::safe(&metadata.writer).into())?;
    json.field("options", &text::safe_json(json!(metadata.options)))?;
    json.field("lineage", &text::safe_json(lineage(archive).into()))?;
    json.field("minor_version", &archive.superblock().minor.into())?;
    json.field("generation", &trailer.generation.into())?;
    json.field("version", &archive.version().map_or(Value::Null, |v| v.number.into()))?;
    json.field("lossy", &(trailer.required & constants::REQUIRED_LOSSY != 0).into())?;
    let record = LossRecord::find(&metadata.extra).map(|record| record.entry().1);
    json.field("quantization", &record.unwrap_or_default())?;
    json.field("lost_tiles", &(trailer.required & constants::REQUIRED_LOST != 0).into())?;
    json.field("repair", metadata.extra.get("repair").unwrap_or(&Value::Null))?;
    json.field("torn_tail_bytes", &archive.torn_tail().into())?;
    Ok(())
}

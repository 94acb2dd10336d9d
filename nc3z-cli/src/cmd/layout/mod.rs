//! `nc3z layout`: shows where each byte is stored, in the archive and in the original. Rows are printed as
//! they are found.

mod walk;

use super::Input;
use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::output::json::JsonWriter;
use crate::output::streams::Stdout;
use crate::output::table::count;
use crate::output::text;
use anyhow::Result;
use nc3z_format::archive::{ArrayId, BlockKind, Member, Role, SectionEncoding};
use nc3z_format::classic::{Header, Layout, Segment, SegmentKind, VarId};
use nc3z_format::codec::Chain;
use nc3z_look::cost::chain_words;
use nc3z_reader::Archive;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use walk::{Place, Region, Walk};

/// The length of the output buffer in bytes.
const OUT_BUFFER: usize = 64 << 10;

/// Reports on one file.
pub(crate) fn run(args: &ReportArgs) -> Result<Exit> {
    let input = super::info::open(args)?;
    let file = text::safe(&super::url::shown(&args.file));
    let mut out = BufWriter::with_capacity(OUT_BUFFER, Stdout::results());
    match &input {
        Input::Archive(archive) => {
            let walk = Walk::new(archive, &**archive.source());
            let original = Original { header: archive.header(), layout: archive.layout() };
            if args.json {
                archive_json(&file, archive, &walk, &original, out)?;
            } else {
                archive_text(&file, archive, &walk, &mut out)?;
                writeln!(out, "\noriginal, {} bytes", archive.original_len())?;
                original.write_text(&mut out)?;
                out.flush()?;
            }
        }
        Input::Classic(classic) => {
            let original = Original { header: classic.header(), layout: classic.layout() };
            if args.json {
                let mut json = JsonWriter::new(out)?;
                json.field("file", &file.into())?;
                json.field("kind", &"classic".into())?;
                original.write_json(&mut json)?;
                json.finish()?;
            } else {
                writeln!(
                    out,
                    "{file}: classic netCDF, {}, {} bytes",
                    classic.header().version,
                    original.layout.file_len
                )?;
                original.write_text(&mut out)?;
                out.flush()?;
            }
        }
    }
    Ok(Exit::Done)
}

/// Returns the name of the variable that has this array in the opened state, if any.
fn array_name(archive: &Archive, array: ArrayId) -> Option<String> {
    let v = archive.arrays().variable_of(array)?;
    archive.header().variables.get(v.index()).map(|v| text::name(&v.name))
}

/// Returns the kind of an array, in one word.
fn array_role(array: ArrayId) -> &'static str {
    match array.role() {
        Role::Variable(_) => "variable",
        Role::Definitions(_) => "definitions",
        Role::Padding(_) => "padding",
        Role::Gap => "gap",
        Role::Containers => "containers",
        Role::Constants => "constants",
        Role::Chains => "chains",
        Role::Heads => "later heads",
        Role::Commits => "commits",
        Role::Unknown(_) => "unknown",
    }
}

fn block_kind(kind: BlockKind) -> &'static str {
    match kind {
        BlockKind::Tile => "tile",
        BlockKind::Container => "container",
        BlockKind::Definition => "definition",
        BlockKind::Constants => "constants list",
        BlockKind::Chain => "chain definition",
        BlockKind::Parity => "parity",
        BlockKind::Head => "later head",
        BlockKind::Commit => "commit",
    }
}

fn encoding(encoding: SectionEncoding) -> &'static str {
    match encoding {
        SectionEncoding::Raw => "raw",
        SectionEncoding::Zstd => "zstd",
        SectionEncoding::SelfChecked => "self-checked",
        SectionEncoding::After => "after an older one",
    }
}

/// Returns the kind of a region, from a fixed list of words.
fn kind(place: &Place) -> &'static str {
    match place {
        Place::Superblock => "superblock",
        Place::Head { .. } => "head copy",
        Place::Block(_) => "block",
        Place::Page { .. } => "index page",
        Place::Section { .. } => "section",
        Place::SectionTable { .. } => "section table",
        Place::Trailer { .. } => "trailer",
        Place::Unknown => "unknown",
        Place::TornTail => "torn tail",
    }
}

fn archive_json(
    file: &str,
    archive: &Archive,
    walk: &Walk<'_>,
    original: &Original<'_>,
    out: impl Write,
) -> Result<()> {
    let mut json = JsonWriter::new(out)?;
    json.field("file", &file.into())?;
    json.field("kind", &"archive".into())?;
    json.field("archive_bytes", &archive.stored_len().into())?;
    json.field("form", &if archive.is_short() { "short" } else { "long" }.into())?;
    json.field("long_bytes", &archive.source().len().into())?;
    json.field("generation", &archive.trailer().generation.into())?;
    json.array("chains")?;
    archive.chains().iter().try_for_each(|chain| json.item(&chain.spec().to_value()))?;
    json.close()?;
    json.array("sections")?;
    for s in archive.sections().entries() {
        json.item(&json!({
            "name": s.kind.name(), "offset": s.offset, "length": s.len, "encoding": encoding(s.encoding),
        }))?;
    }
    json.close()?;
    json.array("regions")?;
    walk.run(&mut |region| {
        let mut row = region_json(archive, region);
        if let Some(members) = walk.members(region) {
            row["members"] = members.iter().map(|m| member_json(archive, m)).collect();
        }
        Ok(json.item(&row)?)
    })?;
    json.close()?;
    original.write_json(&mut json)?;
    Ok(json.finish()?)
}

fn region_json(archive: &Archive, region: &Region) -> Value {
    let mut row = json!({
        "offset": region.offset, "length": region.len, "align": region.align, "kind": kind(&region.place),
    });
    match &region.place {
        Place::Block(b) => {
            row["block"] = block_kind(b.kind).into();
            row["generation"] = b.generation.into();
            row["array"] = array_role(b.array).into();
            row["array_id"] = b.array.0.into();
            row["variable"] = array_name(archive, b.array).into();
            row["tile"] = b.tile.into();
            row["chain"] = b.chain.into();
            row["decoded_length"] = b.decoded_len.into();
            row["stored_length"] = b.stored_len.into();
        }
        Place::Page { array, level, first, count } => {
            row["array"] = array_role(*array).into();
            row["array_id"] = array.0.into();
            row["variable"] = array_name(archive, *array).into();
            row["level"] = (*level).into();
            row["first_tile"] = (*first).into();
            row["count"] = (*count).into();
        }
        Place::Section { name, encoding: e } => {
            row["section"] = (*name).into();
            row["encoding"] = encoding(*e).into();
        }
        Place::Head { decoded_len } => row["decoded_length"] = (*decoded_len).into(),
        Place::SectionTable { generation } | Place::Trailer { generation } => {
            row["generation"] = (*generation).into();
        }
        Place::Superblock | Place::Unknown | Place::TornTail => {}
    }
    row
}

fn member_json(archive: &Archive, member: &Member) -> Value {
    json!({
        "array": array_role(member.array), "array_id": member.array.0, "variable": array_name(archive, member.array),
        "tile": member.tile, "chain": member.chain, "start": member.start, "length": member.len,
    })
}

fn archive_text(file: &str, archive: &Archive, walk: &Walk<'_>, out: &mut dyn Write) -> Result<()> {
    let len = archive.stored_len();
    writeln!(out, "{file}: nc3z archive of {}, {len} bytes", archive.header().version)?;
    let len = archive.source().len();
    if archive.is_short() {
        let whole = if archive.is_whole() { ", the original packed as a whole," } else { "," };
        writeln!(out, "  in the short form{whole} which stands for these {len} bytes:")?;
    }
    let width = len.to_string().len().max(6);
    writeln!(out, "  {:>width$}  {:>width$}  what", "offset", "length")?;
    let mut totals: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut align = 0;
    walk.run(&mut |region| {
        let words = region_words(archive, &region.place);
        writeln!(out, "  {:>width$}  {:>width$}  {words}", region.offset, region.len)?;
        for m in walk.members(region).unwrap_or_default() {
            let (whose, chain) = (whose(archive, m.array), archive.chains().get(usize::from(m.chain)));
            let words = format!(
                "tile {} of {whose}, {}, {} bytes at {} in it",
                m.tile,
                chain_words(chain.map(Chain::spec)),
                m.len,
                m.start
            );
            writeln!(out, "  {:>width$}  {:>width$}    {words}", "", "")?;
        }
        let kind = match &region.place {
            Place::Block(b) => block_kind(b.kind),
            place => kind(place),
        };
        let total = totals.entry(kind).or_default();
        *total = (total.0 + 1, total.1 + region.len);
        align += region.align;
        Ok(())
    })?;
    writeln!(out, "  in all")?;
    for (kind, (n, bytes)) in totals {
        writeln!(out, "  {bytes:>width$}  bytes in {}", count(n, kind))?;
    }
    Ok(writeln!(out, "  {align:>width$}  bytes of alignment")?)
}

/// Describes the owner of tiles.
fn whose(archive: &Archive, array: ArrayId) -> String {
    match (array.role(), array_name(archive, array)) {
        (Role::Variable(_), Some(name)) => name,
        (_, Some(name)) => format!("{} of {name}", array_role(array)),
        (_, None) => array.to_string(),
    }
}

fn region_words(archive: &Archive, place: &Place) -> String {
    match place {
        Place::Superblock => "superblock".to_owned(),
        Place::Head { decoded_len } => format!("head copy, {decoded_len} decoded"),
        Place::Block(b) => {
            let what = match b.kind {
                BlockKind::Tile => format!("tile {} of {}", b.tile, whose(archive, b.array)),
                BlockKind::Definition => {
                    format!("definition {} of {}", b.tile, array_name(archive, b.array).unwrap_or_default())
                }
                kind => format!("{} {}", block_kind(kind), b.tile),
            };
            let chain = chain_words(archive.chains().get(usize::from(b.chain)).map(Chain::spec));
            format!("{what}, {chain}, {} -> {}", b.decoded_len, b.stored_len)
        }
        Place::Page { array, level, first, count } => {
            format!("index page of {}, level {level}, {count} from tile {first}", whose(archive, *array))
        }
        Place::Section { name, encoding: e } => format!("section: {name}, {}", encoding(*e)),
        Place::SectionTable { generation } => format!("section table, generation {generation}"),
        Place::Trailer { generation } => format!("trailer, generation {generation}"),
        Place::Unknown => "unknown".to_owned(),
        Place::TornTail => "torn tail".to_owned(),
    }
}

/// The classic file, which is the file itself or the original of an archive.
struct Original<'a> {
    header: &'a Header,
    layout: &'a Layout,
}

impl Original<'_> {
    fn name(&self, id: VarId) -> String {
        self.header.variables.get(id.index()).map_or_else(String::new, |v| text::name(&v.name))
    }

    fn segment(&self, segment: &Segment) -> (&'static str, Option<String>) {
        match segment.kind {
            SegmentKind::Header => ("header", None),
            SegmentKind::Fixed(id) => ("variable", Some(self.name(id))),
            SegmentKind::Records => ("records", None),
            SegmentKind::Gap => ("gap", None),
        }
    }

    fn write_json<W: Write>(&self, json: &mut JsonWriter<W>) -> Result<()> {
        json.object("original")?;
        json.field("bytes", &self.layout.file_len.into())?;
        json.field("header_bytes", &self.layout.header_len.into())?;
        json.field("gap_bytes", &self.layout.gaps.len().into())?;
        let records = self.layout.records.as_ref();
        let records =
            records.map(|r| json!({"begin": r.begin, "stride": r.stride, "count": r.count, "end": r.end}));
        json.field("records", &records.into())?;
        json.array("segments")?;
        for segment in self.layout.segments() {
            let (kind, variable) = self.segment(segment);
            json.item(
                &json!({"offset": segment.offset, "length": segment.len, "kind": kind, "variable": variable}),
            )?;
        }
        json.close()?;
        json.array("slots")?;
        for slot in self.layout.records.iter().flat_map(|r| &r.slots) {
            json.item(&json!({
                "variable": self.name(slot.variable), "id": slot.variable.0, "offset_in_record": slot.offset_in_record,
                "length": slot.slot_len, "padded_length": slot.padded_len,
            }))?;
        }
        json.close()?;
        json.array("variables")?;
        for ((id, variable), place) in self.header.variables().zip(&self.layout.variables) {
            json.item(&json!({
                "id": id.0, "name": text::name(&variable.name), "begin": place.begin, "record": place.is_record,
                "bytes": place.present * place.element_size(), "elements": place.elements, "present": place.present,
                "slot_length": place.slot_len, "stride": place.stride, "padding_bytes": place.padding_present,
                "owned": place.owned,
            }))?;
        }
        json.close()?;
        Ok(json.close()?)
    }

    fn write_text(&self, out: &mut dyn Write) -> Result<()> {
        let width = self.layout.file_len.to_string().len().max(6);
        writeln!(out, "  {:>width$}  {:>width$}  what", "offset", "length")?;
        for segment in self.layout.segments() {
            let words = match self.segment(segment) {
                (_, Some(name)) => name,
                (kind, None) => kind.to_owned(),
            };
            writeln!(out, "  {:>width$}  {:>width$}  {words}", segment.offset, segment.len)?;
            if let (SegmentKind::Records, Some(records)) = (segment.kind, &self.layout.records) {
                writeln!(
                    out,
                    "  {:>width$}  {:>width$}  in each of {} records:",
                    "", records.stride, records.count
                )?;
                for slot in &records.slots {
                    let padding = match slot.padded_len - slot.slot_len {
                        0 => String::new(),
                        n => format!(" and {n} of padding"),
                    };
                    let at = format!("+{}", slot.offset_in_record);
                    let name = self.name(slot.variable);
                    writeln!(out, "  {at:>width$}  {:>width$}    {name}{padding}", slot.slot_len)?;
                }
            }
        }
        for ((_, variable), place) in self.header.variables().zip(&self.layout.variables) {
            let name = text::name(&variable.name);
            if !place.owned {
                let bytes = place.present * place.element_size();
                writeln!(
                    out,
                    "  {:>width$}  {bytes:>width$}  {name}, aliased: these bytes are listed above",
                    place.begin
                )?;
            }
            if place.elements != Some(place.present) {
                let claimed = place.elements.map_or_else(|| "more than 2^64".to_owned(), |n| n.to_string());
                writeln!(out, "  {name}: {} of {claimed} elements are in the file", place.present)?;
            }
        }
        Ok(())
    }
}

//! The place of each byte: the regions of an archive, and the segments of its original.

mod walk;

pub use walk::{Place, Region, RegionSink, Walk};

use crate::json::JsonWriter;
use crate::print::{self, Result};
use crate::text;
use nc3z_format::archive::{ArrayId, BlockKind, Member, Role, SectionEncoding};
use nc3z_format::classic::{Header, Layout, Segment, SegmentKind, VarId};
use nc3z_reader::{Archive, ClassicFile};
use serde_json::{Value, json};
use std::io::Write;

/// Returns the name of the variable that has this array in the opened state, if any.
pub fn array_name(archive: &Archive, array: ArrayId) -> Option<String> {
    let v = archive.arrays().variable_of(array)?;
    archive.header().variables.get(v.index()).map(|v| text::name(&v.name))
}

/// Returns the kind of an array, in one word.
pub fn array_role(array: ArrayId) -> &'static str {
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

/// Returns the kind of a block in words.
pub fn block_kind(kind: BlockKind) -> &'static str {
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

/// Returns the encoding of a section in words.
pub fn encoding(encoding: SectionEncoding) -> &'static str {
    match encoding {
        SectionEncoding::Raw => "raw",
        SectionEncoding::Zstd => "zstd",
        SectionEncoding::SelfChecked => "self-checked",
        SectionEncoding::After => "after an older one",
    }
}

/// Returns the kind of a region, from a fixed list of words.
pub fn kind(place: &Place) -> &'static str {
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

/// Writes the regions of an archive and the places of its original as JSON, region by region.
///
/// # Errors
/// The archive cannot be read; the output fails.
pub fn write_archive_json(file: &str, archive: &Archive, out: impl Write) -> Result<()> {
    let walk = Walk::new(archive, &**archive.source());
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
    walk.run::<print::Error>(&mut |region| {
        let mut row = region_json(archive, region);
        if let Some(members) = walk.members(region) {
            row["members"] = members.iter().map(|m| member_json(archive, m)).collect();
        }
        Ok(json.item(&row)?)
    })?;
    json.close()?;
    Original::of_archive(archive).write_json(&mut json)?;
    Ok(json.finish()?)
}

/// Writes the places of a classic file as JSON.
///
/// # Errors
/// Writing to the output fails.
pub fn write_classic_json(file: &str, classic: &ClassicFile, out: impl Write) -> Result<()> {
    let mut json = JsonWriter::new(out)?;
    json.field("file", &file.into())?;
    json.field("kind", &"classic".into())?;
    Original::of_classic(classic).write_json(&mut json)?;
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

/// Returns a member of a shared container as JSON.
fn member_json(archive: &Archive, member: &Member) -> Value {
    json!({
        "array": array_role(member.array), "array_id": member.array.0, "variable": array_name(archive, member.array),
        "tile": member.tile, "chain": member.chain, "start": member.start, "length": member.len,
    })
}

/// The classic file, which is the file itself or the original of an archive.
pub struct Original<'a> {
    header: &'a Header,
    layout: &'a Layout,
}

impl<'a> Original<'a> {
    /// Returns the original of an archive.
    pub fn of_archive(archive: &'a Archive) -> Self {
        Original { header: archive.header(), layout: archive.layout() }
    }

    /// Returns a classic file as its own original.
    pub fn of_classic(classic: &'a ClassicFile) -> Self {
        Original { header: classic.header(), layout: classic.layout() }
    }

    /// Returns the header.
    pub fn header(&self) -> &'a Header {
        self.header
    }

    /// Returns the place of each variable.
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// Returns the name of a variable, safe to show.
    pub fn name(&self, id: VarId) -> String {
        self.header.variables.get(id.index()).map_or_else(String::new, |v| text::name(&v.name))
    }

    /// Returns the kind of a segment, and the name of its variable.
    pub fn segment(&self, segment: &Segment) -> (&'static str, Option<String>) {
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
}

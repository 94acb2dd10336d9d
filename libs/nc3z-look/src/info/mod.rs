//! Describes an archive or a classic file: what it is, and the stored size of each variable.

mod digests;

use crate::cost::{Cost, Costs};
use crate::json::{JsonWriter, ratio};
use crate::print;
use crate::text;
use nc3z_format::archive::{Edition, SectionKind, constants};
use nc3z_format::bytes::hex;
use nc3z_format::classic::{Attribute, Header, Layout, NumRecs, VarId, Variable};
use nc3z_format::codec::{Chain, ChainSpec};
use nc3z_format::coordinates::Direction;
use nc3z_format::quantize::LossRecord;
use nc3z_format::tile::{Edge, TileLayout};
use nc3z_reader::{Archive, Dataset, Result};
use serde_json::{Map, Value, json};
use std::io::Write;

/// Returns more keys for the JSON of a chain: the chain in the notation of another program.
pub type Notation<'a> = dyn Fn(&ChainSpec) -> Map<String, Value> + 'a;

/// Optional parts of the description as JSON.
#[derive(Default)]
pub struct Details<'a> {
    /// Chains in the notation of another program.
    pub notation: Option<&'a Notation<'a>>,
    /// The values of attributes as JSON, and with them the direction of each coordinate.
    pub attributes: Option<&'a dyn Fn(&[Attribute]) -> Value>,
    /// The versions of the archive.
    pub versions: Option<Vec<Value>>,
}

/// The description of a file.
pub struct Info<'a> {
    /// The name, safe to show.
    pub file: String,
    /// The header of the file, or of the original.
    pub header: &'a Header,
    /// The place of each variable in the file, or in the original.
    pub layout: &'a Layout,
    /// The archive, with the costs of its variables. None for a classic file.
    pub archive: Option<(&'a Archive, Costs)>,
}

impl<'a> Info<'a> {
    /// Describes an archive, whose index is read, or a classic file.
    ///
    /// # Errors
    /// The archive cannot be read.
    pub fn new(file: String, dataset: &'a Dataset) -> Result<Self> {
        let costs =
            |archive: &'a Archive| Costs::new(archive, archive.source()).map(|costs| (archive, costs));
        let archive = dataset.archive().map(costs).transpose()?;
        Ok(Info { file, header: dataset.header(), layout: dataset.layout(), archive })
    }

    /// Formats the kind of the file: `nc3z archive of CDF-1`.
    pub fn kind(&self) -> String {
        let version = self.header.version;
        if self.archive.is_some() {
            format!("nc3z archive of {version}")
        } else {
            format!("classic netCDF, {version}")
        }
    }

    /// Writes the description as JSON, variable by variable.
    ///
    /// # Errors
    /// Writing to the output fails.
    pub fn write_json(&self, details: Details<'_>, out: &mut dyn Write) -> print::Result<()> {
        let Details { notation, attributes, versions } = details;
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
        if let Some(attributes) = attributes {
            json.field("attributes", &attributes(&self.header.attributes))?;
        }
        json.field("residue", &self.residue_json(notation))?;
        json.array("dimensions")?;
        for d in &self.header.dimensions {
            let len = if d.is_record() { self.layout.numrecs } else { d.len };
            json.item(&json!({"name": text::name(&d.name), "length": len, "record": d.is_record()}))?;
        }
        json.close()?;
        json.array("variables")?;
        for (id, variable) in self.header.variables() {
            let mut found = self.variable_json(notation, id, variable);
            if let Some(attributes) = attributes {
                found["attribute_values"] = attributes(&variable.attributes);
                found["coordinate"] = Direction::name_of(variable).into();
            }
            json.item(&found)?;
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

    fn variable_json(&self, notation: Option<&Notation<'_>>, id: VarId, variable: &Variable) -> Value {
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
            (value["tiles"], value["chains"]) = tiles(cost, archive.chains(), notation);
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
    pub fn padding_len(&self) -> u64 {
        self.layout.variables.iter().map(|v| v.padding_present).sum()
    }

    fn residue_json(&self, notation: Option<&Notation<'_>>) -> Value {
        let (gap, padding) = (self.layout.gaps.len(), self.padding_len());
        let Some((archive, costs)) = &self.archive else {
            return json!({"gap": {"original_bytes": gap}, "padding": {"original_bytes": padding}});
        };
        let part = |original: u64, cost: &Cost| {
            let (tiles, chains) = tiles(cost, archive.chains(), notation);
            json!({"original_bytes": original, "stored_bytes": cost.bytes, "tiles": tiles, "chains": chains})
        };
        json!({"gap": part(gap, &costs.gap), "padding": part(padding, &costs.padding)})
    }
}

/// Returns the tiles by kind, and by chain.
fn tiles(cost: &Cost, chains: &[Chain], notation: Option<&Notation<'_>>) -> (Value, Value) {
    let tiles = json!({
        "total": cost.tiles(), "stored": cost.stored, "packed": cost.packed, "constant": cost.constant,
        "absent": cost.absent, "lost": cost.lost,
    });
    let used = cost.chains.iter().map(|(&number, tiles)| {
        let stages = chains.get(usize::from(number)).map(|chain| chain.spec().to_value());
        let mut used = json!({"chain": number, "stages": stages, "tiles": tiles});
        if let Some((notation, chain)) = notation.zip(chains.get(usize::from(number))) {
            used.as_object_mut().expect("just made").extend(notation(chain.spec()));
        }
        used
    });
    (tiles, used.collect())
}

/// Returns the edition of an archive: the list of features that a reader must know.
pub fn edition(archive: &Archive) -> Edition {
    Edition::recorded(&archive.metadata().extra, archive.chains().iter().map(Chain::spec))
}

/// Facts about archives only, for programs.
fn archive_json<W: Write>(json: &mut JsonWriter<W>, archive: &Archive, costs: &Costs) -> print::Result<()> {
    let (original, stored) = (archive.original_len(), archive.stored_len());
    let of =
        |kind| -> u64 { archive.sections().entries().iter().filter(|s| s.kind == kind).map(|s| s.len).sum() };
    let digest = archive.digest();
    let (metadata, trailer) = (archive.metadata(), archive.trailer());
    json.field("archive_bytes", &stored.into())?;
    json.field("form", &if archive.is_short() { "short" } else { "long" }.into())?;
    json.field("payload_bytes", &costs.payload.into())?;
    json.field("overhead_bytes", &(stored - costs.payload.min(stored)).into())?;
    json.field("head_bytes", &of(SectionKind::Head).into())?;
    json.field("index_bytes", &(of(SectionKind::VariableTable) + of(SectionKind::IndexPages)).into())?;
    json.field("ratio", &ratio(original, stored))?;
    json.field("sha256", &digest.sha256().map(|digest| hex(&digest)).into())?;
    json.field("digest_state", &digest.state().into())?;
    json.field("digests", &digests::json(archive))?;
    json.field("writer", &text::safe(&metadata.writer).into())?;
    json.field("options", &text::safe_json(json!(metadata.options)))?;
    json.field("lineage", &text::safe_json(metadata.lineage().into()))?;
    json.field("edition", &text::safe(edition(archive).name()).into())?;
    json.field("minor_version", &archive.superblock().minor.into())?;
    json.field("commits", &trailer.generation.into())?;
    json.field("version", &archive.version().map_or(Value::Null, |v| v.number.into()))?;
    json.field("lossy", &(trailer.required & constants::REQUIRED_LOSSY != 0).into())?;
    let record = LossRecord::find(&metadata.extra).map(|record| record.entry().1);
    json.field("quantization", &record.unwrap_or_default())?;
    json.field("lost_tiles", &(trailer.required & constants::REQUIRED_LOST != 0).into())?;
    json.field("repair", metadata.extra.get("repair").unwrap_or(&Value::Null))?;
    json.field("torn_tail_bytes", &archive.torn_tail().into())?;
    Ok(())
}

//! Answers from catalogues and aggregations as JSON.

use crate::catalog::{Condition, Exactly, Hit, Part, RecalledFile, Row, Series, Summary};
use crate::{Aggregation, MasterArray, Touched};
use nc3z_look::text;
use nc3z_reader::{Dataset, Variable};
use serde::Serialize;
use serde_json::{Value, json};

/// Returns the units of a row, or that there are several.
pub fn units(row: &Row) -> &str {
    row.units.as_deref().unwrap_or("(several)")
}

/// Returns the statistics of a variable.
pub fn statistics_json(row: &Row) -> Value {
    let mut found = summary_json(&row.summary);
    found["variable"] = text::safe(&row.variable).into();
    found["units"] = text::safe(units(row)).into();
    found["files"] = row.summary.files.into();
    if let Some(file) = &row.file {
        found["file"] = text::safe(file).into();
    }
    found
}

/// A number; one that is infinite is null in JSON.
fn exactly(x: Exactly) -> Value {
    let whole =
        x.whole().map(|n| i64::try_from(n).map_or_else(|_| json!(u64::try_from(n).ok()), |n| json!(n)));
    whole.unwrap_or_else(|| json!(x.nearest))
}

fn summary_json(s: &Summary) -> Value {
    let mean = s.mean();
    json!({
        "count": s.count, "infinite": s.infinite, "min": s.min.map(exactly), "max": s.max.map(exactly), "mean": mean.map(|m| m.0),
        "mean_error_bound": mean.map(|m| m.1), "standard_deviation": s.deviation(),
    })
}

/// Returns the statistics of a part of a variable along a dimension, with the coordinates of its ends.
pub fn part_json(
    (variable, dimension): (&str, &str),
    series: &Series,
    part: &Part,
    [from, to]: &[Option<String>; 2],
) -> Value {
    let mut found = summary_json(&part.summary);
    found["file"] = text::safe(&series.file).into();
    found["variable"] = text::safe(variable).into();
    found["dimension"] = text::safe(dimension).into();
    found["first"] = part.indices.start.into();
    found["last"] = (part.indices.end - 1).into();
    found["from"] = from.clone().into();
    found["to"] = to.clone().into();
    found["tiles"] = part.tiles.clone().into();
    found
}

/// Returns a file that meets the conditions, and for each the tiles that do; and what the catalogue does not know of it.
pub fn hit_json(hit: &Hit, conditions: &[Condition]) -> Value {
    let each = conditions.iter().zip(&hit.tiles);
    let each = each.map(|(c, (tiles, of))| {
        json!({"condition": c.to_string(), "variable": text::safe(c.variable()), "tiles": tiles, "of": of})
    });
    let unknown: Vec<_> = hit.unknown.iter().map(|why| why.word()).collect();
    json!({"file": text::safe(&hit.file), "conditions": each.collect::<Vec<_>>(), "unknown": unknown})
}

/// The objects and ranges of bytes that a read of a variable needs.
#[derive(Debug, Serialize)]
pub struct RecallReport {
    /// The number of bytes of all ranges.
    pub bytes_to_fetch: u64,
    /// The number of files.
    pub files: usize,
    /// The files without an answer.
    pub files_left_out: Vec<LeftOutFile>,
    /// The first ranges.
    pub first_ranges: Vec<RecalledRange>,
    /// The number of objects.
    pub objects: usize,
    /// The number of ranges.
    pub ranges: usize,
    /// The numbers of tiles.
    pub tiles: TouchedTiles,
    /// The name of the variable.
    pub variable: String,
}

/// A file of which the read is not possible.
#[derive(Debug, Serialize)]
pub struct LeftOutFile {
    /// The name of the file.
    pub file: String,
    /// Why the file is left out.
    pub reason: String,
}

/// A range of bytes of a file.
#[derive(Debug, Serialize)]
pub struct RecalledRange {
    /// The name of the file.
    pub file: String,
    /// The length in bytes.
    pub length: u64,
    /// The object that is recalled.
    pub object: String,
    /// The offset in the object.
    pub offset: u64,
}

/// The number of tiles of a variable, and of those that a read needs.
#[derive(Debug, Serialize)]
pub struct TouchedTiles {
    /// The number of all tiles.
    pub total: u64,
    /// The number of tiles that the read needs.
    pub touched: u64,
}

impl RecallReport {
    /// Sums up the files of a read. At most `shown` ranges are listed. `left_out` has the files without an answer, with the reasons.
    pub fn new(
        variable: &str,
        objects: &[(String, Vec<RecalledFile>)],
        left_out: &[(String, String)],
        shown: usize,
    ) -> Self {
        let files = || objects.iter().flat_map(|(_, files)| files);
        let ranges = files().flat_map(|file| file.need.ranges.iter().map(move |range| (file, range)));
        let first_ranges = ranges.take(shown).map(|(file, range)| RecalledRange {
            file: text::safe(&file.name),
            length: range.len,
            object: text::safe(&file.object),
            offset: range.offset,
        });
        let files_left_out = left_out
            .iter()
            .map(|(name, why)| LeftOutFile { file: text::safe(name), reason: text::safe(why) });
        RecallReport {
            bytes_to_fetch: files().fold(0, |sum, file| sum.saturating_add(file.need.bytes())),
            files: files().count(),
            files_left_out: files_left_out.collect(),
            first_ranges: first_ranges.collect(),
            objects: objects.len(),
            ranges: files().map(|file| file.need.ranges.len()).sum(),
            tiles: TouchedTiles {
                total: files().fold(0, |sum, file| sum.saturating_add(file.need.tiles.1)),
                touched: files().map(|file| file.need.tiles.0).sum(),
            },
            variable: text::safe(variable),
        }
    }
}

/// Describes an aggregation: its dimensions, and the fragments of its variables.
pub fn aggregation_json(file: &str, dataset: &Dataset, aggregation: &Aggregation) -> Value {
    let dimensions = dataset.dimensions().iter().map(|d| {
        let len = if d.is_record() { dataset.records() } else { d.len };
        json!({"name": text::name(&d.name), "length": len})
    });
    let variables = dataset.variables().map(|v| {
        let mut value = variable_json(&v);
        value["aggregated"] = false.into();
        if let Some((convention, m)) = aggregation.master(v.id()) {
            value["aggregated"] = true.into();
            value["convention"] = convention.name().into();
            value["fragments"] = json!(m.matrix());
            value["units"] = json!(m.units);
        }
        value["name"] = text::safe(&v.name()).into();
        value
    });
    json!({
        "file": file, "kind": "aggregation", "presented_bytes": dataset.layout().file_len,
        "dimensions": dimensions.collect::<Vec<_>>(), "variables": variables.collect::<Vec<_>>(),
    })
}

fn variable_json(variable: &Variable) -> Value {
    let dims: Vec<String> = variable.dimensions().map(|d| text::name(&d.name)).collect();
    json!({"type": variable.ty().name(), "dimensions": dims, "shape": variable.shape()})
}

/// Returns the fragments that a read of an aggregated variable touches. At most `shown` are listed.
pub fn touched_json(variable: &Variable, master: &MasterArray, touched: &[Touched], shown: usize) -> Value {
    let each = touched.iter().take(shown).map(|t| {
        json!({"partition": t.partition, "file": t.file.as_deref().map(text::safe), "elements": t.elements, "bytes": t.bytes})
    });
    let mut found = variable_json(variable);
    found["variable"] = text::safe(&variable.name()).into();
    found["aggregated"] = true.into();
    found["partitions"] = json!({"total": master.partitions.len(), "touched": touched.len()});
    found["elements_wanted"] = touched.iter().map(|t| t.elements).sum::<u64>().into();
    found["bytes_in_fragments"] = touched.iter().map(|t| t.bytes).sum::<u64>().into();
    found["first_fragments"] = each.collect();
    found
}

//! Answers from catalogues and aggregations as JSON.

use crate::catalog::{Condition, Exactly, Hit, Part, RecalledFile, Row, Series, Summary};
use crate::{Aggregation, MasterArray, Touched};
use nc3z_look::text;
use nc3z_reader::{Dataset, Variable};
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

/// Returns the objects and ranges of bytes that a read of `variable` needs. At most `shown` ranges are listed. `left_out` has the files
/// without an answer, with the reasons.
pub fn recall_json(
    variable: &str,
    objects: &[(String, Vec<RecalledFile>)],
    left_out: &[(String, String)],
    shown: usize,
) -> Value {
    let files = || objects.iter().flat_map(|(_, files)| files);
    let bytes = files().fold(0_u64, |sum, file| sum.saturating_add(file.need.bytes()));
    let ranges: usize = files().map(|file| file.need.ranges.len()).sum();
    let touched: u64 = files().map(|file| file.need.tiles.0).sum();
    let tiles = files().fold(0_u64, |sum, file| sum.saturating_add(file.need.tiles.1));
    let first = files().flat_map(|file| file.need.ranges.iter().map(move |range| (file, range)));
    let first = first.take(shown).map(|(file, range)| {
        json!({"object": text::safe(&file.object), "file": text::safe(&file.name), "offset": range.offset, "length": range.len})
    });
    let others =
        left_out.iter().map(|(name, why)| json!({"file": text::safe(name), "reason": text::safe(why)}));
    json!({
        "variable": text::safe(variable), "objects": objects.len(), "files": files().count(), "files_left_out": others.collect::<Vec<_>>(),
        "tiles": {"touched": touched, "total": tiles}, "ranges": ranges, "bytes_to_fetch": bytes, "first_ranges": first.collect::<Vec<_>>(),
    })
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

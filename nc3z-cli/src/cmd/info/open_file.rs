//! The report on an open file, for the server.

use super::Report;
use crate::output::text;
use anyhow::Result;
use nc3z_look::cost::Costs;
use nc3z_reader::Dataset;
use serde_json::Value;

/// Returns the JSON of `--json`.
pub(in crate::cmd) fn describe(name: &str, dataset: &Dataset) -> Result<Value> {
    let costs = match dataset.archive() {
        Some(archive) => Some((archive, Costs::of(archive, archive.source())?)),
        None => None,
    };
    let (header, layout) = (dataset.header(), dataset.layout());
    let report = Report { file: text::safe(name), header, layout, archive: costs, notation: None };
    let mut json = Vec::new();
    report.write_json(None, &mut json)?;
    Ok(serde_json::from_slice(&json)?)
}

//! What a file of a collection holds, in one line: kind, sizes, variables, and the ranges of its coordinates.

mod catalog;
mod ranges;

pub use catalog::of_catalog;
pub use ranges::CoordinateRange;

use crate::as_aggregation;
use nc3z_format::classic::DimId;
use nc3z_look::coordinate::Coordinate;
use nc3z_look::text;
use nc3z_reader::{Dataset, Result, Variable};
use ranges::range;
use serde_json::{Value, json};

/// The maximal number of names of variables that are printed for a file.
const NAMES: usize = 6;

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSummary {
    /// archive, classic, aggregation, or the kind of a file in a catalogue.
    pub kind: &'static str,
    /// The stored length in bytes.
    pub bytes: u64,
    /// The length of the original in bytes.
    pub original: u64,
    /// The dimensions with their lengths.
    pub dimensions: Vec<(String, u64)>,
    /// The variables that are not coordinates.
    pub variables: Vec<String>,
    /// The range of each coordinate variable, from the first to the last value.
    pub ranges: Vec<CoordinateRange>,
}

impl FileSummary {
    /// Returns the first and last date, if there is a time coordinate.
    pub fn time(&self) -> Option<&(String, String)> {
        self.ranges.iter().find_map(|r| r.dates.as_ref())
    }

    /// Returns ranges of coordinates, without those in the column of times.
    pub fn other_ranges(&self) -> String {
        let time = self.ranges.iter().position(|r| r.dates.is_some());
        let others = self.ranges.iter().enumerate().filter(|(n, _)| Some(*n) != time);
        others.map(|(_, r)| r.words()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the first names, and the number of others.
    pub fn variable_names(&self) -> String {
        let more = self.variables.len().saturating_sub(NAMES);
        let names = self.variables.iter().take(NAMES).map(String::as_str).collect::<Vec<_>>().join(" ");
        if more == 0 { names } else { format!("{names} and {more} more") }
    }

    /// Returns the summary of the file `name` as JSON.
    pub fn to_json(&self, name: &str) -> Value {
        let dimensions: Vec<Value> =
            self.dimensions.iter().map(|(name, len)| json!({"name": name, "length": len})).collect();
        json!({
            "name": name, "state": "ok", "kind": self.kind, "bytes": self.bytes, "original_bytes": self.original,
            "dimensions": dimensions, "variables": self.variables, "time": self.time().map(|(a, b)| json!([a, b])),
            "coordinates": self.ranges.iter().map(CoordinateRange::to_json).collect::<Vec<_>>(),
        })
    }
}

/// Describes an open file, which has `bytes` bytes. Reads its coordinates.
///
/// # Errors
/// A coordinate cannot be read.
pub fn describe(dataset: &Dataset, bytes: u64) -> Result<FileSummary> {
    summary(dataset, bytes, false)
}

fn summary(dataset: &Dataset, bytes: u64, lenient: bool) -> Result<FileSummary> {
    let is_coordinate = |v: &Variable| {
        v.shape().len() == 1 && v.dimensions().next().is_some_and(|d| d.name == v.header().name)
    };
    let variables = dataset.variables().filter(|v| !is_coordinate(v)).map(|v| text::safe(&v.name()));
    let dimensions = dataset.dimensions().iter().map(|d| {
        let len = if d.is_record() { dataset.records() } else { d.len };
        (text::name(&d.name), len)
    });
    let kind = match () {
        () if as_aggregation(dataset).is_some() || crate::is_aggregation(dataset) => "aggregation",
        () if dataset.archive().is_some() => "archive",
        () => "classic",
    };
    let mut coordinates: Vec<Coordinate> = Vec::new();
    for id in (0_u32..).map(DimId).take(dataset.dimensions().len()) {
        let found = Coordinate::new(dataset, id);
        coordinates.extend(
            found.filter(|c| coordinates.iter().all(|known| known.variable().id() != c.variable().id())),
        );
    }
    if coordinates.iter().all(|c| c.time().is_none()) {
        coordinates.extend(Coordinate::time_of_file(dataset));
    }
    coordinates.sort_by_key(|c| c.variable().id());
    let ranges = coordinates.iter().filter_map(|c| range(c, lenient).transpose()).collect::<Result<_>>()?;
    let original = if kind == "aggregation" { dataset.layout().file_len } else { dataset.original_len() };
    Ok(FileSummary {
        kind,
        bytes,
        original,
        dimensions: dimensions.collect(),
        variables: variables.collect(),
        ranges,
    })
}

//! The parts of a file that match a pattern: names of variables, dimensions, and attributes.

use super::Pattern;
use crate::print::number;
use crate::text;
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, Header};
use nc3z_reader::Dataset;
use serde_json::{Value, json};

/// The number of elements of an attribute's value that are examined.
const ELEMENTS: usize = 64;

/// A match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The number of the variable. None for dimensions and attributes of the file.
    pub variable: Option<usize>,
    /// The part that matches.
    pub what: MatchedPart,
}

/// The part that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatchedPart {
    /// The variable's name.
    Name,
    /// A dimension of the file, with its length.
    Dimension {
        /// Its name, safe to show.
        name: String,
        /// The number of its elements.
        len: u64,
    },
    /// An attribute.
    Attribute {
        /// Its name, safe to show.
        name: String,
        /// Its value as text.
        value: String,
    },
}

/// Returns the matches in a file: dimensions, attributes of the file, then variables with their attributes.
pub fn matches(dataset: &Dataset, pattern: &Pattern) -> Vec<Match> {
    let header = dataset.header();
    let mut hits = Vec::new();
    for d in &header.dimensions {
        let name = text::name(&d.name);
        if pattern.fits_name(&name) {
            let len = if d.is_record() { dataset.records() } else { d.len };
            hits.push(Match { variable: None, what: MatchedPart::Dimension { name, len } });
        }
    }
    attributes(&header.attributes, None, pattern, &mut hits);
    for (id, v) in header.variables.iter().enumerate() {
        if pattern.fits_name(&text::name(&v.name)) {
            hits.push(Match { variable: Some(id), what: MatchedPart::Name });
        }
        attributes(&v.attributes, Some(id), pattern, &mut hits);
    }
    hits
}

fn attributes(all: &[Attribute], variable: Option<usize>, pattern: &Pattern, hits: &mut Vec<Match>) {
    for a in all {
        let (name, value) = (text::name(&a.name), value(a));
        if pattern.fits_attribute(&name, &value) {
            hits.push(Match { variable, what: MatchedPart::Attribute { name, value } });
        }
    }
}

/// Returns an attribute's value as text.
fn value(a: &Attribute) -> String {
    if a.ty == NcType::Char {
        return text::safe(String::from_utf8_lossy(&a.values).trim_end_matches(['\0', ' ', '\n']));
    }
    let element = |bytes: &[u8]| {
        let mut out = String::new();
        number(&mut out, a.ty, bytes);
        out
    };
    a.values.chunks_exact(a.ty.size()).take(ELEMENTS).map(element).collect::<Vec<_>>().join(", ")
}

/// Formats `tas(time, lat, lon)`.
pub fn signature(header: &Header, variable: usize) -> String {
    let v = &header.variables[variable];
    let dims = v.dimensions.iter().map(|d| text::name(&header.dimensions[d.index()].name));
    format!("{}({})", text::name(&v.name), dims.collect::<Vec<_>>().join(", "))
}

/// Returns the value of an attribute that describes a variable.
pub fn known_by(header: &Header, variable: usize, name: &[u8]) -> Option<String> {
    header.variables[variable].attribute(name).map(value)
}

/// Returns the matches in a file as JSON.
pub fn to_json(file: &str, header: &Header, hits: &[Match]) -> Value {
    let each = hits.iter().map(|hit| {
        let mut row = match &hit.what {
            MatchedPart::Name => json!({"found": "variable"}),
            MatchedPart::Dimension { name, len } => {
                json!({"found": "dimension", "name": name, "length": len})
            }
            MatchedPart::Attribute { name, value } => {
                json!({"found": "attribute", "name": name, "value": value})
            }
        };
        if let Some(id) = hit.variable {
            let v = &header.variables[id];
            let dims = v.dimensions.iter().map(|d| text::name(&header.dimensions[d.index()].name));
            row["variable"] = text::name(&v.name).into();
            row["type"] = v.ty.to_string().into();
            row["dimensions"] = dims.collect::<Vec<_>>().into();
            for key in ["standard_name", "long_name", "units"] {
                row[key] = known_by(header, id, key.as_bytes()).into();
            }
        }
        row
    });
    json!({"file": file, "matches": each.collect::<Vec<_>>()})
}

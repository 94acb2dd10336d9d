//! Ranges of coordinates: the first and the last value that is not missing. Little else is read.

use nc3z_format::decode_value;
use nc3z_look::coordinate::Coordinate;
use nc3z_look::selection::Segment;
use nc3z_look::text;
use nc3z_reader::Result;
use serde_json::{Value, json};

/// The first and the last value of a coordinate variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoordinateRange {
    /// The name of the variable, safe to show.
    pub name: String,
    /// The units of the coordinate.
    pub units: Option<String>,
    /// The first value as printed: a float has the digits of a float.
    pub first: String,
    /// The last value, in the same form.
    pub last: String,
    /// The dates of the first and the last value, for a time coordinate.
    pub dates: Option<(String, String)>,
}

/// The number of values at either end of a coordinate that are searched for one that is not missing.
const NEAR_ENDS: u64 = 4096;

/// Returns the range of a coordinate. None if it has no values. A value that cannot be read is unknown if `lenient`.
pub(super) fn range(coordinate: &Coordinate, lenient: bool) -> Result<Option<CoordinateRange>> {
    if coordinate.is_empty() {
        return Ok(None);
    }
    let len = coordinate.len();
    let units = decode_value::text(coordinate.variable().header(), b"units").map(|u| text::safe(&u));
    // In an incomplete file the last values are unknown.
    let read = |start, count| match coordinate.values(&[Segment::new(start, count)]) {
        Err(e) if e.is_incomplete() || lenient => Ok(Vec::new()),
        values => values,
    };
    let (mut first, mut last) = (f64::NAN, f64::NAN);
    // Most coordinates have a value at each end, so that one element is read at each.
    for count in [1, len.min(NEAR_ENDS)] {
        if first.is_nan() {
            first = read(0, count)?.into_iter().find(|x| !x.is_nan()).unwrap_or(first);
        }
        if last.is_nan() {
            last = read(len - count, count)?.into_iter().rfind(|x| !x.is_nan()).unwrap_or(last);
        }
    }
    let ends = [first, last];
    let dates = coordinate.time().map(|_| ends.map(|x| coordinate.show(x)));
    let dates = dates.map(|[first, last]| (first, last));
    let [first, last] = ends.map(|x| if x.is_nan() { "unknown".to_owned() } else { coordinate.digits(x) });
    Ok(Some(CoordinateRange { name: coordinate.name(), units, first, last, dates }))
}

impl CoordinateRange {
    /// Formats `lat -90..90 degrees_north`, `time 2001-01-01 to 2001-12-31`.
    pub fn words(&self) -> String {
        let (name, units) = (&self.name, self.units.as_deref().filter(|u| *u != "1"));
        if let Some((first, last)) = &self.dates {
            return format!("{name} {}", one_or_both(first, " to ", last));
        }
        let ends = one_or_both(&self.first, "..", &self.last);
        format!("{name} {ends}{}{}", units.map_or("", |_| " "), units.unwrap_or(""))
    }

    /// Returns JSON: numbers, and dates for times.
    pub fn to_json(&self) -> Value {
        let number = |digits: &str| digits.parse::<f64>().ok().filter(|x| x.is_finite());
        json!({
            "name": self.name, "units": self.units, "first": number(&self.first), "last": number(&self.last),
            "dates": self.dates.as_ref().map(|(a, b)| json!([a, b])),
        })
    }
}

/// Formats `1`, `1..2`.
fn one_or_both(first: &str, between: &str, last: &str) -> String {
    if first == last { first.to_owned() } else { [first, between, last].concat() }
}

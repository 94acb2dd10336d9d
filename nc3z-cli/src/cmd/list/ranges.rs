//! From where to where coordinates go: the first and the last value of a coordinate that is not missing. Little else of it is read.

use crate::output::text;
use anyhow::Result;
use nc3z_format::decode_value;
use nc3z_look::coordinate::Coordinate;
use nc3z_look::selection::Segment;
use serde_json::{Value, json};

/// From the first to the last value of a coordinate variable.
pub(super) struct CoordinateRange {
    name: String,
    units: Option<String>,
    /// As they are printed: a float has the digits of a float.
    first: String,
    last: String,
    /// The same as dates, of a coordinate of time.
    pub(super) dates: Option<(String, String)>,
}

/// Values at either end of a coordinate among which the first and the last that is not missing are looked for.
const NEAR_ENDS: u64 = 4096;

/// The range of a coordinate; nothing where it has no values.
pub(super) fn range(coordinate: &Coordinate) -> Result<Option<CoordinateRange>> {
    let v = coordinate.variable();
    let Some(&len) = v.shape().first().filter(|n| **n > 0) else { return Ok(None) };
    let units = decode_value::text(v.header(), b"units").map(|u| text::safe(&u));
    // Of an incomplete file the last values are not known.
    let read = |start, count| match coordinate.values(&[Segment { start, count, stride: 1 }]) {
        Err(e) if e.is_incomplete() => Ok(Vec::new()),
        values => values,
    };
    let (mut first, mut last) = (f64::NAN, f64::NAN);
    // Most have a value at either end, and one element is read of each.
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
    /// `lat -90..90 degrees_north`, `time 2001-01-01 to 2001-12-31`.
    pub(super) fn words(&self) -> String {
        let (name, units) = (&self.name, self.units.as_deref().filter(|u| *u != "1"));
        if let Some((first, last)) = &self.dates {
            return format!("{name} {}", one_or_both(first, " to ", last));
        }
        let ends = one_or_both(&self.first, "..", &self.last);
        format!("{name} {ends}{}{}", units.map_or("", |_| " "), units.unwrap_or(""))
    }

    /// For programs: numbers, and dates where they are such.
    pub(super) fn to_json(&self) -> Value {
        let number = |digits: &str| digits.parse::<f64>().ok().filter(|x| x.is_finite());
        json!({
            "name": self.name, "units": self.units, "first": number(&self.first), "last": number(&self.last),
            "dates": self.dates.as_ref().map(|(a, b)| json!([a, b])),
        })
    }
}

/// `1`, `1..2`.
fn one_or_both(first: &str, between: &str, last: &str) -> String {
    if first == last { first.to_owned() } else { [first, between, last].concat() }
}

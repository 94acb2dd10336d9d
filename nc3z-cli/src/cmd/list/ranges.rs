//! From where to where coordinates go: the first and the last value of a coordinate variable. Nothing else of it is read.

use crate::output::text;
use anyhow::Result;
use nc3z_aggregate::units::{Calendar, TimeUnit};
use nc3z_format::classic::Attribute;
use nc3z_format::{Hyperslab, NcType};
use nc3z_reader::Variable;
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

/// The range of a coordinate variable; nothing where it has no values, or is text.
pub(super) fn range(v: &Variable) -> Result<Option<CoordinateRange>> {
    let Some(&len) = v.shape().first().filter(|n| **n > 0) else { return Ok(None) };
    if v.ty() == NcType::Char {
        return Ok(None);
    }
    let words = |a: &Attribute| {
        let words = String::from_utf8_lossy(&a.values);
        words.trim_end_matches(['\0', ' ']).to_owned()
    };
    let attribute = |name: &str| v.attribute(name).filter(|a| a.ty == NcType::Char).map(words);
    let (units, calendar) = (attribute("units"), attribute("calendar"));
    let ends = [value(v, 0)?, value(v, len - 1)?];
    let unit = units.as_deref().filter(|u| TimeUnit::is_time(u)).and_then(|units| {
        let calendar = Calendar::of(calendar.as_deref())?;
        TimeUnit::parse(units, calendar).ok()
    });
    let dates = unit.map(|unit| (unit.show(ends[0]), unit.show(ends[1])));
    let [first, last] = ends.map(|x| digits(x, v.ty()));
    let units = units.filter(|u| !u.is_empty()).map(|u| text::safe(&u));
    Ok(Some(CoordinateRange { name: text::safe(&v.name()), units, first, last, dates }))
}

fn value(v: &Variable, n: u64) -> Result<f64> {
    let value: Vec<f64> = v.read(&Hyperslab::new([n], [1], [1])?)?;
    Ok(value[0])
}

/// The shortest digits that stand for a value of this type.
fn digits(x: f64, ty: NcType) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "it was a float")]
    if ty == NcType::Float { (x as f32).to_string() } else { x.to_string() }
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

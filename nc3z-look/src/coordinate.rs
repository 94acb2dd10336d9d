//! The coordinate of a dimension: the variable with its name or, for times, another variable over it. Its
//! values, as they are shown.

use crate::selection::{Segment, coordinate_variable};
use crate::text;
use nc3z_format::classic::DimId;
use nc3z_format::decode_value::{self, Decoding, Shown, Value};
use nc3z_format::units::{TimeUnit, WordTimes};
use nc3z_format::{Hyperslab, NcType};
use nc3z_reader::{Dataset, Result, Variable};

/// A coordinate of one dimension.
#[derive(Debug, Clone)]
pub struct Coordinate {
    variable: Variable,
    decoding: Decoding,
    time: Option<TimeUnit>,
    /// The times, if they are stored as text.
    text: Option<WordTimes>,
}

impl Coordinate {
    /// Returns the coordinate of a dimension: the numeric variable with its name; otherwise times that are
    /// stored as text, such as WRF's `Times`; otherwise the only time variable over just this dimension.
    pub fn of(dataset: &Dataset, dim: DimId) -> Option<Self> {
        Coordinate::own(dataset, dim).or_else(|| Coordinate::time_of(dataset, dim))
    }

    /// The one-dimensional numeric variable with the dimension's own name.
    pub fn own(dataset: &Dataset, dim: DimId) -> Option<Self> {
        coordinate_variable(dataset, dim).map(|v| Coordinate::numeric(dataset, v))
    }

    /// Returns the times along a dimension: its own coordinate if that is a time, a variable of text, or an
    /// auxiliary variable.
    pub fn time_of(dataset: &Dataset, dim: DimId) -> Option<Self> {
        let own = Coordinate::own(dataset, dim).filter(|c| c.time.is_some());
        own.or_else(|| Coordinate::of_text(dataset, dim)).or_else(|| Coordinate::auxiliary_time(dataset, dim))
    }

    fn numeric(dataset: &Dataset, variable: Variable) -> Self {
        let decoding = Decoding::of(dataset.header(), variable.header());
        let time = decoding.time().copied();
        Coordinate { variable, decoding, time, text: None }
    }

    fn of_text(dataset: &Dataset, dim: DimId) -> Option<Self> {
        let header = dataset.header();
        let times = |v: &Variable| WordTimes::of(header, v.header(), dim);
        let (variable, times) = dataset.variables().find_map(|v| Some((v.clone(), times(&v)?)))?;
        let decoding = Decoding::of(header, variable.header());
        Some(Coordinate { variable, decoding, time: Some(times.unit()), text: Some(times) })
    }

    fn auxiliary_time(dataset: &Dataset, dim: DimId) -> Option<Self> {
        let is_time = |v: &Variable| {
            v.header().dimensions == [dim]
                && v.ty() != NcType::Char
                && decode_value::time_unit(v.header()).is_some()
        };
        let all: Vec<Variable> = dataset.variables().filter(is_time).collect();
        let text = |v: &Variable, name: &[u8]| decode_value::text(v.header(), name);
        let is_named = |v: &&Variable| {
            text(v, b"standard_name").is_some_and(|n| n == "time")
                || text(v, b"axis").is_some_and(|a| a == "T")
        };
        let named = all.iter().find(is_named);
        // If there are several times without a known name, such as creation dates, none is the coordinate.
        let found = named.or_else(|| all.first().filter(|_| all.len() == 1))?;
        Some(Coordinate::numeric(dataset, found.clone()))
    }

    /// The variable of the coordinate.
    pub fn variable(&self) -> &Variable {
        &self.variable
    }

    /// Its name, safe to show.
    pub fn name(&self) -> String {
        text::safe(&self.variable.name())
    }

    /// The unit of its times. None where it is not a time.
    pub fn time(&self) -> Option<&TimeUnit> {
        self.time.as_ref()
    }

    /// Returns whether its values are floats. Numbers that the user types are then rounded to floats.
    pub fn is_float(&self) -> bool {
        self.variable.ty() == NcType::Float && !self.decoding.is_packed()
    }

    /// Returns whether the CF conventions identify it as longitudes.
    pub fn is_longitude(&self) -> bool {
        is_longitude(self.variable.header())
    }

    /// The length of one stored value in bytes: an element, or a row of text.
    pub fn item_len(&self) -> usize {
        let len = self.text.map_or(self.variable.ty().size() as u64, |text| text.row_len());
        usize::try_from(len).expect("rows of text are short")
    }

    /// Returns its stored values at some indices, big-endian, one after another.
    ///
    /// # Errors
    /// A read error.
    pub fn items(&self, segments: &[Segment]) -> Result<Vec<u8>> {
        let mut items = Vec::new();
        for s in segments {
            let (mut start, mut count, mut stride) = (vec![s.start], vec![s.count], vec![s.stride]);
            if let Some(text) = self.text {
                start.push(0);
                count.push(text.row_len());
                stride.push(1);
            }
            items.extend(self.variable.read_bytes(&Hyperslab::new(start, count, stride)?)?);
        }
        Ok(items)
    }

    /// Converts a stored value to the value that is shown.
    pub fn value(&self, item: &[u8]) -> Value {
        if self.text.is_none() {
            return self.decoding.value(item);
        }
        let moment = self.time.and_then(|time| time.moment(self.parsed(item)));
        moment.map_or(Value::Missing, Value::Time)
    }

    /// Unpacks a stored value of a packed coordinate to a number. None for other coordinates, whose stored
    /// values are the numbers.
    pub fn unpacked(&self, item: &[u8]) -> Option<Value> {
        let x = self.decoding.number(item);
        #[expect(clippy::cast_possible_truncation, reason = "it was computed as a float")]
        match self.decoding.shown() {
            _ if x.is_nan() || !self.decoding.is_packed() => {
                self.decoding.is_packed().then_some(Value::Missing)
            }
            Shown::Single => Some(Value::Single(x as f32)),
            _ => Some(Value::Double(x)),
        }
    }

    /// Returns its values at some indices, unpacked, with NaN where one is missing. Times that are stored as
    /// text are days since 1970.
    ///
    /// # Errors
    /// A read error.
    pub fn values(&self, segments: &[Segment]) -> Result<Vec<f64>> {
        let items = self.items(segments)?;
        Ok(match self.text {
            Some(_) => items.chunks_exact(self.item_len()).map(|row| self.parsed(row)).collect(),
            None => self.decoding.numbers(&items),
        })
    }

    /// Returns all of its values.
    ///
    /// # Errors
    /// A read error.
    pub fn all(&self) -> Result<Vec<f64>> {
        self.values(&[Segment { start: 0, count: self.variable.shape()[0], stride: 1 }])
    }

    /// Parses a time that is stored as text; NaN where it is invalid.
    fn parsed(&self, row: &[u8]) -> f64 {
        self.text.and_then(|text| text.number(row)).unwrap_or(f64::NAN)
    }

    /// Formats a value for people: dates as dates, `unknown` for NaN.
    pub fn show(&self, value: f64) -> String {
        if value.is_nan() {
            return "unknown".to_owned();
        }
        match &self.time {
            Some(time) => time.show(value),
            None => self.digits(value),
        }
    }

    /// Formats a value with the fewest digits that identify it in its type.
    pub fn digits(&self, value: f64) -> String {
        let single = self.is_float() || self.decoding.shown() == Shown::Single;
        #[expect(clippy::cast_possible_truncation, reason = "it was a float")]
        if single { (value as f32).to_string() } else { value.to_string() }
    }
}

/// Returns whether attributes identify a variable as longitudes: its standard name, otherwise its units.
pub fn is_longitude(v: &nc3z_format::classic::Variable) -> bool {
    direction(v, "longitude", "east").unwrap_or(false)
}

/// Returns whether attributes identify a variable as latitudes: its standard name, otherwise its units.
pub fn is_latitude(v: &nc3z_format::classic::Variable) -> bool {
    direction(v, "latitude", "north").unwrap_or(false)
}

/// Returns whether standard name and units are those of one direction. None where they do not describe
/// directions.
pub(crate) fn direction(v: &nc3z_format::classic::Variable, standard: &str, towards: &str) -> Option<bool> {
    if let Some(name) = decode_value::text(v, b"standard_name") {
        return Some(name == standard);
    }
    let units = decode_value::text(v, b"units")?.to_ascii_lowercase();
    let direction = units.strip_prefix("degree")?.trim_start_matches('s').trim_start_matches(['_', ' ']);
    if direction.is_empty() {
        return None;
    }
    Some(towards.starts_with(direction))
}

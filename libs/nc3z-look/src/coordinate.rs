//! The coordinate of a dimension: the variable with its name or, for times, another variable over it. Its
//! values, as they are shown.

use crate::selection::{Segment, coordinate_variable};
use crate::text;
use nc3z_format::classic::DimId;
use nc3z_format::coordinates::{Direction, Times, direction, is_marked_as_time, is_radians, times};
use nc3z_format::decode_value::{self, Decoding, Shown, Value, digits, float_digits};
use nc3z_format::units::{TextTimes, TimeUnit};
use nc3z_format::{Hyperslab, NcType};
use nc3z_reader::{Dataset, Result, Variable};

/// A coordinate of one dimension.
#[derive(Debug, Clone)]
pub struct Coordinate {
    variable: Variable,
    decoding: Decoding,
    time: Option<TimeUnit>,
    /// The times, if they are stored as text.
    text: Option<TextTimes>,
}

impl Coordinate {
    /// Returns the coordinate of a dimension: the numeric variable with its name; otherwise times that are
    /// stored as text, such as WRF's `Times`; otherwise the only time variable over just this dimension.
    pub fn new(dataset: &Dataset, dim: DimId) -> Option<Self> {
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

    /// Returns the time of all data of a file: a variable of times without dimensions longer than one, except the first.
    pub fn time_of_file(dataset: &Dataset) -> Option<Self> {
        times(dataset.header()).into_iter().find_map(|(id, times)| {
            let variable = dataset.variable_at(id)?;
            let rank = variable.shape().len();
            let (text, rank) = match times {
                Times::Words(words) => (Some(words), rank.saturating_sub(1)),
                Times::Numbers(_) => (None, rank),
            };
            let fits = variable.shape()[..rank].iter().skip(1).all(|len| *len == 1);
            let found = Coordinate::numeric(dataset, variable);
            let time = text.map_or(found.time, |text| Some(text.unit()));
            fits.then_some(Coordinate { time, text, ..found })
        })
    }

    /// The number of its values.
    pub fn len(&self) -> u64 {
        if self.rank() == 0 { 1 } else { self.variable.shape()[0] }
    }

    /// Returns true if it has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of dimensions of its values.
    fn rank(&self) -> usize {
        self.variable.shape().len().saturating_sub(usize::from(self.text.is_some()))
    }

    fn numeric(dataset: &Dataset, variable: Variable) -> Self {
        let decoding = Decoding::new(dataset.header(), variable.header());
        let time = decoding.time().copied();
        Coordinate { variable, decoding, time, text: None }
    }

    fn of_text(dataset: &Dataset, dim: DimId) -> Option<Self> {
        let header = dataset.header();
        let times = |v: &Variable| TextTimes::along(header, v.header(), dim);
        let (variable, times) = dataset.variables().find_map(|v| Some((v.clone(), times(&v)?)))?;
        let decoding = Decoding::new(header, variable.header());
        Some(Coordinate { variable, decoding, time: Some(times.unit()), text: Some(times) })
    }

    fn auxiliary_time(dataset: &Dataset, dim: DimId) -> Option<Self> {
        let is_time = |v: &Variable| {
            v.header().dimensions == [dim]
                && v.ty() != NcType::Char
                && decode_value::time_unit(v.header()).is_some()
        };
        let all: Vec<Variable> = dataset.variables().filter(is_time).collect();
        let named = all.iter().find(|v| is_marked_as_time(dataset.header(), v.header()));
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

    /// Returns whether it has longitudes or latitudes.
    pub fn direction(&self) -> Option<Direction> {
        direction(self.variable.header())
    }

    /// Returns whether it has longitudes, in degrees.
    pub fn is_longitude(&self) -> bool {
        self.direction() == Some(Direction::Longitude) && !self.is_radians()
    }

    /// Returns whether its values are angles in radians.
    pub(crate) fn is_radians(&self) -> bool {
        self.direction().is_some() && is_radians(self.variable.header())
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
            // Further dimensions have one index.
            start.resize(self.rank(), 0);
            count.resize(self.rank(), 1);
            stride.resize(self.rank(), 1);
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
        self.values(&[Segment::new(0, self.len())])
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
        if single { float_digits(value as f32) } else { digits(value) }
    }
}

/// Makes longitudes monotonic where one step crosses the end of their range: 350, 355, 0, 5 become -10, -5, 0, 5, and 170, -170
/// become 170, 190.
pub fn unwrap(values: &mut [f64]) {
    unwrap_rising(values);
    values.reverse();
    unwrap_rising(values);
    values.reverse();
}

fn unwrap_rising(values: &mut [f64]) {
    let jumps: Vec<usize> = (1..values.len()).filter(|&i| values[i] < values[i - 1]).collect();
    if let [jump] = jumps[..]
        && values[jump] + 360.0 > values[jump - 1]
        && values.last() <= values.first()
        && values.len() > 2
    {
        if values[jump] >= 0.0 {
            values[..jump].iter_mut().for_each(|v| *v -= 360.0);
        } else {
            values[jump..].iter_mut().for_each(|v| *v += 360.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unwrap;

    #[test]
    fn longitudes_go_on_behind_the_meridian() {
        for (values, expected) in [
            (&[350.0, 355.0, 0.0, 5.0][..], &[-10.0, -5.0, 0.0, 5.0][..]),
            (&[160.0, 170.0, -170.0], &[160.0, 170.0, 190.0]),
            (&[5.0, 0.0, 355.0, 350.0], &[5.0, 0.0, -5.0, -10.0]),
            (&[-170.0, 175.0, 170.0], &[190.0, 175.0, 170.0]),
            (&[10.0, 350.0, 340.0], &[10.0, -10.0, -20.0]),
            (&[3.0, 2.0, 1.0], &[3.0, 2.0, 1.0]),
            (&[1.0, 3.0, 2.0, 4.0, 3.5], &[1.0, 3.0, 2.0, 4.0, 3.5]),
            (&[0.0], &[0.0]),
        ] {
            let mut found = values.to_vec();
            unwrap(&mut found);
            assert_eq!(found, expected);
        }
    }
}

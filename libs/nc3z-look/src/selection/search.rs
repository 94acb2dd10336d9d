//! Finds the indices of coordinate values.

use super::request::{Error, Result};
use crate::coordinate::{Coordinate, unwrap};
use crate::text;
use nc3z_format::classic::DimId;
use nc3z_format::coordinates::Direction;
use nc3z_format::units::{Moment, Period, Span, TimeUnit};
use nc3z_reader::Dataset;

/// The position of a range of values.
#[derive(Debug, PartialEq)]
pub(super) enum Place {
    /// From the first index to the last. The range wraps if the last is before the first.
    Range(u64, u64),
    /// No index, and the reason.
    Nothing(String),
}

/// The values of a dimension's coordinate, which are monotonic.
#[derive(Debug)]
pub(super) struct Sorted {
    name: String,
    values: Vec<f64>,
    /// True where the values are floats. A requested value is then rounded to a float, too.
    is_float: bool,
    /// True for degrees that wrap at 360.
    is_longitude: bool,
    time: Option<TimeUnit>,
}

/// Longitudes from a western to an eastern end, independent of multiples of 360 degrees.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sector {
    west: f64,
    span: f64,
    /// The tolerance for rounding errors.
    tolerance: f64,
}

impl Sector {
    pub(super) fn new(west: f64, east: f64, is_float: bool) -> Self {
        let span = if east - west >= 360.0 { 360.0 } else { (east - west).rem_euclid(360.0) };
        Sector { west, span, tolerance: if is_float { 4e-5 } else { 1e-9 } }
    }

    /// Returns the degrees east of the western end, if a longitude is in the sector.
    pub(super) fn offset(&self, longitude: f64) -> Option<f64> {
        let east = (longitude - self.west).rem_euclid(360.0);
        if east <= self.span + self.tolerance {
            return Some(east);
        }
        (east >= 360.0 - self.tolerance).then_some(0.0)
    }
}

impl Sorted {
    /// Returns the coordinate whose values select indices.
    pub(super) fn new(dataset: &Dataset, dim: DimId) -> Result<Self> {
        let name = dimension_name(dataset, dim);
        let coordinate = Coordinate::own(dataset, dim).ok_or_else(|| {
            Error::wrong(format!(
                "dimension `{name}` has no coordinate variable (one-dimensional, numeric, of the same name), \
                 so only indices can be given, without a decimal point"
            ))
        })?;
        Self::read(name, &coordinate)
    }

    /// Returns the coordinate whose values are dates.
    pub(super) fn of_time(dataset: &Dataset, dim: DimId) -> Result<Self> {
        let name = dimension_name(dataset, dim);
        let coordinate = Coordinate::time_of(dataset, dim).ok_or_else(|| {
            let why = match Coordinate::own(dataset, dim) {
                Some(_) => "its coordinate variable has no units such as `days since 2000-01-01` and a known calendar",
                None => "no time variable has this dimension",
            };
            Error::wrong(format!("dimension `{name}` has no dates: {why}; give indices, without a decimal point"))
        })?;
        Self::read(name, &coordinate)
    }

    fn read(name: String, coordinate: &Coordinate) -> Result<Self> {
        let mut values = coordinate
            .all()
            .map_err(Error::read(format!("read the coordinate variable of dimension `{name}`")))?;
        let is_longitude = coordinate.is_longitude();
        if is_longitude {
            unwrap(&mut values);
        }
        let found = Self::from_values(name, values, coordinate.is_float())?;
        Ok(Sorted { is_longitude, time: coordinate.time().copied(), ..found })
    }

    /// Returns the coordinate in degrees, of longitudes or latitudes.
    pub(super) fn of_degrees(dataset: &Dataset, dim: DimId) -> Result<Self> {
        let mut found = Sorted::new(dataset, dim)?;
        if let Some(coordinate) = Coordinate::own(dataset, dim).filter(Coordinate::is_radians) {
            found.values.iter_mut().for_each(|v| *v = v.to_degrees());
            found.is_longitude = coordinate.direction() == Some(Direction::Longitude);
        }
        Ok(found)
    }

    fn from_values(name: String, values: Vec<f64>, is_float: bool) -> Result<Self> {
        let rises = values.windows(2).all(|w| w[0] < w[1]);
        let falls = values.windows(2).all(|w| w[0] > w[1]);
        if values.iter().any(|v| v.is_nan()) {
            return Err(Error::wrong(format!(
                "the coordinate variable of dimension `{name}` has missing values, so its values name no range; give \
                 indices, without a decimal point"
            )));
        }
        if values.is_empty() || values.iter().any(|v| !v.is_finite()) || !(rises || falls) {
            return Err(Error::wrong(format!(
                "the coordinate variable of dimension `{name}` neither rises nor falls all the way, so its values \
                 name no range; give indices, without a decimal point"
            )));
        }
        Ok(Sorted { name, values, is_float, is_longitude: false, time: None })
    }

    fn ends(&self) -> (f64, f64) {
        (self.values[0], self.values[self.values.len() - 1])
    }

    /// The smallest and the largest value.
    fn extent(&self) -> (f64, f64) {
        let (first, last) = self.ends();
        (first.min(last), first.max(last))
    }

    pub(super) fn len(&self) -> u64 {
        self.values.len() as u64
    }

    pub(super) fn is_longitude(&self) -> bool {
        self.is_longitude
    }

    fn rises(&self) -> bool {
        let (first, last) = self.ends();
        first <= last
    }

    /// Rounds a value to the precision of the coordinate.
    fn rounded(&self, value: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, reason = "rounding is what it is for")]
        if self.is_float { f64::from(value as f32) } else { value }
    }

    /// Returns the index of the value nearest to `value`, which must be within the coordinate's range
    /// extended by half a step at each end. Longitudes are compared modulo 360 degrees.
    pub(super) fn nearest(&self, value: f64) -> Result<u64> {
        let turns: &[f64] = if self.is_longitude { &[0.0, 360.0, -360.0] } else { &[0.0] };
        let found = turns.iter().find_map(|turn| self.nearest_as_written(self.rounded(value + turn)));
        found.ok_or_else(|| {
            let (first, last) = self.ends();
            let value = self.rounded(value);
            Error::wrong(format!(
                "dimension `{}` goes from {first:?} to {last:?}, asked for {value:?}",
                self.name
            ))
        })
    }

    fn nearest_as_written(&self, value: f64) -> Option<u64> {
        let distance = |i: usize| (self.values[i] - value).abs();
        let nearest = (0..self.values.len()).min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        let at = nearest.expect("a coordinate has values");
        let neighbour = if at == 0 { 1 } else { at - 1 };
        let step = self.values.get(neighbour).map_or(0.0, |v| (v - self.values[at]).abs());
        let (low, high) = self.extent();
        ((low..=high).contains(&value) || distance(at) <= step / 2.0).then_some(at as u64)
    }

    /// Returns the indices of the values from `low` to `high`, both included, and notes for the user.
    /// Longitudes wrap around the dimension's end. For other coordinates, a range wraps if `low` is greater.
    pub(super) fn between(&self, low: Option<f64>, high: Option<f64>) -> Result<(Place, Vec<String>)> {
        let (low, high) = (low.map(|v| self.rounded(v)), high.map(|v| self.rounded(v)));
        let (least, most) = self.extent();
        if let (Some(west), Some(east)) = (low, high)
            && self.is_longitude
            && !(least <= west && west <= east && east <= most)
        {
            return Ok((self.sector(west, east), Vec::new()));
        }
        let (first, last) = self.ends();
        let asked = asked(low, high);
        let nothing =
            || Place::Nothing(format!("no value is in {asked}; values go from {first:?} to {last:?}"));
        let above = |v: f64| low.is_none_or(|low| low <= v);
        let below = |v: f64| high.is_none_or(|high| v <= high);
        let position = |wanted: &dyn Fn(f64) -> bool| self.values.iter().position(|v| wanted(*v));
        let last_of = |wanted: &dyn Fn(f64) -> bool| self.values.iter().rposition(|v| wanted(*v));
        if matches!((low, high), (Some(low), Some(high)) if low > high) {
            if !self.rises() {
                return Err(Error::wrong(format!(
                    "dimension `{}`: {asked} wraps around, which is understood only where values rise; these fall \
                     from {first:?} to {last:?} (the smaller value comes first)",
                    self.name
                )));
            }
            let place = match (position(&above), last_of(&below)) {
                (Some(first), Some(last)) => Place::Range(first as u64, last as u64),
                (Some(first), None) => Place::Range(first as u64, self.values.len() as u64 - 1),
                (None, Some(last)) => Place::Range(0, last as u64),
                (None, None) => nothing(),
            };
            let note = format!(
                "dimension `{}`: {asked} wraps around its end, though it is not a longitude; the smaller value first is the \
                 range between",
                self.name
            );
            return Ok((place, vec![note]));
        }
        let inside = |v: f64| above(v) && below(v);
        let place = match (position(&inside), last_of(&inside)) {
            (Some(first), Some(last)) => Place::Range(first as u64, last as u64),
            _ => return Ok((nothing(), Vec::new())),
        };
        let exceeds = low.is_some_and(|low| low < least) || high.is_some_and(|high| high > most);
        let note = || {
            format!(
                "dimension `{}`: the range {asked} exceeds the coordinate, which goes from {first:?} to {last:?}",
                self.name
            )
        };
        Ok((place, if exceeds { vec![note()] } else { Vec::new() }))
    }

    /// Returns the indices of longitudes in a sector.
    fn sector(&self, west: f64, east: f64) -> Place {
        let sector = Sector::new(west, east, self.is_float);
        let offsets: Vec<Option<f64>> = self.values.iter().map(|v| sector.offset(*v)).collect();
        let found = offsets.iter().enumerate().filter_map(|(i, offset)| offset.map(|offset| (i, offset)));
        // The western end comes first if values rise, the eastern one if they fall.
        let first = found.min_by(|(_, a), (_, b)| if self.rises() { a.total_cmp(b) } else { b.total_cmp(a) });
        let Some((first, _)) = first else {
            let (low, high) = self.ends();
            return Place::Nothing(format!(
                "no longitude is in {west:?} to {east:?}; longitudes go from {low:?} to {high:?}"
            ));
        };
        let n = self.values.len();
        let follow = (1..n).take_while(|i| offsets[(first + i) % n].is_some());
        let mut last = (first + follow.last().unwrap_or(0)) % n;
        // 0 and 360 are the same meridian. At an end of the range the repeated one is omitted. Inside the
        // range both are read.
        if last < first && ((self.values[n - 1] - self.values[0]).abs() - 360.0).abs() < 1e-4 {
            if first == n - 1 {
                return Place::Range(0, last as u64);
            }
            last = if last == 0 { n - 1 } else { last };
        }
        Place::Range(first as u64, last as u64)
    }

    /// Returns the indices of the times of a period.
    pub(super) fn at_date(&self, period: &Period) -> Result<Place> {
        let time = self.time.as_ref().expect("only times are looked for by date");
        period.within(time.calendar()).map_err(|why| self.not_there(&why))?;
        Ok(self.between_dates(Some(period), Some(period))?.0)
    }

    fn not_there(&self, why: &str) -> Error {
        Error::wrong(format!("dimension `{}`: {why} in its calendar", self.name))
    }

    /// Returns the indices of the times from one period to another, both included, and notes for the user. A date that the calendar
    /// lacks is the next one or, of the last period, the one before.
    pub(super) fn between_dates(
        &self,
        first: Option<&Period>,
        last: Option<&Period>,
    ) -> Result<(Place, Vec<String>)> {
        let time = self.time.as_ref().expect("only times are looked for by date");
        let mut notes = Vec::new();
        let mut span = |period: Option<&Period>, instead: &str| -> Result<Option<Span>> {
            let Some(period) = period else { return Ok(None) };
            if let Err(why) = period.within(time.calendar()) {
                notes.push(format!("dimension `{}`: {why} in its calendar; {instead}", self.name));
            }
            period.nearly_within(time.calendar()).map(Some).map_err(|why| self.not_there(&why))
        };
        let (from, to) =
            (span(first, "the next day is the first")?, span(last, "the day before is the last")?);
        if let (Some(from), Some(to)) = (&from, &to)
            && from.is_after(to)
        {
            return Err(Error::wrong(format!("dimension `{}`: the first date is after the last", self.name)));
        }
        let inside = |moment: &Moment| {
            from.as_ref().is_none_or(|from| from.begins_by(moment))
                && to.as_ref().is_none_or(|to| to.ends_after(moment))
        };
        let is_inside = |v: &f64| time.moment(*v).is_some_and(|moment| inside(&moment));
        let found = self.values.iter().position(is_inside).zip(self.values.iter().rposition(is_inside));
        let nothing = || {
            let (first, last) = self.ends();
            Place::Nothing(format!(
                "no time is in this range; times go from {} to {}",
                time.show(first),
                time.show(last)
            ))
        };
        Ok((found.map_or_else(nothing, |(first, last)| Place::Range(first as u64, last as u64)), notes))
    }
}

fn dimension_name(dataset: &Dataset, dim: DimId) -> String {
    dataset.dimensions().get(dim.index()).map(|d| text::name(&d.name)).unwrap_or_default()
}

fn asked(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{low:?} to {high:?}"),
        (Some(low), None) => format!("{low:?} and more"),
        (None, Some(high)) => format!("{high:?} and less"),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coordinate(values: &[f64]) -> Sorted {
        Sorted::from_values("lon".into(), values.to_vec(), false).unwrap()
    }

    #[test]
    fn values_between_two_both_included() {
        let lon = coordinate(&[0.0, 90.0, 180.0, 270.0]);
        let between = |low, high| lon.between(low, high).unwrap().0;
        assert_eq!(between(Some(90.0), Some(180.0)), Place::Range(1, 2));
        assert_eq!(between(Some(-5.0), Some(95.0)), Place::Range(0, 1));
        assert_eq!(between(None, Some(1.0)), Place::Range(0, 0));
        assert_eq!(between(Some(180.0), None), Place::Range(2, 3));
        assert_eq!(between(Some(260.0), Some(10.0)), Place::Range(3, 0), "wraps");
        assert_eq!(between(Some(280.0), Some(10.0)), Place::Range(0, 0));
        assert_eq!(between(Some(260.0), Some(-10.0)), Place::Range(3, 3));
        assert!(
            matches!(between(Some(91.0), Some(92.0)), Place::Nothing(why) if why.contains("0.0 to 270.0"))
        );
    }

    #[test]
    fn falling_values_are_found_and_do_not_wrap() {
        let lat = coordinate(&[90.0, 45.0, 0.0, -45.0]);
        assert_eq!(lat.between(Some(-1.0), Some(50.0)).unwrap().0, Place::Range(1, 2));
        assert!(lat.between(Some(50.0), Some(-1.0)).unwrap_err().to_string().contains("wraps around"));
    }

    #[test]
    fn nearest_value_within_half_a_step() {
        let lon = coordinate(&[0.0, 90.0, 180.0, 270.0]);
        assert_eq!(lon.nearest(50.0).unwrap(), 1);
        assert_eq!(lon.nearest(300.0).unwrap(), 3);
        let error = lon.nearest(316.0).unwrap_err().to_string();
        assert!(error.contains("from 0.0 to 270.0, asked for 316.0"), "{error}");
        assert_eq!(coordinate(&[5.0]).nearest(5.0).unwrap(), 0);
        assert!(coordinate(&[5.0]).nearest(5.1).is_err());
    }

    #[test]
    fn floats_are_compared_as_floats() {
        let tenth = f64::from(0.1_f32);
        let x = Sorted::from_values("x".into(), vec![tenth, 0.5], true).unwrap();
        assert_eq!(x.between(Some(0.0), Some(0.1)).unwrap().0, Place::Range(0, 0));
    }

    #[test]
    fn values_without_order_name_no_range() {
        for values in [&[1.0, 1.0][..], &[1.0, f64::NAN], &[], &[0.0, 2.0, 1.0]] {
            assert!(Sorted::from_values("x".into(), values.to_vec(), false).is_err());
        }
    }

    #[test]
    fn longitudes_are_found_whichever_way_they_are_written() {
        let of = |values: &[f64], is_float| Sorted {
            is_longitude: true,
            ..Sorted::from_values("lon".into(), values.to_vec(), is_float).unwrap()
        };
        let every_30: Vec<f64> = (0..12).map(|i| f64::from(i) * 30.0).collect();
        let shifted: Vec<f64> = every_30.iter().map(|v| v - 180.0).collect();
        let falling: Vec<f64> = every_30.iter().rev().copied().collect();
        let closed: Vec<f64> = (0..13).map(|i| f64::from(i) * 30.0).collect();
        let found = |values: &[f64], west, east| {
            let lon = of(values, false);
            let (place, notes) = lon.between(Some(west), Some(east)).unwrap();
            assert!(notes.is_empty());
            let n = values.len();
            match place {
                Place::Nothing(_) => vec![],
                Place::Range(a, b) => {
                    let (a, b) = (usize::try_from(a).unwrap(), usize::try_from(b).unwrap());
                    let count = if a <= b { b - a } else { b + n - a } + 1;
                    (0..count).map(|i| values[(a + i) % n]).collect::<Vec<f64>>()
                }
            }
        };
        assert_eq!(found(&every_30, -30.0, 30.0), [330.0, 0.0, 30.0]);
        assert_eq!(found(&every_30, 330.0, 30.0), [330.0, 0.0, 30.0]);
        assert_eq!(found(&every_30, 330.0, 390.0), [330.0, 0.0, 30.0]);
        assert_eq!(found(&every_30, -31.0, -29.0), [330.0]);
        assert_eq!(found(&every_30, 359.0, 361.0), [0.0]);
        assert_eq!(found(&every_30, 30.0, 60.0), [30.0, 60.0]);
        assert_eq!(found(&every_30, 10.0, 20.0), [0.0; 0]);
        assert_eq!(found(&every_30, -180.0, 180.0).len(), 12);
        assert_eq!(found(&every_30, -180.0, 180.0)[..2], [180.0, 210.0]);
        assert_eq!(found(&shifted, 150.0, 210.0), [150.0, -180.0, -150.0]);
        assert_eq!(found(&shifted, 170.0, -170.0), [-180.0]);
        assert_eq!(found(&falling, -30.0, 30.0), [30.0, 0.0, 330.0]);
        assert_eq!(found(&closed, -30.0, 30.0), [330.0, 360.0, 0.0, 30.0]);
        assert_eq!(found(&closed, -30.0, 0.0), [330.0, 360.0]);
        assert_eq!(found(&closed, 0.0, 360.0).len(), 13);
        assert_eq!(found(&closed, -5.0, 45.0), [0.0, 30.0]);
        let regional = [5.0, 10.0, 15.0];
        assert_eq!(found(&regional, -10.0, 12.0), [5.0, 10.0]);
        assert_eq!(found(&regional, 368.0, 372.0), [10.0]);
        assert_eq!(of(&every_30, false).nearest(-30.0).unwrap(), 11);
        assert_eq!(of(&every_30, false).nearest(359.0).unwrap(), 0);
        let tenths: Vec<f64> = (0..3600_u16).map(|i| f64::from(f32::from(i) / 10.0)).collect();
        let (place, _) = of(&tenths, true).between(Some(-0.1), Some(0.1)).unwrap();
        assert_eq!(place, Place::Range(3599, 1));
    }

    #[test]
    fn what_exceeds_another_coordinate_is_reported() {
        let level = coordinate(&[0.0, 10.0, 20.0]);
        let (place, notes) = level.between(Some(-5.0), Some(10.0)).unwrap();
        assert_eq!(place, Place::Range(0, 1));
        assert!(
            notes[0].contains("-5.0 to 10.0 exceeds the coordinate, which goes from 0.0 to 20.0"),
            "{notes:?}"
        );
        let (_, notes) = level.between(Some(20.0), Some(0.0)).unwrap();
        assert!(notes[0].contains("wraps around its end, though it is not a longitude"), "{notes:?}");
        assert!(level.between(Some(0.0), Some(20.0)).unwrap().1.is_empty());
    }
}

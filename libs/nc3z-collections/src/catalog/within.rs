//! Which files have values in a region or in a period: by the least and the largest latitude, longitude and time.

use super::answers::parsed;
use super::member::CoordinateValues;
use super::presence::Presence;
use super::read::{Block, Tiles};
use super::table::wrong;
use crate::error::Result;
use nc3z_format::classic::{Header, Variable};
use nc3z_format::coordinates::{Direction, Times, columns, direction, is_radians, times};
use nc3z_format::decode_value::Decoding;
use nc3z_format::units::{Period, TimeUnit};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A region, in degrees. It wraps around where `east` is less than `west`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    /// The western end of the region.
    pub west: f64,
    /// The eastern end of the region.
    pub east: f64,
    /// The southern end of the region.
    pub south: f64,
    /// The northern end of the region.
    pub north: f64,
}

/// Returns whether a file has values in a region or a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// No coordinate tells.
    Unknown,
    /// It has none.
    No,
    /// It may have some.
    Yes,
}

impl Fit {
    /// The fit of a file with two coordinates of a kind: one that fits is enough, and one whose values are not known may fit.
    fn or(self, other: Fit) -> Self {
        match (self, other) {
            (Fit::Yes, _) | (_, Fit::Yes) => Fit::Yes,
            (Fit::Unknown, _) | (_, Fit::Unknown) => Fit::Unknown,
            _ => Fit::No,
        }
    }
}

/// The coordinates of a header: of each variable what it means.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Meaning {
    Place(Direction),
    /// Longitudes and latitudes are columns of one variable.
    Columns,
    Time(Times),
}

fn meanings(header: &Header) -> HashMap<usize, Meaning> {
    let times = times(header).into_iter().map(|(id, times)| (id.index(), Meaning::Time(times)));
    let place = |(id, v): (usize, &Variable)| {
        let columns = || columns(header, v).map(|_| Meaning::Columns);
        Some((id, direction(v).map(Meaning::Place).or_else(columns)?))
    };
    header.variables.iter().enumerate().filter_map(place).chain(times).collect()
}

impl Area {
    fn has_latitudes(&self, (min, max): (f64, f64)) -> bool {
        min <= self.north && self.south <= max
    }

    /// Longitudes are the same after 360 degrees.
    fn has_longitudes(&self, (min, max): (f64, f64)) -> bool {
        if max - min >= 360.0 || !min.is_finite() || !max.is_finite() {
            return true;
        }
        let east = if self.east < self.west { self.east + 360.0 } else { self.east };
        let turns = ((self.west - max) / 360.0).ceil();
        min + 360.0 * turns <= east
    }
}

/// Returns true if times from the least to the largest value overlap the periods from the first to the last. Numbers that are no
/// dates are before or after all dates.
fn has_times(unit: &TimeUnit, periods: (Period, Period), (min, max): (f64, f64)) -> bool {
    let span = |period: Period| period.nearly_within(unit.calendar()).ok();
    let (Some(from), Some(to)) = (span(periods.0), span(periods.1)) else { return false };
    let begins = unit.moment(max).map_or(max > 0.0, |max| from.begins_by(&max));
    begins && unit.moment(min).map_or(min < 0.0, |min| to.ends_after(&min))
}

/// The least and the largest value of some tiles; None without values.
fn ends(tiles: &Tiles, rows: Range<usize>) -> Option<(f64, f64)> {
    let own = rows.filter_map(|row| tiles.ends(row));
    let own = own.map(|(min, max)| (min.nearest, max.nearest));
    own.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// The least and the largest of the times that are dates.
fn ends_of_dates(unit: &TimeUnit, values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let dates = values.filter(|x| unit.moment(*x).is_some());
    dates.map(|x| (x, x)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// The least and the largest of the times of a coordinate whose values the catalogue has.
fn known_ends(
    header: &Header,
    variable: &Variable,
    times: &Times,
    known: &CoordinateValues,
) -> Option<(f64, f64)> {
    let items = known.bytes.chunks_exact(known.size.max(1));
    match times {
        Times::Words(words) if known.size as u64 == words.row_len() => {
            ends_of_dates(&words.unit(), items.filter_map(|row| words.number(row)))
        }
        // Of numbers, the tiles have the ends of all values.
        Times::Numbers(unit) if known.whole && known.size == variable.ty.size() => {
            let decoding = Decoding::new(header, variable);
            ends_of_dates(unit, items.map(|item| decoding.number(item)))
        }
        _ => None,
    }
}

/// Returns for each file of a block whether it may have values in the area, and whether in the periods.
pub(super) fn within(
    block: &Block<'_>,
    area: Option<&Area>,
    periods: Option<(Period, Period)>,
) -> Result<Vec<[Fit; 2]>> {
    let (headers, heads) = (parsed(block)?, block.heads()?);
    let meanings: Vec<HashMap<usize, Meaning>> = headers.iter().map(meanings).collect();
    let wanted: HashSet<String> = headers
        .iter()
        .zip(&meanings)
        .flat_map(|(h, known)| known.keys().map(|id| h.variables[*id].name_lossy().into_owned()))
        .collect();
    let coordinates = if periods.is_some() { block.coordinates()? } else { Vec::new() };
    // Latitudes, longitudes, times of each file; None before the first coordinate of the kind.
    let mut fits: Vec<[Option<Fit>; 3]> = vec![[None; 3]; block.len()];
    let mut presence = Presence::new(block)?;
    for name in block.variables().filter(|name| wanted.contains(*name)) {
        let Some(tiles) = block.tiles(name)? else { continue };
        for found in &tiles.found {
            let number = heads[found.member].1;
            let header = headers.get(number).ok_or_else(|| wrong("a header is not there"))?;
            let Some(meaning) = meanings[number].get(&found.variable) else { continue };
            let rows = found.rows.clone().unwrap_or_default();
            let is_whole = presence.is_whole(&headers, &heads[found.member], found.variable);
            let fit = |ends: Option<(f64, f64)>, fits: &dyn Fn((f64, f64)) -> bool| match ends {
                Some(ends) if fits(ends) => Fit::Yes,
                // Values that the file lacks may fit.
                _ if !is_whole => Fit::Unknown,
                Some(_) => Fit::No,
                // A coordinate without elements has no place.
                None if found.rows.is_some() && rows.is_empty() => Fit::No,
                None => Fit::Unknown,
            };
            let mut put = |kind: usize, fit: Fit| {
                let known = &mut fits[found.member][kind];
                *known = Some(known.map_or(fit, |known| known.or(fit)));
            };
            let variable = &header.variables[found.variable];
            let degrees = ends(&tiles, rows.clone()).map(|(min, max)| {
                if is_radians(variable) { (min.to_degrees(), max.to_degrees()) } else { (min, max) }
            });
            let latitudes = |ends| area.is_some_and(|area| area.has_latitudes(ends));
            let longitudes = |ends| area.is_some_and(|area| area.has_longitudes(ends));
            if matches!(meaning, Meaning::Columns | Meaning::Place(Direction::Latitude)) {
                put(0, fit(degrees, &latitudes));
            }
            if matches!(meaning, Meaning::Columns | Meaning::Place(Direction::Longitude)) {
                put(1, fit(degrees, &longitudes));
            }
            if let (Meaning::Time(times), Some(periods)) = (meaning, periods) {
                let known = coordinates[found.member].iter().find(|k| k.variable as usize == found.variable);
                let known = known.and_then(|known| known_ends(header, variable, times, known));
                let (unit, ends) = match times {
                    Times::Words(words) => (words.unit(), known),
                    Times::Numbers(unit) => (*unit, known.or_else(|| ends(&tiles, rows.clone()))),
                };
                put(2, fit(ends, &|ends| has_times(&unit, periods, ends)));
            }
        }
    }
    let together = |[lat, lon, time]: [Option<Fit>; 3]| {
        let [lat, lon, time] = [lat, lon, time].map(|fit| fit.unwrap_or(Fit::Unknown));
        let place = match (lat, lon) {
            (Fit::No, _) | (_, Fit::No) => Fit::No,
            (Fit::Yes, Fit::Yes) => Fit::Yes,
            _ => Fit::Unknown,
        };
        let asked = |is_asked: bool, fit: Fit| if is_asked { fit } else { Fit::Yes };
        [asked(area.is_some(), place), asked(periods.is_some(), time)]
    };
    Ok(fits.into_iter().map(together).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_format::units::Calendar;

    #[test]
    fn regions_wrap_around() {
        let area = |west, east| Area { west, east, south: -10.0, north: 10.0 };
        assert!(area(-30.0, 40.0).has_longitudes((0.0, 359.0)));
        assert!(area(-30.0, -20.0).has_longitudes((330.0, 335.0)));
        assert!(!area(-30.0, -20.0).has_longitudes((345.0, 350.0)));
        assert!(area(350.0, 10.0).has_longitudes((0.0, 5.0)));
        assert!(!area(350.0, 10.0).has_longitudes((20.0, 25.0)));
        assert!(area(0.0, 360.0).has_longitudes((-170.0, -160.0)));
        assert!(area(0.0, 1.0).has_latitudes((5.0, 50.0)) && !area(0.0, 1.0).has_latitudes((11.0, 50.0)));
    }

    #[test]
    fn periods_overlap() {
        let unit = TimeUnit::parse("days since 2001-01-01", Calendar::Standard).unwrap();
        let ask = |from: &str, to: &str| {
            has_times(&unit, (from.parse().unwrap(), to.parse().unwrap()), (31.0, 58.0))
        };
        assert!(ask("2001-02", "2001-02") && ask("2000", "2001") && ask("2001-02-28", "2001-03"));
        assert!(!ask("2001-01", "2001-01") && !ask("2001-03", "2002") && !ask("2001-02-30", "2002"));
        // Numbers beyond all dates.
        let ask = |from: &str, ends| has_times(&unit, (from.parse().unwrap(), from.parse().unwrap()), ends);
        assert!(ask("2001-01-01", (0.0, 1e30)) && ask("2500", (0.0, 1e30)) && !ask("2000", (0.0, 1e30)));
        assert!(ask("2000", (-1e30, 0.0)) && !ask("2002", (-1e30, 0.0)) && !ask("2002", (1e30, 1e31)));
        // Days that the calendar does not have.
        let days = TimeUnit::parse("days since 1950-01-16", Calendar::Day360).unwrap();
        let ask =
            |from: &str, to: &str, ends| has_times(&days, (from.parse().unwrap(), to.parse().unwrap()), ends);
        assert!(ask("1950-01-01", "1950-12-31", (0.0, 330.0)) && ask("1950-12-31", "1951", (344.0, 400.0)));
        assert!(
            ask("1950-01-31", "1950-02-28", (30.0, 30.0)) && !ask("1950-01-31", "1950-02-28", (0.0, 14.9))
        );
        assert!(!ask("1950-01-01", "1950-12-31", (345.0, 400.0)));
    }
}

//! Which files have values in a region or in a period: by the least and the largest latitude, longitude and time.

use super::answers::parsed;
use super::columns::wrong;
use super::read::{Block, Tiles};
use crate::error::Result;
use nc3z_format::classic::{Header, Variable};
use nc3z_format::decode_value::{text, time_unit};
use nc3z_format::units::{Period, TimeUnit};
use std::collections::{HashMap, HashSet};

/// A region, in degrees. It wraps around where `east` is less than `west`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    /// The western end.
    pub west: f64,
    /// The eastern end.
    pub east: f64,
    /// The southern end.
    pub south: f64,
    /// The northern end.
    pub north: f64,
}

/// The meaning of a coordinate.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Meaning {
    Latitude,
    Longitude,
    Time(TimeUnit),
}

/// The meaning of a variable by the CF conventions: by its standard name or its units.
fn meaning(header: &Header, variable: &Variable) -> Option<Meaning> {
    let own = variable
        .dimensions
        .iter()
        .any(|d| header.dimensions.get(d.index()).is_some_and(|d| d.name == variable.name));
    let name = text(variable, b"standard_name");
    let name = name.as_deref();
    if let Some(unit) = time_unit(variable) {
        let is_time = name == Some("time") || own || text(variable, b"axis").as_deref() == Some("T");
        return is_time.then_some(Meaning::Time(unit));
    }
    let units = text(variable, b"units").unwrap_or_default().to_lowercase();
    let is = |words: &str| [format!("degrees_{words}"), format!("degree_{words}")].contains(&units);
    match () {
        () if name == Some("latitude") || name.is_none() && is("north") => Some(Meaning::Latitude),
        () if name == Some("longitude") || name.is_none() && is("east") => Some(Meaning::Longitude),
        () => None,
    }
}

impl Area {
    fn has_latitudes(&self, min: f64, max: f64) -> bool {
        min <= self.north && self.south <= max
    }

    /// Longitudes are the same after 360 degrees.
    fn has_longitudes(&self, min: f64, max: f64) -> bool {
        let east = if self.east < self.west { self.east + 360.0 } else { self.east };
        let turns = ((self.west - max) / 360.0).ceil();
        min + 360.0 * turns <= east
    }
}

/// Returns true if times from the least to the largest value overlap the periods from the first to the last.
fn has_times(unit: &TimeUnit, periods: (Period, Period), min: f64, max: f64) -> bool {
    let span = |period: Period| period.within(unit.calendar()).ok();
    let (Some(from), Some(to)) = (span(periods.0), span(periods.1)) else { return false };
    let (Some(min), Some(max)) = (unit.moment(min), unit.moment(max)) else { return false };
    from.begins_by(&max) && to.ends_after(&min)
}

/// The least and the largest value of some tiles; None without values.
fn ends(tiles: &Tiles, rows: std::ops::Range<usize>) -> Option<(f64, f64)> {
    let own = rows.filter(|row| tiles.counts[*row] > 0);
    own.map(|row| (tiles.min[row], tiles.max[row])).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Returns for each file of a block whether it may have values in the area and in the periods. A file without such coordinates has none.
pub(super) fn within(
    block: &Block<'_>,
    area: Option<&Area>,
    periods: Option<(Period, Period)>,
) -> Result<Vec<bool>> {
    let (headers, heads) = (parsed(block)?, block.heads()?);
    let mut known: HashMap<(usize, usize), Option<Meaning>> = HashMap::new();
    let all = headers.iter().flat_map(|h| h.variables.iter().map(move |v| (h, v)));
    let with_meaning = all.filter(|(h, v)| meaning(h, v).is_some());
    let wanted: HashSet<String> = with_meaning.map(|(_, v)| v.name_lossy().into()).collect();
    // Latitudes, longitudes, times.
    let mut fits = vec![[area.is_none(), area.is_none(), periods.is_none()]; block.len()];
    for name in block.variables().filter(|name| wanted.contains(*name)) {
        let Some(tiles) = block.tiles(name)? else { continue };
        for found in &tiles.found {
            let number = heads[found.member].1;
            let header = headers.get(number).ok_or_else(|| wrong("a header is not there"))?;
            let of = || header.variables.get(found.variable).and_then(|v| meaning(header, v));
            let meaning = known.entry((number, found.variable)).or_insert_with(of);
            let rows = found.rows.clone().unwrap_or_default();
            let (Some(meaning), Some((min, max))) = (meaning, ends(&tiles, rows)) else { continue };
            let fits = &mut fits[found.member];
            match meaning {
                Meaning::Latitude => fits[0] |= area.is_some_and(|area| area.has_latitudes(min, max)),
                Meaning::Longitude => fits[1] |= area.is_some_and(|area| area.has_longitudes(min, max)),
                Meaning::Time(unit) => {
                    fits[2] |= periods.is_some_and(|periods| has_times(unit, periods, min, max));
                }
            }
        }
    }
    Ok(fits.into_iter().map(|fits| fits == [true; 3]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_format::units::Calendar;

    #[test]
    fn regions_wrap_around() {
        let area = |west, east| Area { west, east, south: -10.0, north: 10.0 };
        assert!(area(-30.0, 40.0).has_longitudes(0.0, 359.0));
        assert!(area(-30.0, -20.0).has_longitudes(330.0, 335.0));
        assert!(!area(-30.0, -20.0).has_longitudes(345.0, 350.0));
        assert!(area(350.0, 10.0).has_longitudes(0.0, 5.0));
        assert!(!area(350.0, 10.0).has_longitudes(20.0, 25.0));
        assert!(area(0.0, 360.0).has_longitudes(-170.0, -160.0));
        assert!(area(0.0, 1.0).has_latitudes(5.0, 50.0) && !area(0.0, 1.0).has_latitudes(11.0, 50.0));
    }

    #[test]
    fn periods_overlap() {
        let unit = TimeUnit::parse("days since 2001-01-01", Calendar::Standard).unwrap();
        let ask =
            |from: &str, to: &str| has_times(&unit, (from.parse().unwrap(), to.parse().unwrap()), 31.0, 58.0);
        assert!(ask("2001-02", "2001-02") && ask("2000", "2001") && ask("2001-02-28", "2001-03"));
        assert!(!ask("2001-01", "2001-01") && !ask("2001-03", "2002") && !ask("2001-02-30", "2002"));
    }
}

//! Axes: the values of a coordinate, the cells around them, and the positions of ticks.

use crate::Result;
use crate::dates::Dates;
use crate::field::Dim;
use crate::ticks::{Tick, numbered, round_numbers};
use crate::{attribute, units};
use nc3z_format::coordinates::{Direction, direction, is_radians, vertical};
use nc3z_format::decode_value::Decoding;
use nc3z_format::units::Unit;
use nc3z_look::coordinate::{Coordinate, unwrap};
use nc3z_look::text;
use nc3z_reader::{Dataset, Variable};

/// The direction of an axis in space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Longitude,
    Latitude,
    /// Heights, depths, pressures: upwards in a picture.
    Vertical,
    Other,
}

pub(super) struct Axis {
    /// The edges of the cells around the values, monotonic; one more than there are values.
    edges: Vec<f64>,
    pub(super) values: Vec<f64>,
    pub(super) label: String,
    /// The conversion of the numbers to dates.
    dates: Option<Dates>,
    /// True for degrees. Ticks are then at multiples of 30, 15, …
    degrees: bool,
    pub(super) role: Role,
    /// True if values are indices.
    is_index: bool,
    /// True if values grow downwards: depths, pressures.
    pub(super) downwards: bool,
    /// True for lengths on the ground, such as projected coordinates.
    pub(super) is_length: bool,
    /// True for directions that go on beyond 0 or 360 degrees: ticks are shown between 0 and 360.
    turns: bool,
}

impl Axis {
    /// Returns the axis of a dimension: its coordinate, or its indices if it has no monotonic coordinate.
    pub(super) fn new(dataset: &Dataset, dim: &Dim) -> Result<Self> {
        if let Some(coordinate) = Coordinate::new(dataset, dim.id) {
            let variable = coordinate.variable();
            let mut values = dim.read(&coordinate)?;
            // A missing date at an end of the axis is extrapolated. Other coordinates with gaps are not used
            // as an axis.
            if coordinate.time().is_some() {
                trim_missing(&mut values);
            }
            let mut units = units(variable);
            let role = role(variable);
            let (degrees, turns) = turned(variable, role, &mut units, &mut values);
            if is_monotonic(&values) {
                let dates = coordinate.time().map(|unit| Dates::new(*unit, unit.calendar()));
                let name = attribute(variable, "long_name").unwrap_or_else(|| coordinate.name());
                let label = if dates.is_some() { name } else { label(&name, units.as_deref()) };
                let mut edges = edges(&values);
                if role == Role::Latitude {
                    edges.iter_mut().for_each(|e| *e = e.clamp(-90.0, 90.0));
                }
                let downwards = role == Role::Vertical && is_downwards(variable);
                return Ok(Axis {
                    edges,
                    values,
                    label,
                    dates,
                    degrees,
                    role,
                    is_index: false,
                    downwards,
                    is_length: role == Role::Other && units.as_deref().is_some_and(is_length),
                    turns,
                });
            }
        }
        let mut values = dim.indices();
        if !is_monotonic(&values) {
            // A range that wraps around: positions in the selection.
            #[expect(clippy::cast_precision_loss, reason = "an index on an axis")]
            values.iter_mut().enumerate().for_each(|(n, v)| *v = n as f64);
        }
        let label = format!("{} (index)", dim.name);
        let edges = edges(&values);
        let (role, is_index) = (Role::Other, true);
        Ok(Axis {
            edges,
            values,
            label,
            dates: None,
            degrees: false,
            role,
            is_index,
            downwards: false,
            is_length: false,
            turns: false,
        })
    }

    /// The axis of a variable that need not be monotonic, which is enough for a line through its values.
    pub(super) fn along(dataset: &Dataset, variable: &Variable, mut values: Vec<f64>) -> Self {
        let decoding = Decoding::new(dataset.header(), variable.header());
        let (mut units, role) = (units(variable), role(variable));
        let (degrees, turns) = turned(variable, role, &mut units, &mut values);
        let dates = decoding.time().map(|unit| Dates::new(*unit, unit.calendar()));
        let name = attribute(variable, "long_name").unwrap_or_else(|| text::safe(&variable.name()));
        let label = if dates.is_some() { name } else { label(&name, units.as_deref()) };
        let edges = if is_monotonic(&values) { edges(&values) } else { around(&values) };
        let is_length = role == Role::Other && units.as_deref().is_some_and(is_length);
        let downwards = is_downwards(variable);
        Axis { edges, values, label, dates, degrees, role, is_index: false, downwards, is_length, turns }
    }

    /// Returns whether its values rise or fall steadily, as the cells of a map need it.
    pub(super) fn is_monotonic(&self) -> bool {
        self.edges.len() == self.values.len() + 1 && is_monotonic(&self.values)
    }

    /// Returns whether it has two different values.
    pub(super) fn has_extent(&self) -> bool {
        let mut finite = self.values.iter().filter(|v| v.is_finite());
        finite.next().is_some_and(|first| finite.any(|v| (v - first).abs() > 0.0))
    }

    /// An axis of degrees from `low` to `high`, divided into `cells` cells.
    pub(super) fn of_degrees(label: String, role: Role, low: f64, high: f64, cells: usize) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a picture's width")]
        let at = |n: f64| low + (high - low) * n / cells as f64;
        #[expect(clippy::cast_precision_loss, reason = "a picture's width")]
        let every = |from: f64, count: usize| (0..count).map(|n| at(n as f64 + from)).collect();
        Axis {
            edges: every(0.0, cells + 1),
            values: every(0.5, cells),
            label,
            dates: None,
            degrees: true,
            role,
            is_index: false,
            downwards: false,
            is_length: false,
            turns: false,
        }
    }

    /// The smallest and the largest value of its cells.
    pub(super) fn ends(&self) -> (f64, f64) {
        let (a, b) = (self.edges[0], self.edges[self.edges.len() - 1]);
        (a.min(b), a.max(b))
    }

    /// The length of the axis in degrees, if its unit is degrees.
    pub(super) fn degrees(&self) -> Option<f64> {
        let (low, high) = self.ends();
        self.degrees.then_some(high - low)
    }

    /// Returns the cell that contains a value.
    pub(super) fn cell(&self, value: f64) -> Option<usize> {
        let rises = self.edges[0] <= self.edges[self.edges.len() - 1];
        let before = self.edges.partition_point(|e| if rises { *e <= value } else { *e >= value });
        before.checked_sub(1).filter(|i| *i < self.values.len())
    }

    /// Returns its ticks, about `most` of them.
    pub(super) fn ticks(&self, most: usize) -> Vec<Tick> {
        let (low, high) = self.ends();
        let dates = self.dates.and_then(|dates| dates.ticks(low, high, most));
        dates.unwrap_or_else(|| {
            let mut ticks = round_numbers(low, high, most, self.degrees);
            // An index axis has no ticks between two indices.
            ticks.retain(|tick| !self.is_index || tick.fract() == 0.0);
            let mut marks = numbered(&ticks);
            if self.turns {
                let within: Vec<f64> = ticks.iter().map(|tick| tick.rem_euclid(360.0)).collect();
                marks.iter_mut().zip(numbered(&within)).for_each(|(mark, shown)| mark.words = shown.words);
            }
            marks
        })
    }
}

/// Returns the direction of a coordinate in space.
pub(super) fn role(variable: &Variable) -> Role {
    match direction(variable.header()) {
        Some(Direction::Longitude) => Role::Longitude,
        Some(Direction::Latitude) => Role::Latitude,
        None if vertical(variable.header()).is_some() => Role::Vertical,
        None => Role::Other,
    }
}

/// Converts radians on the globe to degrees, and lets angles go on beyond the end of their range. Returns whether the values are
/// degrees, and whether they are directions that go on.
fn turned(variable: &Variable, role: Role, units: &mut Option<String>, values: &mut [f64]) -> (bool, bool) {
    let is_place = matches!(role, Role::Longitude | Role::Latitude);
    if is_place && is_radians(variable.header()) {
        values.iter_mut().for_each(|v| *v = v.to_degrees());
        *units = Some("degrees".to_owned());
    }
    let is_angle = units.as_deref().is_some_and(|u| ["degree", "degrees"].contains(&u));
    let is_direction = is_angle && role == Role::Other;
    let before = is_monotonic(values);
    if role == Role::Longitude || is_direction {
        unwrap(values);
    }
    (is_angle || is_place, is_direction && !before && is_monotonic(values))
}

/// Returns whether `axis` or `positive` declare a variable as vertical.
pub(super) fn is_vertical_by_attributes(variable: &Variable) -> bool {
    attribute(variable, "axis").is_some_and(|axis| axis.eq_ignore_ascii_case("z"))
        || attribute(variable, "positive").is_some()
}

/// Returns whether a variable has the name of a depth, such as MITgcm's `prof_depth`.
pub(super) fn names_depth(variable: &Variable) -> bool {
    variable.name().to_ascii_lowercase().contains("depth")
}

fn is_length(units: &str) -> bool {
    let unit = |text: &str| Unit::parse(text).ok();
    unit(units).zip(unit("m")).is_some_and(|(units, metre)| units.to(&metre).is_some())
}

/// Returns whether a vertical coordinate grows downwards.
fn is_downwards(variable: &Variable) -> bool {
    match vertical(variable.header()) {
        Some(vertical) => vertical.downwards,
        None => names_depth(variable),
    }
}

/// Replaces missing values at the ends by extrapolation, so that the axis continues with the same step. The
/// cells there get a position that no cell with data has.
fn trim_missing(values: &mut [f64]) {
    let known: Vec<usize> = (0..values.len()).filter(|&i| values[i].is_finite()).collect();
    // Between known values, the order of the missing ones is unknown. Therefore only the ends are
    // extrapolated.
    let (Some(&first), Some(&last)) = (known.first(), known.last()) else { return };
    if known.len() != last - first + 1 {
        return;
    }
    let step = |a: usize, b: usize| if a < b { values[b] - values[a] } else { 1.0 };
    let (before, after) = (step(first, (first + 1).min(last)), step(last.saturating_sub(1).max(first), last));
    for i in (0..first).rev() {
        values[i] = values[i + 1] - before;
    }
    for i in last + 1..values.len() {
        values[i] = values[i - 1] + after;
    }
}

/// `name (units)`.
pub(super) fn label(name: &str, units: Option<&str>) -> String {
    let units = units.filter(|u| !matches!(*u, "1" | "")).map(text::safe);
    units.map_or_else(|| name.to_owned(), |units| format!("{name} ({units})"))
}

/// Returns two edges around all values.
fn around(values: &[f64]) -> Vec<f64> {
    let finite = values.iter().copied().filter(|v| v.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let room = if low < high { (high - low) * 0.02 } else { 0.5 };
    if low <= high { vec![low - room, high + room] } else { vec![-0.5, 0.5] }
}

fn is_monotonic(values: &[f64]) -> bool {
    let finite = values.iter().all(|v| v.is_finite() && v.abs() < 1e300);
    finite && (values.windows(2).all(|w| w[0] < w[1]) || values.windows(2).all(|w| w[0] > w[1]))
}

/// Returns the midpoints between neighbours, and edges at the same distance beyond the ends.
fn edges(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    if n < 2 {
        let v = values.first().copied().unwrap_or(0.0);
        return vec![v - 0.5, v + 0.5];
    }
    let mut edges = vec![values[0] - (values[1] - values[0]) / 2.0];
    edges.extend(values.windows(2).map(|w| w[0] + (w[1] - w[0]) / 2.0));
    edges.push(values[n - 1] + (values[n - 1] - values[n - 2]) / 2.0);
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[f64]) -> Axis {
        let label = String::new();
        let values = values.to_vec();
        let edges = edges(&values);
        let (role, is_index) = (Role::Other, false);
        Axis {
            edges,
            values,
            label,
            dates: None,
            degrees: false,
            role,
            is_index,
            downwards: false,
            is_length: false,
            turns: false,
        }
    }

    #[test]
    fn cells_lie_around_their_values_whichever_way_they_run() {
        for values in [[10.0, 20.0, 40.0], [40.0, 20.0, 10.0]] {
            let axis = axis(&values);
            for (i, v) in values.iter().enumerate() {
                assert_eq!(axis.cell(*v), Some(i));
            }
            assert_eq!((axis.cell(0.0), axis.cell(60.0)), (None, None));
            assert_eq!(axis.ends(), (5.0, 50.0));
        }
        assert_eq!(axis(&[7.0]).ends(), (6.5, 7.5));
    }

    #[test]
    fn missing_ends_of_a_coordinate_go_on_in_its_steps() {
        let trimmed = |values: &[f64]| {
            let mut values = values.to_vec();
            trim_missing(&mut values);
            values
        };
        assert_eq!(trimmed(&[f64::NAN, 1.0, 3.0, f64::NAN, f64::NAN]), [-1.0, 1.0, 3.0, 5.0, 7.0]);
        assert_eq!(trimmed(&[5.0, f64::NAN]), [5.0, 6.0]);
        assert!(trimmed(&[1.0, f64::NAN, 3.0])[1].is_nan());
        assert!(trimmed(&[f64::NAN])[0].is_nan());
    }
}

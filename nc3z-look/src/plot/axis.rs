//! Axes: the values of a coordinate, the cells around them, and the positions of ticks.

use super::Result;
use super::dates::Dates;
use super::field::Dim;
use super::ticks::{Tick, numbered, round_numbers};
use super::{attribute, units};
use crate::coordinate::{Coordinate, unwrap};
use crate::text;
use nc3z_format::coordinates::{Direction, direction, vertical};
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

/// One axis.
pub(super) struct Axis {
    /// The edges of the cells around the values, monotonic; one more than there are values.
    edges: Vec<f64>,
    /// The values themselves.
    pub(super) values: Vec<f64>,
    /// Name and units.
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
}

impl Axis {
    /// Returns the axis of a dimension: its coordinate, or its indices if it has no monotonic coordinate.
    pub(super) fn of(dataset: &Dataset, dim: &Dim) -> Result<Self> {
        if let Some(coordinate) = Coordinate::of(dataset, dim.id) {
            let variable = coordinate.variable();
            let mut values = dim.read(&coordinate)?;
            // A missing date at an end of the axis is extrapolated. Other coordinates with gaps are not used
            // as an axis.
            if coordinate.time().is_some() {
                trim_missing(&mut values);
            }
            let mut units = units(variable);
            let role = role(variable);
            if coordinate.is_radians() {
                values.iter_mut().for_each(|v| *v = v.to_degrees());
                units = Some("degrees".to_owned());
            }
            let is_angle = units.as_deref().is_some_and(|u| ["degree", "degrees"].contains(&u));
            let degrees = is_angle || matches!(role, Role::Longitude | Role::Latitude);
            if role == Role::Longitude || is_angle && role == Role::Other {
                unwrap(&mut values);
            }
            if is_monotonic(&values) {
                let dates = coordinate.time().map(|unit| Dates::new(*unit, unit.calendar()));
                let name = attribute(variable, "long_name").unwrap_or_else(|| dim.name.clone());
                let label = if dates.is_some() { name } else { label(&name, units.as_deref()) };
                let mut edges = edges(&values);
                if role == Role::Latitude {
                    edges.iter_mut().for_each(|e| *e = e.clamp(-90.0, 90.0));
                }
                let downwards =
                    vertical(variable.header()).is_some_and(|v| role == Role::Vertical && v.downwards);
                return Ok(Axis { edges, values, label, dates, degrees, role, is_index: false, downwards });
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
        Ok(Axis { edges, values, label, dates: None, degrees: false, role, is_index, downwards: false })
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
            numbered(&ticks)
        })
    }
}

/// Returns the direction of a coordinate in space.
fn role(variable: &Variable) -> Role {
    match direction(variable.header()) {
        Some(Direction::Longitude) => Role::Longitude,
        Some(Direction::Latitude) => Role::Latitude,
        None if vertical(variable.header()).is_some() => Role::Vertical,
        None => Role::Other,
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
        Axis { edges, values, label, dates: None, degrees: false, role, is_index, downwards: false }
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

//! Axes: the values of a coordinate, the cells around them, and where ticks stand.

use super::Result;
use super::field::Dim;
use super::{attribute, units};
use crate::selection::coordinate_variable;
use crate::text;
use nc3z_aggregate::units::{Calendar, TimeUnit};
use nc3z_format::Hyperslab;
use nc3z_reader::{Dataset, Variable};

/// Units of pressure, by which a height is told from above.
const PRESSURE: [&str; 8] = ["pa", "hpa", "mb", "mbar", "millibar", "millibars", "bar", "kpa"];

/// One axis.
pub(super) struct Axis {
    /// Edges of the cells around the values, rising or falling all the way; one more than there are values.
    edges: Vec<f64>,
    /// The values themselves.
    pub(super) values: Vec<f64>,
    /// Name and units.
    pub(super) label: String,
    /// What numbers mean as dates.
    time: Option<TimeUnit>,
    /// Degrees, along which ticks stand at multiples of 30, 15, …
    degrees: bool,
    /// Values grow downwards: depths, pressures.
    pub(super) downwards: bool,
}

impl Axis {
    /// The axis of a dimension: its coordinate, or its indices where it has none that rises or falls all the way.
    pub(super) fn of(dataset: &Dataset, dim: &Dim) -> Result<Self> {
        if let Some(variable) = coordinate_variable(dataset, dim.id) {
            let mut values = Vec::new();
            for s in &dim.segments {
                let slab = Hyperslab::new([s.start], [s.count], [s.stride])?;
                values.extend(variable.read::<f64>(&slab)?);
            }
            let units = units(&variable);
            let degrees = units.as_deref().is_some_and(|u| u.to_ascii_lowercase().starts_with("degree"));
            let latitude = units.as_deref().is_some_and(|u| u.to_ascii_lowercase().ends_with("north"));
            if degrees && !latitude {
                unwrap(&mut values);
            }
            if is_monotonic(&values) {
                let down = attribute(&variable, "positive").is_some_and(|p| p.eq_ignore_ascii_case("down"));
                let pressure =
                    units.as_deref().is_some_and(|u| PRESSURE.contains(&u.to_ascii_lowercase().as_str()));
                let time = time_of(&variable);
                let name = attribute(&variable, "long_name").unwrap_or_else(|| dim.name.clone());
                let label = if time.is_some() { name } else { label(&name, units.as_deref()) };
                let mut edges = edges(&values);
                if latitude {
                    edges.iter_mut().for_each(|e| *e = e.clamp(-90.0, 90.0));
                }
                return Ok(Axis { edges, values, label, time, degrees, downwards: down || pressure });
            }
        }
        let indices = dim.segments.iter().flat_map(|s| {
            (0..s.count).map(move |n| s.start.wrapping_add(s.stride.cast_unsigned().wrapping_mul(n)))
        });
        #[expect(clippy::cast_precision_loss, reason = "an index on an axis")]
        let mut values: Vec<f64> = indices.map(|i| i as f64).collect();
        if !is_monotonic(&values) {
            // A range that wraps around: positions in what was selected.
            #[expect(clippy::cast_precision_loss, reason = "an index on an axis")]
            values.iter_mut().enumerate().for_each(|(n, v)| *v = n as f64);
        }
        let label = format!("{} (index)", dim.name);
        Ok(Axis { edges: edges(&values), values, label, time: None, degrees: false, downwards: false })
    }

    /// So many cells from one degree to another.
    pub(super) fn of_degrees(label: String, low: f64, high: f64, cells: usize) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a picture's width")]
        let at = |n: f64| low + (high - low) * n / cells as f64;
        #[expect(clippy::cast_precision_loss, reason = "a picture's width")]
        let every = |from: f64, count: usize| (0..count).map(|n| at(n as f64 + from)).collect();
        Axis {
            edges: every(0.0, cells + 1),
            values: every(0.5, cells),
            label,
            time: None,
            degrees: true,
            downwards: false,
        }
    }

    /// The smallest and the largest value of its cells.
    pub(super) fn ends(&self) -> (f64, f64) {
        let (a, b) = (self.edges[0], self.edges[self.edges.len() - 1]);
        (a.min(b), a.max(b))
    }

    /// The length of the axis in degrees, where it is of degrees.
    pub(super) fn degrees(&self) -> Option<f64> {
        let (low, high) = self.ends();
        self.degrees.then_some(high - low)
    }

    /// The cell that a value lies in.
    pub(super) fn cell(&self, value: f64) -> Option<usize> {
        let rises = self.edges[0] <= self.edges[self.edges.len() - 1];
        let before = self.edges.partition_point(|e| if rises { *e <= value } else { *e >= value });
        before.checked_sub(1).filter(|i| *i < self.values.len())
    }

    /// Where ticks stand, at most so many, and what they say.
    pub(super) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let (low, high) = self.ends();
        let ticks = ticks(low, high, most, self.degrees);
        match self.time {
            Some(time) => ticks.into_iter().map(|v| (v, date(&time.show(v)))).collect(),
            None => numbered(&ticks),
        }
    }
}

/// A date without the seconds that say nothing.
fn date(shown: &str) -> String {
    shown.strip_suffix(":00").unwrap_or(shown).to_owned()
}

/// How a time coordinate's numbers are told, if it is one.
pub(super) fn time_of(variable: &Variable) -> Option<TimeUnit> {
    let units = units(variable).filter(|u| TimeUnit::is_time(u))?;
    let calendar = Calendar::of(attribute(variable, "calendar").as_deref())?;
    TimeUnit::parse(&units, calendar).ok()
}

/// `name (units)`.
pub(super) fn label(name: &str, units: Option<&str>) -> String {
    let units = units.filter(|u| !matches!(*u, "1" | "")).map(text::safe);
    units.map_or_else(|| name.to_owned(), |units| format!("{name} ({units})"))
}

/// A number in few digits.
pub(super) fn number(v: f64) -> String {
    let plain = format!("{v}");
    if plain.len() <= 8 { plain } else { format!("{v:.5e}") }
}

/// Longitudes that begin anew: 350, 355, 0, 5 are −10, −5, 0, 5, and 170, −170 are 170, 190.
fn unwrap(values: &mut [f64]) {
    let jumps: Vec<usize> = (1..values.len()).filter(|&i| values[i] < values[i - 1]).collect();
    if let [jump] = jumps[..]
        && values[jump] + 360.0 > values[jump - 1]
        && values.len() > 2
    {
        if values[jump] >= 0.0 {
            values[..jump].iter_mut().for_each(|v| *v -= 360.0);
        } else {
            values[jump..].iter_mut().for_each(|v| *v += 360.0);
        }
    }
}

fn is_monotonic(values: &[f64]) -> bool {
    let finite = values.iter().all(|v| v.is_finite() && v.abs() < 1e300);
    finite && (values.windows(2).all(|w| w[0] < w[1]) || values.windows(2).all(|w| w[0] > w[1]))
}

/// Half-way between neighbours, and as far beyond the ends.
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

/// Round numbers from `low` to `high`, at most so many and at least two where there is room.
pub(super) fn ticks(low: f64, high: f64, most: usize, degrees: bool) -> Vec<f64> {
    let span = high - low;
    if span.is_nan() || span <= 0.0 || !span.is_finite() {
        return vec![low];
    }
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let least = span / most.max(2) as f64;
    let magnitude = 10_f64.powf(least.log10().floor());
    let mut steps: Vec<f64> = [1.0, 2.0, 5.0, 10.0].iter().map(|s| s * magnitude).collect();
    if degrees && least > 2.0 {
        steps = vec![5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 180.0];
    }
    let step = steps.into_iter().find(|s| *s >= least).unwrap_or(least);
    let first = (low / step).ceil();
    let mut out = Vec::new();
    for n in 0..=most * 2 {
        #[expect(clippy::cast_precision_loss, reason = "a handful")]
        let tick = (first + n as f64) * step;
        if tick > high + span * 1e-9 {
            break;
        }
        out.push(if tick.abs() < step * 1e-9 { 0.0 } else { tick });
    }
    out
}

/// Ticks with their numbers, all with as many decimals as the step between them asks for.
pub(super) fn numbered(ticks: &[f64]) -> Vec<(f64, String)> {
    let largest = ticks.iter().fold(0.0_f64, |m, t| m.max(t.abs()));
    let step = ticks.windows(2).map(|w| (w[1] - w[0]).abs()).fold(f64::INFINITY, f64::min);
    let step = if step.is_finite() { step } else { largest };
    let small = step > 0.0 && (step < 1e-4 || largest >= 1e6);
    let decimals = (0..9).find(|&d| {
        let scaled = step * 10_f64.powi(d);
        (scaled - scaled.round()).abs() < 1e-6 * scaled.max(1e-300)
    });
    let decimals = usize::try_from(decimals.unwrap_or(3)).unwrap_or(3);
    let show = |v: f64| if small { exponent(v) } else { format!("{v:.decimals$}") };
    ticks.iter().map(|&v| (v, show(v).replace('-', "\u{2212}"))).collect()
}

/// `1.5e33`, `2e-9`.
fn exponent(v: f64) -> String {
    let all = format!("{v:.3e}");
    match all.split_once('e') {
        Some((digits, exponent)) if digits.contains('.') => {
            format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[f64]) -> Axis {
        let label = String::new();
        let values = values.to_vec();
        Axis { edges: edges(&values), values, label, time: None, degrees: false, downwards: false }
    }

    #[test]
    fn ticks_are_round_numbers_within() {
        assert_eq!(ticks(0.0, 10.0, 5, false), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(-90.0, 90.0, 6, true), [-90.0, -60.0, -30.0, 0.0, 30.0, 60.0, 90.0]);
        assert_eq!(ticks(20.0, 380.0, 8, true), [45.0, 90.0, 135.0, 180.0, 225.0, 270.0, 315.0, 360.0]);
        assert_eq!(ticks(3.0, 3.0, 5, false), [3.0]);
        for (low, high) in [(0.1, 0.7), (-1e-9, 1e-9), (1e20, 3e20), (271.3, 303.9)] {
            let t = ticks(low, high, 6, false);
            assert!((2..=13).contains(&t.len()), "{low} {high}: {t:?}");
            assert!(t.iter().all(|v| *v >= low && *v <= high + (high - low) * 1e-6), "{t:?}");
        }
    }

    #[test]
    fn numbers_have_the_decimals_that_their_step_asks_for() {
        let words = |t: &[f64]| numbered(t).into_iter().map(|(_, w)| w).collect::<Vec<_>>();
        assert_eq!(words(&[0.0, 0.5, 1.0]), ["0.0", "0.5", "1.0"]);
        assert_eq!(words(&[1e-7, 1.5e-7]), ["1e\u{2212}7", "1.5e\u{2212}7"]);
        assert_eq!(words(&[-20.0, 0.0, 20.0]), ["\u{2212}20", "0", "20"]);
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
    fn longitudes_go_on_behind_the_meridian() {
        let mut values = vec![350.0, 355.0, 0.0, 5.0];
        unwrap(&mut values);
        assert_eq!(values, [-10.0, -5.0, 0.0, 5.0]);
        let mut dateline = vec![160.0, 170.0, -170.0];
        unwrap(&mut dateline);
        assert_eq!(dateline, [160.0, 170.0, 190.0]);
        let mut falling = vec![3.0, 2.0, 1.0];
        unwrap(&mut falling);
        assert_eq!(falling, [3.0, 2.0, 1.0]);
    }
}

//! Values of a coordinate variable, and the indices they stand at.

use crate::output::text;
use anyhow::{Context, Result, anyhow, bail};
use nc3z_format::NcType;
use nc3z_format::classic::DimId;
use nc3z_look::selection::coordinate_variable;
use nc3z_reader::Dataset;

/// Where a range of values lies.
#[derive(Debug, PartialEq)]
pub(super) enum Place {
    /// From the first index to the last; wrapping where the last comes before the first.
    Range(u64, u64),
    /// Nowhere, and why.
    Nothing(String),
}

/// The values of a dimension's coordinate variable, which rise or fall all the way.
#[derive(Debug)]
pub(super) struct Coordinate {
    name: String,
    values: Vec<f64>,
    /// True where the values are floats: what is asked for is then rounded to one, as the values were.
    is_float: bool,
}

impl Coordinate {
    pub(super) fn of(dataset: &Dataset, dim: DimId) -> Result<Self> {
        let name = dataset.dimensions().get(dim.index()).map(|d| text::name(&d.name)).unwrap_or_default();
        let variable = coordinate_variable(dataset, dim).ok_or_else(|| {
            anyhow!(
                "dimension `{name}` has no coordinate variable (one-dimensional, numeric, of the same name), \
                 so only indices can be given, without a decimal point"
            )
        })?;
        let values = variable
            .read::<f64>(&variable.all())
            .with_context(|| format!("read the coordinate variable of dimension `{name}`"))?;
        Self::new(name, values, variable.ty() == NcType::Float)
    }

    fn new(name: String, values: Vec<f64>, is_float: bool) -> Result<Self> {
        let rises = values.windows(2).all(|w| w[0] < w[1]);
        let falls = values.windows(2).all(|w| w[0] > w[1]);
        if values.is_empty() || values.iter().any(|v| !v.is_finite()) || !(rises || falls) {
            bail!(
                "the coordinate variable of dimension `{name}` neither rises nor falls all the way, so its values \
                 name no range; give indices, without a decimal point"
            );
        }
        Ok(Coordinate { name, values, is_float })
    }

    fn ends(&self) -> (f64, f64) {
        (self.values[0], self.values[self.values.len() - 1])
    }

    fn rises(&self) -> bool {
        let (first, last) = self.ends();
        first <= last
    }

    /// A value as precise as those it is compared with.
    fn rounded(&self, value: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, reason = "rounding is what it is for")]
        if self.is_float { f64::from(value as f32) } else { value }
    }

    /// The index of the value nearest to one that lies within the coordinate's range, half a step beyond its ends
    /// included.
    pub(super) fn nearest(&self, value: f64) -> Result<u64> {
        let value = self.rounded(value);
        let distance = |i: usize| (self.values[i] - value).abs();
        let nearest = (0..self.values.len()).min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        let at = nearest.expect("a coordinate has values");
        let neighbour = if at == 0 { 1 } else { at - 1 };
        let step = self.values.get(neighbour).map_or(0.0, |v| (v - self.values[at]).abs());
        let (first, last) = self.ends();
        let inside = (first.min(last)..=first.max(last)).contains(&value);
        if inside || distance(at) <= step / 2.0 {
            return Ok(at as u64);
        }
        bail!("dimension `{}` goes from {first:?} to {last:?}, asked for {value:?}", self.name)
    }

    /// The indices of the values from `low` to `high`, both included; where `low` is greater the range wraps around
    /// the dimension's end, as longitudes do.
    pub(super) fn between(&self, low: Option<f64>, high: Option<f64>) -> Result<Place> {
        let (low, high) = (low.map(|v| self.rounded(v)), high.map(|v| self.rounded(v)));
        let wraps = matches!((low, high), (Some(low), Some(high)) if low > high);
        let above = |v: f64| low.is_none_or(|low| low <= v);
        let below = |v: f64| high.is_none_or(|high| v <= high);
        let (first, last) = self.ends();
        let asked = match (low, high) {
            (Some(low), Some(high)) => format!("{low:?} to {high:?}"),
            (Some(low), None) => format!("{low:?} and more"),
            (None, Some(high)) => format!("{high:?} and less"),
            (None, None) => String::new(),
        };
        let nothing =
            || Place::Nothing(format!("no value lies in {asked}; they go from {first:?} to {last:?}"));
        let position = |wanted: &dyn Fn(f64) -> bool| self.values.iter().position(|v| wanted(*v));
        let last_of = |wanted: &dyn Fn(f64) -> bool| self.values.iter().rposition(|v| wanted(*v));
        if wraps {
            if !self.rises() {
                bail!(
                    "dimension `{}`: {asked} wraps around, which is understood only where values rise; these fall \
                     from {first:?} to {last:?} (the smaller value comes first)",
                    self.name
                );
            }
            return Ok(match (position(&above), last_of(&below)) {
                (Some(first), Some(last)) => Place::Range(first as u64, last as u64),
                (Some(first), None) => Place::Range(first as u64, self.values.len() as u64 - 1),
                (None, Some(last)) => Place::Range(0, last as u64),
                (None, None) => nothing(),
            });
        }
        let inside = |v: f64| above(v) && below(v);
        Ok(match (position(&inside), last_of(&inside)) {
            (Some(first), Some(last)) => Place::Range(first as u64, last as u64),
            _ => nothing(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coordinate(values: &[f64]) -> Coordinate {
        Coordinate::new("lon".into(), values.to_vec(), false).unwrap()
    }

    #[test]
    fn values_between_two_both_included() {
        let lon = coordinate(&[0.0, 90.0, 180.0, 270.0]);
        let between = |low, high| lon.between(low, high).unwrap();
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
        assert_eq!(lat.between(Some(-1.0), Some(50.0)).unwrap(), Place::Range(1, 2));
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
        let x = Coordinate::new("x".into(), vec![tenth, 0.5], true).unwrap();
        assert_eq!(x.between(Some(0.0), Some(0.1)).unwrap(), Place::Range(0, 0));
    }

    #[test]
    fn values_without_order_name_no_range() {
        for values in [&[1.0, 1.0][..], &[1.0, f64::NAN], &[], &[0.0, 2.0, 1.0]] {
            assert!(Coordinate::new("x".into(), values.to_vec(), false).is_err());
        }
    }
}

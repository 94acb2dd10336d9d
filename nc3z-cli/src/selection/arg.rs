//! `-d NAME[,FIRST][,LAST][,STEP]` as it is typed: NCO's rule for what is an index and what a coordinate value.

use crate::names::{split_once, unescape};
use std::str::FromStr;

/// One end of a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bound {
    /// An index; negative ones count from the end, -1 being the last.
    Index(i64),
    /// A value of the coordinate variable.
    Value(f64),
}

/// What is wanted of one dimension.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DimArg {
    /// Name of the dimension.
    pub(crate) name: String,
    /// What of it.
    pub(crate) range: RangeArg,
    /// Every so manyth index; negative: backwards.
    pub(crate) step: i64,
}

/// The part of a dimension before its step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RangeArg {
    /// One index, or the nearest value.
    At(Bound),
    /// From one end to the other, both included; a missing one is the dimension's own.
    Between(Option<Bound>, Option<Bound>),
}

impl FromStr for DimArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("{why}; expected NAME,FIRST[,LAST[,STEP]]");
        let (name, rest) = split_once(text, ',').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let name = unescape(name);
        let rest: Vec<&str> = rest.map(|rest| rest.split(',').collect()).unwrap_or_default();
        if name.is_empty() {
            return Err(wrong("no dimension is named"));
        }
        let bound = |part: &str| if part.is_empty() { Ok(None) } else { part.parse().map(Some) };
        let (range, step) = match rest[..] {
            [] => return Err(wrong("no range is given")),
            [at] => {
                let at: Option<Bound> = bound(at)?;
                (RangeArg::At(at.ok_or_else(|| wrong("no range is given"))?), "")
            }
            [first, last] => (RangeArg::Between(bound(first)?, bound(last)?), ""),
            [first, last, step] => (RangeArg::Between(bound(first)?, bound(last)?), step),
            _ => return Err(wrong("too many commas")),
        };
        let ends = match range {
            RangeArg::Between(Some(first), Some(last)) => Some((first, last)),
            _ => None,
        };
        if let Some((Bound::Index(_), Bound::Value(_)) | (Bound::Value(_), Bound::Index(_))) = ends {
            return Err(format!(
                "`{text}` mixes an index and a coordinate value: numbers with a decimal point are values"
            ));
        }
        let step = if step.is_empty() {
            1
        } else {
            step.parse().ok().filter(|s| *s != 0).ok_or_else(|| format!("`{step}` is no step"))?
        };
        Ok(DimArg { name, range, step })
    }
}

impl FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(index) = text.parse() {
            return Ok(Bound::Index(index));
        }
        // With a point or an exponent, so that no long integer is taken for a value.
        let is_value = text.contains(['.', 'e', 'E']);
        let value = text.parse::<f64>().ok().filter(|v| is_value && v.is_finite());
        value.map(Bound::Value).ok_or_else(|| {
            format!("`{text}` is neither an index such as 3 nor a coordinate value such as 3.0")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> DimArg {
        text.parse().unwrap()
    }

    #[test]
    fn integers_are_indices_and_points_make_values() {
        let at = |range, step| DimArg { name: "x".into(), range, step };
        let (i, v) = (Bound::Index, Bound::Value);
        assert_eq!(parse("x,3"), at(RangeArg::At(i(3)), 1));
        assert_eq!(parse("x,-1"), at(RangeArg::At(i(-1)), 1));
        assert_eq!(parse("x,3."), at(RangeArg::At(v(3.0)), 1));
        assert_eq!(parse("x,1e3"), at(RangeArg::At(v(1000.0)), 1));
        assert_eq!(parse("x,0,11,2"), at(RangeArg::Between(Some(i(0)), Some(i(11))), 2));
        assert_eq!(parse("x,,10.5"), at(RangeArg::Between(None, Some(v(10.5))), 1));
        assert_eq!(parse("x,,,-2"), at(RangeArg::Between(None, None), -2));
        assert_eq!(parse(r"lat\,lon,1").name, "lat,lon");
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for (text, words) in [
            ("x", "no range"),
            ("x,", "no range"),
            (",3", "no dimension"),
            ("x,1,2,3,4", "too many commas"),
            ("x,1,2.0", "mixes"),
            ("x,1,2,0", "no step"),
            ("x,one", "neither"),
            ("x,inf", "neither"),
            ("x,99999999999999999999", "neither"),
        ] {
            let error = text.parse::<DimArg>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}

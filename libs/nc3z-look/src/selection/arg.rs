//! Parses `-d NAME[,FIRST][,LAST][,STEP]`, by NCO's rule for indices, coordinate values and dates; and `--box
//! W,E,S,N`.

use nc3z_format::names::{split_once, unescape};
use nc3z_format::units::Period;
use std::str::FromStr;

/// One end of a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// An index; negative ones count from the end, -1 being the last.
    Index(i64),
    /// A value of the coordinate variable.
    Value(f64),
    /// A date, with the precision that is typed.
    Date(Period),
}

/// The requested part of one dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct DimArg {
    /// Name of the dimension.
    pub name: String,
    /// The range of indices, values or dates.
    pub range: RangeArg,
    /// The distance from one index to the next. Negative: backwards.
    pub step: i64,
}

/// The part of a dimension before its step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RangeArg {
    /// One index, or the nearest value.
    At(Bound),
    /// From one end to the other, both included. A missing one is the dimension's own.
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
        let kind = |bound: &Bound| std::mem::discriminant(bound);
        if let Some((first, last)) = ends.filter(|(first, last)| kind(first) != kind(last)) {
            return Err(format!(
                "`{text}` mixes {} and {}: numbers with a decimal point are values, those without are indices",
                first.kind(),
                last.kind()
            ));
        }
        let step = if step.is_empty() {
            1
        } else {
            step.parse().ok().filter(|s| *s != 0).ok_or_else(|| format!("`{step}` is not a valid step"))?
        };
        Ok(DimArg { name, range, step })
    }
}

impl Bound {
    fn kind(&self) -> &'static str {
        match self {
            Bound::Index(_) => "an index",
            Bound::Value(_) => "a coordinate value",
            Bound::Date(_) => "a date",
        }
    }
}

impl FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(index) = text.parse() {
            return Ok(Bound::Index(index));
        }
        // A value has a point or an exponent, so that no long integer is taken for a value.
        let is_value = text.contains(['.', 'e', 'E']);
        if let Some(value) = text.parse::<f64>().ok().filter(|v| is_value && v.is_finite()) {
            return Ok(Bound::Value(value));
        }
        // A date has a dash after its year, so that no number is taken for a date.
        let is_date = text.trim_start_matches('-').contains('-');
        let date = text.parse().ok().filter(|_| is_date);
        date.map(Bound::Date).ok_or_else(|| {
            format!(
                "`{text}` is neither an index such as 3 nor a coordinate value such as 3.0 nor a date such as 2000-01 or \
                 2000-01-02T06:00 (a comma in the name of a dimension has a backslash before it)"
            )
        })
    }
}

/// A region: `W,E,S,N` in degrees. The west may be greater than the east: the region then crosses the
/// meridian where longitudes wrap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoxArg {
    /// The western end of the region.
    pub west: f64,
    /// The eastern end of the region.
    pub east: f64,
    /// The southern end of the region.
    pub south: f64,
    /// The northern end of the region.
    pub north: f64,
}

impl FromStr for BoxArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            format!("invalid region `{text}`: {why}; expected W,E,S,N in degrees, such as -30,30,40,60")
        };
        let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse::<f64>()).collect();
        let Ok([west, east, south, north]) = numbers.as_deref() else {
            return Err(wrong("it is not four numbers"));
        };
        let (west, east, south, north) = (*west, *east, *south, *north);
        let all = [west, east, south, north];
        if all.iter().any(|x| !x.is_finite() || x.abs() > 1e4) {
            return Err(wrong("a number is too large"));
        }
        if south > north {
            return Err(wrong("the southern edge is north of the northern edge"));
        }
        if !(-90.0..=90.0).contains(&south) || !(-90.0..=90.0).contains(&north) {
            return Err(wrong("latitudes go from -90 to 90"));
        }
        Ok(BoxArg { west, east, south, north })
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
    fn dates_are_told_by_their_dash() {
        let date = |text: &str| Bound::Date(text.parse().unwrap());
        for text in
            ["2000-01", "2000-01-02", "2000-1-2T06", "2000-01-02 06:00", "2000-01-02_06:00:00", "-0044-03-15"]
        {
            assert_eq!(parse(&format!("t,{text}")).range, RangeArg::At(date(text)), "{text}");
        }
        let range = RangeArg::Between(Some(date("2000-01")), Some(date("2000-12")));
        assert_eq!(parse("t,2000-01,2000-12"), DimArg { name: "t".into(), range, step: 1 });
        assert_eq!(parse("t,-3").range, RangeArg::At(Bound::Index(-3)));
        assert_eq!(parse("t,1e-3").range, RangeArg::At(Bound::Value(0.001)));
    }

    #[test]
    fn regions_are_four_numbers() {
        let region = BoxArg { west: -30.0, east: 30.5, south: 40.0, north: 60.0 };
        assert_eq!("-30, 30.5,40,60".parse(), Ok(region));
        assert!("350,10,-90,90".parse::<BoxArg>().is_ok());
        for text in [
            "",
            "1,2,3",
            "1,2,3,4,5",
            "1,2,x,4",
            "0,1,50,40",
            "0,1,-91,0",
            "0,nan,0,1",
            "inf,1,0,1",
            "0,1e9,0,1",
        ] {
            assert!(text.parse::<BoxArg>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for (text, words) in [
            ("x", "no range"),
            ("x,", "no range"),
            (",3", "no dimension"),
            ("x,1,2,3,4", "too many commas"),
            ("x,1,2.0", "mixes an index and a coordinate value"),
            ("x,1.0,2000-01", "mixes a coordinate value and a date"),
            ("x,2000-01-32T", "neither"),
            ("x,1,2,0", "`0` is not a valid step"),
            ("x,one", "neither"),
            ("x,inf", "neither"),
            ("x,99999999999999999999", "neither"),
        ] {
            let error = text.parse::<DimArg>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}

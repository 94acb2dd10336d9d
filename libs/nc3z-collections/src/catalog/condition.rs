//! Conditions on values, such as `tas > 310`: which files and tiles may have such values.

use super::member::Exactly;
use super::read::Tiles;
use std::fmt;
use std::str::FromStr;

/// Four units in the last place of a 32-bit float: the roundings of a value that is unpacked, and of a threshold, in 32 bits.
const ROUNDING: f64 = 4.0 / 8_388_608.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compare {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
}

/// `tas > 310`: whether a file may have such values.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    variable: String,
    compare: Compare,
    value: Exactly,
}

impl Condition {
    /// The name of the variable.
    pub fn variable(&self) -> &str {
        &self.variable
    }

    /// Returns whether tiles with this least and this largest value have such values, or for `==` may have.
    fn is_met(&self, min: Exactly, max: Exactly) -> bool {
        match self.compare {
            Compare::Less => min < self.value,
            Compare::AtMost => min <= self.value,
            Compare::More => max > self.value,
            Compare::AtLeast => max >= self.value,
            Compare::Equal => min <= self.value && self.value <= max,
        }
    }

    /// Returns whether a value is such a value. NaN never is.
    pub fn holds(&self, value: Exactly) -> bool {
        self.is_met(value, value)
    }

    /// Returns whether a tile may have such values, by its count of valid and infinite values and its ends as doubles. The ends
    /// exclude the number only by more than roundings in 32 bits change.
    pub fn may_hold(&self, count: f64, infinite: f64, low: f64, high: f64) -> bool {
        let value = self.value.nearest;
        let margin = ROUNDING * (low.abs().max(high.abs()) + value.abs());
        let (below, above) = (low - margin <= value, high + margin >= value);
        let may = match self.compare {
            Compare::Less | Compare::AtMost => below,
            Compare::More | Compare::AtLeast => above,
            Compare::Equal => below && above,
        };
        count > 0.0 && may || infinite > 0.0
    }

    /// The rows of these tiles that have such values, or for `==` may have.
    pub fn rows(&self, tiles: &Tiles, rows: std::ops::Range<usize>) -> impl Iterator<Item = usize> {
        rows.filter(|row| tiles.ends(*row).is_some_and(|(min, max)| self.is_met(min, max)))
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is not a condition; one is VARIABLE, then <, <=, >, >= or ==, then a number")
        };
        let at = text.find(['<', '>', '=']).ok_or_else(wrong)?;
        let (variable, rest) = (text[..at].trim(), &text[at..]);
        let signs = [
            ("<=", Compare::AtMost),
            (">=", Compare::AtLeast),
            ("==", Compare::Equal),
            ("<", Compare::Less),
            (">", Compare::More),
        ];
        let found = signs.iter().find_map(|(sign, compare)| Some((*compare, rest.strip_prefix(sign)?)));
        let (compare, value) = found.ok_or_else(wrong)?;
        // Integers of 64 bits keep all their digits.
        let whole = value.trim().parse::<i128>().ok().filter(|n| n.unsigned_abs() <= u64::MAX.into());
        let value = match whole {
            Some(n) => Exactly::from(n),
            None => Exactly::from(value.trim().parse::<f64>().map_err(|_| wrong())?),
        };
        if variable.is_empty() || value.nearest.is_nan() {
            return Err(wrong());
        }
        Ok(Condition { variable: variable.to_owned(), compare, value })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.compare {
            Compare::Less => "<",
            Compare::AtMost => "<=",
            Compare::More => ">",
            Compare::AtLeast => ">=",
            Compare::Equal => "==",
        };
        write!(f, "{} {sign} {}", self.variable, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiles(rows: &[(u64, u64, Exactly, Exactly)]) -> Tiles {
        Tiles {
            counts: rows.iter().map(|r| r.0).collect(),
            infinite: rows.iter().map(|r| r.1).collect(),
            min: rows.iter().map(|r| r.2).collect(),
            max: rows.iter().map(|r| r.3).collect(),
            ..Tiles::default()
        }
    }

    fn long(n: i128) -> Exactly {
        n.into()
    }

    #[test]
    fn infinities_and_long_integers_are_compared_exactly() {
        let inf = f64::INFINITY;
        let odd = 9_007_199_254_740_993;
        let tiles = tiles(&[
            (0, 1, inf.into(), inf.into()),
            (3, 2, (-inf).into(), inf.into()),
            (1, 0, long(odd), long(odd)),
            (4, 0, (-1e308).into(), 1e308.into()),
            (1, 0, long(u64::MAX.into()), long(u64::MAX.into())),
        ]);
        let ask = |text: &str| text.parse::<Condition>().unwrap().rows(&tiles, 0..5).collect::<Vec<_>>();
        assert_eq!(ask("v > 1.5e308"), [0, 1]);
        assert_eq!(ask("v < -1e307"), [1, 3]);
        assert_eq!(ask("v == inf"), [0, 1]);
        assert_eq!(ask("v > 9007199254740992"), [0, 1, 2, 3, 4]);
        assert_eq!(ask("v < 9007199254740993"), [1, 3]);
        assert_eq!(ask("v <= 9007199254740993"), [1, 2, 3]);
        assert_eq!(ask("v >= 18446744073709551615"), [0, 1, 3, 4]);
        assert_eq!(ask("v == 9007199254740992"), [1, 3]);
        assert_eq!("v>9007199254740993".parse::<Condition>().unwrap().to_string(), "v > 9007199254740993");
        assert_eq!("v>1e300".parse::<Condition>().unwrap().to_string(), "v > 1e300");
    }

    #[test]
    fn conditions_choose_tiles() {
        let row = |count, min: f64, max: f64| (count, 0, min.into(), max.into());
        let tiles = tiles(&[row(2, 1.0, 2.0), row(2, 3.0, 311.5), row(0, 0.0, 0.0)]);
        let ask = |text: &str| text.parse::<Condition>().unwrap().rows(&tiles, 0..3).collect::<Vec<_>>();
        assert_eq!(ask("tas > 310"), [1]);
        assert_eq!(ask("tas<=1"), [0]);
        assert_eq!(ask("tas < 1"), [] as [usize; 0]);
        assert_eq!(ask("tas == 2"), [0]);
        assert_eq!(ask("tas >= 2"), [0, 1]);
        for text in ["tas", "tas ! 3", "> 3", "tas > x", "tas > nan", "tas = 3"] {
            assert!(text.parse::<Condition>().is_err(), "{text}");
        }
        assert_eq!("tas>=2.5".parse::<Condition>().unwrap().to_string(), "tas >= 2.5");
    }
}

//! What a catalogue is asked: statistics of variables, and which files have values of a kind.

use super::member::{Exactly, Tile};
use super::read::Tiles;
use nc3z_format::double_double::DoubleDouble;
use std::fmt;
use std::str::FromStr;

/// The largest error of a step of a sum, as a share of the absolute values of all summands: `2^-104`.
const STEP_ERROR: f64 = f64::EPSILON * f64::EPSILON;

/// Statistics of values of some tiles.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Files that have the variable.
    pub files: u64,
    /// Valid, finite values.
    pub count: u64,
    /// Infinite values. Mean and deviation are those of the others.
    pub infinite: u64,
    /// The least value, which may be infinite.
    pub min: Option<Exactly>,
    /// The largest value that matches.
    pub max: Option<Exactly>,
    sum: DoubleDouble,
    squares: DoubleDouble,
}

impl Summary {
    /// Adds the tiles of a variable of one file.
    pub fn add(&mut self, tiles: impl IntoIterator<Item = Tile>) {
        self.files += 1;
        for tile in tiles {
            self.add_tile(&tile);
        }
    }

    /// Adds the statistics of other files.
    pub fn add_all(&mut self, other: &Summary) {
        let least =
            |a: Option<Exactly>, b: Option<Exactly>| a.zip(b).map_or(a.or(b), |(a, b)| Some(a.min(b)));
        let most = |a: Option<Exactly>, b: Option<Exactly>| a.zip(b).map_or(a.or(b), |(a, b)| Some(a.max(b)));
        self.files += other.files;
        self.count = self.count.saturating_add(other.count);
        self.infinite = self.infinite.saturating_add(other.infinite);
        (self.min, self.max) = (least(self.min, other.min), most(self.max, other.max));
        self.sum = self.sum.plus(other.sum);
        self.squares = self.squares.plus(other.squares);
    }

    fn add_tile(&mut self, tile: &Tile) {
        if tile.count == 0 && tile.infinite == 0 {
            return;
        }
        self.infinite = self.infinite.saturating_add(tile.infinite);
        self.count = self.count.saturating_add(tile.count);
        self.min = Some(self.min.map_or(tile.min, |min| min.min(tile.min)));
        self.max = Some(self.max.map_or(tile.max, |max| max.max(tile.max)));
        self.sum = self.sum.plus(tile.sum);
        self.squares = self.squares.plus(tile.squares);
    }

    /// Returns the mean, and its largest distance from the mean of the exact sum of all values. None where the sum is
    /// beyond the largest double.
    pub fn mean(&self) -> Option<(f64, f64)> {
        let count = self.values()?;
        let mean = self.sum.0 / count;
        // The absolute values sum up to at most sqrt(count * squares) (Cauchy-Schwarz), and to count times the largest one.
        let largest =
            self.min.zip(self.max).map_or(0.0, |(min, max)| min.nearest.abs().max(max.nearest.abs()));
        let lost = count * STEP_ERROR * (count * self.squares.0).sqrt().min(count * largest);
        // Two roundings of at most half a unit, the sum's and the division's, and the steps of the sum: at most two for a value.
        let bound = mean.abs() * 1.25 * f64::EPSILON + 2.0 * lost / count + f64::MIN_POSITIVE;
        mean.is_finite().then_some((mean, bound))
    }

    /// Returns the standard deviation of the values; of the whole, not of a sample.
    pub fn deviation(&self) -> Option<f64> {
        let count = self.values()?;
        let mean = self.sum.over(count.into());
        // sum(x^2) - mean * sum(x), both with twice the digits of a double, since the difference cancels most of them.
        let variance = self.squares.plus(self.sum.times(DoubleDouble(-mean.0, -mean.1))).0;
        variance.is_finite().then(|| (variance.max(0.0) / count).sqrt())
    }

    /// Returns the number of finite values, if there are any.
    fn values(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "files have fewer than 2^53 values")]
        (self.count > 0).then_some(self.count as f64)
    }
}

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

    fn tile(values: &[f64]) -> Tile {
        let total = |of: fn(DoubleDouble) -> DoubleDouble| {
            values.iter().fold(DoubleDouble::default(), |sum, x| sum.plus(of((*x).into())))
        };
        Tile {
            count: values.len() as u64,
            infinite: 0,
            min: values.iter().copied().fold(f64::INFINITY, f64::min).into(),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max).into(),
            sum: total(|x| x),
            squares: total(|x| x.times(x)),
        }
    }

    #[test]
    fn statistics_are_those_of_all_values() {
        let mut s = Summary::default();
        s.add([tile(&[1.0, 2.0, 3.0]), tile(&[10.0]), Tile::default()]);
        assert_eq!((s.files, s.count, s.min, s.max), (1, 4, Some(1.0.into()), Some(10.0.into())));
        let (mean, bound) = s.mean().unwrap();
        assert!((mean - 4.0).abs() <= bound && bound < 1e-14);
        assert!((s.deviation().unwrap() - 12.5_f64.sqrt()).abs() < 1e-14);
        assert!(Summary::default().mean().is_none());
        let mut parts = Summary::default();
        for tiles in [vec![tile(&[1.0, 2.0, 3.0])], vec![], vec![tile(&[10.0])]] {
            let mut part = Summary::default();
            part.add(tiles);
            parts.add_all(&part);
        }
        assert_eq!((parts.count, parts.min, parts.max, parts.mean()), (s.count, s.min, s.max, s.mean()));
        // Far from 0, where the difference of the sums cancels; the second mean is not a double.
        for (values, variance) in
            [([1e9, 1e9 + 1.0, 1e9 + 2.0], 2.0 / 3.0_f64), ([1e9, 1e9, 1e9 + 1.0], 2.0 / 9.0)]
        {
            let mut far = Summary::default();
            far.add([tile(&values)]);
            assert!((far.deviation().unwrap() - variance.sqrt()).abs() < 1e-9, "{:?}", far.deviation());
        }
        let mut long = Summary::default();
        long.add([tile(&[1e308, 1e308]), tile(&[-1e308])]);
        assert_eq!((long.mean(), long.deviation()), (None, None));
    }

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

//! Statistics of variables, from those of their tiles.

use super::member::{Exactly, Tile};
use nc3z_format::double_double::DoubleDouble;

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
}

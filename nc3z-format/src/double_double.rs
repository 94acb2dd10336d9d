//! Double-double arithmetic: a number as the sum of two doubles, which has some 106 significant bits.

/// A number as the sum of two doubles, the second at most half a unit in the last place of the first. A result
/// beyond the largest double is infinite and has the second number 0.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DoubleDouble(pub f64, pub f64);

impl From<f64> for DoubleDouble {
    fn from(x: f64) -> Self {
        DoubleDouble(x, 0.0)
    }
}

impl DoubleDouble {
    /// Returns the exact sum of two doubles.
    #[must_use]
    pub fn sum(a: f64, b: f64) -> Self {
        let sum = a + b;
        if !sum.is_finite() {
            return DoubleDouble(sum, 0.0);
        }
        let of_b = sum - a;
        DoubleDouble(sum, (a - (sum - of_b)) + (b - of_b))
    }

    /// Returns the sum. Its error is at most `2^-104` times the sum of both absolute values.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let high = Self::sum(self.0, other.0);
        Self::sum(high.0, high.1 + (self.1 + other.1))
    }

    /// Returns the product.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        let product = self.0 * other.0;
        if !product.is_finite() {
            return DoubleDouble(product, 0.0);
        }
        let rest = self.0.mul_add(other.0, -product) + (self.0 * other.1 + self.1 * other.0);
        Self::sum(product, rest)
    }

    /// Returns the quotient.
    #[must_use]
    pub fn over(self, other: Self) -> Self {
        let first = self.0 / other.0;
        let rest = self.plus(other.times(Self(-first, 0.0)));
        let second = rest.0 / other.0;
        let rest = rest.plus(other.times(Self(-second, 0.0)));
        Self::sum(first, second).plus(Self(rest.0 / other.0, 0.0))
    }
}

#[cfg(test)]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "compared with whole numbers"
)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_that_a_double_loses_are_kept() {
        let sum =
            |values: &[f64]| values.iter().fold(DoubleDouble::default(), |sum, x| sum.plus((*x).into()));
        assert_eq!(sum(&[1e308, 1.0, -1e308]), DoubleDouble(1.0, 0.0));
        assert_eq!(sum(&[0.1; 10]).0.to_bits(), 1.0_f64.to_bits());
        assert_eq!(sum(&[1e308, 1e308, 1.0]), DoubleDouble(f64::INFINITY, 0.0));
        assert_eq!(DoubleDouble::from(1e200).times(1e200.into()), DoubleDouble(f64::INFINITY, 0.0));
        let third = DoubleDouble::from(1.0).over(3.0.into());
        let rest = third.times(3.0.into()).plus((-1.0).into());
        assert!(rest.0.abs() < 1e-31 && third.1 != 0.0, "{rest:?}");
    }

    proptest! {
        #[test]
        fn sums_and_squares_of_whole_numbers_are_exact(values in prop::collection::vec(-(1_i64 << 48)..1 << 48, 0..200)) {
            let (mut sum, mut squares) = (DoubleDouble::default(), DoubleDouble::default());
            for n in &values {
                let x = DoubleDouble::from(*n as f64);
                (sum, squares) = (sum.plus(x), squares.plus(x.times(x)));
            }
            let whole = |x: DoubleDouble| x.0 as i128 + x.1 as i128;
            prop_assert_eq!(whole(sum), values.iter().map(|n| i128::from(*n)).sum::<i128>());
            prop_assert_eq!(whole(squares), values.iter().map(|n| i128::from(*n) * i128::from(*n)).sum::<i128>());
        }
    }
}

//! Sums of doubles and of their squares without any rounding: fixed-point numbers as long as all exponents need.

/// Bits of a limb.
const LIMB: u32 = 32;
/// Exponent of the lowest bit: the square of the least double is `2^-2148`.
const LOWEST: i32 = -2148;
/// Limbs: from `2^-2148` to the squares of the largest doubles, `2^2048`, summed up `2^62` times, and a sign.
const LIMBS: usize = 134;
/// Additions after which limbs are normalized: each adds less than `2^32` to a limb of 64 bits.
const PATIENCE: u32 = 1 << 30;

/// A sum without rounding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exact {
    limbs: Box<[i64; LIMBS]>,
    pending: u32,
}

impl Default for Exact {
    fn default() -> Self {
        Exact { limbs: Box::new([0; LIMBS]), pending: 0 }
    }
}

/// A sum as two doubles: the nearest one, and the nearest one to what is left. What they do not tell is at most `2^-106` of the sum, or
/// less than the least double.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pair(pub f64, pub f64);

/// Sign, whole number and exponent of a finite double.
fn parts(x: f64) -> (bool, u64, i32) {
    let bits = x.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let exponent = i32::try_from(bits >> 52 & 0x7ff).unwrap_or(0);
    let (whole, exponent) = if exponent == 0 { (fraction, 1) } else { (fraction | 1 << 52, exponent) };
    (bits >> 63 == 1, whole, exponent - 1075)
}

impl Exact {
    /// Adds a finite number.
    pub fn add(&mut self, x: f64) {
        let (negative, whole, exponent) = parts(x);
        self.put(negative, whole.into(), exponent);
    }

    /// Adds the square of a finite number.
    pub fn add_square(&mut self, x: f64) {
        let (_, whole, exponent) = parts(x);
        self.put(false, u128::from(whole) * u128::from(whole), 2 * exponent);
    }

    /// Adds another sum.
    pub fn add_all(&mut self, other: &Exact) {
        self.normalize();
        let mut other = other.clone();
        other.normalize();
        self.limbs.iter_mut().zip(other.limbs.iter()).for_each(|(limb, more)| *limb += more);
        self.normalize();
    }

    /// Adds both parts of a sum.
    pub fn add_pair(&mut self, pair: Pair) {
        self.add(pair.0);
        self.add(pair.1);
    }

    fn put(&mut self, negative: bool, whole: u128, exponent: i32) {
        let at = u32::try_from(exponent - LOWEST).unwrap_or(0);
        let (mut limb, shift) = ((at / LIMB) as usize, at % LIMB);
        // At most 106 bits, moved by at most 31.
        let (mut low, mut high) = (whole << shift, whole.checked_shr(128 - shift).unwrap_or(0));
        while low > 0 || high > 0 {
            let part = i64::try_from(low & 0xffff_ffff).unwrap_or(0);
            self.limbs[limb] += if negative { -part } else { part };
            low = low >> LIMB | high << (128 - LIMB);
            high >>= LIMB;
            limb += 1;
        }
        self.pending += 1;
        if self.pending >= PATIENCE {
            self.normalize();
        }
    }

    /// Brings limbs into `[0, 2^32)`, all but the last, whose sign is that of the sum.
    fn normalize(&mut self) {
        let mut carry = 0;
        for limb in &mut self.limbs[..LIMBS - 1] {
            let sum = *limb + carry;
            *limb = sum & 0xffff_ffff;
            carry = sum >> LIMB;
        }
        self.limbs[LIMBS - 1] += carry;
        self.pending = 0;
    }

    /// The nearest double, ties to even; infinite beyond the largest.
    pub fn nearest(&self) -> f64 {
        let mut sum = self.clone();
        sum.normalize();
        let negative = sum.limbs[LIMBS - 1] < 0;
        if negative {
            sum.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            sum.normalize();
        }
        let Some(top) = sum.limbs.iter().rposition(|limb| *limb != 0) else { return 0.0 };
        // The upper bits in 128, and whether any is left below them.
        let mut bits = 0_u128;
        for n in 0..4 {
            let limb = top.checked_sub(n).map_or(0, |at| sum.limbs[at]);
            bits = bits << LIMB | u128::from(limb.cast_unsigned() & 0xffff_ffff);
        }
        let rest = sum.limbs[..top.saturating_sub(3)].iter().any(|limb| *limb != 0);
        let exponent = LOWEST + (i32::try_from(top).unwrap_or(0) - 3) * 32;
        let size = rounded(bits, rest, exponent);
        if negative { -size } else { size }
    }

    /// The sum as two doubles.
    pub fn pair(&self) -> Pair {
        let first = self.nearest();
        if !first.is_finite() {
            return Pair(first, 0.0);
        }
        let mut rest = self.clone();
        rest.add(-first);
        Pair(first, rest.nearest())
    }
}

/// `bits * 2^exponent` as the nearest double, where bits below them are not all 0 if `rest`.
fn rounded(bits: u128, rest: bool, exponent: i32) -> f64 {
    let len = i32::try_from(128 - bits.leading_zeros()).unwrap_or(0);
    // Bits that a double has no room for: beyond 53, or below the least one.
    let drop = (len - 53).max(-1074 - exponent);
    if drop <= 0 {
        // Nothing is dropped, and no bits are below: they would have been there.
        return scaled(bits, exponent);
    }
    if drop > 128 {
        return 0.0;
    }
    let kept = if drop == 128 { 0 } else { bits >> drop };
    let half = 1_u128 << (drop - 1);
    let below = bits & (half - 1) != 0 || rest;
    let up = bits & half != 0 && (below || kept & 1 == 1);
    scaled(kept + u128::from(up), exponent + drop)
}

/// A number of at most 54 bits that a double can tell, times a power of two.
fn scaled(whole: u128, exponent: i32) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "at most 53 significant bits")]
    let mut x = whole as f64;
    let mut left = exponent;
    // In steps that neither overflow nor round: the result is a double.
    while left > 0 && x.is_finite() {
        let step = left.min(1000);
        x *= 2_f64.powi(step);
        left -= step;
    }
    while left < 0 && x != 0.0 {
        let step = (-left).min(900);
        x *= 2_f64.powi(-step);
        left += step;
    }
    x
}

#[cfg(test)]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "the tests compare exact sums with rounded ones"
)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(values: &[f64]) -> Exact {
        let mut sum = Exact::default();
        values.iter().for_each(|x| sum.add(*x));
        sum
    }

    #[test]
    fn sums_are_exact_where_doubles_are_not() {
        assert_eq!(sum(&[1e308, 1.0, -1e308]).pair(), Pair(1.0, 0.0));
        assert_eq!(sum(&[1e100, 1.0, -1e100, f64::MIN_POSITIVE]).pair(), Pair(1.0, f64::MIN_POSITIVE));
        assert_eq!(sum(&[0.1; 10]).nearest(), 1.0);
        assert_eq!(sum(&[1e308, 1e308]).nearest(), f64::INFINITY);
        assert_eq!(sum(&[5e-324, 5e-324, -1e-323]).nearest(), 0.0);
        assert_eq!(sum(&[]).pair(), Pair(0.0, 0.0));
        // Ties to even, and past them.
        let two53 = 9_007_199_254_740_992.0;
        assert_eq!(sum(&[two53, 1.0]).nearest(), two53);
        assert_eq!(sum(&[two53, 1.0, 1e-300]).nearest(), two53 + 2.0);
        assert_eq!(sum(&[-two53, -1.0, -1e-300]).nearest(), -two53 - 2.0);
        let mut squares = Exact::default();
        squares.add_square(1e154);
        squares.add_square(-3.0);
        assert_eq!(squares.pair(), Pair(1e154 * 1e154, squares.pair().1));
        let mut small = Exact::default();
        small.add_square(5e-324);
        assert_eq!(small.nearest(), 0.0);
        assert_ne!(small, Exact::default());
    }

    proptest! {
        #[test]
        fn whole_numbers_are_summed_as_integers_are(values in prop::collection::vec(-(1_i64 << 53)..1_i64 << 53, 0..200)) {
            let wanted: i128 = values.iter().map(|n| i128::from(*n)).sum();
            let squares: i128 = values.iter().map(|n| i128::from(*n) * i128::from(*n)).sum();
            let doubles: Vec<f64> = values.iter().map(|n| *n as f64).collect();
            let Pair(first, rest) = sum(&doubles).pair();
            prop_assert_eq!(first, wanted as f64);
            prop_assert_eq!(first as i128 + rest as i128, wanted);
            let mut exact = Exact::default();
            doubles.iter().for_each(|x| exact.add_square(*x));
            prop_assert_eq!(exact.nearest(), squares as f64);
        }

        #[test]
        fn order_does_not_matter(mut values in prop::collection::vec(any::<f64>().prop_filter("finite", |x| x.is_finite()), 0..50)) {
            let one = sum(&values).pair();
            values.reverse();
            prop_assert_eq!(one.0.to_bits(), sum(&values).pair().0.to_bits());
            let (a, b) = values.split_at(values.len() / 2);
            let mut parts = sum(a);
            parts.add_all(&sum(b));
            prop_assert_eq!(one.0.to_bits(), parts.pair().0.to_bits());
            let negated: Vec<f64> = values.iter().map(|x| -x).collect();
            let other = sum(&negated).nearest();
            prop_assert!(other == -one.0, "{other} {}", one.0);
        }

        #[test]
        fn a_double_is_itself(x in any::<f64>().prop_filter("finite", |x| x.is_finite())) {
            prop_assert_eq!(sum(&[x]).nearest(), x);
        }
    }
}

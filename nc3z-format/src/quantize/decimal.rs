//! The number of bits for a number of decimal digits, in netCDF-C's arithmetic.

use super::log10::nearest_log10;
use super::real::split;
use std::f64::consts::{LN_2, LN_10};

/// Binary digits of a decimal one.
const BITS_PER_DIGIT: f64 = LN_10 / LN_2;
const DIGITS_PER_BIT: f64 = LN_2 / LN_10;

/// The number of bits that BitGroom keeps for `nsd` digits.
pub(super) fn groomed_bits(nsd: u32) -> u32 {
    floor((f64::from(nsd) * BITS_PER_DIGIT).ceil()).cast_unsigned() + 1
}

/// For one value: the number of bits that Granular BitRound keeps, and the binary logarithm of a bound on
/// twice the error (for normal numbers).
pub(super) fn granular_bits(x: f64, nsd: u32) -> (u32, i32) {
    let (m, e) = split(x);
    let log = logarithm(m.abs(), e);
    let nsd = i32::try_from(nsd).expect("at most 15");
    // Digits before the decimal point, and the power of two that bounds the loss.
    let digits = floor((f64::from(e) * DIGITS_PER_BIT + log).floor()) + 1;
    let power = floor((BITS_PER_DIGIT * f64::from(digits - nsd)).floor());
    let bits = (floor((f64::from(e) - BITS_PER_DIGIT * log).floor()) - power).unsigned_abs();
    (bits.saturating_sub(1), power)
}

/// The logarithm of half, the significand of all powers of two.
const LOG_OF_HALF: f64 = -std::f64::consts::LOG10_2;
/// The last bits of a logarithm count if a sum is within this distance of a whole number.
const NEAR: f64 = 1e-12;

/// Returns the nearest number to the decimal logarithm of a significand, or a number that leads to the same rounding. The library's logarithm
/// is quicker, but its last bit differs between machines.
fn logarithm(significand: f64, e: i32) -> f64 {
    if significand <= 0.5 {
        return LOG_OF_HALF;
    }
    let log = significand.log10();
    let is_near = |x: f64| (x - x.round()).abs() < NEAR;
    if is_near(f64::from(e) * DIGITS_PER_BIT + log) || is_near(BITS_PER_DIGIT * log) {
        nearest_log10(significand)
    } else {
        log
    }
}

#[expect(clippy::cast_possible_truncation, reason = "logarithms of finite numbers are small")]
fn floor(x: f64) -> i32 {
    x as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_take_the_bits_that_netcdf_c_says() {
        assert_eq!([1, 3, 6, 7, 15].map(groomed_bits), [5, 11, 21, 25, 51]);
        // pi, three digits: what is lost is below 2^-8, half of the unit of 2^-7 that is less than 0.01.
        assert_eq!(granular_bits(std::f64::consts::PI, 3), (8, -7));
    }
}

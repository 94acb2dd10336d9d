//! Doubles that are means of N numbers of less precision: `x = S / N`, where S ends in many zero bits.
//!
//! Climatologies are such: means over 25 years, say. S is a multiple of a power of two, so x is a multiple of that over N,
//! which the scale-offset transform says by a divisor of `N * 2^p`.

use super::detect::Values;
use crate::scale_offset::ScaleOffset;
use crate::word::Word;
use std::cmp::Reverse;

/// Divisors that are looked for: all up to 400, and numbers of days, hours and months of usual periods.
const MOST: u32 = 400;
const PERIODS: [u32; 10] = [480, 600, 672, 696, 720, 744, 1000, 1200, 2920, 8760];
/// Zero bits at the end of a sum, at least.
const ZEROS: u32 = 12;

/// The sum that gives `x` when divided, without what rounding left in its last three bits.
fn sum_of(x: f64, divisor: f64) -> f64 {
    let bits = (x * divisor).to_bits();
    f64::from_bits((bits.wrapping_add(4)) & !7)
}

/// Position of the lowest bit that is set.
fn lowest_bit(x: f64) -> i32 {
    let mantissa = (x.to_bits() & ((1 << 52) - 1)) | 1 << 52;
    let exponent = i32::try_from(x.to_bits() >> 52 & 0x7FF).unwrap_or(0) - 1023;
    exponent - 52 + i32::try_from(mantissa.trailing_zeros()).unwrap_or(0)
}

fn is_mean(x: f64, divisor: f64) -> bool {
    let sum = sum_of(x, divisor);
    (sum / divisor).to_bits() == x.to_bits() && sum.to_bits().trailing_zeros() >= ZEROS
}

/// Scale-offsets of means, some coarser than others: what the finer ones make of all values, the coarser make of most, by smaller
/// numbers. Empty where the values are no means.
pub(crate) fn means<W: Word>(values: &Values<'_, W>) -> Vec<ScaleOffset> {
    let sample: Vec<f64> = values.normal().take(512).collect();
    // What has few bits anyway is no quotient. (Of the sums of three, one of three is divisible.)
    if sample.len() < 64 || sample.iter().filter(|x| is_mean(**x, 1.0)).count() * 2 > sample.len() {
        return Vec::new();
    }
    let few = &sample[..32];
    let share = |divisor: f64| sample.iter().filter(|x| is_mean(**x, divisor)).count();
    // Of a divisor and its multiples, which do as well, the divisor.
    let best = (2..=MOST)
        .chain(PERIODS)
        .map(f64::from)
        .filter(|&d| few.iter().filter(|x| is_mean(**x, d)).count() * 3 > few.len())
        .map(|d| (share(d), d))
        .min_by_key(|s| Reverse(s.0))
        .filter(|s| s.0 * 2 > sample.len());
    let Some((_, divisor)) = best else { return Vec::new() };
    let mut bits: Vec<i32> = sample.iter().map(|x| lowest_bit(sum_of(*x, divisor))).collect();
    bits.sort_unstable();
    let mut places: Vec<i32> = [0, 5, 10, 20, 28].map(|percent| bits[bits.len() * percent / 100]).to_vec();
    places.dedup();
    let unit = |place: i32| f64::from_bits(u64::try_from(1023 - place).unwrap_or(1) << 52);
    let fits = |place: &i32| (-1000..1000).contains(place);
    places.into_iter().filter(fits).map(|p| ScaleOffset { off: 0.0, step: -divisor * unit(p) }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::detect::Wanted;
    use super::*;

    #[test]
    fn the_number_of_summands_is_found() {
        let float = |i: u32| {
            f64::from(200.0 + f32::from(u16::try_from(i % 7919 * (i % 7919) * 37 % 1009).unwrap()) * 0.013)
        };
        let mean = |i: u32, n: u32| (0..n).map(|k| float(i * n + k)).sum::<f64>() / f64::from(n);
        for n in [3, 25, 30, 744] {
            let words: Vec<u64> = (0..600).map(|i| mean(i, n).to_bits()).collect();
            let found = means(&Values::of(&words, Wanted::All));
            assert!(!found.is_empty(), "{n}");
            let divisor = -found[0].step / f64::from(n);
            assert!(divisor.log2().fract() == 0.0, "{n}: {found:?}");
        }
        let short: Vec<u64> = (0..600).map(|i| float(i).to_bits()).collect();
        assert!(means(&Values::of(&short, Wanted::All)).is_empty(), "floats are no means");
        let noise: Vec<u64> = (0..600u32).map(|i| (f64::from(i) * 0.7).sin().to_bits()).collect();
        assert!(means(&Values::of(&noise, Wanted::All)).is_empty());
    }
}

//! Candidates for the scale and offset of floats: multiples of round steps, fractions, powers of two, and steps
//! fitted to the gaps between values.

use super::detect::{exponent, power_of_two, sort};
use super::scale_offset::{hits, hits_from, is_met};
use crate::scale_offset::ScaleOffset;
use crate::word::Word;
use multiversion::multiversion;
use std::sync::LazyLock;

/// Powers of ten, exact in binary64.
const TENS: [f64; 16] =
    [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
/// Fractions with divisors up to `DIVISORS` are tried, such as means over a number of cells, and parts of degrees and
/// hours. Fractions of decimals with up to `DIGITS` digits are tried, too.
const DIVISORS: u32 = 400;
const DIGITS: usize = 4;
/// The divisors of means are at most 1/`CHANCE` of the reciprocal of the distance between floats. With a larger divisor,
/// every float is a multiple of the fraction by chance.
const CHANCE: f64 = 64.0;
/// Minutes of a day, seconds of an hour and of a day.
const TIMES: [u32; 3] = [1440, 3600, 86_400];
/// The same numbers without the zeros at their ends.
const TIME_ROOTS: [u32; 3] = [144, 36, 864];
/// At most 1/`FEW_STRAY` of the gaps, or half this share of the values, need not be multiples of the step.
const FEW_STRAY: usize = 64;

/// Returns about 32 of the values, for a quick check.
fn few_of<W: Word>(sample: &[W]) -> Vec<W> {
    sample.iter().copied().step_by((sample.len() / 32).max(1)).collect()
}

/// Multiples of a round decimal step; quotients by a round number if those reproduce more values.
pub(super) fn decimal<W: Word>(sample: &[W], ulp: f64) -> Option<ScaleOffset> {
    let few = few_of(sample);
    let first = &few[..few.len().min(8)];
    // True even if one in eight of the few is missed and all of those are among the first.
    let may_hold = |l| is_met(first, l, few.len() / 8);
    let mut second = None;
    for p in -3i32..=15 {
        let ten = TENS[p.unsigned_abs() as usize];
        for part in [1.0, 2.0, 4.0, 5.0] {
            let step = if p < 0 { ten / part } else { 1.0 / part / ten };
            if step <= 1.5 * ulp {
                return second;
            }
            let product = ScaleOffset { off: 0.0, step };
            // The product is rounded twice, which matters only for doubles.
            let quotient = ScaleOffset { off: 0.0, step: -ten * part };
            let may_divide = W::BITS == 64 && p >= 0;
            if !(may_hold(product) || may_divide && may_hold(quotient)) {
                continue;
            }
            let divides = may_divide && hits(&few, quotient) > hits(&few, product);
            let l = if divides { quotient } else { product };
            if hits(&few, l) * 8 < few.len() * 7 {
                continue;
            }
            let Some(found) = hits_from(sample, l, sample.len() * 91 / 100 + 1) else { continue };
            if found * 100 > sample.len() * 97 {
                return Some(l);
            }
            second = second.or(Some(l));
        }
    }
    second
}

/// Returns the coarsest step that fits, among fractions with a small divisor and decimal fractions, if it is much coarser than
/// `below`.
pub(super) fn fraction<W: Word>(sample: &[W], ulp: f64, below: f64) -> Option<ScaleOffset> {
    /// In ascending order. For a short array, sorting them takes longer than trying them.
    static ALL: LazyLock<Vec<f64>> = LazyLock::new(|| {
        let whole = (3..=DIVISORS).chain(TIMES).map(f64::from);
        // Divisors that are multiples of ten were tried with one digit less.
        let parts = (3..=DIVISORS).filter(|d| !d.is_multiple_of(10)).map(f64::from);
        let decimals = TENS[1..=DIGITS].iter().flat_map(|&ten| parts.clone().map(move |d| d * ten));
        let mut divisors: Vec<f64> = whole.chain(decimals).collect();
        divisors.sort_unstable_by(f64::total_cmp);
        divisors
    });
    let few = few_of(sample);
    let first = &few[..few.len().min(8)];
    let is_allowed = |d: f64| 1.0 > 8.0 * ulp * d && d * 1.5 < below;
    let may_hold = |d: f64| is_met(first, ScaleOffset { off: 0.0, step: -d }, 1);
    // Quotients by a divisor are quotients by ten times the divisor, too. So the largest divisors show that values are no
    // fractions, as most are not.
    let largest = |root: u32| {
        let multiples = TENS[..=DIGITS].iter().map(|ten| f64::from(root) * ten);
        multiples.take_while(|&d| is_allowed(d)).last()
    };
    let roots = (1..=DIVISORS).filter(|d| !d.is_multiple_of(10)).chain(TIME_ROOTS);
    if !roots.filter_map(largest).any(may_hold) {
        return None;
    }
    ALL.iter()
        .copied()
        .take_while(|&d| is_allowed(d))
        .filter(|&d| may_hold(d))
        .map(|d| ScaleOffset { off: 0.0, step: -d })
        .find(|&l| {
            hits(&few, l) * 16 >= few.len() * 15
                && hits_from(sample, l, sample.len() * 97 / 100 + 1).is_some()
        })
}

/// Means of floats: a sum of floats is a multiple of a power of two, so their mean is a quotient by the number of floats
/// times a power of two. The coarsest that fits for the least odd divisor, if it is much coarser than `below`.
pub(super) fn mean<W: Word>(sample: &[W], ulp: f64, below: f64) -> Option<ScaleOffset> {
    let few = few_of(sample);
    let first = &few[..few.len().min(8)];
    // The value farthest from 0 of those: a 0 is a quotient by any number.
    let value = first.iter().map(|p| p.float_value()).max_by(|a, b| a.abs().total_cmp(&b.abs()))?;
    let is_quotient = |d: &f64| ((value * d).round() / d).to_bits() == value.to_bits();
    (3..=DIVISORS).step_by(2).find_map(|odd| {
        let divisors = std::iter::successors(Some(f64::from(odd)), |d| Some(d * 2.0));
        let divisors = divisors.take_while(|d| 1.0 > CHANCE * ulp * d && d * 1.5 < below);
        // A quotient by a divisor is also one by its multiples. So if the largest divisor fails, all others fail.
        divisors.clone().last().filter(is_quotient)?;
        divisors.filter(is_quotient).map(|d| ScaleOffset { off: 0.0, step: -d }).find(|&l| {
            is_met(first, l, 0)
                && hits(&few, l) * 16 >= few.len() * 15
                && hits_from(sample, l, sample.len() * 97 / 100 + 1).is_some()
        })
    })
}

/// Multiples of a power of two, starting at `off`.
pub(super) fn binary(values: &[f64], off: f64, ulp: f64) -> Option<ScaleOffset> {
    let low_bit = |x: f64| {
        let mantissa = (x.to_bits() & ((1 << 52) - 1)) | 1 << 52;
        exponent(x) - 52 + i32::try_from(mantissa.trailing_zeros()).unwrap_or(0)
    };
    let least = values.iter().map(|v| v - off).filter(|d| *d != 0.0).map(low_bit).min()?;
    let step = power_of_two(least);
    (step > 1.5 * ulp).then_some(ScaleOffset { off, step })
}

/// Gaps between values that rounding does not explain, ascending.
pub(super) struct Gaps {
    list: Vec<f64>,
    /// The smallest gap, without a few still smaller ones that may be chance.
    pub(super) least: f64,
}

impl Gaps {
    /// Returns `None` if there are too few gaps.
    pub(super) fn new(values: &[f64], ulp: f64) -> Option<Gaps> {
        let mut list: Vec<f64> = values.windows(2).map(|w| w[1] - w[0]).filter(|g| *g > 2.5 * ulp).collect();
        sort(&mut list);
        let least = list.get(list.len() / 200).copied()?;
        (list.len() >= 4).then_some(Gaps { list, least })
    }
}

/// Returns the step of which the sorted gaps are multiples, starting from a first guess: by least squares over
/// increasingly wide gaps. Values may be thousands of steps from the minimum, too far for a guess, but most gaps
/// are narrow. Returns `None` as soon as more than a few gaps are not multiples.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn step_of(gaps: &[f64], guess: f64, ulp: f64) -> Option<f64> {
    let (mut step, mut window) = (guess, 3.0 * guess);
    let widest = gaps.last().copied().unwrap_or(0.0);
    loop {
        let (mut kg, mut kk, mut stray) = (0.0, 0.0, 0);
        for g in gaps.iter().take_while(|g| **g <= window) {
            let k = (g / step).round_ties_even();
            if (g - k * step).abs() > 4.0 * ulp {
                stray += 1;
                if stray * FEW_STRAY > gaps.len() {
                    return None;
                }
            }
            kg += k * g;
            kk += k * k;
        }
        if kk > 0.0 {
            step = kg / kk;
        }
        if window >= widest {
            return Some(if step.is_normal() { step } else { guess });
        }
        window *= 1.8;
    }
}

/// Fits offset and step to the gaps between values.
pub(super) fn fitted<W: Word>(sample: &[W], values: &[f64], gaps: &Gaps, ulp: f64) -> Option<ScaleOffset> {
    let lo = values[0];
    // The mean of the gaps that differ from the smallest only by rounding.
    let alike = gaps.list.iter().filter(|g| **g >= gaps.least - 1.1 * ulp && **g <= gaps.least + 1.1 * ulp);
    let (count, sum) = alike.fold((0.0, 0.0), |(c, s), g| (c + 1.0, s + g));
    let start = if count > 0.0 { sum / count } else { gaps.least };
    [1.0, 2.0, 3.0].into_iter().find_map(|part| {
        let (off, step) = refine(values, lo, step_of(&gaps.list, start / part, ulp)?, ulp)?;
        snap(sample, values, off, step)
    })
}

/// Least squares over windows that grow from the minimum; `None` if values are not offset + k * scale.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn refine(values: &[f64], lo: f64, start: f64, ulp: f64) -> Option<(f64, f64)> {
    if start <= 1.5 * ulp || !start.is_normal() {
        return None;
    }
    let mut step = start;
    let span = values[values.len() - 1] - lo;
    let mut window = 3.0 * start;
    loop {
        let (mut kd, mut kk) = (0.0, 0.0);
        for v in values.iter().take_while(|v| **v - lo <= window) {
            let k = ((v - lo) / step).round_ties_even();
            kd += k * (v - lo);
            kk += k * k;
        }
        if kk > 0.0 {
            step = kd / kk;
        }
        if window >= span {
            break;
        }
        window *= 1.8;
    }
    let n = u32::try_from(values.len()).map_or(0.0, f64::from);
    let (mut sk, mut sd, mut skk, mut skd, mut stray) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for v in values {
        let d = v - lo;
        let k = (d / step).round_ties_even();
        stray += if (d - k * step).abs() > 1.6 * ulp { 1.0 } else { 0.0 };
        (sk, sd, skk, skd) = (sk + k, sd + d, skk + k * k, skd + k * d);
    }
    if stray * 200.0 > n {
        return None;
    }
    let determinant = n * skk - sk * sk;
    if determinant <= 0.0 {
        return None;
    }
    let slope = (n * skd - sk * sd) / determinant;
    Some((lo + (sd - slope * sk) / n, slope))
}

/// Returns the roundest numbers near the fit that reproduce most values.
fn snap<W: Word>(sample: &[W], values: &[f64], off: f64, step: f64) -> Option<ScaleOffset> {
    let (lo, hi) = (values[0], values[values.len() - 1]);
    let mut steps = vec![W::float_pattern(step).float_value(), step];
    let mut near = |candidate: f64| {
        if (candidate - step).abs() < 2e-4 * step && !steps.contains(&candidate) {
            steps.push(candidate);
        }
    };
    let single = |x: f64| f64::from(f32::from_bits(u32::float_pattern(x)));
    near(single(step));
    // The range divided by a number of steps, as in packing by minimum and maximum, in either precision.
    let count = ((hi - lo) / step).round_ties_even();
    for count in [count, count - 1.0, count + 1.0] {
        if count >= 1.0 {
            near(single((hi - lo) / count));
            near((hi - lo) / count);
        }
    }
    for ten in TENS.iter().take(7) {
        let e = exponent(step * ten * std::f64::consts::SQRT_2);
        near(power_of_two(e) / ten);
    }
    for ten in &TENS {
        if step * ten >= 100.0 {
            near((step * ten).round_ties_even() / ten);
            near((step * ten * 100.0).round_ties_even() / (ten * 100.0));
            break;
        }
    }
    near(1.0 / (1.0 / step).round_ties_even());
    let few = few_of(sample);
    let mut best: Option<(usize, ScaleOffset)> = None;
    for &step in &steps {
        let zero = step * ((lo / step).round_ties_even());
        let aligned = if (zero - lo).abs() < 1e-3 * step { 0.0 } else { lo };
        for off in [aligned, lo, off] {
            let l = ScaleOffset { off, step };
            if !l.is_sound() || hits(&few, l) * 3 < few.len() {
                continue;
            }
            // Only one that reproduces more values is of interest.
            let Some(count) = hits_from(sample, l, best.map_or(0, |b| b.0 + 1)) else { continue };
            best = Some((count, l));
            if count == sample.len() {
                return Some(l);
            }
        }
    }
    best.map(|b| b.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole numbers of some digits, divided.
    fn quotients(divisor: f64) -> Vec<u64> {
        let number = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 12);
        (0..256).map(|i| (number(i) / divisor).to_bits()).collect()
    }

    /// The distance of doubles beside the largest of these quotients.
    fn distance(divisor: f64) -> f64 {
        power_of_two(exponent(1_048_576.0 / divisor) - 52)
    }

    #[test]
    fn quotients_by_each_divisor_are_found() {
        let decimals =
            TENS[..=DIGITS].iter().flat_map(|ten| [3, 7, 36, 101, 128, 399].map(|d| f64::from(d) * ten));
        for divisor in decimals.chain(TIMES.map(f64::from)) {
            let found = fraction(&quotients(divisor), distance(divisor), f64::INFINITY).expect("a fraction");
            assert!(
                -found.step <= divisor && hits(&quotients(divisor), found) == 256,
                "{divisor}: {found:?}"
            );
        }
        for divisor in [3.0, 25.0 * 4096.0, 399.0 * 65_536.0] {
            let found = mean(&quotients(divisor), distance(divisor), f64::INFINITY).expect("a mean");
            assert!(
                -found.step <= divisor && hits(&quotients(divisor), found) == 256,
                "{divisor}: {found:?}"
            );
        }
        // The square root of two times whole numbers.
        let none: Vec<u64> =
            quotients(1.0).iter().map(|x| (f64::from_bits(*x) * 2f64.sqrt()).to_bits()).collect();
        assert!(fraction(&none, distance(0.7), f64::INFINITY).is_none());
        assert!(mean(&none, distance(0.7), f64::INFINITY).is_none());
    }
}

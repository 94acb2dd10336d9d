//! Finding the quantisation of floats. A wrong answer costs size, never exactness: the encoder checks each value.

use super::{Lattice, hits};
use crate::num::word::Word;

/// Values looked at.
const SAMPLE: usize = 1024;

/// Powers of ten, exact in binary64.
const TENS: [f64; 16] =
    [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
/// Fractions with divisors up to this are looked for: means over so many cells, parts of degrees and hours; and of those of
/// decimals, up to so many digits.
const DIVISORS: u32 = 400;
const DIGITS: usize = 4;

/// Whether at least `least` in 64 of the finite values lie on a lattice.
pub(in crate::num) fn holds<W: Word>(patterns: &[W], l: Lattice, least: usize) -> bool {
    let sample = sample_of(patterns);
    sample.len() >= 4 && hits(&sample, l) * 64 >= sample.len() * least
}

/// A lattice on which at least `least` in 64 of the finite values lie, if one is found: the cheapest, by [`cost`].
/// `fractions`: also those of small divisors.
pub(in crate::num) fn detect<W: Word>(patterns: &[W], least: usize, fractions: bool) -> Option<Lattice> {
    let sample = sample_of(patterns);
    if sample.len() < 4 {
        return None;
    }
    let mut values: Vec<f64> = sample.iter().map(|p| p.float_value()).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    if values.len() < 4 {
        return None;
    }
    let (lo, hi) = (values[0], values[values.len() - 1]);
    let ulp = ulp::<W>(lo.abs().max(hi.abs()));
    let judged = |l: Lattice| {
        let on = if l.is_sound() { hits(&sample, l) } else { 0 };
        (on * 64 >= sample.len() * least).then(|| (cost::<W>(sample.len(), on, l), l))
    };
    let cheaper = |a: (f64, Lattice), b: (f64, Lattice)| if b.0 < a.0 { b } else { a };
    let round = [decimal(&sample, ulp), binary(&values, 0.0, ulp), binary(&values, lo, ulp)];
    let mut found = round.into_iter().flatten().filter_map(judged).reduce(cheaper);
    let frequency = found.map_or(f64::INFINITY, |(_, l)| l.frequency());
    if fractions && let Some(l) = fraction(&sample, ulp, frequency) {
        found = judged(l).or(found);
    }
    // Values of an offset of their own lie on a fine round lattice by chance, but have gaps that are much wider.
    let gaps = Gaps::of(&values, ulp);
    if let Some(gaps) = gaps.filter(|g| found.is_none_or(|(_, l)| g.least * l.frequency() > WIDE)) {
        let fit = fitted(&sample, &values, &gaps, ulp).and_then(judged);
        found = found.into_iter().chain(fit).reduce(cheaper);
    }
    found.map(|(_, l)| l)
}

/// Gaps this many times as wide as the lattice's step show that there may be a coarser one.
const WIDE: f64 = 2.5;

/// About `most` (at most twice as many) of `len` positions, all over the range. Not at equal distances, which would show one value
/// in ten of a field that is made of ramps.
pub(in crate::num) fn spread(len: usize, most: usize) -> impl Iterator<Item = usize> {
    let every = (len / most).max(1);
    // A number between 0 and `every`, from the high bits of a multiplicative hash.
    let jitter = move |i: usize| {
        let hash = u32::try_from(i & 0xFFFF_FFFF).unwrap_or(0).wrapping_mul(0x9E37_79B1) >> 16;
        (usize::try_from(hash).unwrap_or(0) * every) >> 16
    };
    (0..len / every).map(move |i| i * every + jitter(i))
}

/// Finite values, some of all.
fn sample_of<W: Word>(patterns: &[W]) -> Vec<W> {
    spread(patterns.len(), SAMPLE).map(|i| patterns[i]).filter(|p| p.float_value().is_finite()).collect()
}

/// log2, about, the same on every machine.
fn log2(x: f64) -> f64 {
    let e = exponent(x);
    f64::from(e) + x / power_of_two(e) - 1.0
}

/// What to compare lattices by, bits about: those of the steps, and exceptions, which are dear: a predictor makes little of
/// fine steps where fields are smooth, but nothing of an exception, and spoils its neighbours.
fn cost<W: Word>(len: usize, on: usize, l: Lattice) -> f64 {
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    count(len) * log2(l.frequency()) + count(len - on) * f64::from(4 * W::BITS)
}

/// Distance of neighbouring floats at `x`.
fn ulp<W: Word>(x: f64) -> f64 {
    let mantissa = if W::BITS == 64 { 52 } else { 23 };
    power_of_two(exponent(x).max(-1000 + mantissa) - mantissa)
}

/// Exponent of a normal number.
fn exponent(x: f64) -> i32 {
    i32::try_from(x.to_bits() >> 52 & 0x7FF).unwrap_or(0) - 1023
}

fn power_of_two(e: i32) -> f64 {
    f64::from_bits(u64::try_from((e + 1023).clamp(1, 2046)).unwrap_or(1) << 52)
}

/// Some of the values, for a first look.
fn few_of<W: Word>(sample: &[W]) -> Vec<W> {
    sample.iter().copied().step_by((sample.len() / 32).max(1)).collect()
}

/// Multiples of a round decimal step; quotients by a round number where those hit more.
fn decimal<W: Word>(sample: &[W], ulp: f64) -> Option<Lattice> {
    let few = few_of(sample);
    let mut second = None;
    for p in -3i32..=15 {
        let ten = TENS[p.unsigned_abs() as usize];
        for part in [1.0, 2.0, 4.0, 5.0] {
            let step = if p < 0 { ten / part } else { 1.0 / part / ten };
            if step <= 1.5 * ulp {
                return second;
            }
            let product = Lattice { off: 0.0, step };
            // The product is rounded twice: that shows in doubles only.
            let quotient = Lattice { off: 0.0, step: -ten * part };
            let divides = W::BITS == 64 && p >= 0 && hits(&few, quotient) > hits(&few, product);
            let l = if divides { quotient } else { product };
            if hits(&few, l) * 8 < few.len() * 7 {
                continue;
            }
            let found = hits(sample, l);
            if found * 100 > sample.len() * 97 {
                return Some(l);
            }
            if second.is_none() && found * 100 > sample.len() * 91 {
                second = Some(l);
            }
        }
    }
    second
}

/// Fractions of a small divisor, or of decimals by one; the coarsest that fits, if it is much coarser than `below`.
fn fraction<W: Word>(sample: &[W], ulp: f64, below: f64) -> Option<Lattice> {
    let few = few_of(sample);
    let first = &few[..few.len().min(8)];
    let whole = (3..=DIVISORS).map(f64::from);
    // Divisors that are multiples of ten have been tried with a digit less.
    let parts = (3..=DIVISORS).filter(|d| !d.is_multiple_of(10)).map(f64::from);
    let decimals = TENS[1..=DIGITS].iter().flat_map(|&ten| parts.clone().map(move |d| d * ten));
    let mut divisors: Vec<f64> = whole.chain(decimals).collect();
    divisors.sort_unstable_by(f64::total_cmp);
    divisors
        .into_iter()
        .take_while(|d| 1.0 > 8.0 * ulp * d && d * 1.5 < below)
        .map(|d| Lattice { off: 0.0, step: -d })
        .filter(|&l| hits(first, l) + 1 >= first.len())
        .find(|&l| hits(&few, l) * 16 >= few.len() * 15 && hits(sample, l) * 100 > sample.len() * 97)
}

/// Multiples of a power of two, from `off`.
fn binary(values: &[f64], off: f64, ulp: f64) -> Option<Lattice> {
    let low_bit = |x: f64| {
        let mantissa = (x.to_bits() & ((1 << 52) - 1)) | 1 << 52;
        exponent(x) - 52 + i32::try_from(mantissa.trailing_zeros()).unwrap_or(0)
    };
    let least = values.iter().map(|v| v - off).filter(|d| *d != 0.0).map(low_bit).min()?;
    let step = power_of_two(least);
    (step > 1.5 * ulp).then_some(Lattice { off, step })
}

/// Gaps between values that rounding does not explain, ascending.
struct Gaps {
    list: Vec<f64>,
    /// The smallest but for a few that may be chance.
    least: f64,
}

impl Gaps {
    /// None where there are too few to tell.
    fn of(values: &[f64], ulp: f64) -> Option<Gaps> {
        let mut list: Vec<f64> = values.windows(2).map(|w| w[1] - w[0]).filter(|g| *g > 2.5 * ulp).collect();
        list.sort_unstable_by(f64::total_cmp);
        let least = list.get(list.len() / 200).copied()?;
        (list.len() >= 4).then_some(Gaps { list, least })
    }
}

/// Offset and step fitted to the gaps between values.
fn fitted<W: Word>(sample: &[W], values: &[f64], gaps: &Gaps, ulp: f64) -> Option<Lattice> {
    let lo = values[0];
    // The mean of the gaps that differ from the smallest by rounding only.
    let alike = gaps.list.iter().filter(|g| **g >= gaps.least - 1.1 * ulp && **g <= gaps.least + 1.1 * ulp);
    let (count, sum) = alike.fold((0.0, 0.0), |(c, s), g| (c + 1.0, s + g));
    let start = if count > 0.0 { sum / count } else { gaps.least };
    [1.0, 2.0, 3.0].into_iter().find_map(|part| {
        let (off, step) = refine(values, lo, start / part, ulp)?;
        snap(sample, lo, off, step)
    })
}

/// Least squares over windows that grow from the least value; None where the values stray from the lattice.
fn refine(values: &[f64], lo: f64, start: f64, ulp: f64) -> Option<(f64, f64)> {
    if start <= 1.5 * ulp {
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

/// The nicest numbers near the fit that hit most.
fn snap<W: Word>(sample: &[W], lo: f64, off: f64, step: f64) -> Option<Lattice> {
    let mut steps = vec![step, W::float_pattern(step).float_value()];
    let mut near = |candidate: f64| {
        if (candidate - step).abs() < 2e-4 * step {
            steps.push(candidate);
        }
    };
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
    let single = f64::from(f32::from_bits(u32::float_pattern(step)));
    steps.push(single);
    let mut best: Option<(usize, Lattice)> = None;
    for &step in &steps {
        let zero = step * ((lo / step).round_ties_even());
        let aligned = if (zero - lo).abs() < 1e-3 * step { 0.0 } else { lo };
        for off in [aligned, lo, off] {
            let l = Lattice { off, step };
            if l.is_sound() {
                let count = hits(sample, l);
                if best.as_ref().is_none_or(|b| count > b.0) {
                    best = Some((count, l));
                }
            }
        }
    }
    best.map(|b| b.1)
}

//! Finds the quantisation of floats. A wrong result costs bytes, but never exactness: the encoder checks each
//! value.

use super::scale_offset::hits_from;
use super::steps::{Gaps, binary, decimal, fitted, fraction, mean};
use crate::scale_offset::ScaleOffset;
use crate::word::{Word, index, low32};
use std::cell::OnceCell;

/// The number of sampled values.
const SAMPLE: usize = 1024;
/// If fewer of the sampled values are wanted, most elements are masked, and the others are searched.
const FEW: usize = SAMPLE / 4;

/// The elements that detection uses.
#[derive(Clone, Copy)]
pub(crate) enum ElementFilter<'a, W> {
    All,
    /// Elements whose byte is not 0; all without bytes.
    Valid(&'a [u8]),
    /// Elements that do not have this pattern.
    Not(Option<W>),
}

impl<W: Word> ElementFilter<'_, W> {
    fn has(&self, elements: &[W], i: usize) -> bool {
        let wanted = match self {
            ElementFilter::All => true,
            ElementFilter::Valid(valid) => valid.get(i) != Some(&0),
            ElementFilter::Not(mask) => Some(elements[i]) != *mask,
        };
        wanted && elements[i].float_value().is_finite()
    }
}

/// Values of a tile, or of a segment of one, for detection.
pub(crate) struct Values<'a, W> {
    elements: &'a [W],
    wanted: ElementFilter<'a, W>,
    /// A sample of the finite patterns.
    sample: Vec<W>,
    /// Sorted on first use: checking a known scale-offset does not need it.
    ordered: OnceCell<Ordered>,
}

/// Sorted values.
struct Ordered {
    /// The values of the sample, and the minimum and maximum of all values: ascending, distinct.
    list: Vec<f64>,
    ulp: f64,
}

impl<'a, W: Word> Values<'a, W> {
    /// Samples the wanted elements.
    pub(crate) fn new(elements: &'a [W], wanted: ElementFilter<'a, W>) -> Self {
        Self::some_of(elements, wanted, SAMPLE)
    }

    /// Samples half as many values, for one piece of several.
    pub(crate) fn fewer_of(elements: &'a [W], wanted: ElementFilter<'a, W>) -> Self {
        Self::some_of(elements, wanted, SAMPLE / 2)
    }

    fn some_of(elements: &'a [W], wanted: ElementFilter<'a, W>, most: usize) -> Self {
        let finite = |i: &usize| wanted.has(elements, *i);
        let mut sample: Vec<W> = spread(elements.len(), most).filter(finite).map(|i| elements[i]).collect();
        if elements.len() > most && sample.len() < FEW {
            let all: Vec<W> = (0..elements.len()).filter(finite).map(|i| elements[i]).collect();
            sample = spread(all.len(), most).map(|i| all[i]).collect();
        }
        Self { elements, wanted, sample, ordered: OnceCell::new() }
    }

    fn ordered(&self) -> &Ordered {
        self.ordered.get_or_init(|| {
            let mut list: Vec<f64> = self.sample.iter().map(|p| p.float_value()).collect();
            let largest = list.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            if self.sample.len() < self.elements.len() {
                // The minimum is often the offset itself, and the range a multiple of the step; a sample may
                // contain neither of both ends.
                let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
                for (i, e) in self.elements.iter().enumerate() {
                    let x = e.float_value();
                    if (x < ends.0 || x > ends.1) && self.wanted.has(self.elements, i) {
                        ends = (ends.0.min(x), ends.1.max(x));
                    }
                }
                list.extend([ends.0, ends.1].iter().filter(|x| x.is_finite()));
            }
            sort(&mut list);
            list.dedup();
            Ordered { list, ulp: ulp::<W>(largest) }
        })
    }

    /// Returns the values without the largest quarter, if that is much larger. Floats of that size are too far
    /// apart to show the step of the others, but they are multiples of it.
    fn quiet(&self) -> Option<Ordered> {
        let mut sizes: Vec<f64> = self.sample.iter().map(|p| p.float_value().abs()).collect();
        let three_quarters = sizes.len() / 4 * 3;
        if three_quarters >= sizes.len() {
            return None;
        }
        let (_, &mut most, larger) = sizes.select_nth_unstable_by(three_quarters, f64::total_cmp);
        if most * LOUD > larger.iter().copied().fold(most, f64::max) {
            return None;
        }
        let list: Vec<f64> = self.ordered().list.iter().copied().filter(|x| x.abs() <= most).collect();
        (list.len() >= 4).then(|| Ordered { list, ulp: ulp::<W>(most) })
    }

    /// Returns the number of values in the sample.
    pub(crate) fn len(&self) -> usize {
        self.sample.len()
    }

    /// True if the scale-offset reproduces at least `least` in 64 of the values.
    pub(crate) fn hold(&self, l: ScaleOffset, least: usize) -> bool {
        self.len() >= 4 && hits_from(&self.sample, l, of_64(self.len(), least)).is_some()
    }

    /// Returns candidates for the quantisation. `fractions`: also steps of small divisors.
    pub(crate) fn detect(&self, fractions: bool) -> Detected<'_, W> {
        let (fitted, quiet) = (OnceCell::new(), OnceCell::new());
        let mut found = Detected { values: self, round: Vec::new(), gaps: None, fitted, quiet };
        if self.len() < 4 {
            return found;
        }
        let Ordered { list: sorted, ulp } = self.ordered();
        if sorted.len() < 4 {
            return found;
        }
        // Another offset besides the minimum: the value nearest to 0, which has the smallest rounding error.
        let precise = sorted.iter().copied().min_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
        let offsets = [0.0, precise, sorted[0]];
        let binary = offsets.into_iter().filter_map(|off| binary(sorted, off, *ulp));
        let round = decimal(&self.sample, *ulp).into_iter().chain(binary);
        found.round.extend(round.map(|l| Met::new(self, l)));
        if fractions {
            let below = found.round.iter().filter(|m| m.holds(self, 58)).reduce(Met::cheaper);
            let below = below.map_or(f64::INFINITY, |m| m.l.frequency());
            let means = || mean(&self.sample, *ulp, below);
            if let Some(l) = fraction(&self.sample, *ulp, below).or_else(means) {
                // This one is coarser and reproduces as many values, so the others are multiples of it.
                found.round.clear();
                found.round.push(Met::new(self, l));
            }
        }
        found.gaps = Gaps::new(sorted, *ulp);
        found
    }
}

/// The least number of values in 64 that a useful scale-offset reproduces.
const LEAST: usize = 43;

/// Returns `least` / 64 of `len`, rounded up.
fn of_64(len: usize, least: usize) -> usize {
    (len * least).div_ceil(64)
}

/// A scale-offset, the number of values of a sample that it reproduces (none if fewer than [`LEAST`] in 64), and
/// its cost.
#[derive(Clone, Copy)]
struct Met {
    l: ScaleOffset,
    on: usize,
    cost: f64,
}

impl Met {
    fn new<W: Word>(values: &Values<'_, W>, l: ScaleOffset) -> Self {
        let met = || hits_from(&values.sample, l, of_64(values.len(), LEAST));
        let on = if l.is_sound() { met().unwrap_or(0) } else { 0 };
        Met { l, on, cost: cost::<W>(values.len(), on, l) }
    }

    fn holds<W: Word>(&self, values: &Values<'_, W>, least: usize) -> bool {
        self.on * 64 >= values.len() * least
    }

    fn cheaper<'a>(a: &'a Met, b: &'a Met) -> &'a Met {
        if b.cost < a.cost { b } else { a }
    }
}

/// Candidates for the quantisation of some values.
pub(crate) struct Detected<'a, W> {
    values: &'a Values<'a, W>,
    round: Vec<Met>,
    gaps: Option<Gaps>,
    /// Computed once, on first use, because it is costly.
    fitted: OnceCell<Option<Met>>,
    /// Candidates from the values without the largest, computed if all values show none.
    quiet: OnceCell<Vec<Met>>,
}

impl<W: Word> Detected<'_, W> {
    /// Returns the cheapest scale-offset, by [`cost`], that reproduces at least `least` in 64 of the values.
    pub(crate) fn best(&self, least: usize) -> Option<ScaleOffset> {
        debug_assert!(least >= LEAST, "fewer are not counted");
        let holding = |m: &&Met| m.holds(self.values, least);
        let found = self.round.iter().filter(holding).reduce(Met::cheaper);
        // Values with an offset of their own are multiples of a fine round step by chance, but their gaps are much
        // wider.
        let wide = |g: &Gaps| found.is_none_or(|m| g.least * m.l.frequency() > WIDE);
        let fitted = self.gaps.as_ref().filter(|g| wide(g)).and_then(|gaps| {
            let values = self.values;
            let Ordered { list, ulp } = values.ordered();
            let fit = || fitted(&values.sample, list, gaps, *ulp).map(|l| Met::new(values, l));
            self.fitted.get_or_init(fit).as_ref()
        });
        let found = found.into_iter().chain(fitted.filter(holding)).reduce(Met::cheaper);
        let quiet = || self.quiet().iter().filter(holding).reduce(Met::cheaper);
        found.or_else(quiet).map(|m| m.l)
    }

    fn quiet(&self) -> &[Met] {
        self.quiet.get_or_init(|| {
            let values = self.values;
            let Some(Ordered { list, ulp }) = values.quiet() else { return Vec::new() };
            let gaps = Gaps::new(&list, ulp);
            let fitted = gaps.and_then(|gaps| fitted(&values.sample, &list, &gaps, ulp));
            decimal(&values.sample, ulp).into_iter().chain(fitted).map(|l| Met::new(values, l)).collect()
        })
    }
}

/// Values this many times as large as the others are left out, because neighbouring floats there are too far apart.
const LOUD: f64 = 4.0;

/// Gaps this many times as wide as the step show that there may be a coarser one.
const WIDE: f64 = 2.5;

/// Sorts in the order of [`f64::total_cmp`], but compares integers directly.
pub(super) fn sort(list: &mut [f64]) {
    // Negative numbers descend in their bit patterns.
    let flip = |bits: i64| bits ^ ((bits >> 63) & i64::MAX);
    let mut keys: Vec<i64> = list.iter().map(|x| flip(x.to_bits().cast_signed())).collect();
    keys.sort_unstable();
    list.iter_mut().zip(keys).for_each(|(x, key)| *x = f64::from_bits(flip(key).cast_unsigned()));
}

/// Returns about `most` (at most twice as many) of `len` positions, spread over the range. Their distances are not
/// equal: equal distances could show one value in ten of a field of ramps.
pub(crate) fn spread(len: usize, most: usize) -> impl Iterator<Item = usize> {
    let every = (len / most).max(1);
    // A number between 0 and `every`, from the high bits of a multiplicative hash.
    let jitter = move |i: usize| {
        let hash = low32(i as u64).wrapping_mul(0x9E37_79B1) >> 16;
        index((u64::from(hash) * every as u64) >> 16)
    };
    (0..len / every).map(move |i| i * every + jitter(i))
}

/// Approximates log2; the result is the same on every machine.
fn log2(x: f64) -> f64 {
    let e = exponent(x);
    f64::from(e) + x / power_of_two(e) - 1.0
}

/// Estimates the bits of a scale-offset: those of the steps and of exceptions. Exceptions are costly: a predictor
/// codes fine steps of smooth fields in few bits, but it cannot predict an exception, and an exception disturbs its
/// neighbours.
fn cost<W: Word>(len: usize, on: usize, l: ScaleOffset) -> f64 {
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    count(len) * log2(l.frequency()) + count(len - on) * f64::from(4 * W::BITS)
}

/// Returns the distance of neighbouring floats at `x`.
fn ulp<W: Word>(x: f64) -> f64 {
    let mantissa = if W::BITS == 64 { 52 } else { 23 };
    power_of_two(exponent(x).max(-1000 + mantissa) - mantissa)
}

/// Exponent of a normal number.
pub(super) fn exponent(x: f64) -> i32 {
    i32::try_from(x.to_bits() >> 52 & 0x7FF).unwrap_or(0) - 1023
}

pub(super) fn power_of_two(e: i32) -> f64 {
    f64::from_bits(u64::try_from((e + 1023).clamp(1, 2046)).unwrap_or(1) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One value in fifty is not masked: a sample of all positions would have twenty.
    #[test]
    fn a_scale_is_found_where_nearly_all_is_masked() {
        let (off, step) = (-0.017_902_f32, 6.007_5e-7_f32);
        #[expect(clippy::cast_possible_truncation, reason = "as models store it")]
        let value = |i: u32| {
            let k = if i.is_multiple_of(5000) {
                i * 6
            } else {
                20_000 + (i.wrapping_mul(2_654_435_761) >> 12) % 5000
            };
            (f64::from(off) + f64::from(k) * f64::from(step)) as f32
        };
        let bits: Vec<u32> =
            (0..16_384).map(|i| if i % 50 == 0 { value(i).to_bits() } else { 1e20_f32.to_bits() }).collect();
        let valid: Vec<u8> = bits.iter().map(|&b| u8::from(b != 1e20_f32.to_bits())).collect();
        let values = Values::new(&bits, ElementFilter::Valid(&valid));
        assert_eq!(values.len(), 328);
        let found = values.detect(false).best(58).expect("it lies on a step");
        assert!((found.step / f64::from(step) - 1.0).abs() < 1e-4, "{found:?}");
    }

    /// A detector's counts in multiples of a step, near 0 except for a peak at which floats are further apart than
    /// the step.
    #[test]
    fn the_step_of_a_quiet_signal_is_found_beneath_its_peaks() {
        let step = 7.389_96e-6_f64;
        let count = |i: u32| if i % 16 < 14 { i.wrapping_mul(2_654_435_761) >> 19 } else { 16_000_000 + i };
        #[expect(clippy::cast_possible_truncation, reason = "as the instrument stores it")]
        let bits: Vec<u32> =
            (0..4096).map(|i| ((f64::from(count(i)) * step - 0.03) as f32).to_bits()).collect();
        let values = Values::new(&bits, ElementFilter::All);
        let found = values.detect(false).best(43).expect("it lies on a step");
        assert!((found.step / step - 1.0).abs() < 1e-3, "{found:?}");
        // Nothing is found without a step.
        let noise: Vec<u32> = bits.iter().map(|b| b ^ (b.wrapping_mul(0x9E37_79B1) >> 28)).collect();
        let values = Values::new(&noise, ElementFilter::All);
        assert!(values.detect(false).best(43).is_none());
    }
}

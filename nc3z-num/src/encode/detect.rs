//! Finding the quantisation of floats. A wrong answer costs size, never exactness: the encoder checks each value.

use super::scale_offset::{hits, hits_from};
use crate::scale_offset::ScaleOffset;
use crate::word::{Word, index, low32};
use multiversion::multiversion;
use std::cell::OnceCell;
use std::sync::LazyLock;

/// Values looked at.
const SAMPLE: usize = 1024;
/// Where fewer of those are wanted, most elements are masked: the others are looked for.
const FEW: usize = SAMPLE / 4;

/// Powers of ten, exact in binary64.
const TENS: [f64; 16] =
    [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
/// Fractions with divisors up to this are looked for: means over so many cells, parts of degrees and hours; and of those of
/// decimals, up to so many digits.
const DIVISORS: u32 = 400;
const DIGITS: usize = 4;
/// Minutes of a day, seconds of an hour and of a day.
const TIMES: [u32; 3] = [1440, 3600, 86_400];

/// Which elements detection looks at.
#[derive(Clone, Copy)]
pub(crate) enum Wanted<'a, W> {
    All,
    /// Those whose byte is not 0; all where there are no bytes.
    Valid(&'a [u8]),
    /// Those that do not have this pattern.
    Not(Option<W>),
}

impl<W: Word> Wanted<'_, W> {
    fn has(&self, elements: &[W], i: usize) -> bool {
        let wanted = match self {
            Wanted::All => true,
            Wanted::Valid(valid) => valid.get(i) != Some(&0),
            Wanted::Not(mask) => Some(elements[i]) != *mask,
        };
        wanted && elements[i].float_value().is_finite()
    }
}

/// Values of a tile, or of a segment of one, as detection looks at them.
pub(crate) struct Values<'a, W> {
    elements: &'a [W],
    wanted: Wanted<'a, W>,
    /// Finite patterns, some of all.
    sample: Vec<W>,
    /// Sorted when first needed: whether a known scale-offset holds is told without.
    ordered: OnceCell<Ordered>,
}

/// Values in their order.
struct Ordered {
    /// The values of the sample, and the least and the greatest of all: ascending, distinct.
    list: Vec<f64>,
    ulp: f64,
}

impl<'a, W: Word> Values<'a, W> {
    /// Of those elements that are wanted.
    pub(crate) fn of(elements: &'a [W], wanted: Wanted<'a, W>) -> Self {
        Self::some_of(elements, wanted, SAMPLE)
    }

    /// The same with half as many values, for a look at one piece of several.
    pub(crate) fn fewer_of(elements: &'a [W], wanted: Wanted<'a, W>) -> Self {
        Self::some_of(elements, wanted, SAMPLE / 2)
    }

    fn some_of(elements: &'a [W], wanted: Wanted<'a, W>, most: usize) -> Self {
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
                // The least value is often the offset itself, and the range so many steps: a sample shows neither.
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

    /// The values of the sample but for the quarter that is largest, where that is much larger: numbers there stand too far apart to
    /// show the step of the others, and lie on it all the same.
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

    /// How many values the sample has.
    pub(crate) fn len(&self) -> usize {
        self.sample.len()
    }

    /// The values of the sample that are normal numbers, in their order.
    pub(crate) fn normal(&self) -> impl Iterator<Item = f64> {
        self.sample.iter().map(|p| p.float_value()).filter(|x| x.is_normal())
    }

    /// Whether at least `least` in 64 of the values are met.
    pub(crate) fn hold(&self, l: ScaleOffset, least: usize) -> bool {
        self.len() >= 4 && hits_from(&self.sample, l, of_64(self.len(), least)).is_some()
    }

    /// What may have quantised them. `fractions`: also steps of small divisors.
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
        // Beside the least value, that nearest to 0, which is rounded least.
        let precise = sorted.iter().copied().min_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
        let offsets = [0.0, precise, sorted[0]];
        let binary = offsets.into_iter().filter_map(|off| binary(sorted, off, *ulp));
        let round = decimal(&self.sample, *ulp).into_iter().chain(binary);
        found.round.extend(round.map(|l| Met::of(self, l)));
        if fractions {
            let below = found.round.iter().filter(|m| m.holds(self, 58)).reduce(Met::cheaper);
            let below = below.map_or(f64::INFINITY, |m| m.l.frequency());
            if let Some(l) = fraction(&self.sample, *ulp, below) {
                // Coarser than what was found, and met as well: the others are its multiples.
                found.round.clear();
                found.round.push(Met::of(self, l));
            }
        }
        found.gaps = Gaps::of(sorted, *ulp);
        found
    }
}

/// Scale-offsets that meet fewer values of 64 are of no use to anybody.
const LEAST: usize = 43;

/// The least number of `len` values that is so many in 64.
fn of_64(len: usize, least: usize) -> usize {
    (len * least).div_ceil(64)
}

/// A scale-offset, how many values of a sample it meets, none where they are fewer than [`LEAST`] in 64, and what it would cost.
#[derive(Clone, Copy)]
struct Met {
    l: ScaleOffset,
    on: usize,
    cost: f64,
}

impl Met {
    fn of<W: Word>(values: &Values<'_, W>, l: ScaleOffset) -> Self {
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

/// What may have quantised some values.
pub(crate) struct Detected<'a, W> {
    values: &'a Values<'a, W>,
    round: Vec<Met>,
    gaps: Option<Gaps>,
    /// Dear, so it is made when first needed, and once.
    fitted: OnceCell<Option<Met>>,
    /// What the values but for the largest show, sought where all of them show nothing.
    quiet: OnceCell<Vec<Met>>,
}

impl<W: Word> Detected<'_, W> {
    /// The cheapest scale-offset, by [`cost`], that meets at least `least` in 64 of the values.
    pub(crate) fn best(&self, least: usize) -> Option<ScaleOffset> {
        debug_assert!(least >= LEAST, "fewer are not counted");
        let holding = |m: &&Met| m.holds(self.values, least);
        let found = self.round.iter().filter(holding).reduce(Met::cheaper);
        // Values of an offset of their own lie on a fine round scale by chance, but have gaps that are much wider.
        let wide = |g: &Gaps| found.is_none_or(|m| g.least * m.l.frequency() > WIDE);
        let fitted = self.gaps.as_ref().filter(|g| wide(g)).and_then(|gaps| {
            let values = self.values;
            let Ordered { list, ulp } = values.ordered();
            let fit = || fitted(&values.sample, list, gaps, *ulp).map(|l| Met::of(values, l));
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
            let gaps = Gaps::of(&list, ulp);
            let fitted = gaps.and_then(|gaps| fitted(&values.sample, &list, &gaps, ulp));
            decimal(&values.sample, ulp).into_iter().chain(fitted).map(|l| Met::of(values, l)).collect()
        })
    }
}

/// So many times as large as the others are values whose neighbours stand too far apart.
const LOUD: f64 = 4.0;

/// One gap of so many, or one value of twice as many, may be off the steps.
const FEW_STRAY: usize = 64;

/// Gaps this many times as wide as the step show that there may be a coarser one.
const WIDE: f64 = 2.5;

/// In the order of [`f64::total_cmp`]. Integers are compared without its detour.
fn sort(list: &mut [f64]) {
    // Negative numbers descend by their bits.
    let flip = |bits: i64| bits ^ ((bits >> 63) & i64::MAX);
    let mut keys: Vec<i64> = list.iter().map(|x| flip(x.to_bits().cast_signed())).collect();
    keys.sort_unstable();
    list.iter_mut().zip(keys).for_each(|(x, key)| *x = f64::from_bits(flip(key).cast_unsigned()));
}

/// About `most` (at most twice as many) of `len` positions, all over the range. Not at equal distances, which would show one value
/// in ten of a field that is made of ramps.
pub(crate) fn spread(len: usize, most: usize) -> impl Iterator<Item = usize> {
    let every = (len / most).max(1);
    // A number between 0 and `every`, from the high bits of a multiplicative hash.
    let jitter = move |i: usize| {
        let hash = low32(i as u64).wrapping_mul(0x9E37_79B1) >> 16;
        index((u64::from(hash) * every as u64) >> 16)
    };
    (0..len / every).map(move |i| i * every + jitter(i))
}

/// log2, about, the same on every machine.
fn log2(x: f64) -> f64 {
    let e = exponent(x);
    f64::from(e) + x / power_of_two(e) - 1.0
}

/// What to compare scales and offsets by, bits about: those of the steps, and exceptions, which are dear: a predictor makes little of
/// fine steps where fields are smooth, but nothing of an exception, and spoils its neighbours.
fn cost<W: Word>(len: usize, on: usize, l: ScaleOffset) -> f64 {
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
fn decimal<W: Word>(sample: &[W], ulp: f64) -> Option<ScaleOffset> {
    let few = few_of(sample);
    let first = &few[..few.len().min(8)];
    // Even if one in eight of the few is missed, and all of those are among the first.
    let may_hold = |l| hits(first, l) + few.len() / 8 >= first.len();
    let mut second = None;
    for p in -3i32..=15 {
        let ten = TENS[p.unsigned_abs() as usize];
        for part in [1.0, 2.0, 4.0, 5.0] {
            let step = if p < 0 { ten / part } else { 1.0 / part / ten };
            if step <= 1.5 * ulp {
                return second;
            }
            let product = ScaleOffset { off: 0.0, step };
            // The product is rounded twice: that shows in doubles only.
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

/// Fractions of a small divisor, or of decimals by one; the coarsest that fits, if it is much coarser than `below`.
fn fraction<W: Word>(sample: &[W], ulp: f64, below: f64) -> Option<ScaleOffset> {
    /// Ascending. Sorting them takes longer than trying them on a short array.
    static ALL: LazyLock<Vec<f64>> = LazyLock::new(|| {
        let whole = (3..=DIVISORS).chain(TIMES).map(f64::from);
        // Divisors that are multiples of ten have been tried with a digit less.
        let parts = (3..=DIVISORS).filter(|d| !d.is_multiple_of(10)).map(f64::from);
        let decimals = TENS[1..=DIGITS].iter().flat_map(|&ten| parts.clone().map(move |d| d * ten));
        let mut divisors: Vec<f64> = whole.chain(decimals).collect();
        divisors.sort_unstable_by(f64::total_cmp);
        divisors
    });
    let few = few_of(sample);
    let first = &few[..few.len().min(8)];
    ALL.iter()
        .copied()
        .take_while(|d| 1.0 > 8.0 * ulp * d && d * 1.5 < below)
        .map(|d| ScaleOffset { off: 0.0, step: -d })
        .filter(|&l| hits(first, l) + 1 >= first.len())
        .find(|&l| {
            hits(&few, l) * 16 >= few.len() * 15
                && hits_from(sample, l, sample.len() * 97 / 100 + 1).is_some()
        })
}

/// Multiples of a power of two, from `off`.
fn binary(values: &[f64], off: f64, ulp: f64) -> Option<ScaleOffset> {
    let low_bit = |x: f64| {
        let mantissa = (x.to_bits() & ((1 << 52) - 1)) | 1 << 52;
        exponent(x) - 52 + i32::try_from(mantissa.trailing_zeros()).unwrap_or(0)
    };
    let least = values.iter().map(|v| v - off).filter(|d| *d != 0.0).map(low_bit).min()?;
    let step = power_of_two(least);
    (step > 1.5 * ulp).then_some(ScaleOffset { off, step })
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
        sort(&mut list);
        let least = list.get(list.len() / 200).copied()?;
        (list.len() >= 4).then_some(Gaps { list, least })
    }
}

/// The step that the gaps, in their order, are multiples of, from a first guess: by least squares over wider and wider gaps. Values may lie
/// thousands of steps from the least one, too far for a guess; most gaps are narrow. None as soon as more gaps than a few are no multiples.
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

/// Offset and step fitted to the gaps between values.
fn fitted<W: Word>(sample: &[W], values: &[f64], gaps: &Gaps, ulp: f64) -> Option<ScaleOffset> {
    let lo = values[0];
    // The mean of the gaps that differ from the smallest by rounding only.
    let alike = gaps.list.iter().filter(|g| **g >= gaps.least - 1.1 * ulp && **g <= gaps.least + 1.1 * ulp);
    let (count, sum) = alike.fold((0.0, 0.0), |(c, s), g| (c + 1.0, s + g));
    let start = if count > 0.0 { sum / count } else { gaps.least };
    [1.0, 2.0, 3.0].into_iter().find_map(|part| {
        let (off, step) = refine(values, lo, step_of(&gaps.list, start / part, ulp)?, ulp)?;
        snap(sample, values, off, step)
    })
}

/// Least squares over windows that grow from the least value; None where values are not offset + k * scale.
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

/// The nicest numbers near the fit that hit most.
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
    // The range divided by a number of steps, as packing by least and greatest value makes it, in either precision.
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
            // Only one that meets more is of interest.
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

    /// One value in fifty is there: a sample of all positions would have twenty.
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
        let values = Values::of(&bits, Wanted::Valid(&valid));
        assert_eq!(values.len(), 328);
        let found = values.detect(false).best(58).expect("it lies on a step");
        assert!((found.step / f64::from(step) - 1.0).abs() < 1e-4, "{found:?}");
    }

    /// A detector's counts by a step, near 0 but for a peak whose numbers stand further apart than the step.
    #[test]
    fn the_step_of_a_quiet_signal_is_found_beneath_its_peaks() {
        let step = 7.389_96e-6_f64;
        let count = |i: u32| if i % 16 < 14 { i.wrapping_mul(2_654_435_761) >> 19 } else { 16_000_000 + i };
        #[expect(clippy::cast_possible_truncation, reason = "as the instrument stores it")]
        let bits: Vec<u32> =
            (0..4096).map(|i| ((f64::from(count(i)) * step - 0.03) as f32).to_bits()).collect();
        let values = Values::of(&bits, Wanted::All);
        let found = values.detect(false).best(43).expect("it lies on a step");
        assert!((found.step / step - 1.0).abs() < 1e-3, "{found:?}");
        // Nothing is made up where there is no step.
        let noise: Vec<u32> = bits.iter().map(|b| b ^ (b.wrapping_mul(0x9E37_79B1) >> 28)).collect();
        let values = Values::of(&noise, Wanted::All);
        assert!(values.detect(false).best(43).is_none());
    }
}

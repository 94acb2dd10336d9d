//! Predicts bits: seven estimates, each from one context, are mixed by weights that are learned from the bits before.
//!
//! The method is that of the coders of the PAQ family (M. Mahoney, "Adaptive Weighing of Context Models for Lossless
//! Data Compression", 2005): estimates are mixed in the logistic domain, and the mixed estimate is refined by its own
//! history. All arithmetic is on integers, so that every platform predicts the same.

#![expect(clippy::inline_always, reason = "compiled with the features of the caller")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "numbers of a few bits, within the ranges that are stated; arithmetic modulo 2^32 where the text says so"
)]

/// The number of contexts, which is the number of estimates besides the constant one.
pub(crate) const CONTEXTS: usize = 7;
/// All inputs of a mixer.
const INPUTS: usize = CONTEXTS + 1;

/// Steps of coding a value, each of which has its own weights (see [`Step`]).
const STEPS: usize = 96;
/// Kinds of steps, and classes of each, which have their own weights and refinements.
const KINDS: usize = 12;
pub(crate) const CLASSES: usize = 128;

/// Binary logarithms of the least and the largest number of estimates of each context.
const MIN_LOG: u32 = 10;
const MAX_LOG: u32 = 16;
/// Estimates that are next to each other, in one cache line of 64 bytes: those of one context for the decisions about
/// one value.
pub(crate) const GROUP: u32 = 16;

/// The value of the constant input: 1 in the logistic domain.
const CONSTANT: i32 = 256;
/// A weight before learning, in 65536ths.
const FIRST_WEIGHT: i32 = 18_350;
/// Weights are within ±8.
const LARGEST_WEIGHT: i32 = 8 << 16;

/// The logistic function, 65536 / (1 + e^-x), at x = -8, -7.5, ... 8.
const LOGISTIC: [i32; 33] = [
    22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743, 32768, 40793,
    47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097, 65269, 65374, 65438, 65476, 65500, 65514,
];

/// The number of bits after which an estimate adapts no slower.
const OLDEST: u16 = 15;
/// The number of bits after which weights learn no slower.
const TRAINED: u8 = 255;
/// The rate at which weights learn in the end, and the addition to it at first.
const RATE: i32 = 20;
const FIRST_RATE: i32 = 300;
/// Points of a refinement; between them it is linear.
const POINTS: usize = 33;

/// The logistic function of `x` in 256ths, in 65536ths.
const fn squash(x: i32) -> i32 {
    let x = x + 2048;
    let (at, part) = ((x >> 7) as usize, x & 127);
    (LOGISTIC[at] * (128 - part) + LOGISTIC[at + 1] * part + 64) >> 7
}

/// Functions by table.
struct Tables {
    /// [`squash`] of -2048 to 2047.
    squash: [u16; 4096],
    /// Its inverse, for probabilities in 4096ths.
    stretch: [i16; 4096],
    /// The share of the error that an estimate of this age adapts by, in 32768ths.
    adapt: [i32; OLDEST as usize + 1],
    /// The rate at which weights of this age learn.
    rate: [i16; 256],
}

static TABLES: Tables = tables();

const fn tables() -> Tables {
    let mut t =
        Tables { squash: [0; 4096], stretch: [0; 4096], adapt: [0; OLDEST as usize + 1], rate: [0; 256] };
    let mut x = 0;
    let mut p = 0;
    while x < 4096 {
        let s = squash(x as i32 - 2048);
        t.squash[x] = s as u16;
        // The least x whose logistic is at least the middle of the 4096th.
        while p < 4096 && 16 * p as i32 + 8 <= s {
            t.stretch[p] = (x as i32 - 2048) as i16;
            p += 1;
        }
        x += 1;
    }
    while p < 4096 {
        t.stretch[p] = 2047;
        p += 1;
    }
    let mut age = 0;
    while age < 256 {
        if age <= OLDEST as usize {
            t.adapt[age] = 327_680 / (10 * age as i32 + 16);
        }
        t.rate[age] = (RATE + FIRST_RATE / (age as i32 + 1)) as i16;
        age += 1;
    }
    t
}

/// The weights for one binary decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// The decision, less than [`STEPS`].
    pub(crate) decision: usize,
    /// The kind of decision, less than [`KINDS`], and the class of the value, less than [`CLASSES`].
    pub(crate) kind: usize,
    pub(crate) class: usize,
}

/// The places of the estimates for one decision, by context.
pub(crate) type Places = [u32; CONTEXTS];

/// Writes or reads the bits of values.
pub(crate) trait BitCoder {
    /// Codes a bit that is 1 with this probability, in 65536ths; returns it. A decoder ignores `bit`.
    fn bit(&mut self, one: u32, bit: bool) -> bool;
    /// Codes the `len` low bits of `bits`, which are not predicted.
    fn raw(&mut self, len: u32, bits: u64) -> u64;
    /// True if the stream has ended too early. All later values mean nothing.
    fn is_lost(&self) -> bool {
        false
    }
}

type Weights = [i32; INPUTS];

/// The state that the model learned from the bits so far.
#[derive(Debug, Default)]
pub(crate) struct Model {
    log: u32,
    /// Estimates of all contexts: 22 bits of probability, 10 bits of age.
    estimates: Vec<u16>,
    by_step: Vec<Weights>,
    /// The age of weights by step.
    ages: Vec<u8>,
    by_class: Vec<Weights>,
    refined: Vec<[u16; POINTS]>,
}

/// A hash of a context.
#[inline]
pub(crate) fn hash(context: u32) -> u32 {
    context.wrapping_mul(0x9E37_79B1).rotate_left(15).wrapping_mul(0xC2B2_AE35)
}

impl Model {
    /// Forgets everything; there will be about `values` values.
    pub(crate) fn reset(&mut self, values: usize) {
        self.log = (usize::BITS - values.leading_zeros() + 3).clamp(MIN_LOG, MAX_LOG);
        self.estimates.clear();
        self.estimates.resize(CONTEXTS << self.log, 1 << 15);
        self.by_step.clear();
        self.by_step.resize(STEPS, [FIRST_WEIGHT; INPUTS]);
        self.ages.clear();
        self.ages.resize(STEPS, 0);
        self.by_class.clear();
        self.by_class.resize(KINDS * CLASSES, [FIRST_WEIGHT; INPUTS]);
        let line = std::array::from_fn(|i| TABLES.squash[(128 * i).min(4095)]);
        self.refined.clear();
        self.refined.resize(KINDS * CLASSES, line);
    }

    /// Returns the places for contexts with these hashes.
    #[inline(always)]
    pub(crate) fn places(&self, hashes: &[u32; CONTEXTS]) -> Places {
        std::array::from_fn(|k| ((k as u32) << self.log) + (hashes[k] >> (32 - self.log)))
    }

    /// Returns the first places of the groups for contexts with these hashes, to which numbers below [`GROUP`] are added.
    #[inline(always)]
    pub(crate) fn groups(&self, hashes: &[u32; CONTEXTS]) -> Places {
        self.places(hashes).map(|place| place & !(GROUP - 1))
    }

    /// Codes one decision, and learns from it.
    #[inline(always)]
    pub(crate) fn code<C: BitCoder>(
        &mut self,
        coder: &mut C,
        (places, add): (&Places, u32),
        at: Step,
        bit: bool,
    ) -> bool {
        let mut inputs = [CONSTANT; INPUTS];
        let mut found = [0; CONTEXTS];
        for ((input, found), place) in inputs.iter_mut().zip(&mut found).zip(places) {
            *found = self.estimates[(place + add) as usize];
            *input = i32::from(TABLES.stretch[usize::from(*found >> 4)]);
        }
        let class = at.kind * CLASSES + at.class;
        let (first, second) = (&mut self.by_step[at.decision], &mut self.by_class[class]);
        let (x1, x2) = (mixed(first, &inputs), mixed(second, &inputs));
        let (p1, p2) = (squashed(x1), squashed(x2));
        // The average of both mixers, refined.
        let x = (x1 + x2) >> 1;
        let along = (x + 2048) as u32 * 32;
        let (low, part) = ((along >> 12) as usize, along & 4095);
        let line = &mut self.refined[class];
        let (below, above) = (u32::from(line[low]), u32::from(line[low + 1]));
        let p = (squashed(x) as u32 + ((below * (4096 - part) + above * part) >> 12)) >> 1;
        let bit = coder.bit(p.clamp(24, 65_512), bit);
        // Learns.
        let target = if bit { 65_536 } else { 0 };
        let nearer = &mut line[low + usize::from(part >= 2048)];
        let goal = if bit { 65_535 } else { 0 };
        *nearer = (i32::from(*nearer) + ((goal - i32::from(*nearer)) >> 6)) as u16;
        let age = &mut self.ages[at.decision];
        let rate = i32::from(TABLES.rate[usize::from(*age)]);
        *age += u8::from(*age < TRAINED);
        learn(first, &inputs, ((target - p1) * rate) >> 10);
        learn(second, &inputs, ((target - p2) * rate) >> 10);
        let goal = if bit { 4096 } else { -1 };
        for (place, old) in places.iter().zip(found) {
            let (age, p) = (old & 15, i32::from(old >> 4));
            let p = p + (((goal - p) * TABLES.adapt[usize::from(age)]) >> 15);
            let p = p.clamp(0, 4095) as u16;
            self.estimates[(place + add) as usize] = p << 4 | (age + u16::from(age < OLDEST));
        }
        bit
    }
}

/// The weighted sum of the inputs, in 256ths, within the domain of [`squash`].
#[inline(always)]
fn mixed(weights: &Weights, inputs: &[i32; INPUTS]) -> i32 {
    let sum: i32 = weights.iter().zip(inputs).map(|(w, x)| (w >> 4) * x).sum();
    (sum >> 12).clamp(-2047, 2047)
}

#[inline(always)]
fn squashed(x: i32) -> i32 {
    i32::from(TABLES.squash[(x + 2048) as usize])
}

#[inline(always)]
fn learn(weights: &mut Weights, inputs: &[i32; INPUTS], error: i32) {
    for (w, x) in weights.iter_mut().zip(inputs) {
        *w = (*w + ((x * error + 128) >> 8)).clamp(-LARGEST_WEIGHT, LARGEST_WEIGHT);
    }
}

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

use std::alloc::{Layout, handle_alloc_error};
use zerocopy::FromZeros;

/// The number of contexts, which is the number of estimates besides the constant one.
pub(crate) const CONTEXTS: usize = 7;
/// All inputs of a mixer.
pub(crate) const INPUTS: usize = CONTEXTS + 1;

/// Steps of coding a value, each of which has its own weights (see [`Step`]); at least 96.
const STEPS: usize = 128;
/// Kinds of steps, and classes of each, which have their own weights and refinements; at least 12 kinds.
const KINDS: usize = 16;
pub(crate) const CLASSES: usize = 128;

/// Binary logarithms of the least and the largest number of estimates of each context.
const MIN_LOG: u32 = 10;
const MAX_LOG: u32 = 16;
/// The most estimates of a context.
const MOST: usize = 1 << MAX_LOG;
/// Estimates that are next to each other, in one cache line of 64 bytes: those of one context for the decisions about
/// one value.
pub(crate) const GROUP: u16 = 16;

/// The value of the constant input: 1 in the logistic domain.
const CONSTANT: i16 = 256;
/// A weight before learning, in 16384ths. Weights are within ±2.
const FIRST_WEIGHT: i16 = 4_588;

/// The logistic function, 65536 / (1 + e^-x), at x = -8, -7.5, ... 8.
const LOGISTIC: [i32; 33] = [
    22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743, 32768, 40793,
    47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097, 65269, 65374, 65438, 65476, 65500, 65514,
];

/// The number of bits after which an estimate adapts no slower.
pub(crate) const OLDEST: u16 = 15;
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

struct Tables {
    /// [`squash`] of -2048 to 2047.
    squash: [u16; 4096],
    /// Its inverse, for probabilities in 4096ths.
    stretch: [i16; 4096],
    /// The rate at which weights of this age learn.
    rate: [i16; 256],
}

static TABLES: Tables = tables();

/// The share of the error that an estimate of each age adapts by, in 32768ths.
pub(crate) const ADAPT: [i16; OLDEST as usize + 1] = {
    let mut adapt = [0; OLDEST as usize + 1];
    let mut age = 0;
    while age < adapt.len() {
        adapt[age] = (327_680 / (10 * age as i32 + 16)) as i16;
        age += 1;
    }
    adapt
};

const fn tables() -> Tables {
    let mut t = Tables { squash: [0; 4096], stretch: [0; 4096], rate: [0; 256] };
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
pub(crate) type Places = [u16; CONTEXTS];

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

pub(crate) type Weights = [i16; INPUTS];
/// The estimates in the logistic domain, in 256ths, and the constant.
pub(crate) type Inputs = [i16; INPUTS];
/// Estimates: 12 bits of probability, 4 bits of age. The last one is not used.
pub(crate) type Found = [u16; INPUTS];

/// The correction that the model learns from a bit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lesson {
    /// The error of the prediction, scaled by the rate of learning.
    pub(crate) error: i16,
    /// The probability that the bit stands for, in 4096ths.
    pub(crate) goal: i16,
}

/// Two parts of a decision, which exist for all processors (below) and in vectors ([`crate::avx2::mix`]).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<D, L> {
    /// Returns the sum of both weighted sums of the inputs.
    pub(crate) dot: D,
    pub(crate) learn: L,
}

/// The type of [`Parts::dot`].
pub(crate) trait Dot: Fn([&Weights; 2], &Inputs) -> i32 + Copy {}
impl<F: Fn([&Weights; 2], &Inputs) -> i32 + Copy> Dot for F {}

/// The type of [`Parts::learn`].
pub(crate) trait Learn: Fn([&mut Weights; 2], &Inputs, &mut Found, Lesson) + Copy {}
impl<F: Fn([&mut Weights; 2], &Inputs, &mut Found, Lesson) + Copy> Learn for F {}

/// The state that the model learned from the bits so far.
#[derive(Debug, FromZeros)]
struct State {
    estimates: [[u16; MOST]; CONTEXTS],
    by_step: [Weights; STEPS],
    /// The age of weights by step.
    ages: [u8; STEPS],
    by_class: [Weights; KINDS * CLASSES],
    refined: [[u16; POINTS]; KINDS * CLASSES],
}

/// The model of a tile.
#[derive(Debug)]
pub(crate) struct Model {
    log: u32,
    state: Box<State>,
}

#[inline]
pub(crate) fn hash(context: u32) -> u32 {
    context.wrapping_mul(0x9E37_79B1).rotate_left(15).wrapping_mul(0xC2B2_AE35)
}

impl Default for Model {
    fn default() -> Self {
        let state = State::new_box_zeroed().unwrap_or_else(|_| handle_alloc_error(Layout::new::<State>()));
        Self { log: 0, state }
    }
}

impl Model {
    /// Forgets everything; there will be about `values` values.
    pub(crate) fn reset(&mut self, values: usize) {
        self.log = (usize::BITS - values.leading_zeros() + 3).clamp(MIN_LOG, MAX_LOG);
        let state = &mut *self.state;
        for estimates in &mut state.estimates {
            estimates[..1 << self.log].fill(1 << 15);
        }
        state.by_step.fill([FIRST_WEIGHT; INPUTS]);
        state.ages.fill(0);
        state.by_class.fill([FIRST_WEIGHT; INPUTS]);
        state.refined.fill(std::array::from_fn(|i| TABLES.squash[(128 * i).min(4095)]));
    }

    /// Returns the places for contexts with these hashes.
    #[inline(always)]
    pub(crate) fn places(&self, hashes: &[u32; CONTEXTS]) -> Places {
        hashes.map(|hash| (hash >> (32 - self.log)) as u16)
    }

    /// Returns the first places of the groups for contexts with these hashes, to which numbers below [`GROUP`] are added.
    #[inline(always)]
    pub(crate) fn groups(&self, hashes: &[u32; CONTEXTS]) -> Places {
        self.places(hashes).map(|place| place & !(GROUP - 1))
    }

    /// Codes one decision, and learns from it.
    #[inline(always)]
    pub(crate) fn code<C: BitCoder, D: Dot, L: Learn>(
        &mut self,
        (parts, coder): (Parts<D, L>, &mut C),
        (places, add): (&Places, u16),
        at: Step,
        bit: bool,
    ) -> bool {
        let state = &mut *self.state;
        let mut inputs = [CONSTANT; INPUTS];
        let mut found = [0; INPUTS];
        for k in 0..CONTEXTS {
            found[k] = state.estimates[k][usize::from(places[k] + add)];
            inputs[k] = TABLES.stretch[usize::from(found[k] >> 4)];
        }
        // Compilers see that the places are within.
        let (step, class) = (at.decision % STEPS, (at.kind * CLASSES + at.class) % (KINDS * CLASSES));
        let weights = [&mut state.by_step[step], &mut state.by_class[class]];
        let x = ((parts.dot)([weights[0], weights[1]], &inputs) >> 15).clamp(-2047, 2047);
        let place = (x + 2048) as usize;
        let predicted = i32::from(TABLES.squash[place]);
        // The mean of the prediction and its refinement.
        let (low, part) = (place / 128, (place % 128) as u32);
        let line = &mut state.refined[class];
        let (below, above) = (u32::from(line[low]), u32::from(line[low + 1]));
        let p = (predicted as u32 + ((below * (128 - part) + above * part) >> 7)) >> 1;
        let bit = coder.bit(p.clamp(24, 65_512), bit);
        // Learns.
        let ones = -i32::from(bit);
        let nearer = &mut line[low + usize::from(part >= 64)];
        *nearer = (i32::from(*nearer) + (((ones & 65_535) - i32::from(*nearer)) >> 6)) as u16;
        let age = &mut state.ages[step];
        let rate = i32::from(TABLES.rate[usize::from(*age)]);
        *age += u8::from(*age < TRAINED);
        let error = (((ones & 65_536) - predicted) * rate) >> 9;
        let error = error.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16;
        (parts.learn)(weights, &inputs, &mut found, Lesson { error, goal: (ones & 4095) as i16 });
        for k in 0..CONTEXTS {
            state.estimates[k][usize::from(places[k] + add)] = found[k];
        }
        bit
    }
}

/// The product of numbers of which one is in 32768ths, rounded.
#[inline(always)]
fn product(a: i16, b: i16) -> i16 {
    ((i32::from(a) * i32::from(b) + (1 << 14)) >> 15) as i16
}

/// [`Parts::dot`] for all processors.
#[inline(always)]
pub(crate) fn dot([a, b]: [&Weights; 2], inputs: &Inputs) -> i32 {
    let sum = |w: &Weights| w.iter().zip(inputs).map(|(w, x)| i32::from(*w) * i32::from(*x)).sum::<i32>();
    sum(a) + sum(b)
}

/// [`Parts::learn`] for all processors.
#[inline(always)]
pub(crate) fn learn(weights: [&mut Weights; 2], inputs: &Inputs, found: &mut Found, lesson: Lesson) {
    for weights in weights {
        for (weight, input) in weights.iter_mut().zip(inputs) {
            *weight = weight.saturating_add(product(input << 4, lesson.error));
        }
    }
    for estimate in found {
        let (age, p) = (*estimate & 15, (*estimate >> 4) as i16);
        let p = p + product(lesson.goal - p, ADAPT[usize::from(age)]);
        *estimate = (p as u16) << 4 | (age + 1).min(OLDEST);
    }
}

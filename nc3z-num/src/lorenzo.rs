//! Lorenzo prediction on floating point values (Ibarria, Lindstrom, Rossignac, Szymczak 2003): an element is predicted
//! from its neighbours in a box of two or three dimensions. The integers of floats are not linear where the exponent or
//! the sign changes, so that differences of integers predict fields around zero, such as winds, less well.
//!
//! All arithmetic is in the element's type, with one rounding for each operation. Magnitudes outside of 2^-100 to 2^100
//! (`double`: 2^-900 to 2^900) are treated as 0. So no result overflows or is subnormal, and all platforms and modes of the
//! processor give the same prediction.

use crate::delta::Masked;
use crate::geometry::Stencil;
use crate::transform::ord;
use crate::word::{ByWidth, Word};
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// A word that is the pattern of a floating point number.
pub(crate) trait Float: Word {
    /// The type of the numbers.
    type Value: Copy + Default + Add<Output = Self::Value> + AddAssign + Sub<Output = Self::Value> + SubAssign;
    /// The number of a pattern; 0 if its magnitude does not count.
    fn number(self) -> Self::Value;
    /// The pattern of a number.
    fn pattern(value: Self::Value) -> Self;
    /// The buffers of this width.
    fn buffers(work: &mut Workspace) -> &mut Buffers<Self::Value>;
}

macro_rules! float {
    ($word:ty, $value:ty, $exponents:expr, $shift:literal, $field:ident) => {
        impl Float for $word {
            type Value = $value;
            #[inline]
            fn number(self) -> $value {
                // Without the sign, the exponent is at the top.
                let above = (self << 1).wrapping_sub($exponents.start << $shift);
                let counts = above < ($exponents.end - $exponents.start) << $shift;
                <$value>::from_bits(if counts { self } else { 0 })
            }
            #[inline]
            fn pattern(value: $value) -> Self {
                value.to_bits()
            }
            #[inline]
            fn buffers(work: &mut Workspace) -> &mut Buffers<$value> {
                &mut work.$field
            }
        }
    };
}

float!(u32, f32, (27..227), 24, single);
float!(u64, f64, (123..1923), 53, double);

#[derive(Debug, Default)]
pub(crate) struct Buffers<V> {
    /// The elements of the tile.
    pub(crate) values: Vec<V>,
    /// The steps to each element from the one before it in its block; 0 unless both are valid.
    pub(crate) steps: Vec<V>,
    pub(crate) expected: Vec<V>,
}

/// Memory that is reused between tiles.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    single: Buffers<f32>,
    double: Buffers<f64>,
}

/// Returns the integer of a float pattern without its `trim` low bits.
#[inline]
pub(crate) fn integer<W: Word>(pattern: W, trim: u32) -> W {
    ord(pattern.sar(trim), trim)
}

#[inline]
pub(crate) fn number<W: Float>(integer: W, trim: u32) -> W::Value {
    ord(integer, trim).shl(trim).number()
}

/// Converts residuals to integers, in place. The residual of the first valid position, `first`, is not used. Integers of other
/// widths stay unchanged.
pub(crate) fn decode<W: Word>(
    grid: &mut [W],
    (first, base): (usize, W),
    masked: Option<Masked<'_>>,
    (stencil, trim): (Stencil, u32),
    work: &mut Workspace,
) {
    match W::by_width(grid) {
        ByWidth::W32(grid) => inverse(grid, (first, base.low32()), masked, (stencil, trim), work),
        ByWidth::W64(grid) => inverse(grid, (first, base.to_u64()), masked, (stencil, trim), work),
        ByWidth::W8(_) | ByWidth::W16(_) => {}
    }
}

#[inline]
pub(crate) fn predicted<W: Float>(before: W::Value, expected: W::Value, trim: u32) -> W {
    integer(W::pattern(before + expected), trim)
}

/// Replaces the residual of the element after `last` by its integer. Returns the step to it; it is then the last one.
#[inline]
fn next<W: Float>(x: &mut W, last: &mut W::Value, expected: W::Value, trim: u32) -> W::Value {
    *x = predicted::<W>(*last, expected, trim).plus(*x);
    let value = number(*x, trim);
    value - std::mem::replace(last, value)
}

/// Returns the expected step of the first element of a block: that of the block before, at the distance `far`.
#[inline]
pub(crate) fn expected_first<V: Copy + Default + Sub<Output = V>>(
    stencil: Stencil,
    values: &[V],
    valid: Option<&[u8]>,
    at: usize,
) -> V {
    let above = stencil.far.and_then(|far| Some((at.checked_sub(far)?, at.checked_sub(far + stencil.near)?)));
    let is_valid = |at: usize| valid.is_none_or(|valid| valid[at] != 0);
    match above.filter(|(a, b)| is_valid(*a) && is_valid(*b)) {
        Some((a, b)) => values[a] - values[b],
        None => V::default(),
    }
}

fn inverse<W: Float>(
    grid: &mut [W],
    (first, base): (usize, W),
    masked: Option<Masked<'_>>,
    (stencil, trim): (Stencil, u32),
    work: &mut Workspace,
) {
    let n = grid.len();
    let Buffers { values, steps, expected } = W::buffers(work);
    for numbers in [&mut *values, &mut *steps] {
        numbers.clear();
        numbers.resize(n, W::Value::default());
    }
    let near = stencil.near;
    // As a count of elements it may be too large for 32 bits, and then no tile has as many.
    let group = near.saturating_mul(LANES);
    expected.clear();
    expected.resize(group.min(n), W::Value::default());
    if let Some(residual) = grid.get_mut(first) {
        *residual = base;
    }
    if let Some(masked) = masked {
        return inverse_masked(grid, first, masked, (stencil, trim), (values, steps, expected));
    }
    let mut at = 0;
    while at < n {
        // The blocks of a group need those at the distance `far` from earlier groups.
        let is_group = at > 0 && n - at >= group && stencil.far.is_none_or(|far| far >= group);
        let len = if is_group { group } else { near.min(n - at) };
        expect_far(stencil, at, steps, &mut expected[..len]);
        if is_group {
            let (above, steps) = steps[at - near..].split_at_mut(near);
            let lanes = Lanes::<W> {
                near,
                trim,
                above,
                expected,
                firsts: std::array::from_fn(|lane| expected_first(stencil, values, None, at + lane * near)),
                last: [W::Value::default(); LANES],
                steps: [W::Value::default(); LANES],
            };
            let firsts = lanes.run(values[at - near], &mut grid[at..at + len], &mut steps[..len]);
            firsts.into_iter().enumerate().for_each(|(lane, first)| values[at + lane * near] = first);
        } else {
            let mut previous = if at == 0 { number(base, trim) } else { values[at - near] };
            for i in at..at + len {
                let mut step = expected[i - at];
                if i == at {
                    step = expected_first(stencil, values, None, at);
                } else if at > 0 {
                    step = steps[i - near] + step;
                }
                if i > 0 {
                    grid[i] = predicted::<W>(previous, step, trim).plus(grid[i]);
                }
                values[i] = number(grid[i], trim);
                if i > at {
                    steps[i] = values[i] - previous;
                }
                previous = values[i];
            }
        }
        at += len;
    }
}

/// Blocks that are decoded side by side: each element waits for the one before it, so that one block alone would leave
/// the processor idle for most of the time.
const LANES: usize = 4;

/// Several consecutive blocks of a tile, without the first one.
struct Lanes<'a, W: Float> {
    near: usize,
    trim: u32,
    /// The steps of the block before the first one.
    above: &'a [W::Value],
    /// The parts of the expected steps that come from `far`.
    expected: &'a [W::Value],
    /// The expected steps of first elements.
    firsts: [W::Value; LANES],
    /// The last element of each block, and the step to it.
    last: [W::Value; LANES],
    steps: [W::Value; LANES],
}

impl<W: Float> Lanes<'_, W> {
    /// Decodes the blocks and fills in their steps. Each block is one element behind the block before it. `first` is the
    /// first element of the block before the first one. Returns those of these blocks.
    fn run(mut self, first: W::Value, blocks: &mut [W], steps: &mut [W::Value]) -> [W::Value; LANES] {
        let near = self.near;
        let mut firsts = [first; LANES];
        let mut edge = |lanes: &mut Self, turn: usize, blocks: &mut [W], steps: &mut [W::Value]| {
            for lane in (0..LANES).rev().filter(|lane| (*lane..near + lane).contains(&turn)) {
                let (x, at) = (turn - lane, lane * near + turn - lane);
                if x == 0 {
                    lanes.last[lane] = if lane == 0 { first } else { firsts[lane - 1] };
                    next(&mut blocks[at], &mut lanes.last[lane], lanes.firsts[lane], lanes.trim);
                    firsts[lane] = lanes.last[lane];
                    lanes.steps[lane] = W::Value::default();
                } else {
                    let above = if lane == 0 { lanes.above[x] } else { lanes.steps[lane - 1] };
                    let expected = above + lanes.expected[at];
                    lanes.steps[lane] = next(&mut blocks[at], &mut lanes.last[lane], expected, lanes.trim);
                }
                steps[at] = lanes.steps[lane];
            }
        };
        (0..LANES).for_each(|turn| edge(&mut self, turn, blocks, steps));
        self.middle(blocks, steps);
        (near.max(LANES)..near + LANES - 1).for_each(|turn| edge(&mut self, turn, blocks, steps));
        firsts
    }

    /// Decodes the elements of the turns in which all blocks have one that is not the first.
    fn middle(&mut self, blocks: &mut [W], steps: &mut [W::Value]) {
        let Some(turns) = self.near.checked_sub(LANES) else { return };
        let above = &self.above[LANES..][..turns];
        let part = |lane: usize| lane * self.near + LANES - lane;
        let expected: [&[W::Value]; LANES] =
            std::array::from_fn(|lane| &self.expected[part(lane)..][..turns]);
        let [e0, e1, e2, e3] = expected;
        let [x0, x1, x2, x3] =
            lanes_of(blocks, self.near).map(|(lane, block)| &mut block[LANES - lane..][..turns]);
        let [s0, s1, s2, s3] =
            lanes_of(steps, self.near).map(|(lane, block)| &mut block[LANES - lane..][..turns]);
        let trim = self.trim;
        let ([mut last0, mut last1, mut last2, mut last3], [mut step0, mut step1, mut step2, mut step3]) =
            (self.last, self.steps);
        for turn in 0..turns {
            step3 = next(&mut x3[turn], &mut last3, step2 + e3[turn], trim);
            step2 = next(&mut x2[turn], &mut last2, step1 + e2[turn], trim);
            step1 = next(&mut x1[turn], &mut last1, step0 + e1[turn], trim);
            step0 = next(&mut x0[turn], &mut last0, above[turn] + e0[turn], trim);
            (s0[turn], s1[turn], s2[turn], s3[turn]) = (step0, step1, step2, step3);
        }
        self.last = [last0, last1, last2, last3];
        self.steps = [step0, step1, step2, step3];
    }
}

/// Splits into blocks, with their numbers.
fn lanes_of<T>(all: &mut [T], near: usize) -> [(usize, &mut [T]); LANES] {
    let (first, second) = all.split_at_mut(2 * near);
    let ((a, b), (c, d)) = (first.split_at_mut(near), second.split_at_mut(near));
    [(0, a), (1, b), (2, c), (3, d)]
}

fn inverse_masked<W: Float>(
    grid: &mut [W],
    first: usize,
    Masked { valid, pairs }: Masked<'_>,
    (stencil, trim): (Stencil, u32),
    (values, steps, expected): (&mut [W::Value], &mut [W::Value], &mut [W::Value]),
) {
    let near = stencil.near;
    let mut previous = W::Value::default();
    for at in (0..grid.len()).step_by(near) {
        let len = near.min(grid.len() - at);
        expect_far(stencil, at, steps, &mut expected[..len]);
        for i in (at..at + len).filter(|i| valid[*i] != 0) {
            if i > first {
                let predicted = if i == at && at > 0 && valid[i - near] != 0 {
                    predicted::<W>(values[i - near], expected_first(stencil, values, Some(valid), i), trim)
                } else {
                    let above = if at > 0 { steps[i - near] } else { W::Value::default() };
                    predicted::<W>(previous, above + expected[i - at], trim)
                };
                grid[i] = predicted.plus(grid[i]);
            }
            values[i] = number(grid[i], trim);
            if i > at && pairs[i] != 0 {
                steps[i] = values[i] - previous;
            }
            previous = values[i];
        }
    }
}

/// Fills in the part of the expected steps from the distance `far`, for elements from `at` on.
fn expect_far<V: Copy + Default + AddAssign + SubAssign>(
    stencil: Stencil,
    at: usize,
    steps: &[V],
    expected: &mut [V],
) {
    expected.fill(V::default());
    let Some(far) = stencil.far else { return };
    // Blocks begin at multiples of `near`, and so do these.
    for (distance, is_added) in [(far, true), (far + stencil.near, false)] {
        let skipped = distance.saturating_sub(at).min(expected.len());
        let from = (at + skipped).checked_sub(distance).map_or(&[][..], |from| &steps[from..]);
        let pairs = expected[skipped..].iter_mut().zip(from);
        if is_added { pairs.for_each(|(e, s)| *e += *s) } else { pairs.for_each(|(e, s)| *e -= *s) }
    }
}

//! Splits a value into decisions: its size, its sign, the bits below its highest one.

#![expect(clippy::inline_always, reason = "compiled with the features of the caller")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "numbers of a few bits, within the ranges that are stated; arithmetic modulo 2^32 where the text says so"
)]

use super::model::{BitCoder, CLASSES, CONTEXTS, Dot, GROUP, Learn, Model, Parts, Step, hash};

/// Values of larger classes have only this many modelled bits below their highest one.
const TOP: u32 = 2;
/// The largest class whose bits may all be modelled.
pub(crate) const MOST_FULL: u32 = 20;
/// The largest magnitude that counts in sums of neighbours.
const LARGEST: u64 = 1 << 50;

/// The distances of neighbours: 0 where there are none. A plane is longer than its rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Strides {
    pub(crate) row: usize,
    pub(crate) plane: usize,
}

/// The state besides the model.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The last four values, the newest first.
    last: [i64; 4],
    /// The sum of all values.
    sum: i64,
    /// A moving average of magnitudes, in 256ths.
    average: i64,
}

/// The number of bits of a magnitude.
#[inline]
fn class(x: i64) -> u32 {
    64 - x.unsigned_abs().leading_zeros()
}

/// A logarithm with `2^fine` steps for each doubling; small numbers are themselves.
#[inline]
fn log(x: u64, fine: u32) -> u32 {
    if x < 2 << fine {
        return x as u32;
    }
    let e = x.ilog2();
    ((e - fine) << fine) + (x >> (e - fine)) as u32
}

#[inline]
fn magnitude(x: i64) -> u64 {
    x.unsigned_abs().min(LARGEST)
}

#[inline]
fn pair(a: i64, b: i64) -> u32 {
    ((a as u32).wrapping_mul(0x2545_F491) ^ (b as u32).wrapping_mul(0x9E37_79B9).rotate_left(13))
        .wrapping_mul(0x85EB_CA6B)
}

/// 0, 1 or 2 for zero, a negative and a positive value.
#[inline]
fn sign(x: i64) -> u32 {
    u32::from(x < 0) + 2 * u32::from(x > 0)
}

/// The neighbours of a position, by compass: the row before is north, the plane before is `top`.
struct Around {
    west: [i64; 3],
    north: i64,
    north_west: i64,
    north_east: i64,
    north_north: i64,
    top: i64,
    top_east: i64,
    top_south: i64,
}

impl Around {
    #[inline(always)]
    fn new(before: impl Fn(usize) -> i64, strides: Strides, last: &[i64; 4]) -> Self {
        let Strides { row, plane } = strides;
        let west = [last[0], last[1], last[2]];
        let none = Self {
            west,
            north: last[2],
            north_west: last[3],
            north_east: 0,
            north_north: 0,
            top: 0,
            top_east: 0,
            top_south: 0,
        };
        if row == 0 {
            return none;
        }
        let with_rows = Self {
            north: before(row),
            north_west: before(row + 1),
            north_east: before(row - 1),
            north_north: before(2 * row),
            ..none
        };
        if plane == 0 {
            return with_rows;
        }
        Self { top: before(plane), top_east: before(plane - 1), top_south: before(plane - row), ..with_rows }
    }

    /// Eight times the expected magnitude.
    #[inline]
    fn size(&self) -> u64 {
        let m = magnitude;
        2 * m(self.west[0])
            + m(self.west[1])
            + 2 * m(self.north)
            + m(self.north_west)
            + m(self.north_east)
            + m(self.north_north) / 2
            + 2 * m(self.top)
            + m(self.top_east) / 2
            + m(self.top_south) / 2
    }
}

/// The properties of a tile that decide how its values are split.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Bits of a value.
    pub(crate) bits: u32,
    pub(crate) strides: Strides,
    /// All bits of values of at most this class are modelled.
    pub(crate) full: u32,
}

impl Layout {
    /// Codes the value at position `p`; `before(d)` is the value at position `p - d`, or 0. A decoder ignores `value`.
    #[inline(always)]
    pub(crate) fn code<C: BitCoder, D: Dot, L: Learn>(
        self,
        (model, history): (&mut Model, &mut History),
        (parts, coder): (Parts<D, L>, &mut C),
        p: usize,
        before: impl Fn(usize) -> i64,
        value: i64,
    ) -> i64 {
        let row = self.strides.row;
        let around = Around::new(before, self.strides, &history.last);
        let [w0, w1, w2] = around.west;
        let size = around.size();
        let column = if row > 0 { (p % row) as u32 } else { 0 };
        let expected = class((size >> 3) as i64).min(self.bits - 1);
        let q = |x: i64| log(magnitude(x), 1);
        let above = class(around.top_east).max(class(around.top_south));
        let contexts = [
            q(w0) | class(w1) << 8 | class(w2) << 16,
            q(around.north) | class(around.north_east) << 8 | class(around.north_west) << 16,
            q(around.top) | above << 8 | expected << 16,
            pair(history.sum, 0),
            log((history.average >> 4) as u64, 2) | (class(w0) / 2) << 8,
            pair(w0, w1),
            column | class(around.north) << 20,
        ];
        let hashed: [u32; CONTEXTS] = std::array::from_fn(|i| hash(contexts[i]));
        let by_size = (log(size, 2) as usize).min(CLASSES - 1);
        let class_of_value = class(value);
        let groups = model.groups(&hashed);
        let mut decide = |c: u32, decision: usize, kind: usize, bit: bool| {
            let add = c as u16 % GROUP;
            model.code((parts, &mut *coder), (&groups, add), Step { decision, kind, class: by_size }, bit)
        };
        // The class: is it the expected one or larger, then one by one.
        let mut c = expected;
        if expected == 0 || decide(expected, 0, 0, class_of_value >= expected) {
            while c < self.bits {
                let d = (c + 1 - expected) as usize;
                if !decide(c + 1, d.min(10), d.min(3), class_of_value > c) {
                    break;
                }
                c += 1;
            }
        } else {
            c -= 1;
            while c > 0 {
                let d = (expected - c) as usize;
                if decide(c, 10 + d.min(10), 3 + d.min(3), class_of_value >= c) {
                    break;
                }
                c -= 1;
            }
        }
        let mut found = 0i64;
        if c > 0 {
            let rel = |x: i64| {
                let d = (class(x) + 3).saturating_sub(c).min(6);
                d * 3 + sign(x)
            };
            let contexts = [
                rel(w0) | rel(w1) << 5 | rel(w2) << 10,
                rel(around.north) | rel(around.north_west) << 5 | rel(around.north_east) << 10,
                rel(around.top) | rel(around.top_east) << 5 | rel(around.top_south) << 10,
                pair(history.sum, 0) ^ c,
                rel(w0.wrapping_add(around.north)),
                pair(w0, w1) ^ c,
                column | sign(around.north) << 24,
            ];
            let signs = model.places(&contexts.map(|context| hash(context ^ 1 << 30)));
            let class = (sign(w0) + 3 * sign(around.north) + 9 * sign(around.top)) as usize;
            let at = Step { decision: 21 + (c as usize).min(8), kind: 7, class };
            let negative = model.code((parts, &mut *coder), (&signs, 0), at, value < 0);
            let bits = value.unsigned_abs();
            let below = c - 1;
            let modelled = if c <= self.full { below } else { TOP.min(below) };
            let (mut prefix, mut at_group) = (1u64, 1);
            let mut groups = groups;
            for j in 0..modelled {
                if j % 4 == 0 {
                    let salt = hash(c << 16 | prefix as u32);
                    groups = model.groups(&hashed.map(|h| (h ^ salt).wrapping_mul(0x9E37_79B1)));
                    at_group = 1;
                }
                let at = Step {
                    decision: 32 + (j as usize).min(7) * 8 + (c as usize).min(7),
                    kind: 8 + (j as usize).min(3),
                    class: (c as usize).min(15),
                };
                let bit = bits >> (below - 1 - j) & 1 == 1;
                let bit = model.code((parts, &mut *coder), (&groups, at_group), at, bit);
                at_group = at_group << 1 | u16::from(bit);
                prefix = prefix << 1 | u64::from(bit);
            }
            let rest = below - modelled;
            let low = coder.raw(rest, bits & !(u64::MAX << rest));
            let size = prefix << rest | low;
            let value = if negative { size.wrapping_neg() } else { size };
            // Only damaged streams have values of more bits.
            let unused = 64 - self.bits;
            found = (value << unused).cast_signed() >> unused;
        }
        history.last = [found, w0, w1, w2];
        history.sum = history.sum.wrapping_add(found);
        history.average += (((magnitude(found) << 8) as i64) - history.average) >> 4;
        found
    }
}
